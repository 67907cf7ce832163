"""A table as the page shows it: its columns, what they hold, and how many values they have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from choral.errors import ChoralError, LawError, ProblemError
from choral.tables.columns import canonical_sql
from choral.tables.counting import proposed_rule
from choral.tables.kinds import KINDS, NUMERIC, kind_of_type
from choral.tables.opening import open_table
from choral.tables.source import Source, reading

T = TypeVar("T")
SHOWN = 4
"""Values of a column that are shown."""
LONGEST_SHOWN = 80
"""Characters of a name or a value that are shown."""
LONGEST_WORDS = 2000
"""Characters of an error's words, which may quote a name or a value."""
LONGEST_CELL = 1000
"""Bytes of a cell: a column that holds more in one is text to be read, not a value that others share."""
LONGEST_NAME = 200
"""Letters of the name of a column."""
MOST_COLUMNS = 1000
"""Columns of a table: the page lists all of them."""
WIDE = 40
"""Columns beyond which a table is copied before it is looked at."""
MOST_COPIED = 20_000_000
"""Cells of such a copy: some hundred megabytes at most."""
FEW = 12
"""A column of numbers or dates with more values is proposed to be binned."""


@dataclass(frozen=True)
class ColumnFacts:
    """A column: what it holds, how many values and missing ones, and its most frequent values as text."""

    name: str
    holds: str
    numeric: bool
    values: int
    missing: int
    shown: tuple[str, ...]
    too_long: bool = False
    rule: str = ""
    """How it would be cut into bins, where it can be."""

    @property
    def bins(self) -> str:
        """The rule for bins that is proposed, or none."""
        return self.rule if self.values > FEW else ""


@dataclass(frozen=True)
class Opened:
    """A table that was opened: where it lies, what people call it, and what it holds. Its number is given to it later."""

    name: str
    path: Path
    origin: str
    rows: int
    digest: str
    columns: tuple[ColumnFacts, ...]
    number: int = 0

    def check_usable(self, names: Iterable[str]) -> None:
        """Refuse columns with cells that are too long."""
        for column in self.columns:
            if column.too_long and column.name in names:
                raise ProblemError(
                    f"'{column.name}' has cells of more than {LONGEST_CELL} bytes.",
                    "Leave it out, or shorten its values.",
                )

    def in_words(self, error: ChoralError) -> ChoralError:
        """An error about the file, with the name that people know in place of the path."""
        return named(error, self.path, self.name)


def named(error: ChoralError, path: Path, name: str) -> ChoralError:
    """An error in which a file has the name that people know."""
    return ChoralError(error.what.replace(str(path), name), error.remedy.replace(str(path), name))


def shown(text: str, most: int = LONGEST_SHOWN) -> str:
    """Text that came from outside, for a page: printable, in lines, and short.

    >>> shown("a\\tb", 3), shown("abcd", 3)
    ('a?b', 'ab…')
    """
    plain = "".join(c if c.isprintable() or c == "\n" else "?" for c in text[:most])
    return plain if len(text) <= most else f"{plain[:-1]}…"


def open_facts(name: str, path: Path, origin: str) -> Opened:
    """Look at a table once, as a whole; raises for what is no table, or has a single column."""
    try:
        with closing((source := open_table(path)).connection):
            if len(source.columns) < 2:
                raise LawError(
                    f"{name} has one column, '{next(iter(source.columns))}'.",
                    "A disclosure needs one column to tell about and another to look at.",
                )
            if len(source.columns) > MOST_COLUMNS or any(len(column) > LONGEST_NAME for column in source.columns):
                raise LawError(
                    f"{name} has {len(source.columns)} columns, the longest name {max(map(len, source.columns))} letters.",
                    f"Here a table may have {MOST_COLUMNS} columns, with names of {LONGEST_NAME} letters: leave some out.",
                )
            looked_at = _at_hand(source)
            columns = tuple(_facts(looked_at, column) for column in source.columns)
            return Opened(name, path, origin, source.rows(), source.digest(), columns)
    except ChoralError as error:
        raise named(error, path, name) from None


def _at_hand(source: Source) -> Source:
    """The table, if it is wide and not large as a copy at hand: to ask a file about each of many columns takes minutes."""
    if len(source.columns) <= WIDE or source.rows() * len(source.columns) > MOST_COPIED:
        return source
    with reading(source):
        source.connection.execute(f"CREATE TEMP TABLE at_hand AS SELECT * FROM {source.sql}")
    return replace(source, sql="at_hand")


def with_source(opened: Opened, ask: Callable[[Source], T]) -> T:
    """Ask something of the table, with errors in the words that people know."""
    try:
        with closing((source := open_table(opened.path)).connection):
            return ask(source)
    except ChoralError as error:
        raise opened.in_words(error) from None


def _facts(source: Source, name: str) -> ColumnFacts:
    kind = kind_of_type(source.columns[name])
    if kind is None:
        return ColumnFacts(name, shown(source.columns[name]), False, 0, 0, ())
    value = canonical_sql(name, kind)
    if kind == "text":
        [(longest,)] = _ask(source, f"SELECT max(strlen({value})) FROM {source.sql}")
        if (longest or 0) > LONGEST_CELL:
            holds = f"text of up to {longest:,} bytes in one cell, and more than {LONGEST_CELL} are too long"
            return ColumnFacts(name, holds, False, 0, 0, (), True)
    rows = _ask(
        source,
        f"SELECT v, n FROM (SELECT CAST({value} AS VARCHAR) AS v, count(*) AS n FROM {source.sql} GROUP BY 1) "
        f"ORDER BY v IS NULL, n DESC, v LIMIT {SHOWN}",
    )
    [(many, missing)] = _ask(
        source, f"SELECT count(DISTINCT {value}), count(*) FILTER (({value}) IS NULL) FROM {source.sql}"
    )
    values = tuple(shown(str(v)) for v, _ in rows if v is not None)
    rule = proposed_rule(source, name, kind)
    return ColumnFacts(name, KINDS[kind], kind in NUMERIC, many, missing, values, rule=rule)


def _ask(source: Source, sql: str) -> list[tuple[Any, ...]]:
    with reading(source):
        return source.connection.execute(sql).fetchall()
