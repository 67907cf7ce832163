"""Progress bars: a certified interval closing, rows of a table going by, steps; and the interval's history."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from choral.describe.display import at_most
from choral.design.limits import Progress as IntervalCallback

NARROW = 12.0
"""Orders of magnitude of the gap that a full bar stands for."""


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
    columns = [BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn()]
    with _bar(quiet, columns) as draw:
        if draw is None:
            yield None
            return

        def show(information: float, upper_bound: float, message: str) -> None:
            gap = max(upper_bound - information, 10**-NARROW)
            draw(max(0.0, -math.log10(gap)), NARROW, f"{information:.3g} … {at_most(upper_bound)} bits  {message}")

        yield show


@contextmanager
def steps_bar(quiet: bool = False) -> Iterator[Callable[[int, int, str], None] | None]:
    """A callback (done, of how many, message) that draws where somebody looks."""
    columns = [BarColumn(bar_width=24), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn()]
    with _bar(quiet, [*columns, TextColumn("{task.description}")]) as draw:
        yield draw


@contextmanager
def rows_bar(quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for `disclose_table(progress=…)` that draws where somebody looks."""
    columns = [BarColumn(bar_width=24), TextColumn("{task.description}"), TimeRemainingColumn()]
    with _bar(quiet, columns) as draw:
        if draw is None:
            yield None
            return

        def show(done: int, rows: int) -> None:
            draw(done, rows, f"{done:,} of {rows:,} rows")

        yield show


@contextmanager
def _bar(quiet: bool, columns: Sequence[ProgressColumn]) -> Iterator[Callable[[float, float, str], None] | None]:
    """A callback (done, of how much, message) that draws a bar, gone afterwards; None where nobody looks."""
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
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("starting", total=None)
            yield lambda done, total, message: progress.update(task, completed=done, total=total, description=message)


def in_notebook() -> bool:
    """Whether this runs in a notebook's kernel, where standard error is no terminal but HTML can be shown."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None


def bar_html(done: float, total: float, message: str) -> str:
    """A bar for notebooks, with its message; nothing to install, and readable as text where HTML is not drawn.

    >>> bar_html(3, 12, "a < b")
    '<progress value="3" max="12"></progress> a &lt; b'
    """
    return f'<progress value="{done:g}" max="{total:g}"></progress> {escape(message)}'
