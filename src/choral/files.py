"""Files that are written: whole or not at all, and never in place of what is read, however much it is forced."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from choral.errors import FileInTheWayError, ReleaseFileError

DATABASE = b"SQLite format 3\0"
"""How every SQLite file begins, a ledger of any name too."""
BESIDE = ("-journal", "-wal", "-shm", ".wal")
"""What SQLite and DuckDB keep beside a database; without it the database may be damaged."""

WRITTEN: list[Path] = []
"""Files that this process gave their names: what is left behind when somebody interrupts it."""


def state_folder() -> Path:
    """Where choral remembers for a user: `$XDG_STATE_HOME/choral`, else `~/.local/state/choral`."""
    state = os.environ.get("XDG_STATE_HOME", "")
    place = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return place / "choral"


def path_of(path: Any) -> Path:
    """The path that was given, if it is one."""
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise ReleaseFileError(f"{path!r} is not a path.", "Give the name of a file.")
    return Path(path)


def check_output(path: Path, force: bool, over: Collection[str] = ()) -> None:
    """Raise unless a file may be written here: its folder exists, and nothing is in the way (or `force`).

    What cannot be made again is not replaced by force either, unless its kind is in `over` (`kind_of`): without a ledger
    nobody refuses a second draw, and without a release and its key nobody completes or checks the codes of it.
    """
    if path.is_dir():
        raise ReleaseFileError(f"{path} is a folder.", "Name a file in it.")
    if not path.parent.is_dir():
        raise ReleaseFileError(f"There is no folder {path.parent}.", "Make it first.")
    if (path.exists() or path.is_symlink()) and not force:
        raise FileInTheWayError(f"{path} exists.", "Choose another name, or say force=True (--force) to replace it.")
    kind = kind_of(path) if force else None
    if kind is not None and kind not in over:
        raise FileInTheWayError(
            f"{path} holds a {kind}, which is not replaced by this, whatever is forced.", "Choose another name."
        )


def kind_of(path: Path) -> str | None:
    """What a file holds that cannot be made again: a "database", "release" (of a table), "disclosure" or "key"; or None."""
    try:
        with path.open("rb") as file:
            start = file.read(len(DATABASE))
        if start == DATABASE:
            return "database"
        document = json.loads(path.read_bytes()) if start.lstrip().startswith(b"{") else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    kinds = {"choral release": "release" if "recipe" in document else "disclosure", "choral key": "key"}
    return kinds.get(str(document.get("format")))


def keep_apart(outputs: Mapping[str, Path | None], inputs: Mapping[str, Any] | None = None) -> None:
    """Raise if a file to be written is one that is read, or two are one, whatever `force` says.

    The names say what a file is: "the codes". An input is a path, `database.duckdb::table`, or a list of them; anything
    else, such as a frame, is in no file. Two files are one where their paths lead to one place, or both are links to one
    file; and a folder stands for everything in it.
    """
    written = [(name, path) for name, path in outputs.items() if path is not None]
    for i, (name, path) in enumerate(written):
        for other, place in written[:i]:
            if _meet(path, place):
                raise FileInTheWayError(f"{path} is to hold {other} and {name}.", "Name two files.")
        for what, source in (inputs or {}).items():
            if any(_meet(path, place) for place in _files_of(source)):
                raise FileInTheWayError(
                    f"{path} is {what} itself, or a part of it, and is to hold {name}.",
                    "Choose another name: what a command reads is not replaced, whatever is forced.",
                )


def write_whole(
    path: Path, content: str | bytes, force: bool, over: Collection[str] = (), public: bool = False
) -> None:
    """Write a file for its owner's eyes, or a `public` one, atomically: afterwards it is whole, or as it was before."""
    with whole_file(path, force, over, public) as hidden:
        hidden.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


READABLE = 0o644
"""Who may read a public file: everybody; who may write it: its owner."""


@contextmanager
def whole_file(path: Path, force: bool, over: Collection[str] = (), public: bool = False) -> Iterator[Path]:
    """A hidden file beside this path that takes its place once it is written and on the disk.

    It is for its owner's eyes, unless it is `public`: then others may read it.
    """
    check_output(path, force, over)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
        try:
            os.close(handle)
            yield Path(name)
            with open(name, "rb") as file:
                os.fsync(file.fileno())
            if public:
                os.chmod(name, READABLE)
            if force:
                os.replace(name, path)
            else:
                os.link(name, path)
                os.unlink(name)
            WRITTEN.append(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except FileExistsError:
        check_output(path, force, over)
        raise
    except OSError as error:
        raise ReleaseFileError(f"{path} cannot be written: {error}.", "Check the folder and free space.") from error


def _files_of(source: Any) -> list[Path]:
    """The files that an input is in, with what a database keeps beside itself."""
    if isinstance(source, list | tuple):
        return [path for one in source for path in _files_of(one)]
    if not isinstance(source, str | os.PathLike) or not str(source):
        return []
    text = os.fspath(source)
    place = text.partition("::")[0] if isinstance(text, str) else os.fsdecode(text)
    return [Path(place), *(Path(place + ending) for ending in BESIDE)]


def _meet(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, or one is a folder that holds the other."""
    here, there = Path(os.path.realpath(one)), Path(os.path.realpath(other))
    if here == there or (here.is_dir() and here in there.parents) or (there.is_dir() and there in here.parents):
        return True
    if not (here.is_file() and there.exists()):
        return False
    parts = [part for part in there.iterdir() if part.is_file()] if there.is_dir() else [there]
    return any(here.samefile(part) for part in parts)
