"""`choral card`: what the public gets with the codes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.errors import ProblemError
from choral.show.options import AsJson, Force, Ledger, examples, print_json
from choral.show.wrapping import say

EXAMPLES = examples("choral card release.choral", "choral card release.choral --out card.json --table table.csv")


def card(
    release: Annotated[Path, typer.Argument(help="A release file, or the card of one.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", "--out", help="Write the card, and record it in the ledger.")
    ] = None,
    precision: Annotated[
        int | None, typer.Option(help="Decimals of the probabilities. Default: 3, fewer for a small table.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="The table, by which the ledger knows who is behind the card (of --id).")
    ] = None,
    ledger: Ledger = None,
    other_people: Annotated[
        bool, typer.Option("--other-people", help="Declare that nobody in it is in a card of the ledger so far.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Print the public card of a release: what whoever gets the codes may know.

    It is public once it is given out: the file that --output writes is recorded in the ledger, as that of choral fit --card.
    """
    from choral.release.card import load_card
    from choral.release.file import load_release

    if release.suffix.lower() == ".json":
        if output is not None:
            raise ProblemError(f"{release} is a card already.", "Copy it, or name the release that it is of.")
        found = load_card(release)
    else:
        made = load_release(release)
        found = made.card(
            output, precision=precision, ledger=ledger, table=table, other_people=other_people, force=force
        )
    if as_json:
        print_json({**found.document, **({} if output is None else {"output": str(output)})})
        return
    typer.echo(str(found))
    if output is not None:
        say(f"saved        {output} (public; recorded in {ledger or made.ledger})")
