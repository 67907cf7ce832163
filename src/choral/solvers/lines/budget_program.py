"""Programs over lines within budgets: the groups that have one, what channels must keep, and what multipliers prove."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from choral.describe.entropy import weighted_entropies
from choral.errors import SolverError
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem, conditional
from choral.proofs.lines import LinesBound
from choral.solvers.lines import memory
from choral.solvers.lines.cells import Cells
from choral.solvers.lines.chunks import cores
from choral.solvers.lines.columns import Alike
from choral.solvers.lines.partition import Sizes
from choral.solvers.lines.program import equality_error, repaired_bound, rounding_margin
from choral.solvers.lines.refinement import Equations

NEVER_REACHED = 1e-9
"""A budget that is larger than what all states leak, less this, in bits, is none."""
ROUNDING = 1e-12
"""Of ratios, and of bits."""
PRIVATE = 1e-8
"""What the equations of private groups may miss; those of states and budgets are restored, at a cost that is counted."""


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


def budgeted_groups(problem: Problem) -> list[Group]:
    """The groups that have a budget: those in bits, and then those with a factor."""
    groups = []
    for g, variable in enumerate(problem.groups):
        budget = problem.budget(g)
        if budget is not None:
            marginal = np.array([w / problem.total for w in variable.marginal])
            given = conditional(variable, problem.weights).T
            groups.append(Group(g, given, marginal, budget.kind, float(budget.amount)))
    return sorted(groups, key=lambda group: group.kind == "ratio")


@dataclass(frozen=True)
class Budgets(Equations):
    """Equations for groups that stay private, and budgets of others, of which these bind: those in bits come first.

    Multipliers of a line are those of the equations, then those of the groups' values, and then prices of the budgets in
    bits, per bit, the same for all lines.
    """

    groups: tuple[Group, ...] = ()

    @property
    def accuracies(self) -> tuple[float, float]:
        """Less of the gap than without budgets: steps are dear, and the last ones the cheapest."""
        return 0.01, 0.03

    @cached_property
    def rows(self) -> Floats:
        """Of each state: what the equations say of it, and P(value | state)."""
        return np.hstack([self.M, *(group.given for group in self.groups)])

    @cached_property
    def in_bits(self) -> tuple[Group, ...]:
        """Those that have a price."""
        return tuple(group for group in self.groups if group.kind == "leakage")

    @property
    def width(self) -> int:
        """Of equations, values and prices."""
        return int(self.rows.shape[1]) + len(self.in_bits)

    @cached_property
    def spots(self) -> list[slice]:
        """Where the values of each group are among the multipliers."""
        ends = itertools.accumulate((group.values for group in self.groups), initial=self.M.shape[1])
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Of the states, so that those that are alike in all rows come next to one another."""
        return np.lexsort(self.rows.T)

    @cached_property
    def ordered(self) -> Budgets:
        """The same for the states in this order."""
        groups = tuple(replace(group, given=group.given[self.order]) for group in self.groups)
        return replace(self, p=self.p[self.order], M=self.M[self.order], groups=groups)

    @cached_property
    def alike(self) -> Alike:
        """Classes of states that are alike in all rows, where these are next to one another."""
        return Alike.of(self.rows)

    @property
    def sizes(self) -> Sizes:
        """What the work of a step depends on."""
        return Sizes(len(self.p), self.rows.shape[1], len(self.ordered.alike.rows))

    def check(self, lines: int) -> None:
        """Raise where it would not fit."""
        if not self.groups:
            return super().check(lines)
        remedy = "give budgets to fewer or coarser groups, or protect them without a budget"
        return memory.check(self.sizes, lines, cores(), remedy)

    def linear(self, nu: Floats) -> Floats:
        """Multipliers of rows that say the same: those of factors less what their sides are multiples of, which is said of
        all values alike."""
        found = nu[:, : self.rows.shape[1]].copy()
        for group, spot in zip(self.groups, self.spots, strict=True):
            if group.kind == "ratio":
                own = found[:, spot]
                own -= (np.where(own >= 0, own / group.amount, own * group.amount) @ group.marginal)[:, None]
        return found

    def bound(self, C: Floats, rows: slice, nu: Floats) -> float:
        """Their least reduced costs, and their part in what budgets allow."""
        p, prices = self.p[rows], nu[0, self.rows.shape[1] :]
        allowed = [group.entropy / math.log(2) - group.amount for group in self.in_bits]
        return repaired_bound(C, p, self.rows[rows], self.linear(nu)) + float(prices @ allowed) * float(p.sum())

    def margin(self, C: Floats, rows: slice, nu: Floats) -> float:
        """By the size of what is added up."""
        return rounding_margin(C, self.p[rows], self.rows[rows], self.linear(nu))

    def keeps(self, z: Floats) -> bool:
        """Nearly, and budgets to rounding."""
        private = equality_error(z, self.p, self.M) <= PRIVATE
        return private and all(group.keeps(z) for group in self.groups)

    def proof(self, problem: Problem, cells: Cells, nu: Floats) -> LinesBound:
        """Cells with multipliers as a proof: they belong to rows of P, to the groups' values, and prices to groups."""
        if not np.isfinite(nu).all():
            raise SolverError("A multiplier is not finite.", "Loosen the budget, or report this.")
        start = list(itertools.accumulate((len(group.values) for group in problem.groups), initial=0))
        prices, rows = [Fraction(0)] * len(problem.groups), list(constraints(problem)[0])
        for group in self.groups:
            rows += range(start[group.position], start[group.position] + group.values)
        for group, price in zip(self.in_bits, nu[0, len(rows) :], strict=True):
            prices[group.position] = Fraction(float(price))
        return replace(cells.proof(nu[:, : len(rows)], tuple(rows)), prices=tuple(prices))
