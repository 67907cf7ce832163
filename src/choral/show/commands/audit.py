"""`choral audit`: what a release tells beyond its guarantee, as a table for people or JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choral.show.options import AsJson, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from choral.release.audit import Audit
    from choral.release.leakage import Leakage

EXAMPLE = (
    "Examples:  choral audit release.choral     "
    "choral audit release.choral --table table.csv --disclosed out.parquet --also other.csv --json"
)


def audit(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    table: Annotated[
        str | None, typer.Option(help="The table that is or was disclosed: all its columns are audited.")
    ] = None,
    disclosed: Annotated[
        str | None, typer.Option(help="The codes that were given out for it: they are tested.")
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option(help="Another table to evaluate the same channel on; repeatable.")
    ] = None,
    validation: Annotated[
        str | None, typer.Option(help="A table that the fit never saw: a much tighter bound about new records.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the bounds about new records.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Say in numbers what a release tells: about pairs, other columns, other records, and to who knows more.

    Exit status 0 only if what is promised holds: every protected group without a budget is independent of the code under
    the release's own laws, and the codes that were given out, if any, pass the tests of it.
    """
    from choral.release.advice import UNLIKELY
    from choral.release.audit import audit as audited
    from choral.release.file import load_release

    found = audited(
        load_release(release),
        table,
        disclosed,
        also=also or (),
        validation=validation,
        confidence=confidence,
    )
    if as_json:
        print_json(found.to_json())
    else:
        show(found)
    failed = found.output is not None and any(t.protected and t.adjusted < UNLIKELY for t in found.output.tests)
    if failed or not found.kept:
        raise typer.Exit(1)


def show(found: Audit) -> None:
    """Print the findings for people."""
    from rich.console import Console

    console = Console()
    for table in tables(found):
        console.print(table)
        console.print()
    for note in found.notes:
        console.print(note, markup=False, highlight=False)
    console.print(found.summary, markup=False, highlight=False)


def tables(found: Audit) -> list[Table]:
    """The findings as tables; numbers are rounded here and nowhere before."""
    made = [_leaks(f"Protected, under {law.name}", law.groups) for law in found.laws]
    made.append(_leaks(f"Not protected, under {found.view}", found.columns))
    pairs, triples, knowing = (found.looked[name] for name in ("pairs", "triples", "knowing"))
    together = _leaks(
        f"Together: {pairs.at} of {pairs.of} pairs and {triples.at} of {triples.of} triples looked at, the largest shown",
        [leak.leakage for leak in found.together],
    )
    made += [together, _leaks(f"Knowing another column: {knowing.at} of {knowing.of} looked at", found.knowing)]
    if found.composition:
        made.append(
            _table(
                "To someone who knows the exact composition of the table",
                ["about", "records", "bits", "how", "at most", "for sure", "worst"],
                [
                    [
                        "+".join(leak.about),
                        str(leak.records),
                        f"{leak.bits:.3g}",
                        leak.method,
                        f"{leak.bound:.3g}",
                        "" if leak.certain is None else f"{leak.certain:.2g}",
                        "; ".join(f"{w.bits:.2g} bits where {w.count} share a value" for w in leak.worst[:1]),
                    ]
                    for leak in found.composition
                ],
            )
        )
    for bound in found.out_of_sample:
        made.append(
            _table(
                f"New records, confidence {bound.confidence:g}, from {bound.source} of {bound.rows} rows",
                ["about", "advantage at most", "bits at most", "rarest value"],
                [["+".join(g.about), f"{g.bound:.3g}", f"{g.bits:.3g}", f"{g.count} rows"] for g in bound.groups],
                f"By {bound.inequality}. Assumes that {bound.assumes}.",
            )
        )
    if found.output is not None:
        made.append(
            _table(
                f"Tests of {found.output.rows} codes that were given out",
                ["", "question", "G", "p", "corrected", "how"],
                [
                    [
                        "+".join(t.about),
                        t.question + ("" if t.protected else " (not promised)"),
                        f"{t.statistic:.4g}",
                        f"{t.p_value:.3g}",
                        f"{t.adjusted:.3g}",
                        t.method,
                    ]
                    for t in found.output.tests
                ],
            )
        )
        made.append(
            _table(
                "A classifier that sees the code",
                ["guesses", "right", "majority guess", "gain", "standard errors"],
                [
                    [
                        "+".join(g.about),
                        f"{g.accuracy:.4f}",
                        f"{g.majority:.4f}",
                        f"{g.accuracy - g.majority:+.4f} ± {g.error:.4f}",
                        f"{g.sigmas:+.1f}",
                    ]
                    for g in found.output.guesses
                ],
            )
        )
    return made


def _leaks(title: str, leaks: tuple[Leakage, ...] | list[Leakage]) -> Table:
    return _table(
        title,
        ["leak", "bits", "best guess before", "after"],
        [
            [
                leak.name,
                "0, exactly" if leak.zero else f"{leak.bits:.6g}",
                f"{float(leak.guess_before):.4f}",
                f"{float(leak.guess_after):.4f}",
            ]
            for leak in leaks
        ],
    )


def _table(title: str, columns: list[str], rows: list[list[str]], caption: str | None = None) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", caption=caption and Text(caption), caption_justify="left")
    for column in columns:
        table.add_column(Text(column))
    for row in rows or [["none", *[""] * (len(columns) - 1)]]:
        table.add_row(*map(Text, row))
    return table
