"""Channels that nearly meet the equalities, brought back onto them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from choral.solvers.lines.chunks import Array
from choral.solvers.lines.newton import Elimination

EXACT = 1e-14
"""Equalities that hold to this (relative to the largest mass) are not restored further."""
RESTORATIONS = 6
"""Steps at most; the first does nearly all."""
PIECE, VERY_MANY = 16_384, 100_000
"""States that are changed at once, and from which on the weights are not kept apart: arrays of all would be most of the
memory, and a system that is made anew in every step takes little of the time."""


def restored(z: Array, p: Array, M: Array, eliminate: Callable[[Array], Elimination]) -> bool:
    """Change a channel in place to the nearest one, weighted by mass, that meets the equalities; whether that is reached.

    Masses are z + z (λ_s + M_s·ν_l): entries that are zero stay so, and what becomes negative is zero from then on.
    """
    system, few = None, len(z) < VERY_MANY
    for _ in range(RESTORATIONS):
        row_gap = p - z.sum(axis=1)
        column_gap = -(z.T @ M)
        if np.abs(row_gap).max() <= EXACT * p.max() and np.abs(column_gap).max(initial=0) <= EXACT:
            return True
        try:
            system = system or eliminate(z.copy() if few else z)
            dlam, dnu = system.solve(row_gap, column_gap)
        except np.linalg.LinAlgError:
            return False
        if not (np.isfinite(dlam).all() and np.isfinite(dnu).all()):
            return False
        least = 0.0
        for start in range(0, len(z), PIECE):
            rows = slice(start, start + PIECE)
            changed = system.d[rows] * (dlam[rows, None] + M[rows] @ dnu.T)
            changed += z[rows]
            least = min(least, float(changed.min()))
            np.maximum(changed, 0.0, out=z[rows])
        if least < 0 or not few:  # the weights are no longer those of the point
            system = None
    return False
