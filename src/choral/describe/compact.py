"""Laws that are never written out: many samples that are alike given W, or different sensors seen through a score.

Both keep W, the samples, and what the channel looks at: the *type* (how often each value occurs) of exchangeable
samples, or a whole-numbered *score* that is a sum over sensors.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import Any

from choral.describe import numbers
from choral.describe.channels import Channel
from choral.errors import ColumnError, LawError, TooLargeError, did_you_mean

MOST_TYPES = 60_000
"""More types than this are refused before they are listed."""
MOST_BITS = 10**9
"""Exact weights of all types may take this many bits together; more are refused before they are computed."""


@dataclass(frozen=True)
class Exchangeable:
    """W with a prior, and n samples that are independent given W, all through the same channel.

    A channel may be taken to depend on the samples through their type alone (docs/mathematics.md), so C(n+m-1, m-1) states
    stand for mⁿ. Nothing here ever lists mⁿ things.

    >>> from choral.describe.channels import bsc
    >>> E = Exchangeable([Fraction(2, 3), Fraction(1, 3)], bsc(Fraction(1, 10)), 1000)
    >>> E.number_of_types
    1001
    """

    prior: tuple[Fraction, ...]
    channel: tuple[tuple[Fraction, ...], ...]
    n: int
    values: tuple[Hashable, ...] = ()
    target_values: tuple[Hashable, ...] = ()

    def __init__(
        self,
        prior: Sequence[Any],
        channel: Sequence[Sequence[Any]],
        n: int,
        values: Sequence[Hashable] | None = None,
        target_values: Sequence[Hashable] | None = None,
    ) -> None:
        """Prior of W, one row per value of W, and the number of samples; exact or floats."""
        law = numbers.distribution(prior, "the prior")
        rows = numbers.channel(channel)
        if len(rows) != len(law):
            raise LawError(
                f"The channel has {len(rows)} rows but the prior has {len(law)} values.",
                "A channel has one row per value of W.",
            )
        if isinstance(n, bool) or not hasattr(n, "__index__") or n < 2:
            raise LawError(
                f"n = {n} samples.",
                "Give a whole number of at least 2: a single sample that is protected leaves nothing to tell.",
            )
        outputs: Any = channel.outputs if isinstance(channel, Channel) else range(len(rows[0]))
        outputs = outputs if values is None else values
        object.__setattr__(self, "prior", law)
        object.__setattr__(self, "channel", rows)
        object.__setattr__(self, "n", index(n))
        object.__setattr__(self, "values", _alphabet(outputs, len(rows[0]), "the samples"))
        named = range(len(law)) if target_values is None else target_values
        object.__setattr__(self, "target_values", _alphabet(named, len(law), "W"))

    @property
    def number_of_types(self) -> int:
        """C(n+m-1, m-1): how many types there are."""
        return math.comb(self.n + len(self.values) - 1, len(self.values) - 1)

    def check_size(self, most: int = MOST_TYPES) -> None:
        """Raise unless the types can be listed."""
        if self.number_of_types > most:
            raise TooLargeError(
                f"{self.n} samples of {len(self.values)} values have {self.number_of_types:,} types; the limit is {most:,}.",
                "Use a statistic (choral.Sensors), merge values of the samples, or take fewer samples.",
            )
        digits = math.lcm(*(p.denominator for row in self.channel for p in row)).bit_length()
        bits = self.number_of_types * len(self.prior) * self.n * digits
        if bits > MOST_BITS:
            raise TooLargeError(
                f"The exact weights of {self.number_of_types:,} types of {self.n} samples take about {bits / 8e9:.1f} GB.",
                f"Probabilities with short denominators help (1/10 rather than 0.1; now they have {digits} bits); "
                "or take fewer samples.",
            )

    def types(self) -> Iterator[tuple[int, ...]]:
        """All count vectors, in increasing order."""
        self.check_size()
        yield from compositions(self.n, len(self.values))

    def masses(self) -> dict[tuple[int, ...], list[int]]:
        """For every type of positive probability, integer weights of (type, w), all over one denominator."""
        self.check_size()
        prior, _ = numbers.over_common_denominator(self.prior)
        m = len(self.values)
        flat, _ = numbers.over_common_denominator([p for row in self.channel for p in row])
        powers = [[_powers(flat[w * m + a], self.n) for a in range(m)] for w in range(len(prior))]
        factorial = math.factorial(self.n)
        factorials = [1]
        for k in range(1, self.n + 1):
            factorials.append(factorials[-1] * k)
        result = {}
        for counts in self.types():
            ways = factorial // math.prod(factorials[c] for c in counts)
            row = [
                ways * prior[w] * math.prod(powers[w][a][c] for a, c in enumerate(counts)) for w in range(len(prior))
            ]
            if any(row):
                result[counts] = row
        return result

    def type_of(self, record: Sequence[Any]) -> tuple[int, ...]:
        """How often each value occurs in a record of n samples."""
        samples = list(record)
        if len(samples) != self.n:
            raise ColumnError(f"The record has {len(samples)} samples, not {self.n}.", "Give all n samples.")
        counts = dict.fromkeys(self.values, 0)
        for value in samples:
            if value not in counts:
                raise ColumnError(f"The sample {value!r} is not in the alphabet.", did_you_mean(value, self.values))
            counts[value] += 1
        return tuple(counts.values())

    def __repr__(self) -> str:
        return f"Exchangeable({self.n} samples of {len(self.values)} values; W of {len(self.prior)} values)"


@dataclass(frozen=True)
class Sensors:
    """W seen through different sensors, independent given W, and looked at through a whole-numbered score.

    scores[i][a] is added when sensor i reads its value a; the channel sees the sum alone. By default the scores are
    log-likelihood ratios of W = 1 against W = 0, rounded to `levels` steps over their range: the statistic that a
    decision about W would use. The joint law of the score with W, and with each sensor, comes from convolutions,
    so fifty sensors take a moment where 2⁵⁰ states would not. Mind that many sensors that all differ leave almost
    nothing to tell through one score (docs/mathematics.md).

    >>> from choral.describe.channels import bsc
    >>> Sensors([Fraction(1, 2)] * 2, [bsc(Fraction(1, 10)), bsc(Fraction(1, 5))]).n
    2
    """

    prior: tuple[Fraction, ...]
    channels: tuple[tuple[tuple[Fraction, ...], ...], ...]
    values: tuple[tuple[Hashable, ...], ...]
    scores: tuple[tuple[int, ...], ...]
    target_values: tuple[Hashable, ...]

    def __init__(
        self,
        prior: Sequence[Any],
        channels: Sequence[Sequence[Sequence[Any]]],
        scores: Sequence[Sequence[int]] | None = None,
        levels: int = 1000,
    ) -> None:
        """Prior, one channel per sensor, and the scores (or how finely to round log-likelihood ratios)."""
        law = numbers.distribution(prior, "the prior")
        if not isinstance(channels, Sequence) or hasattr(channels, "outputs"):
            raise LawError(f"The channels are {channels!r}.", "Give a list of channels, one per sensor.")
        tables = tuple(numbers.channel(rows, f"channel {i}") for i, rows in enumerate(channels, start=1))
        if len(tables) < 2:
            raise LawError(
                f"{len(tables)} sensors.", "Give at least two: a single protected sensor leaves nothing to tell."
            )
        for i, table in enumerate(tables, start=1):
            if len(table) != len(law):
                raise LawError(
                    f"Channel {i} has {len(table)} rows but the prior has {len(law)} values.",
                    "A channel has one row per value of W.",
                )
        if scores is None:
            scores = _rounded_likelihood_ratios(law, tables, levels)
        if not all(isinstance(row, Iterable) for row in (scores if isinstance(scores, Iterable) else [None])):
            raise LawError(f"The scores are {scores!r}.", "Give one list of whole numbers per sensor.")
        checked = tuple(
            tuple(index(x) if hasattr(x, "__index__") and not isinstance(x, bool) else x for x in row) for row in scores
        )
        for i, (row, table) in enumerate(zip(checked, tables, strict=False), start=1):
            if len(row) != len(table[0]) or not all(type(x) is int for x in row):
                raise LawError(
                    f"The scores of sensor {i} are {row!r}.", f"Give {len(table[0])} whole numbers, one per reading."
                )
        if len(checked) != len(tables):
            raise LawError(f"{len(checked)} rows of scores for {len(tables)} sensors.", "Give one row per sensor.")
        outputs = tuple(
            _alphabet(rows.outputs, len(table[0]), "a sensor")
            if isinstance(rows, Channel)
            else tuple(range(len(table[0])))
            for rows, table in zip(channels, tables, strict=True)
        )
        object.__setattr__(self, "prior", law)
        object.__setattr__(self, "channels", tables)
        object.__setattr__(self, "values", outputs)
        object.__setattr__(self, "scores", checked)
        object.__setattr__(self, "target_values", tuple(range(len(law))))

    @property
    def n(self) -> int:
        """The number of sensors."""
        return len(self.channels)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """X1, X2, …: the names of the sensors."""
        return tuple(f"X{i}" for i in range(1, self.n + 1))

    def masses(self) -> tuple[dict[int, list[int]], list[dict[int, dict[int, int]]]]:
        """Integer weights of (score, w); and for each sensor of (score, reading), all over one denominator.

        The law of the score without sensor i is the whole law with the sensor divided out, as polynomials are.
        """
        prior, _ = numbers.over_common_denominator(self.prior)
        tables = []
        for table in self.channels:
            width = len(table[0])
            flat, _ = numbers.over_common_denominator([p for row in table for p in row])
            tables.append([flat[w * width : (w + 1) * width] for w in range(len(prior))])
        by_target: dict[int, list[int]] = {}
        by_sensor: list[dict[int, dict[int, int]]] = [{} for _ in tables]
        for w, weight in enumerate(prior):
            rows = [dict_of_scores(self.scores[i], tables[i][w]) for i in range(self.n)]
            law = {0: weight} if weight else {}
            for row in rows:
                law = convolved(law, row)
            for t, mass in law.items():
                by_target.setdefault(t, [0] * len(prior))[w] += mass
            for i, row in enumerate(rows):
                rest = divided(law, row)
                for a, p in enumerate(tables[i][w]):
                    if p:
                        for t, mass in rest.items():
                            cell = by_sensor[i].setdefault(t + self.scores[i][a], {})
                            cell[a] = cell.get(a, 0) + mass * p
        return dict(sorted(by_target.items())), by_sensor

    def score_of(self, record: Sequence[Any] | Mapping[str, Any]) -> int:
        """The score of a record of n readings."""
        readings = [record[name] for name in self.names] if isinstance(record, Mapping) else list(record)
        if len(readings) != self.n:
            raise ColumnError(f"The record has {len(readings)} readings, not {self.n}.", "Give all readings.")
        total = 0
        for name, value, alphabet, scores in zip(self.names, readings, self.values, self.scores, strict=True):
            if value not in alphabet:
                raise ColumnError(
                    f"The reading {value!r} is not in the alphabet of {name}.", did_you_mean(value, alphabet)
                )
            total += scores[alphabet.index(value)]
        return total

    def __repr__(self) -> str:
        return f"Sensors({self.n} sensors through a score; W of {len(self.prior)} values)"


def dict_of_scores(scores: Sequence[int], row: Sequence[int]) -> dict[int, int]:
    """The law of one sensor's score, zeros left out."""
    law: dict[int, int] = {}
    for score, weight in zip(scores, row, strict=True):
        if weight:
            law[score] = law.get(score, 0) + weight
    return law


def convolved(first: Mapping[int, int], second: Mapping[int, int]) -> dict[int, int]:
    """The law of a sum of two independent scores."""
    result: dict[int, int] = {}
    for a, p in first.items():
        for b, q in second.items():
            result[a + b] = result.get(a + b, 0) + p * q
    return result


def divided(law: Mapping[int, int], single: Mapping[int, int]) -> dict[int, int]:
    """The law of a sum without one of its independent terms: what `convolved` with the term gives back.

    >>> divided(convolved({0: 1, 2: 3}, {-1: 2, 1: 5}), {-1: 2, 1: 5})
    {0: 1, 2: 3}
    """
    lowest = min(single)
    rest = {score: weight for score, weight in single.items() if score != lowest}
    result: dict[int, int] = {}
    for t in sorted(law):
        left = law[t] - sum(weight * result.get(t - score, 0) for score, weight in rest.items())
        if left:
            result[t - lowest] = left // single[lowest]
    return result


def _rounded_likelihood_ratios(
    prior: Sequence[Fraction], channels: Sequence[Sequence[Sequence[Fraction]]], levels: int
) -> list[list[int]]:
    if len(prior) != 2:
        raise LawError(
            f"W has {len(prior)} values; a log-likelihood ratio is about two.", "Give scores= for every sensor."
        )
    if isinstance(levels, bool) or not isinstance(levels, int) or levels < 2:
        raise LawError(f"levels = {levels!r}.", "Give a whole number of at least 2.")
    ratios = []
    for i, (zero, one) in enumerate(channels, start=1):
        row = []
        for p, q in zip(zero, one, strict=True):
            if (p == 0) != (q == 0):
                raise LawError(
                    f"Sensor {i} has a reading that excludes a value of W.", "Give scores= for every sensor."
                )
            row.append(math.log(q / p) if p else 0.0)
        ratios.append(row)
    span = sum(max(row) - min(row) for row in ratios)
    step = span / levels if span else 1.0
    return [[round(x / step) for x in row] for row in ratios]


def _alphabet(values: Any, size: int, whose: str) -> tuple[Hashable, ...]:
    try:
        alphabet = tuple(values)
        different = {symbol for symbol in alphabet if symbol == symbol}
    except (TypeError, ValueError):
        raise LawError(f"The alphabet of {whose} is {values!r}.", f"List {size} different values.") from None
    if len(alphabet) != size or len(different) != size:
        raise LawError(f"The alphabet of {whose} is {alphabet!r}.", f"List {size} different values.")
    return alphabet


def compositions(n: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write n as an ordered sum of `parts` numbers, in increasing order."""
    if parts == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in compositions(n - first, parts - 1):
            yield (first, *rest)


def _powers(base: int, n: int) -> list[int]:
    powers = [1]
    for _ in range(n):
        powers.append(powers[-1] * base)
    return powers
