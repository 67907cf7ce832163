"""The sandwich with budgets: lines below the entropy, and programs over the channels within the budgets.

Under a piecewise-linear cost all codes that use one line may be joined: the cost does not change, no group leaks more, and no
ratio grows. So as many codes as lines suffice, and the problem, which is not convex in general, becomes convex (`budget_path`
has it). Its multipliers prove a bound (see `LinesBound`), whatever their accuracy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from choral.describe.entropy import entropies, weighted_entropies
from choral.errors import TooLargeError
from choral.problem.bounds import best_group
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import Proof, Status
from choral.proofs.group import GroupBound
from choral.solvers.fewer_codes import joined_codes
from choral.solvers.highs import basic, kept
from choral.solvers.lines.beside import AIM, Beside, Known, Proved
from choral.solvers.lines.budget_cells import AT_ONCE, FINEST_GRID, FIRST_CELLS, GRID_BITS, fineness, insert, regular
from choral.solvers.lines.budget_path import FINEST, NEARLY, Start, by_interior_point
from choral.solvers.lines.budget_program import Answer, budgeted_groups, lines_of, proved
from choral.solvers.lines.memory import check_budgets
from choral.solvers.lines.refinement import Progress
from choral.solvers.lines.regular_cells import RegularCells
from choral.solvers.lines.sandwich import Rough, shares

ROUNDS = 30
SLOW, PATIENCE, MANY = 0.95, 3, 1000
"""A round that leaves more than this share of the gap, and of what its own lines leave open, brought nothing; after so many
in a row the search ends, or after one of them that had many lines."""
SHARPER, OWN = 0.01, 0.3
"""Where no line can be added, programs are solved to this share of what was asked, if that is more than a part of the gap."""
USED = 1e-10
"""Lines with less mass than this carry no code."""
RARE = 1e-8
"""Codes rarer than this join the most likely one: floats do not know what they say."""
ACCURACY = 0.03
"""Share of the tolerance to which programs are solved ..."""
LOOSE = 0.01
"""... but no further than this share of the gap: more would be lost at the next refinement."""
ON_GRID_ACCURACY = 0.2
"""The same share where lines are of a grid that is fine enough: there should be no next refinement."""
NARROW = 0.1
"""Half-width of the new cell around a code of a target of two values, as a share of its cell."""
PRECISE = 1e-10
"""What weights on codes may miss of the states' masses, as a share of them."""
JOIN = 0.1
"""Codes are joined as long as that costs no more than this share of the gap ..."""
NEAR = 3
"""... each with one of so many that are next to it, where the target has two values."""


@dataclass(frozen=True)
class Budgeted:
    """A channel within budgets that tells nearly most, and the lines that prove how nearly."""

    tol: float = 1e-6
    rel_tol: float | None = None
    time_limit: float | None = None

    def solve(
        self,
        problem: Problem,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] | None = None,
        beside: Beside | None = None,
    ) -> Rough | None:
        """The best channel and bound found, or None when it was stopped before there was one.

        What was found `beside` is used, and what is found is added to it.
        """
        run = _Run(problem, beside or Beside(), self.wanted)
        deadline = math.inf if self.time_limit is None else time.monotonic() + self.time_limit
        if (again := run.again()) is not None:
            return again

        def reached() -> bool:
            return run.gap <= AIM * run.wanted

        status, idle = Status.OPTIMAL if reached() else Status.LEVEL_LIMIT, 0
        for _ in range(0 if reached() else ROUNDS):
            left = deadline - time.monotonic()
            if left <= 0 or (should_stop is not None and should_stop()):
                status = Status.STOPPED
                break
            before = run.gap, run.width
            if not run.improve(left, run.accuracy, should_stop):
                status = Status.STALLED
                break
            run.history.append((run.information, run.upper_bound))
            if progress is not None:
                progress(run.information, run.upper_bound, f"{run.lines} lines, with budgets")
            if reached():
                status = Status.OPTIMAL
                break
            idle = idle + 1 if run.gap > SLOW * before[0] and run.width > SLOW * before[1] else 0
            tried = idle >= (1 if run.lines > MANY else PATIENCE)
            if tried or not (run.refine() or run.sharpened()):
                status = Status.STALLED
                break
        return run.result(Status.OPTIMAL if run.gap <= run.wanted else status)

    def wanted(self, information: float) -> float:
        """The gap with which a search ends that found so much."""
        return max(self.tol, (self.rel_tol or 0.0) * information)


class _Run:
    """Cells of the target's simplex, the best channel and the best bound so far."""

    def __init__(self, problem: Problem, beside: Beside, wanted: Callable[[float], float]) -> None:
        self.problem, self.beside, self._wanted = problem, beside, wanted
        self.p = problem.prior / problem.prior.sum()
        self.Q = problem.posterior().T
        self.rows, self.M = constraints(problem)
        self.all = budgeted_groups(problem)
        self.groups = [group for group in self.all if group.binds(problem.prior)]
        self.prior_entropy = _entropy(self.p @ self.Q)
        self.everything = self.prior_entropy - float(self.p @ entropies(self.Q))
        group, self.upper_bound = best_group(problem)
        self.information = 0.0
        self.history: list[tuple[float, float]] = []
        self.best: Floats | None = None
        self.bound: Proof = GroupBound(group)
        self.by = "a group's bound"
        self.on_grid: float | None = None
        self.sharpness, self.missed = 1.0, 0.0
        self.width = math.inf
        self.last: tuple[list[int], Floats] | None = None
        self.proof: Proved | None = None
        self.guide: Proved | None = None
        self.cells = self._start()

    @property
    def gap(self) -> float:
        return self.upper_bound - self.information

    @property
    def wanted(self) -> float:
        """The gap with which the search ends."""
        return self._wanted(self.information)

    @property
    def accuracy(self) -> float:
        """What the next program is solved to."""
        if self.on_grid is not None:
            return ON_GRID_ACCURACY * self.on_grid
        return max(self.sharpness * max(ACCURACY * self.wanted, LOOSE * min(self.gap, self.everything)), FINEST)

    @property
    def lines(self) -> int:
        return len(self.cells.members)

    def _start(self) -> RegularCells:
        """Take what was found beside; then the cells to begin with: few, or enough for what may be told."""
        for proof in self.beside.proofs:
            self._bounded(proof, proof.within(self.all, self.Q, self.p, self.M))
        first, self.beside.begun = self.beside.several and not self.beside.begun, True
        if first:
            self.beside.channels += self._extremes()
        mixture = self.beside.mixture(self.all)
        if mixture is not None and mixture.told > self.information:
            self.information, self.best = mixture.told, mixture.z
        self.guide = self.beside.nearest(self.all)
        on_grid = None if first else self._grid(0.5 * (self.information + self.upper_bound), AT_ONCE)
        return on_grid or regular(self.Q, self.p, FIRST_CELLS[self.Q.shape[1]])

    def _grid(self, information: float, most: int = FINEST_GRID) -> RegularCells | None:
        """Cells of a grid that is fine enough for points that tell so much, where there are several and such a grid."""
        if not self.beside.several or not self.groups or any(group.kind == "ratio" for group in self.all):
            return None
        fine = fineness(self.Q, self._wanted(information))
        if fine is None or fine > most:
            return None
        self.on_grid = self._wanted(information)
        return self.beside.cells(fine, self.Q, self.p)

    def _extremes(self) -> list[Known]:
        """The channel that tells nothing, and the one that tells the state as finely as is wanted, whatever leaks.

        The latter is for where no group is to stay private.
        """
        found, cells = [self.p[:, None]], self._grid(self.everything)
        if cells is not None and not self.M.shape[1]:
            cost = self.Q @ np.array([cells.coefficients[i] for i in cells.members]).T
            z = np.where(np.arange(cost.shape[1]) == cost.argmin(axis=1)[:, None], self.p[:, None], 0.0)
            found.append(z[:, z.sum(axis=0) > 0])
        self.on_grid = None
        return [Known.of(z, self._told(z), self.all) for z in found]

    def again(self) -> Rough | None:
        """A channel that was made for another point, where it is good enough here as it is."""
        same = self.beside.same(self.all, self.upper_bound, self._wanted)
        if same is None:
            return None
        how = "sandwich within budgets, the channel of smaller ones"
        return Rough(shares(same.z, self.p), self.bound, how, Status.OPTIMAL, (), same.exact)

    def _bounded(self, proof: Proved, told: float) -> None:
        """Keep a bound if it is better."""
        if told < self.upper_bound:
            self.upper_bound, self.bound, self.by = told, proof.bound, f"{len(proof.coefficients)} lines"

    def _told(self, z: Floats) -> float:
        return self.prior_entropy - float(weighted_entropies(z.T @ self.Q).sum())

    def improve(self, seconds: float, accuracy: float, should_stop: Callable[[], bool] | None = None) -> bool:
        """Solve for the lines there are; keep what is better. False when the solver gave nothing, or would not fit."""
        ids = list(self.cells.members)
        coefficients = np.array([self.cells.coefficients[i] for i in ids])
        cost = self.Q @ coefficients.T
        try:
            answer = self._solved(ids, coefficients, cost, seconds, accuracy, should_stop)
        except TooLargeError:
            if self.best is None:
                raise
            return False
        if answer is None:
            return False
        self.missed = answer.gap
        z = answer.shares * self.p[:, None]
        self.last = ids, z
        used = z[:, z.sum(axis=0) > USED]
        if self._told(used) > self.information:
            self.information, self.best = self._told(used), used
        bound = lines_of(self.problem, self.cells, ids, self.rows, self.groups, answer)
        told = self.prior_entropy - proved(cost, self.p, self.M, self.groups, answer)
        self.guide = Proved(bound, coefficients, answer, tuple(self.groups), told)
        self._bounded(self.guide, told)
        if self.bound is bound:
            self.proof = self.guide
        self.width = told - self.information
        return True

    def sharpened(self) -> bool:
        """Have programs solved more accurately, where that is what is missing."""
        if self.missed < OWN * self.gap or self.accuracy <= FINEST:
            return False
        self.sharpness *= SHARPER
        return True

    def _solved(
        self,
        ids: list[int],
        coefficients: Floats,
        cost: Floats,
        seconds: float,
        accuracy: float,
        should_stop: Callable[[], bool] | None,
    ) -> Answer | None:
        """The program begun where the last one ended, or anew where that does not come near; None without a channel."""
        if not self.groups and not self.M.shape[1]:  # nothing binds: each state takes the line that costs least
            shares = (np.arange(cost.shape[1]) == cost.argmin(axis=1)[:, None]).astype(np.float64)
            return Answer(shares, np.zeros((cost.shape[1], 0)), [], [])
        check_budgets(len(cost), len(ids), self.M.shape[1] + sum(group.values for group in self.groups))
        begun, until = self._begun(ids, coefficients), time.monotonic() + seconds
        best: Answer | None = None
        for start in (None,) if begun is None else (begun, None):
            left = until - time.monotonic()
            if best is not None and (left <= 0 or (should_stop is not None and should_stop())):
                break
            answer = by_interior_point(cost, self.p, self.M, self.groups, left, accuracy, start, should_stop)
            if answer is not None and (best is None or answer.gap < best.gap):
                best = answer
            if best is not None and best.gap <= NEARLY * accuracy:
                break
        return best

    def _begun(self, ids: list[int], coefficients: Floats) -> Start | None:
        """The channel and the multipliers of the last program, a line's shared out among those that are in its place."""
        guide = self.guide
        if guide is None or guide.positions != tuple(group.position for group in self.groups):
            return None
        if any(group.kind == "ratio" for group in self.groups):
            return None
        centre = np.array([np.mean(self.cells.vertices(cell), axis=0) / (1 << GRID_BITS) for cell in ids])
        place = (centre @ guide.coefficients.T).argmin(axis=1)
        answer = guide.answer.at(place)
        share = guide.answer.shares[:, place] / np.bincount(place)[place]
        share /= share.sum(axis=1, keepdims=True)
        return Start(share * self.p[:, None], answer.nu, answer.by_group, answer.prices)

    def refine(self) -> bool:
        """New points where symbols cost more than their lines say; False when there are none."""
        assert self.last is not None
        if self.on_grid is not None:
            self.on_grid = None
        elif len(self.history) == 1 and (cells := self._grid(self.information)) is not None:
            self.cells = cells
            return True
        ids, z = self.last
        mass = z.sum(axis=0)
        errors = []
        for k, cell in enumerate(ids):
            if mass[k] > USED:
                t = z[:, k] @ self.Q / mass[k]
                error = mass[k] * (_entropy(t) - float(self.cells.coefficients[cell] @ t))
                errors.append((error, [*self._around(t, cell), t]))
        largest = max((error for error, _ in errors), default=0.0)
        cut = [points for error, points in errors if error > 0.01 * largest]
        around = [insert(self.cells, t) for points in cut for t in points[:-1]]
        return any(around) or sum(insert(self.cells, points[-1]) for points in cut) > 0

    def _around(self, t: Floats, cell: int) -> list[Floats]:
        """Where a cell is cut around the posterior of its code: on both sides of it where the target has two values."""
        if len(t) > 2:
            return []
        vertices = np.array(self.cells.vertices(cell))[:, 1] / (1 << GRID_BITS)
        low, high, centre = np.arcsin(np.sqrt(np.clip([vertices.min(), vertices.max(), t[1]], 0.0, 1.0)))
        step = NARROW * (high - low)
        cuts = [x for x in (centre - step, centre + step) if low + 0.2 * step < x < high - 0.2 * step]
        return [np.array([math.cos(x) ** 2, math.sin(x) ** 2]) for x in cuts or [0.5 * (low + high)]]

    def result(self, status: Status) -> Rough | None:
        """What was found, with fewer codes where these cost little of the tolerance."""
        if self.best is None and status is Status.OPTIMAL:  # there is hardly anything to tell
            return Rough(np.ones((1, len(self.p))), self.bound, f"nothing to tell, {self.by}", status, ())
        if self.best is None:
            return None
        z = joined_codes(self.best.T, self.Q.T, 1, JOIN * max(self.gap, 1e-12), NEAR)
        z = self._few(z)
        mass = z.sum(axis=1)
        largest = int(mass.argmax())
        z[largest] += z[mass < RARE].sum(axis=0)
        z = np.delete(z, [y for y in np.flatnonzero(mass < RARE) if y != largest], axis=0)
        self.beside.channels.append(Known.of(z.T, self._told(z.T), self.all))
        if self.last is not None and self.guide is not None:  # else all was found beside
            self.beside.proofs.append(self.proof or self.guide)
        how = f"sandwich within budgets, {self.by} ({status.value})"
        return Rough(shares(z.T, self.p), self.bound, how, status, tuple(self.history))

    def _few(self, z: Floats) -> Floats:
        """As many codes, a row each, as suffice (Carathéodory): weights on them that give the states, and tell most.

        What leaks, and what is told, is linear in the weights; equations and ratios hold for each code.
        """
        limited = [group for group in self.all if group.kind == "leakage"]
        if len(z) <= len(self.p) - self.M.shape[1] + len(limited):
            return z
        apart = np.array([weighted_entropies(z @ group.given) for group in limited]).reshape(-1, len(z))
        slack = np.zeros((len(self.p), len(limited)))
        matrix = np.block([[z.T / self.p[:, None], slack], [apart, -np.eye(len(limited))]])
        at_least = [group.entropy / math.log(2) - group.amount for group in limited]
        cost = np.append(weighted_entropies(z @ self.Q), slack[0])
        weights = basic(kept(matrix, cost, np.append(np.ones(len(self.p)), at_least)), PRECISE)[: len(z)]
        found = z[weights > 0] * weights[weights > 0, None]
        return np.asarray(found * (self.p / found.sum(axis=0))) if len(found) else z


def _entropy(t: Floats) -> float:
    return float(entropies(t[t > 0]))
