"""Tables of any kind as a DuckDB relation: CSV, Parquet, JSON, a table of a DuckDB database, or a frame in memory.

A table is opened, not read: whatever looks at it runs in DuckDB, which works through tables larger than memory.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from choral.errors import ColumnError, LawError, did_you_mean
from choral.release.sql import identifier, text_literal

if TYPE_CHECKING:
    import duckdb

Chosen: TypeAlias = Callable[[str], bool]
"""Which columns, by their names."""

DELIMITERS = ",;\t|"
READERS = {".csv": "read_csv", ".parquet": "read_parquet"} | dict.fromkeys((".jsonl", ".ndjson", ".json"), "read_json")
TEXT = "VARCHAR"
CSV_TYPES = ("BIGINT", "DOUBLE", "DATE", TEXT)
FRAME = "choral_frame"
DATABASE = "choral_source"
ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class Source:
    """A table that DuckDB can look at: `SELECT … FROM {sql}` on `connection`.

    `columns` maps names, as they are spelled, to DuckDB's types. `name` is how messages call the table. Where another
    engine has counted, a row stands for as many as the column `weight` says, and what it found is known: the table's digest,
    and the edges of binned columns.
    """

    connection: duckdb.DuckDBPyConnection
    sql: str
    columns: Mapping[str, str]
    name: str
    path: Path | None = None
    weight: str | None = None
    known_digest: str | None = None
    known_edges: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def tally(self, value: str | None = None) -> str:
        """SQL that counts rows, all or those with a `value`."""
        if self.weight is None:
            return f"count({value or '*'})"
        condition = "TRUE" if value is None else f"({value}) IS NOT NULL"
        return f"CAST(coalesce(sum({identifier(self.weight)}) FILTER ({condition}), 0) AS BIGINT)"

    def rows(self) -> int:
        """How many rows there are."""
        with reading(self.name):
            [(found,)] = self.connection.execute(f"SELECT {self.tally()} FROM {self.sql}").fetchall()
        return int(found)

    def digest(self) -> str:
        """SHA-256, in hexadecimal: of the bytes of a file; otherwise of names, types and rows in their order.

        Of a folder it is the digest of the names and digests of its files, as `sha256sum` lists them.
        """
        if self.known_digest is not None:
            return self.known_digest
        if self.path is not None and self.path.is_dir():
            listed = "".join(f"{_file_digest(part)}  {part.name}\n" for part in parts_of(self.path))
            return hashlib.sha256(listed.encode()).hexdigest()
        if self.path is not None:
            return _file_digest(self.path)
        whole = hashlib.sha256(repr(list(self.columns.items())).encode())
        texts = [f"CAST({identifier(name)} AS VARCHAR)" for name in self.columns]
        row = " || ".join(f"coalesce(strlen({text}) || ':' || {text}, '-')" for text in texts)
        with reading(self.name):
            batches = self.connection.sql(f"SELECT sha256({row}) FROM {self.sql}").to_arrow_reader(ROWS_AT_ONCE)
            for batch in batches:
                whole.update("".join(batch.column(0).to_pylist()).encode())
        return whole.hexdigest()

    def fingerprint(self) -> tuple[int, ...]:
        """What changes when somebody writes to a file of the table."""
        if self.path is None:
            return ()
        now = [part.stat() for part in parts_of(self.path)]
        return tuple(number for part in now for number in (part.st_ino, part.st_size, part.st_mtime_ns))

    def require(self, names: list[str], where: str) -> None:
        """Raise unless each of these is a column, spelled as it stands in the table."""
        for name in names:
            if name not in self.columns:
                raise ColumnError(
                    f"`{where}` names '{name}', which is no column of {self.name}.", did_you_mean(name, self.columns)
                )


def open_table(source: Any, types: Mapping[str, str] | None = None, as_written: Chosen | None = None) -> Source:
    """A table, ready for queries: a path, `database.duckdb::table`, or a frame (pandas, polars, arrow, a mapping).

    The types of a CSV file are found once over the whole file; `types` declares those of some columns instead, and a
    field that is not of its declared type is an error when it is read. Columns that `as_written` chooses are text in
    CSV and JSON files, whose types are only guessed: an identifier must not depend on the rest of its column.

    >>> open_table({"W": [0, 1, 1], "X": ["a", "a", None]}).columns
    {'W': 'BIGINT', 'X': 'VARCHAR'}
    """
    connection = connect()
    try:
        if isinstance(source, str | os.PathLike):
            return _opened_file(connection, os.fspath(source), types or {}, as_written)
        return _opened_frame(connection, source)
    except BaseException:
        connection.close()
        raise


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory."""
    connection = _duckdb().connect(":memory:")
    connection.execute("SET enable_progress_bar = false")  # it would write to standard output, where --json goes
    return cast("duckdb.DuckDBPyConnection", connection)


def parts_of(path: Path) -> list[Path]:
    """The files that a table is in: itself, or those of a folder that Spark or another engine wrote, in order of names."""
    if not path.is_dir():
        return [path]
    parts = sorted(part for part in path.iterdir() if part.name[0] not in "._")
    endings = {part.suffix.lower() for part in parts}
    if len(endings) != 1 or not endings <= READERS.keys() or not all(part.is_file() for part in parts):
        raise LawError(
            f"{path} is a folder, and not of files of one kind: .csv, .parquet, .jsonl or .json.", "Name a file in it."
        )
    return parts


@contextmanager
def opened(source: Any, types: Mapping[str, str] | None = None, as_written: Chosen | None = None) -> Iterator[Source]:
    """A table for the time of a `with`; one that is open already stays open."""
    if isinstance(source, Source):
        yield source
        return
    table = open_table(source, types, as_written)
    try:
        yield table
    finally:
        table.connection.close()


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Errors of DuckDB while a table is read, in plain words."""
    errors = _duckdb()
    try:
        yield
    except errors.Error as error:
        raise LawError(*_plain_words(name, str(error))) from None


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise LawError(f"Tables need {error.name}, which is not installed.", "pip install 'choral[tables]'") from None
    return duckdb


def _opened_file(
    connection: duckdb.DuckDBPyConnection, text: str, types: Mapping[str, str], as_written: Chosen | None
) -> Source:
    place, mark, table = text.partition("::")
    path = Path(place)
    reader = READERS.get(path.suffix.lower())
    if path.is_dir() and not mark:
        reader = READERS[parts_of(path)[0].suffix.lower()]
    if not mark and reader is None:
        raise LawError(
            f"{text} is not a .csv, .parquet, .jsonl, .ndjson or .json file.",
            "Give one of these, or a table of a DuckDB database as database.duckdb::table.",
        )
    if not path.is_file() and (mark or not path.is_dir()):
        raise LawError(f"{place} cannot be read: there is no such file.", "Check the path.")
    if mark:
        return _opened_database(connection, path, table)
    names = [place] if path.is_file() else [str(part) for part in parts_of(path)]
    listed = ", ".join(text_literal(re.sub(r"([*?\[])", r"[\1]", name)) for name in names)
    literal = f"[{listed}]"
    if reader == "read_csv":
        return _checked(_opened_csv(connection, path, literal, types, as_written))
    whole = f"sample_size = -1, maximum_sample_files = {len(names)}"
    sql = f"read_json({literal}, {whole})" if reader == "read_json" else f"read_parquet({literal})"
    columns = columns_of(connection, sql, place)
    if reader == "read_json" and as_written is not None:
        columns = {name: TEXT if as_written(name) else type_ for name, type_ in columns.items()}
        sql = f"read_json({literal}, columns = {_typed(columns)})"
    return _checked(Source(connection, sql, columns, place, path))


def _typed(columns: Mapping[str, str]) -> str:
    """Names and types, as DuckDB's readers take them."""
    listed = ", ".join(f"{text_literal(name)}: {text_literal(type_)}" for name, type_ in columns.items())
    return f"{{{listed}}}"


def _opened_csv(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    literal: str,
    types: Mapping[str, str],
    as_written: Chosen | None,
) -> Source:
    """A CSV file with the types that its whole content has, or that were declared; dates are written 2026-01-31."""
    header, delimiter = csv_header(path)
    for part in parts_of(path)[1:]:
        if csv_header(part) != (header, delimiter):
            raise LawError(f"{part} has another header than the other files of {path}.", "Give tables of one kind.")
    dialect = f"{literal}, header = true, delim = {text_literal(delimiter)}, dateformat = '%Y-%m-%d'"
    dialect += """, quote = '"', escape = '"'"""

    def as_read(columns: Mapping[str, str]) -> str:
        return f"read_csv({dialect}, auto_detect = false, columns = {_typed(columns)})"

    if as_written is not None:
        types = {**types, **{name: TEXT for name in header if as_written(name)}}
    found = {name: types[name] for name in header if name in types}
    if len(found) < len(header):
        candidates = ", ".join(map(text_literal, CSV_TYPES))
        names = ", ".join(map(text_literal, header))
        whole = "sample_size = -1, files_to_sniff = -1"
        detecting = f"read_csv({dialect}, names = [{names}], {whole}, auto_type_candidates = [{candidates}])"
        try:
            detected = columns_of(connection, detecting, str(path))
        except LawError:
            with reading(str(path)):
                connection.execute(f"SELECT count(*) FROM {as_read(dict.fromkeys(header, TEXT))}")
            raise
        found = {name: types.get(name, detected[name]) for name in header}
    return Source(connection, as_read(found), found, str(path), path)


def csv_header(path: Path) -> tuple[list[str], str]:
    """The names in the first line of a CSV file, and what separates them."""
    try:
        with parts_of(path)[0].open(newline="", encoding="utf-8-sig") as file:
            first = file.readline()
            delimiter = max(DELIMITERS, key=first.count)
            file.seek(0)
            header = next(csv.reader(file, strict=True, delimiter=delimiter), [])
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LawError(f"{path} cannot be read: {error}.", "Check the path, and that it is CSV in UTF-8.") from None
    names = [name.strip() for name in header]
    if not names:
        raise LawError(f"{path} is empty.", "A table needs a header and at least one row.")
    check_names(names, str(path))
    return names, delimiter


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
    connection.register(FRAME, _arrow(frame))
    return _checked(Source(connection, FRAME, columns_of(connection, FRAME, "the table"), "the table"))


def _arrow(frame: Any) -> Any:
    """A frame as an Arrow table."""
    import narwhals as nw
    import pyarrow as pa

    kind = type(frame).__name__
    try:
        if isinstance(frame, pa.RecordBatchReader):
            table = frame.read_all()
        elif isinstance(frame, Mapping):
            table = pa.table({name: pa.array(values, from_pandas=True) for name, values in frame.items()})
        elif isinstance(frame, list) and frame and all(isinstance(row, Mapping) for row in frame):
            table = pa.Table.from_pylist([dict(row) for row in frame])
        else:
            found = nw.from_native(frame)
            lazy = isinstance(found, nw.LazyFrame)
            check_names(list(found.collect_schema().names()), f"the {kind}")
            whole = found.collect() if lazy else found
            table = pa.table({name: whole[name].to_arrow() for name in whole.columns})  # without the index of pandas
    except pa.ArrowException as error:
        raise LawError(
            f"A column of the {kind} mixes types: {error}.", "Give every column values of one type."
        ) from None
    except (TypeError, AttributeError, ValueError, nw.exceptions.NarwhalsError) as error:
        if isinstance(error, LawError):
            raise
        raise LawError(
            f"A {kind} cannot be read as a table: {error}",
            "Pass a path, a pandas, polars or arrow frame whose column names are different texts, a list of records, "
            "or a mapping of column names to lists.",
        ) from None
    check_names(list(table.column_names), f"the {kind}")
    return table


def columns_of(connection: duckdb.DuckDBPyConnection, sql: str, place: str) -> dict[str, str]:
    """The names of the columns of a FROM item, and their types."""
    with reading(place):
        return {row[0]: row[1] for row in connection.execute(f"DESCRIBE SELECT * FROM {sql}").fetchall()}


def _checked(source: Source) -> Source:
    check_names(list(source.columns), source.name)
    with reading(source.name):
        if not source.connection.execute(f"SELECT 1 FROM {source.sql} LIMIT 1").fetchall():
            raise LawError(f"{source.name} has no rows.", "A table needs at least one row below its header.")
    return source


def check_names(names: list[Any], place: str) -> None:
    """Raise unless these can be the names of the columns of one table."""
    if not names:
        raise LawError(f"{place} has no columns.", "A table needs at least one column and one row.")
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise LawError(f"A column of {place} is named {name!r}, which is not text.", "Rename the columns first.")
        if not name.strip():
            raise LawError(f"Column {position} of {place} has no name.", "Name it in the header, or leave it out.")
    for name, count in Counter(name.casefold() for name in names).items():
        if count > 1:
            twice = [given for given in names if given.casefold() == name]
            how = f"'{twice[0]}'" if len(set(twice)) == 1 else " and ".join(f"'{given}'" for given in twice)
            raise LawError(
                f"{place} has two columns named {how}.", "Rename one; upper and lower case do not tell columns apart."
            )


def _plain_words(name: str, message: str) -> tuple[str, str]:
    """What a message of DuckDB says to someone with a table."""
    fields = re.search(r"Error on Line: (\d+).*?Expected Number of Columns: (\d+) Found: (\d+)", message, re.DOTALL)
    if fields:
        line, expected, found = fields.groups()
        return f"Line {line} of {name} has {found} fields, the header {expected}.", "Repair the line."
    cast = re.search(r"Error on Line: (\d+)(.*?)Error when converting column \"(.*?)\"\.? (.*?)\n", message, re.DOTALL)
    if cast:
        line, _, column, what = cast.groups()
        return (
            f"Line {line} of {name}, column '{column}': {what.strip().rstrip('.')}.",
            "Give the column values of the type that it had before, or fit again.",
        )
    if "invalid state" in message and _ends_differ(Path(name)):
        return (
            f"{name} cannot be read: some of its lines end in a line feed (LF), others in a carriage return as well (CRLF).",
            "Write it with one kind of line end.",
        )
    first = message.strip().splitlines()[0].rstrip(".")
    if "Could not write" in message or "No space left" in message:
        return f"A file cannot be written: {first}.", "Check the folder and free space."
    return f"{name} cannot be read: {first}.", "Check that it is whole, and of the kind that its name says."


def _ends_differ(path: Path) -> bool:
    """Whether lines of a file end in LF alone and in CRLF."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        seen = {line.endswith(b"\r\n") for line in file if line.endswith(b"\n")}
    return len(seen) == 2
