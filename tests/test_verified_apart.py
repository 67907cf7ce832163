"""A document of many states is checked in a process of its own: what is found is the same, also where that is lost."""

from __future__ import annotations

import copy
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
import test_verifier_attacks as attacks

from choral.errors import VerificationError
from choral.exact import apart, certificate
from choral.exact.certificate import check, document_to_text, sealed
from choral.show.commands import verify as command_verify
from choral.verifier import command, slices

pytestmark = pytest.mark.skipif(
    not Path(slices.THREADS).is_dir(), reason="the verifier forks where threads are counted"
)


@pytest.fixture
def many(monkeypatch):
    """Any document has many states, and there are cores."""
    monkeypatch.setattr(slices, "LEAST_SLICE", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.delenv("CHORAL_PROCESSES", raising=False)


@pytest.fixture
def here(monkeypatch):
    """How often the verifier ran in this process."""
    found, verify = [], command.verify

    def noted(*arguments, **options):
        found.append(1)
        return verify(*arguments, **options)

    monkeypatch.setattr(command, "verify", noted)
    return found


def instead(text, folder, monkeypatch):
    """This program stands where the verifier does."""
    file = folder / "verifier.py"
    file.write_text(text)
    monkeypatch.setattr(apart, "JOINED", file)


def test_what_is_found_apart_is_what_is_found_here(many, here, monkeypatch):
    documents = [sealed(document) for document in attacks.HONEST.values()]
    found = [check(document) for document in documents]
    assert not here
    monkeypatch.setenv("CHORAL_PROCESSES", "1")
    assert [check(document) for document in documents] == found
    assert len(here) == len(documents)


def test_a_claim_that_fails_is_the_same_apart_and_here(many, here, monkeypatch):
    document = copy.deepcopy(attacks.HONEST["joint"])
    document["claims"]["information"] = "0.900000000000000"
    for changed in (sealed(document), {**attacks.HONEST["joint"], "digest": "0"}):
        said = []
        for processes in ("8", "1"):
            monkeypatch.setenv("CHORAL_PROCESSES", processes)
            with pytest.raises(VerificationError) as failed:
                check(changed)
            said.append((failed.value.claim, failed.value.reason))
        assert said[0] == said[1]
    assert len(here) == 2


@pytest.mark.parametrize(
    "program",
    [
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal, sys; sys.stdin.read(); os.kill(os.getpid(), signal.SIGKILL)",
        "import sys; sys.stdin.read(); sys.exit(0)",
        "import sys; sys.stdin.read(); print('{}'[:1]); sys.exit(1)",
        "import sys; sys.stdin.read(); print(chr(123) + '\"verified\": false' + chr(125)); sys.exit(0)",
        "import sys; sys.stdin.read(); print(chr(123) + '\"verified\": true' + chr(125)); sys.exit(3)",
        "import sys; sys.stdin.read(); print('{}'); sys.exit(0)",
        "import sys; sys.stdin.read(); print('1'); sys.exit(0)",
        "import sys; sys.stdin.read(); print('[]'); sys.exit(1)",
        "raise SystemExit(2)",
    ],
)
def test_where_the_other_process_is_lost_it_is_checked_here(program, many, here, monkeypatch, tmp_path):
    instead(program, tmp_path, monkeypatch)
    document = copy.deepcopy(attacks.HONEST["joint"])
    assert check(sealed(document))["verified"]
    document["channel"]["rows"][0] = document["channel"]["rows"][-1]
    with pytest.raises(VerificationError):
        check(sealed(document))
    assert len(here) == 2


def test_where_there_is_no_other_process_it_is_checked_here(many, here, monkeypatch, tmp_path):
    monkeypatch.setattr(apart.sys, "executable", str(tmp_path / "nothing"))
    assert check(sealed(attacks.HONEST["joint"]))["verified"]
    assert here


def test_an_interrupt_ends_the_other_process(many, monkeypatch, tmp_path):
    """Sent to this process alone, as a notebook does."""
    file = tmp_path / "number"
    instead(
        f"import os, sys, time, pathlib; sys.stdin.read(); pathlib.Path({str(file)!r}).write_text(f'{{os.getpid()}} ')\n"
        "time.sleep(600)",
        tmp_path,
        monkeypatch,
    )

    def press():
        while not (file.exists() and file.read_text().endswith(" ")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    finger = threading.Thread(target=press)
    finger.start()
    with pytest.raises(KeyboardInterrupt):
        check(sealed(attacks.HONEST["joint"]))
    finger.join()
    assert not Path(f"/proc/{int(file.read_text())}").exists()


def test_a_document_of_few_states_is_checked_here(here):
    assert len(certificate.check(json.loads(json.dumps(sealed(attacks.HONEST["joint"])))))
    assert here


def test_the_command_says_the_same_of_a_large_file_apart_and_here(many, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command_verify, "LARGE", 1)
    honest, forged, cut = (tmp_path / f"{name}.choral" for name in ("honest", "forged", "cut"))
    document = copy.deepcopy(attacks.HONEST["joint"])
    honest.write_text(document_to_text(sealed(document)))
    document["claims"]["information"] = "0.900000000000000"
    forged.write_text(document_to_text(sealed(document)))
    cut.write_text(honest.read_text()[:-9])
    started, usual = [], apart.said_apart
    monkeypatch.setattr(apart, "said_apart", lambda *given: started.append(1) or usual(*given))
    for options in ({}, {"as_json": True}, {"privacy": True}, {"budget": 100}):
        for file in (honest, forged, cut):
            said = []
            for processes in ("8", "1"):
                monkeypatch.setenv("CHORAL_PROCESSES", processes)
                status = command_verify.verified(file, **{"as_json": False, **options})
                said.append((status, capsys.readouterr().out))
            assert said[0] == said[1]
            holds = file == honest or (file == forged and "privacy" in options)  # how much is told is not checked then
            assert said[0][0] == (0 if holds and "budget" not in options else 1)
    assert len(started) == 24
    instead(
        "import sys; sys.stdin.read(); print('VERIFIED     every claim', end=''); sys.exit(1)", tmp_path, monkeypatch
    )
    monkeypatch.setenv("CHORAL_PROCESSES", "8")
    assert command_verify.verified(forged, False) == 1
    assert "information" in capsys.readouterr().out.splitlines()[-1]
