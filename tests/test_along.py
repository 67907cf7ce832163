"""A curve of budgets: bounds and channels of some points serve the others, and each point is as good as one solved alone."""

import itertools
import math
import signal
from fractions import Fraction as F

import numpy as np
import pytest

import choral as ch
from choral.design.along import solved_along
from choral.design.disclose import disclose
from choral.design.limits import Limits
from choral.exact import certificate
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.problem.solution import Status
from choral.solvers.lines import budgeted
from choral.solvers.lines.beside import Beside, Known
from choral.solvers.lines.budget_program import Group

LAW = ch.Joint.from_counts(
    {(w, a, b): 1 + (5 * w * a + 3 * b * (1 - w) + a * b) % 7 for w in (0, 1) for a in (0, 1) for b in (0, 1, 2)},
    ["W", "A", "B"],
)
BUDGETS = [F(k, 100) for k in range(37, 57, 2)]


@pytest.fixture
def programs(monkeypatch):
    """The programs that were solved, as a list that grows."""
    solved = []
    usual = budgeted.WithinBudgets.solve
    monkeypatch.setattr(budgeted.WithinBudgets, "solve", lambda *given: solved.append(given) or usual(*given))
    return solved


def problems(budgets):
    questions = [Question("W", None, None, leakage={"A": b, "B": b} if b else None) for b in budgets]
    return [problem_of(LAW, question) for question in questions]


def test_a_curve_takes_fewer_programs_than_its_points_alone(programs):
    limits = Limits(rel_tol=1e-2)
    curve = list(solved_along(LAW, problems(BUDGETS), limits))
    together = len(programs)
    alone = [disclose(LAW, "W", leakage={"A": b, "B": b} if b else None, rel_tol=1e-2) for b in BUDGETS]
    assert 3 * together <= 2 * (len(programs) - together)
    for budget, point, other in zip(BUDGETS, curve, alone, strict=True):
        assert point.verify()["verified"]
        assert point.gap <= 1e-2 * point.information + 1e-6
        assert max(point.leakage.values()) <= budget
        assert point.information <= other.upper_bound  # two certified intervals of one number
        assert other.information <= point.upper_bound


def test_what_is_told_rises_with_the_budgets_and_a_channel_that_is_good_enough_is_taken_as_it_is():
    wide = [F(k, 40) for k in range(1, 41)]
    curve = list(solved_along(LAW, problems(wide), Limits(rel_tol=1e-2)))
    told = [point.claims.information for point in curve]
    assert told == sorted(told)
    assert curve[-1].information == pytest.approx(curve[-1].upper_bound, rel=1e-2)
    kept = {tuple(point.exact_channel.rows) for point in curve}
    assert len(kept) < len(curve)
    for budget, point in zip(wide, curve, strict=True):
        assert point.verify()["verified"]
        assert max(point.leakage.values()) <= float(budget)  # as is stated: rounded up to fifteen decimals


def test_a_group_that_stays_private_at_some_points_is_private_there():
    """What was found where it may leak is neither taken nor mixed; independence is checked in integers."""
    amounts = [(F(1, 2), F(1, 2)), (F(1, 2), F(0)), (F(0), F(1, 2)), (F(1, 4), F(0)), (F(0), F(0)), (F(1), F(1))]
    asked = [Question("W", None, None, leakage={"A": a, "B": b}) for a, b in amounts]
    found = list(solved_along(LAW, [problem_of(LAW, question) for question in asked], Limits(rel_tol=1e-2)))
    for (a, b), point, question in zip(amounts, found, asked, strict=True):
        assert point.verify()["verified"]
        assert point.leakage["A"] <= a
        assert point.leakage["B"] <= b
        alone = disclose(LAW, "W", leakage=question.leakage, rel_tol=1e-2)
        assert point.information <= alone.upper_bound
        assert alone.information <= point.upper_bound
        assert point.gap <= 1e-2 * point.information + 1e-6


def test_the_best_mixture_is_the_one_that_trying_all_pairs_finds():
    draw = np.random.default_rng(3)
    groups = [Group(g, np.ones((1, 1)), np.ones(1), "leakage", amount) for g, amount in enumerate((0.3, 0.2))]
    leaks = draw.random((6, 2)) / 2
    known = [Known(np.ones((1, 1)), float(draw.random()), dict(enumerate(leak))) for leak in leaks]
    found = Beside(channels=known).mixture(groups)
    best = -math.inf
    for one, other in itertools.product(known, repeat=2):
        for share in np.linspace(0, 1, 2001):
            mixed = [(1 - share) * other.leaks[g] + share * one.leaks[g] for g in (0, 1)]
            if mixed[0] <= 0.3 and mixed[1] <= 0.2:
                best = max(best, (1 - share) * other.told + share * one.told)
    assert found is not None
    assert best - 1e-9 <= found.told <= best + 1e-3


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


def test_what_a_file_would_hold_is_written_when_it_is_asked_for(monkeypatch):
    """Writing the channels of all points took a third of the time of a curve; the studio shows their numbers."""
    written, usual = [], certificate.release_document
    monkeypatch.setattr(certificate, "release_document", lambda *about: written.append(about) or usual(*about))
    points = list(solved_along(LAW, problems([F(1, 100), F(1, 10)]), Limits(rel_tol=1e-2)))
    assert not written
    assert all(d.verify()["verified"] for d in points)
    assert len(written) == len(points)


def test_ctrl_c_ends_a_curve_and_not_one_point_of_it(programs):
    heard, usual = [], signal.getsignal(signal.SIGINT)

    def press(point):
        if not heard:
            signal.raise_signal(signal.SIGINT)
        heard.append(len(programs))

    budgets = [F(k, 50) for k in range(1, 6)]
    points = ch.tradeoff(LAW, "W", "A", leakage=budgets, model="full", tol=1e-9, progress=press)
    assert len(points) == len(heard) == len(budgets)
    assert heard[0] == heard[-1]
    assert Status.STOPPED in {p.disclosure.solution.status for p in points[1:]}
    assert all(p.disclosure.verify()["verified"] for p in points)
    assert signal.getsignal(signal.SIGINT) is usual
