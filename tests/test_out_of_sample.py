"""Bounds about new records: they hold as often as they say, on laws where the true leakage is known."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import choral as ch
from choral.auditing import out_of_sample
from choral.auditing.out_of_sample import advantage, uniform_bound, validated_bound
from choral.errors import ProblemError
from choral.problem.solution import ExactChannel, row_of
from choral.release.leakage import Published, known_part

TRUE = ch.examples.two_binary(F(2, 5), F(1, 2), F(3, 20))
GROUPS = [("X1",), ("X2",)]
TABLES = 120


def drawn(law, rows, generator):
    """The frequencies of a table of independent records."""
    weights = np.array([float(p) for _, p in law.items()])
    counts = generator.multinomial(rows, weights)
    return ch.Joint.from_counts(
        {values: int(n) for (values, _), n in zip(law.items(), counts, strict=True) if n}, law.names, law.alphabets
    )


LAWS = {
    "two bits": (ch.examples.two_binary(F(2, 5), F(1, 2), F(3, 20)), "W"),
    "clinic": (ch.examples.clinic(), "diagnosis"),
}


@pytest.fixture(scope="module", params=LAWS)
def simulated(request):
    """For each simulated table of 500 records: the true advantage and bits, and the bounds at confidence 0.95."""
    law, reveal = LAWS[request.param]
    generator = np.random.default_rng(20)
    found = []
    for _ in range(TABLES):
        d = ch.disclose(drawn(law, 500, generator), reveal)
        groups = [group.columns for group in d.problem.groups]
        own, true = Published.of(d), Published.of(d, known_part(d, law)[0])
        every = Published.of(d, law, unseen=True)
        fresh = {}
        for n in (500, 4000):
            known, share = known_part(d, drawn(law, n, generator))
            fresh[n] = Published.of(d, known), groups, int(share * n)
        sizes = {name: len(law.alphabets[law.position(name)]) for name in d.problem.columns}
        found.append(
            {
                "true": max(advantage(true, group) for group in groups),
                "bits": max(true.leakage(group).bits for group in groups),
                "of every record": max(advantage(every, group) for group in groups),
                "bits of every record": max(every.leakage(group).bits for group in groups),
                "validated": validated_bound(own, *fresh[500], 0.95),
                "more": validated_bound(own, *fresh[4000], 0.95),
                "uniform": uniform_bound(own, groups, sizes, 500, 0.95),
            }
        )
    return found


@pytest.mark.parametrize("kind", ["validated", "more", "uniform"])
def test_the_bound_holds_as_often_as_it_says(simulated, kind):
    """At confidence 0.95 more than 15 failures in 120 tables would have a probability below 4e-4."""
    true, bits = ("of every record", "bits of every record") if kind == "uniform" else ("true", "bits")
    assert sum(one[kind].advantage < one[true] for one in simulated) <= 15
    assert sum(one[kind].bits < one[bits] for one in simulated) <= 15


def test_what_is_measured_without_a_margin_would_not_pass(simulated):
    """The test above can fail: the advantage in the validation table itself is often below the true one."""
    estimates = [max(g.estimate for g in one["more"].groups) for one in simulated]
    assert sum(e < one["true"] for e, one in zip(estimates, simulated, strict=True)) > 26


def test_the_bound_is_not_far_above_the_truth(simulated):
    """The advantage from as many records as were fitted, and the bits from eight times as many."""
    true, bits = np.median([one["true"] for one in simulated]), np.median([one["bits"] for one in simulated])
    assert np.median([one["validated"].advantage for one in simulated]) <= 5 * true
    assert np.median([one["more"].bits for one in simulated]) <= 5 * bits
    assert true > 0


def test_a_release_that_leaks_is_caught_however_large_the_table():
    """Y is X1 through BSC(.3): the advantage about X1 is 0.4, and the bound tends to it."""
    rows = [(10, ((0, 7), (1, 3))), (10, ((0, 3), (1, 7)))]
    channel = ExactChannel(2, tuple(rows[x1] for x1 in (0, 0, 1, 1)))
    states = {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3}
    law = TRUE.marginal("X1, X2")
    published = Published(law, tuple(states[cell] for cell in law.cells), channel)
    assert advantage(published, ["X1"]) == pytest.approx(0.4)
    for n, slack in ((10_000, 0.1), (1_000_000, 0.01)):
        counts = drawn(law, n, np.random.default_rng(n))
        fresh = Published(counts, tuple(states[cell] for cell in counts.cells), channel)
        found = validated_bound(published, fresh, [("X1",)], n, 0.95).groups[0]
        assert 0.4 <= found.bound <= 0.4 + slack
        assert published.leakage(["X1"]).bits <= found.bits
    assert found.bits <= 2 * published.leakage(["X1"]).bits


def test_many_codes_go_by_hoeffding():
    """TV + sqrt(ln(1/δ) · (1/n + 1/n') / 2), by hand: the event is the truth's, and is not paid for."""
    codes = out_of_sample.MOST_CODES + 2
    mixed = row_of([(0, F(2, 3)), *((y, F(1, 3 * (codes - 1))) for y in range(1, codes))])
    channel = ExactChannel(codes, (mixed, (1, ((0, 1),))))
    law = ch.Joint.from_counts({(0,): 30, (1,): 70}, names=["X"])
    published = Published(law, (0, 1), channel)
    found = validated_bound(published, published, [("X",)], 100, 0.9)
    assert "Hoeffding" in found.inequality
    by_hand = 1 / 3 + math.sqrt(math.log(10) * (1 / 30 + 1 / 70) / 2)
    assert by_hand < 1
    assert found.groups[0].bound == pytest.approx(by_hand, abs=1e-6)
    assert found.groups[0].count == 30


def test_the_uniform_bound_by_hand():
    """X1 and X2 of two values each; given X1 two states are left, so (2² - 2)·4 / δ; halves of 50 rows."""
    d = ch.disclose(ch.examples.xor())
    found = uniform_bound(Published.of(d), [("X1",), ("X2",)], {"X1": 2, "X2": 2}, 100, 0.95)
    assert found.advantage == pytest.approx(2 * math.sqrt(math.log(2 * 4 / 0.05) / (2 * 50)), abs=1e-6)
    assert "Weissman" in found.inequality
    larger = uniform_bound(Published.of(d), [("X1",), ("X2",)], {"X1": 2, "X2": 40}, 100, 0.95)
    assert larger.groups[0].bound > found.groups[0].bound


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any), min_size=2, max_size=4), st.data())
def test_bits_follow_from_total_variation(rows, data):
    """Both conversions, with the true differences put in, are at least the true information."""
    laws = np.array([[x / sum(row) for x in row] for row in rows])
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows))), float)
    weights /= weights.sum()
    mean = weights @ laws
    terms = np.where(laws > 0, laws * np.log2(np.where(laws > 0, laws, 1) / np.where(mean > 0, mean, 1)), 0)
    information = float(weights @ terms.sum(axis=1))
    away = max(np.abs(a - b).sum() / 2 for a in laws for b in laws)
    single = [float(laws[:, y].max() - laws[:, y].min()) for y in range(4)]
    coarse = out_of_sample._bits(float(away), 4, len(rows))
    assert information <= coarse + 1e-9
    assert information <= out_of_sample._bits_from_codes(single, list(map(float, mean)), coarse) + 1e-9


def test_only_values_that_occur_count_and_one_value_is_an_error():
    d = ch.disclose(ch.examples.xor())
    one = ch.Joint.from_counts({(0, 0, 0): 7}, names=["W", "X1", "X2"])
    with pytest.raises(ProblemError, match="two values"):
        validated_bound(Published.of(d), Published.of(d, one), [("X1",)], 7, 0.95)
    with pytest.raises(ProblemError, match="confidence"):
        uniform_bound(Published.of(d), [("X1",)], {"X1": 2, "X2": 2}, 100, 1.0)


def test_a_group_with_one_value_in_the_validation_table_is_not_bounded_by_it():
    """A has two values in the release and one in the table: nothing is known of the other."""
    cells = {(w, a, b): 1 + w * a + b + (w == b) for w in range(2) for a in range(2) for b in range(2)}
    d = ch.disclose(ch.Joint.from_counts(cells, ["W", "A", "B"]), "W", ["A", "B"])
    fresh = ch.Joint.from_counts({(0, 0, 0): 3, (1, 0, 1): 4, (1, 0, 0): 2}, ["W", "A", "B"])
    found = validated_bound(Published.of(d), Published.of(d, fresh), [("A",), ("B",)], 9, 0.95)
    assert (found.groups[0].bound, found.groups[0].bits, found.groups[0].count) == (1.0, 1.0, 0)
    assert found.advantage == 1.0
