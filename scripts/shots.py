"""Screenshots of every surface, light and dark, at three widths, and what is printed: `make shots` writes build/shots.

A surface is a function that makes its page in a folder and yields the address, and perhaps steps that lead to the state to be
seen; `@surface` puts it on the list. `python scripts/shots.py report demo` takes some of them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "build" / "shots"
WIDTHS = (390, 1280, 1440)
"""Pixels: a telephone, a notebook, a desk."""
SCHEMES = ("light", "dark")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-dev-shm-usage --no-first-run"
PATIENCE = 120_000
"""Milliseconds that a page may take for anything, on a busy machine."""

Steps: TypeAlias = Callable[[Any], None]
Made: TypeAlias = Iterator["str | tuple[str, Steps]"]
SURFACES: dict[str, Callable[[Path], Made]] = {}
PRINTED = {"report", "public", "paper", "site", "site-mathematics"}
"""Surfaces that people print: they are saved as PDF too."""


def surface(name: str) -> Callable[[Callable[[Path], Made]], Callable[[Path], Made]]:
    """Put a surface on the list."""

    def listed(make: Callable[[Path], Made]) -> Callable[[Path], Made]:
        SURFACES[name] = make
        return make

    return listed


def choral(*arguments: str, cwd: Path) -> str:
    """What a command says, 80 columns wide."""
    environment = {**os.environ, "COLUMNS": "80", "XDG_STATE_HOME": str(cwd)}
    command = [str(Path(sys.executable).with_name("choral")), *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def patients(folder: Path) -> Path:
    """An invented table: three used columns, one of them known to neighbours, and a diagnosis."""
    lines = ["diagnosis,sex,smoker,pressure,town"]
    for i in range(1600):
        sex, smoker, pressure = "fm"[i % 2], ("no", "yes")[i // 2 % 2], ("low", "high", "high")[i // 4 % 3]
        sick = (i * 7919 % 101) / 100 < 0.2 + 0.4 * ((smoker == "yes") ^ (pressure == "high")) + 0.2 * (sex == "f")
        town = "hill" if (i * 31 % 10 < 7) == (sex == "f") else "dale"
        lines.append(f"{'ill' if sick else 'well'},{sex},{smoker},{pressure},{town}")
    table = folder / "patients.csv"
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return table


def released(folder: Path) -> Path:
    """A release of these patients with its card."""
    table = patients(folder)
    choral(
        *("fit", table.name, "--reveal", "diagnosis", "--protect", "sex,smoker", "--use", "sex,smoker,pressure,town"),
        *("-o", "release.choral", "--card", "card.json"),
        cwd=folder,
    )
    return folder / "release.choral"


def terminal(folder: Path, name: str, text: str) -> str:
    """What a terminal shows, as a page."""
    page = folder / f"{name}.html"
    page.write_text(
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'><style>"
        ":root{color-scheme:light dark}pre{font:13px/1.35 'DejaVu Sans Mono',monospace}</style>"
        f"<pre>{escape(text)}</pre>",
        encoding="utf-8",
    )
    return page.as_uri()


@surface("demo")
def demo(folder: Path) -> Made:
    """`choral demo` in a terminal."""
    yield terminal(folder, "demo", choral("demo", cwd=folder))


@surface("terminal")
def commands(folder: Path) -> Made:
    """`fit`, `verify` and `audit` in a terminal of 80 columns."""
    table = patients(folder)
    said = [choral("--help", cwd=folder)]
    for arguments in (
        ["fit", table.name, "--reveal", "diagnosis", "--protect", "sex,smoker", "-o", "release.choral"],
        ["verify", "release.choral"],
        ["audit", "release.choral", "--table", table.name],
    ):
        said.append(f"$ choral {' '.join(arguments)}\n{choral(*arguments, cwd=folder)}")
    yield terminal(folder, "terminal", "\n".join(said))


@surface("report")
def report(folder: Path) -> Made:
    """The curator's report."""
    release = released(folder)
    choral("report", release.name, "--table", "patients.csv", "-o", "report.html", cwd=folder)
    yield (folder / "report.html").as_uri()


def site(folder: Path, page: str) -> str:
    """A page of the documentation, as `make docs` builds it."""
    from docsite.build import build

    build(ROOT / "docs", folder / "site")
    return (folder / "site" / page).as_uri()


def searched(page: Any) -> None:
    """Somebody looks for something."""
    page.keyboard.press("/")
    page.keyboard.type("two draws")
    page.locator("#found a").first.wait_for()


def drawn_twice(page: Any) -> None:
    """The explainer after the attack, with a little leakage."""
    page.locator("#r").fill("120")
    page.click("#draw")


@surface("site")
def landing(folder: Path) -> Made:
    """The first page of the documentation."""
    yield site(folder, "index.html")


@surface("site-search")
def search(folder: Path) -> Made:
    """The search, open."""
    yield site(folder, "promises.html"), searched


@surface("site-explainer")
def explainer(folder: Path) -> Made:
    """The explainer, played with."""
    yield site(folder, "explainer.html"), drawn_twice


@surface("site-gallery")
def gallery(folder: Path) -> Made:
    """The gallery."""
    yield site(folder, "gallery.html")


@surface("site-case")
def case(folder: Path) -> Made:
    """A page of the gallery."""
    yield site(folder, "gallery-second.html")


@surface("site-mathematics")
def mathematics(folder: Path) -> Made:
    """Formulas."""
    yield site(folder, "mathematics.html")


@surface("site-reference")
def reference(folder: Path) -> Made:
    """Parameters in tables."""
    yield site(folder, "disclosing-reference.html")


@surface("site-check")
def check(folder: Path) -> Made:
    """A release file, checked in the browser."""
    release = released(folder)

    def dropped(page: Any) -> None:
        page.set_input_files("#file", release)
        page.locator("#verdict-heading", has_text="keeps what it promises").wait_for()

    yield site(folder, "check.html"), dropped


@surface("paper")
def paper(folder: Path) -> Made:
    """What `choral reproduce` writes."""
    choral("reproduce", "-o", "paper", "--quick", cwd=folder)
    yield (folder / "paper" / "index.html").as_uri()


@surface("public")
def public(folder: Path) -> Made:
    """The public page beside the codes."""
    released(folder)
    choral("report", "card.json", "-o", "public.html", cwd=folder)
    yield (folder / "public.html").as_uri()


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    """A studio of its own; its address."""
    command = [str(Path(sys.executable).with_name("choral")), "studio", "--json", "--no-browser", "--port", "0"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.send_signal(signal.SIGINT)


def open_staff(page: Any) -> None:
    """The studio with a table open and an estimate."""
    page.wait_for_selector("body[data-known]")
    if page.is_hidden("#choose"):
        page.click("[data-example=staff]")
    page.wait_for_selector("#estimated")


def solve_staff(page: Any) -> None:
    """The studio with a result, and with side knowledge switched on in the game."""
    page.wait_for_selector("body[data-known]")
    if page.is_hidden("#result"):
        open_staff(page)
        page.click("#start")
    page.wait_for_selector("#dots")
    page.wait_for_selector("#pictures img")
    page.emulate_media(reduced_motion="reduce")
    page.check("input[name=scene][value='1']")
    page.evaluate("scrollTo({top: 0, behavior: 'instant'})")


@surface("studio-open")
def studio_open(folder: Path) -> Made:
    """The first page of the studio."""
    with studio(folder) as address:
        yield address


@surface("studio-choose")
def studio_choose(folder: Path) -> Made:
    """What to expect, while one chooses."""
    with studio(folder) as address:
        yield address, open_staff


@surface("studio-result")
def studio_result(folder: Path) -> Made:
    """A result, and the game."""
    with studio(folder) as address:
        yield address, solve_staff


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        sys.exit("No Chromium: run scripts/browser.")
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split(), timeout=PATIENCE)
        yield found
        found.close()


def take(found: Any, name: str) -> None:
    """All pictures of one surface."""
    with tempfile.TemporaryDirectory() as folder, contextmanager(SURFACES[name])(Path(folder)) as made:
        address, steps = made if isinstance(made, tuple) else (made, None)
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = found.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
                page = context.new_page()
                page.set_default_timeout(PATIENCE)
                page.goto(address)
                if steps is not None:
                    steps(page)
                page.screenshot(path=OUTPUT / f"{name}-{width}-{scheme}.png", full_page=True)
                if name in PRINTED and (width, scheme) == (WIDTHS[-1], "light"):
                    page.pdf(path=OUTPUT / f"{name}.pdf", prefer_css_page_size=True)
                context.close()


def main(names: list[str]) -> None:
    """Take the surfaces that are named, or all."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with browser() as found:
        for name in names or list(SURFACES):
            take(found, name)


if __name__ == "__main__":
    main(sys.argv[1:])
