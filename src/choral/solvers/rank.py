"""One protected group that the state determines: the rank within the group is the best code, for every purpose at once.

Let Z be a function of the state, the only thing that is protected, and r(s) what the state says about the target,
P(W = 1 | s). Sort the states of each z by r and lay them on [0, 1], each with the length p(s | z). Publish the interval,
between consecutive breakpoints of all groups, in which a uniform point of the record's own piece falls.

*It is private:* given z, the point is uniform on [0, 1], whatever z is.
*It is best:* let Y be any private code and φ convex. Within each code, draw for a record of group z companions from the
other groups, independently; what Y tells about the target is at most what the tuple of companions tells, which is
t = Σ_z p(z) r_z with r_z distributed as r given z. So E φ(P(W = 1 | Y)) ≤ E φ(Σ_z p(z) r_z) for some coupling of the
laws of r given z. Of all couplings, the one in which all r_z rise together makes the sum largest in convex order, and it is
the code above. ∎

This holds for every convex φ at once: bits, right decisions at any threshold or cost, squared error. *Given V* (`Z | V` is
all that is promised, and the state determines V) the code may as well tell V, and the same is done within each v.

*Few codes.* Joining codes keeps privacy. For a given φ the best k codes are runs of neighbours in the order of t: see `runs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from choral.problem.kernel import Floats, Problem
from choral.problem.solution import ExactChannel, Row, Solution, row_of
from choral.proofs.rank import Line, RankBound, lines_of, posed
from choral.solvers.runs import Loss, best_runs, entropy_loss

MOST_ENTRIES = 200_000
"""Intervals times groups up to which the code is kept whole: each interval touches every group."""
MOST_CODES = 64
"""Codes at most, where the whole code would be too large to write down."""
SAME = 1e-15
"""Intervals whose t differ by less are joined: floats cannot tell them apart, and joining costs nothing to speak of."""


def rank_within_group(
    problem: Problem, codes: int | None = None, spare: float = 0.0, loss: Loss = entropy_loss
) -> Solution:
    """The best private channel; cut by this loss where it would be large, at `spare` in its unit, or `codes` are wanted."""
    asked = posed(problem)
    assert asked is not None
    lines = lines_of(problem.weights, asked.top, asked.labels, asked.condition)
    found = intervals_of(lines, problem.weights, asked.top)
    full = len(found.t)
    if codes is None and full * len(asked.condition) <= MOST_ENTRIES:
        starts = same_runs(found.t)
    else:
        starts = best_runs(found.mass, found.t, loss, codes or MOST_CODES, spare if codes is None else 0.0)
    channel = channel_of_runs(lines, found, starts, problem.size)
    cut = ""
    if channel.codes < full:
        what = "bits" if loss is entropy_loss else "squares"
        cut = f", {full} intervals joined into {channel.codes} codes, the best so many for {what}"
    return Solution(channel, RankBound(), f"rank within the group{cut}")


def same_runs(t: Floats) -> list[int]:
    """Where runs of intervals begin that say the same."""
    return [0, *(np.flatnonzero(np.diff(t) > SAME * max(1.0, float(t.max()))) + 1).tolist()]


@dataclass(frozen=True)
class Intervals:
    """All intervals of all lines, in floats and in the order of t, to choose runs of them; the lines keep what is exact.

    Interval i is number `number[i]` of line `line[i]`, has the probability mass[i] and says t[i] about the target.
    """

    line: npt.NDArray[np.int64]
    number: npt.NDArray[np.int64]
    mass: Floats
    t: Floats


def intervals_of(lines: Sequence[Line], weights: Sequence[int], top: Sequence[int]) -> Intervals:
    """The intervals of these lines. Floats: they choose which to join, and decide nothing about privacy."""
    total = sum(line.weight for line in lines)
    parts = []
    for k, line in enumerate(lines):
        share = line.weight / total
        breaks = np.array([x / line.length for x in line.breaks])
        t = np.zeros(len(breaks) - 1)
        for pieces in line.groups:
            held = sum(weights[p.state] for p in pieces) / line.weight
            ends = np.array([p.end / line.length for p in pieces])
            r = np.array([top[p.state] / weights[p.state] for p in pieces])
            t += held * r[np.searchsorted(ends, (breaks[:-1] + breaks[1:]) / 2)]
        number = np.arange(len(t))
        parts.append((np.full(len(t), k), number, share * np.diff(breaks), np.maximum.accumulate(t)))
    line_, number_, mass, t_ = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(t_, kind="stable")
    return Intervals(line_[order], number_[order], mass[order], t_[order])


def channel_of_runs(lines: Sequence[Line], found: Intervals, starts: Sequence[int], states: int) -> ExactChannel:
    """The channel that publishes the run in which the point falls, exactly. Runs that only floats tell apart are harmless."""
    run = np.zeros(len(found.t), dtype=np.int64)
    run[list(starts)[1:]] = 1
    run = np.cumsum(run)
    rows: list[Row] = [(1, ())] * states
    for k, line in enumerate(lines):
        here = np.flatnonzero(found.line == k)
        code = np.empty(len(here), dtype=np.int64)
        code[found.number[here]] = run[here]
        turns = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist()]
        ends = [line.breaks[j] for j in turns[1:]] + [line.length]
        codes = [int(code[j]) for j in turns]
        for pieces in line.groups:
            at = 0
            for piece in pieces:
                entries, start = [], piece.start
                while True:
                    stop = min(piece.end, ends[at])
                    if stop > start:
                        entries.append((codes[at], Fraction(stop - start, piece.end - piece.start)))
                    if stop == piece.end:
                        break
                    start, at = stop, at + 1
                rows[piece.state] = row_of(entries)
    return ExactChannel(int(run[-1]) + 1, tuple(rows))
