"""How columns that are cut are named to people: what is private of them is the bin, and a name alone would promise more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from choral.problem.kernel import Problem
from choral.tables.columns import Column
from choral.tables.recipe import Recipe

SPOKEN = r"(?:in \d+ (?:bin|group)s?|by [a-z]+)"
"""A pattern for how a column is said to be cut."""


class Cutting(NamedTuple):
    """Into how many bins a column is cut (a missing value is none), how that is said, and what one of them is called."""

    many: int
    words: str
    one: str = "bin"


def bins_of(recipe: Recipe) -> dict[str, Cutting]:
    """The columns that are cut, and how."""
    return {column.name: _cutting(column) for column in recipe.columns if column.cut is not None}


def binned_and_protected(recipe: Recipe) -> dict[str, Cutting]:
    """Of these the protected columns, in the order in which they are protected."""
    bins = bins_of(recipe)
    return {name: bins[name] for group in recipe.protect for name in group if name in bins}


def spoken(names: Iterable[str], bins: Mapping[str, Cutting], mark: str = "+") -> str:
    """Columns in words.

    >>> spoken(["age", "sex"], {"age": Cutting(2, "in 2 bins")})
    'age (in 2 bins)+sex'
    """
    return mark.join(f"{name} ({bins[name].words})" if name in bins else name for name in names)


def protections(problem: Problem, bins: Mapping[str, Cutting]) -> list[str]:
    """Everything that is protected in words: groups, with a budget if they have one, and what is promised given others."""
    names = [spoken(group.columns, bins) for group in problem.groups]
    budgets = map(problem.budget, range(len(names)))
    groups = [n if budget is None else f"{n} ({budget})" for n, budget in zip(names, budgets, strict=True)]
    return [*groups, *(promise.name for promise in problem.conditions)]


def inside_bins(columns: Mapping[str, Cutting]) -> str:
    """The limit of what is promised about protected columns that are cut, as sentences; nothing if there are none.

    >>> inside_bins({"age": Cutting(2, "in 2 bins")}).partition(";")[0]
    'Of age, what is private is the bin, not the exact value'
    """
    said = []
    for one in dict.fromkeys(cutting.one for cutting in columns.values()):
        names = " and ".join(name for name, cutting in columns.items() if cutting.one == one)
        said.append(
            f"Of {names}, what is private is the {one}, not the exact value; values inside a {one} may be told through other "
            f"columns: protect finer {one}s, or do not {one}."
        )
    return " ".join(said)


def _cutting(column: Column) -> Cutting:
    many = sum(value is not None for value in column.values)
    if column.named is None:
        return Cutting(many, f"in {many} bin{'' if many == 1 else 's'}")
    return Cutting(many, column.named.said(many), column.named.one)
