"""Markdown to HTML: headings that can be linked to, tables and code that scroll alone, and links between pages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from docsite.mathml import with_mathematics

LEXERS = {"python": "pycon", "console": "console", "text": "text", "signature": "python", "": "text"}
TELEPHONE = "(max-width: 40rem)"
"""Where a narrow picture is shown."""
TABLE = '<div class="scroll%s" tabindex="0" role="group" aria-label="Table"><table>\n'
STACKED = 3
"""Columns from which on a table is stacked on a telephone: every cell below its heading."""


@dataclass(frozen=True)
class Page:
    """A page: its name without ending, its title, its body as HTML, and its headings (level, anchor, text)."""

    name: str
    title: str
    body: str
    headings: tuple[tuple[int, str, str], ...]


def page_of(name: str, text: str, narrow: Collection[str] = ()) -> Page:
    """Render a page. Its first line is its title. Pictures that are also `narrow` are shown so where there is little room.

    >>> page_of("x", "# A title\\n\\nSee [laws](laws.md#one).\\n\\n## One *more*").headings
    ((1, 'a-title', 'A title'), (2, 'one-more', 'One more'))
    """
    reader = with_mathematics(MarkdownIt("commonmark", {"html": False, "highlight": _highlighted}).enable("table"))
    reader.add_render_rule("table_open", lambda _, tokens, place, *__: TABLE % tokens[place].meta.get("kind", ""))
    reader.add_render_rule("table_close", lambda *_: "</table></div>\n")
    usual = reader.renderer.rules["image"]

    def picture(tokens: Sequence[Token], place: int, *rest: Any) -> str:
        drawn, source = usual(tokens, place, *rest), str(tokens[place].attrGet("src"))
        small = source.replace(".svg", "-narrow.svg")
        if small not in narrow:
            return drawn
        return f'<picture><source media="{TELEPHONE}" srcset="{small}">{drawn}</picture>'

    reader.add_render_rule(
        "code_inline", lambda _, tokens, place, *__: f"<code>{_unbroken(tokens[place].content)}</code>"
    )
    reader.add_render_rule("image", lambda _, *given: picture(*given))
    tokens = reader.parse(text)
    headings = tuple(_anchored(tokens))
    _label_cells(tokens)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("href", re.sub(r"^([\w-]+)\.md(?=#|$)", r"\1.html", str(child.attrGet("href"))))
    if not headings or headings[0][0] != 1:
        raise ValueError(f"docs/{name}.md does not begin with a title: '# …'.")
    return Page(name, headings[0][2], reader.renderer.render(tokens, reader.options, {}), headings)


def _unbroken(code: str) -> str:
    """Code in a line, escaped; no line ends inside an option.

    >>> _unbroken("choral fit a<b.csv --rel-tol 1")
    'choral fit a&lt;b.csv <span class="option">--rel-tol</span> 1'
    """
    return re.sub(r"(?<![\w-])--?[a-z][\w-]*", r'<span class="option">\g<0></span>', escape(code, quote=False))


def slug(text: str) -> str:
    """The anchor of a heading.

    >>> slug("What `Y` says: I(W;Y)")
    'what-y-says-i-w-y'
    """
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


def _anchored(tokens: list[Token]) -> list[tuple[int, str, str]]:
    found: list[tuple[int, str, str]] = []
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            anchor, taken = slug(text), {a for _, a, _ in found}
            while anchor in taken:
                anchor += "-again"
            opening.attrSet("id", anchor)
            found.append((int(opening.tag[1]), anchor, text))
    return found


def _label_cells(tokens: list[Token]) -> None:
    """In tables of many columns every cell says what column it is in."""
    table, names, column = Token("", "", 0), [], 0
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "table_open":
            table, names = opening, []
        elif opening.type == "th_open":
            names.append("".join(child.content for child in inline.children or ()))
        elif opening.type == "tr_open":
            column = 0
        elif opening.type == "td_open":
            if len(names) >= STACKED:
                table.meta["kind"] = " many"
                opening.attrSet("data-label", names[column])
            column += 1


def _highlighted(code: str, language: str, _: str) -> str:
    lexer = get_lexer_by_name(LEXERS.get(language, language), stripnl=True)
    inner = highlight(code.rstrip() + "\n", lexer, HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0" class="{escape(language or "text")}"><code>{inner}</code></pre>\n'
