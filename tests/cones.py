"""An oracle for programs within budgets: a conic solver of others, which is tried beside the interior point.

Minimise Σ z_sl line_l(s) subject to Σ_l z_sl = p_s, equations for the groups that stay private, linear inequalities for
ratios, and exponential cones for leakage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from choral.problem.kernel import Floats
from choral.solvers.lines.budget_program import Group

FREE = 1e-11
"""A price below this, in bits per bit, is none."""
SLACK = 1e-12
"""By so much, in bits, log q_l is lowered so that rounding cannot make Σ q_l exceed one."""
SMALLEST = 1e-30
TIGHTEST = 1e-10
"""What a program is solved to at most, in nats."""


def conic(
    cost: Floats,
    p: Floats,
    M: Floats,
    groups: Sequence[Group],
    seconds: float,
    accuracy: float = TIGHTEST,
) -> tuple[Floats, Floats] | None:
    """Minimise Σ p_s x_sl cost_sl over x_sl = p(l | s) within the budgets.

    Beside x there are, for leaking groups, the masses of values and of lines, so that cones have few entries, and entropies.
    The accuracy is in nats. What comes back are masses and multipliers, as programs within budgets have them.
    """
    N, L = cost.shape
    r = M.shape[1]
    state, line = np.nonzero(np.ones(cost.shape, dtype=bool))
    program = _Program(len(state))
    x = np.arange(len(state))
    program.rows(N, state, x, np.ones(len(x)), np.ones(N), clarabel.ZeroConeT)
    private = None
    if r:
        row, column = (line[:, None] * r + np.arange(r)).ravel(), np.repeat(x, r)
        private = program.rows(L * r, row, column, (M * p[:, None])[state].ravel(), np.zeros(L * r), clarabel.ZeroConeT)
    program.rows(len(x), x, x, -np.ones(len(x)), np.zeros(len(x)), clarabel.NonnegativeConeT)
    places: list[tuple[slice, slice]] = []
    mass: NDArray[np.int64] | None = None
    for group in groups:
        m = group.values
        if group.kind == "ratio":  # without further variables: ratios of rare codes need every digit
            row, column = (line[:, None] * m + np.arange(m)).ravel(), np.repeat(x, m)
            here, at = (group.given * p[:, None])[state], group.marginal * p[state][:, None]
            most, least = (
                program.rows(L * m, row, column, side.ravel(), np.zeros(L * m), clarabel.NonnegativeConeT)
                for side in (here / group.amount - at, at / group.amount - here)
            )
            places.append((most, least))
            continue
        values = program.variables(L * m)
        some, value = np.nonzero(group.given[state])
        row = np.concatenate([line[some] * m + value, np.arange(L * m)])
        entries = np.concatenate([(group.given * p[:, None])[state[some], value], -np.ones(L * m)])
        program.rows(L * m, row, np.concatenate([some, values]), entries, np.zeros(L * m), clarabel.ZeroConeT)
        if mass is None:
            mass = program.variables(L)
            row, column = np.concatenate([np.repeat(np.arange(L), m), np.arange(L)]), np.concatenate([values, mass])
            entries = np.concatenate([np.ones(L * m), -np.ones(L)])
            program.rows(L, row, column, entries, np.zeros(L), clarabel.ZeroConeT)
        masses = np.repeat(mass, m)
        leaks = program.variables(L * m)
        right = np.array([group.amount * math.log(2) - group.entropy])
        budget = program.rows(1, np.zeros(L * m), leaks, -np.ones(L * m), right, clarabel.NonnegativeConeT)
        column = np.column_stack([leaks, values, masses]).ravel()
        size = 3 * L * m
        cone = program.rows(size, np.arange(size), column, -np.ones(size), np.zeros(size), clarabel.ExponentialConeT)
        places.append((budget, cone))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = max(accuracy, TIGHTEST)
    settings.tol_feas = TIGHTEST
    settings.max_iter = 100
    if seconds < math.inf:
        settings.time_limit = max(0.1, seconds)
    solved = program.solver((cost * p[:, None])[state, line], settings).solve()
    found, dual = np.array(solved.x), np.array(solved.z)
    if not (np.isfinite(found).all() and np.isfinite(dual).all()) or str(solved.status) not in _GOOD:
        return None
    shares_ = np.zeros(cost.shape)
    shares_[state, line] = np.maximum(found[: len(x)], 0.0)
    sums = shares_.sum(axis=1, keepdims=True)
    if not (sums > 0.5).all():
        return None
    shares_ /= sums
    nu = np.zeros((L, 0)) if private is None else -dual[private].reshape(L, r)
    by_group, prices = [], []
    for group, (first, second) in zip(groups, places, strict=True):
        if group.kind == "ratio":
            by_group.append((dual[second] - dual[first] / group.amount).reshape(L, group.values))
            continue
        price = float(dual[first][0])
        if price <= FREE:
            by_group.append(np.zeros((L, group.values)))
            prices.append(0.0)
            continue
        pull = -dual[second].reshape(L, group.values, 3)[:, :, 1] / price
        pull -= pull.max(axis=1, keepdims=True)
        law = np.maximum(np.exp(pull), SMALLEST)
        law /= law.sum(axis=1, keepdims=True)
        bits = price * math.log(2)
        by_group.append(bits * (SLACK - np.log2(law)))
        prices.append(bits)
    return shares_ * p[:, None], np.hstack([nu, *by_group, np.tile(prices, (L, 1))])


class _Program:
    """Rows of a conic program, added one kind after the other: A x + s = b with s in cones."""

    def __init__(self, width: int) -> None:
        self.width, self.height = width, 0
        self._entries: list[tuple[Any, Any, Any]] = []
        self._right: list[Floats] = []
        self._cones: list[Any] = []

    def variables(self, count: int) -> NDArray[np.int64]:
        """So many more."""
        self.width += count
        return np.arange(self.width - count, self.width)

    def rows(self, count: int, row: Any, column: Any, entries: Floats, right: Floats, cone: Any) -> slice:
        """So many more, with these entries; where they are."""
        place = slice(self.height, self.height + count)
        self._entries.append((np.asarray(row) + self.height, column, entries))
        self._right.append(right)
        self._cones += [cone()] * (count // 3) if cone.__name__ == "ExponentialConeT" else [cone(count)]
        self.height += count
        return place

    def solver(self, cost: Floats, settings: Any) -> Any:
        """For a cost of the first variables."""
        row, column, entries = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        A = sparse.csc_matrix((entries, (row, column)), shape=(self.height, self.width))
        linear = np.concatenate([cost, np.zeros(self.width - len(cost))])
        square = sparse.csc_matrix((self.width, self.width))
        return clarabel.DefaultSolver(square, linear, A, np.concatenate(self._right), self._cones, settings)


_GOOD = {"Solved", "AlmostSolved", "MaxTime", "InsufficientProgress", "MaxIterations"}
