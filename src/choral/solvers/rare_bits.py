"""Self-disclosure of exchangeable bits that are rarely 1: the program on types in fractions, for any mean q < 1/n.

**The extreme points do not depend on q.** Let q < 1/n. A point t of S has Σ_x t_x |x| = nq < 1, so it has mass on x = 0. On a
basis {0, x_1 … x_n} the equations Σ t_x x = (q, …, q) give the other masses, proportional to q. So t is 1 - qA at 0 and q·a_x
elsewhere, with A = Σ a_x ≤ Σ a_x |x| = n, and a is an extreme point of {a ≥ 0 : Σ_x a_x x = (1, …, 1)}: the same for every
such q. (These are the minimal balanced collections of game theory.) Up to six bits all their orbits are in `different_bases`;
above, those are taken in which a is 0 or 1, the partitions of the samples: a channel, but no proof.

**What is disclosed** is of the order of q² log 1/q, below H(Xⁿ) by a factor q; and q may be far below the reach of floats.
So entropies are known to `bits_for(q)` bits, and the simplex method works in fractions.

**A bound in closed form** (`rare_bound`). Given any code y, let t be the law of Xⁿ, a_x = t_x/q for x ≠ 0, and A = Σ a_x.
Some x_i is 1 and P(X_i = 1 | y) = q, so a_x ≤ 1, and with η(u) = -u log u

    H(t) = η(1-qA) + qA log 1/q + q Σ η(a_x) ≥ φ(A) = η(1-qA) + qA log 1/q.

Let w_j be the share Σ_{|x|=j} j a_x / n: they sum to 1, and A = Σ_j w_j n/j. φ is concave, so φ(A) ≥ Σ_j w_j φ(n/j) as long
as n ≤ 1/q. On average over y, w_j is j p_j / nq, with p_j the probability of j ones. So H(Xⁿ|Y) ≥ Σ_j (j p_j / nq) φ(n/j). ∎
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import flint
import numpy as np

from choral.describe.ball_arithmetic import ball_of, exact_lower, exact_upper
from choral.describe.entropy import entropy_ball
from choral.solvers.cube_bases import Bases, all_bases, different_bases, one_of_each_kind
from choral.solvers.mixture import best_exact_weights
from choral.solvers.self_orbits import PROVED, OnTypes, Orbit

RARE = Fraction(1, 100)
"""Below this mean floats lose more than three of their digits in the value."""
BITS = 256
SPARE = 100
"""Bits that may be lost in sums; what is rounded is known to as many bits beyond the value's own."""


def bits_for(q: Fraction) -> int:
    """Precision at which a value of the order of q² is known well: at least two hundred bits of it."""
    return BITS + 2 * (q.denominator // q.numerator).bit_length()


def rare_orbits(n: int, q: Fraction, every: bool = False) -> tuple[Orbit, ...]:
    """An extreme point of every orbit at q < 1/n; above `PROVED` bits, unless `every`, those that are partitions.

    >>> [len(rare_orbits(n, Fraction(1, 1000))) for n in (3, 4, 5, 7)]
    [4, 10, 45, 15]
    """
    return tuple(
        Orbit({0: 1 - q * sum(a.values()), **{point: q * share for point, share in a.items()}})
        for a in _collections(n, every)
    )


def _collections(n: int, every: bool) -> Iterator[dict[int, Fraction]]:
    """The extreme points a of {a ≥ 0 : Σ a_x x = (1, …, 1)}, up to permutations."""
    if n <= PROVED:
        yield from _of_bases(different_bases(n))
    elif every:
        yield from _listed(n)
    else:
        yield from (_blocks(sizes) for sizes in _partitions(n, n))


def _listed(n: int) -> Iterator[dict[int, Fraction]]:
    """The same from all bases at one q, since they are those at every q: minutes for seven bits."""
    known: set[bytes] = set()
    for batch in all_bases(n, float(RARE), float(RARE) / 2**10):
        names, bases = one_of_each_kind(batch, n)
        new = [k for k, name in enumerate(names) if name not in known]
        known.update(names)
        yield from _of_bases(bases.part(np.array(new, dtype=np.int64)))


def _of_bases(bases: Bases) -> Iterator[dict[int, Fraction]]:
    parts = (bases.points.tolist(), bases.start.tolist(), bases.slope.tolist(), bases.det.tolist())
    for points, start, slope, det in zip(*parts, strict=True):
        if 0 in points and all(x == 0 or (s == 0 and r >= 0) for x, s, r in zip(points, start, slope, strict=True)):
            yield {x: Fraction(int(r), int(det)) for x, r in zip(points, slope, strict=True) if x and r}


def _partitions(n: int, largest: int) -> Iterator[list[int]]:
    if n == 0:
        yield []
    for first in range(min(n, largest), 0, -1):
        yield from ([first, *rest] for rest in _partitions(n - first, first))


def _blocks(sizes: Sequence[int]) -> dict[int, Fraction]:
    """Samples cut into blocks of these sizes: in each block all are 1."""
    done, a = 0, {}
    for size in sizes:
        a[((1 << size) - 1) << done] = Fraction(1)
        done += size
    return a


def solve_rare(n: int, q: Fraction, prior: Sequence[Fraction], every: bool = False) -> OnTypes:
    """The best mixture of orbits for n bits of mean q < 1/n, when `prior[j]` > 0 is the probability of j ones.

    With `every`, of all orbits, and so proved, also for more than `PROVED` bits.

    >>> q = Fraction(1, 10**40)
    >>> answer = solve_rare(2, q, [(1 - q) ** 2, 2 * q * (1 - q), q**2])
    >>> [(orbit.kind, u) for orbit, u in answer.weights] == [
    ...     (((0, 1 - q), (2, q)), q), (((0, 1 - 2 * q), (1, q), (1, q)), 1 - q)]
    True
    """
    orbits = rare_orbits(n, q, every)
    precision = bits_for(q)
    with flint.ctx.workprec(precision):
        entropies = [entropy_ball(orbit.masses.values()) for orbit in orbits]
        cost = [(exact_lower(h) + exact_upper(h)) / 2 for h in entropies]
        mixture = best_exact_weights(prior, [orbit.types() for orbit in orbits], cost, list(range(2, n + 1)))
        grid = 1 << (precision - SPARE)
        pi = tuple(Fraction(round(x * grid), grid) for x in mixture.multipliers)
        slack = [h - _product(pi, orbit) for h, orbit in zip(entropies, orbits, strict=True)]
        least = min(exact_upper(x) for x in slack) + Fraction(SPARE, grid)
        tight = tuple(orbit for orbit, x in zip(orbits, slack, strict=True) if exact_lower(x) <= least)
    return OnTypes(n, tuple((orbits[k], u) for k, u in mixture.weights.items()), pi, tight, every or n <= PROVED)


def _product(pi: Sequence[Fraction], orbit: Orbit) -> flint.arb:
    return ball_of(sum((pi[j] * mass for j, mass in orbit.types().items()), Fraction(0)))


def rare_bound(n: int, q: Fraction, prior: Sequence[Fraction]) -> flint.arb:
    """What H(Xⁿ|Y) is at least, in bits, for n bits of mean q ≤ 1/n, when `prior[j]` is the probability of j ones."""
    precision = bits_for(q)
    with flint.ctx.workprec(precision):
        total = flint.arb(0)
        for j in range(1, n + 1):
            ones = q * Fraction(n, j)
            phi = entropy_ball([1 - ones]) - ball_of(ones) * ball_of(q).log() / flint.arb(2).log()
            total += ball_of(j * prior[j] / (n * q)) * phi
        return total
