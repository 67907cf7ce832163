"""Bins, as they are asked for: for numbers edges, quantiles of the table or a width; for dates a part of the calendar.

The edges that are found in a table are part of the release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from itertools import pairwise
from shlex import quote
from typing import Any, TypeAlias

from choral.errors import LawError, ProblemError
from choral.tables.calendar import PARTS, Calendar
from choral.tables.columns import number_sql
from choral.tables.forms import form_of
from choral.tables.groups import Groups, groups_of
from choral.tables.kinds import KINDS, NUMERIC, kind_of_type
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

Bins: TypeAlias = "int | str | Sequence[float] | Groups"
"""The rule that cuts a column."""
MOST_BINS = 1000
"""Of one column: a rule that asks for more is a slip."""


def read_bins(texts: Iterable[str]) -> dict[str, str]:
    """Bins as written on the command line, columns separated by semicolons, or by commas where that is clear.

    >>> read_bins(["age=40,55,70; dose=q4", "income=w10000"])
    {'age': '40,55,70', 'dose': 'q4', 'income': 'w10000'}
    >>> read_bins(["age=40,55,dose=q4"])
    {'age': '40,55', 'dose': 'q4'}
    """
    found: dict[str, str] = {}
    for part in (part for text in texts for part in _rules(text) if part.strip()):
        name, mark, rule = (piece.strip() for piece in part.rpartition("="))
        if not (name and mark and rule):
            raise ProblemError(f"'{part.strip()}' is no rule for bins.", REMEDY)
        if name in found:
            raise ProblemError(f"Bins for '{name}' are given twice.", "Give one rule for each column.")
        found[name] = rule
    return found


def _rules(text: str) -> Iterator[str]:
    """The rules in a text: between semicolons, and from a comma on where a name and an equals sign follow a whole rule."""
    for part in text.split(";"):
        rule = ""
        for piece in part.split(","):
            if "=" in rule and "=" in piece:
                yield rule
                rule = piece
            else:
                rule = f"{rule},{piece}" if rule else piece
        yield rule


REMEDY = "Write age=40,55,70 (edges), age=40, (one edge), age=q4 or age=4 (quantiles), or age=w10 (width); of dates "
REMEDY += f"{', '.join(f'born={part}' for part in PARTS)}."


def calendar_of(rule: Bins) -> Calendar | None:
    """The part of the calendar that a rule names, if it does.

    >>> calendar_of("Week"), calendar_of("w10")
    (Calendar(part='week'), None)
    """
    part = rule.strip().casefold() if isinstance(rule, str) else ""
    return Calendar(part) if part in PARTS else None


def edges_of(source: Source, name: str, rule: Bins, where: str = "") -> tuple[float, ...]:
    """The edges that a rule asks for on a column of a table, increasing; `where` is SQL that leaves rows out.

    Quantiles are equally probable up to ties: the k-th of q edges is the value at rank ⌊N·k/q⌋ (from 0), and rows that
    equal an edge lie above it. An edge with nothing below it is left out.
    """
    number = number_sql(name, source.columns[name])
    values = f"SELECT {number} AS v FROM {source.sql} WHERE {number} IS NOT NULL AND NOT isnan({number}){where}"

    def extent() -> tuple[Any, ...]:
        with reading(source):
            query = f"SELECT min(v), max(v), count(*) FROM ({values})"
            return source.connection.execute(query).fetchall()[0]

    def at_ranks(ranks: Sequence[int]) -> Sequence[float]:
        wanted = ", ".join(f"min(v) FILTER (upto > {rank})" for rank in ranks)
        with reading(source):
            return source.connection.execute(
                f"SELECT {wanted} FROM (SELECT v, sum(n) OVER (ORDER BY v) AS upto FROM "
                f"(SELECT v, count(*) AS n FROM ({values}) GROUP BY v))"
            ).fetchall()[0]

    return edges_from(source, name, rule, extent, at_ranks)


def edges_from(
    source: Source,
    name: str,
    rule: Bins,
    extent: Callable[[], tuple[Any, ...]],
    at_ranks: Callable[[Sequence[int]], Sequence[float]],
) -> tuple[float, ...]:
    """The edges that a rule asks for, whichever engine counts.

    `extent` gives the least and the largest number in the column, and how many there are, NaN apart; `at_ranks` the
    numbers at these ranks, from 0.
    """
    check_numeric(source, name)
    how, argument = _rule(name, rule)
    if how == "edges":
        return argument
    least, most, n = extent()
    if not n:
        raise LawError(f"The column '{name}' of {source.name} has no values.", "Leave it out.")
    if how == "width":
        return _multiples(name, argument[0], least, most)
    ranks = [n * k // int(argument[0]) for k in range(1, int(argument[0]))]
    edges = tuple(sorted({edge + 0.0 for edge in at_ranks(ranks) if edge > least}))
    if any(math.isinf(edge) for edge in edges):
        raise LawError(f"The column '{name}' holds infinite values.", "Declare the edges: age=40,55,70.")
    return edges


def rules_of(bins: Any, groups: Any = None) -> dict[str, Bins]:
    """Bins and groups as they are given in Python, as one set of rules: a column is cut in one way.

    Groups may stand among bins, too: a rule that is a mapping is one for groups.

    >>> rules_of("age=q3; dose=1,2"), rules_of({"age": 3})
    ({'age': 'q3', 'dose': '1,2'}, {'age': 3})
    """
    cut, grouped = _bins_given(bins), groups_of(groups)
    both = [f"'{name}'" for name in grouped if name in cut]
    cut |= groups_of({name: rule for name, rule in cut.items() if isinstance(rule, Mapping)})
    if both:
        raise ProblemError(
            f"Bins and groups are both asked for {', '.join(both)}.", "Give one of them for each column."
        )
    return {**cut, **grouped}


def _bins_given(bins: Any) -> dict[str, Bins]:
    """Bins: a mapping from columns to rules, or the text of the command line."""
    if bins is None:
        return {}
    if isinstance(bins, str):
        return dict(read_bins([bins]))
    if isinstance(bins, Mapping):
        return dict(bins)
    raise ProblemError(
        f"bins={bins!r} does not say of which columns.",
        'Give a mapping, {"age": 3, "dose": [1, 2]}, or "age=3; dose=1,2".',
    )


def rule_of(edges: Sequence[float]) -> str:
    """Edges as the command line takes them.

    >>> rule_of([25, 30.5]), rule_of([40])
    ('25,30.5', '40,')
    """
    return ",".join(f"{edge!r}".removesuffix(".0") for edge in map(float, edges)) + ("," if len(edges) == 1 else "")


def understood(name: str, rule: Bins) -> str:
    """What a rule was taken for, in words; a lone number may have been meant as an edge.

    >>> understood("age", "40")
    'age=40 asks for 40 bins of about as many records each; an edge at 40 is written age=40,'
    >>> understood("age", "q4"), understood("age", "w10"), understood("age", "40,"), understood("born", "decade")
    ('4 bins of about as many records each', 'a width of 10', 'edges as declared', 'by decade')
    """
    if isinstance(rule, Groups):
        return "as declared"
    if (named := calendar_of(rule)) is not None:
        return named.said(0)
    how, argument = _rule(name, rule)
    if how == "edges":
        return "edges as declared"
    if how == "width":
        return f"a width of {argument[0]:g}"
    many = f"{argument[0]:g} bins of about as many records each"
    if isinstance(rule, str) and rule.strip().isdecimal():
        return f"{name}={rule.strip()} asks for {many}; an edge at {rule.strip()} is written {name}={rule.strip()},"
    return many


def check_bins(bins: Mapping[str, Bins], needed: Sequence[str], known: Iterable[str] = ()) -> None:
    """Raise if bins are asked for a column that plays no part, or that an earlier release has fixed."""
    for name, rule in bins.items():
        what = "Groups" if isinstance(rule, Groups) else "Bins"
        if name not in needed:
            raise ProblemError(
                f"{what} are asked for '{name}', which is not revealed, protected or used.",
                f"These are: {', '.join(needed)}.",
            )
        if name in known:
            raise ProblemError(
                f"{what} are asked for '{name}', which has its values from the earlier release.",
                f"Leave the {what.lower()} out.",
            )


def check_numeric(source: Source, name: str) -> None:
    """Raise unless a column holds numbers; where most of its values are numbers, with those that are not."""
    kind = kind_of_type(source.columns[name])
    if kind not in NUMERIC:
        raise _not_numeric(source, name, kind)


def _not_numeric(source: Source, name: str, kind: str | None) -> ProblemError:
    what = f"'{name}' holds {KINDS.get(kind or '', source.columns[name])} and cannot be binned"
    if kind != "text":
        return ProblemError(f"{what}.", "Bins are for numeric columns.")
    column, number = f"nullif(CAST({identifier(name)} AS VARCHAR), '')", form_of("DOUBLE").value_sql("v")
    rows = f"SELECT row_number() OVER () AS r, {column} AS v FROM {source.sql}"
    with reading(source):
        [(all_, strange, first, value)] = source.connection.execute(
            f"SELECT count(v), count(v) FILTER (bad), min(r) FILTER (bad), arg_min(v, r) FILTER (bad) FROM "
            f"(SELECT r, v, ({number}) IS NULL AND v IS NOT NULL AS bad FROM ({rows}))"
        ).fetchall()
    if 2 * strange > all_:
        return ProblemError(
            f"{what}.", f"Bins are for numeric columns; texts are grouped: --group {quote(f'{name}=some:A|B;other:*')}."
        )
    if not strange:
        return ProblemError(f"{what}, though all of it reads as numbers.", "Convert the column to numbers.")
    many = "1 value is no number" if strange == 1 else f"{strange} of {all_} values are no numbers"
    return ProblemError(
        f"{what}: {many}, the first in row {first}: {value!r}.",
        "Correct them; a missing value is an empty cell, or a mark that is declared: --missing-marks NA.",
    )


def _rule(name: str, rule: Bins) -> tuple[str, tuple[float, ...]]:
    """What a rule asks for: ("quantiles", (q,)), ("width", (w,)) or ("edges", …)."""
    if isinstance(rule, str):
        text = rule.strip().casefold()
        if "," in text:
            return "edges", _increasing(name, [part for part in text.split(",") if part.strip()], rule)
        if text.startswith("w") and not get_close_matches(text, PARTS):
            return "width", (_number(name, text[1:], rule),)
        text = text.removeprefix("q")
        if not text.isdecimal():
            meant = get_close_matches(text, PARTS, n=1)
            said = f" (did you mean {meant[0]}?)" if meant else ""
            raise ProblemError(f"The bins '{rule}' of '{name}' are no rule{said}.", REMEDY)
        rule = int(text)
    if isinstance(rule, int) and not isinstance(rule, bool):
        if not 2 <= rule <= MOST_BINS:
            raise ProblemError(f"{rule} bins are asked for '{name}'.", f"Take 2 to {MOST_BINS}.")
        return "quantiles", (rule,)
    if isinstance(rule, Sequence):
        return "edges", _increasing(name, rule, rule)
    raise ProblemError(f"The bins of '{name}' are {rule!r}.", REMEDY)


def _increasing(name: str, parts: Sequence[Any], rule: Any) -> tuple[float, ...]:
    edges = tuple(_number(name, part, rule) for part in parts)
    if not edges or any(a >= b for a, b in pairwise(edges)) or len(edges) >= MOST_BINS:
        raise ProblemError(
            f"The edges {rule!r} of '{name}' do not increase.", f"Give 1 to {MOST_BINS - 1}, each larger than the last."
        )
    return edges


def _number(name: str, part: Any, rule: Any) -> float:
    try:
        number = float(part) + 0.0
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ProblemError(f"The bins {rule!r} of '{name}' hold {part!r}, which is no number.", REMEDY)
    return number


def _multiples(name: str, width: float, least: float, most: float) -> tuple[float, ...]:
    """The multiples of a width, as it is written in decimals, that lie in (least, most]."""
    if width <= 0:
        raise ProblemError(f"The width {width} of the bins of '{name}' is not positive.", REMEDY)
    if not (math.isfinite(least) and math.isfinite(most)):
        raise LawError(f"The column '{name}' holds infinite values.", "Declare the edges: age=40,55,70.")
    step = Fraction(repr(width))
    first, last = Fraction(least) // step + 1, Fraction(most) // step
    if last - first >= MOST_BINS:
        raise ProblemError(f"A width of {width:g} cuts '{name}' into {last - first + 2} bins.", "Take a larger one.")
    return tuple(float(k * step) for k in range(first, last + 1))
