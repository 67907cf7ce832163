"""A channel p(y | state) as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.display import written
from choral.design.result import Disclosure
from choral.show.plots.style import INK, above, altair, counted, distinct, finished

MOST_CODES = 40
"""Rows of a heat map that can still be read on a page."""
MOST_STATES = 40
"""Columns of a heat map that can still be read on a page."""
MOST_NUMBERS = 400
"""Cells that have their number written in them."""


def channel_plot(disclosure: Disclosure) -> Any:
    """p(y | state), one row per state and one column per code; every row adds up to 1.

    Beyond 40 codes or states the most probable are drawn, and the others are one row or column more: "others" as a code
    is any of them, and as a state the average over them by their probability. Both are exact, and rows still add up to 1.
    """
    alt = altair()
    problem = disclosure.problem
    codes = leading(disclosure.p_y, MOST_CODES)
    states = leading([problem.prior_of(s) for s in range(problem.size)], MOST_STATES)
    code_names = [
        _set_name(group, disclosure.codes, "code", [str(y) for y in range(disclosure.codes)]) for group in codes
    ]
    names = state_names(disclosure)
    state_labels = [_set_name(group, problem.size, "state", names) for group in states]
    joint = disclosure.joint
    rows = []
    for group, label in zip(states, state_labels, strict=True):
        mass = sum((problem.prior_of(s) for s in group), Fraction(0))
        for members, name in zip(codes, code_names, strict=True):
            both = sum((joint[y].get(s, Fraction(0)) for y in members for s in group), Fraction(0))
            share = both / mass
            rows.append({"state": label, "code": name, "p": float(share), "text": _in_cell(share)})
    certain = sum(len(entries) == 1 for _, entries in disclosure.exact_channel.rows)
    step = 34 if len(codes) <= 12 else 18
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("code:N", sort=code_names, title="code y", axis=alt.Axis(labelAngle=-90 if len(codes) > 12 else 0)),
        y=alt.Y("state:N", sort=state_labels, title="state", axis=above()),
    )
    picture = base.mark_rect(stroke="#dddddd", strokeWidth=0.5).encode(
        color=alt.Color(
            "p:Q",
            scale=alt.Scale(domain=[0, 1], range=["#ffffff", "#9ecae1", "#08306b"], interpolate="lab"),
            title="p(y | state)",
            legend=alt.Legend(orient="bottom", gradientLength=200),
        )
    )
    if len(rows) <= MOST_NUMBERS and len(codes) <= 12:
        words = base.mark_text(fontSize=10).encode(
            text="text:N", color=alt.condition("datum.p > 0.55", alt.value("white"), alt.value(INK))
        )
        picture = picture + words
    if certain == problem.size:
        how = "every state has one code"
    elif certain:
        verb = "has" if certain == 1 else "have"
        how = f"{certain} of {counted(problem.size, 'state')} {verb} one certain code, the others draw lots"
    else:
        how = "every state draws lots between codes"
    width = step * len(codes)
    return finished(
        picture.properties(width=width, height=18 * len(states)),
        f"{counted(disclosure.codes, 'code')} for {counted(problem.size, 'state')}: {how}",
        [
            _columns_note(disclosure),
            left_out(len(codes), disclosure.codes, "codes"),
            left_out(len(states), problem.size, "states"),
        ],
        width=max(440, width + 220),
    )


def leading(masses: Sequence[Fraction], most: int) -> list[list[int]]:
    """Positions one by one, or the `most` - 1 of largest mass (in their order) and all others as one set.

    >>> leading([Fraction(1, 2), Fraction(1, 8), Fraction(3, 8)], 2)
    [[0], [1, 2]]
    """
    if len(masses) <= most:
        return [[i] for i in range(len(masses))]
    chosen = set(sorted(range(len(masses)), key=lambda i: (-masses[i], i))[: most - 1])
    return [*([i] for i in sorted(chosen)), [i for i in range(len(masses)) if i not in chosen]]


def state_names(disclosure: Disclosure) -> list[str]:
    """A short, distinct name for each state: its values, or its counts for exchangeable samples."""
    return distinct([disclosure.law.state_name(state) for state in disclosure.states])


def _columns_note(disclosure: Disclosure) -> str:
    if disclosure.law.counted:
        return "a state says how many samples have each value"
    columns = disclosure.problem.columns
    shown = ", ".join(columns[:5]) + (f", and {len(columns) - 5} more" if len(columns) > 5 else "")
    return f"a state is: {shown}"


def _set_name(group: Sequence[int], count: int, noun: str, names: Sequence[str]) -> str:
    return names[group[0]] if len(group) == 1 else f"{len(group)} other {noun}s"


def left_out(shown: int, count: int, noun: str) -> str:
    """A note where `leading` put some together."""
    return "" if shown == count else f"the {shown - 1} most probable {noun} are drawn one by one, the others together"


def _in_cell(share: Fraction) -> str:
    if not share:
        return "·"
    if text := written(share, 4):
        return text
    rounded = f"{float(share):.2f}"
    return {"0.00": "<.01", "1.00": ">.99"}.get(rounded, rounded[1:])
