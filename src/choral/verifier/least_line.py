"""The least of many lines at a state: all of them coarsely and at once, then exactly those that can be the least."""

from __future__ import annotations

from struct import Struct

from choral.verifier.table import picked

DIGIT = 64  # bits of a digit: what a line costs at a state, coarsely
MIDDLE = 1 << DIGIT - 1  # is added to each digit, so that none is negative
SHARE = 30  # bits of what a term has of the weight of a state
COARSE = 30  # bits that are left of levels and coefficients


def size(numbers):
    """What none of these exceeds."""
    return max(map(abs, numbers))


class LeastLine:
    """Line l costs weight · level_l + Σ_k x_k · coefficient_kl at a state that has a weight and terms x_k.

    Its level is a constant less the multipliers of the values that the state contains: `groups` says for each group where the
    state has its value, and what the multipliers of every line are for each value; `coefficients` has a list for each k.

    *All at once.* The numbers of all lines, in units of 2^drop and rounded down, are digits of one long integer, so that to
    add such integers, or to multiply one by x_k / weight, does so for every line. Of this only comes which lines are
    looked at: those that can be the least, whatever was rounded away.
    """

    def __init__(self, constants, groups, coefficients):
        self.constants, self.groups, self.coefficients = constants, groups, coefficients
        self.digits = Struct(f"<{len(constants)}Q")
        self.middle = int.from_bytes(self.digits.pack(*[MIDDLE] * len(constants)), "little")
        levels = size(constants) + sum(max(map(size, by_value.values())) for _, by_value in groups)
        self.drop = max(SHARE, max(levels, *map(size, coefficients)).bit_length() - COARSE)
        self.reach = (levels >> self.drop) + len(groups) + 2
        self.sizes = [(size(row) >> self.drop) + 1 for row in coefficients]
        self.coarse = [self.packed(row) for row in coefficients]
        self.pulls = [
            (picked(where), {z: self.packed(row) for z, row in by_value.items()}) for where, by_value in groups
        ]
        self.last, self.sums = [None] * len(groups), [self.packed(constants)] + [None] * len(groups)

    def packed(self, numbers):
        """Σ_l 2^(64 l) · ⌊number_l / 2^drop⌋, where a digit is borrowed from the next if it is negative."""
        digits = self.digits.pack(*[(x >> self.drop) + MIDDLE for x in numbers])
        return int.from_bytes(digits, "little") - self.middle

    def levels(self, state):
        """The coarse levels of all lines. States that follow each other mostly have their first values in common."""
        same = True
        for k, (value_of, multipliers) in enumerate(self.pulls):
            z = value_of(state)
            if same and z == self.last[k]:
                continue
            same, self.last[k] = False, z
            self.sums[k + 1] = self.sums[k] - multipliers.get(z, 0)
        return self.sums[-1]

    def candidates(self, state, weight, terms):
        """The lines that can be the least; all of them where digits are too short.

        In units of 2^drop · weight / 2^30, a line costs 2^30 level + Σ_k q_k coefficient_k, where q_k = 2^30 x_k / weight.
        Every number that was rounded down lacks less than one, and what that is in the sum is added up in `lacking`: 2^30 for
        each number that the level is made of; |q_k| for a coefficient; its size, and one, for q_k; and one for a term that is
        rounded down once more after its division. So a digit is off by less than that, and two by less than twice as much.
        """
        cost, reach = self.levels(state) << SHARE, self.reach << SHARE
        lacking = (len(self.groups) + 1) << SHARE
        for k, x, divisor in terms:
            share = (x << SHARE) // (weight * divisor)
            cost += share * self.coarse[k]
            reach += abs(share) * self.sizes[k]
            lacking += abs(share) + self.sizes[k] + 3
        if reach >= MIDDLE:
            return range(len(self.constants))
        digits = self.digits.unpack((cost + self.middle).to_bytes(self.digits.size, "little"))
        most = min(digits) + 2 * lacking
        return [line for line, digit in enumerate(digits) if digit <= most]

    def at(self, state, weight, terms):
        """What the least line costs at a state, exactly; a term (k, x, divisor) is rounded down after its division."""
        pulls = [by_value.get(tuple([state[i] for i in where])) for where, by_value in self.groups]
        pulls, least = [row for row in pulls if row is not None], None
        for line in self.candidates(state, weight, terms):
            level = self.constants[line] - sum([row[line] for row in pulls])
            cost = weight * level + sum([self.coefficients[k][line] * x // divisor for k, x, divisor in terms])
            if least is None or cost < least:
                least = cost
        return least
