"""Chords of a concave function of one number between knots: cells on a line, for targets of two values and for squares.

States have a number q_s: P(W=1 | s) under the binary entropy, or a mean, scaled to [0, 1], under minus the square. The
minimum of the chords lies below the function, so the linear program over channels with one code per chord bounds what every
channel costs. A code costs more than its chord says by as much as the function is above the chord at the code's mean: such
cells are cut around that mean, so the gap closes quadratically. Knots are placed in a coordinate in which the error of a
chord depends on its width alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from choral.describe.entropy import binary_entropies
from choral.proofs.lines import LinesBound
from choral.solvers.lines.cells import EVERY, Codes, Next
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.columns import whiten
from choral.solvers.lines.program import LPResult

KNOT_GRID = 2**62
"""Knots are rounded to this grid for the certificate, finer than floats; the bound is computed for the rounded ones."""
RANGE_MARGIN = 1e-15
"""The knots reach this far beyond the posteriors, so that rounding of q cannot leave them."""
PRIOR_CELL = 1e-6
"""Relative half-width of the cell around the prior in the first certificate: its error is far below any tolerance."""
FIRST_LINES = 16
"""Chords of the first level: a tenth of the information is usually left open, and it costs next to nothing."""
MANY_EQUATIONS, FEWER_LINES = 100, 8
"""With more equations than these a step takes time like the cube of lines × equations: half the lines, at first, leave a
quarter of the information open in place of a tenth, at an eighth of the price."""
NARROW = 0.1
"""Half-width of the new cell around a code, as a share of its cell: its error falls by a hundred if the code stays."""
SPLIT = 0.02
"""Cells with this share of the largest error are cut ..."""
EVEN = 0.2
"""... but none with less than this share of an even part of the target: that would not be seen."""
GAIN = 8.0
"""By which a cut divides the error of its cell, as measured: no more cells are cut than bring the error to the target."""
LEAST_GROWTH = 8
"""... but at least one in this many lines, so that levels do not become many."""
OF_WIDTH = 0.6
"""What even cells leave open in bits, times their number squared, over the squared width of all: of tables, as measured."""
USED = 1e-7
"""Lines with more mass than this have a part in the target."""
CENTRE = 0.8
"""Share of a cut code that goes to the cell of its mean: the warm start is then near the next optimum and inside."""
PIECES = 4
"""Cells are cut into so many for a finer certificate with interpolated multipliers: its chords lie sixteen times nearer."""


class Curve(Protocol):
    """A concave function on [0, 1], its chords, and the coordinate in which knots are placed."""

    def value(self, t: Array) -> Array:
        """The function."""
        ...

    def chords(self, knots: Array, q: Array) -> Array:
        """C[s, l]: the chord over knots[l:l+2] at q_s, without cancellation where cells are narrow."""
        ...

    def coordinate(self, t: Array) -> Array:
        """Where a number lies."""
        ...

    def number(self, x: Array) -> Array:
        """The number that lies there."""
        ...


class BinaryEntropy:
    """h(t) in bits; the coordinate is the angle whose sine squared is t."""

    def value(self, t: Array) -> Array:
        """h(t)."""
        return np.asarray(binary_entropies(t), dtype=np.float64)

    def chords(self, knots: Array, q: Array) -> Array:
        """Slopes by log1p, so narrow cells are as accurate as wide ones; a chord leaves from its left knot."""
        a, b = knots[:-1], knots[1:]
        width = b - a
        left, right = 1 - a, 1 - b
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(a > 0, a / width * np.log1p(width / a), 0.0) + np.log(b)
            fall = np.where(right > 0, right / width * np.log1p(width / right), 0.0) + np.log(left)
        slope = (fall - rise) / math.log(2)
        value: Array = binary_entropies(a) + slope * (np.asarray(q, dtype=float)[:, None] - a)
        return value

    def coordinate(self, t: Array) -> Array:
        """arcsin √t."""
        return np.arcsin(np.sqrt(np.clip(t, 0.0, 1.0)))

    def number(self, x: Array) -> Array:
        """sin² x."""
        return np.sin(x) ** 2


class MinusSquare:
    """-t²; a chord is ab - (a + b) t."""

    def value(self, t: Array) -> Array:
        """-t²."""
        return -(t**2)

    def chords(self, knots: Array, q: Array) -> Array:
        """Exact up to rounding of single operations."""
        a, b = knots[:-1], knots[1:]
        return np.asarray(a * b - np.outer(q, a + b), dtype=np.float64)

    def coordinate(self, t: Array) -> Array:
        """t itself."""
        return np.clip(t, 0.0, 1.0)

    def number(self, x: Array) -> Array:
        """x itself."""
        return x


ENTROPY = BinaryEntropy()
SQUARE = MinusSquare()


def slopes(curve: Curve, knots: Array) -> Array:
    """The slope of each chord; they decrease."""
    ends = curve.chords(knots, np.array([0.0, 1.0]))
    value: Array = ends[1] - ends[0]
    return value


def interpolated_multipliers(knots: Array, nu: Array, finer: Array, curve: Curve = ENTROPY) -> Array:
    """Multipliers for the chords between `finer` knots, linear in the slope of the chord.

    If `finer` contains `knots` the repaired bound does not fall: a chord whose slope lies between two others lies above
    their mean of that slope, so its reduced cost is at least the least of theirs.
    """
    slope, finer_slope = -slopes(curve, knots), -slopes(curve, finer)
    result = np.empty((len(finer_slope), nu.shape[1]))
    for column in range(nu.shape[1]):
        result[:, column] = np.interp(finer_slope, slope, nu[:, column])
    return result


@dataclass(frozen=True)
class Chords:
    """Cells between knots; `at` are their coordinates."""

    curve: Curve
    p: Array
    M: Array
    q: Array
    knots: Array
    at: Array

    @classmethod
    def over(cls, curve: Curve, p: Array, M: Array, q: Array, ends: tuple[float, float] | None = None) -> Chords:
        """One cell over all of q, or between the ends."""
        reach = max(0.0, float(q.min()) - RANGE_MARGIN), min(1.0, float(q.max()) + RANGE_MARGIN)
        knots = np.array(ends or reach)
        return cls(curve, p, M, q, knots, curve.coordinate(knots))

    @property
    def lines(self) -> int:
        """As many as cells."""
        return len(self.knots) - 1

    @property
    def prior_cost(self) -> float:
        """What a code that tells nothing costs."""
        return float(self.curve.value(np.array(self.p @ self.q / self.p.sum())))

    @property
    def least_cost(self) -> float:
        """What a code that tells the state costs."""
        return float(self.p @ self.curve.value(self.q))

    def costs(self, rows: slice = EVERY) -> Array:
        """C[s, l]."""
        return self.curve.chords(self.knots, self.q[rows])

    def codes(self, z: Array) -> Codes:
        """What each code costs beyond what its chord says."""
        mass, mean = self._means(z)
        chord = np.einsum("ll->l", self.curve.chords(self.knots, mean))
        return Codes(mass, mean, mass * np.maximum(0, self.curve.value(mean) - chord))

    def _means(self, z: Array) -> tuple[Array, Array]:
        mass = z.sum(axis=0)
        return mass, np.divide(self.q @ z, mass, out=np.zeros_like(mass), where=mass > 0)

    def channel(self, z: Array) -> Array:
        """As it is."""
        return z

    def cost(self, z: Array) -> float:
        """Masses times values."""
        mass, mean = self._means(z)
        return float(mass @ self.curve.value(mean))

    def _with(self, at: Array) -> Chords:
        knots = self.curve.number(at)
        knots[0], knots[-1] = self.knots[0], self.knots[-1]
        return Chords(self.curve, self.p, self.M, self.q, knots, at)

    def first(self) -> Chords:
        """The cells of the first level."""
        return self.even(FIRST_LINES if self.M.shape[1] <= MANY_EQUATIONS else FEWER_LINES)

    def even(self, lines: int) -> Chords:
        """So many cells of one width, as coordinates have it."""
        return self._with(np.linspace(self.at[0], self.at[-1], lines + 1))

    def enough(self, wanted: float, most: int) -> Chords | None:
        """Even cells with which the interval is about as wide as is wanted; None where so many would not do."""
        width = float(self.at[-1] - self.at[0])
        if OF_WIDTH * width**2 >= most**2 * wanted:
            return None
        return self.even(max(FIRST_LINES, math.ceil(width * math.sqrt(OF_WIDTH / wanted))))

    def after(self, last: Next[Chords]) -> Next[Chords]:
        """These cells with masses and multipliers of others: as large a part as cells have in common, and interpolated."""
        old, z, nu = last.cells, last.z, last.nu
        assert z is not None
        assert nu is not None
        ends = np.minimum(old.at[1:, None], self.at[1:]), np.maximum(old.at[:-1, None], self.at[:-1])
        common = np.maximum(ends[0] - ends[1], 0.0)
        shares = common / common.sum(axis=1, keepdims=True)
        return Next(self, z @ shares, interpolated_multipliers(old.knots, nu, self.knots, self.curve))

    def simple_bounds(self) -> Iterator[tuple[Chords, Array]]:
        """Multipliers that regress q on M: exact where M determines q."""
        mean = float(self.p @ self.q / self.p.sum())
        near = mean + PRIOR_CELL * min(mean, 1 - mean) * np.array([-1.0, 1.0])
        low, high = self.knots[0], self.knots[-1]
        knots = np.unique(np.concatenate([[low], near[(near > low) & (near < high)], [high]]))
        if self.M.size == 0 or len(knots) < 2:
            return
        white, back = whiten(self.p, self.M)
        beta = back @ (white.T @ (self.p * (self.q - mean))) / self.p.sum()
        cells = Chords(self.curve, self.p, self.M, self.q, knots, self.curve.coordinate(knots))
        yield cells, slopes(self.curve, knots)[:, None] * beta

    def finer(self, codes: Codes, nu: Array) -> Iterator[tuple[Chords, Array]]:
        """The cells that hold nearly all of the error cut into equal pieces, with interpolated multipliers."""
        wanted = np.where(codes.error > 1e-3 * codes.error.max(), PIECES, 1)
        index = np.concatenate([line + np.arange(n) / n for line, n in enumerate(wanted)] + [[len(wanted)]])
        at = np.interp(index, np.arange(len(self.at)), self.at)
        knots = np.where(index == np.floor(index), self.knots[index.astype(int)], self.curve.number(at))
        kept = np.concatenate([[True], np.diff(knots) > 0])
        if kept.sum() > len(self.knots):
            cells = Chords(self.curve, self.p, self.M, self.q, knots[kept], at[kept])
            yield cells, interpolated_multipliers(self.knots, nu, cells.knots, self.curve)

    def refined(self, lp: LPResult, codes: Codes, target: float, everywhere: bool = False) -> Next[Chords]:
        """The cells of the next level, with a feasible channel and multipliers to start from.

        A cell whose code costs more than its chord says is cut around the code's mean. Knots are kept, or the codes would
        move into the wide cells where the chords are too low.
        """
        split = self._to_split(codes, target)
        cuts = [float(self.at[0])]
        parents: list[int] = []
        parts: list[float] = []
        for line in range(self.lines):
            inside, home = (
                self._cuts(line, codes) if split[line] else (self._halves(line), 0) if everywhere else ([], 0)
            )
            for piece in range(len(inside) + 1):
                parents.append(line)
                parts.append((CENTRE if piece == home else (1 - CENTRE) / len(inside)) if inside else 1.0)
            cuts += [*inside, float(self.at[line + 1])]
        cells = self._with(np.array(cuts))
        nu = interpolated_multipliers(self.knots, lp.nu, cells.knots, self.curve)
        return Next(cells, lp.z[:, parents] * parts, nu)

    def _halves(self, line: int) -> list[float]:
        return [0.5 * float(self.at[line] + self.at[line + 1])]

    def _to_split(self, codes: Codes, target: float) -> NDArray[np.bool_]:
        even = target / max(1, int((codes.mass > USED).sum()))
        split = codes.error > max(SPLIT * float(codes.error.max()), EVEN * even)
        ordered = np.sort(codes.error)[::-1]
        after = ordered.sum() - np.cumsum(ordered) * (1 - 1 / GAIN)
        enough = 1 + int(np.count_nonzero(after > target))
        split[np.argsort(-codes.error)[max(enough, -(-self.lines // LEAST_GROWTH)) :]] = False
        return split

    def _cuts(self, line: int, codes: Codes) -> tuple[list[float], int]:
        """Where a cell is cut, and which of the pieces holds its code's mean."""
        low, high = float(self.at[line]), float(self.at[line + 1])
        centre = min(max(float(self.curve.coordinate(codes.mean[line])), low), high)
        step = NARROW * (high - low)
        inside = [x for x in (centre - step, centre + step) if low + 0.2 * step < x < high - 0.2 * step]
        inside = inside or [0.5 * (low + high)]
        return inside, sum(x < centre for x in inside)

    def proof(self, nu: Array, rows: tuple[int, ...]) -> LinesBound:
        """Cells between knots, and two more out to 0 and 1 with their neighbours' multipliers.

        A chord beyond the range of posteriors lies above its neighbour within it, so the two cost nothing.
        """
        grid = [min(KNOT_GRID, max(0, round(Fraction(float(k)) * KNOT_GRID))) for k in self.knots]
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
