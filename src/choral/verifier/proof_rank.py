"""An upper bound from the closed form: one protected group that the state determines, and a target of two values."""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import lcm

from choral.verifier.claims import need
from choral.verifier.information import BITS, entropy_of_target
from choral.verifier.intervals import DOWN, LOGARITHM, UP, add, entropy, interval, ratio, subtract
from choral.verifier.steps import hold, product, spend
from choral.verifier.table import Table


def bound_from_rank(law, used, target, groups, conditions, plain, prior):
    """H(W|Y) ≥ Σ_j length_j h(t_j), where t_j is what the j-th interval of the rank within the group says.

    Let r(s) = P(W = 1 | s). Lay the states of each z on [0, 1] in the order of r, each with the length p(s | z), and cut at
    the ends of all pieces; t_j = Σ_z p(z) r of the piece of z in interval j. For any private code, draw in each code
    independent companions from every group: what the code tells about W is at most what t = Σ_z p(z) r_z of the companions
    tells, with r_z distributed as r given z. A sum of variables with given laws is largest in convex order when they rise
    together, which is the t_j; and minus the entropy is convex. ∎ Where Z is hidden from whoever knows V, and that is all,
    telling V costs nothing: the same within each v.
    """
    need(plain, "upper bound", "the closed form is about one law, without budgets")
    values = sorted(law.weights(target))
    need(len(values) == 2, "upper bound", "the closed form is about a target of two values")
    to_target = law.seen_from(used, target, prior)
    top, total = {state: to_target[state].get(values[1], 0) for state in prior}, interval(0)
    for line in laid_out(law, used, groups, conditions, prior, top, "upper bound"):
        total = add(total, sum_over_line(line, prior, top, law.total))
    return subtract(entropy_of_target(law, target), total)


def laid_out(law, used, groups, conditions, prior, top, claim):
    """For every condition, or for all where there is none, the groups with their states in the order of r = top / weight."""
    need(isinstance(law, Table), claim, "the closed form is about a law that is a table")
    need(len(groups) + len(conditions) == 1, claim, "the closed form is about one group")
    columns, first = (groups[0], len(groups[0])) if groups else (conditions[0].columns, len(conditions[0].hidden))
    need(not conditions or not conditions[0].only, claim, "the closed form is about every value of the condition")
    need(law.screens(used, columns), claim, "the closed form is about a group that the state determines")
    where = [used.index(name) for name in columns]
    lines = {}
    for state in prior:
        value = tuple([state[i] for i in where])
        lines.setdefault(value[first:], {}).setdefault(value, []).append(state)

    def compared(a, b):
        return top[a] * prior[b] - top[b] * prior[a]

    for members in lines.values():
        for states in members.values():
            states.sort(key=cmp_to_key(compared))
    return [list(members.values()) for members in lines.values()]


def squares_from_rank(law, used, groups, conditions, prior, first):
    """Σ_j length_j t_j² for means r(s) = first / weight, from above: what minus the square, also concave, is at least."""
    claim, total = "value bound", Fraction(0)
    for line in laid_out(law, used, groups, conditions, prior, first, claim):
        swept = swept_line(line, prior, first)
        length, weight = next(swept)
        square = sum((end - start) * (low + len(line)) ** 2 for start, end, low in swept)
        total += Fraction(square * weight, (law.total * length) << 2 * BITS)
    return total


def sum_over_line(groups, prior, top, whole):
    """Σ_j p(j) h(t_j) over the intervals of groups of states, each in the order of r."""
    spend(sum(map(len, groups)) * 2 * LOGARITHM, "the rank within the group")
    unit, total = 1 << BITS, interval(0)
    swept = swept_line(groups, prior, top)
    length, weight = next(swept)
    for start, end, low in swept:
        high = low + len(groups)
        t = ratio(low, unit)[0], ratio(high, unit)[1]
        rest = ratio(unit - high, unit)[0], ratio(unit - low, unit)[1]
        share, at_t = ratio(weight * (end - start), whole * length), entropy([t, rest])
        total = add(total, (DOWN.multiply(share[0], at_t[0]), UP.multiply(share[1], at_t[1])))
    return total


def swept_line(groups, prior, top):
    """The length of a line and the weight on it; then its intervals as (start, end, t), t in units of 2^-BITS.

    t is rounded down, by less than a unit for every group.
    """
    held, count = [sum(prior[s] for s in states) for states in groups], sum(map(len, groups))
    weight, length = sum(held), 1
    for x in held:
        spend(10 + 4 * product(length.bit_length(), x.bit_length()), "the rank within the group")
        length = lcm(length, x)
    wide, deep = length.bit_length(), weight.bit_length() + max(x.bit_length() for x in top.values()) + BITS
    spend(count * (50 + 8 * product(wide + deep, deep)), "the rank within the group")
    hold(count * (1 + wide // 64), "the rank within the group")
    yield length, weight
    turns = {}
    for g, states in enumerate(groups):
        at = 0
        for k, state in enumerate(states):
            turns.setdefault(at, []).append((g, k))
            at += prior[state] * (length // held[g])
    current, low = [0] * len(groups), 0
    for start, end in pairwise([*sorted(turns), length]):
        for g, k in turns[start]:
            state = groups[g][k]
            new = ((held[g] * top[state]) << BITS) // (weight * prior[state])
            low, current[g] = low + new - current[g], new
        yield start, end, low
