"""From tables of a model to points: terms in whole numbers, without columns and edges that say nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from choral.problem.kernel import Floats
from choral.scores.teacher import Pair, Tables
from choral.tables.columns import Column, labels
from choral.tables.points import Points, Term


def terms_of(tables: Tables, columns: Sequence[Column], pairs: Sequence[Pair]) -> tuple[tuple[Term, ...], ...]:
    names = [column.name for column in columns]
    found = []
    for s in range(tables.constant.size):
        one = [Term((names[i],), _flat(table[:, s])) for i, table in tables.one.items()]
        two = [Term((names[i], names[j]), _flat(tables.two[i, j][:, :, s])) for i, j in pairs]
        found.append(tuple(term for term in (*one, *two) if any(term.points)))
    return tuple(found)


def _flat(table: Floats) -> tuple[int, ...]:
    return tuple(int(point) for point in table.reshape(-1))


def compact(points: Points) -> Points:
    """The same points without columns that have none, and without edges at which no points change."""
    used = {name for terms in points.sums for term in terms for name in term.columns}
    for column in (column for column in points.columns if column.name in used and column.edges):
        tables = [
            np.moveaxis(_array(points, term), term.columns.index(column.name), 0)
            for terms in points.sums
            for term in terms
            if column.name in term.columns
        ]
        assert column.edges is not None
        changes = [i for i in range(len(column.edges)) if any((table[i] != table[i + 1]).any() for table in tables)]
        edges = tuple(column.edges[i] for i in changes)
        gap = (None,) if None in column.values else ()
        rows = [0, *(i + 1 for i in changes), *range(len(column.edges) + 1, len(column.values) + 1)]
        narrow = replace(column, values=(*labels(edges, column.type), *gap), edges=edges)
        sums = tuple(
            tuple(
                replace(
                    term,
                    points=_flat(np.take(_array(points, term), rows, axis=term.columns.index(column.name))),
                )
                if column.name in term.columns
                else term
                for term in terms
            )
            for terms in points.sums
        )
        columns = tuple(narrow if c.name == column.name else c for c in points.columns)
        points = replace(points, columns=columns, sums=sums)
    return replace(points, columns=tuple(column for column in points.columns if column.name in used))


def _array(points: Points, term: Term) -> npt.NDArray[np.int64]:
    sizes = {column.name: len(column.values) + 1 for column in points.columns}
    return np.array(term.points, dtype=np.int64).reshape([sizes[name] for name in term.columns])
