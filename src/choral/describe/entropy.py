"""Entropy, in bits: of exact weights, in floats and in balls."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import flint

from choral.describe.ball_arithmetic import ball_of, sum_of

FIXED = 300
"""Bits of fixed-point masses in the sums that are stated: more than the precision of balls."""


def entropy_of(weights: Iterable[int | Fraction], total: int) -> float:
    """The entropy, in bits, of exact weights that sum to `total`."""
    masses = [float(weight / total) for weight in weights if weight]
    return math.fsum(-mass * math.log2(mass) for mass in masses if mass) + 0.0


def entropy_ball(law: Iterable[Fraction]) -> flint.arb:
    """Σ -x log₂ x over exact masses."""
    return sum_of(-x * x.log() for x in map(ball_of, filter(None, law))) / flint.arb(2).log()


def minus_x_ln_x(low: int, width: int) -> flint.arb:
    """-x ln x for x between low and low + width, in units of 2^-FIXED, within [0, 1]."""
    unit = flint.arb(2) ** -FIXED
    if low <= 0:
        x = flint.arb(max(low + width, 1)) * unit
        return (-x * x.log()).union(flint.arb(0))
    x = (flint.arb(low) * unit).union(flint.arb(low + width) * unit)
    return -x * x.log()
