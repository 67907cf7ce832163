"""Self-disclosure of i.i.d. bits as a curve over q: Î_s of n Bernoulli(q) samples as an interval, without listing a channel.

The numbers come from the program on types (`solvers/self_orbits.py`), in ball arithmetic and rounded outwards: what is
achieved, by a mixture of orbits in exact fractions; and a bound. Up to six bits the bound is the optimum itself, over all
orbits of extreme points; for seven on request, in minutes. Otherwise it is the smaller of two:

- pr:upper_bound, (n-1)·h(q);
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

from choral.describe.numbers import exact
from choral.errors import LawError, ProblemError, TooLargeError
from choral.exact.balls import ball_of, entropy_ball, float_above, float_below
from choral.exact.information import PRECISION
from choral.solvers.self_orbits import LEAST_MEAN, MOST, PROVED, OnTypes, proof_by_all_bases, solve_on_types

PROVED_ON_REQUEST = 7


@dataclass(frozen=True)
class SelfPoint:
    """Î_s of n Bernoulli(q) samples, in bits: achieved, and a bound; `proved_by` says how the bound was proved.

    `proved` says that the bound is the optimum, so that the two are equal up to rounding. It was proved in this process; the
    verifier proves it again for a release of up to six bits.
    """

    n: int
    q: Fraction
    information: float
    upper_bound: float
    proved: bool
    proved_by: str

    @property
    def efficiency(self) -> float:
        """η̂: information / H(Xⁿ)."""
        return self.information / (self.n * float_below(_h(self.q)))


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
        if not LEAST_MEAN <= q <= 1 - LEAST_MEAN:
            raise LawError(
                f"q = {given} is closer to 0 or 1 than {float(LEAST_MEAN)}.",
                "Use ch.self_disclose, for up to five samples.",
            )
        points.append(self_point(n, q, prove=prove))
        if progress is not None:
            progress(points[-1])
    return points


@lru_cache(maxsize=1024)
def self_point(n: int, q: Fraction, *, prove: bool = False) -> SelfPoint:
    """One point of the curve."""
    answer = solve_on_types(n, q, bernoulli_types(n, q))
    if prove and not answer.proved:
        answer = proof_by_all_bases(answer, q)
    with flint.ctx.workprec(PRECISION):
        low = float_below(_achieved(answer, q))
        simple = float_above((n - 1) * _h(q))
        if answer.proved:
            bound, by = float_above(_optimum(answer, q)), "all orbits of extreme points"
        else:
            part = Fraction(self_point(PROVED, q).upper_bound)
            bound = float_above(ball_of(part) + (n - PROVED) * _h(q))
            by = f"all orbits of {PROVED} samples, and (n-{PROVED})·h(q)"
    if simple <= bound:
        bound, by = simple, "pr:upper_bound"
    return SelfPoint(n, q, low, bound, answer.proved or bound <= low + 1e-12, by)


def bernoulli_types(n: int, q: Fraction) -> list[Fraction]:
    """The probability of each number of ones."""
    return [math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]


def _h(q: Fraction) -> flint.arb:
    with flint.ctx.workprec(PRECISION):
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
