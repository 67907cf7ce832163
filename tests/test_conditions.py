"""Promises given what others know: exact, optimal, verified, and refused where they make no sense."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import choral as ch
from choral.errors import ChoralError, ColumnError, ProblemError, VerificationError
from choral.exact import certificate
from choral.solvers.reference import solve

NAMES = ["W", "Z", "V", "X"]
KINDS = [
    (["Z", "Z | V"], ["Z", "V", "X"]),
    (["Z | V"], ["Z", "V", "X"]),
    (["Z", "Z | W"], ["Z", "V", "X"]),
    (["Z | W=1"], ["Z", "V", "X"]),
    (["Z", "Z | V"], ["Z", "X"]),
    (["V", "Z | V+X"], ["Z", "V", "X"]),
    (["Z+V | W"], ["Z", "V", "X"]),
]


@st.composite
def laws(draw):
    """Two values of W and Z, two or three of V and X, some cells empty, every value of W, Z and V there."""
    sizes = [2, 2, draw(st.integers(2, 3)), 2 if draw(st.booleans()) else 1]
    cells = list(np.ndindex(*sizes))
    counts = draw(st.lists(st.integers(0, 6), min_size=len(cells), max_size=len(cells)))
    table = {cell: n for cell, n in zip(cells, counts, strict=True) if n}
    for k, size in enumerate(sizes):
        for value in range(size):
            if not any(cell[k] == value for cell in table):
                table[tuple(value if i == k else 0 for i in range(len(sizes)))] = 1
    return ch.Joint.from_counts(table, names=NAMES)


def joint_with_code(law, d, hidden, known):
    """Weights of (z, v, y) from the law's cells and the channel, without choral's own sums."""
    at = [law.names.index(c) for c in d.problem.columns]
    found = Counter()
    for cell, weight in law.cells.items():
        values = [alphabet[i] for alphabet, i in zip(law.alphabets, cell, strict=True)]
        row = d.channel_of(tuple(values[i] for i in at))
        z, v = (tuple(values[law.names.index(c)] for c in side) for side in (hidden, known))
        for y, p in enumerate(row):
            found[z, v, y] += weight * p
    return found


def kept(law, d, promise):
    """Whether p(z, v, y) p(v) = p(z, v) p(v, y) for all of them, in fractions."""
    hidden, _, known = promise.partition("|")
    known, _, only = known.strip().partition("=")
    hidden, known = hidden.strip().split("+"), [c for c in known.split("+") if c]
    joint = joint_with_code(law, d, hidden, known)
    zv, vy, of_v = Counter(), Counter(), Counter()
    for (z, v, y), mass in joint.items():
        zv[z, v] += mass
        vy[v, y] += mass
        of_v[v] += mass
    return all(
        joint[z, v, y] * of_v[v] == zv[z, v] * vy[v, y]
        for z, v in zv
        for y in range(d.codes)
        if not only or str(v[0]) == only
    )


def rows_under(law, other, promises, use, states, prior):
    """The equations of promises under another law, per unit of the first law's mass; with those that mixtures need."""
    at = {c: law.names.index(c) for c in law.names}
    here = [
        (tuple(law.alphabets[at[c]][i] for c, i in zip(law.names, cell, strict=True)), n)
        for cell, n in law.cells.items()
    ]
    there = [(tuple(other.alphabets[at[c]][i] for c, i in zip(law.names, cell, strict=True)), n)
             for cell, n in other.cells.items()]  # fmt: skip

    def seen(cells, columns, value=None):
        found, total = Counter(), 0
        for cell, n in cells:
            if value is None or tuple(cell[at[c]] for c in columns) == value:
                found[tuple(cell[at[c]] for c in use)] += n
                total += n
        return found, total

    def equal(a, b):
        """The code is as likely given one as given the other."""
        (a, m), (b, n) = a, b
        return [[(F(a[s], m) - F(b[s], n)) / prior[s] for s in states]] if m and n else []

    rows = equal(seen(here, []), seen(there, []))
    for promise in promises:
        hidden, _, known = promise.partition("|")
        known, _, only = known.strip().partition("=")
        hidden, known = hidden.strip().split("+"), [c for c in known.split("+") if c]
        for v in {tuple(cell[at[c]] for c in known) for cell, _ in there}:
            if only and str(v[0]) != only:
                continue
            among = seen(there, known, v)
            rows += equal(seen(here, known, v), among)
            for z in {tuple(cell[at[c]] for c in hidden) for cell, _ in there}:
                rows += equal(seen(there, [*hidden, *known], (*z, *v)), among)
    return rows


def best(law, promises, use, also=()):
    """I_s by listing the vertices of the posteriors' polytope, built from the cells alone, and a linear program."""
    at = {c: law.names.index(c) for c in law.names}
    total = sum(law.cells.values())
    states = sorted({tuple(cell[at[c]] for c in use) for cell in law.cells})
    prior, target = Counter(), Counter()
    for cell, n in law.cells.items():
        s = tuple(cell[at[c]] for c in use)
        prior[s] += n
        target[s, cell[at["W"]]] += n
    rows = [[F(1)] * len(states)]
    for promise in promises:
        hidden, _, known = promise.partition("|")
        known, _, only = known.strip().partition("=")
        hidden, known = hidden.strip().split("+"), [c for c in known.split("+") if c]
        zv, of_v = Counter(), Counter()
        seen, seen_v = Counter(), Counter()
        for cell, n in law.cells.items():
            s = tuple(cell[at[c]] for c in use)
            z, v = tuple(cell[at[c]] for c in hidden), tuple(cell[at[c]] for c in known)
            if only and str(law.alphabets[at[known[0]]][v[0]]) != only:
                continue
            zv[z, v] += n
            of_v[v] += n
            seen[s, z, v] += n
            seen_v[s, v] += n
        for z, v in zv:
            rows.append([(seen[s, z, v] - F(zv[z, v], of_v[v]) * seen_v[s, v]) / prior[s] for s in states])
    named = [tuple(law.alphabets[at[c]][i] for c, i in zip(use, s, strict=True)) for s in states]
    masses = dict(zip(named, (prior[s] for s in states), strict=True))
    for other in also:
        rows += rows_under(law, other, promises, use, named, masses)
    independent = []
    for row in rows:
        if np.linalg.matrix_rank(np.array([*independent, row], dtype=float)) > len(independent):
            independent.append(row)
    right = [F(1)] + [F(0)] * (len(independent) - 1)
    vertices = set()
    for columns in combinations(range(len(states)), len(independent)):
        x = solve([[row[j] for j in columns] for row in independent], right)
        if x is not None and min(x) >= 0:
            point = [F(0)] * len(states)
            for j, value in zip(columns, x, strict=True):
                point[j] = value
            vertices.add(tuple(point))
    vertices = sorted(vertices)

    def entropy(ps):
        return -sum(float(p) * math.log2(p) for p in ps if p)

    def posterior(t):
        return [sum(t[k] * F(target[s, w], prior[s]) for k, s in enumerate(states)) for w in range(2)]

    cost = [entropy(posterior(t)) for t in vertices]
    equal = np.array([[float(t[k]) for t in vertices] for k in range(len(states))])
    found = scipy.optimize.linprog(cost, A_eq=equal, b_eq=[prior[s] / total for s in states], method="highs")
    whole = [F(sum(target[s, w] for s in states), total) for w in range(2)]
    return entropy(whole) - found.fun


@settings(max_examples=5)
@given(laws(), st.sampled_from(KINDS))
def test_promises_are_kept_exactly_and_no_better_code_exists(law, kind):
    protect, use = kind
    d = ch.disclose(law, "W", protect, use, tol=1e-9)
    assert all(kept(law, d, promise) for promise in protect)
    assert d.verify()["verified"]
    assert d.information - 1e-9 <= best(law, protect, use) <= d.upper_bound + 1e-9


@settings(max_examples=5)
@given(laws(), st.sampled_from(KINDS))
def test_every_way_of_solving_agrees(law, kind):
    protect, use = kind
    found = [ch.disclose(law, "W", protect, use, tol=1e-7, solver=name) for name in ("enumeration", "sandwich")]
    for d in found:
        assert all(kept(law, d, promise) for promise in protect)
        assert d.verify()["verified"]
    assert max(d.information for d in found) <= min(d.upper_bound for d in found)


@settings(max_examples=10)
@given(laws(), st.sampled_from([["Z"], ["Z | V"], ["Z+V"]]))
def test_the_rank_within_the_group_is_the_optimum(law, protect):
    exact = ch.disclose(law, "W", protect, ["Z", "V", "X"], tol=1e-9)
    d = ch.disclose(law, "W", protect, ["Z", "V", "X"], solver="rank")
    assert all(kept(law, d, promise) for promise in protect)
    assert d.verify()["verified"]
    assert d.gap <= 2e-15
    assert exact.information - 2e-15 <= d.upper_bound <= exact.upper_bound + 2e-15


def entropy_of(ps):
    return -sum(float(p) * math.log2(p) for p in ps if p > 0)


def partitions(n, most):
    """Every way to put n things into at most so many sets, as the number of the set of each."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*one, k] for one in found for k in range(min(max(one) + 2, most))]
    return found


UNCERTAINTY = {
    None: lambda p: entropy_of((p, 1 - p)),
    "squares": lambda p: float(p * (1 - p)),
}


@settings(max_examples=12)
@given(laws(), st.integers(2, 3), st.sampled_from(["Z", "Z | V"]), st.sampled_from([None, "squares"]))
def test_the_cut_of_the_rank_is_the_best_of_all_partitions(law, codes, protect, utility):
    """Not only of those into runs: of all sets of codes, for bits and for squares, of one group and under a condition."""
    asked = {"solver": "rank"} if utility is None else {"utility": utility}
    full = ch.disclose(law, "W", [protect], ["Z", "V", "X"], **asked)
    cut = ch.disclose(law, "W", [protect], ["Z", "V", "X"], codes=codes, **asked)
    pairs = [(p, row[1] * p) for p, row in zip(full.p_y, full.p_w_given_y, strict=True)]
    pairs = sorted(pairs, key=lambda pair: pair[1] / pair[0])
    while len(pairs) > 8:  # few enough to list: the two that differ least become one
        i = min(range(len(pairs) - 1), key=lambda i: pairs[i + 1][1] / pairs[i + 1][0] - pairs[i][1] / pairs[i][0])
        pairs[i : i + 2] = [tuple(map(sum, zip(*pairs[i : i + 2], strict=True)))]

    def left(sets):
        sums = [[F(0), F(0)] for _ in range(max(sets) + 1)]
        for k, (mass, top) in zip(sets, pairs, strict=True):
            sums[k][0] += mass
            sums[k][1] += top
        return sum(float(m) * UNCERTAINTY[utility](t / m) for m, t in sums)

    listed = {tuple(one): left(one) for one in partitions(len(pairs), codes)}
    least = min(listed.values())
    runs = [value for one, value in listed.items() if list(one) == sorted(one)]
    assert min(runs) == pytest.approx(least, abs=1e-12)
    assert cut.codes <= codes
    assert cut.upper_bound == full.upper_bound
    whole = full.problem.entropy_of_target if utility is None else float(_variance(law))
    assert cut.value >= whole - least - 1e-12
    if full.codes <= 8:
        assert cut.value == pytest.approx(whole - least, abs=1e-12)


def _variance(law):
    ones = F(sum(n for cell, n in law.cells.items() if cell[0]), sum(law.cells.values()))
    return ones * (1 - ones)


def test_columns_that_promises_tell_apart_are_not_exchanged():
    """Two fair bits and whether both are one: X1 | X2 leaves .3113 bits; joining what differs by a swap would leave none."""
    law = ch.Joint.from_counts({(a & b, a, b): 1 for a in range(2) for b in range(2)}, names=["W", "X1", "X2"])
    d = ch.disclose(law, "W", ["X1 | X2"], ["X1", "X2"])
    assert d.information == pytest.approx(0.75 * math.log2(4 / 3) + 0.25 * 2 - 0.5, abs=1e-12)
    assert round(d.information, 4) == 0.3113
    assert ch.disclose(law, "W", ["X1 | X2", "X2 | X1"], ["X1", "X2"]).information == 0


def test_states_that_only_a_condition_tells_apart_are_not_joined():
    """Four states: Z = W fair, Z ≠ W fair, (1, 0), (1, 1). Z given a state is the same in the first two, and so is W; joined,
    they would seem to allow half of all decisions to be right, where three quarters can be."""
    cells = {
        (0, 0, "same"): 1,
        (1, 1, "same"): 1,
        (0, 1, "other"): 1,
        (1, 0, "other"): 1,
        (0, 1, "a"): 2,
        (1, 1, "b"): 2,
    }
    law = ch.Joint.from_counts(cells, names=["W", "Z", "S"])
    d = ch.disclose(law, "W", ["Z | W"], ["S"], utility="accuracy")
    assert d.claims.value == d.claims.value_bound == F(3, 4)
    assert kept(law, d, "Z | W")


def test_order_and_conditions_add_up():
    law = ch.Joint.from_counts(
        {c: 1 + (3 * c[0] + 5 * c[1] + 2 * c[2] * c[0] + 7 * c[3] * c[0]) % 9 for c in np.ndindex(2, 2, 3, 4)},
        names=NAMES,
    )
    d = ch.disclose(law, "W", ["Z", "V", "Z | X"], ["Z", "V", "X"], order=2, rel_tol=1e-2)
    assert [group.name for group in d.problem.groups] == ["Z+V"]
    assert d.information > 0
    assert kept(law, d, "Z+V")
    assert kept(law, d, "Z | X")


def test_a_condition_on_samples_is_refused_and_the_order_is_named():
    for protect in (["X1 | X2"], "X1, X1 | X2"):
        with pytest.raises(ProblemError, match="whose samples are protected alike") as caught:
            ch.disclose(ch.Exchangeable([F(1, 2)] * 2, ch.bsc(F(1, 10)), 3), protect=protect)
        assert "order=2" in caught.value.remedy


def test_one_code_of_the_rank_serves_every_threshold():
    """At every threshold, deciding by the code is as good as the best private decision made for that threshold alone."""
    law = ch.Joint.from_counts(
        {(w, z, x): 1 + (3 * w + 5 * z + 7 * x + w * x) % 6 for w in range(2) for z in range(2) for x in range(4)},
        names=["W", "Z", "X"],
    )
    d = ch.disclose(law, "W", ["Z"], ["Z", "X"], solver="rank")
    for threshold in (F(1, 4), F(1, 2), F(2, 3)):
        gain = sum(max(F(0), p * (row[1] - threshold)) for p, row in zip(d.p_y, d.p_w_given_y, strict=True))
        best_alone = _best_decision(law, threshold)
        assert gain == best_alone


def _best_decision(law, threshold):
    """The most that a private 0-1 decision gains: for one binary group, shares q_z of each group in the order of r."""
    joint = {(cell[1], cell[2], cell[0]): n for cell, n in law.cells.items()}
    total = sum(joint.values())
    pieces = {}
    for z in range(2):
        states = [
            (F(joint.get((z, x, 1), 0), total), F(sum(joint.get((z, x, w), 0) for w in range(2)), total))
            for x in range(4)
        ]
        pieces[z] = sorted(states, key=lambda ab: -ab[0] / ab[1])
    cuts = sorted({F(0), F(1)} | {_share(pieces[z], k) for z in range(2) for k in range(5)})

    def gain(q):
        return sum(_gain(pieces[z], q, threshold) for z in range(2))

    return max(gain(q) for q in cuts)


def _share(states, k):
    return sum((m for _, m in states[:k]), F(0)) / sum(m for _, m in states)


def _gain(states, q, threshold):
    left, found = q * sum(m for _, m in states), F(0)
    for top, mass in states:
        part = min(left, mass)
        found += part * (top / mass - threshold)
        left -= part
    return found


def test_more_is_told_than_when_the_condition_is_joined_to_what_is_hidden():
    counts = {}
    for z in range(2):
        for v in range(3):
            for x in range(4):
                for w in range(2):
                    counts[w, z, v, x] = 1 + (5 * z + 3 * v + 2 * x * w + 7 * w * v + z * x) % 9
    law = ch.Joint.from_counts(counts, names=NAMES)
    use = ["Z", "V", "X"]
    both = ch.disclose(law, "W", ["Z", "Z | V"], use)
    jointly = ch.disclose(law, "W", ["Z+V"], use)
    alone = ch.disclose(law, "W", ["Z"], use)
    assert jointly.upper_bound < both.information <= alone.upper_bound


def test_partial_knowledge_is_not_covered():
    """V uniform on three values, P(Z=1|v) = 0, 1/2, 1: whoever knows only that V is not its last value learns of Z."""
    law = ch.Joint.from_counts(
        {
            (w, z, v): n * (3 if w == (v != 1) else 1)
            for z, v, n in [(0, 0, 2), (0, 1, 1), (1, 1, 1), (1, 2, 2)]
            for w in range(2)
        },
        names=["W", "Z", "V"],
    )
    d = ch.disclose(law, "W", ["Z", "Z | V"], ["V"])
    assert kept(law, d, "Z")
    assert kept(law, d, "Z | V")
    joint = joint_with_code(law, d, ["Z"], ["V"])
    first, second = (0,), (1,)
    for y in range(d.codes):  # given that V is not its third value, the code moves Z away from 1/4
        ones = joint[(1,), second, y]
        everybody = ones + joint[(0,), first, y] + joint[(0,), second, y]
        if everybody and ones / everybody != F(1, 4):
            return
    raise AssertionError("the code says nothing to somebody who knows a part of V")


def test_a_file_with_conditions_is_of_version_two_and_comes_back(tmp_path):
    law = ch.Joint.from_counts(
        {(w, z, v): 1 + w * z + 2 * v for w in range(2) for z in range(2) for v in range(3)}, names=["W", "Z", "V"]
    )
    d = ch.disclose(law, "W", ["Z", "Z | V"], ["Z", "V"])
    path = d.save(tmp_path / "a.choral")
    assert json.loads(path.read_text())["version"] == 2
    assert ch.load(path) == d
    plain = ch.disclose(law, "W", ["Z"], ["Z", "V"], solver="enumeration").save(tmp_path / "b.choral")
    assert json.loads(plain.read_text())["version"] == 1


@pytest.mark.parametrize("change", ["drop", "known", "hidden", "version", "only"])
def test_a_tampered_condition_is_refused(change):
    law = ch.Joint.from_counts(
        {
            (w, z, v, x): 1 + (w * z + 2 * v + 3 * x * w) % 5
            for w in range(2)
            for z in range(2)
            for v in range(2)
            for x in range(3)
        },
        names=NAMES,
    )
    d = ch.disclose(law, "W", ["Z | V"], ["Z", "V", "X"], solver="enumeration")
    document = json.loads(certificate.document_to_text(d.document))
    if change == "drop":
        del document["given"]
    elif change == "known":
        document["given"][0]["known"] = ["X"]
    elif change == "hidden":
        document["given"][0]["hidden"] = ["X"]
    elif change == "version":
        document["version"] = 1
    else:
        document["given"][0]["only"] = {"V": 7}
    with pytest.raises(VerificationError):
        certificate.check(certificate.sealed(document))


@pytest.mark.parametrize(
    ("protect", "error"),
    [
        ("Z | N", ColumnError),
        ("N | V", ColumnError),
        ("Z | Z", ProblemError),
        ("Z | V+V", ProblemError),
        ("Z |", ProblemError),
        ("| V", ProblemError),
        ("Z | V | X", ProblemError),
        ("W | V", ProblemError),
        ("Z | V=9", ColumnError),
        ('Z | "V', ProblemError),
        (["Z | V", "Z | V"], ProblemError),
    ],
)
def test_bad_conditions_are_refused_with_a_remedy(protect, error):
    law = ch.Joint.from_counts(dict.fromkeys(np.ndindex(2, 2, 2, 2), 1), names=NAMES)
    with pytest.raises(error) as caught:
        ch.disclose(law, "W", protect)
    assert isinstance(caught.value, ChoralError)
    assert caught.value.remedy


def test_conditions_beside_budgets_are_refused_and_the_remedy_is_said():
    law = ch.Joint.from_counts({cell: 1 + sum(cell) for cell in np.ndindex(2, 2, 2, 2)}, names=NAMES)
    for more in ({"leakage": {"Z": 0.1}}, {"ratio": {"Z": 2}}):
        with pytest.raises(ProblemError, match="together with a budget") as caught:
            ch.disclose(law, "W", ["Z", "Z | V"], **more)
        assert "Protect 'Z+V' together instead" in caught.value.remedy


def test_values_in_conditions_can_be_quoted():
    law = ch.Joint.from_counts(
        {(w, z, v): 1 + (w == "<=50K") * z + v for w in ("<=50K", ">50K, more") for z in range(2) for v in range(2)},
        names=["W", "Z", "V"],
    )
    d = ch.disclose(law, "W", 'Z | "W=<=50K", Z | "W=>50K, more"', ["Z", "V"])
    assert [promise.only for promise in d.problem.conditions] == [(("W", "<=50K"),), (("W", ">50K, more"),)]
    whole = ch.disclose(law, "W", "Z | W", ["Z", "V"])
    assert whole.information == pytest.approx(d.information, abs=1e-12)


def test_a_table_is_released_under_a_condition(tmp_path):
    """From a CSV file: the condition is in the recipe, on the card and kept, also by a second release."""
    pick = random.Random(4)
    rows = [(pick.choice("fm"), pick.choice("abc"), pick.choice("xyz")) for _ in range(400)]
    lines = ["who,sex,region,school,outcome"]
    for i, (sex, region, school) in enumerate(rows):
        ill = pick.random() < 0.2 + 0.3 * (school == "x") + 0.2 * (sex == "f") * (region == "a")
        lines.append(f"p{i * 7919 % 400},{sex},{region},{school},{'ill' if ill else 'well'}")
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    asked = {"reveal": "outcome", "use": ["sex", "region", "school"], "rel_tol": 1e-3}
    release = ch.fit(tmp_path / "t.csv", protect=["sex", "sex | region"], **asked)
    assert release.recipe.given == ("sex | region",)
    path = release.save(tmp_path / "r.choral")
    again = ch.load(path)
    assert again.digest == release.digest
    assert again.verify()["given"] == ["sex | region"]
    assert any("knows region learns nothing more about sex" in line for line in release.card().document["guarantee"])
    leak = {(f.about, f.given): f.bits for f in release.audit().knowing}
    assert leak.get((("sex",), ("region",)), 0.0) < 1e-12
    alone = ch.fit(tmp_path / "t.csv", protect=["sex"], **asked).audit()
    assert {(f.about, f.given): f.bits for f in alone.knowing}[("sex",), ("region",)] > 1e-4
    use = ["sex", "region", "school"]
    for promise in ("sex | school", "region"):
        with pytest.raises(ProblemError, match="already tells"):
            ch.fit_after(again, tmp_path / "t.csv", "school", [promise], use)
    second = ch.fit_after(again, tmp_path / "t.csv", "school", ["sex"], use, rel_tol=1e-3)
    assert second.recipe.given == ("sex | region",)
    assert kept(second.disclosure.law, second.disclosure, "sex | region")
    assert kept(second.disclosure.law, second.disclosure, "sex")
    first = ch.fit(tmp_path / "t.csv", protect=["sex+region"], **asked)
    later = ch.fit_after(first, tmp_path / "t.csv", "school", ["sex | region", 'sex | "region=a"'], use, rel_tol=1e-3)
    assert later.verify()["given"] == ["sex | region", "sex | region='a'"]
    assert "sex | region" in repr(later.disclosure)


def test_the_command_takes_conditions_with_quoted_values():
    from choral.show.options import groups

    assert groups('sex, sex | "income=<=50K, net"') == [["sex"], 'sex | "income=<=50K, net"']
