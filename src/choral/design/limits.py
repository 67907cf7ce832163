"""When to stop: tolerances, a time limit, Ctrl-C; and who is told how far it is."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from choral import phases
from choral.errors import ProblemError

if TYPE_CHECKING:
    from choral.problem.kernel import Problem
    from choral.solvers.lines.beside import Beside

Progress: TypeAlias = Callable[[float, float, str], None]

READABLE = 16
"""Codes that a person can still read."""
SPARE, SEARCHED = 0.01, 1e-3
"""What readable codes may lose of the information, and how far, as a share of it, the search for them goes."""

MARGIN = 1.25
"""What is kept for the work after a search, of what that is thought to take."""
SLOWEST = 30.0
"""How many times slower than alone a busy machine is thought to be, at most."""

FLOATS = 1e-9
"""Bits: what floats get wrong of an information, at the most."""

_clock: ContextVar[Clock | None] = ContextVar("clock", default=None)


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
    started: float | None = None
    """When the time limit began, where that was before the search: counting and learning are within it too."""
    verified: bool = False
    """Whether the time limit is for verifying what is found, too."""
    roughly: bool = False
    """Whether the time limit is for the search alone, where what comes after it is known to be short."""

    def for_people(self, problem: Problem) -> Limits:
        """At most as many codes as a person reads, the fewest that lose a percent, from a search to a tenth of that.

        Within budgets codes are only joined, never improved, which may lose more before they are so few: there the percent
        decides.
        """
        rel_tol = SEARCHED if self.rel_tol is None else self.rel_tol
        return replace(self, codes=None if problem.budgets else READABLE, spare=SPARE, rel_tol=rel_tol)

    def __post_init__(self) -> None:
        """Raise unless the numbers make sense."""
        for name in ("tol", "rel_tol", "time_limit", "spare"):
            value = getattr(self, name)
            if value is None and name != "tol":
                continue
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not value >= 0 or (isinstance(value, int) and value > sys.float_info.max):
                raise ProblemError(f"{name}={value!r:.30}.", "Give a number that is at least zero.")
        if self.codes is not None and (
            isinstance(self.codes, bool) or not isinstance(self.codes, int) or self.codes < 1
        ):
            raise ProblemError(f"codes={self.codes!r}.", "Give a whole number of at least 1.")

    def begun(self) -> Limits:
        """The same with a time limit that runs from now on, unless it began before."""
        return self if self.started is not None else replace(self, started=time.monotonic())

    def near(self, told: float) -> float:
        """The gap with which what tells so much is as good as was asked for, or as floats know."""
        return max(self.tol, (self.rel_tol or 0.0) * told, FLOATS)

    def remaining(self) -> float | None:
        """Seconds until the time limit; None when there is none."""
        if self.time_limit is None:
            return None
        return max(0.0, self.time_limit - (0.0 if self.started is None else time.monotonic() - self.started))

    @contextmanager
    def running(self) -> Iterator[Clock]:
        """A clock that runs while the block does.

        Ctrl-C in a search stops the clock, and every clock around it; whoever listens is told at once, and a step that can
        be left is left. A second one, and one in a phase that has a name (`choral.phases`), interrupts as usual.
        """
        clock = Clock(self.begun(), outer := _clock.get())
        token = _clock.set(clock)
        try:
            usual: Any = signal.getsignal(signal.SIGINT)
            here = threading.current_thread() is threading.main_thread()
            if outer is not None or not here or not callable(usual):
                yield clock
                return
            around = phases.now()

            def interrupted(number: int, frame: FrameType | None) -> None:
                searching = _clock.get()
                if searching is None or searching.stopping or phases.now() != around:
                    usual(number, frame)
                else:
                    searching.interrupt()
                    phases.hurry(searching.after * searching.slowness())

            signal.signal(signal.SIGINT, interrupted)
            try:
                with phases.searching():
                    yield clock
            finally:
                signal.signal(signal.SIGINT, usual)
        finally:
            _clock.reset(token)


@contextmanager
def ending_all() -> Iterator[None]:
    """A block of many searches that Ctrl-C ends as a whole: there is no best so far."""
    token = _clock.set(Clock(Limits()))
    try:
        yield
    finally:
        _clock.reset(token)


@dataclass
class Clock:
    """The state of one search: how long it ran, and whether it should stop.

    It stops before the time limit, by `after` seconds of work that come after the search, told as it goes
    (`choral.design.afterwards`), and by as long as it takes until it is asked again.
    """

    limits: Limits
    outer: Clock | None = None
    interrupted: bool = False
    after: float = 0.0
    worked: float = field(default_factory=time.process_time)
    began: float = field(default_factory=time.monotonic)
    asked: list[float] = field(default_factory=list)
    until: float | None = None
    beside: Beside | None = None
    """What searches within other budgets found."""

    @property
    def stopping(self) -> bool:
        """Whether somebody interrupted this search, or one around it."""
        return self.interrupted or (self.outer is not None and self.outer.stopping)

    def interrupt(self) -> None:
        """Stop this search and those around it."""
        self.interrupted = True
        if self.outer is not None:
            self.outer.interrupt()

    def expect(self, after: float) -> None:
        """So many seconds of work come after the search, if it ends now; what is told first leaves half of the time to it."""
        if self.limits.roughly:
            return
        remaining = self.limits.remaining()
        if self.after == 0.0 and remaining is not None:
            after = min(after, remaining / (2 * MARGIN * self.slowness()))
        self.after = after

    def slowness(self) -> float:
        """Seconds that a second of work takes, on a machine that does other things too."""
        work = time.process_time() - self.worked
        return min(max(1.0, (time.monotonic() - self.began) / work), SLOWEST) if work > 0.1 else 1.0

    def left(self) -> float | None:
        """Seconds that are left for the search, or None when there is no time limit."""
        remaining = self.limits.remaining()
        if remaining is None:
            return None
        left = remaining - MARGIN * self.after * self.slowness()
        return max(0.0, left if self.until is None else min(left, self.until - time.monotonic()))

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """A block that may take this share of the time that is left: something else comes after it if it does not end."""
        left = self.left()
        self.until = None if left is None else time.monotonic() + share * left
        try:
            yield
        finally:
            self.until = None
            self.asked.clear()

    def stopped(self) -> bool:
        """Whether the search should end now: it is time, or will be before this is asked again; or somebody says so."""
        if self.stopping:
            return True
        left = self.left()
        if left is None:
            return False
        self.asked = [*self.asked[-2:], time.monotonic()]
        between = [b - a for a, b in pairwise(self.asked)]
        return left <= (2 * min(between) if len(between) > 1 else 0.0)

    def say(self, information: float, upper_bound: float, message: str) -> None:
        """Tell whoever listens how far the interval of the whole problem has closed."""
        if self.limits.progress is not None:
            self.limits.progress(information, upper_bound, message)
