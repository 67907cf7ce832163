"""All reductions, one after the other, and the ways back."""

from __future__ import annotations

from choral.problem.kernel import Problem
from choral.reductions.alike import MergeAlike
from choral.reductions.base import Inverse
from choral.reductions.orbits import JoinOrbits


def reduced_problem(problem: Problem) -> tuple[Problem, list[Inverse]]:
    """The problem on orbits and classes of alike states, with the ways back in the order they are to be taken."""
    inverses: list[Inverse] = []
    if problem.further:
        return problem, inverses
    for reduction in (MergeAlike(),) if problem.budgets else (JoinOrbits(), MergeAlike()):
        reduced = reduction.apply(problem)
        if reduced.problem.size < problem.size:
            problem, inverses = reduced.problem, [reduced.inverse, *inverses]
    return problem, inverses
