"""The whole page: page one decides, and all else is appendix, in the order in which an officer asks."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from choral.auditing.audit import audit
from choral.auditing.price import Price
from choral.auditing.result import Audit
from choral.auditing.side_knowledge import prices
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.files import check_output, keep_apart, write_whole
from choral.release.card import Card
from choral.release.file import Release
from choral.show.plots import as_svg, channel_plot, ladder_plot, posterior_plot
from choral.show.plots.signature import order_of_codes
from choral.show.plots.style import finding_of
from choral.show.report.checks import checks
from choral.show.report.first import MOST_DECIDED, Names, appendix, decide, top
from choral.show.report.first import picture as signature
from choral.show.report.markup import Html, element, figure
from choral.show.report.promise import limits, promise
from choral.show.report.proof import card, check, words
from choral.show.report.quota import quota
from choral.show.report.released import what
from choral.show.report.shell import whole_page
from choral.show.report.subject import Subject
from choral.show.report.told import how_made, how_much
from choral.tables.opening import opened

SECONDS = 4.0
"""For the price of each remedy on page one: a page is waited for."""


def write(
    release: Release | Disclosure,
    output: str | os.PathLike[str],
    table: Any = None,
    disclosed: Any = None,
    card: Card | None = None,
    *,
    force: bool = False,
) -> Audit | None:
    """Write the report on a release, and return its audit; None where the law lists no columns to audit.

    table, disclosed  the table that is or was disclosed, and its codes, for the audit
    card              the public card: it is checked to be of this release
    """
    target, place = Path(output), release.path if isinstance(release, Release) else None
    keep_apart({"the page": target}, {"the release": place, "the table": table, "the table of codes": disclosed})
    check_output(target, force)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ProblemError(f"{target} is not a .html file.", "Choose this ending.")
    compact = isinstance(release, Disclosure) and release.law.table is None and table is None and disclosed is None
    findings = None if compact else audit(release, table, disclosed)
    costs: dict[str, Price] = {}
    if findings is not None and isinstance(release, Release):
        costs = _prices(release, table, findings)
    write_whole(target, render(release, findings, card, costs, name_of(table)), force)
    return findings


def _prices(release: Release, table: Any, found: Audit) -> dict[str, Price]:
    """What the remedies on page one cost."""
    shown = found.findings[:MOST_DECIDED]
    if table is None:
        return prices(release, None, shown, SECONDS)
    with opened(table, release.recipe.as_read) as source:
        return prices(release, source, shown, SECONDS)


def name_of(table: Any) -> str:
    """What a table is called, without where it lies; empty where it is no file."""
    return Path(table).name if isinstance(table, str) or hasattr(table, "__fspath__") else ""


def render(
    release: Release | Disclosure,
    findings: Audit | None = None,
    public: Card | None = None,
    costs: Mapping[str, Price] | None = None,
    table: str = "",
    date: datetime.date | None = None,
) -> str:
    """The report on a release as one HTML page; raises if a claim of the release fails.

    findings  the audit to show (`choral.audit`)
    public    the card that was made for the release, if it is to be checked too
    costs     what the remedies on page one cost, by promise
    table     the name of the table; date, of the page: today unless told

    >>> import choral as ch
    >>> page = render(ch.disclose(ch.examples.xor()))
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    subject = Subject.of(release, findings, public)
    found = subject.disclosure
    title = f"What the codes tell about {subject.brief}, and what they do not"
    file = release.path.name if isinstance(release, Release) and release.path is not None else ""
    rows = "" if subject.recipe is None else f"{subject.recipe.table_rows} records"
    told = ", ".join(part for part in (table, rows) if part)
    names = Names(file or found.digest[:12], told, date or datetime.datetime.now(datetime.UTC).date())
    order = order_of_codes(found, *subject.posterior)
    used = () if subject.recipe is None else subject.recipe.use
    body = [
        element(
            "div",
            top(subject, names, title),
            signature(subject),
            decide(subject, costs or {}),
            class_="first",
            id="first",
        ),
        appendix(),
        what(subject),
        promise(subject),
        limits(subject),
        *quota(subject),
        how_much(subject, _picture(ladder_plot(found), "ladder"), _picture(posterior_plot(found), "posteriors")),
        how_made(subject, _picture(channel_plot(found, used, order), "channel")),
        checks(subject),
        check(subject),
        card(subject),
        words(),
    ]
    return whole_page(title, body)


def _picture(chart: Any, name: str) -> Html:
    return figure(as_svg(chart), finding_of(chart), name)
