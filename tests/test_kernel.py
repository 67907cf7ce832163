"""A real notebook kernel: what it is told to display, and the bars that it draws, by the messages that it sends."""

from __future__ import annotations

import ast
import os
import xml.etree.ElementTree as ET
from html import unescape
from pathlib import Path

import pytest
from jupyter_client import KernelManager

import choral as ch
from choral.describe.display import at_most

PATIENCE = 120
"""Seconds that a cell may take, on a busy machine."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run a cell in a kernel of its own process and give all that it sent, but for its state and the code."""
    home = tmp_path_factory.mktemp("kernel")
    manager = KernelManager(transport="ipc", connection_file=str(home / "kernel.json"))
    manager.ip = str(home / "socket")
    source = str(Path(ch.__file__).parents[1])
    told = {"IPYTHONDIR": str(home), "JUPYTER_CONFIG_DIR": str(home), "PYTHONPATH": source}
    manager.start_kernel(env={**os.environ, **told}, cwd=str(home))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=PATIENCE)

        def running(code):
            sent = []
            answer = client.execute_interactive(code, timeout=PATIENCE, output_hook=sent.append)
            assert answer["content"]["status"] == "ok", sent
            plain = ("status", "execute_input")
            return [(one["msg_type"], one["content"]) for one in sent if one["msg_type"] not in plain]

        running("import choral as ch\nfrom choral.show import progress")
        yield running
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def cells(html):
    """The texts of the cells of what is displayed, which must be well-formed."""
    root = ET.fromstring(f"<div>{html}</div>")
    return ["".join(cell.itertext()) for cell in root.iter() if cell.tag in ("th", "td", "p", "caption")]


def test_it_is_this_choral_that_is_displayed(run):
    [(kind, content)] = run("ch.__file__")
    assert (kind, content["data"]["text/plain"]) == ("execute_result", repr(ch.__file__))


@pytest.mark.parametrize(
    ("cell", "within"),
    [
        ("ch.examples.bsc_and_bec()", "1/6"),
        ("ch.disclose(ch.examples.bsc_and_bec()).problem", "W, of 2 values"),
        ("ch.disclose(ch.examples.bsc_and_bec())", "p(y)"),
        ("ch.bounds(ch.examples.bsc_and_bec())", "nullity of P"),
    ],
    ids=["Joint", "Problem", "Disclosure", "Bounds"],
)
def test_what_a_cell_ends_with_is_shown_as_a_table(run, cell, within):
    [(kind, content)] = run(cell)
    assert kind == "execute_result"
    assert within in cells(content["data"]["text/html"])
    assert content["data"]["text/plain"], "where HTML is not drawn there is text"


def test_the_interval_is_drawn_in_one_place_and_gone_at_the_end(run):
    """Each moment of the search is an update of one display; standard error stays empty."""
    sent = run(
        "recorder = progress.Recorder()\n"
        "with progress.interval_bar() as bar:\n"
        "    d = ch.disclose(ch.examples.noisy_copies(3), progress=lambda *now: (recorder(*now), bar(*now)))\n"
        "[(m.information, m.upper_bound, m.message) for m in recorder.moments]"
    )
    assert [kind for kind, _ in sent] == ["display_data", *["update_display_data"] * (len(sent) - 2), "execute_result"]
    drawn = sent[:-1]
    [place] = {content["transient"]["display_id"] for _, content in drawn}
    assert place
    html = [content["data"]["text/html"] for _, content in drawn]
    assert html[0] == '<progress value="0" max="1"></progress> starting'
    assert html[-1] == ""
    moments = ast.literal_eval(sent[-1][1]["data"]["text/plain"])
    shown = [unescape(text) for text in html[1:-1] if 'max="12"' in text]  # the others name a phase
    assert len(shown) == len(moments) >= 1
    for text, (information, upper_bound, message) in zip(shown, moments, strict=True):
        assert text.endswith(f"> {information:.3g} … {at_most(upper_bound)} bits, {message}")
    last = ch.disclose(ch.examples.noisy_copies(3))
    assert moments[-1][1] >= last.information >= moments[-1][0] - 1e-9


def test_rows_and_a_search_that_fails(run):
    sent = run("with progress.rows_bar() as bar:\n    bar(1000, 4000)")
    assert [content["data"]["text/html"] for _, content in sent][1:] == [
        '<progress value="1000" max="4000"></progress> drawing, 1,000 of 4,000 rows',
        "",
    ]
    sent = run(
        "try:\n"
        "    with progress.steps_bar() as step:\n"
        "        step(1, 3, 'a < b')\n"
        "        raise ValueError\n"
        "except ValueError:\n"
        "    pass"
    )
    assert [kind for kind, _ in sent] == ["display_data", "update_display_data", "update_display_data"]
    assert sent[-1][1]["data"]["text/html"] == "", "the bar is gone also after an error"


def test_nothing_is_drawn_where_it_is_not_wanted(run):
    assert (
        run("with progress.interval_bar(quiet=True) as bar:\n    d = ch.disclose(ch.examples.xor(), progress=bar)")
        == []
    )
