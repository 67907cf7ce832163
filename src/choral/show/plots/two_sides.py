"""How the signature picture is drawn: two sides from plain numbers, so that a release and a public card are drawn alike.

Codes stand along the horizontal axis in the order of what they say, each as wide as it is probable: so a width is a share of
the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from choral.show.plots.style import BLUE, COLOURS, GREY, INK, altair, chart_of, finished, percents, short

MOST_STEMS = 60
"""Up to so many codes a stem leads from what was known before to each dot, and each has its mark on a straight line."""
FAINT = 0.2
"""Of a dot that hardly moves under a code that moves another value at least twice as far."""
HEIGHT = 240
"""Of the panel at the left, and of all at the right where they are few; in pixels."""
LEGEND = 70
"""Pixels that are left to a legend below the panel at the left."""
LEAST_HEIGHT = 40
"""Of a panel at the right: two lines and their labels."""
LABEL = 15
"""Pixels that a line of text needs."""
MOST_PANELS = 8
"""More columns are rows: panels would be too small to read."""
SMALL = 12
"""Pixels that a line of small text needs."""
MOST_ROW = 44
"""Pixels of a row at most: lines that belong together stand together."""
HEADING = 46
"""Pixels between two panels: a heading of two lines."""
LETTER = 6
"""Pixels that a small letter takes, about."""
WORDS = {1: 130, 2: 84}
"""Pixels of labels beside lines at most, by how many panels stand beside each other."""
LEFT, BETWEEN = 360, 120
"""Pixels of the panel at the left in the wide picture; of its axis and of what is between it and the right."""
WIDE, NARROW = 920, 350
"""Pixels of the picture where the two sides stand beside each other, and where they stand below each other."""


@dataclass(frozen=True)
class Series:
    """One value of the target, or its mean: what was known before, and what each code says."""

    name: str
    before: float
    heights: tuple[float, ...]


@dataclass(frozen=True)
class Left:
    """What is told. `advice` is what each code advises, where it is about decisions; `share` whether heights are shares."""

    heading: str
    note: str
    series: tuple[Series, ...]
    shares: tuple[float, ...]
    advice: tuple[str, ...] = ()
    share: bool = True


@dataclass(frozen=True)
class Line:
    """One protected value: how likely it is without the code, and at least and at most with one: the same where hidden."""

    name: str
    level: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Panel:
    """One protected group, or one promise to who knows another column. Where levels may not be told there are no lines."""

    heading: str
    note: str
    lines: tuple[Line, ...]
    short: str = "0, exactly"
    """What is said of it where it is one row of many: how often it is guessed right."""


@dataclass(frozen=True)
class Picture:
    """All that is drawn, with the finding above it and notes."""

    finding: str
    notes: tuple[str, ...]
    left: Left | None
    right: tuple[Panel, ...]


def draw(picture: Picture, width: int = WIDE, titled: bool = True) -> Any:
    """The picture as a chart; below 560 pixels its sides stand below each other."""
    alt = altair()
    beside = width >= 560  # a side needs 280 pixels to be read
    first = LEFT * width // WIDE
    sides = []
    if picture.left is not None:
        sides.append(_left(alt, picture.left, first if beside else width - 66))
    if picture.right:
        shares = (1.0,) if picture.left is None else picture.left.shares
        sides.append(_right(alt, picture.right, shares, width - first - BETWEEN if beside else width - 36))
    chart = (alt.hconcat if beside else alt.vconcat)(*sides, spacing=40 if beside else 22)
    chart = chart.resolve_legend(color="independent")  # a legend stands below its own side
    return finished(
        chart, picture.finding if titled else "", picture.notes if titled else (), width=width if beside else 330
    )


def _left(alt: Any, left: Left, width: int) -> Any:
    edges = [0.0, *accumulate(left.shares)]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    advice = left.advice or [""] * len(left.shares)
    steps, dots, before = [], [], []
    far = [max(abs(s.heights[i] - s.before) for s in left.series) for i in range(len(left.shares))]
    if len(left.series) > 1:
        far = [max(move, max(far) / 2) for move in far]
    for series in left.series:
        ends = [*series.heights, series.heights[-1]]
        steps += [{"value": series.name, "x": x, "p": p} for x, p in zip(edges, ends, strict=True)]
        before.append({"value": series.name, "p": series.before})
        dots += [
            {"value": series.name, "x": x, "p": p, "weight": share, "before": series.before, "advice": word}
            | {"moved": 0.8 if abs(p - series.before) >= move / 2 else FAINT}
            for x, p, share, word, move in zip(middles, series.heights, left.shares, advice, far, strict=True)
        ]
    kinds = list(dict.fromkeys(left.advice)) if left.advice else [series.name for series in left.series]
    y = alt.Y("p:Q", scale=alt.Scale(domain=_domain(left), nice=not left.share), title=None, axis=_axis(alt, left))
    x = _x(alt, "codes, by what they tell; width: share of the records")
    across = max(1, min(5, width // (LETTER * max(map(len, kinds)) + 30)))
    legend = None if len(kinds) == 1 else alt.Legend(orient="bottom", columns=across)
    colour = alt.Color(
        "advice:N" if left.advice else "value:N",
        sort=kinds,
        scale=alt.Scale(domain=kinds, range=list(COLOURS[: len(kinds)])),
        title="the code advises" if left.advice else None,
        legend=legend,
    )
    one = alt.value(BLUE) if left.advice else colour
    few = len(left.shares) <= MOST_STEMS
    largest = max(20, min(320, 320 * MOST_STEMS // (2 * len(left.shares))))  # dots stay apart where there are many
    areas = alt.Scale(domain=[0, max(left.shares)], range=[8 if few else 3, largest])
    size = alt.Size("weight:Q", scale=areas, legend=None)
    clear = alt.Opacity("moved:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)
    known = chart_of(before).mark_rule(strokeDash=[4, 3], strokeWidth=1.2).encode(y=y, color=one)
    curve = chart_of(steps).mark_line(interpolate="step-after", strokeWidth=1, opacity=0.55)
    marks = chart_of(dots)
    layers = [known, curve.encode(x=x, y=y, color=one)]
    if few and len(left.series) == 1:
        layers.append(marks.mark_rule(color=BLUE, opacity=0.35).encode(x=x, y=y, y2="before:Q"))
    spots = marks.mark_circle(stroke=INK, strokeWidth=0.6 if few else 0.2)
    layers.append(spots.encode(x=x, y=y, size=size, color=colour, opacity=clear))
    heading = _heading(alt, short(left.heading, width // 7), short(left.note, width // LETTER))
    height = HEIGHT if legend is None else HEIGHT - LEGEND
    return alt.layer(*layers).properties(width=width, height=height, title=heading)


def _domain(left: Left) -> list[float]:
    every = [p for series in left.series for p in (series.before, *series.heights)]
    if left.share:
        return [0.0, 1.0 if max(every) > 0.5 else 1.2 * max(every)]  # rare values are not to lie on the axis
    return [min(every), max(every)] if min(every) < max(every) else [min(every) - 1, max(every) + 1]


def _axis(alt: Any, left: Left) -> Any:
    if not left.share:
        return alt.Axis(tickCount=5)
    return percents(0 if _domain(left)[1] > 0.1 else 1, tickCount=5)


def _right(alt: Any, panels: Sequence[Panel], shares: Sequence[float], width: int) -> Any:
    if len(panels) > MOST_PANELS or not all(panel.lines for panel in panels):
        return _rows(alt, panels, shares, width)
    most = 1 if len(panels) <= 4 else 2
    each = (width - 12 * (most - 1)) // most
    longest = max(len(f"{line.name}: {line.text}") for panel in panels for line in panel.lines)
    words = min(WORDS[most], LETTER * longest + 14)  # lines are as long as labels leave room for
    height = max(LEAST_HEIGHT, (HEIGHT - HEADING * (min(len(panels), 4) - 1)) // min(len(panels), 4))
    drawn = [
        _panel(
            alt,
            panel,
            shares,
            COLOURS[i % len(COLOURS)],
            each - words - (36 if most == 1 else 12),
            height,
            words,
            most == 1,
        )
        for i, panel in enumerate(panels)
    ]
    return alt.concat(*drawn, columns=most, spacing=12)


def _rows(alt: Any, panels: Sequence[Panel], shares: Sequence[float], width: int) -> Any:
    """Many columns: each a straight line in a row of its own, with how often it is guessed right."""
    edges = [0.0, *accumulate(shares)]
    names = [f"{i}" for i in range(len(panels))]
    y = alt.Y("row:N", sort=names, axis=None, title=None)
    named = max(len(panel.heading.removeprefix("hidden: ")) for panel in panels)
    left = min(190, width * 2 // 5, LETTER * (named + 2) + 8)
    right = LETTER * max(len(panel.short) for panel in panels) + 8
    lines = [{"row": name, "x": x} for name in names for x in (0.0, 1.0)]
    middles = [(a + b) / 2 for a, b in pairwise(edges)] if len(shares) <= MOST_STEMS else []
    beads = [{"row": name, "x": x, "bead": 1} for name in names for x in middles]
    words = [
        {"row": name, "name": short(panel.heading.removeprefix("hidden: "), left // LETTER - 1), "note": panel.short}
        for name, panel in zip(names, panels, strict=True)
    ]
    x = _x(alt)
    layers = [
        chart_of(lines).mark_line(color=BLUE, strokeWidth=2).encode(x=x, y=y, detail="row:N"),
        chart_of(beads).mark_circle(size=12, color=BLUE, opacity=1).encode(x=x, y=y),
    ]
    base = chart_of(words).encode(y=y)
    across = width - left - right
    layers.append(base.mark_text(align="right", dx=-8, fontSize=10, color=INK).encode(x=alt.value(0), text="name:N"))
    layers.append(base.mark_text(align="left", dx=8, fontSize=10, color=INK).encode(x=alt.value(across), text="note:N"))
    exact = all(panel.note.endswith("0, exactly") for panel in panels)
    note = "0, exactly" if exact else "within their budgets"
    count = f"{len(panels)} columns" if len(panels) > 1 else "one column"
    heading = _heading(alt, f"hidden: {count}", f"{note}: the same under every code" if exact else note)
    return alt.layer(*layers).properties(
        width=across, height=len(panels) * min(MOST_ROW, max(SMALL, HEIGHT // len(panels))), title=heading
    )


def _panel(
    alt: Any, panel: Panel, shares: Sequence[float], colour: str, width: int, height: int, words: int, marked: bool
) -> Any:
    edges = [0.0, *accumulate(shares)]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    lines = [{"value": line.name, "x": x, "p": line.level} for line in panel.lines for x in (0.0, 1.0)]
    bands = [
        {"value": line.name, "x": x, "low": line.low, "high": line.high}
        for line in panel.lines
        for x in (0.0, 1.0)
        if line.low < line.high
    ]
    axis = percents(values=[0, 0.5, 1]) if marked else alt.Axis(labels=False, values=[0, 0.5, 1])
    y = alt.Y("p:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=axis)
    x = _x(alt)
    layers = [
        chart_of(lines or [{"value": "", "x": 0.0, "p": None}])
        .mark_line(strokeWidth=1 if bands else 2, strokeDash=[4, 3] if bands else [1, 0], color=colour)
        .encode(x=x, y=y, detail="value:N")
    ]
    if bands:
        area = chart_of(bands).mark_area(color=colour, opacity=0.45)
        low = alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=axis)
        layers.append(area.encode(x=x, y=low, y2="high:Q", detail="value:N"))
    elif lines and len(shares) <= MOST_STEMS:
        beads = [{"value": line.name, "x": m, "p": line.level, "bead": 1} for line in panel.lines for m in middles]
        layers.append(chart_of(beads).mark_circle(size=12, color=colour, opacity=1).encode(x=x, y=y))
    ends = [
        {"value": line.name, "x": 1.0, "p": line.level, "text": _label(line, words // LETTER)} for line in panel.lines
    ]
    if ends:
        text = chart_of(_apart(ends, height)).mark_text(align="left", dx=5, fontSize=10, color=INK, baseline="middle")
        where = alt.Y("at:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=axis)
        layers.append(text.encode(x=alt.X("x:Q"), y=where, text="text:N"))
    across = width + words
    heading = _heading(alt, short(panel.heading, max(14, across // 7)), short(panel.note, max(16, across // LETTER)))
    return alt.layer(*layers).properties(width=width, height=height, title=heading)


def _label(line: Line, most: int) -> str:
    """A line's name and share in so many letters: what is cut says so, and the other values are others."""
    room = max(4, most - len(line.text) - 2)
    name = line.name if len(line.name) <= room else line.name.replace(" other values", " others")
    return f"{short(name, room)}: {line.text}"


def _apart(ends: list[dict[str, Any]], height: int) -> list[dict[str, Any]]:
    """The labels, moved up or down so that they do not lie on one another; of more than there is room for, the largest."""
    room = max(1, (height + LABEL) // SMALL)
    kept = sorted(sorted(ends, key=lambda end: -end["p"])[:room], key=lambda end: end["p"])
    gap = SMALL / height
    at: list[float] = []
    for end in kept:
        at.append(max(end["p"], at[-1] + gap) if at else max(end["p"], 0.0))
    over = 1 + gap / 2
    for i in reversed(range(len(at))):
        at[i] = min(at[i], over)
        over = at[i] - gap
    return [{**end, "at": y} for end, y in zip(kept, at, strict=True)]


def _x(alt: Any, title: str | None = None) -> Any:
    axis = alt.Axis(labels=False, ticks=False, grid=False, titleColor=GREY, titleFontSize=10, titlePadding=10)
    return alt.X("x:Q", scale=alt.Scale(domain=[0, 1]), title=title, axis=axis)


def _heading(alt: Any, title: str, note: str) -> Any:
    return alt.TitleParams(
        title, subtitle=note, fontSize=12, subtitleFontSize=11, subtitleColor=GREY, color=INK, anchor="start"
    )
