"""A bank of files, honest and forged, that both verifiers are asked about; and the mutants of one (`scripts/mutants.py`).

Every file of it comes from an honest one of its kind. What is expected is not written down: both verifiers, which share no
line, have to say the same of privacy and of the information, and the lists of `forgeries` say which must be refused.
"""

from __future__ import annotations

import copy
import functools
import json
import random
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from unittest import mock

import forgeries
import test_second_verifier as pair
import test_verifier_attacks as known
from attack import forging, proofs, trees

import choral as ch
from choral.exact.certificate import document_to_text, sealed
from choral.verifier import command, proof_extreme_points, proof_lines
from choral.verifier.claims import ClaimFailed
from choral.verifier.numbers import rational
from choral.verifier.vertices import extreme_points

STEPS = ch.Joint.from_counts(
    {
        ([Fraction(1, 2), 2, 8][x], z, u, v): 1 + (2 * x * z + 3 * v * x + z * u) % 5
        for x in range(3)
        for z in (0, 1)
        for u in (0, 1)
        for v in (0, 1)
    },
    names=["X", "Z", "U", "V"],
)
"""Numbers that are no whole steps apart."""
FAR = ch.Joint.from_counts(
    {
        ([20, 30, 50][x], z, u, v): 2 + (2 * x * z + 3 * v * x + z * u) % 5
        for x in range(3)
        for z in (0, 1)
        for u in (0, 1)
        for v in (0, 1)
    },
    names=["X", "Z", "U", "V"],
)
"""Numbers that are all far from nothing."""
CONSTANT = ch.Joint.from_counts({(5, z, v): 1 + z + v for z in (0, 1) for v in (0, 1)}, names=["X", "Z", "V"])
"""A number that is always the same."""
PURPOSES = {
    "accuracy": lambda: ch.disclose(ch.examples.bsc_and_bec(), "W", utility="accuracy"),
    "a loss": lambda: ch.disclose(pair.LAW, "W", ["Z"], ["Z", "V", "X"], utility={("go", 0): 1, ("stay", 1): 3}),
    "accuracy given": lambda: ch.disclose(pair.LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"], utility="accuracy"),
    "squares": lambda: ch.disclose(pair.LAW, "X", ["Z", "V"], ["Z", "V", "W"], utility="squares"),
    "squares of nothing": lambda: ch.disclose(CONSTANT, "X", ["Z"], ["Z", "V"], utility="squares"),
    "squares in steps, by rank": lambda: ch.disclose(STEPS, "X", ["Z"], ["Z", "V"], utility="squares"),
    "squares in steps": lambda: ch.disclose(STEPS, "X", ["Z", "U"], ["Z", "U", "V"], utility="squares"),
    "squares by rank": lambda: ch.disclose(pair.LAW, "X", ["Z"], ["Z", "V", "W"], utility="squares"),
}
"""Files of version 2 that are good for something else than bits."""
FOUR = ch.Joint.from_counts(
    {(w, a, b): 1 + (3 * w + 5 * a * b + 7 * w * a + b) % 9 for w in range(4) for a in (0, 1) for b in (0, 1, 2)},
    names=["W", "A", "B"],
)
"""A target of four values, about which lines alone prove little."""
ALIKE = {(x, y): 1 + (3 * x * y + 2 * (x + y)) % 7 for x in range(3) for y in range(3)}
BITS = {(0, 0): 2, (0, 1): 2, (1, 0): 2, (1, 1): 5}
TRIPLES = {(x, y, z): [5, 2, 7, 3][x + y + z] for x in (0, 1) for y in (0, 1) for z in (0, 1)}
"""Columns that may be exchanged, and are not independent."""
APART = ch.Joint.from_counts(
    {(w, z, v): (1 + w) * (1 + (z + 2 * v) % 3) for w in (0, 1) for z in (0, 1) for v in range(3)},
    names=["W", "Z", "V"],
)
"""A target that nothing tells about."""
FEWER = ch.Joint.from_counts(
    {cell: 2 + (cell[0] + cell[1] * cell[3] + 3 * cell[2]) % 4 for cell in pair.LAW.cells if cell[1:] != (1, 1, 2)},
    names=pair.LAW.names,
)
"""A further law under which one state does not occur."""
PROOFS = {
    "lines": lambda: ch.disclose(pair.LAW, "W", ["Z", "V"], ["Z", "V", "X"], solver="sandwich", tol=1e-3),
    "three values": lambda: ch.disclose(pair.LAW, "X", ["Z"], ["Z", "V", "W"], solver="sandwich", tol=1e-2),
    "orbits": lambda: ch.self_disclose(ch.examples.bernoulli(Fraction(3, 10), 4)),
    "determined": lambda: ch.disclose(ch.examples.bsc_and_bec(), protect=[("X1", "X2")]),
    "rank": lambda: ch.disclose(pair.LAW, "W", ["Z"], ["Z", "V", "X"], solver="rank"),
    "conditions by lines": lambda: ch.disclose(
        pair.LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"], solver="sandwich", tol=1e-3
    ),
    "a group beyond what is used": lambda: ch.disclose(pair.LAW, "W", [("Z", "V")], ["Z"]),
    "orbits of two bits": lambda: ch.self_disclose(ch.Joint.from_counts(BITS, names=["X1", "X2"])),
    "orbits of a pair": lambda: ch.self_disclose(ch.Joint.from_counts(ALIKE, names=["X1", "X2"])),
    "orbits of a triple": lambda: ch.self_disclose(ch.Joint.from_counts(TRIPLES, names=["X1", "X2", "X3"])),
    "two samples": lambda: ch.disclose(ch.Exchangeable([Fraction(2, 3), Fraction(1, 3)], ch.bsc(Fraction(1, 10)), 2)),
    "two sensors": lambda: ch.disclose(
        ch.Sensors([Fraction(2, 3), Fraction(1, 3)], [ch.bsc(Fraction(1, 10)), ch.bsc(Fraction(1, 5))])
    ),
    "tree": lambda: ch.disclose(FOUR, "W", solver="branching", rel_tol=0.1),
    "exchangeable columns": lambda: ch.disclose(ch.examples.noisy_copies(3)),
    "target in use": lambda: ch.disclose(ch.examples.noisy_copies(2), "W", ["X1", "X2"], ["W", "X1", "X2"]),
    "rank given": pair.MADE["rank"],
    "two laws, one value": pair.MADE["given, two laws, one value"],
    "a law of fewer states": lambda: ch.disclose(
        pair.LAW, "W", ["Z", "V"], ["Z", "V", "X"], also=[FEWER], solver="sandwich", tol=1e-3
    ),
    "given one value by lines": lambda: ch.disclose(
        pair.LAW, "W", ["Z | V=1"], ["Z", "V", "X"], solver="sandwich", tol=1e-3
    ),
    "a ratio beside": lambda: ch.disclose(
        ch.examples.noisy_copies(2), leakage={"X1": Fraction(1, 50)}, ratio={"X2": 2}, tol=1e-3
    ),
    "unseen by lines": lambda: ch.disclose(pair.LAW, "W", ["Z", "V"], ["V", "X"], solver="sandwich", tol=1e-3),
    "given, a law of fewer states": lambda: ch.disclose(
        pair.LAW, "W", ["Z", "Z | V"], ["Z", "V", "X"], also=[FEWER], solver="sandwich", tol=1e-2
    ),
    "nothing to tell": lambda: ch.disclose(APART, "W", ["Z | V"], ["Z", "V"]),
    "a condition determines": lambda: ch.disclose(ch.examples.noisy_copies(1), "W", ["X1", "X1 | W"], ["W", "X1"]),
}
"""One for each kind of proof of a bound."""


def written(document):
    """A document as it is read from a file: lists and texts, no tuples."""
    return json.loads(document_to_text(document))


@functools.cache
def honest():
    """Small honest documents of every kind of law, promise, proof and purpose, by name; not to be changed."""
    made = {name: pair.MADE[name] for name in ("given", "given a pair", "given one value", "three of five", "values")}
    made |= PURPOSES | PROOFS | {"given, two laws": pair.MADE["given, two laws"]}
    return {name: written(document) for name, document in known.HONEST.items()} | {
        name: written(make().document) for name, make in made.items()
    }


def resealed(document):
    """The text of a document whose digest is right."""
    return document_to_text(sealed(document))


def forged(draw: random.Random, count: int):
    """Texts of documents that were changed at random, each with the name of what it was."""
    names = sorted(honest())
    for _ in range(count):
        name = draw.choice(names)
        document = copy.deepcopy(honest()[name])
        forging.forge(document, draw)
        try:
            yield name, resealed(document)
        except (ValueError, UnicodeEncodeError):
            continue  # half a surrogate pair cannot be written


def rewritten(draw: random.Random):
    """Every honest document in other words: all of it is as true as before."""
    for name in sorted(honest()):
        document = copy.deepcopy(honest()[name])
        forging.same_in_other_words(document, draw)
        yield name, resealed(document)


def doubted(draw: random.Random, each: int):
    """Texts whose privacy is as it was, with another number in what is claimed, or in what proves it; and no proofs."""
    for name in sorted(honest()):
        for change in [forging.claim_more, forging.another_proof] * each + forgeries.OF_BOUNDS:
            document = copy.deepcopy(honest()[name])
            try:
                change(document, draw)
            except (KeyError, IndexError, TypeError, ValueError):
                continue  # it has nothing of this kind
            yield name, resealed(document)
    for change in trees.FORGED * each:
        document = copy.deepcopy(honest()["tree"])
        change(document["bound"], draw)
        yield "tree", resealed(document)
    unseen = mock.patch.object(proof_lines, "need")
    for change in (too_small, without_a_price):
        yield "leakage", resealed(as_if_proved(copy.deepcopy(honest()["leakage"]), change, unseen))
    for name in ("joint", "sensors"):
        for state in range(len(honest()[name]["channel"]["states"])):
            change, hidden = without_a_state(state)
            yield name, resealed(as_if_proved(copy.deepcopy(honest()[name]), change, hidden))
    yield "squares", knots_from_within()


def knots_from_within():
    """Squares of numbers far from nothing, whose first knot is above the least mean of a state."""
    document = written(ch.disclose(FAR, "X", ["Z", "U"], ["Z", "U", "V"], utility="squares").document)
    knots = document["best"]["knots"]
    first, second = (rational(text, "") for text in knots[:2])
    above = (first + second) / 2
    knots[0] = f"{above.numerator:x}/{above.denominator:x}"
    return proofs.stated(document)


def too_small(document):
    """Multipliers of a budget are half of what its price demands."""
    for row in document["bound"]["multipliers"]:
        row[:] = [f"{text.partition('/')[0]}/{2 * int(text.partition('/')[2] or '1', 16):x}" for text in row]


def without_a_price(document):
    """A budget has multipliers and costs nothing."""
    document["bound"]["prices"] = ["0" for _ in document["bound"]["prices"]]


def without_a_state(state):
    """A multiplier that is too large at every extreme point with this state; and how not to see any of them.

    Nothing is told, so that no bound is below what is.
    """

    def change(document):
        forgeries.silent(document)
        multipliers = document["bound"]["multipliers"]
        more = rational(multipliers[state], "") + Fraction(1, 1024)
        multipliers[state] = f"{more.numerator:x}/{more.denominator:x}"

    def others(columns, weights):
        return (point for point in extreme_points(columns, weights) if state not in point)

    return change, mock.patch.object(proof_extreme_points, "extreme_points", others)


def as_if_proved(document, change, hidden):
    """A document with another proof of its bound, and with the bound that it would give if that were not looked at."""
    change(document)
    document["claims"]["upper_bound"] = "9.000000000000000"
    try:
        with hidden:
            command.verify(resealed(document))
    except ClaimFailed as failed:
        found = Decimal(failed.reason.rpartition(" ")[2])
    document["claims"]["upper_bound"] = f"{found.quantize(Decimal('1e-15'), ROUND_CEILING):f}"
    return document


JOINED = [
    "a\u200cb",
    "a\u200db",
    "\u0628\u200d\u0628",
    "\u0628\u200c\u0628",
    "\u200cb",
    "b\u200c",
    "\u0915\u200c\u0937",
    "a\u200c\u0628",
]
"""Joiners between letters, where they shape these and where they do not."""


def spelled():
    """Texts of documents whose columns have values in every spelling, and names of every kind."""
    names = [*known.DECEIVERS.values(), *known.ALIKE, *known.WELCOME, "1l", "O0", "m rn", "", *JOINED]
    documents = [known.telling("city", values=["a", value]) for value in pair.VALUES]
    documents += [known.telling(name) for name in names] + [known.telling(name, protect="sex") for name in names]
    return pair.texts_of(documents)


def listed():
    """Texts that break exactly one rule (of `forgeries`, and names and values that deceive), and those that break none."""
    silent = {name: pair.telling_nothing(document) for name, document in known.HONEST.items()}
    by_name = honest() | {"only": honest()["given one value"]}
    telling = known.telling
    refused = pair.changed(forgeries.REFUSED, by_name) + pair.changed(forgeries.LAWS, silent)
    refused += pair.changed(forgeries.PROMISES, silent)
    refused += pair.texts_of(telling(name, protect="sex") for name in known.DECEIVERS.values())
    refused += pair.texts_of(telling(name) for name in known.ALIKE)
    refused += pair.texts_of(telling("city", values=values) for values in known.SAME)
    refused += pair.texts_of(make() for make in known.STALLS.values())
    given = {"given": pair.telling_nothing(by_name["given"])}
    senseless = [forgeries.given(hidden=hidden, known=["V"]) for hidden in (["W"], ["W", "Z"])]
    refused += pair.changed(
        [("given", change) for change in senseless], given
    )  # kept, as nothing is told; and no promise
    plain = resealed(silent["joint"])
    refused += [change(plain) for change in forgeries.TEXTS]
    taken = pair.changed(forgeries.TAKEN, by_name) + pair.texts_of(silent.values())
    taken += pair.texts_of(telling(name, protect="sex") for name in known.WELCOME)
    return refused, taken
