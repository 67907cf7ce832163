"""`Audit`, what an audit found: plain frozen data, in words and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from choral.auditing.advice import UNLIKELY, Finding, findings_of, summary_of
from choral.auditing.composition import CompositionLeak
from choral.auditing.findings import listings
from choral.auditing.out_of_sample import OutOfSample
from choral.auditing.output_tests import OutputTests
from choral.auditing.quota_shares import QuotaShares
from choral.describe.display import counted
from choral.release.leakage import Leakage
from choral.tables.binned import Cutting


@dataclass(frozen=True)
class Together:
    """What the code tells about several columns together; `excess` is beyond the most telling part of them."""

    leakage: Leakage
    excess: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.leakage.to_json(), "excess": self.excess}


@dataclass(frozen=True)
class Looked:
    """How many were computed, of how many there are."""

    at: int
    of: int


@dataclass(frozen=True)
class UnderLaw:
    """What the code tells about each protected group under one law, `rows` rows of a table where it is one's frequencies.

    `given` is what it tells about Z to whoever knows V, for each promise `Z | V`.
    """

    name: str
    rows: int | None
    groups: tuple[Leakage, ...]
    given: tuple[Leakage, ...] = ()

    @property
    def private(self) -> bool:
        """Whether every group, and Z given V of every promise, is independent of the code under this law, in integers."""
        return all(leak.zero for leak in (*self.groups, *self.given))

    @property
    def worst(self) -> Leakage:
        """What is told most about, of all that is protected."""
        return max((*self.groups, *self.given), key=lambda leak: leak.bits)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        groups, given = ([leak.to_json() for leak in leaks] for leaks in (self.groups, self.given))
        return {"name": self.name, "rows": self.rows, "private": self.private, "groups": groups, "given": given}


@dataclass(frozen=True, repr=False)
class Audit:
    """The findings. `laws[0]` is the release's own law, under which every group without a budget is private by proof; so is
    it under the next `further` laws, which the release declares.

    `columns` are those in no protected group, the target first; `together` pairs and triples, by what they tell beyond
    their parts; `knowing` what the code tells about a protected group to someone who knows another column. These are under
    the law named `view`. Both last have the largest leaks only; `looked` says how many were computed. `absence` is what it
    tells about each protected group that a record of the table has no code, where `missing drop` leaves some out. `beyond`
    is what it tells where promises `Z | V` end: to whoever knows V in part, or another column as well.

    `bins` are the columns that are cut, and how: everywhere else such a column stands for its bin. `inside` is
    what the code tells about the raw values of protected ones, under the table. `score` names the bin of a score, which is
    no column of the table: nobody can protect it, and it is in no pair or triple.
    """

    digest: str
    target: tuple[str, ...]
    codes: int
    view: str
    laws: tuple[UnderLaw, ...]
    budgets: tuple[str | None, ...]
    further: int
    columns: tuple[Leakage, ...]
    together: tuple[Together, ...]
    knowing: tuple[Leakage, ...]
    beyond: tuple[Leakage, ...]
    absence: tuple[Leakage, ...]
    composition: tuple[CompositionLeak, ...]
    out_of_sample: tuple[OutOfSample, ...]
    output: OutputTests | None
    bins: Mapping[str, Cutting]
    inside: tuple[Leakage, ...]
    score: str | None
    looked: Mapping[str, Looked]
    notes: tuple[str, ...]
    held: Mapping[tuple[str, ...], float] = field(default_factory=dict)
    """H of each protected group under the release's own law, in bits: no bound above it says anything."""
    quota: QuotaShares | None = None
    """Of codes that were drawn by quota: their shares, counted."""
    told: tuple[tuple[str, Leakage], ...] = ()
    """What the code tells about the target: under its own law, of records to come, and on the validation table."""
    unlooked: tuple[str, ...] = ()
    """What could not be looked at without the table, a sentence each; they are among the notes too."""

    @property
    def private(self) -> bool:
        """Whether all that is protected is independent of the code under the release's own law, decided in integers."""
        return self.laws[0].private

    @property
    def proved(self) -> bool:
        """Whether each group without a budget is independent of the code under each declared law, and promises `Z | V` hold.

        Budgets are checked where a release is loaded, by the verifier.
        """
        declared = self.laws[: 1 + self.further]
        return all(leak.zero for law in declared for leak in law.given) and all(
            x.zero for law in declared for x, b in zip(law.groups, self.budgets, strict=True) if b is None
        )

    @property
    def kept(self) -> bool:
        """Whether what is promised holds, also of records that have no code: that they have none tells of no group."""
        return self.proved and all(leak.zero for leak in self.absence)

    @property
    def passed(self) -> bool:
        """Whether what is promised holds, and the codes that were given out, if any, pass the tests of it."""
        tests = () if self.output is None else self.output.tests
        shares = self.quota is None or (self.quota.kept and not (self.output and self.output.impossible))
        return self.kept and shares and not any(test.protected and test.adjusted < UNLIKELY for test in tests)

    @property
    def summary(self) -> str:
        """What holds, then at most five findings, the gravest first, each with what to do."""
        return summary_of(self)

    @property
    def findings(self) -> list[Finding]:
        """Everything that a curator decides about, the gravest first."""
        return findings_of(self)

    def told_at_most(self, bound: OutOfSample) -> float | None:
        """The largest bound in bits, None where it says nothing: no group holds more than it has."""
        if any(group.bits >= self.held.get(group.about, math.inf) for group in bound.groups):
            return None
        return bound.bits

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        kept = "kept" if self.kept else "BROKEN"
        tests = "" if self.output is None else f", the codes {'passed' if self.passed else 'FAILED'}"
        return f"Audit({'+'.join(self.target)}, {counted(self.codes, 'code')}: the promise is {kept}{tests})"

    def to_json(self) -> dict[str, Any]:
        """Plain data, nothing rounded."""
        return {
            "digest": self.digest,
            "target": list(self.target),
            "codes": self.codes,
            "private": self.private,
            "kept": self.kept,
            "passed": self.passed,
            "budgets": list(self.budgets),
            "view": self.view,
            "laws": [law.to_json() for law in self.laws],
            "columns": [leak.to_json() for leak in self.columns],
            "together": [leak.to_json() for leak in self.together],
            "knowing": [leak.to_json() for leak in self.knowing],
            "beyond": [leak.to_json() for leak in self.beyond],
            "absence": [leak.to_json() for leak in self.absence],
            "composition": [leak.to_json() for leak in self.composition],
            "out_of_sample": [bound.to_json() for bound in self.out_of_sample],
            "output": None if self.output is None else self.output.to_json(),
            "quota": None if self.quota is None else self.quota.to_json(),
            "bins": {name: cutting.many for name, cutting in self.bins.items()},
            "inside_bins": [leak.to_json() for leak in self.inside],
            "score": self.score,
            "looked": {name: {"at": looked.at, "of": looked.of} for name, looked in self.looked.items()},
            "told": [{"of": name, **leak.to_json()} for name, leak in self.told],
            "notes": list(self.notes),
            "findings": [finding.to_json() for finding in self.findings],
            "summary": self.summary,
        }

    def _repr_html_(self) -> str:
        tables = "".join(listing.html() for listing in listings(self))
        return f"<p>{escape(self.summary)}</p>{''.join(f'<p>{escape(note)}</p>' for note in self.notes)}{tables}"
