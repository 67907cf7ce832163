"""Marks of missing values in texts, such as ? and NA: declared, or recognised in a file where they can be nothing else.

A mark counts as missing in every column but that of identifiers. It is recognised if without it a column would hold numbers
or dates alone, and a question mark wherever it is a whole field. What was recognised is said, and recorded in the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from choral.errors import ProblemError
from choral.tables.forms import form_of
from choral.tables.found_types import Ask
from choral.tables.sql import identifier, in_blocks, text_literal

KNOWN = (
    "?",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "NULL",
    "null",
    "None",
    "-",
    "--",
    ".",
    "..",
    "missing",
    "(missing)",
    " ",
    "  ",
)
ALWAYS = "?"
MOST = 50
"""Marks that can be declared: more are a list of values."""


def read_marks(text: str | None) -> tuple[str, ...] | None:
    """Marks as written on the command line; None, to recognise them, if the option was not given.

    >>> read_marks("?, NA"), read_marks("?, "), read_marks(""), read_marks(None)
    (('?', 'NA'), ('?', ' '), (), None)
    """
    if text is None:
        return None
    return check_marks(part.strip() or part for part in text.split(",")) if text else ()


def check_marks(marks: Iterable[str]) -> tuple[str, ...]:
    """These marks, or an error."""
    found = (marks,) if isinstance(marks, str) else tuple(marks)
    if len(found) > MOST or len(set(found)) < len(found) or not all(isinstance(m, str) and m for m in found):
        raise ProblemError(
            f"The marks of missing values {', '.join(map(repr, found[:MOST]))} are not different texts.",
            "Write --missing-marks '?,NA'; an empty field is missing in any case.",
        )
    return found


def unmarked(column: str, marks: Sequence[str]) -> str:
    """SQL of a column of texts in which marks are missing."""
    if not marks:
        return column
    return f"CASE WHEN {column} NOT IN ({', '.join(map(text_literal, marks))}) THEN {column} END"


def recognised(names: Sequence[str], relation: str, ask: Ask) -> dict[str, tuple[str, ...]]:
    """The known marks in these columns of texts that stand for missing values, column by column."""
    found: dict[str, tuple[str, ...]] = {}
    for some in in_blocks(names):
        found |= _recognised(some, relation, ask)
    return found


def _recognised(names: Sequence[str], relation: str, ask: Ask) -> dict[str, tuple[str, ...]]:
    listed = ", ".join(map(text_literal, KNOWN))
    kinds = [form_of(type_) for type_ in ("DOUBLE", "DATE")]
    items = []
    for text in map(identifier, names):
        items.append(f"list_sort(list(DISTINCT {text}) FILTER ({text} IN ({listed})))")
        other = f"nullif({text}, '') IS NOT NULL AND {text} NOT IN ({listed})"
        items += [f"count(*) FILTER ({other})"]
        items += [f"count(*) FILTER ({other} AND ({form.value_sql(text)}) IS NOT NULL)" for form in kinds]
    [row] = ask(f"SELECT {', '.join(items)} FROM {relation}")
    found = {}
    for i, name in enumerate(names):
        marks, others, numbers, dates = row[4 * i : 4 * i + 4]
        plain = others and others in (numbers, dates)
        kept = tuple(mark for mark in marks or () if plain or mark == ALWAYS)
        if kept and others:
            found[name] = kept
    return found


def remark(found: dict[str, tuple[str, ...]]) -> str:
    """What was recognised, as a sentence."""
    marks = dict.fromkeys(mark for kept in found.values() for mark in kept)
    where = ", ".join(f"'{name}'" for name in found)
    shown = " and ".join(f"'{mark}'" for mark in marks)
    return f"{shown} is taken for a missing value (found in {where}); --missing-marks says otherwise"
