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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.budget_program import PRIVATE, Budgets
from choral.solvers.lines.cells import EVERY
from choral.solvers.lines.central_path import TINY, WARM_FLOOR, CentralPath, Pairs, Way
from choral.solvers.lines.chunks import WORTH_THREADS, Array, Chunks, cores, threads
from choral.solvers.lines.columns import Columns
from choral.solvers.lines.elimination import least_work, works
from choral.solvers.lines.newton import LinesFirst, StatesFirst
from choral.solvers.lines.partition import Sizes
from choral.solvers.lines.program import LPResult, Status, Stop, Watch

ITERATIONS = 30
"""At most: ten to twenty reach what is asked for, or nothing does."""
NEARLY = 10.0
"""Times the accuracy asked for that will do where floats are exhausted."""
LOST = 1e-12
"""By so much states' masses are missed where steps lose digits: they begin without missing any."""
WARM_MIX, WARM_BOOST = 0.05, 3.0
"""A warm start: the share of the uniform channel, and the barrier in units of its complementarity."""
LEAST_PRICE = 1e-6
"""... and no budget is for nothing."""
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
class WithinBudgets(Budgets):
    """Programs over the channels within the budgets, by the interior point."""

    def solve(
        self, C: Floats, accuracy: float, z: Floats | None, nu: Floats | None, stop: Stop, watch: Watch | None
    ) -> LPResult:
        """The best channel and multipliers that are found, to this accuracy (bits) or as near to it as floats allow.

        Where there are factors it does not begin from another program's: steps from there are short.
        """
        lines = C.shape[1]
        if not self.width:  # each state takes the line that costs least
            z = np.where(np.arange(lines) == C.argmin(axis=1)[:, None], self.p[:, None], 0.0)
            cost = float(np.vdot(z, C))
            return LPResult(z, np.zeros((lines, 0)), cost, cost, 0, "optimal")
        if not self.groups:
            return super().solve(C, accuracy, z, nu, stop, watch)
        if z is None or nu is None or len(self.in_bits) < len(self.groups):
            z = nu = None
        order, accuracy = self.order, max(accuracy, FINEST)
        workers = cores() if min(works(self.sizes, lines).values()) >= WORTH_THREADS else 1
        with np.errstate(all="ignore"), threads(workers) as pool:
            chunks = Chunks.of_states(len(C), lines, pool, workers)
            path = _Path(C[order], self.ordered, accuracy, None if z is None else z[order], nu, chunks)
            steps, _ = path.follow(ITERATIONS, lambda: stop() or not math.isfinite(path.cost - path.bound), watch)
            if not math.isfinite(path.gap):
                path.keep()
        ended: Status = "optimal" if path.gap <= NEARLY * accuracy else "stalled"
        found = path.kept[np.argsort(order)]
        return LPResult(found, path.proof, path.least_cost, path.bound, steps, "stopped" if stop() else ended)


class _Path(CentralPath):
    """Through the channels within the budgets; beside the masses there is what budgets have left, with their multipliers.

    Its M are the rows of `Budgets`.
    """

    reach, slowest = 0.99, 1e-3  # logarithms bend more than a step sees
    correctors = 1  # solves cost a fifth of a factorisation here

    def __init__(
        self, cost: Floats, within: Budgets, accuracy: float, z: Floats | None, nu: Floats | None, chunks: Chunks
    ) -> None:
        self.within, self.accuracy, self.alike = within, accuracy, within.alike
        super().__init__(cost, within.p, within.rows, chunks)
        leaking, bounded = within.in_bits, within.groups[len(within.in_bits) :]
        self.sizes = [group.values for group in leaking]
        self.r, self.v = within.M.shape[1], within.M.shape[1] + sum(self.sizes)
        self.of = np.repeat(np.arange(len(leaking)), self.sizes)
        self.member = (self.of[:, None] == np.arange(len(leaking))).astype(np.float64)
        self.least = np.array([-group.entropy for group in leaking])
        self.most = np.array([group.amount * math.log(2) - group.entropy for group in leaking])
        factors = [group.values for group in bounded]
        of = np.repeat(np.arange(len(bounded)), factors)
        factor = np.repeat([group.amount for group in bounded], factors)
        marginal = self.p @ self.M[:, self.v :]
        whole, each = (of[:, None] == of) * marginal[:, None], np.eye(len(of))
        self.T = np.vstack([each - whole / factor[:, None], whole * factor[:, None] - each])
        self.even = self.T @ marginal  # of a line that ignores the state, by its mass
        self.kept = np.repeat(self.p[:, None] / cost.shape[1], cost.shape[1], axis=1)  # within every budget
        self.least_cost = float(np.vdot(self.kept, cost))
        self.proof = np.zeros((cost.shape[1], within.width))
        self.bound = within.bound(cost, EVERY, self.proof)
        self.beside = [Pairs(*pair, Chunks(len(pair[0]), max(1, len(pair[0])), None, 1)) for pair in self.pairs(z, nu)]

    # -- what follows from the variables

    @property
    def price(self) -> Floats:
        """Of each budget in bits, per nat."""
        return self.beside[0].s

    def values(self, seen: Floats, m: Floats) -> tuple[Floats, Floats]:
        """u and log q of budgets in bits, by what masses see of the rows, and those of lines."""
        u = seen[:, self.r : self.v]
        return u, np.log(np.maximum(u, TINY) / np.maximum(m, TINY)[:, None])

    def told(self, u: Floats, log: Floats) -> Floats:
        """Σ u log q of each group: its entropy given the line, negative, in nats."""
        return np.asarray((u * log).sum(axis=0) @ self.member)

    def sides(self, seen: Floats) -> Floats:
        """T u of factors, for every line."""
        return np.asarray(seen[:, self.v :] @ self.T.T)

    def normal(self) -> Floats:
        """The multipliers, so that they prove a bound, and the prices."""
        proving = np.hstack([self.nu, np.tile(self.price * math.log(2), (len(self.nu), 1))])
        if self.sizes:
            prices = self.price[self.of]
            x = -self.nu[:, self.r : self.v] / prices
            x -= np.column_stack([x[:, self.of == g].max(axis=1) for g in range(len(self.sizes))])[:, self.of]
            log = np.log(np.exp(x) @ self.member) + SLACK
            proving[:, self.r : self.v] = prices * (log[:, self.of] - x)  # a sum with ν would round it away
        private = proving[:, : self.r]
        private -= self.main.z.sum(axis=0) @ private  # what lines have in common proves nothing, and rounds much away
        one, other = np.hsplit(self.beside[1].s, 2)
        proving[:, self.v : self.nu.shape[1]] = one - other  # of both sides of a factor: more than with both
        return proving

    # -- where it begins

    def pairs(self, z: Floats | None, nu: Floats | None) -> list[tuple[Floats, Floats]]:
        """Begin inside: at a channel with one code per line, or at the uniform one; what budgets leave there, with prices."""
        if nu is not None:
            self.nu[:] = nu[:, : self.nu.shape[1]]
        barrier = self.begin(z, WARM_MIX, WARM_BOOST)
        self.main.z *= (self.p / self.main.z.sum(axis=1))[:, None]
        seen = self.main.z.T @ self.M
        u, log = self.values(seen, self.main.z.sum(axis=0))
        left, sides = np.maximum(self.most - self.told(u, log), TINY), self.sides(seen)
        if nu is not None:
            price = np.maximum(nu[0, self.nu.shape[1] :] / math.log(2), LEAST_PRICE)
            left = np.maximum(left, WARM_FLOOR * barrier / price)
            return [(left, np.maximum(price, barrier / left)), (sides, sides)]
        price, pull = barrier / left, barrier / sides
        self.nu[:, self.r : self.v] = -price[self.of] * log
        self.nu[:, self.v :] = pull @ self.T
        self.centred(barrier)
        return [(left, price), (sides, pull)]

    def inside(self, z: Floats, room: float = ROOM) -> Floats:
        """Masses mixed with those of codes that ignore the state until they are within the budgets: these are convex."""
        m, seen = z.sum(axis=0), z.T @ self.M
        most = self.least + (1 - room) * (self.most - self.least)
        over = np.maximum(self.told(*self.values(seen, m)) - most, 0.0)
        law = m / m.sum()
        even = law[:, None] * self.even
        short = np.maximum(room * even - self.sides(seen), 0.0)
        shares = over / (over + most - self.least), short / (short + (1 - room) * even)
        share = max(float(part.max(initial=0.0)) for part in shares)
        return z if share == 0 else (1 - share) * z + share * self.p[:, None] * law

    # -- the steps

    def judge(self) -> None:
        """The gap is that between the best channel within the budgets and what is proved."""
        self.nu[:, self.v :] = self.beside[1].s @ self.T
        proving = self.normal()
        bound = self.within.bound(self.C, EVERY, proving)
        if bound > self.bound:
            self.bound, self.proof = bound, proving
        if self.cost - self.bound <= NEARLY * self.accuracy:
            self.keep()

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
        self.system = _Newton(self)

    def way(self) -> tuple[Way, list[Array]]:
        """What budgets have left moves against their multipliers."""
        lam, nu, price, pull = self.system.direction(self.main.g, *(pairs.g for pairs in self.beside))
        return Way(lam, nu), [-price, -pull]


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
        self.path, self.m = path, path.main.z.sum(axis=0)
        u, log = path.values(path.moments, self.m)
        self.prices = prices = path.price[path.of]
        self.of_budgets = path.most - path.told(u, log) - path.beside[0].z
        self.of_sides = path.beside[1].z - path.sides(path.moments)
        ratio = np.minimum(-path.nu[:, path.r : path.v] / prices, LARGEST)
        by_ratio = self.m[:, None] * np.exp(ratio)
        idle = (self.m < IDLE)[:, None] & (by_ratio < u)
        self.u = np.maximum(np.where(idle, np.maximum(by_ratio, LEAST * u), u), TINY)
        of_values = prices * np.where(idle, 1 - u / self.u, ratio - log)
        self.of_lines = np.hstack([-path.moments[:, : path.r], of_values, np.zeros((len(u), len(path.T.T)))])
        self.slope = np.zeros((*self.of_lines.shape, len(path.sizes)))
        self.slope[:, path.r : path.v] = np.where(idle, ratio, log)[:, :, None] * path.member
        (states, width), lines = path.M.shape, len(self.m)
        used = width - len(path.sizes)  # each group has a column that is nothing
        order = LinesFirst if least_work(Sizes(states, used, len(path.alike.rows)), lines) == "lines" else StatesFirst
        self.K = np.zeros((lines, width, width))  # states and lines are eliminated, and then the prices
        self.K[:, : path.r, : path.r] = np.eye(path.r)
        roots(self.u, self.m, self.prices, path.sizes, self.K[:, path.r : path.v, path.r : path.v])
        self.rate = 1 / np.sqrt(path.beside[1].d)
        self.turned, sides = np.linalg.qr(path.T * self.rate[:, :, None])
        self.K[:, path.v :, path.v :] = np.swapaxes(sides, 1, 2)
        refined = float(np.abs(path.row_gap).sum()) > LOST
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
        lam, nu, y = self.moves(path.row_gap - g.sum(axis=1), b, of_lines)
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
