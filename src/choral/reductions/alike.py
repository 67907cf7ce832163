"""Alike states are one state.

Two states with the same conditional laws of every protected group and of the target, P(z|s) = P(z|s') and
P(w|s) = P(w|s'), are alike. *Claim:* an optimal channel may treat them alike. *Proof:* summing a channel's masses over
classes, t_c = Σ_{s∈c} p(s|y), changes neither P t nor P_{W|S} t, so a private channel on states gives one on classes
with the same (W, Y); conversely a channel on classes, applied to the class of a state, is private and has the same
(W, Y). A multiplier π_c of a class, given to each of its states, proves the same bound, since π·t is the same. ∎

Where something is promised given V, alike states have the same P(z, v | s), too: the equations are about that. Budgets are
about P(z|y) alone, so the same holds for them. Further laws may tell alike states apart: then nothing is joined.

This is what makes unprotected columns cheap: values that tell the same about the target collapse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from choral.problem.kernel import Index, Problem, Variable
from choral.reductions.base import Joined, Reduced, Unchanged


@dataclass(frozen=True)
class MergeAlike:
    """Join states that no protected group and no target can tell apart."""

    def apply(self, problem: Problem) -> Reduced:
        """The problem on classes of alike states; a class is named by its first state."""
        if _all_different(problem):
            return Reduced(problem, Unchanged())
        keys: list[list[int]] = [
            [] for _ in problem.states
        ]  # position, value and share in lowest terms, one after another
        given = [promise.both for promise in problem.conditions]
        for position, variable in enumerate((*problem.groups, *given, problem.target)):
            for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
                common = math.gcd(w, problem.weights[s])
                keys[s] += position, v, w // common, problem.weights[s] // common
        number: dict[tuple[int, ...], int] = {}
        label = np.array([number.setdefault(tuple(key), len(number)) for key in keys], dtype=np.int64)
        first = [-1] * len(number)
        weights = [0] * len(number)
        for s, c in enumerate(label.tolist()):
            weights[c] += problem.weights[s]
            if first[c] < 0:
                first[c] = s
        reduced = Problem(
            columns=problem.columns,
            states=tuple(problem.states[s] for s in first),
            weights=tuple(weights),
            groups=tuple(collapsed(group, label) for group in problem.groups),
            target=collapsed(problem.target, label),
            budgets=problem.budgets,
            conditions=tuple(replace(promise, both=collapsed(promise.both, label)) for promise in problem.conditions),
            utility=problem.utility,
        )
        return Reduced(reduced, Joined(problem, reduced, label))


def _all_different(problem: Problem) -> bool:
    """Whether the groups that are functions of the state tell every two states apart: then no two are alike."""
    label = np.zeros(problem.size, dtype=np.int64)
    for group in problem.groups:
        if group.is_function:
            _, label = np.unique(label * len(group.values) + group.value, return_inverse=True)
    return int(label.max()) + 1 == problem.size


def collapsed(variable: Variable, label: Index) -> Variable:
    """The variable as classes of states see it: weights of joined states add up."""
    sums: dict[tuple[int, int], int] = {}
    for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
        key = int(label[s]), v
        sums[key] = sums.get(key, 0) + w
    keys = sorted(sums)
    return Variable(
        variable.name,
        variable.columns,
        variable.values,
        np.array([c for c, _ in keys], dtype=np.int64),
        np.array([v for _, v in keys], dtype=np.int64),
        tuple(sums[key] for key in keys),
        variable.screened,
    )
