"""What the tests of scale share: symmetric laws, sensors, and forged releases."""

from __future__ import annotations

import copy
import math
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import strategies as st
from laws import WEIGHTS

import choral as ch
from choral.errors import VerificationError
from choral.exact.certificate import check, sealed


def sensors(n):
    """W with P(W=1) = 1/3 behind n symmetric channels with crossovers linspace(.05, .35, n)."""
    crossovers = [F(5, 100) + F(30, 100) * i / (n - 1) for i in range(n)]
    return ch.Joint.observed([F(2, 3), F(1, 3)], [ch.bsc(c) for c in crossovers])


def orbit(x, sizes):
    """The values x with each block of columns (of these sizes) sorted."""
    found, start = [], 0
    for size in sizes:
        found += sorted(x[start : start + size])
        start += size
    return tuple(found)


def symmetric(targets, sizes, alphabet, weight):
    """The law with weight(w, orbit) at every cell, exchangeable within blocks of columns of these sizes."""
    names = ["W", *(f"X{i}" for i in range(1, sum(sizes) + 1))]
    known, counts = {}, {}
    for w in range(targets):
        for x in product(range(alphabet), repeat=sum(sizes)):
            key = (w, *orbit(x, sizes))
            if key not in known:
                known[key] = weight(w, key[1:])
            counts[(w, *x)] = known[key]
    return ch.Joint.from_counts(counts, names, [range(targets), *[range(alphabet)] * sum(sizes)])


SHAPES = (((2,), 2), ((2,), 3), ((3,), 2), ((2, 1), 2), ((2, 2), 2), ((4,), 2))


@st.composite
def symmetric_joints(draw, shapes=SHAPES):
    """A law with exchangeable columns built in, and the sizes of its classes."""
    sizes, alphabet = draw(st.sampled_from(list(shapes)))
    weights = draw(st.sampled_from([st.integers(0, 3), st.integers(1, 9), WEIGHTS]))
    targets = draw(st.integers(2, 3))
    law = symmetric(targets, sizes, alphabet, lambda w, x: 1 if (w, *x) == (0,) * (len(x) + 1) else draw(weights))
    return law, sizes


def rejected(document, change):
    """The claim that the verifier names when a document was changed and sealed again."""
    other = copy.deepcopy(dict(document))
    change(other)
    with pytest.raises(VerificationError) as caught:
        check(sealed(other))
    return caught.value.claim


def private_in_integers(disclosure):
    """As `laws.exactly_private`, with everything over one denominator: quick for many codes."""
    law, problem = disclosure.law, disclosure.problem
    rows = disclosure.exact_channel.rows
    one = math.lcm(*(denominator for denominator, _ in rows))
    share = [[(y, n * (one // denominator)) for y, n in entries] for denominator, entries in rows]
    number = {state: s for s, state in enumerate(problem.states)}
    total = math.lcm(*(p.denominator for _, p in law.items()))
    used = [law.position(name) for name in problem.columns]
    cells = [(x, number[tuple(x[i] for i in used)], int(p * total)) for x, p in law.items()]
    for group in problem.groups:
        where = [law.position(name) for name in group.columns]
        joint, left, right = {}, {}, {}
        for x, s, weight in cells:
            z = tuple(x[i] for i in where)
            left[z] = left.get(z, 0) + weight
            for y, n in share[s]:
                joint[z, y] = joint.get((z, y), 0) + weight * n
                right[y] = right.get(y, 0) + weight * n
        if any(joint.get((z, y), 0) * total != left[z] * right[y] for z in left for y in right):
            return False
    return True
