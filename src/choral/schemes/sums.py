"""Uniformise, then add neighbours: the paper's second scheme, with its exact information.

S_i is uniform on Z_b (the arcs of `masked.py`; for a bit with q ≤ 1/2 and b = 2 this is the paper's Z-channel), and
Y_i = S_i + S_{i+1} mod b.

**Private.** X_i - S_i - Y is a Markov chain, and given S_i the n-1 sums are uniform and independent, going outwards from i:
each adds one fresh uniform S_j. So Y is independent of S_i and of X_i.

**Information.** Given Y, S_1 determines S_2, S_3, …: the hidden shift is S_1, with directions +1, -1, +1, …. So the
information is that of `masked.py`, and per sample it tends to I(X;S). The paper's formula (la) takes the sums for
independent given X; neighbours share a sample, so it is a lower bound (`paper_formula`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from choral.describe.entropy import entropy_of
from choral.describe.numbers import exact
from choral.errors import LawError
from choral.schemes.law import DeclaredLaw, Whole, declared, whole_number
from choral.schemes.masked import MaskedScheme


class Uniformise(MaskedScheme):
    """Y_i = S_i + S_{i+1} mod b, without any secret but the spreading itself. b is the size of the common alphabet.

    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> round(Uniformise(law).information(4), 3), round(paper_formula(Fraction(3, 10), 4), 3)
    (0.721, 0.478)
    """

    def __init__(self, law: DeclaredLaw, b: int | None = None) -> None:
        """Raise `LawError` when the alphabets differ in size and no b is given."""
        sizes = sorted({len(marginal.values) for marginal in declared(law).distinct})
        if b is None and len(sizes) > 1:
            raise LawError(f"The alphabets have different sizes: {sizes}.", f"Give b, for instance b={sizes[-1]}.")
        super().__init__(law, sizes[0] if b is None else b)

    def secrets_of(self, n: int) -> int:
        """None; there must be two samples to add."""
        if n < 2:
            raise LawError(f"n = {n}: there is no neighbour to add.", "Give at least two samples.")
        return 0

    def publish(self, cells: Whole, secret: Whole) -> Whole:
        """S_i + S_{i+1} mod b."""
        return (cells[..., :-1] + cells[..., 1:]) % self.b

    def directions(self, n: int) -> list[tuple[int, ...]]:
        """S_{i+1} = Y_i - S_i: the shift changes sign from one sample to the next."""
        return [(1 if i % 2 == 0 else self.b - 1,) for i in range(n)]


def paper_formula(q: Any, n: int) -> float:
    """(la): (n-1)·[1 - 2q(1-q)h(β) - (1-q)²h(2β(1-β))] bits, β = (1/2-q)/(1-q). Below the information for n > 2.

    >>> round(paper_formula(Fraction(3, 10), 3), 3)
    0.319
    """
    one = exact(q, "q")
    if not 0 < one <= Fraction(1, 2):
        raise LawError(f"q = {q} is outside (0, 1/2].", "Exchange 0 and 1.")
    whole_number(n, "n", 2)
    beta = (Fraction(1, 2) - one) / (1 - one)
    both = 2 * beta * (1 - beta)
    rest = 2 * float(one * (1 - one)) * entropy_of((beta, 1 - beta)) + float((1 - one) ** 2) * entropy_of(
        (both, 1 - both)
    )
    return (n - 1) * (1 - rest)
