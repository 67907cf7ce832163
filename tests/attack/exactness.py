"""Exactness: laws that are hard to be exact about, every solver, and every way of stopping one.

Denominators up to 10³⁰, masses of 10⁻³⁰, polytopes of private posteriors that are degenerate or nearly so. What comes back
is checked by code that shares nothing with the solvers: promises in fractions, record by record (as `choral selftest` does),
and both ends of the interval against the optimum of `attack.optimum`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

from attack import optimum
from attack.tally import Attack, Tally

import choral as ch
from choral.errors import ProblemError, VerificationError
from choral.exact.certificate import check, document_to_text
from choral.show.commands.selftest import kept, promises_of, records_of

SOLVERS = (None, None, "orbits", "closed form", "transport", "enumeration", "rank", "sandwich", "coarse")
PURPOSES = ("accuracy", "squares")
WAYS = ("in peace", "tolerance", "time limit", "Ctrl-C", "few codes")
"""How a search ends."""
STATED = Fraction(3, 10**15)
"""Bits by which a number in a file may be off: it has fifteen decimals."""
CLOSE = 2e-6
"""Bits: what "optimal" means by default, within a tolerance of 1e-6, and the rounding of repair."""


def weight(draw: Random, kind: str) -> int:
    """The weight of a cell, of very different size."""
    if kind == "small":
        return draw.randint(1, 4)
    if kind == "huge":
        return draw.randint(1, 10**30)
    if kind == "tiny":  # a cell of 10⁻³⁰ of the law
        return 1 if draw.random() < 0.4 else 10**30 + draw.randint(0, 9)
    if kind == "near":  # nearly the same everywhere: the equations are nearly dependent
        return 10**15 + draw.randint(-1, 1)
    return draw.choice([1, 10**12, 10**24, 10**30])


def law_of(draw: Random, values: tuple[int, ...] = (2, 2, 3)) -> tuple[ch.Joint, list[str]]:
    """A law of W, with so many values, and two or three columns, unkind on purpose, with the columns."""
    shape = draw.choice([(2, 2), (2, 3), (2, 2, 2), (3, 2)])
    targets = draw.choice(values)
    kind = draw.choice(["small", "huge", "tiny", "near", "mixed"])
    cells = list(product(range(targets), *map(range, shape)))
    form = draw.choice(["full", "full", "holes", "constant", "repeated", "product"])
    if form == "holes":
        cells = draw.sample(cells, max(3, len(cells) * 2 // 3))
    elif form == "constant":
        cells = [cell for cell in cells if cell[1] == 0]
    elif form == "repeated":
        cells = [cell for cell in cells if min(cell[1], shape[1] - 1) == cell[2]]
    if form == "product":  # columns independent of each other: many extreme points coincide
        parts = [[weight(draw, kind) for _ in range(size)] for size in shape]
        told = {x: [weight(draw, "small") for _ in range(targets)] for x in product(*map(range, shape))}
        counts = {}
        for w, *x in cells:
            counts[(w, *x)] = told[tuple(x)][w]
            for part, i in zip(parts, x, strict=True):
                counts[(w, *x)] *= part[i]
            counts[(w, *x)] *= _rest(told, tuple(x))
    else:
        counts = {cell: weight(draw, kind) for cell in cells}
    names = [f"X{i + 1}" for i in range(len(shape))]
    return ch.Joint.from_counts(counts, ["W", *names]), names


def _rest(told, x):
    """What makes the weights of W at x sum to the same everywhere: the product of the sums elsewhere."""
    rest = 1
    for other, weights in told.items():
        if other != x:
            rest *= sum(weights)
    return rest


def question_of(draw: Random, names: list[str]) -> dict:
    """What is asked of such a law."""
    asked = draw.choice(["each", "each", "one", "pair", "given", "target", "order"])
    if asked == "one":
        return {"protect": [names[0]], "use": names}
    if asked == "pair":
        return {"protect": [(names[0], names[1])], "use": names}
    if asked == "given":
        return {"protect": [names[0], f"{names[0]} | {names[1]}"], "use": names}
    if asked == "target":
        return {"protect": [f"{names[0]} | W"], "use": names}
    if asked == "order" and len(names) > 2:
        return {"order": 2}
    return {}


@contextlib.contextmanager
def interrupted_after(seconds: float):
    """Ctrl-C, for real, once the processor worked for so long."""
    if seconds <= 0:
        yield
        return
    before = signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limits_of(draw: Random, way: str) -> tuple[dict, float]:
    """The arguments that end a search this way, and after how many seconds of work there is a Ctrl-C."""
    if way == "tolerance":
        return {"tol": draw.choice([0.5, 1e-2, 1e-4]), "rel_tol": draw.choice([None, 0.1])}, 0.0
    if way == "time limit":
        return {"time_limit": draw.choice([0.0, 1e-4, 1e-3, 0.02, 0.1])}, 0.0
    if way == "few codes":
        return {"codes": draw.choice([1, 2, 3])}, 0.0
    return {}, draw.uniform(0.001, 0.15) if way == "Ctrl-C" else 0.0


def solved(draw: Random, tally: Tally, law, asked: dict, way: str) -> object | None:
    """The disclosure, or None where this solver does not take the problem, or Ctrl-C came outside of the search."""
    limits, moment = limits_of(draw, way)
    try:
        with interrupted_after(moment):
            return ch.disclose(law, "W", **asked, **limits)
    except ProblemError:
        tally.note("a solver that does not take a problem says so")
    except KeyboardInterrupt:
        tally.note("Ctrl-C outside of the search ends the program, as it should")
    return None


def check_disclosure(tally: Tally, d, way: str, exact: bool = True) -> None:
    """Promises in fractions; the file by its verifier; the interval against the optimum of other code."""
    document = json.loads(document_to_text(d.document))
    records = list(records_of(document["law"], document["use"]))
    for promise in promises_of(document):
        tally.expect(
            kept(records, document, promise), "promises recomputed in fractions", f"{promise} ({way}, {d.how})"
        )
    try:
        refused = "" if check(d.document)["verified"] else "not verified"
    except VerificationError as error:
        refused = str(error)
    tally.expect(not refused, "files that the verifier accepts", f"{refused} ({way}, {d.how})")
    if exact and len(document["channel"]["states"]) <= optimum.MOST_STATES:
        low, high = optimum.optimum(document)
        stated = [Fraction(document["claims"][key]) for key in ("information", "upper_bound")]
        words = f"{way}, {d.how}: {[float(x) for x in (*stated, low)]}"
        tally.expect(stated[0] <= high + STATED, "no code tells more than the optimum", words)
        tally.expect(low <= stated[1] + STATED, "no bound is below the optimum", words)
        if d.notes["status"] == "optimal" and way == "in peace":
            tally.expect(stated[0] >= low - Fraction(CLOSE), "what is called optimal is the optimum", words)


def a_hard_law(draw: Random, folder: Path, tally: Tally) -> None:
    """One hard law, one solver, one way of stopping it."""
    law, names = law_of(draw)
    way = draw.choice(WAYS)
    asked = question_of(draw, names) | {"solver": draw.choice(SOLVERS)}
    d = solved(draw, tally, law, asked, way)
    if d is not None:
        tally.note(f"stopped by: {way}")
        check_disclosure(tally, d, way)


def a_budget(draw: Random, folder: Path, tally: Tally) -> None:
    """A factor in place of independence: kept in integers, whatever ended the search."""
    law, names = law_of(draw)
    way = draw.choice(WAYS)
    factor = draw.choice([Fraction(21, 20), Fraction(5, 4), Fraction(10**12 + 1, 10**12)])
    d = solved(draw, tally, law, {"ratio": {names[0]: factor}}, way)
    if d is not None:
        check_disclosure(tally, d, way, exact=False)


def a_purpose(draw: Random, folder: Path, tally: Tally) -> None:
    """Decisions and squares: the value in fractions against the linear program of `exact_lp`."""
    from exact_lp import least_loss

    law, names = law_of(draw)
    way, utility = draw.choice(WAYS[:4]), draw.choice(PURPOSES)
    d = solved(draw, tally, law, {"utility": utility}, way)
    if d is None:
        return
    document = json.loads(document_to_text(d.document))
    records = list(records_of(document["law"], document["use"]))
    for promise in promises_of(document):
        tally.expect(
            kept(records, document, promise), "promises recomputed in fractions", f"{promise} ({way}, {d.how})"
        )
    tally.expect(bool(check(d.document)["verified"]), "files that the verifier accepts", d.how)
    if utility == "accuracy":
        values = sorted({cell[law.position("W")] for cell, _ in law.items()})
        lines = [{w: Fraction(int(w != a)) for w in values} for a in values]
        best = 1 - least_loss(law, ["W"], names, [((name,), (), {}) for name in names], lines)
        words = f"{way}, {d.how}: {d.value}, {best}, {d.value_bound}"
        tally.expect(Fraction(d.value) <= best + Fraction(1, 10**12), "no code tells more than the optimum", words)
        tally.expect(best <= Fraction(d.value_bound) + Fraction(1, 10**12), "no bound is below the optimum", words)


def samples(draw: Random, folder: Path, tally: Tally) -> None:
    """Laws of samples and sensors, recomputed one reading at a time."""
    way = draw.choice(WAYS[:4])

    def shares(size):
        parts = [draw.choice([1, 1, 3, 10**15, 10**30]) for _ in range(size)]
        return [Fraction(part, sum(parts)) for part in parts]

    if draw.random() < 0.5:
        law, asked = (
            ch.Exchangeable(shares(2), [shares(2), shares(2)], draw.randint(3, 5)),
            {"order": draw.randint(1, 2)},
        )
    else:
        scores = [[draw.randint(-2, 2) for _ in range(2)] for _ in range(3)]
        law, asked = ch.Sensors(shares(2), [[shares(2), shares(2)] for _ in range(3)], scores=scores), {}
    d = solved(draw, tally, law, asked, way)
    if d is not None:
        check_disclosure(tally, d, way)


ATTACKS = [
    Attack("exactness", a_hard_law, short=30, share=4),
    Attack("exactness", a_budget, short=5, share=1),
    Attack("exactness", a_purpose, short=8, share=1),
    Attack("exactness", samples, short=8, share=1),
]
