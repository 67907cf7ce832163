"""Self-disclosure of i.i.d. bits as a curve over q: Î_s of n Bernoulli(q) samples as an interval, without listing a channel.

The numbers come from the program on types (`solvers/self_orbits.py`), in ball arithmetic and rounded outwards: what is
achieved, by a mixture of orbits in exact fractions; and a bound. Up to six bits the bound is the optimum itself, over all
orbits of extreme points; for seven on request, in minutes. Otherwise it is the smallest of three:

- the group bound, (n-1)·h(q);
- for q ≤ 1/n, the closed form of `solvers/listed_orbits.py`, which is within a factor 1 + O(q) of the optimum;
- *Î_s(X^m) + (n-m)·h(q)* for m = 6: a code that is private for n samples is, for the first m of them, a private code, and
  I(X^n;Y) = I(X^m;Y) + I(X_{m+1}…X_n;Y|X^m).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint

from choral.describe.ball_arithmetic import ball_of, exact_lower, exact_upper, float_above, float_below
from choral.describe.entropy import entropy_ball
from choral.describe.numbers import exact
from choral.errors import LawError, ProblemError, TooLargeError
from choral.solvers.exchangeable_bits import MOST, best_on_types
from choral.solvers.listed_orbits import PROVED, bits_for, rare_bound
from choral.solvers.self_orbits import OnTypes

PROVED_ON_REQUEST = 7
"""Samples up to which all orbits of extreme points can be listed: seven take minutes, eight are far too many."""
SAME = Fraction(1, 10**12)
"""Ends that differ by less than this, relative to them, are one optimum."""


@dataclass(frozen=True)
class SelfPoint:
    """Î_s of n Bernoulli(q) samples, in bits: achieved, and a bound; `proved_by` says how the bound was proved.

    `ends` are the two in fractions: for a rare 1 the value is of the order of q² log 1/q, which may be too small for a float.
    `proved` says that the bound is the optimum, so that the two are equal up to rounding. It was proved in this process; the
    verifier proves it again for a release of up to six bits.
    """

    n: int
    q: Fraction
    ends: tuple[Fraction, Fraction]
    proved: bool
    proved_by: str

    @property
    def information(self) -> float:
        """What is achieved, rounded down."""
        return float_below(self.ends[0])

    @property
    def upper_bound(self) -> float:
        """What no private channel exceeds, rounded up."""
        return float_above(self.ends[1])

    @property
    def relative_gap(self) -> float:
        """(bound - achieved) / bound, of the fractions, rounded up."""
        return float_above((self.ends[1] - self.ends[0]) / self.ends[1])

    @property
    def efficiency(self) -> float:
        """η̂: information / H(Xⁿ)."""
        with flint.ctx.workprec(bits_for(self.q)):
            return float(self.ends[0] / exact_lower(self.n * _h(self.q)))


def self_disclosure_curve(
    n: int,
    qs: Iterable[Any],
    *,
    prove: bool = False,
    progress: Callable[[SelfPoint], None] | None = None,
) -> list[SelfPoint]:
    """Î_s of n independent Bernoulli(q) samples, each protected alone, for each q in (0, 1): a point each.

    `prove` asks for the optimum of seven samples to be proved as well (several minutes for each q).

    >>> [round(p.information, 3) for p in self_disclosure_curve(4, ["1/10", "3/10", "1/2"])]
    [0.343, 1.791, 3.0]
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 2:
        raise ProblemError(f"n = {n!r} samples.", "Give a whole number of at least 2.")
    if n > MOST:
        raise TooLargeError(
            f"{n} samples have {2.0**n:.3g} states.", f"Take at most {MOST}, or schemes.blocks and schemes.rotation."
        )
    if prove and n > PROVED_ON_REQUEST:
        raise TooLargeError(f"The optimum of {n} samples cannot be proved here.", "Leave out prove.")
    if isinstance(qs, str) or not isinstance(qs, Iterable):
        raise ProblemError(f"qs is {qs!r}.", "Give a list of probabilities, such as [0.3].")
    points = []
    for given in qs:
        q = exact(given, "q")
        if not 0 < q < 1:
            raise LawError(f"q = {given} is outside (0, 1).", "A sample that never changes has nothing to protect.")
        points.append(self_point(n, q, prove=prove))
        if progress is not None:
            progress(points[-1])
    return points


@lru_cache(maxsize=1024)
def self_point(n: int, q: Fraction, *, prove: bool = False) -> SelfPoint:
    """One point of the curve."""
    rare, types = min(q, 1 - q), bernoulli_types(n, q)
    answer = best_on_types(n, q, types, every=prove)
    with flint.ctx.workprec(bits_for(rare)):
        low = max(Fraction(0), exact_lower(_achieved(answer, q)))
        bounds = {"group bound": exact_upper((n - 1) * _h(q))}
        if answer.proved:
            bounds["all orbits of extreme points"] = exact_upper(_optimum(answer, q))
        else:
            part = self_point(PROVED, q).ends[1] + exact_upper((n - PROVED) * _h(q))
            bounds[f"all orbits of {PROVED} samples, and (n-{PROVED})·h(q)"] = part
            if rare <= Fraction(1, n):
                bounds["the closed form for a rare value"] = exact_upper(
                    n * _h(q) - rare_bound(n, rare, bernoulli_types(n, rare))
                )
    by = min(bounds, key=lambda by: bounds[by])
    settled = bounds[by] <= low * (1 + SAME)
    return SelfPoint(n, q, (low, bounds[by]), answer.proved or settled, by)


def bernoulli_types(n: int, q: Fraction) -> list[Fraction]:
    """The probability of each number of ones."""
    return [math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]


def _h(q: Fraction) -> flint.arb:
    return entropy_ball([q, 1 - q])


def _achieved(answer: OnTypes, q: Fraction) -> flint.arb:
    """H(X) - Σ u H(t): what the mixture of orbits discloses."""
    total = answer.n * _h(q)
    for orbit, u in answer.weights:
        total -= ball_of(u) * entropy_ball(orbit.masses.values())
    return total


def _optimum(answer: OnTypes, q: Fraction) -> flint.arb:
    """H(X) - π·p - min [H(t) - π·t]: what no private channel exceeds, for multipliers π by type."""
    pi = [ball_of(x) for x in answer.multipliers]
    least = flint.arb("inf")
    for orbit in answer.tight:
        slack = entropy_ball(orbit.masses.values())
        for ones, mass in orbit.types().items():
            slack -= pi[ones] * ball_of(mass)
        least = least.min(slack)
    average = flint.arb(0)
    for x, p in zip(pi, bernoulli_types(answer.n, q), strict=True):
        average += x * ball_of(p)
    return answer.n * _h(q) - average - least
