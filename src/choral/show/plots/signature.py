"""The idea in one picture: what the code tells of the target beside what it tells of everything protected, which is nothing.

Codes stand along the horizontal axis in the order of what they say, each as wide as it is probable: so a width is a share of
the records. At the left is the probability of a value of the target, given the code: it moves away from what was known
before. At the right, drawn in the same way from the same channel, is the probability of every protected value: straight
lines, because each is the same under every code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Any

from choral.design.result import Disclosure
from choral.problem.kernel import Variable
from choral.show.plots.channel import leading
from choral.show.plots.posteriors import drawn_codes, largest_move, laws_of, percent, points, value_names
from choral.show.plots.style import BLUE, COLOURS, GREY, INK, altair, counted, finished, short

MOST_TARGET_VALUES = 5
"""Lines at the left; a target of two values has one."""
MOST_VALUES = 6
"""Lines in a panel at the right."""
MOST_COLUMNS = 20
"""Panels at the right."""
MOST_STEMS = 60
"""Up to so many codes a stem leads from what was known before to each dot."""
HEIGHT = 240
"""Of the panel at the left, and of all at the right where they are few; in pixels."""
LEAST_HEIGHT = 44
"""Of a panel at the right: two lines and their labels."""
LABEL = 15
"""Pixels that a line of text needs."""


@dataclass(frozen=True)
class Guess:
    """How often the best guess at a variable is right: without the code, and with it."""

    name: str
    before: Fraction
    after: Fraction

    def __str__(self) -> str:
        if self.before == self.after:
            return f"{self.name} {percent(self.before)} either way"
        return f"{self.name} is guessed right {percent(self.after)} instead of {percent(self.before)}"


def guess_of(disclosure: Disclosure, variable: Variable) -> Guess:
    """The best guess at the target or at a protected group, in fractions.

    >>> import choral as ch
    >>> d = ch.disclose(ch.examples.xor())
    >>> [str(guess_of(d, variable)) for variable in (d.problem.target, d.problem.groups[0])]
    ['W is guessed right 100 % instead of 50 %', 'X1 50 % either way']
    """
    prior, given = laws_of(disclosure, variable)
    after = sum((mass * max(law) for mass, law in zip(disclosure.p_y, given, strict=True)), Fraction(0))
    return Guess(variable.name, max(prior), after)


def signature_plot(disclosure: Disclosure) -> Any:
    """Told at the left, hidden at the right, for any number of codes, of target values and of protected groups."""
    alt = altair()
    problem = disclosure.problem
    prior, given = laws_of(disclosure, problem.target)
    codes, laws = drawn_codes(disclosure, prior, given)
    leader = _most_moved(prior, given)[0]
    order = sorted(range(len(codes)), key=lambda i: (laws[i][leader], i))
    along = _Along.of(disclosure, [codes[i] for i in order])
    left = _told(alt, problem.target, prior, [laws[i] for i in order], along)
    groups = problem.groups[:MOST_COLUMNS]
    panels = []
    moves: dict[str, Fraction] = {}
    for number, group in enumerate(problem.groups):
        before, after = laws_of(disclosure, group)
        moves[group.name] = largest_move(before, after)
        if number < len(groups):
            _, drawn = drawn_codes(disclosure, before, after)
            panels.append(_hidden(alt, group, before, [drawn[i] for i in order], along, number, len(groups)))
    columns = 1 if len(panels) <= 4 else 2 if len(panels) <= 8 else 4
    right = alt.concat(*panels, columns=columns, spacing=16) if panels else None
    chart = left if right is None else alt.hconcat(left, right, spacing=48)
    return finished(chart, _finding(disclosure, moves), _notes(disclosure, moves, len(codes)), width=760)


@dataclass(frozen=True)
class _Along:
    """Where each code begins and ends on the axis of records."""

    edges: tuple[float, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, disclosure: Disclosure, codes: Sequence[Sequence[int]]) -> _Along:
        masses = [sum((disclosure.p_y[y] for y in members), Fraction(0)) for members in codes]
        edges = [Fraction(0), *accumulate(masses)]
        return cls(tuple(map(float, edges)), tuple(map(float, masses)))

    def steps(self, series: str, heights: Sequence[float]) -> list[dict[str, Any]]:
        """A line that is level over every code."""
        ends = [*heights, heights[-1]]
        return [{"value": series, "x": x, "p": p} for x, p in zip(self.edges, ends, strict=True)]

    def middles(self) -> list[float]:
        return [(a + b) / 2 for a, b in zip(self.edges, self.edges[1:], strict=False)]


def _told(
    alt: Any, target: Variable, prior: Sequence[Fraction], laws: Sequence[Sequence[Fraction]], along: _Along
) -> Any:
    chosen = _most_moved(prior, laws)[: 1 if len(prior) == 2 else MOST_TARGET_VALUES]
    names = dict(zip(chosen, value_names(target, [[v] for v in chosen]), strict=True))
    dots, lines, before = [], [], []
    for v in chosen:
        heights = [float(law[v]) for law in laws]
        lines += along.steps(names[v], heights)
        before.append({"value": names[v], "p": float(prior[v])})
        dots += [
            {"value": names[v], "x": x, "p": p, "weight": share, "before": float(prior[v])}
            for x, p, share in zip(along.middles(), heights, along.shares, strict=True)
        ]
    labels = list(names.values())
    y = alt.Y("p:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=alt.Axis(format=".0%", tickCount=5))
    x = _x(alt, "codes, in the order of what they tell; width: share of the records")
    colour = alt.Color(
        "value:N",
        sort=labels,
        scale=alt.Scale(domain=labels, range=list(COLOURS[: len(labels)])),
        title=None,
        legend=None if len(labels) == 1 else alt.Legend(orient="bottom", columns=2),
    )
    size = alt.Size("weight:Q", scale=alt.Scale(domain=[0, max(along.shares)], range=[8, 320]), legend=None)
    known = alt.Chart(alt.Data(values=before)).mark_rule(strokeDash=[4, 3], strokeWidth=1.2).encode(y=y, color=colour)
    curve = alt.Chart(alt.Data(values=lines)).mark_line(interpolate="step-after", strokeWidth=1, opacity=0.55)
    marks = alt.Chart(alt.Data(values=dots))
    layers = [known, curve.encode(x=x, y=y, color=colour)]
    if len(along.shares) <= MOST_STEMS and len(labels) == 1:
        layers.append(marks.mark_rule(color=BLUE, opacity=0.35).encode(x=x, y=y, y2="before:Q"))
    layers.append(
        marks.mark_circle(opacity=0.75, stroke=INK, strokeWidth=0.6).encode(x=x, y=y, size=size, color=colour)
    )
    first = labels[0] if len(labels) == 1 else f"each value, {len(labels)} of {len(prior)}"
    title = (
        f"told: {short(target.name, 24)} = {first}" if len(labels) == 1 else f"told: {short(target.name, 24)}, {first}"
    )
    note = f"before: {percent(prior[chosen[0]])}" if len(labels) == 1 else "dashed: before"
    return alt.layer(*layers).properties(width=330, height=HEIGHT, title=_heading(alt, short(title, 52), note))


def _hidden(
    alt: Any,
    group: Variable,
    prior: Sequence[Fraction],
    laws: Sequence[Sequence[Fraction]],
    along: _Along,
    number: int,
    count: int,
) -> Any:
    sets = leading(prior, MOST_VALUES)
    names = value_names(group, sets)
    height = max(LEAST_HEIGHT, (HEIGHT - 46 * (min(count, 4) - 1)) // min(count, 4))
    lines, ends = [], []
    for members, name in zip(sets, names, strict=True):
        heights = [float(sum((law[v] for v in members), Fraction(0))) for law in laws]
        lines += along.steps(name, heights)
        share = sum((prior[v] for v in members), Fraction(0))
        ends.append({"value": name, "x": 1.0, "p": float(share), "text": f"{short(name, 18)} {percent(share)}"})
    y = alt.Y("p:Q", scale=alt.Scale(domain=[0, 1]), title=None, axis=alt.Axis(format=".0%", values=[0, 0.5, 1]))
    drawn = alt.Chart(alt.Data(values=lines)).mark_line(
        interpolate="step-after", strokeWidth=2, color=COLOURS[number % len(COLOURS)]
    )
    words = alt.Chart(alt.Data(values=_apart(ends, height))).mark_text(
        align="left", dx=5, fontSize=10, color=INK, baseline="middle"
    )
    move = largest_move(prior, laws)
    heading = _heading(alt, f"hidden: {short(group.name, 30)}", "0, exactly" if not move else f"within {points(move)}")
    return (
        drawn.encode(x=_x(alt), y=y, detail="value:N") + words.encode(x=alt.X("x:Q"), y=y, text="text:N")
    ).properties(width=230 if count <= 8 else 120, height=height, title=heading)


def _apart(ends: list[dict[str, Any]], height: int) -> list[dict[str, Any]]:
    """The labels that do not lie on one another; the largest come first."""
    kept: list[dict[str, Any]] = []
    for end in sorted(ends, key=lambda end: -end["p"]):
        if all(abs(end["p"] - other["p"]) * height >= LABEL for other in kept):
            kept.append(end)
    return kept


def _x(alt: Any, title: str | None = None) -> Any:
    return alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1]),
        title=title,
        axis=alt.Axis(labels=False, ticks=False, grid=False, titleColor=GREY, titleFontSize=10),
    )


def _heading(alt: Any, title: str, note: str) -> Any:
    return alt.TitleParams(title, subtitle=note, fontSize=12, subtitleFontSize=11, subtitleColor=GREY, anchor="start")


def _most_moved(prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]) -> list[int]:
    """Values by how far codes move them; of two values, which move alike, the rarer first."""
    far = [max((abs(law[v] - p) for law in given), default=Fraction(0)) for v, p in enumerate(prior)]
    return sorted(range(len(prior)), key=lambda v: (-far[v], prior[v], v))


def _finding(disclosure: Disclosure, moves: dict[str, Fraction]) -> str:
    """In guesses: the target, then what is protected, by name where that is short."""
    problem = disclosure.problem
    told = guess_of(disclosure, problem.target)
    first = (
        str(told) if told.before != told.after else f"{told.name} is guessed right {percent(told.before)} either way"
    )
    private = [group for group in problem.groups if not moves[group.name]]
    said = [str(guess_of(disclosure, group)) for group in private[:3]]
    if len(private) > len(said):
        said.append(f"and {counted(len(private) - 3, 'more column')} as before")
    loose = [name for name, move in moves.items() if move]
    said += [f"{name} moves by up to {points(moves[name])}, as its budget allows" for name in loose[:2]]
    return "; ".join([first, ", ".join(said)] if said else [first])


def _notes(disclosure: Disclosure, moves: dict[str, Fraction], drawn: int) -> list[str]:
    problem = disclosure.problem
    undrawn = len(problem.groups) - MOST_COLUMNS
    return [
        f"{counted(disclosure.codes, 'code')}; a dot is a code, its area how often it is seen; dashed: known without it",
        "straight lines are exact: equality is decided in fractions, for every code" if not any(moves.values()) else "",
        *(
            f"also hidden from whoever knows {' and '.join(promise.known)}: {' and '.join(promise.hidden)}"
            for promise in problem.conditions[:3]
        ),
        f"{counted(undrawn, 'protected column')} more not drawn; the title is about all of them" if undrawn > 0 else "",
        ""
        if drawn == disclosure.codes
        else f"the {drawn - 1} most probable codes are drawn one by one, the others together",
    ]
