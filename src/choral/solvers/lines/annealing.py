"""Programs over lines with very many states: every state chooses among the lines softly, and ever less so.

The multipliers nu maximise Σ_s p_s softmin_ε(C_s - M_s·nu), whose gradient is what the channel p_s softmax(-(C_s - M_s·nu)/ε)
lacks of the equations, and whose value is below the optimum by what softness costs: ε times the entropy of a state's choice.
Many states make this smooth. Newton steps, held back where a line has hardly any mass, follow the path to small ε; there
nearly every state has one line or two, so that a step takes sums over those, where an interior point has every state on
every line. It needs multipliers to start from (those of a sample); where it fails, the interior point goes on.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from choral.phases import hurried
from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.elimination import elimination
from choral.solvers.lines.factors import Cholesky
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.program import LineSolver, Outcome, Program, Stop, Watch, equality_error
from choral.solvers.lines.restoration import restored

PIECE = 16_384
"""States of a piece at most: of so many, hundreds choose each line, and are multiplied at once."""
CHOSEN = 1e-5
"""Choices rarer than this have no part in the second derivatives, only in the first: steps are hardly less good."""
FIRST, HOTTER = 4.0, 4.0
"""Where it begins: the softness in units of the tolerance, and by what it grows until the start is near the path."""
FAR = 1.5
"""Newton's decrement, in units of the softness, up to which a start is near the path ..."""
NEAR = 1e-3
"""... and below which a point is on it."""
COOLER = 0.5
"""By which the softness falls at a point on the path. Nearer to the path fewer steps are bad: with 0.03 and 0.4 in place of
these, there are twice as many."""
HELD, RELEASED, FIRMER, FIRMEST = 1e-5, 0.25, 3.0, 10.0
"""What holds multipliers back, in units of a line's mass: at first; times this at least after a good step; times this after a
bad one, and its powers after more; and where even so much does not help, floats are exhausted."""
BAD = 0.1
"""A step that gains less than this share of what its quadratic model promises is not taken."""
IDLE = 1e-4
"""Lines with less mass than this have no code at the end: their few states would take as many steps as all others."""
MET = 1e-13
"""Equations that hold to this, over all lines, are met."""
ROUNDING = 1e-14
"""Gains below this are rounding."""
PATIENCE, SOFTER = 60, 2.0
"""Evaluations after which equations that do not hold are met at a larger softness, and how much larger: many states make
the less of a kink the softer they choose."""
STEPS = 300
"""Evaluations at most; 40 to 90 are usual."""
TOO_MANY = 100_000
"""States from which an interior point would take hours: what was found on the way is better."""
LITTLE = 1e-6
"""The share of a channel that tells nothing in what is found: exact channels are made by changing entries above zero."""
JOINED = 12
"""Where the search is stopped before the equations hold, so many lines are left: fewer take less time, which is up ..."""
SOFT = 32.0
"""... softly, at first in units of the tolerance and then more so, until the equations nearly hold after some steps; nine
tenths of the information are then kept, as measured ..."""
MENDED, HASTE = 1e-6, 30
"""... and nearly is this, some are so many. The rest is restored ..."""
HEAVY = 1e-3
"""... over lines that had this much mass to begin with."""


@dataclass(frozen=True)
class Annealing(LineSolver):
    """Soft choices, from given multipliers on; without any, or where it fails, the interior point."""

    of_gap: ClassVar[float] = 0.1
    of_target: ClassVar[float] = 0.4
    """Less would take long: the last softness is the hardest. And codes cost less than their lines say."""
    layout: ClassVar[Literal["C", "F"]] = "F"

    def run(self, program: Program, should_stop: Stop | None, callback: Watch | None) -> Outcome:
        """Follow the path down to what the tolerance asks, then meet the equations."""
        if program.nu is not None and program.C.shape[1] > 1:
            with suppress(np.linalg.LinAlgError):
                return _Path(program, self.tolerance, should_stop, callback).followed()
        return InteriorPoint(self.tolerance, self.workers).run(program, should_stop, callback)


@dataclass(frozen=True)
class _Point:
    """Multipliers and a softness: the value there, the bound, what softness costs, the masses of lines, and derivatives."""

    nu: Array
    softness: float
    value: float
    bound: float
    cost: float
    mass: Array
    moments: Array
    drift: Array
    curvature: Array


class _StoppedError(Exception):
    """Whoever asked wants no more."""


class _Path:
    """One run, from the start of a program to a channel that meets the equations."""

    def __init__(self, program: Program, tolerance: float, should_stop: Stop | None, callback: Watch | None) -> None:
        self.program, self.p, self.M = program, program.p, program.M
        self.tolerance, self.should_stop, self.callback = tolerance, should_stop, callback
        self.costs = np.ascontiguousarray(program.C.T)
        self.lines, self.rank = len(self.costs), self.M.shape[1]
        size = min(PIECE, -(-len(self.p) // program.workers))
        self.chunks = Chunks(len(self.p), size, program.pool, program.workers)
        self.single = self.M.astype(np.float32)
        self.used = np.ones(self.lines, dtype=bool)
        self.held = HELD
        self.evaluated = 0
        assert program.nu is not None
        self.best_nu, self.best_bound = program.nu, -np.inf
        self.last = program.nu, FIRST * tolerance

    # -- evaluation

    def choices(self, rows: slice, nu: Array, softness: float) -> tuple[Array, Array, Array, Array]:
        """What lines cost above the cheapest, the share of each, what the cheapest costs, and the sum before division."""
        space, shape = self.chunks.space, (self.lines, len(self.p[rows]))
        above, share = space.own("above", *shape), space.own("share", *shape)
        np.matmul(nu, self.M[rows].T, out=share)
        np.subtract(self.costs[:, rows], share, out=above)
        above[~self.used] = np.inf
        least = above.min(axis=0)
        above -= least
        np.multiply(above, -1 / softness, out=share)
        np.exp(share, out=share)
        total = share.sum(axis=0)
        share /= total
        above[~self.used] = 0
        return above, share, least, total

    def at(self, nu: Array, softness: float) -> _Point:
        """Evaluate; raises `_StoppedError` when told to, and `LinAlgError` after too many."""
        if self.should_stop is not None and self.should_stop():
            raise _StoppedError
        if self.evaluated >= STEPS:
            raise np.linalg.LinAlgError("the path is too long")
        lines, rank, square = self.lines, self.rank, self.lines * self.rank
        sizes = (3, lines, square, square, square * square)
        ends = np.cumsum(sizes)

        def parts(flat: Array) -> list[Array]:
            return np.split(flat, ends[:-1])

        def part(rows: slice) -> Array:
            flat = self.chunks.space.own("flat", ends[-1])
            p, M = self.p[rows], self.M[rows]
            above, share, least, total = self.choices(rows, nu, softness)
            numbers, mass, moments, drift, curvature = parts(flat)
            mean = np.einsum("ls,ls->s", share, above)
            numbers[:] = p @ (least - softness * np.log(total)), p @ least, p @ mean
            weight = self.chunks.space.own("weight", *share.shape)
            np.multiply(share, p, out=weight)
            mass[:] = weight.sum(axis=1)
            np.matmul(weight, M, out=moments.reshape(lines, rank))
            above -= mean
            above *= weight
            np.matmul(above, M, out=drift.reshape(lines, rank))
            self._curved(rows, share, weight, curvature.reshape(lines, rank, lines, rank))
            return flat

        flat = self.chunks.total(part)
        (value, bound, cost), mass, moments, drift, curvature = parts(flat)
        matrix = curvature.reshape(square, square)
        matrix += matrix.T
        matrix /= softness
        self.evaluated += 1
        if self.used.all() and bound > self.best_bound:
            self.best_nu, self.best_bound = nu, float(bound)
        self.last = nu, softness
        if self.callback is not None:
            self.callback(self.evaluated, float(bound + cost), self.best_bound)
        shape = lines, rank
        drift /= softness**2
        return _Point(
            nu,
            softness,
            float(value),
            float(bound),
            float(cost),
            mass,
            moments.reshape(shape),
            drift.reshape(shape),
            matrix,
        )

    def _curved(self, rows: slice, share: Array, weight: Array, out: Array) -> None:
        """Σ_s p_s M_s M_s' ⊗ (diag(π_s) - π_s π_s') over what is chosen: blocks above the diagonal, half of those on it."""
        out[:] = 0
        chosen = share > CHOSEN
        space = self.chunks.space
        single, others = space.own("single", *share.shape, dtype=np.float32), space.own("others", *share.shape)
        single[:] = share
        np.subtract(1, share, out=others)
        others *= weight
        for line in range(self.lines):
            who = np.flatnonzero(chosen[line])
            if not len(who):
                continue
            here = self.single[rows][who]
            out[line, :, line, :] = here.T @ (here * (0.5 * others[line, who, None]).astype(np.float32))
            beside = line + 1 + np.flatnonzero(chosen[line + 1 :, who].any(axis=1))
            spread = space.own("spread", len(who), len(beside), self.rank, dtype=np.float32)
            np.multiply(single[beside[:, None], who].T[:, :, None], here[:, None, :], out=spread)
            here *= weight[line, who, None]
            block = here.T @ spread.reshape(len(who), -1)
            out[line][:, beside, :] = -block.reshape(self.rank, len(beside), self.rank)

    # -- steps

    def solver(self, point: _Point) -> _Held:
        """Newton's system, held back as far as it is now."""
        return _Held(point, self.held, self.chunks)

    def followed(self) -> Outcome:
        """The path to its end; raises `LinAlgError` where it fails and an interior point is no worse."""
        try:
            point = self._met(self._cooled(self._begun()))
        except _StoppedError:
            start = self.program.z if hurried() else None  # to mend what there is takes seconds
            return Outcome(self._mended() if start is None else start, self.best_nu, self.evaluated, "stopped")
        except np.linalg.LinAlgError:
            if len(self.p) < TOO_MANY:
                raise
            return Outcome(self._mended(), self.best_nu, self.evaluated, "stalled")
        z = self._channel(point.nu, point.softness, LITTLE * point.mass / point.mass.sum())
        return Outcome(z, self.best_nu, self.evaluated, "optimal")

    def _begun(self) -> _Point:
        """At the least softness at which the start is near the path."""
        assert self.program.nu is not None
        softness = FIRST * self.tolerance
        while True:
            point = self.at(self.program.nu, softness)
            if self.solver(point).decrement <= FAR * softness or softness > np.ptp(self.costs):
                return point
            softness *= HOTTER

    def _cooled(self, point: _Point) -> _Point:
        """Down the path until softness costs as little as is asked for."""
        while True:
            system = self.solver(point)
            if system.decrement > NEAR * point.softness:
                point = self._step(point, system)
                continue
            if point.cost <= self.tolerance:
                return point
            softness = point.softness * max(COOLER, 0.5 * self.tolerance / point.cost)
            ahead = system.step - system.solve(point.drift) * (softness - point.softness)
            point = self.at(point.nu + ahead, softness)

    def _met(self, point: _Point) -> _Point:
        """Meet the equations with the lines that have mass; softer where that takes long."""
        self.used = point.mass >= IDLE
        patience = self.evaluated + PATIENCE
        if not self.used.all():
            point = self.at(point.nu, point.softness)
        while np.abs(point.moments).sum() > MET * self.lines:
            if self.evaluated > patience:
                patience = self.evaluated + PATIENCE
                point = self.at(point.nu, SOFTER * point.softness)
            point = self._step(point, self.solver(point))
        return point

    def _step(self, point: _Point, system: _Held) -> _Point:
        """Hold back until a step gains what it promises; raises `LinAlgError` where none does."""
        firmer = FIRMER
        while True:
            found = self.at(point.nu + system.step, point.softness)
            gain, promised = found.value - point.value, 0.5 * system.decrement
            if promised <= ROUNDING or gain >= BAD * promised:
                ratio = 1.0 if promised <= ROUNDING else gain / promised
                self.held *= max(RELEASED, 1 - (2 * ratio - 1) ** 3)
                return found
            self.held *= firmer
            firmer *= FIRMER
            if self.held > FIRMEST:
                raise np.linalg.LinAlgError("off the path")
            system = self.solver(point)

    # -- channels

    def _channel(self, nu: Array, softness: float, nothing: Array | float = 0.0) -> Array:
        """The choices; and besides, to the share of its sum, a law of lines that tells nothing.

        Line by line, so that those that are not used take no memory: zeros that nobody wrote.
        """
        z = np.zeros((self.lines, len(self.p)))
        lines = np.flatnonzero(self.used)
        beside = np.broadcast_to(nothing, self.lines)

        def part(rows: slice) -> None:
            share = self.choices(rows, nu, softness)[1]
            for line in lines:
                z[line, rows] = (share[line] * (1 - np.sum(nothing)) + beside[line]) * self.p[rows]

        self.chunks.each(part)
        return z.T

    def _mended(self) -> Array:
        """A channel with a code for few lines and choices that are soft, for which the equations are soon met."""
        nu, softness = self.last
        mass = self.chunks.total(lambda rows: np.asarray(self.choices(rows, nu, softness)[1] @ self.p[rows]))
        lines = np.array(
            [some[mass[some].argmax()] for some in np.array_split(np.arange(self.lines), JOINED) if len(some)]
        )
        program = replace(self.program, C=np.ascontiguousarray(self.program.C[:, lines]), nu=nu[lines])
        z = np.zeros((self.lines, len(self.p)))
        softness = SOFT * self.tolerance
        while softness < np.ptp(program.C):
            path = _Path(program, self.tolerance, None, None)
            try:
                path.used = path.at(nu[lines], softness).mass >= HEAVY
                point = path.at(nu[lines], softness)
                while np.abs(point.moments).sum() > MENDED and path.evaluated < HASTE:
                    point = path._step(point, path.solver(point))
            except np.linalg.LinAlgError:
                point = None
            if point is not None and np.abs(point.moments).sum() <= MENDED:
                kept = path.used & (point.mass >= HEAVY * IDLE)
                law = np.where(kept, point.mass, 0) / point.mass[kept].sum()
                found = np.ascontiguousarray(path._channel(point.nu, softness, LITTLE * law)[:, kept])
                restored(found, self.p, self.M, lambda d: elimination(program.basis, d, self.chunks))
                if equality_error(found, self.p, self.M) <= MET:
                    z[lines[kept]] = found.T
                    return z.T
            softness *= HOTTER
        z[0] = self.p
        return z.T


class _Held:
    """Newton's system at a point, with multipliers of lines held back; those of the heaviest line are fixed (gauge)."""

    def __init__(self, point: _Point, held: float, chunks: Chunks) -> None:
        lines, rank = point.moments.shape
        self._free = np.arange(lines) != int(point.mass.argmax())
        index = np.arange(lines * rank).reshape(lines, rank)[self._free].ravel()
        matrix = point.curvature[np.ix_(index, index)]
        at = np.arange(len(matrix))
        matrix[at, at] += held / point.softness
        self._factor = Cholesky(matrix, chunks)
        self.step = -self.solve(point.moments)
        self.decrement = float(-np.einsum("lr,lr->", point.moments, self.step))

    def solve(self, wanted: Array) -> Array:
        """Multipliers, one row per line."""
        found = np.zeros_like(wanted)
        found[self._free] = self._factor.solve(wanted[self._free].ravel()).reshape(-1, wanted.shape[1])
        return found
