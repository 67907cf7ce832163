"""Points as a person reads them: what each column contributes, the points of its pieces, and how sums become bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from choral.describe.display import counted, figure
from choral.tables.columns import Column
from choral.tables.points import OTHER, Points, Term

ONE_UNIT = "are one unit of "
"""How `choral.scores.learn` begins what it says of points for a number."""
MOST_PAIRS = 6
"""Pairs of pieces that are shown of each pair of columns: those that matter most."""


def lines_of(points: Points, most_pairs: int = MOST_PAIRS) -> list[str]:
    """The points as lines of text; what contributes most comes first."""
    columns = {column.name: column for column in points.columns}
    sums: Sequence[Any] = points.about.get("sums", [None] * len(points.sums))
    lines = [_unit(points)]
    for of, terms in zip(sums, points.sums, strict=True):
        if of is not None:
            lines += ["", f"points for {of}"]
        weights = _weights(points, terms, of)
        for term in sorted(terms, key=lambda term: (-weights[term.columns], term.columns)):
            lines += ["", f"{' × '.join(term.columns)}   (contributes {weights[term.columns]:g})"]
            lines += _single(term, columns) if len(term.columns) == 1 else _pair(term, columns, most_pairs)
    return [*lines, "", *_bins(points)]


def _unit(points: Points) -> str:
    scale, of = points.about.get("scale"), points.about.get("about")
    known = "" if scale is None or of is None else f"; {scale:g} points {of}"
    if scale and of and of.startswith(ONE_UNIT):
        known = f"; a point is {figure(1 / scale)} of {of.removeprefix(ONE_UNIT)}"
    what = "sum is" if len(points.sums) == 1 else "sums are"
    return f"{points.name}: points are added, and the {what} cut into {counted(points.bins, 'bin')}{known}"


def _weights(points: Points, terms: Sequence[Term], of: Any) -> dict[tuple[str, ...], float]:
    """What terms contribute: as it was measured, of this sum or of the target, or else half the range of their points."""
    measured: Mapping[str, float] = points.about.get("contributes", {})
    found = {}
    for term in terms:
        name, half = " × ".join(term.columns), (max(term.points) - min(term.points)) / 2
        found[term.columns] = measured.get(f"{of}: {name}", measured.get(name, half))
    return found


def _names(column: Column) -> list[str]:
    return [*("missing" if value is None else str(value) for value in column.values), OTHER]


def _single(term: Term, columns: Mapping[str, Column]) -> list[str]:
    """A line for each piece; numbers stay in order, and values are listed by their points."""
    column = columns[term.columns[0]]
    named = list(zip(_names(column), term.points, strict=True))
    if column.edges is None:
        named.sort(key=lambda one: -one[1])
        joined = [(", ".join(name for name, _ in some), n) for n, some in _together(named)]
    else:
        joined = named
    wide = min(max(len(name) for name, _ in joined), 60)
    return [f"  {name:<{wide}}  {n:+d}" for name, n in joined if n or name != OTHER]


def _together(named: Sequence[tuple[str, int]]) -> list[tuple[int, list[tuple[str, int]]]]:
    return [(n, list(some)) for n, some in groupby(named, key=lambda one: one[1])]


def _pair(term: Term, columns: Mapping[str, Column], most: int) -> list[str]:
    first, second = (columns[name] for name in term.columns)
    below = len(_names(second))
    cells = sorted(enumerate(term.points), key=lambda cell: (-abs(cell[1]), cell[0]))
    shown = [(f"{_names(first)[i // below]}, {_names(second)[i % below]}", n) for i, n in cells[:most] if n]
    wide = max((len(name) for name, _ in shown), default=0)
    left = sum(1 for _, n in cells if n) - len(shown)
    more = [f"  … and {left} more (--json has all)"] if left > 0 else []
    return [f"  {name:<{wide}}  {n:+d}" for name, n in shown] + more


def _bins(points: Points) -> list[str]:
    """Where the sum is cut; for several sums, the edges that lead to each bin."""
    if points.cuts is not None:
        ends = [*points.cuts, None]
        starts = [None, *points.cuts]
        return [f"bin {i}: {_span(low, high)}" for i, (low, high) in enumerate(zip(starts, ends, strict=True), 1)]
    of = points.about.get("sums", range(1, len(points.sums) + 1))
    return [f"bin {bin_}: {'; '.join(path) or 'all'}" for bin_, path in sorted(_paths(points.cells, of, []))]


def _paths(cells: Any, of: Sequence[Any], path: list[str]) -> list[tuple[int, list[str]]]:
    if isinstance(cells, int):
        return [(cells, path)]
    which, edge, below, above = cells
    low = _paths(below, of, [*path, f"{of[which]} below {edge}"])
    return [*low, *_paths(above, of, [*path, f"{of[which]} from {edge}"])]


def _span(low: int | None, high: int | None) -> str:
    if low is None:
        return "all sums" if high is None else f"below {high}"
    return f"{low} and above" if high is None else f"{low} to {high - 1}"
