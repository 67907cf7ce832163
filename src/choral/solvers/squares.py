"""Squared error: chords of a parabola, refined where the mass goes, give a channel in floats and multipliers.

States have a prior and a mean m_s of the target, here moved and scaled to q_s in [0, 1]. -q² is replaced by its chords
between *knots*, ab - (a + b) q; their minimum lies below it, so the linear program over channels with one code per chord
bounds what can be explained, and its solution is a channel that exists. A code of mass μ at t costs μ (t - a)(b - t) more
than its chord says: cells where that is much are cut around t, so the gap closes quadratically.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.moments import Moments
from choral.problem.solution import Status
from choral.proofs.purpose import PurposeBound
from choral.solvers.lines.interior_point import InteriorPoint, repaired_bound
from choral.solvers.lines.thinning import thinned
from choral.solvers.rank import best_runs

Progress = Callable[[float, float, str], None]
KNOT_GRID = 2**40
"""Knots are rounded to this part of their range; the bound is computed for the rounded ones."""
FIRST_LINES = 16
LEVELS = 12
NARROW = 0.1
"""Half-width of a new cell around a code's mean, as a share of its cell."""
SPLIT = 0.02
"""Cells with this share of the largest error are cut."""
MOST_CELLS = 4_000_000
"""States times lines, at most."""
LP_SHARE = 0.1
"""Each linear program is solved to this share of what is still missing."""
CODES_SHARE = 0.1
"""Of the tolerance: what may be lost by joining codes that hardly differ."""
ROUNDS = 6
"""Times that few codes are improved, each by the tangents at their means."""


@dataclass(frozen=True)
class RoughSquares:
    """A channel in floats (one row per code, p(y | s)), the proof of its bound, and how it ended."""

    channel: Floats
    bound: PurposeBound
    how: str
    status: Status
    history: tuple[tuple[float, float], ...]


def squares_loss(mass: Floats, total: Floats) -> Floats:
    """-total² / mass: minus mass times the square of the mean."""
    return np.asarray(-(total**2) / np.where(mass > 0, mass, 1.0), dtype=np.float64)


@dataclass(frozen=True)
class SquaresByChords:
    """Stops at a gap of `tol` of the target's variance, or `rel_tol` of what is explained, or when told to."""

    tol: float = 1e-6
    rel_tol: float | None = None
    codes: int | None = None

    def solve(self, problem: Problem, progress: Progress, stopped: Callable[[], bool]) -> RoughSquares:
        """A nearly private channel and multipliers for chords over the means of all states, whatever stops it."""
        moments = Moments.of(problem)
        means = [Fraction(m, w) for m, w in zip(moments.first, problem.weights, strict=True)]
        low, high = min(means), max(means)
        width = high - low
        p = problem.prior / problem.prior.sum()
        q = np.array([float((m - low) / width) if width else 0.0 for m in means])
        rows, M = constraints(problem)
        unit = float(width**2 * moments.step**2)
        variance = float(moments.variance * moments.step**2)
        search = _Search(p, q, M, progress, unit)
        search.run(self.tol * variance, self.rel_tol or 0.0, stopped)
        z = thinned(search.z, p, M, lambda masses: float(squares_loss(masses.sum(axis=0), q @ masses).sum()))
        z = search.fewer(z, self.codes, CODES_SHARE * self.tol * variance / unit if unit else 0.0, stopped)
        grid = np.unique(np.rint(search.knots * KNOT_GRID).astype(np.int64)).tolist()
        kept = search.on(np.array(grid) / KNOT_GRID)
        exact = tuple(low + Fraction(k, KNOT_GRID) * width for k in grid)
        nu = tuple(tuple(Fraction(float(x)) * width**2 for x in row) for row in kept)
        how = f"{len(search.knots) - 1} chords of a parabola ({search.status.value})"
        return RoughSquares(
            (z / p[:, None]).T, PurposeBound(rows, nu, exact), how, search.status, tuple(search.history)
        )


class _Search:
    """The best channel and the best multipliers so far, in floats; values are in units of the squared range of the means."""

    def __init__(self, p: Floats, q: Floats, M: Floats, progress: Progress, unit: float) -> None:
        self.p, self.q, self.M, self.progress, self.unit = p, q, M, progress, unit
        self.mean = float(p @ q)
        self.z, self.value = p[:, None].copy(), 0.0
        self.knots, self.nu = np.array([0.0, 1.0]), np.zeros((1, M.shape[1]))
        self.bound = -repaired_bound(_chords(self.knots, q), p, M, self.nu) - self.mean**2
        self.status = Status.LEVEL_LIMIT
        self.history: list[tuple[float, float]] = []

    @property
    def gap(self) -> float:
        return self.bound - self.value

    def run(self, tol: float, rel_tol: float, stopped: Callable[[], bool]) -> None:
        """Refine until the gap is small enough, or something stops it. The tolerance is in the unit of the utility."""
        if self.unit == 0.0:
            self.bound, self.status = 0.0, Status.OPTIMAL
            return
        knots = np.linspace(0.0, 1.0, FIRST_LINES + 1)
        for level in range(LEVELS):
            target = max(tol / self.unit, rel_tol * self.value)
            if self.gap <= target or stopped() or len(self.p) * len(knots) > MOST_CELLS:
                break
            accuracy = max(LP_SHARE * target, LP_SHARE * self.gap * (level > 0), 1e-13)
            found = replace(InteriorPoint(), tolerance=accuracy).solve(
                _chords(knots, self.q), self.p, self.M, should_stop=stopped
            )
            mass, total = found.z.sum(axis=0), self.q @ found.z
            self._keep(knots, found.z, found.nu, found.dual, mass, total)
            self.progress(self.value * self.unit, self.bound * self.unit, f"{len(knots) - 1} chords done")
            knots = _cut(knots, mass, total / np.where(mass > 0, mass, 1.0))
        if self.gap <= max(tol / self.unit, rel_tol * self.value):
            self.status = Status.OPTIMAL
        elif stopped():
            self.status = Status.STOPPED

    def _keep(self, knots: Floats, z: Floats, nu: Floats, dual: float, mass: Floats, total: Floats) -> None:
        value, bound = float(-squares_loss(mass, total).sum()) - self.mean**2, -dual - self.mean**2
        if value > self.value:
            self.value, self.z = value, z
        if bound < self.bound:
            self.bound, self.knots, self.nu = bound, knots, nu
        self.history.append((self.value * self.unit, self.bound * self.unit))

    def on(self, knots: Floats) -> Floats:
        """The multipliers for other knots, near those that they were found for: linear in the slope of a chord."""
        slopes, others = (x[1:] + x[:-1] for x in (self.knots, knots))
        columns = [np.interp(others, slopes, column) for column in self.nu.T]
        return np.array(columns).reshape(self.nu.shape[1], len(knots) - 1).T

    def fewer(self, z: Floats, most: int | None, spare: float, stopped: Callable[[], bool]) -> Floats:
        """Codes joined with their neighbours where that loses at most `spare`; or `most` codes, improved by tangents."""
        z = _joined(z, self.q, most or z.shape[1], 0.0 if most else spare)
        if most is None or most == 1 or stopped():
            return z
        value = float(squares_loss(z.sum(axis=0), self.q @ z).sum())
        for _ in range(ROUNDS):
            t = (self.q @ z) / z.sum(axis=0)
            again = InteriorPoint(tolerance=1e-12).solve(t**2 - 2 * np.outer(self.q, t), self.p, self.M).z
            found = float(squares_loss(again.sum(axis=0), self.q @ again).sum())
            if found > value - 1e-13 or stopped():
                break
            z, value = again, found
        return z


def _chords(knots: Floats, q: Floats) -> Floats:
    """C[s, l]: the chord of -q² over knots[l:l+2], at q_s."""
    a, b = knots[:-1], knots[1:]
    return np.asarray(a * b - np.outer(q, a + b), dtype=np.float64)


def _cut(knots: Floats, mass: Floats, t: Floats) -> Floats:
    """The knots with two more around the mean of every code that costs much more than its chord says."""
    a, b = knots[:-1], knots[1:]
    error = mass * np.maximum((t - a) * (b - t), 0.0)
    cut = error > SPLIT * error.max()
    step = NARROW * (b - a)
    new = np.concatenate([(t - step)[cut], (t + step)[cut]])
    inside = (
        np.concatenate([(a + 0.2 * step)[cut], (a + 0.2 * step)[cut]]),
        np.concatenate([(b - 0.2 * step)[cut], (b - 0.2 * step)[cut]]),
    )
    return np.unique(np.concatenate([knots, new[(new > inside[0]) & (new < inside[1])]]))


def _joined(z: Floats, q: Floats, most: int, spare: float) -> Floats:
    """Neighbours in the order of their means joined, at most `most` and no more than are needed to lose `spare`."""
    mass = z.sum(axis=0)
    z, mass = z[:, mass > 0], mass[mass > 0]
    t = (q @ z) / mass
    order = np.argsort(t, kind="stable")
    starts = best_runs(mass[order], t[order], squares_loss, min(most, len(order)), spare)
    return np.add.reduceat(z[:, order], starts, axis=1)
