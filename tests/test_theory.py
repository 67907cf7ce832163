"""Large datasets: the sufficient statistic, typical sets, C_1(0), C_2(0), the bridge J, and a fresh sample."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise, product

import flint
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints, joints

import choral as ch
from choral.describe.entropy import divergence_term
from choral.describe.exchangeable import compositions
from choral.errors import ColumnError, LawError, ProblemError, TooLargeError
from choral.theory.many_samples import (
    bridge,
    fresh_leakage,
    fresh_sample_curve,
    full_data,
    output_perturbation,
)
from choral.theory.sufficient import information_curve, merged_rows
from choral.theory.typical import (
    estimate,
    is_typical,
    is_weakly_typical,
    paper_epsilon,
    safe_epsilon,
    separation,
    typical_error,
    weak_rate,
)

SLACK = 1e-12
THIRD = F(1, 3)
BSC = ch.bsc(F(1, 10))
PRIOR = [1 - THIRD, THIRD]
THREE = [[1 - p, p] for p in (F(1, 10), F(1, 2), F(9, 10))]
"""Three values of W in a line: the middle row is the mean of the others, so C_1(0) > 0 for a uniform W."""


# ---- the sufficient statistic --------------------------------------------------------------------------------------


def test_the_figure_of_the_paper_merges_two_of_three_values():
    rows = [[F(1, 2), F(1, 4), F(1, 4)], [F(1, 2), F(1, 4), F(1, 4)], [THIRD] * 3]
    s = ch.sufficient_statistic(ch.Joint.observed([F(1, 5), F(1, 2), F(3, 10)], [rows]), of="W", about="X1")
    assert s.classes == ((0, 1), (2,))
    assert s.prior == (F(7, 10), F(3, 10))
    assert s.channel == (tuple(rows[0]), tuple(rows[2]))
    assert s.value_of(1) == (0, 1)
    assert s.joint.probability(**{s.name: (0, 1), "X1": 0}) == F(7, 20)
    assert s.entropy == pytest.approx(-0.7 * math.log2(0.7) - 0.3 * math.log2(0.3), abs=1e-15)


def test_rows_are_compared_exactly():
    same = [[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]]
    assert len(ch.sufficient_statistic(ch.Joint.observed([0.3, 0.7], [same])).classes) == 1
    bit = [[0.1, 0.9], [math.nextafter(0.1, 1), 0.9]]
    assert len(ch.sufficient_statistic(ch.Joint.observed([0.3, 0.7], [bit])).classes) == 2
    near = ch.Joint.from_counts({(0, 0): 1, (0, 1): 10**40, (1, 0): 1, (1, 1): 10**40 + 1}, ["W", "X1"])
    assert len(ch.sufficient_statistic(near).classes) == 2
    scaled = ch.Joint.from_counts({("a", 0): 1, ("a", 1): 2, ("b", 0): 7, ("b", 1): 14}, ["W", "X1"])
    assert ch.sufficient_statistic(scaled).classes == (("a", "b"),)


def test_a_value_that_never_occurs_has_no_class():
    law = ch.Joint.from_array([[1, 1], [0, 0], [1, 2]], names=["W", "X1"])
    s = ch.sufficient_statistic(law)
    assert s.classes == ((0,), (2,))
    with pytest.raises(ColumnError, match="no class"):
        s.value_of(1)


def test_several_columns_and_wrong_ones():
    law = ch.examples.noisy_copies(2).with_column("V", lambda w, a, b: w)
    s = ch.sufficient_statistic(law, of=["W", "V"], about=["X1", "X2"])
    assert s.classes == (((0, 0),), ((1, 1),))
    assert s.outputs == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert full_data(law, ["W", "V"], ["X1", "X2"]).verify()["verified"]
    with pytest.raises(ProblemError, match="both"):
        ch.sufficient_statistic(law, of="W", about="W")
    with pytest.raises(ColumnError, match="X9"):
        ch.sufficient_statistic(law, about="X9")


def partitions(items):
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [first, *block], *smaller[i + 1 :]]


@settings(deadline=None, max_examples=60)
@given(st.one_of(joints(), full_joints()))
def test_no_function_of_w_that_screens_it_has_less_entropy(law):
    """(pr) by trying every function of W, with X - U - W decided in integers."""
    pair = law.marginal(["W", "X1"])
    values = [pair.alphabets[0][w] for (w,) in pair.weights(["W"])]
    best = math.inf
    for blocks in partitions(values):
        number = {w: i for i, block in enumerate(blocks) for w in block}
        three = pair.with_column("U", lambda w, x, number=number: number[w])
        if all(three.given(U=i).independent("W", "X1") for i in range(len(blocks))):
            best = min(best, three.entropy("U"))
    s = ch.sufficient_statistic(law)
    assert s.entropy == pytest.approx(best, abs=SLACK)
    assert law.mutual_information("W", "X1") <= s.entropy + SLACK
    assert s.entropy <= law.entropy("W") + SLACK


# ---- th4 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("channel", [BSC, ch.bec(F(2, 7)), [[F(1, 2), F(1, 4), F(1, 4)], [0, F(1, 2), F(1, 2)]]])
def test_information_on_types_is_that_of_all_sequences(n, channel):
    (point,) = information_curve(PRIOR, channel, [n])
    law = ch.Joint.observed(PRIOR, [channel] * n)
    samples = [f"X{i}" for i in range(1, n + 1)]
    assert point.information == pytest.approx(law.mutual_information("W", samples), abs=1e-14)
    assert point.missing == pytest.approx(law.entropy("W", given=samples), abs=1e-14)


def test_th4_for_thousands_of_samples():
    prior = [F(1, 6), F(1, 6), F(1, 3), F(1, 3)]
    rows = [[F(2, 5), F(3, 5)], [F(2, 5), F(3, 5)], [F(1, 2), F(1, 2)], [F(3, 5), F(2, 5)]]
    limit = ch.sufficient_statistic(ch.Joint.observed(prior, [rows])).entropy
    assert limit == pytest.approx(math.log2(3), abs=1e-15)  # not H(W) = 1.918: two values are never told apart
    curve = information_curve(prior, rows, [1, 10, 100, 1000, 3000])
    assert [p.information for p in curve] == sorted(p.information for p in curve)
    assert curve[0].information < 0.03
    assert curve[3].information < limit - 1e-3
    assert limit - 1e-6 < curve[4].information < limit
    for point in curve:
        assert point.information + point.missing == pytest.approx(limit, abs=1e-14)


def test_what_is_missing_is_precise_far_below_the_last_bit():
    """At an even split of 1000 readings W is a coin; each more reading of one kind makes it 81 times surer."""
    (point,) = information_curve([F(1, 2), F(1, 2)], BSC, [1000])
    near = 0.0
    for d in range(-30, 31):
        mass = F(math.comb(1000, 500 + d) * (9 ** (500 + d) + 9 ** (500 - d)), 2 * 10**1000)
        q = F(1, 1 + 81 ** abs(d))
        near += float(mass) * (-float(q) * math.log2(q) - float(1 - q) * math.log1p(-float(q)) / math.log(2))
    assert point.missing == pytest.approx(near, rel=1e-9, abs=0)
    assert 0 < point.missing < 1e-220


@pytest.mark.parametrize("e", [F(1, 10**3), F(1, 10**20), F(1, 10**100)])
def test_near_certainty_nothing_cancels(e):
    """h(e) = e log(1/e) + e/ln 2 - O(e²): 1 - e is 1 as a float, and the second term must not be lost."""
    (point,) = information_curve([F(1, 2)] * 2, ch.bsc(e), [1])
    x = float(e)
    assert point.missing == pytest.approx((-x * math.log(x) + x - x**2 / 2 - x**3 / 6) / math.log(2), rel=1e-9, abs=0)


def test_sizes_are_refused_before_they_are_taken():
    with pytest.raises(TooLargeError):
        information_curve(PRIOR, [[F(1, 4)] * 4, [F(1, 2), F(1, 6), F(1, 6), F(1, 6)]], [1000])
    with pytest.raises(ProblemError, match="n = 0"):
        information_curve(PRIOR, BSC, [0])
    with pytest.raises(ProblemError, match="rows"):
        merged_rows([1], BSC)


# ---- C_1(0), C_2(0) and J --------------------------------------------------------------------------------------------


def test_known_values():
    copy = ch.examples.noisy_copies(1)
    assert full_data(copy).information == pytest.approx(0.1924943, abs=5e-8)
    assert output_perturbation(copy).information == 0  # two different rows are independent
    three = ch.Joint.observed([THIRD] * 3, [THREE])
    d = output_perturbation(three)
    # W̃ given y is the middle value, or the outer two: H(W̃|Y) = 2/3.
    assert d.information == pytest.approx(math.log2(3) - 2 / 3, abs=1e-14)
    assert set(d.p_w_given_y) == {(F(1, 2), 0, F(1, 2)), (0, 1, 0)}
    for result in (full_data(copy), d, bridge(three, n=3)):
        assert result.gap < 1e-11
        assert exactly_private(result)
        assert result.verify()["verified"]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 20), min_size=4, max_size=4))
def test_full_data_of_two_binary_variables_in_closed_form(weights):
    """C_2(0) = H(W) - |P(W=1|X=1) - P(W=1|X=0)| h(P(X=1)) when W̃ = W.

    Given Y, an extreme point makes W a function of X; a constant one leaves nothing unknown, the others h(P(X=1)). The
    masses of the functions couple the two laws of W given x, which must differ with probability |a - b| at least.
    """
    law = ch.Joint.from_array([weights[:2], weights[2:]], names=["W", "X1"])
    a, b = (law.given(X1=x).probability(W=1) for x in (0, 1))
    expected = law.entropy("W") - float(abs(a - b)) * law.entropy("X1") if a != b else 0.0
    assert full_data(law).information == pytest.approx(expected, abs=SLACK)


@pytest.mark.parametrize(
    ("prior", "rows"),
    [
        (PRIOR, BSC),
        ([THIRD] * 3, THREE),
        ([F(1, 2), F(1, 4), F(1, 4)], [[F(1, 5), F(4, 5)], [F(1, 2)] * 2, [F(1, 2)] * 2]),
    ],
)
def test_the_bridge_leads_from_full_data_to_output_perturbation(prior, rows):
    law = ch.Joint.observed(prior, [rows])
    chain = [full_data(law), *(bridge(law, n=n) for n in (1, 2, 3, 5, 9, 30)), output_perturbation(law)]
    assert chain[0].information == pytest.approx(chain[1].information, abs=SLACK)
    for one, next_one in pairwise(chain):
        assert one.gap < 1e-11
        assert one.upper_bound >= next_one.information - SLACK
    assert chain[-2].information - chain[-1].information < 0.3 * (chain[0].information - chain[-1].information) + SLACK


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize(("prior", "rows"), [(PRIOR, BSC), (PRIOR, ch.bec(F(1, 4))), ([THIRD] * 3, THREE)])
def test_the_bridge_on_types_is_that_on_all_sequences(prior, rows, n):
    law = ch.Joint.observed(prior, [rows] * n)
    samples = [f"X{i}" for i in range(1, n + 1)]
    whole = ch.disclose(law, reveal="W", use=["W", *samples], protect=samples)
    d = bridge(law, n=n)
    assert d.information == pytest.approx(whole.information, abs=1e-6)
    assert d.information <= whole.upper_bound + SLACK
    assert whole.information <= d.upper_bound + SLACK


@settings(deadline=None, max_examples=40)
@given(st.one_of(joints(), full_joints()))
def test_prop5(law):
    s = ch.sufficient_statistic(law)
    one, two = output_perturbation(law), full_data(law)
    assert max(0.0, s.entropy - math.log2(len(s.outputs))) <= one.upper_bound + SLACK
    assert one.information <= two.upper_bound + SLACK
    assert two.information <= s.joint.entropy(s.name, given="X1") + SLACK
    assert s.joint.entropy(s.name, given="X1") <= law.entropy("W", given="X1") + SLACK
    assert one.gap < 1e-6
    assert two.gap < 1e-6
    assert exactly_private(one)
    assert exactly_private(two)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(1, 9), min_size=10, max_size=10))
def test_a_common_part_leaves_nothing_to_tell(weights):
    """The corollary: W = (W', V), X = (X', V), independent given V."""
    v, rest = weights[:2], iter(weights[2:])
    left = [[next(rest), next(rest)] for _ in v]
    right = [[next(rest), next(rest)] for _ in v]
    cells = {
        ((w, k), (x, k)): F(v[k] * left[k][w] * right[k][x], sum(left[k]) * sum(right[k]))
        for k, w, x in product(range(2), repeat=3)
    }
    law = ch.Joint.from_counts(cells, ["W", "X1"])
    s = ch.sufficient_statistic(law)
    assert {frozenset(k for _, k in group) for group in s.classes} == {frozenset([0]), frozenset([1])}
    assert full_data(law).upper_bound == 0
    for n in (2, 3, 5):
        assert ch.disclose(ch.Exchangeable(s.prior, s.channel, n)).upper_bound == 0


def test_th5_the_capacity_tends_to_output_perturbation():
    law = ch.Joint.observed([THIRD] * 3, [THREE])
    limit = output_perturbation(law)
    off = []
    for n in (50, 100, 200, 400):
        d = ch.disclose(ch.Exchangeable([THIRD] * 3, THREE, n))
        j = bridge(law, n=n)
        assert d.information <= j.upper_bound + SLACK  # (sandwich) in app1
        assert limit.information <= j.upper_bound + SLACK
        off.append((abs(d.information - limit.information), abs(j.information - d.information)))
    assert off == sorted(off, reverse=True)
    assert off[-1][0] < 7e-4
    assert off[-1][1] < 1e-9  # lem2


def test_a_bad_n_is_named():
    with pytest.raises(ProblemError, match="n = 0"):
        bridge(ch.examples.noisy_copies(1), n=0)


# ---- typical sets ----------------------------------------------------------------------------------------------------

EIGHTHS = [(F(3, 8), F(1, 8), F(1, 2)), (F(1, 8), F(3, 8), F(1, 2))]


def test_at_the_papers_epsilon_the_typical_sets_meet():
    assert paper_epsilon(EIGHTHS) == F(1, 2)
    assert all(is_typical((3, 3, 10), row, F(1, 2)) for row in EIGHTHS)
    with pytest.raises(ProblemError, match="strictly below 1/2"):
        estimate((3, 3, 10), EIGHTHS, F(1, 2))
    with pytest.raises(ProblemError, match="strictly below 1/2"):
        typical_error([F(1, 2)] * 2, EIGHTHS, 16, F(1, 2))


@pytest.mark.parametrize("n", [1, 7, 16, 24])
def test_strictly_below_it_they_are_disjoint(n):
    assert safe_epsilon(EIGHTHS) < F(1, 2)
    for epsilon in (safe_epsilon(EIGHTHS), F(1, 2) - F(1, 10**9)):
        for counts in compositions(n, 3):
            estimate(counts, EIGHTHS, epsilon)  # raises if two rows claim the type


ROWS = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any), min_size=2, max_size=2)


@settings(deadline=None, max_examples=100)
@given(ROWS, st.integers(1, 12))
def test_separation_is_sharp(weights, n):
    """Below it no type is shared; at it, the point of the proof is a type that is."""
    p, q = (tuple(F(x, sum(row)) for x in row) for row in weights)
    assume(p != q)
    edge = separation([p, q])
    assert paper_epsilon([p, q]) <= edge
    below = edge - F(1, 1000)
    for counts in compositions(n, 3) if 0 < below < 1 else ():
        assert not (is_typical(counts, p, below) and is_typical(counts, q, below))
    assume(edge < 1)
    low = [(1 - edge) * max(a, b) for a, b in zip(p, q, strict=True)]
    high = [(1 + edge) * min(a, b) for a, b in zip(p, q, strict=True)]
    room = sum(high) - sum(low)
    share = (1 - sum(low)) / room if room else F(0)
    point = [a + share * (b - a) for a, b in zip(low, high, strict=True)]
    assert sum(point) == 1
    m = math.lcm(*(x.denominator for x in point))
    counts = [int(x * m) for x in point]
    assert is_typical(counts, p, edge)
    assert is_typical(counts, q, edge)


def test_the_error_of_the_estimator_against_all_sequences():
    prior, rows, n, epsilon = [F(1, 200), F(199, 200)], [[F(3, 4), F(1, 4)], [F(1, 3), F(2, 3)]], 8, F(1, 5)
    error = F(0)
    for w, x in product(range(2), product(range(2), repeat=n)):
        counts = (n - sum(x), sum(x))
        if estimate(counts, rows, epsilon) != w:
            error += prior[w] * math.prod(rows[w][a] for a in x)
    assert typical_error(prior, rows, n, epsilon).error == error
    assert 0 < error < 1


def test_the_error_tends_to_zero_and_fano_to_the_limit():
    rows = [[F(1, 5), F(4, 5)], [F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)]]
    found = [typical_error([F(1, 2), F(1, 4), F(1, 4)], rows, n) for n in (10, 40, 160, 640)]
    assert all(isinstance(t.error, F) for t in found)
    assert [t.error for t in found] == sorted((t.error for t in found), reverse=True)
    assert found[-1].error < F(1, 10**8)
    curve = information_curve([F(3, 4), F(1, 4)], rows[:2], [t.n for t in found])
    for t, point in zip(found, curve, strict=True):
        assert t.fano <= point.information + SLACK
    assert found[-1].fano > curve[-1].information - 1e-6


def test_weak_typicality_does_tell_a_bsc_apart():
    """The remark says that the weakly typical sets of the two rows are equal; they are disjoint for small ε."""
    assert weak_rate((90, 10), BSC[0]) == pytest.approx(0.469, abs=5e-4)
    assert weak_rate((90, 10), BSC[1]) == pytest.approx(3.005, abs=5e-4)
    for k in range(101):
        assert not all(is_weakly_typical((100 - k, k), row, 1.0) for row in BSC)
    assert is_weakly_typical((90, 10), BSC[0], 1e-9)


def test_weak_typicality_fails_for_a_uniform_row():
    uniform, other = (F(1, 2), F(1, 2)), (F(1, 10), F(9, 10))
    assert all(is_weakly_typical((50 - k, k), uniform, 1e-12) for k in range(51))
    assert is_weakly_typical((5, 45), other, 1e-9)  # so this type is in both sets, however small ε is
    assert not is_typical((5, 45), uniform, safe_epsilon([uniform, other]))
    assert weak_rate((1, 1), (1, 0)) == math.inf


def test_wrong_types_are_refused():
    for counts in ((1, 2, 3), (0, 0), (-1, 2)):
        with pytest.raises(LawError, match="type"):
            is_typical(counts, BSC[0], F(1, 2))
    for epsilon in (0, 1, -1):
        with pytest.raises(LawError, match="ε"):
            is_typical((1, 1), BSC[0], epsilon)


# ---- a fresh sample --------------------------------------------------------------------------------------------------


def test_a_fresh_sample_against_the_joint_law():
    E = ch.Exchangeable(PRIOR, BSC, 3)
    d = ch.disclose(E)
    cells = {}
    for w, x, *seen in product(range(2), repeat=5):
        p = E.prior[w] * math.prod(BSC[w][a] for a in (x, *seen))
        for y, share in enumerate(d.channel_of(seen)):
            cells[x, y, seen[0]] = cells.get((x, y, seen[0]), 0) + p * share
    law = ch.Joint.from_counts(cells, ["X", "Y", "X1"])
    assert law.independent("X1", "Y")
    assert fresh_leakage(d) == pytest.approx(law.mutual_information("X", "Y"), abs=1e-14)


@pytest.mark.parametrize("delta", [F(-1), F(-1, 2), F(-1, 9999), F(1, 10001), F(-3, 10**5), F(1, 10**9), F(0), F(3)])
def test_a_term_of_the_information_loses_nothing_to_cancellation(delta):
    with flint.ctx.workprec(300):
        x = flint.arb(flint.fmpq(delta.numerator, delta.denominator))
        expected = float((1 + x) * (1 + x).log() - x) if delta > -1 else 1.0
    assert divergence_term(float(delta)) == pytest.approx(expected, rel=1e-11, abs=0)


def test_indconverge():
    """θ_n rises while there is something to tell, then falls like 1/n; I_s stays below it all (C_1(0) = 0 here)."""
    curve = fresh_sample_curve(PRIOR, BSC, [5, 10, 20, 40, 80, 160])
    theta = [p.theta for p in curve]
    assert theta == sorted(theta, reverse=True)
    assert theta[-1] < 2e-3
    assert all(0 < p.theta <= p.information + SLACK for p in curve)  # X - W - Y
    assert 0.4 < theta[-1] / theta[-2] < 0.6
    with pytest.raises(ProblemError, match="Joint"):
        fresh_leakage(ch.disclose(ch.examples.xor()))


def test_a_fresh_sample_where_the_limit_is_positive():
    curve = fresh_sample_curve([THIRD] * 3, THREE, [32, 64, 128, 256])
    theta = [p.theta for p in curve]
    assert theta == sorted(theta, reverse=True)
    assert theta[-1] < 7e-4
    assert curve[-1].information > 0.918


def test_a_curve_of_what_is_no_law_says_what_it_needs():
    with pytest.raises(
        ch.errors.ProblemError, match=r"A list is not a joint law\. Give a Joint; of a table: Joint\.from_table"
    ):
        ch.tradeoff([{"W": 0, "X1": 1}], "W", "X1")
