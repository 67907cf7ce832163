"""A question means the same on a law and on a table, and is resolved from names alone."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import choral as ch
from choral.errors import LawError, ProblemError
from choral.problem.pose import pose
from choral.problem.promises import Promise, read_promise
from choral.problem.question import Question
from choral.release.fit import pose_table
from choral.tables.opening import open_table
from choral.tables.rules import TableRules

COLUMNS = ["a", "b", "c", "W"]
ROWS = [dict(zip(COLUMNS, x, strict=True)) for x in product(range(2), range(2), "xy", range(2)) for _ in range(5)]
LAW = ch.Joint.from_counts({tuple(row.values()): 1 for row in ROWS}, names=COLUMNS)
ASKED = {
    "reveal": st.sampled_from([None, "W", "c", "b+W", ["W", "c"], "z"]),
    "protect": st.sampled_from(
        [
            None,
            "a",
            "a,b",
            ["a", ("b", "c")],
            "a+b,a | c",
            ["a | c=x"],
            ["a|b+c", "b"],
            [],
            ("a", "b"),
            ["W"],
            "a|z",
            "z",
        ]
    ),
    "use": st.sampled_from([None, "a,b", ["a", "b", "c"], ["c"], ["a", "W"], ["a", "a"], []]),
    "order": st.sampled_from([1, 2, 3, 0]),
}


def answer(ask):
    """What is revealed, protected, promised and used; or the class and the words of the refusal."""
    try:
        problem = ask()
    except ch.errors.ChoralError as error:
        return type(error), error.what, error.remedy
    given_ = [(promise.hidden, promise.known, promise.only) for promise in problem.conditions]
    return problem.target.columns, [g.columns for g in problem.groups], given_, problem.columns


@given(st.fixed_dictionaries(ASKED))
def test_a_question_means_the_same_on_a_law_and_on_a_table(asked):
    on_table = answer(lambda: pose_table(open_table(ROWS), Question(**asked), TableRules(min_count=1)).problem)
    assert on_table == answer(lambda: pose(LAW, **asked))


def test_a_column_that_looks_like_another_is_refused_though_nobody_asks_for_it():
    rows = [{**row, "\u0430": 0} for row in ROWS]  # a Cyrillic a beside the Latin one
    with pytest.raises(LawError, match="look alike"):
        ch.fit(rows, "W", ["a"], ["a", "b"])


def test_one_column_may_be_promised_given_two_values_of_another():
    asked = ["a | c=x", "a | c=y"]
    release = ch.fit(ROWS, "W", asked)
    assert release.recipe.given == tuple(asked)
    assert [promise.only for promise in release.disclosure.problem.conditions] == [(("c", "x"),), (("c", "y"),)]
    with pytest.raises(ProblemError, match="twice"):
        ch.fit(ROWS, "W", ["a | c=x", "a|c = x"])


@pytest.mark.parametrize(
    ("promise", "written"),
    [(Promise(("a",), ("b", "c")), "a | b+c"), (Promise(("a",), ("b", "c"), (("c", "x"),)), 'a | b+"c=x"')],
)
def test_no_promise_is_dropped_whatever_it_is_given_as(promise, written):
    release = ch.fit(ROWS, "W", ["b", promise])
    assert release.recipe.given == (written,)
    assert read_promise(written) == promise
    assert [given.hidden for given in release.disclosure.problem.conditions] == [("a",)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"leakage": {"b": "0.1"}}, "names 'b', which is no protected group"),
        ({"leakage": {"a": -1}}, "bits are not negative"),
        ({"ratio": {"a": "0.9"}}, "a ratio is at least 1"),
        ({"leakage": {"a": 1}, "ratio": {"a": 2}}, "'a' has two budgets"),
    ],
)
def test_budgets_that_make_no_sense_are_refused_before_anything_is_counted(asked, said):
    with pytest.raises(ProblemError, match=said):
        Question("W", ["a"], **asked).about(["W", "a", "b"])
