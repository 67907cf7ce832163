"""Whether a table is scored, and with which points: given ones, somebody's own score cut into bins, or learned ones.

A score is learned where `protect` says what is private and `use` does not say what may be looked at: then all columns may
be, and counted as they stand nearly all combinations of many columns would be rare. The state is the bin of the score with
the columns that something is promised about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shlex import quote

import numpy as np

from choral.errors import ColumnError, ProblemError
from choral.problem.question import Question, Roles
from choral.problem.utility import Cells, Utility
from choral.scores import learn as learning
from choral.scores.cut import cuts_of, cuts_of_sizes
from choral.scores.pieces import pieces_of
from choral.tables.bins import Bins
from choral.tables.columns import Column
from choral.tables.counting import alphabets, complete
from choral.tables.cutting import cut_column, cut_of
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.look import Look, look
from choral.tables.points import Points, Term, cells_of_cuts
from choral.tables.rules import TableRules
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

FEW_STATES = 300
"""Combinations of all columns up to which nothing needs to be learned, if they are common: counting them loses nothing."""
FIRST_ROWS = 20_000
"""Rows of a table that are looked at first for this: enough to have every common combination among a few hundred."""
SCORE = "score"
MANY = 20
"""Values of a number above which it is told by its size, if nothing else is asked for: nobody wants to know which of them."""
TOO_MANY = 10_000
"""… and above which by intervals: each is counted as it stands, which took minutes for 300 000 values, and 30 s for 4000."""
MEASURED = "q8"
"""Bins of a numeric target that is told by its size, for which a score's bins are cut."""
FINE = 300
"""Pieces that somebody's own score is first cut into."""
ENOUGH = 10
"""Times `min_count` that a value of a protected number has records on average, if it stays as it is: so many states it can
have bins in. With fewer its records would nearly all be merged, and nothing told."""
AS_THEY_ARE, INTERVALS = 16, 8
"""Values up to which a protected number always stays as it is, and intervals it is cut into where it cannot: more of either
make searches of minutes (measured), and intervals of too few records."""


@dataclass(frozen=True)
class Scored:
    """A table with its score, if it has one, and the parts that columns then play; the look over them, if one was taken."""

    table: Source
    roles: Roles
    points: Points | None = None
    look: Look | None = None
    few: str = ""
    cut: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Edges of protected numbers that cannot stay as they are."""
    many: str = ""
    """That the target is a number of many values, and how it is told."""
    utility: str | Cells | Utility | None = "bits"
    """What the code shall be good for: what was asked for, or what suits the target."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a curator should know about the columns: which are left out, and why."""
        left_out: dict[str, list[str]] = {}
        for column in () if self.look is None else self.look.columns:
            if column.fate == "left out" and column.role != "id":
                left_out.setdefault(column.why, []).append(column.name)
        said = [f"left out: {', '.join(names)} ({why})" for why, names in left_out.items()]
        nearly = {} if self.points is None else self.points.about.get("nearly", {})
        protected = {name for group in self.roles.protect for name in group}
        said += [
            f"{name} alone guesses {'+'.join(self.roles.reveal)} right {100 * right:.0f} %, and is protected: a code can "
            "tell nothing of what it says"
            for name, right in nearly.items()
            if name in protected
        ]
        said += [
            f"{name} alone guesses {'+'.join(self.roles.reveal)} right {100 * right:.0f} %: if it is made from it, or known "
            f"only after it, leave it out (--drop {quote(name)})"
            for name, right in nearly.items()
            if name not in protected
        ]
        said += [
            f"{len(values)} values of {name} differ only in blanks: {', '.join(map(repr, values))}; each is a value of its "
            "own: "
            "if they are one, write them alike in the table, and fit again"
            for name, values in (() if self.look is None else self.look.alike.items())
        ]
        said += [
            f"{name} has too many values to tell anything and protect each, beside what else is asked: what is protected is "
            f"its interval, cut at {', '.join(f'{edge:g}' for edge in edges)} (--bins '{name}=…' cuts otherwise)"
            for name, edges in self.cut.items()
            if name not in self.roles.reveal
        ]
        if self.points is not None and self.points.about.get("hurried"):
            said.append(
                "the score was learned in half of the time limit: more trees, or pairs of columns, were not tried; more time "
                "may bring more"
            )
        return (*(note for note in (self.few, self.many) if note), *said)


def scored(table: Source, question: Question, rules: TableRules) -> Scored:
    """The table with its score, if it is to have one."""
    by_default = question.utility is None
    question, intervals = suited(table, question, rules)
    found = _scored(table, question, replace(rules, bins={**rules.bins, **intervals}))
    limited = bool(question.leakage or question.ratio)
    many = "" if found.points is None else _many(found, rules, by_default, intervals, limited)
    return replace(found, utility=question.utility, many=many, cut={**found.cut, **intervals})


def suited(table: Source, question: Question, rules: TableRules) -> tuple[Question, dict[str, tuple[float, ...]]]:
    """The question with what suits its target, where it does not say what the code is for: where a score may be learned, a
    number of many values is told by its size, and one of very many by intervals, whose edges come second.
    """
    if question.utility is not None:
        return question, {}
    learned = question.use is None and question.protect is not None and table.weight is None
    bits = replace(question, utility="bits")
    if not learned or question.leakage or question.ratio:
        return bits, {}
    name, *more = rules.roles(table, question).reveal
    values = 0 if more or name in rules.bins else _numbers(table, name)
    if values > TOO_MANY:
        edges = pieces_of(table, name, complete(table, (name,), rules.missing, (name,)), most=INTERVALS).edges
        return bits, {name: edges} if edges else {}
    return (replace(question, utility="squares") if values > MANY else bits), {}


def _numbers(table: Source, name: str) -> int:
    """How many values a column of numbers has, or a little more than `TOO_MANY`; 0 for what is none, or not finite."""
    if kind_of_type(table.columns[name]) not in NUMERIC:
        return 0
    column = identifier(name)
    with reading(table):
        [(values,)] = table.connection.execute(
            f"SELECT count({column}) FROM (SELECT DISTINCT {column} FROM {table.sql} LIMIT {TOO_MANY + 2})"
        ).fetchall()
        [(finite,)] = table.connection.execute(
            f"SELECT bool_and(isfinite(CAST({column} AS DOUBLE))) FROM {table.sql}"
        ).fetchall()
    return int(values) if finite else 0


def _scored(table: Source, question: Question, rules: TableRules) -> Scored:
    """The table with its score, if it is to have one, for a question that says what the code is for."""
    plain = rules.roles(table, question)
    given = rules.points is not None or rules.score is not None
    if question.use is not None or question.protect is None or table.weight is not None:
        if given:
            used = question.use is not None
            raise ProblemError(
                "A score beside the columns to use." if used else "A score, and nothing to protect.",
                "Leave out use (--use)." if used else "Say what is protected (--protect).",
            )
        return Scored(table, plain)
    kept = _kept(plain)
    unseen = rules.unseen_in(plain)
    named = [name for name in rules.bins if name in table.columns]
    seen = look(table, plain.reveal, kept, drop=rules.apart, id=rules.id, named=named)
    where = complete(table, (*kept, *plain.reveal), rules.missing, plain.reveal)
    one = not unseen and _one_group(question, plain, rules, seen)
    least = ENOUGH * rules.min_count if one else seen.rows
    cut = _intervals(table, plain, rules, seen, least, where)
    rules = replace(rules, bins={**rules.bins, **cut})
    if rules.points is not None:
        rules.points.check(table.columns, table.name)
        return replace(_with(table, question, rules, rules.points.brought, seen), cut=cut)
    if rules.score is not None:
        columns = _alphabets(table, plain, kept, rules.bins, where)
        points = own_score(table, rules.score, columns, plain, where)
        return replace(_with(table, question, rules, points, seen), cut=cut)
    seen.check()
    rest = [name for name in seen.usable if name not in kept]
    wanted = tuple(name for name in table.columns if (name in kept or name in rest) and name not in unseen)
    as_they_are = rules.roles(table, replace(question, use=wanted))
    if not rest or _common(table, seen.usable, rules, where):
        return Scored(table, as_they_are, None, seen, cut=cut)
    if seen.rows < learning.LEAST_ROWS:
        few = f"{seen.rows} records are too few to learn a score from: columns are counted as they stand"
        return Scored(table, as_they_are, None, seen, few, cut)
    columns = _alphabets(table, plain, kept, rules.bins, where)
    cuts = {name: cut_of(table, name, rule, where) for name, rule in rules.bins.items() if name in rest}
    asked = learning.Asked(
        tuple(columns[name] for name in plain.reveal),
        tuple(columns[name] for name in kept),
        seen.usable,
        cuts | {name: found for name in kept if (found := columns[name].cut) is not None},
        _free(table.columns),
        rows=learning.MOST_ROWS if rules.lesson is None else rules.lesson,
        weight=rules.weight,
        unseen=_unseen_groups(plain, unseen, columns),
        measured=plain.measured,
    )
    points = learning.learn(table, asked, where)
    return replace(_with(table, question, rules, points, seen), cut=cut)


def _many(
    found: Scored, rules: TableRules, by_default: bool, intervals: Mapping[str, tuple[float, ...]], limited: bool
) -> str:
    """That the target is a number of many values, and what could be asked for instead; "" where that was asked for.

    Within budgets, `limited`, a code is for bits alone.
    """
    roles, (name, *more) = found.roles, found.roles.reveal
    if name in intervals:
        return (
            f"{name} is a number of very many values: what is told is the interval that it lies in, cut at "
            f"{', '.join(f'{edge:g}' for edge in intervals[name])} (--bins '{name}=…' cuts otherwise)"
        )
    if more or name in rules.bins or (roles.measured and not by_default) or found.look is None:
        return ""
    [many] = (column.values for column in found.look.columns if column.name == name)
    if many <= learning.MOST_CLASSES or kind_of_type(found.table.columns[name]) not in NUMERIC:
        return ""
    told, instead = ("how large it is", "which of them") if roles.measured else ("which of them", "how large it is")
    other = "bits" if roles.measured else "squares"
    turned = "" if limited else f"--utility {other} makes it tell {instead}, "
    return (
        f"{name} is a number of {many} values, and the code is made to tell {told}: {turned}--bins '{name}=q4' makes it tell "
        "in which of four intervals it lies"
    )


def _one_group(question: Question, plain: Roles, rules: TableRules, seen: Look) -> bool:
    """Whether the rank within the group is the answer, whatever the number of protected values."""
    [*told] = (column.values for column in seen.columns if column.name in plain.reveal)
    two = plain.measured or (len(told) == 1 and told[0] == 2 and question.utility in (None, "bits"))
    plainly = not (plain.given or question.leakage or question.ratio)
    return len(plain.protect) == 1 and plainly and two and rules.law == "frequencies"


def _intervals(
    table: Source, plain: Roles, rules: TableRules, seen: Look, least: int, where: str
) -> dict[str, tuple[float, ...]]:
    """Edges for protected numbers of many values, each with fewer than `least` records: round, and with as many between.

    What others are said to know stays as it is: a promise about an interval would not hold against who knows the number.
    """
    hidden = {name for group in plain.protect for name in group} | {n for p in plain.given for n in p.hidden}
    known = {name for promise in plain.given for name in promise.known}
    many = [
        c.name
        for c in seen.columns
        if c.name in hidden - known and c.kind == "number" and c.values > AS_THEY_ARE and least * c.values > seen.rows
    ]
    found = {name: pieces_of(table, name, where, most=INTERVALS).edges for name in many if name not in rules.bins}
    return {name: edges for name, edges in found.items() if edges}


def own_score(table: Source, name: str, columns: Mapping[str, Column], plain: Roles, where: str) -> Points:
    """Points that are the bins of a column of numbers, cut where least about the target is lost."""
    table.require([name], "score")
    if name in columns:
        raise ColumnError(f"The score '{name}' is revealed or protected.", "Give another column.")
    if kind_of_type(table.columns[name]) not in NUMERIC:
        raise ColumnError(f"The score '{name}' holds {table.columns[name]}.", "A score is a column of numbers.")
    with learning.sampled(table, where) as (sample, _):
        fine = pieces_of(sample, name, "", most=FINE)
        beside = [n for n in columns if n not in plain.reveal] if plain.measured else plain.reveal
        codes = learning.codes_of(sample, [fine, *(columns[n] for n in beside)])
        numbers = learning.numbers_of(sample, plain.reveal[0]) if plain.measured else None
    kind = np.unique(codes[:, 1:], axis=0, return_inverse=True)[1].reshape(-1)
    assert fine.edges is not None
    there, sums = codes[:, 0] <= len(fine.edges), codes[:, 0]
    if numbers is None:
        starts = cuts_of(sums[there], kind[there])
    else:
        starts = cuts_of_sizes(sums[there], numbers[there], kind[there])
    edges = tuple(fine.edges[start - 1] for start in starts)
    gap = (None,) if None in fine.values else ()
    pieces = Column.cut_by(name, table.columns[name], edges, gap)
    places = [*range(len(edges) + 1), *([len(edges) + 1] if gap else []), 0]
    cuts = list(range(1, len(edges) + 1 + len(gap)))
    about = {"made": f"the column '{name}', cut into bins", "records": len(codes)}
    return Points(_free(table.columns), (pieces,), ((Term((name,), tuple(places)),),), cells_of_cuts(cuts), about)


def _with(table: Source, question: Question, rules: TableRules, points: Points, seen: Look) -> Scored:
    found, plain = points.scored(table), rules.roles(table, question)
    unseen = rules.unseen_in(plain)
    use = (points.name, *(name for name in _kept(plain) if name not in unseen))
    return Scored(found, rules.roles(found, replace(question, use=use)), points, seen)


def _kept(plain: Roles) -> tuple[str, ...]:
    """The columns that something is promised about, but the target: as they are they are in the state, if looked at."""
    return tuple(name for name in plain.promised if name not in plain.reveal)


def _unseen_groups(
    plain: Roles, unseen: Sequence[str], columns: Mapping[str, Column]
) -> tuple[tuple[Column, ...], ...]:
    """What of each protected group is not looked at, each once."""
    groups = [*plain.protect, *(promise.hidden for promise in plain.given)]
    parts = [tuple(name for name in group if name in unseen and name in columns) for group in groups]
    return tuple(tuple(columns[name] for name in part) for part in dict.fromkeys(parts) if part)


def _alphabets(
    table: Source, plain: Roles, kept: Sequence[str], bins: Mapping[str, Bins], where: str
) -> dict[str, Column]:
    needed = tuple(name for name in table.columns if name in {*kept, *plain.reveal})
    narrow = Roles(plain.reveal, plain.protect, tuple(kept), plain.given, needed)
    if plain.measured:  # a score is learned for the rank of a number: of several bins of it
        bins = {**dict.fromkeys(plain.reveal, MEASURED), **bins}
    return {column.name: column for column in alphabets(table, narrow, bins, {}, where)}


def _common(table: Source, names: Sequence[str], rules: TableRules, where: str) -> bool:
    """Whether all combinations of these columns, as they stand, are few and at least this common."""
    items = {name: identifier(name) for name in names}
    for name, rule in rules.bins.items():
        if name in items:
            items[name] = cut_column(table, name, rule, where).code_sql(table.columns[name])
    listed = ", ".join(items.values())
    rows = f"FROM {table.sql} WHERE TRUE{where}"
    with reading(table):
        # a table of many combinations shows it in its first rows; to group all of it would take memory for each of them
        first = f"SELECT DISTINCT {listed} FROM (SELECT * {rows} LIMIT {FIRST_ROWS}) LIMIT {FEW_STATES + 1}"
        if len(table.connection.execute(first).fetchall()) > FEW_STATES:
            return False
        found = table.connection.execute(
            f"SELECT {table.tally()} {rows} GROUP BY {listed} LIMIT {FEW_STATES + 1}"
        ).fetchall()
    return len(found) <= FEW_STATES and all(n >= rules.min_count for (n,) in found)


def _free(taken: Mapping[str, str]) -> str:
    name = SCORE
    while name.casefold() in map(str.casefold, taken):
        name += "_"
    return name
