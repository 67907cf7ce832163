"""What many samples make of a law: output perturbation, full data, the bridge between them, and a fresh sample.

C_1(0) is the limit of I_s(W, Xⁿ). Every value here is a `Disclosure`: a channel that exists, with a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from choral.describe.entropy import divergence_term
from choral.describe.exchangeable import Exchangeable
from choral.describe.joint import Joint
from choral.describe.kinds import needed
from choral.describe.numbers import exact
from choral.describe.reading import Cell
from choral.design.along import solved_along
from choral.design.disclose import disclose
from choral.design.limits import Limits
from choral.design.result import Disclosure
from choral.errors import ProblemError
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.theory.sufficient import sufficient_statistic, type_masses

ROUNDING = 1e-12
"""I(X;W̃) is a float: a budget may exceed it by this much."""


def output_perturbation(
    joint: Joint,
    of: str | Sequence[str] = "W",
    about: str | Sequence[str] = "X1",
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
) -> Disclosure:
    """C_1(0): the curator sees W̃ alone and tells of it, and X stays private. It is the limit of I_s(W, Xⁿ).

    >>> from choral.describe.joint import Joint
    >>> third, tenth = Fraction(1, 3), Fraction(1, 10)
    >>> J = Joint.observed([third] * 3, [[[1 - p, p] for p in (tenth, Fraction(1, 2), 1 - tenth)]])
    >>> d = output_perturbation(J)
    >>> abs(d.information - (math.log2(3) - 2 / 3)) < 1e-12
    True
    """
    s = sufficient_statistic(joint, of, about)
    return disclose(s.joint, s.name, [s.about], [s.name], tol=tol, time_limit=time_limit)


def full_data(
    joint: Joint,
    of: str | Sequence[str] = "W",
    about: str | Sequence[str] = "X1",
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
) -> Disclosure:
    """C_2(0): the curator sees W̃ and X, tells of W̃, and X stays private.

    >>> from choral.describe.examples import noisy_copies
    >>> round(full_data(noisy_copies(1)).information, 7)
    0.1924943
    """
    s = sufficient_statistic(joint, of, about)
    return disclose(s.joint, s.name, [s.about], [s.name, *s.about], tol=tol, time_limit=time_limit)


def bridge(
    joint: Joint,
    of: str | Sequence[str] = "W",
    about: str | Sequence[str] = "X1",
    n: int = 2,
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
) -> Disclosure:
    """J(W, Xⁿ) of (jdef): the curator sees W̃ and n samples, tells of W̃, and every sample stays private.

    J(W, X¹) = C_2(0), and J falls with n towards C_1(0): average a channel for n + 1 samples over the last one,
    given W̃ and the others; p(w̃, y) and p(x_i, y) stay, so it is a channel for n. One that looks at W̃ alone and is
    private for X serves every n.

    *The state is (W̃, type of Xⁿ).* The law of (W̃, Xⁿ) and the family of constraints do not change when the samples are
    permuted. Average a private channel p(y | w̃, xⁿ) over the permutations of xⁿ: p(w̃, y) stays, since W̃ is not
    permuted; and p(x_i, y) becomes an average of products p(x) p(y), so Y stays independent of every sample. The averaged
    channel depends on xⁿ through its type. Given the type any one sample is a draw from it, P(x | type) = count_x / n.

    >>> from choral.describe.examples import noisy_copies
    >>> [round(bridge(noisy_copies(1), n=n).information, 4) for n in (1, 2, 3)]
    [0.1925, 0.1622, 0.1463]
    """
    s = sufficient_statistic(joint, of, about)
    masses = type_masses(s.prior, s.channel, n)
    types = tuple(masses)
    cells: dict[Cell, int] = {}
    for t, counts in enumerate(types):
        for w, weight in enumerate(masses[counts]):
            for x, count in enumerate(counts):
                if weight and count:
                    cells[w, t, x] = weight * count
    sample = " ".join(s.about)
    names = [s.name, _free("type", (s.name, sample)), sample]
    law = Joint(names, [s.classes, types, s.outputs], cells)
    return disclose(law, s.name, [(sample,)], names[:2], tol=tol, time_limit=time_limit)


@dataclass(frozen=True)
class TradeoffPoint:
    """At one budget: what can be told of W̃ (a certified interval, in bits), and what the channel tells of X."""

    leakage: float
    information: float
    upper_bound: float
    achieved_leakage: float
    disclosure: Disclosure


def tradeoff(
    joint: Joint,
    of: str | Sequence[str] = "W",
    about: str | Sequence[str] = "X1",
    leakage: Iterable[Any] = (0.0,),
    model: str = "output",
    *,
    tol: float = 1e-6,
    time_limit: float | None = None,
    progress: Callable[[TradeoffPoint], None] | None = None,
) -> list[TradeoffPoint]:
    """C_1(α) (model="output": the curator sees W̃) or C_2(α) (model="full": W̃ and X) at each leakage α, in bits.

    max I(W̃;Y) subject to I(X;Y) ≤ α, for 0 ≤ α ≤ I(X;W̃): beyond, Y = W̃ is allowed. Both curves are concave: a mixture
    of two channels, with the choice published, tells and leaks the mean. A time limit is for each point.

    >>> from choral.describe.examples import noisy_copies
    >>> [round(point.information, 3) for point in tradeoff(noisy_copies(1), leakage=[0, 0.1, 0.3])]
    [0.0, 0.204, 0.581]
    """
    if model not in ("output", "full"):
        raise ProblemError(f"model={model!r}.", 'Choose "output" (C_1) or "full" (C_2).')
    if isinstance(leakage, str) or not isinstance(leakage, Iterable):
        raise ProblemError(f"leakage is {leakage!r}.", "Give a list of budgets in bits.")
    s = sufficient_statistic(joint, of, about)
    most = s.joint.mutual_information([s.name], list(s.about))
    budgets = list(leakage)
    for alpha in budgets:
        if not 0 <= exact(alpha, "leakage") <= most + ROUNDING:
            raise ProblemError(
                f"A leakage of {alpha} bits.", f"Give 0 to I(X;W̃) = {most:.9f}: beyond it all may be told."
            )
    use = [s.name] if model == "output" else [s.name, *s.about]
    group = "+".join(s.about)
    questions = [Question(s.name, [s.about], use, leakage={group: alpha}) for alpha in budgets]
    problems = [problem_of(s.joint, question) for question in questions]
    points = []
    for alpha, d in zip(budgets, solved_along(s.joint, problems, Limits(tol, time_limit=time_limit)), strict=True):
        leaked = d.leakage[d.problem.groups[0].name]
        points.append(TradeoffPoint(float(exact(alpha, "leakage")), d.information, d.upper_bound, leaked, d))
        if progress is not None:
            progress(points[-1])
    return points


@dataclass(frozen=True)
class FreshPoint:
    """At one n: what the best private channel tells of W, and what it tells of a sample that it never saw (bits)."""

    n: int
    information: float
    theta: float


def fresh_sample_curve(
    prior: Sequence[Any], channel: Sequence[Sequence[Any]], ns: Iterable[int], *, tol: float = 1e-6
) -> list[FreshPoint]:
    """θ_n = I(X;Y) for a fresh sample X, along the channels that attain I_s(W, Xⁿ); it tends to 0 (indconverge).

    It may rise first: few samples leave much to tell, of W and so of a fresh sample. Where several channels attain I_s,
    θ_n is that of the one found.

    >>> from choral.describe.channels import bsc
    >>> third = Fraction(1, 3)
    >>> for point in fresh_sample_curve([1 - third, third], bsc(Fraction(1, 10)), [2, 5, 20, 80]):
    ...     print(point.n, f"{point.theta:.3f}")
    2 0.005
    5 0.031
    20 0.013
    80 0.003
    """
    points = []
    for n in ns:
        d = disclose(Exchangeable(prior, channel, n), tol=tol)
        points.append(FreshPoint(n, d.information, fresh_leakage(d)))
    return points


def fresh_leakage(disclosure: Disclosure) -> float:
    """I(X;Y) in bits for a sample X that the channel did not see: X - W - Xⁿ - Y.

    p(x, y) is exact, from the exact channel. With δ = p(x,y) / (p(x) p(y)) - 1, whose mean under p(x) p(y) is 0,
    I(X;Y) = Σ p(x) p(y) [(1+δ) log(1+δ) - δ], a sum of terms ≥ 0: nothing cancels, so small values are precise.
    """
    law = needed(Exchangeable, disclosure.law, "A fresh sample of a {} is not defined.", "Give an Exchangeable law.")
    outputs = range(len(law.values))
    marginal = [sum((p * row[x] for p, row in zip(law.prior, law.channel, strict=True)), Fraction(0)) for x in outputs]
    terms = []
    for mass, posterior in zip(disclosure.p_y, disclosure.p_w_given_y, strict=True):
        for x in outputs:
            if marginal[x]:
                given = sum((p * row[x] for p, row in zip(posterior, law.channel, strict=True)), Fraction(0))
                terms.append(float(mass * marginal[x]) * divergence_term(float(given / marginal[x] - 1)))
    return math.fsum(terms) / math.log(2)


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "'"
    return name
