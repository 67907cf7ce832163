"""What several samples tell together: the exclusive or, the modular example, the matrix P and its hypergraph."""

from __future__ import annotations

import math
from itertools import product

from choral.describe import examples
from choral.describe.joint import Joint
from choral.design.disclose import disclose
from choral.design.outlook import bounds, hypergraph
from choral.paper.record import Effort, Found, Picture, Section, Table, exactly, formula, holds
from choral.show.plots import hypergraph_plot, signature_plot


def run(effort: Effort) -> Found:
    """The example after pr:upper_bound for several M and k, and P built by its recursion."""
    claims = []
    xor = examples.xor()
    free = [xor.independent(name, "W") for name in ("X1", "X2")]
    claims.append(
        holds("X₁ ⊕ X₂ of two fair coins is independent of each", "introduction", all(free), "tested exactly")
    )
    rows = []
    for M, k in ((2, 1), (3, 1), (3, 2), (4, 2), (5, 1)):
        effort.tell(f"M = {M}, k = {k}")
        law = examples.modular(M, k)
        found = disclose(law, tol=1e-9)
        bound = bounds(law).upper_bound
        rows.append((M, k, math.log2(M), bound, found.information, found.upper_bound))
        claims.append(
            formula(
                f"I_s for M = {M}, k = {k}",
                "example after pr:upper_bound",
                math.log2(M),
                found.information,
                unit=" bits",
            )
        )
    for n in (2, 3, 4):
        cube = Joint.from_counts(dict.fromkeys(product((0, 1), repeat=n), 1), [f"X{i + 1}" for i in range(n)])
        ours = [list(row) for row in hypergraph(cube).incidence]
        claims.append(
            exactly(f"P of {n} binary samples", "recursion after (matp)", _recursion(n), ours)
            if n < 4
            else holds(f"P of {n} binary samples", "recursion after (matp)", _recursion(n) == ours, "8 × 16, equal")
        )
    graph = hypergraph(examples.bsc_and_bec())
    picture = hypergraph_plot(
        hypergraph(Joint.from_counts(dict.fromkeys(product((0, 1), repeat=3), 1), ["X1", "X2", "X3"]))
    )
    parts = {name for name, _ in graph.vertices}
    uniform = all(len(edge) == len(parts) for edge in graph.edges)
    claims.append(
        holds("the hypergraph is n-uniform and n-partite", "remark after (matp)", uniform, f"{len(graph.edges)} edges")
    )
    modular = disclose(examples.modular(3, 2))
    return Found(
        (
            "Two samples that say nothing alone can say everything together. The example after pr:upper_bound has "
            "W = X₁ + X₂ mod M with X₁ uniform on M and X₂ on kM values: the bound is attained, I_s = H(W) = log M.",
        ),
        tuple(claims),
        (
            Table(
                "modular",
                ("M", "k", "log2_M", "upper_bound_without_solving", "information", "upper_bound"),
                tuple(rows),
            ),
        ),
        (
            Picture("modular-told-and-hidden", signature_plot(modular), "M = 3, k = 2: the code is the target itself."),
            Picture("hypergraph", picture, "The support of three binary samples."),
        ),
    )


def _recursion(n: int) -> list[list[int]]:
    """P_{k+1} = [1…1 0…0; 0…0 1…1; P_k P_k], from P_1 = I."""
    rows = [[1, 0], [0, 1]]
    for k in range(1, n):
        half = 2**k
        rows = [[1] * half + [0] * half, [0] * half + [1] * half, *(row + row for row in rows)]
    return rows


SECTION = Section(
    "synergy",
    "Together, but not apart",
    ("introduction: X₁ ⊕ X₂", "example after pr:upper_bound", "recursion for P", "remark: graphical representation"),
    run,
)
