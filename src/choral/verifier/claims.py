"""A claim that does not hold, and the integers that claims are written in."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction


class ClaimFailed(Exception):
    """A claim does not hold. `claim` is its name, `reason` what was found instead."""

    def __init__(self, claim, reason):
        super().__init__(f"{claim}: {reason}")
        self.claim = claim
        self.reason = reason


def need(condition, claim, reason):
    """Raise `ClaimFailed` unless the condition holds."""
    if not condition:
        raise ClaimFailed(claim, reason)


def whole(text, claim):
    """A non-negative integer written in lower-case hexadecimal."""
    if not isinstance(text, str) or not text or text.strip("0123456789abcdef"):
        raise ClaimFailed(claim, f"{str(text)[:40]!r} is not a hexadecimal integer")
    return int(text, 16)


def rational(text, claim):
    """A signed fraction of hexadecimal integers, such as -1f/20."""
    need(isinstance(text, str), claim, f"{text!r} is not a fraction")
    head, _, tail = text.removeprefix("-").partition("/")
    bottom = whole(tail, claim) if tail else 1
    need(bottom > 0, claim, f"the fraction {text[:40]!r} has no denominator")
    return Fraction(whole(head, claim) * (-1 if text.startswith("-") else 1), bottom)


def decimal(text, claim):
    """A non-negative decimal number."""
    plain = isinstance(text, str) and len(text) < 40 and text.replace(".", "", 1).isdecimal() and text.isascii()
    need(plain, claim, f"{text!r} is not a decimal number")
    return Decimal(text)
