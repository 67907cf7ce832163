"""Proof by a tree of boxes: laws of the target are cut into boxes, and each box names a line below the entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import flint

from choral.describe.ball_arithmetic import ball_of
from choral.describe.written import fractions_of, hexadecimal
from choral.problem.form import row_places, rows_at
from choral.problem.kernel import Problem
from choral.problem.solution import WayBack
from choral.proofs.lines import BITS, lines_bound

LINE_BITS = 40
"""Of the fractions of a line's coefficients: 1e-12 bits, below every gap that branching closes."""
MULTIPLIER_BITS = 40
"""The same for multipliers, which may be rounded at will."""
CUT_BITS = 40
"""Of the ends of the root's sides, and of where they are cut."""


@dataclass(frozen=True, eq=False)
class TreeBound:
    """H(W|Y) >= Σ_s p_s min_l [line_l(s) - Σ_i ν_li (P(z_i | s) - p(z_i))], as in a proof by lines.

    `low` and `high`, in units of 2^-CUT_BITS, have low_w <= P(w | s) <= high_w for every value w of the target and every
    state: every posterior of the target is in that box, the root. `tree` lists boxes in the order in which they are met, a
    box before its parts: (w, c) says that its side w is cut at c, and the lower part comes first; (l,) that line l is at
    most the sum over w of the chords of -t log t over the sides of the box, at every law in it, so at most the entropy, by
    concavity; () that no law is in it. `lines` are coefficients in units of 2^-LINE_BITS, one per value; multipliers[l][i]
    belongs to line l and rows[i].
    """

    kind: ClassVar[str] = "tree"
    since: ClassVar[int] = 2

    low: tuple[int, ...]
    high: tuple[int, ...]
    tree: tuple[tuple[int, ...], ...]
    lines: tuple[tuple[int, ...], ...]
    rows: tuple[int, ...]
    multipliers: tuple[tuple[Fraction, ...], ...]
    prices: ClassVar[tuple[Fraction, ...]] = ()

    def coefficients(self) -> list[list[int]]:
        """The lines in units of 2^-BITS."""
        return [[x << (BITS - LINE_BITS) for x in line] for line in self.lines]

    def bits(self, problem: Problem) -> flint.arb:
        """H(W) less what the lines prove about H(W|Y)."""
        return problem.target_entropy() - ball_of(lines_bound(problem, self))

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        places = row_places(problem)
        return {
            "kind": self.kind,
            "low": [f"{x:x}" for x in self.low],
            "high": [f"{x:x}" for x in self.high],
            "tree": [list(node) for node in self.tree],
            "lines": [[f"{x:x}" for x in line] for line in self.lines],
            "rows": [places[i] for i in self.rows],
            "multipliers": [hexadecimal(row) for row in self.multipliers],
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> TreeBound:
        """What `to_document` wrote."""
        return cls(
            tuple(int(x, 16) for x in document["low"]),
            tuple(int(x, 16) for x in document["high"]),
            tuple(tuple(node) for node in document["tree"]),
            tuple(tuple(int(x, 16) for x in line) for line in document["lines"]),
            rows_at(problem, document["rows"]),
            tuple(fractions_of(row) for row in document["multipliers"]),
        )

    def pulled_back(self, way: WayBack) -> TreeBound:
        """Multipliers shared among the rows that a reduced row stands for; states of a class have one law of the target."""
        rows, shares = way.rows(self.rows)
        return replace(self, rows=rows, multipliers=tuple(shares(line) for line in self.multipliers))
