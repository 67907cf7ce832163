"""An upper bound of zero: the protected values determine all that could be told."""

from __future__ import annotations

from decimal import Decimal

from choral.verifier.claims import ClaimFailed, brief, need
from choral.verifier.conditions import condition_row
from choral.verifier.numbers import common_denominator, rational
from choral.verifier.steps import product, spend


def bound_when_determined(law, used, target, groups, budgets, conditions, prior, proof):
    """Zero, because P(w | s) = Σ_i c_wi P(z_i | s) for every state: then P(w | y) = Σ_i c_wi p(z_i) for every code.

    The equations of conditions, whose sums are zero for every code, may be among the rows, and one for the sum of a law.
    """
    claim = "upper bound"
    kinds = [sorted(law.weights(group)) for group in groups]
    places = places_of(proof, kinds)
    need(all(budgets[g] is None for g, _ in places), claim, "it rests on a group that is not independent of the code")
    beside = {i: beside_row(row, conditions, used, prior) for i, row in enumerate(proof["rows"]) if is_beside(row)}
    need(all(beside.values()), claim, "it rests on a further law")
    listed = proof.get("coefficients")
    values = sorted(law.weights(target))
    need(isinstance(listed, list) and len(listed) == len(values), claim, "it lacks coefficients")
    to_target = law.seen_from(used, target, prior)
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    for w, row in zip(values, listed):
        need(isinstance(row, list) and len(row) == len(proof["rows"]), claim, "it lacks coefficients")
        every = [rational(text, claim) for text in row]
        numbers = [c for i, c in enumerate(every) if i not in beside]
        common = common_denominator(every, "coefficients")
        each = 10 + 4 * product(common.bit_length(), common.bit_length() + law.total.bit_length())
        spend(len(prior) * len(every) * each, "the coefficients at every state")
        for state in prior:
            found = sum(c * to_groups[g][state].get(z, 0) for c, (g, z) in zip(numbers, places))
            found += sum(every[i] * equation.numerators[state] / equation.divisor for i, equation in beside.items())
            if found != to_target[state].get(w, 0):
                raise ClaimFailed(claim, f"the target is not determined at state {brief(state)}")
    return Decimal(0), Decimal(0)


class SumRow:
    """The row of ones: a posterior sums to one."""

    def __init__(self, prior):
        self.numerators, self.divisor = prior, 1


def is_beside(row):
    """Whether a row of a proof is none of a group."""
    return isinstance(row, list) and bool(row) and isinstance(row[0], str)


def beside_row(row, conditions, used, prior):
    """The equation of a condition, or the sum of a law, that a proof names; None where it names one of a further law."""
    if row == ["sum"]:
        return SumRow(prior)
    return condition_row(row, conditions, used, prior) if row[0] == "given" else None


def places_of(proof, kinds):
    """The (group, value) pairs that a proof's rows name."""
    rows, places = proof.get("rows"), []
    need(isinstance(rows, list), "upper bound", "it names no rows")
    for row in rows:
        if is_beside(row):
            continue
        good = isinstance(row, list) and len(row) == 2 and all(type(x) is int for x in row)
        need(
            good and 0 <= row[0] < len(kinds) and 0 <= row[1] < len(kinds[row[0]]),
            "upper bound",
            f"bad row {brief(row)}",
        )
        places.append((row[0], kinds[row[0]][row[1]]))
    need(len(set(places)) == len(places), "upper bound", "a row is listed twice")
    return places
