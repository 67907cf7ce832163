"""Sums over windows with one secret: the paper's ex:4, for any marginals.

L_i = Q + S_i + S_{i+1} + … + S_{i+k-1} mod b for i = 1…n-k+1, with S_i uniform on Z_b by the arcs of `masked.py`. In the
paper the samples are uniform on [M]; then b = M and S_i = X_i.

**Private.** Given the window S_i…S_{i+k-1}, L_i is uniform because of Q; L_{j+1} - L_j = S_{j+k} - S_j adds a fresh uniform
S_{j+k} for every j ≥ i, and a fresh S_j for every j < i. So Y = L is uniform given any window of k successive samples, and
independent of them. This is not so for other k-tuples: L_2 - L_1 tells about X_1 and X_{k+1} together.

**Information.** Y tells the differences S_{j+k} - S_j, and L_1, which Q makes pure noise. So it is worth k rotations, one for
each residue of i mod k, and its information is the sum of theirs.
"""

from __future__ import annotations

import math

import numpy as np

from choral.errors import LawError
from choral.schemes.law import DeclaredLaw, Whole, whole_number
from choral.schemes.masked import MaskedScheme


class ModularWindows(MaskedScheme):
    """Y is independent of every k successive samples.

    >>> from fractions import Fraction
    >>> die = DeclaredLaw([Fraction(1, 3)] * 3, "a die with three faces, thrown independently")
    >>> scheme = ModularWindows(die, b=3, k=2)
    >>> J = scheme.joint(4)
    >>> J.independent("X2, X3", "Y1, Y2, Y3"), J.independent("X1, X3", "Y1, Y2, Y3")
    (True, False)
    >>> round(scheme.information(4) / math.log2(3), 9)       # of 4: k = 2 samples' worth is hidden
    2.0
    """

    def __init__(self, law: DeclaredLaw, b: int, k: int) -> None:
        """Raise `LawError` unless k is at least 1."""
        super().__init__(law, b)
        self.k = whole_number(k, "k", 1)

    def secrets_of(self, n: int) -> int:
        """One, if a window fits."""
        if self.k > n:
            raise LawError(f"k = {self.k}, but there are {n} samples.", "A window has at most all of them.")
        return 1

    def publish(self, cells: Whole, secret: Whole) -> Whole:
        """Q plus the sum of each window, mod b."""
        sums = np.cumsum(cells, axis=-1)
        windows = sums[..., self.k - 1 :].copy()
        windows[..., 1:] -= sums[..., : -self.k]
        return np.asarray((windows + secret) % self.b)

    def directions(self, n: int) -> list[tuple[int, ...]]:
        """S_{j+k} = S_j + L_{j+1} - L_j: samples whose places are alike mod k move together."""
        return [tuple(int(i % self.k == j) for j in range(self.k)) for i in range(n)]

    def information(self, n: int | None = None) -> float:
        """I(X1…Xn;Y) in bits: the sum over residues mod k of the information of a rotation."""
        marginals = self.law.sized(n)
        self.secrets_of(len(marginals))
        classes = [marginals[j :: self.k] for j in range(self.k)]
        return math.fsum(self._information(alike, [(1,)] * len(alike)) for alike in classes)
