"""From records to states: SQL and Python agree, on every kind of value; documents come back as they went."""

from __future__ import annotations

import csv
import dataclasses
import itertools
import json
import math
import random
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from tables import tables

from choral.errors import ColumnError, FieldError, LawError, ProblemError, ReleaseFileError
from choral.problem.question import Question
from choral.release.fit import pose_table
from choral.tables.columns import Column, literal
from choral.tables.opening import open_table
from choral.tables.recipe import Recipe
from choral.tables.rules import TableRules
from choral.tables.source import Source, reading


def posed(rows, **options):
    used = [name for name in rows[0] if name != "W"]
    return pose_table(open_table(rows), Question("W", used[:1], used), TableRules(**{"min_count": 1, **options})).recipe


def by_sql(recipe, source):
    table = source if isinstance(source, Source) else open_table(source)
    return [state for (state,) in table.connection.execute(recipe.select(table.sql, table.columns)).fetchall()]


@settings(max_examples=16)
@given(tables(), st.sampled_from(["value", "drop"]), st.integers(1, 6), st.booleans())
def test_sql_and_python_agree_on_every_record(rows, missing, min_count, dense):
    try:
        recipe = posed(rows, missing=missing, min_count=min_count)
    except ProblemError as error:
        assert "leaves one" in str(error)  # noqa: PT017
        reject()
    recipe = Recipe.from_document(json.loads(json.dumps(recipe.to_document())))
    other = [{**row, "x0": rows[i - 1]["x0"], "x1": rows[i - 2]["x1"]} for i, row in enumerate(rows)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("choral.tables.recipe.DENSE", 10**6 if dense else 0)
        for records in (rows, other):
            assert by_sql(recipe, records) == [recipe.state_of(row) for row in records]
    assert set(by_sql(recipe, rows)) - {None} == set(range(recipe.size))


@settings(max_examples=25)
@given(
    st.lists(st.floats(allow_nan=False, width=64), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(allow_nan=True), min_size=1, max_size=30),
)
def test_bins_agree_with_bisection_at_and_beside_every_edge(edges, values):
    edges = sorted({edge + 0.0 for edge in edges})
    column = Column("x", "DOUBLE", (*map(str, range(len(edges) + 1)), None), tuple(edges))
    beside = [*edges, *(math.nextafter(edge, -math.inf) for edge in edges)]
    values = [*values, *beside]
    table = open_table(pa.table({"x": pa.array(values, type=pa.float64())}))
    found = [code for (code,) in table.connection.execute(f"SELECT {column.code_sql()} FROM {table.sql}").fetchall()]
    expected = [len(edges) + 1 if v != v else int(np.searchsorted(edges, v, side="right")) for v in values]
    assert found == expected == [column.code_of(v) for v in values]


def test_a_binned_column_takes_numbers_of_any_kind_and_not_a_number_is_missing():
    rows = [{"W": i % 2, "x": i % 10} for i in range(40)]
    recipe = pose_table(open_table(rows), Question("W", ["x"], ["x"]), TableRules({"x": [3, 7]})).recipe
    for values in ([0.0, 3.0, 6.9, 7.0, float("nan"), None], [Decimal("2.99"), Decimal("3.00"), Decimal(7), None]):
        table = open_table(pa.table({"x": values}))
        recipe.check(table)
        assert by_sql(recipe, table) == [recipe.state_of({"x": value}) for value in values]
    assert recipe.state_of({"x": float("nan")}) == -1


def test_the_same_table_in_every_format_gives_the_same_states(tmp_path):
    rng = random.Random(5)
    rows = [{"W": rng.choice("ab"), "x": rng.randrange(3), "y": rng.choice(["u", "v", None])} for _ in range(60)]
    frame = pd.DataFrame(rows)
    recipe = posed(rows)
    expected = [recipe.state_of(row) for row in rows]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["W", "x", "y"])
        writer.writeheader()
        writer.writerows(rows)
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.json").write_text(json.dumps(rows))
    import duckdb

    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.register("frame", pa.Table.from_pylist(rows))
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    sources = [tmp_path / name for name in ("t.csv", "t.parquet", "t.jsonl", "t.json")]
    sources += [
        f"{tmp_path / 'db.duckdb'}::t",
        frame,
        pl.DataFrame(rows),
        pl.LazyFrame(rows),
        pa.Table.from_pylist(rows),
        rows,
    ]
    for source in sources:
        assert by_sql(recipe, source) == expected, source
        again = open_table(source)
        assert again.rows() == 60
        assert again.digest() == open_table(source).digest()
    digests = [open_table(source).digest() for source in (rows, [*rows, rows[0]], rows[::-1], [*rows[1:], rows[0]])]
    assert len(set(digests)) == 4


def test_a_digest_tells_apart_what_its_texts_joined_would_not():
    pairs = [
        {"a": "1", "b": "23"},
        {"a": "12", "b": "3"},
        {"a": "1:", "b": "23"},
        {"a": None, "b": "23"},
        {"a": "-", "b": "23"},
    ]
    assert len({open_table([row]).digest() for row in pairs}) == len(pairs)
    assert open_table([{"a": 1}]).digest() != open_table([{"a": "1"}]).digest()


def test_unseen_values_and_combinations_have_no_state():
    rows = [{"W": i % 2, "x": x, "y": y} for i in range(4) for x, y in [(0, "a"), (1, "a"), (1, "b")]]
    recipe = posed(rows)
    new = [{"x": 0, "y": "b"}, {"x": 2, "y": "a"}, {"x": 1, "y": "c"}, {"x": 1, "y": None}, {"x": 1, "y": "b"}]
    assert by_sql(recipe, new) == [recipe.state_of(row) for row in new] == [-1, -1, -1, -1, 2]


def test_order_is_kept_and_columns_are_carried_on_many_rows():
    table = open_table([{"W": i % 2, "x": i % 3, "y": i % 5, "id": i} for i in range(50_000)])
    recipe = pose_table(table, Question("W", ["x"], ["x", "y"])).recipe
    found = table.connection.execute(recipe.select(table.sql, table.columns, ["id"])).fetchall()
    assert found == [(i, (i % 3) * 5 + i % 5) for i in range(50_000)]


def test_more_combinations_than_fit_a_machine_word():
    rows = [{"W": i % 2, **{f"x{j}": (i * (j + 3)) % 4 for j in range(34)}} for i in range(64)]
    recipe = posed(rows)
    assert by_sql(recipe, rows) == [recipe.state_of(row) for row in rows]


@pytest.mark.parametrize(
    ("column", "now", "words"),
    [
        ("x", ["0", "1"], ["'x'", "text", "whole numbers", "in row 1 it is '0'"]),
        ("x", ["0", "1x"], ["'x'", "text", "whole numbers", "in row 2 it is '1x'"]),
        ("x", [0.0, 1.0], ["numbers (DOUBLE)", "whole numbers", "in row 1 it is '0.0'"]),
        ("x", [0.0, None, 1.6], ["numbers (DOUBLE)", "whole numbers", "in row 3 it is '1.6'"]),
        ("x", [None, False], ["truth values", "in row 2 it is 'false'"]),
        ("x", pa.array([None, None], pa.float64()), ["numbers", "all its values are missing"]),
        ("y", [1, 2], ["whole numbers", "text", "in row 1 it is '1'"]),
    ],
)
def test_other_types_than_at_fit_time_are_refused_with_their_row(column, now, words):
    rows = [{"W": i % 2, "x": i % 2, "y": "ab"[i // 2 % 2]} for i in range(8)]
    recipe = posed(rows)
    changed = open_table({"x": [0, 1, 1][: len(now)], "y": ["a", "b", "b"][: len(now)], column: now})
    with pytest.raises(ColumnError) as caught:
        recipe.check(changed)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    value = next((value for value in now if isinstance(value, str | float | int)), None)
    if value is not None:
        with pytest.raises(ColumnError):
            recipe.state_of({"x": 0, "y": "a", column: value})
    with pytest.raises(ColumnError, match="no column 'y'"):
        recipe.check(open_table({"x": [1]}))
    recipe.check(open_table({"x": pa.array([1], pa.int16()), "y": ["a"]}))


def test_a_csv_is_read_with_the_types_of_the_fit(tmp_path):
    first, later = tmp_path / "first.csv", tmp_path / "later.csv"
    first.write_text("W,zip,n\n" + "".join(f"{i % 2},{'abc'[i % 3]}{i % 2},{i % 2}\n" for i in range(24)))
    table = open_table(first)
    assert table.columns == {"W": "BIGINT", "zip": "VARCHAR", "n": "BIGINT"}
    recipe = pose_table(table, Question("W", ["zip"], ["zip", "n"]), TableRules(min_count=1)).recipe
    later.write_text("zip,n\n17,1\na0,0\n")
    assert open_table(later, recipe.as_read).columns == {"zip": "VARCHAR", "n": "BIGINT"}
    assert by_sql(recipe, open_table(later, recipe.as_read)) == [-1, recipe.state_of({"zip": "a0", "n": 0})]
    later.write_text("zip,n\na0,0\na0,many\n")
    changed = open_table(later, recipe.as_read)
    with pytest.raises(LawError, match=r"row 2 of .*'many' of column 'n' is not a whole number"), reading(changed):
        by_sql(recipe, changed)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "", "is empty"),
        ("t.csv", "W,X\n", "no rows"),
        ("t.csv", "W,X\n1,2\n1\n", "Line 3 of .* 1 fields, the header 2"),
        ("t.csv", "W,X\n1,2\r\n3,4\n", r"\(LF\), others .* \(CRLF\)"),
        ("t.csv", "W,X\r\n1,2\n3,4\r\n", r"\(LF\), others .* \(CRLF\)"),
        ("t.csv", "W,X\n1,2,3\n", "Line 2 of .* 3 fields, the header 2"),
        ("t.csv", "W,X,W,W_2\n1,2,3,4\n", "two columns named 'W_2'"),
        ("t.csv", "W,w\n1,2\n", "two columns named 'W' and 'w'"),
        ("t.csv", "W,X,W,x\n1,2,3,4\n", "two columns named 'X' and 'x'"),
        ("t.csv", "W,\n1,2\n", "Column 2 of .* no name"),
        ("t.json", "nonsense", "cannot be read"),
        ("t.parquet", "nonsense", "cannot be read"),
        ("t.xlsx", "nonsense", "is not a .csv"),
        ("t.duckdb", "nonsense", "is not a .csv"),
    ],
)
def test_what_is_no_table_is_said_so(tmp_path, name, text, words):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(LawError, match=words):
        open_table(file)


def test_databases_and_frames_that_are_no_tables(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "db.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS a")
    with pytest.raises(LawError, match="Did you mean 'visits'"):
        open_table(f"{tmp_path / 'db.duckdb'}::visit")
    (tmp_path / "bad.duckdb").write_text("nonsense")
    with pytest.raises(LawError, match="cannot be read"):
        open_table(f"{tmp_path / 'bad.duckdb'}::t")
    with pytest.raises(LawError, match="no such file"):
        open_table(tmp_path / "none.csv")
    with pytest.raises(LawError, match="is a folder"):
        open_table(tmp_path)
    for frame in (
        5,
        {},
        {"a": []},
        pd.DataFrame([[1, 2]], columns=["a", "A"]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ):
        with pytest.raises(LawError):
            open_table(frame)
    for mixed in ({"a": [1, "x"]}, pd.DataFrame({"a": [1, "x"]})):
        with pytest.raises(
            FieldError, match="the value 'x' of column 'a' is text, and those before it are whole numbers"
        ):
            open_table(mixed)


def test_a_path_is_one_file_whatever_its_name(tmp_path):
    for name in ("a[1].csv", "it's *.csv", "q?.csv", "ä;.csv"):
        (tmp_path / name).write_text("W,X\n1,2\n")
        assert open_table(tmp_path / name).rows() == 1
    (tmp_path / "q1.csv").write_text("W,X\n1,2\n")
    assert open_table(tmp_path / "q?.csv").rows() == 1


def test_a_recipe_that_was_tampered_with_is_refused():
    recipe = posed([{"W": i % 2, "x": i // 2 % 2} for i in range(8)])
    good = recipe.to_document()
    for change in ({"use": ["z"]}, {"unseen": "guess"}, {"missing": "x"}, {"kept": 1}, {"columns": 3}, {"table": {}}):
        with pytest.raises(ReleaseFileError):
            Recipe.from_document({**good, **change})
    assert Recipe.from_document(good) == recipe
    assert dataclasses.replace(recipe, unseen="code") != recipe


def test_a_zero_character_is_refused_rather_than_cut_off():
    with pytest.raises(LawError, match="zero character"):
        literal("a\0b")


def test_merged_states_of_several_parts_by_sql():
    columns = tuple(Column(name, "BIGINT", (0, 1, 2, 3)) for name in ("x", "y"))
    cells = list(itertools.product(range(4), range(4)))
    recipe = Recipe(
        columns=columns, use=("x", "y"), protect=(("x",),), reveal=("y",), combinations=tuple(cells[:15]), kept=5,
        merged=(4, 2, 4), state_column="state", missing="value", unseen="refuse", min_count=5, law={}, table_digest="",
        table_rows=0,
    )  # fmt: skip
    rows = [{"x": x, "y": y} for x, y in cells]
    expected = [0, 1, 2, 3, 4, *[5] * 4, *[6] * 2, *[7] * 4, -1]
    assert [recipe.state_of(row) for row in rows] == expected
    assert by_sql(recipe, rows) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("choral.tables.recipe.DENSE", 0)
        assert by_sql(recipe, rows) == expected
