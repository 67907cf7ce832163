"""The audit of a release from end to end: on tables built to have the leaks that it must find."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import in_process
import numpy as np
import pytest
from typer.testing import CliRunner

import choral as ch
from choral.auditing.audit import audit
from choral.errors import ChoralError, ColumnError, LawError, ProblemError
from choral.problem.solution import ExactChannel
from choral.release.fit import fit
from choral.show.cli import app


def people(rows, seed, shift=0.0):
    """Invented people. `badge` repeats sex nine times in ten; the outcome is mostly a parity, so pairs tell much."""
    generator = np.random.default_rng(seed)
    sex, race = generator.integers(0, 2, rows), generator.choice(3, rows, p=[0.6 - shift, 0.3 + shift, 0.1])
    school, noise = generator.integers(0, 2, rows), generator.random(rows) < 0.1
    outcome = (sex + (race == 1) + school + noise) % 2
    badge = np.where(generator.random(rows) < 0.9, sex, 1 - sex)
    columns = {"outcome": outcome, "sex": sex, "race": race, "school": school, "badge": badge}
    return {name: values.tolist() for name, values in columns.items()} | {"id": list(range(100, 100 + rows))}


def given_codes(release, table, seed=1):
    """Codes drawn here, by numpy, from the exact channel: the audit has to judge them by themselves."""
    generator = np.random.default_rng(seed)
    rows = [dict(zip(table, values, strict=True)) for values in zip(*table.values(), strict=True)]
    channel = release.disclosure.channel
    return [int(generator.choice(len(channel), p=channel[:, release.recipe.state_of(row)])) for row in rows]


@pytest.fixture(scope="module")
def table():
    return people(2000, seed=5)


@pytest.fixture(scope="module")
def release(table):
    return fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], codes=4)


@pytest.fixture(scope="module")
def codes(release, table):
    return given_codes(release, table)


@pytest.fixture(scope="module")
def found(release, table, codes):
    disclosed = {"id": table["id"], "code": codes}
    return audit(
        release,
        table,
        disclosed,
        also=[people(2000, seed=6, shift=0.2)],
        validation=people(2000, seed=7),
        seed=1,
    )


def test_what_is_protected_is_zero_under_its_own_law_and_in_the_table(found):
    assert found.private
    for law in found.laws[:2]:
        assert [leak.about for leak in law.groups] == [("sex",), ("race",)]
        assert all(leak.zero and leak.guess_before == leak.guess_after for leak in law.groups)


def test_the_leaks_beside_the_guarantee_are_found(found, table, release):
    """Every listed number again from the table itself: counts by numpy, and plain entropies."""
    channel = np.array([release.disclosure.channel[:, s] for s in _states(release, table)])
    leaks = {leak.about[0]: leak for leak in found.columns}
    assert set(leaks) == {"outcome", "school", "badge"}
    assert found.columns[0].about == ("outcome",)
    for name, leak in leaks.items():
        assert leak.bits == pytest.approx(_information([table[name]], [], channel), abs=1e-9)
    assert leaks["outcome"].bits == pytest.approx(release.disclosure.information, abs=1e-9)
    together = {x.leakage.about: x for x in found.together}
    assert together["sex", "race"].leakage.bits == pytest.approx(
        _information([table["sex"], table["race"]], [], channel), abs=1e-9
    )
    assert together["sex", "race"].excess == together["sex", "race"].leakage.bits > 0.01
    knowing = {(leak.about, leak.given): leak for leak in found.knowing}
    for known in ("race", "school", "outcome", "badge"):
        leak = knowing[("sex",), (known,)]
        assert leak.bits == pytest.approx(_information([table["sex"]], [table[known]], channel), abs=1e-9)
    assert knowing[("sex",), ("race",)].bits > 0.01
    assert found.looked["pairs"].at == found.looked["pairs"].of == 6
    assert "not audited" in " ".join(found.notes)
    assert "id" in " ".join(found.notes)


def _states(release, table):
    return [
        release.recipe.state_of(dict(zip(table, values, strict=True))) for values in zip(*table.values(), strict=True)
    ]


def _information(about, known, channel):
    def entropy(columns, with_code):
        sums = {}
        for key, law in zip(zip(*columns, strict=True) if columns else [()] * len(channel), channel, strict=True):
            sums[key] = sums.get(key, 0) + (law if with_code else np.array([1.0]))
        masses = np.concatenate(list(sums.values())) / len(channel)
        masses = masses[masses > 0]
        return -float(masses @ np.log2(masses))

    return (
        entropy([*about, *known], False)
        - entropy(known, False)
        - entropy([*about, *known], True)
        + entropy(known, True)
    )


def test_another_table_and_new_records(found):
    other = found.laws[2]
    assert not other.private
    assert max(leak.bits for leak in other.groups) > 0
    uniform, validated = found.out_of_sample
    assert validated.advantage < uniform.advantage
    assert 0 < validated.bits < uniform.bits
    assert validated.to_json()["bits"] == max(g.bits for g in validated.groups)
    assert "larger validation table" in validated.remedy
    assert all(g.estimate <= g.bound for g in validated.groups)
    assert all(leak.bits <= leak.bound for leak in found.composition)


def test_the_summary_names_each_leak_and_its_remedy(found):
    text = found.summary
    for words in ("independent of each of sex, race, exactly", "protect sex+race", "order=2", "pass every test"):
        assert words in text, words
    every = " ".join(map(str, found.findings))
    for words in (
        "--also",
        "with 95 % confidence",
        "bits about any protected group",
        "add 'sex | school' to --protect",
    ):
        assert words in every, words


def test_at_most_five_findings_are_said_and_the_gravest_is_first(found):
    assert len(found.findings) > 5
    said = [str(finding) for finding in found.findings if str(finding) in found.summary]
    assert said == [str(finding) for finding in found.findings[:5]]
    grades = [finding.rank[0] for finding in found.findings]
    assert grades == sorted(grades)
    for one, other in pairwise(found.findings):
        assert one.rank[0] < other.rank[0] or one.gain >= other.gain - 1e-6
    worst = max((leak for leak in found.knowing), key=lambda leak: leak.guess_after - leak.guess_before)
    assert any(
        finding.leak == worst and f"{100 * float(worst.guess_after):.1f}".removesuffix(".0") in finding.sentence
        for finding in found.findings
    )
    assert found.to_json()["findings"][0]["sentence"] == found.findings[0].sentence


def test_an_audit_is_shown_in_words(found):
    assert str(found) == found.summary
    assert repr(found) == "Audit(outcome, 4 codes: the promise is kept, the codes passed)"


def test_a_bound_that_excludes_nothing_is_not_given_as_one(release, tmp_path):
    """With few records any law of new ones is possible; a validation table can still bound what is told in bits."""
    few = people(40, seed=5)
    small = fit(few, "outcome", ["sex", "race"], ["sex", "race", "school"], codes=4)
    found = audit(small)
    assert {g.about for g in found.out_of_sample[0].groups if g.bound >= 1} >= {("race",)}
    assert "For new records nothing is known, with 95 % confidence (from the fitted table)" in found.summary
    assert f"rarest value ({min(map(few['race'].count, set(few['race'])))})" in found.summary
    assert "at most 1 between" not in found.summary
    page = small.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "nothing is known from the fitted table: too few of its records have the rarest private value." in page
    assert "nothing is known, with" not in audit(release).summary


def test_honest_codes_pass_and_others_do_not(release, table, codes, found):
    """The seeds are among the 99 in 100 that pass at 0.01."""
    assert all(test.adjusted >= 0.01 for test in found.output.tests if test.protected)
    assert found.output.rows == 2000
    shifted = audit(release, table, {"id": table["id"], "code": codes[1:] + codes[:1]}, seed=1)
    assert min(test.adjusted for test in shifted.output.tests if test.protected) < 0.01
    assert "FAIL" in shifted.summary
    by_sex = [sex % release.disclosure.codes for sex in table["sex"]]
    leaking = audit(release, table, {"id": table["id"], "code": by_sex}, seed=1)
    assert next(t for t in leaking.output.tests if t.about == ("sex",)).adjusted < 1e-6
    assert next(g for g in leaking.output.guesses if g.about == ("sex",)).sigmas > 10


def joined(found):
    """The tests that need the records of codes, and not their order."""
    return [replace(test, adjusted=0) for test in found.output.tests if test.order is None]


def test_codes_are_joined_by_row_number_too(release, table, codes, found):
    by_row = audit(release, table, {"row": list(range(1, 2001)), "code": codes}, seed=1)
    assert joined(by_row) == joined(found)
    backwards = {"row": list(range(2000, 0, -1)), "code": codes[::-1]}
    assert joined(audit(release, table, backwards, seed=1)) == joined(found)


def test_row_numbers_are_not_a_column_of_the_table_that_is_named_row(release, table, codes, found):
    """Joined with that column instead, each code would be held against somebody else's record."""
    shuffled = np.random.default_rng(8).permutation(len(codes)) + 1
    by_row = {"row": list(range(1, len(codes) + 1)), "code": codes}
    again = audit(release, {**table, "row": shuffled.tolist()}, by_row, seed=1)
    assert joined(again) == joined(found)


def test_codes_are_joined_by_the_text_of_identifiers(release, table, codes, found, tmp_path):
    """The table has 0100, 0101, … as text; in the file of codes they look like numbers."""
    ids = [f"0{i}" for i in table["id"]]
    lines = [f"{who},{code}\n" for who, code in zip(ids, codes, strict=True)]
    (tmp_path / "codes.csv").write_text("".join(["id,code\n", *lines]))
    again = audit(release, {**table, "id": ids}, tmp_path / "codes.csv", seed=1)
    assert again.output.tests == found.output.tests


def test_what_cannot_be_joined_is_refused(release, table, codes):
    with pytest.raises(LawError, match="1 of 2000 rows"):
        audit(release, table, {"id": [*table["id"][1:], 99], "code": codes})
    with pytest.raises(LawError, match="not different"):
        audit(release, table, {"id": [100] * 2000, "code": codes})
    with pytest.raises(LawError, match="the code 77"):
        audit(release, table, {"id": table["id"], "code": [77, *codes[1:]]})
    with pytest.raises(ColumnError, match="columns"):
        audit(release, table, {"id": table["id"], "name": table["id"], "code": codes})
    with pytest.raises(LawError, match="codes alone, and they are not those that this release draws for the table"):
        audit(release, table, {"code": codes})
    with pytest.raises(ProblemError, match="without their table"):
        audit(release, disclosed={"id": table["id"], "code": codes})
    with pytest.raises(ColumnError, match="sex"):
        audit(release, {name: values for name, values in table.items() if name != "sex"})


def test_rare_states_are_merged_and_the_audit_sees_through_it():
    """With a rare race merged into one state the law of the release has no column 'school'; the table has."""
    table = people(300, seed=8)
    table["race"] = [3 if i < 3 else r for i, r in enumerate(table["race"])]
    release = fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], min_count=5)
    assert release.recipe.state_column is not None
    alone, seen = audit(release), audit(release, table)
    assert alone.private
    assert seen.laws[1].private
    assert [leak.about for leak in alone.columns] == [("outcome",)]
    assert {leak.about[0] for leak in seen.columns} == {"outcome", "school", "badge"}
    assert [leak.bits for leak in alone.composition] == pytest.approx([leak.bits for leak in seen.composition])


def test_unseen_records_and_missing_values_are_counted():
    table = people(400, seed=9)
    table["sex"] = [None if i < 5 else s for i, s in enumerate(table["sex"])]
    release = fit(table, "outcome", ["sex", "race"], ["sex", "race"], missing="drop", unseen="code")
    more = people(400, seed=10)
    more["race"] = [7] * 30 + more["race"][30:]
    found = audit(release, table, also=[more])
    assert "5 rows lack a value" in " ".join(found.notes)
    race = found.laws[2].groups[1]
    assert race.bits > 0.2, "the code for what was not seen says that race is none of those seen"
    refusing = fit(people(400, seed=9), "outcome", ["sex", "race"], ["sex", "race"])
    assert "30 rows have no state" in " ".join(audit(refusing, also=[more]).notes)


def test_that_a_record_has_no_code_is_an_output():
    """School is missing for every second woman and for nobody else: who has no code is a woman."""
    table = people(800, seed=12)
    women = [s == 1 for s in table["sex"]]
    table["school"] = [None if w and i % 2 else v for i, (w, v) in enumerate(zip(women, table["school"], strict=True))]
    release = fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], missing="drop", codes=4)
    found = audit(release, table)
    absent = [v is None for v in table["school"]]
    expected = _information([table["sex"]], [], np.eye(2)[np.array(absent, dtype=int)])
    assert found.absence[0].bits == pytest.approx(expected)
    assert expected > 0.2
    assert found.laws[1].groups[0].bits >= expected - 1e-12, "the code, with absence as one more, tells at least that"
    assert (found.private, found.proved, found.kept, found.passed) == (True, True, False, False)
    assert "have no code" in found.summary
    assert "NOT independent of sex" in found.summary
    assert found.to_json()["absence"][0]["about"] == ["sex"]
    alone = audit(release)
    assert alone.kept
    assert "get no code" in " ".join(alone.notes)
    whole = fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], codes=4)
    assert audit(whole, table).kept


def test_a_disclosure_without_a_table():
    d = ch.disclose(ch.examples.xor())
    found = audit(d, records=400, also=[ch.examples.two_binary(0.25, 0.5, 0.125)])
    assert found.composition[0].records == 400
    assert not found.laws[1].private
    assert "order=2" in found.summary
    assert json.loads(json.dumps(found.to_json()))["private"]
    with pytest.raises(ProblemError, match="recipe"):
        audit(d, {"W": [0]})


def test_a_harmless_release_is_called_so():
    law = ch.Joint.from_counts({(w, x): 1 for w in (0, 1) for x in (0, 1)}, names=["W", "X"])
    found = audit(ch.disclose(law, "W", ["X"], ["X"]))
    assert "Nothing else that was looked at" in found.summary


def test_the_command(tmp_path, release, table, codes, monkeypatch):
    import pyarrow as pa
    from pyarrow import csv, parquet

    csv.write_csv(pa.table(table), tmp_path / "table.csv")
    parquet.write_table(pa.table({"id": table["id"], "code": codes}), tmp_path / "out.parquet")
    parquet.write_table(pa.table({"id": table["id"], "code": [0] * 2000}), tmp_path / "bad.parquet")
    release.save(tmp_path / "release.choral")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    arguments = ["audit", "release.choral", "--table", "table.csv", "--disclosed", "out.parquet"]
    done = in_process.choral(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["private"]
    assert found["laws"][0]["groups"][0]["zero"]
    shown = CliRunner().invoke(app, [*arguments, "--verbose"])
    assert shown.exit_code == 0
    for words in ("0, exactly", "Knowing another column", "exact composition", "New records", "A classifier"):
        assert words in shown.stdout
    brief = CliRunner().invoke(app, arguments).stdout.splitlines()
    assert "A classifier" not in " ".join(brief)
    assert sum(line[:4].strip().rstrip(".").isdigit() for line in brief) <= 5
    assert max(map(len, brief)) <= 80
    bad = CliRunner().invoke(app, [*arguments[:-1], "bad.parquet"])
    assert bad.exit_code == 1
    assert "FAIL" in " ".join(bad.stdout.split())
    alone = CliRunner().invoke(app, ["audit", "release.choral", "--disclosed", "out.parquet"])
    assert alone.exit_code == 1
    assert "--table" in alone.exception.remedy
    assert "Example" in CliRunner().invoke(app, ["audit", "--help"]).stdout


def test_budgets_are_not_taken_for_promises_of_independence():
    d = ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": 0.02})
    found = audit(d)
    assert not found.private
    assert found.kept
    assert 0 < found.laws[0].groups[0].bits <= 0.02
    assert "for which at most 0.02 bits are allowed" in found.summary
    assert "independent of each of X2" in found.summary


def test_a_kept_budget_is_no_finding_and_no_remedy_is_one_that_budgets_refuse(table):
    """Under the table that it was fitted on a channel leaks what is allowed; under another one more, which is said."""
    release = fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], leakage={"sex": "0.01"}, min_count=1)
    found = audit(release, table)
    assert found.kept
    assert found.laws[1].groups[0].bits > 0
    assert not [finding for finding in found.findings if finding.kind == "law"]
    elsewhere = audit(release, also=[people(1000, seed=12, shift=0.3)])
    [said] = [finding for finding in elsewhere.findings if finding.kind == "law"]
    assert "not private" in said.sentence
    assert said.remedy == "leave out the budgets and fit with --also"
    [knowing] = [finding for finding in found.findings if finding.kind == "knowing"][:1]
    assert knowing.remedy.startswith("leave out the budgets and add '")
    with pytest.raises(ChoralError, match="together with a budget"):
        fit(table, "outcome", ["sex", "race", knowing.promise], ["sex", "race", "school"], leakage={"sex": "0.01"})


def test_a_release_that_is_private_for_two_tables_is_so_in_the_audit(table):
    other = people(1000, seed=11, shift=0.2)
    release = fit(table, "outcome", ["sex", "race"], ["sex", "race", "school"], also=[other], codes=4)
    found = audit(release, also=[other, people(1000, seed=12)])
    assert [law.private for law in found.laws] == [True, True, True, False]
    assert found.kept


def test_a_channel_that_leaks_is_not_called_private():
    """A disclosure whose channel was exchanged after it was certified."""
    d = ch.disclose(ch.examples.xor())
    channel = ExactChannel(2, tuple((1, ((s[0], 1),)) for s in d.states))
    copied = replace(d, solution=replace(d.solution, channel=channel))
    found = audit(copied)
    assert not found.kept
    assert "NOT independent of X1" in found.summary
    assert found.laws[0].groups[0].bits == pytest.approx(1)
