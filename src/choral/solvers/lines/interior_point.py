"""A primal-dual interior-point method for linear programs over lines (docs/mathematics.md).

Minimise Σ z_sl C_sl over z ≥ 0 with Σ_l z_sl = p_s for every state and Mᵀ z_l = 0 for every line. For any multipliers
nu (one row per line) Σ_s p_s min_l (C_sl - M_s·nu_l) bounds the optimum from below, so every iterate gives a valid
interval. Bounds are evaluated in floating point here; `choral.exact` proves them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
Status = Literal["optimal", "stopped", "iteration limit", "stalled"]
Part = TypeVar("Part")
Scratch = TypeVar("Scratch")

EXACT = 1e-14
"""Equalities that hold to this (relative to the largest mass) are not restored further."""


# --------------------------------------------------------------------------- results


@dataclass(frozen=True)
class LPResult:
    """A feasible channel and multipliers for one sandwich linear program.

    ``z`` is positive and meets the equalities to rounding; ``primal`` is its cost;
    ``dual`` is the repaired bound of ``nu``, so ``dual <= optimum <= primal`` up to
    rounding whatever the status says.
    """

    z: Array
    nu: Array
    primal: float
    dual: float
    iterations: int
    status: Status


def repaired_bound(C: Array, p: Array, M: Array, nu: Array, chunk: int = 4096) -> float:
    """Return ``sum_s p_s min_l (C_sl - M_s . nu_l)``, a lower bound for any ``nu``."""
    total = 0.0
    for start in range(0, len(p), chunk):
        rows = slice(start, start + chunk)
        total += float(p[rows] @ (C[rows] - M[rows] @ nu.T).min(axis=1))
    return total


def equality_error(z: Array, p: Array, M: Array) -> float:
    """Return the largest violation of ``z.sum(1) == p`` and ``M.T z == 0`` (M scaled to 1)."""
    rows = float(np.abs(z.sum(axis=1) - p).max())
    if M.size == 0:
        return rows
    size = np.maximum(1.0, np.abs(M).max(axis=0))
    return max(rows, float((np.abs(M.T @ z).max(axis=1) / size).max()))


def rounding_margin(C: Array, p: Array, M: Array, nu: Array) -> float:
    """Return a bound on the rounding error of ``repaired_bound`` (and of ``p @ M == 0``)."""
    size = float((p @ np.abs(M)) @ np.abs(nu).max(axis=0)) if M.size else 0.0
    size += float(np.abs(C).max() * p.sum())
    return float(2 * (M.shape[1] + 4) * np.finfo(float).eps * size)


# ------------------------------------------------------------------ chunks in threads


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


class _Elimination(Protocol):
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


class _LinesFirst:
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


# ------------------------------------------------------------------- interior point


@dataclass(frozen=True)
class InteriorPoint:
    """Mehrotra's predictor-corrector method for sandwich linear programs.

    tolerance          stop when the duality gap (bits) is at most this
    feasibility        ... and the equalities hold to this (they are then restored to rounding)
    max_iterations     stop after this many factorisations
    step_fraction      how far towards the boundary a step may go
    second_order_clip  bound on the second-order term, in units of the barrier
    correctors         extra centrality correctors per factorisation
    short_step         a step below this is followed by a centring step
    patience           stop after this many steps in a row that are short in both spaces
    ridge              added to the unit diagonal of the Schur complement
    refinements        refinements of each Schur solve
    restorations       steps at most that bring the result back onto the equalities
    warm_mix           share of the uniform channel that is mixed into a warm start
    warm_boost         barrier of a warm start, in units of its complementarity
    negligible         the rarest states, with this much mass in all, follow the others
    rank_tolerance     columns of M below this (scaled) are taken as dependent
    workers            Python threads, each with one BLAS thread; None: one per core, at most 8
    warm_floor         least complementarity of a warm start, in units of its barrier
    elimination        "states" or "lines" first; "auto" compares their cost
    """

    tolerance: float = 1e-9
    feasibility: float = 1e-7
    max_iterations: int = 100
    step_fraction: float = 0.995
    second_order_clip: float = 10.0
    correctors: int = 3
    short_step: float = 0.1
    patience: int = 8
    ridge: float = 1e-15
    refinements: int = 2
    restorations: int = 3
    warm_mix: float = 0.001
    warm_boost: float = 10.0
    warm_floor: float = 0.3
    negligible: float = 1e-15
    rank_tolerance: float = 1e-12
    workers: int | None = None
    elimination: Literal["auto", "states", "lines"] = "auto"

    def solve(
        self,
        C: Array,
        p: Array,
        M: Array,
        z0: Array | None = None,
        should_stop: Callable[[], bool] | None = None,
        callback: Callable[[int, float, float], None] | None = None,
        nu0: Array | None = None,
    ) -> LPResult:
        """Minimise ``sum z C`` over ``z >= 0``, ``z.sum(1) = p``, ``M.T z = 0``.

        ``z0`` is a feasible channel to start from and ``nu0`` multipliers to start
        from; ``callback(iteration, primal, dual)`` sees the interval of each iterate;
        ``should_stop`` is asked once per iteration.  Whatever ends the iteration, the
        result is a positive channel that meets the equalities and a valid bound.
        """
        C, p, M = (np.ascontiguousarray(a, dtype=float) for a in (C, p, M))
        main = _main_states(p, self.negligible)
        white, unwhite = whiten(p[main], M[main], self.rank_tolerance)
        nu_white = None if nu0 is None else np.asarray(nu0, dtype=float) @ np.linalg.pinv(unwhite).T
        z_main = None if z0 is None else np.asarray(z0, dtype=float)[main]
        workers = self.workers or min(8, os.cpu_count() or 1)
        with threads(workers) as pool:
            run = _Run(self, C[main], p[main], white, pool, workers)
            z_main, nu_white, iterations, status = run.solve(z_main, nu_white, should_stop, callback)
        weight = z_main.sum(axis=0)
        nu = (nu_white - weight @ nu_white / weight.sum()) @ unwhite.T  # the smallest gauge
        if main.all():
            z = z_main
        else:
            z = np.empty_like(C)
            z[main] = z_main
            share = z_main.sum(axis=0)
            z[~main] = p[~main, None] * (share / share.sum())
        primal = float(np.einsum("sl,sl->", z, C))
        return LPResult(z, nu, primal, repaired_bound(C, p, M, nu), iterations, status)


def _main_states(p: Array, negligible: float) -> NDArray[np.bool_]:
    """Mark all states but the rarest, whose masses together are at most ``negligible``."""
    order = np.argsort(p)
    main = np.empty(len(p), dtype=bool)
    main[order] = np.cumsum(p[order]) > negligible * p.sum()
    return main


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


class _Run:
    """One run of the interior-point method on whitened constraints."""

    def __init__(
        self,
        options: InteriorPoint,
        C: Array,
        p: Array,
        M: Array,
        pool: ThreadPoolExecutor | None,
        workers: int,
    ) -> None:
        self.options, self.C, self.p, self.M = options, C, p, M
        states, lines = C.shape
        rank = M.shape[1]
        size = min(1024, max(64, -(-states // workers)))
        self.chunks = Chunks(states, size, pool, workers)
        by_states = states * (lines * rank) ** 2 + (lines * rank) ** 3 / 3
        by_lines = states**2 * lines * rank + states**3 / 3
        fits = states * lines * rank * 24 < 2e9
        self.lines_first = options.elimination == "lines" or (
            options.elimination == "auto" and by_lines < by_states and fits
        )
        self.z = np.empty_like(C)
        self.s = np.empty_like(C)
        self.lam = np.empty(states)
        self.nu = np.zeros((lines, rank))

    # -- starting points

    def start(self, z0: Array | None, nu0: Array | None) -> None:
        """Set a strictly feasible primal-dual point, centred as well as is cheap."""
        C, p, M = self.C, self.p, self.M
        lines = C.shape[1]
        uniform = np.broadcast_to(p[:, None] / lines, C.shape)
        if nu0 is not None:
            self.nu[:] = nu0
        reduced = C - M @ self.nu.T
        if z0 is None:
            self.z[:] = uniform
            spread = reduced.max(axis=1) - reduced.min(axis=1)
            barrier = float((p * spread).max()) / lines
        else:
            mix = self.options.warm_mix
            self.z[:] = (1 - mix) * np.maximum(z0, 0) + mix * uniform
            slack = reduced - reduced.min(axis=1)[:, None]
            barrier = self.options.warm_boost * float(np.einsum("sl,sl->", self.z, slack)) / C.size
        barrier = max(barrier, 1e-300)
        self.lam[:] = _centred_rows(reduced, p, barrier)
        np.subtract(reduced, self.lam[:, None], out=self.s)
        if z0 is not None:
            np.maximum(self.z, self.options.warm_floor * barrier / self.s, out=self.z)

    # -- the iteration

    def solve(
        self,
        z0: Array | None,
        nu0: Array | None,
        should_stop: Callable[[], bool] | None,
        callback: Callable[[int, float, float], None] | None,
    ) -> tuple[Array, Array, int, Status]:
        """Iterate; return the channel, the multipliers, the iterations and why it ended."""
        if self.C.shape[1] == 1:
            return self.p[:, None].copy(), self.nu, 0, "optimal"
        self.start(z0, nu0)
        best_dual, best_nu = -math.inf, self.nu.copy()
        status: Status = "iteration limit"
        short_steps = 0
        centring = False
        iteration = 0
        system: _Elimination | None = None
        d = np.empty_like(self.C)
        for iteration in range(self.options.max_iterations + 1):
            row_gap, column_gap, gap, primal = self.residuals(d)
            dual = float(self.p @ self.lam)
            if dual > best_dual:
                best_dual, best_nu = dual, self.nu.copy()
            if callback is not None:
                callback(iteration, primal, best_dual)
            missing = float(np.abs(row_gap).sum() + np.abs(column_gap).sum())
            if gap <= self.options.tolerance and missing <= self.options.feasibility:
                status = "optimal"
                break
            if should_stop is not None and should_stop():
                status = "stopped"
                break
            if short_steps >= self.options.patience:
                status = "stalled"
                break
            if iteration == self.options.max_iterations:
                break
            system = self.eliminate(d)
            steps = self.step(system, d, row_gap, column_gap, gap, centring)
            centring = min(steps) < self.options.short_step
            short_steps = short_steps + 1 if max(steps) < self.options.short_step else 0
        self.restore()
        return self.z, best_nu, iteration, status

    def residuals(self, d: Array) -> tuple[Array, Array, float, float]:
        """Set ``d = z / s``; return what rows and columns lack, the gap and the cost."""
        z, s, C, M = self.z, self.s, self.C, self.M
        row_gap = np.empty(len(self.p))

        def part(rows: slice) -> tuple[Array, float, float]:
            np.divide(z[rows], s[rows], out=d[rows])
            row_gap[rows] = self.p[rows] - z[rows].sum(axis=1)
            gap = float(np.einsum("sl,sl->", z[rows], s[rows]))
            cost = float(np.einsum("sl,sl->", z[rows], C[rows]))
            return z[rows].T @ M[rows], gap, cost

        parts = self.chunks.each(part)
        moments = sum((a for a, _, _ in parts[1:]), start=parts[0][0])
        return row_gap, -moments, sum(b for _, b, _ in parts), sum(c for _, _, c in parts)

    def eliminate(self, d: Array) -> _Elimination:
        """Factorise the Newton matrix by the cheaper elimination."""
        options = self.options
        if self.lines_first:
            return _LinesFirst(self.M, d, options.ridge, options.refinements)
        reference = int(self.z.sum(axis=0).argmax())
        return StatesFirst(self.M, d, reference, self.chunks, options.ridge, options.refinements)

    def step(
        self,
        system: _Elimination,
        d: Array,
        row_gap: Array,
        column_gap: Array,
        gap: float,
        centring: bool,
    ) -> tuple[float, float]:
        """Take one step; return the primal and dual step lengths.

        The step is a predictor-corrector step, or (``centring``) aims at the central
        path for the present barrier, which repairs a point that lies too near the boundary.
        """
        z, s, M = self.z, self.s, self.M
        barrier = gap / z.size
        move = np.empty_like(z)  # dlam + M dnu = -ds
        g = np.negative(z)

        def direction(dlam: Array, dnu: Array) -> tuple[float, float]:
            """Fill ``move``; return the longest primal and dual steps."""

            def part(rows: slice) -> tuple[float, float]:
                np.matmul(M[rows], dnu.T, out=move[rows])
                move[rows] += dlam[rows, None]
                ratio = d[rows] * move[rows]
                ratio += g[rows]
                ratio /= z[rows]
                dual = move[rows] / s[rows]
                return float(ratio.min()), float(dual.max())

            parts = self.chunks.each(part)
            down = max(1e-300, -min(a for a, _ in parts))
            up = max(1e-300, max(b for _, b in parts))
            return min(1.0, 1 / down), min(1.0, 1 / up)

        dlam, dnu = system.solve(g, row_gap, column_gap)
        primal_step, dual_step = direction(dlam, dnu)

        def affine_gap(rows: slice) -> float:
            dz = g[rows] + d[rows] * move[rows]
            return float(np.einsum("sl,sl->", z[rows] + primal_step * dz, s[rows] - dual_step * move[rows]))

        after = max(0.0, sum(self.chunks.each(affine_gap))) / z.size
        target = barrier if centring else barrier * (after / barrier) ** 3
        clip = 0.0 if centring else self.options.second_order_clip * barrier

        def second_order(rows: slice) -> None:
            term = (g[rows] + d[rows] * move[rows]) * move[rows]
            np.clip(term, -clip, clip, out=term)
            term += target
            term /= s[rows]
            g[rows] += term

        self.chunks.each(second_order)
        dlam, dnu = system.solve(g, row_gap, column_gap)
        primal_step, dual_step = direction(dlam, dnu)

        def recentre(primal: float, dual: float) -> None:
            """Add to ``g`` what brings outlying products of a longer step back to the target."""

            def part(rows: slice) -> None:
                dz = g[rows] + d[rows] * move[rows]
                product = (z[rows] + primal * dz) * (s[rows] - dual * move[rows])
                term = np.clip(product, 0.1 * target, 10 * target)
                term -= product
                np.maximum(term, -10 * target, out=term)
                term /= s[rows]
                g[rows] += term

            self.chunks.each(part)

        for _ in range(self.options.correctors):
            if min(primal_step, dual_step) > 0.9:
                break
            kept = g.copy(), move.copy(), dlam, dnu, primal_step, dual_step
            recentre(min(1.0, 1.08 * primal_step + 0.08), min(1.0, 1.08 * dual_step + 0.08))
            dlam, dnu = system.solve(g, row_gap, column_gap)
            primal_step, dual_step = direction(dlam, dnu)
            if primal_step + dual_step < kept[4] + kept[5] + 0.02:
                g[:], move[:] = kept[0], kept[1]
                dlam, dnu, primal_step, dual_step = kept[2:]
                break

        fraction = self.options.step_fraction
        primal_step = min(1.0, fraction * primal_step)
        dual_step = min(1.0, fraction * dual_step)

        def update(rows: slice) -> None:
            z[rows] += primal_step * (g[rows] + d[rows] * move[rows])
            s[rows] -= dual_step * move[rows]

        self.chunks.each(update)
        self.lam += dual_step * dlam
        self.nu += dual_step * dnu
        return primal_step, dual_step

    def restore(self) -> None:
        """Bring the channel back onto the equalities, weighted by its own squares."""
        z, p, M = self.z, self.p, self.M
        for _ in range(self.options.restorations):
            row_gap = p - z.sum(axis=1)
            column_gap = -(z.T @ M)
            if np.abs(row_gap).max() <= EXACT * p.max() and np.abs(column_gap).max(initial=0) <= EXACT:
                return
            d = z * z / p[:, None]
            dlam, dnu = self.eliminate(d).solve(np.zeros_like(z), row_gap, column_gap)
            change = d * (dlam[:, None] + M @ dnu.T)
            if not np.isfinite(change).all():
                return
            shrink = float(np.max(-change / z))
            z += min(1.0, 0.5 / max(shrink, 1e-300)) * change


def _centred_rows(reduced: Array, p: Array, barrier: float) -> Array:
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
