"""Balls (numbers that are known to within a radius): from fractions, sums of them, and their ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import flint

KNOWN = Fraction(1, 10**40)
"""Numbers are known much better than this, relative to them; so a true 1 is stated as 1."""

PRECISION = 256
"""Bits with which what is stated is computed: some 75 decimals, of which fifteen are stated."""


def ball_of(number: Fraction) -> flint.arb:
    """An exact number, at the precision of the context."""
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def sum_of(values: Iterable[flint.arb]) -> flint.arb:
    """The sum of balls."""
    return sum(values, flint.arb(0))


def float_below(number: flint.arb | Fraction) -> float:
    """A float that is at most the number, up to 1e-40 of it: one bit, known to within that, is 1."""
    low = number if isinstance(number, Fraction) else exact_lower(number)
    nearest = float(low)
    return nearest if Fraction(nearest) <= low + abs(low) * KNOWN else math.nextafter(nearest, -math.inf)


def float_above(number: flint.arb | Fraction) -> float:
    """A float that is at least the number, up to 1e-40 of it."""
    return -float_below(-number)


def exact_lower(ball: flint.arb) -> Fraction:
    """The lower end, exactly."""
    return _exact(ball.mid()) - _exact(ball.rad())


def exact_upper(ball: flint.arb) -> Fraction:
    """The upper end, exactly."""
    return _exact(ball.mid()) + _exact(ball.rad())


def _exact(point: flint.arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
