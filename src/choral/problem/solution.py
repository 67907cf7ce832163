"""Answers as plain frozen data: a channel that exists, and a bound with what proves it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from choral.problem.kernel import Floats, Problem

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


@dataclass(frozen=True, eq=False)
class VertexBound:
    """Proof by extreme points: for any π, H(W|Y) ≥ π·p + min over extreme points t of [H(P_{W|X} t) - π·t].

    (The bracket is concave in t, so its minimum over S is at an extreme point.) `multipliers[s]` is π_s. `tight`
    are the posteriors among which the minimum is attained; whoever checks the bound enumerates all of them again.
    Columns listed in `exchangeable` may be permuted without changing the problem or π; it is enough then to
    enumerate the extreme points of the problem on orbits or, where all that is used is revealed (so that the target
    moves with the permutation), one extreme point per orbit.
    """

    multipliers: tuple[Fraction, ...]
    tight: tuple[Mapping[int, Fraction], ...]
    exchangeable: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class DeterminedBound:
    """Proof that nothing can be told: P(w | s) = Σ_i coefficients[w][i] · P(z_i | s) for every state.

    Then the law of W is the same for every posterior that is private. `rows` are positions in the rows of P.
    """

    rows: tuple[int, ...]
    coefficients: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, eq=False)
class GroupBound:
    """The group bound: I(W;Y) ≤ I(W;S) - I(W;Z) for the protected group at this position.

    Where the group has a budget, I(Z;Y) is added: at most α bits, or log ρ. Without a group it is the data-processing
    inequality, I(W;Y) ≤ I(W;S).
    """

    group: int | None


@dataclass(frozen=True, eq=False)
class LinesBound:
    """Proof by lines (docs/mathematics.md): for any ν, H(W|Y) ≥ Σ_s p_s min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))].

    The probability simplex over the target's values is covered by cells; line l agrees with the entropy (rounded
    down) at the vertices of cell l, so the least of the lines is below the entropy everywhere. Points are integer
    vectors over `denominator`; a cell lists as many points as the target has values. `rows` are positions in the
    rows of P (the groups' values, stacked, then the further rows), and multipliers[l][i] belongs to line l and rows[i].

    *With budgets.* Call c_l what stands for Σ_i ν_li p(z_i). For a group within a factor ρ, ν p(z|y) is at least ν p(z)/ρ
    where ν ≥ 0 and ν p(z) ρ where ν < 0: so much is c_l. For a group with a leakage budget α and its price λ, let
    Σ_z 2^(-ν_lz/λ) ≤ 1 for every line: then Σ_z ν_lz p(z|y) ≥ λ H(Z|y) (Gibbs), c_l is 0, and the bound rises by
    λ (H(Z) - α), since Σ_y p(y) H(Z|y) ≥ H(Z) - α. `prices` has one λ per group (0 without such a budget).
    """

    denominator: int
    points: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    multipliers: tuple[tuple[Fraction, ...], ...]
    prices: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class RankBound:
    """Proof by the closed form for one protected group (docs/mathematics.md): the rank within the group tells most."""


Bound: TypeAlias = "RankBound | VertexBound | GroupBound | LinesBound | DeterminedBound"


class Status(Enum):
    """How a search ended. Whatever it says, the channel is private and the bound holds."""

    OPTIMAL = "optimal"
    """Proved, or within the tolerance that was asked for."""
    STALLED = "stalled"
    """Floats could not close the gap further."""
    LEVEL_LIMIT = "level limit"
    """The last refinement that is made."""
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
    after loading.
    """

    channel: ExactChannel
    bound: Bound
    how: str
    status: Status = Status.OPTIMAL
    history: tuple[tuple[float, float], ...] = ()
    solver: str = ""


@dataclass(frozen=True)
class Claims:
    """What is stated of a solution, in bits with fifteen decimals: information rounded down, all else up.

    `leakage` has one entry per group, None where it is private; it is empty where no group has a budget.
    """

    information: Decimal
    upper_bound: Decimal
    leakage: tuple[Decimal | None, ...] = ()
