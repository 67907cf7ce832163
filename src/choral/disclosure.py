"""The composer: pose → reduce → plan → solve → repair → invert → certify; and `Disclosure`, the result.

A `Disclosure` is frozen. It carries the law, the problem, the solution and what is claimed of it; the document that the
stand-alone verifier checks is derived from them, and it can be saved only after that verifier has accepted it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from choral.describe.compact import Exchangeable, Sensors
from choral.describe.display import LawTable
from choral.describe.joint import Joint, missing_as_none
from choral.errors import ColumnError, ProblemError, ReleaseFileError, StoppedError
from choral.exact import certificate
from choral.exact.certificate import Law
from choral.exact.information import stated_bound, stated_claims, stated_information
from choral.exact.keep_budgets import within_budgets
from choral.exact.repair import repair
from choral.files import check_output, write_whole
from choral.limits import Clock, Limits, Progress
from choral.planner import MANY_POINTS, Plan, plan, plan_beyond
from choral.problem.bounds import Bounds, best_group, bounds_of, group_bound
from choral.problem.budget import budgets_for, further_law
from choral.problem.compact import pose_score, pose_types
from choral.problem.form import Form, form_of
from choral.problem.kernel import Floats, Problem
from choral.problem.pose import Group, pose, pose_self
from choral.problem.solution import Claims, DeterminedBound, ExactChannel, GroupBound, Solution, floats_of
from choral.reductions.alike import MergeAlike
from choral.reductions.base import Inverse
from choral.reductions.orbits import JoinOrbits
from choral.solvers.budgeted import Budgeted
from choral.solvers.coarse import with_coarse_target
from choral.solvers.enumeration import most_extreme_points
from choral.solvers.exact_optimum import constant_channel, exact_optimum
from choral.solvers.exchangeable_bits import ExchangeableBits
from choral.solvers.fewer_codes import with_at_most
from choral.solvers.peeling import improved
from choral.solvers.sandwich import MOST_VALUES, Sandwich
from choral.solvers.transport import Transport
from choral.version import __version__

CLEARLY = 1e-9
"""Bits by which pr:upper_bound, in floats, is above a bound that need not be compared with it exactly."""


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
    def gap(self) -> float:
        """How far the channel can be from the best: upper_bound - information."""
        return max(0.0, self.upper_bound - self.information)

    @property
    def efficiency(self) -> float:
        """information / H(W); 0 when W is constant."""
        entropy = self.problem.entropy_of_target
        return self.information / entropy if entropy else 0.0

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
        return tuple(sum(code.values(), Fraction(0)) for code in self.joint)

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
        cells = self.problem.target.by_state(self.problem.size)
        rows = []
        for code, mass in zip(self.joint, self.p_y, strict=True):
            row = [Fraction(0)] * len(self.problem.target.values)
            for s, p in code.items():
                for v, w in cells[s]:
                    row[v] += p * Fraction(w, self.problem.weights[s])
            rows.append(tuple(p / mass for p in row))
        return tuple(rows)

    @cached_property
    def _number(self) -> dict[tuple[Any, ...], int]:
        return {state: s for s, state in enumerate(self.problem.states)}

    def state_of(self, x: Any) -> int:
        """The position of a record: values in the order of the used columns, or anything that names them.

        A mapping, a pandas row, a named tuple: what has labels is read by label, never by position.
        """
        if isinstance(self.law, Exchangeable):
            key: tuple[Any, ...] = self.law.type_of(samples_of(x))
        elif isinstance(self.law, Sensors):
            key = (self.law.score_of(by_name(x, self.law.names)),)
        else:
            key = tuple(map(missing_as_none, by_name(x, self.problem.columns)))
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
        return certificate.check(self.document)

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the release file, after the verifier has accepted it. The file holds the law: it is the curator's.

        It is written whole or not at all, readable by its owner only; an existing file is kept unless `force`, and what is
        not a disclosure of a law even then, if it is a release of a table, a key or a ledger.
        """
        target = _path(path)
        check_output(target, force, ("disclosure",))
        self.verify()
        write_whole(target, certificate.document_to_text(self.document), force, ("disclosure",))
        return target

    # ---- display --------------------------------------------------------------------------------------------------

    def table(self, most: int = 40) -> LawTable:
        """The channel, one row per state, with the law of the code below."""
        rows = [self._state_name(x) for x in self.states[: max(0, most)]]
        left = self.problem.size - len(rows)
        return LawTable(
            title="p(y | state)",
            columns=[f"y={y}" for y in range(self.codes)],
            rows=[*rows, "p(y)"],
            body=[*([row[s] for row in self.exact] for s in range(len(rows))), list(self.p_y)],
            footnote=f"… and {left} more states" if left else "",
        )

    def _state_name(self, state: tuple[Any, ...]) -> str:
        if isinstance(self.law, Exchangeable):
            return ", ".join(f"{count}×{value}" for count, value in zip(state, self.law.values, strict=True) if count)
        return ", ".join(f"{name}={value}" for name, value in zip(self.problem.columns, state, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Disclosure):
            return NotImplemented
        return self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        private = ", ".join(self.problem.protection(g) for g in range(min(6, len(self.problem.groups))))
        more = ", …" if len(self.problem.groups) > 6 else ""
        return (
            f"Disclosure({self.problem.target.name}: "
            f"{self.information:.9f} of at most {self.upper_bound:.9f} bits, "
            f"{self.codes} code{'s' if self.codes != 1 else ''}; private: {private}{more})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.table().html() if self.codes <= 40 else ''}"


def disclose(
    law: Law,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
    *,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
    also: Sequence[Joint] | None = None,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Disclosure:
    """The channel that tells most about `reveal` while each group in `protect` stays independent of the code.

    law         a `Joint`, or a compact law (`Exchangeable`, `Sensors`; of these, W is revealed and any `order` samples,
                or each sensor, are protected)
    reveal      the target: a column or several; default "W"
    protect     a list of columns, or of groups (tuples of columns that stay private together);
                default: every used column but the target, each alone
    use         the columns that the channel may look at; default: all but the target
    order       protect every `order` of the protected columns together
    leakage     in place of independence, a budget per group in bits: {"X1": 0.01} allows I(X1;Y) ≤ 0.01
    ratio       … or a factor: {"X1": "21/20"} allows no value of X1 to become more than 1.05 times more or less likely
    also        further laws on the same columns: groups are private under each of them, and under every mixture
    tol         stop when upper_bound - information is at most this, in bits
    rel_tol     … or at most this share of the information, whichever is reached first
    time_limit  seconds for the search; then the best so far is made exact and returned, with its valid bound
    codes       at most this many codes; `how` says what that costs
    progress    called as progress(information, upper_bound, message) while the interval closes
    solver      overrule the planner: "enumeration", "transport" or "sandwich"

    Ctrl-C ends the search early like a time limit (a second one ends the program). Whatever ends it, the channel
    is private, exactly, and the bound holds.

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
    limits = Limits(tol, rel_tol, time_limit, codes, progress, solver)
    problem = with_budgets(law, problem_of(law, reveal, protect, use, order), leakage, ratio, also)
    return _solved(law, problem, limits)


def self_disclose(
    joint: Joint,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
    *,
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Disclosure:
    """The channel that tells most about all used columns jointly while each protected group stays private.

    The arguments are those of `disclose`; `use` defaults to every column.

    >>> import choral as ch
    >>> round(ch.self_disclose(ch.examples.bernoulli(0.5, 2)).information, 9)
    1.0
    """
    if not isinstance(joint, Joint):
        raise ProblemError(f"Self-disclosure of a {type(joint).__name__}.", "Give a Joint law of the samples.")
    limits = Limits(tol, rel_tol, time_limit, codes, progress, solver)
    return _solved(joint, pose_self(joint, protect, use, order), limits)


def problem_of(
    law: Law,
    reveal: str | Sequence[str] | None = None,
    protect: str | Sequence[Group] | None = None,
    use: Sequence[str] | None = None,
    order: int = 1,
) -> Problem:
    """The problem that a law and the arguments of `disclose` pose."""
    if isinstance(law, Joint):
        return pose(law, reveal, protect, use, order)
    if isinstance(law, Exchangeable | Sensors):
        if reveal not in (None, "W", ["W"], ("W",)) or protect is not None or use is not None:
            raise ProblemError(
                f"A {type(law).__name__} law reveals W and protects its samples alike.",
                "Leave out reveal, protect and use; say order=2 to protect pairs. A Joint takes them all.",
            )
        if isinstance(law, Exchangeable):
            return pose_types(law, order)
        if order != 1:
            raise ProblemError(f"order={order} through a score.", "A score protects each sensor alone (order=1).")
        return pose_score(law)
    raise ProblemError(
        f"A {type(law).__name__} is not a law.", "Build one with Joint.from_table, from_counts, from_array or observed."
    )


def with_budgets(
    law: Law,
    problem: Problem,
    leakage: Mapping[Any, Any] | None = None,
    ratio: Mapping[Any, Any] | None = None,
    also: Sequence[Any] | None = None,
) -> Problem:
    """The problem with budgets for some of its groups, or with further laws."""
    names, columns = [g.name for g in problem.groups], [g.columns for g in problem.groups]
    budgets = budgets_for(names, columns, leakage, ratio)
    if also is None or (isinstance(also, Sequence) and not also):
        return replace(problem, budgets=budgets) if budgets else problem
    if isinstance(also, Joint) or not isinstance(also, Sequence):
        raise ProblemError(f"also is a {type(also).__name__}.", "Give a list of Joint laws: also=[J2].")
    if not isinstance(law, Joint):
        raise ProblemError(f"Further laws beside a {type(law).__name__}.", "Give a Joint law and further Joint laws.")
    if budgets:
        raise ProblemError(
            "A budget together with further laws.",
            "Ask for one of them: budgets are about one law, also= for independence.",
        )
    further = tuple(
        further_law(law, other, problem.columns, columns, f"law {k} in `also`") for k, other in enumerate(also, start=1)
    )
    return replace(problem, further=further)


def reduced_problem(problem: Problem) -> tuple[Problem, list[Inverse]]:
    """The problem on orbits and classes of alike states, with the ways back in the order they are to be taken."""
    inverses: list[Inverse] = []
    if problem.further:
        return problem, inverses
    for reduction in (MergeAlike(),) if problem.budgets else (JoinOrbits(), MergeAlike()):
        reduced = reduction.apply(problem)
        if reduced.problem.size < problem.size:
            problem, inverses = reduced.problem, [reduced.inverse, *inverses]
    return problem, inverses


def _solved(law: Law, problem: Problem, limits: Limits) -> Disclosure:
    with limits.running() as clock:
        if clock.stopped():
            return certified(law, problem, _trivial(problem, "stopped before it began"))
        bits = ExchangeableBits.of(problem) if limits.solver is None and problem.plain else None
        if bits is not None:
            return certified(law, problem, _fewer(problem, _by_orbits(problem, bits, clock), limits))
        small, inverses = reduced_problem(problem)
        form = form_of(small)
        chosen = plan(form, limits.solver) if problem.plain else plan_beyond(small, form, limits.solver)
        clock.say(0.0, problem.information_of_states, f"{form.states} states, rank {form.rank}: {chosen.solver}")
        solution = _fewer(small, _run(small, form, chosen, clock), limits)
        for inverse in inverses:
            solution = inverse.invert(solution)
        if small.size < problem.size:
            solution = replace(solution, how=f"{solution.how}; {problem.size} states joined into {small.size}")
        return certified(law, problem, solution)


def _run(problem: Problem, form: Form, chosen: Plan, clock: Clock) -> Solution:
    """The solution by the chosen way, as a private channel with a valid bound even when it was stopped."""
    why = f"{chosen.solver} ({chosen.why})"
    if chosen.solver == "closed form" and not problem.plain:
        return _trivial(problem, why)
    if chosen.solver in ("closed form", "enumeration"):
        try:
            solution = exact_optimum(problem, form, None, clock.stopped)
        except StoppedError:
            return _trivial(problem, f"{why}, stopped")
        return replace(solution, how=f"{solution.how} ({chosen.why})")
    if chosen.solver == "transport":
        return replace(Transport().solve(problem), how=why)
    small = problem
    if chosen.solver == "coarse":
        small = with_coarse_target(problem, MOST_VALUES)
    if problem.budgets:
        return _budgeted(problem, small, why, clock)
    rough = Sandwich(clock.limits.tol, clock.limits.rel_tol, clock.left()).solve(small, clock.say, clock.stopped)
    few = problem.plain and most_extreme_points(form.states, form.rank) <= MANY_POINTS
    if small is problem and "stalled" in rough.how and few and not clock.stopped():
        exact = replace(chosen, solver="enumeration", why=f"{rough.how}: floats could not close the gap")
        return _run(problem, form, exact, clock)
    channel = repair(problem, rough.channel)
    if small is problem:
        return Solution(channel, rough.bound, f"{rough.how} ({chosen.why})")
    if not problem.plain:
        return Solution(channel, group_bound(problem), why)
    return Solution(improved(problem, channel, clock.stopped), group_bound(problem), why)


def _by_orbits(problem: Problem, bits: ExchangeableBits, clock: Clock) -> Solution:
    """Self-disclosure of exchangeable bits, through orbits of extreme points."""
    clock.say(0.0, problem.information_of_states, f"{bits.n} exchangeable bits: orbits of extreme points")
    try:
        return bits.solve(group_bound(problem), clock.stopped)
    except StoppedError:
        return _trivial(problem, "orbits of extreme points, stopped")


def _budgeted(problem: Problem, small: Problem, why: str, clock: Clock) -> Solution:
    """The best channel found within the budgets; its bound is by lines unless the target was made coarser."""
    limits = clock.limits
    rough = Budgeted(limits.tol, limits.rel_tol, clock.left()).solve(small, clock.say, clock.stopped)
    if rough is None:
        return _trivial(problem, f"{why}, stopped")
    channel = within_budgets(problem, repair(problem, rough.channel))
    how = f"{rough.how} ({why})"
    told, hoped = (float(stated_information(problem, c)) for c in (channel, repair(problem, rough.channel)))
    if hoped - told > limits.tol:
        channel, how = (
            _at_least_private(problem, channel, clock),
            f"{how}; so small a budget is below what floats can tell",
        )
    return Solution(channel, rough.bound if small is problem else group_bound(problem), how)


def _at_least_private(problem: Problem, channel: ExactChannel, clock: Clock) -> ExactChannel:
    """The channel, or the best private one where that tells more: independence keeps every budget."""
    strict = replace(problem, budgets=())
    form = form_of(strict)
    private = _run(strict, form, plan(form), clock).channel
    tells = [Fraction(stated_information(problem, c)) for c in (channel, private)]
    return private if tells[1] > tells[0] else channel


def _trivial(problem: Problem, how: str) -> Solution:
    """A constant code, with the bound that needs no solving (pr:upper_bound)."""
    return Solution(constant_channel(problem), group_bound(problem), how)


def _fewer(problem: Problem, solution: Solution, limits: Limits) -> Solution:
    """The solution with at most as many codes as were asked for, and what that costs."""
    if limits.codes is None or solution.channel.codes <= limits.codes:
        return solution
    before = float(stated_information(problem, solution.channel))
    channel = repair(problem, with_at_most(problem, floats_of(solution.channel), limits.codes))
    channel = within_budgets(problem, channel)
    after = float(stated_information(problem, channel))
    how = f"{solution.how}; {channel.codes} of {solution.channel.codes} codes kept, at a cost of {before - after:.3g} bits"
    return Solution(channel, solution.bound, how)


def with_best_bound(problem: Problem, solution: Solution) -> Solution:
    """The solution with pr:upper_bound in place of a bound that floats left worse than that."""
    if isinstance(solution.bound, GroupBound | DeterminedBound):
        return solution
    position, about = best_group(problem)
    proved = Fraction(stated_bound(problem, solution.bound))
    if float(proved) < about - CLEARLY:
        return solution
    simple = GroupBound(position)
    return replace(solution, bound=simple) if Fraction(stated_bound(problem, simple)) < proved else solution


def certified(law: Law, problem: Problem, solution: Solution) -> Disclosure:
    """A solution as a disclosure, with its claims; raises if its document cannot be written."""
    solution = with_best_bound(problem, solution)
    notes = {"how": solution.how, "made by": f"choral {__version__}"}
    found = Disclosure(law, problem, solution, stated_claims(problem, solution), notes)
    found.document  # noqa: B018 (a value that no file can hold is refused here, not when it is saved)
    return found


def load(path: str | os.PathLike[str]) -> Disclosure:
    """The disclosure in a release file. Every claim is verified first; raises if one fails."""
    document = read_document(path)
    certificate.check(document)
    return of_document(document, _path(path))


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a release file, whole, with nothing verified."""
    place = _path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReleaseFileError(f"There is no file {place}.", "Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseFileError(f"{place} cannot be read: {error}.", "Check the path and the permissions.") from None
    return certificate.text_to_document(text, str(place))


def of_document(document: Mapping[str, Any], place: Path) -> Disclosure:
    """The disclosure that a document is, which has been verified; what else the document holds is left aside.

    Raises `ReleaseFileError` unless choral writes it the same: so what was verified is what is used.
    """
    own = {key: document[key] for key in certificate.MEMBERS if key in document}
    law = certificate.law_of(document)
    problem = _posed_again(document, law)
    if [list(group.columns) for group in problem.groups] != document["protect"]:
        raise _foreign(place, f"it protects {document['protect']}, which choral does not pose")
    notes = document["notes"]
    channel = certificate.channel_of(document, law, problem)
    solution = Solution(channel, certificate.bound_of(document, problem), str(notes.get("how", "")))
    found = Disclosure(law, problem, solution, certificate.claims_of(document), notes)
    if certificate.sealed(own)["digest"] != found.digest:
        differs = next((key for key in own if _digest(own, key) != _digest(found.document, key)), "members")
        raise _foreign(place, f"choral writes its {differs} in another way")
    return found


def _digest(document: Mapping[str, Any], key: str) -> Any:
    return certificate.sealed({key: document.get(key)})["digest"]


def _foreign(place: Path, reason: str) -> ReleaseFileError:
    return ReleaseFileError(f"{place}: {reason}.", "Its claims hold and can be verified, but it cannot be loaded.")


def _posed_again(document: Mapping[str, Any], law: Law) -> Problem:
    """The problem that a document is about, posed anew on its law."""
    if isinstance(law, Exchangeable):
        problem = pose_types(law, int(document["protect"][0][0].removeprefix("any ")))
    elif isinstance(law, Sensors):
        problem = pose_score(law)
    elif document["reveal"] == document["use"]:
        problem = pose_self(law, document["protect"], document["use"])
    else:
        problem = pose(law, document["reveal"], document["protect"], document["use"])
    problem = with_budgets(law, problem, also=certificate.further_laws_of(document))
    if "budgets" in document:
        problem = replace(problem, budgets=certificate.budgets_of(document))
    return problem


def by_name(record: Any, names: Sequence[str]) -> list[Any]:
    """The values of a record in the order of these names; by label where it has labels.

    >>> by_name({"b": 2, "a": 1}, ["a", "b"])
    [1, 2]
    """
    labels = getattr(record, "_fields", None) or getattr(record, "index", None)
    if labels is not None and not callable(labels):  # a named tuple, a pandas Series
        found = list(labels)
        if len(set(found)) < len(found):
            raise ColumnError(f"The record names a column twice: {found}.", "Give each column once.")
        record = dict(zip(found, record, strict=True))
    if isinstance(record, Mapping):
        missing = [name for name in names if name not in record]
        if missing:
            raise ColumnError(f"The record lacks '{missing[0]}'.", f"The channel looks at {', '.join(names)}.")
        return [record[name] for name in names]
    if isinstance(record, str | bytes) or not isinstance(record, Iterable):
        raise ColumnError(f"{record!r} is not a record.", f"Give the values of {', '.join(names)}.")
    values = list(record)
    if len(values) != len(names):
        raise ColumnError(
            f"The record has {len(values)} values, and the channel looks at {len(names)}: {', '.join(names)}.",
            "Give these, in this order, or a mapping by name.",
        )
    return values


def _path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise ReleaseFileError(f"{path!r} is not a path.", "Give the name of a file.")
    return Path(path)


def samples_of(record: Any) -> list[Any]:
    """The samples of a record on an exchangeable law: a plain sequence, or a row of a frame without its index."""
    fields = getattr(record, "_fields", None)
    if fields is not None:
        return [value for name, value in zip(fields, record, strict=True) if name != "Index"]
    frame = hasattr(record, "columns") or isinstance(record, Mapping | bytes)
    if frame or not isinstance(record, Iterable):
        raise ColumnError(f"{record!r} is not a record of samples.", "Give the samples as a sequence, in any order.")
    return list(record)
