"""Whether a document is a card, before anything of it is used: cards come from others, and go into queries."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from choral.describe import written

LONGEST_NAME = 10_000
"""Characters of a column's name: more name nothing, and fill a page."""


def misfit(card: Mapping[str, Any]) -> str | None:
    """What does not fit together in a card, in words; None where all does that `decode` looks at."""
    codes, unseen = card.get("codes"), card.get("unseen_code")
    if not _count(codes) or not codes:
        return "the number of codes"
    if not (unseen is None or (_count(unseen) and unseen >= codes)):
        return "the code of values that were not seen"
    reveal = card.get("reveal")
    if not (
        isinstance(reveal, list) and reveal and all(isinstance(x, str) and 0 < len(x) < LONGEST_NAME for x in reveal)
    ):
        return "the names of what is revealed"
    if not isinstance(card.get("other"), bool | None) or not isinstance(card.get("withheld"), str | None):
        return "what is said of values that are not listed"
    certificate = card.get("certificate")
    if not (isinstance(certificate, dict) and isinstance(certificate.get("salted_sha256"), str)):
        return "the digest of the certificate"
    return _tables(card, codes, len(reveal)) or _utility(card.get("utility"), codes)


def _tables(card: Mapping[str, Any], codes: int, columns: int) -> str | None:
    """The same of the values of the target and of the posteriors."""
    if not {"values", "p_w_given_y"} <= card.keys():
        return "the tables"
    values, table = card["values"], card["p_w_given_y"]
    if values is None and table is None:
        return None
    if not (isinstance(values, list) and isinstance(table, list) and len(table) == codes and all(map(_value, values))):
        return "the tables"
    if columns > 1 and any(not isinstance(x, dict) or len(x.get("tuple", [])) != columns for x in values):
        return "the values of what is revealed"
    width = len(values) + bool(card.get("other"))
    rows = [row for row in table if row is not None]
    return None if all(_listed(row, width, _number) for row in rows) else "the tables"


def _utility(utility: Any, codes: int) -> str | None:
    """The same of what a card for a purpose says of each code."""
    if utility is None:
        return None
    if not isinstance(utility, dict) or not isinstance(utility.get("kind"), str):
        return "the utility"
    squares = utility["kind"] == "squares"
    numbers = ("mean", "spread") if squares else ("expected_loss",)
    shaped = all(_listed(utility.get(part), codes, _number_or_none) for part in numbers)
    shaped = shaped and (squares or _listed(utility.get("actions"), codes, _value))
    return None if shaped else "the utility"


def _listed(found: Any, size: int, good: Callable[[Any], bool]) -> bool:
    return isinstance(found, list) and len(found) == size and all(map(good, found))


def _count(found: Any) -> bool:
    return type(found) is int and 0 <= found < 1 << 63


def _number(found: Any) -> bool:
    return type(found) in (int, float) and math.isfinite(found)


def _number_or_none(found: Any) -> bool:
    return found is None or _number(found)


def _value(found: Any) -> bool:
    """Whether a value is written as release files write one."""
    try:
        written.decode(found)
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
        return False
    return True
