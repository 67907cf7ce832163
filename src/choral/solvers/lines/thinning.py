"""Fewer entries: a channel from an interior point, in which every state uses every code, on the entries that matter.

An interior point leaves a little mass on every entry. Entries below a share of their state are dropped, and the equalities
are restored by least squares on those that are left, weighted by their mass: z + z·(λ_s + M_s·ν_l). What becomes negative
is dropped too, and so on until nothing is missing. The dropped entries are those that cost most, so the channel usually
gets better; where it does not, a smaller share is tried. The most likely states keep all of their entries: `choral.exact`
makes the channel private by changing some of these, and there must be something to change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError

from choral.problem.kernel import Floats
from choral.solvers.lines.chunks import Chunks, cores, threads
from choral.solvers.lines.elimination import elimination
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.restoration import EXACT

SHARES = (1e-3, 1e-4, 1e-5)
"""Entries below this share of their state are dropped; the first with which no information is lost is taken."""
HUBS = 300
"""So many of the most likely states (or ten times the equations) keep all of their entries."""
ROUNDS = 6
PART = 1024


def thinned(z: Floats, p: Floats, M: Floats, cost: Callable[[Floats], float]) -> Floats:
    """Masses p(s, y) on fewer entries that cost no more, and meet Σ_y z = p and Mᵀz = 0 as well; or z itself.

    Codes that are left without an entry are left out.
    """
    hubs = max(HUBS, 10 * M.shape[1])
    if len(p) <= hubs:
        return z
    best = cost(z)
    basis = Basis.of(p, M, whole=True)
    least = p.copy()
    least[np.argsort(-p)[:hubs]] = 0.0
    for share in SHARES:
        fewer = z[:, [bool((code > share * least).any()) for code in z.T]]
        fewer[fewer <= share * least[:, None]] = 0.0
        restored = _restored(fewer[basis.main], p[basis.main], basis)
        if restored is None:
            continue
        found = np.empty_like(restored)
        found[basis.main] = restored
        if cost(found) <= best:
            return found
    return z


def _restored(z: Floats, p: Floats, basis: Basis) -> Floats | None:
    """The nearest masses on the same entries, or fewer, that meet the equalities, in place of these; None if not reached."""
    kept = z.sum(axis=1)
    if not kept.all():
        return None
    z *= (p / kept)[:, None]
    M = basis.white
    with threads(cores()) as pool:
        chunks = Chunks(len(p), PART, pool, cores())
        for _ in range(ROUNDS):
            row_gap, column_gap = p - z.sum(axis=1), -(z.T @ M)
            if np.abs(row_gap).max() <= EXACT * p.max() and np.abs(column_gap).max(initial=0) <= EXACT:
                return z
            used = z.sum(axis=0) > 0
            part = np.ascontiguousarray(z[:, used])
            try:
                system = elimination(basis, part, chunks)
            except LinAlgError:
                return None
            dlam, dnu = system.solve(row_gap, column_gap[used])
            for rows in chunks.slices:
                part[rows] *= 1 + dlam[rows, None] + M[rows] @ dnu.T
            np.maximum(part, 0.0, out=part)
            mass = part.sum(axis=1)
            if not (np.isfinite(mass) & (mass > 0)).all():
                return None
            z[:, used] = part
    return None
