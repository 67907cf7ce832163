"""Page one: what was decided, what there is to decide, and the picture between them. All else is appendix."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from choral.auditing.advice import Finding, guarantee
from choral.auditing.price import Price
from choral.describe.display import percent
from choral.show.plots import as_svg, signature_plot
from choral.show.plots.signature import signature_of
from choral.show.plots.two_sides import NARROW, WIDE
from choral.show.report.markup import Html, Part, bits, count, drawing, element, paragraph, share
from choral.show.report.subject import Subject
from choral.show.style import mark
from choral.version import __version__

MOST_DECIDED = 3
"""Things to decide on page one."""
NUMBERS = ("Nothing", "One thing", "Two things", "Three things")
MARKS = {
    "good": "M5 12.5l4.5 4.5L19 7.5",
    "warn": "M12 5v9M12 18.2v.1",
    "bad": "M6.5 6.5l11 11M17.5 6.5l-11 11",
}
"""A tick, an exclamation mark and a cross, in a square of 24."""


@dataclass(frozen=True)
class Names:
    """What page one calls things, and when it was made; never a path."""

    release: str
    table: str
    date: datetime.date

    def __str__(self) -> str:
        return f"{self.date.day} {self.date:%B %Y}"


def top(subject: Subject, names: Names, title: str) -> Html:
    """For whom the page is, what it is about, and the verdict."""
    return element(
        "header",
        paragraph(
            element(
                "strong", "Confidential: for the curator and the data-protection officer. Do not publish this page."
            ),
            class_="confidential",
        ),
        element("div", drawing(mark(), "choral", "mark"), element("h1", title), class_="title"),
        facts_line(
            [
                ("Release", names.release),
                ("Table", names.table),
                ("Made", str(names)),
                ("With", f"choral {__version__}"),
            ]
        ),
        verdict(subject),
    )


def facts_line(rows: list[tuple[str, str]]) -> Html:
    """Names and what they are, in one line."""
    pairs = [element("div", element("dt", name), element("dd", text)) for name, text in rows if text]
    return element("dl", *pairs, class_="line")


def verdict_mark(kind: str) -> Html:
    """A tick, an exclamation mark or a cross."""
    return Html(
        f'<svg class="verdict-mark" viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="11"></circle>'
        f'<path d="{MARKS[kind]}"></path></svg>'
    )


def verdict(subject: Subject) -> Html:
    """Whether what is promised holds, in one sentence with a mark."""
    audit = subject.audit
    if audit is not None and not audit.passed:
        kind, head = "bad", "Do not release: what is promised does not hold here."
        text = guarantee(audit) if not audit.kept else str(audit.findings[0])
        if audit.findings and audit.findings[0].grade == 0:
            text = str(audit.findings[0])
    else:
        open_ = audit is None or any(finding.grade == 1 for finding in audit.findings)
        kind, head = ("warn" if open_ else "good"), "What is promised holds, exactly."
        text = "The stand-alone verifier recomputed every claim in whole numbers when this page was made."
        if audit is None:
            text += " What is not promised was not measured."
        elif open_:
            text += " What is left open is to be decided below."
        elif audit.unlooked:
            kind = "warn"
            text += " Not everything else was looked at: see below."
    return element(
        "div",
        verdict_mark(kind),
        element("p", element("strong", head), f" {text}"),
        class_=f"verdict {kind}",
        role="status",
    )


def picture(subject: Subject) -> Html:
    """The signature picture, for wide pages and for narrow ones, under its finding; and the same in a sentence."""
    found = subject.disclosure
    drawn = signature_of(found)
    wide = drawing(as_svg(signature_plot(found, WIDE, False)), drawn.finding, "signature", class_="wide")
    narrow = drawing(as_svg(signature_plot(found, NARROW, False)), drawn.finding, "signature-narrow", class_="narrow")
    return element(
        "section",
        element("h2", drawn.finding, class_="finding"),
        element("figure", wide, narrow, tabindex="0"),
        paragraph(*told(subject), class_="quiet"),
        id="short",
    )


def told(subject: Subject) -> list[Part]:
    """What is told, in right guesses, then bits."""
    found = subject.disclosure
    if found.codes == 1:
        return ["There is one code only, the same for every record: it tells nothing about anything."]
    before, after = map(share, subject.guess)
    if before.value == after.value:
        guesses: list[Part] = [
            f"The best guess at {subject.brief} stays the same, right in ",
            before,
            " of cases, but its odds move.",
        ]
    elif before.text == after.text:
        guesses = [
            f"Whoever sees it guesses {subject.brief} right a little more often than the ",
            before,
            " without it.",
        ]
    else:
        guesses = [f"Whoever sees it guesses {subject.brief} right in ", after, " of cases instead of ", before, "."]
    return [
        "Each record gets one of ",
        count(found.codes, "code"),
        ". ",
        *guesses,
        " It tells ",
        bits(found.information),
        " of the ",
        bits(found.problem.entropy_of_target),
        f" that there are to know about {subject.brief}. A dot is a code, its area how often it is seen; dashed is what is "
        "known without it; a straight line is the same under every code.",
    ]


def decide(subject: Subject, prices: Mapping[str, Price]) -> Html:
    """The three gravest findings, each with what can be done and what that costs."""
    if subject.audit is None:
        return element(
            "section",
            element("h2", "Nothing to decide was looked for"),
            paragraph("No audit was made: what is not promised was not measured."),
            id="decide",
        )
    every = [finding for finding in subject.audit.findings if finding.grade < 3]
    shown = every[:MOST_DECIDED]
    heading: list[Part] = [f"{NUMBERS[len(shown)]} to decide"]
    if rest := len(every) - len(shown):
        link = element("a", f"{rest} more in the appendix", href="#audit")
        heading.append(element("span", " (", link, ")", class_="quiet"))
    said = []
    if shown:
        said.append(element("ol", *(_item(subject, finding, prices) for finding in shown), class_="decide"))
    elif not subject.audit.unlooked:
        text = "Of all that was looked at, nothing else tells 0.01 bits or more. The codes can be given out."
        said.append(paragraph(text))
    else:
        heading = ["Not everything was looked at"]
        said.append(
            paragraph("Of what was looked at, nothing else tells 0.01 bits or more. But make this page with the table:")
        )
    said += [paragraph(sentence, class_="summary") for sentence in subject.audit.unlooked]
    return element("section", element("h2", *heading), *said, id="decide")


def _item(subject: Subject, finding: Finding, prices: Mapping[str, Price]) -> Html:
    price = prices.get(finding.promise or "")
    also = [f"{finding.alike[0].upper()}{finding.alike[1:]}. "] if finding.alike else []
    return element(
        "li",
        paragraph(element("strong", f"{finding.sentence}.")),
        paragraph(*also, *_remedy(finding), *_cost(subject, price)),
        **({"class_": "grave"} if finding.grade == 0 else {}),
    )


def _remedy(finding: Finding) -> list[Part]:
    if finding.kind in ("knowing", "column") and finding.promise is not None:
        matters = " if it matters" if finding.kind == "column" else ""
        return ["Add ", element("code", f"--protect '{finding.promise}'"), f"{matters}."]
    return [f"{finding.remedy[0].upper()}{finding.remedy[1:]}."]


def _cost(subject: Subject, price: Price | None) -> list[Part]:
    if price is None:
        return []
    find = None if subject.release is None else subject.release.meaning.find
    if find is not None and price.often is not None:
        named, then = find.named(subject.brief), percent(price.often)
        where = "of as many records with the most telling codes"
        if then == percent(find.often):
            return [f" It costs next to nothing: {named} still in {then} {where}."]
        return [f" It costs: {named} then in {then} {where}, instead of {percent(find.often)}."]
    before, now = subject.guess
    if percent(now) == percent(price.right):
        return [f" It costs next to nothing: {subject.brief} is still guessed right {percent(now)}."]
    return [
        f" It costs {percent(now - price.right)[:-2]} points: {subject.brief} is then guessed right {percent(price.right)} "
        f"instead of {percent(now)} ({percent(before)} without a code)."
    ]


def appendix() -> Html:
    """Where page one ends."""
    return element("h2", "Appendix", id="appendix", class_="divider")
