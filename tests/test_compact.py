"""Laws that are never written out, against the same laws written out."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from itertools import permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scale import rejected

import choral as ch
from choral.errors import ColumnError, LawError, ProblemError, TooLargeError
from choral.problem.compact import pose_types

SLACK = 1e-12
THIRD = [F(2, 3), F(1, 3)]


def a_law(rng, size, least=1):
    weights = [rng.randint(least, 9) for _ in range(size)]
    weights[rng.randrange(size)] += 1
    return [F(w, sum(weights)) for w in weights]


def a_channel(rng, targets, size, least=1):
    return [a_law(rng, size, least) for _ in range(targets)]


def counts_of(x, values):
    return tuple(x.count(v) for v in range(values))


def probability(channel, w, x):
    return math.prod((channel[w][a] for a in x), start=F(1))


def information(joint):
    """I(W;Y) in bits of exact p(w, y)."""

    def entropy(masses):
        return -sum(float(p) * math.log2(p) for p in masses if p)

    w, y = {}, {}
    for (a, b), p in joint.items():
        w[a], y[b] = w.get(a, 0) + p, y.get(b, 0) + p
    return entropy(w.values()) + entropy(y.values()) - entropy(joint.values())


# ---- exchangeable samples ---------------------------------------------------------------------------------------

CASES = [
    (n, values, targets, order)
    for values, sizes in ((2, range(2, 7)), (3, range(2, 5)))
    for n in sizes
    for targets in (2, 3)
    for order in (1, 2)
]


@pytest.mark.parametrize(("n", "values", "targets", "order"), [*CASES, (5, 3, 3, 1), (6, 3, 2, 1)])
def test_types_tell_what_all_sequences_tell(n, values, targets, order):
    rng = random.Random(100 * n + 10 * values + targets)
    prior, channel = a_law(rng, targets), a_channel(rng, targets, values)
    compact = ch.disclose(ch.Exchangeable(prior, channel, n), order=order)
    written = ch.disclose(ch.Joint.observed(prior, [channel] * n), order=order)
    assert compact.information == pytest.approx(written.information, abs=SLACK)
    assert compact.upper_bound == pytest.approx(written.upper_bound, abs=SLACK)
    assert compact.gap <= 1e-11
    assert compact.verify()["verified"]


def test_types_tell_what_all_sequences_tell_about_pairs_of_many():
    channel = a_channel(random.Random(632), 2, 3)
    compact = ch.disclose(ch.Exchangeable(THIRD, channel, 6), order=2, tol=1e-7)
    written = ch.disclose(ch.Joint.observed(THIRD, [channel] * 6), order=2, tol=1e-7)
    assert compact.gap <= 1e-7
    assert compact.information <= written.upper_bound + SLACK
    assert written.information <= compact.upper_bound + SLACK
    assert written.upper_bound == pytest.approx(compact.upper_bound, abs=2e-7)
    assert written.verify()["verified"]


@pytest.mark.parametrize(("n", "values", "order"), [(3, 2, 1), (4, 2, 2), (5, 2, 3), (3, 3, 2), (4, 3, 1)])
def test_every_few_samples_stay_private_in_all_sequences(n, values, order):
    rng = random.Random(n + values)
    prior, channel = a_law(rng, 2), a_channel(rng, 2, values)
    d = ch.disclose(ch.Exchangeable(prior, channel, n), order=order)
    seen, code, both = {}, {}, {}
    for x in product(range(values), repeat=n):
        row = d.channel_of(x)
        for w in range(2):
            p = prior[w] * probability(channel, w, x)
            for y, share in enumerate(row):
                both[w, y] = both.get((w, y), 0) + p * share
                code[y] = code.get(y, 0) + p * share
                for where in permutations(range(n), order):
                    part = where, tuple(x[i] for i in where)
                    seen[part, y] = seen.get((part, y), 0) + p * share
    total = {part: sum(seen[part, y] for y in code) for part, _ in seen}
    assert sum(code.values()) == 1
    assert all(seen[part, y] == total[part] * code[y] for part in total for y in code)
    assert information(both) == pytest.approx(d.information, abs=1e-11)


def test_the_order_of_samples_does_not_matter():
    E = ch.Exchangeable(THIRD, [[F(6, 10), F(3, 10), F(1, 10)], [F(2, 10), F(3, 10), F(5, 10)]], 4, values="abc")
    d = ch.disclose(E)
    for x in ("aabc", "abbb", "cccc", "abca"):
        assert len({d.channel_of("".join(y)) for y in permutations(x)}) == 1
        assert sum(d.channel_of(x)) == 1
        assert d.sample(x) in range(d.codes)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.integers(2, 3), st.integers(1, 3), st.randoms(use_true_random=False))
def test_masses_of_types_by_brute_force(n, values, targets, rng):
    prior, channel = a_law(rng, targets), a_channel(rng, targets, values, least=0)
    masses = ch.Exchangeable(prior, channel, n).masses()
    total = sum(map(sum, masses.values()))
    expected = {}
    for w, x in product(range(targets), product(range(values), repeat=n)):
        key = counts_of(x, values), w
        expected[key] = expected.get(key, 0) + prior[w] * probability(channel, w, x)
    assert {k for k, p in expected.items() if p} == {
        (t, w) for t, row in masses.items() for w, m in enumerate(row) if m
    }
    assert all(F(masses[t][w], total) == p for (t, w), p in expected.items() if p)


@pytest.mark.parametrize(("n", "values", "order"), [(3, 2, 1), (4, 2, 2), (4, 2, 4), (4, 3, 2), (5, 3, 3), (3, 4, 2)])
def test_parts_of_a_type_by_brute_force(n, values, order):
    problem = pose_types(ch.Exchangeable(THIRD, a_channel(random.Random(n), 2, values), n), order)
    of, chosen = {}, {}
    for x in product(range(values), repeat=n):
        of[counts_of(x, values)] = of.get(counts_of(x, values), 0) + 1
        key = counts_of(x, values), tuple(sorted(x[:order]))
        chosen[key] = chosen.get(key, 0) + 1
    group = problem.groups[0]
    found = {}
    for s, v, weight in zip(group.state.tolist(), group.value.tolist(), group.weight, strict=True):
        name = group.values[v] if order > 1 else (group.values[v],)
        found[problem.states[s], name] = F(weight, problem.weights[s])
    assert found == {key: F(many, of[key[0]]) for key, many in chosen.items()}


@pytest.mark.parametrize(
    ("n", "order", "expected"),
    [
        (2, 1, 8.34e-3),
        (3, 1, 4.88e-2),
        (4, 1, 4.47e-2),
        (5, 1, 0.0538973347),
        (6, 1, 0.0515185425),
        (4, 2, 0.0167667831),
    ],
)
def test_noisy_copies_of_a_bit(n, order, expected):
    d = ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), n), order=order)
    digits = 5e-5 if n <= 4 and order == 1 else 1e-10  # the paper prints three digits
    assert d.information == pytest.approx(expected, abs=digits)
    assert d.upper_bound == pytest.approx(expected, abs=digits)
    assert d.verify()["verified"]


def three_rates(n):
    return ch.Exchangeable([F(1, 3)] * 3, [[1 - q, q] for q in (F(1, 10), F(1, 2), F(9, 10))], n)


def test_three_rates_and_their_limit():
    ten = ch.disclose(three_rates(10))
    assert ten.information == pytest.approx(0.60164367, abs=1e-8)
    assert ten.verify()["verified"]
    # With n → ∞ the type tells W, and W is 1/2 ± 2/5 or 1/2: private codes have P(w=0) = P(w=2), say t, and the best
    # are t = 0 (mass 1/3, W known) and t = 1/2 (mass 2/3, one bit left): log2(3) - 2/3.
    limit = math.log2(3) - 2 / 3
    found = [ch.disclose(three_rates(n)) for n in (50, 100, 200)]
    assert found[0].verify()["verified"]
    assert all(d.gap <= 1e-6 for d in found)
    told = [d.information for d in found]
    assert told[0] > told[1] > told[2] > limit
    assert told[2] - limit < (told[0] - limit) / 2


@pytest.fixture(scope="module")
def sixty():
    return ch.disclose(
        ch.Exchangeable(THIRD, [[F(6, 10), F(3, 10), F(1, 10)], [F(2, 10), F(3, 10), F(5, 10)]], 60),
        tol=0,
        rel_tol=1e-3,
    )


def test_sixty_samples_of_three_values(sixty):
    assert len(sixty.states) == math.comb(62, 2)
    assert 0 < sixty.gap <= 1e-3 * sixty.information
    assert sixty.verify()["verified"]
    group = sixty.problem.groups[0]
    channel = [dict(enumerate(row)) for row in sixty.exact]
    for v, weight in enumerate(group.marginal):
        for row, p in list(zip(channel, sixty.p_y, strict=True))[:20]:
            told = sum(
                w * row[s]
                for s, u, w in zip(group.state.tolist(), group.value.tolist(), group.weight, strict=True)
                if u == v
            )
            assert told == weight * p


@pytest.mark.parametrize("solver", [None, "sandwich"])
def test_a_value_of_w_or_of_the_samples_that_never_occurs(solver):
    prior, rows = [F(1, 2), F(1, 2)], [[F(1, 10), F(9, 10)], [F(1, 2), F(1, 2)]]
    truth = ch.disclose(ch.Exchangeable(prior, rows, 4)).information
    never = [
        ch.Exchangeable([F(1, 2), F(1, 2), 0], [*rows, [F(1, 3), F(2, 3)]], 4),
        ch.Exchangeable(prior, [[0, *row] for row in rows], 4),
        ch.Exchangeable(prior, [[row[0], 0, row[1]] for row in rows], 4),
    ]
    for law in never:
        d = ch.disclose(law, solver=solver, tol=1e-8)
        assert d.information == pytest.approx(truth, abs=1e-8)
        assert d.verify()["verified"]


@pytest.mark.parametrize("zero", [True, False])
def test_nothing_is_told_when_all_samples_are_protected_together(zero):
    row = [F(1, 10), F(0), F(9, 10)] if zero else [F(1, 10), F(3, 10), F(6, 10)]
    d = ch.disclose(ch.Exchangeable([F(1, 2), F(1, 2)], [row, row[::-1]], 3), order=3)
    assert d.information == d.upper_bound == 0
    assert d.verify()["verified"]


# ---- sensors ----------------------------------------------------------------------------------------------------


def some_sensors(rng, n, targets=2):
    sizes = [rng.randint(2, 3) for _ in range(n)]
    channels = [a_channel(rng, targets, size) for size in sizes]
    scores = [[rng.randint(-2, 3) for _ in range(size)] for size in sizes]
    return ch.Sensors(a_law(rng, targets), channels, scores=scores)


def readings(law):
    """Every reading of all sensors with its score and p(w, x)."""
    for x in product(*(range(len(values)) for values in law.values)):
        score = sum(row[a] for row, a in zip(law.scores, x, strict=True))
        for w, p in enumerate(law.prior):
            yield x, score, w, p * math.prod(table[w][a] for table, a in zip(law.channels, x, strict=True))


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 5), st.integers(2, 3), st.randoms(use_true_random=False))
def test_masses_of_scores_by_brute_force(n, targets, rng):
    law = some_sensors(rng, n, targets)
    by_target, by_sensor = law.masses()
    total = sum(map(sum, by_target.values()))
    expected, beside = {}, {}
    for x, score, w, p in readings(law):
        expected[score, w] = expected.get((score, w), 0) + p
        for i, a in enumerate(x):
            beside[i, score, a] = beside.get((i, score, a), 0) + p
    assert expected == {(t, w): F(m, total) for t, row in by_target.items() for w, m in enumerate(row) if m}
    found = {
        (i, t, a): F(m, total) for i, rows in enumerate(by_sensor) for t, row in rows.items() for a, m in row.items()
    }
    assert beside == {key: p for key, p in found.items() if p}


@pytest.mark.parametrize("solver", [None, "sandwich"])
@pytest.mark.parametrize("seed", range(6))
def test_every_sensor_stays_private_in_all_readings(seed, solver):
    rng = random.Random(seed)
    law = some_sensors(rng, 3 + seed % 3)
    d = ch.disclose(law, solver=solver, tol=1e-7)
    assert d.gap <= 1e-7
    assert d.verify()["verified"]
    seen, code, both = {}, {}, {}
    for x, _, w, p in readings(law):
        for y, share in enumerate(d.channel_of(x)):
            both[w, y] = both.get((w, y), 0) + p * share
            code[y] = code.get(y, 0) + p * share
            for i, a in enumerate(x):
                seen[i, a, y] = seen.get((i, a, y), 0) + p * share
    for i, values in enumerate(law.values):
        for a in range(len(values)):
            single = sum(seen[i, a, y] for y in code)
            assert all(seen[i, a, y] == single * code[y] for y in code)
    assert information(both) == pytest.approx(d.information, abs=1e-11)


def test_a_score_that_keeps_readings_apart_loses_nothing():
    channels = [ch.bsc(F(1, 10)), ch.bsc(F(1, 5)), ch.bsc(F(1, 4))]
    d = ch.disclose(ch.Sensors(THIRD, channels, scores=[[0, 1], [0, 2], [0, 4]]))
    assert d.information == pytest.approx(ch.disclose(ch.Joint.observed(THIRD, channels)).information, abs=SLACK)
    assert d.channel_of((1, 0, 1)) == d.channel_of({"X3": 1, "X2": 0, "X1": 1})
    merged = ch.disclose(ch.Sensors(THIRD, channels, scores=[[0, 1], [0, 1], [0, 1]]))
    assert merged.information < d.information
    assert merged.channel_of((1, 0, 1)) == merged.channel_of((0, 1, 1))


@pytest.mark.parametrize("solver", [None, "sandwich"])
@pytest.mark.parametrize("empty", ["first", "middle", "target"])
def test_a_reading_or_a_value_of_w_that_never_occurs(empty, solver):
    one, two = [[F(1, 10), F(3, 10), F(6, 10)], [F(1, 2), F(1, 4), F(1, 4)]], [[F(1, 4), F(3, 4)], [F(2, 3), F(1, 3)]]
    prior, scores = [F(1, 2), F(1, 2)], [[0, 2, 1], [0, 1], [0, 3]]
    truth = ch.disclose(ch.Sensors(prior, [one, two, two], scores=scores)).information
    if empty == "target":
        law = ch.Sensors([*prior, 0], [[*table, table[0]] for table in (one, two, two)], scores=scores)
    else:
        at = 0 if empty == "first" else 1
        wider = [[*row[:at], 0, *row[at:]] for row in one]
        law = ch.Sensors(prior, [wider, two, two], scores=[[*scores[0][:at], 5, *scores[0][at:]], *scores[1:]])
    d = ch.disclose(law, solver=solver, tol=1e-8)
    assert d.information == pytest.approx(truth, abs=1e-8)
    assert d.verify()["verified"]


def test_thirty_sensors_through_a_score():
    crossovers = [F(5, 100) + F(30, 100) * i / 29 for i in range(30)]
    law = ch.Sensors(THIRD, [ch.bsc(c) for c in crossovers], levels=400)
    d = ch.disclose(law, tol=1e-6)
    assert d.verify()["verified"]
    # Thirty-one smooth functions of the score nearly span the posterior: almost nothing can be told through it.
    assert d.upper_bound < 1e-6
    assert len(d.channel_of([0] * 30)) == d.codes


# ---- files and forgeries ----------------------------------------------------------------------------------------


def compact_laws():
    named = ch.Exchangeable(
        THIRD,
        [[F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 6), F(2, 3)]],
        4,
        values=["a", None, 1.5],
        target_values="ny",
    )
    return {
        "bits": (ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 6), {}, (0, 1, 1, 0, 0, 1)),
        "pairs": (named, {"order": 2}, ("a", None, 1.5, "a")),
        "lines": (named, {"solver": "sandwich"}, (None, None, 1.5, "a")),
        "erasures": (ch.Exchangeable([F(1, 2)] * 2, ch.bec(F(1, 3)), 4), {}, (0, "e", 0, "e")),
        "score": (some_sensors(random.Random(3), 4), {}, (0, 1, 1, 0)),
        "ratios": (ch.Sensors(THIRD, [ch.bsc(F(1, 10)), ch.bsc(F(1, 5)), ch.bec(F(1, 2))][:2] * 2), {}, (0, 1, 1, 0)),
    }


@pytest.mark.parametrize("which", compact_laws())
def test_saved_and_loaded_again(which, tmp_path):
    law, asked, record = compact_laws()[which]
    d = ch.disclose(law, **asked)
    again = ch.load(d.save(tmp_path / "release.choral"))
    assert again == d
    assert again.law == law
    assert again.exact == d.exact
    assert again.states == d.states
    assert again.channel_of(record) == d.channel_of(record)
    assert (again.information, again.upper_bound, again.p_w_given_y) == (d.information, d.upper_bound, d.p_w_given_y)
    assert again.verify()["verified"]


@pytest.fixture(scope="module")
def released():
    E = ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 6)
    S = ch.Sensors(THIRD, [ch.bsc(F(1, 10)), ch.bsc(F(1, 5)), ch.bsc(F(1, 4))], scores=[[0, 1], [0, 2], [0, 4]])
    return {
        "types": ch.disclose(E).document,
        "lines": ch.disclose(E, solver="sandwich").document,
        "score": ch.disclose(S).document,
    }


@pytest.mark.parametrize("which", ["types", "lines"])
@pytest.mark.parametrize("n", [5, 7, 0, True, 6.0])
def test_another_number_of_samples_is_noticed(released, which, n):
    def change(doc):
        doc["law"]["n"] = n

    assert rejected(released[which], change) in ("law", "channel")


@pytest.mark.parametrize("which", ["types", "lines", "score"])
def test_another_channel_of_the_law_is_noticed(released, which):
    def change(doc):
        table = doc["law"]["channel"] if which != "score" else doc["law"]["channels"][0]
        table[0] = [f"{9 * 2**20 - 1:x}/{10 * 2**20:x}", f"{2**20 + 1:x}/{10 * 2**20:x}"]

    def broken(doc):
        table = doc["law"]["channel"] if which != "score" else doc["law"]["channels"][0]
        table[0] = ["9/a", "2/a"]

    def other_prior(doc):
        doc["law"]["prior"] = ["1/2", "1/2"]

    assert rejected(released[which], change).startswith("privacy of")
    assert rejected(released[which], broken) == "law"
    assert rejected(released[which], other_prior).startswith("privacy of")


@pytest.mark.parametrize("which", ["types", "lines"])
def test_more_samples_than_were_protected_are_noticed(released, which):
    def pairs(doc):
        doc["protect"] = [["any 2"]]

    assert rejected(released[which], pairs) == "privacy of any 2"
    for group in (["any 0"], ["any 7"], ["any 01"], ["any"], ["X1"], ["any 1", "any 1"], ["W"], []):

        def other(doc, group=group):
            doc["protect"] = [group]

        assert rejected(released[which], other) == "protected groups"


def test_other_scores_are_noticed(released):
    for scores in ([[0, 1], [0, 2], [0, 3]], [[0, 1], [0, 4], [0, 2]], [[1, 0], [0, 2], [0, 4]]):

        def change(doc, scores=scores):
            doc["law"]["scores"] = scores

        assert rejected(released["score"], change).split()[0] in ("privacy", "channel")
    for scores in ([[0, 1], [0, 2]], [[0, 1], [0, 2], [0, 4.0]], [[0, 1], [0, 2], [0]], None):

        def malformed(doc, scores=scores):
            doc["law"]["scores"] = scores

        assert rejected(released["score"], malformed) == "law"


@pytest.mark.parametrize("which", ["types", "lines", "score"])
def test_a_moved_mass_or_a_better_claim_is_noticed(released, which):
    rows = released[which]["channel"]["rows"]
    s = next(s for s, row in enumerate(rows) if len(row) > 2)

    def moved(doc):
        row = doc["channel"]["rows"][s]
        row[0] = f"{int(row[0], 16) * 1000:x}"
        for entry in row[1:]:
            entry[1] = f"{int(entry[1], 16) * 1000:x}"
        row[1][1] = f"{int(row[1][1], 16) + 1:x}"
        row[2][1] = f"{int(row[2][1], 16) - 1:x}"

    def better(doc):
        doc["claims"]["information"] = doc["claims"]["upper_bound"] = "0.9"

    def closer(doc):
        doc["claims"]["upper_bound"] = doc["claims"]["information"]

    assert rejected(released[which], moved).startswith("privacy of")
    assert rejected(released[which], better) == "information"
    assert rejected(released[which], closer) == "upper bound"


# ---- what is refused --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, True, -3, 2.0, "5"])
def test_a_number_of_samples_that_makes_no_sense(n):
    with pytest.raises(LawError, match=f"n = {n} samples"):
        ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), n)


@pytest.mark.parametrize(
    ("prior", "channel", "match"),
    [
        (THIRD, [[F(1, 2), F(1, 3)], [F(1, 2), F(1, 2)]], "5/6|sum"),
        (THIRD, [[0.5, 0.6], [0.5, 0.5]], "sum"),
        (THIRD, [[F(3, 2), F(-1, 2)], [F(1, 2), F(1, 2)]], "-1/2|negative"),
        (THIRD, [[F(1, 2), F(1, 2)]], "1 rows"),
        ([F(1, 2), F(1, 3)], ch.bsc(F(1, 10)), "sum|5/6"),
    ],
)
def test_numbers_that_are_no_law(prior, channel, match):
    with pytest.raises(LawError, match=match):
        ch.Exchangeable(prior, channel, 4)
    with pytest.raises(LawError, match=match):
        ch.Sensors(prior, [channel, channel], scores=[[0, 1], [0, 2]])


def test_too_many_types_are_counted_and_not_listed():
    row = [F(1, 6)] * 6
    with pytest.raises(TooLargeError, match=f"{math.comb(105, 5):,}") as caught:
        ch.disclose(ch.Exchangeable(THIRD, [row, row], 100))
    assert "statistic" in caught.value.remedy


def test_records_that_do_not_fit():
    d = ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 3))
    with pytest.raises(ColumnError, match="2 samples, not 3"):
        d.channel_of((0, 1))
    with pytest.raises(ColumnError, match="2 is not in the alphabet"):
        d.sample((0, 1, 2))
    s = ch.disclose(ch.Sensors(THIRD, [ch.bsc(F(1, 10)), ch.bsc(F(1, 5))]))
    with pytest.raises(ColumnError, match="has 3 values"):
        s.channel_of((0, 1, 1))
    with pytest.raises(ColumnError, match="7 is not in the alphabet of X2"):
        s.sample((0, 7))
    with pytest.raises(ColumnError, match="lacks 'X2'"):
        s.sample({"X1": 0})


@pytest.mark.parametrize("order", [0, -1, 4, True, 1.0, "2"])
def test_an_order_out_of_range(order):
    with pytest.raises(ProblemError, match="order="):
        ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 3), order=order)


@pytest.mark.parametrize("asked", [{"protect": ["X1"]}, {"use": ["X1"]}, {"reveal": "X1"}, {"protect": "W"}])
def test_compact_laws_take_no_columns(asked):
    for law in (ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 3), ch.Sensors(THIRD, [ch.bsc(F(1, 10))] * 2)):
        with pytest.raises(ProblemError, match="reveals W and protects"):
            ch.disclose(law, **asked)
    assert ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 3), reveal="W").codes > 1


def test_sensors_that_make_no_sense():
    bsc = ch.bsc(F(1, 10))
    with pytest.raises(LawError, match="1 sensors"):
        ch.Sensors(THIRD, [bsc])
    with pytest.raises(LawError, match="sensor 2"):
        ch.Sensors(THIRD, [bsc, bsc], scores=[[0, 1], [0, 1, 2]])
    with pytest.raises(LawError, match="sensor 1"):
        ch.Sensors(THIRD, [bsc, bsc], scores=[[0, 0.5], [0, 1]])
    with pytest.raises(LawError, match="sensor 1"):
        ch.Sensors(THIRD, [bsc, bsc], scores=[[0, True], [0, 1]])
    for scores in ([[0, 1]], [[0, 1]] * 3):
        with pytest.raises(LawError, match=f"{len(scores)} rows of scores for 2 sensors"):
            ch.Sensors(THIRD, [bsc, bsc], scores=scores)
    with pytest.raises(LawError, match="excludes a value of W"):
        ch.Sensors(THIRD, [ch.bec(F(1, 2)), bsc])
    with pytest.raises(LawError, match="3 values"):
        ch.Sensors([F(1, 3)] * 3, [[[F(1, 2), F(1, 2)]] * 3] * 2)
    with pytest.raises(LawError, match="levels"):
        ch.Sensors(THIRD, [bsc, bsc], levels=1)
    with pytest.raises(ProblemError, match="order=2"):
        ch.disclose(ch.Sensors(THIRD, [bsc, bsc]), order=2)


def test_a_thousand_samples_are_solved_and_verified_exactly():
    d = ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 1000))
    assert d.verify()["verified"]
    assert d.gap < 1e-9
    # The information falls towards C_1(0) = 0 like 1/n: at n = 1000 it is about half of what it is at n = 500.
    half = ch.disclose(ch.Exchangeable(THIRD, ch.bsc(F(1, 10)), 500))
    assert half.information / d.information == pytest.approx(2, rel=2e-3)
