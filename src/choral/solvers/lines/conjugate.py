"""Linear systems by conjugate gradients, after a factorisation in half the digits.

Half the digits take half the time and half the memory of a factorisation, which is most of a Newton step with many unknowns.
What such a factor gets wrong, a few steps of conjugate gradients mend, each a product with the matrix itself, which need
not be written down. Where they do not suffice the matrix is too near to singular for half the digits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from choral.solvers.lines.chunks import Array

RIDGES = 1e-6, 1e-5, 1e-4
"""Added to a unit diagonal: what half the digits get wrong in a sum of thousands; and as far as it may be raised."""
STEPS = 30
"""Steps of conjugate gradients at most: they take about as long as the other half of the digits."""
SOLVED, NEARLY = 1e-6, 1e-5
"""A residual of this share ends it; and after all steps this one will do: what is left is left to the next Newton step."""


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
