"""The audit in the report: every table of it, each with what it means in plain words."""

from __future__ import annotations

from choral.auditing import findings
from choral.auditing.advice import guarantee
from choral.auditing.result import Audit
from choral.show.report.markup import Html, bullets, element, fold, listing, paragraph
from choral.show.report.subject import Subject

OPEN_ROWS = 12
"""A table of more rows than this is folded in."""

PARTS = (
    (
        "Private groups under other laws",
        findings.protected_elsewhere,
        "What the code tells about each private group under every other law that was given, where that is not the same. “0, "
        "exactly” is decided in whole numbers.",
    ),
    (
        "Other columns",
        findings.others,
        "What the code tells about columns that are not private. The target is meant to be told about.",
    ),
    (
        "Several columns together",
        findings.together,
        "What it tells about two or three columns at once, where that is more than about any part of them.",
    ),
    (
        "To somebody who knows another column",
        findings.knowing,
        "What it tells about a private group to somebody who knows another column.",
    ),
    (
        "To somebody who knows the composition of the table",
        findings.composition,
        "What all codes together tell about one record's value. “At most” holds always; “for sure” is the probability "
        "that the codes give the value away.",
    ),
    (
        "Records to come",
        findings.new_records,
        "The advantage is the largest difference of probabilities of any event of the code between two private values: "
        "0 tells nothing, 1 tells them apart for sure.",
    ),
    (
        "The codes that were given out",
        findings.output,
        "Tests of whether the actual codes look as the release says. A small corrected p-value (below 0.01) in a row "
        "that is promised means that they do not.",
    ),
)


def checks(subject: Subject) -> Html:
    """The section of the audit."""
    heading = element("h2", "The audit")
    if subject.audit is None:
        return element("section", heading, paragraph(_not_audited(subject)), id="audit")
    audit = subject.audit
    notes = [bullets([[note] for note in audit.notes])] if audit.notes else []
    tested = "" if audit.output is not None else paragraph(NOT_TESTED)
    parts = [part for name, made, words in PARTS for part in _part(audit, name, made, words)]
    return element(
        "section",
        heading,
        paragraph(
            "The audit looks for what the guarantee leaves open. “Right before” and “right after” are how often the "
            "likeliest value is the true one, without the code and with it. In bits, 0 is nothing and 1 a whole yes-or-no "
            "answer."
        ),
        paragraph(guarantee(audit), class_="summary"),
        element("ol", *(element("li", str(finding)) for finding in audit.findings)) if audit.findings else "",
        *notes,
        tested,
        *parts,
        id="audit",
    )


NOT_TESTED = (
    "No codes that were given out were tested: give the table and the codes to test them (choral report --table TABLE "
    "--disclosed CODES)."
)


def _not_audited(subject: Subject) -> str:
    if subject.compact:
        return (
            "This release is on a law of many samples that lists no columns, so that pairs and other columns cannot be "
            "looked at one by one. What is promised is proved all the same; what is not promised was not measured."
        )
    return "No audit was made: what is not promised was not measured. Make one with choral audit, or choral report."


def _part(audit: Audit, name: str, made: object, words: str) -> list[Html]:
    tables = made(audit) if callable(made) else []
    if not tables:
        return []
    rows = sum(len(table.rows) for table in tables)
    shown = [listing(table) for table in tables]
    if rows > OPEN_ROWS:
        shown = [fold(f"{name}: {rows} rows", *shown)]
    return [element("h3", name), paragraph(words), *shown]
