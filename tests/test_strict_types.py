"""Fields are read in one strict form per kind, or refused with their row; one value falls in one bin, wherever it is read."""

from __future__ import annotations

import csv
import datetime
import json
import math
import re
from decimal import Decimal

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from choral.draw.engine import disclose_table
from choral.errors import ColumnError, FieldError, LawError, ProblemError, ReleaseFileError
from choral.problem.question import Question
from choral.release.fit import fit, pose_table
from choral.show.cli import app
from choral.tables.bins import edges_of
from choral.tables.columns import Column
from choral.tables.found_types import LOOKED_AT
from choral.tables.kinds import ZONED
from choral.tables.opening import open_table
from choral.tables.recipe import Recipe
from choral.tables.rules import TableRules
from choral.tables.source import AsRead, reading

TYPES = [
    "BIGINT",
    "SMALLINT",
    "HUGEINT",
    "DOUBLE",
    "DECIMAL(9,2)",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_S",
    "VARCHAR",
]
REFUSED = object()
NUMBERS = (
    "1|0|-0|-3|17|+5| 5|5 |007|00|1.6|1.0|1.|.5|0x2|0b1|1_0|1_0e-1|1e1|1E+2|1e-1|1e0009|1e400|1e-400|1,5|1.005|1.50"
)
NUMBERS += (
    "|-0.25|0.1|9007199254740993|9223372036854775807|9223372036854775808|-9223372036854775808|12345678.00|1234567.89"
)
NUMBERS += "|123456789012345678901234567890|nan|NaN|NAN|inf|-inf|+inf|Infinity|infinity|1\t|½|١"
OTHERS = (
    "true|True|TRUE|tRUE|t|yes|false|2026-01-31|2026-02-30|2026-1-31|20260131|0000-01-01|9999-12-31|10000-01-01|NULL"
)
OTHERS += "|2026-01-31 14:05:00|2026-01-31T14:05:00.25|2026-01-31 24:00:00|2026-01-31 14:05|2026-01-31 14:05:00Z"
OTHERS += "|2026-01-31 14:05:00+02:00|2026-01-31 14:05:00.1234567|2026-01-31 14:05:60|é|epoch"
STRINGS = [*NUMBERS.split("|"), *OTHERS.split("|")]


def canonical(text: str, type_: str) -> object:
    """The value that a text is, by Python alone; REFUSED where it is none, None where it is missing."""
    if type_ == "VARCHAR":
        return text
    if type_ in ("BIGINT", "SMALLINT", "HUGEINT"):
        good = re.fullmatch("0|-?[1-9][0-9]*", text)
        bits = 127 if type_ == "HUGEINT" else 63
        return int(text) if good and -(2**bits) <= int(text) < 2**bits else REFUSED
    if type_ == "DOUBLE":
        if text in ("nan", "NaN"):
            return None
        if text in ("inf", "-inf"):
            return float(text)
        good = re.fullmatch(r"-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][-+]?[0-9]{1,3})?", text)
        return float(text) if good and math.isfinite(float(text)) else REFUSED
    if type_ == "DECIMAL(9,2)":
        good = re.fullmatch(r"-?(0|[1-9][0-9]*)([.][0-9]{1,2})?", text)
        return Decimal(text) if good and abs(Decimal(text)) < 10**7 else REFUSED
    if type_ == "BOOLEAN":
        return text.lower() == "true" if text in ("true", "True", "TRUE", "false", "False", "FALSE") else REFUSED
    try:
        if type_ == "DATE":
            return datetime.date.fromisoformat(text) if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else REFUSED
        shape = "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
        if not re.fullmatch(shape, text):
            return REFUSED
        day, _, clock = text.replace("T", " ").partition(" ")
        main, _, part = clock.partition(".")
        return datetime.datetime.fromisoformat(f"{day} {main}.{part:0<6}")
    except ValueError:
        return REFUSED


def read(source, column="x"):
    """The values of a column as they are compared, missing ones as None; REFUSED if a field is refused."""
    value = Column(column, source.columns[column], ()).value_sql()
    try:
        with reading(source):
            return [v for (v,) in source.connection.execute(f"SELECT {value} FROM {source.sql}").fetchall()]
    except FieldError as error:
        return REFUSED, str(error)


def csv_of(folder, texts, name="t.csv", header="x"):
    path = folder / name
    path.write_text(header + "\n" + "".join('"' + text.replace('"', '""') + '"\n' for text in texts), newline="")
    return path


@pytest.mark.parametrize("type_", TYPES)
def test_every_text_is_read_in_its_form_or_refused(tmp_path, type_):
    source = open_table(csv_of(tmp_path, STRINGS), AsRead({"x": type_}))
    value = source.fields["x"].value
    rows = source.connection.execute(f"SELECT x, {value} IS NULL, {value} FROM {source.stored.sql}").fetchall()
    for text, refused, found in rows:
        expected = canonical(text, type_)
        assert refused == (expected is REFUSED), text
        assert refused or found == expected or (found != found and expected is None), text
    assert [text for text, _, _ in rows] == STRINGS


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(TYPES),
    st.lists(
        st.text(st.sampled_from("0123456789+-.eE_xnaif :TZ"), max_size=12)
        | st.floats().map(repr)
        | st.integers().map(str)
        | st.decimals(allow_nan=False, allow_infinity=False, places=2).map(str),
        min_size=1,
        max_size=20,
    ),
)
@example("BIGINT", ["1", "1.6"])
@example("BIGINT", ["", "0x2", "1_0e-1"])
@example("DECIMAL(9,2)", ["1.00", "1.005"])
@example("TIMESTAMP", ["2026-01-31 14:05:00", "2026-01-31 14:05:00+02:00"])
def test_what_is_read_is_the_canonical_value_or_the_row_is_refused(tmp_path_factory, type_, texts):
    folder = tmp_path_factory.mktemp("t")
    expected = [None if text == "" else canonical(text, type_) for text in texts]
    if REFUSED in expected:
        row = expected.index(REFUSED)
        found = read(open_table(csv_of(folder, texts), AsRead({"x": type_})))
        assert found[0] is REFUSED
        assert f"row {row + 1} of" in found[1]
        assert repr(texts[row]) in found[1]
    kept = ["", *(text for text, value in zip(texts, expected, strict=True) if value is not REFUSED)]
    found = read(open_table(csv_of(folder, kept), AsRead({"x": type_})))
    assert found == [None, *(value for value in expected if value is not REFUSED)]


def whole_numbers(n=40):
    return [{"W": i % 2, "x": i % 4, "who": f"p{i}"} for i in range(n)]


def test_a_column_that_nobody_looks_at_may_hold_anything(tmp_path):
    release = fit(whole_numbers(), reveal="W", protect=["x"], use=["x"], min_count=1)
    path = tmp_path / "t.csv"
    path.write_text("who,x,W\na,1,?\nb,0,0x2\n")
    assert disclose_table(release, path, tmp_path / "codes.csv", tmp_path / "ledger", id="who").rows == 2


def test_json_values_are_of_their_kind_or_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    good = {"BIGINT": "17", "DOUBLE": "0.5", "BOOLEAN": "true", "DATE": '"2026-01-31"', "VARCHAR": '"a"'}
    bad = {
        "BIGINT": ["1.6", '"17"', "2.0", "true", "1e1"],
        "DOUBLE": ['"0.5"', "false"],
        "BOOLEAN": ["1", '"true"'],
        "DATE": ['"2026-1-31"', "20260131", '"2026-01-31 00:00:00"'],
        "TIMESTAMP": ['"2026-01-31T14:05:00Z"', '"2026-01-31"'],
        "VARCHAR": ["17", "true"],
        "DECIMAL(9,2)": ["1.005"],
    }
    for type_, texts in bad.items():
        for text in texts:
            path.write_text(f'{{"x": null}}\n{{"x": {good.get(type_, "null")}}}\n{{"x": {text}}}\n')
            found = read(open_table(path, AsRead({"x": type_})))
            assert found[0] is REFUSED, (type_, text, found)
            assert "row 3" in found[1]
    for type_, text in good.items():
        path.write_text(f'{{"x": null}}\n{{"x": {text}}}\n')
        assert read(open_table(path, AsRead({"x": type_})))[0] is None


def test_the_types_of_a_csv_file_are_those_whose_form_all_its_fields_have(tmp_path):
    texts = {
        "int": (["1", "-2", "0"], "BIGINT"),
        "float": (["1", "-2.5", "1e3"], "DOUBLE"),
        "gap": (["1", "", "nan"], "DOUBLE"),
        "date": (["2026-01-31", "", "2024-02-29"], "DATE"),
        "zip": (["12345", "00123", "1"], "VARCHAR"),
        "hex": (["0x2", "1", "2"], "VARCHAR"),
        "long": (["12345678901234567890", "12345678901234567891", "3"], "VARCHAR"),
        "large": (["12345678901234567890", "0.5", "3"], "DOUBLE"),
        "blank": ([" 1", " 2", "3"], "VARCHAR"),
        "mixed": (["2026-01-31", "1", "2"], "VARCHAR"),
        "nothing": (["", "", ""], "VARCHAR"),
        "moment": (["2026-01-31 14:05:00", "", "2026-01-31T14:05:00.25"], "TIMESTAMP"),
        "instant": (["2026-01-31T14:05:00Z", "2026-01-31 14:05:00.25+05:30", ""], "TIMESTAMP WITH TIME ZONE"),
        "or day": (["2026-01-31 14:05:00", "2026-01-31", ""], "VARCHAR"),
        "some zones": (["2026-01-31 14:05:00Z", "2026-01-31 14:05:00", ""], "VARCHAR"),
    }
    path = tmp_path / "t.csv"
    rows = zip(*(fields for fields, _ in texts.values()), strict=True)
    path.write_text(",".join(texts) + "\n" + "".join(",".join(row) + "\n" for row in rows))
    source = open_table(path)
    assert source.columns == {name: type_ for name, (_, type_) in texts.items()}
    assert set(source.remarks) == {"zip", "hex", "long", "blank", "mixed"}
    assert "'00123' in row 2 is not a whole number" in source.remarks["zip"]


def test_one_field_far_down_makes_a_column_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,1\n" * 5000 + "1,007\n")
    source = open_table(path)
    assert source.columns == {"x": "BIGINT", "y": "VARCHAR"}
    assert "'007' in row 5001" in source.remarks["y"]


@pytest.mark.parametrize("rows", [LOOKED_AT - 1, LOOKED_AT, LOOKED_AT + 1])
def test_the_last_field_counts_however_many_are_looked_at_first(tmp_path, rows):
    """Columns of which the last field alone says what they are, with names that the query itself uses."""
    last = {"field": ("2", "BIGINT"), "place": ("0.5", "DOUBLE"), 'a "b"': ("x", "VARCHAR"), "empty": ("", "VARCHAR")}
    before = ["1", "1", "1", ""]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*last], *[before] * (rows - 1), [text for text, _ in last.values()]])
    source = open_table(tmp_path / "t.csv")
    assert source.rows() == rows
    assert source.columns == {name: type_ for name, (_, type_) in last.items()}


def test_fit_says_that_a_column_is_read_as_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("W,zip\n" + "".join(f"{i % 2},{'0123' if i % 3 else '456'}\n" for i in range(60)))
    asked = ["fit", str(path), "--reveal", "W", "--protect", "zip", "--use", "zip", "-o", str(tmp_path / "r.choral")]
    told = CliRunner().invoke(app, asked)
    assert "remark       'zip' is read as text: '0123' in row 2 is not a whole number" in told.output
    told = CliRunner().invoke(app, [*asked, "--force", "--empty", "value", "--json"])
    assert json.loads(told.output)["empty"] == "value"


def test_times_in_json_texts_keep_their_zone(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"a": "2026-01-31T14:05:00Z", "b": "2026-1-31", "c": "2026-01-31T14:05:00", "d": "2026-01-31"}\n' * 3
    )
    source = open_table(path)
    assert source.columns == {"a": ZONED, "b": "VARCHAR", "c": "TIMESTAMP", "d": "DATE"}
    assert read(source, "a")[0] == datetime.datetime(2026, 1, 31, 14, 5)  # in UTC
    assert read(source, "c")[0] == datetime.datetime(2026, 1, 31, 14, 5)


def test_a_time_with_a_zone_is_another_kind():
    rows = [{"W": i % 2, "x": datetime.datetime(2026, 1, 1 + i % 2)} for i in range(8)]
    recipe = pose_table(open_table(rows), Question("W", ["x"], ["x"]), TableRules(min_count=1)).recipe
    zoned = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    with pytest.raises(ColumnError, match="with a zone"):
        recipe.state_of({"x": zoned})
    with pytest.raises(ColumnError, match="TIME ZONE"):
        recipe.check(open_table({"x": pa.array([zoned])}))


MOMENT = datetime.datetime(2026, 1, 31, 5)


@pytest.mark.parametrize(
    ("values", "row", "words"),
    [
        ([MOMENT.date(), None, MOMENT], 3, "points in time, and those before it are dates"),
        ([MOMENT, MOMENT.replace(tzinfo=datetime.UTC)], 2, "with a zone, and those before it are points in time"),
        ([1, float("nan"), "1.6"], 3, "text, and those before it are whole numbers"),
        ([True, 1], 2, "whole numbers, and those before it are truth values"),
        ([Decimal("1.5"), 1, 2.5], 3, "numbers, and those before it are decimals and whole numbers"),
    ],
)
def test_values_of_several_kinds_in_a_frame_are_refused_with_their_row(values, row, words):
    """Arrow takes the first two for what comes first: the hours and the zone were lost in silence."""
    column = pd.Series(values, dtype=object)
    for frame in ({"x": values}, [{"x": value} for value in values], {"x": column}, pd.DataFrame({"x": column})):
        with pytest.raises(FieldError, match=f"In row {row} of .* of column 'x' is .*{words}"):
            open_table(frame)
    for mixed in ([1, 1.6, None], [Decimal("1.5"), 1], ["a", None, float("nan")]):
        assert open_table({"x": mixed}).rows() == len(mixed)


@pytest.mark.parametrize("ending", ["parquet", "duckdb::t"])
def test_a_column_of_another_type_is_refused_with_its_row_in_files_and_databases(tmp_path, ending):
    release = fit(whole_numbers(), reveal="W", protect=["x"], use=["x"], min_count=1)
    numbers = pa.table({"who": ["a", "b", "c"], "x": [1.0, 1.6, 2.5], "W": [0.0, 1.0, 0.5]})
    if ending == "parquet":
        pq.write_table(numbers, tmp_path / "t.parquet")
    else:
        with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
            connection.register("frame", numbers)
            connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    path = f"{tmp_path}/t.{ending}"
    with pytest.raises(ColumnError, match=re.escape("whole numbers (BIGINT): in row 2 it is '1.6'")):
        disclose_table(release, path, tmp_path / "codes.csv", tmp_path / "ledger", id="who")
    whole = pa.table({"x": [1, 2, 3], "W": [0.0, 1.0, 0.5]})
    with pytest.raises(ColumnError, match=re.escape("'W' in the table holds numbers")):
        fit(whole_numbers(), reveal="W", protect=["x"], use=["x"], min_count=1, also=[whole])
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"t.{ending.partition(':')[0]}"]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ([{"x": 1}, {"x": 2**63}], "does not fit into 64 bits"),
        ({"x": [-(2**63) - 1]}, "does not fit into 64 bits"),
        (pd.DataFrame({"x": [2**64]}), "does not fit into 64 bits"),
        ([{"x": Decimal(10**38)}], "decimals of 39 digits"),
        ({"x": [Decimal("1E-50")]}, "'x' of the dict holds decimals of 50 digits"),
    ],
)
def test_numbers_that_no_column_holds_are_refused_with_a_remedy(frame, words):
    with pytest.raises(LawError, match=words) as failed:
        open_table(frame)
    assert "texts" in str(failed.value)


def test_nanoseconds_are_refused_rather_than_cut_off():
    frame = pd.DataFrame({"x": pd.to_datetime(["2026-01-31 00:00:00.000001", "2026-01-31 00:00:00.000000001"])})
    found = read(open_table(frame))
    assert found[0] is REFUSED
    assert "row 2 of the table" in found[1]
    assert read(open_table(frame[:1])) == [datetime.datetime(2026, 1, 31, 0, 0, 0, 1)]


def test_decimals_of_another_scale_are_compared_and_not_rounded():
    cents = [Decimal("1.00"), Decimal("1.01")]
    rows = [{"W": i % 2, "x": cents[i // 2 % 2]} for i in range(8)]
    recipe = pose_table(open_table(rows), Question("W", ["x"], ["x"]), TableRules(min_count=1)).recipe
    values = [Decimal("1.005"), Decimal("1.010"), Decimal("1.000")]
    table = open_table({"x": pa.array(values, pa.decimal128(9, 3))})
    states = [s for (s,) in table.connection.execute(recipe.select(table.sql, table.columns)).fetchall()]
    assert states == [recipe.state_of({"x": value}) for value in values] == [-1, 1, 0]


EVERYWHERE = [0.1, 0.3, 0.7, 1.005, 2.675, -0.25, 1e15 + 0.3, 41.5, 7.0]


def everywhere(folder, values):
    """The same numbers in every kind of table."""
    texts = [repr(value) for value in values]
    exact = pa.table({"x": pa.array([Decimal(text) for text in texts], pa.decimal128(38, 8))})
    pq.write_table(pa.table({"x": values}), folder / "t.parquet")
    pq.write_table(exact, folder / "d.parquet")
    (folder / "t.csv").write_text("x\n" + "".join(f"{text}\n" for text in texts))
    (folder / "t.json").write_text(json.dumps([{"x": value} for value in values]))
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("frame", exact)
        connection.execute("CREATE OR REPLACE TABLE t AS SELECT * FROM frame")
    files = [folder / name for name in ("t.csv", "t.json", "t.parquet", "d.parquet")]
    frames = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), exact, {"x": values}]
    return [*files, f"{folder / 't.duckdb'}::t", *frames]


@pytest.mark.parametrize("fitted", ["BIGINT", "DOUBLE", "DECIMAL(9,3)", "HUGEINT"])
def test_one_value_falls_in_one_bin_wherever_it_is_read(tmp_path, fitted):
    """Whatever the kind that was fitted, also in a CSV file for a release of whole numbers: 41.5 is not 42."""
    edges = tuple(sorted({*EVERYWHERE, 42.0}))
    column = Column("x", fitted, tuple(map(str, range(len(edges) + 1))), edges)
    expected = [column.code_of(value) for value in EVERYWHERE]
    assert expected == [sorted(edges).index(value) + 1 for value in EVERYWHERE]
    for source in everywhere(tmp_path, EVERYWHERE):
        table = open_table(source, AsRead({"x": column.type_read}))
        codes = table.connection.execute(f"SELECT {column.code_sql(table.columns['x'])} FROM {table.sql}").fetchall()
        assert [code for (code,) in codes] == expected, source


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-(2**120), 2**120), min_size=2, max_size=30))
def test_large_whole_numbers_are_binned_as_python_rounds_them(values):
    edges = tuple(sorted({float(value) for value in values[::2]}))
    column = Column("x", "HUGEINT", tuple(map(str, range(len(edges) + 1))), edges)
    table = open_table({"x": pa.array([Decimal(value) for value in values], pa.decimal128(38, 0))})
    sql = f"(SELECT CAST(x AS HUGEINT) AS x FROM {table.sql})"
    codes = [code for (code,) in table.connection.execute(f"SELECT {column.code_sql()} FROM {sql}").fetchall()]
    assert codes == [column.code_of(value) for value in values]


def test_bins_say_which_field_of_a_text_column_is_no_number(tmp_path):
    path = csv_of(tmp_path, ["1.5", "2", "0x2", "3"])
    with pytest.raises(ProblemError, match="1 value is no number, the first in row 3: '0x2'"):
        edges_of(open_table(path), "x", 2)


def empties(folder):
    """A missing value, an empty text and a text, in every kind of table."""
    rows = [{"x": None, "n": 0}, {"x": "", "n": 1}, {"x": "a", "n": 2}]
    table = pa.Table.from_pylist(rows)
    (folder / "t.csv").write_text('x,n\n,0\n"",1\na,2\n')
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pq.write_table(table, folder / "t.parquet")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE t AS SELECT * FROM frame")
    files = [folder / name for name in ("t.csv", "t.jsonl", "t.parquet")]
    category = pd.DataFrame({"x": pd.Categorical([None, "", "a"])})
    return [*files, f"{folder / 't.duckdb'}::t", table, table.to_pandas(), pl.DataFrame(rows), rows, category]


@pytest.mark.parametrize(("empty", "expected"), [("missing", [None, None, "a"]), ("value", [None, "", "a"])])
def test_an_empty_text_is_missing_or_a_value_as_declared_in_every_format(tmp_path, empty, expected):
    for source in empties(tmp_path):
        assert read(open_table(source, AsRead(empty=empty))) == expected, source


def test_an_empty_number_in_quotes_is_missing(tmp_path):
    for empty in ("missing", "value"):
        path = tmp_path / "t.csv"
        path.write_text('x\n""\n\n1\n')
        source = open_table(path, AsRead(empty=empty))
        assert source.columns == {"x": "BIGINT"}
        assert [v for v in read(source) if v is not None] == [1]


def test_the_rule_for_empty_texts_is_in_the_release(tmp_path):
    rows = [{"W": i % 2, "x": ["", "a", None][i % 3]} for i in range(30)]
    for empty, values in (("missing", ("a", None)), ("value", ("", "a", None))):
        recipe = fit(rows, reveal="W", protect=["x"], use=["x"], min_count=1, empty=empty).recipe
        again = Recipe.from_document(json.loads(json.dumps(recipe.to_document())))
        assert again.as_read.empty == again.empty == empty
        assert again.column("x").values == values
        assert again.state_of({"x": ""}) == (again.state_of({"x": None}) if empty == "missing" else 0)
        for source in empties(tmp_path / empty) if (tmp_path / empty).mkdir() is None else ():
            table = open_table(source, again.as_read)
            states = [s for (s,) in table.connection.execute(again.select(table.sql, table.columns)).fetchall()]
            assert states == [again.state_of({"x": value}) for value in (None, "", "a")], source
    with pytest.raises(ReleaseFileError):
        Recipe.from_document({**recipe.to_document(), "empty text": "perhaps"})
    with pytest.raises(ProblemError, match="empty='none'"):
        fit(rows, empty="none")


def test_a_release_that_does_not_say_keeps_its_rule(tmp_path):
    """Releases of version 0.1.0: an empty text is missing in CSV files, a value elsewhere."""
    recipe = fit([{"W": i % 2, "x": "ab"[i % 2]} for i in range(20)], reveal="W", protect=["x"], use=["x"]).recipe
    old = recipe.to_document()
    del old["empty text"]
    before = Recipe.from_document(old)
    assert before.to_document() == old
    found = [read(open_table(source, before.as_read)) for source in empties(tmp_path)]
    assert found == [[None, None, "a"], *[[None, "", "a"]] * 8]


def test_digests_do_not_depend_on_how_a_table_is_read(tmp_path):
    for source in empties(tmp_path):
        assert len({open_table(source, AsRead(empty=empty)).digest() for empty in ("missing", "value", None)}) == 1


def test_a_line_with_too_few_fields_is_still_said(tmp_path):
    (tmp_path / "t.csv").write_text("W,X\n1,2\n1\n")
    with pytest.raises(LawError, match="Line 3"):
        open_table(tmp_path / "t.csv")
