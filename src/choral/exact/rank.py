"""The value of the closed form (`solvers.rank`): H(W|Y) for the rank within the group, which no private code is below."""

from __future__ import annotations

import flint

from choral.errors import ProblemError
from choral.problem.kernel import Problem
from choral.solvers.rank import Line, lines_of, posed

BITS = 300
"""Of the fixed-point form of t: each group adds less than a unit to it."""


def rank_bound(problem: Problem) -> flint.arb:
    """H(W|Y) of the rank within the group, in bits, as a ball: in the precision of the caller."""
    asked = posed(problem)
    if asked is None:
        raise ProblemError("The rank within the group is no bound here.", "This is a defect; report it.")
    value = flint.arb(0)
    for line in lines_of(problem.weights, asked.top, asked.labels, asked.condition):
        share = flint.arb(flint.fmpq(line.weight, problem.total)) / flint.arb(line.length)
        value += share * _sum_over(line, problem.weights, asked.top)
    return value / flint.arb(2).log()


def _sum_over(line: Line, weights: tuple[int, ...], top: list[int]) -> flint.arb:
    """Σ_j length_j · h(t_j), in nats: t_j is swept from interval to interval, in units of 2^-BITS."""
    groups = len(line.groups)
    held = [sum(weights[piece.state] for piece in pieces) for pieces in line.groups]

    def says(g: int, k: int) -> int:
        s = line.groups[g][k].state
        return ((held[g] * top[s]) << BITS) // (line.weight * weights[s])

    current = [says(g, 0) for g in range(groups)]
    turns: dict[int, list[tuple[int, int]]] = {}
    for g, pieces in enumerate(line.groups):
        for k, piece in enumerate(pieces[:-1]):
            turns.setdefault(piece.end, []).append((g, k + 1))
    low, total = sum(current), flint.arb(0)
    for start, end in zip(line.breaks[:-1], line.breaks[1:], strict=True):
        for g, k in turns.get(start, ()):
            new = says(g, k)
            low += new - current[g]
            current[g] = new
        total += flint.arb(end - start) * (_term(low, groups) + _term((1 << BITS) - low - groups, groups))
    return total


def _term(low: int, width: int) -> flint.arb:
    """-x ln x for x between low and low + width, in units of 2^-BITS, within [0, 1]."""
    unit = flint.arb(2) ** -BITS
    if low <= 0:
        x = flint.arb(max(low + width, 1)) * unit
        return (-x * x.log()).union(flint.arb(0))
    x = (flint.arb(low) * unit).union(flint.arb(low + width) * unit)
    return -x * x.log()
