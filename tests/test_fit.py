"""Fitting releases to tables: exact independence of the real columns, bins, rare states, missing values, a second release."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import random
import stat
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from joined import verifier
from tables import leaks, tables

from choral.describe.joint import Joint
from choral.errors import (
    ChoralError,
    ColumnError,
    FileInTheWayError,
    LawError,
    ProblemError,
    ReleaseFileError,
    TooLargeError,
)
from choral.problem.form import form_of
from choral.problem.question import Question
from choral.release.file import load, load_release
from choral.release.fit import fit, pose_table
from choral.release.second import fit_after, told_by_first
from choral.tables.bins import edges_of, read_bins
from choral.tables.opening import open_table, opened
from choral.tables.rules import TableRules
from choral.tables.states import merge_rare


def clinic(n=240, seed=7):
    """Invented records in which the outcome depends on all columns."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        age, sex, dose = rng.randrange(20, 90), rng.choice("fm"), rng.choice([0.5, 1.0, 2.0, None])
        ill = (age > 55) ^ (sex == "f") ^ (rng.random() < 0.2)
        rows.append({"id": i, "outcome": "ill" if ill else "well", "age": age, "sex": sex, "dose": dose})
    return rows


def channel(release):
    return release.disclosure.exact_channel.rows


def states(release, rows):
    return [release.recipe.state_of(row) for row in rows]


# ---- privacy, checked in integers without choral -------------------------------------------------------------------


@settings(max_examples=12)
@given(tables(columns=(2, 3), kinds=("bool", "int", "float", "text")), st.sampled_from([1, 3, 6]), st.booleans())
def test_real_columns_are_independent_of_the_code_also_when_rare_states_are_merged(rows, min_count, pairs):
    used = [name for name in rows[0] if name != "W"]
    protect = [list(pair) for pair in itertools.combinations(used, 2)] if pairs and len(used) > 2 else used
    try:
        release = fit(rows, "W", protect, used, min_count=min_count)
    except ProblemError as error:
        assert "leaves one" in str(error)  # noqa: PT017
        reject()
    assert release.disclosure.verify()["verified"]
    for group in protect:
        assert not leaks(rows, states(release, rows), channel(release), [group] if isinstance(group, str) else group)
    count = Counter(states(release, rows))
    assert set(count) == set(range(release.recipe.size))
    assert min(count.values()) >= min(min_count, len(rows))


def test_a_leak_would_be_seen_by_this_check():
    rows = clinic()
    release = fit(rows, "outcome", ["sex"], ["sex", "age"], bins={"age": 3})
    assert not leaks(rows, states(release, rows), channel(release), ["sex"])
    assert leaks(rows, states(release, rows), channel(release), ["age"])
    assert leaks(rows, states(release, rows), channel(release), ["outcome"])
    shifted = [*channel(release)[1:], channel(release)[0]]
    assert leaks(rows, states(release, rows), shifted, ["sex"])


def test_a_binned_column_is_private_as_binned():
    rows = clinic()
    release = fit(rows, "outcome", ["age", "sex"], ["age", "sex", "dose"], bins={"age": [40, 60]}, min_count=8)
    assert release.recipe.merged
    binned = [{**row, "age": sum(row["age"] >= edge for edge in (40, 60))} for row in rows]
    for name in ("age", "sex"):
        assert not leaks(binned, states(release, rows), channel(release), [name])
    assert release.disclosure.information > 0.01


def test_breast_cancer_with_bins():
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    frame = data.data[["mean radius", "mean texture", "mean smoothness", "mean symmetry"]].assign(benign=data.target)
    bins = {"mean radius": 3, "mean texture": "q3", "mean smoothness": 2, "mean symmetry": 2}
    release = fit(frame, "benign", ["mean texture", "mean smoothness"], list(bins), bins=bins, rel_tol=1e-3)
    assert release.disclosure.verify()["verified"]
    assert 0 < release.disclosure.information <= release.disclosure.upper_bound
    edges = {name: release.recipe.column(name).edges for name in bins}
    binned = [
        {name: sum(row[name] >= edge for edge in edges[name]) for name in bins} for row in frame.to_dict("records")
    ]
    where = states(release, frame.to_dict("records"))
    for name in ("mean texture", "mean smoothness"):
        assert not leaks(binned, where, channel(release), [name])
    assert leaks(binned, where, channel(release), ["mean radius"])
    assert Counter(row["mean radius"] for row in binned) == Counter({0: 189, 1: 190, 2: 190})


def test_fair_as_a_csv(tmp_path):
    import statsmodels.api as sm

    frame = sm.datasets.fair.load_pandas().data
    frame["affair"] = frame["affairs"] > 0
    file = tmp_path / "fair.csv"
    frame.to_csv(file, index=False)
    used = ["religious", "children", "rate_marriage"]
    release = fit(file, "affair", ["religious", "children"], used, rel_tol=1e-2)
    assert release.recipe.table_rows == len(frame) == 6366
    rows = frame[[*used, "affair"]].to_dict("records")
    for name in ("religious", "children"):
        assert not leaks(rows, states(release, rows), channel(release), [name])
    assert leaks(rows, states(release, rows), channel(release), ["rate_marriage"])


# ---- states, bins, missing values ----------------------------------------------------------------------------------


@given(st.dictionaries(st.tuples(st.integers(0, 9)), st.integers(1, 12), min_size=2, max_size=10), st.integers(0, 15))
def test_merging_leaves_no_state_rare_and_merges_no_more_than_it_must(counts, min_count):
    try:
        kept, merged = merge_rare(counts, min_count)
    except ProblemError:
        assert min(counts.values()) < min_count
        reject()
    assert sorted([*kept, *itertools.chain(*merged)]) == sorted(counts)
    assert all(counts[cell] >= min_count for cell in kept)
    assume(merged)
    [rare] = merged
    total = sum(counts[cell] for cell in rare)
    assert total >= min_count
    strictly = [cell for cell in rare if counts[cell] >= min_count]
    if strictly:
        assert total - max(counts[cell] for cell in strictly) < min_count
        assert max(counts[cell] for cell in strictly) <= min((counts[cell] for cell in kept), default=10**9)


@settings(max_examples=30)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=60), st.integers(2, 6))
def test_quantile_bins_are_as_equal_as_ties_allow(values, bins):
    table = open_table({"x": values})
    edges = edges_of(table, "x", bins)
    ordered = sorted(values)
    expected = sorted({ordered[len(values) * k // bins] for k in range(1, bins)} - {ordered[0]})
    assert list(edges) == expected


@settings(max_examples=20)
@given(st.lists(st.integers(-99, 99), min_size=6, max_size=60, unique=True), st.integers(2, 6))
def test_quantile_bins_of_different_values_differ_by_one_at_most(values, bins):
    edges = edges_of(open_table({"x": values}), "x", bins)
    sizes = Counter(sum(v >= edge for edge in edges) for v in values)
    assert len(sizes) == bins
    assert max(sizes.values()) - min(sizes.values()) <= 1


def test_width_bins_are_multiples_of_the_width_as_written():
    table = open_table({"x": [0.05, 0.1, 0.29, 0.3, 0.71]})
    assert edges_of(table, "x", "w0.1") == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    assert edges_of(open_table({"x": [-7, 20, 35]}), "x", "w10") == (0.0, 10.0, 20.0, 30.0)
    assert edges_of(table, "x", "0.2,0.5") == (0.2, 0.5)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("q1", "1 bins"),
        ("x4", "no rule"),
        ("3,2", "do not increase"),
        ("1,1", "do not increase"),
        ("1,a", "no number"),
        ("w0", "not positive"),
        ("w-1", "not positive"),
        ("w0.0001", "larger one"),
        ("1,inf", "no number"),
        ([], "do not increase"),
        (1.5, "are 1.5"),
        (True, "are True"),
    ],
)
def test_bad_bins(rule, words):
    with pytest.raises(ProblemError, match=words):
        edges_of(open_table({"x": [1.0, 2.0, 3.0]}), "x", rule)


def test_bins_on_the_command_line():
    assert read_bins(["a=1,2;b=q3", "c d=w5"]) == {"a": "1,2", "b": "q3", "c d": "w5"}
    assert read_bins(["a=1,2,b=q3,c d=40,,e=w5"]) == {"a": "1,2", "b": "q3", "c d": "40,", "e": "w5"}
    assert read_bins(["height, cm=q3,weight=4"]) == {"height, cm": "q3", "weight": "4"}
    for texts in (["a"], ["a="], ["=3"], ["a=1,2;a=3"]):
        with pytest.raises(ProblemError):
            read_bins(texts)
    with pytest.raises(ProblemError, match="text and cannot be binned"):
        fit(clinic(), "outcome", ["sex"], ["sex", "age"], bins={"sex": 2, "age": 2})
    with pytest.raises(ProblemError, match="'id', which is not revealed"):
        fit(clinic(), "outcome", ["sex"], ["sex", "age"], bins={"id": 2, "age": 2})


def test_missing_values_by_each_rule():
    rows = clinic()
    asked = ("outcome", ["sex"], ["sex", "dose"])
    own = fit(rows, *asked)
    assert own.recipe.column("dose").values == (0.5, 1.0, 2.0, None)
    assert own.recipe.table_rows == len(rows)
    dropped = fit(rows, *asked, missing="drop")
    kept = [row for row in rows if row["dose"] is not None]
    assert dropped.recipe.table_rows == len(kept) < len(rows)
    assert dropped.recipe.state_of({"sex": "f", "dose": None}) is None
    assert not leaks(kept, states(dropped, kept), channel(dropped), ["sex"])
    with pytest.raises(LawError, match=r"'dose' .* missing values"):
        fit(rows, *asked, missing="error")
    strict = fit(kept, *asked, missing="error")
    assert strict.recipe.state_of({"sex": "f", "dose": None}) == -1


def test_a_law_beside_the_frequencies_gives_unseen_combinations_a_state():
    rows = [{"W": i % 2, "a": a, "b": b} for a, b, n in [(0, 0, 9), (0, 1, 8), (1, 0, 7)] for i in range(n)]
    plain = fit(rows)
    assert plain.recipe.state_of({"a": 1, "b": 1}) == -1
    smooth = fit(rows, law="dirichlet", min_count=0)
    assert smooth.recipe.law["kind"] == "dirichlet"
    assert smooth.recipe.state_of({"a": 1, "b": 1}) == 3
    assert smooth.disclosure.verify()["verified"]


def test_codes_are_as_few_as_suffice_or_as_asked():
    rows = clinic()
    asked = {"reveal": "outcome", "protect": ["sex", "age"], "use": ["sex", "age", "dose"], "bins": {"age": 3}}
    free, few = fit(rows, **asked), fit(rows, **asked, codes=2)
    posed = pose_table(
        open_table(rows), Question("outcome", ["sex", "age"], ["sex", "age", "dose"]), TableRules({"age": 3})
    )
    assert free.disclosure.codes <= form_of(posed.problem).nullity + 1
    assert few.disclosure.codes <= 2
    assert few.disclosure.information <= free.disclosure.upper_bound


# ---- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release():
    return fit(clinic(), "outcome", ["age", "sex"], ["age", "sex"], bins={"age": 3})


def test_a_release_comes_back_and_its_owner_alone_can_read_it(release, tmp_path):
    file = release.save(tmp_path / "r.choral")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = load_release(file)
    assert (again.digest, again.recipe, again.key, again.salt) == (
        release.digest,
        release.recipe,
        release.key,
        release.salt,
    )
    assert again.disclosure.exact_channel == release.disclosure.exact_channel
    assert load(file).information == release.information
    lines = []
    verifier.verify(file.read_text(), say=lines.append)
    assert any(line.startswith("not checked") and "recipe" in line for line in lines)
    with pytest.raises(FileInTheWayError):
        release.save(file)
    release.save(file, force=True)


def test_the_key_may_live_apart(release, tmp_path):
    file = release.save(tmp_path / "r.choral", tmp_path / "r.key")
    assert release.key.hex() not in file.read_text()
    assert stat.S_IMODE((tmp_path / "r.key").stat().st_mode) == 0o600
    alone = load_release(file)
    assert alone.key is None
    assert alone.digest == release.digest
    with pytest.raises(ReleaseFileError, match="key="):
        alone.needed_key()
    assert load_release(file, tmp_path / "r.key").key == release.key
    other = fit(clinic(seed=8), "outcome", ["sex"], ["sex", "dose"])
    other.save(tmp_path / "o.choral", tmp_path / "o.key")
    with pytest.raises(ReleaseFileError, match="another release"):
        load_release(file, tmp_path / "o.key")
    with pytest.raises(ReleaseFileError, match="key of a release"):
        load_release(tmp_path / "r.key")
    with pytest.raises(ReleaseFileError, match="not a key file"):
        load_release(file, file)
    with pytest.raises(FileInTheWayError, match="two files"):
        release.save(tmp_path / "x", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_an_altered_release_is_refused(release, tmp_path):
    file = release.save(tmp_path / "r.choral")
    text = file.read_text()
    for old, new in (
        ('"min_count":5', '"min_count":4'),
        (release.key.hex(), release.key.hex()[::-1]),
        ('"outcome"', '"outcomE"'),
    ):
        assert old in text
        file.write_text(text.replace(old, new))
        with pytest.raises(ReleaseFileError, match="digest"):
            load_release(file)
    file.write_text(text[: len(text) // 2])
    with pytest.raises(ReleaseFileError):
        load_release(file)
    release.disclosure.save(tmp_path / "plain.choral")
    with pytest.raises(ReleaseFileError, match="without a recipe"):
        load_release(tmp_path / "plain.choral")
    with pytest.raises(ReleaseFileError, match="no file"):
        load_release(tmp_path / "none.choral")


# ---- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        ({}, {"reveal": "outcom"}, ColumnError, "Did you mean 'outcome'"),
        ({}, {"protect": ["sexx"]}, ColumnError, "Did you mean 'sex'"),
        ({}, {"use": ["sex", "nothing"]}, ColumnError, "nothing"),
        ({}, {"use": ["sex", "sex"]}, ProblemError, "twice"),
        ({}, {"protect": ["sex", "sex"]}, ProblemError, "twice"),
        ({}, {"protect": ["outcome"], "use": ["sex"]}, ProblemError, "revealed and protected"),
        ({"outcome": "ill"}, {}, ProblemError, "'outcome' has one value"),
        ({"sex": None}, {}, LawError, "'sex' of the table has no values"),
        ({"sex": float("nan")}, {}, LawError, "'sex' of the table has no values"),
        ({"sex": [1]}, {}, LawError, r"holds BIGINT\[\]"),
        (
            {},
            {"protect": ["id"], "use": ["id", "sex"]},
            ProblemError,
            "protected column 'id' has as many values as .* 240",
        ),
        ({}, {"protect": ["id"], "use": ["id", "sex"]}, ProblemError, "bins=.id=4."),
        ({}, {"use": ["sex", "id"]}, ProblemError, "used column 'id' has as many values"),
        ({}, {"min_count": 10_000, "use": ["sex", "dose"]}, ProblemError, "lower min_count"),
        ({}, {"min_count": -1}, ProblemError, "min_count=-1"),
        ({}, {"missing": "guess"}, ProblemError, "missing='guess'"),
        ({}, {"unseen": "guess"}, ProblemError, "unseen='guess'"),
        ({}, {"law": "guess"}, LawError, "'guess' is not known"),
        ({}, {"order": 3}, ProblemError, "order=3"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(change, options, error, words):
    rows = [{**row, **change} for row in clinic()]
    asked = {"reveal": "outcome", "protect": ["sex"], "use": ["sex", "dose"]}
    with pytest.raises(error, match=words) as caught:
        fit(rows, **{**asked, **options})
    assert caught.value.remedy


def test_a_state_space_too_large_names_its_size_and_the_column_to_bin(monkeypatch):
    rows = [{"W": i % 2, "n": i % 50, "t": "abc"[i % 3], "r": i} for i in range(300)]
    monkeypatch.setattr("choral.release.fit.MOST_STATES", 100)
    with pytest.raises(TooLargeError, match=r"n, t take 150 different .* 'n', which has 50 values: bins=.n=4."):
        fit(rows, "W", ["t"], ["n", "t"], min_count=1)
    monkeypatch.setattr("choral.tables.counting.MOST_CELLS", 100)
    with pytest.raises(TooLargeError, match=r"W, n, t take 150 different"):
        fit(rows, "W", ["t"], ["n", "t"])
    monkeypatch.setattr("choral.tables.counting.MOST_VALUES", 20)
    with pytest.raises(TooLargeError, match="'n' has 50 values"):
        fit(rows, "W", ["t"], ["n", "t"])


def test_column_names_that_differ_only_by_case_or_repeat():
    for columns in (["W", "x", "X"], ["W", "x", "x"]):
        with pytest.raises(LawError):
            fit(pd.DataFrame([[0, 1, 2], [1, 2, 3]], columns=columns))


def test_budgets_and_further_tables_are_passed_on():
    rows = clinic()
    asked = ("outcome", ["sex"], ["sex", "age"])
    exact = fit(rows, *asked, bins={"age": 3})
    loose = fit(rows, *asked, bins={"age": 3}, leakage={"sex": 0.02}, rel_tol=1e-2)
    assert exact.disclosure.leakage == {"sex": 0.0}
    assert 0 < loose.disclosure.leakage["sex"] <= 0.02
    assert loose.disclosure.information > exact.disclosure.information
    assert leaks(rows, states(loose, rows), channel(loose), ["sex"])
    factor = fit(rows, *asked, bins={"age": 3}, ratio={"sex": "21/20"}, rel_tol=1e-2)
    of_sex = Counter(row["sex"] for row in rows)
    joint, of_code = Counter(), Counter()
    for row, (denominator, entries) in zip(rows, (channel(factor)[s] for s in states(factor, rows)), strict=True):
        for y, n in entries:
            joint[row["sex"], y] += Fraction(n, denominator)
            of_code[y] += Fraction(n, denominator)
    factors = [joint[z, y] * len(rows) / (of_sex[z] * mass) for z in of_sex for y, mass in of_code.items()]
    assert max(factors) <= Fraction(21, 20)
    assert min(factors) >= Fraction(20, 21)
    more = clinic(seed=11)
    both = fit(rows, *asked, bins={"age": [40, 60]}, also=[more], rel_tol=1e-2)
    for table in (rows, more):
        assert not leaks(table, states(both, table), channel(both), ["sex"])


# ---- several tables, a second release ------------------------------------------------------------------------------


def test_another_table_must_have_the_columns_and_values_of_the_first():
    rows = clinic()
    asked = ("outcome", ["sex"], ["sex", "dose"])
    for other, words in (
        ([{k: v for k, v in row.items() if k != "dose"} for row in rows], "no column 'dose'"),
        ([{**row, "sex": "x"} for row in rows], "do not occur in the table that is fitted"),
        ([{**row, "dose": "much"} for row in rows], "text"),
    ):
        with pytest.raises(ChoralError, match=words):
            fit(rows, *asked, also=[other])


def small_table(seed, n=48):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        a, b, c = rng.randrange(2), rng.randrange(2), rng.randrange(3)
        rows.append(
            {
                "a": a,
                "b": b,
                "c": c,
                "V": (a + c) % 2 if rng.random() < 0.8 else 1,
                "W": a ^ b if rng.random() < 0.9 else 0,
            }
        )
    return rows


@pytest.mark.parametrize(("seed", "min_count"), [(0, 1), (1, 3), (2, 2), (3, 1)])
def test_a_pair_of_releases_is_private_together_and_the_first_code_is_unchanged(seed, min_count):
    """With two codes, the first are no extreme points: were they, Y₂ would be private under any prior on their support."""
    rows = small_table(seed, n=90)
    first = fit(rows, "W", ["a", "b"], ["a", "b", "c", "W"], min_count=min_count, tol=1e-4, codes=2)
    second = fit_after(first, rows, "V", ["b"], ["V", "a", "b", "c", "W"], min_count=min_count, tol=1e-3, codes=3)
    assert second.disclosure.verify()["verified"]
    assert second.recipe.use == ("a", "b", "c", "W", "V")
    assert second.recipe.after.digest == first.digest
    assert second.key == first.key
    pairs, of_pair = channel(second), second.recipe.after.first
    for group in (["a"], ["b"]):
        assert not leaks(rows, states(second, rows), pairs, group)
    assert leaks(rows, states(second, rows), pairs, ["V"])
    for row in rows:
        denominator, entries = pairs[second.recipe.state_of(row)]
        found = Counter()
        for y, n in entries:
            found[of_pair[y]] += Fraction(n, denominator)
        bottom, before = channel(first)[first.recipe.state_of(row)]
        assert found == Counter({y: Fraction(n, bottom) for y, n in before})
    assert second.disclosure.information <= second.disclosure.upper_bound


def test_two_releases_fitted_apart_do_leak_together():
    rows = small_table(1)
    one = fit(rows, "W", ["a", "b"], ["a", "b", "W"], codes=3)
    two = fit(rows, "V", ["a", "b"], ["a", "b", "c", "V"], codes=3)
    both = []
    for row in rows:
        (d1, e1), (d2, e2) = channel(one)[one.recipe.state_of(row)], channel(two)[two.recipe.state_of(row)]
        both.append((d1 * d2, tuple((y1 * two.disclosure.codes + y2, n1 * n2) for y1, n1 in e1 for y2, n2 in e2)))
    assert any(leaks(rows, range(len(rows)), both, [name]) for name in ("a", "b"))


def test_what_the_first_code_tells_about_the_second_target_and_what_is_added():
    """V is W with noise, so the first code tells about it; a direct sum over (v, y1) says how much."""
    rng = random.Random(4)
    rows = []
    for _ in range(300):
        a, b = rng.randrange(2), rng.randrange(2)
        w = a ^ b ^ (rng.random() < 0.1)
        rows.append({"W": w, "V": w ^ (rng.random() < 0.2), "a": a, "b": b})
    first = fit(rows, "W", ["a", "b"], ["a", "b"])
    second = fit_after(first, rows, "V", ["a", "b"], ["a", "b"])
    joint = Counter()
    for row in rows:
        denominator, entries = first.disclosure.exact_channel.rows[first.recipe.state_of(row)]
        for y, n in entries:
            joint[row["V"], y] += n / denominator / len(rows)
    v, y = Counter(), Counter()
    for (one, other), p in joint.items():
        v[one] += p
        y[other] += p
    alone = sum(p * math.log2(p / (v[i] * y[j])) for (i, j), p in joint.items() if p)
    assert told_by_first(second) == pytest.approx(alone)
    assert 0.05 < told_by_first(second) <= second.disclosure.information + 1e-12
    with pytest.raises(ProblemError, match="not made after"):
        told_by_first(first)


def test_a_second_release_is_refused_where_it_cannot_be_safe(tmp_path):
    rows = small_table(2)
    first = fit(rows, "W", ["a", "b"], ["a", "b", "W"], codes=3)
    asked = ("V", ["b"], ["a", "b", "c", "V", "W"])
    for changed in ([*rows, rows[0]], rows[1:], rows[::-1], [{**rows[0], "c": 2 - rows[0]["c"]}, *rows[1:]]):
        if changed != rows:
            with pytest.raises(ProblemError, match="digest differs"):
                fit_after(first, changed, *asked)
    with pytest.raises(ProblemError, match="already tells about 'c'"):
        fit_after(first, rows, "V", ["c"], ["a", "b", "c", "V", "W"])
    with pytest.raises(ProblemError, match="revealed and protected"):
        fit_after(first, rows, "a", ["b"], ["a", "b", "c", "W"])
    with pytest.raises(ProblemError, match="from the earlier release"):
        fit_after(first, rows, *asked, bins={"a": 2})
    second = fit_after(first, rows, *asked, codes=2)
    with pytest.raises(ProblemError, match="after another"):
        fit_after(second, rows, "c", ["b"], ["a"])
    with pytest.raises(ProblemError, match="'dirichlet'"):
        fit_after(fit(rows, "W", ["a"], ["a", "b"], law="dirichlet", codes=2), rows, *asked)
    first.save(tmp_path / "first.choral", tmp_path / "first.key")
    with pytest.raises(ReleaseFileError, match="key="):
        fit_after(load_release(tmp_path / "first.choral"), rows, *asked, codes=2)
    file = second.save(tmp_path / "second.choral")
    assert load_release(file).recipe.after == second.recipe.after


@pytest.mark.parametrize("use", [["b", "c"], ["c"], "b,c", None])
def test_a_second_release_looks_at_nothing_that_was_not_asked_for(use):
    """The first looks at W, which is the target of the second, and at a: a code that looked at them would tell W itself."""
    rows = small_table(3)
    first = fit(rows, "V", ["b"], ["a", "b", "W"], codes=2)
    with pytest.raises(ProblemError) as refused:
        fit_after(first, rows, "W", ["b"], use)
    assert "looks at" in refused.value.what
    assert "W" in refused.value.what
    named = refused.value.remedy.split("--use ")[1].split(".")[0].split(",")
    second = fit_after(first, rows, "W", ["b"], named, codes=2)
    assert set(second.recipe.use) == set(named) == {"a", "b", "W"} | ({"V", "c"} if use is None else set(use) - {","})


def test_the_law_in_a_release_is_that_of_the_table(release):
    rows = clinic()
    edges = release.recipe.column("age").edges
    document = json.loads(json.dumps(release.disclosure.document))
    columns, cells = document["law"]["columns"], document["law"]["cells"]
    total = sum(int(cell[-1], 16) for cell in cells)
    found = Counter()
    for *cell, weight in cells:
        values = dict(
            zip(columns, (a[i] for a, i in zip(document["law"]["alphabets"], cell, strict=True)), strict=True)
        )
        found[values["outcome"], values["age"], values["sex"]] += Fraction(int(weight, 16), total)
    names = release.recipe.column("age").values
    expected = Counter()
    for row in rows:
        expected[row["outcome"], names[sum(row["age"] >= edge for edge in edges)], row["sex"]] += Fraction(1, len(rows))
    assert found == expected
    assert isinstance(release.disclosure.law, Joint)


@pytest.mark.parametrize(
    "budget",
    [{}, {"ratio": {"a": "1.1"}}, {"leakage": {"b": "0.001"}}, {"leakage": {"a": "0.01"}, "ratio": {"b": "1.05"}}],
)
def test_by_default_the_codes_are_as_few_as_people_read_and_the_search_is_certified(budget):
    """Where lines are searched and more than sixteen codes may be best; a tolerance that is said has all of them."""
    draw = np.random.default_rng(3)
    columns = {name: draw.integers(0, size, 4000) for name, size in (("a", 4), ("b", 3), ("c", 5))}
    chance = 0.2 + 0.1 * columns["a"] + 0.08 * columns["c"] * (columns["b"] == 1)
    table = pd.DataFrame({**columns, "w": (draw.random(4000) < chance).astype(int)})
    few, all_ = (fit(table, "w", ["a", "b"], ["a", "b", "c"], **asked, **budget) for asked in ({}, {"tol": 1e-5}))
    assert few.codes <= 16 < all_.codes
    assert few.verify()["verified"]
    assert all_.gap <= 1e-5
    assert few.information >= 0.989 * all_.information
    assert all_.information <= few.upper_bound <= all_.upper_bound * (1 + 2e-3)


def test_records_counted_in_one_pass_are_those_counted_column_by_column(tmp_path, monkeypatch):
    rng = random.Random(7)
    rows = [
        {
            "w": rng.choice(["yes", "no"]),
            "choral count": rng.choice([None, 0.0, -0.0, 1.5, math.nan]),
            "z": rng.choice([True, False]),
            "day": rng.choice([None, datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]),
        }
        for _ in range(400)
    ]
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)

    def posed(**rules):
        question = Question("w", ["z"], ["z", "choral count", "day"])
        with opened(path) as table:
            found = pose_table(table, question, TableRules(min_count=1, **rules))
        return found.law.cells, [column.values for column in found.recipe.columns], found.recipe.table_rows

    for missing in ("value", "drop"):
        at_once = posed(missing=missing)
        with monkeypatch.context() as patched:
            patched.setattr("choral.release.fit.grouped", lambda table, *_: table)
            assert posed(missing=missing) == at_once
        with monkeypatch.context() as patched:
            patched.setattr("choral.tables.counting.MOST_CELLS", 3)
            with pytest.raises(TooLargeError, match="different combinations"):
                posed(missing=missing)
