"""Proof by the closed form for one protected group (`solvers.rank`): groups laid out on lines, and what their rank tells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, ClassVar

import flint

from choral.describe.entropy import FIXED, minus_x_ln_x
from choral.errors import ProblemError
from choral.problem.kernel import Problem
from choral.problem.moments import Moments
from choral.problem.solution import WayBack
from choral.problem.utility import Squares


@dataclass(frozen=True)
class RankBound:
    """Proof by the closed form for one protected group (docs/mathematics.md): the rank within the group tells most."""

    kind: ClassVar[str] = "rank"
    since: ClassVar[int] = 2

    def bits(self, problem: Problem) -> flint.arb:
        """H(W) less H(W|Y) for the rank within the group, which no private code is below."""
        asked = posed(problem)
        if asked is None:
            raise ProblemError("The rank within the group is no bound here.", "This is a defect; report it.")
        value = flint.arb(0)
        for line in lines_of(problem.weights, asked.top, asked.labels, asked.condition):
            share = flint.arb(flint.fmpq(line.weight, problem.total)) / flint.arb(line.length)
            value += share * _sum_over(line, problem.weights, asked.top)
        return problem.target_entropy() - value / flint.arb(2).log()

    def worth(self, problem: Problem) -> Fraction:
        """The variance that the rank within the group explains, from above."""
        asked = posed(problem)
        if asked is None or not isinstance(problem.utility, Squares):
            raise ProblemError("The rank within the group is no bound here.", "This is a defect; report it.")
        square = Fraction(0)
        for line in lines_of(problem.weights, asked.top, asked.labels, asked.condition):
            above = len(line.groups)
            squares = sum(
                (end - start) * (low + above) ** 2 for start, end, low in _swept(line, problem.weights, asked.top)
            )
            square += Fraction(squares * line.weight, (problem.total * line.length) << 2 * FIXED)
        return Moments.of(problem).stated(square, up=True)

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        return {"kind": self.kind}

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> RankBound:
        """What `to_document` wrote."""
        return cls()

    def pulled_back(self, way: WayBack) -> RankBound:
        """Itself: it follows from the problem alone."""
        return self


@dataclass(frozen=True)
class Posed:
    """A problem for the closed form: r(s) = top[s] / weights[s], the group of every state, and each group's condition."""

    top: list[int]
    labels: list[int]
    condition: list[int]


def posed(problem: Problem) -> Posed | None:
    """The problem as the closed form sees it, or None where it does not apply.

    It does where one group that the state determines is all that is protected, or one `Z | V` with Z and V of the state, and
    the target has two values; or squared error is all that matters, and r(s) is the mean of the target.
    """
    squares = isinstance(problem.utility, Squares)
    if problem.budgets or problem.further or (len(problem.target.values) != 2 and not squares):
        return None
    if len(problem.groups) == 1 and not problem.conditions:
        [group] = problem.groups
        condition = [0] * len(group.values)
    elif not problem.groups and len(problem.conditions) == 1 and min(problem.conditions[0].given) >= 0:
        [promise] = problem.conditions
        group, condition = promise.both, list(promise.given)
    else:
        return None
    if not (group.is_function and group.screened):  # the verifier sees it in the names of the used columns
        return None
    top = [0] * problem.size
    numbers = problem.utility.whole[0] if isinstance(problem.utility, Squares) else (0, 1)
    for s, v, w in zip(
        problem.target.state.tolist(), problem.target.value.tolist(), problem.target.weight, strict=True
    ):
        top[s] += w * numbers[v]
    return Posed(top, group.value.tolist(), condition)


@dataclass(frozen=True)
class Piece:
    """A state on the line of its group: whole-numbered ends, in units of the line's length."""

    state: int
    start: int
    end: int


@dataclass(frozen=True)
class Line:
    """The states of one condition, or of all where there is none: every group laid out on a line of the same whole `length`.

    `breaks` are the ends of the intervals in order, from 0 to `length`; `weight` is that of all its states.
    """

    length: int
    weight: int
    groups: tuple[tuple[Piece, ...], ...]
    breaks: tuple[int, ...]


def lines_of(weights: Sequence[int], top: Sequence[int], labels: Sequence[int], condition: Sequence[int]) -> list[Line]:
    """The lines of states with these weights and r(s) = top[s] / weights[s], in the groups labels[s].

    condition[z] numbers the condition that the group z belongs to: one line each.
    """
    members: list[list[int]] = [[] for _ in condition]
    for s, z in enumerate(labels):
        members[z].append(s)
    lines: dict[int, list[list[int]]] = {}
    for z, states in enumerate(members):
        lines.setdefault(condition[z], []).append(_sorted(states, weights, top))
    return [_line(groups, weights) for groups in lines.values()]


def _sorted(states: list[int], weights: Sequence[int], top: Sequence[int]) -> list[int]:
    """The states in the order of r. Floats keep the order of what they round, so only equal ones are compared exactly."""
    rough = {s: top[s] / weights[s] for s in states}
    states = sorted(states, key=rough.__getitem__)
    out: list[int] = []
    for _, tied in groupby(states, key=rough.__getitem__):
        same = list(tied)
        out += same if len(same) == 1 else sorted(same, key=lambda s: Fraction(top[s], weights[s]))
    return out


def _line(groups: list[list[int]], weights: Sequence[int]) -> Line:
    sums = [sum(weights[s] for s in states) for states in groups]
    length = math.lcm(*sums)
    laid = []
    for states, total in zip(groups, sums, strict=True):
        unit, at, pieces = length // total, 0, []
        for s in states:
            pieces.append(Piece(s, at, at + unit * weights[s]))
            at = pieces[-1].end
        laid.append(tuple(pieces))
    breaks = sorted({0, *(piece.end for pieces in laid for piece in pieces)})
    return Line(length, sum(sums), tuple(laid), tuple(breaks))


def _sum_over(line: Line, weights: tuple[int, ...], top: list[int]) -> flint.arb:
    """Σ_j length_j · h(t_j), in nats."""
    groups, total = len(line.groups), flint.arb(0)
    for start, end, low in _swept(line, weights, top):
        total += flint.arb(end - start) * (
            minus_x_ln_x(low, groups) + minus_x_ln_x((1 << FIXED) - low - groups, groups)
        )
    return total


def _swept(line: Line, weights: tuple[int, ...], top: list[int]) -> Iterator[tuple[int, int, int]]:
    """Every interval with its t, swept from one to the next: (start, end, t), t in units of 2^-FIXED.

    t is rounded down, by less than a unit for every group.
    """
    held = [sum(weights[piece.state] for piece in pieces) for pieces in line.groups]

    def says(g: int, k: int) -> int:
        s = line.groups[g][k].state
        return ((held[g] * top[s]) << FIXED) // (line.weight * weights[s])

    current = [says(g, 0) for g in range(len(line.groups))]
    turns: dict[int, list[tuple[int, int]]] = {}
    for g, pieces in enumerate(line.groups):
        for k, piece in enumerate(pieces[:-1]):
            turns.setdefault(piece.end, []).append((g, k + 1))
    low = sum(current)
    for start, end in zip(line.breaks[:-1], line.breaks[1:], strict=True):
        for g, k in turns.get(start, ()):
            new = says(g, k)
            low += new - current[g]
            current[g] = new
        yield start, end, low
