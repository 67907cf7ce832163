"""Tables of exact numbers for terminals and notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from html import escape
from typing import TypeAlias

from choral.verifier.names import remarks_on

LONGEST_FRACTION = 13
"""A fraction that takes more characters than this is shown as a decimal, marked with ≈."""

LONGEST_EXACT = 60
"""A number in HTML that takes more characters than this is given as a float."""

FEWEST_BITS = 0.001
"""Bits below it are not told apart in sentences: nobody decides by them."""


def sentences_on(names: Iterable[str]) -> list[str]:
    """What a reader of these columns' names should know, in the words of the verifier.

    >>> sentences_on(["Xl", "X1"])
    ["Columns 'Xl' and 'X1' look alike."]
    """
    return [f"{remark[0].upper()}{remark[1:]}." for remark in remarks_on(list(names))]


def show(number: Fraction) -> str:
    """A fraction as people write it, or a rounded decimal when it is long.

    >>> show(Fraction(1, 3)), show(Fraction(123456789, 1234567891))
    ('1/3', '≈0.1')
    """
    return written(number, LONGEST_FRACTION) or f"≈{float(number):.6g}"


def written(number: Fraction, most: int) -> str | None:
    """A fraction in at most so many characters, or None; also where Python refuses to write it out.

    >>> written(Fraction(1, 3), 4), written(Fraction(1, 3**20_000), 4)
    ('1/3', None)
    """
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > 4 * most:
        return None
    text = str(number)
    return text if len(text) <= most else None


def at_most(bound: float, digits: int = 3) -> str:
    """An upper bound in so many digits, rounded up: what is read is a bound too.

    >>> at_most(0.12341), at_most(0.000201, 2), at_most(1.0), at_most(0.0), at_most(0.1), at_most(-0.1239), at_most(52341)
    ('0.124', '0.00021', '1', '0', '0.1', '-0.123', '52,400')
    """
    return figure(float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(float(bound)))), digits)


def at_least(bound: float, digits: int = 3) -> str:
    """A lower bound in so many digits, rounded down.

    >>> at_least(0.12349), at_least(0.0)
    ('0.123', '0')
    """
    return figure(float(Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(repr(float(bound)))), digits)


def figure(value: float, digits: int = 3) -> str:
    """A number as people write it, in so many digits: a large one with noughts, not with a power of ten.

    >>> figure(0.123456), figure(12.0), figure(52341.7), figure(-1234.5), figure(999.6)
    ('0.123', '12', '52,300', '-1,230', '1,000')
    """
    text = f"{value:.{digits}g}"
    return text if abs(float(text)) < 10**digits else f"{float(text):,.0f}"


def elided(name: str, most: int) -> str:
    """A name in at most so many letters: what begins it and what ends it, which is where names differ.

    >>> elided("Yearly brutto salary in EUR", 15), elided("age", 15)
    ('Yearly … in EUR', 'age')
    """
    if len(name) <= most:
        return name
    end = (most - 1) // 2
    return f"{name[: most - 1 - end]}…{name[-end:]}"


def counted(n: int, what: str, one: str = "", many: str = "") -> str:
    """How many of what, and what is said of one or of several.

    >>> counted(1, "state"), counted(0, "state"), counted(1, "row", "has", "have"), counted(2, "row", "has", "have")
    ('1 state', '0 states', '1 row has', '2 rows have')
    """
    verb = one if n == 1 else many
    return f"{n} {what}{'' if n == 1 else 's'}{' ' * bool(verb)}{verb}"


def percent(share: Fraction | float) -> str:
    """A probability as people say it.

    >>> percent(Fraction(1, 3)), percent(0.5), percent(0.0004), percent(1e-15), percent(0.99999)
    ('33.3 %', '50 %', '0.04 %', '< 0.01 %', '> 99.9 %')
    """
    value = 100 * float(share)
    if 0 < value < 0.01 or 99.95 <= value < 100:
        return "< 0.01 %" if value < 1 else "> 99.9 %"
    return f"{round(value, 1) if value >= 0.1 else value:.4g} %"


def percent_at_most(bound: float) -> str:
    """An upper bound of a probability as people say it, rounded up.

    >>> percent_at_most(0.84241), percent_at_most(0.85), percent_at_most(1.0), percent_at_most(0.99999)
    ('84.3 %', '85 %', '100 %', '100 %')
    """
    return percent(float(Decimal(repr(float(bound))).quantize(Decimal("0.001"), ROUND_CEILING)))


def in_bits(value: float) -> str:
    """Bits as people say them: three digits, and nothing below a thousandth.

    >>> in_bits(0.256424857), in_bits(1.0), in_bits(0.0), in_bits(4.4e-05), in_bits(12.3456)
    ('0.256 bits', '1 bit', '0 bits', '< 0.001 bits', '12.3 bits')
    """
    text = "< 0.001" if 0 < value < FEWEST_BITS else f"{value:.3g}"
    return f"{text} bit{'' if text == '1' else 's'}"


@dataclass(frozen=True)
class Shown:
    """A number as it is and as it is shown. In HTML both are there, so that nobody has to trust the rounding.

    >>> str(Shown(0.123456, "0.123")), Shown(Fraction(1, 3), "33.3 %").html()
    ('0.123', '<data value="1/3">33.3 %</data>')
    """

    value: float | int | Fraction
    text: str

    def __str__(self) -> str:
        return self.text

    def html(self) -> str:
        """A `data` element: the number itself as its value, and what is read as its text."""
        exact = written(self.value, LONGEST_EXACT) if isinstance(self.value, Fraction) else repr(self.value)
        exact = exact or repr(float(self.value))
        return f'<data value="{escape(exact)}">{escape(self.text)}</data>'


Cell: TypeAlias = "str | Shown"


def cell_html(cell: Cell) -> str:
    """What stands in a cell of a table, escaped."""
    return cell.html() if isinstance(cell, Shown) else escape(cell)


_NUMBER = re.compile(r"(-?\d+)(\.\d+)?(\D*)")


def aligned(texts: Sequence[str]) -> list[str]:
    """Numbers of one column with their points below each other, where they stand at the right and all figures are as wide.

    >>> [text.replace("\u2007", "_").replace("\u2008", "_") for text in aligned(["46 %", "72.4 %", "0, exactly"])]
    ['46.0 %', '72.4 %', '0, exactly']
    >>> [text.replace("\u2007", "_").replace("\u2008", "_") for text in aligned(["1 bit", "0.25 bits"])]
    ['1___ bit', '0.25 bits']
    """
    if any(re.search(r"\.\d %$", text) for text in texts):
        texts = [re.sub(r"^(\d+) %$", r"\1.0 %", text) for text in texts]
    parts = [_NUMBER.fullmatch(text) for text in texts]
    most = max((len(found[2] or "") for found in parts if found), default=0)
    padded = []
    for text, found in zip(texts, parts, strict=True):
        if found is None or not most or found[3].startswith(","):
            padded.append(text)
            continue
        decimals = found[2] or ""
        room = most - len(decimals)
        blanks = ("\u2008" + "\u2007" * (room - 1)) if not decimals else "\u2007" * room
        padded.append(f"{found[1]}{decimals}{blanks}{found[3]}")
    return padded


@dataclass(frozen=True)
class Listing:
    """A table of words and numbers with its headings, for terminals, notebooks and pages; the first cell heads its row."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def numeric(self, k: int) -> bool:
        """Whether a column has numbers, which stand at the right."""
        cells = [row[k] for row in self.rows]
        return any(isinstance(cell, Shown) for cell in cells) and all(
            isinstance(cell, Shown) or cell == "" for cell in cells
        )

    def texts(self) -> list[list[str]]:
        """What stands in the cells, numbers aligned by their decimals."""
        columns = [
            aligned([str(row[k]) for row in self.rows]) if self.numeric(k) else [str(row[k]) for row in self.rows]
            for k in range(len(self.columns))
        ]
        return [[column[i] for column in columns] for i in range(len(self.rows))]

    def html(self) -> str:
        """The table as HTML, every text escaped."""
        number = [" class='number'" if self.numeric(k) else "" for k in range(len(self.columns))]
        head = "".join(
            f"<th scope='col'{kind}>{escape(text)}</th>" for kind, text in zip(number, self.columns, strict=True)
        )
        body = ""
        for row, texts in zip(self.rows, self.texts(), strict=True):
            cells = [
                Shown(cell.value, text) if isinstance(cell, Shown) else text
                for cell, text in zip(row, texts, strict=True)
            ]
            data = "".join(f"<td{kind}>{cell_html(c)}</td>" for kind, c in zip(number[1:], cells[1:], strict=True))
            body += f"<tr><th scope='row'>{cell_html(cells[0])}</th>{data}</tr>"
        words = ". ".join(text.rstrip(".") for text in (self.title, self.caption) if text)
        title = f"<caption>{escape(words)}</caption>" if words else ""
        columns = f"<thead><tr>{head}</tr></thead>" if any(self.columns) else ""
        return f"<table>{title}{columns}<tbody>{body}</tbody></table>"

    _repr_html_ = html


@dataclass(frozen=True)
class LawTable:
    """Rows and columns of exact probabilities with their headings."""

    title: str
    columns: Sequence[str]
    rows: Sequence[str]
    body: Sequence[Sequence[Fraction]]
    footnote: str = ""
    heads: Sequence[str] = ()
    cells: Sequence[Sequence[str]] = ()
    """What the first rows are, value by value, each below its name: where there is room for it they are columns."""

    def __str__(self) -> str:
        """Rows by name, `X1=0, X2=1`; where a value has parts, which brackets would hide, as columns below the title."""
        front = [[self.title], *([name] for name in self.rows)]
        if apart := "" in self.heads:
            rest = [[name, *[""] * (len(self.heads) - 1)] for name in self.rows[len(self.cells) :]]
            front = [list(self.heads), *map(list, self.cells), *rest]
        body = [list(self.columns), *(list(map(show, cells)) for cells in self.body)]
        lines = [[*name, *cells] for name, cells in zip(front, body, strict=True)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*([self.title] if apart else []), *text, *([self.footnote] if self.footnote else [])])

    __repr__ = __str__

    def html(self) -> str:
        """The table as HTML, every text escaped: a column for each value, numbers in three digits with all of them behind."""
        head = "".join(
            f"<th scope='col'>{escape(text)}</th>" for text in [*(self.heads or [self.title]), *self.columns]
        )
        body = "".join(
            f"<tr>{self._row_heads(i)}{''.join(f'<td>{_briefly(x)}</td>' for x in cells)}</tr>"
            for i, cells in enumerate(self.body)
        )
        words = ", ".join(text for text in (self.title if self.heads else "", self.footnote) if text)
        note = f"<caption>{escape(words)}</caption>" if words else ""
        return f"<table>{note}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _row_heads(self, i: int) -> str:
        """The values that a row is about, or its name over all of their columns."""
        if i < len(self.cells):
            return "".join(f"<th scope='row'>{escape(text)}</th>" for text in self.cells[i])
        across = f" colspan='{len(self.heads)}'" if len(self.heads) > 1 else ""
        return f"<th scope='row'{across}>{escape(self.rows[i])}</th>"

    _repr_html_ = html


def _briefly(number: Fraction) -> str:
    """A probability in a cell: a fraction if it is short, else three digits, and nothing below a thousandth.

    >>> _briefly(Fraction(1, 3)), _briefly(Fraction(1, 10**17))
    ('1/3', '<data value="1/100000000000000000">&lt; 0.001</data>')
    """
    if text := written(number, LONGEST_FRACTION):
        return escape(text)
    near = float(number)
    return Shown(number, "< 0.001" if near < 0.001 else "> 0.999" if near > 0.9995 else f"≈{near:.3g}").html()
