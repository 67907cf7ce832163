"""Different sensors, independent given W, never written out: a channel looks at a whole-numbered *score*, their sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import Any, ClassVar

from choral.describe import numbers
from choral.describe.channels import Channel
from choral.describe.reading import listed_alphabet
from choral.describe.records import by_name, named_values
from choral.describe.written import decode, encode, fractions_of, hexadecimal
from choral.errors import ColumnError, LawError, did_you_mean


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

    kind: ClassVar[str] = "sensors"
    counted: ClassVar[bool] = False
    table: ClassVar[None] = None

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
            listed_alphabet(rows.outputs, len(table[0]), "a sensor")
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

    def looked_at(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The sensors."""
        return self.names

    def state_of(self, record: Any, columns: Sequence[str]) -> tuple[int, ...]:
        """The score of a record of readings, in order or by name."""
        return (self.score_of(by_name(record, self.names)),)

    def state_name(self, state: Sequence[Any], columns: Sequence[str] = ()) -> str:
        """The score."""
        return named_values(state, columns)

    def places(self, columns: Sequence[str]) -> Callable[[Sequence[Any]], list[int]]:
        """A score is written as it is."""
        return list

    def to_document(self, columns: Sequence[str]) -> dict[str, Any]:
        """As the certificate has it."""
        return {
            "kind": self.kind,
            "prior": hexadecimal(self.prior),
            "channels": [[hexadecimal(row) for row in table] for table in self.channels],
            "values": [[encode(value) for value in values] for values in self.values],
            "scores": [list(row) for row in self.scores],
        }

    @classmethod
    def of_document(cls, law: Mapping[str, Any]) -> Sensors:
        """What `to_document` wrote."""
        channels = [
            Channel(tuple(map(fractions_of, table)), tuple(map(decode, values)))
            for table, values in zip(law["channels"], law["values"], strict=True)
        ]
        return cls(fractions_of(law["prior"]), channels, scores=law["scores"])

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
