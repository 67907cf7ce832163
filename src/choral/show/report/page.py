"""The whole page: what it says, in the order in which an officer asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from choral.auditing.audit import audit
from choral.auditing.result import Audit
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.files import check_output, keep_apart, write_whole
from choral.release.card import Card
from choral.release.file import Release
from choral.show.plots import as_svg, channel_plot, ladder_plot, posterior_plot, signature_plot
from choral.show.plots.style import finding_of
from choral.show.report.checks import checks, verdict
from choral.show.report.markup import Html, element, figure, joined
from choral.show.report.promise import limits, promise
from choral.show.report.proof import card, check, words
from choral.show.report.quota import quota
from choral.show.report.released import confidential, in_short, what
from choral.show.report.subject import Subject
from choral.show.report.told import how_made, how_much

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The page loads nothing and runs nothing."""
STYLE = Path(__file__).with_name("style.css")


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
    write_whole(target, render(release, findings, card), force)
    return findings


def render(release: Release | Disclosure, findings: Audit | None = None, public: Card | None = None) -> str:
    """The report on a release as one HTML page; raises if a claim of the release fails.

    findings  the audit to show (`choral.audit`)
    public    the card that was made for the release, if it is to be checked too

    >>> import choral as ch
    >>> page = render(ch.disclose(ch.examples.xor()))
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    subject = Subject.of(release, findings, public)
    found = subject.disclosure
    title = f"What the codes tell about {subject.target}, and what they do not"
    body = [
        element("h1", title),
        confidential(subject),
        verdict(subject),
        in_short(subject),
        what(subject),
        promise(subject, [_picture(signature_plot(found), "signature")]),
        limits(subject),
        *quota(subject),
        how_much(subject, _picture(ladder_plot(found), "ladder"), _picture(posterior_plot(found), "posteriors")),
        how_made(subject, _picture(channel_plot(found), "channel")),
        checks(subject),
        check(subject),
        card(subject),
        words(),
    ]
    head = joined(
        [
            element("meta", charset="utf-8"),
            element("meta", name_="viewport", content="width=device-width, initial-scale=1"),
            element("meta", content=POLICY, **{"http-equiv": "Content-Security-Policy"}),
            element("title", title),
            Html(f"<style>{STYLE.read_text(encoding='utf-8')}</style>"),
        ]
    )
    page = element("html", element("head", head), element("body", element("main", *body)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _picture(chart: Any, name: str) -> Html:
    return figure(as_svg(chart), finding_of(chart), name)
