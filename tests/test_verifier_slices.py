"""Children of the verifier change nothing: what is said, claims that fail, steps; nor does what befalls them."""

from __future__ import annotations

import copy
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import forgeries
import pytest
import test_verifier_attacks as attacks
from hypothesis import given, settings
from hypothesis import strategies as st

import choral as ch
from choral.exact.certificate import document_to_text, sealed
from choral.verifier import JOINED, reading, slices

APART = Path(__file__).with_name("apart.py")
PATIENCE = 60
pytestmark = pytest.mark.skipif(
    not Path(slices.THREADS).is_dir(), reason="the verifier forks where threads are counted"
)


def said_apart(way, asked):
    """What the verifier says of texts, each with a budget or none, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-I", str(APART), str(JOINED), way],
        input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=10 * PATIENCE,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


CELLS = {
    (w, z, v, x): 1 + (w * z + 2 * v + 3 * x * w) % 5 for w in (0, 1) for z in (0, 1) for v in (0, 1) for x in range(3)
}
LAW = ch.Joint.from_counts(CELLS, names=["W", "Z", "V", "X"])


@pytest.fixture(scope="module")
def honest():
    """A document of each kind."""
    made = {
        "given": ch.disclose(LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"]),
        "only": ch.disclose(LAW, "W", ["Z | W=1"], ["Z", "V", "X"]),
        "not used": ch.disclose(LAW, "W", ["Z", "X"], ["V", "X"]),
    }
    return attacks.HONEST | {name: json.loads(document_to_text(d.document)) for name, d in made.items()}


def text_of(document, change=lambda document: None):
    document = copy.deepcopy(document)
    change(document)
    return document_to_text(sealed(document))


@pytest.fixture(scope="module")
def texts(honest):
    """Honest files of every kind, files that must be refused, and files with one of their lists damaged at its end."""
    found = [text_of(document) for document in honest.values()]
    for name, change in [*forgeries.REFUSED, *forgeries.LAWS, *forgeries.TAKEN]:
        try:
            found.append(text_of(honest[name], change))
        except (AttributeError, IndexError, KeyError, TypeError):  # a change of another kind of file
            continue
    for name in honest:
        for part, key in (("law", "cells"), ("channel", "rows"), ("channel", "states")):
            if key not in honest[name][part]:
                continue
            for change in (
                lambda listed: listed.append(listed[0]),
                lambda listed: listed.__setitem__(-1, listed[0]),
                lambda listed: listed.__setitem__(-1, 7),
                lambda listed: listed.__setitem__(-1, ["1"]),
            ):
                found.append(text_of(honest[name], lambda d, p=part, k=key, c=change: c(d[p][k])))
    return found


@pytest.fixture(scope="module")
def alone(texts):
    """What one process says of all."""
    found = said_apart("one", [[text, None] for text in texts])
    assert found["children"] == 0
    return found["outcomes"]


def test_many_processes_say_what_one_says(texts, alone):
    """The same lines, claims and reasons, after the same steps: of honest files, and of files that must be refused."""
    many = said_apart("many", [[text, None] for text in texts])
    assert many["children"] > len(texts)
    assert many["outcomes"] == alone
    refused = [one for one in alone if isinstance(one["found"], list)]
    assert len(refused) > 200
    assert len(alone) - len(refused) > 20


@pytest.mark.parametrize(
    "way", ["killed at once", "killed late", "ends early", "half of it", "fails", "no fork", "one fork"]
)
def test_whatever_befalls_children_what_holds_is_the_same(way, texts, alone):
    some = slice(None, None, 7)
    found = said_apart(way, [[text, None] for text in texts[some]])
    assert found["children"] > 0
    assert found["outcomes"] == alone[some]


@pytest.mark.parametrize("way", ["threads", "one core"])
def test_nothing_is_forked_beside_threads_or_on_one_core(way, texts, alone):
    assert said_apart(way, [[text, None] for text in texts[:3]]) == {"outcomes": alone[:3], "children": 0}


def test_a_budget_refuses_the_same_files_with_the_same_words(honest, alone):
    """Budgets about as large as what honest files take, in steps and in numbers held, and all that are much smaller."""
    asked = []
    for document, one in zip(honest.values(), alone, strict=False):
        spent = one["spent"]
        asked += [[text_of(document), spent * share // 12] for share in range(1, 12)]
        asked += [[text_of(document), spent + more] for more in (-1, 0, 1)]
    one, many = (said_apart(way, asked) for way in ("one", "many"))
    assert many["outcomes"] == one["outcomes"]
    refused = [found["found"][0] for found in one["outcomes"] if isinstance(found["found"], list)]
    assert set(refused) == {"budget"}
    assert len(refused) > len(asked) // 2
    assert len(refused) < len(asked)


@pytest.mark.parametrize("whole", [True, False])
def test_an_interrupt_ends_parent_and_children_with_one_line(whole):
    """From a terminal it reaches the group; sent to the parent alone, the parent ends its children."""
    parent = subprocess.Popen(
        [sys.executable, "-I", str(APART), str(JOINED), "slow"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        children = [int(parent.stdout.readline()) for _ in range(2)]
        (os.killpg if whole else os.kill)(parent.pid, signal.SIGINT)
        _, said = parent.communicate(timeout=PATIENCE)
    finally:
        parent.kill()
    assert parent.returncode == 130
    assert said == "Interrupted: what was not checked yet is not said to hold.\n"
    assert not any(Path(f"/proc/{child}").exists() for child in children)


# ---- lists that are left in the text -----------------------------------------------------------------------------------

SIMPLE = st.sampled_from(
    ["0", "7", "10", "-1", "-0", "1e2", "1.0", "true", "null", '"0a"', '""', '"A"', '"\\u0061"', '"a b"', '"é"']
)
FINE = st.sampled_from(["0", "7", "123456789012345678901234567890", '"0a"', '""', '"123"'])


def lists_of(simple):
    inner = st.one_of(
        simple, st.lists(simple, max_size=3).map(lambda x: f"[{','.join(x)}]"), st.sampled_from(["[[1]]", "{}"])
    )
    plain = st.one_of(simple, st.lists(simple, min_size=1, max_size=3).map(lambda x: f"[{','.join(x)}]"))
    return st.one_of(st.lists(plain, min_size=1, max_size=3), st.lists(inner, max_size=3)).map(
        lambda x: f"[{','.join(x)}]"
    )


@settings(deadline=None, max_examples=400)
@given(
    st.lists(st.one_of(lists_of(FINE), lists_of(FINE), lists_of(SIMPLE)), max_size=9), st.sampled_from([",", ",", ", "])
)
def test_a_list_that_is_left_in_the_text_is_what_json_says_it_is(items, comma):
    """Its items, and its text in the digest, whether its blocks are plain or not."""
    text = f'{{"law":{{"cells":[{comma.join(items)}]}}}}'
    expected = json.loads(text)
    before = reading.LONG, reading.BLOCK, reading.PLAIN
    reading.LONG, reading.BLOCK, reading.PLAIN = 0, 2, reading.re.compile(f"(?:{reading.ITEM},){{2}}")
    try:
        found, end = reading.read_value(text, 0)
        cells = found["law"]["cells"]
        assert end == len(text)
        assert list(cells) == expected["law"]["cells"]
        assert [list(reading.between(cells, a, b)) for a in range(5) for b in range(a, 9)] == [
            expected["law"]["cells"][a:b] for a in range(5) for b in range(a, 9)
        ]
        assert "".join(reading.pieces(found)) == reading.dump(expected)
    finally:
        reading.LONG, reading.BLOCK, reading.PLAIN = before


def test_plain_blocks_are_taken_as_they_stand():
    """Or nothing would be saved."""
    rows = [[f"{i:x}", [i, f"{i * i:x}"]] for i in range(2 * reading.LONG)]
    found, _ = reading.read_value(reading.dump({"channel": {"rows": rows}}), 0)
    assert sum(found["channel"]["rows"].plain) == len(rows) // reading.BLOCK - 1
    assert list(found["channel"]["rows"]) == rows


@pytest.mark.parametrize("digits", [reading.LONGEST_INTEGER, reading.LONGEST_INTEGER + 1])
@pytest.mark.parametrize("before", range(0, 1000, 111))
def test_an_integer_that_is_too_long_is_seen_wherever_it_stands(digits, before):
    """Where none can be, integers are not looked at one by one."""
    text = " " * before + f'["{"f" * 99}", {"7" * digits}]'
    careful = reading.decoder_for(text) is reading.DECODER
    assert careful
    assert reading.decoder_for(text.replace("7", "a")) is reading.QUICK
