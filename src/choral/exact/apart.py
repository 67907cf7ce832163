"""The stand-alone verifier in a process of its own, for documents of many states: there it may fork, a process for each core.

Here it may not. This process has threads (of linear algebra, of a notebook, of DuckDB or Spark), and whoever forks beside
threads may leave a lock locked for ever. A new interpreter has one thread and nothing but the standard library, and what it
runs is the very file that people copy. The document is written to it as it is made, so that its text is never whole here.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from choral.verifier import JOINED, slices
from choral.verifier.claims import ClaimFailed

INPUT = "/dev/stdin"
"""What the verifier opens to read what is written to it."""
PATIENCE = 5.0
"""Seconds that it gets to end its own children where this process is interrupted."""


def verified_apart(pieces: Iterable[str], states: int) -> dict[str, Any] | None:
    """What the verifier finds in the text that is the sum of some pieces, or None where one process must do.

    None says nothing of the document: there are few states, or one core, or the other process was lost. Raises `ClaimFailed`
    with the claim that fails.
    """
    said, status = said_apart(pieces, states, ["--json"]) or ("", None)
    try:
        found: dict[str, Any] = json.loads(said)
        if status == 0 and found["verified"] is True:
            return found
        failed = ClaimFailed(found["claim"], found["reason"]) if status == 1 else None
    except (KeyError, TypeError, ValueError):  # it is another program that answers
        return None
    if failed is not None:
        raise failed
    return None


def said_apart(pieces: Iterable[str], states: int, options: Sequence[str]) -> tuple[str, int] | None:
    """What the verifier prints with these options about such a text, and its status; None where there is no such process.

    Whoever reads it sees whether it came to its end.
    """
    if slices.most_processes(states) < 2 or not sys.executable or not Path(INPUT).exists():
        return None
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", str(JOINED), INPUT, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        with child.stdin as pipe:
            for piece in pieces:
                pipe.write(piece.encode())
        said = child.stdout.read()
        status = child.wait()
    except BrokenPipeError:
        return None
    finally:
        _end(child)
        child.stdout.close()
    return said.decode(errors="replace"), status


def _end(child: subprocess.Popen[bytes]) -> None:
    """See to it that it is gone, with its own children."""
    if child.poll() is not None:
        return
    child.send_signal(signal.SIGINT)
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
