"""The command line. Engines are imported where they are used, so that `choral --help` is quick."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.errors import ChoralError, ColumnError, LawError, ProblemError
from choral.version import __version__

if TYPE_CHECKING:
    from choral.describe.joint import Joint

app = typer.Typer(
    name="choral",
    help="Publish what the whole says, and exactly nothing about any part.",
    epilog="Start with:  choral demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Table = Annotated[str, typer.Argument(help="A CSV file with a header, or example:NAME (see `choral bounds --help`).")]
Reveal = Annotated[str | None, typer.Option(help="What to tell: a column, or several joined by +. Default: W.")]
Protect = Annotated[
    str | None, typer.Option(help="Columns or groups that stay private: A,B or A+B,C. Default: each used column.")
]
Use = Annotated[str | None, typer.Option(help="Columns that the channel may look at. Default: all but the target.")]
Order = Annotated[int, typer.Option(help="Protect every K of the protected columns together.")]

EXAMPLES = ("bsc_and_bec", "xor", "clinic", "four_fair_bits", "noisy_copies:N", "modular:M", "two_binary")


def main() -> None:
    """Run the command line; errors of choral become one message and exit status 1."""
    try:
        app(standalone_mode=True)
    except ChoralError as error:
        _fail(error)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _fail(error: ChoralError) -> None:
    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": type(error).__name__, "what": error.what, "remedy": error.remedy}))
    else:
        typer.echo(f"choral: {error.what}", err=True)
        if error.remedy:
            typer.echo(f"        {error.remedy}", err=True)
    sys.exit(1)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"choral {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Publish what the whole says, and exactly nothing about any part."""


@app.command(epilog="Example:  choral verify release.choral")
def verify(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    as_json: AsJson = False,
) -> None:
    """Recompute every claim of a release file; exit status 0 only if all hold.

    The verifier is one file that needs Python alone: `python verifier.py release.choral` does the same without choral.
    """
    from choral.exact import verifier

    raise typer.Exit(verifier.main([str(release), *(["--json"] if as_json else [])]))


@app.command(
    epilog="Examples:  choral bounds table.csv --reveal outcome --protect age,sex     "
    f"choral bounds example:clinic --reveal diagnosis     Embedded examples: {', '.join(EXAMPLES)}"
)
def bounds(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    as_json: AsJson = False,
) -> None:
    """Say what can be disclosed before solving: feasibility, rank, upper bound, price, number of codes."""
    from dataclasses import asdict

    from choral.front import bounds as bounds_of_law

    found = bounds_of_law(read_law(table), split(reveal, "+"), groups(protect), split(use, ","), order)
    typer.echo(json.dumps(asdict(found)) if as_json else str(found))


@app.command(epilog="Example:  choral demo -o demo.choral")
def demo(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also save the release file here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit, disclose and verify on an embedded table of invented patients, and show the result."""
    from choral.show.demo import run

    run(output, force, as_json)


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


def groups(text: str | None) -> list[list[str]] | None:
    """Protected groups as written on the command line: groups apart by commas, columns joined by +.

    >>> groups("sex+race,age")
    [['sex', 'race'], ['age']]
    """
    parts = split(text, ",")
    return None if parts is None else [split(part, "+") or [] for part in parts]


def read_law(table: str) -> Joint:
    """The frequencies of a CSV file, or an embedded example."""
    from choral.describe.joint import Joint

    if table.startswith("example:"):
        return _example(table.removeprefix("example:"))
    path = Path(table)
    if path.suffix.lower() != ".csv":
        raise LawError(f"{table} is not a .csv file.", "Give a CSV file with a header, or example:NAME.")
    return Joint.from_table(read_csv(path))


def read_csv(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV file as text; errors name the line."""
    import csv

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LawError(f"{path} cannot be read: {error}.", "Check the path, and that it is CSV in UTF-8.") from None
    if len(rows) < 2:
        raise LawError(f"{path} has no rows below a header.", "A table needs a header and at least one row.")
    header = [name.strip() for name in rows[0]]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise LawError(f"{path} has two columns named '{twice}'.", "Rename one.")
    for number, row in enumerate(rows[1:], start=2):
        if row and len(row) != len(header):
            raise LawError(
                f"Line {number} of {path} has {len(row)} fields, the header {len(header)}.", "Repair the line."
            )
    return {name: [row[i] for row in rows[1:] if row] for i, name in enumerate(header)}


def _example(name: str) -> Joint:
    from fractions import Fraction

    from choral.describe import examples

    kind, _, argument = name.partition(":")
    known: dict[str, Callable[[], Any]] = {
        "bsc_and_bec": examples.bsc_and_bec,
        "xor": examples.xor,
        "clinic": examples.clinic,
        "four_fair_bits": examples.four_fair_bits,
        "noisy_copies": lambda: examples.noisy_copies(int(argument or 3)),
        "modular": lambda: examples.modular(int(argument or 3)),
        "two_binary": lambda: examples.two_binary(Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)),
    }
    if kind not in known:
        from choral.errors import did_you_mean

        raise ColumnError(f"There is no example '{kind}'.", did_you_mean(kind, known))
    if argument and not (argument.isdecimal() and 0 < int(argument) <= 12):
        raise LawError(f"'{argument}' is not a whole number from 1 to 12.", f"Write example:{kind}:4.")
    joint: Joint = known[kind]()
    return joint
