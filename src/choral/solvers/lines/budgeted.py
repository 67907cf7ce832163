"""The sandwich with budgets: lines below the entropy, and programs over the channels within the budgets.

Under a piecewise-linear cost all codes that use one line may be joined: the cost does not change, no group leaks more, and no
ratio grows. So as many codes as lines suffice, and the problem, which is not convex in general, becomes convex (`budget_path`
has it). Its multipliers prove a bound (see `LinesBound`), whatever their accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from choral.describe.entropy import weighted_entropies
from choral.errors import TooLargeError
from choral.problem.bounds import best_group
from choral.problem.form import constraints
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import Proof, Status
from choral.proofs.group import GroupBound
from choral.solvers.fewer_codes import joined_codes
from choral.solvers.highs import FINEST as PRECISE
from choral.solvers.highs import basic
from choral.solvers.highs import kept as solution_kept
from choral.solvers.lines.beside import AIM, Beside, Known, Mixture, Proved
from choral.solvers.lines.budget_path import WithinBudgets
from choral.solvers.lines.budget_program import Group, budgeted_groups
from choral.solvers.lines.cells import Next
from choral.solvers.lines.chords import ENTROPY, Chords
from choral.solvers.lines.refinement import Aim, Start, enclosed
from choral.solvers.lines.sandwich import Rough, conditional_entropy, shares
from choral.solvers.lines.simplex import Simplices

COARSE, ROUGH = 8, 0.03
"""Even cells with which a search begins, and the share of what may be told to which their program is solved. That takes a
tenth of the time of the next one, says how many cells will do, and gives the prices that budgets have: a program that begins
there takes two thirds of the steps of one that begins where that of another budget ended."""
ROOM, ACCURACY = 0.65, 0.1
"""Shares of what is wanted: what the next even cells may miss, and the accuracy of their program."""
MOST_EVEN = 160
"""... but no more lines than this: then they are put where codes are."""
USED = 1e-10
"""Lines with less mass than this carry no code."""
RARE = 1e-8
"""Codes rarer than this join the most likely one: floats do not know what they say."""
JOIN = 0.1
"""Codes are joined as long as that costs no more than this share of the gap ..."""
NEAR = 3
"""... each with one of so many that are next to it, where the target has two values."""


def by_lines_within(problem: Problem, aim: Aim, beside: Beside | None = None) -> Rough[Proof] | None:
    """A channel within budgets that tells nearly most, and the lines that prove how nearly; None if there is none yet.

    What was found `beside` is used, and what is found is added to it.
    """
    return _Run(problem, aim, beside or Beside()).found()


class _Run:
    """One search."""

    def __init__(self, problem: Problem, aim: Aim, beside: Beside) -> None:
        self.problem, self.aim, self.beside = problem, aim, beside
        self.p = problem.prior / problem.prior.sum()
        self.Q = problem.posterior().T
        self.all = budgeted_groups(problem)
        binding = tuple(group for group in self.all if group.binds(problem.prior))
        self.kept = WithinBudgets(self.p, constraints(problem)[1], groups=binding)
        self.cells: Chords | Simplices
        if self.Q.shape[1] == 2:
            self.cells = Chords.over(ENTROPY, self.p, np.zeros((len(self.p), 0)), self.Q[:, 1])
        else:
            self.cells = Simplices.over(self.p, self.Q, aim.tol, aim.stopped)

    def found(self) -> Rough[Proof] | None:
        """What the search finds, or what was found beside where that is good enough."""
        group, most = best_group(self.problem)
        bound: Proof = GroupBound(group)
        by = "a group's bound"
        for proof in self.beside.proofs:
            told = proof.within(replace(self.kept, groups=self._like(proof)))
            if told < most:
                most, bound, by = told, proof.bound, f"{proof.cells.lines} lines"
        same = self.beside.same(self.all, most, self.aim.wanted)
        if same is not None:
            how = "sandwich within budgets, the channel of smaller ones"
            return Rough(shares(same.z, self.p), bound, how, Status.OPTIMAL, (), same.exact)
        mixture = self.beside.mixture(self.all)
        aim = replace(self.aim, tol=AIM * self.aim.tol, rel_tol=AIM * (self.aim.rel_tol or 0.0))
        start = Start(*self._first(mixture, most), None if mixture is None else mixture.z, most)
        found = enclosed(self.cells, self.kept, aim, start)
        gap, status = found.gap, found.status
        if gap <= self.aim.wanted(found.information):
            status = Status.OPTIMAL
        if found.history:
            lines = self.kept.proof(self.problem, found.cells, found.nu)
            proof = Proved(lines, found.cells, found.nu, self.kept.groups, found.proves)
            self.beside.proofs.append(proof)
            if found.proves <= most:
                bound, by = proof.bound, f"{found.lines} lines"
        if found.information == 0:
            if status is not Status.OPTIMAL:
                return None
            self.beside.channels.append(Known.of(self.p[:, None], 0.0, self.all))
            return Rough(np.ones((1, len(self.p))), bound, f"nothing to tell, {by}", status, found.history)
        limited = [group for group in self.all if group.kind == "leakage"]
        z = sufficient(self.problem, self._joined(found.z, gap), limited)
        self.beside.channels.append(Known.of(z.T, self._told(z.T), self.all))
        return Rough(
            shares(z.T, self.p), bound, f"sandwich within budgets, {by} ({status.value})", status, found.history
        )

    def _first(self, mixture: Mixture | None, most: float) -> tuple[Next[Any] | None, float | None]:
        """The cells to begin with, after a few: so many that they will do."""
        every, wanted, known = self.cells, self.aim.wanted, mixture.told if mixture else 0.0
        if (
            most - known <= wanted(known)
            or not isinstance(every, Chords)
            or any(group.kind == "ratio" for group in self.all)
        ):
            return None, None
        cells = every.enough(ROOM * wanted(most), MOST_EVEN)
        if cells is None or not self._fit(cells.lines):
            return None, None
        coarse = every.even(COARSE)
        lp = self.kept.solve(coarse.costs(), ROUGH * most, None, None, self.aim.stopped, None)
        told = max(every.prior_cost - every.cost(lp.z), known)
        cells = every.enough(ROOM * wanted(told), MOST_EVEN)
        if cells is None or not self._fit(cells.lines):
            return None, None
        return cells.after(Next(coarse, lp.z, lp.nu)), ACCURACY * wanted(told)

    def _fit(self, lines: int) -> bool:
        """Whether so many lines fit the memory."""
        try:
            self.kept.check(lines)
        except TooLargeError:
            return False
        return True

    def _like(self, proof: Proved) -> tuple[Group, ...]:
        by_position = {group.position: group for group in self.all}
        return tuple(by_position[group.position] for group in proof.groups)

    def _told(self, z: Floats) -> float:
        return self.problem.entropy_of_target - conditional_entropy(z, self.Q)

    def _joined(self, z: Floats, gap: float) -> Floats:
        """Codes, a row each, joined where that costs little of the tolerance, and those that are next to nothing."""
        z = joined_codes(z[:, z.sum(axis=0) > USED].T, self.Q.T, 1, JOIN * max(gap, 1e-12), NEAR)
        mass = z.sum(axis=1)
        largest = int(mass.argmax())
        z[largest] += z[mass < RARE].sum(axis=0)
        return np.delete(z, [y for y in np.flatnonzero(mass < RARE) if y != largest], axis=0)


def sufficient(problem: Problem, z: Floats, limited: Sequence[Group] = ()) -> Floats:
    """As many codes, a row of masses each, as suffice (Carathéodory): weights on them that give the states, and tell most.

    What leaks of groups with budgets in bits, and what is told, is linear in the weights; equations and ratios hold for each
    code.
    """
    p, Q = problem.prior / problem.prior.sum(), problem.posterior().T
    if len(z) <= len(p) - constraints(problem)[1].shape[1] + len(limited):
        return z
    apart = np.array([weighted_entropies(z @ group.given) for group in limited]).reshape(-1, len(z))
    slack = np.zeros((len(p), len(limited)))
    matrix = np.block([[z.T / p[:, None], slack], [apart, -np.eye(len(limited))]])
    at_least = [group.entropy / math.log(2) - group.amount for group in limited]
    cost = np.append(weighted_entropies(z @ Q), slack[0])
    weights = basic(solution_kept(matrix, cost, np.append(np.ones(len(p)), at_least), PRECISE))[: len(z)]
    found = z[weights > 0] * weights[weights > 0, None]
    return np.asarray(found * (p / found.sum(axis=0))) if len(found) else z
