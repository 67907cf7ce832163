"""What makes the verifier quick changes nothing: the least line, sums over half of the groups, integers that are long."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import choral as ch
from choral.verifier import core, reading
from choral.verifier.claims import ClaimFailed
from choral.verifier.core import Channel, Shares
from choral.verifier.least_line import LeastLine
from choral.verifier.steps import METER, Meter, default_budget
from choral.verifier.sums import added
from choral.verifier.table import Table


def numbers(draw, size, count):
    """So many integers of about this size, perhaps with some that are equal or nearly so."""
    same = draw.randint(-size, size)
    kinds = (lambda: draw.randint(-size, size), lambda: same, lambda: same + draw.randint(-3, 3))
    return [draw.choice(kinds)() for _ in range(count)]


def slowly(constants, groups, coefficients, state, weight, terms):
    """What every line costs, one after the other."""
    for line, constant in enumerate(constants):
        level = constant - sum(m.get(tuple(state[i] for i in where), [0] * len(constants))[line] for where, m in groups)
        yield weight * level + sum(coefficients[k][line] * x // divisor for k, x, divisor in terms)


@settings(deadline=None, max_examples=300)
@given(st.integers(0, 10**9), st.sampled_from([1, 40, 2**62, 2**200, 2**900]), st.integers(1, 40))
def test_the_least_line_is_the_least_of_all(seed, size, lines):
    """Whatever the sizes of levels, coefficients and terms; also where some are larger than digits of 64 bits can show."""
    draw = random.Random(seed)
    groups = [
        (where, {z: numbers(draw, size, lines) for z in product(range(2), repeat=len(where)) if draw.random() < 0.9})
        for where in draw.sample([[0], [1], [2, 0], [1, 2]], draw.randint(0, 4))
    ]
    groups = [group for group in groups if group[1]]
    constants = numbers(draw, draw.choice([size, 2**30]), lines)
    coefficients = [numbers(draw, draw.choice([size, 5, 2**100]), lines) for _ in range(4)]
    every = LeastLine(constants, groups, coefficients)
    for state in product(range(2), repeat=3):
        weight = draw.choice([1, draw.randint(1, 2**100)])
        terms = [
            (k, draw.randint(-weight, draw.choice([weight, weight * 2**40])), draw.choice([1, draw.randint(1, 10**6)]))
            for k in draw.sample(range(4), draw.randint(1, 4))
        ]
        assert every.at(state, weight, terms) == min(slowly(constants, groups, coefficients, state, weight, terms))


def test_few_lines_are_looked_at_exactly():
    """Or nothing would be saved."""
    draw = random.Random(5)
    constants = [draw.randrange(2**192) for _ in range(500)]
    every = LeastLine(constants, [], [[draw.randrange(2**192) for _ in range(500)] for _ in range(2)])
    assert max(len(every.candidates((), 1000, [(0, x, 1), (1, 1000 - x, 1)])) for x in range(0, 1001, 50)) <= 2


@pytest.mark.parametrize(
    "columns", [[["A"]], [["A"], ["B"]], [["A"], ["B", "C"], ["C"]], [["C", "A"], ["B"], ["A"], ["D"]]]
)
def test_sums_for_several_groups_are_those_for_each(columns):
    """Groups that the states contain, and D, which they do not; masses added one by one as fractions."""
    draw = random.Random(3)
    cells = [[*cell, f"{draw.randint(1, 40):x}"] for cell in product(range(2), range(3), range(2), range(2))]
    law = Table({"columns": list("ABCD"), "alphabets": [[0, 1], [0, 1, 2], [0, 1], [0, 1]], "cells": cells})
    used = ["A", "B", "C"]
    prior, rows = law.weights(used), []
    for _ in prior:
        parts = [draw.randint(1, 2**70) for _ in range(draw.randint(1, 3))]
        rows.append([f"{sum(parts):x}", *([y, f"{n:x}"] for y, n in enumerate(parts))])
    channel = Channel({"channel": {"codes": 3, "states": list(map(list, prior)), "rows": rows}}, prior)
    found = channel.sums([Shares(law, used, group, prior) for group in columns])
    for group, sums in zip(columns, found, strict=True):
        slow = {}
        where = [law.columns.index(name) for name in group]
        for cell, weight in law.cells.items():
            denominator, codes, numerators = channel.rows[cell[:3]]
            for y, n in zip(codes, numerators, strict=True):
                key = tuple(cell[i] for i in where), y
                slow[key] = slow.get(key, F(0)) + F(weight * n, denominator)
        assert {(z, y): mass for z, row in sums.items() for y, mass in row.items()} == slow


@pytest.mark.parametrize("digits", [999, 1000, 1001, 1002, 2001, 5000])
@pytest.mark.parametrize("before", [0, 1, 500, 998, 1000, 1001, 1500])
def test_an_integer_of_too_many_digits_is_refused_wherever_it_stands(digits, before):
    text = '{"a": "' + "x" * before + '", "b": [1' + "0" * (digits - 1) + "]}"
    if digits > reading.LONGEST_INTEGER:
        with pytest.raises(ClaimFailed, match=f"it holds an integer of {digits} digits"):
            reading.read_value(text, 0, reading.decoder_for(text))
    else:
        assert reading.read_value(text, 0, reading.decoder_for(text))[0]["b"] == [10 ** (digits - 1)]


def test_digits_of_a_text_are_no_integer():
    """Weights are written as text, of any length."""
    text = '{"a": "' + "7" * 3000 + '"}'
    assert reading.decoder_for(text) is reading.DECODER
    assert reading.read_value(text, 0, reading.decoder_for(text))[0] == {"a": "7" * 3000}


def test_true_is_no_index():
    assert not core.are_integers([0, True])
    assert core.are_integers([0, 1])


def test_a_release_with_a_long_integer_is_named(tmp_path):
    path = ch.disclose(ch.examples.clinic(), "diagnosis").save(tmp_path / "a.choral")
    text = path.read_text(encoding="utf-8").replace('"version": 1', '"version": 1' + "0" * 1200)
    with pytest.raises(ClaimFailed, match="it holds an integer of 1201 digits"):
        reading.read(text)


def test_sums_over_many_denominators_are_those_of_fractions():
    draw = random.Random(3)
    for _ in range(60):
        rows = {draw.randint(1, 10 ** draw.randint(1, 30)): {} for _ in range(draw.randint(1, 9))}
        for row in rows.values():
            row.update({y: draw.randint(1, 10**20) for y in range(5) if draw.random() < 0.6})
        wanted = Counter()
        for bottom, row in rows.items():
            for y, numerator in row.items():
                wanted[y] += F(numerator, bottom)
        assert added(rows) == wanted


def test_many_codes_over_one_huge_denominator_are_refused_before_they_fill_the_memory():
    """Codes that are in a row of a small denominator, beside one number of a million bits: each would become as long."""
    rows = {3: dict.fromkeys(range(30_000), 1), (1 << 1_000_000) + 1: {0: 1}}
    token = METER.set(Meter(default_budget(1_000_000)))
    try:
        with pytest.raises(ClaimFailed, match="sums of fractions"):
            added(rows)
    finally:
        METER.reset(token)
