"""What is handed over: the public card, the disclosed codes, and the report. Card and codes are entered in the ledger.

The ledger refuses what would tell about a record twice. Whoever gave nothing away may say so, and it starts anew; the old
one stays beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from choral.draw.engine import disclose_table
from choral.draw.quota import Chosen
from choral.draw.quota_words import said_of, told_of
from choral.ledger.book import make_room, open_ledger
from choral.release.card import card_of
from choral.release.file import Release, load_release
from choral.show.studio import result
from choral.show.studio.tables import Opened

CARD, REPORT = "card.json", "report.html"


def write_card(folder: Path, opened: Opened, ledger: Path) -> Path:
    """The public card of a result, entered in the ledger first."""
    release = _release(folder)
    make_room(ledger)
    with open_ledger(ledger) as book:
        book.record_card(release, table=opened.path)
    return card_of(release).save(folder / CARD, force=True)


def write_codes(folder: Path, opened: Opened, ledger: Path, ending: str, id: str | None, **how: Any) -> Path:
    """One code for each row of the table that the result was made for; `how` is `draw` and `quota_noise`."""
    release = _release(folder)
    target = folder / f"codes{ending}"
    make_room(ledger)
    disclose_table(release, opened.path, target, ledger, id, force=True, **how)
    return target


def quota(folder: Path, noise: float | None) -> dict[str, Any]:
    """What drawing a result by quota would give and cost, in sentences and as data; raises where it cannot be drawn so."""
    quotas = Chosen.of("quota", noise).quotas(_release(folder), None)
    assert quotas is not None
    found = told_of(quotas)
    return {**found.to_json(), "sentences": [f"By quota, {found.reached}.", *said_of(found.cost)]}


def write_report(folder: Path) -> Path:
    """The report of a result, with its audit, as one page of HTML."""
    from choral.auditing.audit import audit
    from choral.files import write_whole
    from choral.show.report import render

    release = _release(folder)
    write_whole(folder / REPORT, render(release, audit(release)), True)
    return folder / REPORT


def start_ledger_anew(ledger: Path) -> None:
    """Put the ledger aside, for a curator who says that nothing at all that it records was given to anybody."""
    number = 1
    while (aside := ledger.with_name(f"{ledger.name}.{number}")).exists():
        number += 1
    if ledger.exists():
        ledger.rename(aside)


def _release(folder: Path) -> Release:
    return load_release(folder / result.RELEASE)
