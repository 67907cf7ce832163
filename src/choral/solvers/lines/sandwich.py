"""The sandwich LP for targets of two, three or four values: a channel in floats, and lines that prove a bound.

What comes out is rough: floats, private up to rounding. `choral.exact.repair` makes the channel private and
`choral.proofs.lines` computes what the lines prove.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import Status
from choral.proofs.lines import LinesBound
from choral.solvers.lines.binary import sandwich_binary
from choral.solvers.lines.on_cells import conditional_entropy
from choral.solvers.lines.simplex import sandwich_simplex
from choral.solvers.lines.thinning import thinned

Progress = Callable[[float, float, str], None]
MOST_VALUES = 4
"""Targets with more values need too many cells."""


@dataclass(frozen=True)
class Rough:
    """A channel in floats (one row per code, p(y | s)), lines for its bound, and how it ended."""

    channel: Floats
    bound: LinesBound
    how: str
    status: Status
    history: tuple[tuple[float, float], ...]


class Level(Protocol):
    """The interval at one level of refinement, in bits."""

    @property
    def information(self) -> float:
        """Achieved."""
        ...

    @property
    def upper_bound(self) -> float:
        """Proved."""
        ...


class Found(Protocol):
    """What both refinements give: masses p(s, y), the number of lines, how it ended, and the proof."""

    @property
    def z(self) -> Floats:
        """p(s, y), one row per state."""
        ...

    @property
    def lines(self) -> int:
        """How many lines there are in the end."""
        ...

    @property
    def status(self) -> str:
        """A value of `Status`."""
        ...

    @property
    def history(self) -> Sequence[Level]:
        """One entry per level."""
        ...

    def proof(self, rows: tuple[int, ...]) -> LinesBound:
        """The lines with their multipliers, which belong to these rows of P."""
        ...


@dataclass(frozen=True)
class Sandwich:
    """Lines below the entropy; stops at a gap of `tol`, or `rel_tol` of the information, or when told to."""

    tol: float = 1e-6
    rel_tol: float | None = None
    time_limit: float | None = None

    def solve(
        self, problem: Problem, progress: Progress | None = None, should_stop: Callable[[], bool] | None = None
    ) -> Rough:
        """A nearly private channel and multipliers for lines that cover the simplex, whatever stops it."""
        rows, M = constraints(problem)
        prior = problem.prior / problem.prior.sum()
        posterior = problem.posterior()
        search = sandwich_binary if len(problem.target.values) == 2 else sandwich_simplex
        found: Found = search(
            prior,
            M,
            posterior[1] if search is sandwich_binary else posterior.T,
            tol=self.tol,
            rel_tol=self.rel_tol,
            time_limit=self.time_limit,
            progress=progress,
            should_stop=should_stop,
        )
        status, history = Status(found.status), tuple((level.information, level.upper_bound) for level in found.history)
        z = thinned(found.z, prior, M, lambda masses: conditional_entropy(masses, posterior.T))
        if progress is not None and history:
            information = problem.entropy_of_target - conditional_entropy(z, posterior.T)
            progress(information, history[-1][1], f"{np.count_nonzero(z)} entries kept")
        return Rough(
            shares(z, prior), found.proof(rows), f"sandwich with {found.lines} lines ({status.value})", status, history
        )


def shares(z: Floats, prior: Floats) -> Floats:
    """p(y | s), one row per code; a state too rare for floats takes the most likely code."""
    mass = z.sum(axis=1)
    common = np.eye(z.shape[1])[int(z.sum(axis=0).argmax())]
    rare = ~(mass > 0) | ~(prior > 0)
    safe = np.where(rare, 1.0, mass)
    return np.where(rare[:, None], common, z / safe[:, None]).T
