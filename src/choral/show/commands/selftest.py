"""`choral selftest`: a minute of random problems on this machine, each recomputed in another way than it was solved.

What is checked is recomputed here from the text of the release file, in fractions over every possible record, by code
that shares nothing with the solvers and the verifier: samples and sensors are listed one by one, which neither does.
"""

from __future__ import annotations

import copy
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.show.options import AsJson, examples, print_json
from choral.version import __version__

if TYPE_CHECKING:
    from choral.design.result import Disclosure

EPILOG = examples("choral selftest", "choral selftest --seconds 600 --seed 7")
SMALL = 6
"""States up to which the paper's own algorithm, which tries everything, takes a moment."""
CLOSE = 1e-9
"""Bits that two ways of computing an optimum may differ by: the paper's is summed in floats."""

Record = tuple[Fraction, dict[str, int], tuple[int, ...]]
"""A possible record: its probability, the value of each column, and its state."""


@dataclass
class Tally:
    """What was tried, how often, and what did not hold: a sentence each."""

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str, otherwise: str) -> None:
        """Count one thing that was tried; note it where it does not hold."""
        self.counts[what] += 1
        if not holds:
            self.broken.append(otherwise)


def selftest(
    seconds: Annotated[float, typer.Option(help="How long to go on; what has begun is finished.", min=0)] = 60.0,
    seed: Annotated[int | None, typer.Option(help="Repeat the problems of an earlier run.", min=0)] = None,
    as_json: AsJson = False,
) -> None:
    """Try choral on this machine: random problems, solved, recomputed another way, and forged.

    Says what held, and how often; exit status 0 only if everything did. It proves the cases that it tried, no others; the
    seed repeats them.
    """
    from choral.design.limits import ending_all
    from choral.phases import phase

    start, seed = time.monotonic(), random.SystemRandom().randrange(10**9) if seed is None else seed
    tally, draw = Tally(), random.Random(seed)
    with ending_all():
        with phase("giving a table out twice"):
            twice_and_alone(tally)
        while not tally.counts["problems"] or time.monotonic() - start < seconds:
            name, make = draw.choice(PROBLEMS)
            number = tally.counts["problems"]
            with phase(f"trying problem {number}, {name}"):
                try_one(make(draw), draw, tally, f"problem {number} ({name}) of seed {seed}")
    took = time.monotonic() - start
    if as_json:
        found = {"held": not tally.broken, "seed": seed, "seconds": round(took, 1), "tried": dict(tally.counts)}
        print_json(found | {"broken": tally.broken, "version": __version__, "python": platform.python_version()})
    else:
        say(tally, seed, took)
    if tally.broken:
        raise typer.Exit(1)


def say(tally: Tally, seed: int, took: float) -> None:
    """Print what held, in words."""
    n = tally.counts
    where = f"choral {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, seed {seed}"
    lines = [
        f"tried    {n['problems']} random problems in {took:.0f} s ({where})",
        f"private  {n['promises']} promises, each recomputed in fractions over every possible record",
        f"best     {n['optima']} small problems solved again by the paper's algorithm: no better, and no worse than stated",
        f"refused  {n['forgeries']} forged files: mass moved between codes, more told than is true, a bound too low",
        f"alone    {n['alone']} file checked by the one-file verifier in a process of its own, and a forged one refused",
        f"once     {n['once']} table given out twice: the same codes; and other codes for the same people refused",
    ]
    for line in lines:
        typer.echo(line)
    for sentence in tally.broken:
        typer.echo(f"BROKEN   {sentence}")
    if tally.broken:
        typer.echo("FAILED   do not rely on this installation; please report the lines above")
    else:
        typer.echo("HELD     all of it, in every case tried; docs/promises.md says what is not promised")


# ---- random problems, unkind on purpose --------------------------------------------------------------------------------


def _weights(draw: random.Random) -> Callable[[], int]:
    top = draw.choice([2, 9, 1000, 10**12, 10**30])
    return lambda: draw.randint(1, top)


def _law(draw: random.Random, sizes: Sequence[int], names: Sequence[str]) -> Any:
    """A law with every value of every column, some impossible cells, and weights of very different size."""
    from choral.describe.joint import Joint

    weight, empty = _weights(draw), draw.choice([0.0, 0.0, 0.3])
    cells = [cell for cell in product(*map(range, sizes)) if draw.random() >= empty]
    cells += [tuple(min(value, size - 1) for size in sizes) for value in range(max(sizes))]
    return Joint.from_counts({cell: weight() for cell in cells}, list(names))


def _shares(draw: random.Random, size: int) -> list[Fraction]:
    parts = [draw.randint(1, 9) for _ in range(size)]
    return [Fraction(part, sum(parts)) for part in parts]


def _plain(draw: random.Random) -> Disclosure:
    from choral.design.disclose import disclose

    sizes = [draw.randint(2, 3), 2, *draw.choice([(2,), (3,), (2, 2)])]
    return disclose(_law(draw, sizes, ["W", "X1", "X2", "X3"][: len(sizes)]))


def _pair(draw: random.Random) -> Disclosure:
    from choral.design.disclose import disclose

    return disclose(_law(draw, (2, 2, 2, 2), ["W", "A", "B", "C"]), "W", ["A+B", "C"])


def _condition(draw: random.Random) -> Disclosure:
    from choral.design.disclose import disclose

    protect = draw.choice([["Z", "Z | V"], ["Z | V"], ["Z | W"], ["Z | W=1"]])
    return disclose(_law(draw, (2, 2, 2, 2), ["W", "Z", "V", "X"]), "W", protect, ["Z", "V", "X"])


def _ratio(draw: random.Random) -> Disclosure:
    from choral.design.disclose import disclose

    return disclose(_law(draw, (2, 2, 2), ["W", "X1", "X2"]), ratio={"X1": Fraction(5, 4)}, tol=1e-3)


def _samples(draw: random.Random) -> Disclosure:
    from choral.describe.exchangeable import Exchangeable
    from choral.design.disclose import disclose

    law = Exchangeable(_shares(draw, 2), [_shares(draw, 2) for _ in range(2)], draw.randint(3, 6))
    return disclose(law, order=draw.randint(1, 2))


def _sensors(draw: random.Random) -> Disclosure:
    from choral.describe.sensors import Sensors
    from choral.design.disclose import disclose

    sizes = [draw.randint(2, 3) for _ in range(3)]
    scores = [[draw.randint(-3, 3) for _ in range(size)] for size in sizes]
    return disclose(
        Sensors(_shares(draw, 2), [[_shares(draw, size) for _ in range(2)] for size in sizes], scores=scores)
    )


PROBLEMS: list[tuple[str, Callable[[random.Random], Disclosure]]] = [
    ("columns", _plain),
    ("columns", _plain),
    ("pairs", _pair),
    ("conditions", _condition),
    ("a ratio", _ratio),
    ("samples", _samples),
    ("sensors", _sensors),
]


# ---- another way of computing -------------------------------------------------------------------------------------------


def try_one(disclosure: Disclosure, draw: random.Random, tally: Tally, where: str) -> None:
    """Recompute the promises of a disclosure, its optimum if that is quick, and forge its file."""
    from choral.exact.certificate import document_to_text

    document = json.loads(document_to_text(disclosure.document))
    tally.counts["problems"] += 1
    records = list(records_of(document["law"], document["use"]))
    for promise in promises_of(document):
        tally.expect(kept(records, document, promise), "promises", f"{where}: {promise} is not kept")
    tally.expect(accepts(document), "files", f"{where}: the verifier refuses what is true")
    problem = disclosure.problem
    if document["law"]["kind"] == "table" and problem.size <= SMALL and not (problem.budgets or problem.conditions):
        from choral.solvers.reference import find_optimal_mapping

        best, _ = find_optimal_mapping(problem)
        between = float(disclosure.information) - CLOSE <= best <= float(disclosure.upper_bound) + CLOSE
        tally.expect(between, "optima", f"{where}: the paper's algorithm tells {best} bits")
    for forged in forgeries(document, draw):
        true = (
            all(kept(records, forged, promise) for promise in promises_of(forged))
            and forged["claims"] == document["claims"]
        )
        if not true:
            tally.expect(not accepts(forged), "forgeries", f"{where}: the verifier accepts a forged file")


def records_of(law: dict[str, Any], use: Sequence[str]) -> Iterator[Record]:
    """Every possible record of a law, of samples and sensors one reading at a time."""
    if law["kind"] == "table":
        for *cell, weight in law["cells"]:
            values = dict(zip(law["columns"], cell, strict=True))
            yield Fraction(int(weight, 16)), values, tuple(values[name] for name in use)
        return
    alike = law["kind"] == "exchangeable"
    channels = [law["channel"]] * law["n"] if alike else law["channels"]
    for w, chance in enumerate(map(_fraction, law["prior"])):
        rows = [list(map(_fraction, channel[w])) for channel in channels]
        for readings in product(*(range(len(row)) for row in rows)):
            likely = chance
            for row, reading in zip(rows, readings, strict=True):
                likely *= row[reading]
            values = {"W": w} | {f"X{i + 1}": reading for i, reading in enumerate(readings)}
            if alike:
                state = tuple(readings.count(value) for value in range(len(rows[0])))
            else:
                state = (sum(scores[reading] for scores, reading in zip(law["scores"], readings, strict=True)),)
            yield likely, values, state


def _fraction(text: str) -> Fraction:
    above, _, below = text.partition("/")
    return Fraction(int(above, 16), int(below or "1", 16))


@dataclass(frozen=True)
class Promise:
    """Columns of which the code shall tell nothing to whoever knows others, where these have certain values; or a factor."""

    hidden: tuple[str, ...]
    known: tuple[str, ...] = ()
    only: tuple[tuple[str, int], ...] = ()
    factor: Fraction = Fraction(1)


def promises_of(document: dict[str, Any]) -> list[Promise]:
    """What a file promises. Any k of n samples are the first k, and the last."""
    law, found = document["law"], []
    budgets = document.get("budgets") or [None] * len(document["protect"])
    for group, budget in zip(document["protect"], budgets, strict=True):
        factor = _fraction(budget["ratio"]) if budget else Fraction(1)
        if group[0].startswith("any ") and law["kind"] == "exchangeable":
            names, k = [f"X{i + 1}" for i in range(law["n"])], int(group[0].removeprefix("any "))
            found += [Promise(tuple(names[:k])), Promise(tuple(names[-k:]))]
        else:
            found.append(Promise(tuple(group), factor=factor))
    for entry in document.get("given", []):
        only = entry.get("only", {})
        places = {name: law["alphabets"][law["columns"].index(name)].index(value) for name, value in only.items()}
        found.append(Promise(tuple(entry["hidden"]), tuple(entry["known"]), tuple(places.items())))
    return found


def kept(records: Sequence[Record], document: dict[str, Any], promise: Promise) -> bool:
    """Whether p(z, y | v) = p(z | v) p(y | v) for all of them, or within the factor: in fractions, one record at a time."""
    channel = document["channel"]
    rows = {
        tuple(state): [(y, Fraction(int(n, 16), int(below, 16))) for y, n in entries]
        for state, (below, *entries) in zip(channel["states"], channel["rows"], strict=True)
    }
    joint: Counter[tuple[tuple[int, ...], tuple[int, ...], int]] = Counter()
    for likely, values, state in records:
        if all(values[name] == place for name, place in promise.only):
            z, v = (tuple(values[name] for name in names) for names in (promise.hidden, promise.known))
            for y, share in rows[state]:
                joint[z, v, y] += likely * share  # type: ignore[assignment]
    of_v, of_z, of_y = Counter[Any](), Counter[Any](), Counter[Any]()
    for (z, v, y), mass in joint.items():
        of_v[v] += mass
        of_z[z, v] += mass
        of_y[v, y] += mass
    for (z, v), before in of_z.items():
        for y in range(channel["codes"]):
            here, even = joint[z, v, y] * of_v[v], before * of_y[v, y]
            if not here <= promise.factor * even or not even <= promise.factor * here:
                return False
    return True


def accepts(document: dict[str, Any]) -> bool:
    """Whether the verifier accepts a document, resealed."""
    from choral.errors import VerificationError
    from choral.exact.certificate import check, sealed

    try:
        check(sealed(document))
    except VerificationError:
        return False
    return True


def forgeries(document: dict[str, Any], draw: random.Random) -> Iterator[dict[str, Any]]:
    """One unit of mass moved from a code to another; more bits than are told; a bound below what is told."""
    shared = [i for i, row in enumerate(document["channel"]["rows"]) if len(row) > 2]
    if shared:
        forged = copy.deepcopy(document)
        row = forged["channel"]["rows"][draw.choice(shared)]
        scale = draw.choice([1, 10**6])
        row[0] = f"{int(row[0], 16) * scale:x}"
        for entry in row[1:]:
            entry[1] = f"{int(entry[1], 16) * scale:x}"
        first, second = draw.sample(row[1:], 2)
        if int(first[1], 16) > 1:
            first[1], second[1] = f"{int(first[1], 16) - 1:x}", f"{int(second[1], 16) + 1:x}"
            yield forged
    for key, change in (("information", 3e-15), ("information", 0.01), ("upper_bound", -3e-15)):
        forged = copy.deepcopy(document)
        stated = Fraction(document["claims"][key]) + Fraction(change)
        if stated >= 0:
            forged["claims"][key] = f"{float(stated):.15f}"
            yield forged


# ---- one file, one table --------------------------------------------------------------------------------------------------


def twice_and_alone(tally: Tally) -> None:
    """The verifier as people copy it, in a process of its own; and a table that is given out twice."""
    from choral.describe.examples import clinic
    from choral.design.disclose import disclose
    from choral.verifier import JOINED

    with tempfile.TemporaryDirectory() as folder:
        file = disclose(clinic(), "diagnosis").save(Path(folder) / "demo.choral")
        forged = Path(folder) / "forged.choral"
        forged.write_text(
            file.read_text(encoding="utf-8").replace('"information":"0.', '"information":"1.'), encoding="utf-8"
        )
        command = [sys.executable, "-I", str(JOINED)]
        statuses = [
            subprocess.run([*command, path], capture_output=True, check=False).returncode for path in (file, forged)
        ]
        tally.expect(statuses == [0, 1], "alone", f"the one-file verifier ended with {statuses}, not with 0 and 1")
        with _notes_kept_in(Path(folder)):
            tally.expect(*_given_out(Path(folder)))


@contextmanager
def _notes_kept_in(folder: Path) -> Iterator[None]:
    """What is noted of ledgers in the user's folder for state goes into this one, which will be gone."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    try:
        yield
    finally:
        del os.environ["XDG_STATE_HOME"]
        if before is not None:
            os.environ["XDG_STATE_HOME"] = before


def _given_out(folder: Path) -> tuple[bool, str, str]:
    """Whether the same people get the same codes, and no others."""
    from choral.draw.engine import disclose_table
    from choral.errors import ChoralError
    from choral.release.fit import fit

    table, book = folder / "table.csv", folder / "choral.ledger"
    people = [f"p{i},{'ill' if i * i % 3 else 'well'},{'fm'[i % 2]},{'ns'[i // 2 % 2]}" for i in range(120)]
    table.write_text("\n".join(["person,outcome,sex,region", *people]) + "\n", encoding="utf-8")
    releases = [fit(table, "outcome", ["sex"], use=["sex", "region"]) for _ in range(2)]
    codes = []
    for name in ("first", "again"):
        disclose_table(releases[0], table, folder / f"{name}.csv", book, id="person")
        codes.append((folder / f"{name}.csv").read_bytes())
    try:
        disclose_table(releases[1], table, folder / "other.csv", book, id="person")
        refused = False
    except ChoralError:
        refused = True
    return (
        codes[0] == codes[1] and refused,
        "once",
        "a table was given out twice with different codes, or under two keys",
    )
