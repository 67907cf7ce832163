"""The certificate: one JSON document with the law, the channel and the proof, all in integers (hexadecimal).

`release_document` builds it; `document_to_text` and `text_to_document` are the file format, version 1, described in
docs/release-format.md. Only what the verifier accepts is ever written to a file (see `choral.design.result`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from choral.describe.kinds import law_of
from choral.describe.law import Law
from choral.describe.written import decode, encode, fraction_of, fractions_of, hexadecimal, listed
from choral.errors import ReleaseFileError, VerificationError
from choral.exact.apart import verified_apart
from choral.phases import phase
from choral.problem.budget import Budget
from choral.problem.kernel import Conditional, Problem, Variable
from choral.problem.promises import Promise
from choral.problem.solution import Claims, ExactChannel, Row, Solution
from choral.problem.utility import Decisions, Squares, Utility, utility_of
from choral.verifier import command, reading
from choral.verifier.claims import ClaimFailed
from choral.verifier.steps import default_budget

T = TypeVar("T")
FORMAT = "choral release"
VERSION = 1
"""Of a document that every verifier reads."""
LATER = 2
"""The version of a document with a promise under a condition, a utility, or the closed form: older verifiers refuse it."""
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
    "utility",
    "best",
)
"""What a document of a disclosure may hold; a release of a table adds members of its own."""


@phase("stating what is proved")
def release_document(
    law: Law, problem: Problem, solution: Solution, claims: Claims, notes: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything that a checker needs to recompute the claims of a solution, with its digest."""
    columns = _columns(problem)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": max(LATER if problem.conditions or problem.utility else VERSION, solution.bound.since),
        "law": law.to_document(columns),
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
    if problem.utility is not None and solution.purpose is not None:
        document["utility"] = _utility(problem.utility)
        document["claims"] |= {"value": _stated(claims.value), "value_bound": _stated(claims.value_bound)}
        document["best"] = solution.purpose.to_document(problem)
    if problem.conditions:
        document["given"] = [_promise(promise) for promise in problem.conditions]
    if problem.further:
        document["also"] = [other.joint.to_document(columns) for other in problem.further]
    return sealed(document)


def check_written(law: Law, problem: Problem) -> None:
    """Raise `ReleaseFileError` where a document could not hold a value of the law, or an action."""
    if law.table is None:
        law.to_document(problem.columns)
    columns = _columns(problem)
    for table in (law.table, *(other.joint for other in problem.further)):
        for name, alphabet in () if table is None else zip(table.names, table.alphabets, strict=True):
            for value in alphabet if name in columns else ():
                encode(value)
    if problem.utility is not None:
        _utility(problem.utility)


def _columns(problem: Problem) -> list[str]:
    """All that a problem speaks of."""
    asked = (problem.target, *problem.groups, *(promise.both for promise in problem.conditions))
    return [*problem.columns, *(column for variable in asked for column in variable.columns)]


def _stated(number: Fraction | None) -> str:
    assert number is not None
    return hexadecimal([number])[0]


def _utility(utility: Utility) -> dict[str, Any]:
    if isinstance(utility, Squares) or utility.accuracy:
        return {"kind": utility.name}
    loss = [hexadecimal(row) for row in utility.loss]
    return {"kind": "loss", "actions": [encode(action) for action in utility.actions], "loss": loss}


def utility_in(document: Mapping[str, Any], target: Variable) -> Utility | None:
    """The utility of a document, on the target of a problem that is posed on its law."""
    given = document.get("utility")
    if given is None:
        return None
    if given["kind"] == "loss":
        return Decisions(tuple(map(decode, given["actions"])), tuple(fractions_of(row) for row in given["loss"]))
    return utility_of(given["kind"], target.name, target.columns, target.values)


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


@phase("verifying")
def check(
    document: Mapping[str, Any], say: Callable[[str], None] | None = None, until: str = "bound"
) -> dict[str, Any]:
    """Run the stand-alone verifier on a document; raises `VerificationError` naming the first claim that fails.

    `say` gets what the verifier prints, line by line. Nothing is checked after `until`: "privacy", "information" or "bound".
    The budget of steps is the default: what passes here needs no larger one elsewhere. A document of many states, of which
    nothing need be said, is checked in a process of its own, with all cores.
    """
    found: dict[str, Any] | None = None
    try:
        if say is None and until == "bound":
            found = verified_apart(_pieces(document), _states(document))
        if found is None:
            found = command.verify(document_to_text(document), say=say or _quietly, until=until)
    except ClaimFailed as failed:
        raise VerificationError(failed.claim, failed.reason) from None
    assert found is not None
    return found


def _states(document: Mapping[str, Any]) -> int:
    """How many states the channel of a document lists, if it is one."""
    channel = document.get("channel")
    rows = channel.get("rows") if isinstance(channel, Mapping) else None
    return len(rows) if rows is not None and reading.is_list(rows) else 0


def _quietly(line: str) -> None:
    """Say nothing."""


@phase("checking the release")
def read_and_check(text: str, place: str) -> dict[str, Any]:
    """The document in the text of a release file, with all checked by the verifier but the upper bound, which stays claimed.

    Raises `ReleaseFileError` if the file is not whole, and `VerificationError` if a claim fails.
    """
    document = text_to_document(text, place)
    try:
        command.within(default_budget(len(text)), lambda: command.verified(document, lambda line: None, "information"))
    except ClaimFailed as failed:
        raise VerificationError(failed.claim, failed.reason) from None
    return document


@phase("checking privacy")
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


def further_laws_of(document: Mapping[str, Any]) -> list[Law]:
    """The further laws under which a document claims privacy."""
    return [law_of(law) for law in document.get("also", [])]


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
    value, bound = (None if text is None else fraction_of(text) for text in map(claims.get, ("value", "value_bound")))
    return Claims(Decimal(claims["information"]), Decimal(claims["upper_bound"]), leakage, value, bound)


def channel_of(document: Mapping[str, Any], law: Law, problem: Problem) -> ExactChannel:
    """The channel of a document, on the states of a problem posed on its law."""
    channel = document["channel"]
    rows = {}
    for state, (denominator, *entries) in zip(channel["states"], channel["rows"], strict=True):
        rows[tuple(state)] = int(denominator, 16), tuple((y, int(text, 16)) for y, text in entries)
    places = law.places(problem.columns)
    return ExactChannel(channel["codes"], tuple(rows[tuple(places(state))] for state in problem.states))


def _channel(law: Law, problem: Problem, channel: ExactChannel) -> dict[str, Any]:
    return {
        "codes": channel.codes,
        "states": listed(problem.states, law.places(problem.columns)),
        "rows": listed(channel.rows, _row),
    }


def _row(row: Row) -> list[Any]:
    denominator, entries = row
    return [f"{denominator:x}", *([y, f"{n:x}"] for y, n in entries)]
