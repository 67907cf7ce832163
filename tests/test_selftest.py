"""`choral selftest` holds here, says what it tried, and would notice a verifier or a channel that is not as it should be."""

from __future__ import annotations

import copy
import json
import os
import random
from pathlib import Path

import pytest
from in_process import choral

from choral.errors import VerificationError
from choral.exact import certificate
from choral.show.commands import selftest


def test_it_holds_says_what_was_tried_and_leaves_nothing_behind():
    done = choral("selftest", "--seconds", "0", "--seed", "3", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["held"], found["broken"], found["seed"]) == (0, True, [], 3)
    tried = found["tried"]
    assert (tried["problems"], tried["alone"], tried["once"]) == (1, 1, 1)
    assert tried["promises"] >= 1
    assert tried["forgeries"] >= 2
    assert not (Path(os.environ["XDG_STATE_HOME"]) / "choral").exists()


def all_but_the_table(tally):
    tally.counts["alone"] += 1


def test_a_verifier_that_accepts_everything_or_nothing_is_noticed(monkeypatch):
    monkeypatch.setattr(selftest, "twice_and_alone", all_but_the_table)

    def refuse(document):
        raise VerificationError("privacy", "whatever it says")

    for check, sentence in ((lambda document: {}, "accepts a forged file"), (refuse, "refuses what is true")):
        monkeypatch.setattr(certificate, "check", check)
        done = choral("selftest", "--seconds", "0", "--seed", "3")
        assert done.returncode == 1
        assert f"BROKEN   problem 0 (columns) of seed 3: the verifier {sentence}" in done.stdout
        assert "HELD" not in done.stdout
        assert done.stdout.splitlines()[-1].startswith("FAILED")


@pytest.mark.parametrize(("name", "make"), dict(selftest.PROBLEMS).items())
def test_what_is_promised_is_recomputed_and_a_moved_unit_of_mass_is_seen(name, make):
    document = json.loads(certificate.document_to_text(make(random.Random(5)).document))
    records = list(selftest.records_of(document["law"], document["use"]))
    promises = selftest.promises_of(document)
    assert all(selftest.kept(records, document, promise) for promise in promises)
    assert {promise.factor != 1 for promise in promises} == ({True, False} if name == "a ratio" else {False})
    telling = copy.deepcopy(document)
    states = telling["channel"]["states"]
    rows = [["1", [i, "1"]] for i in range(len(states))]
    telling["channel"] |= {"codes": len(states), "rows": rows}  # the code is the state
    assert not all(selftest.kept(records, telling, promise) for promise in promises)
