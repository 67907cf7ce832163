"""Joint laws of named variables over finite alphabets, held as integers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter, lt
from typing import Any, ClassVar

from choral.describe import numbers
from choral.describe.channels import Channel
from choral.describe.display import LawTable
from choral.describe.entropy import entropy_of
from choral.describe.reading import (
    Cell,
    cells_of_array,
    cells_of_counts,
    columns_of,
    missing_as_none,
    plain,
    readable_names,
    sorted_values,
    split_names,
)
from choral.describe.records import by_name, named_values
from choral.describe.written import decode, encode, listed
from choral.errors import ColumnError, LawError, did_you_mean


class Joint:
    """The joint law of named variables: integer weights over the product of their alphabets.

    The probability of a cell is its weight divided by `total`, exactly. Cells of weight zero are not stored;
    a mass too small for a float is still a cell. Instances do not change.

    >>> J = Joint.from_counts({("no", 0): 3, ("yes", 0): 1, ("yes", 1): 4}, names=["W", "X"])
    >>> J.probability(W="yes")
    Fraction(5, 8)
    >>> round(J.mutual_information("W", "X"), 4)
    0.5488
    """

    kind: ClassVar[str] = "table"
    counted: ClassVar[bool] = False

    def __init__(self, names: Sequence[str], alphabets: Sequence[Sequence[Hashable]], cells: Mapping[Cell, int]):
        """Build from index cells; prefer the `from_…` constructors."""
        self.names = readable_names(names)
        self.alphabets = tuple(tuple(plain(value) for value in alphabet) for alphabet in alphabets)
        if len(self.alphabets) != len(self.names):
            raise LawError(
                f"{len(self.names)} names but {len(self.alphabets)} alphabets.", "Give one alphabet per name."
            )
        for name, alphabet in zip(self.names, self.alphabets, strict=True):
            twice = [value for value, count in Counter(alphabet).items() if count > 1]
            if twice:
                raise LawError(
                    f"The alphabet of '{name}' lists {twice[0]!r} twice.",
                    "List each value once; 1 and True are the same value.",
                )
        sizes = [len(alphabet) for alphabet in self.alphabets]
        for cell, weight in cells.items():
            if type(weight) is not int or weight < 0:
                raise LawError(f"The weight {weight!r} of cell {cell} is not a count.", "Use the from_… constructors.")
            if not (
                len(cell) == len(sizes)
                and set(map(type, cell)) <= {int}
                and min(cell, default=0) >= 0
                and all(map(lt, cell, sizes))
            ):
                raise LawError(f"The cell {cell} is outside the alphabets.", "Cells are tuples of positions.")
        kept = {cell: weight for cell, weight in cells.items() if weight}
        if not kept:
            raise LawError("All weights are zero.", "A law needs at least one state of positive weight.")
        divisor = math.gcd(*kept.values())
        self.cells: Mapping[Cell, int] = {cell: kept[cell] // divisor for cell in sorted(kept)}
        self.total = sum(self.cells.values())
        self._positions = [{value: i for i, value in enumerate(alphabet)} for alphabet in self.alphabets]

    # ---- constructors -------------------------------------------------------------------------------------

    @classmethod
    def from_array(cls, p: Any, names: Sequence[str], alphabets: Sequence[Sequence[Hashable]] | None = None) -> Joint:
        """A law from an n-dimensional array (axis i is variable i), or from a flat one with `alphabets`.

        Integer arrays are counts. Floats are taken as the binary rationals they are, must sum to one within
        1e-9, and are normalised exactly; Fractions (object arrays) must sum to one exactly.

        >>> Joint.from_array([[0.25, 0.25], [0.0, 0.5]], names=["W", "X"]).total
        4
        """
        names = readable_names(names)
        return cls(names, *cells_of_array(p, names, alphabets))

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[Any, Any],
        names: Sequence[str],
        alphabets: Sequence[Sequence[Hashable]] | None = None,
    ) -> Joint:
        """A law from a mapping of value tuples to counts (or to any exact non-negative weights).

        Values may be of any hashable kind; alphabets are the values that occur, sorted, unless given.

        >>> Joint.from_counts({(0, "a"): 12, (1, "b"): 4}, names=["W", "X"]).alphabets
        ((0, 1), ('a', 'b'))
        """
        names = readable_names(names)
        return cls(names, *cells_of_counts(counts, names, alphabets))

    @classmethod
    def from_table(cls, frame: Any, columns: Sequence[str] | None = None) -> Joint:
        """The frequencies of a table: a pandas, polars or arrow frame, or a mapping of columns to lists.

        Missing values (None, NaN) are a value of their own, None.

        >>> Joint.from_table({"W": [0, 1, 1], "X": ["a", "a", "b"]}).total
        3
        """
        table = columns_of(frame)
        if isinstance(columns, str):
            columns = [columns] if columns in table else split_names(columns)
        names = list(columns) if columns is not None else list(table)
        for name in names:
            if name not in table:
                raise ColumnError(f"There is no column '{name}'.", did_you_mean(name, table))
        lengths = {len(table[name]) for name in names}
        if len(lengths) > 1:
            raise LawError(f"The columns have different lengths: {sorted(lengths)}.", "Make the table rectangular.")
        if not names or lengths == {0}:
            raise LawError("The table is empty.", "A law needs at least one row and one column.")
        cleaned = [[plain(missing_as_none(v)) for v in table[name]] for name in names]
        return cls.from_counts(Counter(zip(*cleaned, strict=True)), names)

    @classmethod
    def observed(
        cls,
        prior: Sequence[Any],
        channels: Sequence[Sequence[Sequence[Any]]],
        names: Sequence[str] | None = None,
    ) -> Joint:
        """W with this prior, seen through channels that are independent given W; names W, X1, X2, ….

        >>> from choral.describe.channels import bsc
        >>> Joint.observed([Fraction(2, 3), Fraction(1, 3)], [bsc(Fraction(1, 10))] * 2).names
        ('W', 'X1', 'X2')
        """
        law = numbers.distribution(prior, "the prior")
        if hasattr(channels, "outputs"):
            raise LawError("One channel is given where a list of channels is needed.", "Write [channel].")
        exact_channels, alphabets = [], [tuple(range(len(law)))]
        for i, rows in enumerate(channels, start=1):
            table = numbers.channel(rows, f"channel {i}")
            if len(table) != len(law):
                raise LawError(
                    f"Channel {i} has {len(table)} rows but the prior has {len(law)} values.",
                    "A channel has one row per value of W.",
                )
            exact_channels.append(table)
            alphabets.append(rows.outputs if isinstance(rows, Channel) else tuple(range(len(table[0]))))
        if not exact_channels:
            raise LawError("There are no channels.", "Give at least one observation of W.")
        weights, _ = numbers.over_common_denominator(law)
        cells: dict[Cell, int] = {(w,): weight for w, weight in enumerate(weights) if weight}
        for table in exact_channels:
            flat, _ = numbers.over_common_denominator([p for row in table for p in row])
            width = len(table[0])
            cells = {
                (*cell, x): weight * flat[cell[0] * width + x]
                for cell, weight in cells.items()
                for x in range(width)
                if flat[cell[0] * width + x]
            }
        return cls(names or ["W", *(f"X{i}" for i in range(1, len(alphabets)))], alphabets, cells)

    # ---- what a channel sees, and how it is written (`choral.describe.law`) ---------------------------------

    @property
    def table(self) -> Joint:
        """The law itself."""
        return self

    def looked_at(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The columns."""
        return tuple(columns)

    def state_of(self, record: Any, columns: Sequence[str]) -> tuple[Any, ...]:
        """The values of these columns in a record, in their order or by name."""
        return tuple(map(missing_as_none, by_name(record, columns)))

    def state_name(self, state: Sequence[Any], columns: Sequence[str] = ()) -> str:
        """The values."""
        return named_values(state, columns)

    def places(self, columns: Sequence[str]) -> Callable[[Sequence[Any]], list[int]]:
        """A state is written as positions in alphabets."""
        positions = [self._positions[self.position(name)] for name in columns]
        return lambda state: [where[v] for where, v in zip(positions, state, strict=True)]

    def to_document(self, columns: Sequence[str]) -> dict[str, Any]:
        """These columns, as the certificate has them."""
        part = self.marginal([name for name in self.names if name in columns])
        return {
            "kind": self.kind,
            "columns": list(part.names),
            "alphabets": [[encode(value) for value in alphabet] for alphabet in part.alphabets],
            "cells": listed(list(part.cells.items()), lambda cell: [*cell[0], f"{cell[1]:x}"]),
        }

    @classmethod
    def of_document(cls, law: Mapping[str, Any]) -> Joint:
        """What `to_document` wrote."""
        cells = {tuple(entry[:-1]): int(entry[-1], 16) for entry in law["cells"]}
        return cls(law["columns"], [[decode(v) for v in alphabet] for alphabet in law["alphabets"]], cells)

    # ---- looking at the law -------------------------------------------------------------------------------

    def position(self, name: str) -> int:
        """Where the column stands; raises `ColumnError` with the closest spelling."""
        try:
            return self.names.index(name)
        except ValueError:
            raise ColumnError(f"There is no column '{name}'.", did_you_mean(name, self.names)) from None

    def items(self) -> Iterator[tuple[tuple[Any, ...], Fraction]]:
        """The support: value tuples with their probabilities, in the order of the alphabets."""
        for cell, weight in self.cells.items():
            yield self.values_of(cell), Fraction(weight, self.total)

    def values_of(self, cell: Cell) -> tuple[Any, ...]:
        """The values that a cell of indices stands for."""
        return tuple(alphabet[i] for alphabet, i in zip(self.alphabets, cell, strict=True))

    def index_of(self, name: str, value: Hashable) -> int:
        """The index of a value in the alphabet of a column."""
        column = self.position(name)
        try:
            return self._positions[column][plain(value)]
        except KeyError:
            raise ColumnError(
                f"The value {value!r} is not in the alphabet of '{name}'.",
                did_you_mean(value, self.alphabets[column]),
            ) from None

    def weights(self, names: Iterable[str]) -> dict[Cell, int]:
        """Integer weights of the marginal of these columns (over the same `total`), by index cells."""
        where = [self.position(name) for name in names]
        if where == list(range(len(self.names))):
            return dict(self.cells)
        sums: defaultdict[Cell, int] = defaultdict(int)
        if len(where) > 1:
            part = itemgetter(*where)
            for cell, weight in self.cells.items():
                sums[part(cell)] += weight
        else:
            for cell, weight in self.cells.items():
                sums[tuple(cell[i] for i in where)] += weight
        return dict(sorted(sums.items()))

    def marginal(self, names: str | Iterable[str]) -> Joint:
        """The law of some of the columns, in the order asked for."""
        columns = split_names(names)
        if tuple(columns) == self.names:
            return self
        alphabets = [self.alphabets[self.position(name)] for name in columns]
        return Joint(columns, alphabets, self.weights(columns))

    def given(self, **values: Hashable) -> Joint:
        """The law of the other columns given these values.

        >>> J = Joint.from_counts({(0, 0): 1, (0, 1): 2, (1, 1): 5}, names=["W", "X"])
        >>> J.given(W=0).probability(X=1)
        Fraction(2, 3)
        """
        fixed = {self.position(name): self.index_of(name, value) for name, value in values.items()}
        rest = [i for i in range(len(self.names)) if i not in fixed]
        sums: defaultdict[Cell, int] = defaultdict(int)
        for cell, weight in self.cells.items():
            if all(cell[i] == j for i, j in fixed.items()):
                sums[tuple(cell[i] for i in rest)] += weight
        if not sums:
            raise LawError(f"The event {values} has probability zero.", "Condition on something that can happen.")
        return Joint([self.names[i] for i in rest], [self.alphabets[i] for i in rest], sums)

    def probability(self, **values: Hashable) -> Fraction:
        """The exact probability of an event such as W=1, X1="a"."""
        fixed = {self.position(name): self.index_of(name, value) for name, value in values.items()}
        hit = sum(w for cell, w in self.cells.items() if all(cell[i] == j for i, j in fixed.items()))
        return Fraction(hit, self.total)

    def with_column(self, name: str, function: Callable[..., Hashable]) -> Joint:
        """The law with one more column that is a function of the others, taken in their order.

        >>> bits = Joint.from_array([[1, 1], [1, 1]], names=["X1", "X2"])
        >>> bits.with_column("W", lambda a, b: a ^ b).mutual_information("W", ["X1", "X2"])
        1.0
        """
        rows = {(*values, function(*values)): p for values, p in self.items()}
        used = sorted_values({plain(key[-1]) for key in rows})
        return Joint.from_counts(rows, [*self.names, name], [*self.alphabets, used])

    def reordered(self, names: Sequence[str]) -> Joint:
        """The same law with its columns in another order."""
        if sorted(names) != sorted(self.names):
            raise ColumnError(f"{list(names)} is not an order of {list(self.names)}.", "Name every column once.")
        return self.marginal(names)

    def independent(self, first: str | Iterable[str], second: str | Iterable[str]) -> bool:
        """Whether two groups of columns are independent, decided in integers."""
        a, b = split_names(first), split_names(second)
        left, right, both = self.weights(a), self.weights(b), self.weights([*a, *b])
        return all(both.get((*x, *y), 0) * self.total == left[x] * right[y] for x in left for y in right)

    def entropy(self, names: str | Iterable[str] | None = None, given: str | Iterable[str] = ()) -> float:
        """H(names | given) in bits; all columns when none is named.

        >>> Joint.from_array([[1, 1], [1, 1]], names=["X1", "X2"]).entropy("X1, X2", given="X1")
        1.0
        """
        columns = list(self.names) if names is None else split_names(names)
        known = split_names(given)
        if not known:
            return entropy_of(self.weights(columns).values(), self.total)
        both = [*known, *(name for name in columns if name not in known)]
        value = entropy_of(self.weights(both).values(), self.total) - entropy_of(
            self.weights(known).values(), self.total
        )
        return max(0.0, value)

    def mutual_information(
        self, first: str | Iterable[str], second: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> float:
        """I(first; second | given) in bits."""
        value = self.entropy(first, given) - self.entropy(first, [*split_names(second), *split_names(given)])
        return max(0.0, value)

    def p(self, expression: str) -> LawTable:
        """A table of exact probabilities: `J.p("X1, X2 | W")` has one row per value of W.

        >>> print(Joint.from_array([[1, 3], [2, 2]], names=["W", "X"]).p("X | W"))
        p(X | W)  X=0  X=1
        W=0       1/4  3/4
        W=1       1/2  1/2
        """
        head, _, tail = expression.partition("|")
        left, known = split_names(head), split_names(tail)
        if not left:
            raise ColumnError(f"'{expression}' names no column.", 'Write J.p("X1, X2 | W").')
        values = self.weights(left)
        rows = self.weights(known) if known else {(): self.total}
        both = self.weights([*known, *left])
        a, b = self.marginal(left), self.marginal(known) if known else None
        return LawTable(
            title=f"p({', '.join(left)}{' | ' + ', '.join(known) if known else ''})",
            columns=[named_values(a.values_of(v), left) for v in values],
            rows=[named_values(b.values_of(k), known) if b else "" for k in rows],
            body=[[Fraction(both.get((*k, *v), 0), weight) for v in values] for k, weight in rows.items()],
            heads=known,
            cells=[[str(value) for value in b.values_of(k)] for k in rows] if b else (),
        )

    def __len__(self) -> int:
        return len(self.cells)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Joint):
            return NotImplemented
        return (self.names, self.alphabets, self.cells) == (other.names, other.alphabets, other.cells)

    def __hash__(self) -> int:
        return hash((self.names, self.alphabets, tuple(self.cells.items())))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n}[{len(a)}]" for n, a in zip(self.names, self.alphabets, strict=True))
        return f"Joint({sizes}; {len(self)} states)"

    def __str__(self) -> str:
        return str(self._listing(24))

    def _repr_html_(self) -> str:
        return self._listing(60).html()

    def _listing(self, most: int) -> LawTable:
        shown = list(self.items())[:most]
        left_off = len(self) - len(shown)
        return LawTable(
            title=f"p({', '.join(self.names)})",
            columns=["probability"],
            rows=[named_values(values, self.names) for values, _ in shown],
            body=[[probability] for _, probability in shown],
            footnote=f"… and {left_off} more states" if left_off else "",
            heads=self.names,
            cells=[[str(value) for value in values] for values, _ in shown],
        )
