"""The sandwich with budgets: lines below the entropy, and a conic program over the channels within the budgets.

Under a piecewise-linear cost all codes that use one line may be joined: the cost does not change, no group leaks more, and no
ratio grows. So as many codes as lines suffice, and the problem, which is not convex in general, becomes one: minimise
Σ z_sl line_l(s) subject to Σ_l z_sl = p_s, equations for the groups that stay private, linear inequalities for ratios, and
Σ_l m_l H(Z_l) ≥ H(Z) - α for leakage, with m_l the mass of line l and Z_l the group's posterior there: exponential cones.
Its multipliers prove a bound (see `LinesBound`), whatever their accuracy.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse

from choral.describe.entropy import entropies
from choral.errors import SolverError
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem, conditional
from choral.problem.solution import Status
from choral.proofs.lines import LinesBound
from choral.solvers.fewer_codes import joined_codes
from choral.solvers.lines.refinement import Progress
from choral.solvers.lines.regular_cells import RegularCells, to_grid
from choral.solvers.lines.sandwich import Rough, shares

GRID_BITS = 36
FIRST_CELLS = {2: 16, 3: 5, 4: 4}
"""The first points are a grid of this fineness over the simplex of the target, by its number of values."""
ROUNDS = 30
FREE = 1e-11
"""A price below this, in bits per bit, is none."""
SLACK = 1e-12
"""By so much, in bits, log q_l is lowered so that rounding cannot make Σ q_l exceed one."""
SMALLEST = 1e-30
NEVER_REACHED = 1e-9
SNAP = 1e-5
"""New points this near to a face of the simplex are put on it: thin cells have steep lines, and the program stalls."""
FACE = 1e-8
USED = 1e-10
"""Lines with less mass than this carry no code."""
RARE = 1e-8
"""Codes rarer than this join the most likely one: floats do not know what they say."""
AIM = 0.8
"""Share of the tolerance at which the search ends: the rest is for joining codes and for exact arithmetic."""
JOIN = 0.1
"""Codes are joined as long as that costs no more than this share of the gap."""


@dataclass(frozen=True)
class _Group:
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


@dataclass(frozen=True)
class _Answer:
    """What a conic program gave: p(l | s), multipliers for the equations and the groups' values, and prices."""

    shares: Floats
    nu: Floats
    by_group: list[Floats]
    prices: list[float]


@dataclass(frozen=True)
class Budgeted:
    """A channel within budgets that tells nearly most, and the lines that prove how nearly."""

    tol: float = 1e-6
    rel_tol: float | None = None
    time_limit: float | None = None

    def solve(
        self, problem: Problem, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> Rough | None:
        """The best channel and bound found, or None when it was stopped before there was one."""
        run = _Run(problem)
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        status = Status.LEVEL_LIMIT
        for _ in range(ROUNDS):
            left = deadline - time.monotonic()
            if left <= 0 or (should_stop is not None and should_stop()):
                status = Status.STOPPED
                break
            before = run.gap
            if not run.improve(left):
                status = Status.STALLED
                break
            run.history.append((run.information, run.upper_bound))
            if progress is not None:
                progress(run.information, run.upper_bound, f"{run.lines} lines, with budgets")
            if run.gap <= AIM * max(self.tol, (self.rel_tol or 0.0) * run.information):
                status = Status.OPTIMAL
                break
            if not run.refine() or (run.gap > 0.98 * before and run.lines > 200):
                status = Status.STALLED
                break
        return run.result(status)


class _Run:
    """Cells of the target's simplex, the best channel and the best bound so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.p = problem.prior / problem.prior.sum()
        self.Q = problem.posterior().T
        self.rows, self.M = constraints(problem)
        self.groups = _budgeted_groups(problem)
        self.prior_entropy = _entropy(self.p @ self.Q)
        self.cells = RegularCells(self.Q.shape[1], 1 << GRID_BITS)
        for point in _first_points(self.Q.shape[1]):
            self._insert(np.array(point))
        self._insert(self.p @ self.Q)
        self.information, self.upper_bound = 0.0, math.inf
        self.history: list[tuple[float, float]] = []
        self.best: Floats | None = None
        self.bound: LinesBound | None = None
        self.last: tuple[list[int], Floats] | None = None

    @property
    def gap(self) -> float:
        return self.upper_bound - self.information

    @property
    def lines(self) -> int:
        return len(self.cells.members)

    def _insert(self, point: Floats) -> bool:
        """Make the point a vertex: on a face if it is near one, and where it is if there is a vertex on the face already."""
        for near in (SNAP, FACE):
            snapped = np.where(point < near, 0.0, point)
            if self.cells.insert(to_grid(snapped.tolist(), 1 << GRID_BITS, 24)) is not None:
                return True
        return False

    def improve(self, seconds: float) -> bool:
        """Solve for the lines there are; keep what is better. False when the solver gave nothing."""
        ids = list(self.cells.members)
        coefficients = np.array([self.cells.coefficients[i] for i in ids])
        cost = self.Q @ coefficients.T
        answer = _conic(cost, self.p, self.M, self.groups, seconds)
        if answer is None:
            return self.best is not None
        z = answer.shares * self.p[:, None]
        self.last = ids, z
        mass = z.sum(axis=0)
        posterior = (z.T @ self.Q)[mass > USED] / mass[mass > USED, None]
        information = self.prior_entropy - float(mass[mass > USED] @ [_entropy(t) for t in posterior])
        if information > self.information:
            self.information, self.best = information, z[:, mass > USED]
        upper_bound = self.prior_entropy - _bound(cost, self.p, self.M, self.groups, answer)
        if upper_bound < self.upper_bound:
            self.upper_bound = upper_bound
            self.bound = _lines(self.problem, self.cells, ids, self.rows, self.groups, answer)
        return True

    def refine(self) -> bool:
        """New points where symbols cost more than their lines say; False when there are none."""
        assert self.last is not None
        ids, z = self.last
        mass = z.sum(axis=0)
        errors = []
        for k, cell in enumerate(ids):
            if mass[k] > USED:
                t = z[:, k] @ self.Q / mass[k]
                errors.append((mass[k] * (_entropy(t) - float(self.cells.coefficients[cell] @ t)), t))
        largest = max((error for error, _ in errors), default=0.0)
        return sum(self._insert(t) for error, t in errors if error > 0.01 * largest) > 0

    def result(self, status: Status) -> Rough | None:
        if self.best is None or self.bound is None:
            return None
        z = joined_codes(self.best.T, self.Q.T, 1, JOIN * max(self.gap, 1e-12))
        mass = z.sum(axis=1)
        largest = int(mass.argmax())
        z[largest] += z[mass < RARE].sum(axis=0)
        z = np.delete(z, [y for y in np.flatnonzero(mass < RARE) if y != largest], axis=0)
        how = f"sandwich within budgets, {len(self.bound.cells)} lines ({status.value})"
        return Rough(shares(z.T, self.p), self.bound, how, status, tuple(self.history))


def _budgeted_groups(problem: Problem) -> list[_Group]:
    """The groups whose budget can be exceeded: I(Z;Y) ≤ I(Z;S) for every channel."""
    groups = []
    for g, variable in enumerate(problem.groups):
        budget = problem.budget(g)
        if budget is not None:
            marginal = np.array([w / problem.total for w in variable.marginal])
            given = conditional(variable, problem.weights).T
            group = _Group(g, given, marginal, budget.kind, float(budget.amount))
            if group.kind == "ratio" or group.amount < group.leak_of_states(problem.prior) + NEVER_REACHED:
                groups.append(group)
    return groups


def _first_points(values: int) -> list[list[float]]:
    """A grid over the simplex; for two values finer towards the ends."""
    fine = FIRST_CELLS[values]
    if values == 2:
        return [[math.cos(a) ** 2, math.sin(a) ** 2] for a in np.linspace(0, math.pi / 2, fine + 1)[1:-1]]
    inner = [c for c in itertools.product(range(fine + 1), repeat=values) if sum(c) == fine and max(c) < fine]
    return [[x / fine for x in c] for c in inner]


def _entropy(t: Floats) -> float:
    return float(entropies(t[t > 0]))


def _conic(cost: Floats, p: Floats, M: Floats, groups: list[_Group], seconds: float) -> _Answer | None:
    """Minimise Σ p_s x_sl cost_sl over x_sl = p(l | s) within the budgets."""
    import clarabel

    N, L = cost.shape
    r = M.shape[1]
    leaking = [group for group in groups if group.kind == "leakage"]
    slots = [L * group.values for group in leaking]
    width = N * L + sum(slots)
    by_line = sparse.identity(L, format="csr")
    over_states = sparse.kron(by_line, sparse.csr_matrix(p[None, :]))  # masses m_l

    def wide(block: sparse.spmatrix) -> sparse.csr_matrix:
        return sparse.hstack([block, sparse.csr_matrix((block.shape[0], width - N * L))], format="csr")

    A: list[sparse.spmatrix] = []
    b: list[Floats] = []
    cones: list[object] = []

    def add(block: sparse.spmatrix, right: Floats, cone: object) -> slice:
        start = sum(x.shape[0] for x in A)
        A.append(block)
        b.append(right)
        cones.append(cone)
        return slice(start, start + block.shape[0])

    add(wide(sparse.kron(np.ones((1, L)), sparse.identity(N))), np.ones(N), clarabel.ZeroConeT(N))
    private = None
    if r:
        rows = sparse.kron(by_line, sparse.csr_matrix((M * p[:, None]).T))
        private = add(wide(rows), np.zeros(L * r), clarabel.ZeroConeT(L * r))
    add(wide(-sparse.identity(N * L)), np.zeros(N * L), clarabel.NonnegativeConeT(N * L))
    places: list[tuple[slice, slice]] = []
    offset = N * L
    for group in groups:
        m = group.values
        values = sparse.kron(by_line, sparse.csr_matrix((group.given * p[:, None]).T))  # u_lz
        masses = sparse.kron(over_states, np.ones((m, 1)))
        share = sparse.diags(np.tile(group.marginal, L))
        if group.kind == "ratio":
            rows_of_ratio = (values / group.amount - share @ masses, share @ masses / group.amount - values)
            most, least = (add(wide(rows), np.zeros(L * m), clarabel.NonnegativeConeT(L * m)) for rows in rows_of_ratio)
            places.append((most, least))
            continue
        leaks = sparse.csr_matrix((np.ones(L * m), (np.arange(L * m), offset + np.arange(L * m))), shape=(L * m, width))
        right = np.array([-(group.entropy - group.amount * math.log(2))])
        budget = add(-sparse.csr_matrix(leaks.sum(axis=0)), right, clarabel.NonnegativeConeT(1))
        triples = sparse.vstack([-leaks, -wide(values), -wide(masses)], format="csr")
        order = np.arange(3 * L * m).reshape(3, L * m).T.ravel()
        cone = add(triples[order], np.zeros(3 * L * m), clarabel.ExponentialConeT())
        cones[-1:] = [clarabel.ExponentialConeT()] * (L * m)
        places.append((budget, cone))
        offset += L * m
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    settings.max_iter = 100
    if seconds < math.inf:
        settings.time_limit = max(0.1, seconds)
    linear = np.concatenate([(cost * p[:, None]).T.ravel(), np.zeros(width - N * L)])
    square = sparse.csc_matrix((width, width))
    solved = clarabel.DefaultSolver(
        square, linear, sparse.vstack(A, format="csc"), np.concatenate(b), cones, settings
    ).solve()
    x, dual = np.array(solved.x), np.array(solved.z)
    if not (np.isfinite(x).all() and np.isfinite(dual).all()) or str(solved.status) not in _GOOD:
        return None
    shares_ = np.maximum(x[: N * L].reshape(L, N).T, 0.0)
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
    return _Answer(shares_, nu, by_group, prices)


_GOOD = {"Solved", "AlmostSolved", "MaxTime", "InsufficientProgress", "MaxIterations"}


def _bound(cost: Floats, p: Floats, M: Floats, groups: list[_Group], answer: _Answer) -> float:
    """What the multipliers prove about H(W|Y), up to rounding."""
    reduced = cost - M @ answer.nu.T
    extra = 0.0
    for group, nu, price in zip(groups, answer.by_group, answer.prices, strict=True):
        reduced = reduced - group.given @ nu.T
        if group.kind == "ratio":
            reduced = reduced + (np.where(nu >= 0, nu / group.amount, nu * group.amount) @ group.marginal)
        else:
            extra += price * (group.entropy / math.log(2) - group.amount)
    return float(p @ reduced.min(axis=1)) + extra


def _lines(
    problem: Problem, cells: RegularCells, ids: list[int], rows: tuple[int, ...], groups: list[_Group], answer: _Answer
) -> LinesBound:
    """The multipliers as a proof."""
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
