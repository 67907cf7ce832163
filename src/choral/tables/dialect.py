"""How a text file of records is written: what separates its fields, and whether its first line has the names.

Fields are separated by commas, semicolons, tabs or bars, with or without a blank after each; or by blanks. Which it is, is
found in the first lines of each file, so that a file that is written otherwise than the one that was fitted is read alike.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from choral.errors import LawError
from choral.tables.forms import NUMBER, TEXT
from choral.tables.in_memory import check_names
from choral.tables.sql import identifier, text_literal

SEPARATORS = ",;\t|"
SAMPLE = 100
"""Lines by which it is decided."""
NEVER = "\x01"
"""A character that separates nothing, by which DuckDB reads a line as one field."""
FIRST = "column1"
UNNAMED = f"the first column has no name in the header, and is called {FIRST}"
MORE_THAN_ONCE = "more than once"
TWICE = f"the header has {{names}} {MORE_THAN_ONCE}: they are called {{called}}"
HEADERLESS = "the first line looks like a record, not like names: if it is one, say --no-header"


@dataclass(frozen=True)
class Dialect:
    """The names of the columns, what separates fields, and whether the names stand in the first line.

    With `runs`, fields are separated by one blank or more, lines may begin and end with blanks, and nothing is quoted. The
    first column may be `unnamed`, as row numbers are in files that pandas writes: then it is called column1. Names that the
    header has more than once (`twice`) are followed by _1, _2, …, all of them: which is meant is for the curator to say.
    """

    names: tuple[str, ...]
    separator: str
    header: bool = True
    runs: bool = False
    unnamed: bool = False
    twice: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What is called otherwise than in the header, in words."""
        said = [UNNAMED] if self.unnamed else []
        if self.twice:
            called = [name for name in self.names if any(name.startswith(f"{one}_") for one in self.twice)]
            said.append(TWICE.format(names=", ".join(self.twice), called=", ".join(called)))
        return said

    def relation(self, files: str, empty_in_quotes: bool) -> str:
        """SQL of the table of texts in these files (a list of names for DuckDB)."""
        quotes = f"auto_detect = false, header = {str(self.header).lower()}"
        if not self.runs:
            quotes += f""", quote = '"', escape = '"', allow_quoted_nulls = {str(not empty_in_quotes).lower()}"""
            columns = ", ".join(f"{text_literal(name)}: '{TEXT}'" for name in self.names)
            return f"read_csv({files}, delim = {text_literal(self.separator)}, {quotes}, columns = {{{columns}}})"
        lines = (
            f"read_csv({files}, delim = '{NEVER}', {quotes}, quote = '', escape = '', columns = {{'line': '{TEXT}'}})"
        )
        n = len(self.names)
        wrong = f"error('A line has ' || len(f) || ' fields where the first has {n}: ' || l)"
        items = ", ".join(f"f[{i}] AS {identifier(name)}" for i, name in enumerate(self.names, start=1))
        split = f"SELECT string_split_regex(trim(line), ' +') AS f, line AS l FROM {lines} WHERE trim(line) <> ''"
        return f"(SELECT {items} FROM ({split}) WHERE CASE WHEN len(f) = {n} THEN TRUE ELSE {wrong} END)"


def dialect_of(path: Path, header: bool = True, plain: bool = False) -> Dialect:
    """How a file is written. `plain` is the rule of releases that do not say: the commonest separator of the first line."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = list(islice((line for line in file if line.strip("\r\n")), SAMPLE))
            first = lines[0] if lines else ""
            separator, runs = _separator(lines, plain)
            file.seek(0)
            top = next(csv.reader(file, strict=True, delimiter=separator[0]), []) if not runs else first.split()
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LawError(f"{path} cannot be read: {error}.", "Check the path, and that it is CSV in UTF-8.") from None
    if not top:
        raise LawError(f"{path} is empty.", "A table needs a header and at least one row.")
    if not header:
        return Dialect(tuple(f"column{i}" for i in range(1, len(top) + 1)), separator, False, runs)
    names = [name.strip() for name in top]
    unnamed = not plain and not names[0] and len(names) > 1 and FIRST not in names
    if unnamed:
        names[0] = FIRST
    twice = () if plain or like_data(names) else tuple(dict.fromkeys(n for n in names if n and names.count(n) > 1))
    names = numbered(names, twice)
    try:
        check_names(names, str(path))
    except LawError as error:
        raise LawError(error.what, f"{error.remedy}{_no_header(names)}") from None
    return Dialect(tuple(names), separator, True, runs, unnamed, twice)


def numbered(names: Sequence[str], twice: Sequence[str]) -> list[str]:
    """Names, those that stand there more than once with their number.

    >>> numbered(["age", "priors", "sex", "priors"], ["priors"])
    ['age', 'priors_1', 'sex', 'priors_2']
    """
    seen = dict.fromkeys(twice, 0)
    found = []
    for name in names:
        if name in seen:
            seen[name] += 1
        found.append(f"{name}_{seen[name]}" if name in seen else name)
    return found


def like_data(names: Sequence[str]) -> bool:
    """Whether what stands in the first line of a file looks like a record: a third of it are numbers or marks of gaps, or a
    quarter and more than one.

    >>> like_data(["39", "State-gov", "77516"]), like_data(["age", "income", "2019"])
    (True, False)
    >>> like_data(["39", "State-gov", "Never-married", "White", "Male", "40", "<=50K"])
    True
    """
    numbers = sum(re.fullmatch(rf"{NUMBER}|\?|", name) is not None for name in names)
    return 3 * numbers > len(names) or (numbers > 1 and 4 * numbers > len(names))


def _no_header(names: Sequence[str]) -> str:
    return " If the first line is a record, and no line has names: --no-header." if like_data(names) else ""


def _separator(lines: Sequence[str], plain: bool) -> tuple[str, bool]:
    """What separates the fields of these lines, and whether it is one blank or more."""
    first = lines[0] if lines else ""
    listed = sorted((mark for mark in SEPARATORS if mark in first), key=first.count, reverse=True)
    if plain:
        return (listed or [","])[0], False
    if not listed:
        fields = [line.split() for line in lines]
        if len(fields) < 2 or len(set(map(len, fields))) > 1 or len(fields[0]) < 2 or '"' in first:
            return ",", False
        return " ", True
    rows = {mark: _rows(lines, mark) for mark in listed}
    even = [mark for mark in listed if len(set(map(len, rows[mark]))) == 1]
    found = (even or listed)[0]
    blank = all(field.startswith(" ") for row in rows[found] for field in row[1:])
    return f"{found} " if blank and found != "\t" else found, False


def _rows(lines: Sequence[str], separator: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        return [[], [""]]  # of uneven lengths
