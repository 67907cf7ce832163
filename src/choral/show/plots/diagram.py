"""A chain of channels as a diagram: columns of values, and a line for each transition that can happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from choral.describe.display import show
from choral.errors import TooLargeError
from choral.show.plots.style import BLUE, INK, PAPER, altair, chart_of, finished

MOST_VALUES = 12
"""Values in a column of a diagram whose arrows can still be followed."""


@dataclass(frozen=True)
class Stage:
    """One column of the diagram: a variable and its values, from top to bottom."""

    name: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Link:
    """p(to | from) for two values of neighbouring stages; `stage` is the one on the left, whichever way it goes."""

    stage: int
    left: Any
    right: Any
    p: Fraction
    from_right: bool = False


def diagram_plot(stages: Sequence[Stage], links: Sequence[Link], finding: str, notes: Sequence[str] = ()) -> Any:
    """Values as circles, transitions as lines labelled near the value that they start from."""
    alt = altair()
    tallest = max(len(stage.values) for stage in stages)
    if tallest > MOST_VALUES:
        raise TooLargeError(f"A diagram of {tallest} values is not readable.", f"Draw at most {MOST_VALUES}.")

    def place(stage: int, value: Any) -> float:
        values = stages[stage].values
        return values.index(value) - (len(values) - 1) / 2

    nodes: list[dict[str, Any]] = [
        {"x": i, "y": place(i, value), "text": str(value)} for i, stage in enumerate(stages) for value in stage.values
    ]
    lines, words = [], []
    for number, link in enumerate(links):
        left, right = place(link.stage, link.left), place(link.stage + 1, link.right)
        lines += [
            {"link": number, "x": link.stage, "y": left, "p": float(link.p)},
            {"link": number, "x": link.stage + 1, "y": right, "p": float(link.p)},
        ]
        near = 0.78 if link.from_right else 0.22
        words.append(
            {"x": link.stage + near, "y": left + near * (right - left), "text": show(link.p), "p": float(link.p)}
        )
    y = alt.Y(
        "y:Q", axis=None, scale=alt.Scale(domain=[-tallest / 2 - 0.15, tallest / 2 - 0.15], reverse=True, nice=False)
    )
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.2, len(stages) - 0.8], nice=False))
    base = chart_of(nodes).encode(x=x, y=y)
    label = chart_of(words).encode(x=x, y=y)
    heads = [{"x": i, "text": stage.name} for i, stage in enumerate(stages)]
    roomy = 900 if max(len(node["text"]) for node in nodes) <= 2 else 2900
    picture = alt.layer(
        chart_of(lines)
        .mark_line(color=BLUE, opacity=0.75)
        .encode(
            x=x,
            y=y,
            detail="link:N",
            strokeWidth=alt.StrokeWidth("p:Q", scale=alt.Scale(domain=[0, 1], range=[0.8, 4]), legend=None),
        ),
        label.mark_point(shape="square", filled=True, size=500, color=PAPER, opacity=0.9),
        label.mark_text(color=INK, fontSize=11).encode(text="text:N"),
        base.mark_point(filled=True, size=roomy, color=PAPER, stroke=INK, strokeWidth=1.3, opacity=1),
        base.mark_text(color=INK, fontSize=12).encode(text="text:N"),
        chart_of(heads)
        .mark_text(color=INK, fontSize=13, fontWeight="bold")
        .encode(x=x, y=alt.value(-4), text="text:N"),
    ).properties(width=210 * (len(stages) - 1) + 60, height=max(150, 95 * tallest))
    return finished(picture, finding, notes)
