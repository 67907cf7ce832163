"""Beyond the figure of four samples: the optimum of 4, 5 and 6 Bernoulli(q) samples, proved at every q."""

from __future__ import annotations

import math
from fractions import Fraction

from choral.describe import examples
from choral.design.disclose import self_disclose
from choral.paper.record import Effort, Found, Picture, Section, Table, formula, holds
from choral.paper.self_disclosure import entropy
from choral.show.plots import lines_plot
from choral.show.plots.curves import Series
from choral.theory.self_disclosure import SelfPoint, self_disclosure_curve

F = Fraction
MOST = 6
"""Samples for which the optimum is proved in seconds."""


def run(effort: Effort) -> Found:
    """η̂ over q for n = 4, 5, 6, with the bounds of lemma:self-disclosure_bound and cor1."""
    steps = max(5, effort.steps // 2)
    qs = [F(i, 2 * steps) for i in range(1, steps + 1)]
    curves: dict[int, list[SelfPoint]] = {}
    for n in range(4, MOST + 1 if effort.steps > 5 else 6):

        def tell(point: SelfPoint, n: int = n) -> None:
            effort.tell(f"n = {n}, q = {float(point.q):.2f}")

        curves[n] = self_disclosure_curve(n, qs, progress=tell)
    points = [point for curve in curves.values() for point in curve]
    above = [p.efficiency <= 1 - 1 / p.n + 1e-12 for p in points]
    below = [p.upper_bound >= p.n * entropy(p.q) - math.log2(p.n + 1) - 1e-12 for p in points]
    rising = all(
        curves[n + 1][i].upper_bound / (n + 1) >= curves[n][i].information / n
        for n in list(curves)[:-1]
        for i in range(steps)
    )
    here = next(p for p in curves[4] if p.q == F(3, 10))
    claims = (
        formula(
            "Î_s of four samples at q = .3, by listing all extreme points",
            "figure heu_disclosure",
            self_disclose(examples.bernoulli(F(3, 10), 4), solver="enumeration").information,
            here.information,
            unit=" bits",
        ),
        holds(
            "every value is proved to be the optimum",
            "ours",
            all(p.proved for p in points),
            f"{len(points)} values, n to {max(curves)}",
        ),
        holds("η̂ ≤ 1 - 1/n", "lemma:self-disclosure_bound", all(above), f"{len(above)} values"),
        holds("H(Xⁿ) - Î_s ≤ log(n + 1)", "cor1, proof of th2", all(below), f"{len(below)} values"),
        holds("more is told per sample with more samples", "th2", rising, f"n = 4 to {max(curves)}, at every q"),
    )
    last = max(curves)
    third = next(p for p in curves[last] if p.q == F(3, 10))
    series = [
        Series(f"n = {n}", tuple(float(p.q) for p in curve), tuple(p.efficiency for p in curve))
        for n, curve in curves.items()
    ]
    picture = lines_plot(
        series,
        f"With more samples more of each can be told: {100 * here.efficiency:.0f} % of 4, {100 * third.efficiency:.0f} % "
        f"of {last}, at q = .3",
        ["optimal self-disclosure of Bernoulli(q) samples, proved at every q (at the corners other codes take over)"],
        x_title="q = P(X = 1)",
        y_title="efficiency Î_s / H(Xⁿ)",
        y_domain=(0.0, 1.0),
    )
    header = ("n", "q", "information", "upper_bound", "efficiency", "proved")
    rows = tuple((p.n, float(p.q), p.information, p.upper_bound, p.efficiency, p.proved) for p in points)
    return Found(
        (
            "The paper's figure has n = 4. By orbits of extreme points the optimum is proved for five and six samples too.",
        ),
        claims,
        (Table("over-q", header, rows),),
        (Picture("over-q", picture, "The paper's figure heu_disclosure, its optimal curve, continued to n = 6."),),
    )


SECTION = Section("over-q", "Beyond: four, five and six samples", ("figure heu_disclosure", "th2"), run)
