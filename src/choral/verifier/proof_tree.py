"""Lines below the entropy for a target of many values: a tree of boxes, each with a line below the chords of its sides."""

from __future__ import annotations

from fractions import Fraction

from choral.verifier.claims import need
from choral.verifier.information import BITS
from choral.verifier.intervals import minus_x_log_x, ratio
from choral.verifier.numbers import whole
from choral.verifier.steps import hold, product, spend

CUT_BITS = 40  # of the ends of sides, and of cuts
LINE_BITS = 40  # of the coefficients of lines
UNIT = 1 << CUT_BITS


def lines_of_tree(proof, values, to_target, prior):
    """The lines of a proof by a tree, which are below the entropy wherever a posterior of the target can be.

    Every P(w | s) is between `low` and `high`, so is every mixture of them: the root, a box, holds all posteriors. A box is
    cut into two along a side, and so on; a box that is not cut names a line. With -t log t concave, its chord over a side
    [l, u] is below it there, and so is any line that is below it at l and at u; the entropy is the sum of such terms. That
    the named line is nowhere in the box above the sum of those is a knapsack: the excess is linear in t, with Σ t = 1 and l
    ≤ t ≤ u, so it is largest where the best values are filled first. ∎ A box without a law needs no line.
    """
    claim, size = "upper bound", len(values)
    low, high = ends_of(proof.get("low"), size), ends_of(proof.get("high"), size)
    spend(len(prior) * size * 4, "the root of the tree")
    for state, weight in prior.items():
        row = to_target[state]
        for k, value in enumerate(values):
            share = row.get(value, 0) << CUT_BITS
            need(
                low[k] * weight <= share <= high[k] * weight,
                claim,
                "a state tells more than the root of its tree holds",
            )
    lines, tree = proof.get("lines"), proof.get("tree")
    need(isinstance(lines, list) and isinstance(tree, list), claim, "it has no tree")
    good = all(isinstance(line, list) and len(line) == size for line in lines)
    need(good and len(lines) > 0, claim, "a line does not have a coefficient for every value")
    spend(len(lines) * size * 4, "the lines of the tree")
    hold(len(lines) * size, "the lines of the tree")
    lines = [[coefficient(x) << (BITS - LINE_BITS) for x in line] for line in lines]
    spend(len(tree) * size * (12 + 2 * product(2 * BITS, CUT_BITS)), "the boxes of the tree")
    sides, waiting = Sides(), [(low, high)]
    for node in tree:
        need(bool(waiting), claim, "its tree has more boxes than were cut")
        low, high = waiting.pop()
        good = isinstance(node, list) and len(node) <= 2 and all(type(x) is int for x in node)
        need(good, claim, "a box of its tree is not a list of integers")
        if len(node) == 2:
            k, cut = node
            need(0 <= k < size and low[k] < cut < high[k], claim, "a box is cut outside of itself")
            waiting.append(([*low[:k], cut, *low[k + 1 :]], high))
            waiting.append((low, [*high[:k], cut, *high[k + 1 :]]))
            hold(2 * size, "the boxes of the tree")
            continue
        if sum(low) > UNIT or sum(high) < UNIT:
            continue
        need(len(node) == 1 and 0 <= node[0] < len(lines), claim, "a box of its tree has no line")
        need(most_above(lines[node[0]], low, high, sides) <= 0, claim, "a line is above the entropy in its box")
    need(not waiting, claim, "its tree ends before all boxes are met")
    return lines


def ends_of(listed, size):
    """One end of each side of the root, in units."""
    need(isinstance(listed, list) and len(listed) == size, "upper bound", "the root of its tree lacks a side")
    ends = [whole(x, "upper bound") for x in listed]
    need(all(x <= UNIT for x in ends), "upper bound", "the root of its tree is not in the simplex")
    return ends


def coefficient(text):
    """A signed hexadecimal integer of at most 64 bits beside its fraction."""
    negative = isinstance(text, str) and text.startswith("-")
    number = whole(text[1:] if negative else text, "upper bound")
    need(number.bit_length() <= LINE_BITS + 64, "upper bound", "a coefficient of a line is too large")
    return -number if negative else number


class Sides:
    """Lines below -t log t over a side [l, u], once each: slope and start, in units of 2^-BITS per unit and 2^-BITS."""

    def __init__(self):
        self.terms, self.chords = {}, {}

    def term(self, end):
        """-t log t at t = end / UNIT, rounded down."""
        if end not in self.terms:
            low, _ = minus_x_log_x(ratio(end, UNIT))
            scaled = Fraction(low) * (1 << BITS)
            self.terms[end] = scaled.numerator // scaled.denominator
        return self.terms[end]

    def chord(self, low, high):
        """Slope (per t) and start of a line that is below at both ends, so in between."""
        found = self.chords.get((low, high))
        if found is None:
            hold(2, "the boxes of the tree")
            first, last = self.term(low), self.term(high)
            slope = (last - first) * UNIT // (high - low) if high > low else 0
            start = min(first - (slope * low >> CUT_BITS) - 1, last - (slope * high >> CUT_BITS) - 1)
            found = self.chords[low, high] = slope, start
        return found


def most_above(line, low, high, sides):
    """How far, at most, the line is above the sum of chords in a box that holds a law: times UNIT, in units of 2^-BITS."""
    room, total, gains = UNIT, 0, []
    for at, first, last in zip(line, low, high):
        slope, start = sides.chord(first, last)
        room -= first
        total += (at - slope) * first - (start << CUT_BITS)
        gains.append((at - slope, last - first))
    for gain, width in sorted(gains, reverse=True):
        step = min(width, room)
        total += gain * step
        room -= step
        if not room:
            break
    return total
