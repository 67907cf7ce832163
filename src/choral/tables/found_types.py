"""The types of the columns of a text file that declares none: found over the whole file, by the strict forms.

A column is of the first type whose form all its fields have: whole numbers, numbers, dates, points in time without a zone or
with one, or else text. Whole numbers that
64 bits do not hold make a column text, since as numbers some of them would become equal. A column of text that looks like
numbers is remarked on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from choral.tables.forms import TEXT, WHOLE, form_of
from choral.tables.kinds import ZONED
from choral.tables.sql import identifier, in_blocks, text_literal

INT, FLOAT, DAY, LONG, OTHER, TIME, INSTANT = 1, 2, 4, 8, 16, 32, 64
"""Bits of what the fields of a column are: LONG is a whole number beyond 64 bits."""
LOOKED_AT = 2000
"""Rows by which most columns of text are told before the whole file is read."""

Ask = Callable[[str], list[tuple[Any, ...]]]


def types_found(
    names: Sequence[str], relation: str, ask: Ask, marks: Sequence[str] = ()
) -> tuple[dict[str, str], dict[str, str]]:
    """The types of these columns of texts of a relation, and remarks on some of them; `marks` are missing values."""
    found: tuple[dict[str, str], dict[str, str]] = {}, {}
    for some in in_blocks(names):
        for whole, part in zip(found, _types_found(some, relation, ask, marks), strict=True):
            whole |= part
    return found


def _types_found(
    names: Sequence[str], relation: str, ask: Ask, marks: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    listed = ", ".join(map(text_literal, marks))
    items = [f"CASE WHEN {c} NOT IN ({listed}) THEN {c} END AS {c}" if marks else c for c in map(identifier, names)]
    relation = f"(SELECT {', '.join(items)} FROM {relation})"
    sample = f"(SELECT * FROM {relation} LIMIT {LOOKED_AT})"
    seen, rows = _bits_of_few(names, sample, ask)
    undecided = [name for name in names if _type_of(seen[name]) != TEXT or not seen[name]]
    whole = seen | (_bits(undecided, relation, ask) if rows == LOOKED_AT else {})
    types = {name: _type_of(whole[name]) for name in names}
    texts = [name for name in names if types[name] == TEXT]
    numbers = _looks_like_numbers(texts, sample, ask)
    return types, {name: _remark(name, whole[name], relation, ask) for name in numbers}


def _type_of(bits: int) -> str:
    if bits & OTHER or not bits:
        return TEXT
    if bits & FLOAT and not bits & (DAY | TIME | INSTANT):
        return "DOUBLE"
    return _TYPES.get(bits, TEXT)


def _bits_of_few(names: Sequence[str], relation: str, ask: Ask) -> tuple[dict[str, int], int]:
    """The bits of each column, and how many rows there are.

    All columns are in one under each other, so that the patterns stand once in the query: of few rows of many columns most
    of the time would go into reading it. Of many rows a column for each is faster.
    """
    listed = ", ".join(map(identifier, names))
    under = f"SELECT unnest([{listed}]) AS field, unnest(range({len(names)})) AS place FROM {relation}"
    rows = ask(f"SELECT place, bit_or({_bit('field')}), count(*) FROM ({under}) GROUP BY place")
    bits = {names[place]: bits for place, bits, _ in rows}
    return {name: bits.get(name, 0) for name in names}, max((many for *_, many in rows), default=0)


def _bits(names: Iterable[str], relation: str, ask: Ask) -> dict[str, int]:
    listed = list(names)
    if not listed:
        return {}
    items = ", ".join(f"coalesce(bit_or({_bit(identifier(name))}), 0)" for name in listed)
    return dict(zip(listed, ask(f"SELECT {items} FROM {relation}")[0], strict=True))


def _bit(column: str) -> str:
    is_ = {bit: f"({form_of(type_).value_sql(column)}) IS NOT NULL" for bit, type_ in _TYPES.items()}
    return (
        f"CASE WHEN nullif({column}, '') IS NULL THEN 0 WHEN {is_[INT]} THEN {INT} "
        f"WHEN regexp_full_match({column}, {text_literal(WHOLE)}) THEN {LONG} "
        f"WHEN {is_[FLOAT]} THEN {FLOAT} WHEN {is_[DAY]} THEN {DAY} "
        f"WHEN {is_[TIME]} THEN {TIME} WHEN {is_[INSTANT]} THEN {INSTANT} ELSE {OTHER} END"
    )


_TYPES = {INT: "BIGINT", FLOAT: "DOUBLE", DAY: "DATE", TIME: "TIMESTAMP", INSTANT: ZONED}


def _looks_like_numbers(names: Sequence[str], relation: str, ask: Ask) -> list[str]:
    """Columns most of whose fields are numbers by one writing or another."""
    if not names:
        return []
    items = ", ".join(
        f"count(TRY_CAST({text} AS DOUBLE)) * 2 > count(nullif({text}, ''))" for text in map(identifier, names)
    )
    return [name for name, many in zip(names, ask(f"SELECT {items} FROM {relation}")[0], strict=True) if many]


def _remark(name: str, bits: int, relation: str, ask: Ask) -> str:
    """That a column is text, and the first field that makes it so."""
    form, text = form_of("DOUBLE" if bits & FLOAT else "BIGINT"), identifier(name)
    [(row, field)] = ask(
        f"SELECT r, t FROM (SELECT row_number() OVER () AS r, {text} AS t FROM {relation}) "
        f"WHERE nullif(t, '') IS NOT NULL AND ({form.value_sql('t')}) IS NULL LIMIT 1"
    )
    return f"'{name}' is read as text: {field!r} in row {row} is not {form.words}"
