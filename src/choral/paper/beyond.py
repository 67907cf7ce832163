"""The pictures that the paper could not draw: capacity to n = 1000, three values, every scheme to n = 10⁴, trade-offs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.channels import bsc
from choral.describe.joint import Joint
from choral.paper.many_samples import BERNOULLI, ON_A_LINE, THIRDS
from choral.paper.record import Effort, Found, Picture, Section, Table, formula, holds
from choral.paper.self_disclosure import SOURCE, Q, entropy
from choral.schemes import DeclaredLaw, blocks, coalition, modular, rotation, uniformise
from choral.schemes.coalitions import next_prime
from choral.schemes.masked import MaskedScheme
from choral.schemes.subsets import random_subsets_at_most, random_subsets_mean
from choral.show.plots import capacity_plot, lines_plot, tradeoff_plot
from choral.show.plots.curves import Series
from choral.theory.capacity import CurvePoint, capacity_curve
from choral.theory.many_samples import TradeoffPoint, full_data, output_perturbation, tradeoff

F = Fraction
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 200, 300, 500, 1000)
"""Numbers of samples on the curves: all while the curve bends, then about evenly on a logarithmic axis."""
SCHEME_SIZES = (4, 5, 6, 8, 10, 14, 20, 30, 50, 70, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)
"""The same for schemes, which go further."""
EXACT_UP_TO = 50
"""Samples up to which the information of a masked scheme is computed exactly; beyond it is bracketed (`told`)."""
GROUPS_TRIED, CHOICES, TRIED_UP_TO = 50, 100, 20
"""Random groups of columns in one code, codes whose mean is taken, and samples up to which it is."""


def capacity(effort: Effort) -> Found:
    """Table 1 to n = 1000, with its limit C_1(0)."""
    return _curve(
        effort,
        "capacity",
        BERNOULLI,
        bsc(F(1, 10)),
        "W ~ (2/3, 1/3) through a BSC(0.1), the law of Table 1",
        0.0,
        "A binary W is determined by the law of X, which may not move: C_1(0) = 0.",
        most=1000,
    )


def three_values(effort: Effort) -> Found:
    """Three values of W on a line: the limit is log 3 - 2/3."""
    return _curve(
        effort,
        "three-values",
        THIRDS,
        ON_A_LINE,
        "W uniform on three values with P(X = 1 | w) = .1, .5, .9",
        math.log2(3) - 2 / 3,
        "The middle row is the mean of the outer two, so a code may trade them: the limit is log₂3 - 2/3.",
        most=500,  # twice as many take four times as long, and the curve is flat there
    )


def _curve(
    effort: Effort, name: str, prior: Sequence[Any], channel: Any, what: str, expected: float, text: str, most: int
) -> Found:
    ns = [n for n in SIZES if n <= min(most, effort.most_samples)]

    def tell(point: CurvePoint) -> None:
        effort.tell(f"n = {point.n}")

    points = capacity_curve(prior, channel, ns, progress=tell)
    limit = output_perturbation(Joint.observed(prior, [channel]))
    far = [abs(point.information - limit.information) for point in points]
    tail = [value for point, value in zip(points, far, strict=True) if point.n >= 100]
    claims = [
        formula(f"C_1(0), {what}", "closed form", expected, limit.information, unit=" bits", tolerance=1e-6),
        holds(
            f"I_s tends to C_1(0), to n = {points[-1].n}",
            "th5",
            far[-1] < max(far) / 2,
            f"{points[-1].information:.6f} bits, {far[-1]:.2g} from the limit; {max(far):.2g} at the farthest",
        ),
        holds(
            "every point passed the stand-alone verifier",
            "ours",
            all(p.verified for p in points),
            f"{len(points)} points",
        ),
    ]
    if len(tail) > 1:
        claims.append(
            holds(
                "from n = 100 on it comes nearer at every step",
                "th5",
                tail == sorted(tail, reverse=True),
                f"{len(tail)} points",
            )
        )
    rows = tuple((p.n, p.information, p.upper_bound, p.codes) for p in points)
    return Found(
        (f"{what}. {text}",),
        tuple(claims),
        (Table(name, ("n", "information", "upper_bound", "codes"), rows),),
        (Picture(name, capacity_plot(points, what, limit.information), "The paper's algorithm stops near n = 5."),),
    )


def schemes(effort: Effort) -> Found:
    """The efficiency of every scheme against n, for Bernoulli(.3)."""
    law = DeclaredLaw.bernoulli(Q, SOURCE)
    ns = [n for n in SCHEME_SIZES if n <= effort.many_samples]
    series: list[Series] = []
    rows: list[tuple[Any, ...]] = []
    groups = f"{GROUPS_TRIED} random groups of columns"

    def add(name: str, values: Sequence[tuple[int, float, float, str]]) -> None:
        effort.tell(name)
        rows.extend(
            (name, n, low, high, low / (n * entropy(Q)), high / (n * entropy(Q)), how) for n, low, high, how in values
        )
        series.append(
            Series(
                name,
                tuple(float(n) for n, *_ in values),
                tuple(low / (n * entropy(Q)) for n, low, *_ in values),
                tuple(high / (n * entropy(Q)) for n, _, high, _ in values) if name != groups else None,
            )
        )

    for b in (10, 3):
        scheme = rotation(law, b)
        add(f"rotation, b = {b}", told(scheme, ns))
    add("modular windows, b = 10, k = 2", told(modular(law, 10, 2), ns))
    add(
        "coalition of two, b prime > n",
        [
            (n, *coalition(law, next_prime(max(n + 1, 11)), 2).bracket(n), "bracket")
            for n in ns
            if n >= 100 or n == ns[-1]
        ],
    )
    for k in (4, 3, 2):
        parts = blocks(law, k)
        add(f"blocks of {k}", [(n, parts.information(n), parts.information(n), "exact") for n in ns if n >= k])
    add("uniformise, then add", told(uniformise(law), ns))
    both = DeclaredLaw(
        {(a, b): math.prod(Q if x else 1 - Q for x in (a, b)) for a in (0, 1) for b in (0, 1)}, f"pairs: {SOURCE}"
    )
    pairs = rotation(both, 100)
    add(
        "pairs as one sample, rotated, b = 100",
        [(n, pairs.information(n // 2), pairs.information(n // 2), "exact") for n in ns if n % 2 == 0],
    )
    add(groups, [_groups_tell(law, n) for n in ns])
    last = {line.name: (line.y[-1], line.upper[-1] if line.upper else line.y[-1]) for line in series}
    best = max(last, key=lambda name: last[name][0])
    below = [high for name, (_, high) in last.items() if name.startswith(("blocks", "uniformise"))]
    claims = (
        holds(
            f"rotation with b = 10 tells most at n = {ns[-1]}",
            "ours",
            best == "rotation, b = 10",
            f"efficiency at least {last[best][0]:.5f}; it tends to 1 since X is a function of its cell",
        ),
        holds(
            "the paper's two schemes, corrected, stay below 1",
            "sec:heu",
            max(below) < 0.7,
            ", ".join(
                f"{name} {high:.3f}" for name, (_, high) in last.items() if name.startswith(("blocks", "uniformise"))
            ),
        ),
        holds(
            "a bounded number of random groups of columns tells nothing in the limit",
            "sec:heu",
            rows[-1][0] == groups and rows[-1][3] < 1e-6,
            f"with {GROUPS_TRIED} groups, at most {max(rows[-1][3], 1e-300):.2g} bits of {ns[-1]} samples, for any choice",
        ),
    )
    picture = lines_plot(
        series,
        f"Rotation tells all but {100 * (1 - last[best][0]):.2f} % of {ns[-1]} samples; blocks and sums stay below "
        f"{100 * max(below):.0f} %",
        [
            "Bernoulli(.3); all are independent of each sample (windows, pairs: of two neighbours; coalition: of any two)",
            f"exact to n = {EXACT_UP_TO}, between proved bounds beyond (bands, mostly thinner than the line)",
            f"random groups: a mean over choices to n = {TRIED_UP_TO}, then drawn at 0: proved to tell next to nothing",
        ],
        x_title="samples n (logarithmic)",
        y_title="efficiency I(Xⁿ;Y)/H(Xⁿ)",
        log_x=True,
        y_domain=(0.0, 1.05),
    )
    header = ("scheme", "n", "information", "upper_bound", "efficiency", "efficiency_at_most", "how")
    return Found(
        (
            "The information of a rotation is Σ I(X_i;S_i) - log b + H(T|X,Y), with a hidden shift T. More samples only "
            "narrow T, so H(T|X,Y) at a smaller n is an upper bound for every larger one: beyond n = "
            f"{EXACT_UP_TO} the values are bracketed that way.",
            "Groups of samples that are independent of other groups are processed jointly by taking each group as one "
            "sample, whose values are tuples; any scheme then protects the whole group. Pairs of these samples, rotated, fit "
            "a circle of 100 cells, and their information has a closed form.",
            f"Random groups of columns: the mean of what {GROUPS_TRIED} groups tell, over {CHOICES} random choices of them, "
            f"with its standard error, up to n = {TRIED_UP_TO}; the upper bound holds for every choice. A code from a group "
            "of n + 1 columns has a probability of at most (n + 1)·0.7ⁿ, so together they tell nothing in the limit.",
            "The scheme for two continuous samples (th6) is not in the picture: it has two samples, not n, and H(X₁,X₂) is "
            "infinite, so that an efficiency has no meaning. It tells log₂ K bits with K bins, without a limit.",
        ),
        claims,
        (Table("schemes", header, tuple(rows)),),
        (Picture("schemes", picture, "Efficiency of all schemes."),),
    )


def _groups_tell(law: DeclaredLaw, n: int) -> tuple[int, float, float, str]:
    """(n, mean or 0, at most, how) for random groups of columns."""
    most = min(n * law.marginal(0).entropy(), random_subsets_at_most(law, n, GROUPS_TRIED))
    if n > TRIED_UP_TO:
        return n, 0.0, most, "bracket"
    mean = random_subsets_mean(law, n, GROUPS_TRIED, CHOICES, seed=1)
    how = f"mean of {CHOICES} choices, standard error {mean.standard_error:.2g}" if mean.value else "nothing was found"
    return n, mean.value, most, f"{how}; the bound is for every choice"


def tradeoffs(effort: Effort) -> Found:
    """C_1(α) and C_2(α) for the law of Table 1 and for three values, as certified intervals."""
    claims = []
    tables, pictures = [], []
    laws = {
        "table-1": (BERNOULLI, bsc(F(1, 10)), "W ~ (2/3, 1/3), X through a BSC(0.1)"),
        "three-values": (THIRDS, ON_A_LINE, "three values of W, P(X = 1 | w) = .1, .5, .9"),
    }
    for short, (prior, channel, what) in laws.items():
        law = Joint.observed(prior, [channel])
        most = law.mutual_information("W", "X1")
        budgets = [most * i / (effort.leakages - 1) for i in range(effort.leakages)]

        def tell(point: TradeoffPoint, what: str = what) -> None:
            effort.tell(f"{what}: α = {point.leakage:.3f}")

        curves = {
            "C₁(α)": tradeoff(law, leakage=budgets, model="output", tol=1e-5, progress=tell),
            "C₂(α)": tradeoff(law, leakage=budgets, model="full", tol=1e-5, progress=tell),
        }
        entropy_of_w = law.entropy("W")
        for name, points in curves.items():
            zero = (output_perturbation if name == "C₁(α)" else full_data)(law).information
            claims.append(
                formula(
                    f"{name} at α = 0, {what}", "(C1), (C2)", zero, points[0].information, unit=" bits", tolerance=1e-5
                )
            )
            claims.append(
                formula(
                    f"{name} at α = I(X;W̃), {what}: H(W̃)",
                    "(C1), (C2)",
                    entropy_of_w,
                    points[-1].information,
                    unit=" bits",
                    tolerance=1e-4,
                )
            )
            claims.append(
                holds(
                    f"{name} is concave, {what}",
                    "lem1",
                    _concave(points),
                    f"no chord is above the curve, within the certified intervals, at {len(points)} points",
                )
            )
            claims.append(
                holds(
                    f"no channel leaks more than α, {what}, {name}",
                    "ours",
                    all(p.achieved_leakage <= p.leakage + 1e-12 for p in points),
                    "recomputed from the channels",
                )
            )
        rows = tuple(
            (name, p.leakage, p.information, p.upper_bound, p.achieved_leakage)
            for name, points in curves.items()
            for p in points
        )
        header = ("curve", "alpha", "information", "upper_bound", "achieved_leakage")
        tables.append(Table(f"tradeoff-{short}", header, rows))
        pictures.append(
            Picture(f"tradeoff-{short}", tradeoff_plot(curves, what), "The paper defines the curves and draws none.")
        )
    return Found(
        (
            "C_1(α) and C_2(α) allow a leakage I(X;Y) ≤ α. Others search for such channels locally; here every point is a "
            "certified interval (docs/mathematics.md).",
        ),
        tuple(claims),
        tuple(tables),
        tuple(pictures),
    )


def _concave(points: Sequence[TradeoffPoint]) -> bool:
    """Whether each middle point's upper bound is at least what its neighbours achieve on average."""
    for left, middle, right in zip(points, points[1:], points[2:], strict=False):
        share = (middle.leakage - left.leakage) / (right.leakage - left.leakage)
        if middle.upper_bound < (1 - share) * left.information + share * right.information:
            return False
    return True


def told(scheme: MaskedScheme, ns: Sequence[int]) -> list[tuple[int, float, float, str]]:
    """(n, at least, at most, how): exact up to EXACT_UP_TO samples, then a bracket.

    *The bracket.* I = Σ I(X_i;S_i) - k·log b + H(T|Xⁿ,Yⁿ) (`schemes/masked.py`). The code of n samples is the beginning of
    the code of more, so H(T|Xⁿ,Yⁿ) does not grow with n, and its value at EXACT_UP_TO bounds it beyond.
    """
    found = []
    exact = [n for n in ns if n <= EXACT_UP_TO]
    left = 0.0
    for n in exact:
        bits = scheme.information(n)
        left = bits - _base(scheme, n)
        found.append((n, bits, bits, "exact"))
    for n in ns[len(exact) :]:
        base = _base(scheme, n)
        found.append((n, base, base + max(0.0, left), "bracket"))
    return found


def _base(scheme: MaskedScheme, n: int) -> float:
    """Σ I(X_i;S_i) - k·log b, which may be negative for few samples."""
    return n * scheme.of_one() - len(scheme.directions(1)[0]) * math.log2(scheme.b)


SECTIONS = (
    Section("capacity", "Beyond: Table 1 to n = 1000", ("th5",), capacity),
    Section("three-values", "Beyond: three values of W", ("th5",), three_values),
    Section("tradeoff", "Beyond: the trade-off curves", ("definition of C_1 and C_2", "lem1"), tradeoffs),
    Section("schemes", "Beyond: every scheme to n = 10 000", ("sec:heu", "th2"), schemes),
)
