"""Tables that are open at once share one DuckDB, and nothing that is in it."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from choral.tables.opening import open_table
from choral.tables.source import connect, session


def _values(source):
    return source.connection.execute(f"SELECT * FROM {source.sql}").fetchall()


def _opened(values):
    with closing((source := open_table({"x": values})).connection):
        return [x for (x,) in _values(source)]


def test_frames_that_are_open_at_once_keep_their_rows():
    one, two = open_table({"x": [1, 2]}), open_table({"x": ["a"]})
    assert _values(one) == [(1,), (2,)]
    assert _values(two) == [("a",)]
    two.connection.close()
    assert _values(one) == [(1,), (2,)]


def test_what_a_session_keeps_is_seen_by_no_other_and_gone_with_it():
    one, two = session(), session()
    one.execute("CREATE TEMP TABLE kept AS SELECT 1 AS x")
    two.execute("CREATE TEMP TABLE kept AS SELECT 2 AS x")
    assert (one.execute("FROM kept").fetchall(), two.execute("FROM kept").fetchall()) == ([(1,)], [(2,)])
    for other in (session(), connect()):
        with pytest.raises(duckdb.CatalogException, match="kept"):
            other.execute("FROM kept")
    one.close()
    with pytest.raises(duckdb.CatalogException, match="kept"):
        session().execute("FROM kept")


def test_what_is_set_or_attached_for_one_stays_there(tmp_path):
    alone = connect()
    alone.execute("SET threads = 1")
    alone.execute(f"ATTACH '{tmp_path / 'base.duckdb'}' AS base")
    assert "base" not in {
        name for (name,) in session().execute("SELECT database_name FROM duckdb_databases()").fetchall()
    }
    before = session().execute("SELECT current_setting('threads')").fetchall()
    alone.execute("SET threads = 3")
    assert session().execute("SELECT current_setting('threads')").fetchall() == before


def test_a_database_can_be_written_once_its_table_is_closed(tmp_path):
    path = str(tmp_path / "base.duckdb")
    with duckdb.connect(path) as base:
        base.execute("CREATE TABLE t AS SELECT 1 AS x")
    one, two = open_table(f"{path}::t"), open_table(f"{path}::t")
    assert _values(one) == _values(two) == [(1,)]
    one.connection.close()
    two.connection.close()
    with duckdb.connect(path) as base:
        base.execute("INSERT INTO t VALUES (2)")
    assert _values(open_table(f"{path}::t")) == [(1,), (2,)]


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    """Even if its size and its time are the same."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1] * 50}), path)
    size, time = path.stat().st_size, path.stat().st_mtime_ns
    assert set(_values(open_table(path))) == {(1,)}
    pq.write_table(pa.table({"x": [2] * 50}), path)
    os.utime(path, ns=(time, time))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (size, time)
    assert set(_values(open_table(path))) == {(2,)}


def test_points_in_time_are_those_of_greenwich_in_every_session():
    session().execute("SET TimeZone = 'Asia/Tokyo'")
    [(text,)] = session().execute("SELECT CAST(TIMESTAMPTZ '2020-01-01 12:00:00+00' AS VARCHAR)").fetchall()
    assert text.startswith("2020-01-01 12:00:00")


def test_threads_open_tables_beside_each_other():
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(_opened, [[k] * 3 for k in range(40)]))
    assert found == [[k] * 3 for k in range(40)]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_process_that_was_forked_starts_a_duckdb_of_its_own():
    """The threads of its parent's are not in it: it would wait for them for ever."""
    assert _opened([1]) == [1]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_opened, ([7, 8],)).get(timeout=60) == [7, 8]
