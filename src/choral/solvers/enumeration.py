"""All extreme points of S = {t ≥ 0 : P t = P p}, exactly, by pivoting.

Bases are walked from neighbour to neighbour on a polytope whose right-hand side was moved by an amount so small
that no sign of a non-zero coordinate can change (`_shift`). Where the moved polytope is simple, every column that
enters has exactly one row that leaves, its graph is connected, and every extreme point of S is the limit of at
least one of its extreme points. So the walk reaches them all, however degenerate S is; an extreme point is known
by its support, so none is listed twice. Should two rows still tie, the move is drawn again.

Everything that decides is an integer: the tableau holds minors of P (fraction-free pivoting; small integers that a
float64 holds exactly, or Python integers when they grow), the right-hand side is Python integers of any size.
Floats only guess the leaving row, and a near tie is decided in integers. Bases are handled in batches.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from choral.errors import StoppedError, TooLargeError
from choral.problem.form import Incidence, incidence
from choral.problem.kernel import Problem
from choral.solvers.lines.memory import SPARED, available

MOST_POINTS = 250_000
"""Above this many extreme points (by the upper bound theorem) enumeration is refused unless asked for."""
NEAR_TIE = 1e-9
"""Ratios closer than this, relatively, are compared in integers."""
SAFE_ENTRY = 2**25
"""Tableau entries up to this multiply and subtract without rounding in float64."""
BATCH = 512
"""How many bases are pivoted in one vectorised step."""
TRIED = 20_000
"""Bases, a second or two of them, that are walked to see whether extreme points are few though they could be many ..."""
TRIED_ENTRIES = 50_000_000
"""... and entries of their tables together ..."""
TRIED_START = 5_000_000
"""... and states times entries, in integers, to find the first of them: another second."""

OBJECT = 40
"""Bytes of a Python integer in a table or at its right-hand side, about."""

Matrix = npt.NDArray[Any]
Supports: TypeAlias = dict[int, tuple[list[tuple[int, int]], int]]
ExtremePoint: TypeAlias = dict[int, Fraction]
"""A vertex of S by its support: p(s | y) for the states that have mass."""


def most_extreme_points(states: int, rank: int) -> int:
    """The largest number of vertices that a polytope of this dimension and number of facets can have (McMullen).

    >>> most_extreme_points(6, 4), most_extreme_points(16, 5)
    (6, 504)
    """
    d = states - rank
    if d <= 1:
        return d + 1
    return math.comb(states - math.ceil(d / 2), d // 2) + math.comb(states - 1 - math.ceil((d - 1) / 2), (d - 1) // 2)


class UnfinishedError(StoppedError):
    """Extreme points are not all listed; `found` are those that were."""

    def __init__(self, why: str, found: list[ExtremePoint]) -> None:
        super().__init__(f"The enumeration was stopped: {why}.", "Give it more time, or leave out solver=.")
        self.why, self.found = why, found


def extreme_points(
    problem: Problem,
    most: int | None = MOST_POINTS,
    should_stop: Callable[[], bool] | None = None,
    ahead: Callable[[int], None] = lambda points: None,
) -> list[ExtremePoint]:
    """Every extreme point of S, each once, in decreasing lexicographic order.

    Raises `TooLargeError` before any work when their number could exceed `most` (None: no limit), and `UnfinishedError` when
    it is stopped or the memory would not suffice. `ahead` is told how many there are at least.
    """
    if problem in _known:
        return _known[problem]
    rank = len(incidence(problem).independent)
    if most is not None and (worst := most_extreme_points(problem.size, rank)) > most:
        raise TooLargeError(
            f"{problem.size} states and rank {rank} can have up to {worst:.3g} extreme points; the limit is {most:,}.",
            "Protect or use fewer columns, or merge values; disclose without solver= finds an interval instead; "
            "most=None enumerates regardless.",
        )
    return _listed(problem, _Limits(should_stop or (lambda: False), ahead))


def few_points(problem: Problem) -> int | None:
    """How many extreme points there are, where the walk to all of them is short; None where it is not.

    They can be fewer by far than the upper bound theorem says, as where groups have few values with many states.
    """
    if problem not in _known:
        entries = problem.size * max(1, len(incidence(problem).independent))
        if problem.size * entries > TRIED_START:
            return None
        try:
            _known[problem] = _listed(problem, _Limits(bases=min(TRIED, TRIED_ENTRIES // entries)))
        except UnfinishedError:
            return None
    return len(_known[problem])


_known: WeakKeyDictionary[Problem, list[ExtremePoint]] = WeakKeyDictionary()
"""What was listed to see whether it is few."""


@dataclass(frozen=True)
class _Limits:
    """What ends a walk before its end."""

    stopped: Callable[[], bool] = lambda: False
    ahead: Callable[[int], None] = lambda points: None
    bases: float = math.inf

    def why(self, found: int, seen: int, waiting: int, table: Matrix) -> str:
        """Why the walk should end now; empty where it need not."""
        self.ahead(found)
        if self.stopped():
            return "it was time"
        if seen > self.bases:
            return f"there are more than {self.bases:,} bases"
        entry = 8 if table.dtype != object else OBJECT
        held = waiting * (table.size * entry + len(table) * OBJECT)
        if held > SPARED * available():
            return f"the next points would take more than the {available() / 1e9:.1f} GB of memory that there are"
        return ""


def _listed(problem: Problem, limits: _Limits) -> list[ExtremePoint]:
    matrix = incidence(problem)
    for seed in count():
        try:
            supports, why = _walk(_Start.from_prior(problem, matrix, seed), limits)
            break
        except _TieError:
            continue
    points = [
        {s: Fraction(mass * matrix.scale[s], denominator) for s, mass in sorted(masses)}
        for masses, denominator in supports.values()
    ]
    points.sort(key=lambda point: [(s, -m.numerator / m.denominator) for s, m in point.items()])
    if why:
        raise UnfinishedError(why, points)
    return points


class _TieError(Exception):
    """Two rows tie exactly in spite of the shift."""


@dataclass
class _Start:
    """A feasible basis: det · B⁻¹A, and det · B⁻¹b · total · spread plus the shift."""

    table: Matrix
    right: list[int]
    basis: list[int]
    det: int
    total: int
    spread: int

    @classmethod
    def from_prior(cls, problem: Problem, matrix: Incidence, seed: int) -> _Start:
        """A basis reached from the prior by emptying one state after the other."""
        rows = matrix.independent
        self = cls(
            np.array([matrix.rows[i] for i in rows], dtype=object),
            [matrix.right[i] for i in rows],
            [-1] * len(rows),
            1,
            problem.total,
            1,
        )
        for i in range(len(rows)):
            j = next(j for j in range(problem.size) if self.table[i, j] != 0)
            self._pivot(i, j)
        # Every coordinate of the prior is positive; walk down to a point with at most `rank` of them.
        x = [Fraction(w, c) for w, c in zip(problem.weights, matrix.scale, strict=True)]
        for j in range(problem.size):
            if j in self.basis:
                continue
            column = self.table[:, j]
            falling = [i for i in range(len(rows)) if column[i] < 0]
            steps = [x[self.basis[i]] * self.det / -column[i] for i in falling]
            step = min([x[j], *steps])
            for i in range(len(rows)):
                x[self.basis[i]] += Fraction(int(column[i]), self.det) * step
            x[j] -= step
            if x[j]:
                self._pivot(falling[steps.index(step)], j)
        self._shift(random.Random(seed))
        return self

    def _pivot(self, i: int, j: int) -> None:
        if self.table[i, j] < 0:  # an equation may change its sign: determinants of bases stay positive
            self.table[i], self.right[i] = -self.table[i], -self.right[i]
        step = _pivoted([(self.table, self.right, self.basis, self.det, i, j, 0)])
        [self.table], [self.right], [self.basis], [self.det] = step

    def _shift(self, random_bits: random.Random) -> None:
        """Replace b by b · spread + B k, with 64 random bits in each entry of k, at the present basis B.

        In another basis the coordinates, times its determinant, are integers · spread + Σ minors · k. `spread`
        exceeds four times the largest such sum (Hadamard bounds the minors of the table, which are those of A
        times a positive integer), so signs of non-zero coordinates are kept and zeros are decided by k alone.
        """
        r = len(self.right)
        longest = [math.isqrt(sum(int(x) ** 2 for x in row)) + 1 for row in self.table]
        largest_minor = math.prod(longest)
        self.spread = 4 * r * largest_minor * 2**65
        self.right = [x * self.spread + self.det * (random_bits.getrandbits(64) + 1) for x in self.right]


def _walk(start: _Start, limits: _Limits) -> tuple[Supports, str]:
    """The supports, with their masses, of all extreme points: all neighbours of neighbours of the start; or why not all."""
    found: Supports = {}
    size = start.table.shape[1]
    bit = [1 << j for j in range(size)]
    half, unit = start.spread // 2, start.spread
    seen = {sum(bit[j] for j in start.basis)}
    tables = start.table[None].astype(np.float64 if np.abs(start.table).max() <= SAFE_ENTRY else object)
    rights, bases, dets, keys = [start.right], [start.basis], [start.det], list(seen)
    waiting: deque[tuple[Matrix, list[int], list[int], int, int, int, int]] = deque()
    while True:
        for b, leaving in enumerate(_leaving_rows(tables, rights, bases, dets, start.total * unit)):
            basis, key, right, det, table = bases[b], keys[b], rights[b], dets[b], tables[b]
            mass = [(x + half) // unit for x in right]
            support = sum(bit[j] for j, x in zip(basis, mass, strict=True) if x)
            if support not in found:
                found[support] = [(j, x) for j, x in zip(basis, mass, strict=True) if x], det * start.total
            for j, i in enumerate(leaving):
                if key >> j & 1:
                    continue
                neighbour = key ^ bit[basis[i]] ^ bit[j]
                if neighbour not in seen:
                    seen.add(neighbour)
                    waiting.append((table, right, basis, det, i, j, neighbour))
        if not waiting:
            return found, ""
        if why := limits.why(len(found), len(seen), len(waiting), tables[0]):
            return found, why
        batch = [waiting.popleft() for _ in range(min(BATCH, len(waiting)))]
        tables, rights, bases, dets = _pivoted(batch)
        keys = [item[-1] for item in batch]


def _pivoted(
    batch: list[tuple[Matrix, list[int], list[int], int, int, int, int]],
) -> tuple[Matrix, list[list[int]], list[list[int]], list[int]]:
    """One pivot for each basis of the batch: row i leaves, column j enters."""
    wide = any(item[0].dtype == object for item in batch)
    tables = np.stack([item[0].astype(object) if wide else item[0] for item in batch])
    if not wide and np.abs(tables).max() > SAFE_ENTRY:
        tables, wide = _as_integers(tables), True
    many = np.arange(len(batch))
    rows = np.array([item[4] for item in batch])
    columns = np.array([item[5] for item in batch])
    row, column = tables[many, rows], tables[many, :, columns]
    pivot = row[many, columns]
    old = np.array([item[3] for item in batch], dtype=object if wide else np.float64)
    moved = tables * pivot[:, None, None] - column[:, :, None] * row[:, None, :]
    moved = moved // old[:, None, None] if wide else moved / old[:, None, None]
    moved[many, rows] = row
    rights, bases = [], []
    pivots = [int(p) for p in pivot.tolist()]
    for (_, right, basis, det, i, j, _), entries, p in zip(batch, column.tolist(), pivots, strict=True):
        ri = right[i]
        new = [(x * p - int(c) * ri) // det for x, c in zip(right, entries, strict=True)]
        new[i] = ri
        rights.append(new)
        bases.append([*basis[:i], j, *basis[i + 1 :]])
    return moved, rights, bases, pivots


def _leaving_rows(
    tables: Matrix, rights: list[list[int]], bases: list[list[int]], dets: list[int], scale: int
) -> list[list[int]]:
    """For every basis and every column, the one row that must leave when the column enters."""
    # Ratios of a row are compared with each other only, so any common scale of a table will do.
    x = np.array([[value / (det * scale) for value in right] for right, det in zip(rights, dets, strict=True)])
    entries = tables if tables.dtype != object else _nearest_floats(tables)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(tables > 0, x[:, :, None] / np.where(entries > 0, entries, np.inf), np.inf)
        low = ratio.min(axis=1)
        close = (ratio <= low[:, None, :] * (1 + NEAR_TIE) + 1e-280) & (tables > 0)
    choice: list[list[int]] = ratio.argmin(axis=1).tolist()
    for b, j in np.argwhere(close.sum(axis=1) > 1).tolist():
        if j not in bases[b]:
            choice[b][j] = _smallest(tables[b][:, j], rights[b], np.flatnonzero(close[b, :, j]).tolist())
    return choice


def _smallest(column: Matrix, right: list[int], rows: list[int]) -> int:
    best = rows[0]
    for i in rows[1:]:
        difference = right[i] * int(column[best]) - right[best] * int(column[i])
        if difference == 0:
            raise _TieError
        if difference < 0:
            best = i
    return best


def _nearest_floats(tables: Matrix) -> Matrix:
    """Tables of huge integers as floats, each divided by its largest entry."""
    floats = np.empty(tables.shape)
    for b, table in enumerate(tables):
        largest = max(int(np.abs(table).max()), 1)
        floats[b] = [[int(entry) / largest for entry in row] for row in table]
    return floats


def _as_integers(tables: Matrix) -> Matrix:
    return np.asarray(np.vectorize(int, otypes=[object])(tables))
