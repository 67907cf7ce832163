"""How binned columns are named to people: what is private of them is the bin, and a name alone would promise more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from choral.problem.kernel import Problem
from choral.tables.recipe import Recipe

INSIDE = (
    "what is private is the bin, not the exact value; values inside a bin may be told through other columns: protect "
    "finer bins, or do not bin"
)


def bins_of(recipe: Recipe) -> dict[str, int]:
    """The binned columns, and into how many bins each is cut; a missing value is no bin."""
    return {column.name: len(column.edges) + 1 for column in recipe.columns if column.edges is not None}


def binned_and_protected(recipe: Recipe) -> list[str]:
    """The protected columns that are binned, in the order in which they are protected."""
    bins = bins_of(recipe)
    return list(dict.fromkeys(name for group in recipe.protect for name in group if name in bins))


def spoken(names: Iterable[str], bins: Mapping[str, int], mark: str = "+") -> str:
    """Columns in words.

    >>> spoken(["age", "sex"], {"age": 2})
    'age (in 2 bins)+sex'
    """
    return mark.join(_spoken(name, bins) for name in names)


def protections(problem: Problem, bins: Mapping[str, int]) -> list[str]:
    """Everything that is protected in words: groups, with a budget if they have one, and what is promised given others."""
    names = [spoken(group.columns, bins) for group in problem.groups]
    budgets = map(problem.budget, range(len(names)))
    groups = [n if budget is None else f"{n} ({budget})" for n, budget in zip(names, budgets, strict=True)]
    return [*groups, *(promise.name for promise in problem.conditions)]


def inside_bins(columns: Sequence[str]) -> str:
    """The limit of what is promised about protected columns that are binned, as a sentence; nothing if there are none.

    >>> inside_bins(["age"]).partition(";")[0]
    'Of age, what is private is the bin, not the exact value'
    """
    return f"Of {' and '.join(columns)}, {INSIDE}." if columns else ""


def _spoken(name: str, bins: Mapping[str, int]) -> str:
    if name not in bins:
        return name
    return f"{name} (in {bins[name]} bin{'' if bins[name] == 1 else 's'})"
