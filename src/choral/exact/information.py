"""What is stated about a result: information and bound as decimals, rounded towards caution, from ball arithmetic.

The verifier recomputes these with arithmetic of its own; nothing here is taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import flint

from choral.describe.ball_arithmetic import KNOWN, exact_lower, exact_upper
from choral.describe.ball_arithmetic import ball_of as _arb
from choral.describe.ball_arithmetic import entropy_ball as _entropy
from choral.exact.lines import lines_bound
from choral.exact.rank import rank_bound
from choral.problem.budget import Budget
from choral.problem.kernel import Problem
from choral.problem.solution import (
    Bound,
    Claims,
    DeterminedBound,
    ExactChannel,
    GroupBound,
    LinesBound,
    RankBound,
    Solution,
    VertexBound,
)

DECIMALS = 15
PRECISION = 256
FIXED = 300
"""Bits of the fixed-point form of p(w, y)."""

MISSED = Fraction(1, 2 * 10**15)
"""What is added to a bound by extreme points, in bits: half a unit of the last decimal that is stated."""


def stated_claims(problem: Problem, solution: Solution) -> Claims:
    """All that is stated of a solution."""
    leaks = [None if b is None else stated_leakage(problem, g, solution.channel) for g, b in enumerate(problem.budgets)]
    information = stated_information(problem, solution.channel)
    return Claims(information, stated_bound(problem, solution.bound), tuple(leaks))


def stated_information(problem: Problem, channel: ExactChannel) -> Decimal:
    """I(W;Y) in bits, rounded down to fifteen decimals (one bit, known to within 1e-40, is 1)."""
    return _decimal(exact_lower(_information(problem, channel)) + KNOWN, up=False)


@lru_cache(maxsize=4)
def stated_bound(problem: Problem, bound: Bound) -> Decimal:
    """The upper bound on I_s in bits that the proof gives, rounded up to fifteen decimals."""
    return _decimal(exact_upper(_bound(problem, bound)) - KNOWN, up=True)


def stated_leakage(problem: Problem, group: int, channel: ExactChannel) -> Decimal:
    """I(Z;Y) in bits, rounded up to fifteen decimals, for a group that has a budget."""
    both, _ = joint_with_group(problem, group, channel)
    with flint.ctx.workprec(PRECISION):
        found = leakage([Fraction(w, problem.total) for w in problem.groups[group].marginal], both)
    return _decimal(exact_upper(found) - KNOWN, up=True)


def leakage(marginal: Iterable[Fraction], both: Mapping[tuple[int, int], Fraction]) -> flint.arb:
    """I(Z;Y) in bits, from p(z) and p(z, y), as a ball."""
    codes: dict[int, Fraction] = {}
    for (_, y), mass in both.items():
        codes[y] = codes.get(y, Fraction(0)) + mass
    return _entropy(marginal) + _entropy(codes.values()) - _entropy(both.values())


def joint_with_group(
    problem: Problem, group: int, channel: ExactChannel
) -> tuple[dict[tuple[int, int], Fraction], list[Fraction]]:
    """p(z, y) and p(y), exactly."""
    variable = problem.groups[group]
    sums: dict[tuple[int, int], dict[int, int]] = {}
    for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
        denominator, entries = channel.rows[s]
        for y, n in entries:
            parts = sums.setdefault((v, y), {})
            parts[denominator] = parts.get(denominator, 0) + n * w
    both = {
        key: sum((Fraction(x, d * problem.total) for d, x in parts.items()), Fraction(0)) for key, parts in sums.items()
    }
    codes = [Fraction(0)] * channel.codes
    for (_, y), mass in both.items():
        codes[y] += mass
    return both, codes


def _information(problem: Problem, channel: ExactChannel) -> flint.arb:
    """H(W) + H(Y) - H(W,Y) from p(w, y) in fixed point: each is short by at most one unit per state."""
    cells = problem.target.by_state(problem.size)
    low: dict[tuple[int, int], int] = {}
    terms: dict[tuple[int, int], int] = {}
    for s, (denominator, entries) in enumerate(channel.rows):
        for v, w in cells[s]:
            for y, n in entries:
                key = v, y
                low[key] = low.get(key, 0) + ((n * w) << FIXED) // (denominator * problem.total)
                terms[key] = terms.get(key, 0) + 1
    codes = [0] * channel.codes
    slack = [0] * channel.codes
    for (v, y), mass in low.items():
        codes[y] += mass
        slack[y] += terms[v, y]
    with flint.ctx.workprec(PRECISION):
        both = _sum_of(_minus_x_log_x(mass, terms[key]) for key, mass in low.items())
        alone = _sum_of(_minus_x_log_x(mass, extra) for mass, extra in zip(codes, slack, strict=True))
        return _entropy_of_target(problem) + (alone - both) / flint.arb(2).log()


def _minus_x_log_x(low: int, width: int) -> flint.arb:
    """-x ln x for x between low and low + width, in units of 2^-FIXED."""
    unit = flint.arb(2) ** (-FIXED)
    if low == 0:
        x = flint.arb(width) * unit
        return (-x * x.log()).union(flint.arb(0))
    x = (flint.arb(low) * unit).union(flint.arb(low + width) * unit)
    return -x * x.log()


def _sum_of(values: Iterable[flint.arb]) -> flint.arb:
    total = flint.arb(0)
    for value in values:
        total += value
    return total


def _bound(problem: Problem, bound: Bound) -> flint.arb:
    with flint.ctx.workprec(PRECISION):
        if isinstance(bound, VertexBound):
            return _vertex_bound(problem, bound)
        if isinstance(bound, DeterminedBound):
            return flint.arb(0)
        if isinstance(bound, RankBound):
            return _entropy_of_target(problem) - rank_bound(problem)
        if isinstance(bound, LinesBound):
            return _entropy_of_target(problem) - _arb(lines_bound(problem, bound))
        return _group_bound(problem, bound)


def _vertex_bound(problem: Problem, bound: VertexBound) -> flint.arb:
    """From the posteriors listed as tight; floats chose them, so a little is added for one they may have missed."""
    used = {s for t in bound.tight for s in t}
    cells = problem.target.by_state(problem.size)
    posterior = {s: [(v, _arb(Fraction(w, problem.weights[s]))) for v, w in cells[s]] for s in used}
    pi = {s: _arb(bound.multipliers[s]) for s in used}
    smallest = flint.arb("inf")
    for t in bound.tight:
        law: dict[int, flint.arb] = {}
        product = flint.arb(0)
        for s, mass in t.items():
            share = _arb(mass)
            product += share * pi[s]
            for v, p in posterior[s]:
                law[v] = law[v] + share * p if v in law else share * p
        slack = _sum_of(-x * x.log() for x in law.values()) / flint.arb(2).log() - product
        smallest = smallest.min(slack)
    average = _sum_of(
        _arb(x * Fraction(w, problem.total)) for x, w in zip(bound.multipliers, problem.weights, strict=True) if x
    )
    return _entropy_of_target(problem) - average - smallest + _arb(MISSED)


def _group_bound(problem: Problem, bound: GroupBound) -> flint.arb:
    total = problem.total
    h_target = _entropy_of_target(problem)
    h_states = _entropy(Fraction(w, total) for w in problem.weights)
    h_both = _entropy(Fraction(w, total) for w in problem.target.weight)
    value = h_target + h_states - h_both
    if bound.group is not None:
        group = problem.groups[bound.group]
        h_group = _entropy(Fraction(w, total) for w in group.marginal)
        value -= h_target + h_group - _entropy(w / total for w in problem.with_target(group).values())
        value += _allowed(problem.budget(bound.group))
    return value


def _allowed(budget: Budget | None) -> flint.arb:
    """I(Z;Y) is at most this, in bits, within a budget."""
    if budget is None:
        return flint.arb(0)
    amount = _arb(budget.amount)
    return amount if budget.kind == "leakage" else amount.log() / flint.arb(2).log()


def _entropy_of_target(problem: Problem) -> flint.arb:
    return _entropy(Fraction(w, problem.total) for w in problem.target.marginal)


def _decimal(number: Fraction, up: bool) -> Decimal:
    scaled = max(number, Fraction(0)) * 10**DECIMALS
    units = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return Decimal(f"{units // 10**DECIMALS}.{units % 10**DECIMALS:0{DECIMALS}d}")
