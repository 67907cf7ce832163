"""The numbers that claims are written in, and sums of them that are paid for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import lcm

from choral.verifier.claims import ClaimFailed, brief, need
from choral.verifier.steps import product, spend


def whole(text, claim):
    """A non-negative integer written in lower-case hexadecimal."""
    if not isinstance(text, str) or not text or text.strip("0123456789abcdef"):
        raise ClaimFailed(claim, f"{brief(text)} is not a hexadecimal integer")
    return int(text, 16)


def rational(text, claim):
    """A signed fraction of hexadecimal integers, such as -1f/20."""
    if not isinstance(text, str):
        raise ClaimFailed(claim, f"{brief(text)} is not a fraction")
    head, slash, tail = text.removeprefix("-").partition("/")
    bottom = whole(tail, claim) if slash else 1
    if bottom == 0:
        raise ClaimFailed(claim, f"the fraction {brief(text)} has no denominator")
    top = whole(head, claim) * (-1 if text.startswith("-") else 1)
    spend(product(top.bit_length(), bottom.bit_length()), "fractions of large integers")
    return Fraction(top, bottom)


def decimal(text, claim):
    """A non-negative decimal number."""
    plain = isinstance(text, str) and len(text) < 40 and text.replace(".", "", 1).isdecimal() and text.isascii()
    need(plain, claim, f"{brief(text)} is not a decimal number")
    return Decimal(text)


def size_of(number):
    """The bits of a fraction."""
    return number.numerator.bit_length() + number.denominator.bit_length()


def added_up(numbers, what):
    """The sum of fractions."""
    total = Fraction(0)
    for x in numbers:
        bottom = total.denominator.bit_length()
        spend(10 + 2 * product(bottom, bottom + x.denominator.bit_length() + x.numerator.bit_length()), what)
        total += x
    return total


def common_denominator(numbers, what):
    """The least common multiple of the denominators of fractions."""
    common = 1
    for x in numbers:
        spend(1 + 2 * product(common.bit_length(), x.denominator.bit_length()), what)
        common = lcm(common, x.denominator)
    return common
