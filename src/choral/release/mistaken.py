"""A file that was taken for a release and is none."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

from choral.errors import ReleaseFileError
from choral.tables.source import READERS

TABLES = {*READERS} - {".json"}
"""Endings of tables; a card, too, ends in .json."""


def check_no_table(path: str | os.PathLike[str]) -> None:
    """Raise for a file that is a table by its name: what was asked for is a release that was made of one."""
    if isinstance(path, str | os.PathLike) and Path(path).suffix.lower() in TABLES:
        raise ReleaseFileError(
            f"{path} is a table, not a release.",
            f"Make a release of it first: choral fit {quote(str(path))} --reveal COLUMN --protect COLUMNS -o release.choral, "
            "and name release.choral here.",
        )
