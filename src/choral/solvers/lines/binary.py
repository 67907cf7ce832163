"""The sandwich for targets of two values: chords of the binary entropy, refined where the mass goes (docs/mathematics.md).

States have a prior p and q_s = P(W=1 | s); M holds centred constraint columns (p·M = 0). The binary entropy is replaced
by the chords between *knots*. Their minimum lies below the entropy, so the linear program over channels with one symbol
per line is a lower bound on H(W|Y), and its solution is a channel that exists. Entropies are in bits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from choral.describe.entropy import binary_entropies
from choral.solvers.lines.chords import (
    RANGE_MARGIN,
    Level,
    OnKnots,
    Score,
    angle,
    chord_costs,
    chord_slopes,
    interpolated_multipliers,
    score_of,
)
from choral.solvers.lines.elimination import Array
from choral.solvers.lines.interior_point import (
    InteriorPoint,
    LPResult,
    equality_error,
    repaired_bound,
    rounding_margin,
)

FEASIBILITY = 1e-11
"""A channel that misses its equalities by more than this is not reported."""
PRIOR_CELL = 1e-6
"""Relative half-width of the cell around the prior in the first certificate."""


@dataclass(frozen=True)
class Refinement:
    """How the driver moves knots from one level to the next.

    first_lines    lines of the first level (uniform in the arcsine coordinate)
    narrow         half-width of the new cell around a posterior, as a share of its cell
    split_share    cells with this share of the largest error are split
    target_share   ... but none with less than this share of an even part of the target
    aim, split_gain  and no more than bring the error to this share of the target, if a
                   split divides the error of its cell by split_gain
    least_growth   ... but at least one in this many lines, if their error calls for it
    used_mass      lines with less mass than this may be merged with their neighbours
    merge_loss     share of the gap that merging may cost the bound, over all lines
    lp_share       each linear program is solved to this share of the gap
    lp_target      ... but no further than this share of the target
    keep_centre    share of a split symbol that goes to the cell of its posterior
    pieces         cells are cut into this many for a finer, interpolated certificate
    progress, patience  stop after this many levels that leave more than this share of the gap
    max_levels     levels at most
    max_cells      largest number of states times lines
    """

    first_lines: int = 16
    narrow: float = 0.1
    split_share: float = 0.02
    target_share: float = 0.2
    aim: float = 1.0
    split_gain: float = 8.0
    least_growth: int = 8
    used_mass: float = 1e-7
    merge_loss: float = 0.1
    lp_share: float = 0.03
    lp_target: float = 0.1
    keep_centre: float = 0.8
    pieces: int = 4
    progress: float = 0.99
    patience: int = 4
    max_levels: int = 30
    max_cells: int = 40_000_000


def sandwich_binary(
    p: Array,
    M: Array,
    q: Array,
    *,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    progress: Callable[[float, float, str], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    solver: InteriorPoint | None = None,
    refinement: Refinement | None = None,
) -> OnKnots:
    """Enclose the largest ``I(W;Y)`` over private channels, for a binary target.

    Ends when the gap is at most ``tol`` or at most ``rel_tol`` times the information,
    or when ``time_limit`` (seconds) or ``should_stop()`` says so.  In every case the
    interval is valid and the returned channel is private to rounding.
    """
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    M = np.asarray(M, dtype=float).reshape(len(p), -1)
    solver = solver or InteriorPoint()
    refinement = refinement or Refinement()
    run = _Sandwich(p, M, q, progress)
    started = time.monotonic()
    deadline = math.inf if time_limit is None else started + time_limit

    def halted() -> bool:
        return time.monotonic() > deadline or (should_stop is not None and should_stop())

    if run.settled(tol, rel_tol):
        return run.result("optimal")
    ends = angle(np.array([run.low, run.high]))
    angles = np.linspace(ends[0], ends[1], refinement.first_lines + 1)
    z0 = nu0 = None
    idle = 0
    for level in range(refinement.max_levels):
        if halted():
            break
        knots = np.sin(angles) ** 2
        knots[0], knots[-1] = run.low, run.high
        if z0 is not None:
            nu0 = interpolated_multipliers(run.knots, run.nu, knots)
        before = time.monotonic()
        target = max(tol, (rel_tol or 0.0) * run.information)
        accuracy = max(refinement.lp_target * target, refinement.lp_share * run.gap)
        C = chord_costs(knots, q)
        lp = replace(solver, tolerance=accuracy).solve(C, p, M, z0, halted, run.watcher(level, len(knots) - 1), nu0)
        gap_before = run.gap
        score = run.record(knots, C, lp, refinement.pieces, time.monotonic() - before)
        if run.settled(tol, rel_tol):
            return run.result("optimal")
        if lp.status == "stopped":
            break
        if lp.status == "stalled" and run.gap > 0.9 * gap_before:
            if z0 is None:
                return run.result("stalled")
            z0 = nu0 = None  # the same knots again, from a cold start
            continue
        idle = idle + 1 if run.gap > refinement.progress * gap_before else 0
        if idle >= refinement.patience:
            return run.result("stalled")
        target = max(tol, (rel_tol or 0.0) * run.information)
        angles, z0 = _refine(angles, knots, C, p, M, q, lp, score, run.gap, target, refinement)
        if len(p) * (len(angles) - 1) > refinement.max_cells:
            return run.result("level limit")
    else:
        return run.result("level limit")
    return run.result("time limit" if time.monotonic() > deadline else "stopped")


class _Sandwich:
    """The best interval so far, with the channel and the certificate that prove it."""

    def __init__(self, p: Array, M: Array, q: Array, progress: Callable[[float, float, str], None] | None) -> None:
        self.p, self.M, self.q, self._progress = p, M, q, progress
        self.prior_entropy = float(binary_entropies(np.array(p @ q / p.sum())))
        self.low = max(0.0, float(q.min()) - RANGE_MARGIN)
        self.high = min(1.0, float(q.max()) + RANGE_MARGIN)
        self.z = p[:, None].copy()
        self.information = 0.0
        self.history: list[Level] = []
        self.knots = np.array([self.low, self.high])
        self.nu = np.zeros((1, M.shape[1]))
        self.upper_bound = math.inf
        C = chord_costs(self.knots, q)
        self._keep_bound(self.knots, self.nu, repaired_bound(C, p, M, self.nu), C)
        self._keep_regression_bound()

    def _keep_regression_bound(self) -> None:
        """Try multipliers that regress q on M: exact where M determines q."""
        mean = float(self.p @ self.q / self.p.sum())
        near = mean + PRIOR_CELL * min(mean, 1 - mean) * np.array([-1.0, 1.0])
        inner = near[(near > self.low) & (near < self.high)]
        knots = np.unique(np.concatenate([[self.low], inner, [self.high]]))
        root = np.sqrt(self.p)
        if self.M.size == 0 or len(knots) < 2:
            return
        beta = np.linalg.lstsq(root[:, None] * self.M, root * (self.q - mean), rcond=None)[0]
        nu = chord_slopes(knots)[:, None] * beta
        C = chord_costs(knots, self.q)
        self._keep_bound(knots, nu, repaired_bound(C, self.p, self.M, nu), C)

    @property
    def gap(self) -> float:
        return self.upper_bound - self.information

    def settled(self, tol: float, rel_tol: float | None) -> bool:
        """Whether the interval is as narrow as was asked."""
        return self.gap <= tol or (rel_tol is not None and self.gap <= rel_tol * self.information)

    def watcher(self, level: int, lines: int) -> Callable[[int, float, float], None] | None:
        """A callback that reports the closing bound while a linear program runs."""
        report = self._progress
        if report is None:
            return None

        def watch(iteration: int, _primal: float, dual: float) -> None:
            bound = min(self.upper_bound, self.prior_entropy - dual)
            report(self.information, bound, f"level {level}, {lines} lines, iteration {iteration}")

        return watch

    def record(self, knots: Array, C: Array, lp: LPResult, pieces: int, seconds: float) -> Score:
        """Keep what the level improved; return the score of its channel."""
        score = score_of(lp.z, self.q)
        private = equality_error(lp.z, self.p, self.M) <= FEASIBILITY
        if private and self.prior_entropy - score.entropy > self.information:
            self.information, self.z = self.prior_entropy - score.entropy, lp.z
        self._keep_bound(knots, lp.nu, lp.dual, C)
        finer = _subdivided(knots, score, pieces)
        if len(finer) > len(knots):
            C = chord_costs(finer, self.q)
            nu = interpolated_multipliers(knots, lp.nu, finer)
            self._keep_bound(finer, nu, repaired_bound(C, self.p, self.M, nu), C)
        lines = len(knots) - 1
        self.history.append(Level(lines, lp.iterations, self.information, self.upper_bound, seconds, lp.status))
        if self._progress is not None:
            self._progress(self.information, self.upper_bound, f"{lines} lines done")
        return score

    def _keep_bound(self, knots: Array, nu: Array, dual: float, C: Array) -> None:
        """Keep the certificate if its bound, less its rounding error, is the best."""
        bound = self.prior_entropy - dual + rounding_margin(C, self.p, self.M, nu)
        if bound < self.upper_bound:
            self.upper_bound, self.knots, self.nu = bound, knots, nu

    def result(self, status: Literal["optimal", "stopped", "time limit", "level limit", "stalled"]) -> OnKnots:
        return OnKnots(
            self.z, self.knots, self.nu, self.information, self.upper_bound,
            tuple(self.history), status,
        )  # fmt: skip


def _subdivided(knots: Array, score: Score, pieces: int) -> Array:
    """Cut the cells that hold nearly all of the error into equal pieces (in angle)."""
    error = _errors(knots, score)
    wanted = np.where(error > 1e-3 * error.max(), pieces, 1)
    index = np.concatenate([line + np.arange(n) / n for line, n in enumerate(wanted)] + [[len(wanted)]])
    angles = np.interp(index, np.arange(len(knots)), angle(knots))
    whole = index == np.floor(index)
    finer = np.where(whole, knots[index.astype(int)], np.sin(angles) ** 2)
    value: Array = finer[np.concatenate([[True], np.diff(finer) > 0])]
    return value


def _errors(knots: Array, score: Score) -> Array:
    """Return what each symbol costs beyond its chord."""
    chord = np.einsum("ll->l", chord_costs(knots, score.posterior))
    value: Array = score.mass * np.maximum(0, binary_entropies(score.posterior) - chord)
    return value


def _refine(
    angles: Array,
    knots: Array,
    C: Array,
    p: Array,
    M: Array,
    q: Array,
    lp: LPResult,
    score: Score,
    gap: float,
    target: float,
    options: Refinement,
) -> tuple[Array, Array]:
    """Return the next level's knots (as angles) and a feasible channel for its lines.

    A cell whose symbol costs more than its chord says is cut around the symbol's
    posterior.  Neighbouring lines that carry no mass are merged where the repaired
    bound hardly changes; knots are otherwise kept, or the symbols would move into the
    wide cells where the chords are too low.
    """
    lines = len(score.mass)
    error = _errors(knots, score)
    used = score.mass > options.used_mass
    even = target / max(1, int(used.sum()))
    threshold = max(options.split_share * float(error.max()), options.target_share * even)
    split = error > threshold
    enough = _enough(error, options.aim * target, options.split_gain)
    split[np.argsort(-error)[max(enough, -(-lines // options.least_growth)) :]] = False
    width = np.diff(angles)
    centre = np.clip(angle(score.posterior), angles[:-1], angles[1:])
    least = np.full(len(p), np.inf)
    for start in range(0, len(p), 4096):
        rows = slice(start, start + 4096)
        least[rows] = (C[rows] - M[rows] @ lp.nu.T).min(axis=1)
    allowed = options.merge_loss * gap / lines

    cuts = [float(angles[0])]
    share: list[tuple[int, int, float]] = []  # parent line, new line, share
    line = 0
    while line < lines:
        stop = line + 1
        if split[line]:
            step = options.narrow * width[line]
            margin = 0.2 * step
            inside = [
                x
                for x in (centre[line] - step, centre[line] + step)
                if angles[line] + margin < x < angles[line + 1] - margin
            ] or [0.5 * (angles[line] + angles[line + 1])]
            home = sum(x < centre[line] for x in inside)
            for piece in range(len(inside) + 1):
                part = options.keep_centre if piece == home else (1 - options.keep_centre) / len(inside)
                share.append((line, len(cuts) - 1 + piece, part))
            cuts.extend(inside)
        else:
            if not used[line]:
                while stop < lines and not used[stop] and not split[stop]:
                    ends = knots[[line, stop + 1]]
                    weights = width[line : stop + 1] / width[line : stop + 1].sum()
                    merged = chord_costs(ends, q)[:, 0] - M @ (weights @ lp.nu[line : stop + 1])
                    if p @ np.maximum(0, least - merged) > allowed:
                        break
                    stop += 1
            share.extend((parent, len(cuts) - 1, 1.0) for parent in range(line, stop))
        cuts.append(float(angles[stop]))
        line = stop
    parents, children, parts = (np.array(column) for column in zip(*share, strict=True))
    spread = np.zeros((lines, len(cuts) - 1))
    spread[parents.astype(int), children.astype(int)] = parts
    finer = np.array(cuts)
    return finer, lp.z @ spread


def _enough(error: Array, aim: float, gain: float) -> int:
    """Return how many of the largest errors must shrink by ``gain`` to sum to ``aim``."""
    ordered = np.sort(error)[::-1]
    after = ordered.sum() - np.cumsum(ordered) * (1 - 1 / gain)
    return 1 + int(np.count_nonzero(after > aim))
