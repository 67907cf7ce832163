"""The paper's Algorithms 1 and 2, small and readable, in Fractions. Slow on purpose: the truth to test against.

The paper takes the right singular vectors of P for the matrix A; any basis of the row space of P has the same
null space (the only property that is used), so the rows of P that form a basis serve, and stay exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from choral.describe.entropy import entropy_of
from choral.problem.form import incidence
from choral.problem.kernel import Problem

Vector = tuple[Fraction, ...]


def find_extreme_points(problem: Problem) -> list[Vector]:
    """Algorithm 1: solve A_B x = b for every set B of rank(P) columns and keep x ≥ 0.

    A set of dependent columns has no inverse and is passed over; a point found by several sets is listed once.
    """
    matrix = incidence(problem)
    basis = matrix.independent
    A = [[Fraction(x, c) for x, c in zip(matrix.rows[i], matrix.scale, strict=True)] for i in basis]
    b = [Fraction(matrix.right[i], problem.total) for i in basis]
    points: dict[Vector, None] = {}
    for columns in combinations(range(problem.size), len(basis)):
        x = solve([[row[j] for j in columns] for row in A], b)
        if x is not None and min(x) >= 0:
            point = [Fraction(0)] * problem.size
            for j, value in zip(columns, x, strict=True):
                point[j] = value
            points[tuple(point)] = None
    return sorted(points, reverse=True)


def find_optimal_mapping(problem: Problem) -> tuple[float, list[Vector]]:
    """Algorithm 2: the best weights on the extreme points. Returns I_s in bits and p(s, y), one row per code.

    The LP over u has |X̂| equations; its basic solutions are tried one by one, so this is for a handful of points.
    """
    points = find_extreme_points(problem)
    cost = [target_entropy(problem, point) for point in points]
    prior = [problem.prior_of(s) for s in range(problem.size)]
    best, chosen = math.inf, []
    for size in range(1, min(len(points), problem.size) + 1):
        for subset in combinations(range(len(points)), size):
            u = solve([[points[k][s] for k in subset] for s in range(problem.size)], prior)
            if u is not None and min(u) >= 0:
                value = math.fsum(float(weight) * cost[k] for weight, k in zip(u, subset, strict=True))
                if value < best - 1e-15:
                    best = value
                    chosen = [
                        tuple(weight * t for t in points[k]) for weight, k in zip(u, subset, strict=True) if weight
                    ]
    return problem.entropy_of_target - best, chosen


def target_entropy(problem: Problem, point: Sequence[Fraction]) -> float:
    """H(P_{W|X} t) in bits for a posterior t over the states."""
    masses = [Fraction(0)] * len(problem.target.values)
    target = problem.target
    for s, v, w in zip(target.state.tolist(), target.value.tolist(), target.weight, strict=True):
        masses[v] += point[s] * Fraction(w, problem.weights[s])
    return entropy_of(masses)


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The only solution of a system with at least as many rows as columns; None if there is none or many."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    width = len(matrix[0])
    for j in range(width):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        scale = rows[j][j]
        rows[j] = [x / scale for x in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j]:
                factor = row[j]
                rows[i] = [x - factor * y for x, y in zip(row, rows[j], strict=True)]
    if any(row[width] for row in rows[width:]):
        return None
    return [rows[j][width] for j in range(width)]
