"""Utilities of tables: fit, command line, card and decode say which action a code advises, or its mean."""

from __future__ import annotations

import json
from fractions import Fraction

import jsonschema
import pytest
from test_fit_command import run

import choral as ch
from choral.design.limits import Limits
from choral.errors import ProblemError
from choral.problem.question import Question
from choral.release.card import SCHEMA
from choral.release.second import fitted_after
from choral.tables.rules import TableRules

ROWS = [
    {
        "sex": "mf"[i % 2],
        "job": "abc"[i % 3],
        "pays": "yes" if (i * 7 + i // 3) % 10 < 3 + 2 * (i % 3) else "no",
        "owes": (i * i) % 997 + 100 * (i % 3),
    }
    for i in range(3000)
]
LOSS = {("deny", "yes"): 5, ("grant", "no"): 20}

ASKED = ["--reveal", "pays", "--protect", "sex", "--use", "sex,job", "--utility"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("loans") / "loans.csv"
    path.write_text("sex,job,pays,owes\n" + "".join(",".join(map(str, row.values())) + "\n" for row in ROWS))
    return path


def test_a_fit_for_decisions_says_what_each_code_advises():
    """Accuracy on the frequencies: value and bound are one number, and the card advises from its own figures."""
    release = ch.fit(ROWS, "pays", ["sex"], use=["sex", "job"], utility="accuracy")
    d = release.disclosure
    assert d.claims.value == d.claims.value_bound
    assert Fraction(d.value_without).limit_denominator(10**6) == Fraction(
        max(sum(row["pays"] == value for row in ROWS) for value in ("yes", "no")), len(ROWS)
    )
    card = release.card().document
    jsonschema.validate(card, json.loads(SCHEMA.read_text()))
    assert card["utility"]["actions"] == list(d.actions)
    for row, loss, action in zip(card["p_w_given_y"], card["utility"]["expected_loss"], d.actions, strict=True):
        wrong = sum(p for p, value in zip(row, card["values"], strict=True) if value != action)
        assert loss == pytest.approx(wrong, abs=1e-3)
    decoded = release.card().decode([{"code": 0}, {"code": 1}])
    assert [row["advises"] for row in decoded.to_pylist()] == list(d.actions)


def test_a_loss_from_a_file(table, tmp_path):
    """The command reads action, value, loss; the same value as the same loss in Python."""
    loss = tmp_path / "loss.csv"
    loss.write_text("action,pays,loss\n" + "".join(f"{a},{w},{cost}\n" for (a, w), cost in LOSS.items()))
    done = run(
        "fit",
        table,
        "--reveal",
        "pays",
        "--protect",
        "sex",
        "--use",
        "sex,job",
        "--utility",
        loss,
        "-o",
        tmp_path / "r.choral",
        "--json",
    )
    found = json.loads(done.stdout)
    same = ch.fit(str(table), "pays", ["sex"], use=["sex", "job"], utility=LOSS)
    assert found["utility"] == "loss"
    assert found["value"] == found["value_bound"] == same.disclosure.value
    assert found["guess_before"] <= found["guess_after"]
    assert set(found["actions"]) <= {"deny", "grant"}
    assert found["value"] >= found["value_without"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("action,pays,loss\ndeny,yes,5\ndeny,no,0\ngrant,yes,0\n", "'grant' costs at 'no'"),
        ("action,pays,loss\ndeny,yes,dear\ngrant,no,20\n", "not a finite number"),
        ("action,pays,loss\ndeny,maybe,5\n", "never is"),
        ("deny,yes,5\n", "first line"),
        ("action,pays,loss\ndeny,yes\n", "not three fields"),
        ("action,pays,loss\ndeny,yes,5\ndeny,yes,6\n", "given twice"),
    ],
)
def test_a_bad_loss_file_is_refused(table, tmp_path, text, words):
    """What is wrong, where, and nothing written."""
    (tmp_path / "loss.csv").write_text(text)
    with pytest.raises(ProblemError, match=words):
        run("fit", table, *ASKED, tmp_path / "loss.csv", "-o", tmp_path / "r.choral")
    assert not (tmp_path / "r.choral").exists()


def test_a_number_needs_no_bins():
    """Squares of a column of hundreds of values: explained variance, and a card in bins with means near the codes' own."""
    release = ch.fit(ROWS, "owes", ["sex"], use=["sex", "job"], utility="squares")
    d = release.disclosure
    assert len(d.problem.target.values) > 200
    assert 0 < d.value <= d.value_bound
    card = release.card()
    jsonschema.validate(card.document, json.loads(SCHEMA.read_text()))
    means = [sum(p * w for p, w in zip(law, d.problem.target.values, strict=True)) for law in d.p_w_given_y]
    spread = max(row["owes"] for row in ROWS) / 8
    for told, mean in zip(card.document["utility"]["mean"], means, strict=True):
        assert told is None or abs(told - float(mean)) < spread
    decoded = card.decode([{"code": y} for y in range(d.codes)])
    assert [row["mean of owes"] for row in decoded.to_pylist()] == card.document["utility"]["mean"]


def test_squares_of_missing_values_and_of_text_are_refused():
    joint = ch.Joint.from_counts({(w, x): 1 for w in (1, None) for x in (0, 1)}, ["W", "X"])
    with pytest.raises(ProblemError, match="missing"):
        ch.disclose(joint, "W", protect=["X"], utility="squares")
    with pytest.raises(ProblemError, match="numeric target"):
        ch.fit(ROWS, "pays", ["sex"], use=["sex", "job"], utility="squares")


def test_a_second_release_is_for_bits():
    first = ch.fit(ROWS, "pays", ["sex"], use=["sex", "job"])
    with pytest.raises(ProblemError, match="second release"):
        fitted_after(first, ROWS, Question("owes", ["sex"], ["sex", "job"], utility="squares"), TableRules(), Limits())


@pytest.mark.parametrize(
    ("target", "utility", "words"),
    [
        ("pays", "accuracy", "is decided right"),
        ("pays", LOSS, "cost"),
        ("owes", "squares", "of its variance is explained"),
    ],
)
def test_audit_and_report_say_it_in_the_unit_of_the_utility(tmp_path, target, utility, words):
    """How much better than without the code; and the release that is saved comes back with the same worth."""
    release = ch.fit(ROWS, target, ["sex"], use=["sex", "job"], utility=utility)
    assert any(words in note for note in release.audit(seed=1).notes)
    release.report(tmp_path / "report.html")
    assert words in (tmp_path / "report.html").read_text()
    release.save(tmp_path / "r.choral")
    again = ch.load(tmp_path / "r.choral")
    assert again.disclosure.claims == release.disclosure.claims
    assert again.disclosure.actions == release.disclosure.actions
    assert "of at most" in repr(again.disclosure)
