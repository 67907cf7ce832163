"""From a law and a question to a `Problem`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from choral.describe.joint import Joint
from choral.describe.kinds import checked
from choral.describe.law import Law
from choral.describe.reading import Cell, split_names
from choral.errors import ProblemError
from choral.problem.budget import budgets_for, further_law
from choral.problem.compact import pose_samples
from choral.problem.kernel import Conditional, Index, Problem, Variable
from choral.problem.promises import Promise, is_conditional, with_values
from choral.problem.question import Group, Question, Roles
from choral.problem.utility import utility_of


def pose(
    joint: Joint,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
) -> Problem:
    """The problem of telling `reveal` while every group in `protect` stays independent of the code.

    `reveal` defaults to the column "W"; `use` (what the channel may look at) to every column but the target,
    with the protected ones; `protect` to every used column alone, but the target. `order=k` protects every
    k of the protected columns together. An entry `Z | V` protects Z given V, a column or several joined by +, used or not.

    >>> from choral.describe import examples
    >>> pose(examples.bsc_and_bec())
    Problem(reveal W, protect X1, X2; 6 states)
    """
    return pose_roles(joint, Question(reveal, protect, use, order).about(joint.names))


def pose_self(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    use: str | Sequence[str] | None = None,
    order: int = 1,
) -> Problem:
    """The problem of telling as much as possible about all used columns jointly (self-disclosure).

    >>> from choral.describe import examples
    >>> pose_self(examples.bernoulli(0.5, 2))
    Problem(reveal X1+X2, protect X1, X2; 4 states)
    """
    return pose_roles(joint, Question(None, protect, use, order, itself=True).about(joint.names))


def problem_of(law: Law, question: Question, also: Sequence[Any] | None = None) -> Problem:
    """The problem that a law and a question pose, private under the laws in `also` too."""
    problem = with_budgets(law, _posed(law, question), question.leakage, question.ratio, also)
    return with_utility(law, problem, question.utility)


def _posed(law: Law, question: Question) -> Problem:
    table = checked(law).table
    if table is not None:
        return pose_roles(table, question.about(table.names))
    given = [entry for entry in _listed(question.protect) if is_conditional(entry)]
    if given:
        written = given[0] if isinstance(given[0], str) else given[0].written
        raise ProblemError(
            f"'{written}' with a law of the kind {type(law).__name__}, whose samples are protected alike.",
            "Say order=2 in place of protect: then whoever knows one sample learns nothing more about another (order=k: "
            "whoever knows k - 1 of them). A Joint law of the samples takes conditions.",
        )
    named = question.protect is not None or question.use is not None
    if question.reveal not in (None, "W", ["W"], ("W",)) or named:
        raise ProblemError(
            f"A {type(law).__name__} law reveals W and protects its samples alike.",
            "Leave out reveal, protect and use; say order=2 to protect pairs. A Joint takes them all.",
        )
    return pose_samples(law, question.order)


def _listed(protect: Any) -> Sequence[Any]:
    """The entries of `protect` as it was given."""
    return [protect] if isinstance(protect, str) else protect if isinstance(protect, Sequence) else ()


def windows(names: str | Sequence[str], k: int) -> list[tuple[str, ...]]:
    """Every k successive columns as a group, for `protect`: Y is then independent of (X_i, …, X_{i+k-1}) for every i.

    >>> windows(["X1", "X2", "X3"], 2)
    [('X1', 'X2'), ('X2', 'X3')]
    """
    if not isinstance(names, str | Sequence):
        raise ProblemError(f"names is {names!r}.", "Give a list of column names.")
    columns = split_names(names)
    if isinstance(k, bool) or not hasattr(k, "__index__") or not 1 <= k <= len(columns):
        raise ProblemError(f"Windows of k = {k!r} among {len(columns)} columns.", "Give 1 ≤ k ≤ the number of columns.")
    return [tuple(columns[i : i + index(k)]) for i in range(len(columns) - index(k) + 1)]


def with_budgets(
    law: Law,
    problem: Problem,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
    also: Sequence[Any] | None = None,
) -> Problem:
    """The problem with budgets for some of its groups, or with further laws."""
    names, columns = [g.name for g in problem.groups], [g.columns for g in problem.groups]
    budgets = budgets_for(names, columns, leakage, ratio)
    if problem.conditions and budgets:
        first = problem.conditions[0]
        raise ProblemError(
            f"'{first.name}' together with a budget.",
            f"Protect '{'+'.join(first.both.columns)}' together instead, or leave out the budget.",
        )
    if also is None or (isinstance(also, Sequence) and not also):
        return replace(problem, budgets=budgets) if budgets else problem
    if not isinstance(also, Sequence):
        raise ProblemError(f"also is a {type(also).__name__}.", "Give a list of Joint laws: also=[J2].")
    if law.table is None:
        raise ProblemError(f"Further laws beside a {type(law).__name__}.", "Give a Joint law and further Joint laws.")
    if budgets:
        raise ProblemError(
            "A budget together with further laws.",
            "Ask for one of them: budgets are about one law, also= for independence.",
        )
    given = [promise.both.columns for promise in problem.conditions]
    further = tuple(
        further_law(law.table, other, problem.columns, columns, given, f"law {k} in `also`")
        for k, other in enumerate(also, start=1)
    )
    return replace(problem, further=further)


def with_utility(law: Law, problem: Problem, utility: Any) -> Problem:
    """The problem with what its code shall be good for."""
    target = problem.target
    found = utility_of(utility, target.name, target.columns, target.values)
    if found is None:
        return problem
    if law.table is None:
        raise ProblemError(
            f"utility={found.name} with a law of the kind {type(law).__name__}.",
            "Give a Joint law, or leave out utility=: compact laws are solved for bits.",
        )
    if problem.budgets:
        raise ProblemError(f"utility={found.name} together with budgets.", "Leave out the budgets, or ask for bits.")
    return replace(problem, utility=found)


def pose_roles(joint: Joint, roles: Roles) -> Problem:
    """The problem in which columns of a law play these parts."""
    used = roles.use
    prior = joint.weights(used)
    number = {cell: s for s, cell in enumerate(prior)}
    cells = np.array(list(prior), dtype=np.int64)
    used_alphabets = [joint.alphabets[joint.position(name)] for name in used]
    states = tuple(tuple(a[i] for a, i in zip(used_alphabets, cell, strict=True)) for cell in prior)
    weights = tuple(prior.values())

    def variable(columns: Sequence[str]) -> Variable:
        return _variable(joint, used, number, cells, weights, columns)

    promises = [with_values(joint, promise) for promise in roles.given]
    return Problem(
        columns=used,
        states=states,
        weights=weights,
        groups=tuple(map(variable, roles.protect)),
        target=variable(roles.reveal),
        conditions=tuple(_conditional(p, variable([*p.hidden, *p.known])) for p in promises),
    )


def _conditional(promise: Promise, both: Variable) -> Conditional:
    """The promise as the states see it: values of (Z, V) by their v, and -1 where the promise is about another v."""
    only, first = dict(promise.only), len(promise.hidden)
    number: dict[tuple[Any, ...], int] = {}
    given = []
    for value in both.values:
        v = tuple(value[first:])
        meant = all(x == only[c] for c, x in zip(promise.known, v, strict=True) if c in only)
        given.append(number.setdefault(v, len(number)) if meant else -1)
    return Conditional(both, tuple(given), promise.hidden, promise.known, promise.only)


def _variable(
    joint: Joint,
    used: Sequence[str],
    number: dict[Cell, int],
    states: Index,
    weights: tuple[int, ...],
    columns: Sequence[str],
) -> Variable:
    name = "+".join(columns)
    inside = set(columns) <= set(used)
    if inside:
        where = [list(used).index(column) for column in columns]
        part, axis = (states[:, where[0]], None) if len(where) == 1 else (states[:, where], 0)
        found, labels = np.unique(part, axis=axis, return_inverse=True)
        cells = [tuple(cell) for cell in found.reshape(len(found), -1).tolist()]
    else:
        cells = list(joint.weights(columns))
    code = {cell: v for v, cell in enumerate(cells)}
    alphabets = [joint.alphabets[joint.position(column)] for column in columns]
    values: list[Any] = [tuple(a[i] for a, i in zip(alphabets, cell, strict=True)) for cell in cells]
    if len(columns) == 1:
        values = [value[0] for value in values]
    if inside:
        return Variable.function(name, columns, values, labels.ravel(), weights)
    both = joint.weights([*used, *columns])
    sums: defaultdict[tuple[int, int], int] = defaultdict(int)
    for cell, weight in both.items():
        sums[number[cell[: len(used)]], code[cell[len(used) :]]] += weight
    keys = sorted(sums)
    return Variable(
        name,
        tuple(columns),
        tuple(values),
        np.array([s for s, _ in keys], dtype=np.int64),
        np.array([v for _, v in keys], dtype=np.int64),
        tuple(sums[key] for key in keys),
    )
