"""Tests on output: they reject as seldom as they say, and find what is wrong with codes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from choral.auditing.output_tests import follows, guess, holm, independence, output_tests
from choral.errors import ProblemError

CHANNEL = np.array([[0.75, 0.25, 0.5], [0.25, 0.75, 0.5]])


def test_the_statistic_is_scipy_s():
    table = np.array([[12, 7, 31], [9, 15, 26]])
    found = independence(table, ["X"], np.random.default_rng(1))
    peer = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert (found.statistic, found.p_value) == (pytest.approx(peer.statistic), pytest.approx(peer.pvalue))
    assert found.degrees == peer.dof


def test_few_expected_counts_go_by_simulation_and_agree_with_fisher():
    """For 2×2 tables with fixed margins the p-value of G is a sum of hypergeometric masses."""
    table = np.array([[1, 9], [6, 4]])
    found = independence(table, ["X"], np.random.default_rng(2))
    assert found.method == "Monte Carlo, 1999 draws"

    def g(k):
        t = np.array([[k, 10 - k], [7 - k, 3 + k]], float)
        e = np.outer(t.sum(1), t.sum(0)) / 20
        return 2 * np.sum(np.where(t > 0, t * np.log(np.where(t > 0, t, 1) / e), 0))

    exact = sum(stats.hypergeom(20, 7, 10).pmf(k) for k in range(8) if g(k) >= g(1) - 1e-9)
    assert found.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact / 1999))


@pytest.mark.parametrize(("rows", "method"), [(600, "chi-square"), (24, "Monte Carlo")])
def test_chance_alone_is_seldom_accused(rows, method):
    """300 tables of independent values, level 0.1: more than 55 rejections have a probability below 1e-5."""
    generator = np.random.default_rng(3)
    rejected, methods = 0, set()
    for _ in range(300):
        z, y = generator.choice(3, rows, p=[0.5, 0.3, 0.2]), generator.choice(2, rows)
        found = independence(np.histogram2d(z, y, bins=(3, 2))[0].astype(np.int64), ["Z"], generator)
        rejected += found.p_value <= 0.1
        methods.add(found.method.split(",")[0])
    assert method in methods
    assert rejected <= 55


def test_codes_that_follow_the_channel_pass_and_others_do_not():
    """1000 codes of each of three states; the seed is one of the 999 in 1000 that pass at 0.001."""
    generator = np.random.default_rng(4)
    table = np.array([generator.multinomial(1000, law) for law in CHANNEL.T])
    assert follows(table, CHANNEL, generator)[0].p_value > 0.001
    swapped = table[[1, 0, 2]]
    assert follows(swapped, CHANNEL, generator)[0].p_value < 0.001
    certain = np.array([[1.0, 0.25], [0.0, 0.75]])
    found, impossible = follows(np.array([[99, 1], [250, 750]]), certain, generator)
    assert (found.p_value, impossible) == (0, 1)


def test_the_classifier_finds_what_there_is_to_find_and_no_more():
    leaking = guess(np.array([[450, 50], [50, 450]]), ["Z"], np.random.default_rng(5))
    assert leaking.accuracy == pytest.approx(0.9, abs=0.001)
    assert leaking.sigmas > 10
    nothing = guess(np.array([[300, 300], [200, 200]]), ["Z"], np.random.default_rng(5))
    assert nothing.accuracy == nothing.majority == pytest.approx(0.6)
    assert nothing.sigmas == 0
    with pytest.raises(ProblemError, match="too few"):
        guess(np.array([[1, 1]]), ["Z"], np.random.default_rng(5))


def test_a_large_table_is_sampled():
    found = guess(np.array([[90_000, 10_000], [10_000, 90_000]]), ["Z"], np.random.default_rng(6))
    assert found.rows == 100_000
    assert found.accuracy == pytest.approx(0.9, abs=0.01)


def test_one_constant_column_or_code_is_no_evidence():
    assert independence(np.array([[5, 9]]), ["Z"], np.random.default_rng(7)).p_value == 1
    assert independence(np.array([[5, 0], [9, 0]]), ["Z"], np.random.default_rng(7)).p_value == 1


def test_promises_and_other_groups_are_told_apart():
    """Z1 and Z2 alone are independent of the code, together they are it: only the pair is found, and it is not promised."""
    quarter = np.full((2, 2), 50)
    xor = np.array([[50, 0], [0, 50], [0, 50], [50, 0]])
    channel = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0]])
    tables = {("Z1",): quarter, ("Z2",): quarter, ("Z1", "Z2"): xor}
    found = output_tests(tables, xor, channel, [("Z1",), ("Z2",)], seed=1)
    by_name = {test.about: test for test in found.tests}
    assert by_name["Z1", "Z2"].adjusted < 1e-9
    assert not by_name["Z1", "Z2"].protected
    assert by_name["Z1",].adjusted == by_name["Z2",].adjusted == 1
    assert [g.about for g in found.guesses] == [("Z1",), ("Z2",)]
    assert found.impossible == 0
    assert holm(found.tests) == found.tests
