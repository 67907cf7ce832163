"""Proof by lines: the simplex of laws of the target in cells, a line below the entropy on each, and multipliers.

Its value is computed in integers, in units of 2⁻ᴮ. A multiplier rounded to such units is still a multiplier, so rounding it
costs no rigour; heights and lines are rounded down. Floats choose which lines to evaluate at a state: the minimum over *all*
lines is what counts, and a line is passed over only when floats place it above the least one by far more than they can err.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import flint
import numpy as np

from choral.describe.ball_arithmetic import ball_of, exact_lower
from choral.describe.entropy import entropy_ball
from choral.describe.written import fractions_of, hexadecimal
from choral.problem.budget import Budget
from choral.problem.form import FurtherRow, condition_rows, further_rows, incidence, row_places, rows_at
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import WayBack, near_float

BITS = 160
"""Of fixed-point numbers: far below the last of the fifteen decimals that are stated."""
NEAR = 1e-9
"""Lines within this of the least one, relative to the size of the terms, are evaluated in integers."""


class Lines(Protocol):
    """Lines whose minimum is below the entropy wherever posteriors are, with multipliers for rows, and prices for budgets."""

    @property
    def rows(self) -> tuple[int, ...]:
        """Positions in the rows of P."""
        ...

    @property
    def multipliers(self) -> tuple[tuple[Fraction, ...], ...]:
        """One list per line, in the order of the rows."""
        ...

    @property
    def prices(self) -> tuple[Fraction, ...]:
        """One per group, or none."""
        ...

    def coefficients(self) -> list[list[int]]:
        """One per line and value of the target, in units of 2^-BITS."""
        ...


@dataclass(frozen=True, eq=False)
class LinesBound:
    """Proof by lines (docs/mathematics.md): for any ν, H(W|Y) ≥ Σ_s p_s min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))].

    The probability simplex over the target's values is covered by cells; line l agrees with the entropy (rounded
    down) at the vertices of cell l, so the least of the lines is below the entropy everywhere. Points are integer
    vectors over `denominator`; a cell lists as many points as the target has values. `rows` are positions in the
    rows of P (the groups' values, stacked, then the further rows), and multipliers[l][i] belongs to line l and rows[i].

    *With budgets.* Call c_l what stands for Σ_i ν_li p(z_i). For a group within a factor ρ, ν p(z|y) is at least ν p(z)/ρ
    where ν ≥ 0 and ν p(z) ρ where ν < 0: so much is c_l. For a group with a leakage budget α and its price λ, let
    Σ_z 2^(-ν_lz/λ) ≤ 1 for every line: then Σ_z ν_lz p(z|y) ≥ λ H(Z|y) (Gibbs), c_l is 0, and the bound rises by
    λ (H(Z) - α), since Σ_y p(y) H(Z|y) ≥ H(Z) - α. `prices` has one λ per group (0 without such a budget).
    """

    kind: ClassVar[str] = "lines"
    since: ClassVar[int] = 1

    denominator: int
    points: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    multipliers: tuple[tuple[Fraction, ...], ...]
    prices: tuple[Fraction, ...] = ()

    def bits(self, problem: Problem) -> flint.arb:
        """H(W) less what the lines prove about H(W|Y)."""
        return problem.target_entropy() - ball_of(lines_bound(problem, self))

    def coefficients(self) -> list[list[int]]:
        """For each cell the line through its vertices at their entropies, rounded down, in units of 2^-BITS."""
        heights = [_height(point, self.denominator) for point in self.points]
        lines = []
        for cell in self.cells:
            size = len(cell)
            matrix = flint.fmpq_mat(size, size, [x for i in cell for x in self.points[i]])
            right = flint.fmpq_mat(size, 1, [heights[i] * self.denominator for i in cell])
            solved = matrix.solve(right)
            lines.append([int(flint.fmpz(solved[k, 0].floor())) for k in range(size)])
        return lines

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        places = row_places(problem)
        return {
            "kind": self.kind,
            "denominator": f"{self.denominator:x}",
            "points": [[f"{x:x}" for x in point] for point in self.points],
            "cells": [list(cell) for cell in self.cells],
            "rows": [places[i] for i in self.rows],
            "multipliers": [hexadecimal(row) for row in self.multipliers],
            **({"prices": hexadecimal(self.prices)} if any(self.prices) else {}),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> LinesBound:
        """What `to_document` wrote."""
        return cls(
            int(document["denominator"], 16),
            tuple(tuple(int(x, 16) for x in point) for point in document["points"]),
            tuple(tuple(cell) for cell in document["cells"]),
            rows_at(problem, document["rows"]),
            tuple(fractions_of(row) for row in document["multipliers"]),
            fractions_of(document.get("prices", [])),
        )

    def pulled_back(self, way: WayBack) -> LinesBound:
        """Multipliers shared among the rows that a reduced row stands for."""
        rows, shares = way.rows(self.rows)
        return replace(self, rows=rows, multipliers=tuple(shares(line) for line in self.multipliers))


def lines_bound(problem: Problem, bound: Lines) -> Fraction:
    """A lower bound on H(W|Y) for every channel that is private, or within its budgets."""
    lines = bound.coefficients()
    rows = [_Row.of(problem, i) for i in bound.rows]
    nu = [[row.rounded(x) for row, x in zip(rows, listed, strict=True)] for listed in bound.multipliers]
    constants = [sum(row.constant(n) for row, n in zip(rows, listed, strict=True)) for listed in nu]
    near = _near_lines(problem, bound, lines, rows, constants)
    matrix = incidence(problem)
    cells = problem.target.by_state(problem.size)
    inside = [(i, matrix.rows[row.position]) for i, row in enumerate(rows) if row.further is None]
    beyond = [(i, row.further) for i, row in enumerate(rows) if row.further is not None]
    total = 0
    for s, candidates in enumerate(near):
        weight = problem.weights[s]
        column = [(i, row[s]) for i, row in inside if row[s]]
        unit = weight // matrix.scale[s]
        best = None
        for line in candidates:
            multipliers = nu[line]
            top = sum(lines[line][v] * w for v, w in cells[s])
            top -= unit * sum(multipliers[i] * x for i, x in column)
            for i, row in beyond:
                top += -multipliers[i] * row.numerators[s] // row.divisor
            value = top // weight + constants[line]
            if best is None or value < best:
                best = value
        assert best is not None
        total += best * weight // problem.total
    return Fraction(total, 2**BITS) + _priced(problem, bound)


@dataclass(frozen=True)
class _Row:
    """A row that multipliers belong to: what a multiplier, in units of 2⁻ᴮ, adds to its line."""

    position: int
    mean: Fraction
    budget: Budget | None
    further: FurtherRow | None

    @classmethod
    def of(cls, problem: Problem, position: int) -> _Row:
        matrix = incidence(problem)
        if position >= len(matrix.rows):
            return cls(position, Fraction(0), None, further_rows(problem)[position - len(matrix.rows)])
        owners = [g for g, group in enumerate(problem.groups) for _ in group.values]
        if position >= len(owners):
            return cls(position, Fraction(0), None, condition_rows(problem)[position - len(owners)])
        return cls(position, Fraction(matrix.right[position], problem.total), problem.budget(owners[position]), None)

    def rounded(self, multiplier: Fraction) -> int:
        """Still a multiplier: up, where a price limits how small it may be."""
        top, bottom = multiplier.numerator << BITS, multiplier.denominator
        return -(-top // bottom) if self.budget is not None else top // bottom

    def constant(self, n: int) -> int:
        """At most Σ_y p(y) n p(z | y) in the group's budget."""
        if self.further is not None:
            return 0
        if self.budget is None:
            return n * self.mean.numerator // self.mean.denominator
        if self.budget.kind == "leakage":
            return 0
        return math.floor(n * self.mean / self.budget.amount if n >= 0 else n * self.mean * self.budget.amount)


def _priced(problem: Problem, bound: Lines) -> Fraction:
    """Σ λ (H(Z) - α) over the groups with a leakage budget, from below."""
    total = Fraction(0)
    for g, price in enumerate(bound.prices):
        budget = problem.budget(g)
        if price and budget is not None:
            with flint.ctx.workprec(BITS + 64):
                entropy = entropy_ball(Fraction(weight, problem.total) for weight in problem.groups[g].marginal)
                total += price * (exact_lower(entropy) - budget.amount)
    return total


def _height(point: tuple[int, ...], denominator: int) -> int:
    """The entropy of a point, rounded down, in units of 2^-BITS."""
    with flint.ctx.workprec(BITS + 64):
        scaled = entropy_ball(Fraction(x, denominator) for x in point) * flint.arb(2) ** BITS
        return math.floor(exact_lower(scaled))


def _near_lines(
    problem: Problem, bound: Lines, lines: list[list[int]], rows: list[_Row], constants: list[int]
) -> list[list[int]]:
    """For each state the lines among which its least one is."""
    coefficients = np.array([[x / 2**BITS for x in line] for line in lines])
    nu = np.array([[near_float(x) for x in row] for row in bound.multipliers]).reshape(len(lines), len(bound.rows))
    fixed = np.array([near_float(Fraction(c, 2**BITS)) for c in constants])
    posterior = problem.posterior()
    values_of_rows = _floats(problem, rows)
    size = np.abs(coefficients).max() + np.abs(nu).sum(axis=1).max(initial=0.0) + np.abs(fixed).max()
    size *= max(1.0, float(np.abs(values_of_rows).max(initial=0.0)))
    result: list[list[int]] = []
    for start in range(0, problem.size, 2048):
        part = slice(start, start + 2048)
        values = posterior[:, part].T @ coefficients.T - values_of_rows[part] @ nu.T + fixed
        keep = values <= values.min(axis=1, keepdims=True) + NEAR * size
        result += [np.flatnonzero(row).tolist() for row in keep]
    return result


def _floats(problem: Problem, rows: list[_Row]) -> Floats:
    """What every row is at every state, before the constants are added: one row per state."""
    matrix = incidence(problem)
    columns = []
    for row in rows:
        if row.further is None:
            columns.append([x / c for x, c in zip(matrix.rows[row.position], matrix.scale, strict=True)])
        else:
            further = row.further
            columns.append(
                [x / (w * further.divisor) for x, w in zip(further.numerators, problem.weights, strict=True)]
            )
    return np.array(columns, dtype=np.float64).reshape(len(rows), problem.size).T
