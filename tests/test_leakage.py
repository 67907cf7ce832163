"""What a code tells: exact, and able to find the leaks that the guarantee leaves open."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product

import flint
import pytest
from hypothesis import given, settings
from laws import full_joints

import choral as ch
from choral.errors import ProblemError
from choral.problem.solution import ExactChannel
from choral.release.leakage import Published


def by_entropies(disclosure, about, known=()):
    """I(about; Y | known) from four entropies at 300 bits: another formula, other arithmetic, and no weights shared."""
    law, problem = disclosure.law, disclosure.problem
    rows = dict(zip(problem.states, zip(*disclosure.exact, strict=True), strict=True))
    used = [law.position(name) for name in problem.columns]
    cells = {}
    for values, p in law.items():
        for y, share in enumerate(rows[tuple(values[i] for i in used)]):
            if share:
                cells[values, y] = p * share

    def entropy(names, with_code):
        where, sums = [law.position(name) for name in names], {}
        for (values, y), p in cells.items():
            key = tuple(values[i] for i in where), y if with_code else None
            sums[key] = sums.get(key, 0) + p
        return sum((-x * x.log() for x in (_arb(p) for p in sums.values())), flint.arb(0))

    with flint.ctx.workprec(300):
        nats = (
            entropy([*known, *about], False)
            - entropy(known, False)
            - entropy([*known, *about], True)
            + entropy(known, True)
        )
        return float(nats / flint.arb(2).log())


def _arb(p):
    return flint.arb(flint.fmpq(p.numerator, p.denominator))


@settings(deadline=None, max_examples=25)
@given(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))))
def test_every_leak_equals_the_difference_of_entropies(law):
    d = ch.disclose(law)
    published = Published.of(d)
    for about, known in product(law.names, [(), *((name,) for name in law.names)]):
        if about in known:
            continue
        found = published.leakage([about], known)
        expected = by_entropies(d, [about], known)
        assert found.bits == pytest.approx(expected, rel=1e-9, abs=1e-30)
        assert found.zero == (abs(expected) < 1e-60)
    for group in d.problem.groups:
        assert published.leakage(group.columns).zero
        assert published.leakage(group.columns).bits == 0


@pytest.mark.parametrize("digits", [3, 9, 15, 40])
def test_a_leak_far_below_rounding_is_found_and_measured(digits):
    """P(Y=1 | x) = 1/2 ± e: I(X;Y) = 1 - h(1/2 + e) = (2e² + 4e⁴/3 + …) / ln 2."""
    law = ch.Joint.from_counts({(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1}, names=["W", "X"])
    private = ch.disclose(law, use=["X"], protect=["X"])
    e = F(1, 10**digits)
    rows = tuple((2 * 10**digits, ((0, 10**digits - sign), (1, 10**digits + sign))) for sign in (2, -2))
    assert rows[0][1][1][1] == 2 * 10**digits * (F(1, 2) + e)
    leaking = Published(law, tuple(cell[1] for cell in law.cells), ExactChannel(2, rows))
    found = leaking.leakage(["X"])
    series = (2 * float(e) ** 2 + 4 / 3 * float(e) ** 4 + 32 / 15 * float(e) ** 6) / math.log(2)
    assert found.bits == pytest.approx(series, rel=1e-12)
    assert not found.zero
    assert found.guess_after - found.guess_before == e
    assert Published.of(private).leakage(["X"]).zero


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_one_innocent_value_does_not_hide_the_others(order):
    """P(Y=1 | x) = 1/4, 3/4 and 1/2: the third value alone says nothing."""
    rows = [(4, ((0, 3), (1, 1))), (4, ((0, 1), (1, 3))), (2, ((0, 1), (1, 1)))]
    law = ch.Joint.from_counts({(0,): 1, (1,): 1, (2,): 1}, names=["X"])
    found = Published(law, (0, 1, 2), ExactChannel(2, tuple(rows[i] for i in order))).leakage(["X"])
    quarter = 1 + 0.25 * math.log2(0.25) + 0.75 * math.log2(0.75)
    assert not found.zero
    assert found.bits == pytest.approx(2 / 3 * quarter, rel=1e-12)


def test_who_knows_the_target_learns_what_was_protected():
    """W in use, W ~ 1/3, X through BSC(.1): I(X;W) = 0.479 but I(X;W,Y) = 0.726."""
    law = ch.examples.noisy_copies(1)
    d = ch.disclose(law, "W", protect=["X1"], use=["W", "X1"])
    published = Published.of(d)
    assert published.leakage(["X1"]).zero
    more = published.leakage(["X1"], ["W"])
    assert law.mutual_information("X1", "W") == pytest.approx(0.479, abs=5e-4)
    assert law.mutual_information("X1", "W") + more.bits == pytest.approx(0.726, abs=5e-4)
    assert more.bits == pytest.approx(by_entropies(d, ["X1"], ["W"]), rel=1e-12)
    assert more.guess_after > more.guess_before == F(9, 10)


def test_knowing_one_sample_undoes_a_sum():
    published = Published.of(ch.disclose(ch.examples.xor()))
    assert published.leakage(["X1"]).zero
    assert published.leakage(["X1"], ["X2"]).bits == pytest.approx(1, rel=1e-14)
    assert published.leakage(["X1"], ["X2"]).guess_after == 1
    assert published.leakage(["X1", "X2"]).bits == pytest.approx(1, rel=1e-14)
    pair = published.leakage(["X1", "X2"])
    assert (pair.guess_before, pair.guess_after) == (F(1, 4), F(1, 2))


def test_pairs_leak_unless_they_are_protected():
    clinic, pair = ch.examples.clinic(), ["pressure", "glucose"]
    alone = Published.of(ch.disclose(clinic, "diagnosis"))
    assert alone.leakage(["pressure"]).zero
    assert alone.leakage(pair).bits > 0.01
    pairs = Published.of(ch.disclose(clinic, "diagnosis", order=2))
    assert all(pairs.leakage(p).zero for p in (pair, ["pressure", "smoker"], ["glucose", "smoker"]))
    assert not pairs.leakage(["pressure", "glucose", "smoker"]).zero
    assert pairs.leakage(["pressure"], ["glucose"]).zero


def test_protecting_a_column_with_another_resists_who_knows_the_other():
    law = ch.examples.four_fair_bits()
    open_ = Published.of(ch.disclose(law, "W", protect=["X1"], use=["X1", "X2"]))
    assert open_.leakage(["X1"], ["X2"]).bits == pytest.approx(1, rel=1e-14)
    closed = Published.of(ch.disclose(law, "W", protect=[("X1", "X2")], use=["X1", "X2"]))
    assert closed.leakage(["X1"], ["X2"]).zero


def test_a_proxy_that_is_not_protected_is_found():
    """W = X1 ⊕ X2 is told whole; V is W through BSC(.1), so the code tells 1 - h(.1) bits about V."""
    cells = {(a ^ b, a, b, a ^ b ^ e): 1 + 8 * (e == 0) for a, b, e in product((0, 1), repeat=3)}
    law = ch.Joint.from_counts(cells, names=["W", "X1", "X2", "V"])
    published = Published.of(ch.disclose(law, "W", protect=["X1", "X2"], use=["X1", "X2"]))
    found = published.leakage(["V"])
    assert found.bits == pytest.approx(1 + 0.1 * math.log2(0.1) + 0.9 * math.log2(0.9), rel=1e-12)
    assert (found.guess_before, found.guess_after) == (F(1, 2), F(9, 10))


def test_another_law_under_the_same_channel():
    """The XOR of two bits that are not fair: I(X1; X1 ⊕ X2) = h(X1 ⊕ X2) - h(X2)."""
    d = ch.disclose(ch.examples.xor())
    other = ch.Joint.from_counts(
        {(a ^ b, a, b): 1 + 2 * b for a, b in product((0, 1), repeat=2)}, names=["W", "X1", "X2"]
    )
    published = Published.of(d, other)
    h = -0.25 * math.log2(0.25) - 0.75 * math.log2(0.75)
    assert published.leakage(["X1"]).bits == pytest.approx(1 - h, rel=1e-12)
    assert published.leakage(["X2"]).zero


def test_records_without_a_state_need_a_rule():
    law = ch.Joint.from_counts({(0, 0, 0): 1, (1, 0, 1): 1, (1, 1, 0): 2}, names=["W", "X1", "X2"])
    d = ch.disclose(law)
    more = ch.Joint.from_counts({(0, 0, 0): 1, (0, 1, 1): 1}, names=["W", "X1", "X2"])
    with pytest.raises(ProblemError, match="1 of 2 cells"):
        Published.of(d, more)
    assert Published.of(d, more, unseen=True).leakage(["X1"]).bits == pytest.approx(1)


def test_a_law_without_columns_is_refused():
    d = ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 4))
    with pytest.raises(ProblemError, match="Exchangeable"):
        Published.of(d)
