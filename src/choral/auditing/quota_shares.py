"""Codes that were drawn by quota: the shares that they have in the table, counted, beside those that were promised.

Tests of lots do not apply to them: codes are not independent of each other, and are nearer to equal shares than lots ever
come. What was promised can be counted instead, exactly. So can what the codes tell somebody who knows the composition of the
table and no record: all that he sees of one record is its code, so I(Z; Y) of the published columns.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from choral.draw.quota import Chosen, Quotas, Share
from choral.draw.quota_cost import Cost, cost_of
from choral.draw.quota_words import said_of
from choral.errors import ChoralError, ProblemError
from choral.release.file import Release

MOST_SHOWN = 12
"""Shares that are listed, those farthest from equal first."""

Rows = Sequence[tuple[int | None, int, tuple[int | None, ...], int]]
"""State, code, places of the values of some columns, and how many records have them."""


@dataclass(frozen=True)
class QuotaShares:
    """The shares that were counted, farthest from equal ones first; and what the draw costs.

    `as_settled` says that each kind of records has each code as often as the quotas of the release say: to the record.
    `bits` is I(Z; Y) in the published table, for the promise where it is largest.
    """

    noise: str | None
    method: str
    as_settled: bool
    shares: tuple[Share, ...]
    bits: float
    cost: Cost

    @property
    def worst(self) -> Share:
        """The share that is farthest from an equal one."""
        return self.shares[0]

    @property
    def kept(self) -> bool:
        """Whether the codes are those of the quotas, and all shares within what was promised."""
        return self.as_settled and all(s.bound is None or abs(s.deviation) < s.bound for s in self.shares)

    @property
    def sentence(self) -> str:
        """What was counted, in words."""
        worst, most = self.worst, float(abs(self.worst.deviation))
        bounds = [share.bound for share in self.shares if share.bound is not None]
        promised = f"below {float(max(bounds)):.2f} was promised" if bounds else "with noise nothing was promised"
        if not self.as_settled:
            return "The codes are NOT those of the quotas of this release: counts of records and codes are others"
        return (
            f"The codes were drawn by quota. Every code has its share of every protected value to within {most:.2f} records "
            f"({worst.value}, code {worst.code}; {promised}); tests of lots do not apply"
        )

    @property
    def sentences(self) -> list[str]:
        """What was counted and what it costs."""
        return [f"{self.sentence}.", *said_of(self.cost)]

    def to_json(self) -> dict[str, Any]:
        """Plain data, nothing rounded."""
        return {
            "noise": self.noise,
            "method": self.method,
            "as_settled": self.as_settled,
            "kept": self.kept,
            "bits": self.bits,
            "shares": [
                {
                    "promise": share.promise,
                    "value": share.value,
                    "code": share.code,
                    "records": share.records,
                    "equal_share": float(share.product),
                    "bound": None if share.bound is None else float(share.bound),
                }
                for share in self.shares
            ],
            **self.cost.to_json(),
        }


def quotas_of(release: Release, draw: str | None, noise: float | str | None, table: str | None) -> Quotas | None:
    """The quotas by which codes may have been drawn; None where it is said, or clear from the release, that they were not."""
    if draw is None and noise is None:
        try:
            return Quotas.of(release)
        except ChoralError:
            return None
    return Chosen.of(draw or "quota", noise).quotas(release, table)


def counted_shares(quotas: Quotas, rows: Rows, names: Sequence[str], said: bool) -> QuotaShares | None:
    """The shares of codes that were given out; None if they are not these quotas and nobody `said` that they are."""
    where = [names.index(name) for name in quotas.beside]
    place = {number: cell for cell, number in enumerate(quotas.numbers)}
    counts: list[defaultdict[int, int]] = [defaultdict(int) for _ in quotas.numbers]
    strange = False
    for state, code, values, n in rows:
        number = state
        for i, width in zip(where, quotas.widths, strict=True):
            value = values[i]
            number = None if number is None or value is None else number * width + value
        cell = None if number is None else place.get(number)
        if cell is None:
            strange = True
        else:
            counts[cell][code] += n
    found = tuple(dict(row) for row in counts)
    as_settled = not strange and all(a == b for a, b in zip(found, quotas.counts, strict=True))
    if not as_settled and not said:
        return None
    if strange or [sum(row.values()) for row in found] != list(quotas.sizes):
        raise ProblemError(
            "The codes are not of the table that the release was fitted on, so they were not drawn by its quotas.",
            "Give the table and the codes that were disclosed, or leave out --draw quota.",
        )
    shares = sorted(quotas.shares(found), key=lambda share: -abs(share.deviation))
    noise = None if quotas.noise is None else f"{quotas.noise:f}"
    return QuotaShares(noise, quotas.method, as_settled, tuple(shares), _bits(quotas, shares), cost_of(quotas))


def _bits(quotas: Quotas, shares: Sequence[Share]) -> float:
    """I(Z; Y | V) of the published columns, largest over the promises."""
    found: defaultdict[str, float] = defaultdict(float)
    for share in shares:
        if share.records:
            found[share.promise] += share.records / quotas.records * math.log2(share.records / share.product)
    return max(found.values(), default=0.0)
