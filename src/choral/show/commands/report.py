"""`choral report`: one page about a release for its curator, or one about its card for the public."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.show.options import AsJson, Force, examples, print_json
from choral.show.wrapping import paragraph, say

EXAMPLE = examples(
    "choral report release.choral -o report.html",
    "choral report card.json -o public.html",
    "choral report release.choral -o report.html --table table.csv --disclosed codes.parquet --card card.json",
)


def report(
    release: Annotated[
        Path, typer.Argument(help="A release file, for its curator's page; or its card, for the public one.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The page: a .html file.")],
    table: Annotated[
        str | None, typer.Option(help="The table that is or was disclosed: all its columns are audited.")
    ] = None,
    disclosed: Annotated[
        str | None, typer.Option(help="The codes that were given out for it: they are tested.")
    ] = None,
    card: Annotated[Path | None, typer.Option(help="The public card: it is checked to be of this release.")] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write one page about a release: of a release file for its curator, of its card for the public.

    The curator's page decides on its first screen: what is told and hidden in one picture, then the three gravest findings
    with their remedies and what these cost. The promise, its limits, the audit and the proof follow. The public page is made
    of what the card says, and of nothing else.

    Pages need no network and no scripts, and print. The curator's shows aggregates that the guarantee does not cover: it is
    not for publication. Exit status 0 only if what is promised holds, as in `choral audit`; the page is written either way.
    """
    from choral.auditing.advice import guarantee
    from choral.errors import ProblemError
    from choral.files import check_output, keep_apart
    from choral.release.card import load_card
    from choral.release.file import CARD_FORMAT, Release, format_of, load_any
    from choral.show.report import write, write_public

    read = {"the release": release, "the table": table, "the table of codes": disclosed, "the card": card}
    keep_apart({"the page": output}, read)
    check_output(output, force)
    if format_of(release) == CARD_FORMAT:
        if table or disclosed or card:
            raise ProblemError(
                "The public page is made of the card alone.", "Leave out --table, --disclosed and --card."
            )
        write_public(load_card(release), output, release, force=force)
        if as_json:
            print_json({"output": str(output), "public": True})
        else:
            say(f"saved        {output} ({output.stat().st_size // 1000} kB, public: made of the card alone)")
        return
    found = load_any(release)
    public = None if card is None else load_card(card)
    if public is not None and not isinstance(found, Release):
        raise ProblemError(f"{release} has no public card.", "Leave out --card.")
    audited = write(found, output, table, disclosed, public, force=force)
    if as_json:
        print_json(
            {
                "output": str(output),
                "digest": found.digest,
                "information": found.information,
                "upper_bound": found.upper_bound,
                "codes": found.codes,
                "audit": None if audited is None else audited.to_json(),
            }
        )
    else:
        say(f"saved        {output} ({output.stat().st_size // 1000} kB, for the curator and the officer only)")
        say(f"audit        {'not made: the law lists no columns' if audited is None else guarantee(audited)}")
        for number, finding in enumerate([] if audited is None else audited.findings[:3], start=1):
            paragraph(f"{number:>2}. {finding}", "    ")
    if audited is not None and not audited.passed:
        raise typer.Exit(1)
