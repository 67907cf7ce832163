"""Ctrl-C is answered when it is pressed: a search leaves the step that it is in; what is being loaded ends in one line."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from in_process import choral
from laws import exactly_private
from scale import sensors
from test_solvers import float_sensors, uniform_knots

import choral as ch
from choral import phases
from choral.__main__ import AS_JSON, ENDED, WAITING, Patient
from choral.design.limits import Limits, ending_all
from choral.design.solvers import choose
from choral.problem.solution import Status
from choral.show import interrupts
from choral.show.commands.fit_others import side_knowledge
from choral.solvers.lines import budget_path, central_path, interior_point
from choral.solvers.lines.annealing import Annealing
from choral.solvers.lines.chords import ENTROPY
from choral.solvers.lines.chunks import Chunks
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.program import equality_error

PATIENCE = 120
"""Seconds that another process may take for anything, on a busy machine."""
LINE = (
    "choral: stopping: the best code so far will be kept; this takes a moment. Press Ctrl-C again to end without it.\n"
)
FIT = ("fit", "example:noisy_copies:6", "--solver", "sandwich", "--tol", "1e-12")
PATHS = {"exactly": (interior_point._Path, {}), "within budgets": (budget_path._Path, {"leakage": {"X1": "0.001"}})}


def pressed_in(monkeypatch, path, name, when, ends=True):
    """Have somebody press Ctrl-C in the middle of a step, the `when`th time that it comes there."""
    usual, times = getattr(path, name), []

    def pressed(self, *given):
        times.append(0)
        if len(times) == when:
            signal.raise_signal(signal.SIGINT)
            assert not ends, "the step goes on"
        return usual(self, *given)

    monkeypatch.setattr(path, name, pressed)
    return times


# ---- in a search ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budgets", PATHS)
@pytest.mark.parametrize("when", [2, 9, 20])
def test_a_step_is_left_in_the_middle_and_what_was_found_before_is_kept(budgets, when, monkeypatch):
    path, asked = PATHS[budgets]
    best = ch.disclose(sensors(6), tol=1e-9, **asked)
    times = pressed_in(monkeypatch, path, "factorise", when)
    d = ch.disclose(sensors(6), tol=1e-9, **asked)
    assert len(times) == when
    assert d.status is Status.STOPPED
    assert d.information <= best.upper_bound
    assert best.information <= d.upper_bound
    assert d.information > 0 or when == 2
    assert asked or exactly_private(d)
    assert d.verify()["verified"]


def test_a_step_is_taken_as_a_whole(monkeypatch):
    """Masses, slacks and multipliers belong together: an interrupt among them waits for the rest."""
    times = pressed_in(monkeypatch, central_path.Pairs, "take", 9, ends=False)
    d = ch.disclose(sensors(6), tol=1e-9)
    assert (len(times), d.status) == (9, Status.STOPPED)
    assert d.verify()["verified"]


def test_a_channel_is_not_restored_by_steps_that_take_long_where_there_is_one(monkeypatch):
    """It takes up to three factorisations: after an interrupt it is done where these are short, or nothing is there."""
    usual = interior_point.restored

    def restorations(long, when):
        done = []
        with monkeypatch.context() as patch:
            patch.setattr(interior_point, "LONG", long)
            patch.setattr(interior_point, "restored", lambda *given: done.append(0) or usual(*given))
            pressed_in(patch, interior_point._Path, "factorise", when)
            assert ch.disclose(sensors(6), tol=1e-9).information > 0
        return len(done)

    assert restorations(1e9, 20) == restorations(-1.0, 20) + 1 > 2
    assert restorations(1e9, 2) == restorations(-1.0, 2) == 1


def test_very_many_states_are_not_mended_where_a_channel_is_there_already():
    """The channel to start from meets the equalities, and to mend another takes seconds."""
    p, M, q = float_sensors(9)
    C = ENTROPY.chords(uniform_knots(6), q)
    start = InteriorPoint(tolerance=1e-3).solve(C, p, M)

    def stopped(z):
        return Annealing(tolerance=1e-4).solve(C, p, M, z0=z, should_stop=lambda: True, nu0=start.nu)

    with phases.searching():
        assert not np.array_equal(stopped(start.z).z, start.z)  # by a time limit, which kept time for it
        phases.hurry(0)
        assert np.array_equal(stopped(start.z).z, start.z)
        mended = stopped(None)
    assert mended.status == "stopped"
    assert equality_error(mended.z, p, M) < 1e-11


def test_what_can_be_left_is_left_and_what_is_one_piece_is_not():
    said = []
    with phases.answered(said.append), phases.searching():
        with pytest.raises(phases.LeftError), phases.leavable():
            phases.hurry(3.5)
        with phases.leavable(), phases.entire():
            phases.hurry(0)
        assert phases.hurried()
        with phases.searching():
            assert not phases.hurried()
    assert (said, phases.hurried()) == ([3.5, 0], False)
    phases.hurry(1)  # nobody answers
    assert issubclass(phases.LeftError, KeyboardInterrupt)


def test_who_is_interrupted_outside_of_a_step_is_told_too():
    said = []
    with phases.answered(said.append), Limits().running() as clock:
        clock.expect(2.0)
        signal.raise_signal(signal.SIGINT)
        assert (len(said), clock.stopped()) == (1, True)
    assert said[0] >= 2.0


def test_workers_end_when_who_waits_for_them_leaves():
    done, slices = [], 2000

    def part(rows):
        if not done:
            os.kill(os.getpid(), signal.SIGINT)
        done.append(rows)
        time.sleep(0.005)
        return np.ones(1)

    with pytest.raises(KeyboardInterrupt), ThreadPoolExecutor(2) as pool:
        Chunks(slices, 1, pool, 2).total(part)
    assert len(done) < slices


# ---- on the command line -------------------------------------------------------------------------------------------


COMMANDS = {"fit": FIT, "demo": ("demo",)}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_says_at_the_press_that_the_best_is_kept(command, tmp_path, monkeypatch):
    def pressed(*given):
        signal.raise_signal(signal.SIGINT)
        return choose(*given)

    monkeypatch.setattr("choral.design.disclose.choose", pressed)
    found = choral(*COMMANDS[command], "-o", tmp_path / "r.choral", "--json")
    assert (found.returncode, found.stderr) == (0, LINE)
    assert json.loads(found.stdout)["codes"] >= 1
    assert "stopped" in ch.load(tmp_path / "r.choral").how


def test_what_comes_after_the_search_is_said_with_its_seconds_where_it_is_long(capsys):
    interrupts.say_at_once(interrupts.LONG)
    assert "kept; making it exact takes about 3 s. Press Ctrl-C again" in capsys.readouterr().err
    interrupts.say_at_once(interrupts.LONG - 0.1)
    assert capsys.readouterr().err == LINE


def test_in_a_terminal_the_line_takes_the_place_of_what_was_drawn(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    interrupts.say_at_once(0.0)
    assert capsys.readouterr().err == f"\r\x1b[2K{LINE}"


@pytest.fixture
def asked(tmp_path):
    rows = [f"{int(a ^ (b > 1))},{a},{b}" for a in (0, 1) for b in range(4) for _ in range(6 + a)]
    (tmp_path / "table.csv").write_text("\n".join(["W,a,b", *rows]) + "\n")
    words = (tmp_path / "table.csv", "--reveal", "W", "--protect", "a", "--use", "a,b", "-o", tmp_path / "r.choral")
    return ("fit", *words)


def searched(*_):
    """What is done instead of finding a price: a search, in which somebody presses Ctrl-C."""
    with Limits().running():
        signal.raise_signal(signal.SIGINT)
    pytest.fail("the search was ended, and what it is for went on")


def test_a_command_that_keeps_no_code_ends_at_the_press(tmp_path, asked, monkeypatch):
    """A search of a report is for a price: the best so far of it is nothing to go on with."""
    assert choral(*asked).returncode == 0
    monkeypatch.setattr("choral.show.report.page._prices", searched)
    found = choral("report", tmp_path / "r.choral", "-o", tmp_path / "page.html")
    assert found.returncode == 130
    assert found.stderr.startswith("choral: Interrupted")
    assert not (tmp_path / "page.html").exists()


def test_a_price_that_is_interrupted_is_left_out_of_a_fit(tmp_path, asked, monkeypatch):
    """The code is saved by then, and there is no other to be kept."""
    monkeypatch.setattr("choral.auditing.side_knowledge.fears", searched)
    found = choral(*asked, "--json")
    assert (found.returncode, found.stderr) == (0, "")
    said = json.loads(found.stdout)["remarks"]
    assert any("was not looked at, since this was interrupted" in remark for remark in said)


def test_a_search_inside_of_one_that_is_to_end_wholly_is_interrupted_as_usual():
    with ending_all(), pytest.raises(KeyboardInterrupt) as ended, Limits().running(), phases.leavable():
        signal.raise_signal(signal.SIGINT)
    assert not isinstance(ended.value, phases.LeftError)


SEARCHING = """
import sys, time
from choral.__main__ import main
from choral.solvers.lines import interior_point
from choral.exact import repair

usual, times = interior_point._Path.factorise, []

def factorise(self):
    times.append(0)
    if len(times) == 9:
        print("searching", flush=True)
        while True:
            time.sleep(0.05)
    usual(self)

def changes(*given):
    print("repairing", flush=True)
    while True:
        time.sleep(0.05)

interior_point._Path.factorise = factorise
if "wait" in sys.argv:
    sys.argv.remove("wait")
    repair._changes = changes
main()
"""


class Child:
    """A process of its own, whose lines are waited for."""

    def __init__(self, program, *words, **more):
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )
        self.lines = {"stdout": queue.Queue(), "stderr": queue.Queue()}
        self.readers = [threading.Thread(target=self._read, args=(name,), daemon=True) for name in self.lines]
        for reader in self.readers:
            reader.start()

    def _read(self, name):
        for line in getattr(self.process, name):
            self.lines[name].put(line)

    def next(self, name):
        return self.lines[name].get(timeout=PATIENCE)

    def press(self):
        self.process.send_signal(signal.SIGINT)

    def ended(self):
        """Its status, and what else it wrote."""
        status = self.process.wait(timeout=PATIENCE)
        for reader in self.readers:
            reader.join(timeout=PATIENCE)  # until it has read all
        return status, *("".join(self.lines[name].queue) for name in ("stdout", "stderr"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        for name, reader in zip(self.lines, self.readers, strict=True):
            reader.join(timeout=PATIENCE)
            getattr(self.process, name).close()


def test_a_process_that_searches_answers_leaves_its_step_and_saves_the_best(tmp_path):
    with Child(SEARCHING, *FIT, "-o", tmp_path / "r.choral", "--json") as child:
        assert child.next("stdout") == "searching\n"
        child.press()
        assert child.next("stderr") == LINE
        status, out, err = child.ended()
    assert (status, err) == (0, "")
    assert json.loads(out)["status"] == "stopped"
    assert choral("verify", tmp_path / "r.choral").returncode == 0


def test_a_second_press_ends_what_the_first_one_left_to_do(tmp_path):
    with Child(SEARCHING, "wait", *FIT, "-o", tmp_path / "r.choral") as child:
        assert child.next("stdout") == "searching\n"
        child.press()
        assert child.next("stderr") == LINE
        assert child.next("stdout") == "repairing\n"
        child.press()
        status, _, err = child.ended()
    assert (status, err) == (130, "choral: Interrupted while making the code exact.\n        Nothing was written.\n")
    assert list(tmp_path.iterdir()) == []


# ---- while modules are loaded --------------------------------------------------------------------------------------

LOADING = """
import importlib.abc, os, signal, sys, time, weakref

class Thing:
    pass

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == os.environ["SLOW"]:
            how = os.environ["HOW"]
            if how == "lost":  # what is raised in there is dropped, and shown
                thing = Thing()
                gone = weakref.ref(thing, lambda _: signal.raise_signal(signal.SIGINT))
                del thing
            print("loading", flush=True)
            waited = time.monotonic()
            while how == "for ever" or time.monotonic() - waited < 0.7:
                time.sleep(0.02)
            print("loaded", flush=True)

for name in ("threading", "_weakrefset"):  # which needs it
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Slow())
from choral.__main__ import main
main()
"""
LOADED = {
    "at its start": ("choral.show.cli", ("--version",)),
    "in what threads need": ("_weakrefset", ("--version",)),
    "in a command": ("choral.release.file", ("fit",)),
}


def loading(slow, how, *words):
    return Child(LOADING, *words, env={**os.environ, "SLOW": slow, "HOW": how})


@pytest.mark.parametrize("how", ["pressed", "lost"])
@pytest.mark.parametrize("where", LOADED)
def test_an_interrupt_while_modules_are_loaded_ends_in_one_line(where, how, tmp_path):
    slow, words = LOADED[where]
    if words == ("fit",):
        (tmp_path / "table.csv").write_text("W,a\n" + "0,1\n1,0\n" * 20)
        words = ("fit", tmp_path / "table.csv", "-o", tmp_path / "r.choral")
    with loading(slow, how, *words) as child:
        assert child.next("stdout") == "loading\n"
        if how == "pressed":
            child.press()
        status, out, err = child.ended()
    assert (status, out) == (130, "loaded\n")
    assert err.replace(WAITING, "") == ENDED
    assert not (tmp_path / "r.choral").exists()


def test_a_second_interrupt_does_not_wait_for_what_is_being_loaded():
    with loading("choral.show.cli", "for ever", "--json", "verify", "r.choral") as child:
        assert child.next("stdout") == "loading\n"
        child.press()
        assert child.next("stderr") == WAITING
        child.press()
        assert child.ended() == (130, AS_JSON, "")
    assert json.loads(AS_JSON)["error"] == "Interrupted"


def test_who_runs_in_the_background_without_interrupts_is_not_given_any():
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    program = ignoring + "import sys; sys.argv[1:] = ['--version']\nfrom choral.__main__ import main\n"
    program += "try:\n    main()\nfinally:\n    print(signal.getsignal(signal.SIGINT).name)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "SIG_IGN"


def test_what_compiled_code_makes_of_an_interrupt_is_one(monkeypatch):
    """numpy raised a ValueError of its own when scikit-learn called it at that moment."""
    patient = Patient()
    monkeypatch.setattr(interrupts.signal, "getsignal", lambda _: patient)
    assert not interrupts.is_interrupt(ValueError("not a buffer"))
    with pytest.raises(KeyboardInterrupt):
        patient(signal.SIGINT, None)
    assert interrupts.is_interrupt(ValueError("not a buffer"))
    assert interrupts.is_interrupt(SystemError("error return without exception set"))
    assert not interrupts.is_interrupt(ch.errors.ProblemError("`protect` is empty.", "Name a column."))


def test_after_an_interrupt_of_the_search_nothing_is_looked_at_beside_the_result(monkeypatch, tmp_path):
    """It was saved by then: a second interrupt, which is said to end the command without it, found it written."""
    table = tmp_path / "table.csv"
    table.write_text("w,a,b\n" + "".join(f"{a ^ b},{a},{b}\n" for a in (0, 1) for b in (0, 1)) * 20)
    release = ch.fit(table, "w", ["a"], ["a", "b"])
    monkeypatch.setattr("choral.auditing.side_knowledge.fears", lambda *_: pytest.fail("it was looked at"))
    with interrupts.heeded("fit"):
        interrupts.say_at_once(0.0)
        found, said = side_knowledge(str(table), release, Limits())
        assert not found
        assert "was not looked at, since this was interrupted" in said
    with interrupts.heeded("fit"):
        assert not interrupts.pressed()
