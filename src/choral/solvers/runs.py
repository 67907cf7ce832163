"""The best ways to join codes to few, of a target of two values or a number: runs of neighbours in what they say of it.

What is lost by joining is concave in the masses of a code, so the best codes are runs in the order of their t = P(W = 1 | y),
or E(W | y). Dynamic programming finds them for every number of codes; the cost of joining a run satisfies the quadrangle
inequality, so a layer takes O(n log n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from choral.describe.entropy import minus_x_log_x
from choral.problem.kernel import Floats

Loss = Callable[[Floats, Floats], Floats]
"""What is lost on codes with these masses and sums Σ mass · t: concave, homogeneous, such as mass · h(sum / mass)."""


def entropy_loss(mass: Floats, total: Floats) -> Floats:
    """mass · h(total / mass) in bits."""
    inside = np.clip(total, 0.0, mass)
    return minus_x_log_x(inside) - minus_x_log_x(mass) + minus_x_log_x(mass - inside)


def best_runs(mass: Floats, t: Floats, loss: Loss, most: int, spare: float = 0.0) -> list[int]:
    """Where to cut n intervals in the order of t into runs: the starts of the runs, from 0.

    With at most `most` runs, and no more than are needed for the loss to exceed that of all intervals by `spare` at most.
    """
    least, found = float(loss(mass, mass * t).sum()), [0]
    for value, starts in runs_by_number(mass, t, loss, most):
        found = starts
        if value <= least + spare:
            break
    return found


def runs_by_number(mass: Floats, t: Floats, loss: Loss, most: int) -> Iterator[tuple[float, list[int]]]:
    """The least loss with 1, 2, … runs of intervals in the order of t, at most `most`, and where these runs start.

    >>> mass, t = np.array([0.2, 0.3, 0.5]), np.array([0.1, 0.8, 0.9])
    >>> [starts for _, starts in runs_by_number(mass, t, entropy_loss, 3)]
    [[0], [0, 1], [0, 1, 2]]
    """
    n = len(mass)
    heads = np.concatenate([[0.0], np.cumsum(mass)])
    sums = np.concatenate([[0.0], np.cumsum(mass * t)])

    def cost(i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> Floats:
        return loss(heads[j] - heads[i], sums[j] - sums[i])

    everywhere = np.arange(n + 1)
    value = cost(np.zeros(n + 1, dtype=np.int64), everywhere)
    layers: list[npt.NDArray[np.int64]] = []
    while True:
        starts, at = [], n
        for chosen in reversed(layers):
            at = int(chosen[at])
            starts.append(at)
        yield float(value[n]), sorted({0, *starts} - {n})
        if len(layers) + 1 >= min(most, n):
            return
        value, chosen = _layer(value, cost)
        layers.append(chosen)


def _layer(
    value: Floats, cost: Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], Floats]
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """min over i ≤ j of value[i] + cost(i, j) for every j, and the i: it grows with j, so halves are searched in turn."""
    n = len(value) - 1
    best, chosen = value.copy(), np.arange(n + 1)
    low, high = np.array([0]), np.array([n])
    left, right = np.array([0]), np.array([n])
    while len(low):
        middle = (low + high) // 2
        count = np.minimum(right, middle) - left + 1
        start = np.cumsum(count) - count
        i = np.arange(int(count.sum())) - np.repeat(start - left, count)
        tried = value[i] + cost(i, np.repeat(middle, count))
        found = np.minimum.reduceat(tried, start)
        hit = np.flatnonzero(tried == np.repeat(found, count))
        first = hit[np.searchsorted(hit, start)]
        best[middle], chosen[middle] = found, i[first]
        below, above = middle > low, middle < high
        low, high, left, right = (
            np.concatenate([low[below], (middle + 1)[above]]),
            np.concatenate([(middle - 1)[below], high[above]]),
            np.concatenate([left[below], i[first][above]]),
            np.concatenate([i[first][below], right[above]]),
        )
    return best, chosen
