"""Channels that everybody knows: one row per input, exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from choral.describe.numbers import nonnegative
from choral.errors import LawError


class Channel(tuple[tuple[Fraction, ...], ...]):
    """Rows of exact probabilities, one per input, together with the names of the outputs."""

    outputs: tuple[Any, ...]

    def __new__(cls, rows: tuple[tuple[Fraction, ...], ...], outputs: tuple[Any, ...]) -> Channel:
        """A channel whose rows are already exact and sum to one."""
        self = super().__new__(cls, rows)
        self.outputs = outputs
        return self


def bsc(crossover: Any) -> Channel:
    """The binary symmetric channel.

    >>> bsc(Fraction(1, 10))[0]
    (Fraction(9, 10), Fraction(1, 10))
    """
    e = _probability(crossover, "the crossover probability")
    return Channel(((1 - e, e), (e, 1 - e)), (0, 1))


def bec(erasure: Any) -> Channel:
    """The binary erasure channel; its outputs are 0, "e", 1, in this order.

    >>> bec(Fraction(1, 2))[0], bec(Fraction(1, 2)).outputs
    ((Fraction(1, 2), Fraction(1, 2), Fraction(0, 1)), (0, 'e', 1))
    """
    e = _probability(erasure, "the erasure probability")
    zero = Fraction(0)
    return Channel(((1 - e, e, zero), (zero, e, 1 - e)), (0, "e", 1))


def _probability(value: Any, place: str) -> Fraction:
    number = nonnegative(value, place)
    if number > 1:
        raise LawError(f"{place.capitalize()} is {value}, above one.", "Give a number from 0 to 1.")
    return number
