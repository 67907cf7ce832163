"""What the code tells to somebody who knows another column: found, priced, and where a promise against it ends."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from in_process import choral

import choral as ch
from choral.auditing.price import with_one_more
from choral.auditing.side_knowledge import fears, law_beside, partial_knowledge, priced, sentence, two_columns
from choral.auditing.tabulate import STATE
from choral.errors import ChoralError
from choral.problem.question import Question
from choral.release.leakage import Published
from choral.tables.opening import opened


def xor_rows(**further):
    """Fair a, b and their exclusive or, eight times each; further columns are functions of (a, b)."""
    return [
        {"W": a ^ b, "a": a, "b": b, **{name: of(a, b) for name, of in further.items()}}
        for a in (0, 1)
        for b in (0, 1)
        for _ in range(8)
    ]


def test_whoever_knows_one_bit_learns_the_other_and_is_named_first():
    rows = xor_rows(noise=lambda a, b: "same")
    release = ch.fit(rows, "W", ["a", "b"])
    with opened(rows) as table:
        found = fears(release, table)
    by_promise = {fear.promise: fear.leak for fear in found}
    assert by_promise["a | b"].bits == pytest.approx(1)
    assert (by_promise["a | b"].guess_before, by_promise["a | b"].guess_after) == (Fraction(1, 2), 1)
    assert "a | noise" not in by_promise
    assert "a right 100 % with the code instead of 50 %" in " ".join(sentence(fear, release) for fear in found)


def test_a_column_that_the_code_does_not_look_at_is_side_knowledge_too_and_the_price_is_found():
    rows = xor_rows(twin=lambda a, b: "xy"[b])
    release = ch.fit(rows, "W", ["a", "b"], use=["a", "b"])
    with opened(rows) as table:
        worst = next(fear for fear in fears(release, table) if fear.promise == "a | twin")
        assert worst.leak.bits == pytest.approx(1)
        # whoever knows the twin knows b: with a hidden from them too nothing is left to tell
        assert priced(release, table, worst, 10).price.bits == pytest.approx(0, abs=1e-9)


def test_what_is_hidden_given_a_column_alone_is_looked_at_beside_columns_that_the_release_does_not_know():
    """Equalised odds on a table with one more column: `choral fit` ended in an error after it had saved."""
    rows = xor_rows(twin=lambda a, b: "xy"[b])
    release = ch.fit(rows, "W", ["a | W"], use=["b", "W"])
    with opened(rows) as table:
        found = {fear.promise: fear.leak.bits for fear in fears(release, table)}
    assert found["a | twin"] == pytest.approx(1)  # the code tells W, which with b is a


def test_the_price_of_a_promise_is_what_a_fit_with_it_tells():
    rows = [
        {"W": w, "a": a, "v": v}
        for a in (0, 1)
        for v in (0, 1, 2)
        for w in (0, 1)
        for _ in range(6 + 4 * w * a + 5 * w * v + 3 * a * v)
    ]
    release = ch.fit(rows, "W", ["a"], use=["a", "v"])
    with opened(rows) as table:
        fear = next(fear for fear in fears(release, table) if fear.promise == "a | v")
        found = priced(release, table, fear, 10).price.bits
    again = ch.fit(rows, "W", ["a", "a | v"], use=["a", "v"])
    assert found == pytest.approx(again.information, rel=0.011)
    with opened(rows) as table:
        assert not [fear for fear in fears(again, table) if fear.promise == "a | v"]


def scored_rows(records=1600):
    """A target that leans on a known job and on two numbers; the protected sex leans on the job."""
    random = np.random.default_rng(7)
    job = random.integers(0, 3, records)
    sex = (random.random(records) < 0.2 + 0.3 * job).astype(int)
    x, z = random.normal(size=(2, records))
    ill = random.random(records) < 1 / (1 + np.exp(-(1.5 * job - 1.5 + x - 0.8 * z + 0.5 * sex)))
    columns = {"ill": ill.astype(int), "sex": sex, "job": job, "x": x.round(2), "z": z.round(2)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*(v.tolist() for v in columns.values()), strict=True)]


def test_the_price_of_a_promise_beside_a_learned_score_is_what_a_fit_with_it_tells():
    """A score's bins do not say the known column, but a fit with the promise looks at both: half the price was said."""
    rows = scored_rows()
    release = ch.fit(rows, "ill", ["sex"])
    assert release.recipe.points is not None
    with opened(rows) as table:
        found = {fear.promise: fear for fear in fears(release, table)}
        assert not [promise for promise in found if release.recipe.points.name in promise], "nobody knows the bins"
        price = priced(release, table, found["sex | job"], 20)
        others = law_beside(release, table, ["job"])
        by_state = with_one_more(others, release, [STATE], "sex | job", 20)
    again = ch.fit(rows, "ill", ["sex", "sex | job"])
    assert price.price.bits == pytest.approx(again.information, rel=0.1)
    assert float(price.price.right) == pytest.approx(float(again.meaning.told.guess_after), abs=0.01)
    assert by_state.information < 0.8 * again.information, "a table on which the old price is another"


def test_of_a_known_column_that_is_cut_the_bins_are_named_with_the_promise():
    """Without them the promise was about every age: a seventh of what was said was told."""
    rows = scored_rows()
    release = ch.fit(rows, "ill", ["sex", "x"])
    edges = release.recipe.column("x").edges
    with opened(rows) as table:
        fear = next(one for one in fears(release, table) if one.promise == "sex | x")
        price = priced(release, table, fear, 20)
    said = sentence(price, release)
    [rule] = re.findall(
        r"'sex \| x' added to --protect and --bins 'x=(\S+)' closes it for who knows the interval of x", said
    )
    assert tuple(map(float, rule.split(","))) == edges == fear.cut
    again = ch.fit(rows, "ill", ["sex", "x", "sex | x"], bins=f"x={rule}")
    assert price.price.bits == pytest.approx(again.information, rel=0.1)


def test_the_worst_is_who_gains_most_right_guesses():
    rows = scored_rows()
    release = ch.fit(rows, "ill", ["sex", "job"], use=["sex", "job", "x"], bins={"x": 4})
    with opened(rows) as table:
        gains = [float(one.leak.guess_after - one.leak.guess_before) for one in fears(release, table)]
    assert len(gains) > 1
    assert gains == sorted(gains, reverse=True)


def third_value():
    """V on three values, P(Z=1 given v) = 0, 1/2, 1 and a target that is 1 with 3/4, 0, 3/4: the code may be the target."""
    ones, target = (0, 4, 8), (3, 0, 3)
    counts = {
        (z, v, w): (ones[v] if z else 8 - ones[v]) * (target[v] if w else 4 - target[v])
        for z in (0, 1)
        for v in range(3)
        for w in (0, 1)
    }
    return ch.Joint.from_counts({key: n for key, n in counts.items() if n}, ["Z", "V", "W"])


def bits(*shares):
    return -sum(p * math.log2(p) for p in shares if p)


def test_a_promise_given_a_column_does_not_cover_who_knows_it_in_part():
    found = ch.disclose(third_value(), "W", ["Z", "Z | V"], use=["W"])
    published, [promise] = Published.of(found), found.problem.conditions
    assert published.leakage(["Z"]).zero
    assert published.leakage(["Z"], ["V"]).zero
    worst = partial_knowledge(published, promise)
    assert worst is not None
    # Who knows that V is not the last value (P = 2/3) has Z = 1 with 1/4. The code is 1 with 3/8, then Z = 0 for sure;
    # else (5/8) Z = 1 has 2/5. The two outer values together: code and Z are both fair, P(Y = 1) = 3/4 under either. So the
    # worst split is one of the outer values against the rest.
    assert worst.bits == pytest.approx(2 / 3 * (bits(1 / 4, 3 / 4) - 5 / 8 * bits(2 / 5, 3 / 5)))
    assert worst.given in {("whether V is 2",), ("whether V is 1 or 2",)}
    assert ch.audit(found).beyond[0] == worst
    assert "Who knows only whether V is" in ch.audit(found).summary


def test_two_columns_together_know_more_than_each():
    rows = {(a ^ b ^ c, a, b, c): 1 for a in (0, 1) for b in (0, 1) for c in (0, 1)}
    law = ch.Joint.from_counts(rows, ["W", "Z", "U", "V"])
    found = ch.disclose(law, "W", ["Z", "Z | U", "Z | V"], use=["Z", "U", "V"])
    assert found.information == pytest.approx(1)
    leak = two_columns(Published.of(found), found.problem.conditions[0], ["Z", "U", "V"])
    assert leak is not None
    assert leak.given == ("U", "V")
    assert leak.bits == pytest.approx(1)


def table_with_a_third_column(path):
    rows = xor_rows(twin=lambda a, b: "xy"[b])
    path.write_text("W,a,b,twin\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows))
    return path


def test_a_fit_says_what_others_learn_and_against_closes_it(tmp_path):
    table = table_with_a_third_column(tmp_path / "t.csv")
    words = ["fit", "t.csv", "--reveal", "W", "--protect", "a,b", "--use", "a,b"]
    said = choral(*words, "-o", "r.choral", cwd=tmp_path).stdout
    [line] = [line for line in said.splitlines() if line.startswith("others know")]
    assert re.search(r"knows (a guesses b|b guesses a) right 100 % with the code instead of 50 %", line)
    assert re.search(r"'(a \| b|b \| a)' added to --protect closes it for who knows [ab] exactly", line)
    assert "twin" in line
    found = json.loads(choral(*words, "-o", "s.choral", "--json", cwd=tmp_path).stdout)
    assert {fear["promise"] for fear in found["side_knowledge"]} == {"a | b", "b | a", "a | twin"}
    closed = json.loads(choral(*words, "--against", "twin", "-o", "u.choral", "--json", cwd=tmp_path).stdout)
    assert closed["given"] == ["a | twin", "b | twin"]
    assert closed["information"] == 0
    assert closed["side_knowledge"] == []
    assert ch.fit(table, "W", ["a", "b"], use=["a", "b"], against="twin").recipe.given == ("a | twin", "b | twin")


def test_against_names_each_group_given_each_and_no_promise_twice():
    roles = Question("W", ["a", "b", "a | c"], against=["c", "c+d", "a"]).about(["W", "a", "b", "c", "d"])
    assert [promise.written for promise in roles.given] == ["a | c", "b | c", "a | c+d", "b | c+d", "b | a"]


@pytest.mark.parametrize(
    ("against", "word"), [("x", "no column"), ("c+c", "twice"), ("a+b", "they do not know"), ("", "no column")]
)
def test_a_bad_against_is_named(against, word):
    with pytest.raises(ChoralError, match=word):
        Question("W", ["a", "b"], against=against).about(["W", "a", "b", "c"])
