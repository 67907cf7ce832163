"""Self-disclosure of i.i.d. bits for every q in (0, 1/2], also far below the reach of floats.

The second derivations here are in `decimal` with 800 digits and in fractions; none uses balls or the list of bases.
"""

from __future__ import annotations

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction as F
from functools import cache

import pytest
from joined import verifier

import choral as ch
from choral.describe.markov import MarkovChain
from choral.describe.written import hexadecimal
from choral.exact import certificate
from choral.problem.pose import pose_self
from choral.solvers.exchangeable_bits import ExchangeableBits
from choral.solvers.listed_orbits import _at, _balanced, listed_orbits, rare_bound, solve_listed
from choral.solvers.self_orbits import by_descents
from choral.theory.entropy_rate import entropy_rate_curve
from choral.theory.self_disclosure import bernoulli_types, self_disclosure_curve, self_point

TINY = (F(1, 10**7), F(1e-12), F(1, 10**40), F(1e-300), F(5e-324))
DIGITS = Context(prec=800, Emin=-(10**9), Emax=10**9)
LN_2 = DIGITS.ln(Decimal(2))


def decimal(x):
    return DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


@cache
def eta(x):
    """-x log₂ x, to 800 digits."""
    if not x:
        return Decimal(0)
    value = decimal(F(x))
    return DIGITS.divide(DIGITS.multiply(-value, DIGITS.ln(value)), LN_2)


def total(values):
    with localcontext(DIGITS):
        return sum(values, Decimal(0))


def within(x, y, relative):
    with localcontext(DIGITS):
        return abs(x - y) <= Decimal(relative) * abs(y)


def entropy_of_samples(n, q):
    return total(math.comb(n, j) * eta(q**j * (1 - q) ** (n - j)) for j in range(n + 1))


def solved(rows, right):
    """The only solution of a square system in fractions, or None."""
    size = len(rows)
    table = [[F(x) for x in row] + [F(b)] for row, b in zip(rows, right, strict=True)]
    for i in range(size):
        k = next((k for k in range(i, size) if table[k][i]), None)
        if k is None:
            return None
        table[i], table[k] = table[k], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for other in range(size):
            if other != i and table[other][i]:
                factor = table[other][i]
                table[other] = [x - factor * y for x, y in zip(table[other], table[i], strict=True)]
    return [row[-1] for row in table]


def by_hand(n, q):
    """Î_s from all sets of n+1 points of the cube and all sets of n extreme points: theo1 without any solver."""
    points = list(itertools.product((0, 1), repeat=n))
    kinds = set()
    for basis in itertools.combinations(points, n + 1):
        t = solved([[1] * (n + 1), *([x[i] for x in basis] for i in range(n))], [1, *[q] * n])
        if t is not None and min(t) >= 0:
            kinds.add(tuple(sorted((sum(x), mass) for x, mass in zip(basis, t, strict=True) if mass)))
    kinds = sorted(kinds)
    cost = [total(eta(mass) for _, mass in kind) for kind in kinds]
    types = [[sum(m for ones, m in kind if ones == j) for j in range(n + 1)] for kind in kinds]
    prior = [math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]
    best = None
    for chosen in itertools.combinations(range(len(kinds)), n):
        rows = [[types[k][j] for k in chosen] for j in range(2, n + 1)]
        u = solved([[1] * n, *rows], [1, *prior[2:]])
        if u is not None and min(u) >= 0:
            value = total(DIGITS.multiply(decimal(w), cost[k]) for w, k in zip(u, chosen, strict=True))
            best = value if best is None else min(best, value)
    return DIGITS.subtract(entropy_of_samples(n, q), best)


@pytest.mark.parametrize("q", [*TINY, F(1, 200), F(1, 3)])
def test_three_samples_by_hand(q):
    point = self_point(3, q)
    value = by_hand(3, q)
    assert point.proved
    assert all(within(decimal(end), value, "1e-12") for end in point.ends)
    if q < F(1, 100):
        assert point.relative_gap < 1e-45
        assert all(within(decimal(end), value, "1e-40") for end in point.ends)


def test_four_samples_by_hand():
    q = F(1, 10**40)
    value = by_hand(4, q)
    assert all(within(decimal(end), value, "1e-40") for end in self_point(4, q).ends)


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_every_q_has_a_proved_interval_with_a_small_relative_gap(n):
    points = self_disclosure_curve(n, [1e-7, 1e-12, F(1, 10**40), 1e-300, 5e-324])
    assert [p.q for p in points] == [F(1e-7), *TINY[1:]]
    for point in points:
        assert point.proved
        assert point.proved_by == "all orbits of extreme points"
        assert 0 < point.ends[0] <= point.ends[1]
        assert point.relative_gap < 1e-45
        assert F(point.information) <= point.ends[0]
        assert point.ends[1] <= F(point.upper_bound)
    assert all(a.ends[0] > b.ends[1] for a, b in itertools.pairwise(points))  # Î_s grows with q here
    assert points[-1].information == 0.0  # what is told is far below the least float
    assert points[-1].upper_bound == 5e-324


@pytest.mark.parametrize("n", [4, 6, 9])
@pytest.mark.parametrize("q", [F(1, 10**7), F(1, 10**100)])
def test_between_a_scheme_of_one_line_and_a_bound_of_one_line(n, q):
    """At least: with probability p_j/q the code is (j samples that are 1 together, the others alone), each set equally often.
    At most: the size-biased bound. They differ by a factor 1 + O(q)."""
    prior = [math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(n + 1)]
    share = {j: prior[j] / q for j in range(2, n + 1)}
    share[1] = 1 - sum(share.values())
    parts = {j: n - j + 1 for j in range(1, n + 1)}
    told = total(
        DIGITS.multiply(decimal(u), total([eta(1 - q * parts[j]), parts[j] * eta(q)])) for j, u in share.items()
    )
    rest = total(
        DIGITS.multiply(
            decimal(j * prior[j] / (n * q)),
            total([eta(1 - q * n / j), DIGITS.multiply(decimal(F(n, j)), eta(q))]),
        )
        for j in range(1, n + 1)
    )
    whole = entropy_of_samples(n, q)
    low, high = DIGITS.subtract(whole, told), DIGITS.subtract(whole, rest)
    point = self_point(n, q)
    assert low <= decimal(point.ends[1])
    assert decimal(point.ends[0]) <= high
    assert within(low, high, decimal(10 * q))
    assert all(within(decimal(end), high, decimal(max(10 * q, F(1, 10**70)))) for end in point.ends)


def exact_verifier(monkeypatch):
    """The stand-alone verifier with as many digits as so small a value needs."""
    monkeypatch.setattr(verifier, "BITS", 2600)
    monkeypatch.setattr(verifier, "DOWN", Context(prec=800, rounding="ROUND_FLOOR", Emin=-(10**9), Emax=10**9))
    monkeypatch.setattr(verifier, "UP", Context(prec=800, rounding="ROUND_CEILING", Emin=-(10**9), Emax=10**9))
    monkeypatch.setattr(verifier, "LN2", (LN_2.next_minus(DIGITS), LN_2.next_plus(DIGITS)))


@pytest.mark.parametrize(("n", "q"), [(4, F(1, 10**40)), (4, F(1e-300)), (5, F(1, 10**9)), (4, 1 - F(1, 10**9))])
def test_the_verifier_finds_the_same_relative_interval(n, q, monkeypatch):
    """From the channel and the multipliers in the release, by its own enumeration."""
    joint = ch.examples.bernoulli(q, n)
    d = ch.self_disclose(joint)
    d.verify()
    document = d.document
    assert d.codes <= 2**n - n
    exact_verifier(monkeypatch)
    law = verifier.Table(document["law"], document["protect"])
    names = document["use"]
    prior = law.weights(names)
    solution = ExchangeableBits.of(pose_self(joint)).solve(None)
    proof = {
        "multipliers": hexadecimal(solution.bound.multipliers),
        "exchangeable": [list(x) for x in solution.bound.exchangeable],
    }
    bound = verifier.bound_from_extreme_points(law, names, names, document["protect"], [], prior, proof, list(d.states))
    told = verifier.information(law, names, names, verifier.Channel(document, prior), prior)
    point = self_point(n, q)
    assert within(bound[0], bound[1], "1e-40")
    assert within(bound[1], decimal(point.ends[1]), "1e-40")
    assert within(told[0], decimal(point.ends[0]), "1e-40")
    assert within(told[1], decimal(point.ends[0]), "1e-40")


@pytest.mark.parametrize("q", [F(1, 10**4), F(1, 10**5)])
def test_four_samples_agree_with_the_plain_enumeration(q):
    plain = ch.self_disclose(ch.examples.bernoulli(q, 4), solver="enumeration")
    point = self_point(4, q)
    assert abs(point.information - plain.information) < 1e-14
    assert point.ends[0] <= F(plain.document["claims"]["upper_bound"])
    assert F(plain.document["claims"]["information"]) <= point.ends[1]


def test_six_samples_that_are_rarely_one_are_disclosed_and_verified():
    d = ch.self_disclose(ch.examples.bernoulli(F(1, 10**4), 6))
    found = d.verify()
    assert found["bound_checked"] == "by enumerating all extreme points again"
    assert d.codes <= 64 - 6
    assert 0 <= d.gap < 1e-14
    assert abs(d.information - self_point(6, F(1, 10**4)).information) < 1e-14


def test_six_samples_far_below_the_reach_of_floats_are_private():
    d = ch.self_disclose(ch.examples.bernoulli(F(1, 10**40), 6))
    certificate.check_privacy(d.document)
    assert 1 < d.codes <= 64 - 6
    assert d.gap <= 1e-15


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("q", [F(1, 100), F(1, 20), F(1, 6)])
def test_in_fractions_and_in_floats_the_optimum_is_the_same(n, q):
    """Below q = 1/n both ways hold."""
    prior = bernoulli_types(n, q)

    def told(answer):
        return math.fsum(
            float(u) * -sum(float(m) * math.log2(m) for m in orbit.masses.values()) for orbit, u in answer.weights
        )

    assert told(solve_listed(n, q, prior)) == pytest.approx(told(by_descents(n, q, prior)), abs=1e-12)


def test_nothing_jumps_where_the_ways_change():
    below, at = self_point(5, F(1, 100) - F(1, 10**12)), self_point(5, F(1, 100))
    assert below.ends[1] < at.ends[1]
    assert at.information - below.information < 1e-11


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("one_in", [5, 8, 30, 1000])
def test_the_closed_form_is_a_bound(n, one_in):
    q = F(1, one_in)
    point = self_point(n, q)
    bound = float(n * (eta(q) + eta(1 - q))) - float(rare_bound(n, q, bernoulli_types(n, q)).mid())
    assert bound >= point.information - 1e-12
    if n == 2:
        assert bound == pytest.approx(point.information, abs=1e-12)
    if n == 5:
        assert bound > point.upper_bound + 1e-3 * float(q) ** 3  # no two sets of equal size fill five samples


def test_zeros_and_ones_change_places():
    for n, q in ((4, F(1, 10**40)), (6, F(1, 10**9))):
        low, high = self_point(n, q).ends
        again = self_point(n, 1 - q).ends
        assert max(low, again[0]) <= min(high, again[1])
        assert abs(low - again[0]) < low / 10**40


def exchangeable(n, by_type):
    """Bits with these probabilities of one state of each number of ones."""
    cells = {x: by_type[sum(x)] for x in itertools.product((0, 1), repeat=n)}
    return ch.Joint.from_counts(cells, [f"X{i}" for i in range(n)])


@pytest.mark.parametrize(
    "by_type",
    [
        [10**6, 1, 1, 1, 1],
        [10**5, 1, 90, 1, 1],  # mostly in pairs
        [10**5, 1, 1, 1, 700],  # mostly together
        [10**12, 1, 1, 1, 1],
    ],
)
def test_rare_bits_need_not_be_independent(by_type):
    joint = exchangeable(4, by_type)
    d = ch.self_disclose(joint)
    assert "exchangeable bits" in d.how
    d.verify()
    plain = ch.self_disclose(joint, solver="enumeration")
    assert abs(d.information - plain.information) < 1e-13
    assert abs(d.upper_bound - plain.upper_bound) < 1e-13


def test_extreme_points_are_those_of_s():
    for n in (3, 4, 5, 6, 8):
        q = F(1, 100)
        for orbit in listed_orbits(n, q):
            assert sum(orbit.masses.values()) == 1
            assert min(orbit.masses.values()) > 0
            for i in range(n):
                assert sum(m for x, m in orbit.masses.items() if x >> i & 1) == q


def test_the_number_of_extreme_points_is_that_of_minimal_balanced_collections():
    """5, 41 and 1291 for three, four and five players in the literature, which leaves out the set of all players."""
    for n, known in ((3, 5), (4, 41), (5, 1291)):
        images = {
            tuple(sorted((sum((x >> i & 1) << j for i, j in enumerate(move)), m) for x, m in orbit.masses.items()))
            for orbit in listed_orbits(n, F(1, 100))
            for move in itertools.permutations(range(n))
        }
        assert len(images) in (known, known + 1)


def test_collections_are_the_same_at_every_q_below_one_in_n():
    def kinds(collections):
        return {tuple(sorted((x.bit_count(), a) for x, a in one.items())) for one in collections}

    for n, q in ((4, F(1, 5)), (5, F(1, 50))):
        again = [{x: mass / q for x, mass in orbit.masses.items() if x} for orbit in _at(n, q)]
        assert kinds(again) == kinds(_balanced(n))


def test_more_samples_have_a_bound_that_means_something():
    for n in (7, 9):
        near, far = self_point(n, F(1, 10**7)), self_point(n, F(1, 10**40))
        assert not near.proved
        assert near.proved_by == "the closed form for a rare value"
        assert near.relative_gap < 1e-8
        assert far.proved
        assert far.relative_gap < 1e-40


def test_seven_rare_samples_are_private_and_tell_what_the_curve_says():
    d = ch.self_disclose(ch.examples.bernoulli(F(1, 1000), 7))
    certificate.check_privacy(d.document)
    assert d.information == pytest.approx(self_point(7, F(1, 1000)).information, abs=1e-14)


def test_a_rare_chain_has_its_optimum_too():
    q = F(1, 10**9)
    [point] = entropy_rate_curve(MarkovChain.iid([1 - q, q]), [5])
    assert point.at_least_by == point.at_most_by == "the optimum"
    assert 0 < point.at_least <= point.at_most
    assert F(point.at_least) <= self_point(5, q).ends[0] / 5 <= F(point.at_most)
