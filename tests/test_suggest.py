"""`choral suggest`: what may be worth protecting, what it costs at least, and a line that can be run."""

from __future__ import annotations

import json
import math
import random
import shlex
from collections import Counter

import pytest
from in_process import choral
from tests.test_ordinary_tables import run, write

import choral as ch
from choral.errors import ChoralError
from choral.tables.opening import open_table
from choral.tables.suggest import suggest


def rows(n=400, seed=1):
    """W leans on sex; relation gives sex away in most rows; verdict is W but for one row in fifty."""
    draw = random.Random(seed)
    found = []
    for i in range(n):
        sex = draw.choice("fm")
        w = int(draw.random() < (0.3 if sex == "f" else 0.6))
        relation = "wife" if sex == "f" and draw.random() < 0.8 else "husband" if draw.random() < 0.7 else "other"
        found.append(
            {
                "who": f"p{i}",
                "W": w,
                "sex": sex,
                "relation": relation,
                "town": draw.choice("xyz"),
                "verdict": w ^ (i % 50 == 0),
            }
        )
    return found


def _bits(table, one, other):
    both, n = Counter((row[one], row[other]) for row in table), len(table)
    first, second = Counter(row[one] for row in table), Counter(row[other] for row in table)
    return sum(c / n * math.log2(c * n / (first[x] * second[y])) for (x, y), c in both.items())


def test_usual_names_come_first_with_what_they_cost_and_what_gives_them_away():
    table = rows()
    found = suggest(open_table(table), "W")
    first = found.columns[0]
    assert (first.name, first.usual, first.known_by) == ("sex", True, "relation")
    assert first.tells == pytest.approx(_bits(table, "sex", "W") - 1 / (2 * len(table) * math.log(2)))
    assert first.known_share == pytest.approx((_bits(table, "sex", "relation") - 2 / (2 * len(table) * math.log(2))) / _bits(
        table, "sex", "sex"))  # fmt: skip
    assert found.guessed == max(Counter(row["W"] for row in table).values()) / len(table)
    assert found.protect == ["sex"]
    assert found.close == ["verdict"]
    assert "who" not in [column.name for column in found.columns]


def test_the_line_to_copy_can_be_run(tmp_path):
    table = write(tmp_path / "t.csv", [{**row, "copy": "ny"[row["W"]]} for row in rows()])
    said = run("suggest", table, "--reveal", "W", "--id", "who").output.splitlines()
    assert said[0].split()[0] == "column"
    assert said[1].split()[:2] == ["sex", "yes"]
    assert any("copy: gives the target away" in line for line in said)
    assert any("verdict: nearly a copy" in line for line in said)
    assert any("--against relation" in line for line in said)
    words = shlex.split(said[-1])
    assert words[:2] == ["choral", "fit"]
    words[-1] = str(tmp_path / words[-1])
    assert run(*words[1:], "--drop", "copy,verdict").exit_code == 0
    assert [list(group) for group in ch.load_release(words[-1]).recipe.protect] == [["sex"]]


def test_it_speaks_json_and_refuses_what_is_no_table(tmp_path):
    table = write(tmp_path / "t.csv", rows())
    found = json.loads(run("suggest", table, "--reveal", "W", "--json").output)
    assert found["protect"] == ["sex"]
    assert found["fit"].startswith("choral fit ")
    with pytest.raises(ChoralError, match="law without a table"):
        run("suggest", "example:clinic")
    with pytest.raises(ChoralError, match="`reveal` names 'Q'"):
        run("suggest", table, "--reveal", "Q")


def test_without_a_usual_name_what_says_most_is_shown():
    table = [{"W": row["W"], "alpha": row["sex"], "town": row["town"]} for row in rows()]
    found = suggest(open_table(table), "W")
    assert found.protect == ["alpha"]
    assert [column.usual for column in found.columns] == [False, False]


def test_of_a_number_of_many_values_the_interval_is_guessed(tmp_path):
    """Which of hundreds of prices it is nobody guesses."""
    draw = random.Random(2)
    rows = ["price,rooms,town"]
    for _ in range(800):
        rooms = draw.randint(1, 8)
        rows.append(f"{100 * rooms + draw.randint(0, 99)},{rooms},{draw.choice('abc')}")
    table = tmp_path / "t.csv"
    table.write_text("\n".join(rows) + "\n")
    done = choral("suggest", table, "--reveal", "price")
    assert "Guessed right: in which of 8 intervals price lies" in " ".join(done.stdout.split())
    found = json.loads(choral("suggest", table, "--reveal", "price", "--json").stdout)
    assert found["guess"] < 0.15
    best = max(found["columns"], key=lambda column: column["guessed"])
    assert best["name"] == "rooms"
    assert best["guessed"] > 0.7
