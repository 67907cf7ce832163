"""A channel p(y | state) as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.display import counted, written
from choral.design.result import Disclosure
from choral.show.plots.style import BLUE, INK, ON_BLUE, RULE, altair, chart_of, distinct, finished, short

MOST_CODES = 40
"""Rows of a heat map that can still be read on a page."""
MOST_STATES = 40
"""Columns of a heat map that can still be read on a page."""
MOST_WORDS = 6
"""Columns of a state that are written beside it."""
LONGEST = 16
"""Letters of a value beside the heat map."""
LETTER = 6
"""Pixels that a small letter takes, about."""
BLANK = 0.005
"""Probabilities below it are left blank: what is rounded to 0.00 is not to be seen."""
MOST_NUMBERS = 400
"""Cells that have their number written in them."""


def channel_plot(disclosure: Disclosure, used: Sequence[str] = (), order: Sequence[int] | None = None) -> Any:
    """p(y | state), one row per state, with a column for each of its values, and one column per code; rows add up to 1.

    Codes stand in the given order, and states in that of the codes that they get, so that the structure shows; what is below
    0.005 is blank. Beyond 40 codes or states the most probable are drawn, and the others are one row or column more: "others"
    as a code is any of them, and as a state the average over them by their probability. Both are exact.
    `used` names what a state of a release is made of.
    """
    alt = altair()
    problem = disclosure.problem
    codes = leading(disclosure.p_y, MOST_CODES)
    if order is not None:
        place = {y: i for i, y in enumerate(order)}
        codes = sorted(codes, key=lambda members: (len(members) > 1, place[members[0]]))
    states = leading([problem.prior_of(s) for s in range(problem.size)], MOST_STATES)
    code_names = [
        _set_name(group, disclosure.codes, "code", [str(y) for y in range(disclosure.codes)]) for group in codes
    ]
    names = state_names(disclosure)
    heads, cells = state_cells(disclosure, used)
    joint = disclosure.joint
    shares: dict[int, list[Fraction]] = {}
    for i, group in enumerate(states):
        mass = sum((problem.prior_of(s) for s in group), Fraction(0))
        both = [sum((joint[y].get(s, Fraction(0)) for y in members for s in group), Fraction(0)) for members in codes]
        shares[i] = [one / mass for one in both]
    middle = {i: sum((k * p for k, p in enumerate(row)), Fraction(0)) for i, row in shares.items()}
    rank = sorted(shares, key=lambda i: (len(states[i]) > 1, middle[i], i))
    rows, words = [], []
    widths = _widths(heads, [cells[states[i][0]] for i in rank if len(states[i]) == 1])
    labels = [_set_name(states[i], problem.size, "state", names) for i in rank]
    for i, label in zip(rank, labels, strict=True):
        rows += [
            {"state": label, "code": name, "p": float(share), "text": _in_cell(share)}
            for name, share in zip(code_names, shares[i], strict=True)
        ]
        texts = cells[states[i][0]] if len(states[i]) == 1 else [label]
        for k, text in enumerate(texts[: len(widths)]):
            most = widths[k] // LETTER if len(texts) > 1 else sum(widths) // LETTER
            words.append({"state": label, "x": sum(widths[:k]), "text": short(text, max(4, most - 1))})
    certain = sum(len(entries) == 1 for _, entries in disclosure.exact_channel.rows)
    step = 34 if len(codes) <= 12 else 18
    y = alt.Y("state:N", sort=labels, title=None, axis=None)
    base = chart_of(rows).encode(
        x=alt.X("code:N", sort=code_names, title="code", axis=alt.Axis(labelAngle=-90 if len(codes) > 12 else 0)), y=y
    )
    picture = base.mark_rect(color=BLUE, stroke=RULE, strokeWidth=0.4, strokeOpacity=0.6).encode(
        fillOpacity=alt.condition(
            f"datum.p < {BLANK}",
            alt.value(0),
            alt.FillOpacity("p:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None),
        )
    )
    if len(rows) <= MOST_NUMBERS and len(codes) <= 12:
        picture = picture + base.mark_text(fontSize=10).encode(
            text="text:N", color=alt.condition("datum.p > 0.6", alt.value(ON_BLUE), alt.value(INK))
        )
    if certain == problem.size:
        how = "every state has one code"
    elif certain:
        verb = "has" if certain == 1 else "have"
        how = f"{certain} of {counted(problem.size, 'state')} {verb} one certain code, the others draw lots"
    else:
        how = "every state draws lots between codes"
    width, height = step * len(codes), 18 * len(states)
    left = _words(alt, heads, widths, words, y, height)
    return finished(
        alt.hconcat(left, picture.properties(width=width, height=height), spacing=4),
        f"{counted(disclosure.codes, 'code')} for {counted(problem.size, 'state')}: {how}",
        [
            "a row is a state: the darker a field, the likelier the code; blank is below 0.005",
            _columns_note(disclosure, len(used) or len(problem.columns)),
            left_out(len(codes), disclosure.codes, "codes"),
            left_out(len(states), problem.size, "states"),
        ],
        width=max(440, width + sum(widths)),
    )


def _words(
    alt: Any, heads: Sequence[str], widths: Sequence[int], words: list[dict[str, Any]], y: Any, height: int
) -> Any:
    """The values of every state as columns of text, with the columns' names above."""
    across = sum(widths)
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, across]), axis=None)
    texts = chart_of(words).mark_text(align="left", fontSize=10, color=INK).encode(x=x, y=y, text="text:N")
    names = [
        {"x": sum(widths[:k]), "text": short(head, max(4, width // LETTER - 1))}
        for k, (head, width) in enumerate(zip(heads, widths, strict=False))
    ]
    above = chart_of(names).mark_text(align="left", fontSize=10, fontWeight="bold", color=INK, dy=-9)
    return (texts + above.encode(x=x, y=alt.value(0), text="text:N")).properties(width=across, height=height)


def _widths(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Pixels of each column of text: as wide as its words, up to a third of the room."""
    return [
        LETTER * (2 + min(LONGEST, max([len(head), *(len(row[k]) for row in rows)], default=4)))
        for k, head in enumerate(heads[:MOST_WORDS])
    ]


def state_cells(disclosure: Disclosure, used: Sequence[str] = ()) -> tuple[list[str], list[list[str]]]:
    """The names of what a state is made of, and for every state its values as words.

    A release that merges rare combinations has states that are tuples of the used values, or rare ones: `used` names them.
    """
    problem = disclosure.problem
    if disclosure.law.counted:
        return ["samples"], [[disclosure.law.state_name(state)] for state in disclosure.states]
    columns = list(problem.columns)
    tupled = [
        k
        for k in range(len(columns))
        if any(isinstance(state[k], tuple) and len(state[k]) == len(used) for state in disclosure.states)
    ]
    if not used or not tupled:
        return columns, [[str(value) for value in state] for state in disclosure.states]
    rows = []
    for state in disclosure.states:
        inner, known = state[tupled[0]], dict(zip(columns, state, strict=True))
        if isinstance(inner, tuple):
            rows.append([str(value) for value in inner])
        else:
            rows.append([str(known.get(name, inner)) for name in used])
    return list(used), rows


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


def _columns_note(disclosure: Disclosure, columns: int) -> str:
    if disclosure.law.counted:
        return "a state says how many samples have each value"
    return (
        f"of the columns of a state {MOST_WORDS} are written, and {columns - MOST_WORDS} more are not"
        if columns > MOST_WORDS
        else ""
    )


def _set_name(group: Sequence[int], count: int, noun: str, names: Sequence[str]) -> str:
    return names[group[0]] if len(group) == 1 else f"{len(group)} other {noun}s"


def left_out(shown: int, count: int, noun: str) -> str:
    """A note where `leading` put some together."""
    return "" if shown == count else f"the {shown - 1} most probable {noun} are drawn one by one, the others together"


def _in_cell(share: Fraction) -> str:
    if share < BLANK:
        return ""
    if text := written(share, 4):
        return text
    rounded = f"{float(share):.2f}"
    return ">.99" if rounded == "1.00" else rounded[1:]
