"""What a published code tells about columns: exact under a law, zero decided in integers.

A value in bits is a sum of non-negative terms, each from exact integers and rounded once, so a leak of 1e-20 bits is
not lost in the rounding of entropies, and a leak of zero is zero because integers say so.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from choral.describe.entropy import divergence_term
from choral.describe.joint import Joint
from choral.describe.reading import Cell
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.problem.kernel import Conditional, Floats
from choral.problem.solution import ExactChannel, floats_of


@dataclass(frozen=True)
class Leakage:
    """I(about; Y | given) in bits, whether it is exactly zero, and the best guess at `about` without and with the code.

    Whoever guesses is right with probability `guess_before` knowing `given` alone, and `guess_after` seeing Y too.
    """

    about: tuple[str, ...]
    given: tuple[str, ...]
    bits: float
    zero: bool
    guess_before: Fraction
    guess_after: Fraction

    @property
    def name(self) -> str:
        """The quantity as it is written: I(sex; Y | age)."""
        return f"I({'+'.join(self.about)}; Y{' | ' + '+'.join(self.given) if self.given else ''})"

    def to_json(self) -> dict[str, Any]:
        """Plain data; the guesses as exact fractions and as floats."""
        return {
            "about": list(self.about),
            "given": list(self.given),
            "bits": self.bits,
            "zero": self.zero,
            "guess_before": float(self.guess_before),
            "guess_after": float(self.guess_after),
            "guess_before_exact": _text(self.guess_before),
            "guess_after_exact": _text(self.guess_after),
        }


@dataclass(frozen=True, eq=False)
class Published:
    """A law of columns with the code that a channel gives each of its cells.

    `state[i]` is the state of the i-th cell of the law, a position in the rows of the channel. The law need not be the
    one that the channel was made for.
    """

    law: Joint
    state: tuple[int, ...]
    channel: ExactChannel

    @classmethod
    def of(cls, disclosure: Disclosure, law: Joint | None = None, unseen: bool = False) -> Published:
        """The code of a disclosure under its own law, or under another that has the used columns.

        A record whose state the channel does not know has no code, and is an error; with `unseen` it has one code more.
        """
        law = law or disclosure.law.table
        if law is None:
            raise ProblemError(
                f"The law is a {type(disclosure.law).__name__}, which lists no columns.",
                "An audit needs a Joint law of the columns.",
            )
        number = {state: s for s, state in enumerate(disclosure.states)}
        where = [law.position(name) for name in disclosure.problem.columns]
        keys = [tuple(values[i] for i in where) for values in map(law.values_of, law.cells)]
        new = [key for key in keys if key not in number]
        if not new:
            return cls(law, tuple(number[key] for key in keys), disclosure.exact_channel)
        if not unseen:
            raise ProblemError(
                f"{len(new)} of {len(keys)} cells of the law have a combination of "
                f"{', '.join(disclosure.problem.columns)} that the channel does not know.",
                "Audit a law on the values that the release was made for, or say that unseen records have a code.",
            )
        extra = len(disclosure.exact_channel.rows)
        return cls(law, tuple(number.get(key, extra) for key in keys), with_unseen(disclosure.exact_channel))

    @cached_property
    def scale(self) -> int:
        """The common denominator of the channel."""
        return math.lcm(*(denominator for denominator, _ in self.channel.rows))

    @property
    def total(self) -> int:
        """What the weights of `weights` sum to."""
        return self.law.total * self.scale

    @cached_property
    def _rows(self) -> list[list[tuple[int, int]]]:
        return [[(y, n * (self.scale // d)) for y, n in entries] for d, entries in self.channel.rows]

    def weights(self, columns: Sequence[str]) -> dict[Cell, dict[int, int]]:
        """Integer weights of (values, code) over `total`, by cells of positions; zeros are left out."""
        where = [self.law.position(name) for name in columns]
        by_state: defaultdict[tuple[Cell, int], int] = defaultdict(int)
        for (cell, weight), s in zip(self.law.cells.items(), self.state, strict=True):
            by_state[tuple(cell[i] for i in where), s] += weight
        found: defaultdict[Cell, dict[int, int]] = defaultdict(dict)
        for (key, s), weight in by_state.items():
            row = found[key]
            for y, n in self._rows[s]:
                row[y] = row.get(y, 0) + weight * n
        return dict(found)

    def by_value(self, about: Sequence[str], rows: int) -> dict[Hashable, dict[int, int]]:
        """How many of `rows` records have each value of some columns, by state; weights, for a law that is no table."""
        where = [self.law.position(name) for name in about]
        times = max(1, rows // self.law.total)
        found: defaultdict[Hashable, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        for (cell, weight), s in zip(self.law.cells.items(), self.state, strict=True):
            found[tuple(self.law.alphabets[i][cell[i]] for i in where)][s] += weight * times
        return {z: dict(row) for z, row in found.items()}

    def code_laws(self, about: Sequence[str]) -> dict[Hashable, Floats]:
        """p(z, y) for each value z of some columns, as floats."""
        channel = floats_of(self.channel)
        return {
            z: channel[:, list(row)] @ np.array([n / self.law.total for n in row.values()])
            for z, row in self.by_value(about, 1).items()
        }

    def leakage(self, about: Sequence[str], given: Sequence[str] = ()) -> Leakage:
        """I(about; Y | given), with the best guesses."""
        tables: defaultdict[Cell, dict[Cell, dict[int, int]]] = defaultdict(dict)
        for cell, row in self.weights([*given, *about]).items():
            tables[cell[: len(given)]][cell[len(given) :]] = row
        found = [contingency(table, self.total) for table in tables.values()]
        return Leakage(
            tuple(about),
            tuple(given),
            math.fsum(share for part in found for share in part.bits.values()),
            all(part.independent for part in found),
            Fraction(sum(part.best_row for part in found), self.total),
            Fraction(sum(part.best_cells for part in found), self.total),
        )

    def promised(self, promise: Conditional) -> Leakage:
        """I(Z; Y | V) of a promise, over the values of V that it is about; the guesses are among those."""
        only = [(self.law.position(name), value) for name, value in promise.only]
        cells = zip(self.law.cells.items(), self.state, strict=True)
        kept = [
            (cell, weight, s)
            for (cell, weight), s in cells
            if all(self.law.alphabets[at][cell[at]] == value for at, value in only)
        ]
        if not kept:
            return Leakage(promise.hidden, promise.given_names, 0.0, True, Fraction(1), Fraction(1))
        law = Joint(self.law.names, self.law.alphabets, {cell: weight for cell, weight, _ in kept})
        inside = replace(self, law=law, state=tuple(s for *_, s in kept))
        return replace(inside.leakage(promise.hidden, promise.known), given=promise.given_names)


@dataclass(frozen=True)
class Contingency:
    """A table of integer weights: what each row adds to the information, and whether rows and columns are independent.

    `best_row` is the largest row sum, `best_cells` the sum of each column's largest weight.
    """

    bits: Mapping[Hashable, float]
    independent: bool
    best_row: int
    best_cells: int


def contingency(table: Mapping[Any, Mapping[Any, int]], total: int) -> Contingency:
    """The information between rows and columns of weights n(z,y), in bits, as a share of weights that sum to `total`.

    With row sums a(z), column sums b(y) and n in all, it is Σ q·f(d), where q = a·b/(n·total), 1 + d = n(z,y)·n/(a·b) and
    f(d) = (1+d) log(1+d) - d ≥ 0: the linear parts sum to zero, already within a row. So a row's part is
    p(z)·D(p(·|z) ‖ p(·)), and all is zero exactly when every n(z,y)·n = a(z)·b(y).
    """
    rows = {z: sum(row.values()) for z, row in table.items()}
    columns: defaultdict[Any, int] = defaultdict(int)
    best: defaultdict[Any, int] = defaultdict(int)
    for row in table.values():
        for y, n in row.items():
            columns[y] += n
            best[y] = max(best[y], n)
    inside = sum(rows.values())
    bits: dict[Hashable, float] = {}
    independent = True
    for z, row in table.items():
        terms = []
        for y, b in columns.items():
            n, product = row.get(y, 0), rows[z] * b
            if off := n * inside - product:
                terms.append(_term(n, product, off, inside, total))
        independent = independent and not terms
        bits[z] = math.fsum(terms) / math.log(2)
    return Contingency(bits, independent, max(rows.values()), sum(best.values()))


def known_part(disclosure: Disclosure, law: Joint) -> tuple[Joint, Fraction]:
    """The law of the records whose state a disclosure knows, and how likely they are.

    >>> import choral as ch
    >>> d = ch.disclose(ch.examples.xor())
    >>> more = ch.Joint.from_counts({(0, 0, 0): 3, (1, 0, 7): 1}, names=["W", "X1", "X2"])
    >>> known_part(d, more)[1]
    Fraction(3, 4)
    """
    states = set(disclosure.states)
    where = [law.position(name) for name in disclosure.problem.columns]
    listed = ((law.values_of(cell), weight) for cell, weight in law.cells.items())
    kept = {values: weight for values, weight in listed if tuple(values[i] for i in where) in states}
    if not kept:
        raise ProblemError("No record has a state of the release.", "Give a law on the values that it was made for.")
    return Joint.from_counts(kept, law.names), Fraction(sum(kept.values()), law.total)


def with_unseen(channel: ExactChannel) -> ExactChannel:
    """The channel with one state more, which has a code of its own."""
    return ExactChannel(channel.codes + 1, (*channel.rows, (1, ((channel.codes, 1),))))


def _term(n: int, product: int, off: int, inside: int, total: int) -> float:
    """q·f(d) from integers: product = a·b, off = n·inside - a·b."""
    if n and abs(off) * 10 > product:
        log = math.log(n) + math.log(inside) - math.log(product)
        return n / total * log - off / (inside * total)
    return product / (inside * total) * divergence_term(off / product)


def _text(number: Fraction) -> str | None:
    """An exact fraction in decimal digits, unless it is too long for anyone to read."""
    return str(number) if number.denominator.bit_length() <= 256 else None
