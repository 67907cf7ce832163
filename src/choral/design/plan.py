"""Which solver, and why: by the form of the problem alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from choral.errors import ProblemError
from choral.problem.form import Form
from choral.problem.kernel import Problem
from choral.solvers.enumeration import most_extreme_points
from choral.solvers.sandwich import MOST_VALUES

SolverName: TypeAlias = Literal["closed form", "enumeration", "transport", "sandwich", "coarse"]
FEW_POINTS = {2: 3_000, 3: 20_000, 4: 20_000}
"""Up to this many extreme points (by the upper bound theorem) enumeration is preferred, by the target's values."""
MANY_POINTS = 60_000
"""The same for targets with more values, where only enumeration proves the optimum."""
MOST_PAIRS = 1_000_000
"""Transport up to this many pairs of states: more take minutes to verify."""


@dataclass(frozen=True)
class Plan:
    """The solver, the reason, and what it promises."""

    solver: SolverName
    why: str

    def __str__(self) -> str:
        return f"{self.solver}: {self.why}"


def plan(form: Form, solver: str | None = None) -> Plan:
    """The way to solve a (reduced) problem of this form, or the one asked for if it can.

    >>> plan(Form(states=1001, rank=2, nullity=999, feasible=True, target_values=2)).solver
    'transport'
    """
    if solver is not None:
        return _asked(form, solver)
    if not form.feasible:
        return Plan("closed form", "the protected values determine all that could be told")
    if form.nullity == 1:
        return Plan("closed form", "nullity 1: two extreme points, the same for every target")
    if form.rank == 2 and _pairs(form) <= MOST_PAIRS:
        return Plan("transport", f"rank 2: {form.states} states on a line, an optimal transport problem")
    points = most_extreme_points(form.states, form.rank)
    if points <= FEW_POINTS.get(form.target_values, MANY_POINTS):
        return Plan("enumeration", f"at most {points:,} extreme points, so list them all and mix them")
    if form.target_values <= MOST_VALUES:
        return Plan(
            "sandwich",
            f"up to {points:.2g} extreme points are too many to list; the target has {form.target_values} values, "
            "so lines below its entropy give a channel and a bound",
        )
    return Plan(
        "coarse",
        f"up to {points:.2g} extreme points are too many to list, and lines for a target of {form.target_values} values "
        f"would need a grid in {form.target_values - 1} dimensions; the channel is a good one (made for {MOST_VALUES} "
        "groups of values, then mixed from extreme points found at random), the bound is the group bound",
    )


def plan_beyond(problem: Problem, form: Form, solver: str | None = None) -> Plan:
    """The way to solve a problem with budgets or with further laws: by lines, whatever its size."""
    if solver not in (None, "sandwich"):
        raise ProblemError(f"solver='{solver}' with a budget or further laws.", "Leave it out: lines are used.")
    asked = "budgets" if problem.budgets else "further laws"
    if form.target_values <= 1:
        return Plan("closed form", "the target has one value")
    if form.target_values <= MOST_VALUES:
        return Plan("sandwich", f"{asked}: lines below the entropy of a target of {form.target_values} values")
    return Plan(
        "coarse",
        f"{asked}, and a target of {form.target_values} values: the channel is made for {MOST_VALUES} groups of values, "
        "the bound is the group bound",
    )


def _asked(form: Form, solver: str) -> Plan:
    why = "asked for"
    if solver not in get_args(SolverName):
        raise ProblemError(f"There is no solver '{solver}'.", f"Choose one of: {', '.join(get_args(SolverName))}.")
    if solver == "closed form" and form.feasible and form.nullity > 1:
        raise ProblemError(f"No closed form for nullity {form.nullity}.", "Leave the choice to the planner.")
    if solver == "transport" and form.rank != 2:
        raise ProblemError(f"Transport needs rank 2, and the rank is {form.rank}.", "Choose enumeration or sandwich.")
    if solver == "sandwich" and not 2 <= form.target_values <= MOST_VALUES:
        raise ProblemError(
            f"The sandwich takes targets of 2 to {MOST_VALUES} values, and this one has {form.target_values}.",
            f"It would need a grid in {form.target_values - 1} dimensions. Merge values, or leave out solver=.",
        )
    return Plan(solver, why)  # type: ignore[arg-type]


def _pairs(form: Form) -> int:
    return form.states * form.states // 4
