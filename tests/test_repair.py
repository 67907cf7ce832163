"""Repair: whatever floats go in, what comes out is private in integers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints, joints

import choral as ch
from choral.design.disclose import certified
from choral.errors import SolverError
from choral.exact import weighted
from choral.exact.repair import MANY_STATES, UNIT, _Equations, _largest, repair
from choral.exact.weighted import Weights, weighted_sums
from choral.problem.packed import PackedRows
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.problem.solution import Solution
from choral.proofs.group import GroupBound


def repaired(d, channel):
    solution = Solution(repair(d.problem, channel), GroupBound.best(d.problem), "repaired")
    return certified(d.law, d.problem, solution)


@settings(deadline=None, max_examples=60)
@given(st.one_of(joints(), full_joints()), st.sampled_from([0.0, 1e-15, 1e-9, 1e-3, 1.0]), st.integers(0, 2**32))
def test_every_float_channel_becomes_a_private_one(law, noise, seed):
    d = ch.disclose(law)
    rng = np.random.default_rng(seed)
    rough = d.channel * (1 - noise) + noise * rng.random(d.channel.shape)
    again = repaired(d, rough)
    assert exactly_private(again)
    assert again.verify()["verified"]
    assert again.information <= d.upper_bound + 1e-12


@pytest.mark.parametrize("law", [ch.examples.clinic(), ch.examples.noisy_copies(4), ch.examples.modular(3, 2)])
def test_little_is_lost(law):
    target = "diagnosis" if "diagnosis" in law.names else "W"
    d = ch.disclose(law, target)
    rng = np.random.default_rng(1)
    for noise, loss in ((1e-16, 1e-12), (1e-9, 1e-6), (1e-6, 1e-3)):
        again = repaired(d, d.channel + noise * rng.random(d.channel.shape))
        assert d.information - again.information < loss


def test_entries_that_have_no_room_are_made_by_mixing():
    """Every state has one code, so no entry can be lowered and none raised: only a mixture is private."""
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    rough = np.zeros((2, d.problem.size))
    rough[np.arange(d.problem.size) % 2, np.arange(d.problem.size)] = 1.0
    again = repaired(d, rough)
    assert exactly_private(again)
    assert again.codes == 2
    assert all(len(entries) == 2 for _, entries in again.exact_channel.rows)


@pytest.mark.parametrize("mass", [1e-3, 1e-12])
def test_a_code_that_loses_all_its_mass_is_left_out(mass):
    """One state alone has it, so the nearest private code on the states that may change is empty."""
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    rough = np.vstack([d.channel, np.zeros(d.problem.size)])
    rough[:, 0] *= 1 - mass
    rough[-1, 0] = mass
    again = repaired(d, rough)
    assert exactly_private(again)
    assert again.verify()["verified"]
    assert {y for _, entries in again.exact_channel.rows for y, _ in entries} == set(range(again.codes))
    assert again.codes == d.codes


@pytest.mark.parametrize("size", [10**15, 10**17, 10**30])
def test_a_dependence_that_floats_cannot_see(size):
    """Z is a fair coin but for two states, where it is off by 1/size: in floats the one equation is 0 = 0."""
    off = {1: 1, 2: -1}
    cells = {
        (w, x, z): (size + (1 if z else -1) * off.get(x, 0)) * (1 + (w + x) % 2)
        for w in range(2)
        for x in range(3)
        for z in range(2)
    }
    law = ch.Joint.from_counts(cells, names=["W", "X", "Z"])
    d = ch.disclose(law, "W", [("Z",)], ["X"], solver="sandwich")
    assert exactly_private(d)
    assert exactly_private(repaired(d, np.array([[0.9, 0.6, 0.1], [0.1, 0.4, 0.9]])))


def test_a_state_whose_only_code_is_too_rare_to_keep():
    law = ch.Joint.from_counts(
        {(0, 0, 0): 2**60, (0, 1, 1): 2**60, (1, 0, 1): 2**60, (1, 1, 0): 1}, names=["W", "X1", "X2"]
    )
    d = ch.disclose(law)
    rough = np.array(
        [[1.0 if state != (1, 0) else 0.0 for state in d.states], [float(state == (1, 0)) for state in d.states]]
    )
    assert exactly_private(repaired(d, rough))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_packed_rows_are_the_rows_that_were_packed(data):
    states, codes = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 4))
    numbers = st.integers(0, 2**62)
    table = np.array([[data.draw(numbers) for _ in range(codes)] for _ in range(states)], dtype=np.int64)
    others = data.draw(st.dictionaries(st.integers(0, states - 1), st.just((2**90, ((0, 2**90),)))))
    expected = [(2**62, tuple((y, n) for y, n in enumerate(row) if n)) for row in table.tolist()]
    expected = [others.get(s, row) for s, row in enumerate(expected)]
    rows = PackedRows(2**62, table, others)
    assert list(rows) == [rows[s] for s in range(states)] == expected
    assert rows[-1] == expected[-1]
    assert rows[:2] == expected[:2]
    assert len(rows) == states
    assert all(type(n) is int for _, entries in rows for _, n in entries)
    with pytest.raises(IndexError):
        rows[states]


def test_nonsense_is_refused():
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    for bad in (np.ones((2, 3)), np.full((2, 8), np.nan), np.zeros((2, 8))):
        with pytest.raises(SolverError):
            repair(d.problem, bad)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([1, 15, 16, 17, 64, 200]), st.integers(1, 3), st.integers(1, 40))
def test_sums_in_pieces_are_sums_of_integers(seed, bits, codes, states):
    """Whatever the sizes: also zeros, whole units, and rows at some of the states, with numbers of their own."""
    draw = random.Random(seed)
    grid = np.array([[draw.choice([0, 1, UNIT, draw.randrange(UNIT)]) for _ in range(codes)] for _ in range(states)])
    rows = []
    for _ in range(draw.randint(1, 4)):
        number = tuple(draw.choice([0, 2**bits - 1, draw.randrange(2**bits)]) for _ in range(states + 2))
        state = np.array(sorted(draw.sample(range(states), draw.randint(0, states))), dtype=np.int64)
        rows.append(Weights(state, np.array([draw.randrange(len(number)) for _ in state], dtype=np.int64), number))
    expected = [
        [
            sum(row.number[c] * int(grid[s, y]) for s, c in zip(row.state.tolist(), row.cell.tolist(), strict=True))
            for y in range(codes)
        ]
        for row in rows
    ]
    most = weighted.MOST_NUMBERS
    for numbers in (most, 5):
        weighted.MOST_NUMBERS = numbers
        try:
            assert weighted_sums(rows, grid) == expected
        finally:
            weighted.MOST_NUMBERS = most


def test_the_largest_sums_of_a_part_are_exact():
    """All pieces of all numbers as large as they can be, at as many states as are summed at once, and one more."""
    states = weighted.PART + 1
    grid = np.full((states, 1), UNIT - 1)
    every = np.arange(states)
    assert weighted_sums([Weights(every, every, (2**160 - 1,) * states)], grid) == [
        [states * (2**160 - 1) * (UNIT - 1)]
    ]


@settings(deadline=None, max_examples=40)
@given(st.one_of(joints(), full_joints()), st.integers(0, 2**32))
def test_residuals_of_many_states_are_those_of_few(law, seed):
    """Of groups that the states contain, and of others."""
    names = [name for name in law.names if name != "W"]
    for problem in (ch.disclose(law).problem, problem_of(law, Question("W", names[:1], names[1:] or names))):
        rng = np.random.default_rng(seed)
        exact, grid = _Equations(problem), rng.integers(0, UNIT, (problem.size, 2), endpoint=True)
        if exact.exact.rows:
            assert exact._residuals_of_many(grid) == exact.residuals(grid)


def test_the_largest_weights_are_found_in_order_among_many():
    weights = np.random.default_rng(1).permutation(3 * MANY_STATES).astype(float)
    assert _largest(weights, 300).tolist() == np.argsort(-weights)[:300].tolist()
