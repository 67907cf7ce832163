"""`choral suggest`: which columns of a table may be worth protecting, and the command that protects them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import typer

from choral.errors import ProblemError
from choral.show.options import (
    EXAMPLE,
    AsJson,
    Drop,
    Id,
    MissingMarks,
    NoHeader,
    Reveal,
    Table,
    counted,
    examples,
    print_json,
    ruled,
    split,
)

if TYPE_CHECKING:
    from choral.tables.suggest import Suggestions

EXAMPLES = examples("choral suggest census.csv --reveal income")


def suggest(
    table: Table,
    reveal: Reveal = None,
    drop: Drop = None,
    id: Id = None,
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    as_json: AsJson = False,
) -> None:
    """Say which columns may be worth protecting, what each costs at least, and by what others know it.

    Columns are chosen by their names and by what they say about the target: you know better what is sensitive.
    """
    from choral.tables.opening import opened
    from choral.tables.suggest import suggest as suggest_columns

    if table.startswith(EXAMPLE):
        raise ProblemError(f"{table} is a law without a table.", "Give a table.")
    target = "W" if reveal is None else reveal
    rules = ruled(None, drop=drop, marks=missing_marks, header=not no_header, id=id)
    with opened(table, rules.as_read) as source:
        found = suggest_columns(source, target, drop=rules.drop, id=id)
    options = {"--drop": drop, "--id": id, "--missing-marks": missing_marks}
    leaks = [column.name for column in found.look.columns if column.fate == "asked"]
    if leaks:
        options["--drop"] = ",".join([*(split(drop, ",") or []), *leaks])
    words = ["choral", "fit", table, "--reveal", target, "--protect", ",".join(found.protect)]
    words += [word for name, value in options.items() if value is not None for word in (name, value)]
    line = shlex.join([*words, *(["--no-header"] if no_header else []), "-o", "release.choral"])
    if as_json:
        print_json({**found.to_document(), "leaks": leaks, "fit": line})
        return
    for text in _lines(found, leaks):
        typer.echo(text)
    typer.echo(line)


def _lines(found: Suggestions, leaks: list[str]) -> list[str]:
    wide = max(len("column"), *(len(column.name) for column in found.columns))
    lines = [f"{'column':<{wide}}  usual  {'guess of ' + found.target:<22}  costs at least  others know it by"]
    for column in found.columns:
        guess = f"{found.guessed:.1%} -> {column.guessed:.1%}"
        known = f"{column.known_by} ({column.known_share:.0%} of it)" if column.known_by else "-"
        usual = "yes" if column.usual else ""
        lines.append(f"{column.name:<{wide}}  {usual:<5}  {guess:<22}  {column.tells:.4f} bits     {known}".rstrip())
    lines.append(
        f"From {counted(found.records, 'record')}. Usual: its name is usual for what is sensitive; you know better."
    )
    if leaks:
        lines.append(f"{', '.join(leaks)}: gives the target away, and is left out below.")
    if found.close:
        lines.append(
            f"{', '.join(found.close)}: nearly a copy of the target; if it is known only afterwards, --drop it."
        )
    feared = list(dict.fromkeys(c.known_by for c in found.columns if c.name in found.protect and c.known_by))
    outside = [name for name in feared if name not in found.protect]
    if outside:
        lines.append(f"Against somebody who knows {' or '.join(outside)} add: --against {','.join(outside)}")
    return lines
