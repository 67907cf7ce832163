"""The form of a problem: rank and nullity of P, feasibility, symmetries of size; all decided in integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import flint
import numpy as np

from choral.problem.kernel import Floats, Problem, Variable

Row = tuple[int, ...]
PRIME = 2**61 - 1
"""Ranks are taken modulo this Mersenne prime, which fits a machine word; they are never above the true ones."""
SOME_STATES = 2000
"""States that are looked at first: independence at some of them is independence."""
SCATTER = 2654435761
"""A prime near 2^32 over the golden ratio: its multiples spread evenly over the states."""


MOST_COLUMNS = 8
"""Of a group whose subsets are told apart where the rank is bounded: 256 of them."""


@dataclass(frozen=True)
class Form:
    """What the matrix P of (matp) says about a problem before it is solved."""

    states: int
    rank: int
    nullity: int
    feasible: bool
    target_values: int


def form_of(problem: Problem) -> Form:
    """Rank, nullity and feasibility (Null(P) ⊄ Null(P_{W|X})), exactly.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> form_of(pose(examples.bsc_and_bec()))
    Form(states=6, rank=4, nullity=2, feasible=True, target_values=2)
    """
    rank, feasible = _rank_and_feasible(problem)
    return Form(problem.size, rank, problem.size - rank, feasible, len(problem.target.values))


def _rank_and_feasible(problem: Problem) -> tuple[int, bool]:
    """By one elimination modulo a prime of P with the target below it, and exactly where that does not settle both."""
    known = incidence(problem)
    if not problem.target.determines_state:
        cells, values = problem.target.by_state(problem.size), range(len(problem.target.values))
        columns = []
        for s in _some(problem.size):
            factor, here = problem.weights[s] // known.scale[s], dict(cells[s])
            columns.append(
                (problem.weights[s], *(factor * row[s] for row in known.rows), *(here.get(v, 0) for v in values))
            )
        found = _independent_modulo(columns)
        inside = [i for i in found if i <= len(known.rows)]
        if len(inside) == known.most and len(found) > len(inside):  # so many are independent, and more there cannot be
            known.__dict__["independent_of_sum"] = tuple(i - 1 for i in inside if i)
            return len(inside), True
    rank = 1 + len(known.independent_of_sum)
    if problem.target.determines_state:
        return rank, problem.size > rank
    return rank, len(_incidence(problem, [*problem.groups, problem.target]).independent) > rank


@dataclass(frozen=True)
class Incidence:
    """The matrix P of (matp) in integers: rows[i][s] = P(z | s) · scale[s] for the i-th pair (group, z).

    `right[i]` / total is what every posterior must give: Σ_s P(z | s) p(s | y) = p(z). When every group is a
    function of the state all scales are 1 and the rows *are* P. The rows of conditions follow, times n(v), their `divisor`:
    Σ_s (P(z, v | s) - p(z | v) P(v | s)) p(s | y) = 0. Where there are conditions alone, the last row says that a posterior
    sums to one. `most` is what the rank cannot exceed.
    """

    rows: tuple[Row, ...]
    right: tuple[int, ...]
    scale: tuple[int, ...]
    divisor: tuple[int, ...]
    most: int

    @cached_property
    def independent(self) -> tuple[int, ...]:
        """Positions of the first rows that form a basis of the row space."""
        return tuple(independent(self.rows, self.most))

    @cached_property
    def independent_of_sum(self) -> tuple[int, ...]:
        """Positions of rows that form, with the row of ones, a basis of the row space.

        Their centred versions P(z | s) - p(z) are independent, and a posterior of given total mass is private
        exactly when these are met: the other rows follow.
        """
        return tuple(i - 1 for i in independent((self.scale, *self.rows), self.most) if i)


@lru_cache(maxsize=4)
def incidence(problem: Problem) -> Incidence:
    """P of the protected groups, in integers.

    Multiplying a column by a positive number changes neither the rank nor which rows depend on which.
    """
    return _incidence(problem, problem.groups)


def _incidence(problem: Problem, chosen: Sequence[Variable]) -> Incidence:
    seen = [*chosen, *(promise.both for promise in problem.conditions)]
    if all(variable.is_function for variable in seen):
        divisors = list(problem.weights)
    else:
        divisors = [0] * problem.size
        for variable in seen:
            for s, w in zip(variable.state.tolist(), variable.weight, strict=True):
                divisors[s] = math.gcd(divisors[s], w)
    rows: list[Row] = []
    for variable in chosen:
        block = [[0] * problem.size for _ in variable.values]
        for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
            block[v][s] = w // divisors[s]
        rows += map(tuple, block)
    right = [weight for variable in chosen for weight in variable.marginal]
    divisor = [1] * len(rows)
    for row in condition_rows(problem):
        rows.append(tuple(x // d for x, d in zip(row.numerators, divisors, strict=True)))
        divisor.append(row.divisor)
    right += [0] * (len(rows) - len(right))
    scale = tuple(weight // divisor for weight, divisor in zip(problem.weights, divisors, strict=True))
    if not chosen:
        rows, right, divisor = [*rows, scale], [*right, problem.total], [*divisor, 1]
    most = min(problem.size, len(rows) - max(len(chosen), 1) + 1, _terms(seen))
    return Incidence(tuple(rows), tuple(right), scale, tuple(divisor), most)


def _terms(variables: Sequence[Variable]) -> int:
    """How many functions of the state rows about these variables can span, at most.

    A function of several columns is a sum over their subsets J of functions that sum to zero over each column in J: of these
    Π (values - 1) are independent, and a subset that several variables have counts once.
    """
    sizes: dict[Any, int] = {}
    subsets: set[frozenset[Any]] = set()
    for variable in variables:
        names: tuple[Any, ...] = variable.columns
        if len(names) == 1:
            values = [variable.values]
        elif len(names) <= MOST_COLUMNS and all(type(v) is tuple and len(v) == len(names) for v in variable.values):
            values = list(zip(*variable.values, strict=True))
        else:
            names, values = (variable,), [variable.values]  # as one column, of its own
        for name, column in zip(names, values, strict=True):
            sizes[name] = max(sizes.get(name, 1), len(set(column)))
        for many in range(len(names) + 1):
            subsets.update(map(frozenset, combinations(names, many)))
    return sum(math.prod(sizes[name] - 1 for name in subset) for subset in subsets)


def centred_rows(problem: Problem, rows: tuple[int, ...]) -> Floats:
    """P(z | s) - p(z) for these rows of P, in floats: one row per state."""
    matrix = incidence(problem)
    columns = []
    for i in rows:
        mean, n = matrix.right[i] / problem.total, matrix.divisor[i]
        columns.append([x / (c * n) - mean for x, c in zip(matrix.rows[i], matrix.scale, strict=True)])
    return np.array(columns, dtype=np.float64).reshape(len(rows), problem.size).T


@dataclass(frozen=True)
class FurtherRow:
    """An equation beside those of the groups: Σ_s p(s) value(s) p(y | s) = 0, value(s) = numerators[s] / (w_s · divisor).

    Of a condition: value(s) = P(z, v | s) - p(z | v) P(v | s), for p(z, y | v) = p(z | v) p(y | v).
    Of a further law q, for a group and a value z: value(s) = (q(s)/p(s)) (Q(z | s) - q(z)), for q(z, y) = q(z) q(y). One
    row more per law says q(y) = p(y), value(s) = q(s)/p(s) - 1: then the code does not tell which law holds, and every
    mixture of the laws is private: Σ_i c_i q_i(z, y) = Σ_i c_i q_i(z) p(y). Of a further law and a condition: the row of the
    condition under q, value(s) = (q(s)/p(s)) (Q(z, v | s) - q(z | v) Q(v | s)); and for every v one that says
    q(y | v) = p(y | v), value(s) = q(s, v) / (p(s) q(v)) - P(v | s) / p(v), for mixtures to keep the promise as well.
    """

    place: tuple[int | str, ...]
    numerators: tuple[int, ...]
    divisor: int


@lru_cache(maxsize=4)
def condition_rows(problem: Problem) -> tuple[FurtherRow, ...]:
    """The equations of the promises that have a condition; `place` is (condition, value of its variable)."""
    return tuple(
        FurtherRow((c, i), tuple(numerators), n)
        for c, promise in enumerate(problem.conditions)
        for i, numerators, n in promise.rows(problem.size)
    )


@lru_cache(maxsize=4)
def further_rows(problem: Problem) -> tuple[FurtherRow, ...]:
    """The equations of all further laws; `place` is (law, group, value), or (law,) for the row of masses.

    Of a condition it is (law, "given", condition, value of (Z, V)), and (law, "known", condition, the first value with v).
    """
    rows = []
    for k, law in enumerate(problem.further):
        total, square = law.total, law.total**2
        for g, group in enumerate(problem.groups):
            marginal = law.marginal(g)
            for v in range(len(group.values)):
                numerators = [-w * marginal.get(v, 0) for w in law.weights]
                for s, value, w in law.groups[g]:
                    if value == v:
                        numerators[s] += total * w
                rows.append(FurtherRow((k, g, v), tuple(problem.total * x for x in numerators), square))
        masses = [problem.total * q - total * w for q, w in zip(law.weights, problem.weights, strict=True)]
        rows.append(FurtherRow((k,), tuple(masses), total))
        for c in range(len(problem.conditions)):
            rows += _condition_under(problem, k, c)
    return tuple(rows)


def _condition_under(problem: Problem, k: int, c: int) -> list[FurtherRow]:
    """The equations of the c-th condition under the k-th further law; none for a v that it gives no probability."""
    law, promise = problem.further[k], problem.conditions[c]
    alone: dict[int, dict[int, int]] = {}
    for s, i, w in law.conditions[c]:
        alone.setdefault(i, {})[s] = w
    members: dict[int, list[int]] = {}
    for i, v in enumerate(promise.given):
        if v >= 0:
            members.setdefault(v, []).append(i)
    before = promise.known_by_state(problem.size)
    rows = []
    for v, values in members.items():
        known = [sum(alone.get(i, {}).get(s, 0) for i in values) for s in range(problem.size)]
        n, m = promise.of_condition[v], sum(known)
        if not m:
            continue
        for i in values:
            here = alone.get(i, {})
            mine = sum(here.values())
            numerators = tuple(problem.total * (m * here.get(s, 0) - mine * b) for s, b in enumerate(known))
            rows.append(FurtherRow((k, "given", c, i), numerators, law.total * m))
        masses = tuple(problem.total * (n * b - m * a) for a, b in zip(before[v], known, strict=True))
        rows.append(FurtherRow((k, "known", c, values[0]), masses, n * m))
    return rows


def row_places(problem: Problem) -> list[list[Any]]:
    """How the rows of P are named in a document: the groups' values, stacked, then the further rows."""
    places: list[list[Any]] = [[g, v] for g, group in enumerate(problem.groups) for v in range(len(group.values))]
    places += [["given", *row.place] for row in condition_rows(problem)]
    places += [] if problem.groups else [["sum"]]
    return [*places, *(["also", *row.place] for row in further_rows(problem))]


def rows_at(problem: Problem, places: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """The rows with these names."""
    number = {tuple(place): i for i, place in enumerate(row_places(problem))}
    return tuple(number[tuple(place)] for place in places)


@dataclass(frozen=True)
class Equations:
    """What privacy asks of a channel, as independent equations Σ_s integer · p(y | s) = 0 for every code y.

    `rows[i]` is a position among the rows of P, followed by the further rows.
    """

    problem: Problem
    rows: tuple[int, ...]

    def at(self, states: Sequence[int]) -> list[list[int]]:
        """The integers of each equation at these states."""
        known = incidence(self.problem)
        weights = [self.problem.weights[s] for s in states]
        unit = [w // known.scale[s] for w, s in zip(weights, states, strict=True)]
        found = []
        for i in self.rows:
            if i >= len(known.rows):
                numerators = further_rows(self.problem)[i - len(known.rows)].numerators
                found.append([numerators[s] for s in states])
                continue
            row, right, total = known.rows[i], known.right[i], self.problem.total
            found.append(
                [total * row[s] * u - right * w for s, u, w in zip(states, unit, weights, strict=True)],
            )
        return found

    def units(self) -> list[int]:
        """For each equation e the number u with integer = u · w(s) e(s)."""
        known, total = incidence(self.problem), self.problem.total
        further = further_rows(self.problem)
        inside = len(known.rows)
        return [total * known.divisor[i] if i < inside else further[i - inside].divisor for i in self.rows]

    def basis(self, states: Sequence[int]) -> list[int]:
        """The first of these states, as many as there are equations, at which the equations are independent."""
        columns = list(zip(*self.at(states), strict=True))
        return [states[k] for k in independent(columns, len(self.rows))]


@lru_cache(maxsize=4)
def equations(problem: Problem) -> Equations:
    """Independent equations that say all of the privacy that is exact: of groups without a budget, and of further laws."""
    if problem.plain:
        return Equations(problem, incidence(problem).independent_of_sum)
    owner = [g for g, group in enumerate(problem.groups) for _ in group.values]
    asked = [i for i, g in enumerate(owner) if problem.budget(g) is None]
    known = len(incidence(problem).rows)
    asked += [*range(len(owner), known), *range(known, known + len(further_rows(problem)))]
    if not asked:
        return Equations(problem, ())
    integers = Equations(problem, tuple(asked)).at(range(problem.size))
    return Equations(problem, tuple(asked[i] for i in independent([tuple(row) for row in integers], len(asked))))


@lru_cache(maxsize=4)
def constraints(problem: Problem) -> tuple[tuple[int, ...], Floats]:
    """The rows of `equations`, and for each state what they are there: Σ_s p(s, y) M_s = 0 for every code. In floats."""
    if problem.plain:
        rows = incidence(problem).independent_of_sum
        return rows, _fixed(centred_rows(problem, rows))
    found = equations(problem)
    known = len(incidence(problem).rows)
    columns = [centred_rows(problem, tuple(i for i in found.rows if i < known))]
    for i in found.rows:
        if i >= known:
            row = further_rows(problem)[i - known]
            values = [x / (w * row.divisor) for x, w in zip(row.numerators, problem.weights, strict=True)]
            columns.append(np.array(values, dtype=np.float64)[:, None])
    return found.rows, _fixed(np.hstack(columns))


def _fixed(matrix: Floats) -> Floats:
    """The same, not to be changed by one of those who share it."""
    matrix.flags.writeable = False
    return matrix


def independent(rows: Sequence[Row], at_most: int) -> list[int]:
    """Positions of the first rows that are independent; the rank is known to be at most `at_most`.

    Rows that are independent modulo a prime are independent; when there are `at_most` of them, that is all. Only
    otherwise is the question settled over the rationals. States at which all rows agree are looked at once.
    """
    if len(rows[0]) > SOME_STATES:
        found = _independent_modulo([tuple(row[s] for row in rows) for s in _some(len(rows[0]))])
        if len(found) == at_most:
            return found
    columns = list(dict.fromkeys(zip(*rows, strict=True)))
    found = _independent_modulo(columns)
    if len(found) == at_most:
        return found
    reduced, _, rank = _gram(columns).rref()
    return [next(j for j in range(len(rows)) if reduced[i, j] != 0) for i in range(rank)]


def _some(width: int) -> Sequence[int]:
    """The states, or some of very many: rows that are independent at some states are independent."""
    return range(width) if width <= SOME_STATES else [(i * SCATTER) % width for i in range(SOME_STATES)]


def _independent_modulo(columns: Sequence[Row]) -> list[int]:
    """Positions of the first rows that are independent modulo PRIME."""
    entries = [x % PRIME for column in columns for x in column]
    size = len(columns[0])
    reduced, rank = flint.nmod_mat(len(columns), size, entries, PRIME).rref()
    return [next(j for j in range(size) if int(reduced[i, j])) for i in range(int(rank))]


def _gram(columns: Sequence[Row]) -> flint.fmpz_mat:
    """R Rᵀ, which has the rank of R over the rationals and the same dependencies between rows."""
    matrix = flint.fmpz_mat([list(column) for column in columns])
    return matrix.transpose() * matrix
