"""What a further promise costs: how often the target would still be guessed right, and how many bits be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.design.result import Disclosure
from choral.errors import ChoralError
from choral.problem.solution import Status
from choral.release.file import Release

COST_TOLERANCE = 0.01
"""The price of a promise is said in whole percents."""


@dataclass(frozen=True)
class Price:
    """A code with the promise too: how often it guesses the target right, and the bits it tells, at least."""

    right: Fraction
    bits: float

    @classmethod
    def of(cls, found: Disclosure) -> Price:
        """The price that such a code shows."""
        right = sum((p * max(row) for p, row in zip(found.p_y, found.p_w_given_y, strict=True)), Fraction(0))
        return cls(right, found.information)


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
