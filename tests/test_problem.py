"""Posing problems: groups, use, order, the form of P, and what is refused."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction as F

import flint
import networkx
import numpy as np
import pytest
from hypothesis import given
from laws import joints

import choral as ch
from choral.describe.joint import Joint
from choral.errors import ChoralError, ColumnError, ProblemError
from choral.problem import form
from choral.problem.form import form_of, incidence
from choral.problem.pose import pose, pose_self


def test_the_matrix_of_the_example_is_the_printed_one():
    matrix = incidence(pose(ch.examples.bsc_and_bec()))
    assert matrix.rows == (
        (1, 1, 1, 0, 0, 0),
        (0, 0, 0, 1, 1, 1),
        (1, 0, 0, 1, 0, 0),
        (0, 1, 0, 0, 1, 0),
        (0, 0, 1, 0, 0, 1),
    )
    assert set(matrix.scale) == {1}


def test_binary_samples_have_the_recursive_matrix():
    block = np.array([[1, 0], [0, 1]])
    for n in range(2, 5):
        half = block.shape[1]
        block = np.vstack([np.repeat([[1, 0], [0, 1]], half, axis=1), np.hstack([block, block])])
        assert (np.array(incidence(pose_self(ch.examples.bernoulli(F(1, 3), n))).rows) == block).all()


@given(joints())
def test_rank_and_nullity_agree_with_floats(law):
    problem = pose(law)
    form = form_of(problem)
    dense = np.array(incidence(problem).rows, dtype=float)
    assert form.rank == np.linalg.matrix_rank(dense)
    assert form.rank + form.nullity == form.states == len(law.weights(problem.columns))
    # Prop1, by its definition: does the target matrix vanish on a basis of the null space?
    null = np.linalg.svd(dense)[2][form.rank :]
    moves = np.abs(problem.posterior() @ null.T).max(initial=0) > 1e-7 if len(null) else False
    if form.feasible != moves:  # floats may miss a tiny posterior; exact rank cannot
        assert form.feasible
        assert min(problem.target.weight) * 10**6 < max(problem.target.weight)


def test_groups_use_and_order():
    law = ch.examples.noisy_copies(3)
    assert [g.name for g in pose(law).groups] == ["X1", "X2", "X3"]
    assert [g.name for g in pose(law, order=2).groups] == ["X1+X2", "X1+X3", "X2+X3"]
    assert [g.name for g in pose(law, protect=["X1", ("X2", "X3")]).groups] == ["X1", "X2+X3"]
    assert pose(law, protect="X1").columns == ("X1", "X2", "X3")
    with_target = pose(law, protect=["X1"], use=["W", "X1"])
    assert with_target.columns == ("W", "X1")
    assert with_target.target.is_function
    outside = pose(law, protect=["X2"], use=["X1"])
    assert not outside.groups[0].is_function
    assert sum(outside.groups[0].weight) == outside.total
    overlapping = pose(law, reveal=["X1", "X2"], protect=["X1", "X2"])
    assert overlapping.columns == ("W", "X1", "X2", "X3")
    assert overlapping.target.name == "X1+X2"


def test_the_hypergraph_has_the_incidence_matrix_p():
    law = ch.examples.bsc_and_bec()
    graph = ch.hypergraph(law)
    assert graph.incidence == incidence(pose(law)).rows
    bipartite = graph.to_networkx()
    assert networkx.is_bipartite(bipartite)
    assert bipartite.number_of_edges() == sum(map(sum, graph.incidence))
    assert {d for node, d in bipartite.degree() if node[0] == "state"} == {2}


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda J: pose(J, reveal="V"), ColumnError, ["'V'", "reveal"]),
        (lambda J: pose(J, protect=["X1", "Y2"]), ColumnError, ["'Y2'", "Did you mean 'X2'"]),
        (lambda J: pose(J, use=["X9"]), ColumnError, ["'X9'"]),
        (lambda J: pose(J, protect=["W", "X1"]), ProblemError, ["'W'", "self_disclose"]),
        (lambda J: pose(J, protect=[("W", "X1")]), ProblemError, ["'W'"]),
        (lambda J: pose(J, protect=[]), ProblemError, ["empty"]),
        (lambda J: pose(J, protect=[()]), ProblemError, ["empty"]),
        (lambda J: pose(J, use=[]), ProblemError, ["empty"]),
        (lambda J: pose(J, protect=[("X1", "X1")]), ProblemError, ["'X1'", "twice"]),
        (lambda J: pose(J, protect=["X1", "X1"]), ProblemError, ["'X1'", "twice"]),
        (lambda J: pose(J, protect=[("X1", "X2"), ("X2", "X1")]), ProblemError, ["twice"]),
        (lambda J: pose(J, order=0), ProblemError, ["order=0"]),
        (lambda J: pose(J, order=4), ProblemError, ["order=4", "3 columns"]),
        (lambda J: pose(J, order=2, protect=[("X1", "X2")]), ProblemError, ["order=2", "X1+X2"]),
        (lambda J: pose(J, use=["W"]), ProblemError, ["Nothing is protected"]),
        (lambda J: pose(J.marginal("X1, X2")), ProblemError, ["no column 'W'"]),
        (lambda J: pose(J.marginal("W")), ProblemError, ["No column is left"]),
        (lambda J: pose_self(J.marginal("X1, X2"), protect=[("X1", "X2")]), ProblemError, ["X1+X2"]),
    ],
)
def test_what_cannot_be_posed_is_refused(ask, kind, words):
    with pytest.raises(kind) as caught:
        ask(ch.examples.noisy_copies(3))
    for word in words:
        assert word in str(caught.value)
    assert caught.value.remedy


FAMILIES = [
    ["A", "B"],
    [("A", "B"), "C"],
    ["A", "A | B"],
    ["A | B", "C"],
    [("A", "B"), ("B", "C"), ("A", "C")],
    ["D | A+B", "A"],
    ["A | W", "B"],
]


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_rank_and_feasibility_are_those_of_the_whole_matrix(family):
    rng, posed = random.Random(str(family)), 0
    for _ in range(25):
        sizes = [rng.randint(1, 4) for _ in range(4)]
        cells = list(itertools.product(range(2), *map(range, sizes)))
        kept = rng.sample(cells, min(len(cells), rng.randint(3, 60)))
        law = Joint.from_counts({cell: rng.randint(1, 9) for cell in kept}, ["W", "A", "B", "C", "D"])
        try:
            problem = pose(law, "W", family, rng.choice([None, ["A", "B", "C"], ["B", "C", "D"]]))
        except ChoralError:
            continue
        posed += 1
        with_target = form._incidence(problem, [*problem.groups, problem.target])
        ranks = [flint.fmpz_mat([list(row) for row in m.rows]).rank() for m in (form.incidence(problem), with_target)]
        assert ranks[0] <= form.incidence(problem).most
        assert ranks[1] <= with_target.most
        found = form.form_of(problem)
        assert (found.rank, found.feasible) == (ranks[0], ranks[1] > ranks[0])
    assert posed >= 10
