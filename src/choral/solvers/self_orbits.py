"""Self-disclosure of exchangeable bits: a linear program on types, with a column per orbit of extreme points.

The law of n bits, all 2ⁿ states of positive probability, does not change when the bits are permuted; each bit is protected
alone, and all of them are the target. The *type* of a state is its number of ones.

**Types suffice for the program.** With t also its permuted images are extreme points, with the same entropy. Averaging the
multipliers π of the mixing program over permutations keeps them feasible and keeps π·p; so π may depend on the type alone,
and the program is: weights u on orbits so that the masses of the types come out right, Σ u H(t) least. It has n + 1 rows.
An optimal mixture of orbits, each image with the same weight, is an optimal channel.

**Pricing.** Up to `PROVED` bits every orbit is in `different_bases`, so the least slack is known and the optimum is
proved. Above, extreme points of small slack are looked for by best-improvement pivoting from random bases: the channel is
good, and the bound is another one. Floats do the pricing; where bits are rarely 1, `rare_bits.py` does it in fractions.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import comb

import flint
import numpy as np

from choral.describe.entropy import entropies, entropy_of_positive, minus_x_log_x
from choral.errors import SolverError
from choral.problem.kernel import Floats, Index
from choral.problem.solution import near_float
from choral.solvers.cube_bases import Bases, Cube, all_bases, different_bases, one_of_each_kind, weights_of
from choral.solvers.mixture import best_weights

PROVED = 6
"""Up to so many bits every extreme point is priced."""
NEAREST = 1e-9
"""Slacks within this of the smallest are recomputed exactly (further for large multipliers: `near_least`)."""
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

    With `proved`, `tight` lists an extreme point of every orbit whose slack H(t) - π·t is within NEAREST of the least.
    """

    n: int
    weights: tuple[tuple[Orbit, Fraction], ...]
    multipliers: tuple[Fraction, ...]
    tight: tuple[Orbit, ...]
    proved: bool

    def flipped(self) -> OnTypes:
        """The same with ones for zeros."""
        weights = tuple((orbit.flipped(self.n), u) for orbit, u in self.weights)
        tight = tuple(orbit.flipped(self.n) for orbit in self.tight)
        return OnTypes(self.n, weights, self.multipliers[::-1], tight, self.proved)


def solve_on_types(
    n: int, q: Fraction, prior: Sequence[Fraction], should_stop: Callable[[], bool] | None = None
) -> OnTypes:
    """The best mixture of orbits for n bits of mean q, when `prior[j]` is the probability of j ones.

    >>> law = [Fraction(7, 10) ** 4, *(Fraction(0),) * 3, Fraction(3, 10) ** 4]
    >>> law[1:4] = [c * Fraction(3, 10) ** k * Fraction(7, 10) ** (4 - k) for k, c in ((1, 4), (2, 6), (3, 4))]
    >>> answer = solve_on_types(4, Fraction(3, 10), law)
    >>> answer.proved, sum(u for _, u in answer.weights)
    (True, Fraction(1, 1))
    """
    orbits = list(_peeled(n, prior, random.Random(0)))
    search = _Descents(n, q) if n > PROVED else None
    quiet, known = 0, {orbit.kind for orbit in orbits}
    while True:
        points = [orbit.types() for orbit in orbits]
        cost = np.array([orbit.entropy for orbit in orbits])
        mixture = best_weights(prior, points, cost)
        used = tuple((orbits[k], u) for k, u in mixture.weights.items())
        pi = np.array([near_float(x) for x in mixture.multipliers])
        slack = cost - np.array([sum(pi[j] * float(m) for j, m in point.items()) for point in points])
        if search is None:
            new, least = _priced(different_bases(n, should_stop), n, q, pi, float(slack.min()))
        else:
            new, least = search.found(pi)
        new = [orbit for orbit in new if orbit.kind not in known]
        quiet = quiet + 1 if least >= slack.min() - SETTLED else 0
        done = quiet > QUIET_ROUNDS if search is not None else quiet > 0 or not new
        if done or (should_stop is not None and should_stop()):
            break
        known |= {orbit.kind for orbit in new}
        orbits += new
    if search is not None:
        return OnTypes(n, used, mixture.multipliers, (), False)
    return OnTypes(n, used, mixture.multipliers, near_least([different_bases(n)], n, q, pi), True)


def near_least(batches: Iterable[Bases], n: int, q: Fraction, pi: Floats) -> tuple[Orbit, ...]:
    """An extreme point for every basis whose slack H(t) - π·t is within a margin of the least over these bases.

    Floats screen with that margin, in the masses too; whether a basis near the least has masses ≥ 0 is decided in
    fractions. The masses are off by less than 1e-13, so a slack is by less than 1e-12·(1 + max |π|): the margin is wider.
    """
    margin = max(NEAREST, 1e-12 * (1 + float(np.abs(pi).max())))
    kept: dict[bytes, tuple[float, Orbit | None]] = {}
    least = np.inf
    for batch in batches:
        near = np.flatnonzero(_slacks(batch, n, float(q), pi) <= least + margin)
        names, bases = one_of_each_kind(batch.part(near), n)
        slack = _slacks(bases, n, float(q), pi)
        for k in np.argsort(slack).tolist():
            if slack[k] > least + margin:
                break
            if names[k] not in kept:
                orbit = _orbit(bases, k, q)
                kept[names[k]] = float(slack[k]), orbit
                least = min(least, float(slack[k])) if orbit is not None else least
    return tuple(orbit for slack, orbit in kept.values() if orbit is not None and slack <= least + margin)


def proof_by_all_bases(answer: OnTypes, q: Fraction) -> OnTypes:
    """The same answer with its least slack known, by listing every basis at q: about 10⁹ candidates for seven bits."""
    pi = np.array([near_float(x) for x in answer.multipliers])
    tight = near_least(all_bases(answer.n, float(q), NEAREST), answer.n, q, pi)
    return OnTypes(answer.n, answer.weights, answer.multipliers, tight, True)


def _slacks(bases: Bases, n: int, q: float, pi: Floats) -> Floats:
    """H(t) - π·t of every basis, infinite where a mass is negative beyond doubt."""
    t = bases.masses(q)
    outside = (t < -NEAREST).any(axis=1)
    t = np.clip(t, 0.0, None)
    slack = (minus_x_log_x(t) - pi[weights_of(n)[bases.points]] * t).sum(axis=1)
    slack[outside] = np.inf
    return np.asarray(slack)


def _orbit(bases: Bases, k: int, q: Fraction) -> Orbit | None:
    """The extreme point of a basis in fractions; None when a mass is negative."""
    det = int(bases.det[k])
    masses = {}
    for point, start, slope in zip(
        bases.points[k].tolist(), bases.start[k].tolist(), bases.slope[k].tolist(), strict=True
    ):
        mass = (int(start) + int(slope) * q) / det
        if mass < 0:
            return None
        if mass:
            masses[point] = mass
    return Orbit(masses)


def _priced(bases: Bases, n: int, q: Fraction, pi: Floats, settled: float) -> tuple[list[Orbit], float]:
    """Some extreme points of least slack, none above `settled`, and the least slack.

    Near a q at which masses vanish, many bases of small slack have a mass that is barely negative: they are passed over.
    """
    slack = _slacks(bases, n, float(q), pi)
    new, least = [], np.inf
    for k in np.argsort(slack).tolist():
        orbit = _orbit(bases, k, q)
        if orbit is not None:
            least = min(least, float(slack[k]))
            new.append(orbit)
        if len(new) == AT_ONCE or slack[k] >= settled:
            break
    return new, least


def _vertex(columns: list[list[int]], masses: dict[int, Fraction], draw: random.Random) -> dict[int, Fraction]:
    """An extreme point on the support of a point of S, exactly: while columns are dependent, mass moves until one is empty.

    Along a dependency Σ_k v_k column_k = 0 nothing but the masses changes; v has entries of both signs, since columns
    begin with a one.
    """
    waiting = list(masses)
    draw.shuffle(waiting)
    masses, kept = dict(masses), list[int]()
    while waiting:
        kept.append(waiting.pop())
        rows = [[columns[k][i] for k in kept] for i in range(len(columns[0]))]
        reduced, _, rank = flint.fmpz_mat(rows).rref()
        if rank == len(kept):
            continue
        # The last column is the first that depends on others: reduced = [D | d], D a multiple of the identity.
        move = {k: Fraction(-int(reduced[i, rank]), int(reduced[i, i])) for i, k in enumerate(kept[:rank])}
        move[kept[-1]] = Fraction(1)
        if draw.random() < 0.5:
            move = {k: -v for k, v in move.items()}
        step = min(masses[k] / -v for k, v in move.items() if v < 0)
        for k, v in move.items():
            masses[k] += step * v
        kept = [k for k in kept if masses[k]]
    return {k: masses[k] for k in kept}


def _peeled(n: int, prior: Sequence[Fraction], draw: random.Random) -> Iterator[Orbit]:
    """Orbits of which the prior is a mixture: take off as much as possible of one, then of another on what is left.

    What is left has the same marginals, so it always holds another extreme point; a type is used up each time.
    """
    cube = Cube(n)
    columns = cube.columns.astype(int).tolist()
    weights = weights_of(n)[cube.points].tolist()
    left = list(prior)
    while any(left):
        total = sum(left)
        masses = {k: left[j] / (comb(n, j) * total) for k, j in enumerate(weights) if left[j]}
        vertex = _vertex(columns, masses, draw)
        orbit = Orbit({int(cube.points[k]): mass for k, mass in vertex.items()})
        yield orbit
        types = orbit.types()
        share = min(left[j] / mass for j, mass in types.items())
        left = [x - share * types.get(j, 0) for j, x in enumerate(left)]


class _Supports:
    """Where vertices of {t ≥ 0 : columnsᵀ t = right} have mass, as floats see it."""

    def __init__(self, columns: Floats) -> None:
        from choral.solvers.highs import kept  # few problems come here

        many, rows = columns.shape
        self.model = kept(columns.T, np.zeros(many), np.zeros(rows))
        self.model.setOptionValue("primal_feasibility_tolerance", 1e-10)
        self.columns = np.arange(many, dtype=np.int32)

    def of_least(self, cost: Floats, right: Floats) -> Index:
        """The support of one of least cost."""
        self.model.changeColsCost(len(self.columns), self.columns, cost)
        for i, value in enumerate(right.tolist()):
            self.model.changeRowBounds(i, value, value)
        self.model.run()
        status = self.model.modelStatusToString(self.model.getModelStatus())
        if status != "Optimal":
            raise SolverError(f"No extreme point was found: {status}.", "This is a defect; please report it.")
        return np.flatnonzero(np.array(self.model.getSolution().col_value) > NEAREST)


def _exact_point(cube: Cube, places: Index, q: Fraction) -> Orbit:
    """The point of S on these independent columns, in fractions."""
    columns = cube.columns[places].astype(int)
    rows = [[*map(flint.fmpq, line), flint.fmpq(1)] for line in columns.T[:1].tolist()]
    mean = flint.fmpq(q.numerator, q.denominator)
    rows += [[*map(flint.fmpq, line), mean] for line in columns.T[1:].tolist()]
    reduced, rank = flint.fmpq_mat(len(rows), len(rows[0]), [x for row in rows for x in row]).rref()
    masses = [Fraction(int(reduced[i, len(places)].p), int(reduced[i, len(places)].q)) for i in range(len(places))]
    if rank != len(places) or min(masses) <= 0:
        raise SolverError("An extreme point of floats is none in fractions.", "This is a defect; please report it.")
    return Orbit(dict(zip(cube.points[places].tolist(), masses, strict=True)))


class _Descents:
    """Extreme points of small slack, by moving from a random basis to its best neighbour until none is better.

    For each start the right side is moved a little, in a direction of its own, so that bases are not degenerate and
    different ones are met; what is found is taken in fractions.
    """

    def __init__(self, n: int, q: Fraction) -> None:
        self.n, self.q = n, q
        self.cube = Cube(n)
        self.columns = self.cube.columns
        self.supports = _Supports(self.columns)
        self.weights = weights_of(n)[self.cube.points]
        self.draw = np.random.default_rng(0)
        self.right = np.array([1.0, *[float(q)] * n])

    def found(self, pi: Floats) -> tuple[list[Orbit], float]:
        """New extreme points, least slack first, and that slack."""
        price = pi[self.weights]
        ends: dict[tuple[tuple[int, Fraction], ...], tuple[float, Orbit]] = {}
        for _ in range(STARTS.get(self.n, max(STARTS.values()))):
            moved = self.right.copy()
            moved[1:] *= 1 + MOVED * self.draw.standard_normal(self.n)
            start = self.supports.of_least(self.draw.random(len(self.columns)), moved)
            basis = self._descended(self._completed(start), moved, price)
            orbit = self._exact(basis)
            if orbit is not None:
                t = np.array([float(m) for m in orbit.masses.values()])
                slack = orbit.entropy - t @ pi[[p.bit_count() for p in orbit.masses]]
                ends.setdefault(orbit.kind, (float(slack), orbit))
        ranked = sorted(ends.values(), key=lambda end: end[0])[:AT_ONCE]
        return [orbit for _, orbit in ranked], ranked[0][0] if ranked else np.inf

    def _completed(self, places: Index) -> Index:
        """Independent columns with others that make them a basis."""
        basis = list(places)
        for j in self.draw.permutation(len(self.columns)).tolist():
            if len(basis) < self.n + 1 and np.linalg.matrix_rank(self.columns[[*basis, j]]) > len(basis):
                basis.append(j)
        return np.array(basis)

    def _exact(self, basis: Index) -> Orbit | None:
        t = np.linalg.solve(self.columns[basis].T, self.right)
        if t.min() < -NEAREST:
            return None
        try:
            return _exact_point(self.cube, basis[t > NEAREST], self.q)
        except SolverError:
            return None

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
