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
    rank = int(_gram(incidence(problem).rows).rank())
    if problem.target.determines_state:
        widened = problem.size
    else:
        widened = int(_gram(_incidence(problem, [*problem.groups, problem.target]).rows).rank())
    return Form(problem.size, rank, problem.size - rank, widened > rank, len(problem.target.values))


@dataclass(frozen=True)
class Incidence:
    """The matrix P of (matp) in integers: rows[i][s] = P(z | s) · scale[s] for the i-th pair (group, z).

    `right[i]` / total is what every posterior must give: Σ_s P(z | s) p(s | y) = p(z). When every group is a
    function of the state all scales are 1 and the rows *are* P.
    """

    rows: tuple[Row, ...]
    right: tuple[int, ...]
    scale: tuple[int, ...]

    def independent(self) -> list[int]:
        """Positions of the first rows that form a basis of the row space."""
        return _independent(self.rows)

    def independent_of_sum(self) -> list[int]:
        """Positions of rows that form, with the row of ones, a basis of the row space.

        Their centred versions P(z | s) - p(z) are independent, and a posterior of given total mass is private
        exactly when these are met: the other rows follow.
        """
        return [i - 1 for i in _independent((self.scale, *self.rows)) if i]


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
    return Incidence(tuple(rows), tuple(right), scale)


def centred_rows(problem: Problem, rows: tuple[int, ...]) -> Floats:
    """P(z | s) - p(z) for these rows of P, in floats: one row per state."""
    matrix = incidence(problem)
    columns = []
    for i in rows:
        mean = matrix.right[i] / problem.total
        columns.append([x / c - mean for x, c in zip(matrix.rows[i], matrix.scale, strict=True)])
    return np.array(columns, dtype=np.float64).reshape(len(rows), problem.size).T


def _independent(rows: Sequence[Row]) -> list[int]:
    reduced, _, rank = _gram(rows).rref()
    return [next(j for j in range(len(rows)) if reduced[i, j] != 0) for i in range(rank)]


def _gram(rows: Sequence[Row]) -> flint.fmpz_mat:
    """R Rᵀ, which has the rank of R over the rationals and the same dependencies between rows."""
    matrix = flint.fmpz_mat([list(row) for row in rows])
    return matrix * matrix.transpose()
