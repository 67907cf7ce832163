"""The sandwich LP for targets of two, three or four values: a channel in floats, and lines that prove a bound.

What comes out is rough: floats, private up to rounding. `choral.exact.repair` makes the channel private and
`choral.exact.lines` computes what the lines prove.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import LinesBound, Status
from choral.solvers.sandwich_binary import sandwich_binary
from choral.solvers.sandwich_simplex import conditional_entropy, sandwich_simplex
from choral.solvers.thinning import thinned

Progress = Callable[[float, float, str], None]
KNOT_GRID = 2**62
"""Knots are rounded to this grid for the certificate; the bound is computed for the rounded ones."""
MOST_VALUES = 4
"""Targets with more values need too many cells."""


@dataclass(frozen=True)
class Rough:
    """A channel in floats (one row per code, p(y | s)), lines for its bound, and how it ended."""

    channel: Floats
    bound: LinesBound
    how: str
    status: Status
    history: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Sandwich:
    """Lines below the entropy; stops at a gap of `tol`, or `rel_tol` of the information, or when told to."""

    tol: float = 1e-6
    rel_tol: float | None = None
    time_limit: float | None = None

    def solve(
        self, problem: Problem, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> Rough:
        """A nearly private channel and multipliers for lines that cover the simplex, whatever stops it."""
        rows, M = constraints(problem)
        prior = problem.prior / problem.prior.sum()
        posterior = problem.posterior()
        if len(problem.target.values) == 2:
            found = sandwich_binary(
                prior,
                M,
                posterior[1],
                tol=self.tol,
                rel_tol=self.rel_tol,
                time_limit=self.time_limit,
                progress=progress,
                should_stop=should_stop,
            )
            bound = _binary_lines(found.knots, found.nu, rows)
            z, status, lines = found.z, Status(found.status), len(found.knots) - 1
            history = tuple((level.information, level.upper_bound) for level in found.history)
        else:
            wide = sandwich_simplex(
                prior,
                M,
                posterior.T,
                tol=self.tol,
                rel_tol=self.rel_tol,
                time_limit=self.time_limit,
                progress=progress,
                should_stop=should_stop,
            )
            bound = _simplex_lines(wide.cells, wide.denominator, wide.nu, rows)
            z, status, lines = wide.z, Status(wide.status), len(wide.cells)
            history = tuple((level.information, level.upper_bound) for level in wide.history)
        z = thinned(z, prior, M, lambda masses: conditional_entropy(masses, posterior.T))
        if progress is not None and history:
            information = problem.entropy_of_target - conditional_entropy(z, posterior.T)
            progress(information, history[-1][1], f"{np.count_nonzero(z)} entries kept")
        return Rough(shares(z, prior), bound, f"sandwich with {lines} lines ({status.value})", status, history)


def shares(z: Floats, prior: Floats) -> Floats:
    """p(y | s), one row per code; a state too rare for floats takes the most likely code."""
    mass = z.sum(axis=1)
    common = np.eye(z.shape[1])[int(z.sum(axis=0).argmax())]
    rare = ~(mass > 0) | ~(prior > 0)
    safe = np.where(rare, 1.0, mass)
    return np.where(rare[:, None], common, z / safe[:, None]).T


def _binary_lines(knots: Floats, nu: Floats, rows: tuple[int, ...]) -> LinesBound:
    """Cells between knots, and two more out to 0 and 1 with their neighbours' multipliers.

    A chord beyond the range of posteriors lies above its neighbour within it, so the two cost nothing.
    """
    grid = [min(KNOT_GRID, max(0, round(Fraction(float(k)) * KNOT_GRID))) for k in knots]
    multipliers = [tuple(Fraction(float(x)) for x in row) for row in nu]
    points, lines = [grid[0]], []
    for knot, row in zip(grid[1:], multipliers, strict=True):
        if knot > points[-1]:
            points.append(knot)
            lines.append(row)
    if points[0] > 0:
        points, lines = [0, *points], [lines[0] if lines else multipliers[0], *lines]
    if points[-1] < KNOT_GRID:
        points, lines = [*points, KNOT_GRID], [*lines, lines[-1]]
    return LinesBound(
        KNOT_GRID,
        tuple((KNOT_GRID - k, k) for k in points),
        tuple((i, i + 1) for i in range(len(points) - 1)),
        rows,
        tuple(lines),
    )


def _simplex_lines(
    cells: list[list[tuple[int, ...]]], denominator: int, nu: Floats, rows: tuple[int, ...]
) -> LinesBound:
    number: dict[tuple[int, ...], int] = {}
    indexed = [tuple(number.setdefault(tuple(vertex), len(number)) for vertex in cell) for cell in cells]
    return LinesBound(
        denominator,
        tuple(number),
        tuple(indexed),
        rows,
        tuple(tuple(Fraction(float(x)) for x in row) for row in nu),
    )
