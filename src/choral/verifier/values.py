"""The values of a column: what may stand in an alphabet, and when two are the same."""

from __future__ import annotations

from fractions import Fraction

from choral.verifier.claims import ClaimFailed, need


def symbol(value):
    """A value of an alphabet as something that is equal exactly when the values are."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return Fraction(value)
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        if kind == "fraction" and isinstance(content, str):
            top, _, bottom = content.removeprefix("-").partition("/")
            good = top.isascii() and top.isdecimal() and (not bottom or (bottom.isascii() and bottom.isdecimal()))
            good = good and len(content) < 4000 and (not bottom or bottom.strip("0"))
            need(good, "law", f"{content[:40]!r} is no fraction")
            return Fraction(content)
        if kind in ("float", "date", "datetime", "decimal") and isinstance(content, str):
            return kind, content
        if kind == "tuple" and isinstance(content, list):
            return "tuple", tuple(symbol(v) for v in content)
    raise ClaimFailed("law", f"an alphabet holds {ascii(value)[:60]}, which is no value of the format")


def alphabet_of(values, size):
    """Fail unless this is a list of so many different values."""
    need(isinstance(values, list) and len(values) == size, "law", "an alphabet has the wrong size")
    need(len({symbol(value) for value in values}) == size, "law", "an alphabet lists a value twice")
