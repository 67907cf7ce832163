"""Optimal answers for problems whose extreme points can be listed, and closed forms for nullity 0 and 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import flint
import numpy as np

from choral.problem.form import Form, incidence
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel, Solution, constant_channel, near_float
from choral.proofs.determined import DeterminedBound
from choral.proofs.extreme_points import VertexBound
from choral.solvers.enumeration import ExtremePoint, extreme_points
from choral.solvers.mixture import best_mixture, entropies

NEAREST = 1e-9
"""Posteriors whose slack is within this of the smallest are recomputed exactly when the bound is stated."""
MOST_MIXED = 200
"""Extreme points, those that tell most, that are mixed where not all are known."""
ROUNDING = 1e-14
"""The relative error of a sum of floats with few terms, with room to spare."""


def by_enumeration(
    problem: Problem,
    should_stop: Callable[[], bool] | None = None,
    ahead: Callable[[int], None] = lambda points: None,
) -> Solution:
    """List the extreme points of S, then mix them by a linear program: at most nul(P)+1 codes, and what proves them best."""
    points = extreme_points(problem, None, should_stop, ahead)
    channel, multipliers = _mixed(problem, points, free_states(problem))
    how = f"enumeration of {len(points)} extreme points, then the best mixture"
    return Solution(channel, vertex_bound(problem, points, multipliers), how)


def _mixed(
    problem: Problem, posteriors: Sequence[Mapping[int, Fraction]], free: list[int] | None = None
) -> tuple[ExactChannel, tuple[Fraction, ...]]:
    """The best mixture of these posteriors as a channel, and its multipliers."""
    mixture = best_mixture(problem, posteriors, free)
    codes = [{s: u * mass for s, mass in posteriors[k].items()} for k, u in mixture.weights.items()]
    return ExactChannel.from_joint(problem, merged_codes(problem, codes)), mixture.multipliers


def mixed_from(problem: Problem, points: Sequence[ExtremePoint]) -> ExactChannel:
    """The best channel from some of the extreme points, where not all are known: private, and not the best there is.

    Each has an opposite on the other side of the prior p: p + a (p - t) for the largest a that leaves no entry negative. The
    two mix to the prior, so there is always a mixture; and a point that satisfies the equations of privacy is a code.
    """
    order = np.argsort(entropies(problem, points), kind="stable")
    known = [points[k] for k in order[:MOST_MIXED].tolist()]
    prior = {s: problem.prior_of(s) for s in range(problem.size)}
    return _mixed(problem, [*known, *(_opposite(prior, t) for t in known), prior])[0]


def _opposite(prior: Mapping[int, Fraction], t: Mapping[int, Fraction]) -> dict[int, Fraction]:
    step = min(p / (t[s] - p) for s, p in prior.items() if t.get(s, Fraction(0)) > p)
    found = {s: p + step * (p - t.get(s, Fraction(0))) for s, p in prior.items()}
    return {s: mass for s, mass in found.items() if mass}


def merged_codes(problem: Problem, codes: Sequence[Mapping[int, Fraction]]) -> list[dict[int, Fraction]]:
    """The codes with those joined that say exactly the same about the target: nothing is lost, privacy stays."""
    cells = problem.target.by_state(problem.size)
    joined: dict[tuple[tuple[int, Fraction], ...], dict[int, Fraction]] = {}
    for code in codes:
        law: dict[int, Fraction] = {}
        for s, mass in code.items():
            for v, w in cells[s]:
                law[v] = law.get(v, Fraction(0)) + mass * Fraction(w, problem.weights[s])
        total = sum(law.values())
        known = joined.setdefault(tuple((v, law[v] / total) for v in sorted(law) if law[v]), {})
        for s, mass in code.items():
            known[s] = known.get(s, Fraction(0)) + mass
    return list(joined.values())


def nothing_to_tell(problem: Problem, why: str) -> Solution:
    """One code for everybody, where Null(P) ⊂ Null(P_{W|X}) (nullity 0 is a case of it).

    The rows of P_{W|X} are then combinations of the rows of P; the coefficients prove that nothing can be told.
    """
    matrix = incidence(problem)
    rows = matrix.independent
    size = len(rows)
    reduced, _, _ = flint.fmpz_mat([list(matrix.rows[i]) for i in rows]).rref()
    columns = [next(s for s in range(problem.size) if reduced[i, s] != 0) for i in range(size)]
    square = flint.fmpq_mat(
        size, size, [flint.fmpq(matrix.rows[i][s], matrix.scale[s] * matrix.divisor[i]) for s in columns for i in rows]
    )
    cells = problem.target.by_state(problem.size)
    values = range(len(problem.target.values))
    right = [[flint.fmpq(dict(cells[s]).get(v, 0), problem.weights[s]) for v in values] for s in columns]
    solved = square.solve(flint.fmpq_mat(right)).transpose().tolist()
    coefficients = tuple(tuple(Fraction(int(x.p), int(x.q)) for x in row) for row in solved)
    return Solution(constant_channel(problem), DeterminedBound(tuple(rows), coefficients), why)


def two_ends(problem: Problem) -> Solution:
    """Nullity 1: S is a segment, and its two ends are the codes whatever the target is.

    With n spanning Null(P), the ends are p - a·n and p + b·n for the largest a, b that keep them non-negative,
    and p is their mixture with weights b/(a+b) and a/(a+b).
    """
    matrix = incidence(problem)
    basis, _ = flint.fmpz_mat([list(matrix.rows[i]) for i in matrix.independent]).nullspace()
    n = [Fraction(int(basis[s, 0]) * scale) for s, scale in enumerate(matrix.scale)]
    p = [problem.prior_of(s) for s in range(problem.size)]
    a = min(p[s] / n[s] for s in range(problem.size) if n[s] > 0)
    b = min(p[s] / -n[s] for s in range(problem.size) if n[s] < 0)
    ends = [{s: p[s] + step * n[s] for s in range(problem.size) if p[s] + step * n[s]} for step in (-a, b)]
    weights = [b / (a + b), a / (a + b)]
    codes = [{s: u * mass for s, mass in end.items()} for u, end in zip(weights, ends, strict=True)]
    cost = entropies(problem, ends)
    at = max(range(problem.size), key=lambda s: abs(n[s]))
    slope = Fraction(float(cost[1] - cost[0])) / ((a + b) * n[at])
    multipliers = tuple(slope if s == at else Fraction(0) for s in range(problem.size))
    bound = VertexBound(multipliers, tuple(ends))
    return Solution(ExactChannel.from_joint(problem, codes), bound, "nullity 1: the two ends of S")


def free_states(problem: Problem) -> list[int]:
    """States whose masses determine every private posterior, the first that do.

    The prior is inside S, so differences of extreme points span Null(P). A state is free if some vector of it begins there,
    that is, if its column of P is a combination of those after it: no pivot when columns are reduced from the last one on.
    """
    matrix, last = incidence(problem), problem.size - 1
    reduced, _, rank = flint.fmpz_mat([list(reversed(matrix.rows[i])) for i in matrix.independent]).rref()
    pivots = {next(last - s for s in range(problem.size) if reduced[i, s] != 0) for i in range(rank)}
    return [s for s in range(problem.size) if s not in pivots]


def exact_optimum(
    problem: Problem,
    form: Form,
    should_stop: Callable[[], bool] | None = None,
    ahead: Callable[[int], None] = lambda points: None,
) -> Solution:
    """The optimum by the shortest exact way that the form allows."""
    if form.nullity == 0:
        return nothing_to_tell(problem, "nullity 0: nothing can be told")
    if form.nullity == 1:
        return two_ends(problem)
    if not form.feasible:
        return nothing_to_tell(problem, "infeasible: Null(P) lies in Null(P_{W|X})")
    return by_enumeration(problem, should_stop, ahead)


def vertex_bound(
    problem: Problem, posteriors: Sequence[Mapping[int, Fraction]], multipliers: tuple[Fraction, ...]
) -> VertexBound:
    """The bound of these multipliers, with the posteriors near which it is attained."""
    pi = np.array([near_float(x) for x in multipliers])
    terms = [[pi[s] * (m.numerator / m.denominator) for s, m in t.items()] for t in posteriors]
    slack = entropies(problem, posteriors) - np.array([sum(some) for some in terms])
    unsure = ROUNDING * np.array([sum(map(abs, some)) for some in terms])  # large terms cancel, and leave their errors
    near = np.flatnonzero(slack - unsure <= (slack + unsure).min() + NEAREST).tolist()
    return VertexBound(multipliers, tuple(posteriors[k] for k in near))
