"""`choral studio`: a page on this machine to try disclosures on a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from choral.errors import ChoralError
from choral.show.options import AsJson, examples, print_json

if TYPE_CHECKING:
    from choral.show.studio.security import Door

EXAMPLE = examples("choral studio", "choral studio --folder tables --keep results --no-browser")


def studio(
    port: Annotated[int, typer.Option(help="The port on this machine; 0 takes a free one.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Tables in this folder can be opened by name; without it, by upload only.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep finished results here. Without it they are removed when the studio ends.")
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="What was handed out is recorded in this file, and refused if it would tell about a record twice. "
            "Without it: in one file for all your studios, whose place is said at the start."
        ),
    ] = None,
    upload_limit: Annotated[int, typer.Option(help="The largest upload, in MB.", min=1)] = 200,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    as_json: AsJson = False,
) -> None:
    """Open a page on this machine: choose what to reveal and protect, solve, look, play the adversary, download.

    It listens on this machine alone, and the address holds a token: give it to nobody. Ctrl-C ends it.
    """
    try:
        from choral.show.studio.serve import serve
    except ImportError as error:
        raise ChoralError(f"The studio needs {error.name}.", "Install it: pip install 'choral[studio]'.") from None

    def ready(door: Door, page: Path, book: Path) -> None:
        if as_json:
            print_json({"url": door.address, "port": door.port, "keep": keep and str(keep), "ledger": str(book)})
        else:
            typer.echo(f"studio       {door.address}")
            typer.echo("for          this machine alone; the address holds a token: give it to nobody")
            kept = f"are kept in {keep}" if keep else "are removed at the end (keep them: --keep DIR, or download them)"
            typer.echo(f"results      {kept}")
            known = "" if book.exists() else " (new: nothing is recorded yet)"
            typer.echo(f"ledger       cards and codes that are handed out are recorded in {book}{known}")
            typer.echo("end          Ctrl-C")
        if browser and not as_json:
            import webbrowser

            webbrowser.open(page.as_uri())

    serve(port, folder, keep, upload_limit * 1_000_000, ready, ledger)
