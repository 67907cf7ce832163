"""Beside one another: what searches within some budgets found, and what that gives within others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from choral.problem.kernel import Floats
from choral.problem.solution import ExactChannel
from choral.proofs.lines import LinesBound
from choral.solvers.lines.budget_program import Group
from choral.solvers.lines.cells import Cells
from choral.solvers.lines.refinement import Equations, proved

AIM = 0.8
"""Share of the tolerance at which a search ends: the rest is for joining codes and for exact arithmetic."""
ROOM = 1e-9
"""Share of a budget that a mixture leaves free, so that rounding does not exceed it."""


@dataclass(frozen=True)
class Known:
    """A channel that was found: masses p(s, y), one row per state, and the bits that it tells, and leaks of groups.

    Of a group that it does not name it leaks nothing. `exact` is the same channel in integers, once it was made.
    """

    z: Floats
    told: float
    leaks: dict[int, float]
    exact: ExactChannel | None = None

    @classmethod
    def of(cls, z: Floats, told: float, groups: Sequence[Group]) -> Known:
        """With what it leaks of these groups."""
        return cls(z, told, {group.position: group.leak(z) for group in groups})

    def keeps(self, groups: Sequence[Group]) -> bool:
        """Whether it is within these budgets, as far as floats can tell."""
        return all(
            self.leaks.get(group.position, 0.0) <= group.amount
            if group.kind == "leakage"
            else group.keeps_ratio(self.z)
            for group in groups
        )


@dataclass(frozen=True)
class Mixture:
    """Two channels of which one is used with probability `share` and else the other, and the choice is published."""

    told: float
    share: float
    one: Known
    other: Known

    @property
    def z(self) -> Floats:
        """Masses p(s, y), one row per state."""
        parts = [(1 - self.share) * self.other.z, self.share * self.one.z]
        return np.hstack([part for part, share in zip(parts, (1 - self.share, self.share), strict=True) if share > 0])


@dataclass(frozen=True)
class Proved:
    """Cells with multipliers, and what they prove that is told within budgets of these groups at most."""

    bound: LinesBound
    cells: Cells
    nu: Floats
    groups: tuple[Group, ...]
    told: float

    def linear(self, groups: Sequence[Group]) -> float | None:
        """What they prove within other budgets of the same groups, by their prices; None where some are factors."""
        amount = {group.position: group.amount for group in groups}
        if any(group.kind == "ratio" for group in (*self.groups, *groups)):
            return None
        priced = zip(map(float, self.nu[0, self.nu.shape[1] - len(self.groups) :]), self.groups, strict=True)
        return self.told + sum(price * (amount[group.position] - group.amount) for price, group in priced)

    def within(self, kept: Equations) -> float:
        """What they prove within other budgets of the same groups."""
        return self.cells.prior_cost - proved(self.cells, kept, self.nu)[0]


@dataclass
class Beside:
    """What searches within other budgets of the same groups found, for the same law and question; it holds within these too.

    *Bounds.* Multipliers prove a bound whatever the budgets are: with prices λ what they prove is linear in budgets of bits,
    a tangent of the best there is, which is concave. *Channels.* One that leaks no more than is allowed serves as it is; and
    where one of two is used with probability w and the other with 1 - w, and the choice is published, what is told and what
    leaks is the mean, and no ratio grows.
    """

    channels: list[Known] = field(default_factory=list)
    private: ExactChannel | None = None
    """The best that is private, once it was looked for: it is within every budget."""
    proofs: list[Proved] = field(default_factory=list)

    def made(self, exact: ExactChannel, told: float) -> None:
        """The last channel is this one in integers, which tells so much."""
        self.channels[-1] = replace(self.channels[-1], exact=exact, told=min(told, self.channels[-1].told))

    def best(self, groups: Sequence[Group]) -> Known | None:
        """The channel that tells most of those that were made and are within these budgets as they are."""
        kept = [known for known in self.channels if known.exact is not None and known.keeps(groups)]
        return max(kept, key=lambda known: known.told, default=None)

    def same(self, groups: Sequence[Group], most: float, wanted: Callable[[float], float]) -> Known | None:
        """That channel, if it is good enough within these budgets, where so much is told at most."""
        best = self.best(groups)
        return None if best is None or most - best.told > wanted(best.told) else best

    def serves(self, groups: Sequence[Group], most: float, wanted: Callable[[float], float]) -> bool:
        """Whether no search is needed within these budgets, within which the law alone says that so much is told at most."""
        most = min([most, *(told for proof in self.proofs if (told := proof.linear(groups)) is not None)])
        mixture = self.mixture(groups)
        enough = mixture is not None and most - mixture.told <= AIM * wanted(mixture.told)
        return enough or self.same(groups, most, wanted) is not None

    def mixture(self, groups: Sequence[Group]) -> Mixture | None:
        """The best channel that one or two of the known ones make within the budgets."""
        known = [channel for channel in self.channels if all(group.keeps_ratio(channel.z) for group in groups)]
        limited = [group for group in groups if group.kind == "leakage"]
        if not known:
            return None
        most = np.array([(1 - ROOM) * group.amount for group in limited])
        room = most - np.array([[channel.leaks.get(g.position, 0.0) for g in limited] for channel in known])
        inside = np.flatnonzero(room.min(axis=1, initial=0.0) >= 0)
        if not len(inside):
            return None
        told, spare = np.array([channel.told for channel in known]), room[inside, None]
        share = np.where(room < 0, spare / np.where(room < 0, spare - room, 1.0), 1.0).min(axis=2, initial=1.0)
        mean = told[inside, None] + share * (told - told[inside, None])
        i, j = divmod(int(mean.argmax()), len(known))
        return Mixture(float(mean[i, j]), float(share[i, j]), known[j], known[inside[i]])
