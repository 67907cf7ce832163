"""Ordinary tables: how long a fit takes, with its certified gap; curves; beside HiGHS on the same lines; how time grows.

Every row of the table runs in a process of its own, which gives its peak memory; nothing is kept between rows. Times are of
processors (all threads together) and by the clock: on a busy machine read the former, and the ratios. Pictures go to build/.
The companion code (n = 5) and different sensors are in scale.py, copying a table beside DuckDB in disclose.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scale import Phases, busy, highs, peak

from choral.solvers.lines.chords import ENTROPY
from choral.solvers.lines.interior_point import InteriorPoint

BUILD = Path(__file__).parents[1] / "build"
PARQUET_ROWS = 10_000_000
ROUNDS = 5
"""Of which the best counts, where a row takes a second or less."""
LONGEST = 1200
"""Seconds after which a row is given up."""
HIGHS_LONGEST = 120.0
"""Seconds after which HiGHS is given up: then its ratio is at least what it was by then."""


# ---------------------------------------------------------------------------------------------------------------- tables


def census(sizes, rows, most=None, seed=0):
    """Columns of these numbers of values that depend on one another, and a target of two values that depends on all.

    Records with other than the `most` common combinations are left out.
    """
    import pandas as pd

    draw = np.random.default_rng(seed)
    common = draw.normal(size=rows)
    score, columns = 0.8 * common, {}
    for name, size in sizes.items():
        x = 0.5 * common + draw.normal(size=rows)
        value = np.searchsorted(np.quantile(x, np.linspace(0, 1, size + 1)[1:-1]), x)
        score = score + 0.5 * draw.normal(size=size)[value]
        columns[name] = [f"{name}{v}" for v in value]
    target = (draw.random(rows) < 1 / (1 + np.exp(-score - 0.3))).astype(int)
    table = pd.DataFrame({**columns, "outcome": target})
    if most is None:
        return table
    number = table.groupby(list(sizes)).ngroup()
    return table[number.isin(number.value_counts().index[:most])]


TABLES = {
    "560 states, three groups": (
        {"sex": 2, "race": 5, "age": 7, "education": 8},
        40_000,
        {"protect": ["sex", "race", "age"], "use": ["sex", "race", "age", "education"]},
    ),
    "one group of 73 ages": ({"age": 73, "education": 15}, 40_000, {"protect": ["age"], "use": ["age", "education"]}),
    "73 ages and sex, each": (
        {"age": 73, "sex": 2, "education": 10},
        40_000,
        {"protect": ["age", "sex"], "use": ["age", "sex", "education"], "rel_tol": 1e-3},
    ),
    "order 2 on six columns": (
        {f"c{i}": 5 for i in range(6)},
        (60_000, 5000),
        {"order": 2, "rel_tol": 1e-2, "time_limit": 120, "use": [f"c{i}" for i in range(6)]},
    ),
    "560 states, within 5 %": (
        {"sex": 2, "race": 5, "age": 7, "education": 8},
        40_000,
        {
            "ratio": dict.fromkeys(["sex", "race", "age"], "1.05"),
            "protect": ["sex", "race", "age"],
            "use": ["sex", "race", "age", "education"],
        },
    ),
    "73 ages, 0.01 bits": (
        {"age": 73, "education": 15},
        40_000,
        {"leakage": {"age": "0.01"}, "protect": ["age"], "use": ["age", "education"]},
    ),
}


def fitted(name):
    """One row of the table, in this process: fit, and verify what was fitted."""
    import choral as ch
    from choral.phases import heard

    sizes, rows, options = TABLES[name]
    table = census(sizes, *(rows if isinstance(rows, tuple) else (rows,)))
    searched = [0.0, 1.0]

    def hear(low, high, _message):
        searched[:] = [max(searched[0], low), high]

    started = time.perf_counter(), time.process_time()
    phases = Phases()
    with heard(phases):
        release = ch.fit(table, "outcome", min_count=1, progress=hear, **options)
        done = time.perf_counter(), time.process_time()
        assert release.verify()["verified"]
        phases("")
    verified = time.perf_counter(), time.process_time()
    return {
        "states": len(release.disclosure.states),
        "codes": release.codes,
        "searched": (release.upper_bound - max(searched[0], release.information)) / release.upper_bound,
        "gap": (release.upper_bound - release.information) / release.upper_bound,
        "fit": [b - a for a, b in zip(started, done, strict=True)],
        "verify": [b - a for a, b in zip(done, verified, strict=True)],
        "memory": peak(),
        "phases": phases.spent,
    }


CURVES = {150: ({"sex": 2, "race": 5, "age": 5, "education": 3}, 20_000), 560: TABLES["560 states, three groups"][:2]}


def curve(states, rel_tol, points=10):
    """Ten budgets together, beside each of them alone: processor seconds, and what every point is certified to."""
    from dataclasses import replace

    import choral as ch
    from choral.design.along import solved_along
    from choral.design.disclose import solved
    from choral.design.limits import Limits
    from choral.problem.pose import with_budgets
    from choral.show.studio.curve import leakages

    sizes, rows = CURVES[states]
    release = ch.fit(census(sizes, rows), "outcome", ["sex", "race", "age"], list(sizes), min_count=1, rel_tol=1e-2)
    law, private = release.disclosure.law, replace(release.disclosure.problem, budgets=())
    most = float(leakages(private)[-1])
    budgets = [f"{most * ((k + 1) / points) ** 2:.4f}" for k in range(points)]
    names = [group.name for group in private.groups]
    problems = [with_budgets(law.table, private, dict.fromkeys(names, budget)) for budget in budgets]
    limits = Limits(rel_tol=rel_tol)
    solved(law, problems[0], limits)  # what is loaded once
    alone = []
    for problem in problems:
        started = time.process_time()
        solved(law, problem, limits)
        alone.append(time.process_time() - started)
    started = time.process_time()
    found = list(solved_along(law, problems, limits))
    together = time.process_time() - started
    for point in found:
        assert point.verify()["verified"]
    rows = [
        {"budget": float(b), "told": d.information, "at most": d.upper_bound}
        for b, d in zip(budgets, found, strict=True)
    ]
    return {"alone": alone, "together": together, "points": rows}


def curves():
    """Curves of ten budgets, at the tolerance of a picture and of a number."""
    print("\nten budgets, three groups")
    for states, rel_tol in itertools.product(CURVES, (1e-2, 1e-3)):
        row = in_its_own_process("curve", states, rel_tol)
        if isinstance(row, str):
            print(f"  {states} states to {rel_tol:g}: {row}", flush=True)
            continue
        one, dearest = np.mean(row["alone"]), max(row["alone"])  # budgets that hardly bind cost nearly nothing alone
        widest = max((p["at most"] - p["told"]) / p["told"] for p in row["points"])
        print(
            f"  {states} states to {rel_tol:g}: together {row['together']:.2f} s of processors, alone "
            f"{sum(row['alone']):.2f} s ({one:.3f} s each, {dearest:.3f} s the dearest): {row['together'] / one:.1f} points, "
            f"{row['together'] / dearest:.1f} of the dearest; the widest interval is {widest:.1e}",
            flush=True,
        )


def counted():
    """Counting a Parquet table in `fit`, without the digest, beside DuckDB's own GROUP BY on it."""
    import duckdb
    import pyarrow as pa
    from pyarrow import parquet

    from choral.problem.question import Question
    from choral.release.fit import TableRules, opened, pose_table
    from choral.tables.source import Source

    Source.digest = lambda self: "0" * 64  # what is not measured here
    draw = np.random.default_rng(1)
    names = {"sex": 2, "race": 5, "age": 7, "education": 8, "outcome": 2}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        columns = {name: draw.integers(0, size, PARQUET_ROWS) for name, size in names.items()}
        parquet.write_table(pa.table(columns), path)
        rules, question = TableRules(), Question("outcome", ["sex"], [n for n in names if n != "outcome"])
        found = {"duckdb": [], "choral": []}
        for _ in range(ROUNDS):  # turn by turn: whatever else the machine does meets both
            connection = duckdb.connect()
            started = time.perf_counter(), time.process_time()
            connection.execute(f"SELECT {', '.join(names)}, count(*) FROM '{path}' GROUP BY ALL").fetchall()
            found["duckdb"].append((time.perf_counter() - started[0], time.process_time() - started[1]))
            with opened(path, rules.as_read) as table:
                started = time.perf_counter(), time.process_time()
                pose_table(table, question, rules)
                found["choral"].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    least = {name: [min(column) for column in zip(*rounds, strict=True)] for name, rounds in found.items()}
    return {**least, "ratio": [ours / alone for ours, alone in zip(least["choral"], least["duckdb"], strict=True)]}


def in_its_own_process(*asked):
    """What one row gives, or why there is none."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", json.dumps(asked)],
            capture_output=True, text=True, check=True, timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end within {LONGEST} s"
    except subprocess.CalledProcessError as error:
        return f"FAILED: {(error.stderr.splitlines() or [error.returncode])[-1]}"
    return json.loads(done.stdout.splitlines()[-1])


def ordinary():
    """The rows of ordinary tables."""
    print(f"{'':<28}{'states':>7}{'codes':>6}{'searched':>10}{'gap':>9}  fit s (cpu)       verify s (cpu)    memory")
    for name in TABLES:
        row = in_its_own_process("fitted", name)
        if isinstance(row, str):
            print(f"{name:<28}{row}", flush=True)
            continue
        fit, verify = (f"{wall:.1f} ({cpu:.1f})" for wall, cpu in (row["fit"], row["verify"]))
        print(
            f"{name:<28}{row['states']:>7}{row['codes']:>6}{row['searched']:>10.1e}{row['gap']:>9.1e}  {fit:<18}{verify:<18}"
            f"{row['memory']} MB",
            flush=True,
        )
        busy(row["phases"])
    row = in_its_own_process("counted")
    print(
        f"counting {PARQUET_ROWS:,} rows: {row}"
        if isinstance(row, str)
        else f"counting {PARQUET_ROWS:,} rows of Parquet, the best of {ROUNDS}: DuckDB {row['duckdb'][0]:.2f} s "
        f"({row['duckdb'][1]:.2f} of processors), in fit {row['choral'][0]:.2f} s ({row['choral'][1]:.2f}): "
        f"{row['ratio'][0]:.2f} times ({row['ratio'][1]:.2f})",
        flush=True,
    )
    for words in (["-c", "import choral"], ["-c", "from choral.show.cli import main; main()", "--help"]):
        started = time.perf_counter()
        subprocess.run([sys.executable, *words], capture_output=True, check=True)
        print(f"python {' '.join(words)}: {time.perf_counter() - started:.2f} s", flush=True)


# -------------------------------------------------------------------------------------------------- one linear program


def program(states, groups, lines, seed=0):
    """Lines at posteriors and equations of groups with so many values: C, p, M."""
    draw = np.random.default_rng(seed)
    p, q = draw.dirichlet(np.full(states, 5.0)), draw.random(states)
    columns = [np.arange(states) % size if i == 0 else draw.integers(0, size, states) for i, size in enumerate(groups)]
    M = np.column_stack([c == v for c, size in zip(columns, groups, strict=True) for v in range(1, size)]).astype(float)
    knots = ENTROPY.number(np.linspace(0, np.pi / 2, lines + 1))
    knots[-1] = 1.0
    return ENTROPY.chords(knots, q), p, M - p @ M


TICK = os.sysconf("SC_CLK_TCK")


def by_thread():
    """Processor seconds of each thread of this process so far, by its number; none where the system does not say."""
    tasks = Path("/proc/self/task")
    spent = {}
    for task in tasks.iterdir() if tasks.is_dir() else ():
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        spent[task.name] = (int(fields[11]) + int(fields[12])) / TICK
    return spent


def seconds_of(C, p, M, gap, workers=None):
    """Processor and clock seconds of the interior point, the gap that it proves, and the part of the busiest thread."""
    before, last = by_thread(), {}
    started = time.process_time(), time.perf_counter()
    solver = InteriorPoint(tolerance=gap, workers=workers)
    found = solver.solve(C, p, M, callback=lambda *_: last.update(by_thread()))
    cpu, wall = time.process_time() - started[0], time.perf_counter() - started[1]
    parts = [spent - before.get(thread, 0.0) for thread, spent in last.items()]
    busiest = max(parts) / sum(parts) if sum(parts) > 1 else None
    return cpu, wall, found.primal - found.dual, busiest


BESIDE = {5: (400, [4, 3]), 33: (700, [30, 5]), 75: (1430, [74, 3]), 300: (1500, [150, 100, 50, 4])}
"""States and groups of the programs that HiGHS solves too, by their rank."""


def beside_highs(lines=16, gap=1e-5):
    """The same lines, solved from scratch to the same gap by HiGHS' interior point."""
    print(f"\nbeside HiGHS' interior point, {lines} lines, gap {gap:g}")
    for rank, (states, groups) in BESIDE.items():
        C, p, M = program(states, groups, lines)
        assert M.shape[1] == rank
        cpu, wall, proved, busiest = seconds_of(C, p, M, gap)
        one, alone, *_ = seconds_of(C, p, M, gap, workers=1)
        shared = "" if busiest is None else f"; the busiest thread did {busiest:.0%} of it"
        started = time.process_time()
        clock, their_gap = highs(C, p, M, gap / 10, HIGHS_LONGEST)
        theirs = time.process_time() - started
        more = "at least " if clock >= HIGHS_LONGEST else ""
        print(
            f"rank {rank:<4}{states:>6} states: choral {wall:.2f} s by the clock, {cpu:.2f} s of processors "
            f"({cpu / wall:.1f} cores busy; one thread: {alone:.2f} s by the clock, {alone / wall:.2f} times that, "
            f"{one:.2f} s of processors{shared}), gap {proved:.1e}; HiGHS {clock:.2f} s, "
            f"{theirs:.2f} s of processors, gap {their_gap:.1e}: {more}{theirs / cpu:.1f} times as much work",
            flush=True,
        )


GROWTH = {
    "states": [(n, (n, [6, 5, 3], 48)) for n in (1000, 2000, 4000, 8000, 16000)],
    "rank": [(r, (1000, [r // 2 + 1, r // 4 + 1, r // 4 + 1], 24)) for r in (16, 32, 64, 128)],
    "lines": [(k, (4000, [6, 5, 3], k)) for k in (12, 24, 48, 96)],
}
"""What grows: its size, and the states, groups and lines of the program."""


def growth(gap=1e-5):
    """How processor seconds grow with the states, the rank and the lines: exponents, and a picture of each."""
    import altair as alt

    print("\nprocessor seconds of one linear program")
    BUILD.mkdir(exist_ok=True)
    for what, programs in GROWTH.items():
        rows = []
        for size, (states, groups, lines) in programs:
            cpu, wall, *_ = seconds_of(*program(states, groups, lines), gap)
            rows.append({what: size, "seconds": cpu, "clock": wall})
        slope, start = np.polyfit(np.log([r[what] for r in rows]), np.log([r["seconds"] for r in rows]), 1)
        print(
            f"  grow like {what}^{slope:.2f}: " + ", ".join(f"{r[what]}: {r['seconds']:.2f}" for r in rows), flush=True
        )
        for row in rows:
            row["fit"] = float(np.exp(start) * row[what] ** slope)
        base = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X(f"{what}:Q", scale=alt.Scale(type="log"), title=what),
        )
        y = alt.Scale(type="log")
        points = base.mark_point(filled=True, size=70).encode(
            y=alt.Y("seconds:Q", scale=y, title="processor seconds of one linear program")
        )
        line = base.mark_line(strokeDash=[5, 4]).encode(y=alt.Y("fit:Q", scale=y))
        chart = (line + points).properties(width=480, height=320, title=f"Time grows like {what}^{slope:.2f}")
        chart.save(BUILD / f"speed-{what}.svg")
        chart.save(BUILD / f"speed-{what}.png")
        print(f"    picture: build/speed-{what}.svg", flush=True)


PARTS = {"ordinary": ordinary, "curves": curves, "highs": beside_highs, "growth": growth}
HERE = {"fitted": fitted, "counted": counted, "curve": curve}


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="*", choices=[[], *PARTS], help="ordinary, curves, highs, growth; all unless named"
    )
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        name, *arguments = json.loads(chosen.one)
        print(json.dumps(HERE[name](*arguments)))
        return 0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run")
    for part in chosen.parts or PARTS:
        PARTS[part]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
