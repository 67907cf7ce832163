"""The one search over lines: solve the linear program of the cells there are, keep what is better, refine the cells.

Cells are what differs: chords of a curve, simplices of a tiling. They say what their lines cost, what a channel costs in
truth, and how they are cut where codes cost more than their lines say. The unit of every cost is the cells' own: bits, or
parts of a squared range. Whatever ends the search the interval is valid and the channel is private to rounding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from choral.problem.solution import Status
from choral.proofs.lines import LinesBound
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.memory import fits, too_large
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.program import LineSolver, LPResult, equality_error, repaired_bound, rounding_margin

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
LEVELS = 30
"""Levels at most: the gap falls about tenfold in each, so these are never reached where floats suffice."""

PIECE = 16_384
"""States for which lines are computed at once: of very many, no more than this."""
EVERY = slice(None)

CellsT = TypeVar("CellsT", bound="Cells")


@dataclass(frozen=True)
class Codes:
    """The codes of a channel: masses, means (or posteriors), and what each costs beyond its line."""

    mass: Array
    mean: Array
    error: Array


@dataclass(frozen=True)
class Next(Generic[CellsT]):
    """Cells that were cut, a feasible channel on their lines, and multipliers with which the bound does not fall."""

    cells: CellsT
    z: Array | None
    nu: Array | None


@dataclass(frozen=True)
class Start(Generic[CellsT]):
    """Cells of the first level, with multipliers, and what their search had for a target."""

    cells: CellsT
    nu: Array
    target: float


class Cells(Protocol):
    """Lines below a concave cost, one per cell."""

    @property
    def lines(self) -> int:
        """How many there are."""
        ...

    @property
    def prior_cost(self) -> float:
        """What a code that tells nothing costs."""
        ...

    @property
    def least_cost(self) -> float:
        """What a code that tells the state costs."""
        ...

    def costs(self, rows: slice = EVERY) -> Array:
        """C[s, l]: line l at state s, of these states."""
        ...

    def codes(self, z: Array) -> Codes:
        """The codes of a channel with one per line."""
        ...

    def channel(self, z: Array) -> Array:
        """The channel as it is reported: perhaps with codes joined that are too rare to matter."""
        ...

    def cost(self, z: Array) -> float:
        """What any channel costs in truth."""
        ...

    def first(self) -> Self:
        """The cells of the first level."""
        ...

    def simple_bounds(self) -> Iterator[tuple[Self, Array]]:
        """Other cells with multipliers that may prove something before anything is solved: none unless there is a way."""
        return iter(())

    def finer(self, codes: Codes, nu: Array) -> Iterator[tuple[Self, Array]]:
        """Finer cells with multipliers that may prove more than these: none unless there is a way."""
        return iter(())

    def refined(self, lp: LPResult, codes: Codes, target: float) -> Next[Self]:
        """The cells of the next level."""
        ...

    def proof(self, nu: Array, rows: tuple[int, ...]) -> LinesBound:
        """The cells, also after they were refined, with their multipliers, which belong to these rows of P."""
        ...


@dataclass(frozen=True)
class Level:
    """One linear program: its size, how it ended, and the best interval after it."""

    lines: int
    iterations: int
    information: float
    upper_bound: float
    seconds: float
    status: str


@dataclass(frozen=True)
class Enclosure(Generic[CellsT]):
    """A private channel with its information, and cells with multipliers that prove `upper_bound`.

    ``z`` is p(s, y), one row per state; ``last`` are the cells and the multipliers of the last program.
    """

    z: Array
    cells: CellsT
    nu: Array
    information: float
    upper_bound: float
    history: tuple[Level, ...]
    status: Status
    last: tuple[CellsT, Array]

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


def enclosed(
    cells: CellsT,
    p: Array,
    M: Array,
    aim: Aim,
    solver: LineSolver | None = None,
    start: Start[CellsT] | None = None,
) -> Enclosure[CellsT]:
    """Enclose what a private channel can save of the prior's cost, from one cell (or few) on.

    Ends as `aim` says, or when the next level would not fit the memory; raises `TooLargeError`, before anything is taken,
    where the first does not. With a ``start`` the first level is solved whatever `aim.stopped` says: a solver that is stopped
    makes a channel of it.
    """
    best = _Best(cells, p, M, aim.progress)
    solver = solver or InteriorPoint()

    def wanted() -> float:
        return aim.wanted(best.information)

    if best.gap <= wanted():
        return best.result(Status.OPTIMAL)
    following = Next(cells.first(), None, None) if start is None else Next(start.cells, None, start.nu)
    idle, basis = 0, Basis.of(p, M)
    for level in range(LEVELS):
        cells, z0, nu0 = following.cells, following.z, following.nu
        aim.ahead(cells.lines)
        if aim.stopped() and not (level == 0 and start):
            return best.result(Status.STOPPED)
        if not fits(basis.sizes, cells.lines, solver.threads):
            if level == 0:
                raise too_large(basis.sizes, cells.lines, solver.threads)
            best.say(f"{cells.lines} lines would not fit the memory")
            break
        before, began = best.gap, time.monotonic()
        if level == 0 and start is not None:
            accuracy = max(solver.of_target * start.target, LEAST_ACCURACY)
        else:
            accuracy = max(HARDER**idle * max(solver.of_target * wanted(), solver.of_gap * best.gap), LEAST_ACCURACY)
        C = np.empty((len(p), cells.lines), order=solver.layout)
        for begin in range(0, len(p), PIECE):
            C[begin : begin + PIECE] = cells.costs(slice(begin, begin + PIECE))
        watch = best.watcher(level, cells.lines)
        lp = replace(solver, tolerance=accuracy).solve(C, p, M, z0, aim.stopped, watch, nu0, basis)
        codes = best.record(cells, C, lp, time.monotonic() - began)
        if best.gap <= wanted():
            return best.result(Status.OPTIMAL)
        if lp.status == "stopped":
            return best.result(Status.STOPPED)
        if lp.status == "stalled" and best.gap > 0.9 * before:
            if z0 is None:
                return best.result(Status.STALLED)
            following = Next(cells, None, None)  # the same cells again, from a cold start
            continue
        idle = idle + 1 if best.gap > PROGRESS * before else 0
        if idle >= PATIENCE:
            return best.result(Status.STALLED)
        following = cells.refined(lp, codes, wanted())
    return best.result(Status.LEVEL_LIMIT)


def proved(cells: Cells, p: Array, M: Array, nu: Array) -> tuple[float, float]:
    """What cells with multipliers prove, and the rounding error of that; in pieces of the states."""
    dual = margin = 0.0
    for start in range(0, len(p), PIECE):
        rows = slice(start, start + PIECE)
        C = cells.costs(rows)
        dual += repaired_bound(C, p[rows], M[rows], nu)
        margin += rounding_margin(C, p[rows], M[rows], nu)
    return dual, margin


class _Best(Generic[CellsT]):
    """The best interval so far, with the channel and the cells that prove it."""

    def __init__(self, cells: CellsT, p: Array, M: Array, progress: Progress | None) -> None:
        self.p, self.M, self.progress = p, M, progress
        self.prior_cost = cells.prior_cost
        self.everything = cells.prior_cost - cells.least_cost
        self.z, self.information = p[:, None].copy(), 0.0
        self.history: list[Level] = []
        self.last = cells, np.zeros((cells.lines, M.shape[1]))
        self.cells, self.nu, self.upper_bound = cells, np.zeros((cells.lines, M.shape[1])), math.inf
        self._keep(cells, self.nu)
        for other, nu in cells.simple_bounds():
            self._keep(other, nu)

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

    def record(self, cells: CellsT, C: Array, lp: LPResult, seconds: float) -> Codes:
        """Keep what the level improved; return the codes of its channel."""
        self.last = cells, lp.nu
        codes = cells.codes(lp.z)
        z = cells.channel(lp.z)
        saved = self.prior_cost - cells.cost(z)
        if saved > self.information and equality_error(z, self.p, self.M) <= FEASIBILITY:
            self.information, self.z = saved, z
        self._keep(cells, lp.nu, C, lp.dual)
        for other, nu in cells.finer(codes, lp.nu):
            self._keep(other, nu)
        self.history.append(Level(cells.lines, lp.iterations, self.information, self.upper_bound, seconds, lp.status))
        self.say(f"{cells.lines} lines done")
        return codes

    def say(self, message: str) -> None:
        """Tell whoever listens how far it is."""
        if self.progress is not None:
            self.progress(self.information, min(self.upper_bound, self.everything), message)

    def _keep(self, cells: CellsT, nu: Array, C: Array | None = None, dual: float | None = None) -> None:
        """Keep the certificate if its bound, less its rounding error, is the best."""
        if C is None or dual is None:
            dual, margin = proved(cells, self.p, self.M, nu)
        else:
            margin = rounding_margin(C, self.p, self.M, nu)
        bound = self.prior_cost - dual + margin
        if bound < self.upper_bound:
            self.upper_bound, self.cells, self.nu = bound, cells, nu

    def result(self, status: Status) -> Enclosure[CellsT]:
        upper_bound = max(self.upper_bound, self.information)
        return Enclosure(
            self.z, self.cells, self.nu, self.information, upper_bound, tuple(self.history), status, self.last
        )
