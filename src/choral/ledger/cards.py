"""The people behind public cards: cards about the same people, or about others, but not about nearly the same.

A card is an aggregate, and the guarantee of a release does not cover it. Two cards of sets of records that differ by a few
people can be subtracted, and tell about these. What counts are the records that went in, not the file: `--missing drop`, or
another column with gaps, leaves other people out. So the ledger keeps, for each set of records behind a card, a **group**:

    with identifiers      a keyed tag of each (96 bits of AES of its normal form), and for each column that a card was about
                          a keyed sum over the pairs of identifier and value
    without identifiers   the digest of the table and whether any row was left out, and a keyed sum over all rows with all
                          their columns: the same rows in another order are the same

A new card is about a group that is known, with the values that it had; or about people in no group; else it is refused.
Whether people are in a group can only be told by identifiers of one column and kind. Otherwise the curator declares that the
table is about other people (`--other-people`), and the ledger records that this was declared. A declaration that the ledger
can refute is refused; of any other nobody knows whether it is true.

**Further cards of one group** are admitted: another target, other columns to look at or to protect. Each is one more
aggregate of the same people. But a column that is told about must be told in the same values or bins and with the same
`min_count` each time: the difference between two cuts counts those in between.

The sums are of AES outputs under keys of their own, modulo 2⁶⁴ twice: 128 bits. Tags are held in memory, 16 bytes for a
record. Of a card that version 0.1.0 recorded only the digest of the table and the number of records are known.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from choral.errors import LawError, LedgerError, ProblemError
from choral.ledger import identity
from choral.ledger.entry import Tags, common
from choral.ledger.identity import Blocks, encrypt, subkey
from choral.ledger.spelling import normal_blocks
from choral.tables.counting import complete
from choral.tables.opening import opened
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

if TYPE_CHECKING:
    from choral.release.file import Release

ROWS_AT_ONCE = 1 << 18
"""Records in memory at once: some megabytes."""
GAP = 5
"""The last byte of the block that stands for a missing value: no other block has it."""


@dataclass
class Behind:
    """The records behind a card, under the key of a ledger. What is None is not known."""

    digest: str
    records: int
    whole: bool | None = None
    id_column: str | None = None
    id_kind: str | None = None
    who: Tags | None = None
    rows: bytes | None = None
    contents: dict[str, bytes] = field(default_factory=dict)
    cuts: dict[str, bytes] = field(default_factory=dict)


def behind(release: Release, table: Any, key: bytes) -> Behind:
    """The records behind the card of a release, read from its table; without one all rows are, known by the digest."""
    recipe = release.recipe
    cuts = {name: _cut(release, name, key) for name in recipe.reveal}
    found = Behind(recipe.table_digest, recipe.table_rows, cuts=cuts)
    if table is None and recipe.missing == "drop":
        raise ProblemError(
            "Which rows went into this card is not in the release: rows with missing values were left out.",
            "Give the table that it was fitted to: table=….",
        )
    if table is None:
        found.whole = True
        return found
    with opened(table, recipe.as_read, lambda name: name == recipe.id) as source:
        if source.digest() != recipe.table_digest:
            raise LawError(f"{source.name} is not the table that the release was fitted to.", "Fit it again.")
        where = complete(source, recipe.own, recipe.missing, recipe.told)
        found.whole = source.rows() == recipe.table_rows
        if recipe.id is None:
            found.rows = _sum_of_rows(source, list(source.columns), where, key)
            return found
        found.id_column, found.id_kind = recipe.id, identity.kind_of_column(source, recipe.id)
        found.who, found.contents = _people(source, recipe.id, list(recipe.read), where, key)
    return found


def _cut(release: Release, name: str, key: bytes) -> bytes:
    """How a column is cut where a card tells about it."""
    recipe = release.recipe
    column = recipe.column(name)
    named = () if column.named is None else (column.named.to_document(),)
    what = repr((column.to_document()["values"], column.edges, recipe.min_count, *named))
    return hashlib.blake2b(what.encode(), key=subkey(key, "card cut", name.encode()), digest_size=16).digest()


def _sum_of_rows(source: Source, names: Sequence[str], where: str, key: bytes) -> bytes:
    total = np.zeros(2, dtype=np.uint64)
    keys = [subkey(key, "card row", name.encode()) for name in names]
    for batch in _batches(source, names, where):
        mixed = np.zeros((batch.num_rows, identity.WIDTH), dtype=np.uint8)
        for mine, values in zip(keys, batch.columns, strict=True):
            mixed = encrypt(mine, mixed ^ _values(values))
        total += mixed.view("<u8").sum(axis=0, dtype=np.uint64)
    return total.tobytes()


def _people(source: Source, id: str, needed: Sequence[str], where: str, key: bytes) -> tuple[Tags, dict[str, bytes]]:
    """The tags of all identifiers, each once, and for every column the sum over pairs of identifier and value."""
    names = [name for name in needed if name != id]
    totals = {name: np.zeros(2, dtype=np.uint64) for name in names}
    keys = {name: subkey(key, "card value", name.encode()) for name in names}
    tags, id_key, done = [np.empty((0, 2), dtype="<u8")], subkey(key, "card id"), 0
    for batch in _batches(source, [id, *names], where):
        written = batch.column(0)
        name_of = encrypt(id_key, normal_blocks(written, identity.blocks(written, id, done)))
        done += batch.num_rows
        for name, values in zip(names, batch.columns[1:], strict=True):
            mixed = encrypt(keys[name], name_of ^ _values(values))
            totals[name] += mixed.view("<u8").sum(axis=0, dtype=np.uint64)
        mine = name_of.view("<u8").reshape(-1, 2).copy()
        mine[:, 1] &= np.uint64(0xFFFFFFFF << 32)
        tags.append(mine)
    return _once(np.concatenate(tags)), {name: total.tobytes() for name, total in totals.items()}


def _once(tags: Tags) -> Tags:
    """Each tag once, in order."""
    ordered = tags[np.lexsort((tags[:, 1], tags[:, 0]))]
    kept: Tags = ordered[np.r_[True, (ordered[1:] != ordered[:-1]).any(axis=1)][: len(ordered)]]
    return kept


def _batches(source: Source, names: Sequence[str], where: str) -> Iterator[Any]:
    """The rows that went in, all values as text."""
    listed = ", ".join(f"CAST({identifier(name)} AS VARCHAR) AS {identifier(name)}" for name in names)
    with reading(source):
        yield from source.connection.sql(f"SELECT {listed} FROM {source.sql} WHERE TRUE{where}").to_arrow_reader(
            ROWS_AT_ONCE
        )


def _values(values: Any) -> Blocks:
    gaps = np.asarray(values.is_null().to_numpy(zero_copy_only=False))
    found = identity.blocks(values.fill_null("") if gaps.any() else values)
    found[gaps] = 0
    found[gaps, identity.WIDTH - 1] = GAP
    return found


def _in_both(old: Behind, new: Behind) -> tuple[int, int, int] | None:
    """How many people are in both groups, in the old and in the new one; None where identifiers cannot tell."""
    if old.who is None or new.who is None or (old.id_column, old.id_kind) != (new.id_column, new.id_kind):
        return None
    return len(common(new.who, old.who)[0]), len(old.who), len(new.who)


def _same(old: Behind, new: Behind) -> bool:
    """Whether the records of two groups are surely the same; where a group is of version 0.1.0, as far as it is known."""
    counted = _in_both(old, new)
    if counted is not None:
        return len(set(counted)) == 1 and old.records == new.records
    if old.rows is not None and old.rows == new.rows:
        return True
    unsure = old.whole is None or new.whole is None
    return old.digest == new.digest and old.records == new.records and bool(unsure or (old.whole and new.whole))


class Groups:
    """The groups of people in a ledger, inside its transaction."""

    def __init__(self, sql: sqlite3.Connection, path: Path) -> None:
        self._sql, self._path = sql, path

    def record(self, new: Behind, other_people: bool) -> None:
        """Record the people behind a new card, or raise if it is about people who are nearly those of another."""
        known = self._known()
        same = next((number for number, old in known.items() if _same(old, new)), None)
        if same is None:
            declared = True in [self._must_be_declared(old, new, other_people) for old in known.values()]
            facts = (new.digest, new.records, new.whole, new.id_column, new.id_kind, new.rows, declared)
            [(same,)] = self._sql.execute(
                "INSERT INTO people (digest, records, whole, id_column, id_kind, rows, declared) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING number",
                facts,
            ).fetchall()
            self._keep_members(same, new)
        elif new.who is not None and not self._members(same).size:
            learnt = (new.id_column, new.id_kind, new.whole, same)
            self._sql.execute("UPDATE people SET id_column = ?, id_kind = ?, whole = ? WHERE number = ?", learnt)
            self._keep_members(same, new)
        self._compare(same, new)

    def _known(self) -> dict[int, Behind]:
        """The groups by their numbers."""
        columns = "number, digest, records, whole, id_column, id_kind, rows"
        found = {}
        for number, digest, records, whole, column, kind, rows in self._sql.execute(f"SELECT {columns} FROM people"):
            who = None if column is None else self._members(number)
            found[number] = Behind(digest, records, None if whole is None else bool(whole), column, kind, who, rows)
        return found

    def _must_be_declared(self, old: Behind, new: Behind, other_people: bool) -> bool:
        """Whether only a declaration says that two groups share nobody; raises if they do, or if there is none."""
        counted = _in_both(old, new)
        if counted is not None:
            both, before, now = counted
            if both == 0:
                return False
            if both == before == now:
                raise self._overlap(
                    f"The {now} people behind this card have {new.records} records, and had {old.records} behind an earlier "
                    "one"
                )
            raise self._overlap(
                f"{both} of the {now} people behind this card are among the {before} behind an earlier one"
            )
        if old.digest == new.digest:
            raise self._overlap(
                f"An earlier card is about {old.records} records of this very table, and this one about {new.records} "
                "others or not all of them, since rows with missing values are left out or not"
            )
        if other_people:
            return True
        why = "by other identifiers" if old.id_column and new.id_column else "without identifiers"
        raise LedgerError(
            f"A card of another table ({old.records} records, digest {old.digest[:12]}…) is already public according to "
            f"{self._path}, and {why} it cannot be told whether this table, with {new.records} records, is about the same "
            "people.",
            "Two cards of tables that differ by a few people can reveal these. Give --id COLUMN for both; or, if this table "
            "is about other people, all of them, declare it: --other-people, which the ledger records.",
        )

    def _overlap(self, what: str) -> LedgerError:
        return LedgerError(
            f"{what}, according to {self._path}: the difference between the two cards tells about the others.",
            "Make the card of the same records, with the same --missing and columns, or of other people; else leave out "
            "--card.",
        )

    def _compare(self, number: int, new: Behind) -> None:
        """Raise if a column was another, or was told about otherwise, in an earlier card of the group; note what is new."""
        for column in {*new.contents, *new.cuts}:
            mine = (new.contents.get(column), new.cuts.get(column))
            where = (number, column)
            known = self._sql.execute(
                "SELECT content, cut FROM looked WHERE people = ? AND name = ?", where
            ).fetchone() or (None, None)
            if None not in (known[0], mine[0]) and known[0] != mine[0]:
                raise LedgerError(
                    f"Values of '{column}' have changed since an earlier card of the same people, according to {self._path}: "
                    "the difference between the two cards tells about those whose values changed.",
                    "Keep the earlier card, or make this one from the table as it was.",
                )
            if None not in (known[1], mine[1]) and known[1] != mine[1]:
                raise LedgerError(
                    f"An earlier card of the same people tells about '{column}' in other values or bins, or with another "
                    f"--min-count, according to {self._path}: the difference counts those in between.",
                    "Take the same --bins and --min-count as before.",
                )
            both = tuple(old if old is not None else now for old, now in zip(known, mine, strict=True))
            if both != tuple(known):
                self._sql.execute("INSERT OR REPLACE INTO looked VALUES (?, ?, ?, ?)", (*where, *both))

    def _members(self, number: int) -> Tags:
        rows = self._sql.execute("SELECT tags FROM member WHERE people = ? ORDER BY number", (number,)).fetchall()
        return np.frombuffer(b"".join(row[0] for row in rows), dtype="<u8").reshape(-1, 2)

    def _keep_members(self, number: int, new: Behind) -> None:
        for start in range(0, 0 if new.who is None else len(new.who), ROWS_AT_ONCE):
            piece = new.who[start : start + ROWS_AT_ONCE].tobytes() if new.who is not None else b""
            self._sql.execute("INSERT INTO member (people, tags) VALUES (?, ?)", (number, piece))
