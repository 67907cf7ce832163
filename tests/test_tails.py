"""Inequalities for sums, against exact binomial tails: they must hold in every case, not on the average."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from choral.auditing.tails import bernstein, largest_share, largest_spread, margin

SIZES = [1, 3, 10, 40, 200, 3000, 100_000]
CHANCES = [0.0005, 0.02, 0.3, 0.5, 0.7, 0.98]
DELTAS = [0.2, 0.05, 0.001]


@pytest.mark.parametrize("bound", [bernstein, margin])
@pytest.mark.parametrize("delta", DELTAS)
def test_a_sum_falls_so_far_below_its_mean_at_most_so_often(bound, delta):
    """x is 1 with probability p, less a centre that need not be its mean: so E x² is more than the variance."""
    for n in SIZES:
        for p in CHANCES:
            for centre in (0.0, p, 0.5):
                most, square = max(centre, 1 - centre), p * (1 - centre) ** 2 + (1 - p) * centre**2
                t = bound(math.sqrt(n * square), most, delta)
                assert stats.binom(n, p).cdf(math.floor(n * p - t)) <= delta * (1 + 1e-9), (n, p, centre)


def test_a_spread_that_is_known_too_large_does_no_harm():
    """Berry and Esseen's bound alone would fail here: it does not grow with the spread."""
    for n in SIZES:
        for p in CHANCES:
            t = margin(2 * math.sqrt(n * p * (1 - p)), 1.0, 0.05)
            assert stats.binom(n, p).cdf(math.floor(n * p - t)) <= 0.05, (n, p)


def test_for_many_records_the_margin_is_nearly_the_normal_one():
    assert margin(1.0, 1e-6, 0.05) == pytest.approx(stats.norm.isf(0.05), rel=1e-3)
    assert margin(1.0, 0.3, 0.05) == bernstein(1.0, 0.3, 0.05)
    assert margin(0.0, 0.3, 0.05) == 0


@pytest.mark.parametrize("delta", DELTAS)
def test_a_spread_is_above_the_bound_at_most_so_often(delta):
    for n in SIZES:
        for p in CHANCES:
            law = stats.binom(n, p)
            counts = np.arange(law.ppf(1e-9), law.ppf(1 - 1e-9) + 1)
            missed = [k for k in counts if largest_spread(float(k), 1.0, delta) < math.sqrt(n * p)]
            assert law.pmf(missed).sum() <= delta, (n, p)


@pytest.mark.parametrize("delta", DELTAS)
def test_a_share_is_above_the_bound_at_most_so_often_in_proportion_to_itself(delta):
    for n in SIZES[:-1]:
        for p in CHANCES:
            law = stats.binom(n, p)
            counts = np.arange(n + 1)
            missed = [k for k in counts if largest_share(k / n, n, delta) < p]
            assert law.pmf(missed).sum() <= delta * p * (1 + 1e-9), (n, p)
        assert largest_share(1.0, n, delta) == 1
        assert largest_share((n - 1e-9) / n, n, delta) <= 1
