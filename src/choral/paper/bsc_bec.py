"""Example Ex1 with its figure and both algorithms: a fair bit seen through a BSC(2/3) and a BEC(1/2)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from choral.describe import examples
from choral.describe.channels import bec, bsc
from choral.design.disclose import disclose
from choral.design.outlook import bounds, extreme_points, hypergraph
from choral.paper.record import Effort, Found, Picture, Section, Table, exactly, holds, printed
from choral.problem.pose import pose
from choral.show.plots import channel_plot, diagram_plot, ladder_plot, posterior_plot
from choral.show.plots.diagram import Link, Stage
from choral.solvers import reference

F = Fraction
PRIOR = [F(n, 12) for n in (1, 3, 2, 2, 3, 1)]
"""p(x1, x2) of the example, as printed."""
POSTERIOR = [[F(1), F(2, 3), F(0), F(1), F(1, 3), F(0)], [F(0), F(1, 3), F(1), F(0), F(2, 3), F(1)]]
"""p(w | x1, x2), as printed."""
P = [[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]]
"""The incidence matrix, as printed."""
A = [
    [4082, 4082, 4082, 4082, 4082, 4082],
    [4082, 4082, 4082, -4082, -4082, -4082],
    [-4677, 5270, -593, -4677, 5270, -593],
    [-3385, -2385, 5743, -3385, -2358, 5743],
]
"""A basis of its row space, as printed, in ten-thousandths."""
POINTS = [
    [F(1, 4), F(0), F(1, 4), F(0), F(1, 2), F(0)],
    [F(0), F(1, 2), F(0), F(1, 4), F(0), F(1, 4)],
    [F(1, 4), F(1, 4), F(0), F(0), F(1, 4), F(1, 4)],
    [F(0), F(1, 4), F(1, 4), F(1, 4), F(1, 4), F(0)],
]
"""The extreme points, as printed."""
WEIGHTS = [F(1, 3), F(1, 3), F(0), F(1, 3)]
"""p(y) of the optimal channel, as printed."""
CHANNEL = [
    [F(1), F(0), F(1, 2), F(0), F(2, 3), F(0)],
    [F(0), F(2, 3), F(0), F(1, 2), F(0), F(1)],
    [F(0), F(1, 3), F(1, 2), F(1, 2), F(1, 3), F(0)],
]
"""As printed in Ex1; the states are (0,0), (0,e), (0,1), (1,0), (1,e), (1,1)."""


def run(effort: Effort) -> Found:
    """Every number of the example, and the algorithms as they are written."""
    law = examples.bsc_and_bec()
    effort.tell("Algorithms 1 and 2")
    found = disclose(law, tol=1e-9)
    found.verify()
    problem = pose(law)
    points = extreme_points(law)
    literal, codes = reference.find_optimal_mapping(problem)
    posterior = [[law.given(X1=a, X2=b).probability(W=w) for a, b in found.states] for w in (0, 1)]
    exchanged = [[row[j] for j in (0, 4, 2, 3, 1, 5)] for row in POSTERIOR]
    rows = _off_row_space()
    weights = [_weight(point, found.p_x_given_y, found.p_y) for point in POINTS]
    residual = found.problem.entropy_of_target - found.information
    example = "Ex1"
    claims = (
        exactly("p of (X₁, X₂)", example, PRIOR, [problem.prior_of(s) for s in range(6)]),
        exactly(
            "P(W | X₁, X₂)",
            example,
            POSTERIOR,
            posterior,
            "columns 2 and 5 are exchanged in print" if exchanged == posterior else "",
        ),
        exactly("the matrix P", example, P, [list(row) for row in hypergraph(law).incidence]),
        *(
            holds(
                f"row {i} of A is in the row space of P, as rounded",
                example,
                off <= 1.3e-4,
                f"it is {off:.1e} away from it",
                "entry 2 is printed as -2385; with -2358, as in column 5, it fits"
                if i == 4 and _fixed() <= 1.3e-4
                else "",
            )
            for i, off in enumerate(rows, start=1)
        ),
        exactly("ways to choose 4 of 6 columns", example, 15, math.comb(problem.size, bounds(law).rank)),
        exactly("the extreme points of S", example, sorted(POINTS), sorted(list(point) for point in points)),
        printed("least H(W|Y)", example, "0.9866", residual, unit=" bits"),
        exactly("u*, the weights of the points", example, WEIGHTS, weights),
        printed("I_s", example, "0.0134", found.information, unit=" bits"),
        exactly("the optimal channel", example, sorted(CHANNEL), sorted(list(row) for row in found.exact)),
        printed("I_s by Algorithms 1 and 2, literally", "Algorithms 1 and 2", "0.0134", literal, unit=" bits"),
        exactly("codes by Algorithms 1 and 2", "Algorithms 1 and 2", found.codes, len(codes)),
    )
    states = [f"{a},{b}" for a, b in found.states]
    return Found(
        (
            "The paper's worked example. The figure (F1) is a drawing of the two channels; its only numbers are the "
            "parameters α = 2/3 and e = 1/2. Algorithms 1 and 2 are kept as they are written (choral.solvers.reference, "
            "in fractions) and give the same as the solver that choral uses.",
        ),
        claims,
        (
            Table("ex1-channel", ("code", *states), tuple((y, *row) for y, row in enumerate(found.exact))),
            Table("ex1-extreme-points", ("point", *states), tuple((k, *row) for k, row in enumerate(points, start=1))),
        ),
        (
            Picture("f1-channels", _figure(), "The paper's figure F1."),
            Picture(
                "ex1-channel",
                channel_plot(found),
                "The optimal channel, as printed in the paper (codes in another order).",
            ),
            Picture("ex1-posteriors", posterior_plot(found), "What the analyst learns about W."),
            Picture("ex1-ladder", ladder_plot(found), "Little can be told: the samples are noisy."),
        ),
    )


def _weight(point: list[Fraction], posteriors: tuple[tuple[Fraction, ...], ...], p_y: tuple[Fraction, ...]) -> Fraction:
    """How much weight the optimal channel gives to a printed extreme point."""
    return sum((mass for row, mass in zip(posteriors, p_y, strict=True) if list(row) == point), Fraction(0))


def _off_row_space() -> list[float]:
    """How far each printed row of A is from the row space of P. (Six roundings of at most 5e-5 each: at most 1.3e-4.)"""
    return [_distance([entry / 1e4 for entry in row]) for row in A]


def _fixed() -> float:
    return _distance([entry / 1e4 for entry in [*A[3][:1], A[3][4], *A[3][2:]]])


def _distance(row: list[float]) -> float:
    basis = np.linalg.svd(np.array(P, dtype=float))[2][:4]
    vector = np.array(row)
    return float(np.linalg.norm(vector - basis.T @ (basis @ vector)))


def _figure() -> object:
    left, right = bsc(F(2, 3)), bec(F(1, 2))
    links = [Link(0, x, w, left[w][x], from_right=True) for w in (0, 1) for x in (0, 1)]
    outputs = (0, "e", 1)
    links += [Link(1, w, outputs[x], right[w][x]) for w in (0, 1) for x in range(3) if right[w][x]]
    return diagram_plot(
        [Stage("X₁", (0, 1)), Stage("W", (0, 1)), Stage("X₂", outputs)],
        links,
        "W is seen through a BSC(2/3) as X₁ and through a BEC(1/2) as X₂",
        ["labels are p(x | w), near the w that they start from"],
    )


SECTION = Section(
    "bsc-bec", "A fair bit through two channels", ("example Ex1", "figure F1", "Algorithm 1", "Algorithm 2"), run
)
