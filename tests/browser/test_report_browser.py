"""The reports in a browser: the gravest finding is in sight, a telephone loses nothing, dark is dark, print has numbers.

Needs Chromium and axe-core (`scripts/browser`).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from browsing import A4, AXE, PATIENCE, needs_chromium, tables_stay_whole

import choral as ch
from choral.auditing.audit import audit
from choral.release.card import card_of
from choral.release.fit import fit
from choral.show.plots import signature
from choral.show.report import render, render_public

LONG = ("a name of " + "two hundred characters " * 9).strip()
RIGHT_TO_LEFT = "\u05d2\u05d9\u05dc \u05d4\u05de\u05e9\u05ea\u05ea\u05e3"
OFF_SCREEN = """() => [...document.querySelectorAll('h1, h2, h3, p, li, dt, dd, .verdict')].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.width && !node.closest('.scroll') && (box.left < -1 || box.right > innerWidth + 1);
}).map((node) => node.textContent.slice(0, 60))"""
CONTRAST = """() => {
    const light = (colour) => {
        const parts = colour.match(/[0-9.]+/g).slice(0, 3).map((x) => x / 255);
        const [r, g, b] = parts.map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = light(getComputedStyle(document.body).backgroundColor);
    return [...document.querySelectorAll('#short figure svg.wide text')].filter((node) => node.textContent).map((node) => {
        const ink = light(getComputedStyle(node).fill);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    });
}"""

pytestmark = needs_chromium


def people(target="diagnosis", hidden="sex", values=2):
    """A table in which the code ties what is hidden to another column."""
    rows = []
    for i, (sex, smoker, pressure) in enumerate(product("fm", ("no", "yes"), ("high", "low"))):
        for k in range(40 + 7 * i):
            sick = (k * 7 + i) % 12 < 3 + 4 * ((smoker == "yes") ^ (pressure == "high")) + (sex == "f")
            value = f"v{(k + 20 * sick) % values:02}" if values > 2 else ("ill" if sick else "<i>well</i>")
            rows.append({target: value, hidden: f"{hidden} {sex}", "smoker": smoker, "pressure": pressure})
    return rows


@cache
def small():
    return fit(people(), "diagnosis", ["sex", "smoker"], ["sex", "smoker", "pressure"], codes=5, min_count=3)


def ordinary():
    return render(small(), audit(small())), render_public(card_of(small()))


def unkind():
    """Names of 200 letters and from right to left, a target of forty values."""
    rows = people(LONG, RIGHT_TO_LEFT, 40)
    release = fit(rows, LONG, [RIGHT_TO_LEFT], [RIGHT_TO_LEFT, "pressure"], min_count=2, codes=6, rel_tol=0.1)
    return render(release, audit(release)), render_public(card_of(release))


def twenty():
    """Twenty protected columns: each one of four uneven bits, or its opposite."""
    names = ["W", *(f"column {i}" for i in range(20))]
    cells = {}
    for bits in product((0, 1), repeat=4):
        record = [bits[i % 4] ^ (i // 4 % 2) for i in range(20)]
        cells[(sum(bits) % 2, *record)] = 3 + sum(2**i * b for i, b in enumerate(bits))
    found = ch.disclose(ch.Joint.from_counts(cells, names))
    return render(found, audit(found)), ""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Every kind of page as a file, opened as it is kept."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for make in (ordinary, unkind, twenty):
        curator, public = make()
        for name, text in ((make.__name__, curator), (f"{make.__name__}-public", public)):
            if text:
                (folder / f"{name}.html").write_text(text, encoding="utf-8")
                found[name] = (folder / f"{name}.html").as_uri()
    return found


def opened(browser, address, width, scheme="light"):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    assert asked == [address]
    return page


@pytest.mark.parametrize("kind", ["ordinary", "unkind", "twenty"])
def test_the_gravest_finding_is_above_the_fold_and_before_the_appendix(browser, pages, kind):
    page = opened(browser, pages[kind], 1280)
    first = page.locator("#decide li").first
    whole = (
        first if kind != "unkind" else first.locator("strong")
    )  # with a name of 200 letters, what was found at least
    box = whole.bounding_box()
    assert box["y"] + box["height"] <= 800
    assert 1 <= page.locator("#decide li").count() <= 3
    page.set_viewport_size({"width": 390, "height": 800})
    assert first.bounding_box()["y"] < page.locator("#appendix").bounding_box()["y"]
    page.context.close()


@pytest.mark.parametrize("kind", ["ordinary", "unkind", "twenty", "ordinary-public", "unkind-public"])
def test_on_a_telephone_nothing_that_is_read_is_off_screen(browser, pages, kind):
    page = opened(browser, pages[kind], 390)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(OFF_SCREEN) == []
    narrow, wide = page.locator("#short svg.narrow"), page.locator("#short svg.wide")
    assert (narrow.is_visible(), wide.is_visible()) == (True, False)
    assert narrow.bounding_box()["width"] <= 390
    page.set_viewport_size({"width": 1440, "height": 800})
    assert (narrow.is_visible(), wide.is_visible()) == (False, True)
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_is_read_on_light_and_on_dark_paper_and_axe_finds_nothing(browser, pages, scheme):
    page = opened(browser, pages["ordinary"], 1280, scheme)
    contrasts = page.evaluate(CONTRAST)
    assert len(contrasts) > 10
    assert min(contrasts) >= 4.5
    page.evaluate(AXE.read_text(encoding="utf-8"))  # the page itself runs no script
    found = page.evaluate("() => axe.run()")
    assert [(one["id"], [n["target"] for n in one["nodes"]][:2]) for one in found["violations"]] == []
    page.context.close()


DOTS = """() => {
    const middle = (one) => {
        const box = one.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, box.width];
    };
    const picture = document.querySelector('#short svg.wide');
    const label = (text) => middle([...picture.querySelectorAll('text')].find((one) => one.textContent === text))[1];
    const dots = [...picture.querySelector('.mark-symbol').querySelectorAll('path')].map(middle);
    return {dots: dots.sort((one, other) => one[0] - other[0]), none: label('0 %'), all: label('100 %')};
}"""
"""In pixels of the page, from left to right: the dots of what is told; and how high nothing and all are."""


def test_every_dot_is_where_the_library_says_and_one_that_is_changed_moves_alone(browser, pages, tmp_path, monkeypatch):
    d = small().disclosure
    page = opened(browser, pages["ordinary"], 1280)
    seen = page.evaluate(DOTS)
    before, laws = signature.laws_of(d, d.problem.target)
    value = max(range(2), key=lambda w: max(law[w] - before[w] for law in laws))
    codes = sorted(range(d.codes), key=lambda y: d.p_w_given_y[y][value])
    assert len(seen["dots"]) == d.codes
    up = seen["all"] - seen["none"]
    for (_, height, _), y in zip(seen["dots"], codes, strict=True):
        assert height == pytest.approx(seen["none"] + up * float(d.p_w_given_y[y][value]), abs=1.5)
    by_size = sorted(range(d.codes), key=lambda i: seen["dots"][i][2])
    shares = [float(d.p_y[codes[i]]) for i in by_size]
    assert shares == pytest.approx(sorted(shares))

    def changed(disclosure, variable, laws_of=signature.laws_of):
        prior, given = laws_of(disclosure, variable)
        if variable is disclosure.problem.target:
            lower = given[codes[0]][value] - Fraction(1, 20)
            given[codes[0]] = [lower if w == value else 1 - lower for w in range(2)]
        return prior, given

    monkeypatch.setattr(signature, "laws_of", changed)
    (tmp_path / "changed.html").write_text(render(small(), audit(small())), encoding="utf-8")
    page.goto((tmp_path / "changed.html").as_uri())
    now = page.evaluate(DOTS)
    moved = [i for i in range(d.codes) if abs(now["dots"][i][1] - seen["dots"][i][1]) > 0.01]
    assert moved == [0]
    page.context.close()


def test_print_has_page_numbers_and_keeps_tables_whole(browser, pages):
    page = opened(browser, pages["ordinary"], 1280, "dark")
    page.emulate_media(media="print")
    assert tables_stay_whole(page)
    rules = page.evaluate("() => [...document.styleSheets[0].cssRules].map((rule) => rule.cssText).join(' ')")
    assert "counter(page)" in rules
    assert "counter(pages)" in rules
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('#first')).breakAfter") == "page"
    assert page.locator("#first").bounding_box()["height"] <= A4[1], "what decides is on one page"
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    page.goto(pages["ordinary-public"])
    assert tables_stay_whole(page)
    assert page.evaluate("getComputedStyle(document.querySelector('.first')).breakAfter") == "auto", (
        "no page half empty"
    )
    page.context.close()
