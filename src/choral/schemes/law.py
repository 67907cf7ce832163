"""A law that somebody declares, with the reason for it.

The schemes of this room are private under the law they are given, and brittle under any other (`attack_misfit`
shows how). So the law comes from outside: a census, a design, a physical model. It is never estimated from the data
that is encoded, because then the code would tell about the data through the law. That the samples are independent
cannot be tested at all from one realisation of them: it is part of the declaration.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from choral.describe.display import show
from choral.describe.entropy import entropy_of
from choral.describe.joint import Joint
from choral.describe.kinds import table_of
from choral.describe.numbers import distribution, exact
from choral.errors import ColumnError, LawError, TooLargeError, did_you_mean

Whole = npt.NDArray[np.int64]
Row = dict[int, Fraction]

WHY = (
    "A law is never estimated from the data that is encoded, and independence cannot be tested from one realisation: "
    "declare both, as DeclaredLaw(marginals, source='where they come from and why the samples are independent')."
)
MOST_CELLS = 1_000_000
"""Cells of a law that is written out: a million take seconds and some hundred megabytes."""


@dataclass(frozen=True)
class Marginal:
    """The law of one sample: values, and their probabilities in the same order."""

    values: tuple[Hashable, ...]
    p: tuple[Fraction, ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.values, self.p))

    def __hash__(self) -> int:
        return self._hash

    def entropy(self) -> float:
        """H(X) in bits."""
        return entropy_of(self.p)


class DeclaredLaw:
    """Independent samples with exact marginals, and the text that justifies them.

    `marginals` is one marginal (then the samples are i.i.d. and there may be any number of them) or a list with one
    marginal per sample. A marginal is a list of probabilities, for the values 0, 1, …, or a mapping from values. A `Joint` of
    independent columns declares one sample per column; one whose columns are dependent is refused, with the evidence.

    >>> law = DeclaredLaw({"no": Fraction(7, 10), "yes": Fraction(3, 10)}, source="the 2020 census; a random sample")
    >>> law.n is None, law.marginal(5).p
    (True, (Fraction(7, 10), Fraction(3, 10)))
    """

    def __init__(self, marginals: Any, source: str = "") -> None:
        """Raise `LawError` unless every marginal is a law and `source` says something."""
        if not isinstance(source, str) or not source.strip():
            raise LawError(f"The source of the declared law is {source!r}.", WHY)
        self.source = source.strip()
        if (table := table_of(marginals)) is not None:
            marginals = _independent_columns(table)
        if isinstance(marginals, DeclaredLaw) or not isinstance(marginals, Iterable) or isinstance(marginals, str):
            raise LawError(f"The marginals are {marginals!r}.", "Give one marginal, or a list of them.")
        listed = marginals if isinstance(marginals, Mapping) else list(marginals)
        if not len(listed):
            raise LawError("There are no marginals.", "Give one marginal, or one per sample.")
        number: dict[Marginal, int] = {}
        if not isinstance(listed, Mapping) and isinstance(listed[0], Iterable) and not isinstance(listed[0], str):
            read: dict[int, int] = {}  # a list that repeats one object reads it once
            for i, given in enumerate(listed, start=1):
                if id(given) not in read:
                    marginal = _marginal(given, f"the marginal of sample {i}")
                    read[id(given)] = number.setdefault(marginal, len(number))
            self._kinds: Whole = np.array([read[id(given)] for given in listed], dtype=np.int64)
            self.n: int | None = len(listed)
        else:
            number[_marginal(listed, "the marginal")] = 0
            self._kinds = np.zeros(1, dtype=np.int64)
            self.n = None
        self.distinct = tuple(number)
        self.marginals: tuple[Marginal, ...] = tuple(self.distinct[kind] for kind in self._kinds.tolist())
        sizes = [len(m.values) for m in self.distinct]
        self._offsets: Whole = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._positions = [{value: i for i, value in enumerate(m.values)} for m in self.distinct]

    @classmethod
    def bernoulli(cls, q: Any, source: str = "") -> DeclaredLaw:
        """I.i.d. bits with P(X=1) = q, any number of them.

        >>> DeclaredLaw.bernoulli(Fraction(3, 10), "a coin of known bias").marginal(0).p[1]
        Fraction(3, 10)
        """
        one = exact(q, "q")
        if not 0 < one < 1:
            raise LawError(f"q = {q} is outside (0, 1).", "A sample that never changes has nothing to protect.")
        return cls([1 - one, one], source)

    def marginal(self, i: int) -> Marginal:
        """The marginal of the sample at position i, from 0."""
        return self.marginals[0 if self.n is None else i]

    def count(self, n: int | None) -> int:
        """The number of samples; raises `LawError` unless the law has that many."""
        if n is None:
            n = self.n
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise LawError(f"n = {n!r} samples.", "Give n, at least 1: the law is declared for any number of samples.")
        if self.n is not None and n != self.n:
            raise LawError(f"{n} samples, but the law declares {self.n}.", "Give one value per declared marginal.")
        return int(n)

    def sized(self, n: int | None) -> tuple[Marginal, ...]:
        """The marginals of n samples."""
        return self.marginals * self.count(n) if self.n is None else self.marginals[: self.count(n)]

    def joint(self, n: int | None = None) -> Joint:
        """The law of X1…Xn, exactly.

        >>> DeclaredLaw([[1, 0], [0.5, 0.5]], "made up").joint().probability(X2=1)
        Fraction(1, 2)
        """
        marginals = self.sized(n)
        check_size(math.prod(len(m.values) for m in marginals), "states")
        cells = {
            tuple(v for v, _ in cell): math.prod((p for _, p in cell), start=Fraction(1))
            for cell in product(*(tuple(zip(m.values, m.p, strict=True)) for m in marginals))
        }
        return Joint.from_counts(cells, names_of(len(marginals)), [m.values for m in marginals])

    def rows_of(self, data: Any, start: int = 0) -> npt.NDArray[np.integer[Any]]:
        """Each value as a number of `rows`: its place among the values of all distinct marginals, one after another.

        `start` is the position of the first value. Raises `ColumnError` for a value that cannot occur.
        """
        values = one_dimension(data)
        count = len(values)
        if self.n is not None and start + count > self.n:
            raise LawError(f"{start + count} samples, but the law declares {self.n}.", "Give one value per marginal.")
        if len(self.distinct) == 1:
            found = self._place(values, 0, start)
            return found
        kinds = self._kinds[start : start + count]
        rows: Whole = np.empty(count, dtype=np.int64)
        for kind in np.unique(kinds):
            here = np.flatnonzero(kinds == kind)
            part = values[here] if isinstance(values, np.ndarray) else [values[i] for i in here]
            rows[here] = self._place(part, int(kind), start, here) + self._offsets[kind]
        return rows

    def _place(self, values: Any, kind: int, start: int, where: Whole | None = None) -> npt.NDArray[np.integer[Any]]:
        marginal = self.distinct[kind]
        size = len(marginal.values)
        plain = marginal.values == tuple(range(size)) and not isinstance(marginal.values[0], bool)
        if plain and isinstance(values, np.ndarray) and values.dtype.kind in "iub":
            rows = values.view(np.uint8) if values.dtype.kind == "b" else values
            outside = len(rows) > 0 and (int(rows.max()) >= size or int(rows.min()) < 0)
            if outside:
                first = int(np.flatnonzero((rows < 0) | (rows >= size))[0])
                raise _unknown(values[first], start + (first if where is None else int(where[first])), marginal)
        else:
            listed = values.tolist() if isinstance(values, np.ndarray) else values
            position = self._positions[kind]
            rows = np.empty(len(listed), dtype=np.int64)
            for i, value in enumerate(listed):
                try:
                    rows[i] = position[value]
                except (KeyError, TypeError):
                    raise _unknown(value, start + (i if where is None else int(where[i])), marginal) from None
        if 0 in marginal.p:
            never = np.flatnonzero(np.array([p == 0 for p in marginal.p])[rows])
            if len(never):
                first = int(never[0])
                raise ColumnError(
                    f"The value {marginal.values[int(rows[first])]!r} of sample "
                    f"{1 + start + (first if where is None else int(where[first]))} has probability 0 as declared.",
                    "The declared law is wrong about this data: correct it from its source, not from the data.",
                )
        return rows

    def __repr__(self) -> str:
        many = "any number of i.i.d. samples" if self.n is None else f"{self.n} independent samples"
        return f"DeclaredLaw({many}; source: {self.source})"


def declared(law: object) -> DeclaredLaw:
    """The law, if it is a declared one; otherwise raises `LawError` with what to do."""
    if isinstance(law, DeclaredLaw):
        return law
    raise LawError(f"A {type(law).__name__} is given where a declared law is needed.", WHY)


def whole_number(value: object, name: str, least: int) -> int:
    """The value as an int of at least `least`; raises `LawError` otherwise."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise LawError(f"{name} = {value!r}.", f"Give a whole number of at least {least}.")
    return int(value)


def names_of(n: int, letter: str = "X") -> list[str]:
    """X1, …, Xn."""
    return [f"{letter}{i}" for i in range(1, n + 1)]


def check_size(cells: int, what: str) -> None:
    """Raise `TooLargeError` before an enumeration that would not end."""
    if cells > MOST_CELLS:
        raise TooLargeError(
            f"The exact channel has {cells} {what}, above {MOST_CELLS}.", "Take fewer samples; the scheme is the same."
        )


def _independent_columns(joint: Joint) -> list[dict[Any, Fraction]]:
    """The marginals of a joint law, if it is their product, decided in fractions."""
    alone = [dict.fromkeys(alphabet, Fraction(0)) for alphabet in joint.alphabets]
    law = dict(joint.items())
    for cell, p in law.items():
        for marginal, value in zip(alone, cell, strict=True):
            marginal[value] += p
    check_size(math.prod(map(len, alone)), "states")
    for cell in product(*alone):
        expected = math.prod((m[value] for m, value in zip(alone, cell, strict=True)), start=Fraction(1))
        found = law.get(cell, Fraction(0))
        if found != expected:
            where = ", ".join(f"{name} = {value!r}" for name, value in zip(joint.names, cell, strict=True))
            raise LawError(
                f"The columns are not independent: P({where}) is {show(found)}, and the product is {show(expected)}.",
                "Schemes are for independent samples. Take a group of dependent samples as one, or use ch.self_disclose.",
            )
    return alone


def _marginal(values: Any, place: str) -> Marginal:
    if isinstance(values, Mapping):
        alphabet: tuple[Any, ...] = tuple(values)
        law = distribution(values.values(), place)
    else:
        law = distribution(values, place)
        alphabet = tuple(range(len(law)))
    Joint(["X"], [alphabet], {(0,): 1})  # refuses NaN and what cannot be a symbol
    return Marginal(alphabet, law)


def one_dimension(data: Any) -> Any:
    """The data as a sequence or an array of one axis; raises `LawError` for what is neither."""
    if isinstance(data, np.ma.MaskedArray):
        raise LawError("The data is a masked array.", "Give an array without missing values.")
    if isinstance(data, np.ndarray):
        if data.ndim != 1:
            raise LawError(f"The data has {data.ndim} axes.", "Give one value per sample, in one list.")
        return data
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise LawError(f"The data is a {type(data).__name__}.", "Give one value per sample, in a list or an array.")
    return data if isinstance(data, Sequence) else list(data)


def _unknown(value: Any, position: int, marginal: Marginal) -> ColumnError:
    return ColumnError(
        f"The value {value!r} of sample {position + 1} is not in its declared alphabet.",
        did_you_mean(value, marginal.values),
    )
