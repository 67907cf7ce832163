"""Progress bars: a certified interval closing, and rows of a table going by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from choral.limits import Progress as Callback

NARROW = 12.0
"""Orders of magnitude of the gap that a full bar stands for."""


@contextmanager
def interval_bar(quiet: bool) -> Iterator[Callback | None]:
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
