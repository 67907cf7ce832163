"""Names and texts as SQL writes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

MOST_COLUMNS = 2000
"""Queries about all of this many columns take seconds; of ten thousand, minutes."""
BLOCK = 200
"""Columns that one query asks about: with thousands, a query is planned for minutes."""


def in_blocks(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """The columns, as many at a time as one query should ask about."""
    return (names[i : i + BLOCK] for i in range(0, len(names), BLOCK))


def identifier(name: str) -> str:
    """A column name for SQL.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text for SQL."""
    return "'" + text.replace("'", "''") + "'"
