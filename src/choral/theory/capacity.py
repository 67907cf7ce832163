"""The capacity against the number of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from choral.describe.exchangeable import Exchangeable
from choral.design.disclose import disclose
from choral.errors import ProblemError


@dataclass(frozen=True)
class CurvePoint:
    """The capacity at one n: achieved, and bounded; `verified` says that the stand-alone verifier agreed."""

    n: int
    information: float
    upper_bound: float
    codes: int
    verified: bool


def capacity_curve(
    prior: Sequence[Any],
    channel: Sequence[Sequence[Any]],
    ns: Iterable[int],
    *,
    order: int = 1,
    tol: float = 1e-6,
    verify: bool = True,
    progress: Callable[[CurvePoint], None] | None = None,
) -> list[CurvePoint]:
    """I_s(W, Xⁿ) for samples that are independent given W, at each n: a certified interval.

    >>> from fractions import Fraction as F
    >>> import choral as ch
    >>> [round(p.information, 4) for p in ch.capacity_curve([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), [2, 3, 4])]
    [0.0083, 0.0488, 0.0447]
    """
    if not isinstance(ns, Iterable):
        raise ProblemError(f"ns is {ns!r}.", "Give a list of numbers of samples.")
    points = []
    for n in ns:
        d = disclose(Exchangeable(prior, channel, n), order=order, tol=tol)
        if verify:
            d.verify()
        points.append(CurvePoint(n, d.information, d.upper_bound, d.codes, verify))
        if progress is not None:
            progress(points[-1])
    return points
