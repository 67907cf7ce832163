"""Groups of categories: a curator gives several values of a column one name, which then stands for each of them."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from choral.errors import ProblemError, did_you_mean
from choral.tables.sql import text_literal

REST = "*"
"""Stands for every value that is in no other group, one that was not seen before among them."""
MOST_NAMED = 5
"""Values that an error lists."""
FORM = "Write --group 'education=primary:1st-4th|5th-6th;other:*'; or in a JSON file, "
FORM += '{"education": {"primary": ["1st-4th", "5th-6th"], "other": "*"}}, and name it: --groups FILE.'

Declared: TypeAlias = "Mapping[str, Sequence[str] | str]"
"""The values of every group by its name; "*" for all other values."""


@dataclass(frozen=True)
class Groups:
    """Values of a column under the names of groups, in the order in which these were declared; `rest` is one for all others.

    A missing value is in no group: it is missing.
    """

    named: tuple[tuple[str, tuple[str, ...]], ...]
    rest: str | None = None

    kinds: ClassVar[tuple[str, ...]] = ("text",)
    one: ClassVar[str] = "group"

    @cached_property
    def _group(self) -> dict[str, str]:
        return {value: name for name, values in self.named for value in values}

    @property
    def values(self) -> list[str]:
        """All values that are in a group by name."""
        return [*self._group]

    def name_of(self, value: str) -> str | None:
        """The group of a value; None where it is in none."""
        return self._group.get(value, self.rest)

    def sql(self, value: str) -> str:
        """SQL of the group of a value; NULL where it is in none, or missing."""
        found = "NULL" if self.rest is None else text_literal(self.rest)
        if self._group:
            values, names = (", ".join(map(text_literal, part)) for part in (self._group, self._group.values()))
            found = f"coalesce(list_extract([{names}], list_position([{values}], {value})), {found})"
        return f"CASE WHEN ({value}) IS NOT NULL THEN {found} END"

    def can_be(self, name: Any) -> bool:
        """Whether a group is called so."""
        return name in self.names

    @property
    def names(self) -> list[str]:
        """The groups."""
        return [*(name for name, _ in self.named), *([] if self.rest is None else [self.rest])]

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Some of the groups, as they were declared."""
        return sorted(names, key=self.names.index)

    def said(self, many: int) -> str:
        """How a column is spoken of that is cut so."""
        return f"in {many} group{'' if many == 1 else 's'}"

    def written(self, name: str) -> str:
        """The option that asks for it, or for what the command line cannot hold, for a file."""
        texts = [name, *self.names, *self.values]
        if any(set("|;:=") & set(text) or text != text.strip() for text in texts):
            return "--groups with the same file"
        parts = [f"{group}:{'|'.join(values)}" for group, values in self.named]
        parts += [] if self.rest is None else [f"{self.rest}:{REST}"]
        return f"--group {shlex.quote(name + '=' + ';'.join(parts))}"

    def to_document(self) -> dict[str, Any]:
        """The groups as JSON, for the document of a column."""
        rest = [] if self.rest is None else [[self.rest, REST]]
        return {"groups": [*([name, list(values)] for name, values in self.named), *rest]}

    @classmethod
    def from_document(cls, groups: Sequence[Any]) -> Groups:
        """The groups that `to_document` wrote; raises `ValueError` for what are none."""
        found = dict(groups)
        troubles = problems(found)
        if troubles or len(found) != len(groups):
            raise ValueError(f"groups that are none: {'; '.join(troubles) or 'one twice'}")
        return cls._of(found)

    @classmethod
    def _of(cls, declared: Declared) -> Groups:
        rest = [name for name, values in declared.items() if values == REST]
        named = tuple((name, tuple(values)) for name, values in declared.items() if values != REST)
        return cls(named, rest[0] if rest else None)


def problems(declared: Any) -> list[str]:
    """What is wrong with groups as they were declared, whatever the table; nothing if they are whole."""
    if not isinstance(declared, Mapping) or not declared:
        return [f"{declared!r} is no mapping from names of groups to lists of values"]
    found = []
    for name, values in declared.items():
        if not _plain(name) or not name.strip():
            found.append(f"{name!r} is no name for a group")
        if values == REST:
            continue
        if not isinstance(values, list | tuple) or not all(map(_plain, values)):
            found.append(f"'{name}' is {values!r}, which is neither a list of texts nor '*'")
        elif not values:
            found.append(f"'{name}' has no values")
        elif REST in values:
            found.append(f"'{name}' has '*' among other values")
    stars = [f"'{name}'" for name, values in declared.items() if values == REST]
    found += [f"{' and '.join(stars)} are '*', all others"] if len(stars) > 1 else []
    listed = {name: v for name, v in declared.items() if isinstance(v, list | tuple) and all(map(_plain, v))}
    for value, many in Counter(value for values in listed.values() for value in values).items():
        if many > 1:
            both = list(dict.fromkeys(f"'{name}'" for name, values in listed.items() if value in values))
            where = f"in {' and in '.join(both)}" if len(both) > 1 else f"twice in {both[0]}"
            found.append(f"'{value}' is {where}")
    return found


def read_groups(texts: Iterable[str], file: Path | None = None) -> dict[str, Groups]:
    """Groups as written on the command line, and in a JSON file.

    >>> read_groups(["education=primary:1st-4th|5th-6th;other:*"])["education"].name_of("9th")
    'other'
    """
    columns: list[tuple[str, Any]] = [_read(text) for text in texts]
    if file is not None:
        columns += _in_file(file).items()
    twice = [name for name, many in Counter(name for name, _ in columns).items() if many > 1]
    if twice:
        raise ProblemError(f"Groups for '{twice[0]}' are given twice.", "Give all groups of a column together.")
    return groups_of(dict(columns))


def groups_of(declared: Any) -> dict[str, Groups]:
    """Groups by column, as they are given in Python: a mapping, the text for one column, or a file; all errors at once."""
    if declared is None:
        return {}
    if isinstance(declared, str):
        return read_groups([declared]) if "=" in declared else read_groups([], Path(declared))
    if not isinstance(declared, Mapping):
        raise ProblemError(
            f"groups={declared!r} does not say of which columns.",
            'Give {"education": {"primary": ["1st-4th"], "other": "*"}}.',
        )
    wrong = {name: problems(groups) for name, groups in declared.items() if not isinstance(groups, Groups)}
    said = [f"of '{name}': {'; '.join(found)}" for name, found in wrong.items() if found]
    if said:
        raise ProblemError(f"The groups are not whole, {'; '.join(said)}.", FORM)
    return {name: g if isinstance(g, Groups) else Groups._of(g) for name, g in declared.items()}


def unfit(groups: Groups, seen: Sequence[str]) -> list[str]:
    """What keeps groups from being those of a column that has these values: values that it has not, or in no group."""
    known = set(seen)
    strange = [value for value in groups.values if value not in known]
    found = [f"'{value}' is no value of it{_meant(value, seen)}" for value in strange[:MOST_NAMED]]
    found += [f"and {len(strange) - MOST_NAMED} more are none"] if len(strange) > MOST_NAMED else []
    left = [] if groups.rest is not None else [value for value in seen if groups.name_of(value) is None]
    if left:
        more = f" and {len(left) - MOST_NAMED} more" if len(left) > MOST_NAMED else ""
        shown = ", ".join(f"'{value}'" for value in left[:MOST_NAMED])
        found.append(f"{shown}{more} {'is' if len(left) == 1 else 'are'} in no group (add one for all others: other:*)")
    return found


def _plain(text: Any) -> bool:
    """Whether this is a text that a table can hold."""
    return isinstance(text, str) and "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _meant(value: str, seen: Sequence[str]) -> str:
    said = did_you_mean(value, seen)
    return f" ({said[0].lower()}{said[1:].rstrip('.')})" if said.startswith("Did you mean") else ""


def _read(text: str) -> tuple[str, dict[str, Any]]:
    name, mark, rule = (part.strip() for part in text.partition("="))
    found: dict[str, Any] = {}
    for part in (part for part in rule.split(";") if part.strip()):
        group, colon, values = (piece.strip() for piece in part.partition(":"))
        if not (group and colon):
            raise ProblemError(f"'{part.strip()}' in --group '{text}' is no group.", FORM)
        if group in found:
            raise ProblemError(f"The group '{group}' of '{name}' is given twice.", FORM)
        found[group] = REST if values == REST else [value.strip() for value in values.split("|") if value.strip()]
    if not (name and mark and found):
        raise ProblemError(f"--group '{text}' does not say which groups a column has.", FORM)
    return name, found


def _in_file(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as error:
        raise ProblemError(f"{file} cannot be read: {error.strerror or error}.", "Check the path.") from None
    except ValueError as error:
        raise ProblemError(f"{file} is no JSON file of groups: {error}.", FORM) from None
    if not isinstance(found, dict) or not found:
        raise ProblemError(f"{file} has no groups.", FORM)
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The content of a JSON object; of a name that is there twice it is not said which counts."""
    for name, many in Counter(name for name, _ in pairs).items():
        if many > 1:
            raise ValueError(f"'{name}' is there twice")
    return dict(pairs)
