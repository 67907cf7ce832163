"""What a reduction is: a smaller problem, and the way back from its answer.

A reduction never changes what it is given. `apply` returns the reduced problem with what `invert` needs;
`invert(apply(p))` turns an answer of the reduced problem into an answer of the original with the same
information and a bound that holds for the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from choral.problem.kernel import Problem
from choral.problem.solution import Solution


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


class Reduction(Protocol):
    """A change of problem that loses nothing."""

    def apply(self, problem: Problem) -> Reduced:
        """The reduced problem and the way back from it."""
        ...
