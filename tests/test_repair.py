"""Repair: whatever floats go in, what comes out is private in integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints, joints

import choral as ch
from choral.disclosure import certified
from choral.errors import SolverError
from choral.exact.repair import repair
from choral.problem.solution import Solution
from choral.theory.bounds import group_bound


def repaired(d, channel):
    solution = Solution(repair(d.problem, channel), group_bound(d.problem), "repaired")
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


def test_nonsense_is_refused():
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    for bad in (np.ones((2, 3)), np.full((2, 8), np.nan), np.zeros((2, 8))):
        with pytest.raises(SolverError):
            repair(d.problem, bad)
