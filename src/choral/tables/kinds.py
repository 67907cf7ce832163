"""What columns hold: the kinds of values."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

KINDS = {"bool": "truth values", "int": "whole numbers", "float": "numbers", "decimal": "decimals"}
KINDS |= {"text": "text", "date": "dates", "datetime": "points in time", "zoned": "points in time with a zone"}
NUMERIC = ("int", "float", "decimal")
DATES = ("date", "datetime", "zoned")
ZONED = "TIMESTAMP WITH TIME ZONE"
"""Such values are no symbols as they are, which zone they were written in is not kept: they are cut, in UTC."""


def kind_of_type(type_: str) -> str | None:
    """What a DuckDB type holds, or None for what cannot be a symbol.

    >>> kind_of_type("UBIGINT"), kind_of_type("DECIMAL(9,2)"), kind_of_type("INTEGER[]")
    ('int', 'decimal', None)
    """
    if type_.endswith("]"):
        return None
    if re.fullmatch(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", type_):
        return "int"
    if type_.startswith("DECIMAL"):
        return "decimal"
    if type_.startswith("ENUM"):
        return "text"
    plain = {"BOOLEAN": "bool", "FLOAT": "float", "DOUBLE": "float", "VARCHAR": "text", "UUID": "text", "DATE": "date"}
    plain |= {f"TIMESTAMP{unit}": "datetime" for unit in ("", "_S", "_MS", "_NS")} | {ZONED: "zoned"}
    return plain.get(type_)


def kind_of_value(value: Any) -> str:
    """What a Python value is, in the same words."""
    kinds = ((bool, "bool"), (int, "int"), (float, "float"), (Decimal, "decimal"), (str, "text"))
    later = ((datetime.datetime, "datetime"), (datetime.date, "date"))
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return "zoned"
    return next((kind for type_, kind in (*kinds, *later) if isinstance(value, type_)), type(value).__name__)
