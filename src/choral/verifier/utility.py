"""What a code is good for, beside bits: what the file says of it, and what the channel is worth."""

from __future__ import annotations

from fractions import Fraction
from math import gcd, lcm

from choral.verifier.claims import brief, need
from choral.verifier.core import Shares
from choral.verifier.names import shown_group
from choral.verifier.numbers import added_up, rational, size_of
from choral.verifier.steps import hold, product, spend
from choral.verifier.table import Table
from choral.verifier.values import symbol

FIXED = 256  # bits after the point of sums that are rounded down
SHARE_STATED = Fraction(1, 2**50)  # squares are stated to within this share of the variance, rounded towards caution
SHARE_CERTAIN = Fraction(1, 2**90)  # … of the variance: what rounding may hide
MOST_ACTIONS = 10_000
MOST_BITS_WRITTEN = 10_000  # bits of a fraction that is written out in decimal, which takes the square of its length


class Loss:
    """What every action costs at every value of the target: `table[a][v]` over `scale`, in integers."""

    def __init__(self, kind, actions, rows):
        self.kind, self.actions = kind, actions
        every = [x for row in rows for x in row]
        spend(len(every) * 20 + sum(4 * product(size_of(x), size_of(x)) for x in every), "the loss")
        self.scale = lcm(*(x.denominator for x in every))
        spend(len(every) * product(self.scale.bit_length(), self.scale.bit_length()), "the loss")
        self.table = [[int(x * self.scale) for x in row] for row in rows]
        self.offset = 1 if kind == "accuracy" else 0
        self.unit = "probability of a right decision" if kind == "accuracy" else "minus the expected loss"


class Squares:
    """A numeric target: its values less the least of them, as multiples of `unit`, which are integers."""

    kind = "squares"

    def __init__(self, numbers):
        least = min(numbers)
        above = [x - least for x in numbers]
        spend(len(above) * 20 + sum(4 * product(size_of(x), size_of(x)) for x in above), "the values of the target")
        bottom = lcm(*(x.denominator for x in above))
        spend(len(above) * 2 * product(bottom.bit_length(), bottom.bit_length()), "the values of the target")
        tops = [int(x * bottom) for x in above]
        common = gcd(*tops) or 1
        self.numbers, self.step = [x // common for x in tops], Fraction(common, bottom)
        self.unit = "variance explained"


def utility_of(document, law, target):
    """The utility of a document, or None where it is bits. Only a file of version 2 has one."""
    claim, given = "utility", document.get("utility")
    if given is None:
        beside = "best" in document or {"value", "value_bound"} & set(document["claims"])
        need(not beside, claim, "a value is stated, but not of what")
        return None
    need(document["version"] == 2, claim, "it belongs to version 2 of the format")
    need(isinstance(law, Table), claim, "it is defined for laws that are tables")
    need(document.get("budgets") is None, claim, "it is not defined beside budgets")
    values = sorted(law.weights(target))
    kind = given.get("kind") if isinstance(given, dict) else None
    members = {"kind", "actions", "loss"} if kind == "loss" else {"kind"}
    need(kind in ("accuracy", "loss", "squares") and set(given) == members, claim, f"{brief(given)} is unknown")
    if kind == "accuracy":
        spend(len(values) ** 2, "the loss")
        hold(len(values) ** 2, "the loss")
        return Loss(kind, values, [[Fraction(int(a != v)) for v in values] for a in values])
    if kind == "loss":
        return Loss(kind, *loss_of(given, len(values)))
    need(len(target) == 1, claim, "squares are about one column")
    alphabet = law.alphabets[law.columns.index(target[0])]
    numbers = [symbol(alphabet[v]) for (v,) in values]
    need(all(isinstance(x, Fraction) for x in numbers), claim, "squares are about a target that is a number")
    return Squares(numbers)


def loss_of(given, values):
    """The actions and rows of a loss."""
    claim, actions, rows = "utility", given["actions"], given["loss"]
    need(isinstance(actions, list) and 0 < len(actions) <= MOST_ACTIONS, claim, "it lists no actions")
    need(len({symbol(action) for action in actions}) == len(actions), claim, "it lists an action twice")
    need(isinstance(rows, list) and len(rows) == len(actions), claim, "it lacks the loss of an action")
    for row in rows:
        need(isinstance(row, list) and len(row) == values, claim, "it lacks a loss for a value of the target")
    hold(len(rows) * values, "the loss")
    return actions, [[rational(text, claim) for text in row] for row in rows]


def stated_values(document):
    """What is claimed: the value of the channel, and what no private channel is worth more than."""
    return [rational(document["claims"].get(key), key.replace("_", " ")) for key in ("value", "value_bound")]


def words_of(utility, target, value, bound, unchecked):
    """Lines that say what is claimed of the utility."""
    about = f"{utility.kind} about {shown_group(target)}"
    return [
        f"good for     {about}: {near(value)} {utility.unit}{unchecked[0]}",
        f"best         {near(bound)}: no private channel is worth more{unchecked[1]}",
    ]


def near(number):
    """A number for people to read."""
    try:
        return f"{float(number):.12g}"
    except OverflowError:
        return f"about 2^{number.numerator.bit_length() - number.denominator.bit_length()}"


def written(number):
    """A fraction for programs: in full, or to twelve digits where it is very long."""
    return str(number) if size_of(number) <= MOST_BITS_WRITTEN else near(number)


def check_value(law, used, target, utility, channel, prior, stated):
    """The stated value of the channel must be the true one: exactly, or for squares rounded down by very little."""
    if isinstance(utility, Loss):
        found = value_of_decisions(law, used, target, utility, channel, prior)
        need(stated == found, "value", f"{near(stated)} is stated but it is {near(found)}")
        return
    low, variance = value_of_squares(law, used, target, utility, channel, prior)
    need(
        stated <= low + variance * SHARE_CERTAIN, "value", f"{near(stated)} is stated but only {near(low)} is explained"
    )
    need(low - stated <= variance * SHARE_STATED, "value", f"{near(stated)} is stated but {near(low)} is explained")


def value_of_decisions(law, used, target, utility, channel, prior):
    """Σ_y min_a Σ_w ℓ(a, w) p(w, y), taken from 1 for accuracy and from 0 for a loss."""
    values = sorted(law.weights(target))
    [found] = channel.sums([Shares(law, used, target, prior)])
    masses = [[] for _ in range(channel.codes)]
    for k, w in enumerate(values):
        for y, mass in found[w].items():
            masses[y].append((k, mass))
    longest = max(size_of(x) for row in masses for _, x in row)
    longest += max(x.bit_length() for row in utility.table for x in row)
    spend(
        sum(map(len, masses)) * len(utility.table) * (10 + 4 * product(longest, longest)),
        "the loss of every code",
    )
    least = []
    for row in masses:
        bottom = lcm(*(x.denominator for _, x in row))
        whole = [(k, int(x * bottom)) for k, x in row]
        lowest = min(sum(line[k] * x for k, x in whole) for line in utility.table)
        least.append(Fraction(lowest, bottom * law.total * utility.scale))
    return utility.offset - added_up(least, "the loss of all codes")


def moments(law, used, target, utility, prior):
    """For every state Σ_w w(s, w) m_w; and mean and variance of the target, all in steps."""
    number = dict(zip(sorted(law.weights(target)), utility.numbers))
    longest = max(x.bit_length() for x in utility.numbers) + law.total.bit_length()
    first, square = {}, 0
    for state, row in law.seen_from(used, target, prior).items():
        spend(len(row) * (4 + 2 * product(longest, longest)), "the moments of the target")
        first[state] = sum(weight * number[w] for w, weight in row.items())
        square += sum(weight * number[w] ** 2 for w, weight in row.items())
    hold(len(first), "the moments of the target")
    mean = Fraction(sum(first.values()), law.total)
    return first, mean, Fraction(square, law.total) - mean**2


def value_of_squares(law, used, target, utility, channel, prior):
    """Σ_y p(y) E[W|y]² - E[W]² from below, and the variance of W."""
    first, mean, variance = moments(law, used, target, utility, prior)
    mass, sums = [0] * channel.codes, [0] * channel.codes
    for state, weight in prior.items():
        denominator, codes, numerators = channel.rows[state]
        wide = FIXED + first[state].bit_length() + weight.bit_length() + denominator.bit_length()
        spend(len(codes) * (10 + 4 * product(wide, denominator.bit_length())), "the mean of every code")
        for y, n in zip(codes, numerators):
            mass[y] += -((-n * weight << FIXED) // denominator)
            sums[y] += (n * first[state] << FIXED) // denominator
    wide = max(x.bit_length() for x in sums) + FIXED
    spend(channel.codes * (10 + 4 * product(2 * wide, 2 * wide)), "the squares of all codes")
    total = sum((a * a << FIXED) // p for a, p in zip(sums, mass))
    low = max(Fraction(total, law.total << 2 * FIXED) - mean**2, Fraction(0))
    return low * utility.step**2, variance * utility.step**2
