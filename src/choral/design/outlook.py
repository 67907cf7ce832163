"""What can be said of a law before anything is solved: bounds, the plan, extreme points, the hypergraph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from choral.describe.display import counted
from choral.describe.joint import Joint
from choral.describe.kinds import needed
from choral.describe.law import Law
from choral.design.solvers import Plan, choose
from choral.phases import phase
from choral.problem.bounds import Bounds, bounds_of
from choral.problem.form import Form, form_of
from choral.problem.hypergraph import Hypergraph, hypergraph_of
from choral.problem.kernel import Problem
from choral.problem.pose import pose_self, problem_of
from choral.problem.question import Group, Question
from choral.problem.utility import Cells, Utility
from choral.reductions.chain import reduced_problem
from choral.solvers import enumeration
from choral.solvers.listed_orbits import PROVED


def bounds(
    law: Law,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
    *,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
) -> Bounds:
    """What can be said before solving: feasibility, rank, nullity, the upper bound, |Y|, the price.

    >>> import choral as ch
    >>> b = ch.bounds(ch.examples.bsc_and_bec(), reveal="W")
    >>> b.feasible, b.rank, b.nullity, b.codes_at_most
    (True, 4, 2, 3)
    """
    return bounds_of(problem_of(law, Question(reveal, protect, use, order, leakage, ratio)))


def self_bounds(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Bounds:
    """The same for self-disclosure; `efficiency_at_most` is the self-disclosure bound, η̂ ≤ 1 - max H(X_j) / H(Xⁿ).

    >>> import choral as ch
    >>> b = ch.self_bounds(ch.examples.bernoulli(0.5, 4))
    >>> b.upper_bound, b.efficiency_at_most
    (3.0, 0.75)
    """
    return bounds_of(pose_self(joint, protect, use, order))


@dataclass(frozen=True)
class Outlook:
    """What the planner sees: the problem as posed, as reduced, and what it would do."""

    states: int
    form: Form
    plan: Plan
    solvable_exactly: bool

    def __str__(self) -> str:
        reduced = f", joined into {self.form.states}" if self.form.states < self.states else ""
        return (
            f"{counted(self.states, 'state')}{reduced}; rank {self.form.rank}, nullity {self.form.nullity}, "
            f"{self.form.target_values} target values\n{self.plan}"
        )


def plan(
    law: Law,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
    *,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
    also: Sequence[Joint] | None = None,
    utility: str | Cells | Utility = "bits",
    solver: str | None = None,
) -> Outlook:
    """How `disclose` would solve this, and why, without solving it: the arguments are the same.

    >>> import choral as ch
    >>> print(ch.plan(ch.examples.noisy_copies(6)))
    64 states, joined into 7; rank 2, nullity 5, 2 target values
    transport: rank 2: 7 states on a line, an optimal transport problem
    """
    question = Question(reveal, protect, use, order, leakage, ratio, utility=utility)
    return outlook_of(problem_of(law, question, also), solver)


@phase("planning")
def outlook_of(problem: Problem, solver: str | None = None) -> Outlook:
    """How a problem would be solved, and why."""
    small, _ = reduced_problem(problem)
    form = form_of(small)
    chosen = choose(small, form, solver)
    exactly = chosen.solver in ("closed form", "enumeration", "transport", "decision") or (
        chosen.solver == "orbits" and form.states <= 2**PROVED
    )
    return Outlook(problem.size, form, chosen, exactly)


def extreme_points(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    order: int = 1,
    most: int | None = enumeration.MOST_POINTS,
) -> list[tuple[Fraction, ...]]:
    """The extreme points of S over the states of the law without W, each a tuple of Fractions.

    >>> import choral as ch
    >>> [str(x) for x in ch.extreme_points(ch.examples.bsc_and_bec())[1]]
    ['1/4', '0', '1/4', '0', '1/2', '0']
    """
    problem = pose_self(_samples(joint), protect, None, order)
    points = enumeration.extreme_points(problem, most)
    return [tuple(point.get(s, Fraction(0)) for s in range(problem.size)) for point in points]


def hypergraph(joint: Joint, protect: str | Sequence[Group] | None = None) -> Hypergraph:
    """The n-partite hypergraph of the support of the law without W; its incidence matrix is P."""
    return hypergraph_of(pose_self(_samples(joint), protect))


def _samples(joint: Joint) -> Joint:
    needed(Joint, joint, "A {} is not a joint law.", "Give a Joint.")
    return joint.marginal([name for name in joint.names if name != "W"])
