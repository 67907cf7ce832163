"""From a channel in floats that is nearly private to one in integers that is private.

1. p(y | s) is rounded to a grid of 2⁻⁶⁰; the most likely code y* takes what is left of each state.
2. For every other code the privacy equations are met exactly by changing its entries at rank-many states, where the
   code and y* have most mass: one exact solve. y* gives what they take.
3. y* is private then, too: the masses of all codes sum to the prior, which satisfies the equations.
4. Should an entry be negative, the channel is mixed with one that ignores the record (any such channel is private)
   at a weight δ just large enough. The loss is of order δ log(1/δ).
"""

from __future__ import annotations

import math
from fractions import Fraction

import flint
import numpy as np
import scipy.linalg

from choral.errors import SolverError
from choral.problem.form import equations
from choral.problem.kernel import Floats, Index, Problem
from choral.problem.solution import ExactChannel, Row

GRID_BITS = 60
FEW_STATES = 300
"""Among so many states (or ten times the equations) independent ones are looked for first."""
LEAST_MASS = 2.0**-50
"""Codes rarer than this join the most likely one before anything is solved for them."""


def repair(problem: Problem, channel: Floats) -> ExactChannel:
    """A private channel close to `channel`, which holds p(y | s) in floats, one row per code.

    Whatever is given, what is returned is private, exactly; how close it is depends on how nearly private it was.
    """
    if channel.ndim != 2 or channel.shape[1] != problem.size:
        raise SolverError(
            f"A channel of shape {channel.shape} does not fit {problem.size} states.", "Give one row per code."
        )
    if not np.isfinite(channel).all() or not (channel.sum(axis=0) > 0).all():
        raise SolverError("The channel has entries that are not finite, or a state without codes.", "Solve again.")
    shares = np.clip(channel, 0.0, None)
    shares = shares / shares.sum(axis=0)
    mass = shares @ problem.prior
    rest = int(mass.argmax())
    kept = [y for y in range(len(mass)) if y != rest and mass[y] >= LEAST_MASS]
    grid = np.rint(shares[kept].T * float(2**GRID_BITS)).astype(np.int64)  # states × codes, all but y*
    changes = _changes(problem, grid, shares[kept], shares[rest])
    rows = _rows(grid, changes)
    return ExactChannel(len(kept) + 1, tuple(_mixed(rows, [*mass[kept], mass[rest]])))


def _changes(problem: Problem, grid: Index, shares: Floats, rest: Floats) -> dict[tuple[int, int], Fraction]:
    """(state, code) → what must be added, in units of the grid, for every code but the last to be private."""
    equations = _Equations.of(problem)
    residuals = equations.residuals(grid)
    changes: dict[tuple[int, int], Fraction] = {}
    for y in range(grid.shape[1]):
        room = problem.prior * np.minimum(shares[y], rest)
        for s, change in equations.solve(residuals[y], room):
            if change:
                changes[s, y] = change
    return changes


class _Equations:
    """The privacy equations of one code: Σ_s centred[i][s] · p(y | s) = 0 in integers."""

    def __init__(self, centred: flint.fmpz_mat, floats: Floats) -> None:
        self.centred = centred
        self.floats = floats
        norms = np.linalg.norm(floats, axis=0)
        self.directions = floats / np.where(norms > 0, norms, 1.0)

    @classmethod
    def of(cls, problem: Problem) -> _Equations:
        rows = equations(problem).integers
        floats = np.zeros((len(rows), problem.size))
        for i, row in enumerate(rows):
            largest = max(map(abs, row)) if not problem.plain else problem.total**2
            floats[i] = [x / largest for x in row]
        return cls(flint.fmpz_mat(len(rows), problem.size, [x for row in rows for x in row]), floats)

    def residuals(self, grid: Index) -> list[list[int]]:
        """By how much each code misses each equation."""
        entries = flint.fmpz_mat(grid.shape[0], grid.shape[1], grid.ravel().tolist())
        return [list(map(int, column)) for column in (self.centred * entries).transpose().tolist()]

    def solve(self, residual: list[int], room: Floats) -> list[tuple[int, Fraction]]:
        """Changes at a few states with much room that cancel the residual exactly."""
        size = len(residual)
        if not any(residual):
            return []
        for weights in (room, np.ones_like(room)):
            states = self._independent_states(weights)
            square = flint.fmpq_mat(size, size, [self.centred[i, s] for i in range(size) for s in states])
            try:
                solved = square.solve(flint.fmpq_mat(size, 1, [-x for x in residual]))
            except ZeroDivisionError:
                continue
            return [(s, Fraction(int(solved[i, 0].p), int(solved[i, 0].q))) for i, s in enumerate(states)]
        raise SolverError("No independent states were found to repair the channel.", "This is a defect; report it.")

    def _independent_states(self, weights: Floats) -> list[int]:
        """As many states as equations, independent as far as floats can tell, with large weights first."""
        size = len(self.floats)
        few = np.argsort(-weights)[: max(FEW_STATES, 10 * size)]
        for states in (few, np.arange(len(weights))):
            part = weights[states]
            scale = np.sqrt(part / part.max()) if part.max() > 0 else np.ones_like(part)
            columns = self.directions[:, states] * np.maximum(scale, 1e-150)
            corner, order = scipy.linalg.qr(columns, mode="r", pivoting=True)
            if abs(corner[size - 1, size - 1]) > 1e-9 * abs(corner[0, 0]):
                break
        return [int(states[k]) for k in order[:size]]


def _rows(grid: Index, changes: dict[tuple[int, int], Fraction]) -> list[list[tuple[int, int | Fraction]]]:
    """p(y | s) by state, in units of the grid: exact, sums to the grid, entries perhaps negative."""
    unit, last = 2**GRID_BITS, grid.shape[1]
    by_state: dict[int, dict[int, Fraction]] = {}
    for (s, y), change in changes.items():
        by_state.setdefault(s, {})[y] = change
    rows: list[list[tuple[int, int | Fraction]]] = []
    for s, values in enumerate(grid.tolist()):
        row: list[tuple[int, int | Fraction]] = [(y, v) for y, v in enumerate(values) if v]
        if s in by_state:
            sums: dict[int, int | Fraction] = dict(row)
            for y, change in by_state[s].items():
                sums[y] = sums.get(y, 0) + change
            row = sorted(sums.items())
        rows.append([*row, (last, unit - sum(v for _, v in row))])
    return rows


def _mixed(rows: list[list[tuple[int, int | Fraction]]], mass: list[float]) -> list[Row]:
    """The rows, mixed with a code that ignores the record as far as needed to have no negative entry."""
    unit = 2**GRID_BITS
    law = [max(1, int(m * (unit - len(mass)))) for m in mass]
    law[-1] += unit - sum(law)
    need = max((Fraction(-v) / (law[y] - v) for row in rows for y, v in row if v < 0), default=Fraction(0))
    share = math.ceil(need * unit)
    if share == 0:
        return [_row([(y, v) for y, v in row if v], unit) for row in rows]
    mixed = []
    for row in rows:
        entries = dict(row)
        full = [(y, (unit - share) * entries.get(y, 0) + share * law[y]) for y in range(len(mass))]
        mixed.append(_row([(y, v) for y, v in full if v], unit * unit))
    return mixed


def _row(entries: list[tuple[int, int | Fraction]], unit: int) -> Row:
    """Entries in parts of a unit that they sum to, as integers."""
    common = math.lcm(*(v.denominator for _, v in entries))
    return unit * common, tuple((y, int(v * common)) for y, v in entries)
