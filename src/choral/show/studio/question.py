"""What was pointed at, checked, as arguments of the library; and what is feasible before solving."""

from __future__ import annotations

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

MOST_AT_ONCE = 5000
"""States up to which rank and plan are said while choosing; beyond, solving says them."""
REL_TOL = 1e-3
"""How close to the best a search goes, unless told, as a share of the information."""


class Choices(BaseModel):
    """The choices on the page. `roles` has every column that plays a part."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    roles: dict[str, Literal["reveal", "protect", "use"]]
    look_at_target: bool = False
    order: int = Field(default=1, ge=1, le=10)
    together: list[list[str]] = []
    bins: dict[str, str] = {}
    missing: Literal["value", "drop", "error"] = "value"
    min_count: int = Field(default=MIN_COUNT, ge=0, le=10**6)
    rel_tol: float = Field(default=REL_TOL, gt=0, le=1)
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
        use = self.columns("protect", "use") + (self.target if self.look_at_target else [])
        budgets = {group.name: self.leakage for group in posed.problem.groups} if posed and self.leakage else None
        return Question(self.target, singles + self.together, use, self.order, budgets)

    def rules(self) -> TableRules:
        """The rules for the table."""
        bins = {name: rule for name, rule in self.bins.items() if rule.strip() and name in self.roles}
        return TableRules(bins, self.missing, min_count=self.min_count)

    def limits(self, progress: Progress) -> Limits:
        """When a search ends, and who hears of it."""
        return Limits(rel_tol=self.rel_tol, progress=progress)


def outlook(choices: Choices, source: Source) -> dict[str, Any]:
    """What can be said before solving: rank, nullity, the bound that needs no solving, and how it would be solved."""
    posed = pose_table(source, choices.question(), choices.rules())
    problem, recipe = posed.problem, posed.recipe
    said: dict[str, Any] = {
        "states": problem.size,
        "rows": recipe.table_rows,
        "merged": sum(recipe.merged),
        "entropy": problem.entropy_of_target,
        "information": problem.information_of_states,
        "target_values": len(problem.target.values),
        "reveal": problem.target.name,
        "protect": [spoken(group.columns, bins_of(recipe)) for group in problem.groups],
        "use": list(recipe.use),
        "alphabets": {
            column.name: [str(value) for value in column.values] for column in recipe.columns if column.edges
        },
        "advice": _advice(posed),
    }
    if problem.size > MOST_AT_ONCE:
        return {**said, "upper_bound": best_group(problem)[1], "rank": None, "feasible": None, "plan": None}
    return {**said, **asdict(bounds_of(problem)), "plan": str(outlook_of(problem).plan)}


def _advice(posed: Posed) -> list[str]:
    """What a curator should know about this choice."""
    recipe, words = posed.recipe, []
    per_state = recipe.table_rows / posed.problem.size
    if per_state < 10:
        words.append(
            f"There are {per_state:.3g} records per state: with so few, much of what is told is noise. Use fewer columns "
            "or fewer bins."
        )
    if recipe.merged:
        words.append(
            f"{sum(recipe.merged)} combinations of values occur less than {recipe.min_count} times and are treated alike."
        )
    if limit := inside_bins(binned_and_protected(recipe)):
        words.append(limit)
    overlap = set(recipe.reveal) & set(recipe.use)
    if overlap:
        words.append(
            f"The code looks at {' and '.join(sorted(overlap))} itself. That repairs a label; it does not predict one, and "
            "who knows it may learn more about what is protected."
        )
    return words
