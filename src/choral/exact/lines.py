"""The value of a bound by lines, in integers: what `LinesBound` proves about H(W|Y).

Everything is in units of 2⁻ᴮ. A multiplier rounded to such units is still a multiplier, so rounding it costs no rigour;
heights and lines are rounded down. Floats choose which lines to evaluate at a state: the minimum over *all* lines is what
counts, and a line is passed over only when floats place it above the least one by far more than they can err.
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np

from choral.exact.balls import exact_lower
from choral.problem.form import centred_rows, incidence
from choral.problem.kernel import Problem
from choral.problem.solution import LinesBound, near_float

BITS = 160
NEAR = 1e-9
"""Lines within this of the least one, relative to the size of the terms, are evaluated in integers."""


def lines_bound(problem: Problem, bound: LinesBound) -> Fraction:
    """A lower bound on H(W|Y) for every private channel."""
    lines = line_coefficients(bound)
    nu = [[round(x * 2**BITS) for x in row] for row in bound.multipliers]
    matrix = incidence(problem)
    right = [matrix.right[i] for i in bound.rows]
    constants = [sum(n * r for n, r in zip(row, right, strict=True)) // problem.total for row in nu]
    near = _near_lines(problem, bound, lines)
    cells = problem.target.by_state(problem.size)
    total = 0
    for s, candidates in enumerate(near):
        weight, scale = problem.weights[s], matrix.scale[s]
        column = [matrix.rows[i][s] for i in bound.rows]
        unit = weight // scale
        best = None
        for line in candidates:
            top = sum(lines[line][v] * w for v, w in cells[s])
            top -= unit * sum(n * x for n, x in zip(nu[line], column, strict=True) if x)
            value = top // weight + constants[line]
            if best is None or value < best:
                best = value
        assert best is not None
        total += best * weight // problem.total
    return Fraction(total, 2**BITS)


def line_coefficients(bound: LinesBound) -> list[list[int]]:
    """For each cell the line through its vertices at their entropies, as one coefficient per value, rounded down."""
    heights = [_height(point, bound.denominator) for point in bound.points]
    lines = []
    for cell in bound.cells:
        size = len(cell)
        matrix = flint.fmpq_mat(size, size, [x for i in cell for x in bound.points[i]])
        right = flint.fmpq_mat(size, 1, [heights[i] * bound.denominator for i in cell])
        solved = matrix.solve(right)
        lines.append([int(flint.fmpz(solved[k, 0].floor())) for k in range(size)])
    return lines


def _height(point: tuple[int, ...], denominator: int) -> int:
    """The entropy of a point, rounded down, in units of 2^-BITS."""
    with flint.ctx.workprec(BITS + 64):
        total = flint.arb(0)
        for x in point:
            if x:
                p = flint.arb(flint.fmpq(x, denominator))
                total -= p * p.log()
        scaled = total / flint.arb(2).log() * flint.arb(2) ** BITS
        return math.floor(exact_lower(scaled))


def _near_lines(problem: Problem, bound: LinesBound, lines: list[list[int]]) -> list[list[int]]:
    """For each state the lines among which its least one is."""
    coefficients = np.array([[x / 2**BITS for x in line] for line in lines])
    nu = np.array([[near_float(x) for x in row] for row in bound.multipliers]).reshape(len(lines), len(bound.rows))
    posterior = problem.posterior()
    centred = centred_rows(problem, bound.rows)
    size = np.abs(coefficients).max() + np.abs(nu).sum(axis=1).max(initial=0.0)
    result: list[list[int]] = []
    for start in range(0, problem.size, 2048):
        part = slice(start, start + 2048)
        values = posterior[:, part].T @ coefficients.T - centred[part] @ nu.T
        keep = values <= values.min(axis=1, keepdims=True) + NEAR * size
        result += [np.flatnonzero(row).tolist() for row in keep]
    return result
