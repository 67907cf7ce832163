"""Targets of many values: extreme points are generated, and boxes of laws prove how much can be missing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from choral.design.afterwards import Afterwards
from choral.design.limits import Clock
from choral.errors import ProblemError
from choral.exact.information import stated_bound, stated_information
from choral.exact.repair import repair
from choral.problem.form import Form, constraints
from choral.problem.kernel import Problem
from choral.problem.solution import Proof, Solution, Status
from choral.proofs.group import GroupBound
from choral.solvers.branching.search import NEVER_BELOW, Branching
from choral.solvers.coarse import with_coarse_target
from choral.solvers.lines.refinement import Aim
from choral.solvers.lines.sandwich import by_lines, shares

MOST_STATES = 600
"""Above this a program takes tens of milliseconds, and a tree thousands of them."""
MANY_VALUES = 12
"""Above this boxes in as many dimensions prove next to nothing: points are generated, and the root is all of the tree."""
WORK = 80_000_000
"""Without a time limit: some fifteen seconds of linear programs (`choral.solvers.branching.programs`), whatever the problem;
the same search on every machine."""
HASTY = 0.1
"""Where no time is left for a search: a code for two groups of values, searched to this share of what it tells, takes some
tenths of a second for so many states as these, and tells half or more of what the best one tells."""
MOST_BOXES = 150_000
"""A file of some tens of megabytes, which is verified in minutes."""


@dataclass(frozen=True)
class ByBranching:
    """A target of many values: generate extreme points, and branch over laws of the target to prove that none is missing."""

    name: Literal["branching"] = "branching"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether states are few enough, and no group has a budget."""
        if problem.budgets or form.states > MOST_STATES:
            return None
        proved = (
            "boxes of laws of the target prove how much can be missing"
            if form.target_values <= MANY_VALUES
            else "the bound is the group bound"
        )
        return (
            f"extreme points are too many to list and the target has {form.target_values} values: points are generated, and "
            f"{proved}"
        )

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless there is something to tell, without budgets."""
        if problem.budgets:
            raise ProblemError("Branching takes no budgets.", "Leave out solver=.")

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """A channel that is nearly the best, with the better of two bounds: that of the tree and the group bound."""
        rows, M = constraints(problem)
        prior = problem.prior / problem.prior.sum()
        limits = clock.limits
        after = Afterwards.of(problem, form, limits)
        found = Branching(
            np.asarray(prior, dtype=np.float64),
            np.asarray(M, dtype=np.float64).reshape(len(prior), -1),
            np.ascontiguousarray(problem.posterior().T),
            rows,
            limits.tol,
            limits.rel_tol,
            most_boxes=MOST_BOXES if form.target_values <= MANY_VALUES else 1,
            most_work=WORK if limits.time_limit is None else math.inf,
            progress=clock.say,
            should_stop=clock.stopped,
            ahead=lambda boxes: clock.expect(after.by_boxes(boxes)),
        ).run()
        proofs: list[Proof] = [found.proof]
        if problem.plain and problem.groups:
            proofs.append(GroupBound.best(problem))
        best = min(proofs, key=lambda proof: stated_bound(problem, proof))
        channel, status = repair(problem, shares(found.z, prior)), found.status
        told = float(stated_information(problem, channel))
        if told == 0 and clock.stopped() and for_haste(problem, form):
            return hasty(problem)
        wanted = max(limits.tol, (limits.rel_tol or 0.0) * told) + 2 * NEVER_BELOW
        if float(stated_bound(problem, best)) - told <= wanted:
            status = Status.OPTIMAL
        elif best is not found.proof and status not in (Status.WORK_LIMIT, Status.STOPPED):
            status = Status.NOT_PROVED
        elif status is Status.OPTIMAL:  # in floats, which masses were beyond
            status = Status.STALLED
        how = f"branching with {found.boxes} boxes ({status.value})"
        return Solution(channel, best, how, status, found.history)


def for_haste(problem: Problem, form: Form) -> bool:
    """Whether there is something to tell, and a code that does is found in tenths of a second."""
    return problem.plain and problem.utility is None and form.feasible and form.states <= MOST_STATES


def hasty(problem: Problem) -> Solution:
    """A code that tells something, where there was no time for a search."""
    small = problem if len(problem.target.values) == 2 else with_coarse_target(problem, 2)
    rough = by_lines(small, Aim(rel_tol=HASTY))
    how = "a code for two groups of the target's values, since no time was left for a search"
    return Solution(repair(problem, rough.channel), GroupBound.best(problem), how, Status.STOPPED)
