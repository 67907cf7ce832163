"""What rotation, coalition rotation, uniformise-then-add and the modular windows share: arcs, and hidden shifts.

**Arcs.** A circle has b cells of length 1/b. Value x of a sample owns the arc [F(x-), F(x)) of length p(x); S is the cell
of a uniform point of the arc: P(s | x) = |cell s ∩ arc x| / p(x). Summed over x with weights p(x) this is 1/b: S is exactly
uniform, for every rational marginal and every b; a cell on a boundary is shared in exact proportion.

**Hidden shifts.** The code Y is a linear function mod b of S = (S_1…S_n) and of secret uniform numbers. In each scheme
here, what Y leaves open about S is a vector T, uniform on Z_b^k and independent of Y: given Y = y,
S_i = c_i(y) + a_i·T with known directions a_i, and (Y, T) determines S.

**Information.** I(X;Y) = I(X;Y,T) - I(X;T|Y) = I(X;S) - H(T|Y) + H(T|X,Y), that is

    I(X;Y) = Σ_i I(X_i;S_i) - k·log b + H(T|X,Y).

The last term is the mean entropy of a posterior over b^k shifts, ∝ Π_i P(s_i + a_i·t | x_i), so no sequence needs to be
enumerated: samples are taken in one after another and equal posteriors are merged (`information`), or data are drawn
(`estimate`). It lies between 0 and k·log b, so the information per sample tends to the mean of I(X_i;S_i).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, product
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.entropy import entropy_of, entropy_of_positive
from choral.describe.joint import Joint
from choral.describe.numbers import over_common_denominator
from choral.errors import LawError, TooLargeError
from choral.schemes.draws import ExactRows, LongArcs, secret_numbers
from choral.schemes.law import DeclaredLaw, Marginal, Row, Whole, check_size, declared, names_of, whole_number

MOST_POSTERIORS = 60_000
"""Posteriors of the shift that are followed exactly: more take minutes."""
MOST_SHIFTS = 100_000
"""Shifts that are listed to write out an exact law."""
MOST_CELLS_OF_CIRCLE = 1 << 31
"""Cells that a circle can have, so that sums of two numbers of cells fit 32 bits."""
MOST_CELLS_LISTED = 1 << 22
"""Cells up to which the law on the circle is written out: four million."""
FEW_CELLS = 1 << 12
"""Up to so many cells all of them are listed to draw from."""
MOST_UNITS = 1 << 62
"""Units of an arc, so that sums of two fit 64 bits."""


@dataclass(frozen=True)
class Estimate:
    """A mean over independent draws, and its standard error.

    The error is estimated from the same draws: it is 0 when the rare event that matters occurred in none of them.
    `bracket` holds always.
    """

    value: float
    standard_error: float


def arcs(marginal: Marginal, b: int) -> tuple[Row, ...]:
    """|cell s ∩ arc x| = P(x, s) for each value x: what the arc of x shares with the cells of a circle of b.

    >>> from choral.schemes.law import DeclaredLaw
    >>> [{s: str(p) for s, p in row.items()} for row in arcs(DeclaredLaw.bernoulli(Fraction(3, 10), "coin").marginal(0), 2)]
    [{0: '1/2', 1: '1/5'}, {1: '3/10'}]
    """
    if b > MOST_CELLS_LISTED:
        raise TooLargeError(f"The circle has {b} cells, too many to list.", "Use encode() and bracket().")
    rows, total = arc_weights(marginal, b)
    return tuple({s: Fraction(weight, total) for s, weight in row.items()} for row in rows)


def arc_weights(marginal: Marginal, b: int) -> tuple[list[dict[int, int]], int]:
    """The same in integers over one denominator: with p(x) = w(x)/D, a cell has D units and an arc b·w(x) of D·b.

    >>> from choral.schemes.law import DeclaredLaw
    >>> arc_weights(DeclaredLaw.bernoulli(Fraction(3, 10), "coin").marginal(0), 2)
    ([{0: 10, 1: 4}, {1: 6}], 20)
    """
    rows: list[dict[int, int]] = []
    for left, length, cell in arc_units(marginal, b):
        right = left + length
        cells = range(left // cell, -(-right // cell)) if length else range(0)
        rows.append({s: min(right, (s + 1) * cell) - max(left, s * cell) for s in cells})
    return rows, b * cell


def arc_units(marginal: Marginal, b: int) -> list[tuple[int, int, int]]:
    """The arc of each value in those units: where it begins, its length, and the units of a cell.

    >>> from choral.schemes.law import DeclaredLaw
    >>> arc_units(DeclaredLaw.bernoulli(Fraction(3, 10), "coin").marginal(0), 2)
    [(0, 14, 10), (14, 6, 10)]
    """
    weights, cell = over_common_denominator(marginal.p)
    return [(b * (end - weight), b * weight, cell) for weight, end in zip(weights, accumulate(weights), strict=True)]


class MaskedScheme(ABC):
    """A scheme that publishes linear functions mod b of uniform cells S_i and of secrets. See the module for the proof."""

    def __init__(self, law: DeclaredLaw, b: int) -> None:
        """Raise `LawError` unless the law is declared and b is at least 2."""
        self.law = declared(law)
        self.b = whole_number(b, "b", 2)
        if self.b > MOST_CELLS_OF_CIRCLE:
            raise LawError(f"b = {b} cells.", f"Give at most {MOST_CELLS_OF_CIRCLE}.")

    # ---- what each scheme says of itself --------------------------------------------------------------------

    @abstractmethod
    def secrets_of(self, n: int) -> int:
        """How many secret uniform numbers the code of n samples uses; raises if n samples cannot be encoded."""

    @abstractmethod
    def publish(self, cells: Whole, secret: Whole) -> Whole:
        """Y from S and the secrets, along the last axis."""

    @abstractmethod
    def directions(self, n: int) -> list[tuple[int, ...]]:
        """a_i for each sample: how the hidden shift T moves S_i when Y is known."""

    # ---- the channel ----------------------------------------------------------------------------------------

    @cached_property
    def _arcs(self) -> dict[Marginal, tuple[Row, ...]]:
        return {marginal: arcs(marginal, self.b) for marginal in self.law.distinct}

    @cached_property
    def _rows(self) -> ExactRows | LongArcs:
        """P(s | x) for the values of all distinct marginals, in the order of `DeclaredLaw.rows_of`."""
        units = [arc for marginal in self.law.distinct for arc in arc_units(marginal, self.b)]
        if self.b > FEW_CELLS and max(left + length for left, length, _ in units) < MOST_UNITS:
            return LongArcs(units, self.b)
        if self.b > MOST_CELLS_LISTED:
            raise TooLargeError(
                f"b = {self.b} cells, and probabilities with denominators up to {max(cell for *_, cell in units)}.",
                "Take a smaller b, or round the declared probabilities.",
            )
        return ExactRows([row for marginal in self.law.distinct for row in arc_weights(marginal, self.b)[0]])

    def cell_channel(self, i: int = 0) -> tuple[tuple[Fraction, ...], ...]:
        """P(s | x) of the sample at position i, from 0: one row per value; a value that never occurs has zeros."""
        marginal = self.law.marginal(i)
        return tuple(
            tuple(row.get(s, Fraction(0)) / (p or 1) for s in range(self.b))
            for row, p in zip(self._arcs[marginal], marginal.p, strict=True)
        )

    def joint(self, n: int | None = None) -> Joint:
        """The exact law of X1…Xn and Y1…Ym, by listing every value, cell and secret: what independence is tested on."""
        marginals = self.law.sized(n)
        n = len(marginals)
        secret = self.secrets_of(n)
        letters = [[(x, s, part) for x, row in enumerate(self._arcs[m]) for s, part in row.items()] for m in marginals]
        check_size(math.prod(map(len, letters)) * self.b**secret, "terms")
        masks = np.array(list(product(range(self.b), repeat=secret)), dtype=np.int64).reshape(self.b**secret, secret)
        scaled = [over_common_denominator([part for *_, part in line])[0] for line in letters]
        cells: Counter[tuple[int, ...]] = Counter()
        for choice in product(*(range(len(line)) for line in letters)):
            picked = [line[c] for line, c in zip(letters, choice, strict=True)]
            weight = math.prod(line[c] for line, c in zip(scaled, choice, strict=True))
            x = tuple(letter[0] for letter in picked)
            s = np.array([letter[1] for letter in picked], dtype=np.int64)
            for y in self.publish(np.broadcast_to(s, (len(masks), n)), masks).tolist():
                cells[(*x, *y)] += weight
        codes = len(next(iter(cells))) - n
        alphabets = [*(m.values for m in marginals), *([tuple(range(self.b))] * codes)]
        return Joint([*names_of(n), *names_of(codes, "Y")], alphabets, cells)

    # ---- information ----------------------------------------------------------------------------------------

    def of_one(self, i: int = 0) -> float:
        """I(X_i;S_i) in bits: what the cell of one sample would tell about it, and the limit per sample."""
        return self._tells(self.law.marginal(i))

    def _tells(self, marginal: Marginal) -> float:
        """log b - H(S|X), from the cells at the ends of each arc and the number of those that lie in it."""
        noise = []
        for left, length, cell in arc_units(marginal, self.b):
            if not length:
                continue
            right = left + length
            inner = max(0, right // cell - -(-left // cell))
            ends = [-left % cell, right % cell] if left // cell < right // cell else [length]
            for count, part in [(inner, cell), *((1, end) for end in ends)]:
                if count and part:
                    noise.append(count * (part / (self.b * cell)) * math.log2(length / part))
        return math.log2(self.b) - math.fsum(noise)

    def bracket(self, n: int | None = None) -> tuple[float, float]:
        """Σ I(X_i;S_i) - k·log b and Σ I(X_i;S_i), between which the information lies, for any n."""
        cells = self._cells_tell(self.law.count(n))
        shifts = len(self.directions(1)[0])
        return max(0.0, cells - shifts * math.log2(self.b)), cells

    def information(self, n: int | None = None) -> float:
        """I(X1…Xn;Y) in bits. Every weight is an integer; only the logarithms at the end are floats.

        Raises `TooLargeError` when too many different posteriors occur; then there are `estimate` and `bracket`.
        """
        marginals = self.law.sized(n)
        self.secrets_of(len(marginals))
        return self._information(marginals, self.directions(len(marginals)))

    def _information(self, marginals: Sequence[Marginal], directions: Sequence[tuple[int, ...]]) -> float:
        shifts = self._shifts(len(directions[0]))
        states: dict[tuple[int, ...], int] = {(1,) * len(shifts): 1}
        for marginal, direction in zip(marginals, directions, strict=True):
            letters = self._letters(marginal, direction)
            merged: dict[tuple[int, ...], int] = {}
            for state, weight in states.items():
                for likelihood, share in letters:
                    joined = [a * b for a, b in zip(state, likelihood, strict=True)]
                    divisor = math.gcd(*joined)
                    key = tuple(a // divisor for a in joined)
                    merged[key] = merged.get(key, 0) + weight * share
            if len(merged) > MOST_POSTERIORS:
                raise TooLargeError(
                    f"More than {MOST_POSTERIORS} different posteriors of the shift occur with {len(marginals)} samples.",
                    "Use estimate() for an unbiased number with its error, or bracket() for two sides.",
                )
            states = merged
        total = sum(states.values())
        left = math.fsum(weight / total * entropy_of(state, sum(state)) for state, weight in states.items())
        cells = math.fsum(map(self._tells, marginals))
        return max(0.0, cells - math.log2(self.b) * len(directions[0]) + left)

    def estimate(self, n: int | None = None, draws: int = 200) -> Estimate:
        """I(X1…Xn;Y) in bits as an unbiased mean over drawn data, with its standard error. For n of any size."""
        marginals = self.law.sized(n)
        n = len(marginals)
        whole_number(draws, "draws", 2)
        self.secrets_of(n)
        directions = self.directions(n)
        shifts = len(directions[0])
        if self.b**shifts > MOST_SHIFTS:
            raise TooLargeError(f"The shift has {self.b}^{shifts} values.", "Take a smaller b or k.")
        tables = {}
        for pair in set(zip(marginals, directions, strict=True)):
            letters = self._letters(*pair)
            logs = np.log2(np.array([[float(v) for v in vector] for vector, _ in letters]).clip(min=1e-300))
            logs[np.array([[v == 0 for v in vector] for vector, _ in letters])] = -np.inf
            weight = sum(share for _, share in letters)
            tables[pair] = logs, ExactRows([{i: Fraction(share, weight) for i, (_, share) in enumerate(letters)}])
        groups = Counter(zip(marginals, directions, strict=True))
        left = []
        for _ in range(draws):
            posterior = np.zeros(self.b**shifts)
            for pair, count in groups.items():
                logs, letters_drawn = tables[pair]
                seen = np.bincount(letters_drawn.draw(np.zeros(count, dtype=np.int64)), minlength=len(logs))
                posterior += seen[seen > 0] @ logs[seen > 0]
            p = np.exp2(posterior - posterior.max())
            p /= p.sum()
            left.append(entropy_of_positive(p[p > 0]))
        base = self._cells_tell(n) - shifts * math.log2(self.b)
        return Estimate(base + float(np.mean(left)), float(np.std(left, ddof=1)) / math.sqrt(draws))

    def _cells_tell(self, n: int) -> float:
        return n * self.of_one() if self.law.n is None else math.fsum(self.of_one(i) for i in range(n))

    def _shifts(self, k: int) -> list[tuple[int, ...]]:
        if self.b**k > MOST_SHIFTS:
            raise TooLargeError(f"The shift has {self.b}^{k} values.", "Take a smaller b or k, or use bracket().")
        return list(product(range(self.b), repeat=k))

    def _letters(self, marginal: Marginal, direction: tuple[int, ...]) -> list[tuple[tuple[int, ...], int]]:
        """For each (x, s) that occurs: its likelihood under every shift away from the true one, and its weight."""
        flat, _ = over_common_denominator([part for row in self._arcs[marginal] for part in row.values()])
        weights = iter(flat)
        scaled = [{s: next(weights) for s in row} for row in self._arcs[marginal]]
        turns = [sum(a * t for a, t in zip(direction, shift, strict=True)) for shift in self._shifts(len(direction))]
        return [
            (tuple(row.get((s + turn) % self.b, 0) for turn in turns), weight)
            for row in scaled
            for s, weight in row.items()
        ]

    # ---- data -----------------------------------------------------------------------------------------------

    def encode(self, data: Any) -> npt.NDArray[Any]:
        """The code of real data, drawn exactly; the secrets come from the operating system and are forgotten.

        Encode a dataset once: two codes of the same data can be compared, and tell more than one.
        """
        rows = self.law.rows_of(data)
        self.law.count(len(rows))
        secret = np.array(secret_numbers(self.b, self.secrets_of(len(rows))), dtype=np.int64)
        published = self.publish(self._rows.draw(rows).astype(np.int64), secret)
        return published.astype(np.min_scalar_type(self.b - 1))
