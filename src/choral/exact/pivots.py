"""A basis of the linear program over lines, in fractions: what it says, and better ones by exact pivots.

Every state has a line of its own, and few states are shared between lines, as many as there are (line, equation) pairs with a
price: what they share, and the multipliers, are two linear systems of that size.

*Pivots* are those of the simplex method: a (state, line) pair whose reduced cost is negative enters; what reaches zero first
leaves, and among these are the slacks of equations without a price, which are zero and stay so. After some pivots without
a step Bland's rule chooses, which does not cycle. So the optimum is reached from any basis that is feasible, such as one line
for everybody; floats are only asked for a better start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import flint

from choral.solvers.decisions import Found

NOWHERE = -1
"""The line that the slack of a state belongs to."""
PATIENCE = 20
"""Pivots without a step before Bland's rule chooses."""


@dataclass(frozen=True)
class System:
    """A basis: base[s] is the line of state s, `shared` are the further (state, line) pairs, and what they must satisfy.

    Slack of a state is a pair with a line that costs nothing and has no equations; it must turn out to be zero. `kept` are
    the (line, equation) pairs with a price, as many as there are pairs.
    """

    base: list[int]
    shared: list[tuple[int, int]]
    kept: list[tuple[int, int]]
    square: flint.fmpq_mat
    cost: list[list[int]]
    matrix: list[list[int]]

    @classmethod
    def of(cls, found: Found, cost: list[list[int]], matrix: list[list[int]]) -> System | None:
        """The system of a basis, or None where floats left it without a square one."""
        pairs = sum(map(len, found.basis)) - len(found.basis) + len(found.slack)
        if not all(found.basis) or pairs != len(found.held):
            return None
        return cls.of_basis(found.basis, found.slack, found.held, cost, matrix)

    @classmethod
    def of_basis(
        cls,
        basis: list[list[int]],
        slack: list[int],
        held: list[tuple[int, int]],
        cost: list[list[int]],
        matrix: list[list[int]],
    ) -> System:
        """The system of these lines of every state, slacks, and pairs with a price."""
        base = [lines[0] for lines in basis]
        shared = [(s, line) for s, lines in enumerate(basis) for line in lines[1:]]
        shared += [(s, NOWHERE) for s in slack]
        entries = [moved(matrix[i][s], line, base[s], other) for line, i in held for s, other in shared]
        square = flint.fmpq_mat(len(held), len(held), entries)
        return cls(base, shared, list(held), square, cost, matrix)

    def shares(self) -> list[dict[int, Fraction]] | None:
        """For each state its lines with their shares; None where one is negative or an equation is not met."""
        found: list[dict[int, Fraction]] = [{line: Fraction(1)} for line in self.base]
        if self.shared:
            right = [-sum(x for s, x in enumerate(self.matrix[i]) if self.base[s] == line) for line, i in self.kept]
            found_shares = solved(self.square, right)
            if found_shares is None:
                return None
            for (s, line), share in zip(self.shared, found_shares, strict=True):
                if line == NOWHERE and share:
                    return None
                if line != NOWHERE:
                    found[s][line] = share
                    found[s][self.base[s]] -= share
        if any(share < 0 for row in found for share in row.values()) or not self._private(found):
            return None
        return found

    def _private(self, found: list[dict[int, Fraction]]) -> bool:
        for row in self.matrix:
            whole: dict[int, int] = {}
            parts: dict[int, Fraction] = {}
            for x, lines in zip(row, found, strict=True):
                for line, share in lines.items():
                    if share == 1:
                        whole[line] = whole.get(line, 0) + x
                    else:
                        parts[line] = parts.get(line, Fraction(0)) + x * share
            if any(whole.get(line, 0) + parts.get(line, 0) for line in {*whole, *parts}):
                return False
        return True

    def multipliers(self) -> list[list[Fraction]]:
        """ν such that every state's lines in the basis are equally good: cost_l(s) - Σ_i ν_li E_i(s)."""
        nu = [[Fraction(0)] * len(self.matrix) for _ in self.cost]
        if self.shared:
            costs_of = {NOWHERE: [0] * len(self.base), **dict(enumerate(self.cost))}
            right = [costs_of[line][s] - self.cost[self.base[s]][s] for s, line in self.shared]
            prices = solved(self.square.transpose(), right)
            for (line, i), price in zip(self.kept, prices or [], strict=True):
                nu[line][i] = price
        return nu


def solved(square: flint.fmpq_mat, right: list[int]) -> list[Fraction] | None:
    """The solution of a square system, or None where it is singular."""
    try:
        found = square.solve(flint.fmpq_mat(len(right), 1, right))
    except ZeroDivisionError:
        return None
    return [Fraction(int(x.p), int(x.q)) for x in (found[k, 0] for k in range(len(right)))]


def moved(x: int, line: int, base: int, other: int) -> int:
    """What a unit moved from line `base` to line `other` at a state adds to an equation of `line`."""
    return x if other == line else -x if base == line else 0


def pivoted(
    start: list[list[int]],
    slack: list[int],
    held: list[tuple[int, int]],
    cost: list[list[int]],
    matrix: list[list[int]],
    stopped: Callable[[], bool],
) -> System | None:
    """An optimal basis, by pivots from this one, which is feasible; None where it was stopped."""
    basis = _Basis([list(lines) for lines in start], list(slack), list(held), cost, matrix)
    still = 0
    while not stopped():
        system = System.of_basis(basis.lines, basis.slack, basis.held, cost, matrix)
        shares, nu = system.shares(), system.multipliers()
        if shares is None:
            return None
        entering = basis.entering(nu, bland=still > PATIENCE)
        if entering is None:
            return system
        step = basis.pivot(system, shares, entering)
        still = 0 if step else still + 1
    return None


@dataclass
class _Basis:
    """A basis that changes: for every state its lines, and those states and (line, equation) pairs as in `System`."""

    lines: list[list[int]]
    slack: list[int]
    held: list[tuple[int, int]]
    cost: list[list[int]]
    matrix: list[list[int]]

    def entering(self, nu: list[list[Fraction]], bland: bool) -> tuple[int, int] | None:
        """A (state, line) pair that would lower the cost: the one that lowers it fastest, or the first."""
        best, least = None, Fraction(0)
        for s, lines in enumerate(self.lines):
            column = [(i, row[s]) for i, row in enumerate(self.matrix) if row[s]]
            prices = [
                cost[s] - sum((row[i] * x for i, x in column), Fraction(0))
                for cost, row in zip(self.cost, nu, strict=True)
            ]
            for line, price in enumerate(prices):
                if line not in lines and price - prices[lines[0]] < least:
                    best, least = (s, line), price - prices[lines[0]]
                    if bland:
                        return best
        return best

    def pivot(self, system: System, shares: list[dict[int, Fraction]], entering: tuple[int, int]) -> Fraction:
        """Bring a pair into the basis; returns the step by which it rises."""
        at, line = entering
        column = [-moved(self.matrix[i][at], held, system.base[at], line) for held, i in system.kept]
        change = solved(system.square, column) if system.shared else []
        assert change is not None
        rates: dict[tuple[int, int], Fraction] = {(at, line): Fraction(1), (at, system.base[at]): Fraction(-1)}
        for (s, other), rate in zip(system.shared, change, strict=True):
            rates[s, other] = rates.get((s, other), Fraction(0)) + rate
            rates[s, system.base[s]] = rates.get((s, system.base[s]), Fraction(0)) - rate
        loose = self._loose(rates)
        if loose is not None:
            self.held.append(loose)
            self.lines[at].append(line)
            return Fraction(0)
        leaving = [
            (Fraction(0) if other == NOWHERE else shares[s].get(other, Fraction(0)) / -rate, s, other)
            for (s, other), rate in rates.items()
            if (s, other) != (at, line) and (rate < 0 or (other == NOWHERE and rate))
        ]
        step, s, other = min(leaving)
        self.lines[at].append(line)
        if other == NOWHERE:
            self.slack.remove(s)
        else:
            self.lines[s].remove(other)
        return step

    def _loose(self, rates: dict[tuple[int, int], Fraction]) -> tuple[int, int] | None:
        """An equation without a price that the step would break: it is held from now on."""
        sums: dict[tuple[int, int], Fraction] = {}
        for (s, line), rate in rates.items():
            if 0 <= line < len(self.cost) - 1 and rate:
                for i, row in enumerate(self.matrix):
                    if row[s]:
                        sums[line, i] = sums.get((line, i), Fraction(0)) + rate * row[s]
        kept = set(self.held)
        return next((key for key in sorted(sums) if sums[key] and key not in kept), None)
