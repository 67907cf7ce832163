"""One exact draw per record: a fixed function of the key and the record's block of sixteen bytes.

The bits of AES under keys derived for level 0, 1, 2, … on the block are the binary digits of a number U, uniform on
[0, 1) to everyone without the key. A record in state s gets the code j for which U lies in the j-th part of [0, 1) cut
in the proportions of row s. So the draw is defined by the channel, the key and the block alone, whatever the engine, the
order and the batch; the same record gets the same code for ever.

**Exact.** U is known through its leading bits, a word w of b bits: U lies in [w, w+1) / 2^b. A cut c = n/d of the row is
to the left of this interval, and so of U, if ⌊2^b c⌋ < w, or if ⌊2^b c⌋ = w and 2^b c is whole; it is to the right if
⌊2^b c⌋ > w. In the remaining case, a tie, more bits are looked at. The number of cuts to the left is the code's place in
the row. It is done with a table over the first few bits, then with 64 bits by bisection, and then, in 2⁻⁶⁴ of cases, with
128, 256, … bits in Python's integers. Every step decides only what all further bits agree with, so all of them compute
the same function, and P(code j) is exactly n_j / d for a uniform U. No float, no generator with a state.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, count
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.ledger.identity import Blocks, Words, encrypt, subkey
from choral.problem.solution import ExactChannel, Row

Codes = npt.NDArray[np.int32]
States = npt.NDArray[np.integer[Any]]

UNSEEN = -1
"""The state of a record whose values were not seen when the release was fitted."""
AT_ONCE = 1 << 16
"""Records per step: what a processor's cache holds."""
MOST_TABLE = 1 << 22
"""Entries of the table over the first bits: as many bits as fit, for all states together."""
MOST_BITS = 13
"""… and no more bits than these: one draw in 2¹³ per boundary is then undecided, and looked at in full."""
TIE = -2
"""In the table: the first bits do not decide between codes. Codes are from 0, and -1 is `UNSEEN`."""


@dataclass(frozen=True)
class Sampler:
    """A channel prepared for drawing.

    `words` are the 64-bit words of the cuts of all rows, one after the other, those of state s from `starts[s]` to
    `starts[s + 1]`; `open_` says of a cut that some cut of its row with the same word goes on after 64 bits.

    >>> channel = ExactChannel(2, ((1, ((0, 1),)), (3, ((0, 1), (1, 2)))))
    >>> sampler = Sampler.of(channel)
    >>> blocks = np.arange(16 * 300, dtype=np.uint32).astype(np.uint8).reshape(300, 16)
    >>> codes = sampler.draw(np.zeros(300, np.int32), blocks, bytes(32))
    >>> set(codes.tolist())
    {0}
    """

    codes: int
    names: tuple[tuple[int, ...], ...]
    sums: tuple[tuple[int, ...], ...]
    bits: int
    table: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    words: Words
    open_: npt.NDArray[np.bool_]
    flat_names: Codes

    @classmethod
    def of(cls, channel: ExactChannel) -> Sampler:
        """Prepare the cuts of every row. Codes of probability zero are never drawn."""
        names: list[tuple[int, ...]] = []
        sums: list[tuple[int, ...]] = []
        for denominator, entries in channel.rows:
            kept = [(code, n) for code, n in entries if n]
            names.append(tuple(code for code, _ in kept))
            sums.append(tuple(accumulate(n for _, n in kept)))
            if sums[-1][-1:] != (denominator,):
                raise ValueError(f"a row of the channel does not sum to its denominator {denominator}")
        starts = np.zeros(len(sums) + 1, dtype=np.int64)
        np.cumsum([len(row) - 1 for row in sums], out=starts[1:])
        words, open_ = np.zeros(int(starts[-1]), dtype=np.uint64), np.zeros(int(starts[-1]), dtype=np.bool_)
        bits = max(0, min(MOST_BITS, (MOST_TABLE // max(1, len(sums))).bit_length() - 1))
        table = np.full((len(sums), 1 << bits), TIE, dtype=np.int32)
        for s, row in enumerate(sums):
            cuts = [divmod(part << 64, row[-1]) for part in row[:-1]]
            going_on = {word for word, rest in cuts if rest}
            here = slice(int(starts[s]), int(starts[s + 1]))
            words[here] = [word for word, _ in cuts]
            open_[here] = [word in going_on for word, _ in cuts]
            _fill(table[s], row, names[s], bits)
        flat_names = np.array([code for row in names for code in row], dtype=np.int32)
        return cls(channel.codes, tuple(names), tuple(sums), bits, table.reshape(-1), starts, words, open_, flat_names)

    def draw(self, states: States, blocks: Blocks, key: bytes) -> Codes:
        """The codes of records in these states (positions in the channel's rows) with these blocks."""
        if len(states) and not (int(states.min()) >= 0 and int(states.max()) < len(self.sums)):
            raise ValueError("a state is not a row of the channel")
        first = subkey(key, "level", b"0")
        out = np.empty(len(states), dtype=np.int32)
        for start in range(0, len(states), AT_ONCE):
            here = slice(start, start + AT_ONCE)
            drawn = encrypt(first, blocks[here])
            places = states[here].astype(np.int64)
            places <<= self.bits
            places |= drawn.view(">u2")[:, 0] >> (16 - self.bits)
            part = out[here]
            np.take(self.table, places, out=part, mode="clip")
            undecided = np.flatnonzero(part == TIE)
            if len(undecided):
                words = drawn.view(">u8")[undecided, 0].astype(np.uint64)
                part[undecided] = self._search(states[here][undecided], words, blocks[here][undecided], key)
        return out

    def row_words(self) -> Words:
        """64 bits that stand for each state's row: records with the same word and block always get the same code.

        The last is the word of the state UNSEEN, so that `row_words()[states]` works for all.
        """
        words = []
        for names, sums in zip((*self.names, ("unseen",)), (*self.sums, (1,)), strict=True):
            common = math.gcd(*sums)
            text = repr((names, [part // common for part in sums]))
            words.append(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big"))
        return np.array(words, dtype=np.uint64)

    def _search(self, states: States, words: Words, blocks: Blocks, key: bytes) -> Codes:
        """The codes by 64 bits: a bisection for the number of cuts at or left of each word, all records in step."""
        low, high = self.starts[states], self.starts[states + 1]
        begin = low
        padded = np.append(self.words, np.uint64(0))
        while (low < high).any():
            middle = (low + high) >> 1
            left = (padded[middle] <= words) & (low < high)
            low, high = np.where(left, middle + 1, low), np.where(left, high, np.maximum(middle, low))
        out: Codes = self.flat_names[low + states]
        near = np.flatnonzero(low > begin)
        last = low[near] - 1
        for i in near[(self.words[last] == words[near]) & self.open_[last]].tolist():
            out[i] = self._settle(int(states[i]), blocks[i : i + 1], key)
        return out

    def _settle(self, state: int, block: Blocks, key: bytes) -> int:
        """The code by as many bits as it takes: the numbers of cuts left of both ends of the interval must agree."""
        sums, prefix = self.sums[state], 0
        for level in count():
            drawn = encrypt(subkey(key, "level", b"%d" % level), block)
            prefix = prefix << 128 | int.from_bytes(drawn.tobytes(), "big")
            bits = 128 * (level + 1)
            place = bisect_right(sums, prefix * sums[-1] >> bits)
            if place == bisect_right(sums, (prefix + 1) * sums[-1] - 1 >> bits):
                return self.names[state][place]
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class PairSampler:
    """A channel of pairs (first code, second code), drawn one after the other, so that the first code is the one told before.

    `earlier` draws the first code: its rows are those of the earlier release, and with that release's key its draws are
    too. `later` has a row for every state and first code, p(pair | state, first code), and `place` says where.
    P(pair | s) = P(first | s) · P(pair | s, first) exactly, and the keys of the two are independent.
    """

    earlier: Sampler
    later: Sampler
    place: npt.NDArray[np.int64]

    @classmethod
    def of(cls, channel: ExactChannel, first: Sequence[int]) -> PairSampler:
        """The pairs of this channel, where pair y has the first code `first[y]`."""
        codes = max(first) + 1
        rows: list[Row] = []
        later: list[Row] = []
        place = np.full((len(channel.rows), codes), -1, dtype=np.int64)
        for s, (denominator, entries) in enumerate(channel.rows):
            parts: dict[int, list[tuple[int, int]]] = {}
            for pair, n in entries:
                if n:
                    parts.setdefault(first[pair], []).append((pair, n))
            rows.append((denominator, tuple((code, sum(n for _, n in parts[code])) for code in sorted(parts))))
            for code, part in parts.items():
                place[s, code] = len(later)
                later.append((sum(n for _, n in part), tuple(part)))
        return cls(
            Sampler.of(ExactChannel(codes, tuple(rows))), Sampler.of(ExactChannel(channel.codes, tuple(later))), place
        )

    @property
    def codes(self) -> int:
        """How many pairs there are."""
        return self.later.codes

    def draw(self, states: States, blocks: Blocks, key: bytes, earlier_key: bytes) -> Codes:
        """The pairs of records in these states with these blocks."""
        first = self.earlier.draw(states, blocks, earlier_key)
        return self.later.draw(self.place[states, first], blocks, key)


def codes_of(states: States, blocks: Blocks, sampler: Sampler | PairSampler, *keys: bytes) -> Codes:
    """The codes of a batch on any engine; a record in the state UNSEEN gets the extra code `sampler.codes`.

    There is one key, and for pairs that of the earlier release after it.
    """
    unseen = states == UNSEEN
    if not unseen.any():
        return sampler.draw(states, blocks, *keys)
    out = np.full(len(states), sampler.codes, dtype=np.int32)
    seen = np.flatnonzero(~unseen)
    out[seen] = sampler.draw(states[seen], blocks[seen], *keys)
    return out


def _fill(line: npt.NDArray[np.int32], sums: tuple[int, ...], names: tuple[int, ...], bits: int) -> None:
    """For every word of the first bits the code that it decides; words inside which a cut lies keep the mark of a tie."""
    cuts = [divmod(part << bits, sums[-1]) for part in sums[:-1]]
    start = 0
    for (word, rest), code in zip([*cuts, (1 << bits, 0)], names, strict=True):
        line[start:word] = code
        start = max(start, word + bool(rest))
