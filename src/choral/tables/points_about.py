"""The shape of what is said about points: how they were made, and what they tell of records that they did not see."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def misshapen(about: Mapping[str, Any]) -> str | None:
    """What of it has another shape than `choral.scores.learn` writes; None where nothing has.

    >>> misshapen({"made": "learned", "trees": 40}), misshapen({"trees": "many"})
    (None, "'trees' is not what it should be")
    """
    for name, value in about.items():
        if not SHAPES.get(name, lambda _: True)(value):
            return f"'{name}' is not what it should be"
    return None


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return _whole(value) or (isinstance(value, float) and math.isfinite(value))


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _list(of: Any) -> Any:
    return lambda value: isinstance(value, list | tuple) and all(map(of, value))


def _numbers_by_name(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_text(name) and _number(n) for name, n in value.items())


def _held_out(value: Any) -> bool:
    """Rows of codes, with how often they occur; sums and sums of squares of a numeric target, one per row."""
    if not isinstance(value, Mapping) or not _list(_text)(value.get("columns")):
        return False
    counts: Any = value.get("counts")
    records, width = value.get("records"), len(value["columns"]) + 1
    if not isinstance(records, int) or records < 1 or not _list(_list(_whole))(counts):
        return False
    if any(len(row) != width or row[-1] < 1 for row in counts):
        return False
    return width > 1 and all(
        _list(_number)(value[name]) and len(value[name]) == len(counts) for name in ("sums", "squares") if name in value
    )


SHAPES = {
    "made": _text,
    "about": _text,
    "records": _whole,
    "of": _whole,
    "trees": _whole,
    "pairs": _whole,
    "scale": _number,
    "sums": _list(_text),
    "unseen": _list(_text),
    "nearly": _numbers_by_name,
    "contributes": _numbers_by_name,
    "held out": _held_out,
}
