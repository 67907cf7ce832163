"""Curves: capacity against n, trade-offs, and schemes compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from choral.errors import ProblemError
from choral.show.plots.style import BLUE, COLOURS, DASHES, INK, SHAPES, altair, chart_of, finished, number, short
from choral.theory.capacity import CurvePoint
from choral.theory.many_samples import TradeoffPoint

WIDTH, HEIGHT = 520, 320
"""Of a picture, in points: as wide as a page of text."""


@dataclass(frozen=True)
class Series:
    """One line: its name, where, how much; with `upper`, a band up to there."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    upper: tuple[float, ...] | None = None


def capacity_plot(points: Sequence[CurvePoint], subtitle: str, limit: float | None = None) -> Any:
    """Information against n, with the certified interval as a band; n is on a logarithmic scale.

    `limit` is C_1(0), to which it tends.
    """
    if not points:
        raise ProblemError("There is no point to draw.", "Give at least one n.")
    best, last = max(points, key=lambda p: p.information), points[-1]
    widest = max(p.upper_bound - p.information for p in points)
    tends = "" if limit is None else f"; the limit is {number(limit)}"
    series = Series(
        "I_s",
        tuple(p.n for p in points),
        tuple(p.information for p in points),
        tuple(p.upper_bound for p in points),
    )
    return lines_plot(
        [series],
        f"Most can be told at n = {best.n}: {best.information:.4g} bits; {last.information:.3g} at n = {last.n}{tends}",
        [subtitle, f"every point is a certified interval; the widest is {widest:.1g} bits wide"],
        x_title="samples n (logarithmic)",
        y_title="disclosed about W (bits)",
        log_x=True,
        rules={} if limit is None else {f"limit C₁(0) = {number(limit)}": limit},
    )


def tradeoff_plot(curves: Mapping[str, Sequence[TradeoffPoint]], subtitle: str = "") -> Any:
    """What can be told of W against the leakage allowed about X: one curve of certified intervals per model."""
    if not curves or not all(curves.values()):
        raise ProblemError("A trade-off curve has no points.", "Give at least one leakage.")
    series = [
        Series(
            name,
            tuple(p.leakage for p in points),
            tuple(p.information for p in points),
            tuple(p.upper_bound for p in points),
        )
        for name, points in curves.items()
    ]
    first = series[0]
    widest = max(p.upper_bound - p.information for points in curves.values() for p in points)
    finding = (
        f"{first.name} rises from {number(first.y[0])} to {number(first.y[-1])} bits "
        f"when the leakage allowed rises from {number(first.x[0])} to {number(first.x[-1])} bits"
    )
    return lines_plot(
        series,
        finding,
        [subtitle, f"every point is a certified interval; the widest is {widest:.1g} bits wide"],
        x_title="leakage allowed, I(X;Y) (bits)",
        y_title="disclosed about W (bits)",
    )


def schemes_plot(told: Mapping[str, float], total: float, n: int, subtitle: str = "") -> Any:
    """What each scheme tells about n samples, in bits, against all there is."""
    alt = altair()
    if not told or total <= 0:
        raise ProblemError("There is nothing to compare.", "Give the bits of each scheme, and the entropy of the data.")
    rows = [
        {"scheme": short(name), "bits": bits, "text": f"{number(bits)}  ({100 * bits / total:.0f} %)"}
        for name, bits in sorted(told.items(), key=lambda item: -item[1])
    ]
    base = chart_of(rows).encode(
        x=alt.X("bits:Q", title=f"told about {n} samples (bits)", scale=alt.Scale(domain=[0, total * 1.12])),
        y=alt.Y("scheme:N", sort=[row["scheme"] for row in rows], title=None),
    )
    everything = chart_of([{"bits": total, "text": f"H = {number(total)}"}]).encode(x="bits:Q")
    best = max(told, key=lambda name: told[name])
    return finished(
        alt.layer(
            base.mark_bar(color=BLUE, stroke=INK, strokeWidth=0.6, height={"band": 0.65}),
            base.mark_text(align="left", dx=5, color=INK).encode(text="text:N"),
            everything.mark_rule(color=INK, strokeDash=[5, 3]),
            everything.mark_text(color=INK, align="right", dx=-4, baseline="bottom", y=-3).encode(text="text:N"),
        ).properties(width=420, height=28 * len(rows) + 10),
        f"{best} tells most of {n} samples: {number(told[best])} of {number(total)} bits",
        [subtitle],
        width=640,
    )


def lines_plot(
    series: Sequence[Series],
    finding: str,
    notes: Sequence[str] = (),
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    rules: Mapping[str, float] | None = None,
    y_domain: tuple[float, float] | None = None,
) -> Any:
    """Lines told apart by dash, shape and a label at their end; horizontal rules with their names."""
    alt = altair()
    rules = dict(rules or {})
    places = [place for line in series for place in line.x]
    heights = [y for line in series for y in (*line.y, *(line.upper or ()))] + list(rules.values())
    low, high = y_domain or (min(0.0, *heights), max(heights) * 1.05 or 1.0)
    names = [line.name for line in series]
    rows: list[dict[str, Any]] = [
        {"series": line.name, "x": x, "y": y, "upper": (line.upper or line.y)[i]}
        for line in series
        for i, (x, y) in enumerate(zip(line.x, line.y, strict=True))
    ]
    x_scale = alt.Scale(type="log", domain=[min(places), max(places)], nice=False) if log_x else alt.Scale(nice=True)
    axis = alt.Axis(format="~s" if max(places) >= 1000 else "~g", tickCount=8)
    if log_x:
        axis = alt.Axis(format="~s", values=_ticks(min(places), max(places)))
    base = chart_of(rows).encode(x=alt.X("x:Q", scale=x_scale, title=x_title, axis=axis))
    y = alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=[low, high], nice=False))
    colour = alt.Color(
        "series:N", sort=names, scale=alt.Scale(domain=names, range=list(COLOURS)[: len(names)]), legend=None
    )
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=names, range=list(DASHES)[: len(names)]), legend=None)
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=list(SHAPES)[: len(names)]), legend=None)
    layers = []
    if any(row["upper"] > row["y"] for row in rows):
        layers.append(base.mark_area(opacity=0.2).encode(y=y, y2="upper:Q", color=colour))
    layers.append(base.mark_line(strokeWidth=1.8).encode(y=y, color=colour, strokeDash=dash))
    if len(rows) <= 80 * len(series):
        marked = chart_of(_thinned(rows, series)).encode(x=alt.X("x:Q", scale=x_scale))
        layers.append(marked.mark_point(filled=True, size=26, opacity=1).encode(y=y, color=colour, shape=shape))
    lines = [{"text": text, "y": value} for text, value in rules.items()]
    if lines:
        flat = chart_of(lines).encode(y=y)
        layers.append(flat.mark_rule(color=INK, strokeDash=[5, 3]))
        up = all(value < high * 0.93 for value in rules.values())
        layers.append(flat.mark_text(align="left", x=6, dy=-7 if up else 9, color=INK).encode(text="text:N"))
    labels = _labels(series, low, high) if len(series) > 1 else []
    if labels:
        ends = chart_of(labels).encode(
            y=alt.Y("place:Q", scale=alt.Scale(domain=[low, high], nice=False)), color=colour
        )
        layers.append(ends.mark_text(align="left", x=WIDTH + 8, clip=False).encode(text="text:N"))
        points = ends.mark_point(filled=True, size=40, opacity=1, x=WIDTH, shape="stroke").encode(shape=shape)
        layers.append(points)
    return finished(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT), finding, notes, width=WIDTH + 40)


def _thinned(rows: Sequence[Mapping[str, Any]], series: Sequence[Series]) -> list[Mapping[str, Any]]:
    """About a dozen marked points per line, so that shapes can be told apart."""
    kept = []
    for line in series:
        own = [row for row in rows if row["series"] == line.name]
        step = max(1, len(own) // 14) if len(series) > 1 else 1
        kept += own[::step] if len(own) < 2 or (len(own) - 1) % step == 0 else [*own[::step], own[-1]]
    return kept


def _labels(series: Sequence[Series], low: float, high: float) -> list[dict[str, Any]]:
    """A label at the end of each line, moved apart where two would touch."""
    gap = 14 / HEIGHT * (high - low)
    ranked = sorted(range(len(series)), key=lambda i: (-round(series[i].y[-1] / gap), -math.fsum(series[i].y)))
    ends = [(series[i].y[-1], i) for i in ranked]
    places: list[float] = []
    for value, _ in ends:
        places.append(min(value, places[-1] - gap) if places else value)
    under = low + gap / 2 - min(places)
    if under > 0:
        for k in reversed(range(len(places))):
            floor = low + gap / 2 if k == len(places) - 1 else places[k + 1] + gap
            places[k] = max(places[k], floor)
    return [
        {"series": series[i].name, "text": short(series[i].name, 44), "place": place, "y": value}
        for (value, i), place in zip(ends, places, strict=True)
    ]


def _ticks(first: float, last: float) -> list[float]:
    steps = [
        m * 10.0**e for e in range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1) for m in (1, 2, 5)
    ]
    return [step for step in steps if first <= step <= last]
