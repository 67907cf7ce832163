"""Fit with Spark: Spark SQL counts the different raw records, and what it counted is fitted like any table.

The counts are a table with weights. Where a column is cut, its values are grouped by the bins, and one raw value of each
group stands for all: it lies in the same bin. So everything that `fit` finds in the counts, it would find in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from choral.design.limits import Limits, Progress
from choral.draw.spark.frames import SparkTable, located, spark_table
from choral.draw.spark.session import in_plain_words, started
from choral.errors import LawError
from choral.problem.question import Question
from choral.release import fit as fit_counts
from choral.release import second
from choral.release.file import Release
from choral.release.fit import united
from choral.tables.bins import Bins, check_bins, edges_from, rules_of
from choral.tables.calendar import Calendar
from choral.tables.columns import Cut
from choral.tables.counting import MOST_CELLS, too_many
from choral.tables.cutting import check_cuts, named_by
from choral.tables.groups import Declared, Groups
from choral.tables.kinds import DATES, NUMERIC, kind_of_type
from choral.tables.opening import FRAME
from choral.tables.rules import MIN_COUNT, TableRules
from choral.tables.source import Source, session

COUNT = "choral count"
MISSING, STRANGE, OUTSIDE = -1, -2, -3
"""In place of bins: no value, a text that Spark takes for none, and one that lies in no bin."""

Cuts = Mapping[str, Cut]


def fit(
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: Any = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | str | None = None,
    groups: Mapping[str, Declared] | str | None = None,
    missing: str = "value",
    empty: str = "missing",
    min_count: int = MIN_COUNT,
    law: str = "frequencies",
    unseen: str = "refuse",
    leakage: Mapping[str, Any] | None = None,
    ratio: Mapping[str, Any] | None = None,
    also: Sequence[Any] = (),
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    solver: str | None = None,
    progress: Progress | None = None,
    id: str | None = None,
    drop: str | Sequence[str] = (),
    earlier: Release | None = None,
    master: str | None = None,
) -> Release:
    """The release that `choral.release.fit.fit` gives, with the records counted by Spark.

    `source` and `also` are paths that all workers can read, or data frames of Spark. With `earlier` it is the release that
    `choral.release.second.fit_after` gives. The other arguments are those of these functions.
    """
    question = Question(reveal, protect, use, order, leakage, ratio)
    dropped = (drop,) if isinstance(drop, str) else tuple(drop)
    rules = TableRules(rules_of(bins, groups), missing, empty, min_count, law, unseen, id, drop=dropped)
    limits = Limits(tol, rel_tol, time_limit, codes, progress, solver)
    return fitted(source, question, rules, limits, also, earlier, master)


def fitted(
    source: Any,
    question: Question,
    rules: TableRules,
    limits: Limits,
    also: Sequence[Any] = (),
    earlier: Release | None = None,
    master: str | None = None,
) -> Release:
    """The release that `choral.release.fit.fitted`, or with `earlier` `choral.release.second.fitted_after`, gives."""
    with started(master) as session:
        how = rules.as_read if earlier is None else replace(earlier.recipe.as_read, find=True)
        table = spark_table(session, source, how)
        if earlier is None and table.from_file and question.use is None and question.protect is not None:
            return _scored(table, question, rules, limits, also)
        roles = rules.roles(table.source, question)
        known: dict[str, Cut | None] = {}
        if earlier is not None:
            roles = united(table.source, roles, earlier.recipe)
            known = {column.name: column.cut for column in earlier.recipe.columns}
            rules = replace(rules, missing=earlier.recipe.missing)
        needed = roles.needed
        check_cuts(table.source, rules.bins, lambda name: _texts(table, name))
        check_bins(rules.bins, needed, known)
        cuts: dict[str, Cut] = {
            name: named_by(rule) or _edges(table, needed, name, rule, rules.missing)
            for name, rule in rules.bins.items()
        }
        cuts |= {name: before for name, before in known.items() if before is not None}
        types = {name: _type_read(table.columns[name], isinstance(cuts.get(name), tuple)) for name in needed}
        others_as = replace(how, types=types, find=False, marks=table.source.marks)
        tables = [table, *(spark_table(session, other, others_as) for other in also)]
        first, *others = [_counted(one, needed, cuts) for one in tables]
    with ExitStack() as stack, located(tables, needed):
        for counts in (first, *others, *(one.source for one in tables)):
            stack.callback(counts.connection.close)
        # of what was counted: no identifier, and of what is not looked at what is protected all the same
        anonymous = replace(rules, id=None, drop=tuple(name for name in rules.drop if name in needed))
        if earlier is not None:
            found = second.fitted_after(earlier, first, question, anonymous, limits)
        else:
            found = fit_counts.fitted(first, question, anonymous, limits, others)
    return replace(found, recipe=replace(found.recipe, id=rules.id))


def _scored(table: SparkTable, question: Question, rules: TableRules, limits: Limits, also: Sequence[Any]) -> Release:
    """The release of files that a score may be learned from: DuckDB samples and counts them here, where they can be seen."""
    with closing(table.source.connection):
        found = fit_counts.fitted(table.source, question, rules, limits, also)
    if found.points is None:
        return found
    return replace(found, remarks=(*found.remarks, "the score was learned, and records counted, on this machine"))


def _type_read(type_: str, binned: bool) -> str:
    """The type that fields of a further table are read as: numbers of any kind can be binned."""
    return "DOUBLE" if binned and type_ != "FLOAT" else type_


def _counted(table: SparkTable, needed: Sequence[str], cuts: Cuts) -> Source:
    """How often each raw record of the needed columns occurs, as a table with weights."""
    from pyspark.sql import functions as F

    names = [name for name in needed if name in table.columns]
    table.check_json(names)
    keys = [
        _bin(table, name, i, cuts[name]).alias(f"k{i}") if name in cuts else F.col(f"c{i}").alias(f"k{i}")
        for i, name in enumerate(names)
    ]
    binned = [i for i, name in enumerate(names) if name in cuts]
    values = [F.min(f"c{i}").alias(f"c{i}") for i in binned]
    with in_plain_words(table.name):
        raw = table.raw(names).select("*", *keys)
        groups = raw.groupBy(*(f"k{i}" for i in range(len(names)))).agg(F.count(F.lit(1)).alias(COUNT), *values)
        found = groups.limit(MOST_CELLS + 1).toArrow()
        if found.num_rows > MOST_CELLS:
            raise _too_many(table, names, cuts, groups.count())
    for i in binned:
        if STRANGE in found.column(f"k{i}").to_pylist():
            table.source.check_fields([names[i]])
            raise LawError(
                f"The column '{names[i]}' of {table.name} has values that Spark cannot read.",
                "Write numbers in plain decimals, or convert the table to Parquet.",
            )
    kept = [found.column(f"c{i}" if i in binned else f"k{i}") for i in range(len(names))]
    return _weighted(table, names, [*kept, found.column(COUNT)], cuts)


def _weighted(table: SparkTable, names: Sequence[str], columns: Sequence[Any], cuts: Cuts) -> Source:
    import pyarrow as pa

    counts = pa.table(list(columns), names=[*(f"c{i}" for i in range(len(names))), COUNT])
    connection = session()
    connection.register(FRAME, counts)
    types = {name: table.columns[name] for name in names}
    sql = table.typed_sql(names, FRAME, COUNT)
    source = Source(connection, sql, types, table.name, weight=COUNT, known_digest=table.digest(), known_cuts=cuts)
    counted = table.source if table.from_file else None
    source = replace(
        source, empty=table.source.empty, marks=table.source.marks, header=table.source.header, counted=counted
    )
    table.check_read(source.rows())
    return source


def _bin(table: SparkTable, name: str, place: int, cut: Cut) -> Any:
    """A whole number for the bin that a value lies in."""
    if isinstance(cut, Calendar):
        return _part(table.day(name, place), place, cut.part)
    return _group(place, cut) if isinstance(cut, Groups) else _interval(table, name, place, cut)


def _part(day: Any, place: int, part: str) -> Any:
    """A number of its own for each part of the calendar; which part it is, DuckDB says of the values in it."""
    from pyspark.sql import functions as F

    year = F.year(day)
    number = {
        "decade": F.floor(year / 10),
        "year": year,
        "quarter": year * 4 + F.quarter(day),
        "month": year * 12 + F.month(day),
        "week": F.datediff(F.trunc(day, "week"), F.lit("0001-01-01").cast("date")),
        "weekday": F.weekday(day),
    }[part]
    strange = F.when(F.col(f"c{place}").isNull(), MISSING).when(day.isNull(), STRANGE)
    return strange.when(~year.between(1, 9999), OUTSIDE).otherwise(number.cast("int"))


def _group(place: int, groups: Groups) -> Any:
    from pyspark.sql import functions as F

    value = F.col(f"c{place}")
    found = F.when(value.isNull(), MISSING)
    for i, (_, values) in enumerate(groups.named):
        found = found.when(value.isin(list(values)), i)
    return found.otherwise(OUTSIDE)


def _texts(table: SparkTable, name: str) -> list[str]:
    """The different texts of a column, in order."""
    from pyspark.sql import functions as F

    with in_plain_words(table.name):
        found = table.raw([name]).distinct().where(F.col("c0").isNotNull()).limit(MOST_CELLS).collect()
    return sorted(row[0] for row in found)


def _interval(table: SparkTable, name: str, place: int, edges: tuple[float, ...]) -> Any:
    from pyspark.sql import functions as F

    number = table.number(name, place)
    found = F.when(F.col(f"c{place}").isNull() | F.isnan(number), MISSING).when(number.isNull(), STRANGE)
    for i, edge in enumerate(edges):
        found = found.when(number < F.lit(edge), i)
    return found.otherwise(len(edges))


def _edges(table: SparkTable, needed: Sequence[str], name: str, rule: Bins, missing: str) -> tuple[float, ...]:
    """The edges of `choral.tables.bins.edges_of`, found by Spark."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    def numbers() -> Any:
        frame = table.raw(needed)
        if missing == "drop":
            for i, other in enumerate(needed):
                frame = frame.where(F.col(f"c{i}").isNotNull())
                if kind_of_type(table.columns[other]) == "float":
                    frame = frame.where(~F.isnan(table.number(other, i)))
        frame = frame.select(table.number(name, needed.index(name)).alias("v"))
        return frame.where(F.col("v").isNotNull() & ~F.isnan("v"))

    def extent() -> tuple[Any, ...]:
        with in_plain_words(table.name):
            [row] = numbers().agg(F.min("v"), F.max("v"), F.count("v")).collect()
        return tuple(row)

    def at_ranks(ranks: Sequence[int]) -> Sequence[float]:
        with in_plain_words(table.name):
            counted = numbers().groupBy("v").agg(F.count(F.lit(1)).alias("n"))
            upto = counted.select("v", F.sum("n").over(Window.orderBy("v")).alias("upto"))
            [row] = upto.agg(*(F.min(F.when(F.col("upto") > rank, F.col("v"))) for rank in ranks)).collect()
        return tuple(row)

    return edges_from(table.source, name, rule, extent, at_ranks)


def _too_many(table: SparkTable, names: Sequence[str], cuts: Cuts, many: int) -> Exception:
    from pyspark.sql import functions as F

    [row] = table.raw(names).agg(*(F.countDistinct(f"c{i}") for i in range(len(names)))).collect()
    kinds = {name: kind_of_type(table.columns[name]) or "" for name in names if name not in cuts}
    edges = {name: len(cut) for name, cut in cuts.items() if isinstance(cut, tuple)}
    sizes = {name: edges.get(name, 0) or int(n) for name, n in zip(names, row, strict=True)}
    return too_many(sizes, {name: kind for name, kind in kinds.items() if kind in (*NUMERIC, *DATES)}, many)
