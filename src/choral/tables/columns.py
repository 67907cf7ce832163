"""A column with its alphabet, as Python reads one value of it and as SQL reads all: values, or intervals between edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from choral.describe.reading import missing_as_none
from choral.describe.written import decode, encode
from choral.errors import ColumnError, LawError, did_you_mean
from choral.tables.kinds import KINDS, NUMERIC, kind_of_type, kind_of_value
from choral.tables.sql import identifier, text_literal


@dataclass(frozen=True)
class Column:
    """A column with its alphabet: values, or intervals between edges; with None, the missing value, if it occurs.

    Intervals are half-open, [a, b); the first has no lower and the last no upper end.
    """

    name: str
    type: str
    values: tuple[Any, ...]
    edges: tuple[float, ...] | None = None

    @property
    def kind(self) -> str:
        """What the column holds."""
        return kind_of_type(self.type) or ""

    @cached_property
    def _position(self) -> dict[Any, int]:
        return {value: i for i, value in enumerate(self.values)}

    def code_of(self, raw: Any) -> int:
        """The position of a raw value in the alphabet, or -1; raises `ColumnError` for a value of another kind."""
        value = missing_as_none(raw.item() if isinstance(raw, np.generic) else raw)
        if value is None:
            return self._position.get(None, -1)
        kind = kind_of_value(value)
        if self.edges is not None and kind in NUMERIC:
            number = _as_float(value)
            return sum(number >= edge for edge in self.edges)
        if kind == "int" and self.kind == "float" and _as_float(value) == value:
            kind = "float"
        if kind != self.kind:
            raise ColumnError(
                f"The value {value!r} of '{self.name}' is {KINDS.get(kind, kind)}, and the release was fitted on "
                f"{KINDS[self.kind]}.",
                "Convert it.",
            )
        return self._position.get(value, -1)

    def check(
        self, columns: Mapping[str, str], place: str = "the table", where: Callable[[Column], str] = lambda column: ""
    ) -> None:
        """Raise unless a table with columns of these types has this one, and of the kind that it had at fit time.

        `where` says in words which value is not.
        """
        if self.name not in columns:
            raise ColumnError(
                f"{place} has no column '{self.name}', which the release looks at.", did_you_mean(self.name, columns)
            )
        kind = kind_of_type(columns[self.name])
        binned = self.edges is not None and kind in NUMERIC
        if kind != self.kind and not binned:
            said = where(self)
            raise ColumnError(
                f"'{self.name}' in {place} holds {KINDS.get(kind or '', columns[self.name])} ({columns[self.name]}), and "
                f"the release was fitted on {KINDS[self.kind]} ({self.type}){': ' + said if said else ''}.",
                "Convert the column to what it was.",
            )

    @property
    def type_read(self) -> str:
        """The type that a field of a text file is read as; a binned column may hold numbers of any kind."""
        return self.type if self.edges is None or self.type == "FLOAT" else "DOUBLE"

    def value_sql(self, type_: str | None = None) -> str:
        """SQL of the value in a column of this type, NULL where it is missing."""
        if self.edges is not None:
            number = number_sql(self.name, type_ or self.type)
            return f"CASE WHEN isnan({number}) THEN NULL ELSE {number} END"
        return canonical_sql(self.name, self.kind)

    def code_sql(self, type_: str | None = None) -> str:
        """SQL of the position in the alphabet of the value in a column of this type; NULL for what is not in it."""
        value = self.value_sql(type_)
        if self.edges is not None:
            number = number_sql(self.name, type_ or self.type)
            steps = " ".join(f"WHEN {number} < {literal(edge)} THEN {i}" for i, edge in enumerate(self.edges))
            found = f"CASE {steps} ELSE {len(self.edges)} END" if steps else "0"
        else:
            found = f"list_position([{', '.join(map(literal, self.values))}], {value}) - 1"
        missing = str(self._position[None]) if None in self._position else "NULL"
        return f"CASE WHEN {value} IS NULL THEN {missing} ELSE {found} END"

    def to_document(self) -> dict[str, Any]:
        """The column as JSON."""
        edges = {} if self.edges is None else {"edges": [encode(edge) for edge in self.edges]}
        return {"name": self.name, "type": self.type, "values": [encode(v) for v in self.values], **edges}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Column:
        """The column that `to_document` wrote; raises `TypeError` where its name or type is no text."""
        edges, texts = document.get("edges"), (document["name"], document["type"])
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"a column has the name and type {texts!r}")
        return cls(
            *texts,
            tuple(decode(v) for v in document["values"]),
            None if edges is None else tuple(float(decode(edge)) for edge in edges),
        )


def canonical_sql(name: str, kind: str) -> str:
    """SQL of a raw value in the one form that alphabets are compared in; NaN is missing."""
    column = identifier(name)
    if kind == "float":
        return f"CASE WHEN isnan(CAST({column} AS DOUBLE)) THEN NULL ELSE CAST({column} AS DOUBLE) END"
    return {"text": f"CAST({column} AS VARCHAR)", "datetime": f"CAST({column} AS TIMESTAMP)"}.get(kind, column)


def number_sql(name: str, type_: str) -> str:
    """SQL of the float that is nearest to a number: it depends on the number alone, not on the type that holds it.

    DuckDB's own casts of decimals and of integers with more than 64 bits are not always the nearest.
    """
    if kind_of_type(type_) == "decimal" or type_ in ("HUGEINT", "UHUGEINT"):
        return f"CAST(CAST({identifier(name)} AS VARCHAR) AS DOUBLE)"
    return f"CAST({identifier(name)} AS DOUBLE)"


def literal(value: Any) -> str:
    """A value for SQL, of its own type."""
    if value is None:
        return "NULL"
    kind = kind_of_value(value)
    if kind == "bool":
        return "TRUE" if value else "FALSE"
    if kind == "float":
        return f"'{value!r}'::DOUBLE"
    if kind == "text":
        if "\0" in value:
            raise LawError(f"The value {value!r} holds a zero character.", "Clean the column first.")
        return text_literal(value)
    if kind in ("date", "datetime"):
        return f"{'DATE' if kind == 'date' else 'TIMESTAMP'} '{value.isoformat()}'"
    return f"({value:f})" if kind == "decimal" else f"({value})"


def labels(edges: Sequence[float], type_: str = "DOUBLE") -> list[str]:
    """What the intervals between edges are called; one that holds a single whole number is called by it.

    >>> labels([40, 55.5])
    ['< 40', '[40, 55.5)', '≥ 55.5']
    >>> labels([40, 41, 50], "BIGINT")
    ['< 40', '40', '[41, 50)', '≥ 50']
    """
    if not edges:
        return ["all"]
    shown = [str(int(edge)) if float(edge).is_integer() and abs(edge) < 1e15 else repr(float(edge)) for edge in edges]
    one = kind_of_type(type_) == "int"
    inner = [
        a if one and high - low == 1 and float(low).is_integer() else f"[{a}, {b})"
        for (low, high), (a, b) in zip(pairwise(edges), pairwise(shown), strict=True)
    ]
    return [f"< {shown[0]}", *inner, f"≥ {shown[-1]}"]


def are_labels(listed: Sequence[Any], edges: Sequence[float], type_: str) -> bool:
    """Whether these are what the intervals are called; releases that were made earlier call all by their ends."""
    return [*listed] in (labels(edges, type_), labels(edges))


def _as_float(value: Any) -> float:
    """The nearest float; beyond the largest it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
