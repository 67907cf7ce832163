"""Newton steps by classes: states and the multipliers of their class are eliminated class by class.

Classes partition the states; among the equations are those of their sums. Given the multipliers of the equations that are
left, states of different classes have nothing to do with one another: in class c, with its states eliminated, one matrix
over lines is left, T_c = Σ_s diag(d_s) - d_s d_s' / D_s. What couples the classes is the rest X of the equations, and that
the mass m_l of a line is free: sums over classes are share_c m_l. With T_c^-1 = R_c' R_c, G the stack of R_c Q_c (Q_c couples
class c with X) and J an orthonormal basis of the stack of share_c R_c, the multipliers of X solve V - G'(1 - J J')G, a system
of lines × columns of X (V is that of `StatesFirst` for X), where others are of lines × all equations or states × states.
"""

from __future__ import annotations

import numpy as np

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.columns import Columns, Partition
from choral.solvers.lines.factors import Cholesky, inverse_roots
from choral.solvers.lines.newton import WithoutStates

SMALL = 2.5
"""Work on the many small matrices of classes takes so much more time than that on large ones, as measured."""


def work(states: int, lines: int, classes: int, rest: int) -> float:
    """Products that one factorisation takes."""
    border = lines * rest
    of_states = states * lines**2 * (1 + rest) + states * border**2
    of_classes = classes * lines**2 * (lines * (3 + rest) + 4 * border) + classes * lines * border**2
    return SMALL * (of_states + of_classes) + border**3 / 3


class ClassesFirst(WithoutStates):
    """The Newton matrix by classes."""

    def __init__(self, columns: Columns, d: Array, chunks: Chunks, partition: Partition) -> None:
        super().__init__(columns, d, chunks)
        classes, rest, lines = len(partition.share), partition.rest.shape[1], d.shape[1] - 1
        own, scaled = self.own[:, self.free], d[:, self.free]
        scaled /= np.sqrt(self.total)[:, None]
        del self.own  # of very many states it is as large as all masses
        weighted = partition.mass[:, None] * columns.M
        self._of_classes, self._of_rest = partition.sums(weighted).T, weighted.T @ partition.rest
        self._roots, self._scale = np.empty((classes, lines, lines)), np.empty((classes, lines))
        coupled = np.empty((classes, lines, rest * lines))
        bounds, X, every = partition.bounds, partition.rest, np.arange(lines)

        def part(some: slice) -> Array:
            inside = np.zeros((rest * lines, rest * lines))
            matrices = np.empty((some.stop - some.start, lines, lines))
            for c in range(some.start, some.stop):
                rows = slice(bounds[c], bounds[c + 1])
                here, mine, x = scaled[rows], own[rows], X[rows]
                spread = (x[:, :, None] * here[:, None, :]).reshape(len(here), rest * lines)
                matrix = matrices[c - some.start]
                np.matmul(here.T, here, out=matrix)
                np.negative(matrix, out=matrix)
                matrix[every, every] = mine.sum(axis=0)
                np.matmul(here.T, spread, out=coupled[c])
                np.negative(coupled[c], out=coupled[c])
                coupled[c].reshape(lines, rest, lines)[every, :, every] = mine.T @ x
                inside -= spread.T @ spread
            roots, scale = inverse_roots(matrices)
            self._roots[some], self._scale[some] = roots, scale
            coupled[some] = np.matmul(roots, coupled[some] * scale[:, :, None])
            return inside

        inside = chunks.over(classes, classes).total(part)
        tiles = inside.reshape(rest, lines, rest, lines)
        squares = (X[:, :, None] * X[:, None, :]).reshape(len(X), rest * rest)
        tiles[:, every, :, every] = (own.T @ squares).reshape(lines, rest, rest)
        weights = partition.share[:, None, None] * self._roots * self._scale[:, None, :]
        self._masses, _ = np.linalg.qr(weights.reshape(classes * lines, lines))
        stacked = coupled.reshape(classes * lines, rest * lines)
        self._stacked = stacked - self._masses @ (self._masses.T @ stacked)
        inside -= stacked.T @ self._stacked
        self._factor = Cholesky(inside, chunks)

    def unknowns(self, wanted: Array) -> Array:
        """From the system of the equations that are left, then class by class."""
        (classes, lines), free = self._scale.shape, wanted[self.free]
        half = np.matmul(self._roots, ((free @ self._of_classes).T * self._scale)[:, :, None]).reshape(-1)
        of_rest = self._factor.solve((free @ self._of_rest).T.ravel() - self._stacked.T @ half)
        half -= self._masses @ (self._masses.T @ half)
        half -= self._stacked @ of_rest
        back = np.matmul(half.reshape(classes, 1, lines), self._roots)[:, 0, :] * self._scale
        found = np.zeros_like(wanted)
        found[self.free] = back.T @ self._of_classes.T + of_rest.reshape(-1, lines).T @ self._of_rest.T
        return found
