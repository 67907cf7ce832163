"""The problem that a law and the arguments of `disclose` pose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from choral.describe.compact import Exchangeable, Sensors
from choral.describe.joint import Joint
from choral.describe.law import Law
from choral.errors import ProblemError
from choral.problem.budget import budgets_for, further_law
from choral.problem.compact import pose_score, pose_types
from choral.problem.kernel import Problem
from choral.problem.pose import Group, pose


def problem_of(
    law: Law,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Problem:
    """The problem that a law and the arguments of `disclose` pose."""
    if isinstance(law, Joint):
        return pose(law, reveal, protect, use, order)
    if isinstance(law, Exchangeable | Sensors):
        if reveal not in (None, "W", ["W"], ("W",)) or protect is not None or use is not None:
            raise ProblemError(
                f"A {type(law).__name__} law reveals W and protects its samples alike.",
                "Leave out reveal, protect and use; say order=2 to protect pairs. A Joint takes them all.",
            )
        if isinstance(law, Exchangeable):
            return pose_types(law, order)
        if order != 1:
            raise ProblemError(f"order={order} through a score.", "A score protects each sensor alone (order=1).")
        return pose_score(law)
    raise ProblemError(
        f"A {type(law).__name__} is not a law.", "Build one with Joint.from_table, from_counts, from_array or observed."
    )


def with_budgets(
    law: Law,
    problem: Problem,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
    also: Sequence[Any] | None = None,
) -> Problem:
    """The problem with budgets for some of its groups, or with further laws."""
    names, columns = [g.name for g in problem.groups], [g.columns for g in problem.groups]
    budgets = budgets_for(names, columns, leakage, ratio)
    if problem.conditions and (budgets or also):
        first, beside = problem.conditions[0], "a budget" if budgets else "further laws"
        raise ProblemError(
            f"'{first.name}' together with {beside}.",
            f"Protect '{'+'.join(first.both.columns)}' together instead, or leave out the {beside.split()[-1]}.",
        )
    if also is None or (isinstance(also, Sequence) and not also):
        return replace(problem, budgets=budgets) if budgets else problem
    if isinstance(also, Joint) or not isinstance(also, Sequence):
        raise ProblemError(f"also is a {type(also).__name__}.", "Give a list of Joint laws: also=[J2].")
    if not isinstance(law, Joint):
        raise ProblemError(f"Further laws beside a {type(law).__name__}.", "Give a Joint law and further Joint laws.")
    if budgets:
        raise ProblemError(
            "A budget together with further laws.",
            "Ask for one of them: budgets are about one law, also= for independence.",
        )
    further = tuple(
        further_law(law, other, problem.columns, columns, f"law {k} in `also`") for k, other in enumerate(also, start=1)
    )
    return replace(problem, further=further)
