"""The order of what is written tells nothing: the attack by windows, run on the files that are given out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from choral.auditing.audit import audit
from choral.auditing.serial import neighbours, windows
from choral.draw import arrange
from choral.draw.engine import disclose_table
from choral.errors import ChoralError, ColumnError, ProblemError, ReleaseFileError
from choral.ledger.identity import positions, subkey
from choral.release.fit import fit
from choral.show.cli import app
from choral.tables.source import connect

KEY, SALT = bytes(range(32)), bytes(range(16))
WINDOW = 25
STATES = [(0, 0), (0, 1), (1, 0), (1, 1)]
COUNTS = np.array([4000, 1000, 2000, 3000])


def sorted_people():
    """10 000 rows sorted by X1, then X2, with W = X1 xor X2, and identifiers that were given at random."""
    x1, x2 = (np.repeat([state[i] for state in STATES], COUNTS) for i in (0, 1))
    who = np.random.default_rng(8).permutation(100_000)[: len(x1)]
    return pa.table({"who": who, "X1": x1, "X2": x2, "W": x1 ^ x2})


@pytest.fixture(scope="module")
def table():
    return sorted_people()


@pytest.fixture(scope="module")
def release(table):
    return replace(fit(table, "W", ["X1", "X2"], ["X1", "X2"]), key=KEY, salt=SALT)


def written(release, source, folder, name="codes.parquet", **options):
    disclose_table(release, source, folder / name, folder / options.pop("ledger", "ledger"), **options)
    return parquet.read_table(folder / name) if name.endswith("parquet") else pa.csv.read_csv(folder / name)


def guessed(release, codes):
    """The likeliest state of each line, for someone who has law and channel and takes 51 lines for records of one state."""
    rows = [release.disclosure.channel_of(dict(zip(("X1", "X2"), state, strict=True))) for state in STATES]
    logs = np.log(np.maximum(np.array(rows, dtype=float), 1e-9))[:, np.asarray(codes)]
    sums = np.cumsum(np.pad(logs, [(0, 0), (1, 0)]), axis=1)
    lines = np.arange(len(codes))
    last, first = np.minimum(lines + WINDOW + 1, len(codes)), np.maximum(lines - WINDOW, 0)
    best = (sums[:, last] - sums[:, first] + np.log(COUNTS / COUNTS.sum())[:, None]).argmax(axis=0)
    return np.array(STATES)[best]


def right(release, table, found, by=None):
    """How often X1 and X2 of a line's record are guessed; without identifiers the n-th line is taken for the n-th row."""
    if by is not None:
        found = found.sort_by(by)
        place = {who: i for i, who in enumerate(table[by].to_pylist())}
        table = table.take([place[who] for who in found[by].to_pylist()])
    elif "who" in found.column_names:
        place = {who: i for i, who in enumerate(table["who"].to_pylist())}
        table = table.take([place[who] for who in found["who"].to_pylist()])
    guesses = guessed(release, found["code"].to_numpy())
    return [float((guesses[:, i] == table[name].to_numpy()).mean()) for i, name in enumerate(("X1", "X2"))]


# By chance X1 is guessed for half of the records, X2 for at most 60 %. 10 000 records have about 200 windows that do not
# overlap, so 0.1 more are about three standard deviations; key and salt are fixed, and so are the draws.


@pytest.mark.parametrize("name", ["codes.parquet", "codes.csv"])
@pytest.mark.parametrize("id", [None, "who"])
def test_windows_of_what_is_written_tell_nothing(table, release, tmp_path, name, id):
    found = written(release, table, tmp_path, name, id=id)
    assert found.column_names == [*([id] if id else []), "code"]
    x1, x2 = right(release, table, found)
    assert x1 < 0.6
    assert x2 < 0.7


@pytest.mark.parametrize("name", ["codes.parquet", "codes.csv"])
@pytest.mark.parametrize("id", [None, "who"])
def test_windows_tell_protected_values_where_the_order_of_the_table_was_asked_for(table, release, tmp_path, name, id):
    """This is what the arrangement is for."""
    x1, x2 = right(release, table, written(release, table, tmp_path, name, id=id, arrange="table"))
    assert x1 > 0.9
    assert x2 > 0.9


def test_row_numbers_tell_what_the_order_of_the_table_tells(table, release, tmp_path):
    numbered = table.append_column("row", pa.array(range(1, 10_001)))
    found = written(release, table, tmp_path, with_rows=True)
    assert found.column_names == ["row", "code"]
    assert right(release, numbered, found, by="row")[0] > 0.9
    assert right(release, table, found)[0] < 0.6


def test_identifiers_in_the_order_of_an_attribute_tell_it_to_whoever_sorts_by_them(table, release, tmp_path):
    counted = table.set_column(0, "who", pa.array(range(10_000, 20_000)))
    found = written(release, counted, tmp_path, id="who")
    assert right(release, counted, found)[0] < 0.6
    assert right(release, counted, found, by="who")[0] > 0.9


# ---------------------------------------------------------------------- what is written


@pytest.mark.parametrize("name", ["codes.parquet", "codes.csv"])
@pytest.mark.parametrize("how", ["keyed", "id"])
def test_the_rows_of_the_table_in_another_order_give_the_same_file_byte_for_byte(
    table, release, tmp_path, monkeypatch, name, how
):
    shuffled = table.take(np.random.default_rng(4).permutation(10_000))
    written(release, table, tmp_path, f"1{name}", id="who", arrange=how)
    monkeypatch.setattr("choral.draw.engine.ROWS_AT_ONCE", 2048)
    written(release, shuffled, tmp_path, f"2{name}", id="who", arrange=how)
    assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()


def test_many_rows_in_another_order_give_the_same_file_and_row_groups_of_one_size(
    table, release, tmp_path, monkeypatch
):
    """More than one batch goes in and out; rows without a code, which lie together, change no row group."""
    monkeypatch.setattr(arrange, "ROWS_AT_ONCE", 4096)
    rows = pa.concat_tables([table.slice(0, 6000)] * 2).set_column(
        0, "who", pa.array(np.random.default_rng(5).permutation(12_000))
    )
    gaps = rows.set_column(1, "X1", pa.array([None if i < 3000 else x for i, x in enumerate(rows["X1"].to_pylist())]))
    gappy = fit(gaps, "W", ["X1", "X2"], ["X1", "X2"], missing="drop")
    for i, order in enumerate(
        (np.arange(12_000), np.arange(12_000)[::-1], np.random.default_rng(6).permutation(12_000))
    ):
        written(gappy, gaps.take(order), tmp_path, f"{i}.parquet", id="who")
        file = parquet.ParquetFile(tmp_path / f"{i}.parquet")
        assert [file.metadata.row_group(g).num_rows for g in range(3)] == [4096, 4096, 808]
    files = {(tmp_path / f"{i}.parquet").read_bytes() for i in range(3)}
    assert len(files) == 1


def test_the_keyed_arrangement_is_that_of_the_definition(table, release, tmp_path):
    """By row: AES of the row's block, under a key for this purpose, of this release and this table."""
    parquet.write_table(table, tmp_path / "table.parquet")
    found = written(release, tmp_path / "table.parquet", tmp_path, with_rows=True)["row"].to_pylist()
    digest = hashlib.sha256((tmp_path / "table.parquet").read_bytes()).digest()
    key = subkey(KEY, "order", bytes.fromhex(release.digest) + digest)
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    blocks = [bytes(block) for block in positions(0, 10_000)]
    place = [Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(block) for block in blocks]
    assert found == [i + 1 for i in sorted(range(10_000), key=place.__getitem__)]


@pytest.mark.parametrize("id", [None, "who"])
def test_codes_and_ledger_are_the_same_in_every_arrangement(table, release, tmp_path, id):
    """One ledger admits all of them, in turn, as the same disclosure."""
    found = {}
    for how in ("table", "keyed", *(["id"] if id else [])):
        rows = written(release, table, tmp_path, f"{how}.parquet", id=id, arrange=how, with_rows=True)
        found[how] = dict(zip(rows["row"].to_pylist(), rows["code"].to_pylist(), strict=True))
        assert rows.column_names == [*([id] if id else []), "row", "code"]
        if how == "id":
            assert rows["who"].to_pylist() == sorted(rows["who"].to_pylist())
    assert all(codes == found["table"] for codes in found.values())


def test_an_identifier_that_stands_in_a_list_is_written_without_the_list(table, release, tmp_path):
    """The list has the people in the order of the table, and those who get no code."""
    names = pa.array([f"p{i}" for i in table["who"].to_pylist()]).dictionary_encode()
    written(release, table.set_column(0, "who", names), tmp_path, id="who")
    assert pa.types.is_string(parquet.read_schema(tmp_path / "codes.parquet").field("who").type)


def test_arrangements_that_cannot_be_are_refused_before_anything_is_read(table, release, tmp_path):
    with pytest.raises(ColumnError, match="no identifiers to arrange codes by"):
        written(release, table, tmp_path, arrange="id")
    with pytest.raises(ProblemError, match=r"no arrangement 'keyd'\. Did you mean 'keyed'"):
        written(release, table, tmp_path, arrange="keyd")
    assert list(tmp_path.iterdir()) == []


def test_identifiers_that_cannot_be_sorted_leave_nothing_behind(table, release, tmp_path, monkeypatch):
    def tight():
        connection = connect()
        connection.execute("SET memory_limit = '1KB'")
        return connection

    monkeypatch.setattr(arrange, "connect", tight)
    with pytest.raises(ChoralError, match="cannot be sorted"):
        written(release, table, tmp_path, id="who", arrange="id")
    assert [path.name for path in tmp_path.iterdir()] == []


@pytest.mark.parametrize("at_once", [1, 7, 4096])
@pytest.mark.parametrize("how", arrange.ARRANGEMENTS)
def test_what_is_sorted_in_shares_comes_whole_and_in_order(tmp_path, monkeypatch, at_once, how):
    """Shares of one row and of thousands; nothing in memory holds more than a share."""
    monkeypatch.setattr(arrange, "ROWS_AT_ONCE", at_once)
    n = 5000
    who = np.random.default_rng(7).permutation(n)
    with arrange.Sorter(tmp_path / "sorting", how, ["high", "code"], n) as sorter:
        for start in range(0, n, 700):
            part = pa.array(who[start : start + 700])
            sorter.add([part, part], arrange.places(KEY, positions(start, len(part))))
        shares = len(list((tmp_path / "sorting").glob("share-*")))
        batches = list(sorter.batches())
    assert shares == ({1: 256, 7: 256, 4096: 2}[at_once] if how == "keyed" else 1)
    assert {batch.num_rows for batch in batches[:-1]} <= {at_once}
    found = pa.Table.from_batches(batches)
    assert found["high"].equals(found["code"])
    order = {"keyed": arrange.keyed_order(KEY, positions(0, n)), "id": np.argsort(who), "table": np.arange(n)}[how]
    assert found["code"].to_pylist() == who[order].tolist()
    assert not (tmp_path / "sorting").exists()


# ---------------------------------------------------------------------- the audit


def failed(found):
    """The orders in which codes fail a test; they fail no other test of what is promised."""
    tests = found.output.tests
    assert not [test for test in tests if test.order is None and test.protected and test.adjusted < 0.01]
    return {test.order for test in tests if test.protected and test.adjusted < 0.01}


@pytest.fixture(scope="module")
def few(table):
    """As sorted, with fewer people, and a release of them."""
    rows = table.take(np.arange(0, 10_000, 10))
    return rows, replace(fit(rows, "W", ["X1", "X2"], ["X1", "X2"]), key=KEY, salt=SALT)


def test_codes_alone_are_audited_with_the_key(few, tmp_path):
    """The audit finds which row each line is of, in both arrangements; what is sorted fails, and nothing else."""
    rows, release = few
    parquet.write_table(rows, tmp_path / "t.parquet")
    source = tmp_path / "t.parquet"
    for how in ("keyed", "table"):
        written(release, source, tmp_path, f"{how}.csv", arrange=how)
        alone = audit(release, source, tmp_path / f"{how}.csv", seed=1)
        assert failed(alone) == ({""} if how == "table" else set())
    written(release, source, tmp_path, "rows.parquet", with_rows=True)
    numbered = audit(release, source, tmp_path / "rows.parquet", seed=1)
    assert failed(numbered) == {"row"}
    same, others = ([t.statistic for t in one.output.tests if t.order is None] for one in (alone, numbered))
    assert same == others, "each line was joined with its row"
    with pytest.raises(ReleaseFileError, match="key="):
        audit(replace(release, key=None), source, tmp_path / "keyed.csv")


@pytest.mark.parametrize("mark", ["", "p"])
def test_identifiers_in_the_order_of_an_attribute_fail_however_the_file_is_arranged(few, tmp_path, mark):
    """Also where they are texts in which numbers grow: p99, p100."""
    rows, release = few
    counted = rows.set_column(0, "who", pa.array([f"{mark}{i}" for i in range(90, 1090)]))
    at_random = rows.set_column(0, "who", pa.array([f"{mark}{who}" for who in rows["who"].to_pylist()]))
    written(release, at_random, tmp_path, "1.csv", id="who")
    written(release, counted, tmp_path, "2.csv", id="who", ledger="other")
    assert failed(audit(release, at_random, tmp_path / "1.csv", seed=1)) == set()
    found = audit(release, counted, tmp_path / "2.csv", seed=1)
    assert failed(found) == {"who"}
    assert "identifiers were given in an order" in found.summary


def test_the_command_finds_a_sorted_table_and_says_what_to_do(few, tmp_path):
    rows, release = few
    parquet.write_table(rows, tmp_path / "t.parquet")
    release.save(tmp_path / "r.choral", tmp_path / "key")
    written(release, tmp_path / "t.parquet", tmp_path, "codes.csv", arrange="table")
    given = ["r.choral", "--key", "key", "--table", "t.parquet", "--disclosed", "codes.csv"]
    ended = CliRunner().invoke(app, ["audit", *(w if w.startswith("-") else str(tmp_path / w) for w in given)])
    assert ended.exit_code == 1
    assert "disclose without --arrange and --with-rows" in " ".join(ended.output.split())


@pytest.mark.parametrize("n", [30, 1000, 8000])
@pytest.mark.parametrize("test", [windows, neighbours])
def test_codes_in_random_order_seldom_fail(n, test):
    """200 orders (50 where tables are drawn): p is below 0.05 for 10, give or take 3.1; the bound is five times that."""
    draws = np.random.default_rng(n)
    codes = np.repeat(np.arange(6), np.maximum(1, np.array([50, 25, 20, 3, 1.9, 0.1]) * n / 100).astype(int))
    found = [test(draws.permutation(codes), 6, draws).p_value for _ in range(200 if n > 100 else 50)]
    assert sum(p < 0.05 for p in found) <= 0.05 * len(found) + 5 * (0.0475 * len(found)) ** 0.5


def test_what_stands_together_is_found():
    """Families of three with one code in four the same are found by neighbours; a slow drift by windows."""
    draws = np.random.default_rng(5)
    families = np.where(draws.random(6000) < 0.25, np.repeat(draws.integers(0, 3, 2000), 3), draws.integers(0, 3, 6000))
    assert neighbours(families, 3, draws).p_value < 1e-4
    drift = (draws.random(6000) < np.linspace(0.4, 0.6, 6000)).astype(np.int64)
    assert windows(drift, 2, draws).p_value < 1e-8
    assert neighbours(drift, 2, draws).p_value > 1e-4, "which is why both are asked"


def test_the_command_says_what_an_arrangement_tells(table, release, tmp_path):
    release.save(tmp_path / "r.choral")
    parquet.write_table(table, tmp_path / "t.parquet")

    def run(*words):
        given = [tmp_path / "r.choral", tmp_path / "t.parquet", "-o", tmp_path / "codes.csv", "--force", *words]
        return CliRunner().invoke(app, ["disclose", *map(str, given)])

    assert "the order tells nothing" in run().output
    told = run("--arrange", "table", "--with-rows")
    assert told.output.count("TELL PROTECTED VALUES") == 2
    facts = json.loads(run("--arrange", "table", "--json").output)
    assert (facts["arrange"], facts["with_rows"]) == ("table", False)
    help = CliRunner().invoke(app, ["disclose", "--help"]).output
    assert "--with-rows" in help
    assert "tells protected values" in " ".join(help.replace("│", " ").split())
