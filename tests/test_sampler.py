"""Exact sticky draws: the sampler against Fractions, bit by bit, and against the probabilities it claims."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from choral.draw import sampler as module
from choral.draw.sampler import UNSEEN, PairSampler, Sampler, codes_of
from choral.ledger.identity import encrypt, positions
from choral.problem.solution import ExactChannel

KEY = bytes(range(32))


def channel_of(*rows):
    """A channel from rows of numerators, code by code."""
    listed = [(sum(row), tuple((y, n) for y, n in enumerate(row) if n)) for row in rows]
    return ExactChannel(max(map(len, rows)), tuple(listed))


def code_of(row, u):
    """The code of a uniform number by its definition, in Fractions."""
    denominator, entries = row
    cuts = list(accumulate(F(n, denominator) for _, n in entries))
    return entries[sum(cut <= u for cut in cuts)][0]


@st.composite
def channels(draw):
    large = draw(st.sampled_from([3, 1000, 2**64, 10**40]))
    codes = draw(st.integers(1, 5))
    rows = draw(st.lists(st.lists(st.integers(0, large), min_size=codes, max_size=codes), min_size=1, max_size=4))
    return channel_of(*[[n + (not any(row)) for n in row] for row in rows])


def with_bits(monkeypatch, numbers):
    """Have the cipher put out the binary digits of these numbers: record i gets numbers[i], whatever the key."""

    def digits(key, blocks):
        level = int(key)
        found = b""
        for number in blocks.view("<u8")[:, 0].tolist():
            found += (int(numbers[number] * 2 ** (128 * (level + 1))) % 2**128).to_bytes(16, "big")
        return np.frombuffer(found, dtype=np.uint8).reshape(-1, 16)

    monkeypatch.setattr(module, "subkey", lambda key, purpose, context: context)
    monkeypatch.setattr(module, "encrypt", digits)
    blocks = np.zeros((len(numbers), 2), dtype="<u8")
    blocks[:, 0] = np.arange(len(numbers))
    return blocks.view(np.uint8)


@settings(max_examples=40)
@given(channels(), st.data())
def test_ties_of_any_depth_are_settled_as_fractions_say(channel, data):
    """Numbers that agree with a cut in their first 13, 64, 128, 300 … bits, and lie on it or beside it."""
    states, numbers = [], []
    for s, (denominator, entries) in enumerate(channel.rows):
        for cut in accumulate(F(n, denominator) for _, n in entries):
            for depth in (3, 13, 16, 63, 64, 65, 127, 128, 129, 256, 300):
                for step in (-1, 0, 1):
                    u = F(int(cut * 2**depth) + step, 2**depth)
                    if 0 <= u < 1:
                        states.append(s)
                        numbers.append(u)
            if cut < 1 and cut.denominator & (cut.denominator - 1) == 0:
                states.append(s)
                numbers.append(cut)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_BITS", data.draw(st.integers(0, 13)))
        blocks = with_bits(patch, numbers)
        drawn = Sampler.of(channel).draw(np.array(states, dtype=np.int32), blocks, KEY)
    assert drawn.tolist() == [code_of(channel.rows[s], u) for s, u in zip(states, numbers, strict=True)]


def test_every_prefix_is_decided_as_fractions_say(monkeypatch):
    channel = channel_of([1, 2, 4], [5, 0, 3], [1, 10**9, 1])
    numbers = [F(2 * word + 1, 2**13) for word in range(2**12)]
    blocks = with_bits(monkeypatch, numbers)
    sampler = Sampler.of(channel)
    for s, row in enumerate(channel.rows):
        drawn = sampler.draw(np.full(2**12, s), blocks, KEY)
        ends = [0, *accumulate(F(n, row[0]) for _, n in row[1])]
        for (code, _), (low, high) in zip(row[1], pairwise(ends), strict=True):
            inside = sum(low <= u < high for u in numbers)
            assert int((drawn == code).sum()) == inside


def test_two_cuts_in_one_word_of_64_bits(monkeypatch):
    """A code of probability 2⁻⁹⁰ is drawn exactly on its interval."""
    tiny = F(1, 3 * 2**90)
    row = [F(1, 3), tiny, F(2, 3) - tiny]
    scale = 3 * 2**90
    channel = channel_of([int(p * scale) for p in row])
    numbers = [F(int(F(1, 3) * 2**200) + d, 2**200) for d in (-1, 0, 1, 2)]
    numbers += [F(int((F(1, 3) + tiny) * 2**200) + d, 2**200) for d in (-1, 0, 1, 2)]
    blocks = with_bits(monkeypatch, numbers)
    drawn = Sampler.of(channel).draw(np.zeros(8, dtype=np.int32), blocks, KEY).tolist()
    assert drawn == [0, 0, 1, 1, 1, 1, 2, 2]
    assert drawn == [code_of(channel.rows[0], u) for u in numbers]


def test_the_cipher_is_aes_256():
    """FIPS 197, appendix C.3."""
    plain = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff"), dtype=np.uint8).reshape(1, 16)
    assert encrypt(bytes(range(32)), plain).tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089"


def test_a_draw_depends_on_key_and_block_alone():
    sampler = Sampler.of(channel_of([1, 1, 1], [1, 5, 0]))
    blocks, states = positions(0, 5000), np.arange(5000) % 2
    whole = sampler.draw(states, blocks, KEY)
    order = np.random.default_rng(1).permutation(5000)
    assert (sampler.draw(states[order], blocks[order], KEY) == whole[order]).all()
    for one in (0, 17, 4999):
        assert sampler.draw(states[one : one + 1], blocks[one : one + 1], KEY)[0] == whole[one]
    assert (sampler.draw(states, blocks, bytes(32)) != whole).any()


def test_draws_do_not_depend_on_how_long_the_batch_or_the_table_is(monkeypatch):
    channel = channel_of([3, 1, 4, 1], [5, 9, 2, 6])
    blocks, states = positions(7, 3000), np.arange(3000) % 2
    whole = Sampler.of(channel).draw(states, blocks, KEY)
    monkeypatch.setattr(module, "AT_ONCE", 100)
    monkeypatch.setattr(module, "MOST_BITS", 2)
    assert (Sampler.of(channel).draw(states, blocks, KEY) == whole).all()


def test_a_million_draws_have_the_probabilities_of_their_rows():
    """Chi-square of three rows under a fixed key; by chance it fails for one key in 10⁶."""
    rows = ([1, 2, 3, 4], [10**20, 1, 10**20, 10**19], [7, 0, 0, 1])
    sampler, n = Sampler.of(channel_of(*rows)), 10**6
    drawn = sampler.draw(np.arange(n) % 3, positions(0, n), KEY)
    statistic, freedom = 0.0, 0
    for s, row in enumerate(rows):
        counts = np.bincount(drawn[s::3], minlength=4)
        expected = np.array([p / sum(row) for p in row]) * len(drawn[s::3])
        likely = expected > 1
        assert counts[~likely].sum() == 0
        statistic += ((counts - expected)[likely] ** 2 / expected[likely]).sum()
        freedom += int(likely.sum()) - 1
    assert statistic < chi2.isf(1e-6, freedom)


def test_neighbouring_records_are_drawn_independently():
    """Pairs of codes of consecutive rows; by chance it fails for one key in 10⁶."""
    sampler, n = Sampler.of(channel_of([1, 1, 2])), 10**6
    drawn = sampler.draw(np.zeros(n, dtype=np.int32), positions(0, n), KEY)
    pairs = np.bincount(3 * drawn[0::2] + drawn[1::2], minlength=9)
    p = np.array([0.25, 0.25, 0.5])
    expected = np.outer(p, p).ravel() * (n // 2)
    assert ((pairs - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 8)


def test_what_was_not_seen_has_a_code_of_its_own():
    sampler = Sampler.of(channel_of([1, 1], [1, 1]))
    states = np.array([0, UNSEEN, 1, UNSEEN])
    drawn = codes_of(states, positions(0, 4), sampler, KEY)
    assert drawn[[1, 3]].tolist() == [2, 2]
    assert (drawn[[0, 2]] == sampler.draw(states[[0, 2]], positions(0, 4)[[0, 2]], KEY)).all()


@pytest.mark.parametrize("states", [[0, 2], [-1, 0]])
def test_a_state_that_the_channel_has_not_is_an_error(states):
    with pytest.raises(ValueError, match="not a row"):
        Sampler.of(channel_of([1], [1])).draw(np.array(states), positions(0, 2), KEY)


def test_a_row_that_is_no_distribution_is_an_error():
    with pytest.raises(ValueError, match="denominator"):
        Sampler.of(ExactChannel(2, ((3, ((0, 1), (1, 1))),)))


def test_rows_have_the_same_word_if_and_only_if_they_are_the_same_row():
    words = Sampler.of(channel_of([1, 2], [2, 4], [2, 1], [1, 0])).row_words().tolist()
    assert words[0] == words[1]
    assert len(set(words)) == 4


@settings(max_examples=40)
@given(channels(), st.data())
def test_a_pair_has_the_probability_of_its_row_and_the_first_code_of_the_earlier_release(channel, data):
    first = [data.draw(st.integers(0, 2)) for _ in range(channel.codes)]
    pairs = PairSampler.of(channel, first)
    states = np.arange(200) % len(channel.rows)
    blocks, earlier_key = positions(0, 200), bytes(32)
    drawn = pairs.draw(states, blocks, KEY, earlier_key)
    rows = []
    for s, (denominator, entries) in enumerate(channel.rows):
        sums = {code: sum(n for y, n in entries if first[y] == code) for code in sorted(set(first))}
        rows.append((denominator, tuple((code, n) for code, n in sums.items() if n)))
        for y, n in entries:
            row = int(pairs.place[s, first[y]])
            cuts = [0, *pairs.later.sums[row]]
            place = pairs.later.names[row].index(y)
            given_first = F(cuts[place + 1] - cuts[place], cuts[-1])
            assert given_first * F(sums[first[y]], denominator) == F(n, denominator)
    earlier = Sampler.of(ExactChannel(3, tuple(rows)))
    assert [first[y] for y in drawn] == earlier.draw(states, blocks, earlier_key).tolist()
