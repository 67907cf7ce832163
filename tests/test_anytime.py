"""Whatever ends the search, there is a private channel and a bound; and how the way is chosen."""

from __future__ import annotations

import itertools
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction as F

import numpy as np
import pytest
from laws import exactly_private
from scale import private_in_integers, sensors, symmetric

import choral as ch
from choral.design.afterwards import Afterwards
from choral.design.disclose import certified, checkable
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.design.solvers import choose
from choral.errors import ProblemError, VerificationError
from choral.exact.repair import repair
from choral.problem.form import Form, form_of
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.problem.solution import Status, floats_of
from choral.solvers import enumeration
from choral.solvers.lines.factors import inverse_roots

SLACK = 1e-12
PATIENCE = 120
"""Seconds that another process may take for anything, on a busy machine."""


def a_law(seed, targets, sizes, largest=9):
    rng = random.Random(seed)
    cells = itertools.product(range(targets), *map(range, sizes))
    names = ["W", *(f"X{i}" for i in range(1, len(sizes) + 1))]
    return ch.Joint.from_counts({x: rng.randint(1, largest) for x in cells}, names)


# ---- stopping ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [None, "enumeration", "sandwich"])
def test_no_time_gives_a_constant_code_and_the_bound_that_needs_none(solver):
    for law in (ch.examples.bsc_and_bec(), sensors(6), a_law(1, 3, (2, 3))):
        d = ch.disclose(law, time_limit=0, solver=solver)
        assert d.codes == 1
        assert d.information == 0
        assert d.upper_bound == pytest.approx(ch.bounds(law).upper_bound, abs=2e-15)
        assert d.document["bound"]["kind"] == "group"
        assert "stopped" in d.how
        assert d.verify()["verified"]
        assert exactly_private(d)


def test_no_time_for_compact_laws():
    E = ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 5)
    S = ch.Sensors([F(2, 3), F(1, 3)], [ch.bsc(F(1, 10)), ch.bsc(F(1, 5)), ch.bsc(F(1, 4))])
    for law in (E, S):
        d = ch.disclose(law, time_limit=0)
        assert (d.codes, d.information) == (1, 0)
        assert d.upper_bound == pytest.approx(d.bounds.upper_bound, abs=2e-15)
        assert d.upper_bound >= ch.disclose(law).information
        assert d.verify()["verified"]


def test_a_short_time_limit_is_kept_and_the_interval_holds():
    law, limit = sensors(12), 1.5
    started = time.process_time()
    ch.disclose(law, tol=0, time_limit=0)
    rest = time.process_time() - started
    d = ch.disclose(law, tol=0, time_limit=limit)
    # Posing, repair and the statement of the bound are not cut short. Their work is measured against itself, so that
    # neither a slow machine nor a busy one matters.
    assert time.process_time() - started - rest < limit + 20 * rest
    # Sensors 3, 6, 9, 12 of these tell less (a code may ignore the others): what they tell is below any bound.
    fewer = ch.disclose(law.marginal(["W", "X1", "X4", "X8", "X12"]))
    assert d.upper_bound >= fewer.information
    assert 0 <= d.information <= d.upper_bound
    assert d.verify()["verified"]
    assert private_in_integers(d)


@pytest.mark.parametrize(
    ("law", "asked"),
    [
        (sensors(8), {}),
        (a_law(1, 2, (4, 5, 7)), {}),
        (a_law(1, 3, (3, 3, 3)), {}),
        (a_law(2, 2, (3,) * 4), {"order": 2}),
        (a_law(1, 2, (4, 5, 7)), {"leakage": {"X1": "0.01", "X2": "0.02"}}),
        (a_law(1, 3, (3, 3, 5)), {"ratio": {"X1": "1.1", "X2": "1.2", "X3": "1.05"}}),
    ],
)
def test_what_comes_after_a_search_is_estimated_from_sizes(law, asked):
    """In processor time: a busy machine does not matter."""
    problem = problem_of(law, Question(**asked))
    limits = Limits(rel_tol=1e-2, verified=True)
    with limits.running() as clock:
        solution = choose(problem, form := form_of(problem), "sandwich").run(problem, form, clock)
    started = time.process_time()
    repair(problem, floats_of(solution.channel))
    certified(law, problem, solution).verify()
    spent = time.process_time() - started
    estimated = Afterwards.of(problem, form, limits).by_lines(len(solution.bound.cells))
    assert spent / 2 <= estimated <= 8 * spent + 0.5
    assert estimated < Afterwards.of(problem, form, limits).by_lines(10 * len(solution.bound.cells))


@pytest.mark.parametrize("budgets", [{}, {"leakage": {"X1": "0.01"}}, {"ratio": {"X1": "1.1", "X2": "1.2"}}])
def test_a_search_ends_where_its_proof_would_take_more_time_than_there_is(monkeypatch, budgets):
    law, usual = sensors(6), Afterwards.by_lines
    monkeypatch.setattr(Afterwards, "by_lines", lambda self, lines: usual(self, lines) if lines < 40 else 1e6)
    d = ch.disclose(law, tol=1e-7, time_limit=1000, **budgets)
    assert d.status is Status.STOPPED
    assert 0 < d.information < d.upper_bound
    whole = ch.disclose(law, tol=1e-7, **budgets)
    assert whole.gap < d.gap
    assert len(whole.document["bound"]["cells"]) > len(d.document["bound"]["cells"])
    assert d.verify()["verified"]


def test_the_time_limit_of_a_fit_began_with_the_command():
    limits = Limits(time_limit=10, started=time.monotonic() - 11)
    assert limits.begun().remaining() == 0
    with limits.running() as clock:
        assert clock.stopped()
    with Limits(time_limit=1000).running() as clock:
        clock.expect(2000)
        assert not clock.stopped()  # there is always some time for a first level
        assert clock.left() < 501
        clock.expect(2000)
        assert clock.stopped()
        clock.expect(1)
        assert not clock.stopped()
        with clock.part(0.5):
            assert clock.left() < 500
        assert clock.left() > 500
    with Limits(time_limit=1000, roughly=True).running() as clock:
        clock.expect(2000)
        clock.expect(2000)
        assert not clock.stopped()


def test_enumeration_that_does_not_end_gives_what_another_way_finds(monkeypatch):
    """It gave a constant code, whatever others found."""
    law = a_law(3, 2, (3, 3, 3))
    best = ch.disclose(law)
    monkeypatch.setattr(enumeration._Limits, "why", lambda self, found, *_: "it was time" if found > 100 else "")
    d = ch.disclose(law, solver="enumeration")
    assert d.how.startswith("enumeration, stopped after ")
    assert "extreme points (it was time), then sandwich with" in d.how
    assert d.information == pytest.approx(best.information, abs=1e-6)
    assert d.verify()["verified"]


def test_enumeration_that_is_interrupted_mixes_the_points_that_it_has(monkeypatch):
    law = a_law(3, 2, (3, 3, 3))

    def why(self, found, *_):
        if found > 300:
            signal.raise_signal(signal.SIGINT)
        return "it was time" if self.stopped() else ""

    monkeypatch.setattr(enumeration._Limits, "why", why)
    d = ch.disclose(law, solver="enumeration")
    assert "the best mixture of these" in d.how
    assert d.status is Status.STOPPED
    assert 0 < d.information < ch.disclose(law, solver="sandwich").information
    assert exactly_private(d)
    assert d.verify()["verified"]


def test_enumeration_says_that_memory_would_not_suffice_and_goes_another_way(monkeypatch):
    law = a_law(3, 2, (3, 3, 3))
    monkeypatch.setattr(enumeration, "available", lambda: 2e6)
    d = ch.disclose(law, solver="enumeration", tol=1e-4)
    assert "would take more than the 0.0 GB of memory that there are" in d.how
    assert d.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("law", "asked"),
    [
        (sensors(6), {"tol": 1e-9}),
        (sensors(8), {"tol": 0, "rel_tol": 1e-3}),
        (a_law(1, 3, (2, 2, 2)), {"tol": 0, "rel_tol": 1e-4, "solver": "sandwich"}),
        (a_law(2, 4, (2, 3)), {"tol": 0, "rel_tol": 1e-2, "solver": "sandwich"}),
        (a_law(2, 2, (3, 3)), {"tol": 1e-9, "solver": "sandwich"}),
    ],
)
def test_the_interval_that_is_shown_only_closes(law, asked):
    seen = []
    d = ch.disclose(law, progress=lambda low, high, message: seen.append((low, high, message)), **asked)
    assert len(seen) >= 3
    assert all(low <= high + SLACK for low, high, _ in seen)
    for (low, high, _), (lower, higher, _) in itertools.pairwise(seen):
        assert lower >= low - SLACK
        assert higher <= high + SLACK
    assert seen[0][:2] == pytest.approx((0, d.problem.information_of_states))
    assert d.information == pytest.approx(seen[-1][0], abs=1e-9)
    assert d.upper_bound == pytest.approx(seen[-1][1], abs=1e-9)
    assert all(isinstance(message, str) and message for *_, message in seen)


INTERRUPTED = """
import json
from scale import private_in_integers, sensors
import choral as ch
d = ch.disclose(sensors(12), tol=0, progress=lambda low, high, message: print("at", low, high, flush=True))
found = d.verify()
numbers = [d.information, d.upper_bound, d.how, private_in_integers(d)]
print("found", json.dumps([found["verified"], *numbers]), flush=True)
"""


def test_ctrl_c_returns_what_was_found():
    path = os.pathsep.join(p for p in sys.path if p)
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    lines = queue.Queue()
    reader = threading.Thread(target=lambda: [lines.put(line) for line in child.stdout], daemon=True)
    reader.start()
    try:
        assert lines.get(timeout=PATIENCE).startswith("at 0.0")  # the search has begun
        time.sleep(1)
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
        assert child.wait(timeout=PATIENCE) == 0, said
        reader.join(timeout=PATIENCE)
    finally:
        if child.poll() is None:
            child.kill()
        child.stdout.close()
        child.stderr.close()
        child.wait()
    last = list(lines.queue)[-1]
    verified, information, upper_bound, how, private = json.loads(last.removeprefix("found "))
    assert verified
    assert private
    assert 0 <= information < upper_bound
    assert "(stopped)" in how


# ---- fewer codes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "asked"),
    [
        (ch.examples.bsc_and_bec(), {}),
        (ch.examples.bsc_and_bec(), {"solver": "sandwich"}),
        (sensors(5), {}),
        (symmetric(3, (3,), 2, lambda w, x: 1 + (7 * w + 3 * sum(x)) % 5), {}),
        (a_law(5, 4, (2, 3)), {}),
        (a_law(6, 2, (3, 3), 1000), {"order": 1}),
        (a_law(7, 3, (2, 2, 2)), {"protect": ["X1"], "use": ["X1", "X2", "X3"]}),
    ],
)
def test_at_most_so_many_codes(law, asked):
    best = ch.disclose(law, **asked)
    assert best.codes > 2
    told = []
    for most in (1, 2, 3):
        d = ch.disclose(law, codes=most, **asked)
        assert d.codes <= most
        assert exactly_private(d)
        assert d.verify()["verified"]
        assert d.upper_bound == best.upper_bound  # the bound is for any number of codes
        if best.codes > most:
            said = d.how.split(f"{d.codes} of {best.codes} codes kept, at ")[1]
            if said.startswith("no cost"):
                assert d.information >= best.information - 1e-12
            else:
                cost = float(said.removeprefix("a cost of ").split(" bits")[0])
                assert cost == pytest.approx(best.information - d.information, abs=1e-12, rel=1e-2)
        told.append(d.information)
    assert told[0] == 0
    assert told[0] < told[1] <= told[2] + SLACK
    assert told[2] <= best.upper_bound + SLACK


def test_fewer_codes_that_tell_as_much_have_no_cost():
    """The rounding of a channel with many codes can lose more than fewer codes do."""
    law = a_law(1, 2, (3, 3), 1000)
    best = ch.disclose(law, solver="sandwich")
    d = ch.disclose(law, solver="sandwich", codes=best.codes - 1)
    assert d.information >= best.information
    assert d.how.endswith(f"{d.codes} of {best.codes} codes kept, at no cost")


def test_a_program_that_ends_far_from_private_does_not_spoil_the_fewer_codes(monkeypatch):
    """One that did not converge seemed to tell more; making it private left a hundredth of what was there."""
    from dataclasses import replace

    from choral.solvers.lines import interior_point

    law = a_law(1, 2, (3, 3), 1000)
    plainly = ch.disclose(law, solver="sandwich", spare=0.01, codes=16)
    usual = interior_point.InteriorPoint.solve

    def astray(self, lines, prior, M, *others, **more):
        found = usual(self, lines, prior, M, *others, **more)
        z = 0 * found.z
        z[range(len(prior)), lines.argmin(axis=1)] = prior  # each state says what is best for it, private or not
        return replace(found, z=z)

    monkeypatch.setattr(interior_point.InteriorPoint, "solve", astray)
    d = ch.disclose(law, solver="sandwich", spare=0.01, codes=16)
    assert d.information >= 0.98 * plainly.information


def test_two_codes_for_two_fair_bits_lose_nothing():
    law = ch.Joint.from_counts({(a ^ b, a, b): 1 for a in (0, 1) for b in (0, 1)}, ["W", "X1", "X2"])
    d = ch.disclose(law, codes=2)
    assert d.information == pytest.approx(1, abs=1e-14)
    assert "cost" not in d.how
    assert ch.disclose(law, codes=1).information == 0


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product(("tol", "rel_tol", "time_limit"), (-1, -1e-9, float("nan"), "1e-6", [1e-6])),
        *itertools.product(["codes"], (0, -1, True, 2.0, "2")),
        ("tol", None),
    ],
)
def test_numbers_that_make_no_sense(name, value):
    with pytest.raises(ProblemError, match=f"{name}="):
        ch.disclose(a_law(1, 2, (2, 3)), **{name: value}, solver="sandwich")


def test_solvers_that_do_not_exist_or_do_not_fit():
    law = a_law(1, 2, (2, 3))
    for solver in ("simplex", "", "Sandwich", 3):
        with pytest.raises(ProblemError, match="There is no solver"):
            ch.disclose(law, solver=solver)
    with pytest.raises(ProblemError, match="rank is 4"):
        ch.disclose(law, solver="transport")
    with pytest.raises(ProblemError, match="nullity 2"):
        ch.disclose(law, solver="closed form")
    with pytest.raises(ProblemError, match="this one has 5"):
        ch.disclose(a_law(1, 5, (2, 3)), solver="sandwich")
    with pytest.raises(ProblemError, match="this one has 1"):
        ch.disclose(a_law(1, 1, (2, 3)), solver="sandwich")


# ---- many values ------------------------------------------------------------------------------------------------


def test_a_target_of_many_values_gets_an_honest_interval():
    law = a_law(4, 6, (2,) * 6)
    d = ch.disclose(law, time_limit=3, solver="coarse")
    assert d.status in (Status.NOT_PROVED, Status.STOPPED)
    assert d.document["bound"]["kind"] == "group"
    assert d.upper_bound == pytest.approx(ch.bounds(law).upper_bound, abs=2e-15)
    assert 0 < d.information < d.upper_bound
    assert private_in_integers(d)
    assert d.verify()["verified"]


@pytest.mark.parametrize("seed", range(6))
def test_an_asked_for_coarse_target_is_below_the_truth(seed):
    law = a_law(seed, 6, (2, 3))
    truth = ch.disclose(law, solver="enumeration")
    d = ch.disclose(law, solver="coarse")
    assert 0 < d.information <= truth.information + SLACK
    assert truth.information <= d.upper_bound + SLACK
    assert exactly_private(d)
    assert d.verify()["verified"]


@pytest.mark.parametrize("heavy", range(6))
def test_a_target_with_one_common_value_is_not_made_constant(heavy):
    rng = random.Random(heavy)
    cells = itertools.product(range(6), range(2), range(3))
    law = ch.Joint.from_counts(
        {x: rng.randint(1, 9) * (1000 if x[0] == heavy else 1) for x in cells}, ["W", "X1", "X2"]
    )
    d = ch.disclose(law, solver="coarse", tol=1e-9)
    assert d.verify()["verified"]
    assert d.information > 0


# ---- the planner ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "solver"),
    [
        (Form(8, 8, 0, False, 2), "closed form"),
        (Form(100, 20, 80, False, 2), "closed form"),
        (Form(100, 99, 1, True, 9), "closed form"),
        (Form(1001, 2, 999, True, 2), "transport"),
        (Form(1001, 2, 999, True, 9), "transport"),
        (Form(5000, 2, 4998, True, 2), "sandwich"),  # too many pairs to verify
        (Form(6, 4, 2, True, 2), "enumeration"),
        (Form(16, 5, 11, True, 2), "enumeration"),  # at most 504 points
        (Form(27, 7, 20, True, 2), "sandwich"),
        (Form(24, 5, 19, True, 3), "enumeration"),
        (Form(256, 9, 247, True, 2), "sandwich"),
        (Form(256, 9, 247, True, 3), "sandwich"),
        (Form(256, 9, 247, True, 4), "sandwich"),
        (Form(256, 9, 247, True, 5), "branching"),
        (Form(256, 9, 247, True, 12), "branching"),
        (Form(2560, 9, 2551, True, 12), "coarse"),
        (Form(256, 9, 247, True, 256), "branching"),
        (Form(30, 4, 26, True, 30), "enumeration"),
    ],
)
def test_what_the_planner_chooses(form, solver, monkeypatch):
    monkeypatch.setattr(
        "choral.design.solvers.few_points", lambda problem: None
    )  # forms alone have no points to walk to
    chosen = choose(ch.pose(ch.examples.xor()), form)
    assert chosen.solver == solver
    assert str(chosen) == f"{solver}: {chosen.why}"
    assert chosen.why


def test_the_choice_is_told():
    assert ch.disclose(sensors(6)).how.startswith("sandwich with")
    assert "transport (rank 2" in ch.disclose(ch.Exchangeable([F(1, 2)] * 2, ch.bsc(F(1, 5)), 9)).how
    assert ch.disclose(ch.examples.bsc_and_bec()).how.startswith("enumeration of 4 extreme points")
    assert "asked for" in ch.disclose(ch.examples.bsc_and_bec(), solver="sandwich").how


def test_a_search_writes_nothing_to_the_terminal(capfd):
    """A group that leaves no equation to a class had LAPACK complain there, which broke what `--json` prints."""
    roots, scale = inverse_roots(np.zeros((2, 0, 0)))
    assert (roots.shape, scale.shape) == ((2, 0, 0), (2, 0))
    ch.disclose(a_law(1, 2, (2, 2)), solver="sandwich")
    assert capfd.readouterr() == ("", "")


def test_ways_that_do_not_search_need_no_time_of_their_own():
    """After a score was learned in what time there was, nothing was told at all, where the best code takes milliseconds."""
    for law in (ch.examples.two_binary(F(1, 3), F(1, 2), F(1, 5)), a_law(1, 2, (5, 40))):
        asked = {"protect": ["X1"], "use": ["X1", "X2"]}
        d = ch.disclose(law, time_limit=1e-9, **asked)
        assert d.information == ch.disclose(law, **asked).information > 0
        assert d.status is Status.OPTIMAL
        assert ch.disclose(law, time_limit=0, **asked).information == 0


def test_a_proof_that_a_verifier_would_not_finish_is_left_out(monkeypatch):
    """The optimum was found, and all of it was lost: the verifier refused its proof by a hair."""
    d = ch.disclose(a_law(3, 6, (2, 3)), solver="enumeration")
    asked, usual = [], Disclosure.verify

    def verify(self):
        asked.append(self.solution.bound.kind)
        if asked[-1] == "extreme points":
            raise VerificationError("budget", "it takes too many steps")
        return usual(self)

    monkeypatch.setattr(Disclosure, "verify", verify)
    found = checkable(d)
    assert asked == ["extreme points"]
    assert found.information == d.information <= found.upper_bound
    assert found.status is Status.NOT_PROVED
    assert found.verify()["verified"]
