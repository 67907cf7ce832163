"""What a section of the reproduction hands over: claims that were compared, tables, pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from choral.describe.display import show


@dataclass(frozen=True)
class Claim:
    """One statement of the paper beside what was computed here. `agrees` comes from comparing the two."""

    what: str
    place: str
    paper: str
    ours: str
    agrees: bool
    why: str = ""

    @property
    def verdict(self) -> str:
        """In words."""
        if self.agrees:
            return "agrees"
        return f"the paper differs: {self.why}" if self.why else "differs, and nobody has explained it"


@dataclass(frozen=True)
class Table:
    """A table that is written as CSV; floats in full."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def csv(self) -> str:
        """The table as text."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([[_cell(value) for value in row] for row in self.rows])
        return text.getvalue()


@dataclass(frozen=True)
class Picture:
    """A chart, the name of its file, and what it shows that its title does not say."""

    name: str
    chart: Any
    caption: str


@dataclass(frozen=True)
class Found:
    """What one section computed. `text` are paragraphs."""

    text: tuple[str, ...]
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Effort:
    """How far to go. `QUICK` is for trying it out and for tests."""

    most_samples: int = 1000
    """of the capacity curves"""
    many_samples: int = 10_000
    """of the schemes"""
    steps: int = 50
    """of q in (0, 1/2]"""
    leakages: int = 13
    """of a trade-off curve"""
    tell: Callable[[str], None] = field(default=lambda message: None, compare=False)


QUICK = Effort(most_samples=30, many_samples=200, steps=5, leakages=3)
"""Every section in seconds: small sizes, coarse grids."""


@dataclass(frozen=True)
class Section:
    """A part of the reproduction: what of the paper it covers (labels), and how it is computed."""

    name: str
    title: str
    covers: tuple[str, ...]
    run: Callable[[Effort], Found]


def printed(what: str, place: str, text: str, ours: float, why: str = "", unit: str = "") -> Claim:
    """A number as the paper prints it: ours agrees if it rounds to the same digits.

    >>> printed("I_s", "Table 1", "8.34e-3", 0.008343).agrees, printed("I_s", "Table 1", "8.34e-3", 0.0084).agrees
    (True, False)
    """
    digits = Decimal(text)
    half = Decimal(5).scaleb(int(digits.as_tuple().exponent) - 1)
    agrees = abs(Decimal(ours) - digits) <= half
    return Claim(what, place, f"{text}{unit}", f"{ours:.10g}{unit}", agrees, why)


def formula(
    what: str, place: str, paper: float, ours: float, why: str = "", unit: str = "", tolerance: float = 1e-9
) -> Claim:
    """A number that the paper gives by a formula, evaluated, beside one that was computed without it."""
    return Claim(what, place, f"{paper:.10g}{unit}", f"{ours:.10g}{unit}", abs(paper - ours) <= tolerance, why)


def exactly(what: str, place: str, paper: Any, ours: Any, why: str = "") -> Claim:
    """Numbers, vectors or words that must be equal.

    >>> exactly("u*", "Ex1", [Fraction(1, 3)], [Fraction(1, 3)]).ours
    '(1/3)'
    """
    return Claim(what, place, worded(paper), worded(ours), _plain(paper) == _plain(ours), why)


def holds(what: str, place: str, found: bool, evidence: str, why: str = "") -> Claim:
    """A statement of the paper that was tested, with the evidence."""
    return Claim(what, place, "true", f"{'true' if found else 'false'}: {evidence}", found, why)


def worded(value: Any) -> str:
    """A value as the page shows it: fractions short, vectors in brackets.

    >>> worded([[Fraction(1, 2), 0], [1, 1]])
    '(1/2, 0), (1, 1)'
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [worded(part) for part in value]
        nested = any(isinstance(part, Sequence) and not isinstance(part, str) for part in value)
        return ", ".join(parts) if nested else f"({', '.join(parts)})"
    return str(value)


def _plain(value: Any) -> Any:
    return [_plain(part) for part in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _cell(value: Any) -> str:
    return repr(value) if isinstance(value, float) else worded(value) if isinstance(value, bool) else str(value)
