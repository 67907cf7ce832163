"""The entropy-rate limit: Î_s(Xⁿ)/n between two curves that meet in the entropy rate, for Markov and i.i.d. samples.

Every k successive samples are protected together (k = 1: each sample).

**Below.** The rank bound: at an extreme point of S at most rank(P) states have mass, so Î_s ≥ H(Xⁿ) - log₂ rank(P). The
rank: functions f_1(window 1) + f_2(window 2) + … span the rows of P. A function of the k-1 samples that two neighbouring
windows share can be taken from one and given to the other, so rank(P) ≤ Σ|windows| - Σ|shared parts|, each counted on its
support; it grows like n, and its logarithm per sample vanishes. For few samples the certified optimum is higher, and for
i.i.d. bits with k = 1 so are blocks of up to nine that share one sample (`schemes/partial.py`).

**Above.** The group bound with the window of largest entropy: Î_s ≤ H(Xⁿ) - max H(window).

Entropies are computed in ball arithmetic and rounded outwards: both curves are rigorous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import flint

from choral.describe.ball_arithmetic import PRECISION, ball_of, float_above, float_below
from choral.describe.entropy import entropy_ball, entropy_of_balls
from choral.describe.kinds import needed
from choral.describe.markov import MarkovChain, stationary
from choral.design.disclose import self_disclose
from choral.errors import ProblemError
from choral.problem.pose import windows
from choral.solvers.exchangeable_bits import MOST
from choral.theory.self_disclosure import self_point

FEW_STATES = 16
"""Up to this many sequences the optimum itself is computed."""
SHORT = 40
"""Up to this many i.i.d. bits blocks are tried; beyond, the rank bound is higher."""


@dataclass(frozen=True)
class RatePoint:
    """Î_s(Xⁿ)/n lies between `at_least` and `at_most`, in bits per sample; `at_least_by` and `at_most_by` say why.

    `entropy` is H(Xⁿ)/n, rounded up; so η̂ is at least at_least/entropy.
    """

    n: int
    at_least: float
    at_most: float
    entropy: float
    at_least_by: str
    at_most_by: str


def entropy_rate(chain: MarkovChain) -> float:
    """The entropy rate in bits per sample, to float precision: Σ π(x) H(row x) for the stationary law π.

    >>> round(entropy_rate(MarkovChain.of([[0.75, 0.25], [0.5, 0.5]])), 6)
    0.874185
    """
    law = chain.initial if chain.is_stationary else stationary(chain.transition)
    with flint.ctx.workprec(PRECISION):
        return max(0.0, float_below(_step(chain, [ball_of(p) for p in law])))


def entropy_rate_curve(chain: MarkovChain, ns: Iterable[int], k: int = 1) -> list[RatePoint]:
    """Lower and upper curves of Î_s(Xⁿ)/n, every k successive samples protected together. Both tend to the entropy rate.

    >>> chain = MarkovChain.of([[0.75, 0.25], [0.5, 0.5]])
    >>> for p in entropy_rate_curve(chain, [3, 10, 100, 10000]):
    ...     print(f"{p.n:5} {p.at_least:.3f} {p.at_most:.3f}  {p.at_least_by}")
        3 0.416 0.416  the optimum
       10 0.533 0.787  rank bound
      100 0.808 0.865  rank bound
    10000 0.873 0.874  rank bound
    """
    needed(MarkovChain, chain, "A {} is no chain.", "Give MarkovChain.of(rows) or MarkovChain.iid(p).")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ProblemError(f"k = {k!r}.", "Give a whole number of at least 1.")
    if not isinstance(ns, Iterable):
        raise ProblemError(f"ns is {ns!r}.", "Give a list of numbers of samples.")
    points = []
    for n in ns:
        if isinstance(n, bool) or not isinstance(n, int) or n <= k:
            raise ProblemError(f"n = {n!r} samples with windows of k = {k}.", "Give more samples than a window has.")
        points.append(_point(chain, n, k))
    return points


def _point(chain: MarkovChain, n: int, k: int) -> RatePoint:
    with flint.ctx.workprec(PRECISION):
        whole, window = _entropies(chain, n, k)
        rank = _rank_at_most(chain, n, k)
        below = whole - flint.arb(rank).log() / flint.arb(2).log()
        lower, lower_by = max(0.0, float_below(below / n)), "rank bound"
        upper, upper_by = max(0.0, float_above((whole - window) / n)), "group bound"
        entropy = max(0.0, float_above(whole / n))
        for value, bound, by in _better(chain, n, k):
            down, up = float_below(ball_of(value) / n), float_above(ball_of(bound) / n)
            if down > lower:
                lower, lower_by = down, by
            if up < upper:
                upper, upper_by = up, by
    return RatePoint(n, lower, upper, entropy, lower_by, upper_by)


def _better(chain: MarkovChain, n: int, k: int) -> list[tuple[Fraction, Fraction, str]]:
    """Achieved values and bounds for Î_s(Xⁿ) that take some computing, for few samples."""
    endless = Fraction(10**9)
    q = chain.initial[-1]
    bits = chain.is_iid and len(chain.initial) == 2 and k == 1
    if bits and 4 <= n <= MOST:
        point = self_point(n, q)
        by = "the optimum" if point.proved else "orbits"
        return [(*point.ends, by)]
    if bits and MOST < n <= SHORT:
        size = max(range(4, MOST + 1), key=lambda size: self_point(size, q).ends[0] / (size - 1))
        full, rest = divmod(n - 1, size - 1)
        value = full * self_point(size, q).ends[0]
        if rest:
            value += self_point(rest + 1, q).ends[0]
        return [(value, endless, f"blocks of {size}")]
    paths = _paths(chain, frozenset(x for x, p in enumerate(chain.initial) if p), n) if n <= FEW_STATES else endless
    if 1 < paths <= FEW_STATES:
        joint = chain.joint(n)
        d = self_disclose(joint, windows(joint.names, k))
        return [(Fraction(d.information), Fraction(d.upper_bound), "the optimum")]
    return []


def _step(chain: MarkovChain, law: Sequence[flint.arb]) -> flint.arb:
    """H(next sample | this sample), when this sample has the given law."""
    total = flint.arb(0)
    for p, row in zip(law, chain.transition, strict=True):
        total += p * entropy_ball(row)
    return total


def _entropies(chain: MarkovChain, n: int, k: int) -> tuple[flint.arb, flint.arb]:
    """H(Xⁿ), and the entropy of one window of k, of largest entropy as far as balls can tell."""
    law = [ball_of(p) for p in chain.initial]
    first = entropy_ball(chain.initial)
    if chain.is_stationary:
        step = _step(chain, law)
        return first + (n - 1) * step, first + (k - 1) * step
    alone, steps = [first], []
    rows = [entropy_ball(row) for row in chain.transition]
    for _ in range(n - 1):
        steps.append(sum((p * h for p, h in zip(law, rows, strict=True)), flint.arb(0)))
        law = [
            sum((p * ball_of(row[x]) for p, row in zip(law, chain.transition, strict=True) if row[x]), flint.arb(0))
            for x in range(len(law))
        ]
        alone.append(entropy_of_balls(law))
    whole = sum(steps, first)
    best = max(
        (alone[i] + sum(steps[i : i + k - 1], flint.arb(0)) for i in range(n - k + 1)),
        key=lambda ball: float(ball.mid()),
    )
    return whole, best


def _rank_at_most(chain: MarkovChain, n: int, k: int) -> int:
    """Σ|windows| - Σ|shared parts|, on their supports."""
    here = frozenset(x for x, p in enumerate(chain.initial) if p)
    total = 0
    for i in range(n - k + 1):
        total += _paths(chain, here, k)
        here = _next(chain, here)
        if i < n - k:
            total -= _paths(chain, here, k - 1)
    return total


@lru_cache(maxsize=4096)
def _paths(chain: MarkovChain, start: frozenset[int], length: int) -> int:
    """The number of sequences of this length that begin in the set and have positive probability; 1 of length 0."""
    if length == 0:
        return 1
    if length == 1:
        return len(start)
    return sum(_paths(chain, _next(chain, frozenset([x])), length - 1) for x in start)


@lru_cache(maxsize=4096)
def _next(chain: MarkovChain, here: frozenset[int]) -> frozenset[int]:
    return frozenset(y for x in here for y, p in enumerate(chain.transition[x]) if p)
