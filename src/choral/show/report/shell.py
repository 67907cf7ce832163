"""The whole of a page around what it says: its head, its look, and that it loads and runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from choral.show.report.markup import Html, element, joined
from choral.show.style import in_the_dark, tokens

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page loads nothing and runs nothing."""
STYLE = Path(__file__).with_name("style.css")


def whole_page(title: str, body: Sequence[Html]) -> str:
    """A page that needs nothing and runs nothing."""
    style = f"{tokens()}{in_the_dark('figure ')}{STYLE.read_text(encoding='utf-8')}"
    head = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
            element("meta", content=POLICY, **{"http-equiv": "Content-Security-Policy"}),
            element("title", title),
            Html(f"<style>{style}</style>"),
        ]
    )
    page = element("html", element("head", head), element("body", element("main", *body)), lang="en")
    return f"<!doctype html>\n{page}\n"
