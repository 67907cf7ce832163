"""Tables of any kind as a DuckDB relation: CSV, Parquet, JSON, a table of a DuckDB database, or a frame in memory.

A table is opened, not read: whatever looks at it runs in DuckDB, which works through tables larger than memory.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from choral.errors import FieldError, LawError, ProblemError, UnknownColumnError, did_you_mean
from choral.tables import forms
from choral.tables.dialect import HEADERLESS, MORE_THAN_ONCE
from choral.tables.duckdb_words import plain_words
from choral.tables.forms import TEXT, Field
from choral.tables.marks import check_marks
from choral.tables.sql import identifier

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

TEXTS = (".csv", ".tsv", ".txt", ".data")
READERS = dict.fromkeys(TEXTS, "read_csv") | {".parquet": "read_parquet"}
READERS |= dict.fromkeys((".jsonl", ".ndjson", ".json"), "read_json")
EMPTY = ("missing", "value")
"""What an empty text is: the same as a missing value, or a value of its own."""
ROWS_AT_ONCE = 1 << 16
"""Records whose hashes are in memory at once."""
_started: dict[int, Any] = {}
"""The DuckDB of each process that has one: this one, and those it was forked from."""


@dataclass(frozen=True)
class AsRead:
    """How the fields of a table become values.

    types  of columns whose types are declared. Those of the others are found in a CSV file over the whole of it (`find`),
           or else they are text
    empty  what an empty text is: "missing", or "value"; None, the rule of releases that do not say: missing in CSV files,
           a value elsewhere. A field of a CSV file that is empty is missing in any case, unless it is text in quotes
    header whether the first line of a CSV file has the names of the columns; else they are column1, column2, …
    marks  texts that stand for a missing value, such as ?; None: recognised in CSV files (`choral.tables.marks`)
    plain  CSV files are separated as releases took it that do not say: by what is commonest in the first line
    """

    types: Mapping[str, str] = field(default_factory=dict)
    empty: str | None = "missing"
    find: bool = True
    header: bool = True
    marks: tuple[str, ...] | None = ()
    plain: bool = False

    def __post_init__(self) -> None:
        if self.marks is not None:
            object.__setattr__(self, "marks", check_marks(self.marks))
        if self.empty not in (*EMPTY, None):
            raise ProblemError(f"empty={self.empty!r}.", f"Say one of {', '.join(EMPTY)}.")


@dataclass(frozen=True, eq=False)
class Source:
    """A table that DuckDB can look at: `SELECT … FROM {sql}` on `connection`.

    `columns` maps names, as they are spelled, to DuckDB's types. `name` is how messages call the table. Where another
    engine has counted, a row stands for as many as the column `weight` says, and what it found is known: the table's digest,
    what columns are cut by, and what was `counted`, if its rows have an order. `stored` is the table before its `fields`
    became values, `empty` says what an empty text is, `marks` which texts are missing values, `header` whether a file has
    one, and `remarks` has a sentence for a column that may not be what it was meant to be; that under "" is about the whole
    table.
    """

    connection: duckdb.DuckDBPyConnection
    sql: str
    columns: Mapping[str, str]
    name: str
    path: Path | None = None
    weight: str | None = None
    known_digest: str | None = None
    known_cuts: Mapping[str, Any] = field(default_factory=dict)
    counted: Source | None = None
    stored: Source | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)
    empty: str | None = "missing"
    remarks: Mapping[str, str] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    header: bool = True

    def tally(self, value: str | None = None) -> str:
        """SQL that counts rows, all or those with a `value`."""
        if self.weight is None:
            return f"count({value or '*'})"
        condition = "TRUE" if value is None else f"({value}) IS NOT NULL"
        return f"CAST(coalesce(sum({identifier(self.weight)}) FILTER ({condition}), 0) AS BIGINT)"

    def rows(self) -> int:
        """How many rows there are."""
        with reading(self):
            [(found,)] = self.connection.execute(f"SELECT {self.tally()} FROM {self.sql}").fetchall()
        return int(found)

    def digest(self) -> str:
        """SHA-256, in hexadecimal: of the bytes of a file; otherwise of names, types and rows in their order.

        Of a folder it is the digest of the names and digests of its files, as `sha256sum` lists them.
        """
        if self.known_digest is not None:
            return self.known_digest
        if self.stored is not None:
            return self.stored.digest()
        if self.path is not None and self.path.is_dir():
            listed = "".join(f"{_file_digest(part)}  {part.name}\n" for part in parts_of(self.path))
            return hashlib.sha256(listed.encode()).hexdigest()
        if self.path is not None:
            return _file_digest(self.path)
        whole = hashlib.sha256(repr(list(self.columns.items())).encode())
        texts = [f"CAST({identifier(name)} AS VARCHAR)" for name in self.columns]
        row = ", ".join(f"coalesce(strlen({text}) || ':' || {text}, '-')" for text in texts)
        with reading(self):
            batches = self.connection.sql(f"SELECT sha256(concat({row})) FROM {self.sql}").to_arrow_reader(ROWS_AT_ONCE)
            for batch in batches:
                whole.update("".join(batch.column(0).to_pylist()).encode())
        return whole.hexdigest()

    def fingerprint(self) -> tuple[int, ...]:
        """What changes when somebody writes to a file of the table."""
        if self.path is None:
            return ()
        now = [part.stat() for part in parts_of(self.path)]
        return tuple(number for part in now for number in (part.st_ino, part.st_size, part.st_mtime_ns))

    def refusal(self, column: str) -> FieldError | None:
        """Why the first field of a column that is not of its form is refused; None where all are."""
        checked = self.fields.get(column)
        if self.stored is None or checked is None or checked.value == checked.given:
            return None
        [found] = self.connection.execute(
            f"SELECT min(r), arg_min(t, r) FROM (SELECT row_number() OVER () AS r, CAST({checked.given} AS {TEXT}) AS t, "
            f"{checked.value} AS v FROM {self.stored.sql}) WHERE t IS NOT NULL AND v IS NULL"
        ).fetchall()
        if found[0] is None:
            return None
        return _not_of_form(f"row {found[0]} of {self.name}", column, checked.words, found[1])

    def check_fields(self, names: Iterable[str]) -> None:
        """Raise for the first field of these columns that is not of its form."""
        for name in names:
            if (error := self.refusal(name)) is not None:
                raise error

    @property
    def headerless(self) -> str:
        """What to add where there is no such column: that the first line may be a record, or has a name twice."""
        said = [part for part in self.remarks.get("", "").split("; ") if part == HEADERLESS or MORE_THAN_ONCE in part]
        return "".join(f" {part[0].upper()}{part[1:]}." for part in said)

    def require(self, names: list[str], where: str) -> None:
        """Raise unless each of these is a column, spelled as it stands in the table."""
        for name in names:
            if name not in self.columns:
                raise UnknownColumnError(
                    f"`{where}` names '{name}', which is no column of {self.name}.{self.headerless}",
                    did_you_mean(name, self.columns),
                    where,
                    name,
                )


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB in memory that nothing else uses: whatever is set or attached there is for it alone."""
    return _set_up(_duckdb().connect(":memory:"))


def session() -> duckdb.DuckDBPyConnection:
    """A session with the one DuckDB of this process: it has temporary tables and views of its own, and no more than these.

    To start a DuckDB takes as long as to count a table of ordinary size, and a command opens its table several times.
    """
    process = os.getpid()  # one that was forked has none of its parent's threads
    if process not in _started:
        _started[process] = _duckdb().connect(":memory:")
        _started[process].execute("SET enable_external_file_cache = false")  # a file may be written anew in between
    return _set_up(_started[process].cursor())


def _set_up(connection: Any) -> duckdb.DuckDBPyConnection:
    connection.execute("SET TimeZone = 'UTC'")  # so that a point in time with a zone has the same text on every machine
    connection.execute("SET enable_progress_bar = false")  # it would write to standard output, where --json goes
    return cast("duckdb.DuckDBPyConnection", connection)


def parts_of(path: Path) -> list[Path]:
    """The files that a table is in: itself, or those of a folder that Spark or another engine wrote, in order of names."""
    if not path.is_dir():
        return [path]
    parts = sorted(part for part in path.iterdir() if part.name[0] not in "._")
    endings = {part.suffix.lower() for part in parts}
    if len(endings) != 1 or not endings <= READERS.keys() or not all(part.is_file() for part in parts):
        raise LawError(f"{path} is a folder, and not of files of one kind: {', '.join(READERS)}.", "Name a file in it.")
    return parts


@contextmanager
def reading(table: Source | str) -> Iterator[None]:
    """Errors of DuckDB while a table is read, in plain words; of an opened table with the row of a field that is refused."""
    errors = _duckdb()
    try:
        yield
    except errors.Error as error:
        raise in_words(table, str(error)) from None


def in_words(table: Source | str, message: str) -> LawError:
    """What a message of DuckDB says to someone with a table."""
    name = table if isinstance(table, str) else table.name
    if (said := forms.refused(message)) is None:
        return LawError(*plain_words(name, message))
    found = None if isinstance(table, str) else table.refusal(said[0])
    return found or _not_of_form(name, *said)


def batches_of(reader: pa.RecordBatchReader, table: Source | str) -> Iterator[pa.RecordBatch]:
    """The batches of a query; an error in the middle of a table is told like one at its beginning."""
    import pyarrow as pa

    while True:
        try:
            with reading(table):
                batch = reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowException, OSError) as error:
            raise in_words(table, str(error)) from None
        yield batch


def _not_of_form(where: str, column: str, words: str, text: str) -> FieldError:
    return FieldError(
        f"In {where}, the field {forms.shown(text)} of column '{column}' is not {words}.",
        "Correct it, or leave the row out: nothing is converted. A missing value is an empty field.",
    )


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
