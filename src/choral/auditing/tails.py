"""How far sums of independent bounded numbers are from their means: inequalities that hold for every number of records."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

BERRY_ESSEEN = 0.56
"""A constant that holds for independent numbers with different laws (Shevtsova 2010)."""
INTERVALS = 64
"""Parts of the range of a spread, in each of which one of two bounds must do: more of them, a sharper margin."""
BISECTIONS = 28
"""Halvings of a range: eight decimals of it, and the end that holds is returned."""


def largest_spread(seen: float, most: float, delta: float) -> float:
    """A bound on sqrt(Σ E x²) that `seen` = Σ x² gives with probability 1 - delta, for independent |x| ≤ most.

    For numbers Y ≥ 0, E exp(-λY) ≤ exp(-λ E Y + λ² E Y²/2); so Σ E x² - Σ x² ≥ s has a probability of at most
    exp(-s² / (2 Σ E x⁴)), and E x⁴ ≤ most² E x². This is solved for Σ E x².

    >>> largest_spread(4.0, 0.0, 0.05)
    2.0
    """
    half = most * math.sqrt(math.log(1 / delta) / 2)
    return half + math.sqrt(half * half + seen)


def bernstein(spread: float, most: float, delta: float) -> float:
    """A t with P(Σ (E x - x) ≥ t) ≤ delta, for independent |x| ≤ most with Σ E x² ≤ spread².

    By Bernstein's inequality, with E x² in place of variances: E exp(-λ(x - E x)) ≤ exp(E exp(-λx) - 1 + λ E x), and the
    rest of its proof goes on from there.
    """
    level = math.log(1 / delta)
    third = most * level / 3
    return third + math.sqrt(third * third + 2 * spread * spread * level)


def margin(spread: float, most: float, delta: float) -> float:
    """As `bernstein`, or less by the theorem of Berry and Esseen, which for many records is near the normal 1.645·spread.

    If s² is the true variance of the sum, the probability is at most Φ(-t/s) + 0.56·Σ E|x - E x|³/s³, and |x - E x| ≤
    2·most. That is no use for a small s, where Bernstein's inequality is; so (0, spread] is cut in intervals, and in each
    one of the two must do for all its s.

    >>> round(margin(1.0, 0.0, 0.05), 3), round(margin(1.0, 0.01, 0.05), 3)
    (1.645, 1.767)
    """
    if spread == 0:
        return 0.0
    level = math.log(1 / delta)
    ends = spread * np.arange(1, INTERVALS + 1) / INTERVALS
    starts = ends - spread / INTERVALS
    reach = 2 * most
    off = np.divide(
        BERRY_ESSEEN * reach, starts, out=np.full(INTERVALS, 0.0 if reach == 0 else np.inf), where=starts > 0
    )
    low, high = 0.0, bernstein(spread, most, delta)
    for _ in range(BISECTIONS):
        t = (low + high) / 2
        exponent = t * t / (2 * (ends**2 + reach * t / 3))
        if np.all((exponent >= level) | (ndtr(-t / ends) + off <= delta)):
            high = t
        else:
            low = t
    return high


def largest_share(share: float, rows: int, delta: float) -> float:
    """A bound on the probability of a value that this share of `rows` records has, for all values together.

    A probability x is excluded when a share that is no larger has a probability of at most delta·x under it, by Hoeffding's
    inequality in its form with a divergence. The chances of excluding a true one sum to delta·Σ x ≤ delta, however many
    values there are. It also holds for means of numbers between 0 and 1.

    >>> [round(largest_share(n / 1000, 1000, 0.01), 3) for n in (0, 5, 500, 1000)]
    [0.009, 0.02, 0.551, 1.0]
    """
    low, high = share, 1.0
    for _ in range(BISECTIONS):
        x = (low + high) / 2
        if rows * _divergence(share, x) >= math.log(1 / (delta * x)):
            high = x
        else:
            low = x
    return high


def _divergence(a: float, b: float) -> float:
    """d(a ‖ b) of two coins in nats, for 0 ≤ a ≤ b and b > 0."""
    if b >= 1:
        return 0.0 if a >= 1 else math.inf
    first = a * math.log(a / b) if a > 0 else 0.0
    return first + (1 - a) * math.log((1 - a) / (1 - b))
