"""What people met on their first days with choral, each as it is now."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import ColumnError, LawError, ProblemError, ReleaseFileError
from choral.phases import phase
from choral.problem.solution import Status
from choral.release.card import load_card
from choral.release.usefulness import in_no_time
from choral.show import progress
from choral.show.cli import app
from choral.verifier.values import spoken


def run(*words, **more):
    return CliRunner(**more).invoke(app, [str(word) for word in words], catch_exceptions=False)


def people(n=400, seed=5):
    """Records whose target goes with a column that is private and one that is not."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, job = draw.choice("fm"), draw.choice("abc")
        rows.append({"ill": int(draw.random() < 0.3 + 0.2 * (sex == "f") + 0.2 * (job == "a")), "sex": sex, "job": job})
    return rows


def written(path, rows):
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("use", [None, ["sex", "job"]])
def test_a_table_that_is_too_small_is_said_to_be_and_no_column_is_blamed(use):
    rows = [{**row, "who": f"n{i}"} for i, row in enumerate(people(5, seed=7))]
    with pytest.raises(ProblemError, match="has 5 records, which is too few") as caught:
        ch.fit(rows, "ill", ["sex"], use)
    assert "at least 20" in caught.value.remedy
    assert "--drop" not in str(caught.value)
    ch.fit(people(20), "ill", ["sex"])


def rarely_ill(n=600, seed=5):
    """Records of whom few are ill, so that the best guess is always the same; what others know goes with sex."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, job = draw.choice("fm"), draw.choice("ab")
        town = "n" if draw.random() < (0.8 if sex == "f" else 0.3) else "s"
        ill = draw.random() < (0.12 if (sex == "f") == (job == "a") else 0.01)
        rows.append({"ill": int(ill), "sex": sex, "job": job, "town": town})
    return rows


def test_what_a_promise_costs_is_said_in_the_unit_of_the_result(tmp_path):
    """Of a rare target the result says how often the most telling code finds it; the price said right guesses."""
    rows = rarely_ill()
    table, release = written(tmp_path / "t.csv", rows), tmp_path / "r.choral"
    said = run("fit", table, "--reveal", "ill", "--protect", "sex", "--use", "sex,job", "-o", release).stdout
    result, others = (
        next(line for line in said.splitlines() if line.startswith(word)) for word in ("result", "others")
    )
    often = re.search(r"ill = 1 in (\S+ %) of the records with the most telling code", result)[1]
    cost = re.search(r"'(sex \| \w+)' added .* \(ill = 1 in (\S+) % instead of (\S+ %) of as many records", others)
    assert cost[3] == often
    assert "guessed right" not in others
    # the same by another way: a fit with the promise, its codes in order of how often they find it, up to the same share
    known = cost[1].split(" | ")[1]
    again = ch.fit(rows, "ill", ["sex", cost[1]], use=list(dict.fromkeys(["sex", "job", known])))
    top, share = ch.load_release(release).meaning.find, 0.0
    hits, left = 0.0, float(top.share)
    codes = zip(again.disclosure.p_w_given_y, again.disclosure.p_y, strict=True)
    found = sorted(((float(p[1]), float(q)) for p, q in codes), reverse=True)
    for p, q in found:
        share = min(q, left)
        hits, left = hits + p * share, left - share
    assert float(cost[2]) == pytest.approx(100 * hits / float(top.share), rel=0.05)


def test_one_is_not_said_as_several(tmp_path):
    rows = [{"ill": f"n{i}", "sex": "fm"[i % 2], "x": i % 7, "y": i % 11} for i in range(400)]
    with pytest.raises(ProblemError, match="of 400 records 1 has the most common one"):
        ch.fit(rows, "ill", ["sex"])
    copy = [{"ill": s, "sex": s} for s in "fm" for _ in range(10)]  # all that could be told is private
    release = ch.fit(copy, "ill", ["sex"], use=["sex"])
    release.save(tmp_path / "r.choral")
    assert "is independent of the code, exactly (1 code)" in run("verify", tmp_path / "r.choral").stdout
    gaps = [{**row, "ill": "" if i == 3 else row["ill"]} for i, row in enumerate(people())]
    said = run(
        "fit", written(tmp_path / "t.csv", gaps), "--reveal", "ill", "--protect", "sex", "-o", tmp_path / "g.choral"
    )
    assert "1 row has no value of ill and was not counted" in said.stdout


def test_a_bin_of_one_whole_number_is_called_by_it(tmp_path):
    rows = [{**row, "age": 48 + i % 6} for i, row in enumerate(people())]
    release = ch.fit(rows, "ill", ["sex"], use=["sex", "age"], bins={"age": [50, 51, 53]})
    assert release.recipe.column("age").values == ("< 50", "50", "[51, 53)", "≥ 53")
    release.save(tmp_path / "r.choral")
    assert ch.load_release(tmp_path / "r.choral").recipe.state_of({"sex": "f", "age": 50}) is not None
    halves = [{**row, "age": row["age"] / 2} for row in rows]
    parted = ch.fit(halves, "ill", ["sex"], use=["sex", "age"], bins={"age": [25, 26]})
    assert parted.recipe.column("age").values == ("< 25", "[25, 26)", "≥ 26")


def test_the_verifier_names_values_as_people_do(tmp_path):
    draw = random.Random(2)
    rows = [{**row, "age": draw.randrange(20, 60), "town": draw.choice(["Köln", "N", "1"])} for row in people()]
    said = []
    for least in (1, 40):
        release = ch.fit(rows, "ill", ["sex"], use=["sex", "age", "town"], bins={"age": [30, 50]}, min_count=least)
        release.save(tmp_path / "r.choral", force=True)
        said.append(run("verify", tmp_path / "r.choral", "--verbose").stdout)
        assert "tuple" not in said[-1]
        assert "sex: 2 values (f, m)" in said[-1]
    assert "age: 3 values (< 30, [30, 50), ≥ 50)" in said[0]
    assert r"'K\xf6ln'" in said[0]  # what is outside ASCII could look like something else
    assert "'1'" in said[0]
    assert spoken({"tuple": [1, "male", None, {"date": "2020-01-02"}]}) == "1 + male + missing + 2020-01-02"


def test_a_confidence_is_said_in_percent():
    release = ch.fit(people(), "ill", ["sex"])
    found = ch.audit(release, confidence=0.9)
    said = [finding.sentence for finding in found.findings]
    assert any("with 90 % confidence" in sentence for sentence in said), said


def test_an_error_has_arguments_in_python_and_options_in_the_shell(tmp_path):
    rows = [{**row, "my name": f"n{i}"} for i, row in enumerate(people(60))]
    with pytest.raises(ProblemError) as caught:
        ch.fit(rows, "ill", ["sex"], use=["sex", "my name"])
    assert 'drop=["my name"]' in str(caught.value)
    assert "--" not in str(caught.value)
    assert "--drop 'my name'" in caught.value.remedy  # what the command line prints
    asked = ["fit", written(tmp_path / "t.csv", rows), "--reveal", "ill", "--protect", "sex", "--use", "sex,my name"]
    command = [Path(sys.executable).with_name("choral"), *asked, "-o", tmp_path / "r.choral"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "--drop 'my name'" in shown.stderr


def test_what_is_no_table_and_what_is_no_release_is_said(tmp_path):
    with pytest.raises(LawError, match=r"The list is empty: a table needs at least one record\. Give records"):
        ch.fit([])
    table = written(tmp_path / "t.csv", people())
    for command in ("audit", "verify", "report", "points", "card"):
        more = ["-o", tmp_path / "page.html"] if command == "report" else []
        with pytest.raises(
            ReleaseFileError, match=r"t\.csv is a table, not a release\. .* choral fit \S*t.csv --reveal"
        ):
            run(command, table, *more)


def test_all_wrong_names_are_reported_at_once_each_with_the_nearest():
    with pytest.raises(ColumnError) as caught:
        ch.fit(people(), "il", ["sx", "sex | jbo"], use=["sex", "jobs", "zzzzz"], drop=["sez"])
    said = str(caught.value)
    assert said.startswith(
        "6 names are no columns of the table: `drop` names 'sez' (did you mean 'sex'?); `reveal` names 'il' "
    )
    for wrong, right in (("il", "ill"), ("sx", "sex"), ("jbo", "job"), ("jobs", "job")):
        assert f"names '{wrong}' (did you mean '{right}'?)" in said
    assert "names 'zzzzz'." in said
    with pytest.raises(ColumnError, match=r"^`protect` names 'sx', which is no column\. Did you mean 'sex'\?$"):
        ch.fit(people(), "ill", ["sx"])


def test_a_card_is_printed_in_words_and_written_by_a_command(tmp_path):
    release = ch.fit(people(), "ill", ["sex"])
    release.save(tmp_path / "r.choral")
    said = str(release.card())
    assert "independent of sex" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    first = [f"{100 * p:g} %" for p in release.card().p_w_given_y[0]]
    assert re.search(r"^ +0 .*" + " +".join(map(re.escape, first)) + "$", said, re.M)
    shown = run("card", tmp_path / "r.choral", "--out", tmp_path / "card.json", "--ledger", tmp_path / "l.ledger")
    assert said in shown.stdout
    assert load_card(tmp_path / "card.json").document == release.card().document
    assert (tmp_path / "l.ledger").exists()  # a card that nobody remembers could be published twice
    assert said in run("card", tmp_path / "card.json").stdout
    assert json.loads(run("card", tmp_path / "r.choral", "--json").stdout) == release.card().document


def test_scikit_learn_names_the_target_as_whoever_fits_does():
    pandas, codes = pytest.importorskip("pandas"), pytest.importorskip("choral.sklearn").PrivateCodes
    frame = pandas.DataFrame(people())
    with pytest.raises(ProblemError, match=r"y has one class, 1: "):
        codes(["sex"]).fit(frame[["sex", "job"]], np.ones(len(frame), dtype=int))
    each = pandas.Series([f"n{i // 3}" for i in range(len(frame))], name="person")
    x = frame.assign(x=range(len(frame)), z=lambda f: f.x % 41)
    with pytest.raises(ProblemError, match="target 'person'"):
        codes(["sex"]).fit(x[["sex", "job", "z"]], each)


def test_long_names_of_columns_keep_each_row_on_one_line(tmp_path, monkeypatch):
    long = "How many hours did you work in the week before this one"
    rows = [{**row, long: i % 7, f"{long} (written)": f"text {i}"} for i, row in enumerate(people())]
    table = written(tmp_path / "t.csv", rows)
    asked = ("fit", table, "--reveal", "ill", "--protect", "sex", "-o", tmp_path / "r.choral", "--force")
    for columns in (None, "60"):
        if columns:
            monkeypatch.setenv("COLUMNS", columns)
        lines = run(*asked).stdout.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("columns"))
        rows_said = lines[first : first + 5]
        assert all(len(line) <= int(columns or 80) for line in rows_said)
        assert rows_said[4].endswith("left out")
        assert re.search(r"How m.*….*\(?written\)|How m\S*…", rows_said[4])
    assert "left out" in [line[:8] for line in lines]
    monkeypatch.delenv("COLUMNS")
    assert f"{long} (written)  " in run(*asked, "--verbose").stdout


def test_values_that_differ_only_in_blanks_are_noticed():
    rows = [{**row, "ill": "yes\t" if i == 7 else "yes" if row["ill"] else "no"} for i, row in enumerate(people())]
    [said] = [remark for remark in ch.fit(rows, "ill", ["sex"]).remarks if "blanks" in remark]
    assert said.startswith(r"2 values of ill differ only in blanks: 'yes', 'yes\t'; each is a value of its own")
    assert not any("blanks" in remark for remark in ch.fit(people(), "ill", ["sex"]).remarks)


def test_a_code_that_tells_nothing_since_time_was_over_is_said_to_be_of_no_use():
    release = ch.fit(people(), "ill", ["sex"])
    nothing = SimpleNamespace(information=0.0, status=Status.STOPPED, upper_bound=0.25)
    said = in_no_time(SimpleNamespace(disclosure=nothing))
    assert said.startswith("this code is of no use: it tells nothing, since the time limit")
    assert "--time-limit" in said
    assert in_no_time(release) == ""


def test_where_there_is_no_terminal_a_line_now_and_then_says_what_is_done(monkeypatch, capsys):
    monkeypatch.setattr(progress, "OFTEN", 0.02)
    with progress.told_now_and_then("searching"):
        with phase("learning points"):
            time.sleep(0.1)
        time.sleep(0.1)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("choral: learning points, ")
    assert said[-1].startswith("choral: searching, ")


def test_the_command_itself_says_so(tmp_path, monkeypatch, capsys):
    """A group of commands does not know which of them runs when it begins: the lines were never written."""
    table = tmp_path / "t.csv"
    table.write_text("W,a,b\n" + "0,0,1\n1,1,0\n0,1,1\n1,0,0\n" * 30, encoding="utf-8")
    words = ["fit", str(table), "--protect", "a", "--use", "a,b", "-o", str(tmp_path / "r.choral")]
    monkeypatch.setattr(progress, "OFTEN", 0.001)
    monkeypatch.setattr(sys, "argv", ["choral", *words])
    app(words, standalone_mode=False)
    assert any(
        line.startswith("choral: ") and line.endswith("s so far") for line in capsys.readouterr().err.splitlines()
    )
