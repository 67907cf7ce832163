"""Positive definite matrices of a Newton step, factorised as well as floats allow."""

from __future__ import annotations

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
