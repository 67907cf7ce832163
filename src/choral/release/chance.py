"""What chance adds to what codes seem to tell of the records that they were made from, and how far an estimate may be off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from choral.problem.kernel import Floats


@dataclass(frozen=True)
class Sized:
    """How well codes tell how large a number is, of records that had no part in making them.

    `variance` is that of the number, `explained` what the codes' means take off it. `error` is the standard error of their
    quotient, times the variance: how far what is explained may be off, but for what the variance itself is.
    """

    variance: float
    explained: float
    error: float

    @property
    def off(self) -> tuple[float, float]:
        """How far the number is from its mean, as a root mean square, and from what the code says; a standard error is taken
        off what is explained, since few records may flatter by chance.
        """
        left = self.variance - max(0.0, self.explained - self.error)
        return math.sqrt(max(0.0, self.variance)), math.sqrt(max(0.0, left))


def told_of_size(
    cells: Sequence[tuple[int, float, float, float]],
    shares: Floats,
    mass: Floats,
    said: Floats,
    records: int,
    table: int,
) -> Sized:
    """What the means `said` of codes, which have these `shares` of each state, tell about records of some states.

    cells    a state, how many records it has, the sum of their numbers and that of the squares
    mass     the probabilities of the codes
    records  on how many records this rests
    table    from how many the means were taken, these among them: a record had its part in the mean of its own code, and is
             further from the mean of the others by 1 / (1 - its part)
    """
    state = np.array([row[0] for row in cells])
    n, total, square = np.array([row[1:] for row in cells]).T
    whole = n.sum()
    middle = total.sum() / whole
    square, total = square - 2 * middle * total + middle**2 * n, total - middle * n  # from the middle, for the digits
    means = said - middle
    share = shares[:, state]
    part = np.minimum(share / np.maximum(mass * table, 1e-300)[:, None], 0.5)
    left = (share * (square - 2 * means[:, None] * total + means[:, None] ** 2 * n) / (1 - part) ** 2).sum()
    variance = float(square.sum() / whole)
    # The share r that is explained is off by the mean of 2 a w - b - r w², over the variance: its spread in a cell of mean m
    # and variance s² is that of a normal w.
    a, b = means @ share, means**2 @ share
    r = float((2 * a * total - b * n).sum() / square.sum()) if square.sum() else 0.0
    m, s = total / n, np.maximum(square / n - (total / n) ** 2, 0.0)
    off = 2 * a * m - b - r * (m**2 + s)
    spread = float((n * (off**2 + 4 * (a - r * m) ** 2 * s + 2 * r**2 * s**2)).sum() / whole)
    return Sized(variance, variance - float(left / whole), math.sqrt(spread / records))


def told_by_chance(nullity: int, codes: int, values: int, records: int) -> float:
    """The bits by which a private channel that is the best for some records tells more about them than about others.

    The law of m values of the target in a state differs on n records from that of all by some (m-1)/(2 n ln 2) bits, in
    each of the nul(P) directions that a private code can tell apart. Of such a cloud of m-1 dimensions k codes keep what k
    cells keep: all but k^(-2/(m-1)).
    """
    if values < 2:
        return 0.0
    kept = 1 - math.pow(codes, -2 / (values - 1))
    return nullity * (values - 1) * kept / (2 * records * math.log(2))


def standard_error(weights: Mapping[Any, Mapping[int, int]], records: int) -> float:
    """That of the bits that codes tell about a target, from this many records; `weights` are those of codes, for each value.

    The bits are the mean of log p(w, y) / p(w) p(y) over records; the error is that of a mean.

    >>> standard_error({0: {0: 50}, 1: {1: 50}}, 100)
    0.0
    >>> round(standard_error({0: {0: 50}, 1: {0: 25, 1: 25}}, 100), 4)  # log2 of 4/3, 2/3 and 2, in 50, 25 and 25 of 100
    0.057
    """
    whole = sum(n for row in weights.values() for n in row.values())
    coded: dict[int, int] = {}
    for row in weights.values():
        for code, n in row.items():
            coded[code] = coded.get(code, 0) + n
    bits = [
        (n / whole, math.log2(Fraction(n * whole, sum(row.values()) * coded[code])))
        for row in weights.values()
        for code, n in row.items()
        if n
    ]
    mean = math.fsum(p * x for p, x in bits)
    return math.sqrt(math.fsum(p * (x - mean) ** 2 for p, x in bits) / records)
