"""Draw the pictures of the documentation from the library: `make pictures`.

A picture of the gallery is drawn from the release that its page makes: the page is run, and the picture is of what it found.
"""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import choral as ch
from choral.show.plots import as_following_svg, signature_plot

DOCS = Path(__file__).parents[1] / "docs"
PICTURES = DOCS / "pictures"
NARROW = 350
"""Pixels: what a telephone of 390 leaves for a picture."""
GALLERY = {
    "census": "release",
    "ages": "four",
    "odds": "d",
    "many-values": "d",
    "amounts": "release",
    "sensors": "d",
    "second": "after",
    "spark": "release",
}
"""The pages of the gallery, and which of their names the picture is of."""


def drawn() -> dict[str, str]:
    """Every picture that is of no page of the gallery, by its file's name."""
    return both("told-and-hidden", ch.disclose(ch.examples.clinic(), "diagnosis"))


def both(name: str, disclosure: ch.Disclosure) -> dict[str, str]:
    """The picture of a disclosure as it stands in a page, and as it stands on a telephone."""
    narrow = signature_plot(disclosure, width=NARROW)
    return {
        f"{name}.svg": as_following_svg(signature_plot(disclosure)),
        f"{name}-narrow.svg": as_following_svg(narrow),
    }


def page_of(case: str) -> Path:
    """The page of a case."""
    return DOCS / f"gallery-{case}.md"


def run(case: str, runner: doctest.DocTestRunner) -> dict[str, Any]:
    """Run the page of a case as it stands: the names that it has made. The runner knows what was not as shown."""
    page = page_of(case)
    test = doctest.DocTestParser().get_doctest(page.read_text(encoding="utf-8"), {}, page.name, str(page), 0)
    runner.run(test, clear_globs=False)
    return test.globs


def drawn_of(case: str, names: dict[str, Any]) -> dict[str, str]:
    """The pictures of a case, of what its page has made, by their files' names."""
    found = names[GALLERY[case]]
    return both(f"gallery-{case}", getattr(found, "disclosure", found))


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    pictures = drawn()
    for case in GALLERY:
        pictures |= drawn_of(case, run(case, doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)))
    for name, svg in pictures.items():
        (PICTURES / name).write_text(svg, encoding="utf-8")
