"""Sums of integers over several denominators, exactly: gathered by denominator, then added as one fraction for every code."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

from choral.verifier.steps import hold, product, spend

ORDINARY = 512  # bits of a number that is held as one
SUMS = "sums of fractions over many denominators"


def gather(parts, value, bottom, codes, numerators, factor):
    """Add numerators · factor to the sums {value: {bottom: {code: sum}}}; returns how many of these are new."""
    row = parts.setdefault(value, {}).setdefault(bottom, {})
    before = len(row)
    for y, n in zip(codes, numerators):
        row[y] = row.get(y, 0) + n * factor
    return len(row) - before


def gather_all(parts, others):
    """Add sums {value: {bottom: {code: sum}}} to such sums; returns how many of these are new."""
    return sum(
        gather(parts, value, bottom, row, row.values(), 1)
        for value, by_bottom in others.items()
        for bottom, row in by_bottom.items()
    )


def added(parts):
    """Sums of integers over several denominators, {denominator: {y: integer}}, as one fraction for every code."""
    common = 1
    for bottom, row in parts.items():
        common = lcm(common, bottom)
        # to add fractions takes the product of their denominators: what they have in common is no longer than either
        each = product(common.bit_length() + bottom.bit_length(), bottom.bit_length() + 64)
        spend(10 + len(row) * (20 + 4 * each), SUMS)
    longest = len(set().union(*parts.values())) * (sum([bottom.bit_length() for bottom in parts]) // ORDINARY)
    hold(longest, SUMS)
    rows = list(parts.items())
    while len(rows) > 1:  # two and two: products of numbers that are about as long take least
        rows = [over_both(*rows[i : i + 2]) for i in range(0, len(rows), 2)]
    hold(-longest, SUMS)
    return {y: Fraction(numerator, bottom) for bottom, row in rows for y, numerator in row.items()}


def over_both(one, other=None):
    """Two rows of numerators, each with a denominator of its own, added over the least that both divide."""
    if other is None:
        return one
    (bottom, row), (beside, further) = one, other
    wide = lcm(bottom, beside)
    more, times = wide // bottom, wide // beside
    total = {y: numerator * more for y, numerator in row.items()}
    for y, numerator in further.items():
        total[y] = total.get(y, 0) + numerator * times
    return wide, total
