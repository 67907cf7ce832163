"""Promises given what others know, for people to read: what each says, and what it leaves open.

`Z | V` alone says nothing of what V tells about Z, so the code may tell that; with `Z` beside it, it may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from choral.design.result import Disclosure
from choral.problem.kernel import Conditional, Problem
from choral.problem.promises import Promise
from choral.release.leakage import Leakage, Published
from choral.tables.binned import Cutting, spoken


@dataclass(frozen=True)
class InWords:
    """A promise under a condition: who is meant, what stays hidden from them, and how `protect` would write both."""

    promise: Conditional
    bins: Mapping[str, Cutting]

    @property
    def known(self) -> str:
        """What somebody knows."""
        only = dict(self.promise.only)
        return " and ".join(
            f"that {name} is {only[name]}" if name in only else spoken([name], self.bins) for name in self.promise.known
        )

    @property
    def hidden(self) -> str:
        """What they learn nothing more about."""
        return spoken(self.promise.hidden, self.bins, " and ")

    @property
    def said(self) -> str:
        """The promise."""
        return f"somebody who knows {self.known} learns nothing more about {self.hidden}"

    @property
    def not_covered(self) -> str:
        """Where it ends."""
        return "somebody who knows it in part, or another column as well, is not covered"

    @property
    def both(self) -> str:
        """As `protect` has it together with the hidden columns by themselves."""
        promise = Promise(self.promise.hidden, self.promise.known, self.promise.only)
        return f"{'+'.join(promise.hidden)}, {promise.written}"

    @property
    def left_open(self) -> str:
        """What it does not hide by itself."""
        return f"what {self.known} tells about {self.hidden}"


def in_words(problem: Problem, bins: Mapping[str, Cutting]) -> list[InWords]:
    """Every promise of a problem that has a condition."""
    return [InWords(promise, bins) for promise in problem.conditions]


def alone(problem: Problem, promise: Conditional) -> bool:
    """Whether what is hidden under the condition is not hidden without it: no group without a budget has all of it."""
    free = [group for g, group in enumerate(problem.groups) if problem.budget(g) is None]
    return not any(set(promise.hidden) <= set(group.columns) for group in free)


def left_open(found: Disclosure) -> list[tuple[Conditional, Leakage]]:
    """For every promise `Z | V` without `Z` beside it, what the code tells about Z to somebody who knows nothing else."""
    promises = [promise for promise in found.problem.conditions if alone(found.problem, promise)]
    if not promises:
        return []
    published = Published.of(found)
    return [(promise, published.leakage(promise.hidden)) for promise in promises]
