"""A claim that does not hold."""

from __future__ import annotations


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


def several(n, what):
    """How many of what."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def brief(value):
    """The beginning of a value, in ASCII."""
    if isinstance(value, (str, list, tuple)):
        value = value[:60]
    elif isinstance(value, dict):
        value = dict(list(value.items())[:9])
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
