"""When a search by lines ends and what it says, be it about the problem itself or about one whose target is coarser."""

from __future__ import annotations

from typing import TypeAlias

from choral.design.afterwards import Afterwards
from choral.design.limits import Clock, Progress
from choral.problem.bounds import best_group
from choral.problem.form import Form
from choral.problem.kernel import Problem
from choral.solvers.lines.refinement import Aim

Intervals: TypeAlias = tuple[tuple[float, float], ...]


def aim_of(problem: Problem, form: Form, clock: Clock, whole: Problem) -> Aim:
    """When a search by lines ends: in time for what comes after it, with a proof by lines or (of a coarser target) none."""
    limits, after, proved = clock.limits, Afterwards.of(problem, form, clock.limits), problem is whole

    def ahead(lines: int) -> None:
        clock.expect(after.by_lines(lines) if proved else after.simply())

    say = clock.say if proved else _of_the_whole(whole, clock)
    return Aim(limits.tol, limits.rel_tol, say, clock.stopped, ahead)


def _of_the_whole(problem: Problem, clock: Clock) -> Progress:
    """What a search for a coarser target says, as it is for the problem itself: it has another bound."""
    bound = best_group(problem)[1]
    return lambda information, _, message: clock.say(information, bound, f"a coarser target: {message}")


def with_bound_of(problem: Problem, history: Intervals) -> Intervals:
    """The history of a coarser target with the bound of the problem itself."""
    bound = best_group(problem)[1]
    return tuple((information, bound) for information, _ in history)
