"""Fewer entries: a channel from an interior point, in which every state uses every code, on the entries that matter.

An interior point leaves a little mass on every entry. Entries below a share of their state are dropped, and the equalities
are restored by least squares on those that are left, weighted by their mass: z + z·(λ_s + M_s·ν_l). What becomes negative
is dropped too, and so on until nothing is missing. The dropped entries are those that cost most, so the channel usually
gets better; where it does not, a smaller share is tried. The most likely states keep all of their entries: `choral.exact`
makes the channel private by changing some of these, and there must be something to change.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from choral.problem.kernel import Floats
from choral.solvers.lines.chunks import Chunks, cores, threads
from choral.solvers.lines.elimination import elimination
from choral.solvers.lines.partition import Basis
from choral.solvers.lines.restoration import restored

SHARES = (1e-3, 1e-4, 1e-5)
"""Entries below this share of their state are dropped; the first with which no information is lost is taken."""
HUBS = 300
"""So many of the most likely states (or ten times the equations) keep all of their entries."""
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
        kept = fewer.sum(axis=1)
        if not kept.all():
            continue
        fewer *= (p / kept)[:, None]
        part = np.ascontiguousarray(fewer[basis.main])
        del fewer  # of very many states there is no room for all that is not needed
        with threads(cores()) as pool:
            chunks = Chunks(len(p), PART, pool, cores())
            if restored(part, p[basis.main], basis.white, partial(elimination, basis, chunks=chunks)):
                found = np.empty_like(part)
                found[basis.main] = part
                if cost(found) <= best:
                    return found
    return z
