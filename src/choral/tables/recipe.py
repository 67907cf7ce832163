"""How a raw record becomes a state of the channel: the part of a release that reads tables.

Every column that a release is about has an alphabet: its values, or the intervals between bin edges. A record is the
tuple of the positions of its used values in their alphabets, and the recipe lists which tuples are which state. The
same rule exists twice, as SQL for tables (`select`) and as Python for one record (`state_of`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from choral.describe.reading import missing_as_none
from choral.describe.records import by_name
from choral.errors import ProblemError, ReleaseFileError
from choral.problem.promises import read_promise
from choral.tables.columns import Column, canonical_sql, place_of, place_sql, within
from choral.tables.kinds import kind_of_type
from choral.tables.misfit import misfit
from choral.tables.origin import After, Reading, about_law, words
from choral.tables.points import Points
from choral.tables.source import EMPTY, AsRead, Source
from choral.tables.sql import identifier

Where: TypeAlias = Callable[[Source, str, str], str]
"""Which value of a column of a table is not of a type, in words."""
MISSING = ("value", "drop", "error")
UNSEEN = ("refuse", "code", "rare")
DENSE = 2048
"""Up to this many combinations states are looked up in a list, beyond in an enumeration (measured: faster)."""
FEW_MERGED = 8
"""Up to this many merged states they are told apart one by one, beyond in a list."""


@dataclass(frozen=True)
class Recipe:
    """From raw records to the states of a release.

    `combinations` are tuples of positions in the alphabets of the used columns. The first `kept` are states of their
    own, in the order of the channel; the others are merged, as many in a row as `merged` says into one more state each.
    Where anything is merged, the law has a column `state_column` that names the state.
    """

    columns: tuple[Column, ...]
    use: tuple[str, ...]
    protect: tuple[tuple[str, ...], ...]
    reveal: tuple[str, ...]
    combinations: tuple[tuple[int, ...], ...]
    kept: int
    merged: tuple[int, ...]
    state_column: str | None
    missing: str
    unseen: str
    min_count: int
    law: Mapping[str, Any]
    table_digest: str
    table_rows: int
    after: After | None = None
    empty: str | None = None
    id: str | None = None
    """The column that identifies the records that were fitted, by which the ledger knows who is behind the card."""
    given: tuple[str, ...] = ()
    """Promises under a condition, as they were written: `sex | marital`."""
    beside: tuple[str, ...] = ()
    """Used columns that the channel looks at beside the state where combinations are merged: they are functions of it.

    Where there is a score they are not listed, but found (`seen`)."""
    others: tuple[tuple[tuple[int, ...], int], ...] = ()
    """With `unseen="rare"`: for the positions of promised values, the state of what was not seen with them."""
    reading: Reading | None = None
    """How files are read; None in files of before, which are separated by what is commonest in their first line."""
    points: Points | None = None
    """Where one of the used columns is a score: how it is computed. A table need not have it, and if it has, it is not it."""

    @property
    def promises(self) -> list[tuple[str, ...] | str]:
        """All that is protected, as `protect` takes it."""
        return [*self.protect, *self.given]

    @cached_property
    def promised(self) -> frozenset[str]:
        """The columns that something is promised about."""
        named = {name for group in self.protect for name in group}
        for promise in map(read_promise, self.given):
            named.update((*promise.hidden, *promise.known))
        return frozenset(named)

    @property
    def shown(self) -> frozenset[str]:
        """The columns that are revealed, or that something is promised about: they stay apart in the law."""
        return self.promised.union(self.reveal)

    @cached_property
    def seen(self) -> tuple[str, ...]:
        """What the channel looks at in the law: the used columns, or the one that names the state.

        Of a score, rare bins are merged within the values of the columns that something is promised about. Then these are
        looked at beside the state, which has them: so it can be seen that they are functions of it.
        """
        if self.state_column is None:
            return self.use
        if self.points is None:
            return (self.state_column, *self.beside)
        apart = [i for i, name in enumerate(self.use) if name in self.shown]
        values = [{tuple(cell[i] for i in apart) for cell in cells} for cells in self._cells_of_states]
        if any(len(found) > 1 for found in values):
            return (self.state_column,)
        return (self.state_column, *(self.use[i] for i in apart))

    @cached_property
    def _cells_of_states(self) -> list[tuple[tuple[int, ...], ...]]:
        ends = list(accumulate(self.merged, initial=self.kept))
        own = [(cell,) for cell in self.combinations[: self.kept]]
        return [*own, *(self.combinations[a:b] for a, b in pairwise(ends))]

    def state_values(self, symbols: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The states as the law has them, where they are called by these symbols."""
        if self.state_column is None:
            return [tuple(symbol) for symbol in symbols]
        beside = [(self.column(name).values, self.use.index(name)) for name in self.seen[1:]]
        first = [cells[0] for cells in self._cells_of_states]
        return [
            (symbol, *(values[cell[i]] for values, i in beside)) for symbol, cell in zip(symbols, first, strict=True)
        ]

    @property
    def told(self) -> list[str]:
        """The columns of the target whose gaps are no value: records without it are not counted."""
        return [name for name in self.reveal if None not in self.column(name).values]

    @property
    def size(self) -> int:
        """How many states there are."""
        return self.kept + len(self.merged)

    @property
    def as_read(self) -> AsRead:
        """How a table is to be read: as the one that was fitted."""
        own = [column for column in self.columns if column.name != self._score]
        scored = () if self.points is None else self.points.columns
        types = {column.name: column.type_read for column in (*scored, *own)}
        if self.reading is None:
            return AsRead(types, self.empty, find=False, plain=True)
        return AsRead(types, self.empty, find=False, header=self.reading.header, marks=self.reading.marks)

    @property
    def _score(self) -> str | None:
        return None if self.points is None else self.points.name

    @cached_property
    def looks_at(self) -> tuple[str, ...]:
        """The columns of a table that a state depends on."""
        scored = () if self.points is None else self.points.columns
        names = [name for name in self.use if name != self._score] + [column.name for column in scored]
        return tuple(dict.fromkeys(names))

    @cached_property
    def own(self) -> tuple[str, ...]:
        """The columns of the law that a table has, in order: all but the score."""
        return tuple(column.name for column in self.columns if column.name != self._score)

    @cached_property
    def read(self) -> tuple[str, ...]:
        """The columns of a table that are looked at, or counted when a release is fitted."""
        return tuple(dict.fromkeys([*self.own, *self.looks_at]))

    def types(self, columns: Mapping[str, str]) -> dict[str, str]:
        """The types of the columns of a table, with the score among them."""
        return dict(columns) if self.points is None else self.points.types(columns)

    def scored(self, table: Source) -> Source:
        """A table with its score as one more column, where the release has one."""
        return table if self.points is None else self.points.scored(table)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return next(column for column in self.columns if column.name == name)

    @cached_property
    def _used(self) -> list[Column]:
        return [self.column(name) for name in self.use]

    @cached_property
    def _promised(self) -> list[Column]:
        """The used columns that something is promised about."""
        return [column for column in self._used if column.name in self.promised]

    @cached_property
    def state_of_combination(self) -> dict[tuple[int, ...], int]:
        """The state that each combination of positions is."""
        return {cell: state for state, cells in enumerate(self._cells_of_states) for cell in cells}

    def state_of(self, record: Mapping[str, Any] | Sequence[Any]) -> int | None:
        """The position of one record among the states; -1 for what was not seen, None for what `missing drop` leaves out."""
        given = by_name(record, self.looks_at)
        found = {name: self._present(value) for name, value in zip(self.looks_at, given, strict=True)}
        if self.missing == "drop":
            others = [record[name] for name in self.own if name in record] if isinstance(record, Mapping) else []
            own = [found[name] for name in self.use if name != self._score]
            if any(missing_as_none(self._present(value)) is None for value in (*own, *others)):
                return None
        if self.points is not None:
            found[self.points.name] = self.points.bin_of(found)
        codes = tuple(c.code_of(found[c.name]) for c in self._used)
        part = tuple(codes[self.use.index(c.name)] for c in self._promised)
        return self.state_of_combination.get(codes, dict(self.others).get(part, -1))

    def _present(self, value: Any) -> Any:
        """A raw value, None for a text that is missing: empty, or a mark of missing values."""
        if not isinstance(value, str):
            return value
        marked = self.reading is not None and value in self.reading.marks
        return None if marked or (self.empty == "missing" and not value) else value

    def check(self, table: Source, name: str | None = None, where: Where = misfit, others: bool = False) -> None:
        """Raise unless a table has the columns looked at, and of the kind they had at fit time, with a value that is not.

        `where` says which value, in words; with `others` columns that are not used have to be of their kind too.
        """
        counts = self.law["parameters"].get("counts")
        if counts is not None and counts in table.columns:
            raise ProblemError(
                f"A row of {name or table.name} stands for as many records as '{counts}' says, and a code is for one record.",
                f"Give the records themselves, a row each, without a column '{counts}'.",
            )
        scored = () if self.points is None else self.points.columns
        own = [c for c in self.columns if c.name in self.looks_at or (others and c.name in table.columns)]
        for column in (*(c for c in own if c.name != self._score), *scored):
            column.check(table.columns, name or table.name, lambda c: where(table, c.name, c.type_read))

    def select(
        self, source_sql: str, columns: Mapping[str, str], carry: Sequence[str] = (), state: str = "state"
    ) -> str:
        """SQL that gives, row by row in order, the carried columns and the position of the state.

        `columns` are those of the source, with their types. -1 stands for a value or combination that was not seen; NULL
        for a row that `missing drop` leaves out, as at fit time: if any column that the release is about has a gap.
        """
        types = self.types(columns)
        other = f"{self._other_sql(types)}, " if self.others else ""
        found = f"coalesce({self._state_sql(types)}, {other}-1)"
        if self.missing == "drop":
            listed = [name for name in self.own if name in columns]
            gap = " OR ".join(f"{canonical_sql(n, kind_of_type(columns[n]) or '')} IS NULL" for n in listed)
            found = f"CASE WHEN {gap} THEN NULL ELSE {found} END"
        items = [*map(identifier, carry), f"CAST({found} AS INTEGER) AS {identifier(state)}"]
        return f"SELECT {', '.join(items)} FROM {self._scored(source_sql, columns)}"

    def _scored(self, source_sql: str, columns: Mapping[str, str]) -> str:
        return source_sql if self.points is None else self.points.on(source_sql, columns)

    def values_select(self, source_sql: str, columns: Mapping[str, str], names: Sequence[str]) -> str:
        """SQL that gives, row by row, the positions of the values of these columns in their alphabets; NULL if unseen."""
        types = self.types(columns)
        items = [f"CAST({self.column(n).code_sql(types[n])} AS INTEGER) AS {identifier(n)}" for n in names]
        return f"SELECT {', '.join(items)} FROM {self._scored(source_sql, columns)}"

    def _state_sql(self, columns: Mapping[str, str]) -> str:
        """SQL of the state of a row, NULL if unseen, without a join: joins do not promise to keep the order of rows."""
        combinations, number = math.prod(len(column.values) for column in self._used), place_sql(self._used, columns)
        places = {place_of(codes, self._used): s for codes, s in self.state_of_combination.items()}
        if combinations <= DENSE:
            listed = ", ".join(str(places.get(i, "NULL")) for i in range(combinations))
            return f"list_extract(CAST('[{listed}]' AS INTEGER[]), {number} + 1)"
        members = ", ".join(f"'{place}'" for place in places)
        found = f"CAST(enum_code(TRY_CAST(CAST({number} AS VARCHAR) AS ENUM({members}))) AS INTEGER)"
        if len(self.merged) > FEW_MERGED:
            listed = ", ".join(map(str, self.state_of_combination.values()))
            return f"list_extract(CAST('[{listed}]' AS INTEGER[]), {found} + 1)"
        ends = accumulate(self.merged, initial=self.kept)
        steps = "".join(f"WHEN {found} < {end} THEN {self.kept + i - 1} " for i, end in enumerate(ends) if i)
        return f"CASE WHEN {found} < {self.kept} THEN {found} {steps}END"

    def _other_sql(self, columns: Mapping[str, str]) -> str:
        """SQL of the state of a row by its promised values alone, NULL if these were not seen."""
        if not self._promised:
            return str(self.others[0][1])
        places = {place_of(codes, self._promised): state for codes, state in self.others}
        number = place_sql(self._promised, columns)
        listed, states = ", ".join(map(str, places)), ", ".join(map(str, places.values()))
        return f"list_extract(CAST('[{states}]' AS INTEGER[]), list_position([{listed}], {number}))"

    def to_document(self) -> dict[str, Any]:
        """The recipe as JSON."""
        return {
            "columns": [column.to_document() for column in self.columns],
            "use": list(self.use),
            "protect": [list(group) for group in self.protect],
            **({"given": list(self.given)} if self.given else {}),
            "reveal": list(self.reveal),
            "combinations": [list(codes) for codes in self.combinations],
            "kept": self.kept,
            "merged": list(self.merged),
            "state column": self.state_column,
            "missing": self.missing,
            "unseen": self.unseen,
            "min_count": self.min_count,
            "law": dict(self.law),
            "table": {"digest": self.table_digest, "rows": self.table_rows},
            "after": None if self.after is None else {"digest": self.after.digest, "first": list(self.after.first)},
            **({} if self.empty is None else {"empty text": self.empty}),
            **({} if self.id is None else {"id": self.id}),
            **({"beside": list(self.beside)} if self.beside else {}),
            **({"others": [[list(part), state] for part, state in self.others]} if self.others else {}),
            **({} if self.reading is None else {"reading": self.reading.to_document()}),
            **({} if self.points is None else {"points": self.points.to_document()}),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Recipe:
        """The recipe that `to_document` wrote; raises `ReleaseFileError` for what is none."""
        try:
            after = document["after"]
            recipe = cls(
                columns=tuple(Column.from_document(column) for column in document["columns"]),
                use=words(document["use"]),
                protect=tuple(map(words, document["protect"])),
                given=words(document.get("given", [])),
                reveal=words(document["reveal"]),
                combinations=tuple(tuple(map(int, codes)) for codes in document["combinations"]),
                kept=int(document["kept"]),
                merged=tuple(map(int, document["merged"])),
                state_column=document["state column"],
                missing=str(document["missing"]),
                unseen=str(document["unseen"]),
                min_count=int(document["min_count"]),
                law=about_law(document["law"]),
                table_digest=str(document["table"]["digest"]),
                table_rows=int(document["table"]["rows"]),
                after=None if after is None else After(str(after["digest"]), tuple(map(int, after["first"]))),
                empty=document.get("empty text"),
                id=None if document.get("id") is None else str(document["id"]),
                reading=Reading.from_document(document.get("reading")),
                beside=words(document.get("beside", [])),
                others=tuple((tuple(map(int, part)), int(state)) for part, state in document.get("others", [])),
                points=None if document.get("points") is None else Points.from_document(document["points"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ReleaseFileError(
                f"The recipe of the release cannot be read: {error!r}.", "Get the file again from whoever made it."
            ) from None
        known = {column.name for column in recipe.columns}
        named = {*recipe.use, *recipe.shown}
        fits = named == known and recipe.missing in MISSING and recipe.unseen in UNSEEN
        fits = fits and recipe.empty in (*EMPTY, None) and recipe._score_fits()
        if not fits or not recipe._counts_fit() or not (recipe.after is None or recipe.after.is_whole()):
            raise ReleaseFileError("The recipe of the release does not fit together.", "Get the file again.")
        if json.dumps(recipe.to_document(), sort_keys=True) != json.dumps(document, sort_keys=True):
            raise ReleaseFileError(
                "The recipe of the release is not written as choral writes it: it could be read as another one.",
                "Get the file again, or read it with the version of choral that wrote it.",
            )
        return recipe

    def _score_fits(self) -> bool:
        """Whether the score is a used column that the table need not have, neither revealed nor protected."""
        if self.points is None:
            return True
        return (
            self.points.name in self.use
            and self.points.name not in self.shown
            and (self.column(self.points.name) == self.points.column)
        )

    def _counts_fit(self) -> bool:
        """Whether columns and combinations are listed once each, within the alphabets, and add up to the states."""
        names = [column.name.casefold() for column in self.columns]
        listed = len(set(names)) == len(names) and len(set(self.use)) == len(self.use) > 0
        inside = all(within(codes, self._used) for codes in self.combinations)
        several = self.kept >= 0 and all(many > 0 for many in self.merged)
        adds_up = self.kept + sum(self.merged) == len(self.combinations) == len(set(self.combinations))
        parts = [part for part, _ in self.others]
        fallen = bool(self.others) == (self.unseen == "rare") and len(set(parts)) == len(parts)
        fallen = fallen and all(0 <= state < self.size for _, state in self.others)
        fallen = fallen and all(within(part, self._promised) for part in parts)
        return listed and inside and several and adds_up and fallen
