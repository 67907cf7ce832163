"""Records that stand for many people, and rows that stand for many records."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import LawError, ProblemError
from choral.show.cli import app

RUN = CliRunner()


def _survey(n=600, seed=3):
    """Records in which young men are rare, and weigh more."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, young = draw.choice("ffm"), draw.random() < 0.3
        job = draw.choice("abc") if sex == "f" else draw.choice("aab")
        ill = draw.random() < {"a": 0.2, "b": 0.5, "c": 0.8}[job] + 0.1 * (sex == "m")
        rows.append({"ill": "ny"[ill], "sex": sex, "job": job, "w": [0.75, 2.5][sex == "m"] + young})
    return rows


def _law(rows, weight):
    """p(ill, sex, job) in fractions, added up record by record."""
    found: dict[tuple[str, str, str], Fraction] = {}
    for row in rows:
        cell = row["ill"], row["sex"], row["job"]
        found[cell] = found.get(cell, Fraction(0)) + (Fraction(row["w"]) if weight else 1)
    total = sum(found.values())
    return {cell: n / total for cell, n in found.items()}


def _leak(law, release):
    """max over codes of |p(y | f) - p(y | m)|, exactly."""
    found: dict[tuple[int, str], Fraction] = {}
    rows = release.disclosure.exact_channel.rows
    for (_, sex, job), p in law.items():
        d, entries = rows[release.recipe.state_of({"sex": sex, "job": job})]
        for y, n in entries:
            found[y, sex] = found.get((y, sex), Fraction(0)) + p * Fraction(n, d)
    share = {s: sum(p for (_, sex, _), p in law.items() if sex == s) for s in "fm"}
    return max(abs(found.get((y, "f"), 0) / share["f"] - found.get((y, "m"), 0) / share["m"]) for y, _ in found)


def test_the_law_is_that_of_the_people_that_records_stand_for():
    rows = _survey()
    release = ch.fit(rows, "ill", ["sex"], ["sex", "job"], weight="w")
    assert release.recipe.law["kind"] == "weighted"
    assert release.recipe.table_rows == len(rows)
    assert release.verify()["verified"]
    assert _leak(_law(rows, weight=True), release) == 0
    assert _leak(_law(rows, weight=False), release) > 0
    [said] = [remark for remark in release.remarks if "people that records stand for" in remark]
    assert "--also" in said
    assert "sex" in said
    assert "w" not in release.recipe.read


def test_with_the_table_beside_it_the_code_is_private_among_people_and_among_records():
    rows = _survey()
    release = ch.fit(rows, "ill", ["sex"], ["sex", "job"], weight="w", also=[rows])
    assert _leak(_law(rows, weight=True), release) == 0 == _leak(_law(rows, weight=False), release)
    assert not any("people that records stand for" in remark for remark in release.remarks)
    assert 0 < release.information <= ch.fit(rows, "ill", ["sex"], ["sex", "job"], weight="w").information


def test_weights_play_no_part_in_a_learned_score_but_in_what_is_said_of_records_to_come(tmp_path):
    rows = [row | {"age": i % 61 + 7 * (row["ill"] == "y")} for i, row in enumerate(_survey(400))]
    release = ch.fit(rows, "ill", ["sex"], weight="w")
    assert release.points is not None
    assert "w" not in {column.name for column in release.points.columns}
    assert release.meaning.held_out_records == 400
    assert release.verify()["verified"]


def test_rows_that_are_counts_give_what_the_records_give(tmp_path):
    rows = _survey()
    names = ("ill", "sex", "job")
    counted: dict[tuple[str, ...], int] = {}
    for row in rows:
        cell = tuple(row[name] for name in names)
        counted[cell] = counted.get(cell, 0) + 1
    table = tmp_path / "counted.csv"
    lines = [",".join((*cell, str(n))) for cell, n in counted.items()]
    table.write_text("\n".join(["ill,sex,job,n", *lines, "n,f,z,0"]) + "\n")
    one = ch.fit(str(table), "ill", ["sex"], counts="n")
    two = ch.fit([{name: row[name] for name in names} for row in rows], "ill", ["sex"])
    assert one.recipe.table_rows == two.recipe.table_rows == len(rows)
    assert one.disclosure.law.table.cells == two.disclosure.law.table.cells
    assert one.information == two.information
    with pytest.raises(ProblemError, match=r"stands for as many records as 'n' says"):
        one.disclose(str(table), tmp_path / "codes.csv")
    done = RUN.invoke(
        app,
        ["fit", str(table), "--reveal", "ill", "--protect", "sex", "--counts", "n", "-o", str(tmp_path / "r.choral")],
    )
    assert done.exit_code == 0, done.output
    assert f"{len(rows)} records" in done.output
    assert "not counted" not in done.output


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (["a", "b"], "holds VARCHAR"),
        ([1.0, -1.0], "less than zero"),
        ([1.0, None], "have none"),
        ([0, 0], "all of it is zero"),
    ],
)
def test_what_cannot_be_a_weight_is_refused(column, words):
    rows = {"W": [0, 1] * 10, "x": [0, 0, 1, 1] * 5, "g": [0, 1, 1, 0] * 5, "many": column * 10}
    with pytest.raises(LawError, match=words):
        ch.fit(rows, "W", ["g"], ["x", "g"], weight="many")


def test_weights_are_not_asked_about_and_stand_beside_no_other_law():
    rows = {"W": [0, 1] * 10, "x": [0, 0, 1, 1] * 5, "g": [0, 1, 1, 0] * 5, "many": [1, 2] * 10}
    with pytest.raises(ProblemError, match="`weight` leaves out 'many', which is asked for"):
        ch.fit(rows, "W", ["many"], ["x", "many"], weight="many")
    with pytest.raises(ProblemError, match="weights and the law 'dirichlet'"):
        ch.fit(rows, "W", ["g"], ["x", "g"], weight="many", law="dirichlet")
