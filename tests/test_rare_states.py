"""Rare combinations back off within one value of what is protected; nothing is told by that, and more columns tell more."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.test_ordinary_tables import run, write

import choral as ch
from choral.errors import ProblemError, TooLargeError
from choral.problem.question import Question
from choral.release.fit import fit, pose_table
from choral.tables.opening import open_table
from choral.tables.rare import back_off, check_not_unique
from choral.tables.rules import TableRules
from choral.tables.states import merge_rare

CELLS = st.dictionaries(
    st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), st.integers(1, 9), min_size=2, max_size=30
)


@settings(max_examples=60, deadline=None)
@given(CELLS, st.integers(1, 12), st.sampled_from([None, "keep", "merge"]))
def test_backing_off_merges_within_parts_and_leaves_no_state_rare_that_need_not_be(counts, least, rule):
    try:
        found = back_off(counts, least, [0], [1, 2], rule)
    except ProblemError:
        assume(False)
    states = [[cell] for cell in found.kept] + found.merged
    assert sorted(cell for state in states for cell in state) == sorted(counts)
    parts = Counter()
    for cell, n in counts.items():
        parts[cell[0]] += n
    for state in states[:-1] if found.across else states:
        assert len({cell[0] for cell in state}) == 1
        total = sum(counts[cell] for cell in state)
        assert total >= least or total == parts[state[0][0]]
    for state in found.merged if not found.across else found.merged[:-1]:
        assert min(counts[cell] for cell in state) < least


def test_what_differs_in_the_least_telling_column_is_merged_first():
    counts = {("f", a, b): 3 for a in range(3) for b in range(4)}
    by_first, by_second = back_off(counts, 5, [0], [1, 2]), back_off(counts, 5, [0], [2, 1])
    assert [{cell[1] for cell in state} for state in by_first.merged] == [{0}, {1}, {2}]
    assert [{cell[2] for cell in state} for state in by_second.merged] == [{0}, {1}, {2}, {3}]


def rows(n=600, seed=5):
    """W depends on a and b; c has 60 values and says nothing; ages above 80 are rare."""
    draw = random.Random(seed)
    found = []
    for _ in range(n):
        sex, a, b, c = draw.choice("fm"), draw.randrange(4), draw.randrange(3), draw.randrange(60)
        found.append(
            {"W": int(draw.random() < (0.1, 0.4, 0.6, 0.95)[a] - 0.05 * b), "sex": sex, "a": a, "b": b, "c": c}
        )
    return found


def _posed(table, use, **rules):
    return pose_table(open_table(table), Question("W", ["sex"], use), TableRules(**rules))


def test_a_column_that_says_nothing_takes_nothing_away():
    """All rare combinations were one state, whatever they were: with c, one state was left."""
    few, many = _posed(rows(), ["sex", "a", "b"]), _posed(rows(), ["sex", "a", "b", "c"])
    assert many.problem.information_of_states >= few.problem.information_of_states - 1e-9
    with pytest.raises(ProblemError, match="leaves one"):
        merge_rare(Counter((r["sex"], r["a"], r["b"], r["c"]) for r in rows()), 5)
    assert len(many.recipe.merged) == 24


def test_protected_values_stay_functions_of_the_state_and_the_closed_form_stays_there():
    release = fit(rows(), "W", ["sex"], ["sex", "a", "b", "c"])
    recipe, found = release.recipe, release.disclosure
    assert recipe.merged
    assert recipe.beside == ("sex",)
    assert all(group.is_function for group in found.problem.groups)
    assert "rank" in found.how
    assert found.upper_bound - found.information < 1e-6
    assert found.upper_bound < found.problem.information_of_states
    assert ch.disclose(found.law, "W", ["sex"], [recipe.state_column], solver="sandwich", tol=1e-3).information <= (
        found.upper_bound
    )


def test_it_is_saved_loaded_verified_and_disclosed(tmp_path):
    table = write(tmp_path / "t.csv", [{"who": i, **row} for i, row in enumerate(rows())])
    fit(table, "W", ["sex"], ["sex", "a", "b", "c"]).save(tmp_path / "r.choral")
    release = ch.load_release(tmp_path / "r.choral")
    assert release.verify()["verified"]
    source = open_table(table, release.recipe.as_read)
    found = source.connection.execute(release.recipe.select(source.sql, source.columns)).fetchall()
    states = [release.recipe.state_of(row) for row in rows()]
    assert [state for (state,) in found] == states
    assert min(Counter(states).values()) >= 5
    joint = Counter((row["sex"], s) for row, s in zip(rows(), states, strict=True))
    assert len({s for _, s in joint}) == len(joint)


def _with_rare(n=2):
    return [*rows(), *({"W": i % 2, "sex": "x", "a": i, "b": 0, "c": 0} for i in range(n))]


def test_a_rare_protected_value_is_kept_with_a_warning_or_as_decided(tmp_path):
    table = write(tmp_path / "t.csv", _with_rare())
    asked = (
        "fit",
        table,
        "--reveal",
        "W",
        "--protect",
        "sex",
        "--use",
        "sex,a,b",
        "-o",
        tmp_path / "r.choral",
        "--force",
    )
    said = run(*asked).output
    assert "WARNING      few records have the protected values sex=x (2 records)" in said
    kept = ch.load_release(tmp_path / "r.choral").recipe
    assert kept.beside == ("sex",)
    assert kept.state_of({"sex": "x", "a": 0, "b": 0}) == kept.state_of({"sex": "x", "a": 1, "b": 0})
    assert "WARNING" not in run(*asked, "--rare", "keep").output
    two = [*_with_rare(), *({"W": i % 2, "sex": "y", "a": i, "b": 0, "c": 0} for i in range(2))]
    write(tmp_path / "t.csv", two)
    assert "WARNING" not in run(*asked, "--rare", "merge").output
    merged = ch.load_release(tmp_path / "r.choral").recipe
    assert merged.beside == ()
    assert merged.state_of({"sex": "x", "a": 0, "b": 0}) == merged.state_of({"sex": "y", "a": 0, "b": 0})
    with pytest.raises(ProblemError, match="rare='sometimes'"):
        run(*asked, "--rare", "sometimes")


def test_rare_parts_that_are_most_of_the_table_are_merged_across():
    counts = {(i, j): 1 + (i == 0) * 9 for i in range(9) for j in range(2)}
    assert back_off(counts, 5, [0], [1]).across
    assert not back_off(counts, 5, [0], [1], "keep").across


def test_where_all_that_is_used_is_protected_merging_is_as_it_was():
    table = [{"W": i % 2, "a": i % 7, "b": i % 11 // 10} for i in range(60)]
    recipe = fit(table, "W", ["a", "b"], ["a", "b"]).recipe
    kept, merged = merge_rare(Counter((i % 7, i % 11 // 10) for i in range(60)), 5)
    assert (recipe.kept, recipe.merged, recipe.beside) == (len(kept), (len(merged[0]),), ())
    with pytest.raises(ProblemError, match="every used column is protected"):
        fit(table, "W", ["a", "b"], ["a", "b"], rare="keep")


def test_advice_to_merge_less_says_how_many_states_that_gives():
    with pytest.raises(ProblemError, match="min_count=1 merges nothing and gives 24 states for 600 records"):
        fit(rows(), "W", ["sex"], ["sex", "a", "b"], min_count=10_000, rare="merge")


def test_combinations_that_are_nearly_unique_are_refused():
    with pytest.raises(TooLargeError, match="45211 different combinations of values in 45211 records"):
        check_not_unique(45_211, 45_211)
    check_not_unique(400, 400)
    check_not_unique(45_211, 1_000_000)


def test_bounds_and_plan_name_merging_as_the_cause(tmp_path):
    table = write(tmp_path / "t.csv", rows(200))
    for command in ("bounds", "plan"):
        said = run(command, table, "--reveal", "W", "--protect", "sex", "--use", "sex,a,b,c").output
        assert "% of the records have combinations of values that are merged as rare" in said
    done = run(
        "fit", table, "--reveal", "W", "--protect", "sex", "--use", "sex,a,b,c", "-o", tmp_path / "r.choral"
    ).output
    assert "% of the records: those that occur less than 5 times" in done
