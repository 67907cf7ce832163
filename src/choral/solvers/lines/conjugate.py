"""Linear systems by conjugate gradients, after a factorisation in half the digits.

Half the digits take half the time and half the memory of a factorisation, which is most of a Newton step with many unknowns.
What such a factor gets wrong, a few steps of conjugate gradients mend, each a product with the matrix itself, which need
not be written down. Where they do not suffice the matrix is too near to singular for half the digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.factors import solved

RIDGE, MOST_RIDGE = 1e-6, 1e-4
"""Added to a unit diagonal: what half the digits get wrong in a sum of thousands; and as far as it may be raised."""
STEPS = 30
"""Steps of conjugate gradients at most: they take about as long as the other half of the digits."""
SOLVED, NEARLY = 1e-6, 1e-5
"""A residual of this share ends it; and after all steps this one will do: what is left is left to the next Newton step."""


class Single:
    """A Cholesky factor with half the digits of a matrix that `fill` writes, with unit diagonal, into an array of its size.

    The matrix is overwritten, and written again where it needs a larger ridge. Raises `LinAlgError` where none suffices.
    """

    def __init__(self, size: int, fill: Callable[[NDArray[Any]], None], scale: Array, chunks: Chunks) -> None:
        matrix = chunks.space.array("single", size, size, dtype=np.float32)
        self._scale, index, ridge = scale, np.arange(size), RIDGE
        while True:
            fill(matrix)
            matrix[index, index] = 1 + ridge
            try:
                self._factor = chunks.factorised(matrix)
                return
            except LinAlgError:
                ridge *= 10
                if ridge > MOST_RIDGE:
                    raise

    def solve(self, rhs: Array) -> Array:
        """Roughly."""
        value: Array = solved(self._factor, (rhs * self._scale).astype(np.float32)) * self._scale
        return value


def conjugate_gradients(
    applied: Callable[[Array], Array], roughly: Callable[[Array], Array], wanted: Array
) -> Array | None:
    """The solution of a positive definite system, or None where that takes too many steps."""
    x, residual = np.zeros_like(wanted), wanted.copy()
    better = roughly(residual)
    direction, inside = better, float(np.vdot(residual, better))
    whole = inside
    for _ in range(STEPS):
        if not inside > 0:
            return x if inside == 0 else None
        image = applied(direction)
        length = inside / float(np.vdot(direction, image))
        x = x + length * direction
        residual = residual - length * image
        better = roughly(residual)
        inside, before = float(np.vdot(residual, better)), inside
        if abs(inside) <= SOLVED**2 * whole:
            return x
        direction = better + inside / before * direction
    return x if abs(inside) <= NEARLY**2 * whole else None
