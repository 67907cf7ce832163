"""What the tests of pages in a browser share: a browser, a studio in a process of its own, axe-core, and pictures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).parents[1]
AXE = ROOT / ".venvs/browser/package/axe.min.js"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The shell without a window has half the work of a whole browser; any of them will do."""
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
SCREENSHOTS = ROOT / "build/screenshots"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    "--no-first-run --disable-dev-shm-usage"
)
LAPTOP, PHONE = 1280, 390
PATIENCE = 120_000
"""Milliseconds that the page may take for anything, on a busy machine."""

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or not AXE.is_file(), reason="no Chromium or axe-core: run scripts/browser (or make test-browser)"
)


@pytest.fixture(scope="package")
def browser():
    """One browser for all tests in a browser; not for the session, since tests with event loops of their own follow."""
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split(), timeout=PATIENCE)
        yield found
        found.close()


class Studio:
    """A studio in a process of its own."""

    def __init__(self, keep: Path, kept: bool = True, port: int = 0) -> None:
        self.keep, self.port = keep, port
        self.options = ("--keep", str(keep)) if kept else ()
        self.start()

    def start(self) -> None:
        program = "from choral.show.cli import main; main()"
        arguments = ["studio", "--json", "--no-browser", "--port", str(self.port), "--upload-limit", "1", *self.options]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, *arguments, "--folder", str(self.keep.parent)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(self.keep.parent / "state")},
        )
        facts = json.loads(self.process.stdout.readline())
        self.url, self.port = facts["url"], facts["port"]
        self.home = self.url.partition("/?")[0]

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE / 1000)
        assert (self.process.returncode, out, err) == (0, "", "")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    found = Studio(tmp_path_factory.mktemp("studio") / "keep")
    yield found
    found.stop()


@pytest.fixture
def visit(browser, studio):
    """Open the studio; afterwards, nothing may have left the machine and no error may have been logged."""
    opened = []

    def opening(width=LAPTOP, scheme="light", address=None):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            accept_downloads=True,
            has_touch=width == PHONE,
        )
        said = SimpleNamespace(errors=[], elsewhere=[], expected=0)

        def route(request):
            if not request.request.url.startswith(f"{studio.home}/"):
                said.elsewhere.append(request.request.url)
                request.abort()
            else:
                request.continue_()

        context.route("**/*", route)
        context.add_init_script(HANDLED)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on(
            "console",
            lambda message: said.errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: said.errors.append(str(error)))
        page.on("dialog", lambda dialog: said.errors.append(f"dialog: {dialog.message}"))
        page.goto(address or studio.url)
        opened.append((context, said))
        return page, said

    yield opening
    for context, said in opened:
        assert said.elsewhere == []
        assert len(said.errors) == said.expected, said.errors
        context.close()


def accessible(page):
    """No finding of axe-core, whatever its weight."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    said = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found["violations"]]
    assert not said, said
    assert found["testEngine"]["name"] == "axe-core"


def opened(page, example):
    """Ask for an example; where a table is open the list of them is folded."""
    page.wait_for_selector(f"[data-example={example}]", state="attached")
    asks = "(e) => { document.getElementById('opening').open = true; document.querySelector(`[data-example=${e}]`).click(); }"
    page.evaluate(asks, example)


def picture(page, name):
    """A screenshot of the whole page; nothing may stick out of it sideways."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


A4 = (688, 1005)
"""Pixels that a page of A4 has inside its margins: 182 by 266 millimetres."""


def tables_stay_whole(page):
    """Whether no table, picture or row is split in print: each may not be, and fits on a page of A4.

    A table that is said to be long may go on overleaf, with its head again and between two rows.
    """
    page.set_viewport_size({"width": A4[0], "height": A4[1]})
    page.emulate_media(media="print")
    found = page.evaluate("""() => [...document.querySelectorAll('table:not(.long), tr, figure')].map((one) =>
        [getComputedStyle(one).breakInside, one.getBoundingClientRect().height])""")
    heads = page.evaluate("""() => [...document.querySelectorAll('table.long')].map((one) =>
        [getComputedStyle(one).breakInside, getComputedStyle(one.tHead).display])""")
    whole = bool(found) and {rule for rule, _ in found} == {"avoid"} and max(high for _, high in found) <= A4[1]
    return whole and all(one == ["auto", "table-header-group"] for one in heads)


HANDLED = """
window.handled = new Set();
const plain = window.fetch;
window.fetch = async (...asked) => {
  const answer = await plain(...asked);
  const json = answer.json.bind(answer);
  answer.json = async () => {
    const facts = await json();
    setTimeout(() => window.handled.add(answer.headers.get("x-held")));
    return facts;
  };
  return answer;
};
"""
"""Marks of answers with which the page is done: what it does with one, it does before the next task."""
