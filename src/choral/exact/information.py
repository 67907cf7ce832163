"""What is stated about a result: information and bound as decimals, rounded towards caution, from ball arithmetic.

The verifier recomputes these with arithmetic of its own; nothing here is taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

import flint

from choral.problem.kernel import Problem
from choral.problem.solution import Bound, ExactChannel, GroupBound, VertexBound

DECIMALS = 15
PRECISION = 256


def stated_information(problem: Problem, channel: ExactChannel) -> str:
    """I(W;Y) in bits, rounded down to fifteen decimals (one bit, known to within 1e-60, is 1)."""
    return _decimal(_upper(_information(problem, channel)), up=False)


def stated_bound(problem: Problem, bound: Bound) -> str:
    """The upper bound on I_s in bits that the proof gives, rounded up to fifteen decimals."""
    return _decimal(_lower(_bound(problem, bound)), up=True)


def _information(problem: Problem, channel: ExactChannel) -> flint.arb:
    with flint.ctx.workprec(PRECISION):
        cells = problem.target.by_state(problem.size)
        left = flint.arb(0)
        for code in channel.joint(problem):
            mass = sum(code.values(), Fraction(0))
            law = _law_of_target(problem, cells, {s: x / mass for s, x in code.items()})
            left += _arb(mass) * _entropy(law.values())
        return _entropy_of_target(problem) - left


def _bound(problem: Problem, bound: Bound) -> flint.arb:
    with flint.ctx.workprec(PRECISION):
        if isinstance(bound, VertexBound):
            cells = problem.target.by_state(problem.size)
            slack = []
            for t in bound.tight:
                law = _law_of_target(problem, cells, t)
                product = sum((bound.multipliers[s] * mass for s, mass in t.items()), Fraction(0))
                slack.append(_entropy(law.values()) - _arb(product))
            average = sum((bound.multipliers[s] * problem.prior_of(s) for s in range(problem.size)), Fraction(0))
            smallest = slack[0]
            for value in slack[1:]:
                smallest = smallest.min(value)
            return _entropy_of_target(problem) - _arb(average) - smallest
        return _group_bound(problem, bound)


def _group_bound(problem: Problem, bound: GroupBound) -> flint.arb:
    total = problem.total
    h_target = _entropy_of_target(problem)
    h_states = _entropy(Fraction(w, total) for w in problem.weights)
    h_both = _entropy(Fraction(w, total) for w in problem.target.weight)
    value = h_target + h_states - h_both
    if bound.group is not None:
        label = problem.groups[bound.group].value.tolist()
        sums: dict[tuple[int, int], int] = {}
        target = problem.target
        for s, v, w in zip(target.state.tolist(), target.value.tolist(), target.weight, strict=True):
            sums[label[s], v] = sums.get((label[s], v), 0) + w
        h_group = _entropy(Fraction(w, total) for w in problem.groups[bound.group].marginal)
        value -= h_target + h_group - _entropy(Fraction(w, total) for w in sums.values())
    return value


def _law_of_target(
    problem: Problem, cells: list[list[tuple[int, int]]], posterior: Mapping[int, Fraction]
) -> dict[int, Fraction]:
    law: dict[int, Fraction] = {}
    for s, mass in posterior.items():
        for v, w in cells[s]:
            law[v] = law.get(v, Fraction(0)) + mass * Fraction(w, problem.weights[s])
    return law


def _entropy_of_target(problem: Problem) -> flint.arb:
    return _entropy(Fraction(w, problem.total) for w in problem.target.marginal)


def _entropy(law: Iterable[Fraction]) -> flint.arb:
    total = flint.arb(0)
    for mass in law:
        if mass:
            x = _arb(mass)
            total -= x * x.log()
    return total / flint.arb(2).log()


def _arb(number: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(number.numerator, number.denominator))


def _lower(x: flint.arb) -> Fraction:
    return _exact(x.mid()) - _exact(x.rad())


def _upper(x: flint.arb) -> Fraction:
    return _exact(x.mid()) + _exact(x.rad())


def _exact(x: flint.arb) -> Fraction:
    mantissa, exponent = x.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _decimal(number: Fraction, up: bool) -> str:
    scaled = max(number, Fraction(0)) * 10**DECIMALS
    units = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    return f"{units // 10**DECIMALS}.{units % 10**DECIMALS:0{DECIMALS}d}"
