"""What is being done: long parts of the work name themselves, for whoever looks on and for whoever interrupts.

    with phase("counting"): …          tells who listens, and an interrupt in it knows where it came
    with until(moment): …              has what is not needed left out where it would end later than this (`room_for`)
    with heard(lambda name: …): …      listens: to the name when a phase begins, and when it ends to that of the outer one, or
                                       to nothing ("") where there is none
    with answered(lambda seconds: …):  answers an interrupt of a search at once, with the seconds that come after the search
    with leavable(): …                 a piece of a search that nobody needs once it is interrupted: `LeftError` ends it; what
                                       only improves a result is left out from then on (`hurried`)

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
Answer: TypeAlias = Callable[[float], None]

INTERRUPTED = "Query interrupted"
"""What DuckDB makes of an interrupt in a query: a RuntimeError with these words."""

_open: ContextVar[tuple[str, ...]] = ContextVar("open", default=())
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_until: ContextVar[float] = ContextVar("until", default=math.inf)
_answer: ContextVar[Answer | None] = ContextVar("answer", default=None)
_leavable: ContextVar[bool] = ContextVar("leavable", default=False)
_hurried: ContextVar[bool] = ContextVar("hurried", default=False)


class LeftError(KeyboardInterrupt):
    """An interrupt of a search, in a block that it leaves at once; whoever began it goes on with what there was before.

    It is an interrupt, so that the program ends as with any other where nobody does.
    """


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
def answered(by: Answer) -> Iterator[None]:
    """Have somebody told, in a block, when an interrupt is taken to mean "the best so far": at that moment, not after it.

    >>> with answered(lambda seconds: print(f"{seconds:g} s more")), searching():
    ...     hurry(3)
    3 s more
    """
    token = _answer.set(by)
    try:
        yield
    finally:
        _answer.reset(token)


@contextmanager
def searching() -> Iterator[None]:
    """A block that is a search: nobody hurries it at first."""
    token = _hurried.set(False)
    try:
        yield
    finally:
        _hurried.reset(token)


def hurry(seconds: float) -> None:
    """Somebody interrupts a search, after which so many seconds of work come: say so to who answers, and leave what can be.

    Called from the signal's handler; raises `LeftError` in a block that can be left.
    """
    _hurried.set(True)
    by = _answer.get()
    if by is not None:
        by(seconds)
    if _leavable.get():
        raise LeftError(now())


def hurried() -> bool:
    """Whether somebody interrupted the search: a channel that there is need not be improved by seconds of work."""
    return _hurried.get()


@contextmanager
def leavable() -> Iterator[None]:
    """A block of a search whose work is lost, and nothing else, where `hurry` raises `LeftError` in it.

    Searches ask between their steps whether to stop, and a step of a large one takes seconds: it need not be waited for.
    What others see must change in parts of it that are `entire`.
    """
    token = _leavable.set(True)
    try:
        yield
    finally:
        _leavable.reset(token)


@contextmanager
def entire() -> Iterator[None]:
    """A part of a `leavable` block that is done as a whole, since what it changes belongs together.

    >>> with searching(), leavable(), entire():
    ...     hurry(0)
    ...     hurried()
    True
    """
    token = _leavable.set(False)
    try:
        yield
    finally:
        _leavable.reset(token)


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
