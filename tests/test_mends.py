"""Defects that were mended, by commands and names that were there before: these tests fail on the code as it was."""

from __future__ import annotations

import csv
import json
import signal
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from threading import Barrier

import pytest
from typer.testing import CliRunner

from choral.errors import ChoralError, LedgerError
from choral.exact.certificate import document_to_text, sealed
from choral.release.file import load_release
from choral.release.fit import fit
from choral.show.cli import app

FROZEN = Path(__file__).parent / "frozen" / "v1"
SECONDS = 5
"""Of processor time, that a small file may take: many times what it takes."""


def run(*arguments):
    """A command, and what came of it."""
    return CliRunner().invoke(app, list(map(str, arguments)))


def done(*arguments):
    """What a command printed that has to succeed."""
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def refused(*arguments, by=ChoralError):
    """Why a command was refused, in words."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert isinstance(result.exception, by), (result.output, result.exception)
    return str(result.exception)


def lines(path, header, rows):
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


def people(folder, name="t.csv"):
    """400 people, sorted by two bits; W is whether they differ."""
    bits = [(0, 0)] * 160 + [(0, 1)] * 40 + [(1, 0)] * 80 + [(1, 1)] * 120
    return lines(folder / name, "who,a,b,W", [(f"p{7 * i % 400}", a, b, a ^ b) for i, (a, b) in enumerate(bits)])


def fitted(folder, table, *options, name="r.choral"):
    done("fit", table, "--reveal", "W", "--protect", "a,b", "--use", "a,b", "-o", folder / name, *options)
    return folder / name


def test_1_the_order_of_codes_tells_no_protected_value(tmp_path):
    """The last 120 rows have both bits, and so one code: in the order of the table it stands there 120 times in a row.

    Each code is drawn with at most 3/4, so that by chance 60 in a row are one with less than 400 · (3/4)⁶⁰ = 1.3e-5.
    """
    table = people(tmp_path)
    release = fitted(tmp_path, table)
    done("disclose", release, table, "-o", tmp_path / "codes.csv")
    with (tmp_path / "codes.csv").open(newline="") as file:
        codes = [row["code"] for row in csv.DictReader(file)]
    assert len(codes) == 400
    assert max(len(list(alike)) for _, alike in groupby(codes)) < 60


@pytest.fixture
def session(monkeypatch):
    """A studio of its own each time: its workspace, and somebody who has entered."""
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from choral.show.studio import result
    from choral.show.studio.app import create_app
    from choral.show.studio.security import Door
    from choral.show.studio.workspace import Workspace, session_folder

    monkeypatch.setattr(result, "draw_pictures", lambda *_: None)

    @contextmanager
    def begun(place):
        with session_folder(place) as folder:
            door, workspace = Door.new(8123, 10**6), Workspace(folder)
            home = "http://127.0.0.1:8123"
            client = TestClient(create_app(door, workspace), base_url=home, headers={"Origin": home})
            assert client.get(f"/?token={door.token}").status_code == 200
            yield client, workspace

    return begun


def upload(client, content, name="people.csv"):
    return client.post("/api/upload", params={"name": name}, content=content)


def test_2_a_later_studio_does_not_draw_again_for_the_same_people(session, tmp_path):
    from choral.show.studio import result

    content, answers = people(tmp_path).read_bytes(), []
    for _ in range(2):
        with session(tmp_path) as (client, workspace):
            opened = workspace.table(upload(client, content).json()["number"])
            release, folder = fit(opened.path, "W", ["a", "b"], ["a", "b"]), workspace.new_result()
            facts = {"number": 1, "name": "people", "origin": "upload", "rows": 400, "digest": opened.digest}
            question = {"roles": {"W": "reveal", "a": "protect", "b": "protect"}}
            result.save_result(release, result.view_of(release, question, facts), folder)
            answers.append(client.post(f"/api/results/{folder.name}/codes", json={}).status_code)
    assert answers == [200, 409]


def test_3_two_cards_of_one_file_do_not_differ_by_a_person(tmp_path):
    rows = [(i % 2, i // 2 % 2, (i + i // 2) % 2) for i in range(400)]
    table = lines(tmp_path / "t.csv", "a,b,W", [*rows, ("", 1, 1)])
    fitted(tmp_path, table, "--card", tmp_path / "one.json")
    asked = ["--reveal", "W", "--protect", "a,b", "--use", "a,b", "--missing", "drop"]
    refused("fit", table, *asked, "-o", tmp_path / "s.choral", "--card", tmp_path / "two.json", by=LedgerError)
    assert not (tmp_path / "two.json").exists()


def test_4_a_card_names_nobody_and_counts_nobody(tmp_path):
    crimes = ["theft", "fraud"] * 150 + ["none", "murderer"]
    table = lines(tmp_path / "t.csv", "a,b,W", [(i % 2, i // 2 % 2, crime) for i, crime in enumerate(crimes)])
    fitted(tmp_path, table, "--card", tmp_path / "card.json")
    text = (tmp_path / "card.json").read_text(encoding="utf-8")
    assert "murderer" not in text, "one of 302"
    assert "302" not in text, "how many records there are, exactly"


@pytest.mark.parametrize("text", ["1.6", "0x2", "1_0e-1", "002"])
def test_5_a_field_that_is_no_whole_number_is_refused_with_its_row(tmp_path, text):
    table = lines(tmp_path / "t.csv", "a,b,W", [(i % 4, i // 4 % 2, i % 2) for i in range(80)])
    release = fitted(tmp_path, table)
    again = lines(tmp_path / "again.csv", "a,b", [(1, 0), (text, 1), (0, 1)])
    words = refused("disclose", release, again, "-o", tmp_path / "codes.csv")
    assert "row 2" in words
    assert repr(text) in words
    assert not (tmp_path / "codes.csv").exists()


def test_6_a_ledger_that_lost_its_content_is_not_taken_for_a_new_one(tmp_path):
    table = people(tmp_path)
    release, other = fitted(tmp_path, table), fitted(tmp_path, table, name="other.choral")
    done("disclose", release, table, "--id", "who", "-o", tmp_path / "codes.csv")
    (tmp_path / "choral.ledger").write_bytes(b"")
    refused("disclose", other, table, "--id", "who", "-o", tmp_path / "second.csv", by=LedgerError)
    assert not (tmp_path / "second.csv").exists()


def claiming(folder, name="city", values=(0, 1)):
    """The file of a release whose code is the column `name` itself, and which truly protects another, constant one."""
    document = {
        "format": "choral release",
        "version": 1,
        "law": {
            "kind": "table",
            "columns": ["sex", name],
            "alphabets": [["x"], list(values)],
            "cells": [[0, 0, "1"], [0, 1, "1"]],
        },
        "reveal": [name],
        "use": [name],
        "protect": [["sex"]],
        "channel": {"codes": 2, "states": [[0], [1]], "rows": [["1", [0, "1"]], ["1", [1, "1"]]]},
        "claims": {"information": "1.000000000000000", "upper_bound": "1.000000000000000"},
        "bound": {"kind": "group", "group": None},
        "notes": {},
    }
    return written(folder, document)


def written(folder, document):
    path = folder / "claims.choral"
    path.write_text(document_to_text(sealed(document)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["age\ufe00", "age\u3164", "age\u0301", "age "])
def test_7_a_name_that_does_not_print_as_what_it_is_does_not_verify(tmp_path, name):
    assert run("verify", claiming(tmp_path)).exit_code == 0
    result = run("verify", claiming(tmp_path, name))
    assert result.exit_code == 1, result.output
    assert "VERIFIED" not in result.output


@pytest.mark.parametrize(
    "values",
    [
        ({"date": "2020-01-01"}, {"date": "20200101"}),
        ({"decimal": "1.0"}, {"decimal": "1.00"}),
        ({"float": "inf"}, {"float": "Infinity"}),
    ],
    ids=["date", "decimal", "float"],
)
def test_8_one_value_in_two_spellings_is_not_a_bit(tmp_path, values):
    result = run("verify", claiming(tmp_path, values=values))
    assert result.exit_code == 1, result.output


class TooLong(BaseException):
    """The processor time is over."""


@contextmanager
def at_most(seconds):
    """Raise in what is inside once it took so many seconds of processor time."""

    def end(*_):
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_9_a_tiny_file_does_not_stall_the_verifier(tmp_path):
    document = json.loads((FROZEN / "exchangeable.choral").read_text(encoding="utf-8"))
    document["law"] |= {"n": 20_000, "channel": [["1/2", "1/2"]] * 2, "prior": ["1/2", "1/2"]}
    file = written(tmp_path, document)
    with at_most(SECONDS):
        result = run("verify", file)
    assert result.exit_code == 1
    assert "FAILED" in result.output


def test_10_what_is_no_value_gives_a_named_claim_as_json(tmp_path):
    result = run("verify", claiming(tmp_path, values=("a", {"fraction": "1/"})), "--json")
    assert json.loads(result.output)["claim"] == "law"


def test_11_tables_that_are_uploaded_at_once_have_numbers_of_their_own(session, tmp_path, monkeypatch):
    """All twelve are being looked at in the same moment; nobody gets another one's table."""
    from choral.show.studio.tables import open_facts

    meeting = Barrier(12)

    def together(*asked):
        meeting.wait(60)
        return open_facts(*asked)

    monkeypatch.setattr("choral.show.studio.workspace.open_facts", together)
    with session(tmp_path) as (client, _), ThreadPoolExecutor(12) as pool:
        texts = [f"column{i},b\n1,2\n2,1\n" for i in range(12)]
        answers = [found.json() for found in pool.map(lambda text: upload(client, text.encode()), texts)]
        listed = {one["number"]: one["columns"] for one in client.get("/api/state").json()["tables"]}
    assert sorted(answer["number"] for answer in answers) == list(range(1, 13))
    assert [answer["columns"][0]["name"] for answer in answers] == [f"column{i}" for i in range(12)]
    assert listed == {answer["number"]: answer["columns"] for answer in answers}


def test_11_a_small_file_with_a_huge_cell_has_a_small_answer(session, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    table = pa.table({"note": ["x" * 20_000_000, "y"], "b": [1, 2]})
    pyarrow.parquet.write_table(table, tmp_path / "huge.parquet", compression="zstd")
    with session(tmp_path) as (client, _):
        answer = upload(client, (tmp_path / "huge.parquet").read_bytes(), "huge.parquet")
        assert answer.status_code == 200
        assert max(len(answer.content), len(client.get("/api/state").content)) < 20_000


@pytest.mark.parametrize("other", [unicodedata.normalize("NFD", "José"), " José"], ids=["decomposed", "blank"])
def test_12_one_person_in_two_spellings_is_not_drawn_for_twice(tmp_path, other):
    release = fitted(tmp_path, people(tmp_path))
    table = lines(tmp_path / "two.csv", "who,a,b", [("José", 0, 0), ("Ana", 1, 0), (other, 0, 0)])
    refused("disclose", release, table, "--id", "who", "-o", tmp_path / "codes.csv", by=LedgerError)


def test_13_the_transformer_says_that_it_has_no_ledger():
    from choral.sklearn import Disclosure

    said = " ".join(" ".join(kind.__doc__ or "" for kind in Disclosure.__mro__[:2]).split())
    assert "no ledger" in said


def test_14_a_second_release_does_not_look_at_what_use_leaves_out(tmp_path):
    rows = [(i % 2, i // 2 % 2, i // 4 % 2, (i + i // 2) % 2, (i + i // 4) % 2) for i in range(400)]
    table = lines(tmp_path / "t.csv", "a,b,c,W,V", rows)
    first = fitted(tmp_path, table)
    asked = ["--reveal", "V", "--protect", "a", "--use", "a,c", "--after", first]
    words = refused("fit", table, *asked, "-o", tmp_path / "second.choral")
    assert "looks at b" in words
    assert 'use=["a", "b", "c"]' in words


@pytest.mark.parametrize("place", ["-o", "--card", "--key"])
def test_15_a_table_is_not_overwritten_by_force(tmp_path, place):
    table = people(tmp_path)
    before = table.read_bytes()
    other = [] if place == "-o" else ["-o", tmp_path / "r.choral"]
    refused("fit", table, "--reveal", "W", "--protect", "a,b", "--use", "a,b", *other, place, table, "--force")
    assert table.read_bytes() == before


def test_15_a_release_whose_codes_were_given_out_is_not_replaced_by_force(tmp_path):
    table = people(tmp_path)
    release = fitted(tmp_path, table)
    done("disclose", release, table, "-o", tmp_path / "codes.csv")
    before = release.read_bytes()
    refused("fit", table, "--reveal", "W", "--protect", "a,b", "--use", "a,b", "-o", release, "--force")
    assert release.read_bytes() == before


def test_16_a_disclosure_from_a_release_saves_no_key(tmp_path):
    load_release(fitted(tmp_path, people(tmp_path))).disclosure.save(tmp_path / "inner.choral")
    assert not {"key", "salt"} & json.loads((tmp_path / "inner.choral").read_text(encoding="utf-8")).keys()
