"""How heavy the pages of the documentation and the two reports are, and how soon something is seen, beside a bare page.

Weight is the bytes of the page and of all that it loads, before anybody searches. The bare page holds the same words and the
same pictures, and nothing else: no style, no script, no list of pages. First paint is what the browser reports
(first-contentful-paint), the median of several visits, each page beside its bare one. Needs Chromium (scripts/browser) and
a quiet machine.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from choral.release.card import card_of
from choral.release.fit import fit
from choral.show.report import render, render_public
from choral.show.studio.samples import SAMPLES

ROOT = Path(__file__).parents[1]
TIMES = 7
PAGES = ("index", "explainer", "gallery", "mathematics", "disclosing-reference", "commands", "check")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
    const found = list.getEntriesByName('first-contentful-paint');
    if (found.length) done(found[0].startTime);
}).observe({type: 'paint', buffered: true}))"""
PLAIN = """() => [...document.querySelectorAll('main > :is(h1, h2, p, ul, pre), main table, main picture')]
    .map((part) => part.tagName === 'PICTURE' ? part.outerHTML : `<p>${part.innerText.replace(/[<&]/g, ' ')}`).join('\\n')"""


SET = """() => [...document.querySelectorAll('main :is(h1, h2, h3, p, li, dt, dd, caption, th, td, pre, figure svg)')]
    .map((part) => part.matches('svg') ? part.outerHTML : `<p>${part.innerText.replace(/[<&]/g, ' ')}`).join('\\n')"""
"""The same of a report, whose parts are nested."""


def reports(folder: Path) -> dict[str, Path]:
    """The curator's report and the public page of an example."""
    found = fit(SAMPLES["clinic"].write(folder), "diagnosis", ["pressure", "glucose", "smoker"])
    pages = {"report": render(found, found.audit()), "public": render_public(card_of(found))}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in pages}


def visit(page: Page, address: str) -> tuple[float, int]:
    """Milliseconds to the first paint, the median of several visits, and the bytes that one visit reads."""
    found, read = [], 0
    for _ in range(TIMES):
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto("about:blank")
        page.goto(address)
        found.append(page.evaluate(PAINT))
        files = {Path(url.removeprefix("file://").partition("#")[0]) for url in asked if url.startswith("file://")}
        read = sum(path.stat().st_size for path in files)
    return statistics.median(found), read


def main() -> None:
    """Print a line for each page."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))),
        None,
    )
    sys.path.insert(0, str(ROOT / "scripts"))
    from docsite.build import build

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        site = Path(folder)
        build(ROOT / "docs", site)
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page()
        print(f"{'page':22} {'weight':>10} {'bare':>10} {'ratio':>6}   {'first paint':>11} {'bare':>8} {'ratio':>6}")
        documented = {name: (site / f"{name}.html", PLAIN) for name in PAGES}
        for name, (path, words) in (documented | {name: (path, SET) for name, path in reports(site).items()}).items():
            page.goto(path.as_uri())
            bare = site / f"{name}-bare.html"
            bare.write_text(f"<!doctype html><title>bare</title>{page.evaluate(words)}", encoding="utf-8")
            ours, plain = (visit(page, one.as_uri()) for one in (path, bare))
            weights = f"{ours[1] / 1024:>7.0f} kB {plain[1] / 1024:>7.0f} kB {ours[1] / plain[1]:>6.2f}"
            print(f"{name:22} {weights}   {ours[0]:>8.0f} ms {plain[0]:>5.0f} ms {ours[0] / plain[0]:>6.2f}")
        index = (site / "search-index.js").stat().st_size
        print(f"the index of the search, loaded when somebody searches: {index / 1024:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
