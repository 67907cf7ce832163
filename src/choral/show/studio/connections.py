"""Connections whose client keeps the studio waiting are closed, so that no number of them stops it from answering others.

A connection has `WAIT` seconds from its beginning, or from the end of the last answer, to send the head of a request,
however slowly it drips in. When there are more than `MOST` of them, the one that has waited longest goes first. How long
the body of a request may take is the guard's matter (`choral.show.studio.security`).
"""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

WAIT = 10.0
"""Seconds; a browser sends the head of a request at once."""
MOST = 200
"""Connections; a browser opens six, and a process may hold 1024 files on most machines."""


class Connection(H11Protocol):
    """A connection to a client that may not dawdle."""

    _deadline: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, in place of whoever has waited longest if there are too many."""
        super().connection_made(transport)
        self._expect()
        waiting = [one for one in cast("set[Connection]", self.connections) if one.idle]
        if len(self.connections) > MOST and waiting:
            min(waiting, key=lambda one: one._deadline.when()).transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._deadline.cancel()
        self._expect()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect(self) -> None:
        self._deadline = self.loop.call_later(WAIT, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.idle:
            self.transport.abort()
