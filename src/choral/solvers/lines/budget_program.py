"""Programs over lines within budgets: the groups that have one, what answers a program, and what its multipliers prove."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from choral.describe.entropy import weighted_entropies
from choral.problem.kernel import Floats, Problem, conditional

NEVER_REACHED = 1e-9
"""A budget that is larger than what all states leak, less this, in bits, is none."""
ROUNDING = 1e-12
"""Of ratios, and of bits."""


@dataclass(frozen=True)
class Group:
    """A group with a budget: P(z | s) (one row per state), p(z), its entropy in nats, and what is allowed."""

    position: int
    given: Floats
    marginal: Floats
    kind: str
    amount: float

    @property
    def values(self) -> int:
        return len(self.marginal)

    @property
    def entropy(self) -> float:
        return float(-(self.marginal * np.log(self.marginal)).sum())

    def leak_of_states(self, prior: Floats) -> float:
        """I(Z;S) in bits."""
        safe = np.where(self.given > 0, self.given, 1.0)
        return (self.entropy + float((prior[:, None] * safe * np.log(safe)).sum())) / math.log(2)

    def binds(self, prior: Floats) -> bool:
        """Whether the budget can be exceeded: I(Z;Y) ≤ I(Z;S) for every channel, and nothing is said of a single value."""
        return self.values > 1 and (self.kind == "ratio" or self.amount < self.leak_of_states(prior) + NEVER_REACHED)

    def leak(self, z: Floats) -> float:
        """I(Z;Y) in bits of the masses z, one column per code."""
        return self.entropy / math.log(2) - float(weighted_entropies(z.T @ self.given).sum())

    def keeps(self, z: Floats) -> bool:
        """Whether these masses are within the budget, up to rounding."""
        return self.keeps_ratio(z) if self.kind == "ratio" else self.leak(z) <= self.amount + ROUNDING

    def keeps_ratio(self, z: Floats) -> bool:
        """Whether every p(z | y) is within the factor, up to rounding; so it is where the budget is in bits."""
        if self.kind != "ratio":
            return True
        z = z[:, z.sum(axis=0) > 0]
        odds = (z.T @ self.given) / np.outer(z.sum(axis=0), self.marginal)
        return bool(odds.max() <= self.amount * (1 + ROUNDING) and odds.min() * self.amount >= 1 - ROUNDING)


@dataclass(frozen=True)
class Multipliers:
    """Of every line, for the equations and for the groups' values; and prices, one for each group."""

    nu: Floats
    by_group: list[Floats]
    prices: list[float]


@dataclass(frozen=True)
class Answer(Multipliers):
    """What a program gave, after so many steps: multipliers, and p(l | s). `gap` is what they prove less than it costs."""

    shares: Floats
    gap: float = 0.0
    steps: int = 0


def budgeted_groups(problem: Problem) -> list[Group]:
    """The groups that have a budget."""
    groups = []
    for g, variable in enumerate(problem.groups):
        budget = problem.budget(g)
        if budget is not None:
            marginal = np.array([w / problem.total for w in variable.marginal])
            given = conditional(variable, problem.weights).T
            groups.append(Group(g, given, marginal, budget.kind, float(budget.amount)))
    return groups


def reduced(cost: Floats, M: Floats, groups: Sequence[Group], answer: Multipliers) -> Floats:
    """Costs of states and lines less what the multipliers say."""
    found = cost - M @ answer.nu.T
    for group, nu in zip(groups, answer.by_group, strict=True):
        found = found - group.given @ nu.T
        if group.kind == "ratio":
            found = found + (np.where(nu >= 0, nu / group.amount, nu * group.amount) @ group.marginal)
    return found


def proved(cost: Floats, p: Floats, M: Floats, groups: Sequence[Group], answer: Multipliers) -> float:
    """What the multipliers prove about H(W|Y), up to rounding; also within other budgets than they were found for.

    Of some states it is their part in that.
    """
    allowed = 0.0
    for group, price in zip(groups, answer.prices, strict=True):
        if group.kind == "leakage":
            allowed += price * (group.entropy / math.log(2) - group.amount)
    return float(p @ reduced(cost, M, groups, answer).min(axis=1)) + allowed * float(p.sum())
