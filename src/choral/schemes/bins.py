"""Two continuous samples: equal-probability bins, added on a circle.

Each sample falls into one of K bins of probability 1/K under its declared law; Y = I + J mod K.

**Private.** Given X_1, hence I, the bin J is uniform on Z_K, so Y is uniform: Y is independent of X_1, and of X_2 alike.
**Information.** Y is a function of (X_1, X_2) and uniform: I(X_1,X_2;Y) = log K, which has no limit as K grows.

The edges are the declaration: they say that the bins have equal probability. Quantiles of the data that is encoded
are not a declaration. For more than two samples, rotate the bins: `rotation(DeclaredLaw([1/K]·K, …), b=K)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.joint import Joint
from choral.errors import LawError
from choral.schemes.law import WHY, Whole, whole_number


class Continuous:
    """Y = I + J mod K for the bins I, J of two independent continuous samples.

    `first` and `second` are the K-1 inner edges of the bins of each sample: the quantiles 1/K, 2/K, … of its law.

    >>> scheme = Continuous([0.25, 0.5, 0.75], [1.0, 2.0, 3.0], source="uniform on [0, 1] and on [0, 4], by design")
    >>> scheme.encode([0.3, 0.9], [2.5, 0.1]).tolist(), scheme.information()
    ([3, 3], 2.0)
    """

    def __init__(self, first: Iterable[Any], second: Iterable[Any], source: str = "") -> None:
        """Raise `LawError` unless the edges are finite, rising, as many for both, and `source` says why they are so."""
        if not isinstance(source, str) or not source.strip():
            raise LawError(f"The source of the declared edges is {source!r}.", WHY)
        self.source = source.strip()
        self.edges = (_edges(first, "sample 1"), _edges(second, "sample 2"))
        if len(self.edges[0]) != len(self.edges[1]):
            raise LawError(
                f"Sample 1 has {len(self.edges[0]) + 1} bins and sample 2 has {len(self.edges[1]) + 1}.",
                "Give the same number of edges for both.",
            )
        self.K = len(self.edges[0]) + 1

    @classmethod
    def from_quantiles(
        cls, K: int, first: Callable[[float], float], second: Callable[[float], float], source: str = ""
    ) -> Continuous:
        """Bins from the quantile functions (inverse distribution functions) of two declared laws.

        >>> Continuous.from_quantiles(4, lambda u: u, lambda u: 4 * u, "uniform, by design").edges[1].tolist()
        [1.0, 2.0, 3.0]
        """
        count = whole_number(K, "K", 2)
        levels = [i / count for i in range(1, count)]
        return cls([first(u) for u in levels], [second(u) for u in levels], source)

    def information(self) -> float:
        """log K, in bits."""
        return math.log2(self.K)

    def joint(self) -> Joint:
        """The exact law of the bins X1, X2 and of Y."""
        K = self.K
        return Joint.from_counts({(i, j, (i + j) % K): 1 for i in range(K) for j in range(K)}, ["X1", "X2", "Y"])

    def encode(self, first: Any, second: Any) -> Whole:
        """One code per pair of samples. A value on an edge is in the bin above it."""
        bins = [
            np.searchsorted(edges, _samples(data, place), side="right")
            for edges, data, place in zip(self.edges, (first, second), ("sample 1", "sample 2"), strict=True)
        ]
        if len(bins[0]) != len(bins[1]):
            raise LawError(f"{len(bins[0])} and {len(bins[1])} values.", "Give as many of one sample as of the other.")
        return np.asarray((bins[0] + bins[1]) % self.K, dtype=np.int64)


def _edges(values: Iterable[Any], place: str) -> npt.NDArray[np.float64]:
    edges = _samples(values, f"the edges of {place}")
    if not len(edges):
        raise LawError(f"{place.capitalize()} has no edges.", "Give K-1 inner edges of K ≥ 2 bins.")
    for i, edge in enumerate(edges.tolist()):
        if not math.isfinite(edge):
            raise LawError(f"Edge {i + 1} of {place} is {edge}.", "Give the inner edges only; they are finite.")
        if i and edge <= edges[i - 1]:
            raise LawError(
                f"Edge {i + 1} of {place} is {edge}, after {edges[i - 1]}.",
                "Edges rise strictly; a repeated edge would make a bin that nothing falls into.",
            )
    return edges


def _samples(values: Any, place: str) -> npt.NDArray[np.float64]:
    try:
        array = np.asarray(list(values) if not isinstance(values, np.ndarray) else values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LawError(f"The values of {place} are not numbers: {error}.", "Give a list of numbers.") from None
    if array.ndim != 1:
        raise LawError(f"The values of {place} have {array.ndim} axes.", "Give one list.")
    missing = np.flatnonzero(np.isnan(array))
    if len(missing):
        raise LawError(f"Value {int(missing[0]) + 1} of {place} is NaN.", "Remove or replace it.")
    return array
