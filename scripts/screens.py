"""The pictures of the studio in the README and on the first page: `make screens`, from a studio that runs.

The embedded example is opened, solved and attacked as a person would; docs/screens has what is then seen.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

SCREENS = Path(__file__).parents[1] / "docs" / "screens"
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-dev-shm-usage --no-first-run"
SIZE = {"width": 1440, "height": 880}
"""Pixels: wide enough that choices and outcome stand beside each other, and all steps in a line."""
SCALE = 0.8
"""Pixels of the picture for one of the window: small enough for a page."""
PATIENCE = 300_000
"""Milliseconds that the studio may take for anything, on a busy machine."""


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """The address of a studio that runs, with nothing of this machine in it."""
    command = [str(Path(sys.executable).with_name("choral")), "studio", "--json", "--no-browser"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        yield json.loads(process.stdout.readline())["url"]  # type: ignore[union-attr]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE / 1000)


def seen(page: Any, name: str, top: str) -> None:
    """A picture of the window, with this place at its top."""
    page.evaluate("(top) => document.querySelector(top).scrollIntoView({block: 'start', behavior: 'instant'})", top)
    page.wait_for_timeout(300)  # the last of what moves
    page.screenshot(path=SCREENS / f"{name}.png")


def main() -> None:
    """Choose, solve, play."""
    SCREENS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder)) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split(), timeout=PATIENCE)
        page = browser.new_context(
            viewport=SIZE, device_scale_factor=SCALE, color_scheme="light", reduced_motion="reduce"
        ).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        page.click("[data-example=clinic]")
        page.wait_for_selector("#estimated")
        seen(page, "studio-choose", "body")
        page.click("#start")
        page.wait_for_selector("#headline")
        page.wait_for_function("() => document.getElementById('job-words')?.textContent.includes('is finished')")
        page.wait_for_function("() => document.querySelector('#view figure img')?.naturalWidth > 0")
        seen(page, "studio-result", "#result")
        page.wait_for_selector("#rounds #dots > *")
        seen(page, "studio-game", "#game")
        browser.close()


if __name__ == "__main__":
    main()
