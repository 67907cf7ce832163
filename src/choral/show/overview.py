"""What `choral --help` lists: the commands by what they are for, each with a line that fits."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from typer.core import TyperGroup

from choral.files import WRITTEN

SECTIONS = {
    "Start": {
        "demo": "see it: invented patients, from a table to a verified release",
        "studio": "choose by pointing, on a page that this machine serves to itself",
    },
    "Make": {
        "suggest": "which columns of a table to protect, and what that costs",
        "bounds": "what can be told at most, before anything is solved",
        "plan": "how a table would be solved, and why",
        "fit": "from a table to a release that is private exactly, and verified",
        "points": "what each column adds to the score of a release",
        "disclose": "draw the codes of all records of a table",
        "card": "what the public gets with the codes, printed or written",
        "decode": "what codes say, for whoever has them and the public card",
    },
    "Check": {
        "verify": "recompute every claim of a release file",
        "audit": "what a release tells to whom, in right guesses and bits",
        "report": "one page about a release, to decide by",
        "selftest": "a minute of random problems on this machine, solved and forged",
    },
    "Study": {
        "curve": "what many samples can tell, up to thousands",
        "reproduce": "the paper's tables, examples and figures, computed anew",
    },
}
"""In the order of need; a command that is not here comes last, with the first words of its own help."""
SLOW = {"fit": "searching", "disclose": "drawing", "audit": "auditing", "report": "auditing", "bounds": "counting"}
"""Commands that may take minutes, with what they do where it has no other name."""


def _told(command: str | None) -> AbstractContextManager[None]:
    """What is done is said: on a line of the terminal, or now and then where there is none, for commands that take long."""
    if not sys.stderr.isatty() and command not in SLOW:
        return nullcontext()
    from choral.show.progress import named_phases, told_now_and_then

    return named_phases() if sys.stderr.isatty() else told_now_and_then(SLOW[command or ""])


class Overview(TyperGroup):
    """The commands in sections; whichever runs says what it does, and where it was interrupted."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        WRITTEN.clear()
        try:
            command = next((word for word in sys.argv[1:] if word in self.commands), None)  # `ctx` does not know it yet
            if command is None or command == "studio":
                return super().invoke(ctx)
            from choral.show.interrupts import heeded

            with heeded(command), nullcontext() if "--json" in sys.argv else _told(command):
                return super().invoke(ctx)
        except (KeyboardInterrupt, RuntimeError, ValueError, SystemError) as error:
            from choral.show.interrupts import end, is_interrupt

            if not is_interrupt(error):
                raise
            raise end(error) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections."""
        known = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        listed = {name for commands in SECTIONS.values() for name in commands}
        others = {name: self.commands[name].get_short_help_str(60) for name in known if name not in listed}
        for title, commands in {**SECTIONS, "More": others}.items():
            rows = [(name, said) for name, said in commands.items() if name in known]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
