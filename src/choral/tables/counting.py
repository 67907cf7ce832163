"""What a table says about the columns that a release is about: their alphabets, and how often records occur.

Counting runs in DuckDB, so the table may be larger than memory; only the counts of different records are held here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

from choral.describe.display import counted
from choral.errors import ChoralError, LawError, ProblemError, TooLargeError
from choral.problem.question import Roles
from choral.tables.bins import Bins
from choral.tables.calendar import fitting_part
from choral.tables.columns import Column, canonical_sql
from choral.tables.cutting import cut_column
from choral.tables.kinds import DATES, KINDS, NUMERIC, kind_of_type
from choral.tables.source import Source, reading
from choral.tables.sql import identifier
from choral.tables.troubles import BINS, SMALL, Trouble, check, too_small

MOST_VALUES = 2000
"""Of one column."""
FEW_DATES, EACH = 50, 5
"""Dates up to which a column is taken as it is, and records of each on average from which more are."""
MOST_CELLS = 1_000_000
"""Different records, over the revealed, protected and used columns."""

Counts = dict[tuple[Any, ...], int]


def grouped(table: Source, names: Sequence[str], bins: Mapping[str, Bins]) -> Source:
    """The different records of these columns with how often they occur, counted in one pass; all else then reads these.

    The table itself where a column is to be cut at its quantiles or holds what cannot be a symbol, where another engine has
    counted, and where there are too many different records.
    """
    held = all(kind_of_type(table.columns[name]) is not None for name in names)
    if table.weight is not None or not held or any(name in bins for name in names):
        return table
    here, many = (identifier(free_name(name, table.columns)) for name in ("choral records", "choral count"))
    columns = ", ".join(map(identifier, names))
    with reading(table):
        table.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {here} AS SELECT {columns}, count(*) AS {many} FROM {table.sql} GROUP BY ALL "
            f"LIMIT {MOST_CELLS + 1}"
        )
    [(found,)] = _rows(table, f"SELECT count(*) FROM {here}")
    if found > MOST_CELLS:
        table.connection.execute(f"DROP TABLE {here}")
        return table
    return replace(table, sql=here, weight=free_name("choral count", table.columns))


def free_name(name: str, taken: Collection[str]) -> str:
    """The name, with as many underscores as it takes to be no other's."""
    while name.casefold() in {other.casefold() for other in taken}:
        name += "_"
    return name


def complete(
    table: Source,
    needed: Sequence[str],
    missing: str,
    told: Sequence[str] = (),
    troubles: list[Trouble] | None = None,
) -> str:
    """SQL, ` AND …`, that leaves out rows with a missing value if that is the rule, and rows that lack what is `told`.

    Raises for columns without values or of a type that cannot be a symbol, and for missing values that are an error; with
    a list of `troubles` these are added to it, and such columns are passed over.
    """
    found: list[Trouble] = []
    values = {}
    for name in needed:
        type_ = table.columns[name]
        kind = kind_of_type(type_)
        if kind is None and type_.strip('"') != "NULL":
            error = LawError(
                f"The column '{name}' of {table.name} holds {type_}.",
                f"A column holds {', '.join(KINDS.values())}: convert it, or leave it out (--drop {quote(name)}).",
            )
            found.append(Trouble(name, error, f"holds {type_}", "drop"))
            continue
        values[name] = canonical_sql(name, kind or "text")
    counted = ", ".join([table.tally(), *(table.tally(value) for value in values.values())])
    [(rows, *present)] = _rows(table, f"SELECT {counted} FROM {table.sql}")
    for name, n in zip([*values], present, strict=True):
        if n == 0:
            error = LawError(
                f"The column '{name}' of {table.name} has no values.", f"Leave it out (--drop {quote(name)})."
            )
            found.append(Trouble(name, error, "has no values", "drop"))
            del values[name]
        elif missing == "error" and n < rows:
            error = LawError(
                f"The column '{name}' of {table.name} has {rows - n} missing values.",
                "Fill them in, or say missing='value' or 'drop' (--missing).",
            )
            found.append(Trouble(name, error, f"has {rows - n} missing values"))
    if troubles is None:
        check(found)
    else:
        troubles += found
    whole = {name for name, n in zip([*values], present, strict=False) if n == rows} if not found else set()
    gaps = [value for name, value in values.items() if (missing == "drop" or name in told) and name not in whole]
    return "".join(f" AND ({value}) IS NOT NULL" for value in gaps)


def alphabets(
    table: Source,
    roles: Roles,
    bins: Mapping[str, Bins],
    known: Mapping[str, Column],
    where: str,
    troubles: Sequence[Trouble] = (),
) -> list[Column]:
    """The columns with their alphabets: the known ones as they are, the others found in the table.

    Raises for all columns that cannot be taken as they are at once, those in earlier `troubles` too.
    """
    [(rows,)] = _rows(table, f"SELECT {table.tally()} FROM {table.sql} WHERE TRUE{where}")
    if not rows:
        check(troubles)
        raise LawError(f"Every row of {table.name} has a missing value.", "Say missing='value' (--missing value).")
    columns, found, before = [], [*troubles], {trouble.name for trouble in troubles}
    for name in (name for name in roles.needed if name not in before):
        column = known[name] if name in known else _column(table, roles, bins, name, rows, where)
        if isinstance(column, Column):
            columns.append(column)
        else:
            found.append(column)
    if rows < SMALL and any(trouble.unique for trouble in found):
        raise too_small(rows, table.name)
    check(found)
    told = [column for column in columns if column.name in roles.reveal]
    target = ", ".join(_code(table, column) for column in told)
    if len(_rows(table, f"SELECT DISTINCT {target} FROM {table.sql} WHERE TRUE{where} LIMIT 2")) == 1:
        name = "+".join(roles.reveal)
        if any(column.edges is not None for column in told):
            raise ProblemError(
                f"Nearly all records of {table.name} have one value of the target '{name}': too few are left to cut it at.",
                f"Cut it where that matters (--bins '{name}=…'), or reveal a column that varies.",
            )
        raise ProblemError(
            f"The target '{name}' has one value in {table.name}: there is nothing to tell.",
            "Reveal a column that varies.",
        )
    return columns


def count(table: Source, columns: Sequence[Column], where: str = "") -> Counts:
    """How often each combination of values of these columns occurs."""
    items = ", ".join(f"{_code(table, column)} AS c{i}" for i, column in enumerate(columns))
    groups = f"SELECT {items}, {table.tally()} AS n FROM {table.sql} WHERE TRUE{where} GROUP BY ALL"
    rows = _rows(table, f"{groups} LIMIT {MOST_CELLS + 1}")
    if len(rows) > MOST_CELLS:
        [(many,)] = _rows(table, f"SELECT count(*) FROM ({groups})")
        raise too_large(columns, many)
    strange = sum(row[-1] for row in rows if None in row[:-1])
    if strange:
        raise LawError(
            f"{counted(strange, 'row')} of {table.name} with values that do not occur in the table that is fitted.",
            "Leave them out, or add such records to the table.",
        )
    return {tuple(c.values[i] for c, i in zip(columns, row[:-1], strict=True)): row[-1] for row in sorted(rows)}


def too_large(columns: Sequence[Column], many: int) -> TooLargeError:
    """That these columns take too many combinations of values, and which one to bin."""
    ways = {column.name: column.kind for column in columns if column.cut is None and column.kind in (*NUMERIC, *DATES)}
    return too_many({column.name: len(column.values) for column in columns}, ways, many)


def too_many(sizes: Mapping[str, int], kinds: Mapping[str, str], many: int) -> TooLargeError:
    """That columns with this many values take too many combinations, and which to bin: the largest of a kind that can be."""
    largest = max(kinds or sizes, key=lambda name: sizes[name])
    size = f"'{largest}', which has {sizes[largest]} values"
    rule = BINS if kinds.get(largest) in NUMERIC else "year"
    return TooLargeError(
        f"The columns {', '.join(sizes)} take {many} different combinations of values.",
        f"Bin {size}: --bins {quote(f'{largest}={rule}')}."
        if kinds
        else f"Group the values of {size} (--group), or leave it out.",
    )


def _column(
    table: Source, roles: Roles, bins: Mapping[str, Bins], name: str, rows: int, where: str
) -> Column | Trouble:
    type_ = table.columns[name]
    kind = kind_of_type(type_) or ""
    value = canonical_sql(name, kind)
    if name in bins:
        return cut_column(table, name, bins[name], where)
    if kind == "zoned":
        error: ChoralError = LawError(
            f"The column '{name}' of {table.name} holds {KINDS[kind]}, and is not cut.",
            f"Cut it, in UTC: --bins {quote(f'{name}={proposed_rule(table, name, kind)}')}.",
        )
        return Trouble(name, error, f"holds {KINDS[kind]}", "bins", proposed_rule(table, name, kind))
    distinct = f"SELECT DISTINCT {value} AS v FROM {table.sql} WHERE TRUE{where}"
    any_number = roles.measured and roles.reveal == (name,) and kind in NUMERIC
    most = MOST_CELLS if any_number else MOST_VALUES
    listed = [v for (v,) in _rows(table, f"{distinct} LIMIT {most + 1}")]
    many = len(listed)
    if many > most:
        [(many,)] = _rows(table, f"SELECT count(*) FROM ({distinct})")
    if _unique(roles, name, many, rows) or many > most or (kind in DATES and many > FEW_DATES and many * EACH > rows):
        return _too_varied(table, roles, name, (many, most, rows))
    values = sorted(v + 0.0 if kind == "float" else v for v in listed if v is not None)
    return Column(name, type_, (*values, *([None] if None in listed else [])))


def _too_varied(table: Source, roles: Roles, name: str, sizes: tuple[int, int, int]) -> Trouble:
    """That a column has too many values, and what to do about it; sizes are those, how many are taken, and the rows."""
    many, most, rows = sizes
    kind = kind_of_type(table.columns[name]) or ""
    rule = proposed_rule(table, name, kind)
    drop = f" (--drop {quote(name)})" if name not in roles.reveal else ""
    remedy = (
        f"Bin it: --bins {quote(f'{name}={rule}')}." if rule else f"Group its values (--group), or leave it out{drop}."
    )
    way = "bins" if rule else "" if name in roles.reveal else "drop"
    if not _unique(roles, name, many, rows):
        said = f"has {many} values; at most {most} are taken"
        if many <= most:
            said = f"has {many} dates in {rows} records: most states would be of single records"
        error: ChoralError = TooLargeError(f"The column '{name}' {said}.", remedy)
        return Trouble(name, error, said, way, rule)
    error = ProblemError(
        f"The {'protected' if _protected(roles, name) else 'used'} column '{name}' has as many values as there are rows, "
        f"{rows}: each record would be a state of its own.",
        f"{remedy} If it identifies records, leave it out: --id {quote(name)}, or --drop {quote(name)}.",
    )
    return Trouble(
        name, error, f"has as many values as there are rows, {rows}", "drop" if kind == "int" else way, rule, True
    )


def _unique(roles: Roles, name: str, many: int, rows: int) -> bool:
    """Whether each record has a value of its own in a column that would be in the state."""
    return many == rows > 1 and (_protected(roles, name) or name in roles.use)


def proposed_rule(table: Source, name: str, kind: str) -> str:
    """The rule for bins that is proposed for a column of this kind; none for texts and truth values."""
    if kind not in DATES:
        return str(BINS) if kind in NUMERIC else ""
    value = canonical_sql(name, kind)
    dates = f"SELECT CAST({value} AS DATE) AS v FROM {table.sql}"
    [extent] = _rows(table, f"SELECT min(v), max(v) FROM ({dates}) WHERE year(v) BETWEEN 1 AND 9999")
    return fitting_part(*extent)


def _protected(roles: Roles, name: str) -> bool:
    return any(name in group for group in roles.protect)


def _code(table: Source, column: Column) -> str:
    return column.code_sql(table.columns[column.name])


def _rows(table: Source, sql: str) -> list[tuple[Any, ...]]:
    with reading(table):
        return table.connection.execute(sql).fetchall()
