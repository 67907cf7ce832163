"""Extreme points from a few random groups of columns: why the paper looks for something better.

Algorithm 1 tries every group of rank(P) columns. Trying a bounded number of random ones is still private, and tells less and
less as the samples become more: almost every group gives a point with a negative coordinate, so none is found.

**It tends to zero, whichever K groups are tried** (`random_subsets_at_most`). A point from a group has at most r = rank(P)
masses, so one of them, t_s, is at least 1/r. Its code y has p(y) t_s ≤ p_s, hence p(y) ≤ r·p_max, where p_max is the
probability of the most probable state. What is left of the law is one more code. So the K codes have a mass of at most
μ = K·r·p_max together, and

    I(X;Y) ≤ H(Y) ≤ h(μ) + μ log K       while μ ≤ K/(K+1), and log(K+1) always.

For samples that are not constant p_max falls exponentially in their number, and r grows linearly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, TypeVar

import flint
import numpy as np

from choral.describe.ball_arithmetic import ball_of, float_above
from choral.describe.entropy import entropy_ball
from choral.describe.joint import Joint
from choral.errors import ColumnError
from choral.problem.form import incidence
from choral.problem.pose import pose_self
from choral.schemes.draws import ExactRows
from choral.schemes.law import DeclaredLaw, Marginal, declared, whole_number
from choral.schemes.masked import Estimate
from choral.solvers.reference import solve, target_entropy

State = TypeVar("State", bound=Hashable)
PRECISION = 128
"""Bits of ball arithmetic: far more than a float keeps, so that the ends are those of floats."""


@dataclass(frozen=True)
class RandomSubsets:
    """What a bounded random search found: how many extreme points, the channel's rows p(s, y), and its information."""

    tried: int
    points: int
    states: tuple[tuple[Any, ...], ...]
    codes: tuple[tuple[Fraction, ...], ...]
    information: float

    def encode(self, data: Sequence[Any]) -> int:
        """The code of one dataset, drawn exactly."""
        state = tuple(data)
        if state not in self.states:
            raise ColumnError(f"{state!r} cannot occur under the law.", "Give one value per sample, in its order.")
        s = self.states.index(state)
        return int(ExactRows([{y: code[s] for y, code in enumerate(self.codes)}]).draw(np.zeros(1, dtype=np.int64))[0])


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
    basis = matrix.independent
    rows = [[Fraction(x, c) for x, c in zip(matrix.rows[i], matrix.scale, strict=True)] for i in basis]
    right = [Fraction(matrix.right[i], problem.total) for i in basis]
    chooser = Random(seed)
    points: dict[tuple[tuple[int, Fraction], ...], None] = {}
    for _ in range(tries):
        columns = sorted(chooser.sample(range(problem.size), len(basis)))
        found = solve([[row[j] for j in columns] for row in rows], right)
        if found is not None and min(found) >= 0:
            points[tuple((j, value) for j, value in zip(columns, found, strict=True) if value)] = None
    taken, left = _taken_out(map(dict, points), problem.prior_of)
    rest = [left.get(s, problem.prior_of(s)) for s in range(problem.size)]
    codes = [tuple(code.get(s, Fraction(0)) for s in range(problem.size)) for code in taken]
    if any(rest):
        codes.append(tuple(rest))
    open_ = math.fsum(float(sum(code)) * target_entropy(problem, [c / sum(code) for c in code]) for code in codes)
    told = max(0.0, problem.entropy_of_target - open_)
    return RandomSubsets(tries, len(points), tuple(problem.states), tuple(codes), told)


def random_subsets_mean(law: DeclaredLaw, n: int, tries: int, runs: int, seed: int) -> Estimate:
    """What `random_subsets` tells of n samples in bits, on average over the choice of groups: from `runs` choices.

    Only states that a group contains are listed, so n may be larger than a joint law allows.

    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> few, many = (random_subsets_mean(law, n, tries=50, runs=20, seed=1).value for n in (4, 10))
    >>> few > 0.2, many < 0.01
    (True, True)
    """
    marginals = declared(law).sized(n)
    whole_number(tries, "tries", 1)
    whole_number(runs, "runs", 2)
    chooser = Random(seed)
    told = [_told(marginals, tries, chooser) for _ in range(runs)]
    mean = math.fsum(told) / runs
    spread = math.fsum((x - mean) ** 2 for x in told) / (runs - 1)
    return Estimate(mean, math.sqrt(spread / runs))


def random_subsets_at_most(law: DeclaredLaw, n: int, tries: int) -> float:
    """What no choice of `tries` groups exceeds for n samples, in bits: the bound of this module.

    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> [f"{random_subsets_at_most(law, n, tries=50):.2g}" for n in (20, 50, 100)]
    ['5.4', '0.00099', '7.6e-11']
    """
    marginals = declared(law).sized(n)
    whole_number(tries, "tries", 1)
    rank = 1 + sum(sum(p > 0 for p in m.p) - 1 for m in marginals)
    with flint.ctx.workprec(PRECISION):
        most = flint.arb(rank * tries)
        for m in marginals:
            most *= ball_of(max(m.p))
        two = flint.arb(2).log()
        if not most < ball_of(Fraction(tries, tries + 1)):
            return float_above(flint.arb(tries + 1).log() / two)
        return float_above((most * (flint.arb(tries).log() - most.log()) - (1 - most) * (-most).log1p()) / two)


def _taken_out(
    points: Iterable[dict[State, Fraction]], prior: Callable[[State], Fraction]
) -> tuple[list[dict[State, Fraction]], dict[State, Fraction]]:
    """Each point as often as it fits into what the ones before it left: the codes, and what is left where they have mass."""
    left: dict[State, Fraction] = {}
    codes = []
    for point in points:
        for s in point:
            left.setdefault(s, prior(s))
        often = min(left[s] / t for s, t in point.items())
        if often:
            codes.append({s: often * t for s, t in point.items()})
            for s, mass in codes[-1].items():
                left[s] -= mass
    return codes, left


def _told(marginals: tuple[Marginal, ...], tries: int, chooser: Random) -> float:
    """I(X;Y) of one choice of groups. A state that no point touches keeps its prior, so its part of H(X) cancels."""
    values = [[x for x, p in enumerate(m.p) if p] for m in marginals]
    right = [Fraction(1), *(m.p[x] for m, some in zip(marginals, values, strict=True) for x in some[1:])]
    size = len(right)
    goal = flint.fmpq_mat(size, 1, [flint.fmpq(p.numerator, p.denominator) for p in right])
    points: dict[tuple[tuple[tuple[int, ...], Fraction], ...], None] = {}
    for _ in range(tries):
        group: set[tuple[int, ...]] = set()
        while len(group) < size:
            group.add(tuple(chooser.choice(some) for some in values))
        states = sorted(group)
        rows = [[1] * size]
        rows += [[int(s[i] == x) for s in states] for i, some in enumerate(values) for x in some[1:]]
        try:
            found = flint.fmpq_mat(flint.fmpz_mat(rows)).solve(goal)
        except ZeroDivisionError:
            continue
        if all(found[i, 0] >= 0 for i in range(size)):
            masses = [Fraction(int(found[i, 0].p), int(found[i, 0].q)) for i in range(size)]
            points[tuple((s, mass) for s, mass in zip(states, masses, strict=True) if mass)] = None

    def prior(state: tuple[int, ...]) -> Fraction:
        return math.prod((m.p[x] for m, x in zip(marginals, state, strict=True)), start=Fraction(1))

    codes, left = _taken_out(map(dict, points), prior)
    with flint.ctx.workprec(PRECISION):
        open_ = flint.arb(0)
        for code in codes:
            open_ += entropy_ball(code.values()) - entropy_ball([sum(code.values(), Fraction(0))])
        rest = 1 - sum((sum(code.values(), Fraction(0)) for code in codes), Fraction(0))
        open_ += entropy_ball(left.values()) - entropy_ball([rest] if rest else [])
        return max(0.0, float((entropy_ball(prior(s) for s in left) - open_).mid()))
