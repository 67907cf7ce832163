"""What a search would save that began where another one ended: at a looser tolerance, or where other orders were protected.

Every search begins coarsely and refines, so what a looser one costs is all that could be saved by having it. Here is how much
that is, and what is needed from there on: processor seconds of the search alone, each to the same certified gap.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from scale import law_of
from speed import TABLES, census

import choral as ch
from choral.problem.form import constraints
from choral.problem.pose import problem_of
from choral.problem.question import Question
from choral.reductions.chain import reduced_problem
from choral.solvers.lines.cells import Next
from choral.solvers.lines.chords import ENTROPY, Chords
from choral.solvers.lines.program import LPResult
from choral.solvers.lines.refinement import Aim, Equations, Start, enclosed
from choral.solvers.lines.sandwich import sandwiched
from choral.threads import one_thread

LOOSE, TIGHT = 1e-2, 1e-3
ORDERS = (1, 2)
SENSORS = 8


def arrays(law, question):
    """Masses, equations and posteriors of a question about a law."""
    small, _ = reduced_problem(problem_of(law, question))
    return small.prior / small.prior.sum(), constraints(small)[1], small.posterior().T


def timed(work):
    """Processor seconds, and what was found."""
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def searched(p, M, Q, tol, start=None):
    """The search, from a start or from nothing."""
    if start is None:
        return timed(lambda: sandwiched(p, M, Q, Aim(0.0, tol)))
    return timed(lambda: enclosed(Chords.over(ENTROPY, p, M, Q[:, 1]), Equations(p, M), Aim(0.0, tol), start))


def tolerances(name, law, question):
    """From the end of a looser search on, its cells cut where its codes are."""
    p, M, Q = arrays(law, question)
    loose, found = searched(p, M, Q, LOOSE)
    tight, _ = searched(p, M, Q, TIGHT)
    last = found.last
    codes = last.cells.codes(last.z)
    first = last.cells.refined(LPResult(last.z, last.nu, 0.0, 0.0, 0, "optimal"), codes, TIGHT * found.information)
    rest, _ = searched(p, M, Q, TIGHT, Start(first, None, found.z))
    print(
        f"  {name}: to {TIGHT:g} from nothing {tight:.2f} s; to {LOOSE:g} {loose:.2f} s, from there {rest:.2f} s: "
        f"{(loose + rest) / tight:.2f} times as much in all",
        flush=True,
    )


def orders(n):
    """From the end of a search with another order protected: its cells, and multipliers of the equations that are alike."""
    law = law_of("sensors", n, 0)
    asked = {order: arrays(law, Question("W", None, None, order)) for order in ORDERS}
    found = {order: searched(*asked[order], TIGHT) for order in ORDERS}
    for one, other in (ORDERS, ORDERS[::-1]):
        p, M, Q = asked[other]
        last, root = found[one][1].last, np.sqrt(p)[:, None]
        same = np.linalg.lstsq(M * root, asked[one][1] * root, rcond=None)[0]
        keeps = one > other  # what hides pairs hides each alone
        first = Next(replace(last.cells, M=M), last.z if keeps else None, last.nu @ same.T)
        seconds, _ = searched(p, M, Q, TIGHT, Start(first, None, found[one][1].z if keeps else None))
        print(
            f"  {n} sensors, order {other} to {TIGHT:g}: from nothing {found[other][0]:.2f} s, from the end of order {one} "
            f"{seconds:.2f} s: {seconds / found[other][0]:.2f} times as much",
            flush=True,
        )


def main():
    """Print both."""
    print("searches that begin where others ended")
    with one_thread("blas"):
        for name in ("560 states, three groups", "73 ages and sex, each"):
            sizes, rows, options = TABLES[name]
            law = ch.Joint.from_table(census(sizes, rows), columns=[*sizes, "outcome"])
            tolerances(name, law, Question("outcome", options["protect"], list(sizes)))
        tolerances("ten sensors", law_of("sensors", 10, 0), Question("W"))
        orders(SENSORS)


if __name__ == "__main__":
    main()
