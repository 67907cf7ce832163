"""Newton steps where every equation is about a set of states, and a state is in few sets: protected values, or pairs of such.

Then a column of M is h 1(s in set) + low, and the Schur complement after the states, Σ_s M_s M_s' ⊗ W_s with
W_s = diag(d_s) - d_s d_s' / D_s, is a sum over the pairs of sets that a state is in: k² sums for every state where products
take rank². (What is added to every column, low, makes a term of the sums over single sets and over all states.)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.columns import Columns
from choral.solvers.lines.conjugate import RIDGES, conjugate_gradients
from choral.solvers.lines.factors import Cholesky, Ridged, inverse_root
from choral.solvers.lines.newton import WithoutStates

DENSE = 0.25
"""Share of all pairs from which on products are faster than sums."""
LARGE = 1200
"""Unknowns from which a factorisation is most of a step."""
PIECE = 2**18
"""Numbers in the sums over pairs that are made at once: few enough to stay in a cache, and in memory that is in hand."""
SPARSE = 40.0
"""A term of a sparse sum takes so much longer than one of a product."""


@dataclass(frozen=True)
class Indicators:
    """Pairs of sets, the last of which is that of all states: `pairs` sums over the states that are in both.

    Columns of M are `step` times the indicator plus `low`; `inverse` leads from orthonormal columns back to these.
    """

    pairs: sparse.csr_array
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    step: Array
    low: Array
    inverse: Array

    @classmethod
    def of(cls, M: Array, back: Array) -> Indicators | None:
        """Of a matrix whose columns have two values each, if sums over pairs are few; `back` made it orthonormal."""
        states, rank = M.shape
        high, low = M.max(axis=0, initial=-np.inf), M.min(axis=0, initial=np.inf)
        inside = high == M
        if rank < 2 or back.shape != (rank, rank) or not (inside | (low == M)).all():
            return None
        few = np.bincount(np.nonzero(inside)[0], minlength=states) + 1
        if float((few**2).mean()) > DENSE * (rank + 1) ** 2:
            return None
        sets = [np.append(np.flatnonzero(row), rank) for row in inside]
        upper = {k: np.triu_indices(k) for k in set(few.tolist())}
        a = np.concatenate([members[upper[len(members)][0]] for members in sets])
        b = np.concatenate([members[upper[len(members)][1]] for members in sets])
        keys, pair = np.unique(a * (rank + 1) + b, return_inverse=True)
        state = np.repeat(np.arange(states), few * (few + 1) // 2)
        pairs = sparse.csr_array((np.ones(len(pair)), (pair, state)), shape=(len(keys), states))
        return cls(
            pairs,
            keys // (rank + 1),
            keys % (rank + 1),
            high - low,
            low,
            np.asarray(np.linalg.inv(back), dtype=np.float64),
        )


def work(entries: int, lines: int, rank: int) -> float:
    """Products that one factorisation takes, where states are in pairs of sets so often."""
    return SPARSE * (entries * lines**2 / 2 + (rank * lines) ** 2) + (rank * lines) ** 3 / 3


class ByIndicators(WithoutStates):
    """The Schur complement after the states, one row per (column, line), by sums over pairs of sets.

    Where it is large it is factorised with half the digits; with all of them only if these do not suffice.
    """

    def __init__(self, columns: Columns, d: Array, chunks: Chunks, indicators: Indicators) -> None:
        super().__init__(columns, d, chunks)
        self._indicators, self._inverse = indicators, indicators.inverse
        self._single: Ridged | None = None
        self._factor: Cholesky | None = None
        if len(indicators.step) * int(self.free.sum()) >= LARGE:
            scale = self._scale()
            with suppress(LinAlgError):
                self._single = Ridged(lambda one: self._fill(one, scale), scale.ravel(), chunks, RIDGES, np.float32)
            self._top = d.argmax(axis=1)
        self.refined = self._single is None  # conjugate gradients refine enough
        if self._single is None:
            self._doubly()

    def _doubly(self) -> Cholesky:
        if self._factor is None:
            rank, lines = len(self._indicators.step), int(self.free.sum())
            matrix = self.chunks.space.array("sums", rank * lines, rank * lines)
            self._fill(matrix, np.ones((rank, lines)))
            self._factor = Cholesky(matrix, self.chunks)
        return self._factor

    def _scale(self) -> Array:
        """One over the root of each entry of the diagonal, (column, line); 0 where that is 0."""
        sets, own = self._indicators, self.own[:, self.free]
        inside = (sets.pairs @ own)[sets.second == sets.first]
        everything, inside = inside[-1], inside[:-1]
        high, low = (sets.step + sets.low)[:, None], sets.low[:, None]
        return inverse_root(high**2 * inside + low**2 * np.maximum(everything - inside, 0.0))

    def _fill(self, flat: NDArray[Any], scale: Array) -> None:
        """Write the Schur complement, times the scale of its rows and of its columns."""
        d, indicators, chunks = self.d, self._indicators, self.chunks
        scaled = d[:, self.free] / np.sqrt(self.total)[:, None]
        lines, rank = scaled.shape[1], len(indicators.step)
        one, other = np.triu_indices(lines)
        weights = chunks.space.array("products", len(scaled), len(one))
        _products(scaled, self.own[:, self.free], weights)
        whole = np.empty((lines, lines), dtype=np.int64)
        whole[one, other] = whole[other, one] = np.arange(len(one))
        first, second, step, low = indicators.first, indicators.second, indicators.step, indicators.low

        def sums(some: NDArray[np.int64]) -> Array:
            value: Array = (indicators.pairs[some] @ weights)[:, whole]
            return value

        single = np.flatnonzero(second == rank)
        alone = np.zeros((rank + 1, lines, lines))
        alone[first[single]] = sums(single)
        alone[:rank] *= step[:, None, None]
        beside = (alone[:rank] + low[:, None, None] * alone[rank]).transpose(1, 0, 2)
        matrix = flat.reshape(rank, lines, rank, lines)

        def shifted(some: slice) -> None:
            for i in range(some.start, some.stop):
                row = alone[i][:, None, :] * low[None, :, None]
                row += low[i] * beside
                row *= scale[i][:, None, None]
                np.multiply(row, scale, out=matrix[i], casting="same_kind")

        chunks.over(rank, rank).each(shifted)
        both = np.flatnonzero(second < rank)

        def added(some: slice) -> None:
            i, j, blocks = first[both[some]], second[both[some]], sums(both[some])
            blocks *= (step[i][:, None] * scale[i])[:, :, None]
            blocks *= (step[j][:, None] * scale[j])[:, None, :]
            matrix[i, :, j, :] += blocks
            apart = i != j
            matrix[j[apart], :, i[apart], :] += blocks[apart].transpose(0, 2, 1)

        chunks.over(len(both), max(1, PIECE // lines**2)).each(added)

    def unknowns(self, wanted: Array) -> Array:
        """From the Schur complement, in the columns that are indicators."""
        y = np.zeros_like(wanted)
        if self._single is not None:
            roughly = partial(self._through, self._single)
            found = conjugate_gradients(self._applied, roughly, wanted[self.free])
            if found is not None:
                y[self.free] = found
                return y
            self.refined = True
        y[self.free] = self._through(self._doubly(), wanted[self.free])
        return y

    def _through(self, factor: Ridged, wanted: Array) -> Array:
        found = factor.solve((wanted @ self._inverse).T.ravel())
        value: Array = found.reshape(-1, len(wanted)).T @ self._inverse.T
        return value

    def _applied(self, x: Array) -> Array:
        """The Schur complement times multipliers; what the line of most weight gets is what the others give."""
        M, d, nu = self.columns.M, self.d, np.zeros((len(self.free), x.shape[1]))
        nu[self.free] = x

        def part(rows: slice) -> Array:
            here, weight = M[rows], d[rows]
            y = here @ nu.T
            y -= (np.einsum("sl,sl->s", weight, y) / self.total[rows])[:, None]
            y *= weight
            count, top = np.arange(len(y)), self._top[rows]
            y[count, top] = 0
            y[count, top] = -y.sum(axis=1)
            value: Array = y.T @ here
            return value

        value: Array = self.chunks.total(part)[self.free]
        return value


def _products(scaled: Array, own: Array, out: Array) -> None:
    """For each state minus the product of every two lines, as `triu_indices` orders them, and its own for a line with itself.

    Line by line, each beside all that follow: indices would put the numbers of a state far apart; sums take them in order.
    """
    lines, at = scaled.shape[1], 0
    for line in range(lines):
        np.multiply(-scaled[:, line, None], scaled[:, line:], out=out[:, at : at + lines - line])
        out[:, at] = own[:, line]
        at += lines - line
