"""The rules for a table: what a curator says about its values, before it is counted."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from choral.describe.reading import readable_names
from choral.errors import ChoralError, ColumnError, LawError, ProblemError, UnknownColumnError, did_you_mean
from choral.problem.promises import Promise
from choral.problem.question import Question, Roles
from choral.tables.bins import Bins
from choral.tables.points import Points
from choral.tables.rare import RULES
from choral.tables.recipe import MISSING, UNSEEN
from choral.tables.source import AsRead, Source
from choral.verifier.names import why_unreadable

MIN_COUNT = 5
"""Combinations of used values that occur less often are merged, unless told: of fewer records a frequency says little."""
MOST_WRONG = 20
"""Wrong names that are listed."""


@dataclass(frozen=True)
class TableRules:
    """How the values of a table become symbols, and what a record gets that has none; arguments of `choral.fit`.

    bins       for numeric columns, by name: a rule of `choral.tables.bins`
    missing    "value": a missing value is a value of its own; "drop": such rows are left out; "error"
    empty      what an empty text is: "missing", or a "value" (an opened `Source` has its rule)
    min_count  combinations of used values that occur less often are merged with the most alike, within one value of all
               that is protected (`choral.tables.rare`)
    law        "frequencies" of the table, or an estimate or declared law (`choral.laws.choice`)
    unseen     what a record gets that has no state: "refuse"; "code", one more code; or "rare", the state for what is left of
               its protected values, and a refusal where these were not seen
    id         the column that identifies records, which plays no part in any question
    points     a score of the curator's own, in place of a learned one
    score      … or a column of numbers that is one, to be cut into bins
    drop       columns that no code looks at; a protected one among them stays protected
    header     whether the first line of a CSV file has the names of the columns; else they are column1, column2, …
    rare       what becomes of protected values, or combinations of them, with fewer than `min_count` records: "keep", a state
               of their own; "merge", one state for all; None: kept, unless they are most of what there is
    marks      texts that are missing values, such as "?"; None: recognised in CSV files, and remarked on
    weight     the column that says how many people a record stands for: the law is theirs (`choral.tables.weights`)
    counts     the column that says how many records a row stands for
    lesson     how many records, at most, a score is learned from; None: as many as `choral.scores.learn` takes. An estimate
               needs few, and is then quick; what is counted is counted on all
    """

    bins: Mapping[str, Bins] = field(default_factory=dict)
    missing: str = "value"
    empty: str | None = "missing"
    min_count: int = MIN_COUNT
    law: str = "frequencies"
    unseen: str = "refuse"
    id: str | None = None
    points: Points | None = None
    score: str | None = None
    drop: tuple[str, ...] = ()
    header: bool = True
    marks: tuple[str, ...] | None = None
    rare: str | None = None
    weight: str | None = None
    counts: str | None = None
    lesson: int | None = None

    def __post_init__(self) -> None:
        """Raise unless each rule is one that there is."""
        for name, known in (("missing", MISSING), ("unseen", UNSEEN)):
            if getattr(self, name) not in known:
                raise ProblemError(f"{name}={getattr(self, name)!r}.", f"Say one of {', '.join(known)}.")
        if self.rare not in (*RULES, None):
            raise ProblemError(f"rare={self.rare!r}.", f"Say one of {', '.join(RULES)}, or nothing.")
        if isinstance(self.min_count, bool) or not isinstance(self.min_count, int) or self.min_count < 0:
            raise ProblemError(
                f"min_count={self.min_count!r} is not a count.", "Give a whole number, 1 to merge nothing."
            )
        if (self.weight or self.counts) and (self.law != "frequencies" or (self.weight and self.counts)):
            said = f"the law '{self.law}'" if self.law != "frequencies" else "a column of counts"
            raise ProblemError(f"A column of {'weights' if self.weight else 'counts'} and {said}.", "Give one of them.")
        if self.counts and (self.points is not None or self.score is not None):
            raise ProblemError("A score for rows that are counts.", "Give a table of records, one row each.")
        if self.points is not None and self.score is not None:
            raise ProblemError("Points and a score of one's own.", "Give one of them.")
        self.as_read  # noqa: B018 (it refuses a rule for empty texts that there is none of)

    @property
    def as_read(self) -> AsRead:
        """How the fields of the table become values."""
        return AsRead(empty=self.empty, header=self.header, marks=self.marks)

    @property
    def apart(self) -> tuple[str, ...]:
        """Columns that no question is about: those that are left out, weights and counts."""
        return (*self.drop, *(name for name in (self.weight, self.counts) if name is not None))

    def roles(self, table: Source, question: Question) -> Roles:
        """The parts that the columns of a table play in a question."""
        try:
            return self._roles(table, question)
        except ColumnError as error:
            wrong = self._wrong(table, question, error)
            if len(wrong) > 1:
                raise _all_wrong(wrong, table) from None
            if error.what.endswith(table.headerless):
                raise
            raise ColumnError(f"{error.what}{table.headerless}", error.remedy) from None

    def _wrong(self, table: Source, question: Question, first: ColumnError) -> list[UnknownColumnError]:
        """All names that are no columns: each in turn is taken for one, and it is asked again."""
        wrong: list[UnknownColumnError] = []
        error: ChoralError = first
        while isinstance(error, UnknownColumnError) and len(wrong) < MOST_WRONG:
            wrong.append(error)
            known = {**table.columns, **{one.named: "VARCHAR" for one in wrong}}
            try:
                self._roles(replace(table, columns=known), question)
            except ChoralError as another:
                error = another
            else:
                break
        return wrong

    def _roles(self, table: Source, question: Question) -> Roles:
        if self.id is not None:
            table.require([self.id], "id")
        table.require([*self.drop], "drop")
        for option, name in (("weight", self.weight), ("counts", self.counts)):
            table.require([] if name is None else [name], option)
        names = [name for name in table.columns if name != self.id and not self._passed_over(name, question)]
        left = [name for name in names if name not in self.apart]
        try:
            readable_names(left)
        except LawError as error:
            odd = [name for name in left if why_unreadable(name) and "," not in name]
            line = f" Or leave it out: --drop {shlex.quote(','.join([*self.drop, *odd]))}." if odd else ""
            raise LawError(error.what, f"{error.remedy}{line if question.protect is None else ''}") from None
        if not self.apart:
            return question.about(names)
        roles = question.about(names)
        groups = roles.protect if question.protect is not None else ()
        promised = [(*promise.hidden, *promise.known) for promise in roles.given]
        private = {name for group in (*groups, *promised) for name in group}
        used = roles.use if question.use is not None else ()
        for name in self.apart:
            if name in {*roles.reveal, *used} or (name in private and name not in self.drop):
                what = "drop" if name in self.drop else "weight" if name == self.weight else "counts"
                raise ProblemError(f"`{what}` leaves out '{name}', which is asked for.", "Name it in one place.")
        readable_names([name for name in self.apart if name in private])
        left = [name for name in names if name not in self.apart or name in private]
        if private.intersection(self.drop) and question.use is None:
            seen = [name for name in left if name not in self.apart and (name not in roles.reveal or name in private)]
            question = replace(question, use=seen)
        return question.about(left)

    def _passed_over(self, name: str, question: Question) -> bool:
        """Whether a name that could be misread keeps its column out, and nothing else.

        So it is where somebody said what is private, or what is looked at, and did not say this name. Where neither was said
        every column is private: one less would be a promise less.
        """
        if name in self.apart or not why_unreadable(name):
            return False
        said = (question.reveal, question.protect, question.use, question.against, self.bins, self.score)
        named = any(text == name or (name.strip() and name in text) for text in _texts(said))
        return not named and not (question.protect is None and question.use is None)

    def unseen_in(self, roles: Roles) -> tuple[str, ...]:
        """The protected columns, and those of conditions, that no code looks at since `drop` names them."""
        return tuple(name for name in self.drop if name in roles.promised)


def _texts(said: Any) -> Iterator[str]:
    """The texts in what somebody said, however they are listed."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, Promise):
        yield said.written
    elif isinstance(said, Iterable):
        for part in said:
            yield from _texts(part)


def _all_wrong(wrong: Sequence[UnknownColumnError], table: Source) -> ColumnError:
    """All wrong names in one message, each with the name that it is nearest to."""
    listed = []
    for one in wrong:
        hint = did_you_mean(one.named, table.columns)
        near = f" ({hint[0].lower()}{hint[1:]})" if hint.endswith("?") else ""
        listed.append(f"`{one.where}` names '{one.named}'{near}")
    what = f"{len(wrong)} names are no columns of {table.name}: {'; '.join(listed)}.{table.headerless}"
    return ColumnError(what, did_you_mean("", table.columns))
