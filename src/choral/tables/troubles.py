"""What keeps columns of a table from being used, all in one message with one line to copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from choral.describe.display import counted
from choral.errors import ChoralError, ProblemError

BINS = 4
"""How many bins are proposed."""
SMALL = 20
"""Records below which a table is too small for anything else to be of help: five for each of two combinations of values,
within each of two protected values."""


@dataclass(frozen=True)
class Trouble:
    """A column that cannot be taken as it is.

    error   what would be raised for this column alone
    short   the reason, to stand after the column's name
    remedy  "bins", "drop", or "" where the curator has to think
    unique  whether each record has a value of its own in it
    rule    the bins that are proposed
    """

    name: str
    error: ChoralError
    short: str
    remedy: str = ""
    rule: str = str(BINS)
    unique: bool = False


def check(troubles: Sequence[Trouble]) -> None:
    """Raise for these columns, if there are any: for one its own error, for several one that names them all."""
    if not troubles:
        return
    if len(troubles) == 1:
        raise troubles[0].error
    listed = "; ".join(f"'{trouble.name}' {trouble.short}" for trouble in troubles)
    binned = ";".join(f"{trouble.name}={trouble.rule}" for trouble in troubles if trouble.remedy == "bins")
    dropped = ",".join(trouble.name for trouble in troubles if trouble.remedy == "drop")
    line = " ".join([*([f"--drop '{dropped}'"] if dropped else []), *([f"--bins '{binned}'"] if binned else [])])
    others = [f"'{trouble.name}'" for trouble in troubles if not trouble.remedy]
    remedies = [f"Add: {line}."] if line else []
    remedies += [f"Group or correct the values of {', '.join(others)}."] if others else []
    raise ProblemError(
        f"{len(troubles)} columns cannot be taken as they are: {listed}.",
        " ".join([*remedies, "Or name the columns to look at: --use A,B."]),
    )


def too_small(records: int, name: str = "The table") -> ProblemError:
    """That no advice about columns helps, since there are so few records; and how many it takes."""
    return ProblemError(
        f"{name} has {counted(records, 'record')}, which is too few to make a private code from: what so "
        "few say by their frequencies is chance, and nearly each would be told apart.",
        f"Take at least {SMALL}: five for each of two combinations of values, within each of two protected values. Some "
        "hundreds make a code that is of use. To see how choral works: choral demo.",
    )
