"""The public page: what a card may say, for people, to put beside published codes; made of the card and of nothing else.

Levels of protected columns are not on a card, so their lines have none: that each is the same under every code is.
"""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from choral.describe.display import Cell, Listing, Shown, percent
from choral.errors import ProblemError
from choral.files import check_output, keep_apart, write_whole
from choral.release.advice import columns_of
from choral.release.card import Card
from choral.show.plots import as_svg
from choral.show.plots.style import distinct, short
from choral.show.plots.two_sides import NARROW, WIDE, Left, Panel, Picture, Series, draw
from choral.show.report.first import facts_line, verdict_mark
from choral.show.report.markup import Html, bits, bullets, drawing, element, fold, joined, listing, paragraph
from choral.show.report.shell import whole_page
from choral.show.style import mark
from choral.tables.binned import SPOKEN

MOST_TARGET_VALUES = 5
"""Lines at the left; a target of two values has one."""
MOST_CODES = 300
"""Rows of the table of codes."""
MOST_VALUES = 40
"""Its columns."""


def write_public(
    card: Card, output: str | os.PathLike[str], path: str | os.PathLike[str] | None = None, *, force: bool = False
) -> None:
    """Write the public page of a card, which was read from `path`."""
    target = Path(output)
    keep_apart({"the page": target}, {"the card": path})
    check_output(target, force)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ProblemError(f"{target} is not a .html file.", "Choose this ending.")
    write_whole(target, render_public(card), force, public=True)


def render_public(card: Card, date: datetime.date | None = None) -> str:
    """The public page: what the codes tell, what is hidden and from whom, what is not promised, and what each code means."""
    document = card.document
    target = short(" and ".join(document["reveal"]), 48)
    title = f"What the codes tell about {target}, and what they do not"
    day = date or datetime.datetime.now(datetime.UTC).date()
    told = document["values"] is not None and document["p_w_given_y"] is not None and document["p_y"] is not None
    body = [
        element(
            "header",
            paragraph("Public: made of the card that goes with the codes, and of nothing else.", class_="public"),
            element("div", drawing(mark(), "choral", "mark"), element("h1", title), class_="title"),
            facts_line(
                [
                    ("Codes", str(document["codes"])),
                    ("Records", "" if document["records"] is None else f"about {document['records']}"),
                    ("Page made", f"{day.day} {day:%B %Y}"),
                ]
            ),
            _promised(document),
        ),
        *(_picture(card) if told else [paragraph(_withheld(document), class_="summary")]),
        element(
            "section",
            element("h2", "What is promised"),
            *_under(document["guarantee"]),
            id="promise",
        ),
        element(
            "section",
            element("h2", "What is not promised"),
            bullets([[line] for line in document["limits"]]),
            id="limits",
        ),
        *([_codes(card)] if told else []),
        _use(document),
    ]
    return whole_page(title, [element("div", *body, class_="public-page")])


def _sentences(name: str, heading: str, lines: Sequence[str]) -> Html:
    return element("section", element("h2", heading), bullets([[line] for line in lines]), id=name)


def _withheld(document: Mapping[str, Any]) -> str:
    why = document.get("withheld") or "the target is private too"
    return f"The card gives no figures about the target: {why}."


def _binned(columns: Sequence[str], said: str) -> str:
    """The columns of a group; where the guarantee says so, that of one its bin is private.

    >>> _binned(["sex", "age"], "… independent of sex and age (in 8 bins): …")
    'sex+age (in 8 bins)'
    """
    bins = (re.search(rf"(?<!\w){re.escape(name)} \({SPOKEN}\)", said) for name in columns)
    return "+".join(name if found is None else found[0] for name, found in zip(columns, bins, strict=True))


def _under(lines: Sequence[str]) -> list[Html]:
    """What is promised, below the law that it is promised under."""
    head, *rest = lines
    if not head.endswith(":"):
        return [bullets([[line] for line in lines])]
    return [paragraph(head), bullets([[line] for line in rest])]


def _promised(document: Mapping[str, Any]) -> Html:
    said = " ".join(document["guarantee"])
    exact = [_binned(group["columns"], said) for group in document["protect"] if group["budget"] is None]
    loose = [_binned(group["columns"], said) for group in document["protect"] if group["budget"] is not None]
    parts = []
    if exact:
        parts.append(f"The code of a record tells nothing about {_names(exact)}, exactly.")
    if loose:
        parts.append(f"About {_names(loose)} it tells something, within a stated budget.")
    text = f" {' '.join(parts)}" if parts else ""
    return element(
        "div",
        verdict_mark("good"),
        element("p", element("strong", "What is promised."), text),
        class_="verdict good",
        role="status",
    )


def _names(names: Sequence[str]) -> str:
    cut = [short(name, 40) for name in names[:8]]
    more = f", and {len(names) - 8} more" if len(names) > 8 else ""
    return ", ".join(cut) + more


def _picture(card: Card) -> list[Html]:
    """The signature picture, as far as the card goes, with its finding in right guesses."""
    document = card.document
    rows = [(y, row, p) for y, (row, p) in enumerate(zip(card.p_w_given_y, document["p_y"], strict=True)) if row and p]
    if not rows:
        return []
    total = sum(p for _, _, p in rows)
    width = len(rows[0][1])
    prior = [sum(p * row[v] for _, row, p in rows) / total for v in range(width)]
    before, after = max(prior), sum(p * max(row) for _, row, p in rows) / total
    names = distinct(_value_names(card), 26)
    far = sorted(range(width), key=lambda v: (-round(max(abs(row[v] - prior[v]) for _, row, _ in rows), 3), prior[v]))
    rows.sort(key=lambda one: one[1][far[0]])
    shares = tuple(p / total for _, _, p in rows)
    chosen = far[: 1 if width == 2 else MOST_TARGET_VALUES]
    series = tuple(Series(names[v], prior[v], tuple(row[v] for _, row, _ in rows)) for v in chosen)
    target = short("+".join(document["reveal"]), 24)
    head = (
        f"told: {target} = {names[far[0]]}" if len(chosen) == 1 else f"told: {target}, {len(chosen)} of {width} values"
    )
    note = f"before: {percent(prior[far[0]])}" if len(chosen) == 1 else "dashed: before"
    panels = tuple(_panel(group) for group in document["protect"])
    hidden = _names(["+".join(group["columns"]) for group in document["protect"] if group["budget"] is None])
    finding = (
        f"{short('+'.join(document['reveal']), 48)} is guessed right {percent(after)} instead of {percent(before)}"
        + (f"; {hidden}: as before" if hidden else "")
    )
    drawn = Picture(finding, (), Left(head, note, series, shares), panels[:20])
    wide = drawing(as_svg(draw(drawn, WIDE, False)), finding, "signature", class_="wide")
    narrow = drawing(as_svg(draw(drawn, NARROW, False)), finding, "signature-narrow", class_="narrow")
    information = document["information"]
    said = "A dot is a code, its area how often it is seen; dashed is what is known without it. All numbers are from rounded "
    return [
        element(
            "section",
            element("h2", finding, class_="finding"),
            element("figure", wide, narrow, tabindex="0"),
            paragraph(
                f"{said}counts",
                "." if information is None else joined([": ", bits(information), " are told."]),
                class_="quiet",
            ),
            id="short",
            class_="first",
        )
    ]


def _panel(group: Mapping[str, Any]) -> Panel:
    name = "+".join(group["columns"])
    if group["budget"] is None:
        return Panel(f"hidden: {short(name, 40)}", "0, exactly", ())
    return Panel(f"within a budget: {short(name, 32)}", _budget(group["budget"]), (), "within a budget")


def _budget(budget: Mapping[str, str]) -> str:
    return f"at most {budget['leakage']} bits" if "leakage" in budget else f"within a factor {budget.get('ratio', '')}"


def _value_names(card: Card) -> list[str]:
    names = [", ".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in card.values]
    return [*names, "other values"] if card.document.get("other") else names


def _codes(card: Card) -> Html:
    """What each code means, in percent; codes in the order of their names."""
    document = card.document
    names = distinct(_value_names(card), 26)
    advised = columns_of(document)
    rows: list[list[Cell]] = []
    for y, row in enumerate(card.p_w_given_y[:MOST_CODES]):
        cells: list[Cell] = (
            [Shown(p, percent(p)) for p in row[:MOST_VALUES]] if row else [""] * min(len(names), MOST_VALUES)
        )
        more: list[Cell] = ["" if column[y] is None else str(column[y]) for _, column in advised]
        rows.append([f"code {y}", Shown(document["p_y"][y], percent(document["p_y"][y])), *cells, *more])
    columns = ["", "how often", *names[:MOST_VALUES], *(name for name, _ in advised)]
    table = listing(Listing(f"What each code says about {'+'.join(document['reveal'])}", columns, rows))
    shown = table if len(rows) <= 20 and len(columns) <= 8 else fold(f"All {len(rows)} codes", table)
    return element("section", element("h2", "What each code means"), shown, id="codes")


def _use(document: Mapping[str, Any]) -> Html:
    parts = [
        paragraph("With the codes and their card, choral puts what each code says beside it:"),
        element("pre", "choral decode card.json codes.parquet -o posterior.parquet", tabindex="0"),
        paragraph(
            "Each row then has a probability for each value. Add them up to count, weigh by them to estimate, or train on "
            "them as soft labels. Do not round them to the likeliest value first."
        ),
        paragraph(
            "Whoever holds the release can show that this card is of it: its salted digest is ",
            element("code", document["certificate"]["salted_sha256"]),
            ".",
            class_="quiet",
        ),
    ]
    heading = element("h2", "How to use them")
    return element("section", heading, *(parts if document["values"] is not None else parts[-1:]), id="use")
