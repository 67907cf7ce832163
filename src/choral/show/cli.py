"""The command line. Engines are imported where they are used, so that `choral --help` is quick."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.errors import ChoralError, ColumnError, LawError, ProblemError
from choral.show.commands import disclose
from choral.version import __version__

if TYPE_CHECKING:
    from choral.describe.joint import Joint
    from choral.disclosure import Disclosure

app = typer.Typer(
    name="choral",
    help="Publish what the whole says, and exactly nothing about any part.",
    epilog="Start with:  choral demo",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
EXAMPLES = ("bsc_and_bec", "xor", "clinic", "four_fair_bits", "noisy_copies:N", "modular:M", "two_binary")
Table = Annotated[str, typer.Argument(help=f"A CSV file with a header, or example:NAME, one of {', '.join(EXAMPLES)}.")]
Reveal = Annotated[str | None, typer.Option(help="What to tell: a column, or several joined by +. Default: W.")]
Protect = Annotated[
    str | None, typer.Option(help="Columns or groups that stay private: A,B or A+B,C. Default: each used column.")
]
Use = Annotated[str | None, typer.Option(help="Columns that the channel may look at. Default: all but the target.")]
Order = Annotated[int, typer.Option(help="Protect every K of the protected columns together.")]


def main() -> None:
    """Run the command line; errors of choral become one message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
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
    "choral bounds example:clinic --reveal diagnosis"
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

    from choral.disclosure import problem_of
    from choral.front import bounds as bounds_of_law

    asked = split(reveal, "+"), groups(protect), split(use, ","), order
    law = read_law(table)
    found = bounds_of_law(law, *asked)
    problem = problem_of(law, *asked)
    told, private = problem.target.name, [group.name for group in problem.groups]
    if as_json:
        _print_json({"reveal": told, "use": list(problem.columns), "protect": private, **asdict(found)})
    else:
        typer.echo(f"W = {told}; X = {', '.join(problem.columns)}; private: {', '.join(private)}")
        typer.echo(str(found))


@app.command(epilog="Example:  choral plan table.csv --reveal outcome --protect age,sex")
def plan(
    table: Table,
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    as_json: AsJson = False,
) -> None:
    """Say how a problem would be solved, and why, without solving it."""
    from choral.front import plan as outlook

    found = outlook(read_law(table), split(reveal, "+"), groups(protect), split(use, ","), order)
    if as_json:
        form = found.form
        _print_json(
            {
                "solver": found.plan.solver,
                "why": found.plan.why,
                "states": found.states,
                "reduced_states": form.states,
                "rank": form.rank,
                "nullity": form.nullity,
                "target_values": form.target_values,
            }
        )
    else:
        typer.echo(str(found))


@app.command(
    epilog="Examples:  choral fit table.csv --reveal outcome --protect age,sex+race -o release.choral     "
    "choral fit big.csv --reveal outcome --rel-tol 1e-3 --time-limit 60 -o release.choral"
)
def fit(
    table: Table,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The release file to write. It holds the law: keep it.")
    ],
    reveal: Reveal = None,
    protect: Protect = None,
    use: Use = None,
    order: Order = 1,
    tol: Annotated[float, typer.Option(help="Stop when the certified gap is at most this, in bits.")] = 1e-6,
    rel_tol: Annotated[float | None, typer.Option(help="… or at most this share of the information.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds; then the best so far is taken.")] = None,
    codes: Annotated[int | None, typer.Option(help="At most this many codes.")] = None,
    solver: Annotated[str | None, typer.Option(help="Overrule the planner: enumeration, transport, sandwich.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the most telling private channel for the frequencies of a table, verify it and save it.

    Ctrl-C ends the search early: what is saved is private and its bound holds, however early it ends.
    """
    from choral.disclosure import check_output, disclose
    from choral.show.progress import interval_bar

    check_output(output, force)
    law = read_law(table)
    with interval_bar(quiet=as_json) as bar:
        found = disclose(
            law,
            split(reveal, "+"),
            groups(protect),
            split(use, ","),
            order,
            tol=tol,
            rel_tol=rel_tol,
            time_limit=time_limit,
            codes=codes,
            progress=bar,
            solver=solver,
        )
    found.save(output, force=force)
    if as_json:
        _print_json({**summary(found), "release": str(output)})
    else:
        for line in summary_lines(found):
            typer.echo(line)
        typer.echo(
            f"saved        {output} (it holds the law: keep it to yourself; check it with: choral verify {output})"
        )


@app.command(
    epilog="Examples:  choral curve --prior 2/3,1/3 --channel bsc:0.1 --n 2:1000 --plot curve.svg     "
    "choral curve --prior 1/3,1/3,1/3 --channel '0.9 0.1; 0.5 0.5; 0.1 0.9' --n 2,5,10,50"
)
def curve(
    prior: Annotated[str, typer.Option(help="The law of W: 2/3,1/3")],
    channel: Annotated[str, typer.Option(help="bsc:E, bec:E, or rows of probabilities: '0.9 0.1; 0.2 0.8'")],
    n: Annotated[str, typer.Option("--n", help="2:1000 (about forty values), 2:1000:1 (all), or a list 2,3,4")],
    order: Annotated[int, typer.Option(help="Protect any K samples together.")] = 1,
    tol: Annotated[float, typer.Option(help="Certified gap per point, in bits.")] = 1e-6,
    csv: Annotated[Path | None, typer.Option(help="Also write the table as CSV.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Also draw it: a .svg or .png file.")] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Do not run the verifier on every point.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """The disclosure capacity against the number of samples, each point a certified interval."""
    from choral.disclosure import check_output, write_whole
    from choral.front import CurvePoint, capacity_curve

    for path in (csv, plot):
        if path is not None:
            check_output(path, force)
    if csv is not None and plot is not None and csv.resolve() == plot.resolve():
        raise ProblemError(f"{csv} is to hold the table and the plot.", "Name two files.")
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise ProblemError(f"{plot} is neither .svg nor .png.", "Choose one of these endings.")
    law, rows, ns = read_prior(prior), read_channel(channel), read_numbers(n)
    if not as_json:
        typer.echo(f"{'n':>7}  {'information':>14}  {'upper bound':>14}  {'codes':>6}")

    def show(point: CurvePoint) -> None:
        if not as_json:
            typer.echo(f"{point.n:>7}  {point.information:>14.10f}  {point.upper_bound:>14.10f}  {point.codes:>6}")

    points = capacity_curve(law, rows, ns, order=order, tol=tol, verify=not no_verify, progress=show)
    if as_json:
        _print_json([point.__dict__ for point in points])
    if csv is not None:
        lines = ["n,information,upper_bound,codes,verified"]
        lines += [f"{p.n},{p.information!r},{p.upper_bound!r},{p.codes},{p.verified}" for p in points]
        write_whole(csv, "\n".join(lines) + "\n", force)
    if plot is not None:
        from choral.show.plots import capacity_plot, save_plot

        save_plot(capacity_plot(points, f"W ~ ({prior}), channel {channel}"), plot)


@app.command(epilog="Example:  choral demo -o demo.choral")
def demo(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also save the release file here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit, disclose and verify on an embedded table of invented patients, and show the result."""
    from choral.show.demo import run

    run(output, force, as_json)


app.command(epilog=disclose.EPILOG)(disclose.disclose)


def summary(found: Disclosure) -> dict[str, Any]:
    """What a release says of itself, for programs."""
    return {
        "reveal": list(found.problem.target.columns),
        "use": list(found.problem.columns),
        "protect": [list(group.columns) for group in found.problem.groups],
        "information": found.information,
        "upper_bound": found.upper_bound,
        "gap": found.gap,
        "efficiency": found.efficiency,
        "entropy": found.problem.entropy_of_target,
        "codes": found.codes,
        "states": len(found.states),
        "how": found.how,
        "digest": found.document["digest"],
    }


def summary_lines(found: Disclosure) -> list[str]:
    """What a release says of itself, for people."""
    entropy, everything = found.problem.entropy_of_target, found.problem.information_of_states
    return [
        f"reveals      {found.problem.target.name}",
        f"private      {', '.join(group.name for group in found.problem.groups)}, exactly; nothing else is",
        f"disclosed    {found.information:.9f} bits, of {everything:.9f} that the used columns tell and {entropy:.9f} in all",
        f"certified    no private channel exceeds {found.upper_bound:.9f} bits",
        f"codes        {found.codes}, for {len(found.states)} states",
        f"how          {found.how}",
    ]


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=True))


def read_prior(text: str) -> list[str]:
    """Probabilities separated by commas, each as written: 2/3,1/3 or 0.7,0.3.

    >>> read_prior("2/3, 1/3")
    ['2/3', '1/3']
    """
    return [part.strip() for part in text.split(",")]


def read_channel(text: str) -> Any:
    """A named channel such as bsc:0.1, or rows of probabilities separated by semicolons."""
    from choral.describe.channels import bec, bsc

    kind, _, argument = text.partition(":")
    if kind in ("bsc", "bec"):
        return (bsc if kind == "bsc" else bec)(argument.strip() or "missing")
    return [row.replace(",", " ").split() for row in text.split(";")]


def read_numbers(text: str) -> list[int]:
    """Numbers of samples: a list 2,3,4; a range 2:1000 (thinned to about forty); or 2:1000:1 (every one).

    >>> read_numbers("2,3,10"), read_numbers("2:6")
    ([2, 3, 10], [2, 3, 4, 5, 6])
    """
    try:
        if ":" not in text:
            return [int(part) for part in text.split(",")]
        parts = [int(part) for part in text.split(":")]
        first, last = parts[0], parts[1]
        if first > last or (len(parts) > 2 and parts[2] < 1) or len(parts) > 3:
            raise ValueError
    except (ValueError, IndexError):
        raise ProblemError(f"'{text}' is no range of n.", "Write 2:1000, 2:1000:1 or 2,3,4.") from None
    if last > 10**6 or (len(parts) == 3 and (last - first) // parts[2] > 5000):
        raise ProblemError(f"'{text}' is too long.", "At most 5000 values of n, up to a million.")
    if len(parts) == 3:
        return list(range(first, last + 1, parts[2]))
    few = list(range(first, min(last, first + 9) + 1))
    while few[-1] < last:
        few.append(min(last, max(few[-1] + 1, round(few[-1] * 1.18))))
    return few


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
            rows = list(csv.reader(file, strict=True))
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
