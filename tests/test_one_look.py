"""One identity for docs, studio, report and the paper's page: one accent, one type scale, one mark; all from one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from choral.show.style import DARK, LIGHT, TOKENS, mark

ROOT = Path(__file__).parents[1]
SHOWN = ROOT / "src" / "choral" / "show"
STYLES = [
    *(SHOWN / "studio" / "static").glob("*.css"),
    *(ROOT / "scripts" / "docsite").glob("*.css"),
    SHOWN / "report" / "style.css",
    ROOT / "src" / "choral" / "paper" / "style.css",
]
COLOUR = re.compile(
    r"#[0-9a-fA-F]{3,8}\b(?![^{}]*\{)|\b(?:rgba?|hsla?)\(|:\s*(?:white|black|red|green|blue|gray|grey|orange)\b"
)
"""A colour of one's own; a name with a hash before a brace is a part of the page."""
OWN_SIZE = re.compile(r"font(?:-size)?: *[\d.]+(?:rem|px)")
DRAWN = re.compile(r"\.(?:idea|play) text|\.curve \{")
"""In a picture letters are measured as the picture is."""


@pytest.mark.parametrize("path", STYLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_page_has_no_colour_and_no_type_size_of_its_own(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if COLOUR.search(line)]
    assert not [line for line in lines if OWN_SIZE.search(line) and not DRAWN.search(line)]


def test_every_surface_uses_the_one_accent_and_has_the_one_mark():
    assert len(STYLES) > 7
    accent = [path.parent.name for path in STYLES if "var(--accent)" in path.read_text(encoding="utf-8")]
    assert {"static", "docsite", "report", "paper"} <= set(accent)
    assert (SHOWN / "studio" / "static" / "icon.svg").read_text(encoding="utf-8").strip() == mark()
    assert LIGHT["accent"] in mark()
    assert set(DARK) == set(LIGHT)
    assert len(re.findall(r"--text[-a-z]*:", TOKENS.read_text(encoding="utf-8"))) == 5
