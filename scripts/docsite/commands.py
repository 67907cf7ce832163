"""The page of the command line: what `--help` says, for every command."""

from __future__ import annotations

from collections.abc import Iterator

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
        context = typer.Context(command, info_name=f"choral {name}", terminal_width=100, max_content_width=100)
        yield f"## choral {name}\n\n```text\n{command.get_help(context)}\n```\n"
