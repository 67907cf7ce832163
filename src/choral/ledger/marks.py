"""What is noted of ledgers outside of them, in the user's state folder, so that an old copy is recognised."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from choral.files import state_folder, write_whole
from choral.ledger.identity import subkey


def _folder() -> Path | None:
    """Where the last seals are noted; None where the user has no home."""
    try:
        folder = state_folder() / "ledgers"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def mark_of(key: bytes) -> Path | None:
    """The file in which the last seal of the ledger with this key is noted, by a hash of the key; None where none can be."""
    folder = _folder()
    return None if folder is None else folder / f"{subkey(key, 'ledger mark').hex()[:32]}.json"


def read_mark(key: bytes) -> dict[str, Any] | None:
    """What was noted of a ledger; a note that cannot be read is none."""
    mark = mark_of(key)
    try:
        found = {} if mark is None else json.loads(mark.read_text(encoding="utf-8"))
        return {"entry": int(found["entry"]), "seal": str(found["seal"]), "ledger": str(found["ledger"])}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(key: bytes, entry: int, seal: bytes, place: str) -> bool:
    """Note a seal; whether that could be done. Where it fails, what was noted before is still true."""
    mark = mark_of(key)
    if mark is None:
        return False
    text = json.dumps({"entry": entry, "seal": seal.hex(), "ledger": place})
    try:
        if not mark.is_file() or mark.read_text(encoding="utf-8") != text:
            write_whole(mark, text, True)
    except (OSError, ValueError):
        return False
    return True


def marks_at(path: Path, key: bytes) -> list[int]:
    """How many entries ledgers had that were noted at this place, other than the one with this key."""
    folder, place, found, own = _folder(), str(path.absolute()), [], mark_of(key)
    for mark in [] if folder is None else folder.glob("*.json"):
        if mark == own:
            continue
        try:
            noted = json.loads(mark.read_text(encoding="utf-8"))
            if noted["ledger"] == place and int(noted["entry"]) > 0:
                found.append(int(noted["entry"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found
