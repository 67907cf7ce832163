"""Every attack of the suite, for a moment and the same each time; `make attack` goes on for longer, with others each time."""

from __future__ import annotations

import copy
import random
from unittest import mock

import forgeries
import pytest
from attack.all import ATTACKS
from attack.tally import Tally

from choral.verifier import command, proof_lines
from choral.verifier.claims import ClaimFailed


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_nothing_gives_way(attack, tmp_path):
    tally = Tally()
    for seed in range(attack.short):
        folder = tmp_path / str(seed)
        folder.mkdir()
        attack.round(random.Random(f"{attack.name} {seed}"), folder, tally)
    assert tally.broken == []
    assert sum(tally.counts.values()) >= attack.short


def test_attacks_have_names_of_their_own_and_belong_to_chapters_of_the_page():
    from attack.page import CHAPTERS

    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)
    assert {attack.chapter for attack in ATTACKS} == set(CHAPTERS)


FOUND = [
    "a_hard_law 167 of 8938fdf9",
    "a_hard_law 485 of 63cc06c0",
    *(f"loaded_releases {number} of 4" for number in (8, 48, 52, 77, 101, 235)),
]
"""Rounds of `make attack` in which something gave way, by the words that its chance begins with."""


@pytest.mark.parametrize("where", FOUND)
def test_what_was_found_once_is_mended(where, tmp_path):
    [attack] = [attack for attack in ATTACKS if attack.name == where.split()[0]]
    tally = Tally()
    attack.round(random.Random(where), tmp_path, tally)
    assert tally.broken == []


def no_proofs():
    """Files that are private and whose bound nothing proves, each in one way."""
    from attack import bank
    from test_verifier_attacks import HONEST

    tree, rank = (bank.written(bank.PROOFS[name]().document) for name in ("tree", "rank"))
    for change in (forgeries.a_longer_line, forgeries.from_behind, forgeries.without_its_version):
        yield f"tree, {change.__name__}", tree, lambda document, change=change: change(document, None)
    yield "rank, without its version", rank, lambda document: forgeries.without_its_version(document, None)
    unseen = mock.patch.object(proof_lines, "need")
    ways = [("leakage", change, unseen) for change in (bank.too_small, bank.without_a_price)]
    ways += [("joint", *bank.without_a_state(state)) for state in (0, 7)]
    for name, *way in ways:
        yield f"{name}, {way}", bank.written(HONEST[name]), lambda document, way=way: bank.as_if_proved(document, *way)


def test_a_bound_that_nothing_proves_is_refused():
    """Mutants of the verifier without one check each took these (`scripts/mutants.py`)."""
    from attack import bank

    for words, honest, change in no_proofs():
        command.verify(bank.resealed(honest))
        document = copy.deepcopy(honest)
        change(document)
        text = bank.resealed(document)
        command.verify(text, until="privacy")
        with pytest.raises(ClaimFailed) as refused:
            command.verify(text)
        assert refused.value.claim == "upper bound", words
