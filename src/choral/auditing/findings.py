"""The findings of an audit as tables; numbers are rounded here and nowhere before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from choral.describe.display import Cell, Listing, Shown, at_most
from choral.release.leakage import Leakage
from choral.tables.binned import inside_bins, spoken

if TYPE_CHECKING:
    from choral.auditing.result import Audit


def listings(found: Audit) -> list[Listing]:
    """All tables, in the order in which they are read."""
    parts = (protected, absence, inside_the_bins, others, together, knowing, beyond, composition, new_records, output)
    return [listing for part in parts for listing in part(found)]


def protected(found: Audit) -> list[Listing]:
    """What the code tells about each protected group, under each law."""
    limit = inside_bins([name for name in found.bins if name in _protected_columns(found)])
    return [_leaks(found, f"Protected, under {law.name}", (*law.groups, *law.given), limit) for law in found.laws]


def inside_the_bins(found: Audit) -> list[Listing]:
    """What the code tells about the raw values of protected columns that are binned."""
    if not found.inside:
        return []
    rows = [_leak(leak, f"I(exact value of {'+'.join(leak.about)}; Y)") for leak in found.inside]
    return [
        _listing(
            f"Inside the bins, under {found.view}",
            LEAKS,
            rows,
            "Not promised: only the bin is private. Where few records share a value, a part of it is chance.",
        )
    ]


def absence(found: Audit) -> list[Listing]:
    """What it tells about each protected group that a record has no code."""
    return [_leaks(found, f"Whether a record of {found.view} has a code", found.absence)] if found.absence else []


def others(found: Audit) -> list[Listing]:
    """What the code tells about each column that is in no protected group."""
    return [_leaks(found, f"Not protected, under {found.view}", found.columns)]


def together(found: Audit) -> list[Listing]:
    """The pairs and triples of columns about which the code tells most."""
    pairs, triples = found.looked["pairs"], found.looked["triples"]
    return [
        _leaks(
            found,
            f"Together: {pairs.at} of {pairs.of} pairs and {triples.at} of {triples.of} triples looked at, the largest shown",
            [leak.leakage for leak in found.together],
        )
    ]


def knowing(found: Audit) -> list[Listing]:
    """What the code tells about a protected group to someone who knows another column."""
    looked = found.looked["knowing"]
    return [_leaks(found, f"Knowing another column: {looked.at} of {looked.of} looked at", found.knowing)]


def beyond(found: Audit) -> list[Listing]:
    """What the code tells where promises given a column end."""
    title = "Not covered by a promise given a column: it known in part, or another one as well; the largest of each"
    return [_leaks(found, title, found.beyond)] if found.beyond else []


def composition(found: Audit) -> list[Listing]:
    """What all codes together tell to someone who knows the composition of the table."""
    if not found.composition:
        return []
    rows: list[list[Cell]] = [
        [
            spoken(leak.about, found.bins),
            Shown(leak.records, str(leak.records)),
            Shown(leak.bits, f"{leak.bits:.3g}"),
            leak.method,
            Shown(leak.bound, f"{leak.bound:.3g}"),
            "" if leak.certain is None else Shown(leak.certain, f"{leak.certain:.2g}"),
            "; ".join(f"{w.bits:.2g} bits where {w.count} share a value" for w in leak.worst[:1]),
        ]
        for leak in found.composition
    ]
    columns = ["about", "records", "bits", "how", "at most", "for sure", "worst"]
    return [_listing("To someone who knows the exact composition of the table", columns, rows)]


def new_records(found: Audit) -> list[Listing]:
    """Bounds about records that are not in the table."""
    return [
        _listing(
            f"New records, confidence {bound.confidence:g}, from {bound.source} of {bound.rows} rows",
            ["about", "advantage at most", "bits at most", "rarest value"],
            [
                [
                    spoken(group.about, found.bins),
                    Shown(group.bound, at_most(group.bound)),
                    Shown(group.bits, at_most(group.bits)),
                    Shown(group.count, f"{group.count} rows"),
                ]
                for group in bound.groups
            ],
            f"By {bound.inequality}. Assumes that {bound.assumes}. {bound.remedy}",
        )
        for bound in found.out_of_sample
    ]


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
        _listing(f"Tests of {found.output.rows} codes that were given out", asked, tests),
        _listing("A classifier that sees the code", guessed, guesses),
    ]


LEAKS = ("leak", "bits", "best guess before", "after")


def _leaks(found: Audit, title: str, leaks: Sequence[Leakage], caption: str = "") -> Listing:
    def name(leak: Leakage) -> str:
        given = f" | {spoken(leak.given, found.bins)}" if leak.given else ""
        return f"I({spoken(leak.about, found.bins)}; Y{given})"

    return _listing(title, LEAKS, [_leak(leak, name(leak)) for leak in leaks], caption)


def _leak(leak: Leakage, name: str) -> list[Cell]:
    return [
        name,
        Shown(leak.bits, "0, exactly" if leak.zero else f"{leak.bits:.6g}"),
        Shown(leak.guess_before, f"{float(leak.guess_before):.4f}"),
        Shown(leak.guess_after, f"{float(leak.guess_after):.4f}"),
    ]


def _protected_columns(found: Audit) -> set[str]:
    return {name for leak in found.laws[0].groups for name in leak.about}


def _listing(title: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = "") -> Listing:
    return Listing(title, columns, rows or [["none", *[""] * (len(columns) - 1)]], caption)
