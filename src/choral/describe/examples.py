"""The named examples of the paper, and others that show one thing well. All are exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from choral.describe.channels import bec, bsc
from choral.describe.joint import Joint
from choral.describe.markov import MarkovChain
from choral.describe.numbers import nonnegative
from choral.errors import LawError


def bsc_and_bec(crossover: Any = Fraction(2, 3), erasure: Any = Fraction(1, 2)) -> Joint:
    """Example Ex1: a fair W seen through a BSC and a BEC.

    >>> [str(p) for _, p in bsc_and_bec().marginal("X1, X2").items()]
    ['1/12', '1/4', '1/6', '1/6', '1/4', '1/12']
    """
    return Joint.observed([Fraction(1, 2)] * 2, [bsc(crossover), bec(erasure)])


def noisy_copies(n: int, crossover: Any = Fraction(1, 10), one: Any = Fraction(1, 3)) -> Joint:
    """Table 1: W with P(W=1) = `one`, seen n times through a BSC."""
    p = nonnegative(one, "P(W=1)")
    return Joint.observed([1 - p, p], [bsc(crossover)] * n)


def modular(M: int, k: int = 1) -> Joint:
    """X1 uniform on [M], X2 on [kM], W = X1 + X2 mod M; I_s = log M."""
    cells = {((a + b) % M, a, b): 1 for a in range(M) for b in range(k * M)}
    return Joint.from_counts(cells, names=["W", "X1", "X2"])


def xor() -> Joint:
    """Two fair bits and their sum mod 2: everything is synergy."""
    return modular(2)


def two_binary(alpha: Any, beta: Any, r: Any, target: Any = None) -> Joint:
    """Two binary samples in the parameters of (px): P(X1=0) = alpha, P(X2=0) = beta ≥ alpha, P(0,1) = r.

    `target` gives P(W=1 | x1, x2) for 00, 01, 10, 11; without it W = X1 ⊕ X2.
    """
    a, b, c = (nonnegative(v, n) for v, n in ((alpha, "alpha"), (beta, "beta"), (r, "r")))
    masses = {(0, 0): a - c, (0, 1): c, (1, 0): b - a + c, (1, 1): 1 - b - c}
    if b < a or any(mass < 0 for mass in masses.values()):
        raise LawError(
            f"alpha={a}, beta={b}, r={c} give a negative probability.",
            "(px) needs alpha ≤ beta and 0 ≤ r ≤ min(alpha, 1-beta).",
        )
    ones = [Fraction(x ^ y) for x, y in masses] if target is None else [nonnegative(t, "target") for t in target]
    cells: dict[Any, Fraction] = {}
    for (x, mass), one in zip(masses.items(), ones, strict=True):
        cells[(0, *x)], cells[(1, *x)] = mass * (1 - one), mass * one
    return Joint.from_counts(cells, names=["W", "X1", "X2"], alphabets=[(0, 1)] * 3)


def bernoulli(q: Any, n: int) -> Joint:
    """Independent samples X1…Xn with P(Xi=1) = q, and no W.

    >>> bernoulli(Fraction(3, 10), 2).probability(X1=1, X2=1)
    Fraction(9, 100)
    """
    one = nonnegative(q, "q")
    if not 0 < one < 1:
        raise LawError(f"q = {q} is outside (0, 1).", "A sample that never changes has nothing to protect.")
    if n < 1:
        raise LawError(f"n = {n} samples.", "Give at least one.")
    cells = {x: one ** sum(x) * (1 - one) ** (n - sum(x)) for x in product((0, 1), repeat=n)}
    return Joint.from_counts(cells, names=[f"X{i}" for i in range(1, n + 1)])


def markov(transition: Any, n: int, initial: Any = None) -> Joint:
    """Samples X1…Xn of a Markov chain with these rows, from `initial` or from its stationary law; no W.

    >>> J = markov([[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 5), Fraction(4, 5)]], 3)
    >>> J.probability(X2=0) == J.probability(X3=0) == Fraction(2, 3)
    True
    """
    return MarkovChain.of(transition, initial).joint(n)


def two_squares() -> Joint:
    """Two 2×2 blocks of unequal cells (docs/paper.md): |X̂| = 4+4-2+2, yet the nullity of P is 2.

    The paper says that the optimal channel then does not depend on W; here it does.
    """
    block = {(0, 0): 2, (0, 1): 1, (1, 0): 1, (1, 1): 2}
    cells = {(a + 2 * b, c + 2 * b): weight for b in (0, 1) for (a, c), weight in block.items()}
    return Joint.from_counts(cells, names=["X1", "X2"])


def four_fair_bits() -> Joint:
    """Four fair bits with W = X1 ⊕ X2 (docs/paper.md): two codes reach the optimum, where the paper asks for four."""
    bits = Joint.from_counts(dict.fromkeys(product((0, 1), repeat=4), 1), names=["X1", "X2", "X3", "X4"])
    return bits.with_column("W", lambda a, b, c, d: a ^ b)


def clinic() -> Joint:
    """The embedded table of the demo: 400 invented patients, three readings and a diagnosis.

    The diagnosis depends mostly on how the readings combine, which is what can be disclosed.
    """
    names = ["diagnosis", "pressure", "glucose", "smoker"]
    alphabets = [("healthy", "ill"), ("normal", "high"), ("normal", "raised"), ("no", "yes")]
    healthy = (70, 18, 12, 32, 15, 38, 33, 12)
    ill = (10, 27, 18, 8, 25, 12, 17, 53)
    readings = product(*alphabets[1:])
    counts = {
        (d, *x): n for x, a, b in zip(readings, healthy, ill, strict=True) for d, n in (("healthy", a), ("ill", b))
    }
    return Joint.from_counts(counts, names, alphabets)
