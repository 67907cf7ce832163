"""Which combinations of used values are states of their own, and which are too rare for that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from choral.describe.joint import Joint
from choral.describe.reading import Cell
from choral.tables.rare import leaves_one, mostly
from choral.tables.recipe import Recipe

RARE = "rare"
"""The symbol of the state that rare combinations are merged into."""


def merge_rare(
    counts: Mapping[Cell, int], min_count: int, parts: Mapping[Cell, int] | None = None
) -> tuple[list[Cell], list[list[Cell]]]:
    """The combinations that stay states of their own, and those merged into one state because they are rare.

    Rare is what occurs less often than `min_count`. If all rare ones together still do, the next rarest join them (of
    equally rare ones the first in order), so that no state is rare afterwards. Only combinations of the same part are
    merged.

    >>> merge_rare({(0,): 9, (1,): 2, (2,): 7, (3,): 1}, 5)
    ([(0,)], [[(1,), (2,), (3,)]])
    """
    by_part: defaultdict[int, list[Cell]] = defaultdict(list)
    for cell in sorted(counts, key=lambda cell: (counts[cell], cell)):
        by_part[parts[cell] if parts else 0].append(cell)
    merged = []
    for _, cells in sorted(by_part.items()):
        rare: list[Cell] = []
        total = 0
        for cell in cells:
            if counts[cell] >= min_count and (not rare or total >= min_count):
                break
            rare.append(cell)
            total += counts[cell]
        if len(rare) > 1:
            merged.append(sorted(rare))
    gone = {cell for cells in merged for cell in cells}
    kept = sorted(set(counts) - gone)
    if len(kept) + len(merged) == 1 and gone:
        raise leaves_one(counts, min_count)
    return kept, merged


def merge_bins(
    counts: Mapping[Cell, int], at: int, bins: int, min_count: int, rule: str | None = None
) -> tuple[list[Cell], list[list[Cell]]]:
    """As `merge_rare`, where the value at place `at` is one of so many bins of a score.

    A rare bin is merged with its rarer neighbour, so long as there is one, and only within the same other values: those that
    are protected stay apart. A bin that does not occur with such values is merged too, so that records to come have a state.
    Values that are rare in all bins together are one state, or merged with other such ones (`choral.tables.rare`).

    >>> merge_bins({(0, 0): 9, (2, 0): 2, (3, 0): 7, (0, 1): 5}, 0, 4, 5)
    ([(0, 0)], [[(0, 1), (1, 1), (2, 1), (3, 1)], [(1, 0), (2, 0), (3, 0)]])
    """
    others: defaultdict[Cell, list[int]] = defaultdict(lambda: [0] * bins)
    for cell, n in counts.items():
        others[(*cell[:at], *cell[at + 1 :])][cell[at]] += n
    runs: dict[Cell, list[Cell]] = {}
    totals: dict[Cell, int] = {}
    for rest, own in sorted(others.items()):
        joined = [[b] for b in range(bins)]
        sums = list(own)
        while len(joined) > 1 and min(sums) < max(min_count, 1):
            rarest = min(range(len(sums)), key=sums.__getitem__)
            beside = [i for i in (rarest - 1, rarest + 1) if 0 <= i < len(sums)]
            other = min(beside, key=sums.__getitem__)
            low, high = sorted((rarest, other))
            joined[low] += joined.pop(high)
            sums[low] += sums.pop(high)
        for run, total in zip(joined, sums, strict=True):
            runs[len(runs),] = [(*rest[:at], b, *rest[at:]) for b in run]
            totals[len(totals),] = total
    rare = [i for i, total in totals.items() if total < min_count]
    across = rule == "merge" or (rule is None and mostly(rare, totals))
    single, several = merge_rare(totals, min_count) if across else ([*totals], [])
    groups = [runs[i] for i in single] + [[cell for i in some for cell in runs[i]] for some in several]
    kept = sorted(cell for [cell, *more] in groups if not more)
    return kept, sorted(sorted(group) for group in groups if len(group) > 1)


def with_states(joint: Joint, recipe: Recipe) -> Joint:
    """The law with the column that names the state, where combinations were merged; the law itself where not."""
    if recipe.state_column is None:
        return joint
    shown = recipe.shown
    names = [name for name in joint.names if name in shown]
    where, used = [joint.position(name) for name in names], [joint.position(name) for name in recipe.use]
    sums: defaultdict[Cell, int] = defaultdict(int)
    for cell, weight in joint.cells.items():
        state = recipe.state_of_combination[tuple(cell[i] for i in used)]
        sums[(*(cell[i] for i in where), state)] += weight
    return Joint([*names, recipe.state_column], [*(joint.alphabets[i] for i in where), symbols(recipe)], sums)


def symbols(recipe: Recipe) -> list[Any]:
    """What the states are called: the values of the used columns, and "rare" (with a number where there are several)."""
    alphabets = [recipe.column(name).values for name in recipe.use]
    own = recipe.combinations[: recipe.kept]
    rare = [RARE] if len(recipe.merged) == 1 else [f"{RARE} {i}" for i in range(1, len(recipe.merged) + 1)]
    return [*(tuple(a[i] for a, i in zip(alphabets, codes, strict=True)) for codes in own), *rare]
