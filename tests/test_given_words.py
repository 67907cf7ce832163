"""Promises given what others know, in the words of the command, the card, the report, the bounds and the audit."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest
import test_conditions as conditions
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import choral

import choral as ch

SAID = "somebody who knows marital learns nothing more about sex"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """People whose marital status tells their sex, and their school and marital status the outcome."""
    pick = random.Random(4)
    lines = ["sex,marital,school,outcome"]
    for _ in range(600):
        marital, school = pick.choice("abc"), pick.choice("xyz")
        sex = "f" if pick.random() < {"a": 0.2, "b": 0.5, "c": 0.8}[marital] else "m"
        ill = pick.random() < 0.2 + 0.3 * (school == "x") + 0.2 * (marital == "a")
        lines.append(f"{sex},{marital},{school},{'ill' if ill else 'well'}")
    path = tmp_path_factory.mktemp("given") / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def alone(table):
    """`sex | marital` and nothing else."""
    return ch.fit(table, "outcome", ["sex | marital"], ["sex", "marital", "school"])


def test_the_command_says_what_is_promised_and_what_is_left_open(table, tmp_path):
    asked = ["fit", table, "--reveal", "outcome", "--use", "sex,marital,school", "-o", tmp_path / "r.choral", "--force"]
    said = choral(*asked, "--protect", "sex | marital").stdout
    assert SAID in said
    assert "left open    what marital tells about sex" in said
    assert "--protect 'sex, sex | marital' closes it" in said
    both = choral(*asked, "--protect", "sex, sex | marital").stdout
    assert SAID in both
    assert "left open" not in both


def test_the_command_says_whether_one_code_serves_every_decision(table, tmp_path):
    asked = ["fit", table, "--reveal", "outcome", "--use", "sex,marital,school", "-o", tmp_path / "s.choral", "--force"]
    assert "serves " not in choral(*asked, "--protect", "sex").stdout
    asked.append("--verbose")
    assert "serves       whatever is decided by the code" in choral(*asked, "--protect", "sex").stdout
    few = choral(*asked, "--protect", "sex", "--codes", "2").stdout
    assert "serves       the 2 codes were chosen to tell the most bits" in few
    assert "serves " not in choral(*asked, "--protect", "sex,marital").stdout


def test_the_card_and_the_report_say_it_too(alone, tmp_path):
    guarantee = " ".join(alone.card().document["guarantee"])
    assert SAID in guarantee.replace("Somebody", "somebody")
    assert "what marital tells about sex is not hidden by this" in guarantee
    page = alone.report(tmp_path / "r.html").read_text()
    assert SAID in page.replace("Somebody", "somebody")
    assert "What marital tells about sex is not hidden by that" in page
    assert "sex, to somebody who knows marital" in page


def test_what_is_left_open_is_what_the_code_tells_by_itself(alone):
    """By hand, from the cells and the channel: the best guess at sex with the code."""
    law, d = alone.disclosure.law, alone.disclosure
    joint = conditions.joint_with_code(law, d, ["sex"], [])
    best = sum(max(joint[(z,), (), y] for z in "fm") for y in range(d.codes)) / sum(law.cells.values())
    from choral.release.given import left_open

    [(promise, leak)] = left_open(d)
    assert promise.hidden == ("sex",)
    assert leak.guess_after == best
    assert leak.guess_before < best


def test_an_audit_of_a_promise_with_a_condition_alone(alone, table):
    """It measures the promise under every law, names who else learns something, and fails where the promise is broken."""
    found = alone.audit(table)
    assert [leak.name for leak in found.laws[0].given] == ["I(sex; Y | marital)"]
    assert found.private
    assert "Who knows marital learns nothing more about sex from it, exactly." in found.summary
    assert all(leak.given != ("marital",) for leak in found.knowing)
    assert any(leak.about == ("sex",) and leak.given == ("school",) for leak in found.knowing)
    assert json.loads(json.dumps(found.to_json()))["laws"][0]["given"][0]["zero"]
    other = ch.fit(table, "outcome", ["sex"], ["sex", "marital", "school"]).disclosure
    posed = dataclasses.replace(other, problem=alone.disclosure.problem)
    broken = ch.audit(posed)
    assert not broken.proved
    assert "NOT independent of sex for somebody who knows marital" in broken.summary


def test_odds_for_one_value_are_audited_among_those_with_it(table):
    found = ch.fit(table, "outcome", ['sex | "outcome=ill"'], ["sex", "marital", "school"]).audit()
    [leak] = found.laws[0].given
    assert leak.given == ("outcome=ill",)
    assert leak.zero


@settings(max_examples=10)
@given(conditions.laws(), st.sampled_from(conditions.KINDS))
def test_no_code_exceeds_the_bounds(law, kind):
    protect, use = kind
    bounds = ch.bounds(law, "W", protect, use)
    found = ch.disclose(law, "W", protect, use, tol=1e-7)
    assert found.information <= bounds.upper_bound + 1e-12


def test_the_bound_of_a_condition_by_hand():
    """Within each v, Z is W: nothing is left but what V tells, I(W;S) - I(W;Z|V) = I(W;V)."""
    law = ch.Joint.from_counts({(z, z, v): 1 + 2 * (z == v) for z in range(2) for v in range(2)}, names=["W", "Z", "V"])
    bounds = ch.bounds(law, "W", ["Z | V"], ["Z", "V"])
    assert bounds.upper_bound_from == "Z | V"
    assert bounds.upper_bound == pytest.approx(law.mutual_information("W", "V"), abs=1e-12)
