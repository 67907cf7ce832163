"""Squared error: chords of a parabola, refined where the mass goes, give a channel in floats and multipliers.

States have a prior and a mean m_s of the target, here moved and scaled to q_s in [0, 1]; -q² is replaced by its chords.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.moments import Moments
from choral.proofs.purpose import PurposeBound
from choral.solvers.lines.chords import SQUARE, Chords, interpolated_multipliers
from choral.solvers.lines.refinement import Aim, Equations, enclosed
from choral.solvers.lines.sandwich import Rough, shares
from choral.solvers.lines.tangents import Tangents
from choral.solvers.lines.thinning import thinned
from choral.solvers.runs import best_runs

KNOT_GRID = 2**40
"""Knots are rounded to this part of their range; the bound is computed for the rounded ones."""
CODES_SHARE = 0.1
"""Of the tolerance: what may be lost by joining codes that hardly differ."""


def squares_loss(mass: Floats, total: Floats) -> Floats:
    """-total² / mass: minus mass times the square of the mean."""
    return np.asarray(-(total**2) / np.where(mass > 0, mass, 1.0), dtype=np.float64)


def cost_of(z: Floats, q: Floats) -> float:
    """Minus the squares of the means of codes, by their masses p(s, y), a column each."""
    return float(squares_loss(z.sum(axis=0), q @ z).sum())


def by_chords(problem: Problem, aim: Aim, codes: int | None) -> Rough[PurposeBound]:
    """A nearly private channel and multipliers for chords over the means of all states, whatever stops it.

    It stops at a gap of `tol` of the target's variance, or `rel_tol` of what is explained, or when told to.
    """
    moments = Moments.of(problem)
    means = [Fraction(m, w) for m, w in zip(moments.first, problem.weights, strict=True)]
    low, high = min(means), max(means)
    width = high - low
    p = problem.prior / problem.prior.sum()
    q = np.array([float((m - low) / width) if width else 0.0 for m in means])
    rows, M = constraints(problem)
    unit = float(width**2 * moments.step**2)
    variance = float(moments.variance * moments.step**2)
    spare = aim.tol * variance / unit if unit else 1.0

    def say(value: float, bound: float, message: str) -> None:
        if aim.progress is not None:
            aim.progress(value * unit, bound * unit, message)

    cells = Chords.over(SQUARE, p, M, q, ends=(0.0, 1.0))
    found = enclosed(cells, Equations(p, M), replace(aim, tol=spare, progress=say))
    z = thinned(found.z, p, M, lambda masses: cost_of(masses, q))
    z = _fewer(p, q, M, z, codes, CODES_SHARE * spare, aim.stopped)
    knots = found.cells.knots
    grid = np.unique(np.rint(knots * KNOT_GRID).astype(np.int64)).tolist()
    kept = interpolated_multipliers(knots, found.nu, np.array(grid) / KNOT_GRID, SQUARE)
    exact = tuple(low + Fraction(k, KNOT_GRID) * width for k in grid)
    nu = tuple(tuple(Fraction(float(x)) * width**2 for x in row) for row in kept)
    how = f"{found.lines} chords of a parabola ({found.status.value})"
    history = tuple((low * unit, high * unit) for low, high in found.history)
    return Rough(shares(z, p), PurposeBound(rows, nu, exact), how, found.status, history)


def _fewer(
    p: Floats, q: Floats, M: Floats, z: Floats, most: int | None, spare: float, stopped: Callable[[], bool]
) -> Floats:
    """Codes joined with their neighbours where that loses at most `spare`; or `most` codes, improved by tangents."""
    z = _joined(z, q, most or z.shape[1], 0.0 if most else spare)
    if most is None or z.shape[1] == 1:
        return z

    def lines(z: Floats) -> Floats:
        t = (q @ z) / z.sum(axis=0)
        return np.asarray(t**2 - 2 * np.outer(q, t), dtype=np.float64)

    return Tangents(Equations(p, M), lines, lambda z: cost_of(z, q)).improved(z, stopped)


def _joined(z: Floats, q: Floats, most: int, spare: float) -> Floats:
    """Neighbours in the order of their means joined, at most `most` and no more than are needed to lose `spare`."""
    mass = z.sum(axis=0)
    z, mass = z[:, mass > 0], mass[mass > 0]
    t = (q @ z) / mass
    order = np.argsort(t, kind="stable")
    starts = best_runs(mass[order], t[order], squares_loss, min(most, len(order)), spare)
    return np.add.reduceat(z[:, order], starts, axis=1)
