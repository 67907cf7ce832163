"""Promises given what others know, as `protect` has them: `sex | marital`, `age+sex | region+year`, `sex | income=high`.

`Z | V` promises that whoever knows V learns nothing more about Z from the code. It covers somebody who knows V exactly; with
`Z` beside it also somebody who knows nothing of V. Neither covers somebody who knows V in part, or a second column as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from choral.describe.joint import Joint
from choral.errors import ColumnError, ProblemError, UnknownColumnError, did_you_mean


@dataclass(frozen=True)
class Promise:
    """Y ⟂ Z given V: `hidden` are the columns of Z, `known` those of V; `only` limits it to a value of some of them."""

    hidden: tuple[str, ...]
    known: tuple[str, ...]
    only: tuple[tuple[str, Any], ...] = ()
    text: str = field(default="", compare=False, repr=False)

    @property
    def key(self) -> tuple[Any, ...]:
        """The same for promises that say the same, whatever order their columns are named in."""
        return frozenset(self.hidden), frozenset(self.known), frozenset(self.only)

    @property
    def written(self) -> str:
        """As it stands in `protect`."""
        only = {name: f'"{name}={value}"' for name, value in self.only}
        return self.text or f"{'+'.join(self.hidden)} | {'+'.join(only.get(name, name) for name in self.known)}"


def split_promises(text: str) -> list[str]:
    """What `protect` lists, separated by commas outside quotes.

    >>> split_promises('sex, sex | "income=<=50K, net"')
    ['sex', 'sex | "income=<=50K, net"']
    """
    return [part.strip() for part in _split(text, ",")]


def _split(text: str, mark: str) -> list[str]:
    parts, quoted = [""], False
    for letter in text:
        quoted ^= letter == '"'
        if letter == mark and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if quoted:
        raise ProblemError(f"A quote in {text!r} is not closed.", 'Write sex | "income=<=50K".')
    return parts


def is_conditional(text: Any) -> TypeGuard[str | Promise]:
    """Whether an entry of `protect` has a condition."""
    return isinstance(text, Promise) or (isinstance(text, str) and "|" in text)


def read_promise(written: str) -> Promise:
    """The promise as it is written, its columns and values not yet those of a law.

    >>> read_promise('sex | region+"income=<=50K"')
    Promise(hidden=('sex',), known=('region', 'income'), only=(('income', '<=50K'),))
    """
    sides = _split(written, "|")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise ProblemError(
            f"`protect` has {written!r}.", "Write what is hidden, one |, and what is known: sex | marital."
        )
    known, only = [], []
    for part in _split(sides[1], "+"):
        name, equals, value = part.strip().strip('"').partition("=")
        known.append(name.strip())
        if equals:
            only.append((known[-1], value.strip().strip('"')))
    hidden = tuple(part.strip().strip('"') for part in _split(sides[0], "+"))
    return Promise(hidden, tuple(known), tuple(only), written.strip())


def promise_about(names: Sequence[str], entry: str | Promise) -> Promise:
    """The promise that an entry of `protect` with a condition is, on columns with these names; its values are as written."""
    promise = read_promise(entry) if isinstance(entry, str) else entry
    columns = (*promise.hidden, *promise.known)
    for name in columns:
        if name not in names:
            what = f"`protect` names '{name}' in '{promise.written}', which is no column."
            raise UnknownColumnError(what, did_you_mean(name, names), "protect", name)
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ProblemError(
            f"'{promise.written}' names '{twice}' twice.",
            "Name each column once: whoever knows it has nothing more to learn of it.",
        )
    return promise


def with_values(joint: Joint, promise: Promise) -> Promise:
    """The promise with the values that the law has in place of what was written."""
    return replace(promise, only=tuple((column, _value(joint, column, given)) for column, given in promise.only))


def _value(joint: Joint, column: str, given: Any) -> Any:
    """The value of a column, or the one that is written like this."""
    alphabet = joint.alphabets[joint.position(column)]
    found = [value for value in alphabet if value == given] or [value for value in alphabet if str(value) == given]
    if len(found) != 1:
        listed = ", ".join(str(value) for value in alphabet[:8])
        raise ColumnError(
            f"'{column}' has no value '{given}'." if not found else f"Two values of '{column}' are written '{given}'.",
            f"Its values are {listed}{', …' if len(alphabet) > 8 else ''}.",
        )
    return found[0]


def twice(promises: Sequence[Promise]) -> Promise | None:
    """A promise that is made twice."""
    seen = set()
    for promise in promises:
        if promise.key in seen:
            return promise
        seen.add(promise.key)
    return None
