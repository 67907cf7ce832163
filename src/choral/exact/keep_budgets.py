"""Into the budgets: a channel that floats left a little outside is mixed with one that ignores the record.

Mixing p(y|s) with r(y) at weight δ moves every p(z|y) towards p(z), so ratios shrink and I(Z;Y), which is convex in the
channel and zero for r, falls. Ratios are met by an exact inequality for δ; for leakage δ is doubled until I(Z;Y), in ball
arithmetic, is within the budget. Groups that are private stay so.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint

from choral.describe.ball_arithmetic import PRECISION, ball_of
from choral.exact.information import joint_with_group, leakage, leakage_of
from choral.problem.budget import Budget
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel, Row

UNIT = 2**60
"""Shares are whole numbers of parts of one in this: finer than a float, and small in a file."""
MASS_BITS = 40
"""Of the law of the code that is mixed in: any law that ignores the record will do, so a coarse one with short numbers."""


def within_budgets(problem: Problem, channel: ExactChannel) -> ExactChannel:
    """The channel itself if it keeps all budgets, or the least changed mixture found that does."""
    held = [(g, budget) for g, budget in enumerate(problem.budgets) if budget is not None]
    if not held:
        return channel
    if all(budget.kind == "leakage" and _within(leakage_of(problem, g, channel), budget) for g, budget in held):
        return channel
    joints = {g: joint_with_group(problem, g, channel) for g, _ in held}
    codes = next(iter(joints.values()))[1]
    law = _rounded(codes)
    share = 0
    for g, budget in held:
        if budget.kind == "ratio":
            both, _ = joints[g]
            share = max(share, _share_for_ratio(problem, g, budget, both, codes, law))
    step = 1
    while share < UNIT and not all(_keeps(problem, g, budget, joints[g], law, share) for g, budget in held):
        share, step = min(UNIT, share + step), 2 * step
    return channel if share == 0 else _mixed(channel, law, share)


def _rounded(codes: list[Fraction]) -> list[int]:
    """The law of the code on a coarse grid, in parts of UNIT: whatever it is, it ignores the record."""
    grid = 2**MASS_BITS
    law = [max(1, math.floor(p * (grid - len(codes)))) for p in codes]
    law[max(range(len(law)), key=law.__getitem__)] += grid - sum(law)
    return [x * (UNIT // grid) for x in law]


def _share_for_ratio(
    problem: Problem,
    group: int,
    budget: Budget,
    both: dict[tuple[int, int], Fraction],
    codes: list[Fraction],
    law: list[int],
) -> int:
    """The least δ, in parts of UNIT, that brings every p(z|y) within the factor."""
    rho = budget.amount
    need = Fraction(0)
    for v, weight in enumerate(problem.groups[group].marginal):
        p = Fraction(weight, problem.total)
        for y, mass in enumerate(codes):
            here = both.get((v, y), Fraction(0))
            r = Fraction(law[y], UNIT)
            for excess, room in (
                (here - rho * p * mass, r * p * (rho - 1)),
                (p * mass / rho - here, r * p * (1 - 1 / rho)),
            ):
                if excess > 0:
                    odds = excess / room
                    need = max(need, odds / (1 + odds))
    return math.ceil(need * UNIT)


def _keeps(
    problem: Problem,
    group: int,
    budget: Budget,
    joint: tuple[dict[tuple[int, int], Fraction], list[Fraction]],
    law: list[int],
    share: int,
) -> bool:
    if budget.kind == "ratio":
        return True
    both, codes = joint
    delta = Fraction(share, UNIT)
    marginal = [Fraction(weight, problem.total) for weight in problem.groups[group].marginal]
    mixed = {
        (v, y): (1 - delta) * both.get((v, y), Fraction(0)) + delta * p * Fraction(law[y], UNIT)
        for v, p in enumerate(marginal)
        for y in range(len(codes))
    }
    with flint.ctx.workprec(PRECISION):
        return _within(leakage(marginal, mixed), budget)


def _within(leaks: flint.arb, budget: Budget) -> bool:
    with flint.ctx.workprec(PRECISION):
        return bool(leaks < ball_of(budget.amount))


def _mixed(channel: ExactChannel, law: list[int], share: int) -> ExactChannel:
    rows: list[Row] = []
    for denominator, entries in channel.rows:
        have = dict(entries)
        numerators = [(UNIT - share) * UNIT * have.get(y, 0) + share * r * denominator for y, r in enumerate(law)]
        bottom = UNIT * UNIT * denominator
        shared = math.gcd(bottom, *numerators)
        rows.append((bottom // shared, tuple((y, n // shared) for y, n in enumerate(numerators) if n)))
    return ExactChannel(channel.codes, tuple(rows))
