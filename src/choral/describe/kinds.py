"""All kinds of laws, the one that a document holds, and the one that is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from choral.describe.exchangeable import Exchangeable
from choral.describe.joint import Joint
from choral.describe.law import Law
from choral.describe.sensors import Sensors
from choral.errors import ProblemError

K = TypeVar("K")
KINDS: dict[str, type[Joint] | type[Exchangeable] | type[Sensors]] = {
    kind.kind: kind for kind in (Joint, Exchangeable, Sensors)
}


def law_of(document: Mapping[str, Any]) -> Law:
    """The law that `to_document` wrote."""
    return KINDS[document["kind"]].of_document(document)


def checked(law: Any) -> Law:
    """The law; raises `ProblemError` where it is something else."""
    if not isinstance(law, Joint | Exchangeable | Sensors):
        remedy = "Build one with Joint.from_table, from_counts, from_array or observed."
        raise ProblemError(f"A {type(law).__name__} is not a law.", remedy)
    return law


def table_of(law: Any) -> Joint | None:
    """The law, if it is a table of all combinations; None for whatever else it is."""
    return law if isinstance(law, Joint) else None


def needed(kind: type[K], law: Any, wrong: str, remedy: str) -> K:
    """The law, if it is of this kind; else raises `ProblemError`, with what it is in place of {} in `wrong`.

    >>> needed(Joint, [1], "A {} is not a joint law.", "Give a Joint.")
    Traceback (most recent call last):
      ...
    choral.errors.ProblemError: A list is not a joint law. Give a Joint.
    """
    if not isinstance(law, kind):
        raise ProblemError(wrong.format(type(law).__name__), remedy)
    return law
