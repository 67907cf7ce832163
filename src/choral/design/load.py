"""Back from a file: the document is read, verified, and posed and solved again as what was saved."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from choral.describe.kinds import law_of
from choral.describe.law import Law
from choral.design.result import Disclosure
from choral.errors import ChoralError, ReleaseFileError, VerificationError
from choral.exact import certificate
from choral.files import path_of
from choral.problem.compact import order_of, pose_samples
from choral.problem.kernel import Problem
from choral.problem.pose import pose, pose_self, with_budgets
from choral.problem.solution import Solution, Status
from choral.proofs.kinds import proof_of, value_proof_of


def read_document(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a release file, verified but for its bound."""
    place = path_of(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ReleaseFileError(f"There is no file {place}.", "Check the path.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReleaseFileError(f"{place} cannot be read: {error}.", "Check the path and the permissions.") from None
    return certificate.read_and_check(text, str(place))


MISSHAPEN = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What is raised where a document holds something of another shape than choral writes."""


@contextmanager
def well_formed(place: Path) -> Iterator[None]:
    """A block that reads a document: whatever has another shape than choral writes is refused in words."""
    try:
        yield
    except ChoralError:
        raise
    except MISSHAPEN as error:
        raise ReleaseFileError(
            f"{place} cannot be read as a release: {error!r}.", "Get the file again from whoever made it."
        ) from None


def of_document(document: Mapping[str, Any], place: Path) -> Disclosure:
    """The disclosure that a document is, verified but for its bound; what else the document holds is left aside.

    Raises `ReleaseFileError` unless choral writes it the same: so what was verified is what is used.
    """
    with well_formed(place):
        return _disclosure(document, place)


def _disclosure(document: Mapping[str, Any], place: Path) -> Disclosure:
    own = {key: document[key] for key in certificate.MEMBERS if key in document}
    law = law_of(document["law"])
    problem = _posed_again(document, law)
    if [list(group.columns) for group in problem.groups] != document["protect"]:
        raise _foreign(place, f"it protects {document['protect']}, which choral does not pose")
    notes = document["notes"]
    channel = certificate.channel_of(document, law, problem)
    status = notes.get("status")
    ended = Status(status) if status in [s.value for s in Status] else Status.UNKNOWN
    claims = certificate.claims_of(document)
    if claims.upper_bound < claims.information:
        raise VerificationError(
            "upper bound", f"{claims.upper_bound} is less than the information, {claims.information}"
        )
    try:
        bound = proof_of(document["bound"], problem)
        purpose = value_proof_of(document["best"], problem) if problem.utility is not None else None
    except MISSHAPEN:
        raise VerificationError("upper bound", "its proof cannot be read") from None
    solution = Solution(channel, bound, str(notes.get("how", "")), ended, purpose=purpose)
    found = Disclosure(law, problem, solution, claims, notes, bound_verified=False)
    alone = own.keys() | {"digest"} == document.keys()
    if (document if alone else certificate.sealed(own))["digest"] != found.digest:
        differs = next((key for key in own if _digest(own, key) != _digest(found.document, key)), "members")
        raise _foreign(place, f"choral writes its {differs} in another way")
    return found


def _digest(document: Mapping[str, Any], key: str) -> Any:
    return certificate.sealed({key: document.get(key)})["digest"]


def _foreign(place: Path, reason: str) -> ReleaseFileError:
    return ReleaseFileError(f"{place}: {reason}.", "Its claims hold and can be verified, but it cannot be loaded.")


def _posed_again(document: Mapping[str, Any], law: Law) -> Problem:
    """The problem that a document is about, posed anew on its law."""
    protect = [*document["protect"], *certificate.promises_of(document)]
    if law.table is None:
        problem = pose_samples(law, order_of(document["protect"][0][0]))
    elif document["reveal"] == document["use"]:
        problem = pose_self(law.table, protect, document["use"])
    else:
        problem = pose(law.table, document["reveal"], protect, document["use"])
    problem = with_budgets(law, problem, also=certificate.further_laws_of(document))
    if "budgets" in document:
        problem = replace(problem, budgets=certificate.budgets_of(document))
    return replace(problem, utility=certificate.utility_in(document, problem.target))
