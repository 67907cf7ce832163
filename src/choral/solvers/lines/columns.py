"""What multipliers of lines do to states: equations, whose rows states may share, and what budgets leave of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choral.solvers.lines.chunks import Array, Chunks

SPREAD, ONE = 50.0, 2.0
"""Products in the time that it takes to write down what a class and a state have in common on one line, and to add up what
two states have: numbers are read and written for each, where products of matrices stay in a cache."""
RANK_TOLERANCE = 1e-12
"""Columns of equations below this (scaled) are taken as dependent; what is private is decided in integers, elsewhere."""


def whiten(p: Array, M: Array) -> tuple[Array, Array]:
    """Return ``(M @ T, T)`` with columns orthonormal under ``p``; dependent ones dropped."""
    if M.shape[1] == 0:
        return M, np.zeros((0, 0))
    root = np.sqrt(p / p.sum())[:, None] * M
    size = np.linalg.norm(root, axis=0)
    scale = np.where(size > 0, size, 1)
    _, values, right = np.linalg.svd(np.linalg.qr(root / scale, mode="r"), full_matrices=False)
    keep = values > RANK_TOLERANCE * max(1.0, values[0])
    T = (right[keep] / values[keep, None]).T / scale[:, None]
    return np.ascontiguousarray(M @ T), T


def alike_terms(states: int, width: int, classes: int) -> float:
    """What two states have in common on one line takes so many products, where states of a class are alike."""
    share = classes / states
    return ONE + SPREAD * share + width * share**2


@dataclass(frozen=True)
class Classes:
    """States that follow one another: class c is at `bounds[c]:bounds[c + 1]`."""

    bounds: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Of the classes."""
        return np.diff(self.bounds)

    def sums(self, x: Array) -> Array:
        """Over the states of every class."""
        return np.add.reduceat(x, self.bounds[:-1], axis=0)

    def spread(self, x: Array) -> Array:
        """One row per class as one per state."""
        return np.repeat(x, self.sizes, axis=0)


@dataclass(frozen=True)
class Partition(Classes):
    """Classes of states whose sums are among the equations, and the equations that are left.

    `mass` is that of each state, 1 in all, `share` that of each class; the columns of `rest` are orthonormal under p and sum
    to zero over every class, so the row space of classes and rest is that of all equations and the row of ones.
    """

    mass: Array
    share: Array
    rest: Array

    @classmethod
    def of(cls, p: Array, others: Array, label: NDArray[np.int64]) -> Partition:
        """Of states in the order of their labels, beside other equations."""
        mass, classes = p / p.sum(), Classes(np.flatnonzero(np.diff(label, prepend=-1, append=-1)))
        share = classes.sums(mass)
        others = others - classes.spread(classes.sums(mass[:, None] * others) / share[:, None])
        return cls(classes.bounds, mass, share, whiten(mass, others)[0])


@dataclass(frozen=True)
class Alike(Classes):
    """Equations M, and their rows, each once, of classes of states that have the same."""

    M: Array
    rows: Array

    @classmethod
    def of(cls, M: Array, other: Array | None = None) -> Alike:
        """Where alike states are next to one another; of another matrix that is alike where this one is, if there is one."""
        first = np.flatnonzero(np.append(np.ones(min(1, len(M)), dtype=bool), (M[1:] != M[:-1]).any(axis=1)))
        M = M if other is None else other
        return cls(np.append(first, len(M)), M, M[first])

    @property
    def many(self) -> bool:
        """Whether so many states are alike that sums over classes take less time than products."""
        states, width = self.M.shape
        return bool(alike_terms(states, width, len(self.rows)) < width)

    def grams(self, weights: Array, chunks: Chunks) -> Array:
        """Mᵀ diag(w_l) M for each line."""
        rows, of_classes = (self.rows, self.sums(weights)) if self.many else (self.M, weights)
        columns, roots = np.ascontiguousarray(rows.T), np.sqrt(of_classes.T)

        def part(some: slice) -> Array:
            found = np.empty((some.stop - some.start, len(columns), len(columns)))
            for gram, root in zip(found, roots[some], strict=True):
                weighted = columns * root
                np.matmul(weighted, weighted.T, out=gram)
            return found

        return np.concatenate(chunks.over(len(roots), len(roots)).each(part))


@dataclass(frozen=True)
class Columns:
    """The unknowns of a line: multipliers of equations, or y with ν = K_l y where budgets say what ν is besides.

    Of the unknowns the first `private` belong to equations; the others have one on the diagonal beside what states give.
    """

    alike: Alike
    private: int
    K: Array | None = None

    @property
    def given(self) -> Array:
        """What unknowns have on the diagonal by themselves."""
        return (np.arange(self.M.shape[1]) >= self.private).astype(np.float64)

    @property
    def M(self) -> Array:
        """The equations."""
        return self.alike.M

    def by(self, y: Array) -> Array:
        """ν for every line."""
        return y if self.K is None else np.asarray(np.einsum("lij,lj->li", self.K, y))

    def back(self, x: Array) -> Array:
        """Kᵀ x for every line."""
        return x if self.K is None else np.asarray(np.einsum("lij,li->lj", self.K, x))

    def turned(self, x: Array) -> Array:
        """Kᵀ X for every line, where X is one matrix for all or one for each."""
        return x if self.K is None else np.asarray(np.matmul(self.K.transpose(0, 2, 1), x))

    def grams(self, weights: Array, chunks: Chunks) -> Array:
        """What the unknowns of each line have to do with one another, where states have these weights."""
        inside = self.turned(self.alike.grams(weights, chunks))
        return np.diag(self.given) + (inside if self.K is None else np.matmul(inside, self.K))
