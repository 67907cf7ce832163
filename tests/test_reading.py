"""Text files of records as they come: separators, headers and marks of missing values are found, said, and remembered."""

from __future__ import annotations

import csv

import pytest

import choral as ch
from choral.draw.engine import disclose_table
from choral.errors import ColumnError, LawError, ProblemError, TableWarning
from choral.problem.question import Question
from choral.release.fit import pose_table
from choral.tables.marks import read_marks
from choral.tables.opening import open_table
from choral.tables.rules import TableRules
from choral.tables.source import AsRead

ROWS = [("ny"[i * i % 7 % 2], "fm"[i % 2], i % 5, f"a,b; c|{i % 3}" if i % 11 == 0 else "red") for i in range(66)]
NAMES = ("W", "sex", "age", "note")


def _written(path, separator=",", header=True, rows=ROWS):
    """The rows in a file; values that hold the separator are in quotes."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=separator[0], lineterminator="\n")
        writer.writerows([NAMES, *rows] if header else rows)
    return path


def _values(source):
    return source.connection.execute(f"SELECT * FROM {source.sql}").fetchall()


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "data"])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found_whatever_the_ending(tmp_path, separator, ending):
    source = open_table(_written(tmp_path / f"t.{ending}", separator))
    assert dict(source.columns) == {"W": "VARCHAR", "sex": "VARCHAR", "age": "BIGINT", "note": "VARCHAR"}
    assert _values(source) == ROWS


def test_the_separator_is_the_one_that_cuts_lines_evenly(tmp_path):
    """Bars are commoner in the first line, but there are none in the others."""
    path = tmp_path / "t.csv"
    path.write_text("a|b|b;c|d;e\n1;2;3\n4;5;6\n")
    assert list(open_table(path).columns) == ["a|b|b", "c|d", "e"]


def test_a_blank_after_every_separator_belongs_to_it(tmp_path):
    path = tmp_path / "t.data"
    path.write_text("39, State-gov, ?\n50, Private, 7\n")
    source = open_table(path, AsRead(header=False, marks=("?",)))
    assert _values(source) == [(39, "State-gov", None), (50, "Private", 7)]


@pytest.mark.parametrize("text", ["a b c\n1 x 3\n2 y 4\n", "  a  b c\n 1 x    3 \n2    y  4\n\n"])
def test_blanks_separate_fields(tmp_path, text):
    path = tmp_path / "t.txt"
    path.write_text(text)
    source = open_table(path)
    assert dict(source.columns) == {"a": "BIGINT", "b": "VARCHAR", "c": "BIGINT"}
    assert _values(source) == [(1, "x", 3), (2, "y", 4)]


def test_a_line_with_other_fields_between_blanks_is_an_error(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("a b\n" + "1 2\n" * 200 + "1 2 3\n")
    with pytest.raises(LawError, match="A line has 3 fields where the first has 2: 1 2 3"):
        open_table(path)


def test_one_column_whose_name_has_a_blank_stays_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("what was said\nyes\nno\n")
    assert list(open_table(path).columns) == ["what was said"]


@pytest.mark.parametrize("header", [True, False])
def test_a_mark_of_the_byte_order_is_no_part_of_the_first_field(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeff".encode() + b"1;2\n3;4\n")
    source = open_table(path, AsRead(header=header))
    assert list(source.columns) == (["1", "2"] if header else ["column1", "column2"])
    assert _values(source) == ([] if header else [(1, 2)]) + [(3, 4)]


def test_a_file_without_a_header_keeps_its_first_record(tmp_path):
    source = open_table(_written(tmp_path / "t.csv", header=False), AsRead(header=False))
    assert list(source.columns) == ["column1", "column2", "column3", "column4"]
    assert _values(source) == ROWS


def test_a_header_that_looks_like_a_record_is_remarked_on(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1.0,x,1.0\n2.0,y,3.0\n")
    with pytest.raises(LawError, match=r"two columns named '1.0'.*header=False"):
        open_table(path)
    path.write_text("1.0,x,4.0\n2.0,y,3.0\n")
    with pytest.raises(ColumnError, match=r"`reveal` names 'W'.*looks like a record.*header=False"):
        open_table(path).require(["W"], "reveal")
    with pytest.raises(ColumnError, match=r"`reveal` names 'W'.*looks like a record.*header=False"):
        TableRules().roles(open_table(path), Question("W", ["x"]))
    path.write_text("1.0,x,4.0\n2.0,?,3.0\n" + "2.0,y,3.0\n" * 30)
    remark = open_table(path, AsRead(marks=None)).remarks[""]
    assert all(words in remark for words in ("--no-header", "--missing-marks"))
    path.write_text("age,x,2019\n2.0,y,3.0\n")
    assert open_table(path).remarks == {}


def _marked(path, mark, name="age"):
    rows = [(w, s, mark if name == "age" and i % 6 == 0 else a, mark if name == "note" and i % 6 == 0 else n)
            for i, (w, s, a, n) in enumerate(ROWS)]  # fmt: skip
    return _written(path, rows=rows)


@pytest.mark.parametrize("mark", ["?", "NA", "N/A", "NULL", "-", ".", " "])
def test_a_mark_among_numbers_is_recognised_and_said(tmp_path, mark):
    source = open_table(_marked(tmp_path / "t.csv", mark), AsRead(marks=None))
    assert source.marks == (mark,)
    assert source.columns["age"] == "BIGINT"
    assert f"'{mark}' is taken for a missing value (found in 'age')" in source.remarks[""]
    assert [row[2] for row in _values(source)] == [None if i % 6 == 0 else row[2] for i, row in enumerate(ROWS)]


@pytest.mark.parametrize(("mark", "found"), [("?", ("?",)), ("NA", ()), ("None", ()), (" ", ())])
def test_among_texts_only_a_question_mark_is_recognised(tmp_path, mark, found):
    assert open_table(_marked(tmp_path / "t.csv", mark, "note"), AsRead(marks=None)).marks == found


def test_nothing_is_recognised_unless_asked_for(tmp_path):
    source = open_table(_marked(tmp_path / "t.csv", "?"))
    assert source.marks == ()
    assert source.columns["age"] == "VARCHAR"


def test_declared_marks_are_missing_in_every_kind_of_table(tmp_path):
    frame = {"W": ["a", "b", "?"], "X": ["?", "x", "x"]}
    assert _values(open_table(frame, AsRead(marks=("?",)))) == [("a", None), ("b", "x"), (None, "x")]
    path = tmp_path / "t.jsonl"
    path.write_text('{"W": "?", "X": 1}\n{"W": "b", "X": 2}\n')
    assert _values(open_table(path, AsRead(marks=("?",)))) == [(None, 1), ("b", 2)]


def test_an_identifier_is_never_a_mark(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\nNA,1\nb,NA\n")
    source = open_table(path, AsRead(marks=("NA",)), lambda name: name == "id")
    assert _values(source) == [("NA", 1), ("b", None)]


def test_disclose_reads_as_fit_has_read(tmp_path):
    """Without a header and with a mark; the other file has other separators and no mark in the column of numbers."""
    path = _marked(tmp_path / "t.csv", "?")
    body = path.read_text().partition("\n")[2]
    path.write_text(body)
    source = open_table(path, AsRead(header=False, marks=None))
    posed = pose_table(source, Question("column1", ["column2"], ["column2", "column3"]), TableRules(min_count=1))
    assert posed.recipe.as_read.header is False
    assert posed.recipe.as_read.marks == ("?",)
    release = ch.fit(source, "column1", ["column2"], ["column2", "column3"], min_count=1)
    release.save(tmp_path / "r.choral")
    other = tmp_path / "other.txt"
    other.write_text(body.replace('"', "").replace("a,b; c", "ab").replace(",", ";"))
    codes = []
    for i, table in enumerate([path, other]):
        loaded = ch.load_release(tmp_path / "r.choral")
        opened = open_table(table, loaded.recipe.as_read)
        codes.append(opened.connection.execute(loaded.recipe.select(opened.sql, opened.columns)).fetchall())
        disclose_table(loaded, table, tmp_path / f"codes{i}.csv", tmp_path / f"book{i}.ledger")
    assert codes[0] == codes[1]
    assert (-1,) not in codes[0]
    assert loaded.recipe.state_of(("f", "?")) == loaded.recipe.state_of(("f", None)) == codes[0][0][0]


def test_releases_that_do_not_say_are_read_as_they_were(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("W, x\na, 1\nb, 2\n")
    assert _values(open_table(path, AsRead(plain=True))) == [("a", " 1"), ("b", " 2")]
    assert _values(open_table(path)) == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("text", ["?,?", "?,,NA"])
def test_marks_that_are_none_are_refused(text):
    with pytest.raises(ProblemError, match="missing_marks="):
        read_marks(text)


def test_row_numbers_without_a_name_have_one(tmp_path):
    (tmp_path / "t.csv").write_text(",W,x\n0,a,1\n1,b,2\n2,a,2\n")
    table = open_table(tmp_path / "t.csv")
    assert list(table.columns) == ["column1", "W", "x"]
    assert table.remarks[""] == "the first column has no name in the header, and is called column1"
    (tmp_path / "u.csv").write_text("W,,x\na,1,2\n")
    with pytest.raises(LawError, match=r"Column 2 of .* has no name"):
        open_table(tmp_path / "u.csv")
    (tmp_path / "v.csv").write_text(",column1\na,1\n")
    with pytest.raises(LawError, match=r"Column 1 of .* has no name"):
        open_table(tmp_path / "v.csv")


def test_a_name_that_a_header_has_twice_is_numbered_and_none_of_the_two_is_meant_by_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("W,priors,age,priors\n" + "0,1,30,2\n1,2,40,1\n" * 5)
    table = open_table(path)
    assert list(table.columns) == ["W", "priors_1", "age", "priors_2"]
    assert table.remarks[""] == "the header has priors more than once: they are called priors_1, priors_2"
    with pytest.raises(
        ColumnError, match=r"no column.*The header has priors more than once: they are called priors_1, priors_2"
    ):
        ch.fit(table, "W", ["priors"])
    with pytest.warns(TableWarning, match="priors_1, priors_2"):
        release = ch.fit(str(path), "W", ["priors_2"], ["age", "priors_2"])
    assert release.recipe.use == ("age", "priors_2")
    assert release.recipe.state_of({"age": 30, "priors_2": 2}) != release.recipe.state_of({"age": 40, "priors_2": 1})


def test_python_says_that_records_without_the_target_are_not_counted():
    rows = {"W": [0, 1, None, 1, 0, None] * 4, "x": [0, 1, 1, 1, 0, 0] * 4, "g": [0, 0, 1, 1, 1, 0] * 4}
    with pytest.warns(TableWarning, match=r"8 of 24 records of the table have no value of W: they are not counted"):
        release = ch.fit(rows, "W", ["g"], ["x", "g"])
    assert release.recipe.table_rows == 16
