"""Learn points from a table: pieces, teacher, cross-fitting, whole numbers, bins.

Cross-fitting decides how many trees and how many pairs of columns are worth having, the simplest within half a percent of
what the best tells; and it gives, for each record, the bin of points that were learned without it. How often these bins
occur with each value of the protected columns and of the target is kept: it says honestly what codes tell about records to
come, where the table itself would flatter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.entropy import entropies
from choral.errors import ProblemError
from choral.phases import phase, tell
from choral.problem.kernel import Floats
from choral.scores.cut import MOST_BINS, cells_of
from choral.scores.pieces import LEAST, pieces_of
from choral.scores.teacher import Lesson, Model, Pair, Tables, mean_of, spread, tables_of, taught
from choral.tables.columns import Column, labels
from choral.tables.points import Points, Term
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

LEAST_ROWS = 100
"""Records below which a score cannot be learned."""
MOST_ROWS = 200_000
"""Records that points are learned from; the law is counted on all."""
CROSS_FITTED = 50_000
FOLDS = 5
TREES, STEP = 240, 10
MOST_CLASSES = 8
"""Values of the target that have sums of their own; of more, numbers are told by their mean and the rarest values pooled."""
PAIRS = (0, 4, 8, 16, 32)
SCALES = (10, 20, 50)
"""Points to a factor e in the odds (to a standard deviation, of means); fewer are easier to read."""
WORTH = 0.005
"""Share of what the best tells that is given up for what is simpler."""
NEARLY = 0.8
"""A column that by itself takes away this share of wrong guesses is asked about: honest ones rarely do."""
SAMPLE = "choral_lesson"


@dataclass(frozen=True)
class Asked:
    """What a score is for: the columns of the target and the others of the law, with alphabets, and those to learn from."""

    target: tuple[Column, ...]
    others: tuple[Column, ...]
    learn_from: tuple[str, ...]
    edges: Mapping[str, tuple[float, ...]]
    name: str = "score"
    most: int = MOST_BINS
    weight: str | None = None
    """The column that says how many people a record stands for: held-out figures are about these."""


@dataclass(frozen=True)
class Choice:
    """What cross-fitting chose: how many trees, which model, how many of its pairs, and how fine points are."""

    trees: int
    paired: bool
    pairs: int
    scale: float


@phase("learning a score")
def learn(table: Source, asked: Asked, where: str = "") -> Points:
    """Points for the target from the rows of a table; `where` is SQL that leaves rows out."""
    with sampled(table, where) as (sample, rows):
        columns = [pieces_of(sample, name, "", asked.edges.get(name)) for name in asked.learn_from]
        codes = codes_of(sample, columns)
        target, others = codes_of(sample, asked.target), codes_of(sample, asked.others)
        weights = _weights(sample, asked.weight)
    if len(codes) < LEAST_ROWS:
        raise ProblemError(
            f"{table.name} has {len(codes)} records: a score cannot be learned from fewer than {LEAST_ROWS}.",
            "Name the columns that are counted as they stand: use=… (--use).",
        )
    whole, sizes = _lesson(codes, columns, target, asked.target), [len(column.values) for column in asked.target]
    part = np.sort(np.random.default_rng(0).permutation(len(codes))[:CROSS_FITTED])
    fold = folds_of(whole.target[part])
    choice, held_out, tables = crossfitted(whole.of(part), fold)
    if len(part) < len(codes):
        tell(f"learning points from {len(codes)} records")
        tables = tables_of(taught(whole, choice.trees, choice.paired), whole, choice.trees)
    pairs = strongest(tables, whole, choice.pairs)
    ids = np.ravel_multi_index(tuple(target.T), sizes) if len(sizes) > 1 else target[:, 0]
    sums = _sums(whole_numbered(tables, choice.scale), whole.codes, pairs)
    _, classes = np.unique(ids, return_inverse=True)
    # Cross-fitted sums are those of other points: they are brought to the constant of these. Bins are cut where least is
    # lost on both: of records that points saw sums are further apart, and bins for these alone would be too few (measured).
    shifted = held_out + np.round(choice.scale * (0 - tables.constant)).astype(np.int64)
    cells = cells_of(np.vstack([sums, shifted]), np.concatenate([classes, classes[part]]), asked.most)
    points = _compact(
        Points(asked.name, tuple(columns), _terms(whole_numbered(tables, choice.scale), columns, pairs), cells)
    )
    bins = bins_of(cells, shifted)
    told = np.column_stack([bins, others[part], target[part]])
    rows_, place, counts = np.unique(told, axis=0, return_inverse=True, return_counts=True)
    if weights is not None:
        counts = np.maximum(1, np.round(np.bincount(place.reshape(-1), weights[part]))).astype(np.int64)
    about = {
        "made": "learned",
        "records": len(codes),
        "of": rows,
        "trees": choice.trees,
        "pairs": len({term.columns for terms in points.sums for term in terms if len(term.columns) == 2}),
        "scale": choice.scale,
        **_in_words(whole, asked.target),
        **_nearly(whole, columns, classes),
        "contributes": _contributions(whole_numbered(tables, choice.scale), whole, columns),
        "held out": {
            "records": len(part),
            "folds": FOLDS,
            "columns": [asked.name, *(column.name for column in (*asked.others, *asked.target))],
            "counts": np.column_stack([rows_, counts]).tolist(),
        },
    }
    return replace(points, about=about)


def _nearly(lesson: Lesson, columns: Sequence[Column], classes: npt.NDArray[Any]) -> dict[str, Any]:
    """Columns that guess nearly all of a target by themselves, and how often right: they may be made from it."""
    base = np.bincount(classes).max() / len(classes)
    found = {}
    for i, column in enumerate(columns if lesson.classes else ()):
        counts = np.zeros((lesson.sizes[i], int(classes.max()) + 1), dtype=np.int64)
        np.add.at(counts, (lesson.codes[:, i], classes), 1)
        right = counts.max(axis=1).sum() / len(classes)
        if right - base >= NEARLY * (1 - base):
            found[column.name] = round(float(right), 4)
    return {"nearly": found} if found else {}


def crossfitted(lesson: Lesson, fold: npt.NDArray[Any]) -> tuple[Choice, npt.NDArray[np.int64], Tables]:
    """What is worth having; the sums, constant included, that each record has by points learned without it; and the mean of
    the models, which tells more than any, and no less than one that is learned from all records (measured).
    """
    models: dict[bool, list[Model]] = {False: [], True: []}
    loss: dict[bool, Floats] = {kind: np.zeros(TREES // STEP) for kind in models}
    kinds = [False, True] if len(lesson.sizes) > 1 else [False]
    for k in range(FOLDS):
        for paired in kinds:
            tell(f"cross-fitting, {k + 1} of {FOLDS}, {'pairs' if paired else 'single columns'}")
            model = taught(lesson.of(fold != k), TREES, paired)
            models[paired].append(model)
            test = lesson.of(fold == k)
            for i, stage in enumerate(model.staged(test.codes)):
                if (i + 1) % STEP == 0:
                    loss[paired][i // STEP] += _loss(stage, test).sum()
    trees = {paired: STEP * (int(loss[paired].argmin()) + 1) for paired in kinds}
    tables = {
        paired: [tables_of(model, lesson.of(fold != k), trees[paired]) for k, model in enumerate(models[paired])]
        for paired in kinds
    }

    def tried(choice: Choice, rounded: bool = True) -> tuple[float, Floats]:
        sums = np.zeros((len(fold), tables[choice.paired][0].constant.size))
        for k, found in enumerate(tables[choice.paired]):
            pairs = strongest(found, lesson.of(fold != k), choice.pairs)
            used = whole_numbered(found, choice.scale) if rounded else found
            sums[fold == k] = used.values(lesson.codes[fold == k], pairs)
        return float(_loss(sums / choice.scale if rounded else sums, lesson).sum()), sums

    nothing = _nothing(lesson)
    unit = 1.0 if lesson.classes else 1.0 / max(float(np.std(lesson.target)), 1e-300)
    offers = [Choice(trees[False], False, 0, unit)]
    offers += [Choice(trees[True], True, pairs, unit) for pairs in PAIRS[1:] if True in trees]
    chosen = _simplest(offers, lambda choice: tried(choice, rounded=False)[0], nothing)
    finer = [replace(chosen, scale=unit * scale) for scale in SCALES]
    chosen = _simplest(finer, lambda choice: tried(choice)[0], nothing)
    return chosen, tried(chosen)[1].astype(np.int64), mean_of(tables[chosen.paired])


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


def bins_of(cells: Any, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bins of records with these sums."""
    if isinstance(cells, int):
        return np.full(len(sums), cells, dtype=np.int64)
    which, edge, below, above = cells
    return np.where(sums[:, which] < edge, bins_of(below, sums), bins_of(above, sums))


@contextmanager
def sampled(table: Source, where: str) -> Iterator[tuple[Source, int]]:
    """At most `MOST_ROWS` rows of a table, chosen by their numbers, the same every time; and how many it has."""
    names = ", ".join(map(identifier, table.columns))
    with reading(table):
        [(rows,)] = table.connection.execute(f"SELECT count(*) FROM {table.sql} WHERE TRUE{where}").fetchall()
        few = f"hash(choral_row) % {max(rows, 1)} < {MOST_ROWS}" if rows > MOST_ROWS else "TRUE"
        numbered = f"SELECT {names}, row_number() OVER () AS choral_row FROM {table.sql} WHERE TRUE{where}"
        table.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {SAMPLE} AS SELECT * EXCLUDE (choral_row) FROM ({numbered}) WHERE {few}"
        )
    try:
        yield replace(table, sql=SAMPLE), rows
    finally:
        table.connection.execute(f"DROP TABLE {SAMPLE}")


def _weights(table: Source, name: str | None) -> Floats | None:
    """The weights of all rows, in thousandths of their mean: whole numbers of them are exact enough for an estimate."""
    if name is None:
        return None
    with reading(table):
        found = table.connection.execute(
            f"SELECT CAST({identifier(name)} AS DOUBLE) AS w FROM {table.sql}"
        ).fetchnumpy()
    values = np.nan_to_num(np.ma.filled(found["w"], 0.0))
    return np.asarray(1000 * values / max(float(values.mean()), 1e-300), dtype=np.float64)


def codes_of(table: Source, columns: Sequence[Column]) -> npt.NDArray[np.int64]:
    """The pieces of all rows; the one after the last is "other"."""
    if not columns:
        return np.zeros((table.rows(), 0), dtype=np.int64)
    items = [
        f"CAST(coalesce({column.code_sql(table.columns[column.name])}, {len(column.values)}) AS SMALLINT) AS c{i}"
        for i, column in enumerate(columns)
    ]
    with reading(table):
        found = table.connection.execute(f"SELECT {', '.join(items)} FROM {table.sql}").fetchnumpy()
    return np.column_stack([found[f"c{i}"] for i in range(len(columns))]).astype(np.int64)


def _lesson(
    codes: npt.NDArray[np.int64], columns: Sequence[Column], target: npt.NDArray[np.int64], about: Sequence[Column]
) -> Lesson:
    """What is to be learned: classes, the rarest pooled where there are many; or a mean, of a number with many values."""
    sizes = tuple(len(column.values) + 1 for column in columns)
    natural = tuple(column.edges is not None for column in columns)
    ids = np.ravel_multi_index(tuple(target.T), [len(column.values) + 1 for column in about])
    _, classes, counts = np.unique(ids, return_inverse=True, return_counts=True)
    if len(counts) > MOST_CLASSES and len(about) == 1 and all(_is_number(value) for value in about[0].values):
        numbers = np.array([float(value) for value in about[0].values])
        return Lesson(codes, sizes, natural, numbers[target[:, 0]], 0)
    order = np.argsort(-counts, kind="stable")
    common = order[: MOST_CLASSES - 1] if len(counts) > MOST_CLASSES else order
    common = np.sort(common[counts[common] >= min(LEAST, counts.max())])
    others = len(codes) - int(counts[common].sum())
    few = 0 < others < FOLDS  # too few to be learned as a class: they go with the rarest that is one
    if (few and len(common) < 2) or counts.max() < 2 * FOLDS:
        name = "+".join(column.name for column in about)
        raise ProblemError(
            f"The {len(counts)} values of the target '{name}' are too rare to learn a score for them: of {len(codes)} "
            f"records {counts.max()} have the most common one, and {len(codes) - counts.max()} all others.",
            "Reveal a column with fewer values, group the values of this one, or name the columns to count (--use).",
        )
    place = np.full(len(counts), len(common) - few)
    place[common] = np.arange(len(common))
    kept = place[classes]
    shown = [_value(int(ids[np.flatnonzero(classes == c)[0]]), about) for c in common]
    named = [*shown, "the others"][: int(kept.max()) + 1]
    return Lesson(codes, sizes, natural, kept, len(named), tuple(named))


def _value(number: int, about: Sequence[Column]) -> str:
    """A value of the target, of one column or of several, by its number."""
    places = np.unravel_index(number, [len(column.values) + 1 for column in about])
    return ", ".join(str(column.values[i]) for column, i in zip(about, places, strict=True))


def _contributions(tables: Tables, lesson: Lesson, columns: Sequence[Column]) -> dict[str, float]:
    """How many points, as a root mean square over the records, each column and pair of columns makes."""
    names = [column.name for column in columns]
    found = spread(tables, lesson.codes)
    return {" × ".join(names[i] for i in term): round(size, 1) for term, size in found.items() if size}


def _in_words(lesson: Lesson, target: Sequence[Column]) -> dict[str, Any]:
    """What points are about: one value of the target, its mean, or each of its values."""
    name = "+".join(column.name for column in target)
    if not lesson.classes:
        return {"about": f"are one unit of {name}"}
    if lesson.classes == 2 and len(target) == 1 and len(target[0].values) == 2:
        return {"about": f"multiply the odds of {name} = {target[0].values[1]} by 2.7"}
    if lesson.classes == 2:
        return {"about": f"multiply the odds of the second value of {name} by 2.7"}
    return {"about": "multiply the odds by 2.7", "sums": list(lesson.values)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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


def _sums(tables: Tables, codes: npt.NDArray[np.int64], pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
    free = replace(tables, constant=np.zeros_like(tables.constant))
    return free.values(codes, pairs).astype(np.int64)


def _terms(tables: Tables, columns: Sequence[Column], pairs: Sequence[Pair]) -> tuple[tuple[Term, ...], ...]:
    names = [column.name for column in columns]
    found = []
    for s in range(tables.constant.size):
        one = [Term((names[i],), _flat(table[:, s])) for i, table in tables.one.items()]
        two = [Term((names[i], names[j]), _flat(tables.two[i, j][:, :, s])) for i, j in pairs]
        found.append(tuple(term for term in (*one, *two) if any(term.points)))
    return tuple(found)


def _flat(table: Floats) -> tuple[int, ...]:
    return tuple(int(point) for point in table.reshape(-1))


def _compact(points: Points) -> Points:
    """The same points without columns that have none, and without edges at which no points change."""
    used = {name for terms in points.sums for term in terms for name in term.columns}
    for column in (column for column in points.columns if column.name in used and column.edges):
        tables = [
            np.moveaxis(_array(points, term), term.columns.index(column.name), 0)
            for terms in points.sums
            for term in terms
            if column.name in term.columns
        ]
        assert column.edges is not None
        changes = [i for i in range(len(column.edges)) if any((table[i] != table[i + 1]).any() for table in tables)]
        edges = tuple(column.edges[i] for i in changes)
        gap = (None,) if None in column.values else ()
        rows = [0, *(i + 1 for i in changes), *range(len(column.edges) + 1, len(column.values) + 1)]
        narrow = replace(column, values=(*labels(edges), *gap), edges=edges)
        sums = tuple(
            tuple(
                replace(
                    term,
                    points=_flat(np.take(_array(points, term), rows, axis=term.columns.index(column.name))),
                )
                if column.name in term.columns
                else term
                for term in terms
            )
            for terms in points.sums
        )
        columns = tuple(narrow if c.name == column.name else c for c in points.columns)
        points = replace(points, columns=columns, sums=sums)
    return replace(points, columns=tuple(column for column in points.columns if column.name in used))


def _array(points: Points, term: Term) -> npt.NDArray[np.int64]:
    sizes = {column.name: len(column.values) + 1 for column in points.columns}
    return np.array(term.points, dtype=np.int64).reshape([sizes[name] for name in term.columns])
