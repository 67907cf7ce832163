"""A table as an audit sees it: counts of its columns, the states that its rows have, and the codes that they were given."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from choral.auditing.output_tests import FILE, Counts
from choral.auditing.quota_shares import QuotaShares, counted_shares, quotas_of
from choral.describe.joint import Joint
from choral.draw.arrange import ROW, keyed_order
from choral.draw.drawing import AnyDrawing, Drawing
from choral.draw.quota import Quotas
from choral.draw.ranks import Deal, Ranks
from choral.errors import ColumnError, LawError
from choral.ledger import identity
from choral.phases import phase
from choral.problem.solution import ExactChannel
from choral.release.file import Release
from choral.release.leakage import Leakage, Published, with_unseen
from choral.tables.binned import binned_and_protected
from choral.tables.columns import canonical_sql
from choral.tables.kinds import kind_of_type
from choral.tables.opening import open_table
from choral.tables.recipe import Recipe
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

if TYPE_CHECKING:
    import pyarrow as pa

STATE = "choral state"
KEPT = "choral_states"
MOST_KEPT = 10_000_000
"""Values of a table that are kept beside the states of its rows: some hundred megabytes."""
CODE = "code"
LONGEST_NUMBER = 40
"""Digits of the numbers in identifiers that are put in order by value."""
GIVEN = "choral_given"
MOST_FURTHER = 30
"""Columns that the release does not look at are audited too if they have at most this many values."""
MOST_CELLS = 200_000
"""Different records that are held; with more, columns beside those of the release are left out."""
RAW = "raw value"
MOST_RAW = 5000
"""Different values of a binned column, or of a group with one, about which a leak is computed."""
MOST_RAW_CELLS = 200_000
"""… and different pairs of such a value and a state."""
MOST_RAW_GROUPS = 60
"""Binned columns, and groups with one, whose raw values are looked at: a query each."""
UNSEEN = "(not seen at fit time)"
ONE_OR_NONE = ExactChannel(2, ((1, ((0, 1),)), (1, ((1, 1),))))
"""Whether a record has a code."""


@dataclass(frozen=True)
class Tabulated:
    """The frequencies of a table with the channel's code for each; `rows` are counted, the others left out.

    `dropped` rows lack a value that the release needs. They get no code, and whoever sees that sees an output: they are
    counted with a code of their own, and `absence` is that output alone. `refused` rows have no state, and the release
    refuses such rows.
    `left_out` are columns with too many values, or too many combinations with the others, to be audited.
    """

    published: Published
    absence: Published | None
    rows: int
    dropped: int
    refused: int
    left_out: tuple[str, ...]


@phase("counting the table")
def tabulate(release: Release, source: Any, further: bool = True) -> Tabulated:
    """Count a table: the columns of the release that it has, and with `further` its other columns of few values."""
    recipe = release.recipe
    table = source if isinstance(source, Source) else open_table(source, recipe.as_read)
    recipe.check(table, others=True)
    names = [column.name for column in recipe.columns if column.name in recipe.types(table.columns)]
    extra, left_out = few_valued(table, names) if further else ([], [])
    items = items_of(table, recipe, [*names, *extra])
    rows = grouped(table, recipe, [*names, *extra], items)
    while len(rows) > MOST_CELLS and extra:
        left_out.append(extra.pop())
        items.pop()
        rows = grouped(table, recipe, [*names, *extra], items)
    counts: defaultdict[tuple[Hashable, ...], int] = defaultdict(int)
    dropped = refused = 0
    new = len(release.disclosure.states)
    absent = new + (recipe.unseen == "code")
    for state, *codes, n in rows:
        if state is None:
            dropped += n
        elif state < 0 and recipe.unseen != "code":
            refused += n
            continue
        values = (
            *(value_at(recipe, name, i) for name, i in zip(names, codes, strict=False)),
            *codes[len(names) :],
            absent if state is None else state if state >= 0 else new,
        )
        counts[values] += n
    if sum(counts.values()) == dropped:
        raise LawError(f"No row of {table.name} has a state of the release.", "Give a table like the one it is for.")
    law = Joint.from_counts(counts, [*names, *extra, STATE])
    place = law.alphabets[-1]
    states = tuple(place[cell[-1]] for cell in law.cells)
    channel = release.disclosure.exact_channel
    if recipe.unseen == "code":
        channel = with_unseen(channel)
    if not dropped:
        return Tabulated(Published(law, states, channel), None, sum(counts.values()), 0, refused, tuple(left_out))
    absence = Published(law, tuple(int(state == absent) for state in states), ONE_OR_NONE)
    published = Published(law, states, with_unseen(channel))
    return Tabulated(published, absence, sum(counts.values()), dropped, refused, tuple(left_out))


@phase("looking inside bins")
def raw_leakage(release: Release, source: Any) -> tuple[list[Leakage], list[str]]:
    """What the code tells about protected columns that are binned, bin or no bin: I(raw value; Y) under a table.

    Every such column by itself, and every protected group of several columns with one among them. What has too many
    different values is named instead.
    """
    recipe = release.recipe
    table = source if isinstance(source, Source) else open_table(source, recipe.as_read)
    binned = binned_and_protected(recipe)
    groups = [group for group in recipe.protect if len(group) > 1 and set(group) & set(binned)]
    found, too_many = [], []
    for group in [*((name,) for name in binned), *groups][:MOST_RAW_GROUPS]:
        if not set(group) <= set(table.columns):
            continue
        items = [canonical_sql(name, kind_of_type(table.columns[name]) or "") for name in group]
        rows = grouped(table, recipe, group, items, MOST_RAW_CELLS + 1)
        values = {tuple(row[1:-1]) for row in rows}
        if len(values) > MOST_RAW or len(rows) > MOST_RAW_CELLS:
            too_many.append("+".join(group))
        else:
            found.append(_raw_leakage(release, group, rows))
    return found, too_many


def _raw_leakage(release: Release, group: tuple[str, ...], rows: list[Any]) -> Leakage:
    refused = release.recipe.unseen != "code"
    channel = release.disclosure.exact_channel if refused else with_unseen(release.disclosure.exact_channel)
    counts: defaultdict[tuple[Hashable, int], int] = defaultdict(int)
    number: dict[tuple[Any, ...], int] = {}
    for state, *values, n in rows:
        if state is not None and not (refused and state < 0):
            place = number.setdefault(tuple(values), len(number))
            counts[place, state if state >= 0 else len(channel.rows) - 1] += n
    law = Joint.from_counts(counts, [RAW, STATE])
    states = law.alphabets[1]
    published = Published(law, tuple(states[cell[1]] for cell in law.cells), channel)
    return replace(published.leakage([RAW]), about=group)


@dataclass(frozen=True)
class Given:
    """Counts of codes that were given out, by values of each group of columns and by state; and the codes in the order of
    the file and of each column beside them."""

    by_group: dict[tuple[str, ...], Counts]
    by_state: Counts
    orders: Mapping[str, Counts] = field(default_factory=dict)
    shares: QuotaShares | None = None
    """What was counted of codes that were drawn by quota."""


@phase("comparing codes with the table")
def codes_given(
    release: Release,
    source: Any,
    disclosed: Any,
    groups: Sequence[Sequence[str]],
    drawn: tuple[str | None, float | str | None] = ("lots", None),
) -> Given:
    """Join a table with its disclosed codes, by the identifier that both have, or by row number.

    Where codes stand alone, the key of the release says which row each line is of. `drawn` is how they were drawn, and the
    noise on quotas; None where codes that are quotas, exactly, are taken to have been drawn so.
    """
    recipe = release.recipe
    output = disclosed if isinstance(disclosed, Source) else open_table(disclosed, as_written=lambda name: name != CODE)
    keys = _keys(output)
    key = keys[0] if keys else ROW
    by_row = key == ROW
    table = source
    if not isinstance(source, Source):
        table = open_table(source, recipe.as_read, lambda name: name == key and not by_row)
    recipe.check(table, others=True)
    if not by_row:
        table.require([key], "id")
    quotas = quotas_of(release, *drawn, table.digest() if by_row else None)
    items = ", ".join(
        [*(f"CAST({identifier(name)} AS VARCHAR) AS {identifier(name)}" for name in keys), identifier(CODE)]
    )
    with reading(output):
        arrow = output.connection.sql(f"SELECT {items} FROM {output.sql}").to_arrow_table()
    if not keys:
        arrow = arrow.add_column(0, ROW, [rows_of_lines(release, table, arrow.column(0), output.name, quotas)])
    if len(set(arrow.column(0).to_pylist())) < arrow.num_rows:
        raise LawError(
            f"'{key}' in {output.name} is not different for every row.", "Give the file that disclose wrote."
        )
    table.connection.register(GIVEN, arrow)
    beside = () if quotas is None else quotas.beside
    names = list(dict.fromkeys([*(name for group in groups for name in group), *beside]))
    table.require(names, "protect")
    carried = list(dict.fromkeys([*names, *recipe.use, *([] if by_row else [key])]))
    inner = recipe.select(table.sql, table.columns, carried, STATE)
    keyed = "row_number() OVER ()" if by_row else identifier(key)
    numbered = f"SELECT *, CAST({keyed} AS VARCHAR) AS choral_key FROM ({inner})"
    items = ", ".join(f"{recipe.column(name).code_sql(table.columns[name])} AS c{i}" for i, name in enumerate(names))
    query = (
        f"SELECT {identifier(STATE)}, d.{identifier(CODE)}, {items}, count(*) FROM ({numbered}) t "
        f"JOIN {GIVEN} d ON t.choral_key = d.{identifier(key)} GROUP BY ALL ORDER BY ALL"
    )
    with reading(table):
        rows = table.connection.execute(query).fetchall()
    joined = sum(row[-1] for row in rows)
    if joined != arrow.num_rows:
        raise LawError(
            f"{arrow.num_rows - joined} of {arrow.num_rows} rows of {output.name} belong to no row of {table.name}.",
            "Give the table that was disclosed.",
        )
    found = _given(release, rows, names, groups, output.name)
    codes = arrow.column(CODE).to_numpy()
    orders = {name: codes[in_natural_order(arrow.column(name).to_pylist())] for name in keys}
    shares = None
    if quotas is not None:
        counted = [(state, code, tuple(values), n) for state, code, *values, n in rows]
        shares = counted_shares(quotas, counted, names, drawn[0] == "quota" or drawn[1] is not None)
    return replace(found, orders={FILE: codes, **orders}, shares=shares)


def rows_of_lines(
    release: Release, table: Source, codes: pa.ChunkedArray, place: str, quotas: Quotas | None = None
) -> pa.Array:
    """The numbers of the rows that codes without identifiers or row numbers are of, one for each line."""
    import pyarrow as pa

    lots = Drawing.of(release, table.digest())
    dealt = None if quotas is None else _dealt(release, table, quotas, lots.order)
    for drawing in (lots, dealt):
        if drawing is None:
            continue
        states = _states(release, table, drawing)
        kept = np.flatnonzero(states.is_valid().to_numpy())
        blocks = identity.positions(0, len(states))[kept]
        drawn = drawing.codes(drawing.states(states.drop_null().to_numpy()), blocks)
        for order in (keyed_order(drawing.order, blocks), np.arange(len(kept))):
            if codes.to_pylist() == drawn[order].tolist():
                return pa.array((kept[order] + 1).astype(str))
    raise LawError(
        f"{place} has codes alone, and they are not those that this release draws for {table.name}, arranged by its key or "
        "as in the table; so nobody can say which row each one is of.",
        "Give the very file that was disclosed, or codes with identifiers or row numbers.",
    )


def _states(release: Release, table: Source, drawing: AnyDrawing | Deal) -> pa.ChunkedArray:
    """What a drawing knows the rows of a table by."""
    with reading(table):
        query = drawing.select(release.recipe, table.sql, table.columns, [], STATE)
        return table.connection.sql(query).to_arrow_table().column(0)


def _dealt(release: Release, table: Source, quotas: Quotas, order: bytes) -> AnyDrawing | None:
    """What draws for the rows of a table by quota; None if it is not the one that quotas are for."""
    deal = Deal.of(release, quotas, table.digest())
    numbers = _states(release, table, deal)
    kept = np.flatnonzero(numbers.is_valid().to_numpy())
    with tempfile.TemporaryDirectory(prefix="choral-") as folder, Ranks(deal, Path(folder) / "ranks") as ranks:
        blocks = identity.positions(0, len(numbers))[kept]
        ranks.add(deal.cells(numbers.drop_null().to_numpy()), deal.places(blocks))
        try:
            ranks.check(table.name)
        except LawError:
            return None
        return ranks.drawing(order)


def in_natural_order(texts: Sequence[str]) -> list[int]:
    """Positions of texts, sorted as people number things: a run of digits counts by its value.

    >>> in_natural_order(["p10", "p9", "a"])
    [2, 1, 0]
    """
    keys = [
        re.sub(r"\d+", lambda digits: digits.group().lstrip("0").rjust(LONGEST_NUMBER, "0"), text) for text in texts
    ]
    return sorted(range(len(texts)), key=keys.__getitem__)


def _given(release: Release, rows: list[Any], names: list[str], groups: Sequence[Sequence[str]], place: str) -> Given:
    codes = release.disclosure.codes + (release.recipe.unseen == "code")
    states = len(release.disclosure.states)
    by_state = np.zeros((states + 1, codes), dtype=np.int64)
    found: dict[tuple[str, ...], defaultdict[Any, Counts]] = {
        tuple(group): defaultdict(lambda: np.zeros(codes, dtype=np.int64)) for group in groups
    }
    for state, code, *values, n in rows:
        if state is None or not isinstance(code, int) or not 0 <= code < codes:
            raise LawError(f"{place} gives a row the code {code!r}.", f"The release has the codes 0 to {codes - 1}.")
        by_state[state if state >= 0 else states, code] += n
        for group, sums in found.items():
            sums[tuple(values[names.index(name)] for name in group)][code] += n
    return Given({group: np.array(list(sums.values())) for group, sums in found.items()}, by_state)


def _keys(output: Source) -> list[str]:
    """The columns beside the codes: an identifier, row numbers, both or none."""
    keys = sorted((name for name in output.columns if name != CODE), key=lambda name: name == ROW)
    if CODE not in output.columns or len(keys) - (ROW in keys) > 1:
        raise ColumnError(
            f"{output.name} has the columns {', '.join(output.columns)}.",
            f"Give the file that disclose wrote: '{CODE}', and an identifier, '{ROW}', both or neither.",
        )
    return keys


def few_valued(table: Source, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Columns beside these that have few values, and those that have too many."""
    others = [name for name in table.columns if name not in names]
    usable = [
        name
        for name in others
        if kind_of_type(table.columns[name]) not in (None, "zoned") and not set(",|+") & set(name)
    ]
    if not usable:
        return [], others
    items = ", ".join(f"count(DISTINCT {identifier(name)})" for name in usable)
    with reading(table):
        [many] = table.connection.execute(f"SELECT {items} FROM {table.sql}").fetchall()
    kept = [name for name, n in zip(usable, many, strict=True) if n <= MOST_FURTHER]
    return kept, [name for name in others if name not in kept]


def items_of(table: Source, recipe: Recipe, names: Sequence[str]) -> list[str]:
    """SQL for some columns: the position in its alphabet for one of the release, the text for another."""
    own, types = {column.name for column in recipe.columns}, recipe.types(table.columns)
    return [
        recipe.column(name).code_sql(types[name]) if name in own else f"CAST({identifier(name)} AS VARCHAR)"
        for name in names
    ]


@contextmanager
def states_kept(table: Source, recipe: Recipe, names: Sequence[str]) -> Iterator[str | None]:
    """The rows of a table with their states and these columns, as `grouped` takes them: a score's points are then looked up
    once for all that is asked of them. None where that would take much memory.
    """
    if recipe.table_rows * len(names) > MOST_KEPT:
        yield None
        return
    with reading(table):
        table.connection.execute(f"CREATE OR REPLACE TEMP TABLE {KEPT} AS {_with_states(table, recipe, names)}")
    try:
        yield KEPT
    finally:
        table.connection.execute(f"DROP TABLE {KEPT}")


def _with_states(table: Source, recipe: Recipe, names: Sequence[str]) -> str:
    return recipe.select(table.sql, table.columns, list(dict.fromkeys([*names, *recipe.use])), STATE)


def grouped(
    table: Source,
    recipe: Recipe,
    names: Sequence[str],
    items: Sequence[str],
    most: int | None = None,
    kept: str | None = None,
) -> list[Any]:
    """The state, the items and a count of the rows of a table, for every combination; of at most so many. `kept` is where
    its rows are with their states, if they are anywhere.
    """
    inner = f"FROM {kept}" if kept is not None else _with_states(table, recipe, names)
    listed = "".join(f", {item} AS c{i}" for i, item in enumerate(items))
    with reading(table):
        return table.connection.execute(
            f"SELECT {identifier(STATE)}{listed}, count(*) FROM ({inner}) GROUP BY ALL"
            + ("" if most is None else f" LIMIT {most}")
        ).fetchall()


def value_at(recipe: Recipe, name: str, position: int | None) -> Hashable:
    found: Hashable = UNSEEN if position is None else recipe.column(name).values[position]
    return found
