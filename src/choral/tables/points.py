"""A score in whole numbers: points looked up for each column and for pairs of columns, added, and cut into bins.

What matters of all columns that are not protected is what they say about the target together. Points say it in a way that
is the same on every engine and every day, because nothing but lookups and sums of whole numbers is needed, and that a person
can read. They are part of the curator's release file, and never of a card.

A column has pieces: intervals between edges, or values; what is missing is a piece where it occurs. Whatever is in none of
them is the piece "other", which comes last. So every record has points, and a bin, whatever its values are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from choral.errors import ColumnError, ReleaseFileError, did_you_mean
from choral.tables.columns import Column
from choral.tables.kinds import KINDS, kind_of_type, kind_of_value
from choral.tables.points_about import misshapen
from choral.tables.source import Source
from choral.tables.sql import identifier

OTHER = "other"
MOST_POINTS = 10**6
"""No table of points holds a larger number, so that no sum of them leaves 64 bits."""
WORDS = ("about", "scale", "sums", "contributes")
"""What is said about points for people to read them."""
PIECE = "choral piece "
"""Of columns that exist inside one query alone."""

Cells: TypeAlias = "int | tuple[int, int, Cells, Cells]"
"""A bin, or (sum, edge, what a smaller sum leads to, what this or a larger sum leads to)."""


@dataclass(frozen=True)
class Term:
    """Points for the pieces of one column, or for all pairs of pieces of two, the second one running fastest."""

    columns: tuple[str, ...]
    points: tuple[int, ...]


@dataclass(frozen=True)
class Points:
    """Points, and how their sums become a bin: 1, 2, … .

    name     of the column that the bins are
    columns  those that points are looked up for, with their pieces
    sums     the terms of every sum; one sum for a target of two values or for a mean, otherwise one for each value
    cells    a tree of whole-numbered edges, with bins as leaves
    about    how the points were made, for people and for audits
    """

    name: str
    columns: tuple[Column, ...]
    sums: tuple[tuple[Term, ...], ...]
    cells: Cells
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def bins(self) -> int:
        """How many bins there are."""
        return max(_leaves(self.cells))

    @property
    def cuts(self) -> tuple[int, ...] | None:
        """The edges between the bins of a single sum, increasing; None where there are several sums."""
        return tuple(sorted(_edges(self.cells))) if len(self.sums) == 1 else None

    @property
    def column(self) -> Column:
        """The bins as a column of the law."""
        return Column(self.name, "INTEGER", tuple(range(1, self.bins + 1)))

    @cached_property
    def _column(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}

    def sums_of(self, record: Mapping[str, Any]) -> list[int]:
        """The sums of points of one record; raises `ColumnError` for a column that is not there, or of another kind."""
        piece = {}
        for column in self.columns:
            if column.name not in record:
                raise ColumnError(
                    f"The record has no '{column.name}', which the score looks at.", did_you_mean(column.name, record)
                )
            found = column.code_of(record[column.name])
            piece[column.name] = len(column.values) if found < 0 else found
        return [sum(term.points[self._place(term, piece)] for term in terms) for terms in self.sums]

    def bin_of(self, record: Mapping[str, Any]) -> int:
        """The bin of one record."""
        sums, at = self.sums_of(record), self.cells
        while not isinstance(at, int):
            which, edge, below, above = at
            at = below if sums[which] < edge else above
        return at

    def _place(self, term: Term, piece: Mapping[str, int]) -> int:
        place = 0
        for name in term.columns:
            place = place * (len(self._column[name].values) + 1) + piece[name]
        return place

    def on(self, source_sql: str, columns: Mapping[str, str]) -> str:
        """A FROM item: the rows of `source_sql`, whose columns have these types, in order, with the bin as one more column.

        A column that has the name of the score is not it: it is left out.
        """
        pieces = {column.name: identifier(f"{PIECE}{i}") for i, column in enumerate(self.columns)}
        found = {c.name: f"coalesce({c.code_sql(columns[c.name])}, {len(c.values)})" for c in self.columns}
        items = [f"CAST({code} AS INTEGER) AS {pieces[name]}" for name, code in found.items()]
        sums = [f"{' + '.join(self._term_sql(term, pieces) for term in terms) or '0'}" for terms in self.sums]
        names = [identifier(f"{PIECE}sum {i}") for i in range(len(sums))]
        listed = ", ".join(f"{sum_} AS {name}" for sum_, name in zip(sums, names, strict=True))
        taken = [identifier(name) for name in columns if name.casefold() == self.name.casefold()]
        inner = f"(SELECT {', '.join([f'* {_without(taken)}', *items])} FROM {source_sql})"
        added = f"(SELECT * {_without(pieces.values())}, {listed} FROM {inner})"
        bin_ = f"CAST({_cells_sql(self.cells, names)} AS INTEGER) AS {identifier(self.name)}"
        return f"(SELECT * {_without(names)}, {bin_} FROM {added})"

    def _term_sql(self, term: Term, pieces: Mapping[str, str]) -> str:
        place = pieces[term.columns[0]]
        for name in term.columns[1:]:
            place = f"{place} * {len(self._column[name].values) + 1} + {pieces[name]}"
        return f"list_extract(CAST('[{', '.join(map(str, term.points))}]' AS BIGINT[]), {place} + 1)"

    def scored(self, table: Source) -> Source:
        """A table with the bin as one more column; what is known of the table stays known."""
        return replace(table, sql=self.on(table.sql, table.columns), columns=self.types(table.columns))

    def types(self, columns: Mapping[str, str]) -> dict[str, str]:
        """The types of columns, with the score as the last."""
        others = {name: type_ for name, type_ in columns.items() if name.casefold() != self.name.casefold()}
        return {**others, self.name: self.column.type}

    def check(self, columns: Mapping[str, str], name: str = "the table") -> None:
        """Raise unless a table with columns of these types has those of the score, and of the kind that they had."""
        for column in self.columns:
            column.check(columns, name)

    def __str__(self) -> str:
        """The points as a person reads them."""
        from choral.tables.points_shown import lines_of

        return "\n".join(lines_of(self))

    @property
    def brought(self) -> Points:
        """These points as somebody brings them to a table, perhaps changed: what they told of other records is not said."""
        words = {name: self.about[name] for name in WORDS if name in self.about}
        return replace(self, about={"made": "points that were brought to this table", **words})

    def to_document(self) -> dict[str, Any]:
        """The points as JSON."""
        return {
            "name": self.name,
            "columns": [column.to_document() for column in self.columns],
            "sums": [
                [{"columns": list(term.columns), "points": list(term.points)} for term in terms] for terms in self.sums
            ],
            "cells": _listed(self.cells) if self.cuts is None else {"cuts": list(self.cuts)},
            "about": dict(self.about),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any], where: str = "The release") -> Points:
        """The points that `to_document` wrote; raises `ReleaseFileError`, with the reason, for what are none."""
        try:
            found = cls(
                str(document["name"]),
                tuple(Column.from_document(column) for column in document["columns"]),
                tuple(
                    tuple(Term(tuple(map(str, term["columns"])), tuple(map(_whole, term["points"]))) for term in terms)
                    for terms in document["sums"]
                ),
                _read_cells(document["cells"]),
                dict(document.get("about", {})),
            )
            reason = _misfit(found)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            reason = f"they cannot be read, {error!r}"
        if reason is not None:
            raise ReleaseFileError(f"{where} has points that do not fit together: {reason}.", "Get the file again.")
        return found


def read_points(path: Path) -> Points:
    """Points from a file of their own, as `choral points --json` writes them; somebody may have changed them."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise ReleaseFileError(f"{path} cannot be read: {error}.", "Write one with choral points --json.") from None
    if not isinstance(document, dict):
        raise ReleaseFileError(f"{path} holds no points.", "Write one with choral points --json.")
    return Points.from_document(document, str(path))


def cells_of_cuts(cuts: Sequence[int]) -> Cells:
    """The tree that puts a single sum between these edges, which increase: as few comparisons as possible.

    >>> cells_of_cuts([-4, 0, 7])
    (0, 0, (0, -4, 1, 2), (0, 7, 3, 4))
    """
    return _tree(list(cuts), 1)


def _tree(cuts: list[int], first: int) -> Cells:
    if not cuts:
        return first
    middle = len(cuts) // 2
    return 0, cuts[middle], _tree(cuts[:middle], first), _tree(cuts[middle + 1 :], first + middle + 1)


def _leaves(cells: Cells) -> list[int]:
    return [cells] if isinstance(cells, int) else [*_leaves(cells[2]), *_leaves(cells[3])]


def _edges(cells: Cells) -> list[int]:
    return [] if isinstance(cells, int) else [cells[1], *_edges(cells[2]), *_edges(cells[3])]


def _listed(cells: Cells) -> Any:
    return cells if isinstance(cells, int) else [cells[0], cells[1], _listed(cells[2]), _listed(cells[3])]


def _read_cells(found: Any) -> Cells:
    if isinstance(found, Mapping):
        cuts = [_whole(cut) for cut in found["cuts"]]
        if any(a >= b for a, b in pairwise(cuts)):
            raise ValueError("cuts that do not increase")
        return cells_of_cuts(cuts)
    if isinstance(found, list):
        which, edge, below, above = found
        return _whole(which), _whole(edge), _read_cells(below), _read_cells(above)
    return _whole(found)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _misfit(points: Points) -> str | None:
    """Why points do not fit together; None where they do."""
    known = points._column
    if len({name.casefold() for name in (*known, points.name)}) != len(points.columns) + 1 or not points.name:
        return "two columns have the same name"
    for column in points.columns:
        listed = tuple(value for value in column.values if value is not None)
        if kind_of_type(column.type) is None or len(set(column.values)) != len(column.values):
            return f"the pieces of '{column.name}' are not what a column has"
        if column.cut is not None:
            if (wrong := column.misfit()) is not None:
                return f"'{column.name}' {wrong}"
        elif any(kind_of_value(value) not in (column.kind, "int") for value in listed):
            return f"'{column.name}' holds {KINDS[column.kind]}, and its pieces are something else"
    for term in (term for terms in points.sums for term in terms):
        if not 1 <= len(set(term.columns)) == len(term.columns) <= 2 or not set(term.columns) <= set(known):
            return f"{' and '.join(term.columns)} are not one or two of its columns"
        pieces = math.prod(len(known[name].values) + 1 for name in term.columns)
        if len(term.points) != pieces:
            return f"{len(term.points)} points for {' and '.join(term.columns)}, which have {pieces} pieces"
        if max(map(abs, term.points)) > MOST_POINTS:
            return f"points above {MOST_POINTS}"
    leaves = _leaves(points.cells)
    if sorted(leaves) != list(range(1, len(leaves) + 1)):
        return "the bins are not 1, 2, …"
    if not points.sums or not _sums_looked_at(points.cells) <= set(range(len(points.sums))):
        return "an edge is about a sum that is not there"
    if (wrong := misshapen(points.about)) is not None:
        return wrong
    return None if len(points.about.get("sums", points.sums)) == len(points.sums) else "a name for each sum is missing"


def _sums_looked_at(cells: Cells) -> set[int]:
    return set() if isinstance(cells, int) else {cells[0], *_sums_looked_at(cells[2]), *_sums_looked_at(cells[3])}


def _cells_sql(cells: Cells, names: Sequence[str]) -> str:
    if isinstance(cells, int):
        return str(cells)
    which, edge, below, above = cells
    return f"CASE WHEN {names[which]} < ({edge}) THEN {_cells_sql(below, names)} ELSE {_cells_sql(above, names)} END"


def _without(names: Any) -> str:
    listed = ", ".join(names)
    return f"EXCLUDE ({listed})" if listed else ""
