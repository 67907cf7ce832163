"""Opening a table: which kind of file, frame or database it is, and which fields its columns have."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from choral.errors import LawError, TooLargeError, did_you_mean
from choral.tables import forms
from choral.tables.dialect import HEADERLESS, dialect_of, like_data
from choral.tables.forms import TEXT, Field
from choral.tables.found_types import types_found
from choral.tables.in_memory import arrow_of, check_names
from choral.tables.kinds import DATES, ZONED, kind_of_type
from choral.tables.marks import recognised, remark, unmarked
from choral.tables.source import READERS, AsRead, Source, connect, parts_of, reading, session
from choral.tables.sql import MOST_COLUMNS, identifier, text_literal

if TYPE_CHECKING:
    import duckdb

Chosen: TypeAlias = Callable[[str], bool]
"""Which columns, by their names."""
FRAME = "choral_frame"
DATABASE = "choral_source"
"""What a frame and a database are called inside DuckDB: names that no table of a user is likely to have."""


def open_table(source: Any, how: AsRead | None = None, as_written: Chosen | None = None) -> Source:
    """A table, ready for queries: a path, `database.duckdb::table`, or a frame (pandas, polars, arrow, a mapping).

    The types of a CSV file are found once over the whole file, unless `how` declares them; a field that is not of the form of
    its type (`choral.tables.forms`) is an error when it is read. Columns that `as_written` chooses are text in CSV and JSON
    files, whose types are only guessed: an identifier must not depend on the rest of its column.

    >>> open_table({"W": [0, 1, 1], "X": ["a", "a", None]}).columns
    {'W': 'BIGINT', 'X': 'VARCHAR'}
    """
    attached = isinstance(source, str | os.PathLike) and "::" in os.fspath(source)
    connection = connect() if attached else session()
    try:
        if isinstance(source, str | os.PathLike):
            return _opened_file(connection, os.fspath(source), how or AsRead(), as_written)
        return _with_types(_opened_frame(connection, source), how or AsRead(), as_written)
    except BaseException:
        connection.close()
        raise


@contextmanager
def opened(source: Any, how: AsRead | None = None, as_written: Chosen | None = None) -> Iterator[Source]:
    """A table for the time of a `with`; one that is open already stays open."""
    if isinstance(source, Source):
        yield source
        return
    table = open_table(source, how, as_written)
    try:
        yield table
    finally:
        table.connection.close()


def _opened_file(connection: duckdb.DuckDBPyConnection, text: str, how: AsRead, as_written: Chosen | None) -> Source:
    place, mark, table = text.partition("::")
    path = Path(place)
    reader = READERS.get(path.suffix.lower())
    if path.is_dir() and not mark:
        reader = READERS[parts_of(path)[0].suffix.lower()]
    if not mark and reader is None:
        raise LawError(
            f"{text} is not a {', '.join(READERS)} file.",
            "Give one of these, or a table of a DuckDB database as database.duckdb::table.",
        )
    if not path.is_file() and (mark or not path.is_dir()):
        raise LawError(f"{place} cannot be read: there is no such file.", "Check the path.")
    if mark:
        return _with_types(_opened_database(connection, path, table), how, as_written)
    names = [place] if path.is_file() else [str(part) for part in parts_of(path)]
    listed = ", ".join(text_literal(re.sub(r"([*?\[])", r"[\1]", name)) for name in names)
    literal = f"[{listed}]"
    if reader == "read_csv":
        return _checked(_opened_csv(connection, path, literal, how, as_written))
    if reader == "read_json":
        return _checked(_opened_json(connection, path, literal, how, as_written))
    sql = f"read_parquet({literal})"
    stored = _checked(Source(connection, sql, columns_of(connection, sql, place), place, path))
    return _with_types(stored, how, as_written)


def _with_fields(
    stored: Source, how: AsRead, fields: Iterable[Field], remarks: Mapping[str, str] | None = None
) -> Source:
    """A stored table whose columns are read as these fields."""
    named = {one.name: one for one in fields}
    items = ", ".join(f"{one.sql} AS {identifier(name)}" for name, one in named.items())
    return replace(
        stored,
        sql=f"(SELECT {items} FROM {stored.sql})",
        columns={name: one.type for name, one in named.items()},
        stored=stored,
        fields=named,
        empty=how.empty,
        remarks=remarks or {},
    )


def _with_types(stored: Source, how: AsRead, as_written: Chosen | None) -> Source:
    """A table whose columns have types of their own."""
    marks = how.marks or ()
    fields = [
        forms.typed(name, identifier(name), type_, None)
        if as_written and as_written(name)
        else forms.typed(name, identifier(name), type_, how.empty, marks)
        for name, type_ in stored.columns.items()
    ]
    if all(one.sql == identifier(one.name) for one in fields):
        return replace(stored, empty=how.empty, marks=marks)
    return replace(_with_fields(stored, how, fields), marks=marks)


def _typed(columns: Mapping[str, str]) -> str:
    """Names and types, as DuckDB's readers take them."""
    listed = ", ".join(f"{text_literal(name)}: {text_literal(type_)}" for name, type_ in columns.items())
    return f"{{{listed}}}"


def _opened_csv(
    connection: duckdb.DuckDBPyConnection, path: Path, literal: str, how: AsRead, as_written: Chosen | None
) -> Source:
    """A CSV file, read as text, with the types that its whole content has, or that were declared."""
    parts = parts_of(path)
    dialect = dialect_of(parts[0], how.header, how.plain)
    for part in parts[1:]:
        if dialect_of(part, how.header, how.plain) != dialect:
            raise LawError(f"{part} has another header than the other files of {path}.", "Give tables of one kind.")
    if how.find and len(dialect.names) > MOST_COLUMNS:
        raise TooLargeError(
            f"{path} has {len(dialect.names)} columns; the types of at most {MOST_COLUMNS} are found.",
            "Write the columns that matter to a table of their own.",
        )
    texts = dict.fromkeys(dialect.names, TEXT)
    relation = dialect.relation(literal, how.empty == "value")
    stored = Source(connection, relation, texts, str(path), path, header=how.header)

    def ask(query: str) -> list[tuple[Any, ...]]:
        with reading(stored):
            return connection.execute(query).fetchall()

    as_they_are = [name for name in texts if as_written is not None and as_written(name)]
    types = dict.fromkeys(as_they_are, TEXT) | {n: t for n, t in how.types.items() if n not in as_they_are}
    rest = [name for name in texts if name not in types]
    said = [HEADERLESS] if how.header and like_data(dialect.names) else []
    said += dialect.remarks
    remarks = {"": "; ".join(said)} if said else {}
    marks = how.marks
    found, strange = types_found(rest, relation, ask, marks or ()) if how.find else ({}, {})
    if marks is None:
        seen = recognised([name for name in rest if found.get(name, TEXT) == TEXT], relation, ask)
        marks = tuple(dict.fromkeys(mark for kept in seen.values() for mark in kept))
        if marks:
            found, strange = types_found(rest, relation, ask, marks)
            remarks[""] = "; ".join([*remarks.values(), remark(seen)])
    types = texts | found | types
    columns = {name: identifier(name) if name in as_they_are else unmarked(identifier(name), marks) for name in texts}
    empty = {name: None if name in as_they_are else how.empty for name in texts}
    fields = [forms.written(name, columns[name], types[name], empty[name]) for name in texts]
    return replace(_with_fields(stored, how, fields, remarks | strange), marks=marks)


def _opened_json(
    connection: duckdb.DuckDBPyConnection, path: Path, literal: str, how: AsRead, as_written: Chosen | None
) -> Source:
    """A JSON file with the types that its values have, or that were declared; a text is a date only if all have its form."""
    sql = f"read_json({literal}, sample_size = -1, maximum_sample_files = {len(parts_of(path))})"
    found = columns_of(connection, sql, str(path))
    as_they_are = [name for name in found if as_written is not None and as_written(name)]
    types = {name: TEXT if name in as_they_are else how.types.get(name, type_) for name, type_ in found.items()}
    plain = [name for name in types if name in as_they_are or _kind_of_json(types[name]) is None]
    raw = {name: types[name] if name in plain else "JSON" for name in types}
    stored = Source(connection, f"read_json({literal}, columns = {_typed(raw)})", raw, str(path), path)

    def fields() -> list[Field]:
        return [
            Field(name, types[name], identifier(name), identifier(name))
            if name in plain
            else forms.in_json(name, identifier(name), types[name], how.empty, how.marks or ())
            for name in types
        ]

    source = _with_fields(stored, how, fields())
    for name in types:
        guessed = name not in how.types and name not in plain and _kind_of_json(found[name]) in (*DATES, "text")
        for other in (ZONED, TEXT) if guessed and source.refusal(name) is not None else ():
            types[name] = other
            if _with_fields(stored, how, fields()).refusal(name) is None:
                break
    return replace(_with_fields(stored, how, fields()), marks=how.marks or ())


def _kind_of_json(type_: str) -> str | None:
    """What a type that DuckDB guessed for JSON values holds; times of the day are text, as they are written."""
    return "text" if type_ == "TIME" else kind_of_type(type_)


def _opened_database(connection: duckdb.DuckDBPyConnection, path: Path, table: str) -> Source:
    place = f"{path}::{table}"
    with reading(str(path)):
        connection.execute(f"ATTACH {text_literal(str(path))} AS {DATABASE} (READ_ONLY)")
        known = connection.execute(
            "SELECT schema_name || '.' || name FROM ("
            "SELECT schema_name, table_name AS name, database_name FROM duckdb_tables() "
            "UNION ALL SELECT schema_name, view_name, database_name FROM duckdb_views() WHERE NOT internal) "
            f"WHERE database_name = '{DATABASE}' ORDER BY 1"
        ).fetchall()
    names = [name.removeprefix("main.") for (name,) in known]
    if table not in names:
        raise LawError(f"{path} has no table '{table}'.", did_you_mean(table, names))
    schema, _, name = table.rpartition(".")
    sql = ".".join(map(identifier, [DATABASE, schema or "main", name]))
    return _checked(Source(connection, sql, columns_of(connection, sql, place), place))


def _opened_frame(connection: duckdb.DuckDBPyConnection, frame: Any) -> Source:
    connection.register(FRAME, arrow_of(frame))
    return _checked(Source(connection, FRAME, columns_of(connection, FRAME, "the table"), "the table"))


def columns_of(connection: duckdb.DuckDBPyConnection, sql: str, place: str) -> dict[str, str]:
    """The names of the columns of a FROM item, and their types."""
    with reading(place):
        return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()}


def _checked(source: Source) -> Source:
    check_names(list(source.columns), source.name)
    with reading(source):
        if not source.connection.execute(f"SELECT 1 FROM {(source.stored or source).sql} LIMIT 1").fetchall():
            raise LawError(f"{source.name} has no rows.", "A table needs at least one row below its header.")
    return source
