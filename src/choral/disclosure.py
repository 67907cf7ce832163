"""The composer: pose → reduce → solve → invert → certify; and `Disclosure`, the result.

A `Disclosure` is frozen. It carries the law, the problem, the exact channel, and the document that the stand-alone
verifier checks; it can be saved only after that verifier has accepted it.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from choral.describe.display import LawTable
from choral.describe.joint import Joint
from choral.errors import ColumnError, FileInTheWayError, ReleaseFileError, did_you_mean
from choral.exact import certificate
from choral.problem.form import form_of
from choral.problem.kernel import Floats, Problem
from choral.problem.pose import Group, pose, pose_self
from choral.problem.solution import ExactChannel, Solution
from choral.reductions.alike import MergeAlike
from choral.solvers.exact_optimum import exact_optimum
from choral.theory.bounds import Bounds, bounds_of
from choral.version import __version__


@dataclass(frozen=True, eq=False)
class Disclosure:
    """A private channel with its certificate. Information is in bits; everything that matters is exact.

    Rows of `exact` are codes, columns are `states`. `information` is achieved by this channel; no private channel
    exceeds `upper_bound`. `verify()` has the stand-alone verifier recompute every claim.
    """

    law: Joint
    problem: Problem
    exact_channel: ExactChannel
    document: Mapping[str, Any]

    # ---- numbers ------------------------------------------------------------------------------------------------

    @property
    def information(self) -> float:
        """I(W;Y), rounded down in the fifteenth decimal."""
        return float(self.document["claims"]["information"])

    @property
    def upper_bound(self) -> float:
        """What no private channel exceeds, rounded up in the fifteenth decimal."""
        return float(self.document["claims"]["upper_bound"])

    @property
    def gap(self) -> float:
        """How far the channel can be from the best: upper_bound - information."""
        return max(0.0, self.upper_bound - self.information)

    @property
    def efficiency(self) -> float:
        """information / H(W); 0 when W is constant."""
        entropy = self.problem.entropy_of_target
        return self.information / entropy if entropy else 0.0

    @property
    def how(self) -> str:
        """What was chosen to solve the problem, and why."""
        return str(self.document["notes"]["how"])

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
        return tuple(sum(code.values(), Fraction(0)) for code in self._joint)

    @cached_property
    def _joint(self) -> list[dict[int, Fraction]]:
        return self.exact_channel.joint(self.problem)

    @cached_property
    def p_x_given_y(self) -> tuple[tuple[Fraction, ...], ...]:
        """The posterior of the states, one row per code."""
        zero = Fraction(0)
        return tuple(
            tuple(code[s] / mass if s in code else zero for s in range(self.problem.size))
            for code, mass in zip(self._joint, self.p_y, strict=True)
        )

    @cached_property
    def p_w_given_y(self) -> tuple[tuple[Fraction, ...], ...]:
        """The posterior of the target, one row per code, over `problem.target.values`."""
        cells = self.problem.target.by_state(self.problem.size)
        rows = []
        for code, mass in zip(self._joint, self.p_y, strict=True):
            row = [Fraction(0)] * len(self.problem.target.values)
            for s, p in code.items():
                for v, w in cells[s]:
                    row[v] += p * Fraction(w, self.problem.weights[s])
            rows.append(tuple(p / mass for p in row))
        return tuple(rows)

    @cached_property
    def _number(self) -> dict[tuple[Any, ...], int]:
        return {state: s for s, state in enumerate(self.problem.states)}

    def state_of(self, x: Sequence[Any] | Mapping[str, Any]) -> int:
        """The position of a record, given as values of the used columns or as a mapping from their names."""
        columns = self.problem.columns
        if isinstance(x, Mapping):
            missing = [name for name in columns if name not in x]
            if missing:
                raise ColumnError(f"The record lacks '{missing[0]}'.", f"The channel looks at {', '.join(columns)}.")
            record = tuple(x[name] for name in columns)
        else:
            record = tuple(x)
        if record not in self._number:
            raise ColumnError(
                f"The record {record!r} has probability zero under the law, so it has no code.",
                did_you_mean(record, self._number),
            )
        return self._number[record]

    def channel_of(self, x: Sequence[Any] | Mapping[str, Any]) -> tuple[Fraction, ...]:
        """p(y | x) for one record."""
        denominator, entries = self.exact_channel.rows[self.state_of(x)]
        row = [Fraction(0)] * self.codes
        for y, n in entries:
            row[y] = Fraction(n, denominator)
        return tuple(row)

    def sample(self, x: Sequence[Any] | Mapping[str, Any]) -> int:
        """One code for one record, drawn exactly from the operating system's generator.

        Draw once per record: two draws for the same record can reveal a protected value (DESIGN §7).
        """
        denominator, entries = self.exact_channel.rows[self.state_of(x)]
        left = secrets.randbelow(denominator)
        for y, n in entries:
            left -= n
            if left < 0:
                return y
        raise AssertionError("the weights sum to more than was drawn")

    # ---- proof and file -------------------------------------------------------------------------------------------

    def verify(self) -> dict[str, Any]:
        """Have the stand-alone verifier recompute every claim; raises `VerificationError` if one fails."""
        return certificate.check(self.document)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the release file, after the verifier has accepted it. The file holds the law: it is the curator's.

        It is written whole or not at all, readable by its owner only; an existing file is kept unless `force`.
        """
        target = Path(path)
        _nothing_in_the_way(target, force)
        self.verify()
        write_whole(target, certificate.document_to_text(self.document), force)
        return target

    # ---- display --------------------------------------------------------------------------------------------------

    def table(self, most: int = 40) -> LawTable:
        """The channel, one row per state, with the law of the code below."""
        rows = [", ".join(f"{n}={v}" for n, v in zip(self.problem.columns, x, strict=True)) for x in self.states[:most]]
        left = self.problem.size - len(rows)
        return LawTable(
            title="p(y | state)",
            columns=[f"y={y}" for y in range(self.codes)],
            rows=[*rows, "p(y)"],
            body=[*([row[s] for row in self.exact] for s in range(len(rows))), list(self.p_y)],
            footnote=f"… and {left} more states" if left else "",
        )

    def __repr__(self) -> str:
        return (
            f"Disclosure({self.problem.target.name}: {self.information:.9f} of at most {self.upper_bound:.9f} bits, "
            f"{self.codes} codes; private: {', '.join(g.name for g in self.problem.groups[:6])}"
            f"{', …' if len(self.problem.groups) > 6 else ''})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table().html() if self.codes <= 40 else ''}"


def disclose(
    joint: Joint,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Disclosure:
    """The channel that tells most about `reveal` while each group in `protect` stays independent of the code.

    >>> import choral as ch
    >>> d = ch.disclose(ch.examples.bsc_and_bec(), reveal="W")
    >>> round(d.information, 4), d.codes
    (0.0134, 3)
    >>> print(d.table())
    p(y | state)  y=0  y=1  y=2
    X1=0, X2=0    1    0    0
    X1=0, X2=e    0    2/3  1/3
    X1=0, X2=1    1/2  0    1/2
    X1=1, X2=0    0    1/2  1/2
    X1=1, X2=e    2/3  0    1/3
    X1=1, X2=1    0    1    0
    p(y)          1/3  1/3  1/3
    """
    return _solved(joint, pose(joint, reveal, protect, use, order))


def self_disclose(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Disclosure:
    """The channel that tells most about all used columns jointly while each protected group stays private.

    >>> import choral as ch
    >>> round(ch.self_disclose(ch.examples.bernoulli(0.5, 2)).information, 9)
    1.0
    """
    return _solved(joint, pose_self(joint, protect, use, order))


def _solved(joint: Joint, problem: Problem) -> Disclosure:
    reduced = MergeAlike().apply(problem)
    solution = reduced.inverse.invert(exact_optimum(reduced.problem, form_of(reduced.problem)))
    return certified(joint, problem, solution)


def certified(joint: Joint, problem: Problem, solution: Solution) -> Disclosure:
    """A solution as a disclosure, with its document."""
    notes = {"how": solution.how, "made by": f"choral {__version__}"}
    document = certificate.release_document(joint, problem, solution, notes)
    return Disclosure(joint, problem, solution.channel, document)


def load(path: str | os.PathLike[str]) -> Disclosure:
    """The disclosure in a release file. Every claim is verified first; raises if one fails."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReleaseFileError(f"There is no file {place}.", "Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseFileError(f"{place} cannot be read: {error}.", "Check the path and the permissions.") from None
    document = certificate.text_to_document(text, str(place))
    certificate.check(document)
    joint = certificate.law_of(document)
    if document["reveal"] == document["use"]:
        problem = pose_self(joint, document["protect"], document["use"])
    else:
        problem = pose(joint, document["reveal"], document["protect"], document["use"])
    return Disclosure(joint, problem, certificate.channel_of(document, joint, problem), document)


def _nothing_in_the_way(path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise FileInTheWayError(f"{path} exists.", "Choose another name, or say force=True (--force) to replace it.")


def write_whole(path: Path, text: str, force: bool) -> None:
    """Write a file for its owner's eyes, atomically: afterwards it is whole, or as it was before."""
    _nothing_in_the_way(path, force)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if force:
                os.replace(name, path)
            else:
                os.link(name, path)
                os.unlink(name)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except FileExistsError:
        _nothing_in_the_way(path, force)
        raise
    except OSError as error:
        raise ReleaseFileError(f"{path} cannot be written: {error}.", "Check the folder and free space.") from error
