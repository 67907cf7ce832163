"""The files of `choral fit`: where they may be, and that all of them are written or none."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from choral.errors import FileInTheWayError
from choral.show.options import EXAMPLE

if TYPE_CHECKING:
    from choral.ledger.book import Ledger
    from choral.release.card import Card
    from choral.release.file import Release


def check_outputs(
    output: Path, card: Path | None, key: Path | None, read: dict[str, Any], ledger: Path | None, force: bool
) -> None:
    """Raise, before any work, unless release, card and key may be written where they are to be."""
    from choral.files import check_output, keep_apart
    from choral.ledger.book import beside
    from choral.release.file import OWN, check_replaceable

    books = [beside(output)] if ledger is None else [ledger, beside(output)]
    keep_apart({"the release": output, "the card": card, "the key": key}, {**read, "the ledger": books})
    for path in (output, card, key):
        if path is not None:
            check_output(path, force, () if path is card else OWN)
            for book in books:
                check_replaceable(path, book)


def save_all(
    release: Release,
    output: Path,
    key: Path | None,
    card: Path | None,
    public: Card | None,
    ledger: Path,
    force: bool,
    people: Mapping[str, Any],
) -> Ledger | None:
    """Write release, key, card and ledger, or none of them; the ledger that was used, if there is a card.

    The card takes its place last, once the ledger has it: a card that nobody remembers could be published twice.
    """
    from choral.files import whole_file
    from choral.ledger.book import open_ledger
    from choral.phases import to_the_end

    new = [path for path in (output, key) if path is not None and not path.exists()]
    with ExitStack() as last:
        try:
            if card is None or public is None:
                release.save(output, key, force=force)
                return None
            with whole_file(card, force, public=True) as hidden:
                hidden.write_text(public.text, encoding="utf-8")

                def save() -> None:
                    release.save(output, key, force=force)
                    last.enter_context(to_the_end())  # until the ledger has the card and the card its name

                with open_ledger(ledger) as book:
                    book.record_card(release, save, **people)
            return book
        except FileInTheWayError:
            raise
        except BaseException:
            for path in new:
                path.unlink(missing_ok=True)
            raise


def beside_here(table: str) -> Path:
    """Where a release is written unless told: in this folder, by the name of its table."""
    name = (
        table.removeprefix(EXAMPLE).replace(":", "-") if table.startswith(EXAMPLE) else Path(table.split("::")[-1]).stem
    )
    return Path(f"{name}.choral")
