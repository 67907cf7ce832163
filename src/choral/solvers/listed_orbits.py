"""Self-disclosure of exchangeable bits where orbits of extreme points can be listed: the program on types, in fractions.

Up to `PROVED` bits every orbit is listed (`cube_bases.py`), one more on request. The program over them is solved in
fractions, with entropies as balls, so its optimum is that of the problem whatever the mean q is: what is disclosed where bits
are rarely 1 is of the order of q² log 1/q, below H(Xⁿ) by a factor q, and q may be far below the reach of floats.

**Where bits are rare the extreme points do not depend on q.** Let q < 1/n. A point t of S has Σ_x t_x |x| = nq < 1, so it has
mass on x = 0. On a basis {0, x_1 … x_n} the equations Σ t_x x = (q, …, q) give the other masses, proportional to q. So t is
1 - qA at 0 and q·a_x elsewhere, with A = Σ a_x ≤ Σ a_x |x| = n, and a is an extreme point of {a ≥ 0 : Σ_x a_x x = (1, …, 1)}:
the same for every such q, and read off at one of them. (These are the minimal balanced collections of game theory.) Of more
bits than can be listed, those are taken in which a is 0 or 1, the partitions of the samples: a channel, but no proof.

**A bound in closed form** (`rare_bound`). Given any code y, let t be the law of Xⁿ, a_x = t_x/q for x ≠ 0, and A = Σ a_x.
Some x_i is 1 and P(X_i = 1 | y) = q, so a_x ≤ 1, and with η(u) = -u log u

    H(t) = η(1-qA) + qA log 1/q + q Σ η(a_x) ≥ φ(A) = η(1-qA) + qA log 1/q.

Let w_j be the share Σ_{|x|=j} j a_x / n: they sum to 1, and A = Σ_j w_j n/j. φ is concave, so φ(A) ≥ Σ_j w_j φ(n/j) as long
as n ≤ 1/q. On average over y, w_j is j p_j / nq, with p_j the probability of j ones. So H(Xⁿ|Y) ≥ Σ_j (j p_j / nq) φ(n/j). ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import flint
import numpy as np

from choral.describe.ball_arithmetic import ball_of, exact_lower, exact_upper
from choral.describe.entropy import entropy_ball
from choral.solvers.cube_bases import all_bases, one_of_each_kind
from choral.solvers.mixture import best_exact_weights
from choral.solvers.self_orbits import NEAREST, OnTypes, Orbit

PROVED = 6
"""Up to so many bits every orbit is listed unasked: in a second or two."""
RARE = Fraction(1, 100)
"""Below this mean floats, which screen bases, cannot tell masses from zero; orbits are read off at this one."""
BITS = 256
SPARE = 100
"""Bits that may be lost in sums; what is rounded is known to as many bits beyond the value's own."""


def bits_for(q: Fraction) -> int:
    """Precision at which a value of the order of q² is known well: at least two hundred bits of it."""
    return BITS + 2 * (q.denominator // q.numerator).bit_length()


def listed_orbits(
    n: int, q: Fraction, every: bool = False, should_stop: Callable[[], bool] | None = None
) -> list[Orbit]:
    """An extreme point of every orbit; where bits are rare and more than `PROVED`, unless `every`, those that are partitions.

    >>> [len(listed_orbits(n, Fraction(1, 1000))) for n in (3, 4, 5, 7)]
    [4, 10, 45, 15]
    >>> [len(listed_orbits(n, Fraction(3, 10))) for n in (3, 4, 5)]
    [4, 12, 68]
    """
    if 2 * q > 1:
        return [orbit.flipped(n) for orbit in listed_orbits(n, 1 - q, every, should_stop)]
    if q > RARE:
        return list(_at(n, q, should_stop))
    collections = _balanced(n) if every or n <= PROVED else [_blocks(sizes) for sizes in _partitions(n, n)]
    return [
        Orbit({0: 1 - q * sum(a.values()), **{point: q * share for point, share in a.items()}}) for a in collections
    ]


def _at(n: int, q: Fraction, should_stop: Callable[[], bool] | None = None) -> Iterator[Orbit]:
    """One of each kind at this mean: floats screen the bases, masses are in fractions."""
    known: set[bytes] = set()
    kinds = set()
    for batch in all_bases(n, float(q), NEAREST, should_stop):
        names, bases = one_of_each_kind(batch, n)
        bases = bases.part(np.array([k for k, name in enumerate(names) if name not in known], dtype=np.int64))
        known.update(names)
        start, slope, det = (x.astype(np.int64).astype(object) for x in (bases.start, bases.slope, bases.det))
        shares = start * q.denominator + slope * q.numerator
        for k in np.flatnonzero((shares >= 0).all(axis=1)).tolist():
            whole = det[k] * q.denominator
            common = math.gcd(whole, *shares[k])
            masses = {x: m // common for x, m in zip(bases.points[k].tolist(), shares[k], strict=True) if m}
            kind = whole // common, *sorted((x.bit_count(), m) for x, m in masses.items())
            if kind not in kinds:
                kinds.add(kind)
                yield Orbit({x: Fraction(m, whole // common) for x, m in masses.items()})


@lru_cache(maxsize=2)
def _balanced(n: int) -> list[dict[int, Fraction]]:
    """The extreme points a of {a ≥ 0 : Σ a_x x = (1, …, 1)}, up to permutations."""
    return [{x: mass / RARE for x, mass in orbit.masses.items() if x} for orbit in _at(n, RARE)]


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


def solve_listed(
    n: int,
    q: Fraction,
    prior: Sequence[Fraction],
    every: bool = False,
    should_stop: Callable[[], bool] | None = None,
) -> OnTypes:
    """The best mixture of orbits for n bits of mean q, when `prior[j]` > 0 is the probability of j ones.

    With `every`, of all orbits, and so proved, also for more than `PROVED` bits.

    >>> q = Fraction(1, 10**40)
    >>> answer = solve_listed(2, q, [(1 - q) ** 2, 2 * q * (1 - q), q**2])
    >>> [(orbit.kind, u) for orbit, u in answer.weights] == [
    ...     (((0, 1 - q), (2, q)), q), (((0, 1 - 2 * q), (1, q), (1, q)), 1 - q)]
    True
    """
    orbits = listed_orbits(n, q, every, should_stop)
    precision = bits_for(min(q, 1 - q))
    with flint.ctx.workprec(precision):
        entropies = [entropy_ball(orbit.masses.values()) for orbit in orbits]
        cost = [(exact_lower(h) + exact_upper(h)) / 2 for h in entropies]
        free = list(range(2, n + 1) if 2 * q <= 1 else range(n - 1))
        mixture = best_exact_weights(prior, [orbit.types() for orbit in orbits], cost, free)
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
