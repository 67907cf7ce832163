"""The linear algebra of a Newton step: states in pieces over threads, and several orders of elimination.

States first leaves a system of lines × equations, lines first one of states × states. Most equations say that the sums over
the classes of a partition of the states (the values of a protected group) are as they should be: then lines first needs sums
over classes in place of products, and classes first (`choral.solvers.lines.classes`) leaves a system of lines × those
equations that the partition does not have. Where all equations are about sets of states, and a state is in few of them, the
system of lines × equations is a sum over pairs of sets (`choral.solvers.lines.indicators`). All solve the same system, and
the one that takes least work is taken.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.classes import ClassesFirst
from choral.solvers.lines.classes import work as work_of_classes
from choral.solvers.lines.factors import Cholesky, WithoutStates, inverse_roots, spread_over_lines
from choral.solvers.lines.indicators import ByIndicators
from choral.solvers.lines.indicators import work as work_of_indicators
from choral.solvers.lines.partition import Basis, Partition, Sizes

OVERHEAD = 2e7
"""Products that could be made in the time of the many small steps that classes and indicators take, each solve twice."""
LINES, CLASSES = 1.7, 0.65
"""What a product takes in these orders, beside one of states first, as measured on programs of 560 to 16 000 states: lines
first reads and writes more, and where states are sorted by classes blocks are small enough for a cache."""
STACK = 2**25
"""Numbers in the stack of columns that one product takes at once: 256 MB. Smaller ones spend their time adding up results."""


class Elimination(Protocol):
    """A factorised Newton matrix: ``d (lam_s + M_s . nu_l)`` with given sums."""

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        """Return ``(dlam, dnu)`` such that ``g + d (dlam + M dnu.T)`` has row sums
        ``row_gap`` and column moments ``column_gap``."""


class StatesFirst(WithoutStates):
    """Eliminates the row constraints; the Schur complement has one row per (line, column).

    ``S = sum_x M_x M_x' (x) (diag(d_x) - d_x d_x' / D_x)``, built in chunks of states.
    """

    def __init__(self, M: Array, d: Array, reference: int, chunks: Chunks) -> None:
        super().__init__(M, d, reference, chunks)
        lines, rank, free = d.shape[1], M.shape[1], self.free
        size = (lines - 1) * rank
        index = np.arange(lines - 1)

        def schur(rows: slice) -> Array:
            mt = np.ascontiguousarray(M[rows].T)
            total, rest = spread_over_lines(d[rows])
            self.total[rows] = total
            dt = np.ascontiguousarray((d[rows] / np.sqrt(total)[:, None]).T)
            count = len(total)
            cube = chunks.space.own("cube", lines - 1, rank, count)
            np.multiply(dt[free][:, None, :], mt[None, :, :], out=cube)
            spread = cube.reshape(size, count)
            block: Array = np.matmul(spread, spread.T, out=chunks.space.own("block", size, size))
            np.negative(block, out=block)
            square = (mt[:, None, :] * mt[None, :, :]).reshape(rank * rank, count)
            tiles = block.reshape(lines - 1, rank, lines - 1, rank)
            tiles[index, :, index, :] = (rest.T[free] @ square.T).reshape(lines - 1, rank, rank)
            return block

        self._factor = Cholesky(chunks.total(schur), chunks)

    def multipliers(self, wanted: Array) -> Array:
        """From the Schur complement."""
        return self._factor.solve(wanted.ravel()).reshape(wanted.shape)


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
            return inverse_roots(grams)

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
            S = np.matmul((Y * here[:, :, None]).transpose(1, 2, 0), Y.transpose(1, 0, 2))
            inverse, scale = inverse_roots(S)
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


Order = Literal["states", "lines", "classes", "indicators"]


def elimination(basis: Basis, d: Array, weight: Array, chunks: Chunks) -> Elimination:
    """The Newton matrix, factorised in the order that takes least work; weights are those of the lines."""
    M, order, reference = basis.white, least_work(basis.sizes, d.shape[1]), int(weight.argmax())
    if order == "classes" and basis.partition is not None:
        return ClassesFirst(M, d, reference, chunks, basis.partition)
    if order == "indicators" and basis.indicators is not None:
        return ByIndicators(M, d, reference, chunks, basis.indicators)
    if order == "lines":
        return LinesFirst(M, d, chunks, basis.partition)
    return StatesFirst(M, d, reference, chunks)


def least_work(sizes: Sizes, lines: int) -> Order:
    """The order that takes least work."""
    work = works(sizes, lines)
    return min(work, key=lambda order: work[order])


def works(sizes: Sizes, lines: int) -> dict[Order, float]:
    """What every order takes to build its Schur complement and to factorise it, in products of states first."""
    states, rank = sizes.states, sizes.rank
    left = min(rank, sizes.rest + 1) if sizes.classes else rank
    work: dict[Order, float] = {
        "states": states * (lines * rank) ** 2 + (lines * rank) ** 3 / 3,
        "lines": LINES * (states**2 * (lines * left + rank) + states**3 / 3),
    }
    if sizes.classes:
        work["classes"] = OVERHEAD + CLASSES * work_of_classes(states, lines, sizes.classes, sizes.rest)
    if sizes.pairs:
        work["indicators"] = OVERHEAD + work_of_indicators(sizes.entries, lines, rank)
    return work


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
