"""`choral decode`: from a card and codes to posteriors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.describe.display import counted
from choral.show.options import AsJson, Force, examples, print_json
from choral.show.wrapping import say

EXAMPLE = examples("choral decode card.json codes.parquet -o posterior.parquet")


def decode(
    card: Annotated[Path, typer.Argument(help="The public card of a release.")],
    codes: Annotated[str, typer.Argument(help="The disclosed codes: a table with a column `code`.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where to write: a .parquet or .csv file.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Put beside every disclosed code what it says: the probability of each value of the target, from the card.

    Codes that the card does not have are refused. A file of codes does not say which release it is of: keep it with its card.
    """
    from choral.files import keep_apart
    from choral.release.card import decode as decode_codes
    from choral.release.card import load_card
    from choral.verifier.names import shown_group

    keep_apart({"the posteriors": output}, {"the card": card})
    found = load_card(card)
    rows = decode_codes(found, codes, output, force=force)
    if as_json:
        facts = {"rows": rows, "reveal": found.document["reveal"], "values": found.document["values"]}
        print_json({**facts, "precision": found.document["precision"], "output": str(output)})
        return
    say(
        f"decoded      {counted(rows, 'row')}: p({shown_group(found.document['reveal'])} | code), "
        f"{counted(len(found.columns), 'value')}"
    )
    say(f"precision    {counted(found.document['precision'], 'decimal')}, as the card has them")
    say(f"saved        {output}")
