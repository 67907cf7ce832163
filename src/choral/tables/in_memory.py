"""Frames in memory as Arrow tables and back, and what the columns of a table may be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from choral.describe.reading import missing_as_none
from choral.errors import FieldError, LawError
from choral.tables.forms import shown
from choral.tables.kinds import KINDS, kind_of_value

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_of(frame: Any) -> Any:
    """A frame as an Arrow table."""
    import narwhals as nw
    import pyarrow as pa

    kind = type(frame).__name__
    if isinstance(frame, list | tuple) and not frame:
        raise LawError(
            f"The {kind} is empty: a table needs at least one record.", 'Give records: [{"age": 40, "sex": "f"}, …].'
        )
    try:
        if isinstance(frame, pa.RecordBatchReader):
            table = frame.read_all()
        elif isinstance(frame, Mapping):
            for name, values in frame.items():
                check_one_kind(name, values, f"the {kind}")
            table = pa.table({name: pa.array(values, from_pandas=True) for name, values in frame.items()})
        elif isinstance(frame, list) and frame and all(isinstance(row, Mapping) for row in frame):
            for name in frame[0]:
                check_one_kind(name, [row.get(name) for row in frame], f"the {kind}")
            table = pa.Table.from_pylist([dict(row) for row in frame])
        else:
            found = nw.from_native(frame)
            lazy = isinstance(found, nw.LazyFrame)
            check_names(list(found.collect_schema().names()), f"the {kind}")
            whole = found.collect() if lazy else found
            for name in whole.columns:
                check_one_kind(name, whole[name].to_native(), f"the {kind}")
            table = pa.table({name: whole[name].to_arrow() for name in whole.columns})  # without the index of pandas
    except OverflowError:
        raise LawError(
            f"A column of the {kind} holds a whole number that does not fit into 64 bits.",
            "Give such a column as decimals (decimal.Decimal) or as texts.",
        ) from None
    except pa.ArrowException as error:
        raise LawError(
            f"A column of the {kind} mixes types: {error}.", "Give every column values of one type."
        ) from None
    except (TypeError, AttributeError, ValueError, nw.exceptions.NarwhalsError) as error:
        if isinstance(error, LawError):
            raise
        raise LawError(
            f"A {kind} cannot be read as a table: {error}",
            "Pass a path, a pandas, polars or arrow frame whose column names are different texts, a list of records, "
            "or a mapping of column names to lists.",
        ) from None
    check_names(list(table.column_names), f"the {kind}")
    for field in table.schema:
        if pa.types.is_decimal256(field.type):
            raise LawError(
                f"Column '{field.name}' of the {kind} holds decimals of {field.type.precision} digits.",
                "Round them to 38 digits or fewer, or give texts.",
            )
    return table


def check_one_kind(name: Any, values: Any, place: str) -> None:
    """Raise for the first value of a column of Python's values that is of another kind than those before it.

    Arrow would convert some of them in silence: a point in time to a date, a time with a zone to one without. Whole numbers
    may stand among numbers or decimals, which hold them exactly or are refused by Arrow.
    """
    if not isinstance(values, list | tuple) and getattr(getattr(values, "dtype", None), "kind", None) != "O":
        return
    types = set(map(type, values)) - {type(None)}
    if len(types) < 2 and not any(issubclass(one, datetime) for one in types):
        return
    kinds: set[str] = set()
    for row, raw in enumerate(values, start=1):
        value = missing_as_none(raw.item() if isinstance(raw, np.generic) else raw)
        kind = kind_of_value(value)
        if value is None or kind in kinds:
            continue
        if kinds and not any({*kinds, kind} <= together for together in ({"int", "float"}, {"int", "decimal"})):
            before = " and ".join(sorted(KINDS.get(one, one) for one in kinds))
            raise FieldError(
                f"In row {row} of {place}, the value {shown(str(value))} of column '{name}' is {KINDS.get(kind, kind)}, and "
                f"those before it are {before}.",
                "Give every column values of one kind: nothing is converted.",
            )
        kinds.add(kind)


def like(frame: Any, table: pa.Table) -> Any:
    """An Arrow table as a frame of the kind of another: pandas, polars (lazy too); as it is where that is none of these.

    >>> import pandas as pd, pyarrow as pa
    >>> like(pd.DataFrame({"a": [1]}), pa.table({"b": [2, 3]}))["b"].tolist()
    [2, 3]
    """
    import narwhals as nw

    found = nw.from_native(frame, pass_through=True)
    if not isinstance(found, nw.DataFrame | nw.LazyFrame) or not (
        found.implementation.is_pandas_like() or found.implementation.is_polars()
    ):
        return table
    made = nw.from_arrow(table, backend=found.implementation)
    return (made.lazy() if isinstance(found, nw.LazyFrame) else made).to_native()


def check_names(names: list[Any], place: str) -> None:
    """Raise unless these can be the names of the columns of one table."""
    if not names:
        raise LawError(f"{place} has no columns.", "A table needs at least one column and one row.")
    for position, name in enumerate(names, start=1):
        if not isinstance(name, str):
            raise LawError(f"A column of {place} is named {name!r}, which is not text.", "Rename the columns first.")
        if not name.strip():
            raise LawError(f"Column {position} of {place} has no name.", "Name it in the header, or leave it out.")
    twice = []
    for name, count in Counter(name.casefold() for name in names).items():
        if count > 1:
            again = [given for given in names if given.casefold() == name]
            twice.append(f"'{again[0]}'" if len(set(again)) == 1 else " and ".join(f"'{given}'" for given in again))
    if twice:
        raise LawError(
            f"{place} has two columns named {', two named '.join(twice)}.",
            "Rename one of each in the header (--drop can then leave it out); upper and lower case do not tell columns "
            "apart.",
        )
