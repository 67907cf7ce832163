"""Check a choral release without trusting choral.

    python verifier.py release.choral            what is claimed, then whether it holds; exit status 0 only if it does
    python verifier.py release.choral --json     the same for programs

This file needs Python 3.11 or newer and its standard library, nothing else: not numpy, not choral. It shares no
code and no constant with the solvers. It reads the law and the channel as integers and recomputes every claim:

1. the file is whole: its digest fits its content;
2. the law: non-negative integer weights over named columns;
3. the channel: non-negative integers, and for every state s the masses p(s, y) sum to its prior;
4. privacy: for every protected group Z, p(z, y) = p(z) · p(y) for every value z and every code y, in integers;
5. the information I(W;Y), in interval arithmetic, is what is stated;
6. the upper bound, recomputed from what proves it, is what is stated.

The first claim that fails is named. Note what is *not* claimed: a group that is not listed is not protected, so read
the list; and the law is the one in the file, so compare it with the one you care about.

The format is described in docs/release-format.md.
"""

from __future__ import annotations

import hashlib
import json
import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm

FORMAT = "choral release"
VERSION = 1
STATED = Decimal(10) ** -15  # claims are stated to this many bits, rounded towards caution
DOWN = Context(prec=60, rounding=ROUND_FLOOR, Emin=-(10**9), Emax=10**9)
UP = Context(prec=60, rounding=ROUND_CEILING, Emin=-(10**9), Emax=10**9)
BITS = 320  # fixed-point precision of p(w, y)


class ClaimFailed(Exception):
    """A claim does not hold. `claim` is its name, `reason` what was found instead."""

    def __init__(self, claim, reason):
        super().__init__(f"{claim}: {reason}")
        self.claim = claim
        self.reason = reason


def need(condition, claim, reason):
    """Raise `ClaimFailed` unless the condition holds."""
    if not condition:
        raise ClaimFailed(claim, reason)


# ---- intervals: pairs of Decimals, rounded outwards ----------------------------------------------------------


def interval(number):
    """The smallest interval of our precision that contains an exact number."""
    number = Fraction(number)
    p, q = Decimal(number.numerator), Decimal(number.denominator)
    return DOWN.divide(p, q), UP.divide(p, q)


def add(x, y):
    """x + y for intervals."""
    return DOWN.add(x[0], y[0]), UP.add(x[1], y[1])


def subtract(x, y):
    """x - y for intervals."""
    return DOWN.subtract(x[0], y[1]), UP.subtract(x[1], y[0])


def log2(x):
    """log₂ of a positive interval. `Decimal.ln` is correct to half a unit in the last place: one more is added."""
    low, high = DOWN.ln(x[0]), UP.ln(x[1])
    low, high = DOWN.next_minus(low), UP.next_plus(high)
    two = DOWN.next_minus(DOWN.ln(Decimal(2))), UP.next_plus(UP.ln(Decimal(2)))
    quotients = [c.divide(a, b) for a in (low, high) for b in two for c in (DOWN, UP)]
    return min(quotients), max(quotients)


def minus_x_log_x(x):
    """-x log₂ x for an interval within [0, 1]."""
    low, high = max(x[0], Decimal(0)), min(x[1], Decimal(1))
    if high <= 0:
        return Decimal(0), Decimal(0)
    if low <= 0:
        # -x log x rises up to 1/e, so on [0, high] it is at most its value at a small `high`.
        need(high < Decimal("0.25"), "arithmetic", "a probability is too uncertain to take its logarithm")
        return Decimal(0), UP.multiply(high, -log2((high, high))[0])
    log = log2((low, high))
    return (
        max(Decimal(0), DOWN.multiply(low, -log[1])),
        max(Decimal(0), UP.multiply(high, -log[0])),
    )


def entropy(probabilities):
    """Σ -x log₂ x over intervals."""
    total = Decimal(0), Decimal(0)
    for x in probabilities:
        total = add(total, minus_x_log_x(x))
    return total


# ---- reading --------------------------------------------------------------------------------------------------


def whole(text, claim):
    """A non-negative integer written in hexadecimal."""
    need(isinstance(text, str) and text, claim, f"{text!r} is not an integer in hexadecimal")
    need(all(c in "0123456789abcdef" for c in text), claim, f"{text[:40]!r} is not a hexadecimal integer")
    return int(text, 16)


def rational(text, claim):
    """A signed fraction of hexadecimal integers, such as -1f/20."""
    need(isinstance(text, str), claim, f"{text!r} is not a fraction")
    head, _, tail = text.removeprefix("-").partition("/")
    bottom = whole(tail, claim) if tail else 1
    need(bottom > 0, claim, f"the fraction {text[:40]!r} has no denominator")
    return Fraction(whole(head, claim) * (-1 if text.startswith("-") else 1), bottom)


def canonical(document):
    """The bytes that the digest is taken over: everything but the digest, keys sorted, no spaces."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def no_twins(pairs):
    """A JSON object in which no key is given twice."""
    keys = [key for key, _ in pairs]
    need(len(set(keys)) == len(keys), "file", "a key is given twice")
    return dict(pairs)


def read(text):
    """The document in a release file, if it is whole and of a version that this file knows."""
    try:
        document = json.loads(text, object_pairs_hook=no_twins)
    except (ValueError, RecursionError) as error:
        raise ClaimFailed("file", f"it is not JSON, or it was cut off ({error})") from None
    need(isinstance(document, dict) and document.get("format") == FORMAT, "file", "it is not a choral release")
    version = document.get("version")
    need(type(version) is int, "file", "it does not say its version")
    need(version <= VERSION, "file", f"it has version {version}, newer than {VERSION}, which this verifier knows")
    need(version == VERSION, "file", f"version {version} never existed")
    try:
        content = canonical(document)
    except ValueError as error:
        raise ClaimFailed("file", f"it holds what JSON cannot ({error})") from None
    digest = hashlib.sha256(content).hexdigest()
    need(document.get("digest") == digest, "digest", f"it should be {digest}; the file was altered or cut")
    return document


def columns_of(document, key, known, claim):
    """A list of distinct known column names."""
    names = document.get(key) if isinstance(document, dict) else document
    need(isinstance(names, list) and names, claim, "it names no column")
    for name in names:
        need(name in known, claim, f"{name!r} is no column of the law")
    need(len(set(names)) == len(names), claim, f"it names a column twice: {names}")
    return names


class Table:
    """A law given cell by cell: integer weights over index tuples of named columns."""

    def __init__(self, law):
        need(law.get("kind") == "table", "law", f"its kind {law.get('kind')!r} is unknown")
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
            shown = [json.dumps(value, sort_keys=True) for value in alphabet]
            need(len(set(shown)) == len(shown), "law", f"the alphabet of {name} lists a value twice")
        self.cells = {}
        listed = law.get("cells")
        need(isinstance(listed, list) and listed, "law", "it has no cells")
        for entry in listed:
            need(isinstance(entry, list) and len(entry) == len(self.columns) + 1, "law", f"bad cell {entry!r}")
            *index, text = entry
            for i, alphabet in zip(index, self.alphabets):
                need(type(i) is int and 0 <= i < len(alphabet), "law", f"the cell {index} is outside the alphabets")
            weight = whole(text, "law")
            need(weight > 0, "law", f"the cell {index} has no weight")
            need(tuple(index) not in self.cells, "law", f"the cell {index} is listed twice")
            self.cells[tuple(index)] = weight
        self.total = sum(self.cells.values())

    def weights(self, names):
        """Integer weights of the marginal of these columns."""
        where = [self.columns.index(name) for name in names]
        sums = {}
        for cell, weight in self.cells.items():
            key = tuple(cell[i] for i in where)
            sums[key] = sums.get(key, 0) + weight
        return sums

    def seen_from(self, used, names):
        """For each value of the used columns, the joint weights with each value of these columns."""
        joint = self.weights([*used, *names])
        split = {}
        for cell, weight in joint.items():
            split.setdefault(cell[: len(used)], {})[cell[len(used) :]] = weight
        return split

    def describe(self):
        """Lines that say what the law is."""
        lines = [f"{len(self.cells)} cells over {len(self.columns)} columns, weights summing to {short(self.total)}"]
        for name, alphabet in zip(self.columns, self.alphabets):
            values = ", ".join(json.dumps(value, ensure_ascii=False) for value in alphabet[:8])
            lines.append(f"{name}: {len(alphabet)} values ({values}{', …' if len(alphabet) > 8 else ''})")
        digest = hashlib.sha256(repr(sorted(self.cells.items())).encode()).hexdigest()
        lines.append(f"fingerprint of the weights {digest[:16]}")
        return lines


def short(number):
    """An integer for people to read."""
    text = str(number) if number.bit_length() < 200 else f"an integer of {number.bit_length()} bits"
    return text


# ---- the claims -----------------------------------------------------------------------------------------------


class Channel:
    """p(y | s) for every state, and with the prior the joint law of state and code: all in integers.

    A row of the file is [denominator, [code, numerator], …]. With the weight w of the state, the joint mass of state
    and code is w·numerator / denominator, in units of the law; `rows` keeps it as (numerator·top, bottom) reduced.
    """

    def __init__(self, document, prior):
        channel = document.get("channel")
        need(isinstance(channel, dict), "channel", "there is none")
        self.codes = channel.get("codes")
        need(type(self.codes) is int and self.codes > 0, "channel", "it has no codes")
        states, rows = channel.get("states"), channel.get("rows")
        need(isinstance(states, list) and isinstance(rows, list), "channel", "it lists no states")
        need(len(states) == len(rows), "channel", "it does not list one row per state")
        self.rows = {}
        for state, row in zip(states, rows):
            key = tuple(state) if isinstance(state, list) and all(type(i) is int for i in state) else None
            need(key in prior, "channel", f"the state {state} has no probability under the law")
            need(key not in self.rows, "channel", f"the state {state} is listed twice")
            need(isinstance(row, list) and len(row) > 1, "channel", f"the state {state} has no weights")
            denominator, last, entries = whole(row[0], "channel"), -1, []
            need(denominator > 0, "channel", f"the denominator of state {state} is zero")
            for entry in row[1:]:
                need(isinstance(entry, list) and len(entry) == 2, "channel", f"bad entry {entry!r} at state {state}")
                y, text = entry
                need(type(y) is int and last < y < self.codes, "channel", f"codes out of order at state {state}")
                weight = whole(text, "channel")
                need(weight > 0, "channel", f"a weight of zero is listed at state {state}")
                entries.append((y, weight))
                last = y
            need(
                sum(weight for _, weight in entries) == denominator,
                "prior",
                f"the weights of state {state} do not sum to its denominator, so its codes do not sum to its prior",
            )
            shared = gcd(prior[key], denominator)
            self.rows[key] = prior[key] // shared, denominator // shared, entries
        missing = next((key for key in prior if key not in self.rows), None)
        need(missing is None, "channel", f"the state {list(missing or ())} is missing")
        self.mass = [Fraction(0)] * self.codes
        for y, total in self.sums({key: {(): (1, 1)} for key in prior})[()].items():
            self.mass[y] = total
        for y, total in enumerate(self.mass):
            need(total > 0, "channel", f"code {y} is never used")
        need(sum(self.mass) == sum(prior.values()), "prior", "the codes do not sum to the prior")

    def sums(self, shares):
        """{z: {y: mass}} in units of the law, where shares[state] = {z: (p, q)} says P(z | state) = p/q. Exact.

        Masses with one denominator are added as integers; the few sums are then added as fractions.
        """
        sums = {}
        for key, (top, bottom, entries) in self.rows.items():
            for z, (p, q) in shares[key].items():
                by_bottom = sums.setdefault(z, {}).setdefault(bottom * q, {})
                factor = top * p
                for y, weight in entries:
                    by_bottom[y] = by_bottom.get(y, 0) + weight * factor
        result = {}
        for z, parts in sums.items():
            total = result.setdefault(z, {})
            for bottom, row in parts.items():
                for y, numerator in row.items():
                    total[y] = total.get(y, 0) + Fraction(numerator, bottom)
        return result


def independence(law, used, group, channel, prior):
    """Privacy of one group: p(z, y) = p(z) p(y) for every z and y, as an equation between integers."""
    shares = {}
    for state, values in law.seen_from(used, group).items():
        shares[state] = {
            z: (w // gcd(w, prior[state]), prior[state] // gcd(w, prior[state])) for z, w in values.items()
        }
    found = channel.sums(shares)
    for z, weight in law.weights(group).items():
        for y, mass in enumerate(channel.mass):
            if found[z].get(y, 0) * law.total != weight * mass:
                raise ClaimFailed(
                    f"privacy of {'+'.join(group)}",
                    f"the value {list(z)} has probability {float(Fraction(weight, law.total)):.12g} "
                    f"but {float(found[z].get(y, 0) / mass):.12g} given code {y}",
                )


def information(law, used, target, channel, prior):
    """I(W;Y) = H(W) - H(W,Y) + H(Y), as an interval."""
    low, terms = {}, {}
    for state, values in law.seen_from(used, target).items():
        top, bottom, entries = channel.rows[state]
        for w, weight in values.items():
            bottom_w = bottom * prior[state] * law.total
            for y, n in entries:
                key = w, y
                low[key] = low.get(key, 0) + ((n * top * weight) << BITS) // bottom_w
                terms[key] = terms.get(key, 0) + 1
    unit = 1 << BITS
    both = entropy((interval(Fraction(x, unit))[0], interval(Fraction(x + terms[k], unit))[1]) for k, x in low.items())
    codes = entropy(interval(mass / law.total) for mass in channel.mass)
    return add(subtract(entropy_of_target(law, target), both), codes)


def entropy_of_target(law, target):
    """H(W) as an interval."""
    return entropy(interval(Fraction(weight, law.total)) for weight in law.weights(target).values())


def compare_information(found, stated):
    """The stated information must be the true one, rounded down to fifteen decimals."""
    low, high = found
    need(stated >= 0, "information", f"{stated} is negative")
    true_low = max(low, Decimal(0))
    need(stated <= max(high, Decimal(0)), "information", f"{stated} is stated but only {true_low:.18f} is disclosed")
    need(true_low - stated < 2 * STATED, "information", f"{stated} is stated but {true_low:.18f} is disclosed")


def compare_bound(found, stated):
    """The stated bound must be the recomputed one, rounded up to fifteen decimals."""
    low, high = max(found[0], Decimal(0)), max(found[1], Decimal(0))
    need(stated >= low, "upper bound", f"{stated} is stated but its proof gives only {high:.18f}")
    need(stated - low < 2 * STATED, "upper bound", f"{stated} is stated but its proof gives the tighter {high:.18f}")


# ---- what proves an upper bound -------------------------------------------------------------------------------


def bound_from_group(law, used, target, groups, prior, proof):
    """I(W;Y) ≤ I(W;S) - I(W;Z): a code independent of Z says nothing that Z says (pr:upper_bound)."""
    whole_law = entropy(
        interval(Fraction(w, law.total)) for row in law.seen_from(used, target).values() for w in row.values()
    )
    states = entropy(interval(Fraction(w, law.total)) for w in prior.values())
    found = subtract(add(entropy_of_target(law, target), states), whole_law)
    position = proof.get("group")
    if position is None:
        return found
    need(type(position) is int and 0 <= position < len(groups), "upper bound", "its group is not protected")
    group = groups[position]
    need(set(group) <= set(used), "upper bound", f"{'+'.join(group)} is not used, so its formula does not apply")
    both = {}
    where = [used.index(name) for name in group]
    for state, row in law.seen_from(used, target).items():
        z = tuple(state[i] for i in where)
        for w, weight in row.items():
            both[z, w] = both.get((z, w), 0) + weight
    h_both = entropy(interval(Fraction(w, law.total)) for w in both.values())
    h_group = entropy(interval(Fraction(w, law.total)) for w in law.weights(group).values())
    told = subtract(add(entropy_of_target(law, target), h_group), h_both)
    return subtract(found, told)


def bound_from_extreme_points(law, used, target, groups, prior, proof, states):
    """H(W|Y) ≥ π·p + min over extreme points t of [H(W at t) - π·t], all of which are enumerated here again.

    Every posterior p(s|y) of a private channel lies in S = {t ≥ 0 : P t = P p}. H(W at t) - π·t is concave in t, so
    on S it is smallest at an extreme point; averaging over y gives the bound. States with the same protected values
    and the same posterior of W are alike: mass may move between them without changing anything but π·t, so they
    count as one, with the largest of their multipliers.
    """
    listed = proof.get("multipliers")
    need(isinstance(listed, list) and len(listed) == len(states), "upper bound", "it lacks multipliers")
    pi = dict(zip(states, (rational(text, "upper bound") for text in listed)))
    to_target = law.seen_from(used, target)
    to_groups = [law.seen_from(used, group) for group in groups]
    values = [sorted(law.weights(group)) for group in groups]
    classes = {}
    for state in states:
        column = tuple(Fraction(seen[state].get(z, 0), prior[state]) for seen, zs in zip(to_groups, values) for z in zs)
        posterior = tuple(sorted((w, Fraction(weight, prior[state])) for w, weight in to_target[state].items()))
        classes.setdefault((column, posterior), []).append(state)
    columns = [key[0] for key in classes]
    posteriors = [dict(key[1]) for key in classes]
    weights = [sum(prior[s] for s in members) for members in classes.values()]
    largest = [max(pi[s] for s in members) for members in classes.values()]
    slack = None
    for point in extreme_points(columns, weights):
        w = {}
        for c, mass in point.items():
            for value, share in posteriors[c].items():
                w[value] = w.get(value, 0) + mass * share
        gap = subtract(entropy(map(interval, w.values())), interval(sum(largest[c] * m for c, m in point.items())))
        slack = gap if slack is None else (min(slack[0], gap[0]), min(slack[1], gap[1]))
    average = interval(sum(pi[s] * prior[s] for s in states) / law.total)
    return subtract(subtract(entropy_of_target(law, target), average), slack)


def extreme_points(columns, weights):
    """Every extreme point of {t ≥ 0 : Σ t_c column_c = Σ p_c column_c}, p ∝ weights, as {c: mass}; some perhaps twice.

    Rows of integers [right side | one entry per column], times the determinant of the basis; a pivot keeps them
    integers. Ties between leaving rows are broken lexicographically by the columns of the first basis, which is the
    same as moving the right side by powers of an infinitesimal: the moved polytope is simple and its graph is
    connected, so walking from neighbour to neighbour visits all its vertices, and their limits are all those of ours.
    """
    size, total = len(columns), sum(weights)
    scale = lcm(*(x.denominator for column in columns for x in column))
    rows = []
    for i in range(len(columns[0])):
        line = [int(column[i] * scale) for column in columns]
        rows.append([sum(x * w for x, w in zip(line, weights)), *line])
    # Gauss-Jordan elimination finds a first basis and drops rows that depend on others.
    basis, det, kept = [], 1, []
    for row in rows:
        kept.append(reduce_row(row, kept, basis, det))
        j = next((j for j in range(1, size + 1) if kept[-1][j]), None)
        if j is None:
            kept.pop()
            continue
        basis.append(j)
        kept, det = pivot(kept, len(kept) - 1, j, det)
    # From the prior, where every state has mass, empty one state after the other until a vertex is reached.
    x = [Fraction(0), *(Fraction(w) for w in weights)]
    for j in range(1, size + 1):
        if j in basis:
            continue
        limits = [(x[basis[i]] * det / -row[j], i) for i, row in enumerate(kept) if row[j] < 0]
        step = min([x[j], *(limit for limit, _ in limits)])
        for i, row in enumerate(kept):
            x[basis[i]] += Fraction(row[j], det) * step
        x[j] -= step
        if x[j]:
            i = next(i for limit, i in limits if limit == step)
            basis[i] = j
            kept, det = pivot(kept, i, j, det)
    home = [0, *basis]
    start = tuple(basis)
    seen, waiting = {frozenset(start)}, [(kept, start, det)]
    while waiting:
        kept, basis, det = waiting.pop()
        yield {j - 1: Fraction(row[0], det * total) for row, j in zip(kept, basis) if row[0]}
        for j in range(1, size + 1):
            if j in basis:
                continue
            i = leaving_row(kept, j, home)
            moved = (*basis[:i], j, *basis[i + 1 :])
            if frozenset(moved) not in seen:
                seen.add(frozenset(moved))
                waiting.append((*pivot(kept, i, j, det)[:1], moved, kept[i][j]))


def reduce_row(row, kept, basis, det):
    """The row times `det`, less what the rows already in the basis account for."""
    new = [x * det for x in row]
    for other, j in zip(kept, basis):
        if row[j]:
            new = [x - row[j] * y for x, y in zip(new, other)]
    return new


def pivot(rows, i, j, det):
    """Make column j the unit column of row i (times its new determinant), keeping the determinant positive."""
    row = rows[i]
    p = row[j]
    new = [
        row if k == i else [(x * p - other[j] * y) // det for x, y in zip(other, row)] for k, other in enumerate(rows)
    ]
    if p < 0:
        return [[-x for x in r] for r in new], -p
    return new, p


def leaving_row(rows, j, home):
    """The row with the lexicographically smallest ratio to its entry in column j, among positive entries."""
    best = None
    for i, row in enumerate(rows):
        if row[j] <= 0:
            continue
        if best is None:
            best = i
            continue
        other = rows[best]
        for h in home:
            difference = row[h] * other[j] - other[h] * row[j]
            if difference:
                if difference < 0:
                    best = i
                break
    return best


# ---- the whole --------------------------------------------------------------------------------------------------


def claims_of(document):
    """What the file says: law, target, used columns and groups, checked for sense."""
    need(isinstance(document.get("law"), dict), "law", "there is none")
    law = Table(document["law"])
    used = columns_of(document, "use", law.columns, "use")
    target = columns_of(document, "reveal", law.columns, "target")
    listed = document.get("protect")
    need(isinstance(listed, list) and listed, "protected groups", "the list is empty: nothing is protected")
    groups = [columns_of(group, None, law.columns, "protected groups") for group in listed]
    for one, other in combinations(groups, 2):
        need(set(one) != set(other), "protected groups", f"{'+'.join(one)} is listed twice")
    claims = document.get("claims")
    need(isinstance(claims, dict), "claims", "there are none")
    numbers = []
    for key in ("information", "upper_bound"):
        text = claims.get(key)
        plain = isinstance(text, str) and len(text) < 40 and text.replace(".", "", 1).isdecimal() and text.isascii()
        need(plain, key, f"{text!r} is not a decimal number")
        numbers.append(Decimal(text))
    return law, used, target, groups, *numbers


def describe(law, used, target, groups, stated_information, stated_bound):
    """Lines that say what is claimed."""
    return [
        "law          " + "\n             ".join(law.describe()),
        f"reveals      {'+'.join(target)}",
        f"looks at     {', '.join(used)}",
        f"protects     {', '.join('+'.join(group) for group in groups)}"
        f"   ({len(groups)} group{'s' if len(groups) > 1 else ''}; nothing else is protected)",
        f"information  {stated_information:f} bits are disclosed",
        f"bound        {stated_bound:f} bits: no private channel can do better",
    ]


def verify(text, say=lambda line: None):
    """Check the text of a release file. Returns what was found; raises `ClaimFailed` at the first false claim."""
    document = read(text)
    law, used, target, groups, stated_information, stated_bound = claims_of(document)
    for line in describe(law, used, target, groups, stated_information, stated_bound):
        say(line)
    prior = law.weights(used)
    channel = Channel(document, prior)
    say("holds        every weight is a non-negative integer, and the codes of each state sum to its prior")
    for group in groups:
        independence(law, used, group, channel, prior)
        say(f"holds        {'+'.join(group)} is independent of the code, exactly ({channel.codes} codes)")
    found = information(law, used, target, channel, prior)
    compare_information(found, stated_information)
    say("holds        the information, in interval arithmetic")
    proof = document.get("bound")
    need(isinstance(proof, dict), "upper bound", "no proof is given")
    kind = proof.get("kind")
    if kind == "group":
        bound = bound_from_group(law, used, target, groups, prior, proof)
        how = "from the law alone (pr:upper_bound)"
    elif kind == "extreme points":
        states = [tuple(state) for state in document["channel"]["states"]]
        bound = bound_from_extreme_points(law, used, target, groups, prior, proof, states)
        how = "by enumerating all extreme points again"
    else:
        raise ClaimFailed("upper bound", f"its kind {kind!r} is unknown")
    compare_bound(bound, stated_bound)
    say(f"holds        the upper bound, {how}")
    return {
        "verified": True,
        "reveal": target,
        "use": used,
        "protect": groups,
        "information": f"{stated_information:f}",
        "upper_bound": f"{stated_bound:f}",
        "codes": channel.codes,
        "states": len(prior),
        "bound_checked": how,
        "digest": document["digest"],
    }


def main(arguments):
    """The command line: returns the exit status."""
    files = [a for a in arguments if not a.startswith("-")]
    as_json = "--json" in arguments
    if len(files) != 1 or set(arguments) - set(files) - {"--json"}:
        print(__doc__)
        return 0 if set(arguments) & {"-h", "--help"} else 2
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    try:
        with open(files[0], encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        failed = ClaimFailed("file", str(error))
    else:
        try:
            found = verify(text, say=(lambda line: None) if as_json else print)
            print(json.dumps(found) if as_json else "VERIFIED     every claim above holds")
            return 0
        except ClaimFailed as error:
            failed = error
    if as_json:
        print(json.dumps({"verified": False, "claim": failed.claim, "reason": failed.reason}))
    else:
        print(f"FAILED       {failed.claim}: {failed.reason}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
