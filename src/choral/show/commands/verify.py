"""`choral verify`: the stand-alone verifier, and for a release of a table the comparison of its recipe with the rest."""

from __future__ import annotations

import json
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import typer

from choral.show.options import print_json

FITS = (
    "the recipe leads to the states of this law, with its values and groups; where bins are cut is the curator's word"
)


def verified(release: Path, as_json: bool, privacy: bool = False, budget: int | None = None) -> int:
    """Print what is claimed and what holds; the exit status is 0 only if all that was asked for does."""
    from choral.verifier import command

    options = [*(["--privacy"] if privacy else []), *([] if budget is None else ["--budget", str(budget)])]
    read: list[dict[str, Any]] = []
    with redirect_stdout(StringIO()) if as_json else nullcontext() as said:
        status = int(command.main([str(release), *(["--json"] if as_json else []), *options], read.append))
    reason = _reason_against_recipe(read[0], release) if read else None
    if said is None:
        if reason is not None:
            typer.echo(f"holds        {FITS}" if reason == "" else f"FAILED       recipe: {reason}")
    elif reason:
        print_json({"verified": False, "claim": "recipe", "reason": reason})
    elif said.getvalue():
        print_json({**json.loads(said.getvalue()), **({} if reason is None else {"recipe": FITS})})
    return 1 if reason else status


def _reason_against_recipe(document: dict[str, Any], release: Path) -> str | None:
    """Why the recipe of a verified file does not fit; empty if it does, None if there is none."""
    from choral.design.load import of_document
    from choral.errors import ReleaseFileError, VerificationError
    from choral.release.agreement import check_recipe
    from choral.tables.recipe import Recipe

    if "recipe" not in document:
        return None
    try:
        check_recipe(of_document(document, release), Recipe.from_document(document["recipe"]))
    except VerificationError as error:
        return error.reason
    except ReleaseFileError as error:
        return str(error)
    return ""
