"""Clients that keep the studio waiting, and clients that it must not mistake for such."""

from __future__ import annotations

import asyncio
import queue
import socket
import time
from contextlib import ExitStack, suppress

import pytest

pytest.importorskip("fastapi")

import httpx
from attack import studio

from choral.show.studio import connections, security
from choral.show.studio.connections import Connection
from choral.show.studio.security import Door, Guard

PATIENCE = 120
"""Seconds that anything may take, on a busy machine."""
LIMIT = 100_000


@pytest.fixture
def made():
    """A queue of the connections that the studio accepts."""
    found, plain = queue.Queue(), Connection.connection_made

    def noted(self, transport):
        plain(self, transport)
        found.put(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Connection, "connection_made", noted)
        yield found


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """The address of a studio in a thread, on a socket, and its door."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with studio.served(tmp_path) as door:
        yield ("127.0.0.1", door.port), door


def test_half_open_requests_are_closed_and_others_are_answered_meanwhile(listening, monkeypatch):
    """Nothing sent, half a head, a head that drips in, and half a body: each is ended by the studio."""
    monkeypatch.setattr(connections, "WAIT", 1.0)
    monkeypatch.setattr(security, "GRACE", 1.0)
    address, door = listening
    parts = [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nX: ", half_a_body(door)]
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(75) for _ in parts]
        for one, part in zip(opened, parts * 75, strict=True):
            with suppress(OSError):  # among so many the studio may have ended it already
                one.sendall(part)
        with httpx.Client(base_url=f"http://127.0.0.1:{door.port}", timeout=PATIENCE) as other:
            assert other.get(f"/?token={door.token}").status_code == 200
            assert other.get("/api/state").status_code == 200
        ended = [received(one) for one in opened]
    assert set(ended[0::4]) | set(ended[1::4]) | set(ended[2::4]) == {b""}
    for said in ended[3::4]:
        assert said == b"" or said.startswith(b"HTTP/1.1 408 ")
    assert any(ended[3::4]), "half a body is answered in words"


def half_a_body(door):
    home = f"127.0.0.1:{door.port}"
    head = f"POST /api/outlook HTTP/1.1\r\nHost: {home}\r\nOrigin: http://{home}\r\nContent-Length: 9999\r\n"
    return f'{head}Cookie: {door.cookie}={door.token}\r\nContent-Type: application/json\r\n\r\n{{"table'.encode()


@pytest.mark.parametrize("part", [lambda door: b"GET / HTTP/1.1\r\nX: ", half_a_body], ids=["head", "body"])
def test_drops_do_not_buy_time(listening, monkeypatch, part):
    """A head, and a body, that arrive by the byte are ended as if nothing had come."""
    monkeypatch.setattr(connections, "WAIT", 0.5)
    monkeypatch.setattr(security, "GRACE", 0.5)
    address, door = listening
    with socket.create_connection(address, PATIENCE) as slow, suppress(ConnectionError):
        slow.sendall(part(door))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            slow.sendall(b"x")
            time.sleep(0.05)
        pytest.fail("the studio still listens")


def received(connection):
    """All that comes until the other side ends it, which it has to."""
    said = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            said += part
    return said


# ---- clients that are not slow -----------------------------------------------------------------------------------------


def head_of(door):
    return f"GET /?token={door.token} HTTP/1.1\r\nHost: 127.0.0.1:{door.port}\r\n\r\n".encode()


def answered(one):
    """The status of the next answer, and all of it read."""
    said = b""
    while b"</html>" not in said:
        part = one.recv(1 << 16)
        assert part, "the studio ended the connection"
        said += part
    return int(said.split()[1])


@pytest.mark.parametrize("requests", [0, 1])
@pytest.mark.parametrize("ending", ["_close_if_idle", "timeout_keep_alive_handler"])
def test_a_request_that_lies_unread_when_the_time_is_over_is_answered(listening, made, requests, ending):
    """It arrives after the loop has looked for what arrived, and before the deadline is run: in the same turn of the loop."""
    address, door = listening
    with socket.create_connection(address, PATIENCE) as one:
        connection = made.get(timeout=PATIENCE)
        for _ in range(requests):
            one.sendall(head_of(door))
            assert answered(one) == 200

        def at_once():
            connection._deadline.cancel()
            past = connection.loop.time() - 1
            connection.loop.call_at(past, one.sendall, head_of(door))
            connection._deadline = connection.loop.call_at(past + 0.5, getattr(connection, ending))

        connection.loop.call_soon_threadsafe(at_once)
        assert answered(one) == 200


def test_bytes_that_lie_unread_when_the_time_is_over_do_not_buy_time(listening, made):
    address, _ = listening
    with socket.create_connection(address, PATIENCE) as one:
        connection = made.get(timeout=PATIENCE)

        def at_once():
            past = connection.loop.time() - 1
            connection.loop.call_at(past, one.sendall, b"GET / HT")
            connection.loop.call_at(past + 0.5, connection._close_if_idle)

        connection.loop.call_soon_threadsafe(at_once)
        assert received(one) == b""


def test_among_too_many_who_was_answered_goes_last(listening, made, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 5)
    address, door = listening
    with ExitStack() as stack:
        known = stack.enter_context(socket.create_connection(address, PATIENCE))
        known.sendall(head_of(door))
        assert answered(known) == 200
        loop = made.get(timeout=PATIENCE).loop
        loop.call_soon_threadsafe(time.sleep, 0.2)  # so that it accepts several of the strangers in one turn
        strangers = [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(8)]
        assert [received(one) for one in strangers[:4]] == [b""] * 4
        known.sendall(head_of(door))
        assert answered(known) == 200


@pytest.mark.parametrize("slow", ["studio", "client"])
def test_the_time_for_a_body_is_that_of_the_client(monkeypatch, slow):
    """However long the studio takes to write a part down, the next one has its time."""
    monkeypatch.setattr(security, "GRACE", 1.0)

    async def receive():
        await asyncio.sleep(1.2 if slow == "client" else 0)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def all_of_it():
        parts = Guard(None, Door.new(1, LIMIT))._measured({"path": security.UPLOAD}, receive)
        for _ in range(2):
            await parts()
            await asyncio.sleep(1.2 if slow == "studio" else 0)

    if slow == "client":
        with pytest.raises(Exception, match="did not arrive in time"):
            asyncio.run(all_of_it())
    else:
        asyncio.run(all_of_it())
