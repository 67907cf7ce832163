"""What is written never takes the place of what is read, nor of what was given out, however much it is forced."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

import choral as ch
from choral.draw.engine import disclose_table
from choral.errors import FileInTheWayError
from choral.files import check_output, keep_apart
from choral.release.card import card_of, decode
from choral.release.file import load_release
from choral.release.fit import fit
from choral.show.cli import app

ROWS = [
    {"who": f"{a}{b}{i}", "W": "yes" if a ^ b else "no", "a": a, "b": b}
    for a in (0, 1)
    for b in (0, 1)
    for i in range(10)
]
ASKED = ["--reveal", "W", "--protect", "a,b", "--use", "a,b"]


def table(path):
    path.write_text("who,W,a,b\n" + "".join(f"{r['who']},{r['W']},{r['a']},{r['b']}\n" for r in ROWS))
    return path


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with one of everything: table, links to it, parts, a database, a release with key, card, codes, ledger."""
    monkeypatch.chdir(tmp_path)
    table(Path("t.csv"))
    os.link("t.csv", "hard.csv")
    os.symlink("t.csv", "soft.csv")
    Path("parts.csv").mkdir()
    table(Path("parts.csv/1.csv"))
    os.link("parts.csv/1.csv", "linked.csv")
    with duckdb.connect("db.duckdb") as base:
        base.execute("CREATE TABLE people AS SELECT * FROM 't.csv'")
    release = fit("t.csv", "W", ["a", "b"], ["a", "b"])
    release.save("r.choral", "r.key")
    card_of(release).save("card.json")
    disclose_table(release, "t.csv", "codes.csv", "choral.ledger", "who")
    Path("other.csv").write_text(Path("t.csv").read_text())
    return tmp_path


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


FIT = ["fit", "t.csv", *ASKED]
DISCLOSE = ["disclose", "r.choral", "t.csv", "--key", "r.key", "--id", "who"]


@pytest.mark.parametrize(
    "command",
    [
        [*FIT, "-o", "t.csv"],
        [*FIT, "-o", "x", "--card", "t.csv"],
        [*FIT, "-o", "x", "--key", "t.csv"],
        [*FIT, "-o", "hard.csv"],
        [*FIT, "-o", "soft.csv"],
        ["fit", "soft.csv", *ASKED, "-o", "t.csv"],
        ["fit", "./t.csv", *ASKED, "-o", "../{here}/t.csv"],
        ["fit", "db.duckdb::people", *ASKED, "-o", "db.duckdb"],
        ["fit", "db.duckdb::people", *ASKED, "-o", "db.duckdb.wal"],
        ["fit", "parts.csv", *ASKED, "-o", "parts.csv/1.csv"],
        ["fit", "parts.csv", *ASKED, "-o", "parts.csv/2.csv"],
        ["fit", "parts.csv", *ASKED, "-o", "linked.csv"],
        [*FIT, "--also", "other.csv", "-o", "other.csv"],
        [*FIT, "-o", "x", "--card", "choral.ledger"],
        [*FIT, "-o", "x", "--ledger", "new", "--card", "new"],
        [*FIT, "--after", "r.choral", "--after-key", "r.key", "-o", "r.choral"],
        [*FIT, "--after", "r.choral", "--after-key", "r.key", "-o", "x", "--key", "r.key"],
        [*FIT, "-o", "x", "--card", "./x"],
        [*FIT, "-o", "t2", "--key", "x", "--card", "x"],
        [*DISCLOSE, "-o", "t.csv"],
        [*DISCLOSE, "-o", "hard.csv"],
        [*DISCLOSE, "-o", "soft.csv"],
        ["disclose", "r.choral", "parts.csv", "--key", "r.key", "--id", "who", "-o", "parts.csv/2.csv"],
        ["disclose", "r.choral", "parts.csv", "--key", "r.key", "--id", "who", "-o", "linked.csv"],
        ["disclose", "r.csv", "t.csv", "--key", "r.key", "--id", "who", "-o", "r.csv"],
        ["disclose", "r.choral", "t.csv", "--key", "key.csv", "--id", "who", "-o", "key.csv"],
        [*DISCLOSE, "--ledger", "book.csv", "-o", "book.csv"],
        ["decode", "card.json", "codes.csv", "-o", "codes.csv"],
        ["decode", "card.csv", "codes.csv", "-o", "card.csv"],
        ["report", "r.html", "-o", "r.html"],
        ["report", "r.choral", "--card", "card.html", "-o", "card.html"],
        ["curve", "--prior", "1/2,1/2", "--channel", "bsc:0.1", "--n", "2", "--csv", "x.svg", "--plot", "x.svg"],
        ["curve", "--prior", "1/2,1/2", "--channel", "bsc:0.1", "--n", "2", "--csv", "choral.ledger"],
        ["curve", "--prior", "1/2,1/2", "--channel", "bsc:0.1", "--n", "2", "--csv", "r.choral"],
        ["demo", "-o", "r.choral"],
        ["demo", "-o", "choral.ledger"],
        ["fit", "example:xor", "-o", "r.choral"],
    ],
    ids=lambda command: " ".join(command).replace(" ".join(ASKED), "…"),
)
def test_nothing_that_is_read_is_replaced_whatever_is_forced(folder, command):
    shutil.copy("r.choral", "r.csv")
    shutil.copy("r.choral", "r.html")
    shutil.copy("r.key", "key.csv")
    shutil.copy("card.json", "card.csv")
    shutil.copy("card.json", "card.html")
    before = contents(folder)
    ended = run(*(str(part).replace("{here}", folder.name) for part in command), "--force")
    assert ended.exit_code == 1
    assert isinstance(ended.exception, FileInTheWayError), ended.exception
    assert ended.exception.remedy
    assert contents(folder) == before


@pytest.mark.parametrize("given", ["codes", "card"])
@pytest.mark.parametrize("place", ["beside", "named"])
def test_a_release_that_was_given_out_is_not_replaced(tmp_path, monkeypatch, given, place):
    monkeypatch.chdir(tmp_path)
    table(Path("t.csv"))
    book = ["--ledger", "far/book"] if place == "named" else []
    Path("far").mkdir()
    first = [*FIT, "-o", "r.choral", "--key", "r.key", *book]
    assert run(*first, *(["--card", "c.json"] if given == "card" else [])).exit_code == 0
    if given == "codes":
        told = ["disclose", "r.choral", "t.csv", "--key", "r.key", "--id", "who", "-o", "codes.csv", *book]
        assert run(*told).exit_code == 0
    before = contents(tmp_path)
    for again in (first, [*FIT, "-o", "x", "--key", "r.key", *book], [*FIT, "-o", "x", "--key", "r.choral", *book]):
        ended = run(*again, "--force")
        assert isinstance(ended.exception, FileInTheWayError)
        assert "given out" in ended.exception.what
    assert contents(tmp_path) == before
    if place == "beside":
        with pytest.raises(FileInTheWayError, match="given out"):
            fit("t.csv", "W", ["a"], ["a", "b"]).save("r.choral", force=True)
        assert contents(tmp_path) == before


def test_a_release_that_nobody_was_given_is_replaced_by_force(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table(Path("t.csv"))
    first, second = fit("t.csv", "W", ["a"], ["a", "b"]), fit("t.csv", "W", ["a", "b"], ["a", "b"])
    first.save("r.choral")
    with pytest.raises(FileInTheWayError, match="exists"):
        second.save("r.choral")
    second.save("r.choral", force=True)
    assert load_release("r.choral").digest == second.digest
    disclose_table(second, "t.csv", "codes.csv", "choral.ledger", "who")
    load_release("r.choral").save("r.choral", "r.key", force=True)  # itself, with its key apart
    assert load_release("r.choral", "r.key").digest == second.digest
    disclosure = ch.disclose(ch.examples.xor())
    with pytest.raises(FileInTheWayError, match="holds a release"):
        disclosure.save("r.choral", force=True)
    disclosure.save("d.choral")
    disclosure.save("d.choral", force=True)


def test_decode_and_disclose_keep_inputs_apart_from_python_too(folder):
    release, card = load_release("r.choral", "r.key"), card_of(load_release("r.choral"))
    for action in (
        lambda: decode(card, "codes.csv", "codes.csv", force=True),
        lambda: disclose_table(release, "t.csv", "soft.csv", "choral.ledger", "who", force=True),
        lambda: disclose_table(release, "t.csv", "out.csv", "out.csv", "who", force=True),
        lambda: release.save("x", "x", force=True),
    ):
        with pytest.raises(FileInTheWayError):
            action()


def test_frames_are_in_no_file_and_other_files_are_free(folder):
    keep_apart(
        {"the codes": Path("out.csv")}, {"the table": {"a": [1]}, "the key": None, "more": ["t.csv", "parts.csv"]}
    )
    keep_apart({"the codes": Path("other.csv"), "the card": None}, {"the table": "t.csv"})
    check_output(Path("other.csv"), True)
