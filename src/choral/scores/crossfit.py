"""Cross-fitting: how many trees, pairs and points are worth having, and the sums of records by points they had no part in."""

from __future__ import annotations

import math
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
"""Points to a factor e in the odds, or to a standard deviation. Fewer are easier to read; ten tell 2 % less of a census."""
WORTH = 0.003
"""Share of what the best tells that is given up for what is simpler."""


@dataclass(frozen=True)
class Choice:
    """What cross-fitting chose: how many trees, which model, how many of its pairs, and how fine points are."""

    trees: int
    paired: bool
    pairs: int
    scale: float
    hurried: bool = False
    """Whether more trees, or pairs of columns, were not tried since there was no time."""


def crossfitted(lesson: Lesson, fold: npt.NDArray[Any], what: str = "") -> tuple[Choice, npt.NDArray[np.int64], Tables]:
    """What is worth having; the sums, constant included, that each record has by points learned without it; and the mean of
    the models, which tells more than any, and no less than one that is learned from all records (measured).
    """
    nothing = _nothing(lesson)
    models: dict[bool, list[Model]] = {}
    trees: dict[bool, int] = {}
    hurried, took = False, 0.0
    for paired in [False, True] if len(lesson.sizes) > 1 else [False]:
        if paired and not room_for(OF_PAIRS * took):
            hurried = True
            break
        began = time.monotonic()
        models[paired], loss = _learned(lesson, fold, paired, TREES, what)
        took, hurried = time.monotonic() - began, hurried or len(loss) < TREES // STEP
        if loss[-1 - len(loss) // 4] - loss[-1] > WORTH * (nothing - loss[-1]):
            if room_for(MOST_TREES / TREES * took):
                models[paired], loss = _learned(lesson, fold, paired, MOST_TREES, what)
            else:
                hurried = True
        trees[paired] = STEP * (int(loss.argmin()) + 1)
    tables = {
        paired: [tables_of(model, lesson.of(fold != k), trees[paired]) for k, model in enumerate(models[paired])]
        for paired in models
    }

    def tried(choice: Choice, rounded: bool = True) -> tuple[float, Floats]:
        sums = np.zeros((len(fold), tables[choice.paired][0].constant.size))
        for k, found in enumerate(tables[choice.paired]):
            pairs = strongest(found, lesson.of(fold != k), choice.pairs)
            used = whole_numbered(found, choice.scale) if rounded else found
            sums[fold == k] = used.values(lesson.codes[fold == k], pairs)
        return float(_loss(sums / choice.scale if rounded else sums, lesson).sum()), sums

    unit = 1.0 if lesson.classes else 1.0 / max(float(np.std(lesson.target)), 1e-300)
    offers = [Choice(trees[False], False, 0, unit)]
    offers += [Choice(trees[True], True, pairs, unit) for pairs in PAIRS[1:] if True in trees]
    chosen = _simplest(offers, lambda choice: tried(choice, rounded=False)[0], nothing)
    finer = [replace(chosen, scale=unit * scale) for scale in SCALES]
    chosen = _simplest(finer, lambda choice: tried(choice)[0], nothing)
    sums, mean = tried(chosen)[1].astype(np.int64), mean_of(tables[chosen.paired])
    return replace(chosen, hurried=hurried), sums, mean


def _learned(lesson: Lesson, fold: npt.NDArray[Any], paired: bool, trees: int, what: str) -> tuple[list[Model], Floats]:
    """A model for each fold, learned without it, and what the folds cost after every few trees: fewer trees where those
    would take longer than there is time, as a few of them say, and then the first fold.
    """

    def in_time(seconds: float) -> int:
        return trees if room_for(seconds) else max(FEWEST_TREES, STEP * int(trees * room() / seconds / STEP))

    began = time.monotonic()
    if math.isfinite(room()):
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
        return np.asarray((values[:, 0] - lesson.target) ** 2, dtype=np.float64)
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
