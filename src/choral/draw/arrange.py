"""The order in which codes are written, and what it tells.

The promise takes records for independent draws. A table is often sorted, and then neighbours are alike: whoever sees codes
in its order averages over a window of them and learns what no single code tells. So codes are arranged

    keyed  by AES-256 of the block that a record is drawn for (`identity`), under a key of the release for this purpose
           alone. AES is a permutation, so no two blocks share a place, and without the key the order is that of a random
           permutation, up to what it takes to break AES. It depends on the set of records and on nothing else.
    id     by the identifier: texts by their characters, numbers and dates by size. It tells nothing beyond the identifiers.
    table  as the records stand in the table.

Row numbers (`ROW`) tell what the order of the table tells: whoever has them can sort.

`Sorter` keeps what was drawn in a folder for the owner's eyes until all of it is there. Places are uniform, so equal shares
of them hold about equally many records: each share has a file, and one share is sorted at a time, in memory. Identifiers are
sorted by DuckDB, which goes to the folder where memory ends. What comes out has batches of one size, whatever went in.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from choral.errors import ColumnError, ProblemError, ReleaseFileError, did_you_mean
from choral.ledger import identity
from choral.tables.source import connect
from choral.tables.sql import text_literal

if TYPE_CHECKING:
    import pyarrow as pa

Arrangement: TypeAlias = Literal["keyed", "id", "table"]
ARRANGEMENTS: tuple[Arrangement, ...] = get_args(Arrangement)
Places: TypeAlias = npt.NDArray[np.uint64]
"""The place of each record among 2¹²⁸, as two words, the high one first."""

ROW = "row"
HIGH, LOW = "high", "low"
ROWS_AT_ONCE = 1 << 18
"""Records in a batch, and about as many in a share while there are few."""
MOST_BITS = 8
"""2⁸ shares at most, each an open file; with 10⁹ records, four million are in one."""
DRAWN = "choral_drawn"
TELLS = {
    "keyed": "by a keyed hash: the order tells nothing",
    "id": "by identifier: tells what identifiers tell; if they were given in the order of an attribute, that too",
    "table": "as in the table: neighbours are neighbours there, so if it is sorted, windows of codes TELL PROTECTED VALUES",
}
ROWS_TELL = "written: they tell the order of the table; if it is sorted, windows of codes TELL PROTECTED VALUES"


def check_arrangement(arrange: str, id: str | None) -> Arrangement:
    """The arrangement by this name; raises where there is none, or nothing to sort by."""
    for known in ARRANGEMENTS:
        if arrange == known:
            if known == "id" and id is None:
                raise ColumnError("There are no identifiers to arrange codes by.", "Give their column: --id.")
            return known
    raise ProblemError(f"There is no arrangement '{arrange}'.", did_you_mean(arrange, ARRANGEMENTS))


def places(key: bytes, blocks: identity.Blocks) -> Places:
    """Where the records with these blocks stand in the keyed arrangement: different blocks, different places."""
    return identity.encrypt(key, blocks).view(">u8").astype(np.uint64)


def keyed_order(key: bytes, blocks: identity.Blocks) -> npt.NDArray[np.intp]:
    """The positions of the records in the keyed arrangement, the first one first.

    >>> keyed_order(bytes(32), identity.positions(0, 5)).tolist()
    [4, 3, 1, 0, 2]
    """
    high, low = places(key, blocks).T
    return np.lexsort((low, high))


class Sorter:
    """Takes columns in the order of the table and gives them back arranged; within `with`, for `folder` is temporary.

    `rows` is about how many there will be: it says into how many shares of the places they are put.
    """

    def __init__(self, folder: Path, arrange: Arrangement, names: Sequence[str], rows: int) -> None:
        self.folder, self.arrange, self.names = folder, arrange, list(names)
        self.bits = min(MOST_BITS, (rows // ROWS_AT_ONCE).bit_length()) if arrange == "keyed" else 0
        self.writers: dict[int, Any] = {}
        self.schema: pa.Schema | None = None

    def __enter__(self) -> Sorter:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, columns: Sequence[pa.Array], where: Places) -> None:
        """Records with their places; the first column is the identifier where codes are arranged by it."""
        import pyarrow as pa

        named = [f"c{i}" for i in range(len(columns))]
        table = pa.table([*columns, *map(pa.array, where.T)], names=[*named, HIGH, LOW])
        self.schema = pa.schema([pa.field(n, c.type) for n, c in zip(self.names, columns, strict=True)])
        share = (where[:, 0] >> np.uint64(1) >> np.uint64(63 - self.bits)).astype(np.uint8)
        ends = np.cumsum(np.bincount(share, minlength=1 << self.bits)).tolist()
        table = table.take(pa.array(np.argsort(share, kind="stable"))) if self.bits else table
        for i, (start, end) in enumerate(pairwise([0, *ends])):
            if i not in self.writers:
                self.writers[i] = pa.ipc.new_stream(str(self._share(i)), table.schema)
            self.writers[i].write_table(table.slice(start, end - start))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All records, arranged, in batches of one size."""
        self._close()
        found = {"keyed": self._by_place, "id": self._by_id, "table": self._as_they_came}[self.arrange]()
        shown = range(len(self.names))
        yield from _even(table.select(shown).rename_columns(self.names).cast(self.schema) for table in found)

    def _by_place(self) -> Iterator[pa.Table]:
        for share in sorted(self.writers):
            with self._read(share) as stream:
                table = stream.read_all()
            yield table.take(np.lexsort((table[LOW].to_numpy(), table[HIGH].to_numpy())))

    def _by_id(self) -> Iterator[pa.Table]:
        import pyarrow as pa

        with closing(connect()) as connection, _sorting(), self._read(0) as stream:
            connection.execute(f"SET temp_directory = {text_literal(str(self.folder))}")
            connection.register(DRAWN, stream)
            for batch in connection.sql(f"SELECT * FROM {DRAWN} ORDER BY c0").to_arrow_reader(ROWS_AT_ONCE):
                yield pa.Table.from_batches([batch])

    def _as_they_came(self) -> Iterator[pa.Table]:
        import pyarrow as pa

        with self._read(0) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])

    @contextmanager
    def _read(self, share: int) -> Iterator[pa.RecordBatchReader]:
        import pyarrow as pa

        with pa.OSFile(str(self._share(share))) as file, pa.ipc.open_stream(file) as stream:
            yield stream

    def _share(self, number: int) -> Path:
        return self.folder / f"share-{number}.arrow"

    def _close(self) -> None:
        for writer in self.writers.values():
            writer.close()


def _even(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The rows of tables in batches of one size, but for the last one: how they came tells how DuckDB worked."""
    import pyarrow as pa

    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        while sum(part.num_rows for part in waiting) >= ROWS_AT_ONCE:
            whole = pa.concat_tables(waiting)
            yield from whole.slice(0, ROWS_AT_ONCE).combine_chunks().to_batches()
            waiting = [whole.slice(ROWS_AT_ONCE)]
    if waiting:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches()


@contextmanager
def _sorting() -> Iterator[None]:
    """What DuckDB says when it cannot sort, which is about memory or the disk."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        what = str(error).strip().splitlines()[0].rstrip(".")
        raise ReleaseFileError(f"The codes cannot be sorted: {what}.", "Free space beside the output.") from None
