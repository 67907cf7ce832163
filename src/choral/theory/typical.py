"""Typical sets on types: the estimator L_n in the proof that I(W;Xⁿ) tends to C_X(W), its exact error, and weak typicality.

A sequence is robustly typical by its type alone, so everything here is about count vectors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from choral.describe import numbers
from choral.describe.entropy import entropy_of
from choral.errors import LawError, ProblemError
from choral.theory.sufficient import merged_rows, type_masses


def is_typical(counts: Sequence[int], row: Sequence[Any], epsilon: Any) -> bool:
    """Whether sequences of this type are in T_ε(row): |π(x) - q(x)| ≤ ε q(x) for every x. Decided in fractions.

    >>> F = Fraction
    >>> is_typical((3, 3, 10), (F(3, 8), F(1, 8), F(1, 2)), F(1, 2))
    True
    """
    q, e = numbers.distribution(row, "the row"), _epsilon(epsilon)
    n = _length(counts, q)
    return all(abs(Fraction(c, n) - p) <= e * p for c, p in zip(counts, q, strict=True))


def paper_epsilon(channel: Sequence[Sequence[Any]]) -> Fraction:
    """The paper's ε: the least (p_i - p_j)/(p_i + p_j) over pairs of rows and the x where row i is above row j.

    *The typical sets are disjoint for every ε strictly below it.* If a type π were in both, then at such an x
    (1-ε) p_i(x) ≤ π(x) ≤ (1+ε) p_j(x), so (p_i - p_j)/(p_i + p_j) ≤ ε. At ε itself they can meet: see `is_typical`.

    >>> F = Fraction
    >>> print(paper_epsilon([[F(3, 8), F(1, 8), F(1, 2)], [F(1, 8), F(3, 8), F(1, 2)]]))
    1/2
    """
    rows = _different(channel)
    return min(
        (abs(p - q) / (p + q) for a, b in combinations(rows, 2) for p, q in zip(a, b, strict=True) if p != q),
        default=Fraction(1),
    )


def separation(channel: Sequence[Sequence[Any]]) -> Fraction:
    """The least ε in (0, 1) at which two typical sets can meet for some n; 1 when they never do.

    *Proof.* For ε < 1, T_ε(p) is a box around p, cut by Σπ = 1. Two boxes [l, u] and [l', u'] meet in the simplex exactly
    when max(l, l') ≤ min(u, u') at every x and Σ max(l, l') ≤ 1 ≤ Σ min(u, u'). With V the total variation of p and q,
    the first says ε ≥ |p - q|/(p + q) at every x, and the sums are (1-ε)(1+V) ≤ 1 ≤ (1+ε)(1-V), that is
    ε ≥ V/(1-V) (the other, ε ≥ V/(1+V), follows). So they meet exactly when ε is at least the largest of these, and then
    in a rational point, which is the type of some sequence. The paper's ε takes the least of the ratios where one of
    them suffices; it is never above this one.

    >>> from choral.describe.channels import bsc
    >>> print(paper_epsilon(bsc(Fraction(1, 10))), separation(bsc(Fraction(1, 10))))
    4/5 1
    """
    return min((_meet(a, b) for a, b in combinations(_different(channel), 2)), default=Fraction(1))


def safe_epsilon(channel: Sequence[Sequence[Any]]) -> Fraction:
    """99/100 of the paper's ε: strictly below it, so that the typical sets are disjoint."""
    return paper_epsilon(channel) * Fraction(99, 100)


def estimate(counts: Sequence[int], channel: Sequence[Sequence[Any]], epsilon: Any) -> int | None:
    """L_n: the only row whose typical set has this type; None (the paper's e) when there is none.

    Raises when there are several: then ε is too large for these rows.
    """
    found = [i for i, row in enumerate(channel) if is_typical(counts, row, epsilon)]
    if len(found) > 1:
        raise ProblemError(
            f"The type {tuple(counts)} is ε-typical of the rows {found[0]} and {found[1]} for ε = {epsilon}.",
            f"Take ε strictly below {paper_epsilon(channel)}.",
        )
    return found[0] if found else None


@dataclass(frozen=True)
class TypicalError:
    """The error of L_n at one n, exactly, and what Fano's inequality makes of it (bits)."""

    n: int
    epsilon: Fraction
    error: Fraction
    fano: float
    """H(W̃) - h(p_e) - p_e log|W̃|: at most I(W;Xⁿ); not cut at zero."""


def typical_error(prior: Sequence[Any], channel: Sequence[Sequence[Any]], n: int, epsilon: Any = None) -> TypicalError:
    """Pr{L_n ≠ W̃} as a Fraction, for ε = `safe_epsilon` unless given.

    *Fano.* Given L_n = e the error is certain and W̃ has at most |W̃| values; otherwise it is a guess. So
    H(W̃|L_n) ≤ h(p_e) + p_e log|W̃|, and I(W;Xⁿ) ≥ I(W̃;L_n) ≥ H(W̃) - h(p_e) - p_e log|W̃|.

    >>> from choral.describe.channels import bsc
    >>> half = Fraction(1, 2)
    >>> print(typical_error([half, half], bsc(Fraction(1, 10)), 2, Fraction(1, 2)).error)
    1
    >>> print(typical_error([half, half], bsc(Fraction(1, 10)), 10, Fraction(1, 2)).error)
    612579511/1000000000
    """
    law, rows = merged_rows(prior, channel)
    e = safe_epsilon(rows) if epsilon is None else _epsilon(epsilon)
    masses = type_masses(law, rows, n)
    bounds = [[(math.ceil(n * p * (1 - e)), math.floor(n * p * (1 + e))) for p in row] for row in rows]
    right = 0
    for counts, row in masses.items():
        found = [
            i
            for i, box in enumerate(bounds)
            if all(low <= c <= high for c, (low, high) in zip(counts, box, strict=True))
        ]
        if len(found) > 1:
            estimate(counts, rows, e)  # raises, with the reason
        if found:
            right += row[found[0]]
    error = 1 - Fraction(right, sum(map(sum, masses.values())))
    entropy = entropy_of([error, 1 - error], 1)
    return TypicalError(n, e, error, entropy_of(law, 1) - entropy - float(error) * math.log2(len(law)))


def weak_rate(counts: Sequence[int], row: Sequence[Any]) -> float:
    """-(1/n) log q(uⁿ) in bits, for a sequence of this type; infinite when the row excludes it.

    >>> [round(weak_rate((9, 1), row), 3) for row in ((0.9, 0.1), (0.1, 0.9))]
    [0.469, 3.005]
    """
    q = numbers.distribution(row, "the row")
    n = _length(counts, q)
    if any(c and not p for c, p in zip(counts, q, strict=True)):
        return math.inf
    return math.fsum(-c / n * math.log2(p) for c, p in zip(counts, q, strict=True) if c) + 0.0


def is_weakly_typical(counts: Sequence[int], row: Sequence[Any], epsilon: float) -> bool:
    """Whether sequences of this type are in A_ε(row) of (weak): the rate is within ε of the entropy.

    Unlike `is_typical` this is decided in floats: keep ε away from the edge. Of a uniform row every sequence is weakly
    typical, so weak typicality cannot tell it from any other row.

    >>> all(is_weakly_typical((k, 10 - k), (0.5, 0.5), 1e-9) for k in range(11))
    True
    """
    q = numbers.distribution(row, "the row")
    return abs(weak_rate(counts, q) - entropy_of(q, 1)) <= epsilon


def _meet(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    pairs = list(zip(first, second, strict=True))
    ratio = max(abs(p - q) / (p + q) for p, q in pairs if p + q)
    shared = sum((min(p, q) for p, q in pairs), Fraction(0))
    return min(Fraction(1), max(ratio, (1 - shared) / shared if shared else Fraction(1)))


def _different(channel: Sequence[Sequence[Any]]) -> list[tuple[Fraction, ...]]:
    return list(dict.fromkeys(numbers.channel(channel)))


def _epsilon(epsilon: Any) -> Fraction:
    e = numbers.exact(epsilon, "epsilon")
    if not 0 < e < 1:
        raise LawError(f"ε = {epsilon}.", "Give a number between 0 and 1.")
    return e


def _length(counts: Sequence[int], row: Sequence[Fraction]) -> int:
    if len(counts) != len(row) or any(c < 0 for c in counts) or not any(counts):
        raise LawError(
            f"The type {tuple(counts)} is not one of a row of {len(row)} values.", "Give one count per value."
        )
    return sum(counts)
