"""An interior point for lines within budgets, written for the structure that these programs have.

Minimise Σ z_sl C_sl over z ≥ 0 with Σ_l z_sl = p_s, Mᵀ z_l = 0 for groups that stay private, and for every group with a
budget, with u_l = Gᵀ z_l the masses of its values on line l and m_l their sum:

*In bits.* Σ_l Σ_v u_lv log (u_lv / m_l) ≤ α - H(Z). The left side is convex, and its gradient is log q_l, q_l = u_l / m_l.
With a price λ the multipliers of the values are ν_l = -λ log q_l, but here they are variables of their own: reduced costs are
then linear in what a step moves, and lines without mass have multipliers that say something. Whatever ν is,
ν_l + λ log Σ_v exp(-ν_lv / λ) keeps what prices ask of multipliers and proves a bound, so every iterate has one.

*By a factor ρ.* u_lv - p_v m_l / ρ ≥ 0 and ρ p_v m_l - u_lv ≥ 0, or T u_l ≥ 0. With multipliers π_l ≥ 0 of these sides the
multipliers of the values are ν_l = Tᵀ π_l.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.budget_program import Answer, Group, Multipliers
from choral.solvers.lines.central_path import TINY, WARM_FLOOR, CentralPath, Pairs, Way
from choral.solvers.lines.chunks import WORTH_THREADS, Array, Chunks, cores, threads
from choral.solvers.lines.columns import Alike, Columns
from choral.solvers.lines.elimination import least_work, works
from choral.solvers.lines.newton import LinesFirst, StatesFirst
from choral.solvers.lines.partition import Sizes
from choral.solvers.lines.program import Stop, Watch

ITERATIONS = 30
"""At most: ten to twenty reach what is asked for, or nothing does."""
NEARLY = 10.0
"""Times the accuracy asked for that will do where floats are exhausted."""
PRIVATE = 1e-8
"""What the equations of private groups may miss; those of states and budgets are restored, at a cost that is counted."""
LOST = 1e-12
"""By so much states' masses are missed where steps lose digits: they begin without missing any."""
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
SLACK = 1e-12
"""By so much, in nats, log q is lowered, so that rounding cannot make Σ q exceed one."""
ROUNDED = 1e-9
"""By less than this the masses of a group's values differ from their line's by rounding only."""
FINEST = 1e-9
"""The accuracy, in bits, that floats reach in most programs."""


@dataclass(frozen=True)
class Warm:
    """Where to begin: masses, and multipliers, with prices in bits per bit.

    Of budgets in bits alone: where there are factors, steps from what another program gave are short.
    """

    z: Floats
    multipliers: Multipliers


def by_interior_point(
    cost: Floats,
    p: Floats,
    M: Floats,
    groups: Sequence[Group],
    accuracy: float,
    start: Warm | None = None,
    should_stop: Stop | None = None,
    watch: Watch | None = None,
) -> Answer | None:
    """The best that is found of the program's answer, to this accuracy (bits) or as near to it as floats allow.

    None where no channel was found; `start` may be any channel.
    """
    states, lines = cost.shape
    order = np.lexsort(columns(M, groups).T)  # states that are alike in these come next to one another
    cost, p, M = cost[order], p[order], M[order]
    groups = [replace(group, given=group.given[order]) for group in groups]
    start = None if start is None else replace(start, z=start.z[order])
    alike = Alike.of(columns(M, groups))
    large = min(works(Sizes(states, alike.M.shape[1], len(alike.rows)), lines).values()) >= WORTH_THREADS
    workers = cores() if large else 1
    with np.errstate(all="ignore"), threads(workers) as pool:
        path = _Path(cost, p, M, groups, accuracy, start, Chunks.of_states(states, lines, pool, workers))

        def over() -> bool:
            return (should_stop is not None and should_stop()) or not math.isfinite(path.cost - path.bound)

        steps, _ = path.follow(ITERATIONS, over, watch)
        answer = path.answer(steps)
        return None if answer is None else replace(answer, shares=answer.shares[np.argsort(order)])


def columns(M: Floats, groups: Sequence[Group]) -> Floats:
    """Private rows, values of groups with a budget in bits, and values of those with a factor; one row per state."""
    return np.hstack([M, *(group.given for kind in ("leakage", "ratio") for group in groups if group.kind == kind)])


class _Path(CentralPath):
    """Through the channels within the budgets; beside the masses there is what budgets have left, with their multipliers.

    Its rows of equations are `columns`.
    """

    reach, slowest = 0.99, 1e-3  # logarithms bend more than a step sees
    correctors = 1  # solves cost a fifth of a factorisation here

    def __init__(
        self,
        cost: Floats,
        p: Floats,
        M: Floats,
        groups: Sequence[Group],
        accuracy: float,
        start: Warm | None,
        chunks: Chunks,
    ) -> None:
        self.groups, self.accuracy = groups, accuracy
        leaking = [group for group in groups if group.kind == "leakage"]
        bounded = [group for group in groups if group.kind == "ratio"]
        H = columns(M, groups)
        super().__init__(cost, p, H, chunks)
        self.alike = Alike.of(H)
        self.sizes, factors = ([group.values for group in some] for some in (leaking, bounded))
        self.r, self.v = M.shape[1], M.shape[1] + sum(self.sizes)
        self.of = np.repeat(np.arange(len(leaking)), self.sizes)
        self.member = (self.of[:, None] == np.arange(len(leaking))).astype(np.float64)
        self.least = np.array([-group.entropy for group in leaking])
        self.most = np.array([group.amount * math.log(2) - group.entropy for group in leaking])
        of = np.repeat(np.arange(len(bounded)), factors)
        factor = np.repeat([group.amount for group in bounded], factors)
        marginal = p @ H[:, self.v :]
        whole, each = (of[:, None] == of) * marginal[:, None], np.eye(len(of))
        self.T = np.vstack([each - whole / factor[:, None], whole * factor[:, None] - each])
        self.even = self.T @ marginal  # of a line that ignores the state, by its mass
        self.beside = self.begin(start)
        self.proof = self.nu, self.price
        self.least_cost, self.kept = math.inf, self.main.z.copy()

    @property
    def price(self) -> Floats:
        """Of each budget in bits."""
        return self.beside[0].s

    # -- what follows from the variables

    def values(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        """u, m and log q of budgets in bits."""
        u, m = z.T @ self.M[:, self.r : self.v], z.sum(axis=0)
        return u, m, np.log(np.maximum(u, TINY) / np.maximum(m, TINY)[:, None])

    def told(self, z: Floats) -> Floats:
        """Σ u log q of each group: its entropy given the line, negative, in nats."""
        u, _, log = self.values(z)
        return np.asarray((u * log).sum(axis=0) @ self.member)

    def sides(self, z: Floats) -> Floats:
        """T u of factors, for every line."""
        return np.asarray((z.T @ self.M[:, self.v :]) @ self.T.T)

    def net(self) -> Floats:
        """Of factors the multipliers of one side less those of the other: they prove more than both."""
        one, other = np.hsplit(self.beside[1].s, 2)
        return np.asarray(one - other)

    def normal(self) -> Floats:
        """The multipliers, so that they prove a bound."""
        proving = self.nu.copy()
        if self.sizes:
            prices = self.price[self.of]
            x = -self.nu[:, self.r : self.v] / prices
            x -= np.column_stack([x[:, self.of == g].max(axis=1) for g in range(len(self.sizes))])[:, self.of]
            log = np.log(np.exp(x) @ self.member) + SLACK
            proving[:, self.r : self.v] = prices * (log[:, self.of] - x)  # a sum with ν would round it away
        private = proving[:, : self.r]
        private -= (
            self.main.z.sum(axis=0) @ private
        )  # what all lines have in common proves nothing, and rounds much away
        net = self.net()
        proving[:, self.v :] = np.hstack([np.maximum(net, 0.0), np.maximum(-net, 0.0)]) @ self.T
        return proving

    # -- where it begins

    def begin(self, start: Warm | None) -> list[Pairs]:
        """A point inside: from a channel with one code per line, or from the uniform one; what budgets have left there."""
        C, p, z = self.C, self.p, self.uniform.copy()
        if start is not None:
            z = self.inside((1 - WARM_MIX) * np.maximum(start.z, 0.0) + WARM_MIX * z)
        left, sides, log = np.maximum(self.most - self.told(z), TINY), self.sides(z), self.values(z)[2]
        self.main.z[:] = z
        if start is None:
            barrier = float((p * (C.max(axis=1) - C.min(axis=1))).max()) / C.shape[1]
            price, pull = barrier / left, barrier / sides
            self.nu[:, self.r : self.v] = -price[self.of] * log
            self.nu[:, self.v :] = pull @ self.T
            self.centred(barrier)
        else:
            given = start.multipliers
            price, pull = np.maximum(np.array(given.prices) / math.log(2), 1e-6), sides
            self.nu[:] = np.hstack([given.nu, *given.by_group])
            idle = (np.array(given.prices) == 0)[self.of]
            self.nu[:, self.r :][:, idle] = (-price[self.of] * log)[:, idle]
            barrier = self.centred(boost=WARM_BOOST)
            price = np.maximum(price, barrier / left)
            np.maximum(z, WARM_FLOOR * barrier / self.main.s, out=self.main.z)
            self.main.z *= (p / self.main.z.sum(axis=1))[:, None]
            left = np.maximum(left, WARM_FLOOR * barrier / price)
        return [Pairs(a, b, Chunks(len(a), max(1, len(a)), None, 1)) for a, b in ((left, price), (sides, pull))]

    def inside(self, z: Floats, room: float = ROOM) -> Floats:
        """Masses mixed with those of codes that ignore the state until they are within the budgets: these are convex."""
        law = z.sum(axis=0) / z.sum()
        most = self.least + (1 - room) * (self.most - self.least)
        over = np.maximum(self.told(z) - most, 0.0)
        even = law[:, None] * self.even
        sides = self.sides(z)
        short = np.maximum(room * even - sides, 0.0)
        shares = over / (over + most - self.least), short / (short + (1 - room) * even)
        share = max(float(part.max(initial=0.0)) for part in shares)
        return z if share == 0 else (1 - share) * z + share * self.p[:, None] * law

    # -- the steps

    def look(self) -> float:
        """The gap is that between the best channel within the budgets and what is proved."""
        self.nu[:, self.v :] = self.beside[1].s @ self.T
        proving = self.normal()
        bound = float(self.p @ (self.C - self.M @ proving.T).min(axis=1)) - float(self.price @ self.most)
        if bound > self.bound:
            proving[:, self.v :] = self.net()
            self.bound, self.proof = bound, (proving, self.price.copy())
        for pairs in (self.main, *self.beside):
            np.divide(pairs.z, pairs.s, out=pairs.d)
        self.system = _Newton(self)
        z = self.main.z
        self.cost = float(np.vdot(z, self.C))
        if self.cost - self.bound <= NEARLY * self.accuracy:
            self.keep()
        return sum(float(np.vdot(pairs.z, pairs.s)) for pairs in (self.main, *self.beside))

    def keep(self) -> None:
        """This channel, brought within the budgets, if it is the best; the gap is that between what is kept and the bound."""
        z = self.main.z
        restored = self.inside(z * (self.p / z.sum(axis=1))[:, None], WITHIN)
        cost = float(np.vdot(restored, self.C))
        if cost < self.least_cost and float(np.abs(restored.T @ self.M[:, : self.r]).sum()) <= PRIVATE:
            self.least_cost, self.kept = cost, restored
        self.gap = self.least_cost - self.bound

    def ended(self) -> bool:
        """What is kept lacks nothing."""
        return self.gap <= self.accuracy

    def factorise(self) -> None:
        """In the order of least work."""
        self.system.factorise()

    def way(self) -> tuple[Way, list[Array]]:
        """What budgets have left moves against their multipliers."""
        lam, nu, price, pull = self.system.direction(self.main.g, *(pairs.g for pairs in self.beside))
        return Way(lam, nu), [-price, -pull]

    def answer(self, steps: int) -> Answer | None:
        """After so many steps the best channel, within the budgets up to rounding, and what proves most; None without one."""
        if not math.isfinite(self.gap):
            self.keep()
        if not math.isfinite(self.gap):
            return None
        proving, prices = self.proof
        bits = iter([float(price) * math.log(2) for price in prices])
        starts = {"leakage": self.r, "ratio": self.v}
        by_group, priced = [], []
        for group in self.groups:
            start = starts[group.kind]
            starts[group.kind] += group.values
            by_group.append(proving[:, start : start + group.values])
            priced.append(next(bits) if group.kind == "leakage" else 0.0)
        shares = self.kept / self.kept.sum(axis=1, keepdims=True)
        return Answer(proving[:, : self.r], by_group, priced, shares, self.gap, steps)


class _Newton:
    """The equations of a Newton step, with prices as their border.

    Columns of M are equations, and the values of groups with a budget; of them masses that move see
    o_l = b_l + Mᵀ (d_l (dλ + M dν_l)), b_l = Mᵀ g_l. For values dν_l + J_l o_l + log q_l dλ is what ν_l and -λ log q_l differ
    by, where J_l = λ (diag(1 / u_l) - 1 1ᵀ / m_l). Where the equation is u_l = m_l exp(-ν_l / λ), its linear form has
    exp(-ν_l / λ) for q_l. For those of factors sides move by T o_l, against their multipliers, and
    J_l = Tᵀ diag(π_l / T u_l) T. With J = K Kᵀ, and K = 1 for equations, dν_l is what values are given and K_l y_l: what is
    left is a system as there is without budgets (`newton`).
    """

    def __init__(self, path: _Path) -> None:
        self.path = path
        z = path.main.z
        u, self.m, log = path.values(z)
        self.prices = prices = path.price[path.of]
        self.of_states = path.p - z.sum(axis=1)
        self.of_budgets = path.most - (u * log).sum(axis=0) @ path.member - path.beside[0].z
        self.of_sides = path.beside[1].z - path.sides(z)
        ratio = np.minimum(-path.nu[:, path.r : path.v] / prices, LARGEST)
        by_ratio = self.m[:, None] * np.exp(ratio)
        idle = (self.m < IDLE)[:, None] & (by_ratio < u)
        self.u = np.maximum(np.where(idle, np.maximum(by_ratio, LEAST * u), u), TINY)
        of_values = prices * np.where(idle, 1 - u / self.u, ratio - log)
        nothing = np.zeros((len(self.m), len(path.T.T)))
        self.of_lines = np.hstack([-(z.T @ path.M[:, : path.r]), of_values, nothing])
        self.slope = np.zeros((*self.of_lines.shape, len(path.sizes)))
        self.slope[:, path.r : path.v] = np.where(idle, ratio, log)[:, :, None] * path.member

    def factorise(self) -> None:
        """Eliminate states and lines, and then the prices."""
        path = self.path
        (states, width), lines = path.M.shape, len(self.m)
        used = width - len(path.sizes)  # each group has a column that is nothing
        sizes = Sizes(states, used, len(path.alike.rows))
        order = LinesFirst if least_work(sizes, lines) == "lines" else StatesFirst
        self.K = np.zeros((lines, width, width))
        self.K[:, : path.r, : path.r] = np.eye(path.r)
        roots(self.u, self.m, self.prices, path.sizes, self.K[:, path.r : path.v, path.r : path.v])
        self.rate = 1 / np.sqrt(path.beside[1].d)
        self.turned, sides = np.linalg.qr(path.T * self.rate[:, :, None])
        self.K[:, path.v :, path.v :] = np.swapaxes(sides, 1, 2)
        refined = float(np.abs(self.of_states).sum()) > LOST
        self.system = order(Columns(path.alike, path.r, self.K), path.main.d, path.chunks, refined)
        nothing = np.zeros(states), np.zeros((lines, width))
        self.by_price = [self.moves(*nothing, -slope) for slope in np.moveaxis(self.slope, 2, 0)]
        pulls = [np.einsum("ltg,lt->g", self.slope, self.system.moved(lam, nu)[1]) for lam, nu, _ in self.by_price]
        self.border = np.array(pulls).reshape(2 * [len(pulls)]).T - np.diag(path.beside[0].d)

    def moves(self, of_states: Floats, b: Floats, of_lines: Floats) -> tuple[Floats, Floats, Floats]:
        """λ, ν and y for these sums over lines and these rows, of which those of equations are what masses see."""
        nu, columns = of_lines.copy(), self.system.columns
        nu[:, : self.path.r] = 0.0
        sums, seen = self.system.moved(np.zeros_like(of_states), nu)
        lam, y = self.system.solve(of_states - sums, columns.back(of_lines - nu - b - seen))
        return lam, nu + columns.by(y), y

    def direction(self, g: Floats, to_t: Floats, to_sides: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """How λ, ν, the prices and π move, if dz = g + d (dλ + H dν), and what budgets have left by this less their share."""
        path = self.path
        sides, of_lines = self.rate * (to_sides + self.of_sides), self.of_lines.copy()
        of_lines[:, path.v :] = (self.rate * sides) @ path.T
        b = g.T @ path.M
        lam, nu, y = self.moves(self.of_states - g.sum(axis=1), b, of_lines)
        seen = b + self.system.moved(lam, nu)[1]
        price = np.linalg.solve(self.border, self.of_budgets - to_t - np.einsum("ltg,lt->g", self.slope, seen))
        for move, (of_lam, of_nu, of_y) in zip(price, self.by_price, strict=True):
            lam, nu, y = lam + move * of_lam, nu + move * of_nu, y + move * of_y
        pull = sides + np.einsum("lij,lj->li", self.turned, y[:, path.v :])  # from T o it would lose digits
        return lam, nu, price, self.rate * pull


def roots(u: Floats, m: Floats, prices: Floats, sizes: list[int], K: Floats) -> None:
    """Write into K the block of values with J = K Kᵀ = price (diag(1 / u) - 1 1ᵀ / m) for every group of so many.

    One column of a group is along the root of u, and is nothing where u sums to m.
    """
    for a, b in pairwise(np.cumsum([0, *sizes]).tolist()):
        v = np.sqrt(u[:, a:b] / m[:, None])
        length = np.linalg.norm(v, axis=1)
        along = 1 - length**2
        h = v / length[:, None]
        h[:, 0] += 1  # a reflection that takes the first direction to that of v
        mirror = np.eye(b - a) - 2 * h[:, :, None] * h[:, None, :] / (h * h).sum(axis=1)[:, None, None]
        mirror[:, :, 0] *= np.sqrt(np.where(along > ROUNDED, along, 0.0))[:, None]
        mirror *= np.sqrt(prices[a:b] / u[:, a:b])[:, :, None]
        K[:, a:b, a:b] = mirror
