"""Positive definite matrices of a Newton step, factorised as well as floats allow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, get_blas_funcs
from scipy.linalg.lapack import dpotrf, dtrtri

from choral.solvers.lines.chunks import Array, Chunks

RIDGE = 1e-15
"""Added to a unit diagonal: below what floats resolve in a sum of thousands; more only where a factorisation fails."""
REFINEMENTS = 2
"""Of each solve with a factorised matrix; a third one was never better."""


def solved(factor: NDArray[Any], rhs: NDArray[Any]) -> NDArray[Any]:
    """The solution for one right-hand side by a factor L of L L', as `Chunks.factorised` gives it.

    By two substitutions: what LAPACK has for many right-hand sides takes four times as long for one.
    """
    substituted = get_blas_funcs("trsv", (factor,))
    x = substituted(factor.T, rhs, trans=1)  # transposed, as BLAS has it: it copies others
    value: NDArray[Any] = substituted(factor.T, x, overwrite_x=1)
    return value


class Cholesky:
    """Cholesky with unit diagonal scaling, a ridge, and iterative refinement.

    Coordinates whose diagonal is zero (or not finite) are pinned to zero. The factor is in the space of the chunks.
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
            damped = chunks.space.array("factor", *matrix.shape)
            damped[:] = matrix
            damped[index, index] = 1 + ridge
            try:
                self._factor = chunks.factorised(damped)
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
        x = solved(self._factor, scaled)
        error = scaled - self._matrix @ x
        for _ in range(REFINEMENTS):
            trial = x + solved(self._factor, error)
            trial_error = scaled - self._matrix @ trial
            if not np.abs(trial_error).max() < np.abs(error).max():
                break
            x, error = trial, trial_error
        value: Array = x * self._scale
        return value


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


class WithoutStates(ABC):
    """Newton steps after the states are eliminated: `multipliers` solves for those of the lines.

    The multipliers of the reference line are fixed (gauge).
    """

    def __init__(self, M: Array, d: Array, reference: int, chunks: Chunks) -> None:
        self.M, self.d, self.chunks = M, d, chunks
        self.free = np.arange(d.shape[1]) != reference
        self.total = np.empty(len(M))

    @abstractmethod
    def multipliers(self, wanted: Array) -> Array:
        """Of all lines but the reference, for these column moments."""

    def solve(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        """``(dlam, dnu)`` such that ``g + d (dlam + M dnu.T)`` has these row sums and column moments."""
        M, d, total = self.M, self.d, self.total
        base = np.empty(len(M))

        def moments(rows: slice) -> Array:
            base[rows] = (row_gap[rows] - g[rows].sum(axis=1)) / total[rows]
            return (g[rows] + d[rows] * base[rows, None]).T @ M[rows]

        dnu = np.zeros_like(column_gap)
        dnu[self.free] = self.multipliers((column_gap - self.chunks.total(moments))[self.free])
        dlam = np.empty(len(M))

        def rows_multiplier(rows: slice) -> None:
            pull = np.einsum("sl,sl->s", d[rows], M[rows] @ dnu.T)
            dlam[rows] = base[rows] - pull / total[rows]

        self.chunks.each(rows_multiplier)
        return dlam, dnu

    def solved_twice(self, g: Array, row_gap: Array, column_gap: Array) -> tuple[Array, Array]:
        """`solve`, with one step of refinement."""
        dlam, dnu = WithoutStates.solve(self, g, row_gap, column_gap)
        found = g + self.d * (dlam[:, None] + self.M @ dnu.T)
        more, further = WithoutStates.solve(self, found, row_gap, column_gap)
        return dlam + more, dnu + further


def inverse_roots(matrices: Array) -> tuple[Array, Array]:
    """R and scales c with (c R' R c) the inverse of each positive definite matrix, damped as far as needed."""
    diagonal = np.einsum("lii->li", matrices)
    scale = np.zeros_like(diagonal)
    np.divide(1, np.sqrt(np.abs(diagonal)), out=scale, where=diagonal > 0)
    unit = matrices * scale[:, :, None] * scale[:, None, :]
    index = np.arange(matrices.shape[-1])
    roots = np.empty_like(unit)
    for matrix, root in zip(unit, roots, strict=True):
        if not matrix.size:  # LAPACK complains of it, on the terminal of whoever asked
            continue
        damping = RIDGE
        while True:
            matrix[index, index] = 1 + damping
            factor, failed = dpotrf(matrix, lower=1, clean=1)
            if not failed:
                root[:] = dtrtri(factor, lower=1)[0]
                break
            if not damping <= 1:
                raise LinAlgError("a matrix of a line is not positive definite")
            damping *= 100
    return roots, scale
