"""Newton steps within budgets: the system that says how multipliers move, eliminated in the order of least work.

Rows H are those of groups that stay private, and of the values of groups with a budget. With masses that move by
g_l + d_l (dλ + H dν_l), what they see of that is o_l = b_l + Hᵀ (d_l (dλ + H dν_l)), b_l = Hᵀ g_l. Sums over the lines and
the o_l of private rows are given; so is dν_l + J_l o_l for values. With J = K Kᵀ, and K = 1 on private rows, dν_l is what
values are given and K_l y_l. What is left is symmetric and positive definite: lines first a row per state, states first one
per y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.chunks import Chunks
from choral.solvers.lines.elimination import STACK
from choral.solvers.lines.factors import Cholesky, inverse_roots, spread_over_lines

ROUNDED = 1e-9
"""By less than this the masses of a group's values differ from their line's by rounding only."""


def work(states: int, lines: int, width: int) -> tuple[float, float]:
    """Products of a factorisation, lines first and states first."""
    rows = float(lines * width)
    return states**2 * (rows + states / 3), rows**2 * (states + rows / 3)


def roots(u: Floats, m: Floats, prices: Floats, sizes: list[int], K: Floats) -> None:
    """Write into K the block of values with J = K Kᵀ = price (diag(1 / u) - 1 1ᵀ / m) for every group of so many.

    One column of a group is along the root of u, and is nothing where u sums to m.
    """
    for a, b in pairwise(np.cumsum([0, *sizes]).tolist()):
        v = np.sqrt(u[:, a:b] / m[:, None])
        length = np.linalg.norm(v, axis=1)
        along = 1 - length**2
        h = v / length[:, None]
        h[:, 0] += 1  # a reflection that takes the first direction to that of v
        mirror = np.eye(b - a) - 2 * h[:, :, None] * h[:, None, :] / (h * h).sum(axis=1)[:, None, None]
        mirror[:, :, 0] *= np.sqrt(np.where(along > ROUNDED, along, 0.0))[:, None]
        mirror *= np.sqrt(prices[a:b] / u[:, a:b])[:, :, None]
        K[:, a:b, a:b] = mirror


class BudgetElimination(ABC):
    """How λ and ν move."""

    def __init__(self, H: Floats, products: Floats | None, d: Floats, K: Floats, private: int, chunks: Chunks) -> None:
        self.H, self.products, self.d, self.K, self.private, self.chunks = H, products, d, K, private, chunks
        self.line, self.column = np.nonzero(K.any(axis=1))  # of every y

    def sums(self, weights: Floats) -> Floats:
        """Hᵀ diag(w_l) H for each line."""
        lines, width, _ = self.K.shape
        if self.products is not None:
            return np.asarray((weights.T @ self.products).reshape(lines, width, width))

        def part(some: slice) -> Floats:
            return np.array([(self.H * weights[:, line, None]).T @ self.H for line in range(lines)[some]])

        return np.concatenate(self.chunks.over(lines, lines).each(part))

    def given(self) -> Floats:
        """What K y is added to by itself, on the diagonal: where values are given, and not where private rows are."""
        return np.diag((np.arange(self.K.shape[1]) >= self.private).astype(np.float64))

    def of_columns(self, weights: Floats, columns: Floats, states: slice, ys: slice) -> Floats:
        """w_l H times columns of their lines: a row per state, of these."""
        found = self.H[states] @ columns[ys].T
        found *= weights[states, self.line[ys]]
        return np.asarray(found)

    def seen(self, lam: Floats, nu: Floats) -> Floats:
        """Hᵀ (d_l (λ + H ν_l)) for every line."""
        return np.asarray((self.d * (lam[:, None] + self.H @ nu.T)).T @ self.H)

    def pulled(self, nu: Floats) -> Floats:
        """Σ_l d_l H ν_l for every state."""
        return np.asarray(np.einsum("sl,sl->s", self.d, self.H @ nu.T))

    def solve(self, of_states: Floats, b: Floats, of_lines: Floats) -> tuple[Floats, Floats, Floats]:
        """λ, ν and y for these sums over lines and these rows."""
        nu = of_lines.copy()
        nu[:, : self.private] = 0.0
        wanted = of_lines - nu - b
        return self.moved(of_states, nu, wanted)

    @abstractmethod
    def moved(self, of_states: Floats, nu: Floats, wanted: Floats) -> tuple[Floats, Floats, Floats]:
        """The same from multipliers on; K_l y_l is still to be added, and rows see what is wanted, less y."""

    def by(self, y: Floats) -> Floats:
        """K y for every line."""
        return np.asarray(np.einsum("lij,lj->li", self.K, y))


class LinesFirst(BudgetElimination):
    """The Schur complement has a row per state: Σ_l diag(d_l) - d_l H B_l Hᵀ d_l, B_l = K (1 + Kᵀ Hᵀ d_l H K)⁻¹ Kᵀ."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        K, d = self.K, self.d
        self._A = self.sums(d)
        root, scale = inverse_roots(self.given() + np.matmul(K.transpose(0, 2, 1), np.matmul(self._A, K)))
        self._root = root * scale[:, None, :]
        columns = np.matmul(self._root, K.transpose(0, 2, 1))[self.line, self.column]

        def part(some: slice) -> Floats:
            found = self.of_columns(d, columns, slice(None), some)
            return np.negative(found @ found.T)

        schur = self.chunks.over(len(columns), max(1, STACK // len(d))).total(part)
        every = np.arange(len(schur))
        schur[every, every] += d.sum(axis=1)
        self._factor = Cholesky(schur, self.chunks)

    def _y(self, x: Floats) -> Floats:
        """What solves a line's own system for rows that see x."""
        half = np.einsum("lij,lj->li", self._root, np.einsum("lij,li->lj", self.K, x))
        return np.asarray(np.einsum("lij,li->lj", self._root, half))

    def moved(self, of_states: Floats, nu: Floats, wanted: Floats) -> tuple[Floats, Floats, Floats]:
        wanted = wanted - np.einsum("lts,ls->lt", self._A, nu)
        lam = self._factor.solve(of_states - self.pulled(nu + self.by(self._y(wanted))))
        y = self._y(wanted - (self.d * lam[:, None]).T @ self.H)
        return lam, nu + self.by(y), y


class StatesFirst(BudgetElimination):
    """The Schur complement has a row per y: 1 + Kᵀ Hᵀ (diag(d_l) - d_l d_m / Σ d) H K over all pairs of lines."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)  # type: ignore[arg-type]
        K = self.K
        self._total, own = spread_over_lines(self.d)
        columns = K[self.line, :, self.column]
        share = self.d / np.sqrt(self._total)[:, None]

        def part(some: slice) -> Floats:
            found = self.of_columns(share, columns, some, slice(None))
            return np.negative(found.T @ found)

        schur = self.chunks.over(len(self.d), max(1, STACK // len(columns))).total(part)
        inside = self.given() + np.matmul(K.transpose(0, 2, 1), np.matmul(self.sums(own), K))
        heaviest = int(self.d.sum(axis=0).argmax())  # multipliers of private rows may move together: here they stay
        private = np.arange(self.private)
        inside[heaviest, private, private] += 1
        bounds = np.searchsorted(self.line, np.arange(len(K) + 1))
        for block, a, b in zip(inside, bounds, bounds[1:], strict=False):
            schur[a:b, a:b] = block[np.ix_(self.column[a:b], self.column[a:b])]
        self._factor = Cholesky(schur, self.chunks)

    def moved(self, of_states: Floats, nu: Floats, wanted: Floats) -> tuple[Floats, Floats, Floats]:
        lam = (of_states - self.pulled(nu)) / self._total
        right = np.einsum("lij,li->lj", self.K, wanted - self.seen(lam, nu))
        y = np.zeros_like(nu)
        y[self.line, self.column] = self._factor.solve(right[self.line, self.column])
        nu = nu + self.by(y)
        return (of_states - self.pulled(nu)) / self._total, nu, y
