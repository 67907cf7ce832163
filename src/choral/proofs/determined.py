"""Proof that nothing can be told: what is protected determines the law of the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from choral.describe.written import fractions_of, hexadecimal
from choral.problem.form import row_places, rows_at
from choral.problem.kernel import Problem
from choral.problem.solution import WayBack


@dataclass(frozen=True, eq=False)
class DeterminedBound:
    """Proof that nothing can be told: P(w | s) = Σ_i coefficients[w][i] · P(z_i | s) for every state.

    Then the law of W is the same for every posterior that is private. `rows` are positions in the rows of P.
    """

    kind: ClassVar[str] = "determined"
    since: ClassVar[int] = 1

    rows: tuple[int, ...]
    coefficients: tuple[tuple[Fraction, ...], ...]

    def bits(self, problem: Problem) -> flint.arb:
        """Nothing."""
        return flint.arb(0)

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        places = row_places(problem)
        return {
            "kind": self.kind,
            "rows": [places[i] for i in self.rows],
            "coefficients": [hexadecimal(row) for row in self.coefficients],
        }

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> DeterminedBound:
        """What `to_document` wrote."""
        return cls(rows_at(problem, document["rows"]), tuple(fractions_of(row) for row in document["coefficients"]))

    def pulled_back(self, way: WayBack) -> DeterminedBound:
        """Coefficients shared among the rows that a reduced row stands for."""
        rows, shares = way.rows(self.rows)
        return DeterminedBound(rows, tuple(shares(line) for line in self.coefficients))
