"""The page of the command line: what `--help` says, for every command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from choral.show.cli import app


def commands_page() -> str:
    """The page, as Markdown."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield "# Reference: the command line\n"
    yield "Every command prints readable text, or JSON with `--json`, and exits 0 only if what it says is true.\n"
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=f"choral {name}")
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"## choral {name}\n\n```text\nchoral {name} {usage}\n```\n\n{_prose(command.help or '')}\n"
        rows = [row for parameter in command.get_params(context) if (row := _row(parameter, context))]
        yield "\n".join(["| argument or option | what it is |", "|---|---|", *rows]) + "\n"
        if command.epilog:
            yield f"```text\n{inspect.cleandoc(command.epilog.replace(chr(8), ''))}\n```\n"


def _row(parameter: Any, context: typer.Context) -> str:
    """Name and kind, and what help says of it with its default."""
    record = parameter.get_help_record(context)
    if record is None:
        return ""
    return f"| `{record[0].replace('|', chr(92) + '|')}` | {_prose(record[1]).replace('|', chr(92) + '|')} |"


def _prose(text: str) -> str:
    """Text in which stars, dollars and brackets are themselves."""
    return re.sub(r"([*<$\[_])", r"\\\1", text.replace(chr(8), ""))
