"""What a reduction is: a smaller problem, and the way back from its answer.

A reduction never changes what it is given. `apply` returns the reduced problem with what `invert` needs;
`invert(apply(p))` turns an answer of the reduced problem into an answer of the original with the same
information and a bound that holds for the original.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol, TypeVar

from choral.problem.kernel import Index, Problem
from choral.problem.solution import ExactChannel, Numbers, Solution

T = TypeVar("T")


class Inverse(Protocol):
    """The way back from the reduced problem."""

    def invert(self, solution: Solution) -> Solution:
        """The answer to the original problem."""
        ...


@dataclass(frozen=True)
class Reduced:
    """A reduced problem and the way back."""

    problem: Problem
    inverse: Inverse


@dataclass(frozen=True)
class Unchanged:
    """The way back where nothing was reduced."""

    def invert(self, solution: Solution) -> Solution:
        """The same answer."""
        return solution


@dataclass(frozen=True)
class Joined:
    """The way back where states were joined into classes: every state has the row of its class, label[s]."""

    problem: Problem
    reduced: Problem
    label: Index

    @cached_property
    def _members(self) -> list[list[int]]:
        members: list[list[int]] = [[] for _ in self.reduced.states]
        for s, c in enumerate(self.label.tolist()):
            members[c].append(s)
        return members

    def invert(self, solution: Solution) -> Solution:
        """The same channel on the original states, and the proof of the same bound for the original problem."""
        channel = ExactChannel(solution.channel.codes, self.states(solution.channel.rows))
        purpose = None if solution.purpose is None else solution.purpose.pulled_back(self)
        return replace(solution, channel=channel, bound=solution.bound.pulled_back(self), purpose=purpose)

    @property
    def exchangeable(self) -> tuple[tuple[str, ...], ...]:
        """No columns were permuted."""
        return ()

    def states(self, listed: Sequence[T]) -> tuple[T, ...]:
        """For every state what its class has."""
        return tuple(listed[c] for c in self.label.tolist())

    def posterior(self, t: Mapping[int, Fraction]) -> dict[int, Fraction]:
        """Masses of classes shared among their states, in proportion to the prior."""
        old, new = self.problem.weights, self.reduced.weights
        return {s: mass * Fraction(old[s], new[c]) for c, mass in t.items() for s in self._members[c]}

    def group(self, position: int) -> int:
        """All groups were kept."""
        return position

    def rows(self, rows: tuple[int, ...]) -> tuple[tuple[int, ...], Callable[[Numbers], Numbers]]:
        """All rows were kept."""
        return rows, tuple
