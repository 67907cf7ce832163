"""Along a curve: the same question within several budgets, each point with what was found at the others.

Bounds of one point hold at the others, and its channels can be mixed, or taken as they are (`Beside`). So a point is searched
only where these leave the interval wider than the tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from choral.describe.law import Law
from choral.design.disclose import Posed, solved
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.problem.bounds import best_group
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import floats_of
from choral.reductions.base import Joined
from choral.solvers.lines.beside import Beside, Known
from choral.solvers.lines.budget_program import Group, budgeted_groups
from choral.solvers.lines.refinement import Aim

FLOATS = 1e-9
"""Bits that floats may get wrong of what a channel tells."""


@dataclass(frozen=True)
class _Point:
    """A problem of the curve, reduced, with its budgets as searches see them, and what the law alone says is told at most.

    `beside` is what was found at points where the same groups have a budget, if some have one.
    """

    problem: Problem
    posed: Posed
    groups: tuple[Group, ...]
    most: float
    beside: Beside | None


def solved_along(law: Law, problems: Sequence[Problem], limits: Limits) -> Iterator[Disclosure]:
    """The disclosures of problems that differ in their budgets alone, in their order, as soon as all before are there.

    Where budgets rise in that order, so does what is told. A time limit is for each of them; Ctrl-C stops the one that is
    searched and all that follow.
    """
    with Limits().running():
        curve = _Curve(law, problems, limits)
        for k, point in enumerate(curve.points):
            while k not in curve.found and not curve.serves(point):
                curve.solve(curve.next(point))
            if k not in curve.found or curve.tells_more(k):
                curve.solve(k)
            yield curve.found[k]


class _Curve:
    """The points, those that were solved, and what was found at them."""

    def __init__(self, law: Law, problems: Sequence[Problem], limits: Limits) -> None:
        self.law, self.limits, self.aim = law, limits, Aim(limits.tol, limits.rel_tol)
        self.points = _points(problems)
        self.rising = sorted(range(len(problems)), key=lambda k: sum(g.amount for g in self.points[k].groups))
        self.found: dict[int, Disclosure] = {}
        others = {id(point.beside): (point.beside, point.posed) for point in self.points}
        for k, point in enumerate(self.points):
            if point.beside is None:
                self.solve(k)
                for beside, posed in others.values():
                    if beside is not None:
                        beside.channels.append(Known(_masses(self.found[k], posed), self.found[k].information, {}))

    def solve(self, k: int) -> None:
        """Solve a point, or solve it again."""
        point = self.points[k]
        self.found[k] = solved(self.law, point.problem, self.limits, point.beside, point.posed)

    def serves(self, point: _Point) -> bool:
        """Whether a point needs no search."""
        beside = point.beside
        return beside is not None and beside.serves(point.groups, point.most, self.aim.wanted)

    def tells_more(self, k: int) -> bool:
        """Whether a channel that was made for another point tells more than that of this one: it is where a search begins."""
        point = self.points[k]
        best = None if point.beside is None else point.beside.best(point.groups)
        return best is not None and best.told > self.found[k].information + FLOATS

    def next(self, wanted: _Point) -> int:
        """Where to search next for a point: one of the longest run of points that need it, a third from below.

        Curves bend more at small budgets, and where nearly all is told, larger ones need no search.
        """
        runs: list[list[int]] = [[]]
        for k in self.rising:
            if self.points[k].beside is not wanted.beside:
                continue
            if k in self.found or self.serves(self.points[k]):
                runs.append([])
            else:
                runs[-1].append(k)
        longest = max(runs, key=len)
        return longest[len(longest) // 3]


def _points(problems: Sequence[Problem]) -> list[_Point]:
    """The problems as points; those where the same groups have a budget share what is found."""
    kinds = [tuple(budget is not None for budget in problem.budgets) for problem in problems]
    posed: dict[bool, Posed] = {}
    beside = {kind: Beside() for kind in kinds if kind}
    points = []
    for problem, kind in zip(problems, kinds, strict=True):
        if bool(kind) not in posed:
            posed[bool(kind)] = Posed.of(problem)
        mine = posed[bool(kind)].within(problem)
        groups = tuple(budgeted_groups(mine.small))
        points.append(_Point(problem, mine, groups, best_group(mine.small)[1], beside.get(kind)))
    return points


def _masses(private: Disclosure, within: Posed) -> Floats:
    """p(s, y) of a channel as the reduced problem within budgets sees it, one row per state."""
    z = (floats_of(private.exact_channel) * private.problem.prior).T
    for inverse in within.inverses:
        assert isinstance(inverse, Joined)  # with budgets, alike states are joined and nothing else
        z = np.array([z[inverse.label == c].sum(axis=0) for c in range(within.small.size)])
    return np.asarray(z / z.sum(), dtype=np.float64)
