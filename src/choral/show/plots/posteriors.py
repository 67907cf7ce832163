"""What a code says: the posteriors of the target as a strip; and before and after, for what is protected too."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.design.result import Disclosure
from choral.problem.kernel import Variable
from choral.show.plots.channel import leading, left_out
from choral.show.plots.style import BLUE, INK, above, altair, counted, distinct, finished, number, short

MOST_VALUES = 20
"""Values of the target that get a colour or a column of their own."""
MOST_COLUMNS = 12
"""Protected groups drawn beside the target."""
MOST_BARS = 8
"""Values in a panel of bars."""
FEW_CODES = 12
"""Up to this many codes each has a bar of its own."""
MOST_MARKS = 250
"""Codes that have a circle of their own."""
FINEST = 600
"""Where there are many codes, ticks that fall on the same place of so many are drawn once."""


def posterior_plot(disclosure: Disclosure) -> Any:
    """p(w | y), a strip for each value w of the target, a circle for each code y (its area is p(y)), and the prior.

    Beyond 20 values the most probable have strips, and the others together one more.
    """
    alt = altair()
    target = disclosure.problem.target
    prior, given = laws_of(disclosure, target)
    sets = leading(prior, MOST_VALUES)
    labels = value_names(target, sets)
    codes, laws = drawn_codes(disclosure, prior, given)
    weights = [float(sum(disclosure.p_y[y] for y in members)) for members in codes]
    rows = [
        {"value": label, "code": members[0], "p": float(sum(law[v] for v in group)), "weight": weight}
        for group, label in zip(sets, labels, strict=True)
        for members, law, weight in zip(codes, laws, weights, strict=True)
    ]
    before = [
        {"value": label, "p": float(sum(prior[v] for v in group))} for group, label in zip(sets, labels, strict=True)
    ]
    y = alt.Y("value:N", sort=labels, title="value", axis=above())
    x = alt.X("p:Q", scale=alt.Scale(domain=[0, 1]), title="probability", axis=alt.Axis(format=".1f"))
    after = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(color=BLUE, opacity=0.45, stroke=INK, strokeWidth=0.7, strokeOpacity=0.8)
        .encode(
            x=x,
            y=y,
            size=alt.Size(
                "weight:Q", scale=alt.Scale(domain=[0, max(weights)], range=[4, 260]), title="after: one code, p(y)"
            ),
        )
    )
    mark = alt.Chart(alt.Data(values=before)).mark_tick(color=INK, thickness=3, height=26, opacity=1).encode(x=x, y=y)
    most = max(range(len(prior)), key=lambda v: max(law[v] for law in given) - min(law[v] for law in given))
    low, high = (float(pick(law[most] for law in given)) for pick in (min, max))
    moved = f"from {percent(prior[most])} to between {percent(low)} and {percent(high)}"
    name = f"P({target.name} = {_value(target, most)})"
    finding = f"Seeing the code moves {name} {moved}" if low < high else f"No code says anything about {target.name}"
    note = f"{counted(disclosure.codes, 'code')}; the black bar is the prior: what is known without the code"
    return finished(
        (after + mark).properties(width=480, height=34 * len(sets)),
        finding,
        [note, left_out(len(codes), disclosure.codes, "codes"), _grouped(sets, len(prior), target.name)],
    )


def before_after_plot(disclosure: Disclosure) -> Any:
    """The law of each protected column, before and after seeing a code, beside that of the target.

    The code drawn is `most_telling`; a tick marks every code. For a protected column all
    ticks fall on the end of the bar: whether they do is decided in fractions, and the title says what was found.
    """
    alt = altair()
    problem = disclosure.problem
    target, groups = problem.target, problem.groups[:MOST_COLUMNS]
    laws = {group.name: laws_of(disclosure, group) for group in problem.groups}
    before, given = laws_of(disclosure, target)
    chosen = most_telling(disclosure.p_y, before, given)
    moved = {name: largest_move(*pair) for name, pair in laws.items()}
    panels = [_panel(alt, group, *laws[group.name], chosen, f"private: {group.name}") for group in groups]
    right = _panel(alt, target, before, given, chosen, f"told: {target.name}")
    leaks = {name: size for name, size in moved.items() if size}
    if not leaks:
        count = len(moved)
        few = {1: "The protected column is", 2: "Both protected columns are"}
        many = few.get(count, f"All {count} protected columns are")
        said = f"{many} exactly as before, whatever code is seen"
    else:
        worst = max(leaks, key=lambda name: leaks[name])
        said = f"{worst} moves by up to {points(leaks[worst])}, as its budget allows"
    told = largest_move(before, given)
    undrawn = len(problem.groups) - len(groups)
    notes = [
        f"bars: the law before, and after code {chosen}, which tells most; ticks: each of {counted(len(given), 'code')}",
        "equality is decided in exact fractions, for every code" if not leaks else "",
        f"{counted(undrawn, 'protected column')} more not drawn; the title is about all of them" if undrawn > 0 else "",
    ]
    chart = alt.hconcat(alt.concat(*panels, columns=1 if len(panels) <= 4 else 2, spacing=14), right, spacing=40)
    finding = f"{said}; {target.name} moves by up to {points(told)}" if told else f"{said}; so is {target.name}"
    return finished(chart, finding, notes, width=760)


def laws_of(disclosure: Disclosure, variable: Variable) -> tuple[list[Fraction], list[list[Fraction]]]:
    """p(v), and p(v | y) for each code, of the target or a protected group: exact.

    >>> import choral as ch
    >>> d = ch.disclose(ch.examples.xor())
    >>> before, after = laws_of(d, d.problem.groups[0])
    >>> all(law == before for law in after), [[str(p) for p in law] for law in laws_of(d, d.problem.target)[1]]
    (True, [['1', '0'], ['0', '1']])
    """
    problem = disclosure.problem
    cells = variable.by_state(problem.size)
    prior = [Fraction(weight, problem.total) for weight in variable.marginal]
    given = []
    for code, total in zip(disclosure.joint, disclosure.p_y, strict=True):
        row = [Fraction(0)] * len(variable.values)
        for s, mass in code.items():
            for v, weight in cells[s]:
                row[v] += mass if weight == problem.weights[s] else mass * Fraction(weight, problem.weights[s])
        given.append([p / total for p in row])
    return prior, given


def drawn_codes(
    disclosure: Disclosure, prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]
) -> tuple[list[list[int]], list[Sequence[Fraction]]]:
    """The codes that are marked one by one, the others as one set at the end, and the law given each.

    What is given the others follows from the rest: all codes together say what is known without them.
    """
    codes = leading(disclosure.p_y, MOST_MARKS)
    return codes, [
        given[members[0]] if len(members) == 1 else others(disclosure, prior, given, codes) for members in codes
    ]


def others(
    disclosure: Disclosure,
    prior: Sequence[Fraction],
    given: Sequence[Sequence[Fraction]],
    codes: Sequence[Sequence[int]],
) -> list[Fraction]:
    """The law given one of the last set of codes: the prior less what the codes before it, one by one, account for."""
    alone = [members[0] for members in codes[:-1]]
    mass = 1 - sum((disclosure.p_y[y] for y in alone), Fraction(0))
    return [
        (p - sum((disclosure.p_y[y] * given[y][v] for y in alone), Fraction(0))) / mass for v, p in enumerate(prior)
    ]


def largest_move(prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]) -> Fraction:
    """The largest |p(v | y) - p(v)| over values and codes: 0 exactly when no code says anything about it."""
    return max((abs(p - q) for law in given for p, q in zip(law, prior, strict=True)), default=Fraction(0))


def most_telling(p_y: Sequence[Fraction], prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]) -> int:
    """The code that moves the target farthest, times how often it is seen; ties go to the first."""
    far = [
        mass * sum(abs(p - q) for p, q in zip(law, prior, strict=True)) for mass, law in zip(p_y, given, strict=True)
    ]
    return far.index(max(far))


def percent(share: Fraction | float) -> str:
    """A probability as people say it.

    >>> percent(Fraction(1, 3)), percent(0.5), percent(0.0004), percent(1e-15), percent(0.99999)
    ('33.3 %', '50 %', '0.04 %', '< 0.01 %', '> 99.9 %')
    """
    value = 100 * float(share)
    if 0 < value < 0.01 or 99.95 <= value < 100:
        return "< 0.01 %" if value < 1 else "> 99.9 %"
    return f"{number(round(value, 1) if value >= 0.1 else value)} %"


def points(share: Fraction | float) -> str:
    """A difference of probabilities as people say it.

    >>> points(Fraction(1, 8))
    '12.5 percentage points'
    """
    return f"{percent(share).removesuffix(' %')} percentage points"


def value_names(variable: Variable, sets: Sequence[Sequence[int]]) -> list[str]:
    """Labels of values, and of the set of others."""
    return distinct(
        [_value(variable, group[0]) if len(group) == 1 else f"{len(group)} other values" for group in sets], 26
    )


def _value(variable: Variable, v: int) -> str:
    value = variable.values[v]
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join(map(str, value)) if len(variable.columns) > 1 or len(value) > 1 else str(value[0])


def _panel(
    alt: Any,
    variable: Variable,
    prior: Sequence[Fraction],
    given: Sequence[Sequence[Fraction]],
    chosen: int,
    title: str,
) -> Any:
    after = f"after code {chosen}"
    sets = leading(prior, MOST_BARS)
    labels = value_names(variable, sets)
    bars, ticks, few = [], [], len(given) <= FEW_CODES
    for group, label in zip(sets, labels, strict=True):
        for when, law in (("before", prior), (after, given[chosen])):
            p = sum((law[v] for v in group), Fraction(0))
            bars.append({"value": label, "when": when, "p": float(p), "text": percent(p)})
        places: dict[float, tuple[int, float]] = {}
        for y, law in enumerate(given):
            p_given = float(sum(law[v] for v in group))
            places.setdefault(p_given if few else round(p_given * FINEST), (y, p_given))
        ticks += [{"value": label, "when": after, "code": y, "p": p_given} for y, p_given in places.values()]
    y = alt.Y("value:N", sort=labels, title=None)
    offset = alt.YOffset("when:N", sort=["before", after])
    x = alt.X("p:Q", scale=alt.Scale(domain=[0, 1]), title="probability", axis=alt.Axis(tickCount=5, format=".1f"))
    colour = alt.Color(
        "when:N",
        sort=["before", after],
        scale=alt.Scale(domain=["before", after], range=["#e6e6e6", "#7fb2dc"]),
        title=None,
        legend=alt.Legend(orient="bottom"),
    )
    base = alt.Chart(alt.Data(values=bars)).encode(x=x, y=y, yOffset=offset)
    drawn = base.mark_bar(stroke=INK, strokeWidth=0.6).encode(color=colour)
    halo = base.mark_text(align="left", dx=5, fontSize=10, stroke="white", strokeWidth=4).encode(text="text:N")
    words = base.mark_text(align="left", dx=5, fontSize=10, color=INK).encode(text="text:N")
    marks = (
        alt.Chart(alt.Data(values=ticks))
        .mark_tick(color=INK, thickness=2 if few else 1, height=12, orient="vertical", opacity=1 if few else 0.3)
        .encode(x=x, y=y, yOffset=offset)
    )
    note = _grouped(sets, len(prior), "")
    heading = alt.TitleParams(
        short(title, 34) + (f" ({note})" if note else ""), fontSize=12, anchor="start", frame="group"
    )
    return (drawn + marks + halo + words).properties(width=250, height=32 * len(sets), title=heading)


def _grouped(sets: Sequence[Sequence[int]], count: int, name: str) -> str:
    if len(sets) == count:
        return ""
    return f"{len(sets) - 1} of {count} values{f' of {name}' if name else ''} drawn alone"
