"""Canonical identifiers: the same on every engine and width, different for different values and kinds."""

from __future__ import annotations

import datetime
import hashlib
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choral.errors import ChoralError, ColumnError
from choral.ledger.identity import blocks, encrypt, kind_of, positions, subkey
from choral.ledger.spelling import normal_blocks, normal_form

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
WIDTHS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
    pa.decimal128(38, 0): (-(10**35), 10**35),
}


def by_hand(value):
    """The block of a value, as the module documents it."""
    raw = str(value).encode()
    if len(raw) <= 14:
        return raw.ljust(14, b"\0") + bytes([len(raw), 2])
    return hashlib.blake2b(raw, digest_size=15).digest() + b"\x03"


def rows(found):
    return [bytes(row) for row in found]


@given(st.lists(TEXTS, max_size=30), st.integers(0, 5))
def test_texts_are_packed_as_documented_in_every_arrow_layout(texts, skip):
    expected = [by_hand(text) for text in texts]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert rows(blocks(pa.array(texts, kind))) == expected
    assert rows(blocks(pa.array(texts, pa.string()).dictionary_encode())) == expected
    assert rows(blocks(pa.array(texts, pa.string())[skip:])) == expected[skip:]
    parts = pa.chunked_array([pa.array(texts[:skip], pa.string()), pa.array(texts[skip:], pa.string())])
    assert rows(blocks(parts)) == expected


@given(st.lists(st.integers(-(10**35), 10**35), max_size=20), st.sampled_from([7, 8, 15, 16, 31, 32, 63, 64, 100]))
def test_integers_have_one_form_in_every_width_and_in_text(numbers, bits):
    numbers = [n % 2**bits - (2 ** (bits - 1) if n % 2 else 0) for n in numbers]
    for kind, (low, high) in WIDTHS.items():
        fitting = [n for n in numbers if low <= n <= high]
        as_given = [Decimal(n) for n in fitting] if pa.types.is_decimal(kind) else fitting
        assert rows(blocks(pa.array(as_given, kind))) == [by_hand(n) for n in fitting]
        assert rows(blocks(pa.array([str(n) for n in fitting], pa.string()))) == [by_hand(n) for n in fitting]


@given(st.sets(TEXTS, max_size=30), st.sets(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_different_identifiers_have_different_blocks(texts, numbers):
    found = rows(blocks(pa.array(sorted(texts), pa.string()))) + rows(blocks(pa.array(sorted(numbers), pa.int64())))
    found += rows(positions(0, 20))
    assert len(set(found)) == len(texts | {str(n) for n in numbers}) + 20


def test_texts_that_differ_by_zeros_or_look_like_numbers_stay_apart():
    texts = ["", "\0", "\0\0", "1", "1\0", "01", "+1", "1.0", " 1", "a" * 14, "a" * 15, "a" * 14 + "\0", "é", "e\u0301"]
    assert len(set(rows(blocks(pa.array(texts))) + rows(blocks(pa.array([1, 0]))))) == len(texts) + 1


def test_engines_agree():
    """The same identifiers through DuckDB, pandas and polars, as numbers, text, dates and UUIDs."""
    day, someone = datetime.date(2024, 2, 29), uuid.UUID("03E629E4-B9CB-4744-B73C-FFB54E6CC68C")
    expected = [by_hand(-7), by_hand("ann"), by_hand("2024-02-29"), by_hand(str(someone))]
    table = (
        duckdb.connect()
        .sql(
            f"SELECT (-7)::TINYINT a, 'ann'::ENUM('ann', 'bob') b, DATE '2024-02-29' c, UUID '{someone}' d, (-7)::HUGEINT e"
        )
        .to_arrow_table()
    )
    assert [rows(blocks(table.column(name)))[0] for name in "abcd"] == expected
    assert rows(blocks(table.column("e"))) == expected[:1]
    polar = pl.DataFrame(
        {"a": pl.Series([-7], dtype=pl.Int16), "b": ["ann"], "c": [day], "d": [str(someone)]}
    ).to_arrow()
    assert [rows(blocks(polar.column(name)))[0] for name in "abcd"] == expected
    panda = pa.Table.from_pandas(
        pd.DataFrame({"a": np.array([-7], dtype=np.int32), "b": pd.Categorical(["ann"]), "c": [day]})
    )
    assert [rows(blocks(panda.column(name)))[0] for name in "abc"] == expected[:3]
    assert rows(blocks(pa.array([someone.bytes], pa.uuid()))) == expected[3:]
    assert rows(blocks(pa.array([datetime.datetime(2024, 2, 29)], pa.date64()))) == expected[2:3]


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (pa.float64(), "cast it to an integer or to text"),
        (pa.decimal128(9, 2), "cast it to an integer or to text"),
        (pa.bool_(), "cannot tell records apart"),
        (pa.null(), "missing"),
        (pa.timestamp("us"), "Cast it to text"),
        (pa.binary(), "Cast it to text"),
        (pa.list_(pa.int64()), "Cast it to text"),
    ],
)
def test_what_identifies_nobody_is_refused(kind, remedy):
    with pytest.raises(ColumnError, match="'who'") as refusal:
        blocks(pa.array([], kind), "who")
    assert remedy in refusal.value.remedy


def test_a_missing_identifier_is_refused_with_its_row():
    with pytest.raises(ColumnError, match="row 103"):
        blocks(pa.array([1, 2, None, 4, None]), "who", before=100)


def test_kinds():
    assert kind_of(pa.uint16(), "x") == kind_of(pa.decimal128(10, 0), "x") == kind_of(pa.string(), "x") == "text"
    assert kind_of(pa.dictionary(pa.int8(), pa.string()), "x") == "text"
    assert (kind_of(pa.date32(), "x"), kind_of(pa.uuid(), "x")) == ("date", "uuid")


def test_positions_are_numbered_through():
    assert rows(positions(0, 10))[6:] == rows(positions(6, 4))
    assert rows(positions(2**40, 1)) == [(2**40).to_bytes(15, "little") + b"\x04"]


def test_subkeys_differ_by_key_purpose_and_context_and_are_keyed_blake2b():
    keys = {
        subkey(key, purpose, context)
        for key in (bytes(32), b"k" * 32)
        for purpose in ("draw", "level")
        for context in (b"", b"0")
    }
    assert len(keys) == 8
    assert (
        subkey(b"k" * 32, "draw", b"x") == hashlib.blake2b(b"x", key=b"k" * 32, person=b"draw", digest_size=32).digest()
    )
    with pytest.raises(ChoralError, match="16 bytes"):
        subkey(bytes(16), "draw")


def test_encrypting_nothing_gives_nothing():
    assert encrypt(bytes(32), np.empty((0, 16), dtype=np.uint8)).shape == (0, 16)


# ---------------------------------------------------------------------- spellings

ONE_PERSON = [
    ("é", "e\u0301", "é\u200b", "\ufeffé", " é", "é\t"),
    ("7", " 7", "7 ", "\u00a07", "7.0", "7.", "7.000", "+7", "７", "7\ufe0f", "7e+00", "\u200e7", "7\u2800"),
    ("100000", "1e+05", "1E+05", "1.0e+05", "100000.0"),
    ("-12", "-12.0", " -12"),
    ("Ann Lee", "Ann  Lee", "Ann\u00a0Lee ", "Ann\u2009Lee", "Ann\u00ad Lee"),
    ("한", "\u1112\u1161\u11ab"),
]
TWO_PEOPLE = ["7", "07", "007.0", "7.5", "7.05", "-7", "70", "1e5", "1.5e+00", "1,000", "1.000.0"]
TWO_PEOPLE += ["ann", "Ann", "AnnLee", "é", "e"]
NUMBERS = st.from_regex(r"[ +-]?[0-9]{1,3}(\.[0-9]{0,2})?(e\+[0-9]{1,2})?", fullmatch=True)


@pytest.mark.parametrize("spellings", ONE_PERSON)
def test_spellings_of_one_person_have_one_normal_form_which_is_one_of_them(spellings):
    assert {normal_form(text) for text in spellings} == {spellings[0]}
    assert len(set(rows(blocks(pa.array(spellings))))) == len(spellings)


def test_what_may_be_two_people_is_not_joined():
    assert len({normal_form(text) for text in TWO_PEOPLE}) == len(TWO_PEOPLE)


@given(TEXTS)
def test_a_normal_form_is_its_own(text):
    assert normal_form(normal_form(text)) == normal_form(text)


@given(st.lists(st.one_of(TEXTS, NUMBERS), max_size=20))
def test_all_at_once_the_normal_forms_are_those_of_one_by_one(texts):
    """Most are told to be in normal form by a look at their bytes; none that is not may pass."""
    expected = rows(blocks(pa.array([normal_form(text) for text in texts], pa.string())))
    for kind in (pa.string(), pa.large_string()):
        found = pa.array(["x", *texts], kind)[1:]
        assert rows(normal_blocks(found, blocks(found))) == expected
    listed = pa.array(texts, pa.string()).dictionary_encode()
    assert rows(normal_blocks(listed, blocks(listed))) == expected


def test_identifiers_in_normal_form_are_not_copied():
    for plain in (
        pa.array(["ann", "7", "a-b@c.de", "Ann Lee"]),
        pa.array([7, 8]),
        pa.array([datetime.date(2024, 2, 29)]),
    ):
        found = blocks(plain)
        assert normal_blocks(plain, found) is found
