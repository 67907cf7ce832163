"""Binary exchangeable samples, and every other problem of rank 2: an optimal transport problem (docs/mathematics.md).

*Claim.* If P has rank 2, states lie on a line: there is x_s with P t = P p exactly when Σ t_s = 1 and Σ t_s x_s = μ, the
mean of x. An extreme point of S puts mass on one state a with x_a < μ and one b with x_b > μ, with t_a = (x_b-μ)/(x_b-x_a),
or sits on a state with x_s = μ. *So* a channel is a set of masses u_ab, and with the flow f_ab = u_ab t_a (μ - x_a)
= u_ab t_b (x_b - μ) the condition that the codes sum to the prior reads Σ_b f_ab = p_a (μ - x_a), Σ_a f_ab = p_b (x_b - μ):
a transport plan, with cost H(W at ab) / (t_a (μ - x_a)) per unit of flow. Its multipliers (φ, ψ) give
π_a = φ_a (μ - x_a), π_b = ψ_b (x_b - μ) for the bound of `VertexBound`. ∎

A network simplex method finds the plan in floats. It is then made exact: flows are taken in order of size, each cut to
what is left of its two states, exactly. What is left in the end is little flow, of the order of rounding errors, but may be
much mass of a state near the mean: it is paired as it comes where that is so; otherwise it is private as the prior and all
codes are, and joins the largest code.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from choral.describe.entropy import entropies, minus_x_log_x
from choral.errors import SolverError
from choral.problem.form import incidence
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import ExactChannel, Solution
from choral.proofs.extreme_points import VertexBound
from choral.solvers.network_simplex import network_simplex

TIGHTEST = 4096
"""How many of the pairs with the least slack are kept to state the bound."""
STEPS_PER_PAIR = 40
"""The network simplex method may take this many steps per pair of states before it gives up."""
NEGLIGIBLE = Fraction(1, 10**12)
"""Probability of a code that is not worth having: it joins the largest one, at a cost far below a tolerance."""


def by_transport(problem: Problem) -> Solution:
    """The optimum of a problem of rank 2 to within floating-point error, exact in its privacy, with multipliers."""
    x = coordinates(problem)
    mean = sum((problem.prior_of(s) * x[s] for s in range(problem.size)), Fraction(0))
    below = [s for s in range(problem.size) if x[s] < mean]
    above = [s for s in range(problem.size) if x[s] > mean]
    at = [s for s in range(problem.size) if x[s] == mean]
    left = {s: problem.prior_of(s) * (mean - x[s]) for s in below}
    right = {s: problem.prior_of(s) * (x[s] - mean) for s in above}
    cost = _costs(problem, x, mean, below, above)
    plan, phi, psi = _plan(list(left.values()), list(right.values()), cost)
    codes = _exact_codes(plan, left, right, [{s: problem.prior_of(s)} for s in at], x, mean)
    multipliers = [Fraction(0)] * problem.size
    for s, value in zip([*below, *above], [*phi.tolist(), *psi.tolist()], strict=True):
        multipliers[s] = Fraction(value) * abs(x[s] - mean)
    for s in at:
        multipliers[s] = Fraction(float(entropies(problem.posterior()[:, [s]], axis=0)[0]))
    tight = _tightest(cost - phi[:, None] - psi[None, :], x, mean, below, above) + [{s: Fraction(1)} for s in at]
    return Solution(ExactChannel.from_joint(problem, codes), VertexBound(tuple(multipliers), tuple(tight)), "transport")


def coordinates(problem: Problem) -> list[Fraction]:
    """Positions of the states on their line: the row of P that is not constant."""
    matrix = incidence(problem)
    [row] = matrix.independent_of_sum
    return [Fraction(entry, scale) for entry, scale in zip(matrix.rows[row], matrix.scale, strict=True)]


def _costs(problem: Problem, x: list[Fraction], mean: Fraction, below: list[int], above: list[int]) -> Floats:
    """H(W at the pair) per unit of flow, for every pair."""
    posterior = problem.posterior()
    down = np.array([float(mean - x[s]) for s in below])[:, None]
    up = np.array([float(x[s] - mean) for s in above])[None, :]
    share = up / (down + up)  # t_a
    entropy = np.zeros((len(below), len(above)))
    for row in posterior:
        mixed = share * row[below][:, None] + (1 - share) * row[above][None, :]
        entropy += minus_x_log_x(mixed)
    return np.asarray(entropy / (share * down), dtype=np.float64)


def _plan(left: list[Fraction], right: list[Fraction], cost: Floats) -> tuple[Floats, Floats, Floats]:
    """An optimal plan in floats (of total one), and multipliers that no pair violates beyond rounding."""
    total = sum(left, Fraction(0))
    a = np.array([float(mass / total) for mass in left])
    b = np.array([float(mass / total) for mass in right])
    a, b = a / a.sum(), b / b.sum()
    scale = float(np.abs(cost).max()) or 1.0
    plan, log = network_simplex()(a, b, cost / scale, numItermax=STEPS_PER_PAIR * max(cost.size, 1000), log=True)
    if log["result_code"] != 1:
        raise SolverError(f"The network simplex method ended with: {log['warning']}.", "Choose another solver.")
    phi = np.asarray(log["u"]) * scale
    # A node without mass has no reliable multiplier: give everyone the largest that its partners allow.
    known = a > 0
    psi = (cost[known] - phi[known][:, None]).min(axis=0)
    phi = (cost - psi[None, :]).min(axis=1)
    return np.asarray(plan), phi, psi


def _exact_codes(
    plan: Floats,
    left: dict[int, Fraction],
    right: dict[int, Fraction],
    codes: list[dict[int, Fraction]],
    x: list[Fraction],
    mean: Fraction,
) -> list[dict[int, Fraction]]:
    """These codes, one per pair with flow, never more than what is left of either state, and then what is left, as it comes.

    Of that only codes that have much mass are kept apart: the others join the largest, as they are private too.
    """
    below, above, total = list(left), list(right), sum(left.values(), Fraction(0))

    def paired(a: int, b: int, flow: Fraction) -> dict[int, Fraction]:
        left[a] -= flow
        right[b] -= flow
        return {a: flow / (mean - x[a]), b: flow / (x[b] - mean)}

    rows, columns = np.nonzero(plan > 0)
    for k in np.argsort(-plan[rows, columns], kind="stable"):
        a, b = below[rows[k]], above[columns[k]]
        flow = min(Fraction(float(plan[rows[k], columns[k]])) * total, left[a], right[b])
        if flow > 0:
            codes.append(paired(a, b, flow))
    some, others = ([s for s, flow in rest.items() if flow] for rest in (left, right))
    largest = max(codes, key=lambda code: sum(code.values()), default=None)
    while some and others:
        a, b = some[-1], others[-1]
        code = paired(a, b, min(left[a], right[b]))
        if largest is None or sum(code.values()) > NEGLIGIBLE:
            codes.append(code)
            largest = largest or code
        else:
            largest.update({s: largest.get(s, Fraction(0)) + mass for s, mass in code.items()})
        if not left[a]:
            some.pop()
        if not right[b]:
            others.pop()
    return codes


def _tightest(
    slack: Floats, x: list[Fraction], mean: Fraction, below: list[int], above: list[int]
) -> list[dict[int, Fraction]]:
    """The pairs among which the bound is attained: least slack in bits."""
    down = np.array([float(mean - x[s]) for s in below])[:, None]
    up = np.array([float(x[s] - mean) for s in above])[None, :]
    bits = slack * (up / (down + up)) * down
    nearest = np.argsort(bits, axis=None)[:TIGHTEST]
    pairs = []
    for i, j in zip(*np.unravel_index(nearest, bits.shape), strict=True):
        a, b = below[i], above[j]
        share = (x[b] - mean) / (x[b] - x[a])
        pairs.append({a: share, b: 1 - share})
    return pairs
