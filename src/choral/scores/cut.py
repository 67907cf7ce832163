"""From sums of points to bins: cut so that the least information about the target is lost.

One sum is cut by dynamic programming: the sums are grouped into a few hundred neighbours of about as many records, and the
runs of groups that lose least are found exactly. Several sums are cut by a tree, edge by edge, each where it tells most.
A cut is worth having if what it tells is more than what chance would: of k bins and m values of the target, chance tells
about (k-1)(m-1)/(2 n ln 2) bits on n records, which is taken off.

A sum that tells how large a number is is cut by squares, among records that are alike in what is protected: a code that is
independent of a district can only tell which house is larger than others of its district.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from choral.describe.entropy import weighted_entropies
from choral.problem.kernel import Floats
from choral.tables.points import Cells, cells_of_cuts

MOST_BINS = 14
"""With every combination of protected values each is a state; more tell no more that could be seen."""
MOST_SIZES = 20
"""Of a sum that tells how large a number is: where values are protected that differ much in it, each has few of the bins."""
GROUPS = 300
ALIKE, KINDS = 20, 200
"""Records that are alike in what is protected are cut together with other such ones where they are fewer, or where there are
more kinds: ten thousand take ten seconds, and tell nothing that could be seen."""
WORTH = 0.995
"""The fewest bins that tell this share of what the most would."""

Whole = npt.NDArray[np.int64]


def cuts_of(sums: Whole, target: Whole, most: int = MOST_BINS) -> tuple[int, ...]:
    """Edges for a single sum: a record is in the bin after the last edge that its sum reaches.

    >>> cuts_of(np.array([0, 1, 2, 3] * 50), np.array([0, 0, 1, 1] * 50))
    (2,)
    """
    starts, counts = _grouped(sums, target)
    heads = np.vstack([np.zeros(counts.shape[1]), np.cumsum(counts, axis=0)])
    cost = np.array([weighted_entropies(heads[1:] - heads[i]) for i in range(len(starts))])
    return _cuts(starts, cost, most, lambda totals: _worth(totals, len(sums), counts.shape[1]))


def cuts_of_sizes(
    sums: Whole, numbers: Floats, alike: Whole, copies: int = 1, most: int = MOST_SIZES
) -> tuple[int, ...]:
    """Edges for a sum that tells how large a number is: those that leave the least squares, among records with one value in
    `alike` and in the same bin. What chance takes off them, the variance for every mean, is added.

    Each record may be there with several sums, so many `copies`.

    >>> cuts_of_sizes(np.array([0, 1, 2, 3] * 50), np.array([0.0, 0, 9, 9] * 50), np.array([0, 0, 0, 1] * 50))
    (2,)
    """
    kind, values = _common(alike, copies * ALIKE)
    starts, group = _neighbours(sums)
    n = len(starts)
    place = group * values + kind
    above = numbers - numbers.mean()
    count = np.bincount(place, minlength=n * values).reshape(n, values).astype(np.float64)
    total = np.bincount(place, above, minlength=n * values).reshape(n, values)
    counts, totals = (np.vstack([np.zeros(values), np.cumsum(x, axis=0)]) for x in (count, total))
    coarse = (group * MOST_BINS // n) * values + kind
    cells = np.maximum(np.bincount(coarse), 1)
    left = float(((above - (np.bincount(coarse, above) / cells)[coarse]) ** 2).sum())
    variance = left / max(len(sums) - copies * len(np.unique(coarse)), 1)
    cost = np.empty((n, n))  # but for the squares of all numbers, which no cut changes
    for i in range(n):
        held = counts[1:] - counts[i]
        explained = ((totals[1:] - totals[i]) ** 2 / np.maximum(held, 1)).sum(axis=1)
        cost[i] = copies * variance * (held > 0).sum(axis=1) - explained
    return _cuts(starts, cost, most, _least)


def _common(alike: Whole, least: int) -> tuple[Whole, int]:
    """The kinds of records, numbered, the rare ones and those beyond the most common as one; and how many there are."""
    _, kind, many = np.unique(alike, return_inverse=True, return_counts=True)
    order = np.argsort(-many, kind="stable")[:KINDS]
    kept = order[many[order] >= least]
    number = np.full(len(many), len(kept))
    number[kept] = np.arange(len(kept))
    return number[kind.reshape(-1)], len(kept) + 1


def _cuts(starts: Whole, cost: Floats, most: int, worth: Callable[[list[float]], int]) -> tuple[int, ...]:
    """The edges of the bins that cost least, where groups i to j in one bin cost cost[i, j]; `worth` says how many are
    worth having, given what 1, 2, … cost.
    """
    n = len(starts)
    cost[np.tril_indices(n, -1)] = math.inf
    best, came = cost[0].copy(), []
    totals = [float(best[-1])]
    for _ in range(min(most, n) - 1):
        tried = best[:-1, None] + cost[1:]
        chosen = tried.argmin(axis=0)
        best = tried[chosen, np.arange(n)]
        came.append(chosen)
        totals.append(float(best[-1]))
    found, at = [], n - 1
    for chosen in reversed(came[: worth(totals) - 1]):
        at = int(chosen[at])
        found.append(int(starts[at + 1]))
    return tuple(sorted(found))


def cells_of(sums: Whole, target: Whole, most: int = MOST_BINS) -> Cells:
    """Bins of records with these sums, one column each: cuts of a single sum, or a tree over several.

    With several targets, one column each, a cut is worth what it tells about all of them.
    """
    targets = target.reshape(len(target), -1)
    if sums.shape[1] == 1 and targets.shape[1] == 1:
        return cells_of_cuts(cuts_of(sums[:, 0], targets[:, 0], most))
    values = tuple(int(column.max()) + 1 for column in targets.T)
    leaves: list[Whole] = [np.arange(len(sums))]
    splits: list[tuple[int, int, int]] = []  # leaf, sum, edge; its upper half becomes the last leaf
    offers = [_best_split(sums, targets, leaves[0], values)]
    whole = [np.bincount(column, minlength=k)[None].astype(float) for column, k in zip(targets.T, values, strict=True)]
    totals = [float(sum(weighted_entropies(counts)[0] for counts in whole))]
    while len(leaves) < most and max(offer[0] for offer in offers) > 0:
        leaf = max(range(len(leaves)), key=lambda i: offers[i][0])
        gain, which, edge = offers[leaf]
        above = sums[leaves[leaf], which] >= edge
        leaves.append(leaves[leaf][above])
        leaves[leaf] = leaves[leaf][~above]
        splits.append((leaf, which, edge))
        offers[leaf] = _best_split(sums, targets, leaves[leaf], values)
        offers.append(_best_split(sums, targets, leaves[-1], values))
        totals.append(totals[-1] - gain)
    splits = splits[: _worth(totals, len(sums), sum(k - 1 for k in values) + 1) - 1]
    return _tree(splits)


def _tree(splits: list[tuple[int, int, int]]) -> Cells:
    def below(leaf: int, since: int) -> Cells:
        for step in range(since, len(splits)):
            if splits[step][0] == leaf:
                _, which, edge = splits[step]
                return which, edge, below(leaf, step + 1), below(step + 1, step + 1)
        return leaf + 1

    return below(0, 0)


def _best_split(sums: Whole, targets: Whole, chosen: Whole, values: tuple[int, ...]) -> tuple[float, int, int]:
    """What the best cut of these records tells, of which sum it is, and where."""
    best = (0.0, 0, 0)
    for which in range(sums.shape[1]):
        gains: Floats | None = None
        for column, many in zip(targets.T, values, strict=True):
            starts, counts = _grouped(sums[chosen, which], column[chosen], many)
            if len(starts) < 2:
                break
            heads = np.cumsum(counts, axis=0)
            whole = heads[-1]
            told = weighted_entropies(whole[None])[0] - weighted_entropies(heads[:-1])
            told = told - weighted_entropies(whole - heads[:-1])
            gains = told if gains is None else gains + told
        if gains is None:
            continue
        at = int(gains.argmax())
        best = max(best, (float(gains[at]), which, int(starts[at + 1])), key=lambda offer: offer[0])
    return best


def _grouped(sums: Whole, target: Whole, values: int | None = None) -> tuple[Whole, Floats]:
    """Neighbouring sums in groups of about as many records: the least sum of each, and the counts of target values."""
    values = int(target.max()) + 1 if values is None else values
    starts, group = _neighbours(sums)
    found = np.bincount(group * values + target, minlength=len(starts) * values).reshape(-1, values)
    return starts, found.astype(np.float64)


def _neighbours(sums: Whole) -> tuple[Whole, Whole]:
    """Neighbouring sums in groups of about as many records: the least sum of each, and the group of each record."""
    distinct, place, counts = np.unique(sums, return_inverse=True, return_counts=True)
    group = (np.cumsum(counts) - counts) * GROUPS // len(sums)
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    return distinct[first], np.asarray(group[place], dtype=np.int64)


def _worth(totals: list[float], records: int, values: int) -> int:
    """How many bins are worth having, given n·H(W | bin) for 1, 2, … bins."""
    told = [
        (totals[0] - total) / records - k * (values - 1) / (2 * records * math.log(2)) for k, total in enumerate(totals)
    ]
    return next(k for k, bits in enumerate(told, 1) if bits >= WORTH * max(told))


def _least(totals: list[float]) -> int:
    """How many bins are worth having, given what 1, 2, … cost with what is chance."""
    told = totals[0] - np.array(totals)
    return int(np.argmax(told >= WORTH * told.max())) + 1
