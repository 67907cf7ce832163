"""Newton steps where every equation is about a set of states, and a state is in few sets: protected values, or pairs of such.

Then a column of M is h 1(s in set) + low, and the Schur complement after the states, Σ_s M_s M_s' ⊗ W_s with
W_s = diag(d_s) - d_s d_s' / D_s, is a sum over the pairs of sets that a state is in: k² sums for every state where products
take rank². (What is added to every column, low, makes a term of the sums over single sets and over all states.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.factors import Cholesky, WithoutStates, spread_over_lines

DENSE = 0.25
"""Share of all pairs from which on products are faster than sums."""
PIECE = 2**18
"""Numbers in the sums over pairs that are made at once: few enough to stay in a cache, and in memory that is in hand."""
SPARSE = 8.0
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
    """The Schur complement after the states, one row per (column, line), by sums over pairs of sets."""

    def __init__(self, M: Array, d: Array, reference: int, chunks: Chunks, indicators: Indicators) -> None:
        super().__init__(M, d, reference, chunks)
        self.total, own = spread_over_lines(d)
        scaled = d[:, self.free] / np.sqrt(self.total)[:, None]
        lines, rank, self._inverse = scaled.shape[1], M.shape[1], indicators.inverse
        one, other = np.triu_indices(lines)
        weights = -scaled[:, one] * scaled[:, other]
        weights[:, one == other] = own[:, self.free]
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
        matrix = chunks.space.array("sums", rank, lines, rank, lines)

        def shifted(some: slice) -> None:
            for i in range(some.start, some.stop):
                np.multiply(alone[i][:, None, :], low[None, :, None], out=matrix[i])
                matrix[i] += low[i] * beside

        chunks.over(rank, rank).each(shifted)
        both = np.flatnonzero(second < rank)

        def added(some: slice) -> None:
            i, j, blocks = first[both[some]], second[both[some]], sums(both[some])
            blocks *= (step[i] * step[j])[:, None, None]
            matrix[i, :, j, :] += blocks
            apart = i != j
            matrix[j[apart], :, i[apart], :] += blocks[apart]

        chunks.over(len(both), max(1, PIECE // lines**2)).each(added)
        self._factor = Cholesky(matrix.reshape(rank * lines, rank * lines), chunks)

    def multipliers(self, wanted: Array) -> Array:
        """From the Schur complement, in the columns that are indicators."""
        found = self._factor.solve((wanted @ self._inverse).T.ravel())
        value: Array = found.reshape(-1, len(wanted)).T @ self._inverse.T
        return value

    solve = WithoutStates.solved_twice
