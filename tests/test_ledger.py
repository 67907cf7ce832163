"""The ledger refuses what would tell about a record twice, keeps what it promised, and survives being killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from choral.errors import LedgerError
from choral.release import ledger as module
from choral.release.fit import fit
from choral.release.identity import blocks
from choral.release.ledger import Use, open_ledger


class RefusedError(Exception):
    """A conflict, raised so that the entry is undone."""


def use(release="a", table="t", rows=3, after=None, column="id", kind="integer"):
    return Use(release, table, rows, after, column, kind if column else None)


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
    """How many records the ledger keeps, for each release."""
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
    with pytest.raises(LedgerError, match="of kind integer so far, and now are of kind text"):
        told(path, [9], [10], kind="text", table="u")


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
    mine, theirs = module._common(tags(unique), tags(others))
    expected = sorted((i, j) for i, a in enumerate(unique) for j, b in enumerate(others) if a[:2] == b[:2])
    assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == expected


# ---------------------------------------------------------------------- no identifiers, cards


def bare(path, **given):
    with open_ledger(path) as ledger, ledger.disclosing(use(column=None, **given)) as entry:
        entry.add(blocks(pa.array([1])), word([1]))
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
    bare(path, release="b", after="a")
    bare(path)


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
        with pytest.raises(LedgerError, match=r"100 rows.*this one has 101 rows"):
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
        patch.setattr(module.sqlite3, "connect", small)
        with pytest.raises(LedgerError, match="full"):
            told(path, many, many, table="u")
    assert kept(path) == {"a": 1}


def test_a_second_process_waits_and_is_told(path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.1)
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
        from choral.release import ledger as module
        from choral.release.identity import blocks
        module.AT_ONCE = 1000
        with module.open_ledger(Path({str(path)!r})) as ledger:
            with ledger.disclosing(module.Use("a", "u", 2, None, "id", "integer")) as entry:
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
