"""What was disclosed, so that no record is told about twice: one SQLite file, by default one for a folder of releases.

**Rules.** Draws do not compose: two draws for one record can reveal a protected value with certainty. So the
ledger admits
- tables with identifiers, all in a column of one name and one kind. It refuses an identifier that occurs twice, one that
  is known with another record, and one that is known under another release, unless one of the two releases was fitted
  `after` the other (then their codes are private together);
- or one table without identifiers, whose draws belong to its digest and row numbers. A table that differs by a row is
  refused: nobody could say which of its records were disclosed before. So is a table with identifiers afterwards, since
  its records would be drawn for anew;
- each table by lots or by quota (`choral.draw.quota`), not by both; by quota the whole set of records counts, so that one
  with a record more, fewer or changed is another one, and its records would be drawn for anew;
- cards of the same people or of others, not of nearly the same, as far as identifiers tell or the curator declares: a card
  is an aggregate, and two that differ by one record can reveal it (`choral.ledger.cards`).

The same table under the same release, identified as before, is admitted again and gives the same codes: so an interrupted
run is completed.

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
published changes, and draws stay sticky by the release's key; but nobody refuses any more. It does not know of another
ledger, nor of draws that were made without one (`choral.sklearn`).

**Faults.** A disclosure is one transaction that holds SQLite's write lock: it is in the ledger whole or not at all, also
after SIGKILL, and a second process waits, then is told. A damaged ledger and an old copy are refused, as far as
`choral.ledger.file` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choral.errors import LedgerError
from choral.files import state_folder
from choral.ledger.cards import Groups, behind
from choral.ledger.entry import Entry
from choral.ledger.file import LedgerFile, in_plain_words, open_file
from choral.ledger.identity import Kind
from choral.ledger.refusal import SHOWN, drawn_otherwise

if TYPE_CHECKING:
    from choral.release.file import Release

NAME = "choral.ledger"
LOTS = "lots"


@dataclass(frozen=True)
class Use:
    """A release meeting a table: the digests of both, the release before it if any, and how records are identified.

    `key_check` is the check value of the key that is drawn with, which a release shares with the one before it. `draw` says
    how codes are drawn: "lots", or "quota", or "quota" and the noise on them.
    """

    release: str
    table: str
    rows: int
    after: str | None = None
    id_column: str | None = None
    id_kind: Kind | None = None
    key_check: str = field(kw_only=True)
    draw: str = field(default=LOTS, kw_only=True)

    @property
    def mark(self) -> str:
        """By which the ledger knows what was drawn: the digest of the table, after the way of drawing if that is not lots.

        So it is another table to choral of before quotas, which then refuses it.
        """
        return self.table if self.draw == LOTS else f"{self.draw}:{self.table}"


def beside(release: Path) -> Path:
    """The ledger of the folder in which a release file is: one for all, so that a second release is seen."""
    return release.parent / NAME


def own_ledger() -> Path | None:
    """The user's own ledger, of releases that are in no file; None where the user has no home."""
    try:
        return state_folder() / NAME
    except RuntimeError:
        return None


def usual_ledger(release: Release) -> Path:
    """The ledger of whoever named none: beside the release's file, or the user's own where it was never saved.

    A release of which the user's own ledger knows codes or a card goes on with that one, wherever it was saved afterwards;
    and one that was fitted after another with the ledger of that.
    """
    if release.earlier is not None:
        return usual_ledger(release.earlier)
    own, after = own_ledger(), release.recipe.after
    if own is not None and own.exists() and release.path is not None:
        with open_ledger(own) as book:
            if any(map(book.has_given_out, [release.digest, *([] if after is None else [after.digest])])):
                return own
    if release.path is not None:
        return beside(release.path)
    if own is None:
        raise LedgerError("A release that was never saved has no place for its ledger.", "Name one: ledger=PATH.")
    return own


def make_room(ledger: Path) -> None:
    """The folder of a ledger, for its owner's eyes."""
    try:
        ledger.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"There is no place for the ledger {ledger}: {error.strerror}.", "Name one: ledger=PATH (--ledger PATH)."
        ) from None


class Ledger:
    """An open ledger. Use `open_ledger`."""

    def __init__(self, file: LedgerFile) -> None:
        self._file, self._sql, self._path = file, file.sql, file.path
        self.new = file.new
        """Whether nothing was recorded in it when it was opened."""
        self.remarks = tuple(file.remarks())
        """What whoever opened it should know of it, in sentences."""

    @contextmanager
    def disclosing(self, use: Use) -> Iterator[Entry]:
        """Everything that is added inside is recorded together when the block ends, or not at all if it raises."""
        with self._file.transaction():
            number = self._release(use.release, use.after, use.key_check)
            key, column, kind = self._sql.execute("SELECT key, id_column, id_kind FROM about").fetchone()
            self._check_use(use, number, column, kind)
            known = self._sql.execute(
                "SELECT 1 FROM disclosed WHERE release = ? AND digest = ?", (number, use.mark)
            ).fetchone()
            releases = {use.release: number}
            if use.after is not None:
                releases[use.after] = self._release(use.after, None, use.key_check)
            skip = use.id_column is None or (known is not None and use.draw == LOTS)
            entry = Entry(self._sql, releases, self._kin(number), key, skip, use.mark, self._file.upgraded)
            entry.by_quota = ":" in use.mark or self._by_quota(releases)
            yield entry
            if not entry.settled or (use.id_column is None and not entry.rows_settled):
                raise RuntimeError("an entry of the ledger was not settled")
            self._sql.execute("INSERT OR IGNORE INTO disclosed VALUES (?, ?, ?)", (number, use.mark, use.rows))
            identified = (use.id_column, use.id_kind)
            self._sql.execute(
                "UPDATE about SET id_column = ?, id_kind = ? WHERE (id_column, id_kind) IS NOT (?, ?)", identified * 2
            )

    def record_card(
        self,
        release: Release,
        write: Callable[[], object] = lambda: None,
        *,
        table: Any = None,
        other_people: bool = False,
    ) -> None:
        """Record that the card of a release is made public; refuse if it is about people who are nearly those of another.

        `table` is the table that was fitted, from which the records behind the card are read; without it they are known by
        the digest and number that the release has. `other_people` declares that they are in no earlier card. `write` saves
        what belongs to the card: if that fails, nothing is recorded.
        """
        digest, rows, after = release.recipe.table_digest, release.recipe.table_rows, release.recipe.after
        records = behind(release, table, self._file.key)
        with self._file.transaction():
            Groups(self._sql, self._path).record(records, other_people)
            number = self._release(release.digest, None if after is None else after.digest, release.key_check)
            self._sql.execute("INSERT OR IGNORE INTO card VALUES (?, ?, ?)", (number, digest, rows))
            write()

    def has_given_out(self, release: str) -> bool:
        """Whether codes or a card of the release with this digest were made public."""
        given = "SELECT 1 FROM release WHERE digest = ? AND (number IN (SELECT release FROM disclosed) "
        given += "OR number IN (SELECT release FROM card) OR number IN (SELECT release FROM record))"
        with in_plain_words(self._path):
            return self._sql.execute(given, (release,)).fetchone() is not None

    def _check_use(self, use: Use, number: int, column: str | None, kind: str | None) -> None:
        """Refuse what is wrong whatever the records are."""
        earlier = self._sql.execute(
            "SELECT release, disclosed.digest, rows, release.digest FROM disclosed JOIN release ON release = number"
        ).fetchall()
        if not earlier:
            return
        elsewhere = (
            "or name another ledger (--ledger) if this table is about other people than all that were disclosed so far."
        )
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
                    f"Give --id {column}, and call the column so if it holds the same identifiers, {elsewhere}",
                )
            if kind != use.id_kind:
                raise LedgerError(
                    f"The identifiers in '{column}' were of kind {kind} so far, and now are of kind {use.id_kind}: the same "
                    f"record would be taken for another.",
                    f"Cast the column to {kind}, {elsewhere}",
                )
        kin = self._kin(number)
        for release, mark, rows, name in earlier:
            drawn, _, digest = mark.rpartition(":")
            if digest == use.table and release in kin and (drawn or LOTS) != use.draw:
                raise drawn_otherwise(drawn or LOTS, use.draw, self._path, rows)
            if column is not None:
                continue
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

    def _by_quota(self, releases: Mapping[str, int]) -> bool:
        """Whether anything was drawn by quota under one of these releases."""
        marks = self._sql.execute("SELECT release FROM disclosed WHERE instr(digest, ':')").fetchall()
        return any(release in releases.values() for (release,) in marks)

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
def open_ledger(path: Path) -> Iterator[Ledger]:
    """The ledger in this file, verified; made for its owner's eyes if there is none."""
    with open_file(path) as file:
        yield Ledger(file)
