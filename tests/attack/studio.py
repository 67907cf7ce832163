"""The studio: any request, other sites, other names for this machine, too large bodies, slow clients, and many at once.

Nothing that is asked gives a status of 500 or more; whoever lacks the token or comes from elsewhere gets nothing; after many
clients the memory is back, and at the end the folder is gone.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Thread
from unittest import mock

import httpx
from attack import forging
from attack.tally import Attack, Tally
from starlette.testclient import TestClient

from choral.show.studio import jobs, serve
from choral.show.studio.app import create_app
from choral.show.studio.connections import MOST
from choral.show.studio.security import SMALL, Door
from choral.show.studio.workspace import Workspace

PORT, LIMIT = 8123, 50_000
HOME = f"http://127.0.0.1:{PORT}"
PATIENCE = 120
"""Seconds for a child, on a busy machine."""
TABLE = "a,b,W\n" + "".join(f"{i % 2},{i // 2 % 2},{(i + i // 2) % 2}\n" for i in range(80))
QUESTION = {"table": 1, "question": {"roles": {"W": "reveal", "a": "protect", "b": "protect"}}}
GUESS = {"about": "a", "record": 1, "guess": 0}
ASKED = [
    ("GET", "/", None), ("GET", "/api/state", None), ("GET", "/curve.svg", None), ("GET", "/static/studio.css", None),
    ("POST", "/api/example/clinic", None), ("POST", "/api/file", None), ("POST", "/api/outlook", QUESTION),
    ("POST", "/api/stop", None),
    ("GET", "/api/results/x", None), ("GET", "/results/x/told.svg", None), ("GET", "/results/x/release.choral", None),
    ("POST", "/api/results/x/card", {}), ("POST", "/api/results/x/codes", {"ending": ".csv"}),
    ("POST", "/api/results/x/report", None),
    ("GET", "/api/results/x/game", None), ("POST", "/api/results/x/before", GUESS), ("POST", "/api/results/x/best", GUESS),
    ("POST", "/api/solve", QUESTION), ("POST", "/api/curve", QUESTION), ("POST", "/api/release?name=x", None),
    ("POST", "/api/upload?name=t.csv", None),
]  # fmt: skip
"""What the page asks."""
QUICK = [asked for asked in ASKED if asked[1] not in ("/api/solve", "/api/curve", "/api/release?name=x")]
"""Without what begins a search."""
HOSTS = [
    f"127.0.0.1:{PORT}",
    f"localhost:{PORT}",
    "evil.example",
    f"127.0.0.1.nip.example:{PORT}",
    "127.0.0.1",
    f"[::1]:{PORT}",
    "",
]
ORIGINS = [HOME, f"http://localhost:{PORT}", "http://evil.example", "null", f"https://127.0.0.1:{PORT}", None]
CHANGES = [("GET", "/api/state"), ("POST", "/api/upload?name=t.csv"), ("POST", "/api/stop?keep=false")]
QUERIES = ["keep=true", "keep=x", "name=..%2f..%2fetc", "name=", "token=", "name=%00.csv"]
PARTS = ["..", "%2e%2e", "x" * 300, "%00", "é", "'", "//", ".svg", "a b", "-1", "NaN", "%ff", "etc/passwd", "\\"]


@contextmanager
def entered(folder: Path):
    """A studio in this process, somebody who has entered, and its door; searches are not begun."""
    (folder / "session").mkdir(exist_ok=True)
    door, workspace = Door.new(PORT, LIMIT), Workspace(folder / "session")

    class Idle:
        def to_json(self):
            return {"idle": True}

    started = mock.patch.object(jobs.Jobs, "start", return_value=Idle())
    with started, mock.patch.object(jobs.Jobs, "prepare", return_value=None):
        app, options = create_app(door, workspace), {"headers": {"Origin": HOME}, "raise_server_exceptions": False}
        client = TestClient(app, base_url=HOME, **options)
        assert client.get(f"/?token={door.token}").status_code == 200
        yield client, door, workspace


@contextmanager
def served(folder: Path):
    """A studio in a thread of this process, on a socket, that prepares for no search: its door."""
    (folder / "session").mkdir()
    with mock.patch.object(jobs.Jobs, "prepare", return_value=None), socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        found.listen(512)
        door = Door.new(found.getsockname()[1], LIMIT)
        server = serve.server(create_app(door, Workspace(folder / "session")))
        thread = Thread(target=server.run, kwargs={"sockets": [found]})
        thread.start()
        try:
            yield door
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
        assert not thread.is_alive()


def any_request(draw: Random, folder: Path, tally: Tally) -> None:
    """Thirty requests that the page makes, changed anywhere."""
    with entered(folder) as (client, _, _workspace):
        client.post("/api/upload", params={"name": "t.csv"}, content=TABLE)
        for _ in range(30):
            method, path, body = draw.choice(ASKED)
            if draw.random() < 0.4:
                parts = path.split("/")
                parts[draw.randrange(1, len(parts))] = draw.choice(PARTS)
                path = "/" + "/".join(parts).lstrip("/")
            if draw.random() < 0.3:
                path += draw.choice(["?", "&"]) + draw.choice(
                    ["keep=true", "keep=x", "name=..%2f..%2fetc", "name=", "token=", "name=%00.csv"]
                )
            data: object = json.loads(json.dumps(body))
            if isinstance(data, dict) and data and draw.random() < 0.8:
                forging.at_random(data, draw)
            if draw.random() < 0.15:
                data = draw.choice(forging.ODD)
            content = draw.choice(
                [json.dumps(data).encode(), json.dumps(data).encode(), b"\xff\x00", b"[" * 5000, TABLE.encode()]
            )
            method = draw.choice([method, method, method, "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
            try:
                answer = client.request(method, path, content=content, headers={"Content-Type": "application/json"})
            except (httpx.InvalidURL, UnicodeError):
                continue
            tally.expect(
                answer.status_code < 500,
                "requests that are answered without a defect",
                f"{method} {path} {content[:300]!r}",
            )
            passwd = "root:" in answer.text
            tally.expect(not passwd, "requests that read no file of the machine", f"{method} {path}")


def other_sites(draw: Random, folder: Path, tally: Tally) -> None:
    """Requests with the names, origins and cookies of others: only the page's own get in."""
    with entered(folder) as (client, door, workspace):
        client.cookies.clear()
        for _ in range(40):
            host, origin = draw.choice(HOSTS), draw.choice(ORIGINS)
            site = draw.choice([None, "none", "same-origin", "same-site", "cross-site"])
            token = draw.choice([door.token, door.token[:-1], "", door.token + "x"])
            method, path = draw.choice(CHANGES)
            headers = {"Host": host, "Cookie": f"{door.cookie}={token}"}
            headers |= {"Origin": origin} if origin else {}
            headers |= {"Sec-Fetch-Site": site} if site else {}
            sent = client.build_request(method, path, content=TABLE if method == "POST" else None, headers=headers)
            if origin is None:
                sent.headers.pop("origin", None)
            answer = client.send(sent)
            own = host in door.hosts and token == door.token and site in (None, "none", "same-origin")
            own = own and (origin in (HOME, f"http://localhost:{PORT}") or (origin is None and method == "GET"))
            words = f"{method} {path} {headers} gave {answer.status_code}"
            tally.expect(
                own or answer.status_code in (401, 403, 421), "requests from elsewhere that are refused", words
            )
            tally.expect(
                not own or answer.status_code in (200, 422), "requests of the page itself that are answered", words
            )
        del workspace


def oversized(draw: Random, folder: Path, tally: Tally) -> None:
    """More than may be uploaded, said or not: refused, and nothing of it is kept."""
    with entered(folder) as (client, _, workspace):
        size = draw.choice([LIMIT + 1, 2 * LIMIT, 20 * LIMIT])
        data = b"a,b\n" + b"1,2\n" * (size // 4)
        declared = draw.random() < 0.5
        content = data if declared else (data[i : i + 4096] for i in range(0, len(data), 4096))
        answer = client.post("/api/upload", params={"name": "t.csv"}, content=content)
        tally.expect(
            answer.status_code == 413, "uploads beyond the limit that are refused", (size, declared, answer.status_code)
        )
        left = list((workspace.session / "uploads").iterdir())
        tally.expect(not left, "refused uploads of which nothing is kept", left)
        answer = client.post("/api/outlook", content=b"x" * (SMALL + 1), headers={"Content-Type": "application/json"})
        tally.expect(answer.status_code == 413, "bodies beyond the limit that are refused", answer.status_code)


@contextmanager
def running(folder: Path):
    """A studio in a process of its own: its process, its address and an open client's cookies."""
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "XDG_STATE_HOME": str(folder / "state")}
    command = [
        sys.executable,
        "-P",
        "-c",
        "from choral.show.cli import main; main()",
        "studio",
        "--json",
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield process, json.loads(process.stdout.readline())["url"], temporary
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def memory(process) -> int:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) // 1024


def slow_clients(draw: Random, folder: Path, tally: Tally) -> None:
    """Hundreds that send half a request, or a byte now and then, or read no answer: others are answered meanwhile."""
    with served(folder) as door, ExitStack() as stack:
        host, home, query = door.hosts[0], f"http://{door.hosts[0]}", f"token={door.token}"
        head = f"POST /api/outlook HTTP/1.1\r\nHost: {host}\r\nOrigin: {home}\r\nContent-Length: 100\r\n\r\n"
        whole = f"GET /?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        with httpx.Client(base_url=home, headers={"Origin": home}, timeout=PATIENCE) as client:
            client.get(f"/?{query}")
            slow = []
            for number in range(300):
                sent = draw.choice([head.encode(), whole, b"\x16\x03\x01" * 9])
                sent = draw.choice([sent[: draw.randrange(len(sent))], sent * draw.randrange(1, 9)])
                one = stack.enter_context(socket.create_connection(("127.0.0.1", door.port), PATIENCE))
                slow.append(one)
                with suppress(OSError):  # among so many the studio may have ended it already
                    one.sendall(sent)
                    draw.choice(slow).sendall(b"x")
                if number % 20 == 0:
                    asked = [("GET", "/api/state"), ("POST", "/api/upload?name=t.csv")][number // 20 % 2]
                    answer = client.request(*asked, content=TABLE if asked[0] == "POST" else None)
                    words = f"{asked} after {number} slow ones gave {answer.status_code}"
                    tally.expect(answer.status_code == 200, "slow clients: others are answered meanwhile", words)
            end = time.monotonic() + PATIENCE
            while len(held := [one for one in slow if not ended(one)]) > MOST and time.monotonic() < end:
                time.sleep(0.1)
            tally.expect(len(held) <= MOST, "slow clients: no more are kept than a process can hold", len(held))


def ended(one: socket.socket) -> bool:
    """Whether the other side has ended a connection; what it said before is read."""
    one.setblocking(False)
    try:
        while one.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def visit(home: str, query: str, number: int, seconds: float) -> list[int]:
    """One client of many, for so long: the statuses of its answers."""
    chance, end = Random(number), time.monotonic() + seconds
    with httpx.Client(base_url=home, headers={"Origin": home}, timeout=PATIENCE) as client:
        statuses = [client.get(f"/?{query}").status_code]
        while time.monotonic() < end:
            method, path, body = chance.choice(QUICK)
            content = TABLE if path.startswith("/api/upload") else None if body is None else json.dumps(body)
            statuses.append(client.request(method, path, content=content).status_code)
    return statuses


def many_clients(draw: Random, folder: Path, tally: Tally) -> None:
    """Many clients for a while: fifty for a minute, or eight for two seconds in `make test`.

    None tries again: a request that gets no answer, whatever the reason, is a finding.
    """
    clients, seconds = (50, 60.0) if os.environ.get("CHORAL_EXPLORE") else (8, 2.0)
    with running(folder) as (process, url, temporary):
        home, _, query = url.partition("/?")
        with httpx.Client(base_url=home, headers={"Origin": home}, timeout=PATIENCE) as first:
            first.get(f"/?{query}")
            first.post("/api/upload", params={"name": "t.csv"}, content=TABLE)
            first.post("/api/outlook", json=QUESTION)
        before = memory(process)
        with ThreadPoolExecutor(clients) as many:
            visits = [many.submit(visit, home, query, draw.randrange(10**9), seconds) for _ in range(clients)]
        after = memory(process)
        for done in visits:
            lost = done.exception()
            tally.expect(lost is None, "many clients: every request of a client is answered", repr(lost))
            if lost is None:
                worst = max(done.result())
                tally.expect(worst < 500, "many clients: no answer to a client says that there is a defect", worst)
                tally.note("many clients: answers", len(done.result()))
        tally.expect(after < before + 100, "many clients: the memory is back, within 100 megabytes", (before, after))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        tally.expect(process.returncode == 0, "many clients: the studio ends well", process.returncode)
        left = list(temporary.glob("choral-studio-*"))
        tally.expect(not left, "many clients: its folder is gone", left)


def by_schema(draw: Random, folder: Path, tally: Tally) -> None:
    """Schemathesis asks whatever the description of the interface allows, and what it does not."""
    python = os.environ.get("ATTACK_PYTHON")
    if not python:
        tally.note("schemathesis is not here: make attack brings it")
        return
    with running(folder) as (process, url, _):
        home, _, query = url.partition("/?")
        with httpx.Client(base_url=home, headers={"Origin": home}, timeout=PATIENCE) as client:
            client.get(f"/?{query}")
            client.post("/api/upload", params={"name": "t.csv"}, content=TABLE)
            cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "session").mkdir()
            schema = create_app(Door.new(PORT, LIMIT), Workspace(Path(name) / "session")).openapi()
        (folder / "openapi.json").write_text(json.dumps(schema), encoding="utf-8")
        command = [str(Path(python).with_name("st")), "run", "openapi.json", "--url", home,
                   "-H", f"Cookie: {cookie}", "-H", f"Origin: {home}",
                   "--checks", "not_a_server_error", "--max-examples", "25", "--phases", "examples,coverage,fuzzing",
                   "--seed", str(draw.randrange(10**6)), "--no-color"]  # fmt: skip
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
        counted = re.search(r"([\d,]+) generated", done.stdout)
        tally.expect(done.returncode == 0, "runs of schemathesis without a defect", done.stdout[-3000:])
        tally.note("requests of schemathesis", int(counted[1].replace(",", "")) if counted else 0)
        tally.expect(
            process.poll() is None, "runs of schemathesis after which the studio still answers", process.poll()
        )


ATTACKS = [
    Attack("studio", any_request, short=3, share=1),
    Attack("studio", other_sites, short=2, share=0.5),
    Attack("studio", oversized, short=2, share=0.3),
    Attack("studio", slow_clients, short=1, share=0.2),
    Attack("studio", many_clients, short=1, share=0.1),
    Attack("studio", by_schema, short=1, share=0.1),
]
