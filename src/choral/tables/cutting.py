"""What a column is cut by, as a rule asks: edges for numbers, parts of the calendar for dates, groups for texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from choral.errors import ChoralError, ColumnError, LawError, ProblemError, TooLargeError, did_you_mean
from choral.tables.bins import REMEDY, Bins, calendar_of, check_numeric, edges_of, rule_of, understood
from choral.tables.calendar import PARTS
from choral.tables.columns import Column, Cut, Named, canonical_sql
from choral.tables.groups import Groups, unfit
from choral.tables.kinds import DATES, KINDS, NUMERIC, kind_of_type
from choral.tables.source import Source, reading

MOST_NAMES = 2000
"""Of one column, as of its values."""

Texts = Callable[[str], Sequence[str]]
"""The different texts of a column, in order; at most as many as `Source` can hold of one."""


def named_by(rule: Bins) -> Named | None:
    """How a rule gives names; None where it asks for edges."""
    return rule if isinstance(rule, Groups) else calendar_of(rule)


def cut_of(source: Source, name: str, rule: Bins, where: str = "") -> Cut:
    """What a rule cuts a column of a table by; `where` is SQL that leaves rows out."""
    if name in source.known_cuts:
        known: Cut = source.known_cuts[name]
        return known
    check_kind(source, name, rule)
    return named_by(rule) or edges_of(source, name, rule, where)


def cut_column(source: Source, name: str, rule: Bins, where: str = "") -> Column:
    """A column of a table, cut by a rule, with the names that occur, or all intervals between its edges."""
    type_, cut = source.columns[name], cut_of(source, name, rule, where)
    value = canonical_sql(name, kind_of_type(type_) or "")
    if isinstance(cut, tuple):
        gap = _rows(source, f"SELECT 1 FROM {source.sql} WHERE ({value}) IS NULL{where} LIMIT 1")
        return Column.cut_by(name, type_, cut, [None] if gap else [])
    found = f"SELECT DISTINCT {cut.sql(value)} AS v, ({value}) IS NULL AS gap FROM {source.sql} WHERE TRUE{where}"
    seen = _rows(source, f"{found} LIMIT {MOST_NAMES + 2}")
    if (None, False) in seen:
        raise LawError(f"The column '{name}' of {source.name} has values that are in no {cut.one}.", _no_name(cut))
    if len(seen) > MOST_NAMES:
        [(many,)] = _rows(source, f"SELECT count(*) FROM ({found})")
        raise TooLargeError(
            f"'{name}' {cut.said(many)} has {many} values; at most {MOST_NAMES} are taken.", "Take a coarser part."
        )
    return Column.cut_by(name, type_, cut, [name for name, _ in seen])


def option_of(name: str, cut: Cut) -> str:
    """The option of the command line that asks for a cut."""
    return f"--bins '{name}={rule_of(cut)}'" if isinstance(cut, tuple) else cut.written(name)


def check_cuts(source: Source, bins: Mapping[str, Bins], texts: Texts | None = None) -> None:
    """Raise for all columns that cannot be cut as their rules say, in one message: by their kinds, and by their values."""
    found: list[ChoralError] = []
    for name in (name for name in bins if name not in source.known_cuts):
        try:
            if name not in source.columns:
                raise ColumnError(
                    f"{what(bins[name])} are asked for '{name}', which is no column of {source.name}.",
                    did_you_mean(name, source.columns),
                )
            check_kind(source, name, bins[name])
            check_groups(source, name, bins[name], texts or (lambda one: _texts(source, one)))
        except ChoralError as error:
            found.append(error)
    if len(found) == 1:
        raise found[0]
    if found:
        remedies = dict.fromkeys(error.remedy for error in found)
        raise ProblemError(" ".join(error.what for error in found), " ".join(remedies))


def what(rule: Bins) -> str:
    """What a rule asks for, at the beginning of a sentence."""
    return "Groups" if isinstance(rule, Groups) else "Bins"


def check_kind(source: Source, name: str, rule: Bins) -> None:
    """Raise unless a column holds what a rule can cut."""
    kind, named = kind_of_type(source.columns[name]) or "", named_by(rule)
    held = KINDS.get(kind, source.columns[name])
    if named is None:
        understood(name, rule)  # raises for what is no rule
        if kind in DATES:
            raise ProblemError(f"'{name}' holds {held}, and {rule!r} cuts numbers.", by_calendar(name))
        check_numeric(source, name)  # here too, so that all problems are told at once
    elif kind not in named.kinds:
        how = "grouped" if isinstance(named, Groups) else f"cut {named.said(0)}"
        raise ProblemError(f"'{name}' holds {held} and cannot be {how}.", _instead(name, kind, named))


def check_groups(source: Source, name: str, rule: Bins, texts: Texts) -> None:
    """Raise for groups of values that a column has not, or that leave a value out."""
    wrong = unfit(rule, texts(name)) if isinstance(rule, Groups) else []
    if wrong:
        raise ProblemError(
            f"The groups of '{name}' do not fit {source.name}: {'; '.join(wrong)}.",
            "Write values as they stand in the table, each in one group.",
        )


def by_calendar(name: str) -> str:
    """How a column of dates can be cut."""
    *most, last = PARTS
    return f"Cut it by the calendar: --bins {quote(f'{name}={most[0]}')} ({', '.join(most[1:])} or {last})."


def _instead(name: str, kind: str, named: Named) -> str:
    if isinstance(named, Groups):
        other = by_calendar(name) if kind in DATES else f"Cut numbers by edges: --bins {quote(f'{name}=40,55')}."
        return other if kind in (*DATES, *NUMERIC) else "Groups are for text."
    if kind in NUMERIC:
        return REMEDY
    return "Write it as dates, 2026-01-31, or points in time, 2026-01-31 14:05:00: a text that is none makes a column text."


def _no_name(named: Named) -> str:
    if isinstance(named, Groups):
        return "Add a group for all others: other:*."
    return "Dates lie in the years 1 to 9999: correct the others, or leave them out."


def _texts(source: Source, name: str) -> list[str]:
    value = canonical_sql(name, "text")
    found = _rows(source, f"SELECT DISTINCT {value} AS v FROM {source.sql} WHERE ({value}) IS NOT NULL ORDER BY v")
    return [v for (v,) in found]


def _rows(source: Source, sql: str) -> list[tuple[Any, ...]]:
    with reading(source):
        return source.connection.execute(sql).fetchall()
