"""Two small geometries of the paper: the segment of two binary samples, and the hypergraph of a support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from choral.describe.entropy import entropy_of
from choral.describe.examples import two_binary
from choral.describe.numbers import nonnegative
from choral.errors import TooLargeError
from choral.problem.hypergraph import Hypergraph
from choral.show.plots.style import COLOURS, DASHES, GREY, INK, PAPER, SHAPES, altair, chart_of, finished, number
from choral.theory.two_binary import two_binary_information

STEPS = 120
"""Points of a curve: no corner is seen at the size of a page."""
MOST_EDGES = 24
"""States of a hypergraph that can still be told apart."""
MOST_VERTICES = 12
"""Values in a part of a hypergraph that fit below each other."""


def segment_plot(alpha: Any, beta: Any, r: Any, targets: Mapping[str, Sequence[Any]]) -> Any:
    """The segment S of two binary samples, from a₁ to a₂, and H(W) along it, for one or several targets.

    Targets are P(W=1 | x1, x2) for the states 00, 01, 10, 11. Every private code is a point of the segment; the chord from
    end to end is the best mean of H(W|Y=y), and I_s is how far the curve is above it at p. The ends, and so the channel, are
    the same for every target.
    """
    alt = altair()
    two_binary(alpha, beta, r)  # refuses parameters that are no law
    a, b, c = (nonnegative(v, name) for v, name in ((alpha, "alpha"), (beta, "beta"), (r, "r")))
    R = min(a, 1 - b)
    curves: list[dict[str, Any]] = []
    chords: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    names = []
    for target, given in targets.items():
        ones = [nonnegative(p, "the target") for p in given]
        information = two_binary_information(a, b, c, [[1 - p for p in ones], ones])
        name = f"{target}: I_s = {number(information)}"
        names.append(name)
        rows = [segment_point(a, b, c, ones, -(R - c) + R * Fraction(i, STEPS)) for i in range(STEPS + 1)]
        curves += [{"target": name, "t": t, "bits": h} for t, h in rows]
        chords += [{"target": name, "t": t, "bits": h} for t, h in (rows[0], rows[-1])]
        here = segment_point(a, b, c, ones, Fraction(0))[1]
        gaps.append(
            {
                "target": name,
                "t": 0.0,
                "bits": here,
                "chord": here - information,
                "information": information,
            }
        )
    colour = alt.Color("target:N", scale=alt.Scale(domain=names, range=list(COLOURS)[: len(names)]), title=None)
    dash = alt.StrokeDash("target:N", scale=alt.Scale(domain=names, range=list(DASHES)[: len(names)]), title=None)
    x = alt.X("t:Q", title="place t on the segment p + t·(1, -1, -1, 1)", scale=alt.Scale(nice=False))
    y = alt.Y("bits:Q", title="H(W) at this place (bits)", scale=alt.Scale(zero=False))
    curve = chart_of(curves).mark_line(strokeWidth=2).encode(x=x, y=y, color=colour, strokeDash=dash)
    chord = chart_of(chords).encode(x=x, y=y, color=colour)
    heights = [row["bits"] for row in curves]
    ends = [
        {"t": float(c - R), "text": "a₁", "bits": min(heights)},
        {"t": 0.0, "text": "p", "bits": min(heights)},
        {"t": float(c), "text": "a₂", "bits": min(heights)},
    ]
    under = chart_of(ends).encode(x=x, y=y)
    shape = alt.Shape("target:N", scale=alt.Scale(domain=names, range=list(SHAPES)[: len(names)]), title=None)
    picture = alt.layer(
        under.mark_rule(color=GREY, strokeDash=[2, 3]).encode(y=alt.value(0), y2=alt.value(300)),
        curve,
        chord.mark_line(strokeWidth=1),
        chord.mark_point(filled=True, size=50, opacity=1).encode(shape=shape),
        *(
            chart_of([row]).mark_rule(strokeWidth=4, xOffset=6 * i).encode(x=x, y="bits:Q", y2="chord:Q", color=colour)
            for i, row in enumerate(gaps)
        ),
        under.mark_text(fontSize=13, color=INK).encode(y=alt.value(-9), text="text:N"),
    ).properties(width=460, height=300)
    told = " and ".join(number(gap["information"]) for gap in gaps)
    same = "one channel serves all targets" if len(names) > 1 else "two codes, the ends of the segment"
    notes = [f"α = {a}, β = {b}, r = {c}, R = {R}; p = {c / R}·a₁ + {1 - c / R}·a₂; the thick bars are I_s"]
    return finished(picture, f"{told} bits can be told, and {same}", notes)


def segment_point(a: Fraction, b: Fraction, r: Fraction, ones: Sequence[Fraction], t: Fraction) -> tuple[float, float]:
    """(t, H(W)) at p + t·(1, -1, -1, 1)."""
    states = (a - r + t, r - t, b - a + r - t, 1 - b - r + t)
    one = float(sum(p * x for p, x in zip(ones, states, strict=True)))
    return float(t), entropy_of((one, 1 - one))


def hypergraph_plot(graph: Hypergraph) -> Any:
    """The n-partite hypergraph: a column of vertices for each sample, and each state a line through its values.

    Lines that share a vertex are drawn a little apart. At most 24 states and 12 values of a sample.
    """
    alt = altair()
    parts = list(dict.fromkeys(part for part, _ in graph.vertices))
    places = {
        v: (parts.index(part), sum(p == part for p, _ in graph.vertices[:v]))
        for v, (part, _) in enumerate(graph.vertices)
    }
    tallest = max(height for _, height in places.values()) + 1
    if len(graph.edges) > MOST_EDGES or tallest > MOST_VERTICES:
        raise TooLargeError(
            f"A hypergraph of {len(graph.edges)} states and up to {tallest} values of a sample is not readable.",
            f"Draw at most {MOST_EDGES} states and {MOST_VERTICES} values; the incidence matrix has all of them.",
        )
    vertices = [
        {"x": places[v][0], "y": places[v][1], "text": str(value)} for v, (part, value) in enumerate(graph.vertices)
    ]
    lines = []
    for e, (edge, state) in enumerate(zip(graph.edges, graph.states, strict=True)):
        shift = 0.34 * (e / max(1, len(graph.edges) - 1) - 0.5)
        label = ", ".join(map(str, state))
        lines += [{"state": label, "edge": e, "x": places[v][0], "y": places[v][1] + shift} for v in edge]
    states = list(dict.fromkeys(line["state"] for line in lines))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.6, tallest - 0.4], reverse=True, nice=False))
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.45, len(parts) - 0.55], nice=False))
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(states))]
    dashes = [DASHES[(i // len(COLOURS) + i) % len(DASHES)] for i in range(len(states))]
    legend = alt.Legend(symbolStrokeWidth=2, columns=1 if len(states) <= 12 else 2, symbolSize=500)
    title = f"states ({', '.join(parts)})"
    picture = alt.layer(
        chart_of(lines)
        .mark_line(strokeWidth=1.6, interpolate="monotone")
        .encode(
            x=x,
            y=y,
            detail="edge:N",
            color=alt.Color(
                "state:N", sort=states, scale=alt.Scale(domain=states, range=colours), title=title, legend=legend
            ),
            strokeDash=alt.StrokeDash(
                "state:N", sort=states, scale=alt.Scale(domain=states, range=dashes), title=title, legend=legend
            ),
        ),
        chart_of(vertices)
        .mark_point(filled=True, size=1700, color=PAPER, stroke=INK, strokeWidth=1.4, opacity=1)
        .encode(x=x, y=y),
        chart_of(vertices).mark_text(color=INK, fontSize=12).encode(x=x, y=y, text="text:N"),
        chart_of([{"x": i, "text": part} for i, part in enumerate(parts)])
        .mark_text(color=INK, fontSize=12, fontWeight="bold")
        .encode(x=x, y=alt.value(2), text="text:N"),
    ).properties(width=max(260, 190 * (len(parts) - 1) + 120), height=max(150, 105 * tallest))
    finding = (
        f"{len(graph.states)} states are {len(graph.edges)} hyperedges, each through one value of each of "
        f"{len(parts)} samples; {len(graph.vertices)} vertices"
    )
    return finished(
        picture, finding, ["a private code weighs the lines anew, and leaves the weight at every vertex as it is"]
    )
