"""Targets of many values: the search under hard laws and few boxes, and forged trees that would prove too small a bound.

A forged proof is stated as what it would prove, so that only the check of its tree can refuse it. What either form of the
verifier accepts all the same must not be below the optimum of `attack.optimum`, which knows nothing of trees.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
import itertools
import json
from fractions import Fraction
from pathlib import Path
from random import Random
from unittest import mock

from attack import optimum
from attack.exactness import STATED, WAYS, check_disclosure, law_of, question_of, solved
from attack.tally import Attack, Tally

import choral as ch
from choral.design import many_values
from choral.exact.certificate import document_to_text, sealed
from choral.exact.information import stated_bound
from choral.proofs.tree import CUT_BITS, TreeBound
from choral.verifier import alone, command

VALUES = (2, 3, 4, 5, 6)
BOXES = (1, 2, 30, 300)
"""At how many boxes a search ends: so few that one takes a second, so many that most close their interval."""
WORKS = (0, 300_000, 10_000_000)
"""At how much work one ends that nothing else stops."""
UNIT = 1 << CUT_BITS
LINE = 1 << 40
"""One bit, in the units of a line."""


def many_values_of(draw: Random, folder: Path, tally: Tally) -> None:
    """One hard law with a target of up to six values; the search ends by its boxes or in any other way."""
    law, names = law_of(draw, VALUES)
    way, boxes = draw.choice(WAYS), draw.choice(BOXES)
    with mock.patch.multiple(many_values, WORK=draw.choice(WORKS), MOST_BOXES=boxes):
        d = solved(draw, tally, law, question_of(draw, names) | {"solver": "branching"}, way)
    if d is not None:
        tally.note(f"branching, stopped by: {way}, or its boxes")
        check_disclosure(tally, d, way)


# ---- forged trees -------------------------------------------------------------------------------------------------


@functools.cache
def the_one_file():
    """The verifier that people copy, as a module of its own."""
    path = Path(next(iter(alone.__path__))) / "verifier.py"
    described = importlib.util.spec_from_file_location("copied_verifier", path)
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@functools.cache
def honest(number: int):
    """A disclosure whose bound is proved by a tree, its document as read, and the least that is certainly the optimum."""
    draw = Random(number)
    shape = [(2, 2, 2), (2, 3), (3, 2)][number % 3]
    cells = itertools.product(range(4 + number % 3), *map(range, shape))
    law = ch.Joint.from_counts(
        {cell: draw.randint(1, 9) for cell in cells}, ["W", *(f"X{i}" for i in range(len(shape)))]
    )
    d = ch.disclose(law, "W", solver="branching", rel_tol=0.02)
    document = json.loads(document_to_text(d.document))
    return d, document, optimum.optimum(document)[0]


def nodes(bound, *lengths):
    """Where nodes of such lengths are."""
    return [i for i, node in enumerate(bound["tree"]) if len(node) in lengths]


def end_of(tree, first):
    """Where the part of the tree that begins at a place ends."""
    waiting, at = 1, first
    while waiting:
        waiting += 1 if len(tree[at]) == 2 else -1
        at += 1
    return at


def a_higher_line(bound, draw):
    """A line is higher, all of it or at one value."""
    line = draw.choice(bound["lines"])
    places = draw.choice([range(len(line)), [draw.randrange(len(line))]])
    by = draw.choice([1, 1 << 8, 1 << 20, 1 << 30, LINE])
    for k in places:
        line[k] = f"{int(line[k], 16) + by:x}"


def another_line(bound, draw):
    """A box names the line of another."""
    bound["tree"][draw.choice(nodes(bound, 1))] = [draw.randrange(len(bound["lines"]))]


def a_part_dropped(bound, draw):
    """A box and all its parts are gone, and its neighbour stands for both."""
    tree = bound["tree"]
    at = draw.choice(nodes(bound, 2))
    middle = end_of(tree, at + 1)
    last = end_of(tree, middle)
    tree[at:last] = draw.choice([tree[at + 1 : middle], tree[middle:last]])


def a_leaf_for_many(bound, draw):
    """A box that was cut is one leaf, with a line of its parts or none."""
    tree = bound["tree"]
    at = draw.choice(nodes(bound, 2))
    last = end_of(tree, at)
    named = [node for node in tree[at:last] if len(node) == 1]
    tree[at:last] = [draw.choice([*named, []])]


def parts_exchanged(bound, draw):
    """The upper part comes first: each line is for the other side of the cut."""
    tree = bound["tree"]
    at = draw.choice(nodes(bound, 2))
    middle = end_of(tree, at + 1)
    last = end_of(tree, middle)
    tree[at + 1 : last] = tree[middle:last] + tree[at + 1 : middle]


def another_cut(bound, draw):
    """A cut is elsewhere: along another value, moved, at an end, or outside."""
    at = draw.choice(nodes(bound, 2))
    k, cut = bound["tree"][at]
    ends = int(bound["low"][k], 16), int(bound["high"][k], 16)
    moved = [
        cut + draw.choice([-1, 1, UNIT >> 4, -(UNIT >> 4)]),
        *ends,
        ends[0] - 1,
        ends[1] + 1,
        0,
        UNIT,
        -1,
        1 << 200,
    ]
    bound["tree"][at] = draw.choice([[draw.randrange(len(bound["low"])), cut], [k, draw.choice(moved)]])


def another_root(bound, draw):
    """The root is smaller, larger, or turned round."""
    key = draw.choice(["low", "high"])
    k = draw.randrange(len(bound[key]))
    other = int(bound["high" if key == "low" else "low"][k], 16)
    old = int(bound[key][k], 16)
    bound[key][k] = f"{draw.choice([old + 2, max(old - 2, 0), other, (old + other) // 2, 0, UNIT, UNIT + 1]):x}"


def a_cut_repeated(bound, draw):
    """A box is cut where it was cut before, or a part of the tree stands in the place of a leaf."""
    tree = bound["tree"]
    at = draw.choice(nodes(bound, 2))
    part = copy.deepcopy(tree[at : end_of(tree, at)])
    leaf = draw.choice(nodes(bound, 0, 1))
    tree[leaf : leaf + 1] = part


def other_multipliers(bound, draw):
    """Multipliers of another line, larger ones, or none."""
    lines = bound["multipliers"]
    at = draw.randrange(len(lines))
    lines[at] = draw.choice(
        [
            copy.deepcopy(draw.choice(lines)),
            [[x + "0" for x in part] if isinstance(part, list) else part for part in lines[at]],
        ]
    )


def no_line(bound, draw):
    """A leaf names no line, or one that is not there."""
    bound["tree"][draw.choice(nodes(bound, 1))] = draw.choice([[], [-1], [len(bound["lines"])], [True], [0, 0, 0]])


FORGED = (
    a_higher_line,
    another_line,
    a_part_dropped,
    a_leaf_for_many,
    parts_exchanged,
    another_cut,
    another_root,
    a_cut_repeated,
    other_multipliers,
    no_line,
)


def refused_by(text: str) -> list[str]:
    """What the package and the one file say of a text: the claim that fails, or nothing."""
    said = []
    for verify, failure in (
        (command.verify, command.ClaimFailed),
        (the_one_file().verify, the_one_file().ClaimFailed),
    ):
        try:
            verify(text)
            said.append("")
        except failure as failed:
            said.append(failed.claim)
    return said


def forged_trees(draw: Random, folder: Path, tally: Tally) -> None:
    """A tree that was changed once or twice, stated as what it would prove: refused, or true all the same."""
    d, document, least = honest(draw.randrange(6))
    document = copy.deepcopy(document)
    names = []
    for change in draw.sample(FORGED, draw.choice([1, 1, 2])):
        if nodes(document["bound"], 2) and nodes(document["bound"], 1):
            change(document["bound"], draw)
            names.append(change.__name__)
    try:
        proved = stated_bound(d.problem, TreeBound.of_document(document["bound"], d.problem))
        document["claims"]["upper_bound"] = f"{proved:.15f}"
    except (ValueError, IndexError, KeyError, TypeError):
        tally.note("forged trees that are no tree")
    text = document_to_text(sealed(document))
    said = refused_by(text)
    tally.expect(said[0] == said[1], "forged trees of which the package and the one file say the same", (names, said))
    stated = Fraction(document["claims"]["upper_bound"])
    held = bool(said[0]) or least <= stated + STATED
    tally.expect(held, "forged trees that are refused, or true all the same", (names, float(stated), float(least)))
    tally.note("… refused" if said[0] else "… true all the same")


ATTACKS = [
    Attack("exactness", many_values_of, short=12, share=2),
    Attack("forged files", forged_trees, short=40, share=1),
]
