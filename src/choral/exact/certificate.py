"""The certificate: one JSON document with the law, the channel and the proof, all in integers (hexadecimal).

`release_document` builds it; `document_to_text` and `text_to_document` are the file format, version 1, described in
docs/release-format.md. Only what the verifier accepts is ever written to a file (see `choral.design.result`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from choral.describe.channels import Channel
from choral.describe.compact import Exchangeable, Sensors
from choral.describe.joint import Joint
from choral.describe.law import Law
from choral.errors import ReleaseFileError, VerificationError
from choral.problem.budget import Budget
from choral.problem.form import condition_rows, further_rows
from choral.problem.kernel import Conditional, Problem
from choral.problem.promises import Promise
from choral.problem.solution import (
    Bound,
    Claims,
    DeterminedBound,
    ExactChannel,
    GroupBound,
    LinesBound,
    RankBound,
    Row,
    Solution,
    VertexBound,
)
from choral.verifier import command, reading
from choral.verifier.claims import ClaimFailed

T = TypeVar("T")
FORMAT = "choral release"
VERSION = 1
LATER = 2
"""The version of a document with a promise under a condition, or proved by the closed form: older verifiers refuse it."""
MEMBERS = (
    "format",
    "version",
    "law",
    "reveal",
    "use",
    "protect",
    "channel",
    "claims",
    "bound",
    "notes",
    "budgets",
    "also",
    "given",
)
"""What a document of a disclosure may hold; a release of a table adds members of its own."""


def release_document(
    law: Law, problem: Problem, solution: Solution, claims: Claims, notes: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that a checker needs to recompute the claims of a solution, with its digest."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "law": _law(law, problem),
        "reveal": list(problem.target.columns),
        "use": list(problem.columns),
        "protect": [list(group.columns) for group in problem.groups],
        "channel": _channel(law, problem, solution.channel),
        "claims": {
            "information": f"{claims.information:f}",
            "upper_bound": f"{claims.upper_bound:f}",
        },
        "bound": _bound(solution.bound, problem),
        "notes": dict(notes),
    }
    if problem.budgets:
        document["budgets"] = [None if b is None else {b.kind: hexadecimal([b.amount])[0]} for b in problem.budgets]
        document["claims"]["leakage"] = [None if bits is None else f"{bits:f}" for bits in claims.leakage]
    if problem.conditions or isinstance(solution.bound, RankBound):
        document["version"] = LATER
    if problem.conditions:
        document["given"] = [_promise(promise) for promise in problem.conditions]
    if problem.further:
        document["also"] = [_law(other.joint, problem) for other in problem.further]
    return sealed(document)


def _promise(promise: Conditional) -> dict[str, Any]:
    only = {"only": {column: encode(value) for column, value in promise.only}} if promise.only else {}
    return {"hidden": list(promise.hidden), "known": list(promise.known), **only}


def promises_of(document: Mapping[str, Any]) -> list[Promise]:
    """The promises of a document that have a condition."""
    return [
        Promise(
            tuple(given["hidden"]),
            tuple(given["known"]),
            tuple((column, decode(value)) for column, value in given.get("only", {}).items()),
        )
        for given in document.get("given", [])
    ]


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the digest over everything else."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    return {**rest, "digest": reading.digest_of(rest)}


def check(
    document: Mapping[str, Any], say: Callable[[str], None] = lambda line: None, until: str = "bound"
) -> dict[str, Any]:
    """Run the stand-alone verifier on a document; raises `VerificationError` naming the first claim that fails.

    `say` gets what the verifier prints, line by line. Nothing is checked after `until`: "privacy", "information" or "bound".
    The budget of steps is the default: what passes here needs no larger one elsewhere.
    """
    try:
        found: dict[str, Any] = command.verify(document_to_text(document), say=say, until=until)
    except ClaimFailed as failed:
        raise VerificationError(failed.claim, failed.reason) from None
    return found


def check_privacy_and_information(document: Mapping[str, Any]) -> None:
    """Have the verifier check all but the upper bound, which stays claimed; raises `VerificationError` if a claim fails."""
    check(document, until="information")


def check_privacy(document: Mapping[str, Any]) -> None:
    """Have the verifier check the channel and its privacy alone; raises `VerificationError` if that fails."""
    try:
        command.check_privacy(dict(document))
    except ClaimFailed as failed:
        raise VerificationError(failed.claim, failed.reason) from None


def document_to_text(document: Mapping[str, Any]) -> str:
    """The text of a release file: JSON, one key per line at the top."""
    return "".join(_pieces(document))


def _pieces(document: Mapping[str, Any]) -> Iterator[str]:
    lead = "{\n"
    for key, value in document.items():
        yield f"{lead}{json.dumps(key)}: "
        yield from reading.pieces(value)
        lead = ",\n"
    yield "\n}\n"


def text_to_document(text: str, place: str) -> dict[str, Any]:
    """The document in the text of a release file, if it is whole; raises `ReleaseFileError` otherwise."""
    try:
        return dict(reading.read(text))
    except ClaimFailed as failed:
        raise ReleaseFileError(
            f"{place} cannot be read as a release: {failed.claim}: {failed.reason}.",
            "Get the file again from whoever made it, or upgrade choral if the version is newer.",
        ) from None


def law_of(document: Mapping[str, Any]) -> Law:
    """The law that a document is about."""
    law = document["law"]
    if law["kind"] == "exchangeable":
        return Exchangeable(
            *_prior_and_rows(law["prior"], law["channel"]),
            n=law["n"],
            values=[decode(v) for v in law["values"]],
            target_values=[decode(v) for v in law["target values"]],
        )
    if law["kind"] == "sensors":
        prior = [_fraction(x) for x in law["prior"]]
        channels = [
            Channel(tuple(tuple(_fraction(x) for x in row) for row in table), tuple(decode(v) for v in values))
            for table, values in zip(law["channels"], law["values"], strict=True)
        ]
        return Sensors(prior, channels, scores=law["scores"])
    cells = {tuple(entry[:-1]): int(entry[-1], 16) for entry in law["cells"]}
    return Joint(law["columns"], [[decode(v) for v in alphabet] for alphabet in law["alphabets"]], cells)


def further_laws_of(document: Mapping[str, Any]) -> list[Law]:
    """The further laws under which a document claims privacy."""
    return [law_of({"law": law}) for law in document.get("also", [])]


def budgets_of(document: Mapping[str, Any]) -> tuple[Budget | None, ...]:
    """The budgets of a document, one per group, or nothing when all groups are private."""
    found: list[Budget | None] = []
    for listed in document.get("budgets", []):
        found.append(None)
        for kind, text in (listed or {}).items():
            found[-1] = Budget(kind, _fraction(text))
    return tuple(found)


def claims_of(document: Mapping[str, Any]) -> Claims:
    """What a document claims."""
    claims = document["claims"]
    leakage = tuple(None if text is None else Decimal(text) for text in claims.get("leakage", []))
    return Claims(Decimal(claims["information"]), Decimal(claims["upper_bound"]), leakage)


def bound_of(document: Mapping[str, Any], problem: Problem) -> Bound:
    """The proof of a document, on a problem posed on its law; which extreme points are tight is not in it."""
    proof = document["bound"]
    if proof["kind"] == "extreme points":
        swaps = tuple(tuple(columns) for columns in proof.get("exchangeable", []))
        return VertexBound(_fractions(proof["multipliers"]), (), swaps)
    if proof["kind"] == "group":
        return GroupBound(proof["group"])
    if proof["kind"] == "rank":
        return RankBound()
    number = {tuple(place): i for i, place in enumerate(_rows_of(problem))}
    rows = tuple(number[tuple(place)] for place in proof["rows"])
    if proof["kind"] == "determined":
        return DeterminedBound(rows, tuple(_fractions(row) for row in proof["coefficients"]))
    return LinesBound(
        int(proof["denominator"], 16),
        tuple(tuple(int(x, 16) for x in point) for point in proof["points"]),
        tuple(tuple(cell) for cell in proof["cells"]),
        rows,
        tuple(_fractions(row) for row in proof["multipliers"]),
        _fractions(proof.get("prices", [])),
    )


def _fractions(texts: Sequence[str]) -> tuple[Fraction, ...]:
    return tuple(_fraction(text) for text in texts)


def channel_of(document: Mapping[str, Any], law: Law, problem: Problem) -> ExactChannel:
    """The channel of a document, on the states of a problem posed on its law."""
    channel = document["channel"]
    rows = {}
    for state, (denominator, *entries) in zip(channel["states"], channel["rows"], strict=True):
        rows[tuple(state)] = int(denominator, 16), tuple((y, int(text, 16)) for y, text in entries)
    places = _places(law, problem)
    return ExactChannel(channel["codes"], tuple(rows[tuple(places(state))] for state in problem.states))


def _prior_and_rows(prior: list[str], rows: list[list[str]]) -> tuple[list[Fraction], list[list[Fraction]]]:
    return [_fraction(x) for x in prior], [[_fraction(x) for x in row] for row in rows]


def _fraction(text: str) -> Fraction:
    top, _, bottom = text.partition("/")
    return Fraction(int(top, 16), int(bottom or "1", 16))


def encode(value: Any) -> Any:
    """A symbol as JSON. Numbers, text, truth values and None stand for themselves; others are tagged."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ReleaseFileError(f"The value {value!r} is not valid text.", "Clean it first.") from None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else {"float": str(value)}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, datetime.datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    raise ReleaseFileError(
        f"The value {value!r} of type {type(value).__name__} cannot be written to a release.",
        "Use numbers, text, truth values, None, or tuples of them as symbols.",
    )


def decode(value: Any) -> Any:
    """The symbol that `encode` wrote."""
    if isinstance(value, dict):
        [(kind, content)] = value.items()
        if kind == "fraction":
            return Fraction(content)
        if kind == "float":
            return float(content)
        if kind == "datetime":
            return datetime.datetime.fromisoformat(content)
        if kind == "date":
            return datetime.date.fromisoformat(content)
        if kind == "decimal":
            return Decimal(content)
        if kind == "tuple":
            return tuple(decode(v) for v in content)
        raise ReleaseFileError(f"A symbol of kind '{kind}' is unknown.", "Upgrade choral.")
    return value


def _law(law: Law, problem: Problem) -> dict[str, Any]:
    if isinstance(law, Exchangeable):
        return {
            "kind": "exchangeable",
            "n": law.n,
            "prior": hexadecimal(law.prior),
            "channel": [hexadecimal(row) for row in law.channel],
            "values": [encode(value) for value in law.values],
            "target values": [encode(value) for value in law.target_values],
        }
    if isinstance(law, Sensors):
        return {
            "kind": "sensors",
            "prior": hexadecimal(law.prior),
            "channels": [[hexadecimal(row) for row in table] for table in law.channels],
            "values": [[encode(value) for value in values] for values in law.values],
            "scores": [list(row) for row in law.scores],
        }
    needed = {*problem.columns, *problem.target.columns, *(c for group in problem.groups for c in group.columns)}
    needed.update(c for promise in problem.conditions for c in promise.both.columns)
    part = law.marginal([name for name in law.names if name in needed])
    return {
        "kind": "table",
        "columns": list(part.names),
        "alphabets": [[encode(value) for value in alphabet] for alphabet in part.alphabets],
        "cells": _listed(list(part.cells.items()), lambda cell: [*cell[0], f"{cell[1]:x}"]),
    }


def _listed(items: Sequence[T], written: Callable[[T], list[Any]]) -> Any:
    """The items as they are written: a list, or where that would be long, one that is made as it is read."""
    if len(items) > reading.LONG:
        return reading.Lazy(len(items), lambda i: written(items[i]))
    return [written(item) for item in items]


def _places(law: Law, problem: Problem) -> Callable[[Sequence[Any]], list[int]]:
    """What writes a state as integers: positions in alphabets, counts of a type, or a score."""
    if not isinstance(law, Joint):
        return list
    positions = [{value: i for i, value in enumerate(law.alphabets[law.position(name)])} for name in problem.columns]
    return lambda state: [where[v] for where, v in zip(positions, state, strict=True)]


def _channel(law: Law, problem: Problem, channel: ExactChannel) -> dict[str, Any]:
    return {
        "codes": channel.codes,
        "states": _listed(problem.states, _places(law, problem)),
        "rows": _listed(channel.rows, _row),
    }


def _row(row: Row) -> list[Any]:
    denominator, entries = row
    return [f"{denominator:x}", *([y, f"{n:x}"] for y, n in entries)]


def _bound(bound: Bound, problem: Problem) -> dict[str, Any]:
    if isinstance(bound, VertexBound):
        proof: dict[str, Any] = {"kind": "extreme points", "multipliers": hexadecimal(bound.multipliers)}
        if bound.exchangeable:
            proof["exchangeable"] = [list(columns) for columns in bound.exchangeable]
        return proof
    if isinstance(bound, GroupBound):
        return {"kind": "group", "group": bound.group}
    if isinstance(bound, RankBound):
        return {"kind": "rank"}
    places = _rows_of(problem)
    if isinstance(bound, DeterminedBound):
        return {
            "kind": "determined",
            "rows": [places[i] for i in bound.rows],
            "coefficients": [hexadecimal(row) for row in bound.coefficients],
        }
    proof = {
        "kind": "lines",
        "denominator": f"{bound.denominator:x}",
        "points": [[f"{x:x}" for x in point] for point in bound.points],
        "cells": [list(cell) for cell in bound.cells],
        "rows": [places[i] for i in bound.rows],
        "multipliers": [hexadecimal(row) for row in bound.multipliers],
    }
    if any(bound.prices):
        proof["prices"] = hexadecimal(bound.prices)
    return proof


def _rows_of(problem: Problem) -> list[list[Any]]:
    """How the rows of P are named in a proof: the groups' values, stacked, then the further rows."""
    places: list[list[Any]] = [[g, v] for g, group in enumerate(problem.groups) for v in range(len(group.values))]
    places += [["given", *row.place] for row in condition_rows(problem)]
    places += [] if problem.groups else [["sum"]]
    return [*places, *(["also", *row.place] for row in further_rows(problem))]


def hexadecimal(numbers: Sequence[Fraction]) -> list[str]:
    """Signed fractions of hexadecimal integers."""
    return [f"{x.numerator:x}/{x.denominator:x}" for x in numbers]
