"""`choral verify`: the stand-alone verifier, and for a release of a table the comparison of its recipe with the rest."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import typer

from choral.show.options import print_json

FITS = (
    "the recipe leads to the states of this law, with its values and groups; where bins are cut is the curator's word"
)


def verified(release: Path, as_json: bool, privacy: bool = False, budget: int | None = None) -> int:
    """Print what is claimed and what holds; the exit status is 0 only if all that was asked for does."""
    from choral.verifier import command

    options = [*(["--privacy"] if privacy else []), *([] if budget is None else ["--budget", str(budget)])]
    if not as_json:
        status = int(command.main([str(release), *options]))
        reason = _reason_against_recipe(release) if status == 0 else None
        if reason is not None:
            typer.echo(f"holds        {FITS}" if reason == "" else f"FAILED       recipe: {reason}")
        return 1 if reason else status
    with redirect_stdout(StringIO()) as said:
        status = int(command.main([str(release), "--json", *options]))
    reason = _reason_against_recipe(release) if status == 0 else None
    if reason:
        print_json({"verified": False, "claim": "recipe", "reason": reason})
        return 1
    if said.getvalue():
        print_json({**json.loads(said.getvalue()), **({} if reason is None else {"recipe": FITS})})
    return status


def _reason_against_recipe(release: Path) -> str | None:
    """Why the recipe of a verified file does not fit; empty if it does, None if there is none."""
    from choral.design.load import of_document, read_document
    from choral.errors import ReleaseFileError, VerificationError
    from choral.release.agreement import check_recipe
    from choral.tables.recipe import Recipe

    document = read_document(release)
    if "recipe" not in document:
        return None
    try:
        check_recipe(of_document(document, release), Recipe.from_document(document["recipe"]))
    except VerificationError as error:
        return error.reason
    except ReleaseFileError as error:
        return str(error)
    return ""
