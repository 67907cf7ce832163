"""Why the ledger refuses identifiers of a table, in words: which rows, how they are spelt, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from choral.errors import LedgerError
from choral.ledger.entry import Conflict

SHOWN = 12
"""Digits of a digest that a message shows."""


@dataclass(frozen=True)
class Place:
    """An identifier as it is spelt, and the number of its row from 1 where rows have numbers."""

    spelling: str
    row: int | None = None

    def __str__(self) -> str:
        return f"'{self.spelling}'" if self.row is None else f"in row {self.row}"

    @property
    def exactly(self) -> str:
        """The spelling such that every character shows, and its row."""
        return f"{self.spelling!a}{'' if self.row is None else f' in row {self.row}'}"


def drawn_otherwise(before: str, now: str, book: Path, rows: int) -> LedgerError:
    """Why a table that was drawn in one way is not drawn in another."""
    return LedgerError(
        f"This table of {rows} rows was drawn by {before} according to {book}, and would now be drawn by {now}: a second "
        "draw for the same people, which can reveal them.",
        f"Draw it by {before} again, which gives the same codes"
        + (
            " (a release that comes after one drawn by quota cannot repeat its codes, and is refused)."
            if before.startswith("quota")
            else "."
        )
        + " If nobody was given those codes, destroy them and start another ledger (--ledger).",
    )


def refusal(
    conflict: Conflict, id: str, name: str, book: Path, places: Sequence[Place], by_quota: bool = False
) -> LedgerError:
    """Why the ledger refuses identifiers in the column `id` of a table; `places` are those of one of them.

    `by_quota` says that codes are, or under this release were, drawn by quota.
    """
    count = f"{conflict.count} of the identifiers in '{id}' {'was' if conflict.count == 1 else 'were'}"
    if conflict.reason == "twice":
        return _repeated(conflict, id, name, places)
    if conflict.reason == "changed" and by_quota:
        return LedgerError(
            f"{count} disclosed before in another table, or otherwise, according to {book}; one is {places[0]}. By quota the "
            "whole table counts: with one record more, fewer or changed the others would be drawn for a second time.",
            "Give the very table that was disclosed, drawn in the same way; records to come need a release of their own.",
        )
    if conflict.reason == "changed":
        return LedgerError(
            f"{count} disclosed before with another record, or in another spelling, according to {book}; one is "
            f"{places[0]}, spelt {places[0].spelling!a}.",
            "A second draw for the same person can reveal them. Leave these rows out, or give them as they were, the "
            "identifier too: blanks, accents and decimals count (7, ' 7' and 7.0 are three draws for one person).",
        )
    return LedgerError(
        f"{count} disclosed before under another release (digest {conflict.release[:SHOWN]}…), according to {book}; "
        f"one is {places[0]}.",
        "Leave these rows out, or fit this release with --after that one, so that both codes together stay private; "
        "if nobody was given those codes, destroy them and start another ledger (--ledger).",
    )


def _repeated(conflict: Conflict, id: str, name: str, places: Sequence[Place]) -> LedgerError:
    one, *others = places
    other = next((place for place in others if place.spelling != one.spelling), None)
    if other is not None:
        return LedgerError(
            f"{conflict.count} rows of {name} repeat an identifier in '{id}' in another spelling: {one.exactly} and "
            f"{other.exactly} are taken for one person, who would be drawn for twice.",
            "If they are one person, give the record once, always in the same spelling; if they are two, give them "
            "identifiers that differ in more than blanks, accents' composition or the writing of a number.",
        )
    rows = f"rows {one.row} and {others[0].row} have the same" if others and one.row else f"{one} is one"
    return LedgerError(
        f"{conflict.count} rows of {name} repeat an identifier in '{id}': {rows}.",
        "One record, one draw: give every record once, with an identifier of its own.",
    )
