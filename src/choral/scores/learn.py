"""Learn points from a table: pieces, teacher, cross-fitting, whole numbers, bins.

Cross-fitting decides how many trees and how many pairs of columns are worth having, the simplest within half a percent of
what the best tells; and it gives, for each record, the bin of points that were learned without it. How often these bins
occur with each value of the protected columns and of the target is kept: it says honestly what codes tell about records to
come, where the table itself would flatter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import ProblemError
from choral.phases import phase, tell
from choral.problem.kernel import Floats
from choral.scores.crossfit import FOLDS, Choice, crossfitted, folds_of, records_in_time, strongest, whole_numbered
from choral.scores.cut import MOST_BINS, cells_of, cuts_of_sizes
from choral.scores.pieces import LEAST, pieces_of
from choral.scores.teacher import Lesson, Pair, Tables, spread, tables_of, taught
from choral.scores.written import compact, terms_of
from choral.tables.columns import Column, Cut
from choral.tables.points import Points, cells_of_cuts
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

LEAST_ROWS = 100
"""Records below which a score cannot be learned."""
MOST_ROWS = 200_000
"""Records that points are learned from; the law is counted on all."""
CROSS_FITTED = 50_000
MOST_CLASSES = 8
"""Values of the target that have sums of their own; of more, numbers are told by their mean and the rarest values pooled."""
MOST_INTERVALS = 5
"""Intervals of a number that have sums of their own; of more, which are in order, the mean of the place is learned: eight
sums take eight times as long (minutes for 50 000 records)."""
MOST_UNSEEN = 42
"""Bins where a protected column is not looked at: they differ in what they say about it, and the state has no value of it."""
NEARLY = 0.8
"""A column that by itself takes away this share of wrong guesses is asked about: honest ones rarely do."""
SAMPLE = "choral_lesson"


@dataclass(frozen=True)
class Asked:
    """What a score is for: the columns of the target and the others of the law, with alphabets, and those to learn from."""

    target: tuple[Column, ...]
    others: tuple[Column, ...]
    learn_from: tuple[str, ...]
    cuts: Mapping[str, Cut]
    name: str = "score"
    rows: int = MOST_ROWS
    """Records to learn from, at most."""
    weight: str | None = None
    """The column that says how many people a record stands for: held-out figures are about these."""
    measured: bool = False
    """Whether the target is told by its size: then points are for its mean, and its column is cut into bins for the cells."""
    unseen: tuple[tuple[Column, ...], ...] = ()
    """Groups among the others that are protected and not looked at: bins are to tell what records say about them, too. What
    matters of a record is then both P(W given it) and P(Z given it): a code has to mix bins so that Z is as before."""


@dataclass(frozen=True)
class Learned:
    """Points for one target: whole-numbered tables and their pairs, the sums of all records, and those of held-out ones."""

    lesson: Lesson
    choice: Choice
    tables: Tables
    pairs: Sequence[Pair]
    sums: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.int64]
    """By points that a record had no part in, brought to the constant of these."""


@phase("learning a score")
def learn(table: Source, asked: Asked, where: str = "") -> Points:
    """Points for the target from the rows of a table; `where` is SQL that leaves rows out."""
    with sampled(table, where, asked.rows) as (sample, rows):
        columns = [pieces_of(sample, name, "", asked.cuts.get(name)) for name in asked.learn_from]
        codes = codes_of(sample, columns)
        target, others = codes_of(sample, asked.target), codes_of(sample, asked.others)
        weights = None if asked.weight is None else _weights(numbers_of(sample, asked.weight))
        numbers = numbers_of(sample, asked.target[0].name) if asked.measured else None
    if len(codes) < LEAST_ROWS:
        raise ProblemError(
            f"{table.name} has {len(codes)} records: a score cannot be learned from fewer than {LEAST_ROWS}.",
            "Name the columns that are counted as they stand: use=… (--use).",
        )
    mean = None if numbers is None else _mean(codes, columns, numbers)
    about_target = mean or _lesson(codes, columns, target, asked.target)
    few = records_in_time(about_target, CROSS_FITTED)
    part = np.sort(np.random.default_rng(0).permutation(len(codes))[:few])
    found = [_learned(about_target, part)]
    about = [asked.target]
    classes = [_classes(target, asked.target)]
    for group in asked.unseen:
        values = others[:, [asked.others.index(column) for column in group]]
        try:
            lesson = _lesson(codes, columns, values, group)
        except ProblemError:  # too rare to be learned: bins do not tell them apart; what is private is private still
            continue
        found.append(_learned(lesson, part, f" for {_name(group)}"))
        about.append(group)
        classes.append(_classes(values, group))
    sums = np.hstack([one.sums for one in found])
    held_out = np.hstack([one.held_out for one in found])
    told = np.column_stack(classes)
    # Bins are cut where least is lost on both: of records that points saw sums are further apart, and bins for these alone
    # would be too few (measured).
    both = np.vstack([sums, held_out])
    if numbers is not None and len(found) == 1:
        alike = np.unique(others, axis=0, return_inverse=True)[1].reshape(-1)
        size, kind = np.concatenate([numbers, numbers[part]]), np.concatenate([alike, alike[part]])
        cells = cells_of_cuts(cuts_of_sizes(both[:, 0], size, kind, copies=2))
    else:
        cells = cells_of(both, np.vstack([told, told[part]]), MOST_BINS if len(found) == 1 else MOST_UNSEEN)
    terms = [terms for one in found for terms in terms_of(one.tables, columns, one.pairs)]
    points = compact(Points(asked.name, tuple(columns), tuple(terms), cells))
    bins, first = bins_of(cells, held_out), found[0]
    if numbers is None:
        kept = asked.others + asked.target
        held = _counted(np.column_stack([bins, others[part], target[part]]), weights, part)
    else:
        kept = asked.others
        held = _counted(np.column_stack([bins, others[part]]), weights, part, numbers)
    words = {
        "made": "learned",
        "records": len(codes),
        "of": rows,
        "trees": first.choice.trees,
        "pairs": len({term.columns for terms in points.sums for term in terms if len(term.columns) == 2}),
        "scale": first.choice.scale,
        **_in_words(first.lesson, asked.target, asked.measured),
        **({"hurried": True} if any(one.choice.hurried for one in found) else {}),
        **_nearly(first.lesson, columns, classes[0]),
        "contributes": _contributions(first.tables, first.lesson, columns),
        "held out": {
            "records": len(part),
            "folds": FOLDS,
            "columns": [asked.name, *(column.name for column in kept)],
            **held,
        },
    }
    if asked.unseen:
        words["sums"] = [
            name for one, group in zip(found, about, strict=True) for name in _sums_in_words(one.lesson, group)
        ]
        words["unseen"] = [_name(group) for group in asked.unseen]
        for one, group in zip(found[1:], about[1:], strict=True):
            contributed = _contributions(one.tables, one.lesson, columns)
            for name in _sums_in_words(one.lesson, group):
                words["contributes"] |= {f"{name}: {term}": size for term, size in contributed.items()}
    return replace(points, about=words)


def _learned(whole: Lesson, part: npt.NDArray[Any], what: str = "") -> Learned:
    """Points for one target, learned with cross-fitting on this part of the records; `what` is said of it."""
    choice, held_out, tables = crossfitted(whole.of(part), folds_of(whole.target[part]), what)
    whole = replace(whole, factors=choice.factors)
    if len(part) < len(whole.codes):
        tell(f"learning points from {len(whole.codes)} records{what}")
        tables = tables_of(taught(whole, choice.trees, choice.paired), whole, choice.trees)
    pairs = strongest(tables, whole, choice.pairs)
    numbered = whole_numbered(tables, choice.scale)
    shifted = held_out + np.round(choice.scale * (0 - tables.constant)).astype(np.int64)
    return Learned(whole, choice, numbered, pairs, _sums(numbered, whole.codes, pairs), shifted)


def _counted(
    rows: npt.NDArray[np.int64], weights: Floats | None, part: npt.NDArray[Any], numbers: Floats | None = None
) -> dict[str, list[Any]]:
    """How often each of these rows occurs, or what its records weigh; and sums and sums of squares of their numbers."""
    kinds, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    place, weight = place.reshape(-1), np.ones(len(part)) if weights is None else weights[part]
    if weights is not None:
        counts = np.maximum(1, np.round(np.bincount(place, weight))).astype(np.int64)
    found = {"counts": np.column_stack([kinds, counts]).tolist()}
    if numbers is not None:
        found["sums"] = np.bincount(place, weight * numbers[part]).tolist()
        found["squares"] = np.bincount(place, weight * numbers[part] ** 2).tolist()
    return found


def _classes(values: npt.NDArray[np.int64], columns: Sequence[Column]) -> npt.NDArray[np.int64]:
    """The values of these columns together, numbered."""
    sizes = [len(column.values) + 1 for column in columns]
    _, classes = np.unique(np.ravel_multi_index(tuple(values.T), sizes), return_inverse=True)
    return np.asarray(classes.reshape(-1), dtype=np.int64)


def _name(columns: Sequence[Column]) -> str:
    return "+".join(column.name for column in columns)


def _sums_in_words(lesson: Lesson, about: Sequence[Column]) -> list[str]:
    """What each sum is about, where several targets have some."""
    if not lesson.classes:
        return [_name(about)]
    return [f"{_name(about)} = {value}" for value in (lesson.values if lesson.classes > 2 else lesson.values[1:])]


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


def bins_of(cells: Any, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bins of records with these sums."""
    if isinstance(cells, int):
        return np.full(len(sums), cells, dtype=np.int64)
    which, edge, below, above = cells
    return np.where(sums[:, which] < edge, bins_of(below, sums), bins_of(above, sums))


@contextmanager
def sampled(table: Source, where: str, most: int = MOST_ROWS) -> Iterator[tuple[Source, int]]:
    """About so many rows of a table at most, chosen by their numbers, the same every time; and how many it has."""
    names = ", ".join(map(identifier, table.columns))
    with reading(table):
        [(rows,)] = table.connection.execute(f"SELECT count(*) FROM {table.sql} WHERE TRUE{where}").fetchall()
        few = f"hash(choral_row) % {max(rows, 1)} < {most}" if rows > most else "TRUE"
        numbered = f"SELECT {names}, row_number() OVER () AS choral_row FROM {table.sql} WHERE TRUE{where}"
        table.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {SAMPLE} AS SELECT * EXCLUDE (choral_row) FROM ({numbered}) WHERE {few}"
        )
    try:
        yield replace(table, sql=SAMPLE), rows
    finally:
        table.connection.execute(f"DROP TABLE {SAMPLE}")


def numbers_of(table: Source, name: str) -> Floats:
    """The values of a column of numbers; a missing one is 0."""
    with reading(table):
        found = table.connection.execute(
            f"SELECT CAST({identifier(name)} AS DOUBLE) AS w FROM {table.sql}"
        ).fetchnumpy()
    return np.asarray(np.nan_to_num(np.ma.filled(found["w"], 0.0)), dtype=np.float64)


def _weights(values: Floats) -> Floats:
    """Weights in thousandths of their mean: whole numbers of them are exact enough for an estimate."""
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


def _pieces(columns: Sequence[Column]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """How many pieces columns have, and whether these have an order of their own."""
    return tuple(len(column.values) + 1 for column in columns), tuple(column.edges is not None for column in columns)


def _lesson(
    codes: npt.NDArray[np.int64], columns: Sequence[Column], target: npt.NDArray[np.int64], about: Sequence[Column]
) -> Lesson:
    """What is to be learned: classes, the rarest pooled where there are many; or a mean, of a number with many values."""
    ids = np.ravel_multi_index(tuple(target.T), [len(column.values) + 1 for column in about])
    _, classes, counts = np.unique(ids, return_inverse=True, return_counts=True)
    if len(about) == 1 and about[0].edges is not None and len(counts) > MOST_INTERVALS:
        return Lesson(codes, *_pieces(columns), target[:, 0].astype(np.float64), 0)
    if len(counts) > MOST_CLASSES and len(about) == 1 and all(_is_number(value) for value in about[0].values):
        numbers = np.array([float(value) for value in about[0].values])
        return Lesson(codes, *_pieces(columns), numbers[target[:, 0]], 0)
    order = np.argsort(-counts, kind="stable")
    common = order[: MOST_CLASSES - 1] if len(counts) > MOST_CLASSES else order
    common = np.sort(common[counts[common] >= min(LEAST, counts.max())])
    others = len(codes) - int(counts[common].sum())
    few = 0 < others < FOLDS  # too few to be learned as a class: they go with the rarest that is one
    if (few and len(common) < 2) or counts.max() < 2 * FOLDS:
        name = _name(about)
        raise ProblemError(
            f"The {len(counts)} values of the target '{name}' are too rare to learn a score for them: of {len(codes)} "
            f"records {counts.max()} {'has' if counts.max() == 1 else 'have'} the most common one, and "
            f"{len(codes) - counts.max()} all others.",
            "Reveal a column with fewer values, group the values of this one, or name the columns to count (--use).",
        )
    place = np.full(len(counts), len(common) - few)
    place[common] = np.arange(len(common))
    kept = place[classes]
    shown = [_value(int(ids[np.flatnonzero(classes == c)[0]]), about) for c in common]
    named = [*shown, "the others"][: int(kept.max()) + 1]
    return Lesson(codes, *_pieces(columns), kept, len(named), tuple(named))


def _mean(codes: npt.NDArray[np.int64], columns: Sequence[Column], numbers: Floats) -> Lesson:
    """The mean of a number: columns may multiply one that is nowhere negative, and not 0 in all but a few records."""
    factors = None if numbers.min() >= 0 and np.count_nonzero(numbers) >= 2 * FOLDS else False
    return Lesson(codes, *_pieces(columns), numbers, 0, factors=factors)


def _value(number: int, about: Sequence[Column]) -> str:
    """A value of the target, of one column or of several, by its number."""
    places = np.unravel_index(number, [len(column.values) + 1 for column in about])
    return ", ".join(str(column.values[i]) for column, i in zip(about, places, strict=True))


def _contributions(tables: Tables, lesson: Lesson, columns: Sequence[Column]) -> dict[str, float]:
    """How many points, as a root mean square over the records, each column and pair of columns makes."""
    names = [column.name for column in columns]
    found = spread(tables, lesson.codes)
    return {" × ".join(names[i] for i in term): round(size, 1) for term, size in found.items() if size}


def _in_words(lesson: Lesson, target: Sequence[Column], measured: bool) -> dict[str, Any]:
    """What points are about: one value of the target, its mean, or each of its values."""
    name = _name(target)
    if lesson.factors:
        return {"about": f"multiply the mean of {name} by 2.7"}
    if not lesson.classes:
        unit = "unit" if measured or target[0].edges is None else "interval"
        return {"about": f"are one {unit} of {name}"}
    if lesson.classes == 2 and len(target) == 1 and len(target[0].values) == 2:
        return {"about": f"multiply the odds of {name} = {target[0].values[1]} by 2.7"}
    if lesson.classes == 2:
        return {"about": f"multiply the odds of the second value of {name} by 2.7"}
    return {"about": "multiply the odds by 2.7", "sums": list(lesson.values)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sums(tables: Tables, codes: npt.NDArray[np.int64], pairs: Sequence[Pair]) -> npt.NDArray[np.int64]:
    free = replace(tables, constant=np.zeros_like(tables.constant))
    return free.values(codes, pairs).astype(np.int64)
