"""An upper bound from the law alone: what the protected values say cannot be told."""

from __future__ import annotations

from fractions import Fraction

from choral.verifier.claims import need
from choral.verifier.information import entropy_of_target
from choral.verifier.intervals import add, entropy, interval, log2, ratio, subtract
from choral.verifier.names import shown_group
from choral.verifier.steps import hold, product, spend


def bound_from_group(law, used, target, groups, budgets, prior, proof):
    """I(W;Y) ≤ I(W;S) - I(W;Z): a code independent of Z says nothing that Z says.

    It needs Z to be independent of W given the state S: a function of S, or samples given their type. Then, for a code
    drawn from S, I(W;Y) ≤ I(W,Z;Y) = I(Z;Y) + I(W;Y|Z) ≤ I(Z;Y) + I(W;S|Z), and I(W;S|Z) = I(W;S) - I(W;Z). I(Z;Y) is
    zero, or at most what the budget of Z allows: its bits, or the logarithm of its ratio.
    """
    whole_law = entropy(
        ratio(w, law.total) for row in law.seen_from(used, target, prior).values() for w in row.values()
    )
    states = entropy(ratio(w, law.total) for w in prior.values())
    found = subtract(add(entropy_of_target(law, target), states), whole_law)
    position = proof.get("group")
    if position is None:
        return found
    need(type(position) is int and 0 <= position < len(groups), "upper bound", "its group is not protected")
    group = groups[position]
    need(law.screens(used, group), "upper bound", f"{shown_group(group)} is not used, so its formula does not apply")
    both = {}
    to_group = law.seen_from(used, group, prior)
    for state, row in law.seen_from(used, target, prior).items():
        shares = to_group[state]
        each = 20 + 4 * product(prior[state].bit_length(), prior[state].bit_length())
        spend(len(row) * len(shares) * each, "the joint law of target and group")
        hold(len(row) * len(shares), "the joint law of target and group")
        for z, share in shares.items():
            for w, weight in row.items():
                both[z, w] = both.get((z, w), 0) + Fraction(weight * share, prior[state])
    h_both = entropy(ratio(w.numerator, w.denominator * law.total) for w in both.values())
    h_group = entropy(ratio(w, law.total) for w in law.weights(group).values())
    told = subtract(add(entropy_of_target(law, target), h_group), h_both)
    if budgets[position] is not None:
        kind, amount = budgets[position]
        found = add(found, interval(amount) if kind == "leakage" else log2(interval(amount)))
    return subtract(found, told)
