"""A primal-dual interior-point method for programs over lines (docs/mathematics.md): every iterate gives a valid interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.elimination import Elimination, centred_duals, elimination
from choral.solvers.lines.program import LineSolver, Outcome, Program, Status, Stop, Watch
from choral.solvers.lines.restoration import restored

STEP = 0.995
"""How far towards the boundary a step may go: nearer, and the next step is short."""
SECOND_ORDER = 10.0
"""Bound on the second-order term, in units of the barrier: without it a poor predictor throws the point off the path."""
CORRECTORS = 3
"""Centrality correctors at most per factorisation: each costs a solve, and is kept only where it lengthens the step."""
SHORT = 0.1
"""A step below this is followed by a centring step."""
PATIENCE = 8
"""So many steps in a row that are short in both spaces mean that floats are exhausted."""
WARM_MIX, WARM_BOOST, WARM_FLOOR = 0.001, 10.0, 0.3
"""A warm start: the share of the uniform channel that is mixed in, its barrier in units of its complementarity, and the least
complementarity in units of that barrier. Chosen by the iterations of the second and third level on sensors and tables."""
FEASIBLE, PART_MISSING = 1e-7, 0.3
"""Equalities that hold to this, or to this part of the tolerance, are restored to rounding afterwards."""
LARGE_PIECE, SMALL_PIECE = 1024, 32_768
"""States of a piece at most, whose columns then fit a cache; but at least so many numbers: handing less over costs more."""


@dataclass(frozen=True)
class InteriorPoint(LineSolver):
    """Mehrotra's predictor-corrector method; stops after `max_iterations` factorisations."""

    max_iterations: int = 100

    def run(self, program: Program, should_stop: Stop | None, callback: Watch | None) -> Outcome:
        """From where the program says, or from the uniform channel."""
        run = _Run(self, program)
        return run.solve(program.z, program.nu, should_stop, callback)


class _Run:
    """One run of the interior-point method on whitened constraints."""

    def __init__(self, options: InteriorPoint, program: Program) -> None:
        self.options, self.basis = options, program.basis
        self.C, self.p, self.M = program.C, program.p, program.M
        states, lines = self.C.shape
        rank = self.M.shape[1]
        size = max(min(LARGE_PIECE, -(-states // program.workers)), SMALL_PIECE // lines)
        self.chunks = Chunks(states, size, program.pool, program.workers)
        self.z = np.empty_like(self.C)
        self.s = np.empty_like(self.C)
        self.lam = np.empty(states)
        self.nu = np.zeros((lines, rank))

    # -- starting points

    def start(self, z0: Array | None, nu0: Array | None) -> None:
        """Set a strictly feasible primal-dual point, centred as well as is cheap."""
        C, p, M = self.C, self.p, self.M
        lines = C.shape[1]
        uniform = np.broadcast_to(p[:, None] / lines, C.shape)
        if nu0 is not None:
            self.nu[:] = nu0
        reduced = C - M @ self.nu.T
        if z0 is None:
            self.z[:] = uniform
            spread = reduced.max(axis=1) - reduced.min(axis=1)
            barrier = float((p * spread).max()) / lines
        else:
            mix = WARM_MIX
            self.z[:] = (1 - mix) * np.maximum(z0, 0) + mix * uniform
            slack = reduced - reduced.min(axis=1)[:, None]
            barrier = WARM_BOOST * float(np.einsum("sl,sl->", self.z, slack)) / C.size
        barrier = max(barrier, 1e-300)
        self.lam[:] = centred_duals(reduced, p, barrier)
        np.subtract(reduced, self.lam[:, None], out=self.s)
        if z0 is not None:
            np.maximum(self.z, WARM_FLOOR * barrier / self.s, out=self.z)

    # -- the iteration

    def solve(
        self,
        z0: Array | None,
        nu0: Array | None,
        should_stop: Stop | None,
        callback: Watch | None,
    ) -> Outcome:
        """Iterate; return the channel, the multipliers, the iterations and why it ended."""
        if self.C.shape[1] == 1:
            return Outcome(self.p[:, None].copy(), self.nu, 0, "optimal")
        self.start(z0, nu0)
        best_dual, best_nu = float(self.p @ (self.C - self.M @ self.nu.T).min(axis=1)), self.nu.copy()
        status: Status = "iteration limit"
        short_steps = 0
        centring = False
        iteration = 0
        d = np.empty_like(self.C)
        for iteration in range(self.options.max_iterations + 1):
            row_gap, column_gap, gap, primal = self.residuals(d)
            dual = float(self.p @ self.lam)
            if dual > best_dual:
                best_dual, best_nu = dual, self.nu.copy()
            if callback is not None:
                callback(iteration, primal, best_dual)
            missing = float(np.abs(row_gap).sum() + np.abs(column_gap).sum())
            if gap <= self.options.tolerance and missing <= max(FEASIBLE, PART_MISSING * self.options.tolerance):
                status = "optimal"
                break
            if should_stop is not None and should_stop():
                status = "stopped"
                break
            if short_steps >= PATIENCE:
                status = "stalled"
                break
            if iteration == self.options.max_iterations:
                break
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    steps = self.step(self.eliminate(d), d, row_gap, column_gap, gap, centring)
            except np.linalg.LinAlgError:  # the arithmetic is exhausted: keep what there is
                status = "stalled"
                break
            centring = min(steps) < SHORT
            short_steps = short_steps + 1 if max(steps) < SHORT else 0
        restored(self.z, self.p, self.M, self.eliminate)
        return Outcome(self.z, best_nu, iteration, status)

    def residuals(self, d: Array) -> tuple[Array, Array, float, float]:
        """Set ``d = z / s``; return what rows and columns lack, the gap and the cost."""
        z, s, C, M = self.z, self.s, self.C, self.M
        row_gap = np.empty(len(self.p))

        def part(rows: slice) -> tuple[Array, float, float]:
            with np.errstate(divide="ignore", over="ignore"):
                np.divide(z[rows], s[rows], out=d[rows])
            row_gap[rows] = self.p[rows] - z[rows].sum(axis=1)
            gap = float(np.einsum("sl,sl->", z[rows], s[rows]))
            cost = float(np.einsum("sl,sl->", z[rows], C[rows]))
            return z[rows].T @ M[rows], gap, cost

        parts = self.chunks.each(part)
        moments = sum((a for a, _, _ in parts[1:]), start=parts[0][0])
        return row_gap, -moments, sum(b for _, b, _ in parts), sum(c for _, _, c in parts)

    def eliminate(self, d: Array) -> Elimination:
        """Factorise the Newton matrix by the cheaper elimination; raises `LinAlgError` where floats cannot hold it."""
        if not np.isfinite(d).all():
            raise np.linalg.LinAlgError("a slack vanished")
        return elimination(self.basis, d, self.z.sum(axis=0), self.chunks)

    def step(
        self,
        system: Elimination,
        d: Array,
        row_gap: Array,
        column_gap: Array,
        gap: float,
        centring: bool,
    ) -> tuple[float, float]:
        """Take one step; return the primal and dual step lengths.

        The step is a predictor-corrector step, or (``centring``) aims at the central
        path for the present barrier, which repairs a point that lies too near the boundary.
        """
        z, s, M = self.z, self.s, self.M
        barrier = gap / z.size
        move = np.empty_like(z)  # dlam + M dnu = -ds
        g = np.negative(z)

        def direction(dlam: Array, dnu: Array) -> tuple[float, float]:
            """Fill ``move``; return the longest primal and dual steps."""

            def part(rows: slice) -> tuple[float, float]:
                np.matmul(M[rows], dnu.T, out=move[rows])
                move[rows] += dlam[rows, None]
                ratio = d[rows] * move[rows]
                ratio += g[rows]
                ratio /= z[rows]
                dual = move[rows] / s[rows]
                return float(ratio.min()), float(dual.max())

            parts = self.chunks.each(part)
            down = max(1e-300, -min(a for a, _ in parts))
            up = max(1e-300, max(b for _, b in parts))
            return min(1.0, 1 / down), min(1.0, 1 / up)

        dlam, dnu = system.solve(g, row_gap, column_gap)
        primal_step, dual_step = direction(dlam, dnu)

        def affine_gap(rows: slice) -> float:
            dz = g[rows] + d[rows] * move[rows]
            return float(np.einsum("sl,sl->", z[rows] + primal_step * dz, s[rows] - dual_step * move[rows]))

        after = max(0.0, sum(self.chunks.each(affine_gap))) / z.size
        target = barrier if centring else barrier * (after / barrier) ** 3
        clip = 0.0 if centring else SECOND_ORDER * barrier

        def second_order(rows: slice) -> None:
            term = (g[rows] + d[rows] * move[rows]) * move[rows]
            np.clip(term, -clip, clip, out=term)
            term += target
            term /= s[rows]
            g[rows] += term

        self.chunks.each(second_order)
        dlam, dnu = system.solve(g, row_gap, column_gap)
        primal_step, dual_step = direction(dlam, dnu)

        def recentre(primal: float, dual: float) -> None:
            """Add to ``g`` what brings outlying products of a longer step back to the target."""

            def part(rows: slice) -> None:
                dz = g[rows] + d[rows] * move[rows]
                product = (z[rows] + primal * dz) * (s[rows] - dual * move[rows])
                term = np.clip(product, 0.1 * target, 10 * target)
                term -= product
                np.maximum(term, -10 * target, out=term)
                term /= s[rows]
                g[rows] += term

            self.chunks.each(part)

        for _ in range(CORRECTORS):
            if min(primal_step, dual_step) > 0.9:
                break
            kept = g.copy(), move.copy(), dlam, dnu, primal_step, dual_step
            recentre(min(1.0, 1.08 * primal_step + 0.08), min(1.0, 1.08 * dual_step + 0.08))
            dlam, dnu = system.solve(g, row_gap, column_gap)
            primal_step, dual_step = direction(dlam, dnu)
            if primal_step + dual_step < kept[4] + kept[5] + 0.02:
                g[:], move[:] = kept[0], kept[1]
                dlam, dnu, primal_step, dual_step = kept[2:]
                break

        fraction = STEP
        primal_step = min(1.0, fraction * primal_step)
        dual_step = min(1.0, fraction * dual_step)

        if not (np.isfinite(g).all() and np.isfinite(move).all()):
            raise np.linalg.LinAlgError("a step without end")

        def update(rows: slice) -> None:
            z[rows] += primal_step * (g[rows] + d[rows] * move[rows])
            s[rows] -= dual_step * move[rows]

        self.chunks.each(update)
        self.lam += dual_step * dlam
        self.nu += dual_step * dnu
        return primal_step, dual_step
