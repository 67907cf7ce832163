"""Shorter proofs: neighbouring chords joined where the bound hardly changes.

A proof is verified state by state and line by line, so with very many states its lines are what verifying takes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from choral.solvers.lines.chords import Chords
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.refinement import PIECE

ROUNDS = 8
"""At most: each joins pairs, so the lines of a round are half of those before at best."""
PART = 0.5
"""Of what may still be lost, in each round: joined chords may be joined again."""
WORTH = 0.05
"""A round that takes away less than this share of the lines is the last."""


def joined(cells: Chords, nu: Array, allowed: float) -> tuple[Chords, Array]:
    """Fewer cells and their multipliers, whose bound is lower by no more than is allowed (up to rounding)."""
    for _ in range(ROUNDS):
        knots, at = cells.knots, cells.at
        width = np.diff(at)
        share = width[:-1] / (width[:-1] + width[1:])
        together = share[:, None] * nu[:-1] + (1 - share)[:, None] * nu[1:]
        loss = _losses(cells, nu, together)
        chosen: list[int] = []
        lost, free = 0.0, np.ones(len(loss) + 2, dtype=bool)
        for pair in np.argsort(loss, kind="stable"):
            if lost + loss[pair] > PART * allowed:
                break
            if free[pair] and free[pair + 1]:
                chosen.append(int(pair))
                lost += float(loss[pair])
                free[pair : pair + 2] = False
        if len(chosen) < WORTH * cells.lines:
            break
        second = np.array(chosen) + 1
        nu = nu.copy()
        nu[second - 1] = together[second - 1]
        nu = np.delete(nu, second, axis=0)
        cells = replace(cells, knots=np.delete(knots, second), at=np.delete(at, second))
        allowed -= lost
    return cells, nu


def _losses(cells: Chords, nu: Array, together: Array) -> Array:
    """What the bound loses at most where two neighbours become one, for each pair."""
    knots, curve = cells.knots, cells.curve
    loss = np.zeros(len(together))
    for start in range(0, len(cells.p), PIECE):
        rows = slice(start, start + PIECE)
        q, M, p = cells.q[rows], cells.M[rows], cells.p[rows]
        least = (curve.chords(knots, q) - M @ nu.T).min(axis=1)
        for first in (0, 1):
            ends = knots[first::2]
            if len(ends) < 2:
                continue
            pairs = slice(first, first + 2 * (len(ends) - 1), 2)
            lower = curve.chords(ends, q) - M @ together[pairs].T
            loss[pairs] += p @ np.maximum(0.0, least[:, None] - lower)
    return loss
