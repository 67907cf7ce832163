"""All bases of n exchangeable bits, one or a few per orbit: what proves an optimum of self-disclosure.

The states are the points of the cube {0,1}ⁿ, and S = {t ≥ 0 : Σ t = 1, Σ_x t_x x_i = q for every i}. An extreme point of S
lives on affinely independent points, which extend to a *basis*: n + 1 affinely independent points of the cube whose hull
meets the diagonal at (q, …, q). On a basis t is an affine function of q.

**One per orbit.** Permuting the samples maps bases to bases. Put the points in any fixed order, and write a set as its
sorted tuple. In every orbit there is a lexicographically least tuple, *and its first j points are least in their own
orbit*: if a permutation made them smaller as a set, the first j points of the image of the whole tuple would be no larger
than that (further points can only lower the sorted entries), so the image would be smaller. So a depth-first search may
drop every prefix that some permutation makes smaller: every orbit keeps at least its least member. Checking few
permutations, or only short prefixes, keeps more and is as valid.

Everything is an integer that float64 holds exactly: the minors of 0/1 matrices of this size are small (Hadamard).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt

from choral.errors import StoppedError
from choral.problem.kernel import Floats, Index

ALL_PERMUTATIONS = 3
"""Prefixes up to this length are compared with their images under every permutation, longer ones under transpositions,
and the last not at all: that costs more than it saves."""
BITS = 24
HALF = 1 << (BITS - 1)
"""Masses times the determinant are whole numbers far below HALF: a weight and two of them fit in 64 bits."""
CHUNK = 1 << 8
"""Prefixes that are extended in one vectorised step."""
BATCH = 1 << 10
"""Prefixes that are completed in one vectorised step."""


@dataclass(frozen=True)
class Cube:
    """The points of {0,1}ⁿ in the order of the search: by weight, which breaks symmetry early."""

    n: int

    @cached_property
    def points(self) -> Index:
        """The points as numbers; bit i of a number is sample i."""
        every = np.arange(1 << self.n)
        return every[np.argsort(weights_of(self.n), kind="stable")]

    @cached_property
    def columns(self) -> Floats:
        """(1, x) for every point, one row each, in the order of the search."""
        bits = (self.points[:, None] >> np.arange(self.n)) & 1
        return np.hstack([np.ones((1 << self.n, 1)), bits]).astype(np.float64)

    def images(self, moves: Iterator[tuple[int, ...]]) -> list[Index]:
        """For each permutation of the samples, the place of the image of every point."""
        points = self.points
        place = np.empty_like(points)
        place[points] = np.arange(len(points))
        found = []
        for move in moves:
            image = np.zeros_like(points)
            for i, j in enumerate(move):
                image |= ((points >> i) & 1) << j
            found.append(place[image])
        return found


@dataclass(frozen=True)
class Prefixes:
    """Sets of affinely independent points, with the matrix that gives any column its coordinates in them.

    `rows[k] @ (1, x)` = det · coordinates of (1, x) in the columns of set k, then what the set does not reach.
    """

    places: Index
    rows: Floats
    det: Floats

    def part(self, start: int, stop: int) -> Prefixes:
        """Some of the sets."""
        return Prefixes(self.places[start:stop], self.rows[start:stop], self.det[start:stop])


def prefixes(n: int, should_stop: Callable[[], bool] | None = None) -> Iterator[Prefixes]:
    """All sets of n points that may begin a least basis, in batches."""
    cube = Cube(n)
    size = n + 1
    root = Prefixes(np.zeros((1, 0), dtype=np.int64), np.eye(size)[None], np.ones(1))
    every = cube.images(permutations(range(n)))
    swaps = cube.images(_transposition(n, i, j) for i, j in combinations(range(n), 2))
    yield from _extended(root, cube.columns, every, swaps, n, should_stop)


def _extended(
    known: Prefixes,
    columns: Floats,
    every: list[Index],
    swaps: list[Index],
    length: int,
    should_stop: Callable[[], bool] | None,
) -> Iterator[Prefixes]:
    done = known.places.shape[1]
    if done == length:
        yield known
        return
    for start in range(0, len(known.places), CHUNK):
        if should_stop is not None and should_stop():
            raise StoppedError("The enumeration was stopped.", "Give it more time.")
        moves = every if done < ALL_PERMUTATIONS else swaps if done + 1 < length else []
        longer = _with_one_more(known.part(start, start + CHUNK), columns, moves)
        yield from _extended(longer, columns, every, swaps, length, should_stop)


def _with_one_more(known: Prefixes, columns: Floats, moves: list[Index]) -> Prefixes:
    """Every set with every later point that is independent of it, if no move makes that smaller.

    One step of fraction-free elimination each.
    """
    done = known.places.shape[1]
    last = known.places[:, -1] if done else np.array([-1])
    reach = known.rows @ columns.T  # sets × size × points
    open_rows = reach[:, done:, :] != 0
    later = np.arange(len(columns)) > last[:, None]
    which, point = np.nonzero(open_rows.any(axis=1) & later)
    places = np.hstack([known.places[which], point[:, None]])
    kept = _least(places, moves, len(columns))
    places, which, point = places[kept], which[kept], point[kept]
    pivot_row = done + open_rows[which, :, point].argmax(axis=1)
    y = reach[which, :, point]
    rows = known.rows[which]
    many = np.arange(len(which))
    pivot, line = y[many, pivot_row], rows[many, pivot_row]
    y[many, pivot_row], rows[many, pivot_row] = y[:, done], rows[:, done]
    y[:, done], rows[:, done] = 0.0, line
    sign = np.where(pivot < 0, -1.0, 1.0)
    moved = (rows * pivot[:, None, None] - y[:, :, None] * line[:, None, :]) / known.det[which, None, None]
    moved[:, done] = line
    return Prefixes(places, moved * sign[:, None, None], np.abs(pivot))


def _least(places: Index, moves: list[Index], points: int) -> npt.NDArray[np.bool_]:
    """Which sets no move makes lexicographically smaller."""
    base = points ** np.arange(places.shape[1] - 1, -1, -1, dtype=np.int64)
    key = places @ base
    kept = np.ones(len(places), dtype=np.bool_)
    for move in moves:
        here = np.flatnonzero(kept)
        kept[here] = np.sort(move[places[here]], axis=1) @ base >= key[here]
    return kept


@dataclass(frozen=True)
class Bases:
    """Bases with their masses: basis k has (start[k, i] + slope[k, i]·q) / det[k] on the point points[k, i]."""

    points: Index
    start: Floats
    slope: Floats
    det: Floats

    def part(self, which: Index) -> Bases:
        """Some of them."""
        return Bases(self.points[which], self.start[which], self.slope[which], self.det[which])


def _completed(sets: Prefixes, cube: Cube, q: float, slack: float) -> Bases:
    """Every basis that later points make of these sets and whose masses at q are ≥ 0, up to `slack`.

    The last mass is v(b)/v(c), with v the functional that vanishes on the set, b = (1, q, …, q) and c the last column; the
    others are what the set must add. Where v(b) = 0 the last mass is 0 and any c will do.
    """
    columns = cube.columns
    reach = sets.rows @ columns.T  # det · coordinates of every point, then v at it
    fits = (reach[:, -1] != 0) & (np.arange(len(columns)) > sets.places[:, -1:])
    b0, b1 = sets.rows[:, :, 0], sets.rows[:, :, 1:].sum(axis=2)
    right = b0 + q * b1
    with np.errstate(divide="ignore", invalid="ignore"):
        last = right[:, -1:] / reach[:, -1]
    fits &= last >= -slack
    np.multiply(reach[:, :-1], last[:, None], out=reach[:, :-1], where=fits[:, None])
    fits &= (reach[:, :-1] <= (right[:, :-1] + slack * sets.det[:, None])[:, :, None]).all(axis=1)
    which, point = np.nonzero(fits)
    at_point = np.einsum("kij,kj->ki", sets.rows[which], columns[point])
    det, at_set = at_point[:, -1], at_point[:, :-1]
    scale = sets.det[which, None]
    start = np.hstack([(b0[which, :-1] * det[:, None] - at_set * b0[which, -1:]) / scale, b0[which, -1:]])
    slope = np.hstack([(b1[which, :-1] * det[:, None] - at_set * b1[which, -1:]) / scale, b1[which, -1:]])
    sign = np.sign(det)[:, None]
    start, slope, det = start * sign, slope * sign, np.abs(det)
    good = (start + q * slope >= -slack * det[:, None]).all(axis=1)
    places = np.hstack([sets.places[which], point[:, None]])
    return Bases(cube.points[places[good]], start[good], slope[good], det[good])


def all_bases(n: int, q: float, slack: float, should_stop: Callable[[], bool] | None = None) -> Iterator[Bases]:
    """Every basis with masses ≥ 0 at q, up to `slack`; in batches."""
    cube = Cube(n)
    for sets in prefixes(n, should_stop):
        for start in range(0, len(sets.places), BATCH):
            yield _completed(sets.part(start, start + BATCH), cube, q, slack)


def one_of_each_kind(bases: Bases, n: int) -> tuple[list[bytes], Bases]:
    """One basis for each way of having masses on weights, and a name for each way; a way may keep two names, if the
    determinants differ."""
    start, slope, det = (x.astype(np.int64) for x in (bases.start, bases.slope, bases.det))
    kind = ((weights_of(n)[bases.points] << BITS) + start + HALF << BITS) + slope + HALF
    kind[(start == 0) & (slope == 0)] = 0
    rows, first = np.unique(np.hstack([det[:, None], np.sort(kind, axis=1)]), axis=0, return_index=True)
    return [row.tobytes() for row in rows], bases.part(first)


def _transposition(n: int, i: int, j: int) -> tuple[int, ...]:
    move = list(range(n))
    move[i], move[j] = j, i
    return tuple(move)


@lru_cache(maxsize=8)
def weights_of(n: int) -> Index:
    """The number of ones of every point, by its number."""
    every = np.arange(1 << n)
    return np.asarray(sum((every >> i) & 1 for i in range(n)), dtype=np.int64)
