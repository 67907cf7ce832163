"""At most K codes: join codes, then improve what is left.

Joining private codes gives a private code, and one within the budgets. Of a target of two values the best way to join them
is found (see `runs`); otherwise the two whose union loses least are joined until K are left. Where one group is protected,
and codes are the intervals of the rank within it, that is the best code with K values.

Elsewhere the channel is then improved by `tangents`. What is found is a channel, not the proven best with K codes. (Where a
group has a budget, codes are only joined.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from choral.describe.entropy import weighted_entropies
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.solvers.lines.tangents import Tangents
from choral.solvers.runs import entropy_loss, runs_by_number

Numbers = NDArray[np.intp]

LARGEST_PROGRAM = 300_000
"""States times codes up to which the improvement is tried."""


def with_at_most(problem: Problem, channel: Floats, most: int, stopped: Callable[[], bool] = lambda: False) -> Floats:
    """A nearly private channel with at most `most` codes, from p(y | s) in floats (one row per code)."""
    work = _Work(problem, channel)
    return _channel(work.improved(joined_codes(work.joint, work.posterior, most), stopped=stopped))


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
    allowed = work.allowed(spare)
    down = work.down(min(most, len(channel)))

    def tried(codes: int) -> Floats:
        found = common_codes(down[codes - 1], work.posterior, rarest)
        if work.cost(found) > allowed and not stopped():
            found = common_codes(work.improved(down[codes - 1], allowed, stopped), work.posterior, rarest)
        return found

    enough = (n for n, way in enumerate(down, 1) if work.cost(common_codes(way, work.posterior, rarest)) <= allowed)
    low, high = 1, next(enough, len(down))
    best = tried(high)
    while low < high:
        middle = (low + high) // 2
        found = tried(middle)
        if work.cost(found) <= allowed:
            high, best = middle, found
        else:
            low = middle + 1
    last = best if stopped() else common_codes(work.improved(best, stopped=stopped), work.posterior, rarest)
    return _channel(last if work.cost(last) < work.cost(best) else best)


def best_joins(problem: Problem, channel: Floats, most: int, spare: float, rarest: float = 0.0) -> Numbers:
    """The same for intervals of the rank within the one protected group: the number of the code that each becomes.

    Joining is the best that can be done there.
    """
    work = _Work(problem, channel)
    law = work.joint @ work.posterior.T
    allowed, best, found = work.allowed(spare), math.inf, np.zeros(len(channel), dtype=np.intp)
    for way in _ways(law, most):
        common = _common(way, law, rarest)
        cost = float(weighted_entropies(_sums(common, law)).sum())
        if cost < best:
            best, found = cost, common
        if best <= allowed:
            break
    return found


class _Work:
    """A problem in floats, with what all improvements of its channels share. Channels are p(s, y), one row per code."""

    def __init__(self, problem: Problem, channel: Floats) -> None:
        self.prior = problem.prior / problem.prior.sum()
        self.posterior = problem.posterior()
        self.joint = channel * self.prior
        self.budgets = bool(problem.budgets)
        self._problem = problem

    @cached_property
    def tangents(self) -> Tangents:
        """Of the entropy: what improvements share."""
        return Tangents.of_entropy(self.prior, constraints(self._problem)[1], self.posterior.T)

    def allowed(self, spare: float) -> float:
        """H(W|Y) of a channel that tells at least all but this share of what the first one does."""
        before, nothing = self.cost(self.joint), float(weighted_entropies((self.posterior @ self.prior)[None])[0])
        return before + spare * max(nothing - before, 0.0)

    def down(self, most: int) -> list[Floats]:
        """Channels with 1, 2, … codes, at most so many, by joining those that there are."""
        if len(self.posterior) == 2:
            law = self.joint @ self.posterior.T
            return [_sums(way, self.joint) for way in _ways(law, most)]
        ways = [self.joint]
        for codes in range(most, 0, -1):
            ways.append(joined_codes(ways[-1], self.posterior, codes))
        return ways[:0:-1]

    def cost(self, joint: Floats) -> float:
        """H(W|Y)."""
        return float(weighted_entropies(joint @ self.posterior.T).sum())

    def improved(self, joint: Floats, enough: float = -math.inf, stopped: Callable[[], bool] = lambda: False) -> Floats:
        """As many codes that tell more (`Tangents`), until it is enough or no better."""
        if len(joint) == 1 or joint.size > LARGEST_PROGRAM or self.budgets:
            return joint
        return self.tangents.improved(joint.T, stopped, enough=enough).T


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


def _ways(law: Floats, most: int) -> Iterator[Numbers]:
    """The best ways to join codes with these p(w, y), W of two values, to 1, 2, … codes: the number that each then has."""
    mass = law.sum(axis=1)
    t = np.divide(law[:, -1], mass, out=np.zeros(len(law)), where=mass > 0)
    order = np.argsort(t, kind="stable")
    for _, starts in runs_by_number(mass[order], t[order], entropy_loss, most):
        number = np.zeros(len(law), dtype=np.intp)
        for start in starts[1:]:
            number[order[start:]] += 1
        yield number


def _sums(number: Numbers, rows: Floats) -> Floats:
    """The sums of the rows that have the same number."""
    return np.asarray(np.eye(number.max() + 1)[:, number] @ rows, dtype=np.float64)


def _common(number: Numbers, law: Floats, rarest: float) -> Numbers:
    """Numbers of codes in an order, of which those that are rarer than this are joined with a neighbour, as loses least."""
    while number.max() and (sums := _sums(number, law)).sum(axis=1).min() < rarest:
        i = int(sums.sum(axis=1).argmin())
        alone = weighted_entropies(sums)
        loss = weighted_entropies(sums[:-1] + sums[1:]) - alone[:-1] - alone[1:]
        left = min((k for k in (i - 1, i) if 0 <= k < len(loss)), key=lambda k: loss[k])
        number = np.where(number > left, number - 1, number)
    return number


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
