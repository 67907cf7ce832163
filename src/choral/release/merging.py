"""Which combinations of used values are merged because they are rare, and which promised values stay beside a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from choral.describe.reading import Cell
from choral.errors import ProblemError
from choral.problem.question import Roles
from choral.tables.columns import Column
from choral.tables.counting import Counts
from choral.tables.points import Points
from choral.tables.rare import back_off, most_telling
from choral.tables.rules import TableRules
from choral.tables.states import merge_bins, merge_rare


def merged_states(
    counts: Counts,
    used: Mapping[Cell, int],
    columns: Sequence[Column],
    roles: Roles,
    rules: TableRules,
    points: Points | None,
) -> tuple[list[Cell], list[list[Cell]]]:
    """The combinations that are states of their own, and those that are merged; never across promised values, if possible."""
    fixed = [i for i, name in enumerate(roles.use) if name in roles.promised]
    if points is not None:
        return merge_bins(used, roles.use.index(points.name), points.bins, rules.min_count, rules.rare)
    if len(fixed) == len(roles.use):
        if rules.rare == "keep":
            raise ProblemError(
                "rare='keep', and every used column is protected: rare combinations of protected values are all there is.",
                "Say min_count=1 (--min-count 1) to merge nothing.",
            )
        return merge_rare(used, rules.min_count)
    place = {column.name: i for i, column in enumerate(columns)}
    free = [place[name] for i, name in enumerate(roles.use) if i not in fixed]
    telling = most_telling(counts, [place[name] for name in roles.reveal], free)
    order = [roles.use.index(columns[i].name) for i in telling]
    found = back_off(used, rules.min_count, fixed, order, rules.rare)
    return found.kept, found.merged


def others_of(
    used: Mapping[Cell, int], roles: Roles, kept: Sequence[Cell], merged: Sequence[Sequence[Cell]]
) -> tuple[tuple[Cell, int], ...]:
    """For each combination of promised values the state of what was not seen with them.

    It is the merged state with the most records, or where none is merged the state with the most.
    """
    places = [i for i, name in enumerate(roles.use) if name in roles.promised]
    best: dict[Cell, tuple[bool, int, int]] = {}
    for state, cells in enumerate([*([cell] for cell in kept), *merged]):
        rank = len(cells) > 1, sum(used.get(cell, 0) for cell in cells), -state
        for part in {tuple(cell[i] for i in places) for cell in cells}:
            best[part] = max(best.get(part, rank), rank)
    return tuple((part, -found[2]) for part, found in sorted(best.items()))


def beside_state(roles: Roles, merged: Sequence[Sequence[Cell]]) -> tuple[str, ...]:
    """The used columns that something is promised about, if they are functions of the states."""
    places = [i for i, name in enumerate(roles.use) if name in roles.promised]
    if not merged or any(len({tuple(cell[i] for i in places) for cell in cells}) > 1 for cells in merged):
        return ()
    return tuple(roles.use[i] for i in places)
