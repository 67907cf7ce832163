"""Section V: self-disclosure, ex:4, th6, the two heuristic schemes and their figures, and where they need correction."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

from choral.describe import examples
from choral.describe.entropy import entropy_of
from choral.design.disclose import self_disclose
from choral.paper.record import Claim, Effort, Found, Picture, Section, Table, formula, holds
from choral.schemes import (
    DeclaredLaw,
    blocks,
    continuous,
    leaking_windows_example,
    modular,
    paper_formula,
    random_subsets,
    rotation,
    uniformise,
)
from choral.show.plots import diagram_plot, lines_plot, schemes_plot
from choral.show.plots.curves import Series
from choral.show.plots.diagram import Link, Stage

F = Fraction
SOURCE = "an example of the paper"
"""Where the laws come from, which a declared law must say."""
Q = F(3, 10)
"""P(X = 1) where one value of q is shown."""


def entropy(q: Fraction) -> float:
    """h(q) in bits."""
    return entropy_of((q, 1 - q))


def windows(effort: Effort) -> Found:
    """ex:4, modular sums over windows with one secret; and th6, two continuous samples."""
    claims: list[Claim] = []
    rows = []
    for M, n, k in ((3, 4, 2), (2, 5, 2), (2, 5, 3)):
        effort.tell(f"M = {M}, n = {n}, k = {k}")
        law = DeclaredLaw([F(1, M)] * M, SOURCE)
        scheme = modular(law, b=M, k=k)
        joint = scheme.joint(n)
        codes = ", ".join(name for name in joint.names if name.startswith("Y"))
        near = [", ".join(f"X{i + j}" for j in range(k)) for i in range(1, n - k + 2)]
        free = all(joint.independent(window, codes) for window in near)
        claims.append(holds(f"Y ⟂ every {k} successive of {n} samples, M = {M}", "ex:4", free, "tested exactly"))
        told = joint.mutual_information(", ".join(f"X{i + 1}" for i in range(n)), codes)
        bound = (n - k + 1) * math.log2(M) - math.log2(M)
        rows.append((M, n, k, bound, told, scheme.information(n), told / (n * math.log2(M))))
        claims.append(formula(f"I(Xⁿ;Y), M = {M}, n = {n}, k = {k}", "ex:4, H(Xₖⁿ) - log M", bound, told, unit=" bits"))
    claims.append(
        formula(
            "H(Xₖⁿ) for M = 3, n = 4, k = 2",
            "ex:4, last line",
            3.0 * 3,
            3 * math.log2(3),
            "the last line has M where log M belongs, in numerator and denominator; its limit is right",
            " bits",
        )
    )
    die = modular(DeclaredLaw([F(1, 3)] * 3, SOURCE), b=3, k=2)
    efficiencies = [die.information(n) / (n * math.log2(3)) for n in (10, 100, 1000)]
    claims.append(
        holds(
            "the efficiency tends to 1",
            "ex:4",
            all(a < b < 1 for a, b in pairwise(efficiencies)) and efficiencies[-1] > 0.99,
            ", ".join(f"{value:.4f}" for value in efficiencies) + " for n = 10, 100, 1000",
        )
    )
    for K in (2, 8, 64):
        scheme_of_two = continuous.from_quantiles(K, lambda u: u, lambda u: 3 * u, SOURCE)
        joint = scheme_of_two.joint()
        free = joint.independent("X1", "Y") and joint.independent("X2", "Y")
        told = joint.mutual_information("X1, X2", "Y") if free else math.nan
        claims.append(formula(f"I(X₁,X₂;Y) with K = {K} bins, private", "th6", math.log2(K), told, unit=" bits"))
    return Found(
        ("A secret Q added to sums over windows protects k successive samples together, and costs k samples' worth.",),
        tuple(claims),
        (Table("ex4", ("M", "n", "k", "paper_bound", "from_the_joint_law", "information", "efficiency"), tuple(rows)),),
    )


def heuristics(effort: Effort) -> Found:
    """The figures heu_disclosure and heu_efficiency, lemma:par, (la), and the schemes' independence."""
    grid = [F(i, 2 * effort.steps) for i in range(1, effort.steps + 1)]
    rows: list[tuple[float, ...]] = []
    for q in grid:
        effort.tell(f"q = {float(q):.2f}")
        law = DeclaredLaw.bernoulli(q, SOURCE)
        best = self_disclose(examples.bernoulli(q, 4), tol=1e-9)
        pairs, sums = blocks(law, 2), uniformise(law)
        rows.append(
            (
                float(q),
                best.information,
                best.upper_bound,
                pairs.information(4),
                paper_formula(q, 4),
                sums.information(4),
            )
        )
    effort.tell("n → ∞")
    limits = [_limits(F(i, 100)) for i in range(1, 51)]
    claims = [*_claims(effort), *_figure_claims(grid, rows, limits)]
    return Found(
        (
            "The paper's figures are drawn from files that are not printed; its curves are the formulas below, "
            "which are evaluated here at every q. The optimum is proved at every q. The curve called pre-processing "
            "in the paper is a lower bound: the exact information of that scheme is drawn beside it.",
        ),
        tuple(claims),
        (
            Table(
                "heu-disclosure",
                ("q", "optimal", "optimal_upper_bound", "partial", "preprocessing_paper_la", "preprocessing_exact"),
                tuple(rows),
            ),
            Table(
                "heu-efficiency",
                ("q", "optimal", "partial", "preprocessing_paper", "preprocessing_exact"),
                tuple(limits),
            ),
        ),
        (
            Picture("heu-disclosure", _disclosure_picture(rows), "The paper's figure heu_disclosure, n = 4."),
            Picture("heu-efficiency", _efficiency_picture(limits), "The paper's figure heu_efficiency, n → ∞."),
            Picture("pre-heuristic", _z_channel(), "The paper's figure pre_heuristic, at q = 3/10."),
            Picture("schemes-4", _compared(), "The schemes at n = 4 and q = .3."),
        ),
    )


def _limits(q: Fraction) -> tuple[float, ...]:
    """q, and the efficiencies as n → ∞: optimal, partial, pre-processing by the paper's formula, and exactly."""
    law = DeclaredLaw.bernoulli(q, SOURCE)
    bits = (blocks(law, 2).information(2), paper_formula(q, 2), uniformise(law).of_one())
    return (float(q), 1.0, *(value / entropy(q) for value in bits))


def _claims(effort: Effort) -> list[Claim]:
    law = DeclaredLaw.bernoulli(Q, SOURCE)
    claims = []
    for n in (2, 3, 4):
        effort.tell(f"lemma:par, n = {n}")
        scheme = blocks(law, 2)
        joint = scheme.joint(n)
        samples, codes = (", ".join(f"{letter}{i}" for i in range(1, m + 1)) for letter, m in (("X", n), ("Y", n - 1)))
        free = all(joint.independent(f"X{i}", codes) for i in range(1, n + 1))
        claims.append(holds(f"partial processing, n = {n}: Y ⟂ every sample", "lemma:par", free, "tested exactly"))
        terms = math.fsum(joint.mutual_information(f"X{j}", f"Y{j}", given=f"X{j + 1}") for j in range(1, n))
        claims.append(
            formula(
                f"I(Xⁿ;Y) as a sum, n = {n}", "lemma:par", terms, joint.mutual_information(samples, codes), unit=" bits"
            )
        )
    leak = leaking_windows_example(Q)
    bits = [leak.mutual_information(f"X{i}", "Y1, Y2") for i in (1, 2)]
    claims.append(
        holds(
            "windows of k = 3 that move by one sample are private",
            "sec:heu1",
            all(leak.independent(f"X{i}", "Y1, Y2") for i in range(1, 5)),
            f"four Bernoulli(.3): I(X₁;Y₁,Y₂) = {bits[0]:.3f}, I(X₂;Y₁,Y₂) = {bits[1]:.3f} bits",
            "two windows share two samples, and a code that says nothing of each may say something of both; "
            "blocks that share one sample are private",
        )
    )
    five = blocks(law, 3).joint(5)
    claims.append(
        holds(
            "blocks of 3 that share one sample are private",
            "ours, in place of sec:heu1",
            all(five.independent(f"X{i}", "Y1, Y2") for i in range(1, 6)),
            "five Bernoulli(.3), tested exactly",
        )
    )
    beta = (F(1, 2) - Q) / (1 - Q)
    claims.append(
        formula(
            "β of the Z-channel at q = .3",
            "figure pre_heuristic",
            float(beta),
            float(uniformise(law).cell_channel()[0][1]),
        )
    )
    for n in (2, 3, 4, 8):
        sums = uniformise(law)
        claims.append(
            formula(
                f"pre-processing, q = .3, n = {n}",
                "(la)",
                paper_formula(Q, n),
                sums.information(n),
                "S_k is in two sums, which are dependent given the data: the formula is a lower bound",
                " bits",
            )
        )
    joint = uniformise(law).joint(4)
    free = all(joint.independent(f"X{i}", "Y1, Y2, Y3") for i in range(1, 5))
    claims.append(holds("pre-processing, n = 4: Y ⟂ every sample", "sec:heu2", free, "tested exactly"))
    exact = joint.mutual_information("X1, X2, X3, X4", "Y1, Y2, Y3")
    claims.append(
        formula("the same from the joint law, n = 4", "ours", uniformise(law).information(4), exact, unit=" bits")
    )
    bare = 1 - math.fsum([2 * entropy(beta), entropy(2 * beta * (1 - beta))])
    claims.append(
        formula(
            "I(S₁⊕S₂;X₁,X₂) at q = .3 by the display before (la)",
            "display before (la)",
            bare,
            paper_formula(Q, 2),
            "the sum lacks the weights p(x_k, x_{k+1}); without them it is negative",
            " bits",
        )
    )
    effort.tell("random groups of columns")
    found = [random_subsets(examples.bernoulli(Q, n), tries=50, seed=1) for n in (4, 5, 6)]
    shares = [part.information / (n * entropy(Q)) for n, part in zip((4, 5, 6), found, strict=True)]
    claims.append(
        holds(
            "a bounded number of random groups of columns tells less and less",
            "sec:heu",
            all(a > b for a, b in pairwise(shares)),
            "efficiency " + ", ".join(f"{share:.3f}" for share in shares) + " for n = 4, 5, 6 with 50 groups",
        )
    )
    return claims


def _figure_claims(grid: list[Fraction], rows: list[tuple[float, ...]], limits: list[tuple[float, ...]]) -> list[Claim]:
    half = rows[-1]
    partial = [row[2] for row in limits]
    behind = sum(row[4] <= row[2] for row in limits)
    first = max((row[0] for row in limits if row[4] > row[2]), default=0.0)
    law = DeclaredLaw.bernoulli(Q, SOURCE)
    pairs = [blocks(law, 2).information(n) / n for n in (2, 3, 5, 10, 100)]
    sums = [uniformise(law).information(n) / n for n in (2, 3, 5, 10, 50)]
    over = [row[1] / (4 * entropy(q)) <= 0.75 + 1e-12 for q, row in zip(grid, rows, strict=True)]
    return [
        formula("all curves meet at q = 1/2", "figure heu_disclosure", 3.0, min(half[1], *half[3:]), unit=" bits"),
        holds(
            "optimal ≥ partial ≥ pre-processing, at every q",
            "figure heu_disclosure",
            all(row[2] + 1e-9 >= row[3] and row[3] + 1e-9 >= row[4] for row in rows),
            f"with the paper's formula for the last, at {len(rows)} values of q",
        ),
        holds(
            "η̂ ≤ 1 - max H(X_j)/H(Xⁿ) = 3/4",
            "lemma:self-disclosure_bound",
            all(over),
            f"at {len(rows)} values of q; attained at q = 1/2",
        ),
        holds(
            "partial processing has efficiency 1 in the limit only at q = 1/2",
            "example after lemma:par",
            max(partial[:-1]) < 1 - 1e-6 and abs(partial[-1] - 1) < 1e-6,
            f"{partial[-1]:.6f} at 1/2, at most {max(partial[:-1]):.4f} below",
        ),
        holds(
            "its efficiency rises with n", "example after lemma:par", _rising(pairs), _listed(pairs, " bits per sample")
        ),
        holds(
            "that of pre-processing rises with n", "after (la)", _rising(sums), _listed(sums, " bits per sample, exact")
        ),
        formula(
            "asymptotic efficiency of pre-processing at q = .3",
            "after (la)",
            paper_formula(Q, 2) / entropy(Q),
            uniformise(law).of_one() / entropy(Q),
            "from (la), a lower bound; the true limit is I(X;S)/h(q)",
        ),
        holds(
            "for bits pre-processing is often less efficient than partial processing (n → ∞, at most q)",
            "end of sec:heu2",
            2 * behind > len(limits),
            f"with its exact information it is so at {behind} of {len(limits)} values of q",
            f"the comparison used the lower bound (la); pre-processing is ahead up to q = {first:g}",
        ),
    ]


def _rising(values: list[float]) -> bool:
    return all(a < b for a, b in pairwise(values))


def _listed(values: list[float], unit: str) -> str:
    return ", ".join(f"{value:.4f}" for value in values) + unit


def _disclosure_picture(rows: list[tuple[float, ...]]) -> Any:
    names = ("optimal", "partial processing", "pre-processing, paper (la)", "pre-processing, exact")
    columns = (1, 3, 4, 5)
    q = tuple(row[0] for row in rows)
    worst = max(rows, key=lambda row: row[5] - row[4])
    return lines_plot(
        [Series(name, q, tuple(row[c] for row in rows)) for name, c in zip(names, columns, strict=True)],
        f"The paper's curve for pre-processing is up to {worst[5] - worst[4]:.2f} bits too low (q = {worst[0]:.2f})",
        ["four Bernoulli(q) samples; the optimum is proved at every q"],
        x_title="q = P(X = 1)",
        y_title="told about the four samples (bits)",
        y_domain=(0.0, 3.1),
    )


def _efficiency_picture(limits: list[tuple[float, ...]]) -> Any:
    names = ("optimal (th2)", "partial processing", "pre-processing, paper", "pre-processing, exact")
    q = tuple(row[0] for row in limits)
    low = next(row for row in limits if row[0] == float(Q))
    return lines_plot(
        [Series(name, q, tuple(row[c] for row in limits)) for c, name in enumerate(names, start=1)],
        f"Pre-processing is better than the paper says: {100 * low[4]:.0f} %, not {100 * low[3]:.0f} %, at q = {low[0]:g}; "
        "for small q it is ahead of partial processing",
        ["efficiency I(Xⁿ;Y)/H(Xⁿ) as n → ∞"],
        x_title="q = P(X = 1)",
        y_title="asymptotic efficiency",
        y_domain=(0.0, 1.05),
    )


def _z_channel() -> Any:
    rows = uniformise(DeclaredLaw.bernoulli(Q, SOURCE)).cell_channel()
    links = [Link(0, x, s, rows[x][s]) for x in (0, 1) for s in (0, 1) if rows[x][s]]
    return diagram_plot(
        [Stage("X, P(X=1) = 3/10", (0, 1)), Stage("S, uniform", (0, 1))],
        links,
        f"A Z-channel with β = {rows[0][1]} makes Bernoulli(3/10) uniform",
        ["then neighbours are added mod 2"],
    )


def _compared() -> Any:
    law = DeclaredLaw.bernoulli(Q, SOURCE)
    told = {
        "optimum, proved": self_disclose(examples.bernoulli(Q, 4)).information,
        "rotation, b = 3 (ours)": rotation(law, 3).information(4),
        "partial processing, pairs": blocks(law, 2).information(4),
        "pre-processing, exact": uniformise(law).information(4),
        "random groups of columns, 50": random_subsets(examples.bernoulli(Q, 4), tries=50, seed=1).information,
    }
    return schemes_plot(told, 4 * entropy(Q), 4, "Bernoulli(.3) samples; exactly private, every one")


SECTIONS = (
    Section("windows", "A secret for windows, and continuous samples", ("ex:4", "th6"), windows),
    Section(
        "heuristics",
        "The two heuristic schemes",
        (
            "example after lemma:par",
            "figure heu_disclosure",
            "figure heu_efficiency",
            "example before figure pre_heuristic, (la)",
            "figure pre_heuristic",
        ),
        heuristics,
    ),
)
