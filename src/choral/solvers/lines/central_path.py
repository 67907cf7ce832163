"""Steps along the central path, by Mehrotra's predictor and corrector: what all interior points over lines share.

A point inside has masses z, slacks s = C - λ - M·ν of their costs, and perhaps further variables with slacks (budgets and
their prices). On the central path all products of a variable and its slack are alike. A step aims at smaller ones: with
d = z / s masses move by ``g + d move`` and slacks by ``-move``, and ``move`` follows from how multipliers move. Programs
differ in what else they ask, in the linear system that says how multipliers move, and in what multipliers prove.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from choral.phases import LeftError, entire, leavable
from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.elimination import centred_duals
from choral.solvers.lines.program import Status, Stop, Watch

SECOND_ORDER = 10.0
"""Bound on the second-order term, in units of the barrier: without it a poor predictor throws the point off the path."""
SHORT = 0.1
"""A step below this is followed by a centring step."""
PATIENCE = 8
"""So many steps in a row that are short in both spaces mean that floats are exhausted."""
WARM_FLOOR = 0.3
"""The least product of a mass and its slack in a warm start, in units of the barrier."""
TINY = 1e-300
"""In place of zero, where it is divided by."""


class Pairs:
    """Variables and their slacks, and where a step takes them."""

    def __init__(self, z: Array, s: Array, chunks: Chunks) -> None:
        self.z, self.s, self.chunks = z, s, chunks
        self.d, self.g, self.move = (np.empty_like(z) for _ in range(3))

    def moved(self, rows: slice, primal: float, dual: float) -> tuple[Array, Array]:
        """Variables and slacks after steps of these lengths."""
        z = self.d[rows] * self.move[rows]
        z += self.g[rows]
        z *= primal
        z += self.z[rows]
        return z, self.s[rows] - dual * self.move[rows]

    def products(self, primal: float, dual: float) -> float:
        """The sum of all products after steps of these lengths."""
        return sum(self.chunks.each(lambda rows: float(np.vdot(*self.moved(rows, primal, dual)))))

    def lengths(self, fill: Callable[[slice], None]) -> tuple[float, float]:
        """What of the ways to the boundary the longest moves are, of variables and of slacks, once they are filled in."""

        def part(rows: slice) -> tuple[float, float]:
            fill(rows)
            ratio = self.d[rows] * self.move[rows]
            ratio += self.g[rows]
            ratio /= self.z[rows]
            return -float(ratio.min(initial=0.0)), float((self.move[rows] / self.s[rows]).max(initial=0.0))

        parts = self.chunks.each(part)
        return max((down for down, _ in parts), default=0.0), max((up for _, up in parts), default=0.0)

    def bend(self, target: float, clip: float) -> None:
        """Aim at products of this size, less what the last move leaves of them to second order."""

        def part(rows: slice) -> None:
            term = (self.g[rows] + self.d[rows] * self.move[rows]) * self.move[rows]
            np.clip(term, -clip, clip, out=term)
            term += target
            term /= self.s[rows]
            self.g[rows] += term

        self.chunks.each(part)

    def recentre(self, primal: float, dual: float, target: float) -> None:
        """Aim at what brings outlying products of a longer step back to the target."""

        def part(rows: slice) -> None:
            product, slack = self.moved(rows, primal, dual)
            product *= slack
            term = np.clip(product, 0.1 * target, 10 * target, out=slack)
            term -= product
            np.maximum(term, -10 * target, out=term)
            term /= self.s[rows]
            self.g[rows] += term

        self.chunks.each(part)

    def take(self, primal: float, dual: float) -> None:
        """Take the step; raises `LinAlgError` where it has no end."""
        if not (np.isfinite(self.g).all() and np.isfinite(self.move).all()):
            raise np.linalg.LinAlgError("a step without end")

        def part(rows: slice) -> None:
            self.z[rows], self.s[rows] = self.moved(rows, primal, dual)

        self.chunks.each(part)


@dataclass(frozen=True)
class Way:
    """How multipliers move, and the longest primal and dual steps up to the boundary, at most one."""

    lam: Array
    nu: Array
    primal: float = 0.0
    dual: float = 0.0


class CentralPath(ABC):
    """A point inside of a program with these costs, masses of states and equations, and its way to the end."""

    reach = 0.995
    """How far towards the boundary a step may go: nearer, and the next step is short."""
    slowest = 0.0
    """The next barrier is at least this share of the present one."""
    correctors = 3
    """Centrality correctors at most per factorisation: each costs a solve, and is kept only where it lengthens the step."""

    def __init__(self, C: Array, p: Array, M: Array, chunks: Chunks) -> None:
        self.C, self.p, self.M, self.chunks = C, p, M, chunks
        self.lam, self.nu = np.empty(len(p)), np.zeros((C.shape[1], M.shape[1]))
        self.main = Pairs(np.empty_like(C), np.empty_like(C), chunks)
        self.beside: list[Pairs] = []
        self.row_gap = np.empty_like(self.lam)
        self.cost, self.bound, self.gap, self.products = np.inf, -np.inf, np.inf, np.inf
        self.took = 0.0
        """Seconds of the last step."""

    def begin(self, z: Array | None, mix: float, boost: float) -> float:
        """Masses near a channel, mixed with so much of the uniform one, or the uniform one; near it, what `centred` sets.

        Returns the barrier: in units of the channel's complementarity, or as wide as costs are.
        """
        uniform = np.broadcast_to(self.p[:, None] / self.C.shape[1], self.C.shape)
        if z is None:
            self.main.z[:] = uniform
            reduced = self.C - self.M @ self.nu.T
            widest = float((self.p * (reduced.max(axis=1) - reduced.min(axis=1))).max())
            return self.centred(widest / self.C.shape[1])
        self.main.z[:] = self.inside((1 - mix) * np.maximum(z, 0.0) + mix * uniform)
        barrier = self.centred(boost=boost)
        np.maximum(self.main.z, WARM_FLOOR * barrier / self.main.s, out=self.main.z)
        return barrier

    def inside(self, z: Array) -> Array:
        """Masses that are changed as little as other constraints ask."""
        return z

    def centred(self, barrier: float | None = None, boost: float = 1.0) -> float:
        """Set multipliers of states and slacks so that products are near a barrier if masses are; returns the barrier.

        It is that of masses as they are, times `boost`, unless it is given.
        """
        reduced = self.C - self.M @ self.nu.T
        slack = reduced - reduced.min(axis=1)[:, None]
        if barrier is None:
            barrier = boost * float(np.vdot(self.main.z, slack)) / self.C.size
        barrier = max(barrier, TINY)
        self.lam[:] = centred_duals(reduced, self.p, barrier)
        np.subtract(reduced, self.lam[:, None], out=self.main.s)
        return barrier

    def look(self) -> float:
        """See what the equations lack, and set d, cost and gap; returns the sum of all products."""
        z, s = self.main.z, self.main.s

        def part(rows: slice) -> tuple[Array, float, float]:
            with np.errstate(divide="ignore", over="ignore"):
                np.divide(z[rows], s[rows], out=self.main.d[rows])
            self.row_gap[rows] = self.p[rows] - z[rows].sum(axis=1)
            return z[rows].T @ self.M[rows], float(np.vdot(z[rows], s[rows])), float(np.vdot(z[rows], self.C[rows]))

        moments, products, costs = zip(*self.chunks.each(part), strict=True)
        self.moments, self.cost, self.products = sum(moments[1:], start=moments[0]), sum(costs), sum(products)
        for pairs in self.beside:
            np.divide(pairs.z, pairs.s, out=pairs.d)
            self.products += float(np.vdot(pairs.z, pairs.s))
        self.judge()
        return self.products

    @abstractmethod
    def judge(self) -> None:
        """Keep what proves more, and set the gap."""

    @abstractmethod
    def ended(self) -> bool:
        """Whether this is accurate enough."""

    @abstractmethod
    def factorise(self) -> None:
        """Make the linear system of a step at this point; raises `LinAlgError` where floats cannot hold it."""

    @abstractmethod
    def way(self) -> tuple[Way, list[Array]]:
        """How multipliers move for what the pairs aim at, and the moves of the pairs beside."""

    def follow(self, steps: int, should_stop: Stop | None, callback: Watch | None = None) -> tuple[int, Status]:
        """Step until it is accurate enough, or something else ends it; how many steps there were, and what ended it."""
        short, centring = 0, False
        for step in range(steps + 1):
            products = self.look()
            if callback is not None:
                callback(step, self.cost, self.bound)
            if self.ended():
                return step, "optimal"
            if should_stop is not None and should_stop():
                return step, "stopped"
            if short >= PATIENCE:
                return step, "stalled"
            if step == steps:
                break
            began = time.monotonic()
            try:
                with np.errstate(over="ignore", invalid="ignore"), leavable():
                    self.factorise()
                    lengths = self.step(products, centring)
                self.took = time.monotonic() - began
            except LeftError:  # the point is that before the step
                self.took = max(self.took, time.monotonic() - began)
                return step, "stopped"
            except np.linalg.LinAlgError:  # the arithmetic is exhausted: keep what there is
                return step, "stalled"
            centring = min(lengths) < SHORT
            short = short + 1 if max(lengths) < SHORT else 0
        return steps, "iteration limit"

    def step(self, products: float, centring: bool = False) -> tuple[float, float]:
        """Take one step from a point with these products; return how long it is in both spaces.

        The step is a predictor-corrector step, or (``centring``) aims at the central path for the present barrier, which
        repairs a point that lies too near the boundary.
        """
        every = [self.main, *self.beside]
        count = sum(pairs.z.size for pairs in every)
        barrier = products / count
        for pairs in every:
            np.negative(pairs.z, out=pairs.g)
        way = self._direction()
        after = max(0.0, sum(pairs.products(way.primal, way.dual) for pairs in every)) / count
        target = barrier if centring else barrier * max(self.slowest, min(1.0, after / barrier) ** 3)
        for pairs in every:
            pairs.bend(target, 0.0 if centring else SECOND_ORDER * barrier)
        way = self._direction()
        for _ in range(self.correctors):
            if min(way.primal, way.dual) > 0.9:
                break
            kept = [(pairs.g.copy(), pairs.move.copy()) for pairs in every]
            for pairs in every:
                pairs.recentre(min(1.0, 1.08 * way.primal + 0.08), min(1.0, 1.08 * way.dual + 0.08), target)
            further = self._direction()
            if further.primal + further.dual < way.primal + way.dual + 0.02:
                for pairs, (g, move) in zip(every, kept, strict=True):
                    pairs.g[:], pairs.move[:] = g, move
                break
            way = further
        primal, dual = (min(1.0, self.reach * length) for length in (way.primal, way.dual))
        with entire():
            for pairs in every:
                pairs.take(primal, dual)
            self.lam += dual * way.lam
            self.nu += dual * way.nu
        return primal, dual

    def _direction(self) -> Way:
        """Where the pairs move for what they aim at, and how far."""
        way, others = self.way()

        def fill(rows: slice) -> None:
            np.matmul(self.M[rows], way.nu.T, out=self.main.move[rows])
            self.main.move[rows] += way.lam[rows, None]

        lengths = [self.main.lengths(fill)]
        for pairs, move in zip(self.beside, others, strict=True):
            pairs.move[:] = move
            lengths.append(pairs.lengths(lambda _: None))
        primal, dual = (1 / max(1.0, *(pair[i] for pair in lengths)) for i in (0, 1))
        return Way(way.lam, way.nu, primal, dual)
