"""Codes for a purpose: decisions by a linear program in fractions, squares by chords or by the rank within the group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Literal

from choral.design.afterwards import Afterwards
from choral.design.limits import Clock
from choral.errors import ProblemError, StoppedError
from choral.exact.decisions import Vertex, best_for_lines, joined_codes
from choral.exact.purpose import losses, stated_value
from choral.exact.repair import repair
from choral.problem.form import Form
from choral.problem.kernel import Problem
from choral.problem.moments import Moments
from choral.problem.solution import Solution, Status, constant_channel
from choral.problem.utility import Decisions, Lines, Squares
from choral.proofs.group import GroupBound
from choral.proofs.purpose import PurposeBound
from choral.proofs.rank import RankBound, posed
from choral.solvers.lines.refinement import Aim
from choral.solvers.rank import rank_within_group
from choral.solvers.squares import by_chords, squares_loss

MOST_SUBSETS = 30
"""Sets of actions that are all tried where fewer codes are asked for than are best."""


def nothing_told(problem: Problem, how: str, status: Status) -> Solution:
    """One code for everybody, and the bound that no multiplier improves: everybody is told apart."""
    knots: tuple[Fraction, ...] = ()
    lines = len(problem.utility.actions) if isinstance(problem.utility, Decisions) else 1
    if not isinstance(problem.utility, Decisions):
        means = [Fraction(m, w) for m, w in zip(Moments.of(problem).first, problem.weights, strict=True)]
        knots = min(means), max(means)
    purpose = PurposeBound((), ((),) * lines, knots)
    return Solution(constant_channel(problem), GroupBound.best(problem), how, status, purpose=purpose)


def solve_decision(problem: Problem, clock: Clock) -> Solution:
    """The channel with the least expected loss, and its proof; with few codes, the best that was found."""
    utility = problem.utility
    assert isinstance(utility, Decisions)
    try:
        best = best_for_lines(problem, utility.lines, clock.left)
    except StoppedError:
        return nothing_told(problem, "linear program over the actions, stopped", Status.STOPPED)
    how = f"linear program over {len(utility.actions)} actions" + ("" if best.optimal else ", not closed in fractions")
    status = Status.OPTIMAL if best.optimal else Status.STALLED
    channel = best.channel
    most = clock.limits.codes
    if most is not None and channel.codes > most:
        fewer = _fewer_actions(problem, utility, best, most, clock)
        how += (
            f"; {fewer.channel.codes} of {channel.codes} codes kept, at a cost of {float(fewer.cost - best.cost):.3g}"
        )
        channel = fewer.channel
    return Solution(channel, GroupBound.best(problem), how, status, purpose=best.bound)


def _fewer_actions(problem: Problem, utility: Decisions, best: Vertex, most: int, clock: Clock) -> Vertex:
    """The best channel for at most so many actions: of all sets of them if these are few, else of those that lose least."""
    actions = range(len(utility.actions))
    sets = [*combinations(actions, most)] if comb(len(actions), most) <= MOST_SUBSETS else []
    found: Vertex | None = None
    for chosen in sets or [tuple(_dropped(problem, utility, best, most))]:
        lines = Lines.of([utility.loss[a] for a in chosen])
        try:
            tried = best_for_lines(problem, lines, clock.left)
        except StoppedError:
            break
        if found is None or tried.cost < found.cost:
            found = tried
    return found or _joined(problem, utility, best, most)


def _joined(problem: Problem, utility: Decisions, best: Vertex, most: int) -> Vertex:
    """The channel with the codes of dropped actions joined to those of others: private, and at hand where time is up."""
    table, kept = losses(problem, utility, best.channel), _dropped(problem, utility, best, most)
    number = [min(range(len(kept)), key=lambda k: row[kept[k]]) for row in table]
    channel = joined_codes(best.channel, number, len(kept))
    return replace(best, channel=channel, lines=tuple(kept), cost=_cost(table, kept))


def _dropped(problem: Problem, utility: Decisions, best: Vertex, most: int) -> list[int]:
    """The actions that are left when, one after another, the one is dropped whose codes lose least by another's."""
    table = losses(problem, utility, best.channel)
    kept = list(best.lines)
    while len(kept) > most:
        kept.remove(min(kept, key=lambda a: _cost(table, [b for b in kept if b != a])))
    return kept


def _cost(table: list[list[Fraction]], actions: list[int]) -> Fraction:
    return sum((min(row[a] for a in actions) for row in table), Fraction(0))


def solve_squares(problem: Problem, form: Form, clock: Clock) -> Solution:
    """The channel that explains most of the variance of a numeric target, or nearly; whatever ends the search."""
    limits = clock.limits
    if posed(problem) is not None:
        spare = limits.tol * float(Moments.of(problem).variance)
        found = rank_within_group(problem, limits.codes, spare, squares_loss)
        return replace(found, bound=GroupBound.best(problem), purpose=RankBound())
    after = Afterwards.of(problem, form, limits)
    aim = Aim(limits.tol, limits.rel_tol, clock.say, clock.stopped, lambda lines: clock.expect(after.by_lines(lines)))
    rough = by_chords(problem, aim, limits.codes)
    channel, how = repair(problem, rough.channel), rough.how
    if limits.codes is not None and rough.history:
        lost = max(0.0, rough.history[-1][0] - float(stated_value(problem, channel)))
        how += f"; {channel.codes} codes kept, at a cost of {lost:.3g} of variance explained"
    return Solution(channel, GroupBound.best(problem), how, rough.status, rough.history, purpose=rough.bound)


@dataclass(frozen=True)
class ByDecision:
    """A loss is the least of its actions' lines: one linear program, in fractions."""

    name: Literal["decision"] = "decision"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the utility is a loss."""
        if not isinstance(problem.utility, Decisions):
            return None
        return f"a loss of {len(problem.utility.actions)} actions: one linear program, solved and proved in fractions"

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the utility is a loss."""
        if not isinstance(problem.utility, Decisions):
            raise ProblemError("There is no loss.", 'Say utility="accuracy", or leave out solver=.')

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """The optimum, or nothing when it is stopped."""
        return solve_decision(problem, clock)


@dataclass(frozen=True)
class BySquares:
    """Squared error of a numeric target: chords of a parabola."""

    name: Literal["squares"] = "squares"

    def accepts(self, problem: Problem, form: Form) -> str | None:
        """Whether the utility is the variance that is explained."""
        if not isinstance(problem.utility, Squares):
            return None
        if posed(problem) is not None:
            return "squared error, and one group is protected and used: the rank within the group is best"
        return "squared error: chords below minus the square of the mean give a channel and a bound"

    def check(self, problem: Problem, form: Form) -> None:
        """Raise unless the utility is squares."""
        if not isinstance(problem.utility, Squares):
            raise ProblemError("There is no squared error.", 'Say utility="squares", or leave out solver=.')

    def solve(self, problem: Problem, form: Form, clock: Clock) -> Solution:
        """A channel near the optimum, whatever ends the search."""
        return solve_squares(problem, form, clock)
