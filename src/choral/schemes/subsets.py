"""Extreme points from a few random groups of columns: why the paper looks for something better (sec:heu).

Algorithm 1 tries every group of rank(P) columns. Trying a bounded number of random ones is still private, and tells less and
less as the samples become more: almost every group gives a point with a negative coordinate, so none is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from choral.describe.joint import Joint
from choral.problem.form import incidence
from choral.problem.pose import pose_self
from choral.schemes.law import whole_number
from choral.solvers.reference import solve, target_entropy


@dataclass(frozen=True)
class RandomSubsets:
    """What a bounded random search found: how many extreme points, the channel's rows p(s, y), and its information."""

    tried: int
    points: int
    codes: tuple[tuple[Fraction, ...], ...]
    information: float


def random_subsets(joint: Joint, tries: int, seed: int) -> RandomSubsets:
    """Self-disclosure from the extreme points among `tries` random groups of columns. The seed chooses the groups only.

    The points found are taken out of the law one after another, each as often as fits; what is left is one more code. A
    point meets the privacy equations, and so does the law; hence so does what is left: the channel is private, exactly.

    >>> from choral.describe import examples
    >>> found = [random_subsets(examples.bernoulli(Fraction(3, 10), n), tries=50, seed=1) for n in (4, 5, 6)]
    >>> found[0].information > found[1].information > found[2].information     # of more and more that could be told
    True
    """
    whole_number(tries, "tries", 1)
    problem = pose_self(joint)
    matrix = incidence(problem)
    basis = matrix.independent()
    rows = [[Fraction(x, c) for x, c in zip(matrix.rows[i], matrix.scale, strict=True)] for i in basis]
    right = [Fraction(matrix.right[i], problem.total) for i in basis]
    chooser = Random(seed)
    points: dict[tuple[Fraction, ...], None] = {}
    for _ in range(tries):
        columns = sorted(chooser.sample(range(problem.size), len(basis)))
        found = solve([[row[j] for j in columns] for row in rows], right)
        if found is not None and min(found) >= 0:
            sparse = [Fraction(0)] * problem.size
            for j, value in zip(columns, found, strict=True):
                sparse[j] = value
            points[tuple(sparse)] = None
    rest = [problem.prior_of(s) for s in range(problem.size)]
    codes = []
    for point in points:
        often = min(r / t for r, t in zip(rest, point, strict=True) if t)
        if often:
            codes.append(tuple(often * t for t in point))
            rest = [r - c for r, c in zip(rest, codes[-1], strict=True)]
    if any(rest):
        codes.append(tuple(rest))
    left = math.fsum(float(sum(code)) * target_entropy(problem, [c / sum(code) for c in code]) for code in codes)
    return RandomSubsets(tries, len(points), tuple(codes), max(0.0, problem.entropy_of_target - left))
