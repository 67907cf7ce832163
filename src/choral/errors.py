"""One tree of errors: each says what is wrong, where, and how to fix it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable

OPTION = re.compile(r"--(?P<name>[a-z][a-z-]*)(?: (?P<value>'[^']*'|[^\s']+?)(?=[.,;:)]*(?:\s|$)))?")
SAID_TWICE = re.compile(r"(?P<name>[a-z_]+)=(?P<value>\S+)(?P<between>[^()=]*) \(--[^()]*\)")
LISTS, NUMBERS = ("drop", "use", "missing-marks"), ("min-count", "codes", "time-limit", "order", "precision")
FLAGS = {"force": "force=True", "no-header": "header=False", "other-people": "other_people=True"}
SHELL = ("json", "engine", "master", "verbose", "arrange", "with-rows")
"""Options that have no argument of this name in Python."""


class ChoralError(Exception):
    """The root of all errors that choral raises on purpose.

    `what` names the value and the place; `remedy` says what to do about it, with options as the command line has them. As
    text, which is what Python shows, it has the arguments in their place (`in_python`).
    """

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return in_python(f"{self.what} {self.remedy}".strip())


class LawError(ChoralError, ValueError):
    """Weights that are no law: negative, not finite, of the wrong shape, or of the wrong sum."""


class FieldError(LawError):
    """A field of a table that is not written in the form of its column's kind."""


class ColumnError(ChoralError, LookupError):
    """A column or a value that the law does not have."""


class UnknownColumnError(ColumnError):
    """A name that is no column: `named` in the argument `where`."""

    def __init__(self, what: str, remedy: str, where: str, named: str) -> None:
        super().__init__(what, remedy)
        self.where, self.named = where, named


class ProblemError(ChoralError, ValueError):
    """A disclosure problem that cannot be posed: what to reveal, protect or use does not fit together."""


class TooLargeError(ChoralError):
    """An exact method would need more than it may take; says how much, before taking it."""


class StoppedError(ChoralError):
    """A method that has nothing to show before it ends was stopped."""


class SolverError(ChoralError, RuntimeError):
    """A solver ended without an answer that can be certified."""


class ReleaseFileError(ChoralError, ValueError):
    """A release file that is truncated, altered, of a newer version, or no release file at all."""


class FileInTheWayError(ChoralError, FileExistsError):
    """Writing would replace an existing file and nobody said that it may."""


class LedgerError(ChoralError):
    """A disclosure that the ledger refuses, since a record would be told about twice; or a ledger that cannot be used."""


class LedgerWarning(UserWarning):
    """What should be known of a ledger where only a frame comes back: that it is new, and where it is."""


class TableWarning(UserWarning):
    """What should be known of how a table was read: texts that were taken for missing values, a header that is like data."""


class VerificationError(ChoralError):
    """A claim of a certificate failed when it was recomputed. `claim` names the first one that did."""

    def __init__(self, claim: str, reason: str) -> None:
        super().__init__(f"The claim '{claim}' fails: {reason}", "Do not release or rely on this result.")
        self.claim = claim
        self.reason = reason


def in_python(text: str) -> str:
    """A text with arguments of Python where it has options of the command line.

    >>> in_python("Leave it out: --drop 'a,b c'. Or bin it (--bins x=4), or lower min_count: --min-count 1 merges nothing.")
    'Leave it out: drop=["a", "b c"]. Or bin it (bins="x=4"), or lower min_count: min_count=1 merges nothing.'
    >>> print(in_python("Say missing='value' (--missing value). Leave out --use to learn, or --no-header, or --use A,B."))
    Say missing='value'. Leave out use= to learn, or header=False, or use=["A", "B"].
    """
    said, command, rest = text.partition("choral fit ")  # a line for the shell stays one
    return OPTION.sub(_argument, SAID_TWICE.sub(r"\g<name>=\g<value>\g<between>", said)) + command + rest


def _argument(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if name in SHELL:
        return found[0]
    if name in FLAGS:
        return found[0].replace(f"--{name}", FLAGS[name])
    argument, end = "groups" if name == "group" else name.replace("-", "_"), found.end()
    quoted = value is not None and value.startswith("'")
    ends = end == len(found.string) or found.string[end] in ".,;:)"
    if value is None or not (quoted or ends or re.search(r"[A-Z0-9=,_|]", value)):
        return f"{argument}={'' if value is None else f' {value}'}"
    value = value.strip("'")
    if name in LISTS:
        return f"{argument}={json.dumps(value.split(','), ensure_ascii=False)}"
    return f"{argument}={value if name in NUMBERS else json.dumps(value, ensure_ascii=False)}"


def did_you_mean(wrong: object, known: Iterable[object]) -> str:
    """A hint that names the closest known spelling, or lists what is known.

    >>> did_you_mean("agee", ["age", "sex"])
    "Did you mean 'age'?"
    >>> did_you_mean("?", range(20))
    'Known: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …, 19.'
    """
    names = [str(name) for name in known]
    folded = {name.casefold(): name for name in reversed(names)}
    close = difflib.get_close_matches(str(wrong).casefold(), list(folded), n=1, cutoff=0.5)
    if close:
        return f"Did you mean '{folded[close[0]]}'?"
    shown = names if len(names) <= 12 else [*names[:11], "…", names[-1]]  # the target is often the last column
    return f"Known: {', '.join(shown)}." if names else "There are none."
