"""About how much: what a private code tells, in floats, where a figure is said to people and nothing is released.

The channel of a search by lines is private to rounding, and what it tells is known to as many digits as floats have. Making
it exact, joining its codes and stating its bound takes as long as the search, and changes none of the digits that are said.
Privacy is not decided here: there is no code to give out.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from choral.describe.entropy import entropies, weighted_entropies
from choral.describe.law import Law
from choral.design.limits import Limits
from choral.design.solvers import choose
from choral.phases import phase
from choral.problem.form import constraints, form_of
from choral.problem.kernel import Floats, Problem
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.problem.solution import Status, floats_of
from choral.reductions.chain import reduced_problem
from choral.solvers.lines.refinement import Aim
from choral.solvers.lines.sandwich import sandwiched
from choral.threads import one_thread


@dataclass(frozen=True)
class Estimate:
    """What some private code tells about the target in bits, how often it is then guessed right, and how the search ended.

    `both` has the probability of each code (a row) with each of the target's `values`.
    """

    bits: float
    right: float
    status: Status
    both: Floats = field(repr=False, compare=False)
    values: tuple[Hashable, ...] = field(repr=False, compare=False)

    def often(self, value: Hashable, share: float) -> float:
        """How often a value of the target is found in such a share of the records: those whose codes find it most often.

        >>> both = np.array([[0.1, 0.1], [0.75, 0.05]])
        >>> found = Estimate(0.0, 0.85, Status.OPTIMAL, both, ("no", "yes"))
        >>> f"{found.often('yes', 0.1):.3f} {found.often('yes', 0.4):.5f}"
        '0.500 0.28125'
        """
        codes, hits = self.both.sum(axis=1), self.both[:, self.values.index(value)]
        order = np.argsort(-hits / np.maximum(codes, np.finfo(float).tiny))
        taken = np.diff(np.minimum(np.cumsum(codes[order]), share), prepend=0.0)
        there = codes[order] > 0
        return float((taken[there] * hits[order][there] / codes[order][there]).sum() / share)


def estimated(law: Law, question: Question, limits: Limits) -> Estimate:
    """What a code that answers the question would tell, found within limits.

    >>> from choral.describe import examples
    >>> found = estimated(examples.bsc_and_bec(), Question("W"), Limits())
    >>> f"{found.bits:.4f} {found.right:.3f}"
    '0.0134 0.556'
    """
    with limits.begun().running() as clock, one_thread("blas"):
        problem = problem_of(law, question)
        with phase("looking for states that are alike"):
            small, _ = reduced_problem(problem)
            form = form_of(small)
            chosen = choose(small, form, limits.solver)
        prior = small.prior / small.prior.sum()
        if chosen.solver == "sandwich" and not small.budgets and small.utility is None:
            M, Q = constraints(small)[1], small.posterior().T
            found = sandwiched(prior, M, Q, Aim(limits.tol, limits.rel_tol, stopped=clock.stopped))
            return _estimate(small, found.z, found.status)
        solution = chosen.run(small, form, clock)
        return _estimate(small, (floats_of(solution.channel) * prior).T, solution.status)


def _estimate(problem: Problem, z: Floats, status: Status) -> Estimate:
    both = z.T @ problem.posterior().T
    bits = float(entropies(both.sum(axis=0)) - weighted_entropies(both).sum())
    return Estimate(max(0.0, bits), float(both.max(axis=1).sum()), status, both, problem.target.values)
