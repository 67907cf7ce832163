"""Extreme points of the polytope of posteriors, walked from neighbour to neighbour in integers."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

from choral.verifier.information import BITS
from choral.verifier.intervals import DOWN, interval, minus_x_log_x
from choral.verifier.numbers import common_denominator
from choral.verifier.steps import hold, product, spend

MANY_POINTS = 2000  # extreme points after which chords are worth their making


def extreme_points(columns, weights):
    """Every extreme point of {t ≥ 0 : Σ t_c column_c = Σ p_c column_c}, p ∝ weights, as {c: mass}; some perhaps twice.

    Rows of integers [right side | one entry per column], times the determinant of the basis; a pivot keeps them
    integers. Ties between leaving rows are broken lexicographically by the columns of the first basis, which is the
    same as moving the right side by powers of an infinitesimal: the moved polytope is simple and its graph is
    connected, so walking from neighbour to neighbour visits all its vertices, and their limits are all those of ours.
    """
    what = "extreme points"
    size, total = len(columns), sum(weights)
    scale = common_denominator([x for column in columns for x in column], what)
    digits = scale.bit_length() + total.bit_length()
    spend(size * len(columns[0]) * product(digits, digits), what)
    hold(size * len(columns[0]) * (1 + digits // 64), what)
    rows = []
    for i in range(len(columns[0])):
        line = [int(column[i] * scale) for column in columns]
        rows.append([sum(x * w for x, w in zip(line, weights)), *line])
    # Gauss-Jordan elimination finds a first basis and drops rows that depend on others.
    basis, det, kept = [], 1, []
    for row in rows:
        spend(2 * (size + 1) * (1 + len(kept)) * product(det.bit_length(), digits), what)
        kept.append(reduce_row(row, kept, basis, det))
        j = next((j for j in range(1, size + 1) if kept[-1][j]), None)
        if j is None:
            kept.pop()
            continue
        basis.append(j)
        kept, det = pivot(kept, len(kept) - 1, j, det)
    # From the prior, where every state has mass, empty one state after the other until a vertex is reached.
    x = [Fraction(0), *(Fraction(w) for w in weights)]
    for j in range(1, size + 1):
        if j in basis:
            continue
        spend(len(kept) * (20 + 4 * product(det.bit_length() + digits, det.bit_length() + digits)), what)
        limits = [(x[basis[i]] * det / -row[j], i) for i, row in enumerate(kept) if row[j] < 0]
        step = min([x[j], *(limit for limit, _ in limits)])
        for i, row in enumerate(kept):
            x[basis[i]] += Fraction(row[j], det) * step
        x[j] -= step
        if x[j]:
            i = next(i for limit, i in limits if limit == step)
            basis[i] = j
            spend((size + 1) * len(kept) * product(det.bit_length(), det.bit_length()), what)
            kept, det = pivot(kept, i, j, det)
    if len(basis) == 2:
        yield from pairs_on_a_line(columns, weights)
        return
    home = [0, *basis]
    start = tuple(basis)
    seen, waiting = {frozenset(start)}, [(kept, start, det)]
    while waiting:
        kept, basis, det = waiting.pop()
        words = 1 + det.bit_length() // 64
        each = product(det.bit_length() + digits, det.bit_length())
        spend(size * len(kept) * 3 * each, what)
        hold(-size * len(kept) * words if len(seen) > 1 else 0, what)
        yield {j - 1: Fraction(row[0], det * total) for row, j in zip(kept, basis) if row[0]}
        for j in range(1, size + 1):
            if j in basis:
                continue
            i = leaving_row(kept, j, home)
            moved = (*basis[:i], j, *basis[i + 1 :])
            if frozenset(moved) not in seen:
                seen.add(frozenset(moved))
                determinant_there = kept[i][j]
                spend(size * len(kept) * 2 * each, what)
                hold(4 * len(kept) + size * len(kept) * (1 + determinant_there.bit_length() // 64), what)
                waiting.append((pivot(kept, i, j, det)[0], moved, determinant_there))


def pairs_on_a_line(columns, weights):
    """The extreme points when the rank is 2: the columns lie on a line, and two that surround the mean give it.

    All rows are affine functions of any one that is not constant; call that position x. t ≥ 0 with Σ t = 1 and
    Σ t x = mean has at most two positive entries at an extreme point: one on either side of the mean, or one on it.
    """
    varying = next(i for i in range(len(columns[0])) if len({column[i] for column in columns}) > 1)
    x = [column[varying] for column in columns]
    scale = math.lcm(*(p.denominator for p in x)) * sum(weights)
    x = [p.numerator * (scale // p.denominator) for p in x]
    mean = sum(p * w for p, w in zip(x, weights)) // sum(weights)  # whole, by the choice of the scale
    above = [(b, right) for b, right in enumerate(x) if right > mean]
    for a, left in enumerate(x):
        spend(mean.bit_length() * len(x) // 8 + 20 * len(x), "extreme points")
        if left == mean:
            yield {a: Fraction(1)}
        elif left < mean:
            for b, right in above:
                share = Fraction(right - mean, right - left)
                yield {a: share, b: 1 - share}


def reduce_row(row, kept, basis, det):
    """The row times `det`, less what the rows already in the basis account for."""
    new = [x * det for x in row]
    for other, j in zip(kept, basis):
        if row[j]:
            new = [x - row[j] * y for x, y in zip(new, other)]
    return new


def pivot(rows, i, j, det):
    """Make column j the unit column of row i (times its new determinant), keeping the determinant positive."""
    row = rows[i]
    p = row[j]
    new = [
        row if k == i else [(x * p - other[j] * y) // det for x, y in zip(other, row)] for k, other in enumerate(rows)
    ]
    if p < 0:
        return [[-x for x in r] for r in new], -p
    return new, p


def leaving_row(rows, j, home):
    """The row with the lexicographically smallest ratio to its entry in column j, among positive entries."""
    best = None
    for i, row in enumerate(rows):
        if row[j] <= 0:
            continue
        if best is None:
            best = i
            continue
        other = rows[best]
        for h in home:
            difference = row[h] * other[j] - other[h] * row[j]
            if difference:
                if difference < 0:
                    best = i
                break
    return best


class Chords:
    """A lower bound on entropies without logarithms: chords of the concave -x log₂ x over 2¹³ cells of [0, 1]."""

    cells = 13

    def __init__(self):
        size = 1 << self.cells
        self.heights = [
            int(
                DOWN.multiply(minus_x_log_x(interval(Fraction(k, size)))[0], Decimal(1 << BITS)).to_integral_value(
                    ROUND_FLOOR
                )
            )
            for k in range(size + 1)
        ]
        self.heights.append(0)

    def entropy(self, masses):
        """At most Σ -x log₂ x, for x in units of 2^-BITS from 0 to 1."""
        shift = BITS - self.cells
        total = 0
        for x in masses:
            k = x >> shift
            low, high = self.heights[k], self.heights[k + 1]
            total += low + ((high - low) * (x - (k << shift)) >> shift)
        return total
