"""Coalition rotation: masks of which any k are uniform together.

With b prime, b > n, and secret uniform Q_1…Q_k, publish Y_i = S_i + Q_1 + i·Q_2 + … + i^(k-1)·Q_k mod b.

**Private.** The masks of k samples are a Vandermonde matrix at k different points of the field Z_b times (Q_1…Q_k), which is
invertible: they are uniform on Z_b^k together. Given S_A for a set A of k samples, Y_A is therefore uniform; and given S_A
and all secrets, the other S_j, hence the other Y_j, are still uniform and independent. So Y is uniform given S_A, and
independent of X_A: an adversary who knows k-1 samples learns nothing about another. With k+1 samples it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import LawError
from choral.schemes.draws import BLOCK, secret_numbers
from choral.schemes.law import DeclaredLaw, Whole, whole_number
from choral.schemes.masked import MaskedScheme


class Coalition(MaskedScheme):
    """Y is independent of every k samples together.

    >>> from fractions import Fraction
    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> J = Coalition(law, b=5, k=2).joint(3)
    >>> J.independent("X1, X3", "Y1, Y2, Y3"), J.independent("X1, X2, X3", "Y1, Y2, Y3")
    (True, False)
    """

    def __init__(self, law: DeclaredLaw, b: int, k: int) -> None:
        """Raise `LawError` unless b is prime and k at least 1."""
        super().__init__(law, b)
        self.k = whole_number(k, "k", 1)
        if not is_prime(self.b):
            raise LawError(
                f"b = {b} is not prime.", f"The next prime is {next_prime(self.b)}: any k masks need a field."
            )

    def secrets_of(self, n: int) -> int:
        """k, if b is above n and k at most n."""
        if self.k > n:
            raise LawError(f"k = {self.k} samples of {n}.", "Protect at most all of them.")
        if n >= self.b:
            raise LawError(
                f"b = {self.b} is not above n = {n}: two samples would have one mask.",
                f"Take the prime b = {next_prime(n + 1)} or a larger one.",
            )
        return self.k

    def publish(self, cells: Whole, secret: Whole, start: int = 0) -> Whole:
        """S_i + Σ_j i^(j-1) Q_j mod b, with i from 1; `start` samples came before."""
        place = np.arange(start + 1, start + cells.shape[-1] + 1, dtype=np.int64)
        mask: Any = np.zeros(1, dtype=np.int64)
        for j in reversed(range(self.k)):
            mask = (mask * place + secret[..., j : j + 1]) % self.b
        return np.asarray((cells + mask) % self.b)

    def encode(self, data: Any) -> npt.NDArray[Any]:
        """The code of real data, drawn exactly; the secrets come from the operating system and are forgotten.

        Encode a dataset once: two codes of the same data can be compared, and tell more than one.
        """
        rows = self.law.rows_of(data)
        self.law.count(len(rows))
        self.secrets_of(len(rows))
        return self._masked(rows, 0, self._secret())

    def stream(self, chunks: Iterable[Any]) -> Iterator[npt.NDArray[Any]]:
        """The codes of one dataset that comes in chunks, under the same secrets; afterwards they are forgotten.

        Raises `LawError` before a chunk that would make n reach b.
        """
        start, secret = 0, self._secret()
        for chunk in chunks:
            rows = self.law.rows_of(chunk, start)
            if len(rows):
                self.secrets_of(max(self.k, start + len(rows)))
            yield self._masked(rows, start, secret)
            start += len(rows)
        self.law.count(start)
        self.secrets_of(start)

    def _secret(self) -> Whole:
        return np.array(secret_numbers(self.b, self.k), dtype=np.int64)

    def _masked(self, rows: npt.NDArray[np.integer[Any]], start: int, secret: Whole) -> npt.NDArray[Any]:
        """The codes of samples after the first `start`, some at a time."""
        codes = np.empty(len(rows), dtype=np.min_scalar_type(self.b - 1))
        for i in range(0, len(rows), BLOCK):
            cells = self._rows.draw(rows[i : i + BLOCK]).astype(np.int64)
            codes[i : i + BLOCK] = self.publish(cells, secret, start + i)
        return codes

    def directions(self, n: int) -> list[tuple[int, ...]]:
        """S_i = Y_i - Σ_j i^(j-1) Q_j."""
        return [tuple(pow(i, j, self.b) for j in range(self.k)) for i in range(1, n + 1)]


def is_prime(number: int) -> bool:
    """Whether a number is prime.

    >>> [b for b in range(14) if is_prime(b)]
    [2, 3, 5, 7, 11, 13]
    """
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


def next_prime(number: int) -> int:
    """The smallest prime that is at least this.

    >>> next_prime(24)
    29
    """
    while not is_prime(number):
        number += 1
    return number
