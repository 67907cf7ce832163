"""The paper's page in a browser: agree and differ in sight, nothing lost on a telephone, axe content, print with numbers."""

from __future__ import annotations

import re

import pytest
from browsing import A4, AXE, PATIENCE, needs_chromium, tables_stay_whole
from in_process import choral

from choral.paper.page import MOST_TOGETHER, Done
from choral.paper.page import page as made
from choral.paper.record import Claim, Found, Section

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Two sections that take a moment, one with differences; the page is the same for all."""
    folder = tmp_path_factory.mktemp("paper") / "all"
    assert choral("reproduce", "-o", folder, "--quick", "--only", "codes", "--only", "statistic").returncode == 0
    return (folder / "index.html").as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_agree_and_differ_are_in_sight_and_lead_on(browser, address, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    verdict = page.locator(".verdict")
    assert "agree" in verdict.inner_text()
    assert "differ" in verdict.inner_text()
    box = verdict.bounding_box()
    assert box["y"] + box["height"] <= 800
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not re.findall(r"[1-9]\d*\.\d{4,}|0\.0*[1-9]\d{4,}", page.inner_text("main")), "four digits are read"
    sizes = page.eval_on_selector_all("figure img", "all => all.map((one) => [one.width, one.naturalWidth])")
    assert sizes
    assert all(shown == natural for shown, natural in sizes), "letters are as large as they were drawn"
    links = page.locator("nav a")
    assert links.count() == 3  # where the paper differs, and the sections
    links.last.click()
    target = page.locator(links.last.get_attribute("href")).bounding_box()
    assert -1 < target["y"] < 800
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run()")
    assert [(one["id"], [node["target"] for node in one["nodes"]][:2]) for one in found["violations"]] == []
    assert all(url.startswith(("file:", "data:")) for url in asked)
    context.close()


def test_print_has_margins_and_page_numbers_and_no_navigation(browser, address):
    page = browser.new_page(color_scheme="dark")
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    rules = page.evaluate("() => [...document.styleSheets[0].cssRules].map((rule) => rule.cssText).join(' ')")
    for words in ("counter(page)", "counter(pages)", "margin: 15mm 14mm 17mm"):
        assert words in rules
    assert tables_stay_whole(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
    page.set_content(whole_page(60))
    assert page.locator("table.long").count() == 1
    assert tables_stay_whole(page)
    assert page.locator("table.long").bounding_box()["height"] > A4[1], "longer than a page, and goes on overleaf"
    page.set_content(whole_page(MOST_TOGETHER))
    assert page.locator("table.long").count() == 0
    assert tables_stay_whole(page)
    page.close()


def whole_page(claims):
    """A page with so many claims in one table, each of a few lines."""
    claim = Claim("what the code tells about the target, in bits, where all samples are alike", "sec:x", "1", "1", True)
    section = Section("long", "A long table", ("sec:x",), lambda: None)
    return made([Done(section, Found(("In words.",), (claim,) * claims), (), 0.0)], [])
