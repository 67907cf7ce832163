"""A better channel for a target of many values, from one that was found for groups of its values.

Each code has a posterior q of the target, and sending a state s there costs at most Σ_w P(w | s) · log2 1/q(w): the tangent
of the entropy at q, which lies above it. The cheapest private channel for these costs, a linear program, tells at least as
much as the one that it began with; then its codes have other posteriors, and so on. Nothing is proved in this way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.program import equality_error
from choral.solvers.lines.refinement import FEASIBILITY
from choral.solvers.lines.sandwich import conditional_entropy, shares

STEPS = 4
"""Programs at most: the first two gain nearly all (measured on prices of houses and rooms)."""
WORTH = 0.003
"""A step that gains less than this share is the last."""
ACCURACY = 0.1
"""Each program is solved to this share of what a step has to gain."""
RARE = 1e-9
"""Codes of less mass are left out."""
LEAST = 1e-12
"""A value that a code excludes has this probability there, so that its cost is a number."""


def sharpened(problem: Problem, channel: Floats, should_stop: Callable[[], bool]) -> Floats:
    """Shares p(y | s), a row per code, that tell at least as much about the target as the given ones, to rounding."""
    _, M = constraints(problem)
    p, Q = problem.prior / problem.prior.sum(), problem.posterior().T
    whole, basis = problem.entropy_of_target, Basis.of(p, M)
    best = (channel * p).T
    told = whole - conditional_entropy(best, Q)
    for _ in range(STEPS):
        best = best[:, best.sum(axis=0) > RARE] if told > 0 else best
        if should_stop() or best.shape[1] < 2:
            break
        posterior = np.maximum(best.T @ Q / best.sum(axis=0)[:, None], LEAST)
        costs = -(Q @ np.log2(posterior).T)
        solver = InteriorPoint(tolerance=ACCURACY * WORTH * max(told, RARE))
        z = solver.solve(costs, p, M, should_stop=should_stop, basis=basis).z
        now = whole - conditional_entropy(z, Q)
        if equality_error(z, p, M) > FEASIBILITY or now <= told:
            break
        enough, best, told = now - told < WORTH * now, z, now
        if enough:
            break
    return shares(best, p)
