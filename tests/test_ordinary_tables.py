"""Tables as they come, by the commands: options that leave columns out and say how files are read; all troubles at once."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import LawError, LedgerWarning, ProblemError, TableWarning, TooLargeError
from choral.release.fit import fit
from choral.show.cli import app

COMMANDS = ("fit", "bounds", "plan")


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def command(name, table, folder, *more):
    output = ("-o", folder / "r.choral", "--force") if name == "fit" else ()
    return run(name, table, "--reveal", "W", "--protect", "sex", *output, *more)


def people(n=200, seed=3):
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        sex, region, age = draw.choice("fm"), draw.choice("ns"), draw.randrange(20, 60)
        rows.append(
            {"who": f"p{i}", "W": int((sex == "f") ^ (region == "n")), "age": age, "sex": sex, "region": region}
        )
    return rows


def write(path, rows, separator=",", header=True):
    lines = [separator.join(rows[0])] if header else []
    lines += [separator.join("" if value is None else str(value) for value in row.values()) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", COMMANDS)
def test_columns_are_dropped_and_identifiers_named_in_every_command(tmp_path, name):
    table = write(tmp_path / "t.csv", people())
    assert command(name, table, tmp_path, "--drop", "age", "--id", "who").exit_code == 0
    assert command(name, table, tmp_path, "--drop", "age,who").exit_code == 0
    if name == "fit":
        assert ch.load_release(tmp_path / "r.choral").recipe.use == ("sex", "region")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--drop", "W"), "`drop` leaves out 'W'"),
        (("--drop", "age", "--use", "sex,age"), "`drop` leaves out 'age'"),
        (("--drop", "agee"), "`drop` names 'agee'.*Did you mean 'age'"),
        (("--drop", "age,"), "empty name"),
        (("--id", "whom"), "`id` names 'whom'"),
    ],
)
def test_what_is_asked_for_is_not_dropped(tmp_path, more, words):
    with pytest.raises((ProblemError, LookupError), match=words):
        command("bounds", write(tmp_path / "t.csv", people()), tmp_path, *more)


@pytest.mark.parametrize("name", COMMANDS)
def test_all_troubles_are_in_one_message_with_a_line_that_can_be_copied(tmp_path, name):
    rows = [
        {
            "who": row["who"],
            "W": row["W"],
            "sex": row["sex"],
            "number": i,
            "weight": i / 7 + 0.5,
            "case": f"c{i}",
            "gap": None,
        }
        for i, row in enumerate(people())
    ]
    asked = (name, tmp_path / "t.csv", "--reveal", "W", *(("-o", tmp_path / "r.choral") if name == "fit" else ()))
    write(tmp_path / "t.csv", rows)
    with pytest.raises(ProblemError) as caught:
        run(*asked)
    said = caught.value
    assert said.what.startswith("5 columns cannot be taken as they are")
    for column in ("who", "number", "weight", "case", "gap"):
        assert f"'{column}' has" in said.what
    line = said.remedy.partition("Add: ")[2].partition(". Or")[0]
    assert line == "--drop 'gap,who,number,case' --bins 'weight=4'"
    words = [word.strip("'") for word in line.split()]
    assert run(*asked, *words).exit_code == 0


def test_a_column_of_lists_is_named_with_the_others():
    rows = [{**row, "tags": [1, 2], "case": f"c{i}"} for i, row in enumerate(people())]
    with pytest.raises(ProblemError, match=r"'tags' holds BIGINT\[\].*'who' has as many.*'case' has as many"):
        fit(rows, "W")


def test_a_target_that_is_missing_in_some_rows_is_left_out_and_said(tmp_path):
    rows = people()
    for row in rows[:9]:
        row["W"] = None
    table = write(tmp_path / "t.csv", rows)
    done = command("fit", table, tmp_path, "--use", "sex,region")
    assert "9 rows have no value of W and were not counted" in done.output
    release = ch.load_release(tmp_path / "r.choral")
    assert release.recipe.table_rows == len(rows) - 9
    assert release.disclosure.problem.target.values == (0, 1)
    found = json.loads(command("fit", table, tmp_path, "--use", "sex,region", "--json").output)
    assert found["left_out"] == 9
    with pytest.raises(LawError, match=r"'W' .* has 9 missing values"):
        command("fit", table, tmp_path, "--use", "sex,region", "--missing", "error")
    with pytest.warns(LedgerWarning):
        assert len(release.disclose(table, id="who")) == len(rows)


def test_one_value_of_the_target_that_is_left_is_refused():
    rows = [{**row, "W": 1 if i % 2 else None} for i, row in enumerate(people())]
    with pytest.raises(ProblemError, match="has one value"):
        fit(rows, "W", ["sex"], ["sex", "region"])


def test_a_file_as_it_comes_is_fitted_and_disclosed_by_two_commands(tmp_path):
    """Without a header, with bars, a question mark for a gap, and another ending."""
    rows = [{**row, "age": "?" if i % 9 == 0 else row["age"]} for i, row in enumerate(people())]
    table = write(tmp_path / "people.data", rows, "|", header=False)
    asked = ("--reveal", "column2", "--protect", "column4", "--bins", "column3=3", "--id", "column1", "--no-header")
    asked += ("--use", "column3,column4,column5")
    done = run("fit", table, *asked, "-o", tmp_path / "r.choral")
    assert "'?' is taken for a missing value (found in 'column3')" in done.output
    recipe = ch.load_release(tmp_path / "r.choral").recipe
    assert recipe.column("column3").values[-1] is None
    assert recipe.reading is not None
    assert (recipe.reading.header, recipe.reading.marks) == (False, ("?",))
    codes = tmp_path / "codes.csv"
    assert run("disclose", tmp_path / "r.choral", table, "--id", "column1", "-o", codes).exit_code == 0
    assert len(codes.read_text().splitlines()) == len(rows) + 1


def test_declared_marks_are_the_only_ones(tmp_path):
    rows = [{**row, "age": "NA" if i % 9 == 0 else row["age"]} for i, row in enumerate(people())]
    table = write(tmp_path / "t.csv", rows)
    asked = ("--use", "sex,age", "--min-count", "1")
    command("fit", table, tmp_path, *asked, "--missing-marks", "")
    assert ch.load_release(tmp_path / "r.choral").recipe.column("age").type == "VARCHAR"
    command("fit", table, tmp_path, *asked, "--missing-marks", "NA")
    assert ch.load_release(tmp_path / "r.choral").recipe.column("age").type == "BIGINT"


def test_in_python_a_recognised_mark_is_a_warning(tmp_path):
    rows = [{**row, "age": "NA" if i % 9 == 0 else row["age"]} for i, row in enumerate(people())]
    with pytest.warns(TableWarning, match="'NA' is taken for a missing value"):
        fit(write(tmp_path / "t.csv", rows), "W", ["sex"], ["sex", "age"], bins="age=3")


def test_a_frame_is_asked_without_what_is_dropped():
    release = fit(people(), "W", ["sex"], drop=["who", "age"])
    assert release.recipe.use == ("sex", "region")


def test_without_a_place_the_release_is_called_after_its_table(tmp_path, monkeypatch):
    write(tmp_path / "people.csv", people())
    monkeypatch.chdir(tmp_path)
    said = run("fit", "people.csv", "--reveal", "W", "--protect", "sex", "--drop", "age").output
    assert "saved        people.choral" in said
    assert ch.load_release(tmp_path / "people.choral").verify()["verified"] is True
    assert "how  " not in said
    shown = run(
        "fit", "people.csv", "--reveal", "W", "--protect", "sex", "--drop", "age", "--verbose", "--force"
    ).output
    assert "\nhow          " in shown


def test_fit_lists_every_column_and_what_becomes_of_it(tmp_path):
    table = write(tmp_path / "t.csv", [{**row, "land": "here"} for row in people()])
    said = command("fit", table, tmp_path, "--drop", "age").output.splitlines()
    at = next(i for i, line in enumerate(said) if line.startswith("columns "))
    listed = [line[13:].split() for line in said[at : at + 6]]
    assert [words[0] for words in listed] == ["who", "W", "age", "sex", "region", "land"]
    assert [words[1] for words in listed] == ["identifier", "target", "number", "protected", "category", "constant"]
    found = json.loads(command("fit", table, tmp_path, "--drop", "age", "--json").output)
    assert [column["fate"] for column in found["columns"]][-1] == "left out"


def test_what_is_hardly_of_use_says_so_first_with_the_reason_and_what_helps(tmp_path):
    draw = random.Random(5)
    rows = []
    for _ in range(300):
        row = {"W": draw.randrange(2), "sex": draw.choice("fm")}
        row |= {f"x{i}": draw.randrange(9) for i in range(3)} | {"a": None}
        row["a"] = row["W"] if draw.random() < 0.9 else 1 - row["W"]
        rows.append(row)
    table = write(tmp_path / "t.csv", rows)
    nothing = command("fit", table, tmp_path, "--use", "sex,x0,x1,x2", "--min-count", "50").output.splitlines()
    assert not [
        line for line in nothing if line.startswith("WARNING") and "because" in line
    ]  # there is nothing to be told
    merged = command("fit", table, tmp_path, "--use", "sex,a,x0,x1,x2", "--min-count", "120").output.splitlines()
    assert merged[1].startswith("WARNING      this tells 0 % of what the columns tell about W (0.")
    assert "combinations are rare (100 % of the records) and cannot be told apart: leave out --use" in merged[1]
    few = command("fit", write(tmp_path / "few.csv", rows[:60]), tmp_path, "--min-count", "8").output
    assert "60 records are too few to learn a score" in few
    assert "use fewer columns (--use)" in few
    assert "to learn a score" not in few.replace("too few to learn a score", "")  # which it cannot be
    protected = run(
        "fit", table, "--reveal", "W", "--protect", "a", "--use", "a,x0", "-o", tmp_path / "p.choral"
    ).output.splitlines()
    assert protected[1].startswith("WARNING      this tells ")
    assert "because what is protected goes with the target (a alone tells" in protected[1]
    found = json.loads(
        run(
            "fit", table, "--reveal", "W", "--protect", "a", "--use", "a,x0", "-o", tmp_path / "q.choral", "--json"
        ).output
    )
    assert found["warning"] == protected[1][13:]


def test_a_frame_of_ten_thousand_columns_gets_a_clear_word():
    frame = {"W": [0, 1] * 60, "sex": list("fm") * 60} | {f"c{i}": [0] * 120 for i in range(10_000)}
    with pytest.raises(TooLargeError, match="has 10002 columns"):
        fit(frame, "W", ["sex"])


def test_a_number_of_many_values_as_the_target_says_what_else_could_be_asked():
    rows = [
        {"years": (7 * i) % 23, "x": (7 * i) % 23 // 3 + i % 2, "y": i % 50, "sex": "fm"[i % 3 == 0]}
        for i in range(400)
    ]
    for asked, instead in ((None, "bits"), ("bits", "squares")):
        release = ch.fit(rows, "years", ["sex"], time_limit=1, utility=asked)
        [said] = [remark for remark in release.remarks if f"--utility {instead}" in remark]
        assert said.startswith("years is a number of 23 values")
    other = ch.fit(rows, "years", ["sex"], bins="years=q4", time_limit=1)
    assert not any("--utility" in remark for remark in other.remarks)


def test_a_column_whose_name_could_be_misread_is_left_out_unless_somebody_named_it(tmp_path):
    """An ordinary table could not be used at all for one name with a plus, though nothing was asked about that column."""
    rows = [{**row, "bonus + stocks": i % 3, "pay, net": i % 5} for i, row in enumerate(people())]
    release = fit(rows, "W", ["sex"], drop=["age"], id="who")
    assert release.recipe.use == ("sex", "region")
    [said] = [remark for remark in release.remarks if "could be misread" in remark]
    assert said.startswith("left out: bonus + stocks, pay, net (its name could be misread")
    assert fit(rows, "W", ["sex"], use=["sex", "region"]).recipe.use == ("sex", "region")
    for named in (
        {"protect": ["sex", ("bonus + stocks",)]},
        {"use": ["sex", "pay, net"]},
        {"against": ["bonus + stocks"]},
    ):
        with pytest.raises(LawError, match="could be misread"):
            fit(rows, "W", **{"protect": ["sex"], **named})
    for named in ({"reveal": "bonus + stocks"}, {"bins": {"pay, net": 2}}):
        with pytest.raises(LawError, match="could be misread"):
            fit(rows, **{"reveal": "W", "protect": ["sex"], **named})
    with pytest.raises(LawError, match="could be misread"):
        fit(rows, "W", [("bonus + stocks",)], drop=["bonus + stocks"])


def test_where_all_columns_are_private_a_name_that_could_be_misread_is_asked_about(tmp_path):
    """Without `protect` every column is: one that is left out would be a promise less."""
    rows = [{**row, "bonus + stocks": i % 3} for i, row in enumerate(people())]
    table = write(tmp_path / "t.csv", rows)
    with pytest.raises(LawError, match="could be misread") as caught:
        run("bounds", table, "--reveal", "W", "--drop", "age", "--id", "who")
    assert "--drop 'age,bonus + stocks'." in caught.value.remedy
    assert run("bounds", table, "--reveal", "W", "--drop", "age,bonus + stocks", "--id", "who").exit_code == 0
