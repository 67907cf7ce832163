"""The composer: pose → reduce → plan → solve → repair → invert → certify."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from choral.describe.joint import Joint
from choral.describe.kinds import needed
from choral.describe.law import Law
from choral.design.afterwards import JOINING
from choral.design.limits import READABLE, Clock, Limits, Progress
from choral.design.many_values import for_haste, hasty
from choral.design.purposes import nothing_told
from choral.design.result import Disclosure
from choral.design.solvers import choose, trivial
from choral.errors import VerificationError
from choral.exact.certificate import check_written
from choral.exact.decisions import joined_codes
from choral.exact.information import stated_bound, stated_claims, stated_information
from choral.exact.keep_budgets import within_budgets
from choral.exact.repair import repair
from choral.phases import phase, tell
from choral.problem.bounds import best_group
from choral.problem.form import Form, form_of
from choral.problem.kernel import Problem
from choral.problem.pose import problem_of
from choral.problem.question import Group, Question
from choral.problem.solution import Solution, Status, floats_of
from choral.problem.utility import Cells, Utility
from choral.proofs.group import GroupBound
from choral.reductions.base import Inverse, Joined
from choral.reductions.chain import reduced_problem
from choral.solvers.fewer_codes import best_joins, fewest, with_at_most
from choral.solvers.lines.beside import Beside
from choral.solvers.lines.sandwich import MOST_VALUES
from choral.threads import one_thread
from choral.version import __version__

RANK, LISTED = "rank", "enumeration"
MANY_CODES = ("sandwich", RANK)
"""Solvers whose best code may have many more codes than tell much."""
DIRECT, AT_ONCE = ("closed form", "transport", RANK), 20_000
"""Ways that do not search: up to so many states they take less time than what comes after, also where there is none left."""
CLEARLY = 1e-9
"""Bits by which the group bound, in floats, is above a bound that need not be compared with it exactly."""


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
    utility: str | Cells | Utility = "bits",
    tol: float = 1e-6,
    rel_tol: float | None = None,
    time_limit: float | None = None,
    codes: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
    spare: float | None = None,
    rarest: float = 0.0,
) -> Disclosure:
    """The channel that tells most about `reveal` while each group in `protect` stays independent of the code.

    law         a `Joint`, or a compact law (`Exchangeable`, `Sensors`; of these, W is revealed and any `order` samples,
                or each sensor, are protected)
    reveal      the target: a column or several; default "W"
    protect     a list of columns, or of groups (tuples of columns that stay private together), or of promises "Z | V":
                whoever knows V learns nothing more about Z; default: every used column but the target, each alone
    use         the columns that the channel may look at; default: all but the target
    order       protect every `order` of the protected columns together
    leakage     in place of independence, a budget per group in bits: {"X1": 0.01} allows I(X1;Y) ≤ 0.01
    ratio       … or a factor: {"X1": "21/20"} allows no value of X1 to become more than 1.05 times more or less likely
    also        further laws on the same columns: groups are private under each of them, and under every mixture
    utility     what the code shall be good for: "bits"; "accuracy", the probability to guess the target; "squares", the
                variance of a numeric target that it explains; or a loss {(action, value of the target): number}
    tol         stop when upper_bound - information is at most this, in bits
    rel_tol     … or at most this share of the information, whichever is reached first
    time_limit  seconds until it is returned: the search ends in time for making the best so far exact and stating its bound,
                as estimated from sizes; `verify()` is yours to call, and not counted
    codes       at most this many codes; `how` says what that costs
    progress    called as progress(information, upper_bound, message) while the interval closes
    solver      overrule the planner: "enumeration", "transport", "rank", "sandwich", "branching", "coarse" or "orbits"
    spare       the share of the information that may be given up for fewer codes: 0.01 gives the fewest that lose a percent
    rarest      with `spare`: no code is less probable than this

    Ctrl-C ends the search early like a time limit; a second one, or one before or after the search, ends the program.
    Whatever ends it, the channel is private, exactly, and the bound holds.

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
    limits = Limits(tol, rel_tol, time_limit, codes, progress, solver, spare=spare, rarest=rarest).begun()
    problem = problem_of(law, Question(reveal, protect, use, order, leakage, ratio, utility=utility), also)
    return solved(law, problem, limits)


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
    needed(Joint, joint, "Self-disclosure of a {}.", "Give a Joint law of the samples.")
    problem = problem_of(joint, Question(None, protect, use, order, itself=True))
    return solved(joint, problem, Limits(tol, rel_tol, time_limit, codes, progress, solver))


@dataclass(frozen=True)
class Posed:
    """What a problem was reduced to, the ways back, and the form of it."""

    small: Problem
    inverses: tuple[Inverse, ...]
    form: Form

    @classmethod
    def of(cls, problem: Problem) -> Posed:
        """Reduce a problem."""
        with phase("looking for states that are alike"):
            small, inverses = reduced_problem(problem)
            return cls(small, tuple(inverses), form_of(small))

    def within(self, problem: Problem) -> Posed:
        """The same for a problem that differs in the amounts of its budgets alone: states are alike whatever these are."""
        if not self.inverses:
            return replace(self, small=problem)
        if not problem.budgets:
            return self
        small = replace(self.small, budgets=problem.budgets)
        [joined] = self.inverses
        assert isinstance(joined, Joined)  # with budgets, alike states are joined and nothing else
        return Posed(small, (replace(joined, problem=problem, reduced=small),), self.form)


def solved(
    law: Law, problem: Problem, limits: Limits, beside: Beside | None = None, posed: Posed | None = None
) -> Disclosure:
    """The disclosure that solves a problem posed on a law, within limits.

    With what was found `beside` it, and what it was reduced to where that is known.
    """
    with limits.running() as clock, one_thread("blas"):
        clock.beside = beside
        if clock.stopping or limits.time_limit == 0 or (clock.stopped() and problem.size > AT_ONCE):
            return _too_late(law, problem)
        posed = posed or Posed.of(problem)
        small, form = posed.small, posed.form
        chosen = choose(small, form, limits.solver)
        late = clock.stopped() and chosen.solver not in DIRECT
        if late and (clock.stopping or not for_haste(small, form)):
            return _too_late(law, problem)
        if limits.readable and chosen.solver in MANY_CODES and not small.further and form.nullity >= READABLE:
            limits = clock.limits = limits.for_people(small)
        clock.say(0.0, problem.information_of_states, f"{form.states} states, rank {form.rank}: {chosen.solver}")
        solution = hasty(small) if late else chosen.run(small, form, clock)
        if small.utility is None:
            solution = _fewer(small, solution, _most_codes(small, form, limits), clock)
        with phase("stating what is proved"):
            for inverse in posed.inverses:
                solution = inverse.invert(solution)
            if small.size < problem.size:
                solution = replace(solution, how=f"{solution.how}; {problem.size} states joined into {small.size}")
            return certified(law, problem, solution)


def _too_late(law: Law, problem: Problem) -> Disclosure:
    nothing = trivial if problem.utility is None else nothing_told
    return certified(law, problem, nothing(problem, "stopped before it began", Status.STOPPED))


def _most_codes(problem: Problem, form: Form, limits: Limits) -> int | None:
    return form.nullity + 1 if limits.codes is None and limits.enough and problem.plain else limits.codes


def _fewer(problem: Problem, solution: Solution, most: int | None, clock: Clock) -> Solution:
    """The solution with at most as many codes as were asked for, and what that costs."""
    codes, limits = solution.channel.codes, clock.limits
    if limits.spare is None and (most is None or codes <= most):
        return solution
    clock.expect(clock.after / JOINING)  # what was kept for this
    tell("joining codes")
    before = float(stated_information(problem, solution.channel))
    rough, most = floats_of(solution.channel), min(most or codes, codes)
    if limits.spare is not None and (solution.solver == RANK or (problem.budgets and len(problem.target.values) == 2)):
        joins = best_joins(problem, rough, most, limits.spare, limits.rarest)
        channel = joined_codes(solution.channel, joins.tolist(), int(joins.max()) + 1)
    else:
        if limits.spare is None:
            rough = with_at_most(problem, rough, most, clock.stopped)
        else:
            rough = fewest(problem, rough, most, limits.spare, limits.rarest, clock.stopped)
        channel = solution.channel if len(rough) == codes else within_budgets(problem, repair(problem, rough))
    if channel.codes == codes:
        return solution
    after = float(stated_information(problem, channel))
    cost = f"at a cost of {before - after:.3g} bits" if after < before else "at no cost"
    how = f"{solution.how}; {channel.codes} of {solution.channel.codes} codes kept, {cost}"
    return replace(solution, channel=channel, how=how)


def with_best_bound(problem: Problem, solution: Solution) -> Solution:
    """The solution with the group bound in place of a bound that floats left worse than that."""
    position, about = best_group(problem)
    proved = Fraction(stated_bound(problem, solution.bound))
    if float(proved) < about - CLEARLY:
        return solution
    simple = GroupBound(position)
    return replace(solution, bound=simple) if Fraction(stated_bound(problem, simple)) < proved else solution


def checkable(found: Disclosure) -> Disclosure:
    """The same; with a simpler bound if a proof by extreme points takes more steps than the verifier takes by default."""
    if (
        found.solution.solver != LISTED or len(found.problem.target.values) <= MOST_VALUES
    ):  # of fewer values few are listed
        return found
    try:
        found.verify()
    except VerificationError as failed:
        if failed.claim != "budget":
            raise
        how = (
            f"{found.solution.how}; it is the optimum, but to check that takes more steps than a verifier takes unasked"
        )
        bound = GroupBound.best(found.problem)
        solution = replace(found.solution, bound=bound, how=how, status=Status.NOT_PROVED)
        return certified(found.law, found.problem, solution)
    return found


def certified(law: Law, problem: Problem, solution: Solution) -> Disclosure:
    """A solution as a disclosure, with its claims; raises if a value of it cannot be written, before it is saved."""
    check_written(law, problem)
    solution = with_best_bound(problem, solution)
    notes = {"how": solution.how, "status": solution.status.value, "made by": f"choral {__version__}"}
    return Disclosure(law, problem, solution, stated_claims(problem, solution), notes)
