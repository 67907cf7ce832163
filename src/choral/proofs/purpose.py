"""Proof of what a code can be worth: the lines of a loss, or chords below minus a square, and multipliers; in integers.

*The bound.* For any multipliers ν and any private channel with codes l, what it costs is
Σ_s p(s) Σ_l q(l|s) [c_l(s) - Σ_i ν_li e_i(s)], since Σ_s p(s) q(l|s) e_i(s) = 0 for every code l and equation i of privacy;
and that is at least Σ_s p(s) min_l [c_l(s) - Σ_i ν_li e_i(s)]. (Codes for which the same line is least may be joined.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from choral.describe.written import fractions_of, hexadecimal
from choral.problem.form import Equations, row_places, rows_at
from choral.problem.kernel import Problem
from choral.problem.moments import Moments
from choral.problem.solution import WayBack
from choral.problem.utility import Decisions, Lines


@dataclass(frozen=True, eq=False)
class PurposeBound:
    """No private channel costs less than Σ_s p(s) min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))], for any ν.

    The lines are those of the actions of a loss; for squares, the chords of minus a square between consecutive `knots`, which
    reach from the least to the largest mean of a state. `rows` and `multipliers` are as in `LinesBound`.
    """

    kind: ClassVar[str] = "decision"

    rows: tuple[int, ...]
    multipliers: tuple[tuple[Fraction, ...], ...]
    knots: tuple[Fraction, ...] = ()

    def worth(self, problem: Problem) -> Fraction:
        """What no private channel is worth more than: exact for a loss, rounded up for squares."""
        utility = problem.utility
        if isinstance(utility, Decisions):
            return utility.offset - least_cost(problem, utility.lines, self)
        return Moments.of(problem).stated(-least_cost(problem, self.knots, self), up=True)

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        places = row_places(problem)
        return {
            "kind": self.kind,
            "rows": [places[i] for i in self.rows],
            "multipliers": [hexadecimal(row) for row in self.multipliers],
            **({"knots": hexadecimal(self.knots)} if self.knots else {}),
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> PurposeBound:
        """What `to_document` wrote."""
        return cls(
            rows_at(problem, document["rows"]),
            tuple(fractions_of(row) for row in document["multipliers"]),
            fractions_of(document.get("knots", [])),
        )

    def pulled_back(self, way: WayBack) -> PurposeBound:
        """Multipliers shared among the rows that a reduced row stands for."""
        rows, shares = way.rows(self.rows)
        return replace(self, rows=rows, multipliers=tuple(shares(line) for line in self.multipliers))


def costs(problem: Problem, lines: Lines) -> list[list[int]]:
    """What each line costs at each state, times p(s): integers over scale · total, one row per line."""
    cells = problem.target.by_state(problem.size)
    return [[sum(line[v] * w for v, w in cell) for cell in cells] for line in lines.table]


def chord_costs(problem: Problem, knots: tuple[Fraction, ...]) -> tuple[list[list[int]], int]:
    """The same for the chords a b - (a + b) m of -m² between neighbouring knots a, b; and their scale."""
    bottom = math.lcm(*(x.denominator for x in knots))
    tops = [int(x * bottom) for x in knots]
    first = Moments.of(problem).first
    rows = [
        [a * b * w - (a + b) * bottom * m for w, m in zip(problem.weights, first, strict=True)]
        for a, b in pairwise(tops)
    ]
    return rows, bottom**2


def least_cost(problem: Problem, lines: Lines | tuple[Fraction, ...], bound: PurposeBound) -> Fraction:
    """Σ_s p(s) min_l [line_l(s) - Σ_i ν_li e_i(s)] for these lines, or the chords of these knots."""
    cost, scale = (costs(problem, lines), lines.scale) if isinstance(lines, Lines) else chord_costs(problem, lines)
    equations, total = Equations(problem, bound.rows), problem.total
    units = equations.units()  # an equation in integers is unit · w(s) e(s), so ν w e = integer · ν / unit
    nu = [[x * scale / unit for x, unit in zip(row, units, strict=True)] for row in bound.multipliers]
    common = math.lcm(*(x.denominator for row in nu for x in row))
    whole = [[int(x * common) for x in row] for row in nu]
    matrix = equations.at(range(problem.size))
    least = 0
    for s in range(problem.size):
        column = [(i, row[s]) for i, row in enumerate(matrix) if row[s]]
        least += min(
            common * cost[line][s] - sum(prices[i] * x for i, x in column) for line, prices in enumerate(whole)
        )
    return Fraction(least, common * total * scale)
