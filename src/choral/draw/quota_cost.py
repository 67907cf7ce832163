"""What quotas tell to somebody who knows nearly everything, beside what lots tell him.

**All other bearers of a code.** He knows the law, and of everybody else with code y whether they have the value z; the code's
last bearer he does not know. Let v be how many bearers have z and w how many have not, v + w = n(y), with probabilities P(v)
and Q(w) before the codes were drawn. Of n(y) bearers any may be the last, so (has z, a others have it) has a probability in
proportion to P(a + 1) Q(n(y) - a - 1) (a + 1), and (has not, a others have) to P(a) Q(n(y) - a) (n(y) - a). By quota v is
known to who has the law: only one of the two can be. With noise P and Q are laws of sums of its noise. By lots they are
binomial, with n(z) and N - n(z) trials, and the two are in the proportion n(z) - a to what is left of the others. If he knows
how many records of each cell there are, they are laws of sums of binomial numbers; where a code is certain in cells, so that
v or w is known, he learns by lots too what he learns by quota.

**All other records.** He knows the states and codes of all records but one, of that one its code, the law and the channel,
and no total. If it were in cell c', the table would be that of the others and one in c', its quotas those that this module
rounds, and the codes of the others would have to fit. The proportion of the candidates is p(c') times the probability of the
codes that are seen. By lots the codes of others say nothing about a record, and its own is private: zero, exactly.

Numbers are averages over the records of the table at hand, in double precision; nothing is decided by them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from choral.describe.display import in_bits, percent, percent_at_most
from choral.draw.quota import Quotas, ratio_of
from choral.draw.quota_rounding import Counts, rounded
from choral.ledger.identity import KEY_BYTES, subkey

MOST_ROUNDING = 400_000
"""Pairs of cells, times entries, for which candidates are rounded again: some seconds."""
MOST_COMPARED = 40
"""Pairs of a value and a code for which quotas and lots are compared; that where quotas tell most beyond lots is shown."""
MOST_NOISES, FEWEST_NOISES = 200, 8
"""Draws of the noise over which what is learned is averaged …"""
NOISE_WORK = 20_000
"""… and as many as make so many posteriors."""
CROSSING = 30
"""How many times longer a rounding takes where sets cross."""
MOST_CONVOLVED = 20_000_000
"""Products up to which laws of sums are convolved; beyond, the normal law with their mean and variance stands for them."""
DEVIATIONS = 10
"""Standard deviations around the mean that a law is held for: beyond, less than 1e-20 of it."""
NEGLIGIBLE = 1e-18
"""Of a law of noise, what is cut off at its ends."""

Floats: TypeAlias = "npt.NDArray[np.float64]"
LawOfSum: TypeAlias = "tuple[int, Floats]"
"""The smallest number, and the probabilities from there on."""


@dataclass(frozen=True)
class Learned:
    """How often somebody guesses right before and after he sees the codes, and the bits that he learns, on average.

    `about` says of what; `method` is "exact" for exact integers behind rounded floats, "computed" for laws of sums in double
    precision, "simulated" for an average over draws of the noise, and "at most" where all that could be learned stands for
    what was not computed.
    """

    about: str
    guess_before: float
    guess_after: float
    bits: float
    method: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Cost:
    """What both adversaries learn by quota, and by lots."""

    others: Learned
    others_by_lots: Learned
    bearers: Learned
    bearers_by_lots: Learned
    bearers_by_lots_composed: Learned
    """The same for somebody who knows, too, how many records of each cell there are."""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "knows_all_other_records": {"quota": self.others.to_json(), "lots": self.others_by_lots.to_json()},
            "knows_all_other_bearers": {
                "quota": self.bearers.to_json(),
                "lots": self.bearers_by_lots.to_json(),
                "lots_knowing_composition": self.bearers_by_lots_composed.to_json(),
            },
        }


def cost_of(quotas: Quotas) -> Cost:
    """What quotas cost, for the table that they were made for."""
    groups = _groups(quotas)
    others = max((_others(quotas, name, values) for name, values in groups.items()), key=lambda found: found.bits)
    nothing = replace(others, guess_after=others.guess_before, bits=0.0, method="exact")
    compared = []
    for about, inside, y in _most_telling(quotas, groups):
        by_quota = _bearers(about, quotas.bearers[y], *_laws(quotas, inside, y))
        by_lots = _bearers(about, quotas.bearers[y], *_laws_of_lots(quotas, inside, y, composed=False))
        compared.append((by_quota, by_lots, inside, y))
    by_quota, by_lots, inside, y = max(compared, key=lambda one: one[0].bits - one[1].bits)
    composed = _bearers(by_quota.about, quotas.bearers[y], *_laws_of_lots(quotas, inside, y, composed=True))
    return Cost(others, nothing, by_quota, by_lots, composed)


def _groups(quotas: Quotas) -> dict[str, list[str]]:
    """For what each promise hides, the value of each cell."""
    found = {}
    for promise in quotas.promises:
        where = [quotas.columns.index(name) for name in promise.about]
        found["+".join(promise.about)] = [", ".join(cell[i] for i in where) for cell in quotas.values]
    return found


def entropy(weights: Iterable[float]) -> float:
    """Bits of a law with these weights.

    >>> entropy([1, 1, 2])
    1.5
    """
    given = [weight for weight in weights if weight > 0]
    total = sum(given)
    return -sum(weight / total * math.log2(weight / total) for weight in given) + 0.0


# All other bearers of a code.


def _most_telling(quotas: Quotas, groups: dict[str, list[str]]) -> list[tuple[str, list[bool], int]]:
    """The values and codes for which the last bearer is least certain beforehand: there is most to learn."""
    found: list[tuple[float, str, list[bool], int]] = []
    for name, values in groups.items():
        for value in sorted(set(values)):
            inside = [mine == value for mine in values]
            for y in range(quotas.codes):
                n = sum(row.get(y, 0) for row, mine in zip(quotas.counts, inside, strict=True) if mine)
                about = f"whether {name} is {value}, of the last bearer of code {y}"
                found.append((entropy([n, quotas.bearers[y] - n]), about, inside, y))
    found.sort(key=lambda one: -one[0])
    return [one[1:] for one in found[:MOST_COMPARED]]


def _bearers(about: str, bearers: int, has: LawOfSum, has_not: LawOfSum) -> Learned:
    """What is learned of the last bearer, from the laws of how many bearers have the value and have it not."""
    others = np.arange(bearers)
    yes = _at(has, others + 1) * _at(has_not, bearers - others - 1) * (others + 1)
    no = _at(has, others) * _at(has_not, bearers - others) * (bearers - others)
    total = float(yes.sum() + no.sum())
    if total <= 0:
        return Learned(about, 1.0, 1.0, 0.0, "computed")
    yes, no = yes / total, no / total
    share = float(yes.sum())
    both = yes + no
    kept = both > 0
    after = sum(_entropy_terms(part[kept], both[kept]) for part in (yes, no))
    bits = max(0.0, entropy([share, 1 - share]) - after)
    return Learned(about, max(share, 1 - share), float(np.maximum(yes, no).sum()), bits, "computed")


def _entropy_terms(part: Floats, both: Floats) -> float:
    found = np.zeros(len(part))
    positive = part > 0
    found[positive] = part[positive] * np.log2(both[positive] / part[positive])
    return float(found.sum())


def _at(law: LawOfSum, where: npt.NDArray[np.int64]) -> Floats:
    start, mass = law
    inside = (where >= start) & (where < start + len(mass))
    found = np.zeros(len(where))
    found[inside] = mass[where[inside] - start]
    return found


def _laws(quotas: Quotas, inside: Sequence[bool], y: int) -> tuple[LawOfSum, LawOfSum]:
    """The laws of how many bearers of a code are in some cells, and in the others, with the noise on quotas."""
    laws = [_law_of_noise(quotas, cell, y) for cell in range(len(quotas.sizes))]
    has, has_not = (
        _sum_of([law for law, mine in zip(laws, inside, strict=True) if mine is side]) for side in (True, False)
    )
    return has, has_not


def _law_of_noise(quotas: Quotas, cell: int, y: int) -> LawOfSum:
    base = quotas.plain[cell]
    if quotas.noise is None:
        return base.get(y, 0), np.ones(1)
    support = [code for code, n in quotas.rows[cell][1] if n]
    if y not in support:
        return 0, np.ones(1)
    top = max(support, key=lambda code: (base.get(code, 0), -code))
    ratio = ratio_of(quotas.noise) / 2**64
    if y != top:
        return _noisy(base.get(y, 0), ratio)
    start, mass = _sum_of([_noisy(base.get(code, 0), ratio) for code in support if code != top])
    size = quotas.sizes[cell]
    return size - (start + len(mass) - 1), mass[::-1]


def _noisy(base: int, ratio: float) -> LawOfSum:
    """The law of a number with noise, cut off at zero."""
    reach = math.ceil(math.log(NEGLIGIBLE) / math.log(ratio)) if ratio > 0 else 1
    low = max(0, base - reach)
    where = np.arange(low, base + reach + 1)
    mass = (1 - ratio) / (1 + ratio) * ratio ** np.abs(where - base).astype(float)
    if low == 0:
        mass[0] = ratio**base / (1 + ratio)  # all that is at or below zero
    return low, mass


def _laws_of_lots(quotas: Quotas, inside: Sequence[bool], y: int, composed: bool) -> tuple[LawOfSum, LawOfSum]:
    """The same by lots, to somebody who knows how many records of each cell there are, or only on each side."""
    found = []
    for side in (True, False):
        cells = [c for c, mine in enumerate(inside) if mine is side]
        parts = [cells] if not composed else [[c] for c in cells]
        found.append(_sum_of([_binomial(quotas, part, y) for part in parts if part]))
    return found[0], found[1]


def _binomial(quotas: Quotas, cells: Sequence[int], y: int) -> LawOfSum:
    """How many of the records of some cells get a code, if each gets it with the same probability."""
    from scipy import stats

    size = sum(quotas.sizes[c] for c in cells)
    mean = sum(quotas.sizes[c] * dict(quotas.rows[c][1]).get(y, 0) / quotas.rows[c][0] for c in cells)
    p = min(1.0, mean / size) if size else 0.0
    spread = math.ceil(DEVIATIONS * math.sqrt(mean * (1 - p))) + DEVIATIONS
    low, high = max(0, math.floor(mean) - spread), min(size, math.ceil(mean) + spread)
    return low, np.asarray(stats.binom.pmf(np.arange(low, high + 1), size, p))


def _sum_of(laws: Sequence[LawOfSum]) -> LawOfSum:
    """The law of a sum of independent numbers."""
    start, mass, work = 0, np.ones(1), 0
    longest = 1
    for _, other in laws:
        work += longest * len(other)
        longest += len(other)
    if work > MOST_CONVOLVED:
        return _normal(laws)
    for low, other in laws:
        start, mass = start + low, np.convolve(mass, other)
    return start, mass


def _normal(laws: Sequence[LawOfSum]) -> LawOfSum:
    mean = variance = 0.0
    for low, mass in laws:
        where = low + np.arange(len(mass))
        here = float((where * mass).sum())
        mean, variance = mean + here, variance + float(((where - here) ** 2 * mass).sum())
    spread = math.ceil(DEVIATIONS * math.sqrt(variance)) + 1
    start = max(0, math.floor(mean) - spread)
    where = np.arange(start, math.ceil(mean) + spread + 1)
    mass = np.exp(-((where - mean) ** 2) / (2 * max(variance, 1e-12)))
    return start, mass / mass.sum()


# All other records.


def _others(quotas: Quotas, name: str, values: Sequence[str]) -> Learned:
    """What somebody who knows all other records learns about a group of columns of the last one."""
    total = quotas.records
    prior: defaultdict[str, float] = defaultdict(float)
    for value, size in zip(values, quotas.sizes, strict=True):
        prior[value] += size / total
    about, before = f"{name} of the last record", max(prior.values())
    entries = sum(len(row[1]) for row in quotas.rows)
    work = len(quotas.sizes) ** 2 * entries * (1 if quotas.method == "flow" else CROSSING)
    if work > MOST_ROUNDING:
        return Learned(about, before, 1.0, entropy(prior.values()), "at most")
    draws = list(_draws(quotas))
    bits = right = 0.0
    for cell in range(len(quotas.sizes)):
        candidates = _candidates(quotas, cell)
        for drawn in draws:
            for y, n in drawn.counts[cell].items():
                weights = _posterior(drawn, cell, y, candidates, values)
                most, share = max(weights.values()), n / total / len(draws)
                right += share * (weights[values[cell]] == most) / sum(w == most for w in weights.values())
                bits += share * math.log2(weights[values[cell]] / sum(weights.values()) / prior[values[cell]])
    method = "exact" if quotas.noise is None else "simulated"
    return Learned(about, before, max(right, before), max(bits, 0.0), method)


def _draws(quotas: Quotas) -> Iterable[Quotas]:
    """The quotas, or with noise many draws of it, under keys that are no secret: an average does not hang on one."""
    if quotas.noise is None:
        return [quotas]
    work = len(quotas.sizes) ** 2 * quotas.codes
    many = max(FEWEST_NOISES, min(MOST_NOISES, NOISE_WORK // work))
    return [quotas.with_noise(quotas.noise, subkey(bytes(KEY_BYTES), "quota estimate", b"%d" % i)) for i in range(many)]


def _candidates(quotas: Quotas, cell: int) -> list[Counts]:
    """The quotas, before noise, of the table with one record of this cell moved to each other one."""
    found = []
    for other in range(len(quotas.sizes)):
        if other == cell:
            found.append(quotas.plain)
            continue
        sizes = list(quotas.sizes)
        sizes[cell] -= 1
        sizes[other] += 1
        sets = [promise.sets for promise in quotas.promises]
        also = [promise.known for promise in quotas.promises if promise.given]
        found.append(rounded(sizes, quotas.rows, sets, also).counts)
    return found


def _posterior(
    quotas: Quotas, cell: int, y: int, candidates: Sequence[Counts], values: Sequence[str]
) -> defaultdict[str, float]:
    """The weights of the values of a record that is in this cell and has this code, after all codes were seen."""
    found: defaultdict[str, float] = defaultdict(float)
    for other, base in enumerate(candidates):
        seen = quotas.counts
        moved = {cell: dict(seen[cell]), other: dict(seen[other])}
        if other != cell:
            moved[cell][y] -= 1
            moved[other][y] = moved[other].get(y, 0) + 1
        likelihood = 1.0
        for c in range(len(seen)):
            now = moved.get(c, seen[c])
            if quotas.noise is None:
                likelihood *= _same(now, base[c])
            elif c in moved or base[c] != quotas.plain[c]:
                likelihood *= _ratio(quotas, c, now, base[c])
            if not likelihood:
                break
        size = quotas.sizes[other] + (other != cell)
        found[values[other]] += quotas.sizes[other] * likelihood * moved[other].get(y, 0) / size
    return found


def _same(one: dict[int, int], other: dict[int, int]) -> bool:
    return {y: n for y, n in one.items() if n} == other


def _ratio(quotas: Quotas, cell: int, now: dict[int, int], base: dict[int, int]) -> float:
    """How likely noise makes these numbers of a base, over how likely it makes the ones seen of the true base."""
    return _likelihood(quotas, cell, now, base) / _likelihood(quotas, cell, quotas.counts[cell], quotas.plain[cell])


def _likelihood(quotas: Quotas, cell: int, now: dict[int, int], base: dict[int, int]) -> float:
    assert quotas.noise is not None
    ratio = ratio_of(quotas.noise) / 2**64
    support = [code for code, n in quotas.rows[cell][1] if n]
    top = max(support, key=lambda code: (base.get(code, 0), -code))
    if any(n < 0 or (n and code not in support) for code, n in now.items()):
        return 0.0
    found = 1.0
    for code in support:
        if code != top:
            mine, was = now.get(code, 0), base.get(code, 0)
            found *= ratio ** abs(mine - was) / (1 + ratio) * (1 if mine == 0 else 1 - ratio)
    return found


def in_words(learned: Learned) -> str:
    """Right guesses and bits, in a few words."""
    most = "at most " if learned.method == "at most" else ""
    if learned.bits == 0:
        return f"nothing (right in {percent(learned.guess_before)} of cases, as without the codes)"
    after = percent_at_most(learned.guess_after) if most else percent(learned.guess_after)
    guesses = f"right in {most}{after} of cases instead of {percent(learned.guess_before)}"
    return f"{guesses}, {most}{in_bits(learned.bits)}"
