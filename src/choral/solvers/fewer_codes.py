"""At most K codes: join codes, then improve what is left.

Joining two private codes gives a private code, and one within the budgets. So codes are joined, each time the two whose
union loses least, until K are left. Then the channel is improved as in k-means: with the line that touches the entropy at
each code's posterior t, -Σ_w q_w log t_w, the linear program over K lines cannot be worse, and scoring it with the true
entropy is better still. What is found is a channel, not the proven best with K codes. (Where a group has a budget, codes
are only joined.)
"""

from __future__ import annotations

import math

import numpy as np

from choral.describe.entropy import weighted_entropies
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.solvers.lines.interior_point import InteriorPoint

ROUNDS = 12
LARGEST_PROGRAM = 300_000
"""States times codes up to which the improvement is tried."""
SMALLEST_POSTERIOR = 1e-12


def with_at_most(problem: Problem, channel: Floats, most: int) -> Floats:
    """A nearly private channel with at most `most` codes, from p(y | s) in floats (one row per code)."""
    prior = problem.prior / problem.prior.sum()
    posterior = problem.posterior()
    joint = channel * prior
    joined = joined_codes(joint, posterior, most)
    if most == 1 or joined.size > LARGEST_PROGRAM or problem.budgets:
        return _channel(joined)
    _, M = constraints(problem)
    best, value = joined, _conditional_entropy(joined, posterior)
    for _ in range(ROUNDS):
        law = best @ posterior.T
        at = np.maximum(law / law.sum(axis=1, keepdims=True), SMALLEST_POSTERIOR)
        lines = -(posterior.T @ np.log2(at).T)
        found = InteriorPoint(tolerance=1e-10).solve(lines, prior, M).z.T
        again = _conditional_entropy(found, posterior)
        if again > value - 1e-12:
            break
        best, value = found, again
    return _channel(best)


def fewest(problem: Problem, channel: Floats, most: int, spare: float, rarest: float = 0.0) -> Floats:
    """A nearly private channel with the fewest codes, at most `most`, that lose at most this share of the information.

    A code with a smaller probability than `rarest` is joined with the one that this loses least with.
    """
    prior = problem.prior / problem.prior.sum()
    posterior = problem.posterior()
    before = _conditional_entropy(channel * prior, posterior)
    nothing = float(weighted_entropies((posterior @ prior)[None])[0])
    allowed = before + spare * max(nothing - before, 0.0)

    def tried(codes: int) -> tuple[bool, Floats]:
        found = common_codes(with_at_most(problem, channel, codes) * prior, posterior, rarest)
        return _conditional_entropy(found, posterior) <= allowed, _channel(found)

    most = min(most, len(channel))
    low, high, best = 1, most, tried(most)[1]
    while low < high:
        middle = (low + high) // 2
        enough, found = tried(middle)
        if enough:
            high, best = middle, found
        else:
            low = middle + 1
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


def _conditional_entropy(joint: Floats, posterior: Floats) -> float:
    return float(weighted_entropies(joint @ posterior.T).sum())


def joined_codes(joint: Floats, posterior: Floats, most: int, spare: float = math.inf) -> Floats:
    """p(s, y) (one row per code) with codes joined, the two that lose least first.

    It ends with `most` codes, or before the next would bring the whole loss above `spare` bits.
    """
    codes = joint[joint.sum(axis=1) > 0]
    law = codes @ posterior.T
    alone = weighted_entropies(law)
    while len(codes) > most:
        # Only codes that are close in the first coordinate of their posteriors are tried when there are many.
        order = np.argsort(law[:, -1] / law.sum(axis=1))
        reach = len(codes) if len(codes) <= 60 or (law.shape[1] > 2 and len(codes) <= 200) else 2
        best: tuple[float, int, int] | None = None
        for step in range(1, min(reach, len(codes) - 1) + 1):
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
        codes[i] += codes[j]
        law[i] += law[j]
        alone[i] = weighted_entropies(law[i][None])[0]
        codes, law, alone = (np.delete(x, j, axis=0) for x in (codes, law, alone))
    return np.asarray(codes, dtype=np.float64)
