"""A look over the columns of a table: what each holds, and what becomes of it when all that can be used is used.

Four queries answer for all columns: how many values each has (estimated, then counted where that can be done), what texts
look like in the first rows, and which columns give the target away. Nothing is held here but these numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from shlex import quote
from typing import Any

from choral.describe.display import counted, elided
from choral.errors import ColumnError, LawError, ProblemError, TooLargeError
from choral.tables.columns import canonical_sql
from choral.tables.forms import MOMENT
from choral.tables.giveaway import COUNTED, GROUPS, SAMPLE, apart, determined, row_of, sampled
from choral.tables.kinds import DATES, NUMERIC, kind_of_type
from choral.tables.source import Source, reading
from choral.tables.sql import MOST_COLUMNS, text_literal
from choral.verifier.names import why_unreadable

FEW = 20
"""Numbers with more values than this are cut into bins."""
LONG = 40
"""Characters, on average, from which a text with many values is one that somebody wrote."""
UNIQUE = 0.9
"""Values per record from which a text names records rather than a property of theirs."""
ALMOST = 0.98
"""… and from which whole numbers are different in every row, where values are estimated."""
VARIED = 0.2
"""Values per record from which texts with more than `MANY` values are names or notes, and not categories."""
MANY = 50
"""Values of a text up to which it is a list of categories, however few records there are."""
LEAST_ROWS = 20
"""With fewer records every column may have as many values as records, and say nothing by that."""
DAY_LIKE = r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}(?:[ T][0-9:.]+(?:Z|[+-][0-9:]+)?)?|" + MOMENT
NUMBER_LIKE = r"[^0-9A-Za-z]{0,3}[0-9](?:[0-9., ']*[0-9])?[^0-9A-Za-z]{0,3}"
"""A number as people write it: 1,5 or 1.234,00 or $12 or 80 %."""
LEAST_NAME = 10
"""Letters of a name that are shown however wide the rest is."""
USED = ("used", "binned")
MISREAD = "its name could be misread"
"""What the reason begins with for which a column is left out that can be used under another name."""


@dataclass(frozen=True)
class ColumnLook:
    """What a column holds, and what becomes of it.

    kind    "number", "category", "date", "text", "identifier", "constant", "empty", "copy" (it gives the target away) or
            "other" (a type that cannot be a value)
    role    "target", "protected", "id", or "" for every other column
    values  how many different ones; exact up to `COUNTED`, about right beyond
    fate    "told" (the target), "used", "binned" (numbers with many values), "left out", or "asked": see `Look.check`
    why     in words, where a column is left out or asked about
    """

    name: str
    kind: str
    role: str
    values: int
    missing: int
    fate: str
    why: str = ""


@dataclass(frozen=True)
class Look:
    """All columns of a table, in its order, and how many records it has; `targetless` of them lack the target."""

    columns: tuple[ColumnLook, ...]
    rows: int
    targetless: int
    alike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of columns some of whose values differ only in blanks: such values."""

    @cached_property
    def usable(self) -> tuple[str, ...]:
        """The columns that a code can look at, protected ones among them."""
        return tuple(column.name for column in self.columns if column.fate in USED)

    def check(self) -> None:
        """Raise for columns that give the target away, unless they were named: a code would tell the target by them.

        All are named in one message, with one line to copy.
        """
        asked = [column for column in self.columns if column.fate == "asked"]
        if asked:
            what = "; ".join(f"'{column.name}' {column.why}" for column in asked)
            names = ",".join(column.name for column in asked)
            raise ProblemError(
                f"{'This column gives' if len(asked) == 1 else 'These columns give'} the target away: {what}.",
                f"If it is not known before the target is, leave it out: --drop {quote(names)}. If a code may be made of "
                "it, name "
                "all columns to look at: --use.",
            )

    def lines(self, needed: Collection[str], most: int | None = None) -> list[str]:
        """The look as a table for people, after fitting: of what could be used, `needed` is what is looked at.

        In `most` columns each row is one line: long names are elided, and why columns are left out is said elsewhere.
        """
        fates = ["not needed" if c.fate in USED and c.name not in needed else c.fate for c in self.columns]
        kinds, values = [c.role or c.kind for c in self.columns], [_values(c) for c in self.columns]
        wide, *others = (max(map(len, texts)) for texts in ([c.name for c in self.columns], kinds, values, fates))
        if most is not None:
            wide = min(wide, max(LEAST_NAME, most - sum(others) - 6))
        lines = []
        for c, kind, held, fate in zip(self.columns, kinds, values, fates, strict=True):
            why = f": {c.why}" if c.why and most is None else ""
            name = elided(c.name, wide)
            lines.append(f"{name:<{wide}}  {kind:<{others[0]}}  {held:<{others[1]}}  {fate}{why}".rstrip())
        return lines

    def to_document(self) -> dict[str, Any]:
        """The look for programs."""
        return {
            "rows": self.rows,
            "targetless": self.targetless,
            "columns": [asdict(column) for column in self.columns],
        }


def look(
    table: Source,
    reveal: str | Sequence[str],
    protect: Sequence[str] = (),
    *,
    drop: Sequence[str] = (),
    id: str | None = None,
    named: Sequence[str] = (),
) -> Look:
    """What the columns of a table hold, and what becomes of each when all that can be used is used.

    Names, dates, free text and identifiers are left out, and so are columns without a value or with one alone. A protected
    column is in the state in any case, unless `drop` names it: then it is not looked at, and stays protected. `named` columns
    were asked for by name: they are used whatever they look like.

    >>> from choral.tables.opening import open_table
    >>> rows = [{"W": i % 2, "name": f"n{i}", "age": i % 30, "copy": "ab"[i % 2], "sex": "fm"[i // 2 % 2]} for i in range(60)]
    >>> found = look(open_table(rows), "W", ["sex"])
    >>> [(column.name, column.kind, column.fate) for column in found.columns]  # doctest: +NORMALIZE_WHITESPACE
    [('W', 'number', 'told'), ('name', 'identifier', 'left out'), ('age', 'number', 'binned'),
     ('copy', 'copy', 'asked'), ('sex', 'category', 'used')]
    """
    target = (reveal,) if isinstance(reveal, str) else tuple(reveal)
    table.require([*target], "reveal")
    table.require([*protect], "protect")
    table.require([*drop], "drop")
    table.require([id] if id is not None else [], "id")
    for name in target:
        if name in drop:
            raise ColumnError(f"`drop` names '{name}', which is revealed.", "Leave it in.")
    check_width(table)
    facts = _facts(table, target)
    rows, targetless = facts.rows, facts.targetless
    if targetless == rows:
        raise LawError(f"The column '{'+'.join(target)}' of {table.name} has no values.", "Reveal another.")
    columns = []
    for name in table.columns:
        kind, why = facts.kind(name)
        role = "target" if name in target else "protected" if name in protect else "id" if name == id else ""
        gives = (
            facts.gives_away(name) if role in ("", "protected") and kind not in ("other", "empty", "constant") else ""
        )
        if role == "target":
            fate, why = "told", ""
        elif role == "id":
            fate, why = "left out", "identifies records (--id)"
        elif name in drop:
            fate, why = "left out", "protected, and not looked at, as asked" if role == "protected" else "as asked"
        elif role == "protected" or name in named:
            fate = "binned" if kind == "date" and name in named else _used(kind, facts.distinct[name])
            why = ""
        elif odd := why_unreadable(name):
            fate, why = "left out", f"{MISREAD} ({odd}): rename it to use it"
        elif gives and kind not in ("identifier", "text"):
            kind, fate, why = "copy", "asked", gives
        else:
            fate = "left out" if why else _used(kind, facts.distinct[name])
        columns.append(ColumnLook(name, kind, role, facts.distinct[name], rows - facts.present[name], fate, why))
    texts = [c.name for c in columns if c.fate not in ("left out", "asked") and 1 < c.values <= MANY * FEW]
    return Look(tuple(columns), rows, targetless, _differ_in_blanks(table, texts))


def check_width(table: Source) -> None:
    """Raise for more columns than are looked over."""
    if len(table.columns) > MOST_COLUMNS:
        raise TooLargeError(
            f"{table.name} has {len(table.columns)} columns; at most {MOST_COLUMNS} are looked over.",
            "Name those that a code may look at: --use A,B,C.",
        )


def _used(kind: str, values: int) -> str:
    return "binned" if kind == "number" and values > FEW else "used"


def _values(column: ColumnLook) -> str:
    about = "about " if column.values > COUNTED else ""
    values = f"{about}{counted(column.values, 'value')}"
    return f"{values}, {column.missing} missing" if column.missing else values


@dataclass(frozen=True)
class _Facts:
    """Numbers about all columns: records with a value, different values, how texts look, what gives the target away."""

    table: Source
    rows: int
    targetless: int
    present: Mapping[str, int]
    distinct: Mapping[str, int]
    long: Mapping[str, float]
    dates: Mapping[str, float]
    numbers: Mapping[str, float]
    leaks: Mapping[str, str]

    def kind(self, name: str) -> tuple[str, str]:
        """What a column is, and why it would be left out."""
        type_ = self.table.columns[name]
        kind, present, many = kind_of_type(type_), self.present[name], self.distinct[name]
        if not present:
            return "empty", "it has no values"
        if kind is None:
            return "other", f"a column of {type_} is no value: make columns of its parts"
        if many == 1 and present == self.rows:
            return "constant", "it has one value"
        if kind in DATES:
            return "date", f"a date is used if it is cut: --bins {quote(f'{name}=month')}"
        if self.dates.get(name, 0) > UNIQUE:
            return "date", "write dates as 2026-01-31 to cut them (--bins), or give a year or an age as a number"
        unique = many == present if many <= COUNTED else many > ALMOST * present
        if kind == "int" and unique and present == self.rows >= LEAST_ROWS:
            return "identifier", "another value in every row"
        if kind != "text":
            return ("category" if kind == "bool" else "number"), ""
        if many > MANY and self.numbers[name] > UNIQUE:
            return "text", "numbers that are not plain: write them as 1234.5, without signs, units or separators"
        if present >= LEAST_ROWS and many > MANY and self.long[name] > LONG:
            return "text", f"texts of {self.long[name]:.0f} characters on average"
        if present >= LEAST_ROWS and many >= UNIQUE * present:
            return "identifier", "another value in nearly every row"
        if (many > MANY and many > VARIED * present) or many > COUNTED:
            return "text", f"{many} different texts"
        return "category", ""

    def gives_away(self, name: str) -> str:
        """How a column gives the target away, or nothing."""
        return self.leaks.get(name, "")


def _facts(table: Source, target: Sequence[str]) -> _Facts:
    kinds = {name: kind_of_type(type_) for name, type_ in table.columns.items()}
    values = {name: canonical_sql(name, kind or "") for name, kind in kinds.items()}
    plain = [name for name in table.columns if kinds[name] is not None]
    texts = [name for name in plain if kinds[name] == "text"]
    whole = " OR ".join(f"({values[name]}) IS NULL" for name in target)
    items = [table.tally(), f"{table.tally(f'CASE WHEN {whole} THEN 1 END')}"]
    items += [table.tally(value) for value in values.values()]
    items += [f"approx_count_distinct({values[name]})" for name in plain]
    items += [f"avg(strlen({values[name]}))" for name in texts]
    row = iter(row_of(table, f"SELECT {', '.join(items)} FROM {table.sql}"))
    rows, targetless = next(row), next(row)
    present = {name: next(row) for name in values}
    about = {name: next(row) for name in plain}
    long = {name: next(row) or 0.0 for name in texts}
    exact = _distinct(table, {name: values[name] for name in plain}, about)
    distinct = {name: min(exact.get(name, 0), present[name]) for name in values}
    dates, numbers = (_share_like(table, {name: values[name] for name in texts}, f) for f in (DAY_LIKE, NUMBER_LIKE))
    others = [name for name in plain if name not in target and distinct[name] + (present[name] < rows) > 1]
    several = min(distinct[name] for name in target) if len(target) > 1 else distinct[target[0]]
    leaks = {}
    if several > 1:
        leaks = determined(table, others, values, target, distinct, present)
        ordered = [name for name in others if kinds[name] in (*NUMERIC, *DATES) and name not in leaks]
        if len(target) == 1 and several <= GROUPS:
            leaks |= apart(table, ordered, values, target[0], distinct)
    return _Facts(table, rows, targetless, present, distinct, long, dates, numbers, leaks)


def _distinct(table: Source, values: Mapping[str, str], about: Mapping[str, int]) -> dict[str, int]:
    """How many values columns have: exactly where it is about `COUNTED` at most, from a share of the values beyond."""
    if not values:
        return {}
    kept = {name: sampled(value, about[name]) for name, value in values.items()}
    items = ", ".join(f"count(DISTINCT {value}){kept[name][0]}" for name, value in values.items())
    row = row_of(table, f"SELECT {items} FROM {table.sql}")
    return {name: many * kept[name][1] for name, many in zip(values, row, strict=True)}


def _differ_in_blanks(table: Source, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Values of text columns that differ only in blanks or tabs, by column: those that are written the first such way."""
    values = {name: canonical_sql(name, "text") for name in names if kind_of_type(table.columns[name]) == "text"}
    if not values:
        return {}
    plain, found = "trim(regexp_replace(v, '\\s+', ' ', 'g'))", {}
    odd = ", ".join(f"bool_or(({value}) <> {plain.replace('(v,', f'({value},')})" for value in values.values())
    strange = row_of(
        table, f"SELECT {odd} FROM {table.sql}"
    )  # of two that differ in blanks, one is not as plain as can be
    for value, name in ((values[name], name) for name, some in zip(values, strange, strict=True) if some):
        listed = f"SELECT DISTINCT {value} AS v FROM {table.sql} WHERE ({value}) IS NOT NULL"
        with reading(table):
            rows = table.connection.execute(
                f"SELECT list(v ORDER BY v) FROM ({listed}) GROUP BY {plain} HAVING count(*) > 1 ORDER BY min(v)"
            ).fetchall()
        if rows:
            found[name] = tuple(rows[0][0])
    return found


def _share_like(table: Source, values: Mapping[str, str], like: str) -> dict[str, float]:
    """The share of the texts of columns, in the first rows, that are written in some way."""
    if not values:
        return {}
    form = text_literal(like)
    items = ", ".join(f"avg(CAST(regexp_full_match({value}, {form}) AS INTEGER))" for value in values.values())
    row = row_of(table, f"SELECT {items} FROM (SELECT * FROM {table.sql} LIMIT {SAMPLE})")
    return {name: share or 0.0 for name, share in zip(values, row, strict=True)}
