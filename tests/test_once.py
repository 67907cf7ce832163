"""What is costly happens once in a command: counted while the commands run, by the script that draws the house."""

from __future__ import annotations

import pytest
from house import COMMANDS, ONCE, counted, followed

PARSED, POSED, REDUCED, FORMS, DIGESTS = ONCE
TIMES = {
    # a fit parses what it is about to write; its second problem is that of a promise, whose price it says
    "fit": {PARSED: 1, POSED: 2, REDUCED: 2, FORMS: 2, DIGESTS: 1},
    "disclose": {PARSED: 1, POSED: 1, DIGESTS: 1},
    "verify": {PARSED: 1, POSED: 1},
    "audit": {PARSED: 1, POSED: 1},
    "bounds": {POSED: 1, FORMS: 1, DIGESTS: 1},
    "plan": {POSED: 1, REDUCED: 1, FORMS: 1, DIGESTS: 1},
}


@pytest.fixture(scope="module")
def times():
    return counted(followed())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_once_what_it_needs(times, command):
    found = {what: times[f"{what}, {command}"] for what in ONCE}
    assert {what: n for what, n in found.items() if n} == TIMES[command]
