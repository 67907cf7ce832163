"""A second derivation of what a code is worth: a small simplex method in fractions, on equations read from the law itself."""

from __future__ import annotations

from fractions import Fraction


def least(costs, rows, right):
    """min costs · x over x ≥ 0 with rows · x = right, by Bland's rule; the program must have a solution."""
    size = len(costs)
    table = [[Fraction(x) for x in row] + [Fraction(b)] for row, b in zip(rows, right, strict=True)]
    table = [[-x for x in row] if row[-1] < 0 else row for row in table]
    table = [row[:-1] + [Fraction(int(i == j)) for j in range(len(table))] + row[-1:] for i, row in enumerate(table)]
    basis = [size + i for i in range(len(table))]
    first = [Fraction(0)] * size + [Fraction(1)] * len(table)
    assert _minimised(table, basis, first, size + len(table)) == 0
    for i in reversed(
        range(len(basis))
    ):  # what is left of phase one is zero: out of the basis, or the row says nothing
        if basis[i] >= size:
            j = next((j for j in range(size) if table[i][j]), None)
            if j is None:
                del table[i], basis[i]
            else:
                _pivot(table, basis, i, j)
    return _minimised(table, basis, [Fraction(c) for c in costs] + [Fraction(0)] * len(first), size)


def _minimised(table, basis, costs, columns):
    while True:
        reduced = [
            costs[j] - sum(costs[b] * row[j] for b, row in zip(basis, table, strict=True)) for j in range(columns)
        ]
        j = next((j for j, x in enumerate(reduced) if x < 0), None)
        if j is None:
            return sum((costs[b] * row[-1] for b, row in zip(basis, table, strict=True)), Fraction(0))
        i = min((i for i, row in enumerate(table) if row[j] > 0), key=lambda i: (table[i][-1] / table[i][j], basis[i]))
        _pivot(table, basis, i, j)


def _pivot(table, basis, i, j):
    head = table[i][j]
    table[i] = [x / head for x in table[i]]
    for k, row in enumerate(table):
        if k != i and row[j]:
            factor = row[j]
            table[k] = [x - factor * y for x, y in zip(row, table[i], strict=True)]
    basis[i] = j


def least_loss(law, target, use, promises, lines):
    """The least expected value of min_l lines[l][w] that a private code of the used columns can have.

    `promises` lists (hidden columns, known columns, {column: value}); `lines` are mappings from values of the target.
    """
    at = {name: law.position(name) for name in law.names}

    def part(values, names):
        return tuple(values[at[name]] for name in names)

    states = sorted({part(values, use) for values, _ in law.items()}, key=repr)
    number = {state: s for s, state in enumerate(states)}
    prior = [Fraction(0)] * len(states)
    cost = [[Fraction(0)] * len(states) for _ in lines]
    for values, p in law.items():
        s = number[part(values, use)]
        prior[s] += p
        for row, line in zip(cost, lines, strict=True):
            row[s] += p * line[part(values, target)[0] if len(target) == 1 else part(values, target)]
    equations = []
    for hidden, known, only in promises:
        both, alone = {}, {}
        for values, p in law.items():
            if any(values[at[name]] != value for name, value in only.items()):
                continue
            s, v = number[part(values, use)], part(values, known)
            cell = both.setdefault((part(values, hidden), v), [Fraction(0)] * len(states))
            cell[s] += p
            alone.setdefault(v, [Fraction(0)] * len(states))[s] += p
        for (_, v), cell in both.items():
            mine, every = sum(cell), sum(alone[v])
            equations.append([(every * a - mine * b) / p for a, b, p in zip(cell, alone[v], prior, strict=True)])
    n, count = len(states), len(lines)
    rows = [[Fraction(int(j % n == s)) for j in range(n * count)] for s in range(n)]
    right = list(prior)
    for line in range(count):
        for equation in equations:
            rows.append([Fraction(0)] * (line * n) + equation + [Fraction(0)] * ((count - line - 1) * n))
            right.append(Fraction(0))
    return least([x / p for row in cost for x, p in zip(row, prior, strict=True)], rows, right)
