"""What a law is: a table of all combinations (`Joint`), or a model of samples from which they would follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from choral.describe.joint import Joint


class Law(Protocol):
    """A law that can be disclosed about: what a channel looks at, and how states and the law itself are written.

    `columns` are those that a channel looks at; laws that are models of samples know theirs.
    """

    kind: ClassVar[str]
    """Its name in documents."""
    counted: ClassVar[bool]
    """Whether a state says how many samples have each value, not which values columns have."""

    @property
    def table(self) -> Joint | None:
        """The law itself where it lists combinations of columns, None where it is a model of samples."""
        ...

    def looked_at(self, columns: Sequence[str]) -> tuple[str, ...]:
        """What the code is made from, in words."""
        ...

    def state_of(self, record: Any, columns: Sequence[str]) -> tuple[Any, ...]:
        """The state that a channel sees of a record; raises `ColumnError` where it is no record of these columns."""
        ...

    def state_name(self, state: Sequence[Any], columns: Sequence[str] = ()) -> str:
        """A state in words, with the names of the columns if they are given."""
        ...

    def places(self, columns: Sequence[str]) -> Callable[[Sequence[Any]], list[int]]:
        """What writes a state as integers: positions in alphabets, counts, or a score."""
        ...

    def to_document(self, columns: Sequence[str]) -> dict[str, Any]:
        """As the certificate has it (docs/release-format.md): of a table, these columns alone."""
        ...
