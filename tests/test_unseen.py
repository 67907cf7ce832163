"""Combinations that were not seen belong to a state of the same protected values, where that was asked for."""

from __future__ import annotations

import random
from typing import get_type_hints

import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.test_ordinary_tables import people, run, write

import choral as ch
from choral.errors import ChoralError
from choral.release.fit import fit
from choral.show.commands.fit import fit as fit_command
from choral.sklearn import PrivateCodes
from choral.tables.opening import open_table


def rows(n=300, seed=2):
    draw = random.Random(seed)
    return [
        {"W": draw.randrange(2), "sex": draw.choice("fm"), "a": draw.randrange(6), "b": draw.choice("uvwxyz")}
        for _ in range(n)
    ]


NEW = [
    {"sex": "f", "a": 0, "b": "never seen"},
    {"sex": "m", "a": 99, "b": "u"},
    {"sex": "f", "a": None, "b": None},
]


def test_what_was_not_seen_goes_to_one_state_of_its_protected_values_in_sql_and_in_python(tmp_path):
    table = [row for row in rows() if (row["sex"], row["a"]) != ("f", 3)]
    fit(table, "W", ["sex"], ["sex", "a", "b"], unseen="rare").save(tmp_path / "r.choral")
    recipe = ch.load_release(tmp_path / "r.choral").recipe
    new = [*NEW, {"sex": "f", "a": 3, "b": "u"}, {"sex": "x", "a": 1, "b": "u"}]
    source = open_table([*rows(), *new], recipe.as_read)
    found = [state for (state,) in source.connection.execute(recipe.select(source.sql, source.columns)).fetchall()]
    assert found == [recipe.state_of(row) for row in [*rows(), *new]]
    assert found[-1] == -1
    assert -1 not in found[:-1]
    of_women = {recipe.state_of(row) for row in table if row["sex"] == "f"}
    assert found[-5] == found[-3] == found[-2]
    assert found[-2] in of_women
    assert found[-4] not in of_women


def test_where_nothing_promised_is_used_there_is_one_such_state():
    recipe = fit(rows(), "W", ["sex"], ["a", "b"], unseen="rare").recipe
    assert recipe.state_of({"a": 77, "b": "u"}) == recipe.state_of({"a": 1, "b": "q"}) >= 0


def test_a_new_protected_value_is_refused(tmp_path):
    table = write(tmp_path / "t.csv", people())
    asked = (
        "--reveal",
        "W",
        "--protect",
        "sex",
        "--use",
        "sex,region",
        "--unseen",
        "rare",
        "-o",
        tmp_path / "r.choral",
    )
    assert "those with new protected values are refused" in run("fit", table, *asked).output
    for column, value, fails in (("region", "west", False), ("sex", "x", True)):
        other = write(tmp_path / f"{column}.csv", [{**people()[0], column: value}])
        command = ("disclose", tmp_path / "r.choral", other, "--id", "who", "-o", tmp_path / f"{column}_codes.csv")
        if fails:
            with pytest.raises(ChoralError, match="not seen"):
                run(*command)
        else:
            assert run(*command).exit_code == 0


def test_cross_validation_works_by_default():
    """One record of a kind that no other fold has made `transform` fail."""
    table = rows(120)
    table[0]["b"] = "once"
    frame = pd.DataFrame(table)[["sex", "a", "b"]]
    pipeline = make_pipeline(
        PrivateCodes(protect=["sex"], random_state=0), OneHotEncoder(handle_unknown="ignore"), DecisionTreeClassifier()
    )
    scores = cross_val_score(pipeline, frame, [row["W"] for row in table], cv=4, error_score="raise")
    assert len(scores) == 4


# ---- small frictions -----------------------------------------------------------------------------------------------


def test_everybody_may_read_a_public_card_and_nobody_else_a_release(tmp_path):
    table = write(tmp_path / "t.csv", people())
    asked = ("--reveal", "W", "--protect", "sex", "--use", "sex,region")
    run("fit", table, *asked, "-o", tmp_path / "r.choral", "--card", tmp_path / "card.json")
    assert (tmp_path / "card.json").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "r.choral").stat().st_mode & 0o077 == 0


def test_a_budget_for_what_is_not_protected_names_what_is():
    with pytest.raises(ChoralError, match=r"names 'age', which is no protected group. What is protected is race."):
        ch.disclose(
            ch.Joint.from_counts({(0, 0, 0): 1, (1, 1, 1): 2, (0, 1, 0): 1}, ["W", "race", "age"]),
            "W",
            ["race"],
            leakage={"age": 0.1},
        )


def test_help_and_error_name_the_same_solvers():
    with pytest.raises(ChoralError) as caught:
        ch.disclose(ch.examples.xor(), solver="magic")
    names = caught.value.remedy.removeprefix("Choose one of: ").rstrip(".").split(", ")
    said = str(get_type_hints(fit_command, include_extras=True)["solver"].__metadata__[0].help)
    assert all(name in said for name in names)
