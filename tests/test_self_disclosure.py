"""Self-disclosure: exchangeable bits through orbits, windows, Markov chains, and the entropy-rate limit."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest
from joined import verifier

import choral as ch
from choral.describe.markov import MarkovChain, stationary
from choral.describe.written import hexadecimal
from choral.errors import LawError, ProblemError, TooLargeError, VerificationError
from choral.exact import certificate
from choral.problem.form import form_of
from choral.problem.pose import pose_self
from choral.solvers.cube_bases import Cube, weights_of
from choral.solvers.exchangeable_bits import ExchangeableBits
from choral.solvers.listed_orbits import listed_orbits, solve_listed
from choral.solvers.self_orbits import by_descents
from choral.theory.entropy_rate import _entropies, _rank_at_most, entropy_rate, entropy_rate_curve
from choral.theory.self_disclosure import bernoulli_types, self_disclosure_curve, self_point


def h(q):
    return -q * math.log2(q) - (1 - q) * math.log2(1 - q)


def mixture_of_coins(n, parts):
    """Exchangeable bits that are not independent."""
    cells = {
        x: sum(u * q ** sum(x) * (1 - q) ** (n - sum(x)) for q, u in parts) for x in itertools.product((0, 1), repeat=n)
    }
    return ch.Joint.from_counts(cells, [f"X{i}" for i in range(n)])


# ---- numbers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "per_new_sample"), [(2, 0.399), (3, 0.522), (4, 0.597), (5, 0.647), (7, 0.704)]
)  # DESIGN §6; k = 6 is in the test of seven samples
def test_block_values_of_the_design(k, per_new_sample):
    point = self_point(k, F(3, 10)) if k < 7 else None
    if point is None:
        value = ch.self_disclose(ch.examples.bernoulli(F(3, 10), 7)).information
    else:
        assert point.proved
        assert 0 <= point.upper_bound - point.information < 1e-14
        value = point.information
    assert round(value / (k - 1), 3) == per_new_sample


@pytest.mark.parametrize("q", [F(1, 40), F(1, 4), F(1, 3), F(2, 5), F(1, 2), F(13, 20)])
def test_four_samples_agree_with_the_plain_enumeration(q):
    """The enumeration of all extreme points over sixteen states shares nothing with the search over orbits."""
    plain = ch.self_disclose(ch.examples.bernoulli(q, 4), solver="enumeration")
    point = self_point(4, q)
    assert point.proved
    assert abs(point.information - plain.information) < 1e-12
    assert abs(point.upper_bound - plain.upper_bound) < 1e-12
    assert point.efficiency == pytest.approx(plain.efficiency, abs=1e-12)


def test_a_curve_is_one_interval_per_q():
    points = self_disclosure_curve(5, [F(k, 50) for k in range(1, 26)])
    assert all(p.proved and p.information <= p.upper_bound <= p.information + 1e-12 for p in points)
    assert points[-1].information == 4.0
    assert all(p.information <= 4 * h(float(p.q)) + 1e-12 for p in points)  # the self-disclosure bound


def test_the_curve_has_a_cusp_at_one_third():
    """At q = 1/3 three disjoint sets of mass q fill the circle: more can be told than at a slightly larger q."""
    third, above = self_point(4, F(1, 3)), self_point(4, F(17, 50))
    assert third.information > above.upper_bound + 0.008
    plain = ch.self_disclose(ch.examples.bernoulli(F(17, 50), 4), solver="enumeration")
    assert abs(above.information - plain.information) < 1e-12


def test_q_and_one_minus_q_are_the_same_problem():
    for q in (F(1, 5), F(3, 7)):
        assert self_point(4, q).information == pytest.approx(self_point(4, 1 - q).information, abs=1e-13)


def test_six_samples_are_proved_and_bound_seven():
    six, seven = self_point(6, F(3, 10)), self_point(7, F(3, 10))
    assert six.proved
    assert six.upper_bound - six.information < 1e-13
    assert round(six.information / 5, 3) == 0.682
    assert not seven.proved
    assert round(seven.information / 6, 3) == 0.704
    assert seven.information < seven.upper_bound <= six.upper_bound + h(0.3) + 1e-12
    assert "6 samples" in seven.proved_by


def test_a_search_finds_the_optimum_of_the_list():
    """What seven samples use, on five, where the list proves what is best."""
    for q in (F(3, 10), F(3, 20)):
        prior = bernoulli_types(5, q)
        found, best = by_descents(5, q, prior), solve_listed(5, q, prior)
        assert not found.proved
        assert best.proved
        costs = [math.fsum(float(u) * orbit.entropy for orbit, u in a.weights) for a in (found, best)]
        assert costs[0] == pytest.approx(costs[1], abs=1e-12)
        for j, mass in enumerate(prior):
            assert sum(u * orbit.types().get(j, 0) for orbit, u in found.weights) == mass
        listed = {orbit.kind for orbit in listed_orbits(5, q)}
        assert {orbit.kind for orbit, _ in found.weights} <= listed


@pytest.mark.parametrize(("n", "q"), [(3, F(2, 5)), (4, F(3, 10)), (4, F(1, 3)), (4, F(1, 2))])
def test_no_basis_is_missing_from_the_list(n, q):
    """All sets of n+1 points, tried one by one: each extreme point has its masses and weights in the list."""
    columns = [(1, *((x >> i) & 1 for i in range(n))) for x in range(1 << n)]
    right = np.array([1.0, *[float(q)] * n])
    wanted = set()
    for basis in itertools.combinations(range(1 << n), n + 1):
        matrix = np.array([columns[x] for x in basis], dtype=float).T
        if abs(np.linalg.det(matrix)) < 0.5:
            continue
        t = np.linalg.solve(matrix, right)
        if t.min() > -1e-12:
            wanted.add(tuple(sorted((x.bit_count(), round(m, 9)) for x, m in zip(basis, t, strict=True) if m > 1e-12)))
    found = {
        tuple(sorted((x.bit_count(), round(float(m), 9)) for x, m in orbit.masses.items()))
        for orbit in listed_orbits(n, q)
    }
    assert found == wanted


def test_the_masses_of_the_list_lie_in_s():
    for n in (4, 5):
        assert sorted(Cube(n).points.tolist()) == list(range(1 << n))
        for q in (F(1, 10), F(1, 2), F(9, 10)):
            for orbit in listed_orbits(n, q):
                assert min(orbit.masses.values()) > 0
                assert sum(orbit.masses.values()) == 1
                assert all(sum(m for x, m in orbit.masses.items() if x >> i & 1) == q for i in range(n))
        assert weights_of(n)[(1 << n) - 1] == n


# ---- disclosures --------------------------------------------------------------------------------------------------


def test_five_samples_are_disclosed_and_verified():
    joint = ch.examples.bernoulli(F(3, 10), 5)
    d = ch.self_disclose(joint)
    assert "orbits" in d.how
    found = d.verify()
    assert found["bound_checked"] == "by enumerating all extreme points again"
    assert round(d.information / 4, 3) == 0.647
    assert d.gap < 1e-12
    assert d.codes <= 32 - 6 + 1
    for y, p in enumerate(d.p_y):
        for i in range(5):
            assert sum(d.exact[y][s] * F(3**k * 7 ** (5 - k), 10**5) for s, k in ones_where(d, i)) == p * F(3, 10)
    assert d.efficiency <= ch.self_bounds(joint).efficiency_at_most


def ones_where(d, i):
    return [(s, sum(state)) for s, state in enumerate(d.states) if state[i] == 1]


def test_exchangeable_bits_are_found_and_need_not_be_independent():
    joint = mixture_of_coins(4, [(F(1, 5), F(1, 2)), (F(3, 5), F(1, 2))])
    d = ch.self_disclose(joint)
    assert "exchangeable bits" in d.how
    d.verify()
    plain = ch.self_disclose(joint, solver="enumeration")
    assert abs(d.information - plain.information) < 1e-12
    assert d.upper_bound - d.information < 1e-12


def test_labels_do_not_matter_and_the_order_of_columns_neither():
    cells = {
        tuple("yn"[x] for x in bits): F(3, 10) ** sum(bits) * F(7, 10) ** (4 - sum(bits))
        for bits in itertools.product((0, 1), repeat=4)
    }
    d = ch.self_disclose(ch.Joint.from_counts(cells, ["d", "a", "c", "b"]))
    assert "exchangeable bits" in d.how
    assert round(d.information, 3) == 1.791
    d.verify()


@pytest.mark.parametrize("change", ["law", "values", "groups", "support"])
def test_what_is_not_exchangeable_goes_another_way(change):
    joint, protect = ch.examples.bernoulli(F(3, 10), 4), None
    if change == "law":
        cells = dict(joint.items())
        cells[0, 0, 0, 1], cells[0, 0, 1, 0] = cells[0, 0, 0, 1] + F(1, 100), cells[0, 0, 1, 0] - F(1, 100)
        joint = ch.Joint.from_counts(cells, joint.names)
    elif change == "values":
        joint = ch.Joint.from_counts({(a, b, c, d + 5): p for (a, b, c, d), p in joint.items()}, joint.names)
    elif change == "groups":
        protect = ch.windows(joint.names, 2)
    else:
        joint = ch.Joint.from_counts({x: p for x, p in joint.items() if any(x)} | {(0, 0, 0, 0): 0}, joint.names)
    assert ExchangeableBits.of(pose_self(joint, protect)) is None


def test_eight_samples_have_a_private_channel_and_an_honest_bound():
    d = ch.self_disclose(ch.examples.bernoulli(F(3, 10), 8))
    assert "not proved" in d.how
    certificate.check_privacy(d.document)
    assert 5.03 < d.information < d.upper_bound == pytest.approx(7 * h(0.3), abs=1e-12)


def test_a_time_limit_of_nothing_still_gives_a_private_code():
    d = ch.self_disclose(ch.examples.bernoulli(F(3, 10), 5), time_limit=0)
    d.verify()
    assert d.codes == 1


def test_fewer_codes_when_asked():
    d = ch.self_disclose(ch.examples.bernoulli(F(3, 10), 4), codes=3)
    assert d.codes <= 3
    d.verify()


# ---- the verifier -------------------------------------------------------------------------------------------------


def document(n=4, q=F(3, 10)):
    return dict(ch.self_disclose(ch.examples.bernoulli(q, n)).document)


def refused(changed):
    with pytest.raises(VerificationError) as failure:
        certificate.check(certificate.sealed(changed))
    return str(failure.value)


def test_multipliers_that_differ_on_an_orbit_are_refused():
    d = document()
    multipliers = list(d["bound"]["multipliers"])
    multipliers[1] = "1/1"
    assert "equal on orbits" in refused({**d, "bound": {**d["bound"], "multipliers": multipliers}})


def test_multipliers_that_do_not_bound_are_noticed():
    d = document()
    states = d["channel"]["states"]
    multipliers = [
        hexadecimal([verifier.rational(x, "") + (F(1, 50) if sum(s) == 2 else 0)])[0]
        for x, s in zip(d["bound"]["multipliers"], states, strict=True)
    ]
    assert "upper" in refused({**d, "bound": {**d["bound"], "multipliers": multipliers}})


def test_a_bound_below_the_optimum_is_refused():
    d = document()
    low = f"{float(d['claims']['upper_bound']) - 1e-9:.15f}"
    assert "upper" in refused({**d, "claims": {**d["claims"], "upper_bound": low}})


def test_columns_that_are_not_exchangeable_are_refused():
    joint = ch.examples.bernoulli(F(3, 10), 4)
    cells = {(a, b, c, d): p * (F(11, 10) if d else F(67, 70)) for (a, b, c, d), p in joint.items()}
    plain = ch.self_disclose(ch.Joint.from_counts(cells, joint.names), solver="enumeration")
    bound = {**plain.document["bound"], "exchangeable": [list(joint.names)]}
    assert "not exchangeable" in refused({**plain.document, "bound": bound})


def test_groups_that_are_not_protected_alike_are_refused():
    joint = ch.examples.bernoulli(F(3, 10), 3)
    plain = ch.self_disclose(joint, ch.windows(joint.names, 2), solver="enumeration")
    bound = {**plain.document["bound"], "kind": "extreme points", "exchangeable": [["X1", "X2", "X3"]]}
    bound.setdefault("multipliers", ["0/1"] * 8)
    assert "not protected alike" in refused({**plain.document, "bound": bound})


@pytest.mark.parametrize(
    ("values", "n", "order", "seed"), [(2, 3, 1, 0), (2, 4, 1, 1), (2, 4, 2, 2), (3, 2, 1, 3), (4, 2, 1, 4)]
)
def test_one_extreme_point_per_orbit_has_the_same_minimum_as_all_of_them(values, n, order, seed):
    """The verifier's two enumerations, on exchangeable laws with random multipliers by type."""
    draw = random.Random(seed)
    weight = {}
    cells = {}
    for x in itertools.product(range(values), repeat=n):
        cells[x] = weight.setdefault(tuple(sorted(x)), draw.randrange(1, 30))
    joint = ch.Joint.from_counts(cells, [f"X{i}" for i in range(n)])
    groups = [list(g) for g in itertools.combinations(joint.names, order)]
    law = verifier.Table(
        {
            "columns": list(joint.names),
            "alphabets": [list(a) for a in joint.alphabets],
            "cells": [[*cell, f"{w:x}"] for cell, w in joint.cells.items()],
        },
        groups,
    )
    names = list(joint.names)
    prior = law.weights(names)
    by_type = {}
    pi = {state: by_type.setdefault(tuple(sorted(state)), F(draw.randrange(-20, 20), 7)) for state in prior}
    proof = {"multipliers": hexadecimal([pi[s] for s in prior])}
    plain = verifier.bound_from_extreme_points(law, names, names, groups, [], prior, proof, list(prior))
    proof["exchangeable"] = [names]
    orbits = verifier.bound_from_extreme_points(law, names, names, groups, [], prior, proof, list(prior))
    assert max(plain[0], orbits[0]) <= min(plain[1], orbits[1])
    assert float(orbits[1] - orbits[0]) < 1e-30


# ---- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0, 1, -0.1, 1.5, "x", float("nan")])
def test_q_must_be_inside(q):
    with pytest.raises(LawError):
        self_disclosure_curve(4, [q])


@pytest.mark.parametrize("n", [1, 0, 2.0, True, "4"])
def test_n_must_be_a_number_of_samples(n):
    with pytest.raises(ProblemError):
        self_disclosure_curve(n, [0.3])


def test_too_many_samples_are_refused_with_what_helps():
    with pytest.raises(TooLargeError, match="blocks"):
        self_disclosure_curve(10, [0.3])
    with pytest.raises(TooLargeError, match="proved"):
        self_disclosure_curve(8, [0.3], prove=True)


# ---- windows, chains, the entropy rate ----------------------------------------------------------------------------


def test_windows_protect_successive_samples_together():
    joint = ch.examples.markov([[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]], 4)
    d = ch.self_disclose(joint, ch.windows(joint.names, 2))
    d.verify()
    assert [group.columns for group in d.problem.groups] == [("X1", "X2"), ("X2", "X3"), ("X3", "X4")]
    alone = ch.self_disclose(joint)
    assert 0 < d.information < alone.information
    assert ch.windows("a, b", 1) == [("a",), ("b",)]
    for k in (0, 5, 1.5, True):
        with pytest.raises(ProblemError):
            ch.windows(joint.names, k)


def test_a_chain_has_the_law_of_its_steps():
    rows = [[F(1, 2), F(1, 2), 0], [0, F(1, 3), F(2, 3)], [1, 0, 0]]
    chain = MarkovChain.of(rows, values=["a", "b", "c"])
    assert chain.is_stationary
    assert chain.after(chain.initial) == chain.initial
    assert sum(chain.initial) == 1
    joint = chain.joint(3)
    assert joint.probability(X1="a", X2="b", X3="c") == chain.initial[0] * F(1, 2) * F(2, 3)
    assert joint.probability(X1="a", X2="c") == 0
    for name, value in itertools.product(joint.names, "abc"):
        assert joint.probability(**{name: value}) == chain.initial["abc".index(value)]
    assert MarkovChain.iid([0.25, 0.75]).is_iid
    assert not chain.is_iid


@pytest.mark.parametrize(
    ("rows", "initial", "match"),
    [
        ([[1, 0], [0, 1]], None, "several"),
        ([[0.5, 0.5]], None, "rows"),
        ([[0.5, 0.6], [0.5, 0.5]], None, "sum"),
        ([[0.5, 0.5], [0.5, 0.5]], [1, 0, 0], "values"),
    ],
)
def test_bad_chains(rows, initial, match):
    with pytest.raises(LawError, match=match):
        MarkovChain.of(rows, initial)


def test_two_closed_classes_need_an_initial_law():
    chain = MarkovChain.of([[1, 0], [0, 1]], [F(1, 2), F(1, 2)])
    assert chain.is_stationary
    assert entropy_rate(chain) == 0
    with pytest.raises(LawError):
        stationary([[1, 0], [0, 1]])


CHAINS = [
    MarkovChain.of([[0.75, 0.25], [0.5, 0.5]]),
    MarkovChain.of([[0.75, 0.25], [0.5, 0.5]], [1, 0]),
    MarkovChain.of([[0, 1], [0.5, 0.5]]),
    MarkovChain.iid([F(7, 10), F(3, 10)]),
    MarkovChain.iid([F(1, 2), F(1, 4), F(1, 4)]),
]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("k", [1, 2])
def test_entropies_and_ranks_of_windows(chain, k):
    for n in (3, 4):
        joint = chain.joint(n)
        whole, window = _entropies(chain, n, k)
        assert float(whole.mid()) == pytest.approx(joint.entropy(), abs=1e-12)
        best = max(joint.entropy(group) for group in ch.windows(joint.names, k))
        assert float(window.mid()) == pytest.approx(best, abs=1e-12)
        rank = form_of(pose_self(joint, ch.windows(joint.names, k))).rank
        assert rank <= _rank_at_most(chain, n, k)
        if k == 2:  # the samples that windows share determine what follows: the count is the rank
            assert rank == _rank_at_most(chain, n, k)


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("k", [1, 2])
def test_the_curves_hold_the_optimum_and_meet_in_the_rate(chain, k):
    rate = entropy_rate(chain)
    points = entropy_rate_curve(chain, [3, 50, 300, 30_000 if chain.is_stationary else 3000], k)
    assert all(p.at_least <= p.at_most <= p.entropy for p in points)
    joint = chain.joint(3)
    if len(joint) <= 8:
        d = ch.self_disclose(joint, ch.windows(joint.names, k))
        assert points[0].at_least <= d.upper_bound / 3 + 1e-12
        assert points[0].at_most >= d.information / 3 - 1e-12
    last = points[-1]
    assert last.at_most - last.at_least < 20 / last.n
    assert last.at_least - 1e-12 <= rate + 1 / last.n
    assert abs(last.at_most - rate) < 20 / last.n
    if chain.is_stationary:
        assert last.at_most >= rate * (1 - k / last.n) - 1e-12


def test_i_i_d_bits_use_the_optimum_and_blocks_of_it():
    points = entropy_rate_curve(MarkovChain.iid([F(7, 10), F(3, 10)]), [4, 5, 13, 1000])
    assert [p.at_least_by for p in points] == ["the optimum", "the optimum", "blocks of 9", "rank bound"]
    assert points[0].at_least == pytest.approx(points[0].at_most, abs=1e-12)
    assert points[0].at_least * 4 == pytest.approx(1.7911075, abs=1e-6)
    parts = [self_point(n, F(3, 10)).information for n in (9, 5)]
    assert points[2].at_least * 13 == pytest.approx(sum(parts), abs=1e-9)
    assert all(p.at_least <= p.at_most <= p.entropy for p in points)


@pytest.mark.parametrize(("ns", "k"), [([1], 1), ([2], 2), ([3.0], 1), ([4], 0)])
def test_bad_curves(ns, k):
    with pytest.raises(ProblemError):
        entropy_rate_curve(CHAINS[0], ns, k)
    with pytest.raises(ProblemError, match="chain"):
        entropy_rate_curve([[1]], [4])


@pytest.mark.parametrize("q", [1 / 3, 1 - 2 / 3, 0.6, 0.5 - 1e-15])
def test_floats_near_a_q_at_which_masses_vanish(q):
    """A third as a float is no third: extreme points that are degenerate at 1/3 have tiny masses here."""
    for n in (3, 4, 5):
        [near] = ch.self_disclosure_curve(n, [q])
        [beside] = ch.self_disclosure_curve(n, [F(q).limit_denominator(1000)])
        assert near.upper_bound - near.information < 1e-9
        assert abs(near.information - beside.information) < 1e-6
