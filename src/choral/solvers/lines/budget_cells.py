"""Grids of cells for a search within budgets: over the simplex of the target, finer where the entropy bends more."""

from __future__ import annotations

import itertools
import math

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.regular_cells import RegularCells, to_grid

GRID_BITS = 36
FIRST_CELLS = {2: 16, 3: 5, 4: 4}
"""The first points are a grid of this fineness over the simplex of the target, by its number of values."""
SNAP = 1e-5
"""New points this near to a face of the simplex are put on it: thin cells have steep lines, and the program stalls."""
FACE = 1e-8
ON_GRID = 0.4
"""Share of the tolerance that a grid for points of a curve misses: chords of angles h miss h² / (3 log 2) on average."""
FINEST_GRID = 160
"""Cells of such a grid at most; where it would need more, lines are put where codes are."""
AT_ONCE = 32
"""Cells of such a grid that a point begins with at most: of finer ones a few cells before them save more than they cost."""
GRID_STEP = 8
"""Cells of such grids are multiples of this: then points that need about as many share one."""


def insert(cells: RegularCells, point: Floats) -> bool:
    """Make the point a vertex: on a face if it is near one, and where it is if there is a vertex on the face already."""
    for near in (SNAP, FACE):
        snapped = np.where(point < near, 0.0, point)
        if cells.insert(to_grid(snapped.tolist(), 1 << GRID_BITS, 24)) is not None:
            return True
    return False


def regular(Q: Floats, p: Floats, fine: int) -> RegularCells:
    """Cells of a grid over the simplex; for two values over the range of posteriors, finer towards 0 and 1."""
    values = Q.shape[1]
    if values == 2:
        low, high = _angles(Q)
        points = [[math.cos(a) ** 2, math.sin(a) ** 2] for a in np.linspace(low, high, fine + 1)]
    else:
        inner = [c for c in itertools.product(range(fine + 1), repeat=values) if sum(c) == fine and max(c) < fine]
        points = [[x / fine for x in c] for c in inner]
    cells = RegularCells(values, 1 << GRID_BITS)
    for point in [*points, (p @ Q).tolist()]:
        insert(cells, np.array(point))
    return cells


def _angles(Q: Floats) -> Floats:
    """The range of posteriors of a target of two values, as angles: in these the entropy bends evenly."""
    return np.asarray(np.arccos(np.sqrt(np.clip([Q[:, 0].max(), Q[:, 0].min()], 0.0, 1.0))))


def fineness(Q: Floats, wanted: float) -> int | None:
    """Cells of a grid on which the lines miss, on average, a share of what is wanted; None but for targets of two values."""
    if Q.shape[1] != 2:
        return None
    low, high = _angles(Q)
    return max(FIRST_CELLS[2], math.ceil(float(high - low) / math.sqrt(ON_GRID * wanted * 3 * math.log(2))))
