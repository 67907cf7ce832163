"""The fewest codes: joins that are best by trying all of them, and what a default fit may lose."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import choral as ch
from choral.describe.entropy import weighted_entropies
from choral.solvers.fewer_codes import _common, _sums, _ways

MASSES = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).filter(any), min_size=1, max_size=6)


def partitions(n):
    """All ways to put 0 … n-1 into classes, as numbers of classes in the order in which they appear."""
    ways = [[0]]
    for _ in range(n - 1):
        ways = [[*way, c] for way in ways for c in range(max(way) + 2)]
    return [np.array(way) for way in ways]


def cost(way, law):
    return float(weighted_entropies(_sums(way, law)).sum())


@given(MASSES)
def test_no_way_to_join_codes_is_better(masses):
    law = np.array(masses, dtype=float) / np.sum(masses)
    every = partitions(len(law))
    ways = list(_ways(law, 6))
    assert len(ways) == len(law)
    for codes, way in enumerate(ways, 1):
        assert way.max() < codes
        assert cost(way, law) == pytest.approx(min(cost(w, law) for w in every if w.max() < codes), abs=1e-12)


@given(MASSES, st.floats(0, 0.6))
def test_no_code_is_too_rare_unless_there_is_one(masses, rarest):
    law = np.array(masses, dtype=float) / np.sum(masses)
    for way in _ways(law, 6):
        common = _common(way, law, rarest)
        assert set(common) == set(range(common.max() + 1))
        assert common.max() == 0 or _sums(common, law).sum(axis=1).min() >= rarest
        assert all(len(set(common[way == y])) == 1 for y in way), "codes are joined, not cut"


def people(n=4000):
    draw = random.Random(3)
    rows = []
    for _ in range(n):
        age, schooling = draw.randrange(30), draw.randrange(12)
        rows.append({"W": int(draw.random() < (schooling + age / 10) / 15), "age": age, "schooling": schooling})
    return rows


def test_a_default_fit_of_one_group_loses_a_percent_of_the_best_at_most():
    release = ch.fit(people(), "W", ["age"], ["age", "schooling"], min_count=1)
    best = release.upper_bound  # attained: the rank within the group
    assert 0.99 * best <= release.information < best
    assert release.codes <= 16
    assert release.verify()["verified"]
    with_one_less = ch.fit(people(), "W", ["age"], ["age", "schooling"], codes=release.codes - 1, min_count=1)
    assert with_one_less.information < 0.99 * best
