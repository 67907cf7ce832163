"""Fit with Spark: Spark SQL counts the different raw records, and what it counted is fitted like any table.

The counts are a table with weights. Where a column is binned, its numbers are grouped by the bins, and one raw value of
each group stands for all: it lies in the same bin. So everything that `fit` finds in the counts, it would find in the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from choral.draw.spark.frames import SparkTable, located, spark_table
from choral.draw.spark.session import in_plain_words, started
from choral.errors import LawError
from choral.release import fit as fit_counts
from choral.release.file import Release
from choral.release.fit import united
from choral.release.second import fit_after
from choral.tables.bins import Bins, check_bins, edges_from
from choral.tables.counting import MOST_CELLS, asked_of, too_many
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.source import FRAME, AsRead, Source, connect

COUNT = "choral count"
MISSING, STRANGE = -1, -2
"""In place of bins: no number, and a text that Spark takes for none."""

Edges = Mapping[str, tuple[float, ...]]


def fit(
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: Any = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | None = None,
    missing: str = "value",
    empty: str = "missing",
    also: Sequence[Any] = (),
    earlier: Release | None = None,
    master: str | None = None,
    id: str | None = None,
    **options: Any,
) -> Release:
    """The release that `choral.release.fit.fit` gives, with the records counted by Spark.

    `source` and `also` are paths that all workers can read, or data frames of Spark. With `earlier` it is the release that
    `choral.release.second.fit_after` gives. The other arguments are those of these functions.
    """
    with started(master) as session:
        how = AsRead(empty=empty) if earlier is None else replace(earlier.recipe.as_read, find=True)
        table = spark_table(session, source, how)
        asked = asked_of(table.source, reveal, protect, use, order, id)
        known: dict[str, tuple[float, ...] | None] = {}
        if earlier is not None:
            asked = united(table.source, asked, earlier.recipe)
            known = {column.name: column.edges for column in earlier.recipe.columns}
            missing = earlier.recipe.missing
        check_bins(bins or {}, asked.needed, known)
        edges = {name: _edges(table, asked.needed, name, rule, missing) for name, rule in (bins or {}).items()}
        edges |= {name: before for name, before in known.items() if before is not None}
        types = {name: _type_read(table.columns[name], name in edges) for name in asked.needed}
        others_as = replace(how, types=types, find=False, marks=table.source.marks)
        tables = [table, *(spark_table(session, other, others_as) for other in also)]
        first, *others = [_counted(one, asked.needed, edges) for one in tables]
    with ExitStack() as stack, located(tables, asked.needed):
        for source in (first, *others, *(one.source for one in tables)):
            stack.callback(source.connection.close)
        asked_again = first, reveal, protect, use, order
        if earlier is not None:
            found = fit_after(earlier, *asked_again, bins=bins, **options)
        else:
            found = fit_counts.fit(*asked_again, bins=bins, missing=missing, also=others, **options)
    return replace(found, recipe=replace(found.recipe, id=id))


def _type_read(type_: str, binned: bool) -> str:
    """The type that fields of a further table are read as: numbers of any kind can be binned."""
    return "DOUBLE" if binned and type_ != "FLOAT" else type_


def _counted(table: SparkTable, needed: Sequence[str], edges: Edges) -> Source:
    """How often each raw record of the needed columns occurs, as a table with weights."""
    from pyspark.sql import functions as F

    names = [name for name in needed if name in table.columns]
    table.check_json(names)
    keys = [
        _bin(table, name, i, edges[name]).alias(f"k{i}") if name in edges else F.col(f"c{i}").alias(f"k{i}")
        for i, name in enumerate(names)
    ]
    binned = [i for i, name in enumerate(names) if name in edges]
    values = [F.min(f"c{i}").alias(f"c{i}") for i in binned]
    with in_plain_words(table.name):
        raw = table.raw(names).select("*", *keys)
        groups = raw.groupBy(*(f"k{i}" for i in range(len(names)))).agg(F.count(F.lit(1)).alias(COUNT), *values)
        found = groups.limit(MOST_CELLS + 1).toArrow()
        if found.num_rows > MOST_CELLS:
            raise _too_many(table, names, edges, groups.count())
    for i in binned:
        if STRANGE in found.column(f"k{i}").to_pylist():
            table.source.check_fields([names[i]])
            raise LawError(
                f"The column '{names[i]}' of {table.name} has numbers that Spark cannot read.",
                "Write them in plain decimals, or convert the table to Parquet.",
            )
    kept = [found.column(f"c{i}" if i in binned else f"k{i}") for i in range(len(names))]
    return _weighted(table, names, [*kept, found.column(COUNT)], edges)


def _weighted(table: SparkTable, names: Sequence[str], columns: Sequence[Any], edges: Edges) -> Source:
    import pyarrow as pa

    counts = pa.table(list(columns), names=[*(f"c{i}" for i in range(len(names))), COUNT])
    connection = connect()
    connection.register(FRAME, counts)
    types = {name: table.columns[name] for name in names}
    sql = table.typed_sql(names, FRAME, COUNT)
    source = Source(connection, sql, types, table.name, weight=COUNT, known_digest=table.digest(), known_edges=edges)
    source = replace(source, empty=table.source.empty, marks=table.source.marks, header=table.source.header)
    table.check_read(source.rows())
    return source


def _bin(table: SparkTable, name: str, place: int, edges: tuple[float, ...]) -> Any:
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


def _too_many(table: SparkTable, names: Sequence[str], edges: Edges, many: int) -> Exception:
    from pyspark.sql import functions as F

    [row] = table.raw(names).agg(*(F.countDistinct(f"c{i}") for i in range(len(names)))).collect()
    numeric = [name for name in names if name not in edges and kind_of_type(table.columns[name]) in NUMERIC]
    return too_many(
        {name: len(edges.get(name, ())) or int(n) for name, n in zip(names, row, strict=True)}, numeric, many
    )
