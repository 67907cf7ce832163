"""Σ_s w(s) · g(s, y) exactly, for whole numbers w of any size on a grid g: what takes most of making a code exact.

Numbers are cut into pieces so short that no sum of products of pieces, over the states of one part, has more bits than a
float holds: floats then multiply and add exactly, in one product of matrices for each part. Parts go to threads, one for each
core, since the library that multiplies lets the others run meanwhile. What comes out is put together in integers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choral.problem.kernel import Floats, Index
from choral.threads import one_thread

PART = 4096
"""States, or fewer, that are summed at once."""
OF_WEIGHT, OF_GRID = 16, 21
"""Bits of a piece of either: with the 12 bits of PART no more than the 53 of a float."""
GRID_BITS = 61
"""Bits of a number of the grid: up to a whole unit of it."""
MOST_NUMBERS = 2**21
"""Of one part of the weights, in pieces: 16 megabytes for each thread."""
MOST_PARTS = 500
"""Sums of so many parts fit 63 bits."""
MOST_THREADS = 8
"""Of which each writes its own pieces: more wait for memory."""


@dataclass(frozen=True)
class Weights:
    """Whole numbers that are not negative at some of the states: `number[cell[k]]` at `state[k]`, which rises with k."""

    state: Index
    cell: Index
    number: tuple[int, ...]


def weighted_sums(rows: Sequence[Weights], grid: Index) -> list[list[int]]:
    """For each of the weights, and each column of the grid, the sum of products over all states.

    >>> import numpy as np
    >>> every = Weights(np.array([0, 1, 2]), np.array([0, 1, 2]), (10**30, 2, 5))
    >>> weighted_sums([every, Weights(np.array([1]), np.array([2]), every.number)], np.array([[3, 0], [1, 2**60], [0, 7]]))
    [[3000000000000000000000000000002, 2305843009213693987], [5, 5764607523034234880]]
    """
    cut: dict[int, NDArray[np.uint16]] = {}
    for row in rows:
        if id(row.number) not in cut:
            cut[id(row.number)] = _pieces(row.number)
    width = max(pieces.shape[1] for pieces in cut.values())
    size = min(PART, max(1, MOST_NUMBERS // (len(rows) * width)))
    starts = range(0, len(grid), size)
    shifts = range(0, GRID_BITS, OF_GRID)

    def part(start: int) -> Index:
        stop = min(start + size, len(grid))
        right = _grid_pieces(grid[start:stop], shifts)
        left = np.zeros((len(rows), width, stop - start))
        for k, row in enumerate(rows):
            first, last = np.searchsorted(row.state, [start, stop])
            pieces = cut[id(row.number)][row.cell[first:last]]
            left[k, : pieces.shape[1], row.state[first:last] - start] = pieces
        return (left.reshape(-1, stop - start) @ right).astype(np.int64)

    sums = np.zeros((len(rows) * width, len(shifts) * grid.shape[1]), dtype=object)
    with one_thread("blas"), ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1)) as pool:
        for first in range(0, len(starts), MOST_PARTS):
            sums += np.sum(list(pool.map(part, starts[first : first + MOST_PARTS])), axis=0)
    found = sums.reshape(len(rows), width, len(shifts), grid.shape[1])
    by_column = np.array([[1 << (OF_WEIGHT * i + shift) for shift in shifts] for i in range(width)], dtype=object)
    return [list(map(int, (row * by_column[:, :, None]).sum(axis=(0, 1)))) for row in found]


def _grid_pieces(grid: Index, shifts: Sequence[int]) -> Floats:
    """The least pieces of all numbers, then the next."""
    mask = (1 << OF_GRID) - 1
    return np.hstack([((grid >> shift) & mask).astype(np.float64) for shift in shifts])


def _pieces(numbers: Sequence[int]) -> NDArray[np.uint16]:
    """The pieces of each number, the least first."""
    width = -(-max(map(int.bit_length, numbers), default=1) // OF_WEIGHT) or 1
    text = b"".join([x.to_bytes(2 * width, "little") for x in numbers])
    return np.frombuffer(text, dtype="<u2").reshape(len(numbers), width)
