"""What the studio asks of the library and says before solving: its words run, its estimates hold, its rounds are fair."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
from collections import Counter
from contextlib import closing
from itertools import product
from threading import Event, Thread

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("duckdb")

import choral as ch
from choral.auditing.side_knowledge import Fear, fears, law_beside, with_promise
from choral.errors import ProblemError
from choral.release.file import load_release
from choral.release.fit import pose_table, release_of
from choral.release.leakage import Published
from choral.show.studio import rounds
from choral.show.studio.copying import as_command, as_python
from choral.show.studio.estimate import Turns, estimate
from choral.show.studio.question import Choices, outlook, read_loss
from choral.tables.opening import open_table

ROLES = {"ill": "reveal", "sex": "protect", "job": "use"}
PYTHON = sys.executable


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Who is ill depends on sex and on the job; the job depends on sex."""
    path = tmp_path_factory.mktemp("asked") / "people.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["ill", "sex", "job", "age", "town"])
        for n, (sex, job, age, town) in enumerate(product("fm", "abc", range(20, 60, 4), "xy")):
            for k in range(3 if (sex == "f") == (job == "a") else 2):
                out.writerow([int((n * 7 + k * 3) % 10 < {"a": 2, "b": 5, "c": 8}[job]), sex, job, age, town])
    return path


def asked(path, choices):
    """What the studio solves for these choices."""
    with closing((source := open_table(path)).connection):
        posed = pose_table(source, choices.question(), choices.rules(source.columns))
        return release_of(posed, choices.question(posed), choices.limits(lambda *_: None)), list(source.columns)


QUESTIONS = {
    "plain": {"roles": ROLES},
    "many": {
        "roles": {**ROLES, "age": "protect"},
        "bins": {"age": "30,50"},
        "together": [["sex", "job"]],
        "missing": "drop",
        "min_count": 3,
        "rel_tol": 0.01,
        "codes": 3,
    },
    "against": {"roles": ROLES, "against": [["job"], ["job", "town"]]},
    "pairs": {"roles": {**ROLES, "town": "protect", "job": "protect"}, "order": 2},
    "budget": {"roles": ROLES, "leakage": "0.01"},
    "accuracy": {"roles": ROLES, "utility": "accuracy"},
    "loss": {"roles": ROLES, "utility": "loss", "loss": "treat,0,1\ntreat,1,0\nwait,0,0\nwait,1,20"},
    "score": {"roles": {**ROLES, "town": "use"}, "looks": "score"},
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_copied_text_runs_and_asks_the_same_question(table, tmp_path, monkeypatch, name):
    choices = Choices.model_validate(QUESTIONS[name])
    release, columns = asked(table, choices)
    groups = [group.name for group in release.disclosure.problem.groups]
    (tmp_path / "people.csv").write_bytes(table.read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(as_python(choices, "people.csv", groups, columns), {})  # the text is what is tested
    found = [load_release("release.choral")]
    if name in ("many", "loss"):  # a process for each would take long: all that a shell must read right
        command = as_command(choices, "people.csv", groups, columns)
        program = f"{PYTHON} -P -c 'from choral.show.cli import main; main()'"
        subprocess.run(["sh", "-ec", command.replace("choral fit", f"{program} fit") + " --force --json"], check=True)
        found.append(load_release("release.choral"))
    for other in found:
        assert other.recipe == release.recipe
        assert other.disclosure.problem.utility == release.disclosure.problem.utility
        assert other.disclosure.problem.budgets == release.disclosure.problem.budgets
        assert (other.information, other.upper_bound) == (release.information, release.upper_bound)


def test_a_command_says_all_that_python_says(table):
    """Options of the command and arguments of the call, side by side, for every question."""
    for asked_for in QUESTIONS.values():
        choices = Choices.model_validate(asked_for)
        command = as_command(choices, "people.csv", ["sex"], ["ill", "sex", "job", "age", "town"])
        call = as_python(choices, "people.csv", ["sex"], ["ill", "sex", "job", "age", "town"])
        options = {word.removeprefix("--").replace("-", "_") for word in command.split() if word.startswith("--")}
        arguments = {
            line.split("=")[0].strip() for line in call.splitlines() if line.startswith("    ") and "=" in line
        }
        assert options == arguments


def test_costs_are_read_line_by_line():
    for text, words in (("a,b", "three parts"), ("a,b,1\na,b,2", "twice"), (" \n", "No costs")):
        with pytest.raises(ProblemError, match=words):
            read_loss(text)
    assert read_loss('"a, b", 1, 2\n\n') == {("a, b", "1"): "2"}


def test_an_estimate_holds_what_solving_finds_and_says_what_each_promise_costs(table, monkeypatch):
    monkeypatch.setattr("choral.show.studio.estimate.SECONDS", 60.0)  # however busy the machine is
    choices = Choices(roles=ROLES, against=[["job"], ["town"]])
    with closing((source := open_table(table)).connection):
        quick = estimate(choices, source)
    exact = ch.fit(table, "ill", ["sex"], ["sex", "job"], against=["job", "town"])
    assert quick["information"] - 1e-9 <= exact.upper_bound
    assert exact.information <= quick["upper_bound"] + 1e-9
    assert quick["said"] == exact.meaning.first_line()
    assert [(one["name"], one["role"], one["same"]) for one in quick["guesses"]] == [
        ("ill", "target", False),
        ("sex", "protected", True),
    ]
    for cost, rest in zip(quick["costs"], ("town", "job"), strict=True):
        without = ch.fit(table, "ill", ["sex"], ["sex", "job"], against=[rest])
        assert cost["bits"] == pytest.approx(without.information - exact.information, abs=0.02 * without.information)
    assert max(cost["bits"] for cost in quick["costs"]) > 0


def test_what_a_promise_costs_is_said_of_a_score_too(table, monkeypatch):
    """By the same score and its bins, without the promise."""
    monkeypatch.setattr("choral.show.studio.estimate.SECONDS", 60.0)
    choices = Choices(roles={**ROLES, "age": "use", "town": "use"}, looks="score", against=[["job"]])
    with closing((source := open_table(table)).connection):
        quick = estimate(choices, source)
    assert quick["learned"]
    exact = ch.fit(table, "ill", ["sex"], against=["job"])
    alone = ch.disclose(exact.disclosure.law, "ill", ["sex"], use=list(exact.disclosure.problem.columns))
    [cost] = quick["costs"]
    assert cost["known"] == ["job"]
    assert cost["bits"] > 0.01
    assert cost["bits"] == pytest.approx(alone.information - exact.information, abs=0.03 * alone.information)
    assert cost["right"] == pytest.approx(alone.guess_after - exact.disclosure.guess_after, abs=0.02)


def test_a_score_for_an_estimate_is_learned_from_few_records_and_counted_on_all(table, monkeypatch):
    choices = Choices(roles={**ROLES, "age": "use", "town": "use"}, looks="score")
    monkeypatch.setattr("choral.show.studio.estimate.LESSON", 150)
    with closing((source := open_table(table)).connection):
        rows = source.rows()
        quick = estimate(choices, source)
        assert quick["learned"]["of"] == rows
        assert 100 <= quick["learned"]["records"] <= 200 < rows
        counted = Counter(value for (value,) in source.connection.execute(f"SELECT ill FROM {source.sql}").fetchall())
        assert quick["guess_before"] == pytest.approx(max(counted.values()) / rows)
        monkeypatch.setattr("choral.show.studio.estimate.LESSON", 50)  # from which nothing can be learned
        assert estimate(choices, source)["learned"] == {"records": rows, "of": rows}


def test_an_estimate_that_nobody_waits_for_is_not_begun():
    turns, entered, leave, said = Turns(), Event(), Event(), []

    def slow():
        entered.set()
        leave.wait(60)
        return "first"

    first = turns.take()
    runner = Thread(target=lambda: said.append(turns.run(first, slow)))
    runner.start()
    assert entered.wait(60)
    second, third = turns.take(), turns.take()
    leave.set()
    assert turns.run(second, lambda: "second") is None
    assert turns.run(third, lambda: "third") == "third"
    runner.join()
    assert said == ["first"]


def test_of_a_score_the_outlook_says_what_is_known_before_it_is_learned(table):
    choices = Choices(roles={**ROLES, "age": "use"}, looks="score")
    with closing((source := open_table(table)).connection):
        said = outlook(choices, source)
    assert said["learned"]
    assert (said["states"], said["upper_bound"], said["rank"], said["feasible"]) == (None,) * 4
    with table.open() as file:
        ill = [row["ill"] for row in csv.DictReader(file)]
    assert said["guess_before"] == max(ill.count("0"), ill.count("1")) / len(ill)


def test_rare_combinations_are_warned_of_with_a_remedy(table):
    choices = Choices(roles={**ROLES, "age": "use", "town": "use"}, min_count=3)
    with closing((source := open_table(table)).connection):
        said = outlook(choices, source)
    with table.open() as file:
        rows = [(r["sex"], r["job"], r["age"], r["town"]) for r in csv.DictReader(file)]
    rare = {row for row in rows if rows.count(row) < 3}
    [warning] = [one for one in said["advice"] if "less than 3 times" in one["what"]]
    assert said["merged"] >= len(rare) > 0
    assert f"{said['merged']} combinations" in warning["what"]
    assert "learned score" in warning["remedy"]


# ---- rounds ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def released(table):
    release, _ = asked(table, Choices(roles=ROLES))
    return release


def test_rounds_are_right_as_often_as_the_law_says(table, released, monkeypatch):
    """Real plays of 20,000 rounds against exact probabilities: a false alarm has probability below 1e-9 (Hoeffding)."""
    many = 20_000
    monkeypatch.setattr(rounds, "ROUNDS", many)
    with closing((source := open_table(table)).connection):
        fear = Fear(law_fear(released, source))
        other = with_promise(released, source, fear, 30.0)
        law = law_beside(released, source, fear.leak.given)
        monkeypatch.setattr(rounds.draw, "__defaults__", (many,))
        found = rounds.strips(released, source, fear, other)
    allowed = math.sqrt(math.log(2 * 2 * len(found) / 1e-9) / (2 * many))
    assert [(one.about, one.knows, one.promise) for one in found] == [
        ("ill", None, None),
        ("sex", None, None),
        ("sex", "job", None),
        ("ill", None, "sex | job"),
        ("sex", "job", "sex | job"),
    ]
    for one in found:
        assert len(one.before) == len(one.after) == many
        assert abs(sum(one.before) / many - one.best_before) <= allowed
        assert abs(sum(one.after) / many - one.best_after) <= allowed
    states = tuple(law.alphabets[-1][cell[-1]] for cell in law.cells)
    own = Published(law, states, released.disclosure.exact_channel)
    for one, about, given in zip(found[:3], ("ill", "sex", "sex"), ((), (), ("job",)), strict=True):
        leak = own.leakage([about], given)
        assert (one.best_before, one.best_after) == (float(leak.guess_before), float(leak.guess_after))
    told, hidden, feared, still, stopped = found
    assert told.best_after == float(released.meaning.told.guess_after)
    assert hidden.before == hidden.after, "nobody beats it, in any round"
    assert stopped.before == stopped.after, "nor with side knowledge, where that is promised"
    assert feared.best_after > feared.best_before
    assert sum(feared.after) > sum(feared.before)
    assert (told.gains, hidden.gains, feared.gains, stopped.gains) == (True, False, True, False)
    assert still.best_after <= told.best_after


def law_fear(release, source):
    """What somebody who knows the job learns about sex."""
    [found] = [one.leak for one in fears(release, source) if (one.leak.about, one.leak.given) == (("sex",), ("job",))]
    return found


def test_findings_are_ranked_by_right_guesses_and_priced(table, released):
    with closing((source := open_table(table)).connection):
        found = rounds.findings(released, source)
        known = {(*one.leak.about, "|", *one.leak.given): one.leak for one in fears(released, source)}
    gains = [one["guess_after"] - one["guess_before"] for one in found["fears"]]
    assert gains == sorted(gains, reverse=True)
    for one in found["fears"]:
        leak = known[(*one["about"], "|", *one["given"])]
        assert (one["bits"], one["guess_after"]) == (leak.bits, float(leak.guess_after))
    first = found["fears"][0]
    assert first["still_told"] <= released.upper_bound
    promised = ch.fit(table, "ill", ["sex", first["promise"]], ["sex", "job"])
    assert first["still_told"] == pytest.approx(promised.information, rel=0.02)
    assert json.loads(json.dumps(found)) == found
