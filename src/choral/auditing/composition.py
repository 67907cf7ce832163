"""The leak to someone who knows the exact composition of a table.

For such an adversary the records are draws without replacement: the codes of the others say which states are left over
for one record. The leak about a record is I(Z_i; Y_1 … Y_N) given the composition; it falls like 1/N.

*What is computed.* Records are exchangeable, so all that matters of the other codes is how often each occurs. With T the
counts of the others' codes, P(z, y, t) = Σ_r n(z,r)/N · g_r(y) · Q_r(t), where r runs over the different rows g_r of the
channel and Q_r is the law of T when one record of row r is left out: the coefficients of Π_r' g_r'(u)^n(r') / g_r(u).

*The bound.* Let P be the law of N independent records with the table's frequencies, P_c the same given the composition
c. Then P_c ≤ P / P(c), and under P the pairs (Z_i, Y_i) are independent. So, with the sum over records on the left,
Σ_i I_c(Z_i; Y^N) ≤ D(P_c(Z^N, Y^N) ‖ Π_i P(Z_i) P(Y_i)) ≤ log 1/P(c) + N·I(Z;Y): the first step since the reference
is a product and a divergence from it is at least the sum of those of its parts, and information is the least divergence
from a product. All records leak alike, hence I_c(Z_i; Y^N) ≤ I(Z;Y) + log(1/P(c))/N, where P(c) is the multinomial
probability of the composition. It is enough to know the composition in pairs (value of Z, row of the channel).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import flint
import numpy as np

from choral.describe.ball_arithmetic import exact_upper
from choral.describe.entropy import divergence_terms
from choral.errors import ProblemError
from choral.phases import phase
from choral.problem.kernel import Floats
from choral.problem.solution import ExactChannel, Row
from choral.release.leakage import Published, contingency

EXACT_WORK = 200_000
"""Steps up to which the leak is computed in integers …"""
EXACT_BITS = 30_000
"""… whose lengths in bits, over all records, sum to at most this."""
FLOAT_WORK = 150_000_000
"""Steps up to which it is computed in double precision …"""
FLOAT_CELLS = 8_000_000
"""… with at most so many cells in memory, 64 MB."""
MOST_WORST = 3
"""Groups of records that are named as the worst."""


@dataclass(frozen=True)
class WorstRecords:
    """Records whose protected value is held by `count` records; `values` values are. Bits are the largest among them.

    The bits are D(P(codes | this value) ‖ P(codes)): their average over the records is the leak.
    """

    count: int
    values: int
    bits: float


@dataclass(frozen=True)
class CompositionLeak:
    """What all codes together tell about one record's group, to someone who knows the composition of the table.

    `bits` is by `method`: "exact" (in integers, rounded once), "double precision", or "normal approximation" (which is no
    bound). `bound` holds always. `certain` is the probability that the codes give a record's value away for sure; None where
    it was not computed. `worst` are the records that leak most, named by how many share their value.
    """

    about: tuple[str, ...]
    records: int
    bits: float
    method: str
    bound: float
    certain: float | None
    worst: tuple[WorstRecords, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@phase("looking at who knows all other records")
def composition_leaks(
    published: Published, groups: Sequence[Sequence[str]], records: int
) -> tuple[CompositionLeak, ...]:
    """The leak about each group of columns, for a table of `records` rows whose frequencies are the law."""
    if records % published.law.total:
        raise ProblemError(
            f"A table of {records} rows cannot have these frequencies, which are in {published.law.total}ths.",
            "Give the table itself.",
        )
    times = records // published.law.total
    kinds: _Kinds | None = None
    found = []
    for about in groups:
        where = [published.law.position(name) for name in about]
        counts: defaultdict[tuple[Hashable, int], int] = defaultdict(int)
        for (cell, weight), s in zip(published.law.cells.items(), published.state, strict=True):
            counts[tuple(cell[i] for i in where), s] += weight * times
        kinds = kinds or _Kinds.of(counts, published.channel)
        found.append(_leak(_Table.of(counts, kinds), tuple(about)))
    return tuple(found)


def leak_of_counts(counts: Mapping[tuple[Hashable, int], int], channel: ExactChannel) -> CompositionLeak:
    """The leak for a table with counts[z, state] records.

    >>> fair = ExactChannel(2, ((2, ((0, 1), (1, 1))),) * 2)
    >>> leak_of_counts({("a", 0): 1, ("b", 1): 2}, fair).bits
    0.0
    """
    return _leak(_Table.of(counts, _Kinds.of(counts, channel)), ())


def _leak(table: _Table, about: tuple[str, ...]) -> CompositionLeak:
    certain: float | None
    if table.codes == 1:
        shares, certain, method = dict.fromkeys(table.held, 0.0), 0.0, "exact"
    elif table.work <= EXACT_WORK and table.records * table.scale.bit_length() <= EXACT_BITS:
        (shares, certain), method = table.exact(), "exact"
    elif table.work <= FLOAT_WORK and table.cells * len(table.rows) <= FLOAT_CELLS:
        (shares, certain), method = table.double(), "double precision"
    else:
        shares, certain, method = table.approximate(), None, "normal approximation"
    bits = math.fsum(shares.values())
    return CompositionLeak(about, table.records, bits, method, max(table.bound(), 0.0), certain, table.worst(shares))


@dataclass(frozen=True, eq=False)
class _Kinds:
    """The different rows of the channel among the records, the same whatever is asked about: equal rows are one, and so are
    codes that always go together. `where` is the row of a state, `per_row` how many records a row has.
    """

    where: Mapping[int, int]
    rows: tuple[tuple[int, ...], ...]
    scale: int
    per_row: tuple[int, ...]

    @classmethod
    def of(cls, counts: Mapping[tuple[Hashable, int], int], channel: ExactChannel) -> _Kinds:
        records: defaultdict[int, int] = defaultdict(int)
        for (_, s), n in counts.items():
            if n:
                records[s] += n
        scale = math.lcm(*(channel.rows[s][0] for s in records))
        rows: dict[tuple[int, ...], int] = {}
        where = {s: rows.setdefault(_dense(channel.rows[s], channel.codes, scale), len(rows)) for s in sorted(records)}
        per_row = [0] * len(rows)
        for s, n in records.items():
            per_row[where[s]] += n
        return cls(where, _without_alike(list(rows)), scale, tuple(per_row))

    @cached_property
    def shares(self) -> Floats:
        """The rows as probabilities."""
        return np.array([[n / self.scale for n in row] for row in self.rows])

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the covariance of the counts of codes."""
        per_row = np.array(self.per_row, dtype=float)
        spread = np.diag(per_row @ self.shares) - self.shares.T @ (per_row[:, None] * self.shares)
        return np.asarray(np.linalg.pinv(spread, rcond=1e-12, hermitian=True), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Table:
    """Counts by value of Z and by row of the channel."""

    held: dict[Hashable, dict[int, int]]
    kinds: _Kinds

    @classmethod
    def of(cls, counts: Mapping[tuple[Hashable, int], int], kinds: _Kinds) -> _Table:
        held: dict[Hashable, dict[int, int]] = {}
        for (z, s), n in counts.items():
            if n:
                row = held.setdefault(z, {})
                row[kinds.where[s]] = row.get(kinds.where[s], 0) + n
        return cls(held, kinds)

    @property
    def rows(self) -> tuple[tuple[int, ...], ...]:
        return self.kinds.rows

    @property
    def scale(self) -> int:
        return self.kinds.scale

    @property
    def codes(self) -> int:
        return len(self.rows[0])

    @property
    def records(self) -> int:
        return sum(self.kinds.per_row)

    @property
    def cells(self) -> int:
        """Places of an array over the counts of codes; the last code's count follows from the others."""
        return int(self.records ** min(self.codes - 1, 40))

    @property
    def work(self) -> int:
        factors = self.records + len(self.rows) * (len(self.rows).bit_length() + 1) + len(self.held) * len(self.rows)
        return self.cells * self.codes * factors

    def bound(self) -> float:
        """I(Z;Y) + log2(1/P(c)) / N, rounded up."""
        n = self.records
        with flint.ctx.workprec(256):
            value = flint.arb(n) * flint.arb(n).log() - flint.arb(n + 1).lgamma()
            for row in self.held.values():
                for count in row.values():
                    value += flint.arb(count + 1).lgamma() - flint.arb(count) * flint.arb(count).log()
            most = exact_upper(value / flint.arb(2).log() / n)
        return math.nextafter(float(most), math.inf) + math.fsum(self.alone.values()) * (1 + 1e-12)

    @cached_property
    def alone(self) -> Mapping[Hashable, float]:
        """What each value adds to I(Z;Y) of one record by itself: zero when the table's frequencies are the law."""
        table = {
            z: {y: sum(n * self.rows[r][y] for r, n in row.items()) for y in range(self.codes)}
            for z, row in self.held.items()
        }
        return contingency(table, self.records * self.scale).bits

    def exact(self) -> tuple[dict[Hashable, float], float]:
        """What each value of Z adds, and the probability of certainty, in integers."""
        left = self._left_out(np.array(self.rows, dtype=object), object)
        table: dict[Hashable, dict[tuple[int, ...], int]] = {z: {} for z in self.held}
        for place in product(range(self.records), repeat=self.codes - 1):
            if sum(place) >= self.records:
                continue
            for z, row in self.held.items():
                for y in range(self.codes):
                    if weight := sum(n * self.rows[r][y] * left[r][place] for r, n in row.items()):
                        table[z][y, *place] = weight
        total = self.records * self.scale**self.records
        found = contingency(table, total)
        if len(self.held) == 1:
            return dict(found.bits), 0.0
        seen: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for outcomes in table.values():
            for key, weight in outcomes.items():
                seen[key].append(weight)
        lone = sum(weights[0] for weights in seen.values() if len(weights) == 1)
        return dict(found.bits), float(Fraction(lone, total))

    def double(self) -> tuple[dict[Hashable, float], float]:
        """The same in double precision; all sums are of non-negative numbers, so little is lost."""
        rows = self.kinds.shares
        left = self._left_out(rows, np.float64)
        shares = dict.fromkeys(self.held, 0.0)
        certain = 0.0
        for y in range(self.codes):
            joint = {
                z: sum((n / self.records * rows[r][y] * left[r] for r, n in row.items()), np.zeros_like(left[0]))
                for z, row in self.held.items()
            }
            both = sum(joint.values(), np.zeros_like(left[0]))
            for z, mass in joint.items():
                prior = sum(self.held[z].values()) / self.records
                expected = prior * both
                off = np.divide(mass, expected, out=np.ones_like(mass), where=expected > 0) - 1
                shares[z] += float(np.sum(expected * divergence_terms(off))) / math.log(2)
            if len(joint) > 1:
                lone = sum((mass > 0).astype(np.int64) for mass in joint.values()) == 1
                certain += float(both[lone].sum())
        return shares, certain

    def approximate(self) -> dict[Hashable, float]:
        """For many records T is nearly normal, with a mean that moves by g_r and a covariance that does not."""
        rows, inverse = self.kinds.shares, self.kinds.inverse
        held = np.array([[row.get(r, 0) for r in range(len(rows))] for row in self.held.values()], dtype=float)
        shares = np.zeros(len(held))
        for y in range(self.codes):
            joint = held * rows[:, y]
            mass = joint.sum(axis=1)
            here = np.divide(
                joint @ rows, mass[:, None], out=np.zeros((len(held), self.codes)), where=mass[:, None] > 0
            )
            away = here - (joint.sum(axis=0) @ rows) / mass.sum()
            shares += mass / self.records * np.einsum("zi,ij,zj->z", away, inverse, away) / 2
        return {z: float(share) / math.log(2) + self.alone[z] for z, share in zip(self.held, shares, strict=True)}

    def worst(self, shares: Mapping[Hashable, float]) -> tuple[WorstRecords, ...]:
        by_count: defaultdict[int, list[float]] = defaultdict(list)
        for z, row in self.held.items():
            count = sum(row.values())
            by_count[count].append(shares[z] * self.records / count)
        found = [WorstRecords(count, len(bits), max(bits)) for count, bits in by_count.items()]
        return tuple(sorted(found, key=lambda w: (-w.bits, w.count))[:MOST_WORST])

    def _left_out(self, rows: Any, kind: Any) -> list[Any]:
        """Q_r for each row r: the law of the others' codes when one record of row r is left out."""
        start = np.zeros((self.records,) * (self.codes - 1), dtype=kind)
        start[(0,) * (self.codes - 1)] = 1
        for row, count in zip(rows, self.kinds.per_row, strict=True):
            for _ in range(count - 1):
                start = _times(start, row)
        found: list[Any] = [None] * len(rows)

        def split(base: Any, chosen: range) -> None:
            if len(chosen) == 1:
                found[chosen[0]] = base
                return
            middle = len(chosen) // 2
            for kept, others in ((chosen[:middle], chosen[middle:]), (chosen[middle:], chosen[:middle])):
                part = base
                for r in others:
                    part = _times(part, rows[r])
                split(part, kept)

        split(start, range(len(rows)))
        return found


def _times(array: Any, row: Any) -> Any:
    """The polynomial in the counts of codes, times Σ_y row[y]·u_y; the last code is the one that is not counted."""
    result = array * row[-1]
    for axis in range(array.ndim):
        if row[axis]:
            shifted = np.zeros_like(array)
            to = tuple(slice(1, None) if a == axis else slice(None) for a in range(array.ndim))
            of = tuple(slice(None, -1) if a == axis else slice(None) for a in range(array.ndim))
            shifted[to] = array[of]
            result = result + shifted * row[axis]
    return result


def _dense(row: Row, codes: int, scale: int) -> tuple[int, ...]:
    denominator, entries = row
    dense = [0] * codes
    for y, n in entries:
        dense[y] = n * (scale // denominator)
    return tuple(dense)


def _without_alike(rows: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """Codes that never occur left out, and codes in fixed proportion joined: neither changes what is told."""
    joined: dict[tuple[int, ...], list[int]] = {}
    for column in zip(*rows, strict=True):
        if divisor := math.gcd(*column):
            shape = tuple(n // divisor for n in column)
            joined[shape] = [a + b for a, b in zip(joined.get(shape, [0] * len(rows)), column, strict=True)]
    return tuple(zip(*joined.values(), strict=True))
