"""Columns that give the target away: copies of it, columns that determine it, numbers that lie apart by its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from choral.tables.source import Source, reading

COUNTED = 100_000
"""Columns with about this many values at most are counted exactly; of larger ones as many values are sampled by hash."""
SAMPLE = 1000
"""Rows in which texts are looked at."""
ORDERED = 5000
"""Rows in which it is seen whether two numbers grow with each other."""
EACH = 5
"""Records per value on average from which it is no accident that a column determines the target."""
GROUPS = 20
"""Values of a target at most for which the extents of numbers are compared."""


def sampled(value: str, about: int) -> tuple[str, int]:
    """SQL, ` FILTER (…)`, that keeps a share of the values of a column, the same in every row; and of how many one."""
    every = max(1, 2 * about // COUNTED) if about > COUNTED else 1
    return (f" FILTER (hash({value}) % {every} = 0)" if every > 1 else ""), every


def determined(
    table: Source,
    names: Sequence[str],
    values: Mapping[str, str],
    target: Sequence[str],
    distinct: Mapping[str, int],
    present: Mapping[str, int],
) -> dict[str, str]:
    """The columns each of whose values comes with one value of the target, missing ones included.

    A value is compared by a share of the values where there are many. That a column with few records per value determines
    the target may be an accident. One to one it is not, unless nearly every record has values of its own: of two numbers it
    is none then if one grows, or falls, with the other.
    """
    many = max(distinct[name] for name in target)
    candidates = [
        n for n in names if distinct[n] >= many - 1 and (present[n] >= EACH * distinct[n] or distinct[n] <= many)
    ]
    if not candidates:
        return {}
    known = " AND ".join(f"({values[name]}) IS NOT NULL" for name in target)
    few = _pairs(
        table, candidates, values, target, distinct, f"(SELECT * FROM {table.sql} WHERE {known} LIMIT {SAMPLE})"
    )
    candidates = [name for name in candidates if few[name][0] == few[name][1]]
    found = {}
    for name, (own, pairs, targets) in _pairs(
        table, candidates, values, target, distinct, f"{table.sql} WHERE {known}"
    ).items():
        if own == pairs == targets and (
            present[name] >= EACH * distinct[name] or _in_order(table, values[name], values[target[0]], known)
        ):
            found[name] = f"is a copy of '{'+'.join(target)}': each value of one has one of the other"
        elif own == pairs and present[name] >= EACH * distinct[name]:
            found[name] = f"determines '{'+'.join(target)}': each of its values comes with one value of it"
    return found


def _in_order(table: Source, value: str, target: str, known: str) -> bool:
    """Whether a column of numbers puts rows in the same order as the target, or in the opposite one: of the first rows."""
    first = (
        f"SELECT {value} AS x, {target} AS y FROM {table.sql} WHERE {known} AND ({value}) IS NOT NULL LIMIT {ORDERED}"
    )
    ranks = f"SELECT rank() OVER (ORDER BY x) AS x, rank() OVER (ORDER BY y) AS y FROM ({first})"
    [(same,)] = table.connection.execute(f"SELECT abs(corr(x, y)) FROM ({ranks})").fetchall()
    return bool(same is not None and same > 1 - 1e-9)


def _pairs(
    table: Source,
    names: Sequence[str],
    values: Mapping[str, str],
    target: Sequence[str],
    distinct: Mapping[str, int],
    relation: str,
) -> dict[str, tuple[int, int, int]]:
    """For each of these columns how many values it has, how many pairs with the target, and how many the target has."""
    if not names:
        return {}
    together = ", ".join(values[name] for name in target)
    items = []
    for name in names:
        kept, _ = sampled(values[name], distinct[name])
        for what in (values[name], f"{values[name]}, {together}", together):
            items.append(f"count(DISTINCT hash({what})){kept}")
    row = row_of(table, f"SELECT {', '.join(items)} FROM {relation}")
    return {name: (row[3 * i], row[3 * i + 1], row[3 * i + 2]) for i, name in enumerate(names)}


def apart(
    table: Source, names: Sequence[str], values: Mapping[str, str], target: str, distinct: Mapping[str, int]
) -> dict[str, str]:
    """The numbers and dates whose extents, for the values of the target, do not meet: a threshold gives the target."""
    if not names:
        return {}
    items = ", ".join(f"min({values[name]}), max({values[name]})" for name in names)
    with reading(table):
        found = table.connection.execute(
            f"SELECT {items} FROM {table.sql} WHERE ({values[target]}) IS NOT NULL GROUP BY {values[target]}"
        ).fetchall()
    apart = {}
    for i, name in enumerate(names):
        extents = sorted(row[2 * i : 2 * i + 2] for row in found if row[2 * i] is not None)
        meet = any(above[0] <= below[1] for below, above in pairwise(extents))
        if len(extents) == distinct[target] and not meet:
            apart[name] = f"determines '{target}': the values of the one lie apart by the other"
    return apart


def row_of(table: Source, sql: str) -> tuple[Any, ...]:
    """The one row that a query gives."""
    with reading(table):
        return table.connection.execute(sql).fetchall()[0]
