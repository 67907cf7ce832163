"""The linear algebra of a Newton step: states in pieces over threads, equations made orthonormal, two orders of elimination.

States first leaves a system of lines × equations, lines first one of states × states; `StatesFirst` and `LinesFirst` solve
the same system, and whoever has fewer unknowns left is quicker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
Part = TypeVar("Part")
Scratch = TypeVar("Scratch")


class Chunks:
    """Applies a function to slices of the states, in threads; sums what it returns."""

    def __init__(self, states: int, size: int, pool: ThreadPoolExecutor | None, workers: int) -> None:
        self.slices = [slice(a, min(a + size, states)) for a in range(0, states, size)]
        self._workers = min(workers, len(self.slices))
        self._pool = pool if self._workers > 1 else None

    def each(self, function: Callable[[slice], Part]) -> list[Part]:
        """Return the function's value on each slice, in the order of the slices."""
        if self._pool is None:
            return [function(rows) for rows in self.slices]
        return list(self._pool.map(function, self.slices))

    def total(self, function: Callable[[slice], Array]) -> Array:
        """Return the sum of the function's values, holding one partial sum per worker."""
        return self.total_with(lambda: None, lambda rows, _: function(rows))

    def total_with(self, scratch: Callable[[], Scratch], function: Callable[[slice, Scratch], Array]) -> Array:
        """Return the sum of the function's values; each worker reuses its own scratch.

        The function may return an array of its scratch: it is added before the next call.
        """

        def share(worker: int) -> Array:
            mine = self.slices[worker :: self._workers]
            space = scratch()
            result = function(mine[0], space).copy()
            for rows in mine[1:]:
                result += function(rows, space)
            return result

        if self._pool is None:
            return share(0)
        first, *others = self._pool.map(share, range(self._workers))
        for part in others:
            first += part
        return first

    @property
    def longest(self) -> int:
        """The largest number of states in a slice."""
        return max(rows.stop - rows.start for rows in self.slices)


@contextmanager
def threads(workers: int) -> Iterator[ThreadPoolExecutor | None]:
    """Give a pool of Python threads with one BLAS thread each, or none for one worker."""
    with threadpool_limits(limits=1, user_api="blas"):
        if workers == 1:
            yield None
        else:
            with ThreadPoolExecutor(workers) as pool:
                yield pool


# ------------------------------------------------------------------- linear algebra


class _Cholesky:
    """Cholesky with unit diagonal scaling, a ridge, and iterative refinement.

    Coordinates whose diagonal is zero (or not finite) are pinned to zero.
    """

    def __init__(self, matrix: Array, ridge: float, refinements: int) -> None:
        diagonal = matrix.diagonal().copy()
        live = np.isfinite(diagonal) & (diagonal > 0)
        self._scale = np.zeros_like(diagonal)
        self._scale[live] = 1 / np.sqrt(diagonal[live])
        self._matrix = matrix * self._scale[:, None] * self._scale
        self._refinements = refinements
        index = np.arange(len(diagonal))
        while True:
            damped = self._matrix.copy()
            damped[index, index] = 1 + ridge
            try:
                self._factor = cho_factor(damped, lower=True, overwrite_a=True, check_finite=False)
                return
            except LinAlgError:
                if ridge > 1:
                    raise
                ridge = max(100 * ridge, 1e-16)

    def solve(self, rhs: Array) -> Array:
        """Return the refined solution for one right-hand side."""
        scaled = rhs * self._scale
        if scaled.size == 0:
            return scaled
        x = cho_solve(self._factor, scaled, check_finite=False)
        error = scaled - self._matrix @ x
        for _ in range(self._refinements):
            trial = x + cho_solve(self._factor, error, check_finite=False)
            trial_error = scaled - self._matrix @ trial
            if not np.abs(trial_error).max() < np.abs(error).max():
                break
            x, error = trial, trial_error
        value: Array = x * self._scale
        return value


class Elimination(Protocol):
    """A factorised Newton matrix: ``d (lam_s + M_s . nu_l)`` with given sums."""

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        """Return ``(dlam, dnu)`` such that ``g + d (dlam + M dnu.T)`` has row sums
        ``row_gap`` and column moments ``column_gap``."""


class StatesFirst:
    """Eliminates the row constraints; the Schur complement has one row per (line, column).

    ``S = sum_x M_x M_x' (x) (diag(d_x) - d_x d_x' / D_x)``, built in chunks of states.
    The multipliers of the reference line are fixed (gauge).
    """

    def __init__(self, M: Array, d: Array, reference: int, chunks: Chunks, ridge: float, refinements: int) -> None:
        self._M, self._d, self._chunks = M, d, chunks
        lines, rank = d.shape[1], M.shape[1]
        self._D = np.empty(len(M))
        self._free = np.arange(lines) != reference

        free = self._free
        size = (lines - 1) * rank
        index = np.arange(lines - 1)

        def scratch() -> tuple[Array, Array]:
            return np.empty(size * chunks.longest), np.empty((size, size))

        def schur(rows: slice, space: tuple[Array, Array]) -> Array:
            flat, block = space
            mt = np.ascontiguousarray(M[rows].T)
            dt = np.ascontiguousarray(d[rows].T)
            count = np.arange(dt.shape[1])
            top = dt.argmax(axis=0)
            largest = dt[top, count]
            dt[top, count] = 0
            below = dt.sum(axis=0)  # all but the largest, without cancellation
            dt[top, count] = largest
            total = below + largest
            self._D[rows] = total
            rest = total - dt
            rest[top, count] = below
            rest *= dt
            rest /= total
            dt /= np.sqrt(total)
            cube = flat[: size * len(count)].reshape(lines - 1, rank, len(count))
            np.multiply(dt[free][:, None, :], mt[None, :, :], out=cube)
            spread = cube.reshape(size, len(count))
            np.matmul(spread, spread.T, out=block)
            np.negative(block, out=block)
            square = (mt[:, None, :] * mt[None, :, :]).reshape(rank * rank, len(count))
            tiles = block.reshape(lines - 1, rank, lines - 1, rank)
            tiles[index, :, index, :] = (rest[free] @ square.T).reshape(lines - 1, rank, rank)
            return block

        self._factor = _Cholesky(chunks.total_with(scratch, schur), ridge, refinements)

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        M, d, D = self._M, self._d, self._D
        base = np.empty(len(M))

        def moments(rows: slice) -> Array:
            base[rows] = (row_gap[rows] - g[rows].sum(axis=1)) / D[rows]
            return (g[rows] + d[rows] * base[rows, None]).T @ M[rows]

        rhs = column_gap - self._chunks.total(moments)
        dnu = np.zeros_like(rhs)
        free = self._free
        dnu[free] = self._factor.solve(rhs[free].ravel()).reshape(rhs[free].shape)
        dlam = np.empty(len(M))

        def rows_multiplier(rows: slice) -> None:
            pull = np.einsum("sl,sl->s", d[rows], M[rows] @ dnu.T)
            dlam[rows] = base[rows] - pull / D[rows]

        self._chunks.each(rows_multiplier)
        return dlam, dnu


class LinesFirst:
    """Eliminates the lines; the Schur complement has one row per state.

    ``K = diag(D) - sum_l diag(d_l) M (M' diag(d_l) M)^-1 M' diag(d_l)``.  Its null
    space is the span of M (gauge) and is filled in.
    """

    def __init__(self, M: Array, d: Array, ridge: float, refinements: int) -> None:
        self._M, self._d = M, d
        states, lines = d.shape
        rank = M.shape[1]
        inner = (d.T[:, None, :] * M.T[None, :, :]) @ M
        diagonal = np.einsum("lii->li", inner).copy()
        scale = np.zeros_like(diagonal)
        np.divide(1, np.sqrt(diagonal), out=scale, where=diagonal > 0)
        inner *= scale[:, :, None] * scale[:, None, :]
        inner[:, np.arange(rank), np.arange(rank)] = 1 + ridge
        self._inner = _batched_cholesky(inner, ridge)
        self._scale = scale
        spread = self._half(np.broadcast_to(M.T, (lines, rank, states)) * d.T[:, None, :])
        flat = spread.reshape(lines * rank, states)
        schur = -(flat.T @ flat)
        total = d.sum(axis=1)
        schur[np.arange(states), np.arange(states)] += total
        root = np.sqrt(total)
        gauge, _ = np.linalg.qr(M * root[:, None])
        gauge *= root[:, None]
        self._spread = spread
        self._factor = _Cholesky(schur + gauge @ gauge.T, ridge, refinements)

    def _half(self, columns: Array) -> Array:
        """Return ``L^-1 (scale * columns)`` for each line's factor ``L``."""
        value: Array = self._inner @ (columns * self._scale[:, :, None])
        return value

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        M, d = self._M, self._d
        wanted = self._half((column_gap - g.T @ M)[:, :, None])
        rhs = row_gap - g.sum(axis=1) - np.einsum("lis,lik->s", self._spread, wanted)
        dlam = self._factor.solve(rhs)
        half = wanted[:, :, 0] - self._spread @ dlam
        dnu = np.einsum("lji,lj->li", self._inner, half) * self._scale
        left = column_gap - (g + d * (dlam[:, None] + M @ dnu.T)).T @ M  # one step of refinement for the lines
        step = self._half(left[:, :, None])[:, :, 0]
        dnu = dnu + np.einsum("lji,lj->li", self._inner, step) * self._scale
        return dlam, dnu


def _batched_cholesky(matrices: Array, ridge: float) -> Array:
    """Return the inverse Cholesky factors of unit-diagonal matrices, damped as needed."""
    rank = matrices.shape[-1]
    eye = np.eye(rank)
    damping = 0.0
    while True:
        try:
            lower = np.linalg.cholesky(matrices + damping * eye)
            return np.linalg.solve(lower, np.broadcast_to(eye, matrices.shape))
        except np.linalg.LinAlgError:
            if damping > 1:
                raise
            damping = max(100 * damping, ridge, 1e-16)


def whiten(p: Array, M: Array, tolerance: float) -> tuple[Array, Array]:
    """Return ``(M @ T, T)`` with columns orthonormal under ``p``; dependent ones dropped."""
    if M.shape[1] == 0:
        return M, np.zeros((0, 0))
    root = np.sqrt(p / p.sum())[:, None] * M
    size = np.linalg.norm(root, axis=0)
    scale = np.where(size > 0, size, 1)
    _, values, right = np.linalg.svd(root / scale, full_matrices=False)
    keep = values > tolerance * max(1.0, values[0])
    T = (right[keep] / values[keep, None]).T / scale[:, None]
    return np.ascontiguousarray(M @ T), T


def centred_duals(reduced: Array, p: Array, barrier: float) -> Array:
    """Return ``lam`` with ``sum_l barrier / (reduced_sl - lam_s) = p_s`` (Newton per state).

    Then ``barrier / (reduced - lam)`` is positive with the right row sums.
    """
    lines = reduced.shape[1]
    floor = reduced.min(axis=1)
    shifted = reduced - floor[:, None]
    # The root lies between barrier/p and lines*barrier/p below the least cost.
    below = barrier / p
    for _ in range(60):
        terms = barrier / (shifted + below[:, None])
        value = terms.sum(axis=1) - p
        slope = np.einsum("sl,sl->s", terms, terms) / barrier
        step = value / slope
        below = np.minimum(below + np.maximum(step, 0), lines * barrier / p)
        if np.all(np.abs(step) <= 1e-8 * below):
            break
    lam: Array = floor - below
    return lam


def main_states(p: Array, negligible: float) -> NDArray[np.bool_]:
    """Mark all states but the rarest, whose masses together are at most ``negligible``."""
    order = np.argsort(p)
    main = np.empty(len(p), dtype=bool)
    main[order] = np.cumsum(p[order]) > negligible * p.sum()
    return main
