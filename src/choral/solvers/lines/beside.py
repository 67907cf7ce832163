"""Beside one another: what searches within some budgets found, and what that gives within others."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from choral.problem.kernel import Floats
from choral.proofs.lines import LinesBound
from choral.solvers.lines.budget_program import Answer, Group
from choral.solvers.lines.regular_cells import RegularCells

ROOM = 1e-9
"""Share of a budget that a mixture leaves free, so that rounding does not exceed it."""


@dataclass(frozen=True)
class Proved:
    """Lines with multipliers for groups at these positions, and the first coordinates of the outermost codes.

    Enough to say what they prove within other budgets, and to guess which lines a state may take.
    """

    bound: LinesBound
    coefficients: Floats
    answer: Answer
    positions: tuple[int, ...]
    ends: tuple[float, float]


@dataclass
class Beside:
    """What searches within other budgets found for the same law and question; all of it holds within these budgets too.

    *Bounds.* Multipliers prove a bound whatever the budgets are: with prices λ what they prove is linear in budgets of bits,
    a tangent of the best there is, which is concave. *Channels.* Where one of two channels is used with probability w and the
    other with 1 - w, and the choice is published, what is told and what leaks is the mean, and no ratio grows.
    *Multipliers.* Those of a neighbour say which lines a state may take, and where to begin.
    """

    several: bool = False
    """Whether there are points enough for a grid."""
    channels: list[Floats] = field(default_factory=list)
    """Masses p(s, y), one row per state."""
    proofs: list[tuple[float, Proved]] = field(default_factory=list)
    """With the sum of all budgets that they were found for."""
    grid: RegularCells | None = None
    """The cells that all points begin with, fine enough for the first: most then need one program."""

    def mixture(self, groups: Sequence[Group], told: Callable[[Floats], float]) -> tuple[float, Floats] | None:
        """The best channel that one or two of the known ones make within the budgets, the choice published."""
        known = [z for z in self.channels if all(group.keeps_ratio(z) for group in groups)]
        tells = [told(z) for z in known]
        limits = [(group, (1 - ROOM) * group.amount) for group in groups if group.kind == "leakage"]
        room = [np.array([limit - group.leak(z) for group, limit in limits]) for z in known]
        best: tuple[float, Floats] | None = None
        for i, j in itertools.product(range(len(known)), repeat=2):
            if room[i].min(initial=0.0) < 0 or tells[j] < tells[i]:
                continue
            over = room[j] < 0
            share = float((room[i][over] / (room[i][over] - room[j][over])).min(initial=1.0))
            mean = (1 - share) * tells[i] + share * tells[j]
            if best is None or mean > best[0]:
                best = mean, np.hstack([(1 - share) * known[i], share * known[j]])
        return best
