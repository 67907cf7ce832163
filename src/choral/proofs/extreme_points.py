"""Proof by extreme points: multipliers under which no extreme point of the private posteriors does better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from choral.describe.ball_arithmetic import ball_of, sum_of
from choral.describe.entropy import entropy_of_balls
from choral.describe.written import fractions_of, hexadecimal
from choral.problem.kernel import Problem
from choral.problem.solution import WayBack

MISSED = Fraction(1, 2 * 10**15)
"""What is added to a bound by extreme points, in bits: half a unit of the last decimal that is stated."""


@dataclass(frozen=True, eq=False)
class VertexBound:
    """Proof by extreme points: for any π, H(W|Y) ≥ π·p + min over extreme points t of [H(P_{W|X} t) - π·t].

    (The bracket is concave in t, so its minimum over S is at an extreme point.) `multipliers[s]` is π_s. `tight`
    are the posteriors among which the minimum is attained; whoever checks the bound enumerates all of them again.
    Columns listed in `exchangeable` may be permuted without changing the problem or π; it is enough then to
    enumerate the extreme points of the problem on orbits or, where all that is used is revealed (so that the target
    moves with the permutation), one extreme point per orbit.
    """

    kind: ClassVar[str] = "extreme points"
    since: ClassVar[int] = 1

    multipliers: tuple[Fraction, ...]
    tight: tuple[Mapping[int, Fraction], ...]
    exchangeable: tuple[tuple[str, ...], ...] = ()

    def bits(self, problem: Problem) -> flint.arb:
        """From the posteriors listed as tight; floats chose them, so a little is added for one they may have missed."""
        used = {s for t in self.tight for s in t}
        cells = problem.target.by_state(problem.size)
        posterior = {s: [(v, ball_of(Fraction(w, problem.weights[s]))) for v, w in cells[s]] for s in used}
        pi = {s: ball_of(self.multipliers[s]) for s in used}
        smallest = flint.arb("inf")
        for t in self.tight:
            law: dict[int, flint.arb] = {}
            product = flint.arb(0)
            for s, mass in t.items():
                share = ball_of(mass)
                product += share * pi[s]
                for v, p in posterior[s]:
                    law[v] = law[v] + share * p if v in law else share * p
            slack = entropy_of_balls(law.values()) - product
            smallest = smallest.min(slack)
        average = sum_of(
            ball_of(x * Fraction(w, problem.total)) for x, w in zip(self.multipliers, problem.weights, strict=True) if x
        )
        return problem.target_entropy() - average - smallest + ball_of(MISSED)

    def to_document(self, problem: Problem) -> dict[str, Any]:
        """As the certificate has it."""
        swaps = {"exchangeable": [list(columns) for columns in self.exchangeable]} if self.exchangeable else {}
        return {"kind": self.kind, "multipliers": hexadecimal(self.multipliers), **swaps}

    @classmethod
    def of_document(cls, document: Mapping[str, Any], problem: Problem) -> VertexBound:
        """What `to_document` wrote."""
        swaps = tuple(tuple(columns) for columns in document.get("exchangeable", []))
        return cls(fractions_of(document["multipliers"]), (), swaps)

    def pulled_back(self, way: WayBack) -> VertexBound:
        """The same multiplier for all states of a class."""
        return VertexBound(
            way.states(self.multipliers),
            tuple(way.posterior(t) for t in self.tight),
            way.exchangeable or self.exchangeable,
        )
