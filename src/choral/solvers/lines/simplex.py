"""The sandwich linear program for targets of a few values, with a certificate in exact geometry.

Minimise H(W|Y) over private channels z (z_sy >= 0, sum_y z_sy = p_s, M^T z_y = 0). The entropy is
replaced by the minimum of the lines of cells that tile the probability simplex over W; each line
agrees with the entropy at the vertices of its cell, so the minimum is below the entropy
everywhere, the program is linear, and its multipliers prove a bound. Cells are refined where the mass goes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from choral.describe.entropy import entropies
from choral.solvers.lines.lines_lp import LPSolution, StructuredInteriorPoint, repaired_bound
from choral.solvers.lines.on_cells import OnCells, Round, conditional_entropy
from choral.solvers.lines.regular_cells import RegularCells, to_grid

Array = NDArray[np.float64]
Solver = Callable[..., tuple[Array, Array, float, float]]
Progress = Callable[[float, float, str], None]

GRID_BITS = 36
NEGLIGIBLE_MASS = 1e-11  # states of this total mass are given the product channel
PRIVACY_ERROR = 1e-8  # channels of larger residuals (M with unit mean squares) are not scored
MANY_PAIRS = 400_000  # above this many pairs (state, line) only the promising ones enter the program
LINES_PER_STATE = 20  # at least so many of them for every state
AROUND = 0.3  # extra points lie at this fraction of the way from a posterior to the corners of its cell
RARE_SYMBOL = 1e-9  # symbols rarer than this are merged into one


@dataclass
class _Reduced:
    """The problem without its negligible states, with the columns of M made orthonormal.

    ``restore_z`` gives the left-out states the product channel, so privacy stays exact;
    multipliers go back through ``back``: nu = nu_reduced @ back.T.
    """

    kept: NDArray[np.bool_]
    p: Array
    M: Array
    Q: Array
    back: Array

    @staticmethod
    def of(p: Array, M: Array, Q: Array, negligible: float) -> _Reduced:
        order = np.argsort(p)
        kept = np.ones(len(p), dtype=bool)
        kept[order[np.cumsum(p[order]) <= negligible]] = False
        p_kept = p[kept] / p[kept].sum()
        centred = M[kept] - p_kept @ M[kept]
        largest = np.maximum(np.abs(centred).max(axis=0, initial=0.0), 1e-300)
        left, sizes, right = np.linalg.svd(centred / largest, full_matrices=False)
        rank = int((sizes > 1e-13 * sizes.max(initial=0.0)).sum())
        scale = np.sqrt(len(p_kept))
        back = right[:rank].T / sizes[:rank] * scale / largest[:, None]
        return _Reduced(kept, p_kept, left[:, :rank] * scale, Q[kept], back)

    def restore_z(self, z: Array, p: Array) -> Array:
        """z (kept states) as a channel of all states; its columns sum like those of z."""
        full = np.outer(p, z.sum(axis=0))
        full[self.kept] = z * p[self.kept].sum()
        return full


@dataclass
class _Interval:
    """The best channel and the best bound found so far."""

    z: Array
    information: float
    upper_bound: float
    history: list[Round] = field(default_factory=list)


def sandwich_simplex(
    p: Array,
    M: Array,
    Q: Array,
    *,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
    solve_lp: Solver | None = None,
) -> OnCells:
    """The most informative private channel about W, within a proved interval.

    Stops when upper_bound - information <= tol, or <= rel_tol * information, or at the time limit
    or when should_stop() is true; the interval returned is valid in every case.
    """
    p = np.asarray(p, dtype=float)
    Q = np.asarray(Q, dtype=float)
    M = np.asarray(M, dtype=float).reshape(len(p), -1)
    refinement = _Refinement(p, M, Q, tol, rel_tol, time_limit, progress, should_stop, solve_lp)
    # Many small factorisations: on a busy machine, a second BLAS thread made them ten times slower.
    with threadpool_limits(limits=1, user_api="blas"):
        return refinement.run()


class _Refinement:
    """The state of one call of ``sandwich_simplex``."""

    def __init__(
        self,
        p: Array,
        M: Array,
        Q: Array,
        tol: float,
        rel_tol: float | None,
        time_limit: float | None,
        progress: Progress | None,
        should_stop: Callable[[], bool] | None,
        solve_lp: Solver | None,
    ) -> None:
        self.p, self.M, self.Q = p, M, Q
        self.K = Q.shape[1]
        self.tol, self.rel_tol = tol, rel_tol
        self.started = time.monotonic()
        self.deadline = None if time_limit is None else self.started + time_limit
        self.progress, self.external_stop, self.solve_lp = progress, should_stop, solve_lp
        self.reduced = _Reduced.of(p, M, Q, min(NEGLIGIBLE_MASS, 1e-3 * tol))
        self.prior = p @ Q
        self.target_entropy = float(entropies(self.prior))
        self.floor = Q.min(axis=0)  # no posterior has a smaller coordinate
        self.cells = RegularCells(self.K, 1 << GRID_BITS)
        self.bits = max(10, math.ceil(0.5 * math.log2(1.0 / max(tol, 1e-15))) + 3)  # loses well below tol
        self.nu: dict[int, Array] = {0: np.zeros(self.reduced.M.shape[1])}
        self.mass: dict[int, Array] = {0: np.array(self.reduced.p)}  # z of every cell's line
        self.best = _Interval(p[:, None].copy(), 0.0, np.inf)
        self.patience = 1.0  # below one after rounds without progress: solve more accurately

    # -- stopping ---------------------------------------------------------------------------

    def must_stop(self) -> bool:
        late = self.deadline is not None and time.monotonic() > self.deadline
        return late or (self.external_stop is not None and self.external_stop())

    def wanted_gap(self) -> float:
        """The largest gap that ends the search."""
        return max(self.tol, (self.rel_tol or 0.0) * self.best.information)

    def done(self) -> bool:
        return self.best.upper_bound - self.best.information <= self.wanted_gap()

    # -- geometry ---------------------------------------------------------------------------

    def insert(self, t: Array) -> bool:
        """Add the posterior t; new cells inherit multipliers (the bound cannot fall) and mass."""
        change = self.cells.insert(to_grid(t.tolist(), self.cells.denominator, self.bits))
        if change is None:
            return False
        removed, parents = change
        zero = np.zeros(self.reduced.M.shape[1])
        nu = {new: sum((w * self.nu[old] for old, w in weights.items()), zero) for new, weights in parents.items()}
        share = np.sum([self.mass.pop(old) for old in removed], axis=0) / len(parents)
        for old in removed:
            del self.nu[old]
        for new in parents:
            self.nu[new] = nu[new]
            self.mass[new] = share
        return True

    def insert_first_points(self) -> None:
        """The prior and a lattice on the smallest corner simplex around all posteriors."""
        self.insert(self.prior)
        K = self.K
        parts = {2: 8, 3: 4, 4: 3}.get(K, 2)
        room = 1.0 - self.floor.sum()
        for counts in itertools.product(range(parts + 1), repeat=K):
            if sum(counts) == parts and not self.must_stop():
                self.insert(self.floor + room * np.array(counts) / parts)

    # -- linear programs --------------------------------------------------------------------

    def run(self) -> OnCells:
        self.update_bound(list(self.cells.members))
        self.insert_first_points()
        status = "stopped"
        stalled = 0
        while True:
            ids = list(self.cells.members)
            self.update_bound(ids)
            if self.done() or self.must_stop():
                break
            before = self.best.upper_bound - self.best.information
            solution = self.solve(ids)
            self.record(ids, solution)
            if self.done() or self.must_stop():
                break
            inserted = self.refine(ids, solution)
            gap = self.best.upper_bound - self.best.information
            stalled = stalled + 1 if inserted == 0 or gap > 0.98 * before else 0
            self.patience = 0.05**stalled
            if stalled >= 6:
                status = "stalled"
                break
        if self.done():
            status = "optimal"
        return self.result(status)

    def line_costs(self, ids: list[int]) -> Array:
        return self.reduced.Q @ self.cells.coefficients[ids].T

    def update_bound(self, ids: list[int]) -> None:
        """The bound of the present cells and multipliers, over all states."""
        nu = np.array([self.nu[i] for i in ids]) @ self.reduced.back.T
        bound = repaired_bound(self.Q @ self.cells.coefficients[ids].T, self.p, self.M, nu)
        self.best.upper_bound = min(self.best.upper_bound, max(self.target_entropy - bound, 0.0))

    def solve(self, ids: list[int]) -> LPSolution:
        C = self.line_costs(ids)
        p, M = self.reduced.p, self.reduced.M
        many = C.size > MANY_PAIRS and C.shape[1] * M.shape[1] > C.shape[0]
        if self.solve_lp is None and self.best.history and many:
            return self.solve_some_pairs(ids, C)
        z0 = np.array([self.mass[i] for i in ids]).T
        if self.solve_lp is not None:
            return LPSolution(*self.solve_lp(C, p, M, z0))
        solver = StructuredInteriorPoint(self.accuracy(), should_stop=self.must_stop)
        if not self.best.history:
            return solver.solve(C, p, M)
        return solver.solve(C, p, M, z0, np.array([self.nu[i] for i in ids]))

    def accuracy(self) -> float:
        """How exactly the next program is worth solving."""
        gap = self.best.upper_bound - self.best.information
        return max(self.patience * max(0.1 * self.wanted_gap(), 0.02 * gap), 1e-13)

    def solve_some_pairs(self, ids: list[int], C: Array) -> LPSolution:
        """The program over the pairs (state, line) that are nearly tight under the inherited multipliers.

        The multipliers are then tested against all pairs; pairs that they violate join, until
        the bound over all pairs is as good as the program's (or five times). Lines without
        pairs keep their inherited multipliers.
        """
        p, M = self.reduced.p, self.reduced.M
        gap = self.best.upper_bound - self.best.information
        nu = np.array([self.nu[i] for i in ids])
        slack = C - M @ nu.T
        slack -= slack.min(axis=1, keepdims=True)
        few = min(LINES_PER_STATE, len(ids) - 1)
        mask = slack <= np.maximum(np.partition(slack, few, axis=1)[:, few], 3.0 * gap)[:, None]
        _add_blocking_pairs(mask, slack, M)
        best = LPSolution(np.zeros(C.shape), nu, np.inf, repaired_bound(C, p, M, nu))
        for _ in range(5):
            kept = np.flatnonzero(mask.sum(axis=0) > M.shape[1])
            solver = StructuredInteriorPoint(self.accuracy(), should_stop=self.must_stop)
            part = solver.solve_pairs(C[:, kept], p, M, mask[:, kept], nu[kept])
            nu = nu.copy()
            nu[kept] = part.nu
            slack = C - M @ nu.T
            dual = float(p @ slack.min(axis=1))
            z = np.zeros(C.shape)
            z[:, kept] = part.z
            best = LPSolution(z, nu if dual > best.dual else best.nu, part.primal, max(dual, best.dual))
            if dual > part.dual - 0.05 * gap or self.must_stop():
                break
            tight = np.where(mask[:, kept], slack[:, kept], np.inf).min(axis=1)
            mask |= slack < tight[:, None] + gap
        return best

    def record(self, ids: list[int], solution: LPSolution) -> None:
        """Keep the channel and the multipliers where they are better than what is known."""
        z, p, M = solution.z, self.reduced.p, self.reduced.M
        errors = np.abs(z.sum(axis=1) - p).max(), np.abs(M.T @ z).max(initial=0.0)
        if max(errors) <= PRIVACY_ERROR and z.min() >= 0.0:
            full = self.reduced.restore_z(_merge_rare_symbols(z), self.p)
            information = self.target_entropy - conditional_entropy(full, self.Q)
            if information > self.best.information:
                self.best.information, self.best.z = information, full
        C = self.line_costs(ids)
        present = np.array([self.nu[i] for i in ids])
        old = repaired_bound(C, self.reduced.p, self.reduced.M, present)
        if repaired_bound(C, self.reduced.p, self.reduced.M, solution.nu) > old:
            self.nu = dict(zip(ids, solution.nu, strict=True))
        self.mass = dict(zip(ids, solution.z.T, strict=True))
        self.update_bound(ids)
        best = self.best
        best.history.append(Round(time.monotonic() - self.started, len(ids), best.information, best.upper_bound))
        if self.progress is not None:
            self.progress(best.information, best.upper_bound, f"{len(ids)} lines")

    def refine(self, ids: list[int], solution: LPSolution) -> int:
        """Insert the posteriors that carry the gap, and points around them; how many were new."""
        joint = solution.z.T @ self.reduced.Q
        mass = joint.sum(axis=1)
        used = np.flatnonzero(mass > 1e-12)
        posteriors = joint[used] / mass[used, None]
        lines = self.cells.coefficients[np.array(ids)[used]]
        losses = mass[used] * (entropies(posteriors) - (lines * posteriors).sum(axis=1))
        order = np.argsort(-losses)
        enough = max(0.25 * self.wanted_gap(), 0.02 * losses.sum())
        tail = np.cumsum(losses[order][::-1])[::-1]
        chosen = [k for k, rest in zip(order, tail, strict=True) if rest > enough]
        corners = {k: np.array(self.cells.vertices(ids[used[k]])) / self.cells.denominator for k in chosen}
        inserted = 0
        for k in chosen:
            if self.must_stop():
                break
            inserted += self.insert_around(posteriors[k], corners[k])
        return inserted

    def insert_around(self, t: Array, corners: Array) -> int:
        """Insert t (moved onto a face that it nearly touches) and points between it and the corners."""
        room = t - self.floor
        near = (room < 0.05 * (corners.max(axis=0) - self.floor)) & (room < 0.01)
        inserted = 0
        if near.any() and not near.all():
            on_face = np.where(near, self.floor, t)
            on_face[int(t.argmax())] += 1.0 - on_face.sum()
            inserted = self.insert(on_face)
            if inserted:
                t = on_face
        if not inserted:
            inserted = self.insert(t)
        for corner in corners:
            inserted += self.insert(t + AROUND * (corner - t))
        return inserted

    def result(self, status: str) -> OnCells:
        ids = list(self.cells.members)
        nu = np.array([self.nu[i] for i in ids]) @ self.reduced.back.T
        return OnCells(
            z=self.best.z,
            cells=[self.cells.vertices(i) for i in ids],
            nu=nu,
            information=self.best.information,
            upper_bound=max(self.best.upper_bound, self.best.information),
            history=self.best.history,
            status=status,
            denominator=self.cells.denominator,
        )


def _add_blocking_pairs(mask: NDArray[np.bool_], slack: Array, M: Array) -> None:
    """For every line, add the states that block its multipliers from moving far, in many directions.

    Without them the multipliers of a line whose few states do not surround zero could run away,
    and the bound over all pairs would be lost.
    """
    r = M.shape[1]
    random = np.random.default_rng(0).normal(size=(4 * r, r))
    for direction in np.vstack([np.eye(r), random / np.linalg.norm(random, axis=1, keepdims=True)]):
        slope = M @ direction
        for sign in (1.0, -1.0):
            ahead = np.flatnonzero(sign * slope > 1e-9)
            ratio = slack[ahead] / np.abs(slope[ahead])[:, None]
            mask[ahead[ratio.argmin(axis=0)], np.arange(mask.shape[1])] = True


def _merge_rare_symbols(z: Array) -> Array:
    """z with all symbols of mass below RARE_SYMBOL merged into one: still private, no mass lost."""
    rare = z.sum(axis=0) < RARE_SYMBOL
    if rare.sum() < 2:
        return z
    return np.column_stack([z[:, ~rare], z[:, rare].sum(axis=1)])
