"""Self-disclosure of exchangeable bits: a linear program on types, with a column per orbit of extreme points.

The law of n bits, all 2ⁿ states of positive probability, does not change when the bits are permuted; each bit is protected
alone, and all of them are the target. The *type* of a state is its number of ones.

**Types suffice for the program.** With t also its permuted images are extreme points, with the same entropy. Averaging the
multipliers π of the mixing program over permutations keeps them feasible and keeps π·p; so π may depend on the type alone,
and the program is: weights u on orbits so that the masses of the types come out right, Σ u H(t) least. It has n + 1 rows.
An optimal mixture of orbits, each image with the same weight, is an optimal channel.

**Pricing.** Where every orbit can be listed the program has them all (`listed_orbits.py`). Of more bits, extreme points of
small slack H(t) - π·t are looked for here by best-improvement pivoting from random bases, in floats: the channel is good, and
the bound is another one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import comb

import flint
import numpy as np

from choral.describe.entropy import entropies, entropy_of_positive, minus_x_log_x
from choral.problem.kernel import Floats, Index
from choral.problem.solution import near_float
from choral.solvers.cube_bases import Cube, weights_of
from choral.solvers.highs import FINEST, basic, kept
from choral.solvers.mixture import best_weights

NEAREST = 1e-9
"""Masses in floats that may be zero."""
SETTLED = 1e-12
"""A slack above minus this ends the pricing."""
AT_ONCE = 40
STARTS = {7: 60, 8: 80, 9: 100}
QUIET_ROUNDS = 2
MOVED = 1e-5


@dataclass(frozen=True)
class Orbit:
    """One extreme point of an orbit: masses on points of the cube, as numbers whose bits are the samples."""

    masses: Mapping[int, Fraction]

    def types(self) -> dict[int, Fraction]:
        """The mass of each number of ones."""
        sums: dict[int, Fraction] = {}
        for point, mass in self.masses.items():
            ones = point.bit_count()
            sums[ones] = sums.get(ones, Fraction(0)) + mass
        return sums

    @property
    def entropy(self) -> float:
        """In bits, in floats."""
        return entropy_of_positive(np.array([m.numerator / m.denominator for m in self.masses.values()]))

    @property
    def kind(self) -> tuple[tuple[int, Fraction], ...]:
        """What the program knows of it: masses, each on a number of ones."""
        return tuple(sorted((point.bit_count(), mass) for point, mass in self.masses.items()))

    def flipped(self, n: int) -> Orbit:
        """The same with ones for zeros."""
        return Orbit({(1 << n) - 1 - point: mass for point, mass in self.masses.items()})

    def images(self, n: int, most: int | None, draw: random.Random) -> list[dict[int, Fraction]]:
        """Its images under permutations, each once: all of them, or some, drawn at random."""
        found: dict[tuple[tuple[int, Fraction], ...], dict[int, Fraction]] = {}
        moves: Iterable[Sequence[int]] = permutations(range(n))
        if most is not None:
            moves = (draw.sample(range(n), n) for _ in range(most))
        for move in moves:
            image = {sum((point >> i & 1) << j for i, j in enumerate(move)): m for point, m in self.masses.items()}
            found.setdefault(tuple(sorted(image.items())), image)
        return list(found.values())


@dataclass(frozen=True)
class OnTypes:
    """The program's answer: orbits with exact weights, multipliers π by type, and what is known of the least slack.

    With `proved`, `tight` lists an extreme point of every orbit whose slack H(t) - π·t may be the least.
    """

    n: int
    weights: tuple[tuple[Orbit, Fraction], ...]
    multipliers: tuple[Fraction, ...]
    tight: tuple[Orbit, ...]
    proved: bool


def by_descents(
    n: int, q: Fraction, prior: Sequence[Fraction], should_stop: Callable[[], bool] | None = None
) -> OnTypes:
    """A good mixture of orbits for n bits of mean q, when `prior[j]` is the probability of j ones.

    It begins with the prior itself, which is private and no extreme point: what is found takes its place.
    """
    orbits = [Orbit({point: prior[j] / comb(n, j) for point, j in enumerate(weights_of(n).tolist())})]
    search, quiet, known = _Descents(n, q), 0, {orbit.kind for orbit in orbits}
    while True:
        points = [orbit.types() for orbit in orbits]
        cost = np.array([orbit.entropy for orbit in orbits])
        mixture = best_weights(prior, points, cost)
        pi = np.array([near_float(x) for x in mixture.multipliers])
        slack = cost - np.array([sum(pi[j] * float(m) for j, m in point.items()) for point in points])
        found, least = search.found(pi)
        new = [orbit for orbit in found if orbit.kind not in known]
        quiet = 0 if new and least < slack.min() - SETTLED else quiet + 1
        if quiet > QUIET_ROUNDS or (should_stop is not None and should_stop()):
            used = tuple((orbits[k], u) for k, u in mixture.weights.items())
            return OnTypes(n, used, mixture.multipliers, (), False)
        known |= {orbit.kind for orbit in new}
        orbits += new


class _Descents:
    """Extreme points of small slack, by moving from a random basis to its best neighbour until none is better.

    For each start the right side is moved a little, in a direction of its own, so that bases are not degenerate and
    different ones are met; what is found is taken in fractions.
    """

    def __init__(self, n: int, q: Fraction) -> None:
        self.n, self.q = n, q
        self.cube = Cube(n)
        self.columns = self.cube.columns
        self.weights = weights_of(n)[self.cube.points]
        self.draw = np.random.default_rng(0)
        self.starts = kept(self.columns.T, np.zeros(len(self.columns)), np.zeros(n + 1), FINEST)

    def found(self, pi: Floats) -> tuple[list[Orbit], float]:
        """New extreme points, least slack first, and that slack."""
        price = pi[self.weights]
        ends: dict[tuple[tuple[int, Fraction], ...], tuple[float, Orbit]] = {}
        for _ in range(STARTS.get(self.n, max(STARTS.values()))):
            moved = np.array([1.0, *float(self.q) * (1 + MOVED * self.draw.standard_normal(self.n))])
            places = np.arange(len(self.columns), dtype=np.int32)
            self.starts.changeColsCost(len(places), places, self.draw.random(len(places)))
            for i, value in enumerate(moved.tolist()):
                self.starts.changeRowBounds(i, value, value)
            basis = np.flatnonzero(basic(self.starts) > NEAREST)
            orbit = self._exact(self._descended(basis, moved, price)) if len(basis) == self.n + 1 else None
            if orbit is not None:
                t = np.array([float(m) for m in orbit.masses.values()])
                slack = orbit.entropy - t @ pi[[p.bit_count() for p in orbit.masses]]
                ends.setdefault(orbit.kind, (float(slack), orbit))
        ranked = sorted(ends.values(), key=lambda end: end[0])[:AT_ONCE]
        return [orbit for _, orbit in ranked], ranked[0][0] if ranked else np.inf

    def _exact(self, basis: Index) -> Orbit | None:
        """The extreme point of a basis, where the right side was not moved; None where a mass is negative there."""
        columns = flint.fmpz_mat(self.columns[basis].T.astype(int).tolist())
        mean = flint.fmpq(self.q.numerator, self.q.denominator)
        solved = flint.fmpq_mat(columns).solve(flint.fmpq_mat(self.n + 1, 1, [1, *[mean] * self.n])).entries()
        masses = {
            point: Fraction(int(m.p), int(m.q))
            for point, m in zip(self.cube.points[basis].tolist(), solved, strict=True)
        }
        return Orbit({point: m for point, m in masses.items() if m}) if min(masses.values()) >= 0 else None

    def _descended(self, basis: Index, right: Floats, price: Floats) -> Index:
        value = np.inf
        while True:
            inverse = np.linalg.inv(self.columns[basis].T)
            t, d = inverse @ right, inverse @ self.columns.T
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(d > NEAREST, np.maximum(t, 0.0)[:, None] / d, np.inf)
            step, row = ratio.min(axis=0), ratio.argmin(axis=0)
            moved = np.clip(t[:, None] - step * d, 0.0, None)
            moved[row, np.arange(len(step))] = 0.0
            h = entropies(moved, axis=0) + minus_x_log_x(step)
            slack = h - price[basis] @ moved - price * step
            slack[basis] = np.inf
            best = int(slack.argmin())
            if not slack[best] < value - SETTLED:
                return basis
            value = float(slack[best])
            basis = basis.copy()
            basis[row[best]] = best
