"""The gallery: every page runs as it stands, and its picture is of what it made (pyproject.toml leaves them to this)."""

from __future__ import annotations

import doctest
import re

import pytest
from pictures import DOCS, GALLERY, PICTURES, drawn_of, page_of, run

NUMBER = re.compile(r"-?\d+\.?\d*")


def test_every_page_of_the_gallery_is_a_case():
    assert {path.name for path in DOCS.glob("gallery-*.md")} == {page_of(case).name for case in GALLERY}
    contents = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert re.findall(r"^- \[[^\]]+\]\(gallery-([\w-]+)\.md\)", contents, re.MULTILINE) == list(GALLERY)


@pytest.mark.parametrize("case", GALLERY)
def test_a_page_runs_and_its_picture_is_of_what_it_made(case):
    """The same drawing, number by number; the words of a newer renderer may differ."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.report_failure = lambda out, test, example, got: said.append(f"{example.source}{example.want}got {got}")
    runner.report_unexpected_exception = lambda out, test, example, error: said.append(f"{example.source}{error[1]!r}")
    names = run(case, runner)
    assert said == []
    text = page_of(case).read_text(encoding="utf-8")
    [picture] = re.findall(r"!\[[^\]]{30,}\]\(pictures/([\w-]+\.svg)\)", text)
    drawn = drawn_of(case, names)
    assert picture == next(iter(drawn))
    for name, svg in drawn.items():
        kept = (PICTURES / name).read_text(encoding="utf-8")
        assert [round(float(n), 3) for n in NUMBER.findall(kept)] == [round(float(n), 3) for n in NUMBER.findall(svg)]
