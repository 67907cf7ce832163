"""Estimates in floats: what a code would tell, as a disclosure that is made exact tells it."""

import pytest

import choral as ch
from choral.design.estimate import estimated
from choral.design.limits import Limits
from choral.design.solvers import choose
from choral.problem.form import form_of
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.problem.solution import Status

CELLS = {
    (w, a, b, c): 1 + (7 * w * a + 5 * b * (1 - w) + 3 * a * c + 2 * b * c + w * c) % 11
    for w in (0, 1) for a in range(4) for b in range(3) for c in range(5)
}  # fmt: skip
LAW = ch.Joint.from_counts(CELLS, ["W", "A", "B", "C"])


@pytest.mark.parametrize("protect", [["A", "B"], ["A", "B | C"], ["A"]])
def test_an_estimate_is_what_an_exact_code_tells(protect):
    question = Question("W", protect, ["A", "B", "C"])
    found = estimated(LAW, question, Limits(rel_tol=1e-3))
    exact = ch.disclose(LAW, "W", protect, ["A", "B", "C"], rel_tol=1e-3)
    right = sum(p * max(row) for p, row in zip(exact.p_y, exact.p_w_given_y, strict=True))
    assert found.bits <= exact.upper_bound + 1e-9
    assert found.bits >= exact.information * (1 - 2e-3)
    assert found.right == pytest.approx(float(right), abs=2e-2)
    assert found.status is Status.OPTIMAL


def test_the_estimate_goes_by_lines_where_lines_are_chosen():
    """Else the test above would compare an exact channel with itself."""
    problem = problem_of(LAW, Question("W", ["A", "B"], ["A", "B", "C"]))
    assert choose(problem, form_of(problem)).solver == "sandwich"


def test_it_stops_in_time():
    found = estimated(LAW, Question("W", ["A", "B"], ["A", "B", "C"]), Limits(rel_tol=1e-9, time_limit=0.0))
    assert found.status is Status.STOPPED
    assert found.bits >= 0
