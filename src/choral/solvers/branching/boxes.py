"""Boxes of laws of the target: sides, chords of -t log t over each side, and how far a line is above them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def term(t: Array) -> Array:
    """-t log t, in bits."""
    return np.where(t > 0, -t * np.log2(np.maximum(t, 1e-300)), 0.0)


@dataclass(frozen=True, eq=False)
class Box:
    """All laws t with low <= t <= high; the entropy is at least `start` + `slopes` · t there, since -t log t is concave."""

    low: Array
    high: Array

    @cached_property
    def slopes(self) -> Array:
        """Of the chords, one per value."""
        width = self.high - self.low
        rise = term(self.high) - term(self.low)
        slopes: Array = np.divide(rise, width, out=np.zeros(len(width)), where=width > 0)
        return slopes

    @cached_property
    def start(self) -> float:
        """What the chords have in common: their sum at zero."""
        return float((term(self.low) - self.slopes * self.low).sum())

    @property
    def empty(self) -> bool:
        """Whether no law is in it."""
        return bool(self.low.sum() > 1.0 or self.high.sum() < 1.0)

    def above(self, lines: Array) -> Array:
        """By how much each line is above the sum of chords, at most: a knapsack, filled with the best values first."""
        excess = lines - self.slopes
        order = np.argsort(-excess, axis=1)
        room = (self.high - self.low)[order]
        before = np.cumsum(room, axis=1) - room
        filled = np.clip(1.0 - self.low.sum() - before, 0.0, room)
        most: Array = excess @ self.low + (np.take_along_axis(excess, order, axis=1) * filled).sum(axis=1) - self.start
        return most

    def bends(self, t: Array) -> Array:
        """How far -t log t is above its chord, for every value: what cutting that side at t gains."""
        error: Array = term(t) - (term(self.low) + self.slopes * (t - self.low))
        return np.where(self.high > self.low, error, 0.0)
