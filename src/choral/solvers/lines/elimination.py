"""Which order of elimination takes least work in a Newton step, and what it makes of a point.

States first leaves a system of lines × equations, lines first one of states × states. Most equations say that the sums over
the classes of a partition of the states (the values of a protected group) are as they should be: then classes first
(`choral.solvers.lines.classes`) leaves a system of lines × those equations that the partition does not have. Where all
equations are about sets of states, and a state is in few of them, the system of lines × equations is a sum over pairs of sets
(`choral.solvers.lines.indicators`). All solve the same system, and the one that takes least work is taken.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from choral.solvers.lines.chunks import Array, Chunks
from choral.solvers.lines.classes import ClassesFirst
from choral.solvers.lines.classes import work as work_of_classes
from choral.solvers.lines.columns import Columns, alike_terms
from choral.solvers.lines.indicators import ByIndicators
from choral.solvers.lines.indicators import work as work_of_indicators
from choral.solvers.lines.newton import Elimination, LinesFirst, StatesFirst
from choral.solvers.lines.partition import Basis, Sizes

OVERHEAD = 2e7
"""Products that could be made in the time of the many small steps that classes and indicators take, each solve twice."""
LINES, CLASSES = 1.7, 0.65
"""What a product takes in these orders, beside one of states first, as measured on programs of 560 to 16 000 states: lines
first reads and writes more, and where states are sorted by classes blocks are small enough for a cache."""

APART = 10.0
"""Products in the time that it takes to take the sums of two states over their classes apart from the rest, on one line."""

Order = Literal["states", "lines", "classes", "indicators"]


def elimination(basis: Basis, d: Array, chunks: Chunks) -> Elimination:
    """The Newton matrix of these weights, factorised in the order that takes least work."""
    sizes = basis.sizes
    columns, order = Columns(basis.alike, sizes.rank), least_work(sizes, d.shape[1])
    if order == "classes" and basis.partition is not None:
        return ClassesFirst(columns, d, chunks, basis.partition)
    if order == "indicators" and basis.indicators is not None:
        return ByIndicators(columns, d, chunks, basis.indicators)
    if order == "states":
        return StatesFirst(columns, d, chunks)
    apart = products_apart(sizes) < alike_terms(sizes.states, sizes.rank, sizes.alike)
    return LinesFirst(columns, d, chunks, partition=basis.partition if apart else None)


def products_apart(sizes: Sizes) -> float:
    """What two states have in common on one line takes so many products, lines first, where a partition is taken apart."""
    return sizes.rest + 1 + APART if sizes.classes else math.inf


def least_work(sizes: Sizes, lines: int) -> Order:
    """The order that takes least work."""
    work = works(sizes, lines)
    return min(work, key=lambda order: work[order])


def works(sizes: Sizes, lines: int) -> dict[Order, float]:
    """What every order takes to build its Schur complement and to factorise it, in products of states first."""
    states, rank = sizes.states, sizes.rank
    pairs = min(rank, alike_terms(states, rank, sizes.alike or states), products_apart(sizes))
    work: dict[Order, float] = {
        "states": states * (lines * rank) ** 2 + (lines * rank) ** 3 / 3,
        "lines": LINES * (states**2 * (lines * pairs + rank) + states**3 / 3),
    }
    if sizes.classes:
        work["classes"] = OVERHEAD + CLASSES * work_of_classes(states, lines, sizes.classes, sizes.rest)
    if sizes.pairs:
        work["indicators"] = OVERHEAD + work_of_indicators(sizes.entries, lines, rank)
    return work


def centred_duals(reduced: Array, p: Array, barrier: float) -> Array:
    """Return ``lam`` with ``sum_l barrier / (reduced_sl - lam_s) = p_s`` (Newton per state).

    Then ``barrier / (reduced - lam)`` is positive with the right row sums.
    """
    lines = reduced.shape[1]
    floor = reduced.min(axis=1)
    shifted = reduced - floor[:, None]
    # The root lies between barrier/p and lines*barrier/p below the least cost.
    below = barrier / p
    for _ in range(60):
        terms = barrier / (shifted + below[:, None])
        value = terms.sum(axis=1) - p
        slope = np.einsum("sl,sl->s", terms, terms) / barrier
        step = value / slope
        below = np.minimum(below + np.maximum(step, 0), lines * barrier / p)
        if np.all(np.abs(step) <= 1e-8 * below):
            break
    lam: Array = floor - below
    return lam
