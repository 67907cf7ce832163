"""Boxes of laws of the target: sides, chords of -t log t over each side, and how far a line is above them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from choral.describe.entropy import minus_x_log_x
from choral.problem.kernel import Floats as Array


@dataclass(frozen=True, eq=False)
class Box:
    """All laws t with low <= t <= high; the entropy is at least `start` + `slopes` · t there, since -t log t is concave."""

    low: Array
    high: Array

    @cached_property
    def slopes(self) -> Array:
        """Of the chords, one per value."""
        width = self.high - self.low
        rise = minus_x_log_x(self.high) - minus_x_log_x(self.low)
        slopes: Array = np.divide(rise, width, out=np.zeros(len(width)), where=width > 0)
        return slopes

    @cached_property
    def start(self) -> float:
        """What the chords have in common: their sum at zero."""
        return float((minus_x_log_x(self.low) - self.slopes * self.low).sum())

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
        error: Array = minus_x_log_x(t) - (minus_x_log_x(self.low) + self.slopes * (t - self.low))
        return np.where(self.high > self.low, error, 0.0)
