"""What was disclosed, so that no record is told about twice: one SQLite file, by default one for a folder of releases.

**Rules.** Draws do not compose: two draws for one record can reveal a protected value with certainty (DESIGN §7). So the
ledger admits
- tables with identifiers, all in a column of one name and one kind. It refuses an identifier that occurs twice, one that
  is known with another record, and one that is known under another release, unless one of the two releases was fitted
  `after` the other (then their codes are private together);
- or one table without identifiers, whose draws belong to its digest and row numbers. A table that differs by a row is
  refused: nobody could say which of its records were disclosed before. So is a table with identifiers afterwards, since
  its records would be drawn for anew;
- the cards of one table. A card is an aggregate, and the cards of two tables that differ by one record can reveal it.

The same table under the same release is always admitted and gives the same codes: so an interrupted run is completed.

**What is kept.** For every record sixteen bytes: 96 bits of AES of the identifier's block, and 32 bits of AES of (block,
record) under a key that belongs to the release as well. By chance, two different identifiers are taken for one with
probability n² / 2⁹⁷ (10⁹ records: 10⁻¹¹; the effect is a refusal), and a changed record passes with probability 2⁻³². What
counts of a record is the row of the channel that its code is drawn from (`Sampler.row_words`): a change that stays in the
same bin changes no code and is no change. A release after another discloses the earlier code again, in its pairs, and is
recorded under both. Of a table without identifiers one keyed hash is kept for each release, of the rows of the channel that
its records are drawn from; and of every release the check value of its key. So a release that only says that it comes
after another, without its channel or its key, is refused.

**The key.** An identifier must be recognised under another release, with another key. So the ledger has a random key of
its own, kept in its file. The file holds no identifier and no value, but who has it can test guesses of identifiers, like
whoever has a release file: it is made for its owner's eyes and belongs with the releases. Without it nothing that was
published changes, and draws stay sticky by the release's key; but nobody refuses any more.

**Faults.** A disclosure is one transaction that holds SQLite's write lock: it is in the ledger whole or not at all, also
after SIGKILL, and a second process waits, then is told. Records are kept in 256 parts by their first byte, each of which is
checked on its own: memory grows with 1/256 of the number of records.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from choral.errors import LedgerError
from choral.release.identity import Blocks, Kind, encrypt, subkey
from choral.release.sampler import Words

if TYPE_CHECKING:
    from choral.release.file import Release

NAME = "choral.ledger"
VERSION = 2
PATIENCE = 10.0
"""Seconds to wait for another process."""
PARTS = 256
AT_ONCE = 1 << 20
"""Records that are gathered before they are written."""
SHOWN = 12
"""Digits of a digest that a message shows."""

Tags = npt.NDArray[np.uint64]
"""One record per row: 64 bits of its identifier; 32 more of them above 32 bits of its record."""

SCHEMA = f"""
CREATE TABLE about (version INTEGER NOT NULL, key BLOB NOT NULL, id_column TEXT, id_kind TEXT);
CREATE TABLE release (number INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, after TEXT, key_check TEXT NOT NULL);
CREATE TABLE disclosed (release INTEGER NOT NULL REFERENCES release, digest TEXT NOT NULL, rows INTEGER NOT NULL,
                        UNIQUE (release, digest));
CREATE TABLE told (release INTEGER NOT NULL REFERENCES release, digest TEXT NOT NULL, rows BLOB NOT NULL,
                   UNIQUE (release, digest));
CREATE TABLE card (release INTEGER NOT NULL REFERENCES release, digest TEXT NOT NULL, rows INTEGER NOT NULL,
                   UNIQUE (release, digest));
CREATE TABLE record (number INTEGER PRIMARY KEY, part INTEGER NOT NULL, release INTEGER NOT NULL REFERENCES release,
                     tags BLOB NOT NULL);
CREATE INDEX record_part ON record (part);
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Use:
    """A release meeting a table: the digests of both, the release before it if any, and how records are identified.

    `key_check` is the check value of the key that is drawn with, which a release shares with the one before it.
    """

    release: str
    table: str
    rows: int
    after: str | None = None
    id_column: str | None = None
    id_kind: Kind | None = None
    key_check: str = field(kw_only=True)


@dataclass(frozen=True)
class Conflict:
    """Why identifiers are refused: how many, the tag of one of them, and the release under which they are known."""

    reason: Literal["twice", "changed", "elsewhere"]
    count: int
    tag: int
    release: str = ""


def beside(release: Path) -> Path:
    """The ledger of the folder in which a release file is: one for all, so that a second release is seen."""
    return release.parent / NAME


class Ledger:
    """An open ledger. Use `open_ledger`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._sql = connection
        self._path = path

    @contextmanager
    def disclosing(self, use: Use) -> Iterator[Entry]:
        """Everything that is added inside is recorded together when the block ends, or not at all if it raises."""
        with self._transaction():
            number = self._release(use.release, use.after, use.key_check)
            key, column, kind = self._sql.execute("SELECT key, id_column, id_kind FROM about").fetchone()
            self._check_use(use, number, column, kind)
            known = self._sql.execute(
                "SELECT 1 FROM disclosed WHERE release = ? AND digest = ?", (number, use.table)
            ).fetchone()
            releases = {use.release: number}
            if use.after is not None:
                releases[use.after] = self._release(use.after, None, use.key_check)
            skip = use.id_column is None or known is not None
            entry = Entry(self._sql, releases, self._kin(number), key, skip, use.table)
            yield entry
            if not entry.settled or (use.id_column is None and not entry.rows_settled):
                raise RuntimeError("an entry of the ledger was not settled")
            self._sql.execute("INSERT OR IGNORE INTO disclosed VALUES (?, ?, ?)", (number, use.table, use.rows))
            self._sql.execute("UPDATE about SET id_column = ?, id_kind = ?", (use.id_column, use.id_kind))

    def record_card(self, release: Release, write: Callable[[], object] = lambda: None) -> None:
        """Record that the card of a release is made public; refuse if one of another table was.

        `write` saves what belongs to it: if that fails, nothing is recorded.
        """
        table, rows, after = release.recipe.table_digest, release.recipe.table_rows, release.recipe.after
        with self._transaction():
            other = self._sql.execute("SELECT digest, rows FROM card WHERE digest != ?", (table,)).fetchone()
            if other:
                raise LedgerError(
                    f"A card of another table ({other[1]} rows, digest {other[0][:SHOWN]}…) is already public according to "
                    f"{self._path}; this one has {rows} rows.",
                    "Two cards of tables that differ by a few records can reveal these: keep the earlier card, or name "
                    "another ledger (--ledger) if no record is in both tables.",
                )
            number = self._release(release.digest, None if after is None else after.digest, release.key_check)
            self._sql.execute("INSERT OR IGNORE INTO card VALUES (?, ?, ?)", (number, table, rows))
            write()

    def has_given_out(self, release: str) -> bool:
        """Whether codes or a card of the release with this digest were made public."""
        given = "SELECT 1 FROM release WHERE digest = ? AND (number IN (SELECT release FROM disclosed) "
        given += "OR number IN (SELECT release FROM card) OR number IN (SELECT release FROM record))"
        with _in_plain_words(self._path):
            return self._sql.execute(given, (release,)).fetchone() is not None

    def _check_use(self, use: Use, number: int, column: str | None, kind: str | None) -> None:
        """Refuse what is wrong whatever the records are."""
        earlier = self._sql.execute(
            "SELECT release, disclosed.digest, rows, release.digest FROM disclosed JOIN release ON release = number"
        ).fetchall()
        if not earlier:
            return
        elsewhere = "or name another ledger (--ledger) if no record of this table was disclosed before."
        if column is None and use.id_column is not None:
            raise LedgerError(
                f"A table of {earlier[0][2]} rows was disclosed without identifiers according to {self._path}: it cannot be "
                f"told whether these records are among its rows, and they would be drawn for a second time.",
                f"Disclose that table again without --id, {elsewhere}",
            )
        if column is not None and use.id_column is None:
            raise LedgerError(
                f"Records identified by '{column}' were disclosed according to {self._path}; without identifiers it cannot "
                f"be told which rows are among them.",
                f"Give --id {column}, {elsewhere}",
            )
        if column is not None:
            if column != use.id_column:
                raise LedgerError(
                    f"Records were identified by '{column}' so far, and now by '{use.id_column}'.",
                    f"Give --id {column} (rename the column if it holds the same identifiers), {elsewhere}",
                )
            if kind != use.id_kind:
                raise LedgerError(
                    f"The identifiers in '{column}' were of kind {kind} so far, and now are of kind {use.id_kind}: the same "
                    f"record would be taken for another.",
                    f"Cast the column to {kind}, {elsewhere}",
                )
            return
        kin = self._kin(number)
        for release, digest, rows, name in earlier:
            if digest != use.table:
                size = f"it has {use.rows} rows, that one {rows}" if rows != use.rows else f"both have {rows} rows"
                raise LedgerError(
                    f"Another table was disclosed without identifiers (digest {digest[:SHOWN]}…) according to {self._path}; "
                    f"{size}. Records that are in both would be drawn for a second time, which can reveal them.",
                    f"Disclose that very table, use --id from the first disclosure on, {elsewhere}",
                )
            if release not in kin:
                raise LedgerError(
                    f"This table was disclosed under another release (digest {name[:SHOWN]}…) according to {self._path}.",
                    "Fit this release with --after that one, so that both codes together stay private; if nobody was given "
                    "those codes, destroy them and start another ledger (--ledger).",
                )

    def _release(self, digest: str, after: str | None, check: str) -> int:
        """The number of a release, which is entered if it is new; raises if it was drawn with another key."""
        new = (digest, after, check)
        self._sql.execute("INSERT OR IGNORE INTO release (digest, after, key_check) VALUES (?, ?, ?)", new)
        known = "SELECT number, key_check FROM release WHERE digest = ?"
        number, key_check = self._sql.execute(known, (digest,)).fetchone()
        if key_check != check:
            raise LedgerError(
                f"The release with the digest {digest[:SHOWN]}… was drawn with another key according to {self._path}: its "
                "codes would be drawn for a second time.",
                "A release after another has its key: fit it with --after that one.",
            )
        return int(number)

    def _kin(self, number: int) -> frozenset[int]:
        """The releases whose codes are private together with this one's: itself, those before it, and those after it."""
        rows = self._sql.execute("SELECT number, digest, after FROM release").fetchall()
        number_of = {digest: n for n, digest, _ in rows}
        before = {n: number_of.get(after) for n, _, after in rows}

        def chain(n: int | None) -> set[int]:
            found: set[int] = set()
            while n is not None and n not in found:
                found.add(n)
                n = before[n]
            return found

        return frozenset(chain(number) | {n for n in before if number in chain(n)})

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _in_plain_words(self._path):
            self._sql.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._sql.execute("COMMIT")
            except BaseException:
                if self._sql.in_transaction:
                    self._sql.execute("ROLLBACK")
                raise


@dataclass(frozen=True)
class Tagger:
    """What turns records into what the ledger keeps of them; it can work anywhere, apart from the ledger's file."""

    id_key: bytes
    record_keys: tuple[bytes, ...]

    @classmethod
    def of(cls, key: bytes, releases: Iterable[str]) -> Tagger:
        """The tagger of a ledger with this key, for the releases with these digests."""
        keys = tuple(subkey(key, "ledger record", digest.encode()) for digest in releases)
        return cls(subkey(key, "ledger id"), keys)

    def tags(self, blocks: Blocks, *words: Words) -> list[Tags]:
        """The tags, under each of the releases, of records with these blocks and these words for what they are."""
        name = encrypt(self.id_key, blocks).view("<u4")
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
        self.tagger = Tagger.of(key, releases)
        self._waiting: list[list[Tags]] = [[] for _ in releases]
        self._count = 0
        (self._first,) = sql.execute("SELECT coalesce(max(number), 0) + 1 FROM record").fetchone()
        self.settled = self.rows_settled = False

    def add(self, blocks: Blocks, *words: Words) -> None:
        """Records that are going to be disclosed: their blocks, and what they are under each of the releases."""
        if not self._skip:
            self.add_tags(self.tagger.tags(blocks, *words))

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
                mine, theirs = _common(new, old)
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


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """The ledger in this file, which is made for its owner's eyes if there is none."""
    with _in_plain_words(path):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise LedgerError(
                f"The ledger {path} cannot be opened: {error}.", "Check the path and permissions."
            ) from None
        with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as sql:
            sql.execute("PRAGMA page_size = 16384")
            sql.execute("BEGIN IMMEDIATE")
            (version,) = sql.execute("PRAGMA user_version").fetchone()
            (tables,) = sql.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables == 0:
                for statement in SCHEMA.strip().split(";\n"):
                    sql.execute(statement)
                sql.execute("INSERT INTO about VALUES (?, ?, NULL, NULL)", (VERSION, secrets.token_bytes(32)))
            elif version != VERSION:
                raise LedgerError(f"{path} is no ledger of version {VERSION}.", "Name another file.")
            sql.execute("COMMIT")
            yield Ledger(sql, path)


@contextmanager
def _in_plain_words(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise LedgerError(f"The ledger {path} is in use by another process.", "Wait until it has ended.") from None
        raise LedgerError(
            f"The ledger {path} cannot be written: {error}.", "Check the folder and free space."
        ) from None
    except sqlite3.DatabaseError as error:
        raise LedgerError(
            f"{path} is no ledger, or is damaged: {error}.", "Restore it, or name another file."
        ) from None


def _repeated(tags: Tags) -> Conflict | None:
    """Identifiers that occur twice among these, which are in the order of their first 64 bits."""
    if not (tags[1:, 0] == tags[:-1, 0]).any():
        return None
    ordered = tags[np.lexsort((tags[:, 1], tags[:, 0]))]
    same = (ordered[1:, 0] == ordered[:-1, 0]) & _same_rest(ordered[1:, 1], ordered[:-1, 1])
    twice = np.flatnonzero(same)
    return Conflict("twice", len(twice), int(ordered[twice[0], 0])) if len(twice) else None


def _common(new: Tags, old: Tags) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
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
