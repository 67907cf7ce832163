"""Files that version 0.1.0 wrote go on working: they verify, and their tables get the codes that they got then."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest

import choral as ch
from choral.draw.engine import disclose_table
from choral.release.card import decode, load_card

FROZEN = Path(__file__).parent / "frozen" / "v1"
RELEASES = sorted(str(path.relative_to(FROZEN)) for path in FROZEN.rglob("*.choral"))


def _codes(path: Path, column: str) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row[column]: row["code"] for row in csv.DictReader(file)}


def test_the_corpus_is_there():
    assert len(RELEASES) == 11


@pytest.mark.parametrize("name", RELEASES)
def test_it_verifies(name):
    assert ch.load(FROZEN / name).verify()["verified"]


@pytest.mark.parametrize("name", ["release", "second"])
def test_the_same_people_get_the_same_codes(tmp_path, name):
    old = FROZEN / ("codes.csv" if name == "release" else "second_codes.csv")
    book = shutil.copy(FROZEN / "choral.ledger", tmp_path)
    release = ch.load_release(FROZEN / f"{name}.choral")
    disclose_table(release, FROZEN / "table.csv", tmp_path / "codes.csv", book, id="person")
    assert _codes(tmp_path / "codes.csv", "person") == _codes(old, "person")


def test_a_card_belongs_to_its_release():
    assert load_card(FROZEN / "card.json").opened_by(ch.load_release(FROZEN / "release.choral"))


def test_a_card_of_the_first_version_decodes(tmp_path):
    card = load_card(FROZEN / "card.json")
    assert decode(card, FROZEN / "codes.csv", tmp_path / "posterior.csv") == len(_codes(FROZEN / "codes.csv", "person"))
    with (tmp_path / "posterior.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert [float(row["p(outcome=ill)"]), float(row["p(outcome=well)"])] == card.p_w_given_y[int(row["code"])]


def test_a_key_that_lives_apart_opens_its_release():
    release = ch.load_release(FROZEN / "rows" / "apart.choral", FROZEN / "rows" / "key.json")
    assert load_card(FROZEN / "rows" / "card.json").opened_by(release)


def test_the_same_rows_get_the_same_codes(tmp_path):
    """In the order of then, and with row numbers, which must be asked for now; under the ledger of then."""
    book = shutil.copy(FROZEN / "rows" / "choral.ledger", tmp_path)
    release = ch.load_release(FROZEN / "rows" / "apart.choral", FROZEN / "rows" / "key.json")
    options = {"arrange": "table", "with_rows": True}
    disclose_table(release, FROZEN / "table.csv", tmp_path / "codes.csv", book, **options)
    assert (tmp_path / "codes.csv").read_text() == (FROZEN / "rows" / "codes.csv").read_text()


QUOTA = FROZEN.parent / "quota"


@pytest.mark.parametrize(("name", "noise"), [("codes", None), ("noisy", 0.5)])
def test_the_same_people_get_the_same_codes_by_quota(tmp_path, name, noise):
    """With noise and without; nobody remembers them but the file, so that a new ledger has to find the same."""
    release = ch.load_release(QUOTA / "release.choral")
    options = {"id": "person", "ledger": tmp_path / "ledger", "draw": "quota", "quota_noise": noise}
    release.disclose(FROZEN / "table.csv", tmp_path / "codes.csv", **options)
    assert _codes(tmp_path / "codes.csv", "person") == _codes(QUOTA / f"{name}.csv", "person")
    counts = Counter(_codes(QUOTA / f"{name}.csv", "person").values())
    assert sum(counts.values()) == 400
    assert len(counts) == release.codes
