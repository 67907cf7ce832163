"""A protected column that no code looks at (--protect sex --drop sex): it is private; records to come need not have it."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from fractions import Fraction as F

import in_process
import pandas as pd
import pytest

import choral as ch
from choral.errors import ProblemError
from choral.release.fit import fit
from choral.scores import crossfit
from choral.sklearn import PrivateCodes


def people(n=500, seed=5):
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        sex = draw.choice("fm")
        height, hours = round(draw.gauss(178 if sex == "m" else 166, 7)), round(draw.gauss(36 + 3 * (sex == "m"), 8), 1)
        job = draw.choice(["clerk", "nurse", "smith", "baker"])
        odds = (hours - 37) / 6 + (job == "nurse") - 0.8 * (sex == "f")
        rows.append({"who": i, "sex": sex, "height": height, "hours": hours, "job": job})
        rows[-1]["W"] = "yes" if draw.gauss(0, 1) < odds else "no"
    return rows


@pytest.fixture(scope="module")
def blind():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "TREES", 40)
        return fit(people(), "W", ["sex"], drop=["sex"], id="who")


def written(path, rows, leave_out=()):
    with path.open("w", newline="") as file:
        names = [name for name in rows[0] if name not in leave_out]
        out = csv.DictWriter(file, names, extrasaction="ignore")
        out.writeheader()
        out.writerows(rows)
    return path


def test_the_code_is_private_about_a_column_that_it_does_not_look_at(blind):
    """By the records themselves: how often each state occurs with each sex, and the channel in fractions."""
    recipe, channel = blind.recipe, blind.disclosure.exact_channel
    assert recipe.use == ("score",)
    assert "sex" not in recipe.looks_at
    counts = Counter((row["sex"], recipe.state_of(row)) for row in people())
    law = {"f": Counter(), "m": Counter()}
    for (sex, state), n in counts.items():
        whole, entries = channel.rows[state]
        for y, part in entries:
            law[sex][y] += n * F(part, whole)
    all_of = {sex: sum(law[sex].values()) for sex in law}
    assert all(law["f"][y] * all_of["m"] == law["m"][y] * all_of["f"] for y in range(blind.codes))
    assert blind.verify()["verified"]
    assert blind.information > 0.1


def test_bins_tell_what_records_say_about_the_column_too(blind):
    assert blind.points.about["unseen"] == ["sex"]
    assert blind.points.about["sums"] == ["W = yes", "sex = m"]
    shown = str(blind.points)
    assert "points for sex = m" in shown
    by_sum = {
        of: {term.columns for term in terms}
        for of, terms in zip(blind.points.about["sums"], blind.points.sums, strict=True)
    }
    assert ("height",) in by_sum["sex = m"]
    assert ("sex",) not in by_sum["W = yes"] | by_sum["sex = m"]


def test_who_knows_the_bin_learns_nothing_more_from_the_code(blind):
    """The code is drawn from the bin alone."""
    assert all(leak.zero for leak in blind.meaning.known_score)
    assert blind.meaning.to_come.bits < blind.meaning.told.bits


def test_by_the_commands_records_to_come_need_not_have_it(tmp_path, monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 40)
    table = written(tmp_path / "people.csv", people())
    release, card = tmp_path / "r.choral", tmp_path / "card.json"
    fitted = in_process.choral(
        "fit", table, "--reveal", "W", "--protect", "sex", "--drop", "sex", "--id", "who", "-o", release, "--card", card
    )
    assert fitted.returncode == 0, fitted.stderr
    said = " ".join(fitted.stdout.split())
    assert "left out sex (protected, and not looked at, as asked)" in said
    assert "looks at height, hours, job" in said
    narrow = written(tmp_path / "narrow.csv", people(), leave_out=("sex", "W"))
    for source, codes in ((table, "all.csv"), (narrow, "narrow.csv.out.csv")):
        drawn = in_process.choral(
            "disclose", release, source, "-o", tmp_path / codes, "--id", "who", "--ledger", tmp_path / f"{codes}.ledger"
        )
        assert drawn.returncode == 0, drawn.stderr
    read = [sorted((tmp_path / name).read_text().splitlines()) for name in ("all.csv", "narrow.csv.out.csv")]
    assert read[0] == read[1]
    verified = in_process.choral("verify", release)
    assert verified.returncode == 0, verified.stderr
    audit = in_process.choral("audit", release, "--table", table, "--json")
    assert audit.returncode == 0, audit.stderr
    assert json.loads(audit.stdout)
    report = in_process.choral("report", release, "-o", tmp_path / "report.html")
    assert report.returncode == 0, report.stderr


@pytest.mark.parametrize("command", ["bounds", "plan"])
def test_bounds_and_plans_are_about_the_same(tmp_path, monkeypatch, command):
    monkeypatch.setattr(crossfit, "TREES", 20)
    table = written(tmp_path / "people.csv", people(300))
    done = in_process.choral(command, table, "--reveal", "W", "--protect", "sex", "--drop", "sex,who")
    assert done.returncode == 0, done.stderr


def test_few_columns_are_counted_as_they_stand_without_it():
    rows = [
        {"W": int((i % 3 == 0) ^ (i % 2)), "sex": "fm"[i % 2], "job": "abc"[i % 3], "town": i % 5 % 2}
        for i in range(600)
    ]
    release = fit(rows, "W", ["sex"], drop=["sex"])
    assert release.recipe.use == ("job", "town")
    assert release.recipe.points is None
    assert release.verify()["verified"]


def test_somebodys_own_score_and_points_leave_it_out_too(blind):
    own = fit(people(), "W", ["sex"], drop=["sex"], score="hours")
    assert own.recipe.use == ("score",)
    assert own.recipe.looks_at == ("hours",)
    assert own.verify()["verified"]
    given = fit(people(), "W", ["sex"], drop=["sex"], points=blind.points)
    assert given.recipe.use == ("score",)
    assert given.information == pytest.approx(blind.information, rel=0.02)


def test_a_frame_to_transform_need_not_have_it(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    frame = pd.DataFrame(people(400))
    found = PrivateCodes(protect=["sex"], drop=["sex"], id="who", random_state=0).fit(
        frame.drop(columns="W"), frame["W"]
    )
    whole, narrow = frame.drop(columns="W"), frame.drop(columns=["W", "sex"])
    assert (found.transform(whole) == found.transform(narrow)).all()
    assert "sex" not in found.release_.recipe.looks_at


def test_what_is_used_or_revealed_is_not_left_out():
    for asked, words in [
        ({"reveal": "W", "protect": ["sex"], "drop": ["W"]}, "leaves out 'W'"),
        ({"reveal": "W", "protect": ["sex"], "use": ["sex", "job"], "drop": ["sex"]}, "leaves out 'sex'"),
    ]:
        with pytest.raises(ProblemError, match=words):
            fit(people(120), **asked)


def test_it_is_what_disclose_finds_for_the_law_without_the_column_in_use(blind):
    law = blind.disclosure.law
    [state] = blind.recipe.seen
    again = ch.disclose(law, "W", ["sex"], [state], rel_tol=1e-3)
    assert again.information >= blind.information - 1e-9
    assert blind.information >= 0.98 * again.information
