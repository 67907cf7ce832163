"""The linear algebra of a Newton step: states in pieces over threads, equations made orthonormal, two orders of elimination.

States first leaves a system of lines × equations, lines first one of states × states; `StatesFirst` and `LinesFirst` solve
the same system, and the one that is built and factorised with less work is taken. Most equations say that the sums over the
classes of a partition of the states (the values of a protected group) are as they should be: `finest` finds the finest such
partition, for which lines first needs sums over classes in place of products.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve

from choral.solvers.lines.chunks import Array, Chunks

RIDGE = 1e-15
"""Added to a unit diagonal: below what floats resolve in a sum of thousands; more only where a factorisation fails."""
REFINEMENTS = 2
"""Of each solve with a factorised matrix; a third one was never better."""
RANK_TOLERANCE = 1e-12
"""Columns of equations below this (scaled) are taken as dependent; what is private is decided in integers, elsewhere."""
NEGLIGIBLE = 1e-15
"""The rarest states, with this much mass in all, follow the others."""
STACK = 2**25
"""Numbers in the stack of columns that one product takes at once: 256 MB. Smaller ones spend their time adding up results."""


class Cholesky:
    """Cholesky with unit diagonal scaling, a ridge, and iterative refinement.

    Coordinates whose diagonal is zero (or not finite) are pinned to zero.
    """

    def __init__(self, matrix: Array, chunks: Chunks) -> None:
        diagonal = matrix.diagonal().copy()
        live = np.isfinite(diagonal) & (diagonal > 0)
        self._scale = np.zeros_like(diagonal)
        self._scale[live] = 1 / np.sqrt(diagonal[live])
        matrix *= self._scale[:, None]
        matrix *= self._scale
        self._matrix = matrix
        index, ridge = np.arange(len(diagonal)), RIDGE
        while True:
            damped = matrix.copy()
            damped[index, index] = 1 + ridge
            try:
                self._factor = chunks.factorised(damped).T, False  # in the order of LAPACK, which copies others
                return
            except LinAlgError:
                if ridge > 1:
                    raise
                ridge *= 100

    def solve(self, rhs: Array) -> Array:
        """Return the refined solution for one right-hand side."""
        scaled = rhs * self._scale
        if scaled.size == 0:
            return scaled
        x = cho_solve(self._factor, scaled, check_finite=False)
        error = scaled - self._matrix @ x
        for _ in range(REFINEMENTS):
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

    def __init__(self, M: Array, d: Array, reference: int, chunks: Chunks) -> None:
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

        self._factor = Cholesky(chunks.total_with(scratch, schur), chunks)

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


@dataclass(frozen=True)
class Partition:
    """Classes of states whose sums are among the equations, and the equations that are left.

    States are taken in the order of their classes: `order`, with class c at `bounds[c]:bounds[c + 1]`. `share` is the
    mass of each class; the columns of `rest` (in that order) are orthonormal under p and sum to zero over every class, so
    the row space of classes and rest is that of all equations and the row of ones.
    """

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    share: Array
    rest: Array

    def sums(self, x: Array) -> Array:
        """Sums over the classes of an array whose rows are in their order."""
        return np.add.reduceat(x, self.bounds[:-1], axis=0)

    def spread(self, x: Array) -> Array:
        """One row per class as one row per state."""
        return np.repeat(x, np.diff(self.bounds), axis=0)


def finest(p: Array, M: Array) -> Partition | None:
    """The partition with most classes whose indicators are columns of M, up to a shift and a scale; None if it saves nothing.

    Columns with two values are indicators of a set; a greedy search from every column finds sets that do not overlap.
    """
    high, low = M.max(axis=0, initial=-np.inf), M.min(axis=0, initial=np.inf)
    upper = high == M
    two = np.flatnonzero((upper | (low == M)).all(axis=0) & (high > low))
    sets = upper[:, two].astype(np.float64)
    apart = sets.T @ sets == 0
    best: list[int] = []
    for first in range(len(two)):
        family, open_ = [first], apart[first].copy()
        while open_.any():
            following = int(open_.argmax())
            family.append(following)
            open_ &= apart[following]
        if len(family) > len(best):
            best = family
    if len(best) < 2:
        return None
    label = np.where(sets[:, best].any(axis=1), sets[:, best].argmax(axis=1), len(best))
    _, label = np.unique(label, return_inverse=True)
    order = np.argsort(label, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(label))])
    others = np.delete(M, two[best], axis=1)[order]
    bare = Partition(order, bounds, np.zeros(0), np.zeros((len(p), 0)))
    share = bare.sums(p[order])
    others = others - bare.spread(bare.sums(p[order, None] * others) / share[:, None])
    rest = whiten(p[order], others)[0]
    return Partition(order, bounds, share, rest) if rest.shape[1] + 1 < M.shape[1] else None


class LinesFirst:
    """Eliminates the lines; the Schur complement has one row per state.

    ``K = diag(D) - sum_l diag(d_l) M G_l^-1 M' diag(d_l)`` with ``G_l = M' diag(d_l) M``. Its null space is the span of M
    (gauge) and is filled in. With a partition A (one column per class), rest X and shares h, M G^-1 M' is
    A E^-1 A' + Y S^-1 Y' - w w'/eta: E = A'dA is diagonal, Y = X - A E^-1 A'dX, S = Y'dY, and w = [A X] t, eta = [h 0]·t
    for the t with [A X]'d[A X] t = [h 0]. So the work per line is that of the columns that are left, and of one more.
    """

    def __init__(self, M: Array, d: Array, chunks: Chunks, partition: Partition | None) -> None:
        self._M, self._d, self._chunks = M, d, chunks
        self._inverse, self._scale = self._inverse_factors()
        total = d.sum(axis=1)
        schur = None if partition is None else self._by_classes(partition)
        if schur is None or not np.isfinite(schur).all():  # a class without weight, as floats have it
            schur = self._plain()
        index = np.arange(len(M))
        schur[index, index] += total
        root = np.sqrt(total)
        gauge, _ = np.linalg.qr(M * root[:, None])
        gauge *= root[:, None]
        schur += gauge @ gauge.T
        self._factor = Cholesky(schur, chunks)

    def _inverse_factors(self) -> tuple[Array, Array]:
        """For each line the inverse Cholesky factor of G_l with unit diagonal, and the scale of that."""
        M, roots = self._M, np.sqrt(self._d.T)

        def part(some: slice) -> tuple[Array, Array]:
            grams = np.empty((some.stop - some.start, M.shape[1], M.shape[1]))
            for gram, root in zip(grams, roots[some], strict=True):
                weighted = M * root[:, None]
                np.matmul(weighted.T, weighted, out=gram)
            return _inverse_roots(grams)

        parts = self._chunks.over(len(roots), len(roots)).each(part)
        return np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts])

    def _plain(self) -> Array:
        M, d = self._M, self._d
        (states, rank), lines = M.shape, d.shape[1]

        def part(some: slice) -> Array:
            columns = np.matmul(self._inverse[some] * self._scale[some, None, :], M.T)
            columns *= d.T[some, None, :]
            flat = columns.reshape(-1, states)
            value: Array = flat.T @ flat
            return np.negative(value, out=value)

        return self._chunks.over(lines, max(1, STACK // max(1, states * rank))).total(part)

    def _by_classes(self, partition: Partition) -> Array:
        d, X, h = self._d[partition.order], partition.rest, partition.share
        (states, rank), lines = X.shape, d.shape[1]
        E = partition.sums(d)  # classes × lines

        @np.errstate(all="ignore")
        def part(some: slice) -> Array:
            here, e = d[:, some], E[:, some]
            count = here.shape[1]
            F = partition.sums(here[:, :, None] * X[:, None, :])  # classes × lines × rest
            Y = X[:, None, :] - partition.spread(F / e[:, :, None])
            S = np.einsum("sli,slj->lij", Y * here[:, :, None], Y)
            inverse, scale = _inverse_roots(S)
            t = -np.einsum("cli,c->li", F / e[:, :, None], h)  # of the rest: S^-1 times this
            t = np.einsum("lji,lj->li", inverse, np.einsum("lij,lj->li", inverse, t * scale)) * scale
            of_classes = (h[:, None] - np.einsum("cli,li->cl", F, t)) / e
            w = partition.spread(of_classes) + X @ t.T
            w *= here / np.sqrt(h @ of_classes)
            Y *= here[:, :, None]
            flat = np.matmul(Y.transpose(1, 0, 2) * scale[:, None, :], inverse.transpose(0, 2, 1))
            flat = flat.transpose(1, 0, 2).reshape(states, count * rank)
            value: Array = w @ w.T
            value -= flat @ flat.T
            return value

        found = self._chunks.over(lines, max(1, STACK // (2 * states * (rank + 1)))).total(part)
        for a, b, e in zip(partition.bounds[:-1], partition.bounds[1:], E, strict=True):
            with np.errstate(all="ignore"):
                found[a:b, a:b] -= (d[a:b] / e) @ d[a:b].T
        result = np.empty_like(found)
        result[partition.order[:, None], partition.order] = found
        return result

    def _gram_solved(self, x: Array) -> Array:
        half = np.einsum("lij,lj->li", self._inverse, x * self._scale)
        value: Array = np.einsum("lji,lj->li", self._inverse, half) * self._scale
        return value

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        M, d = self._M, self._d
        wanted = column_gap - self._chunks.total(lambda rows: g[rows].T @ M[rows])
        first = self._gram_solved(wanted)
        rhs = row_gap - g.sum(axis=1) - np.einsum("sl,sl->s", d, M @ first.T)
        dlam = self._factor.solve(rhs)
        dnu = first - self._gram_solved((d * dlam[:, None]).T @ M)
        left = column_gap - (g + d * (dlam[:, None] + M @ dnu.T)).T @ M  # one step of refinement for the lines
        return dlam, dnu + self._gram_solved(left)


def _inverse_roots(matrices: Array) -> tuple[Array, Array]:
    """R and scales c with (c R' R c) the inverse of each positive definite matrix, damped as far as needed."""
    rank = matrices.shape[-1]
    diagonal = np.einsum("lii->li", matrices)
    scale = np.zeros_like(diagonal)
    np.divide(1, np.sqrt(np.abs(diagonal)), out=scale, where=diagonal > 0)
    unit = matrices * scale[:, :, None] * scale[:, None, :]
    damping, eye = RIDGE, np.eye(rank)
    while True:
        unit[:, np.arange(rank), np.arange(rank)] = 1 + damping
        try:
            return np.linalg.solve(np.linalg.cholesky(unit), np.broadcast_to(eye, unit.shape)), scale
        except np.linalg.LinAlgError:
            if damping > 1:
                raise
            damping *= 100


def elimination(M: Array, d: Array, weight: Array, chunks: Chunks, partition: Partition | None) -> Elimination:
    """The Newton matrix, factorised by the elimination that takes less work; weights are those of the lines."""
    if lines_first(len(M), d.shape[1], M.shape[1], partition):
        return LinesFirst(M, d, chunks, partition)
    return StatesFirst(M, d, int(weight.argmax()), chunks)


def lines_first(states: int, lines: int, rank: int, partition: Partition | None) -> bool:
    """Whether eliminating the lines takes less work: products to build the Schur complement, and its factorisation."""
    left = rank if partition is None else min(rank, partition.rest.shape[1] + 1)
    by_states = states * (lines * rank) ** 2 + (lines * rank) ** 3 / 3
    return states**2 * (lines * left + rank) + states**3 / 3 < by_states


def whiten(p: Array, M: Array) -> tuple[Array, Array]:
    """Return ``(M @ T, T)`` with columns orthonormal under ``p``; dependent ones dropped."""
    if M.shape[1] == 0:
        return M, np.zeros((0, 0))
    root = np.sqrt(p / p.sum())[:, None] * M
    size = np.linalg.norm(root, axis=0)
    scale = np.where(size > 0, size, 1)
    _, values, right = np.linalg.svd(root / scale, full_matrices=False)
    keep = values > RANK_TOLERANCE * max(1.0, values[0])
    T = (right[keep] / values[keep, None]).T / scale[:, None]
    return np.ascontiguousarray(M @ T), T


@dataclass(frozen=True)
class Basis:
    """Equations made ready for Newton steps: on all states but negligible ones, orthonormal under p, with their partition.

    Multipliers of the given equations are `white` ones times `back` transposed.
    """

    main: NDArray[np.bool_]
    white: Array
    back: Array
    partition: Partition | None

    @classmethod
    def of(cls, p: Array, M: Array) -> Basis:
        """For these masses and equations."""
        main = main_states(p, NEGLIGIBLE)
        white, back = whiten(p[main], M[main])
        return cls(main, white, back, finest(p[main], M[main]))


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
