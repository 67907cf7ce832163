"""Cross-fitting: how many trees, pairs and points are worth having, and the sums of records by points they had no part in."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.entropy import entropies
from choral.phases import room, room_for, tell
from choral.problem.kernel import Floats
from choral.scores.teacher import Lesson, Model, Pair, Tables, mean_of, spread, tables_of, taught

FOLDS = 5
TREES, MOST_TREES, STEP = 240, 480, 10
"""Trees that are tried; and where the last quarter of them still told much more. Most tables learn only chance then."""
FEWEST_TREES = 40
"""Where there is no time for more."""
OF_PAIRS = 1.5
"""Learning with pairs takes so many times as long as with single columns, as measured."""
PAIRS = (0, 4, 8, 16, 32)
SCALES = (20, 50)
"""Points to a factor e in the odds, or to about a standard deviation. Fewer are easier to read; ten tell 2 % less."""
LEARNER, LOADED = "sklearn.ensemble", 0.9
"""What learns, and the seconds of work until it is loaded ..."""
AT_TREE, AT_CELL = 4e-4, 5e-9
"""... those that a tree takes, and for each column of each record: as measured."""
USUAL_TREES = 400
"""What a lesson comes to on average, where some are tried with more trees."""
FEWEST_RECORDS = 5000
"""Records that are cross-fitted where there is no time for more."""
WORTH = 0.003
"""Share of what the best tells that is given up for what is simpler."""


@dataclass(frozen=True)
class Choice:
    """What cross-fitting chose: how many trees, which model, how many of its pairs, how fine points are, and whether columns
    multiply a mean.
    """

    trees: int
    paired: bool
    pairs: int
    scale: float
    factors: bool = False
    hurried: bool = False
    """Whether more trees, or pairs of columns, were not tried since there was no time."""


def fewest(columns: int, sums: int, part: int, records: int) -> float:
    """Seconds of the shortest lesson: the fewest trees for as few of a part of the records as there is no time for more of.

    >>> fewest(13, 1, 30_000, 30_000) < usual(13, 1, 30_000, 30_000)
    True
    """
    return _seconds((FOLDS * FEWEST_TREES + 2 * STEP) * sums, columns, min(part, FEWEST_RECORDS)) + (
        _seconds(FEWEST_TREES * sums, columns, records) if records > FEWEST_RECORDS else 0.0
    )


def usual(columns: int, sums: int, part: int, records: int) -> float:
    """Seconds of a lesson that has all the time that it takes: with single columns, and then with pairs."""
    whole = _seconds(USUAL_TREES * sums, columns, records) if records > part else 0.0
    return _seconds((1 + (columns > 1)) * FOLDS * USUAL_TREES * sums, columns, part) + whole


def _seconds(trees: int, columns: int, records: int) -> float:
    return trees * (AT_TREE + AT_CELL * columns * records)


def records_in_time(lesson: Lesson, most: int) -> int:
    """How many records are cross-fitted, at most so many: fewer where the fewest trees for them would take too long."""
    left = room() - (0.0 if LEARNER in sys.modules else LOADED)
    if math.isinf(left):
        return most
    a_tree = left / ((FOLDS * FEWEST_TREES + 2 * STEP) * max(1, lesson.classes))
    return min(most, max(FEWEST_RECORDS, int((a_tree - AT_TREE) / (AT_CELL * len(lesson.sizes)))))


def crossfitted(lesson: Lesson, fold: npt.NDArray[Any], what: str = "") -> tuple[Choice, npt.NDArray[np.int64], Tables]:
    """What is worth having; the sums, constant included, that each record has by points learned without it; and the mean of
    the models, which tells more than any, and no less than one that is learned from all records (measured).
    """
    nothing, ways = _nothing(lesson), [False, True] if lesson.factors is None else [lesson.factors]
    alone = [_fitted(replace(lesson, factors=ways[0]), fold, False, what)]
    more = len(ways) - 1 + OF_PAIRS * (len(lesson.sizes) > 1)
    in_time = not more or room_for(more * alone[0].took)
    if in_time:
        alone += [_fitted(replace(lesson, factors=way), fold, False, what) for way in ways[1:]]
    fitted = {False: min(alone, key=lambda one: one.loss)}
    lesson = fitted[False].lesson
    if in_time and len(lesson.sizes) > 1:
        fitted[True] = _fitted(lesson, fold, True, what)
    hurried = not in_time or any(one.hurried for one in fitted.values())
    tables = {
        paired: [tables_of(model, lesson.of(fold != k), one.trees) for k, model in enumerate(one.models)]
        for paired, one in fitted.items()
    }

    def tried(choice: Choice, rounded: bool = True) -> tuple[float, Floats]:
        sums = np.zeros((len(fold), tables[choice.paired][0].constant.size))
        for k, found in enumerate(tables[choice.paired]):
            pairs = strongest(found, lesson.of(fold != k), choice.pairs)
            used = whole_numbered(found, choice.scale) if rounded else found
            sums[fold == k] = used.values(lesson.codes[fold == k], pairs)
        return float(_loss(sums / choice.scale if rounded else sums, lesson).sum()), sums

    unit, multiplied = _unit(lesson), bool(lesson.factors)
    offers = [Choice(fitted[False].trees, False, 0, unit, multiplied)]
    offers += [Choice(fitted[True].trees, True, pairs, unit, multiplied) for pairs in PAIRS[1:] if True in fitted]
    chosen = _simplest(offers, lambda choice: tried(choice, rounded=False)[0], nothing)
    finer = [replace(chosen, scale=unit * scale) for scale in SCALES]
    chosen = _simplest(finer, lambda choice: tried(choice)[0], nothing)
    sums, mean = tried(chosen)[1].astype(np.int64), mean_of(tables[chosen.paired])
    return replace(chosen, hurried=hurried), sums, mean


@dataclass(frozen=True)
class _Fitted:
    """A model for each fold, learned without it, how many trees are best, and what the folds cost then."""

    lesson: Lesson
    models: list[Model]
    trees: int
    loss: float
    took: float
    hurried: bool


def _fitted(lesson: Lesson, fold: npt.NDArray[Any], paired: bool, what: str) -> _Fitted:
    """With more trees where the last of them still told much more, and there is time."""
    began = time.monotonic()
    models, loss = _learned(lesson, fold, paired, TREES, what)
    took, hurried = time.monotonic() - began, len(loss) < TREES // STEP
    if loss[-1 - len(loss) // 4] - loss[-1] > WORTH * (_nothing(lesson) - loss[-1]):
        if room_for(MOST_TREES / TREES * took):
            models, loss = _learned(lesson, fold, paired, MOST_TREES, what)
        else:
            hurried = True
    return _Fitted(lesson, models, STEP * (int(loss.argmin()) + 1), float(loss.min()), took, hurried)


def _unit(lesson: Lesson) -> float:
    """What a scale of one is: a factor e in the odds or, in whole numbers, in the mean; or else a standard deviation."""
    if lesson.classes:
        return 1.0
    if lesson.factors:
        return float(max(1, round(1 / max(float(np.std(np.log(lesson.target[lesson.target > 0]))), 1e-3))))
    return 1.0 / max(float(np.std(lesson.target)), 1e-300)


def _learned(lesson: Lesson, fold: npt.NDArray[Any], paired: bool, trees: int, what: str) -> tuple[list[Model], Floats]:
    """A model for each fold, learned without it, and what the folds cost after every few trees: fewer trees where those
    would take longer than there is time, as a few of them say, and then the first fold.
    """

    def in_time(seconds: float) -> int:
        return trees if room_for(seconds) else max(FEWEST_TREES, STEP * int(trees * room() / seconds / STEP))

    began = time.monotonic()
    if math.isfinite(room()):
        taught(lesson.of(fold != 0), STEP, paired)  # what is loaded and compiled once takes longer than learning
        began = time.monotonic()
        taught(lesson.of(fold != 0), STEP, paired)
        trees = in_time(FOLDS * trees / STEP * (time.monotonic() - began))
    models, loss, began = [], np.zeros(trees // STEP), time.monotonic()
    for k in range(FOLDS):
        if k == 1:
            trees = in_time((FOLDS - 1) * (time.monotonic() - began))
            loss = loss[: trees // STEP]
        tell(f"cross-fitting{what}, {k + 1} of {FOLDS}, {'pairs' if paired else 'single columns'}")
        models.append(taught(lesson.of(fold != k), trees, paired))
        test = lesson.of(fold == k)
        for i, stage in enumerate(models[-1].staged(test.codes)):
            if (i + 1) % STEP == 0 and i < trees:
                loss[i // STEP] += _loss(stage, test).sum()
    return models, loss


def _simplest(offers: Sequence[Choice], loss: Callable[[Choice], float], nothing: float) -> Choice:
    """The first that tells, within a small share, as much as the best."""
    losses = [loss(offer) for offer in offers]
    least = min(losses)
    return next(o for o, found in zip(offers, losses, strict=True) if found <= least + WORTH * max(nothing - least, 0))


def strongest(tables: Tables, lesson: Lesson, most: int) -> list[Pair]:
    """The pairs of columns whose points differ most between records."""
    found = spread(tables, lesson.codes)
    pairs = sorted(tables.two, key=lambda pair: -found[pair])[:most]
    return sorted(pairs)


def folds_of(target: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A fold for each record, each with about the same targets."""
    order = np.random.default_rng(1).permutation(len(target))
    order = order[np.argsort(target[order], kind="stable")]
    fold = np.empty(len(target), dtype=np.int64)
    fold[order] = np.arange(len(target)) % FOLDS
    return fold


def whole_numbered(tables: Tables, scale: float) -> Tables:
    """Tables in whole points, this many to a unit."""

    def rounded(table: Floats) -> Floats:
        return np.asarray(np.round(scale * table), dtype=np.float64)

    one = {i: rounded(table) for i, table in tables.one.items()}
    return Tables(rounded(tables.constant), one, {pair: rounded(table) for pair, table in tables.two.items()})


def _loss(values: Floats, lesson: Lesson) -> Floats:
    """What a record costs: -log2 of the probability of its class, or the squared error."""
    if not lesson.classes:
        mean = np.exp(values[:, 0]) if lesson.factors else values[:, 0]
        return np.asarray((mean - lesson.target) ** 2, dtype=np.float64)
    logits = np.column_stack([np.zeros(len(values)), values[:, 0]]) if values.shape[1] == 1 else values
    top = logits.max(axis=1, keepdims=True)
    whole = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return np.asarray((whole - logits[np.arange(len(values)), lesson.target]) / np.log(2), dtype=np.float64)


def _nothing(lesson: Lesson) -> float:
    """The loss of whoever knows no column."""
    if not lesson.classes:
        return float(((lesson.target - lesson.target.mean()) ** 2).sum())
    counts = np.bincount(lesson.target)
    shares = counts[counts > 0] / len(lesson.target)
    return float(len(lesson.target) * entropies(shares))
