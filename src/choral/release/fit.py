"""From a table to a release: alphabets, counts, the law, rare states, and the most telling private channel.

Counting runs in DuckDB, so the table may be larger than memory; only the counts of different records are held here.
"""

from __future__ import annotations

import math
import secrets
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from choral.describe.joint import Cell, Joint
from choral.disclosure import Disclosure, disclose
from choral.errors import ColumnError, LawError, ProblemError, TooLargeError
from choral.limits import Progress
from choral.problem.pose import Group, pose
from choral.release.bins import Bins, check_bins, edges_of
from choral.release.file import KEY_BYTES, Release
from choral.release.recipe import (
    KINDS,
    MISSING,
    NUMERIC,
    RARE,
    UNSEEN,
    Column,
    Recipe,
    canonical_sql,
    kind_of_type,
    labels,
)
from choral.release.table import Source, open_table, reading

MIN_COUNT = 5
"""Combinations of used values that occur less often than this are merged, unless told."""
MOST_VALUES = 2000
"""Of one column."""
MOST_CELLS = 1_000_000
"""Different records, over the revealed, protected and used columns."""
MOST_STATES = 100_000
SALT_BYTES = 32


@dataclass(frozen=True)
class Asked:
    """What is revealed, protected and used, as names of columns in the order of the table."""

    reveal: tuple[str, ...]
    protect: tuple[tuple[str, ...], ...]
    use: tuple[str, ...]
    needed: tuple[str, ...]


def fit(
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | None = None,
    missing: str = "value",
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
) -> Release:
    """The release of a table that tells most about `reveal` while each group in `protect` stays private.

    source     a path (.csv, .parquet, .jsonl, .json), `database.duckdb::table`, a frame, or an opened `Source`
    bins       for numeric columns: edges [40, 55, 70], "q4" or 4 (quantiles), "w10" (width)
    missing    "value": a missing value is a value of its own; "drop": such rows are left out; "error"
    min_count  combinations of used values that occur less often are merged into one state
    law        "frequencies" of the table, or an estimate or declared law (`choral.release.laws`)
    unseen     what a record gets that has no state: "refuse", or "code", one more code
    also       further tables under whose frequencies the code is private too

    The other arguments are those of `choral.disclose`.

    >>> rows = [(a ^ b, a, b) for a in (0, 1) for b in (0, 1) for _ in range(5 + a)]
    >>> release = fit([dict(zip("Wab", row)) for row in rows])
    >>> release.recipe.state_of({"a": 1, "b": 0}), round(release.disclosure.information, 6)
    (2, 1.0)
    """
    _check_rules(missing, unseen, min_count)
    table = source if isinstance(source, Source) else open_table(source)
    asked = asked_of(table, reveal, protect, use, order)
    bins = dict(bins or {})
    check_bins(bins, asked.needed)
    where = _where(table, asked.needed, missing)
    columns = _alphabets(table, asked, bins, missing, where)
    counts = count(table, columns, where)
    joint, origin = _law(law, counts, columns)
    columns = _with_alphabets(columns, joint)
    kept, rare = merge_rare(_used_counts(counts, columns, joint, asked.use), min_count)
    if len(kept) > MOST_STATES:
        raise _too_large(columns, asked.use, len(kept))
    recipe = Recipe(
        columns=tuple(columns),
        use=asked.use,
        protect=asked.protect,
        reveal=asked.reveal,
        combinations=(*kept, *rare),
        kept=len(kept),
        state_column=_free_name(asked.needed) if rare else None,
        missing=missing,
        unseen=unseen,
        min_count=min_count,
        law=origin,
        table_digest=table.digest(),
        table_rows=sum(counts.values()),
    )
    optional = {
        "leakage": leakage or None,
        "ratio": ratio or None,
        "also": [with_states(_other_law(other, recipe), recipe) for other in also] or None,
    }
    found: Disclosure = disclose(
        with_states(joint, recipe),
        asked.reveal,
        asked.protect,
        (recipe.state_column,) if recipe.state_column else asked.use,
        tol=tol,
        rel_tol=rel_tol,
        time_limit=time_limit,
        codes=codes,
        progress=progress,
        solver=solver,
        **{name: value for name, value in optional.items() if value is not None},
    )
    return Release(found, recipe, secrets.token_bytes(KEY_BYTES), secrets.token_bytes(SALT_BYTES))


def asked_of(
    table: Source,
    reveal: str | Sequence[str] | None,
    protect: str | Sequence[Group] | None,
    use: str | Sequence[str] | None,
    order: int,
) -> Asked:
    """What is asked for, with defaults and errors as in `choral.disclose`: it is posed on a law of one cell."""
    names = list(table.columns)
    outline = Joint(names, [[0]] * len(names), {(0,) * len(names): 1})
    problem = pose(outline, reveal, protect, use, order)
    groups = tuple(group.columns for group in problem.groups)
    needed = {*problem.target.columns, *problem.columns, *(name for group in groups for name in group)}
    return Asked(problem.target.columns, groups, problem.columns, tuple(name for name in names if name in needed))


def count(table: Source, columns: Sequence[Column], where: str = "") -> dict[tuple[Any, ...], int]:
    """How often each combination of values of these columns occurs."""
    items = ", ".join(f"{column.code_sql()} AS c{i}" for i, column in enumerate(columns))
    groups = f"SELECT {items}, count(*) AS n FROM {table.sql} WHERE TRUE{where} GROUP BY ALL"
    with reading(table.name):
        rows = table.connection.execute(f"{groups} LIMIT {MOST_CELLS + 1}").fetchall()
        if len(rows) > MOST_CELLS:
            many = table.connection.execute(f"SELECT count(*) FROM ({groups})").fetchall()[0][0]
            raise _too_large(columns, [column.name for column in columns], many)
    if any(code is None for row in rows for code in row[:-1]):
        gone = sum(row[-1] for row in rows if None in row[:-1])
        raise LawError(
            f"{gone} rows of {table.name} hold values that do not occur in the table that is fitted.",
            "Leave them out, or add such records to the table.",
        )
    return {tuple(c.values[i] for c, i in zip(columns, row[:-1], strict=True)): row[-1] for row in sorted(rows)}


def merge_rare(counts: Mapping[Cell, int], min_count: int) -> tuple[list[Cell], list[Cell]]:
    """The combinations that stay states of their own, and those merged into one because they are rare.

    Rare is what occurs less often than `min_count`. If all rare ones together still are, the next rarest join them (of
    equally rare ones the first in order), so that no state is rare afterwards.

    >>> merge_rare({(0,): 9, (1,): 2, (2,): 7, (3,): 1}, 5)
    ([(0,)], [(1,), (2,), (3,)])
    """
    by_rarity = sorted(counts, key=lambda cell: (counts[cell], cell))
    rare: list[Cell] = []
    total = 0
    for cell in by_rarity:
        if counts[cell] >= min_count and (not rare or total >= min_count):
            break
        rare.append(cell)
        total += counts[cell]
    if len(rare) == len(counts) and len(rare) > 1:
        raise ProblemError(
            f"All {len(rare)} combinations of used values occur so rarely that merging them below {min_count} leaves one state.",
            "Use fewer columns, bin them more coarsely, or lower min_count (--min-count).",
        )
    if len(rare) == 1:
        rare = []
    return sorted(set(counts) - set(rare)), sorted(rare)


def with_states(joint: Joint, recipe: Recipe) -> Joint:
    """The law with the column of states, where rare ones were merged; the law itself where not."""
    if recipe.state_column is None:
        return joint
    shown = [*dict.fromkeys([*recipe.reveal, *(name for group in recipe.protect for name in group)])]
    names = [name for name in joint.names if name in shown]
    where, used = [joint.position(name) for name in names], [joint.position(name) for name in recipe.use]
    state = {codes: min(i, recipe.kept) for i, codes in enumerate(recipe.combinations)}
    sums: defaultdict[Cell, int] = defaultdict(int)
    for cell, weight in joint.cells.items():
        sums[(*(cell[i] for i in where), state[tuple(cell[i] for i in used)])] += weight
    alphabets = [recipe.column(name).values for name in recipe.use]
    symbols = [
        tuple(a[i] for a, i in zip(alphabets, codes, strict=True)) for codes in recipe.combinations[: recipe.kept]
    ]
    return Joint(
        [*names, recipe.state_column],
        [*(joint.alphabets[i] for i in where), [*symbols, RARE]],
        sums,
    )


def _check_rules(missing: str, unseen: str, min_count: int) -> None:
    if missing not in MISSING:
        raise ProblemError(f"missing={missing!r}.", f"Say one of {', '.join(MISSING)}.")
    if unseen not in UNSEEN:
        raise ProblemError(f"unseen={unseen!r}.", f"Say one of {', '.join(UNSEEN)}.")
    if isinstance(min_count, bool) or not isinstance(min_count, int) or min_count < 0:
        raise ProblemError(f"min_count={min_count!r} is not a count.", "Give a whole number, 1 to merge nothing.")


def _where(table: Source, needed: Sequence[str], missing: str) -> str:
    """SQL that leaves out rows with a missing value, if that is the rule; raises for columns that cannot be symbols."""
    values = {}
    for name in needed:
        kind = kind_of_type(table.columns[name])
        if table.columns[name].strip('"') == "NULL":
            raise LawError(f"The column '{name}' of {table.name} has no values.", "Leave it out.")
        if kind is None:
            raise LawError(
                f"The column '{name}' of {table.name} holds {table.columns[name]}.",
                f"A column holds {', '.join(KINDS.values())}: convert it, or leave it out.",
            )
        values[name] = canonical_sql(name, kind)
    counted = ", ".join(f"count({value})" for value in values.values())
    with reading(table.name):
        rows, *present = table.connection.execute(f"SELECT count(*), {counted} FROM {table.sql}").fetchall()[0]
    for name, n in zip(needed, present, strict=True):
        if n == 0:
            raise LawError(f"The column '{name}' of {table.name} has no values.", "Leave it out.")
        if missing == "error" and n < rows:
            raise LawError(
                f"The column '{name}' of {table.name} has {rows - n} missing values.",
                "Fill them in, or say missing='value' or 'drop' (--missing).",
            )
    if missing != "drop" or all(n == rows for n in present):
        return ""
    return "".join(f" AND ({value}) IS NOT NULL" for value in values.values())


def _alphabets(table: Source, asked: Asked, bins: Mapping[str, Bins], missing: str, where: str) -> list[Column]:
    """The columns with their alphabets, found in the table."""
    columns = []
    with reading(table.name):
        [(rows,)] = table.connection.execute(f"SELECT count(*) FROM {table.sql} WHERE TRUE{where}").fetchall()
    if not rows:
        raise LawError(f"Every row of {table.name} has a missing value.", "Say missing='value' (--missing value).")
    for name in asked.needed:
        type_ = table.columns[name]
        kind = kind_of_type(type_) or ""
        value = canonical_sql(name, kind)
        if name in bins:
            edges = edges_of(table, name, bins[name], where)
            found = [*labels(edges), *([None] if _has_missing(table, value, where) else [])]
            columns.append(Column(name, type_, tuple(found), edges))
            continue
        with reading(table.name):
            listed = table.connection.execute(
                f"SELECT DISTINCT {value} AS v FROM {table.sql} WHERE TRUE{where} LIMIT {MOST_VALUES + 1}"
            ).fetchall()
            if len(listed) > MOST_VALUES:
                [(many,)] = table.connection.execute(
                    f"SELECT count(DISTINCT {value}) FROM {table.sql} WHERE TRUE{where}"
                ).fetchall()
            else:
                many = len(listed)
        _check_alphabet(asked, name, kind, many, rows)
        values = [v + 0.0 if kind == "float" else v for (v,) in listed if v is not None]
        columns.append(Column(name, type_, (*sorted(values), *([None] if len(values) < len(listed) else []))))
    _check_target(table, columns, asked, where)
    return columns


def _check_alphabet(asked: Asked, name: str, kind: str, many: int, rows: int) -> None:
    part = "protected" if any(name in group for group in asked.protect) else "used"
    remedy = (
        f"Bin it: bins={{{name!r}: 4}} (--bins {name}=4)." if kind in NUMERIC else "Group its values, or leave it out."
    )
    if many == rows and rows > 1 and (name in asked.use or part == "protected"):
        raise ProblemError(
            f"The {part} column '{name}' has as many values as there are rows ({rows}): each record would be a state of its own.",
            remedy,
        )
    if many > MOST_VALUES:
        raise TooLargeError(f"The column '{name}' has {many} values, and at most {MOST_VALUES} are taken.", remedy)


def _check_target(table: Source, columns: Sequence[Column], asked: Asked, where: str) -> None:
    target = [column for column in columns if column.name in asked.reveal]
    if math.prod(len(column.values) for column in target) == 1 or len(_seen(table, target, where)) == 1:
        raise ProblemError(
            f"The target '{'+'.join(asked.reveal)}' has one value in {table.name}: there is nothing to tell.",
            "Reveal a column that varies.",
        )


def _seen(table: Source, columns: Sequence[Column], where: str) -> list[Any]:
    items = ", ".join(column.code_sql() for column in columns)
    with reading(table.name):
        return table.connection.execute(
            f"SELECT DISTINCT {items} FROM {table.sql} WHERE TRUE{where} LIMIT 2"
        ).fetchall()


def _has_missing(table: Source, value: str, where: str) -> bool:
    with reading(table.name):
        found = table.connection.execute(f"SELECT 1 FROM {table.sql} WHERE ({value}) IS NULL{where} LIMIT 1").fetchone()
    return found is not None


def _law(law: str, counts: Mapping[tuple[Any, ...], int], columns: Sequence[Column]) -> tuple[Joint, dict[str, Any]]:
    names, alphabets = [column.name for column in columns], [column.values for column in columns]
    if law != "frequencies":
        raise LawError(f"The law '{law}' is not known.", "Say frequencies.")
    about = f"the {sum(counts.values())} records of this table, each as a draw from the table's frequencies"
    return Joint.from_counts(counts, names, alphabets), {"kind": law, "parameters": {}, "about": about, "outside": 0}


def _with_alphabets(columns: Sequence[Column], joint: Joint) -> list[Column]:
    """The columns with the alphabets of the law, which may have values that the table has not."""
    known = []
    for column, alphabet in zip(columns, joint.alphabets, strict=True):
        if column.edges is not None and alphabet != column.values:
            raise (
                LawError(
                    f"The law has '{column.name}' = {next(v for v in alphabet if v not in column.values)!r}, which is no bin.",
                    f"The bins are {', '.join(map(str, column.values))}.",
                )
                if set(alphabet) - set(column.values)
                else LawError(f"The law lists the bins of '{column.name}' in another way.", f"List {column.values}.")
            )
        known.append(replace(column, values=tuple(alphabet)))
    return known


def _used_counts(
    counts: Mapping[tuple[Any, ...], int], columns: Sequence[Column], joint: Joint, use: Sequence[str]
) -> dict[Cell, int]:
    """For each combination of used values that the law allows, how often it occurs in the table."""
    where = [joint.position(name) for name in use]
    found = dict.fromkeys(joint.weights(use), 0)
    positions = [{value: i for i, value in enumerate(column.values)} for column in columns]
    for values, n in counts.items():
        cell = tuple(positions[i][values[i]] for i in where)
        if cell in found:
            found[cell] += n
    return found


def _other_law(source: Any, recipe: Recipe) -> Joint:
    """The frequencies of another table, in the alphabets of the recipe."""
    table = source if isinstance(source, Source) else open_table(source, recipe.types)
    names = [column.name for column in recipe.columns]
    for column in recipe.columns:
        if column.name not in table.columns:
            raise ColumnError(
                f"{table.name} has no column '{column.name}'.", "It needs the columns of the first table."
            )
    recipe.check(table.columns, table.name)
    joint = Joint.from_counts(
        count(table, recipe.columns, _where(table, names, recipe.missing)), names, [c.values for c in recipe.columns]
    )
    known = set(recipe.combinations)
    new = [cell for cell in joint.weights(recipe.use) if cell not in known]
    if new:
        raise LawError(
            f"{table.name} has {len(new)} combinations of used values that do not occur in the table that is fitted.",
            "Leave them out, or add such records to the table.",
        )
    return joint


def _free_name(taken: Sequence[str]) -> str:
    name = "state"
    while name in taken:
        name += "_"
    return name


def _too_large(columns: Sequence[Column], names: Sequence[str], many: int) -> TooLargeError:
    listed = [column for column in columns if column.name in names]
    largest = max(listed, key=lambda c: (c.edges is None and c.kind in NUMERIC, len(c.values)))
    how = f"Bin '{largest.name}' ({len(largest.values)} values): --bins {largest.name}=4."
    if largest.kind not in NUMERIC:
        largest = max(listed, key=lambda c: len(c.values))
        how = f"Group the {len(largest.values)} values of '{largest.name}', or leave it out."
    return TooLargeError(f"The columns {', '.join(names)} take {many} different combinations of values.", how)
