"""`choral points`: the score of a release, as a table that a person can read, or as JSON to edit and give back to `fit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.show.options import AsJson, examples, print_json
from choral.show.wrapping import paragraph

EXAMPLES = examples(
    "choral points release.choral",
    "choral points release.choral --json > points.json, and after editing: choral fit table.csv … --points points.json",
)


def points(
    release: Annotated[Path, typer.Argument(help="A release file with a score.")],
    pairs: Annotated[int, typer.Option(help="Pairs of values that are shown of each pair of columns.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Show the points of a release: what each column contributes to its score. They are the curator's: never publish them."""
    from choral.errors import ReleaseFileError
    from choral.release.file import load_release
    from choral.tables.points_shown import lines_of

    found = load_release(release).points
    if found is None:
        raise ReleaseFileError(
            f"{release} has no score: it counts columns as they stand.",
            "A score is learned where --protect is given and --use is not.",
        )
    if as_json:
        print_json(found.to_document())
        return
    for line in lines_of(found, pairs):
        paragraph(line, "    ")
