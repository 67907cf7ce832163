"""The three linear programs of branching, each kept in HiGHS between solves, so that it goes on from its last basis.

The `work` of a program is the size of its matrix and what a solve takes in any case, added up over its solves: about
proportional to the time that they take, and the same number on every machine, however busy it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np

from choral.solvers.branching.boxes import Box
from choral.solvers.highs import Array, kept, optimal, quiet

STEEPEST = 64.0
"""Bits that a unit outside of a box costs: more than any entropy of a law that is worth branching on."""
NOTHING = 1e-12
"""Masses below this are what floats leave of zero."""
LARGE = 1e9
"""Coefficients above this are scaled: HiGHS takes none above 1e15."""
DEAREST = 1e4
"""Bits: multipliers of states are cut here. They guide the search and prove nothing, and HiGHS takes 1e20 for infinite."""

A_SOLVE = 4000
"""What a solve from the last basis takes in any case, in entries of a matrix (measured on sizes of 950 to 25 000)."""


class Posteriors:
    """The polytope of private posteriors: x >= 0, M^T x = 0, sum x = 1."""

    def __init__(self, M: Array) -> None:
        states, rank = M.shape
        right = np.zeros(rank + 1)
        right[rank] = 1.0
        self.model = kept(np.vstack([M.T, np.ones(states)]), np.zeros(states), right)
        self.columns = np.arange(states, dtype=np.int32)
        self.size, self.work = (rank + 1) * states + A_SOLVE, 0

    def least(self, cost: Array) -> Array | None:
        """An extreme point at which cost · x is least; None where floats find none."""
        self.model.changeColsCost(len(self.columns), self.columns, cost)
        self.work += self.size
        if not optimal(self.model):
            return None
        x: Array = np.array(self.model.getSolution().col_value)
        x[x < NOTHING] = 0.0
        total = x.sum()
        return x / total if total > 0 else None


@dataclass(frozen=True)
class InBox:
    """Where it is least in a box, and the line and multipliers that prove it.

    line(t) is at most the sum of chords in the box, and line(Q_s) - M_s · multipliers - a_s is at least that for every state.
    """

    x: Array
    line: Array
    multipliers: Array


class Boxes:
    """min over private posteriors x in a box of [chords of -t log t over the sides of the box, at t = Q^T x] - a · x.

    What leaves the box costs `STEEPEST` per unit. So there is always an x, and a box that holds no posterior has a large
    minimum, with a line that proves it.
    """

    def __init__(self, M: Array, Q: Array) -> None:
        self.states, self.rank = M.shape
        self.Q, self.values = Q, Q.shape[1]
        rows, columns = self.rank + 1 + self.values, self.states + 2 * self.values
        matrix = np.zeros((rows, columns))
        matrix[: self.rank, : self.states] = M.T
        matrix[self.rank, : self.states] = 1.0
        matrix[self.rank + 1 :, : self.states] = Q.T
        matrix[self.rank + 1 :, self.states :] = np.hstack([np.eye(self.values), -np.eye(self.values)])
        right = np.zeros(rows)
        right[self.rank] = 1.0
        self.model = kept(matrix, np.full(columns, STEEPEST), right)
        self.columns = np.arange(self.states, dtype=np.int32)
        self.size, self.work = rows * columns + A_SOLVE, 0

    def solve(self, box: Box, a: Array) -> InBox | None:
        """The minimum in the box; None where floats find none."""
        model = self.model
        model.changeColsCost(self.states, self.columns, self.Q @ box.slopes - a)
        for w in range(self.values):
            model.changeRowBounds(self.rank + 1 + w, float(box.low[w]), float(box.high[w]))
        self.work += self.size
        if not optimal(model):
            return None
        solution = model.getSolution()
        duals = np.array(solution.row_dual)
        x = np.maximum(np.array(solution.col_value)[: self.states], 0.0)
        return InBox(x / x.sum(), box.slopes - duals[self.rank + 1 :], duals[: self.rank])


class Mixing:
    """The best weights on the points so far: min u · h subject to sum_j u_j x_j = p; rows are divided by p.

    The first point is p itself. `h` and `tangent` are its entropy and multipliers: the answer where floats find no better.
    """

    def __init__(self, p: Array, h: float, tangent: Array) -> None:
        self.p = p
        self.points: list[Array] = []
        self.scales: list[float] = []
        self.model = quiet()
        nothing = np.array([], dtype=np.int32), np.array([])
        for _ in p:
            self.model.addRow(1.0, 1.0, 0, *nothing)
        self.found = h, tangent, np.ones(1)
        self.add(p, h)

    def add(self, x: Array, cost: float) -> None:
        """One more point, which costs this much entropy."""
        inside = np.flatnonzero(x).astype(np.int32)
        column = x[inside] / self.p[inside]
        scale = max(float(column.max()) / LARGE, 1.0)
        taken = self.model.addCol(float(cost) / scale, 0.0, highspy.kHighsInf, len(inside), inside, column / scale)
        if taken != highspy.HighsStatus.kError:
            self.points.append(x)
            self.scales.append(scale)

    def solve(self) -> tuple[float, Array, Array]:
        """H(W|Y) of the best mixture, the multipliers a of states (a · x_j <= h_j, a · p = H(W|Y)), and the weights.

        Where floats find none, those found last.
        """
        if optimal(self.model):
            solution = self.model.getSolution()
            value = float(self.model.getInfo().objective_function_value)
            a = np.clip(np.array(solution.row_dual) / self.p, -DEAREST, DEAREST)
            self.found = value, a, np.maximum(np.array(solution.col_value), 0.0) / np.array(self.scales)
        return self.found
