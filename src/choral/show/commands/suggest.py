"""`choral suggest`: which columns of a table may be worth protecting, and the command that protects them."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import typer

from choral.describe.display import FEWEST_BITS, counted, elided, in_bits, percent
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
    examples,
    print_json,
    ruled,
    split,
)
from choral.show.wrapping import WIDEST, paragraph, width

if TYPE_CHECKING:
    from choral.tables.suggest import Suggestions

EXAMPLES = examples("choral suggest census.csv --reveal income")
LONGEST_NAME, LONGEST_KNOWN = 20, 13
"""Letters of names of columns in the table: with them a line has 80."""


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
        paragraph(text)
    typer.echo(line if width() is None else continued(line))


def continued(line: str) -> str:
    """A command to copy, in lines that the shell reads as one; broken before options alone.

    >>> print(continued("choral fit survey.csv --reveal outcome --protect " + "a" * 30 + " -o release.choral"))
    choral fit survey.csv --reveal outcome \\
      --protect aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa -o release.choral
    """
    lines = [""]
    for part in re.split(r" (?=-)", line):
        if lines[-1] and len(lines[-1]) + len(part) + 3 > WIDEST:
            lines.append(f"  {part}")
        else:
            lines[-1] += f" {part}" if lines[-1] else part
    return " \\\n".join(lines)


def _lines(found: Suggestions, leaks: list[str]) -> list[str]:
    from choral.tables.look import MISREAD
    from choral.tables.troubles import SMALL

    wide = max(len("column"), *(min(LONGEST_NAME, len(column.name)) for column in found.columns))
    lines = [f"{'column':<{wide}}  usual  guessed right       costs       others know it by"]
    for column in found.columns:
        before, after = percent(found.guessed), percent(column.guessed)
        guess = f"{before} either way" if before == after else f"{after}, not {before}"
        known = (
            f"{elided(column.known_by, LONGEST_KNOWN)}, {100 * column.known_share:.0f} %" if column.known_by else "-"
        )
        usual = "yes" if column.usual else ""
        costs = f"{column.tells:.3f} bits" if FEWEST_BITS <= column.tells < 1 else in_bits(column.tells)
        lines.append(
            f"{elided(column.name, LONGEST_NAME):<{wide}}  {usual:<5}  {guess:<18}  {costs:<10}  {known}".rstrip()
        )
    few = f", which is too few: take at least {SMALL}, better some hundreds" if found.records < SMALL else ""
    what = f"in which of {found.intervals} intervals {found.target} lies" if found.intervals else found.target
    lines.append(
        f"From {counted(found.records, 'record')}{few}. Guessed right: {what}, by who sees the column. Costs: at "
        "least these bits about it are given up where the column is protected. Usual: its name is usual for what is "
        "sensitive; you know better. Others know it by: the column that tells most about it, and which share of it."
    )
    odd = [column.name for column in found.look.columns if column.why.startswith(MISREAD)]
    if odd:
        lines.append(f"Not looked at: {'; '.join(odd)} ({MISREAD}: rename to protect or use it).")
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
