"""Linear programs over lines: what they are, what solves them, and what any multipliers prove.

Minimise Σ z_sl C_sl over z ≥ 0 with Σ_l z_sl = p_s for every state and Mᵀ z_l = 0 for every line. For any multipliers
nu (one row per line) Σ_s p_s min_l (C_sl - M_s·nu_l) bounds the optimum from below. Bounds are evaluated in floating point
here; `choral.exact` proves them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from choral.solvers.lines.chunks import WORTH_THREADS, Array, cores, threads
from choral.solvers.lines.elimination import works
from choral.solvers.lines.partition import Basis
from choral.threads import one_thread

Status = Literal["optimal", "stopped", "iteration limit", "stalled"]

Stop = Callable[[], bool]
Watch = Callable[[int, float, float], None]

PART = 4096
"""States for which reduced costs are held at once: they fit a cache."""


@dataclass(frozen=True)
class LPResult:
    """A feasible channel and multipliers for one sandwich linear program.

    ``z`` is positive and meets the equalities to rounding; ``primal`` is its cost;
    ``dual`` is the repaired bound of ``nu``, so ``dual <= optimum <= primal`` up to
    rounding whatever the status says.
    """

    z: Array
    nu: Array
    primal: float
    dual: float
    iterations: int
    status: Status


def repaired_bound(C: Array, p: Array, M: Array, nu: Array) -> float:
    """Return ``sum_s p_s min_l (C_sl - M_s . nu_l)``, a lower bound for any ``nu``."""
    total = 0.0
    for start in range(0, len(p), PART):
        rows = slice(start, start + PART)
        total += float(p[rows] @ (C[rows] - M[rows] @ nu.T).min(axis=1))
    return total


def equality_error(z: Array, p: Array, M: Array) -> float:
    """Return the largest violation of ``z.sum(1) == p`` and ``M.T z == 0`` (M scaled to 1)."""
    rows = float(np.abs(z.sum(axis=1) - p).max())
    if M.size == 0:
        return rows
    size = np.maximum(1.0, np.abs(M).max(axis=0))
    return max(rows, float((np.abs(M.T @ z).max(axis=1) / size).max()))


def rounding_margin(C: Array, p: Array, M: Array, nu: Array) -> float:
    """Return a bound on the rounding error of ``repaired_bound`` (and of ``p @ M == 0``)."""
    size = float((p @ np.abs(M)) @ np.abs(nu).max(axis=0)) if M.size else 0.0
    size += float(max(C.max(), -C.min()) * p.sum())
    return float(2 * (M.shape[1] + 4) * np.finfo(float).eps * size)


@dataclass(frozen=True)
class LineSolver(ABC):
    """A method for linear programs over lines.

    tolerance          stop when the duality gap (in the unit of the costs) is at most this
    workers            Python threads, each with one BLAS thread; None: one per core, at most 8, where that is faster
    """

    tolerance: float = 1e-9
    workers: int | None = None
    of_gap: ClassVar[float] = 0.03
    """The share of a search's gap to which its programs are solved: more would be lost at the next refinement ..."""
    of_target: ClassVar[float] = 0.1
    """... but no further than this share of the search's target."""
    layout: ClassVar[Literal["C", "F"]] = "C"
    """Whether costs lie in memory state by state or line by line: in the other order they are copied."""

    @property
    def threads(self) -> int:
        """As many as there will be."""
        return self.workers or cores()

    @abstractmethod
    def run(self, program: Program, should_stop: Stop | None, callback: Watch | None) -> Outcome:
        """Solve it on the states that matter, with equations that are orthonormal there."""

    def solve(
        self,
        C: Array,
        p: Array,
        M: Array,
        z0: Array | None = None,
        should_stop: Stop | None = None,
        callback: Watch | None = None,
        nu0: Array | None = None,
        basis: Basis | None = None,
    ) -> LPResult:
        """Minimise ``sum z C`` over ``z >= 0``, ``z.sum(1) = p``, ``M.T z = 0``.

        ``z0`` is a feasible channel to start from and ``nu0`` multipliers to start
        from, ``basis`` what `Basis.of` gave for p and M;
        ``callback(iteration, primal, dual)`` sees the interval of each iterate;
        ``should_stop`` is asked once per iteration.  Whatever ends the iteration, the
        result is a channel that meets the equalities and a valid bound.
        """
        C, p, M = np.asarray(C, float, self.layout), *(np.ascontiguousarray(a, dtype=float) for a in (p, M))
        with one_thread("blas"):
            basis = basis or Basis.of(p, M)
        large = min(works(basis.sizes, C.shape[1]).values()) >= WORTH_THREADS
        workers = self.workers or (self.threads if large else 1)
        with threads(workers) as pool:
            main, back = basis.main, basis.back
            nu_white = None if nu0 is None else np.asarray(nu0, dtype=float) @ np.linalg.pinv(back).T
            z_main = None if z0 is None else np.asarray(z0, dtype=float)[main]
            found = self.run(Program(C[main], p[main], basis, z_main, nu_white, pool, workers), should_stop, callback)
        weight = found.z.sum(axis=0)
        share = weight / weight.sum()
        nu = (found.nu - share @ found.nu) @ back.T  # the smallest gauge
        z = found.z
        if not isinstance(main, slice):
            z = p[:, None] * share
            z[main] = found.z
        primal = float(np.einsum("sl,sl->", z, C))
        return LPResult(z, nu, primal, repaired_bound(C, p, M, nu), found.iterations, found.status)


@dataclass(frozen=True)
class Program:
    """The states that matter, and where to start: a channel, and multipliers of the orthonormal equations, if any."""

    C: Array
    p: Array
    basis: Basis
    z: Array | None
    nu: Array | None
    pool: ThreadPoolExecutor | None
    workers: int

    @property
    def M(self) -> Array:
        """The equations, orthonormal under p."""
        return self.basis.white


@dataclass(frozen=True)
class Outcome:
    """A channel, multipliers of the orthonormal equations, and how it ended."""

    z: Array
    nu: Array
    iterations: int
    status: Status
