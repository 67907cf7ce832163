"""The one kernel (docs/mathematics.md): states with a prior, protected variables and a target, all in integers.

A `Problem` holds data and predicates, never options. Everything is an integer weight over the common
`total`: p(s) = weights[s] / total, and a variable V seen from the states has p(s, v) = weight / total.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any
from weakref import ReferenceType, WeakKeyDictionary, ref

import flint
import numpy as np
import numpy.typing as npt

from choral.describe.display import Listing
from choral.describe.entropy import entropy_ball, entropy_of
from choral.errors import ProblemError
from choral.problem.budget import Budget, FurtherLaw
from choral.problem.utility import Utility

Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
MOST_LISTED = 40
"""Protected groups that are listed where a problem is displayed."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable as the states see it: the joint law p(s, v), sparse, sorted by state.

    Entry i says p(state[i], value[i]) = weight[i] / total of the problem. A protected group, and the target,
    are both of this kind. Where every state has one value, the variable is a function of the state. `screened` says
    that the variable is independent of the target given the state: so is a function of the state, and so are samples
    given their type.
    """

    name: str
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    state: Index
    value: Index
    weight: tuple[int, ...]
    screened: bool = False

    @classmethod
    def function(
        cls, name: str, columns: Sequence[str], values: Sequence[Any], labels: Iterable[int], weights: Sequence[int]
    ) -> Variable:
        """A variable that is a function of the state: state s has the value labels[s]."""
        value = labels if isinstance(labels, np.ndarray) else np.fromiter(labels, dtype=np.int64, count=len(weights))
        state = np.arange(len(weights), dtype=np.int64)
        return cls(name, tuple(columns), tuple(values), state, value, tuple(weights), screened=True)

    @cached_property
    def is_function(self) -> bool:
        """Whether the state determines the value."""
        return len(self.state) == len(np.unique(self.state))

    @cached_property
    def determines_state(self) -> bool:
        """Whether the value determines the state, as in self-disclosure."""
        return len(self.value) == len(np.unique(self.value))

    @cached_property
    def marginal(self) -> tuple[int, ...]:
        """Integer weights of the values, over the total of the problem."""
        sums = _sums(self.value, self.weight)
        return tuple(sums.get(v, 0) for v in range(len(self.values)))

    def sums_to(self, weights: tuple[int, ...]) -> bool:
        """Whether at every state its weights sum to that of the state."""
        if self.weight == weights and np.array_equal(self.state, np.arange(len(weights))):
            return True
        sums = _sums(self.state, self.weight)
        return tuple(sums.get(s, 0) for s in range(len(weights))) == weights

    def by_state(self, n_states: int) -> list[list[tuple[int, int]]]:
        """For each state its (value index, weight) pairs."""
        cells: list[list[tuple[int, int]]] = [[] for _ in range(n_states)]
        for s, v, w in zip(self.state.tolist(), self.value.tolist(), self.weight, strict=True):
            cells[s].append((v, w))
        return cells


@dataclass(frozen=True, eq=False)
class Conditional:
    """A promise about a group Z to whoever knows V: p(z, y | v) = p(z | v) p(y | v) for every z, v and code y.

    `both` is the variable (Z, V); given[i] numbers the v of its i-th value, and is -1 where nothing is promised (the promise
    is about one value of V, and this is another). `hidden` and `known` are the columns of Z and V; `only` are the values
    of V that the promise is limited to, by column.
    """

    both: Variable
    given: tuple[int, ...]
    hidden: tuple[str, ...]
    known: tuple[str, ...]
    only: tuple[tuple[str, Any], ...] = ()

    @property
    def given_names(self) -> tuple[str, ...]:
        """The columns of V, with the value of each that the promise is limited to."""
        only = dict(self.only)
        return tuple(f"{c}={only[c]}" if c in only else c for c in self.known)

    @property
    def name(self) -> str:
        """As it is written in `protect`."""
        return f"{'+'.join(self.hidden)} | {'+'.join(self.given_names)}"

    @cached_property
    def of_condition(self) -> dict[int, int]:
        """The weight of every v that is promised something about."""
        sums: dict[int, int] = {}
        for v, weight in zip(self.given, self.both.marginal, strict=True):
            if v >= 0:
                sums[v] = sums.get(v, 0) + weight
        return sums

    def known_by_state(self, size: int) -> dict[int, list[int]]:
        """w(s; v) at every state, for every v that is promised something about."""
        found = {v: [0] * size for v in self.of_condition}
        for s, i, w in zip(self.both.state.tolist(), self.both.value.tolist(), self.both.weight, strict=True):
            if self.given[i] >= 0:
                found[self.given[i]][s] += w
        return found

    def rows(self, size: int) -> list[tuple[int, list[int], int]]:
        """For every value (z, v): its number, n(v) w(s; z, v) - n(z, v) w(s; v) at every state, and n(v).

        That is n(v) w(s) [P(z, v | s) - p(z | v) P(v | s)]; summed against p(y | s) of any private code it is zero.
        """
        with_condition, found = self.known_by_state(size), []
        alone = [[0] * size for _ in self.given]
        for s, i, w in zip(self.both.state.tolist(), self.both.value.tolist(), self.both.weight, strict=True):
            alone[i][s] = w
        for i, v in enumerate(self.given):
            if v >= 0:
                n, mine = self.of_condition[v], self.both.marginal[i]
                found.append((i, [n * a - mine * b for a, b in zip(alone[i], with_condition[v], strict=True)], n))
        return found


@dataclass(frozen=True, eq=False)
class Problem:
    """States with a prior, protected variables, and a target: what a solver needs to know, and no more.

    `states[s]` are the values of `columns` in state s. All states have positive weight. `budgets`, when given, has one
    entry per group: None where the code must be independent of it. Under every law in `further` the groups are private too.
    `conditions` are promises to whoever knows other columns. `utility` is what the code shall be good for; None is bits.
    """

    columns: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    weights: tuple[int, ...]
    groups: tuple[Variable, ...]
    target: Variable
    budgets: tuple[Budget | None, ...] = ()
    further: tuple[FurtherLaw, ...] = ()
    conditions: tuple[Conditional, ...] = ()
    utility: Utility | None = None

    def __post_init__(self) -> None:
        """Raise unless the parts fit together exactly."""
        if len(self.states) != len(self.weights) or not self.states:
            raise ProblemError("A problem needs as many weights as states.", "Build it with choral.pose.")
        if min(self.weights) <= 0:
            raise ProblemError("A state has no weight.", "Drop states of probability zero first.")
        if not self.groups and not self.conditions:
            raise ProblemError("Nothing is protected.", "Name at least one column to protect.")
        if self.budgets and len(self.budgets) != len(self.groups):
            raise ProblemError("A problem needs as many budgets as groups.", "This is a defect.")
        for variable in (*self.groups, self.target, *(promise.both for promise in self.conditions)):
            if not variable.sums_to(self.weights):
                raise ProblemError(
                    f"The law of '{variable.name}' does not sum to the prior of the states.", "This is a defect."
                )

    @cached_property
    def total(self) -> int:
        """The common denominator of all weights."""
        return sum(self.weights)

    @property
    def plain(self) -> bool:
        """Whether independence under one law is all that is asked."""
        return not self.budgets and not self.further

    def budget(self, group: int) -> Budget | None:
        """The budget of a group, or None where the code must be independent of it."""
        return self.budgets[group] if self.budgets else None

    def protection(self, group: int) -> str:
        """The name of a group, and its budget if it has one."""
        budget = self.budget(group)
        name = self.groups[group].name
        return name if budget is None else f"{name} ({budget})"

    @property
    def size(self) -> int:
        """The number of states, |X̂|."""
        return len(self.states)

    @cached_property
    def prior(self) -> Floats:
        """p(s) as floats: a view for numerical work, never what decides privacy."""
        return np.array([weight / self.total for weight in self.weights])

    @cached_property
    def entropy_of_target(self) -> float:
        """H(W) in bits."""
        return entropy_of(self.target.marginal, self.total)

    def target_entropy(self) -> flint.arb:
        """H(W) in bits as a ball, in the precision of the context."""
        return entropy_ball(Fraction(w, self.total) for w in self.target.marginal)

    @cached_property
    def information_of_states(self) -> float:
        """I(W; S) in bits: what could be disclosed if nothing were protected."""
        inside = entropy_of(self.target.weight, self.total) - entropy_of(self.weights, self.total)
        return max(0.0, self.entropy_of_target - inside)

    def information_of_group(self, group: Variable) -> float:
        """I(W; Z) in bits for a protected group that is screened from the target by the state."""
        joint = entropy_of(self.with_target(group).values(), self.total)
        return max(0.0, entropy_of(group.marginal, self.total) + self.entropy_of_target - joint)

    def with_target(self, group: Variable) -> Mapping[tuple[int, int], Fraction]:
        """Weights of (group, target), p(z, w) = Σ_s p(s, w) P(z | s), for a group that the state screens."""
        if not group.screened:
            raise ProblemError(f"'{group.name}' is not screened from the target.", "Use its columns among `use`.")
        known = _TOGETHER.get(group)
        if known is None or known[0]() is not self.target or known[1] is not self.weights:
            known = ref(self.target), self.weights, _together(group, self.target, self.weights)
            _TOGETHER[group] = known
        return known[2]

    def prior_of(self, s: int) -> Fraction:
        """The exact probability of a state."""
        return Fraction(self.weights[s], self.total)

    def posterior(self) -> Floats:
        """P(w | s) as a dense float matrix, one row per target value."""
        return conditional(self.target, self.weights)

    def __repr__(self) -> str:
        protected = ", ".join(self.protection(g) for g in range(min(8, len(self.groups)))) + (
            ", …" if len(self.groups) > 8 else ""
        )
        return f"Problem(reveal {self.target.name}, protect {protected}; {self.size} states)"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str]] = [
            ("reveal", f"{self.target.name}, of {len(self.target.values)} values"),
            ("use", ", ".join(self.columns)),
            *(("protect", self.protection(g)) for g in range(min(MOST_LISTED, len(self.groups)))),
        ]
        if len(self.groups) > MOST_LISTED:
            rows.append(("protect", f"… and {len(self.groups) - MOST_LISTED} more groups"))
        if self.further:
            rows.append(("further laws", f"{len(self.further)}"))
        return Listing("", ("", ""), [*rows, ("states", f"{self.size}")]).html()


def _sums(keys: Index, weights: Sequence[int]) -> dict[int, int]:
    """The sum of the weights that have each key, exactly."""
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    sums: Iterable[int] = np.add.reduceat(np.array(weights, dtype=object)[order], starts) if len(found) else ()
    return dict(zip(found.tolist(), sums, strict=True))


def _together(group: Variable, target: Variable, weights: tuple[int, ...]) -> Mapping[tuple[int, int], Fraction]:
    """p(z, w) in weights of the states."""
    width = len(target.values)
    sums: Mapping[int, int | Fraction]
    if group.is_function:
        own = np.empty(len(weights), dtype=np.int64)
        own[group.state] = group.value
        sums = _sums(own[target.state] * width + target.value, target.weight)
    else:
        cells = target.by_state(len(weights))
        sums = defaultdict[int, "int | Fraction"](int)
        for s, z, g in zip(group.state.tolist(), group.value.tolist(), group.weight, strict=True):
            for v, w in cells[s]:
                sums[z * width + v] += w if g == weights[s] else Fraction(w * g, weights[s])
    return MappingProxyType({divmod(key, width): Fraction(x) for key, x in sums.items()})


_TOGETHER: WeakKeyDictionary[
    Variable, tuple[ReferenceType[Variable], tuple[int, ...], Mapping[tuple[int, int], Fraction]]
] = WeakKeyDictionary()
"""The target, the weights and what came of them, by the group: the same for problems that differ in their budgets alone."""


def conditional(variable: Variable, weights: Sequence[int]) -> Floats:
    """P(v | s) as a dense float matrix, one row per value."""
    matrix = np.zeros((len(variable.values), len(weights)))
    matrix[variable.value, variable.state] = [
        w / weights[s] for s, w in zip(variable.state.tolist(), variable.weight, strict=True)
    ]
    return matrix
