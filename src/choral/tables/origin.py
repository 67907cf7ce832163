"""Where a recipe comes from: how the file of its table was read, what its law is, and which release came before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from choral.tables.marks import check_marks


@dataclass(frozen=True)
class After:
    """That a release was designed given an earlier one: its codes are pairs, and `first[y]` is the earlier code in pair y."""

    digest: str
    first: tuple[int, ...]

    def is_whole(self) -> bool:
        """Whether the digest is one, and the earlier codes are 0, 1, … without a gap."""
        return re.fullmatch("[0-9a-f]{64}", self.digest) is not None and set(self.first) == set(
            range(len(set(self.first)))
        )


@dataclass(frozen=True)
class Reading:
    """How a text file of records was read: whether its first line has names, and which texts are missing values."""

    header: bool = True
    marks: tuple[str, ...] = ()

    def to_document(self) -> dict[str, Any]:
        """The rules as JSON."""
        return {"header": self.header, "missing marks": list(self.marks)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any] | None) -> Reading | None:
        """The rules that `to_document` wrote."""
        if document is None:
            return None
        return cls(document["header"] is True, check_marks(map(str, document["missing marks"])))


def words(listed: Sequence[Any]) -> tuple[str, ...]:
    """Texts, as a document lists them; raises `TypeError` for anything else."""
    if not all(isinstance(word, str) for word in listed):
        raise TypeError("a name is not a text")
    return tuple(listed)


def about_law(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe says about its law; raises `TypeError` where a part is missing or of another kind."""
    parts = {"kind": str, "about": str, "outside": int, "parameters": dict}
    if document.keys() != parts.keys() or not all(isinstance(document[key], kind) for key, kind in parts.items()):
        raise TypeError("what it says about the law is not its kind, about, outside and parameters")
    return dict(document)
