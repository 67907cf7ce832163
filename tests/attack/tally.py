"""What was tried, how often, and what did not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random


@dataclass
class Tally:
    """Counts of what was tried, and a sentence for each thing that did not hold."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str, otherwise: object) -> None:
        """Count one thing that was tried; note it where it does not hold."""
        self.counts[what] += 1
        if not holds:
            self.broken.append(f"{what}: {otherwise}")

    def note(self, what: str, times: int = 1) -> None:
        """Count what was seen on the way: that there was a refusal, say. Nothing is expected of it."""
        self.counts[what] += times


@dataclass(frozen=True)
class Attack:
    """One way of attacking: its chapter on the page, a round of it, and its share of the time.

    `round` gets a generator that repeats, an empty folder, and the tally. In `make test` it runs `short` times.
    """

    chapter: str
    round: Callable[[Random, Path, Tally], None]
    short: int = 1
    share: float = 1.0

    @property
    def name(self) -> str:
        """For people and for `--only`."""
        return self.round.__name__
