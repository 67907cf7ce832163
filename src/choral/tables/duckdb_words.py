"""Messages of DuckDB in plain words."""

from __future__ import annotations

import re
from pathlib import Path


def plain_words(name: str, message: str) -> tuple[str, str]:
    """What a message of DuckDB says to someone with a table."""
    fields = re.search(r"Error on Line: (\d+).*?Expected Number of Columns: (\d+) Found: (\d+)", message, re.DOTALL)
    if fields:
        line, expected, found = fields.groups()
        return f"Line {line} of {name} has {found} fields, the header {expected}.", "Repair the line."
    if "invalid state" in message and _ends_differ(Path(name)):
        return (
            f"{name} cannot be read: some of its lines end in a line feed (LF), others in a carriage return as well (CRLF).",
            "Write it with one kind of line end.",
        )
    first = message.strip().splitlines()[0].rstrip(".")
    if "Could not write" in message or "No space left" in message:
        return f"A file cannot be written: {first}.", "Check the folder and free space."
    return f"{name} cannot be read: {first}.", "Check that it is whole, and of the kind that its name says."


def _ends_differ(path: Path) -> bool:
    """Whether lines of a file end in LF alone and in CRLF."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        seen = {line.endswith(b"\r\n") for line in file if line.endswith(b"\n")}
    return len(seen) == 2
