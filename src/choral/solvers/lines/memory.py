"""What a linear program over lines takes of memory, and what there is: said before it is taken."""

from __future__ import annotations

from pathlib import Path

from choral.errors import TooLargeError
from choral.solvers.lines.elimination import least_work
from choral.solvers.lines.newton import STACK
from choral.solvers.lines.partition import Sizes

ARRAYS = 12
"""Arrays of states × lines that an interior point holds at its peak."""
OF_LINES = 4
"""Matrices of columns × columns that every line has."""
COPIES = 3
"""Of a Schur complement: itself, the damped one, and the one that is added next; and one more for every worker."""
SPARED = 0.9
"""Share of the free memory that may be taken: the rest is for what comes after."""


def needed(sizes: Sizes, lines: int, workers: int) -> float:
    """Bytes at the peak of one linear program."""
    states, rank, order = sizes.states, sizes.rank, least_work(sizes, lines)
    size, stacks = lines * rank, workers * min(STACK, states * lines * rank)
    if order == "lines":
        size = states
        stacks += OF_LINES * lines * rank**2
    elif order == "classes":
        size = lines * sizes.rest
        stacks = sizes.classes * lines * (2 * size + 4 * lines)
    elif order == "indicators":
        stacks = lines**2 * (states + 3 * sizes.pairs)
    return 8.0 * (ARRAYS * states * lines + 2 * states * rank + stacks + (COPIES + workers) * size * size)


def available() -> float:
    """Bytes that can be taken without swapping, where the system says so; without end where it does not."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024.0 * int(found[0]) if found else float("inf")


def check(sizes: Sizes, lines: int, workers: int, remedy: str = "protect fewer or coarser groups") -> None:
    """Raise `TooLargeError` where a program does not fit, with how many states would: fewer do if more do."""
    free, wanted = SPARED * available(), needed(sizes, lines, workers)
    if wanted <= free:
        return
    low, high = 0, sizes.states
    while high - low > 1:
        middle = (low + high) // 2
        fewer = Sizes(middle, sizes.rank, min(sizes.alike, middle))
        low, high = (middle, high) if needed(fewer, lines, workers) <= free else (low, middle)
    raise TooLargeError(
        f"A search over {sizes.states} states and {lines} lines, with {sizes.rank} equations, takes {wanted / 1e9:.1f} GB of "
        f"memory, and {free / 1e9:.1f} GB can be taken.",
        f"About {low} states would fit with as many equations: use fewer columns or wider bins, or {remedy}.",
    )
