"""From a channel in floats that is nearly private to one in integers that is private.

1. p(y | s) is rounded to a grid of 2⁻⁶⁰; the most likely code y* takes what is left of each state.
2. For every other code the privacy equations are met exactly by changing its entries at rank-many states, where the
   code and y* have most mass: one exact solve. y* gives what they take.
3. y* is private then, too: the masses of all codes sum to the prior, which satisfies the equations.
4. Should an entry be negative, the channel is mixed with one that ignores the record (any such channel is private)
   at a weight δ large enough, and rounded again; should that not do, it is mixed exactly. The loss is of order δ log(1/δ).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import flint
import numpy as np
import scipy.linalg

from choral.errors import SolverError
from choral.exact.weighted import Weights, weighted_sums
from choral.phases import phase
from choral.problem.form import constraints, equations
from choral.problem.kernel import Floats, Index, Problem
from choral.problem.packed import PackedRows
from choral.problem.solution import ExactChannel, Row

GRID_BITS = 60
"""Of the grid that floats are put on: finer than their 53 bits, and sums of a row fit 64."""
UNIT = 2**GRID_BITS
FEW_STATES = 300
"""Among so many states (or ten times the equations) independent ones are looked for first."""
LEAST_MASS = 2.0**-50
"""Codes rarer than this join the most likely one before anything is solved for them."""
LEAST_SHARE = 2.0**-50
"""Of a channel that ignores the record, where one is mixed in at all."""
ROUNDS = 3
"""Times that the channel is mixed and rounded again, before it is mixed exactly."""
PART = 4096
"""States that are treated at once."""
MANY_STATES = 8192
"""States from which on residuals are summed in pieces, on all cores: some hundredths of a second otherwise."""
LEAST_ROOM = 2.0**-34
"""Mass of a code at a state that is enough to be changed: floats miss the equations by 2⁻⁴⁶, and solving magnifies that."""


@phase("making the code exact")
def repair(problem: Problem, channel: Floats) -> ExactChannel:
    """A private channel close to `channel`, which holds p(y | s) in floats, one row per code.

    Whatever is given, what is returned is private, exactly; how close it is depends on how nearly private it was.
    """
    if channel.ndim != 2 or channel.shape[1] != problem.size:
        raise SolverError(
            f"A channel of shape {channel.shape} does not fit {problem.size} states.", "Give one row per code."
        )
    if not np.isfinite(channel).all() or not (np.maximum(channel, 0.0).sum(axis=0) > 0).all():
        raise SolverError("The channel has entries that are not finite, or a state without codes.", "Solve again.")
    mass = np.array([np.maximum(code, 0.0) @ problem.prior for code in channel])
    rest = int(mass.argmax())
    order = [*(y for y in range(len(mass)) if y != rest and mass[y] >= LEAST_MASS), rest]
    law = mass[order] / mass[order].sum()
    exact = _Equations(problem)
    share = 0.0
    for _ in range(ROUNDS):
        grid = _grid(channel, order, share * law, 1 - share)
        changed = _changed(grid, _changes(exact, problem.prior, grid))
        need = _needed(changed, law)
        if not need:
            grid, changed = _without_empty(grid, changed)
            return ExactChannel(
                grid.shape[1], PackedRows(UNIT, grid, {s: _row(row, UNIT) for s, row in changed.items()})
            )
        share = min(0.5, max(2 * (share + float(need)), LEAST_SHARE))
    return ExactChannel(len(order), _mixed(grid, changed, law, need))


def _grid(channel: Floats, order: list[int], law: Floats, share: float) -> Index:
    """law + share · p(y | s) on the grid, states × codes: no entry is negative, and each state has all of its unit."""
    grid = np.empty((channel.shape[1], len(order)), dtype=np.int64)
    for start in range(0, len(grid), PART):
        part = np.maximum(channel[:, start : start + PART].T, 0.0)
        part = law + share * part[:, order] / part.sum(axis=1, keepdims=True)
        rows = np.rint(part * float(UNIT)).astype(np.int64)
        rows[:, -1] = 0
        most = rows.argmax(axis=1)
        rows[np.arange(len(rows)), most] -= np.maximum(rows.sum(axis=1) - UNIT, 0)
        rows[:, -1] = UNIT - rows.sum(axis=1)
        grid[start : start + PART] = rows
    return grid


def _changes(exact: _Equations, prior: Floats, grid: Index) -> dict[int, dict[int, Fraction]]:
    """state → code → what must be added, in units of the grid, for every code but the last to be private."""
    residuals = exact.residuals(grid[:, :-1])
    changes: dict[int, dict[int, Fraction]] = {}
    together = exact.solve_together(residuals, prior * grid.min(axis=1))
    if together is not None:
        for s, found in together:
            changes[s] = {y: change for y, change in enumerate(found) if change}
        return changes
    for y, residual in enumerate(residuals):
        room = prior * np.minimum(grid[:, y], grid[:, -1])
        for s, change in exact.solve(residual, room):
            if change:
                changes.setdefault(s, {})[y] = change
    return changes


class _Equations:
    """The privacy equations of one code, exactly and in floats."""

    def __init__(self, problem: Problem) -> None:
        self.exact = equations(problem)
        _, self.floats = constraints(problem)
        self.inside = [(group, v) for group in problem.groups for v in range(len(group.values))]

    def residuals(self, grid: Index) -> list[list[int]]:
        """By how much each code misses each equation."""
        if len(grid) >= MANY_STATES and all(i < len(self.inside) for i in self.exact.rows):
            return self._residuals_of_many(grid)
        states, codes = grid.shape
        found = flint.fmpz_mat(len(self.exact.rows), codes)
        for start in range(0, states, PART):
            stop = min(start + PART, states)
            integers = [x for row in self.exact.at(range(start, stop)) for x in row]
            entries = flint.fmpz_mat(stop - start, codes, grid[start:stop].ravel().tolist())
            found += flint.fmpz_mat(len(self.exact.rows), stop - start, integers) * entries
        return [list(map(int, column)) for column in found.transpose().tolist()]

    def _residuals_of_many(self, grid: Index) -> list[list[int]]:
        """The same from total · p(z, y) and p(z) · p(y), where all equations are those of groups."""
        problem, asked = self.exact.problem, [self.inside[i] for i in self.exact.rows]
        every = np.arange(problem.size)
        rows = [Weights(every, every, problem.weights)]
        for variable, v in asked:
            cell = np.flatnonzero(variable.value == v)
            rows.append(Weights(variable.state[cell], cell, variable.weight))
        masses, *found = weighted_sums(rows, grid)
        shares = [variable.marginal[v] for variable, v in asked]
        return [
            [problem.total * sums[y] - share * mass for sums, share in zip(found, shares, strict=True)]
            for y, mass in enumerate(masses)
        ]

    def solve(self, residual: list[int], room: Floats) -> list[tuple[int, Fraction]]:
        """Changes at a few states with much room that cancel the residual exactly."""
        size = len(residual)
        if not any(residual):
            return []
        for states in self._candidates(room):
            square = flint.fmpq_mat(size, size, [x for row in self.exact.at(states) for x in row])
            try:
                solved = square.solve(flint.fmpq_mat(size, 1, [-x for x in residual]))
            except ZeroDivisionError:
                continue
            return [(s, Fraction(int(solved[i, 0].p), int(solved[i, 0].q))) for i, s in enumerate(states)]
        raise SolverError("No independent states were found to repair the channel.", "This is a defect; report it.")

    def solve_together(self, residuals: list[list[int]], room: Floats) -> list[tuple[int, list[Fraction]]] | None:
        """The same for all codes at the same states, if there are enough where each of them has room: one exact solve."""
        size = len(self.exact.rows)
        if not residuals or not size or np.count_nonzero(room > LEAST_ROOM * UNIT) < size:
            return None
        states = self._independent_states(room)
        if room[states].min() <= LEAST_ROOM * UNIT:
            return None
        square = flint.fmpq_mat(size, size, [x for row in self.exact.at(states) for x in row])
        right = flint.fmpq_mat(size, len(residuals), [-r[i] for i in range(size) for r in residuals])
        try:
            solved = square.solve(right)
        except ZeroDivisionError:
            return None
        return [(s, [Fraction(int(x.p), int(x.q)) for x in solved.tolist()[i]]) for i, s in enumerate(states)]

    def _candidates(self, room: Floats) -> Iterator[list[int]]:
        """As many states as equations; the last are independent also where floats cannot tell an equation from none."""
        yield self._independent_states(room)
        yield self._independent_states(np.ones_like(room))
        yield self.exact.basis(np.argsort(-room).tolist())

    def _independent_states(self, weights: Floats) -> list[int]:
        """As many states as equations, independent as far as floats can tell, with large weights first."""
        size = self.floats.shape[1]
        few = _largest(weights, max(FEW_STATES, 10 * size))
        for states in (few, np.arange(len(weights))):
            part = weights[states]
            scale = np.sqrt(part / part.max()) if part.max() > 0 else np.ones_like(part)
            columns = self.floats[states].T
            norms = np.linalg.norm(columns, axis=0)
            columns = columns / np.where(norms > 0, norms, 1.0) * np.maximum(scale, 1e-150)
            corner, order = scipy.linalg.qr(columns, mode="r", pivoting=True)
            if abs(corner[size - 1, size - 1]) > 1e-9 * abs(corner[0, 0]):
                break
        return [int(states[k]) for k in order[:size]]


def _largest(weights: Floats, count: int) -> Index:
    """The places of so many of the largest weights, the largest first; all places are put in order only if they are few."""
    if len(weights) < max(MANY_STATES, 2 * count):
        return np.argsort(-weights)[:count]
    some = np.argpartition(-weights, count)[:count]
    return some[np.argsort(-weights[some])]


Entries = list[tuple[int, "int | Fraction"]]


def _changed(grid: Index, changes: dict[int, dict[int, Fraction]]) -> dict[int, Entries]:
    """The rows that change, in units of the grid: exact, with the sum of the grid, entries perhaps negative."""
    rows = {}
    for s, change in changes.items():
        row: list[int | Fraction] = grid[s].tolist()
        for y, more in change.items():
            row[y] += more
            row[-1] -= more
        rows[s] = [(y, v) for y, v in enumerate(row) if v]
    return rows


def _without_empty(grid: Index, changed: dict[int, Entries]) -> tuple[Index, dict[int, Entries]]:
    """The same without codes that nobody gets: one that is far from private may lose all of its mass to the last."""
    states = list(changed)
    entries = np.count_nonzero(grid, axis=0) - np.count_nonzero(grid[states], axis=0)
    for row in changed.values():
        entries[[y for y, _ in row]] += 1
    if entries.all():
        return grid, changed
    kept = np.flatnonzero(entries)
    number = {y: k for k, y in enumerate(kept.tolist())}
    return grid[:, kept], {s: [(number[y], v) for y, v in row] for s, row in changed.items()}


def _needed(changed: dict[int, Entries], law: Floats) -> Fraction:
    """The least share of a code with this law that leaves no entry negative."""
    units = _units(law)
    return max(
        (Fraction(-v) / (units[y] - v) for row in changed.values() for y, v in row if v < 0), default=Fraction(0)
    )


def _units(law: Floats) -> list[int]:
    """A law in units of the grid; no code has none."""
    units = [max(1, int(p * (UNIT - len(law)))) for p in law.tolist()]
    units[-1] += UNIT - sum(units)
    return units


def _mixed(grid: Index, changed: dict[int, Entries], law: Floats, need: Fraction) -> tuple[Row, ...]:
    """The rows, mixed exactly with a code that ignores the record."""
    units, share = _units(law), math.ceil(need * UNIT)
    rows = []
    for s, plain in enumerate(grid.tolist()):
        entries = dict(changed[s]) if s in changed else dict(enumerate(plain))
        full = [(y, (UNIT - share) * entries.get(y, 0) + share * unit) for y, unit in enumerate(units)]
        rows.append(_row([(y, v) for y, v in full if v], UNIT * UNIT))
    return tuple(rows)


def _row(entries: Entries, unit: int) -> Row:
    """Entries in parts of a unit that they sum to, as integers."""
    common = math.lcm(*(v.denominator for _, v in entries))
    return unit * common, tuple((y, int(v * common)) for y, v in entries)
