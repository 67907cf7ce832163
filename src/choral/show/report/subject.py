"""What a report is about, gathered once: the release, what the verifier says of it, its audit and its card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from choral.auditing.result import Audit
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.exact import certificate
from choral.problem.compact import order_of
from choral.problem.kernel import Variable
from choral.release.card import Card
from choral.release.file import Release
from choral.show.plots.posteriors import laws_of
from choral.show.plots.style import short
from choral.tables.binned import bins_of, spoken
from choral.tables.recipe import Recipe

LONGEST_NAME = 48
"""Letters of a name on page one; the appendix has all of them."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A verified release or disclosure; `said` are the lines that the stand-alone verifier printed about it."""

    disclosure: Disclosure
    release: Release | None
    audit: Audit | None
    card: Card | None
    said: tuple[str, ...]

    @classmethod
    def of(cls, release: Release | Disclosure, audit: Audit | None, card: Card | None) -> Subject:
        """The subject, after the verifier has accepted it; raises if a claim fails, or the audit or card is of another."""
        whole = release if isinstance(release, Release) else None
        disclosure = release.disclosure if isinstance(release, Release) else release
        if audit is not None and audit.digest != release.digest:
            raise ProblemError("The audit is of another release.", "Audit the release that the report is about.")
        if card is not None and (whole is None or not card.opened_by(whole)):
            raise ProblemError("The card was not made for this release.", "Give the card that was written with it.")
        said: list[str] = []
        certificate.check(release.document, said.append)
        return cls(disclosure, whole, audit, card, tuple(said))

    @property
    def recipe(self) -> Recipe | None:
        """How records of tables become states, where the release is one of a table."""
        return None if self.release is None else self.release.recipe

    @property
    def compact(self) -> bool:
        """Whether the law is one of many alike or independent samples, which lists no columns."""
        return self.disclosure.law.table is None

    @property
    def target(self) -> str:
        """What is told about, in words."""
        return " and ".join(self.disclosure.problem.target.columns)

    @property
    def brief(self) -> str:
        """The same, short enough for page one."""
        return short(self.target, LONGEST_NAME)

    @property
    def used(self) -> tuple[str, ...]:
        """The columns that the code was made from."""
        if self.recipe is not None:
            return self.recipe.looks_at
        return self.disclosure.law.looked_at(self.disclosure.problem.columns)

    @property
    def promised(self) -> list[Variable]:
        """The groups of which the code is exactly independent."""
        problem = self.disclosure.problem
        return [group for g, group in enumerate(problem.groups) if problem.budget(g) is None]

    @property
    def budgeted(self) -> list[Variable]:
        """The groups about which the code may tell something, within a budget."""
        problem = self.disclosure.problem
        return [group for g, group in enumerate(problem.groups) if problem.budget(g) is not None]

    def named(self, group: Variable) -> str:
        """A protected group in words."""
        if self.disclosure.law.counted:
            many = order_of(group.columns[0])
            return f"any {many} of the {self.used[0]}" + (" together" if many > 1 else "")
        bins = {} if self.recipe is None else bins_of(self.recipe)
        return spoken(group.columns, bins, " and ") + (" together" if len(group.columns) > 1 else "")

    @cached_property
    def posterior(self) -> tuple[list[Fraction], list[list[Fraction]]]:
        """p(w), and p(w | y) for each code."""
        return laws_of(self.disclosure, self.disclosure.problem.target)

    @cached_property
    def guess(self) -> tuple[Fraction, Fraction]:
        """How often the best guess at the target is right, before and after the code."""
        return best_guess(self.disclosure.p_y, *self.posterior)

    def guess_of(self, group: Variable) -> tuple[Fraction, Fraction]:
        """The same for a protected group. By proof nothing changes where it has no budget."""
        if group in self.budgeted:
            return best_guess(self.disclosure.p_y, *laws_of(self.disclosure, group))
        before = Fraction(max(group.marginal), self.disclosure.problem.total)
        return before, before


def best_guess(
    p_y: Sequence[Fraction], prior: Sequence[Fraction], given: Sequence[Sequence[Fraction]]
) -> tuple[Fraction, Fraction]:
    """How often the likeliest value is the true one, without and with the code.

    >>> half = Fraction(1, 2)
    >>> [str(p) for p in best_guess([half, half], [half, half], [[Fraction(3, 4), Fraction(1, 4)], [half, half]])]
    ['1/2', '5/8']
    """
    return max(prior), sum((mass * max(law) for mass, law in zip(p_y, given, strict=True)), Fraction(0))
