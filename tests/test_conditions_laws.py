"""Promises given what others know, under several laws: kept under each and under mixtures, and no better code exists."""

from __future__ import annotations

import copy
from fractions import Fraction as F

import numpy as np
import pytest
import test_conditions as one_law
from hypothesis import given, settings
from hypothesis import strategies as st

import choral as ch
from choral.errors import ProblemError, VerificationError
from choral.exact import certificate

SHAPE = (2, 2, 3, 2)
KINDS = [
    (["Z", "Z | V"], ["Z", "V", "X"]),
    (["Z | V"], ["Z", "V", "X"]),
    (["Z | W"], ["Z", "X"]),
    (["Z", "Z | W=1"], ["V", "X"]),
    (["Z | V"], ["Z", "X"]),
]


@st.composite
def pairs_of_laws(draw):
    """A law with every cell, and another on the same cells, some of which it may lack."""
    cells = list(np.ndindex(*SHAPE))
    numbers = [st.lists(st.integers(low, 5), min_size=len(cells), max_size=len(cells)) for low in (1, 0)]
    first, second = (dict(zip(cells, draw(column), strict=True)) for column in numbers)
    second[0, 0, 0, 0] = 1
    return tuple(
        ch.Joint.from_counts({c: n for c, n in law.items() if n}, one_law.NAMES, [tuple(range(k)) for k in SHAPE])
        for law in (first, second)
    )


def mixture(first, second, share):
    """The law that draws from the second with this probability; cells by value."""
    cells = {}
    for law, weight in ((first, 1 - share), (second, share)):
        total = sum(law.cells.values())
        for cell, n in law.cells.items():
            values = tuple(alphabet[i] for alphabet, i in zip(law.alphabets, cell, strict=True))
            cells[values] = cells.get(values, F(0)) + weight * F(n, total)
    return ch.Joint.from_counts(cells, first.names, first.alphabets)


@settings(max_examples=6)
@given(pairs_of_laws(), st.sampled_from(KINDS))
def test_kept_under_both_laws_and_their_mixtures_and_no_better_code_exists(laws, kind):
    (first, second), (protect, use) = laws, kind
    d = ch.disclose(first, "W", protect, use, also=[second], tol=1e-7)
    for share in (F(0), F(1), F(1, 3)):
        law = mixture(first, second, share)
        assert all(one_law.kept(law, d, promise) for promise in protect)
    assert d.verify()["verified"]
    assert d.information - 1e-9 <= one_law.best(first, protect, use, [second]) <= d.upper_bound + 1e-9


def switched():
    """V and X are fair, X goes with V under one law and against it under the other, and Z is likelier under the second."""
    return [
        ch.Joint.from_counts(
            {
                (x, z, v, x): (3 if (x == v) == agree else 1) * (3 if z == likely else 1)
                for x in range(2)
                for z in range(2)
                for v in range(2)
            },
            names=one_law.NAMES,
        )
        for agree, likely in ((True, 0), (False, 1))
    ]


def publishing_x():
    """A file that publishes X and promises `Z | V` under both laws of `switched`, which is not true of their mixtures."""
    first, second = switched()
    forged = copy.deepcopy(ch.disclose(first, "W", ["Z | V"], ["V", "X"], also=[second]).document)
    forged["channel"] = {
        "codes": 2,
        "states": [[v, x] for v in range(2) for x in range(2)],
        "rows": [["1", [x, "1"]] for _ in range(2) for x in range(2)],
    }
    return forged


def test_a_code_that_tells_which_law_holds_to_whoever_knows_the_column_is_not_made_and_not_verified():
    """Publishing X keeps `Z | V` under either law, and tells 0.0456 bits of Z under an even mixture of the two."""
    first, second = switched()
    leak = mixture(first, second, F(1, 2)).mutual_information("Z", "X", given="V")
    assert leak == pytest.approx(0.0456, abs=5e-5)
    d = ch.disclose(first, "W", ["Z | V"], ["V", "X"], also=[second])
    assert ch.disclose(first, "W", ["Z | V"], ["V", "X"]).information == pytest.approx(1.0)
    assert d.information < 0.5
    assert one_law.kept(mixture(first, second, F(1, 2)), d, "Z | V")
    forged = publishing_x()
    with pytest.raises(VerificationError, match="which law holds"):
        certificate.check(certificate.sealed(forged), until="privacy")
    del forged["given"], forged["also"]
    forged["protect"] = [["Z"]]
    certificate.check(certificate.sealed(forged), until="privacy")


def three_laws():
    """V is 0 under the law, 1 or 2 under two others, where X goes with V and against it; publishing X is fair under each."""

    def law(cells):
        alphabets = [[0, 1], [0, 1, 2], [0, 1]]
        return {"kind": "table", "columns": ["Z", "V", "X"], "alphabets": alphabets, "cells": cells}

    others = [
        law([[z, v, x, "3" if x == (v + k) % 2 else "1"] for z in range(2) for v in (1, 2) for x in range(2)])
        for k in range(2)
    ]
    joint = ch.Joint.from_counts({(z, 0, x): 1 for z in range(2) for x in range(2)}, ["Z", "V", "X"])
    document = copy.deepcopy(ch.disclose(joint, "X", ["Z | V"], ["X"], solver="enumeration").document)
    document["law"] = law([[z, 0, x, "1"] for z in range(2) for x in range(2)])
    assert document["channel"]["codes"] == 2
    return document, others


def test_what_only_further_laws_know_is_compared_between_them():
    document, others = three_laws()
    for also in ([others[0]], [others[1]]):
        certificate.check(certificate.sealed({**document, "also": also}), until="privacy")
    with pytest.raises(VerificationError, match="which law holds"):
        certificate.check(certificate.sealed({**document, "also": others}), until="privacy")


def test_a_file_with_both_comes_back_and_a_tampered_one_does_not_verify(tmp_path):
    def made(a):
        """Laws that differ in what V goes together with."""
        cells = np.ndindex(2, 2, 3, 4)
        return {c: 1 + (3 * c[0] + 5 * c[1] + 2 * c[2] * c[a] + 7 * c[3] * c[0]) % 9 for c in cells}

    law, other = (ch.Joint.from_counts(made(a), names=one_law.NAMES) for a in (0, 3))
    d = ch.disclose(law, "W", ["Z", "Z | V"], ["Z", "V", "X"], also=[other])
    assert d.information > 0
    path = d.save(tmp_path / "a.choral")
    assert ch.load(path) == d
    named = [row for row in d.document["bound"]["rows"] if row[0] == "also" and len(row) == 5]
    assert {row[2] for row in named} == {"given", "known"}
    for change in (["also", 0, "given", 0, 99], ["also", 0, "none", 0, 0], ["also", 1, "given", 0, 0],
                   ["also", 0, "given", 7, 0], ["also", 0, 0, 0, 0]):  # fmt: skip
        forged = copy.deepcopy(d.document)
        forged["bound"]["rows"][[row[:1] for row in forged["bound"]["rows"]].index(["also"])] = change
        with pytest.raises(VerificationError):
            certificate.check(certificate.sealed(forged))


def test_a_further_law_without_a_column_of_the_condition_is_refused():
    law = ch.Joint.from_counts(dict.fromkeys(np.ndindex(*SHAPE), 1), names=one_law.NAMES)
    with pytest.raises(ProblemError, match="no column 'V'"):
        ch.disclose(law, "W", ["Z | V"], ["Z", "X"], also=[law.marginal("W, Z, X")])
