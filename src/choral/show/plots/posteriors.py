"""What a code says: the posteriors of the target as a strip; and the exact laws that pictures are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.display import counted, percent
from choral.design.result import Disclosure
from choral.problem.kernel import Variable
from choral.show.plots.channel import leading, left_out
from choral.show.plots.style import BLUE, INK, above, altair, chart_of, distinct, finished

MOST_VALUES = 20
"""Values of the target that get a colour or a column of their own."""
MOST_MARKS = 250
"""Codes that have a circle of their own."""


def posterior_plot(disclosure: Disclosure) -> Any:
    """p(w | y), a strip for each value w of the target, a circle for each code y (its area is p(y)), and the prior.

    A target of two values has one strip, that of the rarer: the other's is its mirror image. Beyond 20 values the most
    probable have strips, and the others together one more.
    """
    alt = altair()
    target = disclosure.problem.target
    prior, given = laws_of(disclosure, target)
    sets = leading(prior, MOST_VALUES) if len(prior) != 2 else [[min(range(2), key=prior.__getitem__)]]
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
        chart_of(rows)
        .mark_circle(color=BLUE, opacity=0.45, stroke=INK, strokeWidth=0.7, strokeOpacity=0.8)
        .encode(
            x=x,
            y=y,
            size=alt.Size(
                "weight:Q", scale=alt.Scale(domain=[0, max(weights)], range=[4, 260]), title="after: one code, p(y)"
            ),
        )
    )
    mark = chart_of(before).mark_tick(color=INK, thickness=3, height=26, opacity=1).encode(x=x, y=y)
    shown = range(len(prior)) if len(prior) != 2 else sets[0]
    most = max(shown, key=lambda v: max(law[v] for law in given) - min(law[v] for law in given))
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


def _grouped(sets: Sequence[Sequence[int]], count: int, name: str) -> str:
    if len(sets) == count or count == 2:
        return ""
    return f"{len(sets) - 1} of {count} values{f' of {name}' if name else ''} drawn alone"
