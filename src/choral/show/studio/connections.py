"""Connections whose client keeps the studio waiting are closed, so that no number of them stops it from answering others.

A connection has `WAIT` seconds from its beginning, or from the end of the last answer, to send the head of a request,
however slowly it drips in. When there are more than `MOST` of them, the one that has waited longest goes first, and who was
answered before goes last. How long the body of a request may take is the guard's matter (`choral.show.studio.security`).

What has arrived is read before anybody is taken to be silent. On a busy machine seconds may lie between the arrival of a
request and its reading; a connection that is closed with a request unread is reset, and an honest client loses its answer.
"""

from __future__ import annotations

import asyncio
import select
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

WAIT = 60.0
"""Seconds. A browser sends the head of a request at once, but the machine may have much else to do, and a connection that is
ended just when it is used again costs the client a request: so not few."""
MOST = 200
"""Connections; a browser opens six, and a process may hold 1024 files on most machines."""


class Connection(H11Protocol):
    """A connection to a client that may not dawdle."""

    _deadline: asyncio.TimerHandle
    _answered = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, in place of whoever has waited longest if there are too many."""
        super().connection_made(transport)
        self._expect()
        there = [one for one in cast("set[Connection]", self.connections) if not one.transport.is_closing()]
        waiting = [one for one in there if one.idle]
        if len(there) > MOST and waiting:
            min(waiting, key=lambda one: (one._answered, one._deadline.when())).transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._answered = True
        self._deadline.cancel()
        self._expect()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        """Nothing: the one deadline is for the first request and for later ones."""

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

    def _close_if_idle(self, first: bool = True) -> None:
        if not self.idle:
            return
        if first and self._has_unread():  # what is there is read before the next look, and a whole head is a request
            self._deadline = self.loop.call_later(0, self._close_if_idle, False)
        else:
            self.transport.abort()

    def _has_unread(self) -> bool:
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))
