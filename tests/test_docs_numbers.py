"""The numbers of the pages on fairness, budgets and differential privacy, derived again with numpy and linear programmes.

The pages run as doctests, so they show what the library says. Here nothing of the library is used but the code whose leaks a
page measures: tables are counted by numpy, and the largest information is enclosed by a linear programme of its own.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

DOCS = Path(__file__).parents[1] / "docs"
CLOSE = 2e-5
"""Bits between the bounds of an enclosure: a number of four decimals is half of 10⁻⁴ wide on each side."""

REACH = 0.04
"""How far from where it was found a cut is made: it holds everywhere, and helps nearby."""


def information(joint):
    """I in bits of a matrix p(a, y)."""
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    some = joint > 0
    return float(np.sum(joint[some] * np.log2(joint[some] / apart[some])))


def entropy(p):
    return float(-sum(x * math.log2(x) for x in p if x > 0))


def given(joint, about, known):
    """I(about; Y | known) of an array p(x₁, …, y) by the axes of its columns, the last one the code."""
    rest = tuple(i for i in range(joint.ndim - 1) if i not in (*about, *known))
    small = joint.sum(axis=rest)
    order = sorted((*about, *known))
    small = np.moveaxis(small, [order.index(i) for i in known], range(len(known)))
    small = small.reshape(math.prod(small.shape[: len(known)]), -1, joint.shape[-1])
    return sum(part.sum() * information(part / part.sum()) for part in small if part.sum() > 0)


class Enclosure:
    """The most that a code of states tells about a binary target, enclosed.

    Codes with equal s = P(W=1 | code) can be made one: that loses no information, and leaks no more. So a code is its s. The
    interval [0, 1] is cut into cells, with one code in each; on a cell -h(s) lies below its chord, so the programme
    that counts chords is never below the truth. Its solution is a channel, whose information is never above.

    A leak is Σ m(z) log(m(z) / (m p(z))) ≥ Σ m(z) log(q(z) / p(z)) for each law q (Gibbs), which gives linear cuts. A channel
    that leaks too much is erased with the probability that makes the leak right.
    """

    def __init__(self, p, p1, groups, ratio=None, leakage=None):
        self.p, self.p1, self.ratio, self.leakage = p, p1, ratio, leakage
        self.groups = [np.array([[z == v for z in group] for v in sorted(set(group))], float) for group in groups]
        self.edges = list(np.sin(np.linspace(0, np.pi / 2, 17)) ** 2)
        self.cuts = [[] for _ in self.groups]
        self.prior = entropy([p @ p1, 1 - p @ p1])

    def bounds(self, close=CLOSE, rounds=40):
        best, least = 0.0, math.inf
        for _ in range(rounds):
            upper, mass = self._solve()
            best, least = max(best, self._achieved(mass)), min(least, upper)
            assert best <= least + 1e-9
            if least - best < close:
                return best, least
        raise AssertionError(f"{best} to {least} after {rounds} rounds")

    def upper(self, rounds):
        """What no code exceeds, after some rounds of cuts."""
        found = math.inf
        for _ in range(rounds):
            upper, mass = self._solve()
            found = min(found, upper)
            self._achieved(mass)
        return found

    def _solve(self):
        """The programme over the masses m_k(x), and what each cell leaks at least about each group."""
        low, high = np.array(self.edges[:-1]), np.array(self.edges[1:])
        cells, states = len(low), len(self.p)
        eye = sparse.identity(cells)

        def each(rows):
            return sparse.kron(eye, sparse.csr_matrix(rows))

        values = [-entropy([s, 1 - s]) for s in self.edges]
        slopes = np.diff(values) / (high - low)
        gain = np.outer(np.array(values[:-1]) - slopes * low, np.ones(states)) + np.outer(slopes, self.p1)
        equal, right = [sparse.kron(np.ones((1, cells)), sparse.identity(states))], [self.p]
        below = [
            sparse.kron(sparse.diags(low), np.ones((1, states))) - sparse.kron(eye, self.p1[None, :]),
            sparse.kron(eye, self.p1[None, :]) - sparse.kron(sparse.diags(high), np.ones((1, states))),
        ]
        budgets = len(self.groups) if self.leakage is not None else 0
        for g, group in enumerate(self.groups):
            prior = (group @ self.p)[:, None]
            if self.ratio is not None:
                below += [each(group - self.ratio * prior), each(prior / self.ratio - group)]
            elif not budgets:
                equal.append(each(group - prior))
                right.append(np.zeros(cells * len(group)))
            else:
                for share, law in self.cuts[g]:
                    near = [k for k in range(cells) if low[k] - REACH <= share <= high[k] + REACH]
                    chosen = sparse.identity(cells, format="csr")[near]
                    told = sparse.kron(sparse.identity(budgets, format="csr")[g], -chosen)
                    below.append((sparse.kron(chosen, (np.log2(law / prior[:, 0]) @ group)[None, :]), told))
        wide = [part if isinstance(part, tuple) else (part, None) for part in below]
        empty = cells * budgets
        rows = [
            sparse.hstack([one, t if t is not None else sparse.csr_matrix((one.shape[0], empty))]) for one, t in wide
        ]
        most = np.zeros(sum(one.shape[0] for one in rows))
        if budgets:
            total = sparse.kron(sparse.identity(budgets), np.ones((1, cells)))
            rows.append(sparse.hstack([sparse.csr_matrix((budgets, cells * states)), total]))
            most = np.concatenate([most, np.full(budgets, self.leakage)])
        fixed = sparse.vstack([sparse.hstack([one, sparse.csr_matrix((one.shape[0], empty))]) for one in equal])
        goal = -np.concatenate([gain.ravel(), np.zeros(empty)])
        found = linprog(goal, sparse.vstack(rows).tocsr(), most, fixed.tocsr(), np.concatenate(right), method="highs")
        assert found.status == 0, found.message
        return self.prior - found.fun, found.x[: cells * states].reshape(cells, states).clip(0)

    def _achieved(self, mass):
        """The information of the programme's channel; cells that it uses are cut, and their leaks become cuts."""
        mass = mass * (self.p / mass.sum(axis=0))
        told = information(np.array([mass @ self.p1, mass @ (1 - self.p1)]))
        sizes = mass.sum(axis=1)
        used = np.flatnonzero(sizes > 1e-9)
        shares = (mass[used] @ self.p1) / sizes[used]
        inside = [s for s, k in zip(shares, used, strict=True) if min(s - self.edges[k], self.edges[k + 1] - s) > 1e-3]
        self.edges = sorted({*self.edges, *inside})
        if self.leakage is None:
            return told
        kept = 1.0
        for g, group in enumerate(self.groups):
            joint = group @ mass.T
            kept = min(kept, self.leakage / max(information(joint), 1e-300))
            prior = group @ self.p
            self.cuts[g] += [
                (s, 0.9999 * joint[:, k] / sizes[k] + 0.0001 * prior) for s, k in zip(shares, used, strict=True)
            ]
        return told * min(1.0, kept)


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def only(pattern, text):
    [found] = re.findall(pattern, text)
    return [float(number) for number in (found if isinstance(found, tuple) else (found,))]


def enclosed(shown, bounds, decimals=4):
    """Whether a number that was rounded can be within bounds."""
    half = 0.5 * 10**-decimals
    return bounds[0] - half - 1e-9 <= shown <= bounds[1] + half + 1e-9


# The survey of the fairness page, counted.

AGES, DEVOUT, HAPPY, MARRIED = range(1, 5)
FEATURES = (AGES, DEVOUT, HAPPY, MARRIED)


@pytest.fixture(scope="module")
def survey():
    """p(affair, age, devout, happy, married), each column's values in increasing order of what was asked."""
    import statsmodels.api as sm

    asked = sm.datasets.fair.load_pandas().data
    columns = [
        np.where(asked.affairs > 0, 1, 0),
        np.digitize(asked.age, [27, 35]),
        np.where(asked.religious >= 3, 1, 0),
        np.digitize(asked.rate_marriage, [4, 5]),
        np.digitize(asked.yrs_married, [5, 12]),
    ]
    counts = np.zeros((2, 3, 2, 3, 3))
    np.add.at(counts, tuple(columns), 1)
    assert counts.sum() == 6366
    return counts / 6366


def states(survey, used, protected):
    """p(x), P(affair | x) and the values of the protected groups, over the used columns' combinations that occur."""
    rest = tuple(i for i in range(survey.ndim) if i not in (*used, 0))
    joint = survey.sum(axis=rest) if rest else survey
    looks = 0 in used
    keys, p, p1 = [], [], []
    for x in product(*map(range, joint.shape[1:])):
        none, some = joint[(0, *x)], joint[(1, *x)]
        values = dict(zip([i for i in range(1, survey.ndim) if i in used], x, strict=True))
        for weight, share in ((none, 0.0), (some, 1.0)) if looks else ((none + some, some / max(none + some, 1e-300)),):
            if weight > 0:
                keys.append(values)
                p.append(weight)
                p1.append(share)
    return np.array(p), np.array(p1), [[tuple(one[i] for i in group) for one in keys] for group in protected]


PREDICTORS = {
    "parity by age and by devout": (FEATURES, [(AGES,), (DEVOUT,)]),
    "parity by every combination": (FEATURES, [(AGES, DEVOUT)]),
}


@pytest.mark.parametrize("way", PREDICTORS)
def test_predictors(survey, way):
    used, protected = PREDICTORS[way]
    told, everything, upper = only(
        rf"{way} +([\d.]+) bits of ([\d.]+); no such code exceeds ([\d.]+)", page("fairness.md")
    )
    found = Enclosure(*states(survey, used, protected)).bounds()
    assert told <= found[1] + 5e-5
    assert told >= found[0] * (1 - 1e-3) - 5e-5, "the page asks for the best within 0.1 %"
    assert found[0] - 5e-5 <= upper <= told * (1 + 1e-3) + 1e-4
    assert everything == pytest.approx(information(survey.reshape(2, -1)), abs=5.1e-5)


def test_a_predictor_that_may_not_look_at_what_it_protects(survey):
    """States are (happy, married); age and devout given the state are random, and rows of the programme are p(z | x)."""
    told, everything, _ = only(
        r"without looking at them +([\d.]+) bits of ([\d.]+); .* exceeds ([\d.]+)", page("fairness.md")
    )
    assert everything == pytest.approx(information(survey.sum(axis=(1, 2)).reshape(2, -1)), abs=5.1e-5)
    p = survey.sum(axis=(0, 1, 2)).ravel()
    p1 = survey[1].sum(axis=(0, 1)).ravel() / p
    found = Enclosure(p, p1, [])
    found.groups = [survey.sum(axis=(0, 2)).reshape(3, -1) / p, survey.sum(axis=(0, 1)).reshape(2, -1) / p]
    assert enclosed(told, found.bounds())


@pytest.mark.parametrize(("protected", "line"), [([(AGES,), (DEVOUT,)], 0), ([(AGES, DEVOUT)], 1)])
def test_repaired_labels(survey, protected, line):
    shown = re.findall(r"^([\d.]+) bits of ([\d.]+)$", page("fairness.md"), re.MULTILINE)[line]
    assert enclosed(float(shown[0]), Enclosure(*states(survey, (0, *FEATURES), protected)).bounds())
    assert float(shown[1]) == pytest.approx(entropy(survey.sum(axis=(1, 2, 3, 4))), abs=5.1e-5)


def test_the_rates_without_parity(survey):
    """Accepted are combinations in which an affair is likelier than on average."""
    everyone = survey.sum(axis=0)
    likely = survey[1] > survey[1].sum() * everyone
    rates = [(everyone * likely)[z].sum() / everyone[z].sum() for z in ((2, 0), (0, 1))]
    assert "'{:.2f} against {:.2f}'".format(*rates) in page("fairness.md")


# Budgets.

CLINIC = np.array([(70, 18, 12, 32, 15, 38, 33, 12), (10, 27, 18, 8, 25, 12, 17, 53)]) / 400


@pytest.mark.parametrize(
    ("line", "budget"),
    [(0, {}), (1, {"leakage": 0.001}), (2, {"leakage": 0.01}), (3, {"ratio": 21 / 20}), (4, {"ratio": 5 / 4})],
    ids=["private", "0.001 bits", "0.01 bits", "ratio 21/20", "ratio 5/4"],
)
def test_budgets_of_the_clinic(line, budget):
    told, leak = re.findall(r"^([\d.]+) bits, at most ([\d.]+) about a column$", page("budgets.md"), re.MULTILINE)[line]
    columns = list(zip(*product((0, 1), repeat=3), strict=True))
    found = Enclosure(CLINIC.sum(axis=0), CLINIC[1] / CLINIC.sum(axis=0), columns, **budget)
    assert enclosed(float(told), found.bounds(close=5 * CLOSE if "leakage" in budget else CLOSE))
    if "leakage" in budget:
        assert float(leak) == budget["leakage"], "a budget that binds is used up"
    elif "ratio" in budget:
        most = max(_most_of_ratio(CLINIC.sum(axis=0)[np.array(z) == 1].sum(), budget["ratio"]) for z in columns)
        assert 0 < float(leak) <= most + 5e-5
    else:
        assert float(leak) == 0


def _most_of_ratio(p, r):
    """The most that is told about a binary value of probability p where no posterior leaves the ratio: its ends alone."""
    low, high = max(p / r, 1 - (1 - p) * r), min(p * r, 1 - (1 - p) / r)
    share = (p - low) / (high - low)
    return entropy([p, 1 - p]) - share * entropy([high, 1 - high]) - (1 - share) * entropy([low, 1 - low])


def test_the_curve_of_one_column():
    """C_1(α): s is P(W=1 | code), X = 1 with probability 0.1 + 0.8 s. A programme over a grid of s."""
    shown = re.findall(r"^(0\.\d) ([\d.]+)$", page("budgets.md"), re.MULTILINE)
    assert [float(alpha) for alpha, _ in shown] == [0, 0.1, 0.3]
    grid = np.unique([*np.linspace(0, 1, 3001), 1 / 3])
    told = entropy([1 / 3, 2 / 3]) - np.array([entropy([s, 1 - s]) for s in grid])
    x = 0.1 + 0.8 * grid
    leak = entropy([11 / 30, 19 / 30]) - np.array([entropy([s, 1 - s]) for s in x])
    for alpha, number in shown:
        best = linprog(
            -told, leak[None, :], [float(alpha)], np.array([np.ones_like(grid), grid]), [1, 1 / 3], method="highs"
        )
        assert float(number) == pytest.approx(-best.fun, abs=1e-4)


# Beside differential privacy.


def responded(survey, columns, truth):
    """p(affair, …, married, Y) of a randomised response of columns, by its formula; and ε."""
    shape = [survey.shape[i] for i in columns]
    categories = list(product(*map(range, shape)))
    lie = (1 - truth) / (len(categories) - 1)
    told = np.zeros((*survey.shape, len(categories)))
    for y, category in enumerate(categories):
        match = np.ones(survey.shape, bool)
        for i, value in zip(columns, category, strict=True):
            match &= np.indices(survey.shape)[i] == value
        told[..., y] = survey * np.where(match, truth, lie)
    return told, math.log(truth / lie)


RESPONSES = {
    "of the record": FEATURES,
    "of happy, married": (HAPPY, MARRIED),
    "of happy and married": (HAPPY, MARRIED),
    "of the outcome": (0,),
    ", equal utility ": (0,),
    ", 0.01 bits of age": (0,),
}


def three(told):
    return [given(told, (axis,), ()) for axis in (0, AGES, DEVOUT)]


def test_randomised_responses_of_the_page(survey):
    """Each `show(…, *response(J, columns, truth))` with the line below it."""
    text = page("differential-privacy.md")
    asked = [float(x) for x in re.findall(r'response\(J, .*"([\d.]+)"\)', text)]
    lines = re.findall(r"^response(.{0,27}?) +ε = +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    of_survey = [line for line in lines if "choral" not in line[0]]
    assert len(asked) == len(of_survey) == 6
    for truth, (name, *numbers) in zip(asked, of_survey, strict=True):
        [columns] = {RESPONSES[key] for key in RESPONSES if key.strip() in name}
        told, epsilon = responded(survey, columns, truth)
        assert [f"{epsilon:.2f}", *(f"{b:.4f}" for b in three(told))] == numbers, name


def test_the_table_beside_opendp(survey):
    """Truths are rounded there, so that the last digit may differ by one."""
    rows = re.findall(
        r"^\| response (.*?), equal \w+ \| ([\d.]+) \| (.*) \|$", page("differential-privacy.md"), re.MULTILINE
    )
    assert len(rows) == 6
    for name, truth, numbers in rows:
        told, epsilon = responded(survey, RESPONSES[name], float(truth))
        shown = [float(number) for number in numbers.split(" | ")]
        assert shown[0] == pytest.approx(epsilon, abs=0.011)
        assert shown[1:] == pytest.approx(three(told), abs=2.5e-4)


@pytest.mark.parametrize(
    ("name", "used", "rounds"), [("choral", FEATURES, 8), ("choral holding the outcome", (0, *FEATURES), 25)]
)
def test_budgets_of_the_survey(survey, name, used, rounds):
    """Between what is told without a budget and what cuts prove that no code within it exceeds, a twentieth above at most."""
    text = page("differential-privacy.md")
    [private] = only(rf"\| {name}, exactly private \| *\| *\| ([\d.]+)", text)
    [shown] = only(rf"\| {name}, budget of 0.01 bits \| *\| *\| ([\d.]+)", text)
    upper = Enclosure(*states(survey, used, [(AGES,), (DEVOUT,)]), leakage=0.01).upper(rounds)
    assert private < shown <= upper + 5e-5 < 1.05 * shown


def test_what_the_codes_of_the_page_tell(survey):
    """The channels are the library's; what they tell, about whom and knowing what, is computed from arrays."""
    import choral as ch

    names = ["affair", "age", "devout", "happy", "married"]
    words = [
        ("none", "some"),
        ("< 27", "27-34", "35+"),
        ("no", "yes"),
        ("less", "well", "very"),
        ("< 5", "5-11", "12+"),
    ]
    counts = {
        tuple(w[i] for w, i in zip(words, x, strict=True)): round(6366 * survey[x])
        for x in product(*map(range, survey.shape))
    }
    law = ch.Joint.from_counts({x: n for x, n in counts.items() if n}, names=names)

    def coded(d):
        told = np.zeros((*survey.shape, d.codes))
        for x in product(*map(range, survey.shape)):
            if survey[x]:
                told[x] = survey[x] * np.array(
                    d.channel_of(dict(zip(names, (w[i] for w, i in zip(words, x, strict=True)), strict=True))), float
                )
        return told

    text = page("differential-privacy.md")
    features = names[1:]
    code = coded(ch.disclose(law, "affair", ["age", "devout"], features, codes=8, rel_tol=1e-3))
    shown = re.findall(r"^choral +ε = +inf +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert [f"{abs(b):.4f}" for b in three(code)] == list(shown[0])
    rest = (DEVOUT, HAPPY, MARRIED)
    record, _ = responded(survey, FEATURES, 0.802)
    assert f"({given(code, (AGES,), rest):.2f}, {given(record, (AGES,), rest):.2f})" in text
    lie = 0.1 / 7
    noisy = code @ (lie + (0.9 - lie) * np.eye(8))
    [numbers] = re.findall(
        r"^response of choral's code +ε = ([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", text, re.MULTILINE
    )
    assert [f"{math.log(0.9 / lie):.2f}", *(f"{abs(b):.4f}" for b in three(noisy))] == list(numbers)
    budget = {"age": "0.01", "devout": "0.01"}
    allowed = three(coded(ch.disclose(law, "affair", ["age", "devout"], features, leakage=budget, rel_tol=1e-3)))
    assert f"'{allowed[0]:.3f}'" in text
    assert max(allowed[1:]) <= 0.01 + 1e-12
    repaired = coded(ch.disclose(law, "affair", ["age", "devout"], ["affair", *features]))
    assert [f"{abs(b):.4f}" for b in three(repaired)] == list(shown[1])
    assert f"\n{given(repaired, (AGES,), (0,)):.3f}\n" in text


def test_conditions_by_the_rank_within_the_group():
    """The numbers of the page about groups where one promise is made, from the closed form, written out in floats."""
    law = {
        (w, z, v, x): 1 + (5 * z + 3 * v + 2 * x * w + 7 * w * v + z * x) % 9
        for w in range(2)
        for z in range(2)
        for v in range(3)
        for x in range(4)
    }
    total = sum(law.values())

    def h(p):
        return sum(-q * math.log2(q) for q in (p, 1 - p) if q)

    def told(group, condition):
        left = 0.0
        for c in {condition(z, v) for _, z, v, _ in law}:
            inside = sorted({(z, v, x) for _, z, v, x in law if condition(z, v) == c})
            weight = {s: law[0, *s] + law[1, *s] for s in inside}
            parts = {g: [s for s in inside if group(*s[:2]) == g] for g in {group(*s[:2]) for s in inside}}
            ends, here = {0.0}, sum(weight.values())
            for states in parts.values():
                states.sort(key=lambda s: law[1, *s] / (law[0, *s] + law[1, *s]))
                mine = sum(weight[s] for s in states)
                ends |= {round(sum(weight[s] for s in states[: k + 1]) / mine, 12) for k in range(len(states))}
            for start, end in pairwise(sorted(ends)):
                t = 0.0
                for states in parts.values():
                    mine, at = sum(weight[s] for s in states), 0.0
                    for s in states:
                        at += weight[s] / mine
                        if at > (start + end) / 2:
                            t += mine / here * law[1, *s] / weight[s]
                            break
                left += here / total * (end - start) * h(t)
        return h(sum(n for (w, *_), n in law.items() if w) / total) - left

    page = (DOCS / "protect-pairs.md").read_text(encoding="utf-8")
    for name, group, condition in (
        ("Z", lambda z, v: z, lambda z, v: 0),
        ("Z+V", lambda z, v: (z, v), lambda z, v: 0),
        ("Z | V", lambda z, v: z, lambda z, v: v),
    ):
        assert f"{told(group, condition):.4f} bits  {name}\n" in page
