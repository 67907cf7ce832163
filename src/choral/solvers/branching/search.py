"""The search for targets of many values: generate extreme points, prove with a tree of boxes that none is missing.

Minimise H(W|Y) = sum_j u_j H(Q^T x_j) over mixtures of private posteriors x_j that give the prior. For multipliers a of the
states, a · p + min over private x of [H(Q^T x) - a · x] is a lower bound on H(W|Y) (every mixture averages H - a · x, and a
· x averages to a · p). That is a minimum of a concave function which is not linear in the law of W alone, so it is found by
branching there: laws of W are cut into boxes, and in each the entropy is at least the sum of chords over its sides, which
leaves a linear program. Its line and multipliers prove the bound of the box (`choral.proofs.tree`). A box is cut where the
program wants to be, so that the chords meet the entropy there. Where the minimum of a box is a real one, the point joins
the mixture, and a changes; lines stay lines, whatever a is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from choral.describe.entropy import entropies
from choral.problem.solution import Status
from choral.proofs.tree import CUT_BITS, LINE_BITS, MULTIPLIER_BITS, TreeBound
from choral.solvers.branching.boxes import Box
from choral.solvers.branching.programs import NOTHING, Boxes, Mixing, Posteriors
from choral.solvers.highs import Array

Progress = Callable[[float, float, str], None]

TRIES = 24
"""Directions at random that a round of generating points begins with, beside the points in use."""
ROUNDS = 300
"""Rounds of generating points at the most; each is a few hundredths of a second, and most searches end before."""
BLUNT, SHARP = 0.02, 1e-300
"""Descents follow tangents as if no value were rarer than this, first the one and then the other: where a point excludes a
value the true tangent is vertical, and leads nowhere (1 to 3 % more is told about targets that determine the state)."""
TINY = 1e-9
"""Bits: a point that improves by less is no new point."""
FEW = 40
"""Real minima that are collected before the mixture is solved anew: fewer solve it too often, more use old multipliers."""
NEVER_BELOW = 1e-9
"""Bits: floats do not close a gap further."""
RECENT = 64
"""Lines found last that are tried on a box before its program is solved: together they take a tenth of its time."""
ROUNDED = 1e-13
"""Share of its largest coefficient that a line is lowered by: more than floats get wrong of so short a sum."""
EDGE = 0.1
"""No cut is nearer to an end of a side than this share of it: slivers prove nothing."""


@dataclass(eq=False)
class Leaf:
    """A box of laws of W, the line that bounds it, and where its program wanted to be."""

    box: Box
    line: int
    wanted: Array | None = None
    priced: int = -1
    """For which multipliers of states its program was solved last."""
    cut: tuple[tuple[int, int], Leaf, Leaf] | None = None
    """The value along which it was cut, and where, in units of 2^-CUT_BITS; and its halves."""


@dataclass(frozen=True)
class Branched:
    """p(s, y) in floats, the proof, how many boxes it has, how the search ended, and its history."""

    z: Array
    proof: TreeBound
    boxes: int
    status: Status
    history: tuple[tuple[float, float], ...]


@dataclass
class Branching:
    """One search; `run` does it."""

    p: Array
    M: Array
    Q: Array
    rows: tuple[int, ...]
    tol: float = 1e-6
    rel_tol: float | None = None
    most_boxes: int = 12_000
    most_work: float = np.inf
    """Sizes of programs, added up over their solves, at which the search ends; half of it may go into generating points."""
    progress: Progress | None = None
    should_stop: Callable[[], bool] = lambda: False
    ahead: Callable[[int], None] = lambda boxes: None
    history: list[tuple[float, float]] = field(default_factory=list)

    def run(self) -> Branched:
        """A channel and a proof, whatever ends the search."""
        self.entropy = float(entropies(self.p @ self.Q))
        tangent = self.Q @ -np.log2(np.maximum(self.p @ self.Q, 1e-300))
        self.polytope, self.mixing = Posteriors(self.M), Mixing(self.p, self.entropy, tangent)
        self.known: set[tuple[int, ...]] = set()
        self.random = np.random.default_rng(0)  # which points are tried; what is found is proved or not
        self._generate()
        self._grow()
        status = self._prove()
        return self._found(status)

    @property
    def work(self) -> int:
        """What the programs took so far."""
        return self.polytope.work + self.programs.work

    # -- points -----------------------------------------------------------------------------

    def _add(self, x: Array) -> bool:
        """Add an extreme point, which its support determines, unless it is there; whether it was new."""
        support = tuple(np.flatnonzero(x).tolist())
        if support in self.known:
            return False
        self.known.add(support)
        self.mixing.add(x, float(entropies(x @ self.Q)))
        return True

    def _descend(self, x: Array, a: Array) -> tuple[Array, float]:
        """Go down H(Q^T x) - a · x from one extreme point to the next: below a concave function lies its tangent."""
        value = float(entropies(x @ self.Q)) - float(a @ x)
        for steepest in (BLUNT, SHARP):
            while True:
                below = self.polytope.least(self.Q @ -np.log2(np.maximum(x @ self.Q, steepest)) - a)
                lower = np.inf if below is None else float(entropies(below @ self.Q)) - float(a @ below)
                if below is None or not lower < value - TINY:
                    break
                x, value = below, lower
        return x, value

    def _generate(self) -> None:
        """Add points until descents find none that is missing."""
        for _ in range(ROUNDS):
            value, a, weights = self.mixing.solve()
            self._say(value)
            starts = [self.mixing.points[j] for j in np.flatnonzero(weights > NOTHING)]
            for _ in range(TRIES):
                direction = self.random.normal(size=self.Q.shape[1]) * self.random.choice([0.3, 1.0, 3.0])
                start = self.polytope.least(self.Q @ direction - a)
                starts += [] if start is None else [start]
            if not self._add_better([self._descend(x, a) for x in starts], TINY) or self.should_stop():
                return
            if self.polytope.work > self.most_work / 2:
                return

    def _add_better(self, found: list[tuple[Array, float]], by: float) -> int:
        """Add the points whose value is below zero by more than this; how many are new."""
        return sum([self._add(x) for x, value in found if value < -by])

    # -- boxes ------------------------------------------------------------------------------

    def _grow(self) -> None:
        """The root: the smallest box, in units, that holds P(W given state) for every state."""
        unit = 1 << CUT_BITS
        self.low = tuple(max(int(x * unit) - 1, 0) for x in self.Q.min(axis=0))
        self.high = tuple(min(int(x * unit) + 2, unit) for x in self.Q.max(axis=0))
        self.lines: list[Array] = [np.full(len(self.low), -(2.0**-LINE_BITS))]  # zero less what chords are rounded by
        self.multipliers: list[Array] = [np.zeros(self.M.shape[1])]
        self.at_states: list[Array] = [np.full(len(self.p), -(2.0**-LINE_BITS))]
        self.root = Leaf(Box(np.array(self.low) / unit, np.array(self.high) / unit), 0)
        self.leaves = [self.root]
        self.programs = Boxes(self.M, self.Q)
        self.prices = -1

    def _reprice(self) -> None:
        """Solve the mixture; what every line proves for the new multipliers of states."""
        self.best, self.a, _ = self.mixing.solve()
        self.prices += 1
        self.proves = (np.array(self.at_states) - self.a).min(axis=1).tolist()

    def _bound(self) -> float:
        """What the lines in use prove about H(W|Y), from below."""
        used = sorted({leaf.line for leaf in self.leaves})
        return float(self.p @ np.array([self.at_states[i] for i in used]).min(axis=0))

    def _prove(self) -> Status:
        """Cut boxes until the bound is as near as is wanted, or boxes are too many, or it is time."""
        self._reprice()
        before = np.inf
        while True:
            gap = self.best - self._bound()
            self._say(self.best, self.entropy - self.best + gap)
            wanted = max(self.tol, (self.rel_tol or 0.0) * (self.entropy - self.best), NEVER_BELOW)
            if gap <= wanted:
                return Status.OPTIMAL
            if not gap < before:  # every box is where it should be: multipliers are beyond floats
                return Status.STALLED
            before = gap
            ended = self._reach(max(0.95 * wanted, gap / 2))
            if ended is not None:
                gap = self.best - self._bound()
                self._say(self.best, self.entropy - self.best + gap)
                return Status.OPTIMAL if gap <= wanted else ended

    def _reach(self, goal: float) -> Status | None:
        """Bring every box above minus the goal; None when that is done."""
        while True:
            left = [leaf for leaf in self.leaves if self.proves[leaf.line] < -goal]
            done = [leaf for leaf in self.leaves if self.proves[leaf.line] >= -goal]
            good = sorted({leaf.line for leaf in done}, key=lambda i: self.proves[i])[-RECENT:]
            missing: list[tuple[Array, float]] = []
            waiting: list[Leaf] = []
            ended = None
            while left and len(missing) < FEW and ended is None:
                boxes = len(done) + len(left) + len(waiting)
                leaf = left.pop()
                self.ahead(boxes)
                if self.should_stop():
                    ended = Status.STOPPED
                elif self.work > self.most_work:
                    ended = Status.WORK_LIMIT
                elif boxes > self.most_boxes:
                    ended = Status.LEVEL_LIMIT
                if ended is not None or self._settled(leaf, good, goal):
                    (done if ended is None else waiting).append(leaf)
                    continue
                real = self._real_minimum(leaf, goal)
                if real is not None:
                    missing.append(real)
                    waiting.append(leaf)
                    continue
                left += self._halves(leaf)
            self.leaves = done + left + waiting
            if ended is not None or not missing:
                return ended
            if not self._add_better(missing, TINY):
                return Status.STALLED
            self._reprice()
            self._say(self.best, self.entropy - self._bound())

    def _settled(self, leaf: Leaf, good: list[int], goal: float) -> bool:
        """Whether a line is known, or found, that brings the box above minus the goal."""
        if good:
            recent = good[-RECENT:]
            below = np.flatnonzero(leaf.box.above(np.array([self.lines[i] for i in recent])) <= 0.0)
            if len(below):
                leaf.line = recent[int(below[-1])]
                return True
        if leaf.priced == self.prices:
            return False
        found = self.programs.solve(leaf.box, self.a)
        leaf.priced, leaf.wanted = self.prices, None if found is None else found.x
        if found is None:
            return False
        line = self._line(found.line, found.multipliers, leaf.box)
        if self.proves[line] > self.proves[leaf.line]:
            leaf.line = line
        if self.proves[leaf.line] < -goal:
            return False
        good.append(leaf.line)
        return True

    def _real_minimum(self, leaf: Leaf, goal: float) -> tuple[Array, float] | None:
        """The extreme point below, where the program of the box ends at a point that really is below."""
        x = leaf.wanted
        if x is None or float(entropies(x @ self.Q)) - float(self.a @ x) >= -goal / 2:
            return None
        return self._descend(x, self.a)

    def _line(self, line: Array, multipliers: Array, box: Box) -> int:
        """Keep a line, lowered below the chords of its box, with its multipliers; its number."""
        multipliers = np.round(multipliers * 2.0**MULTIPLIER_BITS) / 2.0**MULTIPLIER_BITS
        line = line - float(box.above(line[None])[0]) - 2.0 ** (4 - LINE_BITS) - ROUNDED * float(np.abs(line).max())
        line = np.floor(line * 2.0**LINE_BITS) / 2.0**LINE_BITS
        self.lines.append(line)
        self.multipliers.append(multipliers)
        self.at_states.append(self.Q @ line - self.M @ multipliers)
        self.proves.append(float((self.at_states[-1] - self.a).min()))
        return len(self.lines) - 1

    def _halves(self, leaf: Leaf) -> list[Leaf]:
        """Cut the side whose chord is furthest below, near where the program wanted to be; empty halves are left out."""
        box = leaf.box
        width = box.high - box.low
        t = (box.low + box.high) / 2 if leaf.wanted is None else leaf.wanted @ self.Q
        t = np.clip(t, box.low + EDGE * width, box.high - EDGE * width)
        w = int(box.bends(t).argmax())
        cut = round(float(t[w]) * (1 << CUT_BITS))
        low, high = box.low.copy(), box.high.copy()
        low[w] = high[w] = cut / (1 << CUT_BITS)
        halves = Leaf(Box(box.low, high), leaf.line), Leaf(Box(low, box.high), leaf.line)
        leaf.cut, leaf.wanted = ((w, cut), *halves), None
        return [half for half in halves if not half.box.empty]

    # -- what was found ---------------------------------------------------------------------

    def _say(self, value: float, upper_bound: float | None = None) -> None:
        information = max(self.entropy - value, 0.0)
        if upper_bound is not None:
            self.history.append((information, upper_bound))
        if self.progress is not None:
            what = f"{len(self.leaves)} boxes" if upper_bound is not None else f"{len(self.mixing.points)} points"
            self.progress(information, upper_bound if upper_bound is not None else self.entropy, what)

    def _found(self, status: Status) -> Branched:
        _, _, weights = self.mixing.solve()
        used = np.flatnonzero(weights > NOTHING)
        z = np.array([weights[j] * self.mixing.points[j] for j in used]).T
        number: dict[int, int] = {}
        tree: list[tuple[int, ...]] = []
        stack = [self.root]
        while stack:
            leaf = stack.pop()
            if leaf.cut is not None:
                cut, lower, upper = leaf.cut
                tree.append(cut)
                stack += [upper, lower]
            elif leaf.box.empty:
                tree.append(())
            else:
                tree.append((number.setdefault(leaf.line, len(number)),))
        proof = TreeBound(
            self.low,
            self.high,
            tuple(tree),
            tuple(tuple(int(x * 2**LINE_BITS) for x in map(Fraction, self.lines[i].tolist())) for i in number),
            self.rows,
            tuple(tuple(map(Fraction, self.multipliers[i].tolist())) for i in number),
        )
        return Branched(z, proof, len(self.leaves), status, tuple(self.history))
