"""The conic program of the sandwich with budgets: the channels with one code per line, and what its multipliers prove.

Minimise Σ z_sl line_l(s) subject to Σ_l z_sl = p_s, equations for the groups that stay private, linear inequalities for
ratios, and exponential cones for leakage.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from choral.describe.entropy import weighted_entropies
from choral.errors import SolverError
from choral.problem.kernel import Floats, Problem, conditional
from choral.proofs.lines import LinesBound
from choral.solvers.lines.budget_cells import GRID_BITS
from choral.solvers.lines.regular_cells import RegularCells

FREE = 1e-11
"""A price below this, in bits per bit, is none."""
SLACK = 1e-12
"""By so much, in bits, log q_l is lowered so that rounding cannot make Σ q_l exceed one."""
SMALLEST = 1e-30
NEVER_REACHED = 1e-9
ROUNDING = 1e-12
NEARLY = 1e-3
"""Share of a budget by which a channel may exceed it: it is mixed with one that tells nothing, at about this cost ..."""
MISSED = 1e-6
"""... beside so much, in bits or in masses: a conic solver misses tiny budgets, and ratios of codes that are rarer still."""
TIGHTEST = 1e-10
"""What a conic program is solved to at most, in nats."""


@dataclass(frozen=True)
class Group:
    """A group with a budget: P(z | s) (one row per state), p(z), its entropy in nats, and what is allowed."""

    position: int
    given: Floats
    marginal: Floats
    kind: str
    amount: float

    @property
    def values(self) -> int:
        return len(self.marginal)

    @property
    def entropy(self) -> float:
        return float(-(self.marginal * np.log(self.marginal)).sum())

    def leak_of_states(self, prior: Floats) -> float:
        """I(Z;S) in bits."""
        safe = np.where(self.given > 0, self.given, 1.0)
        return (self.entropy + float((prior[:, None] * safe * np.log(safe)).sum())) / math.log(2)

    def binds(self, prior: Floats) -> bool:
        """Whether the budget can be exceeded: I(Z;Y) ≤ I(Z;S) for every channel."""
        return self.kind == "ratio" or self.amount < self.leak_of_states(prior) + NEVER_REACHED

    def leak(self, z: Floats) -> float:
        """I(Z;Y) in bits of the masses z, one column per code."""
        return self.entropy / math.log(2) - float(weighted_entropies(z.T @ self.given).sum())

    def nearly_kept(self, z: Floats) -> bool:
        """Whether it is within the budget but for what making it exact mends: a conic solver may end far from it."""
        if self.kind == "leakage":
            return self.leak(z) <= (1 + NEARLY) * self.amount + MISSED
        even, here = np.outer(z.sum(axis=0), self.marginal), z.T @ self.given
        over = np.maximum(here - self.amount * even, even / self.amount - here)
        return bool((over <= NEARLY * (self.amount - 1) * even + MISSED).all())

    def keeps_ratio(self, z: Floats) -> bool:
        """Whether every p(z | y) is within the factor, up to rounding; so it is where the budget is in bits."""
        if self.kind != "ratio":
            return True
        odds = (z.T @ self.given) / np.outer(z.sum(axis=0), self.marginal)
        return bool(odds.max() <= self.amount * (1 + ROUNDING) and odds.min() * self.amount >= 1 - ROUNDING)


@dataclass(frozen=True)
class Answer:
    """What a conic program gave: p(l | s), multipliers for the equations and the groups' values, and prices."""

    shares: Floats
    nu: Floats
    by_group: list[Floats]
    prices: list[float]

    def at(self, lines: NDArray[np.int64]) -> Answer:
        """With the multipliers of these lines, some perhaps more than once."""
        return replace(self, nu=self.nu[lines], by_group=[nu[lines] for nu in self.by_group])


def budgeted_groups(problem: Problem) -> list[Group]:
    """The groups that have a budget."""
    groups = []
    for g, variable in enumerate(problem.groups):
        budget = problem.budget(g)
        if budget is not None:
            marginal = np.array([w / problem.total for w in variable.marginal])
            given = conditional(variable, problem.weights).T
            groups.append(Group(g, given, marginal, budget.kind, float(budget.amount)))
    return groups


def conic(
    cost: Floats,
    p: Floats,
    M: Floats,
    groups: Sequence[Group],
    seconds: float,
    accuracy: float = TIGHTEST,
    pairs: NDArray[np.bool_] | None = None,
) -> Answer | None:
    """Minimise Σ p_s x_sl cost_sl over x_sl = p(l | s) within the budgets, and zero but for these pairs of states and lines.

    Beside x there are, for leaking groups, the masses of values and of lines, so that cones have few entries, and entropies.
    The accuracy is in nats.
    """
    import clarabel

    N, L = cost.shape
    r = M.shape[1]
    state, line = np.nonzero(np.ones(cost.shape, dtype=bool) if pairs is None else pairs)
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
    solved = program.solver(clarabel, (cost * p[:, None])[state, line], settings).solve()
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
            prices.append(0.0)
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
    return Answer(shares_, nu, by_group, prices)


def entries_of(pairs: int, M: Floats, groups: Sequence[Group]) -> int:
    """How many entries the matrix of a conic program with so many pairs of states and lines has, nearly."""
    of_groups = sum(
        2.0 * group.values if group.kind == "ratio" else float(np.count_nonzero(group.given)) / len(group.given)
        for group in groups
    )
    return int(pairs * (2 + M.shape[1] + of_groups))


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

    def solver(self, clarabel: Any, cost: Floats, settings: Any) -> Any:
        """For a cost of the first variables."""
        row, column, entries = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        A = sparse.csc_matrix((entries, (row, column)), shape=(self.height, self.width))
        linear = np.concatenate([cost, np.zeros(self.width - len(cost))])
        square = sparse.csc_matrix((self.width, self.width))
        return clarabel.DefaultSolver(square, linear, A, np.concatenate(self._right), self._cones, settings)


_GOOD = {"Solved", "AlmostSolved", "MaxTime", "InsufficientProgress", "MaxIterations"}


def reduced(cost: Floats, M: Floats, groups: Sequence[Group], answer: Answer) -> Floats:
    """Costs of states and lines less what the multipliers say."""
    found = cost - M @ answer.nu.T
    for group, nu in zip(groups, answer.by_group, strict=True):
        found = found - group.given @ nu.T
        if group.kind == "ratio":
            found = found + (np.where(nu >= 0, nu / group.amount, nu * group.amount) @ group.marginal)
    return found


def proved(cost: Floats, p: Floats, M: Floats, groups: Sequence[Group], answer: Answer) -> float:
    """What the multipliers prove about H(W|Y), up to rounding; also within other budgets than they were found for."""
    allowed = 0.0
    for group, price in zip(groups, answer.prices, strict=True):
        if group.kind == "leakage":
            allowed += price * (group.entropy / math.log(2) - group.amount)
    return float(p @ reduced(cost, M, groups, answer).min(axis=1)) + allowed


def lines_of(
    problem: Problem,
    cells: RegularCells,
    ids: list[int],
    rows: tuple[int, ...],
    groups: Sequence[Group],
    answer: Answer,
) -> LinesBound:
    """The multipliers, which belong to these rows of P and to the values of the groups, as a proof."""
    number: dict[tuple[int, ...], int] = {}
    indexed = [tuple(number.setdefault(vertex, len(number)) for vertex in cells.vertices(cell)) for cell in ids]
    start = list(itertools.accumulate((len(group.values) for group in problem.groups), initial=0))
    prices = [Fraction(0)] * len(problem.groups)
    listed = [list(map(float, row)) for row in answer.nu]
    every = list(rows)
    for group, nu, price in zip(groups, answer.by_group, answer.prices, strict=True):
        prices[group.position] = Fraction(price)
        every += range(start[group.position], start[group.position] + group.values)
        for row, more in zip(listed, nu.tolist(), strict=True):
            row += more
    if not all(math.isfinite(x) for row in listed for x in row):
        raise SolverError("A multiplier is not finite.", "Loosen the budget, or report this.")
    return LinesBound(
        1 << GRID_BITS,
        tuple(number),
        tuple(indexed),
        tuple(every),
        tuple(tuple(Fraction(x) for x in row) for row in listed),
        tuple(prices),
    )
