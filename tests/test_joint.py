"""Joint laws: constructors, marginals, information, display, and what they refuse."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from laws import joints

import choral as ch
from choral.errors import ColumnError, LawError


def test_counts_and_arrays_agree():
    array = np.array([[3, 1], [0, 4]])
    counts = {(0, 0): 3, (0, 1): 1, (1, 1): 4}
    assert ch.Joint.from_array(array, names=["W", "X"]) == ch.Joint.from_counts(counts, names=["W", "X"])
    assert ch.Joint.from_array(array / 8, names=["W", "X"]) == ch.Joint.from_array(array, names=["W", "X"])
    flat = ch.Joint.from_array(array.ravel(), names=["W", "X"], alphabets=[(0, 1), (0, 1)])
    assert flat == ch.Joint.from_array(array, names=["W", "X"])


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_tables_of_every_kind_give_one_law(build):
    columns = {"W": ["a", "b", "b", "b"], "X": [1, 1, 2, 2], "other": [0, 1, 2, 3]}
    law = ch.Joint.from_table(build(columns), columns=["W", "X"])
    assert law == ch.Joint.from_counts({("a", 1): 1, ("b", 1): 1, ("b", 2): 2}, names=["W", "X"])


def test_a_missing_value_is_a_value_of_its_own():
    law = ch.Joint.from_table({"W": [0, 1, 1], "X": [float("nan"), None, 2.0]})
    assert law.probability(X=None) == F(2, 3)


def test_floats_are_the_binary_rationals_they_are():
    law = ch.Joint.from_array([0.1, 0.9], names=["X"])
    assert law.probability(X=0) == F(0.1) / (F(0.1) + F(0.9))
    assert sum(p for _, p in law.items()) == 1


def test_a_mass_below_the_range_of_floats_is_still_a_state():
    law = ch.Joint.from_counts({0: F(1, 10**400), 1: 1 - F(1, 10**400)}, names=["X"])
    assert len(law) == 2
    assert law.probability(X=0) == F(1, 10**400)


def test_observed_is_the_product_of_prior_and_channels():
    law = ch.Joint.observed([F(2, 3), F(1, 3)], [ch.bsc(F(1, 10)), ch.bec(F(1, 4))])
    assert law.probability(W=1, X1=0, X2="e") == F(1, 3) * F(1, 10) * F(1, 4)
    assert law.probability(W=0, X2=1) == 0
    assert law.alphabets == ((0, 1), (0, 1), (0, "e", 1))


def test_information_of_known_laws():
    xor = ch.examples.xor()
    assert xor.mutual_information("W", "X1") == 0
    assert xor.mutual_information("W", ["X1", "X2"]) == 1
    assert xor.mutual_information("W", "X1", given="X2") == 1
    assert xor.independent("W", "X1")
    assert not xor.independent("W", ["X1", "X2"])
    copies = ch.examples.noisy_copies(1)

    def h(p):
        return -p * math.log2(p) - (1 - p) * math.log2(1 - p)

    assert copies.entropy("X1", given="W") == pytest.approx(h(0.1), abs=1e-15)
    assert copies.entropy("X1") == pytest.approx(h(0.9 / 3 + 0.2 / 3), abs=1e-15)


@given(joints())
def test_the_chain_rule_and_symmetry_hold(law):
    first, second = "W", "X1"
    both = law.entropy([first, second])
    assert both == pytest.approx(law.entropy(first) + law.entropy(second, given=first), abs=1e-12)
    forward, backward = law.mutual_information(first, second), law.mutual_information(second, first)
    assert forward == pytest.approx(backward, abs=1e-12)
    marginal = law.marginal([second, first])
    assert all(marginal.probability(W=w, X1=x) == law.probability(W=w, X1=x) for (x, w), _ in marginal.items())


def test_display():
    law = ch.Joint.from_array([[1, 3], [2, 2]], names=["W", "X"])
    assert str(law.p("X | W")).splitlines()[1].split() == ["W=0", "1/4", "3/4"]
    assert str(law.p("W, X")).splitlines()[1].split() == ["1/8", "3/8", "1/4", "1/4"]
    page = ch.Joint.from_counts({("<b>",): 1}, names=["X"])._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "more states" in str(ch.examples.bernoulli(F(1, 2), 6))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ch.Joint.from_array([[0.5, -0.5], [0.5, 0.5]], names=["W", "X"]), ["W=0, X=1", "negative"]),
        (lambda: ch.Joint.from_array([[0.5, math.nan], [0.5, 0.5]], names=["W", "X"]), ["not finite", "X=1"]),
        (lambda: ch.Joint.from_array([[0.5, math.inf]], names=["W", "X"]), ["not finite"]),
        (lambda: ch.Joint.from_array([0.5, 0.4], names=["X"]), ["0.9", "-0.1", "counts"]),
        (lambda: ch.Joint.from_array([F(1, 2), F(1, 3)], names=["X"]), ["0.8333", "-0.167"]),
        (lambda: ch.Joint.from_array([[1, 2], [3, 4]], names=["X"]), ["2 axes", "1 names"]),
        (lambda: ch.Joint.from_array([1, 2, 3], names=["X"], alphabets=[(0, 1)]), ["3 entries", "2 cells"]),
        (lambda: ch.Joint.from_array([[1, 2], [3]], names=["W", "X"]), ["ragged"]),
        (lambda: ch.Joint.from_array([0, 0], names=["X"]), ["zero"]),
        (lambda: ch.Joint.from_array([[1, 1]], names=["X", "X"]), ["'X'", "twice"]),
        (lambda: ch.Joint.from_array([1, 1], names=["X|Y"]), ["X|Y"]),
        (lambda: ch.Joint.from_array(["a", "b"], names=["X"]), ["'a'", "not a number"]),
        (lambda: ch.Joint.from_counts({(0, 1): -3}, names=["W", "X"]), ["-3", "negative"]),
        (lambda: ch.Joint.from_counts({(0, 1, 2): 3}, names=["W", "X"]), ["3 values", "2 names"]),
        (lambda: ch.Joint.from_counts({}, names=["X"]), ["no counts"]),
        (lambda: ch.Joint.from_table({"X": [1], "Y": [1, 2]}), ["different lengths"]),
        (lambda: ch.Joint.from_table({"X": []}), ["empty"]),
        (lambda: ch.Joint.from_table(42), ["int", "cannot be read as a table"]),
        (lambda: ch.Joint.observed([0.5, 0.6], [ch.bsc(0.1)]), ["prior", "0.1"]),
        (lambda: ch.Joint.observed([0.5, 0.5], [[[0.5, 0.6], [0.5, 0.5]]]), ["row 0 of channel 1", "0.1"]),
        (lambda: ch.Joint.observed([1], [ch.bsc(0.1)]), ["2 rows", "1 values"]),
        (lambda: ch.Joint.observed([0.5, 0.5], []), ["no channels"]),
        (lambda: ch.bsc(1.5), ["1.5", "above one"]),
        (lambda: ch.bec(-0.1), ["negative"]),
        (lambda: ch.examples.bernoulli(0, 3), ["(0, 1)"]),
        (lambda: ch.examples.bernoulli(0.5, 0), ["n = 0"]),
        (lambda: ch.examples.two_binary(F(1, 2), F(1, 3), F(1, 9)), ["alpha"]),
    ],
)
def test_what_is_no_law_is_refused_with_value_place_and_remedy(build, words):
    with pytest.raises(LawError) as caught:
        build()
    for word in words:
        assert word in str(caught.value)
    assert caught.value.remedy


def test_unknown_names_are_answered_with_the_closest():
    law = ch.examples.clinic()
    with pytest.raises(ColumnError, match="Did you mean 'glucose'"):
        law.marginal(["glucos"])
    with pytest.raises(ColumnError, match="Did you mean 'raised'"):
        law.probability(glucose="raise")
    with pytest.raises(ColumnError, match="Did you mean 'X1'"):
        ch.Joint.from_table(pd.DataFrame({"X1": [1]}), columns=["x1"])
