"""From what people type to exact numbers.

A float is taken as the binary rational that it is; nothing is rounded. Integers, Fractions, Decimals and
numpy scalars are exact already.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from choral.errors import LawError

Number: TypeAlias = "int | float | Fraction | Decimal"

LONGEST_EXPONENT = 10_000
"""Decimal exponents that are read: a short text must not become a number of a gigabyte."""
SUM_SLACK = Fraction(1, 10**9)
"""How far floats may sum from one before it is an error; within it they are normalised exactly."""


def exact(value: Any, place: str) -> Fraction:
    """The number as a Fraction; raises `LawError` naming `place` when it is no finite number.

    >>> exact(0.5, "here"), exact("1/3", "here")
    (Fraction(1, 2), Fraction(1, 3))
    """
    if hasattr(value, "item") and not isinstance(value, int | float | Fraction):
        value = value.item()
    if isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise LawError(f"The weight {value!r} at {place} is not finite.", "Remove or replace it.")
    if isinstance(value, Decimal) and not value.is_finite():
        raise LawError(f"The weight {value} at {place} is not finite.", "Remove or replace it.")
    if isinstance(value, str | Decimal) and abs(_exponent(value)) > LONGEST_EXPONENT:
        raise LawError(f"The weight {value} at {place} is too long.", f"Exponents go to {LONGEST_EXPONENT}.")
    if isinstance(value, int | float | Fraction | Decimal | str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError) as error:
            raise LawError(f"The weight {value!r} at {place} is not a number.", "Write it as 1/3 or 0.25.") from error
    raise LawError(
        f"The weight {value!r} at {place} is of type {type(value).__name__}, not a number.",
        "Use integers, Fractions or floats.",
    )


def _exponent(value: str | Decimal) -> int:
    """The power of ten that a number is written with, if any."""
    tail = str(value).lower().partition("e")[2]
    return int(tail) if re.fullmatch(r"[+-]?[0-9]{1,18}", tail) else 10**9 if tail else 0


def nonnegative(value: Any, place: str) -> Fraction:
    """The number as a Fraction that is at least zero."""
    number = exact(value, place)
    if number < 0:
        raise LawError(f"The weight {value} at {place} is negative.", "Probabilities and counts are ≥ 0.")
    return number


def distribution(values: Iterable[Any], place: str) -> tuple[Fraction, ...]:
    """The values as probabilities that sum to exactly one.

    Floats may miss one by rounding (at most `SUM_SLACK`) and are then normalised exactly; exact numbers may not.

    >>> distribution([0.5, 0.5], "the prior")
    (Fraction(1, 2), Fraction(1, 2))
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise LawError(f"{place.capitalize()} is {values!r}.", "Give a list of probabilities.")
    raw = list(values)
    numbers = [nonnegative(value, f"position {i} of {place}") for i, value in enumerate(raw)]
    if not numbers:
        raise LawError(f"{place.capitalize()} is empty.", "Give at least one probability.")
    total = sum(numbers, Fraction(0))
    check_sum(total, any(_is_float(value) for value in raw), place)
    return tuple(number / total for number in numbers)


def check_sum(total: Fraction, floats: bool, place: str) -> None:
    """Raise unless probabilities of this total may stand for a law."""
    off = total - 1
    if off == 0 or (floats and abs(off) <= SUM_SLACK):
        return
    raise LawError(
        f"The probabilities of {place} sum to {float(total):.12g}, which is off by {float(off):+.3g}.",
        "Probabilities must sum to one; counts are welcome as integers.",
    )


def channel(rows: Sequence[Sequence[Any]], place: str = "the channel") -> tuple[tuple[Fraction, ...], ...]:
    """A channel as exact rows, one per input, each summing to one.

    >>> channel([[1, 0], [0.25, 0.75]])
    ((Fraction(1, 1), Fraction(0, 1)), (Fraction(1, 4), Fraction(3, 4)))
    """
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise LawError(f"{place.capitalize()} is {rows!r}.", "Give one row of probabilities per input value.")
    table = tuple(distribution(row, f"row {i} of {place}") for i, row in enumerate(rows))
    if not table:
        raise LawError(f"{place.capitalize()} has no rows.", "Give one row per input value.")
    widths = {len(row) for row in table}
    if len(widths) > 1:
        raise LawError(f"The rows of {place} have different lengths: {sorted(widths)}.", "Every row lists all outputs.")
    return table


def over_common_denominator(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Integers and one denominator that give the numbers back.

    >>> over_common_denominator([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    denominator = math.lcm(*(number.denominator for number in numbers)) if numbers else 1
    return [number.numerator * (denominator // number.denominator) for number in numbers], denominator


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or type(value).__name__.startswith("float")
