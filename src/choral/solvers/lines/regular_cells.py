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


def _ridges(members: tuple[int, ...]) -> list[tuple[int, ...]]:
    """What a cell has in common with its neighbours: all of its points but one, for each of them."""
    return [members[:i] + members[i + 1 :] for i in range(len(members))]


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
        self.sides: dict[frozenset[int], set[int]] = {}  # the one or two cells that have a ridge
        self.normals: dict[int, tuple[list[int], int]] = {}
        self.coefficients: Array = np.full((256, K), _DEAD)
        self.next_id = 0
        corners = [self._add_point(tuple(denominator * (i == j) for j in range(K)), 0) for i in range(K)]
        self._add_cell(tuple(corners))

    def _add_point(self, vertex: Vertex, height: int) -> int:
        self.number[vertex] = len(self.points)
        self.points.append(vertex)
        self.heights.append(height)
        return len(self.points) - 1

    def _add_cell(self, members: tuple[int, ...]) -> int:
        normal, den = _line_through([self.points[i] for i in members], [self.heights[i] for i in members])
        cell = self.next_id
        self.next_id += 1
        self.members[cell] = members
        for ridge in _ridges(members):
            self.sides.setdefault(frozenset(ridge), set()).add(cell)
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

    def _remove_cell(self, cell: int) -> None:
        for ridge in map(frozenset, _ridges(self.members[cell])):
            self.sides[ridge].remove(cell)
            if not self.sides[ridge]:
                del self.sides[ridge]
        del self.members[cell], self.normals[cell]
        self.coefficients[cell] = _DEAD

    def _below(
        self, start: int, excess: Callable[[int], int]
    ) -> tuple[list[int], list[tuple[int, tuple[int, ...], int | None]]]:
        """Cells that the new point is above, from `start` on; and (cell, ridge, cell outside or None) all around them."""
        conflict = {start: True}
        stack, rim = [start], []
        while stack:
            cell = stack.pop()
            for ridge in _ridges(self.members[cell]):
                other = next((beside for beside in self.sides[frozenset(ridge)] if beside != cell), None)
                if other is not None and other not in conflict:
                    conflict[other] = excess(other) > 0
                    if conflict[other]:
                        stack.append(other)
                if other is None or not conflict[other]:
                    rim.append((cell, ridge, other))
        return [cell for cell, hit in conflict.items() if hit], rim

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
        removed, rim = self._below(start, excess)
        point = self._add_point(vertex, height)
        parents: dict[int, dict[int, float]] = {}
        for cell, ridge, other in rim:
            if other is None:
                outer = [self.points[i] for i in ridge]
                if any(vertex[w] == 0 and all(v[w] == 0 for v in outer) for w in range(self.K)):
                    continue  # the new point lies in the same face of the simplex
                parents[self._add_cell((point, *ridge))] = {cell: 1.0}
                continue
            inside, outside = (abs(excess(c)) / self.normals[c][1] for c in (cell, other))
            weight = inside / (inside + outside)
            parents[self._add_cell((point, *ridge))] = {cell: 1.0 - weight, other: weight}
        for cell in removed:
            self._remove_cell(cell)
        return removed, parents

    def vertices(self, cell: int) -> list[Vertex]:
        """The K vertices of the cell, as integers over the denominator."""
        return [self.points[i] for i in self.members[cell]]
