"""Notebooks: what is displayed is well-formed and right, and progress bars draw in a kernel."""

from __future__ import annotations

import io
import sys
import time
import types
import xml.etree.ElementTree as ET
from base64 import b64decode
from contextlib import redirect_stdout
from fractions import Fraction as F
from html import unescape

import pytest
from rich.console import Console

import choral as ch
from choral.auditing.audit import audit
from choral.describe.display import at_most
from choral.phases import phase
from choral.release.fit import fit
from choral.show import progress
from choral.show.progress import Recorder, in_notebook, interval_bar, rows_bar, steps_bar


def cells(shown):
    """The texts of all cells of what is displayed, which must be well-formed."""
    root = ET.fromstring(f"<div>{shown._repr_html_()}</div>")
    return ["".join(cell.itertext()) for cell in root.iter() if cell.tag in ("th", "td", "p", "caption")]


def test_laws_problems_bounds_and_disclosures_are_tables():
    law = ch.examples.bsc_and_bec()
    assert "1/8" in cells(law) or "1/6" in cells(law)
    found = ch.disclose(law)
    shown = cells(found)
    assert "p(y)" in shown
    assert shown[-3:] == ["1/3", "1/3", "1/3"]
    assert cells(found.problem)[:2] == ["reveal", "W, of 2 values"]
    assert cells(found.problem)[-2:] == ["states", "6"]
    assert f"{found.bounds.nullity}" in cells(found.bounds)


def test_states_are_columns_and_numbers_have_three_digits_with_all_of_them_behind():
    rows = [
        {"W": (i * 7 + i // 3) % 2, "sex": "fm"[i % 2], "job": "abc"[i // 2 % 3], "pay": int(i % 10 == 0)}
        for i in range(91)
    ]
    found = fit(rows, "W", ["sex"], ["sex", "job", "pay"], min_count=5).disclosure
    assert any(isinstance(value, tuple) for state in found.states for value in state)
    for d in (found, ch.disclose(ch.examples.bsc_and_bec())):
        table = ET.fromstring(d.table().html())
        head, *body = (list(row) for row in table.iter("tr"))
        wide = len(head) - d.codes
        assert [cell.text for cell in head[wide:]] == [f"y={y}" for y in range(d.codes)]
        assert [cell.text for cell in head[:wide] if cell.text] == list(d.problem.columns)
        for s, row in enumerate(body[:-1]):
            values = [part for value in d.states[s] for part in (value if isinstance(value, tuple) else (value,))]
            assert [cell.text for cell in row[:wide] if cell.text] == [str(value) for value in values]
            for y, cell in enumerate(row[wide:]):
                inner = cell.find("data")
                assert F(cell.text if inner is None else inner.get("value")) == pytest.approx(d.exact[y][s], abs=1e-15)
                read = "".join(cell.itertext())
                assert inner is None or len(read.lstrip("≈<> 0.")) <= 3, read
        assert body[-1][0].get("colspan", "1") == str(wide)


def test_a_printed_table_has_a_column_for_each_part_of_a_merged_state():
    rows = [
        {"W": (i * 7 + i // 3) % 2, "sex": "fm"[i % 2], "job": "abc"[i // 2 % 3], "pay": int(i % 10 == 0)}
        for i in range(91)
    ]
    found = fit(rows, "W", ["sex"], ["sex", "job", "pay"], min_count=5).disclosure
    title, head, *body = str(found.table()).splitlines()
    assert title == "p(y | state)"
    assert head.split() == [*found.problem.columns, *(f"y={y}" for y in range(found.codes))]
    assert not any("(" in line or "=" in line for line in body[:-1])
    for state, line in zip(found.states, body, strict=False):
        parts = [part for value in state for part in (value if isinstance(value, tuple) else (value,))]
        assert line.split()[: len(parts)] == list(map(str, parts))
    assert body[-1].split()[0] == "p(y)"


def test_budgets_and_many_groups_in_a_problem():
    law = ch.examples.noisy_copies(10)
    shown = cells(ch.disclose(law, order=2, rel_tol=0.5, time_limit=5).problem)
    assert "… and 5 more groups" in shown
    budgeted = ch.disclose(ch.examples.xor(), leakage={"X1": F(1, 100)}, rel_tol=0.2)
    assert "X1 (at most 0.01 bits)" in cells(budgeted.problem)


def test_a_law_of_a_thousand_samples_can_be_displayed():
    """Fractions too long for Python to write out are shown as decimals."""
    d = ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 40), codes=3)
    assert cells(d)
    assert "≈" in str(ch.Joint.from_counts({(0,): 1, (1,): 3**20_000}, names=["X"]))


def test_releases_and_audits():
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(6)]
    release = fit(rows)
    shown = cells(release)
    assert shown[shown.index("tells about") + 1] == "W"
    assert release.digest in shown
    found = audit(release)
    shown = cells(found)
    assert shown[0] == found.summary
    at = shown.index("to who knows")
    assert shown[at : at + 9] == ["to who knows", "right before", "right after", "bits", "a", "b", "50 %", "100 %", "1"]


def test_the_picture_stands_first_light_and_dark():
    """An image of its own, so that its rules touch nothing else; without altair and vl-convert the words are there alone."""
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(6)]
    release = fit(rows)
    for shown in (release, release.disclosure):
        first, *others = ET.fromstring(f"<div>{shown._repr_html_()}</div>")
        assert first.tag == "img"
        assert first.get("alt") == "W is guessed right 100 % instead of 50 %; a 50 % either way, b 50 % either way"
        assert all(other.tag != "img" for other in others)
        kind, _, data = first.get("src").partition(",")
        assert kind == "data:image/svg+xml;base64"
        drawn = b64decode(data).decode()
        assert "prefers-color-scheme:dark" in drawn
        assert int(ET.fromstring(drawn).get("width")) <= 800


def test_without_pictures_the_words_are_there(monkeypatch):
    monkeypatch.setattr("choral.show.plots.notebook.find_spec", lambda name: None)
    shown = ch.disclose(ch.examples.xor())._repr_html_()
    assert shown.startswith("<p>Disclosure(W: guessed right 100 % instead of 50 %;")


@pytest.fixture
def kernel(monkeypatch):
    """A stand-in for a notebook's kernel that remembers what was displayed."""
    drawn = []
    handle = types.SimpleNamespace(update=lambda html: drawn.append(html))

    def display(html, display_id):
        assert display_id
        drawn.append(html)
        return handle

    module = types.ModuleType("IPython")
    module.get_ipython = lambda: object()
    shown = types.ModuleType("IPython.display")
    shown.HTML, shown.display = str, display
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return drawn


def test_the_interval_closes_in_a_notebook(kernel):
    recorder = Recorder()
    with interval_bar() as bar:
        ch.disclose(ch.examples.noisy_copies(3), progress=lambda *now: (recorder(*now), bar(*now)))
    assert kernel[0].endswith("starting")
    assert kernel[-1] == ""
    drawn = [unescape(text) for text in kernel[1:-1]]
    moments = [text for text in drawn if ET.fromstring(f"<p>{text}</p>").find("progress").get("max") == "12"]
    assert len(moments) == len(recorder.moments)
    for text, moment in zip(moments, recorder.moments, strict=True):
        interval = f"{moment.information:.3g} … {at_most(moment.upper_bound)} bits"
        assert text.endswith(f"> {interval}, {moment.message}")
    assert next(text.partition("> ")[2] for text in drawn if "value" not in text) == "looking for states that are alike"
    assert drawn[-1].endswith("bits, stating what is proved") or drawn[-1].endswith("bits, searching")


def test_rows_and_steps_in_a_notebook(kernel):
    with rows_bar() as bar:
        bar(1000, 4000)
    assert kernel[1] == '<progress value="1000" max="4000"></progress> drawing, 1,000 of 4,000 rows'

    def fails():
        with steps_bar() as step:
            step(1, 3, "a < b")
            raise ValueError("within")

    with pytest.raises(ValueError, match="within"):
        fails()
    assert "a &lt; b" in kernel[-2]
    assert kernel[-1] == ""


def test_nothing_is_drawn_where_nobody_looks(kernel, monkeypatch):
    with interval_bar(quiet=True) as bar:
        assert bar is None
    assert kernel == []
    monkeypatch.delitem(sys.modules, "ipykernel")
    assert not in_notebook()
    with interval_bar() as bar, rows_bar() as rows, steps_bar() as steps:
        assert (bar, rows, steps) == (None, None, None)


# ---- on a terminal -------------------------------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch):
    """What is drawn on a terminal of eighty columns."""
    screen = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=screen, force_terminal=True, width=80))
    return screen


def shown(screen, words):
    """Wait until something is on the screen, which another thread draws."""
    for _ in range(1000):
        if words in screen.getvalue():
            return True
        time.sleep(0.01)
    return False


def test_a_phase_that_lasts_is_named_and_the_streams_are_left_alone(terminal, monkeypatch):
    """Drawing took over standard output, and what the verifier said went to the terminal."""
    monkeypatch.setattr(progress, "SOON", 0.0)
    with progress.named_phases():
        said = io.StringIO()
        with redirect_stdout(said), phase("verifying"):
            assert shown(terminal, "verifying")
            with phase("counting"):
                assert shown(terminal, "counting")
            sys.stdout.write("holds\n")
        assert said.getvalue() == "holds\n"
    assert sys.stdout is not said


def test_a_search_says_its_interval_and_then_what_comes_after_it(terminal):
    with interval_bar() as bar:
        bar(0.125, 0.25, "level 3, 40 lines, iteration 2")
        assert shown(terminal, "0.125 … 0.25 bits, level 3, 40 lines, iteration 2")
        with phase("making the code exact"):
            assert shown(terminal, "0.125 … 0.25 bits, making the code exact")
