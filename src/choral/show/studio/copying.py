"""A question as text that runs: a command for a shell, and a call of the library. Both ask what the page asked."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from choral.show.studio.question import Choices

RELEASE, LOSS = "release.choral", "loss.csv"


def as_command(choices: Choices, table: str, groups: Sequence[str], columns: Sequence[str]) -> str:
    """The command that asks this of the table; `groups` are named as budgets name them, `columns` are all of the table.

    >>> roles = {"ill": "reveal", "sex": "protect", "my age": "use"}
    >>> print(as_command(Choices(roles=roles, bins={"my age": "q4"}, against=[["my age"]]), "t.csv", ["sex"], []))
    choral fit t.csv --reveal ill --protect sex --against 'my age' --use 'sex,my age' --bins 'my age=q4' \\
        -o release.choral
    """
    rules = choices.rules(columns)
    options: list[tuple[str, Any]] = [
        ("--reveal", "+".join(choices.target)),
        ("--protect", ",".join("+".join(group) for group in _protect(choices))),
        ("--against", ",".join("+".join(known) for known in choices.against)),
        ("--use", ",".join(choices.use or ())),
        ("--drop", ",".join(rules.drop)),
        ("--order", choices.order if choices.order > 1 else ""),
        *(("--bins", f"{name}={rule}") for name, rule in rules.bins.items()),
        ("--missing", choices.missing if choices.missing != "value" else ""),
        ("--min-count", choices.min_count if choices.min_count != Choices.model_fields["min_count"].default else ""),
        ("--utility", {"bits": _bits(choices) or "", "loss": LOSS}.get(choices.utility, choices.utility)),
        ("--codes", choices.codes or ""),
        ("--leakage", ",".join(f"{group}={choices.leakage}" for group in groups) if choices.leakage else ""),
        ("--rel-tol", "" if choices.closeness is None else f"{choices.closeness:g}"),
    ]
    written = " ".join(f"{option} {shlex.quote(str(value))}" for option, value in options if value != "")
    command = f"choral fit {shlex.quote(file_name(table))} {written} \\\n    -o {RELEASE}"
    if choices.utility != "loss":
        return command
    lines = "\n".join(f"{action},{value},{cost}" for (action, value), cost in _costs(choices).items())
    return f"cat > {LOSS} <<'END'\naction,value,loss\n{lines}\nEND\n{command}"


def as_python(choices: Choices, table: str, groups: Sequence[str], columns: Sequence[str]) -> str:
    """The call of the library that asks this of the table.

    >>> print(as_python(Choices(roles={"ill": "reveal", "sex": "protect"}, codes=4), "t.csv", ["sex"], []))
    import choral as ch
    <BLANKLINE>
    release = ch.fit(
        't.csv',
        reveal=['ill'],
        protect=[['sex']],
        use=['sex'],
        codes=4,
    )
    release.save('release.choral')
    """
    rules = choices.rules(columns)
    arguments = {
        "reveal": choices.target,
        "protect": _protect(choices),
        "against": ["+".join(known) for known in choices.against] or None,
        "use": choices.use,
        "drop": list(rules.drop) or None,
        "order": choices.order if choices.order > 1 else None,
        "bins": dict(rules.bins) or None,
        "missing": choices.missing if choices.missing != "value" else None,
        "min_count": choices.min_count if choices.min_count != Choices.model_fields["min_count"].default else None,
        "utility": choices.good_for() if choices.utility != "bits" else _bits(choices),
        "codes": choices.codes,
        "leakage": dict.fromkeys(groups, choices.leakage) if choices.leakage else None,
        "rel_tol": choices.closeness,
    }
    lines = [f"    {name}={value!r}," for name, value in arguments.items() if value is not None]
    call = "\n".join([f"    {file_name(table)!r},", *lines])
    return f"import choral as ch\n\nrelease = ch.fit(\n{call}\n)\nrelease.save({RELEASE!r})"


def file_name(table: str) -> str:
    """The file of a table: an example is saved under its name.

    >>> file_name("clinic"), file_name("mine.parquet")
    ('clinic.csv', 'mine.parquet')
    """
    return table if PurePath(table).suffix else f"{table}.csv"


def _bits(choices: Choices) -> str | None:
    """Bits by name where something else could be the default: a score for a number of many values is for its size."""
    return "bits" if choices.use is None else None


def _protect(choices: Choices) -> list[list[str]]:
    return [[name] for name in choices.columns("protect")] + choices.together


def _costs(choices: Choices) -> dict[tuple[str, str], str]:
    costs = choices.good_for()
    assert isinstance(costs, dict)
    return costs
