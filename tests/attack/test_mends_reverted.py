"""Reverting any one mend turns the suite red: each is taken back, and its tests fail."""

from __future__ import annotations

import re

import pytest
import test_mends
from attack.reverts import REVERTS

PAIRS = [(revert, name) for revert, names in REVERTS.items() for name in names]
GIVEN = {"place": "-o", "text": "1.6", "name": "age\u3164", "other": " José"}
"""One of the values of each test that has several."""
GIVEN["values"] = ({"date": "2020-01-01"}, {"date": "20200101"})
FAILED = (AssertionError, ValueError, KeyError, test_mends.TooLong)
"""How a test fails: by what it asserts, by an answer that is no JSON, or because its time is over."""
session = test_mends.session


@pytest.mark.parametrize(("revert", "name"), PAIRS, ids=[name for _, name in PAIRS])
def test_a_mend_that_is_taken_back_is_missed(revert, name, request, tmp_path, monkeypatch):
    test = getattr(test_mends, name)
    monkeypatch.setattr(test_mends, "SECONDS", 1)
    wanted = test.__code__.co_varnames[: test.__code__.co_argcount]
    given = {
        one: {"tmp_path": tmp_path, "monkeypatch": monkeypatch}.get(one)
        or GIVEN.get(one)
        or request.getfixturevalue(one)
        for one in wanted
    }
    revert(monkeypatch)
    with pytest.raises(FAILED):
        test(**given)


def test_every_mend_is_taken_back_by_one():
    found = {name for name in vars(test_mends) if re.match(r"test_\d+_", name)}
    assert found == {name for _, name in PAIRS}
    assert {int(name.split("_")[1]) for name in found} == set(range(1, 17))
