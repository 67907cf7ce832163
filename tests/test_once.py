"""What is costly happens once in a command: counted while the commands run, by the script that draws the house."""

from __future__ import annotations

import pytest
from house import COMMANDS, ONCE, counted, followed

PARSED, POSED, REDUCED, FORMS, DIGESTS = ONCE
NEEDED = {
    "fit": {PARSED, POSED, REDUCED, FORMS, DIGESTS},  # it parses what it is about to write
    "disclose": {PARSED, POSED, DIGESTS},
    "verify": {PARSED, POSED},
    "audit": {PARSED, POSED},
    "bounds": {POSED, FORMS, DIGESTS},
    "plan": {POSED, REDUCED, FORMS, DIGESTS},
}


@pytest.fixture(scope="module")
def times():
    return counted(followed())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_once_what_it_needs(times, command):
    assert {what: times[f"{what}, {command}"] for what in ONCE} == {what: int(what in NEEDED[command]) for what in ONCE}
