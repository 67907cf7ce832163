"""A look over every column: what it is, what becomes of it, and why."""

from __future__ import annotations

import datetime

import pytest

from choral.errors import ChoralError, ColumnError, LawError, ProblemError, TooLargeError
from choral.tables import look as looking
from choral.tables import sql
from choral.tables.look import look
from choral.tables.opening import open_table
from choral.tables.source import AsRead

N = 120


def _rows(**columns):
    """A target that alternates, sex and these columns, functions of the row."""
    base = {"W": lambda i: "ny"[i % 2], "sex": lambda i: "fm"[i // 2 % 2]}
    return [{name: make(i) for name, make in (base | columns).items()} for i in range(N)]


def _look(rows, **options):
    return look(open_table(rows), "W", ["sex"], **options)


def _of(name, make, **options):
    return next(column for column in _look(_rows(**{name: make}), **options).columns if column.name == name)


@pytest.mark.parametrize(
    ("make", "kind", "fate"),
    [
        (lambda i: i * i % 19, "number", "used"),
        (lambda i: i * i % 119, "number", "binned"),
        (lambda i: i / 7, "number", "binned"),
        (lambda i: 3 * i + 1, "identifier", "left out"),
        (lambda i: f"case {i}", "identifier", "left out"),
        (lambda i: None if i % 3 else f"case {i}", "identifier", "left out"),
        (lambda i: ["red", "green", "blue"][i % 3], "category", "used"),
        (lambda i: i % 3 == 0, "category", "used"),
        (lambda i: f"name{i % 60}", "text", "left out"),
        (lambda i: f"a long remark that somebody wrote down in row {i}", "text", "left out"),
        (lambda i: datetime.date(2020, 1, 1 + i % 28), "date", "left out"),
        (lambda i: f"{1 + i % 28}/01/2020", "date", "left out"),
        (lambda i: f"2020-01-{1 + i % 28:02} 12:{i % 60:02}:00", "date", "left out"),
        (lambda i: "same", "constant", "left out"),
        (lambda i: None, "empty", "left out"),
        (lambda i: [i, i], "other", "left out"),
        (lambda i: (1 - i % 2) * 10, "copy", "asked"),
        (lambda i: i % 2 * 1000 + i % 11 * 0.5, "copy", "asked"),
        (lambda i: i % 4, "copy", "asked"),
        (lambda i: None if i % 2 else 7, "copy", "asked"),
    ],
)
def test_what_a_column_is(make, kind, fate):
    found = _of("x", make)
    assert (found.kind, found.fate) == (kind, fate)
    assert bool(found.why) == (fate in ("left out", "asked"))


@pytest.mark.parametrize("form", ["{},{:02}", "${}.{:02}", "{}.{:02} %", "{} 0{:02}"])
def test_numbers_that_are_not_plain_are_said_to_be_numbers(form):
    found = _of("x", lambda i: form.format(i % 61, i % 7))
    assert (found.kind, found.fate) == ("text", "left out")
    assert "write them as 1234.5" in found.why


def test_values_and_gaps_are_counted_as_python_counts_them():
    rows = _rows(x=lambda i: None if i % 5 == 0 else i * i % 37)
    [found] = [column for column in _look(rows).columns if column.name == "x"]
    assert found.values == len({row["x"] for row in rows} - {None})
    assert found.missing == sum(row["x"] is None for row in rows)


def test_more_values_than_are_counted_are_estimated(monkeypatch):
    monkeypatch.setattr(looking, "COUNTED", 500)
    rows = [{"W": i % 2, "x": i * 7919 % 20011 / 3} for i in range(20000)]
    [found] = [column for column in look(open_table(rows), "W").columns if column.name == "x"]
    assert abs(found.values - 20000) < 4000  # 250 values or so are sampled: four deviations of a sixteenth
    assert found.fate == "binned"


def test_a_protected_column_and_one_that_is_named_are_used_whatever_they_look_like():
    rows = _rows(name=lambda i: f"n{i}", copy=lambda i: i % 2)
    found = look(open_table(rows), "W", ["sex", "name"], named=["copy"])
    assert found.usable == ("sex", "name", "copy")
    found.check()


def test_what_is_dropped_and_what_identifies_is_left_out_with_a_word():
    rows = _rows(a=lambda i: i % 3, b=lambda i: i % 5)
    found = _look(rows, drop=["a"], id="b")
    assert found.usable == ("sex",)
    assert {column.name: column.why for column in found.columns if column.why} == {
        "a": "as asked",
        "b": "identifies records (--id)",
    }


def test_all_columns_that_give_the_target_away_are_in_one_message_with_a_line_to_copy():
    found = _look(_rows(one=lambda i: i % 2, two=lambda i: "ab"[i % 2]))
    with pytest.raises(ProblemError, match=r"""'one' is a copy of 'W'.*'two' is a copy.*drop=\["one", "two"\]"""):
        found.check()
    _look(_rows(one=lambda i: i % 2, two=lambda i: "ab"[i % 2]), drop=["one", "two"]).check()


def test_a_target_that_is_missing_in_some_rows_is_said():
    rows = _rows()
    for row in rows[:7]:
        row["W"] = None
    assert _look(rows).targetless == 7
    with pytest.raises(LawError, match=r"'W' of the table has no values"):
        _look([{**row, "W": None} for row in rows])


def test_small_tables_say_nothing_by_different_values():
    rows = [{"W": "nyy"[i % 3], "city": "abcdefgh"[i]} for i in range(8)]
    assert look(open_table(rows), "W").usable == ("city",)


def test_a_column_of_few_records_per_value_that_determines_the_target_may_do_so_by_accident():
    rows = [{"W": i * 7 % 5 % 2, "x": i / 3} for i in range(40)]
    assert look(open_table(rows), "W").usable == ("x",)


@pytest.mark.parametrize("option", ["drop", "id"])
def test_columns_that_are_not_there_are_named(option):
    with pytest.raises(ColumnError, match=rf"`{option}` names 'agee'.*Did you mean 'age'"):
        _look(_rows(age=lambda i: i % 4), **{option: "agee" if option == "id" else ["agee"]})


def test_the_target_is_not_dropped_and_what_is_protected_is_then_not_looked_at():
    with pytest.raises(ColumnError, match=r"`drop` names 'W', which is revealed"):
        _look(_rows(), drop=["W"])
    [sex] = [column for column in _look(_rows(), drop=["sex"]).columns if column.name == "sex"]
    assert (sex.role, sex.fate, sex.why) == ("protected", "left out", "protected, and not looked at, as asked")


def test_ten_thousand_columns_get_a_clear_word(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"x{i}" for i in range(10_000)]
    path.write_text(",".join(["W", *names]) + "\n" + ("1," * 10_000 + "0\n") * 2)
    with pytest.raises(TooLargeError, match=r"10001 columns; at most 2000.*use="):
        look(open_table(path, AsRead(find=False)), "W")
    with pytest.raises(TooLargeError, match=r"10001 columns; the types of at most 2000.*a table of their own"):
        open_table(path)


def test_columns_of_many_blocks_have_the_types_that_they_have_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(sql, "BLOCK", 2)
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,d,e\n1,x,2.5,?,2020-01-01\n2,y,3,7,2020-01-02\n?,z,4,8,2020-01-03\n")
    assert open_table(path, AsRead(marks=None)).columns == {
        "a": "BIGINT",
        "b": "VARCHAR",
        "c": "DOUBLE",
        "d": "BIGINT",
        "e": "DATE",
    }


def test_the_look_is_printed_as_a_table_and_as_data():
    found = _look(_rows(name=lambda i: f"n{i}", age=lambda i: i % 40))
    lines = found.lines(["W", "age"])
    assert len(lines) == len(found.columns)
    assert [line.split()[-1] for line in lines if line.split()[0] in ("W", "sex", "age")] == [
        "told",
        "needed",
        "binned",
    ]
    assert any(line.split()[:2] == ["name", "identifier"] and "left out: another value" in line for line in lines)
    assert found.to_document()["columns"][0]["name"] == "W"


def test_a_field_that_is_refused_is_an_error_of_ours(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("W,x\n0,1\n1,zwei\n")
    with pytest.raises(ChoralError, match=r"'zwei'"):
        look(open_table(path, AsRead({"x": "BIGINT"})), "W")
