"""Extreme points: the fast enumeration against Algorithm 1, vertex for vertex."""

from __future__ import annotations

from fractions import Fraction as F

import flint
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from joined import verifier
from laws import full_joints, joints

import choral as ch
from choral.errors import TooLargeError
from choral.problem.form import form_of, incidence
from choral.problem.pose import pose
from choral.solvers import enumeration, reference
from choral.solvers.exact_optimum import by_enumeration, free_states, two_ends
from choral.solvers.mixture import best_exact_weights


def dense(problem, most=enumeration.MOST_POINTS):
    points = enumeration.extreme_points(problem, most)
    return [tuple(point.get(s, F(0)) for s in range(problem.size)) for point in points]


def by_the_verifier(problem):
    matrix = incidence(problem)
    columns = [tuple(F(row[s], matrix.scale[s]) for row in matrix.rows) for s in range(problem.size)]
    return {
        tuple(t.get(s, F(0)) for s in range(problem.size)) for t in verifier.extreme_points(columns, problem.weights)
    }


@settings(deadline=None, max_examples=60)
@given(st.one_of(joints(most_states=9), full_joints()))
def test_three_enumerations_agree_vertex_for_vertex(law):
    problem = pose(law)
    found = dense(problem)
    assert len(set(found)) == len(found)
    assert sorted(found) == sorted(reference.find_extreme_points(problem))
    assert set(found) == by_the_verifier(problem)


@settings(deadline=None, max_examples=60)
@given(st.one_of(joints(most_states=9), full_joints()))
def test_states_that_determine_a_posterior_are_where_differences_of_extreme_points_begin(law):
    """By the matrix of privacy in one step, and by reducing all points one after another: tens of seconds for 39 366."""
    problem = pose(law)
    points = dense(problem)
    reduced, rank = flint.fmpq_mat(
        [[flint.fmpq(a.numerator, a.denominator) for a in map(F.__sub__, t, points[0])] for t in points]
    ).rref()
    begins = [next(s for s in range(problem.size) if reduced[i, s] != 0) for i in range(rank)]
    assert free_states(problem) == sorted(begins)


@settings(deadline=None, max_examples=25)
@given(joints(most_states=8, samples=(3, 3)))
def test_groups_and_noisy_groups_too(law):
    problem = pose(law, protect=[("X1", "X2"), "X3"], use=["X1", "X2"])
    assert sorted(dense(problem)) == sorted(reference.find_extreme_points(problem))
    assert set(dense(problem)) == by_the_verifier(problem)


@settings(deadline=None, max_examples=40)
@given(full_joints(shapes=((2, 2), (2, 2, 2), (2, 3))))
def test_the_optimum_is_that_of_algorithm_2(law):
    problem = pose(law)
    assume(form_of(problem).nullity <= 4)
    value, _ = reference.find_optimal_mapping(problem)
    assert ch.disclose(law).information == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3])
def test_uniform_laws_are_degenerate_and_complete(n):
    problem = pose(ch.examples.bernoulli(F(1, 2), n).with_column("W", lambda *x: sum(x)))
    assert sorted(dense(problem)) == sorted(reference.find_extreme_points(problem))


def test_a_transport_polytope_has_its_known_number_of_vertices():
    # Doubly stochastic 3×3 matrices: the six permutations (Birkhoff); very degenerate.
    law = ch.Joint.from_array([[1] * 3] * 3, names=["X1", "X2"])
    points = ch.extreme_points(law)
    assert len(points) == 6
    assert all(sorted(point) == [0] * 6 + [F(1, 3)] * 3 for point in points)
    # 4×4: twenty-four.
    assert len(ch.extreme_points(ch.Joint.from_array([[1] * 4] * 4, names=["X1", "X2"]))) == 24


def test_too_large_is_said_before_memory_is_taken():
    law = ch.examples.bernoulli(F(3, 10), 12)
    with pytest.raises(TooLargeError) as caught:
        ch.extreme_points(law)
    assert "4096 states" in str(caught.value)
    assert caught.value.remedy


def test_the_upper_bound_theorem_on_known_polytopes():
    # A d-cube has 2d facets and 2^d ≤ bound; a simplex attains it; a polygon attains it.
    assert enumeration.most_extreme_points(5, 1) == 5
    assert enumeration.most_extreme_points(7, 5) == 7
    assert enumeration.most_extreme_points(6, 3) == 8  # dual of the octahedron-like cyclic polytope: 2n - 4
    assert enumeration.most_extreme_points(3, 3) == 1


@settings(deadline=None, max_examples=30)
@given(full_joints(shapes=((2, 2),)))
def test_nullity_one_has_a_closed_form_that_is_the_optimum(law):
    problem = pose(law)
    assume(form_of(problem).nullity == 1)
    short, long = two_ends(problem), by_enumeration(problem)
    if long.channel.codes == 2:
        assert short.channel == long.channel
    else:  # both ends say the same about W
        assert not form_of(problem).feasible


@pytest.mark.parametrize("tiny", [F(1, 10**7), F(1, 10**40)])
def test_mixing_is_exact_where_a_posterior_has_little_of_a_state(tiny):
    """The three are independent and the second is the prior, so it is all of the mixture, whatever it costs; a column of the
    simplex method that stands for no posterior would cost less, where it rose as little as the mass is."""
    third = F(1, 3)
    posteriors = [{0: F(2, 5), 1: F(1, 5), 2: F(2, 5)}, {0: third, 1: third, 2: third}, {1: 1 - tiny, 2: tiny}]
    found = best_exact_weights([third] * 3, posteriors, [F(3), F(3), F(0)], [0, 1])
    assert found.weights == {1: 1}
    assert sum(found.multipliers) * third == 3
