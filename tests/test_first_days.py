"""What people met on their first days with choral, each as it is now."""

from __future__ import annotations

import random
import re

import pytest
from typer.testing import CliRunner

import choral as ch
from choral.errors import ProblemError
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


def rarely_ill(n=600, seed=5):
    """Records of whom few are ill, so that the best guess is always the same; what others know goes with sex."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        sex, job = draw.choice("fm"), draw.choice("ab")
        town = "n" if draw.random() < (0.8 if sex == "f" else 0.3) else "s"
        ill = draw.random() < (0.12 if (sex == "f") == (job == "a") else 0.01)
        rows.append({"ill": int(ill), "sex": sex, "job": job, "town": town})
    return rows


def test_what_a_promise_costs_is_said_in_the_unit_of_the_result(tmp_path):
    """Of a rare target the result says how often the most telling code finds it; the price said right guesses."""
    rows = rarely_ill()
    table, release = written(tmp_path / "t.csv", rows), tmp_path / "r.choral"
    said = run("fit", table, "--reveal", "ill", "--protect", "sex", "--use", "sex,job", "-o", release).stdout
    result, others = (
        next(line for line in said.splitlines() if line.startswith(word)) for word in ("result", "others")
    )
    often = re.search(r"ill = 1 in (\S+ %) of the records with the most telling code", result)[1]
    cost = re.search(r"'(sex \| \w+)' added .* \(ill = 1 in (\S+) % instead of (\S+ %) of as many records", others)
    assert cost[3] == often
    assert "guessed right" not in others
    # the same by another way: a fit with the promise, its codes in order of how often they find it, up to the same share
    known = cost[1].split(" | ")[1]
    again = ch.fit(rows, "ill", ["sex", cost[1]], use=list(dict.fromkeys(["sex", "job", known])))
    top, share = ch.load_release(release).meaning.find, 0.0
    hits, left = 0.0, float(top.share)
    codes = zip(again.disclosure.p_w_given_y, again.disclosure.p_y, strict=True)
    found = sorted(((float(p[1]), float(q)) for p, q in codes), reverse=True)
    for p, q in found:
        share = min(q, left)
        hits, left = hits + p * share, left - share
    assert float(cost[2]) == pytest.approx(100 * hits / float(top.share), rel=0.05)
