"""A column with its alphabet, as Python reads one value of it and as SQL reads all: its values, or what they are cut into.

Numbers are cut into intervals between edges; dates by a part of the calendar, and texts by groups, which have names
(`Named`). Whatever the cut, the alphabet lists what a raw value becomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from choral.describe.reading import missing_as_none
from choral.describe.written import decode, encode
from choral.errors import ColumnError, LawError, TooLargeError, did_you_mean
from choral.tables.calendar import Calendar
from choral.tables.groups import Groups
from choral.tables.kinds import KINDS, NUMERIC, kind_of_type, kind_of_value
from choral.tables.sql import identifier, text_literal

Named: TypeAlias = Calendar | Groups
"""How raw values become names, each of which stands for several."""
Cut: TypeAlias = tuple[float, ...] | Named
"""What a column is cut by: edges, or names."""
WIDEST = 2**120
"""No number that stands for a combination of values exceeds this."""


@dataclass(frozen=True)
class Column:
    """A column with its alphabet: values, intervals between edges, or names; with None, the missing value, if it occurs.

    Intervals are half-open, [a, b); the first has no lower and the last no upper end. Names are those that `named` gives.
    """

    name: str
    type: str
    values: tuple[Any, ...]
    edges: tuple[float, ...] | None = None
    named: Named | None = None

    @classmethod
    def cut_by(cls, name: str, type_: str, cut: Cut, seen: Iterable[Any]) -> Column:
        """A column that is cut, with what was `seen` of it in a table: names, and None if a value is missing."""
        found = set(seen)
        gap = (None,) if None in found else ()
        if isinstance(cut, tuple):
            return cls(name, type_, (*labels(cut, type_), *gap), cut)
        return cls(name, type_, (*cut.in_order(found - {None}), *gap), None, cut)

    @property
    def cut(self) -> Cut | None:
        """What the column is cut by; None if its values stand for themselves."""
        return self.named if self.edges is None else self.edges

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of values that are read: of a cut column some that are alike, a zone apart from none."""
        if self.edges is not None:
            return NUMERIC
        return ("date", "datetime") if self.named is not None and self.kind in ("date", "datetime") else (self.kind,)

    @property
    def kind(self) -> str:
        """What the column holds."""
        return kind_of_type(self.type) or ""

    @cached_property
    def _position(self) -> dict[Any, int]:
        return {value: i for i, value in enumerate(self.values)}

    def code_of(self, raw: Any) -> int:
        """The position of a raw value in the alphabet, or -1; raises `ColumnError` for a value of another kind."""
        value = missing_as_none(_plain(raw))
        if value is None:
            return self._position.get(None, -1)
        kind = kind_of_value(value)
        if self.edges is not None and kind in NUMERIC:
            number = _as_float(value)
            return sum(number >= edge for edge in self.edges)
        if kind == "int" and self.kind == "float" and _as_float(value) == value:
            kind = "float"
        if kind not in self.kinds:
            raise ColumnError(
                f"The value {value!r} of '{self.name}' is {KINDS.get(kind, kind)}, and the release was fitted on "
                f"{KINDS[self.kind]}.",
                "Convert it.",
            )
        name = value if self.named is None else self.named.name_of(value)
        return -1 if name is None else self._position.get(name, -1)

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
        if kind not in self.kinds:
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

    def name_sql(self) -> str:
        """SQL of what a value is called, NULL for one that has no name; of a column that is not cut, the value itself."""
        value = self.value_sql()
        return value if self.named is None else self.named.sql(value)

    def code_sql(self, type_: str | None = None) -> str:
        """SQL of the position in the alphabet of the value in a column of this type; NULL for what is not in it."""
        value = self.value_sql(type_)
        if self.edges is not None:
            number = number_sql(self.name, type_ or self.type)
            steps = " ".join(f"WHEN {number} < {literal(edge)} THEN {i}" for i, edge in enumerate(self.edges))
            found = f"CASE {steps} ELSE {len(self.edges)} END" if steps else "0"
        else:
            listed = (symbol for symbol in self.values if symbol is not None)
            found = f"list_position([{', '.join(map(literal, listed))}], {self.name_sql()}) - 1"
        missing = str(self._position[None]) if None in self._position else "NULL"
        return f"CASE WHEN {value} IS NULL THEN {missing} ELSE {found} END"

    def to_document(self) -> dict[str, Any]:
        """The column as JSON."""
        edges = {} if self.edges is None else {"edges": [encode(edge) for edge in self.edges]}
        named = {} if self.named is None else self.named.to_document()
        return {"name": self.name, "type": self.type, "values": [encode(v) for v in self.values], **edges, **named}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Column:
        """The column that `to_document` wrote; raises `TypeError` where its name or type is no text."""
        edges, texts = document.get("edges"), (document["name"], document["type"])
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"a column has the name and type {texts!r}")
        if len({"edges", "calendar", "groups"} & document.keys()) > 1:
            raise TypeError(f"the column {document['name']!r} is cut in two ways")
        named: Named | None = None if "calendar" not in document else Calendar(document["calendar"])
        if "groups" in document:
            named = Groups.from_document(document["groups"])
        return cls(
            *texts,
            tuple(decode(v) for v in document["values"]),
            None if edges is None else tuple(float(decode(edge)) for edge in edges),
            named,
        )

    def misfit(self) -> str | None:
        """Why what the column is cut into does not fit its cut, after the column's name; None where it does."""
        listed = tuple(value for value in self.values if value is not None)
        if self.edges is not None:
            if any(not a < b for a, b in pairwise(self.edges)) or not all(map(math.isfinite, self.edges)):
                return "has edges that do not increase"
            named = are_labels(listed, self.edges, self.type)
            return None if named else "has bins that are not those between its edges"
        if self.named is not None:
            if self.kind not in self.named.kinds:
                return f"holds {KINDS[self.kind]}, which cannot be cut {self.named.said(len(listed))}"
            strange = [value for value in listed if not self.named.can_be(value)]
            return f"lists {strange[0]!r}, which is no {self.named.one} of it" if strange else None
        return None


def canonical_sql(name: str, kind: str) -> str:
    """SQL of a raw value in the one form that alphabets are compared in; NaN is missing."""
    column = identifier(name)
    if kind == "float":
        return f"CASE WHEN isnan(CAST({column} AS DOUBLE)) THEN NULL ELSE CAST({column} AS DOUBLE) END"
    forms = {"text": f"CAST({column} AS VARCHAR)", "datetime": f"CAST({column} AS TIMESTAMP)"}
    forms["zoned"] = f"make_timestamp(epoch_us({column}))"  # in UTC, whatever the zone of the machine
    return forms.get(kind, column)


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


def _plain(raw: Any) -> Any:
    """A value of Python in place of numpy's; of points in time finer than microseconds none is cut off."""
    if isinstance(raw, np.datetime64) and np.datetime_data(raw)[0] == "ns":  # its `item` would be a whole number
        whole = raw.astype("datetime64[us]")
        return whole.item() if whole == raw or np.isnat(raw) else raw.item()
    return raw.item() if isinstance(raw, np.generic) else raw


def _as_float(value: Any) -> float:
    """The nearest float; beyond the largest it is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def within(codes: Sequence[int], columns: Sequence[Column]) -> bool:
    """Whether there is a position for each column, in its alphabet."""
    sizes = [len(column.values) for column in columns]
    return len(codes) == len(sizes) and all(0 <= i < size for i, size in zip(codes, sizes, strict=True))


def place_of(codes: Sequence[int], columns: Sequence[Column]) -> int:
    """The number that stands for values at these positions of the columns together."""
    number = 0
    for code, column in zip(codes, columns, strict=True):
        number = number * len(column.values) + code
    return number


def place_sql(used: Sequence[Column], columns: Mapping[str, str]) -> str:
    """SQL of that number; NULL where a value is not in its alphabet."""
    combinations = math.prod(len(column.values) for column in used)
    if combinations > WIDEST:
        raise TooLargeError(f"The used columns have {combinations} combinations of values.", "Use fewer columns.")
    wide = "HUGEINT" if combinations >= 2**62 else "BIGINT"
    number = f"CAST({used[0].code_sql(columns[used[0].name])} AS {wide})"
    for column in used[1:]:
        number = f"({number} * {len(column.values)} + {column.code_sql(columns[column.name])})"
    return number
