"""The linear program over lines, in floats: one code per line, and a basis from which fractions can be computed.

Minimise Σ_s p(s) Σ_l q(l | s) c_l(s) over private channels q with one code per line. Where the lines are a loss, one per
action, that is the whole problem: codes for which the same action is best may be joined, privacy stays and nothing is lost.

A basis of it has, beside one line of its own for every state, as many (state, line) pairs as there are (line, equation) pairs
with a price (some of them, where the optimum is degenerate, may be slack). `choral.exact.decisions` makes fractions of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from scipy import sparse

from choral.errors import StoppedError
from choral.problem.form import equations
from choral.problem.kernel import Floats, Problem
from choral.solvers.highs import FINEST, kept

SHAKEN = 1e-7
"""Relative size of random changes to the costs, for a second try: they tell apart lines that are equally good."""


@dataclass(frozen=True)
class Found:
    """An optimum in floats, and its basis.

    `basis[s]` are the lines of state s in the basis, `held` the (line, equation) pairs that have a price, `slack` the states
    whose sum has none (where lines are equally good), `channel` is p(line | s) and `prices[l]` are the multipliers of line l,
    one per equation, for costs and equations as integers.
    """

    basis: list[list[int]]
    slack: list[int]
    held: list[tuple[int, int]]
    channel: Floats
    prices: list[list[float]]


class Program:
    """Columns are (line, state) pairs, rows the states and the equations of every line but the last, which follow."""

    def __init__(self, problem: Problem, cost: Sequence[Sequence[int]]) -> None:
        matrix = equations(problem).at(range(problem.size))
        self.states, self.lines, self.rows = problem.size, len(cost), len(matrix)
        self.largest = max((abs(x) for row in cost for x in row), default=0) or 1
        self.cost = np.array([[x / self.largest for x in row] for row in cost])
        self.scale = [max(map(abs, row)) or 1 for row in matrix]
        self.matrix = np.array([[x / m for x in row] for row, m in zip(matrix, self.scale, strict=True)])
        self.matrix = self.matrix.reshape(-1, self.states)

    def solved(self, seed: int = 0, seconds: float | None = None) -> Found | None:
        """What HiGHS finds; another seed leads to another basis where there are several that are optimal. None where floats
        find no solution, though there is one: to tell nothing.
        """
        solver = self._solver(seed, seconds)
        solver.run()
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise StoppedError("The linear program over the lines was stopped.", "Give it more time.")
        if status != highspy.HighsModelStatus.kOptimal:
            return None
        basic = highspy.HighsBasisStatus.kBasic
        basis, solution = solver.getBasis(), solver.getSolution()
        chosen = np.array([x == basic for x in basis.col_status]).reshape(self.lines, self.states)
        held = [divmod(k, self.rows) for k, x in enumerate(basis.row_status[self.states :]) if x != basic]
        slack = [s for s, x in enumerate(basis.row_status[: self.states]) if x == basic]
        channel = np.maximum(np.array(solution.col_value).reshape(self.lines, self.states), 0.0)
        dual = np.array(solution.row_dual[self.states :]).reshape(self.lines - 1, self.rows) * self.largest
        prices = [[x / m for x, m in zip(row, self.scale, strict=True)] for row in dual.tolist()]
        return Found(
            [np.flatnonzero(chosen[:, s]).tolist() for s in range(self.states)],
            slack,
            held,
            channel,
            [*prices, [0.0] * self.rows],
        )

    def _solver(self, seed: int, seconds: float | None) -> highspy.Highs:
        n, lines = self.states, self.lines
        cost = self.cost
        if seed > 1:
            cost = cost * (1 + SHAKEN * np.random.default_rng(seed).random(cost.shape))
        each, equations = sparse.hstack([sparse.eye_array(n)] * lines), sparse.eye_array(lines - 1, lines)
        right = np.concatenate([np.ones(n), np.zeros((lines - 1) * self.rows)])
        solver = kept(sparse.vstack([each, sparse.kron(equations, self.matrix)]), cost.ravel(), right, FINEST)
        solver.setOptionValue("random_seed", seed)
        if seed:
            solver.setOptionValue("presolve", "off")
        if seconds is not None:
            solver.setOptionValue("time_limit", seconds)
        return solver
