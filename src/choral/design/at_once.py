"""Problems of a form that is solved at once, without a search: states on a line, and one group that is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from choral.design.limits import Clock
from choral.errors import ProblemError
from choral.problem.form import Form
from choral.problem.kernel import Problem
from choral.problem.solution import Solution
from choral.proofs.rank import posed
from choral.solvers.rank import rank_within_group
from choral.solvers.transport import by_transport

MOST_PAIRS = 1_000_000
"""Transport up to this many pairs of states: more take minutes to verify."""


@dataclass(frozen=True)
class ByTransport:
    """States on a line: an optimal transport problem."""

    name: Literal["transport"] = "transport"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the rank is 2 and the pairs of states are not too many."""
        if not problem.plain or form.rank != 2 or form.states * form.states // 4 > MOST_PAIRS:
            return None
        return f"rank 2: {form.states} states on a line, an optimal transport problem"

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the rank is 2."""
        if form.rank != 2:
            raise ProblemError(
                f"Transport needs rank 2, and the rank is {form.rank}.", "Choose enumeration or sandwich."
            )

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum to within floating-point error; it cannot be stopped, and takes seconds at most."""
        return by_transport(problem)


@dataclass(frozen=True)
class ByRank:
    """One protected group that the state determines: the rank within the group, best for every purpose at once."""

    name: Literal["rank"] = "rank"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether one group, or one `Z | V`, of the state is all that is protected, and the target has two values."""
        if posed(problem) is None:
            return None
        return (
            "one group is protected and used: the rank within the group is best, with all its codes for every decision, "
            "threshold and cost at once, cut to few for what it was cut for"
        )

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the problem has this form."""
        if posed(problem) is None:
            raise ProblemError(
                "The rank within the group needs one protected group that is used, and a target of two values.",
                "Leave out solver=.",
            )

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum; where it would be too large to write down, or few codes are asked for, the best cut of it."""
        limits = clock.limits  # the fewest that lose little are chosen of all
        return rank_within_group(problem, limits.codes if limits.spare is None else None, limits.tol)
