"""The schemes for independent samples: exactly private on small cases, the paper's numbers and their corrections, data."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from fractions import Fraction as F
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from scipy.stats import chi2

import choral as ch
from choral.errors import ColumnError, LawError, TooLargeError
from choral.schemes import draws
from choral.schemes.draws import ExactRows, LongArcs
from choral.schemes.law import DeclaredLaw
from choral.schemes.masked import MaskedScheme, arc_units, arc_weights, arcs

S = ch.schemes
COIN = DeclaredLaw.bernoulli(F(3, 10), "an invented coin, tossed independently")
UNEQUAL = DeclaredLaw(
    [{"a": F(2, 7), "b": F(5, 7)}, [F(1, 6), F(0), F(1, 3), F(1, 2)], [F(3, 11), F(1, 11), F(7, 11)]], "invented"
)
BITS = DeclaredLaw([[F(3, 10), F(7, 10)], [F(1, 7), F(6, 7)], [F(5, 9), F(4, 9)], [F(1, 2), F(1, 2)]], "invented")
FALSE_ALARM = 1e-9
"""Of each statistical test here; there are about ten."""


def codes_of(J):
    return [name for name in J.names if name.startswith("Y")]


def samples_of(J):
    return [name for name in J.names if name.startswith("X")]


def leaks(J, groups):
    """The groups of samples that the codes are not independent of, decided in integers."""
    return [group for group in groups if not J.independent(list(group), codes_of(J))]


def told(J):
    return J.mutual_information(samples_of(J), codes_of(J))


def agrees(seen, expected):
    """Whether counts agree with expected counts at the stated false-alarm rate; cells that cannot occur must not."""
    assert all(expected.get(key, 0) > 0 for key in seen)
    statistic = sum((seen.get(key, 0) - e) ** 2 / e for key, e in expected.items() if e)
    freedom = sum(e > 0 for e in expected.values()) - 1
    return statistic < chi2.isf(FALSE_ALARM, freedom) if freedom else statistic < 1e-9


# ---- numbers: those of the paper, and corrected ones ---------------------------------------------------------------


@pytest.mark.parametrize(("k", "rate"), [(2, 0.399), (3, 0.522), (4, 0.597)])
def test_blocks_per_new_sample(k, rate):
    assert round(S.blocks(COIN, k).information(k) / (k - 1), 3) == rate


def test_windows_of_two():
    scheme = S.blocks(COIN, 2)
    assert [round(scheme.information(n), 3) for n in (4, 8)] == [1.196, 2.790]


def test_uniformise_and_the_formula_of_the_paper_below_it():
    scheme = S.uniformise(COIN)
    assert [round(scheme.information(n), 3) for n in (3, 4, 8)] == [0.412, 0.721, 2.186]
    assert [round(S.paper_formula(F(3, 10), n), 3) for n in (3, 4, 8)] == [0.319, 0.478, 1.116]
    assert scheme.information(2) == pytest.approx(S.paper_formula(F(3, 10), 2), abs=1e-12)
    for q in (F(1, 20), F(1, 5), F(2, 5)):
        law = DeclaredLaw.bernoulli(q, "invented")
        assert all(S.paper_formula(q, n) < S.uniformise(law).information(n) for n in (3, 4, 6))
    fair = DeclaredLaw.bernoulli(F(1, 2), "fair")
    assert S.paper_formula(F(1, 2), 5) == pytest.approx(S.uniformise(fair).information(5)) == 4


def test_rotation_in_bits():
    values = {b: round(S.rotation(COIN, b).information(4), 3) for b in (2, 3, 4, 5, 10)}
    assert values == {2: 0.721, 3: 1.439, 4: 1.049, 5: 0.896, 10: 1.178}
    assert [round(S.rotation(COIN, b).information(8), 3) for b in (3, 10)] == [4.224, 4.079]
    assert S.best_cells(COIN, 4, 10).b == 3


def test_two_cells_are_uniformise():
    assert S.rotation(BITS, 2).information() == pytest.approx(S.uniformise(BITS).information(), abs=1e-12)


def test_windows_of_three_that_move_by_one_leak():
    J = S.leaking_windows_example()
    assert not leaks(J.marginal("X1, X2, X3, X4, Y1"), [[x] for x in samples_of(J)])
    assert len(leaks(J, [["X1"], ["X2"], ["X3"], ["X4"]])) == 4
    assert round(J.mutual_information("X2", "Y1, Y2"), 3) == 0.154
    assert round(J.mutual_information("X1", "Y1, Y2"), 3) == 0.112
    fair = S.leaking_windows_example(F(1, 2))
    assert not leaks(fair, [["X1"], ["X2"], ["X3"], ["X4"]])


# ---- privacy, in integers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("b", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("law", [UNEQUAL, BITS, DeclaredLaw([0.3, 0.45, 0.25], "floats are what they are")])
def test_rotation_tells_nothing_about_one_sample(law, b):
    J = S.rotation(law, b).joint(3 if law.n is None else min(law.n, 3) if law is UNEQUAL else law.n)
    assert not leaks(J, [[x] for x in samples_of(J)])
    assert told(J) > 0.01


@pytest.mark.parametrize("law", [UNEQUAL, BITS])
@pytest.mark.parametrize("b", [2, 3, 5])
def test_uniformise_tells_nothing_about_one_sample(law, b):
    J = S.uniformise(law, b).joint()
    assert len(codes_of(J)) == law.n - 1
    assert not leaks(J, [[x] for x in samples_of(J)])


@pytest.mark.parametrize(("law", "b", "n"), [(UNEQUAL, 5, 3), (COIN, 5, 3), (COIN, 7, 3)])
def test_coalitions_of_two(law, b, n):
    J = S.coalition(law, b, 2).joint(n)
    assert not leaks(J, combinations(samples_of(J), 2))
    assert leaks(J, [samples_of(J)])


def test_coalitions_of_three():
    law = DeclaredLaw([[F(2, 7), F(5, 7)]] * 2 + [[F(3, 11), F(8, 11)], [F(1, 2), F(1, 2)]], "invented")
    J = S.coalition(law, 5, 3).joint()
    assert not leaks(J, combinations(samples_of(J), 3))
    assert leaks(J, [samples_of(J)])


@pytest.mark.parametrize(("k", "b"), [(1, 3), (2, 3), (3, 2), (4, 2)])
def test_modular_windows(k, b):
    J = S.modular(BITS, b, k).joint()
    names = samples_of(J)
    assert not leaks(J, [names[i : i + k] for i in range(len(names) - k + 1)])
    if k < 4:
        assert leaks(J, [["X1", names[k]]])


@pytest.mark.parametrize(("law", "k"), [(UNEQUAL, 2), (BITS, 2), (BITS, 3), (BITS, 4)])
def test_blocks_tell_nothing_about_one_sample(law, k):
    scheme = S.blocks(law, k)
    J = scheme.joint()
    assert not leaks(J, [[x] for x in samples_of(J)])
    assert told(J) == pytest.approx(scheme.information(), abs=1e-9)


def test_five_samples_in_blocks_of_three():
    scheme = S.blocks(COIN, 3)
    J = scheme.joint(5)
    assert codes_of(J) == ["Y1", "Y2"]
    assert not leaks(J, [[x] for x in samples_of(J)])
    assert told(J) == pytest.approx(2 * scheme.information(3), abs=1e-9)


def test_continuous_bins():
    scheme = S.continuous.from_quantiles(8, lambda u: u, lambda u: -math.log1p(-u), "uniform, exponential")
    J = scheme.joint()
    assert J.independent("X1", "Y")
    assert J.independent("X2", "Y")
    assert J.mutual_information("X1, X2", "Y") == pytest.approx(scheme.information()) == 3


def test_random_subsets_are_private_and_fade():
    means = []
    for n in (3, 4, 5, 6):
        law = ch.examples.bernoulli(F(3, 10), n)
        states = [x for x, _ in law.items()]
        found = [S.random_subsets(law, 60, seed) for seed in range(3)]
        for code in found[0].codes:
            ones = [sum(c for x, c in zip(states, code, strict=True) if x[i]) for i in range(n)]
            assert all(one == F(3, 10) * sum(code) for one in ones)
        assert [sum(column) for column in zip(*found[0].codes, strict=True)] == [p for _, p in law.items()]
        means.append(sum(f.information for f in found) / 3 / n)
    assert means[0] > means[2] > means[3]


def told_by(points, n, q):
    """I(X;Y) when these points are taken out of the law in turn, from the joint law of (X, Y) written out."""
    rest = {x: math.prod(q if a else 1 - q for a in x) for x in product((0, 1), repeat=n)}
    prior, codes = dict(rest), []
    for point in points:
        often = min(rest[x] / t for x, t in point.items())
        codes.append({x: often * t for x, t in point.items()})
        for x, mass in codes[-1].items():
            rest[x] -= mass
    codes.append(rest)
    return math.fsum(
        float(m) * math.log2(m / (prior[x] * sum(code.values()))) for code in codes for x, m in code.items() if m
    )


def test_the_mean_of_random_subsets_is_that_over_all_groups():
    """Three samples, one group: all 70 groups, each solved by Cramer's rule. False alarm: four standard errors, 6e-5."""
    q, n = F(3, 10), 3

    def det(rows):
        return (
            sum((-1) ** j * a * det([r[:j] + r[j + 1 :] for r in rows[1:]]) for j, a in enumerate(rows[0]))
            if rows
            else 1
        )

    every = []
    for group in combinations(product((0, 1), repeat=n), n + 1):
        rows = [[1] * (n + 1), *([x[i] for x in group] for i in range(n))]
        right = [1, q, q, q]
        whole = det(rows)
        if not whole:
            every.append(0.0)
            continue
        t = [det([[*r[:j], b, *r[j + 1 :]] for r, b in zip(rows, right, strict=True)]) / whole for j in range(n + 1)]
        points = [{x: m for x, m in zip(group, t, strict=True) if m}] if min(t) >= 0 else []
        every.append(told_by(points, n, q))
    found = S.random_subsets_mean(COIN, n, tries=1, runs=2000, seed=5)
    assert len(every) == 70
    assert abs(found.value - sum(every) / 70) < 4 * found.standard_error
    assert 0 < found.standard_error < 0.02


def test_one_choice_of_groups_is_within_the_bound_for_every_choice():
    for n, tries in ((3, 5), (5, 60), (6, 200)):
        joint = ch.examples.bernoulli(F(3, 10), n)
        found = S.random_subsets(joint, tries, seed=2)
        *points, _ = sorted(sum(code) for code in found.codes)
        assert all(p <= (n + 1) * F(7, 10) ** n for p in points)
        assert found.information <= S.random_subsets_at_most(COIN, n, tries)


def test_the_bound_on_random_subsets_is_the_largest_entropy_of_the_codes():
    """K codes of equal mass, μ together, and the rest: H(Y), where μ = K·(n+1)·0.7ⁿ."""
    for n, tries in ((30, 50), (40, 7), (60, 1)):
        mass = float((n + 1) * F(7, 10) ** n)
        codes = [mass] * tries + [1 - tries * mass]
        expected = math.fsum(-p * math.log2(p) for p in codes)
        assert S.random_subsets_at_most(COIN, n, tries) == pytest.approx(expected, rel=1e-9)
    assert S.random_subsets_at_most(COIN, 4, 50) == pytest.approx(math.log2(51))
    bounds = [S.random_subsets_at_most(COIN, n, 50) for n in (50, 100, 1000, 10_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert 0 < bounds[-1] < 1e-300


def test_groups_of_samples_are_processed_jointly_as_tuples():
    """Two dependent bits in each group, groups independent: each group is one sample, and protected whole."""
    law = S.DeclaredLaw({(0, 0): F(1, 2), (0, 1): F(1, 10), (1, 0): F(1, 10), (1, 1): F(3, 10)}, "measured in pairs")
    for scheme in (
        S.rotation(law, 10),
        S.blocks(law, 2),
        S.uniformise(law),
        S.coalition(law, 5, 2),
        S.modular(law, 10, 2),
    ):
        J = scheme.joint(3)
        assert leaks(J, [("X1",), ("X2",), ("X3",)]) == []
        assert len(scheme.encode([(0, 1), (1, 1), (0, 0)])) == len(codes_of(J))


@pytest.mark.parametrize(
    ("marginals", "b", "n"),
    [
        ([F(1, 2)] * 2, 2, 4),
        ([F(1, 2)] * 2, 6, 5),
        ([F(1, 4), F(1, 4), F(1, 2)], 8, 4),
        ([[F(1, 4), F(1, 4), F(1, 2)], [F(1, 2), F(1, 2)], [F(3, 8), F(3, 8), F(1, 4)]], 8, 3),
        ([F(49, 100), F(21, 100), F(21, 100), F(9, 100)], 100, 2),
    ],
)
def test_the_closed_form_of_whole_arcs(marginals, b, n):
    """Against the same information by taking samples in one after another, and from the joint law where that is small."""
    scheme = S.rotation(S.DeclaredLaw(marginals, "made up"), b)
    assert scheme.information(n) == pytest.approx(MaskedScheme.information(scheme, n), abs=1e-12)
    if b < 8:
        J = scheme.joint(n)
        assert scheme.information(n) == pytest.approx(
            J.mutual_information([f"X{i + 1}" for i in range(n)], codes_of(J)), abs=1e-9
        )


# ---- information has a second derivation -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_information_is_that_of_the_exact_channel(seed):
    random = Random(seed)
    n = 3
    marginals = []
    for _ in range(n):
        weights = [random.randint(0, 9) for _ in range(random.randint(2, 3))]
        weights[0] += 1
        marginals.append([F(w, sum(weights)) for w in weights])
    law = DeclaredLaw(marginals, "invented")
    for scheme in (S.rotation(law, 4), S.uniformise(law, 3), S.modular(law, 3, 2), S.coalition(law, 5, 2)):
        exact = scheme.information()
        assert exact == pytest.approx(told(scheme.joint()), abs=1e-9)
        low, high = scheme.bracket()
        assert low - 1e-9 <= exact <= high + 1e-9


def test_an_estimate_agrees_within_six_standard_errors():
    for scheme in (S.rotation(COIN, 4), S.uniformise(COIN), S.coalition(COIN, 7, 2), S.modular(COIN, 3, 2)):
        estimate = scheme.estimate(5, draws=400)
        assert 0 < estimate.standard_error < 0.1
        assert abs(estimate.value - scheme.information(5)) < 6 * estimate.standard_error


def test_many_samples_and_the_limit_per_sample():
    scheme = S.rotation(COIN, 10)
    assert scheme.of_one() == pytest.approx(COIN.marginal(0).entropy())
    assert scheme.information(200) / 200 == pytest.approx(COIN.marginal(0).entropy(), abs=0.02)
    with pytest.raises(TooLargeError, match=r"estimate\(\)"):
        S.rotation(UNEQUAL_MANY, 7).information()


UNEQUAL_MANY = DeclaredLaw([[F(i, 97), F(97 - i, 97)] for i in range(20, 45)], "invented")


def test_arcs_are_exactly_uniform():
    for law, b in product((COIN, UNEQUAL, BITS), (2, 3, 5, 10, 64)):
        for marginal in law.distinct:
            rows = arcs(marginal, b)
            assert [sum(row.get(s, 0) for row in rows) for s in range(b)] == [F(1, b)] * b
            assert tuple(sum(row.values(), F(0)) for row in rows) == marginal.p


# ---- draws ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [5, 16])
def test_every_word_together_gives_exactly_the_row(monkeypatch, bits):
    """All words, and all that can follow a tie: the mass of each value is its probability, as fractions."""
    row = {3: F(1, 7), 5: F(2, 7), 6: F(1, 70), 9: F(39, 70)}
    monkeypatch.setattr(draws, "SHORT", bits)
    rows = ExactRows([row])
    mass = Counter()
    ties = 0
    for word, value in enumerate(rows._table.tolist()):
        if value != rows.tie:
            mass[value] += F(1, 2**bits)
            continue
        ties += 1
        for rest in range(70):
            monkeypatch.setattr(draws.secrets, "randbelow", lambda total, rest=rest: rest if total == 70 else 1 / 0)
            mass[rows._settle(0, word)] += F(1, 70 * 2**bits)
    assert mass == row
    assert 2 <= ties <= 3


def test_long_words_that_tie(monkeypatch):
    """A word that holds a threshold is settled by its overlaps, and the words beside it are not."""
    monkeypatch.setattr(draws, "MOST_TABLES", 0)
    rows = ExactRows([{0: F(1, 3), 1: F(2, 3)}, {0: F(1, 2), 1: F(1, 2)}])
    assert rows.bits == 64
    word = 2**64 // 3
    words = np.array([word - 1, word, word + 1, 2**63 - 1, 2**63], dtype=np.uint64)
    out = np.empty(5, dtype=rows.dtype)
    rows._search(np.array([0, 0, 0, 1, 1]), words, out)
    assert out.tolist() == [0, rows.tie, 1, 0, 1]
    settled = Counter()
    for rest in range(3):
        monkeypatch.setattr(draws.secrets, "randbelow", lambda total, rest=rest: rest)
        settled[rows._settle(0, word)] += 1
    assert settled == {0: 1, 1: 2}  # 2^64 / 3 = word + 1/3


@pytest.mark.parametrize("tables", [0, 64])
def test_bulk_draws(monkeypatch, tables):
    monkeypatch.setattr(draws, "MOST_TABLES", tables)
    rows = [{0: F(1, 3), 4: F(2, 3)}, {1: F(1, 1000), 2: F(499, 1000), 300: F(1, 2)}]
    n = 10**6
    drawn = ExactRows(rows).draw(np.arange(n) % 2)
    for i, row in enumerate(rows):
        seen = Counter(drawn[i::2].tolist())
        assert agrees(seen, {value: float(p) * n / 2 for value, p in row.items()})


@pytest.mark.parametrize(
    ("scheme", "data"),
    [
        (S.rotation(UNEQUAL, 3), ["b", 2, 0]),
        (S.uniformise(UNEQUAL, 3), ["a", 3, 2]),
        (S.coalition(UNEQUAL, 5, 2), ["b", 0, 1]),
        (S.modular(UNEQUAL, 3, 2), ["b", 2, 0]),
        (S.blocks(UNEQUAL, 2), ["a", 2, 2]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_encode_follows_the_exact_channel(scheme, data):
    J = scheme.joint().given(**{f"X{i}": x for i, x in enumerate(data, start=1)})
    draws = 8000
    seen = Counter(tuple(scheme.encode(data).tolist()) for _ in range(draws))
    assert agrees(seen, {y: float(p) * draws for y, p in J.items()})


@pytest.mark.parametrize("b", [3, 10, 300])
def test_a_large_rotation(b):
    """One turn explains every code; pairs of codes have the frequencies that the exact law gives them."""
    n = 400_000
    data = np.zeros(n, dtype=np.int64)
    data[::3] = 1
    scheme = S.rotation(COIN, b)
    code = scheme.encode(data)
    assert code.dtype.itemsize <= 2
    channel = scheme.cell_channel()
    turns = [
        q for q in range(b) if all(channel[x][(int(y) - q) % b] > 0 for x, y in zip(data[:3000], code, strict=False))
    ]
    assert turns
    fits = []
    for q in turns:
        seen = [Counter(((code[data == x].astype(np.int64) - q) % b).tolist()) for x in (0, 1)]
        sizes = [int((data == x).sum()) for x in (0, 1)]
        possible = all(channel[x][s] > 0 for x in (0, 1) for s in seen[x])
        fits.append(
            possible
            and all(agrees(seen[x], {s: float(p) * sizes[x] for s, p in enumerate(channel[x])}) for x in (0, 1))
        )
    assert sum(fits) == 1


def test_a_stream_has_one_secret():
    scheme = S.rotation(COIN, 10)
    data = np.array([0, 1] * 5000)
    code = np.concatenate(list(scheme.stream(np.array_split(data, 7))))
    arc = {0: set(range(7)), 1: {7, 8, 9}}
    turns = [q for q in range(10) if all((int(y) - q) % 10 in arc[int(x)] for x, y in zip(data, code, strict=True))]
    assert len(turns) == 1
    with pytest.raises(LawError, match="declares 4"):
        list(S.rotation(BITS, 3).stream([[0, 1], [1]]))
    with pytest.raises(LawError, match="declares 4"):
        list(S.rotation(BITS, 3).stream([[0, 1], [1, 1, 1]]))


def test_unequal_marginals_in_bulk():
    n = 60_000
    law = DeclaredLaw([[F(3, 10), F(7, 10)], [F(1, 5), F(4, 5)]] * (n // 2), "invented")
    scheme = S.rotation(law, 10)
    code = scheme.encode(np.zeros(n, dtype=int)).astype(int)
    fitting = [q for q in range(10) if set((code[::2] - q) % 10) == {0, 1, 2} and set((code[1::2] - q) % 10) == {0, 1}]
    assert len(fitting) == 1


def test_secrets_come_from_the_system(monkeypatch):
    monkeypatch.setattr(draws.secrets, "randbelow", lambda total: 0)
    monkeypatch.setattr(draws.os, "urandom", bytes)
    assert S.rotation(COIN, 10).encode([0, 1, 0]).tolist() == [0, 7, 0]
    monkeypatch.setattr(draws.secrets, "randbelow", lambda total: 4)
    assert S.rotation(COIN, 10).encode([0, 1, 0]).tolist() == [4, 1, 4]


def test_a_coalition_of_a_thousand(monkeypatch):
    """Long words, and the masks of many places: with known secrets every code lies in the arc of its value."""
    scheme = S.coalition(COIN, 1009, 3)
    data = [int(i % 4 == 0) for i in range(1000)]
    monkeypatch.setattr(draws.secrets, "randbelow", lambda total: 5)
    code = scheme.encode(data)
    channel = scheme.cell_channel()
    assert all(
        channel[x][(int(y) - 5 - 5 * i - 5 * i * i) % 1009] for i, (x, y) in enumerate(zip(data, code, strict=True), 1)
    )


def test_long_arcs_are_those_of_the_list():
    """Every unit of every arc falls into the cell that owns it: as many into each as the list says, so draws are exact."""
    for marginal in (*COIN.distinct, *UNEQUAL.distinct):
        for b in (2, 5, 12):
            units, (rows, _) = arc_units(marginal, b), arc_weights(marginal, b)
            drawn = LongArcs(units, b)
            for number, ((left, length, cell), row) in enumerate(zip(units, rows, strict=True)):
                assert Counter((left + u) // cell for u in range(length)) == row
                assert (int(drawn.last[number]) + 1) % (length or 1) == 0  # whole multiples of the length are accepted
                assert int(drawn.last[number]) + length >= 2**64 - 1


def test_long_arcs_draw_again_above_the_last_multiple(monkeypatch):
    length = 3 << 60
    drawn = LongArcs([(0, length, 1 << 60)], 3)
    words = [
        np.array([2**64 - 1, 5 << 60, length], dtype="<u8"),
        np.array([length - 1], dtype="<u8"),
    ]
    monkeypatch.setattr(draws.os, "urandom", lambda count: words.pop(0).tobytes())
    assert drawn.draw(np.zeros(3, dtype=np.int64)).tolist() == [2, 2, 0]
    assert words == []


def test_long_arcs_are_uniform_on_the_circle():
    """A rotation of 4099 cells, in sixteen bins by their exact masses."""
    scheme = S.rotation(COIN, 4099)
    assert isinstance(scheme._rows, LongArcs)
    for x, row in enumerate(arc_weights(COIN.marginal(0), 4099)[0]):
        n = 200_000
        seen = Counter((scheme._rows.draw(np.full(n, x, dtype=np.int64)) // 257).tolist())
        expected = Counter()
        for s, weight in row.items():
            expected[s // 257] += n * weight / sum(row.values())
        assert agrees(seen, expected)


def test_what_a_cell_tells_without_listing_cells():
    for law in (COIN, UNEQUAL, BITS):
        for marginal in law.distinct:
            for b in (2, 3, 7, 10, 77):
                scheme = S.rotation(DeclaredLaw([marginal.p], "made up"), b)
                rows = arcs(marginal, b)
                listed = [
                    float(p) * math.log2(q / p) for row, q in zip(rows, marginal.p, strict=True) for p in row.values()
                ]
                assert scheme.of_one() == pytest.approx(math.log2(b) - math.fsum(listed), abs=1e-12)


def test_a_coalition_of_millions_in_a_few_bytes_each(monkeypatch):
    """b above 10⁷, as ten million samples need; what is held beyond the data and the codes does not grow with n."""
    scheme = S.coalition(COIN, 10_000_019, 2)
    data = np.zeros(10**6, dtype=np.uint8)
    data[::3] = 1
    monkeypatch.setattr(draws.secrets, "randbelow", lambda total: 5)
    scheme.encode(data[:10])
    tracemalloc.start()
    code = scheme.encode(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert code.dtype == np.uint32
    assert peak < 4 * len(data) + (16 << 20)
    place = np.arange(1, len(data) + 1)
    cells = (code.astype(np.int64) - 5 - 5 * place) % scheme.b
    edge = 7 * scheme.b // 10
    assert ((cells <= edge) | (data == 1)).all()
    assert ((cells >= edge) | (data == 0)).all()
    low, high = scheme.bracket(10**7)
    assert high - low == pytest.approx(2 * math.log2(scheme.b))


def test_a_coalition_stream_has_one_set_of_secrets(monkeypatch):
    scheme = S.coalition(COIN, 101, 2)
    data = [int(i % 3 == 0) for i in range(100)]
    monkeypatch.setattr(draws.secrets, "randbelow", lambda total: 7)
    code = np.concatenate(list(scheme.stream([data[:1], data[1:60], [], data[60:]])))
    channel = scheme.cell_channel()
    assert all(channel[x][(int(y) - 7 - 7 * i) % 101] for i, (x, y) in enumerate(zip(data, code, strict=True), 1))
    with pytest.raises(LawError, match="not above n"):
        list(scheme.stream([data, [0]]))
    with pytest.raises(LawError, match="k = 2"):
        list(scheme.stream([[1]]))


def test_a_joint_law_is_declared_only_if_its_columns_are_independent():
    law = DeclaredLaw(UNEQUAL.joint(), "the same")
    assert [dict(zip(m.values, m.p, strict=True)) for m in law.marginals] == [
        dict(zip(m.values, m.p, strict=True)) for m in UNEQUAL.marginals
    ]
    chain = ch.examples.markov([[F(3, 4), F(1, 4)], [F(1, 2), F(1, 2)]], 2)
    with pytest.raises(LawError, match=r"not independent: P\(X1 = 0, X2 = 0\) is 1/2, and the product .* 4/9"):
        DeclaredLaw(chain, "a chain")
    parity = ch.Joint.from_counts({(a, b, a ^ b): 1 for a in (0, 1) for b in (0, 1)}, ["X1", "X2", "X3"])
    with pytest.raises(LawError, match="not independent"):  # in pairs they are
        DeclaredLaw(parity, "a parity")


def test_random_subsets_encode():
    """The codes of one dataset over and over, against the channel."""
    joint = ch.examples.bernoulli(F(3, 10), 3)
    found = S.random_subsets(joint, 60, 1)
    s = found.states.index((0, 1, 0))
    n = 3000
    expected = {y: n * code[s] / joint.probability(X1=0, X2=1, X3=0) for y, code in enumerate(found.codes)}
    assert agrees(Counter(found.encode((0, 1, 0)) for _ in range(n)), {y: float(e) for y, e in expected.items()})
    with pytest.raises(ColumnError, match="cannot occur"):
        found.encode((0, 2, 0))


# ---- decoding and attack -----------------------------------------------------------------------------------------------


def test_posteriors_against_the_exact_law():
    scheme = S.rotation(UNEQUAL, 4)
    J = scheme.joint()
    for code in ([0, 1, 3], [2, 2, 2]):
        given = J.given(Y1=code[0], Y2=code[1], Y3=code[2])
        for i, name in enumerate(("X1", "X2", "X3")):
            assert scheme.posterior(code, i) == {
                (v,): p for v, p in zip(UNEQUAL.marginal(i).values, UNEQUAL.marginal(i).p, strict=True)
            }
            for (v,), p in scheme.posterior(code, i).items():
                assert given.probability(**{name: v}) == p
        for (u, v), p in scheme.posterior(code, [0, 2]).items():
            assert given.probability(X1=u, X3=v) == p
        known = given.given(X2=2)
        for (u, v), p in scheme.posterior(code, [0, 2], known={1: 2}).items():
            assert known.probability(X1=u, X3=v) == p


def test_a_misfit_gives_the_secret_away():
    """Assumed .3, true .4, 10^5 samples: the log-likelihood ratio is above 2000 on average with a spread below 150."""
    true = DeclaredLaw.bernoulli(F(4, 10), "the truth")
    for b in (2, 3, 10):
        assert S.attack_misfit(COIN, true, 10**5, b).true_secret > 0.99
        assert S.attack_misfit(COIN, COIN, 10**4, b).true_secret == pytest.approx(1 / b)


# ---- what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: DeclaredLaw([F(1, 2)] * 2), "one realisation"),
        (lambda: DeclaredLaw([F(1, 2)] * 2, "  "), "never estimated"),
        (lambda: DeclaredLaw([F(1, 2), F(1, 3)], "x"), "sum to"),
        (lambda: DeclaredLaw([[F(1, 2), F(1, 2)], [0.5, math.nan]], "x"), "not finite"),
        (lambda: DeclaredLaw({math.nan: 1}, "x"), "NaN"),
        (lambda: DeclaredLaw([], "x"), "no marginals"),
        (lambda: DeclaredLaw("ab", "x"), "marginals are"),
        (lambda: DeclaredLaw.bernoulli(0, "x"), r"outside \(0, 1\)"),
        (lambda: DeclaredLaw.bernoulli(F(3, 2), "x"), r"outside \(0, 1\)"),
        (lambda: DeclaredLaw.bernoulli(math.nan, "x"), "not finite"),
        (lambda: S.rotation([F(1, 2)] * 2, 3), "declared law is needed"),
        (lambda: S.blocks(ch.examples.bernoulli(F(3, 10), 3), 2), "never estimated"),
        (lambda: S.rotation(COIN, 1), "b = 1"),
        (lambda: S.rotation(COIN, 2.5), "whole number"),
        (lambda: S.rotation(COIN, 3).information(), "Give n"),
        (lambda: S.rotation(COIN, 3).encode([]), "n = 0"),
        (lambda: S.rotation(COIN, 3).encode("0110"), "in a list"),
        (lambda: S.blocks(COIN, 2).encode("0110"), "in a list"),
        (lambda: S.rotation(COIN, 3).encode(np.ma.array([0, 1], mask=[0, 1])), "masked"),
        (lambda: S.rotation(COIN, 3).encode(np.zeros((2, 2), int)), "2 axes"),
        (lambda: S.rotation(BITS, 3).encode([0, 1]), "declares 4"),
        (lambda: S.blocks(COIN, 5).information(4), "k = 5"),
        (lambda: S.blocks(COIN, 1), "at least 2"),
        (lambda: S.modular(COIN, 3, 5).joint(4), "k = 5"),
        (lambda: S.modular(COIN, 3, 5).information(4), "k = 5"),
        (lambda: S.coalition(COIN, 6, 2), "next prime is 7"),
        (lambda: S.coalition(COIN, 3, 2).encode([0, 1, 0]), "prime b = 5"),
        (lambda: S.coalition(COIN, 3, 2).information(3), "not above n = 3"),
        (lambda: S.coalition(COIN, 5, 4).encode([0, 1, 0]), "k = 4"),
        (lambda: S.uniformise(UNEQUAL), "different sizes"),
        (lambda: S.uniformise(COIN).encode([1]), "no neighbour"),
        (lambda: S.paper_formula(F(3, 4), 3), "Exchange 0 and 1"),
        (lambda: S.continuous([0.1, math.nan], [1, 2], "x"), "Value 2 of the edges of sample 1 is NaN"),
        (lambda: S.continuous([0.1, 0.1], [1, 2], "x"), "rise strictly"),
        (lambda: S.continuous([0.1, 0.2], [2, 1], "x"), "Edge 2 of sample 2"),
        (lambda: S.continuous([0.1, 0.2], [1, math.inf], "x"), "finite"),
        (lambda: S.continuous([0.1, 0.2], [1], "x"), "3 bins and sample 2 has 2"),
        (lambda: S.continuous([0.1], [1]), "never estimated"),
        (lambda: S.continuous([0.1], [1], "x").encode([math.nan], [1]), "Value 1 of sample 1 is NaN"),
        (lambda: S.continuous([0.1], [1], "x").encode([1, 2], [1]), "2 and 1 values"),
        (lambda: S.rotation(COIN, 10).posterior([0, 10], 0), "10 at position 1"),
        (lambda: S.rotation(COIN, 10).posterior([0, 0, 5], 0, {0: 1, 1: 1, 2: 1}), "cannot have given"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(LawError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: S.rotation(COIN, 3).encode([0, 1, 2]), "2 of sample 3"),
        (lambda: S.rotation(COIN, 3).encode(np.array([0, -1])), "-1.* of sample 2"),
        (lambda: S.rotation(COIN, 3).encode([0, math.nan]), "nan of sample 2"),
        (lambda: S.blocks(COIN, 2).encode([0, None]), "None of sample 2"),
        (lambda: S.rotation(UNEQUAL, 3).encode(["a", 1, 0]), "1 of sample 2 has probability 0"),
        (lambda: S.rotation(UNEQUAL, 3).encode(["a", 0, "x"]), "'x' of sample 3"),
        (lambda: list(S.rotation(COIN, 3).stream([[0, 1], [0, 5]])), "5 of sample 4"),
        (lambda: S.rotation(COIN, 3).posterior([0, 1], 2), "position 2"),
    ],
)
def test_values_that_the_law_does_not_have(call, words):
    with pytest.raises(ColumnError, match=words):
        call()


def test_an_enumeration_that_would_not_end():
    with pytest.raises(TooLargeError, match="fewer samples"):
        S.rotation(COIN, 10).joint(8)
