"""The privacy core: a law as integer weights, a channel as integers, and p(z, y) = p(z) p(y) as equations between them.

Nothing here needs a logarithm or a proof: whoever cares for privacy alone need read no further than this.
"""

from __future__ import annotations

import hashlib
from array import array
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import gcd
from operator import itemgetter, lt

from choral.verifier.claims import ClaimFailed, brief, need, several
from choral.verifier.names import look_alikes, shown_group, shown_name, why_unreadable
from choral.verifier.numbers import added_up, rational, whole
from choral.verifier.reading import is_list
from choral.verifier.steps import hold, product, spend
from choral.verifier.sums import added, gather
from choral.verifier.values import spoken, symbol

MOST_LETTERS = 2000  # of a budget


def are_integers(values):
    """Whether all of these are integers, and none of them true or false."""
    return set(map(type, values)) <= {int}


def picked(where):
    """What takes the values at these places out of a tuple, as a tuple."""
    where = list(where)
    if len(where) > 1:
        return itemgetter(*where)
    return lambda values: tuple([values[i] for i in where])


def columns_of(document, key, known, claim):
    """A list of distinct known column names."""
    names = document.get(key) if isinstance(document, dict) else document
    need(isinstance(names, list) and names, claim, "it names no column")
    known = set(known)
    for name in names:
        need(isinstance(name, str) and name in known, claim, f"{brief(name)} is no column of the law")
    need(len(set(names)) == len(names), claim, f"it names a column twice: {brief(names)}")
    return names


class Table:
    """A law given cell by cell: integer weights over index tuples of named columns."""

    def __init__(self, law, protect=(), listed=0):
        self.columns = law.get("columns")
        need(
            isinstance(self.columns, list) and all(isinstance(c, str) for c in self.columns) and self.columns,
            "law",
            "it has no columns",
        )
        need(len(set(self.columns)) == len(self.columns), "law", "it has two columns of one name")
        self.alphabets = law.get("alphabets")
        need(
            isinstance(self.alphabets, list)
            and len(self.alphabets) == len(self.columns)
            and all(isinstance(a, list) and a for a in self.alphabets),
            "law",
            "it does not list one alphabet per column",
        )
        for name, alphabet in zip(self.columns, self.alphabets):
            reason = why_unreadable(name)
            need(not reason, "law", f"{brief(name)} cannot be a column, it could be misread: {reason}")
            different = {symbol(value) for value in alphabet}
            need(len(different) == len(alphabet), "law", f"the alphabet of {shown_name(name)} lists a value twice")
        alike = look_alikes(self.columns)
        need(not alike, "law", f"the columns {' and '.join(map(ascii, alike))} look alike")
        self.cells = {}
        listed = law.get("cells")
        need(is_list(listed) and len(listed), "law", "it has no cells")
        sizes = list(map(len, self.alphabets))
        for entry in listed:
            if not isinstance(entry, list) or len(entry) != len(self.columns) + 1:
                raise ClaimFailed("law", f"bad cell {brief(entry)}")
            *index, text = entry
            if not (are_integers(index) and min(index) >= 0 and all(map(lt, index, sizes))):
                raise ClaimFailed("law", f"the cell {brief(index)} is outside the alphabets")
            weight, cell = whole(text, "law"), tuple(index)
            if weight == 0 or cell in self.cells:
                raise ClaimFailed("law", f"the cell {brief(index)} {'is listed twice' if weight else 'has no weight'}")
            self.cells[cell] = weight
        self.total = sum(self.cells.values())
        self.known = {}

    def weights(self, names):
        """Integer weights of the marginal of these columns."""
        if tuple(names) in self.known:
            return self.known[tuple(names)]
        spend(len(self.cells) * (3 + len(names)) + len(self.columns) * len(names), "the marginals of the law")
        where = [self.columns.index(name) for name in names]
        values_of, sums = itemgetter(*where), {}
        for cell, weight in self.cells.items():
            key = values_of(cell)
            sums[key] = sums.get(key, 0) + weight
        if len(names) == 1:
            self.known[tuple(names)] = sums = {(value,): weight for value, weight in sums.items()}
        return sums

    def seen_from(self, used, names, prior):
        """For each value of the used columns, the joint weights with each value of these columns.

        `prior`, the weights of the used columns, is all that is needed where these are among them.
        """
        if self.screens(used, names):
            return Contained(prior, [used.index(name) for name in names])
        columns = [*used, *names]
        spend(len(self.cells) * (3 + len(columns)) + len(self.columns) * len(columns), "the marginals of the law")
        state_of, value_of = (picked(map(self.columns.index, some)) for some in (used, names))
        split, known = {}, {}
        for cell, weight in self.cells.items():
            value = value_of(cell)
            value = known.setdefault(value, value)
            row = split.setdefault(state_of(cell), {})
            row[value] = row.get(value, 0) + weight
        spend(2 * sum(map(len, split.values())), "the marginals of the law")
        return split

    def screens(self, used, group):
        """Whether the used columns determine the group."""
        return set(group) <= set(used)

    def describe(self):
        """Lines that say what the law is."""
        lines = [
            f"{several(len(self.cells), 'cell')} over {several(len(self.columns), 'column')}, weights summing to "
            f"{short(self.total)}"
        ]
        for name, alphabet in zip(self.columns, self.alphabets):
            values = ", ".join(spoken(value) for value in alphabet[:8])
            more = ", …" if len(alphabet) > 8 else ""
            lines.append(f"{shown_name(name)}: {several(len(alphabet), 'value')} ({values}{more})")
        found = hashlib.sha256()
        for number, cell in enumerate(sorted(self.cells)):
            item = repr((cell, f"{self.cells[cell]:x}"))
            found.update(f"{', ' if number else '['}{item}".encode())
        found.update(b"]")
        lines.append(f"fingerprint of the weights {found.hexdigest()[:16]}")
        return lines


class Contained:
    """For each state {value: weight} of columns that the state contains: one value, with all of its weight."""

    def __init__(self, prior, where):
        self.prior, self.where, self.value_of = prior, where, picked(where)

    def __getitem__(self, state):
        return {self.value_of(state): self.prior[state]}

    def __contains__(self, state):
        return state in self.prior

    def items(self):
        """Every state with its value and weight."""
        return ((state, self[state]) for state in self.prior)

    def values(self):
        """The value and weight of every state."""
        return (self[state] for state in self.prior)


def short(number):
    """An integer for people to read."""
    text = str(number) if number.bit_length() < 200 else f"an integer of {number.bit_length()} bits"
    return text


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
        known, listed = {}, 0
        for state, row in zip(states, rows):
            key = tuple(state) if isinstance(state, list) and are_integers(state) else None
            if key not in prior:
                raise ClaimFailed("channel", f"the state {brief(state)} has no probability under the law")
            if self.rows[key] is not None:
                raise ClaimFailed("channel", f"the state {brief(state)} is listed twice")
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
            codes = tuple(codes)
            self.rows[key] = (
                known.setdefault(denominator, denominator),
                known.setdefault(codes, codes),
                array("Q", numerators) if denominator < 1 << 64 else tuple(numerators),
            )
            listed += len(codes)
        need(self.codes <= listed, "channel", f"it claims {short(self.codes)} codes, more than it lists entries")
        missing = next((key for key, row in self.rows.items() if row is None), None)
        need(missing is None, "channel", f"the state {brief(list(missing or ()))} is missing")
        self.weigh()
        for y, total in enumerate(self.mass):
            need(total > 0, "channel", f"code {y} is never used")
        total = added_up(self.mass, "the masses of all codes")
        need(total == sum(prior.values()), "prior", "the codes do not sum to the prior")

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
        for state, weight in self.prior.items():
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
