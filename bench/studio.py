"""How long the studio takes to show itself, and a solution, beside a bare page and beside the library call.

First paint is what the browser reports (first-contentful-paint); the weight of a page is the bytes of all that it loads.
The solution is that of the ten-column example: from pressing Solve to the number on the page, against `fit` and `save` in
this process. Needs Chromium (scripts/browser) and a quiet machine.
"""

from __future__ import annotations

import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, Response, sync_playwright

from choral.release.fit import fit
from choral.show.studio.samples import SAMPLES

TIMES = 5
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
PAINT = """() => new Promise((done) => new PerformanceObserver((list) => {
    const found = list.getEntriesByName('first-contentful-paint');
    if (found.length) done(found[0].startTime);
}).observe({type: 'paint', buffered: true}))"""


class Bare(BaseHTTPRequestHandler):
    """A page with one paragraph."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>bare</title><p>bare</p>")

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def first_paint(page: Page, url: str) -> float:
    """Milliseconds to the first paint of a page, the median of several visits."""
    found = []
    for _ in range(TIMES):
        page.goto("about:blank")
        page.goto(url)
        found.append(page.evaluate(PAINT))
    return statistics.median(found)


def weight(page: Page, url: str) -> tuple[int, int]:
    """Bytes that a page loads, with all that belongs to it, and how many requests that takes."""
    sizes: list[int] = []

    def count(answer: Response) -> None:
        if not answer.url.endswith("/api/state"):
            sizes.append(len(answer.body()))

    page.goto("about:blank")
    page.on("response", count)
    page.goto(url, wait_until="networkidle")
    page.remove_listener("response", count)
    return sum(sizes), len(sizes)


def shown(page: Page, url: str) -> float:
    """Seconds from pressing Solve to the number on the page, the median of several."""
    page.goto(url)
    page.click("[data-example=staff]")
    page.wait_for_selector("#feasible")
    found = []
    for _ in range(TIMES):
        page.wait_for_timeout(4000)  # the next process is loaded while nobody waits
        before = page.evaluate("document.querySelectorAll('#which-result option').length")
        start = time.perf_counter()
        page.click("#start")
        page.wait_for_function("(n) => document.querySelectorAll('#which-result option').length > n", arg=before)
        page.wait_for_selector("#headline")
        found.append(time.perf_counter() - start)
        page.wait_for_function("() => document.getElementById('job-words').textContent.includes('is finished')")
    return statistics.median(found)


def library(folder: Path) -> float:
    """Seconds for the same in this process: fit and save, which verifies."""
    example = SAMPLES["staff"]
    path, found = example.write(folder), []
    use = [*example.protect, *example.use]
    for turn in range(TIMES):
        start = time.perf_counter()
        release = fit(path, example.reveal, [[name] for name in example.protect], use, bins={"age": "4"})
        release.save(folder / f"{turn}.choral")
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def main() -> None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    command = [
        sys.executable,
        "-P",
        "-c",
        "from choral.show.cli import main; main()",
        "studio",
        "--json",
        "--no-browser",
    ]
    studio = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    bare = ThreadingHTTPServer(("127.0.0.1", 0), Bare)
    threading.Thread(target=bare.serve_forever, daemon=True).start()
    try:
        assert studio.stdout is not None
        url = json.loads(studio.stdout.readline())["url"]
        with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
            browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page()
            page.set_default_timeout(120_000)
            page.goto(url)
            page.wait_for_timeout(4000)
            nothing, ours = first_paint(page, f"http://127.0.0.1:{bare.server_port}/"), first_paint(page, url)
            print(f"first paint   bare page {nothing:6.0f} ms   studio {ours:6.0f} ms   ratio {ours / nothing:.2f}")
            (empty, _), (loaded, requests) = weight(page, f"http://127.0.0.1:{bare.server_port}/"), weight(page, url)
            print(
                f"page weight   bare page {empty / 1e3:6.1f} kB   studio {loaded / 1e3:6.1f} kB   "
                f"ratio {loaded / empty:.0f}, in {requests} requests"
            )
            alone, there = library(Path(folder)), shown(page, url)
            print(f"solution      library   {alone:6.2f} s    studio {there:6.2f} s    ratio {there / alone:.2f}")
            browser.close()
    finally:
        studio.send_signal(signal.SIGINT)
        studio.wait()
        bare.shutdown()


if __name__ == "__main__":
    main()
