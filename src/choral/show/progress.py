"""Progress bars: a certified interval closing, rows of a table going by, steps; and the interval's history."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from choral.limits import Progress as IntervalCallback

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
def interval_bar(quiet: bool) -> Iterator[IntervalCallback | None]:
    """A callback for `disclose(progress=…)` that draws on standard error, where somebody looks."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = [
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[interval]}"),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=NARROW, interval="")

        def show(information: float, upper_bound: float, message: str) -> None:
            gap = max(upper_bound - information, 10**-NARROW)
            progress.update(
                task,
                description=message,
                completed=max(0.0, -math.log10(gap)),
                interval=f"{information:.9f} … {upper_bound:.9f} bits",
            )

        yield show


@contextmanager
def rows_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A callback for `disclose_table(progress=…)` that draws on standard error, where somebody looks."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = [
        TextColumn("disclosing"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("disclosing", total=1)

        def show(done: int, rows: int) -> None:
            progress.update(task, completed=done, total=rows)

        yield show


@contextmanager
def steps_bar(quiet: bool) -> Iterator[Callable[[int, int, str], None] | None]:
    """A callback (done, of how many, message) that draws on standard error, where somebody looks."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = [BarColumn(bar_width=24), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn()]
    with Progress(*columns, TextColumn("{task.description}"), console=console, transient=True) as progress:
        task = progress.add_task("starting", total=None)
        yield lambda done, total, message: progress.update(task, completed=done, total=total, description=message)
