"""Whether codes depend on the order in which they stand: tests that see codes alone, as someone with the file does.

If records are exchangeable in an order, every permutation of their codes is equally likely. Two ways to be otherwise:

windows     codes of some stretch differ from the rest, as where the table is sorted. The order is cut into 4, 16, 64, …
            stretches, as long as each is expected to hold five of every code (rare ones are counted together), and Pearson's
            chi-square compares their counts with those of all. Its mean under permutations is exactly N/(N - 1) times its
            degrees of freedom, also where these are many. The smallest p-value counts, times the number of cuts.
neighbours  the first and second, the third and fourth, … are alike or unlike, as where families stand together. Pairs do
            not overlap, so given the codes that come first and those that come second, every matching of them is equally
            likely: the test of a table with fixed margins is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from choral.auditing.output_tests import EXPECTED, FILE, Counts, OutputTest, independence

CUTS = (4, 16, 64, 256, 1024)
"""Stretches that an order is cut into: few of them find slow drifts, many find short runs."""


def serial_tests(orders: Mapping[str, Counts], codes: int, seed: int | None = None) -> list[OutputTest]:
    """Both tests, for each order: codes from 0 to `codes` - 1 as they stand in it. `seed` is for tests."""
    generator = np.random.default_rng(seed)
    found = []
    for name, given in orders.items():
        where = "in the file" if name == FILE else f"in the order of {name}"
        stretches, pairs = windows(given, codes, generator), neighbours(given, codes, generator)
        asked = f"codes do not change along their places {where}", f"neighbours {where} have independent codes"
        for test, question in zip((stretches, pairs), asked, strict=True):
            found.append(replace(test, question=question, order=name, protected=True))
    return found


def windows(given: Counts, codes: int, generator: np.random.Generator) -> OutputTest:
    """Whether stretches of an order have the codes of the whole.

    >>> windows(np.repeat([0, 1], 500), 2, np.random.default_rng(1)).p_value < 1e-100
    True
    """
    from scipy import stats

    found = []
    for cuts in CUTS:
        shortest = len(given) // cuts
        if shortest and (labels := pooled(given, codes, EXPECTED * len(given) / shortest)) is not None:
            table = _stretches(labels, int(labels.max()) + 1, cuts)
            expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
            statistic = float(((table - expected) ** 2 / expected).sum())
            degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
            found.append((float(stats.chi2.sf(statistic, degrees)), statistic, degrees))
    if not found:
        return independence(_stretches(given, codes, CUTS[0]), (), generator)
    least, statistic, degrees = min(found)
    p = min(1.0, len(found) * least)
    return OutputTest((), "", statistic, degrees, p, f"chi-square, the least of {len(found)} cuts", p)


def neighbours(given: Counts, codes: int, generator: np.random.Generator) -> OutputTest:
    """Whether the first and second of each pair are independent.

    >>> neighbours(np.repeat(np.arange(400) % 2, 2), 2, np.random.default_rng(1)).p_value < 1e-80
    True
    """
    labels = pooled(given, codes, 2 * math.sqrt(EXPECTED * len(given)))
    if labels is None:
        labels = given
    first, second, many = labels[0 : len(labels) - 1 : 2], labels[1::2], int(labels.max()) + 1
    return independence(np.bincount(first * many + second, minlength=many**2).reshape(many, many), (), generator)


def pooled(given: Counts, codes: int, least: float) -> Counts | None:
    """The codes with other labels, rare ones sharing one, so that each occurs often enough; None where one would be left.

    What is pooled depends on how often codes occur, and not on their order.

    >>> pooled(np.array([0, 0, 0, 1, 2, 2, 3]), 4, 2).tolist(), pooled(np.array([0, 0, 1]), 2, 2)
    ([0, 0, 0, 1, 2, 2, 1], None)
    """
    counts = np.bincount(given, minlength=codes)
    groups = [[code] for code in np.argsort(-counts, kind="stable").tolist() if counts[code]]
    while len(groups) > 1 and counts[groups[-1]].sum() < least:
        groups[-2:] = [groups[-2] + groups[-1]]
        groups.sort(key=lambda group: -int(counts[group].sum()))
    label = np.zeros(codes, dtype=np.int64)
    for i, group in enumerate(sorted(groups)):
        label[group] = i
    return label[given] if len(groups) > 1 else None


def _stretches(given: Counts, codes: int, cuts: int) -> Counts:
    place = np.arange(len(given)) * cuts // len(given)
    return np.bincount(place * codes + given, minlength=cuts * codes).reshape(cuts, codes)
