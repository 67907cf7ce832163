"""The form of a problem: rank and nullity of P, feasibility, symmetries of size; all decided in integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import flint
import numpy as np

from choral.problem.kernel import Floats, Problem, Variable

Row = tuple[int, ...]
PRIME = 2**61 - 1


@dataclass(frozen=True)
class Form:
    """What the matrix P of (matp) says about a problem before it is solved."""

    states: int
    rank: int
    nullity: int
    feasible: bool
    target_values: int


def form_of(problem: Problem) -> Form:
    """Rank, nullity and feasibility (Prop1: Null(P) ⊄ Null(P_{W|X})), exactly.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> form_of(pose(examples.bsc_and_bec()))
    Form(states=6, rank=4, nullity=2, feasible=True, target_values=2)
    """
    rank = len(incidence(problem).independent())
    if problem.target.determines_state:
        feasible = problem.size > rank
    else:
        feasible = len(_incidence(problem, [*problem.groups, problem.target]).independent()) > rank
    return Form(problem.size, rank, problem.size - rank, feasible, len(problem.target.values))


@dataclass(frozen=True)
class Incidence:
    """The matrix P of (matp) in integers: rows[i][s] = P(z | s) · scale[s] for the i-th pair (group, z).

    `right[i]` / total is what every posterior must give: Σ_s P(z | s) p(s | y) = p(z). When every group is a
    function of the state all scales are 1 and the rows *are* P.
    """

    rows: tuple[Row, ...]
    right: tuple[int, ...]
    scale: tuple[int, ...]
    groups: int

    @property
    def most(self) -> int:
        """What the rank cannot exceed: the rows of every group sum to the same row (cor1)."""
        return min(len(self.scale), len(self.rows) - self.groups + 1)

    def independent(self) -> list[int]:
        """Positions of the first rows that form a basis of the row space."""
        return _independent(self.rows, self.most)

    def independent_of_sum(self) -> list[int]:
        """Positions of rows that form, with the row of ones, a basis of the row space.

        Their centred versions P(z | s) - p(z) are independent, and a posterior of given total mass is private
        exactly when these are met: the other rows follow.
        """
        return [i - 1 for i in _independent((self.scale, *self.rows), self.most) if i]


@lru_cache(maxsize=4)
def incidence(problem: Problem) -> Incidence:
    """P of the protected groups, in integers.

    Multiplying a column by a positive number changes neither the rank nor which rows depend on which.
    """
    return _incidence(problem, problem.groups)


def _incidence(problem: Problem, chosen: Sequence[Variable]) -> Incidence:
    if all(variable.is_function for variable in chosen):
        divisors = list(problem.weights)
    else:
        divisors = [0] * problem.size
        for variable in chosen:
            for s, w in zip(variable.state.tolist(), variable.weight, strict=True):
                divisors[s] = math.gcd(divisors[s], w)
    rows: list[Row] = []
    for variable in chosen:
        block = [[0] * problem.size for _ in variable.values]
        for s, v, w in zip(variable.state.tolist(), variable.value.tolist(), variable.weight, strict=True):
            block[v][s] = w // divisors[s]
        rows += map(tuple, block)
    right = [weight for variable in chosen for weight in variable.marginal]
    scale = tuple(weight // divisor for weight, divisor in zip(problem.weights, divisors, strict=True))
    return Incidence(tuple(rows), tuple(right), scale, len(chosen))


def centred_rows(problem: Problem, rows: tuple[int, ...]) -> Floats:
    """P(z | s) - p(z) for these rows of P, in floats: one row per state."""
    matrix = incidence(problem)
    columns = []
    for i in rows:
        mean = matrix.right[i] / problem.total
        columns.append([x / c - mean for x, c in zip(matrix.rows[i], matrix.scale, strict=True)])
    return np.array(columns, dtype=np.float64).reshape(len(rows), problem.size).T


def _independent(rows: Sequence[Row], at_most: int) -> list[int]:
    """Positions of the first rows that are independent; the rank is known to be at most `at_most`.

    Rows that are independent modulo a prime are independent; when there are `at_most` of them, that is all. Only
    otherwise is the question settled over the rationals.
    """
    found = _independent_modulo(rows)
    if len(found) == at_most:
        return found
    reduced, _, rank = _gram(rows).rref()
    return [next(j for j in range(len(rows)) if reduced[i, j] != 0) for i in range(rank)]


def _independent_modulo(rows: Sequence[Row]) -> list[int]:
    """Positions of the first rows that are independent modulo PRIME."""
    width = len(rows[0])
    columns = [row[s] % PRIME for s in range(width) for row in rows]
    reduced, rank = flint.nmod_mat(width, len(rows), columns, PRIME).rref()
    return [next(j for j in range(len(rows)) if int(reduced[i, j])) for i in range(int(rank))]


def _gram(rows: Sequence[Row]) -> flint.fmpz_mat:
    """R Rᵀ, which has the rank of R over the rationals and the same dependencies between rows."""
    matrix = flint.fmpz_mat([list(row) for row in rows])
    return matrix * matrix.transpose()
