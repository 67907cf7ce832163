"""Equations made ready for Newton steps: orthonormal, with the finest partition of the states whose sums are among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from choral.solvers.lines.chunks import Array
from choral.solvers.lines.columns import Alike, Partition, whiten
from choral.solvers.lines.indicators import Indicators

NEGLIGIBLE = 1e-15
"""The rarest states, with this much mass in all, follow the others."""


def finest(M: Array) -> tuple[NDArray[np.int64], list[int]] | None:
    """The partition with most classes whose indicators are columns of M, up to a shift and a scale: labels, and the columns.

    Columns with two values are indicators of a set; a greedy search from every column that no
    search before met finds sets that do not overlap. None if there are fewer than two.
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
    return label, two[best].tolist()


@dataclass(frozen=True)
class Sizes:
    """What the work of a Newton step depends on, beside the lines: states and rank; how many differ in their equations, if
    not all; classes and the columns that are left where there is a partition; pairs of sets, and how often states are in
    such, where equations are about sets."""

    states: int
    rank: int
    alike: int = 0
    classes: int = 0
    rest: int = 0
    pairs: int = 0
    entries: int = 0


@dataclass(frozen=True)
class Basis:
    """Equations made ready for Newton steps: on all states but negligible ones, orthonormal under p, with their partition.

    `main` are these states, in the order of their classes. Multipliers of the given equations are those of `alike.M` times
    `back` transposed. `indicators` are pairs of sets, where all equations are about sets.
    """

    main: NDArray[np.int64] | slice
    alike: Alike
    back: Array
    partition: Partition | None = None
    indicators: Indicators | None = None

    @property
    def white(self) -> Array:
        """The orthonormal equations."""
        return self.alike.M

    @property
    def sizes(self) -> Sizes:
        """Of its matrices."""
        parts, sets = self.partition, self.indicators
        return Sizes(
            states=len(self.white),
            rank=self.white.shape[1],
            alike=len(self.alike.rows),
            classes=0 if parts is None else len(parts.share),
            rest=0 if parts is None else parts.rest.shape[1],
            pairs=0 if sets is None else sets.pairs.shape[0],
            entries=0 if sets is None else int(sets.pairs.nnz),
        )

    @classmethod
    def of(cls, p: Array, M: Array, whole: bool = False) -> Basis:
        """For these masses and equations; `whole`: negligible states too."""
        kept = main_states(p, 0.0 if whole else NEGLIGIBLE)
        main: NDArray[np.int64] | slice = slice(None) if kept.all() else np.flatnonzero(kept)
        found, partition = finest(M[main]), None
        if found is not None:
            label, columns = found
            order = np.lexsort((*M[main].T, label))
            main = np.flatnonzero(kept)[order]
            partition = Partition.of(p[main], np.delete(M[main], columns, axis=1), label[order])
        p, M = p[main], M[main]
        white, back = whiten(p, M)
        if partition is not None and partition.rest.shape[1] + 1 >= white.shape[1]:  # it saves nothing
            partition = None
        return cls(main, Alike.of(M, white), back, partition, Indicators.of(M, back))


def main_states(p: Array, negligible: float) -> NDArray[np.bool_]:
    """Mark all states but the rarest, whose masses together are at most ``negligible``."""
    order = np.argsort(p)
    main = np.empty(len(p), dtype=bool)
    main[order] = np.cumsum(p[order]) > negligible * p.sum()
    return main
