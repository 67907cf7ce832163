"""What more could be told if something may leak: certified points of the trade-off, from no leakage to no privacy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from choral.describe.entropy import entropy_of
from choral.design.along import solved_along
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.problem.kernel import Problem, Variable
from choral.problem.pose import with_budgets
from choral.theory.many_samples import TradeoffPoint

STEPS = 8
"""Points of the curve but the first: enough to see its bend, few enough to wait for."""
REL_TOL = 1e-2
"""How closely a point is solved: the width of a line."""


def leakages(problem: Problem) -> list[str]:
    """Budgets in bits, 0 to where a budget binds no more, denser towards 0; as decimals, so that they are exact.

    In the example p(w | state) gives away whether X2 is 0, e or 1, so the last one is H(X2) = 3/2.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> leakages(pose(examples.bsc_and_bec()))
    ['0', '0.0234', '0.0938', '0.2109', '0.375', '0.5859', '0.8438', '1.1484', '1.5']
    """
    most = max(leak_of_everything(problem, group) for group in problem.groups)
    return list(dict.fromkeys(f"{most * (k / STEPS) ** 2:.4f}".rstrip("0").rstrip(".") for k in range(STEPS + 1)))


def leak_of_everything(problem: Problem, group: Variable) -> float:
    """I(Z;T) in bits, T = p(w | state): what is told about a group if all about the target is told and nothing is private."""
    kind: dict[Any, int] = {}
    of_state = []
    for s, cells in enumerate(problem.target.by_state(problem.size)):
        posterior = tuple((v, Fraction(w, problem.weights[s])) for v, w in cells)
        of_state.append(kind.setdefault(posterior, len(kind)))
    both: defaultdict[tuple[int, int], int] = defaultdict(int)
    kinds: defaultdict[int, int] = defaultdict(int)
    for s, v, w in zip(group.state.tolist(), group.value.tolist(), group.weight, strict=True):
        both[of_state[s], v] += w
        kinds[of_state[s]] += w
    total = problem.total
    parts = entropy_of(kinds.values(), total) + entropy_of(group.marginal, total)
    return max(0.0, parts - entropy_of(both.values(), total))


def points(release: Disclosure, progress: Callable[[float, float, str], None]) -> Iterator[tuple[str, TradeoffPoint]]:
    """The certified interval at each budget, every protected group with the same one; all else as a release has it."""
    law, asked = release.law, release.problem
    table = law.table
    if table is None or not asked.groups or asked.conditions or asked.utility is not None:
        raise ProblemError(
            "A curve is about budgets in bits, for groups that are protected whatever others know.",
            "Solve without further promises and for bits, and ask for its curve.",
        )
    names = [group.name for group in asked.groups]
    private = replace(asked, budgets=())
    budgets = leakages(asked)
    problems = [private if b == "0" else with_budgets(table, private, dict.fromkeys(names, b)) for b in budgets]
    limits = Limits(rel_tol=REL_TOL, progress=progress)
    for text, found in zip(budgets, solved_along(law, problems, limits), strict=True):
        yield text, TradeoffPoint(float(text), found.information, found.upper_bound, max(found.leakage.values()), found)
