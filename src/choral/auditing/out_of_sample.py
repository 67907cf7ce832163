"""How much a code can tell about records that are not in the table: bounds at a stated confidence.

*The measure.* The **advantage** of a group Z under the law q of new records is the largest |q(Y∈A | z) - q(Y∈A | z')| over
events A of the code and values z, z': the total variation between the laws of the code for two values. It is zero
exactly when Y is independent of Z. A bound in bits follows from it, and grows with its square.

*From the table that the release was fitted to* (`uniform_bound`). The channel was chosen after seeing the table, so the
bound holds for all channels at once: for each z the n_z records that have it are independent draws from q(· | z) on a
alphabet of a used combinations, and by the inequality of Weissman, Ordentlich, Seroussi, Verdú and Weinberger (2003)
P(‖q̂ - q‖₁ ≥ ε) ≤ (2^a - 2)·exp(-n_z ε²/2). A channel does not increase total variation, so with probability 1 - δ all
TV(q(Y|z), p̂(Y|z)) ≤ sqrt(ln((2^a - 2)·m/δ) / (2 n_z)), m being the number of values of all groups. The alphabet must not
depend on the table: it is all combinations of the values that the used columns may take, and bins chosen before.

*From a validation table that the fit never saw* (`validated_bound`), which needs no alphabet and is tighter. For an event A
let f = P(A | s), a number in [0, 1] for each validation record, known exactly. For any λ, λ' in [0, 1) that do not depend
on that table, and the true means m = q(A|z), m' = q(A|z'), the product of 1 - λ(f - m) over the records of z and of
1 + λ'(f - m') over those of z' is non-negative with mean one, so by Markov's inequality it is below 1/δ with probability
1 - δ. All (m, m') with a larger product are excluded, and the bound is the largest m - m' left among the m and m' in rough
intervals of their own (Hoeffding's inequality in its form with a divergence, at a tenth of δ). The λ are set for the spread
that the release's own law gives f. With more than `MOST_CODES` codes there are too many events to look at each: then
Hoeffding's inequality, with the total variation in the table.

Nothing is paid for the number of events, pairs of values and groups. The true advantage is attained at *one* event, pair
and group, which the law of new records decides and not the table; there the bound holds with probability 1 - δ, and the
largest of all bounds is no smaller. So the largest is one for the largest of all groups, and a group's own is one for that
group; that the bounds of several groups hold together is not said.

*In bits*, from a validation table, see `choral.auditing.information_bound`. How near such a bound can come is a matter of how
many records validate. Suppose the best case: one group of two values, two codes, normal noise of known size. The true
deviation has the spread 1/sqrt(fitted), what validation shows of it is off by 1/sqrt(validating), and a one-sided margin
at 95 % is 1.645 of that. For equal tables the median bound is then ((0.674·√2 + 1.645)/0.674)² = 14.9 times the median
leakage; with 2, 4 and 8 times as many records to validate it is 8.7, 5.5 and 3.7 times. With more codes and values the truth
is itself a sum of squares, and less is lost. `bench/out_of_sample.py` has the figures, of this and of the bound.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from choral.auditing.information_bound import information_bound
from choral.describe.entropy import entropy_of
from choral.errors import ProblemError
from choral.phases import phase
from choral.problem.kernel import Floats
from choral.problem.solution import floats_of
from choral.release.leakage import Published

VALIDATION = "a validation table"
"""The source of a bound from one."""
MOST_CODES = 11
"""Codes up to which every event is looked at: 2¹⁰ of them, up to complements."""
LARGEST = 0.9
"""Of λ and λ'."""
ROUGH = 0.1
"""The share of 1 - confidence that goes to rough intervals."""
BISECTIONS = 24
"""Halvings of a range: seven decimals of it, and the end that holds is returned."""
ROUNDING = 1e-9
"""Added to a bound for what floats lose."""


@dataclass(frozen=True)
class GroupAdvantage:
    """One protected group: the advantage is at most `bound`; between the two values of which the rarer has `count` records.

    `bits` bounds I(Z;Y). `estimate` is the advantage in the validation table itself, which is no bound.
    """

    about: tuple[str, ...]
    bound: float
    bits: float
    count: int
    estimate: float | None = None


@dataclass(frozen=True)
class OutOfSample:
    """Bounds that hold with probability `confidence` over the draw of the table, each for its group.

    With that probability no group has an advantage above `advantage`; with that probability none leaks more than `bits`.
    `inequality` names what was used and `assumes` what it needs; `remedy` says what would tighten it. `rows` is the size of
    the table it comes from.
    """

    source: str
    confidence: float
    rows: int
    inequality: str
    assumes: str
    remedy: str
    groups: tuple[GroupAdvantage, ...]

    @property
    def advantage(self) -> float:
        """The largest bound of all groups, which is one for the largest of all."""
        return max(group.bound for group in self.groups)

    @property
    def bits(self) -> float:
        """The largest bound of all groups in bits, which is one for the largest of all."""
        return max(group.bits for group in self.groups)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "advantage": self.advantage, "bits": self.bits}


def advantage(published: Published, about: Sequence[str]) -> float:
    """max over z, z' of TV(q(Y|z), q(Y|z')) under the law of `published`."""
    rows = [row / row.sum() for row in published.code_laws(about).values()]
    return max((float(np.abs(a - b).sum()) / 2 for a, b in combinations(rows, 2)), default=0.0)


@phase("bounding what codes tell of new records")
def uniform_bound(
    published: Published, groups: Sequence[Sequence[str]], alphabets: dict[str, int], rows: int, confidence: float
) -> OutOfSample:
    """The bound from the table that the release was fitted to, whose frequencies are the law of `published`.

    `alphabets` has for each used column how many values it may take.
    """
    delta = _delta(confidence)
    counted = {tuple(group): _counts(published, group, rows) for group in groups}
    values = sum(len(counts) for counts in counted.values())
    codes = published.code_laws(())[()]
    found = []
    for group, counts in counted.items():
        size = math.prod(n for column, n in alphabets.items() if column not in group)
        away = {
            z: 0.0 if size == 1 else math.sqrt((_log_events(size) + math.log(values / delta)) / (2 * n))
            for z, n in counts.items()
        }
        first, second = _two_largest(away)
        inside = advantage(published, group)
        most = min(1.0, inside + away[first] + away[second] + ROUNDING)
        rarest = min(counts[first], counts[second])
        bits = _bits_from_codes([most] * len(codes), codes - away[first] - inside, _bits(most, len(codes), len(counts)))
        found.append(GroupAdvantage(group, most, bits, rarest))
    return OutOfSample(
        "the fitted table",
        confidence,
        rows,
        "the L1 deviation inequality of Weissman et al. (2003), union over values",
        "new records are drawn like those of the table, whose values and bins were not chosen from it; values that it does "
        "not hold are not covered",
        "A table that the fit never saw (--validation) gives tighter bounds, far tighter ones in bits.",
        tuple(found),
    )


@phase("bounding what codes tell of new records")
def validated_bound(
    release: Published, validation: Published, groups: Sequence[Sequence[str]], rows: int, confidence: float
) -> OutOfSample:
    """The bound from a table of `rows` rows that the fit never saw, whose frequencies are the law of `validation`.

    `release` is the channel under its own law: it says where to look, and no more.
    """
    delta = _delta(confidence)
    channel = floats_of(validation.channel)
    events = list(_events(len(channel))) if len(channel) <= MOST_CODES else []
    seen = {tuple(group): validation.by_value(group, rows) for group in groups}
    if all(len(by_value) < 2 for by_value in seen.values()):
        raise ProblemError("No protected group takes two values in the validation table.", "Give a larger table.")
    found = []
    for group, by_value in seen.items():
        values = len(release.by_value(group, 1))
        if len(by_value) < 2 <= values:
            found.append(GroupAdvantage(group, 1.0, math.log2(min(len(channel), values)), 0))
            continue
        bounds = (
            _bounds_by_betting(channel, events, by_value, release.by_value(group, 1), delta)
            if events
            else _bounds_by_hoeffding(channel, by_value, delta)
        )
        worst = max(bounds, key=lambda pair: bounds[pair], default=None)
        count = min(sum(by_value[z].values()) for z in worst) if worst else rows
        most = min(1.0, bounds[worst] + ROUNDING) if worst else 0.0
        bits = information_bound(release, validation, group, rows, delta)
        found.append(GroupAdvantage(group, most, bits, count, advantage(validation, group)))
    return OutOfSample(
        VALIDATION,
        confidence,
        rows,
        ("Markov's inequality for products of 1 ± λ(P(A|s) - m)" if events else "Hoeffding's inequality")
        + "; in bits by those of Bernstein and of Berry and Esseen",
        "new records are drawn like those of the validation table, of which the fit saw nothing; records that get no code, "
        "and protected values that it does not hold, are not covered",
        "A larger validation table tightens both, the bits most: they are near the truth when it is several times as large "
        "as the fitted one.",
        tuple(found),
    )


@dataclass(frozen=True, eq=False)
class _Sample:
    """The records that have one value of Z: P(A | s) for every event A and state s, and how many records each state has.

    `low` and `high` hold the true means with what confidence the caller chose; `spread` are variances guessed beforehand.
    """

    values: Floats
    counts: Floats
    spread: Floats
    low: Floats
    high: Floats

    @property
    def size(self) -> float:
        return float(self.counts.sum())

    def sum_of_logs(self, slope: Floats, mean: Floats) -> Floats:
        """Σ ln(1 + slope·(P(A | s) - mean)) over the records, for each event."""
        found: Floats = np.log1p(slope[:, None] * (self.values - mean[:, None])) @ self.counts
        return found


def _bounds_by_betting(
    channel: Floats,
    events: Sequence[tuple[int, ...]],
    by_value: dict[Hashable, dict[int, int]],
    planned: dict[Hashable, dict[int, int]],
    delta: float,
) -> dict[tuple[Hashable, Hashable], float]:
    """The bound of each pair of values; a rough interval for the mean of each has two ends."""
    level, rough = math.log(1 / ((1 - ROUGH) * delta)), math.log(4 / (ROUGH * delta))
    shares = np.clip(np.array([channel[list(event)].sum(axis=0) for event in events]), 0.0, 1.0)
    samples = {z: _sample(shares, row, planned.get(z), rough) for z, row in by_value.items()}
    return {
        (z, other): float(_largest_differences(samples[z], samples[other], level).max())
        for z, other in permutations(by_value, 2)
    }


def _sample(shares: Floats, row: dict[int, int], planned: dict[int, int] | None, rough: float) -> _Sample:
    values, counts = shares[:, list(row)], np.array(list(row.values()), float)
    n = float(counts.sum())
    means = np.clip(values @ counts / n, 0.0, 1.0)
    low, high = _lower(means, rough / n), 1 - _lower(1 - means, rough / n)
    return _Sample(values, counts, _variances(shares, planned), low, high)


def _largest_differences(first: _Sample, second: _Sample, level: float) -> Floats:
    """For each event a difference m - m' from which on all are excluded: the sum of logarithms is at least `level`.

    For a given difference the sum is concave in m, so it is least at an end of the range that m may have; and it grows with
    the difference. So bisection finds it, and the excluded end is what is returned.
    """
    slope = np.sqrt(2 * level / (first.spread / first.size + second.spread / second.size))
    one, two = np.minimum(slope / first.size, LARGEST), np.minimum(slope / second.size, LARGEST)
    low, high = first.low - second.high, first.high - second.low
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        ends = np.maximum(first.low, second.low + middle), np.minimum(first.high, second.high + middle)
        sums = [first.sum_of_logs(-one, m) + second.sum_of_logs(two, m - middle) for m in ends]
        excluded = (ends[0] > ends[1]) | (np.minimum(*sums) >= level)
        low, high = np.where(excluded, low, middle), np.where(excluded, middle, high)
    return np.maximum(high, 0.0)


def _bounds_by_hoeffding(
    channel: Floats, by_value: dict[Hashable, dict[int, int]], delta: float
) -> dict[tuple[Hashable, Hashable], float]:
    sizes = {z: sum(row.values()) for z, row in by_value.items()}
    laws = {z: channel[:, list(row)] @ np.array(list(row.values()), float) / sizes[z] for z, row in by_value.items()}
    return {
        (z, other): float(np.abs(laws[z] - laws[other]).sum()) / 2
        + math.sqrt(math.log(1 / delta) * (1 / sizes[z] + 1 / sizes[other]) / 2)
        for z, other in permutations(laws, 2)
    }


def _lower(means: Floats, most: float) -> Floats:
    """For each mean the smallest m with d(mean ‖ m) ≤ most, rounded down; d is the divergence of two coins.

    P(mean ≥ m + t) ≤ exp(-n·d(m + t ‖ m)) holds for n independent numbers in [0, 1] (Hoeffding).
    """
    low, high = np.zeros_like(means), means
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        outside = _coins(means, middle) > most
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return low


def _coins(a: Floats, b: Floats) -> Floats:
    """d(a ‖ b) in nats, for b ≤ a."""
    first = a * np.log(np.divide(a, b, out=np.ones_like(a), where=(a > 0) & (b > 0)))
    second = (1 - a) * np.log(np.divide(1 - a, 1 - b, out=np.ones_like(a), where=a < 1))
    return np.where((a > 0) & (b <= 0), np.inf, first + second)


def _bits_from_codes(single: Sequence[float], least: Sequence[float] | Floats, otherwise: float) -> float:
    """I(Z;Y) ≤ Σ_y min(t_y² / (4 q(y)), 0.535 t_y) nats, if values of Z differ by at most t_y in the probability of code y.

    With q(y|z) = q(y)·(1 + d) the part of code y is q(y)·E[(1+d) ln(1+d)], where E[d] = 0 and d lies in an interval of length
    R = t_y/q(y) around 0. Since (1+d) ln(1+d) - d ≤ d² and such a d has a variance of at most R²/4, the part is at most
    t_y R/4; since 1 + d ≤ 1 + R it is at most q(y) ln(1+R) = t_y ln(1+R)/R. The first grows with R and the second falls; they
    meet below R = 2.14, where both are below 0.535 t_y. `least` are lower bounds of q(y).
    """
    parts = (t * min(0.535, t / (4 * q) if q > 0 else math.inf) for t, q in zip(single, least, strict=True) if t > 0)
    return min(otherwise, math.fsum(parts) / math.log(2) + ROUNDING)


def _bits(away: float, codes: int, values: int) -> float:
    """I(Z;Y) when the laws of the code for any two values of Z are within `away` in total variation.

    Each q(Y|z) is then within `away` of q(Y), so |H(Y) - H(Y|z)| ≤ h(t) + t·log2(codes - 1), which does not decrease for t
    up to 1 - 1/codes (Audenaert's form of Fannes' inequality, sharp for laws). Nor does it exceed log2 of either alphabet.
    """
    if codes < 2 or values < 2:
        return 0.0
    t = min(away, 1 - 1 / codes)
    return min(entropy_of((t, 1 - t)) + t * math.log2(codes - 1) + ROUNDING, math.log2(codes), math.log2(values))


def _events(codes: int) -> Iterator[tuple[int, ...]]:
    """Events of the code, one of each and its complement: exchanging the values gives the other's difference."""
    for size in range(1, codes // 2 + 1):
        for event in combinations(range(codes), size):
            if 2 * size < codes or event[0] == 0:
                yield event


def _log_events(size: int) -> float:
    """ln(2^size - 2), rounded up to size·ln 2 where that is large."""
    return math.log(2**size - 2) if size < 50 else size * math.log(2)


def _variances(shares: Floats, row: dict[int, int] | None) -> Floats:
    """The variances that the release's own law gives P(A | s) for a value of Z; the largest possible for an unknown one."""
    if not row:
        return np.full(len(shares), 0.25)
    total = sum(row.values())
    weights = np.array([n / total for n in row.values()])
    values = shares[:, list(row)]
    means = values @ weights
    found: Floats = np.maximum((values - means[:, None]) ** 2 @ weights, 1e-4)
    return found


def _counts(published: Published, about: Sequence[str], rows: int) -> dict[Hashable, int]:
    return {z: sum(row.values()) for z, row in published.by_value(about, rows).items()}


def _two_largest(away: dict[Hashable, float]) -> tuple[Hashable, Hashable]:
    ordered = sorted(away, key=lambda z: -away[z])
    return ordered[0], ordered[1 if len(ordered) > 1 else 0]


def _delta(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ProblemError(f"A confidence of {confidence}.", "Give a number between 0 and 1, such as 0.95.")
    return 1 - confidence
