"""Positive definite matrices of a Newton step, factorised as well as floats allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, get_blas_funcs
from scipy.linalg.lapack import dpotrf, dtrtri

from choral.solvers.lines.chunks import Array, Chunks

RIDGES = tuple(1e-15 * 100.0**k for k in range(9))
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


def inverse_root(diagonal: Array) -> Array:
    """One over the root of each entry; zero where that is zero, or not finite."""
    live = np.isfinite(diagonal) & (diagonal > 0)
    return np.divide(1, np.sqrt(np.abs(diagonal)), out=np.zeros_like(diagonal), where=live)


class Ridged:
    """The factor of a matrix that `fill` writes, with unit diagonal, into an array, with the first ridge that suffices.

    The array is in the space of the chunks, and overwritten. Raises `LinAlgError` where no ridge suffices.
    """

    def __init__(
        self,
        fill: Callable[[NDArray[Any]], None],
        scale: Array,
        chunks: Chunks,
        ridges: Sequence[float] = RIDGES,
        kind: type = np.float64,
    ) -> None:
        self._scale, index = scale, np.arange(len(scale))
        for ridge in ridges:
            matrix = chunks.space.array(f"factor in {np.dtype(kind)}", len(scale), len(scale), dtype=kind)
            fill(matrix)
            matrix[index, index] = 1 + ridge
            with suppress(LinAlgError):
                self._factor = chunks.factorised(matrix)
                return
        raise LinAlgError("a matrix is not positive definite")

    def solve(self, rhs: Array) -> Array:
        """The solution for one right-hand side, as the factor has it."""
        value: Array = solved(self._factor, (rhs * self._scale).astype(self._factor.dtype)) * self._scale
        return value


class Cholesky(Ridged):
    """With iterative refinement; scaled, and coordinates whose diagonal is zero (or not finite) are pinned to zero."""

    def __init__(self, matrix: Array, chunks: Chunks) -> None:
        scale = inverse_root(matrix.diagonal())
        matrix *= scale[:, None]
        matrix *= scale
        self._matrix = matrix
        super().__init__(lambda damped: np.copyto(damped, matrix), scale, chunks)

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
    scale = inverse_root(diagonal)
    unit = matrices * scale[:, :, None] * scale[:, None, :]
    index = np.arange(matrices.shape[-1])
    roots = np.empty_like(unit)
    for matrix, root in zip(unit, roots, strict=True):
        if not matrix.size:  # LAPACK complains of it, on the terminal of whoever asked
            continue
        for ridge in RIDGES:
            matrix[index, index] = 1 + ridge
            factor, failed = dpotrf(matrix, lower=1, clean=1)
            if not failed:
                root[:] = dtrtri(factor, lower=1)[0]
                break
        else:
            raise LinAlgError("a matrix of a line is not positive definite")
    return roots, scale
