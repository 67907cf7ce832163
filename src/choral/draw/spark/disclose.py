"""Disclose a table with Spark: workers find states and draw, the driver keeps the ledger.

Every worker reads batches of raw records with the recipe's own SQL, in a DuckDB of its own, and draws with the sampler of
every engine; beside the codes it writes the keyed tags by which the ledger knows records. The driver compares the tags
with the ledger before anything gets its name.

**Order of events**, as on DuckDB (`choral.draw.engine`): codes and tags go to a hidden folder beside the output while the
ledger's transaction is open; the ledger compares all records; codes alone are arranged in a second hidden folder and
flushed; the ledger commits; the folder gets its name. Killed before the commit, nothing was told and nothing is recorded;
killed after it, the same command gives the same codes, which the ledger admits. A run has a folder of its own, so workers
of a killed run that have not noticed write nowhere that matters.

**Identifiers are needed.** Rows have no positions in Spark, so a table without identifiers is refused; so are the order of
the table and row numbers.

**Arrangement** (`choral.draw.arrange`). In which part of the output a record stands, and where in it, is a function of its
place in the keyed arrangement and of how many records there are. So neither part numbers nor the order within parts say
how the table was cut or sorted. By identifier, Spark sorts the whole and cuts it where it likes.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from choral.draw.arrange import HIGH, LOW, Arrangement, check_arrangement
from choral.draw.drawing import AnyDrawing, Drawing
from choral.draw.engine import (
    CODE,
    ENDINGS,
    STATE,
    Drawn,
    Progress,
    full_disk_in_words,
    hidden_file,
    kind_of_id,
)
from choral.draw.quota import Chosen, Quotas
from choral.draw.quota_words import told_of
from choral.draw.ranks import Deal, Ranks
from choral.draw.spark.frames import SparkTable, located, spark_table
from choral.draw.spark.session import heard_by_driver, in_plain_words, started
from choral.errors import ColumnError, FileInTheWayError, ProblemError, ReleaseFileError
from choral.files import check_output, keep_apart
from choral.ledger import identity
from choral.ledger.book import Use, open_ledger
from choral.ledger.entry import Entry, Tagger
from choral.ledger.refusal import Place, refusal
from choral.ledger.spelling import normal_blocks
from choral.release.file import Release
from choral.tables.kinds import kind_of_type
from choral.tables.source import connect, in_words, reading

if TYPE_CHECKING:
    import pyarrow as pa

RAW = "choral_raw"
ID = "id"
ROWS_AT_ONCE = 1 << 16
"""Records that a worker takes from its DuckDB at once."""
ROWS_IN_A_PART = 1 << 20
"""About as many codes are in one file of the output."""
EXACT_IN_64_BITS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def disclose_table(
    release: Release,
    table: Any,
    output: str | os.PathLike[str],
    ledger: str | os.PathLike[str],
    id: str | None = None,
    *,
    arrange: str = "keyed",
    with_rows: bool = False,
    draw: str = "lots",
    quota_noise: float | str | None = None,
    force: bool = False,
    progress: Progress | None = None,
    master: str | None = None,
) -> Drawn:
    """Write one code per record, with its identifier, to a folder of Parquet or CSV files, in an order that tells nothing.

    `arrange` may be "id"; there is no order of the table (`arrange="table"`) in Spark, and there are no row numbers.
    `table` is a path that all workers can read, or a data frame of Spark that has the same rows whenever it is looked at.
    Each record gets the code that `choral.draw.engine.disclose_table` gives it.
    """
    target, book = Path(output), Path(ledger)
    if id is None:
        raise ColumnError(
            "Spark does not number the rows of a table.",
            "Give the column that identifies records (--id), or leave out --engine spark.",
        )
    if with_rows or arrange == "table":
        raise ProblemError(
            "Spark does not number the rows of a table, so there is no order of the table to write.",
            "Leave out --with-rows and --arrange table, or --engine spark.",
        )
    arranged, chosen = check_arrangement(arrange, id), Chosen.of(draw, quota_noise)
    if target.suffix.lower() not in ENDINGS:
        raise ReleaseFileError(f"{target} is neither .parquet nor .csv.", "Choose one of these endings.")
    keep_apart({"the codes": target}, {"the ledger": book, "the table": table})
    check_folder(target, force)
    with started(master) as session:
        found = spark_table(session, table, release.recipe.as_read, lambda name: name == id)
        with closing(found.source.connection):
            release.recipe.check(found.source, where=lambda _, column, type_: found.misfit(column, type_, id))
            return _Run(session, release, found, id, arranged, chosen, target, force, book, progress).run()


def check_folder(target: Path, force: bool) -> None:
    """Raise unless a folder may be written here: its own folder exists, and nothing is in the way.

    `force` replaces a file or a folder of codes, and no folder that holds anything else.
    """
    if not target.is_dir():
        check_output(target, force)
    elif not force:
        raise FileInTheWayError(f"{target} exists.", "Choose another name, or say force=True (--force) to replace it.")
    shown = [part for part in target.iterdir() if part.name[0] not in "._"] if target.is_dir() else []
    if strange := [part.name for part in shown if part.is_dir() or part.suffix.lower() not in ENDINGS]:
        raise FileInTheWayError(
            f"{target} is a folder that holds more than codes: {strange[0]}.", "Choose another name."
        )


@dataclass(frozen=True)
class Read:
    """How a worker reads its batches of raw records: `query` finds identifier and state in the relation `choral_raw`."""

    query: str
    id: str
    name: str

    def batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What the query finds in these records, in batches of identifier and state."""
        import pyarrow as pa

        first = next(batches, None)
        if first is None:
            return

        def all_batches() -> Iterator[pa.RecordBatch]:
            yield first
            yield from batches

        with closing(connect()) as connection, heard_by_driver():
            connection.execute("SET threads = 1")
            connection.register(RAW, pa.RecordBatchReader.from_batches(first.schema, all_batches()))
            with reading(self.name):
                found = connection.sql(self.query).to_arrow_reader(ROWS_AT_ONCE)
            while True:
                try:
                    with reading(self.name):
                        batch = found.read_next_batch()
                except StopIteration:
                    return
                except (pa.ArrowException, OSError) as error:
                    raise in_words(self.name, str(error)) from None
                if batch.column(0).null_count:
                    raise ColumnError(
                        f"The identifier '{self.id}' is missing in some rows.", "Give every record an identifier."
                    )
                yield batch


@dataclass(frozen=True)
class Rank:
    """What a worker does before codes are drawn by quota: it finds the cells and places of its records."""

    read: Read
    deal: Deal

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of cell and place, without the rows that are left out."""
        import pyarrow as pa

        for batch in self.read.batches(batches):
            ids, number = batch.columns
            kept = number.is_valid().to_numpy(zero_copy_only=False)
            cells = self.deal.cells(number.drop_null().to_numpy()).astype(np.int32)
            places = self.deal.places(identity.blocks(ids, self.read.id)[kept]).view(np.int64)
            columns = [cells, *(np.ascontiguousarray(places[:, i]) for i in (0, 1))]
            yield pa.record_batch([pa.array(column) for column in columns], names=["cell", HIGH, LOW])


@dataclass(frozen=True)
class Draw:
    """What a worker does with its batches of raw records: states by SQL, then codes and tags.

    `shown` is the Arrow type of identifiers in the output.
    """

    read: Read
    shown: pa.DataType
    drawing: AnyDrawing
    tagger: Tagger

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches of identifier, code, place and tags (all but the first missing where a row is left out)."""
        yield from map(self._coded, self.read.batches(batches))

    def _coded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        import pyarrow as pa

        ids, state = batch.columns
        blocks = identity.blocks(ids, self.read.id)
        normal = normal_blocks(ids, blocks)
        kept = state.is_valid().to_numpy(zero_copy_only=False)
        states, blocks, normal = self.drawing.states(state.drop_null().to_numpy()), blocks[kept], normal[kept]
        columns = [_spread(self.drawing.codes(states, blocks), kept)]
        words = [words[states] for words in self.drawing.words]
        for pair in (self.drawing.places(blocks), *self.tagger.tags(blocks, normal, *words)):
            columns += [_spread(np.ascontiguousarray(pair[:, i]).view(np.int64), kept) for i in (0, 1)]
        if self.tagger.spelt:
            twofold = np.zeros(len(kept), dtype=bool)
            again = self.tagger.twofold(blocks, normal)
            twofold[np.flatnonzero(kept)[again]] = True
            for tags in self.tagger.tags(blocks[again], blocks[again], *(mine[again] for mine in words)):
                columns += [_spread(tags[:, i].view(np.int64), twofold) for i in (0, 1)]
        shown = identity.as_text(ids) if pa.types.is_string(self.shown) else ids
        return pa.record_batch(
            [shown.cast(self.shown), *columns],
            names=[ID, CODE, HIGH, LOW, *_tag_names(self.drawing, self.tagger.spelt)],
        )


class _Run:
    """One disclosure on its way."""

    def __init__(
        self,
        session: Any,
        release: Release,
        table: SparkTable,
        id: str,
        arrange: Arrangement,
        chosen: Chosen,
        target: Path,
        force: bool,
        book: Path,
        progress: Progress | None,
    ) -> None:
        self.session, self.release, self.table, self.id, self.arrange = session, release, table, id, arrange
        self.chosen, self.target, self.force, self.book, self.progress = chosen, target, force, book, progress
        self.kind = kind_of_id(table.source, id)
        self.digest = table.digest()
        self.rows = table.rows()
        self.drawing: AnyDrawing = Drawing.of(release, None)
        self.quotas: Quotas | None = chosen.quotas(release, None)

    def run(self) -> Drawn:
        after = self.release.recipe.after
        earlier = None if after is None else after.digest
        use = Use(
            self.release.digest,
            self.digest,
            self.rows,
            earlier,
            self.id,
            self.kind,
            key_check=self.release.key_check,
            draw=self.chosen.written,
        )
        with open_ledger(self.book) as ledger, hidden_file(self.target) as (lock, _):
            hidden = lock.with_name(f"{lock.name}.parts")
            folder = hidden / secrets.token_hex(8)
            shutil.rmtree(hidden, ignore_errors=True)
            try:
                with full_disk_in_words(self.target):
                    hidden.mkdir(mode=0o700)
                    folder.mkdir()
                with ledger.disclosing(use) as entry:
                    drawn = self._written(folder, entry)
                with full_disk_in_words(self.target):
                    _put_in_place(folder / "given", self.target, self.force, hidden / "before")
            finally:
                shutil.rmtree(hidden, ignore_errors=True)
        return replace(drawn, new_ledger=ledger.new, remarks=ledger.remarks)

    def _written(self, folder: Path, entry: Entry) -> Drawn:
        """Draw, compare with the ledger, and write what is given out to the hidden folder."""
        drawn, given = folder / "drawn", folder / "given"
        self.table.check_json(self.release.recipe.looks_at)
        if self.quotas is not None:
            self.drawing = self._ranked(self.quotas, folder)
        with located([self.table], self.release.recipe.looks_at), in_plain_words(self.table.name):
            self._drawn(entry.tagger).write.parquet(f"file:{drawn.resolve()}")
        done, dropped, unseen = self._recorded(drawn, entry)
        self.table.check_read(done)
        if unseen and self.release.recipe.unseen != "code":
            [one, *_] = self._some(drawn, CODE, self.drawing.unseen)
            raise ColumnError(
                f"{unseen} of {done} rows of {self.table.name} have values that were not seen when the release was fitted; "
                f"one is that with {self.id} = {one}. Nothing was written.",
                "Leave these rows out, or fit with --unseen code, which gives them a code of their own.",
            )
        conflict = entry.settle()
        if conflict is not None:
            tag, spelt = int(np.uint64(conflict.tag).view(np.int64)), entry.tagger.spelt
            firsts = [name for name in _tag_names(self.drawing, spelt) if name in ("tag0a", "again0a")]
            found = [Place(str(one)) for name in firsts for one in self._some(drawn, name, tag)]
            raise refusal(conflict, self.id, self.table.name, self.book, found, entry.by_quota)
        with in_plain_words(str(self.target)):
            frame = self.session.read.parquet(f"file:{drawn.resolve()}")
            frame = self._arranged(frame.where(frame[CODE].isNotNull()), done - dropped)
            frame = frame.select(frame[ID].alias(self.id), CODE)
            if self.target.suffix.lower() == ".csv":
                plain = {"escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
                frame.write.options(header=True, **plain).csv(f"file:{given.resolve()}")
            else:
                frame.write.parquet(f"file:{given.resolve()}")
        with full_disk_in_words(self.target):
            _flushed(given)
        counts = done, done - dropped, dropped, unseen
        quota = None if self.quotas is None else told_of(self.quotas)
        done_with = Drawn(*counts, self.release.digest, self.id, self.arrange, False, self.target, self.book)
        return replace(done_with, draw=self.chosen.draw, quota=quota)

    def _ranked(self, quotas: Quotas, folder: Path) -> AnyDrawing:
        """What draws by quota, after a first reading of the table: workers find cells and places, the driver sorts them."""
        from pyarrow import dataset

        deal, found = Deal.of(self.release, quotas, None), folder / "ranked"
        read = Read(self._query(deal), self.id, self.table.name)
        with located([self.table], self.release.recipe.looks_at), in_plain_words(self.table.name):
            ranked = self.table.raw(self._names()).mapInArrow(
                Rank(read, deal), f"cell int, {HIGH} bigint, {LOW} bigint"
            )
            ranked.write.parquet(f"file:{found.resolve()}")
        with full_disk_in_words(self.target), Ranks(deal, folder / "ranking") as ranks:
            for batch in dataset.dataset(found, format="parquet").to_batches():
                cell, high, low = (column.to_numpy() for column in batch.columns)
                ranks.add(cell.astype(np.int64), np.column_stack([high, low]).view(np.uint64))
            ranks.check(self.table.name)
            return ranks.drawing(self.drawing.order)

    def _arranged(self, frame: Any, rows: int) -> Any:
        """What is given out, in parts and in an order that depend on places alone; or sorted by identifier."""
        if self.arrange == "id":
            return frame.orderBy(ID)
        return frame.repartition(-(-rows // ROWS_IN_A_PART) or 1, HIGH).sortWithinPartitions(HIGH, LOW)

    def _names(self) -> list[str]:
        """The columns that workers look at."""
        needed = [name for name in self.release.recipe.read if name in self.table.columns]
        return [self.id, *(name for name in needed if name != self.id)]

    def _query(self, drawing: AnyDrawing | Deal) -> str:
        """SQL for the workers: the identifier, and what the drawing knows a record by."""
        names = self._names()
        typed = self.table.typed_sql(names, RAW)
        columns = {name: self.table.columns[name] for name in names}
        return drawing.select(self.release.recipe, typed, columns, [self.id], STATE)

    def _drawn(self, tagger: Tagger) -> Any:
        names = self._names()
        spark_type, shown = _shown_type(self.table.columns[self.id])
        draw = Draw(Read(self._query(self.drawing), self.id, self.table.name), shown, self.drawing, tagger)
        words = ", ".join(f"{name} bigint" for name in (HIGH, LOW, *_tag_names(self.drawing, tagger.spelt)))
        return self.table.raw(names).mapInArrow(draw, f"{ID} {spark_type}, {CODE} int, {words}")

    def _recorded(self, drawn: Path, entry: Entry) -> tuple[int, int, int]:
        """Give the tags to the ledger; how many rows there are, were left out, and were not seen."""
        from pyarrow import dataset

        done = dropped = unseen = 0
        names = _tag_names(self.drawing, entry.tagger.spelt)
        each = 2 * len(self.drawing.words)
        for batch in dataset.dataset(drawn, format="parquet").to_batches(columns=[CODE, *names]):
            coded = batch.filter(batch.column(CODE).is_valid())
            done += batch.num_rows
            dropped += batch.num_rows - coded.num_rows
            unseen += int((coded.column(CODE).to_numpy() == self.drawing.unseen).sum())
            for some in (names[:each], names[each:]):
                words = [coded.column(name).drop_null().to_numpy().view(np.uint64) for name in some]
                if words and len(words[0]):
                    entry.add_tags([np.column_stack(words[i : i + 2]) for i in range(0, each, 2)])
            if self.progress is not None:
                self.progress(done, self.rows)
        return done, dropped, unseen

    @staticmethod
    def _some(drawn: Path, column: str, value: int) -> list[Any]:
        """The identifiers of two records at most with this value in a column."""
        from pyarrow import compute, dataset

        found = dataset.dataset(drawn, format="parquet").scanner(columns=[ID], filter=compute.field(column) == value)
        return list(found.head(2).column(0).to_pylist())


def _shown_type(type_: str) -> tuple[str, Any]:
    """How identifiers of a DuckDB type are written by Spark, which knows no unsigned or very wide integers, and no UUID."""
    import pyarrow as pa

    kind = kind_of_type(type_)
    if kind == "date":
        return "date", pa.date32()
    if kind == "text":
        return "string", pa.string()
    return ("bigint", pa.int64()) if type_ in EXACT_IN_64_BITS else ("decimal(38,0)", pa.decimal128(38, 0))


def _tag_names(drawing: AnyDrawing, spelt: bool) -> list[str]:
    """The columns of tags by normal forms and, where the ledger may know spellings, of those that differ from these."""
    kinds = ("tag", "again") if spelt else ("tag",)
    return [f"{kind}{i}{part}" for kind in kinds for i in range(len(drawing.words)) for part in "ab"]


def _spread(values: Any, kept: Any) -> Any:
    """Values in the places of the rows that are kept, and nothing in the others."""
    import pyarrow as pa

    if kept.all():
        return pa.array(values)
    whole = np.zeros(len(kept), dtype=values.dtype)
    whole[kept] = values
    return pa.array(whole, mask=~kept)


def _flushed(folder: Path) -> None:
    """Everything in a folder that Spark wrote is on the disk, without Spark's own checksums and marks."""
    for part in folder.iterdir():
        if part.name[0] in "._":
            part.unlink()
            continue
        with part.open("rb") as file:
            os.fsync(file.fileno())
    _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put_in_place(folder: Path, target: Path, force: bool, aside: Path) -> None:
    """Give the finished folder its name; what is there is moved aside first, if it may be replaced."""
    check_folder(target, force)
    if target.exists() or target.is_symlink():
        os.rename(target, aside)
    os.rename(folder, target)
    _flush_folder(target.parent)
