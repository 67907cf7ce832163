"""Problems on types and on scores: what a channel sees of laws that are never written out."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch

import numpy as np

from choral.describe.exchangeable import Exchangeable, compositions
from choral.describe.law import Law
from choral.describe.sensors import Sensors
from choral.errors import ProblemError
from choral.problem.kernel import Problem, Variable


def any_samples(order: int) -> str:
    """How a file names "any `order` of the samples together"."""
    return f"any {order}"


def order_of(name: str) -> int:
    """How many samples are protected together under the name that `any_samples` gives; one under other names.

    >>> order_of(any_samples(3)), order_of("X1")
    (3, 1)
    """
    return int(name.removeprefix("any ")) if name.startswith("any ") else 1


def pose_types(law: Exchangeable, order: int = 1) -> Problem:
    """Reveal W, protect any `order` of the n samples together; states are types.

    Given the type, the samples are in random order, so k of them are k draws without replacement: the k-type j has
    probability Π C(count_a, j_a) / C(n, k). A sequence of k values is, given its k-type, uniform and tells no more.

    >>> from choral.describe.channels import bsc
    >>> pose_types(Exchangeable([0.5, 0.5], bsc(0.25), 3)).states
    ((0, 3), (1, 2), (2, 1), (3, 0))
    """
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= law.n:
        raise ProblemError(f"order={order!r} for {law.n} samples.", f"Give a whole number from 1 to {law.n}.")
    masses = law.masses()
    ways = math.comb(law.n, order)
    shared = math.gcd(*(weight for row in masses.values() for weight in row))
    states = tuple(masses)
    rows = [[weight // shared * ways for weight in row] for row in masses.values()]
    weights = tuple(sum(row) for row in rows)
    parts = list(compositions(order, len(law.values)))
    state, value, weight = [], [], []
    for s, counts in enumerate(states):
        for v, part in enumerate(parts):
            chosen = math.prod(math.comb(c, j) for c, j in zip(counts, part, strict=True))
            if chosen:
                state.append(s)
                value.append(v)
                weight.append(weights[s] // ways * chosen)
    names = [_part_name(law, part) for part in parts]
    name = "any sample" if order == 1 else f"any {order} samples"
    group = replace(_variable(name, (any_samples(order),), names, state, value, weight), screened=True)
    return Problem(("type",), states, weights, (group,), _target(law.target_values, rows))


def pose_score(law: Sensors, order: int = 1) -> Problem:
    """Reveal W, protect each sensor alone; states are the values of the score."""
    if order != 1:
        raise ProblemError(f"order={order} through a score.", "A score protects each sensor alone (order=1).")
    by_target, by_sensor = law.masses()
    states = tuple((t,) for t in by_target)
    number = {t: s for s, t in enumerate(by_target)}
    rows = list(by_target.values())
    groups = []
    for name, values, cells in zip(law.names, law.values, by_sensor, strict=True):
        entries = sorted((number[t], a, weight) for t, row in cells.items() for a, weight in row.items() if weight)
        state, value, weight = (list(x) for x in zip(*entries, strict=True))
        groups.append(_variable(name, (name,), list(values), state, value, weight))
    return Problem(("score",), states, tuple(map(sum, rows)), tuple(groups), _target(law.target_values, rows))


@singledispatch
def pose_samples(law: Law, order: int) -> Problem:
    """Reveal W and protect any `order` samples of a law that is a model of samples: each kind has its states."""
    raise ProblemError(f"A {type(law).__name__} is no model of samples.", "This is a defect; report it.")


pose_samples.register(Exchangeable, pose_types)
pose_samples.register(Sensors, pose_score)


def _target(values: tuple[object, ...], rows: list[list[int]]) -> Variable:
    entries = [(s, w, weight) for s, row in enumerate(rows) for w, weight in enumerate(row) if weight]
    state, value, weight = (list(x) for x in zip(*entries, strict=True))
    return _variable("W", ("W",), list(values), state, value, weight)


def _part_name(law: Exchangeable, part: tuple[int, ...]) -> object:
    values = [value for value, count in zip(law.values, part, strict=True) for _ in range(count)]
    return values[0] if len(values) == 1 else tuple(values)


def _variable(
    name: str, columns: tuple[str, ...], values: list[object], state: list[int], value: list[int], weight: list[int]
) -> Variable:
    """A variable with these entries; values that never occur are left out."""
    kept, position = np.unique(np.array(value, dtype=np.int64), return_inverse=True)
    return Variable(
        name,
        columns,
        tuple(values[v] for v in kept.tolist()),
        np.array(state, dtype=np.int64),
        position.astype(np.int64),
        tuple(weight),
    )
