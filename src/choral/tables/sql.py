"""Names and texts as SQL writes them."""

from __future__ import annotations


def identifier(name: str) -> str:
    """A column name for SQL.

    >>> identifier('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text for SQL."""
    return "'" + text.replace("'", "''") + "'"
