"""Codes for a purpose: right decisions, losses, squared error. Optimum, proof, file and refusals."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from unittest import mock

import pytest
from exact_lp import least_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import exactly_private, full_joints, joints

import choral as ch
from choral.design.afterwards import Afterwards
from choral.errors import ProblemError, VerificationError
from choral.exact import certificate
from choral.exact.decisions import best_for_lines
from choral.problem.pose import pose
from choral.problem.solution import Status
from choral.proofs.purpose import PurposeBound, least_cost
from choral.solvers.decisions import Program
from choral.verifier import reading

PROMISES = [
    (["X1"], [(("X1",), (), {})]),
    (["X1", "X2"], [(("X1",), (), {}), (("X2",), (), {})]),
    ([("X1", "X2")], [(("X1", "X2"), (), {})]),
    (["X1 | X2"], [(("X1",), ("X2",), {})]),
    (["X1", "X1 | X2"], [(("X1",), (), {}), (("X1",), ("X2",), {})]),
    (["X1 | W"], [(("X1",), ("W",), {})]),
    (["X2", "X1 | W"], [(("X2",), (), {}), (("X1",), ("W",), {})]),
    (["X1 | W=0"], [(("X1",), ("W",), {"W": 0})]),
    (["X2", "X1 | X2+W"], [(("X2",), (), {}), (("X1",), ("X2", "W"), {})]),
]
"""What `protect` says, and the same as (hidden, known, limited to)."""
COSTS = st.one_of(st.integers(0, 3), st.integers(-5, 20), st.fractions(-3, 3, max_denominator=7))


def used_columns(joint):
    """What the channel looks at by default: every column but W."""
    return [name for name in joint.names if name != "W"]


def target_values(joint):
    return sorted({values[joint.position("W")] for values, _ in joint.items()})


@st.composite
def losses(draw, values):
    actions = draw(st.integers(1, 4))
    return {(f"a{a}", w): draw(COSTS) for a in range(actions) for w in values}


# ---- decisions: the optimum of a linear program, in fractions ------------------------------------------------------


@settings(max_examples=25)
@given(st.data())
def test_a_decision_is_the_optimum_of_an_independent_program(data):
    """Accuracy or any loss, under every kind of promise: value, bound and an independent simplex are one fraction."""
    joint = data.draw(st.one_of(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))), joints(most_states=8, max_target=3)))
    protect, promises = data.draw(st.sampled_from(PROMISES))
    values = target_values(joint)
    utility = data.draw(st.one_of(st.just("accuracy"), losses(values)))
    d = ch.disclose(joint, "W", protect=protect, utility=utility)
    assert exactly_private(d)
    if utility == "accuracy":
        lines, offset = [{w: int(w != a) for w in values} for a in values], 1
    else:
        actions = list(dict.fromkeys(action for action, _ in utility))
        lines, offset = [{w: utility[a, w] for w in values} for a in actions], 0
    expected = offset - least_loss(joint, ["W"], used_columns(joint), promises, lines)
    assert d.claims.value == expected == d.claims.value_bound
    d.verify()
    advised = {} if d.actions is None else dict(enumerate(d.actions))
    assert len(set(advised.values())) == d.codes


def test_xor_is_told_exactly():
    """Two fair bits, their sum: nothing about either, all about the sum."""
    joint = ch.Joint.from_counts({(0, 0, 0): 1, (1, 0, 1): 1, (1, 1, 0): 1, (0, 1, 1): 1}, ["W", "X1", "X2"])
    d = ch.disclose(joint, "W", utility="accuracy")
    assert (d.value, d.value_bound, d.actions, d.information) == (1.0, 1.0, (0, 1), 1.0)
    assert d.gap == 0.0


def test_the_loss_of_the_issue():
    """A loss may list only what costs something; what is left out costs nothing."""
    joint = ch.Joint.from_counts(
        {("pays", "m", "lo"): 3, ("pays", "m", "hi"): 9, ("defaults", "m", "lo"): 4, ("defaults", "m", "hi"): 1,
         ("pays", "f", "lo"): 2, ("pays", "f", "hi"): 7, ("defaults", "f", "lo"): 5, ("defaults", "f", "hi"): 2},
        ["W", "sex", "income"],
    )  # fmt: skip
    short = {("deny", "pays"): 5, ("grant", "defaults"): 20}
    whole = {**short, ("deny", "defaults"): 0, ("grant", "pays"): 0}
    d, e = (ch.disclose(joint, "W", protect=["sex"], utility=loss) for loss in (short, whole))
    assert d.claims == e.claims
    blind = min(Fraction(5 * 21, 33), Fraction(20 * 12, 33))
    assert -blind <= d.value <= 0
    assert set(d.actions) <= {"deny", "grant"}


def test_what_each_code_advises_is_best_for_it():
    """`actions` against p(w | y), recomputed here."""
    cells = [(w, x, u) for w in range(3) for x in range(2) for u in range(4)]
    joint = ch.Joint.from_counts({(w, x, u): 1 + (3 * w + 5 * x * u + u) % 7 for w, x, u in cells}, ["W", "X", "U"])
    d = ch.disclose(joint, "W", protect=["X"], utility="accuracy")
    right = Fraction(0)
    for y, law in enumerate(d.p_w_given_y):
        assert law[d.problem.target.values.index(d.actions[y])] == max(law)
        right += d.p_y[y] * max(law)
    assert right == d.claims.value


@settings(max_examples=20)
@given(full_joints(), st.integers(1, 3))
def test_fewer_codes_are_kept_and_cost_something_or_nothing(joint, codes):
    """With `codes`, at most as many; private still; the bound stays that of unlimited codes."""
    free = ch.disclose(joint, "W", protect=["X1"], utility="accuracy")
    few = ch.disclose(joint, "W", protect=["X1"], utility="accuracy", codes=codes)
    assert few.codes <= codes
    assert exactly_private(few)
    assert few.claims.value <= free.claims.value == few.claims.value_bound
    if codes == 1:
        assert few.claims.value == Fraction(max(few.problem.target.marginal), few.problem.total)
    few.verify()


@settings(max_examples=15)
@given(full_joints(shapes=((2, 2), (2, 3))), st.data())
def test_any_multipliers_prove_a_bound(joint, data):
    """Whatever the multipliers, what they prove is not below the optimum: the argument does not rest on floats."""
    problem = ch.disclose(joint, "W", utility="accuracy").problem
    lines = problem.utility.lines
    best = best_for_lines(problem, lines)
    count = len(best.bound.rows)
    rows = [
        data.draw(st.lists(st.fractions(-2, 2, max_denominator=9), min_size=count, max_size=count)) for _ in lines.table
    ]
    assert least_cost(problem, lines, PurposeBound(best.bound.rows, tuple(map(tuple, rows)))) <= best.cost


def test_orbits_carry_the_proof_back():
    """Exchangeable samples are joined into types; multipliers are shared out among companions."""
    counts = {(int(sum(x) >= 2), *x): 1 + sum(x) for x in [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]}
    counts |= {(1 - w, *x): 1 for (w, *x) in counts}
    joint = ch.Joint.from_counts(counts, ["W", "X1", "X2", "X3"])
    d = ch.disclose(joint, "W", utility="accuracy")
    assert "joined into" in d.how
    assert d.claims.value == d.claims.value_bound
    d.verify()


# ---- squares: chords of a parabola, or the rank within the group ---------------------------------------------------


def explained(d):
    """Var E[W|Y], from the posteriors of the target alone."""
    numbers = [Fraction(w) for w in d.problem.target.values]
    means = [sum(p * w for p, w in zip(law, numbers, strict=True)) for law in d.p_w_given_y]
    mean = sum(p * m for p, m in zip(d.p_y, means, strict=True))
    return sum(p * m**2 for p, m in zip(d.p_y, means, strict=True)) - mean**2


@settings(max_examples=6)
@given(st.data())
def test_squares_hold_the_optimum_between_value_and_bound(data):
    """An independent program over the chords of seven knots is above the optimum by at most a quarter of a squared cell."""
    joint = data.draw(
        st.one_of(full_joints(shapes=((2, 2), (2, 3))), joints(most_states=6, max_target=3, samples=(2, 2)))
    )
    protect, promises = data.draw(st.sampled_from(PROMISES))
    d = ch.disclose(joint, "W", protect=protect, utility="squares")
    assert exactly_private(d)
    value = explained(d)
    mean = sum(Fraction(w) * p for w, p in zip(d.problem.target.values, d.problem.target.marginal, strict=True))
    variance = sum(
        Fraction(w) ** 2 * p for w, p in zip(d.problem.target.values, d.problem.target.marginal, strict=True)
    )
    mean, variance = mean / d.problem.total, variance / d.problem.total - (mean / d.problem.total) ** 2
    assert d.claims.value <= value <= d.claims.value + variance / 2**50
    values = target_values(joint)
    cell = Fraction(values[-1] - values[0], 6)
    knots = [values[0] + k * cell for k in range(7)]
    lines = [{w: a * b - (a + b) * w for w in values} for a, b in pairwise(knots)]
    above = -least_loss(joint, ["W"], used_columns(joint), promises, lines) - mean**2
    assert value <= above
    assert d.claims.value_bound >= above - cell**2 / 4
    assert d.claims.value_bound <= d.claims.value + variance / 10**5
    d.verify()


def test_squares_of_one_group_are_the_rank_within_it():
    """Means 0, 3 against 1, 2 in halves: the ranks go together, so (0+1)/2 and (3+2)/2 are told, worth their variance, 1."""
    counts = {(0, "a", 0): 1, (3, "a", 1): 1, (1, "b", 0): 1, (2, "b", 1): 1}
    d = ch.disclose(ch.Joint.from_counts(counts, ["W", "Z", "U"]), "W", protect=["Z"], utility="squares")
    assert (d.value, d.value_bound, d.codes) == (1.0, 1.0, 2)
    assert "rank within the group" in d.how


@pytest.mark.parametrize("protect", [["Z"], ["Z", "U"]])
@pytest.mark.parametrize("codes", [1, 2, 3])
def test_few_codes_for_squares(protect, codes):
    """At most as many as were asked for; one code explains nothing; the bound stays that of unlimited codes."""
    counts = {(w, z, u): 1 + (w * z + 2 * u + w) % 5 for w in range(6) for z in range(3) for u in range(4)}
    joint = ch.Joint.from_counts(counts, ["W", "Z", "U"])
    free = ch.disclose(joint, "W", protect=protect, utility="squares")
    few = ch.disclose(joint, "W", protect=protect, utility="squares", codes=codes)
    assert few.codes <= codes
    assert few.claims.value <= free.claims.value_bound
    assert codes > 1 or few.value == 0
    assert "at a cost of" in few.how or "joined into" in few.how or few.codes == free.codes
    assert few.claims.value_bound == free.claims.value_bound
    few.verify()


def test_a_target_of_thousands_of_values_and_any_unit():
    """Squares look at means alone; a change of unit and of zero changes the value by the square of the unit."""
    rows = [((w * w) % 2003, w % 2, w % 7) for w in range(1500)]
    joint = ch.Joint.from_counts(dict.fromkeys(rows, 1), ["W", "Z", "U"])
    moved = ch.Joint.from_counts({(Fraction(w, 1000) - 5, *rest): 1 for w, *rest in rows}, ["W", "Z", "U"])
    d, e = (ch.disclose(law, "W", protect=["Z", "U"], utility="squares") for law in (joint, moved))
    assert len(d.problem.target.values) > 700
    assert d.claims.value / 10**6 == e.claims.value
    d.verify()


def test_a_target_that_does_not_vary():
    joint = ch.Joint.from_counts({(7, z, u): 1 + z * u for z in (0, 1) for u in (0, 1, 2)}, ["W", "Z", "U"])
    for protect in (["Z"], ["Z", "U"]):
        d = ch.disclose(joint, "W", protect=protect, utility="squares")
        assert (d.value, d.value_bound) == (0, 0)
        d.verify()


# ---- the file ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decision():
    joint = ch.Joint.from_counts(
        {(w, x, u): 1 + w * u + (1 - w) * (2 - u) for w in range(2) for x in range(2) for u in range(3)},
        ["W", "X", "U"],
    )
    return ch.disclose(joint, "W", protect=["X"], utility={("a", 0): 0, ("a", 1): 1, ("b", 0): "1/2", ("b", 1): 0})


def test_where_floats_find_nothing_fractions_do(decision, monkeypatch):
    """An attack with masses of 10^-30: HiGHS called a program infeasible that has a solution, to tell nothing."""
    monkeypatch.setattr(Program, "solved", lambda *_: None)
    lines = decision.problem.utility.lines
    again = best_for_lines(decision.problem, lines)
    assert again.optimal
    assert again.cost == -Fraction(decision.claims.value)
    monkeypatch.setattr("choral.exact.decisions.MOST_PIVOTED", 0)
    nothing = best_for_lines(decision.problem, lines)
    assert nothing.channel.codes == 1
    assert nothing.least <= again.cost < nothing.cost


def test_a_file_with_a_utility_comes_back_the_same(decision, tmp_path):
    """Saved, loaded, verified by the file that people copy: the same value, bound, actions and digest."""
    path = decision.save(tmp_path / "d.choral")
    again = ch.load(path)
    assert (again.claims, again.digest, again.actions) == (decision.claims, decision.digest, decision.actions)
    again.verify()
    alone = Path(ch.__file__).parent / "verifier" / "alone" / "verifier.py"
    ran = subprocess.run([sys.executable, alone, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0
    assert "no private code is worth more" in ran.stdout
    document = json.loads(path.read_text())
    assert document["version"] == 2


def test_an_older_verifier_refuses_it(decision, tmp_path):
    """The verifier of version 1 knows nothing of utilities, and says so before it checks anything."""
    text = certificate.document_to_text(decision.document)
    kept = reading.VERSIONS
    reading.VERSIONS = (1,)
    try:
        with pytest.raises(VerificationError, match="newer than 1"):
            certificate.check(json.loads(text))
    finally:
        reading.VERSIONS = kept


def test_an_older_verifier_refuses_promises_given_a_column_whatever_else_is_in_the_file():
    law = ch.Joint.from_counts(
        {(w, z, v): 1 + w * z + 2 * v for w in (0, 1) for z in (0, 1) for v in (0, 1, 2)}, ["W", "Z", "V"]
    )
    for more in ({}, {"also": [law]}, {"utility": "accuracy"}):
        document = json.loads(certificate.document_to_text(ch.disclose(law, "W", ["Z", "Z | V"], **more).document))
        assert document["version"] == 2
        for changed in (document, certificate.sealed({**document, "version": 1})):
            with (
                mock.patch.object(reading, "VERSIONS", (1,)),
                pytest.raises(VerificationError, match=r"newer than 1|version 2"),
            ):
                certificate.check(changed)


def test_the_plan_knows_utilities():
    law = ch.examples.clinic()
    found = ch.plan(law, "diagnosis", utility="accuracy")
    assert found.plan.solver == "decision"
    assert found.solvable_exactly
    with pytest.raises(ProblemError, match="utility"):
        ch.plan(law, "diagnosis", utility="joy")


def altered(document, change):
    """The document with a change and its digest made to fit again."""
    copied = copy.deepcopy(json.loads(certificate.document_to_text(document)))
    change(copied)
    return certificate.sealed(copied)


CHANGES = {
    "value stated higher": (lambda d: d["claims"].update(value="1"), "value"),
    "bound stated lower": (lambda d: d["claims"].update(value_bound=d["claims"]["value"] + "0"), "value bound"),
    "another multiplier": (lambda d: d["best"]["multipliers"][0].__setitem__(0, "7/3"), "value bound"),
    "no proof": (lambda d: d.pop("best"), "value bound"),
    "knots for a loss": (lambda d: d["best"].update(knots=["0", "1"]), "value bound"),
    "an action fewer": (lambda d: d["utility"]["loss"].pop(), "utility"),
    "an action twice": (lambda d: d["utility"].update(actions=["a", "a"]), "utility"),
    "a loss that is no number": (lambda d: d["utility"]["loss"][0].__setitem__(0, "x"), "utility"),
    "another loss": (lambda d: d["utility"]["loss"][0].__setitem__(0, "1/2"), "value"),
    "unknown kind": (lambda d: d.update(utility={"kind": "joy"}), "utility"),
    "squares of the same": (lambda d: d.update(utility={"kind": "squares"}), "value"),
    "a value without a utility": (lambda d: d.pop("utility"), "utility"),
    "version 1": (lambda d: d.update(version=1), "utility"),
    "a row that is none": (lambda d: d["best"]["rows"].__setitem__(0, [5, 0]), "upper bound"),
    "a row of the sum": (lambda d: d["best"]["rows"].__setitem__(0, ["sum"]), "value bound"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_altered_claim_is_named(decision, name):
    """Each alteration, sealed again, fails the claim that it touches."""
    change, claim = CHANGES[name]
    with pytest.raises(VerificationError) as failed:
        certificate.check(altered(decision.document, change))
    assert failed.value.claim == claim


def test_bits_are_written_as_before():
    """`utility="bits"` is no utility: the same document as without it, and of version 1."""
    joint = ch.examples.bsc_and_bec()
    plain, said = ch.disclose(joint, "W"), ch.disclose(joint, "W", utility="bits")
    assert certificate.document_to_text(plain.document) == certificate.document_to_text(said.document)
    assert plain.document["version"] == 1
    assert (plain.value, plain.value_bound, plain.actions) == (plain.information, plain.upper_bound, None)


def test_a_file_whose_losses_no_float_holds_verifies_and_is_not_loaded(decision, tmp_path):
    """The same loss in a unit of 2^-2000: its claims hold, and to load it says what is wrong."""

    def scaled(text):
        top, _, bottom = text.partition("/")
        number = Fraction(int(top, 16), int(bottom or "1", 16)) * 2**2000
        return f"{number.numerator:x}/{number.denominator:x}"

    def change(document):
        for table in (document["utility"]["loss"], document["best"]["multipliers"]):
            table[:] = [list(map(scaled, row)) for row in table]
        document["claims"] |= {key: scaled(document["claims"][key]) for key in ("value", "value_bound")}

    document = altered(decision.document, change)
    certificate.check(document)
    path = tmp_path / "huge.choral"
    path.write_text(certificate.document_to_text(document), encoding="utf-8")
    with pytest.raises(ProblemError, match="more than 400 bits"):
        ch.load(path)


# ---- what is refused -----------------------------------------------------------------------------------------------

BAD = {
    "a cell is missing": ({("a", 0): 0, ("a", 1): 1, ("b", 0): 1}, "does not say what 'b' costs at 1"),
    "not a number": ({("a", 0): 0, ("a", 1): "dear"}, "not a finite number"),
    "not finite": ({("a", 0): 0, ("a", 1): float("inf")}, "not a finite number"),
    "beyond floats": ({("a", 0): 0, ("a", 1): 10**400}, "more than 400 bits"),
    "finer than floats": ({("a", 0): 1, ("a", 1): Fraction(1, 10**400)}, "more than 400 bits"),
    "nothing": ({("a", 0): 0, ("a", 1): None}, "not a number"),
    "an unknown value": ({("a", 0): 0, ("a", 1): 1, ("a", 2): 1}, "never is"),
    "no pairs": ({"a": 1}, "entry 'a'"),
    "empty": ({}, "empty"),
    "misspelt": ("acuracy", "Did you mean 'accuracy'"),
    "no utility": (7, "utility=7"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_utility_is_refused_with_a_remedy(name):
    utility, words = BAD[name]
    joint = ch.Joint.from_counts(
        {(w, x, u): 1 + w * u for w in (0, 1) for x in (0, 1) for u in (0, 1)}, ["W", "X", "U"]
    )
    with pytest.raises(ProblemError, match=words) as refused:
        ch.disclose(joint, "W", protect=["X"], utility=utility)
    assert refused.value.remedy


def test_squares_of_text_are_refused():
    joint = ch.Joint.from_counts({(w, x): 1 for w in ("hi", "lo") for x in (0, 1)}, ["W", "X"])
    with pytest.raises(ProblemError, match="numeric target, and 'W' has the value 'hi'") as refused:
        ch.disclose(joint, "W", protect=["X"], utility="squares")
    assert "accuracy" in refused.value.remedy


def test_squares_beyond_floats_are_refused():
    joint = ch.Joint.from_counts({(w, x): 1 for w in (0, 10**200) for x in (0, 1)}, ["W", "X"])
    with pytest.raises(ProblemError, match="values reach beyond") as refused:
        ch.disclose(joint, "W", protect=["X"], utility="squares")
    assert "unit" in refused.value.remedy


def test_a_utility_where_there_is_none_is_refused():
    """Compact laws and budgets: each with what to do."""
    joint = ch.examples.bsc_and_bec()
    for law, also in (
        (ch.Exchangeable(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], n=3), {}),
        (joint, {"ratio": {"X1": 2}}),
    ):
        with pytest.raises(ProblemError, match="accuracy") as refused:
            ch.disclose(law, utility="accuracy", **also)
        assert refused.value.remedy


@pytest.mark.parametrize("utility", ["accuracy", "squares"])
def test_a_utility_under_several_laws(utility, tmp_path):
    """Worth less than under one law, private under both, proved with their equations; a forged equation is refused."""
    cells = [(w, z, v, x) for w in range(2) for z in range(2) for v in range(2) for x in range(3)]
    laws = [
        ch.Joint.from_counts(
            {c: 1 + (5 * c[0] * c[3] + 2 * c[1] + k * c[2] * c[3]) % 7 for c in cells}, ["W", "Z", "V", "X"]
        )
        for k in (1, 3)
    ]
    asked = {"protect": ["Z", "Z | V"], "use": ["Z", "V", "X"], "utility": utility}
    alone, d = ch.disclose(laws[0], "W", **asked), ch.disclose(laws[0], "W", also=laws[1:], **asked)
    assert d.value_without < d.value < alone.value_bound
    assert all(leak.zero for law in ch.audit(d).laws for leak in (*law.groups, *law.given))
    assert len(ch.audit(d).laws) == 2
    assert ch.load(d.save(tmp_path / "d.choral")) == d
    rows = d.document["best"]["rows"]
    assert any(row[0] == "also" for row in rows)
    place = next(i for i, row in enumerate(rows) if row[0] == "also")
    for bad in (["also", 1], ["also", 0, 9, 0], ["other", 0], ["also", 0, "known", 0, 99]):
        with pytest.raises(VerificationError, match="bad row"):
            certificate.check(
                altered(d.document, lambda document, bad=bad: document["best"]["rows"].__setitem__(place, bad))
            )


def test_pose_knows_no_utility():
    """A problem that is posed is about bits until a utility is named."""
    assert pose(ch.examples.bsc_and_bec()).utility is None


def test_squares_with_a_state_too_rare_for_floats():
    """Its share of a code was 0/0, and nothing was found."""
    draw = random.Random(3)
    cells = {x: draw.randint(1, 9) * 10**400 for x in product(range(4), range(3), range(4), range(2))}
    cells |= {(w, 2, 3, 1): 1 for w in range(4)}
    d = ch.disclose(ch.Joint.from_counts(cells, ["W", "A", "B", "C"]), "W", ["A", "B"], utility="squares")
    assert d.verify()["verified"]
    assert d.value > 0


def test_a_search_for_squares_ends_in_time_for_what_comes_after_it(monkeypatch):
    draw, usual = random.Random(3), Afterwards.by_lines
    cells = {x: draw.randint(1, 9) for x in product(range(4), range(3), range(4), range(2))}
    law = ch.Joint.from_counts(cells, ["W", "A", "B", "C"])
    asked = {"reveal": "W", "protect": ["A", "B"], "utility": "squares", "tol": 1e-9, "time_limit": 1000}
    whole = ch.disclose(law, **asked)
    monkeypatch.setattr(Afterwards, "by_lines", lambda self, lines: usual(self, lines) if lines < 20 else 1e6)
    d = ch.disclose(law, **asked)
    assert d.status is Status.STOPPED
    assert 0 < d.value < d.value_bound
    assert whole.value_bound - whole.value < d.value_bound - d.value
