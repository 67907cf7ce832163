"""What `ch.plan` says is what `disclose` runs; and how a search ended is told by a closed list of words and its history."""

from __future__ import annotations

import random
from fractions import Fraction as F
from itertools import product

import pytest

import choral as ch
from choral.design import at_once, solvers
from choral.errors import ProblemError
from choral.problem.form import Form
from choral.problem.pose import pose
from choral.problem.solution import Status
from choral.solvers import enumeration
from choral.solvers.branching.search import Branching
from choral.solvers.enumeration import most_extreme_points
from choral.solvers.exchangeable_bits import ExchangeableBits


@pytest.fixture
def ran(monkeypatch):
    """The methods that are entered, in order: seen from below, where no plan is known."""
    entered = []

    def watched(name, function):
        def called(*args, **kwargs):
            entered.append(name)
            return function(*args, **kwargs)

        return called

    for owner, method, name in (
        (ExchangeableBits, "solve", "orbits"),
        (at_once, "by_transport", "transport"),
        (solvers, "by_lines", "lines"),
        (solvers, "by_lines_within", "lines"),
        (Branching, "run", "branching"),
        (solvers, "with_coarse_target", "coarse"),
        (solvers, "exact_optimum", "exact"),
        (solvers, "constant_channel", "constant"),
    ):
        monkeypatch.setattr(owner, method, watched(name, getattr(owner, method)))
    return entered


FIRST = {
    "orbits": {"orbits"},
    "transport": {"transport"},
    "sandwich": {"lines"},
    "branching": {"branching"},
    "coarse": {"coarse"},
    "enumeration": {"exact"},
    "closed form": {"exact", "constant"},
}
"""The first method that each solver enters."""


def _law(draw, shape, targets, alike=False):
    names = ["W", *(f"X{i}" for i in range(1, len(shape) + 1))]
    counts = {}
    for x in product(*(range(size) for size in shape)):
        for w in range(targets):
            like = random.Random(f"{w} {sorted(x)} {draw.random() if not alike else 0}")
            counts[(w, *x)] = like.randint(1, 9)
    return ch.Joint.from_counts(counts, names)


def _asked(kind, seed):
    """A random question of a kind: a law, and arguments of `plan` and `disclose`."""
    draw = random.Random(f"{kind} {seed}")
    shape = draw.choice([(2, 2), (2, 3), (2, 2, 2), (3, 3)])
    if kind == "joint":
        return _law(draw, draw.choice([shape, (3, 3, 3)]), draw.choice([1, 2, 3, 6])), {"order": draw.choice([1, 1, 2])}
    if kind == "use":
        return _law(draw, (2, 2, 3), 2), {"protect": ["X1"], "use": draw.choice([["X2", "X3"], ["X1", "X2", "W"]])}
    if kind == "alike":
        return _law(draw, (2,) * draw.randint(2, 4), 2, alike=True), {}
    if kind == "many values":
        return _law(draw, (2, 2, 2), 7), {}
    if kind == "exchangeable":
        n, outputs = draw.randint(3, 9), draw.choice([2, 3])
        rows = [[draw.randint(1, 9) for _ in range(outputs)] for _ in range(2)]
        return ch.Exchangeable([F(1, 3), F(2, 3)], [[F(x, sum(row)) for x in row] for row in rows], n), {
            "order": draw.choice([1, 2])
        }
    if kind == "sensors":
        return ch.Sensors(
            [F(1, 3), F(2, 3)], [ch.bsc(F(draw.randint(1, 9), 20)) for _ in range(draw.randint(2, 4))]
        ), {}
    if kind == "self":
        law = ch.examples.bernoulli(F(draw.randint(2, 8), 10), draw.choice([2, 3, 4]))
        return law, {"reveal": list(law.names), "use": list(law.names), "protect": list(law.names)}
    if kind == "leakage":
        return _law(draw, (2, 2), draw.choice([1, 2, 3, 5])), {"leakage": {"X1": F(1, draw.randint(5, 50))}}
    if kind == "ratio":
        return _law(draw, (2, 2), draw.choice([2, 3])), {"ratio": {"X1": F(6, 5)}}
    return _law(draw, (2, 3, 3), draw.choice([1, 2])), {"also": [_law(draw, (2, 3, 3), 2)]}


KINDS = ["joint", "use", "alike", "many values", "exchangeable", "sensors", "self", "leakage", "ratio", "also"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_plan_says_is_what_runs(kind, ran, monkeypatch):
    """Ten random problems of each of ten kinds."""
    if kind == "many values":
        monkeypatch.setattr(solvers, "MANY_POINTS", 5)  # so that small problems have too many points to list ...
        monkeypatch.setattr(enumeration, "TRIED", 0)  # ... and to walk to
    for seed in range(10):
        law, question = _asked(kind, seed)
        said = ch.plan(law, **question).plan
        ran.clear()
        d = ch.disclose(law, **question, tol=1.0)
        assert ran[0] in FIRST[said.solver], (seed, said, ran)
        assert said.solver == d.solution.solver
        assert said.why in d.how


def test_every_solver_is_met():
    """The problems above are of every kind: no solver is never chosen."""
    met = {
        ch.plan(law, **asked).plan.solver for kind in KINDS for law, asked in (_asked(kind, seed) for seed in range(10))
    }
    one_group = {(w, z, x): 1 + (w * x + 3 * z * x + w) % 7 for w in range(2) for z in range(5) for x in range(9)}
    met.add(ch.plan(ch.Joint.from_counts(one_group, names=["W", "Z", "X"]), protect=["Z"]).plan.solver)
    met.add(ch.plan(_law(random.Random(5), (3, 3, 4), 5)).plan.solver)
    met.add(ch.plan(_law(random.Random(5), (3, 3, 4), 13)).plan.solver)
    assert met == {solver.name for solver in solvers.SOLVERS}


def test_the_plan_takes_the_question_of_disclose_and_refuses_as_it_does():
    law = ch.examples.noisy_copies(2)
    for question in ({"leakage": {"X9": 1}}, {"also": law}, {"solver": "magic"}, {"solver": "orbits"}):
        with pytest.raises(ProblemError) as by_plan:
            ch.plan(law, **question)
        with pytest.raises(ProblemError) as by_disclose:
            ch.disclose(law, **question)
        assert str(by_plan.value) == str(by_disclose.value)


def test_status_and_history_are_carried(tmp_path):
    lines = ch.disclose(ch.examples.clinic(), "diagnosis", solver="sandwich", tol=1e-4)
    assert lines.status is Status.OPTIMAL
    informed, bounds = zip(*lines.history, strict=True)
    assert all(a <= b + 1e-12 for a, b in lines.history)
    assert list(bounds) == sorted(bounds, reverse=True)
    assert informed[-1] == pytest.approx(lines.information, abs=1e-4)
    again = ch.load(lines.save(tmp_path / "d.choral"))
    assert (again.status, again.history) == (Status.OPTIMAL, ())
    assert ch.disclose(ch.examples.clinic(), "diagnosis", time_limit=0).status is Status.STOPPED
    assert ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": F(1, 20)}, tol=1e-3).history
    assert ch.disclose(ch.examples.bsc_and_bec()).history == ()


def test_a_plan_says_how_many_points_there_may_be_where_floats_end():
    form = Form(states=5000, rank=265, nullity=4735, feasible=True, target_values=2)
    many = most_extreme_points(form.states, form.rank)
    power = next(n for n in range(300, 5000) if 10 ** (n + 1) > many)
    for solver in (solvers.ByLines(), solvers.Coarse()):
        assert f"up to 10^{power} extreme points" in solver.accepts(pose(ch.examples.noisy_copies(3)), form)


@pytest.mark.parametrize("values", [5, 14])
def test_extreme_points_that_are_few_though_they_could_be_many_are_listed(values):
    """A column of fifteen values, most of them with one state: 2⁶·11 points, where 660 858 could be."""
    blocks = (*[1] * 8, *[2] * 6, 11)
    draw = random.Random(1)
    cells = {(w, z, x): draw.randint(1, 40) for z, n in enumerate(blocks) for x in range(n) for w in range(values)}
    law = ch.Joint.from_counts(cells, ["W", "Z", "X"])
    said = ch.plan(law, protect=["Z"])
    assert str(said.plan) == "enumeration: 704 extreme points, as a short walk found, so mix them all"
    assert said.solvable_exactly
    d = ch.disclose(law, protect=["Z"])
    assert (d.solution.solver, d.status) == ("enumeration", Status.OPTIMAL)
    assert d.gap < 1e-14
    assert values > 5 or d.verify()["verified"]


def test_a_large_problem_is_not_walked_to_see_whether_its_points_are_few(monkeypatch):
    """To find the first basis takes states² times equations, in integers: hours for thousands of states."""
    monkeypatch.setattr(enumeration, "TRIED_START", 100)
    monkeypatch.setattr(enumeration, "_listed", lambda *_: pytest.fail("it was walked"))
    assert enumeration.few_points(pose(_law(random.Random(5), (3, 3, 4), 5))) is None
