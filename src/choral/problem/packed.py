"""Rows of a channel as arrays: what a channel on a million states is kept in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, overload

import numpy as np

from choral.problem.kernel import Index, Variable

if TYPE_CHECKING:
    from choral.problem.solution import Row

PART = 4096
"""States whose rows are unpacked at once."""
MANTISSA = 53
"""Bits of whole numbers that floats hold exactly, and so do their sums as long as these have no more."""
FEWEST_BITS = 16
"""Of numerators that are summed at once: with fewer, weights are so large that integers are as fast."""


class PackedRows(Sequence["Row"]):
    """The rows of a channel in which nearly all have one denominator, below 2⁶³; `others` are rows that differ.

    >>> import numpy as np
    >>> rows = PackedRows(4, np.array([[1, 3], [0, 4]]), {1: (3, ((0, 1), (1, 2)))})
    >>> list(rows)
    [(4, ((0, 1), (1, 3))), (3, ((0, 1), (1, 2)))]
    >>> rows[0] == (4, ((0, 1), (1, 3))), len(rows)
    (True, 2)
    """

    def __init__(self, unit: int, table: Index, others: Mapping[int, Row]) -> None:
        """`table[s, y]` is the numerator of code y at state s."""
        self._unit, self._others = unit, dict(others)
        kept = table != 0
        self._starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        self._codes = np.concatenate([_codes(kept[start : start + PART]) for start in range(0, len(table), PART)])
        self._numerators = table[kept]

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, s: int) -> Row: ...
    @overload
    def __getitem__(self, s: slice) -> list[Row]: ...
    def __getitem__(self, s: int | slice) -> Row | list[Row]:
        if isinstance(s, slice):
            return [self[i] for i in range(*s.indices(len(self)))]
        if not -len(self) <= s < len(self):
            raise IndexError(s)
        s %= len(self)
        return next(self._part(s, s + 1))

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, len(self), PART):
            yield from self._part(start, min(start + PART, len(self)))

    def _part(self, start: int, stop: int) -> Iterator[Row]:
        places = self._starts[start : stop + 1].tolist()
        first = places[0]
        codes, numerators = (x[first : places[-1]].tolist() for x in (self._codes, self._numerators))
        for s, (a, b) in enumerate(pairwise(places), start):
            if s in self._others:
                yield self._others[s]
            else:
                part = slice(a - first, b - first)
                yield self._unit, tuple(zip(codes[part], numerators[part], strict=True))

    def sums(self, variable: Variable, total: int) -> tuple[int, dict[tuple[int, int], int], list[int]] | None:
        """The denominator that nearly all rows have, Σ_s weight · numerator of these by (value, code), and the other rows.

        Numerators are cut into pieces so short that no sum of weights times pieces has more bits than a float has: what
        floats add up then is exact. None where the weights, whose sum is at most `total`, are too large for that.
        """
        bits = MANTISSA - total.bit_length()
        if bits < FEWEST_BITS:
            return None
        plain = np.ones(len(self), dtype=bool)
        plain[list(self._others)] = False
        chosen = plain[variable.state]
        state, value = variable.state[chosen], variable.value[chosen]
        weight = np.array(variable.weight, dtype=np.float64)[chosen]
        length = self._starts[state + 1] - self._starts[state]
        place = np.repeat(self._starts[state] - np.cumsum(length) + length, length) + np.arange(int(length.sum()))
        width = int(self._codes.max(initial=0)) + 1
        key, weights = np.repeat(value, length) * width + self._codes[place], np.repeat(weight, length)
        numerators = self._numerators[place]
        found: dict[int, int] = {}
        for low in range(0, self._unit.bit_length(), bits):
            piece = (numerators >> low) & ((1 << bits) - 1)
            added = np.bincount(key, piece * weights).tolist()
            for k in np.unique(key).tolist():
                found[k] = found.get(k, 0) + (int(added[k]) << low)
        return self._unit, {divmod(k, width): x for k, x in found.items()}, sorted(self._others)


def _codes(kept: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.nonzero(kept)[1].astype(np.uint32)
