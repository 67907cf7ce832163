"""Ctrl-C on the command line: what is done about it, at once; what was done then, in one line, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import AbstractContextManager, suppress

import typer

from choral.errors import ChoralError
from choral.files import WRITTEN, state_folder
from choral.phases import INTERRUPTED, answered, to_the_end

STATUS = 130
"""What shells give a command that was interrupted: 128 and the number of SIGINT."""

LONG = 3.0
"""Seconds after a search from which on it is said how many they are."""
KEEPING = ("fit", "demo")
"""Commands of one search, of which an interrupt keeps the best so far; it ends all others."""


_pressed = threading.Event()


def pressed() -> bool:
    """Whether somebody interrupted the search of this command: what only adds to its result is left out then."""
    return _pressed.is_set()


def heeded(command: str | None) -> AbstractContextManager[None]:
    """While this command runs, an interrupt of a search is answered at the press, or ends the command."""
    _pressed.clear()
    if command in KEEPING:
        return answered(say_at_once)
    from choral.design.limits import ending_all

    return ending_all()


def say_at_once(seconds: float) -> None:
    """Say that a search ends, while it does.

    The signal may have come while this very stream was written to, whose buffer is not to be entered twice: the line goes
    past it, in the place of a progress line that may stand there.
    """
    _pressed.set()
    words = "this takes a moment" if seconds < LONG else f"making it exact takes about {seconds:.0f} s"
    line = f"choral: stopping: the best code so far will be kept; {words}. Press Ctrl-C again to end without it.\n"
    if sys.stderr is None:
        return
    own = sys.stderr is sys.__stderr__
    if sys.stderr.isatty():
        line = f"\r\x1b[2K{line}"
    with suppress(OSError):  # nobody listens any more
        if own:
            os.write(sys.stderr.fileno(), line.encode())
        else:
            sys.stderr.write(line)


CHANGED = (ValueError, SystemError)
"""What compiled code may make of an interrupt that comes while it calls Python."""


def is_interrupt(error: BaseException) -> bool:
    """Whether somebody interrupted: DuckDB has an error of its own for that, and other compiled code raises what it likes."""
    if isinstance(error, CHANGED) and not isinstance(error, ChoralError):
        return bool(getattr(signal.getsignal(signal.SIGINT), "raised", False))  # see `choral.__main__`
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
