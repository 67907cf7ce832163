"""What a search over lines asks of its cells: what their lines cost, what codes cost in truth, and how they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from choral.proofs.lines import LinesBound
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.program import LPResult

EVERY = slice(None)

CellsT = TypeVar("CellsT", bound="Cells")


@dataclass(frozen=True)
class Codes:
    """The codes of a channel: masses, means (or posteriors), and what each costs beyond its line."""

    mass: Array
    mean: Array
    error: Array


@dataclass(frozen=True)
class Next(Generic[CellsT]):
    """Cells that were cut, a feasible channel on their lines, and multipliers with which the bound does not fall."""

    cells: CellsT
    z: Array | None
    nu: Array | None


class Cells(Protocol):
    """Lines below a concave cost, one per cell."""

    @property
    def lines(self) -> int:
        """How many there are."""
        ...

    @property
    def prior_cost(self) -> float:
        """What a code that tells nothing costs."""
        ...

    @property
    def least_cost(self) -> float:
        """What a code that tells the state costs."""
        ...

    def costs(self, rows: slice = EVERY) -> Array:
        """C[s, l]: line l at state s, of these states."""
        ...

    def codes(self, z: Array) -> Codes:
        """The codes of a channel with one per line."""
        ...

    def channel(self, z: Array) -> Array:
        """The channel as it is reported: perhaps with codes joined that are too rare to matter."""
        ...

    def cost(self, z: Array) -> float:
        """What any channel costs in truth."""
        ...

    def first(self) -> Self:
        """The cells of the first level."""
        ...

    def simple_bounds(self) -> Iterator[tuple[Self, Array]]:
        """Other cells with multipliers that may prove something before anything is solved: none unless there is a way."""
        return iter(())

    def finer(self, codes: Codes, nu: Array) -> Iterator[tuple[Self, Array]]:
        """Finer cells with multipliers that may prove more than these: none unless there is a way."""
        return iter(())

    def refined(self, lp: LPResult, codes: Codes, target: float, everywhere: bool = False) -> Next[Self]:
        """The cells of the next level; where cells are cut `everywhere`, codes find no wide ones beside."""
        ...

    def proof(self, nu: Array, rows: tuple[int, ...]) -> LinesBound:
        """The cells, also after they were refined, with their multipliers, which belong to these rows of P."""
        ...
