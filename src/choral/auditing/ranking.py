"""Which of many leaks are the largest: floats leave out what cannot be, and the rest is computed exactly.

An audit of thirty columns looks at thousands of pairs and triples and lists a few. No number that is shown comes from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from choral.problem.kernel import Floats
from choral.release.leakage import Published

NEAR = 1e-7
"""Bits. Two leaks whose estimates differ by more are in the order that the estimates say."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """I(columns; Y) in floats, to NEAR / 4.

    p(z,y) is a sum of N non-negative floats, right but for a factor 1 ± g with g < 1.1·10⁻¹⁶·(N + 5); so are p(z) and
    p(y), up to the size of the table in place of N. A sum of p log₂(p(z,y) / (p(z)p(y))) then errs by less than
    g·(6 + Σ p·|log₂ …|), and the last sum is below 3 + log₂ of the number of codes. With five million cells and a
    million codes that is less than 2·10⁻⁸.
    """

    published: Published
    known: dict[frozenset[str], float] = field(default_factory=dict)

    @cached_property
    def _channel(self) -> Any:
        """p(y | state), sparse, a row for each state."""
        rows = self.published.channel.rows
        starts = np.cumsum([0, *(len(entries) for _, entries in rows)])
        codes = [y for _, entries in rows for y, _ in entries]
        shares = [n / denominator for denominator, entries in rows for _, n in entries]
        return sparse.csr_array((shares, codes, starts), shape=(len(rows), self.published.channel.codes))

    @cached_property
    def _weights(self) -> Floats:
        """The probability of each cell of the law."""
        law = self.published.law
        return np.array([weight / law.total for weight in law.cells.values()])

    @cached_property
    def _values(self) -> npt.NDArray[np.intp]:
        """The positions of each cell of the law, a row for each column."""
        return np.array(list(self.published.law.cells), np.intp).T

    def bits(self, columns: Sequence[str]) -> float:
        """An estimate of I(columns; Y)."""
        names = frozenset(columns)
        if names not in self.known:
            self.known[names] = self._information([self.published.law.position(name) for name in sorted(names)])
        return self.known[names]

    def _information(self, where: Sequence[int]) -> float:
        key = np.zeros(len(self.published.law), np.intp)
        kinds = 1
        for i in where:
            size = len(self.published.law.alphabets[i])
            key, kinds = key * size + self._values[i], kinds * size
            if kinds > len(key):
                found, key = np.unique(key, return_inverse=True)
                kinds = len(found)
        of_state = sparse.coo_array((self._weights, (key, self.published.state)), (kinds, self._channel.shape[0]))
        table = (of_state.tocsr() @ self._channel).toarray()
        apart = np.outer(table.sum(axis=1), table.sum(axis=0))
        some = table > 0
        return float(np.sum(table[some] * np.log2(table[some] / apart[some])))


def within_reach(estimates: Sequence[float], most: int) -> list[int]:
    """The places of all that can be among the `most` largest that are not zero, none of which is negative, in order.

    Each is a difference of two estimates, so it errs by NEAR / 2 at most. What is more than NEAR below the last of the `most`
    largest is smaller than each of these; and since it is not negative itself, these are not zero.

    >>> within_reach([0.5, 0.1, 0.3, 0.3 - 1e-12], 2)
    [0, 2, 3]
    """
    if len(estimates) <= most:
        return list(range(len(estimates)))
    last = sorted(estimates, reverse=True)[most - 1]
    return [i for i, one in enumerate(estimates) if one >= last - NEAR]
