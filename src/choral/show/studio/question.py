"""What was pointed at, checked, as arguments of the library; and what is feasible before solving."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from choral.design.limits import Limits, Progress
from choral.design.outlook import outlook_of
from choral.errors import ProblemError
from choral.problem.bounds import best_group, bounds_of
from choral.problem.question import Question
from choral.release.fit import Posed, pose_table
from choral.tables.binned import binned_and_protected, bins_of, inside_bins, spoken
from choral.tables.rules import MIN_COUNT, TableRules
from choral.tables.source import Source
from choral.tables.states import symbols

MOST_AT_ONCE = 5000
"""States up to which rank and plan are said while choosing; beyond, solving says them."""
REL_TOL = 1e-3
"""How close to the best a search with budgets goes, unless told, as a share of the information."""


class Choices(BaseModel):
    """The choices on the page. `roles` has every column that plays a part.

    `looks`: at the columns that have a part, as they stand; or, as `choral.fit` does unless told, at a score that is learned
    from them where they are many. `against`: what others may know. `loss`: lines of action, value of the target, cost.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: dict[str, Literal["reveal", "protect", "use"]]
    look_at_target: bool = False
    order: int = Field(default=1, ge=1, le=10)
    together: list[list[str]] = []
    bins: dict[str, str] = {}
    against: list[list[str]] = []
    looks: Literal["columns", "score"] = "columns"
    utility: Literal["bits", "accuracy", "squares", "loss"] = "bits"
    loss: str = Field(default="", max_length=20_000)
    codes: int | None = Field(default=None, ge=1, le=10_000)
    missing: Literal["value", "drop", "error"] = "value"
    min_count: int = Field(default=MIN_COUNT, ge=0, le=10**6)
    rel_tol: float | None = Field(default=None, gt=0, le=1)
    leakage: str | None = None

    def columns(self, *roles: str) -> list[str]:
        """The columns that have one of these roles, in the order of the page."""
        return [name for name, role in self.roles.items() if role in roles]

    @property
    def target(self) -> list[str]:
        """What is revealed."""
        return self.columns("reveal")

    def question(self, posed: Posed | None = None) -> Question:
        """The question that the library is asked; of what is posed, with the budget for every protected group alike."""
        if not self.target:
            raise ProblemError("Nothing is chosen to be revealed.", "Choose 'reveal' for one column.")
        private = self.columns("protect")
        if not private and not self.together:
            raise ProblemError("Nothing is chosen to be protected.", "Choose 'protect' for at least one column.")
        singles: list[list[str]] = [[name] for name in private]
        budgets = {group.name: self.leakage for group in posed.problem.groups} if posed and self.leakage else None
        groups, against = singles + self.together, ["+".join(known) for known in self.against] or None
        return Question(self.target, groups, self.use, self.order, budgets, None, against, utility=self.good_for())

    @property
    def use(self) -> list[str] | None:
        """What the code looks at; None where that is a score of all that is not left out."""
        if self.looks == "score" and not self.look_at_target:
            return None
        return self.columns("protect", "use") + (self.target if self.look_at_target else [])

    @property
    def closeness(self) -> float | None:
        """How close to the best a search goes, as a share; None is as `choral.fit` does, which has an eye on the codes."""
        return REL_TOL if self.rel_tol is None and self.leakage else self.rel_tol

    def good_for(self) -> str | dict[tuple[str, str], str]:
        """The utility: its name, or the costs of actions."""
        return read_loss(self.loss) if self.utility == "loss" else self.utility

    def rules(self, names: Iterable[str] = ()) -> TableRules:
        """The rules for a table of columns with these names; of what plays no part, a score knows nothing."""
        bins = {name: rule for name, rule in self.bins.items() if rule.strip() and name in self.roles}
        known = {name for group in (*self.against, *self.together) for name in group}
        left_out = [name for name in names if name not in self.roles and name not in known]
        drop = tuple(left_out) if self.use is None else ()
        return TableRules(bins, self.missing, min_count=self.min_count, drop=drop)

    def limits(self, progress: Progress) -> Limits:
        """When a search ends, and who hears of it."""
        return Limits(rel_tol=self.closeness, codes=self.codes, progress=progress)


def read_loss(text: str) -> dict[tuple[str, str], str]:
    """What each action costs for each value of the target, one on each line.

    >>> read_loss("grant, repays, 0\\ngrant, defaults, 20")
    {('grant', 'repays'): '0', ('grant', 'defaults'): '20'}
    """
    found: dict[tuple[str, str], str] = {}
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        parts = [part.strip() for part in row]
        if not any(parts):
            continue
        if len(parts) != 3 or (parts[0], parts[1]) in found:
            why = "is given twice" if len(parts) == 3 else "has not three parts"
            raise ProblemError(f"The cost '{', '.join(parts)}' {why}.", "Write action, value of the target, cost.")
        found[parts[0], parts[1]] = parts[2]
    if not found:
        raise ProblemError("No costs are given.", "Write one on each line: action, value of the target, cost.")
    return found


def outlook(choices: Choices, source: Source) -> dict[str, Any]:
    """What can be said before solving: rank, nullity, the bound that needs no solving, and how it would be solved.

    Of a score that is to be learned, only what is known of the target and of what is protected.
    """
    learned = choices.use is None
    posed = pose_table(source, _looked_at(choices).question(), _looked_at(choices).rules(source.columns))
    problem, recipe = posed.problem, posed.recipe
    said: dict[str, Any] = {
        "learned": learned,
        "states": problem.size,
        "rows": recipe.table_rows,
        "merged": sum(recipe.merged),
        "entropy": problem.entropy_of_target,
        "guess_before": max(problem.target.marginal) / problem.total,
        "information": problem.information_of_states,
        "target_values": len(problem.target.values),
        "reveal": problem.target.name,
        "protect": [spoken(group.columns, bins_of(recipe)) for group in problem.groups],
        "use": list(recipe.use),
        "alphabets": {column.name: [str(value) for value in column.values] for column in recipe.columns if column.cut},
        "advice": advice(posed, learned),
    }
    unsaid = dict.fromkeys(("rank", "feasible", "plan"))
    if learned:
        return {**said, **unsaid, **dict.fromkeys(("states", "information", "upper_bound"))}
    if problem.size > MOST_AT_ONCE:
        return {**said, **unsaid, "upper_bound": best_group(problem)[1]}
    return {**said, **asdict(bounds_of(problem)), "plan": str(outlook_of(problem).plan)}


def _looked_at(choices: Choices) -> Choices:
    """The choices, where a score is to be learned without what it is learned from."""
    if choices.use is not None:
        return choices
    kept = {name: role for name, role in choices.roles.items() if role != "use"}
    together = {name: "use" for group in choices.together for name in group if name not in kept}
    return choices.model_copy(update={"looks": "columns", "roles": {**kept, **together}, "utility": "bits"})


def advice(posed: Posed, learned: bool) -> list[dict[str, str]]:
    """What a curator should know about this choice, each with what to do about it."""
    recipe, found = posed.recipe, []
    per_state = recipe.table_rows / posed.problem.size
    if per_state < 10 and not learned:
        found.append(
            (
                f"There are {per_state:.3g} records per state: with so few, much of what is told is noise.",
                "Use fewer columns or fewer bins, or let the code look at a learned score.",
            )
        )
    if recipe.merged and not learned:
        share = _merged_share(posed)
        found.append(
            (
                f"{sum(recipe.merged)} combinations of values occur less than {recipe.min_count} times, with "
                f"{100 * share:.2g} % of the records: they are treated like the combinations most alike, and what they say "
                "is lost.",
                "Use fewer columns or fewer bins, let the code look at a learned score, or set “treat alike what occurs less "
                "often than” to 1 under Advanced.",
            )
        )
    if limit := inside_bins(binned_and_protected(recipe)):
        what, _, remedy = limit.partition(": ")
        found.append((f"{what}.", f"{remedy[:1].upper()}{remedy[1:]}"))
    overlap = set(recipe.reveal) & set(recipe.use)
    if overlap:
        found.append(
            (
                f"The code looks at {' and '.join(sorted(overlap))} itself. That repairs a label; it does not predict one, "
                "and who knows it may learn more about what is protected.",
                "Switch it off under Advanced if you do not hold it for every record.",
            )
        )
    return [{"what": what, "remedy": remedy} for what, remedy in found]


def _merged_share(posed: Posed) -> float:
    """The share of the records whose state is merged of several combinations."""
    recipe, problem = posed.recipe, posed.problem
    if recipe.state_column not in problem.columns:
        return 0.0
    where, own = problem.columns.index(recipe.state_column), set(symbols(recipe)[: recipe.kept])
    merged = (w for state, w in zip(problem.states, problem.weights, strict=True) if state[where] not in own)
    return sum(merged) / problem.total
