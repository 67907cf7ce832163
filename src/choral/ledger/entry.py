"""One disclosure being recorded: tags of its records, compared with each other and with those that a ledger holds.

An identifier is compared by its normal form (`choral.ledger.spelling`), a record by its code's row of the channel and by the
spelling that it is drawn for by: so twins, which have one normal form, are a repeated identifier or a changed record.

Records are kept in 256 parts by their first byte, each of which is checked on its own: memory grows with 1/256 of them.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from choral.errors import LedgerError
from choral.ledger.identity import Blocks, Words, encrypt, subkey

PARTS = 256
"""Pieces of an entry, by the first byte of a tag, which are compared one by one."""
AT_ONCE = 1 << 20
"""Records that are gathered before they are written."""

Tags = npt.NDArray[np.uint64]
"""One record per row: 64 bits of its identifier; 32 more of them above 32 bits of its record."""


@dataclass(frozen=True)
class Conflict:
    """Why identifiers are refused: how many, the tag of one of them, and the release under which they are known."""

    reason: Literal["twice", "changed", "elsewhere"]
    count: int
    tag: int
    release: str = ""


@dataclass(frozen=True)
class Tagger:
    """What turns records into what the ledger keeps of them; it can work anywhere, apart from the ledger's file."""

    id_key: bytes
    record_keys: tuple[bytes, ...]
    spelt: bool = False
    """Whether the ledger may know records by their spellings, as it did before there were normal forms."""

    @classmethod
    def of(cls, key: bytes, releases: Iterable[str], spelt: bool = False) -> Tagger:
        """The tagger of a ledger with this key, for the releases with these digests."""
        keys = tuple(subkey(key, "ledger record", digest.encode()) for digest in releases)
        return cls(subkey(key, "ledger id"), keys, spelt)

    def twofold(self, blocks: Blocks, normal: Blocks) -> npt.NDArray[np.intp]:
        """The positions of records that are to be looked for by their spelling too."""
        if not self.spelt or normal is blocks:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero((blocks != normal).any(axis=1))

    def tags(self, blocks: Blocks, normal: Blocks, *words: Words) -> list[Tags]:
        """The tags, under each of the releases, of records with these blocks and these words for what they are.

        `normal` are the blocks of the normal forms, by which identifiers are compared.
        """
        name = encrypt(self.id_key, normal).view("<u4")
        found = []
        for key, mine in zip(self.record_keys, words, strict=True):
            mixed = np.array(blocks)
            mixed.view("<u8")[:, 0] ^= mine
            tags = np.empty((len(blocks), 2), dtype="<u8")
            parts = tags.view("<u4")
            parts[:, 0:2] = name[:, 0:2]
            parts[:, 2] = encrypt(key, mixed).view("<u4")[:, 0]
            parts[:, 3] = name[:, 2]
            found.append(tags)
        return found


class Entry:
    """One disclosure being recorded: `add` all records, then `settle`, then leave the block of `disclosing`.

    Where there are no identifiers, `settle_rows` too.
    """

    def __init__(
        self,
        sql: sqlite3.Connection,
        releases: dict[str, int],
        kin: frozenset[int],
        key: bytes,
        skip: bool,
        table: str,
        spelt: bool = False,
    ) -> None:
        """`releases` are those whose codes are told; `skip` says that there is nothing to compare.

        (There are no identifiers, or this very table was compared before.)
        """
        self._sql = sql
        self._releases = list(releases.values())
        self._kin = kin
        self._skip = skip
        self._table = table
        self._rows_key = subkey(key, "ledger rows")
        self.tagger = Tagger.of(key, releases, spelt)
        self._waiting: list[list[Tags]] = [[] for _ in releases]
        self._count = 0
        (self._first,) = sql.execute("SELECT coalesce(max(number), 0) + 1 FROM record").fetchone()
        self.settled = self.rows_settled = False
        self.by_quota = False
        """Whether codes are, or were under one of these releases, drawn by quota."""

    def add(self, blocks: Blocks, *words: Words, normal: Blocks | None = None) -> None:
        """Records that are going to be disclosed: their blocks, and what they are under each of the releases.

        `normal` are the blocks of the normal forms; if they are left out, all identifiers are in normal form.
        """
        if self._skip:
            return
        normal = blocks if normal is None else normal
        self.add_tags(self.tagger.tags(blocks, normal, *words))
        twofold = self.tagger.twofold(blocks, normal)
        if len(twofold):
            spelt = blocks[twofold]
            self.add_tags(self.tagger.tags(spelt, spelt, *(mine[twofold] for mine in words)))

    def add_tags(self, tags: Sequence[Tags]) -> None:
        """The same for records that were tagged elsewhere: their tags under each of the releases."""
        if self._skip:
            return
        for mine, waiting in zip(tags, self._waiting, strict=True):
            waiting.append(mine)
        self._count += len(tags[0])
        if self._count >= AT_ONCE:
            self._write()

    def tags_of(self, blocks: Blocks) -> Words:
        """The tags by which conflicts name identifiers."""
        return np.array(encrypt(self.tagger.id_key, blocks).view("<u8")[:, 0])

    def settle_rows(self, *rows: bytes) -> None:
        """For a table without identifiers: compare what its rows are under each of the releases with what they were.

        `rows` are digests of the words of all rows. They differ where a release says that it comes after another and
        is not drawn from that one's channel: then its first code is not the code that was told.
        """
        self.rows_settled = True
        for release, plain in zip(self._releases, rows, strict=True):
            mine = hashlib.blake2b(plain, key=self._rows_key).digest()
            self._sql.execute("INSERT OR IGNORE INTO told VALUES (?, ?, ?)", (release, self._table, mine))
            where = (release, self._table)
            [known] = self._sql.execute("SELECT rows FROM told WHERE release = ? AND digest = ?", where).fetchone()
            if known != mine:
                raise LedgerError(
                    "This release gives rows of the table another first code than the release that it says it comes after: "
                    "they would be drawn for a second time, which can reveal them.",
                    "Fit it with --after that very release, and on the same columns.",
                )

    def settle(self) -> Conflict | None:
        """Compare all that was added with itself and with what is known; the reason to refuse it, if there is one."""
        self.settled = True
        if self._skip:
            return None
        self._write()
        for part in range(PARTS):
            conflict = self._settle_part(part)
            if conflict:
                return self._counted(conflict, part)
        return None

    def _write(self) -> None:
        for release, waiting in zip(self._releases, self._waiting, strict=True):
            if not waiting:
                continue
            tags = np.concatenate(waiting)
            waiting.clear()
            parts = (tags[:, 0] >> np.uint64(56)).astype(np.uint8)
            order = np.argsort(parts, kind="stable")
            ends = np.cumsum(np.bincount(parts, minlength=PARTS))
            split = np.split(tags.take(order, axis=0), ends[:-1])
            rows = [(part, release, mine.tobytes()) for part, mine in enumerate(split) if len(mine)]
            self._sql.executemany("INSERT INTO record (part, release, tags) VALUES (?, ?, ?)", rows)
        self._count = 0

    def _settle_part(self, part: int) -> Conflict | None:
        """Check one part; of records that were known already nothing is kept a second time."""
        earlier = "SELECT DISTINCT release FROM record WHERE part = ? AND number < ?"
        known = [row[0] for row in self._sql.execute(earlier, (part, self._first))]
        for release in self._releases:
            new = self._read("part = ? AND release = ? AND number >= ?", part, release, self._first)
            new = new.take(np.argsort(new[:, 0]), axis=0)
            repeated = _repeated(new)
            if repeated is not None:
                return repeated
            for other in known:
                if other != release and other in self._kin:
                    continue
                old = self._read("part = ? AND release = ? AND number < ?", part, other, self._first)
                mine, theirs = common(new, old)
                if other != release and len(mine):
                    (name,) = self._sql.execute("SELECT digest FROM release WHERE number = ?", (other,)).fetchone()
                    return Conflict("elsewhere", len(mine), int(new[mine[0], 0]), name)
                changed = new[mine, 1] != old[theirs, 1]
                if changed.any():
                    return Conflict("changed", int(changed.sum()), int(new[mine[changed][0], 0]))
                if len(mine):
                    self._keep(part, release, np.delete(new, mine, axis=0))
        return None

    def _keep(self, part: int, release: int, tags: Tags) -> None:
        """Only these of what was added for a release."""
        added = (part, release, self._first)
        self._sql.execute("DELETE FROM record WHERE part = ? AND release = ? AND number >= ?", added)
        if len(tags):
            new = (part, release, tags.tobytes())
            self._sql.execute("INSERT INTO record (part, release, tags) VALUES (?, ?, ?)", new)

    def _counted(self, first: Conflict, part: int) -> Conflict:
        """The same conflict with its count over this and the remaining parts."""
        count = first.count
        for later in range(part + 1, PARTS):
            other = self._settle_part(later)
            if other is not None and (other.reason, other.release) == (first.reason, first.release):
                count += other.count
        return Conflict(first.reason, count, first.tag, first.release)

    def _read(self, where: str, *values: int) -> Tags:
        rows = self._sql.execute(f"SELECT tags FROM record WHERE {where}", values).fetchall()
        return np.frombuffer(b"".join(row[0] for row in rows), dtype="<u8").reshape(-1, 2)


def _repeated(tags: Tags) -> Conflict | None:
    """Identifiers that occur twice among these, which are in the order of their first 64 bits."""
    if not (tags[1:, 0] == tags[:-1, 0]).any():
        return None
    ordered = tags[np.lexsort((tags[:, 1], tags[:, 0]))]
    same = (ordered[1:, 0] == ordered[:-1, 0]) & _same_rest(ordered[1:, 1], ordered[:-1, 1])
    twice = np.flatnonzero(same)
    return Conflict("twice", len(twice), int(ordered[twice[0], 0])) if len(twice) else None


def common(new: Tags, old: Tags) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Positions of the same identifiers in `new`, which is in order, and in `old`, which need not be."""
    mine, theirs = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
    left = np.arange(len(old))
    at = np.searchsorted(new[:, 0], old[:, 0])
    while len(left):
        inside = at < len(new)
        left, at = left[inside], at[inside]
        near = new[at, 0] == old[left, 0]
        left, at = left[near], at[near]
        same = _same_rest(new[at, 1], old[left, 1])
        mine.append(at[same])
        theirs.append(left[same])
        left, at = left[~same], at[~same] + 1
    return np.concatenate(mine), np.concatenate(theirs)


def _same_rest(one: Tags, other: Tags) -> npt.NDArray[np.bool_]:
    same: npt.NDArray[np.bool_] = (one >> np.uint64(32)) == (other >> np.uint64(32))
    return same
