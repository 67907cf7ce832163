"""What all pictures share: ink and colours that survive black and white, titles, labels that stay readable."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from choral.errors import ChoralError
from choral.show.style import LIGHT

INK = LIGHT["ink"]
"""Text and lines: nearly black, softer than black on white."""
GREY = LIGHT["quiet"]
"""What is beside the point; it still has a contrast of 5 to white."""
BLUE = LIGHT["accent"]
"""What the picture is about."""
ON_BLUE = LIGHT["on-accent"]
"""What is written on it."""
PAPER = LIGHT["paper"]
RULE = LIGHT["line"]
"""Lines of a grid."""

COLOURS = tuple(LIGHT[name] for name in ("accent", "c2", "ink", "c4", "c5", "c6", "c7", "quiet", "c9", "c10"))
"""Told apart by people who do not see all colours (after Okabe and Ito); every series also has its own dash and shape."""
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 4], [12, 4], [6, 2, 2, 2, 2, 2], [3, 1], [14, 2, 1, 2])
"""One for each colour, so that lines are told apart in black and white."""
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"),
    "M0,-1.2L0.3,-0.3L1.2,0L0.3,0.3L0,1.2L-0.3,0.3L-1.2,0L-0.3,-0.3Z",
    "M-1.3,-0.35H1.3V0.35H-1.3Z",
)
"""One for each colour, the last two drawn by hand since the list of names ends."""

FONT = "DejaVu Sans, Liberation Sans, Arial, sans-serif"
"""Fonts with the mathematical letters of the labels, wherever it is drawn."""
RIGHT_TO_LEFT = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
LEFT_TO_RIGHT = "\u200e"
"""A mark that is not seen."""
LONGEST_LABEL = 38
"""Characters of a label; what is longer is cut in its middle."""


def altair() -> Any:
    """The altair package, or how to get it."""
    try:
        import altair as alt
    except ImportError as error:
        raise ChoralError("altair is not installed.", "Install it: pip install 'choral[plots]'.") from error
    return alt


def chart_of(rows: Iterable[Mapping[str, Any]]) -> Any:
    """A chart of these rows, which is never copied in depth, however often it is layered and put beside others.

    Altair copies all that is inside whenever charts are put together, which took most of the time of a picture. What it
    changes in a copy are its own attributes alone, so what these refer to may be shared; and what is in a tuple is.
    """
    return _shared()(altair().Data(values=tuple(rows)))


@cache
def _shared() -> Any:
    """The class of charts that are copied without what is inside them."""

    class Shared(altair().Chart):  # type: ignore[misc]
        def __deepcopy__(self, memo: Any) -> Any:
            return self.copy(deep=False)

    return Shared


def finished(chart: Any, finding: str, notes: Sequence[str] = (), width: int = 600) -> Any:
    """The chart under a title that states the finding, with notes below it, in the common style; untitled, if it is empty."""
    alt = altair()
    title = alt.TitleParams(
        wrapped(finding, max(30, width // 8)),
        subtitle=[line for note in notes if note for line in textwrap.wrap(note, max(40, width // 6))],
        anchor="start",
        frame="bounds",
        fontSize=14,
        subtitleFontSize=11,
        color=INK,
        subtitleColor=GREY,
        offset=12,
    )
    config = alt.Config(
        font=FONT,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            gridColor=RULE,
            gridOpacity=0.5,
            domainColor=GREY,
            tickColor=GREY,
            labelColor=INK,
            titleColor=INK,
            labelFontSize=11,
            titleFontSize=11,
            titleFontWeight="normal",
            labelLimit=320,
        ),
        title=alt.TitleConfig(color=INK),
        legend=alt.LegendConfig(labelLimit=320, labelColor=INK, titleColor=INK, titleFontWeight="normal"),
    )
    named = {"title": title} if finding else {}
    # All in one call: each would copy the whole chart.
    return chart.properties(background=PAPER, padding=12 if finding else 2, config=config, **named)


def wrapped(text: str, most: int) -> list[str]:
    """Lines of at most so many letters; a percent sign stays with its number.

    >>> wrapped("guessed right 24.7 %", 18)
    ['guessed right', '24.7 %']
    """
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text.replace(" %", "\u00a0%"), most)]


def finding_of(chart: Any) -> str:
    """The title of a finished chart as one line, for those who do not see the picture."""
    return " ".join(chart.title.text)


def short(text: str, most: int = LONGEST_LABEL) -> str:
    """A label that fits: what is too long loses its middle, since long names often differ at their end.

    Behind words from right to left a mark says that what follows goes from left to right again.

    >>> short("a column with a long name, 17", 16)
    'a column w…e, 17'
    """
    if len(text) > most:
        tail = most // 3
        text = f"{text[: most - tail - 1]}…{text[-tail:]}"
    return text + LEFT_TO_RIGHT if RIGHT_TO_LEFT.search(text) else text


def distinct(labels: Sequence[str], most: int = LONGEST_LABEL) -> list[str]:
    """Labels cut to fit; where some would coincide all are numbered.

    >>> distinct(["alike", "alike", "other"])
    ['1: alike', '2: alike', '3: other']
    """
    cut = [short(label, most) for label in labels]
    if len(set(cut)) == len(cut):
        return cut
    return [short(f"{i}: {label}", most) for i, label in enumerate(labels, start=1)]


def above(**options: Any) -> Any:
    """An axis at the left with its title above it: beside long labels it would lie on them where fonts are wide."""
    return altair().Axis(titleAngle=0, titleAlign="right", titleX=0, titleY=-8, **options)


def percents(decimals: int = 0, **options: Any) -> Any:
    """An axis of shares, written as percents are everywhere: with a space before the sign."""
    return altair().Axis(labelExpr=f"format(100 * datum.value, '.{decimals}f') + ' %'", **options)


def number(value: float) -> str:
    """A number as titles say it.

    >>> number(0.0134123), number(0.0), number(1234.5678)
    ('0.01341', '0', '1235')
    """
    return f"{value:.4g}"
