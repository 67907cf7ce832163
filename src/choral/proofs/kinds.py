"""All kinds of proofs, and the one that a document holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from choral.problem.kernel import Problem
from choral.problem.solution import Proof, ValueProof
from choral.proofs.determined import DeterminedBound
from choral.proofs.extreme_points import VertexBound
from choral.proofs.group import GroupBound
from choral.proofs.lines import LinesBound
from choral.proofs.purpose import PurposeBound
from choral.proofs.rank import RankBound
from choral.proofs.tree import TreeBound

KINDS = {kind.kind: kind for kind in (VertexBound, GroupBound, DeterminedBound, LinesBound, TreeBound, RankBound)}


VALUES: dict[str, type[PurposeBound] | type[RankBound]] = {kind.kind: kind for kind in (PurposeBound, RankBound)}
"""Those that prove what a code can be worth for a utility."""


def value_proof_of(document: Mapping[str, Any], problem: Problem) -> ValueProof:
    """The proof of what a code can be worth, as `proof_of` reads one about bits."""
    return VALUES[document["kind"]].of_document(document, problem)


def proof_of(document: Mapping[str, Any], problem: Problem) -> Proof:
    """The proof that `to_document` wrote, on a problem posed on the same law; which extreme points are tight is not in it.

    What is no proof raises what its reader raises: a `LookupError`, `TypeError`, `ValueError` or `ArithmeticError`.
    """
    return KINDS[document["kind"]].of_document(document, problem)
