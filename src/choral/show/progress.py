"""Progress: a certified interval closing, rows of a table going by, steps, or the name of what is done; and histories."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from choral.describe.display import at_most
from choral.design.limits import Progress as IntervalCallback
from choral.phases import heard

NARROW = 12.0
"""Orders of magnitude of the gap that a full bar stands for."""
OFTEN = 10.0
"""Seconds between two lines where standard error is no terminal."""
SOON = 0.5
"""Seconds after which a phase is long enough to be named."""


@dataclass(frozen=True)
class Moment:
    """The certified interval at one moment of a search, in bits and seconds since the recorder was made."""

    seconds: float
    information: float
    upper_bound: float
    message: str


@dataclass
class Recorder:
    """A callback for `disclose(progress=…)` that keeps the interval's history, to be drawn later.

    >>> import choral as ch
    >>> recorder = Recorder()
    >>> d = ch.disclose(ch.examples.noisy_copies(3), progress=recorder)
    >>> recorder.moments[-1].upper_bound >= d.information
    True
    """

    moments: list[Moment] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def __call__(self, information: float, upper_bound: float, message: str) -> None:
        """Remember where the interval is now."""
        self.moments.append(Moment(time.monotonic() - self.started, information, upper_bound, message))


@contextmanager
def interval_bar(quiet: bool = False) -> Iterator[IntervalCallback | None]:
    """A callback for `disclose(progress=…)` that draws where somebody looks: in a notebook, or on standard error.

    with interval_bar() as bar:
        d = ch.disclose(law, progress=bar)
    """
    with _bar(quiet, [BarColumn(bar_width=16), _words(), TimeElapsedColumn()]) as draw:
        if draw is None:
            yield None
            return
        interval = ""

        def show(information: float, upper_bound: float, message: str) -> None:
            nonlocal interval
            gap = max(upper_bound - information, 10**-NARROW)
            interval = f"{information:.3g} … {at_most(upper_bound)} bits, "
            draw(max(0.0, -math.log10(gap)), NARROW, f"{interval}{message}")

        with heard(lambda name: draw(None, None, f"{interval}{name or 'searching'}")):
            yield show


@contextmanager
def steps_bar(quiet: bool = False) -> Iterator[Callable[[int, int, str], None] | None]:
    """A callback (done, of how many, message) that draws where somebody looks."""
    columns = [BarColumn(bar_width=16), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn()]
    with _bar(quiet, [*columns, _words()]) as draw:
        yield draw


@contextmanager
def rows_bar(quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for `disclose_table(progress=…)` that draws where somebody looks."""
    with _bar(quiet, [BarColumn(bar_width=16), _words(), TimeElapsedColumn(), TimeRemainingColumn()]) as draw:
        if draw is None:
            yield None
            return

        def show(done: int, rows: int) -> None:
            draw(done, rows, f"drawing, {done:,} of {rows:,} rows")

        with heard(lambda name: draw(None, None, name or "drawing")):
            yield show


@contextmanager
def named_phases() -> Iterator[None]:
    """What is done is named on a line of its own, with how long it takes, whenever that is longer than a moment."""
    console = Console(stderr=True)
    if in_notebook() or not console.is_terminal:
        yield
        return
    line = _Line(console)
    with heard(line):
        try:
            yield
        finally:
            line("")


@contextmanager
def told_now_and_then(at_rest: str) -> Iterator[None]:
    """Where nobody looks at a terminal, a line on standard error every `OFTEN` seconds says what is done.

    `at_rest` is what is done where nothing has a name: a search has none.
    """
    began, over, name = time.monotonic(), threading.Event(), [""]

    def tell() -> None:
        while not over.wait(OFTEN):
            typer.echo(f"choral: {name[0] or at_rest}, {time.monotonic() - began:.0f} s so far", err=True)

    def hear(now: str) -> None:
        name[0] = now

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    with heard(hear):
        try:
            yield
        finally:
            over.set()
            teller.join()


class _Line:
    """The line that names phases: there while one lasts, gone before anything is printed."""

    def __init__(self, console: Console) -> None:
        self._console, self._lock, self._name = console, threading.Lock(), ""
        self._timer: threading.Timer | None = None
        self._drawn: Progress | None = None

    def __call__(self, name: str) -> None:
        """Name this from now on; nothing, where it is empty."""
        with self._lock:
            self._name = name
            if not name:
                self._end()
            elif self._drawn is not None:
                self._drawn.update(self._drawn.task_ids[0], description=name)
            elif self._timer is None:
                self._timer = threading.Timer(SOON, self._begin)
                self._timer.daemon = True
                self._timer.start()

    def _begin(self) -> None:
        with self._lock:
            if self._timer is None or not self._name:
                return
            columns = [BarColumn(bar_width=16), _words(), TimeElapsedColumn()]
            self._drawn = _progress(columns, self._console)
            self._drawn.add_task(self._name, total=None)
            self._drawn.start()

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._drawn is not None:
            self._drawn.stop()
        self._timer = self._drawn = None


def _progress(columns: Sequence[ProgressColumn], console: Console) -> Progress:
    """Bars that are gone afterwards, and leave the program's own streams alone: a command may be reading what it prints."""
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)


def _words() -> TextColumn:
    """What is done, cut where the line ends: a second line would be left behind."""
    return TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)
    )


Draw = Callable[[float | None, float | None, str], None]


@contextmanager
def _bar(quiet: bool, columns: Sequence[ProgressColumn]) -> Iterator[Draw | None]:
    """A callback (done, of how much, message) that draws a bar, gone afterwards; None where nobody looks.

    Where nobody knows how much it is, the bar moves to and fro.
    """
    console = Console(stderr=True)
    if not quiet and in_notebook():
        from IPython.display import HTML, display

        handle = display(HTML(bar_html(0, 1, "starting")), display_id=True)
        try:
            yield lambda done, total, message: handle.update(HTML(bar_html(done, total, message)))
        finally:
            handle.update(HTML(""))
    elif quiet or not console.is_terminal:
        yield None
    else:
        with _progress(columns, console) as progress:
            task = progress.add_task("starting", total=None)

            def draw(done: float | None, total: float | None, message: str) -> None:
                progress.tasks[0].total = total
                progress.update(task, completed=done or 0.0, description=message)

            yield draw


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, where standard error is no terminal but HTML can be shown."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def bar_html(done: float | None, total: float | None, message: str) -> str:
    """A bar for notebooks, with its message; nothing to install, and readable as text where HTML is not drawn.

    >>> bar_html(3, 12, "a < b")
    '<progress value="3" max="12"></progress> a &lt; b'
    """
    known = "" if done is None or total is None else f' value="{done:g}" max="{total:g}"'
    return f"<progress{known}></progress> {escape(message)}"
