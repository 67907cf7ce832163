"""One record as the values of named columns, or as samples: a mapping, a pandas row, a named tuple, a sequence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from choral.errors import ColumnError


def by_name(record: Any, names: Sequence[str]) -> list[Any]:
    """The values of a record in the order of these names; by label where it has labels.

    >>> by_name({"b": 2, "a": 1}, ["a", "b"])
    [1, 2]
    """
    labels = getattr(record, "_fields", None) or getattr(record, "index", None)
    if labels is not None and not callable(labels):  # a named tuple, a pandas Series
        found = list(labels)
        if len(set(found)) < len(found):
            raise ColumnError(f"The record names a column twice: {found}.", "Give each column once.")
        record = dict(zip(found, record, strict=True))
    if isinstance(record, Mapping):
        missing = [name for name in names if name not in record]
        if missing:
            raise ColumnError(f"The record lacks '{missing[0]}'.", f"The channel looks at {', '.join(names)}.")
        return [record[name] for name in names]
    if isinstance(record, str | bytes) or not isinstance(record, Iterable):
        raise ColumnError(f"{record!r} is not a record.", f"Give the values of {', '.join(names)}.")
    values = list(record)
    if len(values) != len(names):
        raise ColumnError(
            f"The record has {len(values)} values, and the channel looks at {len(names)}: {', '.join(names)}.",
            "Give these, in this order, or a mapping by name.",
        )
    return values


def samples_of(record: Any) -> list[Any]:
    """The samples of a record on an exchangeable law: a plain sequence, or a row of a frame without its index."""
    fields = getattr(record, "_fields", None)
    if fields is not None:
        return [value for name, value in zip(fields, record, strict=True) if name != "Index"]
    frame = hasattr(record, "columns") or isinstance(record, Mapping | bytes)
    if frame or not isinstance(record, Iterable):
        raise ColumnError(f"{record!r} is not a record of samples.", "Give the samples as a sequence, in any order.")
    return list(record)


def named_values(values: Sequence[Any], names: Sequence[str] = ()) -> str:
    """Values in a row, with the names of their columns if these are given.

    >>> named_values((1, "a"), ("X1", "X2")), named_values((1, "a"))
    ('X1=1, X2=a', '1, a')
    >>> named_values((("f", 40), "f"), ("state", "sex"))
    'state=(f, 40), sex=f'
    """
    texts = [f"({', '.join(map(str, value))})" if isinstance(value, tuple) else str(value) for value in values]
    return ", ".join(f"{name}={text}" for name, text in zip(names, texts, strict=True)) if names else ", ".join(texts)


def values_of(states: Sequence[Sequence[Any]], names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """States as columns of words, with their names above. A value that is a tuple has a column for each of its parts.

    >>> values_of([(("f", 40), "f"), ("rare 1", "m")], ["state", "sex"])
    (['state', '', 'sex'], [['f', '40', 'f'], ['rare 1', '', 'm']])
    """
    parts = [max((len(s[k]) for s in states if isinstance(s[k], tuple)), default=1) for k in range(len(names))]
    heads = [head for name, many in zip(names, parts, strict=True) for head in [name, *[""] * (many - 1)]]
    rows = []
    for state in states:
        row: list[str] = []
        for value, many in zip(state, parts, strict=True):
            texts = [str(part) for part in value] if isinstance(value, tuple) and value else [str(value)]
            row += [*texts, *[""] * (many - len(texts))]
        rows.append(row)
    return heads, rows
