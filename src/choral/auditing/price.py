"""What a further promise costs: how often the target would still be guessed right, and how many bits be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.design.estimate import estimated
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.errors import ChoralError
from choral.problem.question import Question
from choral.problem.solution import Status
from choral.release.file import Release

COST_TOLERANCE = 0.01
"""The price of a promise is said in whole percents."""


@dataclass(frozen=True)
class Price:
    """Some code with the promise too, in floats: how often it guesses the target right, and the bits it tells.

    Of a release whose right guesses show nothing (`Meaning.find`) also how `often` the code finds what that one finds, in as
    many records.
    """

    right: float
    bits: float
    often: float | None = None


def price_of_one_more(
    law: Joint, release: Release, use: Sequence[str], promise: str | tuple[str, ...], time_limit: float
) -> Price | None:
    """What a code tells that keeps one promise more; None where none is found in time. No such code is made exact."""
    recipe = release.recipe
    question = Question(recipe.reveal, [*recipe.promises, promise], use)
    try:
        found = estimated(law, question, Limits(rel_tol=COST_TOLERANCE, time_limit=time_limit))
    except ChoralError:
        return None
    if found.status is Status.STOPPED and not found.bits:
        return None
    find = release.meaning.find
    if find is None:
        return Price(found.right, found.bits)
    value = find.values[0] if len(find.values) == 1 else find.values
    return Price(found.right, found.bits, found.often(value, float(find.share)))


def with_one_more(
    law: Joint, release: Release, use: Sequence[str], promise: str | tuple[str, ...], time_limit: float
) -> Disclosure | None:
    """A code that keeps one promise more, under a law of all columns that it names; None where it is not found in time."""
    recipe = release.recipe
    promises = [*recipe.promises, promise]
    try:
        found = disclose(law, recipe.reveal, promises, use, rel_tol=COST_TOLERANCE, time_limit=time_limit)
    except ChoralError:
        return None
    return None if found.solution.status is Status.STOPPED and not found.information else found


def priceable(release: Release) -> bool:
    """Whether a price means the same as what the release tells: no budgets, other laws, other purposes or earlier codes."""
    problem = release.disclosure.problem
    return not (problem.budgets or problem.further or problem.utility is not None or release.recipe.after is not None)
