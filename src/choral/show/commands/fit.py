"""`choral fit`: from a table to a release."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from choral.errors import ProblemError
from choral.show.commands.fit_ahead import said_before
from choral.show.commands.fit_files import beside_here, check_outputs, save_all
from choral.show.commands.fit_others import side_knowledge
from choral.show.commands.fit_words import (
    about_table,
    card_lines,
    column_lines,
    first_lines,
    side_lines,
    summary,
    summary_lines,
    table_lines,
)
from choral.show.options import (
    EXAMPLE,
    Against,
    AsJson,
    Bins,
    CountsOption,
    Drop,
    Empty,
    Engine,
    Force,
    Group,
    GroupsFile,
    Id,
    LawOption,
    Leakage,
    Ledger,
    Master,
    MinCount,
    Missing,
    MissingMarks,
    NoHeader,
    Order,
    Protect,
    Rare,
    Ratio,
    Reveal,
    Table,
    Use,
    UtilityOption,
    Verbose,
    Weight,
    asked,
    example,
    examples,
    on_spark,
    print_json,
    ruled,
)
from choral.show.wrapping import say

if TYPE_CHECKING:
    from choral.design.limits import Limits
    from choral.problem.question import Question
    from choral.release.file import Release
    from choral.tables.rules import TableRules

TOLERATED = 0.5
"""Seconds beyond a time limit that are not worth a word."""
EXAMPLES = examples(
    "choral fit table.csv --reveal outcome --protect age,sex+race --bins age=40,55,70 -o r.choral --card card.json",
    "choral fit table.csv --reveal outcome --protect born,job --bins born=decade --group 'job=office:clerk|boss;other:*'",
    "choral fit clinic.duckdb::visits --reveal outcome --rel-tol 1e-3 --time-limit 60 -o r.choral",
    "choral fit table.csv --reveal outcome --protect age,sex --leakage age=0.01 -o r.choral",
    "choral fit table.csv --reveal outcome --protect age,sex --ratio age=21/20 -o r.choral",
    "choral fit table.csv --reveal outcome --protect 'sex,sex|region' -o r.choral",
    "choral fit table.csv --reveal outcome --protect sex,age --against region,job+school -o r.choral",
    "choral fit table.csv --reveal outcome --protect sex --utility accuracy -o r.choral",
    "choral fit table.csv --reveal income --protect age,sex --after r.choral -o second.choral",
)


def fit(
    table: Table,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The release file to write. It holds the law and the key: keep it. Default: the table's name, with .choral.",
        ),
    ] = None,
    reveal: Reveal = None,
    protect: Protect = None,
    against: Against = None,
    use: Use = None,
    order: Order = 1,
    drop: Drop = None,
    bins: Bins = None,
    group: Group = None,
    groups: GroupsFile = None,
    missing: Missing = "value",
    empty: Empty = "missing",
    min_count: MinCount = 5,
    law: LawOption = "frequencies",
    no_header: NoHeader = False,
    missing_marks: MissingMarks = None,
    rare: Rare = None,
    weight: Weight = None,
    counts: CountsOption = None,
    unseen: Annotated[
        str,
        typer.Option(
            help="Records with values or combinations not seen now: refuse them, give them a code of their own (code), or "
            "the code of a state of the same protected values (rare)."
        ),
    ] = "refuse",
    utility: UtilityOption = None,
    leakage: Leakage = None,
    ratio: Ratio = None,
    also: Annotated[
        list[str] | None, typer.Option(help="Another table, under whose frequencies the code is private too.")
    ] = None,
    after: Annotated[
        Path | None, typer.Option(help="An earlier release of this table: both codes together stay private.")
    ] = None,
    after_key: Annotated[Path | None, typer.Option(help="The key of the earlier release, if it lives apart.")] = None,
    card: Annotated[Path | None, typer.Option(help="Also write the public card, for whoever gets the codes.")] = None,
    precision: Annotated[
        int | None, typer.Option(help="Decimals of the probabilities in the card. Default: 3, fewer for a small table.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Write the key to a file of its own, not into the release.")] = None,
    ledger: Ledger = None,
    id: Id = None,
    score: Annotated[
        str | None, typer.Option(help="A column with the output of your own model: cut into bins, it is the score.")
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(help="Points of your own, as choral points --json writes them, in place of learned ones."),
    ] = None,
    other_people: Annotated[
        bool,
        typer.Option("--other-people", help="Declare that nobody in this table is in a card of the ledger so far."),
    ] = False,
    tol: Annotated[float, typer.Option(help="Stop when the certified gap is at most this, in bits.")] = 1e-6,
    rel_tol: Annotated[
        float | None,
        typer.Option(
            help="… or at most this share of the information. Default: 0.001 where few codes are wanted (--codes)."
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds for all of it: counting, learning, the search, making the best so far exact, and verifying it. "
            "What comes before the search is not cut short: where that matters, it is said at the start how long it takes."
        ),
    ] = None,
    codes: Annotated[
        int | None,
        typer.Option(
            help="At most this many codes. Default: where the best needs more than 16, the fewest that lose at most 1 %."
        ),
    ] = None,
    solver: Annotated[
        str | None,
        typer.Option(
            help="Overrule the planner: orbits, 'closed form', transport, enumeration, rank, sandwich, branching, coarse."
        ),
    ] = None,
    engine: Engine = "duckdb",
    master: Master = None,
    force: Force = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Find the most telling private channel for a table, verify it and save it, with how records become its states.

    Ctrl-C ends the search early, which is said at once: what is saved is private and its bound holds, however early it ends.
    A second one, or one before or after the search, ends the command, and nothing is written.
    """
    start = time.monotonic()  # what is imported here takes its time, too
    from choral.design.limits import Clock, Limits

    began = Clock(Limits())
    from choral.ledger.book import beside
    from choral.release.card import card_of, check_precision
    from choral.release.meaning import Meaning
    from choral.release.usefulness import forgotten, no_limits, warning
    from choral.show.progress import interval_bar
    from choral.tables.points import read_points
    from choral.verifier.names import remarks_on

    output = beside_here(table) if output is None else output
    losses = utility if utility and Path(utility).suffix.lower() == ".csv" else None  # the others are names
    read = {
        "the loss": losses,
        "the table": table,
        "a further table": also,
        "the earlier release": after,
        "the earlier key": after_key,
    }
    check_outputs(output, card, key, {**read, "the file of the law": law if Path(law).suffix else None}, ledger, force)
    if other_people and card is None:
        raise ProblemError("--other-people without --card.", "It is about the ledger's cards: leave it out.")
    if precision is not None:
        check_precision(precision)
    if after_key is not None and after is None:
        raise ProblemError("--after-key without --after.", "Name the earlier release too: --after FILE.")
    question = asked(reveal, protect, use, order, leakage, ratio, against, utility)
    limits = Limits(tol, rel_tol, time_limit, codes, solver=solver, verified=True, started=start)
    spark = on_spark(engine, master)
    if table.startswith(EXAMPLE):
        given = (
            spark or None,
            drop,
            bins,
            group,
            groups,
            leakage,
            ratio,
            also,
            after,
            card,
            key,
            id,
            weight,
            counts,
            other_people or None,
        )
        if any(value is not None for value in given) or law != "frequencies":
            raise ProblemError(
                f"{table} is a law without a table.", "Leave out all options about tables, cards and keys."
            )
        _fit_example(table, question, limits, output, force, as_json, verbose)
        return
    own = None if points is None else read_points(points)
    reading: dict[str, Any] = {"header": not no_header, "marks": missing_marks, "rare": rare}
    reading |= {"weight": weight, "counts": counts, "group": group, "groups": groups}
    rules = ruled(bins, missing, empty, min_count, law, unseen, id, own, score, drop=drop, **reading)
    earlier = None if after is None else _earlier(after, after_key, question, rules, also)
    book = ledger or beside(output)
    ahead = None if spark else said_before(table, question, rules, time_limit, began, as_json)
    with interval_bar(quiet=as_json) as bar:
        limits = replace(limits, progress=bar)
        release, found = _fitted((spark, master), table, question, rules, limits, also or (), earlier)
        remarks = [*found, *remarks_on([column.name for column in release.recipe.columns])]
        public = None if card is None else card_of(release, precision)
        people = {"table": table, "other_people": other_people}
        recorded = save_all(release, output, key, card, public, book, force, people)
        fears, unpriced = ([], "") if spark or counts is not None else side_knowledge(table, release, limits)
        remarks += [*no_limits(release), *([unpriced] if unpriced else [])]
    seconds = time.monotonic() - start
    dropped = _left_out(table, release, counts)
    if as_json:
        files: dict[str, Any] = {"release": str(output), "card": card and str(card), "key": key and str(key)}
        about = {**about_table(release), "left_out": dropped, "remarks": remarks}
        about["columns"] = None if release.look is None else release.look.to_document()["columns"]
        about["warning"] = warning(release) or forgotten(release) or None
        about["side_knowledge"] = [fear.to_json() for fear in fears]
        if recorded is not None:
            files |= {"ledger": str(book), "new_ledger": recorded.new, "remarks": [*remarks, *recorded.remarks]}
        about["not_cut_short"] = None if ahead is None or time_limit is None else ahead.to_json()
        about |= Meaning(release).to_json()
        print_json({**summary(release.disclosure), **about, "seconds": round(seconds, 3), **files})
        return
    meaning = Meaning(release)
    say(f"result       {meaning.first_line()}")
    said = [*first_lines(release), *summary_lines(release.disclosure, release.recipe, verbose)]
    said += [*column_lines(release, verbose), *table_lines(release, rules, dropped)]
    for line in [*said, *meaning.lines(), *side_lines(fears, release)]:
        say(line)
    for remark in remarks:
        label, said = ("left out", remark[10:]) if remark.startswith("left out: ") else ("remark", remark)
        if not (verbose and release.look is not None and label == "left out"):  # the list of columns says so
            say(f"{label:<13}{said}")
    late = seconds - (limits.time_limit or math.inf)
    over = f"; {late:.1f} s more than the limit, since what was begun is not cut short" if late > TOLERATED else ""
    say(f"took         {seconds:.1f} s, counting, learning, solving and verifying{over}")
    what = "the law" if key is not None else "the law and the key"
    say(f"saved        {output} (it holds {what}: keep it to yourself; check it with: choral verify {output})")
    if key is not None:
        say(f"key          {key} (whoever has it can undo the guarantee: keep it apart from the release)")
    for line in () if public is None else card_lines(public, f"{card} (public; recorded in {book}"):
        say(line)
    for remark in () if recorded is None else recorded.remarks:
        say(f"ledger       {remark}")


def _left_out(table: str, release: Release, counts: str | None) -> int:
    """How many rows of the table were not counted: `missing drop` left them out, or they lack the target."""
    from choral.tables.opening import opened
    from choral.tables.weights import as_counts

    how = release.recipe.as_read
    with opened(table, how if counts is None else replace(how, find=True)) as source:
        whole = source if counts is None else as_counts(source, counts)
        return whole.rows() - release.recipe.table_rows


def _fit_example(
    table: str, question: Question, limits: Limits, output: Path, force: bool, as_json: bool, verbose: bool
) -> None:
    """Solve for a law without a table; what is saved is a disclosure."""
    from choral.design.disclose import solved
    from choral.problem.pose import problem_of
    from choral.show.plots.signature import finding
    from choral.show.progress import interval_bar

    law = example(table)
    with interval_bar(quiet=as_json) as bar:
        found = solved(law, problem_of(law, question), replace(limits, progress=bar))
        found.save(output, force=force)
    if as_json:
        print_json({**summary(found), "release": str(output)})
        return
    say(f"result       {finding(found)}")
    for line in summary_lines(found, verbose=verbose):
        say(line)
    say(f"saved        {output} (it holds the law: keep it to yourself; check it with: choral verify {output})")


def _fitted(
    engine: tuple[bool, str | None],
    table: str,
    question: Question,
    rules: TableRules,
    limits: Limits,
    also: Sequence[str],
    earlier: Release | None,
) -> tuple[Release, list[str]]:
    """The release, and what is to be remarked about the columns that it is about."""
    spark, master = engine
    if spark:
        if rules.weight is not None or rules.counts is not None:
            raise ProblemError(
                "--weight or --counts with --engine spark.", "Leave out --engine: DuckDB counts such tables."
            )
        from choral.draw.spark.counts import fitted as fitted_on_spark

        release = fitted_on_spark(table, question, rules, limits, also, earlier, master)
        return release, list(release.remarks)
    from choral.release.fit import fitted
    from choral.release.second import fitted_after
    from choral.tables.opening import opened

    if earlier is not None:
        return fitted_after(earlier, table, question, rules, limits), []
    with opened(table, rules.as_read) as source:
        release = fitted(source, question, rules, limits, also)
        read = [source.remarks[name] for name in ("", *release.recipe.read) if name in source.remarks]
        return release, [*release.remarks, *read]


def _earlier(
    after: Path, after_key: Path | None, question: Question, rules: TableRules, also: Sequence[str] | None
) -> Release:
    """The release that this one comes after; raises if anything is asked that the earlier one has settled."""
    from choral.release.file import load_release
    from choral.tables.rules import TableRules

    own = TableRules(rules.bins, min_count=rules.min_count, id=rules.id, drop=rules.drop)
    if rules != own or question.leakage or question.ratio or also:
        raise ProblemError(
            "--after with a law, a rule for missing, empty or unseen values, budgets or further tables.",
            "A second release keeps the rules of the first, and is private exactly: leave these options out.",
        )
    return load_release(after, after_key)
