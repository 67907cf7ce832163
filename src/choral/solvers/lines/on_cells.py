"""What the sandwich on cells found: a channel, its interval, how it came about, and the bound that its lines prove."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from choral.describe.entropy import entropies
from choral.proofs.lines import LinesBound
from choral.solvers.lines.elimination import Array
from choral.solvers.lines.regular_cells import Vertex


@dataclass(frozen=True)
class Round:
    """One linear program: when it ended, its size, and the best interval after it."""

    seconds: float
    lines: int
    information: float
    upper_bound: float


@dataclass(frozen=True)
class OnCells:
    """A private channel and a proof that none is better by more than ``gap``.

    z (N, Y) is non-negative, sums to p over its columns and is private, both up to rounding;
    ``information`` is H(W) - H(W|Y) of it, in bits. ``cells`` tile the simplex (over
    ``denominator``); ``nu`` has one row per cell, and
    ``upper_bound`` = H(W) - sum_s p_s min_l [line_l(Q_s) - M_s . nu_l].
    ``status`` is "optimal" (a tolerance was met), "stopped" (time limit or should_stop) or
    "stalled" (floating point could not improve the interval further).
    """

    z: Array
    cells: list[list[Vertex]]
    nu: Array
    information: float
    upper_bound: float
    history: list[Round]
    status: str
    denominator: int

    @property
    def gap(self) -> float:
        """upper_bound - information."""
        return self.upper_bound - self.information

    @property
    def lines(self) -> int:
        """How many lines there are: one per cell."""
        return len(self.cells)

    def proof(self, rows: tuple[int, ...]) -> LinesBound:
        """The cells with their multipliers."""
        number: dict[tuple[int, ...], int] = {}
        indexed = [tuple(number.setdefault(tuple(vertex), len(number)) for vertex in cell) for cell in self.cells]
        return LinesBound(
            self.denominator,
            tuple(number),
            tuple(indexed),
            rows,
            tuple(tuple(Fraction(float(x)) for x in row) for row in self.nu),
        )


def conditional_entropy(z: Array, Q: Array) -> float:
    """H(W|Y) in bits of the channel z (N, Y)."""
    joint = z.T @ Q
    mass = joint.sum(axis=1)
    kept = mass > 0.0
    return float(mass[kept] @ entropies(joint[kept] / mass[kept, None]))
