"""Disclose a table: DuckDB reads it in batches, numpy draws, DuckDB sorts, pyarrow writes; memory does not grow with it.

**Order of events.** Codes go to a hidden folder beside the output while the ledger's transaction is open. At the end the
ledger compares all records; if it refuses, both are undone. Otherwise the codes are arranged (`arrange`) into a hidden
file, which is flushed to the disk; then the ledger commits, then the file gets its name. Killed before the commit,
nothing was told and nothing is recorded; killed after it, the same command gives the same codes, which the ledger admits.
The hidden file has a fixed name and is locked, and the folder is named after it, so a later run replaces what a killed
one left behind.

**What is written** depends on identifiers, codes and arrangement alone: row groups have one size, whatever rows were left
out, and an identifier that the table keeps as a number in a list of texts is written as text, without the list.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from choral.describe.display import counted
from choral.draw.arrange import ROW, Places, Sorter
from choral.draw.asked import CODE, STATE, Asked, Drawn, Progress, kind_of_id
from choral.draw.drawing import AnyDrawing, Drawing
from choral.draw.hidden import full_disk_in_words, hidden_file, put_file_in_place
from choral.draw.quota import Quotas
from choral.draw.ranks import Deal, Ranks
from choral.draw.sampler import UNSEEN, States
from choral.errors import ColumnError, LawError, LedgerError
from choral.files import check_output
from choral.ledger import identity
from choral.ledger.book import open_ledger
from choral.ledger.entry import Conflict, Entry
from choral.ledger.refusal import Place, refusal
from choral.ledger.spelling import normal_blocks
from choral.phases import phase, to_the_end
from choral.release.file import Release
from choral.tables.opening import open_table
from choral.tables.recipe import Recipe
from choral.tables.source import Source, batches_of, reading
from choral.tables.sql import identifier

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_AT_ONCE = 1 << 18
"""Records between two looks at the progress: a fraction of a second, some megabytes."""


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
) -> Drawn:
    """Write one code per row of a table, with its identifier if there is one, in an order that tells nothing.

    `arrange` is "keyed", or "id", or "table" for the order of the table; `with_rows` writes row numbers too (from 1). What
    the last two tell is in `choral.draw.arrange`; codes and ledger are the same whatever is chosen. `draw` is "lots", or
    "quota" for shares that can be counted, with `quota_noise` on them if that is a number: what it costs is in
    `choral.draw.quota`.
    `ledger` is the path of the ledger; `ledger.beside` gives the usual one.
    """
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
    check_output(asked.target, force)
    source = open_table(table, release.recipe.as_read, lambda name: name == id)
    with closing(source.connection):
        with phase("reading the table"):
            release.recipe.check(source)
            run = _Run(asked, source)
        return run.run()


class _Run:
    """One disclosure on its way."""

    def __init__(self, asked: Asked, source: Source) -> None:
        self.asked, self.release, self.id, self.source = asked, asked.release, asked.id, source
        self.kind = None if self.id is None else kind_of_id(source, self.id)
        self.before = source.fingerprint()
        self.rows = source.rows()
        self.digest = source.digest()
        self.context = self.digest if self.id is None else None
        self.drawing: AnyDrawing = Drawing.of(self.release, self.context)
        self.quotas: Quotas | None = asked.chosen.quotas(self.release, self.context)
        self.done = self.dropped = self.unseen = 0
        self.drawn_from = [hashlib.sha256() for _ in self.drawing.words]
        self.first_unseen: int | None = None

    def run(self) -> Drawn:
        asked, target = self.asked, self.asked.target
        names = [*([] if self.id is None else [self.id]), *([ROW] if asked.with_rows else []), CODE]
        with open_ledger(asked.book) as ledger, hidden_file(target) as (hidden, handle), ExitStack() as last:
            folder = hidden.with_name(f"{hidden.name}.sorting")
            sorter = Sorter(folder, asked.arrange, names, self.rows)
            use = asked.use(self.digest, self.rows, self.kind)
            with ledger.disclosing(use) as entry, full_disk_in_words(target), sorter as drawn:
                if self.quotas is not None:
                    with phase("ranking records for quotas"):
                        self.drawing = self._ranked(self.quotas, folder.with_name(f"{hidden.name}.ranking"))
                with phase("drawing"):
                    self._stream(drawn, entry)
                self._check_unseen()
                if self.done != self.rows or self.source.fingerprint() != self.before:
                    raise LawError(f"{self.source.name} changed while it was read.", "Run again when it is at rest.")
                if self.id is None:
                    entry.settle_rows(*(rows.digest() for rows in self.drawn_from))
                with phase("comparing with the ledger"):
                    conflict = entry.settle()
                if conflict is not None:
                    raise self._refusal(conflict, entry)
                with phase("sorting and writing"):
                    self._write(hidden, drawn)
                os.fsync(handle)
                last.enter_context(to_the_end())  # what is recorded and what is written belong together
            put_file_in_place(hidden, target, asked.force)
        return asked.done(ledger, self.quotas, self.done, self.dropped, self.unseen)

    def _stream(self, drawn: Sorter, entry: Entry) -> None:
        for batch in self._read(self.drawing):
            ready = self._ready(batch, entry)
            if self.first_unseen is None or self.release.recipe.unseen == "code":
                drawn.add(*ready)
            if self.asked.progress is not None:
                self.asked.progress(self.done, self.rows)

    def _read(self, drawing: AnyDrawing | Deal) -> Iterator[pa.RecordBatch]:
        """The identifiers of all rows, if they have any, and what the drawing knows them by."""
        carried = [] if self.id is None else [self.id]
        query = drawing.select(self.release.recipe, self.source.sql, self.source.columns, carried, STATE)
        with reading(self.source):
            batches = self.source.connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
        yield from batches_of(batches, self.source)

    def _ranked(self, quotas: Quotas, folder: Path) -> AnyDrawing:
        """What draws by quota, after a first reading of the table that ranks its records."""
        deal, done = Deal.of(self.release, quotas, self.context), 0
        with Ranks(deal, folder) as ranks:
            for batch in self._read(deal):
                number = batch.column(batch.num_columns - 1)
                blocks = self._blocks(batch, done)
                done += batch.num_rows
                kept = number.is_valid().to_numpy(zero_copy_only=False)
                ranks.add(deal.cells(number.drop_null().to_numpy()), deal.places(blocks[kept]))
            ranks.check(self.source.name)
            return ranks.drawing(self.drawing.order)

    def _blocks(self, batch: pa.RecordBatch, start: int) -> identity.Blocks:
        """The blocks of the rows of a batch with so many rows before it."""
        if self.id is None:
            return identity.positions(start, batch.num_rows)
        return identity.blocks(batch.column(0), self.id, start)

    def _write(self, hidden: Path, drawn: Sorter) -> None:
        """The hidden file, from what was drawn."""
        with closing(_writer(hidden, self.asked.target.suffix.lower(), drawn.schema)) as writer:
            for batch in drawn.batches():
                writer.write_batch(batch)

    def _ready(self, batch: pa.RecordBatch, entry: Entry) -> tuple[list[pa.Array], Places]:
        """What is written for one batch, and the places of its records in the keyed arrangement."""
        import pyarrow as pa

        state = batch.column(batch.num_columns - 1)
        kept = np.flatnonzero(state.is_valid().to_numpy(zero_copy_only=False)) if state.null_count else None
        start, self.done = self.done, self.done + len(state)
        if kept is not None:
            self.dropped += len(state) - len(kept)
            state = state.drop_null()
        states = self.drawing.states(state.to_numpy())
        self._note_unseen(states, kept, start)
        shown = [] if self.id is None else [_plain(batch.column(0))]
        if self.asked.with_rows:
            shown.append(pa.array(np.arange(start + 1, self.done + 1, dtype=np.int64)))
        blocks = self._blocks(batch, start)
        normal = blocks if self.id is None else normal_blocks(batch.column(0), blocks)
        if kept is not None:
            blocks, normal, shown = blocks[kept], normal[kept], [column.take(pa.array(kept)) for column in shown]
        words = [words[states] for words in self.drawing.words]
        if self.id is None:
            for rows, mine in zip(self.drawn_from, words, strict=True):
                rows.update(blocks.tobytes())
                rows.update(mine.tobytes())
        entry.add(blocks, *words, normal=normal)
        return [*shown, pa.array(self.drawing.codes(states, blocks))], self.drawing.places(blocks)

    def _note_unseen(self, states: States, kept: npt.NDArray[np.intp] | None, start: int) -> None:
        unseen = np.flatnonzero(states == UNSEEN)
        self.unseen += len(unseen)
        if len(unseen) and self.first_unseen is None:
            self.first_unseen = start + int(unseen[0] if kept is None else kept[unseen[0]])

    def _check_unseen(self) -> None:
        if self.first_unseen is not None and self.release.recipe.unseen != "code":
            what = _what_is_unseen(self.release.recipe, self.source, self.first_unseen)
            raise ColumnError(
                f"{self.unseen} of {counted(self.rows, 'row')} of {self.source.name} {'has' if self.unseen == 1 else 'have'} "
                f"values that were not seen when the release was fitted; the first is row {self.first_unseen + 1}, {what}. "
                "Nothing was written.",
                "Leave these rows out, or fit with --unseen code, which gives them a code of their own.",
            )

    def _refusal(self, conflict: Conflict, entry: Entry) -> LedgerError:
        """Why identifiers are refused, with the rows of one of them."""
        return refusal(
            conflict, str(self.id), self.source.name, self.asked.book, self._places(conflict.tag, entry), entry.by_quota
        )

    def _places(self, tag: int, entry: Entry) -> list[Place]:
        """The rows whose identifier has this tag, and how they spell it."""
        found: list[Place] = []
        start = 0
        query = f"SELECT {identifier(str(self.id))} FROM {self.source.sql}"
        for batch in batches_of(self.source.connection.sql(query).to_arrow_reader(ROWS_AT_ONCE), self.source):
            blocks = identity.blocks(batch.column(0), str(self.id), start)
            spelt = (blocks, normal_blocks(batch.column(0), blocks))
            here = np.flatnonzero(np.any([entry.tags_of(some) == np.uint64(tag) for some in spelt], axis=0))
            found += [Place(str(batch.column(0)[i].as_py()), int(start + i + 1)) for i in here]
            start += batch.num_rows
        return found


def _plain(values: pa.Array) -> pa.Array:
    """Values that stand in a list, as themselves: the list has values of other rows, in an order of its own."""
    import pyarrow as pa

    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _what_is_unseen(recipe: Recipe, source: Source, row: int) -> str:
    """The column, or that it is the combination, that was not seen in a row."""
    query = f"{recipe.values_select(source.sql, source.columns, recipe.use)} LIMIT 1 OFFSET {row}"
    with reading(source):
        [codes] = source.connection.execute(query).fetchall()
    columns = [f"'{name}'" for name, code in zip(recipe.use, codes, strict=True) if code is None]
    return (
        f"column {' and '.join(columns)}"
        if columns
        else f"where only the combination of {', '.join(recipe.use)} is new"
    )


def _writer(path: Path, ending: str, schema: pa.Schema) -> Any:
    if ending == ".csv":
        from pyarrow import csv

        return csv.CSVWriter(str(path), schema)
    from pyarrow import parquet

    return parquet.ParquetWriter(str(path), schema, use_dictionary=[CODE], compression="snappy")
