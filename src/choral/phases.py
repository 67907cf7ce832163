"""What is being done: long parts of the work name themselves, for whoever looks on and for whoever interrupts.

    with phase("counting"): …          tells who listens, and an interrupt in it knows where it came
    with until(moment): …              has what is not needed left out where it would end later than this (`room_for`)
    with heard(lambda name: …): …      listens: to the name when a phase begins, and when it ends to that of the outer one, or
                                       to nothing ("") where there is none

A search has no phase of its own: an interrupt there means "the best so far" (`choral.design.limits`), and an end elsewhere.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeAlias

Listener: TypeAlias = Callable[[str], None]

INTERRUPTED = "Query interrupted"
"""What DuckDB makes of an interrupt in a query: a RuntimeError with these words."""

_open: ContextVar[tuple[str, ...]] = ContextVar("open", default=())
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_until: ContextVar[float] = ContextVar("until", default=math.inf)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what is done in a block, or in a function that this decorates: "verifying".

    >>> said = []
    >>> with heard(said.append), phase("fitting"):
    ...     with phase("counting"):
    ...         assert now() == "counting"
    >>> said, now()
    (['fitting', 'counting', 'fitting', ''], '')
    """
    outer = _open.get()
    token = _open.set((*outer, name))
    tell(name)
    try:
        yield
    except KeyboardInterrupt as error:
        error.args = error.args or (name,)
        raise
    except RuntimeError as error:
        if str(error) == INTERRUPTED:
            raise KeyboardInterrupt(name) from None
        raise
    finally:
        _open.reset(token)
        tell(now())


@contextmanager
def heard(listener: Listener) -> Iterator[None]:
    """Have somebody told about phases that begin in a block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def until(moment: float) -> Iterator[None]:
    """A block that has to end by a moment of `time.monotonic()`, and may leave out what is not needed.

    >>> with until(time.monotonic() + 60):
    ...     room_for(1), room_for(100)
    (True, False)
    """
    token = _until.set(moment)
    try:
        yield
    finally:
        _until.reset(token)


def room() -> float:
    """Seconds that are left until then; without end where nobody said when."""
    return max(0.0, _until.get() - time.monotonic())


def room_for(seconds: float) -> bool:
    """Whether work that takes so long would end in time."""
    return seconds <= room()


def tell(name: str) -> None:
    """Say to whoever listens what is done, without a phase of its own."""
    listener = _listener.get()
    if listener is not None:
        listener(name)


def now() -> str:
    """What is done at the moment; empty where nothing has a name."""
    return (_open.get() or ("",))[-1]


@contextmanager
def to_the_end() -> Iterator[None]:
    """A short block that an interrupt waits for: what is recorded and what is written belong together."""
    usual: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    waiting: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if waiting:
            usual(*waiting[0])
