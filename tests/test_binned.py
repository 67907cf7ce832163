"""What is said about protected columns that are binned: only the bin is private, and the raw value may be told."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from choral.auditing.audit import audit
from choral.release.card import card_of
from choral.release.file import Release
from choral.release.fit import fit
from choral.show.cli import app
from choral.show.report import render

SEX = {30: "f", 35: "m", 60: "f", 65: "m"}


def people(ages=(30, 35, 60, 65), copies=5):
    """W is a parity of the bin of age and of sex, and age determines sex: so age determines W."""
    return [{"W": (age >= 50) ^ (SEX[age] == "m"), "age": age, "sex": SEX[age]} for age in ages for _ in range(copies)]


@pytest.fixture(scope="module")
def release() -> Release:
    return fit(people(), "W", ["age", "sex"], bins={"age": [50]})


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("W,age,sex\n" + "".join(f"{str(r['W']).lower()},{r['age']},{r['sex']}\n" for r in people()))
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


def test_the_raw_value_is_told_while_its_bin_is_private(release):
    found = audit(release, people())
    assert found.private
    assert found.passed
    [leak] = found.inside
    assert (leak.about, leak.zero, leak.guess_after) == (("age",), False, 1 / 2)
    assert leak.bits == pytest.approx(1)  # Y = W, and W is a fair bit that age determines
    assert "1 bit about the exact age, inside the bins" in found.summary
    assert found.to_json()["inside_bins"][0]["bits"] == leak.bits


def test_nothing_is_told_inside_bins_where_sex_is_independent_of_age():
    rows = [{"W": (age >= 50) ^ (sex == "m"), "age": age, "sex": sex} for age in SEX for sex in "fm" for _ in range(5)]
    found = audit(fit(rows, "W", ["age", "sex"], bins={"age": [50]}), rows)
    assert [leak.zero for leak in found.inside] == [True]
    assert "about the exact age" not in found.summary


def test_a_group_is_looked_at_with_its_raw_values():
    """The code is a ^ b ^ (dose ≥ 1); a+dose is private in bins, and dose determines b in the table."""
    doses = {0.2: 0, 0.4: 1, 1.2: 0, 1.4: 1}
    rows = [
        {"W": a ^ b ^ (dose >= 1), "a": a, "b": b, "dose": dose}
        for a in (0, 1)
        for dose, b in doses.items()
        for _ in range(5)
    ]
    release = fit(rows, "W", [("a", "dose")], ["a", "b", "dose"], bins={"dose": [1]})
    alone, together = audit(release, rows).inside
    assert (alone.about, alone.zero) == (("dose",), True)
    assert (together.about, together.zero) == (("a", "dose"), False)
    assert together.bits == pytest.approx(1)


def test_too_many_values_are_said_and_not_computed(release, monkeypatch):
    monkeypatch.setattr("choral.auditing.tabulate.MOST_RAW", 3)
    found = audit(release, people())
    assert found.inside == ()
    assert any("age has too many different values" in note for note in found.notes)


def test_without_a_table_the_audit_says_that_it_did_not_look_inside(release):
    found = audit(release)
    assert found.inside == ()
    assert any("Inside the bins of age" in note and "--table" in note for note in found.notes)
    assert "what is private is the bin, not the exact value" in found.summary


def test_the_exit_status_is_about_what_is_promised(release, csv, tmp_path):
    release.save(tmp_path / "r.choral")
    shown = run("audit", tmp_path / "r.choral", "--table", csv)
    assert shown.exit_code == 0
    assert "inside the bins" in " ".join(shown.output.split())
    words = " ".join(shown.output.split())
    assert "independent of each of age (in 2 bins), sex, exactly" in words
    assert "what is private is the bin, not the exact value" in words


def test_fit_says_that_the_bin_is_private(csv, tmp_path):
    shown = run("fit", csv, "--reveal", "W", "--protect", "age,sex", "--bins", "age=50,", "-o", tmp_path / "r.choral")
    assert shown.exit_code == 0
    assert "private      age (in 2 bins), sex, exactly; nothing else is\n" in shown.output
    assert "in bins      Of age, what is private is the bin, not the exact value;" in shown.output
    shown = run("bounds", csv, "--reveal", "W", "--protect", "age,sex", "--bins", "age=50,")
    assert "private      age (in 2 bins), sex\n" in shown.output


def test_verify_says_it_too(release, tmp_path):
    release.save(tmp_path / "r.choral")
    said = run("verify", tmp_path / "r.choral").output
    assert "age is independent of the code, exactly" in said
    assert "in bins      Of age, what is private is the bin, not the exact value" in said
    plain = fit(people(), "W", ["age", "sex"])
    plain.save(tmp_path / "plain.choral")
    assert "in bins" not in run("verify", tmp_path / "plain.choral").output


def test_the_card_the_page_and_the_notebook_say_it(release):
    guarantee = card_of(release).document["guarantee"]
    assert any("exactly independent of age (in 2 bins):" in words for words in guarantee)
    assert any(words.startswith("Of age, what is private is the bin") for words in guarantee)
    page = render(release, findings=audit(release, people()))
    assert "age (in 2 bins)" in page
    assert "Values inside a bin" in page
    assert "age (in 2 bins), sex" in release._repr_html_()


def test_nothing_of_it_is_said_where_nothing_protected_is_binned():
    rows = [{**row, "region": i % 3} for i, row in enumerate(people(copies=9))]
    release = fit(rows, "W", ["sex"], ["sex", "age"], bins={"age": [50]})
    assert not any("bin" in words for words in card_of(release).document["guarantee"])
    found = audit(release, rows)
    assert found.inside == ()
    assert "is the bin" not in found.summary
    assert "inside a bin" not in found.summary


def test_an_audit_without_the_table_names_the_columns_that_merging_took_from_the_law():
    rows = [{"W": i % 2 ^ (i // 2 % 2), "sex": i % 2, "region": i // 2 % 2 if i < 80 else 2} for i in range(81)]
    release = fit(rows, "W", ["sex"], ["sex", "region"], min_count=5)
    assert release.recipe.state_column is not None
    assert [note for note in audit(release).notes if note.startswith("Not shown: region.") and "--table" in note]
    shown = audit(release, rows)
    assert ("region",) in [leak.about for leak in shown.columns]
    assert not any("Not shown" in note for note in shown.notes)
