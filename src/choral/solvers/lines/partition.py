"""Equations made ready for Newton steps: orthonormal, with the finest partition of the states whose sums are among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choral.solvers.lines.chunks import Array
from choral.solvers.lines.indicators import Indicators

RANK_TOLERANCE = 1e-12
"""Columns of equations below this (scaled) are taken as dependent; what is private is decided in integers, elsewhere."""
NEGLIGIBLE = 1e-15
"""The rarest states, with this much mass in all, follow the others."""


def whiten(p: Array, M: Array) -> tuple[Array, Array]:
    """Return ``(M @ T, T)`` with columns orthonormal under ``p``; dependent ones dropped."""
    if M.shape[1] == 0:
        return M, np.zeros((0, 0))
    root = np.sqrt(p / p.sum())[:, None] * M
    size = np.linalg.norm(root, axis=0)
    scale = np.where(size > 0, size, 1)
    _, values, right = np.linalg.svd(np.linalg.qr(root / scale, mode="r"), full_matrices=False)
    keep = values > RANK_TOLERANCE * max(1.0, values[0])
    T = (right[keep] / values[keep, None]).T / scale[:, None]
    return np.ascontiguousarray(M @ T), T


@dataclass(frozen=True)
class Partition:
    """Classes of states whose sums are among the equations, and the equations that are left.

    States are taken in the order of their classes: `order`, with class c at `bounds[c]:bounds[c + 1]`. `mass` is that of
    each state in that order, 1 in all, `share` that of each class; the columns of `rest` (in that order) are orthonormal
    under p and sum to zero over every class, so the row space of classes and rest is that of all equations and the row of
    ones.
    """

    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    mass: Array
    share: Array
    rest: Array

    def sums(self, x: Array) -> Array:
        """Sums over the classes of an array whose rows are in their order."""
        return np.add.reduceat(x, self.bounds[:-1], axis=0)

    def spread(self, x: Array) -> Array:
        """One row per class as one row per state."""
        return np.repeat(x, np.diff(self.bounds), axis=0)


def finest(p: Array, M: Array) -> Partition | None:
    """The partition with most classes whose indicators are columns of M, up to a shift and a scale; None if it saves nothing.

    Columns with two values are indicators of a set; a greedy search from every column that no
    search before met finds sets that do not overlap.
    """
    high, low = M.max(axis=0, initial=-np.inf), M.min(axis=0, initial=np.inf)
    upper = high == M
    two = np.flatnonzero((upper | (low == M)).all(axis=0) & (high > low))
    sets = upper[:, two].astype(np.float64)
    apart = sets.T @ sets == 0
    best: list[int] = []
    seen: set[int] = set()
    for first in range(len(two)):
        if first in seen:
            continue
        family, open_ = [first], apart[first].copy()
        while open_.any():
            following = int(open_.argmax())
            family.append(following)
            open_ &= apart[following]
        seen.update(family)
        if len(family) > len(best):
            best = family
    if len(best) < 2:
        return None
    label = np.where(sets[:, best].any(axis=1), sets[:, best].argmax(axis=1), len(best))
    _, label = np.unique(label, return_inverse=True)
    order = np.argsort(label, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(label))])
    others = np.delete(M, two[best], axis=1)[order]
    mass = p[order] / p.sum()
    bare = Partition(order, bounds, mass, np.zeros(0), np.zeros((len(p), 0)))
    share = bare.sums(mass)
    others = others - bare.spread(bare.sums(mass[:, None] * others) / share[:, None])
    rest = whiten(mass, others)[0]
    return Partition(order, bounds, mass, share, rest) if rest.shape[1] + 1 < M.shape[1] else None


@dataclass(frozen=True)
class Sizes:
    """What the work of a Newton step depends on, beside the lines: states and rank; classes and the columns that are left
    where there is a partition; pairs of sets, and how often states are in such, where equations are about sets."""

    states: int
    rank: int
    classes: int = 0
    rest: int = 0
    pairs: int = 0
    entries: int = 0


@dataclass(frozen=True)
class Basis:
    """Equations made ready for Newton steps: on all states but negligible ones, orthonormal under p, with their partition.

    Multipliers of the given equations are `white` ones times `back` transposed. `indicators` are pairs of sets, where all
    equations are about sets.
    """

    main: NDArray[np.bool_]
    white: Array
    back: Array
    partition: Partition | None = None
    indicators: Indicators | None = None

    @property
    def sizes(self) -> Sizes:
        """Of its matrices."""
        parts, sets = self.partition, self.indicators
        return Sizes(
            *self.white.shape,
            *((0, 0) if parts is None else (len(parts.share), parts.rest.shape[1])),
            *((0, 0) if sets is None else (sets.pairs.shape[0], int(sets.pairs.nnz))),
        )

    @classmethod
    def of(cls, p: Array, M: Array, whole: bool = False) -> Basis:
        """For these masses and equations; `whole`: negligible states too."""
        main = main_states(p, 0.0 if whole else NEGLIGIBLE)
        white, back = whiten(p[main], M[main])
        return cls(main, white, back, finest(p[main], M[main]), Indicators.of(M[main], back))


def main_states(p: Array, negligible: float) -> NDArray[np.bool_]:
    """Mark all states but the rarest, whose masses together are at most ``negligible``."""
    order = np.argsort(p)
    main = np.empty(len(p), dtype=bool)
    main[order] = np.cumsum(p[order]) > negligible * p.sum()
    return main
