"""Dates by the calendar and categories in groups: the same bin on every engine, and the law that Python counts."""

from __future__ import annotations

import datetime
import json
import random
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import csv, parquet
from typer.testing import CliRunner

import choral as ch
from choral.auditing.audit import audit
from choral.errors import ChoralError, ColumnError, LawError, ProblemError, ReleaseFileError, VerificationError
from choral.release.agreement import check_recipe
from choral.release.card import card_of
from choral.release.file import load_release
from choral.release.fit import fit
from choral.show.cli import app
from choral.sklearn import PrivateCodes
from choral.tables.calendar import PARTS, Calendar
from choral.tables.columns import Column
from choral.tables.groups import Groups, groups_of, read_groups
from choral.tables.kinds import ZONED
from choral.tables.opening import open_table
from choral.tables.points import Points
from choral.tables.recipe import Recipe
from choral.tables.source import connect

CONNECTION = connect()
DAY = datetime.timedelta(1)
UTC = datetime.UTC
DATES = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
ODD = [
    datetime.date(*ymd)
    for ymd in (
        *[(1, 1, 1), (9, 12, 31), (10, 1, 1), (987, 2, 28), (1000, 1, 1), (1582, 10, 10), (1900, 2, 28)],
        *[(2000, 2, 29), (2004, 12, 31), (2005, 1, 2), (2008, 12, 29), (2010, 1, 3), (2024, 2, 29), (9999, 12, 31)],
    )
]
MIDNIGHTS = [datetime.datetime(2024, 3, 1) + datetime.timedelta(microseconds=shift) for shift in (-1, 0, 1)] + [
    datetime.datetime(1, 1, 1),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
]
SCHOOLS = ["1st-4th", "5th-6th", "7th-8th", "HS", "Masters", "PhD"]
PRIMARY = {"primary": ["1st-4th", "5th-6th", "7th-8th"], "other": "*"}


def part_of(day: datetime.date, part: str) -> str:
    """The part by counting days, without the calendar of ISO that Python and DuckDB have."""
    number = day.toordinal()  # 1 January of the year 1 is day 1, a Monday
    if part == "weekday":
        return ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][(number - 1) % 7]
    if part == "week":
        thursday = datetime.date.fromordinal(number - (number - 1) % 7 + 3)
        nth = (thursday - datetime.date(thursday.year, 1, 1)).days // 7 + 1
        return f"{thursday.year:04d}-W{nth:02d}"
    text = f"{day.year:04d}-{day.month:02d}"
    quarters = {"-Q1": "01 02 03", "-Q2": "04 05 06", "-Q3": "07 08 09", "-Q4": "10 11 12"}
    quarter = next(name for name, months in quarters.items() if text[5:] in months.split())
    return {"decade": text[:3] + "0s", "year": text[:4], "quarter": text[:4] + quarter, "month": text}[part]


def cut_by_calendar(values, part, type_="DATE"):
    """A column with the parts that these days have, and the missing value, which is always in it here."""
    seen = {part_of(value, part) for value in values if value is not None}
    return Column.cut_by("d", type_, Calendar(part), [*seen, None])


def codes_in(table, column, zone="UTC"):
    """The positions that SQL gives the rows of a table in Arrow, in order, on a machine in this zone."""
    CONNECTION.register("rows", table)
    CONNECTION.execute(f"SET TimeZone = '{zone}'")
    types = {row[0]: row[1] for row in CONNECTION.execute("DESCRIBE rows").fetchall()}
    assert types[column.name] == column.type
    return [code for (code,) in CONNECTION.execute(f"SELECT {column.code_sql(column.type)} FROM rows").fetchall()]


def named(column, codes):
    return [column.values[code] for code in codes]


@given(st.lists(st.none() | DATES, min_size=1, max_size=30), st.sampled_from(list(PARTS)))
@example([*ODD, None], "week")
@example([*ODD, None], "decade")
@example([*ODD, None], "weekday")
def test_the_part_of_a_date_is_that_of_counted_days_in_sql_and_in_python(days, part):
    column = cut_by_calendar(days, part)
    expected = [None if day is None else part_of(day, part) for day in days]
    arrow = pa.table({"d": pa.array(days, pa.date32())})
    assert named(column, codes_in(arrow, column)) == expected
    assert named(column, map(column.code_of, days)) == expected
    assert all(Calendar(part).can_be(name) for name in expected if name is not None)
    assert Column.from_document(json.loads(json.dumps(column.to_document()))) == column


@given(st.lists(st.none() | st.datetimes(), min_size=1, max_size=30), st.sampled_from(list(PARTS)))
@example([*MIDNIGHTS, None], "month")
@example([*MIDNIGHTS, None], "weekday")
def test_points_in_time_have_the_part_of_their_own_day(moments, part):
    column = cut_by_calendar(moments, part, "TIMESTAMP")
    expected = [None if moment is None else part_of(moment.date(), part) for moment in moments]
    assert named(column, codes_in(pa.table({"d": pa.array(moments, pa.timestamp("us"))}), column)) == expected
    assert named(column, map(column.code_of, moments)) == expected


@given(
    st.lists(
        st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29)).flatmap(
            lambda moment: st.integers(-14 * 60, 14 * 60).map(
                lambda minutes: moment.replace(tzinfo=datetime.timezone(datetime.timedelta(minutes=minutes)))
            )
        ),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(list(PARTS)),
    st.sampled_from(["UTC", "America/New_York", "Pacific/Kiritimati", "Asia/Kolkata"]),
)
def test_a_point_in_time_with_a_zone_has_the_part_of_its_day_in_utc_wherever_the_machine_is(moments, part, zone):
    in_utc = [(moment.replace(tzinfo=None) - moment.utcoffset()).date() for moment in moments]
    column = cut_by_calendar(in_utc, part, ZONED)
    table = pa.table({"d": pa.array(moments, pa.timestamp("us", zone))})
    assert named(column, codes_in(table, column, zone)) == [part_of(day, part) for day in in_utc]
    assert named(column, map(column.code_of, moments)) == [part_of(day, part) for day in in_utc]


def test_a_zone_and_none_are_not_taken_for_each_other():
    plain, zoned = datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=UTC)
    one, other = cut_by_calendar([plain], "year", "TIMESTAMP"), cut_by_calendar([plain], "year", ZONED)
    assert one.code_of(plain) == one.code_of(plain.date()) == other.code_of(zoned) == 0
    with pytest.raises(
        ColumnError, match="is points in time with a zone, and the release was fitted on points in time"
    ):
        one.code_of(zoned)
    with pytest.raises(ColumnError, match="points in time with a zone"):
        other.code_of(plain)
    with pytest.raises(ColumnError, match="fitted on points in time with a zone"):
        other.check({"d": "TIMESTAMP"})
    one.check({"d": "DATE"})


def test_values_of_numpy_and_pandas_are_dates_too():
    column = cut_by_calendar([datetime.date(2024, 2, 29)], "month", "TIMESTAMP")
    for value in (
        np.datetime64("2024-02-29"),
        np.datetime64("2024-02-29T23:59:59.999999000"),
        pd.Timestamp(2024, 2, 29),
    ):
        assert column.code_of(value) == 0
    assert column.code_of(np.datetime64("NaT")) == column.code_of(pd.NaT) == 1
    assert column.code_of(np.datetime64("NaT", "ns")) == 1


def test_dates_that_python_has_not_are_refused_where_they_are_counted_and_unseen_later():
    with closing((table := open_table({"W": [0, 1], "d": [ODD[0], ODD[1]]})).connection) as connection:
        column = cut_by_calendar([ODD[0]], "year")
        for odd in ("DATE '0044-03-15 (BC)'", "DATE 'infinity'", "DATE '12024-01-01'"):
            assert connection.execute(f"SELECT {column.code_sql()} FROM (SELECT {odd} AS d)").fetchall() == [(None,)]
            connection.execute(f"CREATE OR REPLACE TABLE odd AS SELECT i % 2 AS W, {odd} AS d FROM range(8) t(i)")
            with pytest.raises(LawError, match=r"values that are in no bin.*years 1 to 9999"):
                fit(replace(table, sql="odd"), "W", ["d"], ["d"], bins={"d": "year"})


def people(n=600, seed=3):
    """Invented people with dates, zones, gaps and schools."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        born = datetime.date(1940, 1, 1) + draw.randrange(18_000) * DAY
        at = datetime.datetime(2023, 12, 30) + datetime.timedelta(minutes=draw.randrange(9_000))
        school = draw.choice(SCHOOLS)
        ill = draw.random() < 0.2 + 0.4 * (born.year < 1960) + 0.2 * (school in ("HS", "PhD"))
        rows.append(
            {
                "who": f"p{i}",
                "born": None if i % 23 == 5 else born,
                "at": at,
                "seen": at.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=draw.choice([-11, 0, 13])))),
                "school": None if i % 31 == 7 else school,
                "sex": draw.choice("fm"),
                "ill": int(ill),
            }
        )
    return rows


RULES = {"bins": {"born": "decade", "at": "year", "seen": "weekday"}, "groups": {"school": PRIMARY}}
USE = ["born", "at", "seen", "school", "sex"]


def expected_of(row):
    """The values that the rules above give a record, derived by hand."""
    seen = (row["seen"] - row["seen"].utcoffset()).replace(tzinfo=None)
    school = row["school"]
    return (
        None if row["born"] is None else part_of(row["born"], "decade"),
        part_of(row["at"].date(), "year"),
        part_of(seen.date(), "weekday"),
        None if school is None else "primary" if school in PRIMARY["primary"] else "other",
        row["sex"],
    )


@pytest.fixture(scope="module")
def rows():
    return people()


@pytest.fixture(scope="module")
def release(rows):
    return fit(rows, "ill", ["born", "school"], USE, min_count=1, rel_tol=0.05, **RULES)


def files(rows, folder):
    """The same table as every kind of file and frame."""
    plain = pa.Table.from_pylist([{**row, "seen": row["seen"].astimezone(UTC)} for row in rows])
    parquet.write_table(plain, folder / "t.parquet")
    texts = [{k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in row.items()} for row in rows]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in texts))
    csv.write_csv(pa.Table.from_pylist(texts), folder / "t.csv")
    frame = plain.to_pandas().astype({"born": object})
    return [folder / "t.parquet", folder / "t.csv", folder / "t.jsonl", plain, pl.from_arrow(plain), frame, rows]


def test_the_law_has_cell_by_cell_the_records_that_python_counts(rows, release):
    law, recipe = release.disclosure.law.table, release.recipe
    assert recipe.state_column is None
    counted = Counter((*expected_of(row), row["ill"]) for row in rows)
    names = [*USE, "ill"]
    found = {
        tuple(law.alphabets[law.position(name)][cell[law.position(name)]] for name in names): weight
        for cell, weight in law.cells.items()
    }
    assert found == {cell: n * law.total // len(rows) for cell, n in counted.items()}
    assert recipe.column("born").values == ("1940s", "1950s", "1960s", "1970s", "1980s", None)
    assert recipe.column("school").values == ("primary", "other", None)
    assert recipe.column("seen").values[0] == "Monday"


def test_every_kind_of_table_and_a_record_at_a_time_have_the_same_states(rows, release, tmp_path):
    states = [release.recipe.state_of(row) for row in rows]
    assert -1 not in states
    by_state = {state: expected_of(row) for state, row in zip(states, rows, strict=True)}
    assert [by_state[state] for state in states] == [expected_of(row) for row in rows]
    for table in files(rows, tmp_path):
        with closing((source := open_table(table, release.recipe.as_read)).connection) as connection:
            release.recipe.check(source)
            found = connection.execute(release.recipe.select(source.sql, source.columns)).fetchall()
        assert [state for (state,) in found] == states, type(table)
    for table in files(rows, tmp_path):
        again = fit(table, "ill", ["born", "school"], USE, min_count=1, rel_tol=0.5, **RULES).recipe
        assert [(c.name, c.values, c.named) for c in again.columns] == [
            (c.name, c.values, c.named) for c in release.recipe.columns
        ], type(table)
        assert again.combinations == release.recipe.combinations


def test_a_saved_release_gives_the_same_states_and_is_refused_if_its_cut_is_altered(rows, release, tmp_path):
    release.save(tmp_path / "r.choral")
    again = load_release(tmp_path / "r.choral")
    assert again.recipe == release.recipe
    assert [again.recipe.state_of(row) for row in rows] == [release.recipe.state_of(row) for row in rows]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"calendar": "month"}, "lists '1940s', which is no bin of it"),
        ({"calendar": "moon"}, "'moon' is no part of the calendar"),
        ({"type": "BIGINT"}, "holds whole numbers, which cannot be cut by decade"),
        ({"edges": [3.0]}, "cut in two ways"),
        ({"groups": [["a", ["b"]]]}, "cut in two ways"),
    ],
)
def test_a_recipe_whose_cut_does_not_fit_its_values_is_refused(release, change, reason):
    document = release.recipe.to_document()
    place = [c["name"] for c in document["columns"]].index("born")
    document["columns"][place] = {**document["columns"][place], **change}
    with pytest.raises((ReleaseFileError, VerificationError), match=reason):
        check_recipe(release.disclosure, Recipe.from_document(document))


@pytest.mark.parametrize(
    "groups",
    [
        [["primary", ["HS"]], ["other", "*"], ["other", ["PhD"]]],
        [["primary", ["HS", "HS"]], ["other", "*"]],
        [["other", "*"], ["primary", ["HS"]]],  # a second way to write the same
        [["primary", []], ["other", "*"]],
        [["elementary", ["HS"]], ["other", "*"]],
        "primary",
        7,
    ],
)
def test_groups_in_a_file_that_are_none_or_others_are_refused(release, groups):
    document = release.recipe.to_document()
    place = [c["name"] for c in document["columns"]].index("school")
    document["columns"][place] = {**document["columns"][place], "groups": groups}
    with pytest.raises((ReleaseFileError, VerificationError)):
        check_recipe(release.disclosure, Recipe.from_document(document))


TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0*"), min_size=1, max_size=4)


@given(st.lists(TEXTS, min_size=2, max_size=12, unique=True), st.booleans(), st.randoms(use_true_random=False), TEXTS)
def test_groups_are_the_same_in_sql_and_in_python(values, rest, draw, new):
    names = ["one", "it's", 'the "third"']
    where = {value: draw.choice(names) for value in values}
    listed = {name: [v for v in values if where[v] == name] for name in names}
    declared = {name: vs for name, vs in listed.items() if vs} | ({"all others": "*"} if rest else {})
    column = Column.cut_by("x", "VARCHAR", groups_of({"x": declared})["x"], [*declared, None])
    given_ = [*values, None, new]
    other = "all others" if rest else "unseen"
    expected = [where.get(v, other) if v is not None else None for v in given_]
    found = codes_in(pa.table({"x": given_}), column)
    assert ["unseen" if code is None else column.values[code] for code in found] == expected
    one_by_one = map(column.code_of, given_)
    assert ["unseen" if code < 0 else column.values[code] for code in one_by_one] == expected
    assert Column.from_document(json.loads(json.dumps(column.to_document()))) == column


def test_a_value_not_seen_before_is_in_the_rest_and_refused_where_there_is_none(rows):
    some = [row for row in rows if row["school"] != "PhD"]
    question = ("ill", ["school"], ["school", "sex"])
    open_ = fit(some, *question, groups={"school": PRIMARY}, min_count=1).recipe
    closed = fit(some, *question, groups={"school": {"low": SCHOOLS[:4], "high": ["Masters"]}}, min_count=1).recipe
    new = {"school": "PhD", "sex": "f"}
    assert open_.state_of(new) == open_.state_of({"school": "HS", "sex": "f"}) >= 0
    assert closed.state_of(new) == -1
    for recipe in (open_, closed):
        with closing((table := open_table([new], recipe.as_read)).connection) as connection:
            [(state,)] = connection.execute(recipe.select(table.sql, table.columns)).fetchall()
        assert state == recipe.state_of(new)


PROBLEMS = [
    ({"bins": {"born": "monht"}}, ["'monht' of 'born' are no rule", "did you mean month"]),
    ({"bins": {"born": 4}}, ["'born' holds dates, and 4 cuts numbers", 'bins="born=decade"']),
    ({"bins": {"sex": "year"}}, ["'sex' holds text and cannot be cut by year", "2026-01-31"]),
    ({"bins": {"n": "decade"}}, ["'n' holds whole numbers and cannot be cut by decade", "w10"]),
    ({"bins": {"bron": "decade"}}, ["Bins are asked for 'bron', which is no column", "Did you mean 'born'?"]),
    ({"groups": {"n": {"a": ["1"]}}}, ["'n' holds whole numbers and cannot be grouped", 'bins="n=40,55"']),
    ({"groups": {"born": {"a": ["1"]}}}, ["'born' holds dates and cannot be grouped", 'bins="born=decade"']),
    ({"groups": {"schol": PRIMARY}}, ["Groups are asked for 'schol', which is no column", "Did you mean 'school'?"]),
    (
        {"groups": {"school": {"a": ["HS", "Mastrs"], "b": "*"}}},
        ["'Mastrs' is no value of it (did you mean 'Masters'?)"],
    ),
    ({"groups": {"school": {"a": SCHOOLS[:4]}}}, ["'Masters', 'PhD' are in no group", "other:*"]),
    ({"groups": {"school": {"a": ["HS"], "b": ["HS"], "c": "*"}}}, ["'HS' is in 'a' and in 'b'"]),
    ({"groups": {"school": {"a": ["HS", "HS"], "c": "*"}}}, ["'HS' is twice in 'a'"]),
    ({"groups": {"school": {"a": [], "c": "*"}}}, ["'a' has no values"]),
    ({"groups": {"school": {"a": "*", "c": "*"}}}, ["'a' and 'c' are '*', all others"]),
    ({"groups": {"school": {"a": "HS"}}}, ["neither a list of texts nor '*'"]),
    ({"groups": {"school": {"a": [1]}}}, ["neither a list of texts nor '*'"]),
    ({"groups": {"school": {"a\0": ["HS"], "b": "*"}}}, ["is no name for a group"]),
    ({"groups": {"school": ["HS"]}}, ["no mapping from names of groups"]),
    ({"groups": ["school"]}, ["does not say of which columns"]),
    ({"groups": {"school": PRIMARY}, "bins": {"school": "year"}}, ["Bins and groups are both asked for 'school'"]),
    (
        {"bins": {"born": 4, "sex": "year"}, "groups": {"school": {"a": ["?"]}, "n": PRIMARY}},
        ["'born' holds dates", "'sex' holds text", "'?' is no value of it", "'n' holds whole numbers"],
    ),
]


@pytest.mark.parametrize(("asked", "said"), PROBLEMS)
def test_what_cannot_be_cut_so_is_said_with_a_remedy_all_at_once(rows, asked, said):
    table = [{**row, "n": i % 7} for i, row in enumerate(rows[:200])]
    with pytest.raises(ChoralError) as error:
        fit(table, "ill", ["born", "school"], ["born", "school", "sex", "n"], **asked)
    for words in said:
        assert words in str(error.value)


def test_a_column_that_plays_no_part_is_not_cut(rows):
    with pytest.raises(ProblemError, match="Groups are asked for 'school', which is not revealed, protected or used"):
        fit(rows, "ill", ["sex"], ["sex"], groups={"school": PRIMARY})


def test_a_protected_date_of_many_values_is_refused_with_a_line_to_copy(rows):
    with pytest.raises(ChoralError, match=r"'born' has \d+ dates in 600 records.*bins=\"born=decade\"\.$"):
        fit(rows, "ill", ["born"], ["born", "sex"])
    with pytest.raises(ChoralError, match='bins="born=decade"'):
        fit(rows, "ill", ["born"])
    with pytest.raises(ChoralError, match=r"with a zone, and is not cut.*in UTC: bins=\"seen=month\""):
        fit(rows, "ill", ["seen"], ["seen", "sex"])
    with pytest.raises(ChoralError, match=r"Add: bins=\"born=decade;seen=month\""):
        fit(rows, "ill", ["born"], ["born", "seen", "sex"])


def learnable(n=900, seed=5):
    """A table that only a score can take in: the target goes with the month, and with many numbers."""
    draw = random.Random(seed)
    start = datetime.date(2023, 1, 1)
    rows = [
        {"day": start + draw.randrange(365) * DAY, "sex": draw.choice("fm"), "school": draw.choice(SCHOOLS)}
        | {f"x{i}": draw.random() for i in range(3)}
        for _ in range(n)
    ]
    return [{**row, "W": int(draw.random() < (0.85 if row["day"].month < 6 else 0.15))} for row in rows]


def test_a_date_is_left_out_of_a_score_unless_it_is_cut():
    rows = learnable()
    plain = fit(rows, "W", ["sex"], rel_tol=0.1)
    assert any(remark.startswith("left out: day") for remark in plain.remarks)
    assert "day" not in plain.recipe.looks_at
    cut = fit(rows, "W", ["sex"], bins={"day": "month"}, groups={"school": PRIMARY}, rel_tol=0.1)
    [day] = [column for column in cut.points.columns if column.name == "day"]
    assert day.named == Calendar("month")
    assert set(day.values) == {f"2023-{month:02d}" for month in range(1, 13)}
    assert cut.information > plain.information + 0.1
    recipe = cut.recipe
    with closing((table := open_table(rows, recipe.as_read)).connection) as connection:
        states = [s for (s,) in connection.execute(recipe.select(table.sql, table.columns)).fetchall()]
    assert states == [recipe.state_of(row) for row in rows]
    again = Points.from_document(json.loads(json.dumps(cut.points.to_document())))
    assert again == cut.points
    document = cut.points.to_document()
    place = [column["name"] for column in document["columns"]].index("day")
    document["columns"][place]["values"][0] = "2023-13"
    with pytest.raises(ReleaseFileError, match="'day' lists '2023-13', which is no bin of it"):
        Points.from_document(document)


def test_people_read_decades_and_groups_and_the_card_has_no_more_of_them_than_of_bins(rows, release):
    card = card_of(release)
    guarantee = " ".join(card.document["guarantee"])
    assert "born (by decade)" in guarantee
    assert "school (in 2 groups)" in guarantee
    assert "Of born, what is private is the bin, not the exact value" in guarantee
    assert "Of school, what is private is the group, not the exact value" in guarantee
    text = json.dumps(card.document)
    assert not any(f'"{name}"' in text for name in ("1950s", "primary", "1st-4th", "HS"))
    found = audit(release, rows)
    assert found.bins["born"].words == "by decade"
    assert found.to_json()["bins"] == {"born": 5, "at": 2, "seen": 7, "school": 2}
    assert {leak.about for leak in found.inside} == {("born",), ("school",)}


def test_scikit_learn_cuts_frames_in_the_same_way(rows):
    frame = pd.DataFrame(rows)[["born", "school", "sex"]]
    frame["born"] = pd.to_datetime(frame["born"])
    wanted = [row["ill"] for row in rows]
    bins = {"born": "decade", "school": PRIMARY}
    found = PrivateCodes(["born", "school"], use=["born", "school", "sex"], bins=bins, min_count=1, random_state=1)
    codes = found.fit(frame, wanted).transform(frame)
    assert codes.shape == (600, 1)
    recipe = found.release_.recipe
    assert recipe.column("born").values == ("1940s", "1950s", "1960s", "1970s", "1980s", None)
    plain = fit(rows, "ill", ["born", "school"], ["born", "school", "sex"], bins=bins, min_count=1, rel_tol=0.5).recipe
    assert [recipe.state_of(row) for row in rows] == [plain.state_of(row) for row in rows]


def test_the_command_line_takes_both_and_a_file(rows, tmp_path):
    table = files(rows, tmp_path)[1]
    group = "school=primary:1st-4th|5th-6th|7th-8th;other:*"
    (tmp_path / "groups.json").write_text(json.dumps({"school": PRIMARY}))
    asked = [str(table), "--reveal", "ill", "--protect", "born,school", "--use", "born,school,sex"]
    asked += ["--bins", "born=decade"]
    run = CliRunner()
    shown = run.invoke(app, ["fit", *asked, "--group", group, "-o", str(tmp_path / "r.choral"), "--rel-tol", "0.1"])
    assert shown.exit_code == 0, shown.output
    assert "private      born (by decade), school (in 2 groups), exactly" in shown.output
    assert "bins         born: 1940s, 1950s, 1960s, 1970s, 1980s, missing (by decade)" in shown.output
    assert "groups       school: primary, other, missing (as declared)" in shown.output
    told = []
    for more in (["--group", group], ["--groups", str(tmp_path / "groups.json")]):
        for command in ("bounds", "plan"):
            told.append(run.invoke(app, [command, *asked, *more]))
            assert told[-1].exit_code == 0, told[-1].output
    assert "born (by decade), school (in 2 groups)" in told[0].output
    assert [a.output for a in told[:2]] == [b.output for b in told[2:]]
    output = ["--groups", str(tmp_path / "groups.json"), "--json", "-o", str(tmp_path / "s.choral")]
    again = run.invoke(app, ["fit", *asked, *output, "--rel-tol", "0.1"])
    said = json.loads(again.output)
    assert said["bins"] == {"born": "decade"}
    assert said["groups"] == {"school": PRIMARY}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("school", "does not say which groups"),
        ("school=", "does not say which groups"),
        ("school=a", "'a' in groups=\"school=a\" is no group"),
        ("school=a:HS;a:PhD", "The group 'a' of 'school' is given twice"),
        ("school=a:;b:*", "'a' has no values"),
    ],
)
def test_a_group_that_is_none_on_the_command_line(text, said, rows, tmp_path):
    table = files(rows[:50], tmp_path)[1]
    shown = CliRunner().invoke(app, ["bounds", str(table), "--reveal", "ill", "--protect", "school", "--group", text])
    assert isinstance(shown.exception, ProblemError)
    assert said in str(shown.exception)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[]", "has no groups"),
        ("{", "is no JSON file of groups"),
        ('{"school": {"a": ["HS"], "a": "*"}}', "'a' is there twice"),
        ('{"school": {"a": ["HS"]}, "school": {"b": "*"}}', "'school' is there twice"),
        ('{"school": {"a": ["\\ud800"], "b": "*"}}', "neither a list of texts"),
        (None, "cannot be read"),
    ],
)
def test_a_file_of_groups_that_is_none(content, said, rows, tmp_path):
    table = files(rows[:50], tmp_path)[1]
    if content is not None:
        (tmp_path / "g.json").write_text(content)
    asked = ["bounds", str(table), "--reveal", "ill", "--protect", "school", "--groups", str(tmp_path / "g.json")]
    shown = CliRunner().invoke(app, asked)
    assert isinstance(shown.exception, ProblemError)
    assert said in str(shown.exception)


def test_a_second_release_keeps_the_cuts_of_the_first(rows):
    table = [{**row, "late": i % 3 == 0} for i, row in enumerate(rows)]
    asked = {"bins": {"born": "decade"}, "groups": {"school": PRIMARY}, "min_count": 1, "rel_tol": 0.1}
    first = fit(table, "ill", ["born"], ["born", "school", "sex"], **asked)
    second = ch.fit_after(first, table, "late", ["born"], ["born", "school", "sex"], rel_tol=0.1, min_count=1)
    assert second.recipe.column("born") == first.recipe.column("born")
    assert second.recipe.column("school").named == groups_of({"school": PRIMARY})["school"]
    with pytest.raises(
        ProblemError, match="Groups are asked for 'school', which has its values from the earlier release"
    ):
        ch.fit_after(first, table, "late", ["born"], ["born", "school", "sex"], groups={"school": PRIMARY})


def test_groups_are_written_as_the_command_line_takes_them():
    groups = groups_of({"school": PRIMARY})["school"]
    assert groups.written("school") == "--group 'school=primary:1st-4th|5th-6th|7th-8th;other:*'"
    assert read_groups(["school=primary:1st-4th|5th-6th|7th-8th;other:*"]) == {"school": groups}
    assert groups_of("school=primary:1st-4th|5th-6th|7th-8th;other:*") == {"school": groups}
    assert Groups((("a", ("b|c",)),)).written("x") == "--groups with the same file"
