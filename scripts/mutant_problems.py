"""Problems whose solutions go through everything in `exact/`, and hard inputs to its functions: what is made, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

Made = Callable[[], str]


def exact_cases() -> list[Made]:
    """All of them."""
    return [*repaired(), *within_budgets(), *decided(), *pivoted(), *read(), *solved()]


def solved() -> Iterator[Made]:
    """Problems of every kind; their documents without notes."""
    import test_corpus
    import test_second_verifier as pair
    from attack import bank

    import choral as ch

    names = ("enumeration", "three values", "protected unseen", "pairs", "self")
    rounded = (
        "transport in orbits",
        "exchangeable",
        "sensors",
        "sandwich of two",
        "few codes",
        "also",
        "leakage",
        "ratio",
        "no time",
    )
    makers = [test_corpus.EXACT[n] for n in names] + [test_corpus.ROUNDED[n] for n in rounded]
    makers += [pair.MADE[n] for n in ("given", "rank", "values")] + list(bank.PURPOSES.values())
    huge = {(w, x, y): 1 + 10**30 * ((3 * w + 5 * x + 7 * y) % 4) for w in (0, 1) for x in (0, 1) for y in (0, 1, 2)}
    makers.append(lambda: ch.disclose(ch.Joint.from_counts(huge, ["W", "X1", "X2"]), solver="sandwich", tol=1e-3))
    equal = {(x ^ y, x, y): 1 for x in (0, 1) for y in (0, 1)}
    makers.append(lambda: ch.disclose(ch.Joint.from_counts(equal, ["W", "X1", "X2"])))  # one bit, exactly
    makers.append(lambda: ch.disclose(ch.examples.clinic(), "diagnosis", leakage={"smoker": Fraction(1, 50)}, tol=1e-3))

    def text(make: Callable[[], Any]) -> str:
        from choral.exact.certificate import document_to_text

        d = make()
        d.verify()
        kept = {key: value for key, value in d.document.items() if key not in ("notes", "digest")}
        return document_to_text(kept)

    return (lambda make=make: text(make) for make in makers)


def rows_of(channel: Any) -> str:
    """A channel as text."""
    return f"{channel.codes} {list(channel.rows)}"


def refusal(error: type[Exception], make: Made) -> Made:
    """What is made, or the kind of the error."""

    def made() -> str:
        try:
            return make()
        except error as raised:
            return type(raised).__name__

    return made


# ---- repair ----------------------------------------------------------------------------------------------------------------


def rough_channels() -> Iterator[tuple[Any, Any]]:
    """Problems with channels in floats that are private, nearly, or not at all; some lack room, codes or sense."""
    import choral as ch

    d = ch.disclose(ch.examples.clinic(), "diagnosis")
    size, random = d.problem.size, np.random.default_rng(16)
    for noise in (0.0, 1e-16, 1e-9, 1e-4, 1e-2):
        yield d.problem, d.channel + noise * random.random(d.channel.shape)
        yield d.problem, d.channel - noise * random.random(d.channel.shape)
    for codes in (1, 2, 3, 5):
        yield d.problem, random.random((codes, size))
        yield d.problem, np.eye(codes)[np.arange(size) % codes].T
    for mass in (1e-3, 1e-12, 1e-18, 1e-30):
        rough = np.vstack([d.channel, np.zeros(size)])
        rough[:, 0] *= 1 - mass
        rough[-1, 0] = mass
        yield d.problem, rough
        yield d.problem, np.vstack([d.channel[:1] * mass, d.channel])
    yield d.problem, np.ones((2, size - 1))
    yield d.problem, np.ones(size)
    for odd in (np.nan, np.inf, 0.0, -1.0):
        yield d.problem, np.full((2, size), odd)
        one = d.channel.copy()
        one[:, 3] = odd
        yield d.problem, one
        one = d.channel.copy()
        one[0, 3] = odd
        yield d.problem, one
    for off in (10**15, 10**30):  # a dependence that floats cannot see
        cells = {
            (w, x, z): (off + (1 if z else -1) * {1: 1, 2: -1}.get(x, 0)) * (1 + (w + x) % 2)
            for w in range(2)
            for x in range(3)
            for z in range(2)
        }
        unseen = ch.disclose(ch.Joint.from_counts(cells, names=["W", "X", "Z"]), "W", [("Z",)], ["X"])
        yield unseen.problem, np.array([[0.9, 0.6, 0.1], [0.1, 0.4, 0.9]])
    free = ch.Joint.from_counts({(w, x, 0): 1 + w * x for w in (0, 1) for x in (0, 1, 2)}, ["W", "X", "Z"])
    for codes in (1, 2, 3):  # nothing is asked of the code
        yield ch.disclose(free, "W", ["Z"], ["X", "Z"]).problem, random.random((codes, 3))
    wide = ch.disclose(ch.examples.noisy_copies(4), "W")
    yield wide.problem, wide.channel + 1e-9 * random.random(wide.channel.shape)
    yield wide.problem, random.random((3, wide.problem.size)) ** 4
    uneven = {(w, x, y): 1 + 10 ** (3 * x + 4 * y) * (1 + w) for w in (0, 1) for x in range(4) for y in range(3)}
    steep = ch.disclose(ch.Joint.from_counts(uneven, ["W", "X1", "X2"]), "W", ["X1"], ["X1", "X2"])
    for power in (1, 9, 40):
        yield steep.problem, random.random((3, steep.problem.size)) ** power


def repaired() -> Iterator[Made]:
    """Channels in floats made private; also in parts of few states, with few candidates, and mixed at once."""
    from choral.exact import repair

    ways: list[dict[str, Any]] = [{"ROUNDS": 3}, {"PART": 3, "FEW_STATES": 2}, {"ROUNDS": 1}]

    def text(problem: Any, rough: Any, way: dict[str, Any]) -> str:
        with mock.patch.multiple(repair, **way):
            return rows_of(repair.repair(problem, rough))

    from choral.errors import SolverError

    for problem, rough in rough_channels():
        for way in ways:
            yield refusal(SolverError, lambda p=problem, r=rough, w=way: text(p, r, w))


# ---- budgets ---------------------------------------------------------------------------------------------------------------


def within_budgets() -> Iterator[Made]:
    """Channels that tell too much of a group, by little or much, mixed until they do not; and what is stated of them."""
    import choral as ch
    from choral.exact import information, keep_budgets
    from choral.problem.solution import ExactChannel

    law, size = ch.examples.noisy_copies(2), 4
    asked: list[dict[str, Any]] = [
        {"leakage": {"X1": Fraction(1, n)}} for n in (2, 20, 10**6)
    ] + [{"ratio": {"X1": r}} for r in (Fraction(10), Fraction(5, 4), Fraction(10**9 + 1, 10**9))]  # fmt: skip
    asked += [{"leakage": {"X1": Fraction(1, 50)}, "ratio": {"X2": 2}}, {"ratio": {"X1": Fraction(3, 2), "X2": 3}}]
    rows = [[(1, ((s % codes, 1),)) for s in range(size)] for codes in (1, 2, 3)] + [
        [(7, ((0, 3 + s % 2), (1, 4 - s % 2))) for s in range(size)],
        [(9, ((0, 8), (1, 1)))] + [(9, ((0, 9),))] * 3,
    ]

    def text(problem: Any, channel: Any) -> str:
        kept = keep_budgets.within_budgets(problem, channel)
        leaks = [information.stated_leakage(problem, g, kept) for g in range(len(problem.groups))]
        return f"{rows_of(kept)} {leaks} {information.stated_information(problem, kept)}"

    for budgets in asked:
        problem = ch.disclose(law, "W", **budgets, time_limit=0).problem
        for entries in rows:
            codes = 1 + max(y for _, row in entries for y, _ in row)
            channel = ExactChannel(codes, tuple(entries))
            yield lambda problem=problem, channel=channel: text(problem, channel)
    private = ch.disclose(law, "W").problem
    yield lambda: rows_of(keep_budgets.within_budgets(private, ExactChannel(1, ((1, ((0, 1),)),) * private.size)))


# ---- decisions -------------------------------------------------------------------------------------------------------------


def decision_problems() -> list[tuple[Any, Any]]:
    """Problems with a loss, of few states; some degenerate, some with large numbers."""
    import random

    import choral as ch

    draw, found = random.Random(16), []
    for shape, most in (((2, 2), 9), ((2, 3), 3), ((3, 3), 10**20), ((2, 2, 2), 2)):
        cells = [(w, *x) for w in range(3) for x in np.ndindex(*shape)]
        names = ["W", *(f"X{i + 1}" for i in range(len(shape)))]
        law = ch.Joint.from_counts({cell: draw.randint(1, most) for cell in cells}, names)
        utilities = ["accuracy", {(f"a{a}", w): draw.randint(-2, 5) for a in range(4) for w in range(3)}]
        for protect in (["X1"], ["X1", "X2"], ["X1 | X2"]):
            for utility in utilities:
                d = ch.disclose(law, "W", protect, names[1:], utility=utility)
                found.append((d.problem, d.problem.utility.lines))
    return found


def decided() -> Iterator[Made]:
    """The best channel for the least of some lines: from the basis of floats, by pivots, and by repair."""
    from choral.exact import decisions, purpose

    ways: list[dict[str, Any]] = [
        {"TRIES": 4},
        {"System": mock.Mock(of=lambda *_: None)},
        {"System": mock.Mock(of=lambda *_: None), "MOST_PIVOTED": 0},
    ]

    def text(problem: Any, lines: Any, way: dict[str, Any]) -> str:
        with mock.patch.multiple(decisions, **way):
            found = decisions.best_for_lines(problem, lines)
        worth = purpose.stated_value(problem, found.channel), purpose.value_of_nothing(problem)
        said = f"{found.lines} {found.bound} {found.cost} {found.least} {found.optimal} {worth}"
        return f"{rows_of(found.channel)} {said} {purpose.advised(problem, found.channel)}"

    for problem, lines in decision_problems():
        for way in ways:
            yield lambda p=problem, line=lines, w=way: text(p, line, w)


def pivoted() -> Iterator[Made]:
    """An optimal basis by pivots from one line for everybody, by either rule and stopped; and bases that are none."""
    from choral.exact import pivots
    from choral.problem.form import equations
    from choral.proofs.purpose import costs
    from choral.solvers.decisions import Found, Program

    def text(problem: Any, lines: Any, patience: int, turns: int, first: int) -> str:
        cost, matrix = costs(problem, lines), equations(problem).at(range(problem.size))
        left = iter(range(turns))
        with mock.patch.object(pivots, "PATIENCE", patience):
            start = [[first]] * problem.size
            system = pivots.pivoted(start, [], [], cost, matrix, lambda: next(left, None) is None)
        if system is None:
            return "stopped"
        return f"{system.base} {system.shared} {system.kept} {system.shares()} {system.multipliers()}"

    def proposed(problem: Any, lines: Any, change: Callable[[Any], Any]) -> str:
        cost, matrix = costs(problem, lines), equations(problem).at(range(problem.size))
        found = Program(problem, cost).solved()
        parts = change([[list(x) for x in found.basis], list(found.slack), list(found.held)])
        system = pivots.System.of(Found(*parts, found.channel, found.prices), cost, matrix)
        shares = None if system is None else system.shares()
        return "none" if system is None or shares is None else f"{shares} {system.multipliers()}"

    changes: list[Callable[[Any], Any]] = [
        lambda b: b,
        lambda b: [b[0], b[1], b[2][:-1]],
        lambda b: [[[], *b[0][1:]], b[1], b[2]],
        lambda b: [b[0], [*b[1], 0], [*b[2], (0, 0)]],
        lambda b: [[[1 - x[0] % 2] for x in b[0]], [], []],
        lambda b: [[[0]] * len(b[0]), [], []],
    ]
    for problem, lines in decision_problems():
        for patience, turns, first in ((20, 10**4, 0), (-1, 10**4, 0), (2, 10**4, 1), (20, 3, 0)):
            yield lambda p=problem, x=lines, k=patience, n=turns, f=first: text(p, x, k, n, f)
        for change in changes:
            yield lambda p=problem, x=lines, c=change: proposed(p, x, c)


# ---- files -----------------------------------------------------------------------------------------------------------------


def read() -> Iterator[Made]:
    """Documents that are read again, as they are and forged."""
    import copy
    import random
    from pathlib import Path

    from attack import bank, forging

    from choral.design.load import of_document
    from choral.errors import ChoralError
    from choral.exact import certificate

    def text(document: Any) -> str:
        found = certificate.read_and_check(certificate.document_to_text(document), "here")
        again = of_document(found, Path("here"))
        return f"{again.claims} {again.problem.budgets} {again.problem.utility} {again.digest}"

    def private(document: Any) -> str:
        certificate.check_privacy(document)
        return f"{certificate.check(document, until='privacy')}"

    draw = random.Random(16)
    for document in bank.honest().values():
        tried = [certificate.sealed(document), document, {**document, "notes": {"digest": "as before"}}]
        for change in (forging.move_mass, forging.claim_more):
            tried.append(copy.deepcopy(document))
            change(tried[-1], draw)
            tried[-1] = certificate.sealed(tried[-1])
        for one in tried:
            yield refusal(ChoralError, lambda one=one: text(one))
            yield refusal(ChoralError, lambda one=one: private(one))
