"""The values of a column: what may stand in an alphabet, how it is spelt, and when two are the same."""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from choral.verifier.claims import ClaimFailed, brief, need

MOST_DIGITS = 1000  # of a number that is a value of a column
MOST_NESTED = 20  # tuples within tuples


def symbol(value, depth=0):
    """A value of an alphabet as something hashable that is equal exactly when Python finds the values equal.

    So 1, 1.0, true, {"fraction": "1"} and {"decimal": "1.00"} are one value, and so are two times of day in different zones
    that are the same instant. Of a tagged value only the spelling that Python writes is read; any other is refused.
    Texts are compared character by character: two that look alike are two values.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, int, float)):
        return Fraction(value)
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        if kind in TAGGED and isinstance(content, str):
            found = TAGGED[kind](content) if len(content) <= MOST_DIGITS and content.isascii() else None
            need(found is not None, "law", f"{brief(content)} is not how a {kind} is written")
            return found
        if kind == "tuple" and isinstance(content, list):
            need(depth < MOST_NESTED, "law", "a value is nested too deep")
            return "tuple", tuple(symbol(v, depth + 1) for v in content)
    raise ClaimFailed("law", f"an alphabet holds {brief(value)}, which is no value of the format")


def spoken(value):
    """The beginning of a value for people to read: texts as they are where these are plain, parts joined by +.

    Plain are ASCII and the signs of intervals; what is outside is shown by its code points, and what could be taken for
    something else (a number, several values, a missing one) stands in quotes.
    """
    if value is None:
        return "missing"
    if isinstance(value, dict) and len(value) == 1:
        [(kind, content)] = value.items()
        value = " + ".join(map(spoken, content[:9])) if kind == "tuple" else content
        return value if len(value) <= 60 else f"{value[:60]}..."
    if not isinstance(value, str):
        return brief(value)
    signs = "≥≤<>=[]()-_/.& " + "," * value.startswith("[")  # an interval has two ends
    plain = value.translate(dict.fromkeys(map(ord, signs), "a"))
    number = value.lstrip("+-").replace(".", "", 1).isdecimal()
    if not plain.isascii() or not plain.isalnum() or number or value != value.strip() or value == "missing":
        text = ascii(value[:60])
        return text if len(text) <= 60 else f"{text[:60]}..."
    return value if len(value) <= 60 else f"{value[:60]}..."


def fraction_symbol(text):
    """The fraction, if it is in lowest terms and written plainly."""
    top, slash, bottom = text.removeprefix("-").partition("/")
    if not top.isdecimal() or (slash and not bottom.isdecimal()) or (slash and not int(bottom)):
        return None
    number = Fraction(text)
    return number if str(number) == text else None


def float_symbol(text):
    """Infinity, which JSON cannot write."""
    return ("float", text) if text in ("inf", "-inf") else None


def decimal_symbol(text):
    """The number, whatever its trailing zeros; an infinity is that of floats."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    if str(number) != text or number.is_nan():
        return None
    if number.is_infinite():
        return "float", "inf" if number > 0 else "-inf"
    return Fraction(number) if abs(number.adjusted()) <= MOST_DIGITS else None


def date_symbol(text):
    """The day."""
    try:
        day = datetime.date.fromisoformat(text)
    except ValueError:
        return None
    return ("date", text) if day.isoformat() == text else None


def datetime_symbol(text):
    """The time on a clock, or where its zone is given, the instant."""
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.isoformat() != text:
        return None
    offset = time.utcoffset()
    if offset is None:
        return "datetime", text
    return "instant", time.replace(tzinfo=None) - datetime.datetime.min - offset


TAGGED = {
    "fraction": fraction_symbol,
    "float": float_symbol,
    "decimal": decimal_symbol,
    "date": date_symbol,
    "datetime": datetime_symbol,
}


def alphabet_of(values, size):
    """Fail unless this is a list of so many different values."""
    need(isinstance(values, list) and len(values) == size, "law", "an alphabet has the wrong size")
    need(len({symbol(value) for value in values}) == size, "law", "an alphabet lists a value twice")
