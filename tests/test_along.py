"""A curve of budgets: bounds and channels of some points serve the others, and each point is as good as one solved alone."""

import math
from fractions import Fraction as F

import pytest

import choral as ch
from choral.design.along import solved_along
from choral.design.disclose import disclose
from choral.design.limits import Limits
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.solvers.lines import budgeted

LAW = ch.Joint.from_counts(
    {(w, a, b): 1 + (5 * w * a + 3 * b * (1 - w) + a * b) % 7 for w in (0, 1) for a in (0, 1) for b in (0, 1, 2)},
    ["W", "A", "B"],
)
BUDGETS = [F(k, 100) for k in range(37, 57, 2)]


@pytest.fixture
def programs(monkeypatch):
    """The programs that were solved, as a list that grows."""
    solved = []
    usual = budgeted._Run.improve
    monkeypatch.setattr(budgeted._Run, "improve", lambda *given: solved.append(given) or usual(*given))
    return solved


def problems(budgets):
    questions = [Question("W", None, None, leakage={"A": b, "B": b} if b else None) for b in budgets]
    return [problem_of(LAW, question) for question in questions]


def test_a_curve_takes_fewer_programs_than_its_points_alone(programs):
    limits = Limits(rel_tol=1e-2)
    curve = list(solved_along(LAW, problems(BUDGETS), limits))
    together = len(programs)
    alone = [disclose(LAW, "W", leakage={"A": b, "B": b} if b else None, rel_tol=1e-2) for b in BUDGETS]
    assert 2 * together <= len(programs) - together
    for budget, point, other in zip(BUDGETS, curve, alone, strict=True):
        assert point.verify()["verified"]
        assert point.gap <= 1e-2 * point.information + 1e-6
        assert max(point.leakage.values()) <= budget
        assert point.information <= other.upper_bound  # two certified intervals of one number
        assert other.information <= point.upper_bound


def test_points_come_in_their_order_whatever_it_is():
    mixed = [F(1, 4), F(0), F(1, 40), F(1, 4)]
    found = list(solved_along(LAW, problems(mixed), Limits(rel_tol=1e-2)))
    assert [d.problem.budgets[0].amount if d.problem.budgets else F(0) for d in found] == mixed
    assert found[0].information == pytest.approx(found[3].information, rel=1e-2)


def test_a_mixture_of_two_channels_tells_and_leaks_the_mean():
    """C_1 is linear from where the second code is certain: between two solved points nothing is left to search."""
    law = ch.examples.noisy_copies(1)
    top = law.mutual_information("W", "X1")
    low, middle, high = ch.tradeoff(law, leakage=[F(2, 10), F(3, 10), F(math.floor(1000 * top), 1000)], tol=1e-5)
    assert middle.upper_bound - middle.information <= 1e-5
    assert middle.achieved_leakage <= 0.3
    assert middle.disclosure.verify()["verified"]
    share = (0.3 - low.leakage) / (high.leakage - low.leakage)
    mean = (1 - share) * low.information + share * high.information
    assert mean - 1e-5 <= middle.upper_bound
