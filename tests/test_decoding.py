"""Decoding a rotation: posteriors of samples, histograms and sums, against listing everything."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest

import choral as ch
from choral.errors import ChoralError, LawError, TooLargeError
from choral.schemes.decoding import segments
from choral.schemes.masked import arcs

S = ch.schemes

LAWS = {
    "coin": S.DeclaredLaw([[F(7, 10), F(3, 10)]] * 3, "made up"),
    "thirds": S.DeclaredLaw([{"a": F(1, 3), "b": F(1, 6), "c": F(1, 2)}] * 3, "made up"),
    "unequal": S.DeclaredLaw([[F(2, 7), F(5, 7)], [F(1, 5), F(1, 5), F(3, 5)], [F(7, 10), F(3, 10)]], "made up"),
    "with a value that never occurs": S.DeclaredLaw([[F(1, 2), 0, F(1, 2)], [F(1, 3), F(2, 3)], [1]], "made up"),
}


@pytest.mark.parametrize("b", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("name", LAWS)
def test_segments_are_the_arcs(name, b):
    """The law of the value in every cell, from the segments and from the arcs."""
    for marginal in LAWS[name].distinct:
        cells: list[dict[int, F]] = [{} for _ in range(b)]
        for x, row in enumerate(arcs(marginal, b)):
            for s, part in row.items():
                cells[s][x] = part * b
        found = [
            (cell, {x: F(w, segment.total) for x, w in segment.weights})
            for segment in segments(marginal, b)
            for cell in range(segment.first, segment.last + 1)
        ]
        assert found == list(enumerate(cells))
        assert len(segments(marginal, b)) <= 2 * len(marginal.values) - 1


@pytest.mark.parametrize("b", [2, 3, 5])
@pytest.mark.parametrize("name", LAWS)
def test_posteriors_agree_with_the_exact_joint_law(name, b):
    """Every code of three samples: the histogram, a sum and single samples, by listing the joint law."""
    law = LAWS[name]
    scheme = S.rotation(law, b)
    worth = {value: (3, -1, 4, 1)[i % 4] for i, value in enumerate(scheme.values)}
    joint = scheme.joint()
    n = 3
    by_code: dict[tuple[int, ...], dict[tuple, F]] = {}
    for cell, p in joint.items():
        by_code.setdefault(cell[n:], {})[cell[:n]] = p
    draw = random.Random(b)
    for code in draw.sample(sorted(by_code), min(20, len(by_code))):
        given = by_code[code]
        total = sum(given.values())
        histogram, sums = Counter(), Counter()
        for x, p in given.items():
            histogram[tuple(x.count(value) for value in scheme.values)] += p / total
            sums[sum(worth[v] for v in x)] += p / total
        assert scheme.histogram_posterior(code) == histogram
        assert scheme.sum_posterior(code, worth.__getitem__) == sums
        floats = scheme.sum_in_floats(code, worth.__getitem__)
        for i, p in enumerate(floats.probabilities):
            assert abs(p - float(sums[floats.least + i])) <= floats.error + 1e-16
        assert floats.error < 1e-12
        for asked in ([0], [1, 2], [2, 0]):
            posterior = scheme.posterior(code, asked)
            wanted = Counter()
            for x, p in given.items():
                wanted[tuple(x[i] for i in asked)] += p / total
            assert {x: p for x, p in posterior.items() if p} == wanted
        known = {0: next(iter(given))[0]}
        conditioned = {x: p for x, p in given.items() if x[0] == known[0]}
        wanted = Counter()
        for x, p in conditioned.items():
            wanted[x[1], x[0]] += p / sum(conditioned.values())
        assert {x: p for x, p in scheme.posterior(code, [1, 0], known).items() if p} == wanted


def by_every_secret(scheme, code, worth):
    """Σ over all b values of Q, with a convolution each: what the arcs avoid."""
    answer = Counter()
    for q in range(scheme.b):
        law = {0: F(1, scheme.b)}
        for i, y in enumerate(code):
            marginal = scheme.law.marginal(i)
            rows = arcs(marginal, scheme.b)
            new = Counter()
            for total, p in law.items():
                for x, row in enumerate(rows):
                    part = row.get((y - q) % scheme.b, 0)
                    if part:
                        new[total + worth(marginal.values[x])] += p * part * scheme.b
            law = new
        answer.update(law)
    return dict(sorted(answer.items()))


@pytest.mark.parametrize(("b", "n"), [(3, 12), (10, 12), (17, 15), (40, 9)])
def test_sums_agree_with_trying_every_secret(b, n):
    law = S.DeclaredLaw({"a": F(1, 2), "b": F(3, 10), "c": F(1, 5)}, "made up")
    scheme = S.rotation(law, b)
    draw = random.Random(b)
    code = [draw.randrange(b) for _ in range(n)]
    worth = {"a": 0, "b": 2, "c": -5}.__getitem__
    exact = scheme.sum_posterior(code, worth)
    assert exact == by_every_secret(scheme, code, worth)
    assert sum(exact.values()) == 1
    floats = scheme.sum_in_floats(code, worth)
    assert abs(floats.mean - float(sum(v * p for v, p in exact.items()))) < 1e-9
    for i, p in enumerate(floats.probabilities):
        assert abs(p - float(exact.get(floats.least + i, 0))) <= floats.error


def test_a_circle_of_a_million_cells_costs_a_few_arcs():
    """b = 1 000 003: about 2·30 intervals of Q; no value of Q is tried alone."""
    b = 1_000_003
    scheme = S.rotation(S.DeclaredLaw.bernoulli(F(3, 10), "a coin"), b)
    draw = random.Random(5)
    code = [draw.randrange(b) for _ in range(30)]
    found = scheme.histogram_posterior(code)
    assert sum(found.values()) == 1
    assert sum(p * ones for (_, ones), p in found.items()) == 30 * F(3, 10)  # each sample alone keeps its prior
    assert scheme.posterior(code, 0) == {(0,): F(7, 10), (1,): F(3, 10)}


def test_many_samples_in_floats_with_a_small_stated_error():
    """A quarter of a million samples: the mean is the prior's, whatever the code, and the tail of the law is right.

    With b = 2 and P(X=1) = 3/10 all ones are in cell 1, which holds a value 1 with probability 3/5: given Q the number of
    ones is binomial, so the posterior is a mixture of two binomial laws.
    """
    n = 250_000
    scheme = S.rotation(S.DeclaredLaw.bernoulli(F(3, 10), "a coin"), 2)
    code = np.zeros(n, dtype=np.uint8)
    code[:100_000] = 1
    law = scheme.sum_in_floats(code, int)
    assert law.error < 1e-10
    assert law.mean == pytest.approx(0.3 * n, rel=1e-9)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-9)
    # Q = 0: the 100 000 samples with Y = 1 are in cell 1; Q = 1: the 150 000 others.
    ones = np.arange(len(law.probabilities)) + law.least
    half = law.probabilities[ones < 75_000].sum()
    assert half == pytest.approx(0.5, abs=1e-9)
    low, high = law.interval(0.95)
    assert 59_000 < low < 60_000
    assert 90_000 < high < 91_000
    first = law.probabilities[60_000 - law.least]
    assert first == pytest.approx(0.5 / np.sqrt(2 * np.pi * 100_000 * 0.6 * 0.4), rel=1e-4)  # de Moivre at the mode


def test_the_stated_error_holds_against_exact_fractions():
    law = S.DeclaredLaw({0: F(1, 2), 1: F(3, 10), 5: F(1, 5)}, "made up")
    scheme = S.rotation(law, 3)
    code = [i % 2 for i in range(160)]
    exact, floats = scheme.sum_posterior(code, int), scheme.sum_in_floats(code, int)
    worst = max(abs(p - float(exact.get(floats.least + i, 0))) for i, p in enumerate(floats.probabilities))
    assert worst <= floats.error < 1e-11
    assert set(exact) <= set(range(floats.least, floats.least + len(floats.probabilities)))


def test_what_is_too_large_says_what_to_do():
    scheme = S.rotation(S.DeclaredLaw.bernoulli(F(3, 10), "a coin"), 3)
    with pytest.raises(TooLargeError, match="sum_in_floats"):
        scheme.sum_posterior([0, 1, 2] * 2000, int)


@pytest.mark.parametrize(
    ("code", "f"), [([0, 3], int), ([0, -1], int), ([0, 1.0], int), ([0, 1], float), ([0, 1], str), ([True, 0], int)]
)
def test_bad_codes_and_statistics(code, f):
    scheme = S.rotation(S.DeclaredLaw.bernoulli(F(3, 10), "a coin"), 3)
    for decode in (scheme.sum_posterior, scheme.sum_in_floats):
        with pytest.raises(LawError):
            decode(code, f)


def test_encoding_and_decoding_fit_together():
    """The true sum has positive posterior probability for every code that `encode` draws."""
    law = S.DeclaredLaw({0: F(1, 2), 1: F(3, 10), 2: F(1, 5)}, "made up")
    draw = random.Random(11)
    for b in (3, 8):
        scheme = S.rotation(law, b)
        for _ in range(20):
            data = draw.choices([0, 1, 2], [5, 3, 2], k=8)
            code = scheme.encode(data)
            assert scheme.sum_posterior(code.tolist(), int)[sum(data)] > 0
            counts = tuple(data.count(v) for v in (0, 1, 2))
            assert scheme.histogram_posterior(code.tolist())[counts] > 0


def test_a_histogram_is_symmetric_in_the_samples():
    scheme = S.rotation(S.DeclaredLaw.bernoulli(F(3, 10), "a coin"), 7)
    found = [scheme.histogram_posterior(list(code)) for code in itertools.permutations([0, 3, 6])]
    assert all(one == found[0] for one in found)


def test_what_is_no_list_or_function_is_said_so():
    scheme = ch.schemes.Rotation(ch.schemes.DeclaredLaw.bernoulli(F(3, 10), "a coin"), b=3)
    chain = ch.MarkovChain.of([[0.75, 0.25], [0.5, 0.5]])
    for call in (
        lambda: scheme.histogram_posterior(None),
        lambda: scheme.sum_posterior(5, int),
        lambda: scheme.sum_in_floats("012", int),
        lambda: scheme.sum_posterior([0, 1], None),
        lambda: ch.self_disclosure_curve(4, 0.3),
        lambda: ch.self_disclosure_curve(4, "0.3"),
        lambda: ch.entropy_rate_curve(chain, 3),
        lambda: ch.windows(5, 2),
    ):
        with pytest.raises(ChoralError) as caught:
            call()
        assert caught.value.remedy
