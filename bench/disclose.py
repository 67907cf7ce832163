"""What sticky, keyed, exact draws cost: ten million rows disclosed, beside DuckDB copying them sorted; the sampler alone.

Times are ratios within one run. Every disclosure and every copy runs in a process of its own, which gives its peak memory.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from choral.draw.sampler import Sampler
from choral.ledger.identity import positions
from choral.problem.solution import ExactChannel

MOST_RATIO = 4
MOST_SORTED = 6
"""Times DuckDB copying the columns sorted by a hash of the identifier."""
MOST_MEMORY = 1000


def make_table(path, rows):
    """Five columns: an identifier, two protected ones, one that is only used, and the target."""
    import pyarrow as pa
    from pyarrow import parquet

    draws = np.random.default_rng(5)
    sex, race = draws.integers(0, 2, rows), draws.integers(0, 4, rows)
    schooling = (draws.integers(0, 5, rows) + sex) % 5
    income = (draws.random(rows) < 0.2 + 0.1 * schooling + 0.1 * sex).astype(np.int64)
    columns = {"id": draws.permutation(rows), "sex": np.array(["f", "m"])[sex], "race": race}
    parquet.write_table(pa.table({**columns, "schooling": schooling, "income": income}), path)


def copied(table, folder):
    """DuckDB writes the same columns again, sorted by a hash."""
    import duckdb

    query = f"SELECT * FROM '{table}' ORDER BY hash(id)"
    duckdb.connect().execute(f"COPY ({query}) TO '{folder}/copy.parquet' (FORMAT parquet)")


def disclosed(table, folder, id):
    """choral discloses the table, in the keyed arrangement."""
    from choral.draw.engine import disclose_table
    from choral.release.file import load_release

    release = load_release(folder / "release.choral")
    disclose_table(release, table, folder / "codes.parquet", folder / "ledger", id)


STEPS = {
    "copy": copied,
    "row numbers": lambda table, folder: disclosed(table, folder, None),
    "identifiers": lambda table, folder: disclosed(table, folder, "id"),
}


def measured(step, table, folder):
    """Seconds and megabytes of one step in a process of its own."""
    for name in ("codes.parquet", "ledger", "copy.parquet"):
        (folder / name).unlink(missing_ok=True)
    command = [sys.executable, __file__, "--step", step, str(table), str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def one_step(step, table, folder):
    """Run a step and print what it took; imports are not counted."""
    for module in ("cryptography.hazmat.primitives.ciphers", "duckdb", "pyarrow.parquet"):
        importlib.import_module(module)
    start = time.perf_counter()
    STEPS[step](table, folder)
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(json.dumps({"seconds": seconds, "megabytes": peak / 1024}))


def channel(states, codes):
    """Rows of random large integers."""
    pick = random.Random(7)
    rows = [[pick.randrange(1, 10**30) for _ in range(codes)] for _ in range(states)]
    return ExactChannel(codes, tuple((sum(row), tuple(enumerate(row))) for row in rows))


def sampler_alone(draws, states, codes, repeats=5):
    """The best of a few times of the sampler, and of numpy indexing plus PCG64 words, one after the other."""
    sampler = Sampler.of(channel(states, codes))
    which = np.random.default_rng(1).integers(0, states, draws).astype(np.int32)
    blocks, table = positions(0, draws), np.random.default_rng(2).random(states)
    ours, theirs = [], []
    for i in range(repeats):
        start = time.perf_counter()
        sampler.draw(which, blocks, bytes(32))
        middle = time.perf_counter()
        np.random.default_rng(i).integers(0, 2**64, draws, dtype=np.uint64)
        table[which]
        end = time.perf_counter()
        ours.append(middle - start)
        theirs.append(end - middle)
    return min(ours), min(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--step", nargs=3, metavar=("STEP", "TABLE", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step:
        one_step(given.step[0], Path(given.step[1]), Path(given.step[2]))
        return
    print(f"the sampler alone, {given.rows:,} draws, beside numpy indexing plus PCG64 (at most {MOST_RATIO})")
    for states, codes in ((40, 5), (500, 8), (20_000, 10)):
        ours, theirs = sampler_alone(given.rows, states, codes)
        print(f"  {states:>6} states, {codes:>2} codes  {ours:6.2f} s  {theirs:6.2f} s   ratio {ours / theirs:4.2f}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "table.parquet"
        make_table(table, given.rows)
        from choral.release.fit import fit

        fit(table, "income", ["sex", "race"], ["sex", "race", "schooling"]).save(folder / "release.choral")
        runs = [{step: measured(step, table, folder) for step in STEPS} for _ in range(given.repeats)]
    copy = min(run["copy"]["seconds"] for run in runs)
    print(f"disclosing {given.rows:,} rows of 5 columns, Parquet to Parquet, best of {given.repeats}")
    print(f"  DuckDB, sorted copy   {copy:6.2f} s   {given.rows / copy:12,.0f} rows/s")
    for step in ("row numbers", "identifiers"):
        seconds = min(run[step]["seconds"] for run in runs)
        memory = max(run[step]["megabytes"] for run in runs)
        print(
            f"  by {step:<18} {seconds:6.2f} s   {given.rows / seconds:12,.0f} rows/s   ratio {seconds / copy:4.2f} "
            f"(at most {MOST_SORTED})   peak {memory:.0f} MB (at most {MOST_MEMORY})"
        )


if __name__ == "__main__":
    main()
