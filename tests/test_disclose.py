"""`choral disclose` end to end: the codes it says, in order, once per record, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from fractions import Fraction as F
from itertools import accumulate, count

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from pyarrow import csv, parquet
from scipy.stats import chi2
from typer.testing import CliRunner

from choral.draw import engine
from choral.draw.engine import Drawing, disclose_table
from choral.errors import ChoralError, ColumnError, FileInTheWayError, LawError, LedgerError, ReleaseFileError
from choral.exact.certificate import document_to_text, sealed
from choral.ledger.identity import blocks, positions, subkey
from choral.release.file import load_release
from choral.release.fit import fit
from choral.release.second import fit_after
from choral.show.cli import app
from choral.tables.origin import After

KEY = bytes(range(32))
RULES = {"reveal": "income", "protect": ["sex", "race"], "use": ["sex", "race", "schooling"]}


def people(n, seed=1):
    """A table of invented people; incomes depend on schooling, and schooling on sex."""
    draws = np.random.default_rng(seed)
    sex, race = draws.integers(0, 2, n), draws.integers(0, 3, n)
    schooling = np.minimum(draws.integers(0, 4, n) + sex, 3)
    income = (draws.random(n) < 0.1 + 0.2 * schooling).astype(np.int64)
    who = draws.permutation(n) + 1000
    return pa.table(
        {"who": who, "sex": np.array(["f", "m"])[sex], "race": race, "schooling": schooling, "income": income}
    )


@pytest.fixture(scope="module")
def table():
    return people(6000)


@pytest.fixture(scope="module")
def release(table):
    return replace(fit(table, **RULES), key=KEY)


@pytest.fixture
def folder(tmp_path, table, release):
    parquet.write_table(table, tmp_path / "table.parquet")
    csv.write_csv(table, tmp_path / "table.csv")
    release.save(tmp_path / "release.choral")
    return tmp_path


def told(release, source, folder, name="codes.parquet", **options):
    """What is written, in the order of the table unless told, and with row numbers where there are no identifiers."""
    options = {"arrange": "table", "with_rows": options.get("id") is None, **options}
    disclose_table(release, source, folder / name, folder / options.pop("ledger", "ledger"), **options)
    return parquet.read_table(folder / name) if name.endswith("parquet") else csv.read_csv(folder / name)


def by_hand(release, record, block, context=b""):
    """The code of a record by the definition: the binary digits that AES gives, and the row's Fractions."""
    key = subkey(release.key, "draw", bytes.fromhex(release.digest) + context)
    denominator, entries = release.disclosure.exact_channel.rows[release.recipe.state_of(record)]
    cuts = list(accumulate(F(n, denominator) for _, n in entries))
    digits = b""
    for level in count():
        cipher = Cipher(algorithms.AES(subkey(key, "level", str(level).encode())), modes.ECB()).encryptor()
        digits += cipher.update(block)
        low = F(int.from_bytes(digits, "big"), 256 ** len(digits))
        places = {sum(cut <= low for cut in cuts), sum(cut < low + F(1, 256 ** len(digits)) for cut in cuts)}
        if len(places) == 1:
            break
    return entries[places.pop()][0]


# ---------------------------------------------------------------------- the codes


def test_codes_are_those_of_the_definition_in_the_order_of_the_table(table, release, tmp_path):
    found = told(release, table, tmp_path, id="who")
    assert found.column_names == ["who", "code"]
    assert found["who"].equals(table["who"])
    for record, code in list(zip(table.to_pylist(), found["code"].to_pylist(), strict=True))[:300]:
        block = str(record["who"]).encode().ljust(14, b"\0") + bytes([4, 2])
        assert by_hand(release, record, block) == code


def test_codes_without_identifiers_belong_to_table_and_row(folder, release, table):
    path = folder / "table.parquet"
    found = told(release, path, folder)
    assert found["row"].to_pylist() == list(range(1, table.num_rows + 1))
    context = hashlib.sha256(path.read_bytes()).digest()
    for i, (record, code) in enumerate(zip(table.slice(0, 300).to_pylist(), found["code"].to_pylist(), strict=False)):
        assert by_hand(release, record, i.to_bytes(15, "little") + b"\x04", context) == code


def test_every_engine_format_order_and_batch_gives_a_record_the_same_code(folder, release, table, monkeypatch):
    first = told(release, folder / "table.parquet", folder, "1.parquet", id="who")
    expected = dict(zip(first["who"].to_pylist(), first["code"].to_pylist(), strict=True))
    shuffled = table.take(np.random.default_rng(2).permutation(table.num_rows))
    narrow = shuffled.set_column(0, "who", shuffled["who"].cast(pa.uint16()))
    duckdb.connect(folder / "people.duckdb").execute("CREATE TABLE people AS FROM shuffled").close()
    monkeypatch.setattr(engine, "ROWS_AT_ONCE", 1000)
    sources = [folder / "table.csv", shuffled.to_pandas(), pl.from_arrow(shuffled), narrow, table.slice(17, 1)]
    for i, source in enumerate([*sources, f"{folder / 'people.duckdb'}::people"]):
        for ending in ("parquet", "csv"):
            found = told(release, source, folder, f"again{i}.{ending}", id="who")
            assert [expected[int(who)] for who in found["who"].to_pylist()] == found["code"].to_pylist()


def test_workers_elsewhere_draw_the_same(release, table, tmp_path):
    """What an engine sends to its workers survives the way there, and needs blocks and states alone."""
    expected = told(release, table, tmp_path, id="who")["code"]
    drawing = pickle.loads(pickle.dumps(Drawing.of(release, None)))
    states = np.array([release.recipe.state_of(record) for record in table.to_pylist()])
    assert (drawing.codes(states, blocks(table["who"])) == expected.to_numpy()).all()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_rows_keep_their_order_and_numbers_when_several_threads_read(release, table, tmp_path, ending):
    """Hundreds of row groups, or megabytes of CSV."""
    many = pa.concat_tables([table] * 40)
    many = many.set_column(0, "who", pa.array(np.random.default_rng(3).permutation(240_000)))
    path = tmp_path / f"many.{ending}"
    if ending == "csv":
        csv.write_csv(many, path)
    else:
        parquet.write_table(many, path, row_group_size=700)
    assert told(release, path, tmp_path, id="who")["who"].cast(pa.int64()).equals(many["who"])
    found = told(release, path, tmp_path, "by_row.parquet", ledger="apart")
    states = np.array([release.recipe.state_of(record) for record in table.to_pylist()] * 40)
    drawing = Drawing.of(release, hashlib.sha256(path.read_bytes()).hexdigest())
    assert (drawing.codes(states, positions(0, 240_000)) == found["code"].to_numpy()).all()


def test_two_draws_of_one_record_never_differ(release, table, tmp_path):
    """Every record on its own, in halves and at once, in different ledgers: one code for each."""
    whole = told(release, table, tmp_path, id="who")["code"].to_numpy()
    halves = [told(release, table.slice(3000 * i, 3000), tmp_path, f"{i}.csv", id="who")["code"] for i in (0, 1)]
    assert (np.concatenate(halves) == whole).all()
    for i in range(0, 6000, 1500):
        alone = told(release, table.slice(i, 1), tmp_path, f"{i}.parquet", id="who", ledger=f"ledger{i}")
        assert alone["code"].to_pylist() == [whole[i]]


def test_protected_columns_are_independent_of_the_codes_and_the_target_is_not(tmp_path):
    """Chi-square on 60 000 codes, under a fixed key; by chance one of the columns fails for 2 keys in 10⁶."""
    table = people(60_000, seed=4)
    release = replace(fit(table, **RULES), key=KEY)
    codes = told(release, table, tmp_path, id="who")["code"].to_numpy()
    assert min(p_value(table[name], codes) for name in ("sex", "race")) > 1e-6
    assert max(p_value(table[name], codes) for name in ("income", "schooling")) < 1e-30


def p_value(column, codes):
    """Of Pearson's test that a column and the codes are independent."""
    values, codes = (np.unique(part, return_inverse=True)[1] for part in (column.to_numpy(), codes))
    counts = np.zeros((values.max() + 1, codes.max() + 1))
    np.add.at(counts, (values, codes), 1)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), np.prod(np.array(counts.shape) - 1))


def test_a_release_after_another_tells_the_same_first_code_and_both_are_private(tmp_path):
    """The first code in every pair is the one that was told before; chi-square of the pair, by chance 2 in 10⁶."""
    table = people(20_000, seed=6)
    first = replace(fit(table, "income", ["sex"], ["sex", "schooling"], codes=2), key=KEY)
    second = fit_after(first, table, "schooling", ["sex"], ["sex", "schooling"], codes=3)
    for id in (None, "who"):
        before = told(first, table, tmp_path, f"1{id}.parquet", id=id, ledger=f"{id}")["code"].to_pylist()
        pairs = told(second, table, tmp_path, f"2{id}.parquet", id=id, ledger=f"{id}")["code"].to_numpy()
        assert [second.recipe.after.first[pair] for pair in pairs] == before
        assert len(set(pairs.tolist())) > len(set(before))
        assert p_value(table["sex"], pairs) > 1e-6
        assert p_value(table["schooling"], pairs) < 1e-30


def test_a_changed_record_is_refused_under_a_release_after_another(table, release, tmp_path):
    second = fit_after(release, table, "schooling", ["sex", "race"], ["sex", "race", "schooling"], codes=3)
    told(release, table, tmp_path, id="who")
    changed = table.slice(0, 10).to_pylist()
    changed[4]["schooling"] = (changed[4]["schooling"] + 2) % 4
    with pytest.raises(LedgerError, match=r"1 of .* another record"):
        told(second, changed, tmp_path, "2.csv", id="who")
    assert told(second, table.slice(0, 10), tmp_path, "2.csv", id="who").num_rows == 10


# ---------------------------------------------------------------------- what was not seen, or is missing


def with_row(table, **values):
    """The table with one more row like its first, but for these values."""
    first = {**table.slice(0, 1).to_pylist()[0], "who": 99_999, **values}
    return pa.concat_tables([table, pa.Table.from_pylist([first], schema=table.schema)])


def test_what_was_not_seen_is_refused_with_row_and_column_and_without_value(table, release, tmp_path):
    more = with_row(with_row(table, sex="secret"), who=99_998, race=77)
    with pytest.raises(
        ColumnError, match=r"^2 of 6002 rows .* row 6001, column 'sex'\. Nothing was written"
    ) as refusal:
        told(release, more, tmp_path, id="who")
    assert "secret" not in str(refusal.value)
    assert "--unseen code" in refusal.value.remedy
    assert os.listdir(tmp_path) == []
    assert told(release, table, tmp_path, id="who").num_rows == 6000


def test_a_combination_that_was_not_seen_is_named_as_one(tmp_path):
    table = pa.table({"W": [0, 1, 1, 0] * 9, "a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 0] * 9})
    release = fit(table, "W", min_count=1)
    with pytest.raises(ColumnError, match="row 1, where only the combination of a, b is new"):
        told(release, pa.table({"a": [1], "b": [1]}), tmp_path)


def test_what_was_not_seen_gets_a_code_of_its_own_if_the_release_says_so(table, tmp_path):
    release = fit(table, **RULES, unseen="code")
    found = told(release, with_row(table, race=77), tmp_path, id="who")
    assert found["code"].to_pylist()[-1] == release.disclosure.codes
    assert max(found["code"].to_pylist()[:-1]) < release.disclosure.codes
    with pytest.raises(LedgerError, match="with another record"):
        told(release, with_row(table), tmp_path, "again.csv", id="who")


def test_rows_with_missing_values_are_left_out_if_the_release_says_so(table, tmp_path):
    gaps = table.set_column(
        2, "race", pa.array([None if i % 7 == 3 else v for i, v in enumerate(table["race"].to_pylist())])
    )
    release = fit(gaps, **RULES, missing="drop")
    summary = disclose_table(
        release, gaps, tmp_path / "codes.parquet", tmp_path / "ledger", arrange="table", with_rows=True
    )
    expected = [i + 1 for i in range(6000) if i % 7 != 3]
    found = parquet.read_table(tmp_path / "codes.parquet")
    assert found["row"].to_pylist() == expected
    assert (summary.rows, summary.disclosed, summary.dropped) == (6000, len(expected), 6000 - len(expected))


@pytest.mark.parametrize("column", ["income", "race"])
def test_rows_with_a_gap_in_a_column_that_is_not_used_are_left_out_as_at_fit_time(table, tmp_path, column):
    """The law knows nothing of such rows: under it their codes need not be private."""
    gaps = [{**record, column: None} if i % 7 == 3 else record for i, record in enumerate(table.to_pylist())]
    release = fit(gaps, "income", ["sex", "race"], ["sex", "schooling"], missing="drop")
    summary = disclose_table(release, gaps, tmp_path / "codes.parquet", tmp_path / "ledger", with_rows=True)
    expected = [i + 1 for i in range(6000) if i % 7 != 3]
    assert sorted(parquet.read_table(tmp_path / "codes.parquet")["row"].to_pylist()) == expected
    assert summary.disclosed == release.recipe.table_rows == len(expected)
    assert [release.recipe.state_of(record) is None for record in gaps[:14]] == [i % 7 == 3 for i in range(14)]
    without = [{name: value for name, value in record.items() if name != column} for record in gaps[:14]]
    bare = disclose_table(release, without, tmp_path / "bare.csv", tmp_path / "bare ledger")
    assert bare.disclosed == 14, "what a table does not have is no gap"


# ---------------------------------------------------------------------- what is refused


def test_the_ledger_refuses_with_rows(table, release, tmp_path):
    twice = pa.concat_tables([table, table.slice(4321, 1)])
    with pytest.raises(LedgerError, match=r"1 rows .* repeat an identifier in 'who': rows 4322 and 6001"):
        told(release, twice, tmp_path, id="who")
    told(release, table, tmp_path, id="who")
    changed = table.slice(0, 10).to_pylist()
    changed[4]["schooling"] = (changed[4]["schooling"] + 2) % 4
    with pytest.raises(
        LedgerError, match=r"1 of the identifiers in 'who' was disclosed before with another record.* row 5"
    ):
        told(release, changed, tmp_path, "b.csv", id="who")
    other = fit(table, **{**RULES, "protect": ["sex"]})
    with pytest.raises(
        LedgerError, match="6000 of the identifiers in 'who' were disclosed before under another release"
    ) as refusal:
        told(other, table, tmp_path, "b.csv", id="who")
    assert "--after" in refusal.value.remedy
    assert sorted(os.listdir(tmp_path)) == ["codes.parquet", "ledger"]


def test_a_table_with_one_row_appended_is_refused_without_identifiers(table, release, tmp_path):
    told(release, table, tmp_path)
    with pytest.raises(LedgerError, match="it has 6001 rows, that one 6000"):
        told(release, with_row(table), tmp_path, "b.csv")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"schooling": pa.array([str(i % 4) for i in range(6000)])}, ColumnError, "'schooling' .* holds text"),
        ({"sex": None}, ColumnError, "no column 'sex'"),
        ({"who": pa.array([None, *range(5999)])}, ColumnError, "missing, for the first time in row 1"),
        ({"who": pa.array([float(i) for i in range(6000)])}, ColumnError, "cannot identify"),
        ({"who": None}, ColumnError, "'who', which is no column"),
    ],
)
def test_tables_that_do_not_fit_are_refused_and_nothing_is_written(table, release, tmp_path, change, error, message):
    for name, values in change.items():
        at = table.column_names.index(name)
        table = table.remove_column(at) if values is None else table.set_column(at, name, values)
    with pytest.raises(error, match=message):
        told(release, table, tmp_path, id="who")
    assert not (tmp_path / "codes.parquet").exists()


def test_a_csv_field_of_another_type_is_refused_with_its_row(folder, release):
    path = folder / "table.csv"
    lines = path.read_text().splitlines()
    lines[5000] = lines[5000].rsplit(",", 2)[0] + ",many,1"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LawError, match=r"row 5000 of .*'many'"):
        told(release, path, folder)
    assert not (folder / "codes.parquet").exists()


def test_an_identifier_named_like_the_codes_is_refused(table, release, tmp_path):
    with pytest.raises(ColumnError, match="like the column of codes"):
        told(release, table.rename_columns(["Code", *table.column_names[1:]]), tmp_path, id="Code")


def test_a_file_that_changes_while_it_is_read_is_refused(folder, release, table):
    path = folder / "table.parquet"

    def touch(done, rows):
        os.utime(path, ns=(1, 1))

    with pytest.raises(LawError, match="changed while it was read"):
        told(release, path, folder, progress=touch)
    assert not (folder / "codes.parquet").exists()


@pytest.mark.parametrize("name", ["codes.xlsx", "codes", "no/codes.csv", "."])
def test_outputs_that_cannot_be_are_refused(table, release, tmp_path, name):
    with pytest.raises(ReleaseFileError):
        disclose_table(release, table, tmp_path / name, tmp_path / "ledger")
    assert os.listdir(tmp_path) == []


def test_an_existing_output_is_kept_unless_forced(table, release, tmp_path):
    (tmp_path / "codes.csv").write_text("mine")
    with pytest.raises(FileInTheWayError):
        told(release, table, tmp_path, "codes.csv")
    assert (tmp_path / "codes.csv").read_text() == "mine"
    assert told(release, table, tmp_path, "codes.csv", force=True).num_rows == 6000


def test_the_table_itself_is_never_replaced(folder, release):
    before = (folder / "table.parquet").read_bytes()
    with pytest.raises(FileInTheWayError, match="is the table itself"):
        told(release, folder / "table.parquet", folder, "table.parquet", force=True)
    assert (folder / "table.parquet").read_bytes() == before


def test_an_output_that_appears_meanwhile_is_kept(table, release, tmp_path):
    with pytest.raises(FileInTheWayError):
        told(
            release,
            table,
            tmp_path,
            "codes.csv",
            progress=lambda done, rows: (tmp_path / "codes.csv").write_text("mine"),
        )
    assert (tmp_path / "codes.csv").read_text() == "mine"


@pytest.mark.parametrize("name", ["codes.parquet", "codes.csv"])
def test_a_full_disk_is_told_and_leaves_nothing(table, release, tmp_path, monkeypatch, name):
    class Full:
        def __init__(self, writer):
            self.writer = writer

        def write_batch(self, batch):
            raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

        def close(self):
            self.writer.close()

    writer = engine._writer
    with monkeypatch.context() as patch:
        patch.setattr(engine, "_writer", lambda *given: Full(writer(*given)))
        with pytest.raises(ReleaseFileError, match="the disk is full"):
            told(release, table, tmp_path, name, id="who")
    assert os.listdir(tmp_path) == []
    assert told(release, table, tmp_path, name, id="who").num_rows == 6000


def test_two_runs_at_once_do_not_write_the_same_file(table, release, tmp_path):
    def second(done, rows):
        with pytest.raises(FileInTheWayError, match="Another process"):
            told(release, table, tmp_path, ledger="other")

    assert told(release, table, tmp_path, progress=second).num_rows == 6000


def test_without_its_key_a_release_draws_nothing(folder, release):
    with pytest.raises(ReleaseFileError, match="file of its own"):
        told(replace(release, key=None), folder / "table.csv", folder)


# ---------------------------------------------------------------------- killed


POINTS = {
    "while writing": "engine._Run._check_unseen = lambda self: die()",
    "before the ledger commits": "engine.os.fsync = lambda handle: die()",
    "before the file has its name": "engine.put_file_in_place = lambda *given: die()",
    "before the hidden name is gone": "engine.Path.unlink = lambda *given, **more: die()",
}


@pytest.mark.parametrize(
    ("point", "force"),
    [
        ("while writing", True),
        ("before the ledger commits", False),
        ("before the file has its name", True),
        ("before the hidden name is gone", False),
    ],
)
def test_killed_at_any_point_there_is_the_old_file_or_none_and_the_same_command_completes(
    folder, release, point, force
):
    target = folder / "codes.parquet"
    if force:
        target.write_text("old")
    program = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from choral.draw import engine
        from choral.release.file import load_release
        def die(): os.kill(os.getpid(), signal.SIGKILL)
        release = load_release("release.choral")
        {POINTS[point]}
        engine.disclose_table(release, "table.parquet", "codes.parquet", "ledger", "who", force={force})
    """)
    ended = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    whole = told(release, folder / "table.parquet", folder, "whole.parquet", id="who", ledger="apart", arrange="keyed")
    if point == "before the hidden name is gone":
        assert parquet.read_table(target).equals(whole)
    else:
        assert target.read_text() == "old" if force else not target.exists()
    again = disclose_table(release, folder / "table.parquet", target, folder / "ledger", "who", force=target.exists())
    assert again.disclosed == 6000
    assert parquet.read_table(target).equals(whole)
    assert not list(folder.glob(".*"))


def test_the_command_killed_at_random_moments_and_run_again_gives_the_codes_of_a_run_in_peace(folder):
    command = [sys.executable, "-c", "from choral.show.cli import main; main()", "disclose", "release.choral"]
    command += ["table.parquet", "-o", "codes.parquet", "--id", "who", "--json"]
    start = time.monotonic()
    done = subprocess.run([*command, "--ledger", "apart"], cwd=folder, capture_output=True, check=True)
    length = time.monotonic() - start
    assert json.loads(done.stdout)["disclosed"] == 6000
    whole = (folder / "codes.parquet").read_bytes()
    (folder / "codes.parquet").write_text("old")
    moments = random.Random(3)
    for _ in range(4):
        child = subprocess.Popen(
            [*command, "--force"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moments.uniform(0.5, 1) * length)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert (folder / "codes.parquet").read_bytes() in (b"old", whole)
    subprocess.run([*command, "--force"], cwd=folder, capture_output=True, check=True)
    assert (folder / "codes.parquet").read_bytes() == whole
    assert not list(folder.glob(".*"))


# ---------------------------------------------------------------------- the command


def run(*words):
    return CliRunner().invoke(app, ["disclose", *map(str, words)])


def test_the_command_says_what_it_did(folder, release):
    output = folder / "codes.csv"
    ended = run(folder / "release.choral", folder / "table.csv", "-o", output, "--id", "who")
    assert ended.exit_code == 0, ended.output
    new = f"A NEW ledger was started at {folder / 'choral.ledger'}"
    for part in (
        "6000 of 6000 rows",
        "column 'who'",
        "the order tells nothing",
        f"recorded in {folder / 'choral.ledger'}",
        new,
    ):
        assert part in ended.output
    facts = json.loads(
        run(folder / "release.choral", folder / "table.csv", "-o", output, "--id", "who", "--force", "--json").output
    )
    assert facts == {
        "rows": 6000,
        "disclosed": 6000,
        "dropped": 0,
        "unseen": 0,
        "release": release.digest,
        "id": "who",
        "arrange": "keyed",
        "with_rows": False,
        "output": str(output),
        "ledger": str(folder / "choral.ledger"),
        "new_ledger": False,
        "remarks": [],
        "draw": "lots",
        "quota": None,
    }


def test_a_damaged_ledger_never_passes_for_an_empty_one(folder, release, table):
    """A second release would draw for all people again: two codes of one person can reveal a protected value."""
    other = fit(table, **RULES)
    told(release, table, folder, id="who")
    whole = (folder / "ledger").read_bytes()
    for damaged in (b"", whole[:15], whole[:16384]):
        (folder / "ledger").write_bytes(damaged)
        with pytest.raises(LedgerError, match=r"empty|no ledger|damaged") as refusal:
            told(other, table, folder, "second.parquet", id="who")
        assert "backup" in refusal.value.remedy
        assert not (folder / "second.parquet").exists()


def test_the_key_may_live_apart(folder, release):
    release.save(folder / "apart.choral", folder / "key.json")
    ended = run(folder / "apart.choral", folder / "table.csv", "-o", folder / "codes.csv")
    assert isinstance(ended.exception, ReleaseFileError)
    ended = run(folder / "apart.choral", folder / "table.csv", "-o", folder / "codes.csv", "--key", folder / "key.json")
    assert ended.exit_code == 0, ended.output


def test_the_card_of_a_changed_table_is_refused_when_it_is_fitted(folder, table):
    csv.write_csv(with_row(table), folder / "changed.csv")
    asked = [
        "--reveal",
        "income",
        "--protect",
        "sex,race",
        "--use",
        "sex,race,schooling",
        "--card",
        str(folder / "card"),
    ]
    for name in ("table.csv", "changed.csv"):
        ended = CliRunner().invoke(
            app, ["fit", str(folder / name), *asked, "-o", str(folder / f"{name}.choral"), "--force"]
        )
        assert (ended.exception is None) == (name == "table.csv"), ended.output
    assert isinstance(ended.exception, LedgerError)
    assert load_release(folder / "table.csv.choral").recipe.table_rows == 6000
    assert not (folder / "changed.csv.choral").exists()


def test_help_has_an_example():
    ended = run("--help")
    assert ended.exit_code == 0
    assert "choral disclose release.choral" in ended.output


def test_a_second_release_in_the_folder_is_seen(folder, table):
    fit(table, **{**RULES, "protect": ["sex"]}).save(folder / "second.choral")
    assert run(folder / "release.choral", folder / "table.csv", "-o", folder / "1.csv").exit_code == 0
    ended = run(folder / "second.choral", folder / "table.csv", "-o", folder / "2.csv")
    assert isinstance(ended.exception, LedgerError)
    assert "another release" in str(ended.exception)
    assert not (folder / "2.csv").exists()


def test_a_table_as_a_pandas_frame_with_text_identifiers(release, table, tmp_path):
    frame = table.to_pandas().assign(who=[f"person number {i} of this table" for i in range(6000)])
    found = told(release, frame, tmp_path, id="who")
    assert found["who"].to_pylist() == frame["who"].tolist()
    assert isinstance(frame, pd.DataFrame)


UUIDS = [f"{i:08X}-B9CB-4744-B73C-FFB54E6CC68C" for i in range(1, 61)]
DAYS = [f"2001-{1 + i % 12}-{10 + i // 12}" for i in range(60)]
"""Not written as ISO writes them."""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "ids", [UUIDS, DAYS, [f"{i:03}" for i in range(60)], [f"{i}.0" for i in range(60)], [str(i) for i in range(60)]]
)
def test_one_appended_row_of_another_kind_changes_no_draw(release, table, tmp_path, ending, ids):
    """What DuckDB guesses about the whole column must not count: else a person is drawn for twice, which can reveal them."""
    records = [{**record, "who": who} for record, who in zip(table.slice(0, 60).to_pylist(), ids, strict=True)]
    found = []
    for name, listed in (("a", records), ("b", [*records, {**records[0], "who": "walk-in 17"}])):
        path = tmp_path / f"{name}.{ending}"
        if ending == "csv":
            csv.write_csv(pa.Table.from_pylist(listed), path)
        else:
            path.write_text("".join(json.dumps(record) + "\n" for record in listed))
        found.append(told(release, path, tmp_path, f"{name}.parquet", id="who"))
    assert found[0]["who"].to_pylist() == ids
    assert found[1].slice(0, 60).equals(found[0])
    assert told(release, pa.Table.from_pylist(records), tmp_path, id="who").equals(found[0])


def test_numbers_and_their_text_are_one_identifier_and_a_zero_in_front_makes_another(release, table, tmp_path):
    """Numbers in JSON, text in JSON, an Arrow column: one draw, which the ledger admits; "01000" is somebody else."""
    few = table.slice(0, 50).to_pylist()
    (tmp_path / "n.jsonl").write_text("".join(json.dumps(record) + "\n" for record in few))
    (tmp_path / "t.jsonl").write_text("".join(json.dumps({**r, "who": str(r["who"])}) + "\n" for r in few))
    sources = [table.slice(0, 50), tmp_path / "n.jsonl", tmp_path / "t.jsonl"]
    first, *others = [told(release, s, tmp_path, f"{i}.parquet", id="who")["code"] for i, s in enumerate(sources)]
    assert others == [first, first]
    other = [{**record, "who": f"0{record['who']}"} for record in few]
    assert told(release, pa.Table.from_pylist(other), tmp_path, id="who")["code"] != first


@pytest.mark.parametrize(("one", "other"), [("é", "e\u0301"), ("7", " 7"), ("7", "7.0"), ("x", "x\u200b")])
def test_one_person_in_two_spellings_is_not_drawn_for_twice(release, table, tmp_path, one, other):
    """In one table, in a second table under the same ledger, whichever spelling comes first, and under another release."""
    few = table.slice(0, 3)

    def people(*names):
        return few.slice(0, len(names)).set_column(0, "who", pa.array(names))

    with pytest.raises(LedgerError, match="in another spelling") as refusal:
        told(release, people(one, "somebody", other), tmp_path, "both.csv", id="who")
    assert f"{one!a} in row 1 and {other!a} in row 3" in str(refusal.value)
    for first, second in ((one, other), (other, one)):
        book = f"{first!a}.ledger"
        codes = told(release, people(first, "somebody"), tmp_path, f"{book}.parquet", id="who", ledger=book)
        with pytest.raises(LedgerError, match="or in another spelling") as refusal:
            told(release, people(second, "somebody else"), tmp_path, "second.csv", id="who", ledger=book)
        assert f"in row 1, spelt {second!a}" in str(refusal.value)
        with pytest.raises(LedgerError, match=r"1 of the identifiers .* under another release"):
            told(replace(fit(table, **RULES), key=KEY), people(second), tmp_path, "third.csv", id="who", ledger=book)
        again = told(release, people(first, "somebody", "new"), tmp_path, f"{book}2.parquet", id="who", ledger=book)
        assert again["code"].to_pylist()[:2] == codes["code"].to_pylist()


def test_typed_identifiers_and_text_do_not_follow_each_other(release, table, tmp_path):
    """A UUID has one text, which a text column may write in upper case."""
    few = table.slice(0, 60)
    typed = few.set_column(0, "who", pa.array([bytes.fromhex(u.replace("-", "")) for u in UUIDS], pa.uuid()))
    told(release, typed, tmp_path, id="who")
    with pytest.raises(LedgerError, match="kind uuid so far, and now are of kind text"):
        told(release, few.set_column(0, "who", pa.array(UUIDS)), tmp_path, "b.csv", id="who")


def test_an_identifier_named_like_the_row_numbers_is_refused(release, table, tmp_path):
    """Else nobody could say what the column `row` of an output means."""
    with pytest.raises(ColumnError, match="like the column of row numbers"):
        told(release, table.rename_columns({"who": "Row"}), tmp_path, id="Row")


def test_a_release_that_only_says_that_it_comes_after_another_is_refused(folder, release, table):
    """Its certificate and its recipe hold, so it loads; but its first code is not the one that was told."""
    path = folder / "table.csv"
    release = replace(fit(path, **RULES), key=KEY)
    told(release, path, folder, "1.parquet")
    other = fit(path, "schooling", ["sex", "race"], ["sex", "race", "income"])
    after = After(release.digest, (0,) * other.disclosure.codes)
    forged = replace(other, key=KEY, recipe=replace(other.recipe, after=after))
    forged.save(folder / "forged.choral")
    with pytest.raises(LedgerError, match="another first code"):
        told(load_release(folder / "forged.choral"), path, folder, "2.parquet")
    true = fit_after(release, path, "schooling", ["sex", "race"], [*RULES["use"], "income"])
    with pytest.raises(LedgerError, match="another key"):
        told(replace(true, key=bytes(32)), path, folder, "3.parquet")
    pairs = told(true, path, folder, "4.parquet")["code"].to_pylist()
    assert [true.recipe.after.first[pair] for pair in pairs] == told(release, path, folder, "5.csv")["code"].to_pylist()


def test_another_key_in_the_file_or_apart_is_refused(folder, release, table):
    """Every record would be drawn for a second time, and to the ledger it would be the same release."""
    swapped = json.loads((folder / "release.choral").read_text(encoding="utf-8"))
    swapped["key"] = "11" * 32
    (folder / "swapped.choral").write_text(document_to_text(sealed(swapped)), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match="not the key of this release"):
        load_release(folder / "swapped.choral")
    release.save(folder / "apart.choral", folder / "key.json")
    assert load_release(folder / "apart.choral").digest == release.digest
    assert load_release(folder / "apart.choral", folder / "key.json").key == KEY
    key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    (folder / "key.json").write_text(json.dumps({**key, "key": "11" * 32}), encoding="utf-8")
    with pytest.raises(ReleaseFileError, match="not the key of this release"):
        load_release(folder / "apart.choral", folder / "key.json")
    told(release, table, folder, id="who")
    with pytest.raises(LedgerError, match="another release"):
        told(replace(release, key=bytes(32)), table, folder, "2.csv", id="who")


def test_a_release_is_read_back_with_the_same_draws(folder, release, table):
    loaded = load_release(folder / "release.choral")
    one = told(release, table, folder, "1.parquet", id="who", ledger="1")
    assert told(loaded, table, folder, "2.parquet", id="who", ledger="2").equals(one)
    with pytest.raises(ChoralError):
        load_release(folder / "table.csv")
