"""Build the site. docs/index.md is its table of contents: sections are its headings, pages are the links below them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from choral.show.style import MARK, TOKENS, mark
from docsite.box import box_of, filled
from docsite.commands import commands_page
from docsite.markdown import Page, page_of
from docsite.reference import reference_pages
from docsite.search import index_of

HERE = Path(__file__).parent
STYLES = (TOKENS, HERE / "style.css")
"""The colours and the type scale, and what pages make of them."""


def build(docs: Path, target: Path) -> list[Page]:
    """Write every page of `docs`, and the reference, into `target`."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(docs.glob("*.md"))}
    texts |= reference_pages() | {"commands": commands_page()}
    narrow = {f"pictures/{path.name}" for path in (docs / "pictures").glob("*-narrow.svg")}
    pages = {name: page_of(name, text, narrow) for name, text in texts.items()}
    sections = contents(texts["index"], pages)
    order = ["index", *(name for _, links in sections for name in links)]
    template = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined).get_template(
        "page.html"
    )
    boxes = {name: box_of(name, library, STYLES) for name, library in libraries(docs).items()}
    target.mkdir(parents=True, exist_ok=True)
    shown = mark().replace("<svg ", '<svg aria-hidden="true" ', 1)
    for place, name in enumerate(order):
        around = {
            "before": pages[order[place - 1]] if place else None,
            "after": pages[order[place + 1]] if place + 1 < len(order) else None,
        }
        page, box = pages[name], boxes.get(name)
        body = filled(page.body, box) if box else page.body
        html = template.render(page=page, body=body, sections=sections, pages=pages, box=box, mark=shown, **around)
        (target / f"{name}.html").write_text(html, encoding="utf-8")
    (target / "search-index.js").write_text(index_of(pages[name] for name in order), encoding="utf-8")
    (target / "style.css").write_text("".join(path.read_text(encoding="utf-8") for path in STYLES), encoding="utf-8")
    shutil.copyfile(HERE / "site.js", target / "site.js")
    shutil.copyfile(MARK, target / "mark.svg")
    for folder in ("check", "pictures", "screens"):
        shutil.copytree(docs / folder, target / folder, dirs_exist_ok=True)
    return [pages[name] for name in order]


def libraries(docs: Path) -> dict[str, Path]:
    """The pages with a script of their own, and what computes there."""
    return {"check": docs / "check" / "verifier.js", "explainer": docs / "explainer" / "xor.js"}


def contents(index: str, pages: dict[str, Page]) -> list[tuple[str, dict[str, str]]]:
    """Sections with their pages and what these are called, from the links of the index; other pages come last.

    >>> page = page_of("b", "# Title of B")
    >>> contents("## Start\\n- [Go](a.md): first", {"index": page, "a": page, "b": page})
    [('Start', {'a': 'Go'}), ('More', {'b': 'Title of B'})]
    """
    sections: list[tuple[str, dict[str, str]]] = []
    named = {"index"}
    for heading, title, name in re.findall(r"^## (.+)$|^- \[([^\]]*)\]\(([\w-]+)\.md\)", index, re.MULTILINE):
        if heading:
            sections.append((heading, {}))
        elif name not in named:
            sections[-1][1][name] = title
            named.add(name)
    more = {name: page.title for name, page in pages.items() if name not in named}
    return [(title, links) for title, links in [*sections, ("More", more)] if links]
