"""The group bound: what the law alone says before anything is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import flint

from choral.describe.ball_arithmetic import ball_of
from choral.describe.entropy import entropy_ball
from choral.problem.bounds import best_group
from choral.problem.budget import Budget
from choral.problem.kernel import Problem, Variable
from choral.problem.solution import WayBack


@dataclass(frozen=True)
class GroupBound:
    """The group bound: I(W;Y) ≤ I(W;S) - I(W;Z) for the protected group at this position.

    Where the group has a budget, I(Z;Y) is added: at most α bits, or log ρ. Without a group it is the data-processing
    inequality, I(W;Y) ≤ I(W;S).
    """

    kind: ClassVar[str] = "group"
    since: ClassVar[int] = 1

    group: int | None

    @classmethod
    def best(cls, problem: Problem) -> GroupBound:
        """That of the group that says most."""
        return cls(best_group(problem)[0])

    def bits(self, problem: Problem) -> flint.arb:
        """I(W;S), less what the group says about the target, plus what its budget allows."""
        total, target = problem.total, problem.target
        known = _STATES.get(target)
        if known is None or known[0] is not problem.weights:
            h_states = entropy_ball(Fraction(w, total) for w in problem.weights)
            h_both = entropy_ball(Fraction(w, total) for w in target.weight)
            known = _STATES[target] = problem.weights, h_states - h_both
        if self.group is None:
            return problem.target_entropy() + known[1]
        group = problem.groups[self.group]
        h_group = entropy_ball(Fraction(w, total) for w in group.marginal)
        h_both = entropy_ball(w / total for w in problem.with_target(group).values())
        return known[1] - h_group + h_both + _allowed(problem.budget(self.group))

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        return {"kind": self.kind, "group": self.group}

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> GroupBound:
        """What `to_document` wrote."""
        return cls(document["group"])

    def pulled_back(self, way: WayBack) -> GroupBound:
        """The same group of the original."""
        return self if self.group is None else GroupBound(way.group(self.group))


_STATES: WeakKeyDictionary[Variable, tuple[tuple[int, ...], flint.arb]] = WeakKeyDictionary()
"""The weights of the states, and H(S) - H(W,S), by the target: the same for problems that differ in their budgets alone."""


def _allowed(budget: Budget | None) -> flint.arb:
    """I(Z;Y) is at most this, in bits, within a budget."""
    if budget is None:
        return flint.arb(0)
    amount = ball_of(budget.amount)
    return amount if budget.kind == "leakage" else amount.log() / flint.arb(2).log()
