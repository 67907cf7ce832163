"""A fit says before it begins what a time limit does not cut short, and that a lesson will be long."""

from __future__ import annotations

import json
import math
import random
import resource
import subprocess
import sys
import time
from dataclasses import replace

import duckdb
import pytest
from in_process import choral

from choral.errors import ProblemError
from choral.phases import until
from choral.problem.question import Question
from choral.release import beforehand
from choral.release.beforehand import LONG, SAID, Beforehand
from choral.release.score import scored
from choral.scores import crossfit
from choral.scores.crossfit import FEWEST_RECORDS, LEARNER, records_in_time, usual
from choral.scores.learn import CROSS_FITTED
from choral.scores.teacher import Lesson
from choral.tables.glance import GLANCED, glance
from choral.tables.opening import opened
from choral.tables.rules import TableRules
from choral.tables.source import AsRead

ASKED = ("--reveal", "W", "--protect", "sex")
FACTOR = 2.5
"""Times that an estimate may be off, both ways."""


def written(folder, rows, classes=2, columns=8):
    """A table whose target depends on all columns; half of these are numbers of many values."""
    draw = random.Random(rows)
    path = folder / "table.csv"
    with path.open("w") as file:
        print("W", "sex", *(f"c{i}" for i in range(columns)), sep=",", file=file)
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(columns)]
            sex = draw.choice("fm")
            w = min(classes - 1, max(0, int(classes * (0.5 + 0.15 * (sum(x[:4]) + draw.gauss(0, 1))))))
            shown = [f"{v:.2f}" if i % 2 else f"'a value, {int(2 * v)}'" for i, v in enumerate(x)]
            print(f"w{w}", sex, *(f'"{v}"' for v in shown), sep=",", file=file)
    return path


def spent(*words):
    """Processor seconds of a process that runs a command, and what it says for programs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = [sys.executable, "-m", "choral", *map(str, words), "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, json.loads(done.stdout)


@pytest.mark.parametrize(
    ("rows", "classes", "used"), [(300, 2, ()), (20_000, 2, ()), (20_000, 5, ()), (40_000, 2, ("sex",))]
)
def test_what_a_limit_does_not_cut_short_takes_about_as_long_as_is_said(tmp_path, rows, classes, used):
    """In processor time: a busy machine does not matter."""
    table = written(tmp_path, rows, classes)
    use = ("--use", "sex,c0,c2") if used else ()
    took, said = spent("fit", table, *ASKED, *use, "--time-limit", "0.01", "-o", tmp_path / "r.choral")
    parts = said["not_cut_short"]
    assert ("learning a first score" in parts) == (not used)
    estimated = sum(parts.values())
    assert took / FACTOR <= estimated <= FACTOR * took


def test_a_usual_lesson_takes_about_as_long_as_is_said(tmp_path):
    with opened(written(tmp_path, 3000, columns=6)) as table:
        __import__(LEARNER)
        began = time.process_time()
        found = scored(table, Question("W", "sex"), TableRules())
        took = time.process_time() - began
    assert found.points is not None
    assert took / FACTOR <= usual(7, 1, 3000, 3000) <= FACTOR * took


def a_lesson(records, columns, classes):
    codes = crossfit.np.zeros((records, columns), dtype=crossfit.np.int64)
    return Lesson(codes, (2,) * columns, (True,) * columns, codes[:, 0], classes)


def test_fewer_records_are_cross_fitted_where_the_fewest_trees_for_all_would_take_too_long():
    lesson = a_lesson(10, 9, 5)
    assert records_in_time(lesson, CROSS_FITTED) == CROSS_FITTED
    found = []
    for seconds in (0, 3, 4.5, 1000):
        with until(time.monotonic() + seconds):
            found.append(records_in_time(lesson, CROSS_FITTED))
    assert found == sorted(found)
    assert (found[0], found[-1]) == (FEWEST_RECORDS, CROSS_FITTED)
    assert records_in_time(lesson, 100) == 100


# ---- what is said --------------------------------------------------------------------------------------------------


def refused(*_):
    raise ProblemError("No work is done.")


def test_it_is_said_before_any_work(tmp_path, monkeypatch):
    table = written(tmp_path, 400)
    monkeypatch.setattr("choral.show.commands.fit._fitted", refused)
    found = choral("fit", table, *ASKED, "--time-limit", "1", "-o", tmp_path / "r.choral")
    first, second = found.stderr.splitlines()
    assert first.startswith("choral: the time limit does not cut short loading, reading and counting (about ")
    assert " and a first lesson of a score (about " in first
    assert first.endswith(" after it")
    assert second == "choral: No work is done."


@pytest.mark.parametrize("asked", [("--time-limit", "100000"), ("--use", "sex,c0"), ()])
def test_nothing_is_said_where_there_is_nothing_to_wait_for(tmp_path, monkeypatch, asked):
    table = written(tmp_path, 400)
    monkeypatch.setattr("choral.show.commands.fit._fitted", refused)
    found = choral("fit", table, *ASKED, *asked, "-o", tmp_path / "r.choral")
    assert found.stderr == "choral: No work is done.\n"


def test_a_long_lesson_is_announced_with_what_shortens_it(tmp_path, monkeypatch):
    table = written(tmp_path, 400)
    monkeypatch.setattr("choral.show.commands.fit._fitted", refused)
    monkeypatch.setattr(beforehand, "LONG", 0.0)
    found = choral("fit", table, *ASKED, "-o", tmp_path / "r.choral")
    first = found.stderr.splitlines()[0]
    assert first.startswith("choral: learning a score for 2 values and 400 records takes about ")
    assert first.endswith("--time-limit S leaves out what is not needed, --use names columns instead")


def test_five_values_and_very_many_records_are_long(tmp_path):
    seen = glance(str(written(tmp_path, 400, 5)), AsRead())
    assert Beforehand.of(seen, Question("W", "sex"), TableRules()).lesson() == ""
    ahead = Beforehand.of(replace(seen, rows=54_000), Question("W", "sex"), TableRules())
    assert ahead.usual > LONG
    assert ahead.lesson().startswith("learning a score for 5 values and 54,000 records takes about ")
    assert "minutes" in ahead.at(10.0).lesson()
    assert ahead.at(2.0).uncut == pytest.approx(2 * ahead.uncut)


def test_no_lesson_is_expected_where_none_is_given(tmp_path):
    seen = glance(str(written(tmp_path, 400)), AsRead())
    assert Beforehand.of(seen, Question("W", "sex"), TableRules()).least > 0
    for question, rules in [
        (Question("W", "sex", "sex,c0"), TableRules()),
        (Question("W"), TableRules()),
        (Question("W", "sex"), TableRules(score="c1")),
    ]:
        ahead = Beforehand.of(seen, question, rules)
        assert (ahead.least, ahead.lesson()) == (0, "")
        assert list(ahead.to_json()) == ["loading, reading and counting"]
    alike = replace(seen, first=seen.first[:20] * 20)
    assert Beforehand.of(alike, Question("W", "sex"), TableRules()).least == 0


def test_words_are_left_out_where_a_limit_is_long():
    ahead = Beforehand(2.0, 1.0)
    assert ahead.words(3.0 / SAID + 0.01) == ""
    assert ahead.words(10.0).endswith("(about 1.0 s; --use names columns instead)")
    assert ahead.words(1.0).endswith("so that it ends about 2.0 s after it")


def test_a_number_of_many_values_has_one_sum(tmp_path):
    seen = glance(str(written(tmp_path, 3000)), AsRead())
    words, numbers = (Beforehand.of(seen, Question(name, "sex"), TableRules()) for name in ("c0", "c1"))
    assert numbers.usual < words.usual
    assert (numbers.values, words.values > 2) == (0, True)


# ---- a glance ------------------------------------------------------------------------------------------------------


def test_a_glance_says_about_how_many_rows_there_are(tmp_path):
    path = written(tmp_path, 5000)
    seen = glance(str(path), AsRead())
    assert path.stat().st_size == seen.text > GLANCED
    assert math.isclose(seen.rows, 5000, rel_tol=0.05)
    assert seen.names[:2] == ("W", "sex")
    assert seen.values("sex") == {"f", "m"}
    assert seen.values("nothing") == set()
    small = glance(str(written(tmp_path, 50)), AsRead())
    assert (small.rows, len(small.first)) == (50, 50)


def test_a_glance_at_other_tables(tmp_path):
    path = written(tmp_path, 300)
    parquet, base = tmp_path / "table.parquet", tmp_path / "base.duckdb"
    duckdb.sql(f"COPY (SELECT * FROM '{path}') TO '{parquet}'")
    with duckdb.connect(str(base)) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM '{path}'")
    for table in (parquet, f"{base}::people"):
        seen = glance(str(table), AsRead())
        assert (seen.rows, seen.names[0], seen.text, len(seen.first)) == (300, "W", 0, 300)


def test_a_glance_at_what_cannot_be_read_leaves_the_error_to_who_reads_it(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "odd.csv").write_bytes(b"a,b\n1,2\n\xff,3\n")
    assert glance(str(tmp_path / "empty.csv"), AsRead()) is None
    assert glance(str(tmp_path / "odd.csv"), AsRead()) is None
    assert glance(str(tmp_path / "nothing.csv"), AsRead()) is None
    assert glance(str(tmp_path / "nothing.parquet"), AsRead()) is None
    (tmp_path / "blanks.txt").write_text("a  b\n1  2\n3  4\n")
    assert glance(str(tmp_path / "blanks.txt"), AsRead()).first == (("1", "2"), ("3", "4"))
