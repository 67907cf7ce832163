"""Less than independence, where a curator says so: a budget for what a code may tell about a protected group.

A *leakage* budget α asks for I(Z;Y) ≤ α bits. A *ratio* budget ρ asks for p(z)/ρ ≤ p(z|y) ≤ ρ p(z) for every value and
every code: no value becomes more than ρ times more or less likely. A group without a budget is independent of the code.
And beside the law there may be *further laws*, under which (and under every mixture with the first) independence holds too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from choral.describe.joint import Joint
from choral.describe.kinds import needed
from choral.describe.numbers import exact
from choral.describe.reading import Cell
from choral.errors import LawError, ProblemError, did_you_mean

SMALLEST = Fraction(1, 10**15)
"""Leakage is stated to fifteen decimals: a smaller budget cannot be told from none."""
LARGEST = 10**18
"""A budget beyond this allows everything, and floats in the solver would lose their digits."""


@dataclass(frozen=True)
class Budget:
    """What a code may tell about one group: `amount` bits, or a factor of at most `amount`."""

    kind: Literal["leakage", "ratio"]
    amount: Fraction

    def __str__(self) -> str:
        if self.kind == "leakage":
            return f"at most {float(self.amount):.15g} bits"
        return f"within a factor of {self.amount}"


@dataclass(frozen=True, eq=False)
class FurtherLaw:
    """Another law on the same states, as integer weights over its own total; a state may have none.

    `joint` has the columns and alphabets of the first law; `groups[g]` lists (state, value, weight) for the g-th protected
    group of the problem, `conditions[c]` the same for the (Z, V) of its c-th promise that has a condition.
    """

    joint: Joint
    weights: tuple[int, ...]
    groups: tuple[tuple[tuple[int, int, int], ...], ...]
    conditions: tuple[tuple[tuple[int, int, int], ...], ...] = ()

    @property
    def total(self) -> int:
        """The common denominator of the weights."""
        return sum(self.weights)

    def marginal(self, group: int) -> dict[int, int]:
        """Weights of the values of a group."""
        sums: dict[int, int] = {}
        for _, v, w in self.groups[group]:
            sums[v] = sums.get(v, 0) + w
        return sums


def budgets_for(
    names: Sequence[str],
    columns: Sequence[tuple[str, ...]],
    leakage: Mapping[Any, Any] | None,
    ratio: Mapping[Any, Any] | None,
) -> tuple[Budget | None, ...]:
    """One budget, or none, per protected group; what amounts to independence (0 bits, a factor of 1) is none.

    >>> budgets_for(["A", "B+C"], [("A",), ("B", "C")], {"A": 0.25}, {("C", "B"): "21/20"})
    (Budget(kind='leakage', amount=Fraction(1, 4)), Budget(kind='ratio', amount=Fraction(21, 20)))
    """
    found: list[Budget | None] = [None] * len(names)
    taken: set[int] = set()
    for kind, asked in (("leakage", leakage), ("ratio", ratio)):
        if asked is None:
            continue
        if not isinstance(asked, Mapping):
            raise ProblemError(
                f"{kind}={asked!r}.", f"Give a mapping from a protected group: {kind}={{'{names[0]}': …}}."
            )
        for key, value in asked.items():
            g = _group(key, names, columns, kind)
            if g in taken:
                raise ProblemError(f"'{names[g]}' has two budgets.", "Give each group one, in bits or as a ratio.")
            taken.add(g)
            amount = _amount(value, kind, names[g])
            if amount != (0 if kind == "leakage" else 1):
                found[g] = Budget(kind, amount)  # type: ignore[arg-type]
    return tuple(found) if any(found) else ()


def _group(key: Any, names: Sequence[str], columns: Sequence[tuple[str, ...]], kind: str) -> int:
    wanted = (
        {part.strip() for part in key.split("+")}
        if isinstance(key, str)
        else set(key)
        if isinstance(key, tuple)
        else set()
    )
    for g, (name, parts) in enumerate(zip(names, columns, strict=True)):
        if key == name or wanted == set(parts):
            return g
    listed = ", ".join(names)
    raise ProblemError(f"`{kind}` names '{key}', which is no protected group.", f"What is protected is {listed}.")


def _amount(value: Any, kind: str, name: str) -> Fraction:
    try:
        amount = exact(value, f"{kind} of {name}")
    except LawError:
        raise ProblemError(f"{kind} of '{name}' is {value!r}.", "Give a number, such as 0.01 or '21/20'.") from None
    least = 0 if kind == "leakage" else 1
    if amount < least:
        what = "bits are not negative" if kind == "leakage" else "a ratio is at least 1, which means independence"
        raise ProblemError(f"{kind} of '{name}' is {value}.", f"Give at least {least}: {what}.")
    if 0 < amount - least < SMALLEST:
        raise ProblemError(
            f"{kind} of '{name}' is within 1e-15 of {least}.",
            f"Give {least}, which means independence, or more than that.",
        )
    if amount > LARGEST:
        raise ProblemError(f"{kind} of '{name}' is above {LARGEST:.0e}.", "Use the column without protecting it.")
    return amount


def further_law(
    joint: Joint,
    other: Any,
    used: Sequence[str],
    groups: Sequence[Sequence[str]],
    conditions: Sequence[Sequence[str]],
    place: str,
) -> FurtherLaw:
    """Another joint law as the states, groups and conditions (their columns, hidden and known) of a problem see it.

    Every state that it gives a probability must have one under the first law: the channel has no row for others.
    """
    needed(Joint, other, f"{place} is a {{}}.", "Give Joint laws on the same columns.")
    columns = {*used, *(column for group in (*groups, *conditions) for column in group)}
    names = [name for name in joint.names if name in columns]
    for name in names:
        if name not in other.names:
            raise ProblemError(f"{place} has no column '{name}'.", did_you_mean(name, other.names))
    law = _translated(joint, other, names, place)
    number = {state: s for s, state in enumerate(joint.weights(used))}
    weights = [0] * len(number)
    for cell, weight in law.weights(used).items():
        if cell not in number:
            values = ", ".join(
                f"{name}={law.alphabets[law.position(name)][i]}" for name, i in zip(used, cell, strict=True)
            )
            raise ProblemError(
                f"{place} gives a probability to ({values}), which has none under the first law.",
                "A channel knows only the states of the first law: smooth it, or merge values first.",
            )
        weights[number[cell]] = weight
    seen = []
    for group in (*groups, *conditions):
        code = {cell: v for v, cell in enumerate(joint.weights(group))}
        rows = []
        for cell, weight in law.weights([*used, *group]).items():
            value = cell[len(used) :]
            if value not in code:
                raise ProblemError(
                    f"{place} has a value of '{'+'.join(group)}' that has no probability under the first law.",
                    "Merge values first.",
                )
            rows.append((number[cell[: len(used)]], code[value], weight))
        seen.append(tuple(sorted(rows)))
    return FurtherLaw(law, tuple(weights), tuple(seen[: len(groups)]), tuple(seen[len(groups) :]))


def _translated(joint: Joint, other: Joint, names: Sequence[str], place: str) -> Joint:
    """The other law on these columns, with its values numbered as in the first."""
    alphabets = [joint.alphabets[joint.position(name)] for name in names]
    maps = []
    for name, alphabet in zip(names, alphabets, strict=True):
        position = {value: i for i, value in enumerate(alphabet)}
        maps.append([position.get(value) for value in other.alphabets[other.position(name)]])
    cells: dict[Cell, int] = {}
    for cell, weight in other.weights(names).items():
        moved = []
        for name, where, i in zip(names, maps, cell, strict=True):
            index = where[i]
            if index is None:
                value = other.alphabets[other.position(name)][i]
                raise ProblemError(
                    f"{place} has {name} = {value!r}, which does not occur in the first law.", "Merge values first."
                )
            moved.append(index)
        cells[tuple(moved)] = weight
    return Joint(names, alphabets, cells)
