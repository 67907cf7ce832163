"""Pieces of a column that points are given for: intervals of numbers with round edges, or values or names that are common."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal
from typing import Any

import numpy as np

from choral.tables.columns import Column, Cut, canonical_sql, number_sql
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.source import Source, reading

MOST_PIECES = 32
"""Intervals of a number: more are not seen in what a score tells (measured), and make points hard to read."""
MOST_VALUES = 60
"""Values of a category that have points of their own; less common ones are other."""
LEAST = 20
"""Records in a piece: fewer say little about it."""
ROOM = 0.1
"""Share of a piece's records by which its edge may move to be rounder."""


def pieces_of(table: Source, name: str, where: str, cut: Cut | None = None, most: int = MOST_PIECES) -> Column:
    """The pieces of a column of a table; where it is `cut`, those of the cut. `where` is SQL that leaves rows out."""
    type_ = table.columns[name]
    kind = kind_of_type(type_) or ""
    if isinstance(cut, tuple) or (cut is None and kind in NUMERIC):
        counts = _counts(table, _number(name, type_), where)
        gap = [None] if any(value is None for value, _ in counts) else []
        numbers = sorted((float(value), n) for value, n in counts if value is not None)
        if cut is None:
            cut = round_edges([value for value, _ in numbers], [n for _, n in numbers], most)
        return Column.cut_by(name, type_, cut, gap)
    value = canonical_sql(name, kind)
    counts = _counts(table, value if cut is None else cut.sql(value), where, MOST_VALUES + 1)
    common = [value for value, n in counts if value is not None and n >= LEAST][:MOST_VALUES]
    gap = [None] if any(value is None for value, _ in counts) else []
    if cut is not None:
        return Column.cut_by(name, type_, cut, [*common, *gap])
    return Column(name, type_, (*sorted(common), *gap))


def round_edges(values: list[float], counts: list[int], most: int = MOST_PIECES) -> tuple[float, ...]:
    """Edges that cut increasing values, which occur this often, into pieces of about as many records each.

    A value that is as common as several pieces has one to itself. Each edge is as round as a number can be that leaves a
    piece nearly the records that it would have.

    >>> round_edges([0, 17, 38, 41, 5013, 7298], [900, 30, 30, 30, 30, 30])
    (10.0, 20.0, 40.0, 1000.0, 6000.0)
    >>> round_edges([n / 1000 for n in range(3001)], [1] * 3001, 4)
    (0.7, 1.5, 2.2)
    """
    left, pieces, held = sum(counts), most, 0
    edges = []
    for i, n in enumerate(counts[:-1]):
        held += n
        left -= n
        if held >= max(LEAST, (left + held) / pieces) and left >= LEAST and pieces > 1:
            room = int(ROOM * (held - LEAST))
            low, high = _within(counts, i, room, -1), _within(counts, i + 1, min(room, left - LEAST), 1)
            edges.append(roundest(values[low], values[high]))
            pieces, held = pieces - 1, 0
    return tuple(sorted(set(edges)))


def _within(counts: list[int], start: int, room: int, step: int) -> int:
    """The last of the values from this one on, in steps of 1 or -1, up to which there are at most so many records before."""
    at = start
    while 0 <= at + step < len(counts) and counts[at] <= room:
        room -= counts[at]
        at += step
    return at


def roundest(low: float, high: float) -> float:
    """The number with the fewest digits in (low, high].

    >>> roundest(37, 38), roundest(7298, 8614), roundest(0.1234, 0.1311), roundest(-3, 2), roundest(-17.2, -15.5)
    (38.0, 8000.0, 0.13, 0.0, -17.0)
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return high if math.isfinite(high) else float(np.nextafter(low, math.inf))
    if low < 0 <= high:
        return 0.0
    exponent = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    for power in range(exponent, exponent - 19, -1):
        step = Decimal(10) ** power
        found = ((Decimal(low) / step).to_integral_value(ROUND_CEILING)) * step
        found = found if found > Decimal(low) else found + step
        if Decimal(low) < found <= Decimal(high) and low < float(found) <= high:
            return float(found) + 0.0
    return high


def _number(name: str, type_: str) -> str:
    number = number_sql(name, type_)
    return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"


def _counts(table: Source, value: str, where: str, limit: int | None = None) -> list[tuple[Any, int]]:
    """Values and how often they occur, the most common first; NULL among them wherever it occurs."""
    found = f"SELECT v, count(*) AS n FROM (SELECT {value} AS v FROM {table.sql} WHERE TRUE{where}) GROUP BY v"
    order = "" if limit is None else f" ORDER BY v IS NULL DESC, n DESC, v LIMIT {limit + 1}"
    with reading(table):
        return table.connection.execute(f"{found}{order}").fetchall()
