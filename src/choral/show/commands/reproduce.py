"""`choral reproduce`: the paper, recomputed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.show.options import AsJson, examples, print_json
from choral.show.wrapping import paragraph

EPILOG = examples("choral reproduce -o paper", "choral reproduce -o paper --only table-1 --only bsc-bec")


def reproduce(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write into; made if it is not there.")],
    only: Annotated[
        list[str] | None, typer.Option(help="Only this section (repeat for several); a wrong name lists them.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples and points: to try it out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files in a folder that is not empty.")] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute every table, example and figure of the paper, compare, and draw what it could not.

    Writes CSV, SVG and index.html, a page that works offline and has no scripts. Exit status 0 only if every value agrees
    with the paper or the difference is explained.
    """
    from choral.design.limits import ending_all
    from choral.paper.record import QUICK, Effort
    from choral.paper.run import reproduce as run
    from choral.show.progress import steps_bar

    with steps_bar(quiet=as_json) as bar:
        effort = QUICK if quick else Effort()
        with ending_all():
            done = run(output, only or (), force=force, effort=effort, progress=bar)
    claims = [(part.section.name, claim) for part in done for claim in part.found.claims]
    unexplained = [(name, claim) for name, claim in claims if not claim.agrees and not claim.why]
    if as_json:
        summary = {
            "page": str(output / "index.html"),
            "agree": sum(claim.agrees for _, claim in claims),
            "differ": sum(not claim.agrees for _, claim in claims),
            "unexplained": len(unexplained),
            "sections": [
                {
                    "name": part.section.name,
                    "title": part.section.title,
                    "covers": part.section.covers,
                    "seconds": round(part.seconds, 3),
                    "tables": [f"{table.name}.csv" for table in part.found.tables],
                    "pictures": [f"{picture.name}.svg" for picture in part.found.pictures],
                    "claims": [{**claim.__dict__, "verdict": claim.verdict} for claim in part.found.claims],
                }
                for part in done
            ],
        }
        print_json(summary)
    else:
        for part in done:
            differ = sum(not claim.agrees for claim in part.found.claims)
            agree = len(part.found.claims) - differ
            said = f"{agree:>3} agree" + (f", {differ} differ" if differ else "")
            typer.echo(f"{part.section.name:<14} {said:<24} {part.seconds:6.1f} s")
        for name, claim in claims:
            if not claim.agrees:
                paragraph(f"≠ {name}, {claim.place}: {claim.what}. {claim.verdict}", "  ")
        agree = sum(claim.agrees for _, claim in claims)
        typer.echo(f"{agree} agree, {len(claims) - agree} differ, {len(unexplained)} of these unexplained")
        typer.echo(f"open {output / 'index.html'}")
    if unexplained:
        raise typer.Exit(1)
