"""What squared error knows of a problem: the mean of every state, and mean and variance of the target, in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel
from choral.problem.utility import Squares

GRID = 2**60
"""Squares are stated in such shares of the variance of the target: exact, they would have thousands of digits."""
NEAR = Fraction(1, 2**32)
"""Of a share: what is so close to a multiple of it is taken for that."""
FIXED = 256
"""Bits after the point of sums that are rounded down."""


@dataclass(frozen=True, eq=False)
class Moments:
    """`first[s]` = Σ_v w(s, v) m_v, over the values m_v of the target less the least of them, in multiples of `step`."""

    weights: tuple[int, ...]
    first: tuple[int, ...]
    mean: Fraction
    variance: Fraction
    step: Fraction

    @classmethod
    def of(cls, problem: Problem) -> Moments:
        """Those of a problem whose utility is squares."""
        return _moments(problem)

    def explained(self, channel: ExactChannel) -> Fraction:
        """Σ_y p(y) E[W|y]² from below, in squared steps."""
        mass, first = [0] * channel.codes, [0] * channel.codes
        for w, m, (denominator, entries) in zip(self.weights, self.first, channel.rows, strict=True):
            for y, n in entries:
                mass[y] += -((-n * w << FIXED) // denominator)
                first[y] += (n * m << FIXED) // denominator
        total = sum((a * a << FIXED) // p for a, p in zip(first, mass, strict=True))
        return Fraction(total, sum(self.weights) << 2 * FIXED)

    def stated(self, square: Fraction, up: bool) -> Fraction:
        """The variance that is explained where Σ_y p(y) E[W|y]² is so many squared steps: rounded up or down."""
        if not self.variance:
            return Fraction(0)
        share = min(max(square - self.mean**2, Fraction(0)), self.variance) / self.variance * GRID
        whole = math.ceil(share - NEAR) if up else math.floor(share + NEAR)
        return Fraction(whole, GRID) * self.variance * self.step**2


@lru_cache(maxsize=4)
def _moments(problem: Problem) -> Moments:
    assert isinstance(problem.utility, Squares)
    numbers, step = problem.utility.whole
    first, square = [0] * problem.size, 0
    for s, v, w in zip(
        problem.target.state.tolist(), problem.target.value.tolist(), problem.target.weight, strict=True
    ):
        first[s] += w * numbers[v]
        square += w * numbers[v] ** 2
    mean = Fraction(sum(first), problem.total)
    return Moments(problem.weights, tuple(first), mean, Fraction(square, problem.total) - mean**2, step)
