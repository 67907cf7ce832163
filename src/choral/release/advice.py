"""What a public card says about a purpose: the action that a code advises and what it costs, or a mean and its spread.

All of it is computed from the posteriors that the card gives anyway, from coarse counts (`choral.release.rounding`), so it
tells nothing that they do not. The action is the best one for *these* numbers; where two are nearly as good it may be another
than that which the code was made for, and where the card has no posterior, or pools values, there is none.

A number that has many values is shown in bins: otherwise every value would be too rare to name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from choral.describe.written import encode
from choral.problem.kernel import Problem
from choral.problem.utility import Decisions, Squares
from choral.tables.columns import labels

MOST_SHOWN = 12
"""Values of a number that are shown as they are."""
BINS = 8
"""Of such a number: the mean of a code is then off by a sixteenth of the range or so."""
DIGITS = 2
"""Of the edges of bins, which are taken from the table: significant ones."""
FIGURES = 4
"""Significant digits of means, spreads and losses."""


class Shown:
    """The values of a target as a card names them: as they are, or for a number of many values in bins."""

    def __init__(self, problem: Problem) -> None:
        self.values: Sequence[Any] = problem.target.values
        self.numbers: list[float] | None = None
        self.place = list(range(len(self.values)))
        if isinstance(problem.utility, Squares):
            exact = problem.utility.numbers
            self.numbers = [float(x) for x in exact]
            if len(exact) > MOST_SHOWN:
                edges = _edges(exact, problem.target.marginal)
                self.values = labels(edges)
                self.place = [sum(x >= edge for edge in edges) for x in exact]
                ends = [edges[0], *((a + b) / 2 for a, b in pairwise(edges)), edges[-1]]
                self.numbers = ends if len(edges) > 1 else [edges[0], edges[0]]

    def row(self, posterior: Sequence[Fraction]) -> list[Fraction]:
        """The probabilities of what is named."""
        sums = [Fraction(0)] * len(self.values)
        for v, p in zip(self.place, posterior, strict=True):
            sums[v] += p
        return sums


def _edges(numbers: Sequence[Fraction], weights: Sequence[int]) -> tuple[float, ...]:
    """Edges between about as many records each, with few digits, so that they tell no single value."""
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    heads = list(accumulate(weights[v] for v in order))
    found = set()
    for k in range(1, BINS):
        at = next(i for i, head in enumerate(heads) if head * BINS >= k * heads[-1])
        found.add(_significant(float(numbers[order[at]]), DIGITS))
    return tuple(sorted(found))


def _significant(number: float, digits: int) -> float:
    return 0.0 if not number else round(number, digits - 1 - math.floor(math.log10(abs(number))))


def advice(problem: Problem, shown: Shown, named: Sequence[int], other: bool, rows: Sequence[Any]) -> dict[str, Any]:
    """What a card says about the utility: one entry per code, None where its posterior is not told or has pooled values.

    `rows` are the posteriors of the card, over the values of `shown` that it names and, if `other`, a pool of all others.
    """
    utility = problem.utility
    told = [None if row is None or (other and row[-1]) else list(row[: len(named)]) for row in rows]
    if isinstance(utility, Decisions):
        best = [None if row is None else _best(utility, named, row) for row in told]
        return {
            "kind": utility.name,
            "actions": [None if found is None else encode(utility.actions[found[1]]) for found in best],
            "expected_loss": [None if found is None else _significant(found[0], FIGURES) for found in best],
        }
    assert shown.numbers is not None
    numbers = [shown.numbers[v] for v in named]
    found = [None if row is None else _mean_and_spread(row, numbers) for row in told]
    return {
        "kind": "squares",
        "mean": [None if pair is None else _significant(pair[0], FIGURES) for pair in found],
        "spread": [None if pair is None else _significant(pair[1], FIGURES) for pair in found],
    }


def _mean_and_spread(row: Sequence[float], numbers: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(p * x for p, x in zip(row, numbers, strict=True)) / (math.fsum(row) or 1.0)
    return mean, math.sqrt(math.fsum(p * (x - mean) ** 2 for p, x in zip(row, numbers, strict=True)))


def _best(utility: Decisions, named: Sequence[int], row: Sequence[float]) -> tuple[float, int]:
    """The least expected loss under these probabilities, and whose it is."""
    losses = [math.fsum(p * float(loss[v]) for p, v in zip(row, named, strict=True)) for loss in utility.loss]
    return min((loss, a) for a, loss in enumerate(losses))


def columns_of(document: Mapping[str, Any]) -> list[tuple[str, list[Any]]]:
    """What `decode` puts beside codes for a purpose: names of columns, each with an entry per code."""
    found, target = document.get("utility"), "+".join(document["reveal"])
    if not found:
        return []
    if found["kind"] == "squares":
        return [(f"mean of {target}", found["mean"]), (f"spread of {target}", found["spread"])]
    actions = [None if action is None else _text(action) for action in found["actions"]]
    return [("advises", actions), ("expected loss", found["expected_loss"])]


def _text(action: Any) -> str:
    return str(next(iter(action.values()))) if isinstance(action, dict) else str(action)
