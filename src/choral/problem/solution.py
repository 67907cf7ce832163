"""Answers as plain frozen data: a channel that exists, what a proof of a bound must do, and what is stated of both."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import flint
import numpy as np

from choral.problem.kernel import Floats, Problem, Variable
from choral.problem.packed import PackedRows

T = TypeVar("T")
Numbers: TypeAlias = "tuple[Fraction, ...]"
Row: TypeAlias = "tuple[int, tuple[tuple[int, int], ...]]"
"""One state: its denominator, and (code, numerator) pairs in order of codes; the numerators sum to the denominator."""


@dataclass(frozen=True)
class ExactChannel:
    """p(y | s) in integers, one row per state; a code that is not listed has probability zero."""

    codes: int
    rows: Sequence[Row]

    @classmethod
    def from_joint(cls, problem: Problem, codes: Sequence[Mapping[int, Fraction]]) -> ExactChannel:
        """The channel with these exact p(s, y); empty codes are left out, and the rest put in order.

        Codes are sorted by their posteriors over the states, the largest mass on the first state first.
        """
        tidy = [{s: mass for s, mass in sorted(code.items()) if mass} for code in codes]
        tidy = sorted((code for code in tidy if code), key=_posterior)
        columns: list[list[tuple[int, Fraction]]] = [[] for _ in problem.states]
        for y, code in enumerate(tidy):
            for s, mass in code.items():
                columns[s].append((y, mass / problem.prior_of(s)))
        return cls(len(tidy), tuple(row_of(column) for column in columns))

    def joint(self, problem: Problem) -> list[dict[int, Fraction]]:
        """p(s, y) as Fractions, one mapping from states per code."""
        codes: list[dict[int, Fraction]] = [{} for _ in range(self.codes)]
        for s, (denominator, entries) in enumerate(self.rows):
            scale = Fraction(problem.weights[s], problem.total * denominator)
            for y, n in entries:
                codes[y][s] = n * scale
        return codes

    def sums(self, variable: Variable) -> dict[tuple[int, int], dict[int, int]]:
        """p(v, y) · total for a variable that the state screens from the code: (v, y) → denominator → numerator.

        Nearly all states share one denominator, so this is a sum of few fractions, of integers that were added up.
        """
        by_denominator = defaultdict[int, defaultdict[tuple[int, int], int]](_zeros)
        packed = self.rows.sums(variable, sum(variable.weight)) if isinstance(self.rows, PackedRows) else None
        rows: Mapping[int, Row] = dict(enumerate(self.rows)) if packed is None else {s: self.rows[s] for s in packed[2]}
        if packed is not None:
            by_denominator[packed[0]].update(packed[1])
        for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
            if s not in rows:
                continue
            denominator, entries = rows[s]
            sums = by_denominator[denominator]
            for y, n in entries:
                sums[v, y] += n * w
        found: dict[tuple[int, int], dict[int, int]] = {}
        for denominator, sums in by_denominator.items():
            for key, x in sums.items():
                found.setdefault(key, {})[denominator] = x
        return found

    def joint_with(self, variable: Variable, total: int) -> dict[tuple[int, int], Fraction]:
        """p(v, y), exactly, for a variable whose weights are over this total."""
        return {
            key: sum((Fraction(x, d * total) for d, x in parts.items()), Fraction(0))
            for key, parts in self.sums(variable).items()
        }


def constant_channel(problem: Problem) -> ExactChannel:
    """One code for everybody."""
    return ExactChannel(1, ((1, ((0, 1),)),) * problem.size)


def _zeros() -> defaultdict[tuple[int, int], int]:
    return defaultdict(int)


def floats_of(channel: ExactChannel) -> Floats:
    """p(y | s) as floats, one row per code."""
    table = np.zeros((channel.codes, len(channel.rows)))
    for s, (denominator, entries) in enumerate(channel.rows):
        for y, n in entries:
            table[y, s] = n / denominator
    return table


def near_float(number: Fraction) -> float:
    """The nearest float, and ±1e300 beyond: for guesses, never for decisions."""
    try:
        return float(number)
    except OverflowError:
        return 1e300 if number > 0 else -1e300


def row_of(column: Sequence[tuple[int, Fraction]]) -> Row:
    """Fractions that sum to one as integers over their least common denominator."""
    denominator = math.lcm(*(p.denominator for _, p in column))
    return denominator, tuple((y, p.numerator * (denominator // p.denominator)) for y, p in column)


def _posterior(code: Mapping[int, Fraction]) -> list[tuple[int, Fraction]]:
    total = sum(code.values())
    return [(s, -mass / total) for s, mass in code.items()]


class WayBack(Protocol):
    """How what belongs to a reduced problem, whose states are classes of states, is carried back to the original."""

    @property
    def exchangeable(self) -> tuple[tuple[str, ...], ...]:
        """Columns whose permutations made the classes, if such did."""
        ...

    def states(self, listed: Sequence[T]) -> tuple[T, ...]:
        """For every state what its class has."""
        ...

    def posterior(self, t: Mapping[int, Fraction]) -> dict[int, Fraction]:
        """Masses of classes shared among their states, in proportion to the prior."""
        ...

    def group(self, position: int) -> int:
        """The position of a protected group."""
        ...

    def rows(self, rows: tuple[int, ...]) -> tuple[tuple[int, ...], Callable[[Numbers], Numbers]]:
        """The rows of P that stand for these, and how numbers on them are shared out."""
        ...


class Proof(Protocol):
    """Why no private channel tells more: the kinds are in `choral.proofs`."""

    kind: ClassVar[str]
    """Its name in documents."""
    since: ClassVar[int]
    """The first version of documents that may hold it."""

    def __hash__(self) -> int: ...

    def bits(self, problem: Problem) -> flint.arb:
        """What I(W;Y) is at most, in bits, as a ball in the precision of the context."""
        ...

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it (docs/release-format.md)."""
        ...

    def pulled_back(self, way: WayBack) -> Proof:
        """The proof of the same bound for the problem that was reduced."""
        ...


class ValueProof(Protocol):
    """Why no private channel is worth more, for a utility other than bits: the kinds are in `choral.proofs`."""

    kind: ClassVar[str]
    """Its name in documents."""

    def worth(self, problem: Problem) -> Fraction:
        """What no private channel is worth more than, in the unit of the problem's utility."""
        ...

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it (docs/release-format.md)."""
        ...

    def pulled_back(self, way: WayBack) -> ValueProof:
        """The proof of the same bound for the problem that was reduced."""
        ...


class Status(Enum):
    """How a search ended. Whatever it says, the channel is private and the bound holds."""

    OPTIMAL = "optimal"
    """Proved, or within the tolerance that was asked for."""
    STALLED = "stalled"
    """Floats could not close the gap further."""
    LEVEL_LIMIT = "level limit"
    """The last refinement that is made."""
    WORK_LIMIT = "work limit"
    """What is usually spent was spent: a time limit says to go on for as long as that."""
    TIME_LIMIT = "time limit"
    STOPPED = "stopped"
    """By the time limit or Ctrl-C."""
    NOT_PROVED = "not proved"
    """A good channel; the bound comes from the law alone."""
    UNKNOWN = "unknown"
    """A file does not say."""


@dataclass(frozen=True)
class Solution:
    """What a solver found: a private channel, a bound that can be re-checked, and the story of how.

    `history` has the interval (information, upper bound), in bits, as it closed; it is empty where there was no search, and
    after loading. `purpose` proves how good a channel can be for a utility other than bits.
    """

    channel: ExactChannel
    bound: Proof
    how: str
    status: Status = Status.OPTIMAL
    history: tuple[tuple[float, float], ...] = ()
    solver: str = ""
    purpose: ValueProof | None = None


@dataclass(frozen=True)
class Claims:
    """What is stated of a solution, in bits with fifteen decimals: information rounded down, all else up.

    `leakage` has one entry per group, None where it is private; it is empty where no group has a budget. `value` and
    `value_bound` are those of a utility other than bits, in its own unit.
    """

    information: Decimal
    upper_bound: Decimal
    leakage: tuple[Decimal | None, ...] = ()
    value: Fraction | None = None
    value_bound: Fraction | None = None
