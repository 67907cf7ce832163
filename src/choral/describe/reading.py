"""What people give, as names, alphabets and integer cells: arrays, counts and tables are checked and made exact."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from choral.describe import numbers
from choral.errors import ColumnError, LawError, did_you_mean
from choral.verifier import names as names_to_read

Cell = tuple[int, ...]
"""Positions in alphabets, one per column."""
Alphabets = Sequence[Sequence[Hashable]]


def cells_of_array(p: Any, names: Sequence[str], alphabets: Alphabets | None) -> tuple[Alphabets, dict[Cell, int]]:
    """The alphabets and cells of an array whose axes are the columns, or of a flat one with `alphabets`."""
    array = _shaped(p, names, alphabets)
    if alphabets is None:
        alphabets = [range(size) for size in array.shape]
    cells = {}
    for index in np.ndindex(array.shape):
        place = ", ".join(f"{n}={a[i]!r}" for n, a, i in zip(names, alphabets, index, strict=True))
        cells[index] = numbers.nonnegative(array[index], place)
    floats = array.dtype.kind == "f" or any(isinstance(v, float) for v in array.flat)
    counts = array.dtype.kind in "iub" or all(number.denominator == 1 for number in cells.values())
    if floats or not counts:
        numbers.check_sum(sum(cells.values(), Fraction(0)), floats, "the array")
    return alphabets, _integers(cells)


def _shaped(p: Any, names: Sequence[str], alphabets: Alphabets | None) -> Any:
    try:
        array = np.asarray(p)
    except ValueError as error:
        raise LawError("The array is ragged.", "All rows must have the same length.") from error
    if alphabets is not None:
        shape = tuple(len(alphabet) for alphabet in alphabets)
        if len(shape) != len(names):
            raise LawError(f"{len(names)} names but {len(shape)} alphabets.", "Give one alphabet per name.")
        if array.size != math.prod(shape):
            raise LawError(
                f"The array has {array.size} entries but the alphabets make {math.prod(shape)} cells.",
                "List every cell, or use from_counts for sparse laws.",
            )
        if array.ndim > 1 and array.shape != shape:
            raise LawError(
                f"The array has shape {array.shape} but the alphabets make {shape}.",
                "Transpose the array or reorder the alphabets.",
            )
        array = array.reshape(shape)
    if array.ndim != len(names):
        raise LawError(
            f"The array has {array.ndim} axes but there are {len(names)} names: {', '.join(names)}.",
            "Give one name per axis, or alphabets= for a flat array.",
        )
    return array


def cells_of_counts(
    counts: Mapping[Any, Any], names: Sequence[str], alphabets: Alphabets | None
) -> tuple[Alphabets, dict[Cell, int]]:
    """The alphabets and cells of a mapping from value tuples to exact weights."""
    if not isinstance(counts, Mapping):
        raise LawError(f"Counts are given as a {type(counts).__name__}.", "Give a mapping from value tuples to counts.")
    rows: dict[tuple[Any, ...], Fraction] = {}
    for key, weight in counts.items():
        values = tuple(plain(v) for v in key) if isinstance(key, tuple) else (plain(key),)
        if len(values) != len(names):
            raise LawError(
                f"The key {key!r} has {len(values)} values but there are {len(names)} names.",
                "Every key lists one value per name.",
            )
        rows[values] = rows.get(values, Fraction(0)) + numbers.nonnegative(weight, repr(key))
    if not rows:
        raise LawError("There are no counts.", "Give at least one value tuple with a positive weight.")
    if alphabets is None:
        alphabets = [sorted_values({key[i] for key in rows}) for i in range(len(names))]
    alphabets = [list(alphabet) for alphabet in alphabets]
    if len(alphabets) != len(names):
        raise LawError(f"{len(names)} names but {len(alphabets)} alphabets.", "Give one alphabet per name.")
    positions = [{plain(v): i for i, v in enumerate(alphabet)} for alphabet in alphabets]
    cells: dict[Cell, Fraction] = {}
    for key, number in rows.items():
        for name, value, position in zip(names, key, positions, strict=True):
            if value not in position:
                raise ColumnError(
                    f"The value {value!r} is not in the alphabet of '{name}'.", did_you_mean(value, position)
                )
        cells[tuple(pos[v] for pos, v in zip(positions, key, strict=True))] = number
    return alphabets, _integers(cells)


def columns_of(frame: Any) -> dict[str, list[Any]]:
    """The columns of a table of any kind, as lists."""
    if isinstance(frame, Mapping):
        listed = dict(frame)
    elif isinstance(frame, Sequence) and frame and all(isinstance(row, Mapping) for row in frame):
        listed = {name: [row.get(name) for row in frame] for name in frame[0]}
    else:
        import narwhals as nw

        try:
            native = nw.from_native(frame, eager_only=True)
            listed = {name: native[name].to_list() for name in native.columns}
        except (TypeError, AttributeError, nw.exceptions.NarwhalsError) as error:
            raise LawError(
                f"A {type(frame).__name__} cannot be read as a table: {error}",
                "Pass a pandas, polars or arrow frame whose column names are different texts, a list of records, "
                "or a mapping of column names to lists.",
            ) from error
    for name, values in listed.items():
        if not isinstance(name, str):
            raise LawError(f"A column is named {name!r}, which is not text.", "Rename the columns first.")
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise LawError(f"The column '{name}' is {values!r}.", "Give a list of values.")
    return {name: list(values) for name, values in listed.items()}


def split_names(names: str | Iterable[str]) -> list[str]:
    """Column names from a list, or from text that separates them by commas.

    >>> split_names("X1, X2"), split_names(["X1"])
    (['X1', 'X2'], ['X1'])
    """
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return list(names)


def readable_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, if they differ, print as what they are, and no two look alike; raises `LawError` otherwise."""
    if isinstance(names, str):
        names = split_names(names)
    if not isinstance(names, Iterable):
        raise LawError(f"The names are {names!r}.", "Give a list of column names.")
    checked = tuple(names)
    for name in checked:
        if not isinstance(name, str) or not name.strip():
            raise LawError(f"{name!r} is not a column name.", "Names are non-empty strings.")
        reason = names_to_read.why_unreadable(name)
        if reason:
            raise LawError(f"The name {name!a} could be misread: {reason}.", "Rename the column.")
    twice = [name for name, count in Counter(checked).items() if count > 1]
    if twice:
        raise LawError(f"The name '{twice[0]}' is given twice.", "Column names must differ.")
    alike = names_to_read.look_alikes(checked)
    if alike:
        raise LawError(f"The names {alike[0]!a} and {alike[1]!a} look alike.", "Rename one of the two columns.")
    return checked


def plain(value: Any) -> Any:
    """A numpy scalar as the Python value it holds; anything else unchanged."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value != value:
        raise LawError("NaN cannot be a symbol: it is not equal to itself.", "Use None for a missing value.")
    try:
        hash(value)
    except TypeError:
        raise LawError(
            f"The value {value!r} of type {type(value).__name__} cannot be a symbol.", "Use hashable values."
        ) from None
    return value


def listed_alphabet(values: Any, size: int, whose: str) -> tuple[Hashable, ...]:
    """As many different values as are needed."""
    try:
        listed = tuple(values)
        different = {symbol for symbol in listed if symbol == symbol}
    except (TypeError, ValueError):
        raise LawError(f"The alphabet of {whose} is {values!r}.", f"List {size} different values.") from None
    if len(listed) != size or len(different) != size:
        raise LawError(f"The alphabet of {whose} is {listed!r}.", f"List {size} different values.")
    return listed


def missing_as_none(value: Any) -> Any:
    """The value, or None for what stands for a missing one (NaN, NaT, NA)."""
    if value is None:
        return None
    try:
        return None if value != value else value
    except (TypeError, ValueError):
        return None if type(value).__name__ == "NAType" else value


def sorted_values(values: Iterable[Any]) -> list[Any]:
    """In their order, or in that of their texts where they have none."""
    found = list(values)
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda value: (type(value).__name__, repr(value)))


def _integers(cells: Mapping[Cell, Fraction]) -> dict[Cell, int]:
    weights, _ = numbers.over_common_denominator(list(cells.values()))
    return dict(zip(cells, weights, strict=True))
