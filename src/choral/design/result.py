"""`Disclosure`, the result: a private channel with what is claimed of it and why.

It is frozen. It carries the law, the problem, the solution and its claims; the document that the stand-alone verifier
checks is derived from them, and it can be saved only after that verifier has accepted it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from choral.describe.display import LawTable, at_most, figure, in_bits, percent
from choral.describe.law import Law
from choral.describe.records import values_of
from choral.errors import ColumnError
from choral.exact import certificate
from choral.exact.purpose import advised, value_of_nothing
from choral.files import check_output, path_of, write_whole
from choral.problem.bounds import Bounds, bounds_of
from choral.problem.kernel import Floats, Problem
from choral.problem.solution import Claims, ExactChannel, Solution, Status
from choral.problem.utility import Decisions

SHOWN = 6
"""Protected groups, and promises given what others know, that one line about a disclosure names: more do not fit it."""
QUICK = 100_000
"""Entries of a channel for which right guesses are computed for a line about it: a quarter of a second."""


@dataclass(frozen=True, eq=False)
class Disclosure:
    """A private channel with its certificate. Information is in bits; everything that matters is exact.

    Rows of `exact` are codes, columns are `states`. `information` is achieved by this channel; no private channel
    exceeds `upper_bound`. `verify()` has the stand-alone verifier recompute every claim.
    """

    law: Law
    problem: Problem
    solution: Solution
    claims: Claims
    notes: Mapping[str, Any] = field(default_factory=dict)
    bound_verified: bool = True
    """Whether `upper_bound` was derived here or recomputed by the verifier; of one from a file, not before `verify()`."""

    # ---- numbers ------------------------------------------------------------------------------------------------

    @property
    def information(self) -> float:
        """I(W;Y), rounded down in the fifteenth decimal."""
        return float(self.claims.information)

    @property
    def upper_bound(self) -> float:
        """What no private channel exceeds, rounded up in the fifteenth decimal."""
        return float(self.claims.upper_bound)

    @property
    def as_claimed(self) -> str:
        """What to say after `upper_bound` where nobody has recomputed it yet; else nothing."""
        return "" if self.bound_verified else " (claimed; verify() recomputes it)"

    @property
    def gap(self) -> float:
        """How far the channel can be from the best, in the unit of the utility: value_bound - value."""
        if self.claims.value is not None and self.claims.value_bound is not None:
            return float(self.claims.value_bound - self.claims.value)
        return max(0.0, self.upper_bound - self.information)

    @property
    def value(self) -> float:
        """What the code is worth in the unit of the utility, higher is better.

        Bits; the probability of a right decision; minus the expected loss; or the variance explained.
        """
        return self.information if self.claims.value is None else float(self.claims.value)

    @property
    def value_bound(self) -> float:
        """What no private code is worth more than, in the unit of the utility."""
        return self.upper_bound if self.claims.value_bound is None else float(self.claims.value_bound)

    @cached_property
    def value_without(self) -> float:
        """What could be had without any code, in the unit of the utility."""
        return 0.0 if self.problem.utility is None else float(value_of_nothing(self.problem))

    @cached_property
    def actions(self) -> tuple[Any, ...] | None:
        """What each code advises, where the utility is about decisions; None where it is not."""
        utility = self.problem.utility
        if not isinstance(utility, Decisions):
            return None
        return tuple(utility.actions[a] for a in advised(self.problem, self.exact_channel))

    @property
    def efficiency(self) -> float:
        """information / H(W); 0 when W is constant."""
        entropy = self.problem.entropy_of_target
        return self.information / entropy if entropy else 0.0

    @cached_property
    def guess_before(self) -> float:
        """The probability of guessing the target right without the code."""
        return max(self.problem.target.marginal) / self.problem.total

    @cached_property
    def guess_after(self) -> float:
        """The probability of guessing the target right with the code."""
        return float(sum(mass * max(law) for mass, law in zip(self.p_y, self.p_w_given_y, strict=True)))

    @property
    def leakage(self) -> dict[str, float]:
        """I(Z;Y) in bits of every protected group by name: zero where it is private; rounded up where it has a budget."""
        stated = self.claims.leakage or (None,) * len(self.problem.groups)
        return {group.name: float(bits or 0.0) for group, bits in zip(self.problem.groups, stated, strict=True)}

    @property
    def how(self) -> str:
        """What was chosen to solve the problem, and why."""
        return self.solution.how

    @property
    def status(self) -> Status:
        """How the search ended; `Status.UNKNOWN` after loading a file that does not say."""
        return self.solution.status

    @property
    def history(self) -> tuple[tuple[float, float], ...]:
        """The interval (information, upper bound), in bits, as the search closed it; empty where there was none."""
        return self.solution.history

    @property
    def bounds(self) -> Bounds:
        """What could be said before solving."""
        return bounds_of(self.problem)

    # ---- the channel --------------------------------------------------------------------------------------------

    @property
    def states(self) -> tuple[tuple[Any, ...], ...]:
        """Values of the used columns, in the order of the channel's columns."""
        return self.problem.states

    @property
    def exact_channel(self) -> ExactChannel:
        """p(y | s) in integers."""
        return self.solution.channel

    @property
    def codes(self) -> int:
        """The number of codes."""
        return self.exact_channel.codes

    @cached_property
    def exact(self) -> tuple[tuple[Fraction, ...], ...]:
        """p(y | s) as Fractions, one row per code."""
        rows = [[Fraction(0)] * self.problem.size for _ in range(self.codes)]
        for s, (denominator, entries) in enumerate(self.exact_channel.rows):
            for y, n in entries:
                rows[y][s] = Fraction(n, denominator)
        return tuple(map(tuple, rows))

    @cached_property
    def channel(self) -> Floats:
        """p(y | s) as floats: a view of `exact`, nothing more."""
        return np.array([[float(p) for p in row] for row in self.exact])

    @cached_property
    def p_y(self) -> tuple[Fraction, ...]:
        """The law of the code."""
        masses = [Fraction(0)] * self.codes
        for (_, y), mass in self._with_target.items():
            masses[y] += mass
        return tuple(masses)

    @cached_property
    def joint(self) -> list[dict[int, Fraction]]:
        """p(s, y) as Fractions, one mapping from states per code."""
        return self.exact_channel.joint(self.problem)

    @cached_property
    def p_x_given_y(self) -> tuple[tuple[Fraction, ...], ...]:
        """The posterior of the states, one row per code."""
        zero = Fraction(0)
        return tuple(
            tuple(code[s] / mass if s in code else zero for s in range(self.problem.size))
            for code, mass in zip(self.joint, self.p_y, strict=True)
        )

    @cached_property
    def p_w_given_y(self) -> tuple[tuple[Fraction, ...], ...]:
        """The posterior of the target, one row per code, over `problem.target.values`."""
        rows = [[Fraction(0)] * len(self.problem.target.values) for _ in range(self.codes)]
        for (v, y), mass in self._with_target.items():
            rows[y][v] = mass / self.p_y[y]
        return tuple(map(tuple, rows))

    @cached_property
    def _with_target(self) -> dict[tuple[int, int], Fraction]:
        return self.exact_channel.joint_with(self.problem.target, self.problem.total)

    @cached_property
    def _number(self) -> dict[tuple[Any, ...], int]:
        return {state: s for s, state in enumerate(self.problem.states)}

    def state_of(self, x: Any) -> int:
        """The position of a record: values in the order of the used columns, or anything that names them.

        A mapping, a pandas row, a named tuple: what has labels is read by label, never by position.
        """
        key = self.law.state_of(x, self.problem.columns)
        try:
            return self._number[key]
        except KeyError:
            raise ColumnError(
                f"The record {key!r} does not occur under the law, so it has no code.",
                "Give values as they stand in the law, in the order or by the names of the used columns: "
                f"{', '.join(self.problem.columns)}.",
            ) from None
        except TypeError as error:
            raise ColumnError(f"The record {x!r} is not one record: {error}.", "Give one value per column.") from None

    def channel_of(self, x: Any) -> tuple[Fraction, ...]:
        """p(y | x) for one record."""
        denominator, entries = self.exact_channel.rows[self.state_of(x)]
        row = [Fraction(0)] * self.codes
        for y, n in entries:
            row[y] = Fraction(n, denominator)
        return tuple(row)

    def sample(self, x: Any) -> int:
        """One code for one record, drawn exactly from the operating system's generator.

        Draw once per record: two independent draws for the same record can reveal a protected value. Before the first
        draw the verifier's own code checks the privacy of the channel.
        """
        self._checked_private  # noqa: B018
        denominator, entries = self.exact_channel.rows[self.state_of(x)]
        left = secrets.randbelow(denominator)
        for y, n in entries:
            left -= n
            if left < 0:
                return y
        raise AssertionError("the weights sum to more than was drawn")

    # ---- proof and file -------------------------------------------------------------------------------------------

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """What the verifier checks (docs/release-format.md): law, question, channel, claims, proof and digest."""
        return certificate.release_document(self.law, self.problem, self.solution, self.claims, self.notes)

    @property
    def digest(self) -> str:
        """SHA-256 of the document, by which it is known."""
        return str(self.document["digest"])

    @cached_property
    def _checked_private(self) -> bool:
        certificate.check_privacy(self.document)
        return True

    def verify(self) -> dict[str, Any]:
        """Have the stand-alone verifier recompute every claim; raises `VerificationError` if one fails."""
        holds = certificate.check(self.document)
        object.__setattr__(self, "bound_verified", True)
        return holds

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the release file, after the verifier has accepted it. The file holds the law: it is the curator's.

        It is written whole or not at all, readable by its owner only; an existing file is kept unless `force`, and what is
        not a disclosure of a law even then, if it is a release of a table, a key or a ledger.
        """
        target = path_of(path)
        check_output(target, force, ("disclosure",))
        self.verify()
        write_whole(target, certificate.document_to_text(self.document), force, ("disclosure",))
        return target

    # ---- display --------------------------------------------------------------------------------------------------

    def table(self, most: int = 40) -> LawTable:
        """The channel, one row per state, with the law of the code below."""
        shown = self.states[: max(0, most)]
        rows = [self.law.state_name(x, self.problem.columns) for x in shown]
        left = self.problem.size - len(rows)
        heads, cells = (
            values_of(shown, self.problem.columns) if not self.law.counted else (["samples"], [[x] for x in rows])
        )
        return LawTable(
            title="p(y | state)",
            columns=[f"y={y}" for y in range(self.codes)],
            rows=[*rows, "p(y)"],
            body=[*([row[s] for row in self.exact] for s in range(len(rows))), list(self.p_y)],
            footnote=f"… and {left} more states" if left else "",
            heads=heads,
            cells=cells,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Disclosure):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        named = [self.problem.protection(g) for g in range(min(SHOWN, len(self.problem.groups)))]
        named += [promise.name for promise in self.problem.conditions[:SHOWN]]
        private, listed = ", ".join(named), len(self.problem.groups) + len(self.problem.conditions)
        more = ", …" if listed > len(named) else ""
        return (
            f"Disclosure({self.problem.target.name}: {self._guessed}{self._worth}"
            f"{in_bits(self.information)} of at most {at_most(self.upper_bound)}{self.as_claimed}, "
            f"{self.codes} code{'s' if self.codes != 1 else ''}; private: {private}{more})"
        )

    @property
    def _guessed(self) -> str:
        """Right guesses, with the code and without; left out where they are not computed at once."""
        if sum(len(entries) for _, entries in self.exact_channel.rows) > QUICK:
            return ""
        before, after = percent(self.guess_before), percent(self.guess_after)
        return f"guessed right {after}{' either way' if before == after else f' instead of {before}'}; "

    @property
    def _worth(self) -> str:
        if self.problem.utility is None:
            return ""
        return f"{self.problem.utility.name} {figure(self.value)} of at most {at_most(self.value_bound)}{self.as_claimed}; "

    def _repr_html_(self) -> str:
        """The picture of what is told and hidden, where it can be drawn; what it is in one line; the channel."""
        picture = import_module("choral.show.plots.notebook").picture_html(self)
        return f"{picture}<p>{escape(repr(self))}</p>{self.table().html() if self.codes <= 40 else ''}"
