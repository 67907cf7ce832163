"""Balls (numbers that are known to within a radius): from fractions, of entropies, and their ends."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import flint

KNOWN = Fraction(1, 10**40)
"""Numbers are known much better than this, relative to them; so a true 1 is stated as 1."""


def ball_of(number: Fraction) -> flint.arb:
    """An exact number, at the precision of the context."""
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def entropy_ball(law: Iterable[Fraction]) -> flint.arb:
    """Σ -x log₂ x over exact masses."""
    total = flint.arb(0)
    for mass in law:
        if mass:
            x = ball_of(mass)
            total -= x * x.log()
    return total / flint.arb(2).log()


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
