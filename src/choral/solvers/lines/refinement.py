"""The one search over lines: solve the linear program of the cells there are, keep what is better, refine the cells.

Cells are what differs: chords of a curve, simplices of a tiling. They say what their lines cost, what a channel costs in
truth, and how they are cut where codes cost more than their lines say. The unit of every cost is the cells' own: bits, or
parts of a squared range. What channels must keep differs too: equations, or budgets beside them. Whatever ends the search
the interval is valid and the channel keeps what it must, to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, Literal

import numpy as np

from choral.errors import TooLargeError
from choral.problem.solution import Status
from choral.proofs.lines import LinesBound
from choral.solvers.lines import memory
from choral.solvers.lines.cells import EVERY, Cells, CellsT, Codes, Next
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.program import (
    LineSolver,
    LPResult,
    Stop,
    Watch,
    equality_error,
    repaired_bound,
    rounding_margin,
)

Progress = Callable[[float, float, str], None]
Ahead = Callable[[int], None]


def nothing_ahead(lines: int) -> None:
    """For who does not mind how long it takes to verify what is found."""


@dataclass(frozen=True)
class Aim:
    """When a search ends, and who is told on its way.

    It ends at a gap of at most `tol`, in the cells' unit, or of at most `rel_tol` times what is saved, and when `stopped`
    says so. `progress` hears of the interval; `ahead`, before each level, how many lines its proof would have: what comes
    after takes its time, too.
    """

    tol: float = 1e-6
    rel_tol: float | None = None
    progress: Progress | None = None
    stopped: Callable[[], bool] = lambda: False
    ahead: Ahead = nothing_ahead

    def wanted(self, saved: float) -> float:
        """The gap with which it ends."""
        return max(self.tol, (self.rel_tol or 0.0) * saved)


FEASIBILITY = 1e-11
"""A channel that misses its equalities by more than this is not reported."""
HARDER = 0.05
"""After a level without progress the next program is solved to this share of what was asked for, again and again."""
LEAST_ACCURACY = 1e-13
"""Beyond this floats do not go."""
PROGRESS = 0.98
"""A level that leaves more than this share of the gap made no progress ..."""
PATIENCE = 5
"""... and after so many of them the search has stalled."""
SLOW, TWICE = 0.5, 2
"""After every two levels in a row that leave more than this share all cells are cut: codes move to where these are wide."""
LEVELS = 30
"""Levels at most: the gap falls about tenfold in each, so these are never reached where floats suffice."""

PIECE = 16_384
"""States for which lines are computed at once: of very many, no more than this."""


@dataclass(frozen=True)
class Start(Generic[CellsT]):
    """What is there before a search: the first level, and the accuracy of its program; a channel; and what another proof says
    that no channel saves more than."""

    first: Next[CellsT] | None = None
    accuracy: float | None = None
    channel: Array | None = None
    most: float = math.inf


@dataclass(frozen=True)
class Equations:
    """What channels must keep, the programs over lines that keep it, and what multipliers prove of all that do.

    Mᵀ z_l = 0 for every line, beside the masses p of the states; `budget_program` has more.
    """

    p: Array
    M: Array
    solver: LineSolver = field(default_factory=InteriorPoint)

    @cached_property
    def basis(self) -> Basis:
        """What the programs share."""
        return Basis.of(self.p, self.M)

    @property
    def accuracies(self) -> tuple[float, float]:
        """The share of a search's gap to which its programs are solved (more would be lost at the next refinement), but no
        further than the other of its target: the solver's."""
        return self.solver.of_gap, self.solver.of_target

    @property
    def layout(self) -> Literal["C", "F"]:
        """Whether costs lie in memory state by state or line by line."""
        return self.solver.layout

    @property
    def width(self) -> int:
        """Multipliers of a line: one for each equation."""
        return int(self.M.shape[1])

    def check(self, lines: int) -> None:
        """Raise `TooLargeError`, before it is taken, where a program of so many lines would not fit the memory."""
        memory.check(self.basis.sizes, lines, self.solver.threads)

    def solve(
        self, C: Array, accuracy: float, z: Array | None, nu: Array | None, stop: Stop, watch: Watch | None
    ) -> LPResult:
        """The channel that costs least, to this accuracy or nearly, from masses and multipliers on if there are some."""
        return replace(self.solver, tolerance=accuracy).solve(C, self.p, self.M, z, stop, watch, nu, self.basis)

    def bound(self, C: Array, rows: slice, nu: Array) -> float:
        """What multipliers prove that these states cost at least."""
        return repaired_bound(C, self.p[rows], self.M[rows], nu)

    def margin(self, C: Array, rows: slice, nu: Array) -> float:
        """The rounding error of that, by the size of what is added up."""
        return rounding_margin(C, self.p[rows], self.M[rows], nu)

    def keeps(self, z: Array) -> bool:
        """Whether a channel keeps them, to rounding."""
        return equality_error(z, self.p, self.M) <= FEASIBILITY


@dataclass(frozen=True)
class Enclosure(Generic[CellsT]):
    """A channel with its information, and cells with multipliers that prove that no channel saves more than `proves`.

    ``z`` is p(s, y), one row per state; ``last`` is the last program: its cells, masses and multipliers; ``history`` has the
    interval after each. The upper bound is what was known before where that is less.
    """

    z: Array
    cells: CellsT
    nu: Array
    information: float
    upper_bound: float
    history: tuple[tuple[float, float], ...]
    status: Status
    last: Next[CellsT]
    proves: float

    @property
    def gap(self) -> float:
        """The width of the interval."""
        return self.upper_bound - self.information

    @property
    def lines(self) -> int:
        """How many lines prove the bound."""
        return self.cells.lines

    def proof(self, rows: tuple[int, ...]) -> LinesBound:
        """The bound as a document has it."""
        return self.cells.proof(self.nu, rows)


def enclosed(cells: CellsT, kept: Equations, aim: Aim, start: Start[CellsT] | None = None) -> Enclosure[CellsT]:
    """Enclose what a channel that keeps the constraints can save of the prior's cost, from one cell (or few) on.

    Ends as `aim` says, or when the next level would not fit the memory; raises `TooLargeError`, before anything is taken,
    where the first does not and nothing was found before. A first level with an accuracy is solved whatever `aim.stopped`
    says: a solver that is stopped makes a channel of it.
    """
    start = start or Start()
    best = _Best(cells, kept, aim.progress, start)

    def wanted() -> float:
        return aim.wanted(best.information)

    if best.gap <= wanted():
        return best.result(Status.OPTIMAL)
    following = start.first or Next(cells.first(), None, None)
    idle = slow = 0
    for level in range(LEVELS):
        cells = following.cells
        given = start.accuracy if level == 0 else None
        aim.ahead(cells.lines)
        if aim.stopped() and given is None:
            return best.result(Status.STOPPED)
        try:
            kept.check(cells.lines)
        except TooLargeError:
            if level == 0 and best.information == 0:
                raise
            best.say(f"{cells.lines} lines would not fit the memory")
            break
        before = best.gap
        of_gap, of_target = kept.accuracies
        usual = max(of_target * wanted(), of_gap * best.gap)
        accuracy = HARDER**idle * usual if given is None else given
        C = np.empty((len(kept.p), cells.lines), order=kept.layout)
        for begin in range(0, len(C), PIECE):
            C[begin : begin + PIECE] = cells.costs(slice(begin, begin + PIECE))
        watch = best.watcher(level, cells.lines)
        lp = kept.solve(C, max(accuracy, LEAST_ACCURACY), following.z, following.nu, aim.stopped, watch)
        codes = best.record(cells, C, lp)
        if best.gap <= wanted():
            return best.result(Status.OPTIMAL)
        if lp.status == "stopped":
            return best.result(Status.STOPPED)
        if lp.status == "stalled" and best.gap > 0.9 * before:
            if following.z is None:
                return best.result(Status.STALLED)
            following = Next(cells, None, None)  # the same cells again, from a cold start
            continue
        idle = idle + 1 if best.gap > PROGRESS * before else 0
        if idle >= PATIENCE:
            return best.result(Status.STALLED)
        slow = slow + 1 if best.gap > SLOW * before else 0
        following = cells.refined(lp, codes, wanted(), slow > 0 and slow % TWICE == 0)
    return best.result(Status.LEVEL_LIMIT)


def proved(cells: Cells, kept: Equations, nu: Array) -> tuple[float, float]:
    """What cells with multipliers prove, and the rounding error of that; in pieces of the states."""
    dual = margin = 0.0
    for start in range(0, len(kept.p), PIECE):
        rows = slice(start, start + PIECE)
        C = cells.costs(rows)
        dual += kept.bound(C, rows, nu)
        margin += kept.margin(C, rows, nu)
    return dual, margin


class _Best(Generic[CellsT]):
    """The best interval so far, with the channel and the cells that prove it."""

    def __init__(self, cells: CellsT, kept: Equations, progress: Progress | None, start: Start[CellsT]) -> None:
        self.kept, self.progress, self.most = kept, progress, start.most
        self.prior_cost = cells.prior_cost
        self.everything = cells.prior_cost - cells.least_cost
        self.z, self.information = kept.p[:, None].copy(), 0.0
        if start.channel is not None and (saved := self.prior_cost - cells.cost(start.channel)) > 0:
            self.z, self.information = start.channel, saved
        self.history: list[tuple[float, float]] = []
        self.cells, self.nu, self.proves = cells, np.zeros((cells.lines, kept.width)), math.inf
        self.last = Next(cells, None, self.nu)
        self._keep(cells, self.nu)
        for other, nu in cells.simple_bounds():
            self._keep(other, nu)

    @property
    def upper_bound(self) -> float:
        return min(self.most, self.proves)

    @property
    def gap(self) -> float:
        return self.upper_bound - self.information

    def watcher(self, level: int, lines: int) -> Callable[[int, float, float], None] | None:
        """A callback that reports the closing bound while a linear program runs."""
        report = self.progress
        if report is None:
            return None

        def watch(iteration: int, _primal: float, dual: float) -> None:
            bound = min(self.upper_bound, self.prior_cost - dual, self.everything)
            report(self.information, bound, f"level {level}, {lines} lines, iteration {iteration}")

        return watch

    def record(self, cells: CellsT, C: Array, lp: LPResult) -> Codes:
        """Keep what the level improved; return the codes of its channel."""
        self.last = Next(cells, lp.z, lp.nu)
        codes = cells.codes(lp.z)
        z = cells.channel(lp.z)
        saved = self.prior_cost - cells.cost(z)
        if saved > self.information and self.kept.keeps(z):
            self.information, self.z = saved, z
        self._keep(cells, lp.nu, (lp.dual, self.kept.margin(C, EVERY, lp.nu)))
        for other, nu in cells.finer(codes, lp.nu):
            self._keep(other, nu)
        self.history.append((self.information, self.upper_bound))
        self.say(f"{cells.lines} lines done")
        return codes

    def say(self, message: str) -> None:
        """Tell whoever listens how far it is."""
        if self.progress is not None:
            self.progress(self.information, min(self.upper_bound, self.everything), message)

    def _keep(self, cells: CellsT, nu: Array, found: tuple[float, float] | None = None) -> None:
        """Keep the certificate if its bound, less its rounding error, is the best."""
        dual, margin = found or proved(cells, self.kept, nu)
        bound = self.prior_cost - dual + margin
        if bound < self.proves:
            self.proves, self.cells, self.nu = bound, cells, nu

    def result(self, status: Status) -> Enclosure[CellsT]:
        """What was found, ended like this."""
        upper_bound = max(self.upper_bound, self.information)
        interval, history = (self.information, upper_bound), tuple(self.history)
        return Enclosure(self.z, self.cells, self.nu, *interval, history, status, self.last, self.proves)
