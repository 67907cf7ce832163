"""What `choral fit` says before it begins: what will take its time whatever the limit, and that a lesson will be long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from choral.design.limits import Clock
    from choral.problem.question import Question
    from choral.release.beforehand import Beforehand
    from choral.tables.rules import TableRules


def said_before(
    table: str, question: Question, rules: TableRules, limit: float | None, began: Clock, quiet: bool
) -> Beforehand | None:
    """Say it on standard error, unless `quiet`; what was estimated, where there was something to be.

    What was loaded since the command `began` says how busy the machine is.
    """
    if limit is None and (question.use is not None or question.protect is None):
        return None
    from choral.release.beforehand import Beforehand
    from choral.tables.glance import glance

    seen = glance(table, rules.as_read)
    if seen is None:
        return None
    ahead = Beforehand.of(seen, question, rules)
    here = ahead.at(began.slowness())
    words = here.lesson() if limit is None else here.words(limit)
    if words and not quiet:
        typer.echo(f"choral: {words}", err=True)
    return ahead
