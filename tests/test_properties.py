"""What must hold for every law."""

from __future__ import annotations

import random
from collections import namedtuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints, joints

import choral as ch
from choral.problem.form import form_of

SLACK = 1e-12


@settings(deadline=None, max_examples=120)
@given(st.one_of(joints(), full_joints()))
def test_the_optimum_is_private_bounded_small_and_verified(law):
    d = ch.disclose(law)
    assert exactly_private(d)
    assert d.verify()["verified"]
    assert all(sum(row[s] for row in d.exact) == 1 for s in range(len(d.states)))
    assert all(p >= 0 for row in d.exact for p in row)
    assert d.gap <= 1e-11
    bounds = d.bounds
    assert d.information <= bounds.upper_bound + SLACK
    assert d.codes <= bounds.nullity + 1
    assert 0 <= d.information <= d.problem.entropy_of_target + SLACK
    # Prop1: Null(P) ⊂ Null(P_{W|X}) exactly when the answer is 0. (A positive answer may be below 1e-15 bits.)
    if not form_of(d.problem).feasible:
        assert d.information == 0
        assert d.codes == 1 or bounds.nullity == 1
    else:
        assert len(set(d.p_w_given_y)) > 1


@settings(deadline=None, max_examples=40)
@given(joints(most_states=9), st.randoms(use_true_random=False))
def test_relabelling_values_and_permuting_columns_change_nothing(law, rnd: random.Random):
    names = list(law.names)
    rnd.shuffle(names)
    renamed = law.reordered(names)
    labels = [
        {v: f"v{i}" for i, v in zip(rnd.sample(range(len(a)), len(a)), a, strict=True)} for a in renamed.alphabets
    ]
    counts = {tuple(m[v] for m, v in zip(labels, x, strict=True)): p for x, p in renamed.items()}
    other = ch.Joint.from_counts(counts, names)
    assert ch.disclose(other).information == pytest.approx(ch.disclose(law).information, abs=SLACK)


@settings(deadline=None, max_examples=40)
@given(joints(most_states=8))
def test_self_disclosure_tells_at_least_as_much(law):
    columns = [name for name in law.names if name != "W"]
    itself = ch.self_disclose(law.marginal(columns))
    assert exactly_private(itself)
    assert itself.verify()["verified"]
    assert itself.information >= ch.disclose(law).information - SLACK


@settings(deadline=None, max_examples=40)
@given(joints(most_states=8, samples=(3, 3)))
def test_groups_pairs_and_used_columns(law):
    single = ch.disclose(law)
    pairs = ch.disclose(law, order=2)
    some = ch.disclose(law, protect=["X1"])
    noisy = ch.disclose(law, protect=["X1", "X3"], use=["X1", "X2"])
    holder = ch.disclose(law, protect=["X1"], use=["W", "X1", "X2", "X3"])
    for d in (pairs, some, noisy, holder):
        assert exactly_private(d)
        assert d.verify()["verified"]
        assert d.gap <= 1e-11
    assert pairs.information <= single.information + SLACK  # more is protected
    assert single.information <= some.information + SLACK  # less is protected
    assert some.information <= holder.information + SLACK  # more is used


@settings(deadline=None, max_examples=30)
@given(joints(most_states=8))
def test_a_constant_or_repeated_column_changes_nothing(law):
    d = ch.disclose(law)
    wider = law.with_column("C", lambda *x: 0).with_column("D", lambda *x: x[1])
    assert ch.disclose(wider).information == pytest.approx(d.information, abs=SLACK)


def test_drawing_follows_the_channel():
    d = ch.disclose(ch.examples.bsc_and_bec())
    record = {"X1": 1, "X2": "e", "W": 0}
    draws = [d.sample(record) for _ in range(3000)]
    # p(y=0) = 2/3, p(y=1) = 0: beyond 6 standard deviations with probability below 2e-9.
    assert abs(draws.count(0) - 2000) < 6 * (3000 * 2 / 9) ** 0.5
    assert draws.count(1) == 0
    assert d.channel_of(record) == d.channel_of((1, "e")) == tuple(row[4] for row in d.exact)


def test_a_record_outside_the_law_is_refused():
    d = ch.disclose(ch.examples.bsc_and_bec())
    with pytest.raises(ch.errors.ColumnError, match="does not occur"):
        d.sample((0, "f"))
    with pytest.raises(ch.errors.ColumnError, match="lacks 'X2'"):
        d.sample({"X1": 0})


def test_a_record_with_labels_is_read_by_label_whatever_the_order():
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    values = {"smoker": "yes", "pressure": "high", "glucose": "normal", "diagnosis": "ill"}
    row = namedtuple("Row", values)(**values)
    expected = d.channel_of(("high", "normal", "yes"))
    assert d.channel_of(values) == d.channel_of(pd.Series(values)) == d.channel_of(row) == expected
    with pytest.raises(ch.errors.ColumnError, match="4 values"):
        d.channel_of(tuple(values.values()))
