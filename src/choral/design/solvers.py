"""The ways to solve a (reduced) problem, in the order in which they are preferred.

`plan` and `disclose` walk the same list: the first solver that accepts a problem is the one that runs. Each turns a problem
into a private channel with a bound that holds, whatever ends its search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Protocol, TypeAlias

from choral.design.afterwards import Afterwards
from choral.design.aims import aim_of, with_bound_of
from choral.design.at_once import ByRank, ByTransport
from choral.design.limits import FLOATS, Clock
from choral.design.many_values import ByBranching
from choral.design.purposes import ByDecision, BySquares
from choral.errors import ProblemError, StoppedError, TooLargeError
from choral.exact.information import stated_bound, stated_information
from choral.exact.keep_budgets import within_budgets
from choral.exact.repair import repair
from choral.problem.form import Form, form_of
from choral.problem.kernel import Problem
from choral.problem.solution import ExactChannel, Solution, Status, constant_channel, floats_of
from choral.proofs.group import GroupBound
from choral.solvers.coarse import with_coarse_target
from choral.solvers.enumeration import UnfinishedError, few_points, most_extreme_points
from choral.solvers.exact_optimum import exact_optimum, mixed_from
from choral.solvers.exchangeable_bits import FEWEST, MOST, ExchangeableBits
from choral.solvers.lines.budgeted import by_lines_within, sufficient
from choral.solvers.lines.sandwich import MOST_VALUES, by_lines, shares
from choral.solvers.lines.tangents import sharpened

SolverName: TypeAlias = Literal[
    "orbits",
    "closed form",
    "transport",
    "enumeration",
    "rank",
    "sandwich",
    "branching",
    "coarse",
    "decision",
    "squares",
]
FEW_POINTS = {2: 3_000, 3: 20_000, 4: 20_000}
"""Up to this many extreme points (by the upper bound theorem) enumeration is preferred, by the target's values."""
MANY_POINTS = 60_000
"""The same for targets with more values, where only enumeration proves the optimum."""
LISTING = 0.5
"""The share of a time limit in which extreme points that were asked for are listed, before another way is gone."""
GROUPS = 3
"""Groups of a target of many values that a channel is made for: four take forty times as long, and tell 1 to 2 % more before
the channel is made for the values themselves, and less than three after it (measured on prices of houses and rooms)."""
ROUGHLY = 0.01
"""The gap, as a share, that is enough for groups: what it is about is not proved by them."""
TINY = Fraction(1, 10**5)
"""Budgets up to this, or ratios as near to one, may allow less than floats can tell from independence."""
TOO_SMALL = "so small a budget is below what floats can tell"
BETTER = "the best private channel tells more than what was found within the budgets"


class Solver(Protocol):
    """One way to solve problems of some form."""

    @property
    def name(self) -> SolverName:
        """By which `solver=` asks for it."""
        ...

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Why this is the way to solve the problem, or None if another one is preferred."""
        ...

    def check(self, problem: Problem, form: Form) -> None:
        """Raise `ProblemError` if it cannot solve the problem though it was asked for."""
        ...

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """A private channel and a valid bound, also when the clock stops the search."""
        ...


def trivial(problem: Problem, how: str, status: Status) -> Solution:
    """A constant code, with the bound that needs no solving, by one group."""
    return Solution(constant_channel(problem), GroupBound.best(problem), how, status)


@dataclass(frozen=True)
class Orbits:
    """Self-disclosure of exchangeable bits, through orbits of extreme points."""

    name: SolverName = "orbits"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether all bits that are used are exchangeable, revealed, and protected each alone."""
        bits = ExchangeableBits.of(problem) if problem.plain else None
        return (
            None
            if bits is None
            else f"{bits.n} exchangeable bits, all revealed: one extreme point stands for its orbit"
        )

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the problem has this form."""
        if ExchangeableBits.of(problem) is None:
            raise ProblemError(
                "Orbits need exchangeable bits that are all revealed and each protected.",
                f"There must be {FEWEST} to {MOST} of them. Leave out solver=.",
            )

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum with its proof for few bits; a good channel with the group bound for more."""
        bits = ExchangeableBits.of(problem)
        assert bits is not None
        try:
            return bits.solve(GroupBound.best(problem), clock.stopped)
        except StoppedError:
            return trivial(problem, "orbits of extreme points, stopped", Status.STOPPED)


@dataclass(frozen=True)
class ClosedForm:
    """Nothing can be told, or there are two extreme points: no search is needed."""

    name: SolverName = "closed form"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the target is constant or determined by protected values, or the nullity is 1."""
        if not problem.plain:
            return "the target has one value" if form.target_values <= 1 else None
        if not form.feasible:
            return "the protected values determine all that could be told"
        return "nullity 1: two extreme points, the same for every target" if form.nullity == 1 else None

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless there is one."""
        if form.feasible and form.nullity > 1:
            raise ProblemError(f"No closed form for nullity {form.nullity}.", "Leave the choice to the planner.")

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum."""
        return exact_optimum(problem, form) if problem.plain else trivial(problem, self.name, Status.OPTIMAL)


@dataclass(frozen=True)
class ByEnumeration:
    """All extreme points are listed and mixed."""

    name: SolverName = "enumeration"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the extreme points are few enough to be listed."""
        points = most_extreme_points(form.states, form.rank)
        if not problem.plain or form.target_values < 2:
            return None
        if points <= FEW_POINTS.get(form.target_values, MANY_POINTS):
            return f"at most {points:,} extreme points, so list them all and mix them"
        few = few_points(problem) if form.target_values > MOST_VALUES else None
        return None if few is None else f"{few:,} extreme points, as a short walk found, so mix them all"

    def check(self, problem: Problem, form: Form) -> None:
        """Whoever asks for it may wait."""

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum; where it does not end in its part of the time, the better of another way and what was listed."""
        after = Afterwards.of(problem, form, clock.limits)
        try:
            with clock.part(LISTING):
                return exact_optimum(problem, form, clock.stopped, lambda points: clock.expect(after.by_points(points)))
        except UnfinishedError as ended:
            clock.expect(after.simply())
            return _otherwise(problem, form, clock, ended)


def _otherwise(problem: Problem, form: Form, clock: Clock, ended: UnfinishedError) -> Solution:
    """What can be had where listing all extreme points does not end."""
    rest = SOLVERS[SOLVERS.index(ByEnumeration()) + 1 :]
    other = next(solver for solver in rest if solver.accepts(problem, form) is not None)
    found = other.solve(problem, form, clock)
    how = f"enumeration, stopped after {len(ended.found):,} extreme points ({ended.why})"
    if ended.found:
        mixed = mixed_from(problem, ended.found)
        if stated_information(problem, mixed) > stated_information(problem, found.channel):
            return replace(found, channel=mixed, how=f"{how}: the best mixture of these", status=Status.STOPPED)
    return replace(found, how=f"{how}, then {found.how}", status=_not_better(found.status))


def _not_better(status: Status) -> Status:
    return Status.OPTIMAL if status is Status.OPTIMAL else Status.STOPPED


@dataclass(frozen=True)
class ByLines:
    """Lines below the entropy of a target of few values: a channel and a bound that meet; also within budgets."""

    name: SolverName = "sandwich"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the target has few enough values."""
        if form.target_values > MOST_VALUES:
            return None
        if not problem.plain:
            return f"{_beyond(problem)}: lines below the entropy of a target of {form.target_values} values"
        return (
            f"up to {_points(form)} extreme points are too many to list; the target has "
            f"{form.target_values} values, so lines below its entropy give a channel and a bound"
        )

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the target has few enough values."""
        if not 2 <= form.target_values <= MOST_VALUES:
            raise ProblemError(
                f"The sandwich takes targets of 2 to {MOST_VALUES} values, and this one has {form.target_values}.",
                f"It would need a grid in {form.target_values - 1} dimensions. Merge values, or leave out solver=.",
            )

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """A channel near the optimum; where floats cannot come near it and points are few, the optimum by listing them."""
        if problem.budgets:
            return _budgeted(problem, problem, form, clock)
        limits = clock.limits
        rough = by_lines(problem, aim_of(problem, form, clock, problem))
        few = problem.plain and most_extreme_points(form.states, form.rank) <= MANY_POINTS
        channel, status = repair(problem, rough.channel), rough.status
        told = (
            rough.history[-1][0] if rough.history else 0.0
        )  # making it exact costs next to nothing, unless masses are tiny
        if status is Status.OPTIMAL and rough.history and told - _told(problem, channel) > limits.near(told):
            status = Status.STALLED
        if status is Status.STALLED and few and not clock.stopped():
            exact = ByEnumeration().solve(problem, form, clock)
            return replace(exact, how=f"{exact.how} after a {rough.how}", history=rough.history)
        return Solution(channel, rough.bound, rough.how, status, rough.history)


@dataclass(frozen=True)
class Coarse:
    """A target of many values is joined into few groups for the channel; the bound is the group bound."""

    name: SolverName = "coarse"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whatever no other way takes."""
        if not problem.plain:
            return (
                f"{_beyond(problem)}, and a target of {form.target_values} values: the channel is made for "
                f"{_groups(problem)} groups of values, the bound is the group bound"
            )
        return (
            f"up to {_points(form)} extreme points are too many to list, and lines for a "
            f"target of {form.target_values} values would need a grid in {form.target_values - 1} dimensions; the channel is "
            f"a good one (made for {GROUPS} groups of values, then for the values themselves), the bound is the group bound"
        )

    def check(self, problem: Problem, form: Form) -> None:
        """It takes everything."""

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """A channel that is good, not the best."""
        small = with_coarse_target(problem, _groups(problem))
        if problem.budgets:
            return _budgeted(problem, small, form, clock)
        bound = GroupBound.best(problem)
        aim = aim_of(small, form, clock, problem)
        rough = by_lines(small, replace(aim, rel_tol=max(aim.rel_tol or 0.0, ROUGHLY)))
        channel = repair(problem, sharpened(problem, rough.channel, clock.stopped))
        status = Status.STOPPED if clock.stopped() else Status.NOT_PROVED
        return Solution(channel, bound, self.name, status, with_bound_of(problem, rough.history))


PURPOSES: tuple[Solver, ...] = (ByDecision(), BySquares())
"""For utilities other than bits."""
SOLVERS: tuple[Solver, ...] = (
    Orbits(),
    ClosedForm(),
    ByTransport(),
    ByEnumeration(),
    ByRank(),
    ByLines(),
    ByBranching(),
    Coarse(),
)
"""In the order of preference."""


@dataclass(frozen=True)
class Plan:
    """The solver, by name, and the reason."""

    solver: SolverName
    why: str

    def __str__(self) -> str:
        return f"{self.solver}: {self.why}"

    def run(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The solution of the problem that the plan is for, with what ran and why in its story."""
        [solver] = (solver for solver in (*PURPOSES, *SOLVERS) if solver.name == self.solver)
        found = solver.solve(problem, form, clock)
        return replace(found, solver=self.solver, how=f"{found.how} ({self.why})")


def choose(problem: Problem, form: Form, asked: str | None = None) -> Plan:
    """The way to solve a (reduced) problem of this form, or the one asked for if it can."""
    known = SOLVERS if problem.utility is None else PURPOSES
    names = [solver.name for solver in known]
    if asked is not None and asked not in names:
        raise ProblemError(f"There is no solver '{asked}'.", f"Choose one of: {', '.join(names)}.")
    if asked not in (None, "sandwich") and not problem.plain:
        raise ProblemError(f"solver='{asked}' with a budget or further laws.", "Leave it out: lines are used.")
    if asked is not None and problem.plain:
        [solver] = (solver for solver in known if solver.name == asked)
        solver.check(problem, form)
        return Plan(solver.name, "asked for")
    return next(Plan(solver.name, why) for solver in known if (why := solver.accepts(problem, form)) is not None)


def _points(form: Form) -> str:
    """How many extreme points there may be, to two digits, or the power of ten where that is beyond floats."""
    number = most_extreme_points(form.states, form.rank)
    return f"{number:.2g}" if number < 10**300 else f"10^{Decimal(number).adjusted()}"


def _told(problem: Problem, channel: ExactChannel) -> float:
    """Bits that a channel tells: what will be stated of it, which is computed once."""
    return float(stated_information(problem, channel))


def _groups(problem: Problem) -> int:
    """Groups of values: within budgets a channel is not made for the values themselves afterwards."""
    return MOST_VALUES if problem.budgets else GROUPS


def _beyond(problem: Problem) -> str:
    return "budgets" if problem.budgets else "further laws"


def _budgeted(problem: Problem, small: Problem, form: Form, clock: Clock) -> Solution:
    """The best channel found within the budgets; its bound is by lines unless the target was made coarser."""
    rough = by_lines_within(small, aim_of(small, form, clock, problem), clock.beside)
    if rough is None:
        nothing = trivial(problem, "sandwich within budgets, stopped", Status.STOPPED)
        if clock.stopped():
            return nothing
        how = f"the best private channel; {TOO_SMALL}"
        return replace(
            nothing, channel=_at_least_private(problem, nothing.channel, clock), how=how, status=Status.STALLED
        )
    repaired, how = rough.exact or repair(problem, rough.channel), rough.how
    channel = within_budgets(problem, repaired)
    told = _told(small, channel)
    if clock.beside and not rough.exact:
        clock.beside.made(channel, told)
    lost = float(stated_information(problem, repaired)) - float(stated_information(problem, channel))
    tiny = any(b is not None and b.amount - (b.kind == "ratio") <= TINY for b in problem.budgets)
    small_amounts, most = lost > clock.limits.tol or tiny, float(stated_bound(small, rough.bound))

    def near() -> bool:
        return most - _told(small, channel) <= clock.limits.near(told)

    if small_amounts or small is not problem or not near():
        found, channel = channel, _at_least_private(problem, channel, clock)
        how = how if channel is found else f"{how}; {TOO_SMALL if small_amounts else BETTER}"
    if small is problem:
        ended = Status.STALLED if rough.status is Status.OPTIMAL else rough.status
        return Solution(channel, rough.bound, how, Status.OPTIMAL if near() else ended, rough.history)
    status = Status.STOPPED if clock.stopped() else Status.NOT_PROVED
    return Solution(channel, GroupBound.best(problem), how, status, with_bound_of(problem, rough.history))


def _sufficient(problem: Problem, form: Form, channel: ExactChannel) -> ExactChannel:
    """As many codes as suffice, if that costs next to nothing."""
    if channel.codes <= form.nullity + 1:
        return channel
    z = floats_of(channel) * (problem.prior / problem.prior.sum())
    few = repair(problem, shares(sufficient(problem, z).T, z.sum(axis=0)))
    return few if _told(problem, few) >= _told(problem, channel) - FLOATS else channel


def _at_least_private(problem: Problem, channel: ExactChannel, clock: Clock) -> ExactChannel:
    """The channel, or the best private one where that tells more and fits the memory: independence keeps every budget."""
    private = None if clock.beside is None else clock.beside.private
    if private is None:
        strict = replace(problem, budgets=())
        form = form_of(strict)
        try:
            private = _sufficient(strict, form, choose(strict, form).run(strict, form, clock).channel)
        except TooLargeError:
            return channel
        if clock.beside is not None and not clock.stopped():
            clock.beside.private = private
    tells = [Fraction(stated_information(problem, c)) for c in (channel, private)]
    return private if tells[1] > tells[0] else channel
