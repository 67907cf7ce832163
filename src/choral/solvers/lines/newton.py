"""The linear algebra of a Newton step: states in pieces over threads, and two orders of elimination.

Masses move by ``d (λ + M ν)``, where every line has multipliers ν_l = K_l y_l (`Columns`: K is one without budgets). Sums
over the lines are given for every state, and Kᵀ Mᵀ of what moves for every line, where y is added for those unknowns that
belong to no equation. States first leaves a system of lines × columns, lines first one of states × states. (`classes` and
`indicators` are states first, with less work where states and equations have more of a structure.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.columns import Columns, Partition
from choral.solvers.lines.factors import Cholesky, inverse_roots

STACK = 2**25
"""Numbers in the stack of columns that one product takes at once: 256 MB. Smaller ones spend their time adding up results."""
PORTION = 16
"""Classes that a thread takes at once: the first have most states after them."""


class Elimination(ABC):
    """A factorised Newton matrix."""

    def __init__(self, columns: Columns, d: Array, chunks: Chunks, refined: bool = True) -> None:
        self.columns, self.d, self.chunks, self.refined = columns, d, chunks, refined

    @abstractmethod
    def roughly(self, of_states: Array, of_lines: Array) -> tuple[Array, Array]:
        """λ and y for these sums over lines, and these of columns with states."""

    def solve(self, of_states: Array, of_lines: Array) -> tuple[Array, Array]:
        """The same, with one step of refinement where floats lose digits."""
        lam, y = self.roughly(of_states, of_lines)
        if not self.refined:
            return lam, y
        sums, seen = self.moved(lam, self.columns.by(y))
        missing = of_lines - self.columns.back(seen) - self.columns.given * y
        more, further = self.roughly(of_states - sums, missing)
        return lam + more, y + further

    def moved(self, lam: Array, nu: Array) -> tuple[Array, Array]:
        """Sums over lines of d (λ + M ν), and Mᵀ of that for every line."""
        sums, M = np.empty_like(lam), self.columns.M

        def part(rows: slice) -> Array:
            moves = M[rows] @ nu.T
            moves += lam[rows, None]
            moves *= self.d[rows]
            sums[rows] = moves.sum(axis=1)
            return moves.T @ M[rows]

        return sums, self.chunks.total(part)

    def seen(self, lam: Array) -> Array:
        """Fᵀ of d λ for every line."""
        return self.columns.back(
            self.chunks.total(lambda rows: (self.d[rows] * lam[rows, None]).T @ self.columns.M[rows])
        )

    def pulled(self, y: Array) -> Array:
        """Sums over lines of d F y."""
        nu = self.columns.by(y)
        parts = self.chunks.each(lambda rows: np.einsum("sl,sl->s", self.d[rows], self.columns.M[rows] @ nu.T))
        return np.concatenate(parts)


class WithoutStates(Elimination):
    """After the states are eliminated: `unknowns` solves for those of the lines.

    Multipliers of equations may move together, with those of states: those of the reference line are fixed.
    """

    def __init__(self, columns: Columns, d: Array, chunks: Chunks, refined: bool = True) -> None:
        super().__init__(columns, d, chunks, refined)
        self.reference = int(d.sum(axis=0).argmax())
        self.free = np.arange(d.shape[1]) != self.reference
        self.total, self.own = np.empty(len(d)), np.empty_like(d)

        def spread(rows: slice) -> None:
            self.total[rows], self.own[rows] = spread_over_lines(d[rows])

        chunks.each(spread)

    @abstractmethod
    def unknowns(self, wanted: Array) -> Array:
        """Of all lines, where what columns see is this after the states are eliminated."""

    def roughly(self, of_states: Array, of_lines: Array) -> tuple[Array, Array]:
        lam = of_states / self.total
        y = self.unknowns(of_lines - self.seen(lam))
        return lam - self.pulled(y) / self.total, y


class StatesFirst(WithoutStates):
    """The Schur complement Kᵀ (Σ_s M_s M_s' ⊗ (diag(d_s) - d_s d_s' / D_s)) K has a row per line and column."""

    def __init__(self, columns: Columns, d: Array, chunks: Chunks, refined: bool = False) -> None:
        super().__init__(columns, d, chunks, refined)
        lines, width, K = d.shape[1], columns.M.shape[1], columns.K
        self._live = np.ones((lines, width), dtype=bool)
        if K is not None:
            self._live[:] = K.any(axis=1)
        self._live[self.reference, : columns.private] = False
        used = self._live.any(axis=1)
        among, count = self._live[used], int(used.sum())
        turned = None if K is None else K[used].transpose(0, 2, 1)

        def schur(rows: slice) -> Array:
            share = np.ascontiguousarray((d[rows][:, used] / np.sqrt(self.total[rows])[:, None]).T)[:, None, :]
            mt = np.ascontiguousarray(columns.M[rows].T)
            cube = chunks.space.own("cube", count, width, mt.shape[1])
            if turned is None:
                np.multiply(share, mt, out=cube)
            else:
                np.multiply(share, np.matmul(turned, mt, out=cube), out=cube)
            spread = cube.reshape(count * width, mt.shape[1])
            spread = spread if among.all() else spread[among.ravel()]
            block: Array = np.matmul(spread, spread.T, out=chunks.space.own("block", len(spread), len(spread)))
            return np.negative(block, out=block)

        found = chunks.total(schur)
        ends = np.cumsum(self._live.sum(axis=1))
        for inside, live, end in zip(columns.grams(self.own, chunks), self._live, ends, strict=True):
            own = slice(end - live.sum(), end)
            found[own, own] = inside[np.ix_(live, live)]  # nothing cancels in these
        del self.own  # of very many states it is as large as all masses
        self._factor = Cholesky(found, chunks)

    def unknowns(self, wanted: Array) -> Array:
        y = np.zeros_like(wanted)
        y[self._live] = self._factor.solve(wanted[self._live])
        return y


class LinesFirst(Elimination):
    """The Schur complement has a row per state: Σ_l diag(d_l) - d_l F_l G_l^-1 F_l' d_l, F = M K, G_l = F_l' d_l F_l + E.

    For alike states that is Σ_l d_sl d_tl times what is the same for all of their classes: one term for each line, where
    products take as many as there are columns. With a partition A (one column per class), rest X and shares h, M G^-1 M' is
    A E^-1 A' + Y S^-1 Y' - w w'/eta: E = A'dA is diagonal, Y = X - A E^-1 A'dX, S = Y'dY, and w = [A X] t, eta = [h 0]·t
    for the t with [A X]'d[A X] t = [h 0]: as many columns as are left, and one more. The null space is the span of the
    equations (gauge), and is filled in.
    """

    def __init__(
        self, columns: Columns, d: Array, chunks: Chunks, refined: bool = True, partition: Partition | None = None
    ) -> None:
        super().__init__(columns, d, chunks, refined)
        root, scale = inverse_roots(columns.grams(d, chunks))
        self._root = root * scale[:, None, :]
        turned = self._root if columns.K is None else np.matmul(self._root, columns.K.transpose(0, 2, 1))
        schur = None if partition is None else self._by_partition(partition)
        if schur is None or not np.isfinite(schur).all():  # a class without weight, as floats have it
            schur = self._by_classes(turned) if columns.alike.many else self._by_products(turned)
        index, total = np.arange(len(schur)), d.sum(axis=1)
        schur[index, index] += total
        weight = np.sqrt(total)[:, None]
        gauge, _ = np.linalg.qr(columns.M[:, : columns.private] * weight)
        gauge *= weight
        schur += gauge @ gauge.T
        self._factor = Cholesky(schur, chunks)

    def _by_products(self, turned: Array) -> Array:
        M, by_line = self.columns.M, np.ascontiguousarray(self.d.T)

        def part(some: slice) -> Array:
            found = np.matmul(turned[some], M.T)
            found *= by_line[some, None, :]
            flat = found.reshape(-1, len(M))
            value: Array = flat.T @ flat
            return np.negative(value, out=value)

        return self.chunks.over(len(turned), max(1, STACK // max(1, M.size))).total(part)

    def _by_classes(self, turned: Array) -> Array:
        alike, d = self.columns.alike, self.d
        bounds, sizes = alike.bounds, alike.sizes
        by_line, schur = np.ascontiguousarray(d.T), np.empty((len(d), len(d)))
        seen = np.matmul(alike.rows, turned.transpose(0, 2, 1))  # a row per class: products of these do not cancel

        def part(some: slice) -> None:
            common = np.matmul(seen[:, some], seen[:, some.start :].transpose(0, 2, 1))
            for c in range(some.start, some.stop):
                here, after = slice(bounds[c], bounds[c + 1]), slice(bounds[c], None)
                weights = np.repeat(common[:, c - some.start, c - some.start :], sizes[c:], axis=1)
                weights *= by_line[:, after]
                schur[here, after] = -(d[here] @ weights)
                schur[after, here] = schur[here, after].T

        self.chunks.over(len(sizes), PORTION).each(part)
        return schur

    def _by_partition(self, partition: Partition) -> Array:
        d, X, h = self.d, partition.rest, partition.share
        E = partition.sums(d)  # classes × lines

        @np.errstate(all="ignore")
        def part(some: slice) -> Array:
            here, e = d[:, some], E[:, some]
            F = partition.sums(here[:, :, None] * X[:, None, :])  # classes × lines × rest
            Y = X[:, None, :] - partition.spread(F / e[:, :, None])
            root, scale = inverse_roots(np.matmul((Y * here[:, :, None]).transpose(1, 2, 0), Y.transpose(1, 0, 2)))
            root *= scale[:, None, :]
            t = -np.einsum("lji,lj->li", root, np.einsum("lij,clj,c->li", root, F / e[:, :, None], h))
            of_classes = (h[:, None] - np.einsum("cli,li->cl", F, t)) / e
            w = partition.spread(of_classes) + X @ t.T
            w *= here / np.sqrt(h @ of_classes)
            Y *= here[:, :, None]
            flat = np.matmul(Y.transpose(1, 0, 2), root.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(len(d), -1)
            value: Array = w @ w.T
            value -= flat @ flat.T
            return value

        found = self.chunks.over(d.shape[1], max(1, STACK // (2 * (X.size + len(d))))).total(part)
        for a, b, e in zip(partition.bounds[:-1], partition.bounds[1:], E, strict=True):
            with np.errstate(all="ignore"):
                found[a:b, a:b] -= (d[a:b] / e) @ d[a:b].T
        return found

    def _of_lines(self, x: Array) -> Array:
        """What solves a line's own system."""
        half = np.einsum("lij,lj->li", self._root, x)
        return np.asarray(np.einsum("lij,li->lj", self._root, half))

    def roughly(self, of_states: Array, of_lines: Array) -> tuple[Array, Array]:
        lam = self._factor.solve(of_states - self.pulled(self._of_lines(of_lines)))
        return lam, self._of_lines(of_lines - self.seen(lam))


def spread_over_lines(d: Array) -> tuple[Array, Array]:
    """D = Σ_l d_l of each state, and d_l (D - d_l) / D for each line; nothing cancels where one line has nearly all."""
    count = np.arange(len(d))
    top = d.argmax(axis=1)
    rest = d.copy()
    rest[count, top] = 0
    below = rest.sum(axis=1)
    total = below + d[count, top]
    np.subtract(total[:, None], d, out=rest)
    rest[count, top] = below
    rest *= d
    rest /= total[:, None]
    return total, rest
