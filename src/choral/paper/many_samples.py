"""Many samples of one W: the figure with W̃, Table 1, th4, the chain of rem5 and prop5, indconverge, and the corollary."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from choral.describe import examples
from choral.describe.channels import bsc
from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.paper.record import Claim, Effort, Found, Picture, Section, Table, exactly, formula, holds, printed
from choral.show.plots import capacity_plot, diagram_plot, lines_plot
from choral.show.plots.curves import Series
from choral.show.plots.diagram import Link, Stage
from choral.theory import typical
from choral.theory.capacity import capacity_curve
from choral.theory.many_samples import bridge, fresh_sample_curve, full_data, output_perturbation
from choral.theory.sufficient import information_curve, sufficient_statistic

F = Fraction
TABLE_1 = {2: "8.34e-3", 3: "4.88e-2", 4: "4.47e-2"}
"""I_s(W, Xⁿ) by n, as printed."""
BERNOULLI = [F(2, 3), F(1, 3)]
"""The prior of Table 1."""
THIRDS = [F(1, 3)] * 3
"""A uniform prior of three values."""
ON_A_LINE = [[1 - p, p] for p in (F(1, 10), F(1, 2), F(9, 10))]
"""Three binary rows whose middle one is the mean of the others."""
FIGURE_ROWS = [[F(1, 2), F(1, 4), F(1, 4)]] * 2 + [[F(1, 3)] * 3]
"""p(x | w) as labelled in the figure w_tilde; it prints no law of W, so W is taken as uniform."""


def statistic(effort: Effort) -> Found:
    """W̃ of the figure, and I(W;Xⁿ) → C_X(W)."""
    law = Joint.observed(THIRDS, [FIGURE_ROWS])
    found = sufficient_statistic(law)
    where = "figure w_tilde"
    curve = information_curve(THIRDS, FIGURE_ROWS, [n for n in (1, 2, 5, 10, 20, 50, 100) if n <= effort.most_samples])
    effort.tell("I(W;Xⁿ)")
    single = law.mutual_information("W", "X1")
    ordered = single <= found.entropy <= law.entropy("W")
    rising = all(a.information <= b.information <= found.entropy for a, b in pairwise(curve))
    claims = (
        exactly("values of W that are one value of W̃", where, [[0, 1], [2]], [list(group) for group in found.classes]),
        exactly("p(x | w̃)", where, [FIGURE_ROWS[0], FIGURE_ROWS[2]], [list(row) for row in found.channel]),
        holds(
            "I(X;W) ≤ C_X(W) ≤ H(W)",
            "after (pr)",
            ordered,
            f"{single:.6f} ≤ {found.entropy:.6f} ≤ {law.entropy('W'):.6f} bits",
        ),
        holds(
            "I(W;Xⁿ) rises to C_X(W)",
            "th4",
            rising,
            f"{curve[-1].information:.6f} of {found.entropy:.6f} bits at n = {curve[-1].n}",
        ),
        *_typical(),
    )
    rows = tuple((point.n, point.information, point.missing) for point in curve)
    return Found(
        (
            "The figure w_tilde has no numbers but the transitions that label it: two of the three values of W say the "
            "same about X, so they are one value of W̃. Beside it, what the proof of th4 says about typical sets.",
        ),
        claims,
        (Table("th4", ("n", "information", "missing_to_the_limit"), rows),),
        (Picture("w-tilde", _figure(), "The paper's figure w_tilde, its right half."),),
    )


def _typical() -> tuple[Claim, ...]:
    rows = [[F(3, 8), F(1, 8), F(4, 8)], [F(1, 8), F(3, 8), F(4, 8)]]
    epsilon = typical.paper_epsilon(rows)
    both = all(typical.is_typical((3, 3, 10), row, epsilon) for row in rows)
    below = sum(typical.is_typical((3, 3, 10), row, epsilon * F(99, 100)) for row in rows)
    weak = [typical.is_weakly_typical((90, 10), row, 0.01) for row in bsc(F(1, 10))]
    rates = [typical.weak_rate((90, 10), row) for row in bsc(F(1, 10))]
    posterior = (
        F(1, 3) * F(1, 10) ** 9 * F(9, 10) / (F(2, 3) * F(9, 10) ** 9 * F(1, 10) + F(1, 3) * F(1, 10) ** 9 * F(9, 10))
    )
    return (
        holds(
            "the typical sets are disjoint at the ε that is chosen",
            "proof of th4",
            not both,
            f"rows (3,1,4)/8 and (1,3,4)/8: ε = {epsilon}, and the type (3,3,10)/16 is in both",
            f"take ε strictly smaller; at 99/100 of it the type is in {below} of the two",
        ),
        holds(
            "for a BSC the weakly typical sets of both inputs are equal",
            "remark after th4",
            weak[0] == weak[1],
            f"10 % ones: rate {rates[0]:.3f} under w = 0, {rates[1]:.3f} under w = 1; typical of {weak.index(True)} only",
            "the rates differ; a uniform row is where weak typicality fails: every sequence is weakly typical of it",
        ),
        exactly(
            "P(W = 1 | 9 zeros and a one), typical of w = 0",
            "app2",
            F(0),
            posterior,
            "it tends to zero with n; it is not zero",
        ),
    )


def _figure() -> Any:
    found = sufficient_statistic(Joint.observed(THIRDS, [FIGURE_ROWS]))
    names = tuple(",".join(f"w{w + 1}" for w in group) for group in found.classes)
    outputs = ("x1", "x2", "x3")
    links = [
        Link(0, outputs[x], name, p, from_right=True)
        for name, row in zip(names, found.channel, strict=True)
        for x, p in enumerate(row)
    ]
    links += [
        Link(1, name, f"w{w + 1}", F(1), from_right=True)
        for name, group in zip(names, found.classes, strict=True)
        for w in group
    ]
    return diagram_plot(
        [Stage("X", outputs), Stage("W̃", names), Stage("W", ("w1", "w2", "w3"))],
        links,
        "W̃ merges the two values of W that say the same about X",
        ["transitions go from right to left, as in the paper"],
    )


def table_1(effort: Effort) -> Found:
    """Table 1, by the joint law and by types."""
    claims, rows, points = [], [], []
    for n, text in TABLE_1.items():
        effort.tell(f"n = {n}")
        found = disclose(examples.noisy_copies(n), tol=1e-9)
        found.verify()
        claims.append(printed(f"I_s for n = {n}", "Table 1", text, found.information, unit=" bits"))
        rows.append((n, text, found.information, found.upper_bound))
    points = capacity_curve(BERNOULLI, bsc(F(1, 10)), range(2, 13))
    same = all(abs(point.information - row[2]) < 1e-9 for point, row in zip(points, rows, strict=False))
    claims.append(
        holds("the same from types of samples", "Table 1", same, "exchangeable samples reduced to types, exactly")
    )
    values = [point.information for point in points]
    claims.append(
        holds(
            "I_s is not monotonic in n",
            "before Table 1",
            any(a > b for a, b in pairwise(values)) and any(a < b for a, b in pairwise(values)),
            ", ".join(f"{value:.4f}" for value in values[:6]) + " …",
        )
    )
    picture = capacity_plot(points, "W ~ (2/3, 1/3) through a BSC(0.1); the paper's table has n = 2, 3, 4", 0.0)
    table = Table("table-1", ("n", "paper", "information", "upper_bound"), tuple(rows))
    return Found(
        ("Table 1, and on to n = 12; every value is a certified interval that the stand-alone verifier accepted.",),
        tuple(claims),
        (
            table,
            Table(
                "table-1-continued",
                ("n", "information", "upper_bound"),
                tuple((p.n, p.information, p.upper_bound) for p in points),
            ),
        ),
        (Picture("table-1", picture, "The paper's Table 1, continued."),),
    )


def limits(effort: Effort) -> Found:
    """C_1(0) ≤ … ≤ C_2(0) ≤ H(W̃|X) ≤ H(W|X), J between them, and θ_n → 0."""
    claims: list[Claim] = []
    rows: list[tuple[Any, ...]] = []
    laws = {"BSC(0.1), W ~ (2/3, 1/3)": (BERNOULLI, bsc(F(1, 10))), "three values, .1 .5 .9": (THIRDS, ON_A_LINE)}
    series = []
    steps = [n for n in (1, 2, 3, 5, 8, 13, 21, 34, 55) if n <= effort.most_samples]
    for name, (prior, channel) in laws.items():
        effort.tell(name)
        law = Joint.observed(prior, [channel])
        s = sufficient_statistic(law)
        one, two = output_perturbation(law), full_data(law)
        below = max(0.0, s.entropy - math.log2(len(s.outputs)))
        least = [s.joint.entropy(s.name, given="X1"), law.entropy("W", given="X1")]
        achieved = [below, one.information, two.information, *least]
        proved = [below, one.upper_bound, two.upper_bound, *least]
        claims.append(
            holds(
                f"the chain, {name}",
                "prop5",
                all(low <= high + 1e-12 for low, high in zip(achieved[:-1], proved[1:], strict=True)),
                " ≤ ".join(f"{value:.4f}" for value in achieved),
            )
        )
        js = [bridge(law, n=n, tol=1e-7) for n in steps]
        rows += [
            (name, n, j.information, j.upper_bound, one.information, two.information)
            for n, j in zip(steps, js, strict=True)
        ]
        falling = all(a.upper_bound >= b.information for a, b in pairwise(js))
        claims.append(
            formula(
                f"J for n = 1 is C_2(0), {name}",
                "rem5",
                two.information,
                js[0].information,
                unit=" bits",
                tolerance=1e-6,
            )
        )
        claims.append(
            holds(
                f"J falls from C_2(0) towards C_1(0), {name}",
                "rem5",
                falling and js[-1].upper_bound >= one.information,
                f"{js[0].information:.4f} … {js[-1].information:.4f} at n = {steps[-1]}; C_1(0) = {one.information:.4f}",
            )
        )
        series.append(Series(f"J, {name}", tuple(map(float, steps)), tuple(j.information for j in js)))
        series.append(Series(f"C₁(0), {name}", (1.0, float(steps[-1])), (one.information,) * 2))
    claims += _null_space()
    claims.append(_common_part())
    effort.tell("a fresh sample")
    ns = [n for n in (2, 3, 5, 8, 12, 20, 40, 80, 160) if n <= effort.most_samples]
    fresh = fresh_sample_curve(BERNOULLI, bsc(F(1, 10)), ns)
    highest, peak = max((point.theta, point.n) for point in fresh)
    claims.append(
        holds(
            "θ_n = I(X;Y) of a fresh sample tends to 0",
            "indconverge",
            fresh[-1].theta < highest / 2,
            f"at most {highest:.3f}, {fresh[-1].theta:.4f} bits at n = {fresh[-1].n}; it rises before it falls",
        )
    )
    picture = lines_plot(
        series,
        "J falls from C₂(0) to C₁(0) as n grows: looking at more samples that must all stay private helps less and less",
        ["every value is achieved by a channel that exists; the bounds are in the table"],
        x_title="samples n (logarithmic)",
        y_title="bits about W",
        log_x=True,
    )
    theta = lines_plot(
        [Series("θ", tuple(float(p.n) for p in fresh), tuple(p.theta for p in fresh))],
        f"What a code says of a sample that it never saw rises to {highest:.3f} bits at n = {peak}, then falls towards 0",
        ["W ~ (2/3, 1/3), BSC(0.1), along the channels that attain I_s"],
        x_title="samples n (logarithmic)",
        y_title="θₙ = I(X;Y), fresh sample (bits)",
        log_x=True,
    )
    return Found(
        ("C_1(0) is the output-perturbation limit, C_2(0) the full-data value, and J(W, Xⁿ) the bridge between them.",),
        tuple(claims),
        (
            Table("bridge", ("law", "n", "J", "J_upper_bound", "C_1_0", "C_2_0"), tuple(rows)),
            Table("fresh-sample", ("n", "information", "theta"), tuple((p.n, p.information, p.theta) for p in fresh)),
        ),
        (
            Picture("bridge", picture, "The paper states the chain and prints no numbers for it."),
            Picture("fresh-sample", theta, "The paper states the limit and prints no numbers for it."),
        ),
    )


def _null_space() -> list[Claim]:
    """Whether p_{W̃|y}, or its difference from p_W̃, is in the null space of P_{X|W̃}."""
    law = Joint.observed(THIRDS, [ON_A_LINE])
    found = output_perturbation(law)
    images = [[sum(p * row[x] for p, row in zip(w, ON_A_LINE, strict=True)) for x in (0, 1)] for w in found.p_w_given_y]
    marginal = [sum(p * row[x] for p, row in zip(THIRDS, ON_A_LINE, strict=True)) for x in (0, 1)]
    differences = [[a - b for a, b in zip(image, marginal, strict=True)] for image in images]
    inside = all(not any(difference) for difference in differences)
    return [
        exactly(
            "P_{X|W̃} p_{W̃|y} for the first code",
            "proof of prop5",
            [F(0), F(0)],
            images[0],
            "it is the difference p_W̃ - p_{W̃|y} that is mapped to 0, for every code" if inside else "",
        )
    ]


def _common_part() -> Claim:
    """W = (W', V) and X = (X', V): nothing can be told."""
    cells = {((a, v), (b, v)): (1 + a + v) * (2 + b * v) for a in (0, 1) for b in (0, 1) for v in (0, 1)}
    law = Joint.from_counts(cells, names=["W", "X1"])
    values = [full_data(law).information, bridge(law, n=2).information]
    return exactly(
        "I_s ≤ J ≤ C_2(0) when W and X share all they have in common", "corollary of prop5", [0.0, 0.0], values
    )


SECTIONS = (
    Section("statistic", "What samples say of W in the end", ("figure w_tilde", "th4"), statistic),
    Section("table-1", "Table 1", ("Table 1",), table_1),
    Section("limits", "The limits for many samples", ("rem5", "prop5", "corollary of prop5", "indconverge"), limits),
)
