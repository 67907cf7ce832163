"""Tables that Spark reads: files that all workers see, or a data frame of Spark.

What the columns are called and which types they have is found as without Spark: DuckDB looks at the file. So CSV and
JSON fields stay texts in Spark, and become values by DuckDB's casts.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from choral.draw.spark.session import in_plain_words
from choral.errors import FieldError, LawError
from choral.tables import forms
from choral.tables.dialect import dialect_of
from choral.tables.in_memory import check_names
from choral.tables.kinds import ZONED, kind_of_type
from choral.tables.misfit import NONE_THERE, ZEROS, in_records, misfit
from choral.tables.opening import FRAME, Chosen, columns_of, open_table
from choral.tables.source import READERS, AsRead, Source, parts_of, session
from choral.tables.sql import identifier

HASH_DIGITS = 60
"""Hexadecimal digits of a row's hash that count in the digest of a frame, in pieces that a sum of decimals can hold."""
PIECE = 15
"""Hexadecimal digits of a piece: 60 bits, a number that Spark converts whole."""
NOTHING = "\0"
"""What Spark takes an empty field for where an empty text in quotes is a value: no text of a table holds it."""


@dataclass(frozen=True, eq=False)
class SparkTable:
    """A table in Spark: `frame` has its raw columns, `source` says what DuckDB takes them for.

    `from_file` says that `source` is the table itself and not just its outline; `before` is its fingerprint when opened. With
    `texts` the raw columns are the texts of the fields; those of columns that are read `as_written` are never marks of gaps.
    """

    frame: Any
    source: Source
    from_file: bool
    before: tuple[int, ...]
    texts: bool = False
    as_written: Chosen | None = None

    @property
    def columns(self) -> Mapping[str, str]:
        """The names of the columns and their DuckDB types."""
        return self.source.columns

    @property
    def name(self) -> str:
        """How messages call the table."""
        return self.source.name

    def raw(self, names: Sequence[str]) -> Any:
        """A frame of these columns, called c0, c1, …; NULL is what is missing."""
        return self.frame.select([self._given(name).alias(f"c{i}") for i, name in enumerate(names)])

    def _given(self, name: str) -> Any:
        from pyspark.sql import functions as F

        given, is_text = _column(name), kind_of_type(self.columns[name]) == "text"
        drops = self.source.empty == "missing" if is_text else self.texts
        marked = (is_text or self.texts) and not (self.as_written and self.as_written(name))
        missing = [*([""] if drops else []), *(self.source.marks if marked else ())]
        return F.when(~given.isin(missing), given) if missing else given

    def typed_sql(self, names: Sequence[str], relation: str, carry: str | None = None) -> str:
        """SQL for DuckDB: the columns that `raw` has called c0, c1, … with their names and types."""
        items = [f"{self._field(name, f'c{i}')} AS {identifier(name)}" for i, name in enumerate(names)]
        return f"(SELECT {', '.join([*items, *([identifier(carry)] if carry else [])])} FROM {relation})"

    def _field(self, name: str, column: str) -> str:
        type_ = self.columns[name]
        if self.texts:
            return forms.written(name, column, type_, self.source.empty).sql
        return forms.typed(name, f"CAST({column} AS {type_})", type_, self.source.empty).sql

    def number(self, name: str, place: int) -> Any:
        """The column of Spark that is the number in c0, c1, … of `raw`, rounded as DuckDB and Python round it.

        NULL is what is missing, and a text that is not of the form of the column's type.
        """
        from pyspark.sql import functions as F

        raw, type_ = F.col(f"c{place}"), self.columns[name]
        if not self.texts:
            return (raw.cast("string") if kind_of_type(type_) == "decimal" else raw).try_cast("double")
        found = raw.try_cast("float" if type_ == "FLOAT" else "double").cast("double")
        fits = raw.endswith("inf") | F.isnan(found) | (F.abs(found) < F.lit(float("inf")))
        form = forms.form_of(type_)
        if form.type == "BIGINT" or form.type.startswith("DECIMAL"):
            fits &= raw.try_cast(form.type.lower()).isNotNull()
        return F.when(raw.rlike(rf"\A(?:{form.pattern})\z") & fits, found)

    def day(self, name: str, place: int) -> Any:
        """The column of Spark that is the day of the date or point in time in c0, c1, … of `raw`; in UTC, if it has a zone.

        NULL is what is missing, and a text that is not of the form of the column's type. Nothing here asks for the zone of
        the session: of a moment with a zone the microseconds since 1970 are counted, in whole numbers.
        """
        from pyspark.sql import functions as F

        raw, type_ = f"c{place}", self.columns[name]
        moment = f"try_cast({raw} AS timestamp)" if type_ == ZONED else raw
        micros, a_day = f"unix_micros({moment})", 86_400_000_000
        in_utc = F.expr(f"date_add(DATE'1970-01-01', CAST(({micros} - pmod({micros}, {a_day})) div {a_day} AS INT))")
        if not self.texts:
            return in_utc if self.frame.schema[name].dataType.typeName() == "timestamp" else F.col(raw).cast("date")
        day = in_utc if type_ == ZONED else F.substring(raw, 1, len("2026-01-31")).try_cast("date")
        return F.when(F.col(raw).rlike(rf"\A(?:{forms.form_of(type_).pattern})\z"), day)

    def misfit(self, name: str, type_: str, id: str) -> str:
        """`choral.tables.misfit.misfit` of a file; of a frame how many records have such values, and one of them."""
        from pyspark.sql import functions as F

        if self.from_file:
            return misfit(self.source, name, type_)
        text, pattern = _column(name).cast("string"), forms.form_of(type_).pattern
        fits = F.lit(True) if pattern is None else F.regexp_replace(text, ZEROS, "").rlike(rf"\A(?:{pattern})\z")
        who = _column(id).cast("string") if id in self.columns else F.lit(None).cast("string")
        with in_plain_words(self.name):
            found = self.frame.select(text.alias("t"), who.alias("who"), (~fits).alias("bad")).where("t IS NOT NULL")
            one, many = F.struct("who", "t"), F.count(F.lit(1))
            [row] = found.agg(F.count_if("bad"), F.min(F.when(F.col("bad"), one)), many, F.min(one)).collect()
        n, example = (row[0], row[1]) if row[0] else (row[2], row[3])
        if example is None:
            return NONE_THERE
        return in_records(n, example["t"], f"{id} = {example['who']}" if example["who"] is not None else "")

    def check_json(self, names: Sequence[str]) -> None:
        """Raise for a JSON value of another kind, which Spark would hand on as its text: 17 for "17"."""
        if self.texts and self.source.path is not None and _reader(self.source.path) != "read_csv":
            self.source.check_fields(names)

    def digest(self) -> str:
        """The digest of the files; of a frame that of its names, types and rows, in whatever order they come."""
        return self.source.digest() if self.from_file else self._hashed[0]

    def rows(self) -> int:
        """How many rows there are."""
        return self.source.rows() if self.from_file else self._hashed[1]

    def check_read(self, found: int) -> None:
        """Raise unless Spark found rows, and as many as there are, in files that nobody changed since they were opened."""
        if self.source.fingerprint() != self.before:
            raise LawError(f"{self.name} changed while it was read.", "Run again when it is at rest.")
        if not found:
            raise LawError(f"{self.name} has no rows.", "A table needs at least one row.")
        if found != self.rows():
            raise LawError(
                f"Spark finds {found} rows in {self.name}, where there are {self.rows()}.",
                "A frame must have the same rows every time, and fields of CSV no line breaks: convert it to Parquet.",
            )

    @cached_property
    def _hashed(self) -> tuple[str, int]:
        """The digest of a frame, from the sums of the rows' hashes, and its number of rows."""
        from pyspark.sql import functions as F

        texts = [_column(name).cast("string") for name in self.columns]
        framed = [
            F.coalesce(F.concat(F.octet_length(text).cast("string"), F.lit(":"), text), F.lit("-")) for text in texts
        ]
        frame = self.frame.select(F.sha2(F.concat(*framed), 256).alias("hash"))
        pieces = [F.conv(F.substring("hash", i + 1, PIECE), 16, 10) for i in range(0, HASH_DIGITS, PIECE)]
        sums = [F.sum(piece.cast("decimal(20,0)")) for piece in pieces]
        with in_plain_words(self.name):
            [row] = frame.agg(F.count(F.lit(1)), *sums).collect()
        whole = repr([list(self.columns.items()), *(str(value) for value in row)])
        return hashlib.sha256(whole.encode()).hexdigest(), int(row[0])


def spark_table(session: Any, table: Any, how: AsRead | None = None, as_written: Chosen | None = None) -> SparkTable:
    """A table for Spark: a path to a .csv, .parquet, .jsonl or .ndjson file or to a folder of them, or a Spark frame."""
    if isinstance(table, str | os.PathLike):
        return _from_file(session, os.fspath(table), how or AsRead(), as_written)
    if not (hasattr(table, "mapInArrow") and hasattr(table, "sparkSession")):
        raise LawError(
            f"Spark does not read a {type(table).__name__}.",
            "Give a path or a data frame of Spark, or leave Spark out.",
        )
    return _from_frame(table, how or AsRead(), as_written)


def _reader(path: Path) -> str:
    return READERS[parts_of(path)[0].suffix.lower()]


@contextmanager
def located(tables: Sequence[SparkTable], names: Sequence[str]) -> Iterator[None]:
    """Errors with the row of a field that is refused, where the table is a file."""
    try:
        yield
    except FieldError:
        for table in tables:
            table.source.check_fields(name for name in names if name in table.columns)
        raise


def _from_file(session: Any, text: str, how: AsRead, as_written: Chosen | None) -> SparkTable:
    if "::" in text:
        raise LawError(f"{text} is in a DuckDB database, which Spark does not read.", "Leave out --engine spark.")
    if "://" in text:
        raise LawError(
            f"{text} is not a file of this machine.",
            "Open it with spark.read in Python and give the frame to choral.draw.spark.",
        )
    source = open_table(text, how, as_written)
    path, before = source.path, source.fingerprint()
    assert path is not None
    parts = parts_of(path)
    files = ["file:" + re.sub(r"([\\*?\[\]{},])", r"\\\1", str(part.resolve())) for part in parts]
    kind = _reader(path)
    with in_plain_words(text):
        if kind == "read_parquet":
            return SparkTable(session.read.parquet(*files), source, True, before, False, as_written)
        from pyspark.sql.types import StringType, StructField, StructType

        reader = session.read.schema(StructType([StructField(name, StringType()) for name in source.columns]))
        reader = reader.option("mode", "FAILFAST")
        if kind == "read_csv":
            dialect = dialect_of(parts[0], how.header, how.plain)
            if dialect.runs:
                raise LawError(
                    f"The fields of {text} are separated by blanks, which Spark does not read.", "Use commas."
                )
            marks = {"sep": dialect.separator, "quote": '"', "escape": '"', "emptyValue": ""}
            marks["nullValue"] = NOTHING if how.empty == "value" else ""
            frame = reader.options(header=how.header, **marks).csv(files)
            return SparkTable(frame, source, True, before, True, as_written)
        return SparkTable(reader.json(files), source, True, before, True, as_written)


def _from_frame(frame: Any, how: AsRead, as_written: Chosen | None) -> SparkTable:
    name = "the Spark frame"
    check_names(list(frame.columns), name)
    with in_plain_words(name):
        outline = frame.limit(0).toArrow()
    connection = session()
    connection.register(FRAME, outline)
    columns = columns_of(connection, FRAME, name)
    source = Source(connection, FRAME, columns, name, empty=how.empty, marks=how.marks or ())
    return SparkTable(frame, source, False, (), False, as_written)


def _column(name: str) -> Any:
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")
