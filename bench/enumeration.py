"""Fast enumeration against Algorithm 1 in Fractions, on the same problems, in one run; and dit for Table 1's n = 3.

Ratios are measured side by side. dit runs in an environment of its own, which `make bench` sets up and passes as
DIT_PYTHON.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from fractions import Fraction as F
from itertools import product
from pathlib import Path
from random import Random

import choral as ch
from choral.problem.form import form_of
from choral.problem.pose import pose
from choral.solvers import enumeration, reference


def sensors(crossovers):
    """W with P(W=1) = 1/3 seen through different binary symmetric channels."""
    return ch.Joint.observed([F(2, 3), F(1, 3)], [ch.bsc(e) for e in crossovers])


def problems():
    """Problems on which Algorithm 1 needs about a second or more, but still ends."""
    yield "four alike sensors (Table 1)", ch.examples.noisy_copies(4)
    yield "four different sensors", sensors([F(1, 20), F(1, 10), F(1, 5), F(1, 3)])
    yield "2×3×3 unequal cells", _unequal((2, 3, 3))
    yield "4×4 unequal cells", _unequal((4, 4))


def _unequal(shape):
    weights = Random(7)
    counts = {(w, *x): weights.randint(1, 10**6) for w in (0, 1) for x in product(*map(range, shape))}
    return ch.Joint.from_counts(counts, ["W", *(f"X{i}" for i in range(1, len(shape) + 1))])


def timed(call, repeat=1):
    """The shortest time of a call, and its result."""
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def beside_dit(n):
    """One row: the same question to dit, in its own environment."""
    python = os.environ.get("DIT_PYTHON")
    if not python:
        print("dit: not measured (run `make bench`)")
        return
    script = str(Path(__file__).with_name("peer_dit.py"))
    done = subprocess.run([python, script, str(n)], capture_output=True, text=True, check=True, timeout=600)
    seconds, value = map(float, done.stdout.split())
    ours, d = timed(lambda: ch.disclose(ch.examples.noisy_copies(n)), repeat=3)
    verified, _ = timed(d.verify)
    print(
        f"Table 1, n = {n}: dit {seconds:.1f}s gives {value:.6f}; choral {ours * 1e3:.1f}ms gives {d.information:.6f}, "
        f"verified in {verified * 1e3:.1f}ms: {seconds / (ours + verified):.0f} times faster",
        flush=True,
    )


def main() -> int:
    """Print the table; exit status 1 when a ratio is below what is promised."""
    print(f"{'problem':<32}{'states':>7}{'rank':>6}{'vertices':>10}{'Alg. 1':>10}{'fast':>10}{'ratio':>8}")
    kept = True
    for name, law in problems():
        problem = pose(law)
        form = form_of(problem)
        fast, points = timed(lambda p=problem: enumeration.extreme_points(p), repeat=25)
        slow, truth = timed(lambda p=problem: reference.find_extreme_points(p))
        assert sorted(tuple(point.get(s, 0) for s in range(problem.size)) for point in points) == sorted(truth)
        ratio = slow / fast
        kept &= ratio >= 100 or slow < 1
        row = f"{name:<32}{form.states:>7}{form.rank:>6}{len(points):>10}{slow:>9.2f}s{fast * 1e3:>8.1f}ms{ratio:>8.0f}"
        print(row, flush=True)
    beside_dit(3)
    print("promised: at least 100 where Algorithm 1 needs a second:", "kept" if kept else "NOT KEPT")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
