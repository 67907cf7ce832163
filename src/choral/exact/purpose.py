"""What a channel is worth for its utility, in fractions: exact for a loss, rounded down for squares."""

from __future__ import annotations

from fractions import Fraction

from choral.problem.kernel import Problem
from choral.problem.moments import Moments
from choral.problem.solution import ExactChannel, constant_channel
from choral.problem.utility import Decisions


def stated_value(problem: Problem, channel: ExactChannel) -> Fraction:
    """What the channel is worth, in the unit of the problem's utility, which is not bits."""
    utility = problem.utility
    if isinstance(utility, Decisions):
        return utility.offset - sum((min(row) for row in losses(problem, utility, channel)), Fraction(0))
    moments = Moments.of(problem)
    return moments.stated(moments.explained(channel), up=False)


def value_of_nothing(problem: Problem) -> Fraction:
    """What one code for everybody is worth: the best decision without a code, or no variance explained."""
    return stated_value(problem, constant_channel(problem))


def losses(problem: Problem, utility: Decisions, channel: ExactChannel) -> list[list[Fraction]]:
    """For each code y and action a, p(y) times the expected loss."""
    cells, lines = problem.target.by_state(problem.size), utility.lines
    parts: list[dict[int, dict[int, int]]] = [{} for _ in range(channel.codes)]
    for s, (denominator, entries) in enumerate(channel.rows):
        for y, n in entries:
            sums = parts[y].setdefault(denominator, {})
            for v, w in cells[s]:
                sums[v] = sums.get(v, 0) + n * w
    unit = problem.total * lines.scale
    return [
        [
            sum((Fraction(sum(line[v] * x for v, x in sums.items()), d * unit) for d, sums in by.items()), Fraction(0))
            for line in lines.table
        ]
        for by in parts
    ]


def advised(problem: Problem, channel: ExactChannel) -> tuple[int, ...]:
    """For each code the position of the action with the least expected loss, the first of equals."""
    assert isinstance(problem.utility, Decisions)
    rows = losses(problem, problem.utility, channel)
    return tuple(min(range(len(row)), key=row.__getitem__) for row in rows)
