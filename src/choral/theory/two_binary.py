"""Two binary samples in closed form: (sol) for the information and (ma) for the channel.

In the parameters of (px), α is P(X_1 = 0), β is P(X_2 = 0) ≥ α, r is P(X_1 = 0, X_2 = 1), and R = min(α, 1-β).
(The paper writes X_1 ~ Bern(α) after (px); the vector there makes α the probability of *zero*; see docs/paper.md.)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.entropy import entropy_of
from choral.describe.numbers import nonnegative
from choral.errors import LawError


def two_binary_channel(alpha: Any, beta: Any, r: Any) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """(ma): p(y | x1, x2) for the states 00, 01, 10, 11, one row per code. The same for every target.

    >>> from fractions import Fraction as F
    >>> [str(p) for p in two_binary_channel(F(1, 3), F(1, 2), F(1, 6))[0]]
    ['0', '1', '3/4', '1/4']
    """
    a, b, c, R = _parameters(alpha, beta, r)
    first = (
        c * (a - R) / (R * (a - c)),
        Fraction(1),
        c * (b - a + R) / (R * (b - a + c)),
        c * (1 - b - R) / (R * (1 - b - c)),
    )
    return first, tuple(1 - p for p in first)


def two_binary_information(alpha: Any, beta: Any, r: Any, posterior: Sequence[Sequence[Any]]) -> float:
    """(sol): I_s in bits, for P(w | x1, x2) given as rows (one per w) over the states 00, 01, 10, 11."""
    a, b, c, R = _parameters(alpha, beta, r)
    p = (a - c, c, b - a + c, 1 - b - c)
    n = (1, -1, -1, 1)
    rows = [[nonnegative(x, "the posterior") for x in row] for row in posterior]
    w = [sum((x * q for x, q in zip(row, p, strict=True)), Fraction(0)) for row in rows]
    move = [sum((x * q for x, q in zip(row, n, strict=True)), Fraction(0)) for row in rows]
    low = [x - (R - c) * m for x, m in zip(w, move, strict=True)]
    high = [x + c * m for x, m in zip(w, move, strict=True)]
    return entropy_of(w) - float(c / R) * entropy_of(low) - float((R - c) / R) * entropy_of(high)


def _parameters(alpha: Any, beta: Any, r: Any) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    a, b, c = (nonnegative(v, n) for v, n in ((alpha, "alpha"), (beta, "beta"), (r, "r")))
    R = min(a, 1 - b)
    if not (0 < a <= b < 1 and 0 < c < R):
        raise LawError(
            f"alpha={a}, beta={b}, r={c}: the formulas need 0 < alpha ≤ beta < 1 and 0 < r < {R}.",
            "At r = 0 and r = R nothing can be disclosed (nullity 0).",
        )
    return a, b, c, R
