"""An upper bound from multipliers, by enumerating all extreme points again."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from choral.verifier.claims import need
from choral.verifier.conditions import rows_of_conditions
from choral.verifier.information import BITS, entropy_of_target
from choral.verifier.intervals import UP, entropy, interval, ratio, subtract
from choral.verifier.numbers import added_up, rational, size_of
from choral.verifier.proof_orbits import bound_from_orbits_of_bases
from choral.verifier.steps import hold, product, spend
from choral.verifier.symmetry import exchangeable, orbits
from choral.verifier.table import columns_of
from choral.verifier.vertices import MANY_POINTS, Chords, extreme_points


def bound_from_extreme_points(law, used, target, groups, conditions, prior, proof, states):
    """H(W|Y) ≥ π·p + min over extreme points t of [H(W at t) - π·t], all of which are enumerated here again.

    Every posterior p(s|y) of a private channel lies in S = {t ≥ 0 : P t = P p}. H(W at t) - π·t is concave in t, so
    on S it is smallest at an extreme point; averaging over y gives the bound. States with the same protected values
    and the same posterior of W are alike: mass may move between them without changing anything but π·t, so they
    count as one, with the largest of their multipliers. Where columns are exchangeable (checked), averaging t over their
    permutations changes neither W at t nor, with multipliers made equal on orbits, π·t: orbits count as one state. A promise
    under a condition adds its equations to those of P; without any group, that t sums to one is another.
    """
    listed = proof.get("multipliers")
    need(isinstance(listed, list) and len(listed) == len(states), "upper bound", "it lacks multipliers")
    pi = dict(zip(states, (rational(text, "upper bound") for text in listed)))
    to_target = law.seen_from(used, target, prior)
    to_groups = [law.seen_from(used, group, prior) for group in groups]
    values = [sorted(law.weights(group)) for group in groups]
    swaps = proof.get("exchangeable", [])
    need(isinstance(swaps, list), "upper bound", "its exchangeable columns are not a list")
    need(not swaps or not conditions, "upper bound", "columns are not exchangeable under a condition")
    beside = rows_of_conditions(conditions, used, prior)
    if swaps and set(target) == set(used):
        return bound_from_orbits_of_bases(law, used, target, groups, prior, pi, swaps)
    for names in swaps:
        exchangeable(law, used, target, groups, columns_of(names, None, used, "upper bound"), to_target)
    orbit = orbits(law, used, swaps)
    classes, rows = {}, sum(map(len, values)) + len(beside) + 1
    each = 20 + product(max(w.bit_length() for w in prior.values()), law.total.bit_length())
    spend(len(states) * rows * each * (3 if swaps else 1), "the protected values of every state")
    hold(len(states) * rows, "the protected values of every state")
    for state in states:
        column = tuple(Fraction(seen[state].get(z, 0), prior[state]) for seen, zs in zip(to_groups, values) for z in zs)
        column += tuple(Fraction(row.numerators[state], row.divisor * prior[state]) for row in beside)
        column += () if groups else (Fraction(1),)
        posterior = tuple(sorted((w, Fraction(weight, prior[state])) for w, weight in to_target[state].items()))
        key = (orbit(state), posterior) if swaps else (column, posterior)
        classes.setdefault(key, []).append((state, column))
    columns = [
        tuple(sum(prior[s] * c[i] for s, c in members) / sum(prior[s] for s, _ in members) for i in range(len(column)))
        if swaps
        else members[0][1]
        for members in classes.values()
    ]
    classes = {key: [state for state, _ in members] for key, members in classes.items()}
    weights = [sum(prior[s] for s in members) for members in classes.values()]
    largest = [max(pi[s] for s in members) for members in classes.values()]
    # P(w | class) from below, in units of 2^-BITS; the true one is less than a unit larger.
    posteriors = [[(w, (p.numerator << BITS) // p.denominator) for w, p in key[1]] for key in classes]
    slack, best, floor = None, 0, None
    unit = 1 << BITS
    deep = max(map(size_of, largest))
    scaled = [(x.numerator << BITS) // x.denominator + 1 for x in largest]
    for count, point in enumerate(extreme_points(columns, weights)):
        long, low = max(map(size_of, point.values())), {}
        each = 10 + 4 * product(len(point) * deep + long, deep + long) + product(long, BITS)
        spend(sum(5 + len(posteriors[c]) for c in point) * each, "the value at every extreme point")
        for c, mass in point.items():
            for w, share in posteriors[c]:
                low[w] = low.get(w, 0) + mass.numerator * share // mass.denominator
        wide = 2 * len(point)
        if count == MANY_POINTS:
            floor = Chords()
        if floor is not None:
            # Chords of -x log x lie below it (and its slope is above -2): a point that is far from tight needs no logarithm.
            pull = sum(-(-scaled[c] * m.numerator // m.denominator) for c, m in point.items())
            if floor.entropy(low.values()) - pull - 2 * wide * len(low) > best:
                continue
        at_point = entropy((ratio(x, unit)[0], ratio(x + wide, unit)[1]) for x in low.values())
        gap = subtract(at_point, interval(sum(largest[c] * m for c, m in point.items())))
        slack = gap if slack is None else (min(slack[0], gap[0]), min(slack[1], gap[1]))
        best = int(UP.multiply(slack[1], Decimal(1 << BITS)).to_integral_value(ROUND_CEILING)) + 1
    average = interval(added_up((pi[s] * prior[s] for s in states), "multipliers") / law.total)
    return subtract(subtract(entropy_of_target(law, target), average), slack)
