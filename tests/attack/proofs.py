"""Proofs of a bound that were changed: stated as what they prove, or as what they would if nobody looked at how.

The first are true, for a proof is one whatever it proves, and the library, which shares no line with the verifier, finds the
same bound. The second are forged as well as can be: only the check that they break can refuse them. Nothing is told by any of
these files, so that no bound is below what is.
"""

from __future__ import annotations

import contextlib
import copy
import random
import struct
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from unittest import mock

import forgeries
from attack import forging, trees

from choral.exact.certificate import document_to_text, sealed
from choral.verifier import (
    command,
    conditions,
    proof_decision,
    proof_determined,
    proof_extreme_points,
    proof_group,
    proof_lines,
    proof_orbits,
    proof_rank,
    proof_tree,
    symmetry,
    utility,
)
from choral.verifier.claims import ClaimFailed
from choral.verifier.core import Channel
from choral.verifier.laws import claims_of

BUDGET = 10**7
"""Steps of the verifier, for a small file."""
PARTS = (
    conditions, proof_decision, proof_determined, proof_extreme_points, proof_group, proof_lines, proof_orbits, proof_rank,
    proof_tree, symmetry, utility,
)  # fmt: skip
"""Parts of the verifier that look at proofs."""
BROKEN = (
    KeyError, IndexError, TypeError, ValueError, ZeroDivisionError, AttributeError, StopIteration, AssertionError,
    struct.error,
)  # fmt: skip
"""What becomes of a change of something that is not there, and of a verifier that looks at nothing."""


def quiet(document):
    """One code for every state, under whatever is promised and claimed beside."""
    leakage = document["claims"].get("leakage")
    forgeries.silent(document)
    document["claims"]["upper_bound"] = "9.000000000000000"
    if leakage is not None:
        document["claims"]["leakage"] = [None if text is None else "0.000000000000000" for text in leakage]
    if "utility" in document:
        document["claims"] |= {"value": "0", "value_bound": "ffff"}


def stated_only(condition, claim, reason):
    """In the place of `need`: fails where something else is stated than is found, and nowhere else."""
    if not condition and " is stated but " in reason:
        raise ClaimFailed(claim, reason)


@contextlib.contextmanager
def nobody_looks(parts):
    """Fractions in full in what the verifier says; and these parts of it look at nothing."""
    with contextlib.ExitStack() as stack:
        for part in (utility, proof_decision):
            stack.enter_context(mock.patch.object(part, "near", str))
        for part in parts:
            stack.enter_context(mock.patch.object(part, "need", stated_only))
        yield


def as_it_proves(document, parts=()):
    """The text of a document that states what its proofs prove, to a verifier of which parts look at nothing; or None."""
    with nobody_looks(parts):
        for _ in range(5):
            text = document_to_text(sealed(document))
            try:
                command.verify(text, budget=BUDGET)
                return text
            except ClaimFailed as failed:
                found = failed.reason.rpartition(" ")[2]
                if " is stated but " not in failed.reason:
                    return None
                if failed.claim == "upper bound":
                    number = Decimal(found).quantize(Decimal("1e-15"), ROUND_CEILING)
                    document["claims"]["upper_bound"] = f"{max(number, Decimal(0)):f}"
                else:
                    number = Fraction(found)
                    document["claims"][failed.claim.replace(" ", "_")] = f"{number.numerator:x}/{number.denominator:x}"
    return None


def stated(document):
    """The text of a document that states what its proofs prove, or would prove; or as it is, where they are none at all."""
    text = None
    with contextlib.suppress(*BROKEN):
        text = as_it_proves(document, PARTS)
    return text or document_to_text(sealed(document))


def changed(document, change, draw: random.Random):
    """A copy of a document that tells nothing, with another proof, as text; None where it has nothing of this kind."""
    document = copy.deepcopy(document)
    quiet(document)
    try:
        change(document, draw)
    except BROKEN:
        return None
    return stated(document)


def changes_of(document):
    """The changes that its proofs allow."""
    return OF_TREES if document["bound"]["kind"] == "tree" else OTHERWISE


def restated(documents, draw: random.Random, each: int):
    """Texts of these documents, by name, with every change of their proofs so many times."""
    for name in sorted(documents):
        for change in changes_of(documents[name]) * each:
            text = changed(documents[name], change, draw)
            if text is not None:
                yield name, text


ODD = (7, -1, 99, None, True, [], {}, "x", "")
"""What stands in every place of a proof, one at a time."""


def sort_of(proof, path):
    """What kind of place this is in a proof: where in which lists it stands is left out, but for rows that have a name."""
    holder = forging.within(proof, path[:-1])
    named = isinstance(holder, list) and isinstance(holder[0], str) and holder[0].isalpha()
    place = (holder[0], len(holder), path[-1]) if named and path[0] == "rows" else ()
    return (proof.get("kind"), len(path), *(step for step in path if isinstance(step, str)), *place)


def misplaced(documents):
    """Texts with something of another kind in a proof: each odd thing, at the first and last place of every sort."""
    found = {}
    for name in sorted(documents):
        for key in ("bound", "best"):
            proof, mine = documents[name].get(key, {}), {}
            for path in forging.places(proof):
                if path:
                    mine.setdefault(sort_of(proof, path), []).append((name, key, *path))
            found = mine | found
    for paths in found.values():
        for name, *path in dict.fromkeys([paths[0], paths[-1]]):
            true = forging.within(documents[name], path)
            for odd in (*ODD, *((true + 1, true + 2) if type(true) is int else ())):
                document = copy.deepcopy(documents[name])
                forging.within(document, path[:-1])[path[-1]] = odd
                yield name, document_to_text(sealed(document))


def at_the_edge(documents):
    """Texts whose squares are stated as high, or as low, as rounding allows, and a little beyond."""
    for name in sorted(documents):
        document = documents[name]
        if document.get("utility", {}).get("kind") != "squares":
            continue
        law, used, target, *_ = claims_of(document)
        prior = law.weights(used)
        purpose = utility.utility_of(document, law, target)
        low, spread = utility.value_of_squares(law, used, target, purpose, Channel(document, prior), prior)
        proved = copy.deepcopy(document)
        proved["claims"]["value_bound"] = "ffff"
        as_it_proves(proved)
        bound = Fraction(*(int(x, 16) for x in proved["claims"]["value_bound"].split("/")))
        for key, number in (("value", low), ("value_bound", bound)):
            for share in (utility.SHARE_CERTAIN, utility.SHARE_STATED):
                for by in (Fraction(9, 10), Fraction(11, 10), Fraction(-9, 10), Fraction(-11, 10)):
                    other = copy.deepcopy(document)
                    stated = number + by * share * spread
                    other["claims"][key] = f"{stated.numerator:x}/{stated.denominator:x}"
                    yield name, document_to_text(sealed(other))


# ---- changes ---------------------------------------------------------------------------------------------------------------


def proof_in(document, draw):
    """One of the proofs of a document."""
    return document[draw.choice([key for key in ("bound", "best") if key in document])]


def as_it_was(document, draw):
    """The proof of the file itself."""


def rows_in_another_order(document, draw):
    """What a proof multiplies, in another order, and the multipliers with it."""
    proof = proof_in(document, draw)
    order = draw.sample(range(len(proof["rows"])), len(proof["rows"]))
    proof["rows"] = [proof["rows"][i] for i in order]
    for key in ("multipliers", "coefficients"):
        if key in proof:
            proof[key] = [[row[i] for i in order] for row in proof[key]]


def a_row_less(document, draw):
    """A proof does without one of its rows."""
    proof = proof_in(document, draw)
    i = draw.randrange(len(proof["rows"]))
    del proof["rows"][i]
    for row in proof.get("multipliers", proof.get("coefficients")):
        del row[i]


def a_row_twice(document, draw):
    """A row stands twice, the second time with multipliers of zero."""
    proof = proof_in(document, draw)
    proof["rows"].append(copy.deepcopy(draw.choice(proof["rows"])))
    for row in proof.get("multipliers", proof.get("coefficients")):
        row.append("0")


def another_row(document, draw):
    """A row is one number off, longer or shorter, or of a condition or law that is not there."""
    proof = proof_in(document, draw)
    rows = proof["rows"]
    row = draw.choice([row for row in rows if isinstance(row[0], str)] or rows)
    at = draw.choice([i for i, x in enumerate(row) if type(x) is int])
    how = draw.choice(["more", "less", "far", "longer", "shorter"])
    if how == "longer":
        row.append(0)
    elif how == "shorter":
        row.pop()
    else:
        row[at] = {"more": row[at] + 1, "less": row[at] - 1, "far": draw.choice([99, -1, -2, True, 0.0])}[how]


def other_numbers(document, draw):
    """All numbers of a proof that may be any, of every sign."""
    proof = proof_in(document, draw)
    for at, row in enumerate(proof["multipliers"]):
        if isinstance(row, list):
            row[:] = [draw.choice([text, "0", "-1/3", "1/5", "-2/7", "1"]) for text in row]
        else:
            proof["multipliers"][at] = draw.choice([row, row, "0", "-1/3", "1/5"])


def other_numbers_alike(document, draw):
    """The same, where equal numbers stay equal: of columns that may be exchanged."""
    proof = document["bound"]
    numbers = {text: draw.choice([text, "0", "-1/3", "1/5", "-2/7", "1", "5/2"]) for text in proof["multipliers"]}
    proof["multipliers"] = [numbers[text] for text in proof["multipliers"]]


def orbits_of_all(document, draw):
    """All that is used is revealed and said to be exchangeable; states with the same values have the same number."""
    if set(document["reveal"]) != set(document["use"]):
        raise ValueError("not all that is used is revealed")
    numbers = {tuple(sorted(state)): draw.choice(["0", "-1/3", "1", "5/2"]) for state in document["channel"]["states"]}
    multipliers = [numbers[tuple(sorted(state))] for state in document["channel"]["states"]]
    document["bound"] |= {"exchangeable": [list(document["use"])], "multipliers": multipliers}


def another_kind(document, draw):
    """Something of another kind stands somewhere: places of every kind are as likely."""
    proof = proof_in(document, draw)
    by_kind = {}
    for path in forging.places(proof):
        if path:
            by_kind.setdefault(type(forging.within(proof, path)), []).append(path)
    path = draw.choice(by_kind[draw.choice(sorted(by_kind, key=repr))])
    odd = [7, None, True, False, 0.0, 1.0, [], {}, "0", "1", -1, 1 << 70, [0], ["1"], "x", [True], "-"]
    forging.within(proof, path[:-1])[path[-1]] = copy.deepcopy(draw.choice(odd))


def truths_for_numbers(document, draw):
    """Where a proof has a 0 or a 1, it says false or true; or 0.0 and 1.0."""
    proof = proof_in(document, draw)
    found = [path for path in forging.places(proof) if path and forging.within(proof, path) in (0, 1)]
    path = draw.choice(found)
    holder = forging.within(proof, path[:-1])
    holder[path[-1]] = draw.choice([bool, float])(holder[path[-1]])


def a_list_as_an_object(document, draw):
    """A list of numbers is an object whose keys are these, spelt so that they differ; or a text of digits."""
    proof = proof_in(document, draw)
    found = [
        path
        for path in forging.places(proof)
        if path and isinstance(forging.within(proof, path), list) and forging.within(proof, path)
        and all(isinstance(x, str) for x in forging.within(proof, path))
    ]  # fmt: skip
    path = draw.choice(found)
    texts = forging.within(proof, path)
    keys = [f"{'-' if t.startswith('-') else ''}{'0' * i}{t.removeprefix('-')}" for i, t in enumerate(texts)]
    forging.within(proof, path[:-1])[path[-1]] = draw.choice([dict.fromkeys(keys, 0), "0" * len(texts)])


def other_lengths(document, draw):
    """A list of a proof, or one within it, is longer or shorter by one."""
    proof = proof_in(document, draw)
    found = [path for path in forging.places(proof) if path and isinstance(forging.within(proof, path), list)]
    depth = draw.choice(sorted({len(path) for path in found}))
    holder = forging.within(proof, draw.choice([path for path in found if len(path) == depth]))
    if draw.random() < 0.5:
        holder.append(copy.deepcopy(holder[0] if holder else "0"))
    else:
        holder.pop()


def other_cells(document, draw):
    """Cells of a cover: one less, one twice, with another point, a point twice, or all points moved."""
    proof = document["bound"]
    cells, points = proof["cells"], proof["points"]
    how = draw.choice(["less", "twice", "point", "flat", "moved", "corner", "turned"])
    cell = draw.choice(cells)
    if how == "less":
        cells.remove(cell)
    elif how == "twice":
        cells.append(list(cell))
    elif how == "point":
        cell[draw.randrange(len(cell))] = draw.randrange(len(points))
    elif how == "flat":
        cell[0] = cell[1]
    elif how == "turned":
        cell.reverse()
    else:
        point = draw.choice(points)
        a, b = draw.sample(range(len(point)), 2)
        by = 1 if how == "moved" else int(point[a], 16)
        point[a], point[b] = forging.more(point[a], -by), forging.more(point[b], by)
    if how in ("less", "twice", "flat"):
        proof["multipliers"] = (proof["multipliers"] * 2)[: len(cells)]


def other_knots(document, draw):
    """Knots of chords: one moved, one less, two exchanged, one twice, or all within."""
    proof = document["best"]
    knots = proof["knots"]
    at = draw.choice([0, len(knots) - 1, draw.randrange(len(knots))])
    how = draw.choice(["moved", "moved", "moved", "less", "exchanged", "twice"])
    number = Fraction(*(int(x, 16) for x in knots[at].split("/")))
    if how == "less":
        del knots[at]
        del proof["multipliers"][min(at, len(proof["multipliers"]) - 1)]
    elif how == "twice":
        knots.insert(at, knots[at])
        proof["multipliers"].insert(0, proof["multipliers"][0])
    elif how == "exchanged":
        knots[at], knots[at - 1] = knots[at - 1], knots[at]
    else:
        number += draw.choice([Fraction(1, 7), Fraction(-1, 7), Fraction(1), Fraction(1, 10**6), Fraction(-1, 10**6)])
        knots[at] = f"{number.numerator:x}/{number.denominator:x}"


def other_prices(document, draw):
    """What a bit of leakage is worth: negative, nothing, more, for another group, or for none."""
    proof = document["bound"]
    prices = proof.get("prices") or ["0"] * len(document["protect"])
    at = draw.randrange(len(prices))
    prices[at] = draw.choice(["0", "1", "-1", "1/100", "3/2"])
    proof["prices"] = prices if draw.random() < 0.9 else prices[:-1]


def turned_prices(document, draw):
    """A bit of leakage is worth less than nothing, and so are the multipliers that go with it."""
    proof = document["bound"]
    turned = {g for g, price in enumerate(proof["prices"]) if price.strip("0/1") or price.startswith("1")}
    proof["prices"] = [f"-{price}" if g in turned else price for g, price in enumerate(proof["prices"])]
    places = [i for i, row in enumerate(proof["rows"]) if row[0] in turned]
    for row in proof["multipliers"]:
        for i in places:
            row[i] = row[i][1:] if row[i].startswith("-") else f"-{row[i]}"


def cut_at_its_end(document, draw):
    """The whole of a tree is cut where it begins, so that one part is all of it and the other has no inside."""
    proof, sides = document["bound"], proof_tree.Sides()
    low, high = ([int(x, 16) for x in proof[key]] for key in ("low", "high"))
    lines = [
        [proof_tree.coefficient(x) << (proof_tree.BITS - proof_tree.LINE_BITS) for x in row] for row in proof["lines"]
    ]
    for k in draw.sample(range(len(low)), len(low)):
        flat = [*high[:k], low[k], *high[k + 1 :]]
        below = [[i] for i, line in enumerate(lines) if proof_tree.most_above(line, low, flat, sides) <= 0]
        leaves = [[]] if sum(flat) < proof_tree.UNIT else below
        if leaves:
            proof["tree"] = [[k, low[k]], leaves[0], *proof["tree"]]
            return
    raise ValueError("no line is below the entropy there")


def other_columns(document, draw):
    """Columns that are said to be exchangeable: others, one twice, in two classes, or none."""
    names = list(document["use"])
    some = draw.sample(names, min(len(names), draw.choice([2, 2, 3])))
    classes = [
        [some],
        [some[:1]],
        [some, some],
        [some, names],
        [[*some, some[0]]],
        [names[::-1]],
        [],
        [[]],
        [["Q"]],
        some,
    ]
    document["bound"]["exchangeable"] = copy.deepcopy(draw.choice(classes))


def other_purposes(document, draw):
    """What a code is good for: an unknown purpose, actions that are none, losses that lack, a target that is no number."""
    purpose = document["utility"]
    how = draw.choice(["unknown", "more", "none", "twice", "fewer", "shorter", "longer", "squares", "texts", "budgets"])
    target = document["law"]["columns"].index(document["reveal"][0])
    if how == "unknown":
        purpose["kind"] = draw.choice(["oracle", "", None, 7, []])
    elif how == "more":
        purpose["more"] = 1
    elif how == "none":
        purpose |= {"actions": [], "loss": []}
    elif how == "twice":
        purpose["actions"][0] = purpose["actions"][-1]
    elif how == "fewer":
        purpose["loss"].pop()
    elif how == "shorter":
        purpose["loss"][0].pop()
    elif how == "longer":
        purpose["loss"][0].append("0")
    elif how == "squares":
        document["utility"] = {"kind": "squares"}
    elif how == "texts":
        document["law"]["alphabets"][target] = [f"v{v}" for v in document["law"]["alphabets"][target]]
    else:
        document["budgets"] = [None] * len(document["protect"])


def like_columns(document, draw):
    """The first columns beside the target are said to be exchangeable, which they may be."""
    document["bound"]["exchangeable"] = [[name for name in document["use"] if name not in document["reveal"]][:2]]


def another_proof_kind(document, draw):
    """The file names another kind of proof, with what it has."""
    kinds = ["group", "determined", "lines", "tree", "rank", "extreme points", "decision", "none"]
    proof_in(document, draw)["kind"] = draw.choice(kinds)


def another_group(document, draw):
    """A bound from the law and one of the groups, or none; or from one that is not there."""
    group = draw.choice([None, *range(len(document["protect"])), -1, len(document["protect"]), True, 0.0])
    document["bound"] = {"kind": "group", "group": group}


def by_rank(document, draw):
    """A bound from the closed form, where there may be none."""
    document["version"] = 2
    document[draw.choice([key for key in ("bound", "best") if key in document])] = {"kind": "rank"}


def an_older_version(document, draw):
    """A proof in a file of a version that has none of its kind."""
    document["version"] = 3 - document["version"]


OFTEN = {
    other_numbers_alike: 4,
    orbits_of_all: 6,
    turned_prices: 2,
    other_knots: 12,
    other_cells: 4,
    other_prices: 4,
    another_row: 4,
    other_columns: 4,
    other_purposes: 12,
}
"""Changes of which there are many sorts, and which few files allow."""
OTHERWISE = [
    as_it_was, forging.another_proof, forging.another_proof, rows_in_another_order, a_row_less, a_row_twice, other_numbers,
    other_numbers, another_kind, truths_for_numbers, a_list_as_an_object,
    other_lengths, other_lengths, like_columns, another_proof_kind, another_group, by_rank, an_older_version,
    *(change for change, times in OFTEN.items() for _ in range(times)),
]  # fmt: skip
OF_TREES = [
    cut_at_its_end,
    *(lambda document, draw, change=change: change(document["bound"], draw) for change in trees.FORGED),
    *(change for change in OTHERWISE if change not in (other_cells, other_knots, other_columns)),
]
