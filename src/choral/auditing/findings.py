"""The findings of an audit as tables; numbers are rounded here and nowhere before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from choral.auditing.quota_shares import MOST_SHOWN
from choral.describe.display import Cell, Listing, Shown, at_most, counted, in_bits, percent
from choral.release.leakage import Leakage
from choral.tables.binned import inside_bins, spoken

if TYPE_CHECKING:
    from choral.auditing.result import Audit, UnderLaw


def listings(found: Audit) -> list[Listing]:
    """All tables, in the order in which they are read."""
    parts = (
        protected,
        absence,
        inside_the_bins,
        others,
        together,
        knowing,
        beyond,
        composition,
        new_records,
        output,
        quota,
    )
    return [listing for part in parts for listing in part(found)]


def protected(found: Audit) -> list[Listing]:
    """What the code tells about each protected group, under each law."""
    limit = inside_bins({name: cutting for name, cutting in found.bins.items() if name in _protected_columns(found)})
    tables: list[tuple[list[str], UnderLaw]] = []
    for law in found.laws:
        same = next((names for names, other in tables if (other.groups, other.given) == (law.groups, law.given)), None)
        if same is None:
            tables.append(([law.name], law))
        else:
            same.append(law.name)
    return [
        listing
        for names, law in tables
        for listing in _leaks(found, f"Protected, under {' and '.join(names)}", (*law.groups, *law.given), limit)
    ]


def protected_elsewhere(found: Audit) -> list[Listing]:
    """The same under laws where it is not as under the release's own."""
    return protected(found)[1:]


def inside_the_bins(found: Audit) -> list[Listing]:
    """What the code tells about the raw values of protected columns that are binned."""
    if not found.inside:
        return []
    rows = [[f"the exact {'+'.join(leak.about)}", *_leak(leak)] for leak in found.inside]
    return [
        Listing(
            f"Inside the bins, under {found.view}",
            LEAKS,
            rows,
            "Not promised: only the bin is private. Where few records share a value, a part of it is chance.",
        )
    ]


def absence(found: Audit) -> list[Listing]:
    """What it tells about each protected group that a record has no code."""
    return _leaks(found, f"Whether a record of {found.view} has a code", found.absence)


def others(found: Audit) -> list[Listing]:
    """What the code tells about each column that is in no protected group."""
    return _leaks(found, f"Not protected, under {found.view}", found.columns)


def together(found: Audit) -> list[Listing]:
    """The pairs and triples of columns about which the code tells most."""
    pairs, triples = found.looked["pairs"], found.looked["triples"]
    return _leaks(
        found,
        f"Together: {pairs.at} of {pairs.of} pairs and {triples.at} of {triples.of} triples looked at, the largest shown",
        [leak.leakage for leak in found.together],
    )


def knowing(found: Audit) -> list[Listing]:
    """What the code tells about a protected group to someone who knows another column."""
    looked = found.looked["knowing"]
    return _leaks(found, f"Knowing another column: {looked.at} of {looked.of} looked at", found.knowing)


def beyond(found: Audit) -> list[Listing]:
    """What the code tells where promises given a column end."""
    title = "Not covered by a promise given a column: it known in part, or another one as well; the largest of each"
    return _leaks(found, title, found.beyond)


def composition(found: Audit) -> list[Listing]:
    """What all codes together tell to someone who knows the composition of the table."""
    if not found.composition:
        return []
    rows: list[list[Cell]] = [
        [
            spoken(leak.about, found.bins),
            Shown(leak.bits, _three(leak.bits)),
            leak.method,
            Shown(leak.bound, at_most(leak.bound)) if leak.bound < found.held.get(leak.about, math.inf) else "",
            "" if leak.certain is None else Shown(leak.certain, f"{leak.certain:.2g}"),
            "; ".join(f"{in_bits(w.bits)} where {w.count} share a value" for w in leak.worst[:1]),
        ]
        for leak in found.composition
    ]
    columns = ["about", "bits", "how", "at most", "for sure", "worst"]
    [records] = {leak.records for leak in found.composition}
    title = f"To someone who knows the exact composition of the table of {records} records"
    return [Listing(title, *_without_empty(columns, rows))]


def new_records(found: Audit) -> list[Listing]:
    """Bounds about records that are not in the table; those that say nothing are left out."""
    tables = []
    for bound in found.out_of_sample:
        rows: list[list[Cell]] = [
            [
                spoken(group.about, found.bins),
                Shown(group.bound, at_most(group.bound)) if group.bound < 1 else "",
                Shown(group.bits, at_most(group.bits)) if group.bits < found.held.get(group.about, math.inf) else "",
                Shown(group.count, counted(group.count, "row")),
            ]
            for group in bound.groups
            if group.bound < 1
        ]
        if rows:
            title = f"New records, {percent(bound.confidence)} confidence, from {bound.source} of {bound.rows} rows"
            columns = ["about", "advantage at most", "bits at most", "rarest value"]
            caption = f"By {bound.inequality}. Assumes that {bound.assumes}. {bound.remedy}"
            tables.append(Listing(title, *_without_empty(columns, rows), caption))
    return tables


def output(found: Audit) -> list[Listing]:
    """Tests of the codes that were given out, and a classifier that sees them."""
    if found.output is None:
        return []
    tests: list[list[Cell]] = [
        [
            spoken(t.about, found.bins),
            t.question + ("" if t.protected else " (not promised)"),
            Shown(t.statistic, f"{t.statistic:.4g}"),
            Shown(t.p_value, f"{t.p_value:.3g}"),
            Shown(t.adjusted, f"{t.adjusted:.3g}"),
            t.method,
        ]
        for t in found.output.tests
    ]
    guesses: list[list[Cell]] = [
        [
            spoken(g.about, found.bins),
            Shown(g.accuracy, f"{g.accuracy:.4f}"),
            Shown(g.majority, f"{g.majority:.4f}"),
            f"{g.accuracy - g.majority:+.4f} ± {g.error:.4f}",
            Shown(g.sigmas, f"{g.sigmas:+.1f}"),
        ]
        for g in found.output.guesses
    ]
    asked = ["", "question", "G", "p", "corrected", "how"]
    guessed = ["guesses", "right", "majority guess", "gain", "standard errors"]
    return [
        Listing(title, columns, rows)
        for title, columns, rows in (
            (f"Tests of {found.output.rows} codes that were given out", asked, tests),
            ("A classifier that sees the code", guessed, guesses),
        )
        if rows
    ]


def quota(found: Audit) -> list[Listing]:
    """The shares of codes that were drawn by quota, as they are in the table."""
    if found.quota is None:
        return []
    rows: list[list[Cell]] = [
        [
            share.value,
            Shown(share.code, str(share.code)),
            Shown(share.records, str(share.records)),
            Shown(float(share.product), f"{float(share.product):.2f}"),
            Shown(float(share.deviation), f"{float(share.deviation):+.2f}"),
            "" if share.bound is None else Shown(float(share.bound), f"below {float(share.bound):.2f}"),
        ]
        for share in found.quota.shares[:MOST_SHOWN]
    ]
    many = len(found.quota.shares)
    title = f"Drawn by quota: shares in the table itself, {len(rows)} of {many}, farthest from equal first"
    columns = ["of", "code", "records", "equal share", "difference", "promised"]
    tells = f"Who knows the composition of the table and no record learns {in_bits(found.quota.bits)} from them."
    return [Listing(title, *_without_empty(columns, rows), tells)]


def _three(bits: float) -> str:
    return in_bits(bits).removesuffix(" bits").removesuffix(" bit")


GUESSED = ("right before", "right after", "bits")
"""How often the best guess is right without the code and with it, and what the code tells."""
LEAKS = ("about", *GUESSED)


def _leaks(found: Audit, title: str, leaks: Sequence[Leakage], caption: str = "") -> list[Listing]:
    if not leaks:
        return []
    known = any(leak.given for leak in leaks)
    columns = ("about", "to who knows", *GUESSED) if known else LEAKS
    rows = [
        [
            spoken(leak.about, found.bins),
            *([spoken(leak.given, found.bins)] if known else []),
            *_leak(leak),
        ]
        for leak in leaks
    ]
    return [Listing(title, columns, rows, caption)]


def _leak(leak: Leakage) -> list[Cell]:
    return [
        Shown(leak.guess_before, percent(leak.guess_before)),
        Shown(leak.guess_after, percent(leak.guess_after)),
        Shown(leak.bits, "0, exactly" if leak.zero else _three(leak.bits)),
    ]


def _protected_columns(found: Audit) -> set[str]:
    return {name for leak in found.laws[0].groups for name in leak.about}


def _without_empty(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> tuple[list[str], list[list[Cell]]]:
    """Columns that have something in some row."""
    kept = [k for k in range(len(columns)) if any(row[k] != "" for row in rows)]
    return [columns[k] for k in kept], [[row[k] for k in kept] for row in rows]
