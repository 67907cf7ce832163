"""The key of a release: how a file of its own holds it, and what a release says of a key that lives apart."""

from __future__ import annotations

import json
import os
from pathlib import Path

from choral.errors import ReleaseFileError
from choral.ledger.identity import subkey

KEY_FORMAT = "choral key"
KEY_CHECK = "key check"


def check_of(key: bytes) -> str:
    """The check value of a key: 128 bits of a keyed hash, of a purpose of its own."""
    return subkey(key, KEY_CHECK).hex()[:32]


def read_key(path: str | os.PathLike[str], digest: str) -> bytes:
    """The key in a file, of the release with this digest."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
        if document["format"] != KEY_FORMAT:
            raise ValueError("it is of another format")
        key = bytes.fromhex(document["key"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReleaseFileError(f"{path} is not a key file: {error}.", "Give the file that --key wrote.") from None
    if document.get("release") != digest:
        raise ReleaseFileError(f"{path} is the key of another release.", "Give the key that was written with this one.")
    return key


def bytes_of(text: str) -> bytes:
    """What a hexadecimal text says, which has one spelling; raises `ValueError` or `TypeError` for others."""
    found = bytes.fromhex(text)
    if found.hex() != text:
        raise ValueError("not as it is written")
    return found
