"""Chords of the binary entropy between knots: their costs, what a channel on them is worth, and the bound that they prove."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from choral.describe.entropy import binary_entropies
from choral.proofs.lines import LinesBound
from choral.solvers.lines.elimination import Array
from choral.solvers.lines.interior_point import Status

KNOT_GRID = 2**62
"""Knots are rounded to this grid for the certificate; the bound is computed for the rounded ones."""
RANGE_MARGIN = 1e-15
"""The knots reach this far beyond the posteriors, so that rounding of q cannot leave them."""


def chord_costs(knots: Array, q: Array) -> Array:
    """Return ``C[s, l]``: the chord of the entropy over ``knots[l:l+2]``, at ``q_s``.

    Slopes are computed without cancellation, so narrow cells are as accurate as wide ones.
    """
    a, b = knots[:-1], knots[1:]
    width = b - a
    left, right = 1 - a, 1 - b
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = np.where(a > 0, a / width * np.log1p(width / a), 0.0) + np.log(b)
        fall = np.where(right > 0, right / width * np.log1p(width / right), 0.0) + np.log(left)
    slope = (fall - rise) / math.log(2)
    # The chord leaves from the entropy at its left knot.
    value: Array = binary_entropies(a) + slope * (np.asarray(q, dtype=float)[:, None] - a)
    return value


def chord_slopes(knots: Array) -> Array:
    """Return the slope of each chord; they decrease."""
    ends = chord_costs(knots, np.array([0.0, 1.0]))
    value: Array = ends[1] - ends[0]
    return value


def interpolated_multipliers(knots: Array, nu: Array, finer: Array) -> Array:
    """Return multipliers for the lines of ``finer``, linear in the slope of the line.

    If ``finer`` contains ``knots`` the repaired bound does not fall: a chord whose slope
    lies between two others lies above their mean of that slope, so its reduced cost is
    at least the least of theirs.
    """
    slope, finer_slope = -chord_slopes(knots), -chord_slopes(finer)
    result = np.empty((len(finer_slope), nu.shape[1]))
    for column in range(nu.shape[1]):
        result[:, column] = np.interp(finer_slope, slope, nu[:, column])
    return result


def angle(t: Array) -> Array:
    """The coordinate in which the error of a chord depends on its width alone."""
    return np.arcsin(np.sqrt(np.clip(t, 0.0, 1.0)))


@dataclass(frozen=True)
class Score:
    """What a channel achieves, symbol by symbol."""

    mass: Array
    posterior: Array
    entropy: float


def score_of(z: Array, q: Array) -> Score:
    """Score the channel with the true entropy."""
    mass = z.sum(axis=0)
    posterior = np.divide(q @ z, mass, out=np.zeros_like(mass), where=mass > 0)
    return Score(mass, posterior, float(mass @ binary_entropies(posterior)))


# ----------------------------------------------------------------------- the driver


@dataclass(frozen=True)
class Level:
    """One level of the sandwich, for the history."""

    lines: int
    iterations: int
    information: float
    upper_bound: float
    seconds: float
    status: Status


@dataclass(frozen=True)
class OnKnots:
    """An interval for the largest information of a private channel, with its proof.

    ``z`` is a private channel with ``information`` bits; ``knots`` and ``nu`` (one row
    per line between consecutive knots) certify ``upper_bound``.
    """

    z: Array
    knots: Array
    nu: Array
    information: float
    upper_bound: float
    history: tuple[Level, ...]
    status: Literal["optimal", "stopped", "time limit", "level limit", "stalled"]

    @property
    def gap(self) -> float:
        """The width of the interval, in bits."""
        return self.upper_bound - self.information

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.knots) - 1

    def proof(self, rows: tuple[int, ...]) -> LinesBound:
        """Cells between knots, and two more out to 0 and 1 with their neighbours' multipliers.

        A chord beyond the range of posteriors lies above its neighbour within it, so the two cost nothing.
        """
        grid = [min(KNOT_GRID, max(0, round(Fraction(float(k)) * KNOT_GRID))) for k in self.knots]
        multipliers = [tuple(Fraction(float(x)) for x in row) for row in self.nu]
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
