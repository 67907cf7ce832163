"""The largest leaks are the same ones, to the last bit, as where every one is computed exactly."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from laws import full_joints

import choral as ch
from choral.auditing import audit as audits
from choral.auditing.audit import audit
from choral.auditing.ranking import NEAR, Estimates, within_reach
from choral.release.leakage import Published


def table(seed, kind):
    """Seven used columns: drawn freely, or with copies of one another and a constant, so that many leaks are equal."""
    draw = random.Random(seed)
    counts = {}
    for _ in range(60):
        a, b, c = (draw.randrange(2) for _ in range(3))
        free = [draw.randrange(3) for _ in range(4)]
        rest = free if kind == "free" else [a, a, b, 0]
        cell = (a ^ b ^ (draw.random() < 0.1), a, b, c, *rest)
        counts[cell] = counts.get(cell, 0) + 1
    return ch.Joint.from_counts(counts, names=["W", *"abcdefg"])


def every_one(d):
    """The lists of an audit from all leaks, each computed exactly, as their definition says."""
    seen, columns = Published.of(d), d.law.names
    beside = [name for name in columns if name != "W"]
    leaks = {some: seen.leakage(some) for k in (1, 2, 3) for some in combinations(beside, k)}
    listed = []
    for k in (2, 3):
        found = []
        for chosen in combinations(beside, k):
            most = max(leaks[part].bits for j in range(1, k) for part in combinations(chosen, j))
            if not leaks[chosen].zero:
                found.append((leaks[chosen], max(0.0, leaks[chosen].bits - most)))
        listed += sorted(found, key=lambda one: (-one[1], -one[0].bits))[:10]
    groups = [group.columns for group in d.problem.groups]
    known = [seen.leakage(group, [name]) for group in groups for name in columns if name not in group]
    return listed, sorted((leak for leak in known if not leak.zero), key=lambda leak: -leak.bits)[:20]


@pytest.mark.parametrize("kind", ["free", "copies"])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_lists_are_those_of_all_leaks(seed, kind):
    d = ch.disclose(table(seed, kind), rel_tol=0.2)
    found = audit(d)
    together, knowing = every_one(d)
    assert [(one.leakage, one.excess) for one in found.together] == together
    assert list(found.knowing) == knowing
    assert len(together) == 20


def test_where_all_pairs_are_private_no_pair_is_listed():
    """Every estimate of a pair is within rounding of zero: integers say that each is zero."""
    d = ch.disclose(ch.examples.noisy_copies(6), order=2, rel_tol=0.5)
    assert d.information > 0
    found = audit(d)
    together, knowing = every_one(d)
    assert [(one.leakage, one.excess) for one in found.together] == together
    assert {len(one.leakage.about) for one in found.together} == {3}
    assert list(found.knowing) == knowing


@settings(deadline=None, max_examples=25)
@given(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))))
def test_an_estimate_is_nearer_than_it_says(law):
    d = ch.disclose(law)
    seen = Published.of(d)
    estimates = Estimates(seen)
    for k in range(1, len(law.names) + 1):
        for names in combinations(law.names, k):
            assert abs(estimates.bits(names) - seen.leakage(names).bits) < NEAR / 4


def test_few_are_computed_exactly(monkeypatch):
    """Of 21 pairs, 35 triples and 49 with a column known, only what can be listed and its parts."""
    asked = []
    exact = Published.leakage
    monkeypatch.setattr(Published, "leakage", lambda self, *a: asked.append(a) or exact(self, *a))
    monkeypatch.setattr(audits, "MOST_LISTED", 2)
    audit(ch.disclose(table(1, "free"), rel_tol=0.2))
    alone = 8 + 7  # each column once, and each protected group under the law
    assert len(asked) <= alone + 2 + (2 + 2 * 3) + 4


def test_what_is_just_below_the_last_one_stays_within_reach():
    assert within_reach([1.0, 0.5, 0.5 - NEAR / 2, 0.5 - 2 * NEAR, 0.7], 3) == [0, 1, 2, 4]
    assert within_reach([0.0, 1e-17, -1e-17, 0.0], 2) == [0, 1, 2, 3]
    assert within_reach([], 2) == []
