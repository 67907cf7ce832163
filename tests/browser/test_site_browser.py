"""The site in a browser: the explainer's numbers are the library's, the attack works, and the search finds without a network.

Needs Chromium and axe-core (`scripts/browser`). Screenshots are in build/screenshots, to be looked at.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction as F
from itertools import product

import pytest
from browsing import AXE, PATIENCE, SCREENSHOTS, needs_chromium, tables_stay_whole

import choral as ch

CLOSE = 1e-9
"""Doubles on one side, fractions on the other."""

pytestmark = needs_chromium


@pytest.fixture
def opened(browser, site):
    """How to open a page of the site; at the end nothing but its files was asked for, and nothing went wrong."""
    contexts, asked, errors = [], [], []

    def open_page(name, **options):
        context = browser.new_context(**options)
        contexts.append(context)
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
        page.goto((site / name).as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
    assert {url for url in asked if not url.startswith(site.as_uri())} == set()


def two_bits(masses):
    """The law of the bits and of their exclusive or."""
    cells = {(a ^ b, a, b): mass for (a, b), mass in zip(product((0, 1), repeat=2), masses, strict=True)}
    return ch.Joint.from_counts(cells, names=["W", "X1", "X2"], alphabets=[(0, 1)] * 3)


def laws(count):
    """Random laws in hundredths, some without a state, some of independent bits; never of a constant bit."""
    draw = random.Random(17)
    found = [[F(k, 10) for k in (4, 1, 2, 3)], [F(1, 4)] * 4, [F(3, 10), F(0), F(3, 10), F(4, 10)]]
    while len(found) < count:
        cuts = sorted(draw.randint(0, 100) for _ in range(3))
        masses = [F(b - a, 100) for a, b in zip([0, *cuts], [*cuts, 100], strict=True)]
        if 0 < masses[2] + masses[3] < 1 and 0 < masses[1] + masses[3] < 1:
            found.append(masses)
    return found


def test_the_explainer_computes_what_the_library_computes(opened):
    page = opened("explainer.html")
    for masses in laws(12):
        d = ch.disclose(two_bits(masses), "W")
        code = page.evaluate("p => choralXor.hidden(p)", [float(p) for p in masses])
        assert code["told"]["bits"] == pytest.approx(d.information, abs=CLOSE)
        assert sorted(code["share"]) == pytest.approx(sorted(map(float, d.p_y)), abs=CLOSE)
        for about in code["kept"]:
            assert about["given"] == pytest.approx([about["prior"]] * len(code["share"]), abs=CLOSE)
        for state, row in zip(product((0, 1), repeat=2), code["channel"], strict=True):
            if masses[2 * state[0] + state[1]]:
                assert sorted(row) == pytest.approx(sorted(map(float, d.channel_of(state))), abs=CLOSE)


@pytest.mark.parametrize("ratio", [F(101, 100), F(5, 4), F(17, 10)])
def test_what_a_budget_buys_is_what_the_library_says(opened, ratio):
    page = opened("explainer.html")
    for masses in laws(5):
        d = ch.disclose(two_bits(masses), "W", ratio={"X1": ratio, "X2": ratio})
        code = page.evaluate("([p, r]) => choralXor.within(p, r)", [[float(p) for p in masses], float(ratio)])
        assert d.information - CLOSE <= code["told"]["bits"] <= d.upper_bound + CLOSE
        for about in code["kept"]:
            for prior, given in (
                (about["prior"], about["given"]),
                (1 - about["prior"], [1 - q for q in about["given"]]),
            ):
                assert all(prior / float(ratio) - CLOSE <= q <= prior * float(ratio) + CLOSE for q in given)


def test_two_draws_that_differ_give_the_second_bit_away(opened):
    """By the library: the law of a record with two draws of its code."""
    masses = laws(1)[0]
    law = two_bits(masses)
    d = ch.disclose(law, "W")
    cells = {
        (*x, y, z): p * a * b
        for x, p in law.items()
        for y, a in enumerate(d.channel_of(x[1:]))
        for z, b in enumerate(d.channel_of(x[1:]))
        if p * a * b
    }
    twice = ch.Joint.from_counts(cells, names=["W", "X1", "X2", "Y", "Z"])
    page = opened("explainer.html")
    pairs = page.evaluate("p => choralXor.twice(choralXor.hidden(p))", [float(p) for p in masses])
    assert len(pairs) == 3
    for pair in pairs:
        y, z = pair["codes"]
        often = sum(p for (*_, a, b), p in twice.items() if sorted((a, b)) == [y, z])
        assert pair["probability"] == pytest.approx(float(often), abs=CLOSE)
        bits = [float(twice.given(Y=y, Z=z).probability(**{name: 1})) for name in ("X1", "X2")]
        assert pair["bits"] == pytest.approx(bits, abs=CLOSE)
        assert pair["certain"] == [False, y != z]
    assert "codes 0 and 1 give away that X2 is 0. That happens to 14.1 % of the people." in page.inner_text("#twice")
    page.click("#draw")
    assert re.fullmatch(r"Of 300 people, \d+ have .* With one draw each, there were none\.", page.inner_text("#caught"))
    assert page.locator("#people i").count() == 300
    assert page.locator("#people i.known").count() == int(re.search(r"people, (\d+)", page.inner_text("#caught"))[1])


def test_sliders_move_what_is_told_and_not_what_is_hidden(opened):
    """Every law leaves the hidden lines level; a budget moves them; and one changed probability moves a dot."""
    page = opened("explainer.html")

    def lines(section, kind):
        return page.eval_on_selector_all(
            f"#{section} .{kind}", "found => found.map((e) => e.getAttribute('d') ?? e.outerHTML)"
        )

    def level(path):
        return len(set(re.findall(r",([\d.]+)", path))) == 1

    def heights(path):
        return [float(y) for y in re.findall(r",([\d.]+)", path)]

    before = lines("leaning", "dot")
    assert "W is guessed right 90 % instead of 70 %; X1 50 % either way; X2 60 % either way." in page.inner_text(
        "#leaning"
    )
    for slider, value in (("a", 62), ("b", 17), ("c", 31)):
        page.locator(f"#{slider}").fill(str(value))
        assert lines("leaning", "dot") != before
        before = lines("leaning", "dot")
        assert all(max(heights(path)) - min(heights(path)) < 1e-6 for path in lines("leaning", "kept"))
        assert "and nothing about X1 or X2" in page.inner_text("#leaning .finding")
    page.click("text=.4, .1, .2, .3")
    page.locator("#r").fill("125")
    assert "W is guessed right 95 %" in page.inner_text("#leakage .finding")
    assert not all(level(path) for path in lines("leakage", "kept"))
    page.locator("#r").fill("100")
    assert "0.412 bits about W, and nothing about X1 or X2" in page.inner_text("#leakage .finding")


def test_the_search_finds_by_keyboard_and_leads_there(opened, site):
    page = opened("index.html")
    assert page.evaluate("typeof choralIndex") == "undefined", "the index is loaded when somebody searches"
    page.keyboard.press("/")
    page.keyboard.type("two draws")
    page.locator("#found a").first.wait_for()
    names = page.locator("#found strong").all_inner_texts()
    assert any(name.endswith("› Two draws") for name in names[:4]), names
    assert page.locator("#found mark").count() > 0
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('#found') !== null")
    page.keyboard.press("Escape")
    assert page.locator("#results").is_hidden()
    page.keyboard.type("zzxqy")
    page.locator("#count", has_text="Nothing holds “zzxqy”.").wait_for()
    page.fill("#query", "<b>tutorial")
    page.fill("#query", "rel_tol")
    page.locator("#found a", has_text="disclose").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"\.html"))
    assert urls_inside(page.url, site)


def test_print_has_page_numbers_and_tables_as_tables(opened, site):
    """Paper is as narrow as a tablet, and yet no telephone."""
    page = opened("mathematics.html")
    assert tables_stay_whole(page)
    assert page.locator("header #search").is_hidden()
    assert page.evaluate("() => getComputedStyle(document.querySelector('.many td')).display") == "table-cell"
    assert "counter(page)" in (site / "style.css").read_text(encoding="utf-8")


def test_pages_that_load_nothing_lead_to_the_search(opened):
    for name in ("explainer.html", "check.html"):
        page = opened(name)
        page.keyboard.press("/")
        page.keyboard.type("two draws")
        page.keyboard.press("Enter")
        page.wait_for_url(re.compile(r"index\.html#search=two%20draws"))
        page.locator("#found a").first.wait_for()
        assert page.input_value("#query") == "two draws"


def urls_inside(url, site):
    return url.startswith(site.as_uri())


@pytest.mark.parametrize("name", ["mathematics.html", "errors-reference.html"])
def test_the_list_of_pages_is_at_the_current_one(opened, name):
    page = opened(name, viewport={"width": 1280, "height": 420})
    box = page.locator(".wide [aria-current]").bounding_box()
    assert 0 <= box["y"] <= 420


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_fit_and_are_read_aloud(browser, site, width, scheme):
    """Every page is as wide as the window; axe-core finds nothing on the first page, the explainer and a reference."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for path in sorted(site.glob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path.name
        if path.stem in ("index", "explainer", "disclosing-reference"):
            page.screenshot(path=SCREENSHOTS / f"site-{path.stem}-{width}-{scheme}.png", full_page=True)
            page.add_script_tag(path=AXE)
            assert page.evaluate("async () => (await axe.run()).violations.map((v) => `${v.id}: ${v.help}`)") == []
    context.close()
