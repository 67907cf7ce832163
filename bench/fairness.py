"""choral beside Fairlearn's ThresholdOptimizer and ExponentiatedGradient: the same score, the same table, the same figures.

A table is generated (a census of people with sex, race, age, schooling, hours and whether their income is high); a logistic
regression that was fitted on a third of it gives a score, which is cut into bins; decisions are made on the second third, and
looked at there and on the last. What a method decides is a probability in every state (a bin of the score, sex, race), so
accuracy and gaps are computed here, for all methods alike, without a draw. Ends with an error where choral's gap on the table
is not zero, or where a method with no larger gap decides better.

    FAIRLEARN_PYTHON=.venvs/fairlearn/bin/python python bench/fairness.py [--rows 60000]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

import choral as ch

Counts = npt.NDArray[np.int64]
BINS = 24
"""Of the score: finer ones are rarer than the differences between the methods."""
COLUMNS = ("sex", "race")
ASKED = {"sex": [("sex",)], "race": [("race",)], "sex×race": [("sex", "race")], "sex, race each": [("sex",), ("race",)]}
CONDITIONS = {"parity": "", "odds": " | income", "opportunity": ' | "income=1"'}
METHODS = {"thresholds": "ThresholdOptimizer", "reduction": "ExponentiatedGradient"}
CLOSE = 1e-9
"""Differences of accuracies below this are rounding of floats."""


def census(
    rows: int, seed: int = 0
) -> tuple[dict[str, npt.NDArray[Any]], npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Columns that are protected, features of a model, and the outcome, of people whose groups differ in all of them."""
    random = np.random.default_rng(seed)
    sex = random.choice(["f", "m"], rows, p=[0.34, 0.66])
    race = random.choice(["a", "b", "c"], rows, p=[0.1, 0.04, 0.86])
    age = random.gamma(6, 6.5, rows) + 16
    school = np.clip(np.rint(random.normal(10, 2.6, rows) + 0.5 * (race == "b") - 0.7 * (race == "a")), 1, 16)
    hours = np.clip(random.normal(38, 11, rows) + 6 * (sex == "m"), 1, 99)
    married = random.random(rows) < np.where(sex == "m", 0.61, 0.16)
    z = -9 + 0.05 * np.minimum(age, 55) + 0.33 * school + 0.03 * hours + 2.1 * married - 0.3 * (race == "a")
    income = (random.random(rows) < 1 / (1 + np.exp(-z))).astype(np.int64)
    features = np.column_stack([age, np.minimum(age, 55), school, hours, married])
    return {"sex": sex, "race": race}, features, income


@dataclass(frozen=True)
class Table:
    """States (a bin of the score with protected values), the score of each bin, and counts of outcomes: fitted, held out."""

    states: list[tuple[Any, ...]]
    score: list[float]
    fitted: Counts
    held_out: Counts

    def over(self, columns: tuple[str, ...]) -> Table:
        """The table as somebody sees it who looks at these columns alone, and to whom every state belongs."""
        places = [0, *(1 + COLUMNS.index(name) for name in columns)]
        number: dict[tuple[Any, ...], int] = {}
        to = [number.setdefault(tuple(state[i] for i in places), len(number)) for state in self.states]
        sums = [np.zeros((len(number), 2), dtype=np.int64) for _ in range(2)]
        for total, counts in zip(sums, (self.fitted, self.held_out), strict=True):
            np.add.at(total, to, counts)
        score = [self.score[to.index(s)] for s in range(len(number))]
        return Table(list(number), score, *sums)


def tabled(rows: int) -> Table:
    """The census with its score, in thirds: for the model, for the decisions, held out."""
    protected, features, income = census(rows)
    third = rows // 3
    model = LogisticRegression(max_iter=1000).fit(features[:third], income[:third])
    score = model.predict_proba(features)[:, 1]
    edges = np.quantile(score[:third], np.linspace(0, 1, BINS + 1)[1:-1])
    bins = np.searchsorted(edges, score)
    means = [float(score[:third][bins[:third] == b].mean()) for b in range(BINS)]
    keys = list(zip(bins.tolist(), *(protected[name].tolist() for name in COLUMNS), strict=True))
    states = sorted(set(keys[third : 2 * third]))
    number = {state: s for s, state in enumerate(states)}
    counts = [np.zeros((len(states), 2), dtype=np.int64) for _ in range(2)]
    for part, start in zip(counts, (third, 2 * third), strict=True):
        for key, y in zip(keys[start : start + third], income[start : start + third].tolist(), strict=True):
            if key in number:
                part[number[key], y] += 1
    return Table(states, [means[state[0]] for state in states], *counts)


def accuracy(decides: list[float], counts: Counts) -> float:
    """The share of right decisions."""
    yes = np.array(decides)
    return float((counts[:, 1] * yes + counts[:, 0] * (1 - yes)).sum() / counts.sum())


def gap(decides: list[float], table: Table, counts: Counts, columns: list[tuple[str, ...]], constraint: str) -> float:
    """The largest difference of two groups' rates of being decided for, among whom the constraint is about."""
    yes, worst = np.array(decides), 0.0
    among = {"parity": [(0, 1)], "odds": [(0,), (1,)], "opportunity": [(1,)]}[constraint]
    for group in columns:
        keys = [tuple(state[1 + COLUMNS.index(name)] for name in group) for state in table.states]
        for outcomes in among:
            weights, rates = counts[:, list(outcomes)].sum(axis=1), []
            for key in set(keys):
                here = weights * [k == key for k in keys]
                if here.sum():
                    rates.append(float(here @ yes / here.sum()))
            worst = max(worst, max(rates) - min(rates))
    return worst


def exactly_equal(d: ch.Disclosure) -> bool:
    """Whether the verifier finds every promise kept: an equation between integers."""
    return bool(d.verify()["verified"])


def chorals(table: Table, columns: list[tuple[str, ...]], constraint: str) -> tuple[list[float], float, Fraction, bool]:
    """What choral decides in every state, in how many seconds, with how many right exactly, and whether that is verified."""
    seen = tuple(dict.fromkeys(name for group in columns for name in group))
    small = table.over(seen)
    begun = time.perf_counter()
    law = ch.Joint.from_counts(
        {
            (y, *state): int(n)
            for state, row in zip(small.states, small.fitted, strict=True)
            for y, n in enumerate(row)
            if n
        },
        ["income", "bin", *seen],
    )
    promises = ["+".join(group) + CONDITIONS[constraint] for group in columns]
    d = ch.disclose(law, "income", promises, ["bin", *seen], utility="accuracy")
    seconds = time.perf_counter() - begun
    assert d.claims.value == d.claims.value_bound, "the optimum is proved"
    chosen = [y for y, action in enumerate(d.actions) if action == 1]
    places = [0, *(1 + COLUMNS.index(name) for name in seen)]
    rows = {state: d.channel_of(dict(zip(["bin", *seen], state, strict=True))) for state in small.states}
    decides = [float(sum(rows[tuple(state[i] for i in places)][y] for y in chosen)) for state in table.states]
    return decides, seconds, Fraction(d.claims.value), exactly_equal(d)


def peers(table: Table, asked: list[tuple[str, str, list[int]]]) -> list[dict[str, Any]]:
    """What Fairlearn decides, each over the columns that it is asked about."""
    found = []
    for method, constraint, groups in asked:
        columns = tuple(COLUMNS[g] for g in groups)
        small = table.over(columns)
        question = {
            "columns": columns,
            "states": small.states,
            "score": small.score,
            "counts": small.fitted.tolist(),
            "asked": [(method, constraint, list(range(len(groups))))],
        }
        peer = [os.environ["FAIRLEARN_PYTHON"], str(Path(__file__).with_name("peer_fairlearn.py"))]
        done = subprocess.run(peer, input=json.dumps(question), capture_output=True, text=True, check=True)
        [told] = json.loads(done.stdout)
        row = dict(zip(small.states, told["decides"], strict=True))
        places = [0, *(1 + i for i in groups)]
        told["decides"] = [row[tuple(state[i] for i in places)] for state in table.states]
        found.append(told)
    return found


@dataclass(frozen=True)
class Figures:
    """What is said of one method: right decisions and gaps, on the table and held out, and seconds to fit."""

    right: tuple[float, float]
    gaps: tuple[float, float]
    seconds: float

    @classmethod
    def of(
        cls, table: Table, columns: list[tuple[str, ...]], constraint: str, decides: list[float], seconds: float
    ) -> Figures:
        """Computed alike for every method, from the probabilities of its decisions."""
        parts = table.fitted, table.held_out
        gaps = [gap(decides, table, counts, columns, constraint) for counts in parts]
        return cls((accuracy(decides, parts[0]), accuracy(decides, parts[1])), (gaps[0], gaps[1]), seconds)


def compared(table: Table, columns: list[tuple[str, ...]], constraint: str) -> dict[str, Figures]:
    """Every method that can be asked for this, choral first."""
    decides, seconds, value, verified = chorals(table, columns, constraint)
    found = {"choral": Figures.of(table, columns, constraint, decides, seconds)}
    if not verified or abs(found["choral"].right[0] - float(value)) > CLOSE:
        sys.exit(f"choral's own claim about {constraint} of {columns} does not hold")
    if len(columns) == 1:
        groups = [COLUMNS.index(column) for column in columns[0]]
        told = peers(table, [(method, constraint, groups) for method in METHODS])
        for name, one in zip(METHODS.values(), told, strict=True):
            found[name] = Figures.of(table, columns, constraint, one["decides"], one["seconds"])
    return found


def main() -> None:
    """Print the table; end with an error where choral is behind a method that is as equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    table = tabled(parser.parse_args().rows)
    sizes = int(table.fitted.sum()), int(table.held_out.sum()), len(table.states)
    print("{} rows to decide on, {} held out; {} states\n".format(*sizes))
    print("| equal | groups | method | right | gap | right, held out | gap, held out | seconds |\n" + "|---" * 8 + "|")
    behind = []
    for constraint in CONDITIONS:
        for name, columns in ASKED.items():
            found = compared(table, columns, constraint)
            for method, one in found.items():
                between = "0, exactly" if method == "choral" else f"{one.gaps[0]:.5f}"
                figures = f"{one.right[0]:.5f} | {between} | {one.right[1]:.5f} | {one.gaps[1]:.4f} | {one.seconds:.2f}"
                print(f"| {constraint} | {name} | {method} | {figures} |", flush=True)
            ours = found["choral"]
            better = [m for m, one in found.items() if one.gaps[0] <= CLOSE and one.right[0] > ours.right[0] + CLOSE]
            behind += [(constraint, name, method) for method in better]
            if ours.gaps[0] > CLOSE:
                behind.append((constraint, name, "the table"))
    if behind:
        sys.exit(f"choral is behind: {behind}")


if __name__ == "__main__":
    main()
