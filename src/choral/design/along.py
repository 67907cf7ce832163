"""Along a curve: the same question within several budgets, each point with what was found at the others.

Bounds of one point hold at the others, its channels can be mixed, and its codes say where to look (`Beside`). So a point is
searched only where these leave the interval wider than the tolerance: the ends first, then halves of what lies between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from choral.describe.law import Law
from choral.design.disclose import solved
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import floats_of
from choral.reductions.base import Joined
from choral.reductions.chain import reduced_problem
from choral.solvers.lines.beside import Beside

FEW = 3
"""Points of a curve up to which each has lines of its own."""


def solved_along(law: Law, problems: Sequence[Problem], limits: Limits) -> Iterator[Disclosure]:
    """The disclosures of problems that differ in their budgets alone, in their order, as soon as all before are there."""
    beside = Beside(several=len(problems) > FEW)
    found: dict[int, Disclosure] = {}
    told = 0
    rising = sorted(range(len(problems)), key=lambda k: sum(b.amount for b in problems[k].budgets if b is not None))
    for k in (rising[i] for i in halves(len(problems))):
        problem = problems[k]
        found[k] = solved(law, problem, limits, beside if problem.budgets else None)
        if not problem.budgets:
            within = next((other for other in problems if other.budgets), None)
            if within is not None:
                beside.channels.append(_masses(found[k], within))
        while told in found:
            yield found[told]
            told += 1


def halves(count: int) -> list[int]:
    """The numbers below this: the first, the last, then the middle of every gap, widest gaps first.

    >>> halves(9)
    [0, 8, 4, 2, 6, 1, 3, 5, 7]
    """
    order = [0, count - 1] if count > 1 else list(range(count))
    gaps = [(0, count - 1)]
    for low, high in gaps:
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            gaps += [(low, middle), (middle, high)]
    return order


def _masses(private: Disclosure, within: Problem) -> Floats:
    """p(s, y) of a channel as the reduced problem within budgets sees it, one row per state."""
    z = (floats_of(private.exact_channel) * within.prior).T
    small, inverses = reduced_problem(within)
    for inverse in inverses:
        assert isinstance(inverse, Joined)  # with budgets, alike states are joined and nothing else
        z = np.array([z[inverse.label == c].sum(axis=0) for c in range(small.size)])
    return np.asarray(z / z.sum(), dtype=np.float64)
