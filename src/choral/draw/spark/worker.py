"""What a worker of Spark does: it reads its batches with the recipe's own SQL, in a DuckDB of its own, and draws.

Whatever is here travels with the job: the release's key too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from choral.draw.arrange import HIGH, LOW
from choral.draw.asked import CODE
from choral.draw.drawing import AnyDrawing
from choral.draw.ranks import Deal
from choral.draw.spark.session import heard_by_driver
from choral.errors import ColumnError
from choral.ledger import identity
from choral.ledger.entry import Tagger
from choral.ledger.spelling import normal_blocks
from choral.tables.source import batches_of, connect, reading

if TYPE_CHECKING:
    import pyarrow as pa

RAW = "choral_raw"
ID = "id"
ROWS_AT_ONCE = 1 << 16
"""Records that a worker takes from its DuckDB at once."""


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
            for batch in batches_of(found, self.name):
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
            names=[ID, CODE, HIGH, LOW, *tag_names(self.drawing, self.tagger.spelt)],
        )


def tag_names(drawing: AnyDrawing, spelt: bool) -> list[str]:
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
