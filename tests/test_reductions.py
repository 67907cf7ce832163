"""Reductions lose nothing: the answer is the one of the unreduced problem, and what proves it still does."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints
from scale import orbit, rejected, symmetric, symmetric_joints

import choral as ch
from choral.design.disclose import certified
from choral.exact.information import stated_bound, stated_information
from choral.problem.form import form_of
from choral.problem.solution import Solution
from choral.proofs.group import GroupBound
from choral.reductions.alike import MergeAlike
from choral.reductions.orbits import JoinOrbits
from choral.solvers.exact_optimum import exact_optimum

SLACK = 1e-12


def unreduced(law, **asked):
    """The optimum by enumeration of the problem as it was posed."""
    problem = ch.pose(law, **asked)
    return certified(law, problem, exact_optimum(problem, form_of(problem)))


def same_answer(d, truth):
    assert d.information == pytest.approx(truth.information, abs=SLACK)
    assert d.upper_bound == pytest.approx(truth.upper_bound, abs=SLACK)
    assert exactly_private(d)
    assert d.verify()["verified"]


def uneven(seed):
    """Weights without pattern, the same on an orbit: multiples of 7919 modulo 1009."""
    return lambda w, x: 1 + (7919 * (seed + 31 * w + sum((k + 2) * 13**v for k, v in enumerate(x)))) % 1009


# ---- orbits -----------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(symmetric_joints(), st.sampled_from([1, 1, 2]))
def test_orbits_give_the_answer_of_all_states(drawn, order):
    law, sizes = drawn
    order = min(order, sum(sizes))
    problem = ch.pose(law, order=order)
    reduced = JoinOrbits().apply(problem).problem
    assert reduced.size <= len({orbit(state, sizes) for state in problem.states})
    d = ch.disclose(law, order=order)
    truth = unreduced(law, order=order)
    assert d.information == pytest.approx(truth.information, abs=SLACK)
    assert d.upper_bound == pytest.approx(truth.upper_bound, abs=SLACK)
    assert exactly_private(d)


@settings(deadline=None, max_examples=40)
@given(symmetric_joints())
def test_orbits_are_verified_whatever_the_kind_of_proof(drawn):
    law, _ = drawn
    d = ch.disclose(law)
    assert d.verify()["verified"]
    bound = d.document["bound"]
    problem = ch.pose(law)
    joined = JoinOrbits().apply(problem).problem.size < problem.size
    if bound["kind"] == "extreme points":
        assert joined == ("exchangeable" in bound)
    else:
        assert bound["kind"] == "determined"
        assert d.upper_bound == 0


@settings(deadline=None, max_examples=40)
@given(symmetric_joints())
def test_going_there_and_back_changes_no_number_and_no_problem(drawn):
    law, sizes = drawn
    problem = ch.pose(law)
    before = problem.states, problem.weights, problem.groups, problem.target
    there = JoinOrbits().apply(problem)
    assert sum(there.problem.weights) == sum(problem.weights)
    small = exact_optimum(there.problem, form_of(there.problem))
    back = there.inverse.invert(small)
    assert stated_information(problem, back.channel) == stated_information(there.problem, small.channel)
    assert stated_bound(problem, back.bound) == stated_bound(there.problem, small.bound)
    assert (problem.states, problem.weights, problem.groups, problem.target) == before
    rows = dict(zip(problem.states, back.channel.rows, strict=True))
    for state, row in rows.items():
        assert rows.get(orbit(state, sizes), row) == row


def test_a_group_bound_is_about_the_same_group_on_the_way_back():
    """Of three columns two are exchangeable: on orbits the third one's group is the second."""
    problem = ch.pose(symmetric(2, (2, 1), 3, uneven(4)))
    there = JoinOrbits().apply(problem)
    assert [group.name for group in there.problem.groups] == ["X1", "X3"]
    channel = exact_optimum(there.problem, form_of(there.problem)).channel
    for g, group in enumerate(there.problem.groups):
        back = there.inverse.invert(Solution(channel, GroupBound(g), "")).bound
        assert problem.groups[back.group].name == group.name
        assert stated_bound(problem, back) == stated_bound(there.problem, GroupBound(g))
    assert stated_bound(problem, GroupBound(1)) != stated_bound(problem, GroupBound(2))


@pytest.mark.parametrize(
    ("sizes", "alphabet", "asked", "orbits"),
    [
        # n binary columns have n + 1 orbits; two ternary ones have 6; classes multiply.
        ((3,), 2, {}, 4),
        ((2,), 3, {}, 6),
        ((2, 2), 2, {}, 9),
        ((2, 1), 3, {}, 18),
        ((4,), 2, {"order": 2}, 5),
        ((4,), 2, {"protect": ["X1", "X2"], "use": ["X1", "X2", "X3", "X4"]}, 9),  # X1, X2 and X3, X4
        ((3,), 2, {"protect": [("X1", "X2"), "X3"]}, 6),  # X3 is protected otherwise
        ((3,), 2, {"protect": [("X1", "X2"), ("X1", "X3"), ("X2", "X3")]}, 4),
        ((4,), 2, {"protect": [("X1", "X2"), ("X3", "X4")]}, 9),  # pairs may be swapped within
        ((3,), 2, {"protect": ["X1", "X2", "X3"], "use": ["W", "X1", "X2", "X3"]}, 16),  # the target moves along
    ],
)
def test_which_columns_are_exchangeable(sizes, alphabet, asked, orbits):
    law = symmetric(2, sizes, alphabet, uneven(3))
    assert JoinOrbits().apply(ch.pose(law, **asked)).problem.size == orbits
    if orbits < 18:
        same_answer(ch.disclose(law, **asked), unreduced(law, **asked))


def test_a_law_that_is_nearly_symmetric_is_not_joined():
    counts = dict(symmetric(2, (3,), 2, uneven(1)).items())
    counts = {cell: int(p * 10**9) for cell, p in counts.items()}
    counts[(0, 0, 0, 1)] += 1
    law = ch.Joint.from_counts(counts, ["W", "X1", "X2", "X3"])
    assert JoinOrbits().apply(ch.pose(law)).problem.size == 6  # X1 and X2 alone
    same_answer(ch.disclose(law), unreduced(law))


def test_columns_with_differently_ordered_alphabets():
    law = symmetric(2, (3,), 2, uneven(5))
    other = ch.Joint.from_counts(dict(law.items()), law.names, [[0, 1], [0, 1], [1, 0], [0, 1]])
    same_answer(ch.disclose(other), unreduced(law))


@pytest.mark.parametrize("kind", [float, bool])
def test_columns_with_equal_values_of_different_types_stay_private(kind):
    law = symmetric(2, (3,), 2, uneven(5))
    counts = {(w, a, kind(b), c): p for (w, a, b, c), p in law.items()}
    d = ch.disclose(ch.Joint.from_counts(counts, law.names))
    assert exactly_private(d)
    same_answer(d, unreduced(law))


def test_values_that_cannot_be_compared_are_joined():
    law = symmetric(2, (2,), 3, uneven(2))
    name = {0: None, 1: "b", 2: (3, "c")}
    other = ch.Joint.from_counts({(w, name[a], name[b]): p for (w, a, b), p in law.items()}, law.names)
    assert JoinOrbits().apply(ch.pose(other)).problem.size == 6
    same_answer(ch.disclose(other), unreduced(law))


# ---- proofs by lines, and that nothing can be told ---------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("sizes", "alphabet"), [((3,), 2), ((2,), 3), ((2, 1), 2), ((2, 2), 2)])
def test_lines_are_lifted(sizes, alphabet, seed):
    law = symmetric(2, sizes, alphabet, uneven(seed))
    truth = unreduced(law)
    d = ch.disclose(law, solver="sandwich", tol=1e-7)
    assert d.document["bound"]["kind"] == "lines"
    assert d.information <= truth.information + SLACK
    assert truth.information <= d.upper_bound + SLACK
    assert d.gap <= 1e-7
    assert exactly_private(d)
    assert d.verify()["verified"]


@pytest.mark.parametrize(
    "asked",
    [
        {"order": 2},
        {"protect": [("X1", "X2"), ("X1", "X3"), ("X2", "X3")]},
        {"protect": [("X1", "X2"), ("X3", "X4")]},
    ],
)
def test_lines_are_lifted_for_groups(asked):
    law = symmetric(2, (4,), 2, uneven(4))
    truth = unreduced(law, **asked)
    d = ch.disclose(law, solver="sandwich", tol=1e-7, **asked)
    assert d.verify()["verified"]
    assert exactly_private(d)
    assert d.information == pytest.approx(truth.information, abs=1e-7)
    assert truth.information <= d.upper_bound + SLACK
    assert d.gap <= 1e-7


@pytest.mark.parametrize(
    ("alphabet", "order", "tells"),
    [
        (2, 1, lambda x: 2 + sum(x)),
        (3, 1, lambda x: 1 + 2 * x.count(0) + 5 * x.count(2)),
    ],
)
def test_what_the_protected_values_determine_cannot_be_told(alphabet, order, tells):
    # P(W=1 | x) is a sum over samples (over pairs), so a code independent of each (of pairs) says nothing of W.
    law = symmetric(2, (3,), alphabet, lambda w, x: tells(x) if w else 20 - tells(x))
    d = ch.disclose(law, order=order)
    assert d.information == d.upper_bound == 0
    assert d.codes == 1
    assert d.document["bound"]["kind"] == "determined"
    assert d.verify()["verified"]


# ---- forgeries --------------------------------------------------------------------------------------------------


def test_a_column_that_is_not_exchangeable_is_noticed():
    law = symmetric(2, (2, 1), 2, uneven(6))
    document = ch.disclose(law).document
    assert document["bound"]["exchangeable"] == [["X1", "X2"]]

    def claim(classes):
        def change(doc):
            doc["bound"]["exchangeable"] = classes

        return rejected(document, change)

    for classes in ([["X1", "X2", "X3"]], [["X1", "X3"]], [["X1", "X2"], ["X2", "X3"]], [["X1", "W"]], "X1", [[]]):
        assert claim(classes) == "upper bound"


def test_columns_that_are_protected_otherwise_are_not_exchangeable():
    law = symmetric(2, (3,), 2, uneven(7))
    document = ch.disclose(law, protect=["X1", "X2"], use=["X1", "X2", "X3"]).document
    assert document["bound"]["exchangeable"] == [["X1", "X2"]]

    def change(doc):
        doc["bound"]["exchangeable"] = [["X1", "X2", "X3"]]

    assert rejected(document, change) == "upper bound"


def test_a_changed_multiplier_is_noticed():
    law = symmetric(2, (3,), 2, uneven(8))
    points = ch.disclose(law).document
    lines = ch.disclose(law, solver="sandwich").document
    nothing = ch.disclose(symmetric(2, (3,), 2, lambda w, x: 2 + sum(x) if w else 9 - sum(x))).document
    assert [d["bound"]["kind"] for d in (points, lines, nothing)] == ["extreme points", "lines", "determined"]
    for step in (F(1, 100), F(-1, 100)):

        def moved(text, by=step):
            top, bottom = (int(x, 16) for x in text.split("/"))
            new = F(top, bottom) + by
            return f"{new.numerator:x}/{new.denominator:x}"

        for s in range(8):

            def point(doc, s=s):
                doc["bound"]["multipliers"][s] = moved(doc["bound"]["multipliers"][s])

            assert rejected(points, point) == "upper bound"

        def line(doc):
            for row in doc["bound"]["multipliers"][::2]:  # the same change on all lines would prove the same
                row[0] = moved(row[0])

        def coefficient(doc):
            doc["bound"]["coefficients"][0][0] = moved(doc["bound"]["coefficients"][0][0])

        assert rejected(lines, line) == "upper bound"
        assert rejected(nothing, coefficient) == "upper bound"


# ---- alike states -----------------------------------------------------------------------------------------------


def with_noise(law, shares):
    """The law with a column U drawn from the samples alone: shares(x) are its weights."""
    counts = {}
    for (w, *x), p in law.items():
        for u, share in enumerate(shares(tuple(x))):
            counts[(w, *x, u)] = p * share / sum(shares(tuple(x)))
    return ch.Joint.from_counts({cell: p for cell, p in counts.items() if p}, [*law.names, "U"])


@settings(deadline=None, max_examples=40)
@given(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_values_that_tell_alike_are_one(law, weights):
    # U is independent of W given the samples, so using it changes nothing.
    noisy = with_noise(law, lambda x: [1 + weights[0], weights[1] * x[0], weights[2]])
    columns = [name for name in law.names if name != "W"]
    asked = {"protect": columns, "use": [*columns, "U"]}
    problem = ch.pose(noisy, **asked)
    there = MergeAlike().apply(problem)
    assert there.problem.size <= ch.pose(law).size
    truth = unreduced(law)
    d = ch.disclose(noisy, **asked)
    same_answer(d, truth)
    for values in product(*(law.alphabets[law.position(c)] for c in columns)):
        rows = {d.channel_of(state) for state in d.states if state[:-1] == values}
        assert len(rows) <= 1


@settings(deadline=None, max_examples=40)
@given(full_joints(shapes=((2, 2), (2, 3))))
def test_merging_there_and_back_changes_no_number(law):
    columns = [name for name in law.names if name != "W"]
    problem = ch.pose(with_noise(law, lambda x: [1, 2]), protect=columns, use=[*columns, "U"])
    there = MergeAlike().apply(problem)
    small = exact_optimum(there.problem, form_of(there.problem))
    back = there.inverse.invert(small)
    assert there.problem.size <= problem.size // 2
    assert stated_information(problem, back.channel) == stated_information(there.problem, small.channel)
    assert stated_bound(problem, back.bound) == stated_bound(there.problem, small.bound)
    again = MergeAlike().apply(there.problem)
    assert again.problem.weights == there.problem.weights


@pytest.mark.parametrize("solver", [None, "sandwich"])
def test_both_reductions_at_once(solver):
    law = symmetric(2, (3,), 2, uneven(9))
    noisy = with_noise(law, lambda x: [1, 1 + sum(x)])
    asked = {"protect": ["X1", "X2", "X3"], "use": ["X1", "X2", "X3", "U"]}
    truth = unreduced(law)
    d = ch.disclose(noisy, solver=solver, tol=1e-8, **asked)
    assert "16 states joined into 4" in d.how
    assert d.information == pytest.approx(truth.information, abs=1e-8)
    assert d.information - SLACK <= truth.information <= d.upper_bound + SLACK
    assert exactly_private(d)
    assert d.verify()["verified"]
