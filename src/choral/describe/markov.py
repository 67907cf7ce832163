"""Markov chains with rational transitions: an exact law for any number of samples, without listing them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint

from choral.describe.joint import Joint
from choral.describe.numbers import channel, distribution
from choral.errors import LawError, TooLargeError

MOST_PATHS = 1_000_000
"""Paths that are written out as a law: a million take seconds and some hundred megabytes."""


@dataclass(frozen=True)
class MarkovChain:
    """A chain on 0, 1, … (or on `values`): `transition[x][x']` and the law of the first sample.

    >>> chain = MarkovChain.of([[0.75, 0.25], [0.5, 0.5]])
    >>> [str(p) for p in chain.initial]
    ['2/3', '1/3']
    >>> chain.joint(2).probability(X1=0, X2=1)
    Fraction(1, 6)
    """

    transition: tuple[tuple[Fraction, ...], ...]
    initial: tuple[Fraction, ...]
    values: tuple[Hashable, ...]

    @classmethod
    def of(
        cls,
        transition: Sequence[Sequence[Any]],
        initial: Sequence[Any] | None = None,
        values: Sequence[Hashable] | None = None,
    ) -> MarkovChain:
        """The chain with these rows. It starts from `initial`, or from its stationary law if it has one only."""
        rows = channel(transition, "the transition")
        if len(rows) != len(rows[0]):
            raise LawError(
                f"The transition has {len(rows)} rows and {len(rows[0])} columns.",
                "Give one row per value, all values.",
            )
        first = stationary(rows) if initial is None else distribution(initial, "the initial law")
        if len(first) != len(rows):
            raise LawError(f"The initial law has {len(first)} values, the transition {len(rows)}.", "Give as many.")
        names = tuple(range(len(rows))) if values is None else tuple(values)
        if len(set(names)) != len(rows):
            raise LawError(f"The values are {names!r}.", f"Give {len(rows)} different ones.")
        return cls(rows, first, names)

    @classmethod
    def iid(cls, p: Sequence[Any], values: Sequence[Hashable] | None = None) -> MarkovChain:
        """Independent samples, all with this law, as a chain that forgets."""
        law = distribution(p, "the law of a sample")
        return cls.of([law] * len(law), law, values)

    @cached_property
    def is_stationary(self) -> bool:
        """Whether every sample has the law of the first."""
        return self.after(self.initial) == self.initial

    @cached_property
    def is_iid(self) -> bool:
        """Whether the samples are independent and alike: every row in use is the law of the first sample."""
        return all(row == self.initial for row, p in zip(self.transition, self.initial, strict=True) if p)

    def after(self, law: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """The law of the next sample."""
        return tuple(
            sum((p * row[x] for p, row in zip(law, self.transition, strict=True)), Fraction(0)) for x in range(len(law))
        )

    def joint(self, n: int) -> Joint:
        """The law of X1…Xn, exactly, on its support."""
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise LawError(f"n = {n!r} samples.", "Give at least one.")
        paths: dict[tuple[int, ...], Fraction] = {(x,): p for x, p in enumerate(self.initial) if p}
        for _ in range(n - 1):
            paths = {
                (*path, x): p * step
                for path, p in paths.items()
                for x, step in enumerate(self.transition[path[-1]])
                if step
            }
            if len(paths) > MOST_PATHS:
                raise TooLargeError(f"{n} samples have more than {MOST_PATHS} states.", "Take fewer samples.")
        cells = {tuple(self.values[x] for x in path): p for path, p in paths.items()}
        return Joint.from_counts(cells, [f"X{i}" for i in range(1, n + 1)], [self.values] * n)


def stationary(transition: Sequence[Sequence[Fraction]]) -> tuple[Fraction, ...]:
    """The stationary law, exactly; raises `LawError` when there are several.

    >>> third = Fraction(1, 3)
    >>> [str(p) for p in stationary([[1 - third, third], [1, 0]])]
    ['3/4', '1/4']
    """
    size = len(transition)
    rows = [
        [flint.fmpq(p.numerator, p.denominator) - (1 if x == y else 0) for x, p in enumerate(column)]
        for y, column in enumerate(zip(*(map(Fraction, row) for row in transition), strict=True))
    ]
    rows.append([flint.fmpq(1)] * size)
    right = [flint.fmpq(0)] * size + [flint.fmpq(1)]
    matrix = flint.fmpq_mat(size + 1, size + 1, [x for row, end in zip(rows, right, strict=True) for x in [*row, end]])
    reduced, rank = matrix.rref()
    if rank < size:
        raise LawError("The chain has several stationary laws.", "Give the initial law.")
    return tuple(Fraction(int(reduced[i, size].p), int(reduced[i, size].q)) for i in range(size))
