"""Spark and DuckDB agree: the same release from the same table, and the same code for every record.

Tests marked `spark` run on one session (`make test-spark`: a standalone master and a worker); the others need no Spark.
"""

from __future__ import annotations

import datetime
import doctest
import json
import os
import re
import shlex
import tomllib
import uuid
import warnings
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from test_strict_types import REFUSED, STRINGS, canonical, empties
from typer.testing import CliRunner

from choral.draw import engine, spark
from choral.draw.spark import counts, disclose, session
from choral.draw.spark.frames import spark_table
from choral.errors import (
    ChoralError,
    ColumnError,
    FieldError,
    FileInTheWayError,
    LawError,
    LedgerError,
    LedgerWarning,
    ProblemError,
    TooLargeError,
)
from choral.files import keep_apart
from choral.release.file import load_release
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app
from choral.tables.opening import open_table
from choral.tables.source import AsRead, connect

KEY = bytes(range(32))
RULES = {
    "reveal": "income",
    "protect": ["sex", "town"],
    "use": ["sex", "town", "age", "since"],
    "bins": {"age": "q3"},
    "min_count": 8,
}
TOWNS = ["Ulm", "São Paulo", 'the "Hague"', "a, b", " x ", None]


def people(n=400, seed=1):
    """Invented people with missing values, unequal towns, and identifiers of several kinds."""
    draws = np.random.default_rng(seed)
    sex, town, age = draws.integers(0, 2, n), draws.choice(6, n, p=[0.4, 0.3, 0.2, 0.04, 0.03, 0.03]), draws.random(n)
    income = draws.random(n) < 0.2 + 0.3 * sex + 0.2 * (age > 0.5)
    who = draws.permutation(n) + 1000
    years = [datetime.date(2000, 1, 1), datetime.date(2011, 11, 11)]
    return pa.table(
        {
            "who": who,
            "name": [f"n{i}" if i % 3 else f"a name of more than fourteen bytes, é {i}" for i in who.tolist()],
            "card": pa.array([Decimal(int(i)) * 10**12 for i in who], pa.decimal128(38, 0)),
            "born": pa.array([datetime.date(1900, 1, 1) + datetime.timedelta(int(i)) for i in who]),
            "sex": np.array(["f", "m"])[sex],
            "town": [TOWNS[i] for i in town],
            "age": [None if i % 50 == 7 else float(a) * 80 for i, a in enumerate(age.tolist())],
            "since": [years[i] for i in draws.integers(0, 2, n).tolist()],
            "income": income,
        }
    )


def write(table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".csv":
        csv.write_csv(table, path)
    else:
        rows = [{k: str(v) if isinstance(v, datetime.date) else v for k, v in row.items()} for row in table.to_pylist()]
        path.write_text("".join(json.dumps(row, default=int, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def document(release, *, but=()):
    """All that a release says, apart from its salt, its digest (which covers the salt) and its key."""
    found = dict(release._document(with_key=False))
    assert found.pop("salt")
    assert found.pop("key check")
    assert found.pop("digest")
    found["recipe"] = {k: v for k, v in found["recipe"].items() if k not in but}
    return found


def codes(path):
    """What was disclosed: identifier to code, each once."""
    with closing((source := open_table(path)).connection) as connection:
        rows = connection.execute(f"SELECT * FROM {source.sql}").fetchall()
    assert list(source.columns)[1:] == ["code"]
    found = dict(rows)
    assert len(found) == len(rows)
    return found


@pytest.fixture(scope="module")
def running():
    with spark.started() as found:
        yield found


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def release(table):
    return replace(fit(table, **RULES), key=KEY)


def both(release, source, folder, id, name="codes.parquet", frame=None):
    """The codes that DuckDB and Spark give, by identifier, with a ledger for each."""
    (folder / "duckdb").mkdir()
    (folder / "spark").mkdir()
    engine.disclose_table(release, source, folder / "duckdb" / name, folder / "ledger1", id)
    told = spark.disclose_table(
        release, source if frame is None else frame, folder / "spark" / name, folder / "ledger2", id
    )
    expected, found = codes(folder / "duckdb" / name), codes(folder / "spark" / name)
    assert sorted(p.name for p in (folder / "spark").iterdir()) == [name]
    assert told.disclosed == len(found)
    assert all(p.name[0] not in "._" for p in (folder / "spark" / name).iterdir())
    return expected, found


# ---------------------------------------------------------------------- fit


@pytest.mark.spark
def test_the_session_is_the_one_that_the_scripts_started(running):
    assert running.sparkContext.master == os.environ.get(session.MASTER, session.HERE)
    with spark.started() as again:
        assert again is running
    with pytest.raises(ChoralError, match="already runs"), spark.started("spark://elsewhere:1"):
        pass


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("t.parquet", {}),
        ("t.csv", {"missing": "drop", "bins": {"age": "w20"}}),
        ("t.jsonl", {"bins": {"age": [20, 41.5]}, "unseen": "code", "law": "dirichlet"}),
    ],
)
def test_fit_gives_the_same_release_as_on_duckdb(running, table, tmp_path, name, options):
    path = write(table, tmp_path / name)
    expected, found = fit(path, **RULES | options), spark.fit(path, **RULES | options)
    assert document(found) == document(expected)
    assert found.key != expected.key
    assert found.recipe.merged
    assert found.recipe.column("age").edges


@pytest.mark.spark
def test_fit_of_a_frame_is_that_of_the_table_and_its_digest_does_not_depend_on_the_order(running, table, tmp_path):
    frame = running.read.parquet(str(write(table, tmp_path / "t.parquet"))).repartition(3)
    expected, found = fit(table, **RULES), spark.fit(frame, **RULES)
    assert document(found, but=["table"]) == document(expected, but=["table"])
    assert found.recipe.table_rows == 400
    digests = {spark_table(running, f).digest() for f in (frame, frame.orderBy("who"))}
    assert digests == {found.recipe.table_digest}
    less = frame.where("who != 1000")
    assert spark_table(running, less).digest() not in digests
    swapped = frame.selectExpr(*(f"{name} AS {name}" for name in frame.columns[:-1]), "NOT income AS income")
    assert spark_table(running, swapped).digest() not in digests


@pytest.mark.spark
def test_a_second_release_and_further_tables(running, table, release, tmp_path):
    path, other = write(table, tmp_path / "t.parquet"), write(people(seed=2), tmp_path / "u.parquet")
    asked = {"reveal": "since", "protect": ["sex", "town"], "use": ["sex", "town", "age"]}
    first = replace(
        fit(path, reveal="income", protect=["sex", "town"], use=["sex", "town", "age"], bins={"age": 2}), key=KEY
    )
    expected, found = fit_after(first, path, **asked), spark.fit(path, **asked, earlier=first)
    assert document(found) == document(expected)
    assert found.recipe.after.digest == first.digest
    same, by_spark = both(found, path, tmp_path, "who")
    assert same == by_spark
    plain = {"reveal": "income", "protect": ["sex"], "use": ["sex", "age"], "bins": {"age": 2}, "missing": "drop"}
    assert document(spark.fit(path, **plain, also=[other])) == document(fit(path, **plain, also=[other]))


@pytest.mark.spark
def test_fit_refuses_what_duckdb_refuses(running, table, tmp_path, monkeypatch):
    path = write(table, tmp_path / "t.parquet")
    for wrong, error, match in (
        ({"reveal": "incme"}, ColumnError, "income"),
        ({"reveal": "income", "use": ["who"]}, ProblemError, "as many values as there are rows"),
        ({"reveal": "income", "use": ["sex", "town"], "missing": "error"}, LawError, "missing values"),
        ({"reveal": "income", "use": ["sex"], "bins": {"sex": 2}}, ProblemError, "cannot be binned"),
    ):
        with pytest.raises(error, match=match):
            spark.fit(path, **wrong)
    monkeypatch.setattr(counts, "MOST_CELLS", 100)
    many = len(set(zip(*(table[name].to_pylist() for name in ("sex", "age", "income")), strict=True)))
    with pytest.raises(
        TooLargeError, match=f"{many} different combinations .* 'age', which has 392 values: bins=.age=4."
    ):
        spark.fit(path, reveal="income", use=["sex", "age"])
    with pytest.raises(LawError, match="no rows"):
        spark.fit(running.createDataFrame([], "W int, X int"))
    (tmp_path / "b.csv").write_text('W,X\n1,"a\nb"\n0,c\n1,c\n')
    with pytest.raises(LawError, match=r"b\.csv"):
        spark.fit(tmp_path / "b.csv", min_count=1)
    for unread in ({"W": [1]}, "db.duckdb::t", "hdfs://host/t.parquet"):
        with pytest.raises(LawError):
            spark.fit(unread)


# ---------------------------------------------------------------------- disclose


@pytest.mark.spark
@pytest.mark.parametrize(
    ("source", "id", "output"),
    [
        ("t.parquet", "who", "codes.parquet"),
        ("t.csv", "name", "codes.csv"),
        ("t.jsonl", "card", "codes.parquet"),
        ("t.parquet", "born", "codes.csv"),
    ],
)
def test_every_record_has_the_same_code_on_both_engines(running, table, release, tmp_path, source, id, output):
    expected, found = both(release, write(table, tmp_path / source), tmp_path, id, output)
    assert found == expected
    assert len(found) == table.num_rows
    assert len(set(found.values())) > 1
    if source != "t.jsonl":
        assert set(found) == set(table[id].to_pylist())


@pytest.mark.spark
@pytest.mark.parametrize(("drop", "use"), [((), ("score", "sex")), (("sex",), ("score",))])
def test_a_score_is_the_same_on_both_engines(running, table, tmp_path, monkeypatch, drop, use):
    """Also where a protected column is not looked at: records to come need not have it."""
    monkeypatch.setattr("choral.scores.crossfit.TREES", 20)
    source = write(table, tmp_path / "people.csv")
    asked = {"reveal": "income", "protect": ["sex"], "id": "who", "drop": drop}
    scored = spark.fit(source, **asked)
    assert scored.recipe.use == use
    assert document(scored) == document(fit(source, **asked))
    to_come = write(table.drop_columns(list(drop)), tmp_path / "to_come.csv")
    here, there = both(replace(scored, key=KEY), to_come, tmp_path, "who")
    assert here == there


@pytest.mark.spark
def test_a_frame_whose_protected_column_is_not_looked_at(running, table, tmp_path):
    """Counts lost the word that it is not: the code looked at it."""
    few = table.select(["who", "sex", "town", "since", "income"])
    frame = running.read.parquet(str(write(few, tmp_path / "few.parquet")))
    found = spark.fit(frame, "income", ["sex"], id="who", drop="sex")
    assert found.recipe.use == ("town", "since")
    assert document(found, but=("table",)) == document(
        fit(few, "income", ["sex"], use=["town", "since"], id="who"), but=("table",)
    )


@pytest.mark.spark
def test_parts_and_places_do_not_depend_on_the_order_of_the_table(running, table, release, tmp_path, monkeypatch):
    """The same lines in the same parts, whatever the table's order and cut; a part has its codes in keyed order."""
    monkeypatch.setattr(disclose, "ROWS_IN_A_PART", 150)
    whole = running.read.parquet(str(write(table, tmp_path / "t.parquet")))
    found = []
    for i, frame in enumerate((whole, whole.repartition(5), whole.orderBy("sex", "town").coalesce(1))):
        told = spark.disclose_table(release, frame, tmp_path / f"{i}.csv", tmp_path / f"ledger{i}", "who")
        assert (told.arrange, told.with_rows) == ("keyed", False)
        found.append([part.read_bytes() for part in sorted((tmp_path / f"{i}.csv").iterdir())])
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 3
    by_id = spark.disclose_table(release, whole, tmp_path / "id.parquet", tmp_path / "ledger0", "who", arrange="id")
    assert by_id.arrange == "id"
    with closing((source := open_table(tmp_path / "id.parquet")).connection) as connection:
        who = [who for (who,) in connection.execute(f"SELECT who FROM {source.sql}").fetchall()]
    assert who == sorted(who)
    for wrong in ({"arrange": "table"}, {"with_rows": True}):
        with pytest.raises(ProblemError, match="does not number the rows"):
            spark.disclose_table(release, whole, tmp_path / "no.csv", tmp_path / "ledger0", "who", **wrong)


@pytest.mark.spark
def test_frames_and_folders_in_several_parts(running, table, release, tmp_path):
    folder = tmp_path / "a [b] {c}"
    folder.mkdir()
    for i in range(3):
        write(table.slice(i * 150, 150), folder / f"part-{i}.parquet")
    frame = running.read.parquet(str(write(table, tmp_path / "t.parquet"))).repartition(3)
    expected, found = both(release, folder, tmp_path, "name")
    assert found == expected
    release.disclose(frame, tmp_path / "frame.parquet", "name", ledger=tmp_path / "ledger1", engine="spark")
    assert codes(tmp_path / "frame.parquet") == expected
    assert (
        fit(folder, **RULES).recipe.table_digest
        == open_table(folder).digest()
        != open_table(tmp_path / "t.parquet").digest()
    )


@pytest.mark.spark
@pytest.mark.parametrize("bins", [{}, {"cents": "q3", "wide": 2, "small": "w0.25", "tiny": [0]}])
def test_every_kind_of_column(running, tmp_path, bins):
    draws = np.random.default_rng(7)
    n = 300
    pools = {
        "tiny": pa.array([-1, 0, 1], pa.int8()),
        "wide": pa.array([2**64 - 1, 2**53 + 1, 2**53], pa.uint64()),
        "small": pa.array([0.1, -0.0, 0.0, float("nan"), None], pa.float32()),
        "cents": pa.array([Decimal("0.10"), Decimal("19.99"), None], pa.decimal128(9, 2)),
        "when": pa.array(
            [datetime.datetime(2020, 1, 31, 12, 30, 0, 5), datetime.datetime(1969, 7, 20)], pa.timestamp("us")
        ),
        "W": pa.array([True, False]),
    }
    columns = {name: pool.take(pa.array(draws.integers(0, len(pool), n))) for name, pool in pools.items()}
    path = write(pa.table({"id": pa.array(range(2**63, 2**63 + n), pa.uint64()), **columns}), tmp_path / "t.parquet")
    asked = {"reveal": "W", "protect": ["tiny", "when"], "use": [*pools][:-1], "bins": bins, "min_count": 3}
    expected = fit(path, **asked)
    assert document(spark.fit(path, **asked)) == document(expected)
    same, found = both(replace(expected, key=KEY), path, tmp_path, "id")
    assert found == same
    assert min(found) == 2**63


@pytest.mark.spark
def test_many_combinations_unseen_values_and_rows_left_out(running, tmp_path):
    draws = np.random.default_rng(5)
    n = 400
    often = [0.45, 0.31] + [0.02] * 12
    columns = {f"x{i}": draws.choice(14, n, p=often) for i in range(3)}
    wide = pa.table({"id": np.arange(n), "W": draws.integers(0, 2, n), **columns})
    wide = wide.set_column(2, "x0", pa.array(wide["x0"].to_pylist()[:-9] + [None] * 9))
    found = replace(
        fit(wide, reveal="W", protect=["x0"], min_count=20, use=[*columns], missing="drop", unseen="code"), key=KEY
    )
    other = wide.set_column(3, "x1", pa.array(draws.integers(0, 16, n))).append_column(
        "key", pa.array(map(uuid_of, range(n)))
    )
    path = write(other, tmp_path / "t.parquet")
    expected, by_spark = both(found, path, tmp_path, "key")
    assert by_spark == expected
    assert len(by_spark) == n - 9
    assert found.disclosure.codes in by_spark.values()
    strict = replace(found, recipe=replace(found.recipe, unseen="refuse"))
    with pytest.raises(
        ColumnError, match=r"were not seen .* one is that with key = [0-9a-f-]{36}\. Nothing was written"
    ):
        spark.disclose_table(strict, path, tmp_path / "no.parquet", tmp_path / "ledger3", "key")
    assert not [p for p in tmp_path.iterdir() if "no.parquet" in p.name]
    spark.disclose_table(found, path, tmp_path / "yes.parquet", tmp_path / "ledger3", "key")


@pytest.mark.spark
def test_a_field_of_another_type_than_at_fit_time_is_named(running, table, release, tmp_path):
    text = write(table, tmp_path / "t.csv").read_text().replace("2011-11-11", "yesterday", 1)
    (tmp_path / "t.csv").write_text(text)
    row = 1 + table.column("since").to_pylist().index(datetime.date(2011, 11, 11))
    with pytest.raises(FieldError, match=f"row {row} of .*'yesterday' of column 'since' is not a date"):
        spark.disclose_table(release, tmp_path / "t.csv", tmp_path / "o.csv", tmp_path / "ledger", "who")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.spark
def test_a_column_of_another_type_than_at_fit_time_is_refused_with_a_record(running, tmp_path):
    """Rows of a frame have no numbers: how many records it is, and one of them."""
    rows = [{"W": i % 2, "x": i % 4} for i in range(40)]
    found = fit(rows, reveal="W", protect=["x"], use=["x"], min_count=1)
    numbers = pa.table({"who": ["a", "b", "c"], "x": [1.0, 2.5, 1.6], "W": [0, 1, 0]})
    frame = running.createDataFrame(numbers.to_pylist())
    path = write(numbers, tmp_path / "t.parquet")
    words = {"in 2 records; where who = b it is '2.5'": frame, "in row 2 it is '2.5'": path}
    for said, source in words.items():
        with pytest.raises(ColumnError, match=said):
            spark.disclose_table(found, source, tmp_path / "o.csv", tmp_path / "ledger", "who")
    words = {"in 2 records; for one it is '1.6'": frame, "in row 2 it is '2.5'": path}
    for said, source in words.items():
        with pytest.raises(ColumnError, match=said):
            spark.fit(running.createDataFrame(rows), "W", ["x"], ["x"], min_count=1, also=[source])
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


@pytest.mark.spark
@pytest.mark.parametrize("type_", ["BIGINT", "HUGEINT", "DOUBLE", "DECIMAL(9,2)"])
def test_spark_and_duckdb_take_the_same_texts_for_the_same_numbers(running, tmp_path, type_):
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "".join(f'"{text}"\n' for text in STRINGS))
    found = spark_table(running, path, AsRead({"x": type_}))
    given, numbers = zip(*found.raw(["x"]).select("c0", found.number("x", 0)).collect(), strict=True)
    assert list(given) == STRINGS
    for text, number in zip(STRINGS, numbers, strict=True):
        expected = canonical(text, type_)
        if expected is REFUSED:
            assert number is None, text
        else:
            assert number != number if expected is None else number == float(expected), text


@pytest.mark.spark
@pytest.mark.parametrize(("empty", "expected"), [("missing", [None, None, "a"]), ("value", [None, "", "a"])])
def test_an_empty_text_is_to_spark_what_it_is_to_duckdb(running, tmp_path, empty, expected):
    for source in empties(tmp_path)[:3]:
        found = spark_table(running, source, AsRead(empty=empty))
        with closing(connect()) as connection:
            connection.register("raw", found.raw(["x", "n"]).toArrow())
            rows = connection.execute(f"SELECT x FROM {found.typed_sql(['x', 'n'], 'raw')} ORDER BY n").fetchall()
        assert [value for (value,) in rows] == expected, source


@pytest.mark.spark
def test_fields_that_are_not_of_their_form_are_refused_by_fit_with_their_row(running, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("W,x,age\n" + "".join(f"{i % 2},{i // 2 % 2},{i % 5}\n" for i in range(40)))
    for text, column in (("0x1,2", "x"), ("1,1_0e-1", "age")):
        bad.write_text(f"W,x,age\n1,1,1\n0,{text}\n")
        with pytest.raises(FieldError, match=f"row 2 of .*column '{column}'"):
            spark.fit(good, "W", ["x"], ["x", "age"], bins={"age": [2]}, min_count=1, also=[bad])


def uuid_of(i):
    return str(uuid.UUID(int=i * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128))


@pytest.mark.spark
def test_the_ledger_is_the_same_for_both_engines(running, table, release, tmp_path):
    path, book, out = write(table, tmp_path / "t.parquet"), tmp_path / "ledger", tmp_path / "out.parquet"
    engine.disclose_table(release, path, tmp_path / "first.parquet", book, "who")
    spark.disclose_table(release, path, out, book, "who")
    assert codes(out) == codes(tmp_path / "first.parquet")
    before = sorted(p.name for p in out.iterdir())
    sex = table["sex"].to_pylist()
    changed = table.set_column(4, "sex", pa.array([{"f": "m", "m": "f"}[sex[0]], *sex[1:]]))
    other = replace(fit(path, **RULES), key=KEY)
    spelt = table.slice(0, 2).set_column(table.column_names.index("who"), "who", pa.array(["7", " 7"]))
    refused = [
        (
            release,
            changed,
            f"1 of the identifiers in 'who' was disclosed before with another record.* is '{table['who'][0]}', spelt",
        ),
        (release, pa.concat_tables([table, table.slice(9, 1)]), f"repeat an identifier .* '{table['who'][9]}' is one"),
        (
            release,
            spelt,
            "repeat an identifier in 'who' in another spelling: '(7 ?| ?7)' and '(7 ?| ?7)' are taken for one",
        ),
        (other, table, "400 of the identifiers in 'who' were disclosed before under another release"),
    ]
    for under, rows, match in refused:
        with pytest.raises(LedgerError, match=match):
            spark.disclose_table(under, write(rows, tmp_path / "u.parquet"), out, book, "who", force=True)
    assert sorted(p.name for p in out.iterdir()) == before
    for column, remedy in (("name", 'Give id="who"'), ("age", "cannot identify"), ("town", "missing in some rows")):
        with pytest.raises(ChoralError, match=remedy):
            spark.disclose_table(release, path, out, tmp_path / "new" if column == "town" else book, column, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "first.parquet",
        "ledger",
        "out.parquet",
        "t.parquet",
        "u.parquet",
    ]


@pytest.mark.spark
def test_whole_or_not_at_all(running, table, release, tmp_path, monkeypatch):
    path, book, out = write(table, tmp_path / "t.csv"), tmp_path / "ledger", tmp_path / "out.csv"
    left = tmp_path / ".out.csv.partial.parts" / "given"
    left.mkdir(parents=True)
    (left / "part-0.csv").write_text("left behind by a killed run")
    out.mkdir()
    (out / "old.csv").touch()

    def killed(*_):
        raise KeyboardInterrupt

    put_in_place = disclose.put_folder_in_place
    monkeypatch.setattr(disclose, "put_folder_in_place", killed)
    with pytest.raises(KeyboardInterrupt):
        spark.disclose_table(release, path, out, book, "who", force=True)
    monkeypatch.setattr(disclose, "put_folder_in_place", put_in_place)
    assert [p.name for p in out.iterdir()] == ["old.csv"]
    with pytest.raises(FileInTheWayError):
        spark.disclose_table(release, path, out, book, "who")
    spark.disclose_table(release, path, out, book, "who", force=True)
    assert len(codes(out)) == table.num_rows
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger", "out.csv", "t.csv"]


@pytest.mark.spark
def test_the_shell(running, table, tmp_path):
    path, name = write(table, tmp_path / "t.csv"), str(tmp_path / "r.choral")
    run = CliRunner().invoke
    asked = [
        "fit",
        str(path),
        "--reveal",
        "income",
        "--protect",
        "sex,town",
        "--use",
        "sex,town,age",
        "--bins",
        "age=3",
    ]
    done = run(app, [*asked, "-o", name, "--card", str(tmp_path / "card.json"), "--engine", "spark", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == table.num_rows
    out = str(tmp_path / "codes.parquet")
    done = run(app, ["disclose", name, str(path), "-o", out, "--id", "who", "--engine", "spark"])
    assert done.exit_code == 0, done.output
    assert "disclosed    400 of 400 rows" in done.stdout
    engine.disclose_table(load_release(name), path, tmp_path / "d.parquet", tmp_path / "choral.ledger", "who")
    assert codes(out) == codes(tmp_path / "d.parquet")
    done = run(app, ["decode", str(tmp_path / "card.json"), out, "-o", str(tmp_path / "p.parquet")])
    assert done.exit_code == 0, done.output
    for wrong, match in (
        (["disclose", name, str(path), "-o", out, "--engine", "spark", "--force"], "identifies records (id=)"),
        (["disclose", name, str(path), "-o", out, "--id", "who", "--engine", "spark"], "exists"),
        (["disclose", name, str(path), "-o", str(path / "x.csv"), "--id", "who", "--engine", "spark"], "no folder"),
        (["disclose", name, str(path), "-o", str(path), "--id", "who", "--engine", "spark", "--force"], "table itself"),
        (
            [*asked, "-o", str(tmp_path / "s.choral"), "--engine", "spark", "--master", "spark://elsewhere:1"],
            "already runs",
        ),
    ):
        done = run(app, wrong)
        assert done.exit_code != 0
        assert match in str(done.exception)


# ---------------------------------------------------------------------- without Spark


def test_engines_and_masters_are_checked(tmp_path):
    for options, match in (
        (["--engine", "dask"], "no engine 'dask'"),
        (["--master", "local[2]"], "Add --engine spark"),
    ):
        for command in (["fit", "t.csv"], ["disclose", "r.choral", "t.csv"]):
            done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / "o.csv"), *options])
            assert done.exit_code != 0
            assert match in str(done.exception)


def test_java_that_is_absent_or_old_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ChoralError, match=r"needs Java, which is not in .*Install Java 17"):
        session._check_java()
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    for version, fine in (("1.8.0_392", False), ("11.0.2", False), ("17.0.15", True), ("21", True)):
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
        java.chmod(0o755)
        if fine:
            session._check_java()
        else:
            with pytest.raises(ChoralError, match="needs Java 17"):
                session._check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ChoralError, match="Java, which is not installed"):
        session._check_java()


def test_a_master_that_does_not_answer_is_said_at_once():
    import socket

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        session._check_answers(f"spark://127.0.0.1:{port}")
    for master in (f"spark://127.0.0.1:{port}", "spark://127.0.0.1", "spark://127.0.0.1:99999"):
        with pytest.raises(ChoralError, match="No Spark master answers"):
            session._check_answers(master)
    session._check_answers("local[2]")


def test_a_table_of_counts_is_fitted_like_the_table_itself(table):
    """What Spark counts, counted here by pandas: `Source.weight` changes nothing but the number of rows that are read."""
    names = ["sex", "town", "since", "income"]
    asked = {"reveal": "income", "protect": ["sex", "town"], "use": ["sex", "town", "since"], "min_count": 20}
    frame = table.select(names).to_pandas()
    counted = pa.Table.from_pandas(
        frame.groupby(names, dropna=False).size().reset_index(name="n"), preserve_index=False
    )
    source, plain = open_table(counted), open_table(table.select(names))
    columns = {name: plain.columns[name] for name in names}
    weighted = replace(source, columns=columns, weight="n", known_digest=plain.digest())
    assert counted.num_rows < weighted.rows() == plain.rows() == 400
    for missing in ("value", "drop"):
        found, expected = fit(weighted, **asked, missing=missing), fit(plain, **asked, missing=missing)
        assert document(found) == document(expected)
        assert found.recipe.merged
    with pytest.raises(LawError, match=f"{table['town'].null_count} missing values"):
        fit(weighted, **asked, missing="error")


def test_folders_of_one_kind_are_tables(tmp_path):
    for name, text in (("b.csv", "W,X\n1,2\n"), ("a.csv", "W,X\n3,4\n"), ("_SUCCESS", ""), (".a.csv.crc", "x")):
        (tmp_path / name).write_text(text)
    source = open_table(tmp_path)
    assert source.connection.execute(f"SELECT * FROM {source.sql}").fetchall() == [(3, 4), (1, 2)]
    before = source.digest()
    (tmp_path / "b.csv").write_text("W,X\n1,9\n")
    assert open_table(tmp_path).digest() != before
    for i in range(40):
        (tmp_path / f"m{i}.csv").write_text(f"W,X\n1,{i}\n")
    (tmp_path / "n.csv").write_text("W,X\n1,x\n")
    assert open_table(tmp_path).columns == {"W": "BIGINT", "X": "VARCHAR"}
    (tmp_path / "c.csv").write_text("W,Y\n1,2\n")
    with pytest.raises(LawError, match="another header"):
        open_table(tmp_path)
    (tmp_path / "c.csv").rename(tmp_path / "c.parquet")
    with pytest.raises(LawError, match="not of files of one kind"):
        open_table(tmp_path)


def test_where_codes_may_go(tmp_path):
    """A folder of codes is neither the table nor the ledger, holds none of them and lies in none of them."""
    for folder in ("t", "p"):
        (tmp_path / folder).mkdir()
    for target, book in (("t", "l"), ("t/codes.csv", "l"), ("o", "o"), ("p", "p/ledger"), ("", "l")):
        with pytest.raises(FileInTheWayError):
            keep_apart({"the codes": tmp_path / target}, {"the ledger": tmp_path / book, "the table": tmp_path / "t"})
    keep_apart({"the codes": tmp_path / "o"}, {"the ledger": tmp_path / "l", "the table": tmp_path / "t"})


# ---- the page about it ----------------------------------------------------------------------------------------------


def visits(seed, patients):
    """A table like the one that the page speaks of."""
    draws = np.random.default_rng(seed)
    n = len(patients)
    age, sex = draws.integers(20, 90, n), draws.integers(0, 2, n)
    ill = draws.random(n) < np.where((age > 55) ^ (sex == 1), 0.7, 0.2)
    return pa.table({"patient": patients, "outcome": ill, "age": age, "sex": np.array(["f", "m"])[sex]})


@pytest.mark.spark
def test_every_block_of_the_page_runs(running, tmp_path, monkeypatch):
    """In order, as it stands there; but for the address of the master, which is the one that runs here."""
    root = Path(__file__).parents[1]
    blocks = re.findall(
        r"^```(\w+)\n(.*?)^```", (root / "docs" / "spark.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert [language for language, _ in blocks] == ["console", "console", "python"]
    monkeypatch.chdir(tmp_path)
    write(visits(1, range(300)), tmp_path / "visits.parquet")
    (tmp_path / "visits_in_parts").mkdir()
    for part in range(2):
        table = visits(2 + part, range(300 + 50 * part, 350 + 50 * part))
        write(table, tmp_path / "visits_in_parts" / f"{part}.parquet")
    lines = [
        line.removeprefix("$ ") for language, body in blocks if language == "console" for line in body.splitlines()
    ]
    ran = []
    for line in lines:
        program, *arguments = shlex.split(line, comments=True)
        if program == "choral":
            done = CliRunner().invoke(app, arguments)
            assert done.exit_code == 0, f"{line}\n{done.output}"
            ran.append(arguments[0])
        elif program == "export":
            [(name, master)] = [one.split("=") for one in arguments]
            assert (name, master.partition("://")[0]) == (session.MASTER, "spark")
            monkeypatch.setenv(name, running.sparkContext.master)
        else:
            assert [program, arguments[0]] == ["pip", "install"]
            [(name, wanted)] = re.findall(r"^(\w+)\[(.*)\]$", arguments[1])
            project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
            assert name == project["name"]
            assert set(wanted.split(",")) <= set(project["optional-dependencies"])
    assert ran == ["fit", "disclose", "disclose"]
    given = load_release("release.choral")
    for source, found in (("visits.parquet", "codes.parquet"), ("visits_in_parts", "more.parquet")):
        engine.disclose_table(given, source, tmp_path / f"here-{found}", tmp_path / f"{found}.ledger", "patient")
        assert codes(tmp_path / found) == codes(tmp_path / f"here-{found}")

    monkeypatch.chdir(tmp_path / "visits_in_parts")
    here = {"frame": running.read.parquet(str(tmp_path / "visits.parquet"))}
    exec(blocks[-1][1], here)
    disclosed = codes(tmp_path / "visits_in_parts" / "codes.parquet")
    assert sorted(disclosed) == list(range(300))
    assert here["release"].recipe.protect == given.recipe.protect


@pytest.mark.spark
def test_the_page_of_the_gallery_has_the_same_codes_from_spark(running):
    """What runs without Spark is run as it stands; then the block that needs one, with this session."""
    from pictures import page_of, run

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LedgerWarning)
        names = run("spark", doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE))
        [block] = re.findall(
            r"^```python\n(?!>>> )(.*?)^```", page_of("spark").read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
        exec(block, names | {"spark": running}, names)
    here = codes(Path(names["folder"]) / "here.parquet")
    assert names["there"] == here
    assert sorted(here) == list(range(600))


def dated(n=300, seed=7):
    """People with dates and points in time, with a zone too, near midnights and leap days, and with gaps."""
    draws = np.random.default_rng(seed)
    edges = [
        datetime.datetime(2024, 2, 29),
        datetime.datetime(987, 3, 1),
        datetime.datetime(2010, 1, 3, 23, 59, 59, 999999),
    ]
    at = [edges[i % 3] + datetime.timedelta(hours=int(h)) for i, h in enumerate(draws.integers(-30, 30, n))]
    born = [
        None if i % 29 == 3 else datetime.date(1930, 1, 1) + datetime.timedelta(int(d))
        for i, d in enumerate(draws.integers(0, 25000, n))
    ]
    schools = np.array(["none", "primary", "it's", "PhD"])[draws.integers(0, 4, n)].tolist()
    return pa.table(
        {
            "who": [f"p{i}" for i in range(n)],
            "born": pa.array(born, pa.date32()),
            "at": pa.array(at, pa.timestamp("us")),
            "seen": pa.array([moment.replace(tzinfo=datetime.UTC) for moment in at], pa.timestamp("us", "UTC")),
            "school": pa.array([None if i % 31 == 5 else name for i, name in enumerate(schools)], pa.string()),
            "ill": draws.integers(0, 2, n),
        }
    )


DATED = {
    "reveal": "ill",
    "protect": ["born", "school"],
    "use": ["born", "school", "at", "seen"],
    "groups": {"school": {"low": ["none", "primary"], "other": "*"}},
}


@pytest.mark.spark
@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "frame"])
@pytest.mark.parametrize(("at", "seen"), [("week", "weekday"), ("month", "quarter"), ("decade", "year")])
def test_dates_and_groups_are_cut_alike_in_another_zone(running, tmp_path, name, at, seen):
    table = dated()
    asked = {**DATED, "bins": {"born": "decade", "at": at, "seen": seen}}
    zone = running.conf.get("spark.sql.session.timeZone")
    running.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        if name == "frame":
            parquet.write_table(table, tmp_path / "f.parquet")
            source = running.read.parquet(str(tmp_path / "f.parquet"))
            plain = fit(table, **asked)
        else:
            texts = {"born": str, "at": str, "seen": lambda moment: moment.isoformat()}
            rows = [
                {k: texts[k](v) if k in texts and v is not None else v for k, v in row.items()}
                for row in table.to_pylist()
            ]
            source = write(table if name == "t.parquet" else pa.Table.from_pylist(rows), tmp_path / name)
            plain = fit(source, **asked)
        found = spark.fit(source, **asked)
        expected = fit(table, **asked)
        for one in (found, plain):
            assert [(c.values, c.cut) for c in one.recipe.columns] == [
                (c.values, c.cut) for c in expected.recipe.columns
            ]
            assert one.disclosure.law.table.cells == expected.disclosure.law.table.cells
            assert one.recipe.combinations == expected.recipe.combinations
        release = replace(found, key=KEY)
        given, told = both(
            release, table if name == "frame" else source, tmp_path, "who", frame=source if name == "frame" else None
        )
        assert given == told
    finally:
        running.conf.set("spark.sql.session.timeZone", zone)


@pytest.mark.spark
def test_groups_that_do_not_fit_are_refused_by_spark_too(running, tmp_path):
    source = write(dated(), tmp_path / "t.parquet")
    with pytest.raises(
        ProblemError, match=r"'primry' is no value of it \(did you mean 'primary'\?\); 'PhD', 'it's', 'primary' are"
    ):
        spark.fit(source, **{**DATED, "groups": {"school": {"low": ["none", "primry"]}}})
    with pytest.raises(ProblemError, match="'at' holds points in time, and 4 cuts numbers"):
        spark.fit(source, **DATED, bins={"at": 4, "seen": "year", "born": "year"})
