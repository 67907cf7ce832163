"""A primal-dual interior-point method for programs over lines (docs/mathematics.md): every iterate gives a valid interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from choral.phases import hurried
from choral.solvers.lines.central_path import CentralPath, Way
from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.elimination import elimination
from choral.solvers.lines.newton import Elimination
from choral.solvers.lines.program import LineSolver, Outcome, Program, Stop, Watch
from choral.solvers.lines.restoration import restored

WARM_MIX, WARM_BOOST = 0.001, 10.0
"""A warm start: the share of the uniform channel that is mixed in, and its barrier in units of its complementarity. Chosen by
the iterations of the second and third level on sensors and tables."""
FEASIBLE, PART_MISSING = 1e-7, 0.3
"""Equalities that hold to this, or to this part of the tolerance, are restored to rounding afterwards."""
LONG = 0.3
"""Seconds of a step from which on, where somebody interrupts, the channel to start from is the result, not the last point,
restored: that takes up to three factorisations, and who interrupts does not want to wait for the percent that it brings."""


@dataclass(frozen=True)
class InteriorPoint(LineSolver):
    """Mehrotra's predictor-corrector method; stops after `max_iterations` factorisations."""

    max_iterations: int = 100

    def run(self, program: Program, should_stop: Stop | None, callback: Watch | None) -> Outcome:
        """From where the program says, or from the uniform channel."""
        if program.C.shape[1] == 1:
            return Outcome(program.p[:, None].copy(), np.zeros((1, program.M.shape[1])), 0, "optimal")
        path = _Path(program, self.tolerance)
        steps, status = path.follow(self.max_iterations, should_stop, callback)
        if status == "stopped" and hurried() and program.z is not None and path.took > LONG:
            return Outcome(program.z, path.best, steps, status)
        restored(path.main.z, path.p, path.M, path.eliminated)
        return Outcome(path.main.z, path.best, steps, status)


class _Path(CentralPath):
    """Through the channels that whitened constraints allow."""

    def __init__(self, program: Program, tolerance: float) -> None:
        states, lines = program.C.shape
        chunks = Chunks.of_states(states, lines, program.pool, program.workers)
        super().__init__(program.C, program.p, program.M, chunks)
        self.basis, self.tolerance = program.basis, tolerance
        if program.nu is not None:
            self.nu[:] = program.nu
        self.best = self.nu.copy()
        self.bound = float(self.p @ (self.C - self.M @ self.nu.T).min(axis=1))
        self.begin(program.z, WARM_MIX, WARM_BOOST)

    def judge(self) -> None:
        """The gap is that of a point that lacks nothing."""
        self.gap, proves = self.products, float(self.p @ self.lam)
        if proves > self.bound:
            self.bound, self.best = proves, self.nu.copy()

    def ended(self) -> bool:
        """Also of what the equations lack."""
        missing = float(np.abs(self.row_gap).sum() + np.abs(self.moments).sum())
        return self.gap <= self.tolerance and missing <= max(FEASIBLE, PART_MISSING * self.tolerance)

    def factorise(self) -> None:
        """By the cheaper elimination."""
        self.system = self.eliminated(self.main.d)

    def eliminated(self, d: Array) -> Elimination:
        """The Newton matrix of these quotients; raises `LinAlgError` where floats cannot hold it."""
        if not np.isfinite(d).all():
            raise np.linalg.LinAlgError("a slack vanished")
        return elimination(self.basis, d, self.chunks)

    def way(self) -> tuple[Way, list[Array]]:
        """There are masses and nothing else."""
        g, of_states = self.main.g, np.empty_like(self.row_gap)

        def part(rows: slice) -> Array:
            of_states[rows] = self.row_gap[rows] - g[rows].sum(axis=1)
            return g[rows].T @ self.M[rows]

        return Way(*self.system.solve(of_states, -self.moments - self.chunks.total(part))), []
