"""One small problem of every kind gives the document that it gave before: law, channel, claims and proof.

What rests on exact arithmetic alone is compared by its hash. Where floats choose (interior points, network simplex, the
multipliers of a proof) another machine may round otherwise: there the claims are compared to 1e-9 and the document by its
structure. `CHORAL_CORPUS=bytes` compares every byte but the notes, for a change that is to change nothing on one machine;
`CHORAL_CORPUS=write` writes the record anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from fractions import Fraction as F
from itertools import product
from pathlib import Path

import pytest

import choral as ch
from choral.exact.certificate import document_to_text

RECORD = Path(__file__).parent / "frozen" / "corpus" / "documents.json"
MODE = os.environ.get("CHORAL_CORPUS", "")


def _mixed(shape, targets, seed=7):
    """A law with weights from 1 to 23 that no permutation of columns leaves as it is."""
    names = ["W", *(f"X{i}" for i in range(1, len(shape) + 1))]
    cells = list(product(range(targets), *(range(size) for size in shape)))
    return ch.Joint.from_counts({x: 1 + (seed * i * i + 5 * i) % 23 for i, x in enumerate(cells)}, names)


def _also():
    return _mixed((2, 3, 3), 2), _mixed((2, 3, 3), 2, seed=11)


def _sensors():
    return ch.Sensors([F(2, 3), F(1, 3)], [ch.bsc(F(k, 20)) for k in (1, 2, 3, 5)])


EXACT = {
    "enumeration": lambda: ch.disclose(ch.examples.bsc_and_bec()),
    "clinic": lambda: ch.disclose(ch.examples.clinic(), "diagnosis"),
    "nothing to tell": lambda: ch.disclose(ch.examples.bsc_and_bec(), protect=[("X1", "X2")]),
    "two ends": lambda: ch.disclose(ch.examples.two_binary(F(1, 3), F(1, 2), F(1, 5))),
    "three values": lambda: ch.disclose(_mixed((2, 3), 3)),
    "target in use": lambda: ch.disclose(ch.examples.clinic(), "diagnosis", ["smoker"], ["smoker", "diagnosis"]),
    "protected unseen": lambda: ch.disclose(ch.examples.clinic(), "diagnosis", ["smoker"], ["pressure", "glucose"]),
    "pairs": lambda: ch.disclose(ch.examples.four_fair_bits(), order=2),
    "self": lambda: ch.self_disclose(ch.examples.two_squares()),
    "self in orbits": lambda: ch.self_disclose(ch.examples.bernoulli(F(3, 10), 4)),
}
ROUNDED = {
    "transport in orbits": lambda: ch.disclose(ch.examples.noisy_copies(5)),
    "exchangeable": lambda: ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 12)),
    "exchangeable pairs": lambda: ch.disclose(ch.Exchangeable([F(2, 3), F(1, 3)], ch.bsc(F(1, 10)), 8), order=2),
    "sensors": lambda: ch.disclose(_sensors()),
    "sandwich of two": lambda: ch.disclose(_mixed((2, 2, 3), 2), solver="sandwich", tol=1e-4),
    "sandwich of three": lambda: ch.disclose(_mixed((2, 2, 2), 3), solver="sandwich", tol=1e-2),
    "coarse": lambda: ch.disclose(_mixed((2, 2, 2), 6), solver="coarse", tol=1e-2),
    "few codes": lambda: ch.disclose(_mixed((2, 2, 3), 2), codes=2),
    "also": lambda: ch.disclose(_also()[0], also=[_also()[1]], tol=1e-4),
    "leakage": lambda: ch.disclose(ch.examples.noisy_copies(2), leakage={"X1": F(1, 20)}, tol=1e-4),
    "ratio": lambda: ch.disclose(ch.examples.noisy_copies(2), ratio={"X1": F(5, 4)}, tol=1e-4),
    "leakage, coarse": lambda: ch.disclose(_mixed((2, 2), 5), leakage={"X1": F(1, 10)}, tol=1e-2),
    "no time": lambda: ch.disclose(_mixed((2, 2, 3), 2), time_limit=0),
}


def _hash(document, without):
    kept = {key: value for key, value in document.items() if key not in without}
    return hashlib.sha256(document_to_text(kept).encode()).hexdigest()


def _recorded(d):
    """What is kept of a disclosure, from the text of its document."""
    document = json.loads(document_to_text(d.document))
    return {
        "bytes": _hash(document, {"notes", "digest"}),
        "channel": _hash(document, {"notes", "digest", "claims", "bound"}),
        "structure": {
            "keys": list(document),
            "law": _hash(document["law"], {}),
            "asked": [document[key] for key in ("reveal", "use", "protect")],
            "budgets": document.get("budgets"),
            "states": len(document["channel"]["states"]),
            "bound": document["bound"]["kind"],
        },
        "claims": document["claims"],
    }


def _numbers(claims):
    return [float(x or 0) for key in sorted(claims) for x in (claims[key] if key == "leakage" else [claims[key]])]


@pytest.mark.parametrize("name", [*EXACT, *ROUNDED])
def test_the_document_is_the_one_of_before(name):
    found = _recorded({**EXACT, **ROUNDED}[name]())
    if MODE == "write":
        known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
        RECORD.write_text(json.dumps({**known, name: found}, indent=1) + "\n")
    before = json.loads(RECORD.read_text())[name]
    assert found["structure"] == before["structure"]
    assert _numbers(found["claims"]) == pytest.approx(_numbers(before["claims"]), abs=1e-9)
    if name in EXACT:
        assert found["channel"] == before["channel"]
    if MODE == "bytes":
        assert found["bytes"] == before["bytes"]


def test_every_record_has_its_problem():
    assert set(json.loads(RECORD.read_text())) == {*EXACT, *ROUNDED}
