"""The best private code of a small release file, by code that shares nothing with the solvers, reductions and proofs.

Read from the document alone: the promises as equations in fractions over the states; all extreme points of the polytope
of private posteriors by trying every support; their entropies to sixty digits; and the mixture of them that is best by the
simplex method in fractions of `tests/exact_lp.py`. So the optimum comes as an interval that is narrower than 1e-30.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

from exact_lp import least

from choral.show.commands.selftest import promises_of, records_of

DIGITS = 60
"""Of logarithms; what is rounded off is counted in."""
SLACK = Fraction(1, 10**40)
"""More than entropies of few values are off with so many digits."""
MOST_STATES = 8
"""Beyond these, to try every support takes long."""


def equations_of(document):
    """The states of a document, their probabilities, the law of the target in each, and the promises as rows of equations."""
    records = [(p, values, state) for p, values, state in records_of(document["law"], document["use"]) if p]
    total = sum(p for p, _, _ in records)
    states = sorted({state for _, _, state in records})
    number = {state: i for i, state in enumerate(states)}
    prior = [Fraction(0)] * len(states)
    target = {}
    for p, values, state in records:
        prior[number[state]] += p / total
        w = tuple(values[name] for name in document["reveal"])
        target.setdefault(w, [Fraction(0)] * len(states))[number[state]] += p / total
    rows = []
    for promise in promises_of(document):
        both, alone = {}, {}
        for p, values, state in records:
            if any(values[name] != place for name, place in promise.only):
                continue
            z, v = (tuple(values[name] for name in names) for names in (promise.hidden, promise.known))
            both.setdefault((z, v), [Fraction(0)] * len(states))[number[state]] += p / total
            alone.setdefault(v, [Fraction(0)] * len(states))[number[state]] += p / total
        for (_, v), cell in both.items():
            share = sum(cell) / sum(alone[v])
            rows.append([(a - share * b) / p for a, b, p in zip(cell, alone[v], prior, strict=True)])
    posterior = [[mass / p for mass, p in zip(row, prior, strict=True)] for _, row in sorted(target.items())]
    return prior, posterior, rows


def extreme_points(prior, rows):
    """All extreme points of {t ≥ 0, Σ t = 1, rows · t = 0}: supports on which the equations leave one solution."""
    size = len(prior)
    equations = [[Fraction(1)] * size, *rows]
    found = set()
    for count in range(1, size + 1):
        for support in combinations(range(size), count):
            t = only_solution(equations, support)
            if t is not None and all(x > 0 for x in t):
                whole = [Fraction(0)] * size
                for i, x in zip(support, t, strict=True):
                    whole[i] = x
                found.add(tuple(whole))
    return sorted(found)


def only_solution(equations, support):
    """The one solution of the equations on these states, or None where there is none or more than one."""
    table = [[*(row[i] for i in support), Fraction(int(number == 0))] for number, row in enumerate(equations)]
    done = 0
    for column in range(len(support)):
        pivot = next((i for i in range(done, len(table)) if table[i][column]), None)
        if pivot is None:
            return None
        table[done], table[pivot] = table[pivot], table[done]
        head = table[done][column]
        table[done] = [x / head for x in table[done]]
        for i, row in enumerate(table):
            if i != done and row[column]:
                factor = row[column]
                table[i] = [x - factor * y for x, y in zip(row, table[done], strict=True)]
        done += 1
    if any(row[-1] for row in table[done:]):
        return None
    return [row[-1] for row in table[: len(support)]]


def entropy(shares):
    """Bits of a law, within `SLACK`."""
    with localcontext(prec=DIGITS):
        two, total = Decimal(2).ln(), Decimal(0)
        for share in shares:
            if share:
                x = Decimal(share.numerator) / Decimal(share.denominator)
                total -= x * (Decimal(share.numerator).ln() - Decimal(share.denominator).ln()) / two
        return Fraction(total)


def optimum(document):
    """I(W;Y) of the best private code, in bits: at least the first number, at most the second."""
    prior, posterior, rows = equations_of(document)
    points = extreme_points(prior, rows)
    costs = [entropy([sum(a * t for a, t in zip(row, point, strict=True)) for row in posterior]) for point in points]
    left = least(costs, [list(row) for row in zip(*points, strict=True)], prior)
    before = entropy([sum(a * p for a, p in zip(row, prior, strict=True)) for row in posterior])
    return before - left - 2 * SLACK, before - left + 2 * SLACK
