"""Changes of honest documents, drawn by a `random.Random`: what somebody tries who may write any bytes and seal them again.

`forge` changes a document in place and says how. None of the changes is certain to make it false: whether a file that is
accepted is true is for another verifier, or for fractions, to say.
"""

from __future__ import annotations

import copy
import random

ODD = [
    None, True, False, 0, 1, -1, 2, 7, 10**12, 0.5, -0.0, "", "0", "1", "-1", "f", "1/", "/1", "1/0", "-", "any 000000001999",
    "any 2", "any ", "W", "X1", "type", "Infinity", "1e5", "١", " ", "\x00", [], [0], [[]], [[], {}], ["also"], ["also", 0],
    ["also", 0, 0, 0], {}, {"fraction": "1/"}, {"kind": "group"}, {"kind": "lines"}, {"kind": "determined"}, {"leakage": "1"},
    "extreme points", "lines", "determined", "group", "table", "exchangeable", "sensors", "rank", "decision", ["given", 0, 0],
]  # fmt: skip
"""What no careful writer puts anywhere."""
UNITS = (3e-15, 1e-12, 1e-6, 1e-3, 0.1)
"""Bits that a number is stated too high or too low by; the verifier allows 2e-15."""


def places(value, path=()):
    """Every place in a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def within(document, path):
    """What is at a place."""
    for key in path:
        document = document[key]
    return document


def more(text, by):
    """A hexadecimal integer, changed."""
    return f"{max(0, int(text, 16) + by):x}"


def at_random(document, draw: random.Random):
    """Something odd instead, nothing, twice, exchanged, or another character: anywhere but in format and version."""
    path = draw.choice([path for path in places(document) if path and path[0] not in ("format", "version", "digest")])
    holder, key = within(document, path[:-1]), path[-1]
    old, kind = holder[key], draw.choice(["odd", "odd", "delete", "twice", "exchange", "edit"])
    if kind == "edit" and isinstance(old, str):
        at = draw.randint(0, len(old))
        holder[key] = old[:at] + draw.choice(["", "0", "1", "f", "-", "/", "."]) + old[at + 1 :]
    elif kind == "edit" and type(old) is int:
        holder[key] = old + draw.choice([-1, 1, 2, 100])
    elif kind == "delete":
        del holder[key]
    elif kind == "twice" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(old))
    elif kind == "exchange" and isinstance(holder, list):
        other = draw.randrange(len(holder))
        holder[key], holder[other] = holder[other], old
    else:
        holder[key] = copy.deepcopy(draw.choice(ODD))


def move_mass(document, draw: random.Random):
    """One unit, of a state that gives several codes, goes from one code to another; a thousandth of a unit as well."""
    rows = document["channel"]["rows"]
    row = draw.choice([row for row in rows if len(row) > 2] or rows)
    scale = draw.choice([1, 1, 1000])
    row[0] = f"{int(row[0], 16) * scale:x}"
    for entry in row[1:]:
        entry[1] = f"{int(entry[1], 16) * scale:x}"
    giving, taking = draw.sample(row[1:], 2) if len(row) > 2 else (row[1], row[1])
    giving[1], taking[1] = more(giving[1], -1), more(taking[1], 1)


def move_code(document, draw: random.Random):
    """A state gives another code, or one more, than it did."""
    row = draw.choice(document["channel"]["rows"])
    entry = draw.choice(row[1:])
    entry[0] = draw.randrange(document["channel"]["codes"])
    row[1:] = sorted(row[1:])


def exchange_rows(document, draw: random.Random):
    """Two states give each other's codes."""
    rows = document["channel"]["rows"]
    i, j = draw.randrange(len(rows)), draw.randrange(len(rows))
    rows[i], rows[j] = rows[j], rows[i]


def promise_more(document, draw: random.Random):
    """One more group, a larger one, or a promise under a condition."""
    columns = document["law"].get("columns", ["any 1", "any 2", "any 3", "X1", "X2", "W"])
    some, other = draw.choice(columns), draw.choice(columns)
    what = draw.choice(["group", "larger", "condition", "only"])
    if what == "group" or not document["protect"]:
        document["protect"].append([some])
    elif what == "larger":
        draw.choice(document["protect"]).append(some)
    else:
        document["version"] = 2
        entry = {"hidden": [some], "known": [other]}
        if what == "only" and "alphabets" in document["law"]:
            entry["only"] = {other: document["law"]["alphabets"][columns.index(other)][0]}
        document["given"] = [*document.get("given", []), entry]
    if document.get("budgets") is not None:
        document["budgets"] = (document["budgets"] + [None])[: len(document["protect"])]
        document["claims"]["leakage"] = (document["claims"]["leakage"] + [None])[: len(document["protect"])]


def another_law(document, draw: random.Random):
    """A weight of the law, or of a further one, or a number of a model."""
    laws = [document["law"], *document.get("also", [])]
    law = draw.choice(laws)
    if law["kind"] == "table":
        cell = draw.choice(law["cells"])
        cell[-1] = more(cell[-1], draw.choice([-1, 1, 1, 5]))
    elif law["kind"] == "exchangeable":
        law["n"] += draw.choice([-1, 1])
    else:
        row = draw.choice(law["scores"])
        row[draw.randrange(len(row))] += draw.choice([-1, 1])


def another_budget(document, draw: random.Random):
    """A group may be told about, a little, or less than it is."""
    size = len(document["protect"])
    budget = draw.choice(
        [{"ratio": "3/2"}, {"ratio": "15/14"}, {"ratio": "1001/1000"}, {"leakage": "1/80"}, {"leakage": "1"}]
    )
    document["budgets"] = [budget, *[None] * (size - 1)][:size]
    stated = draw.choice(["0.000000000000000", "0.009999999862320", "0.000994305133181"])
    document["claims"]["leakage"] = [stated, *[None] * (size - 1)][:size]


def claim_more(document, draw: random.Random):
    """More is told than is true, or no other code can tell as much as can be; a little, or much."""
    claims = document["claims"]
    key = draw.choice([key for key in ("information", "upper_bound", "value", "value_bound") if key in claims])
    by = draw.choice(UNITS) * draw.choice([-1, 1])
    try:
        claims[key] = f"{max(0.0, float(claims[key]) + by):.15f}"
    except ValueError:  # a fraction
        claims[key] = f"{claims[key]}1"


def another_proof(document, draw: random.Random):
    """A number of what proves the bound."""
    proofs = [key for key in ("bound", "best") if isinstance(document.get(key), dict)]
    found = [
        (key, *path)
        for key in proofs
        for path in places(document[key])
        if isinstance(within(document, (key, *path)), str)
    ]
    if not found:
        claim_more(document, draw)
        return
    path = draw.choice(found)
    text = within(document, path)
    change = {"-": text[1:], "": f"-{text}"}["-" if text.startswith("-") else ""]
    within(document, path[:-1])[path[-1]] = draw.choice([change, f"{text}0", f"{text}1", "0", "1/3", text[:-1] or "1"])


HOW = {
    "anywhere": at_random,
    "mass": move_mass,
    "code": move_code,
    "rows": exchange_rows,
    "promise": promise_more,
    "law": another_law,
    "budget": another_budget,
    "claim": claim_more,
    "proof": another_proof,
}


def forge(document, draw: random.Random, times=None):
    """Change a document in place once or more, and say how. What a broken document cannot take any more is left out."""
    done = []
    for _ in range(draw.choice([1, 1, 1, 2, 3]) if times is None else times):
        how = draw.choice(list(HOW))
        try:
            HOW[how](document, draw)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            continue  # the place that it would change is gone by an earlier change
        done.append(how)
    return done


def same_in_other_words(document, draw: random.Random):
    """The same release written otherwise: cells, states and rows in another order, rows over a larger denominator."""
    law, channel = document["law"], document["channel"]
    if law["kind"] == "table":
        draw.shuffle(law["cells"])
    order = draw.sample(range(len(channel["rows"])), len(channel["rows"]))
    kind = document["bound"]["kind"]
    if kind not in ("extreme points",) and document.get("best") is None:
        channel["states"] = [channel["states"][i] for i in order]
        channel["rows"] = [channel["rows"][i] for i in order]
    for row in channel["rows"]:
        scale = draw.choice([1, 2, 3, 10**9, 10**30])
        row[0] = f"{int(row[0], 16) * scale:x}"
        for entry in row[1:]:
            entry[1] = f"{int(entry[1], 16) * scale:x}"
    document["notes"]["written"] = draw.choice(["otherwise", 7, None, [1, 2]])
