"""Which records get which code by quota: the first n(c,y) of a cell in a keyed order get its first code, and so on.

The order is that of AES-256 of the records' blocks under a key for this purpose alone: to whoever does not have it, any order
is as likely as any other. It takes two readings of a table. The first finds the cell and the place of every record; they are
sorted (by DuckDB, which goes to a folder where memory ends), and the place of the last record of each code in each cell is
kept, a *cut*. In the second a record's code is found from its cell, its place and the cuts: so batches can be drawn in any
order, on any machine, with the same codes.

What the ledger keeps of a record drawn by quota belongs to the whole set of records: a keyed sum over all of (place, cell),
in whatever order they come. A changed set is missed with probability 2⁻¹²⁸ by chance, and by 2⁻³² in the ledger's tags.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from choral.draw.arrange import ROWS_AT_ONCE, Places, places
from choral.draw.quota import Quotas
from choral.draw.sampler import UNSEEN, Codes, States
from choral.errors import LawError
from choral.ledger import identity
from choral.release.file import Release
from choral.tables.recipe import Recipe
from choral.tables.source import connect
from choral.tables.sql import identifier, text_literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Cells = npt.NDArray[np.int64]
KEY_OF_CUT = "S20"
"""A cell in four bytes and a place in sixteen, in the order of bytes, which is that of numbers."""
RANKED = "choral_ranked"


@dataclass(frozen=True)
class Deal:
    """What every engine needs to find the cells and the order of records: how they are read, and under which keys."""

    quotas: Quotas
    rank: bytes
    whole: bytes

    @classmethod
    def of(cls, release: Release, quotas: Quotas, table: str | None) -> Deal:
        """For a release; `table` is the digest of a table without identifiers."""
        context = bytes.fromhex(release.digest) + (b"" if table is None else bytes.fromhex(table))
        secret = release.needed_key()
        return cls(quotas, identity.subkey(secret, "quota", context), identity.subkey(secret, "quota set", context))

    def select(self, recipe: Recipe, sql: str, columns: Mapping[str, str], carried: Sequence[str], name: str) -> str:
        """SQL that gives, row by row in order, the carried columns and the number of the cell; as `Recipe.select`."""
        beside = self.quotas.beside
        inner = recipe.select(sql, columns, list(dict.fromkeys([*carried, *beside])), name)
        types = recipe.types(columns)
        codes = {column: recipe.column(column).code_sql(types[column]) for column in beside}
        items = [*map(identifier, carried), f"{self.quotas.number_sql(identifier(name), codes)} AS {identifier(name)}"]
        return f"SELECT {', '.join(items)} FROM ({inner})"

    def cells(self, numbers: States) -> Cells:
        """The positions of cells with these numbers; UNSEEN where there is none."""
        known = np.array(self.quotas.numbers, dtype=np.int64)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return np.where(known[at] == numbers, at, UNSEEN)

    def places(self, blocks: identity.Blocks) -> Places:
        """Where records stand in the keyed order in which codes are dealt."""
        return places(self.rank, blocks)


class Ranks:
    """The cells and places of all records of a table, in a folder that is removed at the end of `with`."""

    def __init__(self, deal: Deal, folder: Path) -> None:
        self.deal, self.folder = deal, folder
        self.counts = np.zeros(len(deal.quotas.numbers), dtype=np.int64)
        self.strange = 0
        self._sums = [0, 0, 0, 0]
        self._writer: Any = None

    def __enter__(self) -> Ranks:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(mode=0o700)
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, cells: Cells, where: Places) -> None:
        """Records in these cells, at these places."""
        import pyarrow as pa

        seen = cells != UNSEEN
        if not seen.all():
            self.strange += int((~seen).sum())
            cells, where = cells[seen], where[seen]
        self.counts += np.bincount(cells, minlength=len(self.counts))
        mixed = np.array(where)
        mixed[:, 0] ^= cells.astype(np.uint64)
        hashed = identity.encrypt(self.deal.whole, mixed.astype("<u8").view(np.uint8)).view("<u4")
        self._sums = [a + int(b) for a, b in zip(self._sums, hashed.astype(np.uint64).sum(axis=0), strict=True)]
        table = pa.table({"cell": cells, "high": where[:, 0], "low": where[:, 1]})
        if self._writer is None:
            self._writer = pa.ipc.new_stream(str(self._file), table.schema)
        self._writer.write_table(table)

    def check(self, name: str) -> None:
        """Raise unless the table has the frequencies that the release was fitted on, exactly."""
        quotas = self.deal.quotas
        expected = np.array(quotas.sizes, dtype=np.int64)
        if not self.strange and (self.counts == expected).all():
            return
        drawn = int(self.counts.sum()) + self.strange
        where = int(np.argmax(self.counts != expected))
        example = (
            f"{self.strange} of its rows have values that it did not have"
            if self.strange
            else f"of one kind it has {int(self.counts[where])} rows, and had {quotas.sizes[where]}"
        )
        raise LawError(
            f"{name} is not the table whose frequencies are the law of the release ({drawn} rows with a code, and "
            f"{quotas.records} were counted): {example}. Quotas are for the very records that were fitted, and every record "
            "more, fewer or changed is a second draw for others. Nothing was written.",
            "Give the table that was fitted, or draw by lots, which is the default. If rows without a target were left out "
            "when it was fitted, leave them out here too.",
        )

    def drawing(self, order: bytes) -> QuotaDrawing:
        """What draws for these records; `order` is the key of the arrangement."""
        quotas = self.deal.quotas
        runs = [(c, y, n) for c, row in enumerate(quotas.counts) for y, n in sorted(row.items()) if n]
        ends = np.cumsum([n for *_, n in runs]) - 1
        cuts = np.concatenate([np.empty(0, KEY_OF_CUT), *self._sorted_at(ends)])
        total = sum(part << (32 * i) for i, part in enumerate(self._sums)) % (1 << 128)
        whole = hashlib.blake2b(total.to_bytes(16, "big") + quotas.digest, digest_size=32, key=self.deal.whole).digest()
        words = [
            int.from_bytes(hashlib.blake2b(b"quota %d" % c, digest_size=8, key=whole).digest(), "big")
            for c in (*range(len(quotas.numbers)), UNSEEN)
        ]
        names = np.array([y for _, y, _ in runs], dtype=np.int32)
        return QuotaDrawing(self.deal, cuts, names, (np.array(words, dtype=np.uint64),), order)

    def _sorted_at(self, wanted: npt.NDArray[np.int64]) -> Iterable[npt.NDArray[np.bytes_]]:
        """The keys of the records with these ranks among all, by cell and place."""
        import pyarrow as pa

        if self._writer is None:
            return
        self._writer.close()
        start = 0
        with closing(connect()) as connection, pa.OSFile(str(self._file)) as file, pa.ipc.open_stream(file) as stream:
            connection.execute(f"SET temp_directory = {text_literal(str(self.folder))}")
            connection.register(RANKED, stream)
            ordered = connection.sql(f"SELECT cell, high, low FROM {RANKED} ORDER BY cell, high, low")
            for batch in ordered.to_arrow_reader(ROWS_AT_ONCE):
                here = wanted[(wanted >= start) & (wanted < start + batch.num_rows)] - start
                cell, high, low = (column.to_numpy()[here] for column in batch.columns)
                yield keys_of(cell, np.column_stack([high, low]))
                start += batch.num_rows

    @property
    def _file(self) -> Path:
        return self.folder / "ranks.arrow"


@dataclass(frozen=True)
class QuotaDrawing:
    """Draws by quota, batch by batch, like `choral.draw.drawing.Drawing` by lots."""

    deal: Deal
    cuts: npt.NDArray[np.bytes_]
    names: Codes
    words: tuple[identity.Words, ...]
    order: bytes

    @property
    def unseen(self) -> int:
        """The code of records that were not seen; by quota there are none."""
        return self.deal.quotas.codes

    def select(self, recipe: Recipe, sql: str, columns: Mapping[str, str], carried: Sequence[str], name: str) -> str:
        """SQL that gives the carried columns and the number of the cell."""
        return self.deal.select(recipe, sql, columns, carried, name)

    def states(self, numbers: States) -> States:
        """What `select` found, as what `codes` and `words` take."""
        return self.deal.cells(numbers)

    def codes(self, states: States, blocks: identity.Blocks) -> Codes:
        """The codes of a batch: that of the first cut which is not before a record."""
        found = np.searchsorted(self.cuts, keys_of(states, self.deal.places(blocks)))
        if len(found) and int(found.max()) >= len(self.names):
            raise LawError("A record is not one of those that quotas were made for.", "Run again when nobody writes.")
        return self.names[found]

    def places(self, blocks: identity.Blocks) -> Places:
        """Where the records of a batch stand in the keyed arrangement."""
        return places(self.order, blocks)


def keys_of(cells: npt.NDArray[np.integer[Any]], where: Places) -> npt.NDArray[np.bytes_]:
    """Cells and places as bytes whose order is theirs."""
    out = np.empty((len(cells), 20), dtype=np.uint8)
    out[:, :4] = np.ascontiguousarray(cells.astype(">u4")).view(np.uint8).reshape(-1, 4)
    out[:, 4:] = np.ascontiguousarray(where.astype(">u8")).view(np.uint8).reshape(-1, 16)
    return out.reshape(-1).view(KEY_OF_CUT)
