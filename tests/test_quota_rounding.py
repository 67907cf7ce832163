"""Whole numbers near fractions: every table of up to eight records, and random ones of all shapes.

Sums and bounds are computed here a second time, from the definitions alone.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from itertools import pairwise, product

import pytest

from choral.draw import quota_moves
from choral.draw.quota_moves import Floating, fraction_of
from choral.draw.quota_rounding import deviation_bound, nested, rounded
from choral.errors import ProblemError


def row_of(masses):
    denominator = math.lcm(*(m.denominator for m in masses))
    return denominator, tuple((y, int(m * denominator)) for y, m in enumerate(masses) if m)


def by_ranks(sizes, values, cuts):
    """A private channel: inside a value of z, cells share [0, 1) in order, and a code is a part of it cut at `cuts`."""
    ends = [F(0), *cuts, F(1)]
    start = dict.fromkeys(values, 0)
    total = {z: sum(n for n, v in zip(sizes, values, strict=True) if v == z) for z in set(values)}
    rows = []
    for n, z in zip(sizes, values, strict=True):
        low, high = (F(start[z] + more, max(1, total[z])) for more in (0, n))
        start[z] += n
        parts = [max(F(0), min(high, b) - max(low, a)) for a, b in pairwise(ends)]
        rows.append(row_of([p / (high - low) for p in parts] if n else [F(1)]))
    return rows


def check(sizes, rows, families, also=(), private=True):
    """Row sums exact, entries rounded down or up, sums over sets within the bound, shares within that of the product."""
    found = rounded(sizes, rows, families, also)
    assert found == rounded(list(sizes), list(rows), [list(f) for f in families], also)
    exact = [{y: F(size * n, d) for y, n in entries} for size, (d, entries) in zip(sizes, rows, strict=True)]
    codes = {y for row in exact for y in row}
    for size, mine, x in zip(sizes, found.counts, exact, strict=True):
        assert sum(mine.values()) == size
        assert set(mine) <= set(x)
        assert all(mine.get(y, 0) in (math.floor(x[y]), math.ceil(x[y])) for y in x)
    total = sum(sizes)
    for y in codes:
        bearers = sum(mine.get(y, 0) for mine in found.counts)
        if found.method == "flow":
            assert abs(bearers - sum(x.get(y, 0) for x in exact)) < 1
        for family in families:
            for z in set(family) - {None}:
                inside = [c for c, mine in enumerate(family) if mine == z]
                n = sum(found.counts[c].get(y, 0) for c in inside)
                assert abs(n - sum(exact[c].get(y, 0) for c in inside)) < found.bound
                if private and None not in family:
                    share = F(sum(sizes[c] for c in inside), total)
                    values = len({v for v, size in zip(family, sizes, strict=True)})
                    bound = deviation_bound(found.bound, share, values, found.method == "flow")
                    assert abs(n - share * bearers) < bound
    return found


def compositions(cells, most):
    return (sizes for sizes in product(range(most + 1), repeat=cells) if 0 < sum(sizes) <= most)


CUTS = [[F(1, 2)], [F(1, 3), F(2, 3)], [F(2, 7), F(3, 7), F(6, 7)]]


@pytest.mark.parametrize("cuts", CUTS, ids=len)
def test_every_table_of_eight_records_with_one_group_of_two_values_is_within_one_record(cuts):
    values = (0, 0, 1, 1)
    for sizes in compositions(4, 8):
        found = check(sizes, by_ranks(sizes, values, cuts), [values])
        assert (found.method, found.bound) == ("flow", 1)


def test_every_table_of_six_records_with_one_group_of_three_values_is_within_one_and_its_share():
    values = (0, 0, 1, 1, 2)
    for sizes in compositions(5, 6):
        assert check(sizes, by_ranks(sizes, values, CUTS[1]), [values]).bound == 1


def test_every_table_of_eight_records_with_two_groups_that_cross_is_below_three():
    """Codes of two bits' parity: x(c,y) = n(c) p(y) ± d, which is private about each bit and not about both."""
    bits = list(product((0, 1), repeat=2))
    families = [[a for a, _ in bits], [b for _, b in bits]]
    for sizes in compositions(4, 8):
        least = min(sizes)
        rows = []
        for n, (a, b) in zip(sizes, bits, strict=True):
            move = F(least * (1 if a == b else -1), 5 * n) if least else F(0)
            rows.append(row_of([F(1, 3) + move, F(1, 3) - move, F(1, 3)]))
        assert check(sizes, rows, families).bound == 3


def test_every_table_of_four_records_with_three_groups_that_cross_is_below_five():
    bits = list(product((0, 1), repeat=3))
    families = [[cell[i] for cell in bits] for i in range(3)]
    for sizes in compositions(8, 3):
        assert check(sizes, [row_of([F(1, 2), F(1, 3), F(1, 6)])] * 8, families).bound == 5


def some(draws, cells, codes, groups, values, most):
    """Sizes, a channel (private or not) and families of any shape: zero masses, empty cells, cells in no set."""
    rows = []
    for _ in range(cells):
        d = draws.choice([1, 2, 7, 60, 10**30 + 57])
        cuts = sorted(draws.randint(0, d) for _ in range(codes - 1))
        rows.append(
            (d, tuple((y, b - a) for y, (a, b) in enumerate(zip([0, *cuts], [*cuts, d], strict=True)) if b > a))
        )
    families = [
        [draws.choice([*range(values), *([None] if draws.random() < 0.2 else [])]) for _ in rows] for _ in range(groups)
    ]
    return [draws.randint(0, most) for _ in rows], rows, families


def test_random_shapes_keep_sums_and_bounds():
    draws = random.Random(1)
    methods = set()
    for _ in range(250):
        sizes, rows, families = some(
            draws, draws.randint(1, 10), draws.randint(1, 6), draws.randint(0, 4), draws.randint(1, 3), 9
        )
        also = [families.pop()] if len(families) > 2 else []
        methods.add(check(sizes, rows, families, also, private=False).method)
    assert methods == {"flow", "Beck-Fiala"}


def test_sums_of_nested_sets_are_all_within_one():
    """As for `sex | marital`: sets of both, inside sets of marital alone, inside all."""
    draws = random.Random(2)
    for _ in range(60):
        sizes, rows, _ = some(draws, 9, 4, 0, 1, 20)
        fine, coarse = [0, 0, 1, 2, 2, 3, 4, 4, None], [0, 0, 0, 1, 1, 1, None, None, None]
        found = check(sizes, rows, [fine], [coarse], private=False)
        assert (found.method, found.bound, found.also_near) == ("flow", 1, True)
        check(sizes, rows, [fine, coarse], private=False)


def test_families_that_make_the_same_sets_count_once():
    assert rounded([3, 4], [(2, ((0, 1), (1, 1)))] * 2, [[0, 1], [5, 2], [7, 7]], []).bound == 1
    assert nested([[0, None, 1], [0, 0, 1]]) is not None


def test_a_direction_whose_fractions_are_too_long_for_one_prime_is_lifted(monkeypatch):
    """With a small prime most combinations cannot be read off at once; the numbers must not depend on that."""
    draws = random.Random(3)
    given = [some(draws, 40, 6, 3, 3, 9) for _ in range(2)]
    expected = [rounded(*one, []) for one in given]
    monkeypatch.setattr(quota_moves, "PRIMES", (101, 2**31 - 1))
    lifted = []
    right = quota_moves._Basis._remainder
    monkeypatch.setattr(quota_moves._Basis, "_remainder", lambda *args: lifted.append(1) or right(*args))
    assert [rounded(*one, []) for one in given] == expected
    assert lifted


def test_an_unlucky_prime_is_noticed_and_the_next_one_gives_the_same(monkeypatch):
    """Modulo 2 and 3 many determinants vanish that do not in truth."""
    draws = random.Random(4)
    given = [some(draws, 30, 5, 3, 3, 9) for _ in range(3)]
    expected = [rounded(*one, []) for one in given]
    monkeypatch.setattr(quota_moves, "PRIMES", (2, 3, 2**31 - 1))
    for one, right in zip(given, expected, strict=True):
        found = rounded(*one, [])
        assert found.bound == right.bound
        check(*one, private=False)
    monkeypatch.setattr(quota_moves, "PRIMES", (2,))
    with pytest.raises(ProblemError, match="primes"):
        [rounded(*one, []) for one in given]


def test_too_many_sums_are_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(quota_moves, "MOST_SUMS", 3)
    floating = Floating({(0, 0): F(1, 2), (0, 1): F(1, 2)}, 4)
    for y in (0, 1):
        floating.add((0, y), "row", [("a", y)], [("b", y)])
    with pytest.raises(ProblemError, match="fewer codes"):
        floating.settle()


def test_fractions_are_read_off_remainders():
    prime = 2**31 - 1
    for a, b in [(1, 1), (-3, 7), (22000, 31), (0, 1)]:
        assert fraction_of(a * pow(b, -1, prime) % prime, prime) == F(a, b)
