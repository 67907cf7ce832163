"""Every number of Sections II and III of the paper, with its own fractions; and its corrections."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import pytest

import choral as ch
from choral.errors import LawError
from choral.problem.form import form_of
from choral.problem.pose import pose
from choral.theory.two_binary import two_binary_channel, two_binary_information


def test_the_bsc_bec_example():
    law = ch.examples.bsc_and_bec()
    assert [p * 12 for _, p in law.marginal("X1, X2").items()] == [1, 3, 2, 2, 3, 1]
    q, h, z = F(1, 4), F(1, 2), F(0)
    assert set(ch.extreme_points(law)) == {
        (q, z, q, z, h, z),
        (z, h, z, q, z, q),
        (q, q, z, z, q, q),
        (z, q, q, q, q, z),
    }
    d = ch.disclose(law, reveal="W")
    assert d.exact == (
        (1, 0, F(1, 2), 0, F(2, 3), 0),
        (0, F(2, 3), 0, F(1, 2), 0, 1),
        (0, F(1, 3), F(1, 2), F(1, 2), F(1, 3), 0),
    )
    assert d.p_y == (F(1, 3), F(1, 3), F(1, 3))
    assert round(1 - d.information, 4) == 0.9866
    assert round(d.information, 4) == 0.0134
    assert all(isinstance(p, F) for row in (*d.exact, *d.p_x_given_y, *d.p_w_given_y, d.p_y) for p in row)


def test_the_printed_posterior_has_two_columns_exchanged():
    printed = [1, F(2, 3), 0, 1, F(1, 3), 0]
    law = ch.examples.bsc_and_bec()
    true = [law.given(X1=a, X2=b).probability(W=0) for a, b in product((0, 1), (0, "e", 1))]
    assert [true[i] for i in (0, 4, 2, 3, 1, 5)] == printed
    assert true != printed


@pytest.mark.parametrize(("n", "printed"), [(2, "8.34e-03"), (3, "4.88e-02"), (4, "4.47e-02")])
def test_table_1(n, printed):
    d = ch.disclose(ch.examples.noisy_copies(n))
    assert f"{d.information:.2e}" == printed
    assert d.gap < 1e-14


def test_table_1_is_not_monotonic():
    values = [ch.disclose(ch.examples.noisy_copies(n)).information for n in (2, 3, 4)]
    assert values[0] < values[2] < values[1]


@pytest.mark.parametrize(("M", "k"), [(2, 1), (3, 1), (2, 3), (3, 2), (4, 1)])
def test_the_modular_example_attains_the_upper_bound(M, k):
    law = ch.examples.modular(M, k)
    assert law.independent("W", "X1")
    assert law.independent("W", "X2")
    d = ch.disclose(law)
    assert d.information == pytest.approx(math.log2(M), abs=2e-15)
    assert d.bounds.upper_bound == pytest.approx(math.log2(M), abs=1e-14)
    assert d.efficiency == pytest.approx(1, abs=1e-14)
    assert d.codes == M


GRID = [F(1, 7), F(1, 3), F(1, 2), F(3, 4)]


@pytest.mark.parametrize(
    ("alpha", "beta", "part"),
    [(a, b, r) for a in GRID for b in GRID if a <= b for r in (F(1, 100), F(1, 3), F(1, 2), F(99, 100))],
)
def test_two_binary_samples_against_the_general_solver(alpha, beta, part):
    r = part * min(alpha, 1 - beta)
    target = [F(1, 5), F(2, 3), 1, F(1, 2)]
    law = ch.examples.two_binary(alpha, beta, r, target)
    d = ch.disclose(law)
    posterior = [[1 - t for t in target], target]
    assert d.information == pytest.approx(two_binary_information(alpha, beta, r, posterior), abs=1e-14)
    formula = two_binary_channel(alpha, beta, r)
    assert set(d.exact) == set(formula)
    assert all(0 <= p <= 1 for row in formula for p in row)


@pytest.mark.parametrize(("alpha", "beta"), [(a, b) for a in GRID for b in GRID if a <= b])
@pytest.mark.parametrize("end", [0, 1])
def test_two_binary_samples_at_the_boundary_of_r(alpha, beta, end):
    r = end * min(alpha, 1 - beta)
    law = ch.examples.two_binary(alpha, beta, r)
    assert form_of(pose(law)).nullity == 0
    d = ch.disclose(law)
    assert (d.information, d.upper_bound, d.codes) == (0, 0, 1)
    with pytest.raises(LawError, match="nullity 0"):
        two_binary_channel(alpha, beta, r)


def test_one_channel_for_every_target_at_nullity_one():
    channels = {
        ch.disclose(ch.examples.two_binary(F(1, 3), F(1, 2), F(1, 5), target)).exact
        for target in ([0, 1, 1, 0], [1, 0, F(1, 2), 0], [F(1, 9), F(1, 3), F(2, 3), F(1, 2)])
    }
    assert len(channels) == 1


def test_p4_s_condition_on_sizes_does_not_give_nullity_one():
    squares = ch.examples.two_squares()
    sizes = [len(alphabet) for alphabet in squares.alphabets]
    assert len(squares) == sum(sizes) - len(sizes) + 2  # the condition of P4
    assert ch.bounds(squares.with_column("W", lambda a, b: a * b)).nullity == 2
    first = ch.disclose(squares.with_column("W", lambda a, b: (a + b) % 2 if a < 2 else 0))
    second = ch.disclose(squares.with_column("W", lambda a, b: (a + b) % 2 if a > 1 else 0))
    assert first.information > 0.1
    assert first.exact != second.exact


def test_cor2_is_about_extreme_points():
    d = ch.disclose(ch.examples.four_fair_bits())
    assert d.bounds.codes_at_least == 4
    assert d.codes == 2
    assert d.information == 1


def test_cor1_bounds_the_residual_of_self_disclosure():
    for q, n in [(F(3, 10), 3), (F(1, 2), 3), (F(1, 5), 4)]:
        d = ch.self_disclose(ch.examples.bernoulli(q, n))
        residual = d.problem.entropy_of_target - d.information
        assert residual <= d.bounds.residual_at_most + 1e-12
        assert d.bounds.residual_at_most == math.log2(n + 1) == d.bounds.residual_at_most_by_sizes


def test_the_price_of_privacy():
    law = ch.examples.noisy_copies(3)
    b = ch.bounds(law)
    assert b.price_at_least == pytest.approx(max(law.mutual_information("W", f"X{i}") for i in (1, 2, 3)), abs=1e-14)
    d = ch.disclose(law)
    assert b.information - d.information >= b.price_at_least - 1e-12
    self_bound = law.marginal("X1, X2, X3")
    d = ch.self_disclose(self_bound)  # lemma:self-disclosure_bound
    assert d.efficiency <= 1 - max(self_bound.entropy(f"X{i}") for i in (1, 2, 3)) / self_bound.entropy() + 1e-12


def test_optimum_of_four_bernoulli_samples():
    assert ch.self_disclose(ch.examples.bernoulli(F(3, 10), 4)).information == pytest.approx(1.791, abs=5e-4)
