"""Ctrl-C: the best so far in a search, one line and nothing half written everywhere else."""

from __future__ import annotations

import ctypes
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from in_process import choral
from scale import sensors

import choral as ch
from choral import threads
from choral.design.limits import Limits, ending_all
from choral.draw.hidden import put_file_in_place
from choral.ledger.file import LedgerFile
from choral.phases import heard, now, phase, to_the_end
from choral.problem.solution import Status

PATIENCE = 60
"""Seconds that another process may take for anything, on a busy machine."""
ASKED = ("--reveal", "W", "--protect", "sex", "--use", "sex,region,age", "--bins", "age=q3")


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(4)
    lines = ["person,W,age,sex,region"]
    for person in range(200):
        age, sex, region = draw.randrange(20, 80), draw.choice("fm"), draw.choice("nsew")
        lines.append(f"{person},{int((sex == 'f') ^ (region in 'ns'))},{age},{sex},{region}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def interrupted(*_, **__):
    """What is done instead of a piece of work: somebody presses Ctrl-C."""
    signal.raise_signal(signal.SIGINT)
    pytest.fail("the signal was swallowed")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- on the command line -------------------------------------------------------------------------------------------

FITTING = {
    "counting": "choral.release.fit.count",
    "looking for states that are alike": "choral.design.disclose.reduced_problem",
    "making the code exact": "choral.exact.repair._changes",
    "stating what is proved": "choral.design.disclose.stated_claims",
    "verifying": "choral.exact.certificate.command.verify",
    "learning a score": "choral.scores.learn.crossfitted",
}
"""What is interrupted when, of a fit."""


@pytest.mark.parametrize("doing", FITTING)
def test_an_interrupt_in_a_fit_says_where_and_leaves_nothing(folder, doing, monkeypatch):
    learned = doing == "learning a score"
    asked = ("--reveal", "W", "--protect", "sex") if learned else (*ASKED, "--solver", "sandwich")
    monkeypatch.setattr("choral.release.score._common", lambda *_: False)  # so that there is a score to learn
    monkeypatch.setattr(FITTING[doing], interrupted)
    output = ("-o", folder / "r.choral", "--card", folder / "card.json")
    found = choral("fit", folder / "table.csv", *asked, "--drop", "person", *output)
    assert found.stderr == f"choral: Interrupted while {doing}.\n        Nothing was written.\n"
    assert (found.returncode, found.stdout) == (130, "")
    assert names(folder) == ["table.csv"]


def test_an_interrupt_while_files_are_written_leaves_none(folder, monkeypatch):
    monkeypatch.setattr("choral.files.os.fsync", interrupted)
    found = choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--key", folder / "key.json")
    assert found.returncode == 130
    assert "Nothing was written." in found.stderr
    assert names(folder) == ["table.csv"]


def test_an_interrupt_between_the_ledger_and_the_card_waits_for_both(folder, monkeypatch):
    usual = LedgerFile.transaction

    @contextmanager
    def transaction(self):
        with usual(self):
            yield
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LedgerFile, "transaction", transaction)
    found = choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--card", folder / "card.json")
    assert found.returncode == 130
    assert f"Written before that: {folder / 'r.choral'}, {folder / 'card.json'}." in found.stderr
    assert {"r.choral", "card.json", "choral.ledger"} <= {*names(folder)}


def test_what_others_know_is_left_out_when_that_is_interrupted(folder, monkeypatch):
    """The release is saved by then: it is told about as usual."""
    monkeypatch.setattr("choral.auditing.side_knowledge.fears", interrupted)
    found = choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--json")
    assert found.returncode == 0
    said = json.loads(found.stdout)
    assert (said["side_knowledge"], said["release"]) == ([], str(folder / "r.choral"))
    assert any("was not looked at, since this was interrupted" in remark for remark in said["remarks"])
    assert choral("verify", folder / "r.choral").returncode == 0


DRAWING = {
    "reading the table": "choral.draw.engine.Drawing.of",
    "drawing": "choral.draw.engine._Run._ready",
    "comparing with the ledger": "choral.ledger.entry.Entry.settle",
    "sorting and writing": "choral.draw.arrange.Sorter.batches",
    "ranking records for quotas": "choral.draw.engine.Ranks.check",
}


@pytest.mark.parametrize("doing", DRAWING)
def test_an_interrupted_disclosure_tells_and_records_nothing(folder, doing, monkeypatch):
    assert choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral").returncode == 0
    words = ("disclose", folder / "r.choral", folder / "table.csv", "-o", folder / "codes.csv", "--id", "person")
    words += ("--draw", "quota") if "quotas" in doing else ()
    with monkeypatch.context() as patch:
        patch.setattr(DRAWING[doing], interrupted)
        found = choral(*words)
    assert found.stderr == f"choral: Interrupted while {doing}.\n        Nothing was written.\n"
    assert found.returncode == 130
    assert [name for name in names(folder) if name.startswith(("codes", "."))] == []
    again = choral(*words, "--json")  # nothing was recorded that would be in the way
    assert json.loads(again.stdout)["disclosed"] == 200


def test_an_interrupt_when_codes_get_their_name_comes_after_that(folder, monkeypatch):
    assert choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral").returncode == 0

    def put(*args):
        os.kill(os.getpid(), signal.SIGINT)
        put_file_in_place(*args)

    monkeypatch.setattr("choral.draw.engine.put_file_in_place", put)
    found = choral("disclose", folder / "r.choral", folder / "table.csv", "-o", folder / "codes.csv", "--id", "person")
    assert found.returncode == 130
    assert f"Written before that: {folder / 'codes.csv'}." in found.stderr
    assert len((folder / "codes.csv").read_text().splitlines()) == 201


ELSEWHERE = {
    "verify": "choral.verifier.command.verified",
    "audit": "choral.auditing.audit._findings",
    "report": "choral.auditing.audit._findings",
    "bounds": "choral.release.fit.count",
    "plan": "choral.release.fit.count",
    "suggest": "choral.tables.suggest.suggest",
    "curve": "choral.design.at_once.by_transport",
    "selftest": "choral.show.commands.selftest.try_one",
    "reproduce": "choral.paper.run.replace",
}


@pytest.mark.parametrize("command", ELSEWHERE)
def test_every_command_ends_in_one_line(folder, command, monkeypatch):
    assert choral("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral").returncode == 0
    before = names(folder)
    words = {
        "verify": (folder / "r.choral",),
        "audit": (folder / "r.choral", "--table", folder / "table.csv"),
        "report": (folder / "r.choral", "-o", folder / "page.html"),
        "bounds": (folder / "table.csv", *ASKED),
        "plan": (folder / "table.csv", *ASKED),
        "suggest": (folder / "table.csv", "--reveal", "W"),
        "curve": ("--prior", "2/3,1/3", "--channel", "bsc:0.1", "--n", "4"),
        "selftest": ("--seconds", "0"),
        "reproduce": ("-o", folder / "paper", "--only", "table-1"),
    }[command]
    monkeypatch.setattr(ELSEWHERE[command], interrupted)
    found = choral(command, *words)
    assert found.returncode == 130
    assert found.stdout == "" or command == "curve"  # which prints points as they come
    assert found.stderr.startswith("choral: Interrupted")
    assert {*names(folder)} - {"paper"} == {*before}
    as_json = choral(command, *words, "--json") if command != "report" else None
    assert as_json is None or json.loads(as_json.stdout)["error"] == "Interrupted"


PROCESS = """
import sys, time
from choral.exact import certificate
from choral.show.cli import main

def verify(*_, **__):
    print("verifying", flush=True)
    while True:
        time.sleep(0.1)

certificate.command.verify = verify
main()
"""


def test_a_process_that_verifies_ends_at_once(folder):
    words = ("fit", str(folder / "table.csv"), *ASKED, "-o", str(folder / "r.choral"))
    child = subprocess.Popen(
        [sys.executable, "-c", PROCESS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = queue.Queue()
    threading.Thread(target=lambda: lines.put(child.stdout.readline()), daemon=True).start()
    try:
        assert lines.get(timeout=PATIENCE) == "verifying\n"
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=PATIENCE)
    finally:
        child.kill()
    assert child.returncode == 130
    assert said == "choral: Interrupted while verifying.\n        Nothing was written.\n"
    assert names(folder) == ["table.csv"]


# ---- in a search ---------------------------------------------------------------------------------------------------


def test_an_interrupt_in_a_search_gives_the_best_so_far():
    def press(information, upper_bound, message):
        if information > 0 and not pressed:
            pressed.append(information)
            signal.raise_signal(signal.SIGINT)

    pressed = []
    d = ch.disclose(sensors(8), tol=1e-12, progress=press)
    assert d.status is Status.STOPPED
    assert d.information >= pressed[0] - 1e-9
    assert d.verify()["verified"]


@pytest.mark.parametrize("where", ["choral.design.disclose.reduced_problem", "choral.exact.repair._changes"])
def test_an_interrupt_before_or_after_the_search_ends_it_all(where, monkeypatch):
    monkeypatch.setattr(where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        ch.disclose(sensors(6), tol=1e-6)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_ends_the_search_itself():
    with Limits().running() as clock:
        signal.raise_signal(signal.SIGINT)
        assert clock.stopped()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_interrupt_among_many_searches_ends_all_of_them():
    with Limits().running() as whole:
        with Limits().running() as first:
            signal.raise_signal(signal.SIGINT)
            assert first.stopped()
        with Limits().running() as second:
            assert second.stopped()
        assert whole.interrupted
    with ending_all(), pytest.raises(KeyboardInterrupt), Limits().running():
        signal.raise_signal(signal.SIGINT)


def test_duckdb_says_in_its_own_way_that_it_was_interrupted():
    with pytest.raises(KeyboardInterrupt) as found, phase("counting"):
        raise RuntimeError("Query interrupted")
    assert found.value.args == ("counting",)
    with pytest.raises(RuntimeError, match="other"), phase("counting"):
        raise RuntimeError("other")


def test_the_innermost_phase_is_where_an_interrupt_came():
    said = []
    with heard(said.append), pytest.raises(KeyboardInterrupt) as found, phase("fitting"), phase("counting"):
        raise KeyboardInterrupt(*[now()] * (now() != "counting"))
    assert (found.value.args, said) == (("counting",), ["fitting", "counting", "fitting", ""])


def test_a_block_to_the_end_is_interrupted_after_it():
    done = []

    def work():
        with to_the_end():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            done.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done


def test_an_interrupt_while_libraries_are_looked_for_is_not_lost(monkeypatch):
    """The system calls back with each library, and what is raised in there is dropped: it comes when all are found."""
    found = []

    def each(*_):
        signal.raise_signal(signal.SIGINT)
        found.append(0)
        return 0

    def looked():
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(each)(0)
        return found

    monkeypatch.setattr(threads, "ThreadpoolController", looked)
    with pytest.raises(KeyboardInterrupt):
        threads._found.__wrapped__(0)
    assert found == [0]
