"""What several commands share: options that mean the same everywhere, how they are read, and printing for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.errors import ColumnError, LawError, ProblemError, did_you_mean

if TYPE_CHECKING:
    from choral.describe.joint import Joint
    from choral.problem.question import Question
    from choral.tables.rules import TableRules

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="All details: every digit, how it was found, all tables.")]
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
LOSS_FILE = "Write a header, action,value,loss, and a line for every action and value of the target: grant,defaults,20."
EXAMPLE = "example:"
"""What a table begins with that is a law by its name."""
EXAMPLES = ("bsc_and_bec", "xor", "clinic", "four_fair_bits", "noisy_copies:N", "modular:M", "two_binary")
Table = Annotated[
    str,
    typer.Argument(
        help="A .csv, .tsv, .txt, .data, .parquet, .jsonl or .json file, a table of a database as db.duckdb::table, or "
        "example:NAME, one of "
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
Against = Annotated[
    str | None,
    typer.Option(
        help="What others may know: each protected group stays private also given A, given B (A,B), or given both at once "
        "(A+B). It covers who knows these columns exactly, not in part, and no others beside them."
    ),
]
Use = Annotated[str | None, typer.Option(help="Columns that the channel may look at. Default: all but the target.")]
Order = Annotated[int, typer.Option(help="Protect every K of the protected columns together.")]
Bins = Annotated[
    list[str] | None,
    typer.Option(
        help="Bins of numeric columns: age=40,55,70 (edges), age=40, (one edge: mind the comma), age=q4 or age=4 (four bins "
        "of about as many records), age=w10 (width). Of dates: born=decade, year, quarter, month, week or weekday; of points "
        "in time with a zone in UTC. Several columns: age=q4;born=year, or the option again. What is private of a binned "
        "column is the bin."
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="Values of a text column under one name: 'education=primary:1st-4th|5th-6th;other:*', where * is all others, "
        "also those not seen now. What is private of such a column is the group.",
    ),
]
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        "--groups", help='… from a JSON file: {"education": {"primary": ["1st-4th", "5th-6th"], "other": "*"}}.'
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
        help="Combinations of used values that occur less often are merged with the most alike, within the same protected "
        "values.",
        show_default=True,
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(
        help="Columns that no code looks at: A,B. A protected one among them stays protected (--protect A --drop A)."
    ),
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="The column that identifies records: no column to use; the ledger knows cards by it."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", help="The first line is a record: columns are called column1, column2, …")
]
MissingMarks = Annotated[
    str | None,
    typer.Option(
        help="Texts that are missing values: '?,NA'. Default: recognised in text files, and said; '' for none."
    ),
]
Rare = Annotated[
    str | None,
    typer.Option(
        help="Protected values with fewer than --min-count records: keep them as they are, or merge them into one state."
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        help="The column that says how many people a record stands for, as in a survey: the promise is then about these "
        "people, and a remark says what the code tells among the records themselves."
    ),
]
CountsOption = Annotated[
    str | None,
    typer.Option(
        "--counts", help="The column that says how many records a row stands for, in a table that was counted."
    ),
]
LawOption = Annotated[
    str,
    typer.Option(
        "--law",
        help="What the guarantee is about: frequencies, dirichlet, network, network:bic, or a .bif, .csv or .json file.",
    ),
]
UtilityOption = Annotated[
    str | None,
    typer.Option(
        "--utility",
        help="What the code shall be good for: bits (default), accuracy, squares (of a number, which needs no bins: the "
        "default where a score is learned for a number of more than 20 values), or a CSV file of losses with the columns "
        "action, value of the target, loss.",
    ),
]
Leakage = Annotated[
    list[str] | None, typer.Option(help="A budget in bits in place of independence: A=0.01, or A+B=0.01.")
]
Ratio = Annotated[
    list[str] | None, typer.Option(help="… or a factor by which values may become more or less likely: A=21/20.")
]


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


def asked(
    reveal: str | None,
    protect: str | None,
    use: str | None,
    order: int,
    leakage: Sequence[str] | None,
    ratio: Sequence[str] | None,
    against: str | None = None,
    utility: str | None = None,
) -> Question:
    """The question as written on the command line."""
    from choral.problem.question import Question

    budgets = read_budgets(leakage, "leakage"), read_budgets(ratio, "ratio")
    good_for = None if utility is None else read_utility(utility)
    parts = split(reveal, "+"), groups(protect), split(use, ",")
    return Question(*parts, order, *budgets, split(against, ","), utility=good_for)


def read_utility(written: str) -> Any:
    """A utility as written on the command line: its name, or a CSV file with the columns action, value, loss."""
    if Path(written).suffix.lower() != ".csv":
        return written
    try:
        with open(written, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise ProblemError(f"{written} cannot be read: {error.strerror or error}.", "Check the path.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ProblemError(f"{written} is no CSV file: {error}.", "Write it in UTF-8, separated by commas.") from None
    heads = [head.strip().lower() for head in rows[0]] if rows else []
    if len(heads) != 3 or heads[0] != "action" or heads[2] != "loss":
        raise ProblemError(f"The first line of {written} is {rows[0] if rows else 'missing'}.", LOSS_FILE)
    cells: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != 3 or (row[0].strip(), row[1].strip()) in cells:
            why = "is given twice" if len(row) == 3 else "has not three fields"
            raise ProblemError(f"Line {number} of {written}, {','.join(row)}, {why}.", LOSS_FILE)
        cells[row[0].strip(), row[1].strip()] = row[2].strip()
    return cells


def ruled(
    bins: Sequence[str] | None,
    *rules: Any,
    group: Sequence[str] | None = None,
    groups: Path | None = None,
    drop: str | None = None,
    marks: str | None = None,
    **further: Any,
) -> TableRules:
    """The rules for a table: cuts, columns and marks as written on the command line, others in the order of `TableRules`."""
    from choral.tables.bins import read_bins, rules_of
    from choral.tables.groups import read_groups
    from choral.tables.marks import read_marks
    from choral.tables.rules import TableRules

    left_out = tuple(split(drop, ",") or ())
    cuts = rules_of(read_bins(bins or []), read_groups(group or [], groups))
    return replace(TableRules(cuts, *rules, **further), drop=left_out, marks=read_marks(marks))


def read_budgets(texts: Sequence[str] | None, option: str) -> dict[str, str] | None:
    """Budgets as written on the command line, one per group.

    >>> read_budgets(["age=0.01,sex+race=1/50"], "leakage")
    {'age': '0.01', 'sex+race': '1/50'}
    """
    found: dict[str, str] = {}
    for part in (part.strip() for text in texts or [] for part in text.split(",")):
        name, mark, amount = (piece.strip() for piece in part.rpartition("="))
        if name in found:
            raise ProblemError(f"--{option} '{part}' is the second budget of {name}.", "Give one for each group.")
        if not (name and mark and amount):
            how = "21/20" if option == "ratio" else "0.01"
            raise ProblemError(
                f"--{option} '{part}' is no budget: it lacks the group, or how much.",
                f"Write --{option} COLUMN={how}, with a decimal point; columns of one group are joined by +.",
            )
        found[name] = amount
    return found or None


def example(name: str) -> Joint:
    """The embedded law that a table named like this is."""
    from fractions import Fraction

    from choral.describe import examples as laws

    kind, _, argument = name.removeprefix(EXAMPLE).partition(":")
    known: dict[str, Callable[[], Any]] = {
        "bsc_and_bec": laws.bsc_and_bec,
        "xor": laws.xor,
        "clinic": laws.clinic,
        "four_fair_bits": laws.four_fair_bits,
        "noisy_copies": lambda: laws.noisy_copies(int(argument or 3)),
        "modular": lambda: laws.modular(int(argument or 3)),
        "two_binary": lambda: laws.two_binary(Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)),
    }
    if kind not in known:
        raise ColumnError(f"There is no example '{kind}'.", did_you_mean(kind, known))
    if argument and not (argument.isdecimal() and 0 < int(argument) <= 12):
        raise LawError(f"'{argument}' is not a whole number from 1 to 12.", f"Write example:{kind}:4.")
    joint: Joint = known[kind]()
    return joint
