"""The index of the site: what stands under every heading, as a script that a page loads when somebody searches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html.parser import HTMLParser

from docsite.markdown import Page


def index_of(pages: Iterable[Page]) -> str:
    """The index as a script, so that it also loads where pages are opened as files."""
    found = [entry for page in pages for entry in entries(page)]
    return f"choralIndex = {json.dumps(found, ensure_ascii=False, separators=(',', ':'))};\n"


def entries(page: Page) -> list[tuple[str, str, str, str]]:
    """For every heading: where it is, the title of its page, itself, and the words below it.

    >>> from docsite.markdown import page_of
    >>> entries(page_of("x", "# Title\\n\\nOne *two*.\\n\\n## More\\n\\nThree."))
    [('x.html', 'Title', '', 'One two.'), ('x.html#more', 'Title', 'More', 'Three.')]
    """
    reader = _Words()
    reader.feed(page.body)
    headings = {anchor: text for _, anchor, text in page.headings}
    found = []
    for anchor, words in reader.parts:
        first = anchor == page.headings[0][1]
        place = f"{page.name}.html" + ("" if first else f"#{anchor}")
        text = re.sub(r"On the site, here: \w+\.", "", "".join(words))
        found.append((place, page.title, "" if first else headings[anchor], " ".join(text.split())))
    return found


class _Words(HTMLParser):
    """The words of a page, by the heading that they stand under. Words of a heading are not repeated below it."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, list[str]]] = []
        self._in_heading = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        anchor = dict(attributes).get("id")
        if tag in ("h1", "h2", "h3", "h4") and anchor:
            self.parts.append((anchor, []))
            self._in_heading = True
        elif tag in ("p", "td", "th", "li", "pre", "div", "br"):
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("h1", "h2", "h3", "h4"):
            self._in_heading = False

    def handle_data(self, data: str) -> None:
        if self.parts and not self._in_heading:
            self.parts[-1][1].append(data)
