"""Small changes of honest files, each with the name of its file: what no verifier may accept, and what each must.

One for every check that a verifier makes of a document; `tests/test_second_verifier.py` compares both verifiers on them.
"""

from __future__ import annotations


def put(*path):
    """A change: the last of the arguments is put at the place that the others name."""
    *place, key, value = path

    def change(document):
        holder = document
        for step in place:
            holder = holder[step]
        holder[key] = value

    return change


def drop(*path):
    """A change: what is at this place is taken away."""
    *place, key = path

    def change(document):
        holder = document
        for step in place:
            holder = holder[step]
        del holder[key]

    return change


def given(**entry):
    """A change: this alone is promised under a condition."""
    return put("given", [entry])


def budget(amount, stated="0.009999999862320"):
    """A change: the first group has this budget, and this is told of it."""

    def change(document):
        document["budgets"] = [amount, None, None]
        document["claims"]["leakage"] = [stated, None, None]

    return change


def both(*changes):
    """Several changes at once."""

    def change(document):
        for one in changes:
            one(document)

    return change


def nested(times):
    """A value within so many lists."""
    return [nested(times - 1)] if times else 7


CELL, ROW, STATE = ("law", "cells", 0), ("channel", "rows", 0), ("channel", "states", 0)
UNSEEN = both(lambda d: d["law"]["alphabets"][2].append(9), put("given", 0, "only", {"V": 9}))

LAWS = [
    *(("joint", put("law", value)) for value in (None, [], {}, {"kind": "oracle"})),
    *(("joint", put("law", "columns", value)) for value in (None, [], ["W", "X1", "X2", 3], ["W", "X1", "X2", "X2"])),
    *(("joint", put("law", "alphabets", value)) for value in (None, [[0, 1]] * 3, [[0, 1], [0, 1], [0, 1], []])),
    *(("joint", put("law", "cells", value)) for value in (None, [], {"a": 1}, [[0, 0, 0, "1"]], [5])),
    *(("joint", put(*CELL, -1, value)) for value in ("0", "-1", "1F", "", "1\n", 5, None, "1_0", "0x1")),
    *(("joint", put(*CELL, 0, value)) for value in (7, 2, -1, True, 0.0, "0", None)),
    *(("joint", put("law", "alphabets", 1, value)) for value in ("ab", {"a": 0, "b": 1}, [])),
    ("joint", lambda d: d["law"]["cells"].append(d["law"]["cells"][0])),
    *(("exchangeable", put("law", "n", value)) for value in (None, "c", 1, 0, -12, 11, 13, 12.0, True)),
    *(("sensors", put("law", "scores", 0, value)) for value in (None, 7, {"0": 0, "1": 1})),
    *(("exchangeable", put("law", "prior", value)) for value in (
        {"2/3": 0, "1/3": 0}, "1", None,
        [], ["2/3", "2/3"], ["4/3", "-1/3"], ["2/3", "1/3", "0"], [2, 1], ["2/0", "1/3"], ["2/3/1", "1/3"],
    )),
    *(("exchangeable", put("law", "channel", value)) for value in (
        None, [], [["9/a", "1/a"]], [["9/a", "1/a"], ["1"]], [["9/a", "2/a"], ["1/a", "9/a"]], [["1", "0"], ["1", "0"]],
    )),
    *(("exchangeable", put("law", "values", value)) for value in (None, [0], [0, 1, 2], [0, 1, 1], [1, True])),
    *(("exchangeable", put("law", "target values", value)) for value in (None, [0], [0, 1, 2], [1, 0, 0], [1, True])),
    ("exchangeable", put("law", "cells", [])),
    *(("sensors", put("law", key, value)) for key in ("channels", "values", "scores") for value in (None, [])),
    *(("sensors", drop("law", key, 0)) for key in ("channels", "values", "scores")),
    *(("sensors", put("law", "scores", 0, value)) for value in ([-7], [-7.0, 7.0], ["-7", "7"], [-8, 7], [-7, 2**62 + 1])),
    *(("sensors", put("law", "values", 0, value)) for value in ([1], [1, 1])),
    ("sensors", both(lambda d: d["law"].update({key: d["law"][key][:1] for key in ("channels", "values", "scores")}))),
]  # fmt: skip
"""What is no law, whatever the channel does."""


def of_one_column(shares, also=(), **members):
    """Protects Z, a tenth of which is 0, and looks at it alone: code 0 has these shares of its two values, as fractions."""

    def change(document):
        cells = [[0, 0, "1"], [1, 0, "9"]]
        law = {"kind": "table", "columns": ["Z", "A"], "alphabets": [[0, 1], ["x"]], "cells": cells}
        rows = [[f"{b:x}", [0, f"{a:x}"], [1, f"{b - a:x}"]] for a, b in shares]
        document.clear()
        document |= {"format": "choral release", "version": 1, "law": law, "reveal": ["A"], "use": ["Z"], "notes": {}}
        document |= {"channel": {"codes": 2, "states": [[0], [1]], "rows": rows}, **members}
        document |= {"also": [{**law, "cells": other} for other in also]} if also else {}
        document |= {"claims": dict.fromkeys(("information", "upper_bound"), "0.000000000000000")} | members

    return change


def private_under_one_law_alone(document):
    """The code is A, which is independent of Z under the law, and Z under the further one; codes are as likely under both."""
    of_one_column([(1, 2), (1, 2)], protect=[["Z"]], use=["A"], reveal=["A"])(document)
    cells = [[z, a, "1"] for z in (0, 1) for a in (0, 1)]
    document["law"] |= {"alphabets": [[0, 1], [0, 1]], "cells": cells}
    document["also"] = [{**document["law"], "cells": [[0, 0, "1"], [1, 1, "1"]]}]
    document["channel"]["rows"] = [["1", [0, "1"]], ["1", [1, "1"]]]
    document["claims"] = dict.fromkeys(("information", "upper_bound"), "1.000000000000000")


def split_entry(document):
    """The first code of a state is listed twice, with half of its share each: nothing else changes."""
    row = document["channel"]["rows"][0]
    row[0] = f"{2 * int(row[0], 16):x}"
    row[1:] = [[y, f"{2 * int(n, 16):x}"] for y, n in row[1:]]
    y, n = row[1]
    row[1:2] = [[y, f"{int(n, 16) // 2:x}"]] * 2


def empty_entry(document):
    """A code that a state never gives is listed with no share: nothing else changes."""
    channel = document["channel"]
    row = next((row for row in channel["rows"] if len(row) <= channel["codes"]), None)
    if row is None:
        return  # every state gives every code
    listed = {y for y, _ in row[1:]}
    row[1:] = sorted([*row[1:], [min(set(range(channel["codes"])) - listed), "0"]])


def code_as(kind):
    """A code is written as a truth, or with a point: nothing else changes."""

    def change(document):
        entry = next(entry for row in document["channel"]["rows"] for entry in row[1:] if entry[0] in (0, 1))
        entry[0] = kind(entry[0])

    return change


def state_twice(document):
    """A state is listed a second time, as it is: nothing else changes."""
    for key in ("states", "rows"):
        document["channel"][key].append(document["channel"][key][0])


def further(*laws, only=None):
    """The code is X; Z, a fair bit of its own, is hidden from whoever knows V; V and X have weights as each law has them.

    X is even under every law, so that a code alone does not tell which law holds; with V it may.
    """

    def change(document):
        found = []
        for law in laws:
            cells = [[z, v, x, f"{n:x}"] for v, row in law.items() for x, n in enumerate(row) if n for z in (0, 1)]
            alphabets = [[0, 1], [0, 1, 2, 3, 4], [0, 1]]
            found.append({"kind": "table", "columns": ["Z", "V", "X"], "alphabets": alphabets, "cells": cells})
        document.clear()
        document |= {
            "format": "choral release",
            "version": 2,
            "law": found[0],
            "reveal": ["X"],
            "use": ["X"],
            "notes": {},
        }
        document |= {"protect": [["Z"]], "also": found[1:], "bound": {"kind": "group", "group": None}}
        document["given"] = [{"hidden": ["Z"], "known": ["V"], **({} if only is None else {"only": {"V": only}})}]
        document["channel"] = {"codes": 2, "states": [[0], [1]], "rows": [["1", [0, "1"]], ["1", [1, "1"]]]}
        document["claims"] = dict.fromkeys(("information", "upper_bound"), "1.000000000000000")

    return change


EVEN, TILTED = {0: (1, 1), 1: (1, 1), 2: (1, 1)}, {0: (1, 1), 1: (1, 3), 2: (3, 1)}
ELSEWHERE, AGAINST = {0: (1, 1), 3: (1, 3), 4: (3, 1)}, {0: (1, 1), 3: (3, 1), 4: (1, 3)}
"""What X is likely to be where V has a value: the same everywhere, and not; where the first law has no V."""
APART, APART_ALIKE = {0: (1, 1), 1: (1, 0), 2: (0, 1)}, {0: (5, 5), 1: (3, 0), 2: (0, 3)}
"""A code has no mass at some v, under either law."""


def ratio(above, stated):
    """A budget of a factor for Z, with what is told of it."""
    claims = {"information": "0.000000000000000", "upper_bound": "0.000000000000000", "leakage": [stated]}
    return {"protect": [["Z"]], "budgets": [{"ratio": above}], "claims": claims}


UP, DOWN = [(1, 5), (4, 45)], [(1, 20), (19, 180)]
"""With code 0 the rare value of Z is twice as likely, or half as likely; nothing else changes by more than an eighth."""


def of_even_bits(rows, codes=None, **members):
    """The code looks at A and B, independent even bits of which B is protected; rows are for 00, 01, 10, 11."""

    def change(document):
        of_one_column([(1, 2), (1, 2)], protect=[["B"]], use=["A", "B"], reveal=["A"])(document)
        cells = [[a, b, "2"] for a in (0, 1) for b in (0, 1)]
        document["law"] |= {"columns": ["A", "B"], "alphabets": [[0, 1], [0, 1]], "cells": cells}
        largest = max(y for row in rows for y, _ in row[1:])
        document["channel"] = {
            "codes": codes or 1 + largest,
            "states": [cell[:2] for cell in cells],
            "rows": [*map(list, rows)],
        }
        document |= members

    return change


def of_samples(law, use, protect, states, **members):
    """One code, whatever the samples are: nothing is told, and whatever is promised of a law is kept."""

    def change(document):
        notes, zero = {}, dict.fromkeys(("information", "upper_bound"), "0.000000000000000")
        document.clear()
        document |= {
            "format": "choral release",
            "version": 1,
            "law": law,
            "reveal": ["W"],
            "use": [use],
            "notes": notes,
        }
        document |= {"protect": [[protect]], "bound": {"kind": "group", "group": None}, "claims": zero}
        document["channel"] = {"codes": 1, "states": states, "rows": [["1", [0, "1"]]] * len(states)}
        document |= members

    return change


def alike(n, prior, channel):
    """A law of n samples that are alike given W."""
    values = {"values": [*range(len(channel[0]))], "target values": [*range(len(prior))]}
    return {"kind": "exchangeable", "n": n, "prior": prior, "channel": channel, **values}


def different(prior, channels, scores):
    """A law of sensors that are seen through a score."""
    values = [[*range(len(row))] for row in scores]
    return {"kind": "sensors", "prior": prior, "channels": channels, "scores": scores, "values": values}


EVEN_BIT, TYPES, SCORES = [["1/2", "1/2"]], [[0, 2], [1, 1], [2, 0]], [[0], [1], [2]]
SURE = [["0", "1/2", "1/2"], ["1/2", "1/2", "0"]]
"""A sensor that never reads its lowest score where W is 0."""

CANCELLING = [["2", [0, "3"]], ["2", [0, "3"]], ["2", [0, "1"]], ["2", [0, "1"]]]
"""Rows that do not sum to one, by as much too little as others have too much: all other sums are right."""
NEVER = [["1", [0, "1"]], ["5", [0, "2"], [1, "3"]]] * 2
"""Where B is 0 code 1 is never given; for every other pair a factor of two is kept."""
LONG = [["10000000000000000", [0, "10000000000000000"]]] * 4
"""A denominator that is just too long for a word of a computer."""

REFUSED = [
    *(("joint", put("version", value)) for value in (0, -1, 3, "1", None, 1.0, True)),
    ("joint", of_even_bits(CANCELLING)),
    ("joint", of_even_bits([["2", [-1, "1"], [0, "1"]]] * 4, version=2, protect=[], given=[{"hidden": ["B"], "known": ["A"]}],
                           codes=2)),
    ("joint", of_samples(alike(1, ["1/2", "1/2"], EVEN_BIT * 2), "type", "any 1", [[0, 1], [1, 0]])),
    ("joint", of_samples(different(["1/2", "1/2"], [EVEN_BIT * 2], [[0, 1]]), "score", "X1", [[0], [1]])),
    ("joint", put("law", "kind", [])),
    ("sensors", put("protect", [{"X1": 0}])),
    ("joint", of_even_bits(NEVER, budgets=[{"ratio": "2"}], claims={
        "information": "0.000000000000000", "upper_bound": "0.000000000000000", "leakage": ["0.395815602003359"]})),
    *(("joint", put(key, value)) for key in ("use", "reveal") for value in ([{}], [["X1"]])),
    ("joint", put("protect", [[{}]])),
    ("joint", lambda d: d["channel"]["states"].append([9, 9, 9])),
    ("joint", lambda d: d["channel"]["rows"].append(["1", [0, "1"]])),
    ("joint", budget(["leakage"])),
    *(("given", put("given", value)) for value in (7, True, [7], [["hidden", "known"]])),
    *LAWS,
    ("joint", of_one_column(UP, **ratio("3/2", "0.007327641190667"))),
    ("joint", of_one_column(DOWN, **ratio("3/2", "0.002629311840386"))),
    ("joint", of_one_column([(1, 2), (1, 3)], protect=[["A"]], also=[[[0, 0, "1"], [1, 0, "8"]]])),
    ("joint", lambda d: d["channel"].update(codes=1, rows=[["2", [0, "1"]]] * 8)),
    ("joint", private_under_one_law_alone),
    ("joint", put("format", "choral file")),
    ("also", lambda d: (d["also"][0]["columns"].append("Q"), d["also"][0]["alphabets"].append([0]),
                        [cell.insert(3, 0) for cell in d["also"][0]["cells"]])),
    *(("joint", put("channel", value)) for value in (None, [], {})),
    *(("joint", put("channel", "codes", value)) for value in (0, -1, 4, 6, 10**30, 5.0, True, "5", None)),
    *(("joint", put("channel", key, None)) for key in ("states", "rows")),
    *(("joint", drop("channel", key, 0)) for key in ("states", "rows")),
    ("joint", both(drop(*STATE), drop(*ROW))),
    ("joint", lambda d: (d["channel"]["states"].append([0, 0, 0]), d["channel"]["rows"].append(["1", [0, "1"]]))),
    *(("joint", put(*STATE, value)) for value in ([1, 1, 1], [0, 0], [0, 0, 7], ["0", 0, 0], [0.0, 0, 0], None)),
    *(("joint", put(*ROW, value)) for value in (None, [], ["1"], [1, [0, "1"]], ["0", [0, "0"]])),
    *(("joint", put(*ROW, ["2", *value])) for value in (
        [[0, "1"]], [[0, "3"]], [[1, "1"], [0, "1"]], [[0, "1"], [0, "1"]], [[0, "1"], [9, "1"]], [[0, "2"], [1, "0"]],
        [[True, "2"]], [[0, "1", "1"]], [5],
    )),
    *(("joint", put("reveal", value)) for value in (None, [], "W", ["W", "W"], ["Q"], [3])),
    *(("joint", put("use", value)) for value in (None, [], "X1", ["X1", "X2", "X2"], ["X1", "X2"], ["X1", "X2", "Q"])),
    *(("joint", put("protect", value)) for value in (
        None, [], "X1", ["X1"], [[]], [["Q"]], [["X1", "X1"]], [["X1"], ["X1"]], [[3]], [["W"]], [["X1", "X2"]],
    )),
    ("also", put("protect", [["X1", "X2"], ["X2", "X1"]])),
    *(("joint", put("claims", value)) for value in (None, [], {}, {"information": "0.012663224846813"})),
    *(("joint", put("claims", "information", value)) for value in (None, 0.01, "1e-2", "-0.01", "", ".", "0.1.2")),
    *(("joint", put("claims", "leakage", value)) for value in (None, 5, [None], ["0", None, None])),
    *(("joint", put("notes", value)) for value in (None, [], "made by hand")),
    *(("joint", put("notes", {"n": value})) for value in (10**1000, -(10**1000), nested(399))),
    *(("joint", budget({"leakage": value})) for value in ("0", "-1", "1/0", "1/2/3", "0.1", 1, None, "", "f" * 2001)),
    *(("joint", budget({"ratio": value})) for value in ("1", "1/2", "-2", "0")),
    *(("joint", budget(value)) for value in ({}, {"leakage": "1", "ratio": "2"}, {"bits": "1"}, "1", ["1"])),
    *(("joint", put("budgets", value)) for value in ([], [None] * 2, 5, {})),
    ("leakage", put("budgets", 0, {"leakage": "1/80"})),
    ("leakage", put("budgets", 0, None)),
    ("leakage", put("claims", "leakage", 0, "0.009999999862319")),
    ("leakage", put("claims", "leakage", 0, "0.009999999862322")),
    ("leakage", put("claims", "leakage", [None] * 3)),
    ("ratio", put("budgets", 0, {"ratio": "101/100"})),
    *(("also", put("also", value)) for value in (None, 5, [None], [{}], [[]])),
    ("also", put("also", 0, "kind", "exchangeable")),
    *(("also", put("also", 0, "columns", place, "W")) for place in (0, 2)),
    *(("also", put("also", 0, "columns", value)) for value in (None, ["X1", "X2", "Q"], ["X1", "X2", "X2"])),
    *(("also", put("also", 0, "alphabets", 0, value)) for value in ([1, 0], [0, 1, 2], [0, 2])),
    ("also", put("budgets", [None] * 3)),
    ("also", both(lambda d: d["law"].update(cells=[c for c in d["law"]["cells"] if c[1:4] != [1, 1, 1]]),
                  drop("channel", "states", -1), drop("channel", "rows", -1))),
    *(("given", given(**entry)) for entry in (
        {}, {"hidden": ["Z"]}, {"known": ["V"]}, {"hidden": [], "known": ["V"]}, {"hidden": ["Z"], "known": []},
        {"hidden": ["Z"], "known": ["Z"]}, {"hidden": ["Z"], "known": ["V", "V"]}, {"hidden": ["Q"], "known": ["V"]},
        {"hidden": ["W"], "known": ["V"]}, {"hidden": ["X"], "known": ["V"]}, {"hidden": ["Z"], "known": ["X"]},
        {"hidden": ["Z"], "known": ["V"], "more": 1}, {"hidden": "Z", "known": "V"},
    )),
    *(("given", put("given", 0, "only", value)) for value in (None, [], {"V": 7}, {"X": 0}, {"V": [0]}, "V=0")),
    *(("given", put("given", value)) for value in ([], "Z | V", ["Z | V"], {})),
    ("given", UNSEEN),
    ("given", put("version", 1)),
    *(("joint", change) for change in (split_entry, empty_entry, state_twice, code_as(bool), code_as(float))),
    ("given", further(EVEN, TILTED)),
    ("given", further(EVEN, TILTED, only=1)),
    ("given", further(EVEN, ELSEWHERE, AGAINST)),
    ("given", put("budgets", [None])),
    ("given", put("protect", None)),
    ("only", drop("given", 0, "only")),
    ("only", put("given", 0, "only", {"W": 0})),
    *(("exchangeable", put("protect", [[name]])) for name in ("any 0", "any 01", "any 13", "any ", "any 1 ", "any 2")),
    *(("exchangeable", put("protect", [value])) for value in (["X1"], ["type"], ["any 1", "any 2"])),
    ("exchangeable", put("channel", "states", None)),
    ("exchangeable", put("channel", "states", 0, [12, 0])),
    ("exchangeable", lambda d: d.update(version=2, given=[{"hidden": ["any 1"], "known": ["type"]}])),
    ("exchangeable", lambda d: d.update(also=[{"kind": "table"}])),
    ("exchangeable", put("also", [
        {"kind": "table", "columns": ["W"], "alphabets": [[0, 1]], "cells": [[0, "2"], [1, "1"]]},
    ])),
    *(("sensors", put("protect", [value])) for value in (["X4"], ["X0"], ["X01"], ["X1", "X2"], ["score"])),
    ("exchangeable", put("law", "prior", ["1/3", "2/3"])),
]  # fmt: skip

PROMISES = [
    ("joint", put("claims", "information", "٠.٠")),
    ("exchangeable", put("reveal", ["any 1"])), ("exchangeable", put("use", ["W"])),
    ("sensors", put("reveal", ["X1"])), ("sensors", put("use", ["X1"])),
    *(("joint", budget(value, "0.000000000000000")) for value in (
        {"leakage": "0"}, {"leakage": "-1"}, {"ratio": "1"}, {"bits": "2"}, {"leakage": "1" * 2001},
        {"leakage": "1", "ratio": "2"}, ["leakage"], "ratio", {},
    )),
    *((name, put("protect", [["W"]])) for name in ("exchangeable", "sensors")),
    *((name, put("protect", [value])) for name in ("exchangeable", "sensors") for value in ([], ["any 1", "X1"], [[]], [{}])),
]  # fmt: skip
"""What is no promise, where nothing is told, so that whatever is promised is kept."""


def silent(document):
    """One code, for every state."""
    states = document["channel"]["states"]
    document["channel"] = {"codes": 1, "states": states, "rows": [["1", [0, "1"]]] * len(states)}
    document["claims"] = dict.fromkeys(("information", "upper_bound"), "0.000000000000000")


TAKEN = [
    ("joint", of_samples(alike(2, ["1"], EVEN_BIT), "type", "any 1", TYPES)),
    ("joint", of_samples(alike(2, ["1/2", "1/2"], [["1/2", "1/2", "0"]] * 2), "type", "any 1", [[*t, 0] for t in TYPES])),
    ("joint", of_samples(different(["1"], [EVEN_BIT] * 2, [[0, 1]] * 2), "score", "X1", SCORES)),
    ("joint", of_samples(different(["1", "0"], [EVEN_BIT * 2] * 2, [[0, 1]] * 2), "score", "X1", SCORES)),
    ("joint", of_samples(different(["1/2", "1/2"], [SURE] * 2, [[0, 1, 2]] * 2), "score", "X1", [[i] for i in range(5)])),
    ("exchangeable", both(silent, put("protect", [["any 12"]]))),
    ("joint", of_even_bits(LONG)),
    *(("joint", put("notes", {"n": value})) for value in (10**999, -(10**999), nested(398))),
    ("joint", put("notes", {"n": 10**999, "text": "7" * 1001})),
    ("given", further(APART, APART_ALIKE)),
    ("given", lambda d: d.update(also=[d["law"]])),  # the same law again: nothing more is promised
    ("joint", of_one_column(UP, **ratio("2", "0.007327641190667"))),
    ("joint", of_one_column(DOWN, **ratio("2", "0.002629311840386"))),
    ("joint", of_one_column([(1, 2), (1, 3)], protect=[["A"]], also=[[[0, 0, "2"], [1, 0, "12"]]])),
    ("joint", put("more", 1)),
    ("joint", put("law", "more", 1)),
    ("joint", put("version", 2)),
    ("joint", put("budgets", None)),
    ("joint", put("also", [])),
    ("joint", lambda d: d["law"]["alphabets"][1].append(2)),
    ("joint", lambda d: d["law"]["cells"].reverse()),
    ("joint", lambda d: (d["channel"]["states"].reverse(), d["channel"]["rows"].reverse())),
    ("joint", put(*CELL, -1, "01f8")),
    ("joint", put("protect", [["X3"]])),
    ("joint", budget({"leakage": "1/" + "f" * 10}, "0.000000000000000")),
    ("joint", budget({"ratio": "1001/1000"}, "0.000000000000000")),
    ("leakage", put("claims", "leakage", 0, "0.009999999862321")),
    ("ratio", put("budgets", 0, {"ratio": "2"})),
    ("also", lambda d: d["also"].append(d["also"][0])),
    ("also", put("also", 0, "alphabets", 0, [False, 1.0])),
    ("given", lambda d: d["given"].append(d["given"][0])),
    ("given", put("given", 0, "only", {})),
    ("given", further(EVEN, {0: (5, 5), 1: (1, 1)})),
    ("given", further(EVEN, TILTED, only=0)),
    ("given", further(EVEN, ELSEWHERE, ELSEWHERE)),
    ("given", put("given", 0, "only", {"V": True})),
    ("exchangeable", put("law", "prior", ["4/6", "02/6"])),
    ("exchangeable", both(
        put("law", "prior", ["2/3", "1/3", "0"]), put("law", "target values", [0, 1, 2]),
        lambda d: d["law"]["channel"].append(["1", "0"]),
    )),
    ("exchangeable_2", put("protect", [["any 1"], ["any 2"]])),
    ("sensors", put("protect", [["X2"]])),
]  # fmt: skip

TEXTS = [
    lambda t: t.replace('"notes": {', '"notes": {"a": NaN, ', 1),
    lambda t: t.replace('"notes": {', '"notes": {"a": "\\ud800", ', 1),
    lambda t: t.replace('"digest": "', '"digest": "0', 1),
    lambda t: t.replace('"made by"', '"made of"', 1),
    lambda t: t.replace('":', '";', 1),
    lambda t: t.replace('",\n', '";\n', 1),
    lambda t: t.rstrip()[:-1] + ",}",
    lambda t: t.replace(']],"columns"', '],],"columns"', 1),
    lambda t: "{7: 7," + t[1:],
    lambda t: t.replace('"reveal":', '"reveal": ["X1"],\n"reveal":', 1),
    lambda t: t.replace('"cells":', '"cells": [], "cells":', 1),
    lambda t: t.replace('"notes": {', '"notes": {"a": 1, "a": 1, ', 1),
    *(lambda t, mark=mark: t.replace(mark, "", 1) for mark in (':', ',', '{', '[', '}', '"')),
    *(lambda t, mark=mark: t.replace(mark, mark + mark[-1], 1) for mark in ('"law":', '"reveal": [', '"W",')),
    *(lambda t, tail=tail: t + tail for tail in ("x", "{}", ",", "\x00")),
    *(lambda t, size=size: t[:-size] for size in (2, 3, 40)),
    lambda t: "[]", lambda t: "", lambda t: " ", lambda t: "null", lambda t: t[1:], lambda t: "[" * 10**5,
    lambda t: t.replace('"cells":[', '"cells":[[0,0,0,0,"1"] ', 1),
    lambda t: t.replace("]]", "],]", 1),
]  # fmt: skip
"""What is no file, of the text of one."""


def without_its_version(document, draw):
    """A proof of version 2 in a file of version 1."""
    document["version"] = 1


def lost(document, draw):
    """A part of a proof is gone, empty, or of another kind."""
    key = draw.choice(sorted(set(document["bound"]) - {"kind"}))
    document["bound"][key] = draw.choice([None, [], {}, 0, [[]], [None]])


def fewer(document, draw):
    """A list of a proof, or one within it, lacks its last item, or has its first twice."""
    key = draw.choice(sorted(key for key, value in document["bound"].items() if isinstance(value, list) and value))
    holder = document["bound"][key]
    inner = draw.choice(holder)
    holder = draw.choice([holder, inner if isinstance(inner, list) and inner else holder])
    if draw.random() < 0.5:
        holder.pop()
    else:
        holder.insert(0, holder[0])


def a_longer_line(document, draw):
    """A line of a tree has a coefficient more than the target has values."""
    document["bound"]["lines"][0].append("0")


def a_longer_row(document, draw):
    """The name of an equation of a condition, or of a further law, has a part more."""
    for row in [row for row in document["bound"]["rows"] if isinstance(row[0], str)]:
        row.append(0)


def another_group(document, draw):
    """The group bound of a group that is not there."""
    document["bound"] = {"kind": "group", "group": draw.choice([-1, 9, True, "0", len(document["protect"])])}


def from_behind(document, draw):
    """A place in a list is counted from its end, as no other reader would."""
    sides = len(document["bound"]["low"])
    node = next(node for node in document["bound"]["tree"] if len(node) == 2 and node[0] < sides - 1)
    node[0] -= sides


def swapped_with_its_next(document, draw):
    """Columns are said to be exchangeable that are not."""
    columns = document["use"]
    document["bound"]["exchangeable"] = [draw.sample(columns, min(len(columns), 3))]


OF_BOUNDS = [
    without_its_version,
    lost,
    lost,
    lost,
    fewer,
    fewer,
    fewer,
    a_longer_line,
    a_longer_row,
    another_group,
    from_behind,
    swapped_with_its_next,
]
"""What no proof of a bound has; privacy is as it was."""
