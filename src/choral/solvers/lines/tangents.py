"""Better codes, as in k-means, from some that there are: programs over the lines that touch the cost at these.

Each code has a posterior q of the target, and sending a state s there costs at most Σ_w P(w | s) · log2 1/q(w): the tangent
of the entropy at q, which lies above it. (The same goes for minus the square of a mean.) The cheapest private channel for
these costs, a linear program, costs no more than the one that it began with; then its codes have other posteriors, and so on.
Nothing is proved in this way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.solvers.lines.program import equality_error
from choral.solvers.lines.refinement import Equations
from choral.solvers.lines.sandwich import conditional_entropy, shares

ROUNDS = 12
"""Improvements at most: each gains about a third of the one before."""
FIRST_TOLERANCE, PART_OF_GAIN, LEAST_GAIN = 1e-7, 0.03, 1e-12
"""Of the linear programs, in the unit of costs: at first, as a part of what the last one gained; and what counts as none."""
NEARLY_PRIVATE = 1e-6
"""How far a program may end from its equations, which are of the order of one: a thousandth of what a percent of a bit is."""
SMALLEST_POSTERIOR = 1e-12
"""A line at a posterior of zero would be vertical."""
STEPS, WORTH = 5, 0.003
"""Of a channel that was made for groups of values: improvements at most, and the share that the last gains less than; the
first two gain nearly all (measured on prices of houses and rooms)."""
RARE = 1e-9
"""Its codes of less mass are left out."""


@dataclass(frozen=True)
class Tangents:
    """Private channels p(s, y), a column per code: the lines that touch the cost at its codes, and what it costs in truth."""

    kept: Equations
    lines: Callable[[Floats], Floats]
    cost: Callable[[Floats], float]

    @classmethod
    def of_entropy(cls, p: Floats, M: Floats, Q: Floats) -> Tangents:
        """Of H(W|Y) in bits, where P(w | s) are the rows of Q."""

        def lines(z: Floats) -> Floats:
            joint = z.T @ Q
            at = np.maximum(joint / joint.sum(axis=1, keepdims=True), SMALLEST_POSTERIOR)
            return np.asarray(-(Q @ np.log2(at).T), dtype=np.float64)

        return cls(Equations(p, M), lines, lambda z: conditional_entropy(z, Q))

    def improved(
        self,
        z: Floats,
        stopped: Callable[[], bool],
        least: float = LEAST_GAIN,
        enough: float = -math.inf,
        rounds: int = ROUNDS,
    ) -> Floats:
        """As many codes that cost less, until a program gains less than the least, or it is enough.

        Programs are solved to a part of what the last one gained: they need not be better than the lines that they are for.
        """
        value, tolerance = self.cost(z), max(FIRST_TOLERANCE, PART_OF_GAIN * least)
        start: tuple[Floats | None, Floats | None] = None, None
        for _ in range(rounds):
            if stopped():
                break
            lp = self.kept.solve(self.lines(z), tolerance, *start, stopped, None)
            gain = value - self.cost(lp.z)
            if not gain > 0 or equality_error(lp.z, self.kept.p, self.kept.M) > NEARLY_PRIVATE:
                break
            z, value, start = lp.z, value - gain, (lp.z, lp.nu)
            if gain < least or value <= enough:
                break
            tolerance = min(tolerance, PART_OF_GAIN * gain)
        return z


def sharpened(problem: Problem, channel: Floats, stopped: Callable[[], bool]) -> Floats:
    """Shares p(y | s), a row per code, that tell at least as much about the target as the given ones, to rounding."""
    p, Q = problem.prior / problem.prior.sum(), problem.posterior().T
    z = (channel * p).T
    z, told = z[:, z.sum(axis=0) > RARE], problem.entropy_of_target - conditional_entropy(z, Q)
    if z.shape[1] < 2:
        return channel
    return shares(
        Tangents.of_entropy(p, constraints(problem)[1], Q).improved(z, stopped, WORTH * told, rounds=STEPS), p
    )
