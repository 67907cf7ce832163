"""Squared error: chords of a parabola, refined where the mass goes, give a channel in floats and multipliers.

States have a prior and a mean m_s of the target, here moved and scaled to q_s in [0, 1]; -q² is replaced by its chords.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.moments import Moments
from choral.problem.solution import Status
from choral.proofs.purpose import PurposeBound
from choral.solvers.lines.chords import SQUARE, Chords, interpolated_multipliers
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.refinement import Aim, Equations, enclosed
from choral.solvers.lines.thinning import thinned
from choral.solvers.runs import best_runs

Progress = Callable[[float, float, str], None]
KNOT_GRID = 2**40
"""Knots are rounded to this part of their range; the bound is computed for the rounded ones."""
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
        spare = self.tol * variance / unit if unit else 1.0

        def say(value: float, bound: float, message: str) -> None:
            progress(value * unit, bound * unit, message)

        cells = Chords.over(SQUARE, p, M, q, ends=(0.0, 1.0))
        found = enclosed(cells, Equations(p, M), Aim(spare, self.rel_tol, say, stopped))
        z = thinned(found.z, p, M, lambda masses: float(squares_loss(masses.sum(axis=0), q @ masses).sum()))
        z = _fewer(p, q, M, z, self.codes, CODES_SHARE * spare, stopped)
        knots = found.cells.knots
        grid = np.unique(np.rint(knots * KNOT_GRID).astype(np.int64)).tolist()
        kept = interpolated_multipliers(knots, found.nu, np.array(grid) / KNOT_GRID, SQUARE)
        exact = tuple(low + Fraction(k, KNOT_GRID) * width for k in grid)
        nu = tuple(tuple(Fraction(float(x)) * width**2 for x in row) for row in kept)
        how = f"{found.lines} chords of a parabola ({found.status.value})"
        history = tuple((level.information * unit, level.upper_bound * unit) for level in found.history)
        return RoughSquares((z / p[:, None]).T, PurposeBound(rows, nu, exact), how, found.status, history)


def _fewer(
    p: Floats, q: Floats, M: Floats, z: Floats, most: int | None, spare: float, stopped: Callable[[], bool]
) -> Floats:
    """Codes joined with their neighbours where that loses at most `spare`; or `most` codes, improved by tangents."""
    z = _joined(z, q, most or z.shape[1], 0.0 if most else spare)
    if most is None or most == 1 or stopped():
        return z
    value = float(squares_loss(z.sum(axis=0), q @ z).sum())
    for _ in range(ROUNDS):
        t = (q @ z) / z.sum(axis=0)
        again = InteriorPoint(tolerance=1e-12).solve(t**2 - 2 * np.outer(q, t), p, M).z
        found = float(squares_loss(again.sum(axis=0), q @ again).sum())
        if found > value - 1e-13 or stopped():
            break
        z, value = again, found
    return z


def _joined(z: Floats, q: Floats, most: int, spare: float) -> Floats:
    """Neighbours in the order of their means joined, at most `most` and no more than are needed to lose `spare`."""
    mass = z.sum(axis=0)
    z, mass = z[:, mass > 0], mass[mass > 0]
    t = (q @ z) / mass
    order = np.argsort(t, kind="stable")
    starts = best_runs(mass[order], t[order], squares_loss, min(most, len(order)), spare)
    return np.add.reduceat(z[:, order], starts, axis=1)
