"""Budgets in bits and as ratios, and several laws at once: kept exactly, bounded rigorously, verified independently."""

from __future__ import annotations

import math
import random
from fractions import Fraction as F
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private
from scale import rejected
from scipy.optimize import linprog

import choral as ch
from choral.describe.numbers import nonnegative
from choral.errors import ChoralError, LawError, ProblemError
from choral.problem.solution import Status

COPY = ch.examples.noisy_copies(1)  # P(W=1) = 1/3, X1 through BSC(1/10)


def h(*law):
    return -sum(float(p) * math.log2(p) for p in law if p > 0)


def joint_with(disclosure, names):
    """p(values of these columns, y), recomputed from the law and the exact rows alone."""
    law, problem = disclosure.law, disclosure.problem
    used = [law.position(name) for name in problem.columns]
    where = [law.position(name) for name in names]
    rows = dict(zip(problem.states, zip(*disclosure.exact, strict=True), strict=True))
    found = {}
    for values, p in law.items():
        z = tuple(values[i] for i in where)
        for y, share in enumerate(rows[tuple(values[i] for i in used)]):
            found[z, y] = found.get((z, y), 0) + p * share
    return found


def sides(joint):
    left, right = {}, {}
    for (z, y), p in joint.items():
        left[z] = left.get(z, 0) + p
        right[y] = right.get(y, 0) + p
    return left, right


def bits(joint):
    left, right = sides(joint)
    return h(*left.values()) + h(*right.values()) - h(*joint.values())


def largest_ratio(joint):
    left, right = sides(joint)
    pairs = [(joint[z, y], left[z] * right[y]) for z, y in joint]
    return max(max(a / b, b / a if a else math.inf) for a, b in pairs)


@st.composite
def small_laws(draw):
    shape = draw(st.sampled_from([(2, 2), (2, 3), (3, 2), (2, 2, 2)]))
    weight = draw(st.sampled_from([st.integers(0, 6), st.integers(1, 9), st.integers(1, 10**9)]))
    counts = {x: draw(weight) for x in product(range(2), *map(range, shape))}
    for w in range(2):
        counts[(w, *([w] * len(shape)))] = 3
    names = ["W", *(f"X{i + 1}" for i in range(len(shape)))]
    return ch.Joint.from_counts(counts, names, [range(2), *map(range, shape)])


# ---- against other derivations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "alpha", "value"), [("output", 0.1, 0.2039), ("output", 0.3, 0.5810), ("full", 0.1, 0.4278)]
)
def test_the_measured_points_of_the_trade_off(model, alpha, value):
    [point] = ch.tradeoff(COPY, leakage=[alpha], model=model)
    assert round(point.information, 4) == value
    assert point.upper_bound - point.information <= 1.1e-6
    assert point.disclosure.verify()["verified"]


@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.25, 0.4])
def test_output_perturbation_against_a_grid(alpha):
    """The curator sees a bit W: choose a law of posteriors t with mean 1/3; a linear program on a grid of t."""
    t = np.linspace(0, 1, 3001)
    cost = np.array([h(x, 1 - x) for x in t])
    noisy = np.array([h(0.1 + 0.8 * x, 0.9 - 0.8 * x) for x in t])
    x = 0.1 + 0.8 / 3
    left = h(x, 1 - x) - alpha
    found = linprog(cost, A_ub=[-noisy], b_ub=[-left], A_eq=[np.ones_like(t), t], b_eq=[1, 1 / 3])
    on_grid = h(1 / 3, 2 / 3) - found.fun  # achieved, so at most the truth; the grid costs at most its step squared
    [point] = ch.tradeoff(COPY, leakage=[alpha])
    assert on_grid <= point.upper_bound + 1e-9
    assert point.information <= on_grid + 1e-5


@pytest.mark.parametrize("rho", [F(21, 20), F(3, 2), F(3)])
def test_a_ratio_on_a_bit_in_closed_form(rho):
    """P(X=1|y) = 1/10 + 8/10 t must stay within a factor: t fills an interval, and its two ends are best."""
    x1 = F(1, 10) + F(8, 10) / 3
    x0 = 1 - x1
    low = max(x1 / rho, 1 - x0 * rho)
    high = min(x1 * rho, 1 - x0 / rho)
    a, b = (max(F(0), min(F(1), (v - F(1, 10)) * F(10, 8))) for v in (low, high))
    share = (F(1, 3) - a) / (b - a)
    truth = h(F(1, 3), F(2, 3)) - float(share) * h(b, 1 - b) - float(1 - share) * h(a, 1 - a)
    d = ch.disclose(COPY, "W", ["X1"], ["W"], ratio={"X1": rho})
    assert d.information - 1e-12 <= truth <= d.upper_bound + 1e-12
    assert d.gap <= 1.1e-6
    d.verify()


def test_the_curves_are_concave_and_end_where_they_should():
    top = COPY.mutual_information("W", "X1")
    alphas = [top * k / 8 for k in range(9)]
    for model, start in (("output", 0.0), ("full", 0.1924943)):
        points = ch.tradeoff(COPY, leakage=alphas, model=model)
        assert abs(points[0].information - start) < 1e-6
        assert abs(points[-1].information - h(F(1, 3), F(2, 3))) < 2e-6
        for a, b, c in zip(points, points[1:], points[2:], strict=False):
            assert a.information <= b.upper_bound
            assert (a.information + c.information) / 2 <= b.upper_bound + 1e-12
        assert all(p.achieved_leakage <= float(alpha) + 1e-15 for p, alpha in zip(points, alphas, strict=True))


# ---- kept, and bounded, on random laws --------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(small_laws(), st.sampled_from([0.001, 0.02, 0.2]), st.sampled_from(["21/20", "3/2", 4]), st.integers(0, 2))
def test_budgets_are_kept_and_verified(law, alpha, rho, which):
    asked = {"leakage": {"X1": alpha}} if which == 0 else {"ratio": {"X1": rho}}
    if which == 2:
        asked["leakage"] = {"X2": alpha}
    d = ch.disclose(law, **asked)
    assert d.verify()["verified"]
    assert d.gap <= (1.1e-6 if d.status is Status.OPTIMAL else 2e-3)  # nine of 300 such laws
    kept = {"X1": asked.get("leakage", {}).get("X1"), "X2": asked.get("leakage", {}).get("X2")}
    for name, budget in kept.items():
        if budget is not None:
            assert bits(joint_with(d, [name])) <= budget + 1e-12
            assert d.leakage[name] <= budget
    if "ratio" in asked:
        assert largest_ratio(joint_with(d, ["X1"])) <= F(rho)
    for name in law.names[1:]:
        if name not in {*asked.get("leakage", {}), *asked.get("ratio", {})}:
            joint = joint_with(d, [name])
            left, right = sides(joint)
            assert all(p == left[z] * right[y] for (z, y), p in joint.items())


@settings(deadline=None, max_examples=20)
@given(small_laws(), st.sampled_from([0.005, 0.1]), st.integers(0, 10**6))
def test_no_channel_within_the_budgets_beats_the_bound(law, alpha, seed):
    """Random channels, mixed with their own mean until every column leaks at most alpha."""
    columns = list(law.names[1:])
    d = ch.disclose(law, leakage=dict.fromkeys(columns, alpha))
    states = list(dict.fromkeys(values[1:] for values, _ in law.items()))
    mass = np.zeros(
        (len(columns) + 1, 3, len(states))
    )  # p(value of W or of a column, state); no column has more values
    for values, p in law.items():
        for i, value in enumerate(values):
            mass[i, value, states.index(values[1:])] += float(p)
    rng = np.random.default_rng(seed)
    shares = np.linspace(0, 1, 41)[:, None, None]
    for _ in range(30):
        rows = rng.dirichlet(np.full(3, 0.3), size=len(states))
        mixed = (1 - shares) * rows + shares * (mass[0].sum(axis=0) @ rows)
        joint = np.einsum("czs,ksy->kczy", mass, mixed)
        told = joint_bits(joint)
        within = told[:, 1:].max(axis=1) <= alpha
        assert within[-1], "a constant channel leaks nothing"
        assert told[within.argmax(), 0] <= d.upper_bound + 1e-9


def joint_bits(joint):
    """I(Z;Y) of every joint law in an array whose last axes are z and y."""
    sides = (joint.sum(axis=-1), joint.sum(axis=-2), joint.reshape(*joint.shape[:-2], -1))
    left, right, both = (-(p * np.log2(p, where=p > 0, out=np.zeros_like(p))).sum(axis=-1) for p in sides)
    return left + right - both


@settings(deadline=None, max_examples=12)
@given(small_laws())
def test_budgets_between_nothing_and_everything(law):
    plain = ch.disclose(law)
    nothing = ch.disclose(law, leakage={"X1": 0, "X2": 0.0})
    assert nothing == plain
    columns = list(law.names[1:])
    everything = ch.disclose(law, leakage=dict.fromkeys(columns, 3))
    assert abs(everything.information - law.mutual_information("W", columns)) < 2e-6
    some = ch.disclose(law, leakage=dict.fromkeys(columns, F(1, 50)))
    assert plain.information <= some.upper_bound
    assert some.information <= everything.upper_bound
    loose = ch.disclose(law, ratio=dict.fromkeys(columns, 10**12))
    assert abs(loose.information - everything.information) < 1e-4 or loose.information <= everything.upper_bound


def test_three_target_values_codes_and_types():
    law = ch.Joint.from_array(np.array([5, 1, 2, 7, 3, 3, 1, 8, 2, 2, 6, 4]).reshape(3, 2, 2), names=["W", "X1", "X2"])
    d = ch.disclose(law, leakage={"X1": 0.01}, ratio={"X2": 2})
    assert d.gap <= 2e-6
    few = ch.disclose(law, leakage={"X1": 0.01}, ratio={"X2": 2}, codes=2)
    assert few.codes == 2
    assert few.information <= d.information + 1e-9
    assert few.verify()["verified"]
    many = ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 20), leakage={"any sample": 0.001})
    assert many.information > ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 20)).upper_bound
    assert many.verify()["verified"]
    five = ch.Joint.from_array(np.arange(1, 21).reshape(5, 2, 2) % 7 + 1, names=["W", "X1", "X2"])
    wide = ch.disclose(five, leakage={"X1": 0.01})
    assert 0 < wide.information <= wide.upper_bound
    assert wide.verify()["verified"]


def test_saved_and_loaded(tmp_path):
    d = ch.disclose(ch.examples.clinic(), "diagnosis", ratio={"glucose": "11/10"})
    d.save(tmp_path / "r.choral")
    again = ch.load(tmp_path / "r.choral")
    assert again == d
    assert again.problem.budgets == d.problem.budgets
    assert "within a factor of 11/10" in repr(again)
    other = ch.disclose(ch.examples.bsc_and_bec(), also=[ch.examples.bsc_and_bec()])
    other.save(tmp_path / "s.choral")
    assert ch.load(tmp_path / "s.choral").problem.further[0].weights == other.problem.further[0].weights


def test_stopped_before_it_began():
    d = ch.disclose(COPY, "W", ["X1"], ["W"], leakage={"X1": 0.1}, time_limit=0)
    assert (d.information, d.codes) == (0.0, 1)
    assert d.upper_bound >= 0.2038
    assert d.verify()["verified"]


# ---- several laws ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(small_laws(), st.data())
def test_private_under_every_law_and_mixture(law, data):
    support = dict(law.items())
    counts = {x: data.draw(st.integers(0, 9)) for x in support}
    counts[next(iter(support))] = 5
    other = ch.Joint.from_counts(counts, law.names, law.alphabets)
    d = ch.disclose(law, also=[other])
    assert d.verify()["verified"]
    assert exactly_private(d)
    assert d.gap <= 1e-5
    assert d.information <= ch.disclose(law).upper_bound
    rows = dict(zip(d.problem.states, zip(*d.exact, strict=True), strict=True))
    for share in (F(1), F(1, 2), F(1, 7)):
        for name in law.names[1:]:
            joint = {}
            for part, source in ((1 - share, law), (share, other)):
                for values, p in source.items():
                    for y, q in enumerate(rows[values[1:]]):
                        key = values[source.position(name)], y
                        joint[key] = joint.get(key, 0) + part * p * q
            left, right = sides(joint)
            assert all(p == left[z] * right[y] for (z, y), p in joint.items())


def test_the_row_of_masses_is_needed():
    """A code that is private under two laws but not equally likely under them tells of X through which law holds."""
    first = {
        (0, 0, 0): 3,
        (0, 0, 1): 1,
        (0, 1, 0): 1,
        (0, 1, 1): 3,
        (1, 0, 0): 1,
        (1, 0, 1): 3,
        (1, 1, 0): 3,
        (1, 1, 1): 1,
    }
    second = {(w, x, y): 1 + 4 * x + w for w, x, y in first}
    names = ["W", "X1", "X2"]
    p, q = (ch.Joint.from_counts(c, names, [range(2)] * 3) for c in (first, second))
    d = ch.disclose(p, also=[q])
    masses = []
    for law in (p, q):
        sums = [F(0)] * d.codes
        for values, share in law.items():
            for y, given_x in enumerate(d.channel_of(values[1:])):
                sums[y] += share * given_x
        masses.append(sums)
    assert masses[0] == masses[1]


# ---- forgeries ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaking():
    return ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": F(1, 20)}).document


@pytest.fixture(scope="module")
def scaled():
    return ch.disclose(ch.examples.noisy_copies(2), ratio={"X1": F(5, 4)}).document


def test_claims_that_are_not_true_are_named(leaking, scaled):
    assert rejected(leaking, lambda d: d.pop("budgets")) == "leakage"
    assert rejected(leaking, lambda d: d.update(budgets=[{"leakage": "1/40"}, None])) == "leakage of X1"
    assert rejected(leaking, lambda d: d["claims"].update(leakage=["0.000100000000000", None])) == "leakage of X1"
    assert rejected(scaled, lambda d: d.update(budgets=[{"ratio": "41/40"}, None])) == "ratio of X1"

    def strict(d):
        d.pop("budgets")
        d["claims"].pop("leakage")

    assert rejected(leaking, strict) == "privacy of X1"
    assert rejected(scaled, strict) == "privacy of X1"


@pytest.mark.parametrize(
    "budgets",
    [
        [],
        [None],
        {},
        [{"bits": "1"}, None],
        [{"leakage": "1", "ratio": "2"}, None],
        [{"leakage": "-1"}, None],
        [{"ratio": "1"}, None],
        [3, None],
    ],
)
def test_budgets_that_are_none(leaking, budgets):
    assert rejected(leaking, lambda d: d.update(budgets=budgets)) == "budgets"


def test_proofs_that_prove_nothing(leaking, scaled):
    def cheaper(d):  # multipliers that are too small for the price would promise a lower bound than is true
        d["bound"]["multipliers"] = [["0/1"] * len(row) for row in d["bound"]["multipliers"]]

    def unpriced(d):
        d["bound"].pop("prices")

    def priced(d):
        d["bound"]["prices"] = ["1/1", "0/1"]

    def fewer(d):
        for row in d["bound"]["multipliers"]:
            row.pop()
        d["bound"]["rows"].pop()

    def negative(d):
        d["bound"]["prices"][0] = "-" + d["bound"]["prices"][0]

    for change in (cheaper, unpriced, fewer, negative):
        assert rejected(leaking, change) == "upper bound"
    assert rejected(scaled, priced) == "upper bound"
    extreme = {"kind": "extreme points", "multipliers": ["0/1"] * 4}
    assert rejected(scaled, lambda d: d.update(bound=extreme)) == "upper bound"


def test_further_laws_that_are_not():
    law = ch.examples.noisy_copies(4)
    tilted = ch.Joint.from_counts({x: 1 + x[1] + x[2] for x, _ in law.items()}, law.names, law.alphabets)
    d = ch.disclose(law, also=[tilted])
    document = d.document
    assert d.codes > 1

    def heavier(d):
        d["also"][0]["cells"][0][-1] = "7fff"

    assert rejected(document, heavier) in ("further law 1", "privacy of X1", "privacy of X2")
    assert rejected(document, lambda d: d.update(also=[{"kind": "table"}])) == "law"
    assert rejected(document, lambda d: d.update(also=[{"kind": "sensors"}])) == "further law 1"
    assert rejected(document, lambda d: d["also"][0]["alphabets"][0].reverse()) == "further law 1"
    assert rejected(document, lambda d: d.update(also=3)) == "further laws"


# ---- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {"leakage": {"X1": -0.1}},
        {"leakage": {"X1": math.nan}},
        {"leakage": {"X1": "much"}},
        {"leakage": {"X9": 0.1}},
        {"leakage": 0.1},
        {"ratio": {"X1": F(1, 2)}},
        {"ratio": {"X1": None}},
        {"ratio": {"X1": 2}, "leakage": {"X1": 0.1}},
        {"also": COPY},
        {"also": [3]},
        {"also": [COPY]},
        {"also": [ch.examples.noisy_copies(2)], "ratio": {"X1": 2}},
        {"leakage": {"X1": 0.1}, "solver": "enumeration"},
    ],
)
def test_bad_budgets_are_refused(asked):
    with pytest.raises(ChoralError) as caught:
        ch.disclose(ch.examples.noisy_copies(2), **asked)
    assert caught.value.remedy


def test_bad_trade_offs_are_refused():
    for asked in (
        {"leakage": [0.6]},
        {"leakage": [-0.1]},
        {"leakage": "0.1"},
        {"leakage": [0.1], "model": "both"},
        {"leakage": [math.inf]},
    ):
        with pytest.raises(ChoralError):
            ch.tradeoff(COPY, **asked)


def test_a_law_with_states_that_the_channel_does_not_know():
    p = ch.Joint.from_counts({(0, 0, 0): 1, (1, 1, 1): 1, (0, 1, 0): 2}, ["W", "X1", "X2"], [range(2)] * 3)
    q = ch.Joint.from_counts({(0, 0, 1): 1, (1, 1, 1): 1}, ["W", "X1", "X2"], [range(2)] * 3)
    with pytest.raises(ProblemError, match="X1=0, X2=1"):
        ch.disclose(p, also=[q])


# ---- small budgets, faces of the simplex, ends ---------------------------------------------------------------------


def test_a_budget_never_tells_less_than_independence():
    law = ch.examples.noisy_copies(2)
    private = ch.disclose(law).information
    for asked in ({"leakage": {"X1": 1e-9}}, {"ratio": {"X1": 1 + F(1, 10**12)}}, {"leakage": {"X1": 1e-12}}):
        d = ch.disclose(law, **asked)
        assert d.information >= private
        assert d.verify()["verified"]
    curve = [p.information for p in ch.tradeoff(COPY, leakage=[0, 1e-12, 1e-9, 1e-7, "1/1000000"], model="full")]
    assert all(smaller <= larger + 1e-8 for smaller, larger in pairwise(curve))
    assert min(curve) == curve[0]


def test_a_target_that_the_columns_determine():
    """Posteriors lie on faces of the simplex here. W = X1 fair: I(W;Y) = I(X1;Y), so the budget itself is the optimum."""
    copy = ch.Joint.from_counts({(0, 0): 1, (1, 1): 1}, ["W", "X1"])
    d = ch.disclose(copy, "W", ["X1"], ["X1"], leakage={"X1": F(1, 10)})
    assert d.information <= 0.1 <= d.upper_bound + 1e-15
    assert d.gap <= 2e-5
    total = ch.Joint.from_counts({(a + b, a, b): 1 + a + 2 * b for a in (0, 1) for b in (0, 1)}, ["W", "X1", "X2"])
    d = ch.disclose(total, leakage={"X1": 0.1, "X2": 0.05})
    assert d.gap <= 1e-5
    assert d.verify()["verified"]


def test_a_target_of_one_value():
    law = ch.Joint.from_counts({(0, 0, 0): 9, (0, 0, 1): 8}, names=["W", "X1", "X2"])
    for asked in ({"leakage": {"X2": 1}}, {"ratio": {"X1": 10}}):
        d = ch.disclose(law, **asked)
        assert (d.information, d.upper_bound) == (0.0, 0.0)
        assert d.verify()["verified"]


def test_budgets_beyond_what_can_be_stated():
    for asked in (
        {"leakage": {"X1": 10**400}},
        {"ratio": {"X1": 10**400}},
        {"leakage": {"X1": F(1, 10**60)}},
        {"ratio": {"X1": 1 + F(1, 10**20)}},
    ):
        with pytest.raises(ProblemError):
            ch.disclose(ch.examples.noisy_copies(2), **asked)


def test_a_huge_budget_in_a_file_is_no_traceback(leaking):
    assert rejected(leaking, lambda d: d.update(budgets=[{"leakage": "f" * 400}, None])) == "upper bound"


def test_whenever_it_stops_there_is_a_channel():
    cells = {x: 1 + (3 * x[0] * x[1] + x[2] + 2 * x[3] + x[0] * x[3]) % 7 for x in product(range(4), *[range(2)] * 3)}
    law = ch.Joint.from_counts(cells, names=["W", "X1", "X2", "X3"])
    for limit in (0.05, 0.2, 0.5):
        d = ch.disclose(
            law, None, ["X1", "X2", "X3"], list(law.names), leakage={"X2": 1e-9, "X1": F(1, 10**12)}, time_limit=limit
        )
        assert d.information <= d.upper_bound
        assert d.verify()["verified"]


# ---- before solving ------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(small_laws(), st.sampled_from([{"leakage": {"X1": "0.05"}}, {"ratio": {"X1": "11/10"}}]))
def test_bounds_within_budgets_hold_for_what_is_found(law, budget):
    before = ch.bounds(law, **budget)
    d = ch.disclose(law, **budget, rel_tol=0.05)
    assert d.information <= before.upper_bound + 1e-9
    assert before.feasible or d.information == 0


def test_a_budget_gives_codes_where_independence_gives_none():
    within, d = ch.bounds(COPY, leakage={"X1": "0.05"}), ch.disclose(COPY, leakage={"X1": "0.05"})
    assert not ch.bounds(COPY).feasible
    assert within.feasible
    assert 2 <= d.codes <= within.codes_at_most
    assert d.how.startswith(ch.plan(COPY, leakage={"X1": "0.05"}).plan.solver)


def test_a_budget_does_not_help_where_another_group_settles_all():
    law = ch.Joint.from_counts({x: 1 + sum(x) for x in product(range(2), repeat=3)}, names=["W", "X1", "X2"])
    asked = {"protect": [("X1", "X2"), "X1"], "leakage": {"X1": "0.05"}}
    assert not ch.bounds(law, **asked).feasible
    assert ch.disclose(law, **asked).information == 0


@pytest.mark.parametrize("text", ["e--1", "1e--1", "1e+-2", "1e1_000_000_000", "1e"])
def test_a_budget_that_is_no_number_is_said_to_be_none(text):
    with pytest.raises(LawError):
        nonnegative(text, "the budget")


def test_a_point_with_nothing_to_tell_spoils_no_other():
    """What was made exact there took the place of another point's channel, or of none at all."""
    law = ch.Joint.from_counts({(0, 0): 3, (0, 1): 1, (1, 0): 1, (1, 1): 3}, names=["W", "X1"])
    points = ch.tradeoff(law, leakage=["0.01", "0.1", "0.00001", "0.1", "0.1"], tol=1e-3)
    assert all(p.upper_bound - p.information <= 1e-3 for p in points)
    same = ch.Joint.from_counts({(0, 0): 17, (1, 1): 44}, names=["W", "X1"])
    for budgets in (["0.000001"], ["0.5", "0.000001", "0.5"]):
        points = ch.tradeoff(same, leakage=budgets, model="full", tol=1e-3)
        assert all(p.upper_bound - p.information <= 1e-3 for p in points)


def test_a_point_that_stalled_proves_nothing_false_of_others():
    """Masses over seven decades, three values: the second point was said to be the optimum, and told nothing."""
    cells = {(0, 0): 773, (0, 1): 22, (1, 0): 2962759, (1, 1): 6771347, (2, 0): 102, (2, 1): 49}
    law = ch.Joint.from_counts(cells, names=["W", "X1"])
    points = ch.tradeoff(law, leakage=["0.00000012", "0.000115"], tol=1e-4)
    assert all(p.disclosure.status is not Status.OPTIMAL or p.upper_bound - p.information <= 1e-4 for p in points)
    assert points[1].information > 1e-3


@pytest.mark.parametrize("rare", [10**6, 10**9, 10**12])
def test_a_rare_private_value_beside_a_budget(rare):
    """Multipliers of a rare value are large: what they have in common was rounded to whole bits, and ended the search."""
    law = ch.Joint.from_counts(
        {(0, 0, 0): rare, (0, 0, 1): 1, (1, 0, 0): 3 * rare, (1, 0, 1): 3}, names=["W", "X1", "X2"]
    )
    d = ch.disclose(law, "W", use=["X1", "X2", "W"], protect=["X1", "X2"], leakage={"X1": "0.1"})
    assert d.information == pytest.approx(2 - 0.75 * math.log2(3), abs=1e-6)  # W tells nothing of either: all of it
    assert d.status is Status.OPTIMAL


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([10**3, 10**5, 10**7, 10**10]))
def test_a_status_is_about_what_is_disclosed(seed, rare):
    """Also where making a channel exact loses much of it, beside values that are rare and groups that stay private."""
    draw = random.Random(seed)
    cells = {
        (w, a, b): draw.randint(1, 9) * (rare if b == 0 else 1)
        for w in (0, 1) for a in range(draw.randint(2, 3)) for b in (0, 1)
    }  # fmt: skip
    law = ch.Joint.from_counts(cells, names=["W", "X1", "X2"])
    d = ch.disclose(law, "W", rel_tol=1e-3, leakage={"X1": draw.choice(["0.0001", "0.01", "0.1"])})
    assert d.verify()["verified"]
    assert d.status is not Status.OPTIMAL or d.gap <= 1e-3 * d.information + 2e-6


def test_a_column_of_one_value_with_the_smallest_budget():
    law = ch.Joint.from_counts({(0, 0, 0): 1, (1, 0, 1): 2}, names=["W", "X1", "X2"])
    d = ch.disclose(law, "W", protect=["X1"], leakage={"X1": "1/1000000000000"})
    assert d.information == pytest.approx(d.upper_bound, abs=1e-9)
    with pytest.raises(ch.errors.ProblemError, match="tol=1000"):
        ch.disclose(law, "W", tol=10**400)


@pytest.mark.parametrize(
    "asked", [{"leakage": {"X1": "0.00002"}}, {"ratio": {"X1": "1.0002"}}, {"leakage": {"X1": "0.001"}}]
)
def test_many_values_within_budgets_tell_no_less_than_the_private_code(asked):
    draw = random.Random(3)
    cells = {(w, a, b): draw.randint(1, 1000) for w in range(6) for a in range(3) for b in range(4)}
    law = ch.Joint.from_counts(cells, names=["W", "X1", "X2"])
    private, within = ch.disclose(law, "W", rel_tol=1e-3), ch.disclose(law, "W", rel_tol=1e-3, **asked)
    assert within.information >= private.information
    assert within.verify()["verified"]


def test_the_private_code_in_place_of_one_within_a_tiny_budget_has_no_more_codes_than_suffice():
    draw = random.Random(3)
    law = {(w, a, b): draw.randint(1, 10**6) for w in range(2) for a in range(6) for b in range(5)}
    joint = ch.Joint.from_counts(law, names=["W", "X1", "X2"])
    d = ch.disclose(joint, "W", ratio={"X2": "1000000001/1000000000"})
    assert d.codes <= d.bounds.codes_at_most
    assert d.information >= ch.disclose(joint, "W").information - 1e-9
    assert d.verify()["verified"]


@pytest.mark.parametrize("tol", [0, 5e-324, 1e-300, 1e-20])
def test_a_tolerance_beyond_floats_asks_for_no_more_lines_than_there_may_be(tol):
    d = ch.disclose(ch.examples.clinic(), "diagnosis", leakage={"smoker": "0.01"}, tol=tol, time_limit=1)
    assert 0 < d.information <= d.upper_bound
    assert d.verify()["verified"]
