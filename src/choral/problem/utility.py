"""What a code is good for: bits about the target, right decisions, or squared error (docs/mathematics.md).

A utility is a concave "remaining uncertainty" of the posterior. A loss is the least of its actions' lines; minus the square
of the mean lies above its chords. So both are linear programs over lines, and everything about them is rational.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from choral.describe.numbers import exact, over_common_denominator
from choral.errors import LawError, ProblemError, did_you_mean

Cells: TypeAlias = "Mapping[tuple[Any, Any], Any]"
"""A loss as people write it: {(action, value of the target): number}."""
NAMES = ("bits", "accuracy", "squares")
MOST_BITS = 400
"""Of a loss over the common denominator, and of a value that is squared: with weights it stays within a float."""


@dataclass(frozen=True)
class Lines:
    """Lines over the values of the target, in integers: line l is table[l][v] / scale at the value v."""

    table: tuple[tuple[int, ...], ...]
    scale: int

    @classmethod
    def of(cls, rows: Sequence[Sequence[Fraction]]) -> Lines:
        """These lines over their common denominator."""
        numbers, scale = over_common_denominator([x for row in rows for x in row])
        width = len(rows[0])
        return cls(tuple(tuple(numbers[i : i + width]) for i in range(0, len(numbers), width)), scale)


@dataclass(frozen=True)
class Decisions:
    """A loss: `loss[a][v]` is what action a costs where the target has its v-th value.

    `accuracy` says that the actions are the values of the target, and that a wrong one costs one: the value of a code is then
    the probability of a right decision, otherwise minus the expected loss.
    """

    actions: tuple[Any, ...]
    loss: tuple[tuple[Fraction, ...], ...]
    accuracy: bool = False

    def __post_init__(self) -> None:
        if max((abs(x).bit_length() for row in self.lines.table for x in row), default=0) > MOST_BITS:
            raise ProblemError(
                f"The losses are whole numbers of more than {MOST_BITS} bits once they have one denominator.",
                "Write rounder numbers, or give the loss in another unit.",
            )

    @property
    def name(self) -> str:
        """As `utility=` has it, for a loss in short."""
        return "accuracy" if self.accuracy else "loss"

    @property
    def offset(self) -> int:
        """What a code is worth that costs nothing."""
        return 1 if self.accuracy else 0

    @property
    def lines(self) -> Lines:
        """One line per action."""
        return Lines.of(self.loss)


@dataclass(frozen=True)
class Squares:
    """Squared error of a numeric target: `numbers[v]` is its v-th value. A code is worth the variance that it explains."""

    numbers: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if max(map(abs, self.numbers), default=0) > 2**MOST_BITS:
            raise ProblemError(
                f"Squares of a target whose values reach beyond 2^{MOST_BITS}.", "Give it in a larger unit."
            )

    @property
    def name(self) -> str:
        """As `utility=` has it."""
        return "squares"

    @property
    def whole(self) -> tuple[tuple[int, ...], Fraction]:
        """The numbers less the least of them, as integers that are multiples of a unit; and the unit.

        What is explained does not change with where zero lies.
        """
        least = min(self.numbers)
        above, denominator = over_common_denominator([x - least for x in self.numbers])
        common = math.gcd(*above) or 1
        return tuple(x // common for x in above), Fraction(common, denominator)


Utility: TypeAlias = "Decisions | Squares"


def utility_of(written: Any, name: str, columns: Sequence[str], values: Sequence[Any]) -> Utility | None:
    """The utility that `utility=` asks for, on a target of this name, columns and values; None is bits."""
    if isinstance(written, Decisions | Squares):
        return written
    if isinstance(written, Mapping):
        return _loss(written, name, values)
    if written in (None, "bits"):
        return None
    if written == "accuracy":
        loss = tuple(tuple(Fraction(int(a != v)) for v in range(len(values))) for a in range(len(values)))
        return Decisions(tuple(values), loss, accuracy=True)
    if written == "squares":
        return _squares(name, columns, values)
    hint = did_you_mean(written, NAMES) if isinstance(written, str) else ""
    raise ProblemError(
        f"utility={written!r} is unknown.",
        f'{hint} Say "bits", "accuracy", "squares", or a loss {{(action, value of {name}): number}}.'.strip(),
    )


def _squares(name: str, columns: Sequence[str], values: Sequence[Any]) -> Squares:
    if len(columns) > 1:
        raise ProblemError(
            f"Squares of several columns, {' and '.join(columns)}.", "Reveal one of them, or a weighted sum of them."
        )
    if None in values:
        raise ProblemError(
            f"Squares of '{name}', which has missing values.",
            'Leave such records out: missing="drop" (--missing drop).',
        )
    for value in values:
        if not is_number(value):
            raise ProblemError(
                f"Squares need a numeric target, and '{name}' has the value {value!r}.",
                'Say utility="accuracy" or a loss, or leave out what is no number.',
            )
    return Squares(tuple(exact(value, name) for value in values))


def is_number(value: Any) -> bool:
    """Whether a value of a column is a finite number; a text that looks like one is none."""
    if value is None or isinstance(value, str | tuple):
        return False
    try:
        exact(value, "a value")
    except LawError:
        return False
    return True


def _loss(cells: Cells, name: str, values: Sequence[Any]) -> Decisions:
    number = {value: v for v, value in enumerate(values)}
    texts = [str(value) for value in values]
    spelt = {text: value for text, value in zip(texts, values, strict=True) if texts.count(text) == 1}
    rows: dict[Any, dict[int, Fraction]] = {}
    for key, cost in cells.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise ProblemError(f"The loss has the entry {key!r}.", f"Write {{(action, value of {name}): number}}.")
        action, value = key
        if value not in number and isinstance(value, str) and value in spelt:
            value = spelt[value]
        if value not in number:
            listed = ", ".join(repr(v) for v in values[:8]) + (", …" if len(values) > 8 else "")
            raise ProblemError(f"The loss names {value!r}, which '{name}' never is.", f"Its values are {listed}.")
        rows.setdefault(action, {})[number[value]] = _cost(cost, action, value)
    if not rows:
        raise ProblemError("The loss is empty.", f"Write {{(action, value of {name}): number}}.")
    _check_complete(rows, values)
    zero = Fraction(0)
    return Decisions(tuple(rows), tuple(tuple(row.get(v, zero) for v in range(len(values))) for row in rows.values()))


def _cost(cost: Any, action: Any, value: Any) -> Fraction:
    where = f"({action!r}, {value!r})"
    if isinstance(cost, bool) or cost is None:
        raise ProblemError(f"The loss at {where} is {cost!r}, not a number.", "Write what the action costs there.")
    try:
        return exact(cost, where)
    except LawError:
        raise ProblemError(
            f"The loss at {where} is {cost!r}, not a finite number.",
            "Write what the action costs there, such as 5 or 1/3.",
        ) from None


def _check_complete(rows: Mapping[Any, Mapping[int, Fraction]], values: Sequence[Any]) -> None:
    """Raise unless every cell is there, or nothing but costs is: then what is left out costs nothing.

    A loss that writes a zero, or costs for every action at some value of the target, is taken for a whole table.
    """
    missing = [(action, values[v]) for action, row in rows.items() for v in range(len(values)) if v not in row]
    if not missing:
        return
    costs_alone = all(cost for row in rows.values() for cost in row.values())
    free = all(any(v not in row for row in rows.values()) for v in range(len(values)))
    if not (costs_alone and free):
        raise ProblemError(
            f"The loss does not say what {missing[0][0]!r} costs at {missing[0][1]!r}.",
            "Give a number for every action and value (0 for what costs nothing); or list only what costs something, so "
            "that at every value some action is free.",
        )
