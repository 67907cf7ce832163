"""The documentation: its shell commands run and print what it says; the site is whole and loads nothing from elsewhere."""

from __future__ import annotations

import doctest
import inspect
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from subprocess import PIPE, STDOUT
from urllib.parse import unquote, urlsplit

import duckdb
import httpx
import in_process
import pytest
from docsite.build import build
from docsite.reference import PAGES

import choral

ROOT = Path(__file__).parents[1]
TEXTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOW_AND_THEN = re.compile(r"^choral: .*, \d+ s so far\n", re.MULTILINE)
"""What a command without a terminal says while it takes long, which a busy machine decides."""
SPARK = ROOT / "docs" / "spark.md"
"""Its commands and its Python need a Spark: tests/test_spark.py runs them."""
GALLERY_SPARK = ROOT / "docs" / "gallery-spark.md"
"""One block of it needs a Spark, too."""
PATIENCE = 120
"""Seconds that the studio may take to start, on a busy machine."""


def sessions(path):
    """The commands of a page in order, each with the output that it shows."""
    found = []
    for block in CONSOLE.findall(path.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif line.startswith("> "):
                found[-1] = (found[-1][0] + "\n" + line[2:], [])
            else:
                found[-1][1].append(line)
    return [(command, "\n".join(lines)) for command, lines in found]


WITH_COMMANDS = [path for path in TEXTS if path != SPARK and sessions(path)]


@pytest.fixture
def folder(tmp_path):
    """A folder with the tables that the pages speak of, and the sources of choral."""
    draw = random.Random(20)
    for name, rows in (("people", 400), ("other", 300), ("unseen", 500)):
        lines = ["person,outcome,income,age,sex,region"]
        for person in range(rows):
            age, sex, region = draw.choice(["old", "young"]), draw.choice("fm"), draw.choice("ns")
            ill = draw.random() < (0.7 if (age == "old") ^ (region == "n") else 0.2)
            rich = draw.random() < (0.6 if (sex == "f") ^ (region == "s") else 0.3)
            lines.append(f"{person},{'ill' if ill else 'well'},{'high' if rich else 'low'},{age},{sex},{region}")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    duckdb.sql(f"COPY (FROM '{tmp_path / 'people.csv'}') TO '{tmp_path / 'people.parquet'}'")
    lines = [
        f"{draw.choice(('ill', 'well'))},{draw.randint(20, 90)},{draw.choice('fm')},{draw.choice('ns')}"
        for _ in range(900)
    ]
    (tmp_path / "table.csv").write_text("\n".join(["outcome,age,sex,region", *lines]) + "\n", encoding="utf-8")
    (tmp_path / "src").symlink_to(ROOT / "src")
    return tmp_path


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=[path.stem for path in WITH_COMMANDS])
def test_the_commands_of_a_page_run_and_print_what_it_shows(path, folder):
    """An audit of codes that were given out fails for one honest release in a hundred, so its status is left out."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "120",
    }
    checker = doctest.OutputChecker()
    for command, shown in sessions(path):
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words == ["choral", "studio"]:
            visit_the_studio(folder, environment)
            continue
        if words == ["make", "test"]:
            assert "python -m pytest -n " in steps_of(words), "which is what runs this"
            continue
        if words[0] == "choral" and not set("|<>&;$*`") & set(re.sub(r"'[^']*'|\"[^\"]*\"", "", command)):
            done = in_process.choral(*words[1:], cwd=folder, together=True, columns=120)
        else:
            run = ["bash", "-c", steps_of(words) if words[0] == "make" else command]
            done = subprocess.run(
                run, stdout=PIPE, stderr=STDOUT, check=False, cwd=folder, env=environment, encoding="utf-8"
            )
        printed = NOW_AND_THEN.sub("", done.stdout)
        said = f"{command}\n{printed}"
        if "--disclosed" in command:
            assert "codes given out" in said, said
        else:
            assert done.returncode == 0, said
        if shown:
            assert checker.check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), said


def steps_of(words):
    """What make would do where the environment is set up, as it is here."""
    run = ["make", "--no-print-directory", "--dry-run", "--assume-old=.venv/ready", *words[1:]]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.replace(".venv/bin/", "")


def visit_the_studio(folder, environment):
    """Start it as the page says, with a browser that only writes down what it is to open; ask for that page; stop it."""
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > "{folder}/asked" && mv "{folder}/asked" "{folder}/opened"\n')
    browser.chmod(0o700)
    opened = folder / "opened"
    studio = subprocess.Popen(
        ["choral", "studio"], stdout=PIPE, stderr=PIPE, cwd=folder, env={**environment, "BROWSER": f"{browser} %s"}
    )
    try:
        for _ in range(10 * PATIENCE):
            if opened.exists() or studio.poll() is not None:
                break
            time.sleep(0.1)
        page = Path(unquote(urlsplit(opened.read_text().strip()).path)).read_text(encoding="utf-8")
        [address] = set(re.findall(r"http://127\.0\.0\.1:\d+/\?token=[\w-]+", unescape(page)))
        answer = httpx.get(address, timeout=PATIENCE)
        assert answer.status_code == 200
        assert "<title>choral studio</title>" in answer.text
    finally:
        studio.send_signal(signal.SIGINT)
        out, err = studio.communicate(timeout=PATIENCE)
    assert (studio.returncode, err) == (0, b"")
    assert address.encode() in out


def test_every_block_is_run():
    """Python is a doctest and console a session; what else there is, is data. A block without a language would be neither."""
    for path in TEXTS:
        for language, body in BLOCK.findall(path.read_text(encoding="utf-8")):
            assert language in {"python", "console", "text", "json"}, path.name
            if language == "python" and path not in (SPARK, GALLERY_SPARK):
                assert body.startswith(">>> "), body
            if language == "console":
                assert body.startswith("$ "), body
            if language == "text":
                assert not re.search(r"^(\$|>>>|import|from) ", body, re.MULTILINE), body
            if language == "json":
                json.loads(re.sub(r"…|\.\.\.", "", body))


class Found(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors, self.scripts = [], [], set(), 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        self.scripts += tag == "script" or any(key.startswith("on") for key in given)
        if tag == "a":
            self.links.append(given["href"])
        else:
            self.loads += [given[key] for key in ("src", "href", "srcset", "data", "action") if given.get(key)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    target = tmp_path_factory.mktemp("site")
    build(ROOT / "docs", target)
    return target


@pytest.fixture(scope="module")
def pages(site):
    return {path.name: Found(path.read_text(encoding="utf-8")) for path in site.glob("*.html")}


def test_every_link_of_the_site_leads_somewhere(site, pages):
    assert len(pages) >= len(TEXTS) - 1 + len(PAGES)
    broken = []
    for name, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = parts.path or name
            here = not (parts.scheme or parts.netloc) and (target in pages or (site / target).is_file())
            if not here or (parts.fragment and unquote(parts.fragment) not in pages[target].anchors):
                broken.append(f"{name}: {link}")
    assert broken == []


def test_the_site_loads_nothing_from_elsewhere(site, pages):
    """Its style, its mark, and the script of the search; two pages carry all that they need (see tests/browser)."""
    for name, page in pages.items():
        own = {load for load in page.loads if not load.startswith(("pictures/", "screens/"))}
        alone = name in ("check.html", "explainer.html")
        assert own == (set() if alone else {"style.css", "mark.svg", "site.js"}), name
        assert page.scripts == (2 if alone else 1), name
    for name in ("style.css", "site.js"):
        text = (site / name).read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|https?:|fetch|XMLHttpRequest|sendBeacon|WebSocket", text), name


def test_the_index_of_the_search_leads_to_headings_that_are_there(site, pages):
    text = (site / "search-index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("choralIndex = ").removesuffix(";\n"))
    assert {urlsplit(at).path for at, *_ in index} == set(pages)
    for at, title, *_ in index:
        parts = urlsplit(at)
        assert not parts.fragment or unquote(parts.fragment) in pages[parts.path].anchors, at
        assert title
    assert sum("exclusive or" in words for *_, words in index) >= 1


def test_formulas_are_drawn_by_the_browser(site):
    """What stands between dollars in the sources is MathML in the pages, and no dollar is left over but in code."""
    formulas = 0
    for path in TEXTS[1:]:
        prose = re.sub(r"^```.*?^```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        blocks = re.findall(r"^\$\$\n.*?\n\$\$$", prose, re.MULTILINE | re.DOTALL)
        rest = re.sub(r"^\$\$\n.*?\n\$\$$", "", prose, flags=re.MULTILINE | re.DOTALL)
        found = (site / f"{path.stem}.html").read_text(encoding="utf-8").count("<math ")
        assert 2 * found == 2 * len(blocks) + rest.count("$"), path.name
        formulas += found
    assert formulas > 1


def test_the_pictures_of_the_pages_are_what_the_library_draws():
    """The same drawing, number by number; the words of a newer renderer may differ."""
    from pictures import PICTURES, drawn

    numbers = re.compile(r"-?\d+\.?\d*")
    for name, svg in drawn().items():
        kept = (PICTURES / name).read_text(encoding="utf-8")
        assert [round(float(n), 3) for n in numbers.findall(kept)] == [round(float(n), 3) for n in numbers.findall(svg)]
    shown = {
        (path.parent / image).resolve()
        for path in TEXTS
        for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf-8"))
    }
    wide = {path.resolve() for path in PICTURES.iterdir() if not path.stem.endswith("-narrow")}
    screens = {path.resolve() for path in (ROOT / "docs" / "screens").iterdir()}
    assert shown == wide | screens, "tests/test_gallery.py compares those of the gallery"
    assert len(screens) == 3
    assert sum(path.stat().st_size for path in screens) < 600_000


def test_every_page_can_be_reached_from_the_first(pages):
    reached, waiting = set(), ["index.html"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [urlsplit(link).path or name for link in pages[name].links if not link.endswith((".js", ".png"))]
    assert reached == set(pages)


def test_every_public_name_is_in_the_reference(pages):
    anchors = set().union(*(pages[f"{name}.html"].anchors for name in PAGES))
    missing = [name for name in choral.__all__ if name != "__version__" and f"choral-{name.lower()}" not in anchors]
    assert missing == []


@pytest.mark.parametrize(
    ("page", "function"), [("disclosing-reference", choral.disclose), ("release-reference", choral.fit)]
)
def test_every_parameter_stands_in_a_table(site, page, function):
    """With its default, and with what it is: also those that another function describes."""
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    start = text.index(f'id="choral-{function.__name__}"')
    table = text[start : text.index("</table>", start)]
    rows = dict(
        re.findall(r"<tr>\n<td[^>]*><code>(\w+)</code></td>\n<td[^>]*>(.*?)</td>\n<td[^>]*>.+?</td>", table, re.DOTALL)
    )
    for name, parameter in inspect.signature(function).parameters.items():
        default = (
            ""
            if parameter.default is parameter.empty
            else f"<code>{escape(repr(parameter.default), quote=False)}</code>"
        )
        assert rows[name].replace("&quot;", '"') == default, name
