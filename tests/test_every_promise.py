"""A sample of the random laws with every kind of promise and utility that `bench/promises.py` checks by the thousand."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
from every_promise import Case, entropy


@pytest.mark.parametrize("first", range(0, 48, 12))
def test_every_kind_of_promise_and_utility_is_kept_and_optimal(first):
    for seed in range(first, first + 12):
        Case(seed).checked()


def test_the_second_derivation_by_hand():
    """Z, V fair and W their sum: a bit with each private, and with Z hidden from who knows W; none from who knows V."""
    case = Case(0)
    case.law = {(z ^ v, z, v, 0): F(1) for z in range(2) for v in range(2)}
    case.also, case.utility, case.itself, case.use = [], "bits", False, ["Z", "V"]
    case.states, case.prior = (
        [(z, v) for z in range(2) for v in range(2)],
        {(z, v): F(1) for z in range(2) for v in range(2)},
    )
    for protect, bits in ((["Z", "V"], 1), (["Z+V"], 0), (["Z", "Z | V"], 0), (["Z | W"], 1)):
        case.protect = protect
        assert case.optimum(entropy, F(1)) == bits
