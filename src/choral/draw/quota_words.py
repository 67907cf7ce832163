"""What a draw by quota gave and what it costs, as data and in sentences, for whoever chooses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choral.draw.quota import Quotas, Share
from choral.draw.quota_cost import Cost, cost_of, in_words

NOT_MORE_PRIVATE = "Quotas make shares equal that can be counted. They are NOT more private than lots"
SOME = 0.01
"""Bits from which on it is said what lots tell to who knows the composition."""
MORE = "to who knows nearly everything they tell much more"


@dataclass(frozen=True)
class QuotaDrawn:
    """The shares of a draw by quota, and what it costs.

    `worst` is the share that is farthest from equal ones, `bound` below what the method promises that all are (None with
    noise, which promises nothing); `fewest` the bearers of the rarest code.
    """

    method: str
    groups: int
    worst: Share
    bound: float | None
    fewest: int
    noise: str | None
    cost: Cost

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "noise": self.noise,
            "largest_deviation": float(abs(self.worst.deviation)),
            "largest_deviation_of": {"promise": self.worst.promise, "value": self.worst.value, "code": self.worst.code},
            "bound": self.bound,
            "fewest_bearers": self.fewest,
            **self.cost.to_json(),
        }

    @property
    def lines(self) -> list[tuple[str, str]]:
        """What was reached and what it costs, for people: a word and a sentence each."""
        noise = "" if self.noise is None else f", with noise {self.noise}"
        return [("drawn", f"by quota{noise}: {self.reached}"), *(("quota tells", line) for line in said_of(self.cost))]

    @property
    def reached(self) -> str:
        """How near shares are to equal ones."""
        most = f"{float(abs(self.worst.deviation)):.2f} records"
        promised = "with noise nothing is promised of it" if self.bound is None else f"promised: below {self.bound:.2f}"
        return (
            f"every code has its share of every protected value, to within {most} ({self.worst.value}, code "
            f"{self.worst.code}; {promised})"
        )


def said_of(cost: Cost) -> list[str]:
    """What quotas cost, in sentences."""
    return [
        f"{NOT_MORE_PRIVATE}: {MORE}.",
        f"Somebody who knows all other records learns {cost.others.about}: {in_words(cost.others)}; by lots "
        f"{in_words(cost.others_by_lots)}.",
        f"Somebody who knows all other bearers of a code learns {cost.bearers.about}: {in_words(cost.bearers)}; by lots "
        f"{in_words(cost.bearers_by_lots)}{_composed(cost)}.",
    ]


def _composed(cost: Cost) -> str:
    """Where lots tell much, too, to somebody who knows even more."""
    if cost.bearers_by_lots_composed.bits < max(SOME, 2 * cost.bearers_by_lots.bits):
        return ""
    return f"; if he knows also how many records of each state there are, {in_words(cost.bearers_by_lots_composed)}"


def told_of(quotas: Quotas) -> QuotaDrawn:
    """What these quotas give and cost."""
    shares = quotas.shares()
    worst = max(shares, key=lambda share: abs(share.deviation))
    bounds = [share.bound for share in shares if share.bound is not None]
    noise = None if quotas.noise is None else f"{quotas.noise:f}"
    bound = float(max(bounds)) if bounds else None
    return QuotaDrawn(quotas.method, len(quotas.promises), worst, bound, min(quotas.bearers), noise, cost_of(quotas))
