"""When to stop: tolerances, a time limit, Ctrl-C; and who is told how far it is."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any, TypeAlias

from choral.errors import ProblemError

Progress: TypeAlias = Callable[[float, float, str], None]

READABLE = 16
"""Codes that a person can still read."""
SPARE, SEARCHED = 0.01, 1e-3
"""What readable codes may lose of the information, and how far, as a share of it, the search for them goes."""


@dataclass(frozen=True)
class Limits:
    """What ends a search, and what is asked of its answer; the fields are arguments of `choral.disclose`.

    `enough` asks for no more codes than suffice, nul(P)+1, where all that is asked is independence under one law and `codes`
    says nothing: a code that nobody needs is a rare code, which helps nobody.
    """

    tol: float = 1e-6
    rel_tol: float | None = None
    time_limit: float | None = None
    codes: int | None = None
    progress: Progress | None = None
    solver: str | None = None
    enough: bool = False
    spare: float | None = None
    """The share of the information that may be given up for fewer codes, the fewest that do."""
    rarest: float = 0.0
    """With `spare`: no code is less probable."""
    readable: bool = False
    """Where lines are searched and the best code may need more codes than a person reads: the fewest that lose a percent."""

    def for_people(self) -> Limits:
        """At most as many codes as a person reads, the fewest that lose a percent, from a search to a tenth of that."""
        rel_tol = SEARCHED if self.rel_tol is None else self.rel_tol
        return replace(self, codes=READABLE, spare=SPARE, rel_tol=rel_tol)

    def __post_init__(self) -> None:
        """Raise unless the numbers make sense."""
        for name in ("tol", "rel_tol", "time_limit", "spare"):
            value = getattr(self, name)
            if value is None and name != "tol":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise ProblemError(f"{name}={value!r}.", "Give a number that is at least zero.")
        if self.codes is not None and (
            isinstance(self.codes, bool) or not isinstance(self.codes, int) or self.codes < 1
        ):
            raise ProblemError(f"codes={self.codes!r}.", "Give a whole number of at least 1.")

    def say(self, message: str) -> None:
        """Tell whoever listens what is done before there is an interval."""
        if self.progress is not None:
            self.progress(0.0, 1.0, message)

    @contextmanager
    def running(self) -> Iterator[Clock]:
        """A clock that runs while the block does; the first Ctrl-C stops it, a second one interrupts as usual."""
        clock = Clock(self)
        if threading.current_thread() is not threading.main_thread():
            yield clock
            return
        usual: Any = signal.getsignal(signal.SIGINT)
        if not callable(usual):
            yield clock
            return

        def interrupted(number: int, frame: FrameType | None) -> None:
            if clock.interrupted:
                usual(number, frame)
            clock.interrupted = True

        signal.signal(signal.SIGINT, interrupted)
        try:
            yield clock
        finally:
            signal.signal(signal.SIGINT, usual)


@dataclass
class Clock:
    """The state of one search: how long it ran, and whether it should stop."""

    limits: Limits
    started: float = field(default_factory=time.monotonic)
    interrupted: bool = False

    def left(self) -> float | None:
        """Seconds until the time limit, or None when there is none."""
        if self.limits.time_limit is None:
            return None
        return max(0.0, self.limits.time_limit - (time.monotonic() - self.started))

    def stopped(self) -> bool:
        """Whether the search should end now."""
        return self.interrupted or self.left() == 0.0

    def say(self, information: float, upper_bound: float, message: str) -> None:
        """Tell whoever listens how far the interval has closed."""
        if self.limits.progress is not None:
            self.limits.progress(information, upper_bound, message)
