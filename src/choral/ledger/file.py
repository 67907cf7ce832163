"""The file of a ledger: made whole, sealed at every entry, verified whenever it is opened, upgraded where it is old.

**The seal.** Every change of the ledger ends, in the same transaction, with a keyed hash (HMAC, SHA-256) of all that it
holds: each row of each table, the ledger's key, and all seals before. It is recomputed when the ledger is opened, and again
before an entry if another process has written meanwhile; so is whether SQLite's indexes lead to all rows. So a ledger that
lost rows, or in which a bit was flipped, be it of its key, is refused as damaged, unless nothing is lost by it; it is not
taken for one that knows less. The key is in the file: the seal notices accidents and edits by hand, not somebody who has
the file and sets out to forge it.

**Old copies.** A backup that is put back has a true seal and knows less. So the number and the hash of the last seal are
noted outside, in the user's state folder (`$XDG_STATE_HOME`, else `~/.local/state`, and there `choral/ledgers`), in a file
named by a hash of the ledger's key. A ledger that has fewer entries than was noted, or other ones, is an old copy, or a copy
that went its own way, and is refused. What this cannot notice: a copy that is used by another user or on another machine,
a copy that is put back together with the state folder, and that a ledger was deleted (a new one says that it is new). Of two
ledgers that changed places each says, until something is recorded in it, that another one was there before.

**New ledgers** are made under another name and get their own when they are whole, so an empty file is never a ledger in
the making. Until something is recorded a ledger says that it is new, and one that was upgraded what cannot be known of it.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from choral.errors import LedgerError
from choral.ledger.identity import KEY_BYTES, subkey
from choral.ledger.marks import mark_of, marks_at, read_mark, write_mark

VERSION = 3
"""Of the file: since it has seals."""
UNSEALED = 2
"""The version before seals, which is upgraded."""
PATIENCE = 10.0
"""Seconds to wait for another process."""
PAGE = 16384
"""Bytes: records are kept in large pieces."""
TAG_BYTES = 16
"""Two words: the bits by which a record and its identifier are known."""
NEW, UPGRADED, ENTRY = "new", "upgraded", "entry"
UNKNOWN = "a place that is not known here"
RESTORE = (
    "Put back the newest backup of it. Another ledger would let the same people be told about for a second time: move this "
    "file away and start one only if nothing that it recorded was ever given out."
)

SCHEMA = """
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
"""
CARDS = """
CREATE TABLE people (number INTEGER PRIMARY KEY, digest TEXT NOT NULL, records INTEGER NOT NULL, whole INTEGER,
                     id_column TEXT, id_kind TEXT, rows BLOB, declared INTEGER NOT NULL);
CREATE TABLE member (number INTEGER PRIMARY KEY, people INTEGER NOT NULL REFERENCES people, tags BLOB NOT NULL);
CREATE TABLE looked (people INTEGER NOT NULL REFERENCES people, name TEXT NOT NULL, content BLOB, cut BLOB,
                     UNIQUE (people, name));
"""
SEALS = (
    "CREATE TABLE seal (number INTEGER PRIMARY KEY, note TEXT NOT NULL, records INTEGER NOT NULL, mac BLOB NOT NULL)"
)
SEALED = ("about", "release", "disclosed", "told", "card", "record", "people", "member", "looked")
"""All tables but the seals themselves."""


@dataclass(frozen=True)
class Seal:
    """The last seal: its number, what it was made for, how many records there were, and the hash of everything."""

    number: int
    note: str
    records: int
    mac: bytes


class LedgerFile:
    """An open ledger whose seal was verified. Use `open_file`."""

    def __init__(self, sql: sqlite3.Connection, path: Path) -> None:
        """Take a connection inside a transaction in which the file was verified."""
        self.sql, self.path = sql, path
        self.key: bytes = sql.execute("SELECT key FROM about").fetchone()[0]
        self._seal = _last_seal(sql)
        self._version = self._data_version()
        self._noted = False
        noted, here = read_mark(self.key), str(path.absolute())
        self._last_place = UNKNOWN if noted is None else noted["ledger"]
        self._moved = self._last_place != here
        self._others = marks_at(path, self.key)

    @property
    def new(self) -> bool:
        """Whether nothing was recorded so far in a ledger that was made new."""
        return self._seal.number == 0 and self._seal.note == NEW

    @property
    def upgraded(self) -> bool:
        """Whether the ledger began before there were seals."""
        (note,) = self.sql.execute("SELECT note FROM seal WHERE number = 0").fetchone()
        return bool(note == UPGRADED)

    def remarks(self) -> list[str]:
        """What whoever uses this ledger should know of it, in sentences."""
        found = []
        if self.new:
            found.append(
                f"A NEW ledger was started at {self.path}. If anything about these people was given out before, it is in "
                "another ledger: give nothing out, and name that one (--ledger)."
            )
        elif self._moved and self._others:
            found.append(
                f"The ledger at {self.path} was last used at {self._last_place}. If two were mistaken for each other, give "
                "nothing out, and put them back."
            )
        if self._others:  # for as long as it is so: people whom this ledger does not know may come at any time
            which = "Another ledger was" if len(self._others) == 1 else f"{len(self._others)} other ledgers were"
            found.append(
                f"{which} at {self.path} before, with {_entries(sum(self._others))}: whom they were about is not known here."
            )
        if self._seal.number == 0 and self._seal.note == UPGRADED:
            (rows,) = self.sql.execute("SELECT coalesce(max(rows), 0) FROM disclosed").fetchone()
            found.append(
                f"The ledger {self.path} was brought to the present form, in which damage is noticed. Whether it lost "
                f"anything before cannot be known: it has {self._seal.records} records, and the largest table that was "
                f"disclosed had {rows} rows."
            )
        if not self._noted:
            found.append(
                f"An old copy in the place of {self.path} would not be noticed: no state folder can be written."
            )
        return found

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is written inside is recorded and sealed when the block ends, or undone if it raises."""
        with in_plain_words(self.path):
            self.sql.execute("BEGIN IMMEDIATE")
            before = self.sql.total_changes
            try:
                if self._data_version() != self._version:
                    _verify(self.sql, self.path)
                    self._seal = _last_seal(self.sql)
                yield
                seal = self._seal
                if self.sql.total_changes != before:
                    seal = _sealed(self.sql, seal.number + 1, ENTRY)
                self.sql.execute("COMMIT")
            except BaseException:
                if self.sql.in_transaction:
                    self.sql.execute("ROLLBACK")
                raise
        self._seal, self._version = seal, self._data_version()
        self.note(recorded=True)

    def note(self, recorded: bool = False) -> None:
        """Note the last seal outside, so that an old copy is recognised; and the place, if it is not another's, or from the
        first entry on."""
        here = str(self.path.absolute())
        place = here if recorded or self.new or not self._others else self._last_place
        self._noted = write_mark(self.key, self._seal.number, self._seal.mac, place)

    def _data_version(self) -> int:
        """A number that changes when another connection writes."""
        return int(self.sql.execute("PRAGMA data_version").fetchone()[0])


@contextmanager
def open_file(path: Path) -> Iterator[LedgerFile]:
    """The ledger in this file, verified; made for its owner's eyes if there is no file.

    One that was made is taken away again if what it is used for fails and nothing was recorded in it.
    """
    with in_plain_words(path):
        try:
            made = not path.exists() and _make(path)
            _one_name(path)
            size = path.stat().st_size
        except OSError as error:
            raise LedgerError(
                f"The ledger {path} cannot be opened: {error}.", "Check the path and permissions."
            ) from None
        if size == 0:
            raise LedgerError(f"{path} is empty: a ledger that lost its content, or none at all.", RESTORE)
        with closing(_connected(path)) as sql:
            if _version(sql) == UNSEALED:
                _upgrade(sql, path)
            sql.execute("BEGIN")
            version = _version(sql)
            if version != VERSION:
                if version > VERSION:
                    raise LedgerError(f"{path} is of version {version}, newer than {VERSION}.", "Upgrade choral.")
                raise LedgerError(f"{path} is no ledger.", RESTORE)
            _verify(sql, path)
            file = LedgerFile(sql, path)
            sql.execute("COMMIT")
            file.note()
            try:
                yield file
            except BaseException:
                if made:
                    _take_back(file)
                raise


def _take_back(file: LedgerFile) -> None:
    """Remove a ledger in which nothing was recorded.

    Nobody writes meanwhile; and whoever has it open and writes later is refused by SQLite, since the file is gone.
    """
    with suppress(sqlite3.Error, OSError):
        file.sql.execute("BEGIN EXCLUSIVE")
        if _last_seal(file.sql).number == 0:
            file.path.unlink()
            if (mark := mark_of(file.key)) is not None:
                mark.unlink()
        file.sql.execute("ROLLBACK")


def _connected(path: Path) -> sqlite3.Connection:
    place = f"file:{quote(str(path.absolute()))}?mode=rw"
    return sqlite3.connect(place, uri=True, timeout=PATIENCE, isolation_level=None)


def _version(sql: sqlite3.Connection) -> int:
    return int(sql.execute("PRAGMA user_version").fetchone()[0])


def _make(path: Path) -> bool:
    """A new ledger, which gets its name when it is whole; whether it did: one that appeared meanwhile is left alone.

    The hidden file has a fixed name and is locked, so that a later run takes away what a killed one left behind.
    """
    hidden = path.with_name(f".{path.name}.new")
    handle = _held(hidden)
    try:
        os.ftruncate(handle, 0)
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(_new())
        os.fsync(handle)
        os.link(hidden, path)
        return True
    except FileExistsError:
        return False
    finally:
        os.unlink(hidden)
        os.close(handle)


def _held(hidden: Path) -> int:
    """A handle on this file, locked; whoever had the lock before has taken the file away, so it is made again."""
    while True:
        handle = os.open(hidden, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        mine = os.fstat(handle)
        with suppress(FileNotFoundError):
            if os.stat(hidden).st_ino == mine.st_ino:
                if mine.st_nlink == 1:
                    return handle
                os.unlink(hidden)  # a second name of a ledger that a killed process made: that one is not written over
        os.close(handle)


def _one_name(path: Path) -> None:
    """Take away the hidden name of a ledger, which a process that was killed while it made it may have left."""
    hidden = path.with_name(f".{path.name}.new")
    with suppress(OSError):
        if os.stat(hidden).st_ino == os.stat(path).st_ino:
            os.unlink(hidden)


def _new() -> bytes:
    """What is in the file of a ledger that nothing was recorded in."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as sql:
        sql.execute(f"PRAGMA page_size = {PAGE}")
        sql.execute("BEGIN IMMEDIATE")
        for statement in (SCHEMA + CARDS).strip().split(";\n"):
            sql.execute(statement)
        sql.execute(SEALS)
        sql.execute("INSERT INTO about VALUES (?, ?, NULL, NULL)", (VERSION, secrets.token_bytes(KEY_BYTES)))
        sql.execute(f"PRAGMA user_version = {VERSION}")
        _sealed(sql, 0, NEW)
        sql.execute("COMMIT")
        return sql.serialize()


def _upgrade(sql: sqlite3.Connection, path: Path) -> None:
    """Bring a ledger of the version before seals to the present one; what it holds is taken as it is."""
    sql.execute("BEGIN IMMEDIATE")
    if _version(sql) != UNSEALED:  # another process was quicker
        sql.execute("ROLLBACK")
        return
    damaged = LedgerError(f"The ledger {path} is damaged.", RESTORE)
    if not _whole(sql) or sql.execute("SELECT 1 FROM sqlite_schema WHERE name = 'seal'").fetchone():
        raise damaged
    keys = sql.execute("SELECT key FROM about").fetchall()
    if len(keys) != 1 or not isinstance(keys[0][0], bytes) or len(keys[0][0]) != KEY_BYTES:
        raise damaged
    for statement in CARDS.strip().split(";\n"):
        sql.execute(statement)
    sql.execute("INSERT INTO people (digest, records, declared) SELECT DISTINCT digest, rows, 0 FROM card")
    sql.execute(SEALS)
    sql.execute("UPDATE about SET version = ?", (VERSION,))
    sql.execute(f"PRAGMA user_version = {VERSION}")
    _sealed(sql, 0, UPGRADED)
    sql.execute("COMMIT")


def _whole(sql: sqlite3.Connection) -> bool:
    """Whether SQLite finds the file in order. The seal is over rows, and records are looked up through an index of them."""
    return bool(sql.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)])


def _sealed(sql: sqlite3.Connection, number: int, note: str) -> Seal:
    """Seal what the ledger holds now."""
    records, mac = _mac(sql, Seal(number, note, 0, b""))
    sql.execute("INSERT INTO seal VALUES (?, ?, ?, ?)", (number, note, records, mac))
    return Seal(number, note, records, mac)


def _mac(sql: sqlite3.Connection, seal: Seal) -> tuple[int, bytes]:
    """How many records the ledger holds, and the keyed hash of all of it and of the seals before this one."""
    [(key,)] = sql.execute("SELECT key FROM about").fetchall()
    mac = hmac.new(subkey(key, "ledger seal"), repr((VERSION, seal.number, seal.note)).encode(), hashlib.sha256)
    size = 0
    for table in SEALED:
        mac.update(repr(table).encode())
        for row in sql.execute(f"SELECT * FROM {table} ORDER BY rowid"):
            _fold(mac, row)
            size += len(row[-1]) if table == "record" else 0
    for row in sql.execute("SELECT * FROM seal WHERE number < ? ORDER BY number", (seal.number,)):
        _fold(mac, row)
    return size // TAG_BYTES, mac.digest()


def _fold(mac: hmac.HMAC, row: tuple[Any, ...]) -> None:
    """Add a row to a hash: its short values and the lengths of its blobs as they are written, then the blobs."""
    mac.update(repr([("blob", len(value)) if isinstance(value, bytes) else value for value in row]).encode())
    for value in row:
        if isinstance(value, bytes):
            mac.update(value)


def _last_seal(sql: sqlite3.Connection) -> Seal:
    last = sql.execute("SELECT * FROM seal ORDER BY number DESC LIMIT 1").fetchone()
    if last is None:
        raise ValueError("its seals are gone")
    return Seal(*last)


def _verify(sql: sqlite3.Connection, path: Path) -> None:
    """Raise unless the ledger is as its last seal says, and not older than the last that was noted of it."""
    try:
        if not _whole(sql):
            raise ValueError("its pages do not fit together")
        seal = _last_seal(sql)
        records, mac = _mac(sql, seal)
    except (sqlite3.Error, ValueError, TypeError, UnicodeError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise
        raise LedgerError(f"The ledger {path} is damaged: {error}.", RESTORE) from None
    if mac != seal.mac:
        counts = "" if records == seal.records else f" It has {records} records and had {seal.records}."
        raise LedgerError(
            f"The ledger {path} is damaged: it does not hold what was recorded in it (its checksum is wrong).{counts}",
            RESTORE,
        )
    [(key,)] = sql.execute("SELECT key FROM about").fetchall()
    noted = read_mark(key)
    if noted is None:
        return
    same = sql.execute("SELECT mac FROM seal WHERE number = ?", (noted["entry"],)).fetchone()
    if same is None or same[0].hex() != noted["seal"]:
        what = "an old copy" if same is None else "a copy that went its own way"
        raise LedgerError(
            f"{path} is {what} of a ledger: it has {_entries(seal.number)}, and the one that was last used, at "
            f"{noted['ledger']}, had {noted['entry']}. People in those would be told about for a second time.",
            f"Use the ledger that was last used. Only if nothing that it recorded was ever given out, delete {mark_of(key)}.",
        )


def _entries(n: int) -> str:
    return f"{n} entr{'y' if n == 1 else 'ies'}"


@contextmanager
def in_plain_words(path: Path) -> Iterator[None]:
    """Errors of SQLite in words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise LedgerError(f"The ledger {path} is in use by another process.", "Wait until it has ended.") from None
        raise LedgerError(
            f"The ledger {path} cannot be written: {error}.", "Check the folder and free space."
        ) from None
    except sqlite3.DatabaseError as error:
        raise LedgerError(f"{path} is no ledger, or is damaged: {error}.", RESTORE) from None
