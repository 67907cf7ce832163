"""The sandwich LP for targets of two, three or four values: a channel in floats, and lines that prove a bound.

What comes out is rough: floats, private up to rounding. `choral.exact.repair` makes the channel private and
`choral.proofs.lines` computes what the lines prove.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from choral.describe.entropy import weighted_entropies
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import ExactChannel, Proof, Status
from choral.solvers.lines.chords import ENTROPY, Chords
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.program import LineSolver
from choral.solvers.lines.refinement import Aim, Enclosure, Equations, enclosed
from choral.solvers.lines.sample import chords_enclosed
from choral.solvers.lines.simplex import Simplices
from choral.solvers.lines.thinning import thinned

MOST_VALUES = 4
"""Targets with more values need too many cells."""


ProofT = TypeVar("ProofT")


@dataclass(frozen=True)
class Rough(Generic[ProofT]):
    """A channel in floats (one row per code, p(y | s)), what proves its bound, and how it ended.

    `exact` is a channel in integers that was made before, for other budgets, and is to be taken as it is.
    """

    channel: Floats
    bound: ProofT
    how: str
    status: Status
    history: tuple[tuple[float, float], ...]
    exact: ExactChannel | None = None


def by_lines(problem: Problem, aim: Aim) -> Rough[Proof]:
    """A nearly private channel and multipliers for lines that cover the simplex, whatever stops it."""
    rows, M = constraints(problem)
    prior, Q = problem.prior / problem.prior.sum(), problem.posterior().T
    found = sandwiched(prior, M, Q, aim)
    z = thinned(found.z, prior, M, lambda masses: conditional_entropy(masses, Q))
    found = replace(found, z=z)
    if aim.progress is not None and found.history:
        information = problem.entropy_of_target - conditional_entropy(z, Q)
        aim.progress(information, found.upper_bound, f"{np.count_nonzero(z)} entries kept")
    how = f"sandwich with {found.lines} lines ({found.status.value})"
    return Rough(shares(z, prior), found.proof(rows), how, found.status, found.history)


def sandwiched(
    p: Floats,
    M: Floats,
    Q: Floats,
    aim: Aim,
    solver: LineSolver | None = None,
) -> Enclosure[Chords] | Enclosure[Simplices]:
    """Enclose the largest I(W;Y) over private channels, in bits: p(s), centred equations M, and P(w | s), a row per state."""
    kept = Equations(p, M, solver or InteriorPoint())
    if Q.shape[1] == 2:
        cells = Chords.over(ENTROPY, p, M, Q[:, 1])
        return enclosed(cells, kept, aim) if solver else chords_enclosed(cells, kept, aim)
    return enclosed(Simplices.over(p, Q, aim.tol, aim.stopped), kept, aim)


def conditional_entropy(z: Floats, Q: Floats) -> float:
    """H(W|Y) in bits of the masses z, one column per code."""
    return float(weighted_entropies(z.T @ Q).sum())


def shares(z: Floats, prior: Floats) -> Floats:
    """p(y | s), one row per code; a state too rare for floats takes the most likely code."""
    mass = z.sum(axis=1)
    common = np.eye(z.shape[1])[int(z.sum(axis=0).argmax())]
    rare = ~(mass > 0) | ~(prior > 0)
    found = z / np.where(rare, 1.0, mass)[:, None]
    found[rare] = common
    return found.T
