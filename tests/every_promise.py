"""Random small laws with every kind of promise and utility, checked by a second derivation that shares no line with choral.

`bench/promises.py` checks ten thousand of them, `test_every_promise` a few. Law number i is made from the seed i. Of each:
every promise is summed again from the cells of the laws and the channel, in fractions; the file verifies; and the optimum of
a linear program in fractions lies between what the code is worth and what no code exceeds. The program mixes extreme points
of the private posteriors, which are listed again here: what remains uncertain is concave, so no other posterior is needed.
Equations are all of one form: the code is as likely given one event under one law as given another event under another.
"""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction as F
from itertools import combinations, product

from exact_lp import least

import choral as ch

NAMES = ["W", "Z", "V", "X"]
KINDS = [
    (["Z"], ["Z", "X"]),
    (["Z"], ["V", "X"]),
    (["Z", "V"], ["Z", "V", "X"]),
    (["Z+V"], ["Z", "V", "X"]),
    (["Z", "Z | V"], ["Z", "V", "X"]),
    (["Z", "Z | V"], ["Z", "X"]),
    (["Z | V"], ["Z", "V", "X"]),
    (["Z | V"], ["X", "V"]),
    (["Z | W"], ["Z", "X"]),
    (["Z", "Z | W"], ["Z", "V", "X"]),
    (["Z | W=0"], ["Z", "X", "V"]),
    (["Z | W"], ["W", "Z", "X"]),
    (["V", "Z | V+X"], ["Z", "V", "X"]),
    (["Z+V | W"], ["Z", "V", "X"]),
    (["Z | V", "V | Z"], ["Z", "V", "X"]),
    (["X", "Z | V=1+W"], ["Z", "V", "X"]),
    (["Z | V", "Z | X"], ["Z", "V", "X"]),
]
"""What `protect` says, and what the channel looks at. Some of these say nothing new, or allow nothing."""
MOST_BASES = 500
"""Sets of states that are tried for extreme points; laws with more are drawn again."""
TINY = F(1, 10**30)
"""What ends of intervals in bits may be off by: the arithmetic's (docs/release-format.md)."""


def parsed(promise):
    """(hidden, known, {column: value}) of a promise."""
    hidden, _, known = (part.strip() for part in promise.partition("|"))
    only, names = {}, []
    for part in filter(None, known.split("+")):
        name, equals, value = part.partition("=")
        names.append(name)
        only |= {name: int(value)} if equals else {}
    return hidden.split("+"), names, only


class Case:
    """A law, perhaps a second one, promises, what is used, and what the code shall be good for."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        while True:
            self._draw()
            if self.states and len(self.states) > 1 and self._bases() <= MOST_BASES:
                return

    def _draw(self):
        pick = self.random
        self.protect, self.use = pick.choice(KINDS)
        sizes = [pick.choice([2, 2, 3]), 2 if pick.random() < 0.8 else 3, pick.choice([2, 3]), pick.choice([1, 2, 2])]
        self.law = self._law(sizes, pick.choice([0.0, 0.2, 0.4]))
        self.also = []
        self.itself = pick.random() < 0.05 and "W" not in self.use
        self.utility = pick.choice(["bits", "accuracy", "loss", "squares"])
        if self.itself:
            self.utility = "bits"
        elif pick.random() < 0.25:
            other = self._law(sizes, 0.3)
            if self._within(other):
                self.also = [other]
        self.codes = pick.choice([None] * 8 + [2])
        mass = Counter()
        for cell, n in self.law.items():
            mass[self.part(cell, self.use)] += n
        self.states, self.prior = sorted(mass), dict(mass)
        seen = [{cell[NAMES.index(name)] for cell in self.law} for name in NAMES]
        limited = [item for promise in self.protect for item in parsed(promise)[2].items()]
        if any(value not in seen[NAMES.index(name)] for name, value in limited) or any(len(s) < 1 for s in seen):
            self.states = []

    def _law(self, sizes, empty):
        pick, most = self.random, self.random.choice([3, 9, 10**6])
        cells = [cell for cell in product(*map(range, sizes)) if pick.random() >= empty]
        return {cell: F(pick.randint(1, most)) for cell in cells or [tuple(0 for _ in sizes)]}

    def _within(self, other):
        """Whether the other law gives a probability to nothing that the first lacks, of all that is looked at."""
        looked = [self.use, *([*hidden, *known] for hidden, known, _ in map(parsed, self.protect))]
        return all(
            {self.part(cell, names) for cell in other} <= {self.part(cell, names) for cell in self.law}
            for names in looked
        )

    def part(self, cell, names):
        """The values of some columns."""
        return tuple(cell[NAMES.index(name)] for name in names)

    # ---- the second derivation

    def given(self, law, names=(), values=()):
        """p(state | some columns have some values), per state; None where that has no probability."""
        found, total = Counter(), F(0)
        for cell, n in law.items():
            if self.part(cell, names) == tuple(values):
                found[self.part(cell, self.use)] += n
                total += n
        return {s: found[s] / total for s in found} if total else None

    def events(self):
        """Pairs of laws of the state under which the code must be as likely."""
        for i, law in enumerate([self.law, *self.also]):
            if i:
                yield self.given(law), self.given(self.law)
            for hidden, known, only in map(parsed, self.protect):
                for v in {self.part(cell, known) for cell in law}:
                    if any(value != only.get(name, value) for name, value in zip(known, v, strict=True)):
                        continue
                    among = self.given(law, known, v)
                    if i and (before := self.given(self.law, known, v)):
                        yield among, before
                    for z in {self.part(cell, hidden) for cell in law}:
                        if here := self.given(law, [*hidden, *known], (*z, *v)):
                            yield here, among

    def equations(self):
        """Independent rows, the first of ones: Σ_s row[s] t(s) = 1, 0, 0, … for a private posterior t."""
        total = sum(self.prior.values())
        rows = [[F(1)] * len(self.states)]
        for a, b in self.events():
            row = [(a.get(s, F(0)) - b.get(s, F(0))) * total / self.prior[s] for s in self.states]
            if rank([*rows, row]) > len(rows):
                rows.append(row)
        return rows

    def _bases(self):
        rows, count = self.equations(), 1
        for i in range(len(rows)):
            count = count * (len(self.states) - i) // (i + 1)
        return count

    def vertices(self):
        """The extreme points of the private posteriors."""
        rows = self.equations()
        found = set()
        for chosen in combinations(range(len(self.states)), len(rows)):
            x = solved([[row[j] for j in chosen] for row in rows], [F(1)] + [F(0)] * (len(rows) - 1))
            if x is not None and min(x) >= 0:
                point = dict(zip(chosen, x, strict=True))
                found.add(tuple(point.get(j, F(0)) for j in range(len(self.states))))
        return sorted(found)

    def target(self, cell):
        """The value of what is revealed."""
        return self.part(cell, self.use) if self.itself else cell[0]

    def posterior(self, t):
        """p(w) where the states have the law t."""
        weight = {s: x / self.prior[s] for s, x in zip(self.states, t, strict=True)}
        found = Counter()
        for cell, n in self.law.items():
            found[self.target(cell)] += n * weight[self.part(cell, self.use)]
        return {w: p for w, p in found.items() if p}

    def purpose(self):
        """What choral is asked for; what remains uncertain at a posterior, a fraction; and what a code is worth without."""
        values, pick = sorted({self.target(cell) for cell in self.law}), self.random
        if self.utility == "accuracy":
            return "accuracy", lambda p: 1 - max(p.values()), F(1)
        if self.utility == "loss":
            actions = range(pick.randint(1, 4))
            loss = {(f"a{a}", w): F(pick.randint(-5, 20), pick.choice([1, 1, 3])) for a in actions for w in values}
            return loss, lambda p: min(sum(q * loss[f"a{a}", w] for w, q in p.items()) for a in actions), F(0)
        if self.utility == "squares":
            mean = sum(F(cell[0]) * n for cell, n in self.law.items()) / sum(self.law.values())
            return "squares", lambda p: -(sum(q * w for w, q in p.items()) ** 2), -(mean**2)
        whole = self.posterior([self.prior[s] / sum(self.prior.values()) for s in self.states])
        return "bits", entropy, entropy(whole)

    def optimum(self, uncertainty, offset):
        """What the best private code is worth."""
        points, total = self.vertices(), sum(self.prior.values())
        rows = [[t[j] for t in points] for j in range(len(self.states))]
        right = [self.prior[s] / total for s in self.states]
        return offset - least([uncertainty(self.posterior(t)) for t in points], rows, right)

    def kept(self, d):
        """Whether every code is as likely given either event of every pair, in fractions."""
        rows = {s: d.channel_of(s) for s in self.states}
        return all(
            sum(p * rows[s][y] for s, p in a.items()) == sum(p * rows[s][y] for s, p in b.items())
            for a, b in self.events()
            for y in range(d.codes)
        )

    def checked(self):
        """What was asked, after it was found to hold; raises where it does not."""
        joint, *also = [ch.Joint.from_counts(law, NAMES, self._alphabets()) for law in (self.law, *self.also)]
        utility, uncertainty, offset = self.purpose()
        if self.itself:
            d = ch.self_disclose(joint, self.protect, self.use, codes=self.codes)
        else:
            d = ch.disclose(joint, "W", self.protect, self.use, also=also, utility=utility, codes=self.codes)
        assert self.kept(d), "a promise is broken"
        assert d.verify()["verified"]
        assert self.codes is None or d.codes <= self.codes
        best = self.optimum(uncertainty, offset)
        low, high = (
            (d.claims.value, d.claims.value_bound)
            if utility != "bits"
            else (d.claims.information, d.claims.upper_bound)
        )
        slack = TINY if utility == "bits" else 0
        assert F(low) - slack <= best <= F(high) + slack, (float(low), float(best), float(high))
        if self.utility in ("accuracy", "loss") and self.codes is None:
            assert F(low) == best == F(high), "a decision is exact"
        kind = "itself" if self.itself else self.utility + (", two laws" if also else "")
        return kind, float(F(high) - F(low)) if self.codes is None else 0.0

    def _alphabets(self):
        laws = [self.law, *self.also]
        return [tuple(sorted({cell[i] for law in laws for cell in law})) for i in range(len(NAMES))]


def entropy(p):
    """In bits, to forty decimals."""
    with localcontext() as context:
        context.prec = 60
        ln = sum(Decimal(q.numerator) / q.denominator * (Decimal(q.numerator) / q.denominator).ln() for q in p.values())
        return F(round(-ln / Decimal(2).ln(), 40))


def rank(rows):
    """Of rows of fractions."""
    rows, found = [list(row) for row in rows], 0
    for j in range(len(rows[0])):
        pivot = next((i for i in range(found, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            if rows[i][j]:
                factor = rows[i][j] / rows[found][j]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def solved(matrix, right):
    """The solution of a square system, or None."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for j in range(len(rows)):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        rows[j] = [x / rows[j][j] for x in rows[j]]
        for i, row in enumerate(rows):
            if i != j and row[j]:
                rows[i] = [x - row[j] * y for x, y in zip(row, rows[j], strict=True)]
    return [row[-1] for row in rows]
