"""The bound in bits from a validation table: by hand, never below what the table itself says, and as often as it says."""

from __future__ import annotations

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import choral as ch
from choral.auditing import information_bound as module
from choral.auditing.information_bound import information_bound
from choral.auditing.tails import bernstein, largest_share, largest_spread, margin
from choral.problem.solution import ExactChannel, row_of
from choral.release.leakage import Published


def published(counts, channel):
    """Counts of (z, state), with the code that the channel gives the state."""
    law = ch.Joint.from_counts(counts, ["Z", "S"])
    return Published(law, tuple(int(law.alphabets[1][cell[1]]) for cell in law.cells), channel)


def drawn(law, rows, generator):
    """A table of independent records, from probabilities of (z, state)."""
    counts = generator.multinomial(rows, list(law.values()))
    return {key: int(n) for key, n in zip(law, counts, strict=True) if n}


COPY = ExactChannel(2, ((1, ((0, 1),)), (1, ((1, 1),))))
"""The code is the state."""


def test_two_values_and_two_codes_by_hand():
    """250 records of each (z, s): all is symmetric, so one number stands for both codes and one for both values.

    The code is ½ ± ½ with variance ¼ about ½. The second moments are ¼·[[1, -1], [-1, 1]], with the eigenvalue ½.
    """
    table = published({(z, s): 250 for z in range(2) for s in range(2)}, COPY)
    delta, rough = 0.05, 0.05 * module.ROUGH / 2
    shares = 2 * largest_share(0.5, 1000, rough)
    each = rough / 5
    little = module.RARE / 1000
    floor = little**2 / (0.5 + little)
    spread = largest_spread(1000 * (0.25 / 1000**2), 0.5 / 1000, each)
    least = 0.5 - bernstein(spread, 0.5 / 1000, each) + floor
    factor = 2.0
    for _ in range(module.ROUNDS):
        most = 0.5 / 500 * math.sqrt(2 * factor / least * 0.25)
        noise = largest_spread(0.5 / 500 * 0.5 * factor / least, most, each)
        square = margin(noise, most, 0.9 * delta) ** 2
        a = math.sqrt(square / least) + floor / least
        factor = 2 * ((1 - a) * math.log(1 - a) + a) / a**2
    nats = shares * (square + 2 * factor * floor**2 / least) / 2
    assert information_bound(table, table, ["Z"], 1000, delta) == pytest.approx(nats / math.log(2), rel=1e-6)


def test_twice_as_sure_costs_little_and_more_records_gain_much():
    bounds = {}
    for n in (250, 2500, 25_000):
        table = published({(z, s): n for z in range(2) for s in range(2)}, COPY)
        bounds[n] = [information_bound(table, table, ["Z"], 4 * n, delta) for delta in (0.05, 0.001)]
    assert bounds[250][0] < bounds[250][1] < 6 * bounds[250][0]
    assert bounds[25_000][0] < bounds[2500][0] / 8 < bounds[250][0] / 64


rows_of_a_channel = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(rows_of_a_channel, min_size=4, max_size=4),
    st.dictionaries(
        st.tuples(st.integers(0, 5), st.integers(0, 3)), st.integers(1, 4) | st.integers(100, 3000), min_size=2
    ),
    st.dictionaries(st.tuples(st.integers(0, 5), st.integers(0, 3)), st.integers(1, 1000), min_size=1),
)
def test_it_is_never_below_what_the_table_itself_says(rows, counts, plan):
    """If the table's own frequencies were the law, nothing would be off: also with rare codes, lone records, wrong plans."""
    channel = ExactChannel(3, tuple(row_of([(y, F(n, sum(row))) for y, n in enumerate(row) if n]) for row in rows))
    found = published(counts, channel)
    bound = information_bound(published(plan, channel), found, ["Z"], sum(counts.values()), 0.5)
    assert found.leakage(["Z"]).bits <= bound
    assert bound <= math.log2(3) + 1e-9


def failures(law, own, channel, rows, tables, delta, seed):
    """How often the bound is below the truth, the median bound, and the truth."""
    generator = np.random.default_rng(seed)
    truth = published({key: F(p) for key, p in law.items()}, channel).leakage(["Z"]).bits
    plan = published(own, channel)
    bounds = np.array(
        [
            information_bound(plan, published(drawn(law, rows, generator), channel), ["Z"], rows, delta)
            for _ in range(tables)
        ]
    )
    return int((bounds < truth).sum()), float(np.median(bounds)), truth


def test_a_channel_that_leaks_is_bounded_from_above_as_often_as_is_said():
    """Z through a noisy channel. At confidence 0.8 more than 109 failures in 400 have a probability below 3e-4.

    The bound is near: an estimate without a margin, which is what it is at delta = 1/2 or so, would fail half the time.
    """
    law = {(0, 0): 0.28, (0, 1): 0.12, (1, 0): 0.24, (1, 1): 0.36}
    assert stats.binom(400, 0.2).sf(109) < 3e-4
    missed, median, truth = failures(law, dict.fromkeys(law, 1), COPY, 4000, 400, 0.2, 11)
    assert missed <= 109
    assert median < 1.8 * truth


def test_lone_records_and_codes_that_hardly_anyone_gets():
    """Eight values of one record in a thousand each, a code of three, and one that the plan gives to nobody.

    Whether a record has one of the rare values, one in a hundred, has an entropy of 0.1 bits; the bound is not far above.
    At confidence 0.8 more than 61 failures in 200 have a probability below 3e-4.
    """
    channel = ExactChannel(4, ((1, ((0, 1),)), (1, ((1, 1),)), (1, ((2, 1),)), (1, ((3, 1),))))
    law = {(z, s): p for z in range(2) for s, p in enumerate((0.3, 0.1925, 0.001 + 0.001 * z, 0.0025 - 0.001 * z))}
    law |= {(z, z % 2): 0.001 for z in range(2, 10)}
    assert sum(law.values()) == pytest.approx(1)
    assert stats.binom(200, 0.2).sf(61) < 3e-4
    plan = {(z, s): n for z in range(2) for s, n in enumerate((300, 195, 5))} | {(z, 0): 1 for z in range(2, 10)}
    missed, median, _ = failures(law, plan, channel, 2000, 200, 0.2, 12)
    assert missed <= 61
    assert median < 0.25


def test_what_is_rare_is_settled_by_the_release_and_not_by_the_table():
    """Values chosen because they have few records would look rarer than they are: the same table, another plan."""
    counts = {(z, s): n for z, n in enumerate((400, 400, 400, 2, 2)) for s in range(2)}
    table = published(counts, COPY)
    lone = published({(z, s): n for z, n in enumerate((400, 400, 400, 1, 1)) for s in range(2)}, COPY)
    even = published({(z, s): 240 for z in range(5) for s in range(2)}, COPY)
    rows = sum(counts.values())
    assert information_bound(lone, table, ["Z"], rows, 0.05) < 0.8 * information_bound(even, table, ["Z"], rows, 0.05)


def test_a_large_matrix_is_bounded_block_by_block(monkeypatch):
    generator = np.random.default_rng(3)
    channel = ExactChannel(
        3, tuple(row_of([(y, F(int(n))) for y, n in enumerate(generator.integers(1, 9, 3))]) for _ in range(4))
    )
    table = published({(z, s): int(generator.integers(50, 200)) for z in range(4) for s in range(4)}, channel)
    rows = table.law.total
    whole = information_bound(table, table, ["Z"], rows, 0.05)
    monkeypatch.setattr(module, "LARGEST", 1)
    assert whole <= information_bound(table, table, ["Z"], rows, 0.05) <= 2 * whole


@pytest.mark.parametrize("power", [50, 99, 101, 170, 200, 323, 400])
def test_a_code_too_rare_for_floats_changes_nothing(power):
    """Its probability, and the square of that, may underflow; with and without it the bound is the same."""
    counts = {(z, s): 250 + 10 * z * s for z in range(2) for s in range(2)}
    with_it = ExactChannel(3, ((10**power, ((0, 10**power - 1), (2, 1))), (1, ((1, 1),))))
    plain, found = (
        information_bound(published(counts, c), published(counts, c), ["Z"], 1010, 0.05) for c in (COPY, with_it)
    )
    assert found == pytest.approx(plain, rel=0.02)
    lone = {(0, 1): 5, (1, 1): 5}
    bound = information_bound(published(counts, with_it), published(lone, with_it), ["Z"], 10, 0.05)
    assert 0 < bound <= 1


def test_nothing_to_tell():
    one = ExactChannel(1, ((1, ((0, 1),)), (1, ((0, 1),))))
    assert (
        information_bound(
            published({(0, 0): 5, (1, 1): 5}, one), published({(0, 0): 5, (1, 1): 5}, one), ["Z"], 10, 0.05
        )
        == 0
    )
    alone = published({(0, 0): 5, (0, 1): 5}, COPY)
    assert information_bound(alone, alone, ["Z"], 10, 0.05) == 0
