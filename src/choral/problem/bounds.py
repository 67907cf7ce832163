"""What can be said before solving: feasibility, bounds, sizes and the price of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from choral.describe.display import Listing, at_least, at_most, figure
from choral.problem.budget import Budget
from choral.problem.form import Form, form_of
from choral.problem.kernel import Conditional, Problem, Variable


@dataclass(frozen=True)
class Bounds:
    """What Section II of the paper says about a problem. Information is in bits."""

    states: int
    rank: int
    nullity: int
    feasible: bool
    entropy: float
    information: float
    upper_bound: float
    upper_bound_from: str
    price_at_least: float
    codes_at_most: int
    codes_at_least: int
    residual_at_most: float
    residual_at_most_by_sizes: float

    @property
    def efficiency_at_most(self) -> float:
        """upper_bound / H(W); in self-disclosure 1 - max H(X_j) / H(Xⁿ)."""
        return self.upper_bound / self.entropy if self.entropy else 0.0

    def rows(self, in_full: bool = False) -> list[tuple[str, str]]:
        """Every quantity with the words for it, in three digits or `in_full`; bounds are rounded to their safe side."""
        full = "{:.9f}".format
        near, most, least = (full, full, full) if in_full else (figure, at_most, at_least)
        return [
            ("states of positive probability, |X̂|", f"{self.states}"),
            ("rank of P", f"{self.rank}"),
            ("nullity of P", f"{self.nullity}"),
            ("something can be disclosed", "yes" if self.feasible else "no"),
            ("H(W)", f"{near(self.entropy)} bits"),
            ("I(W;X), with no privacy at all", f"{near(self.information)} bits"),
            ("I_s at most", f"{most(self.upper_bound)} bits, from {self.upper_bound_from}"),
            ("price I(W;X) - I_s, at least", f"{least(self.price_at_least)} bits"),
            (f"codes that suffice{', nul(P)+1' * (self.codes_at_most == self.nullity + 1)}", f"{self.codes_at_most}"),
            ("codes if all are extreme points, at least", f"{self.codes_at_least}"),
            ("min H(X|Y), at most log rank(P)", f"{most(self.residual_at_most)} bits"),
            ("the same by alphabet sizes alone", f"{most(self.residual_at_most_by_sizes)} bits"),
        ]

    def in_full(self) -> str:
        """Every quantity with nine decimals."""
        return _lines(self.rows(in_full=True))

    def __str__(self) -> str:
        return _lines(self.rows())

    def _repr_html_(self) -> str:
        return Listing("", ("", ""), self.rows()).html()


def _lines(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label.ljust(width)}  {value}" for label, value in rows)


def bounds_of(problem: Problem) -> Bounds:
    """Feasibility, the group bound and its price, how many codes, and the rank bound on H(X|Y).

    `codes_at_least` is about channels made of extreme points; a code may mix several, and then fewer suffice. With budgets
    a posterior moves in the nullity of the groups without one, and every budget in bits is one more sum to keep: as many
    codes as both, and one more, suffice.

    >>> from choral.describe import examples
    >>> from choral.problem.pose import pose
    >>> b = bounds_of(pose(examples.modular(3, 2)))
    >>> b.feasible, b.nullity, round(b.upper_bound, 6)
    (True, 10, 1.584963)
    """
    form = form_of(problem)
    exact = _exact_part(problem) if problem.budgets else form
    form = replace(form, feasible=exact.feasible)
    in_bits = sum(budget is not None and budget.kind == "leakage" for budget in problem.budgets)
    value, source = best_bound(problem)
    sizes = sum(len(group.values) for group in problem.groups) - len(problem.groups) + 1
    if problem.conditions:
        sizes = form.states
    return Bounds(
        states=form.states,
        rank=form.rank,
        nullity=form.nullity,
        feasible=form.feasible,
        entropy=problem.entropy_of_target,
        information=problem.information_of_states,
        upper_bound=value if form.feasible else 0.0,
        upper_bound_from=source if form.feasible else "the ranks",
        price_at_least=problem.information_of_states - (value if form.feasible else 0.0),
        codes_at_most=exact.nullity + 1 + in_bits,
        codes_at_least=1 if problem.budgets else -(-form.states // form.rank),
        residual_at_most=math.log2(form.rank),
        residual_at_most_by_sizes=math.log2(min(sizes, form.states)),
    )


def _exact_part(problem: Problem) -> Form:
    """The form of the problem without the groups that have a budget: what these allow is small steps, in any direction."""
    kept = tuple(group for group, budget in zip(problem.groups, problem.budgets, strict=True) if budget is None)
    nothing = Variable.function("", (), [()], [0] * problem.size, problem.weights)
    return form_of(replace(problem, groups=kept or (nothing,), budgets=()))


def best_group(problem: Problem) -> tuple[int | None, float]:
    """The protected group whose bound I(W;S) - I(W;Z) is smallest, and the bound."""
    best: tuple[int | None, float] = (None, problem.information_of_states)
    for position, group in enumerate(problem.groups):
        if group.screened:
            value = max(0.0, problem.information_of_states - problem.information_of_group(group))
            value += allowed_bits(problem.budget(position))
            if (best[0] is None and value <= best[1]) or value < best[1]:
                best = position, value
    return best


def best_bound(problem: Problem) -> tuple[float, str]:
    """The least of the bounds of the groups and of the conditions, and what it is from.

    A code that hides Z from whoever knows V tells at most I(W;S) - I(W;Z|V), where the state determines (Z, V): with V it
    tells I(W;V) + I(W;Y|V), and I(W;Y|V) ≤ I(W;S|V) - I(W;Z|V) by the group bound within each v.
    """
    position, value = best_group(problem)
    found = value, "I(W;X)" if position is None else problem.groups[position].name
    for promise in problem.conditions:
        if promise.both.screened:
            told = max(0.0, problem.information_of_states - _told_given(problem, promise))
            found = min(found, (told, promise.name), key=lambda bound: bound[0])
    return found


def _told_given(problem: Problem, promise: Conditional) -> float:
    """I(W; Z | V) in bits, over the values of V that a promise is about."""
    with_target = problem.with_target(promise.both)
    of_known: dict[tuple[int, int], Fraction] = {}
    for (i, w), n in with_target.items():
        v = promise.given[i]
        of_known[v, w] = of_known.get((v, w), Fraction(0)) + n
    meant = [(promise.given[i], i, n) for i, n in enumerate(promise.both.marginal) if promise.given[i] >= 0]
    pairs = [n for (i, _), n in with_target.items() if promise.given[i] >= 0]
    known = [n for (v, _), n in of_known.items() if v >= 0]
    parts = [n for *_, n in meant], known, pairs, list(promise.of_condition.values())
    a, b, both, alone = (
        sum(float(n) / problem.total * math.log2(float(n) / problem.total) for n in part) for part in parts
    )
    return both + alone - a - b


def allowed_bits(budget: Budget | None) -> float:
    """What I(Z;Y) is at most within a budget."""
    if budget is None:
        return 0.0
    return float(budget.amount) if budget.kind == "leakage" else math.log2(budget.amount)
