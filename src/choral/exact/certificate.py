"""The certificate: one JSON document with the law, the channel and the proof, all in integers (hexadecimal).

`release_document` builds it; `document_to_text` and `text_to_document` are the file format, version 1, described in
docs/release-format.md. Only what the verifier accepts is ever written to a file (see `choral.design.result`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from choral.describe.channels import Channel
from choral.describe.compact import Exchangeable, Sensors
from choral.describe.joint import Joint
from choral.describe.law import Law
from choral.describe.written import decode, encode, fraction_of, hexadecimal, listed
from choral.errors import ReleaseFileError, VerificationError
from choral.problem.budget import Budget
from choral.problem.kernel import Conditional, Problem
from choral.problem.promises import Promise
from choral.problem.solution import Claims, ExactChannel, Row, Solution
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
        "bound": solution.bound.to_document(problem),
        "notes": dict(notes),
    }
    if problem.budgets:
        document["budgets"] = [None if b is None else {b.kind: hexadecimal([b.amount])[0]} for b in problem.budgets]
        document["claims"]["leakage"] = [None if bits is None else f"{bits:f}" for bits in claims.leakage]
    document["version"] = max(LATER if problem.conditions else VERSION, solution.bound.since)
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
        prior = [fraction_of(x) for x in law["prior"]]
        channels = [
            Channel(tuple(tuple(fraction_of(x) for x in row) for row in table), tuple(decode(v) for v in values))
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
    for budget in document.get("budgets", []):
        found.append(None)
        for kind, text in (budget or {}).items():
            found[-1] = Budget(kind, fraction_of(text))
    return tuple(found)


def claims_of(document: Mapping[str, Any]) -> Claims:
    """What a document claims."""
    claims = document["claims"]
    leakage = tuple(None if text is None else Decimal(text) for text in claims.get("leakage", []))
    return Claims(Decimal(claims["information"]), Decimal(claims["upper_bound"]), leakage)


def channel_of(document: Mapping[str, Any], law: Law, problem: Problem) -> ExactChannel:
    """The channel of a document, on the states of a problem posed on its law."""
    channel = document["channel"]
    rows = {}
    for state, (denominator, *entries) in zip(channel["states"], channel["rows"], strict=True):
        rows[tuple(state)] = int(denominator, 16), tuple((y, int(text, 16)) for y, text in entries)
    places = _places(law, problem)
    return ExactChannel(channel["codes"], tuple(rows[tuple(places(state))] for state in problem.states))


def _prior_and_rows(prior: list[str], rows: list[list[str]]) -> tuple[list[Fraction], list[list[Fraction]]]:
    return [fraction_of(x) for x in prior], [[fraction_of(x) for x in row] for row in rows]


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
        "cells": listed(list(part.cells.items()), lambda cell: [*cell[0], f"{cell[1]:x}"]),
    }


def _places(law: Law, problem: Problem) -> Callable[[Sequence[Any]], list[int]]:
    """What writes a state as integers: positions in alphabets, counts of a type, or a score."""
    if not isinstance(law, Joint):
        return list
    positions = [{value: i for i, value in enumerate(law.alphabets[law.position(name)])} for name in problem.columns]
    return lambda state: [where[v] for where, v in zip(positions, state, strict=True)]


def _channel(law: Law, problem: Problem, channel: ExactChannel) -> dict[str, Any]:
    return {
        "codes": channel.codes,
        "states": listed(problem.states, _places(law, problem)),
        "rows": listed(channel.rows, _row),
    }


def _row(row: Row) -> list[Any]:
    denominator, entries = row
    return [f"{denominator:x}", *([y, f"{n:x}"] for y, n in entries)]
