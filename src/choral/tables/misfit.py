"""Which value of a column that has another type than it was fitted on is not of the form of that type, in words."""

from __future__ import annotations

from choral.tables.forms import TEXT, form_of, shown
from choral.tables.source import Source, reading
from choral.tables.sql import identifier, text_literal

ZEROS = r"\.0+$"
"""Decimals that say nothing: in place of whole numbers, 1.6 is named before 1.0."""
NONE_THERE = "all its values are missing"


def misfit(table: Source, column: str, type_: str) -> str:
    """The first value that is not of the form of this type, or else the first of all, with its row.

    Counts have no rows: how many records have such values, and one of the values.
    """
    table = table.counted or table
    text = f"CAST({identifier(column)} AS {TEXT})"
    plain = f"regexp_replace({text}, {text_literal(ZEROS)}, '')"
    number, found = "row_number() OVER ()", "min(n), arg_min(t, n)"
    if table.weight is not None:
        number, found = identifier(table.weight), "CAST(sum(n) AS BIGINT), min(t)"
    values = f"SELECT {number} AS n, {text} AS t, ({form_of(type_).value_sql(plain)}) IS NULL AS bad FROM {table.sql}"
    with reading(table):
        bad, every = (
            table.connection.execute(f"SELECT {found} FROM ({values}) WHERE t IS NOT NULL{which}").fetchall()[0]
            for which in (" AND bad", "")
        )
    n, value = every if bad[0] is None else bad
    if n is None:
        return NONE_THERE
    return f"in row {n} it is {shown(value)}" if table.weight is None else in_records(n, value)


def in_records(many: int, value: str, one: str = "") -> str:
    """How many records have values that do not fit, and one of them."""
    return f"in {many} record{'' if many == 1 else 's'}; {f'where {one}' if one else 'for one'} it is {shown(value)}"
