"""A good channel where neither enumeration nor lines can prove the best: mix many extreme points found at random.

A mass on states that satisfies the privacy equations can be written as a sum of extreme points: move along a null vector of
P on its support until a state is empty, again and again, until the support is that of an extreme point; take as much of that
point as there is; go on with what is left. Every such decomposition of the prior is a private channel, all in fractions. The
points of many decompositions together, with those of a channel that is already good, go into the mixing program.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction

import flint

from choral.problem.form import incidence
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel
from choral.solvers.exact_optimum import merged_codes
from choral.solvers.mixture import best_mixture

MOST_STATES = 64
"""Larger problems keep the channel they have: each extreme point takes as many null spaces as there are states."""
DECOMPOSITIONS = 24
CODES = 60
"""How many of the largest codes of the given channel are decomposed."""


def improved(problem: Problem, channel: ExactChannel, should_stop: Callable[[], bool]) -> ExactChannel:
    """A private channel that tells at least as much as the given one (up to rounding), with at most nul(P)+1 codes."""
    if problem.size > MOST_STATES:
        return channel
    choice = random.Random(0)
    matrix = incidence(problem)
    rows = [matrix.rows[i] for i in matrix.independent]
    prior = {s: problem.prior_of(s) for s in range(problem.size)}
    pool: dict[tuple[tuple[int, Fraction], ...], None] = {}
    masses = [prior] * DECOMPOSITIONS + sorted(channel.joint(problem), key=lambda code: -sum(code.values()))
    for count, mass in enumerate(masses[: DECOMPOSITIONS + CODES]):
        if count and should_stop():
            break
        for point in peeled(rows, matrix.scale, mass, choice):
            pool[tuple(sorted(point.items()))] = None
    posteriors = [dict(point) for point in pool]
    mixture = best_mixture(problem, posteriors)
    codes = [{s: u * mass for s, mass in posteriors[k].items()} for k, u in mixture.weights.items()]
    return ExactChannel.from_joint(problem, merged_codes(problem, codes))


def peeled(
    rows: list[tuple[int, ...]], scale: tuple[int, ...], mass: Mapping[int, Fraction], choice: random.Random
) -> list[dict[int, Fraction]]:
    """Extreme points (posteriors that sum to one) of which the mass is a mixture."""
    left = dict(mass)
    points = []
    while left:
        point = _extreme_point(rows, scale, left, choice)
        step = min(left[s] / t for s, t in point.items())
        left = {s: q - step * point.get(s, 0) for s, q in left.items()}
        left = {s: q for s, q in left.items() if q}
        total = sum(point.values(), Fraction(0))
        points.append({s: t / total for s, t in point.items()})
    return points


def _extreme_point(
    rows: list[tuple[int, ...]], scale: tuple[int, ...], mass: Mapping[int, Fraction], choice: random.Random
) -> dict[int, Fraction]:
    """An extreme point with the same P t, on a part of the support."""
    t = dict(mass)
    while True:
        states = list(t)
        choice.shuffle(states)
        basis, nullity = flint.fmpz_mat([[row[s] for s in states] for row in rows]).nullspace()
        if nullity == 0:
            return t
        column = choice.randrange(int(nullity))
        sign = choice.choice((1, -1))
        n = {s: sign * int(basis[i, column]) * scale[s] for i, s in enumerate(states) if basis[i, column] != 0}
        step = min(t[s] / -x for s, x in n.items() if x < 0)
        t = {s: q + step * n.get(s, 0) for s, q in t.items()}
        t = {s: q for s, q in t.items() if q}
