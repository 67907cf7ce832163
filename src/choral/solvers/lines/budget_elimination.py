"""Newton steps within budgets: the system that says how multipliers move, eliminated in the order of least work.

Rows H are those of groups that stay private, and of the values of groups with a budget. With masses that move by
g_l + d_l (dλ + H dν_l), what they see of that is o_l = b_l + Hᵀ (d_l (dλ + H dν_l)), b_l = Hᵀ g_l. Sums over the lines and
the o_l of private rows are given; so is dν_l + J_l o_l for values. With J = K Kᵀ, and K = 1 on private rows, dν_l is what
values are given and K_l y_l. What is left is symmetric and positive definite: lines first a row per state, states first one
per y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from choral.problem.kernel import Floats
from choral.solvers.lines.chunks import Chunks
from choral.solvers.lines.elimination import STACK
from choral.solvers.lines.factors import Cholesky, inverse_roots, spread_over_lines

SPREAD, ONE = 50.0, 2.0
"""Products in the time that it takes to write down what a class and a state have in common on one line, and to add up what
two states have: numbers are read and written for each, where products of matrices stay in a cache."""
PORTION = 8
"""Classes that a thread takes at once: the first have most states after them."""
ROUNDED = 1e-9
"""By less than this the masses of a group's values differ from their line's by rounding only."""


def terms(states: int, width: int, classes: int) -> float:
    """What two states have in common on one line takes so many products: by classes, or by as many columns as there are."""
    return min(float(width), ONE + SPREAD * classes / states)


def work(states: int, lines: int, width: int, classes: int) -> tuple[float, float]:
    """Products of a factorisation, lines first and states first."""
    rows = float(lines * width)
    return states**2 * (lines * terms(states, width, classes) + states / 3), rows**2 * (states + rows / 3)


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


@dataclass(frozen=True)
class Alike:
    """H, and its rows, each once, of classes of states that have the same: class c is at `bounds[c]:bounds[c + 1]`."""

    H: Floats
    rows: Floats
    bounds: NDArray[np.int64]

    @classmethod
    def of(cls, H: Floats) -> Alike:
        """Where alike states are next to one another."""
        first = np.flatnonzero(np.append(True, (H[1:] != H[:-1]).any(axis=1)))
        return cls(H, H[first], np.append(first, len(H)))

    @property
    def many(self) -> bool:
        """Whether so many states are alike that sums over classes take less time than products."""
        states, width = self.H.shape
        return bool(terms(states, width, len(self.rows)) < width)

    def sums(self, x: Floats) -> Floats:
        """Over the states of every class."""
        return np.add.reduceat(x, self.bounds[:-1], axis=0)

    def spread(self, x: Floats) -> Floats:
        """One row per class as one per state."""
        return np.repeat(x, np.diff(self.bounds), axis=0)

    def seen(self, x: Floats) -> Floats:
        """xᵀ H."""
        return np.asarray(self.sums(x).T @ self.rows if self.many else x.T @ self.H)

    def of_states(self, nu: Floats) -> Floats:
        """H νᵀ."""
        return self.spread(self.rows @ nu.T) if self.many else np.asarray(self.H @ nu.T)


class BudgetElimination(ABC):
    """How λ and ν move."""

    def __init__(self, alike: Alike, d: Floats, K: Floats, private: int, chunks: Chunks, refined: bool = True) -> None:
        self.alike, self.d, self.K, self.private, self.chunks, self.refined = alike, d, K, private, chunks, refined
        self.line, self.column = np.nonzero(K.any(axis=1))  # of every y

    def sums(self, weights: Floats) -> Floats:
        """Hᵀ diag(w_l) H for each line."""
        rows, of_classes = self.alike.rows, self.alike.sums(weights)

        def part(some: slice) -> Floats:
            return np.array([(rows * weight[:, None]).T @ rows for weight in of_classes.T[some]])

        lines = weights.shape[1]
        return np.concatenate(self.chunks.over(lines, lines).each(part))

    def given(self) -> Floats:
        """What K y is added to by itself, on the diagonal: where values are given, and not where private rows are."""
        return np.diag((np.arange(self.K.shape[1]) >= self.private).astype(np.float64))

    def seen(self, lam: Floats, nu: Floats) -> Floats:
        """Hᵀ (d_l (λ + H ν_l)) for every line."""
        return self.alike.seen(self.d * (lam[:, None] + self.alike.of_states(nu)))

    def pulled(self, nu: Floats) -> Floats:
        """Σ_l d_l H ν_l for every state."""
        return np.asarray(np.einsum("sl,sl->s", self.d, self.alike.of_states(nu)))

    def solve(self, of_states: Floats, b: Floats, of_lines: Floats) -> tuple[Floats, Floats, Floats]:
        """λ, ν and y for these sums over lines and these rows; with one step of refinement where floats lose digits."""
        nu = of_lines.copy()
        nu[:, : self.private] = 0.0
        right = self.back(of_lines - nu - b)
        lam, nu, y = self.moved(of_states, nu, right)
        if not self.refined:
            return lam, nu, y
        left = right - self.back(self.seen(lam, nu)) - self.given().diagonal() * y
        missing = of_states - self.d @ np.ones(len(nu)) * lam - self.pulled(nu)
        more = self.moved(missing, np.zeros_like(nu), left)
        return lam + more[0], nu + more[1], y + more[2]

    @abstractmethod
    def moved(self, of_states: Floats, nu: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        """The same from multipliers on, to which K_l y_l is still to be added, where y_l and what rows see make `right`."""

    def back(self, x: Floats) -> Floats:
        """Kᵀ x for every line."""
        return np.asarray(np.einsum("lij,li->lj", self.K, x))

    def by(self, y: Floats) -> Floats:
        """K y for every line."""
        return np.asarray(np.einsum("lij,lj->li", self.K, y))


class LinesFirst(BudgetElimination):
    """The Schur complement has a row per state: Σ_l diag(d_l) - d_l H B_l Hᵀ d_l, B_l = K (1 + Kᵀ Hᵀ d_l H K)⁻¹ Kᵀ.

    For states of two classes that is Σ_l d_sl d_tl times what is the same for all of them: one term for each line, where
    products take as many as H has columns.
    """

    def __init__(self, alike: Alike, d: Floats, K: Floats, private: int, chunks: Chunks, refined: bool = True) -> None:
        super().__init__(alike, d, K, private, chunks, refined)
        self._A = self.sums(d)
        root, scale = inverse_roots(self.given() + np.matmul(K.transpose(0, 2, 1), np.matmul(self._A, K)))
        self._root = root * scale[:, None, :]
        columns = np.matmul(self._root, K.transpose(0, 2, 1))
        seen = np.matmul(alike.rows, columns.transpose(0, 2, 1))  # a row per class: B_l itself would cancel
        schur = self._by_classes(seen) if alike.many else self._by_products(seen)
        every = np.arange(len(schur))
        schur[every, every] += d.sum(axis=1)
        self._factor = Cholesky(schur, chunks)

    def _by_products(self, seen: Floats) -> Floats:
        def part(some: slice) -> Floats:
            found = self.alike.spread(seen[some].transpose(1, 0, 2)) * self.d[:, some, None]
            flat = found.reshape(len(found), -1)
            value: Floats = flat @ flat.T
            return np.negative(value, out=value)

        at_once = STACK // (len(self.d) * seen.shape[2])
        return self.chunks.over(len(seen), max(1, at_once)).total(part)

    def _by_classes(self, seen: Floats) -> Floats:
        d, bounds, sizes = self.d, self.alike.bounds, np.diff(self.alike.bounds)
        by_line, schur = np.ascontiguousarray(d.T), np.empty((len(d), len(d)))

        def part(some: slice) -> None:
            for c in range(some.start, some.stop):
                here, after = slice(bounds[c], bounds[c + 1]), slice(bounds[c], None)
                weights = np.repeat(np.matmul(seen[:, c:], seen[:, c, :, None])[:, :, 0], sizes[c:], axis=1)
                weights *= by_line[:, after]
                schur[here, after] = -(d[here] @ weights)
                schur[after, here] = schur[here, after].T

        self.chunks.over(len(sizes), PORTION).each(part)
        return schur

    def _y(self, right: Floats) -> Floats:
        """What solves a line's own system."""
        half = np.einsum("lij,lj->li", self._root, right)
        return np.asarray(np.einsum("lij,li->lj", self._root, half))

    def moved(self, of_states: Floats, nu: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        right = right - self.back(np.einsum("lts,ls->lt", self._A, nu))
        lam = self._factor.solve(of_states - self.pulled(nu + self.by(self._y(right))))
        y = self._y(right - self.back(self.alike.seen(self.d * lam[:, None])))
        return lam, nu + self.by(y), y


class StatesFirst(BudgetElimination):
    """The Schur complement has a row per y: 1 + Kᵀ Hᵀ (diag(d_l) - d_l d_m / Σ d) H K over all pairs of lines."""

    def __init__(self, alike: Alike, d: Floats, K: Floats, private: int, chunks: Chunks, refined: bool = True) -> None:
        super().__init__(alike, d, K, private, chunks, refined)
        self._total, own = spread_over_lines(d)
        columns = alike.rows @ K[self.line, :, self.column].T
        share = d / np.sqrt(self._total)[:, None]
        label = np.repeat(np.arange(len(columns)), np.diff(alike.bounds))

        def part(some: slice) -> Floats:
            found = columns[label[some]] * share[some][:, self.line]
            product: Floats = found.T @ found
            return np.negative(product, out=product)

        schur = chunks.over(len(d), max(1, STACK // columns.shape[1])).total(part)
        inside = self.given() + np.matmul(K.transpose(0, 2, 1), np.matmul(self.sums(own), K))
        heaviest = int(d.sum(axis=0).argmax())  # multipliers of private rows may move together: here they stay
        own_rows = np.arange(private)
        inside[heaviest, own_rows, own_rows] += 1
        bounds = np.searchsorted(self.line, np.arange(len(K) + 1))
        for block, a, b in zip(inside, bounds, bounds[1:], strict=False):
            schur[a:b, a:b] = block[np.ix_(self.column[a:b], self.column[a:b])]
        self._factor = Cholesky(schur, chunks)

    def moved(self, of_states: Floats, nu: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        lam = (of_states - self.pulled(nu)) / self._total
        right = right - self.back(self.seen(lam, nu))
        y = np.zeros_like(nu)
        y[self.line, self.column] = self._factor.solve(right[self.line, self.column])
        nu = nu + self.by(y)
        return (of_states - self.pulled(nu)) / self._total, nu, y
