"""W̃, the minimal sufficient statistic of W for X; C_X(W) = H(W̃); and I(W;Xⁿ), which converges to it."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from choral.describe import numbers
from choral.describe.entropy import entropy_near_certainty, entropy_of
from choral.describe.exchangeable import Exchangeable
from choral.describe.joint import Joint
from choral.describe.kinds import needed
from choral.describe.reading import Cell, split_names
from choral.errors import ColumnError, ProblemError


@dataclass(frozen=True)
class SufficientStatistic:
    """W̃: which values of W say the same about X, and the joint law of (W̃, X).

    `classes[i]` lists the values of W that are value i of W̃; the column `name` of `joint` has the classes themselves
    as its alphabet. Values of W of probability zero are in no class.
    """

    name: str
    about: tuple[str, ...]
    classes: tuple[tuple[Any, ...], ...]
    joint: Joint

    @cached_property
    def entropy(self) -> float:
        """C_X(W) = H(W̃) in bits."""
        return self.joint.entropy(self.name)

    @cached_property
    def prior(self) -> tuple[Fraction, ...]:
        """The law of W̃."""
        weights = self.joint.weights([self.name])
        return tuple(Fraction(weight, self.joint.total) for weight in weights.values())

    @cached_property
    def outputs(self) -> tuple[Any, ...]:
        """The values of X that occur, in the order of the columns of `channel`; tuples when X is several columns."""
        part = self.joint.marginal(self.about)
        values = [part.values_of(cell) for cell in part.cells]
        return tuple(value[0] for value in values) if len(self.about) == 1 else tuple(values)

    @cached_property
    def channel(self) -> tuple[tuple[Fraction, ...], ...]:
        """p(x | w̃), one row per class; no two rows are equal."""
        columns = list(self.joint.weights(self.about))
        mass = self.joint.weights([self.name])
        both = self.joint.weights([self.name, *self.about])
        return tuple(tuple(Fraction(both.get((*w, *x), 0), weight) for x in columns) for w, weight in mass.items())

    def value_of(self, w: Hashable) -> tuple[Any, ...]:
        """W̃ as a function of W: the class of a value."""
        for group in self.classes:
            if w in group:
                return group
        raise ColumnError(f"The value {w!r} has no class.", "It does not occur under the law.")

    def __repr__(self) -> str:
        sets = " ".join("{" + ", ".join(map(str, group)) + "}" for group in self.classes)
        return f"SufficientStatistic({self.name}: {sets}; {self.entropy:.9f} bits about {', '.join(self.about)})"


def sufficient_statistic(
    joint: Joint, of: str | Sequence[str] = "W", about: str | Sequence[str] = "X1"
) -> SufficientStatistic:
    """The minimal sufficient statistic W̃ of `of` for `about`: values of W with equal rows p(x | w) are one.

    Rows are compared in integers. Floats stand for the binary rationals they are, so rows of a channel that are equal to
    the last bit merge, and rows that differ in it do not.

    *Proof that H(W̃) is C_X(W) of (pr).* W̃ is a function of W, and p(x | w) depends on w through W̃ alone, so X - W̃ - W.
    Let U = f(W) be any function with X - U - W. If f(w) = f(w') then p(x | w) = p(x | U=f(w)) = p(x | w'), so w and w'
    are in one class: W̃ is a function of U, and H(W̃) ≤ H(U).

    >>> from choral.describe.joint import Joint
    >>> third = [Fraction(1, 3)] * 3
    >>> rows = [[Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]] * 2 + [third]
    >>> s = sufficient_statistic(Joint.observed(third, [rows]), of="W", about="X1")
    >>> s
    SufficientStatistic(W̃: {0, 1} {2}; 0.918295834 bits about X1)
    """
    needed(Joint, joint, "A {} is not a joint law.", "Give a Joint; of a table: Joint.from_table(frame, columns=[…]).")
    targets, others = split_names(of), split_names(about)
    if not targets or not others:
        raise ProblemError("`of` and `about` each name at least one column.", 'Write of="W", about="X1".')
    if set(targets) & set(others):
        shared = sorted(set(targets) & set(others))[0]
        raise ProblemError(f"'{shared}' is both in `of` and in `about`.", "Name different columns.")
    rows: dict[Cell, dict[Cell, int]] = {}
    for cell, weight in joint.weights([*targets, *others]).items():
        rows.setdefault(cell[: len(targets)], {})[cell[len(targets) :]] = weight
    merged: dict[tuple[tuple[Cell, int], ...], list[Cell]] = {}
    for w, row in rows.items():
        merged.setdefault(_direction(row), []).append(w)
    part = joint.marginal(targets)
    classes = tuple(tuple(_value(part, w) for w in group) for group in merged.values())
    cells: dict[Cell, int] = {}
    for i, group in enumerate(merged.values()):
        for w in group:
            for x, weight in rows[w].items():
                cells[i, *x] = cells.get((i, *x), 0) + weight
    name = unicodedata.normalize("NFC", f"{' '.join(targets)}\u0303")
    while name in others:
        name += "'"
    alphabets = [classes, *(joint.alphabets[joint.position(column)] for column in others)]
    return SufficientStatistic(name, tuple(others), classes, Joint([name, *others], alphabets, cells))


@dataclass(frozen=True)
class InformationPoint:
    """I(W;Xⁿ) at one n, and how far it is from its limit C_X(W); in bits."""

    n: int
    information: float
    missing: float
    """H(W̃|Xⁿ) = C_X(W) - I(W;Xⁿ), computed directly: precise even where it is far below the last bit of the others."""


def information_curve(
    prior: Sequence[Any], channel: Sequence[Sequence[Any]], ns: Iterable[int]
) -> list[InformationPoint]:
    """I(W;Xⁿ) for samples that are independent given W, at each n; the limit is C_X(W).

    On types: the type is sufficient for W, so I(W;Xⁿ) = I(W;type), with exact integers for p(w, type) and one rounding
    to a float each. Nothing lists |X|ⁿ sequences.

    >>> from choral.describe.channels import bsc
    >>> third = Fraction(1, 3)
    >>> for point in information_curve([1 - third, third], bsc(Fraction(1, 10)), [1, 10, 100]):
    ...     print(point.n, f"{point.information:.6f} {point.missing:.3g}")
    1 0.479083 0.439
    10 0.915773 0.00252
    100 0.918296 9.96e-24
    """
    law, rows = merged_rows(prior, channel)
    limit = entropy_of(law, 1)
    points = []
    for n in ns:
        masses = type_masses(law, rows, n)
        total = sum(map(sum, masses.values()))
        missing = math.fsum(sum(row) / total * entropy_near_certainty(row) for row in masses.values())
        points.append(InformationPoint(n, max(0.0, limit - missing), missing))
    return points


def merged_rows(
    prior: Sequence[Any], channel: Sequence[Sequence[Any]]
) -> tuple[tuple[Fraction, ...], tuple[tuple[Fraction, ...], ...]]:
    """The law of W̃ and p(x | w̃) for a prior and a channel.

    >>> merged_rows([0.25, 0.25, 0.5], [[1, 0], [1, 0], [0, 1]])[0]
    (Fraction(1, 2), Fraction(1, 2))
    """
    law, rows = numbers.distribution(prior, "the prior"), numbers.channel(channel)
    if len(law) != len(rows):
        raise ProblemError(f"{len(rows)} rows for a prior of {len(law)} values.", "Give one row per value of W.")
    sums: dict[tuple[Fraction, ...], Fraction] = {}
    for p, row in zip(law, rows, strict=True):
        if p:
            sums[row] = sums.get(row, Fraction(0)) + p
    return tuple(sums.values()), tuple(sums)


def type_masses(
    prior: Sequence[Fraction], rows: Sequence[Sequence[Fraction]], n: int
) -> dict[tuple[int, ...], list[int]]:
    """Integer weights of (type, w), over one denominator, for any n ≥ 1.

    >>> type_masses([Fraction(1, 2)] * 2, [[Fraction(1), Fraction(0)], [Fraction(1, 2)] * 2], 1)
    {(0, 1): [0, 1], (1, 0): [2, 1]}
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ProblemError(f"n = {n!r} samples.", "Give a whole number of at least 1.")
    if n > 1:
        return Exchangeable(prior, rows, n).masses()
    width = len(rows[0])
    flat, _ = numbers.over_common_denominator([p * q for p, row in zip(prior, rows, strict=True) for q in row])
    masses = {}
    for a in reversed(range(width)):
        row = [flat[w * width + a] for w in range(len(prior))]
        if any(row):
            masses[tuple(int(b == a) for b in range(width))] = row
    return masses


def _direction(row: Mapping[Cell, int]) -> tuple[tuple[Cell, int], ...]:
    """A row of weights up to a factor: equal exactly when p(x | w) is."""
    divisor = math.gcd(*row.values())
    return tuple((x, weight // divisor) for x, weight in sorted(row.items()))


def _value(part: Joint, cell: Cell) -> Any:
    values = part.values_of(cell)
    return values[0] if len(values) == 1 else values
