"""How symbols and exact numbers are written in documents: JSON that keeps their type, and hexadecimal fractions."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from choral.errors import ReleaseFileError
from choral.verifier import reading

T = TypeVar("T")
LARGEST = 10 ** (reading.LONGEST_INTEGER - 1)
"""Symbols that are integers are written in decimal, of which no reader takes more digits."""


def hexadecimal(numbers: Sequence[Fraction]) -> list[str]:
    """Signed fractions of hexadecimal integers."""
    return [f"{x.numerator:x}/{x.denominator:x}" for x in numbers]


def fraction_of(text: str) -> Fraction:
    """The fraction that `hexadecimal` wrote."""
    top, _, bottom = text.partition("/")
    return Fraction(int(top, 16), int(bottom or "1", 16))


def fractions_of(texts: Sequence[str]) -> tuple[Fraction, ...]:
    """The fractions that `hexadecimal` wrote."""
    return tuple(map(fraction_of, texts))


def listed(items: Sequence[T], written: Callable[[T], list[Any]]) -> Any:
    """The items as they are written: a list, or where that would be long, one that is made as it is read."""
    if len(items) > reading.LONG:
        return reading.Lazy(len(items), lambda i: written(items[i]))
    return [written(item) for item in items]


def encode(value: Any) -> Any:
    """A symbol as JSON. Numbers, text, truth values and None stand for themselves; others are tagged."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ReleaseFileError(f"The value {value!r} is not valid text.", "Clean it first.") from None
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ReleaseFileError(
            f"An integer of {reading.LONGEST_INTEGER} digits or more cannot be a value.",
            "Write it as text, or name it.",
        )
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"float": str(value)}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, datetime.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise ReleaseFileError(
        f"The value {value!r} of type {type(value).__name__} cannot be written to a release.",
        "Use numbers, text, truth values, None, or tuples of them as symbols.",
    )


def decode(value: Any) -> Any:
    """The symbol that `encode` wrote; `ValueError` for what is none."""
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    try:
        return _decoded(kind, content)
    except ArithmeticError:  # 1/0, or no decimal
        raise ValueError(f"{content!r} is no {kind}") from None


def _decoded(kind: str, content: Any) -> Any:
    if kind == "fraction":
        return Fraction(content)
    if kind == "float":
        return float(content)
    if kind == "datetime":
        return datetime.datetime.fromisoformat(content)
    if kind == "date":
        return datetime.date.fromisoformat(content)
    if kind == "decimal":
        return Decimal(content)
    if kind == "tuple":
        return tuple(decode(v) for v in content)
    raise ReleaseFileError(f"A symbol of kind '{kind}' is unknown.", "Upgrade choral.")
