"""Who may talk to the studio, and what its pages may do.

Only this machine can connect (the server listens on loopback). Of what runs on this machine, other users' programs lack the
token, and pages of other sites lack it too and are told by their Origin; a name that someone pointed at
127.0.0.1 is told by its Host. Pages may load from the studio alone and run no code but its files.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
CLOSE = {"Connection": "close"}
UPLOAD, RELEASE = "/api/upload", "/api/release"
SMALL = 1 << 20
"""Bytes of any request but an upload of a table or of a release."""
TOKEN_BYTES = 32
"""Of the secret in the first address: 256 bits, so that nobody finds it by trying."""
GRACE = 20.0
"""Seconds in which a small body has arrived; a browser on this machine needs milliseconds."""
SLOWEST = 50_000
"""Bytes of a body in a second beyond these."""


@dataclass(frozen=True)
class Door:
    """The one address that the studio answers to, its token, and how much may be uploaded."""

    port: int
    token: str
    upload_bytes: int

    @classmethod
    def new(cls, port: int, upload_bytes: int) -> Door:
        """A door with a fresh token."""
        return cls(port, secrets.token_urlsafe(TOKEN_BYTES), upload_bytes)

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a browser on this machine calls the studio."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: cookies do not tell ports apart, so the name does."""
        return f"choral_studio_{self.port}"

    @property
    def address(self) -> str:
        """What the user opens."""
        return f"http://{self.hosts[0]}/?token={self.token}"


class Guard:
    """Everything passes here first; what is refused never reaches the studio."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _answer(send, *refusal)
            return
        fresh = scope["path"] == "/" and not self._has_cookie(headers)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                found = MutableHeaders(scope=message)
                found.update(HEADERS)
                if fresh:
                    found.append(
                        "Set-Cookie", f"{self.door.cookie}={self.door.token}; Path=/; HttpOnly; SameSite=Strict"
                    )
            await send(message)

        await self.app(scope, self._measured(scope, receive), with_headers)

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str, str] | None:
        """The status and the words with which a request is refused, or None."""
        if headers.getlist("host") not in [[host] for host in self.door.hosts]:
            return 421, "The studio answers only to its own address.", f"Open http://{self.door.hosts[0]}."
        origins = [f"http://{host}" for host in self.door.hosts]
        asking = scope["method"] in ("GET", "HEAD")
        if any(origin not in origins for origin in headers.getlist("origin")) or not (asking or "origin" in headers):
            return 403, "The request comes from another site.", "Use the studio's own page."
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and asking and _same(token, self.door.token):
            return None
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "The request comes from another site.", "Use the studio's own page."
        if not self._has_cookie(headers):
            return 401, "The studio needs its token.", "Open the address that `choral studio` printed when it started."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._most(scope):
            return 413, *self._too_large(scope)
        return None

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.door.cookie)
        except CookieError:
            return False
        return found is not None and _same([found.value], self.door.token)

    def _most(self, scope: Scope) -> int:
        return self.door.upload_bytes if scope["path"] in (UPLOAD, RELEASE) else SMALL

    def _too_large(self, scope: Scope) -> tuple[str, str]:
        most = self._most(scope)
        return f"This is larger than {size_in_words(most)}.", "Start with a larger --upload-limit, or use --folder DIR."

    def _measured(self, scope: Scope, receive: Receive) -> Receive:
        """`receive` that refuses to go on beyond the limit, whatever length was declared, and for a body that drips in."""
        most, got, more, waited = self._most(scope), 0, True, 0.0
        now = asyncio.get_running_loop().time

        async def measured() -> Message:
            nonlocal got, more, waited
            if not more:
                return await receive()
            asked = now()
            try:
                async with asyncio.timeout(GRACE + got / SLOWEST - waited):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The request did not arrive in time. Send it again.", CLOSE) from None
            waited += now() - asked  # for the client; what the studio does meanwhile is not the client's fault
            more = message.get("more_body", False)
            got += len(message.get("body", b""))
            if got > most:
                raise HTTPException(413, " ".join(self._too_large(scope)), CLOSE)
            return message

        return measured


def size_in_words(size: int) -> str:
    """A number of bytes as people say it.

    >>> size_in_words(200_000_000), size_in_words(1 << 20), size_in_words(10)
    ('200 MB', '1.05 MB', '10 bytes')
    """
    return f"{size / 1e6:.3g} MB" if size >= 10_000 else f"{size} bytes"


def _same(given: Iterable[str], token: str) -> bool:
    return any(secrets.compare_digest(text.encode(), token.encode()) for text in given)


async def _answer(send: Send, status: int, what: str, remedy: str) -> None:
    body = json.dumps({"error": what, "remedy": remedy}).encode()
    sent = {**HEADERS, "Content-Type": "application/json", "Content-Length": str(len(body)), **CLOSE}
    headers = [(name.lower().encode(), value.encode()) for name, value in sent.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
