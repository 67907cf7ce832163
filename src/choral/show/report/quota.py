"""Codes that were drawn by quota: the shares in the table, what was promised of them, and what they cost."""

from __future__ import annotations

from choral.auditing.findings import quota as shares_of
from choral.draw.quota_words import said_of
from choral.show.report.markup import Html, element, listing, paragraph
from choral.show.report.subject import Subject


def quota(subject: Subject) -> list[Html]:
    """The section about quotas, where codes that were given out were drawn so."""
    if subject.audit is None or subject.audit.quota is None:
        return []
    found = subject.audit.quota
    return [
        element(
            "section",
            element("h2", "Shares that can be counted"),
            paragraph(f"{found.sentence}."),
            *map(listing, shares_of(subject.audit)),
            *map(paragraph, said_of(found.cost)),
            id="quota",
        )
    ]
