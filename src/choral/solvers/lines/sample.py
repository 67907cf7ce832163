"""Where to start with very many states: cells and multipliers of a sample of them, drawn without chance.

A sample proves nothing and is never reported. Its cells and its multipliers are near those of all states, and a program of
thousands of states takes seconds where one of all takes minutes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from choral.solvers.lines.annealing import Annealing
from choral.solvers.lines.cells import Next
from choral.solvers.lines.chords import Chords
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.joining import joined
from choral.solvers.lines.refinement import Aim, Enclosure, Equations, Start, enclosed, nothing_ahead, proved

MANY = 32_768
"""States from which a sample comes first, as measured from 65 536 on; with half of these the interior point takes seconds."""
DRAWS, SIXTEENTH = 8192, 16
"""Draws of the sample, or a sixteenth of the states if that is more: all states begin with its cells. Multipliers of a larger
one are nearer, and took more time than they saved (with 131 072 states, and with twice as many)."""
FEWEST = 8
"""States that must be drawn for each equation: a sample of fewer is private in ways in which all states are not."""
OF_GAP, OF_ROOM = 0.1, 0.5
"""What a shorter proof may lose: this share of the gap, or of what the gap is below the target."""
MOST_EQUATIONS = 64
"""Beyond this the systems of lines × equations are what takes the time, and those of an interior point are smaller."""


def chords_enclosed(cells: Chords, kept: Equations, aim: Aim) -> Enclosure[Chords]:
    """`enclosed`, from the cells of a sample on where states are very many."""
    many = len(kept.p) >= MANY and kept.width <= MOST_EQUATIONS
    start = _started(cells, kept, aim) if many else None
    if start is None:
        return enclosed(cells, kept, aim)
    kept = replace(kept, solver=Annealing())
    found = enclosed(cells, kept, aim, start)
    return _shorter(found, kept, aim.wanted(found.information))


def _shorter(found: Enclosure[Chords], kept: Equations, target: float) -> Enclosure[Chords]:
    """With a proof of fewer lines, within the target or a little wider."""
    cells, nu = joined(found.cells, found.nu, max(OF_GAP * found.gap, OF_ROOM * (target - found.gap)))
    dual, margin = proved(cells, kept, nu)
    bound = max(found.upper_bound, cells.prior_cost - dual + margin)
    return replace(found, cells=cells, nu=nu, upper_bound=bound, proves=bound)


def _started(cells: Chords, kept: Equations, aim: Aim) -> Start[Chords] | None:
    """The last cells and multipliers of a sample; None where too few states are drawn."""
    p, M = kept.p, kept.M
    who, weight = sample(p, M, cells.q, max(DRAWS, len(p) // SIXTEENTH))
    if len(who) < FEWEST * M.shape[1]:
        return None
    everything, equations = cells.prior_cost - cells.least_cost, M[who] - weight @ M[who]

    def say(_low: float, _high: float, message: str) -> None:
        if aim.progress is not None:
            aim.progress(0.0, everything, f"a sample of {len(who)} states: {message}")

    few = replace(cells, p=weight, M=equations, q=cells.q[who])
    found = enclosed(few, Equations(weight, equations), replace(aim, progress=say, ahead=nothing_ahead))
    last = found.last
    whole = replace(cells, knots=last.cells.knots, at=last.cells.at)
    return Start(Next(whole, None, last.nu), Annealing.of_target * aim.wanted(found.information))


def sample(p: Array, M: Array, q: Array, draws: int) -> tuple[NDArray[np.int64], Array]:
    """States at even steps of their mass in the order of q, and weights with which 1, q and M have the means of all states.

    Weights that this would make negative stay as they were drawn.
    """
    order = np.argsort(q, kind="stable")
    reached = np.cumsum(p[order])
    drawn = order[np.searchsorted(reached, (np.arange(draws) + 0.5) * (reached[-1] / draws))]
    who, count = np.unique(drawn, return_counts=True)
    weight = count / draws
    columns = np.column_stack([np.ones(len(who)), q[who], M[who]])
    means = np.concatenate([[1.0, p @ q / p.sum()], p @ M / p.sum()])
    system = (columns * weight[:, None]).T @ columns
    change = columns @ np.linalg.lstsq(system, means - weight @ columns, rcond=None)[0]
    return who, weight * (1 + change) if change.min() > -1 else weight
