"""Two verifiers that share no line, in two languages, say the same of every file: honest ones of every kind, and forged ones.

The second, docs/check/verifier.js, was written from docs/release-format.md. It runs on the Node.js of playwright.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import subprocess
from decimal import Decimal, localcontext
from fractions import Fraction as F
from pathlib import Path

import forgeries
import pytest
import test_conditions_laws as two_conditions
import test_corpus
import test_verifier_attacks as attacks
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from playwright._impl._driver import compute_driver_executable

import choral as ch
from choral.exact.certificate import document_to_text, sealed
from choral.verifier import command, names
from choral.verifier.claims import ClaimFailed

ROOT = Path(__file__).parents[1]
VERIFIER = ROOT / "docs" / "check" / "verifier.js"
NODE = str(compute_driver_executable()[0])
BUDGET = 10**7
"""Steps, of either verifier, for a small file."""


def run(*arguments, check=False):
    return subprocess.run([NODE, *map(str, arguments)], capture_output=True, encoding="utf-8", check=check)


def second(texts, folder, budget=None):
    """What the second verifier says of each text."""
    files = []
    for i, text in enumerate(texts):
        files.append(folder / f"{i}.choral")
        files[-1].write_bytes(text.encode("utf-8", "surrogatepass"))
    done = run(VERIFIER, *files, "--json", *(["--budget", budget] if budget else []))
    assert not done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def first(text, until, budget=None):
    """The claim that fails at the first verifier, or nothing."""
    try:
        command.verify(text, until=until, budget=budget)
    except ClaimFailed as failed:
        return failed.claim
    return ""


def both(texts, folder, budget=None):
    """What both say, which must be the same: of privacy, and of how much is told."""
    found = second(texts, folder, budget)
    assert len(found) == len(texts)
    for text, other in zip(texts, found, strict=True):
        refused = first(text, "privacy", budget)
        assert other["private"] == (not refused), (refused, other["claim"], other["reason"], text[:3000])
        assert other["holds"] == (not first(text, "information", budget)), (other["claim"], text[:3000])
    return found


def texts_of(documents):
    return [document_to_text(sealed(document)) for document in documents]


# ---- honest files -------------------------------------------------------------------------------------------------

LAW = ch.Joint.from_counts(
    {
        (w, z, v, x): 1 + (w * z + 2 * v + 3 * x * w) % 5
        for w in range(2)
        for z in range(2)
        for v in range(2)
        for x in range(3)
    },
    names=["W", "Z", "V", "X"],
)
SECOND = ch.Joint.from_counts(
    {cell: 1 + (2 * cell[0] * cell[2] + cell[1] + 4 * cell[3]) % 7 for cell in LAW.cells}, names=LAW.names
)
LONG = {"target in use", "coarse", "leakage, coarse", "sandwich of three"}
"""Problems of the corpus that take most of its time, and are of no kind of their own to a verifier."""
SAMPLES = [F(1, 2)] * 2, [[F(1, 2), F(1, 2), 0], [0, F(1, 4), F(3, 4)]]
MADE = {
    "a pair": lambda: ch.disclose(LAW, "W", ["Z+V", "X"]),
    "given": lambda: ch.disclose(LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"]),
    "given a pair": lambda: ch.disclose(LAW, "W", ["V", "Z | V+X"], ["Z", "V", "X"]),
    "given one value": lambda: ch.disclose(LAW, "W", ["Z | W=1"], ["Z", "V", "X"]),
    "given, two laws": lambda: ch.disclose(LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"], also=[SECOND]),
    "given, two laws, one value": lambda: ch.disclose(LAW, "W", ["Z | W=1"], ["Z", "X"], also=[SECOND]),
    "rank": lambda: ch.disclose(LAW, "W", ["Z | V"], ["Z", "V", "X"], solver="rank"),
    "impossible types": lambda: ch.disclose(ch.Exchangeable(*SAMPLES, 3)),
    "three of five": lambda: ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 5), order=3),
    "Markov": lambda: ch.self_disclose(ch.MarkovChain.of([[0.75, 0.25], [0.5, 0.5]]).joint(3)),
    "values": lambda: ch.disclose(LAW.__class__.from_counts(_values(), names=["Köln", "größe", "b"]), "Köln"),
}


def _values():
    odd = [None, 0.1, 1e-7, F(1, 3), "é\n", Decimal("1.50"), 10**30, ("a", (1, 2.5)), float("inf")]
    return {(w, odd[i], b): 1 + (3 * i + 5 * w + 7 * b * i) % 6 for w in range(2) for i in range(9) for b in range(2)}


def test_both_verify_what_choral_makes_of_every_law_and_promise(tmp_path):
    made = {**test_corpus.EXACT, **test_corpus.ROUNDED, **MADE}
    made = {name: make for name, make in made.items() if name not in LONG}
    found = both(texts_of(make().document for make in made.values()), tmp_path)
    assert {name: other["reason"] for name, other in zip(made, found, strict=True) if not other["holds"]} == {}
    kinds = " ".join(sentence for other in found for sentence in other["promises"])
    for promise in ("tells nothing about Z and V", "who already knows V and X", "(where W is 1)", "any 3 of the 5 samples",
                    "at most 0.05 bits about X1", "1.25 times as likely", "under 1 further law"):  # fmt: skip
        assert promise in kinds


def test_both_refuse_a_code_that_tells_which_law_holds_to_whoever_knows_the_condition(tmp_path):
    document, others = two_conditions.three_laws()
    kept = [{**document, "also": [other]} for other in others]
    not_kept = [{**document, "also": others}, two_conditions.publishing_x()]
    found = both(texts_of([*kept, *not_kept]), tmp_path)
    assert [other["private"] for other in found] == [True, True, False, False]


def test_both_verify_files_of_before_and_of_tables(tmp_path):
    old = [path.read_text(encoding="utf-8") for path in sorted(attacks.FROZEN.rglob("*.choral"))]
    rows = [
        f"{'ab'[i % 2]},{'xyz'[i // 2 % 3]},{i // 6 % 2},{'no' if (i * i + i // 5) % 3 else 'yes'}" for i in range(240)
    ]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["sex,school,visits,ill", *rows]) + "\n", encoding="utf-8")
    asked = {"reveal": "ill", "protect": ["sex", "school"], "use": ["sex", "school", "visits"]}
    fits = [
        ch.fit(table, **asked),
        ch.fit(table, **asked, law="network"),
        ch.fit(table, **asked | {"protect": ["sex | school"]}),
    ]
    texts = [release.save(tmp_path / f"{i}.choral").read_text(encoding="utf-8") for i, release in enumerate(fits)]
    found = both([*old, *texts], tmp_path)
    assert all(other["holds"] for other in found)
    assert sum("the recipe" in other["notChecked"][0] for other in found) == 3 + 3


# ---- forged files ---------------------------------------------------------------------------------------------------

SMALL = {**attacks.HONEST, "given": None, "only": None}


@pytest.fixture(scope="module")
def honest():
    """One small honest document of each kind."""
    conditions = {"given": MADE["given"], "only": MADE["given one value"]}
    return attacks.HONEST | {name: json.loads(document_to_text(make().document)) for name, make in conditions.items()}


def weaken(document, draw):
    """A change that a careless verifier would not see: mass moved, another promise, another weight, another budget."""
    law, rows = document["law"], document["channel"]["rows"]
    columns = law.get("columns", ["any 1", "any 2", "X1", "X2", "W"])
    some = draw(st.sampled_from(columns))
    what = draw(st.sampled_from(["move", "move", "group", "weight", "condition", "budget"]))
    if what == "move":
        row = draw(st.sampled_from([row for row in rows if len(row) > 2] or rows))
        scale = draw(st.sampled_from([1, 1000]))
        for entry in row[1:]:
            entry[1] = f"{int(entry[1], 16) * scale:x}"
        row[0] = f"{int(row[0], 16) * scale:x}"
        row[1][1] = f"{int(row[1][1], 16) + 1:x}"
        row[-1][1] = f"{int(row[-1][1], 16) - 1:x}"
    elif what == "group":
        document["protect"].append([some])
    elif what == "weight" and law["kind"] == "table":
        cell = draw(st.sampled_from(law["cells"]))
        cell[-1] = f"{int(cell[-1], 16) + 1:x}"
    elif what == "condition":
        document["version"] = 2
        other = draw(st.sampled_from(columns))
        document["given"] = [*document.get("given", []), {"hidden": [some], "known": [other]}]
    else:
        budget = draw(st.sampled_from([{"ratio": "3/2"}, {"ratio": "15/14"}, {"leakage": "1/80"}, {"leakage": "1"}]))
        document["budgets"] = [budget, *[None] * (len(document["protect"]) - 1)]
        stated = draw(st.sampled_from(["0.000000000000000", "0.009999999862320", "0.000994305133181"]))
        document["claims"]["leakage"] = [stated, *[None] * (len(document["protect"]) - 1)]


@settings(max_examples=5, phases=[Phase.generate])  # forty files at once are not made smaller
@given(data=st.data())
def test_both_say_the_same_of_forged_files(data, honest, tmp_path_factory):
    texts = []
    for _ in range(40):
        document = copy.deepcopy(honest[data.draw(st.sampled_from(sorted(SMALL)))])
        if data.draw(st.booleans()):
            weaken(document, data.draw)
        else:
            attacks.mutate(document, data)
        texts += texts_of([document])
    both(texts, tmp_path_factory.mktemp("forged"), BUDGET)


def telling_nothing(document):
    """The same law and promises with a code that is always the same: whatever is promised about it is true."""
    states = document["channel"]["states"]
    channel = {"codes": 1, "states": states, "rows": [["1", [0, "1"]]] * len(states)}
    claims = dict.fromkeys(("information", "upper_bound"), "0.000000000000000")
    kept = {key: value for key, value in document.items() if key != "budgets"}
    return {**kept, "channel": channel, "claims": claims}


def changed(changes, honest):
    documents = []
    for name, change in changes:
        documents.append(copy.deepcopy(honest[name]))
        change(documents[-1])
    return texts_of(documents)


def test_neither_accepts_what_breaks_one_rule_and_both_take_what_breaks_none(tmp_path, honest):
    silent = {name: telling_nothing(document) for name, document in honest.items()}
    refused = changed(forgeries.REFUSED, honest) + changed(forgeries.LAWS, silent)
    refused += changed(forgeries.PROMISES, silent)
    refused += [change(text) for text in texts_of([silent["joint"]]) for change in forgeries.TEXTS]
    assert all(first(text, "privacy", BUDGET) != "arithmetic" for text in refused)
    taken = changed(forgeries.TAKEN, honest) + texts_of(silent.values())
    plain = [(name, change) for name, change in forgeries.REFUSED if "budgets" not in honest[name]]
    both(changed(plain, silent), tmp_path, BUDGET)  # where nothing is told, some of them are true
    found = both([*refused, *taken], tmp_path, BUDGET)
    expected = [False] * len(refused) + [True] * len(taken)
    wrong = [i for i, (other, holds) in enumerate(zip(found, expected, strict=True)) if other["holds"] != holds]
    assert [(i, found[i]["claim"], found[i]["reason"]) for i in wrong] == []


def test_a_moved_unit_is_a_leak_that_is_named(tmp_path, honest):
    document = copy.deepcopy(honest["joint"])
    row = document["channel"]["rows"][0]
    row[1][1], row[2][1] = f"{int(row[1][1], 16) + 1:x}", f"{int(row[2][1], 16) - 1:x}"
    [found] = both(texts_of([document]), tmp_path)
    assert (found["private"], found["claim"], found["told"]) == (False, "privacy of X1", None)
    assert found["reason"] == "the code tells something about X1"


def test_a_law_of_samples_tells_about_w_from_its_state_and_nothing_else_is_accepted(tmp_path, honest):
    """Whatever the channel does: here it tells nothing."""
    documents = []
    for name, key, value in [
        *(("exchangeable", "reveal", [column]) for column in ("type", "any 1")),
        *(("sensors", "reveal", [column]) for column in ("score", "X1")),
        *(("sensors", "reveal", value) for value in (["W", "X1"], "W", None)),
        ("sensors", "protect", [["W"]]),
        ("exchangeable", "use", ["W"]),
        ("sensors", "use", ["X1"]),
    ]:
        document = telling_nothing(honest[name])
        documents += [document, {**document, key: value}]
    found = both(texts_of(documents), tmp_path)
    assert [other["private"] for other in found] == [True, False] * (len(documents) // 2)


def test_both_say_the_same_of_names_and_values(tmp_path):
    telling, some = attacks.telling, [*attacks.DECEIVERS.values(), *attacks.WELCOME, *attacks.ALIKE]
    documents = [telling(name) for name in some] + [telling(name, protect="sex") for name in some]
    documents += [telling("city", values=values) for values in attacks.SAME]
    pairs = [(letter, other) for letter, others in names.ALIKE_BY_LETTER.items() for other in others]
    documents += [telling(f"x{letter}y", protect=f"x{other}y") for letter, other in pairs]
    documents += [telling("a  b", protect="a b"), telling("é", protect="е\u0301"), telling("age", protect="Age")]
    found = both(texts_of(documents), tmp_path)
    alike = found[-len(pairs) - 3 : -3]
    assert not any(other["private"] for other in alike)


def test_the_page_of_the_format_lists_what_looks_alike():
    page = (ROOT / "docs" / "release-format.md").read_text(encoding="utf-8")
    listed = re.search(r"```text\n(a .*?)```", page, re.DOTALL)[1].split()
    assert dict(zip(listed[::2], listed[1::2], strict=True)) == names.ALIKE_BY_LETTER


SPELLINGS = {
    "fraction": ["2/4", "1/1", "-1/3", "+1/3", "1/0", "1/a", "a/1", "1/", "/1", "", "1/٣", "1" * 1001],
    "float": ["nan", "-inf", "1.5"],
    "date": ["2020-02-29", "2021-02-29", "1900-02-29", "0000-01-01", "2020-1-1"],
    "datetime": [
        *("2020-01-01T00:00:00.500000", "2020-01-01T00:00:00.5", "2020-01-01T00:00", "2020-01-01T24:00:00"),
        *("2020-01-01T00:00:00-00:00", "2020-01-01T00:00:00+01:00:30", "2020-01-01T00:00:00+24:00"),
        *("2020-01-01T00:00:00Z", "0001-01-01T00:00:00+10:00"),
    ],
    "decimal": [
        *("1E+1", "1e1", "10E1", "0.000001", "0.0000001", "1E-7", "0E-6", "0E-7", "-0", "00", "NaN", "-Infinity"),
        *("1E+1000", "1E+1001", "9" * 1000, "9" * 1001),
    ],
    "tuple": [[1, {"tuple": []}], 1, [{}]],
}
VALUES = [{kind: text} for kind, texts in SPELLINGS.items() for text in texts]
VALUES += [{"tuple": [], "x": 1}, {}, [1], None, True, -0.0, 1e300, 5e-324]


def test_both_say_the_same_of_spellings(tmp_path):
    deep = {"tuple": [1]}
    for _ in range(19):
        deep = {"tuple": [deep]}
    values = [*VALUES, deep, {"tuple": [deep]}]
    found = both(texts_of(attacks.telling("city", values=["a", value]) for value in values), tmp_path)
    assert {other["private"] for other in found[-2:]} == {True, False}


NUMBERS = r"""NaN Infinity 1e400 -0 -0.0 1.50 1e5 1E5 1e+05 01 1. +1 .5 1e16 123456789012345678 1e22 1e23 0.0001 0.00001
    5e-324 1e-400 9007199254740993 0.1e1 123456789.123456789e-30 - true tru [1,] {} {"a":1,} {"a":1,"a":1} {"a":1,"\u0061":1}
    "\u00e9" "\ud800" "\ud83d\ude00" "\/" "\x" "\u0000" "\b\f\n\r\t\u001f" {"😀":1,"\uffff":2,"__proto__":3}"""


def digest_of(text):
    """The digest of a text that can be read; of half a surrogate pair, and of infinity, as a careless reader has it."""
    try:
        document = json.loads(text)
    except ValueError:
        return ""
    kept = {key: value for key, value in document.items() if key != "digest"}
    spelled = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(spelled.replace("\ud800", "\\ud800").encode()).hexdigest()


def test_both_read_the_same_json_and_digest_it_alike(tmp_path):
    plain = document_to_text(sealed(attacks.telling("city")))
    texts = [
        plain,
        plain.replace('"notes": {}', '"notes": {"n": 1}'),
        f"\ufeff{plain}",
        f"{plain} \n",
        f"{plain}x",
        plain[:-3],
        "",
        "[]",
        "{}",
        "[" * 10**5,
        plain.replace("1", "2"),
    ]
    for number in [*NUMBERS.split(), "9" * 1000, "9" * 1001, '"\x01"', '"\x7f\u2028"', "\u00a01"]:
        text = plain.replace('"notes": {}', f'"notes": {{"n": {number}}}')
        texts.append(text.replace(json.loads(plain)["digest"], digest_of(text)))
    found = both(texts, tmp_path)
    assert 20 < sum(other["private"] for other in found) < len(texts)


@pytest.mark.parametrize("version", [0, 3, 1.0, "1", True, None])
def test_an_unknown_version_is_refused(version, tmp_path):
    document = sealed(attacks.telling("city") | {"version": version})
    [found] = second([document_to_text(document)], tmp_path)
    assert (found["private"], found["claim"]) == (False, "file")


def test_how_much_is_told_is_what_is_stated(tmp_path):
    stated = ["1.000000000000000", "0.999999999999999", "0.9999999999999981", "0.999999999999998", "1.000000000000001"]
    stated += ["1", "1.", ".9999999999999999", "1e0", "-1", " 1.0", "", "0." + "9" * 37, "0." + "9" * 38]
    documents = []
    for text in stated:
        documents.append(attacks.telling("city"))
        documents[-1]["claims"]["information"] = text
    found = both(texts_of(documents), tmp_path)
    assert [other["holds"] for other in found[:5]] == [True, True, True, False, False]


def test_logarithms_are_right_to_fifty_places():
    program = f"console.log(String(require({json.dumps(str(VERIFIER))}).log2(3n ** 400n)))"
    with localcontext(prec=90):
        found = Decimal(run("-e", program, check=True).stdout) / 2**256 / 400
        assert abs(found - Decimal(3).ln() / Decimal(2).ln()) < Decimal("1e-50")


# ---- time, words, and nothing else ------------------------------------------------------------------------------------


def test_a_small_file_that_would_take_for_ever_is_refused_at_once(tmp_path):
    texts = texts_of(make() for make in attacks.STALLS.values())
    found = second(texts, tmp_path, budget=BUDGET)
    assert {other["claim"] for other in found} == {"budget", "channel"}
    [few] = second(texts_of([attacks.HONEST["joint"]]), tmp_path, budget=100)
    assert (few["private"], few["claim"]) == (False, "budget")


def test_the_command_says_what_holds_and_what_was_not_checked(tmp_path):
    honest = attacks.FROZEN / "leakage.choral"
    done = run(VERIFIER, honest)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "holds        The code tells at most 0.010000000000001 bits about X1." in lines
    assert "not checked  that no private code could tell more (the upper bound that the file states)" in lines
    assert lines[-1].startswith("PRIVATE")
    forged = tmp_path / "forged"
    forged.write_text(honest.read_text().replace('"codes":4', '"codes":5'), encoding="utf-8")
    done = run(VERIFIER, forged)
    assert (done.returncode, done.stdout.splitlines()[-1][:20]) == (1, "FAILED       digest:")
    assert "PRIVATE" not in done.stdout
    for bad in (
        [],
        [honest, "--budget"],
        [honest, "--budget", "-1"],
        [honest, "--quick"],
        [tmp_path / "nothing"],
        [tmp_path],
    ):
        assert run(VERIFIER, *bad).returncode == 2


def test_it_depends_on_nothing_and_reaches_nothing():
    text = VERIFIER.read_text(encoding="utf-8")
    assert re.findall(r"require\((.*?)\)", text) == ['"node:fs"']
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|importScripts|eval|Function|import)\b\s*\(", text)


def test_of_a_utility_the_second_says_that_it_does_not_check_it(tmp_path):
    """Privacy and information are checked all the same; a utility in a file of version 1 is refused by both."""
    d = ch.disclose(ch.examples.bsc_and_bec(), "W", utility="accuracy")
    text = document_to_text(d.document)
    [found] = second([text], tmp_path)
    assert found["private"]
    assert found["holds"]
    assert any("worth" in line for line in found["notChecked"])
    old = document_to_text(sealed({**d.document, "version": 1}))
    assert [first(old, "bound"), second([old], tmp_path)[0]["claim"]] == ["utility", "utility"]
