"""Codes on their way to the disk: hidden and locked beside their name, which they get at once, when all is written."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from choral.errors import FileInTheWayError, ReleaseFileError
from choral.files import WRITTEN, check_output

ENDINGS = (".parquet", ".csv")


@contextmanager
def hidden_file(target: Path) -> Iterator[tuple[Path, int]]:
    """A hidden file beside the target, locked against other processes; it is gone afterwards, unless it got its name."""
    path = target.with_name(f".{target.name}.partial")
    handle = _locked(path, target)
    try:
        yield path, handle
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, target: Path) -> int:
    """The file at this path, locked: not one that another process moved away meanwhile, nor a second name of the target."""
    while True:
        with full_disk_in_words(target):
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise FileInTheWayError(f"Another process is writing {target}.", "Wait until it has ended.") from None
        mine = os.fstat(handle)
        if path.exists() and path.stat().st_ino == mine.st_ino:
            if mine.st_nlink == 1:
                return handle
            path.unlink()
        os.close(handle)


@contextmanager
def full_disk_in_words(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if isinstance(error, ReleaseFileError | FileInTheWayError):
            raise
        full = error.errno == errno.ENOSPC or "No space left" in str(error)
        what = "the disk is full" if full else str(error)
        raise ReleaseFileError(f"{target} cannot be written: {what}.", "Check the folder and free space.") from None


def put_file_in_place(hidden: Path, target: Path, force: bool) -> None:
    """Give the finished file its name, at once; without `force`, only if nobody took the name meanwhile."""
    with full_disk_in_words(target):
        if force:
            os.replace(hidden, target)
        else:
            try:
                os.link(hidden, target)
            except FileExistsError:
                check_output(target, force)
                raise
        _flush_folder(target.parent)
        WRITTEN.append(target)


def check_folder(target: Path, force: bool) -> None:
    """Raise unless a folder may be written here: its own folder exists, and nothing is in the way.

    `force` replaces a file or a folder of codes, and no folder that holds anything else.
    """
    if not target.is_dir():
        check_output(target, force)
    elif not force:
        raise FileInTheWayError(f"{target} exists.", "Choose another name, or say force=True (--force) to replace it.")
    shown = [part for part in target.iterdir() if part.name[0] not in "._"] if target.is_dir() else []
    if strange := [part.name for part in shown if part.is_dir() or part.suffix.lower() not in ENDINGS]:
        raise FileInTheWayError(
            f"{target} is a folder that holds more than codes: {strange[0]}.", "Choose another name."
        )


def flush_parts(folder: Path) -> None:
    """Everything in a folder that Spark wrote is on the disk, without Spark's own checksums and marks."""
    for part in folder.iterdir():
        if part.name[0] in "._":
            part.unlink()
            continue
        with part.open("rb") as file:
            os.fsync(file.fileno())
    _flush_folder(folder)


def put_folder_in_place(folder: Path, target: Path, force: bool, aside: Path) -> None:
    """Give the finished folder its name; what is there is moved aside first, if it may be replaced."""
    check_folder(target, force)
    if target.exists() or target.is_symlink():
        os.rename(target, aside)
    os.rename(folder, target)
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
