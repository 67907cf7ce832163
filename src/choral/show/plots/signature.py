"""The idea in one picture: what the code tells of the target beside what it tells of everything protected, which is nothing.

At the left is the probability of a value of the target, given each code: it moves away from what was known before. Of a code
for decisions it also has what the code advises; of a numeric target, its mean. At the right, from the same channel, is the
probability of every protected value: straight lines, because each is the same under every code; for a promise to somebody who
knows another column, a line for every value of that column; within a budget, a band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from choral.describe.display import counted, percent
from choral.design.result import Disclosure
from choral.problem.kernel import Conditional, Variable
from choral.problem.utility import Decisions, Squares
from choral.release.meaning import in_its_unit
from choral.show.plots.channel import leading
from choral.show.plots.posteriors import drawn_codes, largest_move, laws_of, points, value_names
from choral.show.plots.style import short
from choral.show.plots.two_sides import WIDE, Left, Line, Panel, Picture, Series, draw

MOST_TARGET_VALUES = 5
"""Lines at the left; a target of two values has one."""
MOST_VALUES = 6
"""Lines in a panel at the right."""
LONGEST_NAME = 32
"""Letters of a name in a sentence."""
MOST_COLUMNS = 20
"""Panels at the right."""


@dataclass(frozen=True)
class Guess:
    """How often the best guess at a variable is right: without the code, and with it."""

    name: str
    before: Fraction
    after: Fraction

    def __str__(self) -> str:
        if self.before == self.after:
            return f"{self.name} {percent(self.before)} either way"
        if percent(self.before) == percent(self.after):
            return f"{self.name} is guessed right a little more often than {percent(self.before)}"
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
    return Guess(short(variable.name, LONGEST_NAME), max(prior), after)


def signature_plot(disclosure: Disclosure, width: int = WIDE, titled: bool = True) -> Any:
    """Told at the left, hidden at the right, for any number of codes, of target values and of protected groups.

    Below 560 pixels the sides stand below each other. Untitled, the finding is left to the page (`signature_of`).
    """
    return draw(signature_of(disclosure), width, titled)


def signature_of(disclosure: Disclosure) -> Picture:
    """What the picture of a disclosure says and shows."""
    problem = disclosure.problem
    prior, given = laws_of(disclosure, problem.target)
    codes, laws = drawn_codes(disclosure, prior, given)
    order = order_of_codes(disclosure, prior, laws)
    shares = tuple(float(sum((disclosure.p_y[y] for y in codes[i]), Fraction(0))) for i in order)
    left = _told(disclosure, prior, [laws[i] for i in order], shares, [codes[i] for i in order])
    moves: dict[str, Fraction] = {}
    panels = []
    for group in problem.groups:
        before, after = laws_of(disclosure, group)
        moves[group.name] = largest_move(before, after)
        panels.append(_hidden(group, before, after))
    panels += [_given(disclosure, promise) for promise in problem.conditions]
    cut = tuple(panels[:MOST_COLUMNS])
    return Picture(finding(disclosure, moves), _notes(disclosure, moves, len(codes), len(panels)), left, cut)


def order_of_codes(disclosure: Disclosure, prior: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> list[int]:
    """Codes in the order of what they say: of the value that they move most, or of the mean where that is the purpose."""
    utility = disclosure.problem.utility
    if isinstance(utility, Squares):
        means = [sum((p * x for p, x in zip(law, utility.numbers, strict=True)), Fraction(0)) for law in laws]
        return sorted(range(len(laws)), key=lambda i: (means[i], i))
    leader = _most_moved(prior, laws)[0]
    return sorted(range(len(laws)), key=lambda i: (laws[i][leader], i))


def _told(
    disclosure: Disclosure,
    prior: Sequence[Fraction],
    laws: Sequence[Sequence[Fraction]],
    shares: tuple[float, ...],
    codes: Sequence[Sequence[int]],
) -> Left:
    target, utility = disclosure.problem.target, disclosure.problem.utility
    name = short(target.name, 24)
    if isinstance(utility, Squares):
        mean = [sum((p * x for p, x in zip(law, utility.numbers, strict=True)), Fraction(0)) for law in (prior, *laws)]
        means = Series(f"mean of {name}", float(mean[0]), tuple(map(float, mean[1:])))
        return Left(f"told: mean of {name}", f"before: {float(mean[0]):.4g}", (means,), shares, share=False)
    advice: tuple[str, ...] = ()
    if isinstance(utility, Decisions) and disclosure.actions is not None:
        actions = disclosure.actions
        advice = tuple(short(_word(actions[c[0]]), 20) if len(c) == 1 else "several" for c in codes)
    chosen = _most_moved(prior, laws)[: 1 if len(prior) == 2 or advice else MOST_TARGET_VALUES]
    names = value_names(target, [[v] for v in chosen])
    series = tuple(
        Series(label, float(prior[v]), tuple(float(law[v]) for law in laws))
        for v, label in zip(chosen, names, strict=True)
    )
    if len(chosen) == 1:
        return Left(f"told: {name} = {names[0]}", f"before: {percent(prior[chosen[0]])}", series, shares, advice)
    every = "each value" if len(chosen) == len(prior) else f"{len(chosen)} of {len(prior)} values"
    return Left(f"told: {name}, {every}", "dashed: before", series, shares)


def _hidden(group: Variable, prior: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> Panel:
    sets = leading(prior, MOST_VALUES)
    lines = []
    for members, name in zip(sets, value_names(group, sets), strict=True):
        heights = [sum((law[v] for v in members), Fraction(0)) for law in laws]
        share = sum((prior[v] for v in members), Fraction(0))
        lines.append(Line(name, float(share), float(min(heights)), float(max(heights)), percent(share)))
    move = largest_move(prior, laws)
    note = "0, exactly" if not move else f"within {points(move)}"
    brief = f"{percent(max(prior))} either way" if not move else note.replace(" percentage points", " points")
    return Panel(f"hidden: {short(group.name, 40)}", note, tuple(lines), brief)


def _given(disclosure: Disclosure, promise: Conditional) -> Panel:
    """For a promise `Z | V`, a line for every v: the probability of the commonest z, to who knows v and sees a code."""
    prior, given = laws_of(disclosure, promise.both)
    totals: dict[int, Fraction] = {}
    hidden: dict[int, Any] = {}
    for i, (v, p) in enumerate(zip(promise.given, prior, strict=True)):
        if v >= 0:
            totals[v] = totals.get(v, Fraction(0)) + p
            hidden[i] = _parts(promise.both, i, promise.hidden)
    weights: dict[Any, Fraction] = {}
    for i, z in hidden.items():
        weights[z] = weights.get(z, Fraction(0)) + prior[i]
    common = max(weights, key=lambda z: weights[z])
    chosen = sorted((v for v in totals if totals[v]), key=lambda v: -totals[v])[:MOST_VALUES]
    lines, worst = [], Fraction(0)
    for v in totals:
        cells = [i for i, z in hidden.items() if promise.given[i] == v]
        mine = [i for i in cells if hidden[i] == common]
        every = [_share(law, mine, cells) for law in (prior, *given)]
        level, *codes = [share for share in every if share is not None]
        worst = max([worst, *(abs(share - level) for share in codes)])
        if v in chosen:
            name = _words(_parts(promise.both, cells[0], promise.known))
            lines.append(Line(name, float(level), float(min(codes)), float(max(codes)), percent(level)))
    note = "0, exactly" if not worst else f"within {points(worst)}"
    known = promise.name.partition(" | ")[2]
    heading = f"hidden: {short('+'.join(promise.hidden), 24)} = {short(_words(common), 16)}"
    return Panel(heading, f"from who knows {short(known, 24)}: {note}", tuple(lines))


def _share(law: Sequence[Fraction], mine: Sequence[int], cells: Sequence[int]) -> Fraction | None:
    """Of the probability of some cells, that of a part of them; None where there is none."""
    whole = sum((law[i] for i in cells), Fraction(0))
    return sum((law[i] for i in mine), Fraction(0)) / whole if whole else None


def _parts(both: Variable, i: int, names: Sequence[str]) -> tuple[Any, ...]:
    value = both.values[i]
    parts = value if isinstance(value, tuple) and len(both.columns) > 1 else (value,)
    return tuple(part for name, part in zip(both.columns, parts, strict=True) if name in names)


def _words(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _word(action: Any) -> str:
    return str(action[0]) if isinstance(action, tuple) and len(action) == 1 else str(action)


def _most_moved(prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]) -> list[int]:
    """Values by how far codes move them; of two values, which move alike, the rarer first."""
    far = [max((abs(law[v] - p) for law in given), default=Fraction(0)) for v, p in enumerate(prior)]
    return sorted(range(len(prior)), key=lambda v: (-far[v], prior[v], v))


def finding(disclosure: Disclosure, moves: dict[str, Fraction] | None = None) -> str:
    """In guesses, or in the unit of the purpose: the target, then what is protected, by name where that is short."""
    problem = disclosure.problem
    if moves is None:
        moves = {group.name: largest_move(*laws_of(disclosure, group)) for group in problem.groups}
    told = guess_of(disclosure, problem.target)
    first = str(told)
    if told.before == told.after:
        first = _odds(disclosure) or f"{told.name} is guessed right {percent(told.before)} either way"
    if problem.utility is not None:
        first = in_its_unit(disclosure).partition(" (root")[0]
    private = [group for group in problem.groups if not moves[group.name]]
    said = [str(guess_of(disclosure, group)) for group in private[:3]]
    if len(private) > len(said):
        said.append(f"and {counted(len(private) - 3, 'more column')} as before")
    loose = [name for name, move in moves.items() if move]
    said += [
        f"{short(name, LONGEST_NAME)} moves by up to {points(moves[name])}, as its budget allows" for name in loose[:2]
    ]
    return "; ".join([first, ", ".join(said)] if said else [first])


def _odds(disclosure: Disclosure) -> str:
    """Between which probabilities codes move a value, where the best guess stays the same; empty if they move none."""
    target = disclosure.problem.target
    prior, given = laws_of(disclosure, target)
    v = _most_moved(prior, given)[0]
    low, high = min(law[v] for law in given), max(law[v] for law in given)
    if low == high:
        return ""
    [name] = value_names(target, [[v]])
    return (
        f"{target.name} = {name} is {percent(low)} to {percent(high)} likely, by code, instead of {percent(prior[v])}"
    )


def _notes(disclosure: Disclosure, moves: dict[str, Fraction], drawn: int, panels: int) -> tuple[str, ...]:
    problem = disclosure.problem
    undrawn = panels - MOST_COLUMNS
    every = [
        f"{counted(disclosure.codes, 'code')}; a dot is a code, its area how often it is seen; dashed: known without it",
        "straight lines are exact: equality is decided in fractions, for every code" if not any(moves.values()) else "",
        "a band is how far codes move a value within its budget" if any(moves.values()) else "",
        *(
            f"also hidden from whoever knows {' and '.join(promise.known)}: {' and '.join(promise.hidden)}"
            for promise in problem.conditions[:3]
        ),
        f"{counted(undrawn, 'protected column')} more not drawn; the title is about all of them" if undrawn > 0 else "",
        ""
        if drawn == disclosure.codes
        else f"the {drawn - 1} most probable codes are drawn one by one, the others together",
    ]
    return tuple(note for note in every if note)
