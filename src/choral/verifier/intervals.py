"""Interval arithmetic: pairs of Decimals, rounded outwards."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from choral.verifier.claims import need
from choral.verifier.steps import product, spend

CONVERSION, LOGARITHM = 20, 800  # steps
DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
UP = Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
# Relative: what an interval of such numbers widens by is far below every digit that is shown.
NEIGHBOURS = Decimal("1e-55")


def interval(number):
    """The smallest interval of our precision that contains an exact number."""
    number = Fraction(number)
    return ratio(number.numerator, number.denominator)


def ratio(top, bottom):
    """The smallest interval of our precision that contains a quotient of integers."""
    longest = max(top.bit_length(), bottom.bit_length())
    spend(CONVERSION + product(longest, longest), "numbers of many digits")
    p, q = Decimal(top), Decimal(bottom)
    return DOWN.divide(p, q), UP.divide(p, q)


def add(x, y):
    """x + y for intervals."""
    return DOWN.add(x[0], y[0]), UP.add(x[1], y[1])


def subtract(x, y):
    """x - y for intervals."""
    return DOWN.subtract(x[0], y[1]), UP.subtract(x[1], y[0])


LN2 = DOWN.next_minus(DOWN.ln(Decimal(2))), UP.next_plus(UP.ln(Decimal(2)))


def log2(x):
    """log₂ of a positive interval. `Decimal.ln` is correct to half a unit in the last place: one more is added.

    The ends of most intervals are neighbours, and log b ≤ log a + (b - a)/a: then one logarithm serves both ends.
    """
    spend(LOGARITHM, "logarithms")
    log = DOWN.ln(x[0])
    apart = UP.divide(UP.subtract(x[1], x[0]), x[0])
    above = UP.add(UP.next_plus(log), apart) if apart < NEIGHBOURS else UP.next_plus(UP.ln(x[1]))
    low, high = DOWN.next_minus(log), above
    return DOWN.divide(low, LN2[0 if low < 0 else 1]), UP.divide(high, LN2[1 if high < 0 else 0])


def minus_x_log_x(x):
    """-x log₂ x for an interval within [0, 1]."""
    low, high = max(x[0], Decimal(0)), min(x[1], Decimal(1))
    if high <= 0:
        return Decimal(0), Decimal(0)
    if low <= 0:
        # -x log x rises up to 1/e, so on [0, high] it is at most its value at a small `high`.
        need(high < Decimal("0.25"), "arithmetic", "a probability is too uncertain to take its logarithm")
        return Decimal(0), UP.multiply(high, log2((high, high))[0].copy_negate())
    log = log2((low, high))
    return (
        max(Decimal(0), DOWN.multiply(low, log[1].copy_negate())),
        max(Decimal(0), UP.multiply(high, log[0].copy_negate())),
    )


def entropy(probabilities):
    """Σ -x log₂ x over intervals; of equal ones a logarithm is taken once."""
    total, known = (Decimal(0), Decimal(0)), {}
    for x in probabilities:
        if x not in known:
            known[x] = minus_x_log_x(x)
        total = add(total, known[x])
    return total
