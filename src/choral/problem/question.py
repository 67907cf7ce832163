"""A question: what to reveal, protect and use, as it was asked; and the parts that columns play in it, resolved once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from operator import index
from typing import Any, TypeAlias

from choral.errors import ProblemError, UnknownColumnError, did_you_mean
from choral.problem.budget import budgets_for
from choral.problem.promises import Promise, is_conditional, promise_about, split_promises, twice
from choral.problem.utility import Cells, Squares, Utility

Names: TypeAlias = "str | Sequence[str]"
Group: TypeAlias = "str | Sequence[str] | Promise"
MAX_GROUPS = 100_000
"""More protected groups than this are refused before they are built."""


@dataclass(frozen=True)
class Roles:
    """The parts that columns play: names that were checked, every default filled in, `order` spelled out as groups.

    reveal   the target
    protect  the groups that are private whatever is known
    use      what the channel may look at
    given    the promises under a condition, their values as written
    needed   all these columns, in the order of the table or law that they were resolved against
    measured  whether the target is a number of which only means matter, so that it may have any number of values
    """

    reveal: tuple[str, ...]
    protect: tuple[tuple[str, ...], ...]
    use: tuple[str, ...]
    given: tuple[Promise, ...] = ()
    needed: tuple[str, ...] = ()
    measured: bool = field(default=False, repr=False)

    @property
    def promised(self) -> tuple[str, ...]:
        """The columns that something is promised about, each once: protected ones, and those of conditions."""
        names = [name for group in self.protect for name in group]
        for promise in self.given:
            names += [*promise.hidden, *promise.known]
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Question:
    """What is asked of a table or a law, as it was asked: the arguments of `choral.disclose` that are about columns.

    reveal   the target: a column or several; default "W"
    protect  columns, groups of columns, and promises under a condition; default: every used column but the target, alone
    use      what the channel may look at; default: all but the target, with what is protected
    order    protect every `order` of the protected columns together
    leakage  in place of independence, a budget in bits for some of the groups
    ratio    … or a factor
    against  what others may know, columns or several joined by +: every group is protected given each of these, too
    itself   reveal all that is used, and use all by default (self-disclosure)
    utility  what the code shall be good for: "bits", "accuracy", "squares", or a loss; None is what suits the target of a
             table (`choral.release.score.suited`), and bits of a law

    >>> Question("W", "a").about(["id", "W", "a", "b"])
    Roles(reveal=('W',), protect=(('a',),), use=('id', 'a', 'b'), given=(), needed=('id', 'W', 'a', 'b'))
    """

    reveal: Names | None = None
    protect: str | Sequence[Group] | None = None
    use: Names | None = None
    order: int = 1
    leakage: Mapping[Any, Any] | None = None
    ratio: Mapping[Any, Any] | None = None
    against: Names | None = None
    itself: bool = False
    utility: str | Cells | Utility | None = "bits"

    def about(self, names: Sequence[str]) -> Roles:
        """The parts that columns with these names play; raises `ColumnError` or `ProblemError` where that makes no sense."""
        target = () if self.itself else _target(names, self.reveal)
        asked, given = _protected(names, self.protect)
        hidden = [promise.hidden for promise in given]
        used = self._used(names, target, {column for group in (*(asked or ()), *hidden) for column in group})
        groups = _ordered(asked if asked is not None else [(c,) for c in used if c not in target], self.order)
        given = (*given, *_against(names, self.against, groups, given))
        if not groups and not given:
            remedy = "Name at least one column to protect"
            raise ProblemError("Nothing is protected.", f"{remedy}{'.' if self.itself else ', or use another column.'}")
        for group in groups if self.itself else (*groups, *hidden):
            if set(target or used) <= set(group):
                raise self._revealed(target or used)
        if groups:  # what budgets are is checked here, before anything is counted or learned
            budgets_for(["+".join(group) for group in groups], groups, self.leakage, self.ratio)
        named = {*target, *used, *(name for group in groups for name in group)}
        named.update(name for promise in given for name in (*promise.hidden, *promise.known))
        needed = tuple(name for name in names if name in named)
        measured = self.utility == "squares" or isinstance(self.utility, Squares)
        return Roles(target or used, tuple(groups), used, given, needed, measured)

    def _used(self, names: Sequence[str], target: tuple[str, ...], protected: set[str]) -> tuple[str, ...]:
        if self.use is not None:
            listed = self.use.split(",") if isinstance(self.use, str) and not self.itself else self.use
            return _columns(names, listed, "use")
        used = tuple(name for name in names if name not in target or name in protected)
        if not used:
            raise ProblemError("No column is left for the channel to look at.", "Add columns beside the target.")
        return used

    def _revealed(self, columns: tuple[str, ...]) -> ProblemError:
        if self.itself:
            return ProblemError(
                f"All that is used, '{'+'.join(columns)}', is protected as one group.",
                "Nothing could be said then; protect smaller groups.",
            )
        return ProblemError(
            f"'{'+'.join(columns)}' is to be revealed and protected at once.",
            "Take it out of one of them; in Python, self_disclose reveals the protected columns jointly.",
        )


def _target(names: Sequence[str], reveal: Names | None) -> tuple[str, ...]:
    if reveal is None:
        if "W" not in names:
            raise ProblemError(
                f"Nothing is named to be revealed, and there is no column 'W' among {', '.join(names)}.",
                "Name it: reveal=… (--reveal), or call self_disclose.",
            )
        reveal = "W"
    return _columns(names, reveal, "reveal")


def _columns(names: Sequence[str], listed: Names, where: str) -> tuple[str, ...]:
    if not isinstance(listed, str | Sequence):
        raise ProblemError(f"`{where}` is {listed!r}.", "Give column names.")
    columns = [name.strip() for name in listed.split("+")] if isinstance(listed, str) else list(listed)
    if not columns:
        raise ProblemError(f"`{where}` is empty.", "Name at least one column.")
    for name in columns:
        if not isinstance(name, str) or name not in names:
            what = f"`{where}` names '{name}', which is no column."
            raise UnknownColumnError(what, did_you_mean(name, names), where, str(name))
    if len(set(columns)) < len(columns):
        again = next(name for name in columns if columns.count(name) > 1)
        raise ProblemError(f"`{where}` names '{again}' twice in '{'+'.join(columns)}'.", "Name each column once.")
    return tuple(columns)


def _protected(
    names: Sequence[str], protect: str | Sequence[Group] | None
) -> tuple[list[tuple[str, ...]] | None, tuple[Promise, ...]]:
    """The groups that are protected whatever is known (None: not said), and the promises under a condition."""
    if protect is None:
        return None, ()
    listed = split_promises(protect) if isinstance(protect, str) else protect
    if not isinstance(listed, Sequence):
        raise ProblemError(f"`protect` is {listed!r}.", "Give a list of columns or groups.")
    if not listed:
        raise ProblemError("`protect` is empty.", "Name at least one column to protect.")
    promises = [promise_about(names, entry) for entry in listed if is_conditional(entry)]
    plain = [entry for entry in listed if not isinstance(entry, Promise) and not is_conditional(entry)]
    if isinstance(protect, tuple) and len(plain) == len(protect) > 1 and all(isinstance(one, str) for one in plain):
        raise ProblemError(
            f"protect={protect!r} may mean one group or several columns.",
            f"Write {list(protect)!r} for columns that are private each alone, [{protect!r}] for them together.",
        )
    again = twice(promises)
    if again is not None:
        raise ProblemError(
            f"`protect` makes the promise '{'+'.join(again.hidden)} | {'+'.join(again.known)}' twice.", "Name it once."
        )
    groups = [_columns(names, entry, "protect") for entry in plain]
    seen: set[frozenset[str]] = set()
    for group in groups:
        if frozenset(group) in seen:
            raise ProblemError(f"`protect` names the group '{'+'.join(group)}' twice.", "Name each group once.")
        seen.add(frozenset(group))
    return groups, tuple(promises)


def _against(
    names: Sequence[str], against: Names | None, groups: Sequence[tuple[str, ...]], given: Sequence[Promise]
) -> list[Promise]:
    """Every group given each of what others may know; a promise that is made already is not made again."""
    listed = against.split(",") if isinstance(against, str) else against or ()
    made = {(frozenset(promise.hidden), frozenset(promise.known)) for promise in given if not promise.only}
    found = []
    for entry in listed:
        known = _columns(names, entry, "against")
        apart = [group for group in groups if not set(group) & set(known)]
        if not apart:
            raise ProblemError(
                f"Nothing is protected from whoever knows {'+'.join(known)} that they do not know.",
                "Name columns that are not protected, or fewer together.",
            )
        for group in apart:
            if (frozenset(group), frozenset(known)) not in made:
                found.append(Promise(group, known, (), f"{'+'.join(group)} | {'+'.join(known)}"))
    return found


def _ordered(groups: list[tuple[str, ...]], order: int) -> list[tuple[str, ...]]:
    if isinstance(order, bool) or not hasattr(order, "__index__") or order < 1:
        raise ProblemError(f"order={order!r} is not a positive whole number.", "order=2 protects every pair.")
    if order == 1:
        return groups
    if any(len(group) > 1 for group in groups):
        raise ProblemError(
            f"order={order} with the group '{'+'.join(next(g for g in groups if len(g) > 1))}'.",
            "Give single columns with order, or list the groups themselves.",
        )
    columns = [group[0] for group in groups]
    order = index(order)
    if order > len(columns):
        raise ProblemError(
            f"order={order}, but only {len(columns)} columns are protected from everybody.",
            "Lower the order, or name more columns; promises given a column stand beside it.",
        )
    chosen = []
    for group in combinations(columns, order):
        chosen.append(group)
        if len(chosen) > MAX_GROUPS:
            raise ProblemError(f"order={order} makes more than {MAX_GROUPS} groups.", "Lower the order.")
    return chosen
