"""The privacy core: a law as integer weights, a channel as integers, and p(z, y) = p(z) p(y) as equations between them.

Nothing here needs a logarithm or a proof: whoever cares for privacy alone need read no further than this.
"""

from __future__ import annotations

from array import array
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import islice
from math import gcd

from choral.verifier.claims import ClaimFailed, brief, need
from choral.verifier.names import shown_group
from choral.verifier.numbers import added_up, rational, whole
from choral.verifier.reading import between, is_list
from choral.verifier.slices import in_slices
from choral.verifier.steps import hold, product, spend
from choral.verifier.sums import added, gather, gather_all
from choral.verifier.table import Contained, are_integers, picked, short

MOST_LETTERS = 2000  # of a budget


class Channel:
    """p(y | s) for every state, and with the prior the joint law of state and code: all in integers.

    A row of the file is [denominator, [code, numerator], …]; `rows` keeps it as (denominator, codes, numerators). With the
    weight w of the state, the joint mass of state and code is w·numerator / denominator, in units of the law.
    """

    def __init__(self, document, prior):
        channel = document.get("channel")
        need(isinstance(channel, dict), "channel", "there is none")
        self.codes = channel.get("codes")
        need(type(self.codes) is int and self.codes > 0, "channel", "it has no codes")
        states, rows = channel.get("states"), channel.get("rows")
        need(is_list(states) and is_list(rows), "channel", "it lists no states")
        need(len(states) == len(rows), "channel", "it does not list one row per state")
        self.prior, self.rows = prior, dict.fromkeys(prior)
        known = {}

        def keep(key, denominator, codes, numerators):
            self.rows[key] = (
                known.setdefault(denominator, denominator),
                known.setdefault(codes, codes),
                array("Q", numerators) if denominator < 1 << 64 else tuple(numerators),
            )

        def read(start, stop):
            for state, row in zip(between(states, start, stop), between(rows, start, stop)):
                key = tuple(state) if isinstance(state, list) and are_integers(state) else None
                if key not in prior:
                    raise ClaimFailed("channel", f"the state {brief(state)} has no probability under the law")
                if self.rows[key] is not None:
                    raise ClaimFailed("channel", f"the state {brief(state)} is listed twice")
                keep(key, *self.row_of(state, row))

        def found():
            return [
                (key, d, codes, tuple(numbers)) for key, row in self.rows.items() if row for d, codes, numbers in [row]
            ]

        def add(others):
            once = all(self.rows[key] is None for key, *_ in others)
            for row in others if once else ():
                keep(*row)
            return once

        in_slices(len(rows), read, found, add)
        listed = sum([len(row[1]) for row in self.rows.values() if row])
        need(self.codes <= listed, "channel", f"it claims {short(self.codes)} codes, more than it lists entries")
        missing = next((key for key, row in self.rows.items() if row is None), None)
        need(missing is None, "channel", f"the state {brief(list(missing or ()))} is missing")
        self.weigh()
        for y, total in enumerate(self.mass):
            need(total > 0, "channel", f"code {y} is never used")
        total = added_up(self.mass, "the masses of all codes")
        need(total == sum(prior.values()), "prior", "the codes do not sum to the prior")

    def row_of(self, state, row):
        """Denominator, codes and numerators of a row of the file, which must sum to one."""
        if not isinstance(row, list) or len(row) < 2:
            raise ClaimFailed("channel", f"the state {brief(state)} has no weights")
        denominator, last, codes, numerators = whole(row[0], "channel"), -1, [], []
        if denominator == 0:
            raise ClaimFailed("channel", f"the denominator of state {brief(state)} is zero")
        for entry in row[1:]:
            if not isinstance(entry, list) or len(entry) != 2:
                raise ClaimFailed("channel", f"bad entry {brief(entry)} at state {brief(state)}")
            y, text = entry
            if type(y) is not int or not last < y < self.codes:
                raise ClaimFailed("channel", f"codes out of order at state {brief(state)}")
            weight = whole(text, "channel")
            if weight == 0:
                raise ClaimFailed("channel", f"a weight of zero is listed at state {brief(state)}")
            codes.append(y)
            numerators.append(weight)
            last = y
        if sum(numerators) != denominator:
            short_of = "do not sum to its denominator, so its codes do not sum to its prior"
            raise ClaimFailed("prior", f"the weights of state {brief(state)} {short_of}")
        return denominator, tuple(codes), numerators

    def weigh(self):
        """The mass of every code, in units of the law."""
        self.mass = [Fraction(0)] * self.codes
        [sums] = self.sums([Nothing()])
        for y, total in sums[()].items():
            self.mass[y] = total

    def under(self, prior):
        """The same channel with another prior on its states."""
        other = object.__new__(Channel)
        other.codes, other.rows, other.prior = self.codes, self.rows, prior
        other.weigh()
        return other

    def sums(self, groups):
        """For each group {z: {y: mass}} in units of the law; group[state] = {z: (p, q)} says P(z | state) = p/q. Exact.

        Masses with one denominator are added as integers; the few sums are then added as fractions. Where states contain
        the groups, masses of states that agree in half of the groups are added first: no more numbers than the rows have.
        """
        what = "the joint law of codes and protected values"
        inside = [g for g, group in enumerate(groups) if group.where is not None]
        apart = [g for g, group in enumerate(groups) if group.where is None]
        middle = len(inside) // 2
        halves = [Half(groups, some) for some in (inside[:middle], inside[middle:]) if some]
        sums = [{} for _ in groups]

        def sum_up(start, stop):
            for state, weight in islice(self.prior.items(), start, stop):
                denominator, codes, numerators = self.rows[state]
                shared = gcd(weight, denominator)
                top, bottom = weight // shared, denominator // shared
                shares = [(sums[g], groups[g][state]) for g in apart]
                each = product(top.bit_length() + 64, bottom.bit_length() + 64)
                spend((len(inside) + sum([len(values) for _, values in shares])) * (2 + len(codes) * each), what)
                for half in halves:
                    gather(half.sums, half.value_of(state), bottom, codes, numerators, top)
                for parts, values in shares:
                    for z, (p, q) in values.items():
                        hold(gather(parts, z, bottom * q, codes, numerators, top * p), what)

        def found():
            return [half.sums for half in halves], [sums[g] for g in apart]

        def add_up(more):
            for parts, others in zip(found()[0], more[0]):
                gather_all(parts, others)
            for parts, others in zip(found()[1], more[1]):
                hold(gather_all(parts, others), what)

        in_slices(len(self.prior), sum_up, found, add_up)
        for half in halves:
            for values, by_bottom in half.sums.items():
                for g, value_of in half.groups:
                    for bottom, row in by_bottom.items():
                        hold(gather(sums[g], value_of(values), bottom, row, row.values(), 1), what)
        return [{z: added(parts) for z, parts in group.items()} for group in sums]


class Half:
    """Some groups that states contain: the values of all of them in a state, and each group's among these."""

    def __init__(self, groups, some):
        where = sorted({i for g in some for i in groups[g].where})
        self.sums, self.value_of = {}, picked(where)
        self.groups = [(g, picked([where.index(i) for i in groups[g].where])) for g in some]


class Nothing:
    """The group of no columns, which has one value."""

    where = ()


class Shares:
    """P(z | state) as reduced (p, q), for every value z of a group that has weight together with the state.

    Where the states contain the group, `where` says at which places; P(z | state) is one, then.
    """

    def __init__(self, law, used, group, prior):
        self.seen, self.prior = law.seen_from(used, group, prior), prior
        self.where = self.seen.where if isinstance(self.seen, Contained) else None

    def __getitem__(self, state):
        total = self.prior[state]
        return {
            z: (1, 1) if w == total else (w // gcd(w, total), total // gcd(w, total))
            for z, w in self.seen[state].items()
        }


def independence(law, group, channel, found):
    """Privacy of one group: p(z, y) = p(z) p(y) for every z and y, as an equation between integers."""
    spend_on_equations(law, group, channel)
    for z, weight in law.weights(group).items():
        for y, mass in enumerate(channel.mass):
            if found[z].get(y, 0) * law.total != weight * mass:
                raise ClaimFailed(
                    f"privacy of {shown_group(group)}",
                    f"the value {list(z)} has probability {float(Fraction(weight, law.total)):.12g} "
                    f"but {float(found[z].get(y, 0) / mass):.12g} given code {y}",
                )


def within_ratio(law, group, channel, found, most):
    """A ratio budget: p(z)/ρ ≤ p(z|y) ≤ ρ p(z) for every z and y, as inequalities between integers."""
    spend_on_equations(law, group, channel)
    for z, weight in law.weights(group).items():
        for y, mass in enumerate(channel.mass):
            here, even = found[z].get(y, 0) * law.total, weight * mass
            if not (here <= most * even and even <= most * here):
                raise ClaimFailed(
                    f"ratio of {shown_group(group)}",
                    f"the value {list(z)} becomes {shown(Fraction(here) / even)} times as likely given code {y}; "
                    f"the budget is {shown(most)}",
                )


def spend_on_equations(law, group, channel):
    """Pay for the equations between every value of a group and every code."""
    longest = max(mass.denominator.bit_length() + mass.numerator.bit_length() for mass in channel.mass)
    each = 20 + 2 * product(longest, law.total.bit_length())
    spend(len(law.weights(group)) * len(channel.mass) * each, f"the equations for {shown_group(group)}")


def budgets_of(document, groups):
    """For every group None (it is private), or ("leakage", bits) or ("ratio", factor)."""
    listed = document.get("budgets")
    if listed is None:
        return [None] * len(groups)
    claim, budgets = "budgets", []
    need(isinstance(listed, list) and len(listed) == len(groups), claim, "they are not one per group")
    for budget in listed:
        if budget is None:
            budgets.append(None)
            continue
        good = isinstance(budget, dict) and len(budget) == 1 and set(budget) <= {"leakage", "ratio"}
        need(good, claim, f"{brief(budget)} is no budget")
        [(kind, text)] = budget.items()
        need(isinstance(text, str) and len(text) <= MOST_LETTERS, claim, f"{brief(text)} is no amount")
        amount = rational(text, claim)
        need(amount > 0 if kind == "leakage" else amount > 1, claim, f"{kind} {brief(text)} is no budget")
        budgets.append((kind, amount))
    need(not document.get("also"), claim, "they are not defined together with further laws")
    return budgets


def shown(number):
    """A positive number for people to read, rounded up in the fifteenth digit, of whatever size."""
    digits = Context(prec=15, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
    return f"{digits.divide(Decimal(number.numerator), Decimal(number.denominator)):g}"
