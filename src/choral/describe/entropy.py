"""Entropy and information, in bits: of exact weights in floats and in balls, and of many laws at once in arrays of floats.

Floats choose and show; what is stated comes from balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import flint
import numpy as np
import numpy.typing as npt

from choral.describe.ball_arithmetic import ball_of, sum_of

A = TypeVar("A")
B = TypeVar("B")
Floats = npt.NDArray[np.float64]
FIXED = 300
"""Bits of fixed-point masses in the sums that are stated: more than the precision of balls."""
SMALL = 0.1
"""Up to this ratio a divergence is taken from its series, which loses nothing to cancellation."""
TERMS = 18
"""Terms of that series: the rest is below the last bit of a float."""


# ---- of exact weights --------------------------------------------------------------------------------------------------


def entropy_of(weights: Iterable[int | float | Fraction], total: int = 1) -> float:
    """The entropy of weights that sum to `total`.

    >>> entropy_of([1, 1, 2], 4)
    1.5
    """
    masses = [float(weight / total) for weight in weights if weight]
    return math.fsum(-mass * math.log2(mass) for mass in masses if mass) + 0.0


def entropy_near_certainty(row: Sequence[int]) -> float:
    """The entropy of weights. Near certainty -q log q is taken from 1 - q, which is exact, so little is lost."""
    total = sum(row)
    terms = []
    for weight in row:
        if 2 * weight > total:
            terms.append(-weight / total * math.log1p(-((total - weight) / total)))
        elif share := weight / total:
            terms.append(-share * math.log(share))
    return math.fsum(terms) / math.log(2)


def information_of(weights: Mapping[tuple[A, B], int | Fraction]) -> float:
    """The information between two variables, from weights of their pairs; it may be below zero by rounding.

    >>> information_of({(0, 0): 1, (1, 1): 1})
    1.0
    """
    first: dict[A, int | Fraction] = {}
    second: dict[B, int | Fraction] = {}
    for (a, b), n in weights.items():
        first[a], second[b] = first.get(a, 0) + n, second.get(b, 0) + n
    total = sum(weights.values())
    return math.fsum(
        float(n / total) * math.log2(n * total / (first[a] * second[b])) for (a, b), n in weights.items() if n
    )


# ---- in balls ----------------------------------------------------------------------------------------------------------


def entropy_ball(law: Iterable[Fraction]) -> flint.arb:
    """Σ -x log₂ x over exact masses."""
    return entropy_of_balls(map(ball_of, law))


def entropy_of_balls(law: Iterable[flint.arb]) -> flint.arb:
    """Σ -x log₂ x over masses that are known as balls; those that may be zero are left out."""
    return sum_of(-x * x.log() for x in law if x > 0) / flint.arb(2).log()


def minus_x_ln_x(low: int, width: int) -> flint.arb:
    """-x ln x for x between low and low + width, in units of 2^-FIXED, within [0, 1]."""
    unit = flint.arb(2) ** -FIXED
    if low <= 0:
        x = flint.arb(max(low + width, 1)) * unit
        return (-x * x.log()).union(flint.arb(0))
    x = (flint.arb(low) * unit).union(flint.arb(low + width) * unit)
    return -x * x.log()


# ---- of many laws ------------------------------------------------------------------------------------------------------


def minus_x_log_x(x: Floats) -> Floats:
    """-x log₂ x, element by element; zero where x is not positive."""
    return np.asarray(-x * np.log2(np.where(x > 0, x, 1.0)), dtype=np.float64)


def entropies(laws: Floats, axis: int = -1) -> Floats:
    """The entropies of laws, one along the axis each."""
    return np.asarray(minus_x_log_x(laws).sum(axis=axis), dtype=np.float64)


def entropy_of_positive(law: Floats) -> float:
    """The entropy of one law whose masses are all positive."""
    return float(-(law @ np.log2(law)))


def weighted_entropies(masses: Floats) -> Floats:
    """H(W|y) · p(y) for rows of p(w, y)."""
    return entropies(masses) - minus_x_log_x(masses.sum(axis=-1))


def binary_entropies(t: Floats) -> Floats:
    """The entropy of a coin that shows one with probability t, element by element; precise near the ends."""
    from scipy.special import xlog1py, xlogy

    t = np.clip(np.asarray(t, dtype=np.float64), 0.0, 1.0)
    return np.asarray(-(xlogy(t, t) + xlog1py(1 - t, -t)) / math.log(2), dtype=np.float64)


# ---- terms of divergences, in nats -------------------------------------------------------------------------------------


def divergence_term(ratio_less_one: float) -> float:
    """f(d) = (1+d) ln(1+d) - d, to nearly the last bit also where d is small.

    >>> divergence_term(-1.0), f"{divergence_term(1e-9):.12g}"
    (1.0, '4.99999999833e-19')
    """
    d = ratio_less_one
    if d <= -1:
        return 1.0
    if abs(d) > SMALL:
        return (1 + d) * math.log1p(d) - d
    return d * d * math.fsum((-d) ** (k - 2) / (k * (k - 1)) for k in range(2, TERMS))


def divergence_terms(ratios_less_one: Floats) -> Floats:
    """The same, element by element."""
    off = ratios_less_one
    small = np.abs(off) < 0.01
    d = np.where(small, off, 0.0)
    series = d * d * (1 / 2 - d * (1 / 6 - d * (1 / 12 - d * (1 / 20 - d * (1 / 30 - d * (1 / 42 - d / 56))))))
    e = np.where(small | (off <= -1), 0.0, off)
    value = np.where(small, series, (1 + e) * np.log1p(e) - e)
    return np.where(off <= -1, 1.0, value)
