"""Invented tables to begin with, written as CSV files when they are opened."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choral.describe import examples
from choral.describe.joint import Joint
from choral.errors import ColumnError, did_you_mean
from choral.files import write_whole


@dataclass(frozen=True)
class Sample:
    """An invented table: what it is called, what it is about, what to try first, and its rows, the header first."""

    name: str
    about: str
    reveal: str
    protect: tuple[str, ...]
    use: tuple[str, ...]
    rows: Callable[[], Iterator[list[Any]]]

    def write(self, folder: Path) -> Path:
        """The table as a CSV file in this folder, written once."""
        path = folder / f"{self.name}.csv"
        if not path.exists():
            text = io.StringIO(newline="")
            csv.writer(text).writerows(self.rows())
            write_whole(path, text.getvalue(), True)
        return path


def sample(name: str) -> Sample:
    """The invented table of this name."""
    if name not in SAMPLES:
        raise ColumnError(f"There is no example '{name}'.", did_you_mean(name, SAMPLES))
    return SAMPLES[name]


def of_law(joint: Joint, times: int = 1) -> Iterator[list[Any]]:
    """A table whose frequencies are exactly a law, every record `times` as often as its integer weight.

    >>> rows = list(of_law(examples.xor()))
    >>> rows[0], len(rows)
    (['W', 'X1', 'X2'], 5)
    """
    yield list(joint.names)
    for cell, weight in joint.weights(joint.names).items():
        values = [alphabet[i] for alphabet, i in zip(joint.alphabets, cell, strict=True)]
        for _ in range(weight * times):
            yield values


def staff() -> Iterator[list[Any]]:
    """Two thousand invented employees: who leaves depends on how age, overtime, distance and pay combine.

    >>> table = list(staff())
    >>> len(table), len(table[0])
    (2001, 10)
    """
    draw = random.Random(1)
    yield ["leaves", "age", "sex", "region", "degree", "overtime", "distance", "contract", "training", "team"]
    for _ in range(2000):
        age = min(64, max(19, round(draw.gauss(41, 11))))
        sex, region = draw.choice("fm"), draw.choice(["north", "south", "west"])
        degree = draw.choices(["none", "bachelor", "master"], [4, 4 if age > 30 else 6, 3])[0]
        overtime = draw.choices(["no", "yes"], [6, 5 if sex == "m" else 3])[0]
        distance = draw.choices(["near", "far"], [5, 4 if region == "west" else 2])[0]
        contract = draw.choices(["permanent", "temporary"], [7, 4 if age < 35 else 2])[0]
        training, team = draw.choice(["no", "yes"]), draw.choice(["desk", "field"])
        odd = (overtime == "yes") ^ (distance == "far") ^ (team == "field")
        push = 0.1 + 0.35 * odd + 0.2 * (contract == "temporary") + 0.15 * (age < 30) - 0.08 * (training == "yes")
        leaves = "yes" if draw.random() < push else "no"
        yield [leaves, age, sex, region, degree, overtime, distance, contract, training, team]


SAMPLES = {
    s.name: s
    for s in (
        Sample(
            "clinic",
            "400 invented patients: a diagnosis and three readings. The diagnosis depends on how the readings combine.",
            "diagnosis",
            ("pressure", "glucose", "smoker"),
            (),
            lambda: of_law(examples.clinic()),
        ),
        Sample(
            "staff",
            "2000 invented employees with ten columns: who leaves, and nine things about them.",
            "leaves",
            ("age", "sex"),
            ("overtime", "distance", "contract", "team"),
            staff,
        ),
        Sample(
            "paper",
            "The first example of the paper: a fair bit, seen through a noisy and an erasing channel.",
            "W",
            ("X1", "X2"),
            (),
            lambda: of_law(examples.bsc_and_bec(), 10),
        ),
    )
}
