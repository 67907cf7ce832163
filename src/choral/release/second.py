"""A second release of the same table, designed given the first, so that both codes together stay private.

For every first code y₁ the problem is solved anew with the prior p(s | y₁), protecting the groups of both releases over
the columns that the second uses, among which must be those of the first. Then for every protected group Z

    p(z | y₁, y₂) = p(z | y₁) = p(z),

the first equation because Y₂ is private under p(· | y₁), the second because Y₁ is private; and so for every promise Z | V,
with p(z | v, y₁, y₂) = p(z | v, y₁) = p(z | v). So the pair is a channel that is private for all groups, and it is certified
as such, by the verifier that checks every release: nothing rests on this module.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from choral.describe.joint import Joint
from choral.design.disclose import certified, solved
from choral.design.limits import Limits, Progress
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.problem.bounds import best_group
from choral.problem.kernel import Problem, Variable
from choral.problem.question import Group, Question
from choral.problem.solution import ExactChannel, Row, Solution, row_of
from choral.proofs.group import GroupBound
from choral.release.file import Release
from choral.release.fit import SALT_BYTES, Posed, pose_table
from choral.release.leakage import Published
from choral.tables.bins import Bins, rules_of
from choral.tables.groups import Declared
from choral.tables.opening import opened
from choral.tables.origin import After
from choral.tables.rules import MIN_COUNT, TableRules


def fit_after(
    earlier: Release,
    source: Any,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
    *,
    bins: Mapping[str, Bins] | str | None = None,
    groups: Mapping[str, Declared] | str | None = None,
    min_count: int = MIN_COUNT,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    solver: str | None = None,
    progress: Progress | None = None,
    id: str | None = None,
) -> Release:
    """A release of the same table for another target, private together with an earlier one.

    Its codes are pairs of the earlier code and a new one (at most `codes` new ones for each earlier). The values and bins
    of the earlier release's columns, its rule for missing and unseen values, and its key are kept. Raises `ProblemError`
    where no second release can be safe: another table, or a group that the earlier code tells about; and where `use` leaves
    out a column that the earlier release looks at, since the pair looks at it.
    """
    question, rules = (
        Question(reveal, protect, use, order),
        TableRules(rules_of(bins, groups), min_count=min_count, id=id),
    )
    return fitted_after(earlier, source, question, rules, Limits(tol, rel_tol, time_limit, codes, progress, solver))


def fitted_after(earlier: Release, source: Any, question: Question, rules: TableRules, limits: Limits) -> Release:
    """The release of `fit_after`; of the rules, those that the earlier release has are its own."""
    if question.utility not in (None, "bits"):
        raise ProblemError("A second release with a utility.", "Ask for bits, or fit it anew without the first.")
    recipe, limits = earlier.recipe, limits.begun()
    _check_earlier(earlier)
    with opened(source, replace(recipe.as_read, find=True)) as table:
        posed = pose_table(table, question, replace(rules, missing=recipe.missing, unseen=recipe.unseen), earlier)
    problem = posed.problem
    before = _earlier_rows(earlier, posed)
    _check_private(problem, before)
    searches = _Searches(problem, earlier, limits)
    with limits.running():  # Ctrl-C ends all of them
        later = []
        for y in range(earlier.disclosure.codes):
            given = _given(posed, before, y)
            later.append(solved(given.law, given.problem, searches.next(replace(limits, enough=True))))
            searches.tells(later[-1].information)
        first = tuple(y for y, found in enumerate(later) for _ in range(found.codes))
        how = f"for each of {len(later)} earlier codes: {later[0].how}"
        found = certified(posed.law, problem, Solution(_paired(problem, before, later), GroupBound.best(problem), how))
        alone = solved(posed.law, problem, searches.next(replace(limits, codes=None)))
    found = _with_bound_of(found, alone)
    after = replace(posed.recipe, after=After(earlier.digest, first))
    second = Release(found, after, earlier.needed_key(), secrets.token_bytes(SALT_BYTES))
    object.__setattr__(second, "earlier", earlier)  # it has told these people something: the same ledger shall know
    return second


class _Searches:
    """One search for each earlier code and one for the bound: what each may take, and how far they are together."""

    def __init__(self, problem: Problem, earlier: Release, limits: Limits) -> None:
        self.limits, self.bound = limits, best_group(problem)[1]
        self.shares = list(map(float, earlier.disclosure.p_y))
        self.done, self.told = 0, 0.0

    def next(self, limits: Limits) -> Limits:
        """Limits of the next search: its part of the time that is left, and an interval of the whole problem."""
        left, ahead = self.limits.remaining(), len(self.shares) + 1 - self.done
        if left is not None:
            limits = replace(limits, time_limit=left / ahead, started=None)
        return replace(limits, progress=None if limits.progress is None else self._say)

    def tells(self, information: float) -> None:
        """The search for an earlier code has ended, and its code tells so much to who has that one."""
        self.told += self.shares[self.done] * information
        self.done += 1

    def _say(self, information: float, upper_bound: float, message: str) -> None:
        assert self.limits.progress is not None
        if self.done < len(self.shares):
            information = self.told + self.shares[self.done] * information
            self.limits.progress(
                information, self.bound, f"earlier code {self.done + 1} of {len(self.shares)}: {message}"
            )
        else:
            self.limits.progress(self.told, min(self.bound, upper_bound), f"the bound: {message}")


def told_by_first(release: Release) -> float:
    """What the earlier code alone tells about the target of a second release, in bits; the new one adds the rest."""
    after, published = release.recipe.after, Published.of(release.disclosure)
    if after is None:
        raise ProblemError("The release was not made after another.", "Give one that was fitted with --after.")
    rows: list[Row] = []
    for denominator, entries in published.channel.rows:
        sums: dict[int, int] = {}
        for pair, n in entries:
            sums[after.first[pair]] = sums.get(after.first[pair], 0) + n
        rows.append((denominator, tuple(sorted(sums.items()))))
    first = replace(published, channel=ExactChannel(max(after.first) + 1, tuple(rows)))
    return first.leakage(release.disclosure.problem.target.columns).bits


def _with_bound_of(found: Disclosure, alone: Disclosure) -> Disclosure:
    """The pair with the bound of the problem solved without regard to the first code: no private pair exceeds it."""
    if alone.upper_bound >= found.upper_bound:
        return found
    solution = replace(found.solution, bound=alone.solution.bound)
    return replace(found, solution=solution, claims=replace(found.claims, upper_bound=alone.claims.upper_bound))


def _check_earlier(earlier: Release) -> None:
    if earlier.recipe.after is not None:
        raise ProblemError(
            "The earlier release was itself made after another.", "Two targets are supported for a table."
        )
    if earlier.recipe.law["kind"] != "frequencies":
        raise ProblemError(
            f"The earlier release is about the law '{earlier.recipe.law['kind']}'.",
            "A second release needs one fitted on the table's frequencies.",
        )
    if not earlier.disclosure.problem.plain:
        raise ProblemError(
            "The earlier release has budgets or further laws.", "A second release needs one that is private exactly."
        )


def _earlier_rows(earlier: Release, posed: Posed) -> list[dict[int, Fraction]]:
    """p(y₁ | s) for every state of the second problem, each of which lies within one state of the first."""
    recipe, rows = posed.recipe, earlier.disclosure.exact_channel.rows
    where = [recipe.use.index(name) for name in earlier.recipe.use]
    found: list[dict[int, Fraction]] = [{} for _ in range(recipe.size)]
    for codes, state in recipe.state_of_combination.items():
        denominator, entries = rows[earlier.recipe.state_of_combination[tuple(codes[i] for i in where)]]
        found[state] = {y: Fraction(n, denominator) for y, n in entries}
    return found


def _check_private(problem: Problem, before: Sequence[Mapping[int, Fraction]]) -> None:
    """Raise, with the reason, if the earlier code depends on what is to be protected."""
    promises = [(group, [0] * len(group.values), f"'{group.name}'") for group in problem.groups]
    for promise in problem.conditions:
        who = " and ".join(promise.known)
        words = f"'{'+'.join(promise.hidden)}' to whoever knows {who}"
        promises.append((promise.both, list(promise.given), words))
    for variable, given, words in promises:
        if _tells(variable, given, before):
            raise ProblemError(
                f"The code of the earlier release already tells about {words}, which it does not protect.",
                "Nothing published later can undo that: a first release must protect what any later one is to protect.",
            )


def _tells(variable: Variable, given: Sequence[int], before: Sequence[Mapping[int, Fraction]]) -> bool:
    """Whether the earlier code depends on a variable among the values with the same condition; those below 0 do not count."""
    joint: dict[tuple[int, int], Fraction] = {}
    for s, z, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
        for y, p in before[s].items():
            joint[z, y] = joint.get((z, y), Fraction(0)) + w * p
    of_code: dict[tuple[int, int], Fraction] = {}
    for (z, y), mass in joint.items():
        of_code[given[z], y] = of_code.get((given[z], y), Fraction(0)) + mass
    of_condition: dict[int, int] = {}
    for v, weight in zip(given, variable.marginal, strict=True):
        of_condition[v] = of_condition.get(v, 0) + weight
    return any(
        joint.get((z, y), Fraction(0)) * of_condition[v] != variable.marginal[z] * mass
        for (v, y), mass in of_code.items()
        if v >= 0
        for z in range(len(given))
        if given[z] == v
    )


def _given(posed: Posed, before: Sequence[Mapping[int, Fraction]], y: int) -> Posed:
    """The law given the earlier code y₁: p(w, z, s | y₁) ∝ p(w, z, s) p(y₁ | s)."""
    law = posed.law
    state = {cell: s for s, cell in enumerate(law.weights(posed.use))}
    where = [law.position(name) for name in posed.use]
    cells = {
        law.values_of(cell): weight * before[state[tuple(cell[i] for i in where)]].get(y, Fraction(0))
        for cell, weight in law.cells.items()
    }
    law = Joint.from_counts({cell: mass for cell, mass in cells.items() if mass}, law.names, law.alphabets)
    return Posed(law, posed.recipe)


def _paired(problem: Problem, before: Sequence[Mapping[int, Fraction]], later: Sequence[Disclosure]) -> ExactChannel:
    """p(y₁, y₂ | s) = p(y₁ | s) p(y₂ | s, y₁), pairs in order."""
    columns: list[list[tuple[int, Fraction]]] = [[] for _ in problem.states]
    start = 0
    for y, found in enumerate(later):
        number = {state: s for s, state in enumerate(found.states)}
        for s, state in enumerate(problem.states):
            if y in before[s]:
                denominator, entries = found.exact_channel.rows[number[state]]
                columns[s] += [(start + y2, before[s][y] * Fraction(n, denominator)) for y2, n in entries]
        start += found.codes
    return ExactChannel(start, tuple(row_of(column) for column in columns))
