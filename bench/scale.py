"""How far choral reaches: alike samples, different sensors and scores; beside HiGHS, dit and the paper's companion code.

Ratios are measured side by side in one run, and every disclosure in a process of its own, which gives its peak memory.
Without options the run takes some seven minutes; `--long` adds n = 18 and 20, half an hour, and `--full` goes further with
alike samples and scores. dit and the companion code run in environments of their own (DIT_PYTHON; COMPANION_PYTHON and
COMPANION_PATH), where they are at hand: `make bench COMPANION_PATH=FOLDER` sets both up.
The picture goes to build/scale.svg.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from fractions import Fraction as F
from functools import cache
from pathlib import Path

import highspy
import numpy as np
from enumeration import beside_dit, timed
from scipy import sparse

import choral as ch
from choral.phases import heard
from choral.problem.form import centred_rows, incidence
from choral.problem.pose import pose
from choral.solvers import reference
from choral.solvers.lines.interior_point import InteriorPoint
from choral.solvers.lines.program import repaired_bound
from choral.solvers.lines.refinement import Aim
from choral.solvers.lines.sandwich import sandwiched

PRIOR = [F(2, 3), F(1, 3)]
REL_TOL = 1e-3
HIGHS_RATIO = 3
MOST_MEMORY = 8000
LONGEST = 3600
"""Seconds after which a row is given up, whatever its time limit says."""
SEARCHED = {18: 300, 20: 900}
"""Different sensors that are searched for so many seconds: what gap they reach is seen, not promised."""
PICTURE = Path(__file__).parents[1] / "build" / "scale.svg"


# ---------------------------------------------------------------------- laws


def crossovers(n):
    """linspace(.05, .35, n), exactly."""
    return [F(1, 20) + F(3, 10) * F(i, n - 1) for i in range(n)]


def law_of(kind, n, levels):
    """Alike samples, different sensors written out, or different sensors through a score."""
    if kind == "alike":
        return ch.Exchangeable(PRIOR, ch.bsc(F(1, 10)), n)
    channels = [ch.bsc(e) for e in crossovers(n)]
    return ch.Joint.observed(PRIOR, channels) if kind == "sensors" else ch.Sensors(PRIOR, channels, levels=levels)


# ------------------------------------------------------------- processors of phases


LONG = 1.0
"""Processor seconds of a phase from which on it is said how many cores it kept busy."""


def processors():
    """Processor seconds of this process so far, and of the children that it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


class Phases:
    """Processor and clock seconds of every phase of the work, as it names them; what has no name is the search."""

    def __init__(self):
        self.spent, self._now, self._since = {}, "search", (processors(), time.perf_counter())

    def __call__(self, name):
        now = processors(), time.perf_counter()
        cpu, clock = self.spent.get(self._now, (0.0, 0.0))
        self.spent[self._now] = cpu + now[0] - self._since[0], clock + now[1] - self._since[1]
        self._now, self._since = name or "search", now


def busy(phases):
    """Print of every long phase how many cores it kept busy."""
    for phase, (cpu, clock) in sorted(phases.items(), key=lambda spent: -spent[1][0]):
        if cpu >= LONG:
            words = f"{phase}: {cpu:.1f} s of processors in {clock:.1f} s, {cpu / clock:.1f} cores"
            print(f"{'':<28}{words}", flush=True)


# ------------------------------------------------- one disclosure, in its own process


@dataclass(frozen=True)
class Row:
    """One disclosure: seconds to search, to repair and certify, and to verify; megabytes at the peak."""

    name: str
    states: int
    codes: int
    information: float
    upper_bound: float
    search: float
    certify: float
    verify: float
    memory: int
    how: str
    phases: dict

    @property
    def solve(self):
        """Seconds of `disclose`: search, repair, certify."""
        return self.search + self.certify

    @property
    def relative_gap(self):
        """The gap as a share of the information."""
        return (self.upper_bound - self.information) / self.information if self.information > 0 else math.inf


def here(kind, n, levels, options):
    """Disclose and verify in this process."""
    ch.disclose(ch.examples.noisy_copies(3)).verify()  # what is imported late is imported now
    law = law_of(kind, n, levels)
    start = time.perf_counter()
    told, phases = [start], Phases()
    with heard(phases):
        d = ch.disclose(law, **options, progress=lambda *_: told.append(time.perf_counter()))
        done = time.perf_counter()
        assert d.verify()["verified"]
        phases("")
    verified = time.perf_counter()
    name = f"{kind}, n = {n}" + (f", {levels} levels" if kind == "score" else "")
    times = told[-1] - start, done - told[-1], verified - done
    return Row(name, len(d.states), d.codes, d.information, d.upper_bound, *times, peak(), d.how, phases.spent)


def peak():
    """Megabytes at this process' peak. (On Linux, getrusage counts what the parent held before the start as well.)"""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
    return next(int(text.split()[1]) // 1024 for text in lines if text.startswith("VmHWM:"))


@cache
def measured(kind, n, levels=1000, on_one_core=False, **options):
    """Disclose and verify in a new process, once; print the row. None when it does not end."""
    one = json.dumps([kind, n, levels, on_one_core, options])
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--one", one], capture_output=True, text=True, check=True, timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        print(f"{kind + f', n = {n}':<28}no end within {LONGEST} s", flush=True)
        return None
    except subprocess.CalledProcessError as error:
        print(f"{kind + f', n = {n}':<28}FAILED: {(error.stderr.splitlines() or [error.returncode])[-1]}", flush=True)
        return None
    row = Row(**json.loads(done.stdout))
    gap = f"{row.relative_gap:.1e}" if row.information > 0 else "-"
    print(
        f"{row.name:<28}{row.states:>7}{row.information:>13.4g}{row.upper_bound:>11.4g}{gap:>9}{row.search:>8.1f}s"
        f"{row.certify:>8.1f}s{row.verify:>8.1f}s{row.memory:>7} MB{' (one core)' if on_one_core else ''}",
        flush=True,
    )
    busy(row.phases)
    return row


def heading(text):
    """What the next rows are about, and their columns."""
    print(f"\n{text}")
    print(
        f"{'':<28}{'states':>7}{'bits':>13}{'at most':>11}{'rel. gap':>9}{'search':>9}{'certify':>9}{'verify':>9}{'peak':>10}"
    )


# ------------------------------------------------------------------ the rows


def alike(full):
    """(a) A thousand alike samples beside Algorithm 1 at four."""
    heading("(a) alike samples: W with P(W=1) = 1/3, each sample through BSC(1/10)")
    row = measured("alike", 1000)
    larger = measured("alike", 5000 if full else 2000)
    seconds, points = timed(lambda: reference.find_extreme_points(pose(ch.examples.noisy_copies(4))))
    print(f"Algorithm 1 in Fractions, n = 4: {seconds:.2f}s for {len(points)} extreme points, before any optimisation")
    if row:
        print(f"n = 1000, solved and verified, takes {(row.solve + row.verify) / seconds:.2f} times as long")
    return bool(row and larger)


def growth(long):
    """(c) How time grows with the number of states; the picture."""
    sizes = [6, 8, 10, 12, 14, 16, *(SEARCHED if long else ())]
    heading(f"(c) different sensors, crossovers linspace(.05, .35, n), all 2^n states, relative gap {REL_TOL:g}")
    limits = [{"time_limit": SEARCHED[n]} if n in SEARCHED else {} for n in sizes]
    different = [measured("sensors", n, rel_tol=REL_TOL, **limit) for n, limit in zip(sizes, limits, strict=True)]
    if hasattr(os, "sched_setaffinity"):
        measured("sensors", sizes[5], on_one_core=True, rel_tol=REL_TOL)  # none may be slower on one
    heading("(c) alike samples, n + 1 states")
    same = [measured("alike", n) for n in (100, 200, 400, 800)]
    reached = [row for row, n in zip(different, sizes, strict=True) if n not in SEARCHED]
    series = {
        "different sensors": [row for row in reached if row],
        "alike samples": [row for row in same if row],
    }
    for name, rows in series.items():
        print(
            f"{name}: seconds grow like N^{exponent(rows, lambda r: r.solve):.2f} to solve, "
            f"N^{exponent(rows, lambda r: r.verify):.2f} to verify, N^{exponent(rows, total):.2f} in all"
        )
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(series), encoding="utf-8")
    print(f"picture: {PICTURE}")
    return (
        all(row and row.memory < MOST_MEMORY for row in different)
        and all(row and row.relative_gap <= REL_TOL for row in reached)
        and all(same)
    )


def statistic(full):
    """(e) What a score loses against all states, and how far it goes."""
    heading("(e) different sensors through a score (rounded log-likelihood ratio), and what it keeps of (c)")
    done = True
    for n in (6, 8, 10):
        best = measured("sensors", n, rel_tol=REL_TOL)
        for levels in (100, 400, 1000):
            row = measured("score", n, levels, rel_tol=REL_TOL)
            done &= bool(row and best)
            if row and best:
                low, high = row.information / best.upper_bound, row.upper_bound / best.information
                print(f"    keeps {100 * low:.1f} % to {100 * min(1, high):.1f} % of the information")
    heading("(e) further, as intervals: tol=1e-9 or rel_tol=1e-2, time_limit=60")
    for n in (20, 30, 50) if full else (50,):
        done &= measured("score", n, tol=1e-9, rel_tol=1e-2, time_limit=60) is not None
    return done


# ------------------------------------------------------------- beside HiGHS


class Recording(InteriorPoint):
    """The interior-point method, remembering the programs it is given."""

    programs = []  # noqa: RUF012

    def solve(self, C, *rest, **more):
        """Solve, after writing down the costs and the gap asked for."""
        self.programs.append((C, self.tolerance))
        return super().solve(C, *rest, **more)


def highs(C, p, M, tolerance, longest=math.inf):
    """HiGHS' interior point without crossover: seconds, and the gap that its solution proves."""
    states, lines = C.shape
    masses = sparse.hstack([sparse.identity(states)] * lines)
    private = sparse.block_diag([sparse.csr_matrix(M.T)] * lines)
    matrix = sparse.csc_matrix(sparse.vstack([masses, private]))
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_ = C.T.ravel()
    lp.col_lower_ = np.zeros(C.size)
    lp.col_upper_ = np.full(C.size, highspy.kHighsInf)
    lp.row_lower_ = lp.row_upper_ = np.concatenate([p, np.zeros(lines * M.shape[1])])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("solver", "ipm"),
        ("run_crossover", "off"),
        ("ipm_optimality_tolerance", tolerance),
        ("time_limit", longest),
    ):
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    seconds, _ = timed(solver.run)
    solution = solver.getSolution()
    z = np.maximum(np.array(solution.col_value).reshape(lines, states).T, 0.0)
    nu = np.array(solution.row_dual)[states:].reshape(lines, -1)
    return seconds, float((C * z).sum()) - repaired_bound(C, p, M, nu)


def beside_highs(n):
    """(b) The sandwich's last linear program, solved from scratch to the same gap by both."""
    problem = pose(law_of("sensors", n, 0))
    M = centred_rows(problem, incidence(problem).independent_of_sum)
    p = problem.prior / problem.prior.sum()
    whole, found = timed(lambda: sandwiched(p, M, problem.posterior().T, Aim(0.0, REL_TOL), Recording()))
    C, gap = Recording.programs[-1]
    ours, mine = timed(lambda: InteriorPoint(tolerance=gap).solve(C, p, M), repeat=3)
    single, _ = timed(lambda: InteriorPoint(tolerance=gap, workers=1).solve(C, p, M))
    for tolerance in (1e-5, 1e-6, 1e-7, 1e-8):  # the loosest that proves the gap; 1e-4 does not
        theirs, proved = highs(C, p, M, tolerance)
        if proved <= gap:
            break
    ratio = theirs / ours
    print(
        f"\n(b) one linear program: {C.shape[0]} states, {C.shape[1]} lines, rank {M.shape[1]}; gap asked for {gap:.1e}"
    )
    print(f"    choral {ours:.2f}s (gap {mine.primal - mine.dual:.1e}; {single:.2f}s on one core)")
    print(
        f"    HiGHS {theirs:.2f}s (gap {proved:.1e} at ipm_optimality_tolerance {tolerance:g}): {ratio:.1f} times slower"
    )
    print(
        f"    the whole sandwich, {len(found.history)} levels to a relative gap of {found.gap / found.information:.1e}, "
        f"takes {whole:.2f}s: HiGHS on its last level alone is {theirs / whole:.1f} times slower",
        flush=True,
    )
    return min(ratio, theirs / whole) >= HIGHS_RATIO


# --------------------------------------------------- beside the companion code


def beside_companion(n):
    """(d) One row: the same question to the paper's companion code, in its own environment."""
    python, path = os.environ.get("COMPANION_PYTHON"), os.environ.get("COMPANION_PATH")
    if not (python and path):
        print("companion code: not measured (make bench COMPANION_PATH=FOLDER, the folder that holds its package)")
        return
    script = str(Path(__file__).with_name("peer_companion.py"))
    try:
        done = subprocess.run([python, script, str(n)], capture_output=True, text=True, check=True, timeout=120)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        print(f"Table 1, n = {n}: companion code: {type(error).__name__}", flush=True)
        return
    seconds, value = map(float, done.stdout.split())
    ours, d = timed(lambda: ch.disclose(ch.examples.noisy_copies(n)), repeat=3)
    verified, _ = timed(d.verify)
    print(
        f"Table 1, n = {n}: companion code {seconds:.2f}s gives {value:.6f}; choral {ours * 1e3:.1f}ms gives "
        f"{d.information:.6f}, verified in {verified * 1e3:.1f}ms: {seconds / (ours + verified):.0f} times faster",
        flush=True,
    )


# ------------------------------------------------------- exponent and picture


def total(row):
    """Seconds to solve and verify."""
    return row.solve + row.verify


def line(rows, seconds):
    """Slope and intercept of log seconds on log states, by least squares."""
    return np.polyfit(np.log([row.states for row in rows]), np.log([seconds(row) for row in rows]), 1)


def exponent(rows, seconds):
    """How seconds grow with the number of states."""
    return float(line(rows, seconds)[0]) if len(rows) > 1 else math.nan


def picture(series):
    """Seconds against states, both in logarithms, with the fitted lines, as SVG."""
    width, height, left, right, top, bottom = 760, 480, 80, 30, 60, 70
    points = [(row.states, total(row)) for rows in series.values() for row in rows]
    (x0, x1), (y0, y1) = ((math.log10(min(c)), math.log10(max(c))) for c in zip(*points, strict=True))
    x0, x1, y0, y1 = x0 - 0.1, x1 + 0.1, math.floor(y0), math.ceil(y1)

    def at(states, seconds):
        across = left + (math.log10(states) - x0) / (x1 - x0) * (width - left - right)
        down = height - bottom - (math.log10(seconds) - y0) / (y1 - y0) * (height - top - bottom)
        return f"{across:.1f}", f"{down:.1f}"

    def text(x, y, words, size=13, **more):
        extra = "".join(f' {key.replace("_", "-")}="{value}"' for key, value in more.items())
        return f'<text x="{x}" y="{y}" font-size="{size}"{extra}>{words}</text>'

    def size(row):
        return row.name.split(", ")[1]

    growth_of = {name: exponent(rows, total) for name, rows in series.items()}
    title = "Time grows like " + ", ".join(f"N^{a:.2f} for {name}" for name, a in growth_of.items())
    marks = [text(left, 30, title, 16, font_weight="bold")]
    for decade in range(y0, y1 + 1):
        _, y = at(10**x0, 10**decade)
        marks.append(f'<path d="M{left} {y}H{width - right}" stroke="#ddd"/>')
        marks.append(text(left - 8, y, f"{10.0**decade:g}", text_anchor="end", dominant_baseline="middle"))
    for decade in range(math.ceil(x0), math.floor(x1) + 1):
        x, _ = at(10**decade, 10**y0)
        marks.append(f'<path d="M{x} {top}V{height - bottom}" stroke="#ddd"/>')
        marks.append(text(x, height - bottom + 20, f"{10**decade:,}", text_anchor="middle"))
    marks.append(text((left + width) / 2, height - 20, "number of states N", text_anchor="middle"))
    middle = height / 2
    words = "time to solve, certify and verify (seconds)"
    marks.append(text(20, middle, words, text_anchor="middle", transform=f"rotate(-90 20 {middle})"))
    for (name, rows), colour, place in zip(series.items(), ("#1b6ca8", "#c8553d"), (0, 1), strict=True):
        slope, start = line(rows, total)
        ends = [at(n, math.exp(start) * n**slope) for n in (rows[0].states, rows[-1].states)]
        marks.append(f'<path d="M{" ".join(ends[0])}L{" ".join(ends[1])}" stroke="{colour}" stroke-dasharray="5 4"/>')
        for row in rows:
            x, y = at(row.states, total(row))
            marks.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"><title>{row.name}</title></circle>')
        marks.append(f'<circle cx="{left + 20}" cy="{top + 20 + 22 * place}" r="5" fill="{colour}"/>')
        marks.append(text(left + 32, top + 24 + 22 * place, f"{name}, {size(rows[0])} to {size(rows[-1])}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" fill="#222">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n' + "\n".join(marks) + "\n</svg>\n"
    )


def main() -> int:
    """Print the tables; exit status 1 when a promise is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="also n = 18 and n = 20, searched for minutes each")
    parser.add_argument("--full", action="store_true", help="also the sizes that take minutes each")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        kind, n, levels, on_one_core, options = json.loads(chosen.one)
        if on_one_core:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(asdict(here(kind, n, levels, options))))
        return 0
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before the run; times are wall clock")
    promises = {
        "alike samples solved and verified": alike(chosen.full),
        f"sandwich at n = 10 at least {HIGHS_RATIO} times faster than HiGHS": beside_highs(10),
        f"different sensors to {REL_TOL:g} in less than {MOST_MEMORY / 1000:g} GB": growth(chosen.long),
    }
    print("\n(d) beside other programs")
    beside_dit(3)
    for n in (4, 5):
        beside_companion(n)
    promises["scores solved and verified"] = statistic(chosen.full)
    print()
    for promise, kept in promises.items():
        print(f"promised: {promise}:", "kept" if kept else "NOT KEPT")
    return 0 if all(promises.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
