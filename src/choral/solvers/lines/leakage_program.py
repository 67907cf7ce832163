"""An interior point for lines within budgets of leakage, written for the structure that these programs have.

Minimise Σ z_sl C_sl over z ≥ 0 with Σ_l z_sl = p_s, Mᵀ z_l = 0 for groups that stay private, and, for every group with a
budget, Σ_l Σ_v u_lv log (u_lv / m_l) ≤ α - H(Z): u_l = Gᵀ z_l are the masses of its values on line l and m_l their sum. The
left side is convex, and its gradient is log q_l, q_l = u_l / m_l. With a price λ the multipliers of the values are
ν_l = -λ log q_l, but here they are variables of their own: reduced costs are then linear in what a step moves, and lines
without mass have multipliers that say something. Whatever ν is, ν_l + λ log Σ_v exp(-ν_lv / λ) keeps what prices ask of
multipliers and proves a bound, so every iterate has one.

A Newton step eliminates the lines first: each has a small system (its rows of M and G), and what is left has a row per state.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.budget_program import Answer, Group
from choral.solvers.lines.central_path import TINY, WARM_FLOOR, CentralPath, Pairs, Way
from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.leakage_elimination import LinesFirst, StatesFirst, roots, work

ITERATIONS = 30
"""At most: ten to twenty reach what is asked for, or nothing does."""
NEARLY = 10.0
"""Times the accuracy asked for that will do where floats are exhausted: a conic solver takes ten times as long to go on."""
PRIVATE = 1e-8
"""What the equations of private groups may miss; those of states and budgets are restored, at a cost that is counted."""
WARM_MIX, WARM_BOOST = 0.05, 3.0
"""A warm start: the share of the uniform channel, and the barrier in units of its complementarity."""
ROOM = 1e-3
"""Share of a budget that a warm start leaves free ..."""
WITHIN = 1e-9
"""... and a result, so that rounding does not exceed it."""
LARGEST = 50.0
"""Exponents at most: of ν_lv / λ, which is a logarithm of a probability."""
IDLE = 1e-3
"""On lines with less mass a value that has more than its multiplier says comes down to it, u = m exp(-ν / λ), where on
others the multiplier goes to it: a logarithm of what is nearly zero bends much."""
LEAST = 1e-6
"""... where it comes down to no less than this share of what it has: more than one step takes from it."""
REFINEMENTS = 1
"""Of each solve."""
SLACK = 1e-12
"""By so much, in nats, log q is lowered, so that rounding cannot make Σ q exceed one."""
SMALL = 2000
"""States times lines up to which a conic solver takes no time that counts, and goes further."""
WORK = 1e11
"""Products of one Newton step up to which this method is used: beyond, values are so many that sparse systems win."""
FINEST = 1e-6
"""The accuracy, in bits, that floats reach here; beyond it a conic solver goes further."""


@dataclass(frozen=True)
class Start:
    """Where to begin: masses, multipliers of private rows and of values, and prices in bits per bit."""

    z: Floats
    nu: Floats
    by_group: list[Floats]
    prices: list[float]


def suits(cost: Floats, M: Floats, groups: Sequence[Group], accuracy: float) -> bool:
    """Whether a program is of this kind, and a step of it small enough."""
    width = M.shape[1] + sum(group.values for group in groups)
    small = cost.size > SMALL and min(work(len(cost), cost.shape[1], width)) <= WORK
    return accuracy >= FINEST and small and all(group.kind == "leakage" for group in groups)


def by_interior_point(
    cost: Floats,
    p: Floats,
    M: Floats,
    groups: Sequence[Group],
    seconds: float,
    accuracy: float,
    start: Start | None = None,
) -> Answer | None:
    """The program's answer to this accuracy (bits), or None where floats did not come near it; `start` may be any channel."""
    deadline = time.monotonic() + seconds
    with np.errstate(all="ignore"):
        path = _Path(cost, p, M, groups, accuracy, start)
        path.follow(ITERATIONS, lambda: time.monotonic() > deadline or not math.isfinite(path.cost - path.bound))
    return path.answer() if path.gap <= NEARLY * accuracy else None


class _Path(CentralPath):
    """Through the channels within the budgets; beside the masses there is what budgets have left, with their prices."""

    reach, slowest = 0.99, 1e-3  # logarithms bend more than a step sees

    def __init__(
        self, cost: Floats, p: Floats, M: Floats, groups: Sequence[Group], accuracy: float, start: Start | None
    ) -> None:
        self.groups, self.accuracy = groups, accuracy
        self.r = M.shape[1]
        self.G = np.hstack([group.given for group in groups])
        H = np.hstack([M, self.G])
        states, width = H.shape
        super().__init__(cost, p, H, Chunks(states, states, None, 1))
        self.products = (H[:, :, None] * H[:, None, :]).reshape(states, width * width)
        self.of = np.repeat(np.arange(len(groups)), [group.values for group in groups])
        self.member = (self.of[:, None] == np.arange(len(groups))).astype(np.float64)
        self.least = np.array([-group.entropy for group in groups])
        self.most = np.array([group.amount * math.log(2) - group.entropy for group in groups])
        self.begin(start)
        self.proof = self.nu, self.price
        self.least_cost, self.kept = math.inf, self.main.z

    @property
    def price(self) -> Floats:
        """Of each group's budget."""
        return self.beside[0].s

    # -- what follows from the variables

    def values(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """u, m and log q."""
        u, m = z.T @ self.G, z.sum(axis=0)
        return u, m, np.log(np.maximum(u, TINY) / np.maximum(m, TINY)[:, None])

    def told(self, z: Floats) -> Floats:
        """Σ u log q of each group: its entropy given the line, negative, in nats."""
        u, _, log = self.values(z)
        return np.asarray((u * log).sum(axis=0) @ self.member)

    def normal(self) -> Floats:
        """The multipliers, raised so that they prove a bound."""
        prices = self.price[self.of]
        x = -self.nu[:, self.r :] / prices
        top = x.max(axis=1, keepdims=True)
        shift = np.log(np.exp(x - top) @ self.member) + top + SLACK
        raised = self.nu.copy()
        raised[:, self.r :] += prices * (shift @ self.member.T)
        return raised

    # -- where it begins

    def begin(self, start: Start | None) -> None:
        """A point inside: from a channel with one code per line, or from the uniform one."""
        C, p = self.C, self.p
        z = self.uniform.copy()
        if start is not None:
            z = self.inside((1 - WARM_MIX) * np.maximum(start.z, 0.0) + WARM_MIX * z)
        left = np.maximum(self.most - self.told(z), TINY)
        log = self.values(z)[2]
        if start is None:
            barrier = float((p * (C.max(axis=1) - C.min(axis=1))).max()) / C.shape[1]
            price = barrier / left
            self.nu[:, self.r :] = -price[self.of] * log
            self.main.z[:] = z
            self.centred(barrier)
        else:
            price = np.maximum(np.array(start.prices) / math.log(2), 1e-6)
            self.nu[:] = np.hstack([start.nu, *start.by_group])
            idle = (np.array(start.prices) == 0)[self.of]
            self.nu[:, self.r :][:, idle] = (-price[self.of] * log)[:, idle]
            self.main.z[:] = z
            barrier = self.centred(boost=WARM_BOOST)
            price = np.maximum(price, barrier / left)
            np.maximum(z, WARM_FLOOR * barrier / self.main.s, out=self.main.z)
            self.main.z *= (p / self.main.z.sum(axis=1))[:, None]
            left = np.maximum(left, WARM_FLOOR * barrier / price)
        self.beside = [Pairs(left, price, Chunks(len(left), len(left), None, 1))]

    def inside(self, z: Floats, room: float = ROOM) -> Floats:
        """Masses mixed with those of codes that ignore the state until they are within the budgets: leakage is convex."""
        most = self.least + (1 - room) * (self.most - self.least)
        over = np.maximum(self.told(z) - most, 0.0)
        share = float((over / (over + most - self.least)).max())
        return z if share == 0 else (1 - share) * z + share * self.p[:, None] * (z.sum(axis=0) / z.sum())

    # -- the steps

    def look(self) -> float:
        """The gap is that between the best channel within the budgets and what is proved."""
        raised = self.normal()
        bound = float(self.p @ (self.C - self.M @ raised.T).min(axis=1)) - float(self.price @ self.most)
        if bound > self.bound:
            self.bound, self.proof = bound, (raised, self.price.copy())
        for pairs in (self.main, *self.beside):
            np.divide(pairs.z, pairs.s, out=pairs.d)
        self.system = _Newton(self)
        z = self.main.z
        self.cost = float(np.vdot(z, self.C))
        if self.cost - self.bound <= NEARLY * self.accuracy and self.system.private:
            restored = self.inside(z * (self.p / z.sum(axis=1))[:, None], WITHIN)
            cost = float(np.vdot(restored, self.C))
            if cost < self.least_cost:
                self.least_cost, self.kept = cost, restored
        self.gap = self.least_cost - self.bound
        return sum(float(np.vdot(pairs.z, pairs.s)) for pairs in (self.main, *self.beside))

    def ended(self) -> bool:
        """What is kept lacks nothing."""
        return self.gap <= self.accuracy

    def factorise(self) -> None:
        """The lines are eliminated first."""
        self.system.factorise()

    def way(self) -> tuple[Way, list[Array]]:
        """Budgets move against their prices."""
        lam, nu, price = self.system.direction(self.main.g, self.beside[0].g)
        return Way(lam, nu), [-price]

    def answer(self) -> Answer:
        """The best channel, within the budgets up to rounding, and the multipliers that prove most."""
        raised, prices = self.proof
        z = self.kept
        starts = np.cumsum([self.r, *(group.values for group in self.groups)])
        by_group = [raised[:, a:b] for a, b in pairwise(starts.tolist())]
        bits = [float(price) * math.log(2) for price in prices]
        return Answer(z / z.sum(axis=1, keepdims=True), raised[:, : self.r], by_group, bits)


class _Newton:
    """The equations of a Newton step, with prices as their border (see `leakage_elimination`).

    For values dν_l + J_l o_l + log q_l dλ is what ν_l and -λ log q_l differ by, where J_l = λ (diag(1 / u_l) - 1 1ᵀ / m_l).
    Where the equation is u_l = m_l exp(-ν_l / λ), its linear form has exp(-ν_l / λ) for q_l.
    """

    def __init__(self, path: _Path) -> None:
        self.path = path
        z = path.main.z
        u, self.m, log = path.values(z)
        self.prices = prices = path.price[path.of]
        self.of_states = path.p - z.sum(axis=1)
        self.of_budgets = path.most - (u * log).sum(axis=0) @ path.member - path.beside[0].z
        ratio = np.minimum(-path.nu[:, path.r :] / prices, LARGEST)
        by_ratio = self.m[:, None] * np.exp(ratio)
        idle = (self.m < IDLE)[:, None] & (by_ratio < u)
        self.u = np.maximum(np.where(idle, np.maximum(by_ratio, LEAST * u), u), TINY)
        of_values = prices * np.where(idle, 1 - u / self.u, ratio - log)
        self.of_lines = np.hstack([-(z.T @ path.M[:, : path.r]), of_values])
        self.slope = np.zeros((len(self.m), path.M.shape[1], len(path.groups)))
        self.slope[:, path.r :] = np.where(idle, ratio, log)[:, :, None] * path.member

    @property
    def private(self) -> bool:
        """Whether the equations of private groups are kept nearly enough."""
        return float(np.abs(self.of_lines[:, : self.path.r]).sum()) <= PRIVATE

    def factorise(self) -> None:
        """Eliminate states and lines, and then the prices."""
        path = self.path
        (states, width), lines = path.M.shape, len(self.m)
        by_lines, by_states = work(states, lines, width - len(path.groups))  # each group has a column that is nothing
        order = LinesFirst if by_lines < by_states else StatesFirst
        self.K = roots(self.u, self.m, self.prices, [group.values for group in path.groups], path.r)
        self.system = order(path.M, path.products, path.main.d, self.K, path.r, path.chunks)
        nothing = np.zeros(states), np.zeros((lines, width))
        self.by_price = [self.system.solve(*nothing, -slope) for slope in np.moveaxis(self.slope, 2, 0)]
        seen = np.stack([self.system.seen(*moves) for moves in self.by_price], axis=2)
        self.border = np.einsum("ltg,lth->gh", self.slope, seen) - np.diag(path.beside[0].d)

    def direction(self, g: Floats, to_t: Floats) -> tuple[Floats, Floats, Floats]:
        """How λ, ν and the prices move, if dz = g + d (dλ + H dν), and t by this less its share of the price's."""
        path, r = self.path, self.path.r
        b, of_states = g.T @ path.M, self.of_states - g.sum(axis=1)
        lam, nu, price = self.solve(of_states, b, self.of_lines, self.of_budgets - to_t)
        for _ in range(REFINEMENTS):
            rows = b + self.system.seen(lam, nu)
            lines = self.of_lines - rows
            half = np.einsum("lij,li->lj", self.K[:, r:], rows[:, r:])
            lines[:, r:] = (self.of_lines - nu - np.einsum("lij,lj->li", self.K, half) - self.slope @ price)[:, r:]
            budgets = self.of_budgets - to_t - np.einsum("ltg,lt->g", self.slope, rows) + path.beside[0].d * price
            states = of_states - path.main.d.sum(axis=1) * lam - self.system.pulled(nu)
            more = self.solve(states, np.zeros_like(b), lines, budgets)
            lam, nu, price = lam + more[0], nu + more[1], price + more[2]
        return lam, nu, price

    def solve(
        self, of_states: Floats, b: Floats, of_lines: Floats, of_budgets: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The same for what states, lines and budgets lack, where rows see b already."""
        lam, nu = self.system.solve(of_states, b, of_lines)
        seen = b + self.system.seen(lam, nu)
        price = np.linalg.solve(self.border, of_budgets - np.einsum("ltg,lt->g", self.slope, seen))
        for move, (of_lam, of_nu) in zip(price, self.by_price, strict=True):
            lam, nu = lam + move * of_lam, nu + move * of_nu
        return lam, nu, price
