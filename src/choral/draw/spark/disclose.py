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
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from choral.describe.display import counted
from choral.draw.arrange import HIGH, LOW
from choral.draw.asked import CODE, STATE, Asked, Drawn, Progress, kind_of_id
from choral.draw.drawing import AnyDrawing, Drawing
from choral.draw.hidden import check_folder, flush_parts, full_disk_in_words, hidden_file, put_folder_in_place
from choral.draw.quota import Quotas
from choral.draw.ranks import Deal, Ranks
from choral.draw.spark.frames import SparkTable, located, spark_table
from choral.draw.spark.session import in_plain_words, started
from choral.draw.spark.worker import ID, RAW, Draw, Rank, Read, tag_names
from choral.errors import ColumnError, ProblemError
from choral.ledger.book import open_ledger
from choral.ledger.entry import Entry, Tagger
from choral.ledger.refusal import Place, refusal
from choral.release.file import Release
from choral.tables.kinds import kind_of_type

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
    asked = Asked.of(
        release,
        table,
        output,
        ledger,
        id,
        arrange=arrange,
        with_rows=with_rows,
        draw=draw,
        quota_noise=quota_noise,
        force=force,
        progress=progress,
    )
    check_folder(asked.target, force)
    with started(master) as session:
        found = spark_table(session, table, release.recipe.as_read, lambda name: name == id)
        with closing(found.source.connection):
            release.recipe.check(found.source, where=lambda _, column, type_: found.misfit(column, type_, id))
            return _Run(session, asked, id, found).run()


class _Run:
    """One disclosure on its way."""

    def __init__(self, session: Any, asked: Asked, id: str, table: SparkTable) -> None:
        self.session, self.asked, self.id, self.table = session, asked, id, table
        self.release, self.target = asked.release, asked.target
        self.kind = kind_of_id(table.source, id)
        self.digest = table.digest()
        self.rows = table.rows()
        self.drawing: AnyDrawing = Drawing.of(self.release, None)
        self.quotas: Quotas | None = asked.chosen.quotas(self.release, None)

    def run(self) -> Drawn:
        use = self.asked.use(self.digest, self.rows, self.kind)
        with open_ledger(self.asked.book) as ledger, hidden_file(self.target) as (lock, _):
            hidden = lock.with_name(f"{lock.name}.parts")
            folder = hidden / secrets.token_hex(8)
            shutil.rmtree(hidden, ignore_errors=True)
            try:
                with full_disk_in_words(self.target):
                    hidden.mkdir(mode=0o700)
                    folder.mkdir()
                with ledger.disclosing(use) as entry:
                    counts = self._written(folder, entry)
                with full_disk_in_words(self.target):
                    put_folder_in_place(folder / "given", self.target, self.asked.force, hidden / "before")
            finally:
                shutil.rmtree(hidden, ignore_errors=True)
        return self.asked.done(ledger, self.quotas, *counts)

    def _written(self, folder: Path, entry: Entry) -> tuple[int, int, int]:
        """Draw, compare with the ledger, and write what is given out to the hidden folder; what `_recorded` counted."""
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
                f"{unseen} of {counted(done, 'row')} of {self.table.name} {'has' if unseen == 1 else 'have'} values that "
                f"were not seen when the release was fitted; one is that with {self.id} = {one}. Nothing was written.",
                "Leave these rows out, or fit with --unseen code, which gives them a code of their own.",
            )
        conflict = entry.settle()
        if conflict is not None:
            tag, spelt = int(np.uint64(conflict.tag).view(np.int64)), entry.tagger.spelt
            firsts = [name for name in tag_names(self.drawing, spelt) if name in ("tag0a", "again0a")]
            found = [Place(str(one)) for name in firsts for one in self._some(drawn, name, tag)]
            raise refusal(conflict, self.id, self.table.name, self.asked.book, found, entry.by_quota)
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
            flush_parts(given)
        return done, dropped, unseen

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
        if self.asked.arrange == "id":
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
        words = ", ".join(f"{name} bigint" for name in (HIGH, LOW, *tag_names(self.drawing, tagger.spelt)))
        return self.table.raw(names).mapInArrow(draw, f"{ID} {spark_type}, {CODE} int, {words}")

    def _recorded(self, drawn: Path, entry: Entry) -> tuple[int, int, int]:
        """Give the tags to the ledger; how many rows there are, were left out, and were not seen."""
        from pyarrow import dataset

        done = dropped = unseen = 0
        names = tag_names(self.drawing, entry.tagger.spelt)
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
            if self.asked.progress is not None:
                self.asked.progress(done, self.rows)
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
