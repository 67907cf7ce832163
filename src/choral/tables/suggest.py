"""Which columns of a table a curator may want to protect, what each says about the target, and by what others know it.

A column is proposed if its name is usual for what is sensitive; where none is, those that say most about the target are
shown. What a column alone says about the target, I(W; Z), is the least that protecting it costs: a code independent of it
tells at most I(W; all) - I(W; Z) if it looks at it (`choral.problem.bounds`). Numbers with many values are taken in eighths.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.errors import ProblemError
from choral.phases import phase
from choral.tables.kinds import NUMERIC, kind_of_type
from choral.tables.look import FEW, Look, look
from choral.tables.source import Source, reading
from choral.tables.sql import identifier

USUAL = (
    "sex|gender|race|ethnic|nationality|native|citizen|migra|birth|age|religio|faith|church|disab|handicap|pregnan|health|"
    "diagnos|disease|smok|hiv|orient|politic|party|union|marital|married|colou?r|caste|veteran|language|convict|crim"
)
"""Parts of words that are usual in the names of what people do not want to be judged by, or what laws protect."""
WHOLE = ("age", "race", "sex", "union", "party", "hiv", "crim", "native", "faith", "birth", "colour", "color")
"""Of these, those that must be a word of their own: wages and traces are not meant."""
MOST_SHOWN = 8
"""More than that is not read."""
MOST_RECORDS = 100_000
"""Records from which is estimated; a hundredth of a bit is seen in as many."""
MOST_VALUES = 200
"""Columns with more values are not proposed: of few records per value too little would be known."""
BINS = 8
"""Of numbers with many values: enough to see a dependence, few enough for small tables."""
FEARED = 0.1
"""Share of the uncertainty about a column that another takes away from which it is named as knowledge to fear."""

CLOSE = 0.1
"""Share of the wrong guesses of the target that remain to who knows a column, below which it is asked about."""

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Suggestion:
    """A column that may be protected.

    usual       whether its name is usual for what is sensitive
    tells       I(W; Z) in bits, what is lost at least when it is protected
    guessed     how often the target is guessed right by who knows this column alone
    known_by    the column that says most about it, if that is much, and which share of the uncertainty it takes away
    """

    name: str
    values: int
    usual: bool
    tells: float
    guessed: float
    known_by: str | None = None
    known_share: float = 0.0


@dataclass(frozen=True)
class Suggestions:
    """The columns in the order in which a curator should think about them; `guessed` is the target's own best guess."""

    target: str
    columns: tuple[Suggestion, ...]
    guessed: float
    records: int
    look: Look
    intervals: int = 0
    """Into so many intervals a target that is a number of many values was cut."""

    @property
    def protect(self) -> list[str]:
        """What to protect: the columns with usual names, or else the one that says most."""
        usual = [column.name for column in self.columns if column.usual]
        return usual or [column.name for column in self.columns[:1]]

    @property
    def close(self) -> list[str]:
        """Columns that alone leave little to guess of the target: they may be known only after it."""
        return [c.name for c in self.columns if 1 - c.guessed < CLOSE * (1 - self.guessed)]

    def to_document(self) -> dict[str, Any]:
        """The suggestions for programs."""
        columns = [asdict(column) for column in self.columns]
        return {
            "reveal": self.target,
            "guess": self.guessed,
            "records": self.records,
            "intervals": self.intervals,
            "protect": self.protect,
            "columns": columns,
        }


@phase("looking at the columns")
def suggest(table: Source, reveal: str, *, drop: Sequence[str] = (), id: str | None = None) -> Suggestions:
    """What may be protected in a table whose column `reveal` is to be told.

    >>> from choral.tables.opening import open_table
    >>> rows = [{"W": i % 2, "sex": "fm"[i % 8 // 2 % 2 ^ (i % 16 == 0)], "town": "abc"[i % 3]} for i in range(96)]
    >>> found = suggest(open_table(rows), "W")
    >>> found.protect, [column.name for column in found.columns]
    (['sex'], ['sex', 'town'])
    """
    seen = look(table, reveal, drop=drop, id=id)
    values = {column.name: column.values for column in seen.columns}
    names = [n for n in seen.usable if values[n] <= MOST_VALUES or (values[n] > FEW and _is_number(seen, n))]
    if not names:
        raise ProblemError(f"No column of {table.name} beside '{reveal}' can be used.", "choral fit says why.")
    cut = kind_of_type(table.columns[reveal]) in NUMERIC and values[reveal] > FEW
    binned = {name for name in names if _is_number(seen, name) and values[name] > FEW} | ({reveal} if cut else set())
    codes = _codes(table, [reveal, *names], binned)
    target = codes.pop(reveal)
    found = [_suggestion(name, values[name], codes, target) for name in names]
    found.sort(key=lambda column: (not column.usual, -round(column.tells, 6), column.name))
    kept = [column for column in found if column.usual] or found
    others = [column for column in found if column not in kept]
    shown = tuple([*kept, *others][:MOST_SHOWN])
    return Suggestions(reveal, shown, _guess(target), len(target), seen, BINS if cut else 0)


def is_usual(name: str) -> bool:
    """Whether a name is usual for what is sensitive.

    >>> [is_usual(name) for name in ("Sex", "age_at_visit", "wage", "marital-status", "trace")]
    [True, True, False, True, False]
    """
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())
    return any(
        found.group() not in WHOLE or found.group() == word for word in words for found in re.finditer(USUAL, word)
    )


def _is_number(seen: Look, name: str) -> bool:
    return any(column.name == name and column.kind == "number" for column in seen.columns)


def _suggestion(name: str, values: int, codes: Mapping[str, Codes], target: Codes) -> Suggestion:
    own = codes[name]
    entropy = information(own, own)
    shares = {other: information(own, codes[other]) / entropy for other in codes if other != name} if entropy else {}
    best = max(shares, key=lambda other: shares[other], default=None)
    known = best if best is not None and shares[best] >= FEARED else None
    return Suggestion(
        name,
        values,
        is_usual(name),
        max(0.0, information(own, target)),
        _guess(target, own),
        known,
        shares[known] if known is not None else 0.0,
    )


def _codes(table: Source, names: Sequence[str], binned: set[str]) -> dict[str, Codes]:
    """Columns of records as numbers from 0, of the whole table or of a sample; those without the target are left out."""
    items = ", ".join(map(identifier, names))
    known = f"{identifier(names[0])} IS NOT NULL"
    sample = f"USING SAMPLE reservoir({MOST_RECORDS} ROWS) REPEATABLE (1)"
    with reading(table):
        found = table.connection.sql(f"SELECT * FROM (SELECT {items} FROM {table.sql} WHERE {known}) {sample}")
        frame = found.to_arrow_table()
    return {name: _numbered(frame.column(i), name in binned) for i, name in enumerate(names)}


def _numbered(column: Any, binned: bool) -> Codes:
    if binned:
        numbers = np.array([np.nan if value is None else float(value) for value in column.to_pylist()])
        there = numbers[np.isfinite(numbers)]
        edges = np.unique(np.quantile(there, np.arange(1, BINS) / BINS)) if len(there) else there
        return np.where(np.isnan(numbers), BINS, np.searchsorted(edges, numbers, side="right")).astype(np.int64)
    place: dict[Any, int] = {}
    return np.array([place.setdefault(value, len(place)) for value in column.to_pylist()], dtype=np.int64)


def information(one: Codes, other: Codes) -> float:
    """I(X; Y) in bits of two columns of records, less what independent columns of these sizes show by chance."""
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1.0)
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), float(len(one))
    there = table > 0
    chance = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1) / (2 * total * np.log(2))
    expected = np.outer(rows, columns)[there] / total
    told = float((table[there] / total * np.log2(table[there] / expected)).sum())
    return told if one is other else told - float(chance)


def _guess(target: Codes, known: Codes | None = None) -> float:
    """How often the target is guessed right by who knows another column, or nothing."""
    table = np.zeros((1 if known is None else known.max() + 1, target.max() + 1))
    np.add.at(table, (np.zeros_like(target) if known is None else known, target), 1.0)
    return float(table.max(axis=1).sum() / len(target))
