"""Ctrl-C on the command line: what was done then, in one line, and what is left of it."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

import typer

from choral.files import WRITTEN, state_folder
from choral.phases import INTERRUPTED, to_the_end

STATUS = 130
"""What shells give a command that was interrupted: 128 and the number of SIGINT."""


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody interrupted: DuckDB has an error of its own for that."""
    return isinstance(error, KeyboardInterrupt) or (isinstance(error, RuntimeError) and str(error) == INTERRUPTED)


def said_of(error: BaseException) -> tuple[str, str]:
    """What an interrupt ended, and what is left.

    >>> said_of(KeyboardInterrupt("verifying"))[0]
    'Interrupted while verifying.'
    """
    doing = str(error.args[0]) if isinstance(error, KeyboardInterrupt) and error.args else ""
    own = state_folder()
    left = [str(path) for path in WRITTEN if path.exists() and own not in path.parents]
    what = f"Interrupted while {doing}." if doing else "Interrupted."
    return what, f"Written before that: {', '.join(left)}." if left else "Nothing was written."


def end(error: BaseException) -> typer.Exit:
    """Say that it was interrupted; what to raise."""
    with suppress(KeyboardInterrupt), to_the_end():
        what, left = said_of(error)
        if "--json" in sys.argv:
            typer.echo(json.dumps({"error": "Interrupted", "what": what, "remedy": left}))
        else:
            typer.echo(f"choral: {what}\n        {left}", err=True)
    return typer.Exit(STATUS)
