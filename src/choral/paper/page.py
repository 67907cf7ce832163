"""The page of the reproduction: one file, no scripts, nothing loaded from anywhere."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from choral.paper.record import Claim, Found, Section, Table, worded
from choral.show.plots.style import finding_of
from choral.show.style import mark, tokens

MOST_TOGETHER = 8
"""Claims that fit on a page of print, each in a few lines: a longer table goes on overleaf, between two rows."""
MOST_ROWS = 60
"""Rows of a table on the page; the file beside it has all."""

STYLE = Path(__file__).with_name("style.css")
"""What the page makes of the common colours and type scale; it carries both, so that it can be sent as one file."""


LONG = re.compile(r"\d+\.\d{4,}(?:e[+-]?\d+)?")
"""Numbers of more digits than are read."""
COLUMNS = ("what", "where", "paper", "here", "verdict")
"""Of a table of claims."""


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
    """The whole page: the verdict first, then where to find what, then the sections."""
    differ = [(part.section, claim) for part in done for claim in part.found.claims if not claim.agrees]
    missing = "".join(f"<li>{escape(section.title)} ({escape(', '.join(section.covers))})</li>" for section in left_out)
    found = "".join(
        f'<li><a href="#{escape(section.name)}">{escape(claim.place)}</a>: {escape(claim.what)}. '
        f"Paper: {_read(claim, claim.paper)}. Here: {_read(claim, claim.ours)}. {escape(_reason(claim))}</li>"
        for section, claim in differ
    )
    first = "<h1>Data Disclosure under Perfect Sample Privacy, recomputed</h1>" + _verdict(
        [claim for part in done for claim in part.found.claims]
    )
    body = [
        "<p>Every verdict on this page comes from comparing numbers when the page was made. A printed number agrees when "
        "ours rounds to the same digits; fractions and statements are tested exactly. Bits throughout. The paper's "
        "results are cited by their labels.</p>",
        f"<p>Not computed this time:</p><ul>{missing}</ul>" if missing else "",
        f"<h2 id='differences'>Where the paper differs</h2><ol class='differences'>{found}</ol>" if found else "",
        *(_section(part) for part in done),
    ]
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        "<title>Data Disclosure under Perfect Sample Privacy, recomputed</title>"
        f"<style>{tokens()}{STYLE.read_text(encoding='utf-8')}</style></head><body>"
        f"<header><span aria-hidden='true'>{mark()}</span><span>choral reproduce</span></header>"
        f"<main><div class='first'>{first}</div><div class='frame'>{_contents(done, bool(found))}"
        f"<div class='body'>{''.join(body)}</div></div></main></body></html>\n"
    )


def _verdict(claims: Sequence[Claim]) -> str:
    """How many agree, at the top; whether every difference is explained."""
    agree = sum(claim.agrees for claim in claims)
    explained = sum(not claim.agrees and bool(claim.why) for claim in claims)
    unexplained = len(claims) - agree - explained
    words = f"{agree} agree, {len(claims) - agree} differ"
    if unexplained:
        reason = (
            f"{unexplained} of the differences {'is' if unexplained == 1 else 'are'} not explained: one side is wrong."
        )
    elif explained:
        reason = "Every difference is explained, with the reason beside it."
    else:
        reason = "Nothing differs."
    parts = "".join(
        f"<i class='{kind}' style='flex-grow:{count}'></i>"
        for kind, count in (("agrees", agree), ("differs", explained), ("unexplained", unexplained))
        if count
    )
    return (
        f"<div class='verdict{' fails' if unexplained else ''}'><strong>{'✗' if unexplained else '✓'} {words}</strong>"
        f"<div class='bar' role='img' aria-label='{words}'>{parts}</div>"
        f"<span>{len(claims)} values and statements of the paper were compared. {reason}</span></div>"
    )


def _tally(found: Found) -> str:
    """How many claims of a section agree and differ."""
    differ = sum(not claim.agrees for claim in found.claims)
    agree = len(found.claims) - differ
    return f"{agree} agree" + (f", <b>{differ} differ</b>" if differ else "")


def _contents(done: Sequence[Done], differences: bool) -> str:
    """Where to find what: every section, with its verdict."""
    first = "<li><a href='#differences'>Where the paper differs</a></li>" if differences else ""
    items = "".join(
        f'<li><a href="#{escape(part.section.name)}"><span>{escape(part.section.title)}</span>'
        f"<span class='count'>{_tally(part.found)}</span></a></li>"
        for part in done
    )
    return f"<nav aria-label='Every table, example and figure'><ol>{first}{items}</ol></nav>"


def _section(part: Done) -> str:
    found = part.found
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in found.text)
    rows = "".join(map(_row, found.claims))
    head = "".join(f"<th scope='col'>{name}</th>" for name in COLUMNS)
    kind = "claims long" if len(found.claims) > MOST_TOGETHER else "claims"
    claims = (
        f"<div class='scroll' tabindex='0' role='group' aria-label='Claims'><table class='{kind}'>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        if rows
        else ""
    )
    pictures = "".join(
        "<figure tabindex='0'>"
        f"<img alt='{escape(finding_of(picture.chart), quote=True)}' src='data:image/svg+xml;base64,{_encoded(svg)}'>"
        f"<figcaption>{escape(picture.caption)} <a href='{escape(picture.name)}.svg'>{escape(picture.name)}.svg</a>"
        "</figcaption></figure>"
        for picture, svg in zip(found.pictures, part.pictures, strict=True)
    )
    tables = "".join(map(_table, found.tables))
    return (
        f"<section><h2 id='{escape(part.section.name)}'>{escape(part.section.title)}</h2>"
        f"<p class='tally'>{_tally(found)}. Covers: {escape(', '.join(part.section.covers))}.</p>"
        f"{text}{claims}{pictures}{tables}</section>"
    )


def _row(claim: Claim) -> str:
    kind = "agrees" if claim.agrees else "differs" if claim.why else "unexplained"
    told = [escape(claim.place), _read(claim, claim.paper), _read(claim, claim.ours), escape(claim.verdict)]
    cells = "".join(f"<td data-label='{name}'>{text}</td>" for name, text in zip(COLUMNS[1:], told, strict=True))
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
        f"<details><summary>{name}: {len(table.rows)} rows{note}</summary><p><a href='{name}.csv'>{name}.csv</a></p>"
        f"<div class='scroll' tabindex='0' role='group' aria-label='{name}'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _read(claim: Claim, text: str) -> str:
    """What was compared, with few digits and all of them behind; with all of them where few do not show a difference."""
    short = _briefly(text)
    if short == text or (not claim.agrees and _briefly(claim.paper) == _briefly(claim.ours)):
        return escape(text)
    return f'<data value="{escape(text)}">{escape(short)}</data>'


def _briefly(text: str) -> str:
    """Numbers in four digits, as many as the paper prints.

    >>> _briefly("0.0134208289 bits"), _briefly("1.999999999 bits"), _briefly("(1/3, 0.25)"), _briefly("1 bits")
    ('0.01342 bits', '2 bits', '(1/3, 0.25)', '1 bit')
    """
    short = LONG.sub(lambda found: f"{float(found[0]):.4g}", text)
    return re.sub(r"(?<![\d.])1 bits", "1 bit", short)


def _reason(claim: Claim) -> str:
    return f"Why: {claim.why}." if claim.why else "This is not explained: one of the two is wrong."


def _encoded(svg: str) -> str:
    return base64.b64encode(svg.encode("utf-8")).decode("ascii")
