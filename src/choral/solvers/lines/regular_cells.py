"""Regular triangulations of the probability simplex under the entropy, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul

import flint
import numpy as np
from numpy.typing import NDArray

from choral.describe.ball_arithmetic import PRECISION, exact_lower
from choral.describe.entropy import entropy_ball

Array = NDArray[np.float64]
Vertex = tuple[int, ...]

HEIGHT_SCALE = 1 << 100
_DEAD = 1e9  # the value of the line of a cell that no longer exists


def to_grid(t: Sequence[float], denominator: int, significant_bits: int = 53) -> Vertex:
    """The distribution t as non-negative integers that sum to the denominator; zeros stay zeros.

    All coordinates but the largest keep this many significant bits: nearly equal posteriors
    become equal, and thin cells (whose lines are sensitive to rounding) become rare.
    """
    total = math.fsum(t)
    vertex = [max(0, round(x / total * denominator)) for x in t]
    largest = max(range(len(vertex)), key=vertex.__getitem__)
    for i, x in enumerate(vertex):
        excess = x.bit_length() - significant_bits
        if excess > 0:
            vertex[i] = ((x + (1 << (excess - 1))) >> excess) << excess
    vertex[largest] += denominator - sum(vertex)
    return tuple(vertex)


def entropy_height(vertex: Vertex, denominator: int) -> int:
    """The entropy in bits of vertex / denominator, times HEIGHT_SCALE, rounded down.

    Far more digits than a float has: a thin cell multiplies errors of its heights, and a checker with better logarithms
    must find the same line.
    """
    with flint.ctx.workprec(PRECISION):
        entropy = entropy_ball(Fraction(x, denominator) for x in vertex if x)
        return max(0, math.floor(exact_lower(entropy) * HEIGHT_SCALE))


def _line_through(vertices: Sequence[Vertex], heights: Sequence[int]) -> tuple[list[int], int]:
    """Integers (n, den), den > 0, with n . v_i = den * h_i at the given vertices; raises where these are degenerate."""
    try:
        solved = flint.fmpq_mat(flint.fmpz_mat(vertices)).solve(flint.fmpq_mat(len(heights), 1, heights))
    except ZeroDivisionError:
        raise ArithmeticError("a degenerate cell appeared in the triangulation") from None
    normal, den = solved.numer_denom()
    return [int(x) for x in normal.entries()], int(den)


class RegularCells:
    """The cells of the upper hull of (v, H(v)) over the points inserted so far.

    True at all times, in exact integers: the cells tile the simplex facet to facet, and the
    minimum of their lines is the largest concave function below H with these vertices. Cell
    ids are never reused.
    """

    def __init__(self, K: int, denominator: int) -> None:
        self.K = K
        self.denominator = denominator
        self.points: list[Vertex] = []
        self.heights: list[int] = []
        self.number: dict[Vertex, int] = {}
        self.members: dict[int, tuple[int, ...]] = {}
        self.across: dict[int, list[int | None]] = {}  # neighbour opposite to each member
        self.normals: dict[int, tuple[list[int], int]] = {}
        self.coefficients: Array = np.full((256, K), _DEAD)
        self.next_id = 0
        corners = [self._add_point(tuple(denominator * (i == j) for j in range(K)), 0) for i in range(K)]
        self._add_cell(tuple(corners), [None] * K)

    def _add_point(self, vertex: Vertex, height: int) -> int:
        self.number[vertex] = len(self.points)
        self.points.append(vertex)
        self.heights.append(height)
        return len(self.points) - 1

    def _add_cell(self, members: tuple[int, ...], across: list[int | None]) -> int:
        normal, den = _line_through([self.points[i] for i in members], [self.heights[i] for i in members])
        cell = self.next_id
        self.next_id += 1
        self.members[cell], self.across[cell] = members, across
        self.normals[cell] = normal, den
        if cell >= len(self.coefficients):
            more = np.full((len(self.coefficients), self.K), _DEAD)
            self.coefficients = np.vstack([self.coefficients, more])
        unit = den * HEIGHT_SCALE
        self.coefficients[cell] = [x * self.denominator / unit for x in normal]
        return cell

    def lower_entropy(self, t: Array) -> tuple[float, int]:
        """The value at the distribution t of the minimum of all lines, and the cell of that line."""
        values = self.coefficients[: self.next_id] @ t
        cell = int(values.argmin())
        return float(values[cell]), cell

    def _below(
        self, start: int, excess: Callable[[int], int]
    ) -> tuple[dict[int, bool], list[tuple[int, int, int | None]]]:
        """Cells reached from `start`, and whether the new point is above each; and the ridges around those it is above.

        A ridge is (cell inside, position, cell outside or None at the border).
        """
        conflict = {start: True}
        stack, rim = [start], []
        while stack:
            cell = stack.pop()
            for position, other in enumerate(self.across[cell]):
                if other is not None and other not in conflict:
                    conflict[other] = excess(other) > 0
                    if conflict[other]:
                        stack.append(other)
                if other is None or not conflict[other]:
                    rim.append((cell, position, other))
        return conflict, rim

    def insert(self, vertex: Vertex) -> tuple[list[int], dict[int, dict[int, float]]] | None:
        """Make vertex a point of the hull; None (and no change) when it is not above the hull.

        Returns the removed cells, and for every new cell weights over older cells (its parents):
        the new line is, on the whole simplex, at least that convex combination of their lines. For
        the new line goes through the ridge that its two parents share, between them, or (at a face of the simplex)
        is its parent's line plus a multiple of a coordinate. So multipliers combined with
        these weights never lower the dual bound.
        """
        if vertex in self.number:
            return None
        _, start = self.lower_entropy(np.array(vertex) / self.denominator)
        height = entropy_height(vertex, self.denominator)

        def excess(cell: int) -> int:
            """Positive when the new point is above the line of the cell (over the common den)."""
            normal, den = self.normals[cell]
            return den * height - sum(map(mul, normal, vertex))

        if excess(start) <= 0:
            return None
        conflict, rim = self._below(start, excess)
        point = self._add_point(vertex, height)
        parents: dict[int, dict[int, float]] = {}
        open_ridges: dict[tuple[int, ...], tuple[int, int]] = {}
        for cell, position, other in rim:
            members = self.members[cell]
            facet = members[:position] + members[position + 1 :]
            if other is None:
                outer = [self.points[i] for i in facet]
                if any(vertex[w] == 0 and all(v[w] == 0 for v in outer) for w in range(self.K)):
                    continue  # the new point lies in the same face of the simplex
            new = self._add_cell((point, *facet), [other] + [None] * (self.K - 1))
            if other is None:
                parents[new] = {cell: 1.0}
            else:
                back = self.across[other]
                back[next(i for i in range(self.K) if back[i] == cell and self.members[other][i] not in facet)] = new
                inside, outside = excess(cell), -excess(other)
                inside_value = inside / self.normals[cell][1]
                outside_value = outside / self.normals[other][1]
                weight = inside_value / (inside_value + outside_value)
                parents[new] = {cell: 1.0 - weight, other: weight}
            fresh = self.members[new]
            for i in range(1, self.K):
                ridge = tuple(sorted(fresh[1:i] + fresh[i + 1 :]))
                mate = open_ridges.pop(ridge, None)
                if mate is None:
                    open_ridges[ridge] = (new, i)
                else:
                    self.across[new][i] = mate[0]
                    self.across[mate[0]][mate[1]] = new
        removed = [cell for cell, hit in conflict.items() if hit]
        for cell in removed:
            del self.members[cell], self.across[cell], self.normals[cell]
            self.coefficients[cell] = _DEAD
        return removed, parents

    def vertices(self, cell: int) -> list[Vertex]:
        """The K vertices of the cell, as integers over the denominator."""
        return [self.points[i] for i in self.members[cell]]
