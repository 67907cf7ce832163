"""Property tests draw the same examples every time, fits the same keys and salts; `CHORAL_EXPLORE=1 make test` draws others.

It stands here and not in tests, since the examples of the documentation are tests too: each needs a folder of its own.

`tests/slow.txt` lists the tests that `make quick` leaves out, with the processor seconds that they took; a test is in it
if it would take fifteen hundredths of a second alone. `CHORAL_SECONDS=file make test` appends what each takes to a file;
`scripts/slow file` makes the list of it. Processor time, of a test and of the processes that it waits for, so that a busy
machine gives the same list.
"""

from __future__ import annotations

import gc
import os
import random
import secrets
import signal
import tempfile
import threading
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import typer.main
import typer.testing
from hypothesis import settings

from choral import files
from choral.show import progress

collect_ignore = ["tests/apart.py"]
"""A program that tests run, not a module: it reads what it is given."""

SECONDS = {
    test: float(seconds)
    for seconds, test in (
        line.split(maxsplit=1)
        for line in Path(__file__).with_name("tests").joinpath("slow.txt").read_text().splitlines()
    )
}

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts something in the background has it ignore Ctrl-C, and what it starts in turn: some tests send one.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CHORAL_EXPLORE") else "same")


# A process makes the commands of its functions once, in a tenth of a second; tests run a thousand commands in one process.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)


class Drawn:
    """What `secrets` gives in a test: the same every time, for a test alone as in a whole run.

    Salts and keys are drawn in every fit, and counts by quota with noise depend on them: one salt in twenty may leave a code
    with too few bearers, and that is for a test that asks for it.
    """

    def __init__(self):
        self.bits = random.SystemRandom()
        os.register_at_fork(after_in_child=self._unlike)

    def _unlike(self):
        """What two processes draw differs: names of files, for one."""
        self.bits = random.SystemRandom()

    def begin(self, name):
        self.bits = random.SystemRandom() if os.environ.get("CHORAL_EXPLORE") else random.Random(name)

    def token_bytes(self, nbytes=None):
        return self.bits.randbytes(secrets.DEFAULT_ENTROPY if nbytes is None else nbytes)

    def randbelow(self, exclusive_upper_bound):
        return self.bits.randrange(exclusive_upper_bound)


DRAWN = Drawn()
secrets.token_bytes, secrets.randbelow = DRAWN.token_bytes, DRAWN.randbelow


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    DRAWN.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """What tests share is the same whichever of them comes first, and so is what that one draws after it.

    What is noted of ledgers outside is noted for it alone.
    """
    if fixturedef.scope == "function":
        return (yield)
    kept, before = DRAWN.bits, _taken()
    DRAWN.begin(f"{request.node.nodeid} {fixturedef.argname}")
    with tempfile.TemporaryDirectory() as state, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", state)
        try:
            return (yield)
        finally:
            DRAWN.bits = kept
            PAID[fixturedef] = PAID.get(fixturedef, 0) + _taken() - before


def pytest_collection_modifyitems(items):
    """The files that take longest first: `make test` gives a worker a file at a time, and none should be left alone with one.

    Those in a browser stay together before all others: a worker that comes back to them would start another browser.
    """
    files = Counter()
    for item in items:
        if item.nodeid in SECONDS:
            item.add_marker(pytest.mark.slow)
        files[_file(item)] += SECONDS.get(item.nodeid, 0)
    items.sort(key=lambda item: (not _file(item).startswith("tests/browser/"), -files[_file(item)], _file(item)))


def _file(item):
    return item.nodeid.partition("::")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """What was imported and collected stays to the end: Python need not look through it for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # looking took 3 to 10 % of the seconds, as measured


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure():
    """At the end all goes, or libraries say that somebody holds their objects."""
    gc.unfreeze()


PAID = {}
"""Seconds that making what tests share took."""
SHARED = 1
"""Seconds from which that makes each of these tests slow: without the others the first of them would wait for it."""


def _taken():
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note what the test took, and what it would take alone: with what it shares, if making that takes long."""
    before, paid = _taken(), sum(PAID.values())
    result = yield
    if notes := os.environ.get("CHORAL_SECONDS"):
        info = getattr(item, "_fixtureinfo", None)
        used = [found[-1] for found in info.name2fixturedefs.values()] if info else []
        shared = sum(PAID[one] for one in used if PAID.get(one, 0) >= SHARED)
        here = _taken() - before
        alone = here - (sum(PAID.values()) - paid) + shared
        with open(notes, "a") as file:
            file.write(f"{here:.2f} {alone:.2f} {item.nodeid}\n")
    return result


@pytest.fixture(autouse=True)
def _state_folder(tmp_path_factory, monkeypatch):
    """Whatever is noted of ledgers outside is noted for one test alone."""
    monkeypatch.delenv("COLUMNS", raising=False)  # some runners set it, and what is printed is wrapped there
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state" / secrets.token_hex(8)))
    files.WRITTEN.clear()  # a command is a process of its own, and a test is one here


@pytest.fixture(autouse=True)
def _no_lines_of_slow_machines(monkeypatch):
    """What a command says depends on how long it takes only where a test asks for that."""
    monkeypatch.setattr(progress, "OFTEN", threading.TIMEOUT_MAX)
