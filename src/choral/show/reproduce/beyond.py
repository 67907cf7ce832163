"""The pictures that the paper could not draw: capacity to n = 1000, three values, every scheme to n = 10⁴, trade-offs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from choral.describe.channels import bsc
from choral.describe.joint import Joint
from choral.front import CurvePoint, capacity_curve
from choral.large_n import TradeoffPoint, full_data, output_perturbation, tradeoff
from choral.schemes import DeclaredLaw, blocks, coalition, modular, rotation, uniformise
from choral.schemes.coalitions import next_prime
from choral.schemes.masked import MaskedScheme
from choral.show.plots import capacity_plot, lines_plot, tradeoff_plot
from choral.show.plots.curves import Series
from choral.show.reproduce.many_samples import BERNOULLI, ON_A_LINE, THIRDS
from choral.show.reproduce.record import Effort, Found, Picture, Section, Table, formula, holds
from choral.show.reproduce.self_disclosure import SOURCE, Q, entropy

F = Fraction
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 100, 200, 300, 500, 1000)
SCHEME_SIZES = (4, 5, 6, 8, 10, 14, 20, 30, 50, 70, 100, 200, 300, 500, 1000, 2000, 3000, 5000, 10_000)
EXACT_UP_TO = 50
"""Samples up to which the information of a masked scheme is computed exactly; beyond it is bracketed (`told`)."""


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
    )


def _curve(
    effort: Effort, name: str, prior: Sequence[Any], channel: Any, what: str, expected: float, text: str
) -> Found:
    ns = [n for n in SIZES if n <= effort.most_samples]

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
                tuple(high / (n * entropy(Q)) for n, _, high, _ in values),
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
    )
    picture = lines_plot(
        series,
        f"Rotation tells all but {1 - last[best][0]:.2%} of {ns[-1]} samples; blocks and sums stay below {max(below):.0%}",
        [
            "Bernoulli(.3); all are exactly independent of each sample (windows: of two neighbours; coalition: of any two)",
            f"exact to n = {EXACT_UP_TO}, between proved bounds beyond (bands, mostly thinner than the line)",
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
        ),
        claims,
        (Table("schemes", header, tuple(rows)),),
        (Picture("schemes", picture, "Efficiency of all schemes."),),
    )


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
