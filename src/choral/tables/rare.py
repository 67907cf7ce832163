"""Rare combinations of used values back off, column by column, and keep their protected values.

A combination that occurs less often than `min_count` is no state of its own. It joins others that agree with it in all
columns but the least telling one; where these together are still rare, in all but the two least telling ones; and so on. The
columns in `fixed` (protected ones, and those of conditions) never differ inside a state: they stay functions of it, so that
what is said about them can be used.

A part, one combination of fixed values, that is rare as a whole is one state: it is kept as it is, however rare, or all such
parts are merged into one state, whose protected values then differ; the rarest other state joins if that is still rare.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from choral.describe.reading import Cell
from choral.errors import ProblemError, TooLargeError
from choral.tables.troubles import SMALL, too_small

RULES = ("keep", "merge")
FEW_STATES = 5000
"""States up to which it is the curator's affair if nearly every record is one."""
MOST_RARE = 0.1
"""Share of the records in rare parts from which these are merged unless told: most of what is known would be rare."""


@dataclass(frozen=True)
class Merging:
    """The combinations that stay states of their own, those merged into one state each, and the parts that are rare.

    `across` says that the rare parts are merged, into the last of `merged`; else each is a state, one of its own.
    """

    kept: list[Cell]
    merged: list[list[Cell]]
    rare_parts: list[Cell]
    across: bool = False


def back_off(
    counts: Mapping[Cell, int], min_count: int, fixed: Sequence[int], order: Sequence[int], rule: str | None = None
) -> Merging:
    """Merge what is rare, at these `fixed` positions of a combination never across values; `order` has the other positions.

    >>> cells = {("f", 0, "a"): 9, ("f", 0, "b"): 2, ("f", 0, "c"): 4, ("f", 1, "a"): 2, ("f", 1, "b"): 1, ("m", 0, "a"): 3}
    >>> found = back_off(cells, 5, [0], [1, 2])
    >>> found.kept, [[cell[1:] for cell in group] for group in found.merged], found.rare_parts
    ([('f', 0, 'a'), ('m', 0, 'a')], [[(0, 'b'), (0, 'c'), (1, 'a'), (1, 'b')]], [('m',)])
    """
    parts: defaultdict[Cell, list[Cell]] = defaultdict(list)
    for cell in sorted(counts):
        parts[tuple(cell[i] for i in fixed)].append(cell)
    total = {part: sum(counts[cell] for cell in cells) for part, cells in parts.items()}
    rare = [part for part in parts if total[part] < min_count]
    states: list[list[Cell]] = []
    for part, cells in parts.items():
        states += [cells] if total[part] < min_count else _within(counts, min_count, cells, order)
    across = rule == "merge" or (rule is None and mostly(rare, total))
    if across and len(rare) > 1:
        states = [state for state in states if tuple(state[0][i] for i in fixed) not in set(rare)]
        whole = [cell for part in rare for cell in parts[part]]
        if sum(total[part] for part in rare) < min_count and states:
            whole += states.pop(states.index(_least(counts, states)))
        states.append(sorted(whole))
    else:
        across = False
    if len(states) == 1 < len(counts):
        raise leaves_one(counts, min_count)
    return Merging(
        sorted(state[0] for state in states if len(state) == 1), [s for s in states if len(s) > 1], rare, across
    )


def leaves_one(counts: Mapping[Cell, int], min_count: int) -> ProblemError:
    """That everything is so rare that one state is left, and how many states there would be if nothing were merged."""
    records = sum(counts.values())
    if records < SMALL:
        return too_small(records)
    return ProblemError(
        f"All {len(counts)} combinations of used values are so rare that merging below a count of {min_count} leaves one.",
        "Use fewer columns, bin them more coarsely, or lower min_count: --min-count 1 merges nothing and gives "
        f"{len(counts)} states for {records} records.",
    )


def check_not_unique(states: int, records: int) -> None:
    """Raise if nearly every record would be a state of its own, in a table that is not small."""
    if states > FEW_STATES and 2 * states > records:
        raise TooLargeError(
            f"The used columns take {states} different combinations of values in {records} records: nearly every record "
            "would be a state of its own, which takes long and tells little of others.",
            "Use fewer columns, bin them (--bins), or raise min_count (--min-count).",
        )


def most_telling(counts: Mapping[Cell, int], target: Sequence[int], positions: Sequence[int]) -> list[int]:
    """Positions in records by what each alone says about the target, most first; `counts` are of whole records."""
    told = {i: _information(counts, target, i) for i in positions}
    return sorted(positions, key=lambda i: (-round(told[i], 9), i))


def mostly(rare: Sequence[Cell], total: Mapping[Cell, int]) -> bool:
    """Whether rare parts are most of the parts, or hold a good share of the records."""
    records = sum(total[part] for part in rare)
    return 2 * len(rare) > len(total) or records > MOST_RARE * sum(total.values())


def _within(
    counts: Mapping[Cell, int], min_count: int, cells: Sequence[Cell], order: Sequence[int]
) -> list[list[Cell]]:
    """The states of one part, none of them rare; the part is not."""
    states = [[cell] for cell in cells if counts[cell] >= min_count]
    left = [cell for cell in cells if counts[cell] < min_count]
    for level in range(len(order) - 1, -1, -1):
        alike: defaultdict[Cell, list[Cell]] = defaultdict(list)
        for cell in left:
            alike[tuple(cell[i] for i in order[:level])].append(cell)
        enough = [group for group in alike.values() if sum(counts[cell] for cell in group) >= min_count]
        states += enough
        gone = {cell for group in enough for cell in group}
        left = [cell for cell in left if cell not in gone]
    if left:
        least = _least(counts, states)
        states.remove(least)
        states.append(sorted([*least, *left]))
    return states


def _least(counts: Mapping[Cell, int], states: Sequence[list[Cell]]) -> list[Cell]:
    """The rarest of these states; of equally rare ones the first in order."""
    return min(states, key=lambda state: (sum(counts[cell] for cell in state), state))


def _information(counts: Mapping[Cell, int], target: Sequence[int], position: int) -> float:
    """I(W; X) in bits of the target and one column, less what a column of as many values shows by chance (Miller, 1955)."""
    both: defaultdict[tuple[object, Cell], int] = defaultdict(int)
    own: defaultdict[object, int] = defaultdict(int)
    of_target: defaultdict[Cell, int] = defaultdict(int)
    for cell, n in counts.items():
        w = tuple(cell[i] for i in target)
        both[cell[position], w] += n
        own[cell[position]] += n
        of_target[w] += n
    total = sum(of_target.values())
    found = sum(n / total * math.log2(n * total / (own[x] * of_target[w])) for (x, w), n in both.items() if n)
    return found - (len(own) - 1) * (len(of_target) - 1) / (2 * total * math.log(2))
