"""What a public card may say of counts, so that no number on it tells a count of records closely (docs/card-format.md).

**The rule.** Let k be `min_count` (at least 1), and n(w, y) = N p(w, y) how many records with target value w the channel is
expected to give code y. All numbers of a card are computed from the n(w, y) rounded to multiples of 2k (from k on upwards),
and from nothing else. Values whose counts are all rounded to 0 are pooled, if they are three or more; if they are fewer, or
the pool is rounded to 0 too, they are left out. There are no numbers at all unless k - 1 ≤ N - L and k - 1 ≤ H - N, where
L and H are the least and the largest number of records that the rounded counts allow.

**What follows.** All tables with the same rounded counts have the same card. A count that is rounded to 0 can be 0 … k - 1,
any other has 2k values, and the count of a pool that is not 0 at least 2k - 2, where k is above 1: so each has k values or
more, whatever the others are. Who also knows N (the codes tell how many records have one) knows besides that the counts sum
to N. Then for any set S of cells but none and all, the values of Σ_S n run from L_S + max(0, N - L - C) to
L_S + min(C_S, N - L), where C_S and C are the largest less the least sums of the cells in S and of the others. Both are at
least k - 1, so these are 1 + min(C_S, C, N - L, H - N) values or more, which is at least k: for a single n(w, y), for n(y),
and for n(w).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from choral.describe.entropy import information_of

Probabilities = Sequence[Sequence[Fraction]]
"""p(w, y): for every code, the target values."""


FEWEST_POOLED = 3
"""Two values that have fewer than k records each have k to 2k - 2 together, too few possible counts to tell."""


@dataclass(frozen=True)
class Rounded:
    """Counts as a card may tell them: `counts[y]` has those of the `named` values, and of all others if there is `other`."""

    step: int
    named: tuple[int, ...]
    other: bool
    counts: tuple[tuple[Fraction, ...], ...]

    @property
    def total(self) -> Fraction:
        """The records that are counted."""
        return sum((n for row in self.counts for n in row), Fraction(0))

    @property
    def records(self) -> int:
        """The same as a whole number: a multiple of the step."""
        return int(self.total)

    @property
    def decimals(self) -> int:
        """The fewest decimals, at least one, that tell shares of one step apart."""
        found = 1
        while 10**found * self.step < self.total:
            found += 1
        return found

    @property
    def p_y(self) -> list[Fraction]:
        """The probability of each code."""
        return [sum(row, Fraction(0)) / self.total for row in self.counts]

    @property
    def p_w_given_y(self) -> list[list[Fraction] | None]:
        """The posterior for each code; None where a code has no count above zero."""
        return [[n / sum(row) for n in row] if any(row) else None for row in self.counts]

    @property
    def information(self) -> float:
        """I(W;Y) in bits under these counts."""
        pairs = {(y, w): n for y, row in enumerate(self.counts) for w, n in enumerate(row)}
        return max(0.0, information_of(pairs))


def rounded(joint: Probabilities, records: int, min_count: int) -> Rounded | None:
    """The counts as a card may tell them, or None where it may tell none.

    `joint` has one column where only the law of the code is told.
    """
    least = max(1, min_count)
    step = 2 * least
    values = range(len(joint[0]))
    named = tuple(w for w in values if any(records * row[w] >= least for row in joint))
    columns = [[row[w] for row in joint] for w in named]
    unnamed = [w for w in values if w not in named]
    pool = [sum((row[w] for w in unnamed), Fraction(0)) for row in joint]
    other = len(unnamed) >= FEWEST_POOLED and any(records * p >= least for p in pool)
    columns += [pool] if other else []
    counts = [
        [step * math.floor(records * p / step + Fraction(1, 2)) for p in row] for row in zip(*columns, strict=True)
    ]
    most_pooled = len(unnamed) * (least - 1)
    lowest = sum(max(0, n - least) for row in counts for n in row)
    highest = sum(
        min(n + least - 1, most_pooled if w == len(named) else records) for row in counts for w, n in enumerate(row)
    )
    enough = len(columns) >= min(2, len(values))
    if not enough or min(records - lowest, highest - records) < least - 1:
        return None
    return Rounded(step, named, other, tuple(tuple(map(Fraction, row)) for row in counts))
