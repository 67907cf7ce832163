"""The ledger refuses what would tell about a record twice, keeps what it promised, and survives being killed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from choral.errors import LedgerError
from choral.ledger import entry as module
from choral.ledger import file as ledger_file
from choral.ledger.book import Use, open_ledger
from choral.ledger.identity import blocks
from choral.ledger.marks import mark_of
from choral.ledger.spelling import normal_blocks
from choral.release.fit import fit


class RefusedError(Exception):
    """A conflict, raised so that the entry is undone."""


def use(release="a", table="t", rows=3, after=None, column="id", kind="text", key="k"):
    return Use(release, table, rows, after, column, kind if column else None, key_check=key)


def word(values):
    return np.array(values, dtype=np.uint64)


def told(path, ids, records, **given):
    """Disclose these; `records` may be a tuple, one list for each of a release and the one before it."""
    many = records if isinstance(records, tuple) else (records,)
    with open_ledger(path) as ledger, ledger.disclosing(use(**given)) as entry:
        half = len(ids) // 2
        for part in (slice(None, half), slice(half, None)):
            entry.add(blocks(pa.array(ids[part], pa.int64())), *(word(words)[part] for words in many))
        conflict = entry.settle()
        if conflict:
            raise RefusedError(conflict)
    return path


@contextmanager
def refused(reason, count, release=""):
    with pytest.raises(RefusedError) as refusal:
        yield
    conflict = refusal.value.args[0]
    assert (conflict.reason, conflict.count, conflict.release) == (reason, count, release)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "choral.ledger"


def kept(path):
    """How many records the ledger keeps, for each release; one that is not there keeps none."""
    if not path.exists():
        return {}
    with sqlite3.connect(path) as sql:
        found = Counter()
        for digest, size in sql.execute(
            "SELECT digest, length(tags) FROM record JOIN release ON release = release.number"
        ):
            found[digest] += size // 16
    sql.close()
    return dict(found)


# ---------------------------------------------------------------------- identifiers


def test_the_same_records_again_are_admitted_and_kept_once(path):
    told(path, [1, 2, 3], [10, 20, 30])
    told(path, [3, 1, 2], [30, 10, 20], table="sorted otherwise")
    told(path, [2], [20], table="a part")
    assert kept(path) == {"a": 3}


def test_new_records_join(path):
    told(path, [1, 2, 3], [10, 20, 30])
    told(path, [3, 4], [30, 40], table="u")
    assert kept(path) == {"a": 4}
    with refused("changed", 1):
        told(path, [4], [41], table="v")


def test_a_known_identifier_with_another_record_is_refused(path):
    told(path, [1, 2, 3], [10, 20, 30])
    before = path.read_bytes()
    with refused("changed", 2):
        told(path, [1, 2, 3, 4], [11, 20, 31, 40], table="u")
    assert kept(path) == {"a": 3}
    assert path.stat().st_size == len(before)


def test_a_duplicate_is_refused_even_with_the_same_record(path):
    with refused("twice", 1):
        told(path, [1, 2, 1], [10, 20, 10])
    assert kept(path) == {}
    with refused("twice", 3):
        told(path, [1, 1, 1, 5, 5], [10, 11, 10, 7, 7])


def test_a_known_identifier_under_another_release_is_refused(path):
    told(path, [1, 2, 3], [10, 20, 30])
    with refused("elsewhere", 2, "a"):
        told(path, [2, 3, 4], [5, 6, 7], release="b", table="u")
    told(path, [4, 5], [5, 6], release="b", table="u")
    with refused("elsewhere", 1, "b"):
        told(path, [5], [6], table="v")


def test_a_release_after_another_is_admitted_when_the_earlier_record_is_the_same(path):
    told(path, [1, 2, 3], [10, 20, 30])
    told(path, [1, 2], ([5, 6], [10, 20]), release="b", after="a", table="u")
    assert kept(path) == {"a": 3, "b": 2}
    with refused("changed", 1):
        told(path, [3], ([5], [31]), release="b", after="a", table="v")
    with refused("changed", 1):
        told(path, [1], ([50], [10]), release="b", after="a", table="w")


def test_a_pair_tells_the_earlier_code_too(path):
    """First the later release, then the earlier one: the same record, or none."""
    told(path, [1], ([5], [10]), release="b", after="a")
    told(path, [1], [10], release="a")
    with refused("changed", 1):
        told(path, [1], [11], release="a", table="u")


def test_two_releases_after_the_same_one_are_strangers(path):
    told(path, [1, 2], [10, 20])
    told(path, [1, 2], ([5, 6], [10, 20]), release="b", after="a")
    with refused("elsewhere", 2, "b"):
        told(path, [1, 2], ([5, 6], [10, 20]), release="c", after="a")


def test_a_third_release_in_a_chain_is_admitted(path):
    told(path, [1], [10])
    told(path, [1], ([5], [10]), release="b", after="a")
    told(path, [1], ([7], [5]), release="c", after="b")
    assert kept(path) == {"a": 1, "b": 1, "c": 1}


def test_another_column_or_kind_of_identifiers_is_refused(path):
    told(path, [1], [10])
    with pytest.raises(LedgerError, match="identified by 'id' so far, and now by 'mail'") as refusal:
        told(path, [9], [10], column="mail", table="u")
    assert "--id id" in refusal.value.remedy
    with pytest.raises(LedgerError, match="of kind text so far, and now are of kind uuid"):
        told(path, [9], [10], kind="uuid", table="u")


def test_many_records_in_every_part(path, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", 1000)
    ids = np.random.default_rng(1).permutation(20_000)
    told(path, ids[:15_000], ids[:15_000])
    told(path, ids[5000:], ids[5000:], table="u")
    assert kept(path) == {"a": 20_000}
    words = ids.copy()
    words[[3, 700, 19_000]] += 1
    with refused("changed", 3):
        told(path, ids, words, table="v")
    with refused("twice", 20_000):
        told(path, [*ids, *ids], [*ids, *ids], table="w")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), max_size=12), st.data())
def test_comparing_is_right_also_where_the_first_64_bits_collide(some, data):
    """Tags drawn from so few values that collisions of their parts abound, against plain Python."""
    others = data.draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), max_size=12))

    def tags(listed):
        return np.array([(a, b << 32 | c) for a, b, c in listed], dtype=np.uint64).reshape(-1, 2)

    some.sort(key=lambda tag: tag[0])
    twice = sum(n - 1 for n in Counter(tag[:2] for tag in some).values())
    found = module._repeated(tags(some))
    assert (found.count if found else 0) == twice
    unique = list({tag[:2]: tag for tag in some}.values())
    mine, theirs = module.common(tags(unique), tags(others))
    expected = sorted((i, j) for i, a in enumerate(unique) for j, b in enumerate(others) if a[:2] == b[:2])
    assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == expected


# ---------------------------------------------------------------------- no identifiers, cards


def bare(path, told=(b"rows",), **given):
    with open_ledger(path) as ledger, ledger.disclosing(use(column=None, **given)) as entry:
        entry.add(blocks(pa.array([1])), word([1]))
        entry.settle_rows(*told)
        assert entry.settle() is None


def test_one_table_without_identifiers_as_often_as_one_likes(path):
    bare(path)
    bare(path)
    assert kept(path) == {}


def test_a_table_with_a_row_appended_is_refused_with_the_reason(path):
    bare(path, rows=100)
    with pytest.raises(LedgerError, match="it has 101 rows, that one 100") as refusal:
        bare(path, table="t and a row", rows=101)
    assert "--id" in refusal.value.remedy
    with pytest.raises(LedgerError, match="both have 100 rows"):
        bare(path, table="t with a row changed", rows=100)
    with pytest.raises(LedgerError, match="Another table"):
        bare(path, table="t and a row", rows=101, release="fitted again")


def test_the_same_table_under_another_release_needs_after(path):
    bare(path)
    with pytest.raises(LedgerError, match="under another release") as refusal:
        bare(path, release="b")
    assert "--after" in refusal.value.remedy
    bare(path, (b"pairs", b"rows"), release="b", after="a")
    bare(path)


def test_without_identifiers_a_release_after_another_must_draw_from_its_channel_with_its_key(path, tmp_path):
    """It says in its own file what it comes after; whoever writes that file can say anything."""
    bare(path)
    with pytest.raises(LedgerError, match="another first code"):
        bare(path, (b"pairs", b"other rows"), release="b", after="a")
    with pytest.raises(LedgerError, match="another key"):
        bare(path, (b"pairs", b"rows"), release="b", after="a", key="another")
    bare(path, (b"pairs", b"rows"), release="b", after="a")
    reversed_ = tmp_path / "second first"
    bare(reversed_, (b"pairs", b"rows"), release="b", after="a")
    with pytest.raises(LedgerError, match="another first code"):
        bare(reversed_, (b"other rows",))
    with pytest.raises(LedgerError, match="another key"):
        bare(reversed_, key="another")
    bare(reversed_)


def test_with_identifiers_a_release_after_another_must_have_its_key(path):
    told(path, [1, 2], [10, 20])
    with pytest.raises(LedgerError, match="another key"):
        told(path, [1, 2], ([5, 6], [10, 20]), release="b", after="a", key="another")


def test_an_entry_without_identifiers_whose_rows_were_not_settled_is_not_recorded(path):
    with (
        pytest.raises(RuntimeError),
        open_ledger(path) as ledger,
        ledger.disclosing(use(column=None)) as entry,
    ):
        entry.settle()


def test_identifiers_cannot_be_given_or_left_out_later(path, tmp_path):
    bare(path)
    with pytest.raises(LedgerError, match="without identifiers"):
        told(path, [1], [1])
    other = told(tmp_path / "other", [1], [1])
    with pytest.raises(LedgerError, match="identified by 'id'"):
        bare(other)


def test_the_card_of_a_changed_table_is_refused(path):
    rows = [{"W": a ^ b, "a": a, "b": b} for a in (0, 1) for b in (0, 1) for _ in range(25)]
    release, other, changed = fit(rows), fit(rows, protect=["a"]), fit([*rows, rows[0]])
    with open_ledger(path) as ledger:
        ledger.record_card(release)
        ledger.record_card(release)
        ledger.record_card(other)
        with pytest.raises(LedgerError, match=r"100 records.*this table, with 101 records"):
            ledger.record_card(changed)
        with sqlite3.connect(path) as sql:
            assert sql.execute("SELECT count(*) FROM card").fetchall() == [(2,)]
        sql.close()


# ---------------------------------------------------------------------- the file


def test_the_file_is_for_its_owner_and_holds_no_identifier(path):
    name = "a very telling identifier"
    with open_ledger(path) as ledger, ledger.disclosing(use(kind="text")) as entry:
        entry.add(blocks(pa.array([name, "short"])), word([1, 2]))
        assert stat.S_IMODE(os.stat(f"{path}-journal").st_mode) == 0o600
        entry.settle()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    for text in (name, "short"):
        assert text.encode() not in content
        assert blocks(pa.array([text]))[0].tobytes() not in content


def test_ledgers_have_keys_of_their_own(tmp_path):
    def tags(path):
        with sqlite3.connect(told(path, [1], [10])) as sql:
            found = sql.execute("SELECT tags FROM record").fetchall()
        sql.close()
        return found

    assert tags(tmp_path / "a") != tags(tmp_path / "b")


def test_an_entry_that_was_not_settled_or_failed_is_not_recorded(path):
    with (
        pytest.raises(RuntimeError, match="not settled"),
        open_ledger(path) as ledger,
        ledger.disclosing(use()) as entry,
    ):
        entry.add(blocks(pa.array([1])), word([1]))
    with pytest.raises(ValueError), open_ledger(path) as ledger, ledger.disclosing(use()) as entry:
        entry.add(blocks(pa.array([1])), word([1]), word([2]))
    assert kept(path) == {}


def edited(path, *statements):
    """The ledger after somebody, or something, wrote into it."""
    with sqlite3.connect(path) as sql:
        for statement in statements:
            sql.execute(statement)
    sql.close()


def flipped(path, place, bit=0):
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM record WHERE number = 1",
        "DELETE FROM record",
        "DELETE FROM disclosed",
        "DELETE FROM release",
        "INSERT INTO card VALUES (1, 'd', 3)",
        "DELETE FROM about",
        "DELETE FROM seal",
        "DELETE FROM seal WHERE number = 1",
        "DROP TABLE record",
        "UPDATE record SET part = part + 1",
        "UPDATE record SET tags = zeroblob(length(tags))",
        "UPDATE about SET id_column = NULL, id_kind = NULL",
        "UPDATE release SET key_check = 'other'",
        "UPDATE disclosed SET rows = rows + 1",
        "INSERT INTO record VALUES (NULL, 0, 1, zeroblob(16))",
    ],
)
def test_a_ledger_that_was_changed_by_others_is_refused(path, statement):
    """One with rows deleted would admit a second draw for the people in them."""
    told(path, [1, 2, 3], [10, 20, 30])
    told(path, [4], [40], table="u")
    edited(path, statement)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="damaged") as refusal, open_ledger(path):
        pass
    assert "backup" in refusal.value.remedy
    assert "another file" not in refusal.value.remedy
    assert path.read_bytes() == before


def test_a_flipped_bit_of_the_key_is_noticed(path):
    """Under another key every identifier has another tag: all people would be new."""
    told(path, [1, 2, 3], [10, 20, 30])
    with sqlite3.connect(path) as sql:
        [(key,)] = sql.execute("SELECT key FROM about").fetchall()
    sql.close()
    flipped(path, path.read_bytes().index(key) + 7, 3)
    with pytest.raises(LedgerError, match="damaged"):
        told(path, [1, 2, 3], [11, 21, 31], table="u")


def test_a_flipped_bit_anywhere_is_noticed_or_loses_nothing(path):
    """Free space inside SQLite's pages may hold anything; what was recorded may not change."""
    whole = bytes(told(path, [1, 2, 3], [10, 20, 30]).read_bytes())
    draw = random.Random(6)
    used = [place for place, byte in enumerate(whole) if byte]
    noticed = 0
    for place in draw.sample(used, 40):
        path.write_bytes(whole)
        flipped(path, place, draw.randrange(8))
        try:
            with open_ledger(path):
                assert kept(path) == {"a": 3}
        except LedgerError:
            noticed += 1
    assert noticed > 10


def test_a_flipped_bit_of_an_index_is_noticed_or_everybody_is_still_known(path):
    """Rows are sealed; what leads to them must be in order too, or people would be looked for in vain."""
    whole = bytes(told(path, list(range(200)), [1] * 200).read_bytes())
    with sqlite3.connect(path) as sql:
        [(page,)] = sql.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'record_part'")
    begin = (page - 1) * ledger_file.PAGE
    draw = random.Random(7)
    used = [place for place in range(begin + ledger_file.PAGE // 2, begin + ledger_file.PAGE) if whole[place]]
    noticed = 0
    for place in draw.sample(used, 20):
        path.write_bytes(whole)
        flipped(path, place, draw.randrange(8))
        try:
            with refused("elsewhere", 200, "a"):
                told(path, list(range(200)), [1] * 200, release="b")
        except LedgerError:
            noticed += 1
    assert noticed > 10


@pytest.mark.parametrize("statement", ["PRAGMA user_version = 2", "DELETE FROM seal"])
def test_damage_to_what_says_how_to_read_a_ledger_is_called_damage(path, statement):
    edited(told(path, [1], [10]), statement)
    with pytest.raises(LedgerError, match=r"damaged.*backup"), open_ledger(path):
        pass


@pytest.mark.parametrize("size", [0, 1, 15, 16, 99, 100, 5000, 16384, 40000])
def test_a_ledger_cut_short_is_refused_and_left_as_it_is(path, size):
    told(path, [1, 2, 3], [10, 20, 30])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(LedgerError) as refusal:
        told(path, [1, 2, 3], [11, 21, 31], table="u")
    assert "backup" in refusal.value.remedy
    assert path.stat().st_size == size


def test_an_old_copy_is_refused(path, tmp_path):
    told(path, [1], [10])
    backup = path.read_bytes()
    told(path, [2], [20], table="u")
    newest = path.read_bytes()
    path.write_bytes(backup)
    with pytest.raises(LedgerError, match=r"old copy of a ledger: it has 1 entry.* had 2"):
        told(path, [2], [21], table="v", release="b")
    path.write_bytes(newest)
    told(path, [1, 2], [10, 20], table="w")


def test_a_copy_that_went_its_own_way_is_refused(path, tmp_path, monkeypatch):
    """Two copies of one ledger know different people: what one told, the other would tell again."""
    told(path, [1], [10])
    (tmp_path / "copy").write_bytes(path.read_bytes())
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
        told(tmp_path / "copy", [3], [30], table="u")
        told(tmp_path / "copy", [4], [40], table="v")
    told(path, [2], [20], table="u")
    with pytest.raises(LedgerError, match="went its own way"):
        told(tmp_path / "copy", [2], [21], table="w", release="b")


def test_ledgers_that_changed_places_say_so_until_something_is_recorded_in_both(path, tmp_path):
    other = told(tmp_path / "other.ledger", [7], [70])
    aside = told(path, [1], [10]).rename(tmp_path / "aside")
    other.rename(path)
    aside.rename(other)
    for _ in range(2):
        with open_ledger(path) as ledger:
            assert f"last used at {other}" in ledger.remarks[0]
            assert "Another ledger was at" in ledger.remarks[1]
    told(path, [8], [80], table="u")
    with open_ledger(path) as ledger:
        [remark] = ledger.remarks
        assert "Another ledger was at" in remark
    told(other, [2], [20], table="v")
    with open_ledger(path) as ledger:
        assert ledger.remarks == ()


def test_a_ledger_that_was_moved_to_a_free_place_says_nothing(path, tmp_path):
    told(path, [1], [10]).rename(tmp_path / "moved.ledger")
    with open_ledger(tmp_path / "moved.ledger") as ledger:
        assert ledger.remarks == ()


def test_a_new_ledger_says_so_until_something_is_recorded(path):
    with open_ledger(path) as ledger:
        assert ledger.new
        assert f"A NEW ledger was started at {path}" in ledger.remarks[0]
    with refused("twice", 1):
        told(path, [1, 1], [10, 10])
    with open_ledger(path) as ledger:
        assert ledger.new
    told(path, [1], [10])
    with open_ledger(path) as ledger:
        assert (ledger.new, ledger.remarks) == (False, ())
    path.unlink()
    with open_ledger(path) as ledger:
        assert ledger.remarks[1].startswith(f"Another ledger was at {path} before, with 1 entry: ")


def test_a_ledger_in_the_place_of_another_says_so_for_as_long_as_it_is_there(path):
    """Somebody of the other ledger may come in any table, and would be drawn for again."""
    told(path, [1], [10]).unlink()
    told(path, [2], [20], table="u")
    for person in (3, 4):
        with open_ledger(path) as ledger:
            [remark] = ledger.remarks
            assert remark.startswith(f"Another ledger was at {path} before, with 1 entry: ")
        told(path, [person], [30], table=f"t{person}")
    path.unlink()
    with open_ledger(path) as ledger:
        assert ledger.remarks[1].startswith(f"2 other ledgers were at {path} before, with 4 entries: ")


def failing(path, meanwhile):
    """Something that fails after it opened a ledger, and after something else happened."""
    with open_ledger(path):
        meanwhile()
        raise ZeroDivisionError


def test_a_ledger_that_was_made_for_what_failed_is_taken_away(path):
    with refused("twice", 1):
        told(path, [1, 1], [10, 10])
    assert not path.exists()
    assert not list(mark_of(bytes(32)).parent.iterdir()), "nothing is noted of it"


def test_a_ledger_in_which_another_process_recorded_something_stays(path):
    with pytest.raises(ZeroDivisionError):
        failing(path, lambda: told(path, [1], [10]))
    with refused("changed", 1):
        told(path, [1], [11], table="u")


def test_nothing_is_recorded_in_a_ledger_that_was_taken_away(path):
    with ExitStack() as late:
        opened = []
        with pytest.raises(ZeroDivisionError):
            failing(path, lambda: opened.append(late.enter_context(open_ledger(path))))
        assert not path.exists()
        with pytest.raises(LedgerError, match="cannot be written"), opened[0].disclosing(use()) as entry:
            entry.settle()


def test_where_nothing_can_be_noted_this_is_said_and_the_ledger_works(path, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    told(path, [1], [10])
    with open_ledger(path) as ledger:
        assert ["would not be noticed" in remark for remark in ledger.remarks] == [True]


def test_a_new_ledger_is_there_whole_or_not_at_all(path, monkeypatch):
    """Killed while one is made, the name is free: an empty file under it is never the beginning of a ledger."""
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file.os, "link", lambda *names: [][0])
        with pytest.raises(IndexError), open_ledger(path):
            pass
    assert not path.exists()
    told(path, [1], [10])


FROZEN = Path(__file__).parent / "frozen" / "v1"


def test_a_ledger_of_the_version_before_is_upgraded_and_says_once_what_is_not_known(path):
    shutil.copy(FROZEN / "choral.ledger", path)
    with open_ledger(path) as ledger:
        assert not ledger.new
        [remark] = ledger.remarks
        assert "Whether it lost anything before cannot be known" in remark
    with sqlite3.connect(path) as sql:
        [(column,)] = sql.execute("SELECT id_column FROM about").fetchall()
    sql.close()
    told(path, [10**6], [1], column=column, table="u")
    with open_ledger(path) as ledger:
        assert not ledger.remarks
    edited(path, "DELETE FROM record WHERE number = 1")
    with pytest.raises(LedgerError, match="damaged"), open_ledger(path):
        pass


def test_an_upgraded_ledger_knows_people_by_the_spelling_in_which_it_knew_them(path, monkeypatch):
    """The version before kept no normal forms: a spelling that is not one is looked for as it is, too."""

    def spelt(text, record, table, normal=True):
        blocks_ = blocks(pa.array([text]))
        with open_ledger(path) as ledger, ledger.disclosing(use(table=table)) as entry:
            entry.add(blocks_, word([record]), normal=normal_blocks(pa.array([text]), blocks_) if normal else None)
            conflict = entry.settle()
            if conflict:
                raise RefusedError(conflict)

    spelt(" 7", 10, "t", normal=False)
    added = [f"DROP TABLE {table}" for table in ("looked", "member", "people", "seal")]
    edited(path, *added, "PRAGMA user_version = 2", "UPDATE about SET version = 2")
    monkeypatch.setenv("XDG_STATE_HOME", str(path.parent / "nothing is noted of it"))
    with refused("changed", 1):
        spelt(" 7", 11, "u")
    spelt(" 7", 10, "v")
    with refused("changed", 1):
        spelt("7", 10, "w")


@pytest.mark.parametrize("damage", ["DELETE FROM about", "UPDATE about SET key = x'00'", "DROP TABLE record"])
def test_a_ledger_of_the_version_before_that_cannot_be_used_is_refused(path, damage):
    shutil.copy(FROZEN / "choral.ledger", path)
    edited(path, damage)
    with pytest.raises(LedgerError), open_ledger(path):
        pass


class OneLedger(RuleBasedStateMachine):
    """Disclosures, refusals, reopening and damage in any order, beside a plain dictionary of what was told."""

    def __init__(self):
        super().__init__()
        self.path = Path(tempfile.mkdtemp()) / "l"
        self.known = {}
        self.count = 0

    @rule(ids=st.lists(st.integers(0, 9), max_size=5, unique=True), shift=st.integers(0, 1))
    def disclose(self, ids, shift):
        self.count += 1
        wrong = [i for i in ids if self.known.get(i, shift) != shift]
        with refused("changed", len(wrong)) if wrong else nullcontext():
            told(self.path, ids, [i * 2 + shift for i in ids], table=str(self.count))
            self.known |= dict.fromkeys(ids, shift)

    @rule(table=st.sampled_from(["record", "disclosed", "release"]))
    def damage(self, table):
        if not self.known:
            return
        whole = self.path.read_bytes()
        edited(self.path, f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})")
        with pytest.raises(LedgerError, match="damaged"), open_ledger(self.path):
            pass
        self.path.write_bytes(whole)

    @invariant()
    def knows_as_many_as_were_told(self):
        if self.known:
            assert kept(self.path) == {"a": len(self.known)}


OneLedger.TestCase.settings = settings(max_examples=6, stateful_step_count=6)
TestOneLedger = OneLedger.TestCase


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be taken for one" * 20, b"SQLite format 3\0" + bytes(90)]
)
def test_what_is_no_ledger_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="no ledger"), open_ledger(path):
        pass
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(path):
    with sqlite3.connect(path) as sql:
        sql.execute("CREATE TABLE mine (a)")
    sql.close()
    with pytest.raises(LedgerError, match="no ledger"), open_ledger(path):
        pass


def test_a_ledger_in_no_folder_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened"), open_ledger(tmp_path / "no" / "ledger"):
        pass


def test_a_full_disk_is_told_and_leaves_the_ledger_as_it_was(path, monkeypatch):
    told(path, [1], [10])
    connect = sqlite3.connect

    def small(*given, **more):
        sql = connect(*given, **more)
        sql.execute("PRAGMA max_page_count = 12")
        return sql

    many = np.arange(10**5)
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file.sqlite3, "connect", small)
        with pytest.raises(LedgerError, match="full"):
            told(path, many, many, table="u")
    assert kept(path) == {"a": 1}


def test_a_second_process_waits_and_is_told(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.1)
    with open_ledger(path) as ledger, ledger.disclosing(use()) as entry:
        entry.add(blocks(pa.array([1])), word([1]))
        with pytest.raises(LedgerError, match="in use by another process"):
            told(path, [2], [2])
        entry.settle()
    assert kept(path) == {"a": 1}


def test_killed_in_the_middle_nothing_is_recorded(path):
    """SIGKILL after half a million records were written: the ledger is as before and works."""
    told(path, [1], [10])
    program = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        import numpy as np, pyarrow as pa
        from choral.ledger import entry as ledger_entry
        from choral.ledger.identity import blocks
        from choral.ledger.book import Use, open_ledger
        ledger_entry.AT_ONCE = 1000
        with open_ledger(Path({str(path)!r})) as ledger:
            with ledger.disclosing(Use("a", "u", 2, None, "id", "text", key_check="k")) as entry:
                entry.add(blocks(pa.array(np.arange(500_000))), np.zeros(500_000, dtype=np.uint64))
                print("written", flush=True)
                time.sleep(60)
    """)
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert path.stat().st_size > 10**6
    told(path, [1], [10])
    assert kept(path) == {"a": 1}
    assert path.stat().st_size < 10**6


def test_what_a_killed_start_left_behind_is_taken_away(tmp_path):
    book = tmp_path / "choral.ledger"
    hidden = tmp_path / ".choral.ledger.new"
    hidden.write_bytes(b"half of a ledger")
    with open_ledger(book):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["choral.ledger"]


@pytest.mark.parametrize("moved", [False, True])
def test_a_ledger_whose_maker_was_killed_before_the_hidden_name_was_gone_is_never_written_over(tmp_path, moved):
    """The hidden name is a second one of the ledger: a ledger that was moved away was emptied when another one was made."""
    book, hidden, away = tmp_path / "choral.ledger", tmp_path / ".choral.ledger.new", tmp_path / "backup"
    told(book, [1, 2], [10, 20])
    os.link(book, hidden)
    if moved:
        book.rename(away)
        before = away.read_bytes()
        told(book, [3], [30])
        assert away.read_bytes() == before
    else:
        with open_ledger(book):
            pass
        assert kept(book) == {"a": 2}
    assert not hidden.exists()
