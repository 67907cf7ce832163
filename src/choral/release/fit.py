"""From a table to a release: count, take a law, merge rare states, and find the most telling private channel."""

from __future__ import annotations

import math
import os
import secrets
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from shlex import quote
from typing import Any

from choral.describe.display import counted
from choral.describe.joint import Joint
from choral.describe.reading import Cell
from choral.design.disclose import checkable, solved
from choral.design.limits import READABLE, Limits, Progress
from choral.errors import ColumnError, LawError, ProblemError, TableWarning
from choral.laws.choice import law_for, weighted_law
from choral.ledger.identity import KEY_BYTES
from choral.phases import phase, until
from choral.problem.kernel import Problem
from choral.problem.pose import pose_roles, with_budgets, with_utility
from choral.problem.promises import read_promise
from choral.problem.question import Group, Question, Roles
from choral.problem.utility import Cells, Squares, Utility
from choral.release.file import Release
from choral.release.merging import beside_state, merged_states, others_of
from choral.release.score import Scored, scored
from choral.release.weighted import said_of_records
from choral.tables.bins import Bins, check_bins, rules_of
from choral.tables.columns import Column
from choral.tables.counting import Counts, alphabets, complete, count, free_name, grouped, too_large
from choral.tables.cutting import check_cuts
from choral.tables.groups import Declared
from choral.tables.look import check_width
from choral.tables.opening import opened
from choral.tables.origin import Reading
from choral.tables.points import Points
from choral.tables.rare import check_not_unique
from choral.tables.recipe import Recipe
from choral.tables.rules import MIN_COUNT, TableRules
from choral.tables.source import Source
from choral.tables.states import merge_rare, with_states
from choral.tables.troubles import Trouble
from choral.tables.weights import as_counts, weighted

MOST_STATES = 100_000
"""Of a channel; with more, its file would not be read in a sitting."""
LEARNING = 0.5
"""Share of a time limit by which a score is learned: what is not needed for it is left out where it would take longer."""
SALT_BYTES = 32
"""As many as a SHA-256 has: the salt hides the certificate in the card."""


@dataclass(frozen=True)
class Posed:
    """A law with its states, and the recipe that leads to them: all that is needed to pose the problem."""

    law: Joint
    recipe: Recipe
    scored: Scored | None = None
    unmerged: Joint | None = None
    """The law of all columns, before rare combinations became states together."""
    records: Joint | None = None
    """Where records are weighted: their own frequencies."""
    utility: str | Cells | Utility | None = "bits"
    """What the code shall be good for: what was asked for, or what suits the target."""

    @property
    def use(self) -> tuple[str, ...]:
        """What the channel looks at in the law."""
        return self.recipe.seen

    @cached_property
    def problem(self) -> Problem:
        """The problem that is to be solved, before budgets and further tables."""
        given = tuple(map(read_promise, self.recipe.given))
        return pose_roles(self.law, Roles(self.recipe.reveal, self.recipe.protect, self.use, given))

    def within(self, question: Question, also: Any = ()) -> Problem:
        """The problem with its utility and the budgets of a question, and private on further tables too."""
        tables = (also,) if isinstance(also, str | os.PathLike | Mapping) or hasattr(also, "columns") else also
        others = [with_states(_other_law(other, self.recipe), self.recipe) for other in tables]
        problem = with_budgets(self.law, self.problem, question.leakage or None, question.ratio or None, others)
        return with_utility(self.law, problem, self.utility)


def fit(
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
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
    utility: str | Cells | Utility | None = None,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    solver: str | None = None,
    progress: Progress | None = None,
    id: str | None = None,
    against: str | Sequence[str] | None = None,
    points: Points | None = None,
    score: str | None = None,
    drop: str | Sequence[str] = (),
    rare: str | None = None,
    header: bool = True,
    missing_marks: Sequence[str] | None = None,
    weight: str | None = None,
    counts: str | None = None,
) -> Release:
    """The release of a table that tells most about `reveal` while each group in `protect` stays private.

    source     a path (.csv, .parquet, .jsonl, .json), `database.duckdb::table`, a frame, or an opened `Source`
    bins       for numeric columns: edges [40, 55, 70], "q4" or 4 (quantiles), "w10" (width); for dates "decade", "year",
               "quarter", "month", "week" or "weekday"; or all in one text, "age=40,55,70; born=decade". What is private of a
               binned column is the bin, not the exact value; values inside a bin may be told through other columns
    groups     for columns of text, values under one name, {"education": {"primary": ["1st-4th", "5th-6th"], "other": "*"}};
               "*" is all others, also those not seen now. What is private is the group
    missing    "value": a missing value is a value of its own; "drop": such rows are left out; "error"
    empty      what an empty text is, in every kind of table: "missing", or a "value" (an opened `Source` has its rule)
    min_count  combinations of used values that occur less often are merged with the most alike, within one value of all
               that is protected (`choral.tables.rare`)
    law        "frequencies" of the table, or an estimate or declared law (`choral.laws.choice`)
    unseen     what a record gets that has no state: "refuse"; "code", one more code; or "rare", the state for what is left of
               its protected values, and a refusal where these were not seen
    also       further tables under whose frequencies the code is private too
    utility    what the code shall be good for: "bits", "accuracy", "squares" (of a numeric target, which needs no bins), or a
               loss {(action, value of the target): number}; by default bits, and squares where a score is learned for a
               number of more than 20 values
    codes      at most this many codes; default: as many as suffice, with squares at most 16; with a score, and
               where a search by lines may need more than 16 and no tolerance is said, the fewest that lose at most a
               percent, at most 16
    against    columns that others may know, "marital, region+year": every group is protected given each of these, too
    id         the column that identifies records: the code does not look at it; the ledger knows by it who is behind a card
    points     a score of one's own, as `release.points` is one (`choral.tables.points`)
    score      … or a column of numbers that is one, such as the output of a model; it is cut into bins
    drop       columns that no code looks at; a protected one among them stays protected, and records to come need not have it
    rare       protected values with fewer than `min_count` records: "keep" as they are, or "merge" into one state
    header     whether the first line of a CSV file has the names of the columns; else they are column1, column2, …
    missing_marks  texts that are missing values, such as "?"; None: recognised in CSV files, with a `TableWarning`
    weight     the column that says how many people a record stands for, as in a survey: the code is private, and tells most,
               under the law of these people; among the records themselves it may tell something (a remark says how much)
    counts     the column that says how many records a row stands for, in a table that was counted already

    Where `protect` is given and `use` is not, a score for the target is learned from all columns that can be used (it needs
    scikit-learn), unless their combinations are few and common: then these are counted as they stand.

    The other arguments are those of `choral.disclose`. `choral.release.second.fit_after` makes a second release.

    >>> rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(5)]
    >>> release = fit(rows)
    >>> release.recipe.state_of({"a": 1, "b": 0}), round(release.disclosure.information, 6)
    (2, 1.0)
    """
    limits = Limits(tol, rel_tol, time_limit, codes, progress, solver).begun()
    question = Question(reveal, protect, use, order, leakage, ratio, against, utility=utility)
    marks = None if missing_marks is None else tuple(missing_marks)
    dropped = (drop,) if isinstance(drop, str) else tuple(drop)
    rules = TableRules(
        rules_of(bins, groups),
        missing,
        empty,
        min_count,
        law,
        unseen,
        id,
        points,
        score,
        dropped,
        header,
        marks,
        rare,
        weight,
        counts,
    )
    with opened(source, rules.as_read) as table:
        if not isinstance(source, Source) and "" in table.remarks:
            warnings.warn(f"In {table.name}, {table.remarks['']}.", TableWarning, stacklevel=2)
        release = fitted(table, question, rules, limits, also)
        whole = table if rules.counts is None else as_counts(table, rules.counts)
        rows = whole.rows() if rules.missing == "value" else release.recipe.table_rows
    if rows > release.recipe.table_rows:
        target, uncounted = " and ".join(release.recipe.reveal), rows - release.recipe.table_rows
        have = "has" if uncounted == 1 else "have"
        said = f"{uncounted} of {counted(rows, 'record')} of {table.name} {have} no value of {target}: they are not counted."
        warnings.warn(said, TableWarning, stacklevel=2)
    return release


def fitted(source: Any, question: Question, rules: TableRules, limits: Limits | None = None, also: Any = ()) -> Release:
    """The release of a table that answers a question, under rules for the table and within limits."""
    limits = (limits or Limits()).begun()
    left = limits.remaining()
    by = math.inf if left is None else time.monotonic() + LEARNING * left
    with opened(source, rules.as_read) as table, until(by):
        posed = pose_table(table, question, rules)
    return release_of(posed, question, limits, also)


def release_of(posed: Posed, question: Question, limits: Limits, also: Any = ()) -> Release:
    """The release that solves what a table poses, with the budgets of the question and private on further tables too."""
    problem, recipe = posed.within(question, also), posed.recipe
    if isinstance(problem.utility, Squares) and limits.codes is None:
        limits = replace(limits, codes=READABLE)
    if limits.codes is None and not problem.further and problem.utility is None:
        rarest = recipe.min_count / recipe.table_rows if recipe.table_rows else 0.0
        if recipe.points is not None:
            limits = replace(limits.for_people(problem), rarest=rarest)
        elif limits.rel_tol is None and limits.tol == Limits.tol:
            limits = replace(limits, readable=True, rarest=rarest)
    found = checkable(solved(posed.law, problem, replace(limits, enough=True)))
    made = Release(
        found, recipe, secrets.token_bytes(KEY_BYTES), secrets.token_bytes(SALT_BYTES), unmerged=posed.unmerged
    )
    weighed = () if posed.records is None else said_of_records(made, posed.records)
    if posed.scored is None:
        return made
    return replace(made, remarks=(*posed.scored.remarks, *weighed), look=posed.scored.look)


@phase("counting")
def pose_table(
    table: Source,
    question: Question,
    rules: TableRules | None = None,
    earlier: Release | None = None,
) -> Posed:
    """The law of a table with its states. Given an `earlier` release, its columns, groups and states are refined."""
    rules = rules or TableRules()
    if question.use is None:
        check_width(table)
    raw, before, digest = table, table.fingerprint(), table.digest()
    if earlier is not None and digest != earlier.recipe.table_digest:
        raise ProblemError(
            f"{table.name} is not the table that the earlier release was fitted on: its digest differs.",
            "A code designed for one table is not private on another; give the same table, unchanged.",
        )
    known: dict[str, Column] = {}
    found, utility = None, question.utility
    if rules.counts is not None:
        table = as_counts(table, rules.counts)
    check_cuts(table, rules.bins)
    if earlier is None:
        found = scored(table, question, rules)
        table, roles, points, utility = found.table, found.roles, found.points, found.utility
        rules = replace(rules, bins={**rules.bins, **found.cut})
    else:
        table, points = earlier.recipe.scored(table), earlier.recipe.points
        if points is not None and question.use is None:
            question = replace(question, use=earlier.recipe.use)
        roles = united(table, rules.roles(table, question), earlier.recipe)
        known = {column.name: column for column in earlier.recipe.columns}
    looked_at = () if points is None else tuple(column.name for column in points.columns)
    if found is not None and found.look is not None:
        looked_at += found.look.usable  # of what was asked for, a score may have found that it says nothing
    check_bins(rules.bins, (*roles.needed, *looked_at), known)
    if points is not None:
        known = {**known, points.name: points.column}
    ungrouped, table = table, grouped(table, roles.needed, rules.bins)
    troubles: list[Trouble] = []
    told = [name for name in roles.reveal if name not in known or None not in known[name].values]
    where = complete(table, roles.needed, rules.missing, told, troubles)
    columns = alphabets(table, roles, rules.bins, known, where, troubles)
    counts = count(table, columns, where)
    if raw.fingerprint() != before:
        raise LawError(f"{table.name} changed while it was read.", "Fit again when it is at rest.")
    names, values = [c.name for c in columns], [c.values for c in columns]
    joint, origin = law_for(rules.law, counts, names, values)
    records = None
    if rules.counts is not None:
        origin = replace(origin, parameters={"counts": rules.counts})
    if rules.weight is not None:
        records = joint
        joint, origin = weighted_law(
            weighted(ungrouped, columns, rules.weight, where), counts, names, values, rules.weight
        )
    columns = _with_alphabets(columns, joint)
    used = _used_counts(counts, columns, joint, roles.use)
    if earlier is None:
        kept, merged = merged_states(counts, used, columns, roles, rules, points)
    else:
        parts = {cell: state_before(cell, roles.use, earlier.recipe) for cell in used}
        kept, merged = merge_rare(used, rules.min_count, parts)
    if len(kept) > MOST_STATES:
        raise too_large([column for column in columns if column.name in roles.use], len(kept))
    check_not_unique(len(kept), sum(counts.values()))
    recipe = Recipe(
        columns=tuple(columns),
        use=roles.use,
        protect=roles.protect,
        given=tuple(promise.written for promise in roles.given),
        reveal=roles.reveal,
        combinations=(*kept, *(cell for cells in merged for cell in cells)),
        kept=len(kept),
        merged=tuple(map(len, merged)),
        state_column=free_name("state", roles.needed) if merged else None,
        missing=rules.missing,
        unseen=rules.unseen,
        min_count=rules.min_count,
        law=origin.to_document(),
        table_digest=digest,
        table_rows=sum(counts.values()),
        empty=table.empty,
        reading=Reading(table.header, table.marks) if earlier is None else earlier.recipe.reading,
        id=rules.id,
        points=points,
        beside=beside_state(roles, merged) if earlier is None and points is None else (),
        others=others_of(used, roles, kept, merged) if rules.unseen == "rare" else (),
    )
    return Posed(with_states(joint, recipe), recipe, found, joint, records, utility)


def state_before(cell: Cell, use: Sequence[str], earlier: Recipe) -> int:
    """The state of an earlier release that a combination of values of these columns belongs to."""
    return earlier.state_of_combination[tuple(cell[use.index(name)] for name in earlier.use)]


def united(table: Source, roles: Roles, earlier: Recipe) -> Roles:
    """What is asked for, with the promises of an earlier release; raises unless the columns that it looks at are used too.

    Both codes are published, and the pair looks at what either looks at: so these columns are not added in silence.
    """
    left_out = [name for name in earlier.use if name not in roles.use]
    if left_out:
        whole = ",".join((*earlier.use, *(name for name in roles.use if name not in earlier.use)))
        raise ProblemError(
            f"The earlier release looks at {', '.join(left_out)}, which `use` leaves out; codes of a second release are "
            "pairs with the earlier ones, and look at the same columns.",
            f"If the new code may look at all of these, say so: --use {quote(whole)}. If not, and if "
            "nothing of the first release was given out, fit it anew without them.",
        )
    use = (*earlier.use, *(name for name in roles.use if name not in earlier.use))
    known = {frozenset(group) for group in earlier.protect}
    groups = [*earlier.protect, *(group for group in roles.protect if frozenset(group) not in known)]
    promises = {promise.key: promise for promise in (*map(read_promise, earlier.given), *roles.given)}
    return Question(roles.reveal, [*groups, *promises.values()], use).about(list(table.columns))


def _with_alphabets(columns: Sequence[Column], joint: Joint) -> list[Column]:
    """The columns with the alphabets of the law, which may have values that the table has not."""
    for column, alphabet in zip(columns, joint.alphabets, strict=True):
        strange = [value for value in alphabet if value is not None and column.named and not column.named.can_be(value)]
        if strange or (column.edges is not None and alphabet != column.values):
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
        for name in recipe.read:
            if name not in table.columns:
                raise ColumnError(f"{table.name} has no column '{name}'.", "It needs the columns of the first table.")
        recipe.check(table, others=True)
        counts = count(recipe.scored(table), recipe.columns, complete(table, recipe.own, recipe.missing, recipe.told))
    joint = Joint.from_counts(counts, names, [column.values for column in recipe.columns])
    new = sum(cell not in recipe.state_of_combination for cell in joint.weights(recipe.use))
    if new:
        raise LawError(
            f"{table.name} has {new} combinations of used values that do not occur in the table that is fitted.",
            "Leave them out, or add such records to the table.",
        )
    return joint
