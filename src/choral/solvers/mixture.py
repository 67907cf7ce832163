"""The mixing program: the best weights on given posteriors, as a basic solution in exact fractions.

HiGHS proposes a basis; the weights on it are solved in fractions. A simplex method with exact ratio tests takes
over where floats misjudged feasibility (masses far below a solver's tolerance), so what is returned always
reproduces the prior exactly, with at most nul(P) + 1 posteriors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import flint
import highspy
import numpy as np

from choral.describe import entropy
from choral.errors import SolverError
from choral.problem.form import independent
from choral.problem.kernel import Floats, Problem
from choral.solvers.highs import FINEST, kept, optimal

OPTIMAL = 1e-12
"""A reduced cost above minus this ends the exact simplex method; what it leaves stands in the interval."""
HUGE = 1e200
ARTIFICIAL_COST = 1e4
"""Cost, in bits, of weight on no posterior at all: above any entropy that fits in memory."""


@dataclass(frozen=True)
class Mixture:
    """Weights on posteriors: Σ_k weights[k] · posterior k is the prior, exactly; and the multipliers π of the LP."""

    weights: Mapping[int, Fraction]
    multipliers: tuple[Fraction, ...]


def entropies(problem: Problem, posteriors: Sequence[Mapping[int, Fraction]]) -> Floats:
    """H(P_{W|X} t) in bits for each posterior t, in floats."""
    channel = problem.posterior()
    values = np.empty(len(posteriors))
    for k, t in enumerate(posteriors):
        w = channel[:, list(t)] @ np.array([mass.numerator / mass.denominator for mass in t.values()])
        values[k] = entropy.entropies(w[w > 0])
    return values


def best_mixture(
    problem: Problem, posteriors: Sequence[Mapping[int, Fraction]], free: list[int] | None = None
) -> Mixture:
    """The weights that minimise H(W|Y) over mixtures of these posteriors that give the prior; `free` as below."""
    prior = [problem.prior_of(s) for s in range(problem.size)]
    return best_weights(prior, posteriors, entropies(problem, posteriors), free)


def best_weights(
    prior: Sequence[Fraction],
    posteriors: Sequence[Mapping[int, Fraction]],
    cost: Floats,
    free: list[int] | None = None,
    patient: bool = True,
) -> Mixture:
    """The weights of least cost over mixtures of these posteriors that give the prior.

    `free` lists states whose masses, with the sum, determine every posterior, where that is known; found otherwise.
    Raises `SolverError` when the prior is no mixture of them; unless `patient`, as soon as floats find none.
    """
    free = _free_coordinates(posteriors, len(prior)) if free is None else free
    lp = _Master.build(prior, posteriors, cost, free)
    basis = lp.basis_from_highs()
    if basis is None:
        if not patient:
            raise _no_mixture()
        basis = lp.feasible_basis()
    basis = lp.improved(basis)
    return lp.mixture(basis, [Fraction(dual) for dual in lp.duals(basis).tolist()])


def best_exact_weights(
    prior: Sequence[Fraction], posteriors: Sequence[Mapping[int, Fraction]], cost: Sequence[Fraction], free: list[int]
) -> Mixture:
    """The same for costs in fractions, without floats anywhere: the optimum itself, however small the masses are."""
    lp = _Master.build(prior, posteriors, np.zeros(len(posteriors)), free)
    basis = lp.feasible_basis()
    _, duals = lp.least(basis, [flint.fmpq(c.numerator, c.denominator) for c in cost], int(ARTIFICIAL_COST))
    return lp.mixture(basis, [_fraction(dual) for dual in duals.entries()])


@dataclass(frozen=True)
class _Master:
    """min cost·u over u ≥ 0 with columns · u = right, on coordinates that determine a point of S.

    Rows are the free coordinates (states outside a column basis of P), each divided by its prior, and the sum.
    """

    free: list[int]
    columns: list[list[flint.fmpq]]
    right: list[flint.fmpq]
    cost: Floats
    dense: Floats
    prior: tuple[Fraction, ...]

    @classmethod
    def build(
        cls, prior: Sequence[Fraction], posteriors: Sequence[Mapping[int, Fraction]], cost: Floats, free: list[int]
    ) -> _Master:
        zero, one = flint.fmpq(0), flint.fmpq(1)
        columns = []
        for t in posteriors:
            scaled = {s: mass / prior[s] for s, mass in t.items()}
            columns.append(
                [flint.fmpq(scaled[s].numerator, scaled[s].denominator) if s in scaled else zero for s in free] + [one]
            )
        rows = len(free) + 1
        dense = np.array([[_float(x) for x in column] for column in columns]).T.reshape(rows, len(columns))
        columns += [[one if i == k else zero for i in range(rows)] for k in range(rows)]
        full = np.concatenate([cost, np.full(rows, ARTIFICIAL_COST)])
        return cls(free, columns, [one] * rows, full, np.hstack([dense, np.eye(rows)]), tuple(prior))

    def basis_from_highs(self) -> list[int] | None:
        """The basic columns of HiGHS' solution, or None where these are no full basis, or not feasible in fractions."""
        rows, everything = self.dense.shape
        width = everything - rows
        solver = kept(self.dense[:, :width], self.cost[:width], np.ones(rows), FINEST)
        if not optimal(solver):
            return None
        status = solver.getBasis().col_status
        basis = [k for k in range(width) if status[k] == highspy.HighsBasisStatus.kBasic]
        try:
            return basis if len(basis) == rows and min(self._weights(basis)) >= 0 else None
        except ZeroDivisionError:
            return None

    def _matrix(self, basis: list[int]) -> flint.fmpq_mat:
        rows = len(self.right)
        return flint.fmpq_mat(rows, rows, [self.columns[k][i] for i in range(rows) for k in basis])

    def _at(self, basis: list[int]) -> tuple[flint.fmpq_mat, flint.fmpq_mat]:
        """The inverse of a basis, and its weights."""
        inverse = self._matrix(basis).inv()
        return inverse, inverse * flint.fmpq_mat(len(self.right), 1, self.right)

    def _pivot(self, basis: list[int], inverse: flint.fmpq_mat, x: flint.fmpq_mat, entering: int) -> None:
        """A column enters, and the one that reaches zero first leaves; an artificial one that is zero leaves before it rises.

        The steepest column first; the first one (Bland) when that has gone on for long.
        """
        d = inverse * flint.fmpq_mat(len(basis), 1, self.columns[entering])
        real = len(self.columns) - len(basis)
        falling = [i for i in range(len(basis)) if d[i, 0] > 0 or (d[i, 0] < 0 and basis[i] >= real and not x[i, 0])]
        leaving = min((x[i, 0] / d[i, 0], basis[i], i) for i in falling)[2]
        basis[leaving] = entering

    def _weights(self, basis: list[int]) -> list[flint.fmpq]:
        """The exact weights of a basis."""
        return list(self._matrix(basis).solve(flint.fmpq_mat(len(self.right), 1, self.right)).entries())

    def feasible_basis(self) -> list[int]:
        """A feasible basis, found in fractions alone: the artificial columns cost one each, all others nothing."""
        rows, real = len(self.right), len(self.columns) - len(self.right)
        basis = list(range(real, real + rows))
        x, _ = self.least(basis, [flint.fmpq(0)] * real, 1)
        if any(x[i, 0] for i in range(rows) if basis[i] >= real):
            raise _no_mixture()
        return basis

    def least(
        self, basis: list[int], given: Sequence[flint.fmpq], artificial: int
    ) -> tuple[flint.fmpq_mat, flint.fmpq_mat]:
        """Change a feasible basis by the simplex method in fractions until none costs less; its weights and multipliers.

        The steepest column enters, later the first one (Bland).
        """
        rows, real = len(self.right), len(self.columns) - len(self.right)
        cost = [*given, *[flint.fmpq(artificial)] * rows]
        every = flint.fmpq_mat(rows, real, [self.columns[k][i] for i in range(rows) for k in range(real)])
        for step in count():
            inverse, x = self._at(basis)
            duals = flint.fmpq_mat(1, rows, [cost[k] for k in basis]) * inverse
            saved = [price - cost[k] for k, price in enumerate((duals * every).table()[0])]  # of the basis it is zero
            better = [k for k, saving in enumerate(saved) if saving > 0]
            if not better:
                break
            self._pivot(basis, inverse, x, better[0] if step > 10 * rows else max(better, key=lambda k: saved[k]))
        return x, duals

    def improved(self, basis: list[int]) -> list[int]:
        """A feasible basis without a column of clearly negative reduced cost, from one that is feasible."""
        basis = list(basis)
        rows = len(self.right)
        for step in range(50 * rows + 1000):
            reduced = self.cost - self.duals(basis) @ self.dense
            reduced[basis] = 0.0
            reduced[len(self.columns) - rows :] = 0.0  # artificial columns stay out
            candidates = np.flatnonzero(reduced < -OPTIMAL)
            if not len(candidates):
                break
            self._pivot(basis, *self._at(basis), int(candidates[0] if step > 10 * rows else reduced.argmin()))
        return basis

    def duals(self, basis: list[int]) -> Floats:
        """Multipliers of the rows; where floats find the basis singular, the best in the least-squares sense."""
        square = self.dense[:, basis].T
        try:
            return np.asarray(np.linalg.solve(square, self.cost[basis]), dtype=np.float64)
        except np.linalg.LinAlgError:
            return np.asarray(np.linalg.lstsq(square, self.cost[basis], rcond=None)[0], dtype=np.float64)

    def mixture(self, basis: list[int], duals: Sequence[Fraction]) -> Mixture:
        """The weights of a feasible basis, and π over all states: multipliers on the free coordinates, and a constant."""
        pi = [duals[-1]] * len(self.prior)
        for s, dual in zip(self.free, duals[:-1], strict=True):
            pi[s] += dual / self.prior[s]
        weights = zip(basis, self._weights(basis), strict=True)
        return Mixture({k: _fraction(u) for k, u in weights if u}, tuple(pi))


def _fraction(x: flint.fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _no_mixture() -> SolverError:
    return SolverError("The prior is no mixture of the given posteriors.", "This is a defect; please report it.")


def _float(x: flint.fmpq) -> float:
    """The nearest float, and a huge one where there is none: floats only price columns here."""
    try:
        return int(x.p) / int(x.q)
    except OverflowError:
        return HUGE if x > 0 else -HUGE


def _free_coordinates(posteriors: Sequence[Mapping[int, Fraction]], size: int) -> list[int]:
    """States whose masses, with the sum, determine every point of the affine hull of the posteriors."""
    units = [math.lcm(*(mass.denominator for mass in t.values())) for t in posteriors]
    rows = [tuple(int(t.get(s, 0) * unit) for t, unit in zip(posteriors, units, strict=True)) for s in range(size)]
    return [i - 1 for i in independent((tuple(units), *rows), min(size, len(posteriors))) if i]
