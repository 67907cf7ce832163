"""The studio without a browser: who may talk to it, what it refuses, and that its numbers are the library's."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

import httpx
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import choral as ch
from choral.errors import ChoralError, ProblemError
from choral.release.card import card_of
from choral.release.file import load_release
from choral.release.fit import fit, pose_table
from choral.show.studio import curve, jobs, result, serve, worker
from choral.show.studio.app import create_app
from choral.show.studio.game import Game
from choral.show.studio.question import Choices, outlook
from choral.show.studio.samples import SAMPLES
from choral.show.studio.security import HEADERS, Door
from choral.show.studio.workspace import Workspace, session_folder
from choral.tables.opening import open_table

PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"
LIMIT = 100_000
SECRET = "marker-5f1d"
PATIENCE = 120
"""Seconds that another process may take for anything, on a busy machine."""

CLINIC = {"diagnosis": "reveal", "pressure": "protect", "glucose": "protect", "smoker": "protect"}


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Where studios of the test have their ledger."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "choral" / "studio.ledger"


@pytest.fixture
def door():
    return Door.new(PORT, LIMIT)


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "session").mkdir()
    return Workspace(tmp_path / "session")


@pytest.fixture
def stranger(door, workspace):
    """Somebody without a token."""
    return TestClient(create_app(door, workspace), base_url=HOME)


@pytest.fixture
def client(door, workspace):
    return entered(door, workspace)


def entered(door, workspace, **rest):
    found = TestClient(create_app(door, workspace), base_url=HOME, headers={"Origin": HOME}, **rest)
    assert found.get(f"/?token={door.token}").status_code == 200
    return found


def upload(client, text, name="table.csv"):
    return client.post("/api/upload", params={"name": name}, content=text.encode() if isinstance(text, str) else text)


# ---- who may talk to it ----------------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_told(stranger, door):
    for path in (
        "/",
        "/?token=",
        "/?token=x",
        f"/?token={door.token[:-1]}",
        "/api/state",
        "/static/main.js",
        "/nowhere",
    ):
        answer = stranger.get(path)
        assert answer.status_code == 401, path
        assert "choral studio" in answer.json()["remedy"]
        assert "set-cookie" not in answer.headers
    assert stranger.get("/api/state", params={"token": door.token}).status_code == 401, "the token opens the page alone"
    assert stranger.get("/api/state", headers={"Cookie": f"{door.cookie}=x"}).status_code == 401


def test_the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(stranger, door):
    answer = stranger.get(f"/?token={door.token}")
    flags = [part.strip() for part in answer.headers["set-cookie"].split(";")]
    assert flags[0] == f"{door.cookie}={door.token}"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(flags)
    assert door.token not in answer.text
    assert stranger.get("/api/state").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        "",
    ],
)
def test_a_name_that_points_here_is_refused(client, door, host):
    for path in ("/api/state", f"/?token={door.token}"):
        assert client.get(path, headers={"Host": host}).status_code == 421
    assert client.get("/api/state", headers={"Host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"http://127.0.0.1:{PORT + 1}", f"https://127.0.0.1:{PORT}"]
)
def test_other_sites_are_refused(client, origin):
    assert client.post("/api/example/clinic", headers={"Origin": origin}).status_code == 403
    assert client.get("/api/state", headers={"Origin": origin}).status_code == 403


def test_what_changes_something_needs_an_origin(client):
    del client.headers["Origin"]
    assert client.post("/api/example/clinic").status_code == 403
    assert client.get("/api/state").status_code == 200
    assert client.get("/api/state", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert client.get("/api/state", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_sockets_are_refused(client):
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect("/api/state", headers={"Host": f"127.0.0.1:{PORT}"}),
    ):
        pass


def test_every_answer_carries_the_policy(client, stranger, door):
    answers = [client.get(path) for path in ("/", "/api/state", "/static/main.js", "/static/studio.css", "/nowhere")]
    answers += [stranger.get("/"), upload(client, "x" * (LIMIT + 1)), upload(client, "")]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert "*" not in policy


def test_the_page_has_nothing_that_the_policy_would_stop(client):
    page = client.get("/").text
    assert "style=" not in page
    assert "onclick" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    for path in Path(worker.__file__).parent.joinpath("static").iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not {
            word
            for word in ("http:", "https:", "innerHTML", "eval(", "Function(", "insertAdjacentHTML")
            if word in text
        }


def test_there_are_no_pages_about_the_interface(client):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert client.get(path).status_code == 404


# ---- sizes and paths -----------------------------------------------------------------------------------------------


def test_uploads_are_limited_whatever_they_declare(client, workspace):
    declared = client.post(
        "/api/upload", params={"name": "t.csv"}, content=b"a,b\n", headers={"Content-Length": str(10 * 2**30)}
    )
    streamed = client.post(
        "/api/upload", params={"name": "t.csv"}, content=(b"x" * 1000 for _ in range(LIMIT // 1000 + 1))
    )
    for answer in (declared, streamed):
        assert answer.status_code == 413
        assert "larger than 0.1 MB" in answer.json()["error"]
    assert list((workspace.session / "uploads").iterdir()) == []
    other = client.post("/api/outlook", content=b" " * (2**20 + 1), headers={"Content-Type": "application/json"})
    assert other.status_code == 413


def test_uploads_are_for_the_owner_alone(client, workspace):
    assert upload(client, "a,b\n1,2\n2,1\n", "../../../etc/x.csv").status_code == 200
    [kept] = (workspace.session / "uploads").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    assert not (workspace.session.parent / "etc").exists()


def test_files_are_opened_in_the_allowed_folder_alone(door, tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, inside / "deep", outside, tmp_path / "session", tmp_path / "in2"):
        folder.mkdir()
    text = "a,b\n1,2\n2,1\n"
    for path in (
        inside / "t.csv",
        inside / "deep" / "t.csv",
        inside / ".t.csv",
        outside / "t.csv",
        tmp_path / "in2" / "t.csv",
    ):
        path.write_text(text)
    (inside / "link.csv").symlink_to(outside / "t.csv")
    (inside / "door").symlink_to(outside)
    (inside / "notes.md").write_text("x")
    client = entered(door, Workspace(tmp_path / "session", inside))
    assert client.get("/api/state").json()["files"] == ["t.csv", "deep/t.csv"]
    for name in ("t.csv", "deep/t.csv"):
        assert client.post("/api/file", params={"name": name}).status_code == 200
    wrong = [
        "../out/t.csv",
        "link.csv",
        "door/t.csv",
        str(outside / "t.csv"),
        "../in2/t.csv",
        "x.duckdb::t",
        "t.csv::x",
        "\0.csv",
    ]
    for name in (*wrong, "notes.md", "missing.csv", "", "."):
        answer = client.post("/api/file", params={"name": name})
        assert answer.status_code == 422, name
        assert answer.json()["remedy"]
        if not name.startswith(str(tmp_path)):  # what was asked for may be said again
            assert str(tmp_path) not in answer.text


def test_without_a_folder_no_path_is_opened(client, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,1\n")
    answer = client.post("/api/file", params={"name": str(tmp_path / "t.csv")})
    assert (answer.status_code, answer.json()["error"]) == (422, "No folder was allowed.")


# ---- tables that are none --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "t.csv", "empty"),
        ("a,b\n", "t.csv", "no rows"),
        ("a\n1\n2\n", "t.csv", "one column"),
        ("a,A\n1,2\n", "t.csv", "two columns"),
        ("a,b\n1,2,3\n", "t.csv", "Line 2"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\xff", "t.csv", "cannot be read"),
        (b"PAR1 no table", "t.parquet", "cannot be read"),
        ("{]", "t.json", "cannot be read"),
        ("a,b\n1,2\n", "t.exe", "not a .csv"),
        ("a,b\n1,2\n", "t", "not a .csv"),
    ],
)
def test_what_is_no_table_is_refused_in_words(client, workspace, content, name, words):
    answer = upload(client, content, name)
    assert answer.status_code == 422
    said = answer.json()
    assert words in said["error"]
    assert said["remedy"]
    assert str(workspace.session) not in answer.text
    assert list((workspace.session / "uploads").iterdir()) == []
    assert client.get("/api/state").json()["tables"] == []


def test_dates_are_proposed_to_be_cut_by_the_calendar(client):
    days = "".join(f"{1950 + i}-0{1 + i % 9}-11,{'ab'[i % 2]},{i % 3}\n" for i in range(40))
    born, kind, n = upload(client, f"born,kind,n\n{days}").json()["columns"]
    assert (born["holds"], born["rule"], born["bins"]) == ("dates", "decade", "decade")
    assert (kind["rule"], n["rule"], n["bins"]) == ("", "4", "")


def test_columns_are_described(client):
    found = upload(client, "id,n,who\n1,0.5,a\n2,,b\n3,1.5,b\n4,2.5,\n").json()
    assert (found["rows"], [column["name"] for column in found["columns"]]) == (4, ["id", "n", "who"])
    who = found["columns"][2]
    assert (who["values"], who["missing"], who["shown"], who["numeric"]) == (2, 1, ["b", "a"], False)
    assert (found["columns"][1]["values"], found["columns"][1]["missing"], found["columns"][1]["numeric"]) == (
        3,
        1,
        True,
    )


def test_columns_may_have_any_name(client):
    found = upload(client, "v,N\na,1\nb,1\nb,2\n").json()
    assert [column["shown"] for column in found["columns"]] == [["b", "a"], ["1", "2"]]


def test_a_small_file_with_a_huge_cell_has_small_answers(client, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"note": ["x" * 20_000_000, "y"], "a": ["z" * 900, "q"], "b": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "huge.parquet", compression="zstd")
    answer = upload(client, (tmp_path / "huge.parquet").read_bytes(), "huge.parquet")
    assert answer.status_code == 200
    note, a, _ = answer.json()["columns"]
    assert "20,000,000 bytes" in note["holds"]
    assert (note["values"], note["shown"]) == (0, [])
    assert sorted(map(len, a["shown"])) == [1, 80]
    roles = {"note": "reveal", "a": "protect", "b": "use"}
    asked = {"table": 1, "question": {"roles": roles}}
    refusals = [client.post(f"/api/{path}", json=asked) for path in ("outlook", "solve", "estimate")]
    for one in refusals:
        assert one.status_code == 422
        assert "'note' has cells of more than" in one.json()["error"]
    assert all(len(one.content) < 20_000 for one in (answer, *refusals, client.get("/api/state")))


@pytest.mark.parametrize(
    "header",
    [",".join(f"c{i}" for i in range(1001)), "a," + "n" * 201, "a," + "n" * 50_000],
    ids=["many", "long", "huge"],
)
def test_names_that_fill_the_page_are_refused(client, header):
    answer = upload(client, f"{header}\n{','.join('1' * (header.count(',') + 1))}\n")
    assert answer.status_code == 422
    assert "columns" in answer.json()["error"]
    assert len(answer.content) < 5000


def test_only_so_many_tables_are_open(client, monkeypatch):
    monkeypatch.setattr("choral.show.studio.workspace.MOST_TABLES", 2)
    answers = [upload(client, "a,b\n1,2\n2,1\n") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 422]


# ---- questions -------------------------------------------------------------------------------------------------------


def test_the_outlook_is_that_of_the_library(client):
    number = client.post("/api/example/clinic").json()["number"]
    said = client.post("/api/outlook", json={"table": number, "question": {"roles": CLINIC}}).json()
    bounds = ch.bounds(ch.examples.clinic(), reveal="diagnosis")
    for name in ("states", "rank", "nullity", "feasible", "entropy", "information", "upper_bound"):
        assert said[name] == getattr(bounds, name), name
    assert said["plan"] == str(ch.plan(ch.examples.clinic(), reveal="diagnosis").plan)
    pairs = client.post("/api/outlook", json={"table": number, "question": {"roles": CLINIC, "order": 2}}).json()
    assert pairs["rank"] == ch.bounds(ch.examples.clinic(), reveal="diagnosis", order=2).rank
    assert pairs["protect"] == ["pressure+glucose", "pressure+smoker", "glucose+smoker"]


def test_choices_become_arguments():
    roles = {"w": "reveal", "a": "protect", "b": "use", "c": "protect"}
    choices = Choices(roles=roles, together=[["a", "b"]], bins={"a": "4", "b": " ", "z": "3"}, look_at_target=True)
    asked = choices.question()
    assert asked.reveal == ["w"]
    assert asked.protect == [["a"], ["c"], ["a", "b"]]
    assert asked.use == ["a", "b", "c", "w"]
    assert choices.rules().bins == {"a": "4"}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"roles": {}}, "revealed"),
        ({"roles": {"diagnosis": "reveal"}}, "protected"),
        ({"roles": {"diagnosis": "reveal", "nothing": "protect"}}, "nothing"),
        ({"roles": {**CLINIC, "smoker": "steal"}}, "not understood"),
        ({"roles": CLINIC, "order": 0}, "not understood"),
        ({"roles": CLINIC, "order": 9}, "order=9"),
        ({"roles": CLINIC, "bins": {"smoker": "4"}}, "cannot be binned"),
        ({"roles": CLINIC, "rel_tol": "nan"}, "not understood"),
        ({"roles": CLINIC, "path": "/etc/passwd"}, "not understood"),
    ],
)
def test_questions_that_make_no_sense_are_refused_in_words(client, question, words):
    number = client.post("/api/example/clinic").json()["number"]
    answer = client.post("/api/outlook", json={"table": number, "question": question})
    assert answer.status_code in (404, 422)
    assert words in answer.json()["error"]
    assert client.post("/api/solve", json={"table": 99, "question": {"roles": CLINIC}}).status_code == 404


def test_a_table_with_too_many_states_is_not_ranked_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("choral.show.studio.question.MOST_AT_ONCE", 7)
    source = open_table(SAMPLES["clinic"].write(tmp_path))
    said = outlook(Choices(roles=CLINIC), source)
    source.connection.close()
    assert (said["rank"], said["feasible"]) == (None, None)
    assert said["upper_bound"] == ch.bounds(ch.examples.clinic(), reveal="diagnosis").upper_bound


def test_examples_have_exactly_the_law_that_they_are_named_for(tmp_path):
    with SAMPLES["paper"].write(tmp_path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    law = ch.examples.bsc_and_bec()
    for x1, x2 in (("0", "0"), ("1", "e"), ("0", "1")):
        share = Fraction(sum(row["X1"] == x1 and row["X2"] == x2 for row in rows), len(rows))
        values = {"0": 0, "1": 1, "e": "e"}
        assert share == law.probability(X1=values[x1], X2=values[x2])


# ---- searches --------------------------------------------------------------------------------------------------------

FAKE = """
import json, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: None)
job = json.loads(sys.stdin.readline())
def say(**facts): print(json.dumps(facts), flush=True)
say(moment=[0.1, 0.25, 0.5, "looking"])
"""
WAITS = FAKE + "signal.pause()\nsay(moment=[0.2, 0.25, 0.5, 'stopped'])\nsay(done=True)\n"
CRASHES = FAKE + "sys.exit(9)\n"


@pytest.fixture
def acting(monkeypatch):
    """Searches that play a part."""
    return lambda script: monkeypatch.setattr(jobs, "COMMAND", [sys.executable, "-c", script])


def until(condition):
    """Wait for another process, and fail if it never gets there."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_one_search_at_a_time_and_then_another(door, workspace, acting):
    acting(WAITS)
    with entered(door, workspace) as client:
        number = client.post("/api/example/clinic").json()["number"]
        asked = {"table": number, "question": {"roles": CLINIC}}

        def job():
            return client.get("/api/state").json()["job"]

        assert client.post("/api/solve", json=asked).status_code == 200
        until(lambda: job()["last"])
        assert (job()["status"], job()["last"][1:3]) == ("running", [0.25, 0.5])
        for path in ("/api/solve",):
            second = client.post(path, json=asked)
            assert second.status_code == 409
            assert second.json() == {
                "error": "A search is running (searching).",
                "remedy": "Wait for it, stop it and keep its best, or cancel it.",
            }
        assert job()["about"] == {"table": number, "question": Choices(roles=CLINIC).model_dump()}, (
            "for a reloaded page"
        )
        assert client.post("/api/stop", params={"keep": False}).json()["job"]["status"] == "cancelled"
        assert client.post("/api/solve", json=asked).json()["number"] == 2
        until(lambda: job()["last"])
        client.post("/api/stop", params={"keep": True})
        until(lambda: job()["status"] == "done")
        assert job()["last"][3] == "stopped"


def test_a_search_that_crashes_is_told(door, workspace, acting):
    acting(CRASHES)
    with entered(door, workspace) as client:
        client.post("/api/example/clinic")
        client.post("/api/solve", json={"table": 1, "question": {"roles": CLINIC}})
        until(lambda: client.get("/api/state").json()["job"]["status"] == "failed")
        job = client.get("/api/state").json()["job"]
        assert "exit status 9" in job["error"]
        assert job["remedy"]


def test_ending_the_studio_ends_its_searches(door, workspace, acting, tmp_path):
    marker = tmp_path / "alive"
    acting(f"import os; open({str(marker)!r}, 'w').write(str(os.getpid()))\n" + WAITS)
    with entered(door, workspace) as client:
        client.post("/api/example/clinic")
        client.post("/api/solve", json={"table": 1, "question": {"roles": CLINIC}})
        until(lambda: client.get("/api/state").json()["job"]["last"])
        process = int(marker.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_worker_does_not_outlive_the_studio():
    process = subprocess.Popen(jobs.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.close()
    assert process.wait(PATIENCE) == 0
    process.stdout.close()


def test_errors_of_the_library_reach_the_page(tmp_path):
    path = SAMPLES["clinic"].write(tmp_path)
    said = run("fit", path, tmp_path / "result-1", {"roles": {**CLINIC, "nothing": "use"}}, fails=True)
    assert "nothing" in said[-1]["error"]
    assert not (tmp_path / "result-1").exists()


def run(kind, path, folder, question, fails=False, table=()):
    """What the worker says to a job, without a process of its own."""
    stream = io.StringIO()
    asked = question and Choices.model_validate(question).model_dump()
    about = {"number": 1, "name": path.stem, "origin": "upload", "rows": 400, "digest": "00", **dict(table)}
    job = {"path": str(path), "folder": str(folder), "question": asked, "table": about, "name": "mine.choral"}
    do = {"fit": worker._fit, "curve": worker._curve, "open": worker._open}[kind]
    if fails:
        with pytest.raises(ChoralError) as caught:
            do(job, worker.Answers(stream))
        return [{"error": str(caught.value)}]
    do(job, worker.Answers(stream))
    return [json.loads(line) for line in stream.getvalue().splitlines()]


# ---- results ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished result of the worker, pictures and all."""
    place = tmp_path_factory.mktemp("kept")
    path = SAMPLES["clinic"].write(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "RECORDS", 300)
        said = run("fit", path, place / "result-1", {"roles": CLINIC})
    return place, said


def test_every_number_of_a_result_is_the_library_s(made):
    place, said = made
    view = json.loads((place / "result-1" / result.VIEW).read_text())
    found = fit(place / "clinic.csv", "diagnosis", ["pressure", "glucose", "smoker"]).disclosure
    law = ch.disclose(ch.examples.clinic(), reveal="diagnosis")
    assert view["upper_bound"] == found.upper_bound
    assert view["upper_bound"] == pytest.approx(law.upper_bound, abs=1e-14), (
        "another order of states, rounded otherwise"
    )
    for d in (found, law):
        assert view["information"] == d.information
        assert (view["efficiency"], view["codes"], view["states"]) == (d.efficiency, d.codes, len(d.states))
        assert (view["entropy"], view["everything"]) == (d.problem.entropy_of_target, d.problem.information_of_states)
    assert view["leakage"] == {"pressure": 0.0, "glucose": 0.0, "smoker": 0.0}
    assert view["rows"] == 400
    assert f"{found.information:.3f} bits" in view["summary"][0]
    assert (
        view["said"] == fit(place / "clinic.csv", "diagnosis", ["pressure", "glucose", "smoker"]).meaning.first_line()
    )
    assert [line["moment"][1:3] for line in said if "moment" in line][-1] == [found.information, found.upper_bound]
    assert said[-1] == {"done": True}


def test_what_is_guessed_is_computed_from_the_released_channel(made):
    place, _ = made
    view = json.loads((place / "result-1" / result.VIEW).read_text())
    found = load_release(place / "result-1" / result.RELEASE).disclosure
    target, *private = view["subjects"]
    assert [subject["name"] for subject in private] == ["pressure", "glucose", "smoker"]
    assert target["given"] == [[float(p) for p in row] for row in found.p_w_given_y]
    best = sum(p * max(row) for p, row in zip(found.p_y, found.p_w_given_y, strict=True))
    assert target["best_after"] == float(best) > target["best_before"]
    for subject in private:
        assert subject["unmoved"]
        assert all(row == subject["prior"] for row in subject["given"])
        assert subject["best_before"] == subject["best_after"] == max(subject["prior"])


def test_a_result_is_whole_verified_and_the_owner_s_alone(made, tmp_path):
    folder = made[0] / "result-1"
    names = {path.name for path in folder.iterdir()}
    assert {
        result.RELEASE,
        result.VIEW,
        result.GAME,
        "ladder.svg",
        "signature.svg",
        "posteriors.svg",
        "channel.svg",
    } <= names
    assert load_release(folder / result.RELEASE).disclosure.verify()["verified"]
    assert not any(path.stat().st_mode & 0o077 for path in folder.iterdir())
    pictures = json.loads((folder / "pictures.json").read_text())
    assert all((folder / f"{name}.svg").read_text().startswith("<svg") for name in pictures)
    assert not any("style=" in (folder / f"{name}.svg").read_text() for name in pictures), "the policy forbids it"


def test_finished_results_are_there_when_the_studio_starts_again(made, door, tmp_path):
    place, _ = made
    (place / ".result-2.partial").mkdir()
    (tmp_path / "session").mkdir()
    client = entered(door, Workspace(tmp_path / "session", None, place))
    assert not (place / ".result-2.partial").exists(), "what was not finished is removed"
    state = client.get("/api/state").json()
    assert [one["name"] for one in state["results"]] == ["result-1"]
    view = client.get("/api/results/result-1").json()
    assert set(view["pictures"]) == {"ladder", "signature", "posteriors", "channel"}
    release = client.get("/results/result-1/release.choral")
    assert release.headers["content-disposition"].startswith("attachment")
    assert release.content == (place / "result-1" / result.RELEASE).read_bytes()
    drawn = client.get("/results/result-1/ladder.svg")
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert "prefers-color-scheme:dark" in drawn.text
    for name in ("view.json", "game.json", "..%2f..%2fclinic.csv", "pictures.json", "%2e%2e/clinic.csv", "nothing.svg"):
        assert client.get(f"/results/result-1/{name}").status_code == 404
    assert client.get("/api/results/..%2fresult-1").status_code == 404
    refused = client.post("/api/results/result-1/codes", json={})
    assert refused.status_code == 422
    assert "not open" in refused.json()["error"]


def test_card_and_codes_are_the_library_s_and_go_through_the_ledger(door, workspace):
    client = entered(door, workspace)
    opened = client.post("/api/example/clinic").json()
    for number in (1, 2):
        folder = workspace.new_result()
        release = fit(workspace.table(1).path, "diagnosis", order=number)
        table = {"number": 1, "name": "clinic", "origin": "example", "rows": 400, "digest": workspace.table(1).digest}
        result.save_result(release, result.view_of(release, Choices(roles=CLINIC).model_dump(), table), folder)
    card = client.post("/api/results/result-1/card", json={}).json()
    saved = load_release(workspace.place / "result-1" / result.RELEASE)
    assert json.loads(client.get(card["href"]).content) == card_of(saved).document
    codes = client.post("/api/results/result-1/codes", json={}).json()
    rows = list(csv.DictReader(io.StringIO(client.get(codes["href"]).text)))
    assert len(rows) == opened["rows"] == 400
    assert {row["code"] for row in rows} <= {str(y) for y in range(saved.disclosure.codes)}
    again = client.post("/api/results/result-1/codes", json={}).json()
    assert list(csv.DictReader(io.StringIO(client.get(again["href"]).text))) == rows, "one record, one draw"
    other = client.post("/api/results/result-2/codes", json={})
    assert other.status_code == 409
    assert "another release" in other.json()["error"]
    assert client.post("/api/results/result-2/codes", json={"nothing_was_given_away": True}).status_code == 200
    assert [path.name for path in workspace.place.glob("example-clinic.ledger.*") if path.suffix == ".1"]
    wrong = client.post("/api/results/result-2/codes", json={"id": "diagnosis", "nothing_was_given_away": True})
    assert wrong.status_code in (404, 409, 422)
    assert wrong.json()["remedy"]


def test_codes_by_quota_are_the_library_s_and_what_they_cost_is_said_where_they_are_chosen(door, workspace):
    client = entered(door, workspace)
    client.post("/api/example/clinic")
    folder = workspace.new_result()
    release = fit(workspace.table(1).path, "diagnosis", protect=["smoker"], codes=3)
    table = {"number": 1, "name": "clinic", "origin": "example", "rows": 400, "digest": workspace.table(1).digest}
    result.save_result(release, result.view_of(release, Choices(roles=CLINIC).model_dump(), table), folder)
    said = client.get("/api/results/result-1/quota").json()
    assert "NOT more private" in " ".join(said["sentences"])
    assert said["largest_deviation"] < said["bound"] == 1
    for bad in ("0", "-1", "nan", "inf", "much"):
        assert client.get(f"/api/results/result-1/quota?noise={bad}").status_code == 422
        assert client.post("/api/results/result-1/codes", json={"draw": "quota", "quota_noise": bad}).status_code == 422
    noisy = client.get("/api/results/result-1/quota?noise=0.5").json()
    assert noisy["bound"] is None
    assert noisy["sentences"] != said["sentences"]
    codes = client.post("/api/results/result-1/codes", json={"draw": "quota"}).json()
    rows = list(csv.DictReader(io.StringIO(client.get(codes["href"]).text)))
    saved = load_release(workspace.place / "result-1" / result.RELEASE)
    own = workspace.place / "own.csv"
    saved.disclose(workspace.table(1).path, own, ledger=workspace.place / "own.ledger", draw="quota")
    assert rows == list(csv.DictReader(io.StringIO(own.read_text())))
    refused = client.post("/api/results/result-1/codes", json={"draw": "lots"})
    assert refused.status_code == 409
    assert "drawn by quota" in refused.json()["error"]


PEOPLE = "who,w,a,b\n" + "".join(f"p{i},{(i + i // 2) % 2},{i % 2},{i // 2 % 2}\n" for i in range(60))
ROLES = {"w": "reveal", "a": "protect", "b": "protect"}


def solved(client, workspace, text=PEOPLE):
    """A result for an uploaded table, as a search leaves it."""
    opened = workspace.table(upload(client, text, "people.csv").json()["number"])
    folder = workspace.new_result()
    run("fit", opened.path, folder, {"roles": ROLES}, table={"digest": opened.digest, "origin": "upload"})
    return folder.name


@pytest.fixture
def undrawn(monkeypatch):
    """Results without pictures, which take a moment."""
    monkeypatch.setattr(result, "draw_pictures", lambda *_: None)


def test_a_later_studio_remembers_which_codes_were_handed_out(door, tmp_path, state, undrawn):
    """Without --keep the release is gone at the end, and a new one would draw for every person a second time."""
    for id in (None, "who"):
        state.unlink(missing_ok=True)
        with session_folder(tmp_path) as session:
            workspace = Workspace(session)
            client = entered(door, workspace)
            name = solved(client, workspace)
            assert client.get(f"/api/results/{name}").json()["ledger"] == client.get("/api/state").json()["ledger"]
            given = client.post(f"/api/results/{name}/codes", json={"id": id}).json()["href"]
            codes = client.get(given).text
            release = client.get(f"/results/{name}/release.choral").content
        assert state.stat().st_mode & 0o077 == state.parent.stat().st_mode & 0o077 == 0
        with session_folder(tmp_path) as session:
            workspace = Workspace(session)
            client = entered(door, workspace)
            name = solved(client, workspace)
            refused = client.post(f"/api/results/{name}/codes", json={"id": id})
            assert refused.status_code == 409
            assert "another release" in refused.json()["error"]
            assert "--after" in refused.json()["remedy"]
            folder = workspace.new_result()
            (session / "earlier.choral").write_bytes(release)
            run("open", session / "earlier.choral", folder, None)
            again = client.post(f"/api/results/{folder.name}/codes", json={"id": id})
            assert again.status_code == 200, "the release of before gives the codes of before"
            assert client.get(again.json()["href"]).text == codes


def test_where_the_ledger_is(tmp_path, monkeypatch, state):
    kept = tmp_path / "kept"
    assert Workspace(tmp_path / "one").book == Workspace(tmp_path / "two", None, kept).book == state
    assert Workspace(tmp_path / "three", None, kept, tmp_path / "named").book == tmp_path / "named"
    (kept / "choral.ledger").touch()
    assert Workspace(tmp_path / "four", None, kept).book == kept / "choral.ledger", "it knows what was told of them"
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_STATE_HOME", value)
        assert Workspace(tmp_path / "five").book == tmp_path / ".local/state/choral/studio.ledger"


def test_a_ledger_without_a_place_is_told(door, tmp_path, workspace, undrawn):
    (tmp_path / "state").write_text("a file")
    client = entered(door, workspace)
    refused = client.post(f"/api/results/{solved(client, workspace)}/codes", json={})
    assert refused.status_code == 409
    assert "no place for the ledger" in refused.json()["error"]


def test_what_is_no_release_is_refused_in_words(door, workspace, tmp_path, made):
    (tmp_path / "x.choral").write_text(PEOPLE)
    said = run("open", tmp_path / "x.choral", tmp_path / "result-9", None, fails=True)
    assert "mine.choral" in said[-1]["error"]
    assert str(tmp_path) not in said[-1]["error"]
    load_release(made[0] / "result-1" / result.RELEASE).save(tmp_path / "apart.choral", tmp_path / "key.json")
    said = run("open", tmp_path / "apart.choral", tmp_path / "result-9", None, fails=True)
    assert "file of its own" in said[-1]["error"]
    assert not (tmp_path / "result-9").exists()
    assert client_post_release(entered(door, workspace), b"").status_code == 422
    assert list((workspace.session / "uploads").iterdir()) == []


def client_post_release(client, content):
    return client.post("/api/release", params={"name": "mine.choral"}, content=content)


def test_a_budget_is_kept_and_told(tmp_path):
    path = SAMPLES["clinic"].write(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "draw_pictures", lambda *_: None)
        run("fit", path, tmp_path / "result-1", {"roles": CLINIC, "leakage": "0.05"})
    view = json.loads((tmp_path / "result-1" / result.VIEW).read_text())
    groups = ["pressure", "glucose", "smoker"]
    found = fit(path, "diagnosis", groups, leakage=dict.fromkeys(groups, "0.05"), rel_tol=1e-3).disclosure
    assert (view["information"], view["leakage"], view["private"]) == (found.information, found.leakage, False)
    assert all(0 < leak <= 0.05 for leak in view["leakage"].values())
    assert "leaks at most" in " ".join(view["summary"])


# ---- the curve -------------------------------------------------------------------------------------------------------


def test_the_curve_runs_from_privacy_to_all_there_is(tmp_path, undrawn):
    path = SAMPLES["paper"].write(tmp_path)
    run("fit", path, tmp_path / "result-1", {"roles": {"W": "reveal", "X1": "protect", "X2": "protect"}})
    said = run("curve", path, tmp_path / "result-1", {})
    points = [line["point"] for line in said if "point" in line]
    assert result.read(tmp_path / "result-1", result.CURVE, None) == points
    law = ch.examples.bsc_and_bec()
    exact = ch.disclose(law, reveal="W")
    assert points[0]["information"] <= exact.information <= points[0]["upper_bound"] + 1e-12
    everything = ch.bounds(law, reveal="W").information
    assert points[-1]["upper_bound"] >= 0.98 * everything
    for point in points:
        assert point["achieved_leakage"] <= float(point["budget"])
        assert point["information"] <= point["upper_bound"]
    budgets = [Fraction(point["budget"]) for point in points]
    assert budgets == sorted(set(budgets))
    assert said[-1]["done"]


def test_what_leaks_when_all_is_told():
    copy = ch.Joint.from_counts({(a, a, b): 1 for a in (0, 1) for b in (0, 1)}, ["W", "X1", "X2"])
    problem = ch.disclose(copy, reveal="W").problem
    assert [curve.leak_of_everything(problem, group) for group in problem.groups] == [1.0, 0.0]
    xor = ch.disclose(ch.examples.xor()).problem
    assert curve.leakages(xor) == ["0"]


# ---- the game --------------------------------------------------------------------------------------------------------


@pytest.fixture
def game(made):
    folder = made[0] / "result-1"
    return Game.of(folder, json.loads((folder / result.VIEW).read_text()))


def test_the_best_adversary_gains_nothing_about_what_is_protected(game):
    for about in ("pressure", "glucose", "smoker"):
        score = game.best_adversary(about)["score"]
        assert score["rounds"] == len(game.records) == 300
        assert score["before"] == score["after"]
        assert score["best_before"] == score["best_after"]
        likeliest = game.subjects[about]["prior"].index(score["best_before"])
        assert score["before"] == sum(record["values"][about] == likeliest for record in game.records)
    told = game.best_adversary("diagnosis")["score"]
    assert told["best_after"] > told["best_before"]


def test_a_round_is_two_guesses_then_the_truth(game):
    record = game.records[6]
    with pytest.raises(ProblemError, match="no first guess"):
        game.guess_after("smoker", 7, 0)
    seen = game.guess_before("smoker", 7, record["values"]["smoker"])
    assert seen["code"] == record["code"]
    assert "truth" not in seen
    told = game.guess_after("smoker", 7, 1 - record["values"]["smoker"])
    assert (told["truth"], told["first"], told["second"]) == (record["values"]["smoker"], True, False)
    assert (told["score"]["rounds"], told["score"]["before"], told["score"]["after"]) == (1, 1, 0)
    with pytest.raises(ProblemError, match="was played"):
        game.guess_before("smoker", 7, 0)
    for about, number, guess in (
        ("age", 1, 0),
        ("smoker", 0, 0),
        ("smoker", 301, 0),
        ("smoker", 1, 2),
        ("smoker", 1, -1),
    ):
        with pytest.raises(ProblemError):
            game.guess_before(about, number, guess)


def test_records_of_the_game_follow_the_law_and_the_channel():
    """A false alarm has probability below 1e-9 (Hoeffding, a union over all cells)."""
    found = ch.disclose(ch.examples.clinic(), reveal="diagnosis")
    many = 20_000
    drawn = result.draw_records(found, many)
    diagnosis, _, _, smoker = (found.law.alphabets[i] for i in range(4))
    cells = [(y, w) for y in range(found.codes) for w in range(2)] + [(None, z) for z in range(2)]
    allowed = math.sqrt(math.log(2 * len(cells) / 1e-9) / (2 * many))
    for y, v in cells:
        if y is None:
            share = sum(record["values"]["smoker"] == v for record in drawn) / many
            expected = found.law.probability(smoker=smoker[v])
        else:
            share = sum(record["code"] == y and record["values"]["diagnosis"] == v for record in drawn) / many
            expected = found.p_y[y] * found.p_w_given_y[y][v]
            assert found.problem.target.values[v] == diagnosis[v]
        assert abs(share - float(expected)) <= allowed


# ---- folders, logs, the command ----------------------------------------------------------------------------------------


def test_folders_of_killed_sessions_are_removed_and_those_of_living_ones_are_not(tmp_path):
    with session_folder(tmp_path) as living:
        assert living.stat().st_mode & 0o077 == 0
        dead = tmp_path / "choral-studio-dead"
        dead.mkdir()
        (dead / "lock").touch()
        (dead / "table.csv").write_text(SECRET)
        with session_folder(tmp_path) as second:
            assert not dead.exists()
            assert living.exists()
        assert not second.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_defect_says_so_and_shows_nothing(door, workspace, monkeypatch):
    client = entered(door, workspace, raise_server_exceptions=False)
    monkeypatch.setattr(workspace, "files", lambda: {}[SECRET])
    workspace.folder = Path()
    answer = client.get("/api/state")
    assert answer.status_code == 500
    assert SECRET not in answer.text


def test_the_command_logs_nothing_of_the_data_and_leaves_nothing_behind(tmp_path):
    program = "from choral.show.cli import main; main()"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program, "studio", "--json", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        facts = json.loads(process.stdout.readline())
        home, _, query = facts["url"].partition("/?")
        with httpx.Client(base_url=home, headers={"Origin": home}, timeout=PATIENCE) as client:
            assert client.get(f"/?{query}").status_code == 200
            table = f"{SECRET},b\n{SECRET}x,1\n{SECRET}y,2\n{SECRET}x,2\n{SECRET}y,1\n"
            assert client.post("/api/upload", params={"name": f"{SECRET}.csv"}, content=table).status_code == 200
            assert client.post("/api/upload", params={"name": "x.csv"}, content=f"{SECRET}\n").status_code == 422
            roles = {SECRET: "reveal", "b": "protect"}
            client.post("/api/outlook", json={"table": 1, "question": {"roles": roles}})
            client.post("/api/file", params={"name": f"../{SECRET}"})
        assert any(tmp_path.glob("choral-studio-*/uploads/*"))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "", "")
    assert list(tmp_path.glob("choral-studio-*")) == []


def test_the_command_refuses_what_it_cannot_use(tmp_path):
    with pytest.raises(ChoralError, match="no folder"):
        serve.serve(0, tmp_path / "none", None, 1, lambda *_: None)
    (tmp_path / "file").touch()
    with pytest.raises(ChoralError, match="no folder"):
        serve.serve(0, None, tmp_path / "file", 1, lambda *_: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ChoralError, match="cannot be used"):
            serve.serve(taken.getsockname()[1], None, None, 1, lambda *_: None)


def test_the_law_that_is_posed_is_that_of_the_table(tmp_path):
    source = open_table(SAMPLES["staff"].write(tmp_path))
    roles = {"leaves": "reveal", "age": "protect", "sex": "protect", "overtime": "use"}
    choices = Choices(roles=roles, bins={"age": "4"})
    posed = pose_table(source, choices.question(), choices.rules())
    source.connection.close()
    assert posed.recipe.table_rows == 2000
    assert len(posed.recipe.column("age").values) == 4


def test_what_the_studio_keeps_is_not_offered_as_a_table(tmp_path):
    folder = tmp_path / "tables"
    (folder / "kept" / "result-1").mkdir(parents=True)
    (folder / "kept" / "result-1" / "game.json").write_text("[]")
    (folder / "more").mkdir()
    (folder / "more" / "a.csv").write_text("x\n1\n")
    assert Workspace(tmp_path / "session", folder, folder / "kept").files() == ["more/a.csv"]
    assert Workspace(tmp_path / "other", folder).files() == ["kept/result-1/game.json", "more/a.csv"]
