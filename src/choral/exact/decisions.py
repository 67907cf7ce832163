"""The best private channel for the least of some lines, in fractions, with multipliers that prove it.

HiGHS proposes a basis, and `exact.pivots` says in fractions what it is worth. Should floats have been wrong about it, that is
found out: a negative share, or multipliers that prove less than the channel costs. Then another basis is tried, then exact
pivots lead to one that is optimal; where these would take too long the rough channel is repaired, and the rough multipliers
prove what they can. Whatever happens the channel is private and the bound holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from choral.exact.pivots import System, pivoted
from choral.exact.repair import repair
from choral.problem.form import equations
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel, constant_channel, row_of
from choral.problem.utility import Lines
from choral.proofs.purpose import PurposeBound, costs, least_cost
from choral.solvers.decisions import Program

TRIES = 4
"""Bases that are asked for before a degenerate one is left to floats and repair."""
MOST_PIVOTED = 2_000
"""(state, line) pairs up to which exact pivots follow where no proposed basis is optimal in fractions."""


@dataclass(frozen=True)
class Vertex:
    """A private channel with a code for each line that is used, the lines of its codes, and multipliers.

    `cost` is what the channel costs, `least` what the multipliers prove that every private channel does.
    """

    channel: ExactChannel
    lines: tuple[int, ...]
    bound: PurposeBound
    cost: Fraction
    least: Fraction

    @property
    def optimal(self) -> bool:
        """Whether no private channel costs less, exactly."""
        return self.cost == self.least


def best_for_lines(
    problem: Problem,
    lines: Lines,
    seconds: Callable[[], float | None] = lambda: None,
) -> Vertex:
    """The best private channel for the least of these lines; raises `StoppedError` if no program ends in time."""
    cost = costs(problem, lines)
    matrix = equations(problem).at(range(problem.size))
    program, feasible, rough = Program(problem, cost), None, None
    for seed in range(TRIES):
        found = program.solved(seed, seconds())
        rough, system = found or rough, None if found is None else System.of(found, cost, matrix)
        shares = None if system is None else system.shares()
        if system is not None and shares is not None:
            vertex = _scored(problem, lines, cost, _channel(shares), _purpose(problem, lines, system.multipliers()))
            if vertex.optimal:
                return vertex
            feasible = feasible or found
    if problem.size * len(cost) <= MOST_PIVOTED:
        start = (feasible.basis, feasible.slack, feasible.held) if feasible else ([[0]] * problem.size, [], [])
        system = pivoted(*start, cost, matrix, lambda: seconds() == 0)
        shares = None if system is None else system.shares()
        if system is not None and shares is not None:
            bound = _purpose(problem, lines, system.multipliers())
            return _scored(problem, lines, cost, _channel(shares), bound)
    if rough is None:  # masses beyond floats, and too many states for fractions
        nothing = [[Fraction(0)] * len(matrix) for _ in cost]
        return _scored(problem, lines, cost, constant_channel(problem), _purpose(problem, lines, nothing))
    prices = [[Fraction(x) for x in row] for row in rough.prices]
    return _scored(problem, lines, cost, repair(problem, rough.channel), _purpose(problem, lines, prices))


def _purpose(problem: Problem, lines: Lines, prices: Sequence[Sequence[Fraction]]) -> PurposeBound:
    """Prices of integer costs against integer equations as multipliers of p(s) (P(z | s) - p(z)), and their kin."""
    asked = equations(problem)
    units = [Fraction(unit, lines.scale) for unit in asked.units()]
    nu = tuple(tuple(x * u for x, u in zip(row, units, strict=True)) for row in prices)
    return PurposeBound(asked.rows, nu)


def _scored(
    problem: Problem, lines: Lines, cost: list[list[int]], channel: ExactChannel, bound: PurposeBound
) -> Vertex:
    """The channel with the codes joined for which the same line is best, and what the multipliers prove."""
    sums = _sums(cost, channel)
    best = [min(range(len(cost)), key=lambda line: sums[line][y]) for y in range(channel.codes)]
    used = sorted(set(best))
    number = {line: k for k, line in enumerate(used)}
    total = sum((sums[line][y] for y, line in enumerate(best)), Fraction(0)) / (problem.total * lines.scale)
    joined = joined_codes(channel, [number[line] for line in best], len(used))
    return Vertex(joined, tuple(used), bound, total, least_cost(problem, lines, bound))


def _sums(cost: list[list[int]], channel: ExactChannel) -> list[list[Fraction]]:
    """What each line costs on each code, as integer costs are."""
    found = []
    for row in cost:
        parts: list[dict[int, int]] = [{} for _ in range(channel.codes)]
        for c, (denominator, entries) in zip(row, channel.rows, strict=True):
            for y, n in entries:
                parts[y][denominator] = parts[y].get(denominator, 0) + c * n
        found.append([sum((Fraction(x, d) for d, x in part.items()), Fraction(0)) for part in parts])
    return found


def joined_codes(channel: ExactChannel, number: Sequence[int], codes: int) -> ExactChannel:
    """The channel with its code y renamed number[y]; codes of one name are joined."""
    rows = []
    for denominator, entries in channel.rows:
        sums: dict[int, int] = {}
        for y, n in entries:
            sums[number[y]] = sums.get(number[y], 0) + n
        common = math.gcd(denominator, *sums.values())
        rows.append((denominator // common, tuple((y, n // common) for y, n in sorted(sums.items()))))
    return ExactChannel(codes, tuple(rows))


def _channel(shares: list[dict[int, Fraction]]) -> ExactChannel:
    used = sorted({line for row in shares for line, share in row.items() if share})
    number = {line: y for y, line in enumerate(used)}
    rows = (row_of([(number[line], share) for line, share in sorted(row.items()) if share]) for row in shares)
    return ExactChannel(len(used), tuple(rows))
