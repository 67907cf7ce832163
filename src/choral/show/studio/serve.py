"""Start and end a studio: a socket on loopback, a private folder, and a server that logs nothing of the data."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path

from choral.errors import ChoralError
from choral.show.studio.security import Door

LOOPBACK = "127.0.0.1"


def serve(
    port: int, folder: Path | None, keep: Path | None, upload_bytes: int, ready: Callable[[Door, Path], None]
) -> None:
    """Serve until interrupted or told to end; port 0 takes a free one.

    When connections are accepted `ready` is called with the door and with a private page that leads there: a browser is
    given that page, since the arguments of programs, and so the token, are seen by everyone on the machine.
    """
    import uvicorn

    from choral.show.studio.app import create_app
    from choral.show.studio.workspace import Workspace, session_folder

    if folder is not None and not folder.is_dir():
        raise ChoralError(f"{folder} is no folder.", "Name a folder with tables: --folder DIR.")
    if keep is not None and keep.exists() and not keep.is_dir():
        raise ChoralError(f"{keep} is no folder.", "Name a folder for finished results: --keep DIR.")
    with _listening(port) as listening, session_folder() as session:
        door = Door.new(listening.getsockname()[1], upload_bytes)
        app = create_app(door, Workspace(session, folder, keep))
        config = uvicorn.Config(
            app, log_level="critical", access_log=False, server_header=False, timeout_graceful_shutdown=2
        )
        for ending in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(ending, signal.default_int_handler)
        ready(door, _leading_page(session, door))
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


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
