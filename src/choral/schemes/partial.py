"""Blocks of k samples that share one: the paper's partial processing, corrected.

The blocks are 1…k, k…2k-1, 2k-1…3k-2, …; the last may be shorter. Each block has the optimal self-disclosure channel of its
own samples, drawn independently.

**Private.** Let Z_b be the sample shared by the blocks b and b+1. *The codes to the right of Z_b are independent of it*: by
induction from the right, p(y_{b+1}, y_{>b+1} | z_b) = Σ_z p(z, y_{b+1} | z_b) p(y_{>b+1} | Z_{b+1} = z), where the last
factor does not depend on z, so this is p(y_{b+1} | z_b) p(y_{>b+1}) = p(y_{b+1}) p(y_{>b+1}). The same holds to the left.
Given all samples of a block, the codes to its right depend on it through its last sample alone, those to its left through
its first; so neither depends on it at all, and for a sample X of the block
p(x, y) = p(x, y_b) Π_{c≠b} p(y_c) = p(x) Π_c p(y_c).

**Information.** The codes are independent, and independent given the samples: the information is the sum over the blocks.

Windows of k ≥ 3 that move by one sample, as the paper has them, share k-1 ≥ 2 samples and *leak*:
`leaking_windows_example` shows it. For k = 2 the two schemes are one.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from choral.describe.joint import Joint
from choral.describe.numbers import over_common_denominator
from choral.design.disclose import self_disclose
from choral.design.result import Disclosure
from choral.errors import LawError
from choral.schemes.draws import ExactRows
from choral.schemes.law import DeclaredLaw, Marginal, Whole, check_size, declared, names_of, one_dimension, whole_number


class Blocks:
    """One code per block of k samples; all codes together are independent of every single sample.

    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> scheme = Blocks(law, k=2)
    >>> round(scheme.information(4), 3)
    1.196
    >>> len(scheme.encode([0, 1, 1, 0]))
    3
    """

    def __init__(self, law: DeclaredLaw, k: int, tol: float = 1e-6) -> None:
        """`tol` is that of `self_disclose`: how far a block's channel may be from the best, in bits."""
        self.law = declared(law)
        self.k = whole_number(k, "k", 2)
        self.tol = tol
        self._channels: dict[tuple[Marginal, ...], Disclosure] = {}
        self._draws: dict[tuple[Marginal, ...], ExactRows] = {}

    def blocks(self, n: int | None = None) -> list[tuple[int, int]]:
        """First and last position of each block, from 0.

        >>> Blocks(DeclaredLaw.bernoulli(0.5, "a fair coin"), 3).blocks(6)
        [(0, 2), (2, 4), (4, 5)]
        """
        count = len(self.law.sized(n))
        if self.k > count:
            raise LawError(f"k = {self.k}, but there are {count} samples.", "A block has at most all of them.")
        return [(i, min(i + self.k - 1, count - 1)) for i in range(0, count - 1, self.k - 1)]

    def channel(self, marginals: tuple[Marginal, ...]) -> Disclosure:
        """The optimal private channel of independent samples with these marginals, certified."""
        if marginals not in self._channels:
            block = DeclaredLaw([dict(zip(m.values, m.p, strict=True)) for m in marginals], self.law.source)
            self._channels[marginals] = self_disclose(block.joint(), tol=self.tol)
        return self._channels[marginals]

    def information(self, n: int | None = None) -> float:
        """I(X1…Xn;Y) in bits: the sum of what the blocks disclose, each rounded down by its certificate."""
        marginals = self.law.sized(n)
        counted = Counter(marginals[i : j + 1] for i, j in self.blocks(len(marginals)))
        return math.fsum(count * self.channel(block).information for block, count in counted.items())

    def joint(self, n: int | None = None) -> Joint:
        """The exact law of X1…Xn and of the codes Y1, Y2, …: what independence is tested on."""
        marginals = self.law.sized(n)
        law = self.law.joint(len(marginals))
        blocks = self.blocks(len(marginals))
        channels = [self.channel(marginals[i : j + 1]) for i, j in blocks]
        check_size(len(law) * math.prod(d.codes for d in channels), "cells")
        cells: dict[tuple[Any, ...], Fraction] = {}
        for x, p in law.items():
            parts = [d.channel_of(x[i : j + 1]) for d, (i, j) in zip(channels, blocks, strict=True)]
            for y in product(*(range(len(part)) for part in parts)):
                mass = math.prod((part[c] for part, c in zip(parts, y, strict=True)), start=p)
                if mass:
                    cells[(*x, *y)] = mass
        names = [*names_of(len(marginals)), *names_of(len(blocks), "Y")]
        return Joint.from_counts(cells, names, [*law.alphabets, *(tuple(range(d.codes)) for d in channels)])

    def encode(self, data: Any) -> Whole:
        """One code per block, drawn exactly from the operating system's generator. Encode a dataset once."""
        values = list(one_dimension(data))
        self.law.rows_of(values)  # refuses what cannot occur
        marginals = self.law.sized(len(values))
        blocks = self.blocks(len(values))
        kinds: dict[tuple[Marginal, ...], list[int]] = {}
        for number, (i, j) in enumerate(blocks):
            kinds.setdefault(marginals[i : j + 1], []).append(number)
        codes: Whole = np.empty(len(blocks), dtype=np.int64)
        for kind, numbers in kinds.items():
            disclosure = self.channel(kind)
            places = {state: s for s, state in enumerate(disclosure.states)}
            states = [places[tuple(values[blocks[b][0] : blocks[b][1] + 1])] for b in numbers]
            codes[numbers] = self._rows(kind).draw(np.array(states, dtype=np.int64))
        return codes

    def _rows(self, kind: tuple[Marginal, ...]) -> ExactRows:
        if kind not in self._draws:
            rows = self.channel(kind).exact_channel.rows
            self._draws[kind] = ExactRows([{y: Fraction(w, total) for y, w in row} for total, row in rows])
        return self._draws[kind]


def leaking_windows_example(q: Any = Fraction(3, 10)) -> Joint:
    """**Not private.** Four Bernoulli(q) samples with the optimal code on (1,2,3) and the same code on (2,3,4).

    This is the paper's partial processing with k = 3. Each code is independent of each sample; together they are not,
    because a code that says nothing about X_2 alone says something about (X_2, X_3).

    >>> J = leaking_windows_example()
    >>> J.independent("X2", "Y1"), J.independent("X2", "Y2"), J.independent("X2", "Y1, Y2")
    (True, True, False)
    """
    law = DeclaredLaw.bernoulli(q, "an example")
    code = self_disclose(law.joint(3))
    cells: dict[tuple[Any, ...], Fraction] = {}
    for x, p in law.joint(4).items():
        for y1, a in enumerate(code.channel_of(x[:3])):
            for y2, b in enumerate(code.channel_of(x[1:])):
                if a and b:
                    cells[(*x, y1, y2)] = p * a * b
    weights, _ = over_common_denominator(list(cells.values()))
    return Joint.from_counts(dict(zip(cells, weights, strict=True)), [*names_of(4), "Y1", "Y2"])
