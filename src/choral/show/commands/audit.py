"""`choral audit`: what a release tells beyond its guarantee, as a table for people or JSON for programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choral.describe.display import counted
from choral.show.options import AsJson, Verbose, examples, print_json
from choral.show.wrapping import paragraph, say

if TYPE_CHECKING:
    from rich.table import Table

    from choral.auditing.result import Audit
    from choral.describe.display import Listing

EXAMPLE = examples(
    "choral audit release.choral",
    "choral audit release.choral --table table.csv --disclosed out.parquet --also other.csv --json",
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
        str | None,
        typer.Option(
            help="A table that the fit never saw, best several times as large: much tighter bounds about new records."
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(help="The file with the release's key, if it lives apart: for codes without identifiers."),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the bounds about new records.")] = 0.95,
    draw: Annotated[
        str | None,
        typer.Option(help="How the codes were drawn: lots or quota. Without it: by quota if they are quotas, exactly."),
    ] = None,
    quota_noise: Annotated[str | None, typer.Option(help="The noise on the quotas, if there was any.")] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Say in numbers what a release tells: about pairs, other columns, other records, and to who knows more.

    Exit status 0 only if what is promised holds: every protected group without a budget is independent of the code under
    the release's own laws, and the codes that were given out, if any, pass the tests of it, as all but one honest output in a
    hundred do.
    """
    from choral.auditing.audit import audit as audited
    from choral.release.file import load_release

    found = audited(
        load_release(release, key),
        table,
        disclosed,
        also=also or (),
        validation=validation,
        confidence=confidence,
        draw=draw,
        quota_noise=quota_noise,
    )
    if as_json:
        print_json(found.to_json())
    else:
        show(found, verbose)
    if not found.passed:
        raise typer.Exit(1)


def show(found: Audit, verbose: bool = False) -> None:
    """Print what holds and at most five findings, the gravest first; `verbose` has all, after all tables and notes."""
    from choral.auditing.advice import MOST_SAID, guarantee

    if verbose:
        from rich.console import Console

        console = Console()
        for table in tables(found):
            console.print(table)
            console.print()
    say(f"{'holds' if found.passed else 'DOES NOT HOLD':<13}{guarantee(found)}")
    if found.output is not None:
        codes = f"{counted(found.output.rows, 'code')} given out"
        passed = not any(finding.kind == "codes" for finding in found.findings)
        say(f"tested       {codes}: {'they pass every test of what is promised' if passed else 'they FAIL'}")
    every = found.findings
    shown = every if verbose else every[:MOST_SAID]
    if not every:
        say("left open    nothing else that was looked at tells 0.01 bits or more")
    for number, finding in enumerate(shown, start=1):
        paragraph(f"{number:>2}. {finding}", "    ")
    for note in found.notes:
        say(f"note         {note}")
    rest = len(every) - len(shown)
    if not verbose:
        more = f"{counted(rest, 'more finding')}, " if rest else ""
        say(f"details      {more}all tables and notes: --verbose; for programs: --json")


def tables(found: Audit) -> list[Table]:
    """The findings as tables for a terminal."""
    from choral.auditing.findings import listings

    return [_table(listing) for listing in listings(found)]


def _table(listing: Listing) -> Table:
    from rich.table import Table
    from rich.text import Text

    caption = Text(listing.caption) if listing.caption else None
    table = Table(title=Text(listing.title), title_justify="left", caption=caption, caption_justify="left")
    for k, column in enumerate(listing.columns):
        table.add_column(Text(column), justify="right" if listing.numeric(k) else "left")
    for row in listing.texts():
        table.add_row(*map(Text, row))
    return table
