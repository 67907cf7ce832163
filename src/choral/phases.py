"""What is being done: long parts of the work name themselves, for whoever looks on and for whoever interrupts.

    with phase("counting"): …          tells who listens, and an interrupt in it knows where it came
    with heard(lambda name: …): …      listens: to the name when a phase begins, and when it ends to that of the outer one, or
                                       to nothing ("") where there is none

A search has no phase of its own: an interrupt there means "the best so far" (`choral.design.limits`), and an end elsewhere.
"""

from __future__ import annotations

import signal
import threading
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
