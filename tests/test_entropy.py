"""One entropy, several arithmetics: floats, arrays and balls say the same, and each is right where it is meant to be."""

from __future__ import annotations

import math
from fractions import Fraction as F

import flint
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from choral.describe import entropy as e
from choral.describe.ball_arithmetic import PRECISION, exact_lower, exact_upper

counts = st.lists(st.integers(0, 10**6), min_size=1, max_size=12).filter(any)


def ball(weights, total):
    with flint.ctx.workprec(PRECISION):
        return e.entropy_ball(F(w, total) for w in weights)


@given(counts)
def test_floats_arrays_and_balls_agree(weights):
    total = sum(weights)
    exact = ball(weights, total)
    law = np.array(weights) / total
    for found in (
        e.entropy_of(weights, total),
        e.entropy_near_certainty(weights),
        float(e.entropies(law)),
        float(e.weighted_entropies(np.array([weights], dtype=float))[0]) / total,
        e.entropy_of_positive(law[law > 0]),
    ):
        assert found == pytest.approx(float(exact.mid()), abs=1e-12)


@given(st.integers(1, 10**15), st.integers(0, 12))
def test_entropy_near_certainty_keeps_its_digits(one, zeros):
    weights = [10**12 * 10**zeros * one, one]
    exact = ball(weights, sum(weights))
    assert e.entropy_near_certainty(weights) == pytest.approx(float(exact.mid()), rel=1e-14)


@given(st.lists(st.lists(st.integers(0, 99), min_size=3, max_size=3), min_size=2, max_size=5))
def test_information_is_what_entropies_leave(rows):
    total = sum(map(sum, rows))
    assume(total > 0)
    pairs = {(a, b): n for a, row in enumerate(rows) for b, n in enumerate(row)}
    left, right = [sum(row) for row in rows], [sum(column) for column in zip(*rows, strict=True)]
    exact = ball(left, total) + ball(right, total) - ball(pairs.values(), total)
    assert e.information_of(pairs) == pytest.approx(float(exact.mid()), abs=1e-12)


@given(st.integers(-5, 2**300), st.integers(1, 2**40))
def test_a_term_between_two_ends_holds_both(low, width):
    width = min(width, 2**300 - low)
    assume(width > 0 and low + width > 0)
    with flint.ctx.workprec(PRECISION):
        term = e.minus_x_ln_x(low, width)
        for end in (max(low, 0), low + width):
            x = flint.arb(end) * flint.arb(2) ** -e.FIXED
            there = -x * x.log() if end else flint.arb(0)
            assert exact_lower(term) <= exact_upper(there)
            assert exact_lower(there) <= exact_upper(term)


@given(st.floats(0, 1))
def test_a_coin_has_the_entropy_of_its_two_sides(t):
    one = F(t)
    assert float(e.binary_entropies(np.array(t))) == pytest.approx(float(ball([one, 1 - one], 1).mid()), rel=1e-13)


@given(st.floats(-1, 10))
def test_terms_of_divergences_agree_and_keep_their_digits(d):
    with flint.ctx.workprec(2048):
        x = 1 + flint.arb(d)
        exact = float((x * x.log() - flint.arb(d)).mid()) if d > -1 else 1.0
    assert e.divergence_term(d) == pytest.approx(exact, rel=1e-13, abs=1e-300)
    assert float(e.divergence_terms(np.array(d))) == pytest.approx(exact, rel=1e-11, abs=1e-300)
    assert math.copysign(1, exact) == 1
