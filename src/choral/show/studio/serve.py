"""Start and end a studio: a socket on loopback, a private folder, and a server that logs nothing of the data."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from choral.errors import ChoralError
from choral.show.studio.security import Door

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

LOOPBACK = "127.0.0.1"


def serve(
    port: int,
    folder: Path | None,
    keep: Path | None,
    upload_bytes: int,
    ready: Callable[[Door, Path, Path], None],
    ledger: Path | None = None,
) -> None:
    """Serve until interrupted or told to end; port 0 takes a free one.

    When connections are accepted `ready` is called with the door, with a private page that leads there (a browser is
    given that page, since the arguments of programs, and so the token, are seen by everyone on the machine) and with
    the ledger. A `ledger` that is named and cannot be used is refused before that.
    """
    from choral.ledger.book import open_ledger
    from choral.show.studio.app import create_app
    from choral.show.studio.workspace import Workspace, session_folder

    if folder is not None and not folder.is_dir():
        raise ChoralError(f"{folder} is no folder.", "Name a folder with tables: --folder DIR.")
    if keep is not None and keep.exists() and not keep.is_dir():
        raise ChoralError(f"{keep} is no folder.", "Name a folder for finished results: --keep DIR.")
    if ledger is not None and not ledger.parent.is_dir():
        raise ChoralError(f"{ledger.parent} is no folder.", "Name a file in a folder that is there: --ledger PATH.")
    with _listening(port) as listening, session_folder() as session:
        door = Door.new(listening.getsockname()[1], upload_bytes)
        workspace = Workspace(session, folder, keep, ledger)
        if workspace.book.exists():  # one that cannot be read is refused now, not when something is to be handed out
            with open_ledger(workspace.book):
                pass
        app = create_app(door, workspace)
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.default_int_handler)
        ready(door, _leading_page(session, door), workspace.book)
        with suppress(KeyboardInterrupt):
            server(app).run(sockets=[listening])


def server(app: FastAPI) -> uvicorn.Server:
    """A server that writes no log and does not wait for slow clients."""
    import uvicorn

    from choral.show.studio.connections import Connection

    config = uvicorn.Config(
        app, http=Connection, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=2
    )
    return uvicorn.Server(config)


def _leading_page(session: Path, door: Door) -> Path:
    page = session / "open.html"
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(door.address)}">', encoding="utf-8"
    )
    return page


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen()
    except (OSError, OverflowError) as error:
        found.close()
        raise ChoralError(
            f"Port {port} cannot be used: {error}.", "Name another, or 0 for any free one: --port."
        ) from None
    return found
