"""A learned score: points in whole numbers, the same on every engine, and a law that is counted with them."""

import itertools
import json
import math
import random
import time
from dataclasses import replace
from fractions import Fraction

import in_process
import numpy as np
import pytest

import choral as ch
from choral.describe.display import percent
from choral.errors import ColumnError, LawError, ProblemError, ReleaseFileError
from choral.phases import until
from choral.release.chance import told_by_chance, told_of_size
from choral.release.file import load_release
from choral.release.fit import fit
from choral.release.meaning import Meaning
from choral.scores import crossfit, cut, learn, pieces, teacher
from choral.show.commands.fit_words import first_lines, merging_words
from choral.tables.columns import Column, labels
from choral.tables.opening import open_table
from choral.tables.points import Points, Term, cells_of_cuts
from choral.tables.states import merge_bins


def people(n=900, seed=1):
    """A table as somebody might have it: identifiers, gaps, rare values, a constant, and two columns that matter jointly."""
    draw = random.Random(seed)
    rows = []
    for i in range(n):
        sex, region = draw.choice("fm"), draw.choice(["north", "south", "west"])
        age, hours = draw.randint(18, 80), round(draw.gauss(38, 9), 1)
        job = draw.choice(["clerk", "nurse", "smith", "baker"] * 12 + ["diver", "poet"])
        odds = (
            (age - 45) / 12 + (hours - 38) / 8 + (sex == "f") * 0.8 + 1.5 * ((job == "nurse") ^ (region == "south")) - 1
        )
        rows.append(
            {
                "person": f"p{i:05d}",
                "sex": sex,
                "region": region,
                "age": age,
                "hours": None if draw.random() < 0.05 else hours,
                "job": job,
                "land": "here",
                "W": "yes" if draw.random() < 1 / (1 + np.exp(-odds)) else "no",
            }
        )
    return rows


@pytest.fixture(scope="module")
def release():
    return fit(people(), "W", ["sex"])


def points(**changed):
    """Small points by hand: a number with a gap, a category, and their pair."""
    age = Column("age", "BIGINT", (*labels((30.0, 50.5)), None), (30.0, 50.5))
    job = Column("job", "VARCHAR", ("clerk", "nurse"))
    alone = Term(("age",), (-7, 0, 5, 1, 0))
    pair = Term(("age", "job"), tuple(range(-7, 8)))
    found = Points("score", (age, job), ((alone, Term(("job",), (2, -3, 0)), pair),), cells_of_cuts((-9, 0, 4)))
    return Points.from_document({**found.to_document(), **changed})


def test_points_are_the_same_one_by_one_and_as_sql():
    found = points()
    rows = [
        {"age": age, "job": job}
        for age in (None, -4, 29, 30, 50, 51, 10**6)
        for job in (None, "clerk", "nurse", "poet", "")
    ]
    table = open_table(rows)
    counted = table.connection.execute(f"SELECT score FROM {found.scored(table).sql}").fetchall()
    one_by_one = [found.bin_of({**row, "job": row["job"] or None}) for row in rows]
    assert [bin_ for (bin_,) in counted] == one_by_one
    assert set(one_by_one) == {1, 2, 3, 4}
    # A second derivation, by hand: 29 years is the first piece, a nurse the second: -7 - 3 + (-7 + 1).
    assert found.sums_of({"age": 29, "job": "nurse"}) == [-16]
    assert found.sums_of({"age": 60, "job": "poet"}) == [5 + 0 + (-7 + 3 * 2 + 2)]


def test_a_value_that_was_not_seen_has_the_points_of_other_and_a_strange_kind_is_refused():
    found = points()
    assert found.bin_of({"age": 40, "job": "astronaut"}) == found.bin_of({"age": 40, "job": "diver"})
    with pytest.raises(ColumnError, match="'job'"):
        found.bin_of({"age": 40, "job": 7})
    with pytest.raises(ColumnError, match="has no 'job'"):
        found.bin_of({"age": 40})


def test_a_column_that_happens_to_be_called_score_is_not_the_score():
    found = points()
    table = open_table([{"age": 20, "job": "nurse", "Score": 99}])
    scored = found.scored(table)
    assert table.connection.execute(f"SELECT * FROM {scored.sql}").fetchall() == [
        (20, "nurse", found.bin_of({"age": 20, "job": "nurse"}))
    ]
    assert list(scored.columns) == ["age", "job", "score"]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"cells": {"cuts": [3, 3]}}, "do not increase"),
        ({"cells": {"cuts": [0.5]}}, "0.5 is not a whole number"),
        ({"cells": [1, 0, 1, 2]}, "a sum that is not there"),
        ({"cells": [0, 0, 1, 3]}, "the bins are not"),
        ({"sums": [[{"columns": ["age"], "points": [1, 2]}]]}, "2 points for age, which have 5 pieces"),
        ({"sums": [[{"columns": ["age"], "points": [10**7, 0, 0, 0, 0]}]]}, "points above"),
        ({"sums": [[{"columns": ["height"], "points": [1]}]]}, "height are not one or two"),
        ({"name": "AGE"}, "two columns have the same name"),
        ({"columns": 3}, "cannot be read"),
    ],
)
def test_points_that_do_not_fit_together_are_refused(changed, reason):
    with pytest.raises(ReleaseFileError, match=reason):
        points(**changed)


def test_points_come_back_from_their_document():
    found = points()
    assert Points.from_document(json.loads(json.dumps(found.to_document()))) == found


def test_the_law_is_what_the_release_counts_cell_by_cell(release):
    """The states of all records, one by one in Python and as `disclose` finds them in SQL, give the law to the last count."""
    rows, recipe, law = people(), release.recipe, release.disclosure.law
    table = open_table(rows, recipe.as_read)
    query = recipe.select(table.sql, table.columns, ["W", "sex"], "choral state")
    by_sql = table.connection.execute(query).fetchall()
    by_hand = [(row["W"], row["sex"], recipe.state_of(row)) for row in rows]
    assert by_sql == by_hand
    names = [law.names.index(name) for name in ("W", "sex")]
    states = {state: s for s, state in enumerate(release.disclosure.states)}
    where = [law.names.index(name) for name in release.disclosure.problem.columns]
    counted = {}
    for cell, weight in law.cells.items():
        values = law.values_of(cell)
        key = (*(values[i] for i in names), states[tuple(values[i] for i in where)])
        counted[key] = counted.get(key, 0) + weight * (len(rows) // law.total)
    assert counted == {key: by_hand.count(key) for key in set(by_hand)}


def test_a_learned_score_is_private_exactly_and_tells_most_of_what_there_is(release):
    assert release.verify()["verified"] is True
    assert release.codes <= 16
    meaning = Meaning(release)
    assert meaning.held_out.leakage(["sex"]).bits < 0.02
    assert release.information > 0.25  # one column alone tells at most 0.2
    assert (
        0.5 * release.information < meaning.to_come.bits < release.information
    )  # what the table itself tells flatters
    assert meaning.first_line().startswith("W is guessed right ")
    assert meaning.first_line().endswith("; sex is guessed as before")
    [known] = meaning.known_score
    assert known.about == ("sex",)
    assert known.given == ("score",)
    assert known.bits > 0.1


def test_what_the_fit_says_of_who_knows_the_score_is_what_the_audit_of_its_table_says(release):
    """They answered two questions in the same words: of records to come, and of those of the table."""
    [said] = [leak for leak in ch.audit(release, people()).knowing if leak.given == ("score",)]
    [known] = release.meaning.known_score
    assert (known.bits, known.guess_after) == (pytest.approx(said.bits), said.guess_after)
    assert "that the points did not see" not in release.meaning.said_of_the_score()[0]
    unread = replace(release, unmerged=None)  # as from its file
    assert "of a record that the points did not see guesses sex" in unread.meaning.said_of_the_score()[0]


def test_what_is_told_of_records_to_come_within_budgets_is_said_to_be_unknown():
    mine = ch.fit(people(), "W", ["sex"], leakage={"sex": "0.01"}, rel_tol=1e-1)
    assert mine.recipe.points is not None
    [said] = mine.meaning.said_of_records_to_come()
    assert "is not estimated within budgets" in said
    assert "of records to come" not in mine.meaning.first_line()


def test_names_and_constants_are_left_out_with_a_line_each(release):
    said = " ".join(release.remarks)
    assert "left out: person (another value in" in said
    assert "left out: land (it has one value)" in said
    assert {column.name for column in release.points.columns} <= {"sex", "region", "age", "hours", "job"}
    assert release.recipe.use == ("score", "sex")


@pytest.mark.parametrize("value", [{"fraction": "1/0"}, {"decimal": "x"}, {"date": "x"}])
def test_points_of_a_value_that_is_none_are_refused_in_words(value):
    document = {"name": "s", "columns": [{"name": "a", "type": "DOUBLE", "values": [value]}], "sums": {}}
    with pytest.raises(ReleaseFileError, match="The file"):
        Points.from_document(document, "The file")


def test_records_to_come_have_a_code_unless_a_protected_value_is_new(release):
    recipe = release.recipe
    for sex in "fm":
        for strange in (
            {"job": "astronaut", "region": "moon", "age": 130, "hours": None},
            {"job": None, "region": None, "age": None, "hours": -5.0},
        ):
            assert recipe.state_of({"sex": sex, **strange}) >= 0
    assert recipe.state_of({"sex": "x", "job": "nurse", "region": "north", "age": 30, "hours": 40.0}) == -1


def test_a_release_with_points_is_saved_loaded_and_discloses_the_same(release, tmp_path):
    path = release.save(tmp_path / "r.choral")
    again = load_release(path)
    assert again.points == release.points
    rows = people()
    codes = again.disclose(rows, tmp_path / "codes.parquet", id="person")
    assert codes.rows == len(rows)
    card = release.card()
    assert "points" not in json.dumps(card.document)
    found = release.audit(rows, tmp_path / "codes.parquet")
    assert found.kept


def test_bins_are_merged_within_protected_values_so_that_every_bin_has_a_state():
    draw = random.Random(3)
    for _ in range(50):
        bins, least = draw.randint(1, 7), draw.randint(0, 6)
        counts = {(b, z): draw.randint(1, 9) for b in range(bins) for z in range(4) if draw.random() < 0.6}
        if not counts:
            continue
        try:
            kept, merged = merge_bins(counts, 0, bins, least, "merge")
        except ProblemError:
            totals = [sum(n for (_, z), n in counts.items() if z == one) for one in range(4)]
            assert sum(total >= max(least, 1) for total in totals) <= 1
            continue
        groups = [[cell] for cell in kept] + merged
        present = {z for _, z in counts}
        assert sorted(cell for group in groups for cell in group) == [
            (b, z) for b in range(bins) for z in sorted(present)
        ]
        assert all(sum(counts.get(cell, 0) for cell in group) >= max(least, 1) for group in groups)
        for group in merged:
            of = {z for _, z in group}
            alone = [sum(n for (_, z), n in counts.items() if z == one) for one in of]
            assert len(of) == 1 or min(alone) < least


def test_cuts_lose_least_of_all_cuts():
    """Against every way to cut a dozen sums into three bins."""
    draw = np.random.default_rng(0)
    sums = draw.integers(0, 12, 400)
    target = (draw.random(400) < (sums / 12) ** 2).astype(np.int64)

    def told(edges):
        bins = np.searchsorted(edges, sums, side="right")
        joint = np.histogram2d(bins, target, bins=(range(len(edges) + 2), range(3)))[0] / 400
        outer = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
        return float((joint * np.log2(np.where(joint > 0, joint, 1) / np.where(outer > 0, outer, 1))).sum())

    found = cut.cuts_of(sums, target, 3)
    assert len(found) <= 2
    best = max(told([a, b]) for a in range(1, 12) for b in range(a + 1, 12))
    assert told(list(found)) >= cut.WORTH * (best - 1e-12) - 2 / (800 * np.log(2))
    if len(found) == 2:
        assert told(list(found)) == pytest.approx(best)


def test_cuts_for_a_size_leave_the_least_squares_of_all_cuts():
    """Against every way to cut a dozen sums into at most three bins, within each of three kinds; one of these is rare."""
    draw = np.random.default_rng(2)
    sums, kind = draw.integers(0, 12, 400), draw.choice(3, 400, p=[0.6, 0.38, 0.02])
    assert 0 < (kind == 2).sum() < cut.ALIKE
    numbers = (sums - 4.0) ** 2 * (1 + kind) + draw.normal(0, 3, 400)

    def cost(edges, variance):
        found = 0.0
        for b in range(len(edges) + 1):
            for k in range(3):
                held = numbers[(np.searchsorted(edges, sums, side="right") == b) & (kind == k)]
                found += len(held) * np.var(held) + variance if len(held) else 0.0
        return found

    fine = [numbers[(sums == s) & (kind == k)] for s in range(12) for k in range(3)]
    fine = [held for held in fine if len(held)]  # 12 sums are fewer than the coarse groups: each is one
    variance = sum(len(held) * np.var(held) for held in fine) / (400 - len(fine))
    found = cut.cuts_of_sizes(sums, numbers, kind, most=3)
    best = {n: min(cost(e, variance) for e in itertools.combinations(range(1, 12), n)) for n in (1, 2)}
    assert best[2] < best[1], "so three bins are worth having"
    assert len(found) == 2
    assert cost(found, variance) == pytest.approx(best[2])


def test_a_size_is_cut_within_what_is_protected():
    """Two districts of very different prices: a private code can only tell houses of one district apart, so both are cut."""
    sums = np.array([*range(10), *range(100, 110)] * 20)
    district = np.array([0] * 10 + [1] * 10).tolist() * 20
    assert cut.cuts_of_sizes(sums, sums.astype(float), np.array(district), most=3) == (5, 105)
    assert 100 in cut.cuts_of_sizes(sums, sums.astype(float), np.zeros(len(sums), dtype=np.int64), most=3)


def test_very_many_kinds_of_records_are_cut_as_the_most_common_and_the_others_together(monkeypatch):
    monkeypatch.setattr(cut, "KINDS", 3)
    draw = np.random.default_rng(4)
    sums = draw.integers(0, 12, 900)
    kind = np.repeat(np.arange(30), [300, 200, 100, *[1] * 7, *[14] * 5, *[15] * 14, 13])
    assert len(kind) == 900
    draw.shuffle(kind)
    numbers = sums * (1.0 + kind) + draw.normal(size=900)
    together = np.where(kind < 3, kind, 3)
    assert cut._common(kind, cut.ALIKE)[1] == 4
    found = cut.cuts_of_sizes(sums, numbers, kind)
    monkeypatch.setattr(cut, "KINDS", 4)
    assert found == cut.cuts_of_sizes(sums, numbers, together)
    assert len(found) > 1, "so the assertion above is about something"


def test_a_record_has_no_part_in_what_is_said_of_it():
    """What a code says of a size, of records to come, is as if each were left out of the means; its error is that of a share
    of the variance: records count as much as leaving each out would change it.
    """
    draw = np.random.default_rng(7)
    state, codes, n = draw.integers(0, 5, 600), 3, 600
    numbers = 50 + 10.0 * state + draw.normal(0, 8, n)
    shares = draw.dirichlet(np.full(codes, 0.3), 5).T
    own = shares[:, state]  # a row per code
    mass, total = own.sum(axis=1), own @ numbers
    cells = [
        (s, float((state == s).sum()), numbers[state == s].sum(), (numbers[state == s] ** 2).sum()) for s in range(5)
    ]
    found = told_of_size(cells, shares, mass / n, total / mass, n, n)
    left = sum(
        own[y, i] * (numbers[i] - (total[y] - own[y, i] * numbers[i]) / (mass[y] - own[y, i])) ** 2
        for i in range(n)
        for y in range(codes)
    )
    assert found.variance == pytest.approx(np.var(numbers))
    assert found.explained == pytest.approx(np.var(numbers) - left / n)
    squares, errors = (numbers - numbers.mean()) ** 2, (own * (numbers - (total / mass)[:, None]) ** 2).sum(axis=0)
    without = [1 - np.delete(errors, i).sum() / np.delete(squares, i).sum() for i in range(n)]
    jackknife = np.var(numbers) * (np.var(without) * (n - 1)) ** 0.5
    assert found.error == pytest.approx(jackknife, rel=0.03)
    before, after = found.off
    assert before == pytest.approx(numbers.std())
    assert after == pytest.approx((np.var(numbers) - found.explained + found.error) ** 0.5)


def test_tables_of_a_teacher_add_up_to_the_teacher():
    """The tables, purified, are the model itself at every record, and each has mean zero over the records."""
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 6, (500, 3))
    target = ((codes[:, 0] > 2) ^ (codes[:, 1] > 3) ^ (draw.random(500) < 0.1)).astype(np.int64)
    lesson = teacher.Lesson(codes, (7, 7, 7), (True, False, True), target, 2)
    model = teacher.taught(lesson, 20, paired=True)
    tables = teacher.tables_of(model, lesson, 20)
    assert np.allclose(tables.values(codes), model.values(codes, 20), atol=1e-6)
    for i, table in tables.one.items():
        assert abs(table[codes[:, i], 0].mean()) < 1e-6
    told = teacher.spread(tables, codes)
    assert max(told, key=told.get) == (0, 1)


def test_edges_are_round_and_lie_where_they_cut():
    draw = random.Random(5)
    values = sorted(draw.gauss(0, 1000) for _ in range(300))
    edges = pieces.round_edges(values, [20] * 300, 10)
    assert len(edges) == 9
    held = np.histogram(values, [-np.inf, *edges, np.inf])[0]
    assert held.min() >= 25
    assert all(len(f"{edge:g}") <= 6 for edge in edges)


def test_edges_of_dense_numbers_have_few_digits_and_pieces_nearly_as_many_records():
    draw = random.Random(7)
    values = sorted(draw.lognormvariate(8, 1.3) for _ in range(8000))
    edges = pieces.round_edges(values, [1] * 8000, 8)
    assert len(edges) == 7
    held = np.histogram(values, [-np.inf, *edges, np.inf])[0]
    assert held.min() >= 800
    assert held.max() <= 1200
    assert all(len(f"{edge:g}".rstrip("0")) <= 2 for edge in edges), "with one or two digits: 1500, 7000"


def test_columns_multiply_a_mean_where_that_says_more():
    """Three columns of eight pieces, each with a share of the price, or a sum: which of both is found, and held-out sums are
    nearer to the logarithm than those of sums would be; a table of factors adds up to the model.
    """
    draw = np.random.default_rng(3)
    codes = draw.integers(0, 8, (800, 3))
    for factors in (True, False):
        mean = np.exp(0.4 * codes.sum(axis=1)) if factors else 10.0 + codes.sum(axis=1)
        target = mean * draw.gamma(20, 1 / 20, 800)
        lesson = teacher.Lesson(codes, (8, 8, 8), (True,) * 3, target, 0, factors=None)
        choice, sums, _ = crossfit.crossfitted(lesson, crossfit.folds_of(target))
        assert choice.factors == factors
        assert np.corrcoef(sums[:, 0], np.log(mean) if factors else mean)[0, 1] > 0.98
        decided = replace(lesson, factors=factors)
        model = teacher.taught(decided, 30, paired=True)
        assert teacher.tables_of(model, decided, 30).values(codes) == pytest.approx(model.values(codes, 30))
        said = np.exp(model.values(codes, 30)) if factors else model.values(codes, 30)
        assert said.mean() == pytest.approx(target.mean(), rel=0.02), "on the scale of the target"


@pytest.mark.parametrize(
    ("numbers", "factors"), [([0, 1] * 50, None), ([-1, 1] * 50, False), ([0] * 91 + [1] * 9, False)]
)
def test_columns_do_not_multiply_what_is_negative_or_mostly_nothing(numbers, factors):
    """Of a logarithm there is nothing to learn in a fold in which all is 0."""
    found = learn._mean(np.zeros((100, 0), dtype=np.int64), [], np.array(numbers, dtype=float))
    assert found.factors is factors


def test_a_score_is_learned_by_fewer_trees_where_there_is_no_time_for_more(monkeypatch):
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 3, (600, 2))
    target = (draw.random(600) < 0.2 + 0.3 * codes[:, 0]).astype(np.int64)
    lesson = teacher.Lesson(codes, (3, 3), (False, False), target, 2)
    fold = crossfit.folds_of(target)
    asked = []
    taught = crossfit.taught

    def counted(some, trees, paired):
        asked.append((trees, paired))
        return taught(some, trees, paired)

    monkeypatch.setattr(crossfit, "taught", counted)
    with until(time.monotonic()):
        choice, sums, _ = crossfit.crossfitted(lesson, fold)
    assert asked == 2 * [(crossfit.STEP, False)] + crossfit.FOLDS * [(crossfit.FEWEST_TREES, False)]
    assert choice.hurried
    assert choice.trees <= crossfit.FEWEST_TREES
    assert np.corrcoef(sums[:, 0], codes[:, 0])[0, 1] > 0.9
    asked.clear()
    assert not crossfit.crossfitted(lesson, fold)[0].hurried
    assert {paired for _, paired in asked} == {False, True}


def test_a_small_table_is_counted_as_it_stands():
    rows = [{**row, "age": row["age"] // 30} for row in people(60)]
    found = fit(rows, "W", ["sex"], drop=["hours"], min_count=2)
    assert found.points is None
    assert any("60 records are too few to learn a score from" in remark for remark in found.remarks)


def test_few_common_combinations_are_counted_as_they_stand():
    rows = [{"W": w, "sex": s, "region": r} for w in "ab" for s in "fm" for r in "ns" for _ in range(40)]
    found = fit(rows + rows[:30], "W", ["sex"])
    assert found.points is None
    assert found.recipe.use == ("sex", "region")


def test_a_score_of_ones_own_is_cut_into_bins():
    rows = [{**row, "model": row["age"] / 7 + (row["W"] == "yes")} for row in people(400)]
    found = fit(rows, "W", ["sex"], score="model")
    assert found.recipe.looks_at == ("sex", "model")
    assert found.points.about["made"] == "the column 'model', cut into bins"
    assert found.information > 0.05
    bins = [found.points.bin_of({"model": x / 10}) for x in range(140)]
    assert bins == sorted(bins)
    with pytest.raises(ColumnError, match="A score is a column of numbers"):
        fit(rows, "W", ["sex"], score="job")


def test_points_of_ones_own_are_taken(release):
    mine = ch.fit(people(), "W", ["sex"], points=release.points)
    assert mine.points.columns == release.points.columns
    assert mine.points.sums == release.points.sums
    assert "held out" in release.points.about
    assert "held out" not in mine.points.about, (
        "what they tell of other records is known of the table they were learned on"
    )
    assert mine.information == pytest.approx(release.information, abs=1e-3)
    with pytest.raises(ColumnError, match="which the release looks at"):
        ch.fit([{"W": i % 2, "sex": "fm"[i // 2 % 2]} for i in range(40)], "W", ["sex"], points=release.points)


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(LawError) as caught:
        teacher.sklearn()
    assert "pip install 'choral[sklearn]'" in caught.value.remedy


def test_right_guesses_are_fractions_of_the_law(release):
    told = Meaning(release).told
    assert 0 < told.guess_before < told.guess_after < 1
    assert told.guess_before == Fraction(max(sum(row["W"] == w for row in people()) for w in ("yes", "no")), 900)


def test_rare_states_of_one_protected_value_do_not_make_a_claim_that_the_verifier_refuses():
    """All that is rare has one sex, so that the state determines it, though its name does not say so."""
    draw = random.Random(1)
    rows = [
        {"W": int(draw.random() < (r + 1) / (28 if sex == "x" else 14)), "sex": sex, "region": r}
        for sex in "fmxyz"
        for r in range(12)
        for _ in range(4 if sex == "f" and r > 9 else 20 + r)
    ]
    found = fit(rows, "W", ["sex"], ["sex", "region"], rel_tol=1e-2)
    assert len(found.recipe.merged) == 1
    assert found.verify()["verified"] is True


@pytest.mark.parametrize("protect", [[("sex", "region")], ["sex", "sex | region"], ["age"]])
def test_what_is_protected_is_in_the_state_whatever_the_promise(release, protect):
    mine = fit(people(), "W", protect, points=release.points)
    assert mine.verify()["verified"] is True
    assert mine.information > 0.02
    assert mine.recipe.seen[0] == mine.recipe.state_column
    named = {name for group in mine.recipe.protect for name in group}
    assert named <= set(mine.recipe.seen)
    if protect == ["age"]:
        assert "rank within the group" in mine.disclosure.how


def test_a_target_of_three_values_has_a_sum_for_each_and_cells_between_them(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 40)
    rows = [{**row, "W": row["W"] if row["age"] < 60 else "old"} for row in people(500)]
    found = fit(rows, "W", ["sex"], drop=["hours"])
    assert len(found.points.sums) == 3
    assert found.points.cuts is None
    assert found.verify()["verified"] is True
    assert Meaning(found).to_come.guess_after > Meaning(found).to_come.guess_before + Fraction(1, 10)
    table = open_table(rows, found.recipe.as_read)
    bins = table.connection.execute(f"SELECT score FROM {found.recipe.scored(table).sql}").fetchall()
    assert [bin_ for (bin_,) in bins] == [found.points.bin_of(row) for row in rows]
    shown = str(found.points)
    assert "points for old" in shown
    assert "bin 1: " in shown


def test_a_number_with_many_values_is_told_by_its_mean(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 40)
    rows = [{**row, "W": row["age"] // 4 + (row["job"] == "nurse")} for row in people(400)]
    found = fit(rows, "W", ["sex"], drop=["hours"])
    assert len(found.points.sums) == 1
    ordered = [found.points.bin_of({**rows[0], "age": age}) for age in range(18, 81)]
    assert ordered[0] < ordered[-1]
    assert found.verify()["verified"] is True


def test_a_second_release_goes_on_with_the_score_of_the_first(release):
    rows = people()
    second = ch.fit_after(release, rows, "region", ["sex"], rel_tol=1e-2, codes=3)
    assert second.points == release.points
    assert second.verify()["verified"] is True
    assert second.recipe.use == release.recipe.use


def test_codes_are_the_fewest_that_lose_a_percent():
    """Against the code with one code less, found by the same means."""
    law = ch.Joint.from_counts(
        {(w, z, s): 1 + (3 * s + 5 * w + 7 * z) % 11 + 4 * w * s for w in (0, 1) for z in (0, 1) for s in range(6)},
        names=["W", "Z", "S"],
    )
    best = ch.disclose(law, "W", ["Z"])
    few = ch.disclose(law, "W", ["Z"], spare=0.05)
    assert few.codes < best.codes
    assert few.information >= 0.95 * best.information - 1e-9
    assert ch.disclose(law, "W", ["Z"], codes=few.codes - 1).information < 0.95 * best.information
    common = ch.disclose(law, "W", ["Z"], spare=0.05, rarest=0.2)
    assert min(common.p_y) >= Fraction(1, 5)
    assert common.verify()["verified"] is True


def test_an_audit_says_what_is_told_about_records_to_come_and_bounds_nothing_by_the_table(release):
    found = release.audit()
    said = " ".join(found.notes)
    assert "codes of records that the points did not see tell some" in said
    assert "takes records that the score never saw" in said
    assert not found.out_of_sample


def test_nobody_is_told_to_protect_a_score_which_is_no_column(release):
    found = release.audit(people())
    assert "score" in {leak.about[0] for leak in found.columns}  # what is told about it stays in the listing
    assert not any("score" in leak.leakage.about for leak in found.together)
    assert "about score" not in found.summary
    assert "| score" not in found.summary
    assert "Who can compute the score of a record guesses sex right" in found.summary
    assert "keep the points" in found.summary


def test_the_page_does_not_deny_what_it_has_not_looked_at(release, tmp_path):
    page = release.report(tmp_path / "without.html").read_text()
    assert "not looked at: the law of a score holds no other column" in page
    assert "Somebody who has the points" in page
    page = release.report(tmp_path / "with.html", table=people()).read_text()
    assert "not looked at: the law of a score" not in page
    assert "most about job: " in page


def test_what_a_score_gives_away_is_one_line_whatever_is_protected():
    said = Meaning(fit(people(400), "W", ["sex", "region"])).said_of_the_score()
    assert [line.count(" right ") for line in said] == [2]
    assert said[0].count("keep the points") == 1


def test_who_has_a_score_is_not_told_to_leave_out_use_to_learn_one():
    release = fit(people(200), "W", ["sex"], against=["age"])
    said = merging_words(release.disclosure.problem, release.recipe)
    assert "--against" in said
    assert "--use" not in said


def test_the_commands_say_it_in_words_and_points_can_be_edited_and_given_back(release, tmp_path):
    release.save(tmp_path / "r.choral")
    shown = in_process.choral("points", "r.choral", cwd=tmp_path).stdout
    assert shown.startswith("score: points are added, and the sum is cut into ")
    assert "multiply the odds of W = yes by 2.7" in shown
    assert "age   (contributes " in shown
    written = in_process.choral("points", "r.choral", "--json", cwd=tmp_path).stdout
    document = json.loads(written)
    document["cells"]["cuts"] = [0]
    (tmp_path / "mine.json").write_text(json.dumps(document))
    table = ["person,sex,region,age,hours,job,land,W"]
    table += [",".join("" if value is None else str(value) for value in row.values()) for row in people()]
    (tmp_path / "people.csv").write_text("\n".join(table) + "\n")
    asked = ["--reveal", "W", "--protect", "sex", "--id", "person", "--points", "mine.json"]
    said = in_process.choral("fit", "people.csv", *asked, "-o", "mine.choral", "--json", cwd=tmp_path)
    found = json.loads(said.stdout)
    assert found["utility"] == "bits"
    assert found["guess_before"] < found["guess_after"] < 1
    assert found["known_score"][0]["about"] == ["sex"]
    assert load_release(tmp_path / "mine.choral").points.bins == 2
    (tmp_path / "mine.json").write_text("[]")
    refused = in_process.choral("fit", "people.csv", *asked, "-o", "no.choral", cwd=tmp_path)
    assert refused.returncode != 0
    assert not (tmp_path / "no.choral").exists()


def test_a_column_that_guesses_nearly_all_of_the_target_is_asked_about():
    draw = random.Random(4)
    rows = []
    for i in range(600):
        sex, age = draw.choice("fm"), draw.randint(20, 60)
        ill = draw.random() < (0.7 if age > 40 else 0.3)
        rows.append(
            {"ill": "yes" if ill else "no", "sex": sex, "age": age, "ward": "abc"[2 if ill and i % 20 else i % 2]}
        )
    said = ch.fit(rows, "ill", ["sex"]).remarks
    [remark] = [remark for remark in said if "alone guesses" in remark]
    assert remark.startswith("ward alone guesses ill right 9")
    assert "--drop ward" in remark
    assert not [remark for remark in ch.fit(rows, "ill", ["sex"], drop=["ward"]).remarks if "alone guesses" in remark]


def test_a_protected_number_stays_exact_alone_and_is_cut_into_intervals_beside_others(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    rows = [{**row, "age": 18 + 2 * (row["age"] // 4)} for row in people(900)]  # 17 different ages
    alone = fit(rows, "W", ["age"], drop=["person"])
    assert alone.recipe.column("age").edges is None
    assert alone.disclosure.how.startswith("rank within the group")
    assert not [remark for remark in alone.remarks if "interval" in remark]
    beside = fit(rows, "W", ["age", "sex"], drop=["person"])
    edges = beside.recipe.column("age").edges
    assert 1 < len(edges) < 8
    [remark] = [remark for remark in beside.remarks if "interval" in remark]
    assert remark.startswith("age has too many values")
    assert ", ".join(f"{edge:g}" for edge in edges) in remark
    assert beside.verify()["verified"] is True
    known = fit(rows, "W", ["sex", "sex | age"], drop=["person"])  # who knows the age knows more than an interval of it
    assert known.recipe.column("age").edges is None
    told = fit(rows, "W", ["age", "sex"], drop=["person"], bins={"age": "30,50"}, points=beside.points)
    assert told.recipe.column("age").edges == (30.0, 50.0)


def test_a_protected_number_of_few_records_each_is_cut_also_alone(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    found = fit(people(400), "W", ["age"], drop=["person"])
    assert found.recipe.column("age").edges is not None
    assert found.information > 0.01
    assert [remark for remark in found.remarks if remark.startswith("age has too many values to tell anything")]


def test_an_audit_says_in_right_guesses_what_is_told_in_the_table_of_records_to_come_and_on_others(release):
    found = release.audit(validation=people(600, seed=9))
    assert [name for name, _ in found.told] == ["its own law", "records to come, cross-fitted", "the validation table"]
    own, to_come, shown = (leak for _, leak in found.told)
    assert own.guess_after == release.meaning.told.guess_after
    assert to_come.bits < own.bits
    assert shown.guess_before < shown.guess_after
    assert found.notes[0].startswith("W is guessed right ")
    assert found.to_json()["told"][2]["of"] == "the validation table"
    without = [{name: value for name, value in row.items() if name != "W"} for row in people(600, seed=9)]
    assert len(release.audit(validation=without).told) == 2


def test_a_target_whose_values_are_too_rare_to_learn_is_refused_with_a_word():
    rows = [{**row, "W": f"w{i // 2}"} for i, row in enumerate(people(240))]
    with pytest.raises(ProblemError, match="too rare to learn a score"):
        fit(rows, "W", ["sex"])
    once = [{**row, "W": "yes" if i == 7 else "no"} for i, row in enumerate(people(240))]
    with pytest.raises(ProblemError, match="239 have the most common one, and 1 all others"):
        fit(once, "W", ["sex"])


def test_a_few_records_with_other_values_of_the_target_are_learned_with_the_rarest(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    rows = [{**row, "W": "odd" if i < 3 else row["W"]} for i, row in enumerate(people(400))]
    found = fit(rows, "W", ["sex"], drop=["person", "hours"])
    assert len(found.disclosure.problem.target.values) == 3
    assert found.verify()["verified"] is True


def test_a_protected_column_that_gives_the_target_away_is_not_said_to_be_dropped(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    said = fit([{**row, "sign": row["W"] + "!"} for row in people(300)], "W", ["sign"], drop=["person"])
    assert said.information == 0
    [remark] = [remark for remark in said.remarks if "alone guesses" in remark]
    assert remark == "sign alone guesses W right 100 %, and is protected: a code can tell nothing of what it says"


def test_a_rare_target_is_told_by_what_the_most_telling_code_finds(monkeypatch):
    monkeypatch.setattr(crossfit, "TREES", 20)
    draw = random.Random(2)
    rows = [
        {"sex": draw.choice("fm"), "age": draw.randint(18, 80), "x": (x := draw.randrange(100)), "y": draw.random()}
        | {"fraud": "yes" if draw.random() < (0.2 if x > 91 else 0.005) else "no"}
        for _ in range(2000)
    ]
    found = fit(rows, "fraud", ["sex"])
    said, disclosure = found.meaning.first_line(), found.disclosure
    often, share = max((row[1], p) for p, row in zip(disclosure.p_y, disclosure.p_w_given_y, strict=True))
    assert said.startswith(f"fraud = yes in {percent(often)} of the records with the most telling code, instead of 2")
    assert f"({percent(share)} of all have that code; " in said
    assert "guess right" not in "".join(found.meaning.said_of_records_to_come())


def told_of_all(found, law):
    """What the code of a disclosure tells under another law of the same columns, W and those that it looks at, in bits."""
    state = {values: i for i, values in enumerate(found.states)}
    joint = np.zeros((2, found.codes))
    for (w, *seen), p in law.items():
        if tuple(seen) in state:
            joint[w] += p * found.channel[:, state[tuple(seen)]]
    joint /= joint.sum()
    apart = np.outer(joint.sum(1), joint.sum(0))
    return float(np.sum(joint * np.log2(np.where(joint > 0, joint, 1) / np.where(joint > 0, apart, 1))))


def test_what_chance_tells_is_what_a_channel_tells_more_about_its_own_records():
    """Channels of few codes for 300 records drawn from a law, and what they tell under that law: in the mean of 40 draws."""
    draw = np.random.default_rng(3)
    lean, mass = draw.normal(size=8) * 1.6, draw.dirichlet(np.full(16, 5.0))
    law = {}
    for i in range(16):
        p = 1 / (1 + np.exp(-(lean[i // 2] + 0.3 * (i % 2))))
        law |= {(0, i // 2, i % 2): mass[i] * (1 - p), (1, i // 2, i % 2): mass[i] * p}
    own, shown, chance, codes = [], [], [], []
    for _ in range(40):
        counts = dict(zip(law, draw.multinomial(300, list(law.values())).tolist(), strict=True))
        found = ch.disclose(
            ch.Joint.from_counts(counts, ["W", "b", "z"]), "W", ["z"], ["b", "z"], codes=5, rel_tol=0.01
        )
        own.append(found.information)
        shown.append(told_of_all(found, law))
        chance.append(told_by_chance(ch.bounds(found.law, "W", ["z"], ["b", "z"]).nullity, found.codes, 2, 300))
        codes.append((found.codes - 1) / (2 * 300 * math.log(2)))
    assert abs(np.mean(own) - np.mean(chance) - np.mean(shown)) < 0.33 * (np.mean(own) - np.mean(shown))
    assert np.mean(own) - np.mean(codes) > np.mean(shown) + 0.5 * (np.mean(own) - np.mean(shown)), (
        "codes are not enough"
    )


def test_what_is_told_of_the_table_alone_is_a_warning(release, monkeypatch):
    assert not [line for line in first_lines(release) if "records to come" in line]
    nothing = replace(release.meaning.estimated, bits=0.0)
    monkeypatch.setattr(Meaning, "estimated", nothing)
    [line] = first_lines(release)
    assert line.startswith("WARNING      of records to come this tells 0 bits, where it tells 0.")


def test_a_protected_column_of_one_value_is_said_to_have_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = tmp_path / "t.csv"
    table.write_text("W,sex,a\n" + "".join(f"{i % 2},m,{i % 2 if i % 5 else 1}\n" for i in range(60)))
    done = in_process.choral("fit", "t.csv", "--reveal", "W", "--protect", "sex", "--use", "sex,a", cwd=tmp_path)
    assert "sex has one value in this table: there is nothing to keep private about it" in done.stdout
