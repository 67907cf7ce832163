"""What a linear program over lines takes of memory, and what there is: said before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from choral.errors import TooLargeError
from choral.solvers.lines.budget_elimination import work
from choral.solvers.lines.chunks import cores
from choral.solvers.lines.elimination import STACK, least_work
from choral.solvers.lines.partition import Sizes

ARRAYS = 12
"""Arrays of states × lines that an interior point holds at its peak."""
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


def fits(sizes: Sizes, lines: int, workers: int) -> bool:
    """Whether there is memory for one linear program."""
    return needed(sizes, lines, workers) <= SPARED * available()


def most_states(states: int, fits: Callable[[int], bool]) -> int:
    """The most of so many that fit, where fewer do if more do."""
    low, high = 0, states
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def too_large(sizes: Sizes, lines: int, workers: int) -> TooLargeError:
    """That the first program does not fit, and how many states would."""
    free = SPARED * available()
    states, rank = sizes.states, sizes.rank
    low = most_states(states, lambda some: needed(Sizes(some, rank), lines, workers) <= free)
    wanted = needed(sizes, lines, workers)
    return TooLargeError(
        f"A search over {states} states with {rank} equations takes {wanted / 1e9:.1f} GB of memory, and "
        f"{free / 1e9:.1f} GB can be taken.",
        f"About {low} states would fit with as many equations: use fewer columns or wider bins, or protect fewer or coarser "
        "groups.",
    )


def check_budgets(states: int, lines: int, width: int, classes: int) -> None:
    """Raise `TooLargeError`, before it is taken, where a program within budgets does not fit.

    The width is that of all values and equations, in which states of a class are alike.
    """
    free = SPARED * available()

    def takes(some: int) -> float:
        by_lines, by_states = work(some, lines, width, min(classes, some))
        size, columns = (some, some * lines) if by_lines < by_states else (lines * width, some * lines * width)
        arrays = ARRAYS * some * lines + 4 * lines * width**2 + classes * lines * width + min(STACK, columns) * cores()
        return 8.0 * (arrays + (COPIES + cores()) * size**2)

    wanted = takes(states)
    if wanted > free:
        fewer = most_states(states, lambda some: takes(some) <= free)
        raise TooLargeError(
            f"A search within budgets over {states} states and {lines} lines takes {wanted / 1e9:.1f} GB of memory, and "
            f"{free / 1e9:.1f} GB can be taken.",
            f"About {fewer} states would fit with as many protected values: use "
            "fewer columns or wider bins, give budgets to fewer or coarser groups, or protect them without a budget.",
        )
