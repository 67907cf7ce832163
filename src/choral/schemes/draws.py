"""Draws from rows of exact probabilities, in bulk, from the operating system's generator. No float, no seed.

A uniform number U is known through its first bits, a word w: U lies in [w, w+1) / 2^bits. When no threshold of the row
lies inside this interval the word decides. Otherwise the rest of U decides: it is uniform, so among the values whose
parts of the row meet the interval one is drawn with weights equal to the lengths of the overlaps, which are integers
over the row's denominator. So every value is drawn with exactly the probability that its row states.
"""

from __future__ import annotations

import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[Any]

BLOCK = 1 << 17
"""Draws that are made at a time: the memory beyond the answer."""
SHORT = 16
"""Bits of a draw that a table answers at once; ties, one in some thousands, are drawn on."""
LONG = 64
"""Bits of a draw that is compared with thresholds, the widest unsigned integer of numpy."""
MOST_TABLES = 64
"""Rows that get a table each: 64 of 2^16 entries stay in a cache."""
MOST_SHORT_VALUES = 256
"""Values in a row with a table: with more, ties with a threshold become frequent."""


class ExactRows:
    """Rows to draw from: mappings from whole numbers to exact weights, which need not sum to one.

    >>> rows = ExactRows([{0: 5}, {1: Fraction(1, 2), 2: Fraction(1, 2)}])
    >>> drawn = rows.draw(np.array([0, 1, 1, 0]))
    >>> drawn[[0, 3]].tolist(), set(drawn[1:3].tolist()) <= {1, 2}
    ([0, 0], True)
    """

    def __init__(self, rows: Sequence[Mapping[int, int | Fraction]]) -> None:
        """Prepare the thresholds. A row may be empty if it is never drawn from."""
        kept = [{value: p for value, p in row.items() if p} for row in rows]
        self._values = [np.array(list(row) or [0], dtype=np.int64) for row in kept]
        most = max(int(values.max()) for values in self._values)
        self.tie = most + 1
        self.dtype = np.min_scalar_type(self.tie)
        self._sums: list[list[int]] = []
        for row in kept:
            scale = math.lcm(*(p.denominator for p in row.values()))
            self._sums.append(list(accumulate(p.numerator * (scale // p.denominator) for p in row.values())) or [1])
        short = len(rows) <= MOST_TABLES and max(map(len, kept)) <= MOST_SHORT_VALUES
        self.bits = SHORT if short else LONG
        self._thresholds = [self._threshold(sums) for sums in self._sums]
        self._table = self._short_table() if short else None

    def draw(self, which: npt.NDArray[np.integer[Any]], names: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """One value per entry of `which`, from the row of that number; the draws are independent.

        With `names`, the value v is returned as names[v].
        """
        out = np.empty(len(which), dtype=self.dtype if names is None else names.dtype)
        for start in range(0, len(which), BLOCK):
            rows = which[start : start + BLOCK]
            part = np.empty(len(rows), dtype=self.dtype)
            words = np.frombuffer(os.urandom(len(rows) * self.bits // 8), dtype=f"<u{self.bits // 8}")
            if self._table is not None:
                places = rows.astype(np.uint32)
                places <<= SHORT
                places |= words
                np.take(self._table, places, out=part, mode="clip")
            else:
                self._search(rows, words, part)
            for i in np.flatnonzero(part == self.tie):
                part[i] = self._settle(int(rows[i]), int(words[i]))
            out[start : start + BLOCK] = part if names is None else np.take(names, part)
        return out

    def _threshold(self, sums: list[int]) -> tuple[Words, Words]:
        """The words in which thresholds lie, in order, and those of them that the word alone does not decide."""
        total = sums[-1]
        split = [divmod(s << self.bits, total) for s in sums[:-1]]
        words = np.array([word for word, _ in split], dtype=np.uint64)
        undecided = np.array(sorted({word for word, rest in split if rest}), dtype=np.uint64)
        return words, undecided

    def _short_table(self) -> Words:
        """For every row and every short word the value that it decides, or the mark of a tie."""
        table = np.empty((len(self._values), 1 << SHORT), dtype=self.dtype)
        every = np.arange(1 << SHORT, dtype=np.uint64)
        for values, (words, undecided), line in zip(self._values, self._thresholds, table, strict=True):
            line[:] = values[np.searchsorted(words, every, side="right")]
            line[undecided.astype(np.int64)] = self.tie
        return table.ravel()

    def _search(self, rows: npt.NDArray[np.integer[Any]], words: Words, out: Words) -> None:
        """The same without tables, for many rows or many values: long words, one search per row that occurs."""
        order = np.argsort(rows, kind="stable")
        numbers, starts = np.unique(rows[order], return_index=True)
        for number, here in zip(numbers, np.split(order, starts[1:]), strict=True):
            thresholds, undecided = self._thresholds[number]
            mine = words[here]
            found = self._values[number][np.searchsorted(thresholds, mine, side="right")]
            if len(undecided):
                near = np.minimum(np.searchsorted(undecided, mine), len(undecided) - 1)
                found = np.where(undecided[near] == mine, self.tie, found)
            out[here] = found

    def _settle(self, row: int, word: int) -> int:
        """The value when a threshold lies inside the word's interval, by the exact lengths of the overlaps."""
        sums = self._sums[row]
        point = word * sums[-1] + secrets.randbelow(sums[-1])  # of the row stretched to length total · 2^bits
        return int(self._values[row][bisect_right(sums, point >> self.bits)])


class LongArcs:
    """Cells of arcs on a circle of many cells, which need not be listed: the cell of a uniform unit of the arc.

    An arc is (left, length, cell): its units are left … left+length-1, and a cell has `cell` units; all are below 2^62. A
    unit is a long word mod `length`; words above the last whole multiple of `length` are drawn again: exactly uniform.

    >>> set(LongArcs([(0, 6, 4), (6, 2, 4)], cells=2).draw(np.array([0, 0, 0])).tolist()) <= {0, 1}
    True
    """

    def __init__(self, arcs: Sequence[tuple[int, int, int]], cells: int) -> None:
        """Prepare the arcs; one of length 0 must not be drawn from."""
        self.left, self.length, self.cell = (np.array(part, dtype=np.uint64) for part in zip(*arcs, strict=True))
        self.last = np.array([(1 << LONG) // (m or 1) * (m or 1) - 1 for _, m, _ in arcs], dtype=np.uint64)
        self.dtype = np.min_scalar_type(cells - 1)

    def draw(self, which: npt.NDArray[np.integer[Any]], names: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """One cell per entry of `which`, from the arc of that number; with `names`, cell s is returned as names[s]."""
        out = np.empty(len(which), dtype=self.dtype if names is None else names.dtype)
        for start in range(0, len(which), BLOCK):
            arcs = which[start : start + BLOCK]
            words = np.frombuffer(os.urandom(8 * len(arcs)), dtype="<u8").copy()
            while len(again := np.flatnonzero(words > self.last[arcs])):
                words[again] = np.frombuffer(os.urandom(8 * len(again)), dtype="<u8")
            part = (self.left[arcs] + words % self.length[arcs]) // self.cell[arcs]
            out[start : start + BLOCK] = part if names is None else np.take(names, part.astype(np.int64))
        return out


def secret_numbers(b: int, count: int) -> list[int]:
    """Uniform numbers below b that nobody keeps."""
    return [secrets.randbelow(b) for _ in range(count)]
