"""What is stated about a result: information and bound as decimals, rounded towards caution, from ball arithmetic.

The verifier recomputes these with arithmetic of its own; nothing here is taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any
from weakref import ReferenceType, ref

import flint

from choral.describe.ball_arithmetic import KNOWN, PRECISION, exact_lower, exact_upper, sum_of
from choral.describe.entropy import FIXED, entropy_ball, minus_x_ln_x
from choral.exact.purpose import stated_value
from choral.problem.kernel import Problem, Variable
from choral.problem.solution import Claims, ExactChannel, Proof, Solution

DECIMALS = 15
"""Of what is stated: bits with fifteen of them, a quadrillionth."""


def stated_claims(problem: Problem, solution: Solution) -> Claims:
    """All that is stated of a solution."""
    leaks = [None if b is None else stated_leakage(problem, g, solution.channel) for g, b in enumerate(problem.budgets)]
    information = stated_information(problem, solution.channel)
    claims = Claims(information, stated_bound(problem, solution.bound), tuple(leaks))
    if solution.purpose is None:
        return claims
    value, bound = stated_value(problem, solution.channel), solution.purpose.worth(problem)
    return replace(claims, value=value, value_bound=bound)


def stated_information(problem: Problem, channel: ExactChannel) -> Decimal:
    """I(W;Y) in bits, rounded down to fifteen decimals (one bit, known to within 1e-40, is 1)."""
    return _decimal(exact_lower(_information(problem, channel)) + KNOWN, up=False)


@lru_cache(maxsize=4)
def stated_bound(problem: Problem, bound: Proof) -> Decimal:
    """The upper bound on I_s in bits that the proof gives, rounded up to fifteen decimals."""
    with flint.ctx.workprec(PRECISION):
        found = bound.bits(problem)
    return _decimal(exact_upper(found) - KNOWN, up=True)


def stated_leakage(problem: Problem, group: int, channel: ExactChannel) -> Decimal:
    """I(Z;Y) in bits, rounded up to fifteen decimals, for a group that has a budget."""
    return _decimal(exact_upper(leakage_of(problem, group, channel)) - KNOWN, up=True)


def leakage_of(problem: Problem, group: int, channel: ExactChannel) -> flint.arb:
    """I(Z;Y) in bits, as a ball."""
    variable = problem.groups[group]
    with flint.ctx.workprec(PRECISION):
        alone = entropy_ball(Fraction(weight, problem.total) for weight in variable.marginal)
        return alone + _less_jointly(problem, variable, channel)


def leakage(marginal: Iterable[Fraction], both: Mapping[tuple[int, int], Fraction]) -> flint.arb:
    """I(Z;Y) in bits, from p(z) and p(z, y), as a ball."""
    codes: dict[int, Fraction] = {}
    for (_, y), mass in both.items():
        codes[y] = codes.get(y, Fraction(0)) + mass
    return entropy_ball(marginal) + entropy_ball(codes.values()) - entropy_ball(both.values())


def joint_with_group(
    problem: Problem, group: int, channel: ExactChannel
) -> tuple[dict[tuple[int, int], Fraction], list[Fraction]]:
    """p(z, y) and p(y), exactly."""
    both = channel.joint_with(problem.groups[group], problem.total)
    codes = [Fraction(0)] * channel.codes
    for (_, y), mass in both.items():
        codes[y] += mass
    return both, codes


def _information(problem: Problem, channel: ExactChannel) -> flint.arb:
    """H(W) + H(Y) - H(W,Y)."""
    with flint.ctx.workprec(PRECISION):
        return problem.target_entropy() + _less_jointly(problem, problem.target, channel)


_RECENT = 40
"""Of the channels along a curve: a few groups and the target each."""
_recent: list[tuple[int, tuple[ReferenceType[Any], ...], flint.arb]] = []
"""What was computed last: a channel is asked for its information when it is made, compared, and stated; and again where it is
taken for other budgets, which it does not depend on."""


def _less_jointly(problem: Problem, variable: Variable, channel: ExactChannel) -> flint.arb:
    """H(Y) - H(V,Y) from p(v, y) in fixed point: each is short by at most one unit per denominator."""
    asked = variable, channel
    for total, about, known in list(_recent):
        if total == problem.total and all(reference() is part for reference, part in zip(about, asked, strict=True)):
            return known
    low: dict[tuple[int, int], int] = {}
    terms: dict[tuple[int, int], int] = {}
    for key, parts in channel.sums(variable).items():
        low[key] = sum((x << FIXED) // (d * problem.total) for d, x in parts.items())
        terms[key] = len(parts)
    codes = [0] * channel.codes
    slack = [0] * channel.codes
    for (v, y), mass in low.items():
        codes[y] += mass
        slack[y] += terms[v, y]
    with flint.ctx.workprec(PRECISION):
        both = sum_of(minus_x_ln_x(mass, terms[key]) for key, mass in low.items())
        alone = sum_of(minus_x_ln_x(mass, extra) for mass, extra in zip(codes, slack, strict=True))
        found = (alone - both) / flint.arb(2).log()
    _recent.append((problem.total, tuple(ref(part) for part in asked), found))
    del _recent[:-_RECENT]
    return found


def _decimal(number: Fraction, up: bool) -> Decimal:
    scaled = max(number, Fraction(0)) * 10**DECIMALS
    units = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return Decimal(f"{units // 10**DECIMALS}.{units % 10**DECIMALS:0{DECIMALS}d}")
