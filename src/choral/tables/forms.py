"""The one form in which each kind of value is written, and what becomes of a field that is written otherwise: it is refused.

CSV and JSON files hold text. A field becomes a value only where it has the form of the column's kind, on whichever engine:

    whole numbers   0, or digits without a leading zero, after a minus sign if negative: 17, -3; within 64 bits
    numbers         such digits (-0 as well), then a point and digits, then e or E and an exponent, each as needed: -0.25,
                    6e-3; the nearest 64-bit number (IEEE 754) is meant. Further nan or NaN (missing), inf, -inf
    decimals        such digits, then a point and at most as many digits as the column has decimals
    truth values    true, True, TRUE, false, False, FALSE
    dates           2026-01-31, a day that exists, from the year 1 to 9999
    points in time  a date, a blank or T, hours, minutes and seconds, and up to six decimals: 2026-01-31 14:05:00.25; no zone
    … with a zone   the same, then Z or the difference from UTC: 2026-01-31T14:05:00Z, 2026-01-31 14:05:00+05:30
    text            as it stands; UUIDs in lower-case hexadecimal digits with dashes

Nothing is trimmed, rounded or completed. The patterns are understood alike by DuckDB (RE2), Spark (Java) and Python; a
pattern covers a whole field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from choral.tables.kinds import ZONED, kind_of_type
from choral.tables.sql import text_literal

TEXT = "VARCHAR"
_WHOLE = "(?:0|[1-9][0-9]*)"
WHOLE = "0|-?[1-9][0-9]*"
NUMBER = rf"-?{_WHOLE}(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{{1,3}})?|nan|NaN|-?inf"
TRUTH = "true|True|TRUE|false|False|FALSE"
DATE = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
MOMENT = DATE + r"[ T](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
ZONE = "(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])"
UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
"""Types of whole numbers that 64 bits with a sign do not hold."""

MARK = "choral refuses the field "
END = "\x1f"
SHOWN = 60
"""Characters of a refused field that are shown."""


@dataclass(frozen=True)
class Form:
    """How values of a type are written: texts with this pattern (None: all) that DuckDB can read as `type`."""

    type: str
    pattern: str | None
    words: str

    def value_sql(self, text: str) -> str:
        """SQL of the value that a text is; NULL where the text is not of the form."""
        if self.pattern is None:
            return text
        value = f"TRY_CAST({text} AS {self.type})"
        if self.type in ("FLOAT", "DOUBLE"):  # a number beyond the largest is none: only inf is
            value = f"CASE WHEN isinf({value}) AND NOT ends_with({text}, 'inf') THEN NULL ELSE {value} END"
        return f"CASE WHEN regexp_full_match({text}, {text_literal(self.pattern)}) THEN {value} END"


def form_of(type_: str) -> Form:
    """The form of the values of a column of a DuckDB type; of any text for a type that has none.

    >>> form_of("SMALLINT").type, form_of("DECIMAL(9,2)").words
    ('BIGINT', 'a number with at most 2 decimals, such as 17.05')
    """
    kind = kind_of_type(type_)
    if kind == "int":
        wide = type_ if type_ in WIDE else "BIGINT"
        return Form(wide, WHOLE, "a whole number such as 17 or -3, without leading zeros")
    if kind == "float":
        return Form(type_, NUMBER, "a number such as 17, -0.25 or 6e-3")
    if kind == "decimal":
        scale = int(re.sub(r".*,(\d+)\)", r"\1", type_)) if "," in type_ else 0
        decimals = rf"(?:\.[0-9]{{1,{scale}}})?" if scale else ""
        example = f"{17.05:.{min(scale, 2)}f}"
        return Form(type_, f"-?{_WHOLE}{decimals}", f"a number with at most {scale} decimals, such as {example}")
    if kind == "bool":
        return Form(type_, TRUTH, "true or false")
    if kind == "date":
        return Form(type_, DATE, "a date such as 2026-01-31")
    if kind == "datetime":
        return Form("TIMESTAMP", MOMENT, "a point in time such as 2026-01-31 14:05:00, without a zone")
    if kind == "zoned":
        words = "a point in time with a zone such as 2026-01-31T14:05:00Z or 2026-01-31 14:05:00+05:30"
        return Form(ZONED, MOMENT + ZONE, words)
    if type_ == "UUID":
        return Form(TEXT, UUID, "a UUID in lower-case digits")
    return Form(TEXT, None, "text")


@dataclass(frozen=True)
class Field:
    """A column as it is read: `given` is SQL of what is stored (NULL: missing), `value` of its value (NULL: refused)."""

    name: str
    type: str
    given: str
    value: str
    words: str = ""

    @property
    def sql(self) -> str:
        """SQL of the value, which fails for a field that is refused."""
        if self.value == self.given:
            return self.value
        before, after = text_literal(f"{MARK}{self.name}{END}{self.words}{END}"), text_literal(END)
        said = f"{before} || CAST({self.given} AS {TEXT}) || {after}"
        return f"CASE WHEN {self.given} IS NOT NULL THEN coalesce({self.value}, CAST(error({said}) AS {self.type})) END"


def shown(text: str) -> str:
    """A field as messages quote it."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def refused(message: str) -> tuple[str, str, str] | None:
    """The column of a field that was refused, the form that it should have, and its text, from a message of DuckDB."""
    said = re.search(f"{MARK}(.*?){END}(.*?){END}(.*){END}", message, re.DOTALL)
    return None if said is None else (said[1], said[2], said[3])


def written(name: str, column: str, type_: str, empty: str | None) -> Field:
    """A column of texts, as in CSV files; an empty field is missing, except for `empty` text that is a value."""
    form = form_of(type_)
    given = column if form.pattern is None and empty == "value" else f"nullif({column}, '')"
    return Field(name, form.type, given, form.value_sql(given), form.words)


def in_json(name: str, column: str, type_: str, empty: str | None, marks: Sequence[str] = ()) -> Field:
    """A column of JSON values: numbers and truth values as such, all else in texts; `marks` are missing values."""
    form, kind = form_of(type_), kind_of_type(type_)
    text = f"({column} ->> '$')"
    types = {"bool": "('BOOLEAN')"}.get(kind or "", "('VARCHAR')")
    if kind in ("int", "float", "decimal"):
        types = "('BIGINT', 'UBIGINT', 'HUGEINT', 'UHUGEINT', 'DOUBLE')"
    given = f"nullif({column}, '\"\"')" if form.pattern is None and empty == "missing" else column
    if marks:
        marked = f"json_type({column}) = 'VARCHAR' AND {text} IN ({', '.join(map(text_literal, marks))})"
        given = f"CASE WHEN {marked} THEN NULL ELSE {given} END"
    value = f"CASE WHEN json_type({column}) IN {types} THEN {form.value_sql(text)} END"
    return Field(name, form.type, given, value, form.words)


def typed(name: str, column: str, type_: str, empty: str | None, marks: Sequence[str] = ()) -> Field:
    """A column with a type of its own: of times that are finer than microseconds none is cut off."""
    if type_ == "TIMESTAMP_NS":
        whole = f"CAST({column} AS TIMESTAMP)"
        value = f"CASE WHEN CAST({whole} AS TIMESTAMP_NS) = {column} THEN {whole} END"
        return Field(name, "TIMESTAMP", column, value, "a point in time of whole microseconds")
    missing = (*([""] if empty == "missing" else []), *marks)
    if missing and kind_of_type(type_) == "text" and type_ != "UUID":
        listed = ", ".join(map(text_literal, missing))
        column = f"CASE WHEN CAST({column} AS {TEXT}) IN ({listed}) THEN NULL ELSE {column} END"
    return Field(name, type_, column, column)
