"""Tables of exact numbers for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape

LONGEST_FRACTION = 13
"""A fraction that takes more characters than this is shown as a decimal, marked with ≈."""


def show(number: Fraction) -> str:
    """A fraction as people write it, or a rounded decimal when it is long.

    >>> show(Fraction(1, 3)), show(Fraction(123456789, 1234567891))
    ('1/3', '≈0.1')
    """
    text = str(number)
    return text if len(text) <= LONGEST_FRACTION else f"≈{float(number):.6g}"


@dataclass(frozen=True)
class LawTable:
    """Rows and columns of exact probabilities with their headings."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    body: Sequence[Sequence[Fraction]]
    footnote: str = ""

    def __str__(self) -> str:
        lines = [[self.title, *self.columns]]
        lines += [[row, *map(show, cells)] for row, cells in zip(self.rows, self.body, strict=True)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*text, self.footnote] if self.footnote else text)

    __repr__ = __str__

    def html(self) -> str:
        """The table as HTML, every text escaped."""
        head = "".join(f"<th scope='col'>{escape(text)}</th>" for text in [self.title, *self.columns])
        body = "".join(
            f"<tr><th scope='row'>{escape(row)}</th>{''.join(f'<td>{escape(show(x))}</td>' for x in cells)}</tr>"
            for row, cells in zip(self.rows, self.body, strict=True)
        )
        note = f"<caption>{escape(self.footnote)}</caption>" if self.footnote else ""
        return f"<table>{note}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    _repr_html_ = html
