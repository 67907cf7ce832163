"""What people met on their first days with choral, each as it is now."""

from __future__ import annotations

import random

import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import ChoralError, ProblemError
from choral.show.cli import app


def run(*words, **more):
    return CliRunner(**more).invoke(app, [str(word) for word in words], catch_exceptions=False)


def people(n=400, seed=5):
    """Records whose target goes with a column that is private and one that is not."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, job = draw.choice("fm"), draw.choice("abc")
        rows.append({"ill": int(draw.random() < 0.3 + 0.2 * (sex == "f") + 0.2 * (job == "a")), "sex": sex, "job": job})
    return rows


def written(path, rows):
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")
    return path


@pytest.mark.parametrize("use", [None, ["sex", "job"]])
def test_a_table_that_is_too_small_is_said_to_be_and_no_column_is_blamed(use):
    rows = [{**row, "who": f"n{i}"} for i, row in enumerate(people(5, seed=7))]
    with pytest.raises(ProblemError, match="has 5 records, which is too few") as caught:
        ch.fit(rows, "ill", ["sex"], use)
    assert "at least 20" in caught.value.remedy
    assert "--drop" not in str(caught.value)
    ch.fit(people(20), "ill", ["sex"])
