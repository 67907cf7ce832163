"""Property tests draw the same examples every time; `CHORAL_EXPLORE=1 make test` draws new ones.

`slow.txt` lists the tests that `make quick` leaves out, with the seconds of processor time that they took; a test is in it
from fifteen hundredths of a second on. `CHORAL_SECONDS=file make test` appends what each takes to a file; `scripts/slow file`
makes the list of it. Processor time, of a test and of the processes that it waits for, so that a busy machine gives the same
list.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

from choral import files
from choral.show import progress

SECONDS = {
    test: float(seconds)
    for seconds, test in (
        line.split(maxsplit=1) for line in Path(__file__).with_name("slow.txt").read_text().splitlines()
    )
}

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts something in the background has it ignore Ctrl-C, and what it starts in turn: some tests send one.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("same", derandomize=True, deadline=None, database=None)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("explore" if os.environ.get("CHORAL_EXPLORE") else "same")


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Note what the test took, its fixtures with it, where that is asked for."""
    before = sum(os.times()[:4])
    result = yield
    if notes := os.environ.get("CHORAL_SECONDS"):
        with open(notes, "a") as file:
            file.write(f"{sum(os.times()[:4]) - before:.2f} {item.nodeid}\n")
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
