"""Laws that are recomputed from a model: samples that are alike given W, and sensors seen through a score."""

from __future__ import annotations

import hashlib
import json
from itertools import combinations
from math import comb, lcm

from choral.verifier.claims import brief, need
from choral.verifier.conditions import conditions_of
from choral.verifier.core import budgets_of
from choral.verifier.names import shown_group
from choral.verifier.numbers import added_up, common_denominator, decimal, rational
from choral.verifier.reading import is_list
from choral.verifier.steps import DEAR, hold, product, spend
from choral.verifier.table import Table, columns_of, short
from choral.verifier.values import alphabet_of

MOST_SCORE = 1 << 62
WORD = 64  # bits of an integer that cost one step where they are copied


def fractions(listed, claim):
    """A list of non-negative fractions that sum to one."""
    need(isinstance(listed, list) and listed, claim, "a list of probabilities is missing")
    numbers = [rational(text, claim) for text in listed]
    need(all(x >= 0 for x in numbers), claim, "a probability is negative")
    need(added_up(numbers, "probabilities of the law") == 1, claim, "probabilities do not sum to one")
    return numbers


def matrix_of(rows, height, claim):
    """A channel: one list of probabilities per value of W, all of one length."""
    need(isinstance(rows, list) and len(rows) == height, claim, "a channel needs one row per value of W")
    table = [fractions(row, claim) for row in rows]
    need(len({len(row) for row in table}) == 1, claim, "a channel has rows of different lengths")
    return table


class Compact:
    """A law that is recomputed from its model: what the channel looks at is a state, with W and each group beside it.

    `joint[name]` maps every state to the integer weights of the values of W or of a group, all over one total. `listed` is
    the number of states that the channel lists: a law with more is not recomputed.
    """

    looks_at = ""

    def settle(self, groups):
        """Check that the groups are of this law, and that every joint law has the same states and weights."""
        self.columns = [self.looks_at, *self.joint]
        self.size = 3 * sum(len(row) for rows in self.joint.values() for row in rows.values())
        self.total = sum(w for row in self.joint["W"].values() for w in row.values())
        for group in groups:
            good = len(group) == 1 and group[0] in self.joint and group[0] != "W"
            need(good, "protected groups", f"{brief(group)} is not of this law")
            for state, row in self.joint[group[0]].items():
                need(sum(row.values()) == sum(self.joint["W"][state].values()), "law", "its parts do not fit together")

    def weights(self, names):
        """Integer weights of what the channel looks at, of W, or of a group."""
        if list(names) == [self.looks_at]:
            return {state: sum(row.values()) for state, row in self.joint["W"].items()}
        need(len(names) == 1 and names[0] in self.joint, "law", f"{brief(names)} is not a variable of this law")
        spend(self.size, "the marginals of the law")
        sums = {}
        for row in self.joint[names[0]].values():
            for value, weight in row.items():
                sums[value] = sums.get(value, 0) + weight
        return sums

    def seen_from(self, used, names, prior):
        """For each state the joint weights with each value of W or of a group."""
        need(list(used) == [self.looks_at], "use", f"a channel on this law looks at the {self.looks_at}")
        need(len(names) == 1 and names[0] in self.joint, "law", f"{brief(names)} is not a variable of this law")
        return self.joint[names[0]]

    def screens(self, used, group):
        """Whether the group is independent of W given the state."""
        return self.looks_at == "type"


class Exchangeable(Compact):
    """W, and n samples that are independent given W, all through one channel; a state is a type (counts of values).

    The type (c_1, …, c_m) has weight n!/Π c_a! · prior(w) · Π channel(a | w)^c_a together with w. Given the type the
    samples are in random order, so "any k" of them are k draws without replacement: part j has probability
    Π C(c_a, j_a) / C(n, k). A code drawn from the type alone therefore is independent of any k samples, whichever they
    are, exactly when it is independent of such a part.
    """

    looks_at = "type"

    def __init__(self, law, protect, listed):
        self.n = law.get("n")
        need(type(self.n) is int and self.n >= 2, "law", "it needs at least two samples")
        prior = fractions(law.get("prior"), "law")
        channel = matrix_of(law.get("channel"), len(prior), "law")
        self.sizes = len(channel[0]), len(prior)
        self.fingerprint = fingerprint(law)
        alphabet_of(law.get("values"), len(channel[0]))
        alphabet_of(law.get("target values"), len(prior))
        below = common_denominator([p for row in channel for p in row], "the law")
        base = common_denominator(prior, "the law")
        orders = sorted({order_of(group, self.n) for group in protect})
        seen = max(sum(map(bool, row)) for p, row in zip(prior, channel) if p)
        lists_enough(listed, choices(self.n, seen, "the types of the samples"))
        self.pay(len(channel[0]), len(prior), below.bit_length(), base.bit_length(), orders)
        tops = [[int(p * below) for p in row] for row in channel]
        factorial = [1]
        for k in range(1, self.n + 1):
            factorial.append(factorial[-1] * k)
        ways = {k: factorial[self.n] // factorial[k] // factorial[self.n - k] for k in orders}
        scale = lcm(*ways.values())
        powers = [[power_table(t, self.n) for t in row] for row in tops]
        parts = {k: list(compositions(k, len(channel[0]))) for k in orders}
        self.joint = {"W": {}, **{f"any {k}": {} for k in orders}}
        for counts in compositions(self.n, len(channel[0])):
            multiple = factorial[self.n]
            for c in counts:
                multiple //= factorial[c]
            row = {}
            for w, p in enumerate(prior):
                weight = multiple * int(p * base) * scale
                for a, c in enumerate(counts):
                    weight *= powers[w][a][c]
                if weight:
                    row[(w,)] = weight
            if not row:
                continue
            mass = sum(row.values())
            self.joint["W"][counts] = row
            for k in orders:
                cells = {}
                for part in parts[k]:
                    chosen = mass // ways[k]
                    for c, j in zip(counts, part):
                        chosen *= comb(c, j)
                    if chosen:
                        cells[part] = chosen
                self.joint[f"any {k}"][counts] = cells
        self.settle(protect)

    def pay(self, values, targets, digits, base, orders):
        """Pay for the types of n samples, with so many values, and for the parts of each order, before they are listed."""
        what = f"{short(self.n)} samples of {values} values"
        # A few bits of n!, powers and masses are the least that is needed; a law for which that is too much stops here.
        spend(self.n * values * targets + self.n * self.n // DEAR, what)
        bits = self.n * (digits + values.bit_length() + len(orders)) + base
        words = 1 + bits // WORD
        types = choices(self.n, values, what)
        parts = [choices(k, values, what) for k in orders]
        each = product(bits // 2, digits + WORD)
        spend(self.n * (1 + targets * values) * words + types * targets * values * each, what)
        spend(types * values * sum(n * (2 + k) * words for n, k in zip(parts, orders)), what)
        hold(self.n * (1 + targets * values) * (1 + words // 2) + types * (targets + sum(parts)) * words, what)

    def describe(self):
        """Lines that say what the law is."""
        return [
            f"{self.n} samples of {self.sizes[0]} values, independent given W ({self.sizes[1]} values), through one channel",
            f"{len(self.joint['W'])} types, whose weights were recomputed from prior, channel and n",
            f"fingerprint of prior and channel {self.fingerprint}",
        ]


class Sensors(Compact):
    """W, and different sensors that are independent given W; a state is a score, a sum of whole numbers over sensors.

    The joint weights of score and W come from convolutions, and those of score and one sensor's reading from dividing the
    sensor out again.
    """

    looks_at = "score"

    def __init__(self, law, protect, listed):
        prior = fractions(law.get("prior"), "law")
        sensors, scores = law.get("channels"), law.get("scores")
        need(isinstance(sensors, list) and len(sensors) >= 2, "law", "it needs at least two sensors")
        need(isinstance(scores, list) and len(scores) == len(sensors), "law", "it needs scores for every sensor")
        channels = [matrix_of(rows, len(prior), "law") for rows in sensors]
        tops = []
        for table, row in zip(channels, scores):
            good = isinstance(row, list) and len(row) == len(table[0])
            good = good and all(type(x) is int and abs(x) <= MOST_SCORE for x in row)
            need(good, "law", f"scores are whole numbers up to {MOST_SCORE}, one per reading")
            below = common_denominator([p for line in table for p in line], "the law")
            tops.append([[int(p * below) for p in line] for line in table])
        base = common_denominator(prior, "the law")
        self.sizes = len(channels), len(prior)
        self.fingerprint = fingerprint(law)
        values = law.get("values")
        need(isinstance(values, list) and len(values) == len(channels), "law", "it lists no readings")
        for alphabet, table in zip(values, channels):
            alphabet_of(alphabet, len(table[0]))
        self.joint = {"W": {}, **{f"X{i + 1}": {} for i in range(len(channels))}}
        for w, p in enumerate(prior):
            if not p:
                continue
            singles = [score_law(row, table[w]) for row, table in zip(scores, tops)]
            law_of_score = {0: int(p * base)}
            for single in singles:
                law_of_score = convolve(law_of_score, single)
                lists_enough(listed, len(law_of_score))  # adding a score never makes the sums fewer
            for t, weight in law_of_score.items():
                self.joint["W"].setdefault((t,), {})[(w,)] = weight
            for i in range(len(channels)):
                others = without(law_of_score, singles[i])
                spend(len(others) * len(tops[i][w]) * 5, "the scores of the law")
                hold(len(others) * len(tops[i][w]), "the scores of the law")
                for a, top in enumerate(tops[i][w]):
                    for t, weight in others.items() if top else ():
                        row = self.joint[f"X{i + 1}"].setdefault((t + scores[i][a],), {})
                        row[(a,)] = row.get((a,), 0) + weight * top
        self.settle(protect)

    def describe(self):
        """Lines that say what the law is."""
        return [
            f"{self.sizes[0]} different sensors, independent given W ({self.sizes[1]} values), seen through a score",
            f"{len(self.joint['W'])} values of the score, whose weights were recomputed from prior, channels and scores",
            f"fingerprint of prior, channels and scores {self.fingerprint}",
        ]


def lists_enough(listed, states):
    """Fail at once where a law has more states than the channel lists."""
    need(states <= listed, "channel", f"it lists {listed} states, and the law has at least {short(states)}")


def fingerprint(law):
    """Sixteen digits that change when any number of the law does."""
    need("cells" not in law, "law", "it lists cells, as only a table does")
    return hashlib.sha256(json.dumps(law, sort_keys=True).encode()).hexdigest()[:16]


def order_of(group, n):
    """k for a group that says "any k" samples."""
    good = isinstance(group, list) and len(group) == 1 and isinstance(group[0], str) and group[0].startswith("any ")
    number = group[0].removeprefix("any ") if good else ""
    good = number.isdecimal() and number.isascii() and len(number) <= 9 and number[0] != "0" and int(number) <= n
    need(good, "protected groups", f"{brief(group)} is not 'any k'")
    return int(number)


def compositions(n, parts):
    """All ways to write n as an ordered sum of this many numbers, in increasing order: bars among n stars."""
    for bars in combinations(range(n + parts - 1), parts - 1):
        yield tuple(right - left - 1 for left, right in zip((-1, *bars), (*bars, n + parts - 1)))


def choices(n, parts, what):
    """C(n + parts - 1, parts - 1): how many ways there are to write n as an ordered sum of this many numbers."""
    few = min(n, parts - 1)
    spend(few * few * (n + parts).bit_length() // WORD, what)
    return comb(n + parts - 1, few)


def power_table(base, n):
    """1, base, base², …, baseⁿ."""
    table = [1]
    for _ in range(n):
        table.append(table[-1] * base)
    return table


def score_law(scores, weights):
    """The law of one sensor's score."""
    law = {}
    for score, weight in zip(scores, weights):
        if weight:
            law[score] = law.get(score, 0) + weight
    return law


def convolve(first, second):
    """The law of a sum of independent scores."""
    what = "the scores of the law"
    each = 2 + product(longest(first), longest(second))
    spend(len(first) * len(second) * each, what)
    result = {}
    for a, p in first.items():
        before = len(result)
        for b, q in second.items():
            result[a + b] = result.get(a + b, 0) + p * q
        hold(len(result) - before, what)
    hold(-len(result), what)
    return result


def longest(law):
    """The bits of the largest weight of a score."""
    return max(law.values()).bit_length()


def without(law, single):
    """The law of a sum without one of its terms: the quotient of two polynomials, which must leave no rest."""
    each = 4 + 2 * product(longest(law), longest(single))
    spend(len(law) * len(single) * each, "the scores of the law")
    lowest = min(single)
    top = single[lowest]
    result = {}
    for t in sorted(law):
        left = law[t] - sum(weight * result.get(t - score, 0) for score, weight in single.items() if score != lowest)
        need(left % top == 0, "law", "a sensor cannot be divided out")
        if left:
            result[t - lowest] = left // top
    need(convolve(result, single) == law, "law", "a sensor cannot be divided out")
    return result


LAWS = {"table": Table, "exchangeable": Exchangeable, "sensors": Sensors}


def claims_of(document):
    """What the file says: law, target, used columns and groups, checked for sense."""
    given = document.get("law")
    need(isinstance(given, dict), "law", "there is none")
    listed = document.get("protect")
    promised = isinstance(listed, list) and (listed or document.get("given"))
    need(promised, "protected groups", "the list is empty: nothing is protected")
    for group in listed:
        good = isinstance(group, list) and group and all(isinstance(name, str) for name in group)
        need(good, "protected groups", f"{brief(group)} is no group of columns")
    channel = document.get("channel")
    states = channel.get("states") if isinstance(channel, dict) else None
    kind = given.get("kind")
    need(isinstance(kind, str) and kind in LAWS, "law", f"its kind {brief(kind)} is unknown")
    law = LAWS[kind](given, listed, len(states) if is_list(states) else 0)
    used = columns_of(document, "use", law.columns, "use")
    target = columns_of(document, "reveal", law.columns, "target")
    if isinstance(law, Compact):
        need(used == [law.looks_at], "use", f"a channel on this law looks at the {law.looks_at}")
        need(target == ["W"], "target", f"a channel on this law tells about W, not about {shown_group(target)}")
    groups = [columns_of(group, None, law.columns, "protected groups") for group in listed]
    seen = set()
    for group in groups:
        need(frozenset(group) not in seen, "protected groups", f"{shown_group(group)} is listed twice")
        seen.add(frozenset(group))
    claims = document.get("claims")
    need(isinstance(claims, dict), "claims", "there are none")
    numbers = [decimal(claims.get(key), key) for key in ("information", "upper_bound")]
    conditions = conditions_of(document, law, target)
    return law, used, target, groups, budgets_of(document, groups), conditions, *numbers
