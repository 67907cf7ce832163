"""What is asked of a disclosure, and what one did: the same for every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from choral.draw.arrange import ROW, Arrangement, check_arrangement
from choral.draw.hidden import ENDINGS
from choral.draw.quota import Chosen, Quotas
from choral.draw.quota_words import QuotaDrawn, told_of
from choral.errors import ColumnError, ReleaseFileError
from choral.files import keep_apart, path_of
from choral.ledger import identity
from choral.ledger.book import Ledger, Use
from choral.release.file import Release
from choral.tables.source import Source

Progress: TypeAlias = Callable[[int, int], None]
"""Called with the rows that are done and the rows that there are."""
CODE = "code"
STATE = "choral state"


@dataclass(frozen=True)
class Drawn:
    """What a disclosure did: rows read, codes written, rows left out by `missing drop`, rows with the extra code.

    `arrange` is the order in which codes were written, and `with_rows` whether with row numbers (`choral.draw.arrange`).
    `new_ledger` says that nothing was in the ledger before, and `remarks` what else should be known of it, in sentences.
    """

    rows: int
    disclosed: int
    dropped: int
    unseen: int
    release: str
    id: str | None
    arrange: Arrangement
    with_rows: bool
    output: Path
    ledger: Path
    new_ledger: bool = False
    remarks: tuple[str, ...] = ()
    draw: str = "lots"
    """By lots, or by "quota"; then `quota` says which shares that gave, and what it costs."""
    quota: QuotaDrawn | None = None


@dataclass(frozen=True)
class Asked:
    """Which codes are drawn, how, and where they and the ledger are kept; `of` has looked at all of it."""

    release: Release
    id: str | None
    arrange: Arrangement
    with_rows: bool
    chosen: Chosen
    target: Path
    force: bool
    book: Path
    progress: Progress | None

    @classmethod
    def of(
        cls,
        release: Release,
        table: Any,
        output: Any,
        ledger: Any,
        id: str | None,
        *,
        arrange: str,
        with_rows: bool,
        draw: str,
        quota_noise: float | str | None,
        force: bool,
        progress: Progress | None,
    ) -> Asked:
        """What `disclose_table` was asked; raises where two things cannot be together. The table is not opened."""
        arranged, chosen = check_arrangement(arrange, id), Chosen.of(draw, quota_noise)
        target, book = path_of(output), path_of(ledger)
        if target.suffix.lower() not in ENDINGS:
            raise ReleaseFileError(f"{target} is neither .parquet nor .csv.", "Choose one of these endings.")
        keep_apart({"the codes": target}, {"the ledger": book, "the table": table})
        return cls(release, id, arranged, with_rows, chosen, target, force, book, progress)

    def use(self, digest: str, rows: int, kind: identity.Kind | None) -> Use:
        """How the ledger knows this disclosure of a table with a digest, so many rows and identifiers of a kind."""
        after = self.release.recipe.after
        return Use(
            self.release.digest,
            digest,
            rows,
            None if after is None else after.digest,
            self.id,
            kind,
            key_check=self.release.key_check,
            draw=self.chosen.written,
        )

    def done(self, ledger: Ledger, quotas: Quotas | None, rows: int, dropped: int, unseen: int) -> Drawn:
        """What was done."""
        return Drawn(
            rows,
            rows - dropped,
            dropped,
            unseen,
            self.release.digest,
            self.id,
            self.arrange,
            self.with_rows,
            self.target,
            self.book,
            ledger.new,
            ledger.remarks,
            self.chosen.draw,
            None if quotas is None else told_of(quotas),
        )


def kind_of_id(source: Source, id: str) -> identity.Kind:
    """How a column writes identifiers; raises where it identifies nobody."""
    source.require([id], "id")
    if id.casefold() in (CODE, ROW):
        raise ColumnError(
            f"The identifier is named '{id}', like the column of {'codes' if id.casefold() == CODE else 'row numbers'} "
            "in what is written.",
            "Rename it.",
        )
    return identity.kind_of_column(source, id)
