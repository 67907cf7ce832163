"""Lines for people: a label and what it says, wrapped on words where somebody reads them in a terminal.

Into a file or another program a line stays one line, so that it can be searched for; `COLUMNS` wraps there too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap

import typer

WIDEST = 80
"""Columns of text that are read with ease; a wider terminal does not make lines longer."""
GLUE = "\ue000"
"""Stands for a blank that no line is broken at: a letter that no name may have."""
KEPT = re.compile(r"'[^']{1,40}'|\[[^][()]{1,24}\)|\d %|(< )?\d[\d.]* bits?\b")
"""What no line ends in: something to copy, an interval, a number with its unit."""
LABEL = 13
"""Columns of the label at the left of a line."""


def width() -> int | None:
    """Columns to wrap at, None where nobody reads in a terminal."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return None
    return max(40, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def wrapped(line: str, columns: int | None, label: int = LABEL) -> str:
    """A line of a label and words in at most so many columns, broken between words; words stand under words.

    >>> print(wrapped("others know  somebody who knows marital guesses sex right 77.4 %", 44))
    others know  somebody who knows marital
                 guesses sex right 77.4 %
    """
    if columns is None or len(line) <= columns:
        return line
    return line[:label] + _filled(line[label:].strip(), columns - label).replace("\n", "\n" + " " * label)


def _filled(text: str, columns: int, indent: str = "") -> str:
    """Words in lines; what stands in quotes stays together, to be copied, a number with its unit, an interval."""
    kept = KEPT.sub(lambda found: found[0].replace(" ", GLUE), text)
    lines = textwrap.fill(kept, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace(GLUE, " ")


def say(line: str) -> None:
    """Print a line of a label and words."""
    typer.echo(wrapped(line, width()))


def paragraph(text: str, indent: str = "") -> None:
    """Print words without a label; what follows the first line is indented."""
    columns = width()
    typer.echo(text if columns is None else _filled(text, columns, indent))
