"""What a release means to people: how often its target is guessed right with the code and without, and who learns what else.

Of a table with a learned score, two figures stand side by side: that of the table, which is exact and flatters, since points
know the records that they were learned from; and that of records which points did not see (`choral.scores.learn`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from choral.describe.display import figure, in_bits, percent
from choral.describe.joint import Joint
from choral.design.result import Disclosure
from choral.problem.form import form_of
from choral.problem.moments import Moments
from choral.problem.solution import floats_of
from choral.problem.utility import Squares
from choral.release.chance import Sized, standard_error, told_by_chance, told_of_size
from choral.release.file import Release
from choral.release.leakage import Leakage, Published

SAME = Fraction(1, 200)
"""Right guesses that differ by less are not worth naming: then it is said how much more likely a rare value becomes."""


@dataclass(frozen=True)
class Find:
    """What the most telling code finds: a value of the target, `often` among its records, which are a `share` of all.

    `values` has a value per column of the target; in all records they occur as often as `prior` says.
    """

    values: tuple[Any, ...]
    code: int
    often: Fraction
    share: Fraction
    prior: Fraction

    def named(self, target: str) -> str:
        """The value with its column."""
        return f"{target} = {', '.join(map(_shown, self.values))}"

    def said(self, target: str) -> str:
        """How often it is found, and how often without a code."""
        often, prior = percent(self.often), percent(self.prior)
        return f"{self.named(target)} in {often} of the records with the most telling code, instead of {prior}"


UNKNOWN_TO_COME = (
    "to come      what codes tell of records that the points did not see is not estimated within budgets: it may be much "
    "less; without --leakage and --ratio it is said"
)
"""What chance adds to a code within budgets is not known: these leave it more directions than a private one is fitted in."""


@dataclass(frozen=True)
class Meaning:
    """A release as people ask about it; `held_out` is its channel on records that its points did not see."""

    release: Release

    @cached_property
    def _own(self) -> Published:
        return Published.of(self.release.disclosure)

    @cached_property
    def told(self) -> Leakage:
        """What the code tells about the target, in the table."""
        return self._own.leakage(self.release.recipe.reveal)

    @cached_property
    def held_out(self) -> Published | None:
        """The channel on the cross-fitted bins; None where points were not learned here, or records have no state."""
        recipe = self.release.recipe
        about = {} if recipe.points is None else recipe.points.about.get("held out", {})
        if not about or recipe.after is not None or self.release.disclosure.problem.budgets:
            return None
        names = list(about["columns"])
        sized = isinstance(self.release.disclosure.problem.utility, Squares)
        needed = {*recipe.use} if sized else {*recipe.use, *recipe.reveal}
        known = {column.name for column in recipe.columns}
        if not needed <= {*names} <= known or (sized and not {"sums", "squares"} <= about.keys()) or not self._held:
            return None
        columns = [recipe.column(name) for name in names]
        cells = {values: n for _, _, values, n in self._held}
        law = Joint.from_counts(cells, names, [column.values for column in columns])
        by_value = {values: state for _, state, values, _ in self._held}
        ordered = tuple(by_value[law.values_of(cell)] for cell in law.cells)
        return Published(law, ordered, self.release.disclosure.exact_channel)

    @cached_property
    def _held(self) -> list[tuple[int, int, tuple[Any, ...], int]]:
        """Of the rows of cross-fitted bins with what is beside them, those that have a state: the row, its state and values,
        and how often they occur.
        """
        recipe = self.release.recipe
        assert recipe.points is not None
        about = recipe.points.about["held out"]
        names = list(about["columns"])
        columns = [recipe.column(name) for name in names]
        where = [names.index(name) for name in recipe.use]
        found = []
        for row, (*codes, n) in enumerate(about["counts"]):
            codes[0] -= 1  # bins are numbered from 1
            state = recipe.state_of_combination.get(tuple(codes[i] for i in where))
            if state is not None and all(0 <= i < len(c.values) for i, c in zip(codes, columns, strict=True)):
                found.append((row, state, tuple(c.values[i] for i, c in zip(codes, columns, strict=True)), n))
        return found

    @cached_property
    def by_size(self) -> Sized | None:
        """How well the code tells how large a numeric target is: of records that the points did not see. None where it is not
        told by its size, or points were not learned here.
        """
        problem, points = self.release.disclosure.problem, self.release.recipe.points
        if not isinstance(problem.utility, Squares) or self.held_out is None or points is None:
            return None
        about, moments = points.about["held out"], Moments.of(problem)
        shares, step = floats_of(self.release.disclosure.exact_channel), float(moments.step)  # a row per code
        mass = shares @ problem.prior
        above = shares @ np.array([float(Fraction(m, problem.total)) for m in moments.first])
        said = step * above / np.maximum(mass, 1e-300) + float(min(problem.utility.numbers))
        cells = [(state, n, float(about["sums"][row]), float(about["squares"][row])) for row, state, _, n in self._held]
        table = self.release.recipe.table_rows or self.held_out_records
        return told_of_size(cells, shares, mass, said, self.held_out_records, table)

    @property
    def sized(self) -> tuple[float, float] | None:
        """How far a numeric target is from its mean, as a root mean square, and from what the code says of others."""
        return None if self.by_size is None else self.by_size.off

    @cached_property
    def estimated(self) -> Leakage | None:
        """What the code tells about the target of records that the points did not see, less what chance tells."""
        if self.held_out is None or isinstance(self.release.disclosure.problem.utility, Squares):
            return None
        reveal, records = self.release.recipe.reveal, self.held_out_records
        found, values = self.held_out.leakage(reveal), len(self.held_out.weights(reveal))
        chance = told_by_chance(form_of(self.release.disclosure.problem).nullity, self.release.codes, values, records)
        return replace(found, bits=max(0.0, found.bits - chance))

    @cached_property
    def error(self) -> float:
        """The standard error of what is estimated of records to come, in bits."""
        if self.estimated is None or self.held_out is None:
            return 0.0
        return standard_error(self.held_out.weights(self.release.recipe.reveal), self.held_out_records)

    @cached_property
    def to_come(self) -> Leakage | None:
        """What is said of records to come: what is estimated, less a standard error: few records may flatter by chance."""
        found = self.estimated
        return None if found is None else replace(found, bits=max(0.0, found.bits - self.error))

    @cached_property
    def known_score(self) -> list[Leakage]:
        """What the code tells about each protected group to somebody who can compute the score's bin."""
        recipe = self.release.recipe
        if recipe.points is None:
            return []
        found = self._all_columns or self.held_out
        if found is None and recipe.points.name in self._own.law.names:
            found = self._own
        return [] if found is None else [found.leakage(group, [recipe.points.name]) for group in recipe.protect]

    @cached_property
    def _all_columns(self) -> Published | None:
        """The code under the law of all columns, the score among them; None where it was not counted here and now."""
        law, recipe = self.release.unmerged, self.release.recipe
        if law is None or recipe.points is None or recipe.points.name not in law.names:
            return None
        where = [law.position(name) for name in recipe.use]
        states = tuple(recipe.state_of_combination[tuple(cell[i] for i in where)] for cell in law.cells)
        return Published(law, states, self.release.disclosure.exact_channel)

    def first_line(self) -> str:
        """The result in one sentence."""
        problem, told = self.release.disclosure.problem, self.told
        target = " and ".join(self.release.recipe.reveal)
        if told.zero:
            return f"nothing is told about {target}: every record's code says the same"
        if isinstance(problem.utility, Squares) or (problem.utility is not None and not problem.utility.accuracy):
            said = in_its_unit(self.release.disclosure)
            if self.sized is not None:
                before, after = self.sized
                share = percent(Fraction(max(0.0, 1 - (after / before) ** 2))) if before else "0 %"
                said += f" ({share} of records to come)"
        elif self.find is not None:
            said = self._found(target, self.find)
        else:
            said = f"{target} is guessed right {percent(told.guess_after)} instead of {percent(told.guess_before)}"
        if self.to_come is not None and problem.utility is None and told.guess_after - told.guess_before >= SAME:
            said += f" ({percent(self.to_come.guess_after)} of records to come)"
        as_before = [group.name for g, group in enumerate(problem.groups) if problem.budget(g) is None]
        parts = [said, *(self._within_budget(g) for g in range(len(problem.groups)) if problem.budget(g) is not None)]
        if as_before:
            parts.append(f"{listed(as_before)} {'is' if len(as_before) == 1 else 'are'} guessed as before")
        return "; ".join(parts)

    def _within_budget(self, g: int) -> str:
        """How often a protected group about which a little may be told is guessed right."""
        group = self.release.disclosure.problem.groups[g]
        leak = self._own.leakage(group.columns)
        before, after = percent(leak.guess_before), percent(leak.guess_after)
        return f"{group.name} {after} {'either way' if before == after else f'instead of {before}'}"

    def _found(self, target: str, find: Find) -> str:
        """What the most telling code says, where right guesses do not show it: of the table, and of records to come."""
        more = "" if self.held_out is None else f"; {percent(self.often(self.held_out)[0])} of records to come"
        return f"{find.said(target)} ({percent(find.share)} of all have that code{more})"

    @cached_property
    def find(self) -> Find | None:
        """The value of the target that one of the codes makes the most times as likely; None where right guesses say more."""
        if self.told.zero or self.told.guess_after - self.told.guess_before >= SAME:
            return None
        return most_telling(self.release.disclosure)

    def often(self, published: Published) -> tuple[Fraction, Fraction, Fraction]:
        """Under some law of records: how often `find` is among those with its code, the share of these, and in all."""
        assert self.find is not None
        return precision(published, self.release.recipe.reveal, self.find.values, self.find.code)

    @property
    def cross_fitted(self) -> list[tuple[str, Leakage, Published]]:
        """What is told of records to come, as `compared` takes it; nothing where points were not learned here."""
        if self.to_come is None or self.held_out is None:
            return []
        return [("records to come, cross-fitted", self.to_come, self.held_out)]

    def compared(self, told: Sequence[tuple[str, Leakage, Published]]) -> str:
        """How often the target is guessed right with the code, or found: of the records of each of these laws."""
        target, right = "+".join(self.release.recipe.reveal), self.find is None
        said = []
        for name, leak, published in told:
            pair = (leak.guess_after, leak.guess_before) if right else self.often(published)[::2]
            said.append(f"{' instead of '.join(map(percent, pair))} ({in_bits(leak.bits)}) of {name}")
        how = (
            f"{target} is guessed right"
            if self.find is None
            else f"{self.find.named(target)} with the most telling code:"
        )
        return f"{how} {'; '.join(said)}."

    def lines(self) -> list[str]:
        """What else a curator should know: what codes tell about records to come, and who learns more."""
        return [*self.said_of_records_to_come(), *self.said_of_the_score()]

    def said_of_records_to_come(self) -> list[str]:
        """What the code tells where the points saw nothing, in a sentence; none where points were not learned here."""
        if self.held_out is None:
            learned = self.release.recipe.points is not None and "held out" in self.release.recipe.points.about
            return [UNKNOWN_TO_COME] if learned and self.release.disclosure.problem.budgets else []
        leaks = [self.held_out.leakage(group) for group in self.release.recipe.protect]
        worst = max(leaks, key=lambda leak: leak.bits, default=None)
        also = "" if worst is None else f"; about {'+'.join(worst.about)} they tell {in_bits(worst.bits)}"
        if (found := self.by_size) is not None:
            target, (before, after) = " and ".join(self.release.recipe.reveal), map(figure, found.off)
            error = percent(Fraction(found.error / found.variance)) if found.variance else "0 %"
            return [
                f"to come      codes of records that the points did not see estimate {target} to within {after} instead of "
                f"{before} (cross-fitted on {self.held_out_records} records, less a standard error of {error} of its "
                f"variance){also}"
            ]
        if self.to_come is None:
            return []
        if self.find is not None:
            guess = f"find {percent(self.often(self.held_out)[0])} with the most telling code"
        else:
            guess = f"guess right {percent(self.to_come.guess_after)}"
        return [
            f"to come      codes of records that the points did not see tell some {in_bits(self.to_come.bits)}, and {guess} "
            f"(cross-fitted on {self.held_out_records} records, less a standard error of {in_bits(self.error)}){also}"
        ]

    def said_of_the_score(self) -> list[str]:
        """What somebody learns who can compute the score, each group in one sentence."""
        learned = [
            f"{'+'.join(leak.about)} right {percent(leak.guess_after)} with the code instead of "
            f"{percent(leak.guess_before)} ({in_bits(leak.bits)})"
            for leak in self.known_score
            if not leak.zero
        ]
        if not learned:
            return []
        new = " that the points did not see" if self._all_columns is None and self.held_out is not None else ""
        said = f"the score's bin of a record{new} guesses {', '.join(learned)}"
        return [f"who knows    {said}: keep the points to yourself"]

    @property
    def held_out_records(self) -> int:
        """On how many records the honest figure rests."""
        points = self.release.recipe.points
        return 0 if self.held_out is None or points is None else int(points.about["held out"]["records"])

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        found = self.release.disclosure
        return {
            "utility": "bits" if found.problem.utility is None else found.problem.utility.name,
            "value": found.value,
            "value_bound": found.value_bound,
            "value_without": found.value_without,
            **({} if found.actions is None else {"actions": [_shown(action) for action in found.actions]}),
            "guess_before": float(self.told.guess_before),
            "guess_after": float(self.told.guess_after),
            "to_come": None if self.to_come is None else self.to_come.to_json(),
            "to_come_error": self.error,
            "sized": None if self.sized is None else dict(zip(("without", "with"), self.sized, strict=True)),
            "known_score": [leak.to_json() for leak in self.known_score],
        }


def most_telling(found: Disclosure) -> Find:
    """The value of the target that one of the codes makes the most times as likely."""
    target, total = found.problem.target, found.problem.total
    priors = [Fraction(weight, total) for weight in target.marginal]
    _, w, y = max(
        (often / priors[w], w, y)
        for y, posterior in enumerate(found.p_w_given_y)
        for w, often in enumerate(posterior)
        if often
    )
    value = target.values[w]
    values = value if len(target.columns) > 1 else (value,)
    return Find(values, y, found.p_w_given_y[y][w], found.p_y[y], priors[w])


def precision(
    published: Published, reveal: Sequence[str], values: Sequence[Any], code: int
) -> tuple[Fraction, Fraction, Fraction]:
    """How often values occur among the records with a code, the share of these, and how often they occur in all."""
    law, weights = published.law, published.weights(reveal)
    alphabets = [law.alphabets[law.position(name)] for name in reveal]
    own = next(
        (row for cell, row in weights.items() if [a[i] for a, i in zip(alphabets, cell, strict=True)] == [*values]), {}
    )
    whole = sum(n for row in weights.values() for n in row.values())
    coded = sum(row.get(code, 0) for row in weights.values())
    often = Fraction(own.get(code, 0), coded) if coded else Fraction(0)
    return often, Fraction(coded, whole), Fraction(sum(own.values()), whole)


def in_its_unit(found: Disclosure) -> str:
    """How much better decisions, or estimates, are with the code than without it."""
    target, utility = found.problem.target.name, found.problem.utility
    if isinstance(utility, Squares):
        moments = Moments.of(found.problem)
        variance = float(moments.variance * moments.step**2)
        left = max(0.0, variance - found.value)
        share = percent(Fraction(found.value / variance)) if variance else "0 %"
        return (
            f"{target} is estimated to within {figure(left**0.5)} instead of {figure(variance**0.5)} (root mean square): "
            f"{share} of its variance is explained"
        )
    if utility is not None and utility.accuracy:
        before, after = (percent(Fraction(x)) for x in (found.value_without, found.value))
        return f"{target} is decided right {after} instead of {before}"
    before, after = (figure(-x) for x in (found.value_without, found.value))
    return f"decisions about {target} cost {after} on average instead of {before} without the code"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["sex", "race", "age"])
    'sex, race and age'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _shown(value: Any) -> str:
    return str(value[0]) if isinstance(value, tuple) and len(value) == 1 else str(value)
