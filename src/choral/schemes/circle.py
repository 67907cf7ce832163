"""Rotation: turn every sample by the same secret angle.

S_i is the cell of a uniform point of the arc of X_i on a circle of b cells (`masked.py`), Q one secret uniform number,
and Y_i = S_i + Q mod b.

**Private.** S_1…S_n are independent and uniform, so given X_i, and even given S_i, the vector Y is uniform on Z_b^n: Y_i is,
because of Q; and given (S_i, Q) the other S_j are still uniform and independent. So Y is independent of X_i, for each i.

**What it is not.** Everything relative is told: whoever knows one sample learns almost all others. And it is brittle: under
another law than the declared one, Q can be found from the frequencies of Y (`attack_misfit`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import ColumnError, LawError
from choral.schemes.draws import secret_numbers
from choral.schemes.law import DeclaredLaw, Whole, whole_number
from choral.schemes.masked import MaskedScheme


class Rotation(MaskedScheme):
    """Y_i = S_i + Q mod b with one secret Q: Y is independent of every single sample. O(n) time, any marginals, any b.

    >>> law = DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias, tossed independently")
    >>> scheme = Rotation(law, b=3)
    >>> round(scheme.information(4), 3)
    1.439
    >>> J = scheme.joint(2)
    >>> J.independent("X1", "Y1, Y2"), J.independent("X1, X2", "Y1, Y2")
    (True, False)
    >>> len(scheme.encode([0, 1, 0, 0, 1]))
    5
    """

    def secrets_of(self, n: int) -> int:
        """One."""
        return 1

    def publish(self, cells: Whole, secret: Whole) -> Whole:
        """S_i + Q mod b."""
        return (cells + secret) % self.b

    def directions(self, n: int) -> list[tuple[int, ...]]:
        """S_i = Y_i - Q: all samples turn together."""
        return [(1,)] * n

    def encode(self, data: Any) -> npt.NDArray[Any]:
        """The code of real data, drawn exactly; Q comes from the operating system and is forgotten.

        Encode a dataset once: two codes of the same data can be compared, and tell more than one.
        """
        rows = self.law.rows_of(data)
        self.law.count(len(rows))
        return self._turned(rows, secret_numbers(self.b, 1)[0])

    def stream(self, chunks: Iterable[Any]) -> Iterator[npt.NDArray[Any]]:
        """The codes of one dataset that comes in chunks, under one secret; afterwards it is forgotten."""
        start, secret = 0, secret_numbers(self.b, 1)[0]
        for chunk in chunks:
            rows = self.law.rows_of(chunk, start)
            start += len(rows)
            yield self._turned(rows, secret)
        self.law.count(start)

    def _turned(self, rows: npt.NDArray[np.integer[Any]], secret: int) -> npt.NDArray[Any]:
        turn = ((np.arange(self.b) + secret) % self.b).astype(np.min_scalar_type(self.b - 1))
        return self._rows.draw(rows, turn)

    # ---- decoding -------------------------------------------------------------------------------------------

    def posterior(
        self, code: Sequence[int], which: int | Sequence[int], known: Mapping[int, Any] | None = None
    ) -> dict[tuple[Any, ...], Fraction]:
        """P(the samples at positions `which` | Y = code, and the samples in `known`), exactly. Positions are from 0.

        It is a sum over the b turns, not over sequences: given Q the samples are independent, and each is read off the
        arcs that meet its cell. Of one sample, with nothing else known, it is the prior.

        >>> scheme = Rotation(DeclaredLaw.bernoulli(Fraction(3, 10), "a coin"), b=10)
        >>> scheme.posterior([4, 4, 9], 0) == {(0,): Fraction(7, 10), (1,): Fraction(3, 10)}
        True
        >>> scheme.posterior([4, 4, 9], 0, known={1: 1})[1,]
        Fraction(1, 1)
        """
        marginals = self.law.sized(len(code))
        code = [self._code(y, i) for i, y in enumerate(code)]
        asked = [which] if isinstance(which, int) else list(which)
        for i in [*asked, *(known or {})]:
            if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < len(code):
                raise ColumnError(f"There is no sample at position {i!r}.", f"Positions are 0 to {len(code) - 1}.")
        given = {i: self._value(i, value) for i, value in (known or {}).items()}
        weights = [
            math.prod((self._arcs[marginals[i]][x].get((code[i] - q) % self.b, Fraction(0)) for i, x in given.items()))
            for q in range(self.b)
        ]
        total = sum(weights)
        if not total:
            raise LawError("The known samples cannot have given this code.", "Check their positions and values.")
        answer: dict[tuple[Any, ...], Fraction] = {}
        for x in product(*(range(len(marginals[i].values)) for i in asked)):
            if any(given.get(i, v) != v for i, v in zip(asked, x, strict=True)):
                mass = Fraction(0)
            else:
                mass = Fraction(0)
                for q, weight in enumerate(weights):
                    share = Fraction(weight)
                    for i, v in zip(asked, x, strict=True):
                        if i not in given:
                            share *= self._arcs[marginals[i]][v].get((code[i] - q) % self.b, Fraction(0)) * self.b
                    mass += share
            answer[tuple(marginals[i].values[v] for i, v in zip(asked, x, strict=True))] = mass / total
        return answer

    def secret_posterior(self, code: Any, truth: DeclaredLaw) -> npt.NDArray[np.float64]:
        """P(Q = q | Y = code) for each q when the data follow `truth`: what an adversary who knows the truth computes.

        Uniform when the truth is the declared law. O(n + b²) for i.i.d. samples.
        """
        y = np.asarray(code)
        kinds = [self.law.marginal(i) for i in range(len(y))] if self.law.n is not None else [self.law.marginal(0)]
        truths = [truth.marginal(i) for i in range(len(y))] if truth.n is not None else [truth.marginal(0)]
        groups: dict[Any, list[int]] = {}
        if len(kinds) == len(truths) == 1:
            counts = {(kinds[0], truths[0]): np.bincount(y, minlength=self.b)}
        else:
            for i, value in enumerate(y.tolist()):
                groups.setdefault((kinds[i % len(kinds)], truths[i % len(truths)]), []).append(value)
            counts = {pair: np.bincount(np.array(values), minlength=self.b) for pair, values in groups.items()}
        score = np.zeros(self.b)
        for (assumed, true), seen in counts.items():
            if assumed.values != true.values:
                raise LawError("The two laws have different values.", "List the same values in the same order.")
            chances = [Fraction(0)] * self.b
            for row, p, actual in zip(self._arcs[assumed], assumed.p, true.p, strict=True):
                for s, part in row.items():
                    chances[s] += part / p * actual
            with np.errstate(divide="ignore"):
                logs = np.log(np.array([float(c) for c in chances]))
            for q in range(self.b):
                turned = np.roll(logs, q)
                score[q] += float(seen[seen > 0] @ turned[seen > 0])
        mass = np.exp(score - score.max())
        return np.asarray(mass / mass.sum())

    def _code(self, y: Any, i: int) -> int:
        if isinstance(y, bool) or not isinstance(y, int | np.integer) or not 0 <= y < self.b:
            raise LawError(f"The code {y!r} at position {i} is no cell.", f"Codes are 0 to {self.b - 1}.")
        return int(y)

    def _value(self, i: int, value: Any) -> int:
        values = self.law.marginal(i).values
        if value not in values:
            raise ColumnError(f"{value!r} is no value of the sample at position {i}.", f"Known: {values}.")
        return values.index(value)


def best_cells(law: DeclaredLaw, n: int | None = None, most: int = 16) -> Rotation:
    """The rotation of 2 to `most` cells that tells most about n samples, by its exact information.

    >>> best_cells(DeclaredLaw.bernoulli(Fraction(3, 10), "a coin"), 4, most=10).b
    3
    """
    whole_number(most, "most", 2)
    return max((Rotation(law, b) for b in range(2, most + 1)), key=lambda scheme: scheme.information(n))
