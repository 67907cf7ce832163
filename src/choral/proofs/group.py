"""The group bound: what the law alone says before anything is solved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from choral.describe.ball_arithmetic import ball_of
from choral.describe.entropy import entropy_ball
from choral.problem.bounds import best_group
from choral.problem.budget import Budget
from choral.problem.kernel import Problem
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
        total = problem.total
        h_target = problem.target_entropy()
        h_states = entropy_ball(Fraction(w, total) for w in problem.weights)
        h_both = entropy_ball(Fraction(w, total) for w in problem.target.weight)
        value = h_target + h_states - h_both
        if self.group is not None:
            group = problem.groups[self.group]
            h_group = entropy_ball(Fraction(w, total) for w in group.marginal)
            value -= h_target + h_group - entropy_ball(w / total for w in problem.with_target(group).values())
            value += _allowed(problem.budget(self.group))
        return value

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


def _allowed(budget: Budget | None) -> flint.arb:
    """I(Z;Y) is at most this, in bits, within a budget."""
    if budget is None:
        return flint.arb(0)
    amount = ball_of(budget.amount)
    return amount if budget.kind == "leakage" else amount.log() / flint.arb(2).log()
