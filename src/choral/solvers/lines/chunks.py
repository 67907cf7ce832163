"""Work in threads: states in slices, sums of what they give, and a Cholesky factorisation block by block."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs, solve_triangular

from choral.threads import one_thread

Array = NDArray[np.float64]
Part = TypeVar("Part")

MOST_WORKERS = 8
"""Threads at most: beyond this the pieces are small and memory is what limits."""
WORTH_THREADS = 3e9
"""Products of a factorisation from which handing work over to threads pays: with fewer, one is faster by the clock too."""
LARGE_PIECE, SMALL_PIECE = 1024, 32_768
"""States of a piece at most, whose columns then fit a cache; but at least so many numbers: handing less over costs more."""
BLOCK = 384
"""Columns that a factorisation in threads takes at once: a block and its panel fit the cache of a core."""
THREADED = 1200
"""Unknowns from which a factorisation in threads is worth its bookkeeping."""


class Space:
    """Large arrays by their names, made once and used again by whoever asks next: what they hold is then overwritten.

    A system hands out fresh memory page by page, each cleared first, and takes large arrays back at once: matrices that are
    made anew in every step cost more than what is computed with them.
    """

    def __init__(self) -> None:
        self._bytes: dict[str, NDArray[np.uint8]] = {}

    def array(self, name: str, *shape: int, dtype: Any = np.float64) -> NDArray[Any]:
        """An array of this shape, with anything in it."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if name not in self._bytes or self._bytes[name].size < size:
            self._bytes.pop(name, None)  # before there are two
            self._bytes[name] = np.empty(size, dtype=np.uint8)
        found: NDArray[Any] = self._bytes[name][:size].view(dtype).reshape(shape)
        return found

    def own(self, name: str, *shape: int, dtype: Any = np.float64) -> NDArray[Any]:
        """One of this name for each thread."""
        return self.array(f"{name} of {threading.get_ident()}", *shape, dtype=dtype)


class Chunks:
    """Applies a function to slices of the states, in threads; sums what it returns.

    `space` is for what one factorised matrix at a time takes.
    """

    def __init__(
        self, states: int, size: int, pool: ThreadPoolExecutor | None, workers: int, space: Space | None = None
    ) -> None:
        self.space = space or Space()
        self.slices = [slice(a, min(a + size, states)) for a in range(0, states, size)]
        self.workers, self._shared = workers, pool
        self._workers = min(workers, len(self.slices))
        self._pool = pool if self._workers > 1 else None

    @classmethod
    def of_states(cls, states: int, lines: int, pool: ThreadPoolExecutor | None, workers: int) -> Chunks:
        """For arrays of states × lines."""
        return cls(states, max(min(LARGE_PIECE, -(-states // workers)), SMALL_PIECE // lines), pool, workers)

    def each(self, function: Callable[[slice], Part]) -> list[Part]:
        """Return the function's value on each slice, in the order of the slices."""
        if self._pool is None:
            return [function(rows) for rows in self.slices]
        return list(self._pool.map(function, self.slices))

    def total(self, function: Callable[[slice], Array]) -> Array:
        """Return the sum of the function's values, holding one partial sum per worker.

        The function may return an array of the worker's own space: it is added before the next call.
        """

        unwanted = threading.Event()

        def share(worker: int) -> Array:
            mine = self.slices[worker :: self._workers]
            result = function(mine[0]).copy()
            for rows in mine[1:]:
                if unwanted.is_set():
                    break
                result += function(rows)
            return result

        if self._pool is None:
            return share(0)
        try:
            first, *others = self._pool.map(share, range(self._workers))
        except KeyboardInterrupt:  # who waits for the sum leaves, and the pool waits for who makes it
            unwanted.set()
            raise
        for part in others:
            first += part
        return first

    def over(self, count: int, size: int) -> Chunks:
        """The same workers over slices of something else."""
        return Chunks(count, min(size, -(-count // self.workers)), self._shared, self.workers, self.space)

    def factorised(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """The lower Cholesky factor (above the diagonal there is anything), in place, in threads where that pays.

        Block by block: the panel below a block and the rest of the matrix are updated in slices of their rows.
        """
        size = len(matrix)
        if not size:  # LAPACK complains of it, on the terminal
            return matrix
        if self._shared is None or size < THREADED:
            factor, failed = get_lapack_funcs("potrf", (matrix,))(matrix.T, overwrite_a=1)
            if failed:
                raise np.linalg.LinAlgError("not positive definite")
            return np.asarray(factor).T
        kind = matrix.dtype
        for start in range(0, size, BLOCK):
            stop = min(start + BLOCK, size)
            matrix[start:stop, start:stop] = np.linalg.cholesky(matrix[start:stop, start:stop])
            inverse = solve_triangular(matrix[start:stop, start:stop], np.eye(stop - start, dtype=kind), lower=True).T
            spots = list(range(stop, size, BLOCK))
            rows = [slice(a, min(a + BLOCK, size)) for a in spots]

            def panel(some: slice, here: slice = slice(start, stop), inverse: Any = inverse) -> None:
                product = self.space.own("panel", some.stop - some.start, here.stop - here.start, dtype=kind)
                matrix[some, here] = np.matmul(matrix[some, here], inverse, out=product)

            def update(some: slice, here: slice = slice(start, stop), stop: int = stop) -> None:
                product = self.space.own("update", some.stop - some.start, some.stop - stop, dtype=kind)
                np.matmul(matrix[some, here], matrix[stop : some.stop, here].T, out=product)
                matrix[some, stop : some.stop] -= product

            list(self._shared.map(panel, rows))
            list(self._shared.map(update, reversed(rows)))
        return matrix


def _quietly() -> None:
    """What overflows is seen where a step is taken; a thread does not have the settings of the one that began it."""
    np.seterr(all="ignore")


def cores() -> int:
    """Threads that there are at most."""
    return min(MOST_WORKERS, os.cpu_count() or 1)


@contextmanager
def threads(workers: int) -> Iterator[ThreadPoolExecutor | None]:
    """Give a pool of Python threads with one BLAS thread each, or none for one worker."""
    with one_thread("blas"):
        if workers == 1:
            yield None
        else:
            with ThreadPoolExecutor(workers, initializer=_quietly) as pool:
                yield pool
