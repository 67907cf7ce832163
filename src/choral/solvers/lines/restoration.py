"""Channels that nearly meet the equalities, brought back onto them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from choral.solvers.lines.chunks import Array
from choral.solvers.lines.newton import Elimination

EXACT = 1e-14
"""Equalities that hold to this (relative to the largest mass) are not restored further."""
RESTORATIONS = 3
"""Steps at most; the first does nearly all."""


def restored(z: Array, p: Array, M: Array, eliminate: Callable[[Array], Elimination]) -> None:
    """Change a positive channel in place, as little as weights of its own squares allow, so that it meets the equalities."""
    d, system = np.empty_like(z), None
    for _ in range(RESTORATIONS):
        row_gap = p - z.sum(axis=1)
        column_gap = -(z.T @ M)
        if np.abs(row_gap).max() <= EXACT * p.max() and np.abs(column_gap).max(initial=0) <= EXACT:
            return
        try:
            if system is None:
                np.divide(z * z, p[:, None], out=d)
                system = eliminate(d)
            dlam, dnu = system.solve(row_gap, column_gap)
        except np.linalg.LinAlgError:
            return
        change = d * (dlam[:, None] + M @ dnu.T)
        if not np.isfinite(change).all():
            return
        shrink = float(np.max(-change / z))
        if shrink > 0.5:  # the weights are no longer those of the point
            system = None
        z += min(1.0, 0.5 / max(shrink, 1e-300)) * change
