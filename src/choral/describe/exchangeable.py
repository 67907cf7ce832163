"""Many samples that are alike given W, never written out: a channel looks at their *type*, how often each value occurs."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import index
from typing import Any, ClassVar

from choral.describe import numbers
from choral.describe.channels import Channel
from choral.describe.reading import listed_alphabet
from choral.describe.records import samples_of
from choral.describe.written import decode, encode, fractions_of, hexadecimal
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

    kind: ClassVar[str] = "exchangeable"
    counted: ClassVar[bool] = True
    table: ClassVar[None] = None

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
        object.__setattr__(self, "values", listed_alphabet(outputs, len(rows[0]), "the samples"))
        named = range(len(law)) if target_values is None else target_values
        object.__setattr__(self, "target_values", listed_alphabet(named, len(law), "W"))

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

    def looked_at(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The samples, by their number."""
        return (f"{self.n} samples",)

    def state_of(self, record: Any, columns: Sequence[str]) -> tuple[int, ...]:
        """The type of a record of n samples, in any order."""
        return self.type_of(samples_of(record))

    def state_name(self, state: Sequence[Any], columns: Sequence[str] = ()) -> str:
        """How many samples have each value."""
        return ", ".join(f"{count}×{value}" for count, value in zip(state, self.values, strict=True) if count)

    def places(self, columns: Sequence[str]) -> Callable[[Sequence[Any]], list[int]]:
        """A type is written as its counts."""
        return list

    def to_document(self, columns: Sequence[str]) -> dict[str, Any]:
        """As the certificate has it."""
        return {
            "kind": self.kind,
            "n": self.n,
            "prior": hexadecimal(self.prior),
            "channel": [hexadecimal(row) for row in self.channel],
            "values": [encode(value) for value in self.values],
            "target values": [encode(value) for value in self.target_values],
        }

    @classmethod
    def of_document(cls, law: Mapping[str, Any]) -> Exchangeable:
        """What `to_document` wrote."""
        return cls(
            fractions_of(law["prior"]),
            [fractions_of(row) for row in law["channel"]],
            n=law["n"],
            values=[decode(v) for v in law["values"]],
            target_values=[decode(v) for v in law["target values"]],
        )

    def __repr__(self) -> str:
        return f"Exchangeable({self.n} samples of {len(self.values)} values; W of {len(self.prior)} values)"


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
