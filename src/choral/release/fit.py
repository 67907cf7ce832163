"""From a table to a release: count, take a law, merge rare states, and find the most telling private channel."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from choral.describe.joint import Cell, Joint
from choral.design.disclose import disclose
from choral.design.limits import Progress
from choral.errors import ColumnError, LawError, ProblemError
from choral.laws.choice import law_for
from choral.problem.form import form_of
from choral.problem.kernel import Problem
from choral.problem.pose import Group, pose
from choral.reductions.chain import reduced_problem
from choral.release.file import KEY_BYTES, Release
from choral.tables.bins import Bins, check_bins, rules_of
from choral.tables.columns import Column
from choral.tables.counting import Asked, Counts, alphabets, asked_of, complete, count, too_large
from choral.tables.recipe import MISSING, UNSEEN, Reading, Recipe
from choral.tables.source import AsRead, Source, opened
from choral.tables.states import merge_rare, with_states

MIN_COUNT = 5
"""Combinations of used values that occur less often than this are merged, unless told."""
MOST_STATES = 100_000
SALT_BYTES = 32


@dataclass(frozen=True)
class Posed:
    """A law with its states, and the recipe that leads to them: all that is needed to pose the problem."""

    law: Joint
    recipe: Recipe

    @property
    def use(self) -> tuple[str, ...]:
        """What the channel looks at in the law."""
        return (self.recipe.state_column,) if self.recipe.state_column else self.recipe.use

    @cached_property
    def problem(self) -> Problem:
        """The problem that is to be solved."""
        return pose(self.law, self.recipe.reveal, self.recipe.promises, self.use)

    def codes_that_suffice(self) -> int:
        """nul(P)+1, with which nothing is lost (app1): a code that nobody needs is a rare code, which helps nobody."""
        return form_of(reduced_problem(self.problem)[0]).nullity + 1


def fit(
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | str | None = None,
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
) -> Release:
    """The release of a table that tells most about `reveal` while each group in `protect` stays private.

    source     a path (.csv, .parquet, .jsonl, .json), `database.duckdb::table`, a frame, or an opened `Source`
    bins       for numeric columns: edges [40, 55, 70], "q4" or 4 (quantiles), "w10" (width); or all in one text,
               "age=40,55,70; dose=q4". What is private of a binned column is the bin, not the exact value; values inside
               a bin may be told through other columns
    missing    "value": a missing value is a value of its own; "drop": such rows are left out; "error"
    empty      what an empty text is, in every kind of table: "missing", or a "value" (an opened `Source` has its rule)
    min_count  combinations of used values that occur less often are merged into one state
    law        "frequencies" of the table, or an estimate or declared law (`choral.laws.choice`)
    unseen     what a record gets that has no state: "refuse", or "code", one more code
    also       further tables under whose frequencies the code is private too
    codes      at most this many codes; default: as many as suffice
    id         the column that identifies records: the code does not look at it; the ledger knows by it who is behind a card

    The other arguments are those of `choral.disclose`. `choral.release.second.fit_after` makes a second release.

    >>> rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(5)]
    >>> release = fit(rows)
    >>> release.recipe.state_of({"a": 1, "b": 0}), round(release.disclosure.information, 6)
    (2, 1.0)
    """
    with opened(source, AsRead(empty=empty)) as table:
        posed = pose_table(
            table,
            reveal,
            protect,
            use,
            order,
            bins=bins,
            missing=missing,
            min_count=min_count,
            law=law,
            unseen=unseen,
            id=id,
        )
    tables = (also,) if isinstance(also, str | os.PathLike | Mapping) or hasattr(also, "columns") else also
    others = [with_states(_other_law(other, posed.recipe), posed.recipe) for other in tables]
    given = {"leakage": leakage, "ratio": ratio, "also": others}
    extra: dict[str, Any] = {name: value for name, value in given.items() if value}
    found = disclose(
        posed.law,
        posed.recipe.reveal,
        posed.recipe.promises,
        posed.use,
        tol=tol,
        rel_tol=rel_tol,
        time_limit=time_limit,
        codes=codes if codes is not None or extra else posed.codes_that_suffice(),
        progress=progress,
        solver=solver,
        **extra,
    )
    return Release(found, posed.recipe, secrets.token_bytes(KEY_BYTES), secrets.token_bytes(SALT_BYTES))


def pose_table(
    table: Source,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | str | None = None,
    missing: str = "value",
    min_count: int = MIN_COUNT,
    law: str = "frequencies",
    unseen: str = "refuse",
    earlier: Release | None = None,
    id: str | None = None,
) -> Posed:
    """The law of a table with its states. Given an `earlier` release, its columns, groups and states are refined."""
    _check_rules(missing, unseen, min_count)
    digest = table.digest()
    asked = asked_of(table, reveal, protect, use, order, id)
    known: dict[str, Column] = {}
    if earlier is not None:
        asked = united(table, asked, earlier.recipe)
        known = {column.name: column for column in earlier.recipe.columns}
    bins = rules_of(bins)
    check_bins(bins, asked.needed, known)
    where = complete(table, asked.needed, missing)
    columns = alphabets(table, asked, bins, known, where)
    counts = count(table, columns, where)
    if table.digest() != digest:
        raise LawError(f"{table.name} changed while it was read.", "Fit again when it is at rest.")
    joint, origin = law_for(law, counts, [c.name for c in columns], [c.values for c in columns])
    columns = _with_alphabets(columns, joint)
    used = _used_counts(counts, columns, joint, asked.use)
    parts = None if earlier is None else {cell: state_before(cell, asked.use, earlier.recipe) for cell in used}
    kept, merged = merge_rare(used, min_count, parts)
    if len(kept) > MOST_STATES:
        raise too_large([column for column in columns if column.name in asked.use], len(kept))
    recipe = Recipe(
        columns=tuple(columns),
        use=asked.use,
        protect=asked.protect,
        given=asked.given,
        reveal=asked.reveal,
        combinations=(*kept, *(cell for cells in merged for cell in cells)),
        kept=len(kept),
        merged=tuple(map(len, merged)),
        state_column=_free_name(asked.needed) if merged else None,
        missing=missing,
        unseen=unseen,
        min_count=min_count,
        law=origin.to_document(),
        table_digest=digest,
        table_rows=sum(counts.values()),
        empty=table.empty,
        reading=Reading(table.header, table.marks) if earlier is None else earlier.recipe.reading,
        id=id,
    )
    return Posed(with_states(joint, recipe), recipe)


def state_before(cell: Cell, use: Sequence[str], earlier: Recipe) -> int:
    """The state of an earlier release that a combination of values of these columns belongs to."""
    return earlier.state_of_combination[tuple(cell[use.index(name)] for name in earlier.use)]


def _check_rules(missing: str, unseen: str, min_count: int) -> None:
    if missing not in MISSING:
        raise ProblemError(f"missing={missing!r}.", f"Say one of {', '.join(MISSING)}.")
    if unseen not in UNSEEN:
        raise ProblemError(f"unseen={unseen!r}.", f"Say one of {', '.join(UNSEEN)}.")
    if isinstance(min_count, bool) or not isinstance(min_count, int) or min_count < 0:
        raise ProblemError(f"min_count={min_count!r} is not a count.", "Give a whole number, 1 to merge nothing.")


def united(table: Source, asked: Asked, earlier: Recipe) -> Asked:
    """What is asked for, with the groups of an earlier release; raises unless the columns that it looks at are used too.

    Both codes are published, and the pair looks at what either looks at: so these columns are not added in silence.
    """
    if asked.given or earlier.given:
        raise ProblemError(
            f"A second release with the condition '{(*asked.given, *earlier.given)[0]}'.",
            "After an earlier release, or after this one, protect the columns of the condition together: Z+V.",
        )
    left_out = [name for name in earlier.use if name not in asked.use]
    if left_out:
        whole = ",".join((*earlier.use, *(name for name in asked.use if name not in earlier.use)))
        raise ProblemError(
            f"The earlier release looks at {', '.join(left_out)}, which `use` leaves out; codes of a second release are "
            "pairs with the earlier ones, and look at the same columns.",
            f"If the new code may look at all of these, say so: --use {whole}. If not, and if "
            "nothing of the first release was given out, fit it anew without them.",
        )
    use = (*earlier.use, *(name for name in asked.use if name not in earlier.use))
    known = {frozenset(group) for group in earlier.protect}
    groups = (*earlier.protect, *(group for group in asked.protect if frozenset(group) not in known))
    return asked_of(table, asked.reveal, groups, use)


def _with_alphabets(columns: Sequence[Column], joint: Joint) -> list[Column]:
    """The columns with the alphabets of the law, which may have values that the table has not."""
    for column, alphabet in zip(columns, joint.alphabets, strict=True):
        if column.edges is not None and alphabet != column.values:
            raise LawError(
                f"The law lists {', '.join(map(str, alphabet))} as bins of '{column.name}'.",
                f"They are, in this order, {', '.join(map(str, column.values))}.",
            )
    return [replace(column, values=values) for column, values in zip(columns, joint.alphabets, strict=True)]


def _used_counts(counts: Counts, columns: Sequence[Column], joint: Joint, use: Sequence[str]) -> dict[Cell, int]:
    """For each combination of used values that the law allows, how often it occurs in the table."""
    found = dict.fromkeys(joint.weights(use), 0)
    positions = [{value: i for i, value in enumerate(column.values)} for column in columns]
    where = [joint.position(name) for name in use]
    for values, n in counts.items():
        cell = tuple(positions[i][values[i]] for i in where)
        if cell in found:
            found[cell] += n
    return found


def _other_law(source: Any, recipe: Recipe) -> Joint:
    """The frequencies of another table, in the alphabets of the recipe."""
    names = [column.name for column in recipe.columns]
    with opened(source, recipe.as_read) as table:
        for name in names:
            if name not in table.columns:
                raise ColumnError(f"{table.name} has no column '{name}'.", "It needs the columns of the first table.")
        recipe.check(table.columns, table.name)
        counts = count(table, recipe.columns, complete(table, names, recipe.missing))
    joint = Joint.from_counts(counts, names, [column.values for column in recipe.columns])
    new = sum(cell not in recipe.state_of_combination for cell in joint.weights(recipe.use))
    if new:
        raise LawError(
            f"{table.name} has {new} combinations of used values that do not occur in the table that is fitted.",
            "Leave them out, or add such records to the table.",
        )
    return joint


def _free_name(taken: Sequence[str]) -> str:
    name = "state"
    while name in taken:
        name += "_"
    return name
