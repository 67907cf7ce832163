"""What several commands share: options that mean the same everywhere, how they are read, and printing for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from choral.errors import ProblemError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.")]
Ledger = Annotated[
    Path | None, typer.Option(help="What was made public so far. Default: choral.ledger beside the release.")
]
Engine = Annotated[str, typer.Option(help="What works through the table: duckdb, or spark for more than one machine.")]
Master = Annotated[
    str | None,
    typer.Option(help="Where Spark runs: local[*], spark://host:7077. Default: $CHORAL_SPARK_MASTER, or local[*]."),
]
ENGINES = ("duckdb", "spark")
EXAMPLES = ("bsc_and_bec", "xor", "clinic", "four_fair_bits", "noisy_copies:N", "modular:M", "two_binary")
Table = Annotated[
    str,
    typer.Argument(
        help="A .csv, .parquet, .jsonl or .json file, a table of a database as db.duckdb::table, or example:NAME, one of "
        f"{', '.join(EXAMPLES)}."
    ),
]
Reveal = Annotated[str | None, typer.Option(help="What to tell: a column, or several joined by +. Default: W.")]
Protect = Annotated[
    str | None,
    typer.Option(
        help="Columns or groups that stay private: A,B or A+B,C; or given what others know: A,A|B. Default: each used column."
    ),
]
Use = Annotated[str | None, typer.Option(help="Columns that the channel may look at. Default: all but the target.")]
Order = Annotated[int, typer.Option(help="Protect every K of the protected columns together.")]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        help="Bins of numeric columns: age=40,55,70 (edges), age=40, (one edge: mind the comma), age=q4 or age=4 (four bins "
        "of about as many records), age=w10 (width); several columns separated by ; or by repeating the option. What is "
        "private of a binned column is the bin."
    ),
]
Missing = Annotated[
    str, typer.Option(help="Missing values are a value of their own (value), drop their rows, or an error.")
]
Empty = Annotated[
    str, typer.Option(help="An empty text is the same as a missing value (missing), or a value of its own (value).")
]
MinCount = Annotated[
    int,
    typer.Option(
        help="Combinations of used values that occur less often are merged into one state.", show_default=True
    ),
]
LawOption = Annotated[
    str,
    typer.Option(
        "--law",
        help="What the guarantee is about: frequencies, dirichlet, network, network:bic, or a .bif, .csv or .json file.",
    ),
]


def counted(n: int, what: str) -> str:
    """How many of what.

    >>> counted(1, "state"), counted(0, "state")
    ('1 state', '0 states')
    """
    return f"{n} {what}{'' if n == 1 else 's'}"


def examples(*lines: str) -> str:
    r"""What stands below the help of a command, every example on a line of its own (\b keeps click from joining them)."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def on_spark(engine: str, master: str | None) -> bool:
    """Whether Spark is asked for."""
    if engine not in ENGINES:
        raise ProblemError(f"There is no engine '{engine}'.", f"Say one of {', '.join(ENGINES)}.")
    if master is not None and engine != "spark":
        raise ProblemError("--master says where Spark runs, which is not asked for.", "Add --engine spark.")
    return engine == "spark"


def print_json(value: Any) -> None:
    """Print a value for programs."""
    typer.echo(json.dumps(value, ensure_ascii=True))


def split(text: str | None, mark: str) -> list[str] | None:
    """The parts of an option, or None when it was not given.

    >>> split("a+b", "+"), split(None, "+")
    (['a', 'b'], None)
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(mark)]
    if not all(parts):
        raise ProblemError(f"'{text}' has an empty name.", f"Separate names by '{mark}' only.")
    return parts


def groups(text: str | None) -> list[list[str] | str] | None:
    """What is protected as written on the command line: apart by commas, columns joined by +, conditions as they are.

    >>> groups("sex+race,age,sex|marital")
    [['sex', 'race'], ['age'], 'sex|marital']
    """
    if text is None:
        return None
    from choral.problem.promises import is_conditional, split_promises

    return [part if is_conditional(part) else split(part, "+") or [] for part in split_promises(text)]
