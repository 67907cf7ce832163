"""A table at a glance: about how much it is, from its size and its first rows, before anything is read."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from choral.errors import ChoralError
from choral.tables.dialect import dialect_of
from choral.tables.opening import opened
from choral.tables.source import TEXTS, AsRead, reading

GLANCED = 1 << 18
"""Bytes of a file of text: some thousand rows, read in a millisecond."""
ROWS = 2000
"""Rows of any other table."""


@dataclass(frozen=True)
class Glance:
    """About how many rows and columns there are, and what stands in the first rows; the bytes of what is read as text."""

    rows: int
    names: tuple[str, ...]
    first: tuple[tuple[str, ...], ...]
    text: int = 0

    @property
    def combinations(self) -> int:
        """Different rows among the first."""
        return len(set(self.first))

    def values(self, name: str) -> set[str]:
        """What stands in a column of the first rows; nothing where there is no such column."""
        if name not in self.names:
            return set()
        at = self.names.index(name)
        return {row[at] for row in self.first}


def glance(table: str, how: AsRead) -> Glance | None:
    """A look at a file or a table of a database; None where it cannot be opened, which is said when that is tried."""
    path = Path(table)
    try:
        if path.suffix.lower() in TEXTS and path.is_file():
            return _of_text(path, how)
        with opened(table, how) as source:
            with reading(source):
                rows = source.connection.execute(f"SELECT * FROM {source.sql} LIMIT {ROWS}").fetchall()
            return Glance(source.rows(), tuple(source.columns), tuple(tuple(map(str, row)) for row in rows))
    except ChoralError:
        return None


def _of_text(path: Path, how: AsRead) -> Glance:
    dialect, size = dialect_of(path, how.header), path.stat().st_size
    with path.open("rb") as file:
        some = file.read(GLANCED)
    whole = some if len(some) == size else some[: some.rfind(b"\n") + 1]  # the last line may be cut
    lines = whole.decode("utf-8-sig", errors="replace").splitlines()
    rows = [line.split() for line in lines] if dialect.runs else _fields(lines, dialect.separator)
    first = tuple(tuple(row) for row in rows[dialect.header :] if len(row) == len(dialect.names))
    return Glance(round(len(first) * size / max(1, len(whole))), dialect.names, first, size)


def _fields(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The fields of lines, as far as they can be read."""
    rows: list[list[str]] = []
    try:
        rows += csv.reader(lines, delimiter=separator[0])
    except csv.Error:  # what is wrong is said where the table is read
        return rows
    return rows
