"""At most K codes: join codes, then improve what is left.

Joining two private codes gives a private code, and one within the budgets. So codes are joined, each time the two whose
union loses least, until K are left. Then the channel is improved as in k-means: with the line that touches the entropy at
each code's posterior t, -Σ_w q_w log t_w, the linear program over K lines cannot be worse, and scoring it with the true
entropy is better still. What is found is a channel, not the proven best with K codes. (Where a group has a budget, codes
are only joined.)
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from choral.describe.entropy import weighted_entropies
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.partition import Basis

ROUNDS = 12
"""Improvements at most: each gains about a third of the one before."""
FIRST_TOLERANCE, PART_OF_GAIN, LEAST_GAIN = 1e-7, 0.03, 1e-12
"""Of the linear programs, in bits: at first, as a part of what the last one gained, and what counts as no gain."""
NEARLY_PRIVATE = 1e-6
"""How far a program may end from its equations, which are of the order of one: a thousandth of what a percent of a bit is."""
LARGEST_PROGRAM = 300_000
"""States times codes up to which the improvement is tried."""
SMALLEST_POSTERIOR = 1e-12
"""A line at a posterior of zero would be vertical."""


def with_at_most(problem: Problem, channel: Floats, most: int, stopped: Callable[[], bool] = lambda: False) -> Floats:
    """A nearly private channel with at most `most` codes, from p(y | s) in floats (one row per code)."""
    work = _Work(problem, channel)
    return _channel(work.improved(work.joined(most), stopped=stopped))


def fewest(
    problem: Problem,
    channel: Floats,
    most: int,
    spare: float,
    rarest: float = 0.0,
    stopped: Callable[[], bool] = lambda: False,
) -> Floats:
    """A nearly private channel with the fewest codes, at most `most`, that lose at most this share of the information.

    A code with a smaller probability than `rarest` is joined with the one that this loses least with. Codes are joined once,
    and the channels on the way down are what is improved: for the least number, by bisection, that comes within the share.
    """
    work = _Work(problem, channel)
    before = work.cost(channel * work.prior)
    nothing = float(weighted_entropies((work.posterior @ work.prior)[None])[0])
    allowed = before + spare * max(nothing - before, 0.0)
    most = min(most, len(channel))
    down = {most: work.joined(most)}
    for codes in range(most - 1, 0, -1):
        down[codes] = joined_codes(down[codes + 1], work.posterior, codes)

    def tried(codes: int) -> Floats:
        found = common_codes(down[codes], work.posterior, rarest)
        if work.cost(found) > allowed and not stopped():
            found = common_codes(work.improved(down[codes], allowed, stopped), work.posterior, rarest)
        return found

    low, high, best = 1, most, tried(most)
    while low < high:
        middle = (low + high) // 2
        found = tried(middle)
        if work.cost(found) <= allowed:
            high, best = middle, found
        else:
            low = middle + 1
    last = best if stopped() else common_codes(work.improved(best, stopped=stopped), work.posterior, rarest)
    return _channel(last if work.cost(last) < work.cost(best) else best)


class _Work:
    """A problem in floats, with what all improvements of its channels share. Channels are p(s, y), one row per code."""

    def __init__(self, problem: Problem, channel: Floats) -> None:
        self.prior = problem.prior / problem.prior.sum()
        self.posterior = problem.posterior()
        self.joint = channel * self.prior
        self.budgets = bool(problem.budgets)
        self.M = np.zeros((problem.size, 0)) if self.budgets else constraints(problem)[1]
        self.basis = Basis.of(self.prior, self.M)

    def cost(self, joint: Floats) -> float:
        """H(W|Y)."""
        return float(weighted_entropies(joint @ self.posterior.T).sum())

    def strays(self, joint: Floats) -> bool:
        """Whether a program ended so far from private that making it so would cost more than it gained."""
        off = np.abs(joint @ self.M).max(initial=0.0) + np.abs(joint.sum(axis=0) - self.prior).max()
        return bool(not off <= NEARLY_PRIVATE * max(1.0, float(np.abs(self.M).max(initial=0.0))))

    def joined(self, most: int) -> Floats:
        return joined_codes(self.joint, self.posterior, most)

    def improved(self, joint: Floats, enough: float = -math.inf, stopped: Callable[[], bool] = lambda: False) -> Floats:
        """As many codes that tell more, by lines that touch the entropy at their posteriors, until it is enough or no better.

        Programs are solved to a part of what the last one gained: they need not be better than the lines that they are for.
        """
        if len(joint) == 1 or joint.size > LARGEST_PROGRAM or self.budgets:
            return joint
        best, value, tolerance = joint, self.cost(joint), FIRST_TOLERANCE
        start: tuple[Floats | None, Floats | None] = None, None
        for _ in range(ROUNDS):
            law = best @ self.posterior.T
            at = np.maximum(law / law.sum(axis=1, keepdims=True), SMALLEST_POSTERIOR)
            lines = -(self.posterior.T @ np.log2(at).T)
            solver = InteriorPoint(tolerance=tolerance)
            lp = solver.solve(lines, self.prior, self.M, start[0], stopped, nu0=start[1], basis=self.basis)
            found, start = lp.z.T, (lp.z, lp.nu)
            again = self.cost(found)
            if again > value - LEAST_GAIN or self.strays(found):
                break
            tolerance = min(tolerance, max(PART_OF_GAIN * (value - again), LEAST_GAIN))
            best, value = found, again
            if value <= enough or stopped():
                break
        return best


def common_codes(joint: Floats, posterior: Floats, rarest: float) -> Floats:
    """p(s, y) with codes that are rarer than this joined, each with the one that this loses least with."""
    codes = joint[joint.sum(axis=1) > 0]
    while len(codes) > 1 and codes.sum(axis=1).min() < rarest:
        i = int(codes.sum(axis=1).argmin())
        law = codes @ posterior.T
        loss = weighted_entropies(law + law[i]) - weighted_entropies(law)
        loss[i] = math.inf
        codes[int(loss.argmin())] += codes[i]
        codes = np.delete(codes, i, axis=0)
    return np.asarray(codes, dtype=np.float64)


def _channel(joint: Floats) -> Floats:
    return np.asarray(joint / joint.sum(axis=0), dtype=np.float64)


def joined_codes(
    joint: Floats, posterior: Floats, most: int, spare: float = math.inf, nearest: int | None = None
) -> Floats:
    """p(s, y) (one row per code) with codes joined, the two that lose least first.

    It ends with `most` codes, or before the next would bring the whole loss above `spare` bits. Of a target of two values
    only codes that are among the `nearest` in their posteriors are tried, if that is given.
    """
    codes = joint[joint.sum(axis=1) > 0]
    law = codes @ posterior.T
    alone = weighted_entropies(law)
    parts = [[y] for y in range(len(codes))]
    while len(law) > most:
        # Only codes that are close in the first coordinate of their posteriors are tried when there are many.
        order = np.argsort(law[:, -1] / law.sum(axis=1))
        reach = len(law) if len(law) <= 60 or (law.shape[1] > 2 and len(law) <= 200) else 2
        if nearest is not None and law.shape[1] == 2:
            reach = nearest
        best: tuple[float, int, int] | None = None
        for step in range(1, min(reach, len(law) - 1) + 1):
            a, b = order[:-step], order[step:]
            loss = weighted_entropies(law[a] + law[b]) - alone[a] - alone[b]
            k = int(loss.argmin())
            if best is None or loss[k] < best[0]:
                best = float(loss[k]), int(a[k]), int(b[k])
        assert best is not None
        loss_now, i, j = best
        spare -= loss_now
        if spare < 0:
            break
        law[i] += law[j]
        alone[i] = weighted_entropies(law[i][None])[0]
        parts[i] += parts[j]
        del parts[j]
        law, alone = np.delete(law, j, axis=0), np.delete(alone, j)
    return np.array([codes[part].sum(axis=0) for part in parts], dtype=np.float64).reshape(len(parts), codes.shape[1])
