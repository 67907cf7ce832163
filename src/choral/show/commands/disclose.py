"""`choral disclose`: one code for every record of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from choral.describe.display import counted
from choral.show.options import AsJson, Engine, Force, Ledger, Master, examples, on_spark, print_json
from choral.show.wrapping import say

EPILOG = examples(
    "choral disclose release.choral table.parquet -o codes.parquet --id patient",
    "choral disclose release.choral table.csv -o codes.csv",
    "choral disclose release.choral table.csv -o codes.csv --draw quota",
    "choral disclose release.choral folder_of_parquet -o codes.parquet --id patient --engine spark --master spark://host:7077",
)


def disclose(
    release: Annotated[Path, typer.Argument(help="The release file that `choral fit` wrote.")],
    table: Annotated[
        str, typer.Argument(help="A .csv, .parquet, .jsonl or .json file, or a table of a database: db.duckdb::table.")
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The codes: a .parquet or .csv file; with Spark a folder of them.")
    ],
    id: Annotated[
        str | None, typer.Option("--id", help="The column that identifies records. Without it: the row number counts.")
    ] = None,
    arrange: Annotated[
        str,
        typer.Option(
            help="The order of codes: keyed (by a keyed hash: tells nothing), id (by identifier: tells what identifiers "
            "tell), or table (if it is sorted, this tells protected values)."
        ),
    ] = "keyed",
    with_rows: Annotated[
        bool, typer.Option("--with-rows", help="Write row numbers too; they tell what the order of the table tells.")
    ] = False,
    draw: Annotated[
        str,
        typer.Option(
            help="How codes are drawn: lots (every record by itself), or quota, for whoever must show equal shares in the "
            "table itself. Quotas are NOT more private: whoever knows all other records, or all other bearers of a code, "
            "learns much more by them. Only for the table that was fitted."
        ),
    ] = "lots",
    quota_noise: Annotated[
        str | None,
        typer.Option(help="With --draw quota: geometric noise on the quotas; less of it the larger this number is."),
    ] = None,
    ledger: Ledger = None,
    key: Annotated[Path | None, typer.Option(help="The file with the release's key, if it lives apart.")] = None,
    engine: Engine = "duckdb",
    master: Master = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw a code for every record of a table, exactly as the release says, and write them in an order that tells nothing.

    With --engine spark the table is read, and the codes are written, by Spark; --id is needed, and there are no row numbers.

    A record gets the same code whenever it is drawn for: a draw depends on the key of the release and on the identifier
    (without --id: on the row number and the whole table), and on nothing else. So the same command completes a run that
    was interrupted. The ledger refuses what would tell about a record twice. With a leaked key the guarantee is void.
    """
    from choral.draw.arrange import ROWS_TELL, TELLS
    from choral.files import check_output, keep_apart
    from choral.ledger.book import beside
    from choral.release.file import load_release
    from choral.show.progress import rows_bar

    read = {"the release": release, "its key": key, "the ledger": ledger or beside(release), "the table": table}
    keep_apart({"the codes": output}, read)
    with_spark = on_spark(engine, master)
    if not with_spark:
        check_output(output, force)
    found = load_release(release, key)
    with rows_bar(quiet=as_json or with_spark) as bar:
        done = found.disclose(
            table,
            output,
            id,
            ledger=ledger,
            arrange=arrange,
            with_rows=with_rows,
            draw=draw,
            quota_noise=quota_noise,
            force=force,
            progress=bar,
            engine=engine,
            master=master,
        )
    if as_json:
        quota = None if done.quota is None else done.quota.to_json()
        print_json({**done.__dict__, "output": str(done.output), "ledger": str(done.ledger), "quota": quota})
        return
    say(f"disclosed    {done.disclosed} of {counted(done.rows, 'row')}, {counted(found.disclosure.codes, 'code')}")
    if done.dropped:
        say(f"left out     {counted(done.dropped, 'row')} with a missing value, as the release says")
    if done.unseen:
        say(
            f"not seen     {counted(done.unseen, 'row', 'has', 'have')} code {found.disclosure.codes}, for values not seen "
            "at fit time"
        )
    say(f"identified   by {f'column {done.id!r}' if done.id else 'row number in this very table'}")
    if done.quota is not None:
        for title, sentence in done.quota.lines:
            say(f"{title:<12} {sentence}")
    say(f"arranged     {TELLS[done.arrange]}")
    if done.with_rows:
        say(f"row numbers  {ROWS_TELL}")
    say(f"saved        {done.output} (recorded in {done.ledger})")
    for remark in done.remarks:
        say(f"ledger       {remark}")
