"""A target that is a number of many values: told by its size unless something else is asked for, and what that tells."""

from __future__ import annotations

import json
import random
import re
import statistics

import numpy as np
import pytest
from in_process import choral

from choral.describe.joint import Joint
from choral.errors import ProblemError, ReleaseFileError
from choral.problem.form import constraints
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.release import score
from choral.release.fit import fit
from choral.release.usefulness import forgotten
from choral.scores import crossfit
from choral.show.commands.fit_words import first_lines
from choral.show.studio.copying import as_command, as_python
from choral.show.studio.question import Choices
from choral.solvers.coarse import with_coarse_target
from choral.solvers.lines.program import equality_error
from choral.solvers.lines.refinement import Aim
from choral.solvers.lines.sandwich import by_lines, conditional_entropy
from choral.solvers.lines.tangents import sharpened
from choral.tables.points import Points, read_points


def houses(n=600, seed=3):
    """A price that rooms, age and district say much about; the district is protected."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        rooms, age, district = draw.randint(1, 8), draw.randint(0, 90), draw.choice("nesw")
        price = 50 * rooms - age + 60 * (district == "n") + draw.gauss(0, 30)
        rows.append(
            {"price": round(price), "rooms": rooms, "age": age, "district": district, "rare": draw.randrange(40)}
        )
    return rows


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 40)
    monkeypatch.setattr(crossfit, "MOST_TREES", 40)


@pytest.fixture(scope="module")
def release():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "TREES", 40)
        patch.setattr(crossfit, "MOST_TREES", 40)
        return fit(houses(), "price", ["district"])


def test_it_is_told_by_its_size_and_that_is_said(release):
    assert release.meaning.to_json()["utility"] == "squares"
    assert release.verify()["verified"]
    line = release.meaning.first_line()
    assert line.startswith("price is estimated to within ")
    assert "of records to come" in line
    assert any("made to tell how large it is: --utility bits makes it tell which of them" in r for r in release.remarks)


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({"utility": "bits"}, "bits"),
        ({"bins": {"price": "q4"}}, "bits"),
        ({"use": ["rooms", "district"], "bins": {"price": "q4"}}, "bits"),
        ({"leakage": {"district": 0.01}, "bins": {"price": "q4"}}, "bits"),
        ({"utility": "squares"}, "squares"),
    ],
)
def test_what_is_asked_for_is_done(asked, kind):
    found = fit(houses(300), "price", ["district"], time_limit=20, **asked)
    assert found.meaning.to_json()["utility"] == kind
    assert not any("made to tell how large it is" in remark for remark in found.remarks)


def test_few_values_are_told_as_they_are():
    rows = [{**row, "price": row["price"] // 60} for row in houses()]
    assert len({row["price"] for row in rows}) <= 20
    assert fit(rows, "price", ["district"], time_limit=20).meaning.to_json()["utility"] == "bits"


def test_what_is_said_of_records_to_come_is_what_others_show(release):
    """Of 4000 records that nobody fitted on: each is in a state, which says how likely each code is, which says a mean."""
    rows, weights = houses(), {}
    channel = release.disclosure.exact_channel

    def shares(row):
        whole, entries = channel.rows[release.recipe.state_of(row)]
        return [(y, n / whole) for y, n in entries]

    for row in rows:
        for y, share in shares(row):
            mass, total = weights.get(y, (0.0, 0.0))
            weights[y] = mass + share, total + share * row["price"]
    means = {y: total / mass for y, (mass, total) in weights.items()}
    others = houses(4000, seed=4)
    left = sum(share * (row["price"] - means[y]) ** 2 for row in others for y, share in shares(row)) / len(others)
    before, after = release.meaning.sized
    assert before == pytest.approx(statistics.pstdev(row["price"] for row in rows), rel=1e-3)
    assert after == pytest.approx(left**0.5, rel=0.06)
    assert after < 0.95 * before, "so the assertion above is about something"


def test_points_multiply_a_price_that_columns_multiply():
    """And nothing is learned of a logarithm where a number may be negative; what is said of a point is said of that."""
    draw = random.Random(8)
    rows = []
    for _ in range(500):
        rooms, age, district = draw.randint(1, 8), draw.randint(0, 5), draw.choice("nesw")
        price = round(20 * 1.5**rooms * 0.8**age * (1.5 if district == "n" else 1) * draw.uniform(0.8, 1.2))
        rows.append({"price": price, "rooms": rooms, "age": age, "district": district, "rare": draw.randrange(40)})
    found = fit(rows, "price", ["district"])
    assert "points multiply the mean of price by 2.7" in str(found.points).splitlines()[0]
    assert found.verify()["verified"]
    below = fit([{**row, "price": row["price"] - 1000} for row in rows], "price", ["district"])
    assert "a point is" in str(below.points).splitlines()[0]


def test_a_number_that_nearly_all_records_have_is_called_that():
    rows = [{**row, "price": 1 + abs(row["price"]) if i < 8 else 0} for i, row in enumerate(houses(500))]
    with pytest.raises(ProblemError, match="Nearly all records of the table have one value of the target 'price'"):
        fit(rows, "price", ["district"], utility="squares")


def test_points_from_a_file_say_nothing_of_records_to_come(release, tmp_path):
    """Somebody may have changed them: the figures were of those that were learned."""
    path = tmp_path / "points.json"
    path.write_text(json.dumps(release.points.to_document()), encoding="utf-8")
    mine = fit(houses(), "price", ["district"], points=read_points(path))
    assert mine.meaning.said_of_records_to_come() == []
    assert mine.meaning.sized is None
    assert "to come" not in mine.meaning.first_line()
    assert "a point is" in str(mine.points).splitlines()[0]


SHAPES = (7, "7", -1, None, [], {}, [[1]], {"a": 1}, float("inf"))


def test_what_is_said_about_points_is_of_the_right_shape_or_refused(release):
    document = release.points.to_document()
    text = json.dumps(document)
    refused = 0
    for name, value in document["about"].items():
        inside = [(name, key) for key in value] if isinstance(value, dict) else []
        for place in [(name,), *inside]:
            for shape in SHAPES:
                changed = json.loads(text)
                part = changed["about"] if len(place) == 1 else changed["about"][name]
                part[place[-1]] = shape
                try:
                    points = Points.from_document(changed)
                except ReleaseFileError:
                    refused += 1
                    continue
                str(points)
    assert refused > 100


def test_forged_figures_do_not_end_a_command(release, tmp_path):
    document = release.points.to_document()
    document["about"]["held out"] = {"columns": ["nobody"], "counts": [[1, 5]], "records": 5}
    found = fit(houses(), "price", ["district"], points=Points.from_document(document))
    assert found.meaning.held_out is None


def test_the_commands_of_a_curator(tmp_path):
    rows = houses()
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ("--reveal", "price", "--protect", "district")
    done = choral("fit", tmp_path / "t.csv", *words, "-o", tmp_path / "r.choral")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("result       price is estimated to within ")
    assert "to come      codes of records that the points did not see estimate price to within" in done.stdout
    bounds = choral("bounds", tmp_path / "t.csv", *words)
    assert bounds.returncode == 0, bounds.stderr
    plan = choral("plan", tmp_path / "t.csv", *words)
    assert "square" in plan.stdout, plan.stdout
    audit = choral("audit", tmp_path / "r.choral", "--table", tmp_path / "t.csv")
    assert audit.returncode == 0, audit.stderr


def test_very_many_values_are_told_by_intervals(monkeypatch):
    monkeypatch.setattr(score, "TOO_MANY", 100)
    found = fit(houses(), "price", ["district"])
    assert found.meaning.to_json()["utility"] == "bits"
    assert len(found.recipe.column("price").values) == score.INTERVALS
    [said] = [remark for remark in found.remarks if "very many values" in remark]
    assert "what is told is the interval that it lies in, cut at" in said
    assert found.verify()["verified"]
    assert found.points.about["about"] == "are one interval of price"
    assert found.meaning.told.guess_after > 2 * found.meaning.told.guess_before > 0.2
    asked = fit(houses(), "price", ["district"], utility="squares")
    assert asked.meaning.to_json()["utility"] == "squares", "whoever asks for it gets it"


def test_numbers_that_differ_in_every_record_are_no_copies_of_each_other():
    """Each value of one has one of the other, by accident; a copy puts the records in one order."""
    draw = random.Random(8)
    rows = [{"y": draw.gauss(0, 1), "z": "ab"[i % 2]} for i in range(300)]
    rows = [{**row, "x": row["y"] + draw.gauss(0, 1), "noise": draw.random()} for row in rows]
    found = fit(rows, "y", ["z"])
    assert "x" in found.recipe.looks_at
    for name, copied in (("grows", lambda y: y**3), ("falls", lambda y: -2 * y)):
        with pytest.raises(ProblemError, match=f"'{name}' is a copy of 'y'"):
            fit([{**row, name: copied(row["y"])} for row in rows], "y", ["z"])


@pytest.mark.parametrize("seed", range(6))
def test_a_channel_made_for_the_values_themselves_tells_no_less_and_is_as_private(seed):
    draw = np.random.default_rng(seed)
    cells = {
        (w, a, b): int(draw.integers(1, 40))
        for w in range(9) for a in range(3) for b in range(5) if draw.random() < 0.8
    }  # fmt: skip
    law = Joint.from_counts(cells, ["W", "a", "b"])
    problem = problem_of(law, Question("W", ["a", "b"] if seed % 2 else ["a"]))
    rough = by_lines(with_coarse_target(problem, 3), Aim(rel_tol=1e-2)).channel
    found = sharpened(problem, rough, lambda: False)
    p, Q = problem.prior / problem.prior.sum(), problem.posterior().T

    def told(channel):
        return problem.entropy_of_target - conditional_entropy((channel * p).T, Q)

    assert told(found) >= told(rough) - 1e-9
    assert told(found) > 0
    assert equality_error((found * p).T, p, constraints(problem)[1]) < 1e-9
    assert np.allclose(found.sum(axis=0), 1)
    stopped = sharpened(problem, rough, lambda: True)
    assert told(stopped) == pytest.approx(told(rough), abs=1e-6)


def test_what_the_studio_asks_is_copied_with_its_purpose():
    """The page asks for bits unless somebody chose otherwise; the command alone would choose for itself."""
    choices = Choices(roles={"price": "reveal", "district": "protect"}, looks="score")
    assert choices.use is None
    assert "--utility bits" in as_command(choices, "t.csv", ["district"], ["price", "district", "rooms"])
    assert "utility='bits'" in as_python(choices, "t.csv", ["district"], ["price", "district", "rooms"])


def test_a_size_that_is_told_of_these_records_alone_is_warned_of(release):
    """A price that no column says anything about: what is told about the table is chance, and the first line says so."""
    draw = random.Random(6)
    rows = [{**row, "price": draw.randrange(500), "district": draw.randrange(12)} for row in houses(400)]
    [line] = [line for line in first_lines(fit(rows, "price", ["district"])) if line.startswith("WARNING")]
    assert re.match(
        r"WARNING +of records to come this explains 0 % of the variance of price, where it explains \d", line
    )
    assert "what was learned holds for these records alone. Protect less" in line
    assert forgotten(release) == ""


def test_where_little_of_a_size_is_told_its_variance_is_named_and_why():
    """The district says nearly all of the price, and a private code can say none of that."""
    draw = random.Random(9)
    rows = [{"price": 40 * d + draw.randrange(3), "district": d, "job": d % 7} for d in range(12) for _ in range(40)]
    [line] = [line for line in first_lines(fit(rows, "price", ["district"])) if line.startswith("WARNING")]
    assert "of the variance of price, where the columns explain > 99.9 %, because what is protected goes with" in line
