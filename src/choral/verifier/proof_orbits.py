"""The same bound where all that is used is revealed and columns are exchangeable: one extreme point per orbit."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from math import gcd

from choral.verifier.claims import need
from choral.verifier.information import BITS, entropy_of_target
from choral.verifier.intervals import UP, entropy, interval, subtract
from choral.verifier.numbers import added_up, size_of
from choral.verifier.steps import hold, product, spend
from choral.verifier.symmetry import exchangeable, orbits, values_of
from choral.verifier.table import columns_of
from choral.verifier.vertices import MANY_POINTS, Chords, pivot, reduce_row


def bound_from_orbits_of_bases(law, used, target, groups, prior, pi, swaps):
    """The same bound when all that is used is revealed, so that H(W at t) = H(t), and columns are exchangeable.

    Permuting exchangeable columns then maps extreme points to extreme points of the same entropy and, where multipliers
    are equal on orbits (checked), of the same π·t: one extreme point per orbit is enough.
    """
    claim = "upper bound"
    for names in swaps:
        exchangeable(law, used, [], groups, columns_of(names, None, used, claim), prior)
    orbit, number = orbits(law, used, swaps), {}
    order = sorted(prior, key=lambda state: (sum(state), state))
    kind = [number.setdefault(orbit(state), len(number)) for state in order]
    multiplier = {}
    for k, state in zip(kind, order):
        need(multiplier.setdefault(k, pi[state]) == pi[state], claim, "its multipliers are not equal on orbits")
    read = values_of(law, used)
    place = {read(state): s for s, state in enumerate(order)}
    moves = []
    for names in swaps:
        where = [used.index(name) for name in names]
        spend(len(where) ** 2 * len(order) * (5 + len(used)), "orbits of extreme points")
        hold(len(where) ** 2 * len(order) // 2, "orbits of extreme points")
        for i, a in enumerate(where):
            for b in where[:i]:
                moves.append([place[swapped(read(state), a, b)] for state in order])
    rows = []
    for group in groups:
        seen = law.seen_from(used, group, prior)
        values = law.weights(group)
        spend(len(values) * len(order) * 5, "orbits of extreme points")
        hold(len(values) * len(order), "orbits of extreme points")
        for z in values:
            line = [int(z in seen[state]) for state in order]
            rows.append([sum(x * prior[state] for x, state in zip(line, order)), *line])
    deep = max(map(size_of, multiplier.values()))
    scaled = [(multiplier[k].numerator << BITS) // multiplier[k].denominator + 1 for k in range(len(number))]
    floor, slack, best = None, None, None
    for count, (denominator, masses) in enumerate(masses_on_bases(rows, len(order), moves, kind)):
        whole_masses = denominator * law.total
        long = whole_masses.bit_length()
        each = 10 + 4 * product(len(masses) * deep + long, deep + long) + product(long, long + BITS)
        spend(len(masses) * each, "the value at every extreme point")
        low = [(mass << BITS) // whole_masses for _, mass in masses]
        if count == MANY_POINTS:
            floor = Chords()
        if floor is not None:
            pull = sum(-(-scaled[k] * mass // whole_masses) for k, mass in masses)
            if floor.entropy(low) - pull - 4 * len(low) > best:
                continue
        shares = [(k, Fraction(mass, whole_masses)) for k, mass in masses]
        gap = subtract(entropy(interval(t) for _, t in shares), interval(sum(multiplier[k] * t for k, t in shares)))
        slack = gap if slack is None else (min(slack[0], gap[0]), min(slack[1], gap[1]))
        best = int(UP.multiply(slack[1], Decimal(1 << BITS)).to_integral_value(ROUND_CEILING)) + 1
    average = interval(added_up((pi[s] * prior[s] for s in prior), "multipliers") / law.total)
    return subtract(subtract(entropy_of_target(law, target), average), slack)


def swapped(values, a, b):
    """The tuple with two places exchanged."""
    values = list(values)
    values[a], values[b] = values[b], values[a]
    return tuple(values)


def masses_on_bases(rows, size, moves, kind):
    """Each extreme point of {t ≥ 0 : A t = b} at least once up to permutations, as a denominator and (kind, mass) pairs.

    `rows` are [b | A] in integers. An extreme point is the only solution on some basis: as many independent columns as A
    has rank. Bases are found by depth-first search over sets of columns in increasing order, with fraction-free
    elimination. Write a set as its sorted tuple. Each orbit of bases has a lexicographically least member, and every
    beginning of that is least in its own orbit: had a permutation made it smaller, the image of the whole set would begin
    with something no larger than that. So a beginning which a permutation makes smaller is left out. Points with equal
    masses on the same kinds of columns are given once.
    """
    what = "orbits of extreme points"
    digits = max((abs(x).bit_length() for row in rows for x in row), default=0)
    independent, basis, det = [], [], 1
    for row in rows:
        spend(2 * (size + 1) * (1 + len(independent)) * product(det.bit_length(), digits), what)
        independent.append(reduce_row(row, independent, basis, det))
        j = next((j for j in range(1, size + 1) if independent[-1][j]), None)
        if j is None:
            independent.pop()
            continue
        basis.append(j)
        independent, det = pivot(independent, len(independent) - 1, j, det)
    rank = len(independent)
    common = gcd(*(x for row in independent for x in row))
    start = [[x // common for x in row] for row in independent]
    seen = set()
    waiting = [((), start, 1)]  # a set, the rows on [b | later columns], the determinant
    while waiting:
        chosen, table, det = waiting.pop()
        done = len(chosen)
        first = size - len(table[0]) + 1  # the column that stands at position 1
        width, each = len(table[0]), product(det.bit_length() + digits, det.bit_length() + digits)
        if done:
            hold(-len(table) * width, what)
        spend(width * (10 + 5 * len(table) * each), what)
        if done == rank - 1:
            for masses in last_columns(table, det, first, chosen):
                key = masses[0], tuple(sorted((kind[c], mass) for c, mass in masses[1] if mass))
                if key not in seen:
                    seen.add(key)
                    hold(10 + 2 * len(key[1]), what)
                    yield key
            continue
        for at in range(1, len(table[0])):
            column = first + at - 1
            i = next((i for i in range(done, rank) if table[i][at]), None)
            longer = (*chosen, column)
            spend(5 * len(longer) * len(moves), what)
            if i is None or (done + 2 < rank and is_less_somewhere(longer, moves)):
                continue
            p, line = table[i][at], [table[i][0], *table[i][at + 1 :]]
            spend(2 * len(table) * len(line) * each, what)
            hold(len(table) * len(line), what)
            new = []
            for k, row in enumerate(table):
                y = row[at]
                if k == i:
                    continue
                rest = row[at + 1 :]
                new.append(
                    [(row[0] * p - y * line[0]) // det, *((x * p - y * z) // det for x, z in zip(rest, line[1:]))]
                )
            new.insert(done, line)
            if p < 0:
                new, p = [[-x for x in row] for row in new], -p
            waiting.append((longer, new, p))


def is_less_somewhere(chosen, moves):
    """Whether one of the moves makes a set smaller."""
    return any(tuple(sorted([move[c] for c in chosen])) < chosen for move in moves)


def last_columns(table, det, first, chosen):
    """The bases that one more column makes of a set, where all masses are ≥ 0: a denominator and (column, mass) pairs.

    v, the last row, vanishes on the set. The last mass is v(b)/v(c); the others follow from the rows above.
    """
    *above, v = table
    for at in range(1, len(v)):
        right, p = v[0], v[at]
        if not p or (right and (right > 0) != (p > 0)):
            continue
        if p < 0:
            right, p = -right, -p
        masses = []
        for row in above:
            mass = row[0] * p - row[at] * right
            if mass < 0:
                break
            masses.append(mass // det)
        else:
            yield p, [*zip(chosen, masses), (first + at - 1, right)]
        if not right:
            break  # the last mass is 0, whichever column is last
