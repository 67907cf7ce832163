"""What a rotated dataset tells: the posterior of samples, of the histogram, of a sum, without trying every secret.

Given Y the secret Q is uniform on Z_b (the cells S_i = Y_i - Q are uniform whatever Q is), and given Y and Q the samples are
independent: X_i has the law of a value given its cell Y_i - Q. Along the circle this law changes at few places: a cell inside
the arc of a value has that value, a cell on a boundary is shared, so a marginal of m values makes at most 2m - 1
*segments*. As Q runs over the circle, the laws of all samples stay the same between two places where some Y_i - Q enters
another segment. So Q is summed over such intervals, at most (2m - 1)·(different codes) of them, however large b is.

In an interval most samples are determined; the sum Σ f(X_i) is a number that is known plus independent terms from the
samples in shared cells, which need not be told apart but by their marginal and cell: counts of each kind say everything.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.numbers import over_common_denominator
from choral.errors import LawError, ProblemError, TooLargeError
from choral.schemes.law import Marginal

MOST_TERMS = 2_000_000
"""Products that an exact convolution may take; more are left to floats."""
EPS = float(np.finfo(np.float64).eps)
"""The spacing of floats at 1: errors are counted in it."""


@dataclass(frozen=True)
class Segment:
    """Cells first … last of a circle in which a sample has the same law: integer weights of its values over `total`."""

    first: int
    last: int
    weights: tuple[tuple[int, int], ...]
    total: int


def segments(marginal: Marginal, b: int) -> list[Segment]:
    """The circle of b cells, cut where the law of the value given the cell changes; in order.

    >>> from choral.schemes.law import DeclaredLaw
    >>> coin = DeclaredLaw.bernoulli(Fraction(3, 10), "coin").marginal(0)
    >>> [(s.first, s.last, dict(s.weights)) for s in segments(coin, 5)]
    [(0, 2, {0: 10}), (3, 3, {0: 5, 1: 5}), (4, 4, {1: 10})]
    """
    weights, cell = over_common_denominator(marginal.p)
    found: list[Segment] = []
    shared: dict[int, int] = {}
    left = 0
    for x, weight in enumerate(weights):
        right = left + b * weight
        if right == left:
            continue
        here = left
        if left % cell:
            here = min(right, (left // cell + 1) * cell)
            shared[x] = here - left
            if here % cell == 0:
                found.append(Segment(left // cell, left // cell, tuple(shared.items()), cell))
                shared = {}
        if here // cell < right // cell:
            found.append(Segment(here // cell, right // cell - 1, ((x, cell),), cell))
            here = right // cell * cell
        if here < right and here % cell == 0:
            shared = {x: right - here}
        left = right
    return found


def intervals(circles: Sequence[Sequence[Segment]], pairs: Sequence[tuple[int, int]], b: int) -> Iterator[_Interval]:
    """The intervals of Q: how many values of Q, and which pairs (circle, code) have entered which segment since the last.

    The first interval lists all pairs.
    """
    changes: dict[int, list[tuple[int, int]]] = {}
    start = []
    for number, (circle, y) in enumerate(pairs):
        for j, segment in enumerate(circles[circle]):
            if segment.first <= y <= segment.last:
                start.append((number, j))
            first = (y - segment.last) % b  # the first Q for which Y - Q is in the segment
            if first:
                changes.setdefault(first, []).append((number, j))
    at = [0, *sorted(changes), b]
    for place, end in pairwise(at):
        yield _Interval(end - place, start if place == 0 else changes[place])


@dataclass(frozen=True)
class _Interval:
    length: int
    entered: list[tuple[int, int]]


def sample_laws(
    marginals: Sequence[Marginal], code: Sequence[int], b: int
) -> Iterator[tuple[int, list[Mapping[int, Fraction]]]]:
    """For each interval of Q: its length, and the law of every given sample in it."""
    distinct = list(dict.fromkeys(marginals))
    circles = [segments(marginal, b) for marginal in distinct]
    laws = [[{x: Fraction(w, s.total) for x, w in s.weights} for s in circle] for circle in circles]
    pairs = [(distinct.index(marginal), y) for marginal, y in zip(marginals, code, strict=True)]
    now: list[Mapping[int, Fraction]] = [{} for _ in pairs]
    for interval in intervals(circles, pairs, b):
        for number, j in interval.entered:
            now[number] = laws[pairs[number][0]][j]
        yield interval.length, list(now)


@dataclass(frozen=True)
class _Sums:
    """Σ f(X_i) as a mixture: for each multiset of undetermined samples, the known part and the number of Q with it."""

    kinds: tuple[Mapping[int, int], ...]
    totals: tuple[int, ...]
    parts: Mapping[tuple[tuple[int, int], ...], Mapping[int, int]]
    b: int


def _sums(marginals: Sequence[Marginal], code: Sequence[int], b: int, f: Callable[[Any], int]) -> _Sums:
    if not callable(f):
        raise ProblemError(f"The statistic is {f!r}.", "Give a function from a value to a whole number.")
    number: dict[Marginal, int] = {}
    pairs = Counter((number.setdefault(m, len(number)), y) for m, y in zip(marginals, code, strict=True))
    circles = [segments(marginal, b) for marginal in number]
    worth = [[_whole(f(value), value) for value in marginal.values] for marginal in number]
    kinds: list[dict[int, int]] = []
    totals: list[int] = []
    numbered: list[list[tuple[int | None, int]]] = []  # for each segment: its kind, or None and what it is worth
    for circle, worths in zip(circles, worth, strict=True):
        line: list[tuple[int | None, int]] = []
        for segment in circle:
            law: dict[int, int] = {}
            for x, w in segment.weights:
                law[worths[x]] = law.get(worths[x], 0) + w
            if len(law) == 1:
                line.append((None, next(iter(law))))
            else:
                line.append((len(kinds), 0))
                kinds.append(law)
                totals.append(segment.total)
        numbered.append(line)
    listed = list(pairs)
    before: list[tuple[int | None, int] | None] = [None] * len(listed)
    known, open_counts = 0, [0] * len(kinds)
    parts: dict[tuple[tuple[int, int], ...], dict[int, int]] = {}
    for interval in intervals(circles, listed, b):
        for place, j in interval.entered:
            many = pairs[listed[place]]
            for sign, state in ((-1, before[place]), (1, numbered[listed[place][0]][j])):
                if state is None:
                    continue
                kind, value = state
                if kind is None:
                    known += sign * many * value
                else:
                    open_counts[kind] += sign * many
            before[place] = numbered[listed[place][0]][j]
        key = tuple((kind, count) for kind, count in enumerate(open_counts) if count)
        part = parts.setdefault(key, {})
        part[known] = part.get(known, 0) + interval.length
    return _Sums(tuple(kinds), tuple(totals), parts, b)


def sum_posterior(
    marginals: Sequence[Marginal], code: Sequence[int], b: int, f: Callable[[Any], int]
) -> dict[int, Fraction]:
    """P(Σ f(X_i) = v | Y = code) for every v that can be, exactly."""
    sums = _sums(marginals, code, b, f)
    answer: dict[int, Fraction] = {}
    work = 0
    for key, known in sums.parts.items():
        law, scale = {0: 1}, sums.b
        for kind, count in key:
            scale *= sums.totals[kind] ** count
            for _ in range(count):
                work += len(law) * len(sums.kinds[kind])
                if work > MOST_TERMS:
                    raise TooLargeError(
                        f"The exact posterior of {len(code)} samples takes more than {MOST_TERMS} products.",
                        "Use sum_in_floats, which states its error, or fewer samples.",
                    )
                law = _convolved(law, sums.kinds[kind])
        work += len(law) * len(known)
        for shift, length in known.items():
            for value, weight in law.items():
                answer[shift + value] = answer.get(shift + value, Fraction(0)) + Fraction(weight * length, scale)
    return dict(sorted(answer.items()))


def _convolved(law: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    sums: dict[int, int] = {}
    for value, weight in law.items():
        for step, w in other.items():
            sums[value + step] = sums.get(value + step, 0) + weight * w
    return sums


@dataclass(frozen=True)
class FloatLaw:
    """P(value = least + i) is probabilities[i], each within `error` of the truth, by an analysis of rounding."""

    least: int
    probabilities: npt.NDArray[np.float64]
    error: float

    @property
    def mean(self) -> float:
        """The posterior mean, to float precision."""
        return self.least + float(self.probabilities @ np.arange(len(self.probabilities)) / self.probabilities.sum())

    def interval(self, share: float = 0.95) -> tuple[int, int]:
        """The least and the largest value of a central interval with at least this posterior mass, to float precision."""
        if not 0 < share < 1:
            raise LawError(f"share = {share}.", "Give a number between 0 and 1.")
        sums = np.cumsum(self.probabilities)
        low = int(np.searchsorted(sums, (1 - share) / 2, side="right"))
        high = int(np.searchsorted(sums, sums[-1] - (1 - share) / 2, side="left"))
        return self.least + low, self.least + min(high, len(sums) - 1)


def sum_in_floats(marginals: Sequence[Marginal], code: Sequence[int], b: int, f: Callable[[Any], int]) -> FloatLaw:
    """The same in floats, for any number of samples: convolutions by characteristic functions.

    Each multiset of undetermined samples has its law from the product of powers of characteristic functions on the L-th
    roots of unity, L a power of two above the range, by one inverse Fourier transform. *Error:* a characteristic
    function φ is a short sum of roots, off by at most 20 eps; φ^c is off by at most c·|φ|^(c-1) times that, plus
    c·(1 + |log φ|)·|φ|^c·20 eps for the power; the transform adds at most 8·log₂L·eps times the 2-norm of its result; the
    mixture adds eps per term. (This takes numpy's complex functions to be right to ten units in the last place.)
    """
    sums = _sums(marginals, code, b, f)
    laws = {
        key: _float_law([(sums.kinds[kind], sums.totals[kind], count) for kind, count in key]) for key in sums.parts
    }
    least = min(laws[key].least + min(known) for key, known in sums.parts.items())
    most = max(laws[key].least + len(laws[key].probabilities) - 1 + max(known) for key, known in sums.parts.items())
    if most - least > 50_000_000:
        raise TooLargeError(f"The sum takes {most - least} values.", "Scale the statistic to smaller whole numbers.")
    answer = np.zeros(most - least + 1)
    error, terms = 0.0, 0
    for key, known in sums.parts.items():
        law = laws[key]
        for shift, length in known.items():
            start = law.least + shift - least
            answer[start : start + len(law.probabilities)] += length / sums.b * law.probabilities
            error += length / sums.b * law.error
            terms += 1
    return FloatLaw(least, answer, error + (terms + 2) * EPS * float(answer.max()))


def _float_law(kinds: Sequence[tuple[Mapping[int, int], int, int]]) -> FloatLaw:
    """The law of a sum of `count` independent draws of each kind."""
    least = sum(count * min(law) for law, _, count in kinds)
    width = sum(count * (max(law) - min(law)) for law, _, count in kinds)
    if not kinds:
        return FloatLaw(0, np.ones(1), 0.0)
    size = 1 << max(1, (width + 1).bit_length())
    places = np.arange(size)
    product = np.ones(size, dtype=np.complex128)
    wrong = np.zeros(size)
    for law, total, count in kinds:
        one = np.zeros(size, dtype=np.complex128)
        for value, weight in law.items():
            one += weight / total * np.exp(-2j * np.pi * ((places * (value - min(law))) % size) / size)
        one /= np.maximum(1.0, np.abs(one))
        magnitude = np.maximum(np.abs(one), 1e-300)
        wrong += count * 20 * EPS * (1 / magnitude + 1 + np.abs(np.log(magnitude)))
        product *= one**count
    error = float((np.abs(product) * wrong).sum()) / size
    found = np.fft.ifft(product).real[: width + 1]
    error += 8 * math.log2(size) * EPS * float(np.linalg.norm(product)) / math.sqrt(size)
    return FloatLaw(least, np.clip(found, 0.0, None), error)


def _whole(worth: Any, value: Any) -> int:
    if isinstance(worth, bool | np.bool_) or not isinstance(worth, int | np.integer):
        if isinstance(worth, bool | np.bool_):
            return int(worth)
        raise LawError(
            f"The statistic gives {worth!r} for the value {value!r}.", "It must be a whole number; scale it."
        )
    return int(worth)
