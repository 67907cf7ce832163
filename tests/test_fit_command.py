"""`choral fit`, `bounds` and `plan` as a newcomer meets them: mistakes leave nothing behind, and messages say what to do."""

from __future__ import annotations

import csv
import json
import random
import re

import pytest
from typer.testing import CliRunner

from choral.errors import ChoralError, ProblemError
from choral.ledger.book import open_ledger
from choral.release.file import Release
from choral.release.fit import fit
from choral.show.cli import app

ASKED = ("--reveal", "W", "--protect", "sex", "--use", "sex,region")


@pytest.fixture
def folder(tmp_path):
    draw = random.Random(4)
    for name in ("table", "other"):
        lines = ["person,W,age,sex,region"]
        for person in range(120):
            age, sex, region = draw.randrange(20, 80), draw.choice("fm"), draw.choice("ns")
            lines.append(f"{person},{int((sex == 'f') ^ (region == 'n'))},{age},{sex},{region}")
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def written(folder):
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".csv")


def fitted(folder, *more, table="table.csv", release="r.choral", card="card.json"):
    return run("fit", folder / table, *ASKED, "-o", folder / release, "--card", folder / card, *more)


def cards(folder):
    with open_ledger(folder / "choral.ledger") as book:
        return book._sql.execute("SELECT count(*) FROM card").fetchone()[0]


# ---- all or nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mistake", [("--precision", "0"), ("--precision", "13"), ("--after-key", "key.json")])
def test_a_mistyped_option_leaves_nothing_behind_and_is_found_before_solving(folder, mistake, monkeypatch):
    monkeypatch.setattr("choral.release.fit.fit", lambda *_, **__: pytest.fail("it was solved"))
    with pytest.raises(ProblemError):
        fitted(folder, *mistake)
    assert written(folder) == []


def test_a_release_that_cannot_be_written_is_not_in_the_ledger(folder, monkeypatch):
    save = Release.save

    def full(self, path, key_path=None, *, force=False):
        save(self, path, key_path, force=force)
        raise ChoralError("The disk is full.", "Make room.")

    with monkeypatch.context() as patched:
        patched.setattr(Release, "save", full)
        with pytest.raises(ChoralError, match="disk is full"):
            fitted(folder, "--key", folder / "key.json")
    assert written(folder) == []
    assert fitted(folder, table="other.csv").exit_code == 0
    assert cards(folder) == 1


def test_a_card_that_the_ledger_refuses_leaves_no_release(folder):
    assert fitted(folder).exit_code == 0
    with pytest.raises(ChoralError, match="already public"):
        fitted(folder, table="other.csv", release="second.choral", card="second.json")
    assert written(folder) == ["card.json", "choral.ledger", "r.choral"]


# ---- bins ----------------------------------------------------------------------------------------------------------


def test_a_lone_number_is_quantiles_and_the_fit_says_how_to_write_an_edge(folder):
    shown = run("fit", folder / "table.csv", "--reveal", "W", "--bins", "age=3", "--use", "age,sex", "-o", folder / "r")
    assert "age=3 asks for 3 bins of about as many records each; an edge at 3 is written age=3,)" in shown.output
    edge = run(
        "fit", folder / "table.csv", "--reveal", "W", "--bins", "age=40,", "--use", "age,sex", "-o", folder / "s"
    )
    assert "bins         age: < 40, ≥ 40 (edges as declared)" in edge.output
    for command in ("fit", "bounds", "plan"):
        assert "age=40, (one edge" in " ".join(run(command, "--help").output.split())


def test_bins_and_further_tables_in_python_are_read_as_they_are_meant(folder):
    asked = {"reveal": "W", "protect": ["sex"], "use": ["sex", "age"]}
    as_text = fit(folder / "table.csv", **asked, bins="age=50,").recipe
    assert as_text.column("age").edges == (50.0,)
    assert fit(folder / "table.csv", **asked, bins={"age": [50]}, also=str(folder / "table.csv")).recipe.use
    assert fit(folder / "table.csv", **asked, bins={"age": [50]}, also=folder / "table.csv").recipe.use
    for bins in (3, ["age=3"], 2.5):
        with pytest.raises(ProblemError, match="of which columns"):
            fit(folder / "table.csv", **asked, bins=bins)


@pytest.mark.parametrize(("word", "row"), [("old", 1), ("NA", 100)])
def test_one_bad_cell_is_named_with_its_row(folder, word, row):
    lines = (folder / "table.csv").read_text().splitlines()
    cells = lines[row].split(",")
    lines[row] = ",".join([*cells[:2], word, *cells[3:]])
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ProblemError) as caught:
        fit(folder / "table.csv", "W", ["sex"], ["sex", "age"], bins={"age": 3}, missing_marks=())
    assert f"1 value is no number, the first in row {row}: '{word}'" in caught.value.what
    assert "empty cell" in caught.value.remedy
    with pytest.raises(ProblemError, match="Bins are for numeric columns"):
        fit(folder / "table.csv", "W", ["sex"], ["sex", "region"], bins={"sex": 3}, missing_marks=())


# ---- words ---------------------------------------------------------------------------------------------------------


def test_a_column_that_identifies_records_is_left_out_and_that_is_said(folder):
    asked = ("--reveal", "W", "--protect", "sex", "-o", folder / "r.choral")
    said = run("fit", folder / "table.csv", *asked).output
    assert next(line for line in said.splitlines() if " person " in line).endswith("left out")
    assert "left out     person (another value in" in said
    assert "looks at     sex, " in said
    assert "person" not in next(line for line in said.splitlines() if line.startswith("looks at"))
    with pytest.raises(ProblemError) as caught:
        run("fit", folder / "table.csv", *asked, "--use", "person,age,sex,region", "--force")
    assert "'person' has as many values as there are rows" in caught.value.what
    assert "leave it out: --id person, or --drop person." in caught.value.remedy


def test_bounds_begins_in_plain_words(folder):
    first = run("bounds", folder / "table.csv", *ASKED).output.splitlines()[0]
    assert re.fullmatch(
        r"guesses      W is guessed right [\d.]+ % without a code, and [\d.]+ % from all used columns: .*", first
    )
    second = run("bounds", folder / "table.csv", *ASKED).output.splitlines()[1]
    assert re.match(r"at most      0\.\d{1,4} bits about W can be told privately \(by ", second)
    shut = run("bounds", folder / "table.csv", "--reveal", "W", "--use", "sex", "--protect", "sex").output.splitlines()[
        0
    ]
    assert shut == "Nothing about W can be told: what is protected determines all that could be said."


@pytest.mark.parametrize("budget", [("--leakage", "sex=0.1"), ("--ratio", "sex=11/10")])
def test_what_bounds_and_plan_say_within_a_budget_is_what_fit_finds(folder, budget):
    asked = (folder / "table.csv", "--reveal", "W", "--use", "sex", "--protect", "sex", *budget)
    said = [json.loads(run(command, *asked, "--json").output) for command in ("bounds", "plan")]
    found = json.loads(run("fit", *asked, "-o", folder / "r.choral", "--json").output)
    assert 0 < found["information"] <= said[0]["upper_bound"] + 1e-9
    assert said[0]["feasible"]
    assert 2 <= found["codes"] <= said[0]["codes_at_most"]
    assert found["how"].startswith(said[1]["solver"])
    shown = run("fit", *asked, "-o", folder / "r.choral", "--force").output
    assert "certified    no code within these budgets tells more than" in shown


def test_a_fit_that_tells_nothing_says_so(folder):
    asked = ("--reveal", "W", "--use", "sex", "--protect", "sex")
    said = run("fit", folder / "table.csv", *asked, "-o", folder / "r").output.splitlines()
    assert said[0].startswith("result       nothing is told")
    assert said[1].startswith("WARNING      ")
    assert "nothing is told" not in fitted(folder).output


def test_a_fit_whose_records_are_mostly_merged_says_so(folder):
    asked = ("--reveal", "W", "--protect", "sex", "--use", "sex,age", "--min-count", "3")
    shown = run("fit", folder / "table.csv", *asked, "-o", folder / "r").output
    with (folder / "table.csv").open() as file:
        seen = [(row["sex"], row["age"]) for row in csv.DictReader(file)]
    rare = sum(seen.count(pair) < 3 for pair in seen)
    assert 2 * rare > len(seen)
    assert (
        f"remark       {100 * rare / len(seen):.0f} % of the records have combinations of values that are merged as rare"
        in shown
    )
    assert "that the used columns tell (rare combinations merged) and" in shown
    few = fitted(folder).output
    assert "merged as rare" not in few
    assert "that the used columns tell and" in few
    assert "merged       none occurs less than 5 times (--min-count)" in few


def test_a_card_whose_codes_are_too_rare_for_a_posterior_is_remarked_upon(folder):
    draw = random.Random(1)
    lines = ["W,sex,region"] + [f"{draw.randrange(2)},{draw.choice('fm')},{draw.randrange(12)}" for _ in range(900)]
    (folder / "wide.csv").write_text("\n".join(lines) + "\n")
    shown = fitted(folder, "--ledger", folder / "l", table="wide.csv", release="w", card="w.json")
    rows = json.loads((folder / "w.json").read_text())["p_w_given_y"]
    rare = sum(row is None for row in rows)
    assert rare
    assert f"{rare} of {len(rows)} codes so rare that the card gives no posterior there" in shown.output
    few = ("--codes", "2", "--ledger", folder / "m")
    assert "no posterior" not in fitted(folder, *few, table="wide.csv", release="v", card="v.json").output


@pytest.mark.parametrize("command", ["fit", "bounds", "audit", "disclose", "report", "studio", "reproduce", "curve"])
def test_every_example_is_on_a_line_of_its_own(command):
    lines = [line.strip() for line in run(command, "--help").output.splitlines()]
    shown = [line for line in lines if line.startswith(f"choral {command}")]
    assert len(shown) >= 2
    assert not any(" choral " in line for line in shown)
    if command == "fit":
        assert all(any(option in line for line in shown) for option in ("--after", "--leakage", "--ratio"))


def test_one_of_a_kind_is_said_in_the_singular(folder):
    asked = ("--reveal", "W", "--use", "sex", "--protect", "sex", "--min-count", "1")
    shown = run("fit", folder / "table.csv", *asked, "--also", folder / "other.csv", "-o", folder / "r").output
    assert "under 1 more law too" in shown
    assert "less than 1 time (" in shown


def test_a_card_may_be_written_for_a_release_that_replaces_one_of_which_nothing_was_given_out(folder):
    """Whether anything was is read in the ledger while the card is being entered in it."""
    assert run("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral").exit_code == 0
    fitted(folder, release="other.choral", card="other.json")
    ended = fitted(folder, "--force")
    assert cards(folder) == 2, ended.output


def test_a_search_that_was_stopped_says_what_may_be_missing(folder):
    """A time limit below what one level takes: a valid result with a wide interval."""
    found = run("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--time-limit", "0")
    assert found.exit_code == 0
    assert "stopped      the time limit, or Ctrl-C, ended the search: the best private code tells 0 to " in found.stdout
    assert "was not looked at in the time limit; choral audit says it" in found.stdout
    assert run("verify", folder / "r.choral").exit_code == 0
    assert "stopped      the" not in fitted(folder, release="whole.choral").stdout


def test_one_code_is_said_to_be_the_cause_where_it_was_asked_for(folder):
    """It was put down to a search that ended early, which more time would mend."""
    found = run("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--codes", "1")
    assert "because so few codes were asked for (--codes): up to" in found.stdout
    assert "ended early" not in found.stdout


def test_a_budget_that_is_no_limit_is_said_to_be_none(folder):
    """It stood among what is private."""
    asked = ("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--force")
    name = ASKED[ASKED.index("--protect") + 1].split(",")[0]
    assert f"bits about {name} is no limit: all that is used tells" in run(*asked, "--leakage", f"{name}=100").stdout
    assert f"is hardly a limit for {name}" in run(*asked, "--ratio", f"{name}=1000000").stdout
    assert "no limit:" not in run(*asked, "--leakage", f"{name}=0.0001").stdout


@pytest.mark.parametrize("text", ["0.01", "sex", "sex=", "=0.1", "sex=0,01"])
def test_a_budget_without_its_group_or_amount_says_how_to_write_it(folder, text):
    asked = ("fit", folder / "table.csv", *ASKED, "-o", folder / "r.choral", "--leakage")
    with pytest.raises(ProblemError, match="is no budget: it lacks the group, or how much") as found:
        run(*asked, text)
    assert "Write --leakage COLUMN=0.01, with a decimal point" in found.value.remedy
    with pytest.raises(ProblemError, match="is the second budget of sex"):
        run(*asked, "sex=1,sex=2")
    assert written(folder) == []
