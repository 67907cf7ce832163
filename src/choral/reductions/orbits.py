"""Columns that can be exchanged make states that can be joined.

Call two used columns exchangeable when swapping their values changes neither the law of (state, target) nor the family of
protected groups. *Claim:* swapping is an equivalence relation on columns, the swaps of a class generate all its
permutations, and an optimal channel may be taken to depend on a state through its orbit alone, that is, through the
multiset of values in each class. *Proof:* if a↔b and b↔c leave everything unchanged, so does their product
a↔c = (a↔b)(b↔c)(a↔b). Averaging a channel over the group, without publishing the permutation, keeps (W, Y), as
p(w, gx) = p(w, x), and keeps privacy, as a group g·Z is protected whenever Z is (docs/mathematics.md). ∎

Given its orbit, a state is uniform on it. So P(z | orbit) is the share of the orbit's states with Z = z, the same for all
groups that permutations carry into each other: one of them is kept. A multiplier of a kept group and value, divided evenly
over all that permutations make of the pair, proves the same bound for the original problem: in a single state, the share of
those pairs that hold is P(z | orbit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from math import isfinite
from typing import Any

import numpy as np

from choral.problem.kernel import Problem
from choral.problem.solution import Numbers
from choral.reductions.alike import collapsed
from choral.reductions.base import Joined, Reduced, Unchanged


@dataclass(frozen=True)
class JoinOrbits:
    """Join states that differ by a permutation of exchangeable columns."""

    def classes(self, problem: Problem) -> list[list[int]]:
        """Classes of exchangeable used columns, by position; columns that stand alone are left out."""
        if not all(group.is_function and set(group.columns) <= set(problem.columns) for group in problem.groups):
            return []
        if set(problem.target.columns) & set(problem.columns):
            return []  # the target moves with the permutation
        if problem.conditions:
            return []  # a permutation would have to keep the family of pairs (Z, V)
        cells = problem.target.by_state(problem.size)
        content = {state: cells[s] for s, state in enumerate(problem.states)}
        family = {frozenset(group.columns) for group in problem.groups}
        classes: list[list[int]] = []
        for i in range(len(problem.columns)):
            for known in classes:
                if _exchangeable(problem, content, family, known[0], i):
                    known.append(i)
                    break
            else:
                classes.append([i])
        return [known for known in classes if len(known) > 1]

    def apply(self, problem: Problem) -> Reduced:
        """The problem on orbits; an orbit is named by its sorted state."""
        classes = self.classes(problem)
        if not classes:
            return Reduced(problem, Unchanged())
        number: dict[tuple[Any, ...], int] = {}
        label = np.array(
            [number.setdefault(_orbit(state, classes), len(number)) for state in problem.states], dtype=np.int64
        )
        weights = [0] * len(number)
        first = [-1] * len(number)
        for s, c in enumerate(label.tolist()):
            weights[c] += problem.weights[s]
            first[c] = s if first[c] < 0 else first[c]
        companions: dict[tuple[Any, ...], list[int]] = {}
        for g, group in enumerate(problem.groups):
            companions.setdefault(_shape(problem, group.columns, classes), []).append(g)
        kept = [members[0] for members in companions.values()]
        reduced = Problem(
            columns=problem.columns,
            states=tuple(problem.states[s] for s in first),
            weights=tuple(weights),
            groups=tuple(collapsed(problem.groups[g], label) for g in kept),
            target=collapsed(problem.target, label),
            utility=problem.utility,
        )
        return Reduced(reduced, _Unfold(problem, reduced, label, classes, tuple(map(tuple, companions.values()))))


def _exchangeable(
    problem: Problem,
    content: dict[tuple[Any, ...], list[tuple[int, int]]],
    family: set[frozenset[str]],
    i: int,
    j: int,
) -> bool:
    a, b = problem.columns[i], problem.columns[j]
    swap = {a: b, b: a}
    if {frozenset(swap.get(c, c) for c in group) for group in family} != family:
        return False
    for state, cells in content.items():
        if state[i] == state[j]:
            continue
        other = list(state)
        other[i], other[j] = other[j], other[i]
        if content.get(tuple(other)) != cells:
            return False
    return True


def _key(value: Any) -> tuple[str, Any]:
    """Something to sort by that is equal exactly when values are: 1, 1.0 and True are one value."""
    if isinstance(value, int | Fraction) or (isinstance(value, float) and isfinite(value)):
        return "number", Fraction(value)
    return type(value).__name__, repr(value)


def _orbit(state: tuple[Any, ...], classes: list[list[int]]) -> tuple[Any, ...]:
    """The state with the values of each class sorted."""
    values = list(state)
    for members in classes:
        for i, value in zip(members, sorted((state[i] for i in members), key=_key), strict=True):
            values[i] = value
    return tuple(values)


def _shape(problem: Problem, columns: tuple[str, ...], classes: list[list[int]]) -> tuple[Any, ...]:
    """What permutations leave unchanged of a group: how many columns of each class, and which others."""
    where = {problem.columns.index(c) for c in columns}
    counts = tuple(len(where & set(members)) for members in classes)
    others = tuple(sorted(where - {i for members in classes for i in members}))
    return counts, others


@dataclass(frozen=True)
class _Unfold(Joined):
    """The way back: every state has the row of its orbit; multipliers are shared among companions."""

    classes: list[list[int]]
    companions: tuple[tuple[int, ...], ...]

    @property
    def exchangeable(self) -> tuple[tuple[str, ...], ...]:
        """The classes of columns."""
        return tuple(tuple(self.problem.columns[i] for i in known) for known in self.classes)

    def group(self, position: int) -> int:
        """The first of the groups that permutations carry into each other."""
        return self.companions[position][0]

    def rows(self, rows: tuple[int, ...]) -> tuple[tuple[int, ...], Callable[[Numbers], Numbers]]:
        """A number on a group and a value is divided evenly over all that permutations make of the pair."""
        start = _starts(self.problem)
        number = {frozenset(group.columns): g for g, group in enumerate(self.problem.groups)}
        places = [(g, v) for g, group in enumerate(self.reduced.groups) for v in range(len(group.values))]
        sources: dict[int, list[tuple[int, Fraction]]] = {}  # original row → reduced rows and shares
        for i, row in enumerate(rows):
            g, v = places[row]
            orbit = self._orbit_of(self.group(g), v)
            for assignment in orbit:
                group = self.problem.groups[number[frozenset(assignment)]]
                value = tuple(assignment[c] for c in group.columns)
                position = group.values.index(value if len(value) > 1 else value[0])
                where = start[number[frozenset(assignment)]] + position
                sources.setdefault(where, []).append((i, Fraction(1, len(orbit))))
        originals = tuple(sorted(sources))

        def shares(line: Numbers) -> Numbers:
            return tuple(sum((line[i] * share for i, share in sources[row]), Fraction(0)) for row in originals)

        return originals, shares

    def _orbit_of(self, g: int, v: int) -> list[dict[str, Any]]:
        """All (columns, values) that permutations make of a group with a value, each once."""
        group, columns = self.problem.groups[g], self.problem.columns
        value = group.values[v] if len(group.columns) > 1 else (group.values[v],)
        here = dict(zip(group.columns, value, strict=True))
        found: list[dict[str, Any]] = [{}]
        inside: set[str] = set()
        for members in self.classes:
            names = [columns[i] for i in members]
            inside |= set(names)
            carried = [here[name] for name in names if name in here]
            moves = [dict(zip(chosen, carried, strict=True)) for chosen in permutations(names, len(carried))]
            found = [{**one, **move} for one in found for move in moves]
        fixed = {name: x for name, x in here.items() if name not in inside}
        different = {frozenset((name, _key(x)) for name, x in one.items()): {**one, **fixed} for one in found}
        return list(different.values())


def _starts(problem: Problem) -> list[int]:
    starts, position = [], 0
    for group in problem.groups:
        starts.append(position)
        position += len(group.values)
    return starts
