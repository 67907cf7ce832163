"""Files that were made to deceive a reader of the verifier, to keep it busy, or to make it stumble."""

from __future__ import annotations

import copy
import json
import math
import random
import time
from collections import Counter
from fractions import Fraction as F
from itertools import accumulate, product
from operator import mul
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import choral as ch
from choral.exact.certificate import document_to_text, sealed
from choral.release.file import load_release
from choral.show.cli import app
from choral.verifier import command, names
from choral.verifier.claims import ClaimFailed
from choral.verifier.steps import METER, Meter
from choral.verifier.sums import added
from choral.verifier.values import symbol

FROZEN = Path(__file__).parent / "frozen" / "v1"
KINDS = ("joint", "self", "leakage", "ratio", "also", "exchangeable", "exchangeable_2", "sensors")
HONEST = {name: json.loads((FROZEN / f"{name}.choral").read_text(encoding="utf-8")) for name in KINDS}


def claim_of(document, **options):
    """The claim that fails, or nothing."""
    try:
        command.verify(document_to_text(sealed(document)), **options)
    except ClaimFailed as failed:
        return failed.claim
    return ""


def telling(name, values=(0, 1), protect="age"):
    """A release whose code is the column `name` itself, and which truly protects another, constant column."""
    cells = [[0, 0, "1"], [0, 1, "1"]]
    rows = [["1", [0, "1"]], ["1", [1, "1"]]]
    return {
        "format": "choral release",
        "version": 1,
        "law": {"kind": "table", "columns": [protect, name], "alphabets": [["x"], list(values)], "cells": cells},
        "reveal": [name],
        "use": [name],
        "protect": [[protect]],
        "channel": {"codes": 2, "states": [[0], [1]], "rows": rows},
        "claims": {"information": "1.000000000000000", "upper_bound": "1.000000000000000"},
        "bound": {"kind": "group", "group": None},
        "notes": {},
    }


# ---- names ------------------------------------------------------------------------------------------------------

DECEIVERS = {
    "variation selector": "age\ufe00",
    "supplementary selector": "age\U000e0100",
    "Hangul filler": "age\u3164",
    "half-width filler": "age\uffa0",
    "jamo filler": "\u115fage",
    "grapheme joiner": "a\u034fge",
    "Khmer vowel that shows nothing": "age\u17b4",
    "Braille blank": "age\u2800",
    "zero width space": "a\u200bge",
    "joiner where nothing joins": "a\u200dge",
    "tag": "age\U000e0061",
    "soft hyphen": "a\u00adge",
    "trailing blank": "age ",
    "leading blank": " age",
    "no-break space": "age\u00a0",
    "decomposed": "age\u0301",
    "mark alone": "\u0301age",
}
ALIKE = ["аge", "agе", "ａge", "aɡe", "𝐚ge", "ɑge", "αge"]
WELCOME = [
    "उम्र",
    "क्‍ष",
    "आयु",
    "อายุ",
    "น้ำ",
    "العمر",
    "سن",
    "می‌خواهم",
    "גיל",
    "年齢",
    "나이",
    "größe",
    "ηλικία",
    "возраст",
]


def test_a_name_that_is_plain_and_true_verifies():
    assert claim_of(telling("city")) == ""


@pytest.mark.parametrize("name", DECEIVERS.values(), ids=DECEIVERS)
def test_a_name_that_does_not_print_as_what_it_is_is_refused_by_law_and_verifier(name):
    assert claim_of(telling(name, protect="sex")) == "law"
    assert claim_of(telling("sex", protect=name)) == "law"
    with pytest.raises(ch.errors.LawError, match="could be misread"):
        ch.Joint.from_counts({(0, 0): 1, (1, 1): 1}, ["sex", name])


@pytest.mark.parametrize("name", ALIKE)
def test_two_names_that_look_alike_are_refused_by_law_and_verifier(name):
    assert claim_of(telling(name)) == "law"
    with pytest.raises(ch.errors.LawError, match="look alike"):
        ch.Joint.from_counts({(0, 0): 1, (1, 1): 1}, ["age", name])
    assert claim_of(telling(name, protect="sex")) == ""  # alone it is shown with what it is made of


def test_every_listed_look_alike_is_one_and_stands_for_what_it_resembles():
    for letter, others in names.ALIKE_BY_LETTER.items():
        for other in others:
            assert names.look_alikes([f"x{letter}y", f"x{other}y"]), (letter, other)
    assert not names.look_alikes(["age", "Age", "ago", "a_ge", "äge", "age2"])


@pytest.mark.parametrize("name", WELCOME)
def test_names_of_other_scripts_are_welcome_and_shown_with_their_code_points(name):
    ch.Joint.from_counts({(0, 0): 1, (1, 1): 1}, ["sex", name])
    said = []
    document = telling("city", protect=name)
    assert claim_of(document, say=said.append) == ""
    assert any(line.startswith(f"protects     {name} [{ascii(name)[1:-1]}]") for line in said)
    assert any(f"{name} [{ascii(name)[1:-1]}] is independent" in line for line in said)


def test_names_that_can_be_mistaken_are_said_by_fit_verify_audit_card_and_decode(tmp_path):
    """What a name outside ASCII is made of, and which two differ by a letter that looks like a digit."""
    rows = [(i % 2, i // 2 % 2, (i + i // 2) % 2, i % 2) for i in range(80)]
    text = "col1,größe,W,coll\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    release, card = tmp_path / "r.choral", tmp_path / "card.json"

    def said(*arguments):
        result = CliRunner().invoke(app, list(map(str, arguments)))
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    asked = ["fit", tmp_path / "t.csv", "--reveal", "größe", "--protect", "col1,coll", "--use", "col1,coll,W"]
    fitted = said(*asked, "-o", release, "--card", card)
    alike, made_of = "columns 'col1' and 'coll' look alike", r"größe [gr\xf6\xdfe]"
    verified = said("verify", release)
    audited = said("audit", release)
    limits = " ".join(json.loads(card.read_text(encoding="utf-8"))["limits"])
    for words in (fitted, verified, audited, limits, load_release(release)._repr_html_()):
        assert alike in words.replace("&#x27;", "'").replace("Columns", "columns")
        assert made_of in words
    remarked = json.loads(said("verify", release, "--json"))["remarks"]
    assert remarked == [alike]
    (tmp_path / "codes.csv").write_text("code\n0\n")
    assert f"p({made_of} | code)" in said("decode", card, tmp_path / "codes.csv", "-o", tmp_path / "out.csv")


@pytest.mark.parametrize(("one", "other"), [("X1", "Xl"), ("XI", "Xl"), ("O2", "02"), ("turn", "tum")])
def test_letters_and_digits_that_are_alike_in_ascii_are_remarked_on(one, other):
    said = []
    command.verify(document_to_text(sealed(telling(one, protect=other))), said.append)
    assert f"remark       columns {other!r} and {one!r} look alike" in said
    assert names.remarks_on(["age", "sex", "X1", "X2", "rn", "m1"]) == []


def test_values_are_printed_in_ascii():
    said = []
    assert claim_of(telling("city", values=["Köln", "Ko\u0308ln"]), say=said.append) == ""
    assert "'K\\xf6ln', 'Ko\\u0308ln'" in said[0]


# ---- values -----------------------------------------------------------------------------------------------------

SAME = [
    ({"date": "2020-01-01"}, {"date": "20200101"}),
    ({"date": "2020-01-01"}, {"date": "2020-W01-3"}),
    ({"decimal": "1.0"}, {"decimal": "1.00"}),
    ({"decimal": "1E+1"}, {"decimal": "10"}),
    ({"decimal": "1"}, 1),
    ({"float": "inf"}, {"float": "Infinity"}),
    ({"float": "inf"}, {"decimal": "Infinity"}),
    ({"float": "nan"}, {"float": "NaN"}),
    ({"float": "1.0"}, 1),
    ({"fraction": "1/2"}, {"fraction": "2/4"}),
    ({"fraction": "1/2"}, 0.5),
    ({"fraction": "0"}, {"fraction": "-0"}),
    (True, 1),
    (1, 1.0),
    (0.0, -0.0),
    ({"datetime": "2020-01-01T00:00:00"}, {"datetime": "2020-01-01"}),
    ({"datetime": "2020-01-01T00:00:00+00:00"}, {"datetime": "2020-01-01T00:00:00Z"}),
    ({"datetime": "2020-01-01T00:00:00+00:00"}, {"datetime": "2020-01-01T02:00:00+02:00"}),
    ({"datetime": "0001-01-01T00:00:00+00:00"}, {"datetime": "0001-01-01T01:00:00+01:00"}),
    ({"tuple": [1, 2]}, {"tuple": [1.0, {"fraction": "2"}]}),
]


@pytest.mark.parametrize("values", SAME, ids=str)
def test_one_value_in_two_spellings_is_not_two_values(values):
    """One bit about a constant is told nowhere: either spelling may be refused, both together must be."""
    assert claim_of(telling("city", values=values)) == "law"


def test_values_that_differ_are_told_apart():
    different = [None, "", "1", 1, 2, 0.5, {"float": "inf"}, {"float": "-inf"}, {"decimal": "0.1"}, {"fraction": "1/3"}]
    different += [
        {"date": "2020-01-01"},
        {"datetime": "2020-01-01T00:00:00"},
        {"datetime": "2020-01-01T00:00:00+00:00"},
    ]
    different += [{"datetime": "2020-01-01T00:00:00+01:00"}, {"tuple": []}, {"tuple": [1]}, "2020-01-01", 0.1]
    assert len({symbol(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    "value",
    [
        {"fraction": "1/"}, {"fraction": "/2"}, {"fraction": "1/0"}, {"fraction": " 1/2"}, {"fraction": "1_0"},
        {"fraction": "١/2"}, {"fraction": ""}, {"decimal": ""}, {"decimal": "sNaN"}, {"decimal": "1E+999999999"},
        {"decimal": "1E-999999999"}, {"date": "x"}, {"date": "2020-02-30"}, {"datetime": ""}, {"tuple": 1}, {"tuple": [{}]},
        {"date": 1}, {}, [], {"a": 1, "b": 2}, {"float": "1e999"}, {"fraction": "1" * 5000}, {"decimal": "9" * 5000},
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_what_is_no_value_is_named(value):
    assert claim_of(telling("city", values=["a", value])) == "law"


@pytest.mark.parametrize(("around", "claim"), [(150, "law"), (400, "file")])
def test_values_nested_too_deep_are_named(around, claim):
    """A tuple is a list in an object: 400 of these are read in no file, and what is read is still no value."""
    deep = 1
    for _ in range(around):
        deep = {"tuple": [deep]}
    assert claim_of(telling("city", values=["a", deep])) == claim


# ---- budget -----------------------------------------------------------------------------------------------------


def exchangeable(n, order, values=2):
    """A small file about many samples; its channel tells nothing."""
    document = copy.deepcopy(HONEST["exchangeable"])
    row = [f"1/{values:x}"] * values
    document["law"] |= {"n": n, "channel": [row, row], "values": list(range(values)), "prior": ["1/2", "1/2"]}
    document["law"]["target values"] = [0, 1]
    document["protect"] = [[f"any {order}"]]
    return document


def sensors(number, step):
    """A small file about many sensors, whose scores are sums of powers of `step`."""
    document = copy.deepcopy(HONEST["sensors"])
    half = ["1/2", "1/2"]
    document["law"] |= {
        "prior": half,
        "channels": [[half, half]] * number,
        "values": [[0, 1]] * number,
        "scores": [[0, step**i] for i in range(number)],
    }
    document["protect"] = [["X1"]]
    return document


def many_bases():
    """Fifty states of three protected columns: more extreme points than anyone can list."""
    cells = [
        [w, *x, f"{1 + (7 * i + 3 * w) % 11:x}"] for w in (0, 1) for i, x in enumerate(product(range(4), repeat=3))
    ]
    states = [list(x) for x in product(range(4), repeat=3)]
    return {
        **telling("W"),
        "law": {"kind": "table", "columns": ["W", "A", "B", "C"], "alphabets": [[0, 1], *[[0, 1, 2, 3]] * 3], "cells": cells},
        "reveal": ["W"],
        "use": ["A", "B", "C"],
        "protect": [["A"], ["B"], ["C"]],
        "channel": {"codes": 1, "states": states, "rows": [["1", [0, "1"]]] * 64},
        "claims": {"information": "0.000000000000000", "upper_bound": "0.100000000000000"},
        "bound": {"kind": "extreme points", "multipliers": ["0"] * 64},
    }  # fmt: skip


def with_bound(name, **changes):
    document = copy.deepcopy(HONEST[name])
    document["bound"] |= changes
    return document


def any_half():
    """A file that lists all types of 200 samples of three values, and protects any hundred."""
    document = exchangeable(200, 100, 3)
    states = [[a, b, 200 - a - b] for a in range(201) for b in range(201 - a)]
    document["channel"] = {"codes": 1, "states": states, "rows": [["1", [0, "1"]]] * len(states)}
    return document


STALLS = {
    "a hundred thousand samples": lambda: exchangeable(10**5, 1),
    "a billion samples": lambda: exchangeable(10**9, 1),
    "10^900 samples": lambda: exchangeable(10**900, 1),
    "any half of the samples": lambda: any_half(),
    "many values": lambda: exchangeable(3, 1, 700),
    "very many values": lambda: exchangeable(999_999_999, 1, 3000),
    "forty sensors": lambda: sensors(40, 2),
    "sensors of many scores": lambda: sensors(21, 3),
}


CLAIMS = {"any half of the samples": "budget"}


@pytest.mark.parametrize("name", STALLS)
def test_a_small_file_that_would_take_for_ever_fails_at_once(name):
    document = STALLS[name]()
    text = document_to_text(sealed(document))
    start = time.process_time()
    with pytest.raises(ClaimFailed) as failed:
        command.verify(text)
    assert time.process_time() - start < 3  # seconds; it takes a few hundredths
    assert failed.value.claim == CLAIMS.get(name, "channel")


def test_extreme_points_that_nobody_can_list_end_within_the_budget():
    said = []
    assert claim_of(many_bases(), budget=10**7, say=said.append) == "budget"
    assert any("C is independent of the code" in line for line in said)  # what holds was said before
    assert claim_of(many_bases(), budget=10**7, until="information") == ""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(lambda: with_bound("joint", multipliers=["f" * 20_000] * 8), id="multipliers"),
        pytest.param(lambda: with_bound("leakage", denominator="1" + "0" * 200_000), id="denominator"),
        pytest.param(lambda: with_bound("leakage", prices=["f" * 50_000] * 3), id="prices"),
        pytest.param(lambda: HONEST["joint"] | {"protect": [["X1"], 10**999]}, id="group"),
        pytest.param(lambda: HONEST["joint"] | {"budgets": [{"leakage": "f" * 50_000}] * 9}, id="budget"),
    ],
)
def test_numbers_of_many_digits_do_not_keep_it_busy(document):
    start = time.process_time()
    assert claim_of(document()) != ""
    assert time.process_time() - start < 3


def test_long_integers_outside_of_weights_are_refused():
    text = document_to_text(sealed(telling("city")))
    for number in ("9" * 1001, "-" + "9" * 5000, "1e999999999"):
        with pytest.raises(ClaimFailed) as failed:
            command.verify(text.replace('"notes": {}', f'"notes": {{"n": {number}}}'))
        assert failed.value.claim == "file"
    assert claim_of(telling("city") | {"notes": {"n": 10**999}}) == ""


def test_nothing_in_the_file_raises_the_budget_and_the_command_does(tmp_path, capsys):
    file = tmp_path / "r.choral"
    document = telling("city") | {"notes": {"budget": 10**9}}
    file.write_text(document_to_text(sealed(document)), encoding="utf-8")
    assert command.main([str(file), "--budget", "10", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["claim"] == "budget"
    assert "--budget" in found["reason"]
    assert command.main([str(file), "--budget=100000"]) == 0
    for bad in (["--budget"], ["--budget", "-5"], ["--budget", "x"], ["--budgets", "5"], ["--budget", "9" * 99]):
        assert command.main([str(file), *bad]) == 2
        assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("name", HONEST)
def test_what_was_saved_takes_a_small_part_of_the_default(name):
    assert claim_of(HONEST[name], budget=3 * 10**6) == ""


def test_the_work_that_is_paid_for_is_the_work_that_is_done(monkeypatch):
    """Four times as many samples with three values have ten times as many types: the price follows."""
    meters = []

    class Noting(Meter):
        def __init__(self, budget):
            super().__init__(budget)
            meters.append(self)

    monkeypatch.setattr(command, "Meter", Noting)
    for n in (4, 16):
        ch.disclose(ch.Exchangeable([F(1, 2)] * 2, [[F(1, 2), F(1, 4), F(1, 4)]] * 2, n)).verify()
    assert 5 < meters[-1].spent / meters[0].spent < 50
    assert all(meter.spent < meter.budget / 100 for meter in meters)


# ---- privacy alone ----------------------------------------------------------------------------------------------


def test_privacy_alone_says_what_was_not_checked(tmp_path, capsys):
    file = tmp_path / "r.choral"
    wrong = copy.deepcopy(HONEST["joint"])
    wrong["claims"]["upper_bound"] = "0.999000000000000"
    file.write_text(document_to_text(sealed(wrong)), encoding="utf-8")
    assert command.main([str(file)]) == 1
    assert "FAILED       upper bound" in capsys.readouterr().out
    assert command.main([str(file), "--privacy"]) == 0
    said = capsys.readouterr().out
    assert "VERIFIED" not in said
    assert "can do better (not checked)" in said
    assert said.splitlines()[-2].startswith("not checked  how much is told")
    assert said.splitlines()[-1].startswith("PRIVATE")
    assert command.main([str(file), "--privacy", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["verified"]
    assert found["checked"] == "privacy"
    assert claim_of(wrong, until="information") == ""
    wrong["claims"]["information"] = "0.999000000000000"
    assert claim_of(wrong, until="information") == "information"
    assert claim_of(telling("city", protect="sex") | {"protect": [["city"]]}, until="privacy") == "privacy of city"


# ---- a fuzzer that knows the structure ----------------------------------------------------------------------------

ODD = [
    None, True, False, 0, 1, -1, 2, 7, 10**12, 0.5, -0.0, "", "0", "1", "-1", "f", "1/", "/1", "1/0", "-", "any 000000001999",
    "any 2", "any ", "W", "X1", "type", "Infinity", "1e5", "١", " ", "\x00", [], [0], [[]], [[], {}], ["also"], ["also", 0],
    ["also", 0, 0, 0], {}, {"fraction": "1/"}, {"kind": "group"}, {"kind": "lines"}, {"kind": "determined"}, {"leakage": "1"},
    "extreme points", "lines", "determined", "group", "table", "exchangeable", "sensors",
]  # fmt: skip


def places(value, path=()):
    """Every place in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def mutate(document, data):
    """A change at a random place: something odd instead, nothing, twice, exchanged, or another character."""
    path = data.draw(
        st.sampled_from([path for path in places(document) if path and path[0] not in ("format", "version")])
    )
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    key, old = path[-1], holder[path[-1]]
    kind = data.draw(st.sampled_from(["odd", "odd", "delete", "twice", "exchange", "edit"]))
    if kind == "edit" and isinstance(old, str):
        at = data.draw(st.integers(0, len(old)))
        holder[key] = old[:at] + data.draw(st.sampled_from(["", "0", "1", "f", "-", "/", "."])) + old[at + 1 :]
    elif kind == "edit" and type(old) is int:
        holder[key] = old + data.draw(st.sampled_from([-1, 1, 2, 100]))
    elif kind == "delete":
        del holder[key]
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(old))
    elif kind == "exchange" and isinstance(holder, list):
        other = data.draw(st.integers(0, len(holder) - 1))
        holder[key], holder[other] = holder[other], old
    else:
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(ODD)))


@settings(max_examples=250)
@given(st.sampled_from(KINDS), st.integers(1, 3), st.data())
def test_whatever_is_changed_gives_a_named_claim_or_is_true(name, times, data):
    document = copy.deepcopy(HONEST[name])
    for _ in range(times):
        mutate(document, data)
    refused = claim_of(document, budget=3 * 10**6)
    if not refused and document["law"]["kind"] == "table":
        assert_true_of_a_table(document)
    elif not refused:
        about = ("reveal", "use", "protect", "channel", "claims")
        assert same_up_to_order(document, HONEST[name], about)


def same_up_to_order(document, honest, keys):
    """Whether documents on one recomputed law say the same, whatever their alphabets, notes and proofs."""
    model = [{k: v for k, v in d["law"].items() if k not in ("values", "target values")} for d in (document, honest)]
    rows = [
        dict(zip(map(tuple, d["channel"]["states"]), d["channel"]["rows"], strict=True)) for d in (document, honest)
    ]
    rest = [[d[key] for key in keys if key != "channel"] for d in (document, honest)]
    return model[0] == model[1] and rows[0] == rows[1] and rest[0] == rest[1]


def assert_true_of_a_table(document):
    """Privacy in fractions and the information in floats, written here a second time."""
    law, channel = document["law"], document["channel"]
    codes = {
        tuple(state): {y: F(int(n, 16), int(row[0], 16)) for y, n in row[1:]}
        for state, row in zip(channel["states"], channel["rows"], strict=True)
    }
    budgets = document.get("budgets") or [None] * len(document["protect"])
    for names_of, cells in [
        (law["columns"], law["cells"]),
        *((o["columns"], o["cells"]) for o in document.get("also", [])),
    ]:
        where = {name: i for i, name in enumerate(names_of)}
        for group, budget in zip(document["protect"], budgets, strict=True):
            joint = joint_with_codes(cells, codes, [where[c] for c in group], [where[c] for c in document["use"]])
            z, y = marginals(joint)
            if budget is None:
                assert all(joint[a, b] == z[a] * y[b] for a in z for b in y), group
            elif "leakage" in budget:
                assert bits(joint) <= float(F(*(int(x, 16) for x in budget["leakage"].split("/")))) + 1e-9
    where = {name: i for i, name in enumerate(law["columns"])}
    joint = joint_with_codes(
        law["cells"], codes, [where[c] for c in document["reveal"]], [where[c] for c in document["use"]]
    )
    assert bits(joint) == pytest.approx(float(document["claims"]["information"]), abs=1e-9)
    assert float(document["claims"]["upper_bound"]) >= bits(joint) - 1e-9


def joint_with_codes(cells, codes, what, used):
    total = sum(int(cell[-1], 16) for cell in cells)
    joint = Counter()
    for *cell, weight in cells:
        for y, share in codes[tuple(cell[i] for i in used)].items():
            joint[tuple(cell[i] for i in what), y] += F(int(weight, 16), total) * share
    return joint


def marginals(joint):
    first, second = Counter(), Counter()
    for (a, b), p in joint.items():
        first[a] += p
        second[b] += p
    return first, second


def bits(joint):
    first, second = marginals(joint)
    return sum(float(p) * math.log2(p / (first[a] * second[b])) for (a, b), p in joint.items() if p)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["law"]["alphabets"].__setitem__(1, [0, {"fraction": "1/"}]),
        lambda d: d.update(protect=[["any 000000001999"]]),
        lambda d: d.update(law=[]),
        lambda d: d.update(channel=7),
        lambda d: d.update(bound={"kind": "lines"}),
        lambda d: d.update(bound={"kind": []}),
        lambda d: d["claims"].update(information={}),
        lambda d: d["law"].update(kind=["table"]),
        lambda d: d.update(notes={"\ud800": 1}),
    ],
)
def test_json_is_printed_whatever_is_wrong(change, tmp_path, capsys):
    document = copy.deepcopy(HONEST["joint"])
    change(document)
    file = tmp_path / "r.choral"
    file.write_text(json.dumps({**document, "digest": digest(document)}), encoding="utf-8")
    assert command.main([str(file), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["verified"]
    assert found["claim"]


def digest(document):
    try:
        return sealed(document)["digest"]
    except UnicodeEncodeError:
        return ""


# ---- utilities and conditions -----------------------------------------------------------------------------------


def worth(size):
    """A release whose code is its only used column, of so many values, and which is good for one decision, at no loss."""
    information = f"{size.bit_length() - 1}.000000000000000"
    return {
        "format": "choral release",
        "version": 2,
        "law": {
            "kind": "table",
            "columns": ["X", "Z", "V"],
            "alphabets": [list(range(size)), [0], [0]],
            "cells": [[i, 0, 0, "1"] for i in range(size)],
        },
        "reveal": ["X"],
        "use": ["X"],
        "protect": [["Z"]],
        "channel": {
            "codes": size,
            "states": [[i] for i in range(size)],
            "rows": [["1", [i, "1"]] for i in range(size)],
        },
        "claims": {"information": information, "upper_bound": information, "value": "0", "value_bound": "0"},
        "utility": {"kind": "loss", "actions": ["go"], "loss": [["0"] * size]},
        "best": {"kind": "decision", "rows": [], "multipliers": [[]]},
        "bound": {"kind": "group", "group": None},
        "notes": {},
    }


@pytest.mark.parametrize("row", [["given", [], 0], ["given", {}, 0], ["given", 0, 0, []], ["also", [], 0], ["sum", []]])
@pytest.mark.parametrize("place", ["best", "bound"])
def test_a_row_of_a_proof_that_is_none_is_named(row, place):
    document = worth(2)
    document["best"] |= {"rows": [row], "multipliers": [["0"]]}
    if place == "bound":
        document["bound"] = {
            "kind": "lines", "denominator": "1", "points": [["1", "0"], ["0", "1"]], "cells": [[0, 1]],
            "rows": [row], "multipliers": [["0"]],
        }  # fmt: skip
    assert claim_of(document) in ("upper bound", "value bound")


@pytest.mark.parametrize("loss", ["1" + "0" * 5000, "-1" + "0" * 5000, "1/1" + "0" * 5000])
def test_a_value_of_thousands_of_digits_is_verified_and_printed(loss, tmp_path):
    """A loss that every decision has: minus it is the value, and the most there is."""
    document = worth(2)
    document["utility"]["loss"] = [[loss, loss]]
    value = loss.removeprefix("-") if loss.startswith("-") else f"-{loss}"
    document["claims"] |= {"value": value, "value_bound": value}
    path = tmp_path / "r.choral"
    path.write_text(document_to_text(sealed(document)), encoding="utf-8")
    result = CliRunner().invoke(app, ["verify", str(path), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["verified"]


def test_what_codes_are_worth_takes_as_long_as_what_they_occur_with():
    """Not as long as all pairs of codes and values, a million here, which a file need not list."""
    text = document_to_text(sealed(worth(1024)))
    assert command.verify(text, budget=8_000_000)["verified"]


def test_promises_limited_to_a_value_of_a_long_alphabet_are_paid_for():
    document = worth(2)
    document["law"]["alphabets"][1] = list(range(1000))
    document |= {"protect": [], "given": [{"hidden": ["V"], "known": ["Z"], "only": {"Z": 0}}] * 100}
    assert claim_of(document) == ""
    assert claim_of(document, budget=500_000) == "budget"


DENOMINATORS = {
    "many of 64 bits": lambda bits: [bits(64) | 3 for _ in range(700)],
    "few of many": lambda bits: [bits(8000) | 3 for _ in range(25)],
    "small ones": lambda bits: [bits(8) | 3 for _ in range(100)],
    "each divides the next": lambda bits: list(accumulate((bits(200) | 3 for _ in range(100)), mul)),
}


@pytest.mark.parametrize("kind", DENOMINATORS)
def test_sums_of_fractions_are_paid_for_by_what_adding_them_takes(kind):
    """To add a fraction takes as long as to multiply its denominator with the sum's: not with the square of the sum's."""
    draw = random.Random(1)
    bottoms = DENOMINATORS[kind](draw.getrandbits)
    parts = {bottom: {y: draw.randrange(1, bottom) for y in range(3)} for bottom in bottoms}
    meter = Meter(10**15)
    before = METER.set(meter)
    try:
        found = added(parts)
    finally:
        METER.reset(before)
    work, sums = 0.0, dict.fromkeys(range(3), F(0))
    for bottom, row in parts.items():
        for y, numerator in row.items():
            work += 20 + 4 * sums[y].denominator.bit_length() * bottom.bit_length() / 2**14
            sums[y] += F(numerator, bottom)
    assert found == sums
    assert work <= meter.spent <= 4 * work


def test_a_score_of_ten_sensors_is_verified_within_the_default():
    """Its rows have 76 denominators of up to 6000 bits: two seconds of work, for which two hundred were asked."""
    channels = [ch.bsc(F(1, 20) + F(n, 30)) for n in range(10)]
    found = ch.disclose(ch.Sensors([F(2, 3), F(1, 3)], channels, levels=400), rel_tol=1e-3)
    assert found.verify()["verified"]
