"""The leak to someone who knows the exact composition of the table, against enumerations that do not use exchangeability."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction as F
from itertools import permutations, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import choral as ch
from choral.auditing import composition
from choral.auditing.composition import composition_leaks, leak_of_counts
from choral.errors import ProblemError
from choral.problem.solution import ExactChannel, row_of
from choral.release.leakage import Published

FOUR = {(0, 0): 4, (0, 1): 1, (1, 0): 2, (1, 1): 3}
EIGHT = dict(zip(product((0, 1), repeat=3), (13, 9, 11, 8, 12, 10, 14, 13), strict=True))


def channel_of(rows):
    return ExactChannel(len(rows[0]), tuple(row_of([(y, p) for y, p in enumerate(row) if p]) for row in rows))


def information(joint):
    """I and the probability of certainty, from a mapping of (z, outcome) to Fractions."""
    left, right = defaultdict(F), defaultdict(F)
    values = defaultdict(set)
    for (z, outcome), p in joint.items():
        left[z] += p
        right[outcome] += p
        values[outcome].add(z)
    bits = math.fsum(float(p) * math.log2(p / (left[z] * right[o])) for (z, o), p in joint.items())
    return bits, sum(right[o] for o, zs in values.items() if len(zs) == 1)


def by_listing(counts, rows):
    """Every arrangement of the records, every vector of codes; the record in question is the first."""
    records = [key for key, n in counts.items() for _ in range(n)]
    joint = defaultdict(F)
    arrangements = list(permutations(records))
    for arrangement in arrangements:
        for codes in product(range(len(rows[0])), repeat=len(records)):
            p = math.prod((rows[s][y] for (_, s), y in zip(arrangement, codes, strict=True)), start=F(1))
            if p:
                joint[arrangement[0][0], codes] += p / len(arrangements)
    return information(joint)


def test_the_example_of_ten_records():
    """Counts 4, 1, 2, 3: 0.026 bits about X2. Here by binomial counts, state by state, of how many get code 1."""
    law = ch.Joint.from_counts(FOUR, names=["X1", "X2"])
    d = ch.self_disclose(law)
    one = {state: d.channel_of(state)[1] for state in FOUR}

    def ones(counts):
        law = {0: F(1)}
        for state, n in counts.items():
            grown = defaultdict(F)
            for t, p in law.items():
                for k in range(n + 1):
                    grown[t + k] += p * math.comb(n, k) * one[state] ** k * (1 - one[state]) ** (n - k)
            law = grown
        return law

    joint = defaultdict(F)
    for state, n in FOUR.items():
        others = ones({s: m - (s == state) for s, m in FOUR.items()})
        for y, share in enumerate((1 - one[state], one[state])):
            for t, p in others.items():
                if share * p:
                    joint[state[1], (y, t)] += F(n, 10) * share * p
    expected, certain = information(joint)
    [found] = composition_leaks(Published.of(d), [["X2"]], 10)
    assert expected == pytest.approx(0.026, abs=5e-4)
    assert found.method == "exact"
    assert found.bits == pytest.approx(expected, rel=1e-12)
    assert found.certain == pytest.approx(float(certain), rel=1e-12)
    assert found.certain > 0.01
    assert found.bits <= found.bound
    assert found.worst[0].count == 4
    assert sum(w.bits * w.count for w in found.worst) / 10 == pytest.approx(found.bits)


@pytest.mark.parametrize(
    ("counts", "rows"),
    [
        ({("a", 0): 2, ("b", 1): 1, ("a", 2): 1, ("b", 2): 1}, [[F(1, 3), F(2, 3)], [F(1), F(0)], [F(1, 4), F(3, 4)]]),
        ({("a", 0): 1, ("b", 1): 2, ("c", 0): 1}, [[F(1, 2), F(1, 3), F(1, 6)], [F(1, 5), F(0), F(4, 5)]]),
        ({("a", 0): 2, ("b", 1): 2}, [[F(1), F(0)], [F(0), F(1)]]),
    ],
)
def test_every_arrangement_of_a_tiny_table(counts, rows):
    expected, certain = by_listing(counts, rows)
    found = leak_of_counts(counts, channel_of(rows))
    assert found.bits == pytest.approx(expected, rel=1e-10, abs=1e-15)
    assert found.certain == pytest.approx(float(certain), abs=1e-15)


def tables():
    share = st.integers(0, 3)
    row = st.lists(share, min_size=3, max_size=3).filter(any).map(lambda r: [F(x, sum(r)) for x in r])
    cell = st.tuples(st.sampled_from("ab"), st.integers(0, 2))
    return st.tuples(st.dictionaries(cell, st.integers(1, 4), min_size=2), st.lists(row, min_size=3, max_size=3))


@settings(deadline=None, max_examples=40)
@given(tables())
def test_the_bound_holds_and_double_precision_agrees(table):
    counts, rows = table
    exact = leak_of_counts(counts, channel_of(rows))
    assert exact.method == "exact"
    assert exact.bits <= exact.bound + 1e-12
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(composition, "EXACT_WORK", 0)
        double = leak_of_counts(counts, channel_of(rows))
    assume(double.method == "double precision")
    assert double.bits == pytest.approx(exact.bits, rel=1e-9, abs=1e-13)
    assert double.certain == pytest.approx(exact.certain, abs=1e-12)


def test_it_falls_like_one_over_the_number_of_records():
    published = Published.of(ch.self_disclose(ch.Joint.from_counts(FOUR, names=["X1", "X2"])))
    hundred, thousand = (composition_leaks(published, [["X2"]], n)[0] for n in (100, 1000))
    assert (hundred.method, thousand.method) == ("exact", "double precision")
    assert hundred.bits / thousand.bits == pytest.approx(10, rel=0.05)
    assert hundred.certain > thousand.certain
    assert thousand.bits < thousand.bound < hundred.bound


@pytest.mark.parametrize(("counts", "names", "times"), [(FOUR, "X1,X2", 100), (EIGHT, "X1,X2,X3", 2)])
def test_for_many_records_the_normal_approximation_takes_over_and_is_close(counts, names, times, monkeypatch):
    law = ch.Joint.from_counts(counts, names=names.split(","))
    published = Published.of(ch.self_disclose(law, codes=3))
    [known] = composition_leaks(published, [["X1"]], law.total * times)
    monkeypatch.setattr(composition, "FLOAT_WORK", 0)
    [near] = composition_leaks(published, [["X1"]], law.total * times)
    assert (known.method, near.method) == ("double precision", "normal approximation")
    assert near.bits == pytest.approx(known.bits, rel=0.1)
    assert near.certain is None
    assert near.bound == known.bound > known.bits
    assert [w.count for w in near.worst] == [w.count for w in known.worst]


def test_a_table_that_is_not_private_is_told_so():
    """One code that is the value itself: everything, log2(6/3) bits for each of two equal halves."""
    found = leak_of_counts({("a", 0): 3, ("b", 1): 3}, channel_of([[F(1), F(0)], [F(0), F(1)]]))
    assert found.bits == pytest.approx(1.0)
    assert found.certain == 1
    assert found.bound >= 1


def test_a_table_that_cannot_have_the_frequencies():
    published = Published.of(ch.self_disclose(ch.Joint.from_counts(FOUR, names=["X1", "X2"])))
    with pytest.raises(ProblemError, match="15 rows"):
        composition_leaks(published, [["X1"]], 15)
