"""What the code tells about the target, and about groups with a budget, compared with what is stated."""

from __future__ import annotations

from decimal import Decimal
from itertools import islice

from choral.verifier.claims import need
from choral.verifier.intervals import UP, add, entropy, ratio, subtract
from choral.verifier.numbers import decimal
from choral.verifier.slices import in_slices
from choral.verifier.steps import hold, product, spend

STATED = Decimal(10) ** -15  # claims are stated to this many bits, rounded towards caution
CERTAIN = Decimal(10) ** -30  # what is recomputed must be known to within this
BITS = 192  # fixed-point precision of probabilities, lines and multipliers


def leakage(law, group, channel, found):
    """I(Z;Y) as an interval."""
    both = entropy(
        ratio(mass.numerator, mass.denominator * law.total) for row in found.values() for mass in row.values()
    )
    values = entropy(ratio(w, law.total) for w in law.weights(group).values())
    codes = entropy(ratio(mass.numerator, mass.denominator * law.total) for mass in channel.mass)
    return subtract(add(values, codes), both)


def leakages_of(document, budgets):
    """What the file says that groups with a budget leak."""
    listed = document["claims"].get("leakage", [None] * len(budgets))
    need(isinstance(listed, list) and len(listed) == len(budgets), "leakage", "it is not stated for every group")
    for text, budget in zip(listed, budgets):
        need((text is None) == (budget is None), "leakage", "it is stated exactly for groups with a budget")
    return [None if text is None else decimal(text, "leakage") for text in listed]


def information(law, used, target, channel, prior):
    """I(W;Y) = H(W) - H(W,Y) + H(Y), as an interval."""
    low, terms, what = {}, {}, "the joint law of codes and target"
    seen = law.seen_from(used, target, prior)

    def sum_up(start, stop):
        for state in islice(prior, start, stop):
            values = seen[state]
            denominator, codes, numerators = channel.rows[state]
            bottom = denominator * law.total
            each = 5 + product(bottom.bit_length() + BITS, bottom.bit_length())
            spend(len(values) * len(codes) * each, what)
            before = len(low)
            for w, weight in values.items():
                for y, n in zip(codes, numerators):
                    key = w, y
                    low[key] = low.get(key, 0) + ((n * weight) << BITS) // bottom
                    terms[key] = terms.get(key, 0) + 1
            if len(low) > before:
                hold(2 * (len(low) - before), what)

    def add_up(found):
        before = len(low)
        for sums, more in zip((low, terms), found):
            for key, number in more.items():
                sums[key] = sums.get(key, 0) + number
        hold(2 * (len(low) - before), what)

    in_slices(len(prior), sum_up, lambda: (low, terms), add_up)
    unit = 1 << BITS
    both = entropy((ratio(x, unit)[0], ratio(x + terms[k], unit)[1]) for k, x in low.items())
    codes = entropy(ratio(mass.numerator, mass.denominator * law.total) for mass in channel.mass)
    return add(subtract(entropy_of_target(law, target), both), codes)


def entropy_of_target(law, target):
    """H(W) as an interval."""
    return entropy(ratio(weight, law.total) for weight in law.weights(target).values())


def compare_information(found, stated):
    """The stated information must be the true one, rounded down to fifteen decimals."""
    low, high = certain(found, "information")
    need(stated <= UP.add(low, CERTAIN), "information", f"{stated:f} is stated but only {low:.18f} is disclosed")
    need(UP.subtract(high, stated) < 2 * STATED, "information", f"{stated:f} is stated but {low:.18f} is disclosed")


def compare_bound(found, stated, claim="upper bound"):
    """The stated number must be the recomputed one, rounded up to fifteen decimals."""
    low, high = certain(found, claim)
    need(UP.add(stated, CERTAIN) >= high, claim, f"{stated:f} is stated but recomputing gives {high:.18f}")
    need(UP.subtract(stated, low) < 2 * STATED, claim, f"{stated:f} is stated but recomputing gives {high:.18f}")


def certain(found, claim):
    """An interval of a number that is not negative, refused when it is too wide to decide anything."""
    need(
        UP.subtract(found[1], found[0]) <= CERTAIN, claim, "it cannot be recomputed with certainty (numbers too large)"
    )
    return max(found[0], Decimal(0)), max(found[1], Decimal(0))
