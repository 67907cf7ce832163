"""The verifier accepts what is true and names the first claim that is not, also when the digest was recomputed."""

from __future__ import annotations

import copy
import io
import json
import math
import random
import subprocess
import sys
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from join_verifier import FOLDER, join
from laws import full_joints

import choral as ch
from choral.errors import VerificationError
from choral.exact.certificate import check, document_to_text, sealed
from choral.release.file import CARD_FORMAT
from choral.verifier import JOINED, command, intervals, reading
from choral.verifier.claims import ClaimFailed
from choral.verifier.proof_rank import swept_line
from choral.verifier.steps import METER, STEPS, Meter

VERIFIER = JOINED


def forged(document, change):
    other = copy.deepcopy(dict(document))
    change(other)
    return sealed(other)


def rejected(document, change):
    with pytest.raises(VerificationError) as caught:
        check(forged(document, change))
    return caught.value.claim


@pytest.fixture(scope="module")
def release():
    return ch.disclose(ch.examples.clinic(), "diagnosis").document


def test_it_imports_the_standard_library_alone(tmp_path, release):
    lines = VERIFIER.read_text(encoding="utf-8").splitlines()
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names) | {"__future__"}
    file = tmp_path / "release.choral"
    file.write_text(document_to_text(release), encoding="utf-8")
    alone = tmp_path / "verifier.py"
    alone.write_text(VERIFIER.read_text(encoding="utf-8"), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(alone), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "VERIFIED" in done.stdout
    assert "protects     pressure, glucose, smoker" in done.stdout
    assert "reveals      diagnosis" in done.stdout


def test_the_one_file_is_joined_from_the_parts_as_they_are():
    assert VERIFIER.read_text(encoding="utf-8") == join(), "run python scripts/join_verifier.py"


def test_joining_refuses_what_would_change_the_meaning_of_a_part(tmp_path):
    for part in FOLDER.glob("*.py"):
        (tmp_path / part.name).write_text(part.read_text(encoding="utf-8"), encoding="utf-8")
    assert join(tmp_path) == join()
    plain = (tmp_path / "core.py").read_text(encoding="utf-8")
    for added, reason in {
        "\n\ndef need(x):\n    return x\n": "need is defined in core and in claims",
        "\nimport numpy\n": "numpy",
        "\nfrom numpy import array\n": "numpy",
        "\nfrom choral.errors import ChoralError\n": "choral.errors",
        "\nfrom choral.verifier.information import leakage\n": "before",
        "\nfrom fractions import Fraction as F\n": "renames",
    }.items():
        (tmp_path / "core.py").write_text(plain + added, encoding="utf-8")
        with pytest.raises(ValueError, match=reason):
            join(tmp_path)
    (tmp_path / "core.py").write_text(plain, encoding="utf-8")
    (tmp_path / "more.py").write_text('"""More."""\n', encoding="utf-8")
    with pytest.raises(ValueError, match="more"):
        join(tmp_path)


@settings(deadline=None, max_examples=12)
@given(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))), st.data())
def test_changing_any_weight_of_the_law_is_noticed(law, data):
    d = ch.disclose(law)
    document = d.document
    cells = document["law"]["cells"]
    assume(len(cells) > 1)
    k = data.draw(st.integers(0, len(cells) - 1))
    new = int(cells[k][-1], 16) + data.draw(st.sampled_from([1, 7, 10**6]))

    def change(doc):
        doc["law"]["cells"][k][-1] = f"{new:x}"

    other = forged(document, change)
    try:
        check(other)
    except VerificationError:
        pass
    else:  # the forged law is one under which everything holds: then the claims are true, and about it
        assert (d.codes, d.upper_bound) == (1, 0)


@settings(deadline=None, max_examples=12)
@given(full_joints(shapes=((2, 2), (2, 3), (2, 2, 2))), st.data())
def test_changing_any_weight_of_the_channel_is_noticed(law, data):
    document = ch.disclose(law).document
    rows = document["channel"]["rows"]
    s = data.draw(st.integers(0, len(rows) - 1))
    k = data.draw(st.integers(1, len(rows[s]) - 1))
    more = int(rows[s][k][1], 16) + data.draw(st.sampled_from([1, 10**9]))

    def one_weight(doc):
        doc["channel"]["rows"][s][k][1] = f"{more:x}"

    assert rejected(document, one_weight) == "prior"


@settings(deadline=None, max_examples=25)
@given(full_joints(shapes=((2, 2, 2), (2, 3))), st.data())
def test_moving_mass_between_codes_of_one_state_breaks_privacy(law, data):
    d = ch.disclose(law)
    rows = d.document["channel"]["rows"]
    shared = [s for s, row in enumerate(rows) if len(row) > 2]
    assume(shared)
    s = data.draw(st.sampled_from(shared))

    def change(doc):
        row = doc["channel"]["rows"][s]
        scale = 1000
        row[0] = f"{int(row[0], 16) * scale:x}"
        for entry in row[1:]:
            entry[1] = f"{int(entry[1], 16) * scale:x}"
        row[1][1] = f"{int(row[1][1], 16) + 1:x}"
        row[2][1] = f"{int(row[2][1], 16) - 1:x}"

    assert rejected(d.document, change).startswith("privacy of")


@settings(deadline=None, max_examples=25)
@given(full_joints(), st.sampled_from([Decimal("1e-9"), Decimal("3e-15"), Decimal("0.1")]))
def test_information_raised_or_lowered_and_bound_lowered_or_raised(law, step):
    document = ch.disclose(law).document
    information, bound = (Decimal(document["claims"][k]) for k in ("information", "upper_bound"))

    def state(key, value):
        def change(doc):
            doc["claims"][key] = f"{value:f}"

        return change

    assert rejected(document, state("information", information + step)) == "information"
    assert rejected(document, state("upper_bound", bound + step)) == "upper bound"
    if information >= step:
        assert rejected(document, state("information", information - step)) == "information"
    if bound >= step:
        assert rejected(document, state("upper_bound", bound - step)) == "upper bound"


def test_a_group_added_that_does_not_hold_is_found(release):
    assert (
        rejected(release, lambda doc: doc["protect"].append(["pressure", "glucose"])) == "privacy of pressure+glucose"
    )
    assert rejected(release, lambda doc: doc["protect"].append(["diagnosis"])) == "privacy of diagnosis"


def test_a_group_removed_leaves_a_weaker_claim_that_is_printed(release):
    said = []
    other = forged(release, lambda doc: doc["protect"].pop())
    with pytest.raises(ClaimFailed, match="upper bound"):  # the proof of optimality no longer fits
        command.verify(document_to_text(other), said.append)
    assert any(line.startswith("protects     pressure, glucose ") for line in said)


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("protected groups", lambda d: d.update(protect=[])),
        ("protected groups", lambda d: d["protect"].append(["nobody"])),
        ("protected groups", lambda d: d["protect"].append(["smoker"])),
        ("target", lambda d: d.update(reveal=[])),
        ("use", lambda d: d.update(use=["pressure", "pressure", "smoker"])),
        ("law", lambda d: d.pop("law")),
        ("law", lambda d: d["law"]["cells"].append(d["law"]["cells"][0])),
        ("law", lambda d: d["law"]["cells"][0].__setitem__(-1, "-5")),
        ("law", lambda d: d["law"]["cells"][0].__setitem__(-1, "0")),
        ("law", lambda d: d["law"]["cells"][0].__setitem__(-1, 5)),
        ("law", lambda d: d["law"]["cells"][0].__setitem__(0, 7)),
        ("law", lambda d: d["law"]["cells"][0].__setitem__(0, True)),
        ("law", lambda d: d["law"]["columns"].__setitem__(1, "diagnosis")),
        ("law", lambda d: d["law"].update(kind="oracle")),
        ("channel", lambda d: d["channel"]["rows"].pop()),
        ("channel", lambda d: (d["channel"]["rows"].pop(), d["channel"]["states"].pop())),
        ("channel", lambda d: d["channel"]["states"].__setitem__(0, [1, 1, 1])),
        ("channel", lambda d: d["channel"].update(codes=99)),
        ("channel", lambda d: d["channel"]["rows"][0][1].__setitem__(1, "-1")),
        ("channel", lambda d: d["channel"]["rows"][0][1].__setitem__(1, "1_0")),
        ("channel", lambda d: d["channel"]["rows"][0][1].__setitem__(0, 98)),
        ("information", lambda d: d["claims"].update(information="Infinity")),
        ("information", lambda d: d["claims"].update(information="1e-1")),
        ("upper_bound", lambda d: d["claims"].update(upper_bound=0.1)),
        ("upper bound", lambda d: d.pop("bound")),
        ("upper bound", lambda d: d["bound"].update(kind="trust me")),
        ("upper bound", lambda d: d["bound"]["multipliers"].pop()),
        ("upper bound", lambda d: d["bound"]["multipliers"].__setitem__(0, "ff/1")),
        ("upper bound", lambda d: d["bound"]["multipliers"].__setitem__(0, "1/0")),
        ("upper bound", lambda d: d.update(bound={"kind": "group", "group": 0})),
        ("upper bound", lambda d: d.update(bound={"kind": "group", "group": 17})),
    ],
)
@pytest.mark.parametrize("long", [reading.LONG, 2])
def test_forgeries_are_named(release, claim, change, long, monkeypatch):
    monkeypatch.setattr(reading, "LONG", long)
    assert rejected(release, change) == claim


@pytest.mark.parametrize("law", [ch.examples.clinic(), ch.examples.noisy_copies(3)])
def test_lists_that_are_not_kept_change_nothing(law, monkeypatch):
    target = "diagnosis" if "diagnosis" in law.names else "W"
    plain = ch.disclose(law, target)
    found = plain.verify()
    monkeypatch.setattr(reading, "LONG", 2)
    monkeypatch.setattr(reading, "BLOCK", 3)
    d = ch.disclose(law, target)
    kept = [d.document["law"]["cells"], d.document["channel"]["states"], d.document["channel"]["rows"]]
    assert all(isinstance(listed, reading.Lazy) for listed in kept)
    assert d.document["digest"] == plain.document["digest"]
    assert document_to_text(d.document) == document_to_text(plain.document)
    assert json.loads(document_to_text(d.document)) == json.loads(json.dumps(plain.document))
    assert d.verify() == found
    read = reading.read(document_to_text(plain.document))
    assert isinstance(read["channel"]["rows"], reading.Lazy)
    assert list(read["channel"]["rows"]) == plain.document["channel"]["rows"]
    assert d.channel_of(d.states[0]) == plain.channel_of(d.states[0])
    with pytest.raises(IndexError):
        read["channel"]["rows"][len(read["channel"]["rows"])]


def as_plain(value):
    """A JSON value with all its lists kept."""
    if reading.is_list(value):
        return [as_plain(item) for item in value]
    return {key: as_plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@settings(deadline=None, max_examples=300)
@given(st.data(), st.sampled_from([0, 1, 3, 1000]))
def test_reading_agrees_with_the_json_module_on_damaged_text(data, long):
    """Some characters of a small file are removed, repeated or replaced, and blanks put in: both read it, or neither does."""
    text = """{"format": "x", "law": {"kind": "table", "cells": [[0, "a"], [1, "b"] , [2,"c"]]},
    "channel": {"rows": [["1",[0,"1"]],["2", [0, "1"]]], "states": [ ], "codes": 1e0}, "notes": {},
    "also": [{"cells": [1]}]}"""
    for _ in range(data.draw(st.integers(0, 3))):
        i = data.draw(st.integers(0, len(text)))
        new = data.draw(
            st.sampled_from(["", "", ",", "[", "]", "{", "}", '"', ":", " ", "\n", "0", "\\", "\x0b", '"law":{},'])
        )
        text = text[:i] + new + text[i + data.draw(st.integers(0, 2)) :]
    try:
        expected = json.loads(text, object_pairs_hook=reading.no_twins)
    except (ValueError, ClaimFailed):
        expected = None
    before, reading.LONG = reading.LONG, long
    try:
        found, end = reading.read_value(text, 0)
        found = as_plain(found) if not text[end:].strip(" \t\n\r") else None
    except (ValueError, ClaimFailed):
        found = None
    finally:
        reading.LONG = before
    assert found == expected


def test_the_channel_of_another_law_is_rejected(release):
    other = ch.disclose(ch.examples.clinic(), "diagnosis", order=1, protect=["smoker"]).document

    def change(doc):
        doc["channel"] = other["channel"]

    assert rejected(release, change).startswith("privacy of")


def test_what_is_not_a_release_is_a_sentence_not_a_traceback(tmp_path):
    for name, text in {"empty": "", "text": "hello", "list": "[]", "deep": "[" * 100_000}.items():
        file = tmp_path / name
        file.write_text(text)
        done = subprocess.run([sys.executable, str(VERIFIER), str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stdout.startswith("FAILED       file")
        assert not done.stderr
    done = subprocess.run([sys.executable, str(VERIFIER), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "cannot be opened" in done.stderr


def test_a_card_is_named_with_what_to_give_instead():
    with pytest.raises(ClaimFailed, match="public card; give the release file"):
        command.verify(json.dumps({"format": CARD_FORMAT, "version": 1}))


def test_a_doubled_key_cannot_hide_a_second_document(release):
    text = document_to_text(release).replace('"reveal":', '"reveal": ["smoker"],\n"reveal":', 1)
    with pytest.raises(ClaimFailed, match="twice"):
        command.verify(text)


def test_json_for_programs(tmp_path, release):
    file = tmp_path / "r.choral"
    file.write_text(document_to_text(release), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(VERIFIER), str(file), "--json"], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["verified"]
    assert found["protect"] == [["pressure"], ["glucose"], ["smoker"]]


def test_a_logarithm_is_within_its_interval_whether_one_or_two_are_taken():
    """Against ninety digits: of quotients, of numbers next to 1, and of intervals that are neighbours, nearly, or wide."""
    sure, rng = Context(prec=90), random.Random(7)

    def truth(x):
        return sure.divide(sure.ln(x), sure.ln(Decimal(2)))

    for k in range(600):
        size = 10 ** rng.randint(1, 30)
        low, high = intervals.ratio(rng.randint(1, size) + (size if k % 3 == 0 else 0), size)
        high = (
            intervals.UP.multiply(high, 1 + Decimal(10) ** -rng.choice([53, 54, 55, 56, 57, 3, 1])) if k % 2 else high
        )
        below, above = intervals.log2((low, high))
        assert below <= truth(low) <= truth(high) <= above
        assert above - below <= truth(high) - truth(low) + Decimal("1e-53")


def test_intervals_contain_what_they_should():
    # log2(3) to 50 digits, known from elsewhere; H(1/3) = log2(3) - 2/3.
    with localcontext(prec=70):
        log3, unit = Decimal("1.58496250072115618145373894394781650875981440769248"), Decimal("1e-50")
        low, high = intervals.log2(intervals.interval(3))
        assert log3 <= high
        assert low <= log3 + unit
        assert 0 < high - low < unit
        low, high = intervals.entropy(map(intervals.interval, ch.bsc("1/3")[0]))
        h_third = log3 - Decimal(2) / 3
        assert h_third <= high
        assert low <= h_third + unit
        assert 0 < high - low < unit


# ---- what attackers found, so that it stays found --------------------------------------------------------------


def test_huge_multipliers_do_not_blur_the_bound():
    document = ch.disclose(ch.examples.clinic(), "diagnosis").document
    for size in (10**40, 10**60, 10**80, 10**200):

        def change(doc, size=size):
            doc["bound"] = {"kind": "extreme points", "multipliers": [f"{size:x}/1"] * len(doc["channel"]["states"])}
            doc["claims"]["upper_bound"] = "0.000000000000000"

        assert rejected(document, change) == "upper bound"


def test_the_verdict_does_not_depend_on_the_caller_s_decimal_context():
    d = ch.self_disclose(ch.Joint.from_counts({(0, 0): 3, (0, 1): 1, (1, 0): 2, (1, 1): 2}, names=["A", "B"]))
    with localcontext(prec=5):
        assert d.verify()["verified"]


def test_nothing_to_tell_is_proved_without_enumeration():
    cells = dict.fromkeys(((w, *x) for w in (0, 1) for x in product((0, 1), repeat=8)), 1)
    d = ch.disclose(ch.Joint.from_counts(cells, ["W", *(f"X{i}" for i in range(8))]))
    assert (d.information, d.upper_bound) == (0, 0)
    assert d.document["bound"]["kind"] == "determined"
    assert d.verify()["verified"]
    wrong = d.document["bound"]["coefficients"][0][0]

    def change(doc):
        doc["bound"]["coefficients"][0][0] = "1/7" if wrong != "1/7" else "1/8"

    assert rejected(d.document, change) == "upper bound"


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("channel", lambda d: d["channel"].update(codes=10**30)),
        ("law", lambda d: d["law"]["columns"].__setitem__(1, "a\nVERIFIED")),
        ("law", lambda d: d["law"]["columns"].__setitem__(1, "pressure, glucose")),
        ("law", lambda d: d["law"]["alphabets"].__setitem__(1, [1, 1.0])),
        ("law", lambda d: d["law"]["alphabets"].__setitem__(1, [0.5, {"fraction": "2/4"}])),
        ("law", lambda d: d["law"]["alphabets"].__setitem__(1, [[], {}])),
        ("file", lambda d: d.update(notes=None)),
    ],
)
def test_what_could_mislead_or_crash_is_named(release, claim, change):
    assert rejected(release, change) == claim


def test_masses_beyond_floats_and_huge_weights_are_handled():
    tiny = F(1, 10**400)
    d = ch.disclose(
        ch.Joint.from_counts({(0, 0): tiny, (0, 1): 1, (0, 2): 2, (1, 0): 1, (1, 1): 3, (1, 2): 1}, ["W", "A"]),
        protect=["A"],
        use=["W", "A"],
    )
    assert d.verify()["verified"]
    assert d.gap < 1e-9
    for m in (F(1, 10**20), F(1, 10**300)):
        counts = {(1, 0): 1, (1, 1): 1, (1, 2): m, (2, 0): 1, (2, 1): 1, (2, 2): m}
        d = ch.self_disclose(ch.Joint.from_counts(counts, ["A", "B"]))
        assert d.verify()["verified"]
        assert d.information > 0.99
    d = ch.disclose(
        ch.Joint.from_counts({(0, 0): F(1, 10**300), (0, 1): 1, (1, 0): 3, (1, 1): 3}, ["W", "A"]),
        protect=["A"],
        use=["W", "A"],
    )
    assert d.gap < 1e-9
    d = ch.disclose(
        ch.Joint.from_counts({(0, 0, 0): 10**5000, (0, 0, 1): 1, (0, 1, 0): 2, (1, 1, 1): 3}, ["W", "A", "B"])
    )
    assert d.verify()["verified"]


def test_a_release_on_a_compact_law_is_loaded_only_as_it_was_posed(tmp_path):
    d = ch.disclose(ch.Sensors([F(1, 2)] * 2, [[[F(1, 2)] * 2] * 2, ch.bsc(F(1, 5))], scores=[[0, 1], [0, 2]]))

    def change(doc):
        doc["protect"] = [["X1"]]
        rows = [["1", [s >> 1 & 1, "1"]] for s in range(4)]
        doc["channel"] = {"codes": 2, "states": [[s] for s in range(4)], "rows": rows}
        doc["bound"] = {"kind": "group", "group": None}
        doc["claims"] = {"information": "0.278071905112637", "upper_bound": "0.278071905112638"}

    other = forged(d.document, change)
    assert check(other)["verified"]  # true, of X1 alone
    file = tmp_path / "f.choral"
    file.write_text(document_to_text(other), encoding="utf-8")
    with pytest.raises(ch.errors.ReleaseFileError, match="does not pose"):
        ch.load(file)


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("channel", lambda d: d["law"].update(n=10**30)),
        ("channel", lambda d: d["law"].update(n=100_000)),
        ("law", lambda d: d["law"].update(values=["a", "a"])),
        ("law", lambda d: d["law"].update(values=5)),
        ("law", lambda d: d["law"].pop("target values")),
        ("law", lambda d: d["law"].update(prior=["1/2", "2/3"])),
        ("protected groups", lambda d: d.update(protect=[5])),
        ("protected groups", lambda d: d.update(protect=[["any 0"]])),
        ("protected groups", lambda d: d.update(protect=[[]])),
        ("use", lambda d: d.update(use=["samples"])),
        ("law", lambda d: d["law"].update(cells=[])),
        ("law", lambda d: d["law"].update(cells=[0, 0, 0])),
    ],
)
@pytest.mark.parametrize("long", [reading.LONG, 2])
def test_forged_compact_laws_are_named_quickly(claim, change, long, monkeypatch):
    monkeypatch.setattr(reading, "LONG", long)
    d = ch.disclose(ch.Exchangeable([F(1, 2)] * 2, ch.bsc(F(1, 10)), 4))
    assert rejected(d.document, change) == claim


def test_no_draw_from_a_channel_that_is_not_private():
    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    (denominator, entries), *rows = d.exact_channel.rows
    channel = replace(d.exact_channel, rows=((denominator, ((entries[0][0], denominator),)), *rows))
    with pytest.raises(VerificationError, match="privacy"):
        replace(d, solution=replace(d.solution, channel=channel)).sample(d.states[0])


def test_a_thousand_groups_are_priced_by_the_length_that_they_have():
    """Priced by the product of their sizes, thirty thousand states in a thousand groups were over the budget."""
    draw = random.Random(1)
    groups = [[(g, k) for k in range(30)] for g in range(1000)]
    prior = {state: draw.randint(2, 80) for states in groups for state in states}
    top = {state: draw.randint(1, weight) for state, weight in prior.items()}
    meter = Meter(STEPS // 2)
    before = METER.set(meter)
    try:
        length, weight = next(swept_line(groups, prior, top))
    finally:
        METER.reset(before)
    assert length == math.lcm(*(sum(prior[state] for state in states) for states in groups))
    assert weight == sum(prior.values())
    assert meter.spent > 30_000


@pytest.mark.parametrize("line", [["--help"], ["-x"], ["nowhere ٣"]])
def test_the_command_prints_where_only_ascii_can_be(line, monkeypatch):
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert command.main(line) == (0 if line == ["--help"] else 2)
    printed = out.buffer.getvalue() + err.buffer.getvalue()
    assert printed.isascii()
    assert b"\\" in printed or line == ["-x"]


def test_an_interrupt_is_one_line_and_says_nothing_holds(monkeypatch, capsys):
    from choral.verifier import command

    def main(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "main", main)
    with pytest.raises(SystemExit) as ended:
        command.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Interrupted: what was not checked yet is not said to hold.\n"


@pytest.mark.parametrize(("information", "status"), [(None, 0), ("0.900000000000000", 1)])
def test_with_standard_output_closed_the_status_says_whether_it_holds(information, status, tmp_path):
    document = dict(ch.disclose(ch.examples.bsc_and_bec(), "W").document)
    document["claims"] = document["claims"] | ({"information": information} if information else {})
    file = tmp_path / "some.choral"
    file.write_text(document_to_text(sealed(document)))
    command = 'exec "$0" -I "$1" "$2" >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, str(VERIFIER), str(file)], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (status, b"")
