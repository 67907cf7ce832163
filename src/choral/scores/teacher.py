"""The teacher: boosted trees of at most two columns each, read off as one table for every column and every pair.

Such a model is a sum of functions of one and of two columns, so its values on a grid give it whole: with the other columns
at a reference r, f(a, b) - f(a, r) - f(r, b) + f(r, r) is what the pair adds to its columns. Then what a pair says about its
columns on average goes to the columns, and what these say on average to the constant (weighted with the records): a pair
table has rows and columns of mean zero, and no points at all is what an average record has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import LawError
from choral.problem.kernel import Floats
from choral.threads import one_thread

Codes = npt.NDArray[np.int64]
"""Pieces, one row per record."""
Pair = tuple[int, int]

FEW = 5000
RATE, LEAVES = {True: 0.1, False: 0.2}, {True: 4, False: 8}
"""Of the boosting, of few records or of more: small trees, learned fast; how many is chosen by cross-fitting. (Measured.)"""
LEAST_IN_LEAF, RIDGE = 20, 1.0
MOST_PAIRED = 24
"""Columns among which pairs are tried: those that say most alone."""
AT_ONCE = 200_000
EVEN = 1e-3
"""Weight of a pair of pieces that never occurs, as a share of what it would have if columns were independent."""
SWEEPS = 50


@dataclass(frozen=True)
class Tables:
    """f(record) = constant + Σ one[i][piece] + Σ two[i, j][piece, piece]; the last axis is that of the sums."""

    constant: Floats
    one: Mapping[int, Floats]
    two: Mapping[Pair, Floats]

    def values(self, codes: Codes, pairs: Sequence[Pair] | None = None) -> Floats:
        """f of records, with all pairs or with these alone."""
        found = np.tile(self.constant, (len(codes), 1))
        for i, table in self.one.items():
            found += table[codes[:, i]]
        for i, j in self.two if pairs is None else pairs:
            found += self.two[i, j][codes[:, i], codes[:, j]]
        return found


@dataclass(frozen=True)
class Model:
    """A fitted model on pieces, each column of them put in the order of `rank`."""

    found: Any
    rank: tuple[Codes, ...]
    pairs: tuple[Pair, ...]
    level: float | None = None
    """Where columns multiply a mean: that of all records, by which the target was divided."""

    def staged(self, codes: Codes) -> Iterator[Floats]:
        """f of records after one tree, after two, …; one column per sum."""
        ordered = np.column_stack([rank[codes[:, i]] for i, rank in enumerate(self.rank)]).astype(np.float64)
        several = hasattr(self.found, "staged_decision_function")
        stages = self.found.staged_decision_function if several else self.found.staged_predict
        with one_thread("openmp"):  # trees are small: threads that wait for each other cost more
            for stage in stages(ordered):
                yield _columns(stage if self.level is None else np.log(self.level * stage))

    def pairs_within(self, trees: int) -> tuple[Pair, ...]:
        """The pairs of columns that occur in one of the first so many trees: no other pair adds anything. (Branches of a tree
        may hold other pairs each, so this may be more than needed.)
        """
        stages = getattr(self.found, "_predictors", None)
        if stages is None:  # it is not promised to be there, and only saves time
            return self.pairs
        grown = [tree.nodes for stage in stages[:trees] for tree in stage]
        columns = {frozenset(nodes["feature_idx"][nodes["is_leaf"] == 0].tolist()) for nodes in grown}
        together = {pair for found in columns for pair in combinations(sorted(found), 2)}
        return tuple(pair for pair in self.pairs if pair in together)

    def values(self, codes: Codes, trees: int) -> Floats:
        """f of records after this many trees."""
        parts = [codes[at : at + AT_ONCE] for at in range(0, len(codes), AT_ONCE)]
        return np.vstack([next(islice(self.staged(part), trees - 1, None)) for part in parts])


def sklearn() -> Any:
    """scikit-learn's ensembles; raises, with what to install, where it is not there."""
    try:
        from sklearn import ensemble
    except ImportError:
        raise LawError(
            "To learn a score, scikit-learn is needed, which is not installed.",
            "pip install 'choral[sklearn]'; or name the columns that are counted as they stand: use=… (--use).",
        ) from None
    return ensemble


@dataclass(frozen=True)
class Lesson:
    """Records to learn from: their pieces, and the target.

    sizes    how many pieces each column has
    natural  which columns have pieces in an order of their own, as numbers do
    target   a class in 0, 1, … where there are `classes`, or else a number, whose mean is told
    factors  whether columns multiply the mean, so that points are of its logarithm, instead of adding to it: a cellar adds a
             share to the price of a house rather than a sum. None where this is not known.
    """

    codes: Codes
    sizes: tuple[int, ...]
    natural: tuple[bool, ...]
    target: npt.NDArray[Any]
    classes: int
    values: tuple[str, ...] = ()
    """What the classes are called."""
    factors: bool | None = False

    def of(self, chosen: npt.NDArray[Any]) -> Lesson:
        """Some of the records."""
        return replace(self, codes=self.codes[chosen], target=self.target[chosen])

    @property
    def profile(self) -> Floats:
        """The target as numbers whose means are told."""
        classes = self.classes
        return np.eye(classes)[self.target.astype(np.int64)] if classes else self.target.reshape(-1, 1).astype(float)


def taught(lesson: Lesson, trees: int, paired: bool) -> Model:
    """A model of the target with this many trees, of single columns or of pairs too."""
    ensemble = sklearn()
    codes, sizes, profile = lesson.codes, lesson.sizes, lesson.profile
    rank = tuple(
        np.arange(size) if lesson.natural[i] else _rank(codes[:, i], size, profile) for i, size in enumerate(sizes)
    )
    ordered = np.column_stack([r[codes[:, i]] for i, r in enumerate(rank)]).astype(np.float64)
    pairs: tuple[Pair, ...] = ()
    allowed: Any = "no_interactions"
    if paired and len(sizes) > 1:
        tried = _telling(codes, sizes, profile)[:MOST_PAIRED]
        pairs = tuple(combinations(sorted(tried), 2))
        allowed = [set(pair) for pair in pairs] + [{i} for i in range(len(sizes)) if i not in tried]
    kind = ensemble.HistGradientBoostingClassifier if lesson.classes else ensemble.HistGradientBoostingRegressor
    found = kind(
        **({"loss": "poisson"} if lesson.factors else {}),  # the mean is right on the scale of the target, too
        learning_rate=RATE[len(codes) < FEW],
        max_iter=trees,
        max_leaf_nodes=LEAVES[len(codes) < FEW],
        min_samples_leaf=LEAST_IN_LEAF,
        l2_regularization=RIDGE,
        early_stopping=False,
        interaction_cst=allowed,
        random_state=0,
    )
    with one_thread("openmp"):
        # one thread: the same points on every machine, and several lose more than they win where other work runs
        if not lesson.factors:
            return Model(found.fit(ordered, lesson.target), rank, pairs)
        level = float(lesson.target.mean())
        return Model(found.fit(ordered, lesson.target / level), rank, pairs, level)


def tables_of(model: Model, lesson: Lesson, trees: int) -> Tables:
    """The model after this many trees, as tables, weighted with the records of the lesson."""
    codes, sizes = lesson.codes, lesson.sizes
    seen = [np.bincount(codes[:, i], minlength=size) for i, size in enumerate(sizes)]
    pairs = model.pairs_within(trees)
    at = np.array([int(n.argmax()) for n in seen])
    grids = [_grid(at, [i], [sizes[i]]) for i in range(len(sizes))]
    grids += [_grid(at, pair, [sizes[i] for i in pair]) for pair in pairs]
    values = model.values(np.vstack([at[None], *grids]), trees)
    base, parts = values[0], np.split(values[1:], np.cumsum([len(grid) for grid in grids])[:-1])
    one = {i: part - base for i, part in enumerate(parts[: len(sizes)])}
    two = {}
    for (i, j), part in zip(pairs, parts[len(sizes) :], strict=True):
        whole = part.reshape(sizes[i], sizes[j], -1) - base
        two[i, j] = whole - one[i][:, None] - one[j][None]
    if base.size > 1:  # only differences between the sums of classes mean anything
        base, one = base - base.mean(), {i: t - t.mean(axis=-1, keepdims=True) for i, t in one.items()}
        two = {pair: t - t.mean(axis=-1, keepdims=True) for pair, t in two.items()}
    return _centred(Tables(base, one, two), codes, seen)


def mean_of(models: Sequence[Tables]) -> Tables:
    """The mean of models of the same columns; a pair that one of them has not is nothing there."""
    n = len(models)
    one = {i: sum((model.one[i] for model in models[1:]), models[0].one[i]) / n for i in models[0].one}
    pairs = dict.fromkeys(pair for model in models for pair in model.two)
    two = {pair: np.add.reduce([model.two[pair] for model in models if pair in model.two]) / n for pair in pairs}
    return Tables(np.add.reduce([model.constant for model in models]) / n, one, two)


def spread(tables: Tables, codes: Codes) -> dict[tuple[int, ...], float]:
    """How far the points of each column and pair differ between records: the root of their mean square."""
    found: dict[tuple[int, ...], float] = {}
    for i, table in tables.one.items():
        found[(i,)] = float(np.sqrt((table[codes[:, i]] ** 2).mean()))
    for (i, j), table in tables.two.items():
        found[i, j] = float(np.sqrt((table[codes[:, i], codes[:, j]] ** 2).mean()))
    return found


def _centred(tables: Tables, codes: Codes, seen: Sequence[Codes]) -> Tables:
    constant, one, two, n = tables.constant.copy(), {i: t.copy() for i, t in tables.one.items()}, {}, len(codes)
    for (i, j), table in tables.two.items():
        size = len(seen[j])
        joint = np.bincount(codes[:, i] * size + codes[:, j], minlength=len(seen[i]) * size).reshape(-1, size)
        weight = joint + EVEN * np.outer(seen[i], seen[j]) / n
        there = (seen[i] > 0, seen[j] > 0)
        table = np.where(there[0][:, None, None] & there[1][None, :, None], table, 0.0)
        for _ in range(SWEEPS):
            rows = _means(table, weight, 1)
            table = table - rows[:, None]
            columns = _means(table, weight, 0)
            table = table - columns[None]
            one[i] += rows
            one[j] += columns
            if max(np.abs(rows).max(), np.abs(columns).max()) < 1e-6:
                break
        two[i, j] = np.where(there[0][:, None, None] & there[1][None, :, None], table, 0.0)
    for i, table in one.items():
        mean = np.einsum("a,as->s", seen[i] / n, table)
        constant += mean
        one[i] = np.where(seen[i][:, None] > 0, table - mean, 0.0)
    return Tables(constant, one, two)


def _means(table: Floats, weight: Floats, axis: int) -> Floats:
    mass = weight.sum(axis=axis)
    sums = np.einsum("ab,abs->as" if axis == 1 else "ab,abs->bs", weight, table)
    return np.asarray(sums / np.where(mass > 0, mass, 1.0)[:, None], dtype=np.float64)


def _grid(at: Codes, columns: Sequence[int], sizes: Sequence[int]) -> Codes:
    places = np.indices(tuple(sizes)).reshape(len(sizes), -1)
    grid = np.tile(at, (places.shape[1], 1))
    for column, place in zip(columns, places, strict=True):
        grid[:, column] = place
    return grid


def _columns(stage: Any) -> Floats:
    found = np.asarray(stage, dtype=np.float64)
    return found.reshape(len(found), -1)


def _rank(codes: Codes, size: int, profile: Floats) -> Codes:
    """The pieces in the order of what they say about the target: along the direction in which they differ most."""
    seen = np.bincount(codes, minlength=size)
    sums = np.column_stack([np.bincount(codes, column, minlength=size) for column in profile.T])
    mean = profile.mean(axis=0)
    away = (sums + mean) / (seen + 1)[:, None] - mean
    _, _, directions = np.linalg.svd(away * np.sqrt(seen)[:, None], full_matrices=False)
    rank = np.empty(size, dtype=np.int64)
    rank[np.argsort(away @ directions[0], kind="stable")] = np.arange(size)
    return rank


def _telling(codes: Codes, sizes: Sequence[int], profile: Floats) -> list[int]:
    """The columns, those first whose pieces differ most in what they say about the target."""
    told = []
    for i, size in enumerate(sizes):
        seen = np.bincount(codes[:, i], minlength=size)
        sums = np.column_stack([np.bincount(codes[:, i], column, minlength=size) for column in profile.T])
        away = sums / np.maximum(seen, 1)[:, None] - profile.mean(axis=0)
        told.append(-float((seen[:, None] * away**2).sum()))
    return sorted(range(len(sizes)), key=told.__getitem__)
