"""From a joint law and what to reveal, protect and use, to a `Problem`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from operator import index
from typing import Any, TypeAlias

import numpy as np

from choral.describe.joint import Cell, Joint, split_names
from choral.errors import ColumnError, ProblemError, did_you_mean
from choral.problem.kernel import Conditional, Index, Problem, Variable
from choral.problem.promises import Promise, is_conditional, promise_of, split_promises, twice

Group: TypeAlias = "str | Sequence[str] | Promise"
MAX_GROUPS = 100_000
"""More protected groups than this are refused before they are built."""


def pose(
    joint: Joint,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
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
    target = _target(joint, reveal)
    protect, promises = _apart(joint, protect)
    asked = None if protect is None else _groups(joint, protect, bool(promises))
    used = _used(
        joint, target, [*(asked or []), *(promise.hidden for promise in promises)] if protect is not None else None, use
    )
    groups = _ordered(asked if asked is not None else [(c,) for c in used if c not in target], order)
    if not groups and not promises:
        raise ProblemError("Nothing is protected.", "Name at least one column to protect, or use another column.")
    for group in (*groups, *(promise.hidden for promise in promises)):
        if set(target) <= set(group):
            raise ProblemError(
                f"'{'+'.join(target)}' is to be revealed and protected at once.",
                "Take it out of protect, or use self_disclose to reveal the protected columns jointly.",
            )
    return _problem(joint, used, groups, target, promises)


def pose_self(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Problem:
    """The problem of telling as much as possible about all used columns jointly (self-disclosure).

    >>> from choral.describe import examples
    >>> pose_self(examples.bernoulli(0.5, 2))
    Problem(reveal X1+X2, protect X1, X2; 4 states)
    """
    protect, promises = _apart(joint, protect)
    asked = None if protect is None else _groups(joint, protect, bool(promises))
    used = _columns(joint, use, "use") if use is not None else list(joint.names)
    groups = _ordered(asked if asked is not None else [(c,) for c in used], order)
    if not groups and not promises:
        raise ProblemError("Nothing is protected.", "Name at least one column to protect.")
    for group in groups:
        if set(used) <= set(group):
            raise ProblemError(
                f"All that is used, '{'+'.join(used)}', is protected as one group.",
                "Nothing could be said then; protect smaller groups.",
            )
    return _problem(joint, used, groups, tuple(used), promises)


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


def _target(joint: Joint, reveal: str | Sequence[str] | None) -> tuple[str, ...]:
    if reveal is None:
        if "W" not in joint.names:
            raise ProblemError(
                f"Nothing is named to be revealed, and there is no column 'W' among {', '.join(joint.names)}.",
                "Name it: reveal=… (--reveal), or call self_disclose.",
            )
        reveal = "W"
    return tuple(_columns(joint, reveal, "reveal"))


def _columns(joint: Joint, names: str | Sequence[str], where: str) -> list[str]:
    if not isinstance(names, str | Sequence):
        raise ProblemError(f"`{where}` is {names!r}.", "Give column names.")
    columns = list(names)
    if isinstance(names, str):
        columns = [name.strip() for name in names.split("+")]
    if not columns:
        raise ProblemError(f"`{where}` is empty.", "Name at least one column.")
    for name in columns:
        if not isinstance(name, str) or name not in joint.names:
            raise ColumnError(f"`{where}` names '{name}', which is no column.", did_you_mean(name, joint.names))
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ProblemError(f"`{where}` names '{twice}' twice in '{'+'.join(columns)}'.", "Name each column once.")
    return columns


def _apart(
    joint: Joint, protect: str | Sequence[Group] | None
) -> tuple[str | Sequence[str | Sequence[str]] | None, list[Promise]]:
    """What is protected whatever is known, and what is protected given a condition."""
    listed = split_promises(protect) if isinstance(protect, str) else protect
    if not isinstance(listed, Sequence) or not any(map(is_conditional, listed)):
        return protect, []  # type: ignore[return-value]
    promises = [promise_of(joint, entry) for entry in listed if is_conditional(entry)]  # type: ignore[arg-type]
    again = twice(promises)
    if again is not None:
        raise ProblemError(
            f"`protect` makes the promise '{'+'.join(again.hidden)} | {'+'.join(again.known)}' twice.", "Name it once."
        )
    return [entry for entry in listed if not is_conditional(entry)], promises  # type: ignore[misc]


def _groups(joint: Joint, protect: str | Sequence[str | Sequence[str]], more: bool) -> list[tuple[str, ...]]:
    if isinstance(protect, tuple) and len(protect) > 1 and all(isinstance(group, str) for group in protect):
        raise ProblemError(
            f"protect={protect!r} may mean one group or several columns.",
            f"Write {list(protect)!r} for columns that are private each alone, [{protect!r}] for them together.",
        )
    if isinstance(protect, str):
        protect = [part.strip() for part in protect.split(",")]
    if not isinstance(protect, Sequence):
        raise ProblemError(f"`protect` is {protect!r}.", "Give a list of columns or groups.")
    listed = list(protect)
    if not listed and not more:
        raise ProblemError("`protect` is empty.", "Name at least one column to protect.")
    groups = [tuple(_columns(joint, group, "protect")) for group in listed]
    seen: dict[frozenset[str], tuple[str, ...]] = {}
    for group in groups:
        if frozenset(group) in seen:
            raise ProblemError(f"`protect` names the group '{'+'.join(group)}' twice.", "Name each group once.")
        seen[frozenset(group)] = group
    return groups


def _used(
    joint: Joint, target: tuple[str, ...], asked: list[tuple[str, ...]] | None, use: Sequence[str] | None
) -> list[str]:
    if use is not None:
        return _columns(joint, use.split(",") if isinstance(use, str) else use, "use")
    protected = {column for group in asked or [] for column in group}
    used = [name for name in joint.names if name not in target or name in protected]
    if not used:
        raise ProblemError("No column is left for the channel to look at.", "Add columns beside the target.")
    return used


def _ordered(groups: list[tuple[str, ...]], order: int) -> list[tuple[str, ...]]:
    if isinstance(order, bool) or not hasattr(order, "__index__") or order < 1:
        raise ProblemError(f"order={order!r} is not a positive whole number.", "order=2 protects every pair.")
    if order == 1:
        return groups
    if any(len(group) > 1 for group in groups):
        raise ProblemError(
            f"order={order} with the group '{'+'.join(next(g for g in groups if len(g) > 1))}'.",
            "Give single columns with order, or list the groups themselves.",
        )
    columns = [group[0] for group in groups]
    order = index(order)
    if order > len(columns):
        raise ProblemError(f"order={order}, but only {len(columns)} columns are protected.", "Lower the order.")
    chosen = []
    for group in combinations(columns, order):
        chosen.append(group)
        if len(chosen) > MAX_GROUPS:
            raise ProblemError(f"order={order} makes more than {MAX_GROUPS} groups.", "Lower the order.")
    return chosen


def _problem(
    joint: Joint,
    used: Sequence[str],
    groups: Iterable[Sequence[str]],
    target: Sequence[str],
    promises: Iterable[Promise] = (),
) -> Problem:
    prior = joint.weights(used)
    number = {cell: s for s, cell in enumerate(prior)}
    cells = np.array(list(prior), dtype=np.int64)
    used_alphabets = [joint.alphabets[joint.position(name)] for name in used]
    states = tuple(tuple(a[i] for a, i in zip(used_alphabets, cell, strict=True)) for cell in prior)
    weights = tuple(prior.values())
    return Problem(
        columns=tuple(used),
        states=states,
        weights=weights,
        groups=tuple(_variable(joint, used, number, cells, weights, group) for group in groups),
        target=_variable(joint, used, number, cells, weights, target),
        conditions=tuple(
            _conditional(promise, _variable(joint, used, number, cells, weights, [*promise.hidden, *promise.known]))
            for promise in promises
        ),
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
        found, labels = np.unique(states[:, where], axis=0, return_inverse=True)
        cells = [tuple(cell) for cell in found.tolist()]
    else:
        cells = list(joint.weights(columns))
    code = {cell: v for v, cell in enumerate(cells)}
    alphabets = [joint.alphabets[joint.position(column)] for column in columns]
    values: list[Any] = [tuple(a[i] for a, i in zip(alphabets, cell, strict=True)) for cell in cells]
    if len(columns) == 1:
        values = [value[0] for value in values]
    if inside:
        return Variable.function(name, columns, values, labels.ravel().tolist(), weights)
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
