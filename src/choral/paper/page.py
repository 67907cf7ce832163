"""The page of the reproduction: one file, no scripts, nothing loaded from anywhere."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from choral.paper.record import Claim, Found, Section, Table, worded
from choral.show.plots.style import finding_of

MOST_ROWS = 60
"""Rows of a table on the page; the file beside it has all."""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 "DejaVu Sans", Arial, sans-serif; color: #1b1b1b; background: #fff;
  max-width: 64rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.25; }
h2 { font-size: 1.3rem; margin-top: 3rem; border-top: 2px solid #1b1b1b; padding-top: .8rem; }
table { border-collapse: collapse; width: 100%; font-size: .85rem; margin: 1rem 0; }
th, td { border: 1px solid #b5b5b5; padding: .35rem .5rem; text-align: left; vertical-align: top; overflow-wrap: break-word; }
.claims { table-layout: fixed; min-width: 46rem; } .claims th:nth-child(1) { width: 32%; }
.claims th:nth-child(2) { width: 18%; } .claims th:nth-child(5) { width: 13%; }
thead th { background: #eee; }
tr.differs td, tr.differs th { background: #fff3d6; }
tr.differs td:last-child::before { content: "≠ "; font-weight: bold; } tr.agrees td:last-child::before { content: "= "; }
tr.unexplained td { background: #ffd9d9; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: .85rem; color: #444; }
details { margin: .5rem 0; } summary { cursor: pointer; } .scroll { overflow-x: auto; }
a { color: #0b5fa5; } a:focus, summary:focus { outline: 3px solid #d55e00; }
@media print { details { display: none; } h2 { break-before: auto; } figure, tr { break-inside: avoid; } }
"""
"""All that the page needs, so that it can be sent as one file."""


POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""The page loads nothing and runs nothing."""


@dataclass(frozen=True)
class Done:
    """A section that was computed, with its pictures as SVG."""

    section: Section
    found: Found
    pictures: tuple[str, ...]
    seconds: float


def page(done: Sequence[Done], left_out: Sequence[Section]) -> str:
    """The whole page."""
    claims = [claim for part in done for claim in part.found.claims]
    differ = [(part.section, claim) for part in done for claim in part.found.claims if not claim.agrees]
    contents = "".join(
        f'<li><a href="#{escape(part.section.name)}">{escape(part.section.title)}</a> '
        f"({escape(', '.join(part.section.covers))})</li>"
        for part in done
    )
    missing = "".join(f"<li>{escape(section.title)} ({escape(', '.join(section.covers))})</li>" for section in left_out)
    found = "".join(
        f'<li><a href="#{escape(section.name)}">{escape(claim.place)}</a>: {escape(claim.what)}. '
        f"Paper: {escape(claim.paper)}. Here: {escape(claim.ours)}. {escape(_reason(claim))}</li>"
        for section, claim in differ
    )
    body = [
        "<h1>Data Disclosure under Perfect Sample Privacy, recomputed</h1>",
        f"<p>{len(claims)} values and statements were compared: {len(claims) - len(differ)} agree, {len(differ)} differ. "
        "Every verdict on this page comes from comparing numbers when the page was made. A printed number agrees when "
        "ours rounds to the same digits; fractions and statements are tested exactly. Bits throughout. The paper's "
        "results are cited by their labels.</p>",
        f"<h2 id='contents'>Every table, example and figure</h2><ol>{contents}</ol>",
        f"<p>Not computed this time:</p><ul>{missing}</ul>" if missing else "",
        f"<h2 id='differences'>Where the paper differs</h2><ol>{found}</ol>" if found else "",
        *(_section(part) for part in done),
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>Data Disclosure under Perfect Sample Privacy, recomputed</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _section(part: Done) -> str:
    found = part.found
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in found.text)
    rows = "".join(map(_row, found.claims))
    head = "".join(f"<th scope='col'>{name}</th>" for name in ("what", "where", "paper", "here", "verdict"))
    claims = (
        f"<div class='scroll'><table class='claims'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        if rows
        else ""
    )
    pictures = "".join(
        f"<figure><img alt='{escape(finding_of(picture.chart), quote=True)}' src='data:image/svg+xml;base64,{_encoded(svg)}'>"
        f"<figcaption>{escape(picture.caption)} <a href='{escape(picture.name)}.svg'>{escape(picture.name)}.svg</a>"
        "</figcaption></figure>"
        for picture, svg in zip(found.pictures, part.pictures, strict=True)
    )
    tables = "".join(map(_table, found.tables))
    return (
        f"<section><h2 id='{escape(part.section.name)}'>{escape(part.section.title)}</h2>"
        f"<p>Covers: {escape(', '.join(part.section.covers))}.</p>{text}{claims}{pictures}{tables}</section>"
    )


def _row(claim: Claim) -> str:
    kind = "agrees" if claim.agrees else "differs" if claim.why else "unexplained"
    cells = "".join(f"<td>{escape(c)}</td>" for c in (claim.place, claim.paper, claim.ours, claim.verdict))
    return f"<tr class='{kind}'><th scope='row'>{escape(claim.what)}</th>{cells}</tr>"


def _table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in table.header)
    step = -(-len(table.rows) // MOST_ROWS)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(worded(value))}</td>" for value in row) + "</tr>" for row in table.rows[::step]
    )
    note = f", every {step}th row" if step > 1 else ""
    name = escape(table.name)
    return (
        f"<details><summary>{name}: {len(table.rows)} rows{note} (<a href='{name}.csv'>{name}.csv</a>)</summary>"
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def _reason(claim: Claim) -> str:
    return f"Why: {claim.why}." if claim.why else "This is not explained: one of the two is wrong."


def _encoded(svg: str) -> str:
    return base64.b64encode(svg.encode("utf-8")).decode("ascii")
