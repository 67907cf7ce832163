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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import ColumnError, LawError, ProblemError
from choral.schemes.decoding import FloatLaw, sample_laws, sum_in_floats, sum_posterior
from choral.schemes.draws import secret_numbers
from choral.schemes.law import DeclaredLaw, Marginal, Whole, whole_number
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

    def information(self, n: int | None = None) -> float:
        """I(X1…Xn;Y) in bits: in closed form, for any n, where arcs are whole cells, none longer than half a circle.

        Given X and Y, T is then uniform on the shifts that leave every S_i in the arc of X_i. Before and after S_i the arc
        has L_i and R_i cells, so these shifts are -min L_i … min R_i (arcs of at most half a circle cannot meet on the far
        side), and H(T|X,Y) is the mean of log(min L_i + min R_i + 1). An arc of ℓ cells has max(0, ℓ-a-c) places with L ≥ a
        and R ≥ c, so P(min L ≥ a, min R ≥ c) = G(a+c) with G(d) = Π_i Σ_x max(0, ℓ_i(x)-d)/b. Second differences of G are
        the probabilities of pairs.
        """
        marginals = self.law.sized(n)
        if any((p * self.b).denominator > 1 or 2 * p > 1 for m in set(marginals) for p in m.p):
            return super().information(n)
        counted = Counter(marginals)
        reach = [
            math.prod(
                float(sum(max(Fraction(0), p - Fraction(d, self.b)) for p in m.p)) ** count
                for m, count in counted.items()
            )
            for d in range(self.b // 2 + 2)
        ]
        left = math.fsum(
            (d + 1) * (here - 2 * further + furthest) * math.log2(d + 1)
            for d, (here, further, furthest) in enumerate(zip(reach, reach[1:], [*reach[2:], 0.0], strict=False))
        )
        return max(0.0, self._cells_tell(len(marginals)) - math.log2(self.b) + left)

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

        It is a sum over arcs of Q, not over sequences: given Q the samples are independent, and each is read off the
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
        places = list(dict.fromkeys([*asked, *given]))
        answer = dict.fromkeys(product(*(range(len(marginals[i].values)) for i in asked)), Fraction(0))
        for length, laws in sample_laws([marginals[i] for i in places], [code[i] for i in places], self.b):
            law = dict(zip(places, laws, strict=True))
            weight = math.prod((law[i].get(x, Fraction(0)) for i, x in given.items()), start=Fraction(length))
            if not weight:
                continue
            shown = [{given[i]: Fraction(1)} if i in given else law[i] for i in asked]
            for x in product(*shown):
                answer[x] += math.prod((p[v] for p, v in zip(shown, x, strict=True)), start=weight)
        total = sum(answer.values())
        if not total:
            raise LawError("The known samples cannot have given this code.", "Check their positions and values.")
        return {
            tuple(marginals[i].values[v] for i, v in zip(asked, x, strict=True)): mass / total
            for x, mass in answer.items()
        }

    def histogram_posterior(self, code: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
        """P(counts of the values | Y = code), exactly; counts are in the order of `values`.

        >>> scheme = Rotation(DeclaredLaw.bernoulli(Fraction(3, 10), "a coin"), b=10)
        >>> {counts: str(p) for counts, p in scheme.histogram_posterior([4, 4, 9]).items()}
        {(1, 2): '3/10', (2, 1): '3/10', (3, 0): '2/5'}
        """
        marginals, cells = self._decoded(code)
        base = len(cells) + 1
        digit = {value: base**i for i, value in enumerate(self.values)}
        found = sum_posterior(marginals, cells, self.b, digit.__getitem__)
        return dict(sorted((_digits(v, base, len(digit)), p) for v, p in found.items()))

    @property
    def values(self) -> tuple[Any, ...]:
        """All values that samples can have, in the order of the marginals."""
        return tuple(dict.fromkeys(value for marginal in self.law.distinct for value in marginal.values))

    def sum_posterior(self, code: Sequence[int], f: Callable[[Any], int]) -> dict[int, Fraction]:
        """P(Σ f(X_i) = v | Y = code), exactly, for a statistic f with whole values.

        >>> scheme = Rotation(DeclaredLaw({"no": 0.75, "yes": 0.25}, "made up"), b=4)
        >>> {v: str(p) for v, p in scheme.sum_posterior([0, 0, 1, 2], ["no", "yes"].index).items()}
        {0: '1/4', 1: '1/2', 2: '1/4'}
        """
        return sum_posterior(*self._decoded(code), self.b, f)

    def sum_in_floats(self, code: Any, f: Callable[[Any], int]) -> FloatLaw:
        """The same in floats for any number of samples, with a bound on the error of each probability.

        >>> scheme = Rotation(DeclaredLaw.bernoulli(Fraction(3, 10), "a coin"), b=3)
        >>> law = scheme.sum_in_floats([0, 1] * 5000, int)
        >>> len(law.probabilities), law.error < 1e-12, round(law.mean, 6)
        (5001, True, 3000.0)
        """
        return sum_in_floats(*self._decoded(code), self.b, f)

    def _decoded(self, code: Any) -> tuple[tuple[Marginal, ...], list[int]]:
        if isinstance(code, str | bytes) or not isinstance(code, Iterable):
            raise ProblemError(f"The code is {code!r}.", "Give the published cells, one per sample.")
        listed = code.tolist() if isinstance(code, np.ndarray) else list(code)
        return self.law.sized(len(listed)), [self._code(y, i) for i, y in enumerate(listed)]

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


def _digits(number: int, base: int, count: int) -> tuple[int, ...]:
    found = []
    for _ in range(count):
        number, digit = divmod(number, base)
        found.append(digit)
    return tuple(found)


def best_cells(law: DeclaredLaw, n: int | None = None, most: int = 16) -> Rotation:
    """The rotation of 2 to `most` cells that tells most about n samples, by its exact information.

    >>> best_cells(DeclaredLaw.bernoulli(Fraction(3, 10), "a coin"), 4, most=10).b
    3
    """
    whole_number(most, "most", 2)
    return max((Rotation(law, b) for b in range(2, most + 1)), key=lambda scheme: scheme.information(n))
