"""The ends of a ball (a number that is known to within a radius) as exact fractions."""

from __future__ import annotations

from fractions import Fraction

import flint


def exact_lower(ball: flint.arb) -> Fraction:
    """The lower end, exactly."""
    return _exact(ball.mid()) - _exact(ball.rad())


def exact_upper(ball: flint.arb) -> Fraction:
    """The upper end, exactly."""
    return _exact(ball.mid()) + _exact(ball.rad())


def _exact(point: flint.arb) -> Fraction:
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
