"""The folders of a studio: a private one for this session that is removed at its end, and one for what is finished.

Uploads and examples live in the session's folder. Finished results live in the folder that `--keep` names, or else in the
session's. A session that was killed leaves its folder behind; the next one removes it, since nobody holds its lock.

What was handed out is remembered longer than any of these: in one ledger for the user, unless another one is named.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from choral.errors import ChoralError, ColumnError, LawError
from choral.files import state_folder
from choral.ledger.book import NAME
from choral.show.studio import result
from choral.show.studio.samples import sample
from choral.show.studio.tables import Opened, open_facts, shown
from choral.tables.source import READERS

PREFIX = "choral-studio-"
LOCK = "lock"
MOST_LISTED = 500
"""Files of the allowed folder that are listed."""
BEFORE: dict[str, Any] = {
    "said": "",
    "guesses": [],
    "against": [],
    "utility": "bits",
    "learned": False,
    "to_come": None,
    "remarks": [],
    "warnings": [],
    "copies": {},
}
"""What results of earlier versions, in folders that are kept, do not say."""
MOST_TABLES = 50
"""Tables that are open: the page is told about all of them."""


@contextmanager
def session_folder(within: Path | None = None) -> Iterator[Path]:
    """A new private folder, removed at the end; folders of sessions that were killed are removed first."""
    place = Path(tempfile.gettempdir()) if within is None else within
    for left in place.glob(f"{PREFIX}*"):
        if left.is_dir() and not left.is_symlink() and left.stat().st_uid == os.getuid() and not _held(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _held(folder: Path) -> bool:
    """Whether a session lives in this folder; one that has no lock yet is about to."""
    try:
        with (folder / LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def usual_ledger(keep: Path | None = None) -> Path:
    """The ledger of whoever named none: one for all studios of a user, so that none of them forgets what another told.

    It is in the user's folder for state (`$XDG_STATE_HOME`, else ~/.local/state). A folder of kept results that has a
    ledger goes on with that one: it knows what was told of them.
    """
    if keep is not None and (keep / NAME).exists():
        return keep / NAME
    return state_folder() / "studio.ledger"


class Workspace:
    """Tables that were opened, results that are finished, and the ledger of what was handed out."""

    def __init__(
        self, session: Path, folder: Path | None = None, keep: Path | None = None, ledger: Path | None = None
    ) -> None:
        self.session = session
        self.folder = None if folder is None else folder.resolve()
        self.keep = keep
        self.book = usual_ledger(keep) if ledger is None else ledger
        self.place = session / "results" if keep is None else keep
        self.tables: dict[int, Opened] = {}
        self._lock = Lock()
        for path in (self.place, session / "uploads", session / "examples"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.sweep()

    # ---- tables ---------------------------------------------------------------------------------------------------

    def new_upload(self, name: str) -> Path:
        """Where an upload of this name is to be written."""
        ending = Path(name).suffix.lower()
        if ending not in READERS:
            raise LawError(
                f"'{shown(name)}' is not a {', '.join(READERS)} file.",
                "Save the table as one of these.",
            )
        return self.new_file(ending)

    def new_file(self, ending: str) -> Path:
        """A new private file for what is uploaded."""
        handle, path = tempfile.mkstemp(suffix=ending, dir=self.session / "uploads")
        os.close(handle)
        return Path(path)

    def add(self, name: str, path: Path, origin: str) -> Opened:
        """Look at a table and remember it, under a number of its own however many are opened at once."""
        found = open_facts(shown(name), path, origin)
        with self._lock:
            if len(self.tables) >= MOST_TABLES:
                raise ChoralError(f"{MOST_TABLES} tables are open.", "End the studio and start it again.")
            number = len(self.tables) + 1
            self.tables[number] = opened = replace(found, number=number)
        return opened

    def opened(self) -> list[Opened]:
        """All tables that are open, the oldest first."""
        with self._lock:
            return list(self.tables.values())

    def add_example(self, name: str) -> Opened:
        """Open an invented table."""
        return self.add(name, sample(name).write(self.session / "examples"), "example")

    def add_file(self, name: str) -> Opened:
        """Open a file of the allowed folder; raises for whatever lies outside it, also by links."""
        if self.folder is None:
            raise ChoralError("No folder was allowed.", "Upload the table, or start: choral studio --folder DIR.")
        path = Path(os.path.realpath(self.folder / name.replace("\0", "")))
        if "::" in name or "\0" in name or not path.is_relative_to(self.folder):
            raise ChoralError(f"'{shown(name)}' is not in the allowed folder.", "Choose a file from the list.")
        if path.suffix.lower() not in READERS:
            raise ChoralError(f"'{shown(name)}' is no table.", f"Choose one of {', '.join(READERS)}.")
        return self.add(name, path, "folder")

    def files(self) -> list[str]:
        """Tables in the allowed folder, without hidden ones, links that lead out of it, and what the studio keeps itself."""
        found: list[str] = []
        if self.folder is None:
            return found
        for where, folders, names in os.walk(self.folder):
            here = Path(where)
            folders[:] = sorted(
                x for x in folders if not x.startswith(".") and (here / x).resolve() != self.place.resolve()
            )
            for name in sorted(names):
                path = here / name
                inside = Path(os.path.realpath(path)).is_relative_to(self.folder)
                if path.suffix.lower() in READERS and not name.startswith(".") and inside:
                    found.append(str(path.relative_to(self.folder)))
                    if len(found) == MOST_LISTED:
                        return found
        return found

    def table(self, number: int) -> Opened:
        """An opened table."""
        if number not in self.tables:
            raise ColumnError(f"Table {number} is not open.", "Open it again.")
        return self.tables[number]

    def table_of(self, name: str) -> Opened:
        """The table that a result was made for; raises if it is not open now."""
        digest = self.view(name)["table"]["digest"]
        for opened in reversed(self.opened()):
            if opened.digest == digest:
                return opened
        raise ChoralError("The table of this result is not open.", "Open that very table again, and then ask again.")

    def ledger(self, view: dict[str, Any]) -> Path:
        """Where it is recorded what was handed out of a result. Invented people are nobody: theirs is beside the results."""
        table = view["table"]
        return self.place / f"example-{table['name']}.ledger" if table["origin"] == "example" else self.book

    # ---- results --------------------------------------------------------------------------------------------------

    def results(self) -> list[str]:
        """Finished results, the oldest first."""
        found = [path.name for path in self.place.glob("result-*") if (path / result.VIEW).is_file()]
        return sorted(found, key=lambda name: int(name.removeprefix("result-")))

    def new_result(self) -> Path:
        """The folder of the next result, which does not exist yet."""
        taken = [int(m[1]) for path in self.place.iterdir() if (m := re.fullmatch(r"result-(\d+)", path.name))]
        return self.place / f"result-{max(taken, default=0) + 1}"

    def result(self, name: str) -> Path:
        """The folder of a finished result."""
        if name not in self.results():
            raise ColumnError(f"There is no result '{shown(name)}'.", "Choose one that is listed.")
        return self.place / name

    def view(self, name: str) -> dict[str, Any]:
        """What the page shows about a result."""
        folder = self.result(name)
        view: dict[str, Any] = json.loads((folder / result.VIEW).read_text(encoding="utf-8"))
        pictures = result.read(folder, result.PICTURED, {})
        return {**BEFORE, **view, "name": name, "pictures": pictures}

    def sweep(self) -> None:
        """Remove what an ended search left unfinished."""
        for path in self.place.glob(".result-*.partial"):
            shutil.rmtree(path, ignore_errors=True)
