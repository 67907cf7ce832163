"""Fractions that move together until all of them are whole, while sums of them are held: the rounding of Beck and Fiala.

The held sums are equations with coefficients 0 and 1. Independent columns are kept as in the simplex method: a number that
floats and is not among them is a combination of them, exactly, and moving along that combination holds all sums. The inverse
of the basis is kept modulo a prime, in numpy; the coefficients of a combination are read off it as fractions, and *checked*
in integers before anything moves, so the prime decides how fast it goes and nothing else. The way is laid down by the order
in which numbers were added, so all machines give one answer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from choral.errors import ProblemError

PRIMES = (2**31 - 1, 2**31 - 19, 2**31 - 61)
"""Products of two remainders fit in 64 bits. The next is taken if columns are dependent modulo one and not in truth."""
MOST_SUMS = 1000
"""Sums that are held at once: their square is about the time of a step, of which there are as many; some minutes."""

At: TypeAlias = tuple[int, int]
"""The name of a number: a cell and a code."""
Name: TypeAlias = "At | int"
"""Of a column: a number, or the sum that was let go, whose slack it is."""
Column: TypeAlias = tuple[int, ...]
"""The equations in which a number stands."""


class _UnluckyPrimeError(Exception):
    """Columns are dependent modulo the prime, and not in truth; or a part is zero modulo it, and not in truth."""


class Floating:
    """Fractions in [0, 1] by name, each in a row whose sum is whole and kept, and in sets whose sums are held.

    A set may be let go when fewer than `few` of its numbers float; a sum of `also` whenever that is needed.
    """

    def __init__(self, parts: Mapping[At, Fraction], few: int) -> None:
        self.parts = dict(parts)
        self._few = few
        self._number: dict[Hashable, int] = {}
        self._rank: list[int] = []  # 0: a row, never let go; 1: a set; 2: a sum that is held where it can be
        self._columns: dict[At, Column] = {}

    def add(self, at: At, row: Hashable, sets: Sequence[Hashable], also: Sequence[Hashable]) -> None:
        """The number called `at` is in this row and these sets."""
        if not 0 < self.parts[at] < 1:
            return
        column = []
        for rank, names in enumerate(([row], sets, also)):
            for name in names:
                if name not in self._number:
                    self._number[name] = len(self._rank)
                    self._rank.append(rank)
                column.append(self._number[name])
        self._columns[at] = tuple(column)

    def settle(self) -> None:
        """Make every number whole: 0 or 1."""
        sums = len(self._rank)
        if sums > MOST_SUMS:
            raise ProblemError(
                f"Quotas for these states, codes and protected groups have {sums} sums to hold, more than {MOST_SUMS}.",
                "Fit with fewer codes (--codes) or coarser bins, or draw by lots.",
            )
        before = dict(self.parts)
        for prime in PRIMES:
            self.parts = dict(before)
            try:
                return self._settled(_Basis(sums, prime))
            except _UnluckyPrimeError:
                continue
        raise ProblemError("The quotas cannot be rounded: three primes divide what they should not.", "Draw by lots.")

    def _settled(self, basis: _Basis) -> None:
        held = Counter(i for column in self._columns.values() for i in column)
        for at, column in self._columns.items():
            self._enter(at, column, basis, held)
        kept = set(range(len(self._rank)))
        while basis.floating:
            few = [
                (held[i], self._rank[i], i)
                for i in kept
                if self._rank[i] == 2 or (self._rank[i] == 1 and held[i] < self._few)
            ]
            if not few:
                raise AssertionError("by the proof in `quota_rounding` there is a set with few floating numbers")
            *_, chosen = min(few)
            kept.remove(chosen)
            self._enter(chosen, (chosen,), basis, held)

    def _enter(self, name: Name, column: Column, basis: _Basis, held: Counter[int]) -> None:
        """A number, or the slack of a sum: made one of the basis, after a move until something is whole if it is none."""
        rates = basis.rates(column)
        locked = basis.first_locked(rates)
        if locked is not None:
            basis.exchange(locked, rates, name, column)
            return
        whole = self._move(name, basis.combination(rates, column))
        for at in whole:
            held.subtract(self._columns[at])
        places = [basis.place[at] for at in whole if at != name]
        for place in places:
            basis.lock(place)
        if name not in whole:
            basis.exchange(places[0], rates, name, column)

    def _move(self, name: Name, combination: Mapping[Name, Fraction]) -> list[At]:
        """Move a number, and the others so that all sums are held, until the first is whole; which are whole now.

        It goes up or down, to where that is sooner.
        """
        rates = {name: Fraction(1), **{other: -rate for other, rate in combination.items()}}
        numbers = [(at, rate) for at, rate in rates.items() if not isinstance(at, int)]
        up = min((1 - self.parts[at]) / rate if rate > 0 else self.parts[at] / -rate for at, rate in numbers)
        down = min(self.parts[at] / rate if rate > 0 else (1 - self.parts[at]) / -rate for at, rate in numbers)
        step = up if up <= down else -down
        for at, rate in numbers:
            self.parts[at] += step * rate
        return [at for at, _ in numbers if self.parts[at] in (0, 1)]


class _Basis:
    """As many independent columns as there are equations, and the inverse of them modulo a prime.

    Columns that may not move are locked: at first one for each equation by itself, and later those of whole numbers.
    """

    def __init__(self, sums: int, prime: int) -> None:
        self.prime = prime
        self.inverse: npt.NDArray[np.int64] = np.eye(sums, dtype=np.int64)
        self.names: list[Name | None] = [None] * sums
        self.columns: list[Column] = [(i,) for i in range(sums)]
        self.place: dict[Name, int] = {}
        self.locked = np.ones(sums, dtype=np.bool_)

    @property
    def floating(self) -> bool:
        """Whether a number is among the columns that may move."""
        return any(not isinstance(name, int) for name in self.place)

    def rates(self, column: Column) -> npt.NDArray[np.int64]:
        """A column as a combination of the basis, modulo the prime."""
        found: npt.NDArray[np.int64] = self.inverse[:, list(column)].sum(axis=1) % self.prime
        return found

    def first_locked(self, rates: npt.NDArray[np.int64]) -> int | None:
        """The first place of a locked column in a combination."""
        found = np.flatnonzero(self.locked & (rates != 0))
        return int(found[0]) if len(found) else None

    def lock(self, place: int) -> None:
        """The number of this column is whole: it does not move any more."""
        name = self.names[place]
        if name is not None:
            del self.place[name]
        self.names[place], self.locked[place] = None, True

    def exchange(self, place: int, rates: npt.NDArray[np.int64], name: Name, column: Column) -> None:
        """A column in place of another, in which it has a part that is not zero."""
        prime = self.prime
        if not rates[place]:
            raise _UnluckyPrimeError
        line = self.inverse[place] * pow(int(rates[place]), -1, prime) % prime
        where = np.flatnonzero(line)
        others = np.flatnonzero(rates)
        others = others[others != place]
        if len(others):
            block = np.ix_(others, where)
            self.inverse[block] = (self.inverse[block] - rates[others, None] * line[where] % prime) % prime
        self.inverse[place] = line
        self.names[place], self.columns[place], self.locked[place] = name, column, False
        self.place[name] = place

    def combination(self, rates: npt.NDArray[np.int64], column: Column) -> dict[Name, Fraction]:
        """The combination of columns that may move which a column is, in truth; raises where there is none.

        It is known modulo the prime. If that is too little to read fractions off, it is lifted to a power of it: what is
        left of the column, divided by the prime, is a combination modulo the prime again (Dixon's way).
        """
        digits = rates.tolist()
        found, power = {place: digit for place, digit in enumerate(digits) if digit}, self.prime
        left = dict.fromkeys(column, 1)
        while True:
            if any(self.locked[place] for place in found):
                raise _UnluckyPrimeError
            fractions = {place: fraction_of(value, power) for place, value in found.items()}
            if self._is(fractions, column):
                names = ((self.names[place], rate) for place, rate in fractions.items())
                return {name: rate for name, rate in names if name is not None}
            if power > self._most:
                raise _UnluckyPrimeError
            left = self._remainder(left, digits)
            digits = self._digits(left)
            for place, digit in enumerate(digits):
                if digit:
                    found[place] = found.get(place, 0) + power * digit
            power *= self.prime

    @property
    def _most(self) -> int:
        """Beyond twice the square of any determinant of these columns: then fractions are what they seem (Hadamard)."""
        return 2 * math.prod(len(column) for column in self.columns)

    def _is(self, fractions: Mapping[int, Fraction], column: Column) -> bool:
        """Whether a column is this combination, in integers."""
        common = math.lcm(*(rate.denominator for rate in fractions.values()))
        sums = Counter(dict.fromkeys(column, -common))
        for place, rate in fractions.items():
            part = rate.numerator * (common // rate.denominator)
            for i in self.columns[place]:
                sums[i] += part
        return not any(sums.values())

    def _remainder(self, left: Mapping[int, int], digits: Sequence[int]) -> dict[int, int]:
        """What is left of a column after these digits, over the prime."""
        sums = Counter(left)
        for place, digit in enumerate(digits):
            if digit:
                for i in self.columns[place]:
                    sums[i] -= digit
        return {i: value // self.prime for i, value in sums.items() if value}

    def _digits(self, left: Mapping[int, int]) -> list[int]:
        where = list(left)
        values = np.array([value % self.prime for value in left.values()], dtype=np.int64)
        found: list[int] = ((self.inverse[:, where] * values % self.prime).sum(axis=1) % self.prime).tolist()
        return found


def fraction_of(remainder: int, prime: int) -> Fraction:
    """The fraction of small numerator and denominator with this remainder modulo a prime, if there is one.

    >>> fraction_of(pow(3, -1, 2**31 - 1) * 2 % (2**31 - 1), 2**31 - 1), fraction_of(2**31 - 2, 2**31 - 1)
    (Fraction(2, 3), Fraction(-1, 1))
    """
    most = math.isqrt(prime // 2)
    a, b, u, v = prime, remainder, 0, 1
    while b > most:
        q = a // b
        a, b, u, v = b, a - q * b, v, u - q * v
    return Fraction(b, v) if 0 < abs(v) <= most else Fraction(remainder)
