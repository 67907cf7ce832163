"""Cells that tile the probability simplex of a target of a few values, in exact geometry.

Each line agrees with the entropy at the vertices of its cell, so the minimum of the lines is below the entropy everywhere.
Cells are cut at the posteriors of codes that cost more than their lines say, or around them where they are vertices already.
(Always around them makes each level better, and in all twice as many cells.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from choral.describe.entropy import entropies, weighted_entropies
from choral.proofs.lines import LinesBound
from choral.solvers.lines.cells import EVERY, Cells, Codes, Next
from choral.solvers.lines.chunks import Array
from choral.solvers.lines.program import LPResult
from choral.solvers.lines.regular_cells import RegularCells, Vertex, to_grid

GRID_BITS = 36
"""Vertices are integers over 2^36: finer than any tolerance asks, and products of four fit in few machine words."""
FIRST_PARTS = {2: 8, 3: 4, 4: 3}
"""The first points are a lattice of this fineness, by the number of values: some tens of cells."""
AROUND = 0.3
"""Points around a posterior lie at this fraction of the way to the corners of its cell: less, and cells become thin."""
NEAR_FACE, VERY_NEAR = 0.05, 0.01
"""A posterior as near to a face as this share of its cell, and this, is put on the face: thin cells stall the refinement."""
ENOUGH_TARGET, ENOUGH_ERROR = 0.25, 0.02
"""Codes are cut, the costliest first, until those left cost this share of the target, or of all errors."""
USED = 1e-12
"""Codes with less mass than this have no posterior to speak of."""
RARE = 1e-9
"""Codes rarer than this become one at the end."""


@dataclass
class Simplices(Cells):
    """Cells of one growing triangulation; `refined` changes it, and cells that are gone are in it no more.

    What was proved with them stays: the vertices of each cell, and its line, are written down.
    """

    Q: Array
    p: Array
    bits: int
    stopped: Callable[[], bool]
    hull: RegularCells
    ids: list[int] = field(init=False)
    vertices: tuple[tuple[Vertex, ...], ...] = field(init=False)
    coefficients: Array = field(init=False)
    nu: dict[int, Array] = field(default_factory=dict)
    mass: dict[int, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ids = list(self.hull.members)
        self.vertices = tuple(tuple(self.hull.vertices(i)) for i in self.ids)
        self.coefficients = self.hull.coefficients[self.ids]

    @classmethod
    def over(cls, p: Array, Q: Array, tol: float, stopped: Callable[[], bool]) -> Simplices:
        """The whole simplex; vertices are rounded to as many bits as lose well below the tolerance."""
        bits = max(10, math.ceil(0.5 * math.log2(1.0 / max(tol, 1e-15))) + 3)
        return cls(Q, p, bits, stopped, RegularCells(Q.shape[1], 1 << GRID_BITS))

    @property
    def lines(self) -> int:
        """One per cell."""
        return len(self.ids)

    @property
    def prior_cost(self) -> float:
        """H(W)."""
        return float(entropies(self.p @ self.Q))

    @property
    def least_cost(self) -> float:
        """H(W|S)."""
        return float(self.p @ entropies(self.Q))

    @property
    def _floor(self) -> Array:
        """No posterior has a smaller coordinate."""
        return np.asarray(self.Q.min(axis=0), dtype=np.float64)

    def costs(self, rows: slice = EVERY) -> Array:
        """C[s, l]."""
        return np.asarray(self.Q[rows] @ self.coefficients.T, dtype=np.float64)

    def codes(self, z: Array) -> Codes:
        """What each code costs beyond its line."""
        joint = z.T @ self.Q
        mass = joint.sum(axis=1)
        posterior = joint / np.where(mass > 0, mass, 1.0)[:, None]
        line = (self.coefficients * posterior).sum(axis=1)
        return Codes(mass, posterior, np.where(mass > USED, mass * (entropies(posterior) - line), 0.0))

    def channel(self, z: Array) -> Array:
        """All codes of mass below RARE joined into one: still private, no mass lost."""
        rare = z.sum(axis=0) < RARE
        return z if rare.sum() < 2 else np.column_stack([z[:, ~rare], z[:, rare].sum(axis=1)])

    def cost(self, z: Array) -> float:
        """H(W|Y)."""
        return float(weighted_entropies(z.T @ self.Q).sum())

    def first(self) -> Simplices:
        """The prior and a lattice on the smallest corner simplex around all posteriors."""
        values, floor = self.Q.shape[1], self._floor
        parts, room = FIRST_PARTS[values], 1.0 - floor.sum()
        points = [self.p @ self.Q]
        for counts in itertools.product(range(parts + 1), repeat=values):
            if sum(counts) == parts:
                points.append(floor + room * np.array(counts) / parts)
        for point in points:
            if not self.stopped():
                self.hull.insert(to_grid(point.tolist(), self.hull.denominator, self.bits))
        return self._now()

    def _now(self) -> Simplices:
        return Simplices(self.Q, self.p, self.bits, self.stopped, self.hull)

    def refined(self, lp: LPResult, codes: Codes, target: float, everywhere: bool = False) -> Next[Simplices]:
        """Insert the posteriors that carry the gap, never others; new cells inherit multipliers and mass."""
        self.nu = dict(zip(self.ids, lp.nu, strict=True))
        self.mass = dict(zip(self.ids, lp.z.T, strict=True))
        order = np.argsort(-codes.error)
        enough = max(ENOUGH_TARGET * target, ENOUGH_ERROR * codes.error.sum())
        tail = np.cumsum(codes.error[order][::-1])[::-1]
        chosen = [k for k, rest in zip(order.tolist(), tail, strict=True) if rest > enough]
        corners = {k: np.array(self.vertices[k]) / self.hull.denominator for k in chosen}
        for k in chosen:
            if self.stopped():
                break
            self._cut(codes.mean[k], corners[k])
        cells = self._now()
        return Next(cells, np.array([self.mass[i] for i in cells.ids]).T, np.array([self.nu[i] for i in cells.ids]))

    def _insert(self, t: Array) -> bool:
        """Add the posterior t; new cells inherit multipliers (the bound cannot fall) and mass."""
        change = self.hull.insert(to_grid(t.tolist(), self.hull.denominator, self.bits))
        if change is None:
            return False
        removed, parents = change
        nu = {new: sum(w * self.nu[old] for old, w in weights.items()) for new, weights in parents.items()}
        share = np.sum([self.mass.pop(old) for old in removed], axis=0) / len(parents)
        for old in removed:
            del self.nu[old]
        for new in parents:
            self.nu[new], self.mass[new] = np.asarray(nu[new]), share
        return True

    def _cut(self, t: Array, corners: Array) -> None:
        """Insert the posterior t of a code; in its place the point of a face that it nearly touches, or points around it."""
        floor = self._floor
        room = t - floor
        near = (room < NEAR_FACE * (corners.max(axis=0) - floor)) & (room < VERY_NEAR)
        on_face = np.where(near, floor, t)
        on_face[int(t.argmax())] += 1.0 - on_face.sum()
        if (near.any() and not near.all() and self._insert(on_face)) or self._insert(t):
            return
        for corner in corners:  # it is a vertex, as the grid has it
            self._insert(t + AROUND * (corner - t))

    def proof(self, nu: Array, rows: tuple[int, ...]) -> LinesBound:
        """The cells with their multipliers."""
        number: dict[Vertex, int] = {}
        indexed = [tuple(number.setdefault(vertex, len(number)) for vertex in cell) for cell in self.vertices]
        multipliers = tuple(tuple(Fraction(float(x)) for x in row) for row in nu)
        return LinesBound(self.hull.denominator, tuple(number), tuple(indexed), rows, multipliers)
