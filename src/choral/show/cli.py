"""The command line. Engines are imported where they are used, so that `choral --help` is quick."""

from __future__ import annotations

import errno
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from choral.errors import ChoralError, ProblemError
from choral.show.commands import audit as audit_command
from choral.show.commands import card as card_command
from choral.show.commands import decode as decode_command
from choral.show.commands import disclose as disclose_command
from choral.show.commands import fit as fit_command
from choral.show.commands import outlook as outlook_commands
from choral.show.commands import points as points_command
from choral.show.commands import report as report_command
from choral.show.commands import reproduce as reproduce_command
from choral.show.commands import selftest as selftest_command
from choral.show.commands import studio as studio_command
from choral.show.commands import suggest as suggest_command
from choral.show.options import AsJson, Verbose, examples, print_json
from choral.show.overview import Overview
from choral.version import __version__

app = typer.Typer(
    name="choral",
    cls=Overview,
    help="Publish what the whole says, and exactly nothing about any part.",
    epilog="Start with:  choral demo     Help on one command:  choral fit --help",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        _fail(ChoralError(f"The file name {error.filename!r} is too long for this system.", "Give a shorter one."))


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
    privacy: Annotated[
        bool, typer.Option("--privacy", help="Check privacy alone: not how much is told, nor that it is the most.")
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option(help="Steps that checking may take (one is about 0.1 µs) in place of the default.", min=1),
    ] = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Recompute every claim of a release file; exit status 0 only if all hold.

    The verifier is one file that needs Python alone: `python verifier.py release.choral` does the same without choral. Of a
    release of a table, this command also compares the recipe, by which records become states, with the certificate.
    """
    from choral.show.commands.verify import verified

    raise typer.Exit(verified(release, as_json, privacy, budget, verbose))


app.command(epilog=suggest_command.EXAMPLES)(suggest_command.suggest)
app.command(epilog=outlook_commands.BOUNDS)(outlook_commands.bounds)
app.command(epilog=outlook_commands.PLAN)(outlook_commands.plan)
app.command(epilog=fit_command.EXAMPLES)(fit_command.fit)
app.command(epilog=disclose_command.EPILOG)(disclose_command.disclose)
app.command(epilog=points_command.EXAMPLES)(points_command.points)
app.command(epilog=card_command.EXAMPLES)(card_command.card)
app.command(epilog=decode_command.EXAMPLE)(decode_command.decode)
app.command(epilog=audit_command.EXAMPLE)(audit_command.audit)
app.command(epilog=report_command.EXAMPLE)(report_command.report)


@app.command(
    epilog=examples(
        "choral curve --prior 2/3,1/3 --channel bsc:0.1 --n 2:1000 --plot curve.svg",
        "choral curve --prior 1/3,1/3,1/3 --channel '0.9 0.1; 0.5 0.5; 0.1 0.9' --n 2,5,10,50",
    )
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
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """The disclosure capacity against the number of samples, each point a certified interval."""
    from choral.describe.display import at_most, figure
    from choral.design.limits import ending_all
    from choral.files import check_output, keep_apart, write_whole
    from choral.theory.capacity import CurvePoint, capacity_curve

    keep_apart({"the table": csv, "the plot": plot})
    for path in (csv, plot):
        if path is not None:
            check_output(path, force)
    if plot is not None and plot.suffix not in (".svg", ".png"):
        raise ProblemError(f"{plot} is neither .svg nor .png.", "Choose one of these endings.")
    law, rows, ns = read_prior(prior), read_channel(channel), read_numbers(n)
    if not as_json:
        typer.echo(f"{'n':>7}  {'bits told':>14}  {'at most':>14}  {'codes':>6}")

    def show(point: CurvePoint) -> None:
        if not as_json:
            interval = f"{point.information:.10f}", f"{point.upper_bound:.10f}"
            told, most = interval if verbose else (figure(point.information), at_most(point.upper_bound))
            typer.echo(f"{point.n:>7}  {told:>14}  {most:>14}  {point.codes:>6}")

    with ending_all():
        points = capacity_curve(law, rows, ns, order=order, tol=tol, verify=not no_verify, progress=show)
    if as_json:
        print_json([point.__dict__ for point in points])
    if csv is not None:
        lines = ["n,information,upper_bound,codes,verified"]
        lines += [f"{p.n},{p.information!r},{p.upper_bound!r},{p.codes},{p.verified}" for p in points]
        write_whole(csv, "\n".join(lines) + "\n", force)
    if plot is not None:
        from choral.describe.joint import Joint
        from choral.show.plots import capacity_plot, save_plot
        from choral.theory.many_samples import output_perturbation

        limit = output_perturbation(Joint.observed(law, [rows])).information if order == 1 else None
        save_plot(capacity_plot(points, f"W ~ ({prior}), channel {channel}", limit), plot, force)


@app.command(epilog="Example:  choral demo -o demo.choral")
def demo(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also save the release file here.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Fit, disclose and verify on an embedded table of invented patients, and show the result."""
    from choral.show.demo import run

    run(output, force, as_json, verbose)


app.command(epilog=reproduce_command.EPILOG)(reproduce_command.reproduce)
app.command(epilog=selftest_command.EPILOG)(selftest_command.selftest)
app.command(epilog=studio_command.EXAMPLE)(studio_command.studio)


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
