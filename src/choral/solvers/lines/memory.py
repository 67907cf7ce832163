"""What a linear program over lines takes of memory, and what there is: said before it is taken."""

from __future__ import annotations

from pathlib import Path

from choral.errors import TooLargeError
from choral.solvers.lines.elimination import STACK, least_work
from choral.solvers.lines.partition import Partition

ARRAYS = 12
"""Arrays of states × lines that an interior point holds at its peak."""
COPIES = 3
"""Of a Schur complement: itself, the damped one, and the one that is added next; and one more for every worker."""
SPARED = 0.9
"""Share of the free memory that may be taken: the rest is for what comes after."""


def needed(states: int, lines: int, rank: int, partition: Partition | None, workers: int) -> float:
    """Bytes at the peak of one linear program."""
    order = least_work(states, lines, rank, partition)
    size, stacks = {"states": lines * rank, "lines": states}.get(order, 0), workers * min(STACK, states * lines * rank)
    if order == "classes" and partition is not None:
        size, stacks = lines * partition.rest.shape[1], 0
        stacks = len(partition.share) * lines * (2 * size + 4 * lines)
    return 8.0 * (ARRAYS * states * lines + 2 * states * rank + stacks + (COPIES + workers) * size * size)


def available() -> float:
    """Bytes that can be taken without swapping, where the system says so; without end where it does not."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("inf")
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return 1024.0 * int(found[0]) if found else float("inf")


def fits(states: int, lines: int, rank: int, partition: Partition | None, workers: int) -> bool:
    """Whether there is memory for one linear program."""
    return needed(states, lines, rank, partition, workers) <= SPARED * available()


def too_large(states: int, lines: int, rank: int, workers: int) -> TooLargeError:
    """That the first program does not fit, and how many states would."""
    free = SPARED * available()
    low, high = 0, states
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if needed(middle, lines, rank, None, workers) <= free else (low, middle)
    wanted = needed(states, lines, rank, None, workers)
    return TooLargeError(
        f"A search over {states} states with {rank} equations takes {wanted / 1e9:.1f} GB of memory, and "
        f"{free / 1e9:.1f} GB can be taken.",
        f"About {low} states would fit with as many equations: use fewer columns or wider bins, or protect fewer or coarser "
        "groups.",
    )
