"""Rows that do not count as one record each: records that stand for many people, and rows that stand for many records.

A **weight** says how many people of a population a record stands for, as in a survey. The law is then that of the people;
codes are still drawn for records, one each, and how common a combination is, is counted in records.
A **count** says how many records a row stands for, as in a table that was counted already: a row counts as that many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from choral.describe.display import counted
from choral.errors import LawError
from choral.tables.columns import Column, canonical_sql
from choral.tables.counting import Counts, count
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

DECIMALS = 9
"""Of a weight: more than surveys give, and sums of 10^20 such weights still fit the 38 digits of a decimal."""
EXACT = f"DECIMAL(38, {DECIMALS})"


def as_counts(table: Source, name: str) -> Source:
    """The table whose rows stand for as many records as a column says; rows of none are left out."""
    _check(table, name, "counts", whole=True)
    kept = f"(SELECT * FROM {table.sql} WHERE {identifier(name)} > 0)"
    return replace(table, sql=kept, weight=name)


def weighted(table: Source, columns: Sequence[Column], name: str, where: str) -> Counts:
    """The sum of the weights of each combination of values, in units of 10^-9: exact, since weights are taken so.

    >>> from choral.tables.opening import open_table
    >>> table = open_table({"x": ["a", "b", "a"], "w": [0.1, 2.0, 0.2]})
    >>> weighted(table, [Column("x", "VARCHAR", ("a", "b"))], "w", "")
    {('a',): 300000000, ('b',): 2000000000}
    """
    _check(table, name, "weight", where=where)
    units = f"CAST(CAST({identifier(name)} AS {EXACT}) * {10**DECIMALS} AS HUGEINT)"
    scaled = replace(table, sql=f"(SELECT *, {units} AS choral_units FROM {table.sql})", weight="choral_units")
    return {cell: n for cell, n in count(scaled, columns, where).items() if n}


def _check(table: Source, name: str, option: str, where: str = "", whole: bool = False) -> None:
    """Raise unless a column holds numbers of at least zero everywhere, and more than zero somewhere."""
    table.require([name], option)
    type_ = table.columns[name]
    kind = kind_of_type(type_)
    if kind not in NUMERIC or (whole and kind != "int"):
        raise LawError(
            f"The column '{name}', which is to be {option}, holds {type_}.",
            "Give a column of whole numbers." if whole else "Give a column of numbers.",
        )
    value = canonical_sql(name, kind or "")
    bad = f"({value}) IS NULL OR NOT ({value}) >= 0" + ("" if kind != "float" else f" OR isinf({value})")
    with reading(table):
        [(wrong, positive)] = table.connection.execute(
            f"SELECT count(*) FILTER ({bad}), count(*) FILTER (({value}) > 0) FROM {table.sql} WHERE TRUE{where}"
        ).fetchall()
    if wrong or not positive:
        none = f"{counted(wrong, 'row')} of {table.name} {'has' if wrong == 1 else 'have'} none, or less than zero"
        what = none if wrong else "all of it is zero"
        raise LawError(f"In '{name}', which is to be {option}, {what}.", "Correct them, or leave these rows out.")
