"""Two binary samples: the figure F2, the formulas (px), (sol) and (ma)."""

from __future__ import annotations

from fractions import Fraction

from choral.describe import examples
from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.design.outlook import extreme_points
from choral.paper.record import Claim, Effort, Found, Picture, Section, Table, exactly, formula
from choral.show.plots import segment_plot
from choral.theory.two_binary import two_binary_channel, two_binary_information

F = Fraction
TARGETS = {"W₁ = X₁ ⊕ X₂": (F(0), F(1), F(1), F(0)), "W₂, noisy": (F(1, 10), F(7, 10), F(1, 2), F(1, 5))}
"""P(W = 1 | state) of two targets, to see that one channel is best for both."""
LAWS = (
    (F(2, 5), F(1, 2), F(1, 10)),
    (F(1, 3), F(1, 2), F(1, 6)),
    (F(3, 10), F(9, 10), F(1, 20)),
    (F(1, 2), F(1, 2), F(2, 5)),
)
"""(α, β, r): r in the middle of its range and towards its ends, and α = β."""


def run(effort: Effort) -> Found:
    """The formulas against the general solver, and the figure."""
    claims: list[Claim] = []
    rows = []
    for alpha, beta, r in LAWS:
        where = f"α = {alpha}, β = {beta}, r = {r}"
        effort.tell(where)
        for name, ones in TARGETS.items():
            found = disclose(examples.two_binary(alpha, beta, r, ones), tol=1e-9)
            value = two_binary_information(alpha, beta, r, [[1 - p for p in ones], list(ones)])
            rows.append((alpha, beta, r, name, value, found.information, found.upper_bound))
            claims.append(formula(f"I_s, {where}, {name}", "(sol)", value, found.information, unit=" bits"))
            channel = [list(row) for row in two_binary_channel(alpha, beta, r)]
            claims.append(
                exactly(
                    f"the channel, {where}, {name}", "(ma)", sorted(channel), sorted(list(row) for row in found.exact)
                )
            )
    alpha, beta, r = LAWS[0]
    R = min(alpha, 1 - beta)
    vector, move = (alpha - r, r, beta - alpha + r, 1 - beta - r), (1, -1, -1, 1)
    ends = sorted([p + t * n for p, n in zip(vector, move, strict=True)] for t in (r - R, r))
    law = examples.two_binary(alpha, beta, r)
    claims.append(exactly("a₁ and a₂", "F2", ends, sorted(list(point) for point in extreme_points(law))))
    said = "in the vector (px) it is P(X = 0) that is α, and β; β ≥ α is needed too"
    claims.append(exactly("P(X₁ = 1) when α = 2/5", "after (px)", alpha, law.probability(X1=1), said))
    claims.append(_independence())
    return Found(
        (
            "For two binary samples S is a segment. Its ends are the two codes, for every target; how much they tell "
            "depends on the target. The picture is the paper's figure F2 with numbers: the curve is H(W) along the "
            "segment, and I_s is how far it is above its chord at p. (The caption of F2 says p_{W₁|X} ≠ p_{W₁|X}; the "
            "second is meant to be W₂.)",
        ),
        tuple(claims),
        (
            Table(
                "two-binary", ("alpha", "beta", "r", "target", "formula_sol", "information", "upper_bound"), tuple(rows)
            ),
        ),
        (Picture("f2-segment", segment_plot(alpha, beta, r, TARGETS), "The paper's figure F2."),),
    )


def _independence() -> Claim:
    """X₁ ⟂ X₂ if and only if r = α(1-β), on a grid."""
    alpha, beta = F(2, 5), F(1, 2)
    free = []
    for i in range(1, 20):
        r = F(i, 50)
        p = [[alpha - r, r], [beta - alpha + r, 1 - beta - r]]
        law = Joint.from_array(p, ["X1", "X2"])
        if min(map(min, p)) > 0 and law.independent("X1", "X2"):
            free.append(r)
    return exactly("the r at which X₁ ⟂ X₂", "after (px)", [alpha * (1 - beta)], free)


SECTION = Section("two-binary", "Two binary samples", ("figure F2", "formula (sol)", "channel (ma)"), run)
